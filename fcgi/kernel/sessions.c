/*
 * sessions.c - POST, DELETE and GET /api/sessions.
 *
 * What is asked of Jupyter here outlives whoever asked: a kernel that is made
 * for somebody who has gone must be ended when it is there.
 */
#include "kernel/sessions.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/ids.h"
#include "base/log.h"
#include "json/emit.h"
#include "json/scan.h"

#define MARGIN_MS 5000
#define ENDING_TRIES 4
#define ENDING_PAUSE_MS 500
#define HUNT_MS 120000
#define BODY_MAX ((size_t)64 << 10)

/* ---- the end ------------------------------------------------------------------ */

struct ending {
	struct server *server;
	char *session_id; /* NULL: there is nothing to end */
	unsigned tries;
	struct timer *timer; /* the next try, or the answer */
	session_ended_fn *done;
	void *arg;
};

static void ending_tell(struct ending *e, bool ended)
{
	session_ended_fn *done = e->done;
	void *arg = e->arg;

	timer_free(e->timer);
	free(e->session_id);
	free(e);
	if (done)
		done(arg, ended);
}

/* A kernel that nobody knows of holds its memory until the next worker's
 * start, so a refusal is not the last word. */
static void ending_answered(void *arg, const struct httpc_response *res)
{
	struct ending *e = arg;

	if (res->err == -ECONNREFUSED ||
	    (res->err == 0 && (res->status == 204 || res->status == 404))) {
		ending_tell(e, true);
		return;
	}
	log_warn("jupyter: ending session %s: status %d %s", e->session_id, res->status, res->why);
	if (res->err == -ECANCELED || e->tries >= ENDING_TRIES)
		ending_tell(e, false);
	else
		timer_set(e->timer, ENDING_PAUSE_MS);
}

static void ending_step(void *arg)
{
	struct ending *e = arg;
	char *path;

	if (!e->session_id) {
		ending_tell(e, true);
		return;
	}
	e->tries++;
	path = xasprintf("/api/sessions/%s", e->session_id);
	server_call(e->server, "DELETE", path, SPAN_NONE, ending_answered, e);
	free(path);
}

void session_end(struct server *s, const char *session_id, session_ended_fn *done, void *arg)
{
	struct ending *e;

	if (!session_id && !done)
		return;
	e = xcalloc(1, sizeof(*e));
	e->server = s;
	e->session_id = session_id ? xstrdup(session_id) : NULL;
	e->done = done;
	e->arg = arg;
	e->timer = timer_new(server_loop(s), ending_step, e);
	if (session_id)
		ending_step(e);
	else
		timer_set(e->timer, 0);
}

/* ---- the beginning -------------------------------------------------------------- */

struct session_making {
	struct server *server;
	session_made_fn *fn; /* NULL: abandoned */
	void *arg;
	char *name;
};

void session_abandon(struct session_making *m)
{
	if (m)
		m->fn = NULL;
}

/* The message of an error answer, or its status. */
static void answer_why(const struct httpc_response *res, struct buf *out)
{
	struct span message = json_get(res->body, "message");

	if (json_string_decode(message, JSON_LONE_REPLACE, out) != 0 || out->len == 0)
		buf_printf(out, "Jupyter answered %d", res->status);
}

static void hunt(struct server *s, const char *name);

static void on_made(void *arg, const struct httpc_response *res)
{
	struct session_making *m = arg;
	struct session_made made = { .err = res->err, .status = res->status, .why = res->why };
	struct buf why = BUF_INIT(4096);
	char *id;

	made.session_id = json_plain(json_get(res->body, "id"));
	made.kernel_id = json_plain(json_path(res->body, "kernel.id"));
	if (res->err == 0 && (res->status != 201 || !made.session_id.len || !made.kernel_id.len)) {
		made.status = res->status == 201 ? 500 : res->status;
		answer_why(res, &why);
		made.why = why.data ? why.data : "Jupyter's answer is too long";
	}
	if (m->fn) {
		m->fn(m->arg, &made);
	} else if (made.err == 0 && made.status == 201) {
		id = xstrndup(made.session_id.ptr, made.session_id.len);
		session_end(m->server, id, NULL, NULL);
		free(id);
	}
	buf_free(&why);
	if (res->err != 0 && res->err != -ECANCELED && res->err != -ECONNREFUSED)
		hunt(m->server, m->name);
	free(m->name);
	free(m);
}

struct session_making *session_make(struct server *s, const char *kernelspec, struct span dir,
				    const char *name, session_made_fn *fn, void *arg)
{
	struct session_making *m = xcalloc(1, sizeof(*m));
	struct buf body = BUF_INIT(BODY_MAX);
	struct buf path = BUF_INIT(BODY_MAX);

	m->server = s;
	m->fn = fn;
	m->arg = arg;
	if (dir.len > 0)
		buf_printf(&path, "%.*s/", SPAN_FMT(dir));
	buf_puts(&path, name);
	buf_puts(&body, "{\"path\":");
	json_text_emit(&body, buf_span(&path));
	buf_puts(&body, ",\"type\":\"context\",\"name\":");
	json_text_emit(&body, span_str(name));
	buf_puts(&body, ",\"kernel\":{\"name\":");
	json_text_emit(&body, span_str(kernelspec));
	buf_puts(&body, "}}");
	m->name = xstrdup(name);
	server_call_within(s, 1000 * server_config(s)->kernel_start_s + MARGIN_MS, "POST",
			   "/api/sessions", buf_span(&body), on_made, m);
	buf_free(&body);
	buf_free(&path);
	return m;
}

/* ---- what a former process left -------------------------------------------------- */

struct sweep {
	struct server *server;
	session_keep_fn *keep;
	void *arg;
	char *name; /* only the session of this name; keep is not asked */
};

static struct span last_segment(struct span path)
{
	const char *slash = memrchr(path.ptr, '/', path.len);

	return slash ? span_of(slash + 1, path.len - (size_t)(slash + 1 - path.ptr)) : path;
}

/* nb2-<slot>-<id>.<n> as the last segment of path. */
static bool sweep_parse(struct span path, unsigned *ret_slot, struct span *ret_id)
{
	struct span rest = last_segment(path);
	unsigned long long slot;

	if (!span_starts(rest, "nb2-"))
		return false;
	rest = span_of(rest.ptr + 4, rest.len - 4);
	if (span_u64(span_cut(&rest, '-'), &slot) != 0 || slot >= SLOTS || span_absent(rest))
		return false;
	*ret_slot = (unsigned)slot;
	*ret_id = span_cut(&rest, '.');
	return true;
}

static bool sweep_wants(const struct sweep *sw, struct span path)
{
	struct span id;
	unsigned slot;

	if (sw->name)
		return span_is(last_segment(path), sw->name);
	return sweep_parse(path, &slot, &id) && !sw->keep(sw->arg, slot, id);
}

static void sweep_item(struct sweep *sw, struct span item)
{
	struct buf path = BUF_INIT(8192);
	struct span session = json_plain(json_get(item, "id"));
	char *text;

	if (json_string_decode(json_get(item, "path"), JSON_LONE_REPLACE, &path) == 0 &&
	    session.len > 0 && sweep_wants(sw, buf_span(&path))) {
		text = xstrndup(session.ptr, session.len);
		log_info("jupyter: ending a session that a former worker left: %s", text);
		session_end(sw->server, text, NULL, NULL);
		free(text);
	}
	buf_free(&path);
}

static void sweep_listed(void *arg, const struct httpc_response *res)
{
	struct sweep *sw = arg;
	struct json_iter it;
	struct span item;

	if (res->err == 0 && res->status == 200) {
		json_iter_init(&it, res->body);
		while (json_iter_next(&it, NULL, &item))
			sweep_item(sw, item);
	}
	free(sw->name);
	free(sw);
}

/* Making it was given up on, but the server may come to it yet: what is asked
 * for now is answered after that. */
static void hunt(struct server *s, const char *name)
{
	struct sweep *sw = xcalloc(1, sizeof(*sw));

	sw->server = s;
	sw->name = xstrdup(name);
	server_call_within(s, HUNT_MS, "GET", "/api/sessions", SPAN_NONE, sweep_listed, sw);
}

void sessions_sweep(struct server *s, session_keep_fn *keep, void *arg)
{
	struct sweep *sw = xcalloc(1, sizeof(*sw));

	sw->server = s;
	sw->keep = keep;
	sw->arg = arg;
	server_call(s, "GET", "/api/sessions", SPAN_NONE, sweep_listed, sw);
}
