#include "shell/lister.h"

static void list_node(Lister *l, const SyntaxNode *node, ListerPlace p);

void lister_problem(Lister *l, const char *why) {
    if (why && !l->problem) l->problem = why;
}

bool lister_spend(Lister *l, size_t work) {
    if (l->work < work) {
        l->work = 0;
        lister_problem(l, "it is too complex");
        return false;
    }
    l->work -= work;
    return true;
}

bool shell_word_is(const ShellWord *w, const char *literal) { return w->exact && str_eq(w->text, str_from(literal)); }

/* ---- adding commands ---- */

/* The program's name is the part after the last /. It may be known even if the folder is not. */
static Str program_name(const ShellWord *w) {
    if (w->splits || w->text.n == 0) return STR("");
    const char *slash = memrchr(w->text.at, '/', w->text.n);
    Str name = slash ? str_sub(w->text, (size_t)(slash - w->text.at) + 1, w->text.n) : w->text;
    return memchr(name.at, SHELL_UNKNOWN, name.n) ? STR("") : name;
}

static uint32_t first_operand(const ShellWord *words, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (words[i].text.n == 0 || words[i].text.at[0] != '-') return (uint32_t)i;
    return (uint32_t)n;
}

size_t lister_add(Lister *l, const ShellWord *words, size_t n, bool certain, const ListerPlace *p) {
    ShellCommand c = {
        .words = words, .words_n = (uint32_t)n, .program = n ? program_name(&words[0]) : STR(""), .background = p->background,
        .pipeline = p->pipeline, .stage = p->stage, .stages = p->stages, .depth = p->depth, .loop = p->loop, .function = p->function,
        .operand = first_operand(words, n), .from = n ? words[0].from : 0, .to = n ? words[n - 1].to : 0,
    };
    c.exact = certain && (n == 0 || c.program.n > 0);
    lister_spend(l, 1 + n);
    VEC_PUSH(&l->list, c);
    return l->list.n - 1;
}

void lister_text(Lister *l, size_t index, const ShellWord *text, const ListerPlace *p) {
    ShellRuns *runs = &l->list.at[index].runs;
    *runs = text->exact && *runs != SHELL_RUNS_UNKNOWN ? SHELL_RUNS_TEXT : SHELL_RUNS_UNKNOWN;
    SyntaxReader x = { .arena = l->arena, .s = text->text, .depth = p->level + 1, .work = &l->work, .nested = true, .from = text->from, .to = text->to };
    if (p->level >= SHELL_DEPTH_MAX) {
        lister_problem(l, "it is nested too deep");
        return;
    }
    SyntaxNode *node = syntax_parse(&x);
    lister_problem(l, x.error ? x.error : x.doubt);
    VEC_CLEAR(&x.heredocs);
    ListerPlace inner = *p;
    inner.depth++;
    list_node(l, node, inner);
}

/* ---- words ---- */

/* The commands in the substitutions of a word. */
static void list_scripts(Lister *l, const SyntaxWord *w, ListerPlace p) {
    ListerPlace inner = p;
    inner.depth++;
    inner.stage = 0;
    inner.stages = 1;
    for (size_t i = 0; i < w->scripts_n; i++) list_node(l, w->scripts[i], inner);
    for (size_t i = 0; i < w->items_n; i++) list_scripts(l, &w->items[i], p);
}

/* The items of an array joined with spaces: their values are known, their use is not. */
static ShellWord array_value(Lister *l, const SyntaxWord *w) {
    Buf text = { 0 };
    ShellWord out = { .from = w->from, .to = w->to };
    for (size_t i = 0; i < w->items_n; i++) {
        if (i) buf_add_char(&text, ' ');
        buf_add(&text, (Str){ w->items[i].text, w->items[i].n });
    }
    out.text = arena_str(l->arena, buf_str(&text));
    buf_clear(&text);
    return out;
}

static ShellAssign read_assign(Lister *l, const SyntaxWord *w, size_t at, Str name, bool append) {
    return (ShellAssign){ .name = name, .append = append, .value = w->array ? array_value(l, w) : words_single(w, at, true, l->arena) };
}

/* ---- redirections ---- */

static ListerInput redirected(const ShellRedirect *r, ListerInput in) {
    if (r->fd != 0) return in;
    switch (r->kind) {
    case SHELL_HEREDOC: case SHELL_HERESTRING: return (ListerInput){ LISTER_INPUT_TEXT, r->target };
    case SHELL_READ:
        if (shell_word_is(&r->target, "/dev/null")) return (ListerInput){ .kind = LISTER_INPUT_NONE };
        return shell_word_is(&r->target, "/dev/stdin") ? in : (ListerInput){ .kind = LISTER_INPUT_UNKNOWN };
    case SHELL_DUPLICATE: case SHELL_READ_WRITE: return (ListerInput){ .kind = LISTER_INPUT_UNKNOWN };
    case SHELL_WRITE: case SHELL_APPEND: break;
    }
    return in;
}

/* Adds the command's redirections; returns what it reads then. */
static ListerInput list_redirects(Lister *l, const SyntaxNode *node, size_t index, ListerInput in) {
    ShellRedirect *out = ARENA_ARRAY(l->arena, ShellRedirect, 2 * node->redirects_n);
    size_t n = 0;
    for (size_t i = 0; i < node->redirects_n; i++) {
        const SyntaxRedirect *r = node->redirects[i];
        bool text = r->kind == SHELL_HEREDOC || r->kind == SHELL_HERESTRING;
        ShellWord target = words_single(&r->word, 0, text, l->arena);
        in = redirected(&(ShellRedirect){ r->kind, r->fd, target }, in);
        out[n++] = (ShellRedirect){ r->kind, r->fd, target };
        if (r->both) out[n++] = (ShellRedirect){ SHELL_DUPLICATE, 2, { .text = STR("1"), .exact = true, .from = target.from, .to = target.to } };
    }
    l->list.at[index].redirects = out;
    l->list.at[index].redirects_n = (uint32_t)n;
    return in;
}

static void list_redirect_scripts(Lister *l, const SyntaxNode *node, const ListerPlace *p) {
    for (size_t i = 0; i < node->redirects_n; i++) list_scripts(l, &node->redirects[i]->word, *p);
}

/* ---- simple commands ---- */

static const ShellWord *keep_words(Lister *l, WordList *list, size_t *n) {
    ShellWord *words = ARENA_ARRAY(l->arena, ShellWord, list->n);
    if (list->n) memcpy(words, list->at, list->n * sizeof *words);
    *n = list->n;
    VEC_CLEAR(list);
    return words;
}

static void list_simple(Lister *l, const SyntaxNode *node, ListerPlace p) {
    ShellAssign *assigns = ARENA_ARRAY(l->arena, ShellAssign, node->words_n);
    size_t first = 0, n;
    WordList expanded = { 0 };
    for (; first < node->words_n; first++) {
        Str name;
        bool append;
        size_t at = words_assignment(&node->words[first], &name, &append);
        if (!at) break;
        assigns[first] = read_assign(l, &node->words[first], at, name, append);
    }
    bool ok = true;
    for (size_t i = first; i < node->words_n; i++) ok = ok && words_expand(&node->words[i], &expanded, &l->work, l->arena);
    if (!ok) lister_problem(l, "it is too complex");
    const ShellWord *words = keep_words(l, &expanded, &n);
    size_t index = lister_add(l, words, n, ok, &p);
    l->list.at[index].assigns = assigns;
    l->list.at[index].assigns_n = (uint32_t)first;
    l->list.at[index].from = node->from;
    l->list.at[index].to = node->to;
    ListerInput in = list_redirects(l, node, index, p.in);
    for (size_t i = 0; i < node->words_n; i++) list_scripts(l, &node->words[i], p);
    list_redirect_scripts(l, node, &p);
    p.in = in;
    lister_unwrap(l, index, &p);
}

/* ---- compound commands ---- */

/* A compound command with redirections is listed without words; its commands read the redirected input. */
static void list_compound_redirects(Lister *l, const SyntaxNode *node, ListerPlace *p) {
    if (node->redirects_n == 0) return;
    size_t index = lister_add(l, NULL, 0, true, p);
    l->list.at[index].from = node->from;
    l->list.at[index].to = node->to;
    ListerInput in = list_redirects(l, node, index, p->in);
    list_redirect_scripts(l, node, p);
    p->in = in;
}

static void list_pipeline(Lister *l, const SyntaxNode *node, ListerPlace p) {
    l->pipelines++;
    if (node->children_n > 1 || p.stages <= 1) {
        p.pipeline = l->pipelines;
        p.stages = (uint32_t)node->children_n;
        p.stage = 0;
    }
    for (size_t i = 0; i < node->children_n; i++) {
        if (node->children_n > 1) p.stage = (uint32_t)i;
        list_node(l, node->children[i], p);
        p.in = (ListerInput){ .kind = LISTER_INPUT_UNKNOWN };
    }
}

static void list_children(Lister *l, const SyntaxNode *node, ListerPlace p) {
    for (size_t i = 0; i < node->children_n; i++) list_node(l, node->children[i], p);
}

/* The input of a function's body depends on its callers. */
static void list_function(Lister *l, const SyntaxNode *node, ListerPlace p) {
    p.function = node->name.n ? node->name : STR("?");
    p.in = (ListerInput){ .kind = LISTER_INPUT_UNKNOWN };
    p.background = false;
    p.loop = 0;
    p.stage = 0;
    p.stages = 1;
    list_children(l, node, p);
}

static void list_node(Lister *l, const SyntaxNode *node, ListerPlace p) {
    p.background |= node->background;
    if (node->depth > p.level) p.level = node->depth;
    switch (node->kind) {
    case SYNTAX_SIMPLE: list_simple(l, node, p); return;
    case SYNTAX_PIPELINE: list_pipeline(l, node, p); return;
    case SYNTAX_FUNCTION: list_function(l, node, p); return;
    case SYNTAX_WORDS:
        list_compound_redirects(l, node, &p);
        for (size_t i = 0; i < node->words_n; i++) list_scripts(l, &node->words[i], p);
        return;
    case SYNTAX_LOOP:
        if (node->endless) p.loop = ++l->loops;
        list_compound_redirects(l, node, &p);
        list_children(l, node, p);
        return;
    case SYNTAX_LIST:
        list_compound_redirects(l, node, &p);
        list_children(l, node, p);
        return;
    }
}

static ShellCommands finish(Lister *l) {
    ShellCommand *at = ARENA_ARRAY(l->arena, ShellCommand, l->list.n);
    ShellCommands out = { .at = at, .n = l->list.n, .problem = l->problem, .exact = !l->problem };
    if (l->list.n) memcpy(at, l->list.at, l->list.n * sizeof *at);
    for (size_t i = 0; i < out.n; i++) out.exact &= at[i].exact && at[i].runs != SHELL_RUNS_UNKNOWN;
    VEC_CLEAR(&l->list);
    return out;
}

ShellCommands shell_commands(Str text, Arena *arena) {
    Lister l = { .arena = arena, .work = SHELL_WORK_MAX };
    if (text.n > SHELL_TEXT_MAX) return (ShellCommands){ .problem = "it is too long" };
    SyntaxReader x = { .arena = arena, .s = arena_str(arena, text), .work = &l.work };
    SyntaxNode *node = syntax_parse(&x);
    lister_problem(&l, x.error ? x.error : x.doubt);
    VEC_CLEAR(&x.heredocs);
    list_node(&l, node, (ListerPlace){ .stages = 1 });
    return finish(&l);
}
