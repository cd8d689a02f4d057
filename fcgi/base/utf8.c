/*
 * utf8.c - one decoder by the table of RFC 3629 section 4.
 */
#include "base/utf8.h"

/* A continuation byte, 10xxxxxx. */
static bool cont(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* The bounds of each row are those of the table: overlong forms, surrogates
 * and what is above U+10FFFF fall out by them. */
size_t utf8_decode(struct span s, uint32_t *ret_cp)
{
	const unsigned char *p = (const unsigned char *)s.ptr;

	if (p[0] < 0x80) {
		*ret_cp = p[0];
		return 1;
	}
	if (p[0] >= 0xc2 && p[0] <= 0xdf && s.len >= 2 && cont(p[1])) {
		*ret_cp = (uint32_t)(p[0] & 0x1f) << 6 | (p[1] & 0x3f);
		return 2;
	}
	if ((p[0] & 0xf0) == 0xe0 && s.len >= 3 && cont(p[1]) && cont(p[2])) {
		*ret_cp =
			(uint32_t)(p[0] & 0xf) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
		return *ret_cp >= 0x800 && (*ret_cp < 0xd800 || *ret_cp > 0xdfff) ? 3 : 0;
	}
	if (p[0] >= 0xf0 && p[0] <= 0xf4 && s.len >= 4 && cont(p[1]) && cont(p[2]) && cont(p[3])) {
		*ret_cp = (uint32_t)(p[0] & 7) << 18 | (uint32_t)(p[1] & 0x3f) << 12 |
			  (uint32_t)(p[2] & 0x3f) << 6 | (p[3] & 0x3f);
		return *ret_cp >= 0x10000 && *ret_cp <= 0x10ffff ? 4 : 0;
	}
	return 0;
}

/* No high bit in the next eight bytes? */
static bool ascii8(const char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return (v & UINT64_C(0x8080808080808080)) == 0;
}

/* Stops before the first sequence that is not valid, or not whole. */
size_t utf8_valid_len(struct span s)
{
	size_t i = 0;
	uint32_t cp;

	while (i < s.len) {
		size_t n;

		/* Most text is ASCII: eight bytes a step. */
		if (s.len - i >= 8 && ascii8(s.ptr + i)) {
			i += 8;
			continue;
		}
		n = utf8_decode(span_of(s.ptr + i, s.len - i), &cp);
		if (n == 0)
			break;
		i += n;
	}
	return i;
}

/* The caller has made sure that cp is a scalar value. */
size_t utf8_encode(uint32_t cp, char out[4])
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xc0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xe0 | cp >> 12);
		out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		out[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | cp >> 18);
	out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	out[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}
