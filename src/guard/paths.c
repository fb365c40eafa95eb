/* Paths of calls: resolved as the kernel would, as far as the files exist. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "guard/guard.h"

enum { LINKS_MAX = 40 };

static void pop(Buf *at) {
    while (at->n > 0 && at->at[at->n - 1] != '/') at->n--;
    if (at->n > 0) at->n--;
    if (at->at) at->at[at->n] = 0;
}

/* Where `at` leads if it is a link: puts the target in front of `rest`, and removes the link from `at`. */
static bool follow(Buf *at, Buf *rest, size_t from, unsigned *links) {
    char target[PATH_MAX];
    ssize_t n = at->at && *links < LINKS_MAX ? readlink(at->at, target, sizeof target) : -1;
    if (n <= 0 || (size_t)n == sizeof target) return false;
    Buf next = { 0 };
    (*links)++;
    buf_add(&next, (Str){ target, (size_t)n });
    buf_add_char(&next, '/');
    buf_add(&next, str_sub(buf_str(rest), from, rest->n));
    if (target[0] == '/') buf_reset(at);
    else pop(at);
    buf_clear(rest);
    *rest = next;
    return true;
}

static void resolve(Buf *at, Buf *rest) {
    unsigned links = 0;
    for (size_t i = 0; i < rest->n;) {
        size_t from = i;
        while (i < rest->n && rest->at[i] != '/') i++;
        Str part = str_sub(buf_str(rest), from, i);
        if (i < rest->n) i++;
        if (part.n == 0 || str_eq(part, STR("."))) continue;
        if (str_eq(part, STR(".."))) {
            pop(at);
            continue;
        }
        buf_add_char(at, '/');
        buf_add(at, part);
        if (follow(at, rest, i, &links)) i = 0;
    }
}

Str guard_path_resolve(Str path, Str from, Arena *arena) {
    Buf at = { 0 }, rest = { 0 };
    const char *home = getenv("HOME");
    bool tilde = str_eq(path, STR("~")) || str_starts(path, STR("~/"));
    if (tilde && home && home[0] == '/') {
        buf_add(&rest, str_from(home));
        path = str_sub(path, 1, path.n);
    } else if (!str_starts(path, STR("/"))) {
        buf_add(&rest, from);
    }
    buf_add_char(&rest, '/');
    buf_add(&rest, path);
    resolve(&at, &rest);
    Str out = arena_str(arena, at.n ? buf_str(&at) : STR("/"));
    buf_clear(&at);
    buf_clear(&rest);
    return out;
}

Str guard_path_relative(Str absolute, Str root) {
    if (str_eq(absolute, root)) return STR(".");
    if (str_eq(root, STR("/"))) return str_sub(absolute, 1, absolute.n);
    if (!str_starts(absolute, root) || absolute.at[root.n] != '/') return absolute;
    return str_sub(absolute, root.n + 1, absolute.n);
}
