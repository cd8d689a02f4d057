/*
 * execute.c - POST /execute: a run's records as an NDJSON stream.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "routes/e2b_body.h"
#include "routes/routes_int.h"
#include "session/record.h"

#define EXECUTE_MAGIC 0x65786563u

struct execute {
	unsigned magic;
	struct app *app;
	struct request *request;
	struct run *run;
	struct timer *keepalive;
	bool open;  /* the head is sent */
	bool alive; /* a keep-alive is due */
};

static void execute_free(struct execute *x)
{
	timer_free(x->keepalive);
	x->magic = 0;
	free(x);
}

/* ---- the stream --------------------------------------------------------------- */

static enum stream_state execute_fill(void *arg, struct buf *out, size_t room)
{
	struct execute *x = arg;
	size_t had = out->len;
	bool more;

	CHECK_OBJ(x, EXECUTE_MAGIC);
	more = outlog_read(run_cursor(x->run), out, room);
	if (outlog_at_end(run_cursor(x->run)))
		return STREAM_END;
	/* Between two records, never within one. */
	if (!more && x->alive && out->len == had)
		buf_span_append(out, record_keepalive());
	if (!more)
		x->alive = false;
	return more ? STREAM_MORE : STREAM_IDLE;
}

static void execute_gone(void *arg, bool ended)
{
	struct execute *x = arg;

	CHECK_OBJ(x, EXECUTE_MAGIC);
	(void)ended;
	run_release(x->run);
	execute_free(x);
}

/* The worker stops: what has not ended ends now, with a record. */
static void execute_closing(void *arg)
{
	struct execute *x = arg;

	CHECK_OBJ(x, EXECUTE_MAGIC);
	run_shutdown(x->run);
}

static const struct stream_ops execute_stream = {
	.fill = execute_fill,
	.gone = execute_gone,
	.closing = execute_closing,
};

/* Nothing sent for keepalive_s: a line, so that a silently dead peer shows. */
static void on_keepalive(void *arg)
{
	struct execute *x = arg;
	uint64_t every = 1000ull * x->app->keepalive_s;
	uint64_t quiet;

	CHECK_OBJ(x, EXECUTE_MAGIC);
	quiet = stream_quiet_ms(x->request);
	if (quiet >= every) {
		x->alive = true;
		stream_wake(x->request);
		quiet = 0;
	}
	timer_set(x->keepalive, every - quiet);
}

/* ---- the run's news ------------------------------------------------------------ */

static void on_accepted(void *arg)
{
	struct execute *x = arg;

	CHECK_OBJ(x, EXECUTE_MAGIC);
	x->open = true;
	request_header(x->request, "Cache-Control", "no-store");
	request_header(x->request, "X-Accel-Buffering", "no");
	stream_open(x->request, 200, "application/x-ndjson", &execute_stream, x);
	timer_set(x->keepalive, 1000ull * x->app->keepalive_s);
}

static void on_refused(void *arg, int status, const char *text)
{
	struct execute *x = arg;

	CHECK_OBJ(x, EXECUTE_MAGIC);
	reply_text(x->request, status, "%s", text);
	execute_free(x);
}

static void on_output(void *arg)
{
	struct execute *x = arg;

	CHECK_OBJ(x, EXECUTE_MAGIC);
	if (x->open)
		stream_wake(x->request);
}

static const struct run_ops run_ops = {
	.accepted = on_accepted,
	.refused = on_refused,
	.output = on_output,
};

/* The client left before the head was sent. */
static void on_gone(void *arg)
{
	execute_gone(arg, false);
}

/* ---- the route ------------------------------------------------------------------ */

/* The context it is for; NULL: the answer is given. */
static struct context *find_context(struct app *app, struct request *r, const struct e2b_execute *q)
{
	struct sandbox *sb = route_sandbox(app, r);
	struct context *c;

	if (!sb)
		return NULL;
	if (!span_absent(q->context_id)) {
		c = sandbox_context(sb, q->context_id);
		if (!c)
			reply_text(r, 404, "Context ID not found");
		return c;
	}
	c = sandbox_default(sb, span_absent(q->language) ? SPAN_LIT("python") : q->language);
	if (!c)
		reply_text(r, 429, "Too many contexts");
	return c;
}

void execute_post(void *arg, struct request *r, const struct route_match *m)
{
	struct app *app = arg;
	struct e2b_execute q;
	struct run_request rq;
	struct context *c;
	struct execute *x;

	(void)m;
	if (e2b_execute_read(r, app->max_code, &q) != 0)
		return;
	c = find_context(app, r, &q);
	if (!c)
		return;
	rq = (struct run_request){ .code = q.code,
				   .vars = q.vars,
				   .stream_updates = q.stream_updates,
				   .late_output = q.late_output };
	x = xcalloc(1, sizeof(*x));
	x->magic = EXECUTE_MAGIC;
	x->app = app;
	x->request = r;
	x->run = context_run(c, &rq, &run_ops, x);
	if (!x->run) {
		reply_text(r, 429, "Too many executions wait for this context");
		execute_free(x);
		return;
	}
	x->keepalive = timer_new(app->loop, on_keepalive, x);
	request_on_gone(r, on_gone, x);
}
