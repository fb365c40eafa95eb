/* Compiles a command: scans every path through its blocks; each {{x}} must be safe on all of them.
 *
 * A set of scanner states represents all paths to a point. The branches of a block start from copies of the set and
 * their results are merged; the body of {{#each}} is scanned until it yields no new state. The quoting of a value must
 * not depend on the path; other facts (is this still the first word? has there been a --?) may, and the strictest one
 * applies. */
#include <stdlib.h>
#include "base/mem.h"
#include "base/vec.h"
#include "template/shell_scan.h"
#include "template/render.h"

enum { STATES_MAX = 48, WORK_MAX = 64 << 20 };

typedef VEC(ShellState) States;
typedef struct {
    Template *t;
    const TemplateCommand *command;
    VEC(uint32_t) scopes;               /* ids of the enclosing contexts, the root's (0) first */
    VEC(Str) guards;                    /* paths known to be present */
    uint32_t next_scope;
    unsigned eaches;                    /* number of enclosing {{#each}} */
    size_t work;
    Error *err;
} Scan;

static bool scan_body(Scan *c, AstBody *b, States *set);

/* ---- messages ---- */

static bool fail(Scan *c, size_t at, ShellRefusal why, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static bool fail(Scan *c, size_t at, ShellRefusal why, const char *fmt, ...) {
    uint32_t line, column;
    va_list ap;
    va_start(ap, fmt);
    error_set_v(c->err, ERR_CONFIG, fmt, ap);
    va_end(ap);
    ast_place(c->t->text, at, &line, &column);
    error_place(c->err, NULL, line, column);
    return error_hint(c->err, "%s", shell_scan_refusal_advice(why));
}

static bool fail_value(Scan *c, const AstNode *n, ShellRefusal why, const char *program) {
    Buf name = { 0 };
    ast_path_text(&name, &n->path);
    bool code = why == SHELL_CODE && *program;
    fail(c, n->at, why, "{{" STR_FMT "}} %s%s%s", STR_ARG(buf_str(&name)), shell_scan_refusal_text(why), code ? " for " : "", code ? program : "");
    buf_clear(&name);
    return false;
}

/* ---- names ---- */

/* Properties of a path. `key` is the same for every spelling of the same location. */
typedef struct { bool whole, item, absent; int32_t param; Str key; } Resolved;

static const TemplateParam *find_param(Scan *c, Str name, int32_t *index) {
    for (size_t i = 0; i < c->t->n_params; i++)
        if (str_eq(c->t->params[i].name, name)) return *index = (int32_t)i, &c->t->params[i];
    return NULL;
}

static bool unknown(Scan *c, const AstNode *n, Str name) {
    uint32_t line, column;
    VEC(Str) names = { 0 };
    for (size_t i = 0; i < c->t->n_params; i++) VEC_PUSH(&names, c->t->params[i].name);
    Str near = str_nearest(name, names.at, names.n);
    VEC_CLEAR(&names);
    error_set(c->err, ERR_CONFIG, "\"" STR_FMT "\" is not a parameter", STR_ARG(name));
    ast_place(c->t->text, n->at, &line, &column);
    error_place(c->err, NULL, line, column);
    if (near.n) return error_hint(c->err, "did you mean \"" STR_FMT "\"?", STR_ARG(near));
    return error_hint(c->err, "declare it under parameters");
}

static Str path_key(Scan *c, uint32_t scope, const AstPath *p, uint32_t first) {
    Buf b = { 0 };
    buf_add_fmt(&b, "%u", scope);
    for (uint32_t i = first; i < p->n; i++) buf_add_fmt(&b, "/%zu:" STR_FMT, p->part[i].n, STR_ARG(p->part[i]));
    Str key = arena_str(&c->t->arena, buf_str(&b));
    buf_clear(&b);
    return key;
}

static bool is_guarded(const Scan *c, Str key) {
    for (size_t i = 0; i < c->guards.n; i++)
        if (str_eq(c->guards.at[i], key)) return true;
    return false;
}

/* @index, @key, @first, @last: always present inside an each. */
static bool resolve_data(Scan *c, const AstNode *n, Resolved *out) {
    static const Str known[] = { STR("index"), STR("key"), STR("first"), STR("last") };
    bool ok = false;
    for (size_t i = 0; i < 4; i++) ok |= n->path.n == 1 && str_eq(n->path.part[0], known[i]);
    if (!ok || n->path.depth >= c->eaches) {
        ast_error(c->err, ERR_CONFIG, c->t->text, n->at, "unknown @ value");
        return error_hint(c->err, "@index, @key, @first and @last exist only inside {{#each}}");
    }
    *out = (Resolved){ .whole = true, .param = -1, .key = STR("@") };
    return true;
}

static bool resolve(Scan *c, const AstNode *n, Resolved *out) {
    const AstPath *p = &n->path;
    bool root = p->data && p->n > 0 && str_eq(p->part[0], STR("root"));
    if (p->data && !root) return resolve_data(c, n, out);
    if (p->depth >= c->scopes.n) return ast_error(c->err, ERR_CONFIG, c->t->text, n->at, "../ leads out of the arguments");
    uint32_t scope = root ? 0 : c->scopes.at[c->scopes.n - 1 - p->depth], first = root;
    *out = (Resolved){ .param = -1, .item = scope != 0, .whole = p->n == first, .key = path_key(c, scope, p, first) };
    if (scope == 0) {
        if (p->n == first) return ast_error(c->err, ERR_CONFIG, c->t->text, n->at, "name a parameter here");
        const TemplateParam *param = find_param(c, p->part[first], &out->param);
        if (!param) return unknown(c, n, p->part[first]);
        out->whole = p->n == first + 1;
        out->absent = !param->required && value_is_gone(param->fallback);
    }
    out->absent = (out->absent || !out->whole) && !is_guarded(c, out->key);
    return true;
}

/* ---- sets of states ---- */

static bool set_has(const States *set, const ShellState *s) {
    for (size_t i = 0; i < set->n; i++)
        if (shell_scan_same(&set->at[i], s)) return true;
    return false;
}

static bool set_add(Scan *c, States *set, const ShellState *s, size_t at) {
    if (set_has(set, s)) return true;
    if (set->n == STATES_MAX) return fail(c, at, SHELL_COMPLEX, "there are too many paths through these blocks");
    VEC_PUSH(set, *s);
    return true;
}

static bool set_join(Scan *c, States *into, const States *from, size_t at) {
    for (size_t i = 0; i < from->n; i++)
        if (!set_add(c, into, &from->at[i], at)) return false;
    return true;
}

static States set_copy(const States *set) {
    States copy = { 0 };
    for (size_t i = 0; i < set->n; i++) VEC_PUSH(&copy, set->at[i]);
    return copy;
}

static void set_unique(States *set) {
    if (set->n < 2) return;
    States all = *set, kept = { 0 };
    for (size_t i = 0; i < all.n; i++)
        if (!set_has(&kept, &all.at[i])) VEC_PUSH(&kept, all.at[i]);
    VEC_CLEAR(&all);
    *set = kept;
}

/* ---- text and values ---- */

/* Reports an error caused by text for the preceding parameter, or the one in the same word. */
static bool fail_text(Scan *c, const AstNode *text, size_t at, ShellRefusal why, const ShellState *s, const AstNode *last) {
    const AstNode *n = s->word.only ? s->word.only : last;
    if (n) return fail_value(c, n, why, "");
    return fail(c, text->at + at, why, "a parameter before this %s", shell_scan_refusal_text(why));
}

static bool scan_text(Scan *c, AstNode *n, States *set, const AstNode *last) {
    c->work += (n->text.n + 64) * set->n;
    if (c->work > WORK_MAX) return fail(c, n->at, SHELL_COMPLEX, "this command's blocks take too long to check");
    uint32_t start = (uint32_t)(n->text.at - c->t->text.at);
    for (size_t i = 0; i < set->n; i++) {
        ShellState *s = &set->at[i];
        shell_scan_text_start(s);
        for (size_t k = 0; k < n->text.n; k++) {
            ShellRefusal why = shell_scan_feed(s, n->text.at[k], start + (uint32_t)k);
            if (why) return fail_text(c, n, k, why, s, last);
        }
        if (i == 0 || s->lead == AST_LEAD_YES) n->lead = (AstLead)s->lead;
    }
    set_unique(set);
    return true;
}

/* True if node i of the body is directly between two quotes, "…{{x}}…", of its neighbouring text nodes. */
static bool between_quotes(const AstBody *b, size_t i) {
    if (i == 0 || i + 1 >= b->n || b->node[i - 1].kind != AST_TEXT || b->node[i + 1].kind != AST_TEXT) return false;
    Str before = b->node[i - 1].text, after = b->node[i + 1].text;
    if (before.n == 0 || after.n == 0) return false;
    char quote = before.at[before.n - 1];
    return (quote == '"' || quote == '\'') && after.at[0] == quote;
}

static bool scan_raw(Scan *c, AstNode *n, States *set) {
    if (!c->command->unsafe_raw) return fail_value(c, n, SHELL_RAW, "");
    n->quote = AST_RAW;
    for (size_t i = 0; i < set->n; i++) shell_scan_raw(&set->at[i]);
    return true;
}

static bool scan_value(Scan *c, AstBody *b, size_t index, States *set) {
    AstNode *n = &b->node[index];
    Resolved r;
    if (!resolve(c, n, &r)) return false;
    const TemplateParam *param = r.param >= 0 && r.whole ? &c->t->params[r.param] : NULL;
    n->param = r.param;
    if (n->raw) return scan_raw(c, n, set);
    if (param && param->object) return fail_value(c, n, SHELL_OBJECT, "");
    n->spread = param && param->array;
    n->may_drop = r.absent;
    n->own_quotes = r.absent && !n->spread && between_quotes(b, index);
    ShellValue v = { .node = n, .maybe_absent = r.absent, .array = n->spread, .constrained = param && param->constrained };
    for (size_t i = 0; i < set->n; i++) {
        ShellRefusal why = shell_scan_value(&set->at[i], &v, n);
        if (why) return fail_value(c, n, why, shell_scan_program_name(&set->at[i]));
    }
    c->work += set->n * 64;
    set_unique(set);
    return true;
}

/* ---- blocks ---- */

static bool check_quoting(Scan *c, const AstNode *n, const States *before, const States *after) {
    for (size_t i = 0; i < after->n; i++)
        if (!shell_scan_same_quoting(&before->at[0], &after->at[i]))
            return fail(c, n->at, SHELL_BRANCH, "a branch of this block opens or closes a quote, bracket or comment that the other does not");
    return true;
}

/* Scans one branch, from a copy of the set. */
static bool scan_branch(Scan *c, const AstNode *n, AstBody *b, const States *from, States *out) {
    *out = set_copy(from);
    return !b || (scan_body(c, b, out) && check_quoting(c, n, from, out));
}

static bool scan_guarded(Scan *c, const AstNode *n, AstBody *b, Str key, const States *from, States *out) {
    VEC_PUSH(&c->guards, key);
    bool ok = scan_branch(c, n, b, from, out);
    (void)VEC_POP(&c->guards);
    return ok;
}

static bool scan_if(Scan *c, AstNode *n, const Resolved *r, States *set) {
    States yes = { 0 }, no = { 0 };
    AstBody *there = n->kind == AST_IF ? n->main : n->other, *absent = n->kind == AST_IF ? n->other : n->main;
    bool ok = scan_guarded(c, n, there, r->key, set, &yes) && scan_branch(c, n, absent, set, &no);
    if (ok) {
        VEC_CLEAR(set);
        ok = set_join(c, set, &yes, n->at) && set_join(c, set, &no, n->at);
    }
    VEC_CLEAR(&yes);
    VEC_CLEAR(&no);
    return ok;
}

/* Scans the body of an each repeatedly, starting from the last results, until there are no new states. */
static bool scan_rounds(Scan *c, AstNode *n, const States *set, States *seen) {
    States from = set_copy(set), out = { 0 };
    bool ok = true;
    while (ok && from.n) {
        ok = scan_branch(c, n, n->main, &from, &out);
        VEC_CLEAR(&from);
        for (size_t i = 0; ok && i < out.n; i++) {
            if (set_has(seen, &out.at[i])) continue;
            ok = set_add(c, seen, &out.at[i], n->at);
            VEC_PUSH(&from, out.at[i]);
        }
        VEC_CLEAR(&out);
    }
    VEC_CLEAR(&from);
    return ok;
}

static bool scan_loop(Scan *c, AstNode *n, States *set) {
    States after = { 0 }, other = { 0 };
    VEC_PUSH(&c->scopes, ++c->next_scope);
    c->eaches += n->kind == AST_EACH;
    bool ok = n->kind == AST_EACH ? scan_rounds(c, n, set, &after) : scan_branch(c, n, n->main, set, &after);
    c->eaches -= n->kind == AST_EACH;
    (void)VEC_POP(&c->scopes);
    ok = ok && scan_branch(c, n, n->other, set, &other);
    if (ok) {
        VEC_CLEAR(set);
        ok = set_join(c, set, &after, n->at) && set_join(c, set, &other, n->at);
    }
    VEC_CLEAR(&after);
    VEC_CLEAR(&other);
    return ok;
}

static bool scan_block(Scan *c, AstNode *n, States *set) {
    Resolved r;
    if (n->path.n == 0 && !n->path.data && (n->kind == AST_WITH || c->scopes.at[c->scopes.n - 1] == 0))
        return ast_error(c->err, ERR_CONFIG, c->t->text, n->at, "name a parameter here");
    if (!resolve(c, n, &r)) return false;
    n->param = r.param;
    return n->kind == AST_IF || n->kind == AST_UNLESS ? scan_if(c, n, &r, set) : scan_loop(c, n, set);
}

static bool scan_body(Scan *c, AstBody *b, States *set) {
    const AstNode *last = NULL;                            /* the most recent parameter */
    for (size_t i = 0; i < b->n; i++) {
        AstNode *n = &b->node[i];
        bool ok = true;
        if (n->kind == AST_TEXT) ok = scan_text(c, n, set, last);
        else if (n->kind == AST_VALUE) ok = scan_value(c, b, i, set), last = n;
        else if (n->kind != AST_COMMENT) ok = scan_block(c, n, set), last = NULL;
        if (!ok) return false;
    }
    return true;
}

/* ---- entry point ---- */

static bool scan_end(Scan *c, States *set) {
    for (size_t i = 0; i < set->n; i++) {
        ShellState *s = &set->at[i];
        if (shell_scan_end(s) == SHELL_UNCLOSED) return fail(c, s->opened, SHELL_UNCLOSED, "the quote or bracket opened here is never closed");
        if (s->flows && s->used) return fail(c, 0, SHELL_PIPED, "a parameter %s", shell_scan_refusal_text(SHELL_PIPED));
        if (s->integer && s->assigned && s->used) return fail(c, 0, SHELL_INTEGER, "a parameter %s", shell_scan_refusal_text(SHELL_INTEGER));
    }
    return true;
}

/* Removes the quotes that belong to a value from the texts around it. */
static void cut_quotes(AstBody *b) {
    for (size_t i = 0; i < b->n; i++) {
        AstNode *n = &b->node[i];
        if (n->main) cut_quotes(n->main);
        if (n->other) cut_quotes(n->other);
        if (n->kind != AST_VALUE || !n->own_quotes) continue;
        n[-1].text.n--;
        n[1].text = str_sub(n[1].text, 1, n[1].text.n);
    }
}

static void start_flags(AstBody *b) {
    for (size_t i = 0; i < b->n; i++) {
        b->node[i].dash_ok = true;                         /* true until a state clears it */
        if (b->node[i].main) start_flags(b->node[i].main);
        if (b->node[i].other) start_flags(b->node[i].other);
    }
}

static bool scan_command(Template *t, const TemplateCommand *command, Error *err) {
    Scan c = { .t = t, .command = command, .err = err };
    States set = { 0 };
    ShellState start;
    shell_scan_start(&start);
    start_flags(&t->body);
    VEC_PUSH(&set, start);
    VEC_PUSH(&c.scopes, 0);
    bool ok = scan_body(&c, &t->body, &set) && scan_end(&c, &set);
    const char *problem = ok && !t->has_raw ? ast_inline_problem(t) : NULL;
    if (problem) {
        ok = ast_error(err, ERR_CONFIG, t->text, 0, "%s", problem);
        error_hint(err, "move the command into a script that takes the value as an argument");
    }
    if (ok) cut_quotes(&t->body);
    VEC_CLEAR(&set);
    VEC_CLEAR(&c.scopes);
    VEC_CLEAR(&c.guards);
    return ok;
}

static void copy_params(Template *t, const TemplateCommand *command) {
    t->n_params = command->n_params;
    t->params = ARENA_ARRAY(&t->arena, TemplateParam, command->n_params);
    for (size_t i = 0; i < t->n_params; i++) {
        t->params[i] = command->params[i];
        t->params[i].name = arena_str(&t->arena, command->params[i].name);
    }
}

bool template_compile_command(Str text, const TemplateCommand *command, Template **out, Error *err) {
    if (text.n > TEMPLATE_TEXT_MAX)
        return error_set_at(err, ERR_LIMIT, 1, 1, "a command may not be longer than %d bytes", TEMPLATE_TEXT_MAX);
    Template *t = mem_zero(1, sizeof *t);
    t->text = arena_str(&t->arena, text);
    t->max_output = command->max_output ? command->max_output : TEMPLATE_OUTPUT_MAX;
    t->command = true;
    copy_params(t, command);
    if (!ast_parse(t, err) || !scan_command(t, command, err)) return template_free(t), false;
    return *out = t, true;
}
