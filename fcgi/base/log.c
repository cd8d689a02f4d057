/*
 * log.c - lines on stderr.
 *
 * A message is formatted, made harmless and written from the stack: no lock,
 * no allocation, so a line can be told from any thread and when memory is out.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

#define LOG_LINE 2000 /* bytes, with its newline */

static const char *const names[] = { "debug", "info", "warn", "error" };
static char who_am_i[32] = "nb2";
static enum log_level threshold = LOG_INFO;

/* Once, before there are threads. */
void log_init(const char *who, enum log_level least)
{
	snprintf(who_am_i, sizeof(who_am_i), "%s", who);
	threshold = least;
}

/* The names that lines are written with. */
int log_level_parse(const char *name, enum log_level *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(name, names[i]) == 0) {
			*ret = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* For a message that is costly to make. */
bool log_on(enum log_level level)
{
	return level >= threshold;
}

/* May this character stand in a line as it is? Not what a terminal obeys, nor
 * what some reader takes for the end of a line. */
static bool harmless(uint32_t cp)
{
	return cp >= 0x20 && cp != 0x7f && (cp < 0x80 || cp > 0x9f) && cp != 0x2028 && cp != 0x2029;
}

/* Append text as far as it fits into size; never half a character. */
static size_t sanitize(char *out, size_t n, size_t size, struct span text)
{
	uint32_t cp;

	while (text.len > 0) {
		size_t len = utf8_decode(text, &cp);
		bool plain = len > 0 && harmless(cp);

		len = plain ? len : 1;
		if (n + (plain ? len : 4) > size)
			break;
		if (plain)
			memcpy(out + n, text.ptr, len);
		else
			snprintf(out + n, 5, "\\x%02x", (unsigned char)text.ptr[0]);
		n += plain ? len : 4;
		text = span_of(text.ptr + len, text.len - len);
	}
	return n;
}

/* One line, one write(2): lines of several processes do not mix. */
PRINTF_LIKE(2, 0)
static void log_line(enum log_level level, const char *fmt, va_list ap)
{
	char text[LOG_LINE];
	char line[LOG_LINE + 1]; /* snprintf's NUL */
	char now[CLOCK_ISO_LEN];
	int saved = errno; /* a caller may log before it looks at errno */
	size_t n;
	ssize_t w;

	clock_iso(now);
	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		text[0] = '\0';
	n = (size_t)snprintf(line, sizeof(line), "%s %s %s: ", now, names[level], who_am_i);
	n = sanitize(line, n, LOG_LINE - 1, span_str(text));
	line[n++] = '\n';
	w = write(STDERR_FILENO, line, n); /* nowhere to tell if that fails */
	(void)w;
	errno = saved;
}

#define LOG_FUNCTION(name, level)                                                                  \
	void name(const char *fmt, ...)                                                            \
	{                                                                                          \
		va_list ap;                                                                        \
                                                                                                   \
		if (!log_on(level))                                                                \
			return;                                                                    \
		va_start(ap, fmt);                                                                 \
		log_line(level, fmt, ap);                                                          \
		va_end(ap);                                                                        \
	}

LOG_FUNCTION(log_debug, LOG_DEBUG)
LOG_FUNCTION(log_info, LOG_INFO)
LOG_FUNCTION(log_warn, LOG_WARN)
LOG_FUNCTION(log_error, LOG_ERROR)
