/*
 * pass.c - the one pass that validates JSON and copies it strict and ASCII.
 *
 * A loop with a stack of one bit a level, no recursion: what a peer sends
 * cannot exhaust the stack. Validating and copying are the same code, so that
 * they can never disagree about what JSON is.
 */
#include "json/pass_int.h"

#include <errno.h>

#include "json/token_int.h"

static int wrong(struct pass *w, const char *at, const char *why)
{
	w->p = at;
	w->why = why;
	return -EINVAL;
}

static int put(struct pass *w, const char *data, size_t len)
{
	return w->out ? buf_append(w->out, data, len) : 0;
}

static struct span rest(const struct pass *w)
{
	return span_of(w->p, (size_t)(w->end - w->p));
}

/* Move over white space. False at the end of the text. */
static bool skip(struct pass *w)
{
	while (w->p < w->end && json_blank(*w->p))
		w->p++;
	return w->p < w->end;
}

static bool in_object(const struct pass *w)
{
	return w->object[(w->depth - 1) / 8] >> ((w->depth - 1) % 8) & 1;
}

/* What ended a run inside a string is no quote: an escape, or characters that
 * are not ASCII. */
static int take_element(struct pass *w)
{
	size_t n;

	if (*w->p == '\\') {
		n = token_escape(rest(w));
		if (n == 0)
			return wrong(w, w->p, "a wrong escape in a string");
		w->p += n;
		return put(w, w->p - n, n);
	}
	if ((unsigned char)*w->p < 0x20)
		return wrong(w, w->p, "a control character in a string");
	n = emit_foreign(w->out, rest(w));
	if (n == 0)
		return wrong(w, w->p, "not valid UTF-8");
	w->p += n;
	return w->out ? buf_error(w->out) : 0;
}

/* A string from quote to quote. */
static int take_string(struct pass *w)
{
	const char *start = w->p++;
	int r = put(w, "\"", 1);

	while (r == 0) {
		const char *run = w->p;

		w->p = token_run(run, w->end);
		r = put(w, run, (size_t)(w->p - run));
		if (r != 0)
			break;
		if (w->p == w->end)
			return wrong(w, start, "a string is not closed");
		if (*w->p == '"') {
			w->p++;
			return put(w, "\"", 1);
		}
		r = take_element(w);
	}
	return r;
}

static int take_scalar(struct pass *w)
{
	size_t n;
	bool strict = true;

	if (*w->p == '"')
		return take_string(w);
	n = token_number(rest(w));
	if (n == 0)
		n = token_word(rest(w), false);
	if (n == 0) {
		n = token_word(rest(w), w->lenient);
		strict = false;
	}
	if (n == 0)
		return wrong(w, w->p, "a value is expected");
	w->p += n;
	return strict ? put(w, w->p - n, n) : put(w, "null", 4);
}

/* "key": with the white space around it. */
static int take_key(struct pass *w)
{
	int r;

	if (!skip(w) || *w->p != '"')
		return wrong(w, w->p, "a member's name in double quotes is expected");
	r = take_string(w);
	if (r != 0)
		return r;
	if (!skip(w) || *w->p != ':')
		return wrong(w, w->p, "a colon is expected");
	w->p++;
	return put(w, w->colon, strlen(w->colon));
}

static int open_level(struct pass *w, bool object)
{
	unsigned char bit = (unsigned char)(1u << (w->depth % 8));

	if (w->depth == JSON_DEPTH_MAX) {
		w->why = "nested too deep";
		return -E2BIG;
	}
	if (object)
		w->object[w->depth / 8] |= bit;
	else
		w->object[w->depth / 8] &= (unsigned char)~bit;
	w->depth++;
	w->p++;
	return put(w, object ? "{" : "[", 1);
}

static int close_level(struct pass *w)
{
	w->depth--;
	w->p++;
	return put(w, w->p - 1, 1);
}

/* A value's beginning: 1 when it was opened and a value follows in it, 0 when
 * it is complete. */
static int take_value(struct pass *w)
{
	bool object;
	int r;

	if (!skip(w))
		return wrong(w, w->p, "the text ends too early");
	if (*w->p != '{' && *w->p != '[')
		return take_scalar(w);
	object = *w->p == '{';
	r = open_level(w, object);
	if (r != 0)
		return r;
	if (skip(w) && *w->p == (object ? '}' : ']'))
		return close_level(w);
	r = object ? take_key(w) : 0;
	return r != 0 ? r : 1;
}

/* Behind a value: brackets that close and a comma. 1: another value follows. */
static int take_rest(struct pass *w)
{
	while (w->depth > 0) {
		bool object = in_object(w);
		int r;

		if (!skip(w))
			return wrong(w, w->p, "the text ends too early");
		if (*w->p == ',') {
			w->p++;
			r = put(w, w->comma, strlen(w->comma));
			if (r == 0 && object)
				r = take_key(w);
			return r != 0 ? r : 1;
		}
		if (*w->p != (object ? '}' : ']'))
			return wrong(w, w->p,
				     object ? "a comma or } is expected" :
					      "a comma or ] is expected");
		r = close_level(w);
		if (r != 0)
			return r;
	}
	return 0;
}

/* Value by value until no bracket is open, then nothing but white space. */
int pass_run(struct pass *w)
{
	int r = 1;

	while (r == 1) {
		r = take_value(w);
		if (r == 0)
			r = take_rest(w);
	}
	if (r == 0 && skip(w))
		r = wrong(w, w->p, "something follows the value");
	return r;
}
