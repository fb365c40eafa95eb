#include "doors/policy_files.h"

enum { PATH_BYTES = 1000 };

const char *const policy_files_top[] = { "harness.md", "harness.yaml", "harness.yml", "AGENTS.md", "tools.json", ".mcp.json", NULL };

static bool is_plain(Str path) {
    while (path.n) {
        ptrdiff_t slash = str_find_char(path, '/');
        Str part = slash < 0 ? path : str_sub(path, 0, (size_t)slash);
        if (!part.n || str_eq(part, STR(".")) || str_eq(part, STR("..")) || memchr(part.at, 0, part.n)) return false;
        if (slash >= 0 && (size_t)slash + 1 == path.n) return false;
        path = slash < 0 ? STR("") : str_sub(path, (size_t)slash + 1, path.n);
    }
    return true;
}

bool policy_files_has(Str path) {
    for (const char *const *name = policy_files_top; *name; name++)
        if (str_eq(path, str_from(*name))) return true;
    return path.n <= PATH_BYTES && str_starts(path, STR(".harness/")) && path.n > STR(".harness/").n && is_plain(path);
}
