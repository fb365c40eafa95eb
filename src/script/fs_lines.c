/* Functions of fs that read a file by lines, or change parts of it. Line numbers start at 1; ranges include both
 * ends. */
#include "script/fs.h"
#include "starlark/vm/work.h"
#include "value/int.h"

/* A file being edited: the text read, and its replacement. */
typedef struct { Vm *vm; Str path; Buf text, next; JailStat st; Work work; } Edit;

static bool edit_begin(Edit *e, Vm *vm, const NativeArgs *a, Error *err) {
    *e = (Edit){ .vm = vm, .path = script_arg(a, 0), .work = { .vm = vm } };
    e->next.limit = JAIL_FILE_MAX;
    return fs_confirm(vm, e->path, err) && fs_load(vm, e->path, false, &e->text, &e->st, err);
}

static bool edit_end(Edit *e, bool ok, Error *err) {
    if (ok && e->next.full) ok = error_set(err, ERR_LIMIT, STR_FMT ": would be larger than %d bytes", STR_ARG(e->path), JAIL_FILE_MAX);
    ok = ok && fs_store(e->vm, e->path, buf_str(&e->next), &e->st, err);
    buf_clear(&e->text);
    buf_clear(&e->next);
    return ok;
}

/* ---- lines ---- */

static size_t line_end(Str text, size_t from) {
    const char *nl = from < text.n ? memchr(text.at + from, '\n', text.n - from) : NULL;
    return nl ? (size_t)(nl - text.at) + 1 : text.n;
}

/* Offset of line number `line`, or the end of the text; *lines is the number of complete lines before it. */
static bool line_start(Work *w, Str text, int64_t line, size_t *at, int64_t *lines, Error *err) {
    *at = 0;
    for (*lines = 0; *lines < line - 1 && *at < text.n; ++*lines) {
        size_t end = line_end(text, *at);
        if (!work_add(w, 2 + (end - *at) / 32, err)) return false;
        *at = end;
    }
    return true;
}

static bool line_count(Work *w, Str text, int64_t *out, Error *err) {
    size_t at;
    return line_start(w, text, INT64_MAX, &at, out, err);
}

bool fs_line_count(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Buf text = { 0 };
    Work w = { .vm = vm };
    int64_t n = 0;
    bool ok = fs_load(vm, script_arg(a, 0), false, &text, NULL, err) && line_count(&w, buf_str(&text), &n, err);
    buf_clear(&text);
    return ok && int_make(vm_heap(vm), n, out, err);
}

static bool read_lines(Vm *vm, Str text, int64_t start, int64_t end, List *l, Error *err) {
    Work w = { .vm = vm };
    size_t at;
    int64_t line;
    if (!line_start(&w, text, start, &at, &line, err)) return false;
    Str rest = str_sub(text, at, text.n), one;
    for (; line < end && str_next_line(&rest, &one); line++) {
        Value v;
        if (!work_add(&w, 4, err) || !work_string(&w, one, &v, err) || !list_push(vm_heap(vm), l, v, err)) return false;
    }
    return true;
}

bool fs_read_lines(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    int64_t start = 1, end = INT64_MAX;
    Buf text = { 0 };
    List *l = list_new(vm_heap(vm), 0, err);
    if (!l || !script_arg_i64(a, 1, 1, INT64_MAX, &start, err) || !script_arg_i64(a, 2, 0, INT64_MAX, &end, err)) return false;
    bool ok = fs_load(vm, script_arg(a, 0), true, &text, NULL, err) && read_lines(vm, buf_str(&text), start, end, l, err);
    buf_clear(&text);
    return ok && (*out = value_from_object(l), true);
}

/* ---- changing lines ---- */

static bool no_line(const Edit *e, int64_t line, int64_t lines, Error *err) {
    return error_set(err, ERR_SCRIPT, STR_FMT ": there is no line %lld (the file has %lld)", STR_ARG(e->path), (long long)line, (long long)lines);
}

/* Adds content and, if `end_line` is set and the content lacks one, a line end like that of the file's first line. */
static void add_content(Edit *e, Str content, bool end_line) {
    buf_add(&e->next, content);
    if (content.n == 0 || !end_line || content.at[content.n - 1] == '\n') return;
    size_t first = line_end(buf_str(&e->text), 0);
    if (first >= 2 && e->text.at[first - 1] == '\n' && e->text.at[first - 2] == '\r') buf_add_char(&e->next, '\r');
    buf_add_char(&e->next, '\n');
}

static bool insert(Edit *e, int64_t line, Str content, Error *err) {
    Str text = buf_str(&e->text);
    size_t at;
    int64_t before;
    if (!line_start(&e->work, text, line, &at, &before, err)) return false;
    if (before < line - 1) return no_line(e, line, before, err);
    buf_add(&e->next, str_sub(text, 0, at));
    if (at == text.n && text.n && text.at[text.n - 1] != '\n') buf_add_char(&e->next, '\n');
    add_content(e, content, true);
    buf_add(&e->next, str_sub(text, at, text.n));
    return true;
}

bool fs_insert_at(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    Edit e;
    int64_t line = 1;
    if (!script_arg_i64(a, 1, 1, INT64_MAX, &line, err)) return false;
    bool ok = edit_begin(&e, vm, a, err) && insert(&e, line, script_arg(a, 2), err);
    return edit_end(&e, ok, err);
}

static bool change_lines(Edit *e, int64_t start, int64_t end, Str content, Error *err) {
    Str text = buf_str(&e->text);
    size_t from, to;
    int64_t before, through;
    if (end < start) return error_set(err, ERR_SCRIPT, "for parameter end: is less than start");
    if (!line_start(&e->work, text, start, &from, &before, err)) return false;
    if (from == text.n) return no_line(e, start, before, err);
    if (!line_start(&e->work, str_sub(text, from, text.n), end - start + 2, &to, &through, err)) return false;
    if (through < end - start + 1) return no_line(e, end, before + through, err);
    to += from;
    buf_add(&e->next, str_sub(text, 0, from));
    add_content(e, content, text.at[to - 1] == '\n');
    buf_add(&e->next, str_sub(text, to, text.n));
    return true;
}

static bool edit_lines(Vm *vm, const NativeArgs *a, Str content, Error *err) {
    Edit e;
    int64_t start = 1, end = 1;
    if (!script_arg_i64(a, 1, 1, INT64_MAX, &start, err) || !script_arg_i64(a, 2, 1, INT64_MAX - 2, &end, err)) return false;
    bool ok = edit_begin(&e, vm, a, err) && change_lines(&e, start, end, content, err);
    return edit_end(&e, ok, err);
}

bool fs_replace_lines(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return (void)out, edit_lines(vm, a, script_arg(a, 3), err); }
bool fs_delete_lines(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return (void)out, edit_lines(vm, a, STR(""), err); }

/* ---- replacing text ---- */

static bool replace(Edit *e, Str old, Str fresh, int64_t *count, Error *err) {
    Str rest = buf_str(&e->text);
    *count = 0;
    if (old.n == 0) return error_set(err, ERR_SCRIPT, "for parameter old: is empty");
    for (;;) {
        const char *found = memmem(rest.at, rest.n, old.at, old.n);
        size_t skipped = found ? (size_t)(found - rest.at) : rest.n;
        buf_add(&e->next, str_sub(rest, 0, skipped));
        if (!found) return true;
        buf_add(&e->next, fresh);
        ++*count;
        rest = str_sub(rest, skipped + old.n, rest.n);
        if (!work_add(&e->work, 4 + (skipped + fresh.n) / 32, err)) return false;
    }
}

static bool exactly_one(const Edit *e, int64_t count, Error *err) {
    if (count == 1) return true;
    if (count == 0) return error_set(err, ERR_SCRIPT, STR_FMT ": the text to replace was not found", STR_ARG(e->path));
    return error_set(err, ERR_SCRIPT, STR_FMT ": the text to replace occurs %lld times: include more of the text around it, or use fs.replace_all",
                     STR_ARG(e->path), (long long)count);
}

bool fs_replace(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    Edit e;
    int64_t count;
    bool ok = edit_begin(&e, vm, a, err) && replace(&e, script_arg(a, 1), script_arg(a, 2), &count, err) && exactly_one(&e, count, err);
    return edit_end(&e, ok, err);
}

bool fs_replace_all(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Edit e;
    int64_t count = 0;
    bool ok = edit_begin(&e, vm, a, err) && replace(&e, script_arg(a, 1), script_arg(a, 2), &count, err);
    return edit_end(&e, ok, err) && int_make(vm_heap(vm), count, out, err);
}
