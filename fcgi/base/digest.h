/*
 * digest.h - SHA-256 and a comparison that takes the same time for all inputs.
 * The only door to libcrypto.
 */
#ifndef NB2_BASE_DIGEST_H
#define NB2_BASE_DIGEST_H

#include <stdbool.h>

#include "base/check.h"
#include "base/span.h"

#define DIGEST_LEN 32

void digest_sha256(struct span data, unsigned char out[DIGEST_LEN]);
bool digest_eq(const unsigned char a[DIGEST_LEN], const unsigned char b[DIGEST_LEN]);
/* 64 hex digits (either case) to bytes: 0 or -EINVAL. */
int digest_parse(struct span hex, unsigned char ret[DIGEST_LEN]);

#endif
