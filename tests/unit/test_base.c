/*
 * test_base.c - spans, UTF-8, lists, maps: what everything else stands on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/list.h"
#include "base/map.h"
#include "base/span.h"
#include "base/utf8.h"

/* ---- spans --------------------------------------------------------------------- */

static void span_absent_is_not_empty(void **state)
{
	(void)state;
	assert_true(span_absent(SPAN_NONE));
	assert_true(span_absent(span_str(NULL)));
	assert_false(span_absent(SPAN_LIT("")));
	assert_true(span_eq(SPAN_NONE, SPAN_LIT("")));
	assert_true(span_is(SPAN_LIT(""), ""));
	assert_false(span_is(SPAN_NONE, ""));
	assert_false(span_starts(SPAN_NONE, ""));
	assert_true(span_starts(SPAN_LIT(""), ""));
}

static void span_compares(void **state)
{
	(void)state;
	assert_true(span_starts(SPAN_LIT("abc"), "ab"));
	assert_false(span_starts(SPAN_LIT("a"), "ab"));
	assert_true(span_eq(SPAN_LIT("a\0b"), SPAN_LIT("a\0b")));
	assert_false(span_eq(SPAN_LIT("a\0b"), SPAN_LIT("a\0c")));
	assert_true(span_ieq(SPAN_LIT("Content-Type"), SPAN_LIT("content-tYPE")));
	assert_false(span_ieq(SPAN_LIT("a\0b"), SPAN_LIT("a\0c"))); /* not stopped by a NUL */
	assert_false(span_ieq(SPAN_LIT("a"), SPAN_LIT("ab")));
	assert_false(span_ieq(SPAN_LIT("["), SPAN_LIT("{"))); /* 0x20 apart, no letters */
	assert_true(span_ieq(SPAN_NONE, SPAN_NONE));
}

static void span_cuts(void **state)
{
	struct span rest = SPAN_LIT("a,,b");

	(void)state;
	assert_true(span_is(span_cut(&rest, ','), "a"));
	assert_true(span_is(span_cut(&rest, ','), ""));
	assert_true(span_is(rest, "b"));
	assert_true(span_is(span_cut(&rest, ','), "b"));
	assert_true(span_absent(rest));
	assert_true(span_absent(span_cut(&rest, ',')));
	rest = SPAN_LIT("x,");
	assert_true(span_is(span_cut(&rest, ','), "x"));
	assert_true(span_is(rest, "")); /* there was a separator: an empty field follows */
}

static void span_trims(void **state)
{
	(void)state;
	assert_true(span_is(span_trim(SPAN_LIT(" \t\r\n a b \n")), "a b"));
	assert_true(span_is(span_trim(SPAN_LIT("   ")), ""));
	assert_true(span_absent(span_trim(SPAN_NONE)));
	assert_true(span_is(span_trim(SPAN_LIT("\vx")), "\vx"));
}

static void span_reads_numbers(void **state)
{
	unsigned long long n = 77;

	(void)state;
	assert_int_equal(span_u64(SPAN_LIT("0"), &n), 0);
	assert_true(n == 0);
	assert_int_equal(span_u64(SPAN_LIT("18446744073709551615"), &n), 0);
	assert_true(n == ULLONG_MAX);
	n = 77;
	assert_int_equal(span_u64(SPAN_LIT("18446744073709551616"), &n), -ERANGE);
	assert_int_equal(span_u64(SPAN_LIT("99999999999999999999999"), &n), -ERANGE);
	assert_int_equal(span_u64(SPAN_LIT("99999999999999999999999x"), &n), -EINVAL);
	assert_int_equal(span_u64(SPAN_LIT(""), &n), -EINVAL);
	assert_int_equal(span_u64(SPAN_NONE, &n), -EINVAL);
	assert_int_equal(span_u64(SPAN_LIT("-1"), &n), -EINVAL);
	assert_int_equal(span_u64(SPAN_LIT("+1"), &n), -EINVAL);
	assert_int_equal(span_u64(SPAN_LIT(" 1"), &n), -EINVAL);
	assert_int_equal(span_u64(SPAN_LIT("1\0"), &n), -EINVAL);
	assert_int_equal(span_u64(SPAN_LIT("\xb2"), &n), -EINVAL);
	assert_true(n == 77); /* never touched by a failure */
}

/* ---- UTF-8 ---------------------------------------------------------------------- */

static void utf8_every_scalar_round_trips(void **state)
{
	(void)state;
	for (uint32_t cp = 0; cp <= 0x10ffff; cp++) {
		char text[4];
		uint32_t back = UINT32_MAX;
		size_t n;

		if (cp == 0xd800)
			cp = 0xe000;
		n = utf8_encode(cp, text);
		if (utf8_decode(span_of(text, n), &back) != n || back != cp)
			fail_msg("U+%04x", (unsigned)cp);
		for (size_t cut = 1; cut < n; cut++)
			assert_int_equal(utf8_decode(span_of(text, cut), &back), 0);
	}
}

static void utf8_refuses(void **state)
{
	static const char *const bad[] = {
		"\x80", /* a continuation alone */
		"\xc0\x80",
		"\xc1\xbf", /* overlong, two bytes */
		"\xe0\x80\x80",
		"\xe0\x9f\xbf", /* overlong, three */
		"\xf0\x80\x80\x80",
		"\xf0\x8f\xbf\xbf", /* overlong, four */
		"\xed\xa0\x80",
		"\xed\xbf\xbf", /* surrogates */
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80", /* above U+10FFFF */
		"\xfe",
		"\xff",
		"\xc3\x28",
		"\xe4\xb8\x28",
		"\xf0\x9f\x98\x28",
	};
	uint32_t cp = 77;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char text[32];

		assert_int_equal(utf8_decode(span_str(bad[i]), &cp), 0);
		for (size_t before = 0; before < 12; before++) {
			int n = snprintf(text, sizeof(text), "%.*s%s!", (int)before,
					 "abcdefghijklm", bad[i]);

			assert_int_equal(utf8_valid_len(span_of(text, (size_t)n)), before);
		}
	}
}

static void utf8_valid_prefix(void **state)
{
	(void)state;
	assert_int_equal(utf8_valid_len(SPAN_NONE), 0);
	assert_int_equal(utf8_valid_len(SPAN_LIT("a\0b")), 3);
	assert_int_equal(utf8_valid_len(SPAN_LIT("caf\xc3\xa9 12345678 \xf0\x9f\x98\x80")), 19);
	assert_int_equal(utf8_valid_len(SPAN_LIT("12345678\xf0\x9f\x98")), 8); /* not whole */
}

/* ---- lists ----------------------------------------------------------------------- */

struct item {
	int n;
	struct list link;
};

static void list_keeps_order(void **state)
{
	struct list head;
	struct item items[4] = { { .n = 0 }, { .n = 1 }, { .n = 2 }, { .n = 3 } };
	int expected = 0;

	(void)state;
	list_init(&head);
	assert_true(list_empty(&head));
	assert_null(list_first(&head, struct item, link));
	for (int i = 1; i < 4; i++)
		list_push(&head, &items[i].link);
	list_push_front(&head, &items[0].link);
	assert_int_equal(list_first(&head, struct item, link)->n, 0);
	list_each(&head, it, tmp) {
		assert_int_equal(list_entry(it, struct item, link)->n, expected++);
		list_del(it);
		list_del(it); /* harmless */
	}
	assert_int_equal(expected, 4);
	assert_true(list_empty(&head));
}

/* ---- maps ------------------------------------------------------------------------ */

static struct span key_of(char *text, size_t size, unsigned n)
{
	return span_of(text, (size_t)snprintf(text, size, "key-%u", n));
}

static void map_puts_and_gets(void **state)
{
	struct map *m = map_new();
	int a = 1;
	int b = 2;

	(void)state;
	assert_int_equal(map_len(m), 0);
	assert_null(map_get(m, SPAN_LIT("x")));
	assert_null(map_del(m, SPAN_LIT("x")));
	assert_null(map_put(m, SPAN_LIT("x"), &a));
	assert_ptr_equal(map_put(m, SPAN_LIT("x"), &b), &a);
	assert_ptr_equal(map_get(m, SPAN_LIT("x")), &b);
	assert_int_equal(map_len(m), 1);
	assert_null(map_put(m, SPAN_NONE, &a)); /* an empty key is a key */
	assert_ptr_equal(map_get(m, SPAN_LIT("")), &a);
	assert_null(map_put(m, SPAN_LIT("a\0b"), &a));
	assert_null(map_get(m, SPAN_LIT("a\0c")));
	assert_null(map_get(m, SPAN_LIT("a")));
	assert_ptr_equal(map_del(m, SPAN_LIT("a\0b")), &a);
	assert_null(map_get(m, SPAN_LIT("a\0b")));
	map_free(m);
	map_free(NULL);
}

static void map_copies_its_keys(void **state)
{
	struct map *m = map_new();
	char key[] = "name";
	int a;

	(void)state;
	map_put(m, span_str(key), &a);
	key[0] = 'X';
	assert_ptr_equal(map_get(m, SPAN_LIT("name")), &a);
	assert_null(map_get(m, span_str(key)));
	map_free(m);
}

static void map_walks_in_order(void **state)
{
	struct map *m = map_new();
	static unsigned values[1000];
	char text[32];
	size_t place = 0;
	unsigned seen = 0;
	unsigned *v;
	struct span key;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		values[i] = i;
		map_put(m, key_of(text, sizeof(text), i), &values[i]);
	}
	for (unsigned i = 1; i < 1000; i += 2)
		assert_ptr_equal(map_del(m, key_of(text, sizeof(text), i)), &values[i]);
	assert_int_equal(map_len(m), 500);
	map_put(m, SPAN_LIT("key-0"), &values[0]); /* keeps its place */
	while ((v = map_next(m, &place, &key)) != NULL) {
		assert_int_equal(*v, seen);
		assert_true(span_eq(key, key_of(text, sizeof(text), seen)));
		map_del(m, key); /* the one just returned */
		seen += 2;
	}
	assert_int_equal(seen, 1000);
	assert_int_equal(map_len(m), 0);
	place = 0;
	assert_null(map_next(m, &place, NULL));
	map_free(m);
}

/* Coming and going for ever must neither grow the map nor lose anything. */
static void map_survives_churn(void **state)
{
	struct map *m = map_new();
	static char present[64];
	unsigned x = 12345;
	size_t len = 0;
	char text[32];

	(void)state;
	for (int i = 0; i < 200000; i++) {
		unsigned k;
		struct span key;

		x = x * 1103515245 + 12345;
		k = x >> 16 & 63;
		key = key_of(text, sizeof(text), k);
		assert_int_equal(map_get(m, key) != NULL, present[k]);
		if (present[k]) {
			assert_ptr_equal(map_del(m, key), &present[k]);
			len--;
		} else {
			assert_null(map_put(m, key, &present[k]));
			len++;
		}
		present[k] = !present[k];
		assert_int_equal(map_len(m), len);
	}
	map_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(span_absent_is_not_empty),
		cmocka_unit_test(span_compares),
		cmocka_unit_test(span_cuts),
		cmocka_unit_test(span_trims),
		cmocka_unit_test(span_reads_numbers),
		cmocka_unit_test(utf8_every_scalar_round_trips),
		cmocka_unit_test(utf8_refuses),
		cmocka_unit_test(utf8_valid_prefix),
		cmocka_unit_test(list_keeps_order),
		cmocka_unit_test(map_puts_and_gets),
		cmocka_unit_test(map_copies_its_keys),
		cmocka_unit_test(map_walks_in_order),
		cmocka_unit_test(map_survives_churn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
