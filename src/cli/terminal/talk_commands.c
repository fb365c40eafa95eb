/* Commands of a conversation: /help etc., and the prompts of the project as /NAME. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"
#include "cli/terminal/talk_private.h"
#include "cli/terminal/width.h"
#include "model/request.h"
#include "sandbox/named.h"
#include "tool/protect/confine.h"
#include "tool/protect/protected.h"

enum { HELP_COLUMN = 19, NARROW = 60, INDENT = 4 };

static const Project *project_of(const Talk *t) { return runtime_project(run_runtime(session_run(t->session))); }

static Str first_line(Str text) {
    Str line = { 0 };
    str_next_line(&text, &line);
    return str_sub(line, 0, 100);
}

/* ---- output ---- */

bool talk_fail(const Talk *t, const Error *err) {
    char text[1400];
    error_format(err, text, sizeof text);
    cli_say(t->cli, SAY_ERROR, str_from(text));
    return false;
}

void talk_show(Doing *d) {
    (void)cli_write(STDERR_FILENO, buf_str(&d->out), true);
    buf_reset(&d->out);
}

void talk_row(Doing *d, size_t column, Str name, Str text) {
    size_t wide = width_of(name), start = column;
    buf_add(&d->out, STR("  "));
    if (d->width < NARROW || wide + 3 > column) {
        start = INDENT;
        width_add_cut(&d->out, name, d->width - 3);
        if (text.n) buf_add_char(&d->out, '\n');
        if (text.n) width_add_spaces(&d->out, start);
    } else {
        buf_add(&d->out, name);
        width_add_spaces(&d->out, column - wide - 2);
    }
    width_add_cut(&d->out, text, d->width > start + 1 ? d->width - start - 1 : 1);
    buf_add_char(&d->out, '\n');
}

bool talk_yes(const Talk *t, Str question, bool *answered) {
    Buf answer = { 0 };
    Cancel *cancel = cancel_new(NULL, 0);
    Interrupt *interrupt = interrupt_start(cancel);
    *answered = t->terminal && confirm_terminal_question(t->terminal, question, cancel, &answer);
    interrupt_stop(interrupt);
    cancel_free(cancel);
    Str said = str_trim(buf_str(&answer));
    char first = (char)(said.n ? said.at[0] | 0x20 : 0);
    if (first != 'y' && first != 'n') *answered = false;
    buf_clear(&answer);
    return *answered && first == 'y';
}

/* ---- the history ---- */

static void do_clear(Doing *d) {
    Error err = { 0 };
    size_t n;
    if (session_clear(d->t->session, &n, &err)) buf_add_fmt(&d->out, "a new conversation: %zu message%s removed (the run's record keeps %s)\n", n,
                                                            n == 1 ? "" : "s", n == 1 ? "it" : "them");
    else talk_fail(d->t, &err);
}

static void do_compact(Doing *d) {
    Error err = { 0 };
    SessionCompact c;
    Busy busy;
    talk_busy(d->t, &busy, session_model_name(d->t->session));
    bool ok = session_compact(d->t->session, busy.cancel, &c, &err);
    talk_ready(d->t, &busy);
    if (ok) buf_add_fmt(&d->out, "%zu messages became a summary: %lld → %lld tokens, estimated\n", c.messages, (long long)c.before, (long long)c.after);
    else talk_fail(d->t, &err);
}

/* ---- plan mode ---- */

static void set_plan(Doing *d, bool on) {
    Error err = { 0 };
    if (run_planning(session_run(d->t->session)) == on) {
        buf_add(&d->out, on ? STR("plan mode is on already; /go ends it\n") : STR("plan mode is not on\n"));
    } else if (!session_plan(d->t->session, on, &err)) {
        talk_fail(d->t, &err);
        return;
    } else {
        buf_add(&d->out, on ? STR("plan mode: only tools that change nothing run until /go\n") : STR("plan mode is off: all tools run again\n"));
    }
    buf_add(d->say, d->rest);
    d->typed = true;
}

static void do_plan(Doing *d) { set_plan(d, true); }
static void do_go(Doing *d) { set_plan(d, false); }

/* ---- /save ---- */

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
    if (err.kind) talk_fail(d->t, &err);
    else {
        buf_add_fmt(&d->out, "saved %zu messages in ", n);
        cli_escape_all(&d->out, d->rest, false);
        buf_add_char(&d->out, '\n');
    }
    free(path);
    buf_clear(&text);
}

static void do_help(Doing *d);
static void do_quit(Doing *d) { *d->leave = true; }

/* operand: "": none; in brackets: optional. */
static const struct { const char *name, *operand, *help; void (*run)(Doing *d); } commands[] = {
    { "help", "", "show this list", do_help },
    { "clear", "", "start a new conversation in the same run", do_clear },
    { "compact", "", "replace the conversation by a summary", do_compact },
    { "undo", "", "remove the last exchange; put back its files", talk_undo },
    { "plan", "[TEXT]", "allow only tools that change nothing", do_plan },
    { "go", "[TEXT]", "end /plan", do_go },
    { "model", "[NAME]", "show the models, or switch to one", talk_model },
    { "context", "", "show what the model gets, in tokens", talk_context },
    { "cost", "", "show the tokens and the cost so far", talk_cost },
    { "tools", "", "list the tools that the agent may use", talk_tools },
    { "hooks", "", "list the hooks of the project", talk_hooks },
    { "reload", "", "load the project's files again", talk_reload },
    { "resume", "[RUN]", "continue an earlier run", talk_resume },
    { "save", "FILE", "write the conversation to FILE, as Markdown", do_save },
    { "quit", "", "leave (so do exit and Ctrl-D)", do_quit },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void do_help(Doing *d) {
    const Project *p = project_of(d->t);
    char name[80];
    for (size_t i = 0; i < COMMANDS; i++) {
        snprintf(name, sizeof name, "/%s%s%s", commands[i].name, *commands[i].operand ? " " : "", commands[i].operand);
        talk_row(d, HELP_COLUMN, str_from(name), str_from(commands[i].help));
    }
    for (size_t i = 0; i < p->n_prompts; i++) {
        Buf text = { 0 };
        snprintf(name, sizeof name, "/%.*s", STR_ARG(p->prompts[i].name));
        cli_escape(&text, first_line(p->prompts[i].description), false);
        talk_row(d, HELP_COLUMN, str_from(name), buf_str(&text));
        buf_clear(&text);
    }
    talk_row(d, HELP_COLUMN, STR("@path"), STR("attach a file to the message; Tab completes it"));
    talk_row(d, HELP_COLUMN, STR("!command"), STR("run a command; the agent gets its output"));
    talk_row(d, HELP_COLUMN, STR("line \\"), STR("continue the message in the next line"));
    talk_row(d, HELP_COLUMN, STR("Ctrl-C"), STR("stop what runs, and keep the run; again: leave"));
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

static void use_prompt(Doing *d, const PromptDef *p) {
    Heap *h = heap_new((size_t)16 << 20);
    Error err = { 0 };
    Dict *args = dict_new(h, 4, &err);
    bool ok = args && put_arguments(h, args, p, d->rest, &err)
           && (p->body || error_set(&err, ERR_CONFIG, "prompt \"" STR_FMT "\" is a list of messages: only MCP clients can use it", STR_ARG(p->name)))
           && template_render(p->body, value_from_object(args), d->say, &err);
    if (!ok) talk_fail(d->t, &err);
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
    talk_fail(d->t, &err);
    free(names);
}

/* The table says whether a command takes an argument. A text may have many words, a name only one. */
static bool check_operand(const Doing *d, size_t i, Error *err) {
    const char *name = commands[i].name, *operand = commands[i].operand;
    bool one = strcmp(operand, "[NAME]") == 0 || strcmp(operand, "[RUN]") == 0;
    if (d->rest.n && !*operand) return error_set(err, ERR_VALIDATION, "/%s takes no argument", name);
    if (one && str_find_char(d->rest, ' ') >= 0) return error_set(err, ERR_VALIDATION, "/%s takes one argument: /%s %s", name, name, operand);
    return true;
}

bool talk_command(Talk *t, Str line, Buf *say, bool *leave) {
    size_t n = 1, i = 0;
    Error err = { 0 };
    while (n < line.n && line.at[n] != ' ' && line.at[n] != '\n') n++;
    Str word = str_sub(line, 1, n);
    Doing d = { .t = t, .rest = str_trim(str_sub(line, n, line.n)), .say = say, .leave = leave, .width = width_of_terminal(STDERR_FILENO) };
    const PromptDef *prompt = find_prompt(project_of(t), word);
    if (str_eq(word, STR("exit"))) word = STR("quit");
    while (i < COMMANDS && !str_eq(word, str_from(commands[i].name))) i++;
    if (i < COMMANDS && !check_operand(&d, i, &err)) talk_fail(t, &err);
    else if (i < COMMANDS) commands[i].run(&d);
    else if (prompt) use_prompt(&d, prompt);
    else unknown(&d, word);
    talk_show(&d);
    buf_clear(&d.out);
    return d.typed;
}

static void complete_word(LineWords *words, Str before, const char *prefix, Str name) {
    Buf word = { 0 };
    buf_add_fmt(&word, "%s" STR_FMT, prefix, STR_ARG(name));
    if (str_starts(buf_str(&word), before)) VEC_PUSH(words, buf_take(&word));
    else buf_clear(&word);
}

void talk_complete(void *talk, Str before, LineWords *words, size_t *typed) {
    const Project *p = project_of(talk);
    *typed = before.n;
    if (talk_complete_path(talk, before, words, typed) || before.n == 0 || before.at[0] != '/') return;
    if (str_starts(before, STR("/model "))) {
        for (size_t i = 0; i < p->settings.n_models; i++) complete_word(words, before, "/model ", p->settings.models[i].name);
        return;
    }
    for (size_t i = 0; i < COMMANDS; i++) complete_word(words, before, "/", str_from(commands[i].name));
    for (size_t i = 0; i < p->n_prompts; i++) complete_word(words, before, "/", p->prompts[i].name);
}
