/*
 * buf.c - growth by doubling, up to the ceiling and not a byte further.
 */
#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define FIRST 64

/* Allocates nothing. */
void buf_init(struct buf *b, size_t max)
{
	*b = BUF_INIT(max);
}

/* The ceiling stays, for another use. */
void buf_free(struct buf *b)
{
	free(b->data);
	*b = BUF_INIT(b->max);
}

/* Keeps the memory. */
void buf_reset(struct buf *b)
{
	b->err = 0;
	buf_truncate(b, 0);
}

/* What went wrong since the last reset. */
int buf_error(const struct buf *b)
{
	return b->err;
}

/* Never absent: an untouched buffer is an empty span. */
struct span buf_span(const struct buf *b)
{
	return span_of(b->data ? b->data : "", b->len);
}

/* Doubling keeps appends linear; the last step goes to the ceiling itself, so
 * that a nearly full buffer does not move at every byte. */
char *buf_reserve(struct buf *b, size_t n)
{
	size_t cap = b->cap < FIRST ? FIRST : b->cap;
	size_t need;

	if (n > b->max - b->len || n >= SIZE_MAX / 4 - b->len) {
		b->err = -EFBIG;
		return NULL;
	}
	need = b->len + n + 1; /* one more for the NUL */
	if (need <= b->cap)
		return b->data + b->len;
	while (cap < need)
		cap *= 2;
	if (b->max < cap)
		cap = b->max + 1;
	b->data = xrealloc(b->data, cap);
	b->data[b->len] = '\0';
	b->cap = cap;
	return b->data + b->len;
}

/* The caller wrote n bytes where buf_reserve() pointed. */
void buf_commit(struct buf *b, size_t n)
{
	assert(n <= b->max - b->len && b->len + n < b->cap);
	b->len += n;
	b->data[b->len] = '\0';
}

/* data may not point into b. */
int buf_append(struct buf *b, const void *data, size_t len)
{
	char *to = buf_reserve(b, len);

	if (!to)
		return -EFBIG;
	if (len)
		memcpy(to, data, len);
	buf_commit(b, len);
	return 0;
}

/* An absent span is an empty one. */
int buf_span_append(struct buf *b, struct span s)
{
	return buf_append(b, s.ptr, s.len);
}

/* A C string without its NUL. */
int buf_puts(struct buf *b, const char *s)
{
	return buf_append(b, s, strlen(s));
}

/* One byte, NUL too. */
int buf_putc(struct buf *b, char c)
{
	return buf_append(b, &c, 1);
}

/* Measured first: a text that does not fit leaves no half behind. */
int buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	char *to;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	assert(n >= 0);
	to = buf_reserve(b, (size_t)n);
	if (!to)
		return -EFBIG;
	vsnprintf(to, (size_t)n + 1, fmt, ap);
	buf_commit(b, (size_t)n);
	return 0;
}

/* buf_vprintf() with its arguments spelt out. */
int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = buf_vprintf(b, fmt, ap);
	va_end(ap);
	return r;
}

/* Moves the rest down. */
void buf_consume(struct buf *b, size_t n)
{
	assert(n <= b->len);
	if (n == 0)
		return;
	memmove(b->data, b->data + n, b->len - n);
	buf_truncate(b, b->len - n);
}

/* Only shortens. */
void buf_truncate(struct buf *b, size_t len)
{
	assert(len <= b->len);
	b->len = len;
	if (b->data)
		b->data[len] = '\0';
}

/* The caller frees what comes back. */
char *buf_detach(struct buf *b, size_t *ret_len)
{
	char *data = b->data ? b->data : xstrdup("");

	if (ret_len)
		*ret_len = b->len;
	*b = BUF_INIT(b->max);
	return data;
}
