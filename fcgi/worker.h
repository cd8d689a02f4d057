/*
 * worker.h - one worker process: a loop, its slots' sockets, and everything
 * above them.
 */
#ifndef NB2_WORKER_H
#define NB2_WORKER_H

#include "base/ids.h"
#include "config.h"

struct worker_args {
	const struct config *config;
	const char *config_file; /* read again on SIGHUP; may be NULL */
	unsigned index;		 /* which, of how many */
	unsigned of;
	int slot_fd[SLOTS]; /* -1: not this worker's */
};

/* Runs until SIGTERM; the process's exit status. */
int worker_run(const struct worker_args *args);

#endif
