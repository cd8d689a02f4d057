/*
 * frame_int.h - what the framings share.
 */
#ifndef NB2_JUPYTER_FRAME_INT_H
#define NB2_JUPYTER_FRAME_INT_H

#include "jupyter/message.h"

/* More parts than any message has: what claims more is no frame. */
#define FRAME_OFFSETS_MAX 4096

/* channel, header, parent_header, metadata, content are set: look at them and
 * fill in what stands in them. 0 or -EBADMSG. */
int message_fill(struct jupyter_msg *m);

/* The header object of a message we send. */
void message_header(struct buf *out, const struct jupyter_out *m);

/* The parent header of a message we send: {} when there is none. */
struct span message_parent(const struct jupyter_out *m);

#endif
