/* Preloaded into a program under test: kills it, as `kill -9` does, at one exact moment.
 *
 *   CRASH_EVENT=N    just before the Nth event line is written to --events (the store does not have it yet)
 *   CRASH_STORE=N    just after the Nth pwrite to the database or its log: inside of a commit, or at its end
 *   CRASH_TELL=FILE  no crash: FILE gets a line per event with how often the database was written to before it */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long events, stored;

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

static void tell(void) {
    const char *path = getenv("CRASH_TELL");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (fd < 0) return;
    dprintf(fd, "%ld\n", atomic_load(&stored));
    close(fd);
}

ssize_t write(int fd, const void *bytes, size_t n) {
    ssize_t (*real)(int, const void *, size_t) = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (n > 7 && memcmp(bytes, "{\"seq\":", 7) == 0) {
        if (atomic_fetch_add(&events, 1) + 1 == number("CRASH_EVENT")) kill(getpid(), SIGKILL);
        tell();
    }
    return real(fd, bytes, n);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at) {
    ssize_t (*real)(int, const void *, size_t, off64_t) = (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    ssize_t done = real(fd, bytes, n, at);
    if (atomic_fetch_add(&stored, 1) + 1 == number("CRASH_STORE")) kill(getpid(), SIGKILL);
    return done;
}
