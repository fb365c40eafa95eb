#include "cli/mcp_entry.h"
#include <stdio.h>
#include "cli/replace_file.h"
#include "cli/terminal/trust_prompt.h"

void mcp_entry_file(const Project *p, McpEntryFile *out) {
    Str file = p->settings.file;
    *out = (McpEntryFile){ .exists = file.n > 0, .yaml = str_ends(file, STR(".yaml")) || str_ends(file, STR(".yml")) };
    if (file.n && file.at[0] == '/') snprintf(out->path, sizeof out->path, STR_FMT, STR_ARG(file));
    else snprintf(out->path, sizeof out->path, STR_FMT "/" STR_FMT, STR_ARG(p->root), STR_ARG(file.n ? file : STR("harness.md")));
}

static bool is_fence(Str line) { return str_starts(line, STR("---")) && str_trim(line).n == 3; }

void mcp_entry_look(const McpEntryFile *f, Str text, McpEntryPlaces *out) {
    size_t at = 0, lines = 0;
    bool inside = false, stepped = false;
    *out = (McpEntryPlaces){ .step = STR("  "), .end = text.n };
    for (Str rest = text, line; str_next_line(&rest, &line); at = (size_t)(rest.at - text.at), lines++) {
        if (!f->yaml && lines == 0) continue;                     /* the opening fence */
        if (!f->yaml && is_fence(line)) {
            out->end = at;
            break;
        }
        bool blank = str_trim(line).n == 0, comment = !blank && str_trim(line).at[0] == '#', deep = line.n && (line.at[0] == ' ' || line.at[0] == '\t');
        if (inside && !blank && !comment && !deep) inside = false;
        if (inside && deep && !blank) {
            Str trimmed = str_trim(line);
            if (!stepped && !comment) out->step = (Str){ line.at, (size_t)(trimmed.at - line.at) }, stepped = true;
            out->block_end = (size_t)(rest.at - text.at);
        }
        if (!deep && str_starts(line, STR("mcp_servers:"))) {
            inside = out->found = true;
            out->key = at;
            out->key_end = out->block_end = (size_t)(rest.at - text.at);
            out->rest = str_trim(str_sub(line, 12, line.n));
        }
    }
}

bool mcp_entry_is_block(Str rest) { return rest.n == 0 || rest.at[0] == '#'; }

bool mcp_entry_write(const char *path, Str text, Error *err) { return replace_file(path, text, 0644, err); }

bool mcp_entry_has(const Project *p, Str server) {
    for (size_t i = 0; i < p->n_servers; i++)
        if (str_eq(p->servers[i].name, server)) return true;
    return false;
}

bool mcp_entry_trusted(Cli *cli, bool *out, Error *err) {
    Runtime *rt = trust_prompt_read(cli, NULL, err);
    bool ok = rt && trust_prompt_trusted(rt, out, err);
    runtime_close(rt);
    return ok;
}

bool mcp_entry_keep_trust(Cli *cli, Error *err) {
    Runtime *rt = trust_prompt_read(cli, NULL, err);
    bool ok = rt && trust_give(runtime_trust_subject(rt), false, err);
    runtime_close(rt);
    return ok;
}
