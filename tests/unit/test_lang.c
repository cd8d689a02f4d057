/*
 * test_lang.c - names of languages, and snippets run by the real interpreter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/lang.h"

static void names(void **state)
{
	static const char *const cases[][2] = {
		{ "python", "python" }, { " Python ", "python" }, { "", "python" },
		{ "js", "javascript" }, { "TS", "typescript" },	  { "deno", "typescript" },
		{ "R", "r" },		{ "bash", "bash" },	  { "cobol", "cobol" },
	};
	struct buf b = BUF_INIT(100);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		buf_reset(&b);
		assert_int_equal(lang_name(span_str(cases[i][0]), &b), 0);
		assert_string_equal(b.data, cases[i][1]);
	}
	buf_free(&b);
	assert_non_null(lang_find(SPAN_LIT("python")));
	assert_null(lang_find(SPAN_LIT("cobol")));
}

static void env_names(void **state)
{
	(void)state;
	assert_true(env_name_ok(SPAN_LIT("A")));
	assert_true(env_name_ok(SPAN_LIT("_a1_B")));
	assert_false(env_name_ok(SPAN_LIT("")));
	assert_false(env_name_ok(SPAN_LIT("1A")));
	assert_false(env_name_ok(SPAN_LIT("A=B")));
	assert_false(env_name_ok(SPAN_LIT("A B")));
	assert_false(env_name_ok(SPAN_LIT("\xc3\xa9")));
	assert_false(env_name_ok(span_of("A\0B", 3)));
}

/* Run lines of Python in one process, in a namespace that is looked at
 * afterwards: prints must equal expect. */
static void python_prints(const char *code, const char *expect)
{
	char path[] = "/tmp/nb2-test-XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	char command[128];
	char out[200000];
	size_t n;
	FILE *p;

	assert_non_null(f);
	fputs(code, f);
	fclose(f);
	snprintf(command, sizeof(command), "/usr/bin/env -i /usr/bin/python3 %s 2>&1", path);
	p = popen(command, "re");
	assert_non_null(p);
	n = fread(out, 1, sizeof(out) - 1, p);
	out[n] = '\0';
	assert_int_equal(pclose(p), 0);
	unlink(path);
	assert_string_equal(out, expect);
}

static const char hostile[] =
	"it's \"q\" \\ $HOME `id` %s {0} \t\r\n\xe4\xb8\xad\xf0\x9f\x98\x80\x7f";

static void python_values_arrive_as_they_are(void **state)
{
	const struct lang *l = lang_find(SPAN_LIT("python"));
	const struct env_var v[] = { { SPAN_LIT("A"), span_str(hostile) },
				     { SPAN_LIT("EMPTY"), SPAN_LIT("") } };
	struct buf b = BUF_INIT(1 << 20);

	(void)state;
	assert_int_equal(l->set(&b, "m1", (struct env_vars){ v, 2 }), 0);
	buf_puts(
		&b,
		"\nimport os, binascii\n"
		"print(binascii.hexlify(os.environb[b'A']).decode(), repr(os.environ['EMPTY']))\n");
	python_prints(b.data, "6974277320227122205c2024484f4d452060696460202573207b307d20090d0a"
			      "e4b8adf09f98807f ''\n");
	buf_free(&b);
}

static void python_restores(void **state)
{
	const struct lang *l = lang_find(SPAN_LIT("python"));
	const struct env_var v[] = { { SPAN_LIT("OLD"), SPAN_LIT("new") },
				     { SPAN_LIT("NONE"), SPAN_LIT("new") } };
	struct buf b = BUF_INIT(1 << 20);

	(void)state;
	buf_puts(&b, "import os\nos.environ['OLD'] = 'before'\nnames = set(globals())\n");
	l->set(&b, "m1", (struct env_vars){ v, 2 });
	buf_puts(&b, "\nprint(os.environ['OLD'], os.environ['NONE'])\n");
	l->restore(&b, "m1");
	buf_puts(&b, "\n");
	l->restore(&b, "m1"); /* again: harmless */
	buf_puts(&b, "\nprint(os.environ['OLD'], 'NONE' in os.environ)\n"
		     "print(set(globals()) - names)\n");
	python_prints(b.data, "new new\nbefore False\n{'names'}\n");
	buf_free(&b);
}

/* A set-up that is run twice must not take its own value for the old one. */
static void python_set_twice(void **state)
{
	const struct lang *l = lang_find(SPAN_LIT("python"));
	const struct env_var v[] = { { SPAN_LIT("OLD"), SPAN_LIT("new") } };
	struct buf b = BUF_INIT(1 << 20);

	(void)state;
	buf_puts(&b, "import os\nos.environ['OLD'] = 'before'\n");
	l->set(&b, "m1", (struct env_vars){ v, 1 });
	buf_puts(&b, "\n");
	l->set(&b, "m1", (struct env_vars){ v, 1 });
	buf_puts(&b, "\n");
	l->restore(&b, "m1");
	buf_puts(&b, "\nprint(os.environ['OLD'])\n");
	python_prints(b.data, "before\n");
	buf_free(&b);
}

static void python_init_once_a_process(void **state)
{
	const struct lang *l = lang_find(SPAN_LIT("python"));
	const struct env_var v[] = { { SPAN_LIT("G"), SPAN_LIT("global") } };
	struct buf b = BUF_INIT(1 << 20);

	(void)state;
	l->init(&b, "m", SPAN_LIT("/usr"), (struct env_vars){ v, 1 });
	buf_puts(&b, "\nimport os\nprint(os.getcwd(), os.environ['G'])\n"
		     "os.chdir('/'); os.environ['G'] = 'mine'\n");
	l->init(&b, "m", SPAN_LIT("/usr"), (struct env_vars){ v, 1 });
	buf_puts(&b, "\nprint(os.getcwd(), os.environ['G'])\ntry:\n    ");
	l->init(&b, "other", SPAN_LIT("/no/such 'dir'"), (struct env_vars){ v, 1 });
	buf_puts(&b, "\nexcept FileNotFoundError as e:\n    print(e.filename)\n");
	python_prints(b.data, "/usr global\n/ mine\n/no/such 'dir'\n");
	buf_free(&b);
}

static void python_refuses_what_is_no_utf8(void **state)
{
	struct buf b = BUF_INIT(1000);

	(void)state;
	assert_int_equal(lang_python_str(&b, SPAN_LIT("a\xff")), -EILSEQ);
	buf_free(&b);
}

static void a_ceiling_is_an_error(void **state)
{
	const struct lang *l = lang_find(SPAN_LIT("python"));
	const struct env_var v[] = { { SPAN_LIT("A"), SPAN_LIT("0123456789") } };
	struct buf b = BUF_INIT(40);

	(void)state;
	assert_int_equal(l->set(&b, "m1", (struct env_vars){ v, 1 }), -EFBIG);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(env_names),
		cmocka_unit_test(python_values_arrive_as_they_are),
		cmocka_unit_test(python_restores),
		cmocka_unit_test(python_set_twice),
		cmocka_unit_test(python_init_once_a_process),
		cmocka_unit_test(python_refuses_what_is_no_utf8),
		cmocka_unit_test(a_ceiling_is_an_error),
	};

	return cmocka_run_group_tests_name("lang", tests, NULL, NULL);
}
