/* The files of the project that are its policy, and tests that are saved into it. No link is followed: the files lie in a folder that other programs
 * can write. */
#include "doors/console_private.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/utf8.h"
#include "doors/policy_files.h"

enum { FILES_MAX = 1000, DEPTH_MAX = 8, FILE_MAX = 1 << 20, NAME_MAX_BYTES = 64 };

static int open_root(Console *console, Error *err) {
    char *root = str_dup(console->config->root);
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) error_set(err, ERR_IO, "%s: %m", root);
    free(root);
    return fd;
}

/* ---- the list ---- */

typedef struct Listing { Buf out; size_t n; } Listing;

static void add_file(Listing *l, Str path, int64_t bytes) {
    buf_add(&l->out, l->n++ ? STR(",{\"path\":") : STR("{\"path\":"));
    json_write_string(&l->out, path, false);
    buf_add_fmt(&l->out, ",\"bytes\":%lld}", (long long)bytes);
}

static void list_folder(Listing *l, int parent, const char *name, Str path, int depth) {
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir && fd >= 0) close(fd);
    for (struct dirent *e; dir && l->n < FILES_MAX && (e = readdir(dir));) {
        struct stat st;
        Buf below = { 0 };
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
        buf_add_fmt(&below, STR_FMT "/%s", STR_ARG(path), e->d_name);
        if (S_ISREG(st.st_mode)) add_file(l, buf_str(&below), st.st_size);
        else if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX) list_folder(l, fd, e->d_name, buf_str(&below), depth + 1);
        buf_clear(&below);
    }
    if (dir) closedir(dir);
}

void console_files(ConsoleCall *c) {
    Error err = { 0 };
    Listing l = { 0 };
    int root = open_root(c->console, &err);
    if (root < 0) return console_fail(c, &err);
    buf_add_char(&l.out, '[');
    for (const char *const *name = policy_files_top; *name; name++) {
        struct stat st;
        if (fstatat(root, *name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) add_file(&l, str_from(*name), st.st_size);
    }
    list_folder(&l, root, ".harness", STR(".harness"), 0);
    close(root);
    buf_add_char(&l.out, ']');
    console_reply(c, 200, &l.out);
}

/* ---- one file ---- */

/* Opens a path below the root, folder by folder. -1: errno. */
static int open_below(int root, Str path) {
    int at = dup(root);
    while (at >= 0) {
        ptrdiff_t slash = str_find_char(path, '/');
        Str part = slash < 0 ? path : str_sub(path, 0, (size_t)slash);
        if (!part.n || str_eq(part, STR(".")) || str_eq(part, STR(".."))) return close(at), errno = ENOENT, -1;
        char *name = str_dup(part);
        int next = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (slash < 0 ? 0 : O_DIRECTORY));
        free(name);
        close(at);
        if (slash < 0) return next;
        at = next;
        path = str_sub(path, (size_t)slash + 1, path.n);
    }
    return -1;
}

static bool read_file(int fd, Buf *out, Error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return error_set(err, ERR_VALIDATION, "there is no such file");
    if (st.st_size > FILE_MAX) return error_set(err, ERR_VALIDATION, "the file has more than %d bytes", FILE_MAX);
    for (ssize_t n = 1; n > 0 && out->n <= FILE_MAX;) {
        char *room = buf_room(out, 1 << 16);
        n = read(fd, room, 1 << 16);
        if (n < 0) return error_set(err, ERR_IO, "read: %m");
        buf_commit(out, (size_t)n);
    }
    return utf8_valid(buf_str(out)) || error_set(err, ERR_VALIDATION, "the file is not text in UTF-8");
}

static void reply_file(ConsoleCall *c, Str path, Str text) {
    const ConsoleConfig *config = c->console->config;
    Buf out = { 0 }, masked = { 0 };
    buf_add(&out, STR("{\"path\":"));
    json_write_string(&out, path, false);
    console_add_member(&out, "text", text);
    buf_add_char(&out, '}');
    buf_add(&masked, buf_str(&out));
    if (config->hide) config->hide(config->ctx, &masked);
    bool same = str_eq(buf_str(&out), buf_str(&masked));
    out.n--;
    buf_add_fmt(&out, ",\"redacted\":%s}", same ? "false" : "true");
    buf_clear(&masked);
    console_reply(c, 200, &out);
}

void console_file(ConsoleCall *c) {
    Error err = { 0 };
    Buf text = { 0 };
    Str path = http_server_query(c->q, STR("path"));
    int root = policy_files_has(path) ? open_root(c->console, &err) : -1, fd = root < 0 ? -1 : open_below(root, path);
    bool ok = fd >= 0 ? read_file(fd, &text, &err) : err.kind != ERR_NONE ? false : error_set(&err, ERR_VALIDATION, "there is no such file");
    if (ok) reply_file(c, path, buf_str(&text));
    else console_fail(c, &err);
    if (fd >= 0) close(fd);
    if (root >= 0) close(root);
    buf_clear(&text);
}

/* ---- tests ---- */

static bool is_test_name(Str s) {
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", s.at[i]) || !s.at[i]) return false;
    return s.n > 0 && s.n <= NAME_MAX_BYTES && s.at[0] != '-';
}

/* What is called or judged, and the members of `expect`: JSON, which is YAML too. */
static bool test_text(ConsoleCall *c, Buf *out, Error *err) {
    Value call = value_member(c->body, "call"), guard = value_member(c->body, "guard"), expect = value_member(c->body, "expect");
    bool calls = value_is_dict(call), guards = value_is_dict(guard);
    if (calls == guards) return error_set(err, ERR_VALIDATION, "a test has either \"call\" or \"guard\", an object");
    if (calls && !value_member_text(call, "tool").n) return error_set(err, ERR_VALIDATION, "\"call\" has no \"tool\"");
    if (!value_is_dict(expect) || (guards && value_dict(expect)->n == 0))    /* a call without members of `expect` must succeed */
        return error_set(err, ERR_VALIDATION, "\"expect\" is not an object with what must come of it");
    Dict *d = dict_new(c->heap, 8, err);
    Entry *e;
    if (!d || !dict_put_str(c->heap, d, calls ? STR("call") : STR("guard"), calls ? call : guard, err)) return false;
    for (uint32_t i = 0; dict_next(value_dict(expect), &i, &e);) {
        Str key = value_str(e->key);
        if (str_eq(key, STR("call")) || str_eq(key, STR("guard"))) return error_set(err, ERR_VALIDATION, "\"expect\" may not have \"" STR_FMT "\"", STR_ARG(key));
        if (!dict_put_str(c->heap, d, key, e->value, err)) return false;
    }
    return json_write(out, value_from_object(d), &(JsonWrite){ .indent = 2 }, err) && (buf_add_char(out, '\n'), true);
}

static int open_tests(int root, Error *err) {
    int harness = -1, tests = -1;
    if (mkdirat(root, ".harness", 0777) != 0 && errno != EEXIST) return error_set(err, ERR_IO, "make .harness: %m"), -1;
    harness = openat(root, ".harness", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (harness >= 0 && (mkdirat(harness, "tests", 0777) == 0 || errno == EEXIST))
        tests = openat(harness, "tests", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (tests < 0) error_set(err, ERR_IO, "open .harness/tests: %m");
    if (harness >= 0) close(harness);
    return tests;
}

/* *exists: a test has that name already. */
static bool write_test(ConsoleCall *c, Str name, Str text, bool *exists, Error *err) {
    int root = open_root(c->console, err), tests = root < 0 ? -1 : open_tests(root, err);
    Buf file = { 0 }, other = { 0 };
    struct stat st;
    buf_add_fmt(&file, STR_FMT ".yaml", STR_ARG(name));
    buf_add_fmt(&other, STR_FMT ".md", STR_ARG(name));
    *exists = tests >= 0 && fstatat(tests, other.at, &st, AT_SYMLINK_NOFOLLOW) == 0;
    int fd = tests < 0 || *exists ? -1 : openat(tests, file.at, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0 && tests >= 0 && errno == EEXIST) *exists = true;
    bool ok = fd >= 0 && file_write(fd, text);
    if (*exists) error_set(err, ERR_POLICY, "the test " STR_FMT " exists already: choose another name", STR_ARG(name));
    else if (!ok && tests >= 0) error_set(err, ERR_IO, "write .harness/tests/%s: %m", file.at);
    if (fd >= 0) close(fd);
    if (fd >= 0 && !ok) unlinkat(tests, file.at, 0);
    if (tests >= 0) close(tests);
    if (root >= 0) close(root);
    buf_clear(&file);
    buf_clear(&other);
    return ok;
}

void console_test(ConsoleCall *c) {
    static const char *const known[] = { "name", "call", "guard", "expect", NULL };
    Error err = { 0 };
    Buf text = { 0 }, out = { 0 };
    Str name;
    bool exists = false;
    bool ok = console_body_known(c, known, &err) && console_body_text(c, "name", NAME_MAX_BYTES, &name, &err);
    if (ok && !is_test_name(name)) ok = error_set(&err, ERR_VALIDATION, "\"name\" is not a name of letters, digits, - and _");
    ok = ok && test_text(c, &text, &err) && write_test(c, name, buf_str(&text), &exists, &err);
    if (ok) {
        buf_add_fmt(&out, "{\"file\":\".harness/tests/" STR_FMT ".yaml\"}", STR_ARG(name));
        console_reply(c, 201, &out);
    } else if (exists) console_fail_with(c, 409, &err);
    else console_fail(c, &err);
    buf_clear(&text);
}
