/*
 * ws_world.h - what a test of the WebSocket client stands on: a loop, the
 * service, the scripted server, and peers that note down what they are told.
 */
#ifndef NB2_TESTS_WS_WORLD_H
#define NB2_TESTS_WS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "kernel/ws.h"
#include "loop/loop.h"
#include "ws_server.h"

#define PATIENCE_MS 60000

struct world {
	struct loop *loop;
	struct ws_service *service;
	struct server *server;
	struct timer *tick;
};

struct peer {
	struct ws *ws;
	int opened;
	int closed;
	int messages;
	bool v1;
	bool binary;
	bool cut;
	bool damaged;	/* anything that should be a pattern and is not */
	struct buf log; /* "text|<size of what is no text>|..." */
	size_t head;	/* of the last that was too large */
	char why[128];
	const char *close_in; /* "opened", "message", "closed" */
};

/* The other end is a thread: look every millisecond. */
#define UNTIL(w, condition)                                                                        \
	do {                                                                                       \
		uint64_t until_end = clock_ms() + PATIENCE_MS;                                     \
		while (!(condition)) {                                                             \
			if (clock_ms() >= until_end) {                                             \
				print_error("in vain: %s\n", #condition);                          \
				fail();                                                            \
			}                                                                          \
			timer_set((w)->tick, 1);                                                   \
			loop_once((w)->loop, true);                                                \
		}                                                                                  \
	} while (0)

int world_setup(void **state);
int world_teardown(void **state); /* the service may be gone: NULL */

struct ws_target world_target(const struct world *w, const char *path);

/* p is zeroed but for close_in, and given back by peer_close(). */
void peer_open(struct world *w, struct peer *p, const struct ws_target *t);
void peer_open_path(struct world *w, struct peer *p, const char *path);
void peer_close(struct peer *p);

#endif
