/*
 * v1.c - the subprotocol v1.kernel.websocket.jupyter.org: little-endian u64
 * count, offsets, then channel, header, parent header, metadata, content and
 * buffers; the last offset is the frame's end.
 */
#include <errno.h>
#include <stdint.h>

#include "jupyter/frame_int.h"

enum { CHANNEL, HEADER, PARENT, METADATA, CONTENT, SEGMENTS }; /* buffers follow */

static uint64_t le64(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;
	uint64_t n = 0;

	for (int i = 7; i >= 0; i--)
		n = n << 8 | u[i];
	return n;
}

static void le64_put(char *p, uint64_t n)
{
	for (int i = 0; i < 8; i++, n >>= 8)
		p[i] = (char)(n & 0xff);
}

static size_t table_len(size_t offsets)
{
	return 8 + 8 * offsets;
}

static uint64_t offset(struct span frame, size_t i)
{
	return le64(frame.ptr + table_len(i));
}

/* How many offsets the frame has, 0 when that cannot be: the whole table has
 * to be there, and no segment may begin before the one in front of it ends. */
static size_t offset_count(struct span frame)
{
	uint64_t before;
	uint64_t n;

	if (frame.len < table_len(0))
		return 0;
	n = le64(frame.ptr);
	if (n < SEGMENTS + 1 || n > FRAME_OFFSETS_MAX || table_len((size_t)n) > frame.len)
		return 0;
	before = table_len((size_t)n);
	for (size_t i = 0; i < n; i++) {
		uint64_t at = offset(frame, i);

		if (at < before)
			return 0;
		before = at;
	}
	return (size_t)n;
}

/* The first `whole` segments have to lie inside the frame; those behind them
 * are taken as empty objects. */
static int parse(struct span frame, size_t whole, struct jupyter_msg *ret)
{
	struct span part[SEGMENTS] = { [METADATA] = SPAN_LIT("{}"), [CONTENT] = SPAN_LIT("{}") };
	size_t n = offset_count(frame);
	struct jupyter_msg m = { 0 };

	if (n == 0 || offset(frame, whole) > frame.len)
		return -EBADMSG;
	for (size_t i = 0; i < whole; i++) {
		uint64_t at = offset(frame, i);

		part[i] = span_of(frame.ptr + at, (size_t)(offset(frame, i + 1) - at));
	}
	m.header = part[HEADER];
	m.parent_header = part[PARENT];
	m.metadata = part[METADATA];
	m.content = part[CONTENT];
	m.buffers = n - SEGMENTS - 1;
	if (jupyter_channel_parse(part[CHANNEL], &m.channel) != 0 || message_fill(&m) != 0)
		return -EBADMSG;
	*ret = m;
	return 0;
}

/* Buffers too have to lie inside the frame, though nobody looks at them. */
int jupyter_v1_parse(struct span frame, struct jupyter_msg *ret)
{
	size_t n = offset_count(frame);

	if (n == 0 || offset(frame, n - 1) > frame.len)
		return -EBADMSG;
	return parse(frame, SEGMENTS, ret);
}

/* Enough to say whose output it was that could not be kept. */
int jupyter_v1_peek(struct span head, struct jupyter_msg *ret)
{
	return parse(head, METADATA, ret);
}

/* The table is written once all lengths are known; all or nothing. */
int jupyter_v1_write(struct buf *out, const struct jupyter_out *m)
{
	struct buf header = BUF_INIT(4096);
	struct span part[SEGMENTS] = {
		[CHANNEL] = span_str(jupyter_channel_str(m->channel)),
		[PARENT] = message_parent(m),
		[METADATA] = SPAN_LIT("{}"),
		[CONTENT] = m->content,
	};
	char table[8 + 8 * (SEGMENTS + 1)];
	size_t at = sizeof(table);
	int r = 0;

	message_header(&header, m);
	assert(buf_error(&header) == 0); /* ids are ours, and short */
	part[HEADER] = buf_span(&header);
	le64_put(table, SEGMENTS + 1);
	for (size_t i = 0; i < SEGMENTS; i++) {
		le64_put(table + table_len(i), at);
		at += part[i].len;
	}
	le64_put(table + table_len(SEGMENTS), at);
	if (!buf_reserve(out, at))
		r = -EFBIG;
	if (r == 0)
		buf_append(out, table, sizeof(table));
	for (size_t i = 0; r == 0 && i < SEGMENTS; i++)
		buf_span_append(out, part[i]);
	buf_free(&header);
	return r;
}
