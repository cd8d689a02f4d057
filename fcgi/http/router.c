/*
 * router.c - patterns against paths.
 */
#include "http/router.h"

#include <stdio.h>

static const struct {
	enum http_method method;
	const char *name;
} names[] = {
	{ HTTP_GET, "GET" },	     { HTTP_HEAD, "HEAD" },	{ HTTP_POST, "POST" },
	{ HTTP_PUT, "PUT" },	     { HTTP_DELETE, "DELETE" }, { HTTP_PATCH, "PATCH" },
	{ HTTP_OPTIONS, "OPTIONS" },
};

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{ 200, "OK" },
	{ 201, "Created" },
	{ 204, "No Content" },
	{ 304, "Not Modified" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 409, "Conflict" },
	{ 413, "Content Too Large" },
	{ 415, "Unsupported Media Type" },
	{ 422, "Unprocessable Content" },
	{ 429, "Too Many Requests" },
	{ 500, "Internal Server Error" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
};

const char *http_status_str(int status)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		if (reasons[i].status == status)
			return reasons[i].reason;
	}
	return "Status";
}

void http_methods_str(unsigned set, char *out, size_t size)
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(names) && n < size; i++) {
		if (set & names[i].method)
			n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "",
					      names[i].name);
	}
}

/* Segment by segment. */
static bool pattern_matches(const char *pattern, const char *path, struct span *ret_id)
{
	struct span want = span_str(pattern);
	struct span have = span_str(path);

	*ret_id = SPAN_NONE;
	while (!span_absent(want) && !span_absent(have)) {
		struct span w = span_cut(&want, '/');
		struct span h = span_cut(&have, '/');

		if (w.len > 0 && w.ptr[0] == '{') {
			if (h.len == 0)
				return false;
			*ret_id = h;
		} else if (!span_eq(w, h)) {
			return false;
		}
	}
	return span_absent(want) && span_absent(have);
}

enum route_result route_find(const struct route *table, size_t n, enum http_method method,
			     const char *path, struct route_match *ret_match, unsigned *ret_allow)
{
	enum route_result found = ROUTE_NO_PATH;
	enum http_method asked = method == HTTP_HEAD ? HTTP_GET : method;
	struct span id;

	*ret_allow = 0;
	for (size_t i = 0; i < n; i++) {
		if (!pattern_matches(table[i].path, path, &id))
			continue;
		*ret_match = (struct route_match){ &table[i], id };
		if (table[i].method == asked)
			return ROUTE_FOUND;
		found = ROUTE_NO_METHOD;
		*ret_allow |= table[i].method | (table[i].method == HTTP_GET ? HTTP_HEAD : 0);
	}
	return found;
}
