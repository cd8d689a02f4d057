/*
 * test_record.c - the records, byte for byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "session/record.h"
#include "session/result.h"

struct fixture {
	struct outlog *log;
	struct outlog_cursor cursor;
	struct record_sink sink;
	struct buf out;
};

static int make(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->log = outlog_new();
	outlog_open(f->log, &f->cursor);
	record_sink_init(&f->sink, f->log, 1 << 20);
	buf_init(&f->out, SIZE_MAX);
	*state = f;
	return 0;
}

static int drop(void **state)
{
	struct fixture *f = *state;

	outlog_cursor_close(&f->cursor);
	outlog_free(f->log);
	buf_free(&f->out);
	free(f);
	return 0;
}

/* What was written since the last call. */
static const char *written(struct fixture *f)
{
	buf_reset(&f->out);
	buf_puts(&f->out, "");
	outlog_read(&f->cursor, &f->out, SIZE_MAX);
	return f->out.data ? f->out.data : "";
}

#define DATE SPAN_LIT("2026-11-30T21:20:45.910195Z")
#define STAMP "\"timestamp\": \"2026-11-30T21:20:45.910195+00:00\""

static void streams(void **state)
{
	struct fixture *f = *state;

	record_stream(&f->sink, RECORD_STDOUT, SPAN_LIT("\"h\xc3\xa9\xe2\x80\xa8\\n\""), DATE);
	assert_string_equal(written(f),
			    "{\"type\": \"stdout\", \"text\": \"h\\u00e9\\u2028\\n\", " STAMP
			    "}\n");
	record_stream(&f->sink, RECORD_STDERR, SPAN_LIT("\"e\""), DATE);
	assert_string_equal(written(f), "{\"type\": \"stderr\", \"text\": \"e\", " STAMP "}\n");
	record_stream(&f->sink, RECORD_STDOUT, SPAN_LIT("\"\""), DATE);
	record_stream(&f->sink, RECORD_STDOUT, SPAN_LIT("17"), DATE);
	assert_string_equal(written(f), "");
}

static void joins_what_nobody_has_read(void **state)
{
	struct fixture *f = *state;

	record_stream(&f->sink, RECORD_STDOUT, SPAN_LIT("\"a\\n\""), DATE);
	record_stream(&f->sink, RECORD_STDOUT, SPAN_LIT("\"b\\n\""),
		      SPAN_LIT("2026-11-30T21:20:46Z"));
	record_stream(&f->sink, RECORD_STDERR, SPAN_LIT("\"x\""), DATE);
	record_stream(&f->sink, RECORD_STDOUT, SPAN_LIT("\"c\""), DATE);
	assert_string_equal(written(f),
			    "{\"type\": \"stdout\", \"text\": \"a\\nb\\n\", " STAMP "}\n"
			    "{\"type\": \"stderr\", \"text\": \"x\", " STAMP "}\n"
			    "{\"type\": \"stdout\", \"text\": \"c\", " STAMP "}\n");
	record_stream(&f->sink, RECORD_STDOUT, SPAN_LIT("\"d\""), DATE);
	assert_string_equal(written(f), "{\"type\": \"stdout\", \"text\": \"d\", " STAMP "}\n");
}

static void what_is_no_utf8_is_replaced(void **state)
{
	struct fixture *f = *state;

	record_stream(&f->sink, RECORD_STDOUT, SPAN_LIT("\"a\xff\\nb\xe4\xb8\""), DATE);
	assert_string_equal(
		written(f),
		"{\"type\": \"stdout\", \"text\": \"a\\ufffd\\nb\\ufffd\\ufffd\", " STAMP "}\n");
}

static void a_result_between_keeps_the_order(void **state)
{
	struct fixture *f = *state;

	record_stream(&f->sink, RECORD_STDOUT, SPAN_LIT("\"a\""), DATE);
	record_result(&f->sink, SPAN_LIT("{\"text/plain\":\"2\"}"), true);
	record_stream(&f->sink, RECORD_STDOUT, SPAN_LIT("\"b\""), DATE);
	assert_string_equal(
		written(f),
		"{\"type\": \"stdout\", \"text\": \"a\", " STAMP "}\n"
		"{\"type\": \"result\", \"text\": \"2\", \"extra\": {}, \"is_main_result\": true}\n"
		"{\"type\": \"stdout\", \"text\": \"b\", " STAMP "}\n");
}

/* A long text becomes lines of at most 64 KiB, nothing lost, no pair cut. */
static void long_texts_are_split(void **state)
{
	struct fixture *f = *state;
	struct buf text = BUF_INIT(SIZE_MAX);
	const char *p;
	size_t emoji = 0;

	buf_putc(&text, '"');
	for (int i = 0; i < 50000; i++)
		buf_puts(&text, "\xf0\x9f\x98\x80");
	buf_putc(&text, '"');
	record_stream(&f->sink, RECORD_STDOUT, buf_span(&text), DATE);
	p = written(f);
	while (*p) {
		const char *nl = strchr(p, '\n');

		assert_non_null(nl);
		assert_true((size_t)(nl + 1 - p) <= RECORD_TEXT_MAX);
		assert_true(strncmp(p, "{\"type\": \"stdout\", \"text\": \"\\ud83d", 33) == 0);
		for (; p < nl; p++)
			emoji += strncmp(p, "\\ud83d\\ude00", 12) == 0;
		p = nl + 1;
	}
	assert_int_equal(emoji, 50000);
	buf_free(&text);
}

static void timestamps(void **state)
{
	static const struct {
		const char *date;
		const char *expect;
	} cases[] = {
		{ "2026-11-30T21:20:45.910195Z", "2026-11-30T21:20:45.910195+00:00" },
		{ "2026-11-30T21:20:45.000000Z", "2026-11-30T21:20:45+00:00" },
		{ "2026-11-30T21:20:45Z", "2026-11-30T21:20:45+00:00" },
		{ "2026-11-30T21:20:45.91", "2026-11-30T21:20:45.910000+00:00" },
		{ "2026-11-30T21:20:45.123456789Z", "2026-11-30T21:20:45.123456+00:00" },
		{ "2026-11-30T21:20:45.5+00:00", "2026-11-30T21:20:45.500000+00:00" },
	};
	struct buf b = BUF_INIT(100);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		buf_reset(&b);
		record_timestamp(&b, span_str(cases[i].date));
		assert_string_equal(b.data, cases[i].expect);
	}
	/* What is no date becomes now, in the same form. */
	buf_reset(&b);
	record_timestamp(&b, SPAN_LIT("yesterday\"}"));
	assert_int_equal(b.data[4], '-');
	assert_int_equal(b.data[10], 'T');
	assert_true(strcmp(b.data + b.len - 6, "+00:00") == 0);
	buf_free(&b);
}

static void result_fields_in_order(void **state)
{
	struct fixture *f = *state;

	record_result(
		&f->sink,
		SPAN_LIT(
			"{\"image/png\":\"QUJD\\n\",\"text/html\":\"<b>\","
			"\"x/y+json\":{\"b\":[1,2],"
			"\"a\":9007199254740993},\"text/plain\":\"t\",\"text/latex\":null,"
			"\"application/json\":[NaN,{\"k\":-Infinity}],\"e2b/chart\":{\"u\":null}}"),
		false);
	assert_string_equal(
		written(f),
		"{\"type\": \"result\", \"text\": \"t\", \"html\": \"<b>\", \"png\": \"QUJD\\n\", "
		"\"json\": [null, {\"k\": null}], \"chart\": {\"u\": null}, "
		"\"extra\": {\"x/y+json\": {\"b\": [1, 2], \"a\": 9007199254740993}}, "
		"\"is_main_result\": false}\n");
}

static void a_bad_bundle_costs_a_notice(void **state)
{
	struct fixture *f = *state;

	record_result(&f->sink, SPAN_LIT("{\"text/plain\":\"\xff\"}"), true);
	record_result(&f->sink, SPAN_LIT("[1]"), true);
	record_result(&f->sink, SPAN_NONE, true);
	assert_non_null(strstr(written(f),
			       "{\"type\": \"stderr\", \"text\": \"[nb2] an output was dropped"));
	assert_null(strstr(f->out.data, "result"));
}

static void unquotes(void **state)
{
	static const struct {
		const char *repr;
		const char *text; /* NULL: left alone */
	} cases[] = {
		{ "'abc'", "abc" },
		{ "\"it's\"", "it's" },
		{ "''", "" },
		{ "'a\\nb'", "a\nb" },
		{ "'\\x41\\u4e2d\\U0001f600'", "A\xe4\xb8\xad\xf0\x9f\x98\x80" },
		{ "'\\\\ \\' \\\" \\t'", "\\ ' \" \t" },
		{ "'a' + 'b'", NULL },
		{ "'a', 'b'", NULL },
		{ "'", NULL },
		{ "\"a'", NULL },
		{ "'a\\'", NULL },
		{ "'\\q'", NULL },
		{ "'\\ud800'", NULL },
		{ "'\\x4'", NULL },
		{ "'\\N{DASH}'", NULL },
		{ "b'a'", NULL },
		{ "42", NULL },
		{ "", NULL },
	};
	struct buf b = BUF_INIT(1000);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int r;

		buf_reset(&b);
		buf_puts(&b, "");
		r = result_unquote(span_str(cases[i].repr), &b);
		assert_int_equal(r, cases[i].text ? 0 : -EINVAL);
		if (cases[i].text)
			assert_string_equal(b.len ? b.data : "", cases[i].text);
	}
	buf_free(&b);
}

#define MAIN(text)                                                                                 \
	"{\"type\": \"result\", \"text\": \"" text "\", \"extra\": {}, \"is_main_result\": true}\n"

static void text_is_decoded_or_left(void **state)
{
	struct fixture *f = *state;

	record_result(&f->sink, SPAN_LIT("{\"text/plain\":\"'a\\\\nb'\"}"), true);
	record_result(&f->sink, SPAN_LIT("{\"text/plain\":\"'a' + 'b'\"}"), true);
	record_result(&f->sink, SPAN_LIT("{\"text/plain\":\"\\\"it's\\\"\"}"), true);
	assert_string_equal(
		written(f),
		MAIN("a\\nb")
		MAIN("'a' + 'b'")
		MAIN("it's"));
}

static void errors(void **state)
{
	struct fixture *f = *state;

	record_error(&f->sink, SPAN_LIT("\"ZeroDivisionError\""), SPAN_LIT("\"division by zero\""),
		     SPAN_LIT("[\"\\u001b[0;31mTraceback\\u001b[0m\",\"\\nline\"]"));
	record_error(&f->sink, SPAN_NONE, SPAN_LIT("\"1\""), SPAN_NONE);
	record_error_text(&f->sink, "WebSocketError", SPAN_LIT("it's \"gone\""));
	assert_string_equal(
		written(f),
		"{\"type\": \"error\", \"name\": \"ZeroDivisionError\", "
		"\"value\": \"division by zero\", "
		"\"traceback\": \"Traceback\\nline\"}\n"
		"{\"type\": \"error\", \"name\": \"\", \"value\": \"1\", \"traceback\": \"\"}\n"
		"{\"type\": \"error\", \"name\": \"WebSocketError\", "
		"\"value\": \"it's \\\"gone\\\"\", "
		"\"traceback\": \"\"}\n");
}

static void ansi(void **state)
{
	static const struct {
		const char *from;
		const char *to;
	} cases[] = {
		{ "plain", "plain" },
		{ "\033[1;31mred\033[0m", "red" },
		{ "\033]8;id=1;https://example.org\033\\docs\033]8;;\033\\ end", "docs end" },
		{ "\033]0;title\007x", "x" },
		{ "a\033", "a" },
		{ "a\033[", "a" },
		{ "a\033[1", "a" },
		{ "a\033]8;;", "a" },
		{ "a\033Mb", "ab" },
	};
	struct buf b = BUF_INIT(1000);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		buf_reset(&b);
		record_strip_ansi(span_str(cases[i].from), &b);
		assert_string_equal(b.data, cases[i].to);
	}
	buf_free(&b);
}

static void the_limit_gives_one_notice(void **state)
{
	struct fixture *f = *state;
	const char *all;

	record_sink_init(&f->sink, f->log, 10);
	record_stream(&f->sink, RECORD_STDOUT, SPAN_LIT("\"12345\""), DATE);
	record_stream(&f->sink, RECORD_STDOUT, SPAN_LIT("\"678901\""), DATE);
	record_stream(&f->sink, RECORD_STDOUT, SPAN_LIT("\"x\""), DATE);
	record_result(&f->sink, SPAN_LIT("{\"text/plain\":\"2\"}"), true);
	record_count(&f->sink, 7);
	record_error_text(&f->sink, "E", SPAN_LIT("v"));
	record_end(&f->sink);
	all = written(f);
	assert_true(strncmp(all, "{\"type\": \"stdout\", \"text\": \"12345\"", 34) == 0);
	assert_non_null(strstr(all, "output limit of 10 bytes reached"));
	assert_null(strstr(strstr(all, "output limit") + 1, "output limit"));
	assert_null(strstr(all, "result"));
	assert_null(strstr(all, "678901"));
	assert_non_null(strstr(all, "{\"type\": \"number_of_executions\", \"execution_count\": 7}\n"
				    "{\"type\": \"error\", \"name\": \"E\", \"value\": \"v\", "
				    "\"traceback\": \"\"}\n"
				    "{\"type\": \"end_of_execution\"}\n"));
	assert_true(outlog_closed(f->log));
}

static void updates(void **state)
{
	struct fixture *f = *state;

	record_update_display(&f->sink, SPAN_LIT("\"d1\""), SPAN_LIT("{\"text/plain\":\"b\"}"));
	record_clear_output(&f->sink, true);
	assert_string_equal(
		written(f),
		"{\"type\": \"update_display\", \"display_id\": \"d1\", \"text\": \"b\", "
		"\"extra\": {}}\n"
		"{\"type\": \"clear_output\", \"wait\": true}\n");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(streams),
		T(joins_what_nobody_has_read),
		T(what_is_no_utf8_is_replaced),
		T(a_result_between_keeps_the_order),
		T(long_texts_are_split),
		T(timestamps),
		T(result_fields_in_order),
		T(a_bad_bundle_costs_a_notice),
		T(unquotes),
		T(text_is_decoded_or_left),
		T(errors),
		T(ansi),
		T(the_limit_gives_one_notice),
		T(updates),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
