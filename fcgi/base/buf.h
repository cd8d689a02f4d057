/*
 * buf.h - a growable run of bytes with a ceiling.
 *
 * Invariants: len <= max; data is NULL only while nothing was ever appended;
 * after every append data[len] is NUL, so data is a C string if it holds no
 * NUL itself. An append that would pass the ceiling changes nothing, returns
 * -EFBIG and is remembered in err: a writer may append many pieces and look
 * once, with buf_error(). Not thread-safe. The owner calls buf_free().
 */
#ifndef NB2_BASE_BUF_H
#define NB2_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/span.h"

struct buf {
	char *data;
	size_t len;
	size_t cap;
	size_t max;
	int err; /* 0 or -EFBIG, sticky until buf_reset() */
};

#define BUF_INIT(ceiling) ((struct buf){ .max = (ceiling) })

void buf_init(struct buf *b, size_t max); /* allocates nothing */
void buf_free(struct buf *b);		  /* usable again, same ceiling */
void buf_reset(struct buf *b);		  /* len 0, err 0; keeps the memory */

int buf_error(const struct buf *b);
struct span buf_span(const struct buf *b);

/* 0 or -EFBIG. */
int buf_append(struct buf *b, const void *data, size_t len);
int buf_span_append(struct buf *b, struct span s);
int buf_puts(struct buf *b, const char *s);
int buf_putc(struct buf *b, char c);
int buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
int buf_vprintf(struct buf *b, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

/* Room for at least n more bytes: a pointer to write to, NULL (and err) past
 * the ceiling. buf_commit() says how many of them were written. */
char *buf_reserve(struct buf *b, size_t n);
void buf_commit(struct buf *b, size_t n);

/* Drop n bytes at the front. */
void buf_consume(struct buf *b, size_t n);
void buf_truncate(struct buf *b, size_t len);

/* The memory changes hands (NUL-terminated, free() it); b is empty again.
 * ret_len may be NULL. Never NULL. */
char *buf_detach(struct buf *b, size_t *ret_len);

#endif
