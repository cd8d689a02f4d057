/*
 * test_json_scan.c - what is JSON, and what stands in it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json/scan.h"

/* ---- validity ---------------------------------------------------------------------- */

static void takes_what_is_json(void **state)
{
	static const char *const good[] = {
		"null",
		"true",
		"false",
		"0",
		"-0",
		"-1.5e+10",
		"1E9",
		"0.001",
		"123456789012345678901234567890.0e-999",
		"\"\"",
		"\"a\"",
		"[]",
		"{}",
		" \t\r\n[ ] \n",
		"{\"a\":1,\"a\":2}",
		"[1,[2,[3]],{\"x\":[{}]}]",
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00Ff\"",
		"\"\\ud83d\\ude00\"",
		"\"\\ud800\"",
		"\"\\udc00\\ud800\"", /* lone surrogates */
		"\"caf\xc3\xa9\"",
		"\"\x7f\"",
		"\"\xe2\x80\xa8\"",
		"\"\xf4\x8f\xbf\xbf\"",
		"{\"\":{\"\":[]}}",
		"[{\"a\":1},[2,[3]],{\"a\":[1]},[{\"b\":2}]]", /* levels used again */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		if (json_valid(span_str(good[i]), JSON_STRICT, NULL, NULL) != 0)
			fail_msg("refused: %s", good[i]);
		assert_int_equal(json_valid(span_str(good[i]), 0, NULL, NULL), 0);
	}
}

/* Each with the offset of its fault. */
static const struct {
	const char *text;
	size_t at;
	const char *why;
} faults[] = {
	{ "", 0, "the text ends too early" },
	{ "  ", 2, "the text ends too early" },
	{ "[1", 2, "the text ends too early" },
	{ "[1,", 3, "the text ends too early" },
	{ "[1,]", 3, "a value is expected" },
	{ "[,1]", 1, "a value is expected" },
	{ "[1 2]", 3, "a comma or ] is expected" },
	{ "[1}", 2, "a comma or ] is expected" },
	{ "{\"a\":1]", 6, "a comma or } is expected" },
	{ "{1:2}", 1, "a member's name in double quotes is expected" },
	{ "{\"a\":1,}", 7, "a member's name in double quotes is expected" },
	{ "{", 1, "a member's name in double quotes is expected" },
	{ "{\"a\" 1}", 5, "a colon is expected" },
	{ "{\"a\"", 4, "a colon is expected" },
	{ "{\"a\":}", 5, "a value is expected" },
	{ "]", 0, "a value is expected" },
	{ "truE", 0, "a value is expected" },
	{ "nan", 0, "a value is expected" },
	{ "'a'", 0, "a value is expected" },
	{ "-", 0, "a value is expected" },
	{ "+1", 0, "a value is expected" },
	{ ".5", 0, "a value is expected" },
	{ "01", 0, "a value is expected" },
	{ "-01", 0, "a value is expected" },
	{ "1.", 0, "a value is expected" },
	{ "1e", 0, "a value is expected" },
	{ "1e+", 0, "a value is expected" },
	{ "1x", 1, "something follows the value" },
	{ "1 1", 2, "something follows the value" },
	{ "truetrue", 4, "something follows the value" },
	{ "[] // no", 3, "something follows the value" },
	{ "[\"ab", 1, "a string is not closed" },
	{ "\"ab\\\"", 0, "a string is not closed" },
	{ "\"a\nb\"", 2, "a control character in a string" },
	{ "\"\x1f\"", 1, "a control character in a string" },
	{ "\"a\\x41\"", 2, "a wrong escape in a string" },
	{ "\"\\u12g4\"", 1, "a wrong escape in a string" },
	{ "\"\\u12", 1, "a wrong escape in a string" },
	{ "\"\\", 1, "a wrong escape in a string" },
	{ "\"\\U0041\"", 1, "a wrong escape in a string" },
	{ "{\"\\q\":1}", 2, "a wrong escape in a string" },
	{ "\"ab\xff\"", 3, "not valid UTF-8" },
	{ "\"\xc0\x80\"", 1, "not valid UTF-8" },
	{ "\"\xed\xa0\x80\"", 1, "not valid UTF-8" },
	{ "\"\xf4\x90\x80\x80\"", 1, "not valid UTF-8" },
	{ "\"\xe4\xb8\"", 1, "not valid UTF-8" },
	{ "{\"k\xc3\":1}", 3, "not valid UTF-8" },
	{ "\xef\xbb\xbf{}", 0, "a value is expected" }, /* a byte order mark */
	{ "[\xc2\xa0]", 1, "a value is expected" },	/* no white space of JSON's */
};

static void refuses_and_says_where(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		const char *why = NULL;
		size_t at = 99;

		if (json_valid(span_str(faults[i].text), 0, &at, &why) != -EINVAL)
			fail_msg("taken: %s", faults[i].text);
		assert_string_equal(why, faults[i].why);
		assert_int_equal(at, faults[i].at);
	}
}

static void absent_and_nul(void **state)
{
	size_t at = 99;

	(void)state;
	assert_int_equal(json_valid(SPAN_NONE, 0, &at, NULL), -EINVAL);
	assert_int_equal(at, 0);
	assert_int_equal(json_valid(SPAN_LIT("\"a\0b\""), 0, &at, NULL), -EINVAL);
	assert_int_equal(at, 2);
	assert_int_equal(json_valid(SPAN_LIT("1\0"), 0, &at, NULL), -EINVAL);
	assert_int_equal(json_valid(SPAN_LIT("\"\\\0\""), 0, &at, NULL), -EINVAL);
	assert_int_equal(at, 1);
}

/* Each byte at each place of a string that is read eight bytes at a time. */
static void every_byte_everywhere(void **state)
{
	char text[34];

	(void)state;
	for (size_t place = 1; place <= 32; place++) {
		for (int byte = 0; byte < 256; byte++) {
			bool good = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
			size_t at = 99;

			memset(text, 'x', sizeof(text));
			text[0] = text[33] = '"';
			text[place] = (char)byte;
			if ((json_valid(span_of(text, 34), 0, &at, NULL) == 0) != good)
				fail_msg("byte %02x at %zu", (unsigned)byte, place);
			if (byte < 0x20 || byte >= 0x80)
				assert_int_equal(at, place);
		}
	}
}

static void strict_knows_no_nan(void **state)
{
	static const char *const texts[] = {
		"NaN",	    "Infinity",		  "-Infinity",
		"[1, NaN]", "{\"a\": -Infinity}", "[[{\"x\":Infinity}]]"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_int_equal(json_valid(span_str(texts[i]), 0, NULL, NULL), 0);
		assert_int_equal(json_valid(span_str(texts[i]), JSON_STRICT, NULL, NULL), -EINVAL);
	}
	assert_int_equal(json_valid(SPAN_LIT("-NaN"), 0, NULL, NULL), -EINVAL);
	assert_int_equal(json_valid(SPAN_LIT("+Infinity"), 0, NULL, NULL), -EINVAL);
	assert_int_equal(json_valid(SPAN_LIT("{NaN: 1}"), 0, NULL, NULL), -EINVAL);
	assert_int_equal(json_valid(SPAN_LIT("Infinit"), 0, NULL, NULL), -EINVAL);
}

static void nesting_has_a_limit(void **state)
{
	char text[2 * JSON_DEPTH_MAX + 3];
	const char *why = NULL;
	size_t at = 0;

	(void)state;
	memset(text, '[', JSON_DEPTH_MAX);
	memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	assert_int_equal(json_valid(span_of(text, 2 * JSON_DEPTH_MAX), 0, NULL, NULL), 0);
	memset(text, '[', JSON_DEPTH_MAX + 1);
	memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
	assert_int_equal(json_valid(span_of(text, 2 * JSON_DEPTH_MAX + 2), 0, &at, &why), -E2BIG);
	assert_int_equal(at, JSON_DEPTH_MAX);
	assert_string_equal(why, "nested too deep");
}

/* The bits of the stack: every mixture of arrays and objects has to close in
 * its own order. */
static void brackets_match(void **state)
{
	struct buf b = BUF_INIT(100000);
	unsigned x = 7;

	(void)state;
	for (int round = 0; round < 200; round++) {
		char closing[300];
		size_t depth = 0;

		buf_reset(&b);
		while (depth < 299) {
			bool object = (x = x * 1103515245 + 12345) >> 16 & 1;

			buf_puts(&b, object ? "{\"k\":" : "[");
			closing[depth++] = object ? '}' : ']';
		}
		buf_puts(&b, "1");
		while (depth > 0)
			buf_putc(&b, closing[--depth]);
		assert_int_equal(json_valid(buf_span(&b), 0, NULL, NULL), 0);
		depth = b.len - 1 - (x >> 16) % 299;
		b.data[depth] = b.data[depth] == '}' ? ']' : '}';
		assert_int_equal(json_valid(buf_span(&b), 0, NULL, NULL), -EINVAL);
	}
	buf_free(&b);
}

/* ---- reading -------------------------------------------------------------------------- */

static void types_by_the_first_byte(void **state)
{
	static const struct {
		const char *text;
		enum json_type type;
		const char *name;
	} rows[] = {
		{ "null", JSON_NULL, "null" },
		{ "true", JSON_BOOL, "boolean" },
		{ "false", JSON_BOOL, "boolean" },
		{ "-1", JSON_NUMBER, "number" },
		{ "9", JSON_NUMBER, "number" },
		{ "NaN", JSON_NUMBER, "number" },
		{ "Infinity", JSON_NUMBER, "number" },
		{ "\"\"", JSON_STRING, "string" },
		{ "[]", JSON_ARRAY, "array" },
		{ " {}", JSON_OBJECT, "object" },
		{ "", JSON_NONE, "none" },
		{ "x", JSON_NONE, "none" },
		{ "]", JSON_NONE, "none" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(json_type_of(span_str(rows[i].text)), rows[i].type);
		assert_string_equal(json_type_name(rows[i].type), rows[i].name);
	}
	assert_int_equal(json_type_of(SPAN_NONE), JSON_NONE);
	assert_int_equal(json_type_of(SPAN_LIT("\0")), JSON_NONE);
}

static void walks_objects_and_arrays(void **state)
{
	struct json_iter it;
	struct span key;
	struct span value;

	(void)state;
	json_iter_init(&it,
		       SPAN_LIT(" { \"a\" : [1, \"]\"] ,\n\"b\":\"x\\\\\" , \"c\\\"\":-1.0e5} "));
	assert_true(json_iter_next(&it, &key, &value));
	assert_true(span_is(key, "\"a\""));
	assert_true(span_is(value, "[1, \"]\"]"));
	assert_true(json_iter_next(&it, NULL, &value));
	assert_true(span_is(value, "\"x\\\\\""));
	assert_true(json_iter_next(&it, &key, &value));
	assert_true(span_is(key, "\"c\\\"\""));
	assert_true(span_is(value, "-1.0e5"));
	assert_false(json_iter_next(&it, &key, &value));
	assert_false(json_iter_next(&it, &key, &value));
	json_iter_init(&it, SPAN_LIT("[ {\"}\":1} ,null ]"));
	assert_true(json_iter_next(&it, &key, &value));
	assert_true(span_absent(key));
	assert_true(span_is(value, "{\"}\":1}"));
	assert_true(json_iter_next(&it, &key, &value));
	assert_true(span_is(value, "null"));
	assert_false(json_iter_next(&it, &key, &value));
}

static void nothing_to_walk(void **state)
{
	static const char *const texts[] = {
		"",	     " ",     "{}",   "[]",	 "[ ]",	    "1",	"\"[1]\"",
		"[",	     "{",     "[1",   "{1:2}",	 "{\"a\"}", "{\"a\":}", "[,1]",
		"{\"a\" 1}", "[\"a]", "[[1]", "{\"a:1}", "[1 2]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct json_iter it;
		struct span key;
		struct span value;

		json_iter_init(&it, span_str(texts[i]));
		if (json_iter_next(&it, &key, &value))
			fail_msg("found something in %s", texts[i]);
	}
}

static void gets_members(void **state)
{
	struct span o = SPAN_LIT("{\"m\\u0073g_id\": \"first\", \"x\": {\"y\": {\"z\": 3}}, "
				 "\"a\\u0000b\": 1, \"msg_id\": \"second\", \"\": 0}");

	(void)state;
	assert_true(span_is(json_get(o, "msg_id"), "\"second\"")); /* the last one counts */
	assert_true(span_is(json_path(o, "x.y.z"), "3"));
	assert_true(span_is(json_get(o, ""), "0"));
	assert_true(span_absent(json_get(o, "a")));
	assert_true(span_absent(json_get(o, "msg")));
	assert_true(span_absent(json_path(o, "x.q.z")));
	assert_true(span_absent(json_path(o, "msg_id.x")));
	assert_true(span_absent(json_get(SPAN_NONE, "x")));
	assert_true(span_absent(json_get(SPAN_LIT("[\"x\", 1]"), "x")));
	assert_true(span_is(json_get(SPAN_LIT("{\"\\u006dsg_id\":7}"), "msg_id"), "7"));
	assert_true(span_is(json_get(SPAN_LIT("{\"\\u00e9\":7}"), "\xc3\xa9"), "7"));
	assert_true(span_is(json_get(SPAN_LIT("{\"\\ud83d\\ude00\":7}"), "\xf0\x9f\x98\x80"), "7"));
	assert_true(span_absent(json_get(SPAN_LIT("{\"\\ud83d\":7}"), "\xed\xa0\xbd")));
}

/* A reader on any prefix of a text finds something inside it, or nothing. */
static void reads_what_is_broken(void **state)
{
	static const char text[] =
		"{\"a\":{\"b\":[1,{\"c\":\"x\\\"y\"},\"\\ud83d\\ude00\"]},\"d\":-1.5}";

	(void)state;
	for (size_t n = 0; n < sizeof(text); n++) {
		char *copy = malloc(n ? n : 1); /* the sanitizer watches its end */
		struct span s = span_of(copy, n);
		struct span found;

		memcpy(copy, text, n);
		found = json_get(s, "a");
		if (!span_absent(found))
			assert_true(found.ptr >= copy && found.ptr + found.len <= copy + n);
		json_path(s, "a.b.c");
		assert_int_equal(json_valid(s, 0, NULL, NULL) == 0, n == sizeof(text) - 1);
		free(copy);
	}
}

/* ---- strings --------------------------------------------------------------------------- */

static void decodes(void **state)
{
	static const struct {
		struct span value;
		struct span text;
	} rows[] = {
		{ SPAN_LIT("\"\""), SPAN_LIT("") },
		{ SPAN_LIT(" \"a\" "), SPAN_LIT("a") },
		{ SPAN_LIT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), SPAN_LIT("\"\\/\b\f\n\r\t") },
		{ SPAN_LIT("\"a\\u0000b\""), SPAN_LIT("a\0b") },
		{ SPAN_LIT("\"\\u0041\\u00e9\\u4E2d\""), SPAN_LIT("A\xc3\xa9\xe4\xb8\xad") },
		{ SPAN_LIT("\"\\ud83d\\ude00\""), SPAN_LIT("\xf0\x9f\x98\x80") },
		{ SPAN_LIT("\"\\uDBFF\\uDFFF\""), SPAN_LIT("\xf4\x8f\xbf\xbf") },
		{ SPAN_LIT("\"\xf0\x9f\x98\x80\xc3\xa9\""), SPAN_LIT("\xf0\x9f\x98\x80\xc3\xa9") },
		{ SPAN_LIT("\"\\\\u0041\""), SPAN_LIT("\\u0041") },
	};
	struct buf out = BUF_INIT(1000);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_reset(&out);
		assert_int_equal(json_string_decode(rows[i].value, 0, &out), 0);
		assert_true(span_eq(buf_span(&out), rows[i].text));
	}
	buf_free(&out);
}

static void decode_refuses(void **state)
{
	static const char *const bad[] = { "",		 "\"",	     "a",	 "1",
					   "null",	 "\"a\"b\"", "\"\\\"",	 "\"\\u12\"",
					   "\"\\q\"",	 "\"a\nb\"", "\"\xff\"", "[\"a\"]",
					   "\"a\",\"b\"" };
	struct buf out = BUF_INIT(1000);

	(void)state;
	buf_puts(&out, "kept");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(json_string_decode(span_str(bad[i]), 0, &out), -EINVAL);
		assert_int_equal(json_string_decode(span_str(bad[i]), JSON_LONE_REPLACE, &out),
				 -EINVAL);
	}
	assert_string_equal(out.data, "kept");
	assert_int_equal(json_string_decode(SPAN_NONE, 0, &out), -EINVAL);
	buf_free(&out);
}

static void lone_surrogates(void **state)
{
	static const char *const rows[][2] = {
		{ "\"x\\ud800\"", "x\xef\xbf\xbd" },
		{ "\"x\\udc00\"", "x\xef\xbf\xbd" },
		{ "\"x\\ud800y\"", "x\xef\xbf\xbdy" },
		{ "\"x\\udc00\\ud800\"", "x\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\"x\\ud800\\ud800\"", "x\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\"x\\ud800\\u005a\"", "x\xef\xbf\xbdZ" },
	};
	struct buf out = BUF_INIT(1000);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_reset(&out);
		assert_int_equal(json_string_decode(span_str(rows[i][0]), 0, &out), -EILSEQ);
		assert_int_equal(out.len, 0);
		assert_int_equal(json_string_decode(span_str(rows[i][0]), JSON_LONE_REPLACE, &out),
				 0);
		assert_string_equal(out.data, rows[i][1]);
	}
	buf_free(&out);
}

static void decode_has_a_ceiling(void **state)
{
	struct buf out = BUF_INIT(5);

	(void)state;
	assert_int_equal(json_string_decode(SPAN_LIT("\"12345\""), 0, &out), 0);
	buf_reset(&out);
	buf_puts(&out, "a");
	assert_int_equal(json_string_decode(SPAN_LIT("\"12\\u4e2d\""), 0, &out), -EFBIG);
	assert_string_equal(out.data, "a");
	buf_free(&out);
}

static void compares_and_borrows(void **state)
{
	struct span plain = SPAN_LIT("\"abc-1\"");

	(void)state;
	assert_true(json_string_is(plain, "abc-1"));
	assert_false(json_string_is(plain, "abc-"));
	assert_false(json_string_is(plain, "abc-12"));
	assert_true(json_string_is(SPAN_LIT("\"\""), ""));
	assert_true(json_string_is(SPAN_LIT("\"\\u0061\\t\""), "a\t"));
	assert_false(json_string_is(SPAN_LIT("\"\\u0061\\u0000\""), "a"));
	assert_false(json_string_is(SPAN_LIT("\"\\ud800\""), "\xef\xbf\xbd"));
	assert_false(json_string_is(SPAN_LIT("abc"), "abc"));
	assert_false(json_string_is(SPAN_NONE, ""));
	assert_true(span_is(json_plain(plain), "abc-1"));
	assert_ptr_equal(json_plain(plain).ptr, plain.ptr + 1);
	assert_true(span_is(json_plain(SPAN_LIT("\"\"")), ""));
	assert_false(span_absent(json_plain(SPAN_LIT("\"\""))));
	assert_true(span_absent(json_plain(SPAN_LIT("\"a\\n\""))));
	assert_true(span_absent(json_plain(SPAN_LIT("\"caf\xc3\xa9\""))));
	assert_true(span_absent(json_plain(SPAN_LIT("\"a\"b\""))));
	assert_true(span_absent(json_plain(SPAN_LIT("\"a\nb\""))));
	assert_true(span_absent(json_plain(SPAN_LIT("12"))));
	assert_true(span_absent(json_plain(SPAN_NONE)));
}

/* ---- scalars ---------------------------------------------------------------------------- */

static void integers(void **state)
{
	static const struct {
		const char *text;
		int r;
		int64_t n;
	} rows[] = {
		{ "0", 0, 0 },
		{ "-0", 0, 0 },
		{ " 42 ", 0, 42 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "-9223372036854775808", 0, INT64_MIN },
		{ "-9223372036854775807", 0, -INT64_MAX },
		{ "9223372036854775808", -ERANGE, 0 },
		{ "-9223372036854775809", -ERANGE, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999999", -ERANGE, 0 },
		{ "99999999999999999999999999.5", -EINVAL, 0 },
		{ "1.0", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "01", -EINVAL, 0 },
		{ "-", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ "1 2", -EINVAL, 0 },
		{ "NaN", -EINVAL, 0 },
		{ "\"1\"", -EINVAL, 0 },
		{ "true", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t n = 77;

		assert_int_equal(json_int(span_str(rows[i].text), &n), rows[i].r);
		assert_true(n == (rows[i].r == 0 ? rows[i].n : 77));
	}
}

static void booleans(void **state)
{
	bool b = false;

	(void)state;
	assert_int_equal(json_bool(SPAN_LIT("true"), &b), 0);
	assert_true(b);
	assert_int_equal(json_bool(SPAN_LIT("True"), &b), -EINVAL);
	assert_int_equal(json_bool(SPAN_LIT("\"false\""), &b), -EINVAL);
	assert_int_equal(json_bool(SPAN_LIT("0"), &b), -EINVAL);
	assert_int_equal(json_bool(SPAN_NONE, &b), -EINVAL);
	assert_true(b);
	assert_int_equal(json_bool(SPAN_LIT(" false"), &b), 0);
	assert_false(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_what_is_json),
		cmocka_unit_test(refuses_and_says_where),
		cmocka_unit_test(absent_and_nul),
		cmocka_unit_test(every_byte_everywhere),
		cmocka_unit_test(strict_knows_no_nan),
		cmocka_unit_test(nesting_has_a_limit),
		cmocka_unit_test(brackets_match),
		cmocka_unit_test(types_by_the_first_byte),
		cmocka_unit_test(walks_objects_and_arrays),
		cmocka_unit_test(nothing_to_walk),
		cmocka_unit_test(gets_members),
		cmocka_unit_test(reads_what_is_broken),
		cmocka_unit_test(decodes),
		cmocka_unit_test(decode_refuses),
		cmocka_unit_test(lone_surrogates),
		cmocka_unit_test(decode_has_a_ceiling),
		cmocka_unit_test(compares_and_borrows),
		cmocka_unit_test(integers),
		cmocka_unit_test(booleans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
