/*
 * test_http_conn.c - requests on a slot's socket: whole, in pieces, kept; too
 * large, too short, half; what the handler sees and what comes back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fastcgi.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "http_world.h"

/* ---- well-made ------------------------------------------------------------------- */

static void a_request(void **state)
{
	struct world *f = *state;

	say_request(&f->b, false, "POST", "/a?b=c", SPAN_LIT("hello"));
	world_send(f);
	world_answer(f,
		     "Status: 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
		     "Content-Length: 6\r\n\r\n",
		     "\r\n\r\n4 /a 5");
	world_closed(f);
}

static bool taken(void *arg)
{
	struct world *f = arg;

	/* The server has had its turn with what was sent. */
	return f->peer->out.len == 0;
}

/* One byte, and a turn of the loop. */
static void drip(struct world *f, struct span all)
{
	for (size_t i = 0; i < all.len; i++) {
		peer_send(f->peer, span_of(all.ptr + i, 1));
		assert_true(wait_for(f->stage.loop, taken, f));
		loop_once(f->stage.loop, false);
	}
}

static void byte_by_byte(void **state)
{
	struct world *f = *state;
	struct buf v = BUF_INIT(100);

	say_pair(&v, FCGI_MPXS_CONNS, SPAN_LIT(""));
	say_record(&f->b, FCGI_GET_VALUES, 0, buf_span(&v), 2);
	say_record(&f->b, 99, 0, SPAN_LIT("what"), 1);
	say_request(&f->b, true, "POST", "/first", SPAN_LIT("one"));
	say_request(&f->b, false, "GET", "/second", SPAN_NONE);
	drip(f, buf_span(&f->b));
	assert_true(wait_for(f->stage.loop, peer_is_closed, f->peer));
	peer_look(f->peer);
	assert_int_equal(f->peer->ends, 2);
	assert_int_equal(f->peer->unknowns, 1);
	assert_non_null(strstr(f->peer->text.data, "4 /first 3Status: 200"));
	assert_non_null(strstr(f->peer->text.data, "1 /second 0"));
	assert_int_equal(f->peer->values.len, 2 + strlen(FCGI_MPXS_CONNS) + 1);
	buf_free(&v);
}

static void cut_in_two_everywhere(void **state)
{
	struct world *f = *state;
	size_t len;

	say_request(&f->b, false, "POST", "/cut", SPAN_LIT("body"));
	len = f->b.len;
	for (size_t i = 0; i <= len; i++) {
		struct peer *p = peer_new(&f->stage);

		peer_send(p, span_of(f->b.data, i));
		loop_once(f->stage.loop, false);
		loop_once(f->stage.loop, false);
		peer_send(p, span_of(f->b.data + i, len - i));
		assert_true(wait_for(f->stage.loop, peer_is_closed, p));
		peer_look(p);
		assert_non_null(strstr(p->text.data, "4 /cut 4"));
		peer_free(p);
	}
	assert_int_equal(f->calls, len + 1);
}

static void kept(void **state)
{
	struct world *f = *state;

	/* Both at once, and the second ends the connection. */
	say_request(&f->b, true, "GET", "/one", SPAN_NONE);
	say_request(&f->b, false, "GET", "/two", SPAN_NONE);
	world_send(f);
	assert_true(wait_for(f->stage.loop, peer_is_closed, f->peer));
	peer_look(f->peer);
	assert_int_equal(f->peer->ends, 2);
	assert_non_null(strstr(f->peer->text.data, "1 /one 0Status: 200"));
	assert_non_null(strstr(f->peer->text.data, "1 /two 0"));
}

static void head_has_no_body(void **state)
{
	struct world *f = *state;

	say_request(&f->b, false, "HEAD", "/h", SPAN_NONE);
	world_send(f);
	world_answer(f, "Status: 200 OK\r\n", "Content-Length: 6\r\n\r\n");
}

static void a_large_answer_to_a_slow_reader(void **state)
{
	struct world *f = *state;
	struct http_limits roomy = world_limits;
	size_t size = 10 << 20;
	char *big = xmalloc(size);

	world_drop(state);
	roomy.body = size;
	f = world_make_with(state, &roomy);
	for (size_t i = 0; i < size; i++)
		big[i] = (char)('a' + i / 7 % 26);
	buf_free(&f->b);
	f->b = BUF_INIT(16 << 20);
	say_request(&f->b, false, "POST", "/echo", span_of(big, size));
	peer_deaf(f->peer, true);
	world_send(f);
	while (f->calls == 0)
		loop_once(f->stage.loop, true);
	/* It cannot be gone yet, and nobody else waits. */
	ask(&f->stage, "GET", "/other", SPAN_NONE, &f->b);
	assert_int_equal(http_server_connections(f->stage.server), 1);
	peer_deaf(f->peer, false);
	assert_true(wait_for(f->stage.loop, peer_is_closed, f->peer));
	peer_look(f->peer);
	assert_int_equal(f->peer->ends, 1);
	assert_true(f->peer->text.len > size);
	assert_memory_equal(f->peer->text.data + f->peer->text.len - size, big, size);
	free(big);
}

/* ---- limits ---------------------------------------------------------------------- */

static void too_many_params(void **state)
{
	struct world *f = *state;
	struct buf p = BUF_INIT(60000);
	char value[4000];

	memset(value, 'x', sizeof(value));
	for (int i = 0; i < 3; i++)
		say_pair(&p, "A", span_of(value, sizeof(value)));
	say_begin(&f->b, 1, FCGI_RESPONDER, false);
	say_record(&f->b, FCGI_PARAMS, 1, buf_span(&p), 0);
	world_send(f);
	world_closed(f);
	assert_int_equal(f->peer->in.len, 0);
	assert_int_equal(f->calls, 1);
	buf_free(&p);
}

static void expect_refused(struct world *f, const char *status, const char *tail)
{
	world_send(f);
	world_answer(f, status, tail);
	peer_free(f->peer);
	f->peer = peer_new(&f->stage);
}

/* A request of one parameter and no body. */
static void say_params(struct world *f, const char *name, struct span value)
{
	struct buf p = BUF_INIT(1000);

	say_pair(&p, name, value);
	say_begin(&f->b, 1, FCGI_RESPONDER, false);
	say_record(&f->b, FCGI_PARAMS, 1, buf_span(&p), 0);
	say_record(&f->b, FCGI_PARAMS, 1, SPAN_LIT(""), 0);
	say_record(&f->b, FCGI_STDIN, 1, SPAN_LIT(""), 0);
	buf_free(&p);
}

static void bodies_of_the_wrong_size(void **state)
{
	struct world *f = *state;
	char *big = xcalloc(1, 200001);

	say_head(&f->b, false, "POST", "/short", 10);
	say_record(&f->b, FCGI_STDIN, 1, SPAN_LIT("123456789"), 0);
	say_record(&f->b, FCGI_STDIN, 1, SPAN_LIT(""), 0);
	expect_refused(f, "Status: 400 ", "\"message\":\"9 bytes are here\"}");
	say_head(&f->b, false, "POST", "/long", 2);
	say_record(&f->b, FCGI_STDIN, 1, SPAN_LIT("123"), 0);
	say_record(&f->b, FCGI_STDIN, 1, SPAN_LIT(""), 0);
	expect_refused(f, "Status: 400 ", "}");
	say_params(f, "CONTENT_LENGTH", SPAN_LIT("1x"));
	expect_refused(f, "Status: 400 ", "}");
	say_params(f, "CONTENT_LENGTH", SPAN_LIT("99999999999999999999999"));
	expect_refused(f, "Status: 400 ", "}");
	/* As large as allowed; one more; twice as much is read, not more. */
	say_request(&f->b, false, "POST", "/fits", span_of(big, 100000));
	expect_refused(f, "Status: 200 ", "4 /fits 100000");
	say_request(&f->b, false, "POST", "/big", span_of(big, 100001));
	expect_refused(f, "Status: 413 ", "\"message\":\"0 bytes are here\"}");
	say_request(&f->b, false, "POST", "/big", span_of(big, 200000));
	expect_refused(f, "Status: 413 ", "}");
	say_request(&f->b, false, "POST", "/huge", span_of(big, 200001));
	world_send(f);
	world_closed(f);
	assert_int_equal(f->peer->in.len, 0);
	free(big);
}

static void nul_in_a_param(void **state)
{
	static const struct {
		const char *name;
		struct span value;
	} cases[] = { { "HTTP_X", { "a\0b", 3 } }, { "CONTENT_LENGTH", { "\0", 1 } } };
	struct world *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		say_params(f, cases[i].name, cases[i].value);
		expect_refused(f, "Status: 400 ", "}");
	}
	/* In a name. */
	say_begin(&f->b, 1, FCGI_RESPONDER, false);
	say_record(&f->b, FCGI_PARAMS, 1, SPAN_LIT("\2\1A\0x"), 0);
	say_record(&f->b, FCGI_PARAMS, 1, SPAN_LIT(""), 0);
	say_record(&f->b, FCGI_STDIN, 1, SPAN_LIT(""), 0);
	expect_refused(f, "Status: 400 ", "}");
}

static void half_a_request_has_a_deadline(void **state)
{
	struct world *f = *state;
	struct peer *silent = peer_new(&f->stage);
	struct peer *begun = peer_new(&f->stage);

	say_request(&f->b, false, "POST", "/half", SPAN_LIT("body"));
	f->b.len -= 5;
	world_send(f);
	say_begin(&f->b, 1, FCGI_RESPONDER, false);
	peer_send(begun, buf_span(&f->b));
	assert_true(wait_for(f->stage.loop, peer_is_closed, f->peer));
	assert_true(wait_for(f->stage.loop, peer_is_closed, silent));
	assert_true(wait_for(f->stage.loop, peer_is_closed, begun));
	assert_int_equal(f->calls, 0);
	assert_int_equal(http_server_connections(f->stage.server), 0);
	peer_free(silent);
	peer_free(begun);
}

/* The deadline is for the request, not for its answer, nor for what is kept. */
static void an_answer_takes_its_time(void **state)
{
	struct world *f = *state;
	struct peer *idle = peer_new(&f->stage);
	struct peer *silent = peer_new(&f->stage);

	say_request(&f->b, true, "GET", "/idle", SPAN_NONE);
	peer_send(idle, buf_span(&f->b));
	buf_reset(&f->b);
	say_request(&f->b, false, "GET", "/held", SPAN_NONE);
	world_send(f);
	assert_true(wait_for(f->stage.loop, peer_is_closed, silent)); /* the sweep was here */
	assert_false(f->peer->closed);
	assert_false(idle->closed);
	reply_text(f->held, 200, "late");
	world_answer(f, "Status: 200 OK\r\n", "\r\n\r\nlate");
	assert_int_equal(f->gone, 0);
	peer_free(idle);
	peer_free(silent);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, world_make, world_drop)
#define HASTY(fn) cmocka_unit_test_setup_teardown(fn, world_make_hasty, world_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_request),
		T(byte_by_byte),
		T(cut_in_two_everywhere),
		T(kept),
		T(head_has_no_body),
		T(a_large_answer_to_a_slow_reader),
		T(too_many_params),
		T(bodies_of_the_wrong_size),
		T(nul_in_a_param),
		HASTY(half_a_request_has_a_deadline),
		HASTY(an_answer_takes_its_time),
	};

	log_init("test", LOG_ERROR);
	return cmocka_run_group_tests_name("http_conn", tests, NULL, NULL);
}
