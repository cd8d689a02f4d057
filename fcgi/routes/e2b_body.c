/*
 * e2b_body.c - fields by a table, faults collected as pydantic's detail list.
 *
 * Unknown fields are ignored, null and absent mean the same (the Python SDK
 * sends nulls, the JavaScript one omits).
 */
#include "routes/e2b_body.h"

#include <errno.h>

#include "json/emit.h"
#include "json/scan.h"

#define DETAIL_MAX ((size_t)1 << 20)
#define LANGUAGE_MAX 64
#define ENV_MAX ((size_t)4 << 20) /* names and values of one request */
#define ECHO_MAX 1024		  /* of a wrong input, in the answer */

struct faults {
	struct buf detail;
	unsigned n;
};

/* One entry: where is JSON text behind "body". */
static void fault(struct faults *f, const char *type, struct span where, const char *msg,
		  struct span input)
{
	struct buf *b = &f->detail;

	if (f->n++ > 20)
		return;
	if (f->n > 1)
		buf_putc(b, ',');
	buf_printf(b, "{\"type\":\"%s\",\"loc\":[\"body\"", type);
	buf_span_append(b, where);
	buf_printf(b, "],\"msg\":\"%s\",\"input\":", msg);
	if (input.len > ECHO_MAX || json_span_emit(b, input, 0) != 0)
		buf_puts(b, "null");
	buf_putc(b, '}');
}

/* ,"name" or ,"name","key" with key as it stands in the body */
static struct span loc(struct buf *b, const char *name, struct span raw_key)
{
	buf_reset(b);
	buf_printf(b, ",\"%s\"", name);
	if (!span_absent(raw_key)) {
		buf_putc(b, ',');
		json_span_emit(b, raw_key, 0);
	}
	return buf_span(b);
}

static int faults_answer(struct request *r, struct faults *f)
{
	struct buf body = BUF_INIT(DETAIL_MAX + 64);
	bool any = f->n > 0;

	if (any) {
		buf_puts(&body, "{\"detail\":[");
		buf_span_append(&body, buf_span(&f->detail));
		buf_puts(&body, "]}");
		reply(r, 422, "application/json", buf_span(&body));
	}
	buf_free(&body);
	buf_free(&f->detail);
	return any ? -EINVAL : 0;
}

/* The body as an object: 0, or a fault. */
static int body_object(struct request *r, struct faults *f, struct span *ret_object)
{
	struct span body = span_trim(request_body(r));
	const char *why;
	size_t at;

	if (body.len == 0) {
		fault(f, "missing", SPAN_LIT(""), "Field required", SPAN_LIT("null"));
		return -EINVAL;
	}
	if (json_valid(body, JSON_STRICT, &at, &why) != 0) {
		f->n++;
		buf_printf(
			&f->detail,
			"{\"type\":\"json_invalid\",\"loc\":[\"body\",%zu],\"msg\":\"JSON decode "
			"error\",\"input\":{},\"ctx\":{\"error\":\"%s\"}}",
			at, why);
		return -EINVAL;
	}
	if (json_type_of(body) != JSON_OBJECT) {
		fault(f, "model_attributes_type", SPAN_LIT(""),
		      "Input should be a valid dictionary or object to extract fields from", body);
		return -EINVAL;
	}
	*ret_object = body;
	return 0;
}

/* A string field, decoded into the arena. *ret stays SPAN_NONE when it is
 * absent or null. */
static void field_string(struct request *r, struct faults *f, struct span object, const char *name,
			 struct span *ret)
{
	struct span value = json_get(object, name);
	struct buf where = BUF_INIT(256);
	struct buf text = BUF_INIT(value.len + 1);
	char *copy;

	if (span_absent(value) || json_type_of(value) == JSON_NULL)
		return;
	if (json_type_of(value) != JSON_STRING) {
		fault(f, "string_type", loc(&where, name, SPAN_NONE),
		      "Input should be a valid string", value);
	} else if (json_string_decode(value, 0, &text) != 0) {
		fault(f, "string_unicode", loc(&where, name, SPAN_NONE),
		      "Input should be a valid string, unable to parse raw data as "
		      "a unicode string",
		      value);
	} else {
		copy = arena_span_dup(request_arena(r), buf_span(&text));
		*ret = copy ? span_of(copy, text.len) : SPAN_LIT("");
	}
	buf_free(&where);
	buf_free(&text);
}

static void field_bool(struct faults *f, struct span object, const char *name, bool *ret)
{
	struct span value = json_get(object, name);
	struct buf where = BUF_INIT(256);

	if (!span_absent(value) && json_type_of(value) != JSON_NULL && json_bool(value, ret) != 0)
		fault(f, "bool_type", loc(&where, name, SPAN_NONE),
		      "Input should be a valid boolean", value);
	buf_free(&where);
}

/* Printable ASCII and short: it becomes a key, and part of an answer. */
static bool language_ok(struct span language)
{
	if (language.len > LANGUAGE_MAX)
		return false;
	for (size_t i = 0; i < language.len; i++) {
		if (language.ptr[i] < 0x20 || language.ptr[i] > 0x7e || language.ptr[i] == '"' ||
		    language.ptr[i] == '\\')
			return false;
	}
	return true;
}

/* A name as clients write it to the canonical one; "" counts as absent. 0, or
 * the answer is given. */
static int language_canonical(struct request *r, struct span *language)
{
	struct buf name = BUF_INIT(4096);
	char *copy;

	if (language->len == 0) {
		*language = SPAN_NONE;
		return 0;
	}
	if (!language_ok(*language)) {
		reply_text(r, 400, "language: a name has at most %d printable ASCII characters",
			   LANGUAGE_MAX);
		return -EINVAL;
	}
	lang_name(*language, &name);
	copy = arena_span_dup(request_arena(r), buf_span(&name));
	*language = copy ? span_of(copy, name.len) : SPAN_NONE;
	buf_free(&name);
	return 0;
}

/* ---- env_vars ------------------------------------------------------------------------ */

struct env_reader {
	struct request *r;
	struct env_var *v;
	size_t n;
	size_t bytes;
	const char *bad; /* a sentence for a 400 */
	struct span bad_name;
};

/* Decode into the arena; NULL when it is no text that can be a value. */
static char *env_text(struct request *r, struct span value, size_t *ret_len)
{
	struct buf text = BUF_INIT(value.len + 1);
	char *copy = NULL;

	if (json_string_decode(value, 0, &text) == 0 &&
	    (text.len == 0 || !memchr(text.data, '\0', text.len))) {
		copy = arena_span_dup(request_arena(r), buf_span(&text));
		*ret_len = text.len;
	}
	buf_free(&text);
	return copy;
}

static void env_add(struct env_reader *e, struct span key, struct span value)
{
	size_t name_len = 0;
	size_t value_len = 0;
	char *name = env_text(e->r, key, &name_len);
	char *text = env_text(e->r, value, &value_len);

	if (!name || !env_name_ok(span_of(name, name_len))) {
		e->bad = "is not a name an environment variable can have";
		e->bad_name = key;
	} else if (!text) {
		e->bad = "has a value with a NUL or a lone surrogate";
		e->bad_name = key;
	} else {
		e->bytes += name_len + value_len;
		e->v[e->n].name = span_of(name, name_len);
		e->v[e->n++].value = span_of(text, value_len);
	}
}

static size_t members(struct span object)
{
	struct json_iter it;
	struct span value;
	size_t n = 0;

	json_iter_init(&it, object);
	while (json_iter_next(&it, NULL, &value))
		n++;
	return n;
}

static void field_env(struct env_reader *e, struct faults *f, struct span object)
{
	struct span env = json_get(object, "env_vars");
	struct buf where = BUF_INIT(4096);
	struct json_iter it;
	struct span key;
	struct span value;

	if (span_absent(env) || json_type_of(env) == JSON_NULL)
		return;
	if (json_type_of(env) != JSON_OBJECT) {
		fault(f, "dict_type", loc(&where, "env_vars", SPAN_NONE),
		      "Input should be a valid dictionary", env);
		buf_free(&where);
		return;
	}
	e->v = arena_alloc(request_arena(e->r), (members(env) + 1) * sizeof(*e->v));
	json_iter_init(&it, env);
	while (e->v && !e->bad && json_iter_next(&it, &key, &value)) {
		if (json_type_of(value) == JSON_STRING)
			env_add(e, key, value);
		else
			fault(f, "string_type", loc(&where, "env_vars", key),
			      "Input should be a valid string", value);
	}
	if (!e->v)
		e->bad = "env_vars are too many";
	buf_free(&where);
}

/* 400 for what pydantic has no word for. */
static int env_refuse(struct request *r, const struct env_reader *e)
{
	struct buf name = BUF_INIT(512);

	json_span_emit(&name, e->bad_name, 0);
	reply_text(r, 400, "env_vars: %s %s", name.data ? name.data : "it", e->bad);
	buf_free(&name);
	return -EINVAL;
}

/* ---- the bodies --------------------------------------------------------------------------- */

int e2b_execute_read(struct request *r, size_t max_code, struct e2b_execute *ret)
{
	struct faults f = { .detail = BUF_INIT(DETAIL_MAX) };
	struct env_reader env = { .r = r };
	struct e2b_execute x = { 0 };
	struct buf where = BUF_INIT(64);
	struct span object;

	if (body_object(r, &f, &object) != 0)
		return faults_answer(r, &f);
	field_string(r, &f, object, "code", &x.code);
	if (span_absent(x.code) && f.n == 0)
		fault(&f, span_absent(json_get(object, "code")) ? "missing" : "string_type",
		      loc(&where, "code", SPAN_NONE),
		      span_absent(json_get(object, "code")) ? "Field required" :
							      "Input should be a valid string",
		      span_absent(json_get(object, "code")) ? object : SPAN_LIT("null"));
	field_string(r, &f, object, "context_id", &x.context_id);
	field_string(r, &f, object, "language", &x.language);
	field_env(&env, &f, object);
	field_bool(&f, object, "stream_updates", &x.stream_updates);
	field_bool(&f, object, "late_output", &x.late_output);
	buf_free(&where);
	if (faults_answer(r, &f) != 0)
		return -EINVAL;
	if (env.bad)
		return env_refuse(r, &env);
	if (env.bytes > ENV_MAX) {
		reply_text(r, 413, "env_vars are larger than %zu bytes", ENV_MAX);
		return -EFBIG;
	}
	if (x.code.len > max_code) {
		reply_text(r, 413, "The code is larger than %zu bytes", max_code);
		return -EFBIG;
	}
	if (x.context_id.len > 0 && x.language.len > 0) {
		reply_text(r, 400, "Only one of context_id or language can be provided");
		return -EINVAL;
	}
	if (x.context_id.len == 0)
		x.context_id = SPAN_NONE;
	if (language_canonical(r, &x.language) != 0)
		return -EINVAL;
	x.vars = (struct env_vars){ env.v, env.n };
	*ret = x;
	return 0;
}

int e2b_create_read(struct request *r, struct e2b_create *ret)
{
	struct faults f = { .detail = BUF_INIT(DETAIL_MAX) };
	struct e2b_create x = { 0 };
	struct span object;

	if (body_object(r, &f, &object) == 0) {
		field_string(r, &f, object, "cwd", &x.cwd);
		field_string(r, &f, object, "language", &x.language);
	}
	if (faults_answer(r, &f) != 0)
		return -EINVAL;
	if (language_canonical(r, &x.language) != 0)
		return -EINVAL;
	if (x.language.len == 0)
		x.language = SPAN_LIT("python");
	if (!span_absent(x.cwd) &&
	    (x.cwd.len == 0 || x.cwd.ptr[0] != '/' || memchr(x.cwd.ptr, '\0', x.cwd.len))) {
		reply_text(r, 400, "cwd must be an absolute path");
		return -EINVAL;
	}
	*ret = x;
	return 0;
}
