/*
 * ws_server.h - a scripted WebSocket server for test_ws.c. It runs in threads,
 * one a connection, speaks RFC 6455 by hand and does by path what real servers
 * do badly; the paths are in ws_server.c.
 */
#ifndef NB2_TESTS_WS_SERVER_H
#define NB2_TESTS_WS_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/span.h"

#define V1 "v1.kernel.websocket.jupyter.org"
#define MIB (1u << 20)
#define HEAD_MAX 8192
#define CONNS_MAX 1024

struct server {
	int fd;
	char path[64];
	int port;
	pthread_t thread;
	atomic_int shaking;  /* hold a handshake without answering */
	atomic_int most;     /* of these at once */
	atomic_int gone;     /* handshaken connections that the client has closed */
	int gate[2];	     /* a pipe: "/gate" and "/deaf" wait for its end */
	bool open;	     /* it has come */
	char head[HEAD_MAX]; /* of the last request */
	pthread_t conns[CONNS_MAX];
	int n_conns;
};

/* Takes the listening socket. */
void server_start(struct server *s, int fd);
/* The clients must be gone, or in "/gate" or "/deaf". */
void server_stop(struct server *s);
/* Those who wait in "/gate" and "/deaf" go on. */
void gate_open(struct server *s);

/* Listening sockets; listen_tcp() gives -1 on a machine without the family. */
int listen_at(const char *path);
int listen_tcp(int family, int *port);

/* A server process that takes connections, says hello, and is to be killed. */
pid_t server_fork(const char *path);

/* Bytes that tell their place; free() them. */
unsigned char *pattern(size_t len);
bool is_pattern(struct span s);
unsigned pattern_sum(const unsigned char *data, size_t len);

#endif
