/*
 * map.c - an index of open addresses over entries in order of insertion.
 *
 * Deleted entries stay as holes until the next growth, so that a walk keeps
 * its place. Keys come from peers, so the hash is SipHash-1-3 with a random
 * key (Aumasson and Bernstein, "SipHash: a fast short-input PRF").
 */
#include "base/map.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/ids.h"

#define FREE UINT32_MAX

struct entry {
	char *key; /* NULL: a hole */
	size_t len;
	uint64_t hash;
	void *value;
};

struct map {
	uint64_t seed[2];
	struct entry *entries;
	size_t used; /* with holes */
	size_t live;
	size_t cap;	 /* of entries; a power of two */
	uint32_t *index; /* 2 * cap places */
};

static uint64_t rotl(uint64_t x, unsigned n)
{
	return x << n | x >> (64 - n);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] = rotl(v[0], 32) + v[3];
	v[2] += v[1];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[2] = rotl(v[2], 32);
}

/* One round a word of eight bytes, three at the end. */
static uint64_t hash_of(const struct map *m, struct span key)
{
	uint64_t v[4] = { m->seed[0] ^ 0x736f6d6570736575u, m->seed[1] ^ 0x646f72616e646f6du,
			  m->seed[0] ^ 0x6c7967656e657261u, m->seed[1] ^ 0x7465646279746573u };
	uint64_t word;
	size_t i;

	for (i = 0; i + 8 <= key.len; i += 8) {
		memcpy(&word, key.ptr + i, 8);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	word = (uint64_t)key.len << 56;
	for (size_t k = 0; i + k < key.len; k++)
		word |= (uint64_t)(unsigned char)key.ptr[i + k] << (8 * k);
	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
	v[2] ^= 0xff;
	for (int k = 0; k < 3; k++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The seed is the map's own: no state is shared between threads. */
struct map *map_new(void)
{
	struct map *m = xcalloc(1, sizeof(*m));

	ids_random(m->seed, sizeof(m->seed));
	return m;
}

/* The values are their owners' business. */
void map_free(struct map *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->used; i++)
		free(m->entries[i].key);
	free(m->entries);
	free(m->index);
	free(m);
}

/* The place in the index where key stands, or the free one where it would. At
 * least half of the places are free, so the search ends. */
static uint32_t *place_of(const struct map *m, struct span key, uint64_t hash)
{
	size_t mask = 2 * m->cap - 1;

	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		const struct entry *e;

		if (m->index[i] == FREE)
			return &m->index[i];
		e = &m->entries[m->index[i]];
		if (e->key && e->hash == hash && span_eq(span_of(e->key, e->len), key))
			return &m->index[i];
	}
}

static struct entry *find(const struct map *m, struct span key, uint64_t hash)
{
	uint32_t *p;

	if (m->cap == 0)
		return NULL;
	p = place_of(m, key, hash);
	return *p == FREE ? NULL : &m->entries[*p];
}

/* NULL when it is not there: values never are. */
void *map_get(const struct map *m, struct span key)
{
	const struct entry *e = find(m, key, hash_of(m, key));

	return e ? e->value : NULL;
}

/* Make room for one more: drop the holes, double if it is really full. */
static void grow(struct map *m)
{
	size_t cap = m->live * 2 > m->cap ? 2 * m->cap : m->cap;
	size_t n = 0;

	if (cap == 0)
		cap = 8;
	for (size_t i = 0; i < m->used; i++) {
		if (m->entries[i].key)
			m->entries[n++] = m->entries[i];
	}
	assert(cap < FREE);
	m->used = n;
	m->cap = cap;
	m->entries = xrealloc(m->entries, cap * sizeof(*m->entries));
	m->index = xrealloc(m->index, 2 * cap * sizeof(*m->index));
	for (size_t i = 0; i < 2 * cap; i++)
		m->index[i] = FREE;
	for (size_t i = 0; i < n; i++) {
		struct span key = span_of(m->entries[i].key, m->entries[i].len);

		*place_of(m, key, m->entries[i].hash) = (uint32_t)i;
	}
}

/* A key that is there keeps its place in the order. */
void *map_put(struct map *m, struct span key, void *value)
{
	uint64_t hash = hash_of(m, key);
	struct entry *e = find(m, key, hash);
	void *old;

	assert(value);
	if (e) {
		old = e->value;
		e->value = value;
		return old;
	}
	if (m->used == m->cap)
		grow(m);
	e = &m->entries[m->used];
	e->key = xstrndup(key.ptr, key.len);
	e->len = key.len;
	e->hash = hash;
	e->value = value;
	*place_of(m, key, hash) = (uint32_t)m->used++;
	m->live++;
	return NULL;
}

/* Leaves a hole, in the index too: probes go on past it. */
void *map_del(struct map *m, struct span key)
{
	struct entry *e = find(m, key, hash_of(m, key));
	void *old;

	if (!e)
		return NULL;
	old = e->value;
	free(e->key);
	e->key = NULL;
	m->live--;
	return old;
}

/* Without the holes. */
size_t map_len(const struct map *m)
{
	return m->live;
}

/* A place is an entry's number. */
void *map_next(const struct map *m, size_t *place, struct span *ret_key)
{
	while (*place < m->used) {
		const struct entry *e = &m->entries[(*place)++];

		if (!e->key)
			continue;
		if (ret_key)
			*ret_key = span_of(e->key, e->len);
		return e->value;
	}
	return NULL;
}
