/*
 * server.h - the FastCGI responder (FastCGI 1.0): slot sockets to requests.
 *
 * Our own record reader: libfcgi gives the header fastcgi.h and
 * FCGX_OpenSocket(), its reader never touches a peer's bytes. Connections are
 * non-blocking; one that is malformed, too large or too slow is closed, and
 * only that one.
 */
#ifndef NB2_HTTP_SERVER_H
#define NB2_HTTP_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "http/request.h"
#include "loop/loop.h"

struct http_limits {
	size_t params; /* bytes of PARAMS a request: 256 KiB */
	size_t body;   /* bytes of STDIN: 64 MiB (more: 413, read and dropped up to twice that) */
	size_t arena;  /* bytes of a request's arena */
	unsigned half_ms;   /* a request must be whole within: 30 s */
	size_t connections; /* open at once, all slots; more wait in the backlog */
};

typedef void http_handler_fn(void *arg, struct request *r);

struct http_server;

struct http_server *http_server_new(struct loop *l, const struct http_limits *limits,
				    http_handler_fn *fn, void *arg);
/* Accept on fd (listening, non-blocking is set here), which speaks for slot.
 * fd stays the caller's and must outlive the server. */
void http_server_listen(struct http_server *s, int fd, unsigned slot);
/* Orderly stop: no more accepts; streams get gone(), their connection is
 * ended cleanly (END_REQUEST); fn(arg) when no connection is left, at the end
 * of a turn (http_server_free() may be called in it). Requests not yet answered
 * get their time until http_server_free(). */
void http_server_stop(struct http_server *s, loop_fn *fn, void *arg);
/* Closes everything at once; gone callbacks come. */
void http_server_free(struct http_server *s);

size_t http_server_connections(const struct http_server *s);

/* Open a slot's socket at path, mode 0660, backlog 4096, close-on-exec. A
 * stale socket file is replaced. fd or a negative errno (-ENAMETOOLONG past
 * 107 bytes, -EEXIST where something other than a socket is in the way). For
 * the master. */
int http_socket_open(const char *path);

#endif
