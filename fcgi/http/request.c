/*
 * request.c - what a request says: parameters, path, query, cookies.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hex.h"
#include "http/conn_int.h"

#define USER_SHOWN ((size_t)64) /* characters of a user's name, in the log */

static const struct {
	const char *name;
	enum http_method method;
} methods[] = {
	{ "GET", HTTP_GET },	     { "HEAD", HTTP_HEAD },	{ "POST", HTTP_POST },
	{ "PUT", HTTP_PUT },	     { "DELETE", HTTP_DELETE }, { "PATCH", HTTP_PATCH },
	{ "OPTIONS", HTTP_OPTIONS },
};

/* ---- PARAMS ------------------------------------------------------------------------ */

static size_t pairs_count(struct span rest)
{
	struct span name;
	struct span value;
	size_t n = 0;

	while (fcgi_pair(&rest, &name, &value) == 1)
		n++;
	return n;
}

static bool has_nul(struct span s)
{
	return s.len > 0 && memchr(s.ptr, '\0', s.len);
}

/* One pair into the arena. A NUL in it makes the request malformed: behind it
 * a name would be another. */
static int param_add(struct request_data *d, struct span name, struct span value)
{
	struct param *p = &d->params[d->n_params];

	if (has_nul(name) || has_nul(value)) {
		d->refused = 400;
		return 0;
	}
	p->name = arena_span_dup(&d->arena, name);
	p->value = arena_span_dup(&d->arena, value);
	p->value_len = value.len;
	if (!p->name || !p->value)
		return -EFBIG;
	d->n_params++;
	return 0;
}

static int params_parse(struct request_data *d)
{
	struct span rest = buf_span(&d->params_raw);
	struct span name;
	struct span value;
	int n;

	d->params = arena_alloc(&d->arena, (pairs_count(rest) + 1) * sizeof(*d->params));
	if (!d->params)
		return -EFBIG;
	while ((n = fcgi_pair(&rest, &name, &value)) == 1) {
		if (param_add(d, name, value) != 0)
			return -EFBIG;
	}
	buf_free(&d->params_raw);
	return n;
}

static enum http_method method_parse(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(methods); i++) {
		if (strcmp(name, methods[i].name) == 0)
			return methods[i].method;
	}
	return HTTP_OTHER;
}

/* nginx's decoded path; by hand from the URI for other servers. */
static const char *path_find(struct request *r)
{
	struct span uri = request_span(r, "REQUEST_URI");
	const char *path = request_param(r, "DOCUMENT_URI");

	if (path && *path)
		return path;
	path = arena_span_dup(&r->data->arena, span_cut(&uri, '?'));
	return path && *path ? path : "/";
}

/* What outlives the parameters: for the log, and request_id(). */
static void names_set(struct request *r, const char *method)
{
	const char *id = request_param(r, "NB2_REQUEST_ID");
	char text[256];
	int at = snprintf(text, sizeof(text), "%.36s", id && *id ? id : "-") + 1;
	int n = snprintf(text + at, sizeof(text) - (size_t)at, "%.10s %.200s", method,
			 r->data->path);

	r->names = xstrndup(text, (size_t)(at + n));
	r->label_at = (uint16_t)at;
}

int request_params_done(struct request *r)
{
	struct request_data *d = r->data;
	const char *method;
	int n = params_parse(d);

	if (n != 0)
		return n;
	method = request_param(r, "REQUEST_METHOD");
	d->method = method_parse(method);
	d->path = path_find(r);
	r->head_only = d->method == HTTP_HEAD;
	names_set(r, method ? method : "-");
	return 0;
}

/* ---- reading ------------------------------------------------------------------------ */

struct span request_span(const struct request *r, const char *name)
{
	const struct request_data *d = r->data;

	CHECK_OBJ(r, REQUEST_MAGIC);
	for (size_t i = 0; d && i < d->n_params; i++) {
		if (strcmp(d->params[i].name, name) == 0)
			return span_of(d->params[i].value, d->params[i].value_len);
	}
	return SPAN_NONE;
}

const char *request_param(const struct request *r, const char *name)
{
	return request_span(r, name).ptr;
}

enum http_method request_method(const struct request *r)
{
	return r->data->method;
}

const char *request_path(const struct request *r)
{
	return r->data->path;
}

struct span request_body(const struct request *r)
{
	return buf_span(&r->data->body);
}

struct arena *request_arena(struct request *r)
{
	return &r->data->arena;
}

unsigned request_slot(const struct request *r)
{
	return r->slot;
}

const char *request_id(const struct request *r)
{
	return r->names ? r->names : "-";
}

int request_refused(const struct request *r)
{
	return r->data->refused;
}

void request_on_gone(struct request *r, void (*fn)(void *arg), void *arg)
{
	assert(r->phase == PHASE_RUNNING);
	r->data->gone = fn;
	r->data->gone_arg = arg;
}

void request_set_user(struct request *r, const char *name)
{
	size_t len = strlen(name);

	assert(r->names);
	len = len < USER_SHOWN ? len : USER_SHOWN;
	r->user_at = (uint16_t)(r->label_at + strlen(r->names + r->label_at) + 1);
	r->names = xrealloc(r->names, r->user_at + len + 1);
	memcpy(r->names + r->user_at, name, len);
	r->names[r->user_at + len] = '\0';
}

/* ---- query and cookies ----------------------------------------------------------------- */

/* The next decoded character of rest (not empty), which moves on. */
static char decode_next(struct span *rest)
{
	const char *p = rest->ptr;
	int hi = rest->len > 2 && *p == '%' ? hex_value(p[1]) : -1;
	int lo = hi >= 0 ? hex_value(p[2]) : -1;
	size_t n = lo >= 0 ? 3 : 1;

	*rest = span_of(p + n, rest->len - n);
	if (lo >= 0)
		return (char)(hi << 4 | lo);
	return *p == '+' ? ' ' : *p;
}

/* Percent-decoded into the arena. */
static struct span decode(struct request *r, struct span raw)
{
	char *out = arena_alloc(&r->data->arena, raw.len + 1);
	size_t n = 0;

	if (!out)
		return SPAN_NONE;
	while (raw.len > 0)
		out[n++] = decode_next(&raw);
	out[n] = '\0';
	return span_of(out, n);
}

/* Compared where it stands: a query may have thousands of names. */
static bool decodes_to(struct span raw, const char *name)
{
	while (raw.len > 0 && *name && decode_next(&raw) == *name)
		name++;
	return raw.len == 0 && !*name;
}

struct span request_query(struct request *r, const char *name)
{
	struct span rest = request_span(r, "QUERY_STRING");

	while (!span_absent(rest)) {
		struct span value = span_cut(&rest, '&');
		struct span key = span_cut(&value, '=');

		if (decodes_to(key, name))
			return span_absent(value) ? SPAN_LIT("") : decode(r, value);
	}
	return SPAN_NONE;
}

struct span request_cookie(const struct request *r, const char *name)
{
	struct span rest = request_span(r, "HTTP_COOKIE");

	while (!span_absent(rest)) {
		struct span value = span_trim(span_cut(&rest, ';'));
		struct span key = span_cut(&value, '=');

		if (span_is(key, name) && !span_absent(value))
			return value;
	}
	return SPAN_NONE;
}
