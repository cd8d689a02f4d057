/*
 * request_made.h - a request made of parameters, without a connection: for
 * tests of what only reads one.
 */
#ifndef NB2_TESTS_REQUEST_MADE_H
#define NB2_TESTS_REQUEST_MADE_H

#include "http/request.h"

/* Pairs of strings, NULL at the end. The ceiling of its arena may be 0: usual. */
struct request *request_make(size_t arena, const char *const pairs[]);
void request_unmake(struct request *r);

#define REQUEST(...) request_make(0, (const char *const[]){ __VA_ARGS__, NULL })

#endif
