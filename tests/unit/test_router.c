/*
 * test_router.c - patterns, methods, and what is told when none fits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "http/router.h"

static void handler(void *app, struct request *r, const struct route_match *m)
{
	(void)app;
	(void)r;
	(void)m;
}

static const struct route table[] = {
	{ HTTP_GET, "/things", 1, handler },
	{ HTTP_POST, "/things", 2, handler },
	{ HTTP_DELETE, "/things/{id}", 3, handler },
	{ HTTP_POST, "/things/{id}/restart", 4, handler },
	{ HTTP_GET, "/", 5, handler },
};

static void expect(enum http_method method, const char *path, enum route_result result,
		   unsigned need, const char *id)
{
	struct route_match m = { 0 };
	unsigned allow;

	assert_int_equal(route_find(table, ARRAY_LEN(table), method, path, &m, &allow), result);
	if (result != ROUTE_FOUND)
		return;
	assert_int_equal(m.route->need, need);
	assert_true(id ? span_is(m.id, id) : span_absent(m.id));
}

static void finds(void **state)
{
	(void)state;
	expect(HTTP_GET, "/things", ROUTE_FOUND, 1, NULL);
	expect(HTTP_HEAD, "/things", ROUTE_FOUND, 1, NULL);
	expect(HTTP_POST, "/things", ROUTE_FOUND, 2, NULL);
	expect(HTTP_DELETE, "/things/a b", ROUTE_FOUND, 3, "a b");
	expect(HTTP_POST, "/things/x/restart", ROUTE_FOUND, 4, "x");
	expect(HTTP_GET, "/", ROUTE_FOUND, 5, NULL);
}

static void finds_nothing(void **state)
{
	static const char *const paths[] = { "",	   "/thing",
					     "/things/",   "/things//restart",
					     "/things/x/", "/things/x/y",
					     "things",	   "/things/x/restart/",
					     "//" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		expect(HTTP_GET, paths[i], ROUTE_NO_PATH, 0, NULL);
}

static void tells_the_methods(void **state)
{
	struct route_match m;
	unsigned allow;
	char text[96];

	(void)state;
	assert_int_equal(route_find(table, ARRAY_LEN(table), HTTP_PUT, "/things", &m, &allow),
			 ROUTE_NO_METHOD);
	http_methods_str(allow, text, sizeof(text));
	assert_string_equal(text, "GET, HEAD, POST");
	assert_int_equal(route_find(table, ARRAY_LEN(table), HTTP_HEAD, "/things/x", &m, &allow),
			 ROUTE_NO_METHOD);
	http_methods_str(allow, text, sizeof(text));
	assert_string_equal(text, "DELETE");
	http_methods_str(0xff, text, 8); /* cut, not overrun */
	assert_int_equal(strlen(text), 7);
}

static void reasons(void **state)
{
	(void)state;
	assert_string_equal(http_status_str(404), "Not Found");
	assert_non_null(http_status_str(799));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds),
		cmocka_unit_test(finds_nothing),
		cmocka_unit_test(tells_the_methods),
		cmocka_unit_test(reasons),
	};

	return cmocka_run_group_tests_name("router", tests, NULL, NULL);
}
