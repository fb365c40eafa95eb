/* Moves a state file into a database: everything, in one transaction. Numbers and hashes of events stay the same. */
#include "base/table.h"
#include "store/postgres_private.h"
#include "store/sqlite_private.h"

enum { CHUNK_BYTES = 256 << 10 };

/* `types` are those of store_bind for the columns of `select`, in the order of `insert`. */
typedef struct Part { const char *name, *select, *insert, *types; } Part;

#define OWN "INSERT INTO harness."
static const Part parts[] = {
    { "tasks", "SELECT run, task, tool, status, result FROM tasks",
      OWN "tasks (tenant, project, run, task, tool, status, result) VALUES ($1, $2, $4, $5, $6, $7, $8)", "sssss" },
    { "hooks", "SELECT hook, calls, blocks, errors, ns FROM hooks",
      OWN "hooks (tenant, project, hook, calls, blocks, errors, ns) VALUES ($1, $2, $4, $5, $6, $7, $8)", "siiii" },
    { "notes", "SELECT scope, key, text FROM notes WHERE scope <> 'oauth'",
      OWN "notes (tenant, project, scope, key, text) VALUES ($1, $2, $4, $5, $6)", "sss" },
    { "approvals", "SELECT id, run, call, tool, args, args_hash, why, rule, asked, expires, state, answer, by FROM approvals",
      OWN "approvals (tenant, project, id, run, call, tool, args, args_hash, why, rule, asked, expires, state, answer, by) "
      "VALUES ($1, $2, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)", "ssssssssiisss" },
    { "commands", "SELECT run, n, kind, body, by FROM commands",
      OWN "commands (tenant, project, run, n, kind, body, by) VALUES ($1, $2, $4, $5, $6, $7, $8)", "sisss" },
    { "pruned", "SELECT run, ended_ns, last, hash FROM pruned",
      OWN "pruned (tenant, project, run, ended_ns, last, hash) VALUES ($1, $2, $4, $5, $6, nullif($7, ''::bytea))", "siib" },
};

typedef struct Copy { SqliteStore *from; PostgresStore *to; StoreCopied *out; Error *err; } Copy;

/* ---- one row ---- */

static bool put(Copy *c, const char *sql, const PostgresParams *p, PGresult **out) {
    PGresult *r = NULL;
    if (!postgres_read(c->to, sql, p, &r)) return postgres_failed(c->to, "copy", c->err);
    if (out) *out = r;
    else c->to->main.api->clear(r);
    return true;
}

/* The texts of the row stay valid until the next one. */
static bool add_columns(Copy *c, const StoreQuery *q, const char *types, PostgresParams *p) {
    postgres_common(c->to, p);
    for (int i = 0; types[i]; i++) {
        if (types[i] == 'i') postgres_add_int(p, store_int(q, i));
        else if (types[i] == 'd') postgres_add_double(p, store_double(q, i));
        else if (!postgres_add_str(p, store_text(q, i), types[i] == 'b')) return error_set(c->err, ERR_LIMIT, "copy: a row is too large");
    }
    return true;
}

static bool copy_part(Copy *c, const Part *part) {
    bool some = true, ok = true;
    StoreQuery q = sqlite_walk(c->from, part->select, "copy", c->err);
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        PostgresParams p = { 0 };
        ok = add_columns(c, &q, part->types, &p) && put(c, part->insert, &p, NULL);
    }
    return store_end(&q, ok);
}

/* ---- runs and events ---- */

static bool copy_events(Copy *c, int64_t from, int64_t to) {
    static const char insert[] = OWN "events (tenant, project, id, time_ns, agent, parent, depth, type, data, hash) "
                                     "VALUES ($1, $2, $4 | ($12 << 32), $5, $6, $7, $8, $9, $10, nullif($11, ''::bytea))";
    bool some = true;
    StoreQuery q = sqlite_walk(c->from, "SELECT id & 0xffffffff, time_ns, agent, parent, depth, type, data, hash FROM events WHERE id >> 32 = ?1 ORDER BY id",
                               "copy", c->err);
    bool ok = store_bind(&q, "i", from);
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        PostgresParams p = { 0 };
        ok = add_columns(c, &q, "iississb", &p);
        if (ok) postgres_add_int(&p, to);
        ok = ok && put(c, insert, &p, NULL);
        c->out->events += ok;
    }
    return store_end(&q, ok);
}

static bool copy_run(Copy *c, const StoreQuery *q) {
    static const char insert[] = OWN "runs (tenant, project, id, status, agent, parent, session, title, started_ns, ended_ns, turns, tool_calls, usage, cost, "
                                     "last, hash) VALUES ($1, $2, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, nullif($17, ''::bytea)) RETURNING n";
    PostgresParams p = { 0 };
    PGresult *r = NULL;
    if (!add_columns(c, q, "ssssssiiiisdib", &p) || !put(c, insert, &p, &r)) return false;
    int64_t n = postgres_int_at(c->to->main.api, r, 0, 0);
    c->to->main.api->clear(r);
    c->out->runs++;
    return copy_events(c, store_int(q, 14), n);
}

static bool copy_runs(Copy *c) {
    bool some = true, ok = true;
    StoreQuery q = sqlite_walk(c->from, "SELECT id, status, agent, parent, session, title, started_ns, ended_ns, turns, tool_calls, usage, cost, last, hash, n, "
                                        "pid, pid_start, boot FROM runs ORDER BY n", "copy", c->err);
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        SqliteHolder by = { .pid = store_int(&q, 15), .start = store_int(&q, 16) };
        Str boot = store_text(&q, 17);
        memcpy(by.boot, boot.at, boot.n < sizeof by.boot ? boot.n : sizeof by.boot - 1);
        ok = !sqlite_holder_alive(&by) || error_set(c->err, ERR_POLICY, "copy: run " STR_FMT " is in use by process %lld", STR_ARG(store_text(&q, 0)),
                                                    (long long)by.pid);
        ok = ok && copy_run(c, &q);
    }
    return store_end(&q, ok);
}

/* ---- artifacts ---- */

static bool copy_bytes(Copy *c, Str key, Str bytes) {
    bool ok = true;
    for (size_t at = 0; ok && at < bytes.n; at += CHUNK_BYTES) {
        PostgresParams p = { 0 };
        postgres_common(c->to, &p);
        postgres_add_str(&p, key, false);
        postgres_add_int(&p, (int64_t)(at / CHUNK_BYTES));
        postgres_add_str(&p, str_sub(bytes, at, at + CHUNK_BYTES), true);
        ok = put(c, OWN "artifact_chunks (tenant, project, key, n, bytes) VALUES ($1, $2, $4, $5, $6)", &p, NULL);
    }
    return ok;
}

static bool copy_artifacts(Copy *c) {
    static const char insert[] = OWN "artifacts (tenant, project, key, run, tool, mime, time_ns, size) VALUES ($1, $2, $4, $5, $6, $7, $8, $9)";
    bool some = true, ok = true;
    StoreQuery q = sqlite_walk(c->from, "SELECT key, run, tool, mime, time_ns, length(bytes), bytes FROM artifacts", "copy", c->err);
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        PostgresParams p = { 0 };
        ok = add_columns(c, &q, "ssssii", &p) && put(c, insert, &p, NULL) && copy_bytes(c, store_text(&q, 0), store_text(&q, 6));
        c->out->artifacts += ok;
    }
    return store_end(&q, ok);
}

/* ---- all ---- */

static bool is_empty(Copy *c) {
    PostgresParams p = { 0 };
    PGresult *r = NULL;
    postgres_common(c->to, &p);
    if (!put(c, "SELECT count(*) FROM harness.runs WHERE tenant = $1 AND project = $2", &p, &r)) return false;
    int64_t n = postgres_int_at(c->to->main.api, r, 0, 0);
    c->to->main.api->clear(r);
    if (n == 0) return true;
    error_set(c->err, ERR_POLICY, "copy: %s already has %lld runs of project %s", c->to->store.name, (long long)n, c->to->place.project);
    return error_hint(c->err, "copy into a project that has none: set store.project");
}

static bool copy_all(Copy *c) {
    bool ok = is_empty(c) && copy_runs(c) && copy_artifacts(c);
    for (size_t i = 0; ok && i < sizeof parts / sizeof *parts; i++) ok = copy_part(c, &parts[i]);
    return ok;
}

bool store_copy(Store *from, Store *to, StoreCopied *out, Error *err) {
    *out = (StoreCopied){ 0 };
    if (!store_flush(from, err)) return false;
    Copy c = { (SqliteStore *)from, (PostgresStore *)to, out, err };
    store_lock(from);
    store_lock(to);
    bool ok = store_begin(from, "copy", err);
    if (ok) {
        ok = store_begin_alone(to, "copy", err) && store_commit(to, copy_all(&c), "copy", err);
        (void)store_commit(from, false, "copy", NULL);       /* it only read */
    }
    store_unlock(to, ok);
    return store_unlock(from, ok);
}
