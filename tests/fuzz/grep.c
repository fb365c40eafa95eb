/* A pattern, a newline, a text. Searching the text in pieces, with the pattern's prefilter, must find the same lines as
 * searching each line alone. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tool/builtin/grep_search.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { CONTEXT = 2, LIMIT = 50 };

static void require(bool ok) { if (!ok) abort(); }

static void require_same(const Str *a, size_t a_n, const Str *b, size_t b_n) {
    require(a_n == b_n);
    for (size_t i = 0; i < a_n; i++) require(str_eq(a[i], b[i]));
}

static void compare(const GrepPattern *p, const GrepPattern *plain, int fd, size_t piece) {
    GrepFile a = { 0 }, b = { 0 };
    Buf text = { 0 };
    GrepSearch how = { .pattern = p, .fd = fd, .context = CONTEXT, .limit = LIMIT, .piece = piece, .text = &text }, whole = how;
    whole.pattern = plain;
    whole.piece = 0;
    Error err = { 0 };
    lseek(fd, 0, SEEK_SET);
    bool ok = grep_search(&how, NULL, &a, &err);
    lseek(fd, 0, SEEK_SET);
    if (ok && grep_search(&whole, NULL, &b, &err)) {
        require(a.n == b.n);
        for (size_t i = 0; i < a.n; i++) {
            const GrepMatch *x = &a.match[i], *y = &b.match[i];
            require(x->line == y->line && x->column == y->column && str_eq(x->text, y->text));
            require_same(x->before, x->before_n, y->before, y->before_n);
            require_same(x->after, x->after_n, y->after, y->after_n);
        }
    }
    buf_clear(&text);
    arena_clear(&a.arena);
    arena_clear(&b.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static int fd = -1;
    if (fd < 0) fd = memfd_create("text", MFD_CLOEXEC);
    Arena arena = { 0 };
    Str rest = { (const char *)data, n }, pattern;
    GrepPattern p = { 0 }, plain = { .by_line = true };
    if (n > 4096 || !str_next_line(&rest, &pattern) || !grep_pattern_init(&p, pattern, false, &arena, NULL)) return arena_clear(&arena), 0;
    plain.regex = regex_new(pattern, REGEX_ANY_TEXT | REGEX_MULTILINE, NULL);
    require(ftruncate(fd, 0) == 0 && pwrite(fd, rest.at, rest.n, 0) == (ssize_t)rest.n);
    compare(&p, &plain, fd, 0);
    compare(&p, &plain, fd, 1 + n % 64);
    grep_pattern_clear(&p);
    grep_pattern_clear(&plain);
    arena_clear(&arena);
    return 0;
}
