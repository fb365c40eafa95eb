#include "store/store.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/fault.h"
#include "base/hash.h"
#include "base/unicode.h"
#include "base/utf8.h"
#include "store/postgres_private.h"
#include "store/sqlite_private.h"
#include "store/store_private.h"

enum { NAME_BYTES = 200 };

/* ---- location ---- */

bool store_state_home(Buf *out, Error *err) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && state[0] == '/') return buf_add(out, str_from(state)), true;
    if (home && home[0] == '/') return buf_add_fmt(out, "%s/.local/state", home), true;
    error_set(err, ERR_CONFIG, "no location for the state file: neither XDG_STATE_HOME nor HOME is set");
    return error_hint(err, "set one of them, or set HARNESS_STATE to a file");
}

static const char *private_folder(Arena *arena, const char *variable, const char *usual) {
    const char *given = getenv(variable), *home = getenv("HOME");
    if (given && given[0] == '/') return arena_fmt(arena, "%s/harness", given);
    return home && home[0] == '/' ? arena_fmt(arena, "%s/%s/harness", home, usual) : NULL;
}

const char *const *store_private_folders(Arena *arena) {
    const char **out = ARENA_ARRAY(arena, const char *, 3);
    size_t n = 0;
    const char *state = private_folder(arena, "XDG_STATE_HOME", ".local/state"), *config = private_folder(arena, "XDG_CONFIG_HOME", ".config");
    if (state) out[n++] = state;
    if (config) out[n++] = config;
    return out;
}

/* The name helps users who list the folder; control characters are left out. */
static void add_name(Buf *out, Str name) {
    for (size_t length; name.n; name = str_sub(name, length, name.n)) {
        uint32_t c = utf8_decode(name, &length);
        bool shown = unicode_is_printable(c) && utf8_valid(str_sub(name, 0, length));
        buf_add(out, shown ? str_sub(name, 0, length) : STR("_"));
    }
}

void store_project_id(Str real_root, Buf *out) {
    static const uint8_t key[16] = { 0 };
    size_t slash = real_root.n;
    while (slash > 0 && real_root.at[slash - 1] != '/') slash--;
    Str name = str_sub(real_root, slash, real_root.n);
    if (!name.n) name = STR("root");
    add_name(out, str_sub(name, 0, NAME_BYTES));
    buf_add_fmt(out, "-%016llx", (unsigned long long)hash_sip24(real_root, key));
}

bool store_default_path(Str project_root, Buf *out, Error *err) {
    const char *given = getenv("HARNESS_STATE");
    buf_reset(out);
    if (given && given[0] && !store_is_url(given)) return buf_add(out, str_from(given)), true;
    char *root = str_dup(project_root), *real = realpath(root, NULL);
    bool ok = real ? store_state_home(out, err) : error_set(err, ERR_IO, "%s: %m", root);
    if (ok) {
        buf_add(out, STR("/harness/"));
        store_project_id(str_from(real), out);
        buf_add(out, STR("/harness.db"));
    }
    free(real);
    free(root);
    return ok;
}

static bool add_project(const StoreLocation *l, Buf *out, Error *err) {
    if (l->project.n) return buf_add(out, l->project), true;
    char *root = str_dup(l->root), *real = realpath(root, NULL);
    if (real) store_project_id(str_from(real), out);
    bool ok = real || error_set(err, ERR_IO, "%s: %m", root);
    free(real);
    free(root);
    return ok;
}

bool store_location(const StoreLocation *l, Buf *out, Error *err) {
    const char *given = l->given && l->given[0] ? l->given : getenv("HARNESS_STATE");
    buf_reset(out);
    if (given && given[0]) buf_add(out, str_from(given));
    else if (l->url && l->url[0]) buf_add(out, str_from(l->url));
    else return store_default_path(l->root, out, err);
    if (!store_is_url(out->at) || strchr(out->at, '#')) return true;
    buf_add_char(out, '#');
    return add_project(l, out, err);
}

/* ---- statements ---- */

StoreQuery store_query(Store *s, StoreSql sql, const char *doing, Error *err) {
    StoreQuery q = { s, NULL, false, doing, err };
    s->driver->prepare(&q, sql);
    return q;
}

bool store_bind(StoreQuery *q, const char *types, ...) {
    if (!q->stmt) return false;
    va_list ap;
    va_start(ap, types);
    bool ok = q->store->driver->bind(q, types, ap);
    va_end(ap);
    return ok;
}

bool store_row(StoreQuery *q, bool *some) {
    if (!q->stmt) return false;
    if (fault_hit()) return error_set(q->err, ERR_IO, "%s: %s: injected fault", q->doing, q->store->name);
    return q->store->driver->row(q, some);
}

bool store_end(StoreQuery *q, bool ok) {
    if (!q->stmt) return false;
    q->store->driver->end(q);
    return ok;
}

bool store_run(StoreQuery *q) {
    bool some;
    return store_end(q, store_row(q, &some));
}

Str store_text(const StoreQuery *q, int column) { return q->store->driver->text(q, column); }
int64_t store_int(const StoreQuery *q, int column) { return q->store->driver->integer(q, column); }
double store_double(const StoreQuery *q, int column) { return q->store->driver->real(q, column); }
int64_t store_changes(Store *s) { return s->driver->changes(s); }

bool store_begin(Store *s, const char *doing, Error *err) {
    StoreQuery q = store_query(s, SQL_BEGIN, doing, err);
    return store_run(&q);
}

bool store_begin_alone(Store *s, const char *doing, Error *err) {
    if (!store_begin(s, doing, err)) return false;
    if (!s->driver->fence) return true;                  /* BEGIN IMMEDIATE has done it */
    StoreQuery q = store_query(s, SQL_ALONE, doing, err);
    return store_run(&q) || store_commit(s, false, doing, err);
}

bool store_commit(Store *s, bool ok, const char *doing, Error *err) {
    if (ok) {
        StoreQuery q = store_query(s, SQL_COMMIT, doing, err);
        if (store_run(&q)) return true;
    }
    s->driver->roll_back(s);
    return false;
}

bool store_begin_fenced(Store *s, Str run, const char *doing, Error *err) {
    if (!s->driver->fence) return true;
    return store_begin(s, doing, err) && (store_fence(s, run, doing, err) || store_commit(s, false, doing, err));
}

bool store_end_fenced(Store *s, bool ok, const char *doing, Error *err) { return s->driver->fence ? store_commit(s, ok, doing, err) : ok; }

bool store_fence(Store *s, Str run, const char *doing, Error *err) { return !s->driver->fence || s->driver->fence(s, run, doing, err); }

bool store_no_such(const char *what, Str key, Error *err) {
    return error_set(err, ERR_VALIDATION, "no such %s: " STR_FMT, what, STR_ARG(key));
}

/* ---- opening ---- */

void store_init(Store *s, const StoreDriver *driver, const char *kind, const char *place) {
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&s->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    s->driver = driver;
    if (asprintf(&s->name, "%s %s", kind, place) < 0) abort();
    store_queue_init(&s->queue);
}

bool store_open(const char *location, bool sync_full, Store **out, Error *err) {
    return store_is_url(location) ? postgres_open(location, out, err) : sqlite_open(location, sync_full, out, err);
}

void store_close(Store *s) {
    if (!s) return;
    store_queue_close(s);
    s->driver->close(s);
    pthread_mutex_destroy(&s->lock);
    free(s->name);
    free(s);
}
