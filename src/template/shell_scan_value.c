/* Decides whether a parameter is allowed at a point, and compares states. */
#include "template/shell_scan.h"

/* Rejects a parameter inside a construct that the shell evaluates as code. */
static ShellRefusal enclosed(const ShellState *s) {
    for (uint8_t i = s->depth; i-- > 0;) switch ((ShellFrameKind)s->frame[i].kind) {
        case SHELL_IN_SUBSTITUTION: return SHELL_SUBSTITUTION;
        case SHELL_IN_PROCESS: return SHELL_PROCESS;
        case SHELL_IN_BACKTICK: return SHELL_BACKTICK;
        case SHELL_IN_EXPANSION: return SHELL_EXPANSION;
        case SHELL_IN_ARITHMETIC: return SHELL_ARITHMETIC;
        case SHELL_PAREN: case SHELL_CASE: break;
    }
    if (s->quote == SHELL_IN_COMMENT) return SHELL_COMMENT;
    if (s->quote == SHELL_DOLLAR_SINGLE) return SHELL_ANSI;
    if (s->quote == SHELL_IN_HEREDOC) return SHELL_HEREDOC;
    if (s->locale) return SHELL_LOCALE;
    return SHELL_OK;
}

static ShellRefusal assigned(ShellState *s) {
    Str name;
    if (!shell_scan_assignment(&s->word, &name)) return SHELL_COMMAND;
    if (!shell_scan_variable_is_safe(name)) return SHELL_ASSIGNMENT;
    s->assigned = true;
    return s->integer ? SHELL_INTEGER : SHELL_OK;
}

static ShellRefusal placed(ShellState *s, const ShellValue *v, AstNode *node) {
    switch ((ShellRedirect)s->command.redirect) {
    case SHELL_TO_NOTHING: break;
    case SHELL_TO_FILE: return SHELL_REDIRECT;
    case SHELL_TO_HERESTRING: return SHELL_HERESTRING;
    case SHELL_TO_HEREDOC: case SHELL_TO_HEREDOC_TABS: return SHELL_HEREDOC;
    }
    switch ((ShellPlace)s->command.place) {
    case SHELL_AT_COMMAND: return assigned(s);
    case SHELL_AT_PATTERN: return SHELL_PATTERN;
    case SHELL_AT_CONDITION: return SHELL_CONDITION;
    case SHELL_AT_INNER: case SHELL_AT_ARGS: return shell_scan_program_value(s, v, node);
    case SHELL_AT_CASE_WORD: return node->must_quote = true, SHELL_OK;   /* `in` and `esac` are keywords there */
    default: return SHELL_COMMAND;
    }
}

/* A parameter that may be absent or several words must be the whole word. */
static ShellRefusal alone(ShellState *s, const ShellValue *v, AstNode *node) {
    if (!v->array && !v->maybe_absent) return SHELL_OK;
    bool starts = !s->word.on || s->word.fresh;
    if (v->array && (s->quote != SHELL_BARE || !starts)) return SHELL_ARRAY;
    if (!starts || (s->quote != SHELL_BARE && !node->own_quotes)) return SHELL_PART;
    s->word.only = node;
    s->word.closing = s->quote != SHELL_BARE;
    return SHELL_OK;
}

ShellRefusal shell_scan_value(ShellState *s, const ShellValue *v, AstNode *node) {
    if (s->escape) return SHELL_BACKSLASH;
    ShellRefusal why = enclosed(s);
    if (why) return why;
    if (s->quote != SHELL_SINGLE && s->pending == '$') return SHELL_DOLLAR;
    if (s->in_name) return SHELL_NAME;
    shell_scan_settle(s);
    if ((why = enclosed(s)) || (why = placed(s, v, node))) return why;
    if (s->unsure) return SHELL_UNSURE;
    if (s->word.brace_open || s->word.brace) return SHELL_BRACE;
    if (s->word.only) return s->word.only->spread ? SHELL_ARRAY : SHELL_PART;
    if ((why = alone(s, v, node))) return why;
    node->quote = s->quote == SHELL_SINGLE ? AST_SINGLE : s->quote == SHELL_DOUBLE ? AST_DOUBLE : AST_BARE;
    node->must_quote |= s->word.special;
    node->dash_ok &= s->command.dashdash || v->constrained;
    s->used = true;
    s->assigned |= s->command.keeps;
    s->word.on = s->word.param = s->word.dynamic = true;
    s->word.fresh = false;
    return SHELL_OK;
}

void shell_scan_raw(ShellState *s) {
    shell_scan_settle(s);
    s->word.on = s->word.dynamic = s->word.expands = true;
    s->word.fresh = false;
}

static bool same_word(const ShellWord *a, const ShellWord *b) {
    return a->on == b->on && a->n == b->n && memcmp(a->text, b->text, a->n) == 0 && a->quoted == b->quoted && a->expands == b->expands &&
           a->dynamic == b->dynamic && a->param == b->param && a->special == b->special && a->brace == b->brace &&
           a->brace_open == b->brace_open && a->equals == b->equals && a->fresh == b->fresh && a->only == b->only && a->closing == b->closing;
}

static bool same_command(const ShellCommand *a, const ShellCommand *b) {
    return a->program == b->program && a->place == b->place && a->redirect == b->redirect && a->stage == b->stage &&
           a->operands == b->operands && a->dashdash == b->dashdash && a->guess == b->guess && a->in_find == b->in_find &&
           a->code_next == b->code_next && a->magic == b->magic && a->no_args == b->no_args && a->has_code == b->has_code
               && a->maybe_code == b->maybe_code && a->keeps == b->keeps &&
           a->from_input == b->from_input && a->by_input == b->by_input;
}

bool shell_scan_same_quoting(const ShellState *a, const ShellState *b) {
    if (a->quote != b->quote || a->depth != b->depth || a->heredocs != b->heredocs || a->locale != b->locale) return false;
    for (uint8_t i = 0; i < a->depth; i++)
        if (a->frame[i].kind != b->frame[i].kind || a->frame[i].quote != b->frame[i].quote) return false;
    return true;
}

bool shell_scan_same(const ShellState *a, const ShellState *b) {
    if (!shell_scan_same_quoting(a, b) || !same_word(&a->word, &b->word) || !same_command(&a->command, &b->command)) return false;
    if (a->pending != b->pending || a->escape != b->escape || a->in_name != b->in_name || a->unsure != b->unsure) return false;
    if (a->used != b->used || a->piped != b->piped || a->flows != b->flows) return false;
    if (a->integer != b->integer || a->assigned != b->assigned || a->line != b->line || a->line_escape != b->line_escape) return false;
    for (uint8_t i = 0; i < a->depth; i++)
        if (a->frame[i].parens != b->frame[i].parens || !same_word(&a->frame[i].word, &b->frame[i].word) ||
            !same_command(&a->frame[i].command, &b->frame[i].command)) return false;
    for (uint8_t i = 0; i < a->heredocs; i++)
        if (a->heredoc[i].n != b->heredoc[i].n || memcmp(a->heredoc[i].text, b->heredoc[i].text, a->heredoc[i].n) != 0 ||
            a->heredoc[i].tabs != b->heredoc[i].tabs || a->heredoc[i].quoted != b->heredoc[i].quoted) return false;
    return true;
}
