/*
 * fcgi_target.c - a small FastCGI server that does all that the http room can:
 * what tests/fuzz/fcgi_mutate throws its conversations at.
 *
 *     fcgi_target SOCKET
 *
 * The path says how it answers: /echo the body; /later after a turn or so;
 * /never; /stream a few pieces and an end; /idle a stream that says nothing;
 * /big more than a socket takes; all else a line. Ends at SIGTERM.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "http/server.h"

struct target {
	struct loop *loop;
	struct http_server *server;
};

/* A request that is not answered at once, or goes on. */
struct slow {
	struct target *target;
	struct request *request;
	struct timer *timer;
	int pieces; /* still to come */
	bool quiet;
};

static struct slow *slow_new(struct target *t, struct request *r, loop_fn *fn, int pieces)
{
	struct slow *s = xcalloc(1, sizeof(*s));

	s->target = t;
	s->request = r;
	s->pieces = pieces;
	s->timer = timer_new(t->loop, fn, s);
	return s;
}

static void slow_free(void *arg)
{
	struct slow *s = arg;

	timer_free(s->timer);
	free(s);
}

static void on_later(void *arg)
{
	struct slow *s = arg;

	reply_error(s->request, 404, "later", "%s", request_path(s->request));
	slow_free(s);
}

static void on_tick(void *arg)
{
	struct slow *s = arg;

	stream_wake(s->request);
	timer_set(s->timer, 1);
}

static enum stream_state fill(void *arg, struct buf *out, size_t room)
{
	struct slow *s = arg;

	(void)room;
	if (s->quiet)
		return STREAM_IDLE;
	buf_printf(out, "data: %d\n\n", s->pieces);
	return --s->pieces > 0 ? STREAM_IDLE : STREAM_END;
}

static void gone(void *arg, bool ended)
{
	(void)ended;
	slow_free(arg);
}

static const struct stream_ops ops = { .fill = fill, .gone = gone };

static void stream(struct target *t, struct request *r, bool quiet)
{
	struct slow *s = slow_new(t, r, on_tick, 4);

	s->quiet = quiet;
	if (!quiet)
		timer_set(s->timer, 1);
	stream_open(r, 200, "text/event-stream", &ops, s);
}

static void handle(void *arg, struct request *r)
{
	static char big[1 << 20];
	struct target *t = arg;
	const char *path = request_path(r);
	struct slow *s;

	request_query(r, "sid");
	request_cookie(r, "nb2_");
	request_set_user(r, path);
	if (request_refused(r)) {
		reply_error(r, request_refused(r), "refused", "%s", path);
	} else if (strcmp(path, "/echo") == 0) {
		reply(r, 200, "text/plain", request_body(r));
	} else if (strcmp(path, "/big") == 0) {
		reply(r, 200, NULL, span_of(big, sizeof(big)));
	} else if (strcmp(path, "/stream") == 0 || strcmp(path, "/idle") == 0) {
		stream(t, r, path[1] == 'i');
	} else if (strcmp(path, "/later") == 0 || strcmp(path, "/never") == 0) {
		s = slow_new(t, r, on_later, 0);
		request_on_gone(r, slow_free, s);
		if (path[1] == 'l')
			timer_set(s->timer, 1);
	} else {
		reply_text(r, 200, "ok %s", path);
	}
}

static void on_term(void *arg)
{
	struct target *t = arg;

	loop_stop(t->loop);
}

int main(int argc, char **argv)
{
	struct http_limits limits = { .params = 256 << 10,
				      .body = 1 << 20,
				      .arena = 8 << 20,
				      .half_ms = 1000,
				      .connections = 1000 };
	struct target t;
	struct sig *term;
	int fd;

	if (argc != 2) {
		fprintf(stderr, "usage: %s SOCKET\n", argv[0]);
		return EXIT_FAILURE;
	}
	log_init("target", LOG_ERROR);
	signal(SIGPIPE, SIG_IGN);
	fd = http_socket_open(argv[1]);
	if (fd < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-fd));
		return EXIT_FAILURE;
	}
	t.loop = loop_new();
	t.server = http_server_new(t.loop, &limits, handle, &t);
	http_server_listen(t.server, fd, 0);
	term = sig_new(t.loop, SIGTERM, on_term, &t);
	loop_run(t.loop);
	http_server_free(t.server);
	sig_free(term);
	loop_free(t.loop);
	close(fd);
	unlink(argv[1]);
	return EXIT_SUCCESS;
}
