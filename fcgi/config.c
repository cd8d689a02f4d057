/*
 * config.c - one table of settings, read from a file and the command line.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

enum kind { STRING, NUMBER, SIZE, SWITCH };

static const struct setting {
	const char *key;
	enum kind kind;
	size_t offset;
	const char *def; /* NULL: filled in from others unless it is set */
} settings[] = {
#define S(key, kind, field, def) { key, kind, offsetof(struct config, field), def },
	SETTINGS(S)
#undef S
};

#define FIELD(c, s, type) ((type *)(void *)((char *)(c) + (s)->offset))

/* ---- values --------------------------------------------------------------------- */

/* A number with k, M or G behind it. */
static int size_parse(struct span v, size_t *ret)
{
	static const char units[] = "kMG";
	const char *unit = v.len ? strchr(units, v.ptr[v.len - 1]) : NULL;
	unsigned shift = unit && *unit ? 10u * (unsigned)(unit - units + 1) : 0;
	unsigned long long n;
	int r = span_u64(span_of(v.ptr, v.len - (shift ? 1 : 0)), &n);

	if (r == 0 && n > (SIZE_MAX >> 1 >> shift))
		r = -ERANGE;
	if (r == 0)
		*ret = (size_t)n << shift;
	return r;
}

static int switch_parse(struct span v, bool *ret)
{
	if (!span_is(v, "yes") && !span_is(v, "no"))
		return -EINVAL;
	*ret = span_is(v, "yes");
	return 0;
}

static int number_parse(struct span v, unsigned *ret)
{
	unsigned long long n;
	int r = span_u64(v, &n);

	if (r == 0 && n > INT_MAX)
		r = -ERANGE;
	if (r == 0)
		*ret = (unsigned)n;
	return r;
}

static int setting_set(struct config *c, const struct setting *s, struct span v)
{
	switch (s->kind) {
	case STRING:
		free(*FIELD(c, s, char *));
		*FIELD(c, s, char *) = xstrndup(v.ptr, v.len);
		return 0;
	case NUMBER:
		return number_parse(v, FIELD(c, s, unsigned));
	case SIZE:
		return size_parse(v, FIELD(c, s, size_t));
	case SWITCH:
		return switch_parse(v, FIELD(c, s, bool));
	}
	return -EINVAL;
}

static const char *kind_name(enum kind k)
{
	static const char *const names[] = { "a text", "a whole number",
					     "a number of bytes (k, M and G may follow)",
					     "yes or no" };

	return names[k];
}

/* kernel.<language> = <kernelspec> */
static int kernel_set(struct config *c, struct span language, struct span v)
{
	struct config_kernel *k = &c->kernels[c->n_kernels];

	if (language.len == 0 || v.len == 0 || c->n_kernels == CONFIG_KERNELS)
		return -EINVAL;
	k->language = xstrndup(language.ptr, language.len);
	k->kernelspec = xstrndup(v.ptr, v.len);
	c->n_kernels++;
	return 0;
}

static int pair_set(struct config *c, struct span key, struct span v, struct buf *why)
{
	char level[16];

	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		if (!span_is(key, settings[i].key))
			continue;
		if (setting_set(c, &settings[i], v) == 0)
			return 0;
		buf_printf(why, "%s must be %s", settings[i].key, kind_name(settings[i].kind));
		return -EINVAL;
	}
	if (span_starts(key, "kernel."))
		return kernel_set(c, span_of(key.ptr + 7, key.len - 7), v);
	if (span_is(key, "logLevel")) {
		snprintf(level, sizeof(level), "%.*s", SPAN_FMT(v));
		if (log_level_parse(level, &c->log_level) == 0)
			return 0;
		buf_printf(why, "logLevel must be debug, info, warn or error");
		return -EINVAL;
	}
	buf_printf(why, "there is no setting %.*s", (int)(key.len > 64 ? 64 : key.len), key.ptr);
	return -EINVAL;
}

/* "key = value"; blank lines and comments are fine. */
static int line_set(struct config *c, struct span line, struct buf *why)
{
	struct span value = span_trim(line);
	struct span key;

	if (value.len == 0 || value.ptr[0] == '#')
		return 0;
	key = span_trim(span_cut(&value, '='));
	if (span_absent(value)) {
		buf_printf(why, "a setting is written key = value");
		return -EINVAL;
	}
	return pair_set(c, key, span_trim(value), why);
}

/* ---- files ------------------------------------------------------------------------ */

/* The whole of a small file. */
static int file_read(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "re");
	char chunk[4096];
	size_t n;
	int r = 0;

	if (!f)
		return -errno;
	while (r == 0 && (n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		r = buf_append(out, chunk, n);
	if (ferror(f))
		r = -EIO;
	fclose(f);
	return r;
}

static int file_load(struct config *c, const char *path, struct buf *why)
{
	struct buf text = BUF_INIT(1 << 20);
	struct span rest;
	unsigned n = 0;
	int r = file_read(path, &text);

	if (r != 0)
		buf_printf(why, "%s: %s", path, strerror(-r));
	rest = r == 0 && text.len ? buf_span(&text) : SPAN_NONE;
	while (r == 0 && !span_absent(rest)) {
		struct buf fault = BUF_INIT(512);

		n++;
		r = line_set(c, span_cut(&rest, '\n'), &fault);
		if (r != 0)
			buf_printf(why, "%s:%u: %s", path, n, fault.data ? fault.data : "wrong");
		buf_free(&fault);
	}
	buf_free(&text);
	return r;
}

static int jupyter_token_load(struct config *c, struct buf *why)
{
	struct buf text = BUF_INIT(4096);
	struct span token;
	int r;

	if (!*c->jupyter_token_file)
		return 0;
	r = file_read(c->jupyter_token_file, &text);
	if (r == 0) {
		token = span_trim(buf_span(&text));
		c->jupyter_token = xstrndup(token.ptr, token.len);
	} else {
		buf_printf(why, "jupyterTokenFile: %s: %s", c->jupyter_token_file, strerror(-r));
	}
	buf_free(&text);
	return r;
}

/* ---- what follows from what ---------------------------------------------------------- */

static void derive(char **field, const char *before, const char *from, const char *behind)
{
	if (*field && **field)
		return;
	free(*field);
	*field = xasprintf("%s%s%s", before, from, behind);
}

static int check(const struct config *c, struct buf *why)
{
	if (!*c->state_dir)
		buf_printf(why, "stateDir is not set");
	else if (c->workers < 1 || c->workers > 16)
		buf_printf(why, "workers must be 1 to 16");
	else if (c->keepalive_s < 1)
		buf_printf(why, "keepaliveS must be at least 1");
	else if (c->max_message > c->max_output)
		buf_printf(why, "maxMessageBytes must not be above maxOutputBytes");
	else if (c->max_contexts < 2)
		buf_printf(why, "maxContexts must be at least 2");
	else if (c->max_code > c->max_body)
		buf_printf(why, "maxCodeBytes must not be above maxBodyBytes");
	return why->len ? -EINVAL : 0;
}

static int defaults_set(struct config *c)
{
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		if (settings[i].def && setting_set(c, &settings[i], span_str(settings[i].def)) != 0)
			return -EINVAL;
	}
	c->log_level = LOG_INFO;
	return 0;
}

static void derive_all(struct config *c)
{
	derive(&c->run_dir, "", c->state_dir, "/run");
	derive(&c->workspace, "", c->state_dir, "/workspace");
	derive(&c->jupyter_root, "", c->workspace, "");
	derive(&c->jupyter_url, "unix:", c->run_dir, "/js.sock");
	/* For these two "" is a value: none. */
	if (!c->token_file)
		c->token_file = xasprintf("%s/token", c->state_dir);
	if (!c->jupyter_token_file)
		c->jupyter_token_file = xasprintf("%s/jupyter-token", c->state_dir);
}

int config_load(const char *file, const char *const *options, size_t n_options, struct config *ret,
		struct buf *why)
{
	struct config c = { 0 };
	int r = defaults_set(&c);

	assert(r == 0);
	if (file)
		r = file_load(&c, file, why);
	for (size_t i = 0; i < n_options && r == 0; i++) {
		struct buf fault = BUF_INIT(512);

		r = line_set(&c, span_str(options[i]), &fault);
		if (r != 0)
			buf_printf(why, "-o %.64s: %s", options[i],
				   fault.data ? fault.data : "wrong");
		buf_free(&fault);
	}
	if (r == 0)
		r = check(&c, why);
	if (r == 0) {
		derive_all(&c);
		r = jupyter_token_load(&c, why);
	}
	if (r == 0)
		*ret = c;
	else
		config_free(&c);
	return r;
}

void config_free(struct config *c)
{
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		if (settings[i].kind == STRING)
			free(*FIELD(c, &settings[i], char *));
	}
	for (size_t i = 0; i < c->n_kernels; i++) {
		free(c->kernels[i].language);
		free(c->kernels[i].kernelspec);
	}
	free(c->jupyter_token);
	*c = (struct config){ 0 };
}
