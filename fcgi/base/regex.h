/*
 * regex.h - PCRE2 patterns that an administrator wrote. The only door to pcre2.
 * Matching has limits on steps and depth, so no pattern can stop the loop.
 */
#ifndef NB2_BASE_REGEX_H
#define NB2_BASE_REGEX_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/span.h"

struct regex;

/* 0, or -EINVAL and why in *why (offset and PCRE2's sentence). */
int regex_new(struct span pattern, struct regex **ret, struct buf *why);
void regex_free(struct regex *re); /* NULL is fine */

/* Does the whole subject match? A match that hits a limit is no match. */
bool regex_matches(const struct regex *re, struct span subject);

#endif
