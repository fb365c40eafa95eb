#include "tool/guard_judge.h"
#include <stdarg.h>
#include <stdio.h>
#include "base/utf8.h"
#include "tool/guard_bomb.h"

enum { WORK_MAX = 20000, FOR_VALUES_MAX = 8, NODES_DEEP_MAX = 2 * GUARD_DEPTH_MAX };

/* ---- the verdict ---- */

/* One line of valid UTF-8, and not too long: commands are quoted in it. */
static Str clean(Arena *arena, const char *text) {
    Buf b = { .limit = 400 };
    for (Str s = str_from(text); s.n;) {
        size_t n;
        uint32_t c = utf8_decode(s, &n);
        if (c < 32 || c == 127) buf_add(&b, c == GUARD_HOLE ? STR("…") : STR(" "));
        else if (c == 0xFFFD && n == 1) buf_add(&b, STR("\xEF\xBF\xBD"));
        else buf_add(&b, str_sub(s, 0, n));
        s = str_sub(s, n, s.n);
    }
    Str out = arena_str(arena, str_sub(buf_str(&b), 0, utf8_valid_prefix(buf_str(&b))));
    buf_clear(&b);
    return out;
}

void guard_judge_raise(Guard *j, GuardVerdict v, const char *fmt, ...) {
    if (v <= j->verdict || (j->only_worst && v != GUARD_REFUSE)) return;
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    j->verdict = v;
    j->reason = clean(j->arena, text);
}

bool guard_judge_spend(Guard *j, size_t work) {
    if (j->work > work) return j->work -= work, true;
    j->work = 0;
    unsigned only_worst = j->only_worst;
    j->only_worst = 0;                                   /* not to have looked is a fact, whatever it was */
    guard_judge_raise(j, GUARD_CONFIRM, "the command is too complex to be judged");
    j->only_worst = only_worst;
    return false;
}

static bool enter(Guard *j) {
    if (j->depth < NODES_DEEP_MAX) return j->depth++, true;
    guard_judge_raise(j, GUARD_CONFIRM, "the command is nested too deep to be judged");
    return false;
}

void guard_judge_script(Guard *j, const GuardField *code, GuardInput in) {
    if (!code->exact) guard_judge_raise(j, GUARD_CONFIRM, "what a shell is given to run cannot be known before: " STR_FMT, STR_ARG(str_sub(code->text, 0, 80)));
    if (!guard_judge_spend(j, 1 + code->text.n / 64) || !enter(j)) return;
    GuardScript script = guard_parse(code->text, 0, j->arena);
    if (script.error) guard_judge_raise(j, GUARD_CONFIRM, "the command cannot be read with certainty: %s", script.error);
    guard_judge_node(j, script.node, in);
    j->depth--;
}

/* ---- words ---- */

static void judge_word(Guard *j, const GuardWord *w, GuardInput in) {
    for (size_t i = 0; i < w->n; i++) {
        const GuardPart *part = w->at[i].part;
        if (part && part->script) guard_judge_node(j, part->script, in);
        if (part && part->otherwise) judge_word(j, part->otherwise, in);
    }
    for (size_t i = 0; i < w->items_n; i++) judge_word(j, &w->items[i], in);
}

static bool is_name(char c, bool first) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (!first && c >= '0' && c <= '9');
}

/* name=…, name+=…, name[…]=…: the place behind the =, or 0. */
static size_t assignment(const GuardWord *w, Arena *arena, Str *name, bool *append) {
    size_t i = 0;
    while (i < w->n && w->at[i].kind == GUARD_CHAR && !w->at[i].quoted && is_name(w->at[i].c, i == 0)) i++;
    if (i == 0) return 0;
    char *text = arena_alloc(arena, i + 1);
    for (size_t k = 0; k < i; k++) text[k] = w->at[k].c;
    *name = (Str){ text, i };
    *append = false;
    if (i < w->n && w->at[i].kind == GUARD_CHAR && w->at[i].c == '[' && !w->at[i].quoted)
        while (i < w->n && !(w->at[i - 1].kind == GUARD_CHAR && w->at[i - 1].c == ']')) i++;
    if (i < w->n && w->at[i].kind == GUARD_CHAR && w->at[i].c == '+') *append = true, i++;
    return i < w->n && w->at[i].kind == GUARD_CHAR && w->at[i].c == '=' && !w->at[i].quoted ? i + 1 : 0;
}

static void set_variable(Guard *j, Str name, GuardField value) {
    GuardField *kept = ARENA_NEW(j->arena, GuardField);
    *kept = value;
    table_put(&j->variables, arena_str(j->arena, name), kept);
}

static void assign(Guard *j, const GuardWord *w, size_t at, Str name, bool append) {
    if (!j->guess) return;
    GuardField value;
    if (w->items_n) {
        GuardFields items = { 0 };
        for (size_t i = 0; i < w->items_n; i++) guard_word_expand(j, &w->items[i], &items);
        value = guard_word_join(j, items.at, items.n);
        VEC_CLEAR(&items);
    } else value = guard_word_one(j, &(GuardWord){ .at = w->at + at, .n = w->n - at, .quoted = true });
    guard_run_hidden(j, value.text);
    guard_text_variable(j, name, value.text);
    if (value.process && str_eq(name, STR("BASH_ENV"))) {                  /* a shell reads it before anything else */
        GuardInput none = { .kind = GUARD_INPUT_NONE }, text = guard_output_of(j, value.process, none);
        guard_judge_script(j, &(GuardField){ .text = text.text, .exact = text.kind == GUARD_INPUT_TEXT && text.exact }, none);
    }
    const GuardField *old = append ? table_get(&j->variables, name) : NULL;
    if (old && old->text.n + value.text.n < GUARD_COMMAND_MAX) {
        value.text = str_from(arena_fmt(j->arena, STR_FMT STR_FMT, STR_ARG(old->text), STR_ARG(value.text)));
        value.exact &= old->exact;
    }
    if (guard_judge_spend(j, 1 + value.text.n / 64)) set_variable(j, name, value);
}

/* ---- simple commands ---- */

static GuardInput redirected(Guard *j, const GuardRedirect *r, GuardInput in) {
    GuardField f = guard_word_one(j, &r->word);
    if (r->kind == GUARD_OUT || r->kind == GUARD_INOUT) guard_rules_target(j, &f, "a redirection");
    if (r->fd != 0) return in;
    switch (r->kind) {
    case GUARD_HEREDOC: case GUARD_HERESTRING: return (GuardInput){ GUARD_INPUT_TEXT, f.text, f.exact };
    case GUARD_IN:
        if (f.process) return guard_output_of(j, f.process, in);
        if (f.exact && str_eq(f.text, STR("/dev/null"))) return (GuardInput){ .kind = GUARD_INPUT_NONE };
        if (f.exact && str_eq(f.text, STR("/dev/stdin"))) return in;
        return (GuardInput){ .kind = GUARD_INPUT_UNKNOWN };
    case GUARD_COPY: case GUARD_INOUT: return (GuardInput){ .kind = GUARD_INPUT_UNKNOWN };
    case GUARD_OUT: break;
    }
    return in;
}

static GuardInput judge_redirects(Guard *j, const GuardNode *node, GuardInput in) {
    for (size_t i = 0; i < node->redirects_n; i++) {
        judge_word(j, &node->redirects[i].word, in);
        in = redirected(j, &node->redirects[i], in);
    }
    return in;
}

/* export x=…, declare x=…: as plain assignments. */
static void assign_arguments(Guard *j, const GuardNode *node, size_t from) {
    for (size_t i = from; i < node->words_n; i++) {
        Str name;
        bool append;
        size_t at = assignment(&node->words[i], j->arena, &name, &append);
        if (at) assign(j, &node->words[i], at, name, append);
    }
}

static bool declares(const GuardField *f) {
    static const char *const names[] = { "export", "declare", "typeset", "local", "readonly" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(f->text, str_from(names[i]))) return true;
    return false;
}

/* echo … > x: what x holds then, in case that it is run. tee x: the same. */
static void note_written(Guard *j, const GuardNode *node, const GuardFields *argv, GuardInput in) {
    if (!j->guess) return;
    for (size_t i = 0; i < node->redirects_n; i++) {
        if (node->redirects[i].kind != GUARD_OUT || node->redirects[i].fd != 1) continue;
        GuardField path = guard_word_one(j, &node->redirects[i].word);
        GuardInput text = guard_output_written(j, node, in);
        if (text.kind == GUARD_INPUT_TEXT) guard_run_note_file(j, &path, text.text);
    }
    if (argv->n < 2 || !str_eq(argv->at[0].text, STR("tee")) || in.kind != GUARD_INPUT_TEXT) return;
    for (size_t i = 1; i < argv->n; i++) guard_run_note_file(j, &argv->at[i], in.text);
}

static void judge_simple(Guard *j, const GuardNode *node, GuardInput in) {
    for (size_t i = 0; i < node->words_n; i++) judge_word(j, &node->words[i], in);
    GuardInput before = in;
    in = judge_redirects(j, node, in);
    GuardFields argv = { 0 };
    size_t first = 0;
    for (; first < node->words_n; first++) {
        Str name;
        bool append;
        size_t at = assignment(&node->words[first], j->arena, &name, &append);
        if (!at) break;
        assign(j, &node->words[first], at, name, append);
    }
    for (size_t i = first; i < node->words_n; i++) guard_word_expand(j, &node->words[i], &argv);
    if (argv.n && declares(&argv.at[0])) assign_arguments(j, node, first + 1);
    note_written(j, node, &argv, before);
    guard_run_argv(j, argv.at, argv.n, in);
    VEC_CLEAR(&argv);
}

/* ---- compound commands ---- */

static void judge_pipeline(Guard *j, const GuardNode *node, GuardInput in) {
    for (size_t i = 0; i < node->children_n; i++) {
        guard_judge_node(j, node->children[i], in);
        if (i + 1 == node->children_n) break;
        in = guard_output_of(j, node->children[i], in);
        if (in.kind == GUARD_INPUT_NONE) in.kind = GUARD_INPUT_UNKNOWN;
    }
}

static void judge_for(Guard *j, const GuardNode *node, GuardInput in) {
    GuardFields values = { 0 };
    for (size_t i = 0; i < node->words_n; i++) {
        judge_word(j, &node->words[i], in);
        if (j->guess) guard_word_expand(j, &node->words[i], &values);
    }
    for (size_t i = 0; i == 0 || (i < values.n && i < FOR_VALUES_MAX); i++) {
        if (values.n) set_variable(j, node->name, values.at[i]);
        for (size_t k = 0; k < node->children_n; k++) guard_judge_node(j, node->children[k], in);
    }
    VEC_CLEAR(&values);
}

static void judge_children(Guard *j, const GuardNode *node, GuardInput in) {
    for (size_t i = 0; i < node->children_n; i++) guard_judge_node(j, node->children[i], in);
}

static void judge_plain_node(Guard *j, const GuardNode *node, GuardInput in) {
    switch (node->kind) {
    case GUARD_SIMPLE: judge_simple(j, node, in); return;
    case GUARD_PIPELINE: judge_pipeline(j, node, in); return;
    case GUARD_MAYBE:
        j->only_worst++;
        judge_children(j, node, in);
        j->only_worst--;
        return;
    case GUARD_FUNCTION:
        if (node->name.n) table_put(&j->functions, node->name, (void *)(uintptr_t)node);
        judge_children(j, node, (GuardInput){ .kind = GUARD_INPUT_NONE });
        return;
    case GUARD_FOR: judge_for(j, node, judge_redirects(j, node, in)); return;
    case GUARD_LOOP:
        guard_bomb_loop(j, node);
        judge_children(j, node, judge_redirects(j, node, in));
        return;
    case GUARD_WORDS:
        for (size_t i = 0; i < node->words_n; i++) {
            judge_word(j, &node->words[i], in);
            GuardField f = guard_word_one(j, &node->words[i]);
            if (str_find_char(f.text, '[') >= 0) guard_run_hidden(j, f.text);     /* [[ 'a[$(…)]' -eq 0 ]] */
        }
        judge_redirects(j, node, in);
        return;
    case GUARD_LIST: case GUARD_GROUP: judge_children(j, node, judge_redirects(j, node, in)); return;
    }
}

void guard_judge_node(Guard *j, const GuardNode *node, GuardInput in) {
    if (j->verdict == GUARD_REFUSE || !guard_judge_spend(j, 1) || !enter(j)) return;
    judge_plain_node(j, node, in);
    j->depth--;
}

GuardVerdict guard_command(Str command, Arena *arena, Str *reason) {
    Guard j = { .arena = arena, .reason = STR("") };
    if (command.n > GUARD_COMMAND_MAX) guard_judge_raise(&j, GUARD_CONFIRM, "the command is too long to be judged");
    else {
        GuardScript script = guard_parse(command, 0, arena);
        if (script.error) guard_judge_raise(&j, GUARD_CONFIRM, "the command cannot be read with certainty: %s", script.error);
        for (int pass = 0; pass < 2; pass++) {
            j.guess = pass == 1;
            j.work = WORK_MAX;
            guard_judge_node(&j, script.node, (GuardInput){ .kind = GUARD_INPUT_NONE });
            if (!j.guess) guard_bomb_functions(&j);
        }
    }
    table_clear(&j.variables);
    table_clear(&j.aliases);
    table_clear(&j.functions);
    table_clear(&j.files);
    if (reason) *reason = j.reason;
    return j.verdict;
}
