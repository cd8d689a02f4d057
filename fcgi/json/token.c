/*
 * token.c - JSON's tokens, RFC 8259 sections 3, 6 and 7.
 */
#include "json/token_int.h"

#include <stdint.h>
#include "base/hex.h"

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

/* Nonzero if a byte of v is below n (n <= 0x80): the subtraction borrows into
 * the high bit. What stands above such a byte may be a false alarm. */
static inline uint64_t has_below(uint64_t v, unsigned char n)
{
	return (v - ONES * n) & ~v & HIGHS;
}

/* Does one of eight bytes end a run? */
static inline uint64_t ends_run(uint64_t v)
{
	return (v & HIGHS) | has_below(v, 0x20) | has_below(v ^ ONES * '"', 1) |
	       has_below(v ^ ONES * '\\', 1);
}

/* Most of a large output is one run: eight bytes a step, then the last few. */
const char *token_run(const char *p, const char *end)
{
	uint64_t v;

	while (end - p >= 8) {
		memcpy(&v, p, 8);
		if (ends_run(v))
			break;
		p += 8;
	}
	while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' &&
	       *p != '\\')
		p++;
	return p;
}

static size_t digits(const char *p, const char *end)
{
	size_t n = 0;

	while (p + n < end && p[n] >= '0' && p[n] <= '9')
		n++;
	return n;
}

/* Section 6: [ minus ] int [ frac ] [ exp ], no leading zeros. */
size_t token_number(struct span s)
{
	const char *p = s.ptr;
	const char *end = s.ptr + s.len;
	size_t n;

	if (p < end && *p == '-')
		p++;
	n = digits(p, end);
	if (n == 0 || (n > 1 && *p == '0'))
		return 0;
	p += n;
	if (p < end && *p == '.') {
		n = digits(++p, end);
		if (n == 0)
			return 0;
		p += n;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		n = digits(p, end);
		if (n == 0)
			return 0;
		p += n;
	}
	return (size_t)(p - s.ptr);
}

/* The literal names; the last three are Python's, not JSON's. */
size_t token_word(struct span s, bool lenient)
{
	static const char *const words[] = {
		"true", "false", "null", "NaN", "Infinity", "-Infinity"
	};
	size_t n = lenient ? 6 : 3;

	for (size_t i = 0; i < n; i++) {
		if (span_starts(s, words[i]))
			return strlen(words[i]);
	}
	return 0;
}

/* Lone surrogates are units like any other. */
int token_unit(struct span s)
{
	int unit = 0;

	if (s.len < 6 || s.ptr[0] != '\\' || s.ptr[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		int digit = hex_value(s.ptr[i]);

		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

/* Section 7: \uXXXX or one of eight letters. */
size_t token_escape(struct span s)
{
	if (s.len < 2)
		return 0;
	if (s.ptr[1] == 'u')
		return token_unit(s) >= 0 ? 6 : 0;
	return memchr("\"\\/bfnrt", s.ptr[1], 8) ? 2 : 0;
}
