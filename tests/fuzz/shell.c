/* Any bytes give a list of commands that is well-formed, the same one twice, and not exact when there is a problem. */
#include <stdlib.h>
#include "shell/shell.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool ok) { if (!ok) abort(); }

static void check_word(const ShellWord *w, size_t n) {
    require(w->from <= w->to && w->to <= n);
    require(w->exact ? !w->splits && !w->pattern : true);
    require(!w->exact || !memchr(w->text.n ? w->text.at : "x", SHELL_UNKNOWN, w->text.n));
    require(!memchr(w->text.n ? w->text.at : "x", 0, w->text.n));
}

static void check_command(const ShellCommand *c, size_t n) {
    require(c->from <= c->to && c->to <= n);
    require(c->stage < (c->stages ? c->stages : 1));
    require(c->operand >= (c->words_n > 0) && c->operand <= c->words_n);
    require(!c->exact || c->words_n == 0 || c->program.n > 0);
    require(!c->wrapper || c->words_n > 1);
    for (size_t i = 0; i < c->words_n; i++) check_word(&c->words[i], n);
    for (size_t i = 0; i < c->assigns_n; i++) check_word(&c->assigns[i].value, n);
    for (size_t i = 0; i < c->redirects_n; i++) check_word(&c->redirects[i].target, n);
}

static bool same(const ShellCommands *a, const ShellCommands *b) {
    if (a->n != b->n || a->exact != b->exact || !a->problem != !b->problem) return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->at[i].words_n != b->at[i].words_n || !str_eq(a->at[i].program, b->at[i].program) || a->at[i].from != b->at[i].from) return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    Arena arena = { 0 };
    Str text = { (const char *)data, n };
    ShellCommands a = shell_commands(text, &arena), b = shell_commands(text, &arena);
    require(same(&a, &b));
    require(!a.problem || !a.exact);
    for (size_t i = 0; i < a.n; i++) {
        check_command(&a.at[i], n);
        require(!a.exact || (a.at[i].exact && a.at[i].runs != SHELL_RUNS_UNKNOWN));
    }
    arena_clear(&arena);
    return 0;
}
