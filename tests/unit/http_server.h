/*
 * http_server.h - a small HTTP server for test_httpc.c. It runs in threads and
 * does by path what real servers do badly; the paths are in http_server.c.
 */
#ifndef NB2_TESTS_HTTP_SERVER_H
#define NB2_TESTS_HTTP_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct server {
	int fd;
	char path[64]; /* of its socket */
	int port;
	pthread_t thread;
	atomic_int accepted;
	atomic_int requests;
	atomic_int posts;
	atomic_int gone; /* connections that the client has closed */
	pthread_t conns[512];
	int n_conns;
};

/* Listens on a unix socket, or on a port of its own of 127.0.0.1. */
void server_start(struct server *s, bool tcp);
/* The clients must be gone. */
void server_stop(struct server *s);

#endif
