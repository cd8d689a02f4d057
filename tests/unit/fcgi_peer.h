/*
 * fcgi_peer.h - the web server's side of a FastCGI connection, for tests.
 *
 * A peer runs on the same loop as the server under test, so one thread drives
 * both, and a test waits on conditions: wait_for() turns the loop until one
 * holds, and fails after ten seconds.
 */
#ifndef NB2_TESTS_FCGI_PEER_H
#define NB2_TESTS_FCGI_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/server.h"
#include "loop/loop.h"

/* ---- conversations as bytes ------------------------------------------------------ */

void say_record(struct buf *b, uint8_t type, uint16_t id, struct span content, uint8_t padding);
void say_begin(struct buf *b, uint16_t id, uint16_t role, bool keep);
void say_pair(struct buf *params, const char *name, struct span value);
/* BEGIN, PARAMS and their end: method, path?query, CONTENT_LENGTH if >= 0. */
void say_head(struct buf *b, bool keep, const char *method, const char *uri, long length);
/* A whole request. */
void say_request(struct buf *b, bool keep, const char *method, const char *uri, struct span body);

/* ---- the server under test ------------------------------------------------------- */

struct stage {
	struct loop *loop;
	struct http_server *server;
	char dir[64];
	char path[96];
	int fd;
};

/* A server on a unix socket in a directory of its own. */
void stage_open(struct stage *s, const struct http_limits *limits, http_handler_fn *fn, void *arg);
void stage_close(struct stage *s);

typedef bool condition_fn(void *arg);
/* false: ten seconds went by. */
bool wait_for(struct loop *l, condition_fn *holds, void *arg);
/* Until all connections of the server are closed, or n are open. */
bool wait_connections(struct stage *s, size_t n);

/* ---- a peer ---------------------------------------------------------------------- */

struct peer {
	struct loop *loop;
	struct watch *watch;
	int fd;
	bool closed;	/* the server closed it */
	bool deaf;	/* does not read */
	struct buf in;	/* all that came */
	struct buf out; /* what the socket did not take yet */
	/* of what came, after peer_look(): */
	struct buf text; /* STDOUT of all records */
	int ends;	 /* END_REQUEST records */
	int status;	 /* protocol status of the last */
	int unknowns;	 /* FCGI_UNKNOWN_TYPE */
	struct buf values;
};

struct peer *peer_new(struct stage *s);
void peer_free(struct peer *p); /* closes it */
void peer_send(struct peer *p, struct span bytes);
void peer_deaf(struct peer *p, bool deaf);
/* Take apart what came. */
void peer_look(struct peer *p);

/* Conditions, for wait_for(). */
bool peer_is_closed(void *peer);
bool peer_has_end(void *peer); /* one END_REQUEST at least */

/* A request on a connection of its own: its whole answer, checked to have ended. */
void ask(struct stage *s, const char *method, const char *uri, struct span body, struct buf *ret);

#endif
