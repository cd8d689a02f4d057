/*
 * arena.c - a chain of blocks; the newest is filled.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define BLOCK ((size_t)4096)
#define ALIGN _Alignof(max_align_t)

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t size;
	_Alignas(max_align_t) char data[];
};

/* Nothing is allocated before the first use. */
void arena_init(struct arena *a, size_t max)
{
	*a = (struct arena){ .max = max };
}

/* Ends every allocation at once. */
void arena_free(struct arena *a)
{
	struct arena_block *b;

	while ((b = a->blocks) != NULL) {
		a->blocks = b->next;
		free(b);
	}
	a->used = 0;
}

/* A fresh block in front, with room for size at least. */
static struct arena_block *block_add(struct arena *a, size_t size)
{
	struct arena_block *b;

	if (size < BLOCK - sizeof(*b))
		size = BLOCK - sizeof(*b);
	b = xmalloc(sizeof(*b) + size);
	b->used = 0;
	b->size = size;
	b->next = a->blocks;
	a->blocks = b;
	return b;
}

/* The rounding counts against the ceiling: it bounds what we keep. */
void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *b = a->blocks;
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (size > a->max || a->used > a->max - size)
		return NULL;
	if (!b || b->size - b->used < size)
		b = block_add(a, size);
	p = b->data + b->used;
	b->used += size;
	a->used += size;
	return p;
}

/* Copies len bytes, NULs among them too. */
char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *copy = arena_alloc(a, len + 1);

	if (!copy)
		return NULL;
	if (len)
		memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

/* The same for a span; an absent one gives "". */
char *arena_span_dup(struct arena *a, struct span s)
{
	return arena_strndup(a, s.ptr, s.len);
}

/* Formats twice, so that the size is known before anything is taken. */
char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	assert(n >= 0);
	p = arena_alloc(a, (size_t)n + 1);
	if (!p)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}
