/*
 * message.h - one message of the Jupyter messaging protocol (5.3), as spans.
 *
 * A parsed message borrows from the frame it came in. Nothing is decoded:
 * content stays the kernel's own JSON bytes. What a message means is
 * session/'s business; this room only takes frames apart and makes them.
 * https://jupyter-client.readthedocs.io/en/stable/messaging.html and the
 * WebSocket subprotocol v1.kernel.websocket.jupyter.org. Pure; thread-safe.
 */
#ifndef NB2_JUPYTER_MESSAGE_H
#define NB2_JUPYTER_MESSAGE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/span.h"

enum jupyter_channel { JUPYTER_SHELL, JUPYTER_IOPUB, JUPYTER_STDIN, JUPYTER_CONTROL };

/* The message types that something here knows; all others are MSG_OTHER. */
#define JUPYTER_TYPES(T)                                                                           \
	T(STATUS, "status")                                                                        \
	T(STREAM, "stream")                                                                        \
	T(DISPLAY_DATA, "display_data")                                                            \
	T(EXECUTE_RESULT, "execute_result")                                                        \
	T(UPDATE_DISPLAY_DATA, "update_display_data")                                              \
	T(CLEAR_OUTPUT, "clear_output")                                                            \
	T(ERROR, "error")                                                                          \
	T(EXECUTE_INPUT, "execute_input")                                                          \
	T(EXECUTE_REPLY, "execute_reply")                                                          \
	T(KERNEL_INFO_REPLY, "kernel_info_reply")                                                  \
	T(INTERRUPT_REPLY, "interrupt_reply")                                                      \
	T(SHUTDOWN_REPLY, "shutdown_reply")                                                        \
	T(COMPLETE_REPLY, "complete_reply")                                                        \
	T(INSPECT_REPLY, "inspect_reply")                                                          \
	T(INPUT_REQUEST, "input_request")                                                          \
	T(COMM_OPEN, "comm_open")                                                                  \
	T(COMM_MSG, "comm_msg")                                                                    \
	T(COMM_CLOSE, "comm_close")                                                                \
	T(COMM_INFO_REPLY, "comm_info_reply")

enum jupyter_type {
	MSG_OTHER,
#define T(id, name) MSG_##id,
	JUPYTER_TYPES(T)
#undef T
};

struct jupyter_msg {
	enum jupyter_channel channel;
	enum jupyter_type type;
	struct span type_name; /* plain characters */
	struct span msg_id;    /* plain characters; empty if the header has none */
	struct span date;      /* the header's date, plain characters, or SPAN_NONE */
	struct span parent_id; /* parent_header.msg_id; empty if there is none */
	struct span header;    /* JSON objects, as they came */
	struct span parent_header;
	struct span metadata;
	struct span content;
	size_t buffers; /* how many binary buffers followed (not kept) */
};

const char *jupyter_type_str(enum jupyter_type t);
const char *jupyter_channel_str(enum jupyter_channel c);
int jupyter_channel_parse(struct span name, enum jupyter_channel *ret); /* 0 or -EINVAL */

/*
 * Take a frame apart. 0; -EBADMSG: not such a frame, or header, parent or
 * metadata are not JSON objects. content is only checked to lie inside the
 * frame: whoever copies it out validates it (json_span_emit). More than 4,096
 * offsets are no frame.
 */
int jupyter_v1_parse(struct span frame, struct jupyter_msg *ret);
/* The legacy framing: a text frame (one JSON object), or with binary set the
 * one with buffers (big-endian offsets, JSON first). Parent header, metadata
 * and content may be left out: {} then. */
int jupyter_legacy_parse(struct span frame, bool binary, struct jupyter_msg *ret);

/*
 * From the first bytes of a v1 frame that was too large to keep: what stands
 * in the header and parent header, if they are whole in `head`. Same returns.
 */
int jupyter_v1_peek(struct span head, struct jupyter_msg *ret);

/* What we send. Strings are plain ASCII ids; content is a JSON object. */
struct jupyter_out {
	enum jupyter_channel channel;
	const char *msg_type;
	const char *msg_id;
	const char *session;
	struct span parent_header; /* JSON object; SPAN_NONE = {} */
	struct span content;
};

/* Append one whole frame (legacy: a text frame). 0, or -EFBIG and nothing. */
int jupyter_v1_write(struct buf *out, const struct jupyter_out *m);
int jupyter_legacy_write(struct buf *out, const struct jupyter_out *m);

/* content of an execute_request; code is UTF-8. 0 or -EFBIG. */
struct jupyter_execute {
	struct span code;
	bool silent;
	bool store_history;
	bool stop_on_error;
	bool allow_stdin;
};
int jupyter_execute_content(struct buf *out, const struct jupyter_execute *x);

#endif
