/*
 * ids.c - random names; the slot of a key.
 */
#include "base/ids.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

/* nginx turns 6.25 % into this share of 2^32 - 1 (625 * 0xffffffff / 10000,
 * each part rounded down, then summed); the last slot takes what is left. */
#define SLOT_SHARE 268435455u

/* The kernel may give less than was asked, or be interrupted, for long runs. */
void ids_random(void *out, size_t len)
{
	char *p = out;

	while (len > 0) {
		ssize_t n = getrandom(p, len, 0);

		if (n < 0 && errno != EINTR)
			abort();
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
}

/* In steps, so that the stack holds no more than 64 raw bytes. */
void ids_hex(char *out, size_t bytes)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char raw[64];

	for (size_t i = 0; i < bytes; i++) {
		if (i % sizeof(raw) == 0)
			ids_random(raw, bytes - i < sizeof(raw) ? bytes - i : sizeof(raw));
		*out++ = digits[raw[i % sizeof(raw)] >> 4];
		*out++ = digits[raw[i % sizeof(raw)] & 15];
	}
	*out = '\0';
}

/* Version and variant bits as in section 4.4. */
void ids_uuid(char out[UUID_LEN + 1])
{
	unsigned char r[16];

	ids_random(r, sizeof(r));
	r[6] = (unsigned char)((r[6] & 0x0f) | 0x40);
	r[8] = (unsigned char)((r[8] & 0x3f) | 0x80);
	snprintf(out, UUID_LEN + 1,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", r[0], r[1],
		 r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12], r[13], r[14],
		 r[15]);
}

/* nginx reads the key bytewise: the same on every machine. */
static uint32_t le32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Austin Appleby's MurmurHash2: words of four bytes, then what is left. */
uint32_t ids_murmur2(struct span key)
{
	const uint32_t m = 0x5bd1e995;
	const unsigned char *p = (const unsigned char *)key.ptr;
	size_t left = key.len;
	uint32_t h = (uint32_t)key.len; /* the seed is 0 ^ len */
	uint32_t k;

	for (; left >= 4; left -= 4, p += 4) {
		k = le32(p) * m;
		k ^= k >> 24;
		h = h * m ^ k * m;
	}
	if (left > 0) {
		for (k = 0; left > 0; left--)
			k = k << 8 | p[left - 1];
		h = (h ^ k) * m;
	}
	h ^= h >> 13;
	h *= m;
	return h ^ h >> 15;
}

/* split_clients takes the first part whose upper bound is above the hash. */
unsigned ids_slot(struct span key)
{
	unsigned slot = ids_murmur2(key) / SLOT_SHARE;

	return slot < SLOTS ? slot : SLOTS - 1;
}
