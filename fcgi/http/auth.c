/*
 * auth.c - tokens and where they may stand in a request.
 */
#include "http/auth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/list.h"
#include "base/regex.h"

#define FILE_MAX ((size_t)1 << 20)

struct token {
	struct list link;
	unsigned char digest[DIGEST_LEN];
	char *name;
	char *directory;
	struct regex *sids; /* NULL: all */
	struct auth_user user;
};

struct auth {
	struct list tokens;
	bool no_token;
	bool e2b_open;
	char *hosts;
	char *proxies;
	struct auth_user open_user;
};

/* ---- files ------------------------------------------------------------------------- */

static void token_free(struct token *t)
{
	regex_free(t->sids);
	free(t->name);
	free(t->directory);
	free(t);
}

void auth_free(struct auth *a)
{
	if (!a)
		return;
	while (!list_empty(&a->tokens)) {
		struct token *t = list_first(&a->tokens, struct token, link);

		list_del(&t->link);
		token_free(t);
	}
	free(a->hosts);
	free(a->proxies);
	free(a);
}

/* Secrets: readable by their owner alone. */
static int secret_read(const char *path, struct buf *out, struct buf *why)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	char chunk[4096];
	size_t n;
	int r = f ? 0 : -errno;

	if (r == 0 && fstat(fileno(f), &st) != 0)
		r = -errno;
	if (r == 0 && (st.st_mode & 077)) {
		r = -EACCES;
		buf_printf(why, "%s can be read by others: chmod 600 it", path);
	}
	while (r == 0 && (n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		r = buf_append(out, chunk, n);
	if (r == 0 && ferror(f))
		r = -EIO;
	if (r != 0 && why->len == 0)
		buf_printf(why, "%s: %s", path, strerror(-r));
	if (f)
		fclose(f);
	return r;
}

static void token_add(struct auth *a, struct token *t)
{
	t->user.name = t->name;
	t->user.directory = t->directory;
	list_init(&t->link);
	list_push(&a->tokens, &t->link);
}

static int token_file_load(struct auth *a, const char *path, struct buf *why)
{
	struct buf text = BUF_INIT(FILE_MAX);
	struct span token;
	struct token *t;
	int r = secret_read(path, &text, why);

	token = span_trim(buf_span(&text));
	if (r == 0 && token.len < 16) {
		r = -EINVAL;
		buf_printf(why, "%s: a token of less than 16 characters is none", path);
	}
	if (r == 0) {
		t = xcalloc(1, sizeof(*t));
		digest_sha256(token, t->digest);
		t->name = xstrdup("token");
		token_add(a, t);
	}
	buf_free(&text);
	return r;
}

/* The next word of a line; SPAN_NONE at its end. */
static struct span word(struct span *rest)
{
	struct span w;

	*rest = span_trim(*rest);
	for (size_t i = 0; i < rest->len; i++) {
		if (rest->ptr[i] != ' ' && rest->ptr[i] != '\t')
			continue;
		w = span_of(rest->ptr, i);
		*rest = span_of(rest->ptr + i, rest->len - i);
		return w;
	}
	w = rest->len ? *rest : SPAN_NONE;
	*rest = SPAN_NONE;
	return w;
}

static int option_set(struct token *t, struct span option, struct buf *why)
{
	if (span_is(option, "readonly")) {
		t->user.read_only = true;
		return 0;
	}
	if (span_starts(option, "directory=/")) {
		free(t->directory);
		t->directory = xstrndup(option.ptr + 10, option.len - 10);
		return 0;
	}
	buf_printf(why, "what follows the pattern is neither directory=/PATH nor readonly");
	return -EINVAL;
}

/* name sha256-hex sid-pattern [directory=PATH] [readonly] */
static int token_line(struct token *t, struct span line, struct buf *why)
{
	struct span rest = line;
	struct span name = word(&rest);
	struct span hex = word(&rest);
	struct span pattern = word(&rest);
	struct span option;
	int r = 0;

	if (span_absent(pattern)) {
		buf_printf(why,
			   "a line is: name sha256-hex sid-pattern [directory=/PATH] [readonly]");
		return -EINVAL;
	}
	t->name = xstrndup(name.ptr, name.len);
	if (digest_parse(hex, t->digest) != 0) {
		buf_printf(why, "the second word is no SHA-256 in hex");
		return -EINVAL;
	}
	r = regex_new(pattern, &t->sids, why);
	while (r == 0 && !span_absent(option = word(&rest)))
		r = option_set(t, option, why);
	return r;
}

static int tokens_file_load(struct auth *a, const char *path, struct buf *why)
{
	struct buf text = BUF_INIT(FILE_MAX);
	struct span rest;
	unsigned n = 0;
	int r = secret_read(path, &text, why);

	rest = r == 0 ? buf_span(&text) : SPAN_NONE;
	while (r == 0 && !span_absent(rest)) {
		struct span line = span_trim(span_cut(&rest, '\n'));
		struct buf fault = BUF_INIT(512);
		struct token *t;

		n++;
		if (line.len == 0 || line.ptr[0] == '#')
			continue;
		t = xcalloc(1, sizeof(*t));
		r = token_line(t, line, &fault);
		if (r == 0) {
			token_add(a, t);
		} else {
			token_free(t);
			buf_printf(why, "%s:%u: %s", path, n, fault.data ? fault.data : "wrong");
		}
		buf_free(&fault);
	}
	buf_free(&text);
	return r;
}

int auth_new(const struct auth_config *c, struct auth **ret, struct buf *why)
{
	struct auth *a = xcalloc(1, sizeof(*a));
	int r = 0;

	list_init(&a->tokens);
	a->no_token = c->no_token;
	a->e2b_open = c->e2b_open;
	a->hosts = xstrdup(c->hosts ? c->hosts : "");
	a->proxies = xstrdup(c->proxies ? c->proxies : "");
	a->open_user.name = "open";
	if (c->token_file && *c->token_file)
		r = token_file_load(a, c->token_file, why);
	if (r == 0 && c->tokens_file && *c->tokens_file)
		r = tokens_file_load(a, c->tokens_file, why);
	if (r == 0)
		*ret = a;
	else
		auth_free(a);
	return r;
}

/* ---- tokens in requests ------------------------------------------------------------ */

/* All entries are compared, in constant time each. */
static const struct token *token_find(const struct auth *a, struct span presented)
{
	unsigned char digest[DIGEST_LEN];
	const struct token *found = NULL;

	digest_sha256(presented, digest);
	list_each(&a->tokens, it, tmp) {
		const struct token *t = list_entry(it, struct token, link);

		if (digest_eq(t->digest, digest))
			found = t;
	}
	return presented.len > 0 ? found : NULL;
}

bool auth_token_good(const struct auth *a, struct span token)
{
	return token_find(a, token) != NULL || a->no_token;
}

static struct span behind(struct span value, const char *prefix)
{
	size_t n = strlen(prefix);

	if (value.len < n || !span_ieq(span_of(value.ptr, n), span_str(prefix)))
		return SPAN_NONE;
	return span_trim(span_of(value.ptr + n, value.len - n));
}

static void cookie_name(const struct request *r, char *out, size_t size)
{
	const char *port = request_param(r, "SERVER_PORT");

	snprintf(out, size, "nb2_%.8s", port ? port : "");
}

static bool on_nb2(const struct request *r)
{
	return span_starts(span_str(request_path(r)), "/nb2/");
}

/* The first token of the request, and whether a cookie brought it. */
static struct span token_presented(struct request *r, bool *ret_cookie)
{
	char name[24];
	struct span ways[5];
	struct span cookie;

	*ret_cookie = false;
	ways[0] = request_query(r, "token");
	ways[1] = request_span(r, "HTTP_X_NB2_TOKEN");
	ways[2] = request_span(r, "HTTP_X_ACCESS_TOKEN");
	ways[3] = behind(request_span(r, "HTTP_AUTHORIZATION"), "Bearer ");
	ways[4] = behind(request_span(r, "HTTP_X_API_KEY"), "e2b_");
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		if (ways[i].len > 0)
			return ways[i];
	}
	if (!on_nb2(r))
		return SPAN_NONE;
	cookie_name(r, name, sizeof(name));
	cookie = request_cookie(r, name);
	*ret_cookie = cookie.len > 0;
	return cookie;
}

/* 127.0.0.0/8, ::1 and unix sockets, as nginx says it listens. */
static bool on_loopback(const struct request *r)
{
	struct span a = request_span(r, "SERVER_ADDR");

	return span_starts(a, "127.") || span_is(a, "::1") || span_starts(a, "unix:");
}

static bool says_origin(const struct request *r)
{
	return request_span(r, "HTTP_ORIGIN").len > 0 ||
	       span_is(request_span(r, "HTTP_SEC_FETCH_SITE"), "same-origin");
}

static int user_of(const struct token *t, struct request *r, bool cookie, struct span sid,
		   const struct auth_user **ret)
{
	/* Another site's page sends a cookie along without knowing it, so the
	 * browser has to say that the page is ours. */
	if (cookie && request_method(r) != HTTP_GET && request_method(r) != HTTP_HEAD &&
	    (!says_origin(r) || !auth_same_origin(r)))
		return -EPERM;
	if (t->sids && !span_absent(sid) && !regex_matches(t->sids, sid))
		return -EPERM;
	*ret = &t->user;
	return 0;
}

int auth_check(const struct auth *a, struct request *r, struct span sid,
	       const struct auth_user **ret)
{
	bool cookie;
	struct span presented = token_presented(r, &cookie);
	const struct token *t = token_find(a, presented);

	if (t)
		return user_of(t, r, cookie, sid, ret);
	if (!a->no_token || !on_loopback(r))
		return -EACCES;
	/* No token is asked for, so only who cannot be another site's page. */
	if (!auth_same_origin(r))
		return -EPERM;
	*ret = &a->open_user;
	return 0;
}

void auth_cookie(struct request *r, struct span token, struct buf *out)
{
	const char *scheme = request_param(r, "REQUEST_SCHEME");
	char name[24];

	cookie_name(r, name, sizeof(name));
	buf_printf(out, "%s=", name);
	buf_span_append(out, token);
	buf_printf(out, "; Path=/nb2/; HttpOnly; SameSite=Strict%s",
		   scheme && strcmp(scheme, "https") == 0 ? "; Secure" : "");
}

/* ---- hosts and origins ----------------------------------------------------------------- */

/* Without its port: "[::1]:80" -> "[::1]". */
static struct span host_part(struct span host)
{
	const char *from = host.ptr;
	const char *colon;

	if (host.len > 0 && host.ptr[0] == '[') {
		from = memchr(host.ptr, ']', host.len);
		if (!from)
			return host;
	}
	colon = memchr(from, ':', host.len - (size_t)(from - host.ptr));
	return colon ? span_of(host.ptr, (size_t)(colon - host.ptr)) : host;
}

static bool in_list(const char *list, struct span name)
{
	struct span rest = span_str(list);
	struct span w;

	while (!span_absent(w = word(&rest))) {
		if (span_ieq(w, name))
			return true;
	}
	return false;
}

static struct span host_of(const struct auth *a, const struct request *r)
{
	struct span forwarded = request_span(r, "HTTP_X_FORWARDED_HOST");

	if (forwarded.len > 0 && in_list(a->proxies, request_span(r, "REMOTE_ADDR")))
		return span_trim(span_cut(&forwarded, ','));
	return request_span(r, "HTTP_HOST");
}

bool auth_host_ok(const struct auth *a, struct request *r)
{
	struct span host = host_of(a, r);

	if (host.len == 0)
		return false;
	host = host_part(host);
	return in_list("localhost 127.0.0.1 [::1]", host) || in_list(a->hosts, host);
}

bool auth_same_origin(struct request *r)
{
	struct span site = request_span(r, "HTTP_SEC_FETCH_SITE");
	struct span origin = request_span(r, "HTTP_ORIGIN");
	const char *scheme = request_param(r, "REQUEST_SCHEME");
	struct span host = request_span(r, "HTTP_HOST");
	struct span rest;

	if (site.len > 0 && !span_is(site, "same-origin") && !span_is(site, "none"))
		return false;
	if (span_absent(origin))
		return true;
	rest = behind(origin, scheme ? scheme : "http");
	rest = behind(rest, "://");
	return rest.len > 0 && span_ieq(rest, host);
}

bool auth_open(const struct auth *a, const struct request *r)
{
	return a->e2b_open && span_is(request_span(r, "NB2_LISTENER"), "e2b") && on_loopback(r);
}
