/*
 * emit.h - writing JSON that every reader can take: strict, one line, ASCII.
 *
 * What leaves here holds only bytes 0x20-0x7f: everything else is written as
 * \uXXXX (surrogate pairs above U+FFFF), with the short escapes \b \f \n \r
 * \t \" \\ where JSON has them, as Python's json.dumps does (which lets 0x7f
 * stand too). `/` is not escaped.
 */
#ifndef NB2_JSON_EMIT_H
#define NB2_JSON_EMIT_H

#include "base/buf.h"
#include "base/span.h"

#define JSON_SPACED 1u /* separators ", " and ": " as Python's json.dumps; else "," and ":" */

/*
 * Copy one JSON value in one pass: validated, non-ASCII escaped, NaN and
 * infinities written as null, white space between tokens dropped. Number
 * tokens pass digit for digit; escapes pass as they are (a lone surrogate
 * stays an escape), except that \/ and escapes of printable ASCII may stay.
 * 0, -EINVAL (not one valid value or not UTF-8), -E2BIG (nesting), -EFBIG;
 * on failure out is as it was, its err too: the caller may write something
 * else in its place.
 */
int json_span_emit(struct buf *out, struct span value, unsigned flags);

/* A quoted string from UTF-8 text; each byte that is not UTF-8 becomes \ufffd.
 * 0, or -EFBIG: then out has its old length and remembers the error. */
int json_text_emit(struct buf *out, struct span utf8);

/*
 * A string value in pieces. *rest starts as the value with its quotes; each
 * call writes a quoted string of at most max bytes (max >= 64) and moves
 * *rest on; SPAN_NONE when all is written. Never cuts within an escape, a
 * UTF-8 sequence or a surrogate pair (also one written as two escapes).
 * 0, -EINVAL, -EFBIG; after a failure *rest is SPAN_NONE and out as it was.
 */
int json_string_piece(struct buf *out, struct span *rest, size_t max);

#endif
