#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/mem.h"
#include "event/event.h"

typedef struct { int fd; bool owned, torn; Buf line; } Lines;

static ssize_t write_some(int fd, Str s) {
    return fault_hit() ? (errno = EIO, (ssize_t)-1) : write(fd, s.at, s.n);
}

/* One write() call unless the kernel accepts only a part. */
static bool write_all(int fd, Str s, size_t *done, Error *err) {
    for (*done = 0; *done < s.n;) {
        ssize_t n = write_some(fd, str_sub(s, *done, s.n));
        if (n >= 0) *done += (size_t)n;
        else if (errno == EAGAIN) poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
        else if (errno != EINTR) return error_set(err, ERR_IO, "write events: %m");
    }
    return true;
}

/* Ends a partially written line (full disk) before the next one, so that only that line is lost. */
static bool lines_write(void *self, const Event *e, Error *err) {
    Lines *l = self;
    size_t done;
    buf_reset(&l->line);
    if (l->torn) buf_add_char(&l->line, '\n');
    event_write_json(&l->line, e);
    buf_add_char(&l->line, '\n');
    bool ok = write_all(l->fd, buf_str(&l->line), &done, err);
    if (ok) l->torn = false;
    else if (done) l->torn = !(l->torn && done == 1);    /* if only the newline was written, the line is complete */
    return ok;
}

static void lines_free(void *self) {
    Lines *l = self;
    if (l->owned) close(l->fd);
    buf_clear(&l->line);
    free(l);
}

EventSink event_sink_lines(int fd, bool owned) {
    Lines *l = mem_zero(1, sizeof *l);
    l->fd = fd;
    l->owned = owned;
    return (EventSink){ lines_write, lines_free, l };
}
