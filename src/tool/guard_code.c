#include "tool/guard_judge.h"

/* Text for python, perl, node and the like is known, so it runs; a look is taken at the plainest ways to do harm with it:
 * strings that are handed to a shell, calls that remove trees, endless forking. */

static bool has(Str s, const char *word) { return str_find(s, str_from(word)) >= 0; }

static bool has_any(Str s, const char *const *words) {
    for (; *words; words++)
        if (has(s, *words)) return true;
    return false;
}

static bool starts_processes(Str s) {
    return has_any(s, (const char *const[]){ "system", "exec", "popen", "Popen", "spawn", "subprocess", "qx", "`", "Open3", "check_call", "check_output", "run(", "getline", NULL });
}

static bool removes_trees(Str s) {
    if (has_any(s, (const char *const[]){ "shutil.rmtree", "rmtree(", "remove_tree(", "rm_rf", "rm_r(", "rimraf", "remove_dir_all", "FileUtils.remove_entry_secure", NULL })) return true;
    return has(s, "recursive") && has(s, "force") && has_any(s, (const char *const[]){ "rmSync", "fs.rm", ".rm(", "rmdirSync", NULL });
}

static bool forks_forever(Str s) {
    return has(s, "fork") && has_any(s, (const char *const[]){ "while", "for(;;)", "for (;;)", "loop", "until", "for ever", "redo", NULL });
}

static void judge_string(Guard *j, Str text, bool exact) {
    GuardField f = { .text = arena_str(j->arena, text), .exact = exact };
    guard_judge_script(j, &f, (GuardInput){ .kind = GUARD_INPUT_NONE });
}

/* Each string alone, and the strings of one statement together: ["rm", "-rf", x]. */
static void judge_strings(Guard *j, Str s) {
    Buf together = { 0 };
    for (size_t i = 0; i < s.n; i++) {
        char quote = s.at[i];
        if (quote == ';' || quote == '\n' || quote == ')') buf_reset(&together);
        if (quote != '"' && quote != '\'' && quote != '`') continue;
        Buf text = { 0 };
        size_t from = i + 1;
        for (i++; i < s.n && s.at[i] != quote; i++) {
            if (s.at[i] == '\\' && i + 1 < s.n) i++;
            buf_add_char(&text, s.at[i]);
        }
        if (!guard_judge_spend(j, 2 + (i - from) / 16)) { buf_clear(&text); break; }
        judge_string(j, buf_str(&text), true);
        if (together.n) buf_add_char(&together, ' ');
        buf_add(&together, buf_str(&text));
        buf_clear(&text);
        if (together.n < 4096) judge_string(j, buf_str(&together), true);
    }
    buf_clear(&together);
}

void guard_code_judge(Guard *j, Str language, const GuardField *code) {
    if (!code->exact) guard_judge_raise(j, GUARD_CONFIRM, "what " STR_FMT " is given to run cannot be known before", STR_ARG(language));
    if (removes_trees(code->text)) guard_judge_raise(j, GUARD_REFUSE, "recursive forced removal (in text for " STR_FMT ")", STR_ARG(language));
    if (forks_forever(code->text)) guard_judge_raise(j, GUARD_REFUSE, "a fork bomb (in text for " STR_FMT ")", STR_ARG(language));
    if (!starts_processes(code->text) || !guard_judge_spend(j, 1 + code->text.n / 64)) return;
    j->only_worst++;
    judge_strings(j, code->text);
    j->only_worst--;
}
