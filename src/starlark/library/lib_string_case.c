/* String methods that change or test case and test character classes. Characters are code points. An invalid
 * byte counts as U+FFFD, and case mappings write it as U+FFFD. */
#include "starlark/library/lib_string.h"

#include "base/unicode.h"
#include "base/utf8.h"
#include "starlark/vm/work.h"

/* ---- mapping ---- */

typedef enum { UPPER, LOWER, TITLE, CAPITAL } Mapping;

/* `inside`: the character follows a cased one (title), or any (capitalize). */
static inline uint32_t map(Mapping how, uint32_t c, bool *inside) {
    if (how == UPPER) return unicode_to_upper(c);
    if (how == LOWER) return unicode_to_lower(c);
    c = *inside ? unicode_to_lower(c) : unicode_to_title(c);
    *inside = how == CAPITAL || unicode_is_cased(c);
    return c;
}

static size_t encoded_length(uint32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

static const uint64_t ONES = 0x0101010101010101u, TOPS = 0x8080808080808080u;

static bool is_ascii_part(Str s) {
    size_t i = 0;
    for (uint64_t x; s.n - i >= 8; i += 8)
        if (memcpy(&x, s.at + i, 8), x & TOPS) return false;
    for (; i < s.n; i++)
        if (s.at[i] & 0x80) return false;
    return true;
}

static bool is_ascii(Work *w, Str s, bool *out, Error *err) {
    *out = true;
    for (size_t n; *out && s.n; s = str_sub(s, n, s.n)) {
        n = s.n < WORK_CHUNK ? s.n : WORK_CHUNK;
        *out = is_ascii_part((Str){ s.at, n });
        if (!work_add(w, 1 + n / 64, err)) return false;
    }
    return true;
}

/* Flips the case of ASCII letters between `first` and `first` + 25, eight at a time. */
static void flip_ascii(char *to, const char *from, size_t n, char first) {
    uint64_t above = ONES * (0x80u - (unsigned char)first), beyond = ONES * (0x80u - (unsigned char)first - 26u);
    size_t i = 0;
    for (uint64_t x; n - i >= 8; i += 8) {
        memcpy(&x, from + i, 8);
        x ^= ((x + above) & ~(x + beyond) & TOPS) >> 2;   /* 0x80 >> 2 is the bit between 'A' and 'a' */
        memcpy(to + i, &x, 8);
    }
    for (; i < n; i++) to[i] = (unsigned char)(from[i] - first) < 26 ? from[i] ^ 0x20 : from[i];
}

static bool map_ascii(Work *w, char *to, Str s, Mapping how, Error *err) {
    bool inside = false;
    while (s.n) {
        size_t n = s.n < WORK_CHUNK / 8 ? s.n : WORK_CHUNK / 8;
        if (how == UPPER || how == LOWER) flip_ascii(to, s.at, n, how == UPPER ? 'a' : 'A');
        else for (size_t i = 0; i < n; i++) to[i] = (char)map(how, (unsigned char)s.at[i], &inside);
        to += n;
        s = str_sub(s, n, s.n);
        if (!work_add(w, n / 16, err)) return false;
    }
    return true;
}

static bool mapped_length(Work *w, Str s, Mapping how, size_t *out, Error *err) {
    bool inside = false;
    size_t total = 0;
    for (size_t length; s.n; s = str_sub(s, length, s.n)) {
        total += encoded_length(map(how, utf8_decode(s, &length), &inside));
        if (!work_add(w, 2, err)) return false;
    }
    return *out = total, true;
}

static bool map_into(Work *w, char *to, Str s, Mapping how, Error *err) {
    bool inside = false;
    for (size_t length; s.n; s = str_sub(s, length, s.n)) {
        to += utf8_encode(map(how, utf8_decode(s, &length), &inside), to);
        if (!work_add(w, 2, err)) return false;
    }
    return true;
}

static bool map_string(Vm *vm, const NativeArgs *a, Mapping how, Value *out, Error *err) {
    Str s = value_str(a->self);
    Work w = { .vm = vm };
    bool ascii;
    size_t n = s.n;
    char *to;
    if (!is_ascii(&w, s, &ascii, err)) return false;
    if (!ascii && !mapped_length(&w, s, how, &n, err)) return false;
    String *result = string_room(vm_heap(vm), n, &to, err);
    if (!result || !(ascii ? map_ascii : map_into)(&w, to, s, how, err)) return false;
    return *out = value_from_object(result), true;
}

bool lib_string_upper(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return map_string(vm, a, UPPER, out, err); }
bool lib_string_lower(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return map_string(vm, a, LOWER, out, err); }
bool lib_string_title(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return map_string(vm, a, TITLE, out, err); }
bool lib_string_capitalize(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return map_string(vm, a, CAPITAL, out, err); }

/* ---- kinds ---- */

typedef bool Kind(uint32_t c);

static bool is_alnum(uint32_t c) { return unicode_is_letter(c) || unicode_is_digit(c); }

static bool all_are(Vm *vm, const NativeArgs *a, Kind *kind, Value *out, Error *err) {
    Str s = value_str(a->self);
    Work w = { .vm = vm };
    bool all = s.n > 0;
    for (size_t length; all && s.n; s = str_sub(s, length, s.n)) {
        all = kind(utf8_decode(s, &length));
        if (!work_add(&w, 1, err)) return false;
    }
    return *out = value_from_bool(all), true;
}

bool lib_string_isalnum(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return all_are(vm, a, is_alnum, out, err); }
bool lib_string_isalpha(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return all_are(vm, a, unicode_is_letter, out, err); }
bool lib_string_isdigit(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return all_are(vm, a, unicode_is_digit, out, err); }
bool lib_string_isspace(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return all_are(vm, a, unicode_is_space, out, err); }

/* True if some character is cased and the mapping would change nothing (it changes an invalid byte). */
static bool is_mapped(Vm *vm, const NativeArgs *a, Mapping how, Value *out, Error *err) {
    Str s = value_str(a->self);
    Work w = { .vm = vm };
    bool cased = false, same = true, inside = false;
    for (size_t length; same && s.n; s = str_sub(s, length, s.n)) {
        uint32_t c = utf8_decode(s, &length);
        cased = cased || unicode_is_cased(c);
        same = map(how, c, &inside) == c && (c != 0xfffd || length > 1);
        if (!work_add(&w, 1, err)) return false;
    }
    return *out = value_from_bool(cased && same), true;
}

bool lib_string_islower(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return is_mapped(vm, a, LOWER, out, err); }
bool lib_string_isupper(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return is_mapped(vm, a, UPPER, out, err); }

/* Capitals only after an uncased character, small letters only after a cased one. Capitals are the ASCII ones
 * and title-case letters: as in the Go implementation, any other upper-case letter makes it false. */
bool lib_string_istitle(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Str s = value_str(a->self);
    Work w = { .vm = vm };
    bool cased = false, after = false, good = true;
    for (size_t length; good && s.n; s = str_sub(s, length, s.n)) {
        uint32_t c = utf8_decode(s, &length);
        bool capital = (c >= 'A' && c <= 'Z') || unicode_is_title(c), small = unicode_is_lower(c);
        good = capital ? !after : small ? after : !unicode_is_upper(c);
        after = capital || small;
        cased = cased || after;
        if (!work_add(&w, 1, err)) return false;
    }
    return *out = value_from_bool(good && cased), true;
}
