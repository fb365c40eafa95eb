/* Files that the user picks. */
#include "base/glob.h"
#include "policy/approval.h"
#include "tool/bridge/bridge.h"
#include "tool/pipeline/pipe.h"

enum { GLOBS_MAX = 20 };

/* ---- patterns ---- */

bool bridge_globs(Str filter, Arena *arena, Str **out, size_t *n, Error *err) {
    *out = ARENA_ARRAY(arena, Str, GLOBS_MAX);
    *n = 0;
    for (size_t from = 0, i = 0; i <= filter.n; i++) {
        if (i < filter.n && filter.at[i] != ',') continue;
        Str one = str_trim(str_sub(filter, from, i));
        from = i + 1;
        if (!one.n) continue;
        if (*n == GLOBS_MAX) return error_set(err, ERR_VALIDATION, "filter: more than %d patterns", GLOBS_MAX);
        if (str_find_char(one, '/') >= 0 || str_find_char(one, '{') >= 0 || str_find_char(one, '}') >= 0)
            return error_set(err, ERR_VALIDATION, "filter: \"" STR_FMT "\" is not a pattern of file names such as *.csv", STR_ARG(one));
        if (!glob_new(one, 0, arena, err)) return error_wrap(err, "filter");
        (*out)[(*n)++] = arena_str(arena, one);
    }
    return true;
}

static bool fits(Str name, const Str *globs, size_t n, Arena *arena) {
    for (size_t i = name.n; i-- > 0;)
        if (name.at[i] == '/') {
            name = str_sub(name, i + 1, name.n);
            break;
        }
    for (size_t i = 0; i < n; i++) {
        const Glob *g = glob_new(globs[i], 0, arena, NULL);
        if (g && glob_match(g, name)) return true;
    }
    return n == 0;
}

/* ---- one file ---- */

static bool check_inside(const ToolCallFrame *f, Str path, Arena *arena, BridgeFile *out, Error *err) {
    const Jail *j = f->host->jail;
    JailPlace place;
    JailStat st;
    if (!jail_stat(j, path, &st, err) || !jail_place(j, path, false, arena, &place, err)) return false;
    if (st.type != 'f') return error_set(err, ERR_VALIDATION, STR_FMT ": %s", STR_ARG(path), st.type == 'd' ? "is a folder" : "is not a regular file");
    Str root = f->host->workspace;
    bool below = place.absolute.n > root.n && str_starts(place.absolute, root) && place.absolute.at[root.n] == '/';
    *out = (BridgeFile){ .name = below ? str_sub(place.absolute, root.n + 1, place.absolute.n) : place.absolute };
    return true;
}

static bool check_outside(const ToolCallFrame *f, Str path, Arena *arena, BridgeFile *out, Error *err) {
    *out = (BridgeFile){ .outside = true };
    if (!jail_pick_look(f->host->jail, path, arena, &out->pick, err)) return false;
    out->name = out->pick.absolute;
    return !approval_sensitive(out->pick.absolute) || error_set(err, ERR_POLICY, STR_FMT ": has a sensitive name and cannot be picked", STR_ARG(path));
}

bool bridge_file_check(const ToolCallFrame *f, Str path, bool outside, const Str *globs, size_t n_globs, Arena *arena, BridgeFile *out, Error *err) {
    Error why = { 0 };
    bool ok = check_inside(f, path, arena, out, &why);
    if (!ok && outside && why.kind == ERR_SANDBOX && path.n && path.at[0] == '/') ok = check_outside(f, path, arena, out, &why);
    if (ok && !fits(out->name, globs, n_globs, arena)) ok = error_set(&why, ERR_VALIDATION, STR_FMT ": does not fit the filter", STR_ARG(path));
    if (!ok && err) *err = why;
    return ok;
}

bool bridge_file_grant(ToolCallFrame *f, const BridgeFile *file, const char *place, Error *err) {
    Pipe *p = f->host->call;
    if (!file->outside) return true;
    if (pipe_listened(p)) {
        Buf data = { 0 };
        event_data_start(&data);
        event_data_str(&data, "id", f->call_id);
        event_data_str(&data, "name", f->entry->def.name);
        event_data_str(&data, "path", file->name);
        event_data_str(&data, "source", str_from(place));
        event_data_end(&data);
        bool ok = event_emit(f->run->events, pipe_place(p), EVENT_SANDBOX_GRANTED, buf_str(&data), err);
        buf_clear(&data);
        if (!ok) return false;
    }
    return jail_pick_add(f->host->jail, &file->pick, err);
}
