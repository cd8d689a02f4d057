/*
 * clock.h - two clocks, never mixed: monotonic for waiting, wall for telling.
 */
#ifndef NB2_BASE_CLOCK_H
#define NB2_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

uint64_t clock_ms(void);      /* monotonic, milliseconds */
uint64_t clock_us(void);      /* monotonic, microseconds */
uint64_t clock_wall_ms(void); /* since the epoch */

#define CLOCK_ISO_LEN 33
/* UTC as Jupyter writes a header's date: 2026-11-30T21:20:45.910195Z */
void clock_iso(char out[CLOCK_ISO_LEN]);

#endif
