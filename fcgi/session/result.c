/*
 * result.c - which MIME type becomes which field, and the decoding of text.
 */
#include "session/result.h"

#include <errno.h>
#include <stdint.h>

#include "base/utf8.h"
#include "base/hex.h"
#include "json/emit.h"
#include "json/scan.h"

/* Order is the wire's order. */
static const struct field {
	const char *name;
	const char *mime;
} fields[] = {
	{ "text", "text/plain" },	 { "html", "text/html" },
	{ "markdown", "text/markdown" }, { "svg", "image/svg+xml" },
	{ "png", "image/png" },		 { "jpeg", "image/jpeg" },
	{ "pdf", "application/pdf" },	 { "latex", "text/latex" },
	{ "json", "application/json" },	 { "javascript", "application/javascript" },
	{ "data", "e2b/data" },		 { "chart", "e2b/chart" },
};

/* The escapes of a Python string literal that stand for one character. */
static const char escape_from[] = "\\'\"abfnrtv";
static const char escape_to[] = "\\'\"\a\b\f\n\r\t\v";

/* \xNN, \uNNNN, \UNNNNNNNN: a scalar value, or -EINVAL. *p stands behind the letter. */
static int unquote_hex(const char **p, const char *end, size_t digits, struct buf *out)
{
	uint32_t cp = 0;
	char utf8[4];

	if ((size_t)(end - *p) < digits)
		return -EINVAL;
	for (size_t i = 0; i < digits; i++) {
		int v = hex_value(*(*p)++);

		if (v < 0)
			return -EINVAL;
		cp = cp << 4 | (uint32_t)v;
	}
	if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return -EINVAL;
	return buf_append(out, utf8, utf8_encode(cp, utf8));
}

/* One escape; *p stands behind the backslash. */
static int unquote_escape(const char **p, const char *end, struct buf *out)
{
	const char *at;
	char c;

	if (*p == end)
		return -EINVAL;
	c = *(*p)++;
	at = c ? strchr(escape_from, c) : NULL;
	if (at)
		return buf_putc(out, escape_to[at - escape_from]);
	switch (c) {
	case 'x':
		return unquote_hex(p, end, 2, out);
	case 'u':
		return unquote_hex(p, end, 4, out);
	case 'U':
		return unquote_hex(p, end, 8, out);
	default:
		return -EINVAL; /* repr() writes no other: octal, \N{…} or a typed text */
	}
}

int result_unquote(struct span repr, struct buf *out)
{
	const char *p = repr.ptr;
	const char *end = p + repr.len;
	char quote;
	int r;

	if (repr.len < 2 || repr.len > RESULT_UNQUOTE_MAX)
		return -EINVAL;
	quote = *p++;
	if ((quote != '\'' && quote != '"') || *--end != quote)
		return -EINVAL;
	while (p < end) {
		char c = *p++;

		if (c == quote || c == '\n')
			return -EINVAL; /* more than one literal */
		r = c == '\\' ? unquote_escape(&p, end, out) : buf_putc(out, c);
		if (r != 0)
			return r;
	}
	return 0;
}

/* text/plain: decoded when it is a string's repr. */
static int text_field(struct buf *out, struct span value)
{
	struct buf raw = BUF_INIT(2 * RESULT_UNQUOTE_MAX);
	struct buf text = BUF_INIT(2 * RESULT_UNQUOTE_MAX);
	int r = -EINVAL;

	/* A cheap look first: most texts are not quoted, and large ones are not touched. */
	if (value.len > 3 && value.len <= RESULT_UNQUOTE_MAX &&
	    (value.ptr[1] == '\'' || value.ptr[1] == '\\') &&
	    json_string_decode(value, 0, &raw) == 0)
		r = result_unquote(buf_span(&raw), &text);
	if (r == 0)
		r = json_text_emit(out, buf_span(&text));
	else
		r = json_span_emit(out, value, JSON_SPACED);
	buf_free(&raw);
	buf_free(&text);
	return r;
}

static size_t field_index(struct span key)
{
	size_t i = 0;

	while (i < ARRAY_LEN(fields) && !json_string_is(key, fields[i].mime))
		i++;
	return i;
}

/* Every member that is no field, under "extra". */
static int extra_fields(struct buf *out, struct span bundle, bool any)
{
	struct json_iter it;
	struct span key;
	struct span value;
	bool first = true;
	int r = 0;

	buf_puts(out, ", \"extra\": {");
	if (any)
		json_iter_init(&it, bundle);
	while (any && r == 0 && json_iter_next(&it, &key, &value)) {
		if (field_index(key) < ARRAY_LEN(fields) || json_type_of(value) == JSON_NULL)
			continue;
		if (!first)
			buf_puts(out, ", ");
		first = false;
		r = json_span_emit(out, key, JSON_SPACED);
		buf_puts(out, ": ");
		if (r == 0)
			r = json_span_emit(out, value, JSON_SPACED);
	}
	buf_puts(out, "}");
	return r;
}

/* One pass finds all members: a bundle may hold a picture of many megabytes,
 * which is not to be walked over once a field. */
int result_fields(struct buf *out, struct span bundle)
{
	struct span values[ARRAY_LEN(fields)] = { 0 };
	struct json_iter it;
	struct span key;
	struct span value;
	bool extra = false;
	int r = 0;

	if (json_type_of(bundle) != JSON_OBJECT)
		return -EINVAL;
	json_iter_init(&it, bundle);
	while (json_iter_next(&it, &key, &value)) {
		size_t i = field_index(key);

		if (i < ARRAY_LEN(fields))
			values[i] = value;
		else
			extra = true;
	}
	for (size_t i = 0; i < ARRAY_LEN(fields) && r == 0; i++) {
		if (span_absent(values[i]) || json_type_of(values[i]) == JSON_NULL)
			continue;
		buf_printf(out, ", \"%s\": ", fields[i].name);
		r = i == 0 ? text_field(out, values[i]) :
			     json_span_emit(out, values[i], JSON_SPACED);
	}
	return r == 0 ? extra_fields(out, bundle, extra) : r;
}
