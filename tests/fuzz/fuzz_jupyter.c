/*
 * fuzz_jupyter.c - frames from a server that cannot be trusted: whatever is
 * found in one lies inside it; what we write is read back.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "json/scan.h"
#include "jupyter/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what))                                                                       \
			abort();                                                                   \
	} while (0)

/* Inside the frame, or a word of our own that stands for what is missing. */
static void inside(struct span s, struct span frame)
{
	if (span_absent(s) || span_is(s, "{}") || span_is(s, ""))
		return;
	MUST(s.ptr >= frame.ptr && s.ptr + s.len <= frame.ptr + frame.len);
}

static void look_at(const struct jupyter_msg *m, struct span frame)
{
	inside(m->header, frame);
	inside(m->parent_header, frame);
	inside(m->metadata, frame);
	inside(m->content, frame);
	inside(m->type_name, frame);
	inside(m->msg_id, frame);
	inside(m->parent_id, frame);
	inside(m->date, frame);
	MUST(json_valid(m->header, 0, NULL, NULL) == 0);
	MUST(json_valid(m->parent_header, 0, NULL, NULL) == 0);
	MUST(json_valid(m->metadata, 0, NULL, NULL) == 0);
	MUST(m->type == MSG_OTHER || span_is(m->type_name, jupyter_type_str(m->type)));
	MUST(m->channel <= JUPYTER_CONTROL);
}

/* Send a parsed message's parts and take them apart again. */
static void send_on(const struct jupyter_msg *m)
{
	const struct jupyter_out o = { .channel = m->channel,
				       .msg_type = jupyter_type_str(m->type),
				       .msg_id = "id",
				       .session = "s",
				       .parent_header = m->header,
				       .content = m->content };
	struct buf b = BUF_INIT(1 << 24);
	struct jupyter_msg back;

	MUST(jupyter_v1_write(&b, &o) == 0);
	MUST(jupyter_v1_parse(buf_span(&b), &back) == 0);
	MUST(back.type == m->type && back.channel == m->channel);
	MUST(span_eq(back.parent_id, m->msg_id));
	MUST(span_eq(back.content, m->content));
	buf_reset(&b);
	if (json_valid(m->content, 0, NULL, NULL) == 0) {
		MUST(jupyter_legacy_write(&b, &o) == 0);
		MUST(jupyter_legacy_parse(buf_span(&b), false, &back) == 0);
		MUST(span_eq(back.parent_id, m->msg_id));
		MUST(span_eq(back.content, span_trim(m->content)));
	}
	buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct span frame = span_of((const char *)data, len);
	struct jupyter_msg m;
	struct jupyter_msg peeked;

	if (jupyter_v1_parse(frame, &m) == 0) {
		look_at(&m, frame);
		MUST(jupyter_v1_peek(frame, &peeked) == 0);
		MUST(peeked.type == m.type && span_eq(peeked.parent_id, m.parent_id));
		send_on(&m);
	}
	if (jupyter_v1_peek(frame, &m) == 0)
		look_at(&m, frame);
	for (int binary = 0; binary < 2; binary++) {
		if (jupyter_legacy_parse(frame, binary, &m) == 0) {
			look_at(&m, frame);
			send_on(&m);
		}
	}
	return 0;
}
