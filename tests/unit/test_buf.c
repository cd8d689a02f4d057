/*
 * test_buf.c - buffers keep their ceiling, arenas too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"

static void starts_empty(void **state)
{
	struct buf b = BUF_INIT(10);

	(void)state;
	assert_null(b.data);
	assert_int_equal(buf_error(&b), 0);
	assert_non_null(buf_span(&b).ptr);
	assert_int_equal(buf_span(&b).len, 0);
	buf_consume(&b, 0);
	buf_truncate(&b, 0);
	buf_reset(&b);
	assert_null(b.data);
	buf_free(&b);
	assert_int_equal(b.max, 10);
}

static void appends_and_terminates(void **state)
{
	struct buf b = BUF_INIT(100);

	(void)state;
	assert_int_equal(buf_puts(&b, "ab"), 0);
	assert_int_equal(buf_putc(&b, '\0'), 0);
	assert_int_equal(buf_append(&b, "cd", 2), 0);
	assert_int_equal(buf_span_append(&b, SPAN_NONE), 0);
	assert_int_equal(buf_span_append(&b, SPAN_LIT("e")), 0);
	assert_int_equal(buf_printf(&b, "%d-%s", 7, "x"), 0);
	assert_true(span_eq(buf_span(&b), SPAN_LIT("ab\0cde7-x")));
	assert_int_equal(b.data[b.len], 0);
	buf_free(&b);
}

static void an_empty_append_makes_a_string(void **state)
{
	struct buf b = BUF_INIT(0);

	(void)state;
	assert_int_equal(buf_puts(&b, ""), 0);
	assert_string_equal(b.data, "");
	assert_int_equal(buf_putc(&b, 'x'), -EFBIG);
	assert_string_equal(b.data, "");
	buf_free(&b);
}

static void the_ceiling_is_exact(void **state)
{
	struct buf b = BUF_INIT(5);

	(void)state;
	assert_int_equal(buf_puts(&b, "12345"), 0);
	assert_int_equal(buf_error(&b), 0);
	assert_int_equal(buf_putc(&b, '6'), -EFBIG);
	assert_string_equal(b.data, "12345");
	assert_int_equal(b.cap, 6);
	buf_free(&b);
}

static void every_way_to_append_refuses(void **state)
{
	struct buf b = BUF_INIT(3);

	(void)state;
	assert_int_equal(buf_append(&b, "abcd", 4), -EFBIG);
	assert_int_equal(buf_span_append(&b, SPAN_LIT("abcd")), -EFBIG);
	assert_int_equal(buf_puts(&b, "abcd"), -EFBIG);
	assert_int_equal(buf_printf(&b, "%s", "abcd"), -EFBIG);
	assert_null(buf_reserve(&b, 4));
	assert_null(buf_reserve(&b, SIZE_MAX));
	assert_int_equal(b.len, 0);
	buf_free(&b);
}

static void the_error_sticks(void **state)
{
	struct buf b = BUF_INIT(4);

	(void)state;
	buf_puts(&b, "ab");
	assert_int_equal(buf_puts(&b, "cde"), -EFBIG);
	assert_int_equal(buf_puts(&b, "cd"), 0); /* this one fits */
	assert_int_equal(buf_error(&b), -EFBIG);
	buf_truncate(&b, 0);
	assert_int_equal(buf_error(&b), -EFBIG);
	buf_reset(&b);
	assert_int_equal(buf_error(&b), 0);
	assert_int_equal(b.len, 0);
	assert_string_equal(b.data, "");
	buf_free(&b);
}

static void free_forgets_the_error(void **state)
{
	struct buf b = BUF_INIT(1);

	(void)state;
	buf_puts(&b, "ab");
	buf_free(&b);
	assert_int_equal(buf_error(&b), 0);
	assert_int_equal(buf_puts(&b, "a"), 0);
	buf_free(&b);
}

static void no_ceiling_does_not_overflow(void **state)
{
	struct buf b = BUF_INIT(SIZE_MAX);

	(void)state;
	assert_int_equal(buf_puts(&b, "abc"), 0);
	assert_null(buf_reserve(&b, SIZE_MAX - 1));
	assert_null(buf_reserve(&b, SIZE_MAX - 3));
	assert_string_equal(b.data, "abc");
	buf_free(&b);
}

static void reserve_and_commit(void **state)
{
	struct buf b = BUF_INIT(100);
	char *to;

	(void)state;
	to = buf_reserve(&b, 80);
	assert_non_null(to);
	assert_string_equal(b.data, ""); /* a string before anything is committed */
	to[0] = 'h';
	to[1] = 'i';
	buf_commit(&b, 2);
	assert_string_equal(b.data, "hi");
	buf_commit(&b, 0);
	assert_int_equal(b.len, 2);
	buf_free(&b);
}

static void consume_and_truncate(void **state)
{
	struct buf b = BUF_INIT(100);

	(void)state;
	buf_puts(&b, "header\nbody");
	buf_consume(&b, 7);
	assert_string_equal(b.data, "body");
	buf_truncate(&b, 2);
	assert_string_equal(b.data, "bo");
	buf_consume(&b, 2);
	assert_string_equal(b.data, "");
	buf_free(&b);
}

static void detach_hands_over(void **state)
{
	struct buf b = BUF_INIT(100);
	size_t len = 99;
	char *s;

	(void)state;
	s = buf_detach(&b, &len);
	assert_string_equal(s, "");
	assert_int_equal(len, 0);
	free(s);
	buf_append(&b, "a\0b", 3);
	s = buf_detach(&b, &len);
	assert_int_equal(len, 3);
	assert_memory_equal(s, "a\0b", 4);
	free(s);
	assert_null(b.data);
	assert_int_equal(b.max, 100);
	buf_puts(&b, "again");
	s = buf_detach(&b, NULL);
	assert_string_equal(s, "again");
	free(s);
}

static void many_small_appends_move_seldom(void **state)
{
	struct buf b = BUF_INIT(1 << 20);
	size_t moves = 0;

	(void)state;
	for (size_t i = 0; i < 1 << 20; i++) {
		size_t cap = b.cap;

		assert_int_equal(buf_putc(&b, (char)('a' + i % 26)), 0);
		moves += b.cap != cap;
	}
	assert_int_equal(b.len, 1 << 20);
	assert_in_range(moves, 1, 20);
	assert_int_equal(buf_putc(&b, 'x'), -EFBIG);
	buf_free(&b);
}

static void arena_aligns_and_bounds(void **state)
{
	struct arena a;
	char *p;

	(void)state;
	arena_init(&a, 64);
	p = arena_alloc(&a, 1);
	assert_non_null(p);
	assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
	p = arena_alloc(&a, 1);
	assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
	assert_null(arena_alloc(&a, 64));
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_null(arena_alloc(&a, SIZE_MAX - 7));
	assert_non_null(arena_alloc(&a, 32));
	assert_null(arena_alloc(&a, 1));
	arena_free(&a);
	assert_non_null(arena_alloc(&a, 64));
	arena_free(&a);
}

static void arena_copies(void **state)
{
	struct arena a;
	char *s;

	(void)state;
	arena_init(&a, 20000);
	s = arena_strndup(&a, "abcdef", 3);
	assert_string_equal(s, "abc");
	assert_string_equal(arena_span_dup(&a, SPAN_NONE), "");
	assert_string_equal(arena_printf(&a, "%d %s", 12, "x"), "12 x");
	memset(arena_alloc(&a, 10000), 'x', 10000); /* a block of its own */
	memset(arena_alloc(&a, 100), 'y', 100);
	assert_string_equal(s, "abc");
	assert_null(arena_printf(&a, "%20000d", 1));
	assert_null(arena_strndup(&a, s, 20000));
	arena_free(&a);
	arena_free(&a);
}

static void alloc_never_answers_null(void **state)
{
	char *s;

	(void)state;
	s = xmalloc(0);
	assert_non_null(s);
	s = xrealloc(s, 0);
	assert_non_null(s);
	free(s);
	s = xcalloc(0, 8);
	assert_non_null(s);
	free(s);
	s = xcalloc(3, 2);
	assert_memory_equal(s, "\0\0\0\0\0\0", 6);
	free(s);
	s = xstrndup("a\0bc", 3);
	assert_memory_equal(s, "a\0b", 4);
	free(s);
	s = xstrdup("whole");
	assert_string_equal(s, "whole");
	free(s);
	s = xasprintf("%s/%d", "x", 1);
	assert_string_equal(s, "x/1");
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_empty),
		cmocka_unit_test(appends_and_terminates),
		cmocka_unit_test(an_empty_append_makes_a_string),
		cmocka_unit_test(the_ceiling_is_exact),
		cmocka_unit_test(every_way_to_append_refuses),
		cmocka_unit_test(the_error_sticks),
		cmocka_unit_test(free_forgets_the_error),
		cmocka_unit_test(no_ceiling_does_not_overflow),
		cmocka_unit_test(reserve_and_commit),
		cmocka_unit_test(consume_and_truncate),
		cmocka_unit_test(detach_hands_over),
		cmocka_unit_test(many_small_appends_move_seldom),
		cmocka_unit_test(arena_aligns_and_bounds),
		cmocka_unit_test(arena_copies),
		cmocka_unit_test(alloc_never_answers_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
