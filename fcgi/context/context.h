/*
 * context.h - contexts: a kernel, its queue of executions, and who owns it.
 *
 * The shell around the core: sandboxes own contexts, a context owns a bridge
 * to its kernel and the executions (runs) that wait for it, one at a time. All
 * on the loop's thread. A worker has one struct contexts.
 *
 * Errors that a client sees come as a status and a sentence: the routes only
 * write them down.
 */
#ifndef NB2_CONTEXT_CONTEXT_H
#define NB2_CONTEXT_CONTEXT_H

#include <stdbool.h>

#include "base/ids.h"
#include "base/span.h"
#include "journal/outlog.h"
#include "kernel/lang.h"
#include "kernel/server.h"

struct contexts;
struct sandbox;
struct context;
struct run;

struct contexts_config {
	const char *workspace; /* where kernels start if nothing else is said */
	size_t max_output;     /* bytes an execution */
	size_t max_sandboxes;  /* in this worker */
	size_t max_contexts;   /* a sandbox */
	size_t max_queued;     /* executions waiting for one context */
	unsigned interrupt_grace_s;
	unsigned max_execution_s; /* 0: no limit */
	struct env_vars global;	  /* set in every kernel; borrowed */
};

struct contexts *contexts_new(struct server *s, const struct contexts_config *c);
/* Ends every run with a record; kernels are ended too. The loop must still be
 * run until the calls that this makes are answered. */
void contexts_free(struct contexts *cs);

/* The worker stops: whoever waits gets an answer, runs that were not sent end
 * with a record. */
void contexts_stop(struct contexts *cs);

/* Sweep what a former worker of these slots (bits) left in Jupyter. */
void contexts_sweep(struct contexts *cs, unsigned slots);

/* The sandbox of this name, made if need be: NULL past max_sandboxes. */
struct sandbox *contexts_sandbox(struct contexts *cs, struct span name);

/* ---- contexts ---------------------------------------------------------------- */

/* By id, among the sandbox's own: NULL: none. */
struct context *sandbox_context(struct sandbox *sb, struct span id);

const char *context_id(const struct context *c);
const char *context_language(const struct context *c);
const char *context_cwd(const struct context *c);

/* How asking for something ended: status 200 and c, or the answer to give.
 * text is borrowed until the callback returns. */
struct context_answer {
	int status;
	const char *text;
	struct context *c;
};
typedef void context_fn(void *arg, const struct context_answer *a);

/* A request that waits. Cancelled, its callback never comes; what was begun
 * goes on. */
struct waiter;
void waiter_cancel(struct waiter *w); /* NULL is fine */

/* language: canonical (lang_name). cwd SPAN_NONE: the default. The callback
 * comes when the kernel answers, or when it is clear that it never will; then
 * nothing is left of it. NULL past max_contexts. */
struct waiter *sandbox_create(struct sandbox *sb, struct span language, struct span cwd,
			      context_fn *fn, void *arg);
/* The contexts in order of creation: fn once all defaults are known; then walk
 * them with sandbox_next() from place 0. */
struct waiter *sandbox_list(struct sandbox *sb, context_fn *fn, void *arg);
struct context *sandbox_next(struct sandbox *sb, size_t *place);

struct waiter *context_restart(struct context *c, context_fn *fn, void *arg);
/* c is gone at once; the callback comes when its kernel is too. */
struct waiter *context_delete(struct context *c, context_fn *fn, void *arg);

/* The sandbox's default context of a language, made if need be (its kernel
 * starts with its first run). NULL past max_contexts. */
struct context *sandbox_default(struct sandbox *sb, struct span language);

/* ---- runs --------------------------------------------------------------------- */

struct run_request {
	struct span code;     /* UTF-8; copied */
	struct env_vars vars; /* copied */
	bool stream_updates;
	bool late_output;
};

struct run_ops {
	/* It will run, or end with a record: the head may be sent. Once. */
	void (*accepted)(void *arg);
	/* Instead of that: the answer to give. The run is gone. */
	void (*refused)(void *arg, int status, const char *text);
	/* Output came, or the end. */
	void (*output)(void *arg);
};

/* Queue an execution: NULL when too many wait. accepted() or refused() follow,
 * never from within. */
struct run *context_run(struct context *c, const struct run_request *r, const struct run_ops *ops,
			void *arg);
/* The reader's place in its records. */
struct outlog_cursor *run_cursor(struct run *r);
/* The reader leaves, at any time but not after refused(): what has not ended
 * is interrupted. r may not be used again. */
void run_release(struct run *r);
/* The server stops: what has not ended ends here, with a record. The kernel's
 * part goes on. */
void run_shutdown(struct run *r);

#endif
