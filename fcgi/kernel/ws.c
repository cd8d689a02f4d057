/*
 * ws.c - the life of a WebSocket connection, from waiting for its turn to its
 * one end, and the messages it carries.
 *
 * States only go forward (ws_int.h). Whatever libwebsockets, our own connect
 * or the clock say, the end passes through ws_on_end(), once. A connection's
 * memory is its owner's until ws_close(), even after closed().
 * How libwebsockets is talked to is ws_lws.c's business.
 */
#include "kernel/ws.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "kernel/ws_int.h"

/* In a request line and in header values; what a server sent may end up there. */
#define TEXT_MAX 1024

void ws_why(struct ws *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->why, sizeof(w->why), fmt, ap);
	va_end(ap);
}

/* ---- the end ---------------------------------------------------------------- */

static void out_clear(struct ws *w)
{
	struct ws_out *out;

	while ((out = list_first(&w->out, struct ws_out, link)) != NULL) {
		list_del(&out->link);
		free(out);
	}
	w->queued = w->held = 0;
}

/* Leave the handshake, one way or the other: the next one may start. */
static void handshake_over(struct ws *w)
{
	if (w->state == WS_REACHING || w->state == WS_SHAKING) {
		w->service->handshakes--;
		if (!list_empty(&w->service->waiting))
			turn_want(w->service->turn);
	}
	timer_free(w->timer);
	w->timer = NULL;
}

/* Everything but the memory of w itself. */
static void let_go(struct ws *w)
{
	handshake_over(w);
	w->state = WS_ENDED;
	ws_reach_stop(w);
	ws_lws_drop(w);
	out_clear(w);
	buf_free(&w->in);
}

static void ws_free(struct ws *w)
{
	list_del(&w->link);
	free(w->unix_path);
	free(w->address);
	free(w->host);
	free(w->path);
	free(w->token);
	w->magic = 0;
	free(w);
}

static void callback_enter(struct ws *w)
{
	w->busy++;
}

/* Back from the owner, who may have closed it meanwhile. */
static void callback_leave(struct ws *w)
{
	w->busy--;
	if (w->dead && w->busy == 0)
		ws_free(w);
}

void ws_on_end(struct ws *w)
{
	if (w->state == WS_ENDED)
		return;
	let_go(w);
	callback_enter(w);
	w->ops->closed(w->arg, w->why);
	callback_leave(w);
}

bool ws_cut(const struct ws *w)
{
	return w->cut || w->in_size > 0;
}

void ws_close(struct ws *w)
{
	if (!w)
		return;
	CHECK_OBJ(w, WS_MAGIC);
	assert(!w->dead);
	if (w->state != WS_ENDED)
		let_go(w);
	w->dead = true;
	if (w->busy == 0)
		ws_free(w);
}

/* ---- the beginning ---------------------------------------------------------- */

static void handshake_late(void *arg)
{
	struct ws *w = arg;

	CHECK_OBJ(w, WS_MAGIC);
	ws_why(w, "no answer to the handshake within %u ms", w->timeout_ms);
	ws_on_end(w);
}

void ws_on_reached(struct ws *w, int err)
{
	if (err == 0) {
		w->state = WS_SHAKING;
		err = ws_lws_connect(w);
	}
	if (err != 0)
		ws_on_end(w);
}

static bool is_plain(const char *text)
{
	size_t n = 0;

	for (; text[n]; n++) {
		if (text[n] <= ' ' || text[n] > '~' || n >= TEXT_MAX)
			return false;
	}
	return n > 0;
}

static int check(struct ws *w)
{
	if (!is_plain(w->path) || w->path[0] != '/' || (w->token && !is_plain(w->token)) ||
	    !is_plain(w->host)) {
		ws_why(w, "the path, token or host cannot stand in a request");
		return -EINVAL;
	}
	return ws_reach_address(w);
}

static void start(struct ws *w)
{
	int r;

	list_del(&w->link);
	list_push(&w->service->started, &w->link);
	w->state = WS_REACHING;
	w->service->handshakes++;
	r = check(w);
	if (r == 0)
		r = ws_reach(w);
	if (r <= 0)
		ws_on_reached(w, r);
}

/* At the end of a turn, so that closed() never comes from within ws_open(). */
static void start_waiting(void *arg)
{
	struct ws_service *s = arg;
	struct ws *w;

	CHECK_OBJ(s, WS_SERVICE_MAGIC);
	while (s->handshakes < WS_HANDSHAKES &&
	       (w = list_first(&s->waiting, struct ws, link)) != NULL)
		start(w);
}

static char *dup_or_null(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

struct ws *ws_open(struct ws_service *s, const struct ws_target *t, const struct ws_ops *ops,
		   void *arg)
{
	struct ws *w = xcalloc(1, sizeof(*w));

	CHECK_OBJ(s, WS_SERVICE_MAGIC);
	w->magic = WS_MAGIC;
	w->state = WS_WAITING;
	w->service = s;
	w->ops = ops;
	w->arg = arg;
	w->unix_path = dup_or_null(t->unix_path);
	w->host = xstrdup(t->host);
	w->port = t->port;
	w->path = xstrdup(t->path);
	w->token = dup_or_null(t->token);
	w->timeout_ms = t->timeout_ms;
	w->reach_fd = -1;
	w->max_message = t->max_message;
	buf_init(&w->in, t->max_message > WS_HEAD ? t->max_message : WS_HEAD);
	list_init(&w->out);
	list_init(&w->link);
	list_push(&s->waiting, &w->link);
	w->timer = timer_new(s->loop, handshake_late, w);
	timer_set(w->timer, w->timeout_ms);
	turn_want(s->turn);
	return w;
}

void ws_on_opened(struct ws *w)
{
	handshake_over(w);
	w->state = WS_OPEN;
	callback_enter(w);
	w->ops->opened(w->arg, w->v1);
	callback_leave(w);
}

/* ---- messages in ------------------------------------------------------------ */

/* Keep the chunk, or of a message that has become too large only its head. */
static void in_keep(struct ws *w, struct span chunk)
{
	size_t keep = chunk.len;

	if (w->in_size > w->max_message) {
		if (w->in.len > WS_HEAD)
			buf_truncate(&w->in, WS_HEAD);
		if (keep > WS_HEAD - w->in.len)
			keep = WS_HEAD - w->in.len;
	}
	buf_append(&w->in, chunk.ptr, keep); /* its ceiling is above both cases */
}

static void in_deliver(struct ws *w, struct span frame, bool binary)
{
	if (w->in_size > w->max_message)
		w->ops->oversize(w->arg, frame, w->in_size);
	else
		w->ops->message(w->arg, frame, binary);
}

void ws_on_chunk(struct ws *w, struct span chunk, bool final, bool binary)
{
	bool whole = final && w->in_size == 0;

	if (w->state != WS_OPEN)
		return;
	w->in_size += chunk.len;
	if (!whole)
		in_keep(w, chunk);
	if (!final)
		return;
	callback_enter(w);
	/* Most messages come in one piece and are never copied. */
	in_deliver(w, whole ? chunk : buf_span(&w->in), binary);
	w->in_size = 0;
	if (w->in.cap > WS_KEEP)
		buf_free(&w->in);
	else
		buf_reset(&w->in);
	callback_leave(w);
}

/* ---- messages out ----------------------------------------------------------- */

int ws_send(struct ws *w, struct span frame, bool binary)
{
	struct ws_out *out;

	CHECK_OBJ(w, WS_MAGIC);
	if (w->state != WS_OPEN)
		return -ENOTCONN;
	if (frame.len > WS_QUEUE_MAX - w->queued)
		return -ENOBUFS;
	out = ws_out_new(frame, binary);
	list_push(&w->out, &out->link);
	w->queued += frame.len;
	ws_lws_want_write(w);
	return 0;
}

size_t ws_queued(const struct ws *w)
{
	return w->queued;
}

/* ---- the service ------------------------------------------------------------ */

struct ws_service *ws_service_new(struct loop *l)
{
	struct ws_service *s = xcalloc(1, sizeof(*s));

	s->magic = WS_SERVICE_MAGIC;
	s->loop = l;
	list_init(&s->waiting);
	list_init(&s->started);
	if (ws_lws_new(s) != 0) {
		log_error("libwebsockets cannot run on our event loop: is its libuv plugin "
			  "(Debian: libwebsockets-evlib-uv) installed?");
		exit(EXIT_FAILURE);
	}
	s->turn = turn_new(l, start_waiting, s);
	return s;
}

void ws_service_free(struct ws_service *s)
{
	CHECK_OBJ(s, WS_SERVICE_MAGIC);
	assert(list_empty(&s->waiting) && list_empty(&s->started));
	ws_lws_free(s);
	turn_free(s->turn);
	s->magic = 0;
	free(s);
}
