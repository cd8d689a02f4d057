/*
 * span.c - looking at borrowed bytes.
 */
#include "base/span.h"

#include <errno.h>
#include <limits.h>

/* An absent span starts with nothing, not even "". */
bool span_starts(struct span s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.ptr && s.len >= n && memcmp(s.ptr, prefix, n) == 0;
}

/* Not tolower(3): that asks the locale, and strncasecmp(3) stops at a NUL. */
static char fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Header names and the like. */
bool span_ieq(struct span a, struct span b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++) {
		if (fold(a.ptr[i]) != fold(b.ptr[i]))
			return false;
	}
	return true;
}

/* One field of a list; loop until *rest is absent. */
struct span span_cut(struct span *rest, char sep)
{
	struct span head = *rest;
	const char *at = rest->len ? memchr(rest->ptr, sep, rest->len) : NULL;

	if (!at) {
		*rest = SPAN_NONE;
		return head;
	}
	head.len = (size_t)(at - head.ptr);
	*rest = span_of(at + 1, rest->len - head.len - 1);
	return head;
}

/* What JSON and HTTP call white space. */
static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* An absent span stays absent. */
struct span span_trim(struct span s)
{
	while (s.len && blank(s.ptr[0])) {
		s.ptr++;
		s.len--;
	}
	while (s.len && blank(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

/* Digits only: no sign, no blanks, unlike strtoull(3). */
int span_u64(struct span s, unsigned long long *ret_n)
{
	unsigned long long n = 0;
	bool fits = true;

	if (s.len == 0)
		return -EINVAL;
	for (size_t i = 0; i < s.len; i++) {
		unsigned digit = (unsigned)(s.ptr[i] - '0');

		if (digit > 9)
			return -EINVAL;
		fits = fits && n <= (ULLONG_MAX - digit) / 10;
		n = fits ? n * 10 + digit : n;
	}
	if (!fits)
		return -ERANGE;
	*ret_n = n;
	return 0;
}
