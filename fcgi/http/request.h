/*
 * request.h - one HTTP request as nginx hands it over by FastCGI, and its
 * answer.
 *
 * Life cycle: the server calls its handler once with a complete request (the
 * whole body is here and as long as CONTENT_LENGTH said). The handler, at once
 * or later, answers exactly once: reply_*() or stream_open(). After reply_*()
 * the request belongs to the server and may not be touched. If the peer leaves
 * first, the function given to request_on_gone() (or the stream's gone) is
 * called, once, as the last call: the request is invalid when it returns, and
 * nobody may answer. All on the loop's thread.
 *
 * Everything reachable from a request (params, body, its arena) dies with it.
 */
#ifndef NB2_HTTP_REQUEST_H
#define NB2_HTTP_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/span.h"

struct request;
struct http_counts;

enum http_method {
	HTTP_GET = 1,
	HTTP_HEAD = 2,
	HTTP_POST = 4,
	HTTP_PUT = 8,
	HTTP_DELETE = 16,
	HTTP_PATCH = 32,
	HTTP_OPTIONS = 64,
	HTTP_OTHER = 128,
};

/* A FastCGI parameter ("REQUEST_URI", "HTTP_X_ACCESS_TOKEN", …): NULL when it
 * was not sent. NUL-terminated; one holding a NUL was refused on arrival. */
const char *request_param(const struct request *r, const char *name);
struct span request_span(const struct request *r, const char *name);

enum http_method request_method(const struct request *r);
/* DOCUMENT_URI if sent, else the path of REQUEST_URI: decoded once by nginx.
 * Never NULL. */
const char *request_path(const struct request *r);
/* A query argument, percent-decoded (a + is a space), the first of its name;
 * SPAN_NONE when absent. Lives in the arena. A malformed escape stays as it
 * is. */
struct span request_query(struct request *r, const char *name);
/* A cookie's value by name; SPAN_NONE when absent. */
struct span request_cookie(const struct request *r, const char *name);
struct span request_body(const struct request *r);
struct arena *request_arena(struct request *r);
/* The slot on whose socket it came in. */
unsigned request_slot(const struct request *r);
/* nginx's $request_id, or "-". */
const char *request_id(const struct request *r);

/* 0, or why it cannot be served: 413 its body was larger than allowed (and was
 * dropped), 400 it is malformed or its body shorter than CONTENT_LENGTH. The
 * handler words the answer, since each face has its own shape. */
int request_refused(const struct request *r);

/* fn(arg) if the peer leaves before the answer was begun. */
void request_on_gone(struct request *r, void (*fn)(void *arg), void *arg);

/* A name for whoever the request acts for, shown in the access log line.
 * Ends what request_id() gave before. */
void request_set_user(struct request *r, const char *name);

/* Header lines to go with the answer, before reply_*() or stream_open().
 * CR, LF and NUL in a value are dropped. */
void request_header(struct request *r, const char *name, const char *value);

/* The whole answer. body is copied. ctype NULL: none. */
void reply(struct request *r, int status, const char *ctype, struct span body);
/* {"error":code,"message":sentence}: the /nb2 face's shape. */
void reply_error(struct request *r, int status, const char *code, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
/* text/plain; charset=utf-8. */
void reply_text(struct request *r, int status, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Hand the request to another slot: X-Accel-Redirect: @nb2_sK, nothing else. */
void reply_redirect_slot(struct request *r, unsigned slot);

/*
 * An answer that goes on. The stream pulls: fill() is asked, when the socket
 * can take bytes and stream_wake() was called since it last said
 * STREAM_IDLE, to append what is next to out. About `room` bytes are wanted
 * (it may pass that by one record); out's ceiling is far above.
 */
enum stream_state {
	STREAM_MORE, /* ask again as soon as these are sent */
	STREAM_IDLE, /* nothing more now; stream_wake() when there is */
	STREAM_END,  /* what was appended is the last; the request ends */
};

struct stream_ops {
	enum stream_state (*fill)(void *arg, struct buf *out, size_t room);
	/* The last call: the peer left, the server stops, or (with ended
	 * true) STREAM_END has been written out. */
	void (*gone)(void *arg, bool ended);
	/* The server stops: fill() is asked for a last time, which should
	 * say STREAM_END; after a second the stream is cut. May be NULL. */
	void (*closing)(void *arg);
};

/* Sends status and headers at once. Params, body and arena are freed: all that
 * request_*() gave is gone, but request_id() and request_slot(). A HEAD request
 * ends with its headers: fill() is not asked, gone(ended) comes. */
void stream_open(struct request *r, int status, const char *ctype, const struct stream_ops *ops,
		 void *arg);
void stream_wake(struct request *r);
/* Milliseconds (loop time) since bytes last went out to the peer. */
uint64_t stream_quiet_ms(const struct request *r);
/* Bytes made but not yet taken by the peer. */
size_t stream_backlog(const struct request *r);

#endif
