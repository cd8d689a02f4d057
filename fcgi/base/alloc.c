/*
 * alloc.c - the allocator that answers or stops.
 */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without memory for a small thing nothing sensible can be done or told. */
static void *stop_if_null(void *p)
{
	if (!p) {
		fputs("nb2: out of memory\n", stderr);
		abort();
	}
	return p;
}

/* Zero bytes are one, so that NULL always means failure. */
void *xmalloc(size_t size)
{
	return stop_if_null(malloc(size ? size : 1));
}

/* calloc(3) itself refuses a product that overflows. */
void *xcalloc(size_t n, size_t size)
{
	return stop_if_null(calloc(n ? n : 1, size ? size : 1));
}

/* Never frees. */
void *xrealloc(void *ptr, size_t size)
{
	return stop_if_null(realloc(ptr, size ? size : 1));
}

/* A whole C string. */
char *xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

/* n bytes whatever they are: s need not end with a NUL. */
char *xstrndup(const char *s, size_t n)
{
	char *copy = xmalloc(n + 1);

	if (n)
		memcpy(copy, s, n);
	copy[n] = '\0';
	return copy;
}

/* asprintf(3) that answers with the text. */
char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return stop_if_null(s);
}
