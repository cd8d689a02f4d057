/*
 * outlog.c - chunks of lines, freed from the front as the cursors pass.
 *
 * A chunk holds whole lines; a line larger than a chunk has one of its own.
 */
#include "journal/outlog.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"

#define CHUNK_FILL ((size_t)64 << 10) /* a chunk with more than this takes no further line */

struct outlog_chunk {
	struct outlog_chunk *next;
	struct buf data;
	size_t whole; /* bytes of whole lines: what a reader may see */
	size_t last;  /* where the last of them begins */
};

struct outlog {
	struct outlog_chunk *first;
	struct outlog_chunk *last;
	struct list cursors;
	uint64_t lines;
	uint64_t bytes;
	size_t held;
	bool closed;
};

struct outlog *outlog_new(void)
{
	struct outlog *log = xcalloc(1, sizeof(*log));

	list_init(&log->cursors);
	return log;
}

static void chunk_free(struct outlog_chunk *ch)
{
	buf_free(&ch->data);
	free(ch);
}

void outlog_free(struct outlog *log)
{
	struct outlog_chunk *ch;

	if (!log)
		return;
	assert(list_empty(&log->cursors));
	while ((ch = log->first) != NULL) {
		log->first = ch->next;
		chunk_free(ch);
	}
	free(log);
}

static struct outlog_chunk *chunk_add(struct outlog *log)
{
	struct outlog_chunk *ch = xcalloc(1, sizeof(*ch));

	buf_init(&ch->data, OUTLOG_LINE_MAX + CHUNK_FILL);
	if (log->last)
		log->last->next = ch;
	else
		log->first = ch;
	log->last = ch;
	return ch;
}

/* A cursor that waited at the end of a chunk, or on an empty log, moves on. */
static void cursors_settle(struct outlog *log)
{
	list_each(&log->cursors, it, tmp) {
		struct outlog_cursor *c = list_entry(it, struct outlog_cursor, link);

		if (!c->chunk && log->first) {
			c->chunk = log->first;
			c->off = 0;
		}
		while (c->chunk && c->off == c->chunk->whole && c->chunk->next) {
			c->chunk = c->chunk->next;
			c->off = 0;
		}
	}
}

/* Free the chunks in front of every cursor. Without a cursor nothing goes: a
 * reader may still come. */
static void trim(struct outlog *log)
{
	struct outlog_chunk *ch;

	if (list_empty(&log->cursors))
		return;
	while ((ch = log->first) != log->last) {
		list_each(&log->cursors, it, tmp) {
			if (list_entry(it, struct outlog_cursor, link)->chunk == ch)
				return;
		}
		log->first = ch->next;
		log->held -= ch->whole;
		chunk_free(ch);
	}
}

struct buf *outlog_line_begin(struct outlog *log)
{
	struct outlog_chunk *ch = log->last;

	assert(!log->closed);
	if (!ch || ch->whole >= CHUNK_FILL)
		ch = chunk_add(log);
	assert(ch->data.len == ch->whole);
	return &ch->data;
}

int outlog_line_end(struct outlog *log)
{
	struct outlog_chunk *ch = log->last;
	size_t len = ch->data.len - ch->whole;

	if (buf_error(&ch->data) != 0 || len > OUTLOG_LINE_MAX) {
		outlog_line_undo(log);
		return -EFBIG;
	}
	assert(len > 0 && ch->data.data[ch->data.len - 1] == '\n');
	ch->last = ch->whole;
	ch->whole = ch->data.len;
	log->lines++;
	log->bytes += len;
	log->held += len;
	cursors_settle(log);
	return 0;
}

void outlog_line_undo(struct outlog *log)
{
	struct outlog_chunk *ch = log->last;

	buf_truncate(&ch->data, ch->whole);
	ch->data.err = 0;
}

/* Has a cursor gone past the beginning of the last line? */
static bool tail_seen(const struct outlog *log, const struct outlog_chunk *ch)
{
	list_each(&log->cursors, it, tmp) {
		const struct outlog_cursor *c = list_entry(it, struct outlog_cursor, link);

		if (c->chunk == ch && c->off > ch->last)
			return true;
	}
	return false;
}

struct buf *outlog_tail(struct outlog *log, size_t max, size_t *ret_start)
{
	struct outlog_chunk *ch = log->last;

	if (!ch || ch->whole == 0 || ch->whole - ch->last > max || tail_seen(log, ch))
		return NULL;
	log->bytes -= ch->whole - ch->last;
	log->held -= ch->whole - ch->last;
	*ret_start = ch->last;
	return &ch->data;
}

void outlog_tail_end(struct outlog *log)
{
	struct outlog_chunk *ch = log->last;

	assert(ch->data.len > ch->last && ch->data.data[ch->data.len - 1] == '\n');
	ch->whole = ch->data.len;
	log->bytes += ch->whole - ch->last;
	log->held += ch->whole - ch->last;
}

void outlog_close(struct outlog *log)
{
	log->closed = true;
}

bool outlog_closed(const struct outlog *log)
{
	return log->closed;
}

uint64_t outlog_lines(const struct outlog *log)
{
	return log->lines;
}

uint64_t outlog_bytes(const struct outlog *log)
{
	return log->bytes;
}

size_t outlog_held(const struct outlog *log)
{
	return log->held;
}

void outlog_open(struct outlog *log, struct outlog_cursor *c)
{
	*c = (struct outlog_cursor){ .log = log, .chunk = log->first };
	list_init(&c->link);
	list_push(&log->cursors, &c->link);
}

void outlog_cursor_close(struct outlog_cursor *c)
{
	if (!c->log)
		return;
	list_del(&c->link);
	c->log = NULL;
	c->chunk = NULL;
}

/* How much of the chunk from off on to take: whole lines within room if there
 * are any, else room bytes of a long one, but nothing behind other lines. */
static size_t piece_len(const struct outlog_chunk *ch, size_t off, size_t room, bool first)
{
	size_t left = ch->whole - off;
	const char *nl;

	if (left <= room)
		return left;
	nl = memrchr(ch->data.data + off, '\n', room);
	if (nl)
		return (size_t)(nl - (ch->data.data + off)) + 1;
	return first ? room : 0;
}

bool outlog_read(struct outlog_cursor *c, struct buf *out, size_t room)
{
	size_t start = out->len;
	size_t n;

	while (room > 0 && c->chunk && c->off < c->chunk->whole) {
		n = piece_len(c->chunk, c->off, room, out->len == start);
		if (n == 0)
			break;
		buf_append(out, c->chunk->data.data + c->off, n);
		c->off += n;
		room -= n;
		while (c->off == c->chunk->whole && c->chunk->next) {
			c->chunk = c->chunk->next;
			c->off = 0;
		}
	}
	trim(c->log);
	return c->chunk && c->off < c->chunk->whole;
}

bool outlog_at_end(const struct outlog_cursor *c)
{
	return c->log->closed && (!c->chunk || (c->off == c->chunk->whole && !c->chunk->next));
}
