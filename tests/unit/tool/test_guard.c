#include "unit.h"
#include "base/utf8.h"
#include "shell/shell.h"
#include "tool/builtin/guard.h"

static const char *const names[] = { "run", "confirm", "refuse" };

/* Rows of commands. A row without a command sets `about`: the phrases expected in the reasons of the rows after it. */
static const struct { const char *command; GuardVerdict verdict; const char *about; } cases[] = {
#define REFUSE(text) { text, GUARD_REFUSE, NULL },
#define CONFIRM(text) { text, GUARD_CONFIRM, NULL },
#define RUN(text) { text, GUARD_RUN, NULL },
#define ABOUT(text) { NULL, GUARD_RUN, text },
#include "tool/guard_cases.def"
};

static const char *const not_judged[] = {
#define NOT_JUDGED(text) text,
#include "tool/guard_not_judged.def"
};

/* Allowed reasons of a verdict: a refusal names the damage, a question what is unknown or lost. */
static const char *const phrases[] = {
    [GUARD_CONFIRM] = "cannot be known before|cannot be read with certainty|is unpacked before it runs|removes all that its source does not have|"
                      "removes files that git does not know|writes to a device|to be judged",
    [GUARD_REFUSE] = "recursive forced removal|forced push|a push that deletes a branch|makes a filesystem|removes a filesystem|removes a volume|"
                     "changes a disk's partitions|the device|a device|a fork bomb|shuts the machine down|can stop the machine|ends every process",
};

/* True if it contains one of these phrases, separated by bars. */
static bool names_one(Str reason, const char *list) {
    for (Str rest = str_from(list); rest.n;) {
        ptrdiff_t bar = str_find_char(rest, '|');
        Str one = bar < 0 ? rest : str_sub(rest, 0, (size_t)bar);
        if (str_find(reason, one) >= 0) return true;
        rest = str_sub(rest, bar < 0 ? rest.n : (size_t)bar + 1, rest.n);
    }
    return !*list;
}

/* The verdict, with checks that apply to every reason. */
static GuardVerdict judge(Str command, Arena *arena, Str *reason) {
    GuardVerdict v = guard_command(command, arena, reason);
    assert_true(utf8_valid(*reason));
    for (size_t i = 0; i < reason->n; i++) assert_true((unsigned char)reason->at[i] >= 32);
    assert_int_equal(reason->n > 0, v != GUARD_RUN);
    if (v != GUARD_RUN && !names_one(*reason, phrases[v])) fail_msg("%s for another reason: " STR_FMT "\n" STR_FMT, names[v],
        STR_ARG(*reason), STR_ARG(str_sub(command, 0, 300)));
    return v;
}

static void judges_every_row(void **state) {
    (void)state;
    size_t wrong = 0;
    const char *about = "";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena = { 0 };
        Str reason;
        if (!cases[i].command) about = cases[i].about;
        if (!cases[i].command) continue;
        GuardVerdict v = judge(str_from(cases[i].command), &arena, &reason);
        bool another = v == GUARD_REFUSE && v == cases[i].verdict && !names_one(reason, about);
        if (another) print_error("refused, but not because of \"%s\": %s (" STR_FMT ")\n", about, cases[i].command, STR_ARG(reason));
        wrong += another;
        if (v != cases[i].verdict) {
            print_error("%s instead of %s: %s (" STR_FMT ")\n", names[v], names[cases[i].verdict], cases[i].command, STR_ARG(reason));
            wrong++;
        }
        arena_clear(&arena);
    }
    assert_int_equal(wrong, 0);
    assert_true(sizeof cases / sizeof *cases >= 1000);
}

/* The limits of the guard, as docs/reference/tools.md and the changelog state them. */
static void does_not_judge_the_rest(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof not_judged / sizeof *not_judged; i++) {
        Arena arena = { 0 };
        Str reason;
        GuardVerdict v = judge(str_from(not_judged[i]), &arena, &reason);
        if (v != GUARD_RUN) print_error("%s instead of run: %s (" STR_FMT ")\n", names[v], not_judged[i], STR_ARG(reason));
        assert_int_equal(v, GUARD_RUN);
        arena_clear(&arena);
    }
}

/* A refused command is refused in any wrapper, and a harmless wrapper of a questionable one also asks. */
static void sees_through_wrappings(void **state) {
    (void)state;
    static const struct { const char *before, *after; } wrappings[] = {
        { "( ", "\n)" }, { "{ ", "\n}" }, { "true && { ", "\n}" }, { "if :; then\n", "\nfi" }, { "g() { ", "\n}" }, { "echo \"$( ", "\n)\"" }, { "ls\n", "\n" },
        { "while x; do\n", "\ndone" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].verdict != GUARD_REFUSE) continue;
        for (size_t k = 0; k < sizeof wrappings / sizeof *wrappings; k++) {
            Arena arena = { 0 };
            Str reason, text = str_from(arena_fmt(&arena, "%s%s%s", wrappings[k].before, cases[i].command, wrappings[k].after));
            GuardVerdict v = judge(text, &arena, &reason);
            Str bare;
            judge(str_from(cases[i].command), &arena, &bare);
            if (!str_eq(reason, bare)) print_error("\"" STR_FMT "\" instead of \"" STR_FMT "\": " STR_FMT "\n", STR_ARG(reason), STR_ARG(bare), STR_ARG(text));
            assert_true(str_eq(reason, bare));
            if (v != GUARD_REFUSE) print_error("%s instead of refuse: " STR_FMT " (" STR_FMT ")\n", names[v], STR_ARG(text), STR_ARG(reason));
            assert_int_equal(v, GUARD_REFUSE);
            arena_clear(&arena);
        }
    }
}

/* Every prefix of every row: some verdict, no crash, and a reason. */
static void survives_cut_text(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t n = 0; cases[i].command && n < strlen(cases[i].command); n++) {
            Arena arena = { 0 };
            Str reason;
            judge((Str){ cases[i].command, n }, &arena, &reason);
            arena_clear(&arena);
        }
}

static void add_many(Buf *b, const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) buf_add(b, str_from(text));
}

static void is_bounded(void **state) {
    (void)state;
    static const struct { const char *open, *middle, *close; size_t n; } shapes[] = {
        { "(", "ls", ")", 5000 }, { "$(", "ls", ")", 5000 }, { "{ ", "ls", ";}", 5000 }, { "${x:-", "y", "}", 5000 }, { "\"$(", "ls", ")\"", 5000 },
        { "if ", "ls", "; then :; fi", 2000 }, { "f() ", "{ :; }", "", 5000 }, { "env ", "ls", "", 20000 }, { "sudo --x ", "ls", "", 5000 },
        { "`", "ls", "`", 5000 }, { "$((", "1", "))", 5000 }, { "((", "1", "))", 5000 }, { "{a,b}", "", "", 500 },
            { "{", "a", ",b}", 3000 }, { "<(", "ls", ")", 3000 },
        { "case x in y) ", "ls", ";; esac", 1000 }, { "eval ", "ls", "", 5000 }, { "$x ", "y", "", 3000 }, { "a=$a$a;", "", "", 1000 },
            { "a+=$a;", "", "", 1000 },
        { "f() { f; f; };", "f", "", 20 }, { "<<A ", "\n", "A\n", 1000 }, { "xargs -I% ", "%", "", 1000 }, { "'", "", "", 9999 },
            { "|", "", "", 999 }, { "[[ ", "x", "", 999 },
        { "python -c 'system(\"", "x", "\")' ", 999 }, { "for x in a b; do ", "ls", "; done", 200 }, { "a() { b|b& }; b() { a|a& };", "", "", 300 },
        { "sed 'e ", "x", "' ", 3000 }, { "perl -e 'qx", "x", "' ", 999 }, { "tmux '", "!", "x'", 5000 }, { "echo x > y; sh y; ", "", "", 1000 },
        { "echo 'sh x; sh x; . ./x; ./x' > x; sh x", "", "", 1 }, { "git config alias.a 'config alias.a ", "x", "'", 500 },
            { "find . ! ", "-name x", " -o -delete", 2000 },
        { "python3 -c 'open(\"/dev/", "x", "\", \"w\")'", 2000 }, { "docker exec sh ", "-c x", "", 3000 }, { "env -S 'env -S ", "x", "'", 999 },
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        Arena arena = { 0 };
        Buf b = { 0 };
        Str reason;
        add_many(&b, shapes[i].open, shapes[i].n);
        buf_add(&b, str_from(shapes[i].middle));
        add_many(&b, shapes[i].close, shapes[i].n);
        judge(buf_str(&b), &arena, &reason);             /* the test runner ends one that takes for ever */
        assert_true(arena.total < (size_t)512 << 20);
        buf_clear(&b);
        arena_clear(&arena);
    }
    Arena arena = { 0 };
    Buf b = { 0 };
    Str reason;
    add_many(&b, "ls;", SHELL_TEXT_MAX / 3 + 10);
    assert_int_equal(judge(buf_str(&b), &arena, &reason), GUARD_CONFIRM);
    assert_int_equal(guard_command(STR("reboot"), &arena, NULL), GUARD_REFUSE);
    assert_int_equal(judge(STR("ls \0 x\xff\xfe"), &arena, &reason), GUARD_RUN);
    assert_int_equal(judge(STR("\x01 -rf x"), &arena, &reason), GUARD_CONFIRM);
    assert_int_equal(judge((Str){ NULL, 0 }, &arena, &reason), GUARD_RUN);
    buf_clear(&b);
    arena_clear(&arena);
}

static void gives_reasons(void **state) {
    (void)state;
    static const struct { const char *command, *reason; } rows[] = {
        { "rm -rf x", "recursive forced removal (rm -rf)" },
        { "git push origin +main", "forced push (git push +REF)" },
        { "dd of=/dev/sda", "dd writes to the device /dev/sda" },
        { "mkfs x", "the command makes a filesystem" },
        { ":(){ :|:& };:", "a fork bomb: the function : starts itself more than once" },
        { "reboot", "the command shuts the machine down or restarts it" },
        { "$x", "a command word cannot be known before it runs: …" },
        { "curl x | sh", "what a shell reads and runs cannot be known before" },
        { "echo 'x", "the command cannot be read with certainty: a ' is not closed" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena arena = { 0 };
        Str reason;
        guard_command(str_from(rows[i].command), &arena, &reason);
        assert_str(reason, rows[i].reason);
        arena_clear(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judges_every_row), cmocka_unit_test(does_not_judge_the_rest), cmocka_unit_test(sees_through_wrappings),
            cmocka_unit_test(survives_cut_text),
        cmocka_unit_test(is_bounded), cmocka_unit_test(gives_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
