#include "tool/protect/record.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "sandbox/view.h"
#include "store/store.h"
#include "tool/protect/confine.h"

static void make_folder(const char *path) {
    char *p = mem_dup(path, strlen(path));
    for (char *c = p + 1; *c; c++)
        if (*c == '/') *c = 0, (void)mkdir(p, 0700), *c = '/';
    (void)mkdir(p, 0700);
    free(p);
}

/* A missing home folder (a service's /nonexistent) is not created. */
static bool has_home(void) {
    struct stat st;
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    return (state && state[0] == '/') || (home && stat(home, &st) == 0 && S_ISDIR(st.st_mode));
}

/* …/harness/PROJECT-ID/harness.db → …/harness/rules: one for all projects, so that ephemeral ones leave no folders. */
static void default_place(Buf *out) {
    if (!has_home() || !store_default_path(STR("/"), out, NULL)) return buf_reset(out);
    for (int i = 0; i < 2; i++)
        while (out->n && out->at[--out->n] != '/') {}
    buf_add(out, STR("/rules"));
}

/* True if the folder is writable or can be created. */
static bool can_be_made(const char *path) {
    char *p = mem_dup(path, strlen(path));
    struct stat st;
    for (char *slash; stat(p, &st) != 0 && errno == ENOENT && (slash = strrchr(p, '/'));) *(slash == p ? slash + 1 : slash) = 0;
    bool ok = stat(p, &st) == 0 && S_ISDIR(st.st_mode) && faccessat(AT_FDCWD, p, W_OK | X_OK, AT_EACCESS) == 0;
    free(p);
    return ok;
}

void record_places(const char *state, RecordPlaces *out) {
    Buf first = { 0 }, second = { 0 };
    char here[PATH_MAX];
    if (!state || !state[0]) state = getenv("HARNESS_STATE");
    if (state && state[0] && !store_is_url(state)) {
        if (state[0] != '/' && getcwd(here, sizeof here)) buf_add_fmt(&first, "%s/", here);
        buf_add_fmt(&first, "%s-rules", state);
    } else {
        default_place(&first);
    }
    if (!first.n || !can_be_made(first.at)) buf_add_fmt(&second, "/tmp/harness-%u/rules", (unsigned)geteuid());
    *out = (RecordPlaces){ { first.n ? buf_take(&first) : NULL, second.n ? buf_take(&second) : NULL } };
    buf_clear(&first);
}

void record_places_clear(RecordPlaces *p) {
    for (size_t i = 0; i < RECORD_FOLDERS; i++) free(p->at[i]);
    *p = (RecordPlaces){ 0 };
}

bool record_is_ours(const RecordPlaces *p, size_t i) {
    struct stat st;
    char above[PATH_MAX];
    const char *path = p->at[i], *slash = strrchr(path, '/');
    if (i == 0) return true;
    snprintf(above, sizeof above, "%.*s", (int)(slash - path), path);
    return lstat(above, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 022) == 0;
}

static bool look(const RecordPlaces *p, MarkLook l, Error *err) {
    for (size_t i = 0; i < RECORD_FOLDERS; i++) {
        l.folder = p->at[i];
        if (p->at[i] && record_is_ours(p, i) && !mark_look(&l, err)) return false;
    }
    return true;
}

/* ---- loading ---- */

typedef struct Holds { int fd[RECORD_FOLDERS]; } Holds;

static void release(Holds *h) {
    for (size_t i = 0; i < RECORD_FOLDERS; i++) mark_release(h->fd[i]);
}

static bool hold_shared(const RecordPlaces *p, const char *root, bool reading, Holds *h, Error *err) {
    MarkHold how = reading ? MARK_SHARED : MARK_SHARED_MAKE;
    bool ok = true;
    for (size_t i = 0; i < RECORD_FOLDERS; i++) h->fd[i] = -1;
    for (size_t i = 0; ok && i < RECORD_FOLDERS; i++) ok = !p->at[i] || !record_is_ours(p, i) || mark_hold(p->at[i], root, how, &h->fd[i], err);
    if (!ok) release(h);
    return ok;
}

/* Without a lock, another process may have started work in that folder in the meantime. */
static bool held_all(const RecordPlaces *p, const char *root, const Holds *h, Error *err) {
    for (size_t i = 0; i < RECORD_FOLDERS; i++) {
        int fd = -1;
        if (h->fd[i] >= 0 || !p->at[i] || !record_is_ours(p, i)) continue;
        if (!mark_hold(p->at[i], root, MARK_SHARED, &fd, err)) return false;
        mark_release(fd);
        if (fd >= 0) {
            error_set(err, ERR_SANDBOX, "another harness started work in %s while the project was being loaded", root);
            return error_hint(err, "try again");
        }
    }
    return true;
}

/* A file of -c or --tools may be read from the disk only if no running call could write it: the call's record lists the file as protected. Calls
 * with sandbox.allow_self_edit protect no files of the project. */
static bool file_is_known(const Project *p, const char *flag, Str file, const View *view, Error *err) {
    ViewEntry e;
    if (view_find(view, p->root.at, file, &e)) return true;
    error_set(err, ERR_SANDBOX, "%s " STR_FMT ": another harness is running a call here that could write this file", flag, STR_ARG(file));
    return error_hint(err, "wait until the call has ended; from then on the file is protected from calls without %s too", flag);
}

static bool named_is_known(const Project *p, const ProjectInput *in, const View *view, Error *err) {
    ViewEntry e;
    char real[PATH_MAX];
    if (view->n == 0 || !view_find(view, p->root.at, STR("harness.md"), &e)) return true;
    if (in->config && !file_is_known(p, "-c", p->settings.file, view, err)) return false;
    if (!in->tools || !realpath(in->tools, real) || !str_starts(str_from(real), p->root) || real[p->root.n] != '/') return true;
    return file_is_known(p, "--tools", str_from(real + p->root.n + 1), view, err);
}

/* Notes the files of -c and --tools, so that they stay protected. A command that only reads may be unable to write the note. */
static bool note_named(const RecordDoor *d, const ProjectInput *in, const Project *p, Error *err) {
    Arena arena = { 0 };
    Error why = { 0 };
    if (!in->config && !in->tools) return true;
    const char *folder = record_folder(d->places, confine_reach(p, &arena), &why);
    bool ok = !folder || record_note_config(folder, p, in->tools, &why);
    arena_clear(&arena);
    if (!ok && !d->reading) *err = why;
    return ok || d->reading;
}

typedef enum { LOADED, NOT_LOADED, AGAIN } Loading;

static Loading load_held(const RecordDoor *d, const ProjectInput *in, const char *root, Project **out, Problems *problems, Error *err) {
    View view = { 0 }, drafted = { 0 };
    Snapshot draft = { .nowhere = { .top = -1 } };
    Holds holds;
    ProjectInput with = *in;
    Error late = { 0 };
    MarkLook l = { .root = root, .workspace = root, .purpose = d->reading ? MARK_READ : MARK_RECOVER, .view = &view, .told = d->told };
    if (!hold_shared(d->places, root, d->reading, &holds, err)) return NOT_LOADED;
    bool ok = look(d->places, l, err) && (d->n_drafts == 0 || draft_take(root, d->drafts, d->n_drafts, &view, &draft, err));
    if (ok && d->n_drafts) {
        VEC_PUSH(&drafted, draft);                        /* first: it is authoritative for what it covers */
        for (size_t i = 0; i < view.n; i++) VEC_PUSH(&drafted, view.at[i]);
    }
    with.view = drafted.n ? &drafted : view.n ? &view : NULL;
    ok = ok && project_load(&with, out, problems);
    release(&holds);
    bool again = !held_all(d->places, root, &holds, &late);
    ok = ok && !again && named_is_known(*out, in, &view, err) && note_named(d, in, *out, err);
    if (!ok) {
        project_free(*out);
        *out = NULL;
    }
    VEC_CLEAR(&drafted);                                  /* its snapshots are those below */
    snapshot_clear(&draft);
    view_clear(&view);
    return ok ? LOADED : again && err->kind == ERR_NONE ? (*err = late, AGAIN) : NOT_LOADED;
}

/* The first attempt may fail because another process starts its very first call in this folder. */
static bool load_twice(const RecordDoor *d, const ProjectInput *in, const char *root, Project **out, Problems *problems, Error *err) {
    Problems first = { 0 };
    Loading loading = load_held(d, in, root, out, &first, err);
    if (loading == AGAIN) {
        problems_clear(&first);
        *err = (Error){ 0 };
        loading = load_held(d, in, root, out, &first, err);
    }
    if (problems->n == 0 && problems->errors == 0) {
        problems_clear(problems);
        *problems = first;
    } else {
        for (size_t i = 0; i < first.n; i++) problems_copy(problems, &first.at[i]);
        problems_clear(&first);
    }
    return loading == LOADED;
}

bool record_load(const RecordDoor *d, const ProjectInput *in, Project **out, Problems *problems, Error *err) {
    char root[PATH_MAX];
    *out = NULL;
    if (!project_root(in, root)) return project_load(in, out, problems);       /* project_load reports the problem */
    if (d->ask && !d->reading) {                          /* before taking the lock: the user may take long to answer */
        MarkLook l = { .root = root, .workspace = root, .purpose = MARK_RECOVER, .ask = d->ask, .ask_ctx = d->ask_ctx, .told = d->told };
        if (!look(d->places, l, err)) return false;
    }
    return load_twice(d, in, root, out, problems, err);
}

bool record_waiting(const RecordPlaces *p, const char *root, Buf *told, Buf *diff, Error *err) {
    return look(p, (MarkLook){ .root = root, .workspace = root, .purpose = MARK_READ, .told = told, .diff = diff }, err);
}

void record_displaced(const RecordPlaces *p, DisplacedEach *each, void *ctx) {
    for (size_t i = 0; i < RECORD_FOLDERS; i++)
        if (p->at[i] && record_is_ours(p, i)) displaced_list(p->at[i], each, ctx);
}

/* Other entries, such as those of copies that are in use, belong to the calls that recorded them. */
static bool put_right(Snapshot *s, const RecordCopying *k, bool git, Error *err) {
    char path[PATH_MAX];
    SnapshotCheck c = { .workspace = str_from(k->to) };
    snprintf(path, sizeof path, "%s/.git", k->from);
    if (!git) snapshot_forget(s, path);
    snapshot_move(s, k->from, k->to);
    snapshot_only(s, k->to);
    snapshot_verify(s, &c);
    if (c.failed) error_set(err, ERR_SANDBOX, "a call in another harness changed the files that were copied: %s", buf_str(&c.text).at);
    buf_clear(&c.text);
    return !c.failed;
}

/* A .git that is a file names a repository elsewhere, and is not copied. */
static bool has_git(const RecordCopying *k) {
    char path[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s/.git", k->from);
    return k->git && lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool record_copy(const RecordCopying *k, RecordCopy *copy, void *ctx, Error *err) {
    const char *root = k->root;
    RecordPlaces places;
    View view = { 0 };
    Holds holds;
    Buf told = { 0 };
    record_places(NULL, &places);
    bool held = hold_shared(&places, root, false, &holds, err);
    bool ok = held && look(&places, (MarkLook){ .root = root, .workspace = root, .purpose = MARK_BEGIN, .view = &view, .told = &told }, err) && copy(ctx, err);
    for (size_t i = 0; ok && i < view.n; i++) ok = put_right(&view.at[i], k, has_git(k), err);
    if (held) release(&holds);
    ok = ok && held_all(&places, root, &holds, err);
    view_clear(&view);
    buf_clear(&told);
    record_places_clear(&places);
    return ok;
}

/* ---- starting work ---- */

/* A folder's modification time is conclusive only after the file system's clock has advanced. */
static bool changed_at(const char *folder, struct timespec *out) {
    enum { TICK_NS = 50000000, SECOND_NS = 1000000000 };
    struct stat st;
    struct timespec now;
    if (stat(folder, &st) != 0) return false;
    clock_gettime(CLOCK_REALTIME, &now);
    *out = st.st_mtim;
    int64_t age = (now.tv_sec - st.st_mtim.tv_sec) * SECOND_NS + now.tv_nsec - st.st_mtim.tv_nsec;
    return age > (st.st_mtim.tv_nsec == 0 ? (int64_t)3 * SECOND_NS : TICK_NS);
}

static bool look_before_work(const RecordWork *w, const Mark *own, View *view, Error *err) {
    for (size_t i = 0; i < RECORD_FOLDERS; i++) {
        RecordSeen *seen = &w->seen[i];
        struct timespec changed = { 0 };
        size_t found = 0;
        if (!w->places->at[i] || !record_is_ours(w->places, i)) continue;
        bool settled = changed_at(w->places->at[i], &changed);
        if (seen->none && seen->changed.tv_sec == changed.tv_sec && seen->changed.tv_nsec == changed.tv_nsec) continue;
        MarkLook l = { .folder = w->places->at[i], .root = w->root, .workspace = w->workspace, .own = own, .purpose = MARK_BEGIN,
            .view = view, .told = w->told, .found = &found };
        if (!mark_look(&l, err)) return false;
        *seen = (RecordSeen){ settled && found == 0, changed };
    }
    return true;
}

/* The folder of a queued run (cli/queue_folder.h) belongs to the process of that run, which removes it at the end: no other call can write there. */
static void forget_copies(View *view) {
    Buf path = { 0 };
    char real[PATH_MAX];
    if (view->n && store_state_home(&path, NULL)) {
        buf_add(&path, STR("/harness-runs"));
        for (size_t i = 0; realpath(path.at, real) && i < view->n; i++) snapshot_forget(&view->at[i], real);
    }
    buf_clear(&path);
}

static bool begin_held(const RecordWork *w, Mark **mark, Protect **protect, Error *edited, Error *err) {
    View view = { 0 };
    Protect *now = NULL;
    bool ok = look_before_work(w, *mark, &view, err);
    forget_copies(&view);
    if (ok && !*mark) ok = mark_new(w->folder, w->root, mark, err) && sandbox_hold(w->sandbox, mark_fd(*mark), err);
    bool same = ok && *protect && view.n == 0 && protect_same(*protect, edited);
    if (ok && !same) {
        ok = protect_new(w->workspace, w->paths, view.n ? &view : NULL, &now, err);
        if (ok) protect_displaced(now, w->folder, w->root);
        ok = ok && protect_record(now, *mark, err);
    }
    ok = ok && mark_set(*mark, true, err);
    if (ok && now) {
        protect_free(*protect);
        *protect = now;
    } else {
        protect_free(now);
    }
    view_clear(&view);
    return ok;
}

bool record_begin(const RecordWork *w, Mark **mark, Protect **protect, Error *edited, Error *err) {
    Holds holds;
    bool ok = true;
    for (size_t i = 0; i < RECORD_FOLDERS; i++) holds.fd[i] = -1;
    for (size_t i = 0; ok && i < RECORD_FOLDERS; i++) {
        bool own = w->places->at[i] && strcmp(w->places->at[i], w->folder) == 0;
        if (own || (w->places->at[i] && record_is_ours(w->places, i) && access(w->places->at[i], W_OK) == 0))
            ok = mark_hold(w->places->at[i], w->root, MARK_ALONE, &holds.fd[i], own ? err : NULL) || !own;
    }
    ok = ok && begin_held(w, mark, protect, edited, err);
    release(&holds);
    return ok;
}

/* ---- the folder for our mark ---- */

static bool within(const char *path, const char *const *reach) {
    for (; reach && *reach; reach++) {
        size_t n = strlen(*reach);
        if (n == 1 || (strncmp(path, *reach, n) == 0 && (path[n] == '/' || path[n] == 0))) return true;
    }
    return false;
}

/* Creates no folder inside a place that tools can reach. */
const char *record_folder(const RecordPlaces *p, const char *const *reach, Error *err) {
    char real[PATH_MAX];
    const char *inside = NULL;
    for (size_t i = 0; i < RECORD_FOLDERS; i++) {
        if (!p->at[i]) continue;
        if (within(p->at[i], reach)) {
            inside = p->at[i];
            continue;
        }
        make_folder(p->at[i]);
        if (!realpath(p->at[i], real) || access(real, W_OK | X_OK) != 0 || !record_is_ours(p, i)) continue;
        if (!within(real, reach)) return p->at[i];
        inside = p->at[i];
    }
    if (inside) error_set(err, ERR_SANDBOX, "cannot record running calls: %s is in a folder that tools can write", inside);
    else error_set(err, ERR_SANDBOX, "cannot record running calls: %s is not writable", p->at[0] ? p->at[0] : p->at[1]);
    error_hint(err, "set HARNESS_STATE to a file in a writable folder outside of the workspace");
    return NULL;
}
