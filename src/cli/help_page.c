/* The command line reference as a Markdown page (docs/reference/cli.md). */
#include "cli/help.h"
#include <string.h>
#include "cli/cli.h"
#include "cli/command_flags.h"

static const char head[] =
    "# Command line\n\n"
    "Written by `harness help --markdown` from the command table; `make docs` updates it.\n\n"
    "    harness COMMAND [flags]\n\n"
    "Results go to standard output; everything for the user (problems, logs, prompts) goes to standard error.\n\n"
    "| exit status | means |\n|---|---|\n"
    "| 0 | success |\n"
    "| 1 | the work failed: an invalid project, a file that cannot be read, … |\n"
    "| 2 | wrong use: an unknown command or flag, a missing operand |\n"
    "| 130 | ended by Ctrl-C |\n\n"
    "A problem in a file prints as `harness: FILE:LINE:COL: MESSAGE (HINT)`; a warning or a hint ends in `[warning]` or\n"
    "`[hint]`. With `--json`, a failure is one object on standard output, and what is unknown is null:\n\n"
    "    {error: {kind, message, file, line, column, hint}}\n\n";

/* "|" would end the cell. */
static void add_cell(Buf *out, const char *text) {
    for (; *text; text++) {
        if (*text == '|') buf_add_char(out, '\\');
        buf_add_char(out, *text);
    }
}

static void add_flags(Buf *out, const Flag *list) {
    buf_add(out, STR("| flag | does |\n|---|---|\n"));
    for (const Flag *f = list; f->name; f++) {
        buf_add(out, STR("| `"));
        if (f->letter) buf_add_fmt(out, "%s`, `", f->letter);
        buf_add(out, str_from(f->name));
        if (f->value) buf_add_char(out, ' '), add_cell(out, f->choices ? f->choices : f->value);
        buf_add(out, STR("` | "));
        add_cell(out, f->help);
        buf_add(out, STR(" |\n"));
    }
    buf_add_char(out, '\n');
}

static void add_code(Buf *out, Str text) {
    Str line;
    while (str_next_line(&text, &line)) buf_add_fmt(out, "    " STR_FMT "\n", STR_ARG(line));
    buf_add_char(out, '\n');
}

/* The shape comes first; explanations may follow an empty line. */
static void add_json(Buf *out, Str text) {
    ptrdiff_t gap = str_find(text, STR("\n\n"));
    buf_add(out, STR("With `--json`:\n\n"));
    add_code(out, gap < 0 ? text : str_sub(text, 0, (size_t)gap));
    if (gap >= 0) buf_add_fmt(out, STR_FMT "\n\n", STR_ARG(str_sub(text, (size_t)gap + 2, text.n)));
}

void help_page(Buf *out) {
    buf_add(out, str_from(head));
    buf_add(out, STR("## Global flags\n\nBefore or after the command.\n\n"));
    add_flags(out, command_flags_global);
    for (size_t i = 0; i < command_count; i++) {
        const Command *c = &command_table[i];
        buf_add_fmt(out, "## harness %s\n\n    harness %s%s%s [flags]\n\n%s\n\n", c->name, c->name, *c->operands ? " " : "",
                    c->operands, c->about);
        if (c->flags) add_flags(out, c->flags);
        if (c->json) add_json(out, str_from(c->json));
        buf_add(out, STR("Example:\n\n"));
        add_code(out, str_from(c->example));
    }
    out->n--;                                            /* one newline at the end, not two */
    out->at[out->n] = 0;
}
