/*
 * auth.c - POST /nb2/auth: trade the URL's token for a cookie.
 */
#include "json/scan.h"
#include "routes/routes_int.h"

void auth_post(void *arg, struct request *r, const struct route_match *m)
{
	struct app *app = arg;
	struct buf token = BUF_INIT(4096);
	struct buf cookie = BUF_INIT(8192);
	struct span field = route_field(r, "token");

	(void)m;
	if (json_type_of(field) != JSON_STRING) {
		reply_error(r, 400, "bad_request", "token must be a string");
	} else if (!auth_same_origin(r)) {
		reply_error(r, 403, "forbidden", "Requests from other sites are not allowed");
	} else if (json_string_decode(field, 0, &token) != 0 ||
		   !auth_token_good(app->auth, buf_span(&token))) {
		reply_json(r, 401, SPAN_LIT("{\"error\":\"unauthorized\"}"));
	} else {
		auth_cookie(r, buf_span(&token), &cookie);
		request_header(r, "Set-Cookie", cookie.data);
		request_header(r, "Cache-Control", "no-store");
		reply_json(r, 200, SPAN_LIT("{\"ok\":true}"));
	}
	buf_free(&token);
	buf_free(&cookie);
}
