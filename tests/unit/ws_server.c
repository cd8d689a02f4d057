/*
 * ws_server.c - the server behind test_ws.c.
 */
#include "ws_server.h"

#include <arpa/inet.h>
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
#include <openssl/evp.h>

#include "base/alloc.h"
#include "base/check.h"

enum opcode { CONT = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };

/* ---- frames ---------------------------------------------------------------- */

struct conn {
	struct server *server;
	int fd;
	char head[HEAD_MAX];
};

static bool send_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static bool read_all(int fd, void *data, size_t len)
{
	char *at = data;

	while (len > 0) {
		ssize_t n = recv(fd, at, len, 0);

		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/* What follows the head stays in the socket. */
static bool read_head(int fd, char *head)
{
	size_t n = 0;

	while (n < HEAD_MAX - 1) {
		ssize_t seen = recv(fd, head + n, HEAD_MAX - 1 - n, MSG_PEEK);
		size_t take = seen > 0 ? (size_t)seen : 0;
		char *end;

		if (take == 0)
			return false;
		head[n + take] = '\0';
		end = strstr(head, "\r\n\r\n");
		if (end)
			take = (size_t)(end + 4 - (head + n));
		if (!read_all(fd, head + n, take))
			return false;
		n += take;
		head[n] = '\0';
		if (end)
			return true;
	}
	return false;
}

static void accept_key(const char *head, char *out)
{
	const char *key = strstr(head, "Sec-WebSocket-Key: ");
	char text[80];
	unsigned char sha[20];

	assert_non_null(key);
	snprintf(text, sizeof(text), "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key + 19);
	EVP_Digest(text, strlen(text), sha, NULL, EVP_sha1(), NULL);
	EVP_EncodeBlock((unsigned char *)out, sha, sizeof(sha));
}

static bool shake(int fd, const char *head, const char *protocol)
{
	char key[64];
	char text[256];

	accept_key(head, key);
	snprintf(text, sizeof(text),
		 "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
		 "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n%s%s%s\r\n",
		 key, protocol ? "Sec-WebSocket-Protocol: " : "", protocol ? protocol : "",
		 protocol ? "\r\n" : "");
	return send_all(fd, text, strlen(text));
}

static bool frame_head(int fd, enum opcode opcode, bool final, size_t len)
{
	unsigned char head[10] = { (unsigned char)opcode };
	size_t n = 2;

	if (final)
		head[0] |= 0x80;
	if (len < 126) {
		head[1] = (unsigned char)len;
	} else if (len < 65536) {
		head[1] = 126;
		head[2] = (unsigned char)(len >> 8);
		head[3] = (unsigned char)len;
		n = 4;
	} else {
		head[1] = 127;
		for (int i = 0; i < 8; i++)
			head[2 + i] = (unsigned char)((uint64_t)len >> (8 * (7 - i)));
		n = 10;
	}
	return send_all(fd, head, n);
}

static bool say(int fd, enum opcode opcode, bool final, const void *data, size_t len)
{
	return frame_head(fd, opcode, final, len) && send_all(fd, data, len);
}

static bool says(int fd, const char *text)
{
	return say(fd, TEXT, true, text, strlen(text));
}

/* One frame of the client's: its payload (free it) or NULL. */
static unsigned char *hear(int fd, int *opcode, size_t *len)
{
	unsigned char head[2];
	unsigned char more[8];
	unsigned char mask[4];
	unsigned char *data;
	int n;

	if (!read_all(fd, head, 2))
		return NULL;
	*opcode = head[0] & 15;
	*len = head[1] & 127;
	n = *len == 127 ? 8 : *len == 126 ? 2 : 0;
	if (n) {
		if (!read_all(fd, more, (size_t)n))
			return NULL;
		*len = 0;
		for (int i = 0; i < n; i++)
			*len = *len << 8 | more[i];
	}
	if (!(head[1] & 128) || !read_all(fd, mask, 4))
		return NULL;
	data = xmalloc(*len + 1);
	if (!read_all(fd, data, *len)) {
		free(data);
		return NULL;
	}
	for (size_t i = 0; i < *len; i++)
		data[i] ^= mask[i & 3];
	data[*len] = '\0';
	return data;
}

unsigned pattern_sum(const unsigned char *data, size_t len)
{
	unsigned sum = 0;

	for (size_t i = 0; i < len; i++)
		sum = sum * 31 + data[i];
	return sum;
}

/* Bytes that tell their place. */
static unsigned char pattern_at(size_t i)
{
	return (unsigned char)(i * 7 + i / 251);
}

unsigned char *pattern(size_t len)
{
	unsigned char *data = xmalloc(len);

	for (size_t i = 0; i < len; i++)
		data[i] = pattern_at(i);
	return data;
}

bool is_pattern(struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		if ((unsigned char)s.ptr[i] != pattern_at(i))
			return false;
	}
	return true;
}

static void wait_gone(struct conn *c)
{
	unsigned char *data;
	size_t len;
	int opcode;

	while ((data = hear(c->fd, &opcode, &len)) != NULL)
		free(data);
	atomic_fetch_add(&c->server->gone, 1);
}

static void gate_wait(struct server *s)
{
	char byte;

	assert_int_equal(read(s->gate[0], &byte, 1), 0);
}

void gate_open(struct server *s)
{
	if (!s->open)
		close(s->gate[1]);
	s->open = true;
}

/* ---- what it does by path ------------------------------------------------------- */

/* Answers every message with its kind, length and sum. */
static void do_sum(struct conn *c)
{
	unsigned char *data;
	char text[64];
	size_t len;
	int opcode;

	while ((data = hear(c->fd, &opcode, &len)) != NULL) {
		snprintf(text, sizeof(text), "%d %zu %08x", opcode, len, pattern_sum(data, len));
		free(data);
		says(c->fd, text);
	}
	atomic_fetch_add(&c->server->gone, 1);
}

static void do_hello(struct conn *c)
{
	says(c->fd, "hello");
	wait_gone(c);
}

/* One message in five frames, two of them empty, pings between; then what the
 * client answered to the pings. */
static void do_fragments(struct conn *c)
{
	char text[64] = "";
	size_t n = 0;
	size_t len;
	int opcode;

	say(c->fd, TEXT, false, "ab", 2);
	say(c->fd, PING, true, "one", 3);
	say(c->fd, CONT, false, "", 0);
	say(c->fd, CONT, false, "cd", 2);
	while (n < 1) {
		unsigned char *data = hear(c->fd, &opcode, &len);

		if (!data)
			return;
		snprintf(text, sizeof(text), "%d %s", opcode, (char *)data);
		free(data);
		n++;
	}
	say(c->fd, CONT, false, "ef", 2);
	say(c->fd, CONT, true, "", 0);
	says(c->fd, text);
	say(c->fd, TEXT, true, "", 0);
	wait_gone(c);
}

static void do_big(struct conn *c)
{
	size_t len = 20 * MIB;
	unsigned char *data = pattern(len);

	say(c->fd, BINARY, true, data, len);
	free(data);
	wait_gone(c);
}

/* 3 MiB in one frame, a fine one, 2 MiB in frames of 1000 bytes, a fine one. */
static void do_oversize(struct conn *c)
{
	unsigned char *data = pattern(3 * MIB);

	say(c->fd, BINARY, true, data, 3 * MIB);
	says(c->fd, "first");
	for (size_t i = 0; i < 2000; i++)
		say(c->fd, i ? CONT : TEXT, i == 1999, data + 1000 * i, 1000);
	says(c->fd, "second");
	free(data);
	wait_gone(c);
}

static void do_half(struct conn *c)
{
	frame_head(c->fd, BINARY, true, 1000000);
	send_all(c->fd, "only the beginning", 18);
}

static void do_leave(struct conn *c)
{
	static const unsigned char code[] = { 1001 >> 8, 1001 & 255 };

	says(c->fd, "last");
	say(c->fd, CLOSE, true, code, sizeof(code));
	wait_gone(c); /* which also reads the answer */
}

static void do_burst(struct conn *c)
{
	for (int i = 0; i < 1000; i++)
		says(c->fd, "burst");
	wait_gone(c);
}

/* Reads nothing until the client is gone: then what is left, and the end. */
static void do_deaf(struct conn *c)
{
	char some[4096];

	says(c->fd, "deaf");
	gate_wait(c->server);
	while (recv(c->fd, some, sizeof(some), 0) > 0)
		;
	atomic_fetch_add(&c->server->gone, 1);
}

static void do_garbage(struct conn *c)
{
	send_all(c->fd, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
	wait_gone(c);
}

static void do_nothing(struct conn *c)
{
	(void)c;
}

static const struct {
	const char *path;
	const char *protocol;
	void (*run)(struct conn *c);
} scripts[] = {
	{ "/hello", V1, do_hello },	    { "/none", NULL, do_hello },
	{ "/other", "other", do_hello },    { "/sum", V1, do_sum },
	{ "/fragments", V1, do_fragments }, { "/big", V1, do_big },
	{ "/oversize", V1, do_oversize },   { "/half", V1, do_half },
	{ "/leave", V1, do_leave },	    { "/burst", V1, do_burst },
	{ "/deaf", V1, do_deaf },	    { "/garbage", V1, do_garbage },
	{ "/at-once", V1, do_nothing },	    { "/gate", V1, do_hello },
};

static const struct {
	const char *path;
	const char *text;
} refusals[] = {
	{ "/403", "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n" },
	{ "/302", "HTTP/1.1 302 Found\r\nLocation: /hello\r\nContent-Length: 0\r\n\r\n" },
	{ "/200", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" },
	{ "/noise", "SSH-2.0-OpenSSH_9.2\r\n\r\n" },
	{ "/bad-key", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
		      "Connection: Upgrade\r\nSec-WebSocket-Accept: AAAA\r\n\r\n" },
	{ "/silent", "" },
};

static bool is_path(const struct conn *c, const char *path)
{
	return strncmp(c->head + 4, path, strlen(path)) == 0;
}

static void hold(struct conn *c)
{
	struct server *s = c->server;
	int now = atomic_fetch_add(&s->shaking, 1) + 1;
	int most = atomic_load(&s->most);
	char byte;

	while (now > most && !atomic_compare_exchange_weak(&s->most, &most, now))
		;
	if (is_path(c, "/hang"))
		recv(c->fd, &byte, 1, 0);
	if (is_path(c, "/gate"))
		gate_wait(s);
	atomic_fetch_sub(&s->shaking, 1);
}

static void serve(struct conn *c)
{
	hold(c);
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		if (is_path(c, refusals[i].path))
			send_all(c->fd, refusals[i].text, strlen(refusals[i].text));
	}
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		if (is_path(c, scripts[i].path) && shake(c->fd, c->head, scripts[i].protocol))
			scripts[i].run(c);
	}
}

/* A client's own look whether anybody is there sends no head. */
static void *conn_run(void *arg)
{
	struct conn *c = arg;

	if (read_head(c->fd, c->head)) {
		memcpy(c->server->head, c->head, sizeof(c->head));
		serve(c);
	}
	close(c->fd);
	free(c);
	return NULL;
}

static void *server_run(void *arg)
{
	struct server *s = arg;
	int fd;

	while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
		struct conn *c = xcalloc(1, sizeof(*c));

		c->server = s;
		c->fd = fd;
		assert_true(s->n_conns < CONNS_MAX);
		assert_int_equal(pthread_create(&s->conns[s->n_conns++], NULL, conn_run, c), 0);
	}
	return NULL;
}

int listen_at(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	unlink(path);
	assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	assert_int_equal(listen(fd, 128), 0);
	return fd;
}

int listen_tcp(int family, int *port)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int fd = socket(family, SOCK_STREAM, 0);
	bool six = family == AF_INET6;
	struct sockaddr *sa = six ? (struct sockaddr *)&sin6 : (struct sockaddr *)&sin;
	socklen_t len = six ? sizeof(sin6) : sizeof(sin);

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, sa, len) != 0) {
		close(fd);
		return -1; /* a machine without IPv6 */
	}
	getsockname(fd, sa, &len);
	*port = ntohs(six ? sin6.sin6_port : sin.sin_port);
	assert_int_equal(listen(fd, 128), 0);
	return fd;
}

void server_start(struct server *s, int fd)
{
	s->fd = fd;
	assert_int_equal(pipe(s->gate), 0);
	assert_int_equal(pthread_create(&s->thread, NULL, server_run, s), 0);
}

void server_stop(struct server *s)
{
	gate_open(s);
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	for (int i = 0; i < s->n_conns; i++)
		pthread_join(s->conns[i], NULL);
	close(s->gate[0]);
	close(s->fd);
	unlink(s->path);
}

pid_t server_fork(const char *path)
{
	char head[HEAD_MAX];
	int fd = listen_at(path);
	pid_t pid = fork();

	if (pid != 0) {
		close(fd);
		return pid;
	}
	for (;;) {
		int conn = accept(fd, NULL, NULL);

		if (read_head(conn, head)) {
			shake(conn, head, V1);
			says(conn, "hello");
		} else {
			close(conn);
		}
	}
}
