/*
 * test_http_peers.c - peers that misbehave, leave, or are many: what closes a
 * connection, and that it closes nothing else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fastcgi.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "http_world.h"

/* ---- malformed ------------------------------------------------------------------- */

static void what_closes(void **state)
{
	struct world *f = *state;
	struct buf cases[8];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		cases[i] = BUF_INIT(4096);
	buf_puts(&cases[0], "GET / HTTP/1.0\r\n\r\n");
	say_begin(&cases[1], 1, FCGI_RESPONDER, false);
	say_record(&cases[1], FCGI_PARAMS, 1, SPAN_LIT("\xff\xff\xff\xff\xff\xff\xff\xff"), 0);
	say_record(&cases[1], FCGI_PARAMS, 1, SPAN_LIT(""), 0);
	say_record(&cases[2], FCGI_STDIN, 1, SPAN_LIT("body first"), 0);
	say_begin(&cases[3], 1, FCGI_RESPONDER, false);
	say_begin(&cases[3], 1, FCGI_RESPONDER, false);
	say_begin(&cases[4], 1, FCGI_RESPONDER, true);
	say_record(&cases[4], FCGI_STDIN, 1, SPAN_LIT("params first"), 0);
	say_head(&cases[5], true, "GET", "/x", -1);
	say_record(&cases[5], FCGI_PARAMS, 1, SPAN_LIT("again"), 0);
	say_head(&cases[6], true, "GET", "/x", -1);
	say_record(&cases[6], FCGI_DATA, 1, SPAN_LIT("filter's"), 0);
	say_head(&cases[7], true, "GET", "/x", -1);
	say_record(&cases[7], FCGI_ABORT_REQUEST, 1, SPAN_LIT(""), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		f->calls = 0;
		buf_span_append(&f->b, buf_span(&cases[i]));
		world_send(f);
		world_closed(f);
		assert_int_equal(f->peer->in.len, 0);
		assert_int_equal(f->calls, 1); /* the next one's */
		peer_free(f->peer);
		f->peer = peer_new(&f->stage);
		buf_free(&cases[i]);
	}
}

static void other_roles(void **state)
{
	struct world *f = *state;

	say_begin(&f->b, 1, FCGI_AUTHORIZER, true);
	world_send(f);
	world_closed(f);
	assert_int_equal(f->peer->ends, 1);
	assert_int_equal(f->peer->status, FCGI_UNKNOWN_ROLE);
}

/* A second request at the same time is refused; the first does not notice,
 * though all of the second came. */
static void no_multiplexing(void **state)
{
	struct world *f = *state;

	world_hold(f);
	say_begin(&f->b, 2, FCGI_RESPONDER, true);
	say_record(&f->b, FCGI_PARAMS, 2, SPAN_LIT("\1\1ab"), 0);
	say_record(&f->b, FCGI_PARAMS, 2, SPAN_LIT(""), 0);
	say_record(&f->b, FCGI_STDIN, 2, SPAN_LIT(""), 0);
	say_record(&f->b, FCGI_ABORT_REQUEST, 2, SPAN_LIT(""), 0);
	world_send(f);
	assert_true(wait_for(f->stage.loop, peer_has_end, f->peer));
	assert_int_equal(f->peer->status, FCGI_CANT_MPX_CONN);
	assert_int_equal(f->gone, 0);
	reply_text(f->held, 200, "first");
	assert_true(wait_for(f->stage.loop, peer_is_closed, f->peer));
	peer_look(f->peer);
	assert_int_equal(f->peer->ends, 2);
	assert_non_null(strstr(f->peer->text.data, "first"));
	assert_int_equal(f->calls, 1);
}

static void leaving(void **state)
{
	struct world *f = *state;

	world_hold(f);
	peer_free(f->peer);
	f->peer = NULL;
	assert_true(wait_for(f->stage.loop, world_is_gone, f));
	assert_int_equal(http_server_connections(f->stage.server), 0);
	assert_int_equal(f->gone, 1);
}

static void aborting(void **state)
{
	struct world *f = *state;

	world_hold(f);
	say_record(&f->b, FCGI_ABORT_REQUEST, 1, SPAN_LIT(""), 0);
	world_send(f);
	assert_true(wait_for(f->stage.loop, world_is_gone, f));
	world_closed(f);
	assert_int_equal(f->gone, 1);
}

static void garbage_behind_a_request(void **state)
{
	struct world *f = *state;

	world_hold(f);
	buf_puts(&f->b, "and now for something completely different");
	world_send(f);
	assert_true(wait_for(f->stage.loop, world_is_gone, f));
	world_closed(f);
	assert_int_equal(f->gone, 1);
}

/* Who only asks and never reads gets no memory for it. */
static void questions_without_end(void **state)
{
	struct world *f = *state;

	buf_free(&f->b);
	f->b = BUF_INIT(64 << 20);
	say_request(&f->b, true, "GET", "/kept", SPAN_NONE);
	for (int i = 0; i < 200000; i++)
		say_record(&f->b, 99, 0, SPAN_LIT(""), 0);
	peer_deaf(f->peer, true);
	world_send(f);
	assert_true(wait_connections(&f->stage, 0));
	peer_deaf(f->peer, false);
	world_closed(f);
	assert_true(f->peer->unknowns < 200000);
}

/* ---- many ------------------------------------------------------------------------ */

#define MANY 2000

static void two_thousand(void **state)
{
	struct world *f = *state;
	struct peer **all = xcalloc(MANY, sizeof(struct peer *));
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur < 2 * MANY + 100)
		skip();
	for (int i = 0; i < MANY; i++) {
		all[i] = peer_new(&f->stage);
		say_request(&f->b, true, "GET", "/many", SPAN_NONE);
		peer_send(all[i], buf_span(&f->b));
		buf_reset(&f->b);
	}
	for (int i = 0; i < MANY; i++)
		assert_true(wait_for(f->stage.loop, peer_has_end, all[i]));
	assert_int_equal(f->calls, MANY);
	assert_int_equal(http_server_connections(f->stage.server), MANY + 1);
	for (int i = 0; i < MANY; i++)
		peer_free(all[i]);
	free(all);
	assert_true(wait_connections(&f->stage, 1));
}

/* The ceiling on connections: the next waits in the backlog, and has its turn. */
static void a_full_house(void **state)
{
	struct world *f = *state;
	struct http_limits few = world_limits;
	struct peer *second;
	struct peer *third;

	world_drop(state);
	few.connections = 2;
	f = world_make_with(state, &few);
	second = peer_new(&f->stage);
	assert_true(wait_connections(&f->stage, 2));
	third = peer_new(&f->stage);
	say_request(&f->b, false, "GET", "/third", SPAN_NONE);
	peer_send(third, buf_span(&f->b));
	for (int i = 0; i < 10; i++)
		loop_once(f->stage.loop, false);
	assert_int_equal(f->calls, 0);
	peer_free(second);
	assert_true(wait_for(f->stage.loop, peer_has_end, third));
	peer_free(third);
}

/* No descriptor is left: accepting pauses, does not spin, and goes on later. */
static void out_of_descriptors(void **state)
{
	struct world *f = *state;
	struct rlimit usual;
	struct rlimit none;
	struct peer *late;
	int next;

	assert_true(wait_connections(&f->stage, 1));
	late = peer_new(&f->stage);
	say_request(&f->b, false, "GET", "/late", SPAN_NONE);
	peer_send(late, buf_span(&f->b));
	next = dup(0);
	close(next);
	getrlimit(RLIMIT_NOFILE, &usual);
	none = usual;
	none.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (int i = 0; i < 5; i++)
		loop_once(f->stage.loop, false);
	setrlimit(RLIMIT_NOFILE, &usual);
	assert_int_equal(http_server_connections(f->stage.server), 1);
	/* Paused: the socket is not even looked at before the next sweep. */
	loop_once(f->stage.loop, false);
	assert_int_equal(http_server_connections(f->stage.server), 1);
	assert_true(wait_for(f->stage.loop, peer_has_end, late));
	peer_free(late);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, world_make, world_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_closes),
		T(other_roles),
		T(no_multiplexing),
		T(leaving),
		T(aborting),
		T(garbage_behind_a_request),
		T(questions_without_end),
		T(two_thousand),
		T(a_full_house),
		T(out_of_descriptors),
	};

	log_init("test", LOG_ERROR);
	return cmocka_run_group_tests_name("http_peers", tests, NULL, NULL);
}
