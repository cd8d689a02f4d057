/*
 * message.c - what is the same in every framing: the message as spans, and the
 * contents we send.
 */
#include "jupyter/message.h"

#include <errno.h>

#include "base/clock.h"
#include "json/emit.h"
#include "json/scan.h"
#include "jupyter/frame_int.h"

static const char *const channels[] = {
	[JUPYTER_SHELL] = "shell",
	[JUPYTER_IOPUB] = "iopub",
	[JUPYTER_STDIN] = "stdin",
	[JUPYTER_CONTROL] = "control",
};

/* clang-format off */
static const char *const types[] = {
	[MSG_OTHER] = "",
#define T(id, name) [MSG_##id] = name,
	JUPYTER_TYPES(T)
#undef T
};
/* clang-format on */

/* "" for MSG_OTHER: the message itself knows its type_name. */
const char *jupyter_type_str(enum jupyter_type t)
{
	return types[t];
}

/* As frames name it. */
const char *jupyter_channel_str(enum jupyter_channel c)
{
	return channels[c];
}

/* The four channels a WebSocket carries; there is no heartbeat on it. */
int jupyter_channel_parse(struct span name, enum jupyter_channel *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(channels); i++) {
		if (span_is(name, channels[i])) {
			*ret = (enum jupyter_channel)i;
			return 0;
		}
	}
	return -EINVAL;
}

static enum jupyter_type type_find(struct span name)
{
	for (size_t i = MSG_OTHER + 1; i < ARRAY_LEN(types); i++) {
		if (span_is(name, types[i]))
			return (enum jupyter_type)i;
	}
	return MSG_OTHER;
}

/* Ids come from kernels: one that needs an escape is none of ours. */
static struct span plain_or_empty(struct span value)
{
	struct span s = json_plain(value);

	return span_absent(s) ? SPAN_LIT("") : s;
}

static bool is_object(struct span value)
{
	return json_type_of(value) == JSON_OBJECT && json_valid(value, 0, NULL, NULL) == 0;
}

/* Small objects: walked once for each name. */
int message_fill(struct jupyter_msg *m)
{
	if (!is_object(m->header) || !is_object(m->parent_header) || !is_object(m->metadata))
		return -EBADMSG;
	m->type_name = plain_or_empty(json_get(m->header, "msg_type"));
	m->type = type_find(m->type_name);
	m->msg_id = plain_or_empty(json_get(m->header, "msg_id"));
	m->date = json_plain(json_get(m->header, "date"));
	m->parent_id = plain_or_empty(json_get(m->parent_header, "msg_id"));
	return 0;
}

/* Messaging protocol 5.3, "General Message Format". */
void message_header(struct buf *out, const struct jupyter_out *m)
{
	char now[CLOCK_ISO_LEN];

	clock_iso(now);
	buf_printf(out,
		   "{\"msg_id\":\"%s\",\"session\":\"%s\",\"username\":\"nb2\",\"date\":\"%s\","
		   "\"msg_type\":\"%s\",\"version\":\"5.3\"}",
		   m->msg_id, m->session, now, m->msg_type);
}

/* What we send is mostly a beginning, not an answer. */
struct span message_parent(const struct jupyter_out *m)
{
	return span_absent(m->parent_header) ? SPAN_LIT("{}") : m->parent_header;
}

static const char *bool_str(bool b)
{
	return b ? "true" : "false";
}

/* user_expressions is not used here, but some kernels want to see it. */
int jupyter_execute_content(struct buf *out, const struct jupyter_execute *x)
{
	size_t start = out->len;
	int r = buf_puts(out, "{\"code\":");

	if (r == 0)
		r = json_text_emit(out, x->code);
	if (r == 0)
		r = buf_printf(out,
			       ",\"silent\":%s,\"store_history\":%s,\"user_expressions\":{},"
			       "\"allow_stdin\":%s,\"stop_on_error\":%s}",
			       bool_str(x->silent), bool_str(x->store_history),
			       bool_str(x->allow_stdin), bool_str(x->stop_on_error));
	if (r != 0)
		buf_truncate(out, start);
	return r;
}
