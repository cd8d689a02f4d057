/*
 * http_world.c - a server with a handler that tells what it was given, and a
 * peer: what the tests of conversations stand on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fastcgi.h>
#include <stdlib.h>

#include "http_world.h"

const struct http_limits world_limits = {
	.params = 8192,
	.body = 100000,
	.arena = 1 << 20,
	.half_ms = 20000,
	.connections = 5000,
};

static void on_gone(void *arg)
{
	struct world *f = arg;

	f->gone++;
	f->held = NULL;
}

/* Says what it was given. */
static void handle(void *arg, struct request *r)
{
	struct world *f = arg;
	struct span body = request_body(r);

	f->calls++;
	if (strcmp(request_path(r), "/held") == 0) {
		f->held = r;
		request_on_gone(r, on_gone, f);
		return;
	}
	if (request_refused(r))
		reply_error(r, request_refused(r), "refused", "%zu bytes are here", body.len);
	else if (strcmp(request_path(r), "/echo") == 0)
		reply(r, 200, NULL, body);
	else
		reply_text(r, 200, "%d %s %zu", (int)request_method(r), request_path(r), body.len);
}

struct world *world_make_with(void **state, const struct http_limits *limits)
{
	static struct world f;

	memset(&f, 0, sizeof(f));
	stage_open(&f.stage, limits, handle, &f);
	f.peer = peer_new(&f.stage);
	f.b = BUF_INIT(8 << 20);
	*state = &f;
	return &f;
}

int world_make(void **state)
{
	world_make_with(state, &world_limits);
	return 0;
}

int world_make_hasty(void **state)
{
	struct http_limits hasty = world_limits;

	hasty.half_ms = 50;
	world_make_with(state, &hasty);
	return 0;
}

int world_drop(void **state)
{
	struct world *f = *state;

	if (f->peer)
		peer_free(f->peer);
	stage_close(&f->stage);
	buf_free(&f->b);
	return 0;
}

void world_send(struct world *f)
{
	peer_send(f->peer, buf_span(&f->b));
	buf_reset(&f->b);
}

/* The server closes this connection, and the next one is answered. */
void world_closed(struct world *f)
{
	struct buf answer = BUF_INIT(4096);

	assert_true(wait_for(f->stage.loop, peer_is_closed, f->peer));
	peer_look(f->peer);
	ask(&f->stage, "GET", "/next", SPAN_NONE, &answer);
	assert_non_null(strstr(answer.data, "1 /next 0"));
	buf_free(&answer);
}

void world_answer(struct world *f, const char *head, const char *tail)
{
	assert_true(wait_for(f->stage.loop, peer_has_end, f->peer));
	assert_int_equal(f->peer->ends, 1);
	assert_int_equal(f->peer->status, FCGI_REQUEST_COMPLETE);
	assert_memory_equal(f->peer->text.data, head, strlen(head));
	assert_true(f->peer->text.len >= strlen(tail));
	assert_string_equal(f->peer->text.data + f->peer->text.len - strlen(tail), tail);
}

bool world_is_held(void *arg)
{
	struct world *f = arg;

	return f->held != NULL;
}

bool world_is_gone(void *arg)
{
	struct world *f = arg;

	return f->gone > 0;
}

void world_hold(struct world *f)
{
	say_request(&f->b, false, "GET", "/held", SPAN_NONE);
	world_send(f);
	assert_true(wait_for(f->stage.loop, world_is_held, f));
}
