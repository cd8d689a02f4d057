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
	buf_init(&r->out, SIZE_MAX / 2); /* bounded by what may be in an answer */
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
	buf_free(&r->out);
	free(r->label);
	free(r->user);
	r->magic = 0;
	free(r);
}

/* One line a request, without query, body or token. */
static void log_request(const struct request *r, const char *how)
{
	if (!r->label)
		return;
	log_info("%s %s %u %llu bytes %llu ms %s%s", r->request_id, r->label, r->status,
		 (unsigned long long)r->bytes,
		 (unsigned long long)((clock_us() - r->began_us) / 1000), r->user ? r->user : "-",
		 how);
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

/* Ready for the next request on a kept connection. */
static void conn_reset(struct request *r)
{
	conn_data_free(r);
	free(r->label);
	free(r->user);
	r->label = r->user = NULL;
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

static int on_begin(struct request *r, const struct fcgi_event *ev)
{
	unsigned char end[16];

	if (r->phase != PHASE_FIRST && r->phase != PHASE_IDLE) {
		/* A second one at the same time: not that id again, please. */
		if (ev->id == r->id)
			return -EBADMSG;
		fcgi_end(end, ev->id, FCGI_CANT_MPX_CONN);
		write_raw(r, end, sizeof(end));
		return 0;
	}
	if (ev->role != FCGI_RESPONDER) {
		fcgi_end(end, ev->id, FCGI_UNKNOWN_ROLE);
		write_raw(r, end, sizeof(end));
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
	if (r->phase != PHASE_PARAMS || ev->id != r->id)
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

	if (r->phase != PHASE_STDIN || ev->id != r->id)
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

/* What is looked at of FCGI_GET_VALUES must be in one piece: it is tiny. */
static void on_values(struct request *r, const struct fcgi_event *ev)
{
	struct buf answer = BUF_INIT(1024);

	fcgi_values(&answer, span_of(ev->data.ptr, ev->data.len < REC_VALUES_MAX ? ev->data.len :
										   REC_VALUES_MAX));
	write_raw(r, answer.data, answer.len);
	buf_free(&answer);
}

static int on_record(struct request *r, const struct fcgi_event *ev)
{
	unsigned char unknown[16];

	switch (ev->kind) {
	case REC_BEGIN:
		return on_begin(r, ev);
	case REC_PARAMS:
		return on_params(r, ev);
	case REC_STDIN:
		return on_stdin(r, ev);
	case REC_ABORT:
		return ev->id == r->id ? -ECANCELED : -EBADMSG;
	case REC_VALUES:
		if (ev->last)
			on_values(r, ev);
		return 0;
	case REC_UNKNOWN:
		if (!ev->last)
			return 0;
		fcgi_unknown(unknown, ev->type);
		write_raw(r, unknown, sizeof(unknown));
		return 0;
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
	log_debug("%s: closing: %s", r->label ? r->label : "connection", strerror(-n));
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
