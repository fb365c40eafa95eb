#include "mcp/serve_poll.h"
#include "base/clock.h"

enum { LOOK_NS = 150000, NEEDED_MIN = 16, NEEDED_MAX = 8192 };

/* 0: nothing came. */
static int look(struct pollfd *fds, nfds_t n, int64_t until) {
    int got;
    do got = poll(fds, n, 0);
    while (got == 0 && clock_mono_ns() < until);
    return got;
}

int serve_poll(ServePoll *w, struct pollfd *fds, nfds_t n, int ms) {
    const int64_t start = clock_mono_ns();
    if (w->needed < NEEDED_MIN) w->needed = NEEDED_MIN;
    if (w->quick >= w->needed) {
        int got = look(fds, n, start + LOOK_NS);
        if (got) return w->needed = NEEDED_MIN, got;
        w->quick = 0;
        if (w->needed < NEEDED_MAX) w->needed *= 2;
    }
    int got = poll(fds, n, ms);
    w->quick = clock_mono_ns() - start < LOOK_NS ? w->quick + 1 : 0;
    return got;
}
