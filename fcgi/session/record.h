/*
 * record.h - the NDJSON records of POST /execute: what goes over the wire, to
 * the byte.
 *
 * One record a line, separators ", " and ": ", ASCII only, keys in the order
 * of e2b-protocol.md sections 3 and 4. A long text becomes several records of
 * at most RECORD_TEXT_MAX bytes of JSON text; adjacent stream records of one
 * name are joined while nobody has read the first.
 */
#ifndef NB2_SESSION_RECORD_H
#define NB2_SESSION_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "journal/outlog.h"

#define RECORD_TEXT_MAX ((size_t)64 << 10)

enum record_stream { RECORD_STDOUT, RECORD_STDERR };

/* Where an execution's records go, and how much may. */
struct record_sink {
	struct outlog *log; /* borrowed */
	size_t limit;	    /* bytes of records; past it one notice, then silence */
	uint64_t base;	    /* bytes in the log when it began */
	bool cut;
	/* The last record, if it is a stream's: what can be joined. */
	bool joinable;
	enum record_stream name;
	size_t suffix; /* bytes behind its text: the timestamp and the end */
	uint64_t line; /* its number: no other record may have come since */
};

void record_sink_init(struct record_sink *s, struct outlog *log, size_t limit);

/* text is a JSON string value, date the kernel's header date (may be absent:
 * now). What is no string is ignored. */
void record_stream(struct record_sink *s, enum record_stream name, struct span text,
		   struct span date);
/* The same from plain UTF-8, dated now. */
void record_stream_text(struct record_sink *s, enum record_stream name, struct span utf8);

/* data is a MIME bundle (JSON object). A bundle that is not valid JSON becomes
 * a notice on stderr. */
void record_result(struct record_sink *s, struct span data, bool main_result);
/* {"type": "update_display", "display_id": …, <the fields of a result>} */
void record_update_display(struct record_sink *s, struct span display_id, struct span data);
void record_clear_output(struct record_sink *s, bool wait);

/* These are never cut. */
void record_count(struct record_sink *s, int64_t execution_count);
/* From a message: JSON string values, and traceback a JSON array of strings,
 * joined without separator; ANSI escapes are taken out. Absent ones are "". */
void record_error(struct record_sink *s, struct span ename, struct span evalue,
		  struct span traceback);
/* Our own: plain text, no traceback. */
void record_error_text(struct record_sink *s, const char *name, struct span value);
void record_end(struct record_sink *s);

/* {"type": "keepalive"} and its newline: made by whoever writes the socket. */
struct span record_keepalive(void);

/* Without ANSI escape sequences (CSI, OSC, two-character ones). */
void record_strip_ansi(struct span text, struct buf *out);
/* A header date as Python's isoformat writes it: +00:00, no zero fraction. */
void record_timestamp(struct buf *out, struct span date);

#endif
