/*
 * emit.c - writing: values copied, text quoted, strings in pieces.
 */
#include "json/emit.h"

#include <errno.h>
#include <stdint.h>

#include "base/utf8.h"
#include "json/pass_int.h"
#include "json/token_int.h"

#define UNIT_LEN 6		/* \uXXXX */
#define PAIR_LEN (2 * UNIT_LEN) /* the longest way to write one character */

/* ---- characters ------------------------------------------------------------------ */

static size_t unit_write(char *to, unsigned unit)
{
	static const char hex[] = "0123456789abcdef";

	to[0] = '\\';
	to[1] = 'u';
	for (int i = 0; i < 4; i++)
		to[2 + i] = hex[unit >> (12 - 4 * i) & 15];
	return UNIT_LEN;
}

/* The escape of a character that may not stand as it is; to has PAIR_LEN. */
static size_t escape_write(char *to, uint32_t cp)
{
	static const char from[] = "\b\f\n\r\t\"\\";
	static const char letters[] = "bfnrt\"\\";
	const char *at = cp < 0x80 ? memchr(from, (int)cp, sizeof(from) - 1) : NULL;

	if (at) {
		to[0] = '\\';
		to[1] = letters[at - from];
		return 2;
	}
	if (cp <= 0xffff)
		return unit_write(to, cp);
	cp -= 0x10000;
	unit_write(to, 0xd800 + (cp >> 10));
	return UNIT_LEN + unit_write(to + UNIT_LEN, 0xdc00 + (cp & 0x3ff));
}

/* Collected on the stack: text in Chinese is all of this kind. */
size_t emit_foreign(struct buf *out, struct span s)
{
	char text[FOREIGN_STRETCH * PAIR_LEN];
	size_t used = 0;
	size_t at = 0;

	for (int i = 0; i < FOREIGN_STRETCH && at < s.len && (s.ptr[at] & 0x80); i++) {
		uint32_t cp;
		size_t n = utf8_decode(span_of(s.ptr + at, s.len - at), &cp);

		if (n == 0)
			break;
		at += n;
		if (out)
			used += escape_write(text + used, cp);
	}
	if (used > 0)
		buf_append(out, text, used);
	return at;
}

/* ---- text ------------------------------------------------------------------------- */

/* The character at s that ends a run: returns how many bytes it is. */
static size_t text_escape(struct buf *out, struct span s)
{
	char text[PAIR_LEN];
	size_t n = emit_foreign(out, s);

	if (n > 0)
		return n;
	n = escape_write(text, s.ptr[0] & 0x80 ? 0xfffd : (unsigned char)s.ptr[0]);
	buf_append(out, text, n);
	return 1;
}

/* On failure out is as it was, but remembers the error. */
int json_text_emit(struct buf *out, struct span utf8)
{
	size_t start = out->len;
	struct span s = utf8.len > 0 ? utf8 : SPAN_LIT("");
	const char *p = s.ptr;
	const char *end = s.ptr + s.len;
	int r = buf_putc(out, '"');

	while (r == 0 && p < end) {
		const char *run = p;

		p = token_run(run, end);
		r = buf_append(out, run, (size_t)(p - run));
		if (r == 0 && p < end) {
			size_t len = out->len;

			p += text_escape(out, span_of(p, (size_t)(end - p)));
			r = out->len > len ? 0 : -EFBIG; /* err may be older than this text */
		}
	}
	if (r == 0)
		r = buf_putc(out, '"');
	if (r != 0)
		buf_truncate(out, start);
	return r;
}

/* ---- values ------------------------------------------------------------------------ */

/* Most values grow by a few escapes only: their own length is a good guess for
 * the room, unless the ceiling is in the way. */
static void reserve_guess(struct buf *out, size_t len)
{
	if (len < out->max - out->len)
		buf_reserve(out, len);
}

/* An older error of out is not ours: it is put aside and comes back. */
int json_span_emit(struct buf *out, struct span value, unsigned flags)
{
	bool spaced = flags & JSON_SPACED;
	struct pass w = { .out = out,
			  .comma = spaced ? ", " : ",",
			  .colon = spaced ? ": " : ":",
			  .lenient = true };
	size_t start = out->len;
	int before = out->err;
	int r;

	if (value.len == 0)
		return -EINVAL;
	w.p = value.ptr;
	w.end = value.ptr + value.len;
	out->err = 0;
	reserve_guess(out, value.len);
	r = pass_run(&w);
	if (r != 0)
		buf_truncate(out, start);
	out->err = before;
	return r;
}

/* ---- pieces -------------------------------------------------------------------------- */

/* The length of what may not be cut at s, and in *ret_size how long it is when
 * written: one escape or UTF-8 sequence, two for a surrogate pair. 0: neither. */
static size_t atom_len(struct span s, size_t *ret_size)
{
	uint32_t cp;
	size_t n;

	if (s.ptr[0] == '\\') {
		n = token_escape(s);
		if (n == UNIT_LEN && token_high(token_unit(s)) &&
		    token_low(token_unit(span_of(s.ptr + n, s.len - n))))
			n = PAIR_LEN;
		*ret_size = n;
		return n;
	}
	n = s.ptr[0] & 0x80 ? utf8_decode(s, &cp) : 0;
	if (n > 0)
		*ret_size = cp > 0xffff ? PAIR_LEN : UNIT_LEN;
	return n;
}

/* Fill up to room bytes from *p on, as far as whole atoms go. 0 or -EINVAL. */
static int piece_fill(struct buf *out, const char **p, const char *end, size_t room)
{
	while (*p < end && room > 0) {
		size_t left = (size_t)(end - *p);
		const char *run = token_run(*p, *p + (left < room ? left : room));
		size_t n = (size_t)(run - *p);
		size_t size = n;

		if (n == 0)
			n = atom_len(span_of(*p, left), &size);
		if (n == 0)
			return -EINVAL;
		if (size > room)
			break;
		if (**p & 0x80)
			emit_foreign(out, span_of(*p, n));
		else
			buf_append(out, *p, n);
		*p += n;
		room -= size;
	}
	return *p < end && **p == '"' ? -EINVAL : 0;
}

/*
 * Between calls *rest has no opening quote, only the closing one: a piece
 * never ends before a quote, so the two forms cannot be mixed up.
 */
int json_string_piece(struct buf *out, struct span *rest, size_t max)
{
	struct span value = *rest;
	size_t start = out->len;
	int before = out->err;
	const char *p = value.ptr;
	const char *end;
	int r;

	assert(max >= 64);
	*rest = SPAN_NONE;
	if (value.len < 2 || value.ptr[value.len - 1] != '"')
		return -EINVAL;
	end = value.ptr + value.len - 1;
	p += *p == '"';
	out->err = 0;
	buf_putc(out, '"');
	r = piece_fill(out, &p, end, max - 2);
	buf_putc(out, '"');
	if (r == 0)
		r = buf_error(out);
	if (r != 0)
		buf_truncate(out, start);
	else if (p < end)
		*rest = span_of(p, value.len - (size_t)(p - value.ptr));
	out->err = before;
	return r;
}
