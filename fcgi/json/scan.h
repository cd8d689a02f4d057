/*
 * scan.h - reading JSON without a tree: values are spans of the text.
 *
 * RFC 8259, as kernels send it: NaN, Infinity and -Infinity are read where a
 * number may stand, and lone surrogate escapes are allowed. Nothing is
 * converted, so number tokens keep their digits and duplicate keys are seen.
 *
 * Everything here is safe on any bytes: on text that was not validated a
 * reader finds nothing (SPAN_NONE), never a wild pointer. Nesting is bounded
 * by JSON_DEPTH_MAX. Pure; thread-safe.
 */
#ifndef NB2_JSON_SCAN_H
#define NB2_JSON_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/span.h"

#define JSON_DEPTH_MAX 512

enum json_type {
	JSON_NONE, /* absent, or not JSON */
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER, /* with NaN, Infinity, -Infinity */
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

#define JSON_STRICT 1u /* refuse NaN and infinities (request bodies) */

/* Is text exactly one JSON value, white space around it allowed, and valid
 * UTF-8? 0, -EINVAL, or -E2BIG when nested too deep; then *ret_at (may be
 * NULL) is the byte offset of the fault and *ret_why (may be NULL) a static
 * phrase. */
int json_valid(struct span text, unsigned flags, size_t *ret_at, const char **ret_why);

enum json_type json_type_of(struct span value);
/* "none", "null", "boolean", "number", "string", "array", "object". */
const char *json_type_name(enum json_type t);

/* The members of an object or the items of an array, one after the other. */
struct json_iter {
	struct span rest;
	bool object;
};
void json_iter_init(struct json_iter *it, struct span value);
/* false at the end or at a fault. *ret_key is the raw string with its quotes
 * (SPAN_NONE in arrays; may be NULL); *ret_value has no white space around. */
bool json_iter_next(struct json_iter *it, struct span *ret_key, struct span *ret_value);

/* The value of a member; the last one when the key stands twice (as Python
 * and JavaScript do). SPAN_NONE if absent or value is no object. Keys are
 * compared decoded. */
struct span json_get(struct span object, const char *key);
/* json_get() along a path: "parent_header.msg_id". */
struct span json_path(struct span object, const char *dotted);

/* Does this string value equal str, escapes decoded? */
bool json_string_is(struct span value, const char *str);

/* Append the decoded string as UTF-8. 0, -EINVAL (no string), -EFBIG, or
 * -EILSEQ if it holds a lone surrogate (nothing appended then, unless
 * JSON_LONE_REPLACE: U+FFFD instead). */
#define JSON_LONE_REPLACE 1u
int json_string_decode(struct span value, unsigned flags, struct buf *out);

/* A string value's characters without quotes, when it holds no escape and is
 * plain ASCII (ids, message types); else SPAN_NONE. */
struct span json_plain(struct span value);

/* 0, -EINVAL (not an integer token), -ERANGE. */
int json_int(struct span value, int64_t *ret_n);
int json_bool(struct span value, bool *ret_b);

#endif
