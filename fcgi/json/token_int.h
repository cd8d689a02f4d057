/*
 * token_int.h - the tokens of a JSON text: where does one end, and is it well
 * made? What scan.c, pass.c and emit.c share.
 */
#ifndef NB2_JSON_TOKEN_INT_H
#define NB2_JSON_TOKEN_INT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

static inline bool json_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The first byte in [p, end) that is a quote, a backslash, a control character
 * or not ASCII; end if there is none. */
const char *token_run(const char *p, const char *end);

/* Each starts at the token's first byte and returns its length, 0 for one that
 * is not well made. */
size_t token_number(struct span s);
size_t token_word(struct span s, bool lenient); /* lenient: with NaN, Infinity, -Infinity */
size_t token_escape(struct span s);		/* s starts with a backslash */

/* The UTF-16 unit of the \uXXXX escape at s, -1 if there is none. */
int token_unit(struct span s);

/* The two halves of a surrogate pair. */
static inline bool token_high(int unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static inline bool token_low(int unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

#endif
