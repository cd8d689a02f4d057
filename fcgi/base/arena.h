/*
 * arena.h - memory that dies together: one a request.
 *
 * Blocks are freed by arena_free() only. The ceiling bounds what a peer can
 * make us keep: past it arena_alloc() answers NULL, and the caller refuses the
 * request. Not thread-safe.
 */
#ifndef NB2_BASE_ARENA_H
#define NB2_BASE_ARENA_H

#include <stddef.h>

#include "base/check.h"
#include "base/span.h"

struct arena {
	struct arena_block *blocks;
	size_t used;
	size_t max;
};

void arena_init(struct arena *a, size_t max); /* allocates nothing */
void arena_free(struct arena *a);	      /* usable again */

/* Aligned for any type; the padding counts. NULL past the ceiling. */
void *arena_alloc(struct arena *a, size_t size);
/* A NUL-terminated copy; NULL past the ceiling. */
char *arena_strndup(struct arena *a, const char *s, size_t len);
char *arena_span_dup(struct arena *a, struct span s);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
