#include "tool/guard_bomb.h"
#include "tool/guard_lex.h"

enum { REACH_MAX = 8 };

/* The plain name of the command that a node runs, or "". */
static Str command_name(const Guard *j, const GuardNode *node) {
    return node->kind == GUARD_SIMPLE && node->words_n ? guard_lex_plain(&node->words[0], j->arena) : STR("");
}

/* Calls `see` for each simple command below node, with whether it runs in the background; true ends the search. */
typedef bool See(void *state, const GuardNode *node, bool background);

static bool each_command(Guard *j, const GuardNode *node, bool background, See *see, void *state) {
    if (!guard_judge_spend(j, 1)) return false;
    background |= node->background;
    if (node->kind == GUARD_SIMPLE && see(state, node, background)) return true;
    for (size_t i = 0; i < node->words_n; i++)
        for (size_t k = 0; k < node->words[i].n; k++) {
            const GuardPart *part = node->words[i].at[k].part;
            if (part && part->script && each_command(j, part->script, background, see, state)) return true;
        }
    for (size_t i = 0; i < node->children_n; i++)
        if (each_command(j, node->children[i], background, see, state)) return true;
    return false;
}

/* ---- functions ---- */

typedef struct { Guard *j; Str goal; unsigned left; bool only_background; } Call;

static bool reaches(Guard *j, Str name, Str goal, unsigned left);

static bool see_call(void *state, const GuardNode *node, bool background) {
    const Call *c = state;
    Str name = command_name(c->j, node);
    if (name.n == 0 || (c->only_background && !background)) return false;
    return reaches(c->j, name, c->goal, c->left);
}

/* Does calling `name` lead to a call of `goal`? */
static bool reaches(Guard *j, Str name, Str goal, unsigned left) {
    if (str_eq(name, goal)) return true;
    const GuardNode *f = left ? table_get(&j->functions, name) : NULL;
    return f && f->children_n && each_command(j, f->children[0], false, see_call, &(Call){ j, goal, left - 1, false });
}

static bool calls(Guard *j, const GuardNode *node, Str goal, bool only_background) {
    return each_command(j, node, false, see_call, &(Call){ j, goal, REACH_MAX, only_background });
}

/* A pipeline with the function in two of its places. */
static bool doubles(Guard *j, const GuardNode *node, Str goal) {
    if (!guard_judge_spend(j, 1)) return false;
    size_t places = 0;
    if (node->kind == GUARD_PIPELINE && node->children_n > 1)
        for (size_t i = 0; i < node->children_n; i++) places += calls(j, node->children[i], goal, false);
    if (places > 1) return true;
    for (size_t i = 0; i < node->children_n; i++)
        if (doubles(j, node->children[i], goal)) return true;
    return false;
}

void guard_bomb_functions(Guard *j) {
    for (size_t i = 0; i < j->functions.n && j->verdict != GUARD_REFUSE; i++) {
        Str name = j->functions.entry[i].key;
        const GuardNode *f = j->functions.entry[i].value;
        if (f->children_n && (doubles(j, f->children[0], name) || calls(j, f->children[0], name, true)))
            guard_judge_raise(j, GUARD_REFUSE, "a fork bomb: the function " STR_FMT " starts itself more than once", STR_ARG(name));
    }
}

/* ---- loops ---- */

static bool see_background(void *state, const GuardNode *node, bool background) {
    (void)state, (void)node;
    return background;
}

static bool see_pause(void *state, const GuardNode *node, bool background) {
    static const char *const names[] = { "wait", "sleep", "break", "exit", "return", "read", "inotifywait", "timeout" };
    Str name = command_name(state, node);
    for (size_t i = 0; !background && i < sizeof names / sizeof *names; i++)
        if (str_eq(name, str_from(names[i]))) return true;
    return false;
}

static bool see_other(void *state, const GuardNode *node, bool background) {
    (void)background;
    Str name = command_name(state, node);
    return !str_eq(name, STR("true")) && !str_eq(name, STR(":")) && !str_eq(name, STR("false"));   /* until false */
}

/* while true; do x & done */
void guard_bomb_loop(Guard *j, const GuardNode *loop) {
    if (loop->children_n < 2) return;
    bool forever = loop->forever || (loop->children[0]->children_n && !each_command(j, loop->children[0], false, see_other, j));
    const GuardNode *body = loop->children[1];
    if (forever && each_command(j, body, false, see_background, j) && !each_command(j, body, false, see_pause, j))
        guard_judge_raise(j, GUARD_REFUSE, "a fork bomb: an endless loop starts processes in the background");
}
