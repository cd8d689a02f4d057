/*
 * loop_int.h - the loop's inside, for the files of this room.
 */
#ifndef NB2_LOOP_LOOP_INT_H
#define NB2_LOOP_LOOP_INT_H

#include <uv.h>

#include "base/check.h"
#include "base/list.h"
#include "loop/loop.h"

struct loop {
	uv_loop_t uv;
	struct list turns; /* struct turn that are wanted */
	size_t jobs;	   /* not done yet */
	uv_prepare_t prepare;
	uv_idle_t idle; /* runs while a turn is wanted, so that the poll does not wait */
};

void turns_init(struct loop *l);
/* Call those that are wanted now. */
void turns_run(struct loop *l);
void turns_close(struct loop *l);

/* Close callback of a handle that is a struct's first thought: frees data. */
void loop_closed(uv_handle_t *h);

#endif
