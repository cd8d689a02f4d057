/*
 * record.c - the lines themselves.
 *
 * Every function writes one whole line or nothing: a value that turns out not
 * to be JSON takes its line back.
 */
#include "session/record.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "json/emit.h"
#include "json/scan.h"
#include "session/result.h"

#define LINE_PIECE (RECORD_TEXT_MAX - 256) /* a piece and its line's frame fit 64 KiB */
#define ERROR_TEXT_MAX ((size_t)64 << 20)

static const char *const stream_names[] = { "stdout", "stderr" };

void record_sink_init(struct record_sink *s, struct outlog *log, size_t limit)
{
	*s = (struct record_sink){ .log = log, .limit = limit, .base = outlog_bytes(log) };
}

struct span record_keepalive(void)
{
	return SPAN_LIT("{\"type\": \"keepalive\"}\n");
}

/* YYYY-MM-DDTHH:MM:SS[.fraction] and then Z or nothing: as kernels write it. */
static bool date_parse(struct span date, struct span *ret_seconds, struct span *ret_fraction)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:dd";
	size_t n = sizeof(shape) - 1;
	size_t i;

	if (date.len < n)
		return false;
	for (i = 0; i < n; i++) {
		if (shape[i] == 'd' ? !isdigit((unsigned char)date.ptr[i]) :
				      date.ptr[i] != shape[i])
			return false;
	}
	*ret_seconds = span_of(date.ptr, n);
	*ret_fraction = SPAN_NONE;
	if (i < date.len && date.ptr[i] == '.') {
		size_t from = ++i;

		while (i < date.len && isdigit((unsigned char)date.ptr[i]))
			i++;
		*ret_fraction = span_of(date.ptr + from, i - from);
	}
	return i == date.len || span_is(span_of(date.ptr + i, date.len - i), "Z") ||
	       span_is(span_of(date.ptr + i, date.len - i), "+00:00");
}

static bool all_zero(struct span digits)
{
	for (size_t i = 0; i < digits.len; i++) {
		if (digits.ptr[i] != '0')
			return false;
	}
	return true;
}

void record_timestamp(struct buf *out, struct span date)
{
	char now[CLOCK_ISO_LEN];
	struct span seconds;
	struct span fraction;

	if (span_absent(date) || !date_parse(date, &seconds, &fraction)) {
		clock_iso(now);
		if (!date_parse(span_str(now), &seconds, &fraction))
			assert(!"clock_iso");
	}
	buf_span_append(out, seconds);
	if (!all_zero(fraction)) {
		/* Python keeps six digits, whatever the kernel wrote. */
		buf_putc(out, '.');
		for (size_t i = 0; i < 6; i++)
			buf_putc(out, i < fraction.len ? fraction.ptr[i] : '0');
	}
	buf_puts(out, "+00:00");
}

/* ---- the limit ---------------------------------------------------------- */

/* Writes the one notice; after it output is dropped. */
static void sink_cut(struct record_sink *s)
{
	char text[128];

	s->cut = true;
	snprintf(text, sizeof(text),
		 "[nb2] output limit of %zu bytes reached, the rest is dropped\n", s->limit);
	s->limit = SIZE_MAX; /* lets the notice through */
	record_stream_text(s, RECORD_STDERR, span_str(text));
}

/* May n more bytes of output be written? */
static bool sink_take(struct record_sink *s, size_t n)
{
	/* What was written counts as it was written: tiny outputs make long records. */
	uint64_t spent = outlog_bytes(s->log) - s->base;

	if (s->cut)
		return false;
	if (spent > s->limit || n > s->limit - spent) {
		sink_cut(s);
		return false;
	}
	return true;
}

/* ---- streams ------------------------------------------------------------ */

static void stream_suffix(struct record_sink *s, struct buf *b, struct span date)
{
	size_t from = b->len;

	buf_puts(b, ", \"timestamp\": \"");
	record_timestamp(b, date);
	buf_puts(b, "\"}\n");
	s->suffix = b->len - from;
}

/* Append the first piece to the last line, where that is the same stream's and
 * has room. The first one's timestamp stays. */
static void stream_join(struct record_sink *s, enum record_stream name, struct span *rest)
{
	char suffix[96];
	struct buf *b;
	size_t start;
	size_t quote;
	size_t room;

	if (!s->joinable || s->name != name || s->line != outlog_lines(s->log))
		return;
	b = outlog_tail(s->log, LINE_PIECE - 4096, &start);
	if (!b)
		return;
	assert(s->suffix < sizeof(suffix));
	memcpy(suffix, b->data + b->len - s->suffix, s->suffix);
	quote = b->len - s->suffix - 1; /* the text's closing quote */
	room = LINE_PIECE - (b->len - start);
	buf_truncate(b, quote);
	if (json_string_piece(b, rest, room) == 0) {
		/* Two strings into one: the new opening quote goes. */
		memmove(b->data + quote, b->data + quote + 1, b->len - quote - 1);
		buf_truncate(b, b->len - 1);
	} else {
		buf_truncate(b, quote);
		buf_putc(b, '"');
	}
	buf_append(b, suffix, s->suffix);
	outlog_tail_end(s->log);
}

/* One line with the next piece. */
static int stream_line(struct record_sink *s, enum record_stream name, struct span *rest,
		       struct span date)
{
	struct buf *b = outlog_line_begin(s->log);
	int r;

	buf_printf(b, "{\"type\": \"%s\", \"text\": ", stream_names[name]);
	r = json_string_piece(b, rest, LINE_PIECE);
	if (r != 0) {
		outlog_line_undo(s->log);
		return r;
	}
	stream_suffix(s, b, date);
	r = outlog_line_end(s->log);
	s->joinable = r == 0;
	s->name = name;
	s->line = outlog_lines(s->log);
	return r;
}

/* All pieces of a JSON string: 0, or -EINVAL at what is not well made. */
static int stream_lines(struct record_sink *s, enum record_stream name, struct span text,
			struct span date)
{
	int r = 0;

	while (r == 0 && !span_absent(text))
		r = stream_line(s, name, &text, date);
	return r;
}

/* Plain text as lines; what is not UTF-8 in it becomes U+FFFD. */
static void text_lines(struct record_sink *s, enum record_stream name, struct span utf8,
		       struct span date)
{
	struct buf text = BUF_INIT(8 * utf8.len + 16);

	if (json_text_emit(&text, utf8) == 0)
		stream_lines(s, name, buf_span(&text), date);
	buf_free(&text);
}

/* A kernel that sends bytes which are no UTF-8 loses those, not the text. */
static void stream_mend(struct record_sink *s, enum record_stream name, struct span text,
			struct span date)
{
	struct buf mended = BUF_INIT(3 * text.len);

	while (text.len > 0) {
		size_t n = utf8_valid_len(text);

		buf_append(&mended, text.ptr, n);
		if (n < text.len) {
			buf_puts(&mended, "\xef\xbf\xbd");
			n++;
		}
		text = span_of(text.ptr + n, text.len - n);
	}
	stream_lines(s, name, buf_span(&mended), date);
	buf_free(&mended);
}

void record_stream(struct record_sink *s, enum record_stream name, struct span text,
		   struct span date)
{
	struct span rest = text;

	if (json_type_of(text) != JSON_STRING || text.len <= 2 || !sink_take(s, text.len - 2))
		return;
	if (utf8_valid_len(text) != text.len) {
		stream_mend(s, name, text, date);
		return;
	}
	stream_join(s, name, &rest);
	stream_lines(s, name, rest, date);
}

void record_stream_text(struct record_sink *s, enum record_stream name, struct span utf8)
{
	if (s->limit == SIZE_MAX || sink_take(s, utf8.len))
		text_lines(s, name, utf8, SPAN_NONE);
}

/* ---- results ------------------------------------------------------------ */

/* Finish a line whose middle may have failed: a notice stands in its place. */
static void result_end(struct record_sink *s, int r)
{
	static const char bad[] = "[nb2] an output was dropped: the kernel sent no valid JSON\n";
	static const char big[] = "[nb2] an output was dropped: it is larger than a line may be\n";

	if (r == 0)
		r = outlog_line_end(s->log);
	else
		outlog_line_undo(s->log);
	if (r != 0)
		record_stream_text(s, RECORD_STDERR, span_str(r == -EFBIG ? big : bad));
}

void record_result(struct record_sink *s, struct span data, bool main_result)
{
	struct buf *b;
	int r;

	if (!sink_take(s, data.len))
		return;
	b = outlog_line_begin(s->log);
	buf_puts(b, "{\"type\": \"result\"");
	r = result_fields(b, data);
	buf_printf(b, ", \"is_main_result\": %s}\n", main_result ? "true" : "false");
	result_end(s, r);
}

void record_update_display(struct record_sink *s, struct span display_id, struct span data)
{
	struct buf *b;
	int r;

	if (!sink_take(s, data.len))
		return;
	b = outlog_line_begin(s->log);
	buf_puts(b, "{\"type\": \"update_display\", \"display_id\": ");
	r = json_type_of(display_id) == JSON_STRING ? json_span_emit(b, display_id, 0) :
						      buf_puts(b, "null");
	if (r == 0)
		r = result_fields(b, data);
	buf_puts(b, "}\n");
	result_end(s, r);
}

/* A line that holds nothing foreign. */
static void plain_line(struct record_sink *s, const char *line)
{
	buf_puts(outlog_line_begin(s->log), line);
	outlog_line_end(s->log);
}

void record_clear_output(struct record_sink *s, bool wait)
{
	if (sink_take(s, 1))
		plain_line(s, wait ? "{\"type\": \"clear_output\", \"wait\": true}\n" :
				     "{\"type\": \"clear_output\", \"wait\": false}\n");
}

void record_count(struct record_sink *s, int64_t execution_count)
{
	char line[96];

	snprintf(line, sizeof(line),
		 "{\"type\": \"number_of_executions\", \"execution_count\": %lld}\n",
		 (long long)execution_count);
	plain_line(s, line);
}

/* ---- errors ------------------------------------------------------------- */

/* Skip one escape sequence; p stands on ESC. */
static const char *ansi_skip(const char *p, const char *end)
{
	if (++p == end)
		return p;
	if (*p == '[') { /* CSI: parameters, then one final byte */
		for (p++; p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x40; p++)
			continue;
		return p < end ? p + 1 : p;
	}
	if (*p == ']') { /* OSC: up to BEL or ESC \ */
		for (p++; p < end && *p != '\a' && *p != '\033'; p++)
			continue;
		if (p < end && *p == '\033' && p + 1 < end && p[1] == '\\')
			return p + 2;
		return p < end && *p == '\a' ? p + 1 : p;
	}
	return p + 1;
}

void record_strip_ansi(struct span text, struct buf *out)
{
	const char *p = text.ptr;
	const char *end = p + text.len;

	while (p < end) {
		const char *esc = memchr(p, '\033', (size_t)(end - p));

		buf_append(out, p, (size_t)((esc ? esc : end) - p));
		if (!esc)
			return;
		p = ansi_skip(esc, end);
	}
}

/* The traceback's strings, joined and without colours. */
static void traceback_text(struct span traceback, struct buf *out)
{
	struct buf raw = BUF_INIT(ERROR_TEXT_MAX);
	struct json_iter it;
	struct span item;

	json_iter_init(&it, traceback);
	while (json_iter_next(&it, NULL, &item))
		json_string_decode(item, JSON_LONE_REPLACE, &raw);
	record_strip_ansi(buf_span(&raw), out);
	buf_free(&raw);
}

/* A JSON string value as it is, "" for anything else. */
static void string_or_empty(struct buf *b, struct span value)
{
	if (json_type_of(value) != JSON_STRING || json_span_emit(b, value, 0) != 0)
		buf_puts(b, "\"\"");
}

void record_error(struct record_sink *s, struct span ename, struct span evalue,
		  struct span traceback)
{
	struct buf text = BUF_INIT(ERROR_TEXT_MAX);
	struct buf *b = outlog_line_begin(s->log);

	buf_puts(b, "{\"type\": \"error\", \"name\": ");
	string_or_empty(b, ename);
	buf_puts(b, ", \"value\": ");
	string_or_empty(b, evalue);
	buf_puts(b, ", \"traceback\": ");
	traceback_text(traceback, &text);
	json_text_emit(b, buf_span(&text));
	buf_puts(b, "}\n");
	buf_free(&text);
	if (outlog_line_end(s->log) != 0)
		record_error_text(s, "OutputError", SPAN_LIT("the error is too large to be shown"));
}

void record_error_text(struct record_sink *s, const char *name, struct span value)
{
	struct buf *b = outlog_line_begin(s->log);

	buf_puts(b, "{\"type\": \"error\", \"name\": ");
	json_text_emit(b, span_str(name));
	buf_puts(b, ", \"value\": ");
	json_text_emit(b, value);
	buf_puts(b, ", \"traceback\": \"\"}\n");
	outlog_line_end(s->log);
}

void record_end(struct record_sink *s)
{
	plain_line(s, "{\"type\": \"end_of_execution\"}\n");
	outlog_close(s->log);
}
