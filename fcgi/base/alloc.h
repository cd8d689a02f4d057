/*
 * alloc.h - small allocations that never fail.
 *
 * Exhaustion of memory by a small allocation stops the process with a message
 * (the master starts it anew); anything sized by a peer goes into a struct buf
 * or an arena with a ceiling instead. Thread-safe.
 */
#ifndef NB2_BASE_ALLOC_H
#define NB2_BASE_ALLOC_H

#include <stddef.h>

#include "base/check.h"

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size); /* zeroed; n * size may not overflow */
void *xrealloc(void *ptr, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n); /* copies exactly n bytes and adds a NUL */
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
