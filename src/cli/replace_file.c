#include "cli/replace_file.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"

bool replace_file(const char *path, Str text, mode_t mode, Error *err) {
    char temp[PATH_MAX + 32];
    struct stat st;
    bool exists = stat(path, &st) == 0;
    if (exists) mode = st.st_mode & 0777;
    snprintf(temp, sizeof temp, "%s.%d.new", path, (int)getpid());
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0) return error_set(err, ERR_IO, "%s: %m", temp);
    bool owned = !exists || geteuid() != 0 || fchown(fd, st.st_uid, st.st_gid) == 0;     /* only root can give a file away */
    bool ok = owned && fchmod(fd, mode) == 0 && file_write(fd, text) && fsync(fd) == 0;
    int why = ok ? 0 : errno;
    close(fd);
    if (ok && rename(temp, path) != 0) ok = false, why = errno;
    if (ok) return true;
    unlink(temp);
    errno = why;
    return error_set(err, ERR_IO, "%s: %m", path);
}
