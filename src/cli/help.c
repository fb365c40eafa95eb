#include "cli/help.h"
#include <string.h>
#include "cli/cli.h"
#include "script/reference.h"

enum { COLUMN = 28 };            /* where descriptions start */

static void add_row(Buf *out, const char *left, const char *right) {
    buf_add_fmt(out, "  %-*s%s\n", COLUMN - 2, left, right);
}

static void add_commands(Buf *out, const char *group) {
    size_t n = strlen(group);
    for (size_t i = 0; i < command_count; i++) {
        const Command *c = &command_table[i];
        if (strncmp(c->name, group, n) != 0 || (c->name[n] && c->name[n] != ' ')) continue;
        add_row(out, c->name, c->summary);
    }
}

static void add_flag(Buf *out, const Flag *f) {
    Buf left = { 0 };
    buf_add_fmt(&left, "%s%s ", f->letter ? f->letter : "   ", f->letter ? "," : "");
    buf_add_fmt(&left, "%s%s%s", f->name, f->value ? " " : "", f->value ? f->value : "");
    add_row(out, left.at, f->help);
    buf_clear(&left);
}

/* Flags of every command that runs tools, and rare ones. On the help screen they share a few lines; the reference and the man page
 * list each. */
static bool is_shared(const Flag *f) {
    static const char *const names[] = { "--yes", "--approve", "--ask", "--events", "--allow-domain", "--timeout", "--ephemeral", "--lenient",
                                         "--record", "--replay", "--max-turns", "--effort", "--file", "--priority", "--wait", "--only" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(f->name, names[i]) == 0) return true;
    return false;
}

static void add_shared(Buf *out, const Flag *list) {
    size_t start = out->n;
    buf_add(out, STR("  and:"));
    for (const Flag *f = list; f->name; f++) {
        if (!is_shared(f)) continue;
        size_t n = strlen(f->name) + (f->value ? strlen(f->value) + 1 : 0);
        if (out->n - start + n + 2 > 78) {
            buf_add(out, STR("\n    "));
            start = out->n - 4;
        }
        buf_add_fmt(out, " %s%s%s", f->name, f->value ? " " : "", f->value ? f->value : "");
    }
    buf_add(out, out->n - start > 64 ? STR("\n     (man harness)\n") : STR(" (man harness)\n"));
}

/* Only the flags specific to the command, one per line. */
static void add_own_flags(Buf *out, const Flag *list) {
    bool runs_tools = command_flag(list, "--yes", strlen("--yes")) != NULL;
    for (const Flag *f = list; f->name; f++)
        if (!runs_tools || !is_shared(f)) add_flag(out, f);
    if (runs_tools) add_shared(out, list);
}

static void add_indented(Buf *out, const char *text) {
    Str rest = str_from(text), line;
    while (str_next_line(&rest, &line)) buf_add_fmt(out, "  " STR_FMT "\n", STR_ARG(line));
}

void help_group(Buf *out, const char *group) {
    buf_add_fmt(out, "Usage: harness %s COMMAND [flags]\n\nCommands:\n", group);
    add_commands(out, group);
    buf_add_fmt(out, "\nRun harness %s COMMAND --help for one command, with an example.\n", group);
}

void help_command(Buf *out, const Command *c) {
    buf_add_fmt(out, "Usage: harness %s%s%s [flags]\n\n%s\n", c->name, *c->operands ? " " : "", c->operands, c->about);
    if (c->flags) {
        buf_add(out, STR("\nFlags:\n"));
        add_own_flags(out, c->flags);
    }
    buf_add(out, STR("\nGlobal flags such as -C DIR and --json: see harness --help.\n\nExample:\n"));
    add_indented(out, c->example);
}

int command_help(Cli *cli) {
    const Args *a = &cli->args;
    if (args_has(a, "--markdown")) return help_page(&cli->out), CLI_OK;
    if (args_has(a, "--starlark-markdown")) {
        Error err = { 0 };
        return reference_page(&cli->out, &err) ? CLI_OK : cli_fail(cli, CLI_FAILED, &err);
    }
    if (a->n_operands == 0) return help_program(&cli->out), CLI_OK;
    Buf name = { 0 };
    buf_add_fmt(&name, "%s%s%s", a->operands[0], a->n_operands > 1 ? " " : "", a->n_operands > 1 ? a->operands[1] : "");
    const Command *c = command_find(name.at);
    int status = CLI_OK;
    if (c) {
        help_command(&cli->out, c);
    } else if (command_is_group(name.at)) {
        help_group(&cli->out, name.at);
    } else {
        Error err = { 0 };
        error_set(&err, ERR_VALIDATION, "help: unknown command \"%s\"", name.at);
        error_hint(&err, "see harness --help");
        status = cli_fail(cli, CLI_WRONG_USE, &err);
    }
    buf_clear(&name);
    return status;
}
