/*
 * lang.c - the table of languages and the names people give them.
 */
#include "kernel/lang.h"

#include <ctype.h>

#include "kernel/lang_int.h"

static const struct lang langs[] = {
	{ "python", "python3-ipykernel", python_init, python_set, python_restore },
	{ "javascript", "a JavaScript kernel", NULL, NULL, NULL },
	{ "typescript", "a TypeScript kernel", NULL, NULL, NULL },
	{ "r", "r-cran-irkernel", NULL, NULL, NULL },
	{ "bash", "a bash kernel", NULL, NULL, NULL },
	{ "java", "a Java kernel", NULL, NULL, NULL },
};

static const struct {
	const char *alias;
	const char *name;
} aliases[] = {
	{ "", "python" },
	{ "js", "javascript" },
	{ "ts", "typescript" },
	{ "deno", "typescript" },
};

int lang_name(struct span asked, struct buf *out)
{
	struct span s = span_trim(asked);
	size_t start = out->len;
	struct span low;
	int r = 0;

	for (size_t i = 0; i < s.len && r == 0; i++)
		r = buf_putc(out, (char)tolower((unsigned char)s.ptr[i]));
	low = span_of(out->data + start, out->len - start);
	for (size_t i = 0; i < ARRAY_LEN(aliases) && r == 0; i++) {
		if (!span_eq(low, span_str(aliases[i].alias)))
			continue;
		buf_truncate(out, start);
		return buf_puts(out, aliases[i].name);
	}
	return r;
}

const struct lang *lang_find(struct span name)
{
	for (size_t i = 0; i < ARRAY_LEN(langs); i++) {
		if (span_is(name, langs[i].name))
			return &langs[i];
	}
	return NULL;
}

bool env_name_ok(struct span name)
{
	if (name.len == 0 || isdigit((unsigned char)name.ptr[0]))
		return false;
	for (size_t i = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.ptr[i];

		if (c >= 0x80 || (!isalnum(c) && c != '_'))
			return false;
	}
	return true;
}
