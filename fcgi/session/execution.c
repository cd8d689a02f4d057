/*
 * execution.c - the message table of kernel-bridge.md section 3.
 *
 * Two orders are relied upon, and no other: iopub is one queue and shell is
 * one queue. So an iopub message of a later request proves that the earlier
 * one's output has come or is lost, and a shell reply to a later request
 * proves that an unanswered earlier one is dead.
 */
#include "session/execution.h"

#include <stdio.h>

#include "json/scan.h"

#define SILENCE_MS 2000
#define QUIET_MS 10000 /* of a code that runs: is it still there? */
#define FENCES 3
#define CLEANUPS 5

static const char missing_text[] =
	"[nb2] the kernel's end of output was lost: output may be missing\n";

void execution_init(struct execution *e, struct outlog *out, size_t limit, const char *base,
		    bool has_environment)
{
	*e = (struct execution){ 0 };
	record_sink_init(&e->sink, out, limit);
	assert(strlen(base) <= 32);
	snprintf(e->x[EXCHANGE_USER].msg_id, MSG_ID_MAX, "%s-u", base);
	if (!has_environment)
		return;
	snprintf(e->x[EXCHANGE_SETUP].msg_id, MSG_ID_MAX, "%s-s", base);
	snprintf(e->x[EXCHANGE_CLEANUP].msg_id, MSG_ID_MAX, "%s-c0", base);
}

unsigned execution_begin(struct execution *e, uint64_t now_ms)
{
	e->sent = true;
	e->heard_ms = now_ms;
	e->user_sent = e->x[EXCHANGE_SETUP].msg_id[0] == '\0';
	return e->user_sent ? EXECUTION_USER : 0;
}

static bool present(const struct exchange *x)
{
	return x->msg_id[0] != '\0';
}

static bool finished(const struct exchange *x)
{
	return !present(x) || (x->status != EXCHANGE_PENDING && x->idle);
}

bool execution_over(const struct execution *e)
{
	for (int i = 0; i < EXCHANGE_ROLES; i++) {
		if (!finished(&e->x[i]))
			return false;
	}
	return true;
}

/* One error record at most. */
static void fail_record(struct execution *e, const char *name, struct span value)
{
	if (e->errored || e->ended)
		return;
	e->errored = true;
	record_error_text(&e->sink, name, value);
}

/* The set-up is answered: now the user's code, or it never is sent. What the
 * set-up remembered is given back in either case. */
static unsigned user_check(struct execution *e)
{
	if (e->user_sent || e->x[EXCHANGE_SETUP].status == EXCHANGE_PENDING)
		return 0;
	e->user_sent = true;
	if (e->x[EXCHANGE_SETUP].status == EXCHANGE_OK)
		return EXECUTION_USER;
	e->x[EXCHANGE_USER].status = EXCHANGE_ABORTED;
	e->x[EXCHANGE_USER].idle = true;
	if (e->x[EXCHANGE_SETUP].status != EXCHANGE_DEAD)
		return EXECUTION_CLEANUP;
	e->x[EXCHANGE_CLEANUP].status = EXCHANGE_DEAD;
	e->x[EXCHANGE_CLEANUP].idle = true;
	return 0;
}

/* The clean-up did not run (a kernel aborts what stands behind an error, an
 * interrupt may hit it): again, under a new id, before anything else runs. */
static unsigned cleanup_check(struct execution *e)
{
	struct exchange *x = &e->x[EXCHANGE_CLEANUP];
	size_t len = strlen(x->msg_id);

	if (!present(x) || !finished(x) || x->status == EXCHANGE_OK || x->status == EXCHANGE_DEAD ||
	    e->redone >= CLEANUPS)
		return 0;
	e->redone++;
	x->msg_id[len - 1] = (char)('0' + e->redone);
	x->accepted = x->idle = false;
	x->status = EXCHANGE_PENDING;
	e->fence = (struct execution_fence){ 0 };
	return EXECUTION_CLEANUP;
}

/* After each step: has it ended, is it over? `before` is whether it was. */
static unsigned settle(struct execution *e, bool was_over)
{
	unsigned todo = user_check(e) | cleanup_check(e);

	if (e->x[EXCHANGE_SETUP].status == EXCHANGE_DEAD ||
	    e->x[EXCHANGE_USER].status == EXCHANGE_DEAD)
		fail_record(e, "UnexpectedEndOfExecution",
			    SPAN_LIT("The kernel lost the execution before it was finished"));
	if (!e->ended && finished(&e->x[EXCHANGE_SETUP]) && finished(&e->x[EXCHANGE_USER])) {
		e->ended = true;
		record_end(&e->sink);
		todo |= EXECUTION_ENDED;
	}
	if (!was_over && execution_over(e))
		todo |= EXECUTION_OVER;
	return todo;
}

/* ---- the user's output --------------------------------------------------- */

void execution_record_output(struct record_sink *s, const struct jupyter_msg *m, bool updates)
{
	bool wait = false;

	switch (m->type) {
	case MSG_STREAM:
		record_stream(s,
			      json_string_is(json_get(m->content, "name"), "stderr") ?
				      RECORD_STDERR :
				      RECORD_STDOUT,
			      json_get(m->content, "text"), m->date);
		break;
	case MSG_DISPLAY_DATA:
	case MSG_EXECUTE_RESULT:
		record_result(s, json_get(m->content, "data"), m->type == MSG_EXECUTE_RESULT);
		break;
	case MSG_UPDATE_DISPLAY_DATA:
		if (updates)
			record_update_display(s, json_path(m->content, "transient.display_id"),
					      json_get(m->content, "data"));
		break;
	case MSG_CLEAR_OUTPUT:
		json_bool(json_get(m->content, "wait"), &wait);
		if (updates)
			record_clear_output(s, wait);
		break;
	default:
		break;
	}
}

static void error_record(struct execution *e, struct span content)
{
	if (e->errored)
		return;
	e->errored = true;
	record_error(&e->sink, json_get(content, "ename"), json_get(content, "evalue"),
		     json_get(content, "traceback"));
}

static void count_record(struct execution *e, struct span content)
{
	int64_t n;

	if (e->counted || json_int(json_get(content, "execution_count"), &n) != 0)
		return;
	e->counted = true;
	record_count(&e->sink, n);
}

/* Help that IPython would page (`len?`) is output too. */
static void payload_record(struct execution *e, struct span content)
{
	struct buf text = BUF_INIT((size_t)8 << 20);
	struct buf plain = BUF_INIT((size_t)8 << 20);
	struct json_iter it;
	struct span item;

	json_iter_init(&it, json_get(content, "payload"));
	while (json_iter_next(&it, NULL, &item)) {
		if (!json_string_is(json_get(item, "source"), "page") ||
		    json_string_decode(json_get(json_get(item, "data"), "text/plain"),
				       JSON_LONE_REPLACE, &text) != 0)
			continue;
		record_strip_ansi(buf_span(&text), &plain);
		buf_putc(&plain, '\n');
	}
	if (plain.len > 0)
		record_stream_text(&e->sink, RECORD_STDOUT, buf_span(&plain));
	buf_free(&text);
	buf_free(&plain);
}

/* ---- one request's messages ----------------------------------------------- */

static const struct {
	const char *name;
	enum exchange_status status;
} reply_statuses[] = {
	{ "ok", EXCHANGE_OK },
	{ "error", EXCHANGE_ERROR },
	{ "aborted", EXCHANGE_ABORTED }, /* ipykernel, IRkernel */
	{ "abort", EXCHANGE_ABORTED },	 /* what the protocol's text says; tslab, IRkernel */
};

static enum exchange_status reply_status(struct span content)
{
	struct span status = json_get(content, "status");

	for (size_t i = 0; i < ARRAY_LEN(reply_statuses); i++) {
		if (json_string_is(status, reply_statuses[i].name))
			return reply_statuses[i].status;
	}
	return EXCHANGE_ERROR;
}

static void on_reply(struct execution *e, struct exchange *x, const struct jupyter_msg *m)
{
	bool shown = !e->ended && x != &e->x[EXCHANGE_CLEANUP];

	if (x->status != EXCHANGE_PENDING)
		return;
	x->accepted = true;
	x->status = reply_status(m->content);
	if (!shown)
		return;
	if (x == &e->x[EXCHANGE_USER]) {
		count_record(e, m->content);
		payload_record(e, m->content);
	}
	if (x->status == EXCHANGE_ERROR)
		error_record(e, m->content);
	else if (x->status == EXCHANGE_ABORTED)
		fail_record(e, "ExecutionAborted", SPAN_LIT("Execution was aborted"));
}

static void on_status(struct exchange *x, const struct jupyter_msg *m)
{
	struct span state = json_get(m->content, "execution_state");

	if (json_string_is(state, "busy"))
		x->accepted = true;
	else if (json_string_is(state, "idle") && (x->accepted || x->status != EXCHANGE_PENDING))
		x->idle = true;
}

/* An output: the user's is written, late is told, of the others only errors count. */
static unsigned on_output(struct execution *e, struct exchange *x, const struct jupyter_msg *m)
{
	x->accepted = true;
	if (x == &e->x[EXCHANGE_CLEANUP])
		return 0;
	if (e->ended)
		return x == &e->x[EXCHANGE_USER] ? EXECUTION_LATE : 0;
	if (m->type == MSG_ERROR)
		error_record(e, m->content);
	else if (x == &e->x[EXCHANGE_USER])
		execution_record_output(&e->sink, m, e->updates);
	return 0;
}

static unsigned on_input_request(struct execution *e)
{
	fail_record(e, "StdinNotImplementedError",
		    SPAN_LIT("the code asked for input, which is not available here"));
	return EXECUTION_INPUT;
}

static unsigned exchange_message(struct execution *e, struct exchange *x,
				 const struct jupyter_msg *m)
{
	switch (m->type) {
	case MSG_STATUS:
		on_status(x, m);
		return 0;
	case MSG_EXECUTE_INPUT:
		x->accepted = true;
		if (x == &e->x[EXCHANGE_USER] && !e->ended)
			count_record(e, m->content);
		return 0;
	case MSG_EXECUTE_REPLY:
		on_reply(e, x, m);
		return 0;
	case MSG_INPUT_REQUEST:
		return on_input_request(e);
	case MSG_STREAM:
	case MSG_DISPLAY_DATA:
	case MSG_EXECUTE_RESULT:
	case MSG_UPDATE_DISPLAY_DATA:
	case MSG_CLEAR_OUTPUT:
	case MSG_ERROR:
		return on_output(e, x, m);
	default:
		return 0; /* comms and the like: nobody here waits for them */
	}
}

/* Whatever stands before request n has had its turn on this channel. */
static void prove_earlier(struct execution *e, int n, enum jupyter_channel channel)
{
	for (int i = 0; i < n; i++) {
		struct exchange *x = &e->x[i];

		if (!present(x))
			continue;
		if (channel == JUPYTER_IOPUB)
			x->idle = true;
		else if (channel == JUPYTER_SHELL && x->status == EXCHANGE_PENDING)
			x->status = EXCHANGE_DEAD;
	}
}

/* The fence came back on one of its two ways. */
static void on_fence(struct execution *e, const struct jupyter_msg *m)
{
	struct exchange *user = &e->x[EXCHANGE_USER];
	bool lost = e->fence.roles > EXCHANGE_USER && e->user_sent && !user->idle;

	if (m->type == MSG_KERNEL_INFO_REPLY) {
		prove_earlier(e, e->fence.roles, JUPYTER_SHELL);
	} else if (m->type == MSG_STATUS &&
		   json_string_is(json_get(m->content, "execution_state"), "idle")) {
		prove_earlier(e, e->fence.roles, JUPYTER_IOPUB);
		if (lost && !e->ended)
			record_stream_text(&e->sink, RECORD_STDERR, span_str(missing_text));
	}
}

static int role_of(const struct execution *e, struct span id)
{
	for (int i = 0; i < EXCHANGE_ROLES; i++) {
		if (present(&e->x[i]) && span_is(id, e->x[i].msg_id))
			return i;
	}
	return -1;
}

unsigned execution_message(struct execution *e, const struct jupyter_msg *m, uint64_t now_ms)
{
	bool was_over = execution_over(e);
	bool began = e->x[EXCHANGE_USER].accepted;
	unsigned todo = 0;
	int role = role_of(e, m->parent_id);

	if (role >= 0) {
		prove_earlier(e, role, m->channel);
		todo = exchange_message(e, &e->x[role], m);
	} else if (e->fence.msg_id[0] && span_is(m->parent_id, e->fence.msg_id)) {
		on_fence(e, m);
	} else {
		return EXECUTION_FOREIGN;
	}
	e->heard_ms = now_ms;
	if (!began && e->x[EXCHANGE_USER].accepted)
		todo |= EXECUTION_ACCEPTED;
	return todo | settle(e, was_over);
}

/* ---- time and accidents --------------------------------------------------- */

static unsigned fence_send(struct execution *e, uint64_t now_ms)
{
	/* The base is the user's id without its suffix. */
	int base = (int)strlen(e->x[EXCHANGE_USER].msg_id) - 2;

	e->fence.tries++;
	e->fence.roles = e->user_sent ? EXCHANGE_ROLES : EXCHANGE_USER;
	/* Never an id twice: an old fence's answer must not pass for this one's. */
	snprintf(e->fence.msg_id, MSG_ID_MAX, "%.*s-f%u", base, e->x[EXCHANGE_USER].msg_id,
		 ++e->fences % 1000000);
	e->heard_ms = now_ms;
	return EXECUTION_FENCE;
}

/* Reply or idle, one of the two, is here. */
static bool half(const struct execution *e)
{
	int n = e->user_sent ? EXCHANGE_ROLES : EXCHANGE_USER;

	for (int i = 0; i < n; i++) {
		const struct exchange *x = &e->x[i];

		if (present(x) && (x->status != EXCHANGE_PENDING) != x->idle)
			return true;
	}
	return false;
}

/* It runs, and says nothing: a fence in its back comes to an answer only if it
 * is gone without a word. One is enough, it does not get lost in the queue. */
static unsigned quiet_check(struct execution *e, uint64_t now_ms)
{
	if (execution_over(e) || e->fence.msg_id[0])
		return 0;
	fence_send(e, now_ms);
	e->fence.tries = 0;
	return EXECUTION_FENCE;
}

unsigned execution_tick(struct execution *e, uint64_t now_ms)
{
	if (!e->sent || now_ms - e->heard_ms < (half(e) ? SILENCE_MS : QUIET_MS))
		return 0;
	if (!half(e))
		return quiet_check(e, now_ms);
	if (e->fence.tries < FENCES)
		return fence_send(e, now_ms);
	if (!e->ended)
		record_stream_text(&e->sink, RECORD_STDERR, span_str(missing_text));
	prove_earlier(e, e->fence.roles, JUPYTER_IOPUB);
	prove_earlier(e, e->fence.roles, JUPYTER_SHELL);
	return settle(e, false);
}

unsigned execution_reconnected(struct execution *e, uint64_t now_ms)
{
	if (!e->sent || execution_over(e))
		return 0;
	e->fence.tries = 0;
	return fence_send(e, now_ms);
}

unsigned execution_fail(struct execution *e, const char *name, struct span value)
{
	bool was_over = execution_over(e);

	fail_record(e, name, value);
	for (int i = 0; i < EXCHANGE_ROLES; i++) {
		struct exchange *x = &e->x[i];

		if (x->status == EXCHANGE_PENDING)
			x->status = EXCHANGE_DEAD;
		x->idle = true;
	}
	e->redone = CLEANUPS;
	e->user_sent = true;
	return settle(e, was_over);
}

unsigned execution_skip(struct execution *e)
{
	bool was_over = execution_over(e);

	fail_record(e, "ExecutionAborted", SPAN_LIT("Execution was aborted"));
	e->x[EXCHANGE_USER].status = EXCHANGE_ABORTED;
	e->x[EXCHANGE_USER].idle = true;
	return EXECUTION_CLEANUP | settle(e, was_over);
}

unsigned execution_cut_short(struct execution *e, const char *name, struct span value)
{
	if (e->ended)
		return 0;
	fail_record(e, name, value);
	e->ended = true;
	record_end(&e->sink);
	return EXECUTION_ENDED;
}

void execution_mute(struct execution *e)
{
	e->sink.cut = true;
}
