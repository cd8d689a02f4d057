/*
 * pass_int.h - one pass over a JSON text: validate it and, if asked, copy it.
 */
#ifndef NB2_JSON_PASS_INT_H
#define NB2_JSON_PASS_INT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/span.h"
#include "json/scan.h"

struct pass {
	const char *p; /* after a failure: at the fault */
	const char *end;
	struct buf *out; /* NULL: validate only. Its err must be 0 at the start. */
	const char *comma;
	const char *colon;
	bool lenient;	 /* NaN and infinities are read, and written as null */
	const char *why; /* after a failure: a static phrase */
	unsigned depth;
	unsigned char object[JSON_DEPTH_MAX / 8]; /* bit: this level is an object */
};

/* From p to end, exactly one value with white space around it. 0, -EINVAL,
 * -E2BIG, -EFBIG; on failure out holds what was copied so far. */
int pass_run(struct pass *w);

/* In emit.c: write the non-ASCII characters at s as escapes (out may be NULL).
 * Returns how many bytes of s they were, 0 if it is not UTF-8 there. Takes a
 * stretch of them at once, but no more than FOREIGN_STRETCH characters. */
#define FOREIGN_STRETCH 64
size_t emit_foreign(struct buf *out, struct span s);

#endif
