#include "base/nearly.h"
#include <strings.h>

static bool same_but_case(Str a, Str b) { return a.n == b.n && strncasecmp(a.at, b.at, a.n) == 0; }

Str nearly_project_file(Str name, bool folder) {
    static const Str files[] = { STR("harness.md"), STR("harness.yaml"), STR("harness.yml"), STR("tools.json"), STR(".mcp.json"), STR("space.manifest.json") };
    static const struct { Str name, meant; } others[] = {
        { STR("harness.markdown"), STR("harness.md") }, { STR("harness.mdx"), STR("harness.md") }, { STR("harness.txt"), STR("harness.md") },
        { STR("harness.json"), STR("harness.yaml") }, { STR("harness.toml"), STR("harness.yaml") }, { STR(".harness.md"), STR("harness.md") },
        { STR(".harness.yaml"), STR("harness.yaml") }, { STR(".harness.yml"), STR("harness.yml") },
    };
    static const Str home = STR(".harness");
    if (name.n == 0 || str_eq(name, home)) return (Str){ 0 };
    if (folder) return name.at[0] == '.' && (same_but_case(name, home) || str_within(name, home, 1)) ? home : STR("");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (same_but_case(name, files[i])) return str_eq(name, files[i]) ? STR("") : files[i];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (same_but_case(name, others[i].name)) return others[i].meant;
    return (Str){ 0 };
}
