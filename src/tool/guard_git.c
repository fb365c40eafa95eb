#include "tool/guard_judge.h"

static bool is(const GuardField *f, const char *text) { return str_eq(f->text, str_from(text)); }
static bool starts(const GuardField *f, const char *text) { return str_starts(f->text, str_from(text)); }

/* ---- push ---- */

static bool short_flag(const GuardField *f, char letter) {
    if (f->text.n < 2 || f->text.at[0] != '-' || f->text.at[1] == '-') return false;
    for (size_t i = 1; i < f->text.n && f->text.at[i] != 'o'; i++)       /* -o takes what follows */
        if (f->text.at[i] == letter) return true;
    return false;
}

/* git takes long options cut short; --fo is no --follow-tags yet. */
static const char *forced_option(const GuardField *f) {
    if (starts(f, "--fo") && !starts(f, "--fol")) return "--force";
    if (starts(f, "--mi")) return "--mirror";
    if (starts(f, "--de")) return "--delete";
    if (starts(f, "--pru")) return "--prune";
    if (short_flag(f, 'f')) return "-f";
    if (short_flag(f, 'd')) return "-d";
    return NULL;
}

static bool takes_argument(const GuardField *f) {
    static const char *const names[] = { "-o", "--push-option", "--receive-pack", "--exec", "--repo", "--recurse-submodules" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is(f, names[i])) return true;
    return false;
}

static void judge_push(Guard *j, const GuardField *args, size_t n) {
    size_t operands = 0;
    bool options = true;
    for (size_t i = 0; i < n; i++) {
        const GuardField *f = &args[i];
        if (options && is(f, "--")) { options = false; continue; }
        if (options && takes_argument(f)) { i++; continue; }
        const char *forced = options ? forced_option(f) : NULL;
        if (forced) guard_judge_raise(j, GUARD_REFUSE, "forced push (git push %s)", forced);
        if (options && f->text.n && f->text.at[0] == '-') {
            if (!f->exact) guard_judge_raise(j, GUARD_CONFIRM, "an option of git push cannot be known before it runs");
            continue;
        }
        if (starts(f, "+")) guard_judge_raise(j, GUARD_REFUSE, "forced push (git push " STR_FMT ")", STR_ARG(f->text));
        if (operands++ && starts(f, ":") && f->text.n > 1) guard_judge_raise(j, GUARD_REFUSE, "a push that deletes a branch (git push " STR_FMT ")", STR_ARG(f->text));
    }
}

/* ---- commands that git runs ---- */

static void judge_text(Guard *j, const GuardField *f) { guard_judge_script(j, f, (GuardInput){ .kind = GUARD_INPUT_NONE }); }

/* !command is for the shell. */
static bool judge_alias(Guard *j, Str value, bool exact) {
    if (!str_starts(value, STR("!"))) return false;
    GuardField f = { .text = arena_str(j->arena, str_sub(value, 1, value.n)), .exact = exact };
    judge_text(j, &f);
    return true;
}

static void judge_foreach(Guard *j, const GuardField *args, size_t n) {
    size_t i = 0;
    while (i < n && !is(&args[i], "foreach")) i++;
    for (i++; i < n && starts(&args[i], "-"); i++) {}
    if (i >= n) return;
    GuardField text = guard_word_join(j, args + i, n - i);
    judge_text(j, &text);
}

static void judge_exec_options(Guard *j, const GuardField *args, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bool next = is(&args[i], "-x") || is(&args[i], "--exec") || is(&args[i], "--extcmd") || (starts(&args[i], "--") && str_ends(args[i].text, STR("-filter")));
        ptrdiff_t equals = starts(&args[i], "--exec=") || starts(&args[i], "--extcmd=") ? str_find_char(args[i].text, '=') : -1;
        if (next && i + 1 < n) judge_text(j, &args[i + 1]);
        if (equals < 0) continue;
        GuardField f = args[i];
        f.text = arena_str(j->arena, str_sub(f.text, (size_t)equals + 1, f.text.n));
        judge_text(j, &f);
    }
}

static void judge_command(Guard *j, const GuardField *args, size_t n);

/* An alias that is no shell command is one of git's: judged as if it were used at once. */
static void judge_value(Guard *j, Str name, Str value, bool exact) {
    guard_text_git_setting(j, name, value);
    if (judge_alias(j, value, exact) || !str_starts(name, STR("alias."))) return;
    GuardFields made = { 0 };
    guard_word_split(j, value, &made);
    j->only_worst++;
    judge_command(j, made.at, made.n);
    j->only_worst--;
    VEC_CLEAR(&made);
}

/* git config alias.x '!rm -rf /' */
static void judge_config(Guard *j, const GuardField *args, size_t n) {
    for (size_t i = 0; i + 1 < n; i++)
        if (!starts(&args[i], "-") && str_find_char(args[i].text, '.') > 0) judge_value(j, args[i].text, args[i + 1].text, args[i + 1].exact);
}

/* git clean -fdx removes what git does not know, and nothing brings that back. */
static void judge_clean(Guard *j, const GuardField *args, size_t n) {
    bool force = false, deep = false;
    for (size_t i = 0; i < n && !is(&args[i], "--"); i++) {
        if (short_flag(&args[i], 'n') || starts(&args[i], "--dry") || is(&args[i], "-h") || is(&args[i], "--help")) return;
        force |= short_flag(&args[i], 'f') || starts(&args[i], "--fo");
        deep |= short_flag(&args[i], 'd') || short_flag(&args[i], 'x') || short_flag(&args[i], 'X');
        if ((is(&args[i], "-e") || is(&args[i], "--exclude")) && i + 1 < n) i++;
    }
    if (force && deep) guard_judge_raise(j, GUARD_REFUSE, "recursive forced removal (git clean -fd)");
    else if (force) guard_judge_raise(j, GUARD_CONFIRM, "git clean removes files that git does not know");
}

/* --upload-pack 'command', --open-files-in-pager=command: of any command of git. */
static void judge_programs(Guard *j, const GuardField *args, size_t n) {
    static const char *const names[] = { "--upload-pack", "--receive-pack", "--open-files-in-pager" };
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            if (!starts(&args[i], names[k])) continue;
            bool same = args[i].text.n > strlen(names[k]);
            GuardField f = same ? args[i] : i + 1 < n ? args[i + 1] : (GuardField){ .text = STR(""), .exact = true };
            if (same) f.text = arena_str(j->arena, str_sub(f.text, strlen(names[k]) + 1, f.text.n));
            j->only_worst++;
            judge_text(j, &f);
            j->only_worst--;
        }
}

static void judge_command(Guard *j, const GuardField *args, size_t n) {
    if (n == 0) return;
    const GuardField *rest = args + 1;
    judge_programs(j, rest, n - 1);
    if (!args[0].exact) {
        guard_judge_raise(j, GUARD_CONFIRM, "the command of git cannot be known before it runs");
        j->only_worst++;
        judge_push(j, rest, n - 1);
        j->only_worst--;
    }
    else if (is(&args[0], "push") || is(&args[0], "send-pack")) judge_push(j, rest, n - 1);
    else if (is(&args[0], "submodule")) judge_foreach(j, rest, n - 1);
    else if (is(&args[0], "config")) judge_config(j, rest, n - 1);
    else if (is(&args[0], "clean")) judge_clean(j, rest, n - 1);
    else if (is(&args[0], "rebase") || is(&args[0], "filter-branch") || is(&args[0], "difftool")) judge_exec_options(j, rest, n - 1);
    else if (is(&args[0], "bisect") && n > 2 && is(&args[1], "run")) guard_run_argv(j, args + 2, n - 2, (GuardInput){ .kind = GUARD_INPUT_NONE });
}

typedef struct { Str name, value; bool exact; } Alias;

/* -c alias.x=push … and then x: as git would read it. */
static bool run_alias(Guard *j, const Alias *alias, const GuardField *args, size_t n) {
    if (alias->name.n == 0 || n == 0 || !str_eq(args[0].text, alias->name)) return false;
    if (judge_alias(j, alias->value, alias->exact)) return true;
    GuardFields made = { 0 };
    guard_word_split(j, alias->value, &made);
    for (size_t i = 1; i < n; i++) guard_word_push(&made, args[i]);
    judge_command(j, made.at, made.n);
    VEC_CLEAR(&made);
    return true;
}

static void read_setting(Guard *j, const GuardField *f, Alias *alias) {
    ptrdiff_t equals = str_find_char(f->text, '=');
    if (equals < 0) return;
    Str name = str_sub(f->text, 0, (size_t)equals), value = str_sub(f->text, (size_t)equals + 1, f->text.n);
    judge_alias(j, value, f->exact);
    guard_text_git_setting(j, name, value);
    if (str_starts(name, STR("alias."))) *alias = (Alias){ str_sub(name, 6, name.n), value, f->exact };
}

void guard_git(Guard *j, const GuardField *args, size_t n) {
    static const char *const with_argument[] = { "-C", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env" };
    Alias alias = { 0 };
    size_t i = 0;
    for (; i < n && starts(&args[i], "-"); i++) {
        if (is(&args[i], "-c") && i + 1 < n) read_setting(j, &args[++i], &alias);
        for (size_t k = 0; k < sizeof with_argument / sizeof *with_argument; k++)
            if (is(&args[i], with_argument[k])) { i++; break; }
    }
    if (i < n && !run_alias(j, &alias, args + i, n - i)) judge_command(j, args + i, n - i);
}
