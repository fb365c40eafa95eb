/* harness --help: one screen. Related commands share a line; every command is named, here or in the last line. */
#include <string.h>
#include "cli/command_flags.h"
#include "cli/help.h"

enum { COLUMN = 36, WIDTH = 78 };

/* Names of commands, or of groups ("runs" is also "runs show"). Unknown ones are skipped. */
static const struct { const char *names[6], *does; } topics[] = {
    { { "init", "scaffold", "new" }, "make a project; write one tool, hook …" },
    { { "validate" }, "load everything, report all problems" },
    { { "tools", "hooks", "agents", "inspect" }, "list its parts, with their files" },
    { { "context", "models" }, "what the model will see; the models" },
    { { "call" }, "call one tool, without a model" },
    { { "run" }, "talk to the agent; -p: one job" },
    { { "runs", "approvals", "console" }, "what was run; questions; in a browser" },
    { { "test", "simulate" }, "run the tests; try rules on recorded calls" },
    { { "mcp" }, "serve the project over MCP; use MCP servers" },
    { { "guard" }, "judge other agents' calls by this policy" },
    { { "sandbox" }, "run a command confined to this folder" },
    { { "starlark", "json", "schema" }, "run Starlark; check and validate JSON" },
    { { "doctor", "store", "worker", "workers" }, "what works here; databases, their queue" },
};
enum { TOPICS = sizeof topics / sizeof *topics, NAMES = sizeof topics->names / sizeof *topics->names };

static bool is_named(const Command *c, const char *name) {
    size_t n = strlen(name);
    return strncmp(c->name, name, n) == 0 && (c->name[n] == 0 || c->name[n] == ' ');
}

static bool exists(const char *name) {
    for (size_t i = 0; i < command_count; i++)
        if (is_named(&command_table[i], name)) return true;
    return false;
}

static bool has_topic(const Command *c) {
    for (size_t t = 0; t < TOPICS; t++)
        for (size_t k = 0; k < NAMES && topics[t].names[k]; k++)
            if (is_named(c, topics[t].names[k])) return true;
    return false;
}

static void add_topic(Buf *out, size_t t) {
    Buf left = { 0 };
    for (size_t k = 0; k < NAMES && topics[t].names[k]; k++)
        if (exists(topics[t].names[k])) buf_add_fmt(&left, "%s%s", left.n ? ", " : "", topics[t].names[k]);
    if (left.n) buf_add_fmt(out, "  %-*s%s\n", COLUMN - 2, left.at, topics[t].does);
    buf_clear(&left);
}

static void add_others(Buf *out) {
    const char *between = "  also: ";
    for (size_t i = 0; i < command_count; i++) {
        if (has_topic(&command_table[i])) continue;
        buf_add_fmt(out, "%s%s", between, command_table[i].name);
        between = ", ";
    }
    buf_add_char(out, '\n');
}

static void add_flags(Buf *out) {
    size_t start = out->n;
    for (const Flag *f = command_flags_global; f->name; f++) {
        Buf one = { 0 };
        buf_add_fmt(&one, "%s%s%s%s%s", f->letter ? f->letter : "", f->letter ? ", " : "", f->name, f->value ? " " : "", f->value ? f->value : "");
        if (out->n - start + one.n + 2 > WIDTH) {
            buf_add_char(out, '\n');
            start = out->n;
        }
        buf_add_fmt(out, "  " STR_FMT, STR_ARG(buf_str(&one)));
        buf_clear(&one);
    }
    buf_add_char(out, '\n');
}

void help_program(Buf *out) {
    buf_add(out, STR("Usage: harness COMMAND [flags]\n\n"));
    for (size_t t = 0; t < TOPICS; t++) add_topic(out, t);
    add_others(out);
    buf_add(out, STR("\nGlobal flags, before or after the command:\n"));
    add_flags(out);
    buf_add(out, STR("\nExample: harness init demo && harness -C demo run\n"
                     "harness COMMAND --help describes one command, with an example.\n"));
}
