/*
 * server.c - listening, the turn's end, deadlines, the orderly stop.
 */
#include "http/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "http/conn_int.h"

#define SWEEP_MS 500
#define ACCEPTS_A_TURN 64
#define CUT_MS 1000 /* at a stop: what a stream has to say its last */
#define SCRATCH_MAX ((size_t)256 << 20)
#define SCRATCH_KEEP ((size_t)1 << 20) /* of one large record's memory */

static void on_sweep(void *arg);
static void on_turn(void *arg);

struct http_server *http_server_new(struct loop *l, const struct http_limits *limits,
				    http_handler_fn *fn, void *arg)
{
	struct http_server *s = xcalloc(1, sizeof(*s));

	s->loop = l;
	s->limits = *limits;
	s->fn = fn;
	s->arg = arg;
	list_init(&s->listeners);
	list_init(&s->conns);
	list_init(&s->dead);
	list_init(&s->woken);
	list_init(&s->broken);
	buf_init(&s->scratch, SCRATCH_MAX);
	s->turn = turn_new(l, on_turn, s);
	s->sweep = timer_new(l, on_sweep, s);
	timer_set(s->sweep, SWEEP_MS);
	return s;
}

/* ---- accepting -------------------------------------------------------------------- */

static void listeners_watch(struct http_server *s)
{
	list_each(&s->listeners, it, tmp) {
		struct listener *l = list_entry(it, struct listener, link);

		if (l->watch)
			watch_set(l->watch, s->paused || s->stopping ? 0 : WATCH_READ);
	}
}

/* Full, or out of descriptors: the backlog waits, the sweep tries again. */
static void accept_pause(struct http_server *s, const char *why)
{
	if (s->paused)
		return;
	log_warn("accepting pauses: %s", why);
	s->paused = true;
	listeners_watch(s);
}

static void on_accept(void *arg, unsigned events)
{
	struct listener *l = arg;
	struct http_server *s = l->server;

	(void)events;
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		int fd;

		if (s->n_conns >= s->limits.connections) {
			accept_pause(s, "too many connections");
			return;
		}
		fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			conn_new(s, fd, l->slot);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			accept_pause(s, strerror(errno));
		if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

void http_server_listen(struct http_server *s, int fd, unsigned slot)
{
	struct listener *l = xcalloc(1, sizeof(*l));

	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	l->server = s;
	l->fd = fd;
	l->slot = slot;
	l->watch = watch_new(s->loop, fd, on_accept, l);
	watch_set(l->watch, WATCH_READ);
	list_init(&l->link);
	list_push(&s->listeners, &l->link);
}

size_t http_server_connections(const struct http_server *s)
{
	return s->n_conns;
}

/* ---- the end of a turn --------------------------------------------------------------- */

void stream_wake(struct request *r)
{
	if (r->phase != PHASE_STREAM || r->ending || r->broken || !list_empty(&r->woken))
		return;
	list_push(&r->server->woken, &r->woken);
	turn_want(r->server->turn);
}

/* Everything that was woken leaves together: one write a stream and turn. */
static void streams_flush(struct http_server *s)
{
	struct list now;

	list_init(&now);
	while (!list_empty(&s->woken)) {
		struct list *l = s->woken.next;

		list_del(l);
		list_push(&now, l);
	}
	while (!list_empty(&now)) {
		struct request *r = list_first(&now, struct request, woken);

		list_del(&r->woken);
		CHECK_OBJ(r, REQUEST_MAGIC);
		write_pump(r);
	}
	buf_reset(&s->scratch);
	if (s->scratch.cap > SCRATCH_KEEP)
		buf_free(&s->scratch);
}

static void bury(struct http_server *s)
{
	while (!list_empty(&s->dead)) {
		struct request *r = list_first(&s->dead, struct request, link);

		list_del(&r->link);
		conn_free(r);
	}
}

static void on_turn(void *arg)
{
	struct http_server *s = arg;

	streams_flush(s);
	while (!list_empty(&s->broken))
		conn_drop(list_first(&s->broken, struct request, woken));
	bury(s);
	if (s->all_gone && s->stopped) {
		loop_fn *fn = s->stopped;

		s->stopped = NULL;
		fn(s->stopped_arg); /* which may free s */
	}
}

/* ---- deadlines -------------------------------------------------------------------------- */

static bool overdue(const struct request *r, uint64_t now_us)
{
	uint64_t limit = (uint64_t)r->server->limits.half_ms * 1000;

	return (r->phase == PHASE_FIRST || r->phase == PHASE_PARAMS || r->phase == PHASE_STDIN) &&
	       now_us - r->began_us > limit;
}

static void on_sweep(void *arg)
{
	struct http_server *s = arg;
	uint64_t now_us = clock_us();
	bool cut = s->stopping && loop_now(s->loop) >= s->cut_at_ms;

	list_each(&s->conns, it, tmp) {
		struct request *r = list_entry(it, struct request, link);

		if (overdue(r, now_us) || (cut && r->phase == PHASE_STREAM))
			conn_break(r);
	}
	if (s->paused && s->n_conns < s->limits.connections) {
		s->paused = false;
		listeners_watch(s);
	}
	timer_set(s->sweep, SWEEP_MS);
}

/* ---- stopping ---------------------------------------------------------------------------- */

void server_conn_gone(struct http_server *s)
{
	if (!s->stopping || s->n_conns > 0)
		return;
	s->all_gone = true;
	turn_want(s->turn);
}

static void stop_conn(struct request *r)
{
	switch (r->phase) {
	case PHASE_FIRST:
	case PHASE_IDLE:
		conn_drop(r);
		break;
	case PHASE_STREAM:
		if (r->ops->closing)
			r->ops->closing(r->ops_arg);
		stream_wake(r);
		break;
	default:
		break; /* gets its answer first */
	}
}

void http_server_stop(struct http_server *s, loop_fn *fn, void *arg)
{
	s->stopping = true;
	s->stopped = fn;
	s->stopped_arg = arg;
	s->cut_at_ms = loop_now(s->loop) + CUT_MS;
	listeners_watch(s);
	list_each(&s->conns, it, tmp)
		stop_conn(list_entry(it, struct request, link));
	server_conn_gone(s);
}

void http_server_free(struct http_server *s)
{
	s->stopped = NULL;
	while (!list_empty(&s->conns))
		conn_drop(list_first(&s->conns, struct request, link));
	bury(s);
	while (!list_empty(&s->listeners)) {
		struct listener *l = list_first(&s->listeners, struct listener, link);

		list_del(&l->link);
		watch_free(l->watch);
		free(l);
	}
	timer_free(s->sweep);
	turn_free(s->turn);
	buf_free(&s->scratch);
	free(s);
}
