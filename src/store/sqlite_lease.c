/* Leases: which process holds a run. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/hash.h"
#include "store/sqlite_private.h"

/* Reads a small file of /proc; empty on failure. */
static Str read_small(const char *path, char *out, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0) close(fd);
    out[n > 0 ? n : 0] = 0;
    return str_trim((Str){ out, n > 0 ? (size_t)n : 0 });
}

/* Field 22 of /proc/PID/stat. The second field is the program's name in parentheses, which may contain anything; it
 * ends at the last ')'. 0: no such process, or a zombie. */
static int64_t start_time(int64_t pid) {
    char path[48], text[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    Str stat = read_small(path, text, sizeof text);
    const char *at = stat.n ? strrchr(stat.at, ')') : NULL;
    if (at && at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X')) return 0;
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    return at ? strtoll(at + 1, NULL, 10) : 0;
}

static void boot_id(char *out, size_t size) {
    char text[64];
    Str id = read_small("/proc/sys/kernel/random/boot_id", text, sizeof text);
    snprintf(out, size, STR_FMT, STR_ARG(id));
}

void sqlite_holder_self(SqliteHolder *out) {
    out->pid = getpid();
    out->start = start_time(out->pid);
    boot_id(out->boot, sizeof out->boot);
}

bool sqlite_holder_alive(const SqliteHolder *h) {
    char boot[sizeof h->boot];
    if (h->pid <= 0) return false;
    boot_id(boot, sizeof boot);
    return strcmp(boot, h->boot) == 0 && start_time(h->pid) == h->start;
}

/* One byte of the file per run, at an offset derived from its id. An open file description lock ends with the process
 * in every case, and also excludes other stores of the same process. */
static bool lock_byte(const SqliteStore *s, Str run, short type) {
    static const uint8_t key[16] = { 0 };
    struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(hash_sip24(run, key) >> 2), .l_len = 1 };
    return fcntl(s->lease_fd, F_OFD_SETLK, &lock) == 0;
}

bool sqlite_lease_take(SqliteStore *s, Str run) {
    if (s->lease_fd < 0 || lock_byte(s, run, F_WRLCK)) return true;
    return errno != EAGAIN && errno != EACCES;           /* a file system without locks: rely on pid and start time */
}

bool sqlite_lease_sure(SqliteStore *s, Str name) { return s->lease_fd >= 0 && lock_byte(s, name, F_WRLCK); }
void sqlite_lease_drop(SqliteStore *s, Str run) { lock_byte(s, run, F_UNLCK); }

bool sqlite_lease_any(SqliteStore *s) {
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };     /* l_len 0: to the end of the file */
    return s->lease_fd >= 0 && fcntl(s->lease_fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}
