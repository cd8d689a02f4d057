/*
 * fcgi.c - FastCGI 1.0, section 3 and 4: the records.
 */
#include "http/fcgi_int.h"

#include <errno.h>
#include <fastcgi.h>

static void put16(unsigned char *p, uint16_t n)
{
	p[0] = (unsigned char)(n >> 8);
	p[1] = (unsigned char)(n & 0xff);
}

static uint16_t get16(const unsigned char *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static struct span take(struct span *in, size_t n)
{
	struct span s = span_of(in->ptr, n < in->len ? n : in->len);

	in->ptr += s.len;
	in->len -= s.len;
	return s;
}

/* Complete the header: 1, 0 (more is needed), -EBADMSG. */
static int header_read(struct fcgi_reader *r, struct span *in)
{
	struct span piece = take(in, sizeof(r->head) - r->have);

	memcpy(r->head + r->have, piece.ptr, piece.len);
	r->have = (uint8_t)(r->have + piece.len);
	if (r->have < sizeof(r->head))
		return 0;
	if (r->head[0] != FCGI_VERSION_1)
		return -EBADMSG;
	r->length = r->left = get16(r->head + 4);
	r->padding = r->head[6];
	return 1;
}

static enum fcgi_kind kind_of(uint8_t type, uint16_t id)
{
	if (id == FCGI_NULL_REQUEST_ID)
		return type == FCGI_GET_VALUES ? REC_VALUES : REC_UNKNOWN;
	switch (type) {
	case FCGI_BEGIN_REQUEST:
		return REC_BEGIN;
	case FCGI_ABORT_REQUEST:
		return REC_ABORT;
	case FCGI_PARAMS:
		return REC_PARAMS;
	case FCGI_STDIN:
		return REC_STDIN;
	default:
		return REC_OTHER;
	}
}

/* The record is done: the next bytes are padding, then a header. */
static void fcgi_done(struct fcgi_reader *r)
{
	r->have = 0;
}

/* A BEGIN body has 8 bytes; 1 when all are here. */
static int begin_read(struct fcgi_input *ri, struct span *in, struct fcgi_event *ev)
{
	struct fcgi_reader *r = &ri->reader;
	struct span piece;

	if (r->length != sizeof(ri->begin))
		return -EBADMSG;
	piece = take(in, r->left);
	memcpy(ri->begin + (r->length - r->left), piece.ptr, piece.len);
	r->left = (uint16_t)(r->left - piece.len);
	if (r->left > 0)
		return 0;
	ev->role = get16(ri->begin);
	ev->keep = ri->begin[2] & FCGI_KEEP_CONN;
	fcgi_done(r);
	return 1;
}

int fcgi_next(struct fcgi_input *ri, struct span *in, struct fcgi_event *ret)
{
	struct fcgi_reader *r = &ri->reader;
	struct fcgi_event ev = { 0 };
	int n;

	if (r->have < sizeof(r->head)) {
		/* The former record's padding comes first. */
		r->padding = (uint8_t)(r->padding - (r->have == 0 ? take(in, r->padding).len : 0));
		if (r->have == 0 && r->padding > 0)
			return 0;
		n = header_read(r, in);
		if (n != 1)
			return n;
	} else if (in->len == 0) {
		return 0;
	}
	ev.type = r->head[1];
	ev.id = get16(r->head + 2);
	ev.kind = kind_of(ev.type, ev.id);
	if (ev.kind == REC_BEGIN) {
		n = begin_read(ri, in, &ev);
		if (n == 1)
			*ret = ev;
		return n;
	}
	ev.data = take(in, r->left);
	/* Content that is not here yet is no event: an empty piece means the end. */
	if (r->left > 0 && ev.data.len == 0)
		return 0;
	r->left = (uint16_t)(r->left - ev.data.len);
	ev.last = r->left == 0;
	if (ev.last)
		fcgi_done(r);
	*ret = ev;
	return 1;
}

/* One length: one byte, or four with the highest bit set. 0 or -EBADMSG. */
static int length_read(struct span *rest, size_t *ret)
{
	const unsigned char *p = (const unsigned char *)rest->ptr;
	size_t n = rest->len > 0 && p[0] & 0x80 ? 4 : 1;

	if (rest->len < n)
		return -EBADMSG;
	*ret = n == 1 ? p[0] :
			(size_t)(p[0] & 0x7f) << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
	take(rest, n);
	return 0;
}

int fcgi_pair(struct span *rest, struct span *ret_name, struct span *ret_value)
{
	size_t name;
	size_t value;

	if (rest->len == 0)
		return 0;
	if (length_read(rest, &name) != 0 || length_read(rest, &value) != 0)
		return -EBADMSG;
	/* Each by itself: their sum could not overflow a size_t, but never mind. */
	if (name > rest->len || value > rest->len - name)
		return -EBADMSG;
	*ret_name = take(rest, name);
	*ret_value = take(rest, value);
	return 1;
}

void fcgi_header(unsigned char out[8], uint8_t type, uint16_t id, uint16_t length)
{
	out[0] = FCGI_VERSION_1;
	out[1] = type;
	put16(out + 2, id);
	put16(out + 4, length);
	out[6] = out[7] = 0;
}

void fcgi_end(unsigned char out[16], uint16_t id, uint8_t protocol_status)
{
	fcgi_header(out, FCGI_END_REQUEST, id, 8);
	memset(out + 8, 0, 8);
	out[12] = protocol_status;
}

void fcgi_unknown(unsigned char out[16], uint8_t type)
{
	fcgi_header(out, FCGI_UNKNOWN_TYPE, FCGI_NULL_REQUEST_ID, 8);
	memset(out + 8, 0, 8);
	out[8] = type;
}

/* Each name at most once: a peer may repeat one a thousand times. */
void fcgi_values(struct buf *out, struct span wanted)
{
	static const struct {
		const char *name;
		const char *value;
	} known[] = { { FCGI_MAX_CONNS, "1024" },
		      { FCGI_MAX_REQS, "1024" },
		      { FCGI_MPXS_CONNS, "0" } };
	bool told[sizeof(known) / sizeof(known[0])] = { false };
	unsigned char head[8];
	struct buf pairs = BUF_INIT(256);
	struct span name;
	struct span value;

	while (fcgi_pair(&wanted, &name, &value) == 1) {
		for (size_t i = 0; i < ARRAY_LEN(known); i++) {
			if (told[i] || !span_is(name, known[i].name))
				continue;
			told[i] = true;
			buf_putc(&pairs, (char)strlen(known[i].name));
			buf_putc(&pairs, (char)strlen(known[i].value));
			buf_puts(&pairs, known[i].name);
			buf_puts(&pairs, known[i].value);
		}
	}
	fcgi_header(head, FCGI_GET_VALUES_RESULT, FCGI_NULL_REQUEST_ID, (uint16_t)pairs.len);
	buf_append(out, head, sizeof(head));
	buf_span_append(out, buf_span(&pairs));
	buf_free(&pairs);
}
