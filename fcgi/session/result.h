/*
 * result.h - a MIME bundle as the fields of a result record, in their order.
 */
#ifndef NB2_SESSION_RESULT_H
#define NB2_SESSION_RESULT_H

#include "base/buf.h"
#include "base/span.h"

/* Append `, "text": …, … , "extra": {…}` for the bundle: a member whose value
 * is null is left out, extra is always there (e2b-protocol.md section 4).
 * 0, -EINVAL (no object, or not JSON), -E2BIG, -EFBIG. */
int result_fields(struct buf *out, struct span bundle);

/* text/plain of a string is its repr: decode one whole Python string literal.
 * 0 and the text in out; -EINVAL: it is not exactly one literal we read (an
 * f-string, a bytes, 'a' + 'b', an odd escape): leave it as it is. */
int result_unquote(struct span repr, struct buf *out);
#define RESULT_UNQUOTE_MAX ((size_t)1 << 20) /* longer ones stay as they are */

#endif
