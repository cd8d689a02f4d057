/*
 * lang_python.c - set-up snippets for Python.
 *
 * Each is one exec() of a literal with a namespace of its own, so that no name
 * reaches the user's. What must be remembered (old values, that the process
 * was set up) lives in a module object of ours that only sys.modules knows:
 * it dies with the process, exactly as the values it speaks of do.
 */
#include <errno.h>
#include <stdint.h>

#include "base/utf8.h"
#include "kernel/lang_int.h"

static const char state_code[] =
	"import os, sys, types\n"
	"nb2 = sys.modules.setdefault('_nb2', types.ModuleType('_nb2')).__dict__\n"
	"saved = nb2.setdefault('saved', {})\n";

int lang_python_str(struct buf *out, struct span utf8)
{
	size_t i = 0;

	buf_putc(out, '\'');
	while (i < utf8.len) {
		uint32_t cp;
		size_t n = utf8_decode(span_of(utf8.ptr + i, utf8.len - i), &cp);

		if (n == 0)
			return -EILSEQ;
		i += n;
		if (cp == '\'' || cp == '\\')
			buf_printf(out, "\\%c", (char)cp);
		else if (cp >= 0x20 && cp < 0x7f)
			buf_putc(out, (char)cp);
		else if (cp <= 0xffff)
			buf_printf(out, "\\u%04x", (unsigned)cp);
		else
			buf_printf(out, "\\U%08x", (unsigned)cp);
	}
	return buf_putc(out, '\'');
}

/* {'NAME': 'value', …} */
static int dict_append(struct buf *out, struct env_vars vars)
{
	int r;

	buf_putc(out, '{');
	for (size_t i = 0; i < vars.n; i++) {
		buf_printf(out, "%s'%.*s': ", i ? ", " : "", SPAN_FMT(vars.v[i].name));
		r = lang_python_str(out, vars.v[i].value);
		if (r != 0)
			return r;
	}
	return buf_putc(out, '}');
}

/* exec(<code as a literal>, {}) */
static int exec_append(struct buf *out, struct buf *code)
{
	int r = buf_error(code);

	if (r == 0) {
		buf_puts(out, "exec(");
		r = lang_python_str(out, buf_span(code));
		buf_puts(out, ", {})");
	}
	buf_free(code);
	return r != 0 ? r : buf_error(out);
}

int python_init(struct buf *out, const char *mark, struct span cwd, struct env_vars global)
{
	struct buf code = BUF_INIT(out->max);
	int r = 0;

	buf_puts(&code, state_code);
	buf_printf(&code, "if nb2.get('ready') != '%s':\n", mark);
	if (!span_absent(cwd)) {
		buf_puts(&code, "    os.chdir(");
		r = lang_python_str(&code, cwd);
		buf_puts(&code, ")\n");
	}
	buf_puts(&code, "    os.environ.update(");
	if (r == 0)
		r = dict_append(&code, global);
	buf_printf(&code, ")\n    nb2['ready'] = '%s'\n", mark);
	if (r == 0)
		return exec_append(out, &code);
	buf_free(&code);
	return r;
}

int python_set(struct buf *out, const char *mark, struct env_vars vars)
{
	struct buf code = BUF_INIT(out->max);
	int r;

	buf_puts(&code, state_code);
	buf_puts(&code, "new = ");
	r = dict_append(&code, vars);
	buf_printf(&code,
		   "\nsaved.setdefault('%s', {k: os.environ.get(k) for k in new})\n"
		   "os.environ.update(new)\n",
		   mark);
	if (r == 0)
		return exec_append(out, &code);
	buf_free(&code);
	return r;
}

int python_restore(struct buf *out, const char *mark)
{
	struct buf code = BUF_INIT(out->max);

	buf_puts(&code, state_code);
	buf_printf(&code,
		   "for k, v in saved.get('%s', {}).items():\n"
		   "    if v is None:\n"
		   "        os.environ.pop(k, None)\n"
		   "    else:\n"
		   "        os.environ[k] = v\n"
		   "saved.pop('%s', None)\n",
		   mark, mark);
	return exec_append(out, &code);
}
