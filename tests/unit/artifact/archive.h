/* Projects for tests, many to a file:
 *
 *     === name of the case
 *     -- .harness/tools/x.md --
 *     …the file…
 *     -- problems --
 *     error .harness/tools/x.md:2:1: … */
#pragma once
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "unit.h"

typedef struct ArchiveCase { Str name, text; } ArchiveCase;
typedef struct ArchiveFile { Str path, text; } ArchiveFile;

static inline bool archive_next(Str *rest, ArchiveCase *out) {
    if (!str_starts(*rest, STR("=== "))) return false;
    Str after = str_sub(*rest, 4, rest->n);
    str_next_line(&after, &out->name);
    ptrdiff_t end = str_starts(after, STR("=== ")) ? -1 : str_find(after, STR("\n=== "));
    size_t n = str_starts(after, STR("=== ")) ? 0 : end < 0 ? after.n : (size_t)end + 1;
    out->text = str_sub(after, 0, n);
    *rest = str_sub(after, n, after.n);
    return true;
}

/* True for a line "-- PATH --". */
static inline bool archive_heading(Str line, Str *path) {
    if (!str_starts(line, STR("-- ")) || !str_ends(line, STR(" --")) || line.n < 7) return false;
    *path = str_sub(line, 3, line.n - 3);
    return true;
}

static inline bool archive_file(Str *rest, ArchiveFile *out) {
    Str line, path;
    bool found = false;
    while (!found && str_next_line(rest, &line)) found = archive_heading(line, &out->path);
    if (!found) return false;
    const char *from = rest->at;
    for (Str at = *rest; ; at = *rest) {
        if (!str_next_line(rest, &line) || archive_heading(line, &path)) {
            *rest = at;
            out->text = (Str){ from, (size_t)(at.at - from) };
            return true;
        }
    }
}

static inline void archive_write(const char *dir, Str path, Str text) {
    char full[4096];
    snprintf(full, sizeof full, "%s/%.*s", dir, STR_ARG(path));
    for (char *slash = full + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(full, 0755);
        *slash = '/';
    }
    FILE *f = fopen(full, "w");
    if (!f) fail_msg("cannot write %s", full);
    fwrite(text.at, 1, text.n, f);
    fclose(f);
}

static inline char *archive_folder(void) {
    char memory[] = "/dev/shm/harness-test-XXXXXX", disk[] = "/tmp/harness-test-XXXXXX";
    if (mkdtemp(memory)) return strdup(memory);          /* much faster for thousands of files */
    if (!mkdtemp(disk)) fail_msg("no temporary folder");
    return strdup(disk);
}

static inline int archive_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline void archive_remove(char *dir) {
    nftw(dir, archive_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(dir);
}
