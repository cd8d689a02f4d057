/*
 * http_world.h - a server with a handler that tells what it was given, and a
 * peer: what the tests of conversations stand on.
 *
 * The handler answers "method path length-of-body"; /echo the body; /held waits
 * (held; gone counts its peers that left). What it refuses it words as
 * reply_error() does.
 */
#ifndef NB2_TESTS_HTTP_WORLD_H
#define NB2_TESTS_HTTP_WORLD_H

#include "fcgi_peer.h"

struct world {
	struct stage stage;
	struct peer *peer;
	struct buf b;
	struct request *held; /* a request to /held, not answered */
	int calls;
	int gone;
};

extern const struct http_limits world_limits;

/* cmocka's setup and teardown; the peer is connected and silent. */
int world_make(void **state);
int world_make_hasty(void **state); /* half a request is waited for 50 ms */
struct world *world_make_with(void **state, const struct http_limits *limits);
int world_drop(void **state);

/* Send what b holds. */
void world_send(struct world *f);
/* The server closes this connection, and the next one is answered. */
void world_closed(struct world *f);
/* One whole answer came that begins and ends so. */
void world_answer(struct world *f, const char *head, const char *tail);
/* Ask for /held and wait until the handler has it. */
void world_hold(struct world *f);
bool world_is_held(void *world);
bool world_is_gone(void *world);

#endif
