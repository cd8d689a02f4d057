/*
 * utf8.h - UTF-8 as in RFC 3629: no surrogates, no overlong forms, <= U+10FFFF.
 */
#ifndef NB2_BASE_UTF8_H
#define NB2_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

/* Length of the valid prefix: s.len when all of it is valid. */
size_t utf8_valid_len(struct span s);

/* Decode the sequence at s (s.len > 0): returns its length 1-4 and *ret_cp,
 * or 0 when it is not valid there. */
size_t utf8_decode(struct span s, uint32_t *ret_cp);

/* Write cp (a scalar value) to out[4]; returns the length 1-4. */
size_t utf8_encode(uint32_t cp, char out[4]);

#endif
