/*
 * fcgi_int.h - FastCGI records, taken apart as the bytes come.
 *
 * Pure: no I/O, no memory of its own. Content is handed on in the pieces it
 * came in, so nothing is copied and no record needs to be here as a whole.
 */
#ifndef NB2_HTTP_FCGI_INT_H
#define NB2_HTTP_FCGI_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/span.h"

#define REC_VALUES_MAX 256 /* of FCGI_GET_VALUES, what we look at */

struct fcgi_reader {
	unsigned char head[8];
	uint8_t have;	 /* bytes of the header that are here */
	uint8_t padding; /* to be skipped */
	uint16_t left;	 /* content still to come */
	uint16_t length; /* of this record */
};

enum fcgi_kind {
	REC_BEGIN,  /* role and keep are set; comes once the whole body is here */
	REC_PARAMS, /* a piece; empty = the end */
	REC_STDIN,  /* likewise */
	REC_ABORT,
	REC_VALUES,  /* a piece of FCGI_GET_VALUES */
	REC_UNKNOWN, /* a management record of a type we do not know; type is set */
	REC_OTHER,   /* an application record we do not take (data, …) */
};

struct fcgi_event {
	enum fcgi_kind kind;
	uint16_t id;
	uint16_t role;
	bool keep;
	uint8_t type;
	bool last; /* data ends its record */
	struct span data;
};

/*
 * Take the next event from in, which moves on by what was used. 1: an event.
 * 0: more bytes are needed (in is used up). -EBADMSG: this is no FastCGI.
 * BEGIN bodies that come in pieces are kept in begin[8].
 */
struct fcgi_input {
	struct fcgi_reader reader;
	unsigned char begin[8];
};
int fcgi_next(struct fcgi_input *ri, struct span *in, struct fcgi_event *ret);

/* Name-value pairs (section 3.4): 1 a pair, 0 the end, -EBADMSG. */
int fcgi_pair(struct span *rest, struct span *ret_name, struct span *ret_value);

/* Headers and small records that we send. */
void fcgi_header(unsigned char out[8], uint8_t type, uint16_t id, uint16_t length);
void fcgi_end(unsigned char out[16], uint16_t id, uint8_t protocol_status);
void fcgi_unknown(unsigned char out[16], uint8_t type);
/* The answer to FCGI_GET_VALUES for the names in wanted. */
void fcgi_values(struct buf *out, struct span wanted);

#endif
