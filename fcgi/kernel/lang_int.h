/*
 * lang_int.h - the snippets of each language, for the table in lang.c.
 */
#ifndef NB2_KERNEL_LANG_INT_H
#define NB2_KERNEL_LANG_INT_H

#include "kernel/lang.h"

int python_init(struct buf *out, const char *mark, struct span cwd, struct env_vars global);
int python_set(struct buf *out, const char *mark, struct env_vars vars);
int python_restore(struct buf *out, const char *mark);

#endif
