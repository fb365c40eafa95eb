#include "mcp/host/watch.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/table.h"
#include "base/thread.h"
#include "base/vec.h"
#include "mcp/host/host_private.h"
#include "mcp/wire/uri_template.h"

enum { DEPTH_MAX = 16, FILE_MAX = 4 << 20, QUIET_MS = 100, PATIENCE_MS = 1000, AGAIN_MS = 200, FOLDERS_MAX = 8192, EVENTS_SIZE = 64 << 10 };

typedef struct Folder { int watch; Str path; } Folder;
typedef struct Shown { Str path, uri; } Shown;               /* a file that clients may read */

struct McpWatch {
    McpHost *server;
    pthread_t thread;
    int events, stop;                    /* inotify; an eventfd */
    /* Of the loaded version; used by the thread only. */
    Arena arena;
    VEC(Folder) folders;
    VEC(Str) paths;                      /* absolute: a change below one triggers a reload */
    VEC(Shown) shown;
    uint64_t print;                      /* digest of the files' contents */
    bool stale;                          /* a file changed after the first load had begun */
};

/* ---- watched paths ---- */

static const char *absolute(struct McpWatch *w, Str root, Str path) {
    if (path.n && path.at[0] == '/') return path_normal(&w->arena, path).at;
    return path_normal(&w->arena, str_from(arena_fmt(&w->arena, STR_FMT "/" STR_FMT, STR_ARG(root), STR_ARG(path)))).at;
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Recurses into folders but not links, which may form cycles. */
static bool is_link(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static int by_text(const void *a, const void *b) { return str_cmp(*(const Str *)a, *(const Str *)b); }

static Str parent(Str path) {
    size_t n = path.n;
    while (n > 1 && path.at[n - 1] != '/') n--;
    return str_sub(path, 0, n > 1 ? n - 1 : 1);
}

static void watch_folder(struct McpWatch *w, Table *seen, Str path) {
    if (table_has(seen, path) || w->folders.n >= FOLDERS_MAX) return;
    table_put(seen, path, w);
    int id = inotify_add_watch(w->events, arena_str(&w->arena, path).at,
                               IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
    if (id >= 0) VEC_PUSH(&w->folders, ((Folder){ id, path }));
}

/* Sorted entries of a folder; paths in `arena`. None if it is not a folder. */
static size_t entries(const char *folder, Arena *arena, Str **out) {
    VEC(Str) all = { 0 };
    DIR *d = opendir(folder);
    for (struct dirent *e; d && all.n < FOLDERS_MAX && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) VEC_PUSH(&all, str_from(arena_fmt(arena, "%s/%s", folder, e->d_name)));
    if (d) closedir(d);
    if (all.n) qsort(all.at, all.n, sizeof *all.at, by_text);
    *out = all.at;
    return all.n;
}

/* Watches a folder recursively. */
static void watch_tree(struct McpWatch *w, Table *seen, const char *path, int depth) {
    Str *all;
    if (!is_folder(path) || depth > DEPTH_MAX || (depth && is_link(path))) return;
    watch_folder(w, seen, str_from(path));
    size_t n = entries(path, &w->arena, &all);
    for (size_t i = 0; i < n; i++) watch_tree(w, seen, all[i].at, depth + 1);
    free(all);
}

/* Also watches the nearest existing parent, since a missing path may be created. */
static void watch_path(struct McpWatch *w, Table *seen, const char *path) {
    Str at = str_from(path);
    watch_tree(w, seen, path, 0);
    do at = parent(at);
    while (at.n > 1 && !is_folder(arena_str(&w->arena, at).at));
    watch_folder(w, seen, at);
}

static void add_shown(struct McpWatch *w, Table *seen, const char *path, Str uri) {
    VEC_PUSH(&w->shown, ((Shown){ str_from(path), arena_str(&w->arena, uri) }));
    watch_path(w, seen, path);
}

static void add_listed(struct McpWatch *w, Table *seen, const char *path) {
    Buf uri = { 0 };
    uri_template_file(&uri, str_from(path));
    add_shown(w, seen, path, buf_str(&uri));
    buf_clear(&uri);
}

/* Names and contents of all files: a rewrite with the same content is not a change. */
static void print_tree(const char *path, Arena *arena, int depth, Buf *all) {
    Buf text = { 0 };
    Str *in;
    buf_add(all, str_from(path));
    if (file_read(path, FILE_MAX, &text, NULL)) buf_add_fmt(all, "=%zu:%08x", text.n, hash_bytes(buf_str(&text)));
    buf_add_char(all, 0);
    buf_clear(&text);
    size_t n = depth > DEPTH_MAX || (depth && is_link(path)) ? 0 : entries(path, arena, &in);
    for (size_t i = 0; i < n; i++) print_tree(in[i].at, arena, depth + 1, all);
    if (n) free(in);
}

static uint64_t fingerprint(const Str *paths, size_t n) {
    Buf all = { 0 };
    Arena arena = { 0 };
    for (size_t i = 0; i < n; i++) print_tree(paths[i].at, &arena, 0, &all);
    arena_clear(&arena);
    uint64_t print = ((uint64_t)hash_bytes(buf_str(&all)) << 32) | all.n;
    buf_clear(&all);
    return print;
}

static void forget(struct McpWatch *w) {
    for (size_t i = 0; i < w->folders.n; i++) inotify_rm_watch(w->events, w->folders.at[i].watch);
    VEC_CLEAR(&w->folders);
    VEC_CLEAR(&w->paths);
    VEC_CLEAR(&w->shown);
    arena_clear(&w->arena);
    w->arena = (Arena){ 0 };
}

static void learn(struct McpWatch *w) {
    ServeProject *version = serve_project(w->server);
    const Project *p = runtime_project(version->rt);
    Table seen = { 0 };
    forget(w);
    Str root = arena_str(&w->arena, p->root);
    for (size_t i = 0; i < p->loaded_files.n; i++) {
        const char *path = absolute(w, root, p->loaded_files.at[i]);
        VEC_PUSH(&w->paths, str_from(path));
        watch_path(w, &seen, path);
    }
    for (size_t i = 0; i < p->settings.resources.n; i++) add_listed(w, &seen, absolute(w, root, p->settings.resources.at[i]));
    for (size_t i = 0; i < p->n_resources; i++)
        if (p->resources[i].file.n && p->resources[i].uri.n) add_shown(w, &seen, absolute(w, root, p->resources[i].file), p->resources[i].uri);
    if (w->paths.n) qsort(w->paths.at, w->paths.n, sizeof *w->paths.at, by_text);
    w->print = fingerprint(w->paths.at, w->paths.n);
    table_clear(&seen);
    serve_project_release(w->server, version);
}

/* ---- changes before the first scan ---- */

static bool below(Str path, Str folder) { return str_starts(path, folder) && (path.n == folder.n || path.at[folder.n] == '/'); }

/* True for a watched path, one below it, or a parent of one. */
static bool concerns(const struct McpWatch *w, Str path) {
    for (size_t i = 0; i < w->paths.n; i++)
        if (below(path, w->paths.at[i]) || below(w->paths.at[i], path)) return true;
    return false;
}

static bool is_loaded(struct McpWatch *w, const Project *p, Str path) {
    for (size_t i = 0; i < p->n_files; i++)
        if (str_eq(str_from(absolute(w, p->root, p->files[i].path)), path)) return true;
    return false;
}

static bool changed_after(const struct stat *st, int64_t since_ns) {
    return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec >= since_ns;
}

/* True if a folder got or lost an entry, or a file that was not loaded appeared. */
static bool tree_changed(struct McpWatch *w, const Project *p, const char *path, int depth, int64_t since_ns) {
    struct stat st;
    Str *in;
    if (depth > DEPTH_MAX || lstat(path, &st) < 0) return false;
    if (!S_ISDIR(st.st_mode)) return depth == 0 && changed_after(&st, since_ns) && !is_loaded(w, p, str_from(path));
    if (changed_after(&st, since_ns)) return true;
    Arena arena = { 0 };
    size_t n = entries(path, &arena, &in);
    bool changed = false;
    for (size_t i = 0; i < n && !changed; i++) changed = tree_changed(w, p, in[i].at, depth + 1, since_ns);
    free(in);
    arena_clear(&arena);
    return changed;
}

static bool differs(const char *path, const LoadedFile *f) {
    Buf text = { 0 };
    uint8_t digest[SHA256_BYTES];
    bool ok = file_read(path, FILE_MAX, &text, NULL);
    if (ok) sha256_of(buf_str(&text), digest);
    buf_clear(&text);
    return !ok || memcmp(digest, f->digest, sizeof digest) != 0;
}

/* Compares the files with what the load read. New and removed files show in the times of their folders. */
static bool changed_since(struct McpWatch *w, int64_t since_ns) {
    ServeProject *version = serve_project(w->server);
    const Project *p = runtime_project(version->rt);
    bool changed = false;
    for (size_t i = 0; i < p->n_files && !changed; i++) {
        const char *path = absolute(w, p->root, p->files[i].path);
        changed = concerns(w, str_from(path)) && differs(path, &p->files[i]);        /* files of pulled sources are not watched */
    }
    for (size_t i = 0; i < w->paths.n && !changed; i++) changed = tree_changed(w, p, w->paths.at[i].at, 0, since_ns);
    serve_project_release(w->server, version);
    return changed;
}

/* ---- events ---- */

static void notify_updated(struct McpWatch *w, Str path) {
    for (size_t i = 0; i < w->shown.n; i++)
        if (str_eq(w->shown.at[i].path, path)) serve_broadcast(w->server, STR("notifications/resources/updated"), w->shown.at[i].uri);
}

static bool take_event(struct McpWatch *w, const struct inotify_event *e) {
    const Folder *f = NULL;
    if (e->mask & IN_Q_OVERFLOW) return true;
    for (size_t i = 0; i < w->folders.n && !f; i++)
        if (w->folders.at[i].watch == e->wd) f = &w->folders.at[i];
    if (!f) return false;
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, STR_FMT "%s%s", STR_ARG(f->path), e->len && f->path.n > 1 ? "/" : "", e->len ? e->name : "");
    if (n < 0 || n >= (int)sizeof path) return false;
    if (e->mask & (IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE)) notify_updated(w, str_from(path));
    return concerns(w, str_from(path));
}

/* True if an event concerns the project. */
static bool take_events(struct McpWatch *w) {
    _Alignas(struct inotify_event) char bytes[EVENTS_SIZE];
    bool any = false;
    for (ssize_t n; (n = read(w->events, bytes, sizeof bytes)) > 0;)
        for (char *at = bytes; at < bytes + n;) {
            const struct inotify_event *e = (const struct inotify_event *)at;
            any = take_event(w, e) || any;
            at += sizeof *e + e->len;
        }
    return any;
}

/* Waits for an event. False: stopped. */
static bool wait_for(struct McpWatch *w, int ms, bool *some) {
    struct pollfd fds[] = { { w->stop, POLLIN, 0 }, { w->events, POLLIN, 0 } };
    int n = poll(fds, 2, ms);
    *some = n > 0 && fds[1].revents;
    return (n >= 0 || errno == EINTR) && !fds[0].revents;
}

/* ---- loading ---- */

static void log_problems(const struct McpWatch *w, const Problems *problems, const Error *err) {
    const Log *log = w->server->config.log;
    Buf text = { 0 };
    for (size_t i = 0; i < problems->n; i++) {
        if (problems->at[i].severity != PROBLEM_ERROR) continue;
        buf_reset(&text);
        problem_format(&problems->at[i], &text);
        LOG_WRITE(log, LOG_ERROR, STR_FMT, STR_ARG(buf_str(&text)));
    }
    if (err->kind != ERR_NONE) LOG_WRITE(log, LOG_ERROR, "%s", err->msg);
    LOG_WRITE(log, LOG_WARN, "the previously loaded version stays in use");
    buf_clear(&text);
}

static bool same_files(const Project *a, const Project *b) {
    bool same = a->n_files == b->n_files;
    for (size_t i = 0; same && i < a->n_files; i++)
        same = str_eq(a->files[i].path, b->files[i].path) && memcmp(a->files[i].digest, b->files[i].digest, sizeof a->files[i].digest) == 0;
    return same;
}

/* `maybe`: only time stamps suggest a change. They are coarse, so identical contents are not a change. */
static void reload(struct McpWatch *w, bool maybe) {
    Problems problems = { 0 };
    Error err = { 0 };
    Runtime *rt;
    Agents *agents;
    ServeProject *old = serve_project(w->server);
    bool ok = serve_project_open(&w->server->config, old->rt, &rt, &agents, &problems, &err);
    bool same = ok && maybe && same_files(runtime_project(old->rt), runtime_project(rt));
    serve_project_release(w->server, old);
    if (same) {
        agent_set_free(agents);
        runtime_close(rt);
    } else if (ok) {
        serve_project_set(w->server, rt, agents);
        LOG_WRITE(w->server->config.log, LOG_INFO, "the project has changed and was reloaded");
        serve_broadcast(w->server, STR("notifications/tools/list_changed"), (Str){ 0 });
        serve_broadcast(w->server, STR("notifications/prompts/list_changed"), (Str){ 0 });
        serve_broadcast(w->server, STR("notifications/resources/list_changed"), (Str){ 0 });
    } else {
        log_problems(w, &problems, &err);
    }
    problems_clear(&problems);
}

static bool suspects(struct McpWatch *w) {
    ServeProject *version = serve_project(w->server);
    bool suspect = runtime_suspects(version->rt);
    serve_project_release(w->server, version);
    return suspect;
}

/* Waits until changes stop, since editors write in several steps. If a call could have made the change, waits until no
 * call is running. */
static bool settle(struct McpWatch *w) {
    int64_t since = clock_mono_ns();
    bool some = true;
    while (some && clock_mono_ns() - since < (int64_t)PATIENCE_MS * 1000000) {
        if (!wait_for(w, QUIET_MS, &some)) return false;
        if (some) take_events(w);
    }
    while (suspects(w)) {
        if (!wait_for(w, AGAIN_MS, &some)) return false;
        if (some) take_events(w);
    }
    return true;
}

/* Loads the project again and watches its files. False: a file has changed since the load began, so the loaded project may be older
 * than the state that learn() recorded. */
static bool reload_and_learn(struct McpWatch *w, bool maybe) {
    Arena arena = { 0 };
    size_t n = w->paths.n;
    Str *paths = ARENA_ARRAY(&arena, Str, n + 1);            /* learn() replaces those of `w` */
    for (size_t i = 0; i < n; i++) paths[i] = arena_str(&arena, w->paths.at[i]);
    uint64_t before = fingerprint(paths, n);
    reload(w, maybe);
    learn(w);
    bool same = fingerprint(paths, n) == before;
    arena_clear(&arena);
    return same;
}

static void *watch(void *arg) {
    struct McpWatch *w = arg;
    bool some;
    if (w->stale) {
        if (!settle(w)) return NULL;
        while (!reload_and_learn(w, true)) {}
    }
    while (wait_for(w, -1, &some)) {
        if (!some || !take_events(w)) continue;
        if (!settle(w)) break;
        bool changed = fingerprint(w->paths.at, w->paths.n) != w->print;
        while (changed && !reload_and_learn(w, false)) {}
    }
    return NULL;
}

bool serve_watch_start(McpHost *s, int64_t since_ns, Error *err) {
    struct McpWatch *w = mem_zero(1, sizeof *w);
    w->server = s;
    w->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    bool ok = (w->stop >= 0 && w->events >= 0) || error_set(err, ERR_IO, "inotify: %m");
    if (ok) {
        learn(w);
        w->stale = changed_since(w, since_ns);
    }
    if (ok && thread_start(&w->thread, watch, w) != 0) ok = error_set(err, ERR_IO, "cannot start a thread");
    if (ok) {
        s->watch = w;
        return true;
    }
    forget(w);
    if (w->stop >= 0) close(w->stop);
    if (w->events >= 0) close(w->events);
    free(w);
    return false;
}

void serve_watch_stop(McpHost *s) {
    struct McpWatch *w = s->watch;
    uint64_t one = 1;
    if (!w) return;
    if (write(w->stop, &one, sizeof one) < 0) { /* cannot fail: the eventfd is at most 1 */ }
    pthread_join(w->thread, NULL);
    forget(w);
    close(w->stop);
    close(w->events);
    free(w);
    s->watch = NULL;
}
