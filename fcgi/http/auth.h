/*
 * auth.h - who may call: tokens, and the rules against other sites' pages.
 *
 * Tokens are kept as SHA-256 digests and compared in constant time over all
 * entries. nb2-http.md section 6, e2b-protocol.md section 7.
 */
#ifndef NB2_HTTP_AUTH_H
#define NB2_HTTP_AUTH_H

#include <stdbool.h>

#include "base/buf.h"
#include "http/request.h"

struct auth;

struct auth_config {
	const char *token_file;	 /* one token; NULL or "" with no_token set */
	const char *tokens_file; /* a team's; NULL: none */
	bool no_token;		 /* no token is asked for, on loopback addresses alone */
	const char *hosts;	 /* further names accepted in Host, space-separated; NULL: none */
	const char *proxies;	 /* addresses whose X-Forwarded-Host counts; NULL: none */
	bool e2b_open;		 /* the "e2b" listener takes requests without a token */
};

/* Who a request acts for. Borrowed from the auth, valid until it is freed or
 * reloaded; name is "token" for the one of token_file, "open" without any. */
struct auth_user {
	const char *name;
	const char *directory; /* where its kernels start; NULL: not said */
	bool read_only;
};

/* Reads the files. 0, or a negative errno and a sentence in why: a file that
 * is missing, readable by others (mode & 077), or a line that is wrong (named by number).
 * tokens_file, a line each: name sha256-hex sid-pattern [directory=PATH] [readonly]
 * ('#' comments; the pattern is PCRE2 and must match the whole sid). */
int auth_new(const struct auth_config *c, struct auth **ret, struct buf *why);
void auth_free(struct auth *a); /* NULL is fine */

/* The first token among: query token=, x-nb2-token, X-Access-Token,
 * Authorization: Bearer, X-API-KEY (with its e2b_ prefix), and on /nb2 paths the cookie.
 * 0 and *ret; -EACCES: none or wrong; -EPERM: right, but not for this sid
 * (sid SPAN_NONE: not asked), or a cookie on a POST that does not come, by its
 * Origin or Sec-Fetch-Site, from our own page. */
int auth_check(const struct auth *a, struct request *r, struct span sid,
	       const struct auth_user **ret);

/* Is this bare token good (POST /nb2/auth)? */
bool auth_token_good(const struct auth *a, struct span token);

/* The Set-Cookie value for a token: name nb2_<port>, Path=/nb2/, HttpOnly,
 * SameSite=Strict, Secure under TLS. */
void auth_cookie(struct request *r, struct span token, struct buf *out);

/* Is the Host one of ours (localhost, 127.0.0.1, [::1], configured; port
 * ignored, case folded; X-Forwarded-Host from listed proxies)? A missing Host is not. */
bool auth_host_ok(const struct auth *a, struct request *r);

/* For listeners that ask for no token: false if a browser sent it for another
 * site (foreign Origin, or Sec-Fetch-Site other than same-origin or none). */
bool auth_same_origin(struct request *r);

/* Did it come in by the listener that asks for no token: the one nginx marks
 * NB2_LISTENER=e2b, if that is open, and on a loopback address? */
bool auth_open(const struct auth *a, const struct request *r);

#endif
