/* The module fs: files of the workspace. */
#include "base/utf8.h"
#include "policy/approval.h"
#include "script/fs.h"

static NativeFn fs_read, fs_write, fs_append, fs_exists, fs_stat, fs_list, fs_mkdir, fs_remove, fs_copy, fs_move;
static const NativeParam path[] = { { "path", NATIVE_STRING } };
static const NativeParam maybe_path[] = { { "path", NATIVE_STRING } };
static const NativeParam write_params[] = { { "path", NATIVE_STRING }, { "content", NATIVE_STRING | NATIVE_BYTES } };
static const NativeParam remove_params[] = { { "path", NATIVE_STRING }, { "recursive", NATIVE_BOOL } };
static const NativeParam copy_params[] = { { "src", NATIVE_STRING }, { "dst", NATIVE_STRING } };
static const NativeParam glob_params[] = { { "pattern", NATIVE_STRING } };
static const NativeParam find_params[] = { { "path", NATIVE_STRING }, { "pattern", NATIVE_STRING } };
static const NativeParam lines_params[] = { { "path", NATIVE_STRING }, { "start", NATIVE_INT }, { "end", NATIVE_INT | NATIVE_NONE_IS_ABSENT } };
static const NativeParam insert_params[] = { { "path", NATIVE_STRING }, { "line", NATIVE_INT }, { "content", NATIVE_STRING } };
static const NativeParam replace_params[] = { { "path", NATIVE_STRING }, { "old", NATIVE_STRING }, { "new", NATIVE_STRING } };
static const NativeParam replace_lines_params[] = {
    { "path", NATIVE_STRING }, { "start", NATIVE_INT }, { "end", NATIVE_INT }, { "content", NATIVE_STRING },
};
static const NativeParam diff_params[] = { { "a", NATIVE_STRING }, { "b", NATIVE_STRING } };
static const NativeParam delete_params[] = { { "path", NATIVE_STRING }, { "start", NATIVE_INT }, { "end", NATIVE_INT } };

const NativeDef script_fs[] = {
    { "fs.read", fs_read, SCRIPT_PARAMS(path), 1, SCRIPT_FN, "The text of a file; fails if it is not UTF-8." },
    { "fs.write", fs_write, SCRIPT_PARAMS(write_params), 2, SCRIPT_FN, "Creates or replaces a file atomically; creates missing folders." },
    { "fs.append", fs_append, SCRIPT_PARAMS(write_params), 2, SCRIPT_FN, "Appends to a file, which is created if it does not exist." },
    { "fs.exists", fs_exists, SCRIPT_PARAMS(path), 1, SCRIPT_FN, "True if the file or folder exists." },
    { "fs.stat", fs_stat, SCRIPT_PARAMS(path), 1, SCRIPT_FN, "{name, size, is_dir, modified}; modified is in seconds since 1970." },
    { "fs.list", fs_list, SCRIPT_PARAMS(maybe_path), 0, SCRIPT_FN,
        "The entries of a folder (default: the workspace): a list of dicts as from fs.stat, sorted by name." },
    { "fs.mkdir", fs_mkdir, SCRIPT_PARAMS(path), 1, SCRIPT_FN, "Creates a folder and its parents; succeeds if it exists." },
    { "fs.remove", fs_remove, SCRIPT_PARAMS(remove_params), 1, SCRIPT_FN,
        "Removes a file, a link or an empty folder; with recursive=True a folder and its contents." },
    { "fs.copy", fs_copy, SCRIPT_PARAMS(copy_params), 2, SCRIPT_FN, "Copies a file, or a folder and its contents." },
    { "fs.move", fs_move, SCRIPT_PARAMS(copy_params), 2, SCRIPT_FN, "Moves or renames a file or folder." },
    { "fs.glob", fs_glob, SCRIPT_PARAMS(glob_params), 1, SCRIPT_FN,
      "The paths that match (*, ?, [a-z], {a,b}, ** for any folders), sorted; a leading period must be written out." },
    { "fs.find", fs_find, SCRIPT_PARAMS(find_params), 2, SCRIPT_FN, "The lines of a file that a regular expression matches: a list of {line, text}." },
    { "fs.read_lines", fs_read_lines, SCRIPT_PARAMS(lines_params), 1, SCRIPT_FN,
      "Lines start (default: 1) to end (default: the last), both included, as a list of strings without line breaks." },
    { "fs.line_count", fs_line_count, SCRIPT_PARAMS(path), 1, SCRIPT_FN, "The number of lines of a file." },
    { "fs.insert_at", fs_insert_at, SCRIPT_PARAMS(insert_params), 3, SCRIPT_FN,
        "Inserts content before line number line; one more than the number of lines appends it." },
    { "fs.replace", fs_replace, SCRIPT_PARAMS(replace_params), 3, SCRIPT_FN, "Replaces old, which must occur exactly once." },
    { "fs.replace_all", fs_replace_all, SCRIPT_PARAMS(replace_params), 3, SCRIPT_FN, "Replaces every occurrence of old; returns their number." },
    { "fs.replace_lines", fs_replace_lines, SCRIPT_PARAMS(replace_lines_params), 4, SCRIPT_FN, "Replaces lines start to end, both included, with content." },
    { "fs.delete_lines", fs_delete_lines, SCRIPT_PARAMS(delete_params), 3, SCRIPT_FN, "Removes lines start to end, both included." },
    { "fs.diff", fs_diff, SCRIPT_PARAMS(diff_params), 2, SCRIPT_FN, "The differences between two files as a unified diff; \"\" if there are none." },
};
const size_t script_fs_n = sizeof script_fs / sizeof *script_fs;

/* ---- shared ---- */

bool fs_jail(Vm *vm, const Jail **out, Error *err) {
    Host *h = script_host(vm);
    if (!h || !h->jail) return error_set(err, ERR_SCRIPT, "not available here");
    return *out = h->jail, true;
}

bool fs_load(Vm *vm, Str p, bool text, Buf *out, JailStat *st, Error *err) {
    const Jail *jail;
    if (!fs_jail(vm, &jail, err) || !jail_read(jail, p, JAIL_FILE_MAX, out, st, err) || !vm_work(vm, 100 + out->n / 16, err)) return false;
    size_t valid = text ? utf8_valid_prefix(buf_str(out)) : out->n;
    return valid == out->n || error_set(err, ERR_VALIDATION, STR_FMT ": not UTF-8 text (byte %zu)", STR_ARG(p), valid + 1);
}

static bool ask_for(Vm *vm, Str p, Error *err) {
    const HostCalls *calls = script_calls(vm);
    if (calls->confirm_write) return calls->confirm_write(script_host(vm), p, err);
    return error_set(err, ERR_POLICY, STR_FMT ": writing this file needs a confirmation, and no user is present to give it", STR_ARG(p));
}

/* `at` is p, or the folder that holds it. */
static bool confirm(Vm *vm, Str p, Str at, Error *err) {
    const Jail *jail;
    Arena arena = { 0 };
    JailPlace place;
    bool ok = fs_jail(vm, &jail, err) && jail_place(jail, at, true, &arena, &place, err);
    if (ok && (approval_sensitive(p) || approval_sensitive(place.path) || approval_brief(p) || approval_brief(place.path)))
        ok = ask_for(vm, p, err) && cancel_check(vm_cancel(vm), err);      /* the deadline may have passed meanwhile */
    arena_clear(&arena);
    return ok;
}

bool fs_confirm(Vm *vm, Str p, Error *err) { return confirm(vm, p, p, err); }

static Str folder_of(Str p) {
    while (p.n > 1 && p.at[p.n - 1] == '/') p.n--;
    for (size_t i = p.n; i-- > 0;)
        if (p.at[i] == '/') return str_sub(p, 0, i ? i : 1);
    return STR(".");
}

/* The same for an operation on a link itself, not on its target. */
static bool confirm_entry(Vm *vm, Str p, Error *err) { return confirm(vm, p, folder_of(p), err); }

bool fs_store(Vm *vm, Str p, Str content, const JailStat *read, Error *err) {
    const Jail *jail;
    return fs_jail(vm, &jail, err) && jail_write(jail, p, content, &(JailWrite){ .parents = true, .expect = read, .cancel = vm_cancel(vm) }, NULL, err);
}

/* ---- reading ---- */

static bool fs_read(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Buf text = { 0 };
    bool ok = fs_load(vm, script_arg(a, 0), true, &text, NULL, err) && script_text(vm, buf_str(&text), out, err);
    buf_clear(&text);
    return ok;
}

static bool fs_exists(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    const Jail *jail;
    bool there;
    return fs_jail(vm, &jail, err) && jail_exists(jail, script_arg(a, 0), &there, err) && (*out = value_from_bool(there), true);
}

static bool stat_value(Vm *vm, Str name, const JailStat *st, Value *out, Error *err) {
    ScriptDict d = script_dict(vm, err);
    script_dict_clean(&d, "name", name);
    script_dict_int(&d, "size", st->size);
    script_dict_bool(&d, "is_dir", st->type == 'd');
    script_dict_int(&d, "modified", st->modified_ns / 1000000000);
    return script_dict_end(&d, out);
}

static Str last_name(Str p) {
    while (p.n > 1 && p.at[p.n - 1] == '/') p.n--;
    for (size_t i = p.n; i-- > 0;)
        if (p.at[i] == '/') return str_sub(p, i + 1, p.n);
    return p;
}

static bool fs_stat(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    const Jail *jail;
    JailStat st;
    return fs_jail(vm, &jail, err) && jail_stat(jail, script_arg(a, 0), &st, err) && stat_value(vm, last_name(script_arg(a, 0)), &st, out, err);
}

static bool list_value(Vm *vm, const JailEntry *at, size_t n, Value *out, Error *err) {
    List *l = list_new(vm_heap(vm), n, err);
    for (size_t i = 0; l && i < n; i++) {
        Value v;
        if (!stat_value(vm, at[i].name, &at[i].stat, &v, err) || !list_push(vm_heap(vm), l, v, err) || !vm_work(vm, 50, err)) return false;
    }
    return l && (*out = value_from_object(l), true);
}

static bool fs_list(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    const Jail *jail;
    Arena arena = { 0 };
    JailEntry *at;
    size_t n;
    bool ok = fs_jail(vm, &jail, err) && jail_list(jail, native_given(a, 0) ? script_arg(a, 0) : STR("."), &arena, &at, &n, err) &&
              list_value(vm, at, n, out, err);
    arena_clear(&arena);
    return ok;
}

/* ---- writing ---- */

static bool fs_write(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    return fs_confirm(vm, script_arg(a, 0), err) && fs_store(vm, script_arg(a, 0), script_arg(a, 1), NULL, err);
}

static bool fs_append(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    const Jail *jail;
    return fs_jail(vm, &jail, err) && fs_confirm(vm, script_arg(a, 0), err) && jail_append(jail, script_arg(a, 0), script_arg(a, 1), vm_cancel(vm), err);
}

static bool fs_mkdir(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    const Jail *jail;
    return fs_jail(vm, &jail, err) && fs_confirm(vm, script_arg(a, 0), err) && jail_mkdir(jail, script_arg(a, 0), vm_cancel(vm), err);
}

/* A folder is as sensitive as its contents. */
enum { TREE_MAX = 100000, TREE_DEPTH = 200 };

static bool confirm_below(Vm *vm, const Jail *jail, Arena *arena, Str folder, Str as, size_t *left, int depth, Error *err) {
    JailEntry *at;
    size_t n;
    if (depth == TREE_DEPTH) return error_set(err, ERR_LIMIT, STR_FMT ": nested too deeply", STR_ARG(folder));
    if (!jail_list(jail, folder, arena, &at, &n, err)) return false;
    if (n > *left) return error_set(err, ERR_LIMIT, STR_FMT ": more than %d files", STR_ARG(folder), TREE_MAX);
    *left -= n;
    for (size_t i = 0; i < n; i++) {
        Str from = str_from(arena_fmt(arena, STR_FMT "/" STR_FMT, STR_ARG(folder), STR_ARG(at[i].name)));
        Str to = str_from(arena_fmt(arena, STR_FMT "/" STR_FMT, STR_ARG(as), STR_ARG(at[i].name)));
        if (!vm_work(vm, 100, err) || (approval_sensitive(at[i].name) && !ask_for(vm, to, err))) return false;
        if (at[i].stat.type == 'd' && !confirm_below(vm, jail, arena, from, to, left, depth + 1, err)) return false;
    }
    return true;
}

/* Confirms every file in `folder`, if it is a folder, under the path it will have below `as`. */
static bool confirm_tree(Vm *vm, const Jail *jail, Str folder, Str as, Error *err) {
    JailStat st;
    if (!jail_stat(jail, folder, &st, NULL) || st.type != 'd') return true;
    Arena arena = { 0 };
    size_t left = TREE_MAX;
    bool ok = confirm_below(vm, jail, &arena, folder, as, &left, 0, err);
    arena_clear(&arena);
    return ok;
}

static bool fs_remove(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    const Jail *jail;
    Str p = script_arg(a, 0);
    bool recursive = native_given(a, 1) && value_bool(a->at[1]);
    if (!fs_jail(vm, &jail, err) || !confirm_entry(vm, p, err) || (recursive && !confirm_tree(vm, jail, p, p, err))) return false;
    return jail_remove(jail, p, recursive, vm_cancel(vm), err);
}

static bool fs_copy(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    const Jail *jail;
    Str from = script_arg(a, 0), to = script_arg(a, 1);
    if (!fs_jail(vm, &jail, err) || !fs_confirm(vm, to, err) || !confirm_tree(vm, jail, from, to, err)) return false;
    return jail_copy(jail, from, to, vm_cancel(vm), err);
}

static bool fs_move(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    const Jail *jail;
    Str from = script_arg(a, 0), to = script_arg(a, 1);
    if (!fs_jail(vm, &jail, err) || !confirm_entry(vm, from, err) || !fs_confirm(vm, to, err) || !confirm_tree(vm, jail, from, to, err)) return false;
    return jail_move(jail, from, to, vm_cancel(vm), err);
}
