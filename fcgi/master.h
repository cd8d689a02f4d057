/*
 * master.h - the process that owns the slot sockets and keeps workers alive.
 */
#ifndef NB2_MASTER_H
#define NB2_MASTER_H

#include "config.h"

/* Opens the sockets, starts the workers, stays until SIGTERM or SIGINT. argv
 * is what a worker is started with, to which its own options are added. The
 * process's exit status. */
int master_run(const struct config *c, const char *program, char *const *argv, int argc);

/* The option by which the master tells a worker which slots are its:
 * --worker=INDEX/OF:FD,FD,… with one entry for each of the 16 slots, "-" for
 * those of others. 0 or -EINVAL. */
struct worker_args;
int master_worker_parse(const char *text, struct worker_args *ret);

#endif
