/* The tool listdir: a folder or a whole tree, sorted by name. */
#include <time.h>
#include <unistd.h>
#include "tool/builtin/builtin.h"
#include "value/list.h"

enum { ENTRIES_MAX = 10000, DEPTH_MAX = 256 };

typedef struct Listing { ToolCallFrame *f; List *out; bool recursive, truncated; } Listing;

static Str type_name(char type) {
    return type == 'f' ? STR("file") : type == 'd' ? STR("directory") : type == 'l' ? STR("symlink") : STR("other");
}

static Str time_text(int64_t ns, char out[32]) {
    time_t s = (time_t)(ns / 1000000000 - (ns % 1000000000 < 0));
    struct tm tm;
    if (!gmtime_r(&s, &tm)) return STR("");
    return (Str){ out, strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) };
}

static bool add_entry(Listing *l, Str path, const JailStat *st, Error *err) {
    Heap *h = l->f->heap;
    Dict *d = dict_new(h, 4, err);
    char text[32];
    return d && builtin_put_text(h, d, "path", path, err) && builtin_put_text(h, d, "type", type_name(st->type), err) &&
           dict_put_str(h, d, STR("size"), value_from_small(st->size), err) && builtin_put_text(h, d, "modified", time_text(st->modified_ns, text), err) &&
           list_push(h, l->out, value_from_object(d), err);
}

static bool list_folder(Listing *l, Str absolute, int depth, Error *err);

/* Links are listed, never followed; .git is skipped. */
static bool list_entry(Listing *l, Str folder, const JailEntry *e, int depth, Error *err) {
    Buf path = { 0 };
    buf_add_fmt(&path, STR_FMT "%s" STR_FMT, STR_ARG(folder), str_ends(folder, STR("/")) ? "" : "/", STR_ARG(e->name));
    bool ok = add_entry(l, builtin_name(l->f, buf_str(&path)), &e->stat, err);
    if (ok && l->recursive && e->stat.type == 'd' && !str_eq(e->name, STR(".git"))) {
        Error inner = { 0 };
        ok = list_folder(l, buf_str(&path), depth + 1, &inner);
        if (!ok && (inner.kind == ERR_IO || inner.kind == ERR_SANDBOX)) ok = true;      /* unreadable, or removed since: its own entry is listed */
        if (!ok) *err = inner;
    }
    buf_clear(&path);
    return ok;
}

static bool list_folder(Listing *l, Str absolute, int depth, Error *err) {
    Arena arena = { 0 };
    JailEntry *entries;
    size_t n = 0;
    bool ok = cancel_check(l->f->cancel, err) && (depth <= DEPTH_MAX || error_set(err, ERR_IO, "too deep")) &&
              jail_list(l->f->host->jail, absolute, &arena, &entries, &n, err);
    for (size_t i = 0; ok && i < n && !l->truncated; i++) {
        l->truncated = l->out->n >= ENTRIES_MAX;
        if (!l->truncated) ok = list_entry(l, absolute, &entries[i], depth, err);
    }
    arena_clear(&arena);
    return ok;
}

static bool run_listdir(ToolCallFrame *f, Error *err) {
    Arena arena = { 0 };
    JailPlace place;
    Listing l = { .f = f, .out = list_new(f->heap, 16, err), .recursive = builtin_arg_flag(f, "recursive") };
    Dict *d = dict_new(f->heap, 2, err);
    Str path = builtin_arg_text(f, "path", STR("."));
    int fd = -1;
    bool ok = l.out && d && (fd = jail_open_dir(f->host->jail, path, err)) >= 0 && jail_place(f->host->jail, path, false, &arena, &place, err) &&
              list_folder(&l, place.absolute, 0, err) && dict_put_str(f->heap, d, STR("entries"), value_from_object(l.out), err) &&
              dict_put_str(f->heap, d, STR("truncated"), value_from_bool(l.truncated), err);
    if (fd >= 0) close(fd);
    if (ok) f->value = value_from_object(d);
    arena_clear(&arena);
    return builtin_end(f, ok, err);
}

const BuiltinDef builtin_list[] = {
    { .name = "listdir", .title = "List a folder",
      .description = "Lists the content of a folder, including hidden names: path, type (file, directory, symlink, other), size in bytes, time of the last change. At most "
                     "10,000 entries.",
      .parameters = "{\"type\":\"object\",\"properties\":{"
                    "\"path\":{\"type\":\"string\",\"minLength\":1,\"description\":\"The folder, relative to the workspace; . is the workspace.\"},"
                    "\"recursive\":{\"type\":\"boolean\",\"default\":false,\"description\":\"Also everything below it.\"}},"
                    "\"required\":[\"path\"],\"additionalProperties\":false}",
      .timeout_ms = 5000, .execute = run_listdir },
    { 0 },
};
