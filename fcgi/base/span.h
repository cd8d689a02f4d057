/*
 * span.h - a borrowed run of bytes. Never owns, never needs a NUL behind it.
 *
 * An absent thing is SPAN_NONE (ptr NULL); an empty one has a ptr and len 0.
 */
#ifndef NB2_BASE_SPAN_H
#define NB2_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
	const char *ptr;
	size_t len;
};

#define SPAN_NONE ((struct span){ NULL, 0 })
#define SPAN_LIT(s) ((struct span){ "" s, sizeof(s) - 1 })
#define SPAN_FMT(s) (int)(s).len, (s).ptr /* for "%.*s", short spans only */

static inline struct span span_of(const char *ptr, size_t len)
{
	return (struct span){ ptr, len };
}

/* A C string; NULL gives SPAN_NONE. */
static inline struct span span_str(const char *s)
{
	return s ? (struct span){ s, strlen(s) } : SPAN_NONE;
}

static inline bool span_absent(struct span s)
{
	return s.ptr == NULL;
}

static inline bool span_eq(struct span a, struct span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool span_is(struct span s, const char *str)
{
	return s.ptr && span_eq(s, span_str(str));
}

bool span_starts(struct span s, const char *prefix);
bool span_ieq(struct span a, struct span b); /* ASCII case folded */

/* Cut at the first `sep`: returns what stands before it, *rest is what is
 * behind (SPAN_NONE when there was no sep). */
struct span span_cut(struct span *rest, char sep);

/* Without blanks, tabs, CR and LF at both ends. */
struct span span_trim(struct span s);

/* Whole span as an unsigned decimal number: 0 or -EINVAL / -ERANGE. */
int span_u64(struct span s, unsigned long long *ret_n);

#endif
