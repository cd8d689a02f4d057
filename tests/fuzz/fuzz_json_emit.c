/*
 * fuzz_json_emit.c - whatever comes in, what goes out is strict ASCII JSON on
 * one line, says the same, and stays as it is when it goes through again.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "json/emit.h"
#include "json/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what))                                                                       \
			abort();                                                                   \
	} while (0)

#define BIG (1 << 24)

static void clean(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		MUST(s.ptr[i] >= 0x20 && s.ptr[i] <= 0x7f);
	MUST(json_valid(s, JSON_STRICT, NULL, NULL) == 0);
}

static void values(struct span in, size_t ceiling)
{
	struct buf compact = BUF_INIT(BIG);
	struct buf spaced = BUF_INIT(BIG);
	struct buf again = BUF_INIT(BIG);
	struct buf small = BUF_INIT(ceiling);
	int r = json_span_emit(&compact, in, 0);

	MUST(r == json_valid(in, 0, NULL, NULL));
	MUST(r == json_span_emit(&spaced, in, JSON_SPACED));
	if (r == 0) {
		clean(buf_span(&compact));
		clean(buf_span(&spaced));
		MUST(json_span_emit(&again, buf_span(&spaced), 0) == 0);
		MUST(span_eq(buf_span(&again), buf_span(&compact)));
		r = json_span_emit(&small, in, 0);
		MUST(r == (compact.len <= ceiling ? 0 : -EFBIG));
		MUST(small.len == (r == 0 ? compact.len : 0));
	} else {
		MUST(compact.len == 0 && spaced.len == 0);
		MUST(json_span_emit(&small, in, 0) != 0 && small.len == 0);
	}
	buf_free(&compact);
	buf_free(&spaced);
	buf_free(&again);
	buf_free(&small);
}

static void text(struct span in)
{
	struct buf quoted = BUF_INIT(BIG);
	struct buf back = BUF_INIT(BIG);

	MUST(json_text_emit(&quoted, in) == 0);
	clean(buf_span(&quoted));
	MUST(json_string_decode(buf_span(&quoted), 0, &back) == 0);
	if (utf8_valid_len(in) == in.len)
		MUST(span_eq(buf_span(&back), in));
	buf_free(&quoted);
	buf_free(&back);
}

/* The input as the inside of a string, cut. */
static void pieces(struct span in, size_t max)
{
	struct buf value = BUF_INIT(BIG);
	struct buf piece = BUF_INIT(BIG);
	struct buf joined = BUF_INIT(BIG);
	struct buf whole = BUF_INIT(BIG);
	struct span rest;
	int r = 0;

	buf_putc(&value, '"');
	buf_span_append(&value, in);
	buf_putc(&value, '"');
	rest = buf_span(&value);
	while (r == 0 && !span_absent(rest)) {
		buf_reset(&piece);
		r = json_string_piece(&piece, &rest, max);
		if (r != 0)
			break;
		MUST(piece.len <= max);
		clean(buf_span(&piece));
		MUST(json_string_decode(buf_span(&piece), JSON_LONE_REPLACE, &joined) == 0);
	}
	MUST((r == 0) == (json_valid(buf_span(&value), 0, NULL, NULL) == 0));
	if (r == 0) {
		MUST(json_string_decode(buf_span(&value), JSON_LONE_REPLACE, &whole) == 0);
		MUST(span_eq(buf_span(&joined), buf_span(&whole)));
	}
	buf_free(&value);
	buf_free(&piece);
	buf_free(&joined);
	buf_free(&whole);
}

/* The first byte is a ceiling and a length of pieces; the rest is the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct span in;

	if (len < 1)
		return 0;
	in = span_of((const char *)data + 1, len - 1);
	values(in, data[0]);
	text(in);
	pieces(in, 64 + data[0] % 64);
	return 0;
}
