/* A new run that begins with the events of another one. It shares nothing with that run: artifacts get new keys, and questions are not copied. */
#include "base/arena.h"
#include "base/clock.h"
#include "base/table.h"
#include "base/vec.h"
#include "store/store_private.h"

typedef struct Forking { Store *s; const StoreFork *f; Error *err; Arena arena; Table keys; int64_t from, to; StoreForked *out; } Forking;

/* Finds the event that ended the turn. */
static bool find_end(Forking *k) {
    StoreQuery q = store_query(k->s, SQL_FORK_END, "fork run", k->err);
    bool some = false, ok = store_bind(&q, "iii", store_event_id(k->from, 0), store_event_id(k->from, UINT32_MAX), k->f->turn) && store_row(&q, &some);
    if (ok && some) k->out->last = (uint64_t)store_int(&q, 0), k->out->turn = store_int(&q, 1);
    ok = store_end(&q, ok);
    if (!ok || k->out->last) return ok;
    if (!k->f->turn) return error_set(k->err, ERR_VALIDATION, "run " STR_FMT " has no turn that ended", STR_ARG(k->f->from));
    error_set(k->err, ERR_VALIDATION, "run " STR_FMT " has no turn %lld that ended", STR_ARG(k->f->from), (long long)k->f->turn);
    return error_hint(k->err, "harness runs show lists its turns: the first prompt is turn 1");
}

/* ---- artifacts ---- */

static bool copy_artifact(Forking *k, Str old) {
    bool ok = true, fresh = false;
    for (int i = 0; ok && !fresh && i < STORE_KEY_TRIES; i++) {
        char *key = (char *)arena_zero(&k->arena, STORE_KEY_SIZE, 1);
        store_artifact_key(key);
        StoreQuery q = store_query(k->s, SQL_ARTIFACT_COPY, "fork run", k->err);
        ok = store_end(&q, store_bind(&q, "sss", str_from(key), k->f->id, old) && store_row(&q, &(bool){ 0 }));
        fresh = ok && store_changes(k->s) == 1;
        if (fresh) table_put(&k->keys, old, key);
    }
    return ok && (fresh || error_set(k->err, ERR_INTERNAL, "fork run: every generated key is in use"));
}

static bool copy_artifacts(Forking *k) {
    VEC(Str) old = { 0 };
    StoreQuery q = store_query(k->s, SQL_ARTIFACT_KEYS, "fork run", k->err);
    bool some = true, ok = store_bind(&q, "s", k->f->from);
    while (ok && some && (ok = store_row(&q, &some)) && some) VEC_PUSH(&old, arena_str(&k->arena, store_text(&q, 0)));
    ok = store_end(&q, ok);
    for (size_t i = 0; ok && i < old.n; i++) ok = copy_artifact(k, old.at[i]);
    VEC_CLEAR(&old);
    return ok;
}

/* Keys are letters and digits, so they are the same in JSON. */
static void add_renamed(const Forking *k, Str text, Buf *out) {
    enum { KEY = STORE_KEY_SIZE - 1 };
    size_t plain = 0;
    for (size_t i = 0; i + KEY <= text.n; i++) {
        if (text.at[i] != 'a' || memcmp(text.at + i, "art_", 4) != 0) continue;
        const char *key = table_get(&k->keys, str_sub(text, i, i + KEY));
        if (!key) continue;
        buf_add(out, str_sub(text, plain, i));
        buf_add(out, str_from(key));
        plain = i + KEY;
        i = plain - 1;
    }
    buf_add(out, str_sub(text, plain, text.n));
}

/* ---- events ---- */

static bool add_origin(Forking *k, StoreWriter *w) {
    Buf data = { 0 };
    event_data_start(&data);
    event_data_str(&data, "from", k->f->from);
    event_data_int(&data, "turn", k->out->turn);
    event_data_int(&data, "last", (int64_t)k->out->last);
    event_data_end(&data);
    Event e = { .seq = w->last + 1, .time_ns = clock_wall_ns(), .run = k->f->id, .agent = k->f->agent, .type = STR("run.forked"), .data = buf_str(&data) };
    bool ok = store_writer_add(k->s, w, &e, k->err);
    buf_clear(&data);
    return ok;
}

typedef struct Copying { Forking *k; StoreWriter w; Buf data; bool ok; } Copying;

static bool copy_event(void *ctx, const Event *e, Str hash) {
    Copying *c = ctx;
    Event copy = *e;
    (void)hash;
    buf_reset(&c->data);
    add_renamed(c->k, e->data, &c->data);
    copy.run = c->k->f->id;
    copy.data = buf_str(&c->data);
    return c->ok = store_writer_add(c->k->s, &c->w, &copy, c->k->err);
}

static bool copy_events(Forking *k) {
    Copying c = { .k = k, .ok = true };
    if (!store_writer_open(k->s, k->f->id, &c.w, k->err)) return false;
    k->to = c.w.n;
    bool ok = store_event_walk(k->s, store_event_id(k->from, 0), store_event_id(k->from, k->out->last), "fork run", copy_event, &c, k->err) && c.ok;
    ok = ok && add_origin(k, &c.w) && store_writer_close(k->s, &c.w, k->err);
    buf_clear(&c.data);
    return ok;
}

/* ---- the rest ---- */

static bool copy_notes(Forking *k, const char *kind) {
    StoreQuery q = store_query(k->s, SQL_FORK_NOTES, "fork run", k->err);
    return store_end(&q, store_bind(&q, "sss", k->f->id, k->f->from, str_from(kind)) && store_row(&q, &(bool){ 0 }));
}

/* Copies the commands that the copied events have handled, so that later ones continue their numbers. */
static bool copy_commands(Forking *k) {
    StoreQuery q = store_query(k->s, SQL_FORK_COMMANDS, "fork run", k->err);
    return store_end(&q, store_bind(&q, "ssii", k->f->id, k->f->from, store_event_id(k->to, 0), store_event_id(k->to, UINT32_MAX)) &&
                             store_row(&q, &(bool){ 0 }));
}

static bool copy_tasks(Forking *k) {
    StoreQuery q = store_query(k->s, SQL_TASK_ENDED, "fork run", k->err);
    bool some = true, ok = store_bind(&q, "s", k->f->from);
    Buf result = { 0 };
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        buf_reset(&result);
        add_renamed(k, store_text(&q, 3), &result);
        ok = store_task_write(k->s, k->f->id, store_text(&q, 0), store_text(&q, 1), store_text(&q, 2), buf_str(&result), k->err);
    }
    buf_clear(&result);
    return store_end(&q, ok);
}

/* No process holds the new run yet: it is resumed like any other. */
static bool insert_run(Forking *k) {
    StoreQuery q = store_query(k->s, SQL_FORK_RUN, "fork run", k->err);
    return store_end(&q, store_bind(&q, "ssis", k->f->id, k->f->agent, clock_wall_ns(), k->f->from) && store_row(&q, &(bool){ 0 }));
}

static bool fork_run(Forking *k) {
    if (!store_run_number(k->s, k->f->from, &k->from, k->err)) return false;
    if (!k->from) return store_no_such("run", k->f->from, k->err);
    return find_end(k) && insert_run(k) && copy_artifacts(k) && copy_events(k) && copy_notes(k, "items:") && copy_notes(k, "media:") && copy_commands(k) &&
           copy_tasks(k);
}

bool store_run_fork(Store *s, const StoreFork *f, StoreForked *out, Error *err) {
    Forking k = { .s = s, .f = f, .err = err, .out = out };
    *out = (StoreForked){ 0 };
    if (!store_flush(s, err)) return false;
    store_lock(s);
    bool ok = store_begin(s, "fork run", err);
    if (ok) ok = store_commit(s, fork_run(&k), "fork run", err);
    table_clear(&k.keys);
    arena_clear(&k.arena);
    return store_unlock(s, ok);
}
