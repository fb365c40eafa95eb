#include "cli/named_file.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "sandbox/named.h"
#include "tool/protect/confine.h"
#include "tool/protect/protected.h"

bool named_file_write(const Project *p, const char *flag, const char *path, mode_t mode, Str text, Error *err) {
    Arena arena = { 0 };
    int fd = protected_allows(p, path, err) ? named_open(path, O_TRUNC, mode, confine_reach(p, &arena), err) : -1;
    arena_clear(&arena);
    if (fd < 0) return error_wrap(err, "%s %s", flag, path);
    bool ok = true;
    while (ok && text.n) {
        ssize_t n = write(fd, text.at, text.n);
        if (n < 0 && errno == EINTR) continue;
        ok = n > 0;
        if (ok) text = str_sub(text, (size_t)n, text.n);
    }
    if (!ok) error_set(err, ERR_IO, "%s %s: %m", flag, path);
    if (close(fd) != 0 && ok) ok = error_set(err, ERR_IO, "%s %s: %m", flag, path);
    return ok;
}
