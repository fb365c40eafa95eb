/* OpenCode has no hooks in its configuration, only plugins: this one runs `harness guard` before each tool call and throws unless the answer
 * allows the call. */
#include "guard/install.h"
#include "value/json.h"

#define MARK "// harness guard (harness guard uninstall opencode removes this file)\n"

bool guard_plugin_is_ours(Str text) { return str_starts(text, STR(MARK)); }

static void add_arguments(const GuardInstall *g, Buf *out) {
    buf_add_fmt(out, "[\"guard\", \"%s\"", vendor_name(g->vendor));
    if (g->scope == GUARD_SCOPE_PROJECT) {
        buf_add(out, STR(", \"--project\", "));
        json_write_string(out, str_from(g->project), true);
    }
    buf_add_char(out, ']');
}

void guard_plugin_text(const GuardInstall *g, Buf *out) {
    buf_add(out, STR(MARK "import { spawnSync } from \"node:child_process\"\n\n"
                     "const program = "));
    json_write_string(out, str_from(g->program), true);
    buf_add(out, STR("\nconst args = "));
    add_arguments(g, out);
    buf_add(out, STR("\n\n"
        "const ask = payload => {\n"
        "  const r = spawnSync(program, args, { timeout: 30000, encoding: \"utf8\", maxBuffer: 16 << 20, input: JSON.stringify(payload) })\n"
        "  let answer = null\n"
        "  try { answer = JSON.parse(r.stdout) } catch {}\n"
        "  if (r.status !== 0 || answer === null || answer.decision !== \"allow\")\n"
        "    throw new Error(answer?.reason ?? \"harness guard gave no answer, so the call is refused\")\n"
        "  return answer\n"
        "}\n\n"
        "export const HarnessGuard = async ({ directory, worktree }) => ({\n"
        "  \"tool.execute.before\": async (input, output) => {\n"
        "    const answer = ask({ hook_event_name: \"tool.execute.before\", ...input, args: output.args, cwd: directory, worktree })\n"
        "    if (!answer.args) return\n"
        "    for (const key of Object.keys(output.args)) delete output.args[key]\n"
        "    Object.assign(output.args, answer.args)\n"
        "  },\n"
        "})\n"));
}
