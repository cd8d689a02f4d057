/*
 * clock.c - clock_gettime(2), twice.
 */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

/* Either clock, in microseconds. */
static uint64_t micros(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* For measuring. */
uint64_t clock_us(void)
{
	return micros(CLOCK_MONOTONIC);
}

/* For timers and deadlines. */
uint64_t clock_ms(void)
{
	return micros(CLOCK_MONOTONIC) / 1000;
}

/* For telling people; may jump. */
uint64_t clock_wall_ms(void)
{
	return micros(CLOCK_REALTIME) / 1000;
}

/* Six digits behind the point, always: Jupyter's own parser wants them. */
void clock_iso(char out[CLOCK_ISO_LEN])
{
	uint64_t us = micros(CLOCK_REALTIME);
	time_t seconds = (time_t)(us / 1000000);
	struct tm tm;
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(out, CLOCK_ISO_LEN, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, CLOCK_ISO_LEN - n, ".%06uZ", (unsigned)(us % 1000000));
}
