/* Finds values that fixed code of the template would run: sh -c '"$1"' sh {{x}}, m={{x}} sh -c '$m', echo {{x}} > f; sh f. The scanner sees one
 * command after another and not what inline code does with its arguments, so this looks at all commands of the text together. */
#include <string.h>
#include "shell/shell.h"
#include "template/ast.h"

#define MARK "HARNESSVALUE"              /* placeholder for each value */

static void add_body(const AstBody *b, Buf *out) {
    for (size_t i = 0; i < b->n; i++) {
        const AstNode *n = &b->node[i];
        if (n->kind == AST_TEXT) buf_add(out, n->text);
        else if (n->kind == AST_VALUE) buf_add(out, STR(MARK));
        else if (n->main) add_body(n->main, out);
    }
}

static bool has_mark(const ShellWord *w) { return str_find(w->text, STR(MARK)) >= 0; }

/* NAME=…{{x}}…, before a command or as an argument of export, env and similar programs. */
static bool assigns(const ShellCommand *c) {
    for (uint32_t i = 0; i < c->assigns_n; i++)
        if (has_mark(&c->assigns[i].value)) return true;
    for (uint32_t i = 1; i < c->words_n; i++) {
        ptrdiff_t equals = str_find_char(c->words[i].text, '=');
        if (equals > 0 && c->words[i].text.at[0] != '-' && has_mark(&c->words[i]) && str_find(c->words[i].text, STR(MARK)) > equals) return true;
    }
    return false;
}

static bool takes_value(const ShellCommand *c) {
    for (uint32_t i = 1; i < c->words_n; i++)
        if (has_mark(&c->words[i])) return true;
    return false;
}

/* What this command runs is not known before it runs. */
static bool is_open(const ShellCommand *c) { return (c->words_n && !c->exact) || c->runs == SHELL_RUNS_UNKNOWN; }

static bool runs_value(const ShellCommands *all) {
    bool assigned = false;
    for (size_t i = 0; i < all->n; i++) assigned = assigned || assigns(&all->at[i]);
    for (size_t i = 0; i < all->n; i++) {
        const ShellCommand *c = &all->at[i];
        if (assigned && is_open(c)) return true;
        if (c->runs != SHELL_RUNS_TEXT || !takes_value(c)) continue;
        for (size_t k = i + 1; k < all->n && all->at[k].depth > c->depth; k++)
            if (is_open(&all->at[k])) return true;
    }
    return false;
}

/* A file that one command writes and a shell then runs. */
static bool runs_written_file(const ShellCommands *all) {
    for (size_t i = 0; i < all->n; i++) {
        const ShellCommand *c = &all->at[i];
        if (c->runs != SHELL_RUNS_FILE || c->operand >= c->words_n) continue;
        for (size_t k = 0; k < i; k++)
            for (uint32_t r = 0; takes_value(&all->at[k]) && r < all->at[k].redirects_n; r++)
                if (str_eq(all->at[k].redirects[r].target.text, c->words[c->operand].text)) return true;
    }
    return false;
}

/* Programs that run code from the folder in which they start (make, npm). */
static bool runs_folder(const ShellCommand *c) {
    static const char *const names[] = { "make", "gmake", "ninja", "npm", "yarn", "pnpm", "npx", "bun", "cargo", "just", "task", "rake",
        "mvn", "gradle", "bundle", "tox", "nox",
        "pytest", "cmake", "meson", "bazel", "go", "dotnet", "composer", "mix", "sbt", "ant", "scons", "invoke", "fab", "docker",
            "docker-compose", "vagrant", "terraform" };
    Str word = c->words_n ? c->words[0].text : STR("");
    if (word.n && word.at[0] != '/' && str_find_char(word, '/') >= 0) return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(c->program, str_from(names[i]))) return true;
    return false;
}

static bool moves(const ShellCommand *c) {
    if (str_eq(c->program, STR("cd")) || str_eq(c->program, STR("pushd"))) return takes_value(c);
    for (uint32_t i = 1; str_eq(c->program, STR("env")) && i < c->words_n; i++) {
        Str w = c->words[i].text, next = i + 1 < c->words_n ? c->words[i + 1].text : STR("");
        bool is = str_starts(w, STR("-C")) || str_starts(w, STR("--chdir"));
        if (is && (has_mark(&c->words[i]) || str_find(next, STR(MARK)) >= 0)) return true;
    }
    return false;
}

static bool runs_in_value(const ShellCommands *all) {
    bool moved = false;
    for (size_t i = 0; i < all->n; i++) {
        if (moved && runs_folder(&all->at[i])) return true;
        moved = moved || moves(&all->at[i]);
    }
    return false;
}

const char *ast_inline_problem(const Template *t) {
    Arena arena = { 0 };
    Buf text = { 0 };
    const char *problem = NULL;
    add_body(&t->body, &text);
    if (str_find(buf_str(&text), STR(MARK)) >= 0) {
        ShellCommands all = shell_commands(buf_str(&text), &arena);
        if (runs_value(&all)) problem = "a parameter may be run by the code of this command, which gets it as an argument or a variable";
        else if (runs_written_file(&all)) problem = "a parameter is written to a file that a shell then runs";
        else if (runs_in_value(&all)) problem = "a parameter chooses the folder whose files decide what is run";
    }
    buf_clear(&text);
    arena_clear(&arena);
    return problem;
}
