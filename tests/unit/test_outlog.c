/*
 * test_outlog.c - lines in, cursors out, nothing kept longer than needed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "journal/outlog.h"

static void line(struct outlog *log, const char *text)
{
	buf_puts(outlog_line_begin(log), text);
	assert_int_equal(outlog_line_end(log), 0);
}

static void expect_read(struct outlog_cursor *c, size_t room, const char *text, bool more)
{
	struct buf out = BUF_INIT(1 << 20);

	assert_int_equal(outlog_read(c, &out, room), more);
	assert_string_equal(out.data ? out.data : "", text);
	buf_free(&out);
}

static void reads_in_order(void **state)
{
	struct outlog *log = outlog_new();
	struct outlog_cursor c;

	(void)state;
	outlog_open(log, &c);
	expect_read(&c, 100, "", false);
	line(log, "one\n");
	line(log, "two\n");
	expect_read(&c, 100, "one\ntwo\n", false);
	line(log, "three\n");
	expect_read(&c, 100, "three\n", false);
	assert_false(outlog_at_end(&c));
	outlog_close(log);
	assert_true(outlog_at_end(&c));
	assert_int_equal(outlog_lines(log), 3);
	assert_int_equal(outlog_bytes(log), 14);
	outlog_cursor_close(&c);
	outlog_cursor_close(&c);
	outlog_free(log);
}

static void keeps_lines_whole_where_it_can(void **state)
{
	struct outlog *log = outlog_new();
	struct outlog_cursor c;

	(void)state;
	outlog_open(log, &c);
	line(log, "aaaa\n");
	line(log, "bbbb\n");
	line(log, "a line longer than the room\n");
	expect_read(&c, 8, "aaaa\n", true);
	expect_read(&c, 8, "bbbb\n", true);
	expect_read(&c, 8, "a line l", true);
	expect_read(&c, 100, "onger than the room\n", false);
	outlog_cursor_close(&c);
	outlog_free(log);
}

static void undoes_a_line(void **state)
{
	struct outlog *log = outlog_new();
	struct outlog_cursor c;

	(void)state;
	outlog_open(log, &c);
	buf_puts(outlog_line_begin(log), "half a li");
	outlog_line_undo(log);
	line(log, "whole\n");
	expect_read(&c, 100, "whole\n", false);
	assert_int_equal(outlog_lines(log), 1);
	outlog_cursor_close(&c);
	outlog_free(log);
}

/* A reader that keeps up costs one chunk, however much passes. */
static void frees_what_was_read(void **state)
{
	struct outlog *log = outlog_new();
	struct outlog_cursor c;
	struct buf out = BUF_INIT(SIZE_MAX);
	char text[1001];

	(void)state;
	memset(text, 'x', 999);
	text[999] = '\n';
	text[1000] = '\0';
	outlog_open(log, &c);
	for (int i = 0; i < 10000; i++) {
		line(log, text);
		buf_reset(&out);
		outlog_read(&c, &out, SIZE_MAX);
		assert_int_equal(out.len, 1000);
		assert_true(outlog_held(log) < 200 * 1000);
	}
	buf_free(&out);
	outlog_cursor_close(&c);
	outlog_free(log);
}

static void a_late_cursor_gets_everything(void **state)
{
	struct outlog *log = outlog_new();
	struct outlog_cursor c;
	struct buf out = BUF_INIT(SIZE_MAX);

	(void)state;
	for (int i = 0; i < 30000; i++)
		line(log, "0123456789\n");
	outlog_open(log, &c);
	while (outlog_read(&c, &out, 5000))
		continue;
	assert_int_equal(out.len, 330000);
	buf_free(&out);
	outlog_cursor_close(&c);
	outlog_free(log);
}

static void the_tail_grows_until_it_is_seen(void **state)
{
	struct outlog *log = outlog_new();
	struct outlog_cursor c;
	struct buf *b;
	size_t start;

	(void)state;
	outlog_open(log, &c);
	assert_null(outlog_tail(log, 100, &start));
	line(log, "first\n");
	line(log, "tail\n");
	b = outlog_tail(log, 100, &start);
	assert_non_null(b);
	assert_int_equal(start, 6);
	buf_truncate(b, b->len - 1);
	buf_puts(b, " longer\n");
	outlog_tail_end(log);
	assert_int_equal(outlog_bytes(log), 18);
	assert_null(outlog_tail(log, 3, &start)); /* too long to grow */
	expect_read(&c, 100, "first\ntail longer\n", false);
	assert_null(outlog_tail(log, 100, &start)); /* seen */
	outlog_cursor_close(&c);
	outlog_free(log);
}

static void refuses_a_line_above_the_ceiling(void **state)
{
	struct outlog *log = outlog_new();
	char *chunk = malloc(1 << 20);
	struct buf *b = outlog_line_begin(log);

	(void)state;
	memset(chunk, 'x', 1 << 20);
	for (size_t i = 0; i <= OUTLOG_LINE_MAX >> 20; i++)
		buf_append(b, chunk, 1 << 20);
	buf_putc(b, '\n');
	assert_int_equal(outlog_line_end(log), -EFBIG);
	assert_int_equal(outlog_lines(log), 0);
	line(log, "next\n");
	free(chunk);
	outlog_free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_in_order),
		cmocka_unit_test(keeps_lines_whole_where_it_can),
		cmocka_unit_test(undoes_a_line),
		cmocka_unit_test(frees_what_was_read),
		cmocka_unit_test(a_late_cursor_gets_everything),
		cmocka_unit_test(the_tail_grows_until_it_is_seen),
		cmocka_unit_test(refuses_a_line_above_the_ceiling),
	};

	return cmocka_run_group_tests_name("outlog", tests, NULL, NULL);
}
