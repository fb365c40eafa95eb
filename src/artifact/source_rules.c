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

/* Narrower than git's own rule: excludes characters that are special in a refspec. */
bool source_tag_ok(Str ref) {
    if (ref.n == 0 || ref.n > 200 || !is_alnum(ref.at[0]) || str_find(ref, STR("..")) >= 0 || str_find(ref, STR("//")) >= 0
        || str_find(ref, STR("@{")) >= 0 || str_ends(ref, STR("/")) || str_ends(ref, STR(".")) || str_ends(ref, STR(".lock")))
        return false;
    for (size_t i = 0; i < ref.n; i++)
        if (!is_alnum(ref.at[i]) && !strchr("._/+@-=,", ref.at[i])) return false;
    return true;
}

/* ---- URLs ---- */

typedef struct Where { Str scheme, rest; } Where;      /* rest: HOST/PATH without user and without a final .git */

/* "git@host:path" means ssh, as in git. */
static bool split_scp(Str url, Str *host, Str *path) {
    ptrdiff_t colon = str_find_char(url, ':'), slash = str_find_char(url, '/');
    if (colon <= 0 || (slash >= 0 && slash < colon)) return false;
    *host = str_sub(url, 0, (size_t)colon);
    *path = str_sub(url, (size_t)colon + 1, url.n);
    return true;
}

/* HOST/PATH: splits the authority as RFC 3986 does, so that "HOST?@other" is HOST here as it is for the client. */
static void split_authority(Str text, Str *authority, Str *path) {
    size_t n = 0;
    while (n < text.n && text.at[n] != '/' && text.at[n] != '?' && text.at[n] != '#') n++;
    *authority = str_sub(text, 0, n);
    *path = str_sub(text, n, text.n);
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
        w.scheme = lower(arena, str_sub(text, 0, (size_t)scheme));
        split_authority(str_sub(text, (size_t)scheme + 3, text.n), &authority, &path);
    } else if (split_scp(text, &authority, &path)) {
        w.scheme = STR("ssh");
        path = str_from(arena_fmt(arena, "/" STR_FMT, STR_ARG(path)));
    } else {
        split_authority(text, &authority, &path);
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

/* Letters, digits and `others`, starting with a letter or digit, so that it cannot be read as an option, a port or
 * another URL. */
static bool plain_name(Str s, const char *others) {
    if (s.n == 0 || !is_alnum(s.at[0])) return false;
    for (size_t i = 0; i < s.n; i++)
        if (!is_alnum(s.at[i]) && !strchr(others, s.at[i])) return false;
    return true;
}

/* NAME, NAME:PORT or [ADDRESS]:PORT, in ASCII; rejects what a client could read as another host. */
static bool host_ok(Str host) {
    Str port = { 0 };
    ptrdiff_t close = str_find_char(host, ']'), colon = str_find_char(close < 0 ? host : str_sub(host, (size_t)close, host.n), ':');
    if (colon >= 0) {
        size_t at = (size_t)colon + (close < 0 ? 0 : (size_t)close);
        port = str_sub(host, at + 1, host.n);
        host = str_sub(host, 0, at);
        if (port.n == 0 || port.n > 5) return false;
    }
    for (size_t i = 0; i < port.n; i++)
        if (port.at[i] < '0' || port.at[i] > '9') return false;
    if (close < 0) return plain_name(host, ".-_");
    if (host.n < 4 || host.at[0] != '[' || host.at[host.n - 1] != ']') return false;
    for (size_t i = 1; i + 1 < host.n; i++)
        if (!strchr("0123456789abcdefABCDEF:.", host.at[i])) return false;
    return true;
}

/* USER@HOST or HOST. */
static bool ssh_host_ok(Str authority, bool needs_user) {
    ptrdiff_t at = str_find_char(authority, '@');
    if (at < 0) return !needs_user && host_ok(authority);
    return plain_name(str_sub(authority, 0, (size_t)at), ".-_") && host_ok(str_sub(authority, (size_t)at + 1, authority.n));
}

static bool scp_ok(Str url, const char **why) {
    Str host, path;
    if (!split_scp(url, &host, &path) || str_find_char(host, '@') <= 0 || path.n == 0) return false;
    *why = "must be USER@HOST:PATH with a plain user and host";
    if (!ssh_host_ok(host, true) || str_find_char(host, ':') >= 0) return false;
    *why = "must not contain ? or #";
    if (str_find_char(path, '?') >= 0 || str_find_char(path, '#') >= 0) return false;
    *why = "must not have the segments . or ..";
    return !has_dots(path);
}

static bool remote_ok(Str rest, bool ssh, const char **why) {
    Str authority, path;
    split_authority(rest, &authority, &path);
    *why = ssh ? "must name a plain host before its path, with at most a user: ssh://git@HOST/PATH"
               : "must name a plain host before its path, without a user (do not store keys or passwords in a project; ssh uses the keys of its agent)";
    if (ssh ? !ssh_host_ok(authority, false) : !host_ok(authority)) return false;
    *why = "must not contain ? or #";
    if (str_find_char(path, '?') >= 0 || str_find_char(path, '#') >= 0) return false;
    *why = "must name a path after the host";
    return path.n > 1;
}

bool source_url_ok(Str url, const char **why) {
    static const struct { Str prefix; bool remote, ssh; } schemes[] = {
        { STR("https://"), true, false }, { STR("http://"), true, false }, { STR("git://"), true, false }, { STR("ssh://"), true, true },
        { STR("file:///"), false, false }, { STR("/"), false, false },
    };
    *why = "must not contain spaces, control characters, \\ or %";
    for (size_t i = 0; i < url.n; i++)
        if ((unsigned char)url.at[i] <= 0x20 || url.at[i] == 0x7f || url.at[i] == '\\' || url.at[i] == '%') return false;
    *why = "must not have the segments . or ..";
    if (has_dots(url)) return false;
    *why = "must be an https, ssh or file URL";
    if (url.n > 1000 || str_find(url, STR("::")) >= 0) return false;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (str_starts(url, schemes[i].prefix))
            return !schemes[i].remote || remote_ok(str_sub(url, schemes[i].prefix.n, url.n), schemes[i].ssh, why);
    return str_find(url, STR("://")) < 0 && scp_ok(url, why);
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
