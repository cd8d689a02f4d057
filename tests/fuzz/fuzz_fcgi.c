/*
 * fuzz_fcgi.c - bytes on a slot's socket: whatever they are, taken in one piece
 * or in two they say the same, and what is found lies inside them.
 */
#include <stdint.h>
#include <stdlib.h>

#include "http/fcgi_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what))                                                                       \
			abort();                                                                   \
	} while (0)

/* All content, one record after the other, and a mark at each event's kind. */
static int told(struct fcgi_input *ri, struct span in, struct buf *out)
{
	const char *from = in.ptr;
	const char *to = in.ptr + in.len;
	struct fcgi_event ev;
	int n;

	while ((n = fcgi_next(ri, &in, &ev)) == 1) {
		struct span rest = ev.data;
		struct span name;
		struct span value;

		MUST(ev.data.len == 0 || (ev.data.ptr >= from && ev.data.ptr + ev.data.len <= to));
		buf_span_append(out, ev.data);
		if (ev.last || ev.kind == REC_BEGIN)
			buf_printf(out, "|%d %u %u %d|", ev.kind, ev.id, ev.role, ev.keep);
		while (fcgi_pair(&rest, &name, &value) == 1)
			MUST(name.ptr + name.len <= to && value.ptr + value.len <= to);
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct span all = span_of((const char *)data, len);
	size_t cut = len ? data[len - 1] % (len + 1) : 0;
	struct fcgi_input whole = { 0 };
	struct fcgi_input parts = { 0 };
	struct buf a = BUF_INIT(SIZE_MAX / 2);
	struct buf b = BUF_INIT(SIZE_MAX / 2);
	struct buf values = BUF_INIT(1024);
	int r = told(&whole, all, &a);
	int q = told(&parts, span_of(all.ptr, cut), &b);

	if (q == 0)
		q = told(&parts, span_of(all.ptr + cut, len - cut), &b);
	MUST(r == q && (r != 0 || span_eq(buf_span(&a), buf_span(&b))));
	fcgi_values(&values, all);
	MUST(buf_error(&values) == 0);
	buf_free(&a);
	buf_free(&b);
	buf_free(&values);
	return 0;
}
