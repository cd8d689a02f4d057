/*
 * execution.h - the pure core of one execution: what Jupyter says about it in,
 * the records of its output and what to do next out.
 *
 * An execution is up to three requests to the kernel: set-up (environment),
 * and when that went well the user's code as it is with the clean-up right
 * behind it (a kernel does not abort what stands behind a silent request that
 * failed, so the user's code must wait for the answer). It has
 * ended when the record end_of_execution is written, which happens exactly
 * once on every path; it is over when the kernel has nothing of it left, and
 * only then may the context's next one be sent (kernel-bridge.md sections 2-4).
 *
 * No I/O, no clock, no randomness: time and message ids are handed in.
 */
#ifndef NB2_SESSION_EXECUTION_H
#define NB2_SESSION_EXECUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/outlog.h"
#include "jupyter/message.h"
#include "session/record.h"

#define MSG_ID_MAX 48

enum exchange_role { EXCHANGE_SETUP, EXCHANGE_USER, EXCHANGE_CLEANUP, EXCHANGE_ROLES };

enum exchange_status {
	EXCHANGE_PENDING,
	EXCHANGE_OK,
	EXCHANGE_ERROR,
	EXCHANGE_ABORTED,
	EXCHANGE_DEAD, /* it will never be answered */
};

/* One execute_request and what became of it. Finished: a status and idle. */
struct exchange {
	char msg_id[MSG_ID_MAX]; /* "" = this execution has no such request */
	bool accepted;		 /* busy, execute_input or any output was seen */
	bool idle;
	enum exchange_status status;
};

struct execution_fence {
	char msg_id[MSG_ID_MAX]; /* "" = none under way */
	unsigned tries;
	int roles; /* how many requests stood before it */
};

struct execution {
	struct exchange x[EXCHANGE_ROLES];
	struct execution_fence fence;
	struct record_sink sink;
	uint64_t heard_ms; /* when anything of it last came, or it was sent */
	unsigned fences;   /* sent so far */
	unsigned redone;   /* clean-ups sent again */
	bool updates;	   /* stream_updates: display updates and clears are wanted */
	bool sent;
	bool user_sent; /* or decided that it never is */
	bool counted;
	bool errored; /* an error record was written */
	bool ended;
};

/* What the caller is to do after a step. */
enum execution_do {
	EXECUTION_USER = 256,	 /* send the user's code, and the clean-up if there is one */
	EXECUTION_ACCEPTED = 1,	 /* the kernel has begun with the user's code */
	EXECUTION_ENDED = 2,	 /* end_of_execution was written just now */
	EXECUTION_OVER = 4,	 /* the kernel has nothing of it left, since just now */
	EXECUTION_FENCE = 8,	 /* send kernel_info_request on shell, id: fence.msg_id */
	EXECUTION_CLEANUP = 16,	 /* send the clean-up again, id: x[CLEANUP].msg_id */
	EXECUTION_INPUT = 32,	 /* answer this input_request with an empty value */
	EXECUTION_LATE = 64,	 /* an output of the user's code after the end: not written */
	EXECUTION_FOREIGN = 128, /* not of this execution */
};

/* out gets the records, at most limit bytes of output. base is a unique word
 * of at most 32 characters: the message ids are made from it. */
void execution_init(struct execution *e, struct outlog *out, size_t limit, const char *base,
		    bool has_environment);

/* Begin: what is to be sent first, the set-up (then EXECUTION_USER comes when it
 * is done) or, with EXECUTION_USER at once, the user's code. */
unsigned execution_begin(struct execution *e, uint64_t now_ms);

/* Instead of sending the user's code: it shall not run. */
unsigned execution_skip(struct execution *e);

/* A message came from the kernel. Bits of enum execution_do. */
unsigned execution_message(struct execution *e, const struct jupyter_msg *m, uint64_t now_ms);

/* Time passed: call about twice a second while it runs. Sends a fence where a
 * reply or an idle stays out for 2 s of silence, and gives up after three. */
unsigned execution_tick(struct execution *e, uint64_t now_ms);

/* The connection was made anew: fence at once, what was lost shows. */
unsigned execution_reconnected(struct execution *e, uint64_t now_ms);

/* It cannot go on: one error record, unless there was one, and the end. */
unsigned execution_fail(struct execution *e, const char *name, struct span value);

/* The records stop here, with this error and the end; the kernel goes on. */
unsigned execution_cut_short(struct execution *e, const char *name, struct span value);

/* The client left: records are dropped from now on. */
void execution_mute(struct execution *e);

bool execution_over(const struct execution *e);

/* Write the record of an output message, if it is one; for late output. */
void execution_record_output(struct record_sink *s, const struct jupyter_msg *m, bool updates);

#endif
