/* Clocks: monotonic for deadlines and durations, wall clock for timestamps. */
#pragma once
#include <stdint.h>
#include "base/str.h"

int64_t clock_mono_ns(void);
int64_t clock_wall_ns(void);                           /* since 1970, UTC */
int64_t clock_file_ns(void);                           /* the same, not later than the time stamp of a file that is changed afterwards */

/* RFC 3339 in UTC with nanoseconds: 2026-01-02T03:04:05.000000006Z (30 characters and a NUL). */
enum { CLOCK_TEXT_SIZE = 40 };
void clock_format(int64_t wall_ns, char out[CLOCK_TEXT_SIZE]);

bool clock_read_age(Str text, int64_t *ns);            /* a number up to 100000 and s, m, h or d, as in 90s or 7d */
