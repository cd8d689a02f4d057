/*
 * banned.h - functions that have a better one here; using one stops the build.
 *
 * Included before everything by the build (-include base/banned.h), so that
 * nobody forgets it. The system headers that declare these names come first:
 * a name is poisoned for what follows only, i.e. for our own uses. The #undef
 * is for C libraries that make macros of them (clang with _FORTIFY_SOURCE).
 * Behind each row stands what to use instead.
 */
#ifndef NB2_BASE_BANNED_H
#define NB2_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef stpcpy
#undef stpncpy
#undef sprintf
#undef vsprintf

#pragma GCC poison strcpy strcat stpcpy		  /* buf_puts, xstrdup, snprintf */
#pragma GCC poison strncpy strncat stpncpy	  /* buf_append, xstrndup */
#pragma GCC poison sprintf vsprintf		  /* buf_printf, snprintf */
#pragma GCC poison gets				  /* none is needed */
#pragma GCC poison strtok strtok_r strsep	  /* span_cut */
#pragma GCC poison gmtime localtime ctime asctime /* clock_iso, gmtime_r */
#pragma GCC poison localtime_r ctime_r asctime_r  /* clock_iso: all times are UTC */
#pragma GCC poison atoi atol atoll atof		  /* span_u64, json_int */
#pragma GCC poison tmpnam tempnam mktemp	  /* mkstemp, mkdtemp */

#endif
