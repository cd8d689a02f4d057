/*
 * http_server.c - the server behind test_httpc.c.
 */
#include "http_server.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"

#define REQUEST_MAX (8u << 20)

struct conn {
	struct server *server;
	int fd;
	struct buf in;
};

static void say(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

static void says(int fd, const char *text)
{
	say(fd, text, strlen(text));
}

static bool more(struct conn *c)
{
	char *to = buf_reserve(&c->in, 65536);
	ssize_t n = to ? recv(c->fd, to, 65536, 0) : -1;

	if (n <= 0)
		return false;
	buf_commit(&c->in, (size_t)n);
	return true;
}

/* One request: its length in the buffer, or 0 when the client is gone. */
static size_t request_read(struct conn *c)
{
	char *end;
	char *length;
	size_t want;

	while (!c->in.data || !(end = strstr(c->in.data, "\r\n\r\n"))) {
		if (!more(c))
			return 0;
	}
	want = (size_t)(end - c->in.data) + 4;
	length = strstr(c->in.data, "Content-Length: ");
	if (length && length < end)
		want += strtoul(length + 16, NULL, 10);
	while (c->in.len < want) {
		if (!more(c))
			return 0;
	}
	return want;
}

static void answer(struct conn *c, const char *status, const char *body, size_t len)
{
	char head[128];

	snprintf(head, sizeof(head), "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n", status, len);
	says(c->fd, head);
	say(c->fd, body, len);
}

static void wait_gone(struct conn *c)
{
	while (more(c))
		buf_reset(&c->in);
}

static void answer_big(struct conn *c, bool announced)
{
	static char block[65536];

	says(c->fd, announced ? "HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n" :
				"HTTP/1.1 200 OK\r\n\r\n");
	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 16; i++)
		say(c->fd, block, sizeof(block));
}

static bool is_path(const struct conn *c, const char *path)
{
	const char *at = strchr(c->in.data, ' ');

	return at && strncmp(at + 1, path, strlen(path)) == 0;
}

/* False: the connection ends here. */
static bool respond(struct conn *c, size_t len)
{
	if (is_path(c, "/echo"))
		answer(c, "200 OK", c->in.data, len);
	else if (is_path(c, "/missing"))
		answer(c, "404 Not Found", "no", 2);
	else if (is_path(c, "/none"))
		says(c->fd, "HTTP/1.1 204 No Content\r\n\r\n");
	else if (is_path(c, "/chunked"))
		says(c->fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
			    "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n");
	else if (is_path(c, "/moved"))
		says(c->fd, "HTTP/1.1 302 Found\r\nLocation: /echo\r\nContent-Length: 0\r\n\r\n");
	else if (is_path(c, "/announced"))
		answer_big(c, true);
	else if (is_path(c, "/endless"))
		return answer_big(c, false), false;
	else if (is_path(c, "/cut"))
		return says(c->fd, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), false;
	else if (is_path(c, "/half"))
		return says(c->fd, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"),
		       wait_gone(c), false;
	else if (is_path(c, "/hang"))
		return wait_gone(c), false;
	else if (is_path(c, "/noise"))
		return says(c->fd, "SSH-2.0-OpenSSH_9.2\r\n"), false;
	else
		return false; /* "/drop" */
	return true;
}

static void *conn_run(void *arg)
{
	struct conn *c = arg;
	size_t len;

	while ((len = request_read(c)) > 0) {
		atomic_fetch_add(&c->server->requests, 1);
		if (strncmp(c->in.data, "POST", 4) == 0)
			atomic_fetch_add(&c->server->posts, 1);
		if (!respond(c, len))
			break;
		buf_consume(&c->in, len);
	}
	atomic_fetch_add(&c->server->gone, 1);
	close(c->fd);
	buf_free(&c->in);
	free(c);
	return NULL;
}

static void *server_run(void *arg)
{
	struct server *s = arg;
	int fd;

	while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
		struct conn *c = xcalloc(1, sizeof(*c));

		atomic_fetch_add(&s->accepted, 1);
		c->server = s;
		c->fd = fd;
		buf_init(&c->in, REQUEST_MAX);
		assert_true(s->n_conns < 512);
		assert_int_equal(pthread_create(&s->conns[s->n_conns++], NULL, conn_run, c), 0);
	}
	return NULL;
}

void server_start(struct server *s, bool tcp)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);

	*s = (struct server){ .fd = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0) };
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	snprintf(s->path, sizeof(s->path), "/tmp/nb2-httpc-%d.sock", (int)getpid());
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", s->path);
	unlink(s->path);
	assert_int_equal(bind(s->fd, tcp ? (struct sockaddr *)&sin : (struct sockaddr *)&sun,
			      tcp ? sizeof(sin) : sizeof(sun)),
			 0);
	if (tcp) {
		getsockname(s->fd, (struct sockaddr *)&sin, &len);
		s->port = ntohs(sin.sin_port);
	}
	assert_int_equal(listen(s->fd, 128), 0);
	assert_int_equal(pthread_create(&s->thread, NULL, server_run, s), 0);
}

void server_stop(struct server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	for (int i = 0; i < s->n_conns; i++)
		pthread_join(s->conns[i], NULL);
	close(s->fd);
	unlink(s->path);
}
