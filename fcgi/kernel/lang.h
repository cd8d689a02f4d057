/*
 * lang.h - languages: their names, and the snippets that set a kernel up.
 *
 * Snippets are pure functions from (names, values) to code that a silent
 * request runs; the user's own code is never touched. A value is data: any
 * UTF-8 without NUL arrives as it is. Nothing of a snippet stays in the user's
 * namespace, history or count.
 */
#ifndef NB2_KERNEL_LANG_H
#define NB2_KERNEL_LANG_H

#include <stddef.h>

#include "base/buf.h"
#include "base/span.h"

struct env_var {
	struct span name;  /* [A-Za-z_][A-Za-z0-9_]* */
	struct span value; /* UTF-8, no NUL */
};

struct env_vars {
	const struct env_var *v;
	size_t n;
};

struct lang {
	const char *name;   /* canonical: "python" */
	const char *kernel; /* what to install for it, for people */

	/* A new process: change directory (cwd may be absent), set the lasting
	 * environment. Run again in the same process it does nothing: mark is
	 * what it knows it by. */
	int (*init)(struct buf *out, const char *mark, struct span cwd, struct env_vars global);
	/* Set variables and remember under mark what was there before. */
	int (*set)(struct buf *out, const char *mark, struct env_vars vars);
	/* Give back what set() remembered under mark. Repeatable. */
	int (*restore)(struct buf *out, const char *mark);
};

/* The canonical name of what a client wrote: lower case, stripped, aliases
 * (js, ts) resolved, empty or absent = python. Unknown names stay, lower-cased.
 * Into out; 0 or -EFBIG. */
int lang_name(struct span asked, struct buf *out);

/* By canonical name; NULL: none of ours (its kernel may still exist). */
const struct lang *lang_find(struct span name);

/* Is it a name an environment variable may have? */
bool env_name_ok(struct span name);

/* A Python string literal, ASCII, from UTF-8. */
int lang_python_str(struct buf *out, struct span utf8);

#endif
