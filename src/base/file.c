#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fault.h"

#ifdef HARNESS_HOSTILE
enum { READ_STEP = 5 };
#else
enum { READ_STEP = 16 << 10 };
#endif

static const char *kind_of(mode_t mode) {
    return S_ISDIR(mode) ? "a directory" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket"
         : S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "not a regular file";
}

static bool too_large(const char *path, size_t limit, Error *err) {
    return error_set(err, ERR_LIMIT, "read %s: file is larger than %zu bytes", path, limit);
}

/* O_NONBLOCK: opening a FIFO without a writer must not block. It has no effect on regular files. */
static int open_to_read(const char *path, Error *err) {
    int fd = fault_hit() ? (errno = EMFILE, -1) : open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    struct stat st;
    if (errno == ENXIO && stat(path, &st) == 0)        /* open() of a socket */
        error_set(err, ERR_IO, "open %s: it is %s", path, kind_of(st.st_mode));
    else
        error_set(err, ERR_IO, "open %s: %m", path);
    return -1;
}

static bool check_regular(int fd, const char *path, size_t limit, size_t *size, Error *err) {
    struct stat st;
    if (fault_hit() ? (errno = EIO, true) : fstat(fd, &st) < 0)
        return error_set(err, ERR_IO, "stat %s: %m", path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, ERR_IO, "open %s: it is %s", path, kind_of(st.st_mode));
    if ((uintmax_t)st.st_size > limit)
        return too_large(path, limit, err);
    *size = (size_t)st.st_size;
    return true;
}

/* Reads to end of file whatever the reported size: a file may grow, and files in /proc report 0. */
static bool read_all(int fd, const char *path, size_t limit, size_t size, Buf *out, Error *err) {
    size_t step = size + 1;                            /* + 1: the read that finds the end needs space */
    for (;;) {
        char *room = buf_room(out, step);
        ssize_t n = fault_hit() ? (errno = EIO, -1) : read(fd, room, step);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(err, ERR_IO, "read %s: %m", path);
        buf_commit(out, (size_t)n);
        if (out->n > limit)
            return too_large(path, limit, err);
        if (n == 0)
            return true;
        size_t left = out->cap - out->n - 1;           /* use the free space before growing */
        step = left ? left : READ_STEP;
    }
}

bool file_read(const char *path, size_t limit, Buf *out, Error *err) {
    Buf content = { 0 };
    size_t size;
    int fd = open_to_read(path, err);
    bool ok = fd >= 0 && check_regular(fd, path, limit, &size, err) && read_all(fd, path, limit, size, &content, err);
    if (fd >= 0)
        close(fd);
    if (!ok) {
        buf_clear(&content);
        return false;
    }
    content.limit = out->limit;
    buf_clear(out);
    *out = content;
    return true;
}

bool file_write(int fd, Str bytes) {
    while (bytes.n) {
        ssize_t n = write(fd, bytes.at, bytes.n);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes = str_sub(bytes, (size_t)n, bytes.n);
    }
    return true;
}
