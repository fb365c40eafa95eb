/* A patch. If it is accepted, every line that a vendor could read as a file header must name a file of the result. */
#include <stdlib.h>
#include "guard/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool ok) { if (!ok) abort(); }

static bool names(const GuardPatch *p, Str path) {
    for (size_t i = 0; i < p->n; i++)
        if (str_eq(p->at[i].path, path) || str_eq(p->at[i].to, path)) return true;
    return false;
}

static void check_line(const GuardPatch *p, Str line) {
    static const char *const headers[] = { "*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:" };
    Str s = str_trim(line);
    for (size_t i = 0; i < 4; i++)
        if (str_starts(s, str_from(headers[i]))) require(names(p, str_trim(str_sub(s, strlen(headers[i]), s.n))));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    Str text = { (const char *)data, n }, rest = text, line;
    Arena arena = { 0 };
    GuardPatch patch = { 0 };
    Error err = { 0 };
    if (guard_patch_read(text, &arena, &patch, &err)) {
        require(patch.n > 0);
        for (size_t i = 0; i < patch.n; i++) require(patch.at[i].path.n > 0 && memchr(patch.at[i].path.at, '\n', patch.at[i].path.n) == NULL);
        while (str_next_line(&rest, &line)) check_line(&patch, line);
    } else {
        require(err.msg[0] != 0);
    }
    arena_clear(&arena);
    return 0;
}
