#include "script/pattern.h"

#include <stdlib.h>
#include "base/hash.h"

static void drop(Pattern *p) {
    free(p->text);
    regex_free(p->re);
    *p = (Pattern){ 0 };
}

const Regex *pattern_get(Patterns *patterns, Str pattern, unsigned flags, Regex **own, Error *err) {
    *own = NULL;
    if (!patterns || pattern.n > PATTERN_KEPT_MAX) return *own = regex_new(pattern, flags, err);
    Pattern *p = &patterns->slot[(hash_bytes(pattern) ^ flags) % PATTERN_KEPT];
    if (p->re && p->flags == flags && str_eq((Str){ p->text, p->n }, pattern)) return p->re;
    Regex *re = regex_new(pattern, flags, err);
    if (!re) return NULL;
    drop(p);
    *p = (Pattern){ str_dup(pattern), pattern.n, flags, re };
    return re;
}

void pattern_clear(Patterns *patterns) {
    for (size_t i = 0; i < PATTERN_KEPT; i++) drop(&patterns->slot[i]);
}
