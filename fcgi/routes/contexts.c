/*
 * contexts.c - /contexts: create, list, restart, delete.
 *
 * Each waits for something; a client that leaves meanwhile only takes its
 * answer with it, what was begun goes on.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "json/emit.h"
#include "routes/e2b_body.h"
#include "routes/routes_int.h"

#define LIST_MAX ((size_t)1 << 20)

struct wait {
	struct request *request;
	struct waiter *waiter;
	struct sandbox *sandbox;
};

static void on_gone(void *arg)
{
	struct wait *w = arg;

	waiter_cancel(w->waiter);
	free(w);
}

static struct wait *wait_new(struct request *r)
{
	struct wait *w = xcalloc(1, sizeof(*w));

	w->request = r;
	request_on_gone(r, on_gone, w);
	return w;
}

/* {"id":…,"language":…,"cwd":…} */
static void context_json(struct buf *b, const struct context *c)
{
	buf_puts(b, "{\"id\":");
	json_text_emit(b, span_str(context_id(c)));
	buf_puts(b, ",\"language\":");
	json_text_emit(b, span_str(context_language(c)));
	buf_puts(b, ",\"cwd\":");
	json_text_emit(b, span_str(context_cwd(c)));
	buf_putc(b, '}');
}

static void reply_e2b(struct request *r, struct span json)
{
	reply(r, 200, "application/json", json);
}

/* ---- create -------------------------------------------------------------------- */

static void on_created(void *arg, const struct context_answer *a)
{
	struct wait *w = arg;
	struct buf b = BUF_INIT(65536);

	if (a->status == 200) {
		context_json(&b, a->c);
		reply_e2b(w->request, buf_span(&b));
	} else {
		reply_answer(w->request, a);
	}
	buf_free(&b);
	free(w);
}

void contexts_post(void *arg, struct request *r, const struct route_match *m)
{
	struct sandbox *sb;
	struct e2b_create q;
	struct wait *w;

	(void)m;
	if (e2b_create_read(r, &q) != 0)
		return;
	sb = route_sandbox(arg, r);
	if (!sb)
		return;
	w = wait_new(r);
	w->waiter = sandbox_create(sb, q.language, q.cwd, on_created, w);
	if (!w->waiter) {
		free(w);
		reply_text(r, 429, "Too many contexts");
	}
}

/* ---- list ----------------------------------------------------------------------- */

static void on_listed(void *arg, const struct context_answer *a)
{
	struct wait *w = arg;
	struct buf b = BUF_INIT(LIST_MAX);
	struct context *c;
	size_t place = 0;

	if (a->status != 200) {
		reply_answer(w->request, a);
		free(w);
		return;
	}
	buf_putc(&b, '[');
	while ((c = sandbox_next(w->sandbox, &place)) != NULL) {
		if (b.len > 1)
			buf_putc(&b, ',');
		context_json(&b, c);
	}
	buf_putc(&b, ']');
	reply_e2b(w->request, buf_span(&b));
	buf_free(&b);
	free(w);
}

void contexts_get(void *arg, struct request *r, const struct route_match *m)
{
	struct sandbox *sb = route_sandbox(arg, r);
	struct wait *w;

	(void)m;
	if (!sb)
		return;
	w = wait_new(r);
	w->sandbox = sb;
	w->waiter = sandbox_list(sb, on_listed, w);
}

/* ---- restart, delete --------------------------------------------------------------- */

static void on_done(void *arg, const struct context_answer *a)
{
	struct wait *w = arg;

	if (a->status == 200)
		reply_e2b(w->request, SPAN_LIT("null"));
	else
		reply_answer(w->request, a);
	free(w);
}

/* The context that the path names; NULL: 404 is given. */
static struct context *path_context(struct app *app, struct request *r, const struct route_match *m)
{
	struct sandbox *sb = route_sandbox(app, r);
	struct context *c = sb ? sandbox_context(sb, m->id) : NULL;

	if (sb && !c)
		reply_text(r, 404, "Context ID not found");
	return c;
}

static void on_restarted(void *arg, const struct context_answer *a)
{
	struct wait *w = arg;

	if (a->status == 200) {
		on_done(arg, a);
		return;
	}
	log_warn("a restart failed: %s", a->text);
	reply_text(w->request, 500, "Failed to restart context ID");
	free(w);
}

void context_restart_post(void *arg, struct request *r, const struct route_match *m)
{
	struct context *c = path_context(arg, r, m);
	struct wait *w;

	if (!c)
		return;
	w = wait_new(r);
	w->waiter = context_restart(c, on_restarted, w);
}

void context_delete_route(void *arg, struct request *r, const struct route_match *m)
{
	struct context *c = path_context(arg, r, m);
	struct wait *w;

	if (!c)
		return;
	w = wait_new(r);
	w->waiter = context_delete(c, on_done, w);
}
