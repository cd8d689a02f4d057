/*
 * ws_int.h - the inside of ws.h, shared by its three files:
 * ws.c (the life of a connection), ws_reach.c (is anybody there?), ws_lws.c
 * (libwebsockets). Events go up to ws.c by the ws_on_*() functions.
 */
#ifndef NB2_KERNEL_WS_INT_H
#define NB2_KERNEL_WS_INT_H

#include <stdint.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/list.h"
#include "kernel/ws.h"

#define WS_MAGIC 0x77730001u
#define WS_SERVICE_MAGIC 0x77730002u

#define WS_V1 "v1.kernel.websocket.jupyter.org"
#define WS_CHUNK 65536		  /* libwebsockets hands a message over in such pieces */
#define WS_HEAD 65536		  /* kept of a message that is too large */
#define WS_QUEUE_MAX (256u << 20) /* bytes waiting to be sent */
#define WS_KEEP (256u << 10)	  /* memory of the reading buffer between messages */
#define WS_HANDSHAKES 64	  /* at once */
#define WS_SPARES 32		  /* see ws_lws.c */
#define WS_WHY 160

struct lws;
struct lws_context;

enum ws_state {
	WS_WAITING,  /* for its turn to start */
	WS_REACHING, /* our own connect, to see whether anybody is there */
	WS_SHAKING,  /* libwebsockets' connect and handshake */
	WS_OPEN,
	WS_CLOSING, /* the peer said goodbye */
	WS_ENDED,   /* closed() was called; only ws_close() is left */
};

struct ws_service {
	unsigned magic;
	struct loop *loop;
	struct lws_context *lws;
	struct turn *turn; /* starts those who wait */
	struct list waiting;
	struct list started; /* all others */
	unsigned handshakes; /* WS_REACHING or WS_SHAKING */
	int spares[WS_SPARES];
};

/* A message on its way out: libwebsockets writes its header in front of the
 * payload and masks the payload where it stands. */
struct ws_out {
	struct list link;
	size_t len;
	bool binary;
	unsigned char *payload; /* inside room */
	unsigned char room[];
};

struct ws {
	unsigned magic;
	enum ws_state state;
	struct list link;
	struct ws_service *service;
	const struct ws_ops *ops;
	void *arg;
	unsigned busy; /* in one of its callbacks: its memory stays */
	bool dead;     /* ws_close() was called then */

	char *unix_path; /* NULL: TCP */
	char *address;	 /* as libwebsockets takes it */
	char *host;
	int port;
	char *path;
	char *token;
	struct sockaddr_storage peer;
	socklen_t peer_len;
	unsigned timeout_ms;
	struct timer *timer; /* until opened */

	int reach_fd;
	struct watch *reach_watch;

	struct lws *wsi;
	bool connecting; /* in libwebsockets' connect call; it must not come back */
	bool lost;	 /* it ended there */
	bool v1;
	bool cut; /* it ended with messages unread */

	struct buf in;
	size_t in_size; /* of this message so far, also what was dropped */
	size_t max_message;

	struct list out;
	size_t queued;
	size_t held; /* of these, copied and kept by libwebsockets */

	char why[WS_WHY];
};

/* ---- ws_reach.c ------------------------------------------------------------- */

/* Fill w's peer address from its unix_path or host and port: 0, or -EINVAL and
 * the reason in w->why. */
int ws_reach_address(struct ws *w);
/* 0: somebody is there. 1: under way, ws_on_reached() follows. Negative errno,
 * reason in w->why. */
int ws_reach(struct ws *w);
void ws_reach_stop(struct ws *w);

/* ---- ws_lws.c ------------------------------------------------------------------ */

/* 0 or -EIO: libwebsockets cannot run on this loop. */
int ws_lws_new(struct ws_service *s);
void ws_lws_free(struct ws_service *s);
/* 0 or -EIO, reason in w->why. */
int ws_lws_connect(struct ws *w);
/* The peer sees the end at once; nothing comes for w any more. */
void ws_lws_drop(struct ws *w);
void ws_lws_want_write(struct ws *w);
struct ws_out *ws_out_new(struct span frame, bool binary);

/* ---- events, ws.c -------------------------------------------------------------- */

void ws_on_reached(struct ws *w, int err);
void ws_on_opened(struct ws *w);
void ws_on_chunk(struct ws *w, struct span chunk, bool final, bool binary);
/* w->why tells; may free w. */
void ws_on_end(struct ws *w);
void ws_why(struct ws *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
