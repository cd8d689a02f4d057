/*
 * ids.h - random names and the hash that finds a slot.
 *
 * Randomness is getrandom(2); it never fails on the kernels we run on.
 */
#ifndef NB2_BASE_IDS_H
#define NB2_BASE_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

#define UUID_LEN 36
#define SLOTS 16 /* design.md: fixed, whatever the number of workers */

void ids_random(void *out, size_t len);
/* 2 * bytes lower-case hex digits and a NUL. */
void ids_hex(char *out, size_t bytes);
/* A random UUID, RFC 4122 version 4: 36 characters and a NUL. */
void ids_uuid(char out[UUID_LEN + 1]);

/* MurmurHash2 (32 bit, seed as nginx's split_clients uses it). */
uint32_t ids_murmur2(struct span key);

/* Which of the SLOTS owns this key: the same arithmetic as the split_clients
 * block of conf/nginx. The only place in C that knows the formula. */
unsigned ids_slot(struct span key);

#endif
