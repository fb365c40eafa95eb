#include "artifact/source.h"
#include "base/path.h"
#include "base/vec.h"

bool source_checksum_ok(Str checksum) {
    if (checksum.n != 7 + 64 || !str_starts(checksum, STR("sha256:"))) return false;
    for (size_t i = 7; i < checksum.n; i++) {
        char c = checksum.at[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
    }
    return true;
}

static bool is_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

/* Narrower than git's own rule: nothing that a refspec gives a meaning to. */
bool source_tag_ok(Str ref) {
    if (ref.n == 0 || ref.n > 200 || !is_alnum(ref.at[0]) || str_find(ref, STR("..")) >= 0 || str_find(ref, STR("//")) >= 0
        || str_find(ref, STR("@{")) >= 0 || str_ends(ref, STR("/")) || str_ends(ref, STR(".")) || str_ends(ref, STR(".lock")))
        return false;
    for (size_t i = 0; i < ref.n; i++)
        if (!is_alnum(ref.at[i]) && !strchr("._/+@-=,", ref.at[i])) return false;
    return true;
}

/* ---- URLs ---- */

typedef struct Where { Str scheme, rest; } Where;      /* rest: HOST/PATH without user, without .git at the end */

/* "git@host:path" is ssh, as for git itself. */
static bool split_scp(Str url, Str *host, Str *path) {
    ptrdiff_t colon = str_find_char(url, ':'), slash = str_find_char(url, '/');
    if (colon <= 0 || (slash >= 0 && slash < colon)) return false;
    *host = str_sub(url, 0, (size_t)colon);
    *path = str_sub(url, (size_t)colon + 1, url.n);
    return true;
}

static Str without_user(Str authority) {
    for (size_t i = authority.n; i-- > 0;)
        if (authority.at[i] == '@') return str_sub(authority, i + 1, authority.n);
    return authority;
}

static Str lower(Arena *arena, Str s) {
    char *out = arena_alloc(arena, s.n + 1);
    for (size_t i = 0; i < s.n; i++) out[i] = (char)(s.at[i] >= 'A' && s.at[i] <= 'Z' ? s.at[i] + ('a' - 'A') : s.at[i]);
    out[s.n] = 0;
    return (Str){ out, s.n };
}

static Where where_of(Arena *arena, Str text) {
    Where w = { .scheme = STR("") };
    Str authority, path;
    ptrdiff_t scheme = str_find(text, STR("://"));
    if (scheme >= 0) {
        Str rest = str_sub(text, (size_t)scheme + 3, text.n);
        ptrdiff_t slash = str_find_char(rest, '/');
        w.scheme = lower(arena, str_sub(text, 0, (size_t)scheme));
        authority = str_sub(rest, 0, slash < 0 ? rest.n : (size_t)slash);
        path = str_sub(rest, slash < 0 ? rest.n : (size_t)slash, rest.n);
    } else if (split_scp(text, &authority, &path)) {
        w.scheme = STR("ssh");
        path = str_from(arena_fmt(arena, "/" STR_FMT, STR_ARG(path)));
    } else {
        ptrdiff_t slash = str_find_char(text, '/');
        authority = str_sub(text, 0, slash < 0 ? text.n : (size_t)slash);
        path = str_sub(text, slash < 0 ? text.n : (size_t)slash, text.n);
    }
    while (str_ends(path, STR("/"))) path.n--;
    if (str_ends(path, STR(".git"))) path.n -= 4;
    w.rest = str_from(arena_fmt(arena, STR_FMT STR_FMT, STR_ARG(lower(arena, without_user(authority))), STR_ARG(path)));
    return w;
}

static bool has_dots(Str path) {
    for (size_t from = 0; from <= path.n;) {
        ptrdiff_t slash = str_find_char(str_sub(path, from, path.n), '/');
        Str part = str_sub(path, from, slash < 0 ? path.n : from + (size_t)slash);
        if (str_eq(part, STR(".")) || str_eq(part, STR(".."))) return true;
        from += part.n + 1;
    }
    return false;
}

bool source_url_ok(Str url, const char **why) {
    static const Str schemes[] = { STR("https://"), STR("http://"), STR("ssh://"), STR("git://"), STR("file://"), STR("/") };
    Str host, path;
    bool known = split_scp(url, &host, &path) && str_find(url, STR("://")) < 0 && str_find_char(host, '@') > 0 && path.n;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) known = known || str_starts(url, schemes[i]);
    *why = "must be an https, ssh or file URL";
    if (!known || url.n > 1000 || str_find(url, STR("::")) >= 0) return false;
    *why = "must not contain spaces, control characters, \\ or %";
    for (size_t i = 0; i < url.n; i++)
        if ((unsigned char)url.at[i] <= 0x20 || url.at[i] == 0x7f || url.at[i] == '\\' || url.at[i] == '%') return false;
    *why = "must not have the segments . or ..";
    return !has_dots(url);
}

/* ---- trust ---- */

static bool leads_to(Str entry, Str where) {
    return entry.n && str_starts(where, entry) && (where.n == entry.n || where.at[entry.n] == '/' || str_ends(entry, STR("/")));
}

static bool local_matches(Arena *arena, Str entry, Str where, Str root) {
    if (str_starts(entry, STR("file://"))) entry = str_sub(entry, 7, entry.n);
    return leads_to(source_absolute(arena, root, entry), where);
}

static bool url_matches(Arena *arena, Str entry, Where where) {
    Where e = where_of(arena, entry);
    return (e.scheme.n == 0 || str_eq(e.scheme, where.scheme)) && leads_to(e.rest, where.rest);
}

bool source_is_trusted(Arena *arena, Str where, bool local, const StrList *trusted, Str root) {
    Where url = { 0 };
    if (!local) url = where_of(arena, where);
    for (size_t i = 0; i < trusted->n; i++) {
        Str entry = trusted->at[i];
        if (entry.n && (local ? local_matches(arena, entry, where, root) : url_matches(arena, entry, url))) return true;
    }
    return false;
}

Str source_absolute(Arena *arena, Str root, Str path) {
    Str whole = str_starts(path, STR("/")) ? path : str_from(arena_fmt(arena, STR_FMT "/" STR_FMT, STR_ARG(root), STR_ARG(path)));
    return path_normal(arena, whole);
}
