#include "policy/trust_record.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/diff.h"
#include "base/digest.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "store/store.h"
#include "value/int.h"
#include "value/json.h"
#include "value/list.h"

enum { RECORD_MAX = 16 << 20, COPY_MAX = 1 << 20, COPIES_MAX = 16 << 20 };

/* ---- paths ---- */

bool trust_folder(Buf *out, Error *err) {
    if (!store_state_home(out, err)) return false;
    buf_add(out, STR("/harness/trust"));
    return true;
}

static bool record_folder(Str root, Buf *out, Error *err) {
    if (!trust_folder(out, err)) return false;
    buf_add_char(out, '/');
    store_project_id(root, out);
    return true;
}

static bool make_folders(char *path, Error *err) {
    for (char *at = strchr(path + 1, '/');; at = strchr(at + 1, '/')) {
        if (at) *at = 0;
        if (mkdir(path, 0700) < 0 && errno != EEXIST) return error_set(err, ERR_IO, "make folder %s: %m", path);
        if (!at) return true;
        *at = '/';
    }
}

/* Device, inode and birth time: if the folder was replaced, at least one of them differs. */
static bool identity(Str root, int64_t *device, int64_t *inode, char born[CLOCK_TEXT_SIZE]) {
    struct statx st;
    char *path = str_dup(root);
    bool ok = statx(AT_FDCWD, path, 0, STATX_INO | STATX_BTIME, &st) == 0;
    free(path);
    if (!ok) return false;
    *device = (int64_t)((uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor);
    *inode = (int64_t)st.stx_ino;
    born[0] = 0;
    if (st.stx_mask & STATX_BTIME) clock_format(st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec, born);
    return true;
}

bool trust_record_is_of(const TrustRecord *r, Str root) {
    int64_t device, inode;
    char born[CLOCK_TEXT_SIZE];
    return str_eq(r->root, root) && identity(root, &device, &inode, born) && device == r->device && inode == r->inode &&
           str_eq(r->born, str_from(born));
}

/* ---- reading ---- */

static Str text_at(TrustRecord *r, Value map, const char *key) {
    Value *v = value_is_dict(map) ? dict_find_str(value_dict(map), str_from(key)) : NULL;
    return v && value_is_string(*v) ? arena_str(&r->arena, value_str(*v)) : (Str){ 0 };
}

static Value value_at(Value map, const char *key) {
    Value *v = value_is_dict(map) ? dict_find_str(value_dict(map), str_from(key)) : NULL;
    return v ? *v : VALUE_NONE;
}

static int64_t number_at(Value map, const char *key) {
    int64_t n;
    Value v = value_at(map, key);
    return value_is_int(v) && int_to_i64(v, &n) ? n : -1;
}

static void take_lists(TrustRecord *r, Value root) {
    Value asked = value_at(root, "asked"), files = value_at(root, "files");
    Entry *e;
    size_t n_asked = value_is_list(asked) ? value_list(asked)->n : 0, n_files = value_is_dict(files) ? value_dict(files)->n : 0;
    r->asked = ARENA_ARRAY(&r->arena, TrustAsked, n_asked + 1);
    for (size_t i = 0; i < n_asked; i++) {
        Value a = value_list(asked)->at[i];
        r->asked[r->n_asked++] = (TrustAsked){ text_at(r, a, "file"), text_at(r, a, "path"), text_at(r, a, "value") };
    }
    r->files = ARENA_ARRAY(&r->arena, TrustRecordFile, n_files + 1);
    for (uint32_t i = 0; n_files && dict_next(value_dict(files), &i, &e);) {
        if (!value_is_string(e->value)) continue;
        r->files[r->n_files++] = (TrustRecordFile){ arena_str(&r->arena, value_str(e->key)), arena_str(&r->arena, value_str(e->value)) };
    }
}

static bool parse(TrustRecord *r, Str text, Error *err) {
    Heap *heap = heap_new(0);
    Value root, always;
    bool ok = json_read(heap, text, &(JsonRead){ .reject_duplicates = true }, &root, err);
    if (ok) {
        always = value_at(root, "always");
        r->root = text_at(r, root, "root");
        r->born = text_at(r, root, "born");
        r->grants = text_at(r, root, "grants");
        r->code = text_at(r, root, "code");
        r->given = text_at(r, root, "given");
        r->device = number_at(root, "device");
        r->inode = number_at(root, "inode");
        r->always = value_is_bool(always) && value_bool(always);
        take_lists(r, root);
    }
    heap_free(heap);
    return ok;
}

static bool read_record(Str folder, TrustRecord **out, Error *err) {
    Buf path = { 0 }, text = { 0 };
    *out = NULL;
    buf_add_fmt(&path, STR_FMT "/record.json", STR_ARG(folder));
    bool there = access(path.at, F_OK) == 0, ok = true;
    if (there) {
        TrustRecord *r = mem_zero(1, sizeof *r);
        r->folder = arena_str(&r->arena, folder);
        ok = file_read(path.at, RECORD_MAX, &text, err) && parse(r, buf_str(&text), err);
        if (ok) *out = r;
        else trust_record_free(r);
        if (!ok) error_wrap(err, "%s: the record of trust cannot be read (remove it and run `harness trust` again)", path.at);
    }
    buf_clear(&path);
    buf_clear(&text);
    return ok;
}

bool trust_record_read(Str root, TrustRecord **out, Error *err) {
    Buf folder = { 0 };
    *out = NULL;
    bool ok = record_folder(root, &folder, err) && read_record(buf_str(&folder), out, err);
    buf_clear(&folder);
    return ok;
}

void trust_record_free(TrustRecord *r) {
    if (!r) return;
    arena_clear(&r->arena);
    free(r);
}

/* ---- writing ---- */

static bool write_file(const char *path, Str bytes, Error *err) {
    char temp[PATH_MAX];
    if ((size_t)snprintf(temp, sizeof temp, "%s.%d.new", path, (int)getpid()) >= sizeof temp) return error_set(err, ERR_IO, "%s: the path is too long", path);
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return error_set(err, ERR_IO, "write %s: %m", temp);
    bool ok = true;
    while (ok && bytes.n) {
        ssize_t n = fault_hit() ? (errno = ENOSPC, -1) : write(fd, bytes.at, bytes.n);
        if (n < 0 && errno == EINTR) continue;
        ok = n > 0;
        if (ok) bytes = str_sub(bytes, (size_t)n, bytes.n);
    }
    ok = ok && fsync(fd) == 0;
    int saved = errno;
    if (close(fd) < 0 && ok) {
        ok = false;
        saved = errno;
    }
    if (ok && rename(temp, path) == 0) return true;
    if (ok) saved = errno;
    unlink(temp);
    errno = saved;
    return error_set(err, ERR_IO, "write %s: %m", path);
}

static void add_member(Buf *out, const char *key, Str value) {
    buf_add_fmt(out, ",\"%s\":", key);
    json_write_string(out, value, false);
}

static void add_asked(const TrustSubject *s, Buf *out) {
    buf_add(out, STR(",\"asked\":["));
    for (size_t i = 0; i < s->n_grants; i++) {
        buf_add(out, i ? STR(",{\"words\":") : STR("{\"words\":"));
        json_write_string(out, str_from(s->grants[i].words), false);
        add_member(out, "file", s->grants[i].file);
        add_member(out, "path", s->grants[i].path);
        add_member(out, "value", s->grants[i].value);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

static void add_files(const TrustSubject *s, Buf *out) {
    buf_add(out, STR(",\"files\":{"));
    for (size_t i = 0; i < s->n_files; i++) {
        if (i) buf_add_char(out, ',');
        json_write_string(out, s->files[i].path, false);
        buf_add(out, STR(":\""));
        digest_hex(s->files[i].digest, SHA256_BYTES, out);
        buf_add_char(out, '"');
    }
    buf_add_char(out, '}');
}

static char *path_of(Str root, Str path) {
    Buf text = { 0 };
    if (path.n && path.at[0] == '/') buf_add(&text, path);
    else buf_add_fmt(&text, STR_FMT "/" STR_FMT, STR_ARG(root), STR_ARG(path));
    return text.at;
}

/* Copies each small file, named by its digest. Fails if a file has changed since it was loaded, because the user has
 * seen the old content. */
static bool keep_copies(const TrustSubject *s, const char *folder, Error *err) {
    Buf bytes = { 0 };
    size_t total = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < s->n_files && total < COPIES_MAX; i++) {
        uint8_t digest[SHA256_BYTES];
        char *from = path_of(s->root, s->files[i].path);
        if (file_read(from, COPY_MAX, &bytes, NULL)) {
            sha256_of(buf_str(&bytes), digest);
            total += bytes.n;
            Buf to = { 0 };
            buf_add_fmt(&to, "%s/", folder);
            digest_hex(s->files[i].digest, SHA256_BYTES, &to);
            if (memcmp(digest, s->files[i].digest, SHA256_BYTES) != 0) ok = error_set(err, ERR_IO, "%s changed while it was being looked at: try again", from);
            else if (access(to.at, F_OK) != 0) ok = write_file(to.at, buf_str(&bytes), err);
            buf_clear(&to);
        }
        free(from);
    }
    buf_clear(&bytes);
    return ok;
}

bool trust_record_write(const TrustSubject *s, const char *grants, const char *code, bool always, Error *err) {
    int64_t device, inode;
    char born[CLOCK_TEXT_SIZE], now[CLOCK_TEXT_SIZE];
    Buf folder = { 0 }, path = { 0 }, text = { 0 };
    if (!identity(s->root, &device, &inode, born)) return error_set(err, ERR_IO, STR_FMT ": %m", STR_ARG(s->root));
    clock_format(clock_wall_ns(), now);
    buf_add(&text, STR("{\"root\":"));
    json_write_string(&text, s->root, false);
    buf_add_fmt(&text, ",\"device\":%lld,\"inode\":%lld,\"always\":%s", (long long)device, (long long)inode, always ? "true" : "false");
    add_member(&text, "born", str_from(born));
    add_member(&text, "given", str_from(now));
    add_member(&text, "grants", str_from(grants));
    add_member(&text, "code", str_from(code));
    add_asked(s, &text);
    add_files(s, &text);
    buf_add(&text, STR("}\n"));
    bool ok = record_folder(s->root, &folder, err) && make_folders(folder.at, err) && keep_copies(s, folder.at, err);
    if (ok) buf_add_fmt(&path, "%s/record.json", folder.at);
    ok = ok && write_file(path.at, buf_str(&text), err);
    buf_clear(&folder);
    buf_clear(&path);
    buf_clear(&text);
    return ok;
}

/* ---- removal and listing ---- */

static bool remove_folder(const char *path, Error *err) {
    DIR *dir = opendir(path);
    if (!dir) return error_set(err, ERR_IO, "%s: %m", path);
    struct dirent *e;
    bool ok = true;
    while (ok && (e = readdir(dir)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && unlinkat(dirfd(dir), e->d_name, 0) < 0)
            ok = error_set(err, ERR_IO, "remove %s/%s: %m", path, e->d_name);
    closedir(dir);
    return ok && (rmdir(path) == 0 || error_set(err, ERR_IO, "remove %s: %m", path));
}

bool trust_forget(Str root, bool *found, Error *err) {
    Buf folder = { 0 };
    bool ok = record_folder(root, &folder, err);
    *found = ok && access(folder.at, F_OK) == 0;
    ok = ok && (!*found || remove_folder(folder.at, err));
    buf_clear(&folder);
    return ok;
}

bool trust_list(void (*each)(void *ctx, const TrustEntry *e), void *ctx, Error *err) {
    Buf folder = { 0 };
    bool ok = trust_folder(&folder, err);
    DIR *dir = ok ? opendir(folder.at) : NULL;
    struct dirent *e;
    if (ok && !dir && errno != ENOENT) ok = error_set(err, ERR_IO, "%s: %m", folder.at);
    while (ok && dir && (e = readdir(dir))) {
        if (e->d_name[0] == '.') continue;
        TrustRecord *r = NULL;
        Buf one = { 0 };
        buf_add_fmt(&one, "%s/%s", folder.at, e->d_name);
        ok = read_record(buf_str(&one), &r, err);
        if (r) each(ctx, &(TrustEntry){ r->root, r->given, r->always, r->n_asked });
        trust_record_free(r);
        buf_clear(&one);
    }
    if (dir) closedir(dir);
    buf_clear(&folder);
    return ok;
}

/* ---- diffs ---- */

static const TrustRecordFile *find_before(const TrustRecord *r, Str path) {
    for (size_t i = 0; i < r->n_files; i++)
        if (str_eq(r->files[i].path, path)) return &r->files[i];
    return NULL;
}

static bool is_now(const TrustSubject *s, Str path) {
    for (size_t i = 0; i < s->n_files; i++)
        if (str_eq(s->files[i].path, path)) return true;
    return false;
}

static bool read_copy(const TrustRecord *r, Str digest, Buf *out) {
    Buf path = { 0 };
    buf_add_fmt(&path, STR_FMT "/" STR_FMT, STR_ARG(r->folder), STR_ARG(digest));
    bool ok = file_read(path.at, COPY_MAX, out, NULL);
    buf_clear(&path);
    return ok;
}

static void add_difference(const TrustRecord *r, const TrustRecordFile *before, Str path, Str root, Buf *out) {
    Buf a = { 0 }, b = { 0 };
    Buf shown = { 0 };
    utf8_escape(path, false, &shown);
    char *name = buf_take(&shown), *full = path_of(root, path);
    bool both = (!before || read_copy(r, before->digest, &a)) && file_read(full, COPY_MAX, &b, NULL);
    if (!both) buf_add_fmt(out, "%s: changed; it is too large to show\n", name);
    else diff_unified(buf_str(&a), buf_str(&b), &(DiffStyle){ .from = before ? name : "/dev/null", .to = name, .context = 3 }, out);
    free(name);
    free(full);
    buf_clear(&a);
    buf_clear(&b);
}

void trust_record_diff(const TrustRecord *r, const TrustSubject *s, Buf *out) {
    Buf hex = { 0 };
    for (size_t i = 0; i < s->n_files; i++) {
        const TrustRecordFile *before = find_before(r, s->files[i].path);
        buf_reset(&hex);
        digest_hex(s->files[i].digest, SHA256_BYTES, &hex);
        if (!before || !str_eq(before->digest, buf_str(&hex))) add_difference(r, before, s->files[i].path, s->root, out);
    }
    for (size_t i = 0; i < r->n_files; i++)
        if (!is_now(s, r->files[i].path)) utf8_escape(r->files[i].path, false, out), buf_add(out, STR(": removed\n"));
    buf_clear(&hex);
}
