/* The module re: regular expressions (PCRE2), compiled once per worker. */
#include <stdlib.h>
#include "base/mem.h"
#include "script/script.h"
#include "script/worker.h"
#include "starlark/vm/work.h"

static NativeFn re_match, re_search, re_findall, re_replace, re_split;
static const NativeParam two[] = { { "p", NATIVE_STRING }, { "s", NATIVE_STRING } };
static const NativeParam three[] = { { "p", NATIVE_STRING }, { "repl", NATIVE_STRING }, { "s", NATIVE_STRING } };

#define FIND_ALL_DOC "All matches: a list of the whole matches, or of lists of the groups when the pattern has groups."
const NativeDef script_re[] = {
    { "re.match", re_match, SCRIPT_PARAMS(two), 2, SCRIPT_FN,
      "The match at the very start of s: a list of the whole match and its groups (None for a group that did not match), or None." },
    { "re.search", re_search, SCRIPT_PARAMS(two), 2, SCRIPT_FN, "The first match anywhere in s, in the form of re.match, or None." },
    { "re.findall", re_findall, SCRIPT_PARAMS(two), 2, SCRIPT_FN, FIND_ALL_DOC },
    { "re.find_all", re_findall, SCRIPT_PARAMS(two), 2, SCRIPT_FN, FIND_ALL_DOC },
    { "re.replace", re_replace, SCRIPT_PARAMS(three), 3, SCRIPT_FN,
      "s with every match replaced; in repl, $1, ${1} and \\1 are groups, $0 the whole match, $$ and \\\\ the characters themselves." },
    { "re.split", re_split, SCRIPT_PARAMS(two), 2, SCRIPT_FN, "The parts of s between the matches, as a list of strings." },
};
const size_t script_re_n = sizeof script_re / sizeof *script_re;

/* ---- iteration over matches ---- */

enum { SPANS_INLINE = 16 };

/* One text, one pattern, and the offset where the next search starts. */
typedef struct {
    Work work;
    const Regex *re;
    Regex *own;
    Str text;
    size_t at;
    bool checked;                        /* the text has been validated as UTF-8 */
    size_t n;                            /* number of spans: the match and its groups */
    RegexSpan *span, inline_spans[SPANS_INLINE];
} Search;

static void search_end(Search *s) {
    regex_free(s->own);
    if (s->span != s->inline_spans) free(s->span);
}

static bool search_begin(Search *s, Vm *vm, Str pattern, Str text, unsigned flags, Error *err) {
    Worker *worker = vm_keep(vm);
    *s = (Search){ .work = { .vm = vm }, .text = text };
    s->span = s->inline_spans;
    s->re = pattern_get(worker ? &worker->patterns : NULL, pattern, flags, &s->own, err);
    if (!s->re) return false;
    s->n = regex_groups(s->re) + 1;
    if (s->n > SPANS_INLINE) s->span = mem_alloc(s->n * sizeof *s->span);
    return true;
}

/* After an empty match, the search must continue one character later. */
static size_t behind(const Search *s) {
    size_t at = s->span[0].to;
    if (s->span[0].from < s->span[0].to || at >= s->text.n) return at + (s->span[0].from == s->span[0].to);
    do at++;
    while (at < s->text.n && ((unsigned char)s->text.at[at] & 0xC0) == 0x80);
    return at;
}

static bool search_next(Search *s, bool *found, Error *err) {
    Cancel *cancel = vm_cancel(s->work.vm);
    bool ok = s->checked ? regex_find_next(s->re, s->text, s->at, s->span, s->n, cancel, found, err)
                         : regex_find(s->re, s->text, s->at, s->span, s->n, cancel, found, err);
    s->checked = true;
    if (!ok || !*found) return ok;
    size_t next = behind(s);
    bool go_on = work_add(&s->work, 16 + (next - s->at) / 32, err);
    return s->at = next, go_on;
}

static bool span_value(Search *s, RegexSpan span, Value *out, Error *err) {
    if (span.from == REGEX_UNSET) return *out = VALUE_NONE, true;
    return work_string(&s->work, str_sub(s->text, span.from, span.to), out, err);
}

/* The spans from `first` on, as a list. */
static bool span_list(Search *s, size_t first, Value *out, Error *err) {
    List *l = list_new(vm_heap(s->work.vm), s->n - first, err);
    if (!l) return false;
    for (size_t i = first; i < s->n; i++) {
        Value v;
        if (!span_value(s, s->span[i], &v, err) || !list_push(vm_heap(s->work.vm), l, v, err)) return false;
    }
    return *out = value_from_object(l), true;
}

/* ---- functions ---- */

static bool first_match(Vm *vm, const NativeArgs *a, unsigned flags, Value *out, Error *err) {
    Search s;
    bool found = false;
    if (!search_begin(&s, vm, script_arg(a, 0), script_arg(a, 1), flags, err)) return false;
    bool ok = search_next(&s, &found, err) && (!found || span_list(&s, 0, out, err));
    search_end(&s);
    return ok;
}

static bool re_match(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return first_match(vm, a, REGEX_ANCHORED, out, err); }
static bool re_search(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return first_match(vm, a, 0, out, err); }

static bool find_all(Search *s, List *l, Error *err) {
    bool found;
    Value v;
    for (;;) {
        if (!search_next(s, &found, err)) return false;
        if (!found) return true;
        if (!(s->n > 1 ? span_list(s, 1, &v, err) : span_value(s, s->span[0], &v, err))) return false;
        if (!list_push(vm_heap(s->work.vm), l, v, err)) return false;
    }
}

static bool re_findall(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Search s;
    List *l = list_new(vm_heap(vm), 0, err);
    if (!l || !search_begin(&s, vm, script_arg(a, 0), script_arg(a, 1), 0, err)) return false;
    bool ok = find_all(&s, l, err);
    search_end(&s);
    return ok && (*out = value_from_object(l), true);
}

static bool split(Search *s, List *l, Error *err) {
    bool found;
    Value v;
    size_t from = 0;
    for (;;) {
        if (!search_next(s, &found, err)) return false;
        if (found && s->span[0].to == s->span[0].from && (s->span[0].from == from || s->span[0].from == s->text.n))
            continue;                                    /* an empty match adjacent to an empty part splits nothing */
        Str part = str_sub(s->text, from, found ? s->span[0].from : s->text.n);
        if (!work_string(&s->work, part, &v, err) || !list_push(vm_heap(s->work.vm), l, v, err)) return false;
        if (!found) return true;
        from = s->span[0].to;
    }
}

static bool re_split(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Search s;
    List *l = list_new(vm_heap(vm), 0, err);
    if (!l || !search_begin(&s, vm, script_arg(a, 0), script_arg(a, 1), 0, err)) return false;
    bool ok = split(&s, l, err);
    search_end(&s);
    return ok && (*out = value_from_object(l), true);
}

/* ---- replacements ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* The group that "$1", "${12}" or "\1" at the start of `repl` refers to; *length is 0 if it is not a reference. */
static size_t group_at(Str repl, size_t *length) {
    size_t i = 1, group = 0;
    *length = 0;
    bool braces = repl.at[0] == '$' && repl.n > 1 && repl.at[1] == '{';
    if (braces) i++;
    size_t digits = i;
    for (; i < repl.n && is_digit(repl.at[i]); i++)
        if (group <= REGEX_GROUPS_MAX) group = group * 10 + (size_t)(repl.at[i] - '0');
    if (i == digits || (braces && (i == repl.n || repl.at[i] != '}'))) return 0;
    return *length = i + braces, group;
}

static bool add_group(const Search *s, size_t group, Buf *to, Error *err) {
    if (group >= s->n)
        return error_set(err, ERR_SCRIPT, "for parameter repl: the pattern has no group %zu (it has %zu); write $$ for a dollar sign", group,
                         s->n - 1);
    if (s->span[group].from != REGEX_UNSET) buf_add(to, str_sub(s->text, s->span[group].from, s->span[group].to));
    return true;
}

static bool add_replacement(const Search *s, Str repl, Buf *to, Error *err) {
    while (repl.n) {
        char c = repl.at[0];
        size_t length = 0, group = c == '$' || c == '\\' ? group_at(repl, &length) : 0;
        if (length && !add_group(s, group, to, err)) return false;
        if (!length) {
            buf_add_char(to, c);
            length = (c == '$' || c == '\\') && repl.n > 1 && repl.at[1] == c ? 2 : 1;
        }
        repl = str_sub(repl, length, repl.n);
    }
    return true;
}

static bool replace(Search *s, Str repl, Buf *to, Error *err) {
    bool found;
    size_t from = 0;
    for (;;) {
        if (!search_next(s, &found, err)) return false;
        if (!found) break;
        buf_add(to, str_sub(s->text, from, s->span[0].from));
        if (!add_replacement(s, repl, to, err) || !work_room(&s->work, to, 0, err)) return false;
        if (!work_add(&s->work, 1 + repl.n / 8, err)) return false;
        from = s->span[0].to;
    }
    buf_add(to, str_sub(s->text, from, s->text.n));
    return true;
}

static bool re_replace(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Search s;
    Buf to = { 0 };
    if (!search_begin(&s, vm, script_arg(a, 0), script_arg(a, 2), 0, err)) return false;
    bool ok = replace(&s, script_arg(a, 1), &to, err) && script_text(vm, buf_str(&to), out, err);
    search_end(&s);
    buf_clear(&to);
    return ok;
}
