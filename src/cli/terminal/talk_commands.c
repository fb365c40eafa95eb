/* Commands of a conversation: /help etc., and the prompts of the project as /NAME. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"
#include "cli/terminal/talk.h"
#include "model/request.h"
#include "sandbox/named.h"
#include "tool/protect/confine.h"
#include "tool/protect/protected.h"

typedef struct Doing { const Talk *t; Str rest; Buf out; bool *leave; } Doing;   /* out: shown on standard error */

static const Project *project_of(const Talk *t) { return runtime_project(run_runtime(session_run(t->session))); }

static bool fail(Doing *d, const Error *err) {
    char text[1400];
    error_format(err, text, sizeof text);
    cli_say(d->t->cli, SAY_ERROR, str_from(text));
    return false;
}

static Str first_line(Str text) {
    Str line = { 0 };
    str_next_line(&text, &line);
    return str_sub(line, 0, 100);
}

/* ---- commands ---- */

static void show_tool(void *ctx, const SessionPart *p) {
    Doing *d = ctx;
    if (p->what != PART_TOOL) return;
    const ToolEntry *e = registry_find(runtime_registry(run_runtime(session_run(d->t->session))), p->name, NULL, 0);
    buf_add_fmt(&d->out, "  %-20.*s ", STR_ARG(p->name));
    if (e) cli_escape(&d->out, first_line(str_trim(e->def.description)), false);
    buf_add_char(&d->out, '\n');
}

static void do_tools(Doing *d) {
    Error err = { 0 };
    if (!session_parts(d->t->session, show_tool, d, &err)) fail(d, &err);
    else if (d->out.n == 0) buf_add(&d->out, STR("  none\n"));
}

typedef struct Sums { Doing *d; int64_t system, tools, messages; size_t n_tools, n_messages; } Sums;

static void add_part(void *ctx, const SessionPart *p) {
    Sums *s = ctx;
    if (p->what == PART_TOOL) s->tools += p->tokens, s->n_tools++;
    else if (p->what == PART_MESSAGE) s->messages += p->tokens, s->n_messages++;
    else s->system += p->tokens;
}

static void do_context(Doing *d) {
    Error err = { 0 };
    Sums s = { .d = d };
    if (!session_parts(d->t->session, add_part, &s, &err)) {
        fail(d, &err);
        return;
    }
    ModelUsage u = session_usage(d->t->session);
    buf_add_fmt(&d->out, "%8lld  system prompt\n%8lld  %zu tools\n%8lld  %zu messages\n%8lld  tokens in total, estimated\n",
        (long long)s.system, (long long)s.tools,
                s.n_tools, (long long)s.messages, s.n_messages, (long long)s.system + (long long)s.tools + (long long)s.messages);
    if (u.input + u.output) buf_add_fmt(&d->out, "used so far: %lld in, %lld out", (long long)u.input, (long long)u.output);
    if (u.priced) buf_add_fmt(&d->out, ", about %.4f USD", u.usd);
    if (u.input + u.output) buf_add_char(&d->out, '\n');
}

static void do_undo(Doing *d) {
    Error err = { 0 };
    if (session_undo(d->t->session, &err)) buf_add(&d->out, STR("the last exchange was removed; what its tools did is not undone\n"));
    else fail(d, &err);
}

static void do_model(Doing *d) {
    Error err = { 0 };
    if (d->rest.n && !session_model(d->t->session, d->rest, &err)) {
        fail(d, &err);
        return;
    }
    buf_add_fmt(&d->out, "model " STR_FMT "\n", STR_ARG(session_model_name(d->t->session)));
    const Settings *s = &project_of(d->t)->settings;
    for (size_t i = 0; d->rest.n == 0 && i < s->n_models; i++) buf_add_fmt(&d->out, "  " STR_FMT "\n", STR_ARG(s->models[i].name));
}

/* The conversation as Markdown. A fence is longer than any run of backticks inside it. */
static void add_fenced(Buf *out, Str text) {
    size_t longest = 2;
    for (size_t i = 0, run = 0; i < text.n; i++) {
        run = text.at[i] == '`' ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    for (int twice = 0; twice < 2; twice++) {
        for (size_t i = 0; i <= longest; i++) buf_add_char(out, '`');
        buf_add_char(out, '\n');
        if (twice == 0) buf_add_fmt(out, STR_FMT "\n", STR_ARG(text));
    }
    buf_add_char(out, '\n');
}

static void add_message(Buf *out, Value m) {
    Str text = value_member_text(m, "content");
    Role role = request_role(m);
    const List *calls = request_list(m, "tool_calls");
    if (role == ROLE_TOOL) {
        add_fenced(out, text);
        return;
    }
    if (text.n) buf_add_fmt(out, "## %s\n\n" STR_FMT "\n\n", role == ROLE_USER ? "You" : "Agent", STR_ARG(text));
    for (uint32_t i = 0; calls && i < calls->n; i++)
        buf_add_fmt(out, "`" STR_FMT "` `" STR_FMT "`\n\n", STR_ARG(value_member_text(calls->at[i], "name")),
            STR_ARG(value_member_text(calls->at[i], "arguments")));
}

static bool write_file(const Project *p, const char *path, Str text, Error *err) {
    Arena arena = { 0 };
    int fd = protected_allows(p, path, err) ? named_open(path, O_EXCL, 0600, confine_reach(p, &arena), err) : -1;       /* never overwrites a file */
    bool ok = fd >= 0;
    arena_clear(&arena);
    if (!ok) return error_wrap(err, "save %s", path);
    while (ok && text.n) {
        ssize_t n = write(fd, text.at, text.n);
        ok = n > 0 || (n < 0 && errno == EINTR);
        if (n > 0) text = str_sub(text, (size_t)n, text.n);
    }
    if (!ok) error_set(err, ERR_IO, "save %s: %m", path);
    return (close(fd) == 0 || !ok || error_set(err, ERR_IO, "save %s: %m", path)) && ok;
}

static void do_save(Doing *d) {
    Error err = { 0 };
    size_t n = session_message_count(d->t->session);
    char *path = str_dup(d->rest);
    Buf text = { 0 };
    for (size_t i = 0; i < n; i++) add_message(&text, session_message(d->t->session, i));
    if (!d->rest.n) {
        error_set(&err, ERR_VALIDATION, "/save needs the name of a file");
    } else if (!write_file(project_of(d->t), path, buf_str(&text), &err)) {
        if (err.kind == ERR_IO && (errno == EACCES || errno == EPERM)) error_hint(&err, "harness can write only below the workspace and in /tmp");
    }
    if (err.kind) fail(d, &err);
    else buf_add_fmt(&d->out, "saved %zu messages in %s\n", n, path);
    free(path);
    buf_clear(&text);
}

static void do_help(Doing *d);
static void do_quit(Doing *d) { *d->leave = true; }

static const struct { const char *name, *operand, *help; void (*run)(Doing *d); } commands[] = {
    { "help", "", "show this list", do_help },
    { "tools", "", "list the tools that the agent may use", do_tools },
    { "context", "", "show what the model sees, in tokens", do_context },
    { "undo", "", "remove the last exchange", do_undo },
    { "save", " FILE", "write the conversation to FILE, as Markdown", do_save },
    { "model", " [NAME]", "show the model, or switch to another one", do_model },
    { "quit", "", "leave (so does Ctrl-D)", do_quit },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void do_help(Doing *d) {
    const Project *p = project_of(d->t);
    char name[80];
    for (size_t i = 0; i < COMMANDS; i++) {
        snprintf(name, sizeof name, "/%s%s", commands[i].name, commands[i].operand);
        buf_add_fmt(&d->out, "  %-16s %s\n", name, commands[i].help);
    }
    for (size_t i = 0; i < p->n_prompts; i++) {
        snprintf(name, sizeof name, "/%.*s", STR_ARG(p->prompts[i].name));
        buf_add_fmt(&d->out, "  %-16s ", name);
        cli_escape(&d->out, first_line(p->prompts[i].description), false);
        buf_add_char(&d->out, '\n');
    }
    buf_add(&d->out, STR("  End a line with \\ to continue it. Ctrl-C stops what runs and keeps the run; once more leaves.\n"));
}

/* ---- prompts ---- */

/* Each word is one argument, in order; the last one gets the rest. NAME=VALUE names it. */
static bool put_arguments(Heap *h, Dict *args, const PromptDef *p, Str rest, Error *err) {
    for (size_t i = 0; i < p->n_args; i++) {
        rest = str_trim(rest);
        ptrdiff_t space = i + 1 < p->n_args ? str_find_char(rest, ' ') : -1;
        Str word = space < 0 ? rest : str_sub(rest, 0, (size_t)space);
        rest = space < 0 ? STR("") : str_sub(rest, (size_t)space, rest.n);
        Str name = p->args[i].name;
        if (word.n > name.n && str_starts(word, name) && word.at[name.n] == '=') word = str_sub(word, name.n + 1, word.n);
        if (word.n == 0 && p->args[i].required)
            return error_set(err, ERR_VALIDATION, "/" STR_FMT " needs " STR_FMT, STR_ARG(p->name), STR_ARG(name));
        String *s = word.n ? string_new(h, word, err) : NULL;
        if (word.n && (!s || !dict_put_str(h, args, name, value_from_object(s), err))) return false;
    }
    return true;
}

static void use_prompt(Doing *d, const PromptDef *p, Buf *say) {
    Heap *h = heap_new((size_t)16 << 20);
    Error err = { 0 };
    Dict *args = dict_new(h, 4, &err);
    bool ok = args && put_arguments(h, args, p, d->rest, &err)
           && (p->body || error_set(&err, ERR_CONFIG, "prompt \"" STR_FMT "\" is a list of messages: only MCP clients can use it", STR_ARG(p->name)))
           && template_render(p->body, value_from_object(args), say, &err);
    if (!ok) fail(d, &err);
    heap_free(h);
}

static const PromptDef *find_prompt(const Project *p, Str name) {
    for (size_t i = 0; i < p->n_prompts; i++)
        if (str_eq(p->prompts[i].name, name)) return &p->prompts[i];
    return NULL;
}

/* ---- lookup ---- */

static void unknown(Doing *d, Str word) {
    const Project *p = project_of(d->t);
    Str *names = mem_zero(COMMANDS + p->n_prompts, sizeof *names);
    for (size_t i = 0; i < COMMANDS; i++) names[i] = str_from(commands[i].name);
    for (size_t i = 0; i < p->n_prompts; i++) names[COMMANDS + i] = p->prompts[i].name;
    Str near = str_nearest(word, names, COMMANDS + p->n_prompts);
    Error err = { 0 };
    error_set(&err, ERR_VALIDATION, "unknown command /" STR_FMT, STR_ARG(word));
    if (near.n) error_hint(&err, "did you mean /" STR_FMT "?", STR_ARG(near));
    else error_hint(&err, "list commands with /help; start with a space to send it to the agent");
    fail(d, &err);
    free(names);
}

bool talk_command(const Talk *t, Str line, Buf *say, bool *leave) {
    size_t n = 1;
    while (n < line.n && line.at[n] != ' ' && line.at[n] != '\n') n++;
    Str word = str_sub(line, 1, n);
    Doing d = { .t = t, .rest = str_trim(str_sub(line, n, line.n)), .leave = leave };
    const PromptDef *prompt = find_prompt(project_of(t), word);
    size_t i = 0;
    while (i < COMMANDS && !str_eq(word, str_from(commands[i].name)) && !(i == COMMANDS - 1 && str_eq(word, STR("exit")))) i++;
    if (i < COMMANDS) commands[i].run(&d);
    else if (prompt) use_prompt(&d, prompt, say);
    else unknown(&d, word);
    (void)cli_write(STDERR_FILENO, buf_str(&d.out), true);
    buf_clear(&d.out);
    return true;
}

void talk_complete(void *talk, Str before, LineWords *words, size_t *typed) {
    const Project *p = project_of(talk);
    *typed = before.n;
    if (before.n == 0 || before.at[0] != '/' || str_find_char(before, ' ') >= 0) return;
    for (size_t i = 0; i < COMMANDS + p->n_prompts; i++) {
        Buf name = { 0 };
        if (i < COMMANDS) buf_add_fmt(&name, "/%s", commands[i].name);
        else buf_add_fmt(&name, "/" STR_FMT, STR_ARG(p->prompts[i - COMMANDS].name));
        if (str_starts(buf_str(&name), before)) VEC_PUSH(words, buf_take(&name));
        else buf_clear(&name);
    }
}
