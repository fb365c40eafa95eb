#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/regex.h"

#include <pcre2.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/regex_ecma.h"
#include "base/utf8.h"

#ifdef HARNESS_HOSTILE
enum { CHUNK_START = 1, PAIRS = 1, PACE_MAX = 2 };
#else
enum { CHUNK_START = 64, PAIRS = 16, PACE_MAX = 4096 };
#endif
enum { CHUNK_MAX = 1 << 20, CHUNK_SLOW_NS = 1000000, DEPTH_MAX = 20000 };

/* Immutable except for `pace`: the length of a first section that was fast enough in earlier texts (for REGEX_ANY_TEXT,
 * which searches many). */
struct Regex { pcre2_code *code; uint32_t groups; bool jit, any_text, anchored; atomic_size_t *pace; };

/* ---- per-thread data ---- */

typedef struct { pcre2_match_data *data; pcre2_match_context *context; } Scratch;

static pthread_key_t scratch_key;
static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;

static void scratch_free(void *p) {
    Scratch *s = p;
    pcre2_match_data_free(s->data);
    pcre2_match_context_free(s->context);
    free(s);
}

static void make_key(void) {
    if (pthread_key_create(&scratch_key, scratch_free) != 0) abort();   /* out of keys: the process cannot work */
}

static Scratch *scratch_get(void) {
    pthread_once(&scratch_once, make_key);
    Scratch *s = pthread_getspecific(scratch_key);
    if (s) return s;
    s = mem_alloc(sizeof *s);
    s->data = pcre2_match_data_create(PAIRS, NULL);
    s->context = pcre2_match_context_create(NULL);
    if (!s->data || !s->context || pthread_setspecific(scratch_key, s) != 0) abort();    /* out of memory */
    pcre2_set_match_limit(s->context, REGEX_STEPS_MAX);
    pcre2_set_depth_limit(s->context, DEPTH_MAX);
    pcre2_set_heap_limit(s->context, REGEX_HEAP_KIB);
    return s;
}

/* ---- compiling ---- */

static bool complain(Error *err, uint32_t column, const char *text) {
    if (column) return error_set(err, ERR_PARSE, "regular expression: at %u: %s", column, text);
    return error_set(err, ERR_PARSE, "regular expression: %s", text);
}

static pcre2_code *compile(Str pattern, unsigned flags, bool places, Error *err) {
    uint32_t options = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT | PCRE2_DOLLAR_ENDONLY;
    if (flags & REGEX_ECMA) options |= PCRE2_MATCH_UNSET_BACKREF;
    if (flags & REGEX_IGNORE_CASE) options |= PCRE2_CASELESS;
    if (flags & REGEX_MULTILINE) options |= PCRE2_MULTILINE;
    if (flags & REGEX_DOTALL) options |= PCRE2_DOTALL;
    if (flags & REGEX_ANY_TEXT) options |= PCRE2_MATCH_INVALID_UTF;
    if (flags & REGEX_ANCHORED) options |= PCRE2_ANCHORED;
    int code;
    size_t offset;
    pcre2_code *out = pcre2_compile((PCRE2_SPTR)pattern.at, pattern.n, options, &code, &offset, NULL);
    if (out) return out;
    char text[128];
    if (pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof text) < 0) strcpy(text, "is not valid");
    complain(err, places ? (uint32_t)utf8_count(str_sub(pattern, 0, offset)) + 1 : 0, text);
    return NULL;
}

/* The JIT of PCRE2 before 10.43 has a bug under PCRE2_MATCH_INVALID_UTF: \D, \S and \W match no character beyond ASCII.
 * The interpreter is correct. False positives only cost speed. */
static bool jit_is_wrong(Str pattern, unsigned flags) {
    for (size_t i = 0; flags & REGEX_ANY_TEXT && i + 1 < pattern.n; i++)
        if (pattern.at[i] == '\\' && pattern.at[i + 1] && strchr("DSW", pattern.at[i + 1])) return true;
    return false;
}

Regex *regex_new(Str pattern, unsigned flags, Error *err) {
    if (!pattern.at) pattern = STR("");
    if (pattern.n > REGEX_PATTERN_MAX)
        return error_set(err, ERR_LIMIT, "regular expression: longer than %d bytes", REGEX_PATTERN_MAX), NULL;
    size_t valid = utf8_valid_prefix(pattern);
    if (valid < pattern.n)
        return complain(err, (uint32_t)utf8_count(str_sub(pattern, 0, valid)) + 1, "is not valid UTF-8"), NULL;
    Buf ecma = { 0 };
    pcre2_code *code = NULL;
    if (!(flags & REGEX_ECMA)) code = compile(pattern, flags, true, err);
    else if (!regex_ecma_translate(pattern, &ecma, err)) error_wrap(err, "regular expression");
    else code = compile(buf_str(&ecma), flags, false, err);
    buf_clear(&ecma);
    if (!code) return NULL;
    uint32_t groups = 0;
    pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
    if (groups > REGEX_GROUPS_MAX) {
        pcre2_code_free(code);
        return error_set(err, ERR_LIMIT, "regular expression: too many groups (limit %d)", REGEX_GROUPS_MAX), NULL;
    }
    bool jit = !jit_is_wrong(pattern, flags) && pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
    Regex *re = mem_alloc(sizeof *re);
    *re = (Regex){ .code = code, .groups = groups, .jit = jit,
                   .any_text = flags & REGEX_ANY_TEXT, .anchored = flags & REGEX_ANCHORED, .pace = mem_alloc(sizeof *re->pace) };
    atomic_init(re->pace, CHUNK_START);
    return re;
}

void regex_free(Regex *re) {
    if (!re) return;
    pcre2_code_free(re->code);
    free(re->pace);
    free(re);
}

size_t regex_groups(const Regex *re) { return re->groups; }
bool regex_is_native(const Regex *re) { return re->jit; }

/* ---- searching ---- */

static bool search_failed(int code, Error *err) {
    switch (code) {
    case PCRE2_ERROR_MATCHLIMIT: return error_set(err, ERR_LIMIT, "regular expression: too many steps");
    case PCRE2_ERROR_DEPTHLIMIT: return error_set(err, ERR_LIMIT, "regular expression: too deep");
    case PCRE2_ERROR_HEAPLIMIT: return error_set(err, ERR_LIMIT, "regular expression: needs too much memory");
    default: return error_set(err, ERR_INTERNAL, "regular expression: search failed (%d)", code);
    }
}

/* The JIT has a small stack: when it overflows, repeats the search in the interpreter, which uses the heap. */
static int run_pcre2(const Regex *re, Str text, size_t start, Scratch *s, pcre2_match_data *data) {
    PCRE2_SPTR at = (PCRE2_SPTR)text.at;
    if (re->jit) {
        int code = pcre2_jit_match(re->code, at, text.n, start, 0, data, s->context);
        if (code != PCRE2_ERROR_JIT_STACKLIMIT) return code;
    }
    uint32_t options = PCRE2_NO_JIT | (re->any_text ? 0 : PCRE2_NO_UTF_CHECK);
    return pcre2_match(re->code, at, text.n, start, options, data, s->context);
}

/* One PCRE2 call; a match must not start after `last`. */
static int search_once(const Regex *re, Str text, size_t start, size_t last, Scratch *s, pcre2_match_data *data) {
    if (last < text.n) pcre2_set_offset_limit(s->context, last);
    int code = run_pcre2(re, text, start, s, data);
    if (last < text.n) pcre2_set_offset_limit(s->context, PCRE2_UNSET);
    return code;
}

static size_t char_start(Str text, size_t at) {
    while (at < text.n && ((unsigned char)text.at[at] & 0xC0) == 0x80) at++;
    return at;
}

/* PCRE2 counts steps per starting position, so a long text is searched in sections of starting positions, growing while
 * they are fast, with checks of time and cancel between them. */
static bool search(const Regex *re, Str text, size_t start, Scratch *s, pcre2_match_data *data, Cancel *cancel, bool *found,
                   Error *err) {
    int64_t begin = 0;
    for (size_t chunk = atomic_load_explicit(re->pace, memory_order_relaxed);;) {
        size_t last = !re->anchored && text.n - start > chunk ? char_start(text, start + chunk) : text.n;
        int64_t before = last < text.n ? clock_mono_ns() : 0;
        int code = search_once(re, text, start, last, s, data);
        if (code >= 0) return *found = true, true;
        if (code != PCRE2_ERROR_NOMATCH) return search_failed(code, err);
        if (last >= text.n) return *found = false, true;
        if (!cancel_check(cancel, err)) return false;
        int64_t now = clock_mono_ns();
        if (!begin) begin = before;
        if (now - begin > REGEX_TIME_MS * INT64_C(1000000)) return error_set(err, ERR_LIMIT, "regular expression: takes too long");
        if (now - before < CHUNK_SLOW_NS && chunk < CHUNK_MAX) chunk *= 2;
        if (re->any_text)
            atomic_store_explicit(re->pace, now - before >= CHUNK_SLOW_NS ? CHUNK_START : chunk < PACE_MAX ? chunk : PACE_MAX,
                                  memory_order_relaxed);
        start = char_start(text, last + 1);
    }
}

static bool valid_text(const Regex *re, Str text, Error *err) {
    return re->any_text || utf8_valid(text) || error_set(err, ERR_VALIDATION, "regular expression: the text is not valid UTF-8");
}

bool regex_find_next(const Regex *re, Str text, size_t start, RegexSpan *spans, size_t n, Cancel *cancel, bool *found, Error *err) {
    if (!text.at) text = STR("");
    if (start > text.n) return *found = false, true;
    Scratch *s = scratch_get();
    pcre2_match_data *data = n <= PAIRS ? s->data : pcre2_match_data_create((uint32_t)n, NULL);
    if (!data) abort();                                /* out of memory */
    bool ok = search(re, text, start, s, data, cancel, found, err);
    if (ok && *found) {
        const size_t *pair = pcre2_get_ovector_pointer(data);
        for (size_t i = 0; i < n; i++)
            spans[i] = i <= re->groups ? (RegexSpan){ pair[2 * i], pair[2 * i + 1] } : (RegexSpan){ REGEX_UNSET, REGEX_UNSET };
    }
    if (data != s->data) pcre2_match_data_free(data);
    return ok;
}

bool regex_find(const Regex *re, Str text, size_t start, RegexSpan *spans, size_t n, Cancel *cancel, bool *found, Error *err) {
    return valid_text(re, text, err) && regex_find_next(re, text, start, spans, n, cancel, found, err);
}

bool regex_test(const Regex *re, Str text, bool *found, Error *err) {
    if (!text.at) text = STR("");
    if (!valid_text(re, text, err)) return false;
    Scratch *s = scratch_get();
    return search(re, text, 0, s, s->data, NULL, found, err);
}
