/*
 * outlog.h - the output of one execution: whole lines in order, and the places
 * of those who read it.
 *
 * Lines are appended once and never change, except that the last one may grow
 * while nobody has read it (outlog_tail). A reader is a cursor: it costs no
 * queue. What every cursor has passed is let go, unless the log is kept whole.
 * Loop thread only. Knows bytes, not what they mean.
 */
#ifndef NB2_JOURNAL_OUTLOG_H
#define NB2_JOURNAL_OUTLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/span.h"

struct outlog;

struct outlog *outlog_new(void);
void outlog_free(struct outlog *log); /* cursors must be closed; NULL is fine */

/*
 * Write a line: begin, append to the buffer it gives, then end or undo. The
 * buffer's ceiling is OUTLOG_LINE_MAX; a line that passed it is undone by
 * outlog_line_end(), which then says -EFBIG. Ends with a newline, which the
 * caller appends.
 */
#define OUTLOG_LINE_MAX ((size_t)192 << 20)
struct buf *outlog_line_begin(struct outlog *log);
int outlog_line_end(struct outlog *log);
void outlog_line_undo(struct outlog *log);

/* The last line, if nobody has read any of it and no more than max bytes are in
 * it: the buffer (to be cut and appended to) and where in it the line begins.
 * NULL: there is none. Give it back with outlog_tail_end(). */
struct buf *outlog_tail(struct outlog *log, size_t max, size_t *ret_start);
void outlog_tail_end(struct outlog *log);

/* No line will follow. */
void outlog_close(struct outlog *log);
bool outlog_closed(const struct outlog *log);

uint64_t outlog_lines(const struct outlog *log); /* appended so far */
uint64_t outlog_bytes(const struct outlog *log);
size_t outlog_held(const struct outlog *log); /* bytes in memory now */

/* A reader's place. Embedded in its owner. */
struct outlog_cursor {
	struct list link;
	struct outlog *log; /* NULL: closed */
	struct outlog_chunk *chunk;
	size_t off;
};

/* Start at the oldest line still here. */
void outlog_open(struct outlog *log, struct outlog_cursor *c);
void outlog_cursor_close(struct outlog_cursor *c); /* twice is fine */

/* Move about `room` bytes, whole lines unless a line is longer, to out.
 * true: there is more now. */
bool outlog_read(struct outlog_cursor *c, struct buf *out, size_t room);
/* Everything that will ever come has been read. */
bool outlog_at_end(const struct outlog_cursor *c);

#endif
