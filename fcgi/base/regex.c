/*
 * regex.c - PCRE2, 8 bit, anchored at both ends.
 */
#include "base/regex.h"

#include <errno.h>
#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/alloc.h"

/* Enough for any name or origin, and less than a millisecond at the worst. */
#define REGEX_STEPS 100000
#define REGEX_DEPTH 1000
#define REGEX_HEAP_KIB 1024

struct regex {
	pcre2_code *code;
	pcre2_match_context *context;
};

/* PCRE2 refuses NULL even for an empty text. */
static PCRE2_SPTR text_of(struct span s)
{
	return (PCRE2_SPTR)(s.ptr ? s.ptr : "");
}

/* Machine code where the system allows it; without it the interpreter works. */
int regex_new(struct span pattern, struct regex **ret, struct buf *why)
{
	PCRE2_UCHAR text[256];
	struct regex *re;
	pcre2_code *code;
	PCRE2_SIZE at;
	int err;

	code = pcre2_compile(text_of(pattern), pattern.len, PCRE2_ANCHORED | PCRE2_ENDANCHORED,
			     &err, &at, NULL);
	if (!code) {
		pcre2_get_error_message(err, text, sizeof(text));
		buf_printf(why, "%s at offset %zu", (char *)text, (size_t)at);
		return -EINVAL;
	}
	(void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
	re = xcalloc(1, sizeof(*re));
	re->code = code;
	re->context = pcre2_match_context_create(NULL);
	if (!re->context)
		abort();
	pcre2_set_match_limit(re->context, REGEX_STEPS);
	pcre2_set_depth_limit(re->context, REGEX_DEPTH);
	pcre2_set_heap_limit(re->context, REGEX_HEAP_KIB);
	*ret = re;
	return 0;
}

/* With everything PCRE2 made for it. */
void regex_free(struct regex *re)
{
	if (!re)
		return;
	pcre2_match_context_free(re->context);
	pcre2_code_free(re->code);
	free(re);
}

/* Groups are not looked at: one pair of offsets is enough. */
bool regex_matches(const struct regex *re, struct span subject)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	int n;

	if (!data)
		abort();
	n = pcre2_match(re->code, text_of(subject), subject.len, 0, 0, data, re->context);
	pcre2_match_data_free(data);
	return n >= 0;
}
