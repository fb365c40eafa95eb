/* String methods: the table, and the methods that search, test and join. Offsets are in bytes. */
#include "starlark/library/lib_string.h"

#include "base/utf8.h"
#include "starlark/vm/format.h"
#include "starlark/vm/iter.h"
#include "starlark/vm/search.h"
#include "starlark/vm/universe.h"
#include "starlark/vm/view.h"
#include "value/int.h"

static bool give(Value *out, const void *object) { return object ? (*out = value_from_object(object), true) : false; }

/* ---- start and end ---- */

static bool bound(Value v, const char *which, int64_t n, int64_t *out, Error *err) {
    if (value_is_gone(v) || value_is_none(v)) return true;
    if (!value_is_int(v)) return error_set(err, ERR_SCRIPT, "invalid %s index: got %s, want int", which, value_type_name(v));
    int64_t i;
    if (!int_to_i64(v, &i) || i < INT32_MIN || i > INT32_MAX) {
        Buf text = { 0 };
        int_text(&text, v, 10);
        error_set(err, ERR_SCRIPT, "invalid %s index: " STR_FMT " out of range", which, STR_ARG(buf_str(&text)));
        return buf_clear(&text), false;
    }
    if (i < 0) i += n;
    return *out = i < 0 ? 0 : i > n ? n : i, true;
}

/* The substring that arguments `at` and `at` + 1 select, and its offset. */
static bool part(const NativeArgs *a, uint32_t at, Str *out, size_t *start, Error *err) {
    Str s = value_str(a->self);
    int64_t from = 0, to = (int64_t)s.n;
    if (native_given(a, at) && !bound(a->at[at], "start", (int64_t)s.n, &from, err)) return false;
    if (native_given(a, at + 1) && !bound(a->at[at + 1], "end", (int64_t)s.n, &to, err)) return false;
    if (to < from) to = from;
    *start = (size_t)from;
    return *out = (Str){ s.at + from, (size_t)(to - from) }, true;
}

/* ---- searching ---- */

typedef bool Search(Work *w, Str hay, Str needle, ptrdiff_t *at, Error *err);

static bool search(Vm *vm, const NativeArgs *a, Search *how, bool must, Value *out, Error *err) {
    Str s;
    size_t start;
    ptrdiff_t at;
    if (!part(a, 1, &s, &start, err) || !how(&(Work){ .vm = vm }, s, value_str(a->at[0]), &at, err)) return false;
    if (at < 0 && must) return error_set(err, ERR_SCRIPT, "substring not found");
    return *out = value_from_small(at < 0 ? -1 : (int64_t)start + at), true;
}

static bool find(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return search(vm, a, search_first, false, out, err); }
static bool rfind(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return search(vm, a, search_last, false, out, err); }
static bool find_index(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return search(vm, a, search_first, true, out, err); }
static bool rindex_of(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return search(vm, a, search_last, true, out, err); }

static bool count(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Str s, needle = value_str(a->at[0]);
    size_t start, n;
    if (!part(a, 1, &s, &start, err)) return false;
    Work w = { .vm = vm };
    if (!(needle.n ? search_count(&w, s, needle, &n, err) : search_characters(&w, s, &n, err))) return false;
    if (needle.n == 0) n++;                               /* before each character, and at the end */
    return *out = value_from_small((int64_t)n), true;
}

/* ---- prefixes and suffixes ---- */

typedef bool Has(Str s, Str affix);

static bool has_affix(Vm *vm, const NativeArgs *a, Has *has, Value *out, Error *err) {
    Str s;
    size_t start;
    if (!part(a, 1, &s, &start, err)) return false;
    Value x = a->at[0];
    if (value_is_string(x)) return *out = value_from_bool(has(s, value_str(x))), true;
    if (!value_is_tuple(x)) return error_set(err, ERR_SCRIPT, "got %s, want string or tuple of string", value_type_name(x));
    const Tuple *t = value_tuple(x);
    Work w = { .vm = vm };
    bool found = false;
    for (uint32_t i = 0; i < t->n && !found; i++) {
        if (!value_is_string(t->at[i]))
            return error_set(err, ERR_SCRIPT, "want string, got %s, for element %u", value_type_name(t->at[i]), i);
        found = has(s, value_str(t->at[i]));
        if (!work_add(&w, 1 + value_str(t->at[i]).n / 64, err)) return false;
    }
    return *out = value_from_bool(found), true;
}

static bool startswith(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return has_affix(vm, a, str_starts, out, err); }
static bool endswith(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return has_affix(vm, a, str_ends, out, err); }

static bool removeprefix(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    String *s = value_string(a->self);
    Str fix = value_str(a->at[0]);
    return work_slice(&(Work){ .vm = vm }, s, str_starts(string_str(s), fix) ? fix.n : 0, s->n, out, err);
}

static bool removesuffix(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    String *s = value_string(a->self);
    Str fix = value_str(a->at[0]);
    return work_slice(&(Work){ .vm = vm }, s, 0, s->n - (str_ends(string_str(s), fix) ? fix.n : 0), out, err);
}

/* ---- joining and replacing ---- */

static bool joined_length(Work *w, const Value *at, size_t n, size_t separator, size_t *out, Error *err) {
    size_t total = n ? separator * (n - 1) : 0;
    for (size_t i = 0; i < n; i++) {
        if (!value_is_string(at[i])) return error_set(err, ERR_SCRIPT, "in list, want string, got %s", value_type_name(at[i]));
        total += value_string(at[i])->n;
        if (!work_add(w, 1, err)) return false;
    }
    return *out = total, true;
}

static bool join_values(Vm *vm, String *separator, const Value *at, size_t n, Value *out, Error *err) {
    Work w = { .vm = vm };
    size_t total = 0;
    char *to;
    if (!joined_length(&w, at, n, separator->n, &total, err)) return false;
    if (n == 1) return *out = at[0], true;
    String *s = string_room(vm_heap(vm), total, &to, err);
    if (!s) return false;
    for (size_t i = 0; i < n; i++) {
        if (i && separator->n == 1) *to = separator->at[0];
        else if (i && !work_copy(&w, to, string_str(separator), err)) return false;
        if (i) to += separator->n;
        if (!work_copy(&w, to, value_str(at[i]), err)) return false;
        to += value_string(at[i])->n;
    }
    return give(out, s);
}

static bool join(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    String *separator = value_string(a->self);
    Value v = a->at[0];
    if (value_is_tuple(v)) return join_values(vm, separator, value_tuple(v)->at, value_tuple(v)->n, out, err);
    List *list;
    if (value_is_list(v)) list = value_list(v);
    else if (!iter_to_list(vm, v, &list, err)) return false;
    return join_values(vm, separator, list->at, list->n, out, err);
}

/* Copies s with the first n occurrences of `old` replaced by `fresh`. There are at least n. */
static bool replace_into(Work *w, char *to, Str s, Str old, Str fresh, size_t n, Error *err) {
    for (; n; n--) {
        ptrdiff_t at;
        if (!search_first(w, s, old, &at, err) || at < 0) return false;
        if (!work_copy(w, to, (Str){ s.at, (size_t)at }, err)) return false;
        to += at;
        if (!work_copy(w, to, fresh, err)) return false;
        to += fresh.n;
        s = str_sub(s, (size_t)at + old.n, s.n);
    }
    return work_copy(w, to, s, err);
}

/* An empty `old` matches before each character and at the end. */
static bool replace_empty_into(Work *w, char *to, Str s, Str fresh, size_t n, Error *err) {
    for (size_t length; n; n--) {
        if (!work_copy(w, to, fresh, err)) return false;
        to += fresh.n;
        if (!s.n) break;
        utf8_decode(s, &length);
        memcpy(to, s.at, length);
        to += length;
        s = str_sub(s, length, s.n);
    }
    return work_copy(w, to, s, err);
}

static bool replace(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Str s = value_str(a->self), old = value_str(a->at[0]), fresh = value_str(a->at[1]);
    Work w = { .vm = vm };
    int64_t most = -1;
    size_t n;
    if (native_given(a, 2) && !native_arg_i64(a, 2, &most, err)) return false;
    if (!(old.n ? search_count(&w, s, old, &n, err) : search_characters(&w, s, &n, err))) return false;
    if (old.n == 0) n++;
    if (most >= 0 && (uint64_t)most < n) n = (size_t)most;
    if (n == 0) return *out = a->self, true;
    size_t total = s.n - n * old.n;                       /* n × fresh.n cannot overflow: both fit 32 bits */
    char *to;
    String *result = string_room(vm_heap(vm), total + n * fresh.n, &to, err);
    if (!result) return false;
    bool ok = old.n ? replace_into(&w, to, s, old, fresh, n, err) : replace_empty_into(&w, to, s, fresh, n, err);
    return ok && give(out, result);
}

/* ---- the table ---- */

#define PARAMS static const NativeParam
PARAMS search_params[] = { { "sub", NATIVE_STRING }, { "start", 0 }, { "end", 0 } };
PARAMS affix_params[] = { { "affix", 0 }, { "start", 0 }, { "end", 0 } };
PARAMS string_params[] = { { "s", NATIVE_STRING } };
PARAMS join_params[] = { { "iterable", NATIVE_ITERABLE } };
PARAMS replace_params[] = { { "old", NATIVE_STRING }, { "new", NATIVE_STRING }, { "count", NATIVE_INT } };
PARAMS split_params[] = { { "sep", 0 }, { "maxsplit", NATIVE_INT } };
PARAMS lines_params[] = { { "keepends", NATIVE_BOOL } };

#define PLAIN(name, fn, doc) { name, fn, NULL, 0, 0, NATIVE_POSITIONAL, doc }
#define TAKES(name, fn, params, min, doc) \
    { name, fn, params, sizeof params / sizeof *params, min, NATIVE_POSITIONAL, doc }

const NativeDef lib_string[] = {
    PLAIN("capitalize", lib_string_capitalize, "a copy with the first letter in title case, the rest in lower case"),
    PLAIN("codepoint_ords", view_codepoint_ords, "the code points as ints"),
    PLAIN("codepoints", view_codepoints, "the code points as strings"),
    TAKES("count", count, search_params, 1, "the number of non-overlapping occurrences of sub"),
    PLAIN("elem_ords", view_elem_ords, "the bytes as ints"),
    PLAIN("elems", view_elems, "the bytes as strings"),
    TAKES("endswith", endswith, affix_params, 1, "True if it ends with a string, or one of a tuple"),
    TAKES("find", find, search_params, 1, "offset of the first sub, or -1"),
    { "format", format_method, NULL, 0, 0, NATIVE_VARIADIC, "replaces {}, {0} and {name}" },
    TAKES("index", find_index, search_params, 1, "offset of the first sub; fails if there is none"),
    PLAIN("isalnum", lib_string_isalnum, "True if it is not empty and all characters are letters or digits"),
    PLAIN("isalpha", lib_string_isalpha, "True if it is not empty and all characters are letters"),
    PLAIN("isdigit", lib_string_isdigit, "True if it is not empty and all characters are digits"),
    PLAIN("islower", lib_string_islower, "True if it has cased letters, all of them lower case"),
    PLAIN("isspace", lib_string_isspace, "True if it is not empty and all characters are white space"),
    PLAIN("istitle", lib_string_istitle, "True if each word starts in upper case and continues in lower case"),
    PLAIN("isupper", lib_string_isupper, "True if it has cased letters, all of them upper case"),
    TAKES("join", join, join_params, 1, "the strings of an iterable with this one between them"),
    PLAIN("lower", lib_string_lower, "a copy in lower case"),
    TAKES("lstrip", lib_string_lstrip, string_params, 0, "a copy without leading white space, or characters of s"),
    TAKES("partition", lib_string_partition, string_params, 1, "(before, s, after) for the first s"),
    TAKES("removeprefix", removeprefix, string_params, 1, "a copy without the prefix s"),
    TAKES("removesuffix", removesuffix, string_params, 1, "a copy without the suffix s"),
    TAKES("replace", replace, replace_params, 2, "a copy with old replaced by new, at most count times"),
    TAKES("rfind", rfind, search_params, 1, "offset of the last sub, or -1"),
    TAKES("rindex", rindex_of, search_params, 1, "offset of the last sub; fails if there is none"),
    TAKES("rpartition", lib_string_rpartition, string_params, 1, "(before, s, after) for the last s"),
    TAKES("rsplit", lib_string_rsplit, split_params, 0, "the parts between separators, at most maxsplit splits, from the right"),
    TAKES("rstrip", lib_string_rstrip, string_params, 0, "a copy without trailing white space, or characters of s"),
    TAKES("split", lib_string_split, split_params, 0, "the parts between separators, or between white space"),
    TAKES("splitlines", lib_string_splitlines, lines_params, 0, "the lines"),
    TAKES("startswith", startswith, affix_params, 1, "True if it starts with a string, or one of a tuple"),
    TAKES("strip", lib_string_strip, string_params, 0, "a copy without white space, or characters of s, at both ends"),
    PLAIN("title", lib_string_title, "a copy with each word in title case"),
    PLAIN("upper", lib_string_upper, "a copy in upper case"),
};
const size_t lib_string_n = sizeof lib_string / sizeof *lib_string;
