/*
 * test_jupyter.c - frames of both kinds: whole, cut, and lying.
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
#include "jupyter/message.h"

#define BIG (1 << 20)
#define HEADER                                                                                     \
	"{\"msg_id\": \"m-1\", \"msg_type\": \"stream\", \"date\": \"2026-11-30T21:20:45.910195Z\"}"
#define PARENT "{\"msg_id\": \"p-1\", \"session\": \"s\"}"
#define CONTENT "{\"name\": \"stdout\", \"text\": \"caf\xc3\xa9\"}"

static void le64_append(struct buf *b, uint64_t n)
{
	for (int i = 0; i < 8; i++)
		buf_putc(b, (char)(n >> (8 * i)));
}

static void be32_append(struct buf *b, uint32_t n)
{
	for (int i = 3; i >= 0; i--)
		buf_putc(b, (char)(n >> (8 * i)));
}

/* A v1 frame of any parts. */
static void v1_frame(struct buf *b, const struct span *parts, size_t n)
{
	uint64_t at = 8 + 8 * (n + 1);

	buf_reset(b);
	le64_append(b, n + 1);
	for (size_t i = 0; i < n; i++) {
		le64_append(b, at);
		at += parts[i].len;
	}
	le64_append(b, at);
	for (size_t i = 0; i < n; i++)
		buf_span_append(b, parts[i]);
}

static const struct span usual[] = { SPAN_LIT("iopub"), SPAN_LIT(HEADER),  SPAN_LIT(PARENT),
				     SPAN_LIT("{}"),	SPAN_LIT(CONTENT), SPAN_LIT("\x00\xff"),
				     SPAN_LIT("") };

/* A copy of its own size, so that the sanitizer sees a read behind the end. */
static int parse_copy(struct span frame, int (*parse)(struct span, struct jupyter_msg *),
		      bool *ret_inside)
{
	char *copy = malloc(frame.len ? frame.len : 1);
	struct jupyter_msg m;
	int r;

	if (frame.len)
		memcpy(copy, frame.ptr, frame.len);
	r = parse(span_of(copy, frame.len), &m);
	if (r == 0) {
		*ret_inside = m.content.ptr == NULL || m.content.len <= 2 ||
			      (m.content.ptr >= copy &&
			       m.content.ptr + m.content.len <= copy + frame.len);
		*ret_inside = *ret_inside && m.header.ptr >= copy &&
			      m.header.ptr + m.header.len <= copy + frame.len;
	}
	free(copy);
	return r;
}

static int legacy_text(struct span frame, struct jupyter_msg *ret)
{
	return jupyter_legacy_parse(frame, false, ret);
}

static int legacy_binary(struct span frame, struct jupyter_msg *ret)
{
	return jupyter_legacy_parse(frame, true, ret);
}

static void assert_usual(const struct jupyter_msg *m, size_t buffers)
{
	assert_int_equal(m->channel, JUPYTER_IOPUB);
	assert_int_equal(m->type, MSG_STREAM);
	assert_true(span_is(m->type_name, "stream"));
	assert_true(span_is(m->msg_id, "m-1"));
	assert_true(span_is(m->date, "2026-11-30T21:20:45.910195Z"));
	assert_true(span_is(m->parent_id, "p-1"));
	assert_true(span_is(m->header, HEADER));
	assert_true(span_is(m->parent_header, PARENT));
	assert_true(span_is(m->metadata, "{}"));
	assert_true(span_is(m->content, CONTENT));
	assert_int_equal(m->buffers, buffers);
}

/* ---- names -------------------------------------------------------------------------- */

static void names_and_channels(void **state)
{
	enum jupyter_channel c = JUPYTER_SHELL;

	(void)state;
	assert_string_equal(jupyter_type_str(MSG_OTHER), "");
	assert_string_equal(jupyter_type_str(MSG_STATUS), "status");
	assert_string_equal(jupyter_type_str(MSG_COMM_INFO_REPLY), "comm_info_reply");
	for (int i = JUPYTER_SHELL; i <= JUPYTER_CONTROL; i++) {
		const char *name = jupyter_channel_str((enum jupyter_channel)i);

		assert_int_equal(jupyter_channel_parse(span_str(name), &c), 0);
		assert_int_equal(c, i);
	}
	assert_int_equal(jupyter_channel_parse(SPAN_LIT("hb"), &c), -EINVAL);
	assert_int_equal(jupyter_channel_parse(SPAN_LIT("Shell"), &c), -EINVAL);
	assert_int_equal(jupyter_channel_parse(SPAN_NONE, &c), -EINVAL);
	assert_int_equal(c, JUPYTER_CONTROL);
}

/* ---- v1 ------------------------------------------------------------------------------- */

static void v1_parses(void **state)
{
	struct buf b = BUF_INIT(BIG);
	struct jupyter_msg m;

	(void)state;
	v1_frame(&b, usual, 5);
	assert_int_equal(jupyter_v1_parse(buf_span(&b), &m), 0);
	assert_usual(&m, 0);
	v1_frame(&b, usual, 7);
	assert_int_equal(jupyter_v1_parse(buf_span(&b), &m), 0);
	assert_usual(&m, 2);
	buf_free(&b);
}

static void v1_unknown_and_missing_fields(void **state)
{
	struct span parts[] = { SPAN_LIT("shell"), SPAN_LIT(" {\"msg_type\":\"my_reply\"}\n"),
				SPAN_LIT("{}"), SPAN_LIT("{}"), SPAN_LIT("") };
	struct buf b = BUF_INIT(BIG);
	struct jupyter_msg m;

	(void)state;
	v1_frame(&b, parts, 5);
	assert_int_equal(jupyter_v1_parse(buf_span(&b), &m), 0);
	assert_int_equal(m.type, MSG_OTHER);
	assert_true(span_is(m.type_name, "my_reply"));
	assert_true(span_is(m.msg_id, ""));
	assert_true(span_is(m.parent_id, ""));
	assert_true(span_absent(m.date));
	assert_int_equal(m.content.len, 0); /* whoever copies it sees that */
	parts[1] = SPAN_LIT("{\"msg_type\":\"\",\"msg_id\":\"a\\u0041\",\"date\":5}");
	v1_frame(&b, parts, 5);
	assert_int_equal(jupyter_v1_parse(buf_span(&b), &m), 0);
	assert_int_equal(m.type, MSG_OTHER);
	assert_true(span_is(m.msg_id, ""));
	assert_true(span_absent(m.date));
	buf_free(&b);
}

static void v1_refuses_wrong_parts(void **state)
{
	static const struct {
		size_t part;
		struct span text;
	} rows[] = {
		{ 0, SPAN_LIT("") },	      { 0, SPAN_LIT("IOPUB") },
		{ 0, SPAN_LIT("\"iopub\"") }, { 1, SPAN_LIT("") },
		{ 1, SPAN_LIT("[]") },	      { 1, SPAN_LIT("{\"a\":}") },
		{ 1, SPAN_LIT("{} {}") },     { 1, SPAN_LIT("{\"a\":\"\xff\"}") },
		{ 2, SPAN_LIT("null") },      { 2, SPAN_LIT("{\"a\":1") },
		{ 2, SPAN_LIT("\"{}\"") },    { 3, SPAN_LIT("1") },
		{ 3, SPAN_LIT("{,}") },
	};
	struct buf b = BUF_INIT(BIG);
	struct jupyter_msg m = { .buffers = 77 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct span parts[5];

		memcpy(parts, usual, sizeof(parts));
		parts[rows[i].part] = rows[i].text;
		v1_frame(&b, parts, 5);
		assert_int_equal(jupyter_v1_parse(buf_span(&b), &m), -EBADMSG);
	}
	for (size_t n = 0; n < 5; n++) { /* segments are missing */
		v1_frame(&b, usual, n);
		assert_int_equal(jupyter_v1_parse(buf_span(&b), &m), -EBADMSG);
	}
	assert_int_equal(m.buffers, 77);
	buf_free(&b);
}

static void v1_cut_at_every_byte(void **state)
{
	struct buf b = BUF_INIT(BIG);
	bool inside = false;

	(void)state;
	v1_frame(&b, usual, 7);
	for (size_t n = 0; n < b.len; n++)
		assert_int_equal(parse_copy(span_of(b.data, n), jupyter_v1_parse, &inside),
				 -EBADMSG);
	assert_int_equal(parse_copy(buf_span(&b), jupyter_v1_parse, &inside), 0);
	assert_true(inside);
	assert_int_equal(jupyter_v1_parse(SPAN_NONE, &(struct jupyter_msg){ 0 }), -EBADMSG);
	buf_free(&b);
}

static void v1_offsets_lie(void **state)
{
	static const uint64_t lies[] = { 0,
					 1,
					 7,
					 8,
					 63,
					 UINT64_MAX,
					 UINT64_MAX - 7,
					 UINT64_C(1) << 63,
					 UINT64_C(1) << 61,
					 UINT64_C(1) << 32,
					 UINT32_MAX,
					 100000 };
	struct buf b = BUF_INIT(BIG);
	bool inside = false;

	(void)state;
	v1_frame(&b, usual, 7);
	for (size_t i = 0; i < 9; i++) { /* the count, and each offset */
		for (size_t k = 0; k < ARRAY_LEN(lies); k++) {
			char was[8];

			if (i == 0 && (lies[k] == 7 || lies[k] == 8))
				continue; /* one buffer less, and the truth */
			memcpy(was, b.data + 8 * i, 8);
			for (int j = 0; j < 8; j++)
				b.data[8 * i + (size_t)j] = (char)(lies[k] >> (8 * j));
			assert_int_equal(parse_copy(buf_span(&b), jupyter_v1_parse, &inside),
					 -EBADMSG);
			memcpy(b.data + 8 * i, was, 8);
		}
	}
	b.data[16] = (char)(b.data[16] + 1); /* the channel takes a byte of the header */
	assert_int_equal(jupyter_v1_parse(buf_span(&b), &(struct jupyter_msg){ 0 }), -EBADMSG);
	buf_free(&b);
}

static void v1_peeks_into_a_large_frame(void **state)
{
	struct buf b = BUF_INIT(BIG);
	struct jupyter_msg m;
	size_t parent_end = 8 + 8 * 6 + 5 + strlen(HEADER) + strlen(PARENT);
	bool inside;

	(void)state;
	v1_frame(&b, usual, 5);
	for (size_t n = 0; n < b.len; n++)
		assert_int_equal(parse_copy(span_of(b.data, n), jupyter_v1_peek, &inside),
				 n < parent_end ? -EBADMSG : 0);
	assert_int_equal(jupyter_v1_peek(span_of(b.data, parent_end), &m), 0);
	assert_int_equal(m.type, MSG_STREAM);
	assert_true(span_is(m.parent_id, "p-1"));
	assert_true(span_is(m.content, "{}"));
	assert_true(span_is(m.metadata, "{}"));
	buf_free(&b);
}

/* ---- legacy ------------------------------------------------------------------------------ */

#define LEGACY                                                                                     \
	"{\"buffers\": [], \"channel\": \"iopub\", \"content\": " CONTENT ", \"header\": " HEADER  \
	", \"metadata\": {}, \"msg_id\": \"x\", \"parent_header\": " PARENT "}"

static void legacy_parses_text(void **state)
{
	struct jupyter_msg m;

	(void)state;
	assert_int_equal(jupyter_legacy_parse(SPAN_LIT(LEGACY), false, &m), 0);
	assert_usual(&m, 0);
	assert_int_equal(jupyter_legacy_parse(SPAN_LIT("{\"header\":{},\"channel\":\"shell\"}"),
					      false, &m),
			 0);
	assert_int_equal(m.type, MSG_OTHER);
	assert_true(span_is(m.content, "{}"));
	assert_true(span_is(m.parent_header, "{}"));
}

static void legacy_refuses(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"channel\":\"iopub\"}",
		"{\"header\":{}}",
		"{\"header\":{},\"channel\":\"other\"}",
		"{\"header\":{},\"channel\":null}",
		"{\"header\":[],\"channel\":\"iopub\"}",
		"{\"header\":{\"a\":},\"channel\":\"iopub\"}",
		"{\"header\":{},\"channel\":\"iopub\",\"parent_header\":null}",
		"{\"header\":{},\"channel\":\"iopub\",\"metadata\":7}",
	};
	struct jupyter_msg m = { .buffers = 77 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(jupyter_legacy_parse(span_str(bad[i]), false, &m), -EBADMSG);
	assert_int_equal(jupyter_legacy_parse(SPAN_NONE, false, &m), -EBADMSG);
	assert_int_equal(jupyter_legacy_parse(SPAN_NONE, true, &m), -EBADMSG);
	assert_int_equal(m.buffers, 77);
}

static void binary_frame(struct buf *b, const char *json, size_t buffers)
{
	uint32_t at = (uint32_t)(4 + 4 * (1 + buffers));

	buf_reset(b);
	be32_append(b, (uint32_t)(1 + buffers));
	be32_append(b, at);
	at += (uint32_t)strlen(json);
	for (size_t i = 0; i < buffers; i++, at += 3)
		be32_append(b, at);
	buf_puts(b, json);
	for (size_t i = 0; i < buffers; i++)
		buf_append(b, "\0\xff\1", 3);
}

static void legacy_parses_binary(void **state)
{
	struct buf b = BUF_INIT(BIG);
	struct jupyter_msg m;

	(void)state;
	for (size_t n = 0; n < 4; n++) {
		binary_frame(&b, LEGACY, n);
		assert_int_equal(jupyter_legacy_parse(buf_span(&b), true, &m), 0);
		assert_usual(&m, n);
	}
	buf_free(&b);
}

static void legacy_cut_and_lying(void **state)
{
	static const uint32_t lies[] = {
		0, 1, 4, 15, 100000, INT32_MAX, UINT32_MAX, UINT32_MAX - 3
	};
	struct buf b = BUF_INIT(BIG);
	bool inside;

	(void)state;
	for (size_t n = 0; n + 1 < sizeof(LEGACY); n++)
		parse_copy(span_of(LEGACY, n), legacy_text, &inside);
	binary_frame(&b, LEGACY, 2);
	for (size_t n = 0; n < b.len - 6; n++) /* up to where the JSON is whole */
		assert_int_equal(parse_copy(span_of(b.data, n), legacy_binary, &inside), -EBADMSG);
	for (size_t i = 0; i < 4; i++) {
		for (size_t k = 0; k < ARRAY_LEN(lies); k++) {
			char was[4];

			if (i == 0 && lies[k] == 1)
				continue; /* reads as a frame whose JSON starts at its offset */
			memcpy(was, b.data + 4 * i, 4);
			for (int j = 0; j < 4; j++)
				b.data[4 * i + (size_t)j] = (char)(lies[k] >> (24 - 8 * j));
			assert_int_equal(parse_copy(buf_span(&b), legacy_binary, &inside),
					 -EBADMSG);
			memcpy(b.data + 4 * i, was, 4);
		}
	}
	buf_free(&b);
}

/* ---- what we send ------------------------------------------------------------------------ */

static const struct jupyter_out request = {
	.channel = JUPYTER_SHELL,
	.msg_type = "execute_reply", /* a type the parser knows */
	.msg_id = "id-7",
	.session = "ses",
	.parent_header = { NULL, 0 },
	.content = { "{\"code\":\"1\"}", 12 },
};

static void assert_request(const struct jupyter_msg *m)
{
	assert_int_equal(m->channel, JUPYTER_SHELL);
	assert_int_equal(m->type, MSG_EXECUTE_REPLY);
	assert_true(span_is(m->msg_id, "id-7"));
	assert_true(json_string_is(json_get(m->header, "session"), "ses"));
	assert_true(json_string_is(json_get(m->header, "version"), "5.3"));
	assert_true(json_string_is(json_get(m->header, "username"), "nb2"));
	assert_int_equal(m->date.len, 27);
	assert_true(span_is(m->parent_header, "{}"));
	assert_true(span_is(m->content, "{\"code\":\"1\"}"));
	assert_int_equal(m->buffers, 0);
}

static void round_trips(void **state)
{
	struct jupyter_out answer = request;
	struct buf b = BUF_INIT(BIG);
	struct jupyter_msg m;

	(void)state;
	assert_int_equal(jupyter_v1_write(&b, &request), 0);
	assert_int_equal(jupyter_v1_parse(buf_span(&b), &m), 0);
	assert_request(&m);
	buf_reset(&b);
	assert_int_equal(jupyter_legacy_write(&b, &request), 0);
	assert_int_equal(json_valid(buf_span(&b), JSON_STRICT, NULL, NULL), 0);
	assert_int_equal(jupyter_legacy_parse(buf_span(&b), false, &m), 0);
	assert_request(&m);
	answer.parent_header = SPAN_LIT(PARENT);
	answer.channel = JUPYTER_STDIN;
	buf_reset(&b);
	buf_puts(&b, "....");
	assert_int_equal(jupyter_v1_write(&b, &answer), 0); /* behind something else */
	assert_int_equal(jupyter_v1_parse(span_of(b.data + 4, b.len - 4), &m), 0);
	assert_int_equal(m.channel, JUPYTER_STDIN);
	assert_true(span_is(m.parent_id, "p-1"));
	buf_free(&b);
}

/* All or nothing at every ceiling. */
static void writers_obey_ceilings(void **state)
{
	int (*const writers[])(struct buf *, const struct jupyter_out *) = { jupyter_v1_write,
									     jupyter_legacy_write };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(writers); i++) {
		struct buf whole = BUF_INIT(BIG);

		assert_int_equal(writers[i](&whole, &request), 0);
		for (size_t max = 0; max <= whole.len + 1; max++) {
			struct buf b = BUF_INIT(max);
			int r = writers[i](&b, &request);

			assert_int_equal(r, max < whole.len ? -EFBIG : 0);
			assert_int_equal(b.len, r == 0 ? whole.len : 0);
			buf_free(&b);
		}
		buf_free(&whole);
	}
}

static void execute_contents(void **state)
{
	struct jupyter_execute x = { .code = SPAN_LIT("print('\xe4\xb8\xad')\n\"\""),
				     .store_history = true,
				     .stop_on_error = true };
	static const char want[] =
		"{\"code\":\"print('\\u4e2d')\\n\\\"\\\"\",\"silent\":false,\"store_history\":true,"
		"\"user_expressions\":{},\"allow_stdin\":false,\"stop_on_error\":true}";
	struct buf b = BUF_INIT(BIG);

	(void)state;
	assert_int_equal(jupyter_execute_content(&b, &x), 0);
	assert_string_equal(b.data, want);
	buf_free(&b);
	for (size_t max = 0; max < sizeof(want) - 1; max += 7) {
		b = BUF_INIT(max);
		assert_int_equal(jupyter_execute_content(&b, &x), -EFBIG);
		assert_int_equal(b.len, 0);
		buf_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_channels),
		cmocka_unit_test(v1_parses),
		cmocka_unit_test(v1_unknown_and_missing_fields),
		cmocka_unit_test(v1_refuses_wrong_parts),
		cmocka_unit_test(v1_cut_at_every_byte),
		cmocka_unit_test(v1_offsets_lie),
		cmocka_unit_test(v1_peeks_into_a_large_frame),
		cmocka_unit_test(legacy_parses_text),
		cmocka_unit_test(legacy_refuses),
		cmocka_unit_test(legacy_parses_binary),
		cmocka_unit_test(legacy_cut_and_lying),
		cmocka_unit_test(round_trips),
		cmocka_unit_test(writers_obey_ceilings),
		cmocka_unit_test(execute_contents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
