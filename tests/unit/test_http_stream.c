/*
 * test_http_stream.c - answers that go on: asked when woken, cut short by
 * either side, ended; and what a quiet one costs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fastcgi.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "fcgi_peer.h"

static const struct http_limits limits = {
	.params = 8192,
	.body = 100000,
	.arena = 1 << 20,
	.half_ms = 20000,
	.connections = 20000,
};

struct fixture {
	struct stage stage;
	struct peer *peer;
	struct request *stream;
	struct buf next; /* what fill() gives, once */
	bool end;	 /* and then the end */
	bool endless;
	bool closing_ends;
	int fills;
	int gone;
	int ended;
	int closings;
	int stopped;
	int opened;
};

static enum stream_state fill(void *arg, struct buf *out, size_t room)
{
	struct fixture *f = arg;
	char line[1024];

	f->fills++;
	if (f->endless) {
		memset(line, 'e', sizeof(line));
		for (size_t n = 0; n < room; n += sizeof(line))
			buf_append(out, line, sizeof(line));
		return STREAM_MORE;
	}
	buf_span_append(out, buf_span(&f->next));
	buf_reset(&f->next);
	return f->end ? STREAM_END : STREAM_IDLE;
}

static void gone(void *arg, bool ended)
{
	struct fixture *f = arg;

	f->gone++;
	f->ended += ended;
	f->stream = NULL;
}

static void closing(void *arg)
{
	struct fixture *f = arg;

	f->closings++;
	if (f->closing_ends) {
		buf_puts(&f->next, "last words");
		f->end = true;
	}
}

static const struct stream_ops ops = { .fill = fill, .gone = gone, .closing = closing };
static const struct stream_ops plain_ops = { .fill = fill, .gone = gone };

static void handle(void *arg, struct request *r)
{
	struct fixture *f = arg;

	f->stream = r;
	f->opened++;
	request_header(r, "X-Accel-Buffering", "no");
	request_set_user(r, "somebody");
	stream_open(r, 200, "text/event-stream",
		    strcmp(request_path(r), "/plain") == 0 ? &plain_ops : &ops, f);
}

static int make(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	f.next = BUF_INIT(1 << 20);
	stage_open(&f.stage, &limits, handle, &f);
	f.peer = peer_new(&f.stage);
	*state = &f;
	return 0;
}

static int drop(void **state)
{
	struct fixture *f = *state;

	if (f->peer)
		peer_free(f->peer);
	stage_close(&f->stage);
	buf_free(&f->next);
	return 0;
}

static void send_request(struct peer *p, const char *method, const char *uri, bool keep)
{
	struct buf b = BUF_INIT(8192);

	say_request(&b, keep, method, uri, SPAN_NONE);
	peer_send(p, buf_span(&b));
	buf_free(&b);
}

/* ---- conditions ------------------------------------------------------------------ */

static bool was_filled(void *arg)
{
	struct fixture *f = arg;

	return f->fills > 0;
}

static bool is_gone(void *arg)
{
	struct fixture *f = arg;

	return f->gone > 0;
}

static bool is_stopped(void *arg)
{
	struct fixture *f = arg;

	return f->stopped > 0;
}

struct expected {
	struct peer *peer;
	const char *tail;
};

static bool ends_with(void *arg)
{
	struct expected *e = arg;
	size_t n = strlen(e->tail);

	peer_look(e->peer);
	return e->peer->text.len >= n &&
	       strcmp(e->peer->text.data + e->peer->text.len - n, e->tail) == 0;
}

static void expect_tail(struct fixture *f, const char *tail)
{
	struct expected e = { f->peer, tail };

	assert_true(wait_for(f->stage.loop, ends_with, &e));
}

static void open_stream(struct fixture *f, const char *uri)
{
	send_request(f->peer, "GET", uri, false);
	assert_true(wait_for(f->stage.loop, was_filled, f));
	expect_tail(f, "\r\n\r\n");
	assert_non_null(strstr(f->peer->text.data, "Content-Type: text/event-stream\r\n"));
	assert_non_null(strstr(f->peer->text.data, "X-Accel-Buffering: no\r\n"));
	assert_null(strstr(f->peer->text.data, "Content-Length"));
}

/* ---- the ordinary ---------------------------------------------------------------- */

static void woken_and_idle(void **state)
{
	struct fixture *f = *state;

	open_stream(f, "/events");
	assert_int_equal(f->fills, 1);
	for (int i = 0; i < 5; i++)
		loop_once(f->stage.loop, false);
	assert_int_equal(f->fills, 1); /* nobody woke it */
	buf_puts(&f->next, "one;");
	stream_wake(f->stream);
	buf_puts(&f->next, "two;");
	stream_wake(f->stream);
	assert_int_equal(f->fills, 1); /* at the turn's end, once */
	expect_tail(f, "one;two;");
	assert_int_equal(f->fills, 2);
	assert_string_equal(request_id(f->stream), "0123456789abcdef0123456789abcdef");
	assert_int_equal(request_slot(f->stream), 3);
	assert_null(request_param(f->stream, "REQUEST_URI"));
	assert_int_equal(stream_backlog(f->stream), 0);
	f->end = true;
	buf_puts(&f->next, "three");
	stream_wake(f->stream);
	assert_true(wait_for(f->stage.loop, peer_is_closed, f->peer));
	expect_tail(f, "one;two;three");
	assert_int_equal(f->peer->ends, 1);
	assert_int_equal(f->gone, 1);
	assert_int_equal(f->ended, 1);
}

static void then_the_next_request(void **state)
{
	struct fixture *f = *state;

	f->end = true;
	for (int i = 1; i <= 2; i++) {
		f->gone = 0;
		buf_puts(&f->next, i == 1 ? "first" : "second");
		send_request(f->peer, "GET", "/events", i == 1);
		assert_true(wait_for(f->stage.loop, is_gone, f));
		expect_tail(f, i == 1 ? "first" : "second");
	}
	assert_int_equal(f->ended, 2);
	assert_int_equal(f->peer->ends, 2);
	assert_true(wait_for(f->stage.loop, peer_is_closed, f->peer));
}

static void head_ends_at_once(void **state)
{
	struct fixture *f = *state;

	send_request(f->peer, "HEAD", "/events", false);
	assert_true(wait_for(f->stage.loop, peer_is_closed, f->peer));
	expect_tail(f, "\r\n\r\n");
	assert_int_equal(f->peer->ends, 1);
	assert_int_equal(f->fills, 0);
	assert_int_equal(f->ended, 1);
}

/* ---- one side leaves ------------------------------------------------------------- */

static void the_peer_leaves(void **state)
{
	struct fixture *f = *state;

	open_stream(f, "/events");
	peer_free(f->peer);
	f->peer = NULL;
	assert_true(wait_for(f->stage.loop, is_gone, f));
	assert_int_equal(f->gone, 1);
	assert_int_equal(f->ended, 0);
	assert_int_equal(http_server_connections(f->stage.server), 0);
}

/* The write finds out, before the loop does: fill() is under way then. */
static void the_peer_left_before_a_write(void **state)
{
	struct fixture *f = *state;

	open_stream(f, "/events");
	peer_free(f->peer);
	f->peer = NULL;
	buf_puts(&f->next, "into the void");
	stream_wake(f->stream);
	loop_once(f->stage.loop, false);
	assert_true(wait_for(f->stage.loop, is_gone, f));
	assert_int_equal(f->gone, 1);
	assert_int_equal(f->ended, 0);
}

static void garbage_in_a_stream(void **state)
{
	struct fixture *f = *state;

	open_stream(f, "/events");
	peer_send(f->peer, SPAN_LIT("hello? is there anybody?"));
	assert_true(wait_for(f->stage.loop, peer_is_closed, f->peer));
	assert_int_equal(f->gone, 1);
	assert_int_equal(f->ended, 0);
}

/* A peer that does not read: fill() is not asked, nothing grows; then it reads
 * on where it was. */
static void a_slow_reader(void **state)
{
	struct fixture *f = *state;
	int fills;

	f->endless = true;
	peer_deaf(f->peer, true);
	send_request(f->peer, "GET", "/events", false);
	do {
		fills = f->fills;
		for (int i = 0; i < 20; i++)
			loop_once(f->stage.loop, false);
	} while (f->fills != fills || fills == 0);
	assert_true(stream_backlog(f->stream) > 0);
	assert_true(stream_backlog(f->stream) < 100000);
	stream_wake(f->stream);
	loop_once(f->stage.loop, false);
	loop_once(f->stage.loop, false);
	assert_int_equal(f->fills, fills);
	f->endless = false;
	f->end = true;
	buf_puts(&f->next, "the end");
	peer_deaf(f->peer, false);
	assert_true(wait_for(f->stage.loop, peer_is_closed, f->peer));
	expect_tail(f, "eeethe end");
	assert_int_equal(f->ended, 1);
	peer_look(f->peer);
	/* Nothing lost, nothing twice. */
	assert_int_equal(
		(f->peer->text.len -
		 (size_t)(strstr(f->peer->text.data, "\r\n\r\n") + 4 - f->peer->text.data) -
		 strlen("the end")) %
			1024,
		0);
}

/* ---- the server stops ------------------------------------------------------------ */

static void on_stopped(void *arg)
{
	struct fixture *f = arg;

	f->stopped++;
	assert_int_equal(http_server_connections(f->stage.server), 0);
	http_server_free(f->stage.server);
	f->stage.server = NULL;
}

static void last_words(void **state)
{
	struct fixture *f = *state;

	f->closing_ends = true;
	open_stream(f, "/events");
	http_server_stop(f->stage.server, on_stopped, f);
	assert_int_equal(f->closings, 1);
	assert_true(wait_for(f->stage.loop, is_stopped, f));
	assert_true(wait_for(f->stage.loop, peer_is_closed, f->peer));
	expect_tail(f, "last words");
	assert_int_equal(f->peer->ends, 1);
	assert_int_equal(f->ended, 1);
	assert_int_equal(f->gone, 1);
}

/* A stream that will not end is cut after a second. */
static void no_last_words(void **state)
{
	struct fixture *f = *state;
	struct peer *idle = peer_new(&f->stage);

	open_stream(f, "/plain");
	assert_true(wait_connections(&f->stage, 2));
	http_server_stop(f->stage.server, on_stopped, f);
	assert_true(wait_for(f->stage.loop, peer_is_closed, idle));
	assert_int_equal(f->gone, 0);
	assert_true(wait_for(f->stage.loop, is_stopped, f));
	assert_int_equal(f->fills, 2);
	assert_int_equal(f->gone, 1);
	assert_int_equal(f->ended, 0);
	assert_true(wait_for(f->stage.loop, peer_is_closed, f->peer));
	peer_free(idle);
}

static void stopped_with_nobody_there(void **state)
{
	struct fixture *f = *state;

	peer_free(f->peer);
	f->peer = NULL;
	loop_once(f->stage.loop, false);
	http_server_stop(f->stage.server, on_stopped, f);
	assert_int_equal(f->stopped, 0); /* not from within */
	assert_true(wait_for(f->stage.loop, is_stopped, f));
}

static void freed_with_a_stream(void **state)
{
	struct fixture *f = *state;

	open_stream(f, "/events");
	http_server_free(f->stage.server);
	f->stage.server = NULL;
	assert_int_equal(f->gone, 1);
	assert_int_equal(f->ended, 0);
	assert_true(wait_for(f->stage.loop, peer_is_closed, f->peer));
}

/* ---- what it costs --------------------------------------------------------------- */

#define QUIET 2000

static bool all_open(void *arg)
{
	struct fixture *f = arg;

	return f->opened == QUIET && f->fills == QUIET;
}

/* An idle watcher holds 512 bytes of the worker's memory at most, whatever its
 * request brought. The peers take nothing meanwhile: they are deaf. (Under a
 * sanitizer mallinfo2() says nothing.) */
static void quiet_streams(void **state)
{
	struct fixture *f = *state;
	struct peer **all = xcalloc(QUIET, sizeof(struct peer *));
	struct buf b = BUF_INIT(8192);
	struct rlimit files;
	size_t before;
	size_t each;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur < 2 * QUIET + 100)
		skip();
	say_request(&b, false, "GET", "/events?with=a&rather=long&query=0123456789", SPAN_NONE);
	for (int i = 0; i < QUIET; i++) {
		all[i] = peer_new(&f->stage);
		peer_deaf(all[i], true);
		assert_int_equal(write(all[i]->fd, b.data, b.len), b.len);
	}
	before = mallinfo2().uordblks;
	assert_true(wait_for(f->stage.loop, all_open, f));
	each = (mallinfo2().uordblks - before) / QUIET;
	print_message("a quiet stream holds %zu bytes\n", each);
	assert_true(each <= 512);
	for (int i = 0; i < QUIET; i++)
		peer_free(all[i]);
	free(all);
	buf_free(&b);
	assert_true(wait_connections(&f->stage, 1));
	assert_int_equal(f->gone, QUIET);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(woken_and_idle),
		T(then_the_next_request),
		T(head_ends_at_once),
		T(the_peer_leaves),
		T(the_peer_left_before_a_write),
		T(garbage_in_a_stream),
		T(a_slow_reader),
		T(last_words),
		T(no_last_words),
		T(stopped_with_nobody_there),
		T(freed_with_a_stream),
		T(quiet_streams),
	};

	log_init("test", LOG_ERROR);
	return cmocka_run_group_tests_name("http_stream", tests, NULL, NULL);
}
