/*
 * routes.c - the table of all routes, and what every request goes through
 * before its handler: Host, path, method, owner's slot, token, body.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "json/emit.h"
#include "json/scan.h"
#include "routes/routes_int.h"

#define E2B (FACE_E2B | NEED_SANDBOX | NEED_TOKEN)

#define ROUTES(R)                                                                                  \
	R(GET, "/nb2/health", LIVENESS | NEED_SID, health_get)                                     \
	R(POST, "/nb2/auth", NEED_JSON, auth_post)                                                 \
	R(GET, "/health", FACE_E2B | LIVENESS, e2b_health_get)                                     \
	R(POST, "/execute", E2B, execute_post)                                                     \
	R(GET, "/contexts", E2B, contexts_get)                                                     \
	R(POST, "/contexts", E2B, contexts_post)                                                   \
	R(POST, "/contexts/{id}/restart", E2B, context_restart_post)                               \
	R(DELETE, "/contexts/{id}", E2B, context_delete_route)

static const struct route routes[] = {
#define R(m, path, need, fn) { HTTP_##m, path, need, fn },
	ROUTES(R)
#undef R
};

/* ---- answers --------------------------------------------------------------------- */

void reply_json(struct request *r, int status, struct span body)
{
	reply(r, status, "application/json; charset=utf-8", body);
}

void reply_e2b_detail(struct request *r, int status, const char *detail)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"detail\":\"%s\"}", detail);
	reply(r, status, "application/json", span_str(body));
}

void reply_answer(struct request *r, const struct context_answer *a)
{
	reply_text(r, a->status, "%s", a->text);
}

static bool on_nb2(struct request *r)
{
	struct span path = span_str(request_path(r));

	return span_is(path, "/nb2") || span_starts(path, "/nb2/");
}

/* An error in the shape of the face that the path belongs to. code and
 * sentence are /nb2's; the E2B face's detail is the reference's word. */
static void refuse(struct request *r, int status, const char *code, const char *sentence)
{
	if (on_nb2(r) || status == 401)
		reply_error(r, status, code, "%s", sentence);
	else if (status == 404 || status == 405)
		reply_e2b_detail(r, status, status == 404 ? "Not Found" : "Method Not Allowed");
	else
		reply_text(r, status, "%s", sentence);
}

static void refuse_unauthorized(struct request *r)
{
	/* Exactly this and nothing else, on either face. */
	reply_json(r, 401, SPAN_LIT("{\"error\":\"unauthorized\"}"));
}

/* ---- whose is it? ---------------------------------------------------------------- */

/* 1-128 characters of A-Z a-z 0-9 . _ : - */
static bool key_ok(struct span s)
{
	if (s.len > 128)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (c == 0 || c >= 0x80 || (!isalnum(c) && !strchr("._:-", c)))
			return false;
	}
	return true;
}

static struct span or_default(struct span s)
{
	return s.len > 0 ? s : SPAN_LIT("default");
}

struct span route_sid(struct request *r)
{
	struct span query = request_query(r, "sid");

	return or_default(query.len > 0 ? query : json_plain(json_get(request_body(r), "sid")));
}

/* The sid of query and body: 0, or the answer is given. */
static int sid_find(struct request *r, struct span *ret_sid)
{
	struct span query = request_query(r, "sid");
	struct span value = json_get(request_body(r), "sid");
	struct span body = json_type_of(value) == JSON_NULL ? SPAN_NONE : json_plain(value);

	if (!span_absent(value) && span_absent(body) && json_type_of(value) != JSON_NULL) {
		reply_error(r, 400, "bad_request", "sid in the body is not a plain string");
		return -1;
	}
	if (query.len > 0 && body.len > 0 && !span_eq(query, body)) {
		reply_error(r, 400, "bad_request", "sid in the query and in the body differ");
		return -1;
	}
	*ret_sid = route_sid(r);
	if (key_ok(*ret_sid))
		return 0;
	reply_error(r, 400, "bad_request",
		    "sid must be 1 to 128 characters of A-Z a-z 0-9 . _ : -");
	return -1;
}

static struct span sandbox_name(struct request *r)
{
	return or_default(request_span(r, "HTTP_E2B_SANDBOX_ID"));
}

/* The name that decides which slot owns the request: 0 (SPAN_NONE: any may
 * answer), or the answer is given. */
static int owner_find(struct request *r, unsigned need, struct span *ret_key)
{
	*ret_key = SPAN_NONE;
	if (need & NEED_SID)
		return sid_find(r, ret_key);
	if (!(need & NEED_SANDBOX))
		return 0;
	*ret_key = sandbox_name(r);
	if (key_ok(*ret_key))
		return 0;
	refuse(r, 400, "bad_request",
	       "E2b-Sandbox-Id must be 1 to 128 characters of A-Z a-z 0-9 . _ : -");
	return -1;
}

/* nginx only guesses the slot. Sent on at most once: what was sent on says so. */
static bool sent_on(struct app *app, struct request *r, struct span key)
{
	const char *routed = request_param(r, "NB2_ROUTED");
	unsigned slot;

	if (span_absent(key))
		return false;
	slot = ids_slot(key);
	if (app->slots & 1u << slot)
		return false;
	if (routed && *routed) {
		log_error("%s: slot %u was sent to a worker that does not own it", request_id(r),
			  slot);
		refuse(r, 500, "internal", "the request could not be routed");
	} else {
		reply_redirect_slot(r, slot);
	}
	return true;
}

struct sandbox *route_sandbox(struct app *app, struct request *r)
{
	struct sandbox *sb = contexts_sandbox(app->contexts, sandbox_name(r));

	if (!sb)
		reply_text(r, 429, "Too many sandboxes");
	return sb;
}

/* ---- may it? ----------------------------------------------------------------------- */

/* The open listener: no token, so no other site's page may use it. */
static bool open_listener(const struct app *app, struct request *r)
{
	return auth_open(app->auth, r);
}

/* A token that is good, before anything of the body is looked at. */
static bool allowed(struct app *app, struct request *r, unsigned need, struct span sid)
{
	const struct auth_user *user;
	int err;

	if (!(need & NEED_TOKEN))
		return true;
	if (open_listener(app, r)) {
		if (auth_same_origin(r))
			return true;
		refuse(r, 403, "forbidden", "Requests from other sites are not allowed");
		return false;
	}
	err = auth_check(app->auth, r, sid, &user);
	if (err == 0 && user->read_only && !(request_method(r) & (HTTP_GET | HTTP_HEAD)))
		err = -EPERM;
	if (err == 0) {
		request_set_user(r, user->name);
		return true;
	}
	if (err == -EPERM)
		refuse(r, 403, "forbidden", "this token may not do that here");
	else
		refuse_unauthorized(r);
	return false;
}

/* Tokens of a team name the sessions, and so the sandboxes, that they may use. */
static bool sid_allowed(struct app *app, struct request *r, unsigned need, struct span sid)
{
	return !(need & (NEED_SID | NEED_SANDBOX)) || allowed(app, r, need, sid);
}

const struct auth_user *app_user(const struct app *app, struct request *r)
{
	const struct auth_user *user;

	return auth_check(app->auth, r, SPAN_NONE, &user) == 0 ? user : NULL;
}

/* Where a token is asked for, pages of any site may use it with theirs. */
static void cors(struct app *app, struct request *r)
{
	if (on_nb2(r) || open_listener(app, r) || !request_param(r, "HTTP_ORIGIN"))
		return;
	request_header(r, "Access-Control-Allow-Origin", "*");
	request_header(r, "Access-Control-Expose-Headers", "*");
}

/* A preflight has no token, and needs none. */
static bool preflight(struct app *app, struct request *r)
{
	const char *headers = request_param(r, "HTTP_ACCESS_CONTROL_REQUEST_HEADERS");

	if (request_method(r) != HTTP_OPTIONS || on_nb2(r) || open_listener(app, r) ||
	    !request_param(r, "HTTP_ACCESS_CONTROL_REQUEST_METHOD"))
		return false;
	request_header(r, "Access-Control-Allow-Methods",
		       "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT");
	request_header(r, "Access-Control-Max-Age", "600");
	if (headers)
		request_header(r, "Access-Control-Allow-Headers", headers);
	reply_text(r, 200, "OK");
	return true;
}

/* ---- is it well made? ----------------------------------------------------------------- */

static bool declares_json(struct request *r)
{
	struct span type = request_span(r, "CONTENT_TYPE");

	return span_ieq(span_trim(span_cut(&type, ';')), SPAN_LIT("application/json"));
}

static bool body_ok(struct request *r, unsigned need)
{
	struct span body = request_body(r);
	const char *why;
	size_t at;

	if (!(need & NEED_JSON))
		return true;
	if (!declares_json(r)) {
		reply_error(r, 415, "unsupported_media_type",
			    "the body must be declared as Content-Type: application/json");
		return false;
	}
	if (json_valid(body, JSON_STRICT, &at, &why) != 0) {
		reply_error(r, 400, "bad_request", "the body is not JSON: %s at byte %zu", why, at);
		return false;
	}
	if (json_type_of(span_trim(body)) != JSON_OBJECT) {
		reply_error(r, 400, "bad_request", "the body must be a JSON object");
		return false;
	}
	return true;
}

struct span route_field(struct request *r, const char *name)
{
	return json_get(request_body(r), name);
}

/* Too large, or shorter than it said: the server tells, we word it. */
static bool refused_early(struct request *r)
{
	int status = request_refused(r);

	if (status == 413)
		refuse(r, 413, "too_large", "the request body is too large");
	else if (status != 0)
		refuse(r, 400, "bad_request", "the request is malformed or its body is cut short");
	return status != 0;
}

static void refuse_path(struct request *r, enum route_result found, unsigned allow)
{
	char methods[96];

	if (found == ROUTE_NO_PATH) {
		refuse(r, 404, "not_found", "there is no such path");
		return;
	}
	http_methods_str(allow, methods, sizeof(methods));
	request_header(r, "Allow", methods);
	refuse(r, 405, "method_not_allowed", "this path does not have that method");
}

void app_handle(void *arg, struct request *r)
{
	struct app *app = arg;
	struct route_match m;
	struct span key;
	unsigned allow;
	enum route_result found;

	found = route_find(routes, ARRAY_LEN(routes), request_method(r), request_path(r), &m,
			   &allow);
	if (!(found == ROUTE_FOUND && m.route->need & LIVENESS) && !auth_host_ok(app->auth, r)) {
		refuse(r, 403, "forbidden", "this Host is not served here");
		return;
	}
	cors(app, r);
	if (preflight(app, r) || refused_early(r))
		return;
	if (found != ROUTE_FOUND) {
		refuse_path(r, found, allow);
		return;
	}
	if (app->stopping) {
		refuse(r, 503, "shutting_down", "the worker is stopping");
		return;
	}
	if (allowed(app, r, m.route->need, SPAN_NONE) && body_ok(r, m.route->need) &&
	    owner_find(r, m.route->need, &key) == 0 && !sent_on(app, r, key) &&
	    sid_allowed(app, r, m.route->need, key))
		m.route->fn(app, r, &m);
}
