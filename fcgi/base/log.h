/*
 * log.h - one line a fact, on stderr, written with one write(2).
 *
 * Line: time, level, who (set once: "master", "worker 1"), message. Never put
 * code, output, environment values or tokens into it. Control characters in
 * the message are written as \xNN, so that nobody can forge a line. A line is
 * cut at 2,000 bytes. Thread-safe.
 */
#ifndef NB2_BASE_LOG_H
#define NB2_BASE_LOG_H

#include <stdbool.h>

#include "base/check.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

void log_init(const char *who, enum log_level least);
int log_level_parse(const char *name, enum log_level *ret); /* 0 or -EINVAL */
bool log_on(enum log_level level);

void log_debug(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_info(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_warn(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_error(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
