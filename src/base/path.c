#include "base/path.h"

Str path_normal(Arena *arena, Str path) {
    char *out = arena_alloc(arena, path.n + 2);
    size_t n = 0;
    for (size_t i = 0; i < path.n;) {
        while (i < path.n && path.at[i] == '/') i++;
        size_t from = i;
        while (i < path.n && path.at[i] != '/') i++;
        Str part = str_sub(path, from, i);
        if (part.n == 0 || str_eq(part, STR("."))) continue;
        if (str_eq(part, STR(".."))) {
            while (n > 0 && out[--n] != '/') {}
            continue;
        }
        out[n++] = '/';
        memcpy(out + n, part.at, part.n);
        n += part.n;
    }
    if (n == 0) out[n++] = '/';
    out[n] = 0;
    return (Str){ out, n };
}
