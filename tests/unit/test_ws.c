/*
 * test_ws.c - the WebSocket client against the scripted server of ws_server.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/log.h"
#include "ws_world.h"

#define MANY 100

/* ---- the handshake ------------------------------------------------------------------ */

static void test_v1(void **state)
{
	struct world *w = *state;
	struct peer p = { 0 };

	peer_open_path(w, &p, "/hello?session_id=1");
	assert_int_equal(ws_send(p.ws, SPAN_LIT("early"), false), -ENOTCONN);
	UNTIL(w, p.messages);
	assert_int_equal(p.opened, 1);
	assert_true(p.v1);
	assert_string_equal(p.log.data, "hello|");
	assert_false(p.binary);
	assert_memory_equal(w->server->head, "GET /hello?session_id=1 HTTP/1.1\r\n", 34);
	assert_non_null(strstr(w->server->head, "\r\nAuthorization: token secret\r\n"));
	assert_non_null(strstr(w->server->head, "\r\nSec-WebSocket-Protocol: " V1 "\r\n"));
	assert_non_null(strstr(w->server->head, "\r\nHost: localhost\r\n"));
	assert_null(strstr(w->server->head, "Extensions"));
	assert_null(strstr(w->server->head, "Origin"));
	peer_close(&p);
	UNTIL(w, atomic_load(&w->server->gone) == 1);
	assert_int_equal(p.closed, 0);
}

static void test_none_chosen(void **state)
{
	struct world *w = *state;
	struct ws_target t = world_target(w, "/none");
	struct peer p = { 0 };

	t.token = NULL;
	peer_open(w, &p, &t);
	UNTIL(w, p.messages);
	assert_int_equal(p.opened, 1);
	assert_false(p.v1);
	assert_string_equal(p.log.data, "hello|");
	assert_null(strstr(w->server->head, "Authorization"));
	peer_close(&p);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *path;
		const char *why;
	} rows[] = {
		{ "/403", "403" },	    { "/302", "302" },
		{ "/200", "200" },	    { "/other", "PROTOCOL" },
		{ "/noise", "handshake" },  { "/bad-key", "Accept" },
		{ "/silent", "handshake" }, { "/with space", "request" },
		{ "relative", "request" },  { "/line\r\nX: y", "request" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct peer p = { 0 };

		peer_open_path(w, &p, rows[i].path);
		UNTIL(w, p.closed);
		assert_int_equal(p.opened, 0);
		assert_non_null(strstr(p.why, rows[i].why));
		assert_int_equal(ws_send(p.ws, SPAN_LIT("late"), false), -ENOTCONN);
		peer_close(&p);
		assert_int_equal(p.closed, 1);
	}
}

static void test_hang(void **state)
{
	struct world *w = *state;
	struct ws_target t = world_target(w, "/hang");
	uint64_t before;
	struct peer p = { 0 };
	struct peer after = { 0 };

	loop_once(w->loop, false); /* its clock is from before the set-up */
	before = clock_ms();
	t.timeout_ms = 200;
	peer_open(w, &p, &t);
	UNTIL(w, p.closed);
	assert_true(clock_ms() - before >= 190 && clock_ms() - before < 5000);
	assert_non_null(strstr(p.why, "200 ms"));
	UNTIL(w, atomic_load(&w->server->shaking) == 0); /* the server sees it */
	peer_open_path(w, &after, "/hello");
	UNTIL(w, after.messages);
	peer_close(&after);
	peer_close(&p);
	assert_int_equal(p.closed, 1);
}

static void test_at_most_64(void **state)
{
	struct world *w = *state;
	struct peer *p = xcalloc(MANY, sizeof(*p));
	int opened = 0;

	for (int i = 0; i < MANY; i++)
		peer_open_path(w, &p[i], "/gate");
	peer_close(&p[MANY - 1]); /* one that only waits */
	UNTIL(w, atomic_load(&w->server->shaking) == 64);
	peer_close(&p[3]); /* one in its handshake: the next may start */
	UNTIL(w, atomic_load(&w->server->shaking) == 65); /* that thread holds on */
	gate_open(w->server);
	for (int i = 0; i < MANY; i++) {
		if (i == 3 || i == MANY - 1)
			continue;
		UNTIL(w, p[i].messages);
		opened += p[i].opened;
		peer_close(&p[i]);
	}
	assert_int_equal(opened, MANY - 2);
	assert_int_equal(atomic_load(&w->server->most), 65);
	assert_int_equal(p[3].opened + p[3].closed + p[MANY - 1].opened + p[MANY - 1].closed, 0);
	free(p);
}

/* ---- nobody there ---------------------------------------------------------------------- */

static void count_handle(uv_handle_t *handle, void *arg)
{
	(void)handle;
	++*(int *)arg;
}

static int handles(struct world *w)
{
	int n = 0;

	uv_walk(loop_foreign(w->loop), count_handle, &n);
	return n;
}

static int next_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

static void refuse(struct world *w, const struct ws_target *t, const char *why)
{
	struct peer p = { 0 };

	peer_open(w, &p, t);
	UNTIL(w, p.closed);
	assert_int_equal(p.opened, 0);
	assert_non_null(strstr(p.why, why));
	peer_close(&p);
	assert_int_equal(p.closed, 1);
}

static void test_refused(void **state)
{
	struct world *w = *state;
	struct ws_target none = world_target(w, "/hello");
	struct ws_target stale = world_target(w, "/hello");
	struct ws_target tcp = { .host = "127.0.0.1", .path = "/hello", .timeout_ms = PATIENCE_MS };
	int handles_before;
	int fd_before;
	char path[80];

	snprintf(path, sizeof(path), "%s.stale", w->server->path);
	close(listen_at(path));
	close(listen_tcp(AF_INET, &tcp.port));
	none.unix_path = "/nonexistent/nb2.sock";
	stale.unix_path = path;
	refuse(w, &none, "No such file");
	loop_once(w->loop, false);
	handles_before = handles(w);
	fd_before = next_fd();
	for (int i = 0; i < 20; i++) {
		refuse(w, &none, "No such file");
		refuse(w, &stale, "refused");
		refuse(w, &tcp, "refused");
	}
	loop_once(w->loop, false);
	assert_int_equal(handles(w), handles_before);
	assert_true(next_fd() < fd_before + 10); /* a thread may have one for a moment */
	unlink(path);
}

static void test_addresses(void **state)
{
	struct world *w = *state;
	struct ws_target t = world_target(w, "/hello");
	char path[200];

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[108] = '\0';
	t.unix_path = path;
	refuse(w, &t, "108 bytes");
	path[107] = '\0';
	refuse(w, &t, "No such file");
	t.unix_path = "";
	refuse(w, &t, "0 bytes");
	t.unix_path = NULL;
	t.host = "jupyter.example";
	refuse(w, &t, "not an address");
	t.host = "127.1";
	refuse(w, &t, "not an address");
}

static void open_tcp(struct world *w, int family, const char *host)
{
	struct server *s = xcalloc(1, sizeof(*s));
	struct ws_target t = world_target(w, "/sum");
	struct peer p = { 0 };
	int fd = listen_tcp(family, &t.port);

	if (fd < 0) {
		free(s);
		return;
	}
	server_start(s, fd);
	t.unix_path = NULL;
	t.host = host;
	peer_open(w, &p, &t);
	UNTIL(w, p.opened);
	assert_true(p.v1);
	assert_int_equal(ws_send(p.ws, SPAN_LIT("abc"), false), 0);
	UNTIL(w, p.messages);
	assert_memory_equal(p.log.data, "1 3 ", 4);
	peer_close(&p);
	UNTIL(w, atomic_load(&s->gone) == 1);
	server_stop(s);
	free(s);
}

static void test_tcp(void **state)
{
	open_tcp(*state, AF_INET, "127.0.0.1");
	open_tcp(*state, AF_INET, "localhost");
	open_tcp(*state, AF_INET6, "::1");
	open_tcp(*state, AF_INET6, "[::1]");
}

/* ---- messages ----------------------------------------------------------------------------- */

static void test_fragments(void **state)
{
	struct world *w = *state;
	struct peer p = { 0 };

	peer_open_path(w, &p, "/fragments");
	UNTIL(w, p.messages == 3);
	assert_string_equal(p.log.data, "abcdef|10 one||"); /* the second: the pong */
	peer_close(&p);
}

static void test_big_in(void **state)
{
	struct world *w = *state;
	struct peer p = { 0 };

	peer_open_path(w, &p, "/big");
	UNTIL(w, p.messages);
	assert_string_equal(p.log.data, "<20971520>|");
	assert_false(p.damaged);
	peer_close(&p);
}

static void test_big_out(void **state)
{
	struct world *w = *state;
	struct peer p = { 0 };
	size_t len = 9 * MIB;
	unsigned char *data = pattern(len);
	char want[256];
	char one[64];

	peer_open_path(w, &p, "/sum");
	UNTIL(w, p.opened);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ws_send(p.ws, span_of((char *)data, len), true), 0);
	assert_int_equal(ws_send(p.ws, SPAN_LIT("small"), false), 0);
	assert_int_equal(ws_send(p.ws, SPAN_LIT(""), false), 0);
	assert_int_equal(ws_queued(p.ws), 3 * len + 5);
	snprintf(one, sizeof(one), "2 %zu %08x", len, pattern_sum(data, len));
	snprintf(want, sizeof(want), "%s|%s|%s|1 5 ", one, one, one);
	free(data); /* they were copied */
	UNTIL(w, p.messages == 5);
	assert_memory_equal(p.log.data, want, strlen(want));
	assert_non_null(strstr(p.log.data, "|1 0 00000000|"));
	assert_int_equal(ws_queued(p.ws), 0);
	peer_close(&p);
}

static void test_oversize(void **state)
{
	struct world *w = *state;
	struct ws_target t = world_target(w, "/oversize");
	struct peer p = { 0 };

	t.max_message = MIB;
	peer_open(w, &p, &t);
	UNTIL(w, p.messages == 4);
	assert_string_equal(p.log.data, "too large 3145728|first|too large 2000000|second|");
	assert_true(p.head >= 16384);
	assert_false(p.damaged);
	peer_close(&p);
}

/* A ceiling below what is kept of a head. */
static void test_oversize_small(void **state)
{
	struct world *w = *state;
	struct ws_target t = world_target(w, "/hello");
	struct peer p = { 0 };

	t.max_message = 4;
	peer_open(w, &p, &t);
	UNTIL(w, p.messages);
	assert_int_equal(p.head, 5);
	assert_string_equal(p.log.data, "too large 5|");
	peer_close(&p);
}

static void test_queue_full(void **state)
{
	struct world *w = *state;
	struct peer p = { 0 };
	size_t len = 64 * MIB;
	char *data = xcalloc(1, len);

	peer_open_path(w, &p, "/deaf");
	UNTIL(w, p.messages);
	for (int i = 0; i < 4; i++)
		assert_int_equal(ws_send(p.ws, span_of(data, len), true), 0);
	free(data);
	assert_int_equal(ws_send(p.ws, SPAN_LIT("x"), true), -ENOBUFS);
	assert_int_equal(ws_queued(p.ws), 4 * len);
	for (int i = 0; i < 50; i++) /* some goes out, none of it is heard */
		loop_once(w->loop, false);
	assert_int_equal(ws_queued(p.ws), 4 * len);
	peer_close(&p);
	/* Neither waits for the server to read nor sends what is left. */
	gate_open(w->server);
	UNTIL(w, atomic_load(&w->server->gone) == 1);
	assert_int_equal(p.closed, 0);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void test_half(void **state)
{
	struct world *w = *state;
	struct peer p = { 0 };

	peer_open_path(w, &p, "/half");
	UNTIL(w, p.closed);
	assert_int_equal(p.opened, 1);
	assert_int_equal(p.messages, 0);
	assert_non_null(strstr(p.why, "lost"));
	assert_true(p.cut);
	peer_close(&p);
}

static void test_leave(void **state)
{
	struct world *w = *state;
	struct peer p = { 0 };

	peer_open_path(w, &p, "/leave");
	UNTIL(w, p.closed);
	assert_string_equal(p.log.data, "last|");
	assert_non_null(strstr(p.why, "1001"));
	assert_false(p.cut);
	assert_int_equal(ws_send(p.ws, SPAN_LIT("late"), true), -ENOTCONN);
	peer_close(&p);
	UNTIL(w, atomic_load(&w->server->gone) == 1);
	assert_int_equal(p.closed, 1);
}

static void test_garbage(void **state)
{
	struct world *w = *state;
	struct peer p = { 0 };

	peer_open_path(w, &p, "/garbage");
	UNTIL(w, p.closed);
	peer_close(&p);
	assert_int_equal(p.closed, 1);
}

/* Jupyter out of sockets: opened, then closed at once. */
static void test_at_once(void **state)
{
	struct world *w = *state;
	struct peer p = { 0 };

	peer_open_path(w, &p, "/at-once");
	UNTIL(w, p.closed);
	assert_int_equal(p.opened, 1);
	peer_close(&p);
}

static void test_close_within(void **state)
{
	static const struct {
		const char *path;
		const char *where;
		int messages;
	} rows[] = {
		{ "/burst", "opened", 0 },	{ "/burst", "message", 1 },
		{ "/fragments", "message", 1 }, { "/big", "message", 1 },
		{ "/half", "closed", 0 },	{ "/403", "closed", 0 },
		{ "relative", "closed", 0 },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct peer p = { .close_in = rows[i].where };
		struct peer next = { 0 };

		peer_open_path(w, &p, rows[i].path);
		UNTIL(w, p.ws == NULL);
		peer_open_path(w, &next, "/hello");
		UNTIL(w, next.messages);
		peer_close(&next);
		peer_close(&p);
		assert_int_equal(p.messages, rows[i].messages);
		assert_int_equal(p.closed, strcmp(rows[i].where, "closed") == 0);
	}
}

/* All kinds of connections, some rounds of the loop old; the service goes right
 * behind them. */
static void close_after(struct world *w, int rounds)
{
	static const char *const paths[] = { "/hello", "/hang", "/big", "/oversize", "/leave" };
	struct peer p[ARRAY_LEN(paths)] = { 0 };
	int closed[ARRAY_LEN(paths)];

	ws_close(NULL);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		peer_open_path(w, &p[i], paths[i]);
	for (int n = 0; n < rounds; n++)
		loop_once(w->loop, false);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		closed[i] = p[i].closed;
		peer_close(&p[i]);
	}
	ws_service_free(w->service);
	w->service = NULL;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		assert_int_equal(p[i].closed, closed[i]);
}

#define CLOSE_AFTER(rounds)                                                                        \
	static void test_close_after_##rounds(void **state)                                        \
	{                                                                                          \
		close_after(*state, rounds);                                                       \
	}

CLOSE_AFTER(0)
CLOSE_AFTER(1)
CLOSE_AFTER(2)
CLOSE_AFTER(3)
CLOSE_AFTER(4)
CLOSE_AFTER(6)
CLOSE_AFTER(10)

static void test_killed(void **state)
{
	struct world *w = *state;
	struct ws_target t = world_target(w, "/hello");
	struct peer p[3] = { 0 };
	uint64_t before;
	char path[80];
	pid_t pid;

	snprintf(path, sizeof(path), "%s.forked", w->server->path);
	pid = server_fork(path);
	assert_true(pid > 0);
	t.unix_path = path;
	for (int i = 0; i < 3; i++)
		peer_open(w, &p[i], &t);
	UNTIL(w, p[0].messages && p[1].messages && p[2].messages);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	before = clock_ms();
	UNTIL(w, p[0].closed && p[1].closed && p[2].closed);
	assert_true(clock_ms() - before < 1000);
	for (int i = 0; i < 3; i++) {
		peer_close(&p[i]);
		assert_int_equal(p[i].closed, 1);
	}
	refuse(w, &t, "refused");
	unlink(path);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_setup, world_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_v1),
		TEST(test_none_chosen),
		TEST(test_refusals),
		TEST(test_hang),
		TEST(test_at_most_64),
		TEST(test_refused),
		TEST(test_addresses),
		TEST(test_tcp),
		TEST(test_fragments),
		TEST(test_big_in),
		TEST(test_big_out),
		TEST(test_oversize),
		TEST(test_oversize_small),
		TEST(test_queue_full),
		TEST(test_half),
		TEST(test_leave),
		TEST(test_garbage),
		TEST(test_at_once),
		TEST(test_close_within),
		TEST(test_killed),
		TEST(test_close_after_0),
		TEST(test_close_after_1),
		TEST(test_close_after_2),
		TEST(test_close_after_3),
		TEST(test_close_after_4),
		TEST(test_close_after_6),
		TEST(test_close_after_10),
	};

	/* Must make no difference. */
	setenv("http_proxy", "http://127.0.0.1:9", 1);
	log_init("test", LOG_WARN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
