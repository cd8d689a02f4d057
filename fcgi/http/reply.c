/*
 * reply.c - answers: heads, bodies, errors, streams.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "http/conn_int.h"
#include "http/router.h"

#define HEAD_MAX ((size_t)96 << 10)
#define TEXT_MAX ((size_t)64 << 10)

void request_header(struct request *r, const char *name, const char *value)
{
	struct buf *h = &r->data->headers;

	assert(r->phase == PHASE_RUNNING);
	buf_printf(h, "%s: ", name);
	for (; *value; value++) {
		if (*value != '\r' && *value != '\n')
			buf_putc(h, *value);
	}
	buf_puts(h, "\r\n");
}

static void head_append(struct request *r, struct buf *out, int status, const char *ctype)
{
	r->status = (uint16_t)status;
	buf_printf(out, "Status: %d %s\r\n", status, http_status_str(status));
	if (ctype)
		buf_printf(out, "Content-Type: %s\r\n", ctype);
	buf_span_append(out, buf_span(&r->data->headers));
}

void reply(struct request *r, int status, const char *ctype, struct span body)
{
	struct buf out = BUF_INIT(HEAD_MAX + body.len);

	assert(r->phase == PHASE_RUNNING);
	head_append(r, &out, status, ctype);
	/* These two have no body, nor its length (RFC 9110, 8.6). */
	if (status != 204 && status != 304)
		buf_printf(&out, "Content-Length: %zu\r\n", body.len);
	buf_puts(&out, "\r\n");
	if (!r->head_only && status != 204 && status != 304)
		buf_span_append(&out, body);
	/* body may lie in it */
	conn_data_free(r);
	r->phase = PHASE_DRAIN;
	write_stdout(r, buf_span(&out), true);
	buf_free(&out);
}

void reply_text(struct request *r, int status, const char *fmt, ...)
{
	struct buf text = BUF_INIT(TEXT_MAX);
	va_list ap;

	va_start(ap, fmt);
	if (buf_vprintf(&text, fmt, ap) != 0)
		buf_puts(&text, "the answer is too long");
	va_end(ap);
	reply(r, status, "text/plain; charset=utf-8", buf_span(&text));
	buf_free(&text);
}

/* A JSON string of text that is ours but for quoted bits of a request: this
 * room stands beside json/ users, and needs no more than this. */
static void json_escape(struct buf *out, struct span s)
{
	while (s.len > 0) {
		uint32_t cp = 0xfffd; /* for a byte that is no UTF-8 */
		size_t n = utf8_decode(s, &cp);

		if (cp == '"' || cp == '\\')
			buf_printf(out, "\\%c", (char)cp);
		else if (cp >= 0x20 && cp < 0x7f)
			buf_putc(out, (char)cp);
		else if (cp < 0x10000)
			buf_printf(out, "\\u%04x", (unsigned)cp);
		else
			buf_printf(out, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (cp >> 10)),
				   (unsigned)(0xdc00 + (cp & 0x3ff)));
		n = n ? n : 1;
		s = span_of(s.ptr + n, s.len - n);
	}
}

void reply_error(struct request *r, int status, const char *code, const char *fmt, ...)
{
	struct buf sentence = BUF_INIT(TEXT_MAX);
	struct buf body = BUF_INIT(8 * TEXT_MAX);
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&sentence, fmt, ap);
	va_end(ap);
	buf_printf(&body, "{\"error\":\"%s\",\"message\":\"", code);
	json_escape(&body, buf_span(&sentence));
	buf_puts(&body, "\"}");
	reply(r, status, "application/json; charset=utf-8", buf_span(&body));
	buf_free(&sentence);
	buf_free(&body);
}

void reply_redirect_slot(struct request *r, unsigned slot)
{
	char head[96];
	int n = snprintf(head, sizeof(head), "Status: 200 OK\r\nX-Accel-Redirect: @nb2_s%u\r\n\r\n",
			 slot);

	/* Nothing else: what stands beside it nginx may take for the answer. */
	conn_data_free(r);
	r->status = 200;
	r->phase = PHASE_DRAIN;
	write_stdout(r, span_of(head, (size_t)n), true);
}

void stream_open(struct request *r, int status, const char *ctype, const struct stream_ops *ops,
		 void *arg)
{
	struct buf out = BUF_INIT(HEAD_MAX);

	assert(r->phase == PHASE_RUNNING);
	head_append(r, &out, status, ctype);
	buf_puts(&out, "\r\n");
	conn_data_free(r);
	r->phase = PHASE_STREAM;
	r->ops = ops;
	r->ops_arg = arg;
	r->last_out_ms = loop_now(r->server->loop);
	write_stdout(r, buf_span(&out), false);
	buf_free(&out);
	if (r->server->stopping && ops->closing)
		ops->closing(arg);
	stream_wake(r);
}

uint64_t stream_quiet_ms(const struct request *r)
{
	return loop_now(r->server->loop) - r->last_out_ms;
}

size_t stream_backlog(const struct request *r)
{
	return r->pending ? r->pending->bytes.len - r->pending->done : 0;
}
