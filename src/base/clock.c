#include "base/clock.h"
#include <stdio.h>
#include <time.h>

enum { NS_PER_S = 1000000000 };

static int64_t read_clock(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t clock_mono_ns(void) {
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_wall_ns(void) {
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_file_ns(void) {
    return read_clock(CLOCK_REALTIME_COARSE);
}

void clock_format(int64_t wall_ns, char out[CLOCK_TEXT_SIZE]) {
    int64_t s = wall_ns / NS_PER_S, ns = wall_ns % NS_PER_S;
    if (ns < 0)                                        /* before 1970: round down, not towards zero */
        s--, ns += NS_PER_S;
    struct tm tm;
    time_t seconds = (time_t)s;
    gmtime_r(&seconds, &tm);                           /* int64_t nanoseconds cover 1677 to 2262 */
    size_t n = strftime(out, CLOCK_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out + n, CLOCK_TEXT_SIZE - n, ".%09dZ", (int)ns);
}
