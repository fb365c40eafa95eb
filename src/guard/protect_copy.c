/* Programs that write other files than their operands name: a copy goes into a folder, find removes what it finds. */
#include <sys/stat.h>
#include "base/glob.h"
#include "guard/protect_judge.h"

Str judge_last_part(Str s) {
    while (s.n > 1 && s.at[s.n - 1] == '/') s.n--;
    size_t from = s.n;
    while (from > 0 && s.at[from - 1] != '/') from--;
    return str_sub(s, from, s.n);
}

/* ---- folders that hold protected files ---- */

typedef struct Inside { const Judge *j; Str folder, pattern; } Inside;

static bool is_inside(void *ctx, Str path) {
    const Inside *in = ctx;
    if (in->pattern.n) return judge_parts_match(in->j, str_sub(in->pattern, 1, in->pattern.n), str_sub(path, 1, path.n));
    return judge_below(path, in->folder);
}

/* Is `word` a folder that could hold a protected file, or a pattern that could be the name of one? */
static bool may_hold(const Judge *j, const ShellWord *word) {
    for (size_t i = 0; i < j->folders.n; i++) {
        Str path = guard_path_resolve(word->text, j->folders.at[i], j->p->arena);
        Inside in = { j, path, word->pattern ? path : STR("") };
        if (judge_each_name(j, is_inside, &in)) return true;
    }
    return false;
}

static bool is_missing(const Judge *j, const ShellWord *word) {
    struct stat st;
    for (size_t i = 0; i < j->folders.n; i++)
        if (stat(guard_path_resolve(word->text, j->folders.at[i], j->p->arena).at, &st) != 0) return true;
    return false;
}

/* ---- copies ---- */

typedef struct Copy { ShellWord *sources, target; size_t n; bool into, named, slashes; } Copy;   /* into: the target is a folder; named: it is the copy */

/* Without the machine of HOST:PATH. */
static Str local_part(Str s) {
    ptrdiff_t colon = str_find_char(s, ':'), slash = str_find_char(s, '/');
    return colon > 0 && (slash < 0 || colon < slash) ? str_sub(s, (size_t)colon + 1, s.n) : s;
}

static void judge_source(Judge *j, const Copy *copy, const ShellWord *source) {
    ShellWord into = copy->target;
    Str path = local_part(source->text), name = judge_last_part(path);
    bool contents = copy->named || str_eq(name, STR(".")) || str_eq(name, STR("..")) || str_eq(name, STR("/")) || !name.n
        || (copy->slashes && str_ends(path, STR("/")));
    if (!copy->target.exact) return;
    if (contents || (!source->exact && !source->pattern) || (!copy->into && is_missing(j, &copy->target))) {
        if (may_hold(j, &copy->target)) judge_unknown(j, source->text);
        if (contents) return;
    }
    if (!source->exact && !source->pattern) return;
    into.text = str_from(arena_fmt(j->p->arena, STR_FMT "/" STR_FMT, STR_ARG(into.text), STR_ARG(name)));
    into.pattern = source->pattern;
    if (!into.pattern) judge_operand(j, &into, EFFECT_WRITES);
    if (may_hold(j, &into)) judge_unknown(j, source->text);
}

/* The folder of -t, or the last operand; `ln FILE` writes into the working folder. */
static bool read_copy(Judge *j, const ShellCommand *c, Effect effect, Copy *out) {
    bool rsync = str_eq(c->program, STR("rsync")), remote = rsync || str_eq(c->program, STR("scp"));
    *out = (Copy){ .sources = ARENA_ARRAY(j->p->arena, ShellWord, c->words_n), .slashes = rsync,
                   .named = !remote && judge_has_option(c, "-T --no-target-directory") };
    for (uint32_t i = 1, used; i < c->words_n; i++) {
        const ShellWord *w = &c->words[i];
        if (!judge_is_option(w)) out->sources[out->n++] = judge_with_home(j, w);
        else if (!remote && judge_option_value(c, i, 't', "--target-directory", &out->target, &used)) {
            out->into = true;
            i += used - 1;
        } else judge_operand(j, w, effect);
    }
    if (out->into) out->target = judge_with_home(j, &out->target);
    else if (out->n == 1 && effect == EFFECT_LINKS) {
        out->target = (ShellWord){ .text = STR("."), .exact = true };
        out->into = true;
    } else if (out->n) out->target = out->sources[--out->n];
    return out->target.text.n > 0;
}

void judge_copy(Judge *j, const ShellCommand *c, Effect effect) {
    Copy copy;
    if (!read_copy(j, c, effect, &copy)) return;
    judge_operand(j, &copy.target, EFFECT_WRITES);
    for (size_t i = 0; i < copy.n; i++) {
        if (effect == EFFECT_MOVES) judge_operand(j, &copy.sources[i], effect);
        if (effect == EFFECT_LINKS) judge_operand(j, &copy.sources[i], EFFECT_WRITES);
        judge_source(j, &copy, &copy.sources[i]);
    }
}

/* ---- find ---- */

typedef struct Found { const Judge *j; Str start; const Glob *name; } Found;     /* name NULL: any */

/* Files in a protected folder have names like these. */
static bool names_file_of_folder(const Glob *name) {
    static const char *const usual[] = { "x", "x.md", "x.json", "x.jsonc", "x.yaml", "x.yml", "x.toml", "x.star", "x.js", "x.mjs", "x.ts", "x.py", "x.sh",
        "x.mdc", "x.rules", "settings.json", "hooks.json", "config", "pre-commit", "post-checkout" };
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (glob_match(name, str_from(usual[i]))) return true;
    return false;
}

static bool may_find(void *ctx, Str path) {
    const Found *f = ctx;
    struct stat st;
    if (!judge_below(path, f->start) || lstat(arena_str(f->j->p->arena, path).at, &st) != 0) return false;
    return !f->name || glob_match(f->name, judge_last_part(path)) || (S_ISDIR(st.st_mode) && names_file_of_folder(f->name));
}

/* The pattern of the only -name, if no other word could make find remove more than that. */
static const Glob *only_name(const Judge *j, const ShellCommand *c) {
    const ShellWord *name = NULL;
    for (uint32_t i = 1; i < c->words_n; i++) {
        Str w = c->words[i].text;
        if (str_eq(w, STR("-o")) || str_eq(w, STR("-or")) || str_eq(w, STR("-not")) || str_eq(w, STR("!")) || str_eq(w, STR(",")) || !c->words[i].exact)
            return NULL;
        if (str_eq(w, STR("-name")) && i + 1 < c->words_n) name = &c->words[i + 1];
    }
    return name ? glob_new(name->text, 0, j->p->arena, NULL) : NULL;
}

static void judge_start(Judge *j, const ShellWord *start, const Glob *name) {
    ShellWord w = judge_with_home(j, start);
    bool found = !w.exact;
    for (size_t i = 0; !found && i < j->folders.n; i++) {
        Found f = { j, guard_path_resolve(w.text, j->folders.at[i], j->p->arena), name };
        found = judge_each_name(j, may_find, &f);
    }
    if (found) judge_unknown(j, STR("find -delete"));
}

void judge_find(Judge *j, const ShellCommand *c) {
    const Glob *name = only_name(j, c);
    bool some = false;
    for (uint32_t i = 1; i < c->words_n; i++) {
        const ShellWord *w = &c->words[i];
        if (str_eq(w->text, STR("-H")) || str_eq(w->text, STR("-L")) || str_eq(w->text, STR("-P"))) continue;
        if (judge_is_option(w) || str_eq(w->text, STR("(")) || str_eq(w->text, STR("!"))) break;
        judge_start(j, w, name);
        some = true;
    }
    if (!some) judge_start(j, &(ShellWord){ .text = STR("."), .exact = true }, name);
}
