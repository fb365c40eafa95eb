/* The prompt of harness starlark: reads statements, runs each, prints the values of expressions. Without a terminal it
 * runs like a script: prints only results, and stops at the first failure. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/mem.h"
#include "cli/terminal/lineedit.h"
#include "cli/starlark_session.h"
#include "starlark/syntax/parser.h"
#include "starlark/vm/repr.h"

/* ---- Ctrl-C ---- */

/* Globals for the signal handler: the token of the running statement, or NULL; and whether a Ctrl-C arrived since the
 * last line was requested. */
static _Atomic(Cancel *) running;
static atomic_bool interrupted;

static void on_interrupt(int signal) {
    (void)signal;
    atomic_store(&interrupted, true);
    Cancel *c = atomic_load(&running);
    if (c) cancel_fire_from_signal(c);
}

/* Without SA_RESTART, so that it also ends the line being read. */
static void catch_interrupts(struct sigaction *before) {
    struct sigaction now = { .sa_handler = on_interrupt };
    sigemptyset(&now.sa_mask);
    sigaction(SIGINT, NULL, before);
    if (before->sa_handler != SIG_IGN) sigaction(SIGINT, &now, NULL);
}

/* ---- completion ---- */

typedef struct { LineWords *words; Str prefix; } Search;

static void offer(const Search *s, Str name) {
    if (!str_starts(name, s->prefix)) return;
    for (size_t i = 0; i < s->words->n; i++)
        if (str_eq(str_from(s->words->at[i]), name)) return;
    char *copy = mem_alloc(name.n + 1);
    memcpy(copy, name.at, name.n);
    copy[name.n] = 0;
    VEC_PUSH(s->words, copy);
}

static bool is_word(char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static void offer_keys(const Search *s, Dict *d) {
    Entry *e;
    for (uint32_t i = 0; dict_next(d, &i, &e);) offer(s, value_str(e->key));
}

static void offer_names(const StarlarkSession *session, const Search *s) {
    static const char *const keywords[] = { "and", "break", "continue", "def", "elif", "else", "for", "if", "in", "lambda", "not",
                                            "or", "pass", "return" };
    String *const *names;
    const Value *values;
    uint32_t n = session->options.after ? module_globals(session->options.after, &names, &values) : 0;
    for (uint32_t i = 0; i < n; i++)
        if (!value_is_gone(values[i])) offer(s, string_str(names[i]));
    offer_keys(s, session->predeclared);
    offer_keys(s, session->universe->names);
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) offer(s, str_from(keywords[i]));
}

static Value find_name(const StarlarkSession *s, Str name) {
    Value v = s->options.after ? module_global(s->options.after, name) : VALUE_GONE;
    if (value_is_gone(v)) v = universe_module(s->universe, name);
    return value_is_gone(v) ? universe_get(s->universe, name) : v;
}

/* The value of a.b.c: only names and attributes, so no script code runs. */
static bool find_dotted(StarlarkSession *s, Str path, Value *out) {
    Error ignored = { 0 };
    Str name;
    bool first = true;
    for (size_t dot; path.n; first = false, path = str_sub(path, dot < path.n ? dot + 1 : dot, path.n)) {
        for (dot = 0; dot < path.n && path.at[dot] != '.';) dot++;
        name = str_sub(path, 0, dot);
        if (first) {
            *out = find_name(s, name);
            if (value_is_gone(*out)) return false;
            continue;
        }
        String *attr = string_new(s->heap, name, &ignored);
        if (!attr || !vm_attr(s->vm, *out, attr, out, &ignored)) return false;
    }
    return !first;
}

static void offer_attributes(StarlarkSession *session, Str path, const Search *s) {
    Value v, names;
    Error ignored = { 0 };
    if (!find_dotted(session, path, &v)) return;
    if (!vm_call(session->vm, universe_get(session->universe, STR("dir")), &v, 1, &names, &ignored) || !value_is_list(names)) return;
    for (uint32_t i = 0; i < value_list(names)->n; i++) offer(s, value_str(value_list(names)->at[i]));
}

static void complete(void *ctx, Str before, LineWords *words, size_t *typed) {
    size_t from = before.n;
    while (from > 0 && (is_word(before.at[from - 1]) || before.at[from - 1] == '.')) from--;
    Str path = str_sub(before, from, before.n);
    size_t last = path.n;
    while (last > 0 && path.at[last - 1] != '.') last--;
    Search s = { words, str_sub(path, last, path.n) };
    *typed = s.prefix.n;
    if (last > 0) offer_attributes(ctx, str_sub(path, 0, last - 1), &s);
    else offer_names(ctx, &s);
}

/* ---- history ---- */

/* $XDG_STATE_HOME/harness/starlark_history; creates its folders. NULL: no location. */
static char *history_file(void) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    Buf path = { 0 };
    if (state && state[0] == '/') buf_add_fmt(&path, "%s/harness/starlark_history", state);
    else if (home && home[0] == '/') buf_add_fmt(&path, "%s/.local/state/harness/starlark_history", home);
    else return NULL;
    char *text = mem_alloc(path.n + 1);
    memcpy(text, path.at, path.n);
    text[path.n] = 0;
    buf_clear(&path);
    for (char *slash = text + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        (void)mkdir(text, 0700);                         /* usually exists */
        *slash = '/';
    }
    return text;
}

/* ---- statements ---- */

static bool show(Cli *cli, StarlarkSession *s, Value v, Error *err) {
    if (value_is_none(v)) return true;
    if (!repr_value(s->vm, &cli->out, v, err)) return false;
    buf_add_char(&cli->out, '\n');
    return true;
}

static int run_statement(Cli *cli, StarlarkSession *s, Str text, uint32_t line) {
    Source source = { .file = STR("<stdin>"), .text = text, .first_line = line };
    Error err = { 0 };
    Value v = VALUE_NONE;
    Cancel *cancel = cancel_new(NULL, 0);
    s->config.cancel = cancel;
    vm_reset(s->vm, &s->config);
    atomic_store(&running, cancel);
    if (atomic_load(&interrupted)) cancel_fire(cancel);  /* arrived between the line and here */
    s->options.expression = starlark_session_is_expression(s, &source);
    bool ok = starlark_session_run(s, &source, &v, &err) && (!s->options.expression || show(cli, s, v, &err));
    atomic_store(&running, NULL);
    int status = ok ? CLI_OK : starlark_session_report(cli, s, &source, &err);
    s->config.cancel = NULL;
    vm_reset(s->vm, &s->config);
    cancel_free(cancel);
    s->options.after = starlark_session_last(s);
    if (!cli_flush(cli)) return CLI_FAILED;
    return status;
}

/* Reads lines until they form a statement. */
static LineRead read_statement(LineEdit *edit, Buf *text, uint32_t *lines) {
    LineRead got;
    do {
        atomic_store(&interrupted, false);
        got = lineedit_read(edit, *lines ? "... " : ">>> ", text);
        if (got == LINE_READY) ++*lines;
    } while (got == LINE_READY && parser_wants_more(buf_str(text)));
    return got == LINE_END && text->n ? LINE_READY : got;   /* the input ends inside a statement */
}

int starlark_session_prompt(Cli *cli, StarlarkSession *s) {
    char *history = history_file();
    LineEdit *edit = lineedit_new(&(LineEditConfig){ .history = history, .complete = complete, .ctx = s });
    bool person = lineedit_terminal(edit);
    struct sigaction before;
    if (person) catch_interrupts(&before);
    s->options.allow_toplevel = true;
    int status = CLI_OK;
    Buf text = { 0 };
    for (uint32_t line = 1; person || status == CLI_OK;) {
        uint32_t lines = 0;
        buf_clear(&text);
        LineRead got = read_statement(edit, &text, &lines);
        if (got == LINE_END) break;
        if (got == LINE_READY) status = run_statement(cli, s, buf_str(&text), line);
        line += lines;
        if (person && got == LINE_INTERRUPTED) fputc('\n', stderr);
    }
    if (person) {
        fputc('\n', stderr);
        if (before.sa_handler != SIG_IGN) sigaction(SIGINT, &before, NULL);
        status = CLI_OK;
    }
    buf_clear(&text);
    lineedit_free(edit);
    free(history);
    return status;
}
