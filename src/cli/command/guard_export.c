/* harness guard export codex-rules: rules that deny shell commands, as Codex's exec policy. Codex checks it without a process, so it also applies when
 * a hook does not run. It compares the first words of a command only. */
#include "cli/report.h"
#include "value/json.h"

static bool is_prefix(const StrList *words) {
    for (size_t i = 0; i < words->n; i++)
        for (size_t k = 0; k < words->at[i].n; k++)
            if (strchr("*?[", words->at[i].at[k])) return false;
    return true;
}

static bool has_option(const StrList *words) {
    for (size_t i = 1; i < words->n; i++)
        if (words->at[i].n && words->at[i].at[0] == '-') return true;
    return false;
}

static void add_rule(Buf *out, const RuleDef *r) {
    if (has_option(&r->shell)) buf_add(out, STR("# only where the options come in this place\n"));
    buf_add(out, STR("prefix_rule(pattern = ["));
    for (size_t i = 0; i < r->shell.n; i++) {
        if (i) buf_add(out, STR(", "));
        json_write_string(out, r->shell.at[i], false);
    }
    buf_add(out, STR("], decision = \"forbidden\", justification = "));
    json_write_string(out, r->because.n ? r->because : r->name, false);
    buf_add(out, STR(")\n"));
}

static bool concerns(const RuleDef *r) {
    return r->decide == RULE_DENY && r->shell.n && (r->vendors == 0 || (r->vendors & VENDOR_BIT(VENDOR_CODEX)));
}

int command_guard_export(Cli *cli) {
    Project *p = report_project(cli);
    Buf *out = &cli->out;
    if (!p) return CLI_FAILED;
    buf_add(out, STR("# written by harness guard export codex-rules; put it into ~/.codex/rules/\n"));
    for (size_t i = 0; i < p->rules.n; i++) {
        const RuleDef *r = &p->rules.at[i];
        if (!concerns(r)) continue;
        if (is_prefix(&r->shell)) add_rule(out, r);
        else {
            buf_add(out, STR("# cannot be written as a prefix: "));
            cli_escape_all(out, r->name, false);
            buf_add_char(out, '\n');
        }
    }
    project_free(p);
    return CLI_OK;
}
