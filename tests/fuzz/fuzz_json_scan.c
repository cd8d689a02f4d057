/*
 * fuzz_json_scan.c - reads anything; what it finds lies inside the text, and
 * on text that is valid it finds what is there.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "json/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what))                                                                       \
			abort();                                                                   \
	} while (0)

static struct span whole;

static void inside(struct span s)
{
	if (s.ptr)
		MUST(s.ptr >= whole.ptr && s.ptr + s.len <= whole.ptr + whole.len);
}

/* Every reader of single values. */
static void look_at(struct span value, bool valid)
{
	struct buf text = BUF_INIT(1 << 20);
	int64_t n;
	bool b;
	int r;

	inside(value);
	inside(json_plain(value));
	json_int(value, &n);
	json_bool(value, &b);
	json_string_is(value, "msg_id");
	r = json_string_decode(value, JSON_LONE_REPLACE, &text);
	if (r == 0) {
		size_t len = text.len;

		MUST(json_type_of(value) == JSON_STRING);
		MUST(utf8_valid_len(buf_span(&text)) == len);
		if (json_string_decode(value, 0, &text) == 0) /* no lone surrogate */
			MUST(text.len == 2 * len);
	} else {
		MUST(!valid || json_type_of(value) != JSON_STRING);
	}
	buf_free(&text);
}

/* All members, as deep as they go. */
static void walk(struct span value, bool valid, unsigned depth)
{
	struct json_iter it;
	struct span key;
	struct span member;

	look_at(value, valid);
	if (depth > JSON_DEPTH_MAX)
		return;
	json_iter_init(&it, value);
	while (json_iter_next(&it, &key, &member)) {
		inside(key);
		inside(member);
		if (valid)
			MUST(json_valid(member, 0, NULL, NULL) == 0);
		if (valid && it.object)
			MUST(json_valid(key, 0, NULL, NULL) == 0 &&
			     json_type_of(key) == JSON_STRING);
		if (depth < 8)
			walk(member, valid, depth + 1);
	}
}

/* What a member's name finds is the last member of that name. */
static void get_last(struct span object)
{
	struct json_iter it;
	struct span key;
	struct span member;
	struct span last = SPAN_NONE;

	json_iter_init(&it, object);
	while (it.object && json_iter_next(&it, &key, &member)) {
		if (json_string_is(key, "a"))
			last = member;
	}
	MUST(json_get(object, "a").ptr == last.ptr);
	inside(json_path(object, "parent_header.msg_id"));
	inside(json_path(object, "a.a"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *why = NULL;
	size_t at = 0;
	int r;

	whole = span_of((const char *)data, len);
	r = json_valid(whole, 0, &at, &why);
	MUST(r == 0 || (at <= len && why));
	if (json_valid(whole, JSON_STRICT, NULL, NULL) == 0)
		MUST(r == 0);
	walk(whole, r == 0, 0);
	get_last(whole);
	return 0;
}
