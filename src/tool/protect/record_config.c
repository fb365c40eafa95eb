/* Files used with -c or --tools. They do not have the usual names, so calls of a process without these flags could write them. Therefore the paths
 * that such a project looked at are recorded, until 30 days after the last use, in FOLDER/config-ID: the project's root, then one path per line. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/file.h"
#include "base/hash.h"
#include "base/random.h"
#include "sandbox/snapshot.h"
#include "tool/protect/record.h"

enum { NOTE_MAX = 1 << 20, NOTE_SECONDS = 30 * 86400 };

static bool write_file(int dir, const char *name, Str bytes) {
    char temp[64];
    snprintf(temp, sizeof temp, ".config-%016llx", (unsigned long long)random_u64());
    int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0;
    while (ok && bytes.n) {
        ssize_t n = write(fd, bytes.at, bytes.n);
        ok = n > 0 || (n < 0 && errno == EINTR);
        if (n > 0) bytes = str_sub(bytes, (size_t)n, bytes.n);
    }
    ok = ok && renameat(dir, temp, dir, name) == 0;
    int error = errno;
    if (!ok && fd >= 0) (void)unlinkat(dir, temp, 0);
    if (fd >= 0) close(fd);
    return errno = error, ok;
}

static void list_paths(const Project *p, Buf *out) {
    buf_add_fmt(out, STR_FMT "\n", STR_ARG(p->root));
    for (size_t i = 0; i < p->loaded_files.n; i++) {
        Str path = p->loaded_files.at[i];
        if (path.n && !memchr(path.at, '\n', path.n)) buf_add_fmt(out, STR_FMT "\n", STR_ARG(path));
    }
}

bool record_note_config(const char *folder, const Project *p, const char *tools, Error *err) {
    static const uint8_t key[16] = "used with -c";
    char name[48], real[PATH_MAX];
    Buf text = { 0 }, id = { 0 };
    if (!folder) return true;
    list_paths(p, &text);
    buf_add_fmt(&id, STR_FMT "\n" STR_FMT "\n%s", STR_ARG(p->root), STR_ARG(p->settings.file), tools && realpath(tools, real) ? real : "");
    snprintf(name, sizeof name, "config-%016llx", (unsigned long long)hash_sip24(buf_str(&id), key));
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = (dir >= 0 && write_file(dir, name, buf_str(&text))) || error_set(err, ERR_IO, "note the files of -c and --tools in %s: %m", folder);
    if (dir >= 0) close(dir);
    buf_clear(&id);
    buf_clear(&text);
    return ok;
}

/* -c conf/alt.md makes conf a project root inside another project; calls of the outer project must not write it either. */
static bool is_below(Str path, Str folder) { return str_starts(path, folder) && (path.n == folder.n || folder.n == 1 || path.at[folder.n] == '/'); }

static void take_note(const char *folder, const char *name, Str root, Arena *arena, RecordPaths *out) {
    char path[PATH_MAX];
    struct stat st;
    Buf text = { 0 };
    Str line;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path || lstat(path, &st) != 0) return;
    if (time(NULL) - st.st_mtime > NOTE_SECONDS) return (void)unlink(path);
    if (!file_read(path, NOTE_MAX, &text, NULL)) return;
    Str rest = buf_str(&text), of;
    if (str_next_line(&rest, &of) && is_below(of, root))
        while (rest.n && str_next_line(&rest, &line)) {
            bool absolute = line.n && line.at[0] == '/';
            VEC_PUSH(out, absolute ? arena_str(arena, line) : str_from(arena_fmt(arena, STR_FMT "/" STR_FMT, STR_ARG(of), STR_ARG(line))));
        }
    buf_clear(&text);
}

void record_configs(const RecordPlaces *p, Str root, Arena *arena, RecordPaths *out) {
    for (size_t i = 0; i < RECORD_FOLDERS; i++) {
        SnapshotNames names = { 0 };
        int dir = p->at[i] ? open(p->at[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        if (dir < 0 || !record_is_ours(p, i)) {
            if (dir >= 0) close(dir);
            continue;
        }
        (void)snapshot_list(dir, &names);
        for (size_t k = 0; k < names.n; k++)
            if (strncmp(names.at[k], "config-", 7) == 0) take_note(p->at[i], names.at[k], root, arena, out);
        snapshot_names_clear(&names);
        close(dir);
    }
}
