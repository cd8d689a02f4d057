/*
 * run.c - executions: waiting, sent, read, interrupted, over.
 *
 * A run is freed when both its kernel's part is over and its reader has let
 * go. An interrupt is a wish on it: it is asked for once the kernel has begun
 * with the code, asked again with growing pauses, and never outlives it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "context/context_int.h"

#define CONTENT_MAX ((size_t)150 << 20)
#define VERIFY_MS 3000 /* of silence: does Jupyter still know the kernel? */
#define WISH_LATE_MS 2000
#define QUEUED_BYTES_MAX ((size_t)256 << 20) /* code and environment that wait in a worker */
#define LATE_MAX ((size_t)1 << 20)

static const char ignored_text[] = "The kernel ignores the interrupt; restart the context";

/* ---- life ------------------------------------------------------------------------ */

static void run_free(struct run *r)
{
	assert(!r->ctx && !r->attached);
	timer_free(r->notify);
	outlog_cursor_close(&r->cursor);
	outlog_free(r->log);
	free(r->code);
	free(r->vars); /* names and values stand behind the array */
	r->magic = 0;
	free(r);
}

/* One line an execution: never its code, output or environment. */
static void log_run(const struct run *r)
{
	const struct context *c = r->ctx;
	const char *outcome = r->e.errored ? "error" : "ok";

	if (r->began_ms == 0)
		outcome = "not sent";
	else if (!r->e.ended)
		outcome = "abandoned";
	log_info("run %s context %s %s %llu ms %llu bytes", r->base, c->id, outcome,
		 r->began_ms ? (unsigned long long)(loop_now(c->sandbox->all->loop) - r->began_ms) :
			       0,
		 (unsigned long long)outlog_bytes(r->log));
}

/* Nothing of it is left in the kernel, or it never got there. */
static void run_over(struct run *r)
{
	struct context *c = r->ctx;

	log_run(r);
	r->ctx = NULL;
	c->sandbox->all->run_bytes -= r->bytes;
	if (c->current == r) {
		c->current = NULL;
		c->stuck = false;
		timer_clear(c->wish_timer);
		timer_clear(c->timer);
	} else {
		list_del(&r->link);
		c->queued--;
	}
	if (!r->attached)
		run_free(r);
}

/* Copy names and values behind the array, in one block. */
static void vars_copy(struct run *r, struct env_vars vars)
{
	size_t bytes = vars.n * sizeof(*r->vars);
	char *p;

	for (size_t i = 0; i < vars.n; i++)
		bytes += vars.v[i].name.len + vars.v[i].value.len;
	if (vars.n == 0)
		return;
	r->vars = xmalloc(bytes);
	r->bytes = bytes;
	r->n_vars = vars.n;
	p = (char *)(r->vars + vars.n);
	for (size_t i = 0; i < vars.n; i++) {
		struct span from[2] = { vars.v[i].name, vars.v[i].value };

		r->vars[i].name = span_of(p, from[0].len);
		r->vars[i].value = span_of(p + from[0].len, from[1].len);
		for (int k = 0; k < 2; k++) {
			memcpy(p, from[k].ptr, from[k].len);
			p += from[k].len;
		}
	}
}

static void run_output(struct run *r)
{
	if (r->attached)
		r->ops->output(r->arg);
}

static void run_accept(struct run *r)
{
	if (r->accepted)
		return;
	r->accepted = true;
	if (r->attached)
		r->ops->accepted(r->arg);
}

static void on_notify(void *arg)
{
	struct run *r = arg;
	struct context *c = r->ctx;

	CHECK_OBJ(r, RUN_MAGIC);
	if (!c)
		return;
	/* Its kernel has answered before, so it will run or end with a record;
	 * else the head waits, since a kernel that can't start has its own status. */
	if (c->up_once)
		run_accept(r);
	if (c->stuck && r != c->current) {
		run_lose(r, "InterruptIgnored", ignored_text);
		return;
	}
	context_step(c);
}

struct run *context_run(struct context *c, const struct run_request *q, const struct run_ops *ops,
			void *arg)
{
	struct run *r;

	if (c->queued >= c->sandbox->all->config.max_queued ||
	    c->sandbox->all->run_bytes > QUEUED_BYTES_MAX)
		return NULL;
	r = xcalloc(1, sizeof(*r));
	r->magic = RUN_MAGIC;
	r->ctx = c;
	r->ops = ops;
	r->arg = arg;
	r->attached = true;
	r->code = xstrndup(q->code.ptr, q->code.len);
	r->code_len = q->code.len;
	r->late_output = q->late_output;
	vars_copy(r, q->vars);
	r->bytes += r->code_len;
	c->sandbox->all->run_bytes += r->bytes;
	ids_hex(r->base, 16);
	r->log = outlog_new();
	outlog_open(r->log, &r->cursor);
	execution_init(&r->e, r->log, c->sandbox->all->config.max_output, r->base,
		       q->vars.n > 0 && c->lang && c->lang->set);
	r->e.updates = q->stream_updates;
	r->notify = timer_new(c->sandbox->all->loop, on_notify, r);
	timer_set(r->notify, 0);
	list_init(&r->link);
	list_push(&c->queue, &r->link);
	c->queued++;
	return r;
}

struct outlog_cursor *run_cursor(struct run *r)
{
	return &r->cursor;
}

/* ---- wishes ---------------------------------------------------------------------- */

/* Pauses between the tries, in ms; after the last one comes the grace. */
static const unsigned wish_pauses[] = { 250, 1000, 3000 };

/* The kernel does not stop: who waits is told instead of being left to hang. */
static void wish_ignored(struct context *c)
{
	struct run *r = c->current;

	log_warn("%s: the kernel ignores an interrupt", c->id);
	c->stuck = true;
	execution_cut_short(&r->e, "InterruptIgnored", span_str(ignored_text));
	run_output(r);
	runs_fail(c, "InterruptIgnored", ignored_text);
}

void run_wish_timer(void *arg)
{
	struct context *c = arg;
	struct run *r = c->current;
	unsigned n;

	CHECK_OBJ(c, CONTEXT_MAGIC);
	if (!r || !r->wished)
		return;
	n = r->wishes;
	if (n > ARRAY_LEN(wish_pauses)) {
		wish_ignored(c);
		return;
	}
	if (!bridge_interrupt(c->bridge)) {
		timer_set(c->wish_timer, wish_pauses[0]); /* the last one is still under way */
		return;
	}
	r->wishes++;
	timer_set(c->wish_timer, n < ARRAY_LEN(wish_pauses) ?
					 wish_pauses[n] :
					 1000ull * c->sandbox->all->config.interrupt_grace_s);
}

/* Not before the kernel has begun with it: a signal before that hits nobody,
 * or what stands in front. */
static void run_wish(struct run *r)
{
	if (r->wished)
		return;
	r->wished = true;
	if (r->e.x[EXCHANGE_USER].accepted)
		run_wish_timer(r->ctx);
}

void run_release(struct run *r)
{
	struct context *c = r->ctx;

	r->attached = false;
	outlog_cursor_close(&r->cursor);
	if (!c) {
		run_free(r);
		return;
	}
	if (c->current != r) {
		run_over(r); /* never sent, so it never is */
		return;
	}
	execution_mute(&r->e);
	if (!r->e.ended)
		run_wish(r);
}

void run_shutdown(struct run *r)
{
	execution_cut_short(&r->e, "UnexpectedEndOfExecution",
			    SPAN_LIT("The server is shutting down"));
	run_output(r);
}

/* ---- sending ---------------------------------------------------------------------- */

static int send_code(struct context *c, const struct exchange *x, struct span code, bool user)
{
	struct jupyter_execute q = { .code = code,
				     .silent = !user,
				     .store_history = user,
				     /* What stands behind the user's code is our own
				      * clean-up, which must run. */
				     .stop_on_error = !user };
	struct buf content = BUF_INIT(CONTENT_MAX);
	int r = jupyter_execute_content(&content, &q);

	if (r == 0)
		r = bridge_send(c->bridge, JUPYTER_SHELL, "execute_request", x->msg_id, SPAN_NONE,
				buf_span(&content));
	buf_free(&content);
	return r;
}

static int send_cleanup(struct run *r)
{
	struct buf code = BUF_INIT(65536);
	int err = r->ctx->lang->restore(&code, r->base);

	if (err == 0)
		err = send_code(r->ctx, &r->e.x[EXCHANGE_CLEANUP], buf_span(&code), false);
	buf_free(&code);
	return err;
}

static int send_setup(struct run *r)
{
	struct buf code = BUF_INIT(CONTENT_MAX);
	struct env_vars vars = { r->vars, r->n_vars };
	int err = r->ctx->lang->set(&code, r->base, vars);

	if (err == 0)
		err = send_code(r->ctx, &r->e.x[EXCHANGE_SETUP], buf_span(&code), false);
	buf_free(&code);
	return err;
}

/* The user's code, and right behind it the clean-up. */
static int send_user(struct run *r)
{
	int err = send_code(r->ctx, &r->e.x[EXCHANGE_USER], span_of(r->code, r->code_len), true);

	if (err != 0)
		return err;
	if (r->e.x[EXCHANGE_CLEANUP].msg_id[0])
		send_cleanup(r); /* what is lost here the fence finds */
	free(r->code);
	r->code = NULL;
	return 0;
}

static void take_line(struct outlog *log, struct span line)
{
	struct buf *b = outlog_line_begin(log);

	buf_span_append(b, line);
	buf_putc(b, '\n');
	outlog_line_end(log);
}

/* What came too late for the run before, if this one wants it. */
static void take_late(struct run *r)
{
	struct context *c = r->ctx;
	struct buf all = BUF_INIT(2 * LATE_MAX);
	struct outlog_cursor cursor;
	struct span rest;

	if (!c->late)
		return;
	if (r->late_output) {
		outlog_open(c->late, &cursor);
		outlog_read(&cursor, &all, SIZE_MAX);
		outlog_cursor_close(&cursor);
		for (rest = buf_span(&all); rest.len > 0;)
			take_line(r->log, span_cut(&rest, '\n'));
		buf_free(&all);
	}
	outlog_free(c->late);
	c->late = NULL;
}

void run_begin(struct run *r)
{
	struct context *c = r->ctx;
	int err;

	assert(!c->current);
	list_del(&r->link);
	c->queued--;
	c->current = r;
	memcpy(c->recent[c->recent_next++ % RECENT_RUNS].msg_id, r->e.x[EXCHANGE_USER].msg_id,
	       MSG_ID_MAX);
	run_accept(r);
	take_late(r);
	r->began_ms = loop_now(c->sandbox->all->loop);
	err = execution_begin(&r->e, r->began_ms) & EXECUTION_USER ? send_user(r) : send_setup(r);
	if (err != 0) {
		run_lose(r, "WebSocketError", "Failed to send execution request");
		context_step(c);
	}
}

/* ---- what comes back ----------------------------------------------------------------- */

static void run_do(struct run *r, unsigned todo);

/* The set-up went well. A client that left meanwhile wants no more of it; a
 * connection that is being made anew is waited for. -1: the run is done with. */
static int run_send_user(struct run *r)
{
	struct context *c = r->ctx;
	int err;

	if (r->wished) {
		run_do(r, execution_skip(&r->e));
		return -1;
	}
	err = send_user(r);
	r->unsent = err == -ENOTCONN;
	if (err == 0 || r->unsent)
		return 0;
	run_lose(r, "WebSocketError", "Failed to send execution request");
	context_step(c);
	return -1;
}

/* Carry out what the core asked for. The run may be gone afterwards. */
static void run_do(struct run *r, unsigned todo)
{
	struct context *c = r->ctx;

	if (todo & EXECUTION_FENCE)
		bridge_send(c->bridge, JUPYTER_SHELL, "kernel_info_request", r->e.fence.msg_id,
			    SPAN_NONE, SPAN_LIT("{}"));
	if (todo & EXECUTION_CLEANUP)
		send_cleanup(r);
	if ((todo & EXECUTION_USER) && run_send_user(r) != 0)
		return;
	if ((todo & EXECUTION_ACCEPTED) && r->wished)
		run_wish_timer(c);
	if (todo & EXECUTION_ENDED) {
		/* The wish was on the user's code, not on what follows. */
		r->wished = false;
		timer_clear(c->wish_timer);
	}
	if (todo & EXECUTION_OVER) {
		struct run *gone = r;

		run_output(r);
		run_over(gone);
		context_step(c);
		return;
	}
	run_output(r);
}

/* Output after its run's end: kept for the next run, within bounds. */
static void late_output(struct context *c, const struct jupyter_msg *m)
{
	if (m->type != MSG_STREAM && m->type != MSG_DISPLAY_DATA && m->type != MSG_EXECUTE_RESULT)
		return;
	if (!c->late) {
		c->late = outlog_new();
		record_sink_init(&c->late_sink, c->late, LATE_MAX);
	}
	execution_record_output(&c->late_sink, m, false);
}

static bool is_recent(const struct context *c, struct span id)
{
	for (size_t i = 0; i < RECENT_RUNS; i++) {
		if (c->recent[i].msg_id[0] && span_is(id, c->recent[i].msg_id))
			return true;
	}
	return false;
}

void run_message(struct context *c, const struct jupyter_msg *m)
{
	struct run *r = c->current;
	unsigned todo = r ? execution_message(&r->e, m, loop_now(c->sandbox->all->loop)) :
			    (unsigned)EXECUTION_FOREIGN;

	if (todo & EXECUTION_INPUT)
		bridge_send(c->bridge, JUPYTER_STDIN, "input_reply", r->base, m->header,
			    SPAN_LIT("{\"status\": \"ok\", \"value\": \"\"}"));
	if ((todo & EXECUTION_LATE) || ((todo & EXECUTION_FOREIGN) && is_recent(c, m->parent_id)))
		late_output(c, m);
	if (!(todo & EXECUTION_FOREIGN))
		run_do(r, todo);
}

void run_oversize(struct context *c, struct span parent_id, size_t size)
{
	struct run *r = c->current;
	char text[160];

	/* In the legacy framing the parent stands behind what was dropped. */
	if (!r || r->e.ended ||
	    (parent_id.len > 0 && !span_is(parent_id, r->e.x[EXCHANGE_USER].msg_id)))
		return;
	snprintf(text, sizeof(text),
		 "The kernel sent one message of %zu bytes, which is more than is allowed", size);
	execution_cut_short(&r->e, "MessageTooLarge", span_str(text));
	run_wish(r);
	run_output(r);
}

void run_missed(struct context *c)
{
	struct run *r = c->current;

	if (!r || r->e.ended)
		return;
	record_stream_text(&r->e.sink, RECORD_STDERR,
			   SPAN_LIT("[nb2] the connection to the kernel broke: "
				    "output may be missing\n"));
	run_output(r);
}

void run_reconnected(struct context *c)
{
	struct run *r = c->current;

	if (r->unsent) {
		run_send_user(r);
		return;
	}
	run_do(r, execution_reconnected(&r->e, loop_now(c->sandbox->all->loop)));
}

/* Too long? Then it is interrupted like one whose client left. */
static void run_limit(struct run *r, uint64_t now)
{
	unsigned s = r->ctx->sandbox->all->config.max_execution_s;

	if (s == 0 || r->wished || r->e.ended || now - r->began_ms < 1000ull * s)
		return;
	record_stream_text(&r->e.sink, RECORD_STDERR,
			   SPAN_LIT("[nb2] the time limit of an execution is reached\n"));
	run_wish(r);
	run_output(r);
}

/* The message that says the kernel has begun may be lost. Long after the code
 * was sent a signal can hit nothing that stands before it. */
static void run_wish_late(struct run *r, uint64_t now)
{
	if (r->wished && r->wishes == 0 && r->e.user_sent && !r->unsent &&
	    now - r->e.heard_ms >= WISH_LATE_MS)
		run_wish_timer(r->ctx);
}

void run_tick(struct context *c)
{
	struct run *r = c->current;
	uint64_t now = loop_now(c->sandbox->all->loop);
	unsigned todo;

	run_limit(r, now);
	if (now - r->e.heard_ms >= VERIFY_MS && now - c->verified_ms >= VERIFY_MS) {
		c->verified_ms = now;
		bridge_verify(c->bridge);
	}
	run_wish_late(r, now);
	/* Without a connection a fence proves nothing; one is sent when it is back. */
	if (c->current != r || !bridge_is_ready(c->bridge))
		return;
	todo = execution_tick(&r->e, now);
	if (todo)
		run_do(r, todo);
}

void run_lose(struct run *r, const char *name, const char *why)
{
	execution_fail(&r->e, name, span_str(why));
	run_output(r);
	run_over(r);
}

/* ---- those that wait --------------------------------------------------------------------- */

void runs_accept(struct context *c)
{
	list_each(&c->queue, it, tmp)
		run_accept(list_entry(it, struct run, link));
}

void runs_fail(struct context *c, const char *name, const char *why)
{
	while (!list_empty(&c->queue)) {
		struct run *r = list_first(&c->queue, struct run, link);

		run_accept(r);
		run_lose(r, name, why);
	}
}

void runs_refuse(struct context *c, int status, const char *text)
{
	while (!list_empty(&c->queue)) {
		struct run *r = list_first(&c->queue, struct run, link);

		if (r->accepted) {
			run_lose(r, "WebSocketError", text);
			continue;
		}
		r->attached = false;
		r->ops->refused(r->arg, status, text);
		run_over(r);
	}
}
