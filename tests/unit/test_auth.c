/*
 * test_auth.c - who may call: each way to bring a token, each way to have none;
 * a team's file; hosts and origins.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "http/auth.h"
#include "request_made.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define ANN "anns-token-0123456789"

struct fixture {
	char dir[32];
	char token_file[64];
	char tokens_file[64];
	struct auth *auth;
	struct buf why;
};

static void file_put(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void hex_of(const char *token, char out[2 * DIGEST_LEN + 1])
{
	unsigned char digest[DIGEST_LEN];

	digest_sha256(span_str(token), digest);
	for (size_t i = 0; i < DIGEST_LEN; i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static int make(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .dir = "/tmp/nb2-unit-XXXXXX", .why = BUF_INIT(4096) };
	if (!mkdtemp(f.dir))
		return -1;
	snprintf(f.token_file, sizeof(f.token_file), "%s/token", f.dir);
	snprintf(f.tokens_file, sizeof(f.tokens_file), "%s/tokens", f.dir);
	file_put(f.token_file, TOKEN "\n", 0600);
	*state = &f;
	return 0;
}

static int drop(void **state)
{
	struct fixture *f = *state;

	auth_free(f->auth);
	buf_free(&f->why);
	unlink(f->token_file);
	unlink(f->tokens_file);
	rmdir(f->dir);
	return 0;
}

static void load(struct fixture *f, struct auth_config c)
{
	c.token_file = c.no_token ? NULL : f->token_file;
	assert_int_equal(auth_new(&c, &f->auth, &f->why), 0);
}

/* What is said to a request, which goes. */
static int check(const struct auth *a, struct request *r, struct span sid,
		 const struct auth_user **user)
{
	int n = auth_check(a, r, sid, user);

	request_unmake(r);
	return n;
}

static int check_pair(const struct auth *a, const char *name, const char *value)
{
	const struct auth_user *user;

	return check(a, REQUEST("DOCUMENT_URI", "/execute", "SERVER_PORT", "8080", name, value),
		     SPAN_NONE, &user);
}

/* ---- one token ------------------------------------------------------------------- */

static void each_way(void **state)
{
	struct fixture *f = *state;
	static const char *const ways[][2] = {
		{ "QUERY_STRING", "a=b&token=" TOKEN },
		{ "QUERY_STRING", "token=%30"
				  "123456789abcdef0123456789abcdef" },
		{ "HTTP_X_NB2_TOKEN", TOKEN },
		{ "HTTP_X_ACCESS_TOKEN", TOKEN },
		{ "HTTP_AUTHORIZATION", "Bearer " TOKEN },
		{ "HTTP_AUTHORIZATION", "bearer  " TOKEN " " },
		{ "HTTP_X_API_KEY", "e2b_" TOKEN },
	};
	static const char *const no_ways[][2] = {
		{ "HTTP_X_API_KEY", TOKEN },
		{ "HTTP_AUTHORIZATION", TOKEN },
		{ "HTTP_AUTHORIZATION", "Basic " TOKEN },
		{ "HTTP_AUTHORIZATION", "Bearer" },
		{ "HTTP_COOKIE", "nb2_8080=" TOKEN }, /* not on this path */
		{ "HTTP_X_TOKEN", TOKEN },
		{ "QUERY_STRING", "Token=" TOKEN },
	};

	load(f, (struct auth_config){ 0 });
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		assert_int_equal(check_pair(f->auth, ways[i][0], ways[i][1]), 0);
	for (size_t i = 0; i < ARRAY_LEN(no_ways); i++)
		assert_int_equal(check_pair(f->auth, no_ways[i][0], no_ways[i][1]), -EACCES);
}

static void nearly_right(void **state)
{
	struct fixture *f = *state;
	static const char *const wrong[] = {
		"1123456789abcdef0123456789abcdef", /* the first byte */
		"0123456789abcdef0123456789abcdee", /* the last */
		"0123456789abcdef0123456789abcde",  /* shorter */
		"123456789abcdef0123456789abcdef",  TOKEN "0",	"0" TOKEN,
		"0123456789ABCDEF0123456789abcdef", TOKEN "\n", "",
	};

	load(f, (struct auth_config){ 0 });
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		assert_int_equal(check_pair(f->auth, "HTTP_X_NB2_TOKEN", wrong[i]), -EACCES);
		assert_false(auth_token_good(f->auth, span_str(wrong[i])));
	}
	assert_false(auth_token_good(f->auth, SPAN_NONE));
	assert_true(auth_token_good(f->auth, span_str(TOKEN)));
}

/* The first that is there decides; an empty one is not there. */
static void the_first_counts(void **state)
{
	struct fixture *f = *state;
	const struct auth_user *user;

	load(f, (struct auth_config){ 0 });
	assert_int_equal(check(f->auth,
			       REQUEST("QUERY_STRING", "token=wrong", "HTTP_X_NB2_TOKEN", TOKEN),
			       SPAN_NONE, &user),
			 -EACCES);
	assert_int_equal(check(f->auth,
			       REQUEST("QUERY_STRING", "token=", "HTTP_X_NB2_TOKEN", TOKEN),
			       SPAN_LIT("any"), &user),
			 0);
	assert_string_equal(user->name, "token");
	assert_null(user->directory);
	assert_false(user->read_only);
}

static void cookies(void **state)
{
	struct fixture *f = *state;
	const struct auth_user *user;
	struct buf set = BUF_INIT(1000);
	struct request *r;
#define COOKIE                                                                                     \
	"DOCUMENT_URI", "/nb2/x", "SERVER_PORT", "8080", "HTTP_COOKIE", "nb2_8080=" TOKEN,         \
		"REQUEST_SCHEME", "http", "HTTP_HOST", "localhost:8080"
#define FROM(...) check(f->auth, REQUEST(COOKIE, __VA_ARGS__), SPAN_NONE, &user)

	load(f, (struct auth_config){ 0 });
	assert_int_equal(FROM("REQUEST_METHOD", "GET"), 0);
	assert_int_equal(FROM("REQUEST_METHOD", "POST"), -EPERM);
	assert_int_equal(FROM("REQUEST_METHOD", "POST", "HTTP_ORIGIN", "http://localhost:8080"), 0);
	assert_int_equal(FROM("REQUEST_METHOD", "POST", "HTTP_SEC_FETCH_SITE", "same-origin"), 0);
	assert_int_equal(FROM("REQUEST_METHOD", "POST", "HTTP_SEC_FETCH_SITE", "none"), -EPERM);
	assert_int_equal(FROM("REQUEST_METHOD", "POST", "HTTP_SEC_FETCH_SITE", "same-site"),
			 -EPERM);
	assert_int_equal(FROM("REQUEST_METHOD", "POST", "HTTP_ORIGIN", "http://evil.example"),
			 -EPERM);
	assert_int_equal(FROM("REQUEST_METHOD", "DELETE", "HTTP_ORIGIN", "null"), -EPERM);
	/* Another port's cookie is another server's. */
	assert_int_equal(check(f->auth,
			       REQUEST("DOCUMENT_URI", "/nb2/x", "SERVER_PORT", "9090",
				       "HTTP_COOKIE", "nb2_8080=" TOKEN),
			       SPAN_NONE, &user),
			 -EACCES);
	r = REQUEST("SERVER_PORT", "8443", "REQUEST_SCHEME", "https");
	auth_cookie(r, SPAN_LIT("tok"), &set);
	assert_string_equal(set.data,
			    "nb2_8443=tok; Path=/nb2/; HttpOnly; SameSite=Strict; Secure");
	request_unmake(r);
	buf_free(&set);
}

static void no_token(void **state)
{
	struct fixture *f = *state;
	const struct auth_user *user;

	load(f, (struct auth_config){ .no_token = true });
	assert_int_equal(check(f->auth, REQUEST("SERVER_ADDR", "127.0.0.1"), SPAN_NONE, &user), 0);
	assert_string_equal(user->name, "open");
	assert_int_equal(check(f->auth, REQUEST("SERVER_ADDR", "::1"), SPAN_NONE, &user), 0);
	assert_int_equal(check(f->auth, REQUEST("SERVER_ADDR", "10.0.0.7"), SPAN_NONE, &user),
			 -EACCES);
	assert_int_equal(check(f->auth, REQUEST("A", "b"), SPAN_NONE, &user), -EACCES);
	assert_int_equal(
		check(f->auth,
		      REQUEST("SERVER_ADDR", "127.0.0.1", "HTTP_ORIGIN", "http://evil.example"),
		      SPAN_NONE, &user),
		-EPERM);
}

/* ---- a team's file --------------------------------------------------------------- */

static void a_team(void **state)
{
	struct fixture *f = *state;
	const struct auth_user *user;
	char text[1000];
	char ann[65];
	char bob[65];

	hex_of(ANN, ann);
	hex_of("bobs", bob);
	snprintf(text, sizeof(text),
		 "# the team\n\n  ann\t%s ann-.* directory=/srv/ann readonly\r\nbob %s .*", ann,
		 bob);
	file_put(f->tokens_file, text, 0600);
	load(f, (struct auth_config){ .tokens_file = f->tokens_file });
#define AS(token, sid) check(f->auth, REQUEST("HTTP_X_NB2_TOKEN", token), sid, &user)
	assert_int_equal(AS("bobs", SPAN_LIT("anything")), 0);
	assert_string_equal(user->name, "bob");
	assert_int_equal(AS(ANN, SPAN_LIT("ann-1")), 0);
	assert_string_equal(user->name, "ann");
	assert_string_equal(user->directory, "/srv/ann");
	assert_true(user->read_only);
	assert_int_equal(AS(ANN, SPAN_NONE), 0);
	assert_int_equal(AS(ANN, SPAN_LIT("bob-1")), -EPERM);
	assert_int_equal(AS(ANN, SPAN_LIT("x-ann-1")), -EPERM);
	assert_int_equal(AS(TOKEN, SPAN_LIT("bob-1")), 0);
	assert_int_equal(AS("nobodys", SPAN_LIT("bob-1")), -EACCES);
}

static void files_that_are_wrong(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *tail; /* behind a good line, a comment and "eve HEX" */
		const char *line;
		const char *says;
	} cases[] = {
		{ "", ":3: ", "a line is" },
		{ " [", ":3: ", "" },
		{ " .* readwrite", ":3: ", "readonly" },
		{ " .* directory=relative", ":3: ", "directory=/PATH" },
	};
	struct auth_config c = { .tokens_file = f->tokens_file };
	char text[1000];
	char hex[65];

	hex_of("eves", hex);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(text, sizeof(text), "bob %s .*\n# then\neve %s%s\n", hex, hex,
			 cases[i].tail);
		file_put(f->tokens_file, text, 0600);
		buf_reset(&f->why);
		assert_int_equal(auth_new(&c, &f->auth, &f->why), -EINVAL);
		assert_non_null(strstr(f->why.data, cases[i].line));
		assert_non_null(strstr(f->why.data, cases[i].says));
		assert_null(strstr(f->why.data, hex));
	}
	file_put(f->tokens_file, "eve 0123 .*\n", 0600);
	buf_reset(&f->why);
	assert_int_equal(auth_new(&c, &f->auth, &f->why), -EINVAL);
	assert_non_null(strstr(f->why.data, "tokens:1: "));
	file_put(f->tokens_file, "", 0640);
	assert_int_equal(auth_new(&c, &f->auth, &f->why), -EACCES);
	unlink(f->tokens_file);
	assert_int_equal(auth_new(&c, &f->auth, &f->why), -ENOENT);
	c = (struct auth_config){ .token_file = f->token_file };
	file_put(f->token_file, "short\n", 0600);
	assert_int_equal(auth_new(&c, &f->auth, &f->why), -EINVAL);
	assert_null(f->auth);
}

/* ---- hosts and origins ----------------------------------------------------------- */

static bool host_ok(const struct auth *a, const char *host)
{
	struct request *r = REQUEST("REMOTE_ADDR", "10.1.1.1", "HTTP_HOST", host,
				    "HTTP_X_FORWARDED_HOST", "localhost");
	bool ok = auth_host_ok(a, r);

	request_unmake(r);
	return ok;
}

static void hosts(void **state)
{
	struct fixture *f = *state;
	static const char *const good[] = { "localhost",	"LOCALHOST:8080",
					    "127.0.0.1:80",	"[::1]",
					    "[::1]:8080",	"team.example",
					    "Team.Example:443", "b.example" };
	static const char *const bad[] = { "",
					   ":8080",
					   "evil.example",
					   "localhost.evil.example",
					   "127.0.0.1.evil",
					   "[::1",
					   "[::1]evil",
					   "[::1]evil:80",
					   "::1",
					   "team.example b.example",
					   "[::2]",
					   "team" };
	struct request *r;

	load(f, (struct auth_config){ .hosts = "team.example  b.example", .proxies = "10.9.9.9" });
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		if (!host_ok(f->auth, good[i]))
			fail_msg("%s was refused", good[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (host_ok(f->auth, bad[i]))
			fail_msg("%s was taken", bad[i]);
	}
	r = REQUEST("A", "b");
	assert_false(auth_host_ok(f->auth, r));
	request_unmake(r);
	/* A listed proxy's word counts, and counts alone. */
	r = REQUEST("REMOTE_ADDR", "10.9.9.9", "HTTP_HOST", "inner", "HTTP_X_FORWARDED_HOST",
		    "team.example, other");
	assert_true(auth_host_ok(f->auth, r));
	request_unmake(r);
	r = REQUEST("REMOTE_ADDR", "10.9.9.9", "HTTP_HOST", "localhost", "HTTP_X_FORWARDED_HOST",
		    "evil.example");
	assert_false(auth_host_ok(f->auth, r));
	request_unmake(r);
}

static void origins(void **state)
{
	static const struct {
		const char *origin; /* "": none */
		const char *site;
		bool ok;
	} cases[] = {
		{ "", "", true },
		{ "http://localhost:8080", "", true },
		{ "HTTP://LocalHost:8080", "", true },
		{ "http://localhost:8080", "same-origin", true },
		{ "", "none", true },
		{ "", "same-site", false },
		{ "", "cross-site", false },
		{ "", "Same-Origin", false },
		{ "http://localhost:8080", "cross-site", false },
		{ "http://evil.example", "same-origin", false },
		{ "https://localhost:8080", "", false },
		{ "http://localhost", "", false },
		{ "http://localhost:80801", "", false },
		{ "http://localhost:8080.evil.example", "", false },
		{ "null", "", false },
		{ "localhost:8080", "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *const pairs[] = { "REQUEST_SCHEME",
					      "http",
					      "HTTP_HOST",
					      "localhost:8080",
					      cases[i].site[0] ? "HTTP_SEC_FETCH_SITE" : "A",
					      cases[i].site,
					      cases[i].origin[0] ? "HTTP_ORIGIN" : "B",
					      cases[i].origin,
					      NULL };
		struct request *r = request_make(0, pairs);

		if (auth_same_origin(r) != cases[i].ok)
			fail_msg("origin \"%s\", site \"%s\"", cases[i].origin, cases[i].site);
		request_unmake(r);
	}
}

static bool is_open(const struct auth *a, const char *listener, const char *address)
{
	struct request *r = REQUEST("NB2_LISTENER", listener, "SERVER_ADDR", address,
				    "HTTP_NB2_LISTENER", "e2b");
	bool open = auth_open(a, r);

	request_unmake(r);
	return open;
}

/* The open listener: by nginx's word alone, and on loopback alone. */
static void listeners(void **state)
{
	struct fixture *f = *state;

	load(f, (struct auth_config){ .e2b_open = true });
	assert_true(is_open(f->auth, "e2b", "127.0.0.1"));
	assert_true(is_open(f->auth, "e2b", "::1"));
	assert_false(is_open(f->auth, "e2b", "10.0.0.7"));
	assert_false(is_open(f->auth, "main", "127.0.0.1"));
	assert_false(is_open(f->auth, "", "127.0.0.1"));
	auth_free(f->auth);
	load(f, (struct auth_config){ 0 });
	assert_false(is_open(f->auth, "e2b", "127.0.0.1"));
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(each_way), T(nearly_right), T(the_first_counts),     T(cookies),
		T(no_token), T(a_team),	      T(files_that_are_wrong), T(hosts),
		T(origins),  T(listeners),
	};

	return cmocka_run_group_tests_name("auth", tests, NULL, NULL);
}
