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

bool clock_read_age(Str text, int64_t *ns) {
    char last = text.n ? text.at[text.n - 1] : 0;
    int64_t n = 0, unit = last == 's' ? 1 : last == 'm' ? 60 : last == 'h' ? 3600 : last == 'd' ? 86400 : 0;
    if (!unit || text.n < 2) return false;
    for (size_t i = 0; i + 1 < text.n; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') return false;
        n = n * 10 + (text.at[i] - '0');
        if (n > 100000) return false;
    }
    return *ns = n * unit * NS_PER_S, true;
}
