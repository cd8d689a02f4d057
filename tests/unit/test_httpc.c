/*
 * test_httpc.c - outgoing HTTP against the server of http_server.c.
 */
#include <errno.h>
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
#include "base/check.h"
#include "base/clock.h"
#include "http_server.h"
#include "httpc/httpc.h"

#define PATIENCE_MS 10000
#define MANY 50

/* ---- the client's side ------------------------------------------------------- */

struct world {
	struct loop *loop;
	struct httpc *httpc;
	struct server server;
	struct timer *tick;
};

struct result {
	struct httpc_response res;
	char *body;
	char why[256];
	int times;
	struct httpc_call *cancel; /* in done() */
	struct httpc_call *self;
	int *count;
};

static void nothing(void *arg)
{
	(void)arg;
}

static void on_done(void *arg, const struct httpc_response *res)
{
	struct result *r = arg;

	r->times++;
	r->res = *res;
	free(r->body);
	r->body = xstrndup(res->body.ptr, res->body.len);
	snprintf(r->why, sizeof(r->why), "%s", res->why);
	httpc_cancel(r->cancel);
	httpc_cancel(r->self);
	if (r->count)
		(*r->count)++;
}

/* The other end is a thread: look every millisecond. */
#define UNTIL(w, condition)                                                                        \
	do {                                                                                       \
		uint64_t until_end = clock_ms() + PATIENCE_MS;                                     \
		while (!(condition)) {                                                             \
			if (clock_ms() >= until_end) {                                             \
				print_error("in vain: %s\n", #condition);                          \
				fail();                                                            \
			}                                                                          \
			timer_set((w)->tick, 1);                                                   \
			loop_once((w)->loop, true);                                                \
		}                                                                                  \
	} while (0)

static int setup(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->loop = loop_new();
	w->httpc = httpc_new(w->loop);
	w->tick = timer_new(w->loop, nothing, NULL);
	server_start(&w->server, false);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	httpc_free(w->httpc);
	server_stop(&w->server);
	timer_free(w->tick);
	loop_free(w->loop);
	free(w);
	return 0;
}

static struct httpc_request request(const struct world *w, const char *method, const char *url)
{
	return (struct httpc_request){
		.method = method, .url = url, .unix_path = w->server.path, .max_body = 100000
	};
}

static struct httpc_call *get(struct world *w, const char *url, struct result *r)
{
	struct httpc_request req = request(w, "GET", url);

	return httpc_send(w->httpc, &req, on_done, r);
}

/* Everything that was under way has had its chance once this call is through. */
static void settle(struct world *w)
{
	struct result r = { 0 };

	get(w, "http://localhost/echo", &r);
	UNTIL(w, r.times == 1);
	free(r.body);
}

/* ---- plain calls --------------------------------------------------------------- */

static void test_get(void **state)
{
	struct world *w = *state;
	struct result r = { 0 };

	get(w, "http://localhost/echo?a=1", &r);
	assert_int_equal(r.times, 0);
	UNTIL(w, r.times);
	assert_int_equal(r.res.err, 0);
	assert_int_equal(r.res.status, 200);
	assert_string_equal(r.why, "");
	assert_memory_equal(r.body, "GET /echo?a=1 HTTP/1.1\r\n", 24);
	assert_non_null(strstr(r.body, "\r\nHost: localhost\r\n"));
	assert_null(strstr(r.body, "Content-"));
	free(r.body);
}

static void test_post(void **state)
{
	struct world *w = *state;
	struct httpc_request req = request(w, "POST", "http://localhost/echo");
	const char *header[] = { "Authorization: token abc", "Content-Type: application/json",
				 NULL };
	char *body = xcalloc(1, 50001);
	struct result r = { 0 };

	memset(body, 'b', 50000);
	req.header = header;
	req.body = span_str(body);
	httpc_send(w->httpc, &req, on_done, &r);
	memset(body, 'c', 50000); /* it was copied */
	free(body);
	UNTIL(w, r.times);
	assert_int_equal(r.res.status, 200);
	assert_non_null(strstr(r.body, "\r\nAuthorization: token abc\r\n"));
	assert_non_null(strstr(r.body, "\r\nContent-Type: application/json\r\n"));
	assert_non_null(strstr(r.body, "\r\nContent-Length: 50000\r\n"));
	assert_null(strstr(r.body, "Expect"));
	assert_non_null(strstr(r.body, "\r\n\r\nbbbb"));
	assert_null(strstr(r.body, "ccc"));
	free(r.body);
}

static void test_methods(void **state)
{
	static const char *const methods[] = { "POST", "DELETE", "PATCH", "PUT" };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		struct httpc_request req = request(w, methods[i], "http://localhost/echo");
		struct result r = { 0 };

		httpc_send(w->httpc, &req, on_done, &r);
		UNTIL(w, r.times);
		assert_int_equal(r.res.status, 200);
		assert_memory_equal(r.body, methods[i], strlen(methods[i]));
		assert_null(strstr(r.body, "Content-Type"));
		free(r.body);
	}
}

static void test_answers(void **state)
{
	static const struct {
		const char *url;
		int err;
		int status;
		const char *body;
	} rows[] = {
		{ "http://localhost/chunked", 0, 200, "abcdefg" },
		{ "http://localhost/missing", 0, 404, "no" },
		{ "http://localhost/none", 0, 204, "" },
		{ "http://localhost/moved", 0, 302, "" }, /* not followed */
		{ "http://localhost/announced", -EFBIG, 0, "" },
		{ "http://localhost/endless", -EFBIG, 0, "" },
		{ "http://localhost/cut", -EIO, 0, "" },
		{ "http://localhost/drop", -EIO, 0, "" },
		{ "http://localhost/noise", -EIO, 0, "" },
		{ "ftp://localhost/echo", -EIO, 0, "" },
		{ "file:///etc/hostname", -EIO, 0, "" },
		{ "http://", -EIO, 0, "" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct result r = { 0 };

		get(w, rows[i].url, &r);
		assert_int_equal(r.times, 0);
		UNTIL(w, r.times);
		assert_int_equal(r.res.err, rows[i].err);
		assert_int_equal(r.res.status, rows[i].status);
		assert_string_equal(r.body, rows[i].body);
		assert_int_equal(r.why[0] != '\0', rows[i].err != 0);
		free(r.body);
	}
	settle(w);
}

static void test_tcp(void **state)
{
	struct world *w = *state;
	struct server tcp;
	struct result r = { 0 };
	char url[64];
	struct httpc_request req = { .method = "GET", .url = url, .max_body = 1000 };

	server_start(&tcp, true);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/echo", tcp.port);
	httpc_send(w->httpc, &req, on_done, &r); /* not by the proxy of main() */
	UNTIL(w, r.times);
	assert_int_equal(r.res.status, 200);
	httpc_free(w->httpc); /* closes what is kept alive */
	server_stop(&tcp);
	w->httpc = httpc_new(w->loop);
	httpc_send(w->httpc, &req, on_done, &r);
	UNTIL(w, r.times == 2);
	assert_int_equal(r.res.err, -ECONNREFUSED);
	free(r.body);
}

/* ---- nobody there, no answer ---------------------------------------------------- */

static void test_refused(void **state)
{
	struct world *w = *state;
	struct httpc_request req = request(w, "GET", "http://localhost/echo");
	char stale[80];
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct result r = { 0 };

	req.unix_path = "/nonexistent/nb2.sock";
	httpc_send(w->httpc, &req, on_done, &r);
	assert_int_equal(r.times, 0);
	UNTIL(w, r.times == 1);
	assert_int_equal(r.res.err, -ECONNREFUSED);
	assert_true(r.why[0] != '\0');

	snprintf(stale, sizeof(stale), "%s.stale", w->server.path);
	unlink(stale);
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", stale);
	assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0); /* no listen() */
	req.unix_path = stale;
	httpc_send(w->httpc, &req, on_done, &r);
	UNTIL(w, r.times == 2);
	assert_int_equal(r.res.err, -ECONNREFUSED);
	close(fd);
	unlink(stale);
	free(r.body);
}

static void test_timeout(void **state)
{
	struct world *w = *state;
	struct httpc_request req = request(w, "GET", "http://localhost/hang");
	uint64_t before = clock_ms();
	struct result r = { 0 };

	req.timeout_ms = 100;
	httpc_send(w->httpc, &req, on_done, &r);
	UNTIL(w, r.times);
	assert_int_equal(r.res.err, -ETIMEDOUT);
	assert_true(clock_ms() - before >= 90);

	req.url = "http://localhost/half";
	httpc_send(w->httpc, &req, on_done, &r);
	UNTIL(w, r.times == 2);
	assert_int_equal(r.res.err, -ETIMEDOUT);
	assert_string_equal(r.body, ""); /* half an answer is none */
	UNTIL(w, atomic_load(&w->server.gone) == 2);
	free(r.body);
}

/* ---- cancelling ------------------------------------------------------------------- */

static void test_cancel_at_once(void **state)
{
	struct world *w = *state;
	struct result r = { 0 };

	httpc_cancel(NULL);
	httpc_cancel(get(w, "http://localhost/echo", &r));
	settle(w);
	assert_int_equal(r.times, 0);
	assert_int_equal(atomic_load(&w->server.requests), 1);
}

static void test_cancel_waiting(void **state)
{
	struct world *w = *state;
	struct result r = { 0 };
	struct httpc_call *call = get(w, "http://localhost/hang", &r);

	UNTIL(w, atomic_load(&w->server.requests) == 1);
	httpc_cancel(call);
	UNTIL(w, atomic_load(&w->server.gone) == 1); /* the server sees it */
	settle(w);
	assert_int_equal(r.times, 0);
}

static void test_cancel_half(void **state)
{
	struct world *w = *state;
	struct result r = { 0 };
	struct httpc_call *call = get(w, "http://localhost/half", &r);

	UNTIL(w, atomic_load(&w->server.requests) == 1);
	settle(w); /* by now the half answer was read */
	httpc_cancel(call);
	UNTIL(w, atomic_load(&w->server.gone) == 1);
	settle(w);
	assert_int_equal(r.times, 0);
}

static void test_cancel_in_done(void **state)
{
	struct world *w = *state;
	struct result first = { 0 };
	struct result other = { 0 };

	first.cancel = get(w, "http://localhost/hang", &other);
	UNTIL(w, atomic_load(&w->server.requests) == 1);
	first.self = get(w, "http://localhost/echo", &first);
	UNTIL(w, first.times);
	settle(w);
	assert_int_equal(first.times, 1);
	assert_int_equal(other.times, 0);
	free(first.body);
}

/* Two that end in the same step: whichever comes first takes the other along. */
static void test_cancel_each_other(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 20; i++) {
		struct result a = { 0 };
		struct result b = { 0 };
		struct httpc_request req = request(w, "GET", "http://localhost/echo");

		req.unix_path = "/nonexistent/nb2.sock";
		b.cancel = httpc_send(w->httpc, &req, on_done, &a);
		a.cancel = httpc_send(w->httpc, &req, on_done, &b);
		UNTIL(w, a.times + b.times > 0);
		settle(w);
		assert_int_equal(a.times + b.times, 1);
		free(a.body);
		free(b.body);
	}
}

static void again(void *arg, const struct httpc_response *res)
{
	struct world *w = arg;
	static int rounds;

	assert_int_equal(res->status, 200);
	if (++rounds < 5) {
		struct httpc_request req = request(w, "GET", "http://localhost/echo");

		httpc_send(w->httpc, &req, again, w);
	} else {
		rounds = -100;
		w->server.path[0] = '\0'; /* the sign that it is over */
	}
}

static void test_send_in_done(void **state)
{
	struct world *w = *state;
	struct httpc_request req = request(w, "GET", "http://localhost/echo");
	char path[64];

	memcpy(path, w->server.path, sizeof(path));
	httpc_send(w->httpc, &req, again, w);
	UNTIL(w, w->server.path[0] == '\0');
	memcpy(w->server.path, path, sizeof(path));
	assert_int_equal(atomic_load(&w->server.requests), 5);
}

/* Those under way when the client goes. */
static void test_free_busy(void **state)
{
	struct world *w = *state;
	struct result r = { 0 };

	get(w, "http://localhost/hang", &r);
	get(w, "http://localhost/half", &r);
	UNTIL(w, atomic_load(&w->server.requests) == 2);
	get(w, "http://localhost/echo", &r);
	httpc_free(w->httpc);
	w->httpc = httpc_new(w->loop);
	settle(w);
	assert_int_equal(r.times, 0);
}

static void test_drain(void **state)
{
	struct world *w = *state;
	struct result r = { 0 };

	get(w, "http://localhost/hang", &r);
	UNTIL(w, atomic_load(&w->server.requests) == 1);
	get(w, "http://localhost/echo", &r);
	httpc_drain(w->httpc);
	assert_int_equal(r.times, 2);
	assert_int_equal(r.res.err, -ECANCELED);
	get(w, "http://localhost/echo", &r); /* usable all the same */
	UNTIL(w, r.times == 3);
	assert_int_equal(r.res.status, 200);
	free(r.body);
}

/* ---- connections ------------------------------------------------------------------ */

static void test_reuse(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 10; i++)
		settle(w);
	assert_int_equal(atomic_load(&w->server.accepted), 1);
}

/* A kept connection that the server has closed: a GET finds another way. */
static void test_kept_and_closed(void **state)
{
	struct world *w = *state;
	struct result r = { 0 };

	settle(w);
	get(w, "http://localhost/drop", &r); /* on the kept connection, then on a new one */
	UNTIL(w, r.times);
	assert_int_equal(r.res.err, -EIO);
	assert_int_equal(atomic_load(&w->server.requests), 3);
	settle(w);
	free(r.body);
}

/* What is not a GET reaches the server once, whatever becomes of it. */
static void test_post_once(void **state)
{
	struct world *w = *state;
	struct httpc_request req = request(w, "POST", "http://localhost/drop");
	struct result r = { 0 };

	settle(w);
	httpc_send(w->httpc, &req, on_done, &r);
	UNTIL(w, r.times);
	assert_int_equal(r.res.err, -EIO);
	assert_int_equal(atomic_load(&w->server.posts), 1);
	free(r.body);
}

static void test_many(void **state)
{
	struct world *w = *state;
	struct result r[MANY];
	char url[64];
	int count = 0;

	memset(r, 0, sizeof(r));
	for (int i = 0; i < MANY; i++) {
		snprintf(url, sizeof(url), "http://localhost/echo?n=%d", i);
		r[i].count = &count;
		get(w, url, &r[i]);
	}
	UNTIL(w, count == MANY);
	for (int i = 0; i < MANY; i++) {
		snprintf(url, sizeof(url), "GET /echo?n=%d HTTP", i);
		assert_int_equal(r[i].times, 1);
		assert_int_equal(r[i].res.status, 200);
		assert_memory_equal(r[i].body, url, strlen(url));
		free(r[i].body);
	}
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_get),
		TEST(test_post),
		TEST(test_methods),
		TEST(test_answers),
		TEST(test_tcp),
		TEST(test_refused),
		TEST(test_timeout),
		TEST(test_cancel_at_once),
		TEST(test_cancel_waiting),
		TEST(test_cancel_half),
		TEST(test_cancel_in_done),
		TEST(test_cancel_each_other),
		TEST(test_send_in_done),
		TEST(test_free_busy),
		TEST(test_drain),
		TEST(test_reuse),
		TEST(test_kept_and_closed),
		TEST(test_post_once),
		TEST(test_many),
	};

	/* Must make no difference. */
	setenv("http_proxy", "http://127.0.0.1:9", 1);
	setenv("all_proxy", "http://127.0.0.1:9", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
