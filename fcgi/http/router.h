/*
 * router.h - the table of routes: one row a resource and method.
 *
 * A pattern is literal segments and {name} segments ("/contexts/{id}/restart");
 * {name} takes one non-empty segment. Preconditions are columns (need): the
 * dispatcher checks them in the application's own function before the handler
 * runs, so handlers do not.
 */
#ifndef NB2_HTTP_ROUTER_H
#define NB2_HTTP_ROUTER_H

#include "http/request.h"

struct route;

/* What a route's handler is given: the row, and the segment that {…} took. */
struct route_match {
	const struct route *route;
	struct span id; /* SPAN_NONE if the pattern has no {…} */
};

typedef void route_fn(void *app, struct request *r, const struct route_match *m);

struct route {
	enum http_method method;
	const char *path;
	unsigned need; /* bits that the application defines */
	route_fn *fn;
};

enum route_result { ROUTE_FOUND, ROUTE_NO_PATH, ROUTE_NO_METHOD };

/* GET rows also serve HEAD. ROUTE_NO_METHOD: *ret_allow has the methods the
 * path has; ret_match->route is then some row of that path. */
enum route_result route_find(const struct route *table, size_t n, enum http_method method,
			     const char *path, struct route_match *ret_match, unsigned *ret_allow);

/* "GET, POST" for a set of methods, into out. */
void http_methods_str(unsigned set, char *out, size_t size);
/* The reason phrase of a status; never NULL. */
const char *http_status_str(int status);

#endif
