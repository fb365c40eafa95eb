/* A pattern, a line break, a text: searching the whole text, with what was learned about the pattern, finds the same lines as
 * searching each line alone. */
#include <stdlib.h>
#include "tool/grep_search.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool ok) { if (!ok) abort(); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    Arena arena = { 0 };
    Str rest = { (const char *)data, n }, pattern;
    GrepPattern p = { 0 }, plain = { 0 };
    if (n > 4096 || !str_next_line(&rest, &pattern) || !grep_pattern_init(&p, pattern, false, &arena, NULL)) return arena_clear(&arena), 0;
    plain.regex = regex_new(pattern, REGEX_ANY_TEXT | REGEX_MULTILINE, NULL);
    plain.by_line = true;
    GrepFile a = { 0 }, b = { 0 };
    Error err = { 0 };
    if (grep_search(&p, rest, 1, 50, NULL, &a, &err) && grep_search(&plain, rest, 1, 50, NULL, &b, &err)) {
        require(a.n == b.n);
        for (size_t i = 0; i < a.n; i++) require(a.match[i].line == b.match[i].line && str_eq(a.match[i].text, b.match[i].text));
    }
    arena_clear(&a.arena);
    arena_clear(&b.arena);
    grep_pattern_clear(&p);
    grep_pattern_clear(&plain);
    arena_clear(&arena);
    return 0;
}
