/*
 * conn_int.h - a connection and the request on it, for the files of this room.
 *
 * There is one request a connection at a time (no multiplexing), so one struct
 * is both. What only an unanswered request needs is in struct request_data,
 * which goes as soon as a stream opens: a quiet stream costs little.
 *
 * A connection that is closed goes to the server's list of the dead and is
 * freed at the end of the turn: callers up the stack may still look at phase.
 */
#ifndef NB2_HTTP_CONN_INT_H
#define NB2_HTTP_CONN_INT_H

#include "base/list.h"
#include "http/fcgi_int.h"
#include "http/request.h"
#include "http/server.h"
#include "loop/loop.h"

#define REQUEST_MAGIC 0x72657175u

enum phase {
	PHASE_FIRST,   /* accepted, no request has begun */
	PHASE_IDLE,    /* kept, between requests */
	PHASE_PARAMS,  /* PARAMS are coming */
	PHASE_STDIN,   /* the body is coming */
	PHASE_RUNNING, /* the handler has it */
	PHASE_STREAM,  /* stream_open() was called */
	PHASE_DRAIN,   /* answered; the rest is being written */
	PHASE_DEAD,
};

struct param {
	const char *name;
	const char *value;
	size_t value_len;
};

struct request_data {
	struct buf params_raw; /* while they come */
	struct param *params;
	size_t n_params;
	struct buf body;
	size_t body_seen; /* bytes that came, also dropped ones */
	struct arena arena;
	struct buf headers; /* of the answer */
	int refused;
	void (*gone)(void *arg);
	void *gone_arg;
	enum http_method method;
	const char *path;
};

/* Made, and not yet taken by the peer. */
struct pending {
	struct buf bytes;
	size_t done; /* of them, sent */
};

/* Every byte here is paid for by each quiet stream: 512 in all, with the watch
 * and names. test_http_stream.c weighs it. */
struct request {
	unsigned magic;
	int fd;
	struct list link;  /* server's connections, or the dead */
	struct list woken; /* streams to be asked this turn, or the broken */
	struct http_server *server;
	struct watch *watch;
	struct request_data *data;
	struct buf *values;	 /* a FCGI_GET_VALUES record that came in pieces; mostly NULL */
	struct pending *pending; /* NULL: the socket took all */
	const struct stream_ops *ops;
	void *ops_arg;
	uint64_t began_us;
	uint64_t bytes;
	uint64_t last_out_ms;
	char *names; /* request id, "METHOD path", user: a NUL behind each; NULL before PARAMS */
	uint16_t label_at;
	uint16_t user_at; /* 0: nobody */
	uint16_t id;
	uint16_t status;
	struct fcgi_input input;
	uint8_t slot;
	uint8_t phase;
	bool keep;
	bool head_only; /* HEAD: no body goes out */
	bool ending;	/* the last bytes of the answer are made */
	bool broken;	/* a write failed: dropped at the end of the turn */
	bool blocked;	/* the socket takes no more; waiting for it */
};

struct listener {
	struct list link;
	struct http_server *server;
	struct watch *watch;
	int fd;
	unsigned slot;
};

struct http_server {
	struct loop *loop;
	struct http_limits limits;
	http_handler_fn *fn;
	void *arg;
	struct list listeners;
	struct list conns;
	struct list dead;
	struct list woken;
	struct list broken;
	size_t n_conns;
	struct timer *sweep;
	struct turn *turn;
	struct buf scratch; /* one stream's fill at a time */
	bool paused;	    /* accepting: at the limit, or out of descriptors */
	bool stopping;
	bool all_gone; /* to be told at the end of the turn */
	uint64_t cut_at_ms;
	loop_fn *stopped;
	void *stopped_arg;
};

/* conn.c */
void conn_new(struct http_server *s, int fd, unsigned slot);
/* Tell whoever needs to know that the peer is gone, and close. What gone()
 * calls may close other connections too. */
void conn_drop(struct request *r);
/* The same at the end of the turn, for who is in the middle of something;
 * until then what is written vanishes. */
void conn_break(struct request *r);
/* The answer is out: log it, and close or wait for the next request. */
void conn_finish(struct request *r);
void conn_free(struct request *r);
void conn_data_free(struct request *r);

/* write.c */
/* Send content as STDOUT records, then with `last` the end of the request.
 * What the socket does not take is kept. */
void write_stdout(struct request *r, struct span content, bool last);
void write_raw(struct request *r, const void *data, size_t len);
/* The socket can take more. */
void write_continue(struct request *r);
void write_pending_free(struct request *r);
/* Ask a stream for more until it has none or the socket is full. */
void write_pump(struct request *r);
void conn_watch(struct request *r);

/* request.c: PARAMS are all here. 0, -EBADMSG or -EFBIG. */
int request_params_done(struct request *r);

/* server.c */
void server_conn_gone(struct http_server *s);

#endif
