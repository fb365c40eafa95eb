/* Decides which words are file names. If a word of a hook names no existing file, calls may not create that file, except for the
 * words recognised here: text, patterns, names of variables, sub-commands, targets, and output files. */
#include "tool/protect/uses.h"
#include "base/vec.h"

static bool among(Str word, const char *const *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(word, str_from(list[i]))) return true;
    return false;
}
#define AMONG(word, ...) among(word, (const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80; }

/* Not a number (5, 1.5, 10s), a format (%s, +%F) or punctuation. */
bool uses_is_name(Str word) {
    size_t letters = 0, others = 0;
    if (!word.n || strchr("-+%~", word.at[0])) return false;
    for (size_t i = 0; i < word.n; i++) {
        letters += is_letter(word.at[i]);
        others += !is_letter(word.at[i]) && !is_digit(word.at[i]) && word.at[i] != '.';
    }
    return letters > 1 || (letters == 1 && (others || !is_digit(word.at[0])));
}

/* ---- words of single programs ---- */

static Str word_at(const ShellCommand *c, size_t i) { return i < c->words_n && c->words[i].exact ? c->words[i].text : STR(""); }

static bool is_option(Str word) { return word.n > 1 && word.at[0] == '-'; }

static bool is_file_test(Str op) { return op.n == 2 && op.at[0] == '-' && strchr("abcdefghkLNOGprsSuwx", op.at[1]); }

static bool is_file_comparison(Str op) { return AMONG(op, "-nt", "-ot", "-ef"); }

static bool is_tested(Str before, Str after) { return is_file_test(before) || is_file_comparison(before) || is_file_comparison(after); }

/* Text that echo prints becomes names of files in `echo x | xargs cat` and in $(echo x). */
static bool feeds_words(const ShellCommands *list, const ShellCommand *c) {
    bool feeds = c->depth > 0;
    for (size_t i = 0; i < list->n; i++) feeds |= AMONG(list->at[i].program, "xargs", "parallel", "read", "mapfile", "readarray");
    return feeds;
}

/* jq, yq: the filter, and the names and values of --arg. */
static bool is_filter(const ShellCommand *c, size_t at) {
    bool seen = false;
    for (size_t i = 1; i <= at; i++) {
        Str word = word_at(c, i);
        if (AMONG(word, "--arg", "--argjson")) {
            if (at == i + 1 || at == i + 2) return true;
            i += 2;
        } else if (AMONG(word, "--slurpfile", "--rawfile", "--indent")) {
            if (at == i + 1) return true;
            i += str_eq(word, STR("--indent")) ? 1 : 2;
        } else if (AMONG(word, "-f", "--from-file", "-L")) {
            seen |= !str_eq(word, STR("-L"));
            i++;
        } else if (is_option(word)) {
            seen |= (word.at[1] != '-' && str_find_char(word, 'f') > 0) || str_starts(word, STR("--from-file"));
        } else {
            if (i == at) return !seen;
            seen = true;
        }
    }
    return false;
}

/* grep: the first operand is the pattern, unless an option may have a value. */
static bool is_pattern(const ShellCommand *c, size_t at) {
    for (size_t i = 1; i < c->words_n; i++) {
        Str word = word_at(c, i);
        bool flags = is_option(word) && word.at[1] != '-';
        if (i < at && !is_option(word)) return false;
        if (AMONG(word, "-e", "--regexp") && i + 1 == at) return true;
        for (size_t k = 1; flags && k < word.n; k++)
            if (strchr("efABCmdDgtT", word.at[k])) return false;
        if (str_starts(word, STR("--f")) || str_starts(word, STR("--r"))) return false;
    }
    return true;
}

static bool is_expression(const ShellCommand *c, size_t at) {          /* of find */
    return AMONG(word_at(c, at - 1), "-name", "-iname", "-type", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-user", "-group",
        "-perm", "-fstype", "-printf");
}

/* awk and sed: the program, the value of a variable, the separator. */
static bool is_script(const ShellCommand *c, size_t at) {
    if (AMONG(word_at(c, at - 1), "-e", "--expression", "--source", "-v", "-F", "--assign", "--field-separator")) return true;
    for (size_t i = 1; i < c->words_n; i++) {
        Str word = word_at(c, i);
        bool letters = is_option(word) && word.at[1] != '-';
        if (letters && (str_find_char(word, 'f') > 0 || str_find_char(word, 'e') > 0 || str_find_char(word, 'E') > 0)) return false;
        if (is_option(word) && (str_starts(word, STR("--f")) || str_starts(word, STR("--e")) || str_starts(word, STR("--s")))) return false;
        if (i < at && !is_option(word) && !AMONG(word_at(c, i - 1), "-v", "-F")) return false;
    }
    return true;
}

static bool is_last(const ShellCommand *c, size_t at) { return at + 1 == c->words_n && at > 1; }

static bool is_output(const ShellCommand *c, size_t at) {
    Str word = word_at(c, at), before = word_at(c, at - 1);
    if (AMONG(before, "--output", "--output-document", "--log-file") || str_starts(word, STR("--output=")) || str_starts(word, STR("--log-file="))) return true;
    return AMONG(before, "-o", "-O") && AMONG(c->program, "curl", "wget", "sort", "pandoc", "cc", "gcc", "g++", "clang", "clang++", "ld",
        "rustc", "shuf", "yacc", "bison");
}

/* The first operand of programs that are not in the tables. */
static bool is_subcommand(const ShellCommand *c, size_t at) {
    return at == 1 && AMONG(c->program, "opa", "conftest", "gh", "glab", "ruff", "biome", "terraform", "tofu", "helm", "aws", "gcloud", "az",
                            "systemctl", "pre-commit", "trivy", "semgrep", "golangci-lint", "buf", "regal", "cosign", "brew", "flask", "quart",
                            "celery", "fastapi", "mcp", "fastmcp");
}

bool uses_is_text(const ShellCommands *list, size_t at, size_t word, bool code) {
    const ShellCommand *c = &list->at[at];
    Str p = c->program;
    if (AMONG(p, "awk", "gawk", "mawk", "nawk", "sed", "gsed")) return is_script(c, word);
    if (code) return is_output(c, word);
    if (AMONG(p, "echo", "printf")) return !feeds_words(list, c);
    if (AMONG(p, ":", "true", "false", "exit", "return", "break", "continue", "shift", "read", "unset", "getopts", "mapfile", "readarray", "export",
              "readonly", "local", "declare", "typeset", "let", "trap", "eval", "enable", "shopt", "ulimit", "umask", "kill", "pkill", "pgrep",
              "wait", "sleep", "jobs", "type", "which", "hash", "tr", "seq", "expr", "date", "basename", "dirname", "id", "uname", "hostname",
              "integer"))
        return str_find_char(word_at(c, word), '=') < 0;
    if (AMONG(p, "make", "gmake")) return !is_option(word_at(c, word)) && str_find_char(word_at(c, word), '=') < 0;
    if (AMONG(p, "test", "[")) return !is_tested(word_at(c, word - 1), word_at(c, word + 1));
    if (AMONG(p, "jq", "yq", "gojq", "jaq")) return is_filter(c, word);
    if (AMONG(p, "grep", "egrep", "fgrep", "zgrep", "rg")) return is_pattern(c, word);
    if (AMONG(p, "find", "gfind")) return is_option(word_at(c, word)) || is_expression(c, word);
    if (AMONG(p, "cp", "mv", "ln", "install", "rsync", "scp")) return is_last(c, word);
    return is_output(c, word) || is_subcommand(c, word);
}

/* ---- programs that take the name of a module, a file or a script of package.json ---- */

bool uses_takes_module(const ShellCommand *c, size_t at) {
    Str word = word_at(c, at), before = word_at(c, at - 1);
    if (AMONG(c->program, "flask", "quart", "celery"))
        return AMONG(before, "-A", "--app") || str_starts(word, STR("--app=")) || (str_starts(word, STR("-A")) && word.n > 2);
    if (!AMONG(c->program, "uvicorn", "gunicorn", "hypercorn", "daphne", "granian", "waitress-serve", "dramatiq", "arq", "taskiq")) return false;
    return !is_option(word) && str_find_char(word, ':') > 0 && !is_digit(word.at[word.n - 1]) && !is_option(before);
}

bool uses_runs_files(Str program, Str operand) {
    return str_eq(program, STR("bun")) && !AMONG(operand, "run", "x", "test", "install", "i", "add", "a", "remove", "rm", "update",
        "outdated", "link", "unlink", "publish", "patch", "pm", "build",
                                                  "init", "create", "c", "upgrade", "repl", "exec", "why", "audit", "info", "start", "dev");
}

bool uses_runs_package_script(const ShellCommand *c) {
    Str first = word_at(c, c->operand);
    if (AMONG(c->program, "node", "nodejs")) {
        for (size_t i = 1; i < c->words_n; i++)
            if (str_eq(word_at(c, i), STR("--run")) || str_starts(word_at(c, i), STR("--run="))) return true;
        return false;
    }
    if (!AMONG(c->program, "npm", "yarn", "pnpm", "bun")) return false;
    return str_starts(first, STR("run")) || AMONG(first, "start", "stop", "restart", "test", "t", "dev");
}

/* ---- names outside of simple commands ---- */

typedef enum { LOOSE_NONE, LOOSE_FOR, LOOSE_LIST, LOOSE_TEST } Loose;

static bool is_between(char c) { return !c || strchr(" \t\r\n;|&(){}<>'\"`=$", c); }

/* `for f in NAMES`, a=(NAMES), [[ -e NAME ]]. The text is split without regard to quotes: a word taken as a name by mistake only protects one more path. */
StrList uses_loose_names(Str text, Arena *arena) {
    VEC(Str) out = { 0 };
    Loose state = LOOSE_NONE;
    Str before = STR("");
    for (size_t i = 0; i < text.n;) {
        char c = text.at[i];
        if (is_between(c)) {
            if (state == LOOSE_LIST && strchr(";\n)", c)) state = LOOSE_NONE;
            if (c == '=' && i + 1 < text.n && text.at[i + 1] == '(') state = LOOSE_LIST;
            i++;
            continue;
        }
        size_t from = i;
        while (i < text.n && !is_between(text.at[i])) i++;
        Str word = str_sub(text, from, i);
        bool name = uses_is_name(word) && str_find_char(word, '/') < 0 && (from == 0 || text.at[from - 1] != '$');
        if (str_eq(word, STR("[["))) state = LOOSE_TEST;
        else if (str_eq(word, STR("]]"))) state = LOOSE_NONE;
        else if (AMONG(word, "for", "select")) state = LOOSE_FOR;
        else if (state == LOOSE_FOR && str_eq(before, STR("in"))) state = LOOSE_LIST;
        if (name && (state == LOOSE_LIST || (state == LOOSE_TEST && is_tested(before, STR(""))))) VEC_PUSH(&out, word);
        before = word;
    }
    Str *at = ARENA_ARRAY(arena, Str, out.n + 1);
    for (size_t i = 0; i < out.n; i++) at[i] = out.at[i];
    StrList list = { at, out.n };
    VEC_CLEAR(&out);
    return list;
}
