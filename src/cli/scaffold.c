#include "cli/scaffold.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_MAX = 256 };        /* maximum length of a path in the table */

static bool exists(int root_fd, const char *path) {
    struct stat st;
    return fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A project has only one of these; a second one would make it invalid. */
static const char *other_project_file(int root_fd) {
    static const char *const names[] = { "harness.yaml", "harness.yml", ".harness/harness.md" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (exists(root_fd, names[i])) return names[i];
    return NULL;
}

bool scaffold_cannot_create(const char *path, Error *err) {
    bool denied = errno == EACCES || errno == EROFS;
    error_set(err, ERR_IO, "create %s: %m", path);
    return denied && error_hint(err, "make the folder writable, or choose another one with -C DIR");
}

/* Opens the parent folder of `path`, step by step and never through a link; creates missing folders if `make`. *fd is
 * -1 when it does not exist. */
static bool open_folder(int root_fd, const char *path, bool make, int *fd, Error *err) {
    char folder[FOLDER_MAX];
    int at = dup(root_fd);
    for (const char *slash = strchr(path, '/'); at >= 0 && slash; slash = strchr(slash + 1, '/')) {
        size_t n = (size_t)(slash - path);
        const char *name;
        snprintf(folder, sizeof folder, "%.*s", (int)n, path);
        name = strrchr(folder, '/') ? strrchr(folder, '/') + 1 : folder;
        if (make && mkdirat(at, name, 0777) != 0 && errno != EEXIST) {
            scaffold_cannot_create(folder, err);
            close(at);
            return false;
        }
        int below = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int why = errno;
        close(at);
        at = below;
        if (below >= 0 || (why == ENOENT && !make)) continue;
        errno = why;
        if (why == ENOTDIR || why == ELOOP) return error_set(err, ERR_IO, "%s exists, but is not a folder", folder);
        return error_set(err, ERR_IO, "open %s: %m", folder);
    }
    *fd = at;
    return true;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool write_text(int fd, const char *text) {
    for (size_t n = strlen(text); n;) {
        ssize_t done = write(fd, text, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        text += done;
        n -= (size_t)done;
    }
    return fsync(fd) == 0;
}

/* Renames a finished file, unless the name exists by now (EEXIST). */
static bool publish(int folder, const char *temporary, const char *name) {
    if (renameat2(folder, temporary, folder, name, RENAME_NOREPLACE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
    return linkat(folder, temporary, folder, name, 0) == 0 && unlinkat(folder, temporary, 0) == 0;
}

bool scaffold_write_one(int root_fd, const ScaffoldFile *file, ScaffoldOutcome *outcome, Error *err) {
    char temporary[FOLDER_MAX];
    int folder = -1, fd = -1;
    bool ok = false;
    snprintf(temporary, sizeof temporary, ".harness-new.%ld", (long)getpid());
    if (!open_folder(root_fd, file->path, true, &folder, err)) return false;
    if (folder >= 0) fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) { scaffold_cannot_create(file->path, err); goto done; }
    if (!write_text(fd, file->text)) { error_set(err, ERR_IO, "write %s: %m", file->path); goto done; }
    ok = publish(folder, temporary, base_name(file->path));
    if (ok) outcome->created = file->path;
    else if (errno == EEXIST) ok = true, outcome->kept = file->path;   /* another process created it first */
    else scaffold_cannot_create(file->path, err);
done:
    if (fd >= 0) {
        if (!outcome->created) unlinkat(folder, temporary, 0);
        close(fd);
    }
    if (folder >= 0) close(folder);
    return ok;
}

static bool look(int root_fd, ScaffoldOutcome *outcome, Error *err) {
    const char *other = other_project_file(root_fd);
    for (size_t i = 0; i < scaffold_count; i++) {
        const char *path = scaffold_files[i].path;
        int folder = -1;
        if (!open_folder(root_fd, path, false, &folder, err)) return false;
        if (folder < 0) continue;                        /* no folder, no file */
        outcome[i].kept = exists(folder, base_name(path)) ? path : NULL;
        if (!outcome[i].kept && other && strcmp(path, "harness.md") == 0) outcome[i].kept = other;
        close(folder);
    }
    return true;
}

bool scaffold_write(int root_fd, ScaffoldOutcome *outcome, Error *err) {
    memset(outcome, 0, scaffold_count * sizeof *outcome);
    if (!look(root_fd, outcome, err)) return false;
    for (size_t i = 0; i < scaffold_count; i++)
        if (!outcome[i].kept && !scaffold_write_one(root_fd, &scaffold_files[i], &outcome[i], err)) return false;
    return true;
}
