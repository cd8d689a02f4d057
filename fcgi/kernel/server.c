/*
 * server.c - REST towards Jupyter, and the choice of a kernelspec.
 *
 * Owns the libcurl and libwebsockets doors of this worker. Knows nothing of
 * executions.
 */
#include "kernel/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "json/emit.h"
#include "json/scan.h"

#define ANSWER_MAX ((size_t)8 << 20)
#define SPECS_FRESH_MS 10000
#define CALL_MS 15000
#define HANDSHAKE_MS 20000 /* above Jupyter's own kernel_info_timeout of 15 s */
#define CHOICES_MAX 32

struct choice {
	char *language;
	char *kernelspec;
};

struct server {
	struct loop *loop;
	struct server_config config;
	struct httpc *httpc;
	struct ws_service *ws;
	char *unix_path; /* or */
	char *host;
	int port;
	char *base;   /* "/base" or "" */
	char *origin; /* "http://localhost" or "http://host:port" */
	char *authorization;
	/* kernelspecs */
	struct list waiting; /* struct spec_call */
	struct httpc_call *specs_call;
	struct timer *specs_timer;
	struct buf specs; /* the last answer */
	uint64_t specs_at;
	struct choice choices[CHOICES_MAX];
	size_t n_choices;
};

/* ---- where it is --------------------------------------------------------- */

/* http://host:port/base */
static int url_parse(struct server *s, const char *url, struct buf *why)
{
	struct span rest = span_str(url);
	struct span authority;
	struct span host;
	struct span path;
	unsigned long long port = 80;

	if (span_starts(rest, "unix:")) {
		s->unix_path = xstrdup(url + 5);
		s->host = xstrdup("localhost");
		s->base = xstrdup("");
		s->origin = xstrdup("http://localhost");
		return 0;
	}
	if (!span_starts(rest, "http://")) {
		buf_printf(why, "jupyterUrl is neither unix:PATH nor http://ADDRESS:PORT[/BASE]");
		return -EINVAL;
	}
	path = span_of(url + 7, rest.len - 7);
	authority = span_cut(&path, '/');
	host = span_cut(&authority, ':');
	if (host.len == 0 || (!span_absent(authority) && span_u64(authority, &port) != 0) ||
	    port == 0 || port > 65535) {
		buf_printf(why, "jupyterUrl has no valid address and port");
		return -EINVAL;
	}
	while (path.len > 0 && path.ptr[path.len - 1] == '/')
		path.len--;
	s->host = xstrndup(host.ptr, host.len);
	s->port = (int)port;
	s->base = path.len ? xasprintf("/%.*s", SPAN_FMT(path)) : xstrdup("");
	s->origin = xasprintf("http://%s:%d", s->host, s->port);
	return 0;
}

static char *dup_or_null(const char *s)
{
	return s && *s ? xstrdup(s) : NULL;
}

static void config_free(struct server *s)
{
	free((char *)s->config.url);
	free((char *)s->config.token);
	free((char *)s->config.root);
	free(s->unix_path);
	free(s->host);
	free(s->base);
	free(s->origin);
	free(s->authorization);
	for (size_t i = 0; i < s->n_choices; i++) {
		free(s->choices[i].language);
		free(s->choices[i].kernelspec);
	}
	free(s);
}

static void specs_deliver(void *arg);

int server_new(struct loop *l, const struct server_config *c, struct server **ret, struct buf *why)
{
	struct server *s = xcalloc(1, sizeof(*s));
	int r;

	s->loop = l;
	s->config = *c;
	s->config.url = xstrdup(c->url);
	s->config.token = dup_or_null(c->token);
	s->config.root = dup_or_null(c->root);
	list_init(&s->waiting);
	buf_init(&s->specs, ANSWER_MAX);
	r = url_parse(s, c->url, why);
	if (r != 0) {
		config_free(s);
		return r;
	}
	if (s->config.token)
		s->authorization = xasprintf("Authorization: token %s", s->config.token);
	s->httpc = httpc_new(l);
	s->ws = ws_service_new(l);
	s->specs_timer = timer_new(l, specs_deliver, s);
	*ret = s;
	return 0;
}

void server_free(struct server *s)
{
	assert(list_empty(&s->waiting));
	httpc_drain(s->httpc); /* sessions being made or ended have somebody's memory */
	httpc_free(s->httpc);
	ws_service_free(s->ws);
	timer_free(s->specs_timer);
	buf_free(&s->specs);
	config_free(s);
}

struct loop *server_loop(const struct server *s)
{
	return s->loop;
}

const struct server_config *server_config(const struct server *s)
{
	return &s->config;
}

struct span server_relative(const struct server *s, struct span cwd)
{
	struct span root = span_str(s->config.root);

	if (span_absent(root) || span_absent(cwd))
		return SPAN_NONE;
	while (root.len > 0 && root.ptr[root.len - 1] == '/')
		root.len--;
	if (cwd.len < root.len || memcmp(cwd.ptr, root.ptr, root.len) != 0)
		return SPAN_NONE;
	if (cwd.len == root.len)
		return SPAN_LIT("");
	if (cwd.ptr[root.len] != '/')
		return SPAN_NONE;
	return span_of(cwd.ptr + root.len + 1, cwd.len - root.len - 1);
}

/* ---- calls --------------------------------------------------------------- */

struct httpc_call *server_call(struct server *s, const char *method, const char *path,
			       struct span body, httpc_done_fn *done, void *arg)
{
	return server_call_within(s, CALL_MS, method, path, body, done, arg);
}

struct httpc_call *server_call_within(struct server *s, unsigned ms, const char *method,
				      const char *path, struct span body, httpc_done_fn *done,
				      void *arg)
{
	const char *header[4] = { 0 };
	struct httpc_call *call;
	char *url = xasprintf("%s%s%s", s->origin, s->base, path);
	size_t n = 0;

	/* Jupyter refuses other Host names, also on a unix socket. */
	header[n++] = "Accept: application/json";
	if (s->authorization)
		header[n++] = s->authorization;
	if (!span_absent(body))
		header[n++] = "Content-Type: application/json";
	call = httpc_send(s->httpc,
			  &(struct httpc_request){ .method = method,
						   .url = url,
						   .unix_path = s->unix_path,
						   .header = header,
						   .body = body,
						   .timeout_ms = ms,
						   .max_body = ANSWER_MAX },
			  done, arg);
	free(url);
	return call;
}

struct ws *server_channels(struct server *s, const char *kernel_id, const char *session_id,
			   const struct ws_ops *ops, void *arg)
{
	char *path = xasprintf("%s/api/kernels/%s/channels?session_id=%s", s->base, kernel_id,
			       session_id);
	struct ws *w;

	w = ws_open(s->ws,
		    &(struct ws_target){ .unix_path = s->unix_path,
					 .host = s->host,
					 .port = s->port,
					 .path = path,
					 .token = s->config.token,
					 .max_message = s->config.max_message,
					 .timeout_ms = HANDSHAKE_MS },
		    ops, arg);
	free(path);
	return w;
}

/* ---- kernelspecs ---------------------------------------------------------- */

struct spec_call {
	struct list link;
	char *language;
	spec_fn *fn;
	void *arg;
};

void server_spec_choose(struct server *s, const char *language, const char *kernelspec)
{
	struct choice *c = &s->choices[s->n_choices];

	assert(s->n_choices < CHOICES_MAX);
	c->language = xstrdup(language);
	c->kernelspec = xstrdup(kernelspec);
	s->n_choices++;
}

/* The spec of this name, as an object: SPAN_NONE if the server has none. */
static struct span spec_by_name(struct span specs, const char *name)
{
	return json_get(specs, name);
}

/* The first spec whose language is this one. */
static struct span spec_by_language(struct span specs, const char *language)
{
	struct json_iter it;
	struct span spec;
	struct span name = SPAN_NONE;

	json_iter_init(&it, specs);
	while (json_iter_next(&it, NULL, &spec)) {
		struct buf own = BUF_INIT(256);

		json_string_decode(json_path(spec, "spec.language"), JSON_LONE_REPLACE, &own);
		if (span_ieq(buf_span(&own), span_str(language)))
			name = json_get(spec, "name");
		buf_free(&own);
		if (!span_absent(name))
			break;
	}
	return name;
}

static const char *choice_of(const struct server *s, const char *language)
{
	for (size_t i = 0; i < s->n_choices; i++) {
		if (strcmp(s->choices[i].language, language) == 0)
			return s->choices[i].kernelspec;
	}
	return NULL;
}

/* Append the kernelspec's name for language: nothing if there is none. */
static void spec_resolve(const struct server *s, const char *language, struct buf *out)
{
	struct span specs = json_get(buf_span(&s->specs), "kernelspecs");
	const char *chosen = choice_of(s, language);
	struct span name;

	if (chosen && !span_absent(spec_by_name(specs, chosen))) {
		buf_puts(out, chosen);
		return;
	}
	if (!span_absent(spec_by_name(specs, language))) {
		buf_puts(out, language);
		return;
	}
	name = spec_by_language(specs, language);
	if (!span_absent(name))
		json_string_decode(name, 0, out);
}

/* "python (python3), R (ir)" */
static void specs_list(const struct server *s, struct buf *out)
{
	struct json_iter it;
	struct span spec;

	json_iter_init(&it, json_get(buf_span(&s->specs), "kernelspecs"));
	while (json_iter_next(&it, NULL, &spec)) {
		if (out->len > 0)
			buf_puts(out, ", ");
		json_string_decode(json_path(spec, "spec.language"), JSON_LONE_REPLACE, out);
		buf_puts(out, " (");
		json_string_decode(json_get(spec, "name"), JSON_LONE_REPLACE, out);
		buf_puts(out, ")");
	}
}

static void spec_answer(struct server *s, struct spec_call *c, int err)
{
	struct buf name = BUF_INIT(1024);
	struct buf have = BUF_INIT(8192);
	struct spec_answer a = { .err = err };

	list_del(&c->link);
	if (err == 0) {
		spec_resolve(s, c->language, &name);
		if (name.len > 0 && buf_error(&name) == 0)
			a.name = name.data;
		else
			specs_list(s, &have);
		a.have = have.len ? have.data : "none";
	}
	c->fn(c->arg, &a);
	free(c->language);
	free(c);
	buf_free(&name);
	buf_free(&have);
}

static void specs_answer_all(struct server *s, int err)
{
	struct list now;

	/* Callbacks may ask again: those wait for the next round. */
	list_init(&now);
	while (!list_empty(&s->waiting)) {
		struct list *l = s->waiting.next;

		list_del(l);
		list_push(&now, l);
	}
	while (!list_empty(&now))
		spec_answer(s, list_first(&now, struct spec_call, link), err);
}

static void specs_deliver(void *arg)
{
	specs_answer_all(arg, 0);
}

static void specs_done(void *arg, const struct httpc_response *res)
{
	struct server *s = arg;
	int err = res->err;

	s->specs_call = NULL;
	if (err == 0 && res->status != 200)
		err = -EIO;
	if (err == 0) {
		buf_reset(&s->specs);
		buf_span_append(&s->specs, res->body);
		s->specs_at = clock_ms();
	} else {
		log_warn("jupyter: kernelspecs: status %d, %s", res->status, res->why);
	}
	specs_answer_all(s, err);
}

struct spec_call *server_spec(struct server *s, const char *language, spec_fn *fn, void *arg)
{
	struct spec_call *c = xcalloc(1, sizeof(*c));

	c->language = xstrdup(language);
	c->fn = fn;
	c->arg = arg;
	list_init(&c->link);
	list_push(&s->waiting, &c->link);
	if (s->specs.len > 0 && clock_ms() - s->specs_at < SPECS_FRESH_MS)
		timer_set(s->specs_timer, 0);
	else if (!s->specs_call)
		s->specs_call = server_call(s, "GET", "/api/kernelspecs", SPAN_NONE, specs_done, s);
	return c;
}

void spec_cancel(struct spec_call *c)
{
	if (!c)
		return;
	list_del(&c->link);
	free(c->language);
	free(c);
}
