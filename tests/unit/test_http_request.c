/*
 * test_http_request.c - what a request says: method, path, query, cookies; the
 * shape of answers; the slot's socket.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "fcgi_peer.h"
#include "request_made.h"

static void methods_and_paths(void **state)
{
	static const struct {
		const char *method;
		enum http_method is;
	} cases[] = { { "GET", HTTP_GET },    { "DELETE", HTTP_DELETE }, { "get", HTTP_OTHER },
		      { "BREW", HTTP_OTHER }, { "PATCH", HTTP_PATCH },	 { "", HTTP_OTHER },
		      { "GETS", HTTP_OTHER } };
	struct request *r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		r = REQUEST("REQUEST_METHOD", cases[i].method, "REQUEST_URI", "/a%20b?c=d",
			    "DOCUMENT_URI", "/a b");
		assert_int_equal(request_method(r), cases[i].is);
		assert_string_equal(request_path(r), "/a b");
		request_unmake(r);
	}
	r = REQUEST("REQUEST_URI", "/a%20b?c=d");
	assert_string_equal(request_path(r), "/a%20b");
	assert_string_equal(request_id(r), "-");
	assert_int_equal(request_method(r), HTTP_OTHER);
	request_unmake(r);
	r = REQUEST("A", "b", "A", "second", "NB2_REQUEST_ID", "0123");
	assert_string_equal(request_path(r), "/");
	assert_string_equal(request_param(r, "A"), "b");
	assert_null(request_param(r, "B"));
	assert_true(span_absent(request_span(r, "B")));
	request_set_user(r, "a");
	request_set_user(r, "somebody else");
	assert_string_equal(request_id(r), "0123");
	request_unmake(r);
}

static void queries(void **state)
{
	static const struct {
		const char *query;
		const char *value; /* of sid; NULL: absent */
	} cases[] = {
		{ "sid=a", "a" },
		{ "x=1&sid=a&sid=b", "a" },
		{ "sid", "" },
		{ "sid=", "" },
		{ "sid&sid=a", "" },
		{ "&&sid=a&&", "a" },
		{ "sid=a=b", "a=b" },
		{ "s%69d=a", "a" },
		{ "sid=a%3Ab%3a%2B+c", "a:b:+ c" },
		{ "sid=100%", "100%" },
		{ "sid=%4", "%4" },
		{ "sid=%zz%41", "%zzA" },
		{ "sid=%%41", "%A" },
		{ "sidd=a", NULL },
		{ "si=a", NULL },
		{ "=a", NULL },
		{ "", NULL },
		{ "SID=a", NULL },
		{ "sid%00=a", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct request *r = REQUEST("QUERY_STRING", cases[i].query);
		struct span got = request_query(r, "sid");

		if (cases[i].value ? !span_is(got, cases[i].value) : !span_absent(got))
			fail_msg("%s gave %.*s", cases[i].query, SPAN_FMT(got));
		request_unmake(r);
	}
}

/* Thousands of names cost no memory, however often one is looked for. */
static void a_long_query(void **state)
{
	struct buf q = BUF_INIT(1 << 18);
	struct request *r;

	(void)state;
	for (int i = 0; i < 20000; i++)
		buf_printf(&q, "n%d=v&", i);
	buf_puts(&q, "token=secret");
	r = request_make(q.len + 20000, (const char *const[]){ "QUERY_STRING", q.data, NULL });
	for (int i = 0; i < 100; i++)
		assert_true(span_is(request_query(r, "token"), "secret"));
	request_unmake(r);
	buf_free(&q);
}

static void cookies(void **state)
{
	struct request *r = REQUEST("HTTP_COOKIE", "a=1; nb2_8080 =x;nb2_8080=y;  b=; c; d=e=f");

	(void)state;
	assert_true(span_is(request_cookie(r, "a"), "1"));
	assert_true(span_is(request_cookie(r, "nb2_8080"), "y"));
	assert_true(span_is(request_cookie(r, "b"), ""));
	assert_true(span_is(request_cookie(r, "d"), "e=f"));
	assert_true(span_absent(request_cookie(r, "c")));
	assert_true(span_absent(request_cookie(r, "nb2_80")));
	request_unmake(r);
}

/* ---- answers --------------------------------------------------------------------- */

static void answer(void *arg, struct request *r)
{
	const char *path = request_path(r);

	(void)arg;
	if (strcmp(path, "/error") == 0) {
		reply_error(r, 404, "not_found", "no \"%s\" \xc3\xa9 \xf0\x9f\x98\x80 \xff\n",
			    "x\\y");
	} else if (strcmp(path, "/nothing") == 0) {
		reply(r, 204, NULL, SPAN_NONE);
	} else if (strcmp(path, "/redirect") == 0) {
		request_header(r, "Cache-Control", "no-store");
		reply_redirect_slot(r, 11);
	} else {
		request_header(r, "X-A", "b\r\nX-Forged: c");
		reply(r, 200, "text/html", SPAN_LIT("<p>"));
	}
}

static void shapes(void **state)
{
	static const struct http_limits limits = {
		.params = 8192, .body = 100, .arena = 1 << 16, .half_ms = 1000, .connections = 10
	};
	struct buf got = BUF_INIT(65536);
	struct stage s;

	(void)state;
	stage_open(&s, &limits, answer, NULL);
	ask(&s, "GET", "/error", SPAN_NONE, &got);
	assert_string_equal(got.data,
			    "Status: 404 Not Found\r\n"
			    "Content-Type: application/json; charset=utf-8\r\n"
			    "Content-Length: 78\r\n\r\n"
			    "{\"error\":\"not_found\",\"message\":\"no \\\"x\\\\y\\\" \\u00e9 "
			    "\\ud83d\\ude00 \\ufffd\\u000a\"}");
	ask(&s, "GET", "/nothing", SPAN_NONE, &got);
	assert_string_equal(got.data, "Status: 204 No Content\r\n\r\n");
	ask(&s, "GET", "/redirect", SPAN_NONE, &got);
	assert_string_equal(got.data, "Status: 200 OK\r\nX-Accel-Redirect: @nb2_s11\r\n\r\n");
	ask(&s, "GET", "/", SPAN_NONE, &got);
	assert_string_equal(got.data, "Status: 200 OK\r\nContent-Type: text/html\r\n"
				      "X-A: bX-Forged: c\r\nContent-Length: 3\r\n\r\n<p>");
	stage_close(&s);
	buf_free(&got);
}

/* ---- the socket ------------------------------------------------------------------ */

static void sockets(void **state)
{
	char dir[] = "/tmp/nb2-unit-XXXXXX";
	char path[200];
	struct stat st;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a:80.sock", dir);
	for (int i = 0; i < 2; i++) { /* the second time a stale one is there */
		fd = http_socket_open(path);
		assert_true(fd >= 0);
		assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0660);
		close(fd);
	}
	unlink(path);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(http_socket_open(path), -EEXIST);
	unlink(path);
	assert_int_equal(http_socket_open(dir), -EEXIST);
	rmdir(dir);
	assert_int_equal(http_socket_open(path), -ENOENT);
	memset(path, 'x', 108);
	path[108] = '\0';
	assert_int_equal(http_socket_open(path), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_and_paths),
		cmocka_unit_test(queries),
		cmocka_unit_test(a_long_query),
		cmocka_unit_test(cookies),
		cmocka_unit_test(shapes),
		cmocka_unit_test(sockets),
	};

	log_init("test", LOG_ERROR);
	return cmocka_run_group_tests_name("http_request", tests, NULL, NULL);
}
