/*
 * sessions.h - Jupyter's sessions API: make a kernel, end it, find what was
 * left behind.
 *
 * A session gives a kernel a name (its path's last segment) and the directory
 * it starts in. Loop thread only; callbacks never come from within the call.
 */
#ifndef NB2_KERNEL_SESSIONS_H
#define NB2_KERNEL_SESSIONS_H

#include <stdbool.h>

#include "kernel/server.h"

/* How making one ended: err and why (the server was not reached), or a status
 * and, where it is 201, the ids. Borrowed until the callback returns. */
struct session_made {
	int err;
	int status;
	const char *why; /* a sentence, unless status is 201 */
	struct span session_id;
	struct span kernel_id;
};
typedef void session_made_fn(void *arg, const struct session_made *made);

struct session_making;

/* dir is relative to the server's root; name is new each time: for a path that
 * it has, Jupyter answers with the session that is there. */
struct session_making *session_make(struct server *s, const char *kernelspec, struct span dir,
				    const char *name, session_made_fn *fn, void *arg);
/* Nobody waits for it any more: if it comes to be, it is ended. NULL is fine. */
void session_abandon(struct session_making *m);

/* End session and kernel, trying again for a while if the server will not;
 * done(), if given, when it is gone (or there is no server that could have it),
 * or with ended false when it was given up. session_id NULL: there is nothing
 * to end, done comes all the same. */
typedef void session_ended_fn(void *arg, bool ended);
void session_end(struct server *s, const char *session_id, session_ended_fn *done, void *arg);

/*
 * Ask once for all sessions; each named nb2-<slot>-<id>.<n> for which keep()
 * says false is ended: what a former process left behind.
 */
typedef bool session_keep_fn(void *arg, unsigned slot, struct span id);
void sessions_sweep(struct server *s, session_keep_fn *keep, void *arg);

#endif
