/*
 * test_json_emit.c - what leaves is strict, one line, ASCII; and whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "json/emit.h"
#include "json/scan.h"

#define BIG (1 << 20)

/* ---- values ------------------------------------------------------------------------- */

static void copies_values(void **state)
{
	static const struct {
		struct span in;
		const char *compact;
		const char *spaced; /* NULL: the same */
	} rows[] = {
		{ SPAN_LIT("null"), "null", NULL },
		{ SPAN_LIT(" \r\n\ttrue "), "true", NULL },
		{ SPAN_LIT("[ ]"), "[]", NULL },
		{ SPAN_LIT("{\n}"), "{}", NULL },
		{ SPAN_LIT("[1,2 ,\n3]"), "[1,2,3]", "[1, 2, 3]" },
		{ SPAN_LIT("{\"a\":1,\"b\" : [ {} , [] ]}"), "{\"a\":1,\"b\":[{},[]]}",
		  "{\"a\": 1, \"b\": [{}, []]}" },
		{ SPAN_LIT("{\"a\":1,\"a\":2}"), "{\"a\":1,\"a\":2}", "{\"a\": 1, \"a\": 2}" },
		/* digits are kept */
		{ SPAN_LIT("9007199254740993"), "9007199254740993", NULL },
		{ SPAN_LIT("-1.50E+0400"), "-1.50E+0400", NULL },
		{ SPAN_LIT("1180591620717411303424"), "1180591620717411303424", NULL },
		/* what is no JSON */
		{ SPAN_LIT("NaN"), "null", NULL },
		{ SPAN_LIT("[NaN,-Infinity,Infinity]"), "[null,null,null]", "[null, null, null]" },
		{ SPAN_LIT("{\"a\":{\"b\":[NaN]},\"NaN\":\"NaN\"}"),
		  "{\"a\":{\"b\":[null]},\"NaN\":\"NaN\"}",
		  "{\"a\": {\"b\": [null]}, \"NaN\": \"NaN\"}" },
		/* separators inside strings are text */
		{ SPAN_LIT("{\"a,b\":\"c: d\"}"), "{\"a,b\":\"c: d\"}", "{\"a,b\": \"c: d\"}" },
		/* characters */
		{ SPAN_LIT("\"caf\xc3\xa9\""), "\"caf\\u00e9\"", NULL },
		{ SPAN_LIT("\"\xe2\x80\xa8\xe2\x80\xa9\xc2\x85\""), "\"\\u2028\\u2029\\u0085\"",
		  NULL },
		{ SPAN_LIT("\"\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\""),
		  "\"\\ud83d\\ude00\\udbff\\udfff\"", NULL },
		{ SPAN_LIT("\"\xef\xbf\xbf\xee\x80\x80\""), "\"\\uffff\\ue000\"", NULL },
		{ SPAN_LIT("\"\x7f/\""), "\"\x7f/\"", NULL },
		{ SPAN_LIT("{\"\xe4\xb8\xad\":0}"), "{\"\\u4e2d\":0}", "{\"\\u4e2d\": 0}" },
		/* escapes pass */
		{ SPAN_LIT("\"\\u00E9\\/\\\"\\n\\u0000\""), "\"\\u00E9\\/\\\"\\n\\u0000\"", NULL },
		{ SPAN_LIT("\"\\ud800 \\udc00\""), "\"\\ud800 \\udc00\"", NULL },
	};
	struct buf out = BUF_INIT(BIG);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_reset(&out);
		assert_int_equal(json_span_emit(&out, rows[i].in, 0), 0);
		assert_string_equal(out.data, rows[i].compact);
		buf_reset(&out);
		assert_int_equal(json_span_emit(&out, rows[i].in, JSON_SPACED), 0);
		assert_string_equal(out.data, rows[i].spaced ? rows[i].spaced : rows[i].compact);
		assert_int_equal(json_valid(buf_span(&out), JSON_STRICT, NULL, NULL), 0);
	}
	buf_free(&out);
}

static void long_text_in_every_position(void **state)
{
	struct buf in = BUF_INIT(BIG);
	struct buf want = BUF_INIT(BIG);
	struct buf out = BUF_INIT(BIG);

	(void)state;
	/* more than one stretch of non-ASCII, at every offset in a word of eight */
	for (size_t shift = 0; shift < 9; shift++) {
		buf_reset(&in);
		buf_reset(&want);
		buf_reset(&out);
		buf_printf(&in, "\"%.*s", (int)shift, "abcdefghi");
		buf_printf(&want, "\"%.*s", (int)shift, "abcdefghi");
		for (int i = 0; i < 150; i++) {
			buf_puts(&in, i % 3 ? "\xe4\xb8\xad" : "\xf0\x9f\x98\x80");
			buf_puts(&want, i % 3 ? "\\u4e2d" : "\\ud83d\\ude00");
		}
		buf_puts(&in, "z\"");
		buf_puts(&want, "z\"");
		assert_int_equal(json_span_emit(&out, buf_span(&in), 0), 0);
		assert_string_equal(out.data, want.data);
	}
	buf_free(&in);
	buf_free(&want);
	buf_free(&out);
}

static void refuses_and_leaves_no_trace(void **state)
{
	static const struct span bad[] = {
		SPAN_LIT(""),	     SPAN_LIT(" "),	    SPAN_LIT("["),
		SPAN_LIT("[1,]"),    SPAN_LIT("{\"a\"}"),   SPAN_LIT("{\"a\":}"),
		SPAN_LIT("\"ab"),    SPAN_LIT("\"a\nb\""),  SPAN_LIT("\"\xff\""),
		SPAN_LIT("\"\\x\""), SPAN_LIT("\"\\u00\""), SPAN_LIT("1 2"),
		SPAN_LIT("tru"),     SPAN_LIT("01"),	    SPAN_LIT("[1}"),
		SPAN_LIT("\"a\0\""), SPAN_LIT("-NaN"),	    SPAN_LIT("[\"\xed\xa0\x80\"]"),
	};
	struct buf out = BUF_INIT(BIG);

	(void)state;
	buf_puts(&out, "kept");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(json_span_emit(&out, bad[i], 0), -EINVAL);
		assert_int_equal(json_span_emit(&out, bad[i], JSON_SPACED), -EINVAL);
		assert_string_equal(out.data, "kept");
		assert_int_equal(buf_error(&out), 0);
	}
	assert_int_equal(json_span_emit(&out, SPAN_NONE, 0), -EINVAL);
	buf_free(&out);
}

static void nesting_has_a_limit(void **state)
{
	char text[2 * JSON_DEPTH_MAX + 2];
	struct buf out = BUF_INIT(BIG);

	(void)state;
	memset(text, '[', JSON_DEPTH_MAX);
	memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	assert_int_equal(json_span_emit(&out, span_of(text, 2 * JSON_DEPTH_MAX), 0), 0);
	assert_memory_equal(out.data, text, 2 * JSON_DEPTH_MAX);
	buf_reset(&out);
	memset(text, '[', sizeof(text));
	assert_int_equal(json_span_emit(&out, span_of(text, sizeof(text)), 0), -E2BIG);
	assert_int_equal(out.len, 0);
	buf_free(&out);
}

/* At every ceiling: the whole value, or nothing and -EFBIG. */
static void ceilings_are_obeyed(void **state)
{
	struct span in =
		SPAN_LIT("{\"k\xc3\xa9\": [1, \"\\n\xf0\x9f\x98\x80 abcdefgh\", NaN, {}]}");
	struct buf whole = BUF_INIT(BIG);

	(void)state;
	assert_int_equal(json_span_emit(&whole, in, JSON_SPACED), 0);
	for (size_t max = 0; max <= whole.len + 5; max++) {
		struct buf out = BUF_INIT(max);
		int r = json_span_emit(&out, in, JSON_SPACED);

		assert_int_equal(r, max < whole.len ? -EFBIG : 0);
		assert_int_equal(out.len, r == 0 ? whole.len : 0);
		assert_int_equal(buf_error(&out), 0); /* as it was */
		buf_free(&out);
	}
	buf_free(&whole);
}

static void an_old_error_stays(void **state)
{
	struct buf out = BUF_INIT(10);

	(void)state;
	buf_puts(&out, "0123456789a");
	assert_int_equal(json_span_emit(&out, SPAN_LIT("[1,2]"), 0), 0);
	assert_string_equal(out.data, "[1,2]");
	assert_int_equal(buf_error(&out), -EFBIG);
	buf_free(&out);
}

/* ---- text ----------------------------------------------------------------------------- */

static void quotes_text(void **state)
{
	static const struct {
		struct span in;
		const char *out;
	} rows[] = {
		{ SPAN_NONE, "\"\"" },
		{ SPAN_LIT(""), "\"\"" },
		{ SPAN_LIT("abc"), "\"abc\"" },
		{ SPAN_LIT("\"\\/"), "\"\\\"\\\\/\"" },
		{ SPAN_LIT("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"" },
		{ SPAN_LIT("a\0b\x01\x1f\x7f"), "\"a\\u0000b\\u0001\\u001f\x7f\"" },
		{ SPAN_LIT("caf\xc3\xa9\xe2\x80\xa8"), "\"caf\\u00e9\\u2028\"" },
		{ SPAN_LIT("\xf0\x9f\x98\x80"), "\"\\ud83d\\ude00\"" },
		{ SPAN_LIT("\xff"), "\"\\ufffd\"" },
		{ SPAN_LIT("a\xe4\xb8"), "\"a\\ufffd\\ufffd\"" },
		{ SPAN_LIT("\xed\xa0\x80z"), "\"\\ufffd\\ufffd\\ufffdz\"" },
		{ SPAN_LIT("\xc3\xa9\xff\xc3\xa9\n"), "\"\\u00e9\\ufffd\\u00e9\\n\"" },
		{ SPAN_LIT("12345678\xc0\x80"
			   "12345678"),
		  "\"12345678\\ufffd\\ufffd12345678\"" },
	};
	struct buf out = BUF_INIT(BIG);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_reset(&out);
		assert_int_equal(json_text_emit(&out, rows[i].in), 0);
		assert_string_equal(out.data, rows[i].out);
	}
	buf_free(&out);
}

static void text_has_a_ceiling(void **state)
{
	struct span in = SPAN_LIT("ab\n\xe4\xb8\xad\xff");

	(void)state;
	for (size_t max = 1; max < 20; max++) {
		struct buf out = BUF_INIT(max);

		buf_puts(&out, "x");
		assert_int_equal(json_text_emit(&out, in), max < 19 ? -EFBIG : 0);
		assert_int_equal(out.len, max < 19 ? 1 : 19);
		assert_int_equal(buf_error(&out), max < 19 ? -EFBIG : 0);
		buf_free(&out);
	}
}

/* ---- pieces ----------------------------------------------------------------------------- */

static uint32_t seed;

static uint32_t chance(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* A string value of some length, with everything a string may hold. */
static void random_string(struct buf *b, unsigned elements)
{
	static const char *const some[] = { "\\n",
					    "\\\"",
					    "\\\\",
					    "\\/",
					    "\\u0041",
					    "\\ud83d\\ude00",
					    "\\ud800",
					    "\\udc00",
					    "\\u2028",
					    "\xc3\xa9",
					    "\xe4\xb8\xad",
					    "\xf0\x9f\x98\x80",
					    "x",
					    "a longer run of plain text " };

	buf_putc(b, '"');
	while (elements-- > 0)
		buf_puts(b, some[chance(ARRAY_LEN(some))]);
	buf_putc(b, '"');
}

/* Pieces decoded and joined are the string decoded. Where a pair of surrogates
 * were cut, both halves would become U+FFFD. */
static void pieces_join_again(void **state)
{
	struct buf value = BUF_INIT(BIG);
	struct buf whole = BUF_INIT(BIG);
	struct buf joined = BUF_INIT(BIG);
	struct buf piece = BUF_INIT(BIG);

	(void)state;
	for (seed = 1; seed < 4096; seed++) {
		uint32_t start = seed;
		size_t max = 64 + chance(100);
		struct span rest;

		buf_reset(&value);
		buf_reset(&whole);
		buf_reset(&joined);
		random_string(&value, chance(60));
		rest = buf_span(&value);
		while (!span_absent(rest)) {
			buf_reset(&piece);
			assert_int_equal(json_string_piece(&piece, &rest, max), 0);
			assert_in_range(piece.len, 2, max);
			assert_int_equal(json_valid(buf_span(&piece), JSON_STRICT, NULL, NULL), 0);
			assert_int_equal(utf8_valid_len(buf_span(&piece)), piece.len);
			if (!span_absent(
				    rest)) /* no needlessly short ones: 12 is the longest atom */
				assert_in_range(piece.len, max - 11, max);
			json_string_decode(buf_span(&piece), JSON_LONE_REPLACE, &joined);
		}
		json_string_decode(buf_span(&value), JSON_LONE_REPLACE, &whole);
		if (!span_eq(buf_span(&joined), buf_span(&whole)))
			fail_msg("seed %u, max %zu: %s", (unsigned)start, max, value.data);
		seed = start;
	}
	buf_free(&value);
	buf_free(&whole);
	buf_free(&joined);
	buf_free(&piece);
}

static void one_piece_is_the_copy(void **state)
{
	struct span rest = SPAN_LIT("\"caf\xc3\xa9\\n\\ud83d\\ude00\"");
	struct buf out = BUF_INIT(BIG);

	(void)state;
	buf_puts(&out, "x");
	assert_int_equal(json_string_piece(&out, &rest, 64), 0);
	assert_true(span_absent(rest));
	assert_string_equal(out.data, "x\"caf\\u00e9\\n\\ud83d\\ude00\"");
	buf_reset(&out);
	rest = SPAN_LIT("\"\"");
	assert_int_equal(json_string_piece(&out, &rest, 64), 0);
	assert_true(span_absent(rest));
	assert_string_equal(out.data, "\"\"");
	buf_free(&out);
}

static void pieces_never_cut_a_pair(void **state)
{
	char text[200];

	(void)state;
	for (size_t before = 40; before < 64; before++) {
		struct span rest;
		struct buf out = BUF_INIT(1000);
		int n = snprintf(
			text, sizeof(text), "\"%.*s\\uD83D\\uDE00end\"", (int)before,
			"0123456789012345678901234567890123456789012345678901234567890123456789");

		rest = span_of(text, (size_t)n);
		assert_int_equal(json_string_piece(&out, &rest, 64), 0);
		if (before + 12 <= 62)
			assert_non_null(strstr(out.data, "\\uD83D\\uDE00"));
		else
			assert_null(strchr(out.data, '\\'));
		buf_free(&out);
	}
}

static void pieces_refuse(void **state)
{
	static const struct span bad[] = {
		SPAN_LIT(""),
		SPAN_LIT("\""),
		SPAN_LIT("a"),
		SPAN_LIT("\"a"),
		SPAN_LIT("\"a\\\""),
		SPAN_LIT("\"\\q\""),
		SPAN_LIT("\"\\u12\""),
		SPAN_LIT("\"\xff\""),
		SPAN_LIT("\"a\"b\""),
		SPAN_LIT("\"a\nb\""),
		SPAN_LIT("\"a\0\""),
		/* a quote just behind the cut */
		SPAN_LIT("\"01234567890123456789012345678901234567890123456789012345678901\"x\""),
	};
	struct buf out = BUF_INIT(BIG);

	(void)state;
	buf_puts(&out, "kept");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct span rest = bad[i];

		assert_int_equal(json_string_piece(&out, &rest, 64), -EINVAL);
		assert_true(span_absent(rest));
		assert_string_equal(out.data, "kept");
	}
	buf_free(&out);
}

static void pieces_have_a_ceiling(void **state)
{
	struct span rest = SPAN_LIT("\"abcdef\"");
	struct buf out = BUF_INIT(7);

	(void)state;
	assert_int_equal(json_string_piece(&out, &rest, 64), -EFBIG);
	assert_int_equal(out.len, 0);
	buf_free(&out);
}

/* Cutting must look at each byte about once, however short the pieces. */
static void many_pieces_are_linear(void **state)
{
	size_t len = 8 << 20;
	char *text = malloc(len);
	struct span rest = span_of(text, len);
	struct buf out = BUF_INIT(1000);
	size_t pieces = 0;

	(void)state;
	memset(text, 'x', len);
	text[0] = text[len - 1] = '"';
	for (; !span_absent(rest); pieces++) {
		buf_reset(&out);
		assert_int_equal(json_string_piece(&out, &rest, 64), 0);
	}
	assert_int_equal(pieces, (len - 2 + 61) / 62);
	buf_free(&out);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_values),
		cmocka_unit_test(long_text_in_every_position),
		cmocka_unit_test(refuses_and_leaves_no_trace),
		cmocka_unit_test(nesting_has_a_limit),
		cmocka_unit_test(ceilings_are_obeyed),
		cmocka_unit_test(an_old_error_stays),
		cmocka_unit_test(quotes_text),
		cmocka_unit_test(text_has_a_ceiling),
		cmocka_unit_test(pieces_join_again),
		cmocka_unit_test(one_piece_is_the_copy),
		cmocka_unit_test(pieces_never_cut_a_pair),
		cmocka_unit_test(pieces_refuse),
		cmocka_unit_test(pieces_have_a_ceiling),
		cmocka_unit_test(many_pieces_are_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
