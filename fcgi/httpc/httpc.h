/*
 * httpc.h - outgoing HTTP/1.1 requests that never block the loop. The only
 * door to libcurl (its multi interface on loop/).
 *
 * Loop thread only. A call ends in exactly one done(), never from within
 * httpc_send(); httpc_cancel() ends it without one.
 */
#ifndef NB2_HTTPC_HTTPC_H
#define NB2_HTTPC_HTTPC_H

#include <stddef.h>

#include "base/span.h"
#include "loop/loop.h"

struct httpc;
struct httpc_call;

/* Everything is copied. Redirects are not followed; proxies from the
 * environment are not used; Expect is never sent. Over plain HTTP only a GET
 * uses a kept connection: curl sends a request again that finds one closed. */
struct httpc_request {
	const char *method;	   /* "GET", "POST", "DELETE" */
	const char *url;	   /* http://host/path */
	const char *unix_path;	   /* connect here instead; NULL: by the URL */
	const char *const *header; /* "Name: value" lines, NULL at the end; may be NULL */
	struct span body;	   /* SPAN_NONE: no body */
	unsigned connect_ms;	   /* 0: 5 s */
	unsigned timeout_ms;	   /* the whole call; 0: 30 s */
	size_t max_body;	   /* of the answer; more is -EFBIG */
};

struct httpc_response {
	int err;	  /* 0, or -ECONNREFUSED (nothing listens, no such socket), -ETIMEDOUT,
			   * -EFBIG, -ECANCELED (httpc_drain), -EIO (anything else) */
	int status;	  /* HTTP status, 0 with err */
	struct span body; /* borrowed until done returns */
	const char *why;  /* curl's sentence with err, else "" */
};

typedef void httpc_done_fn(void *arg, const struct httpc_response *res);

struct httpc *httpc_new(struct loop *l);
/* End all calls under way now, each by its done() with -ECANCELED. */
void httpc_drain(struct httpc *c);
/* Calls still under way are cancelled, without a done(). Not from within one. */
void httpc_free(struct httpc *c);

struct httpc_call *httpc_send(struct httpc *c, const struct httpc_request *req, httpc_done_fn *done,
			      void *arg);
void httpc_cancel(struct httpc_call *call); /* NULL is fine */

#endif
