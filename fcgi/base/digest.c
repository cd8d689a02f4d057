/*
 * digest.c - libcrypto, for two things.
 */
#include "base/digest.h"
#include "base/hex.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

/* SHA-256 of in-memory data cannot fail but by our own mistake. */
void digest_sha256(struct span data, unsigned char out[DIGEST_LEN])
{
	unsigned len = 0;

	if (EVP_Digest(data.ptr ? data.ptr : "", data.len, out, &len, EVP_sha256(), NULL) != 1)
		len = 0;
	assert(len == DIGEST_LEN);
}

/* Does not stop at the first difference: time tells nothing of the token. */
bool digest_eq(const unsigned char a[DIGEST_LEN], const unsigned char b[DIGEST_LEN])
{
	return CRYPTO_memcmp(a, b, DIGEST_LEN) == 0;
}

/* ret is touched only when all 64 digits were read. */
int digest_parse(struct span hex, unsigned char ret[DIGEST_LEN])
{
	unsigned char out[DIGEST_LEN];

	if (hex.len != 2 * DIGEST_LEN)
		return -EINVAL;
	for (size_t i = 0; i < DIGEST_LEN; i++) {
		int hi = hex_value(hex.ptr[2 * i]);
		int lo = hex_value(hex.ptr[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return -EINVAL;
		out[i] = (unsigned char)(hi << 4 | lo);
	}
	memcpy(ret, out, DIGEST_LEN);
	return 0;
}
