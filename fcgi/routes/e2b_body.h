/*
 * e2b_body.h - request bodies of the E2B face: read, and refused in the shape
 * that FastAPI with pydantic 2 has.
 */
#ifndef NB2_ROUTES_E2B_BODY_H
#define NB2_ROUTES_E2B_BODY_H

#include "context/context.h"
#include "http/request.h"

struct e2b_execute {
	struct span code;	/* UTF-8, in the request's arena or body */
	struct span context_id; /* SPAN_NONE: absent, null or "" */
	struct span language;	/* canonical; SPAN_NONE likewise */
	struct env_vars vars;
	bool stream_updates;
	bool late_output;
};

/* 0, or the answer (400, 413, 422) is given. */
int e2b_execute_read(struct request *r, size_t max_code, struct e2b_execute *ret);

struct e2b_create {
	struct span cwd;      /* SPAN_NONE: absent or null */
	struct span language; /* canonical, never absent */
};
int e2b_create_read(struct request *r, struct e2b_create *ret);

#endif
