/*
 * conn.c - a connection's life: bytes in, phases, the end.
 *
 * What is malformed closes this connection and nothing else. Once a request is
 * whole and its handler has it, the only news from the peer is that it left.
 */
#include <errno.h>
#include <fastcgi.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "http/conn_int.h"

#define READ_SIZE ((size_t)64 << 10)
#define READS_A_TURN 16 /* then the others have their turn */

static void on_ready(void *arg, unsigned events);

void conn_new(struct http_server *s, int fd, unsigned slot)
{
	struct request *r = xcalloc(1, sizeof(*r));

	r->magic = REQUEST_MAGIC;
	r->server = s;
	r->fd = fd;
	r->slot = (uint8_t)slot;
	r->phase = PHASE_FIRST;
	r->began_us = clock_us();
	list_init(&r->woken);
	list_init(&r->link);
	list_push(&s->conns, &r->link);
	s->n_conns++;
	r->watch = watch_new(s->loop, fd, on_ready, r);
	conn_watch(r);
}

void conn_data_free(struct request *r)
{
	struct request_data *d = r->data;

	if (!d)
		return;
	buf_free(&d->params_raw);
	buf_free(&d->body);
	buf_free(&d->headers);
	arena_free(&d->arena);
	free(d);
	r->data = NULL;
}

static void values_free(struct request *r)
{
	if (r->values)
		buf_free(r->values);
	free(r->values);
	r->values = NULL;
}

/* Memory goes at the end of the turn. */
static void conn_close(struct request *r)
{
	if (r->phase == PHASE_DEAD)
		return;
	r->phase = PHASE_DEAD;
	watch_free(r->watch);
	r->watch = NULL;
	close(r->fd);
	list_del(&r->woken);
	list_del(&r->link);
	list_push(&r->server->dead, &r->link);
	r->server->n_conns--;
	turn_want(r->server->turn);
	server_conn_gone(r->server);
}

void conn_free(struct request *r)
{
	conn_data_free(r);
	values_free(r);
	write_pending_free(r);
	free(r->names);
	r->magic = 0;
	free(r);
}

/* One line a request, without query, body or token. */
static void log_request(const struct request *r, const char *how)
{
	if (!r->names)
		return;
	log_info("%s %s %u %llu bytes %llu ms %s s%u%s", r->names, r->names + r->label_at,
		 r->status, (unsigned long long)r->bytes,
		 (unsigned long long)((clock_us() - r->began_us) / 1000),
		 r->user_at ? r->names + r->user_at : "-", r->slot, how);
}

void conn_drop(struct request *r)
{
	enum phase was = (enum phase)r->phase;
	void (*gone)(void *arg) = r->data ? r->data->gone : NULL;
	void *gone_arg = r->data ? r->data->gone_arg : NULL;

	if (was == PHASE_DEAD)
		return;
	if (was >= PHASE_RUNNING)
		log_request(r, " (client gone)");
	conn_close(r);
	if (was == PHASE_STREAM && r->ops)
		r->ops->gone(r->ops_arg, false);
	else if (was == PHASE_RUNNING && gone)
		gone(gone_arg);
}

void conn_break(struct request *r)
{
	if (r->broken || r->phase == PHASE_DEAD)
		return;
	r->broken = true;
	list_del(&r->woken);
	list_push(&r->server->broken, &r->woken);
	turn_want(r->server->turn);
}

/* Ready for the next request on a kept connection. */
static void conn_reset(struct request *r)
{
	conn_data_free(r);
	free(r->names);
	r->names = NULL;
	r->label_at = r->user_at = 0;
	r->ops = NULL;
	r->ending = r->head_only = false;
	r->bytes = 0;
	r->phase = PHASE_IDLE;
	conn_watch(r);
}

void conn_finish(struct request *r)
{
	const struct stream_ops *ops = r->phase == PHASE_STREAM ? r->ops : NULL;
	void *arg = r->ops_arg;

	log_request(r, "");
	if (r->keep && !r->server->stopping)
		conn_reset(r);
	else
		conn_close(r);
	if (ops)
		ops->gone(arg, true);
}

/* ---- records in ------------------------------------------------------------------ */

static void data_new(struct request *r)
{
	struct request_data *d = xcalloc(1, sizeof(*d));
	const struct http_limits *l = &r->server->limits;

	buf_init(&d->params_raw, l->params);
	buf_init(&d->body, l->body);
	buf_init(&d->headers, 64 << 10);
	arena_init(&d->arena, l->arena);
	r->data = d;
}

/* An answer that is no request's. Who asks on and on without taking them gets
 * no buffer for it. */
static int tell(struct request *r, const void *data, size_t len)
{
	if (r->blocked)
		return -EFBIG;
	write_raw(r, data, len);
	return 0;
}

static int on_begin(struct request *r, const struct fcgi_event *ev)
{
	unsigned char end[16];

	if (r->phase != PHASE_FIRST && r->phase != PHASE_IDLE) {
		/* A second one at the same time: not that id again, please. */
		if (ev->id == r->id)
			return -EBADMSG;
		fcgi_end(end, ev->id, FCGI_CANT_MPX_CONN);
		return tell(r, end, sizeof(end));
	}
	if (ev->role != FCGI_RESPONDER) {
		fcgi_end(end, ev->id, FCGI_UNKNOWN_ROLE);
		tell(r, end, sizeof(end));
		return -EBADMSG;
	}
	r->id = ev->id;
	r->keep = ev->keep;
	r->began_us = clock_us();
	r->phase = PHASE_PARAMS;
	data_new(r);
	return 0;
}

static int on_params(struct request *r, const struct fcgi_event *ev)
{
	if (r->phase != PHASE_PARAMS)
		return -EBADMSG;
	if (ev->data.len > 0)
		return buf_span_append(&r->data->params_raw, ev->data);
	r->phase = PHASE_STDIN;
	return request_params_done(r);
}

/* The request is whole. */
static void dispatch(struct request *r)
{
	struct request_data *d = r->data;
	unsigned long long said;
	struct span length = request_span(r, "CONTENT_LENGTH");

	if (d->refused == 0 && length.len > 0 &&
	    (span_u64(length, &said) != 0 || said != d->body_seen))
		d->refused = 400;
	r->phase = PHASE_RUNNING;
	r->server->fn(r->server->arg, r);
}

static int on_stdin(struct request *r, const struct fcgi_event *ev)
{
	struct request_data *d = r->data;

	if (r->phase != PHASE_STDIN)
		return -EBADMSG;
	if (ev->data.len == 0) {
		dispatch(r);
		return 0;
	}
	d->body_seen += ev->data.len;
	if (d->body_seen > 2 * d->body.max)
		return -EFBIG;
	if (d->refused == 0 && buf_span_append(&d->body, ev->data) != 0) {
		d->refused = 413;
		buf_free(&d->body);
	}
	return 0;
}

/* FCGI_GET_VALUES: its beginning is kept until all of it is here, the answer
 * to more than that is bounded like the question. */
static int on_values(struct request *r, const struct fcgi_event *ev)
{
	struct buf answer = BUF_INIT(1024);
	size_t room;
	int n;

	if (!r->values) {
		r->values = xmalloc(sizeof(*r->values));
		buf_init(r->values, REC_VALUES_MAX);
	}
	room = REC_VALUES_MAX - r->values->len;
	buf_append(r->values, ev->data.ptr, ev->data.len < room ? ev->data.len : room);
	if (!ev->last)
		return 0;
	fcgi_values(&answer, buf_span(r->values));
	n = tell(r, answer.data, answer.len);
	buf_free(&answer);
	values_free(r);
	return n;
}

static int on_unknown(struct request *r, const struct fcgi_event *ev)
{
	unsigned char unknown[16];

	if (!ev->last)
		return 0;
	fcgi_unknown(unknown, ev->type);
	return tell(r, unknown, sizeof(unknown));
}

/* Section 3.3: records of an id that is not active are ignored. A refused
 * second request's rest is such, and what crossed with the end of an answer. */
static bool not_active(const struct request *r, const struct fcgi_event *ev)
{
	return ev->kind != REC_BEGIN && r->phase != PHASE_FIRST &&
	       (r->phase == PHASE_IDLE || ev->id != r->id);
}

static int on_record(struct request *r, const struct fcgi_event *ev)
{
	if (ev->kind == REC_VALUES)
		return on_values(r, ev);
	if (ev->kind == REC_UNKNOWN)
		return on_unknown(r, ev);
	if (not_active(r, ev))
		return 0;
	switch (ev->kind) {
	case REC_BEGIN:
		return on_begin(r, ev);
	case REC_PARAMS:
		return on_params(r, ev);
	case REC_STDIN:
		return on_stdin(r, ev);
	case REC_ABORT:
		return -ECANCELED;
	default:
		return -EBADMSG;
	}
}

/* false: the connection is closed. */
static bool conn_feed(struct request *r, struct span in)
{
	struct fcgi_event ev;
	int n;

	while ((n = fcgi_next(&r->input, &in, &ev)) == 1) {
		n = on_record(r, &ev);
		if (r->phase == PHASE_DEAD)
			return false;
		if (n != 0)
			break;
	}
	if (n == 0)
		return true;
	log_debug("%s: closing: %s", r->names ? r->names + r->label_at : "connection",
		  strerror(-n));
	conn_drop(r);
	return false;
}

/* ---- the socket ---------------------------------------------------------------------- */

static void conn_read(struct request *r)
{
	static char chunk[READ_SIZE]; /* loop thread only */

	for (int i = 0; i < READS_A_TURN; i++) {
		ssize_t n = recv(r->fd, chunk, sizeof(chunk), 0);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			conn_drop(r);
			return;
		}
		if (!conn_feed(r, span_of(chunk, (size_t)n)) || (size_t)n < sizeof(chunk))
			return;
	}
}

static void on_ready(void *arg, unsigned events)
{
	struct request *r = arg;

	CHECK_OBJ(r, REQUEST_MAGIC);
	if (events & WATCH_WRITE)
		write_continue(r);
	if (r->phase != PHASE_DEAD && (events & (WATCH_READ | WATCH_HUP)))
		conn_read(r);
}

/* A half-sent request is read on; nothing else of the peer's is waited for
 * than its leaving, which shows as readable too. */
void conn_watch(struct request *r)
{
	if (r->watch)
		watch_set(r->watch, WATCH_READ | (r->blocked ? WATCH_WRITE : 0));
}
