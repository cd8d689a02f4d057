/*
 * scan.c - cheap walks over JSON text.
 *
 * The readers skip over values by their brackets and strings alone: on text
 * that was validated that is exact; on other text it finds nothing or
 * something that lies inside the text, never a wild pointer.
 */
#include "json/scan.h"

#include <errno.h>

#include "base/utf8.h"
#include "json/pass_int.h"
#include "json/token_int.h"

/* ---- the whole text ---------------------------------------------------------- */

/* The pass of the emitter, with nothing to write to. */
int json_valid(struct span text, unsigned flags, size_t *ret_at, const char **ret_why)
{
	struct span s = text.len > 0 ? text : SPAN_LIT("");
	struct pass w = { .p = s.ptr,
			  .end = s.ptr + s.len,
			  .comma = "",
			  .colon = "",
			  .lenient = !(flags & JSON_STRICT) };
	int r = pass_run(&w);

	if (r != 0 && ret_at)
		*ret_at = (size_t)(w.p - s.ptr);
	if (r != 0 && ret_why)
		*ret_why = w.why;
	return r;
}

/* By the first character: cheap, and exact for a value that was validated. */
enum json_type json_type_of(struct span value)
{
	struct span s = span_trim(value);

	if (s.len == 0)
		return JSON_NONE;
	switch (s.ptr[0]) {
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case '"':
		return JSON_STRING;
	case 't':
	case 'f':
		return JSON_BOOL;
	case 'n':
		return JSON_NULL;
	default:
		return memchr("-0123456789NI", s.ptr[0], 13) ? JSON_NUMBER : JSON_NONE;
	}
}

/* For messages and tests. */
const char *json_type_name(enum json_type t)
{
	static const char *const names[] = {
		[JSON_NONE] = "none",	  [JSON_NULL] = "null",	    [JSON_BOOL] = "boolean",
		[JSON_NUMBER] = "number", [JSON_STRING] = "string", [JSON_ARRAY] = "array",
		[JSON_OBJECT] = "object",
	};

	return names[t];
}

/* ---- where a value ends ------------------------------------------------------ */

/* A string token, however its inside is made: to the next quote that is not
 * escaped, i.e. has an even number of backslashes before it. */
static size_t string_len(struct span s)
{
	const char *start = s.ptr + 1;
	const char *end = s.ptr + s.len;
	const char *p = start;

	while (p < end) {
		const char *quote = memchr(p, '"', (size_t)(end - p));
		const char *back = quote;

		if (!quote)
			return 0;
		while (back > start && back[-1] == '\\')
			back--;
		if ((quote - back) % 2 == 0)
			return (size_t)(quote - s.ptr) + 1;
		p = quote + 1;
	}
	return 0;
}

/* An object or array, by its brackets. */
static size_t nested_len(struct span s)
{
	size_t depth = 0;
	size_t i = 0;

	while (i < s.len) {
		char c = s.ptr[i];

		if (c == '"') {
			size_t n = string_len(span_of(s.ptr + i, s.len - i));

			if (n == 0)
				return 0;
			i += n;
			continue;
		}
		i++;
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			return i;
	}
	return 0;
}

/* Everything else: up to what may stand behind a value. */
static size_t scalar_len(struct span s)
{
	size_t n = 0;

	while (n < s.len && !json_blank(s.ptr[n]) && !memchr(",:]}[{\"", s.ptr[n], 7))
		n++;
	return n;
}

static size_t value_len(struct span s)
{
	if (s.len == 0)
		return 0;
	if (*s.ptr == '"')
		return string_len(s);
	if (*s.ptr == '{' || *s.ptr == '[')
		return nested_len(s);
	return scalar_len(s);
}

/* ---- walking ------------------------------------------------------------------- */

/* Anything that is no object or array has no members. */
void json_iter_init(struct json_iter *it, struct span value)
{
	value = span_trim(value);
	it->object = value.len > 0 && value.ptr[0] == '{';
	it->rest = SPAN_NONE;
	if (value.len >= 2 && (it->object || value.ptr[0] == '['))
		it->rest = span_of(value.ptr + 1, value.len - 1);
}

static void skip(struct span *s, size_t n)
{
	s->ptr += n;
	s->len -= n;
	while (s->len > 0 && json_blank(*s->ptr)) {
		s->ptr++;
		s->len--;
	}
}

/* The next value, and the white space around it. */
static bool take(struct span *rest, struct span *ret_value)
{
	size_t n;

	skip(rest, 0);
	n = value_len(*rest);
	if (n == 0)
		return false;
	*ret_value = span_of(rest->ptr, n);
	skip(rest, n);
	return true;
}

static bool take_char(struct span *rest, char c)
{
	if (rest->len == 0 || *rest->ptr != c)
		return false;
	skip(rest, 1);
	return true;
}

/* A fault ends the walk for good: rest becomes absent. */
bool json_iter_next(struct json_iter *it, struct span *ret_key, struct span *ret_value)
{
	struct span rest = it->rest;
	struct span key = SPAN_NONE;
	struct span value;

	it->rest = SPAN_NONE;
	if (span_absent(rest))
		return false;
	if (it->object && (!take(&rest, &key) || *key.ptr != '"' || !take_char(&rest, ':')))
		return false;
	if (!take(&rest, &value))
		return false;
	if (take_char(&rest, ','))
		it->rest = rest;
	else if (rest.len == 0 || *rest.ptr != (it->object ? '}' : ']'))
		return false;
	if (ret_key)
		*ret_key = key;
	*ret_value = value;
	return true;
}

/* To the end always: a later member with the same name counts. */
struct span json_get(struct span object, const char *key)
{
	struct span found = SPAN_NONE;
	struct json_iter it;
	struct span name;
	struct span value;

	json_iter_init(&it, object);
	if (!it.object)
		return SPAN_NONE;
	while (json_iter_next(&it, &name, &value)) {
		if (json_string_is(name, key))
			found = value;
	}
	return found;
}

/* Names in a path are ours: short, and without dots. */
struct span json_path(struct span object, const char *dotted)
{
	struct span rest = span_str(dotted);
	char key[64];

	while (!span_absent(rest) && !span_absent(object)) {
		struct span part = span_cut(&rest, '.');

		assert(part.len < sizeof(key));
		memcpy(key, part.ptr, part.len);
		key[part.len] = '\0';
		object = json_get(object, key);
	}
	return object;
}

/* ---- strings ------------------------------------------------------------------- */

/* What stands between the quotes: 0, or -EINVAL if there are none. */
static int string_inside(struct span value, struct span *ret)
{
	value = span_trim(value);
	if (value.len < 2 || value.ptr[0] != '"' || value.ptr[value.len - 1] != '"')
		return -EINVAL;
	*ret = span_of(value.ptr + 1, value.len - 2);
	return 0;
}

/* What the valid escape at s stands for, and its length. A surrogate without
 * its other half comes back as itself. */
static uint32_t escape_value(struct span s, size_t *ret_len)
{
	static const char letters[] = "\"\\/bfnrt";
	static const char values[] = "\"\\/\b\f\n\r\t";
	int unit = token_unit(s);
	int low;

	*ret_len = token_escape(s);
	if (unit < 0)
		return (unsigned char)values[strchr(letters, s.ptr[1]) - letters];
	low = token_unit(span_of(s.ptr + 6, s.len - 6));
	if (!token_high(unit) || !token_low(low))
		return (uint32_t)unit;
	*ret_len = 12;
	return 0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
}

/* The inside of a valid string. */
static int decode(struct span s, unsigned flags, struct buf *out)
{
	while (s.len > 0) {
		const char *slash = memchr(s.ptr, '\\', s.len);
		size_t n = slash ? (size_t)(slash - s.ptr) : s.len;
		char utf8[4];
		uint32_t cp;

		if (buf_append(out, s.ptr, n) != 0)
			return -EFBIG;
		s = span_of(s.ptr + n, s.len - n);
		if (s.len == 0)
			break;
		cp = escape_value(s, &n);
		if (cp >= 0xd800 && cp <= 0xdfff) {
			if (!(flags & JSON_LONE_REPLACE))
				return -EILSEQ;
			cp = 0xfffd;
		}
		if (buf_append(out, utf8, utf8_encode(cp, utf8)) != 0)
			return -EFBIG;
		s = span_of(s.ptr + n, s.len - n);
	}
	return 0;
}

/* Validated first: what is decoded must be one string and UTF-8. */
int json_string_decode(struct span value, unsigned flags, struct buf *out)
{
	size_t start = out->len;
	struct span inside;
	int r = string_inside(value, &inside);

	if (r != 0 || json_valid(value, 0, NULL, NULL) != 0)
		return -EINVAL;
	r = decode(inside, flags, out);
	if (r != 0)
		buf_truncate(out, start);
	return r;
}

/* Most strings have no escape and are compared as they stand. */
bool json_string_is(struct span value, const char *str)
{
	struct span inside;
	struct buf text;
	bool same;

	if (string_inside(value, &inside) != 0)
		return false;
	if (inside.len == 0 || !memchr(inside.ptr, '\\', inside.len))
		return span_is(inside, str);
	if (inside.len > 6 * strlen(str)) /* no escape is longer than \uXXXX a byte */
		return false;
	buf_init(&text, strlen(str));
	same = json_string_decode(value, 0, &text) == 0 && span_is(buf_span(&text), str);
	buf_free(&text);
	return same;
}

/* For ids and message types: no copy. */
struct span json_plain(struct span value)
{
	struct span inside;
	const char *end;

	if (string_inside(value, &inside) != 0)
		return SPAN_NONE;
	end = inside.ptr + inside.len;
	return token_run(inside.ptr, end) == end ? inside : SPAN_NONE;
}

/* ---- scalars --------------------------------------------------------------------- */

/* 1.0 and 1e3 are numbers but no integer tokens; -0 is 0. */
int json_int(struct span value, int64_t *ret_n)
{
	struct span s = span_trim(value);
	bool negative = s.len > 0 && s.ptr[0] == '-';
	unsigned long long n;
	int r;

	if (s.len == 0 || token_number(s) != s.len)
		return -EINVAL;
	r = span_u64(span_of(s.ptr + negative, s.len - negative), &n);
	if (r != 0)
		return r;
	if (n > (unsigned long long)INT64_MAX + negative)
		return -ERANGE;
	if (!negative)
		*ret_n = (int64_t)n;
	else
		*ret_n = n == 0 ? 0 : -(int64_t)(n - 1) - 1; /* INT64_MIN without overflow */
	return 0;
}

/* true or false, nothing that only looks like it. */
int json_bool(struct span value, bool *ret_b)
{
	struct span s = span_trim(value);

	if (!span_is(s, "true") && !span_is(s, "false"))
		return -EINVAL;
	*ret_b = s.len == 4;
	return 0;
}
