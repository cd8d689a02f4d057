/*
 * fcgi_peer.c - the web server's side of a FastCGI connection, for tests.
 */
#include "fcgi_peer.h"

#include <errno.h>
#include <fastcgi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "http/fcgi_int.h"

#define PATIENCE_MS 10000

/* ---- bytes ----------------------------------------------------------------------- */

void say_record(struct buf *b, uint8_t type, uint16_t id, struct span content, uint8_t padding)
{
	unsigned char head[8];

	fcgi_header(head, type, id, (uint16_t)content.len);
	head[6] = padding;
	buf_append(b, head, 8);
	buf_span_append(b, content);
	for (int i = 0; i < padding; i++)
		buf_putc(b, 'P');
}

void say_begin(struct buf *b, uint16_t id, uint16_t role, bool keep)
{
	char body[8] = { (char)(role >> 8), (char)(role & 255), (char)keep };

	say_record(b, FCGI_BEGIN_REQUEST, id, span_of(body, 8), 0);
}

static void say_length(struct buf *b, size_t n)
{
	if (n >= 128) {
		buf_putc(b, (char)(n >> 24 | 0x80));
		buf_putc(b, (char)(n >> 16));
		buf_putc(b, (char)(n >> 8));
	}
	buf_putc(b, (char)n);
}

void say_pair(struct buf *params, const char *name, struct span value)
{
	say_length(params, strlen(name));
	say_length(params, value.len);
	buf_puts(params, name);
	buf_span_append(params, value);
}

void say_head(struct buf *b, bool keep, const char *method, const char *uri, long length)
{
	struct buf p = BUF_INIT(60000);
	struct span query = span_str(uri);
	char number[24];

	span_cut(&query, '?');
	say_pair(&p, "REQUEST_METHOD", span_str(method));
	say_pair(&p, "REQUEST_URI", span_str(uri));
	say_pair(&p, "QUERY_STRING", query.ptr ? query : SPAN_LIT(""));
	say_pair(&p, "NB2_REQUEST_ID", SPAN_LIT("0123456789abcdef0123456789abcdef"));
	snprintf(number, sizeof(number), "%ld", length);
	if (length >= 0)
		say_pair(&p, "CONTENT_LENGTH", span_str(number));
	say_begin(b, 1, FCGI_RESPONDER, keep);
	say_record(b, FCGI_PARAMS, 1, buf_span(&p), 3);
	say_record(b, FCGI_PARAMS, 1, SPAN_LIT(""), 0);
	buf_free(&p);
}

void say_request(struct buf *b, bool keep, const char *method, const char *uri, struct span body)
{
	say_head(b, keep, method, uri, body.ptr ? (long)body.len : -1);
	while (body.len > 0) {
		size_t n = body.len < 60000 ? body.len : 60000;

		say_record(b, FCGI_STDIN, 1, span_of(body.ptr, n), 0);
		body = span_of(body.ptr + n, body.len - n);
	}
	say_record(b, FCGI_STDIN, 1, SPAN_LIT(""), 0);
}

/* ---- the stage ------------------------------------------------------------------- */

void stage_open(struct stage *s, const struct http_limits *limits, http_handler_fn *fn, void *arg)
{
	snprintf(s->dir, sizeof(s->dir), "/tmp/nb2-unit-XXXXXX");
	if (!mkdtemp(s->dir))
		abort();
	snprintf(s->path, sizeof(s->path), "%s/slot.sock", s->dir);
	s->loop = loop_new();
	s->server = http_server_new(s->loop, limits, fn, arg);
	s->fd = http_socket_open(s->path);
	if (s->fd < 0)
		abort();
	http_server_listen(s->server, s->fd, 3);
}

void stage_close(struct stage *s)
{
	if (s->server)
		http_server_free(s->server);
	loop_free(s->loop);
	close(s->fd);
	unlink(s->path);
	rmdir(s->dir);
}

static void nothing(void *arg)
{
	(void)arg;
}

bool wait_for(struct loop *l, condition_fn *holds, void *arg)
{
	struct timer *t = timer_new(l, nothing, NULL);
	bool held;

	timer_set(t, PATIENCE_MS);
	while (!(held = holds(arg)) && timer_pending(t))
		loop_once(l, true);
	timer_free(t);
	return held;
}

struct wanted {
	struct http_server *server;
	size_t n;
};

static bool as_many(void *arg)
{
	struct wanted *w = arg;

	return http_server_connections(w->server) == w->n;
}

bool wait_connections(struct stage *s, size_t n)
{
	struct wanted w = { s->server, n };

	return wait_for(s->loop, as_many, &w);
}

/* ---- a peer ---------------------------------------------------------------------- */

static void peer_watch(struct peer *p)
{
	if (p->watch)
		watch_set(p->watch, (p->deaf ? 0 : WATCH_READ) | (p->out.len ? WATCH_WRITE : 0));
}

static void peer_over(struct peer *p)
{
	p->closed = true;
	watch_free(p->watch);
	p->watch = NULL;
}

static void peer_read(struct peer *p)
{
	char chunk[65536];
	ssize_t n = recv(p->fd, chunk, sizeof(chunk), 0);

	if (n > 0)
		buf_append(&p->in, chunk, (size_t)n);
	else if (n == 0 || errno != EAGAIN)
		peer_over(p);
}

static void peer_write(struct peer *p)
{
	ssize_t n = send(p->fd, p->out.data, p->out.len, MSG_NOSIGNAL);

	if (n > 0)
		buf_consume(&p->out, (size_t)n);
	else if (n < 0 && errno != EAGAIN)
		buf_reset(&p->out);
	peer_watch(p);
}

static void on_peer(void *arg, unsigned events)
{
	struct peer *p = arg;

	if (events & WATCH_WRITE)
		peer_write(p);
	if (events & WATCH_READ)
		peer_read(p);
}

struct peer *peer_new(struct stage *s)
{
	struct peer *p = xcalloc(1, sizeof(*p));
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	p->loop = s->loop;
	buf_init(&p->in, 256 << 20);
	buf_init(&p->out, 256 << 20);
	buf_init(&p->text, 256 << 20);
	buf_init(&p->values, 4096);
	p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	memcpy(a.sun_path, s->path, strlen(s->path) + 1);
	if (p->fd < 0 || connect(p->fd, (struct sockaddr *)&a, sizeof(a)) != 0)
		abort();
	p->watch = watch_new(s->loop, p->fd, on_peer, p);
	peer_watch(p);
	return p;
}

void peer_free(struct peer *p)
{
	watch_free(p->watch);
	close(p->fd);
	buf_free(&p->in);
	buf_free(&p->out);
	buf_free(&p->text);
	buf_free(&p->values);
	free(p);
}

void peer_send(struct peer *p, struct span bytes)
{
	buf_span_append(&p->out, bytes);
	peer_write(p);
}

void peer_deaf(struct peer *p, bool deaf)
{
	p->deaf = deaf;
	peer_watch(p);
}

void peer_look(struct peer *p)
{
	const unsigned char *at = (const unsigned char *)p->in.data;
	size_t left = p->in.len;

	buf_reset(&p->text);
	buf_reset(&p->values);
	p->ends = p->unknowns = 0;
	p->status = -1;
	while (left >= 8) {
		size_t n = (size_t)at[4] << 8 | at[5];

		if (left < 8 + n + at[6])
			return;
		if (at[1] == FCGI_STDOUT)
			buf_append(&p->text, at + 8, n);
		if (at[1] == FCGI_GET_VALUES_RESULT)
			buf_append(&p->values, at + 8, n);
		p->unknowns += at[1] == FCGI_UNKNOWN_TYPE;
		if (at[1] == FCGI_END_REQUEST) {
			p->ends++;
			p->status = at[12];
		}
		n += 8u + at[6];
		at += n;
		left -= n;
	}
}

bool peer_is_closed(void *peer)
{
	struct peer *p = peer;

	return p->closed;
}

bool peer_has_end(void *peer)
{
	struct peer *p = peer;

	peer_look(p);
	return p->ends > 0;
}

void ask(struct stage *s, const char *method, const char *uri, struct span body, struct buf *ret)
{
	struct peer *p = peer_new(s);
	struct buf b = BUF_INIT(256 << 20);

	say_request(&b, false, method, uri, body);
	peer_send(p, buf_span(&b));
	if (!wait_for(s->loop, peer_is_closed, p))
		abort();
	peer_look(p);
	if (p->ends != 1 || p->status != FCGI_REQUEST_COMPLETE)
		abort();
	buf_reset(ret);
	buf_span_append(ret, buf_span(&p->text));
	peer_free(p);
	buf_free(&b);
}
