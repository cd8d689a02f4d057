/*
 * server.h - the Jupyter server behind us: where it is, its REST calls, its
 * kernelspecs.
 *
 * Any Jupyter Server, Kernel Gateway or Enterprise Gateway will do; the
 * default is one of our own on a unix socket. Loop thread only. A call ends in
 * one callback unless it is cancelled.
 */
#ifndef NB2_KERNEL_SERVER_H
#define NB2_KERNEL_SERVER_H

#include <stddef.h>

#include "base/buf.h"
#include "httpc/httpc.h"
#include "kernel/ws.h"
#include "loop/loop.h"

struct server_config {
	const char *url;	 /* "unix:/path" or "http://address:port[/base]" */
	const char *token;	 /* NULL: none */
	const char *root;	 /* the server's root_dir; NULL: not known */
	size_t max_message;	 /* from a kernel */
	unsigned reconnect_s;	 /* how long a lost server may stay away */
	unsigned kernel_start_s; /* how long a kernel may take to answer */
};

struct server;

/* -EINVAL: the url is none (why says so). Strings are copied. */
int server_new(struct loop *l, const struct server_config *c, struct server **ret, struct buf *why);
void server_free(struct server *s); /* every bridge must be gone */

struct loop *server_loop(const struct server *s);
const struct server_config *server_config(const struct server *s);

/* path: "/api/…"; body: JSON, or SPAN_NONE. */
struct httpc_call *server_call(struct server *s, const char *method, const char *path,
			       struct span body, httpc_done_fn *done, void *arg);

/* The same with a time limit of its own. */
struct httpc_call *server_call_within(struct server *s, unsigned ms, const char *method,
				      const char *path, struct span body, httpc_done_fn *done,
				      void *arg);

/* Open a kernel's channels. */
struct ws *server_channels(struct server *s, const char *kernel_id, const char *session_id,
			   const struct ws_ops *ops, void *arg);

/* Part of cwd below root, "" for the root itself: SPAN_NONE if it is not
 * inside (or root is not known): then the kernel must change directory. */
struct span server_relative(const struct server *s, struct span cwd);

/*
 * Which kernelspec serves a language: the configured one, else the spec of
 * that name, else the first whose own language it is. name is NULL when there
 * is none, and then have lists the languages there are; err is set when the
 * server could not be asked.
 */
struct spec_answer {
	int err;
	const char *name;
	const char *have;
};
typedef void spec_fn(void *arg, const struct spec_answer *a);

struct spec_call;
struct spec_call *server_spec(struct server *s, const char *language, spec_fn *fn, void *arg);
void spec_cancel(struct spec_call *c); /* NULL is fine */

/* A choice from the configuration. */
void server_spec_choose(struct server *s, const char *language, const char *kernelspec);

#endif
