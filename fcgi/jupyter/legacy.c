/*
 * legacy.c - the framing of servers that know no subprotocol: one JSON object
 * as a text frame, or in front of buffers in a binary one.
 */
#include <errno.h>
#include <stdint.h>

#include "json/scan.h"
#include "jupyter/frame_int.h"

static uint32_t be32(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

/* Big-endian u32 count, as many offsets, then the parts; the first is the
 * JSON, the last one ends with the frame. 0 or -EBADMSG. */
static int binary_split(struct span frame, struct span *ret_json, size_t *ret_buffers)
{
	size_t before;
	size_t end;
	size_t n;

	if (frame.len < 8)
		return -EBADMSG;
	n = be32(frame.ptr);
	if (n < 1 || n > FRAME_OFFSETS_MAX || 4 + 4 * n > frame.len)
		return -EBADMSG;
	before = 4 + 4 * n;
	for (size_t i = 1; i <= n; i++) {
		size_t at = be32(frame.ptr + 4 * i);

		if (at < before || at > frame.len)
			return -EBADMSG;
		before = at;
	}
	before = be32(frame.ptr + 4);
	end = n > 1 ? be32(frame.ptr + 8) : frame.len;
	*ret_json = span_of(frame.ptr + before, end - before);
	*ret_buffers = n - 1;
	return 0;
}

/* One walk: content may be large, and json_get() reads to the end each time. */
static void members(struct span text, struct jupyter_msg *m, struct span *ret_channel)
{
	const struct {
		const char *name;
		struct span *to;
	} wanted[] = {
		{ "header", &m->header },     { "parent_header", &m->parent_header },
		{ "metadata", &m->metadata }, { "content", &m->content },
		{ "channel", ret_channel },
	};
	struct json_iter it;
	struct span key;
	struct span value;

	json_iter_init(&it, text);
	while (it.object && json_iter_next(&it, &key, &value)) {
		for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
			if (json_string_is(key, wanted[i].name))
				*wanted[i].to = value;
		}
	}
}

/* Parent header, metadata and content may be left out. */
int jupyter_legacy_parse(struct span frame, bool binary, struct jupyter_msg *ret)
{
	struct jupyter_msg m = { .parent_header = SPAN_LIT("{}"),
				 .metadata = SPAN_LIT("{}"),
				 .content = SPAN_LIT("{}") };
	struct span channel = SPAN_NONE;
	struct span text = frame;

	if (binary && binary_split(frame, &text, &m.buffers) != 0)
		return -EBADMSG;
	members(text, &m, &channel);
	if (jupyter_channel_parse(json_plain(channel), &m.channel) != 0 || message_fill(&m) != 0)
		return -EBADMSG;
	*ret = m;
	return 0;
}

/* A text frame: we never send buffers. All or nothing. */
int jupyter_legacy_write(struct buf *out, const struct jupyter_out *m)
{
	struct buf header = BUF_INIT(4096);
	size_t start = out->len;
	int r;

	message_header(&header, m);
	assert(buf_error(&header) == 0); /* ids are ours, and short */
	r = buf_printf(out, "{\"channel\":\"%s\",\"header\":%s,\"parent_header\":",
		       jupyter_channel_str(m->channel), header.data);
	if (r == 0)
		r = buf_span_append(out, message_parent(m));
	if (r == 0)
		r = buf_puts(out, ",\"metadata\":{},\"content\":");
	if (r == 0)
		r = buf_span_append(out, m->content);
	if (r == 0)
		r = buf_putc(out, '}');
	if (r != 0)
		buf_truncate(out, start);
	buf_free(&header);
	return r;
}
