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
    return has_any(s, (const char *const[]){ "system", "exec", "popen", "Popen", "spawn", "subprocess", "qx", "`", "Open3", "check_call", "check_output", "run(", "getline",
                                                "passthru", "%x", "shell-command", "call-process", "| \"", "|\"", "|&", NULL });
}

static bool removes_trees(Str s) {
    if (has_any(s, (const char *const[]){ "rmtree(", "rmtree \"", "rmtree '", "rmtree $", "import rmtree", "remove_tree(", "remove_tree \"", "remove_tree '",
                                          "remove_tree $", "rm_rf", "rm_r(", "FileUtils.rm_r ", "rimraf", "remove_dir_all", "remove_entry_secure", NULL })) return true;
    if (has(s, "delete-directory") && has(s, " t)")) return true;
    return has(s, "recursive") && (str_starts(s, STR("rm(")) || has_any(s, (const char *const[]){ "rmSync", "fs.rm", ".rm(", "rmdirSync", "Deno.remove", "unlink(", " rm(", NULL }));
}

/* Text that is made of something else first: what runs cannot be seen. */
static bool unpacks(Str s) {
    return has_any(s, (const char *const[]){ "b64decode", "a85decode", "fromhex", "unhexlify", "decode_base64", "base64_decode", "Base64.decode", "atob(", "marshal.loads", "zlib.decompress",
                                             "codecs.decode", "pack(\"H", "pack('H", NULL })
        && has_any(s, (const char *const[]){ "exec", "eval", "system", "popen", "Popen", "subprocess", "Function(", "spawn", NULL });
}

/* A string that names a device, where it is opened to be written: open("/dev/sda", "wb"), > "/dev/sda", ">/dev/sda". */
static void judge_device(Guard *j, Str code, size_t from, size_t to) {
    Str text = str_sub(code, from, to), before = str_trim(str_sub(code, 0, from - 1)), after = str_sub(code, to + 1, code.n);
    bool writes = str_ends(before, STR(">")) || str_starts(text, STR(">")) || str_starts(text, STR("+>"));
    while (after.n && strchr(" ,", after.at[0])) after = str_sub(after, 1, after.n);
    writes |= after.n > 2 && strchr("'\"", after.at[0]) && strchr("wax+", after.at[1]);
    writes |= str_ends(before, STR("writeFileSync(")) || str_ends(before, STR("writeFile(")) || str_ends(before, STR("file_put_contents("));
    while (text.n && strchr("+> ", text.at[0])) text = str_sub(text, 1, text.n);
    if (writes) guard_rules_target(j, &(GuardField){ .text = arena_str(j->arena, text), .exact = true }, "the text");
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
    Buf together = { 0 }, joined = { 0 };                /* "r" + "m" */
    for (size_t i = 0; i < s.n; i++) {
        char quote = s.at[i];
        if (quote == ';' || quote == '\n' || quote == ')') buf_reset(&together), buf_reset(&joined);
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
        buf_add(&joined, buf_str(&text));
        buf_clear(&text);
        if (together.n < 4096) judge_string(j, buf_str(&together), true), judge_string(j, buf_str(&joined), true);
    }
    buf_clear(&together);
    buf_clear(&joined);
}

/* qw(rm -rf x), qx{…}, %x(…): strings with other quotes. exec …, spawn …: to the end of the line, in Tcl. */
static void judge_words(Guard *j, Str s) {
    static const char *const openings[] = { "qw", "qx", "%x", "exec ", "spawn " };
    for (size_t k = 0; k < sizeof openings / sizeof *openings; k++) {
        ptrdiff_t at;
        for (Str rest = s; (at = str_find(rest, str_from(openings[k]))) >= 0 && guard_judge_spend(j, 2);) {
            rest = str_sub(rest, (size_t)at + strlen(openings[k]), rest.n);
            bool line = k >= 3;
            while (rest.n && rest.at[0] == ' ') rest = str_sub(rest, 1, rest.n);
            if (rest.n < 2) return;
            const char *pairs = "()[]{}<>", *pair = strchr(pairs, rest.at[0]);
            char close = line ? '\n' : pair && (pair - pairs) % 2 == 0 ? pair[1] : rest.at[0];
            size_t from = line ? 0 : 1;
            ptrdiff_t end = str_find_char(str_sub(rest, from, rest.n), close);
            judge_string(j, str_sub(rest, from, end < 0 ? rest.n : from + (size_t)end), true);
        }
    }
}

static void judge_devices(Guard *j, Str s) {
    for (size_t i = 1; i < s.n; i++) {
        if (!strchr("'\"", s.at[i]) || !guard_judge_spend(j, 1)) continue;
        size_t from = i + 1;
        for (i++; i < s.n && s.at[i] != s.at[from - 1]; i++) {}
        if (i < s.n && has(str_sub(s, from, i), "/dev/")) judge_device(j, s, from, i);
    }
}

void guard_code_judge(Guard *j, Str language, const GuardField *code) {
    if (!code->exact) guard_judge_raise(j, GUARD_CONFIRM, "what " STR_FMT " is given to run cannot be known before", STR_ARG(language));
    if (removes_trees(code->text)) guard_judge_raise(j, GUARD_REFUSE, "recursive forced removal (in text for " STR_FMT ")", STR_ARG(language));
    if (unpacks(code->text)) guard_judge_raise(j, GUARD_CONFIRM, "text for " STR_FMT " is unpacked before it runs", STR_ARG(language));
    judge_devices(j, code->text);
    if (forks_forever(code->text)) guard_judge_raise(j, GUARD_REFUSE, "a fork bomb (in text for " STR_FMT ")", STR_ARG(language));
    if (!starts_processes(code->text) || !guard_judge_spend(j, 1 + code->text.n / 64)) return;
    j->only_worst++;
    judge_strings(j, code->text);
    judge_words(j, code->text);
    j->only_worst--;
}
