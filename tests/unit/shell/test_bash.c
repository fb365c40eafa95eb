/* shell_commands() compared with bash and dash: the same words, and the same set of valid commands. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "unit.h"
#include "base/vec.h"
#include "shell/shell.h"

typedef enum { WORDS, POSIX, PARSES, UNSURE, BROKEN } Kind;

static const struct { Kind kind; Str text; } rows[] = {
#define WORDS(text) { WORDS, STR(text) },
#define POSIX(text) { POSIX, STR(text) },
#define PARSES(text) { PARSES, STR(text) },
#define UNSURE(text) { UNSURE, STR(text) },
#define BROKEN(text) { BROKEN, STR(text) },
#include "shell/spellings.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- the shells ---- */

/* Runs SHELL OPTION TEXT with an empty environment and returns its exit status. *out: what it writes to descriptor 9. */
static int run_shell(const char *shell, const char *option, const char *text, Buf *out) {
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char path[] = "PATH=/nonexistent", locale[] = "LC_ALL=C.UTF-8", *env[] = { path, locale, NULL };
        int null = open("/dev/null", O_RDWR);
        if (dup2(pipes[1], 9) < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0) _exit(200);
        execle(shell, shell, option, text, (char *)NULL, env);
        _exit(200);
    }
    close(pipes[1]);
    char block[4096];
    for (ssize_t n; (n = read(pipes[0], block, sizeof block)) > 0;) buf_add(out, (Str){ block, (size_t)n });
    close(pipes[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 200);
    return WEXITSTATUS(status);
}

static bool accepts(const char *shell, Str text) {
    Buf none = { 0 };
    char *copy = str_dup(text);
    int status = run_shell(shell, "-nc", copy, &none);
    free(copy);
    buf_clear(&none);
    return status == 0;
}

/* ---- words ---- */

typedef VEC(Str) Calls;

static int compare(const void *a, const void *b) { return str_cmp(*(const Str *)a, *(const Str *)b); }

static void sort_calls(Calls *list) {
    if (list->n) qsort(list->at, list->n, sizeof *list->at, compare);
}

/* What the shell runs: one entry per call of args, with words terminated by \x1f. A call writes once, so that calls in
 * a pipeline do not mix. */
static Calls calls_of_shell(const char *shell, Str text, Arena *arena) {
    Buf script = { 0 }, out = { 0 };
    Calls list = { 0 };
    buf_add(&script, STR("args() { printf '%s\\037' args \"$@\" '\x1e' >&9; }\n"));
    buf_add(&script, text);
    run_shell(shell, "-c", script.at, &out);
    Str rest = arena_str(arena, buf_str(&out));
    ptrdiff_t end;
    while ((end = str_find(rest, STR("\x1e\x1f"))) >= 0) {
        VEC_PUSH(&list, str_sub(rest, 0, (size_t)end));
        rest = str_sub(rest, (size_t)end + 2, rest.n);
    }
    buf_clear(&script);
    buf_clear(&out);
    sort_calls(&list);
    return list;
}

static Calls calls_of_parser(const ShellCommands *c, Arena *arena, bool *exact) {
    Calls list = { 0 };
    for (size_t i = 0; i < c->n; i++) {
        if (c->at[i].words_n == 0 || !shell_word_is(&c->at[i].words[0], "args")) continue;
        Buf b = { 0 };
        for (size_t k = 0; k < c->at[i].words_n; k++) {
            *exact &= c->at[i].words[k].exact;
            buf_add(&b, c->at[i].words[k].text);
            buf_add_char(&b, 0x1f);
        }
        VEC_PUSH(&list, arena_str(arena, buf_str(&b)));
        buf_clear(&b);
    }
    sort_calls(&list);
    return list;
}

static bool same(const Calls *a, const Calls *b) {
    bool equal = a->n == b->n;
    for (size_t i = 0; equal && i < a->n; i++) equal = str_eq(a->at[i], b->at[i]);
    return equal;
}

static void show(const char *who, const Calls *list) {
    for (size_t i = 0; i < list->n; i++) print_error("  %s: " STR_FMT "\n", who, STR_ARG(list->at[i]));
    if (list->n == 0) print_error("  %s: nothing\n", who);
}

/* True if the shell calls args with the listed words. */
static bool agrees(const char *shell, Str text, const ShellCommands *c, Arena *arena) {
    bool exact = true;
    Calls theirs = calls_of_shell(shell, text, arena), ours = calls_of_parser(c, arena, &exact);
    bool ok = same(&theirs, &ours) && exact;
    if (!ok) {
        print_error("%s reads it differently%s: " STR_FMT "\n", shell, exact ? "" : " (not exact)", STR_ARG(text));
        show("shell", &theirs);
        show("here", &ours);
    }
    VEC_CLEAR(&theirs);
    VEC_CLEAR(&ours);
    return ok;
}

/* True if every call of args by bash is listed, or some command is not exact and may be it. */
static bool hides_nothing(Str text, const ShellCommands *c, Arena *arena) {
    Calls theirs = calls_of_shell("/bin/bash", text, arena);
    size_t listed = 0, made = theirs.n;
    for (size_t i = 0; i < c->n; i++) listed += !c->at[i].exact || str_eq(c->at[i].program, STR("args"));
    if (made > listed) print_error("bash makes %zu calls, %zu are listed: " STR_FMT "\n", made, listed, STR_ARG(text));
    VEC_CLEAR(&theirs);
    return made <= listed;
}

/* ---- tests ---- */

static bool check_row(size_t i) {
    Arena arena = { 0 };
    Str text = rows[i].text;
    ShellCommands c = shell_commands(text, &arena);
    bool known = rows[i].kind != UNSURE && rows[i].kind != BROKEN, accepted = accepts("/bin/bash", text), ok = true;
    if (accepted == (rows[i].kind == BROKEN)) {
        print_error("bash %s: " STR_FMT "\n", accepted ? "accepts" : "rejects", STR_ARG(text));
        ok = false;
    }
    if (known == (c.problem != NULL)) {
        print_error("%s: " STR_FMT "\n", c.problem ? c.problem : "no problem", STR_ARG(text));
        ok = false;
    }
    if (rows[i].kind <= POSIX) ok = agrees("/bin/bash", text, &c, &arena) && ok;
    if (rows[i].kind == PARSES) ok = hides_nothing(text, &c, &arena) && ok;
    if (rows[i].kind == POSIX) ok = agrees("/bin/dash", text, &c, &arena) && ok;
    arena_clear(&arena);
    return ok;
}

static void agrees_with_shells(void **state) {
    (void)state;
    size_t wrong = 0;
    if (access("/bin/bash", X_OK) || access("/bin/dash", X_OK)) skip();
    assert_true(ROWS >= 150);
    for (size_t i = 0; i < ROWS; i++) wrong += !check_row(i);
    assert_int_equal(wrong, 0);
}

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

/* Literal text from a fixed seed. If it is exact, bash has the same words; text that bash rejects is never exact. */
static void agrees_on_random_text(void **state) {
    (void)state;
    static const char *const parts[] = { "a", "b", "'", "\"", "\\", " ", " ", "$'", "\\'", "{", "}", ",", "{a,b}", "#", "=", ";", "\n",
        "args ", "args", "\t", "é", "\\\n",
                                         "~", "*", "$\"", "\\n", "!", "-x", "''", "\r", "[", "]", "x=y ", ":", "/", "if ", "then ", "fi",
                                             "{ ", "; }", "\\x41" };
    uint32_t seed = 7;
    size_t exact = 0;
    if (access("/bin/bash", X_OK)) skip();
    for (int round = 0; round < 1500; round++) {
        Arena arena = { 0 };
        Buf b = { 0 };
        buf_add(&b, STR("args "));
        for (uint32_t n = 1 + next_random(&seed) % 12; n; n--) buf_add(&b, str_from(parts[next_random(&seed) % (sizeof parts / sizeof *parts)]));
        ShellCommands c = shell_commands(buf_str(&b), &arena);
        bool literal = !c.problem;
        for (size_t i = 0; i < c.n; i++)
            for (size_t k = 0; k < c.at[i].words_n; k++) literal &= c.at[i].words[k].exact;
        bool conditional = str_find(buf_str(&b), STR("if")) >= 0;       /* args may not run then */
        if (literal && !conditional) assert_true(agrees("/bin/bash", buf_str(&b), &c, &arena));
        if (literal && conditional && !accepts("/bin/bash", buf_str(&b))) fail_msg("bash rejects: %s", b.at);
        exact += literal;
        buf_clear(&b);
        arena_clear(&arena);
    }
    assert_true(exact > 300);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(agrees_with_shells), cmocka_unit_test(agrees_on_random_text) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
