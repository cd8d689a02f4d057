/*
 * request_made.c - a request made of parameters, without a connection.
 */
#include "request_made.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "http/conn_int.h"

struct request *request_make(size_t arena, const char *const pairs[])
{
	struct request *r = xcalloc(1, sizeof(*r));
	struct request_data *d = xcalloc(1, sizeof(*d));

	r->magic = REQUEST_MAGIC;
	r->data = d;
	r->phase = PHASE_RUNNING;
	buf_init(&d->params_raw, 1 << 20);
	arena_init(&d->arena, arena ? arena : 1 << 20);
	for (; *pairs; pairs += 2) {
		buf_putc(&d->params_raw, (char)strlen(pairs[0]));
		buf_putc(&d->params_raw, (char)(strlen(pairs[1]) >> 24 | 0x80));
		buf_putc(&d->params_raw, (char)(strlen(pairs[1]) >> 16));
		buf_putc(&d->params_raw, (char)(strlen(pairs[1]) >> 8));
		buf_putc(&d->params_raw, (char)strlen(pairs[1]));
		buf_puts(&d->params_raw, pairs[0]);
		buf_puts(&d->params_raw, pairs[1]);
	}
	if (request_params_done(r) != 0)
		abort();
	return r;
}

void request_unmake(struct request *r)
{
	conn_free(r);
}
