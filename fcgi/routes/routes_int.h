/*
 * routes_int.h - the columns of the route table, and what handlers share.
 */
#ifndef NB2_ROUTES_ROUTES_INT_H
#define NB2_ROUTES_ROUTES_INT_H

#include "routes/app.h"

/* Preconditions: checked by the dispatcher, so that no handler does. */
enum need {
	NEED_TOKEN = 1,	  /* a good token, or the open E2B listener's rules */
	NEED_SID = 2,	  /* belongs to a session: by ?sid=, the body, or "default" */
	NEED_SANDBOX = 4, /* belongs to a sandbox: by E2b-Sandbox-Id, or "default" */
	NEED_JSON = 8,	  /* the body declares JSON and is a JSON object (/nb2) */
	FACE_E2B = 16,	  /* errors in the reference's shapes; else nb2's */
	LIVENESS = 32,	  /* answers whatever the Host says */
};

/* The sandbox of a request that NEED_SANDBOX let through; NULL when there are
 * too many, and then the answer is given. */
struct sandbox *route_sandbox(struct app *app, struct request *r);

/* The session of a request that NEED_SID let through. */
struct span route_sid(struct request *r);

/* The request's member of the body (/nb2, NEED_JSON). */
struct span route_field(struct request *r, const char *name);

/* E2B's own answers. */
void reply_e2b_detail(struct request *r, int status, const char *detail);
void reply_json(struct request *r, int status, struct span body);
/* A context's answer that is an error, as text. */
void reply_answer(struct request *r, const struct context_answer *a);

route_fn health_get;	       /* GET /nb2/health */
route_fn e2b_health_get;       /* GET /health */
route_fn auth_post;	       /* POST /nb2/auth */
route_fn execute_post;	       /* POST /execute */
route_fn contexts_get;	       /* GET /contexts */
route_fn contexts_post;	       /* POST /contexts */
route_fn context_restart_post; /* POST /contexts/{id}/restart */
route_fn context_delete_route; /* DELETE /contexts/{id} */

#endif
