/*
 * write.c - the way out: STDOUT records, written at once as far as the socket
 * takes them; the rest waits in the connection's buffer.
 */
#include <errno.h>
#include <fastcgi.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/alloc.h"
#include "http/conn_int.h"

#define RECORD_CONTENT 65528 /* a multiple of 8 below 64 KiB: no padding is due */
#define PIECES 128	     /* records a sendmsg() */
#define FILL_ROOM ((size_t)32 << 10)
#define PUMPS_A_TURN 8

static size_t total(const struct iovec *v, size_t n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += v[i].iov_len;
	return bytes;
}

/* Bytes sent of these iovecs. */
static size_t send_pieces(struct request *r, struct iovec *v, size_t n)
{
	struct msghdr m = { .msg_iov = v, .msg_iovlen = n };
	ssize_t sent;

	if (r->broken)
		return total(v, n);
	if (r->blocked)
		return 0;
	do {
		sent = sendmsg(r->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (sent < 0 && errno == EINTR);
	if (sent >= 0) {
		r->last_out_ms = loop_now(r->server->loop);
		return (size_t)sent;
	}
	if (errno == EAGAIN || errno == ENOBUFS)
		return 0;
	/* The peer is not there any more. Whoever writes may be in the middle
	 * of something. */
	conn_break(r);
	return total(v, n);
}

/* Its ceiling is what may be in one answer or one fill(); who asks for other
 * things and does not read is closed by conn.c. */
static void pending_append(struct request *r, const void *data, size_t len)
{
	if (!r->pending) {
		r->pending = xmalloc(sizeof(*r->pending));
		buf_init(&r->pending->bytes, SIZE_MAX / 2);
		r->pending->done = 0;
	}
	buf_append(&r->pending->bytes, data, len);
}

void write_pending_free(struct request *r)
{
	if (r->pending)
		buf_free(&r->pending->bytes);
	free(r->pending);
	r->pending = NULL;
}

/* Keep what was not sent. */
static void keep_rest(struct request *r, const struct iovec *v, size_t n, size_t sent)
{
	for (size_t i = 0; i < n; i++) {
		size_t skip = sent < v[i].iov_len ? sent : v[i].iov_len;

		sent -= skip;
		if (v[i].iov_len > skip)
			pending_append(r, (const char *)v[i].iov_base + skip, v[i].iov_len - skip);
	}
	if (r->pending && !r->blocked) {
		r->blocked = true;
		conn_watch(r);
	}
}

static void write_pieces(struct request *r, struct iovec *v, size_t n)
{
	size_t sent = send_pieces(r, v, n);

	r->bytes += total(v, n);
	keep_rest(r, v, n, sent);
}

void write_raw(struct request *r, const void *data, size_t len)
{
	struct iovec v = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };

	if (r->phase != PHASE_DEAD)
		write_pieces(r, &v, 1);
}

/* As many records as fit one call; content moves on. */
static void write_some(struct request *r, struct span *content, bool last)
{
	struct iovec v[2 * PIECES + 1];
	unsigned char heads[PIECES][8];
	unsigned char end[8 + 16];
	size_t n = 0;

	for (size_t i = 0; i < PIECES && content->len > 0; i++) {
		size_t len = content->len < RECORD_CONTENT ? content->len : RECORD_CONTENT;

		fcgi_header(heads[i], FCGI_STDOUT, r->id, (uint16_t)len);
		v[n++] = (struct iovec){ heads[i], 8 };
		v[n++] = (struct iovec){ (void *)(uintptr_t)content->ptr, len };
		*content = span_of(content->ptr + len, content->len - len);
	}
	if (last && content->len == 0) {
		fcgi_header(end, FCGI_STDOUT, r->id, 0);
		fcgi_end(end + 8, r->id, FCGI_REQUEST_COMPLETE);
		v[n++] = (struct iovec){ end, sizeof(end) };
	}
	if (n > 0)
		write_pieces(r, v, n);
}

/* The request is answered and all of it is out? */
static void finish_if_done(struct request *r)
{
	if (r->ending && !r->blocked && !r->broken && r->phase != PHASE_DEAD)
		conn_finish(r);
}

void write_stdout(struct request *r, struct span content, bool last)
{
	if (r->phase == PHASE_DEAD)
		return;
	do {
		write_some(r, &content, last);
	} while (content.len > 0);
	r->ending = r->ending || last;
	finish_if_done(r);
}

void write_pump(struct request *r)
{
	struct buf *b = &r->server->scratch;

	/* HEAD: the head is all, and what comes behind it may never end. */
	if (r->head_only && r->phase == PHASE_STREAM)
		write_stdout(r, SPAN_NONE, true);
	for (int i = 0; i < PUMPS_A_TURN && !r->blocked && !r->broken && r->phase == PHASE_STREAM;
	     i++) {
		enum stream_state state;

		buf_reset(b);
		state = r->ops->fill(r->ops_arg, b, FILL_ROOM);
		assert(buf_error(b) == 0);
		write_stdout(r, buf_span(b), state == STREAM_END);
		if (state != STREAM_MORE)
			return;
	}
	if (r->phase == PHASE_STREAM && !r->blocked && !r->ending)
		stream_wake(r); /* the others first */
}

void write_continue(struct request *r)
{
	struct pending *p = r->pending;
	struct iovec v;

	CHECK_OBJ(r, REQUEST_MAGIC);
	assert(r->blocked && p);
	v = (struct iovec){ p->bytes.data + p->done, p->bytes.len - p->done };
	r->blocked = false;
	p->done += send_pieces(r, &v, 1);
	if (p->done < p->bytes.len) {
		r->blocked = true;
		return;
	}
	write_pending_free(r);
	conn_watch(r);
	finish_if_done(r);
	if (r->phase == PHASE_STREAM && !r->ending)
		write_pump(r);
}
