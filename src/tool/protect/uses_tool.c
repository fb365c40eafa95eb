/* Programs of tools that get values of the user's environment. A call that could change one of them, or a file beside it, would get the value.
 * In a script, only calls of exec.run count whose words are literals or variables that are assigned literals. */
#include "base/vec.h"
#include "starlark/module.h"
#include "starlark/syntax/parser.h"
#include "tool/protect/uses.h"
#include "value/list.h"

enum { CHOICES_MAX = 16 };

/* ---- which tools ---- */

/* Locale, time zone and terminal type are not secrets. */
static bool is_ordinary(Str name) {
    static const Str names[] = { STR("COLORTERM"), STR("LANG"), STR("LANGUAGE"), STR("NO_COLOR"), STR("TERM"), STR("TZ") };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(name, names[i])) return true;
    return str_starts(name, STR("LC_"));
}

static bool names_secret(Str text) {
    for (size_t i = 0; i + 1 < text.n; i++) {
        if (text.at[i] != '$' || text.at[i + 1] != '{' || (i > 0 && text.at[i - 1] == '$')) continue;      /* $${ is a literal ${ */
        Str rest = str_sub(text, i + 2, text.n);
        ptrdiff_t end = str_find_char(rest, '}');
        if (!is_ordinary(end < 0 ? rest : str_sub(rest, 0, (size_t)end))) return true;
    }
    return false;
}

static bool takes_secret(Value environment) {
    Entry *e;
    for (uint32_t i = 0; value_is_dict(environment) && dict_next(value_dict(environment), &i, &e);)
        if (value_is_string(e->value) && names_secret(value_str(e->value))) return true;
    return false;
}

static bool passes_secret(const StrList *names) {
    for (size_t i = 0; i < names->n; i++)
        if (!is_ordinary(names->at[i])) return true;
    return false;
}

static bool allows_secret(const Project *p) {
    Value list = value_member(p->settings.sandbox, "env_allow");
    for (uint32_t i = 0; value_is_list(list) && i < value_list(list)->n; i++)
        if (value_is_string(value_list(list)->at[i]) && !is_ordinary(value_str(value_list(list)->at[i]))) return true;
    return false;
}

static void note_env(void *ctx, Str name, Str member) {
    (void)member;
    if (str_eq(name, STR("env"))) *(bool *)ctx = true;
}

static bool reads_secret(const Project *p, const ToolDef *t) {
    bool reached = false;
    if (!t->script || !allows_secret(p)) return false;
    module_each_reached(t->script, note_env, &reached);
    return reached;
}

bool uses_secret(const Project *p, const ToolDef *t) {
    Str name;
    for (size_t i = 0; i < t->injected.n; i++)
        if (project_injected_find(t->injected.at[i], &name) == INJECTED_SECRET) return true;
    return passes_secret(&t->env_passthrough) || takes_secret(t->environment) || reads_secret(p, t);
}

/* ---- commands ---- */

static Str in_root(ProtectedList *l, Str folder) { return str_from(protected_path(l, l->root, folder.n ? folder : STR("."))); }

/* The folder that the tool is confined to, or `usual`. */
static Str work_folder(ProtectedList *l, const ToolDef *t, Str usual) {
    Str root = value_is_dict(t->safety) ? value_member_text(t->safety, "workspace_root") : (Str){ 0 };
    return root.n ? str_from(protected_path(l, l->workspace, root)) : usual;
}

static void look_command(ProtectedList *l, const ToolDef *t, UsesFound *found) {
    Str folder = work_folder(l, t, in_root(l, t->folder));
    Buf text = { 0 };
    Entry *e;
    for (unsigned way = 0; way < CHOICES_MAX && template_shell_text(t->command, way, &text); way++)
        uses_text(l, USES_TOOL, folder, arena_str(l->arena, buf_str(&text)), found);
    for (uint32_t i = 0; value_is_dict(t->environment) && dict_next(value_dict(t->environment), &i, &e);)
        if (value_is_string(e->value)) uses_variable(l, USES_TOOL, folder, value_str(e->key), value_str(e->value), found);
    buf_clear(&text);
}

/* The program is relative to the manifest; it works in the workspace. */
static void look_argv(ProtectedList *l, const ToolDef *t, UsesFound *found) {
    StrList args = { t->argv.at + 1, t->argv.n - 1 };
    uses_argv(l, USES_TOOL, work_folder(l, t, l->workspace), str_from(protected_path(l, in_root(l, t->folder), t->argv.at[0])), &args, found);
}

/* ---- scripts ---- */

typedef struct Assigned { Str name; const Expr *value; } Assigned;

typedef struct Script {
    ProtectedList *l;
    const ToolDef *tool;
    UsesFound *found;
    VEC(Assigned) assigned;
    VEC(const Expr *) runs;                /* calls of exec.run */
} Script;

static void walk_body(Script *s, const AstBody *b);
static void walk_expr(Script *s, const Expr *e);

static bool is_run(const Expr *fn) {
    return fn->kind == EXPR_DOT && fn->dot.x->kind == EXPR_NAME && str_eq(string_str(fn->dot.x->name.name), STR("exec"))
        && str_eq(string_str(fn->dot.name), STR("run"));
}

static void walk_function(Script *s, const AstFunction *f) {
    for (uint32_t i = 0; i < f->n_declared; i++) walk_expr(s, f->params[i].fallback);
    walk_body(s, &f->body);
    walk_expr(s, f->result);
}

/* Visits all parts of an expression except the leftmost one, which the caller visits. */
static void walk_rest(Script *s, const Expr *e) {
    switch (e->kind) {
    case EXPR_NAME: case EXPR_CONST: case EXPR_DOT: break;
    case EXPR_LIST: case EXPR_TUPLE:
        for (uint32_t i = 0; i < e->list.n; i++) walk_expr(s, e->list.at[i]);
        break;
    case EXPR_DICT:
        for (uint32_t i = 0; i < e->dict.n; i++) walk_expr(s, e->dict.at[i].key), walk_expr(s, e->dict.at[i].value);
        break;
    case EXPR_COND: walk_expr(s, e->cond.test), walk_expr(s, e->cond.yes), walk_expr(s, e->cond.no); break;
    case EXPR_INDEX: walk_expr(s, e->index.index); break;
    case EXPR_SLICE: walk_expr(s, e->slice.lo), walk_expr(s, e->slice.hi), walk_expr(s, e->slice.step); break;
    case EXPR_CALL:
        if (is_run(e->call.fn)) VEC_PUSH(&s->runs, e);
        for (uint32_t i = 0; i < e->call.n; i++) walk_expr(s, e->call.args[i].value);
        break;
    case EXPR_UNARY: walk_expr(s, e->unary.x); break;
    case EXPR_BINARY: walk_expr(s, e->binary.y); break;
    case EXPR_COMPREHENSION:
        walk_expr(s, e->comp.body), walk_expr(s, e->comp.value);
        for (uint32_t i = 0; i < e->comp.n; i++) walk_expr(s, e->comp.clauses[i].x);
        break;
    case EXPR_LAMBDA: walk_function(s, e->lambda); break;
    }
}

static void walk_expr(Script *s, const Expr *e) {
    for (; e; e = ast_left(e)) walk_rest(s, e);
}

static void walk_statement(Script *s, const Stmt *t) {
    switch (t->kind) {
    case STMT_EXPR: case STMT_RETURN: walk_expr(s, t->expr); break;
    case STMT_ASSIGN:
        walk_expr(s, t->assign.target), walk_expr(s, t->assign.value);
        if (t->assign.target->kind == EXPR_NAME) VEC_PUSH(&s->assigned, ((Assigned){ string_str(t->assign.target->name.name), t->assign.value }));
        break;
    case STMT_DEF: walk_function(s, t->def.fn); break;
    case STMT_IF:
        for (uint32_t i = 0; i < t->branch.n; i++) walk_expr(s, t->branch.arms[i].test), walk_body(s, &t->branch.arms[i].body);
        break;
    case STMT_FOR: case STMT_WHILE: walk_expr(s, t->loop.x), walk_body(s, &t->loop.body); break;
    case STMT_BREAK: case STMT_CONTINUE: case STMT_PASS: case STMT_LOAD: break;
    }
}

static void walk_body(Script *s, const AstBody *b) {
    for (uint32_t i = 0; i < b->n; i++) walk_statement(s, b->at[i]);
}

/* The n-th value that the expression can have: its own, or one that the script assigns to the name. NULL: there are no more. */
static const Expr *choice(const Script *s, const Expr *e, size_t n) {
    if (!e || e->kind != EXPR_NAME) return n == 0 ? e : NULL;
    for (size_t i = 0; i < s->assigned.n; i++)
        if (str_eq(s->assigned.at[i].name, string_str(e->name.name)) && n-- == 0) return s->assigned.at[i].value;
    return NULL;
}

static bool is_text(const Expr *e) { return e && e->kind == EXPR_CONST && value_is_string(e->constant); }

/* Adds one word. False: it is known only when the script runs. */
static bool add_word(Script *s, Buf *text, const Expr *e) {
    const Expr *only = choice(s, e, 1) ? NULL : choice(s, e, 0);
    if (text->n) buf_add_char(text, ' ');
    if (!is_text(only)) return buf_add(text, STR("\"${value}\"")), false;
    uses_quote(text, value_str(only->constant));
    return true;
}

static bool add_words(Script *s, Buf *text, const Expr *e) {
    bool exact = true;
    if (!e) return true;
    if (e->kind == EXPR_BINARY && e->op == TOKEN_PLUS) {       /* a concatenation of lists */
        exact = add_words(s, text, choice(s, e->binary.x, 0) ? choice(s, e->binary.x, 0) : e->binary.x);
        return add_words(s, text, choice(s, e->binary.y, 0) ? choice(s, e->binary.y, 0) : e->binary.y) && exact;
    }
    if (e->kind != EXPR_LIST && e->kind != EXPR_TUPLE) return buf_add(text, STR(" \"$@\"")), false;
    for (uint32_t i = 0; i < e->list.n; i++) exact = add_word(s, text, e->list.at[i]) && exact;
    return exact;
}

static void look_line(Script *s, const Expr *program, const Expr *args, Str folder, bool plain) {
    Buf text = { 0 };
    UsesFound found = { 0 };
    bool exact = add_word(s, &text, program);
    exact = add_words(s, &text, args) && exact;
    if (!exact || !plain) uses_text(s->l, USES_TOOL, folder, arena_str(s->l->arena, buf_str(&text)), &found);
    if (exact && found.why && !s->found->why) s->found->why = found.why, s->found->word = found.word, s->found->instead = found.instead;
    if (found.exposed.n) s->found->exposed = found.exposed;
    if (found.reads.n) s->found->reads = found.reads;
    s->found->safe_path |= found.safe_path;
    buf_clear(&text);
}

static const Expr *argument(const Expr *call, uint32_t at, const char *name) {
    for (uint32_t i = 0, n = 0; i < call->call.n; i++) {
        const AstArg *a = &call->call.args[i];
        if (a->kind == ARG_POSITIONAL && n++ == at) return a->value;
        if (a->kind == ARG_NAMED && str_eq(string_str(a->name), str_from(name))) return a->value;
    }
    return NULL;
}

/* A call with literal words, and without `env` and `stdin`, gives the program no secret. */
static bool is_plain(const Expr *call) {
    for (uint32_t i = 0; i < call->call.n; i++)
        if (call->call.args[i].kind == ARG_STAR || call->call.args[i].kind == ARG_STARSTAR) return false;
    return !argument(call, 3, "stdin") && !argument(call, 4, "env");
}

static void look_run(Script *s, const Expr *call) {
    const Expr *program = argument(call, 0, "cmd"), *args = argument(call, 1, "args"), *cwd = argument(call, 5, "cwd");
    Str folder = work_folder(s->l, s->tool, s->l->workspace);
    if (!program) return;
    const Expr *where = cwd ? choice(s, cwd, 0) : NULL;
    if (is_text(where)) folder = str_from(protected_path(s->l, folder, value_str(where->constant)));
    for (size_t i = 0; i < CHOICES_MAX && (i == 0 || choice(s, program, i)); i++)
        for (size_t k = 0; k < CHOICES_MAX && (k == 0 || choice(s, args, k)); k++)
            look_line(s, choice(s, program, i) ? choice(s, program, i) : program, args && choice(s, args, k) ? choice(s, args, k) : args, folder,
                      is_plain(call));
}

static void look_script(ProtectedList *l, const ToolDef *t, UsesFound *found) {
    Script s = { .l = l, .tool = t, .found = found };
    Arena arena = { 0 };
    Heap *heap = heap_new(0);
    MEM_UNSET Error err;
    AstModule *module;
    error_none(&err);
    Dict *names = dict_new(heap, 0, &err);
    if (names && parser_module(&(ParserInput){ module_source(t->script), &arena, heap, names }, &module, &err)) {
        walk_function(&s, module->toplevel);
        for (size_t i = 0; i < s.runs.n; i++) look_run(&s, s.runs.at[i]);
    }
    VEC_CLEAR(&s.assigned);
    VEC_CLEAR(&s.runs);
    heap_free(heap);
    arena_clear(&arena);
}

void uses_tool(ProtectedList *l, const ToolDef *t, UsesFound *found) {
    if (!uses_secret(l->project, t)) return;
    if (t->command) look_command(l, t, found);
    if (t->argv.n) look_argv(l, t, found);
    if (t->script) look_script(l, t, found);
}
