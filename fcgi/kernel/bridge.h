/*
 * bridge.h - one kernel and its one WebSocket, kept alive.
 *
 * A bridge makes a kernel through Jupyter's sessions API, opens its channels,
 * and says ready() only when a probe proves that what the kernel says arrives
 * here. It reconnects by itself with the same session id, so that Jupyter
 * replays what was missed, and tells when the process behind it is another.
 * It moves messages and understands only status; what an execution is, is
 * context/'s and session/'s business. Loop thread only; callbacks never come
 * from within the call that caused them, and none after bridge_free().
 */
#ifndef NB2_KERNEL_BRIDGE_H
#define NB2_KERNEL_BRIDGE_H

#include <stdbool.h>

#include "jupyter/message.h"
#include "kernel/server.h"
#include "kernel/sessions.h"

struct bridge;

enum bridge_fault {
	BRIDGE_UNREACHABLE, /* no Jupyter server there */
	BRIDGE_REFUSED,	    /* it would not start the kernel */
	BRIDGE_NO_ANSWER,   /* the kernel never answered, or died at its start */
};

struct bridge_ops {
	/* The kernel answers. fresh: it is a process that was not set up. */
	void (*ready)(void *arg, bool fresh);
	void (*message)(void *arg, const struct jupyter_msg *m);
	/* A message above max_message came and was dropped. parent_id may be
	 * empty. */
	void (*oversize)(void *arg, struct span parent_id, size_t size);
	/* The connection broke in the middle of a message, or with some unread:
	 * those are lost, what follows them is replayed. */
	void (*missed)(void *arg);
	/* The process is gone and with it all that was sent. again: the next
	 * one is being started, ready() or failed() follows; else the bridge
	 * is at rest. why is a phrase for people. */
	void (*died)(void *arg, bool again, const char *why);
	/* The interrupt that was asked for has been delivered, or failed. */
	void (*interrupted)(void *arg);
	/* At rest: it could not start, or the server stayed away too long. */
	void (*failed)(void *arg, enum bridge_fault fault, const char *why);
};

/* name is this bridge's in the list of sessions: "nb2-<slot>-<context>", behind
 * which each start puts its number. Strings are copied. */
struct bridge *bridge_new(struct server *s, const char *name, const struct bridge_ops *ops,
			  void *arg);
/* Ends the kernel if there is one, also one that is still being made. NULL is
 * fine. */
void bridge_free(struct bridge *b);

/* From rest: make a kernel of this kernelspec. dir: where, relative to the
 * server's root ("" = the root; SPAN_NONE the same). */
void bridge_start(struct bridge *b, const char *kernelspec, struct span dir);
/* A new process for the same kernel; ready(fresh) or failed() follows. Not at
 * rest. */
void bridge_restart(struct bridge *b);
/* End the kernel and rest; done as in session_end(), also after bridge_free(),
 * never from within. done may be NULL. */
void bridge_shutdown(struct bridge *b, session_ended_fn *done, void *arg);
/* Ask Jupyter to interrupt the process; nothing is promised. false: it was not
 * asked, since the last request is still under way or there is no kernel. */
bool bridge_interrupt(struct bridge *b);
/* One is on its way: what is sent now it may hit. interrupted() follows. */
bool bridge_interrupting(const struct bridge *b);

/* Does Jupyter still know the kernel? If not, died() comes. A kernel that
 * somebody else deleted leaves its WebSocket open and mute. */
void bridge_verify(struct bridge *b);

bool bridge_resting(const struct bridge *b);
bool bridge_has_kernel(const struct bridge *b); /* one that can be restarted */
bool bridge_is_ready(const struct bridge *b);
const char *bridge_session(const struct bridge *b); /* the session of our headers */

/* 0, -ENOTCONN (not ready), -ENOBUFS, -EFBIG. */
int bridge_send(struct bridge *b, enum jupyter_channel channel, const char *msg_type,
		const char *msg_id, struct span parent_header, struct span content);

#endif
