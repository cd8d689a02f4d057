/*
 * ws.h - a WebSocket client of a Jupyter server. The only door to
 * libwebsockets, which runs on our libuv loop.
 *
 * libwebsockets tells the end of a connection in five different ways; here it
 * is one closed() call, exactly once, never from within ws_open(). After
 * ws_close() no call comes any more. opened() only says that the handshake is
 * done: Jupyter may still close at once, so a connection counts as good after
 * the bridge's probe. Loop thread only.
 */
#ifndef NB2_KERNEL_WS_H
#define NB2_KERNEL_WS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/span.h"
#include "loop/loop.h"

struct ws_service;
struct ws;

struct ws_target {
	const char *unix_path; /* NULL: TCP */
	const char *host;      /* a literal address; with unix_path only the Host header */
	int port;
	const char *path;    /* "/api/kernels/…/channels?session_id=…" */
	const char *token;   /* for "Authorization: token …"; NULL: none */
	size_t max_message;  /* a larger one is skipped: see oversize */
	unsigned timeout_ms; /* until opened() */
};

struct ws_ops {
	/* v1: the server chose v1.kernel.websocket.jupyter.org. */
	void (*opened)(void *arg, bool v1);
	/* One whole message; frame is borrowed. */
	void (*message)(void *arg, struct span frame, bool binary);
	/* A message above max_message was read and dropped; head is its first
	 * bytes (at least 16 KiB). */
	void (*oversize)(void *arg, struct span head, size_t size);
	/* why: a short phrase for the log. */
	void (*closed)(void *arg, const char *why);
};

/* Stops the process, with a line in the log, when libwebsockets cannot run on
 * a libuv loop: its plugin is a package of its own. */
struct ws_service *ws_service_new(struct loop *l);
/* All connections must be closed. Runs the loop until libwebsockets has let
 * go of it. */
void ws_service_free(struct ws_service *s);

/* Never NULL, and the caller's until ws_close(), also after closed(). At most
 * 64 handshakes are under way at once, more wait here. */
struct ws *ws_open(struct ws_service *s, const struct ws_target *t, const struct ws_ops *ops,
		   void *arg);
/* Queue one message (copied). 0, -ENOTCONN before opened() or after the end,
 * -ENOBUFS past 256 MiB queued. */
int ws_send(struct ws *w, struct span frame, bool binary);
size_t ws_queued(const struct ws *w);
/* In closed(): did it break in the middle of a message, or with some that came
 * and could not be read? They are lost. */
bool ws_cut(const struct ws *w);
/* Close and forget; the peer sees it at once. NULL is fine. */
void ws_close(struct ws *w);

#endif
