#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "artifact/git.h"
#include "artifact/source.h"
#include "base/digest.h"
#include "base/fault.h"
#include "base/vec.h"

typedef struct Walk { Arena arena; VEC(Str) files; Error *err; } Walk;

static bool walk(Walk *w, int dir, const char *prefix, int depth);

static bool walk_entry(Walk *w, int dir, const char *prefix, const char *name, int depth) {
    struct stat st;
    const char *path = arena_fmt(&w->arena, "%s%s", prefix, name);
    if (fault_hit() || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) return error_set(w->err, ERR_IO, "stat %s: %m", path);
    if (S_ISREG(st.st_mode)) {
        if (!vec_limit(w->files.n, GIT_PIN_FILES_MAX, "files", w->err)) return false;
        VEC_PUSH(&w->files, str_from(path));
        return true;
    }
    if (!S_ISDIR(st.st_mode))
        return error_set(w->err, ERR_CONFIG, "%s is %s, which a checksum cannot pin", path, S_ISLNK(st.st_mode) ? "a link" : "not a regular file");
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return error_set(w->err, ERR_IO, "open %s: %m", path);
    return walk(w, fd, arena_fmt(&w->arena, "%s/", path), depth + 1);
}

/* Closes `dir`. */
static bool walk(Walk *w, int dir, const char *prefix, int depth) {
    DIR *d = fdopendir(dir);
    struct dirent *e;
    bool ok = d && depth <= GIT_PIN_DEPTH_MAX;
    if (!d) error_set(w->err, ERR_IO, "read folder: %m");
    else if (!ok) error_set(w->err, ERR_LIMIT, "folders are nested more than %d deep", GIT_PIN_DEPTH_MAX);
    while (ok && (errno = 0, e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || strcmp(e->d_name, ".git") == 0) continue;
        ok = walk_entry(w, dir, prefix, e->d_name, depth);
    }
    if (ok && errno) ok = error_set(w->err, ERR_IO, "read folder: %m");
    if (d) closedir(d);
    else close(dir);
    return ok;
}

/* The size is hashed first, so the file must not change while it is read. */
static bool add_content(Digest *digest, int fd, const char *path, size_t size, Error *err) {
    char block[16384];
    size_t total = 0;
    for (;;) {
        ssize_t n = fault_hit() ? (errno = EIO, -1) : read(fd, block, sizeof block);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return error_set(err, ERR_IO, "read %s: %m", path);
        if (n == 0) break;
        total += (size_t)n;
        if (!digest_add(digest, (Str){ block, (size_t)n }, err)) return false;
    }
    return total == size || error_set(err, ERR_IO, "%s changed while it was read", path);
}

static bool add_file(Digest *digest, int dir, Str file, size_t *bytes, Error *err) {
    const char *path = file.at;                        /* from the arena: NUL-terminated */
    struct stat st;
    int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return error_set(err, ERR_IO, "open %s: %m", path);
    bool ok = (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) || error_set(err, ERR_IO, "%s changed while it was read", path);
    if (ok && (size_t)st.st_size > GIT_PIN_BYTES_MAX - *bytes)
        ok = error_set(err, ERR_LIMIT, "files are larger than %zu bytes together", GIT_PIN_BYTES_MAX);
    if (ok) {
        char size[32];
        int n = snprintf(size, sizeof size, "%zu", (size_t)st.st_size);
        *bytes += (size_t)st.st_size;
        ok = digest_add(digest, (Str){ path, file.n + 1 }, err) && digest_add(digest, (Str){ size, (size_t)n + 1 }, err)
             && add_content(digest, fd, path, (size_t)st.st_size, err);
    }
    close(fd);
    return ok;
}

static int by_bytes(const void *a, const void *b) { return str_cmp(*(const Str *)a, *(const Str *)b); }

bool source_checksum(int dir_fd, Buf *out, Error *err) {
    Walk w = { .err = err };
    uint8_t sum[DIGEST_BYTES_MAX];
    size_t bytes = 0;
    Digest *digest = NULL;
    int dir = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = (dir >= 0 || error_set(err, ERR_IO, "open folder: %m")) && walk(&w, dir, "", 0);
    ok = ok && (digest = digest_new(DIGEST_SHA256, err));
    if (ok && w.files.n) qsort(w.files.at, w.files.n, sizeof(Str), by_bytes);
    for (size_t i = 0; ok && i < w.files.n; i++) ok = add_file(digest, dir_fd, w.files.at[i], &bytes, err);
    ok = ok && digest_end(digest, sum, err);
    if (ok) {
        buf_add(out, STR("sha256:"));
        digest_hex(sum, DIGEST_SHA256_BYTES, out);
    }
    digest_free(digest);
    VEC_CLEAR(&w.files);
    arena_clear(&w.arena);
    return ok;
}

bool source_verify(int dir_fd, Str checksum, Error *err) {
    Buf found = { 0 };
    if (checksum.n == 0) return true;
    bool ok = source_checksum(dir_fd, &found, err);
    if (ok && !str_eq(buf_str(&found), checksum))
        ok = error_set(err, ERR_CONFIG, "checksum is %s, not " STR_FMT, found.at, STR_ARG(checksum));
    buf_clear(&found);
    return ok;
}
