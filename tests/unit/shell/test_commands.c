#include "unit.h"
#include "shell/shell.h"

/* ---- as text ---- */

static void add_word(Buf *b, const ShellWord *w) {
    if (!w->exact) buf_add_char(b, w->splits ? '*' : '?');
    for (size_t i = 0; i < w->text.n; i++) buf_add(b, w->text.at[i] == SHELL_UNKNOWN ? STR("<>") : str_sub(w->text, i, i + 1));
}

static void add_redirect(Buf *b, const ShellRedirect *r) {
    static const char *const names[] = { [SHELL_READ] = "<", [SHELL_WRITE] = ">", [SHELL_APPEND] = ">>", [SHELL_READ_WRITE] = "<>", [SHELL_HEREDOC] = "<<",
                                         [SHELL_HERESTRING] = "<<<", [SHELL_DUPLICATE] = "&" };
    buf_add_fmt(b, " %d%s", r->fd, names[r->kind]);
    add_word(b, &r->target);
}

/* One command: "depth:flags A=value|word|word 1>file". Flags: w wrapper, b background, ! not exact, t text, f file, u unknown. */
static void add_command(Buf *b, const ShellCommand *c) {
    static const char *const runs[] = { "", "t", "f", "u" };
    buf_add_fmt(b, "%u:%s%s%s%s", c->depth, c->wrapper ? "w" : "", c->background ? "b" : "", c->exact ? "" : "!", runs[c->runs]);
    for (size_t i = 0; i < c->assigns_n; i++) {
        buf_add_fmt(b, " " STR_FMT "%s", STR_ARG(c->assigns[i].name), c->assigns[i].append ? "+=" : "=");
        add_word(b, &c->assigns[i].value);
    }
    for (size_t i = 0; i < c->words_n; i++) {
        buf_add_char(b, i ? '|' : ' ');
        add_word(b, &c->words[i]);
    }
    for (size_t i = 0; i < c->redirects_n; i++) add_redirect(b, &c->redirects[i]);
}

static void assert_list(const char *text, const char *expected) {
    Arena arena = { 0 };
    Buf b = { 0 };
    ShellCommands list = shell_commands(str_from(text), &arena);
    for (size_t i = 0; i < list.n; i++) {
        if (i) buf_add(&b, STR("; "));
        add_command(&b, &list.at[i]);
    }
    if (list.problem) buf_add_fmt(&b, "; problem");
    if (!str_eq(buf_str(&b), str_from(expected))) print_error("%s\n", text);
    assert_str(buf_str(&b), expected);
    buf_clear(&b);
    arena_clear(&arena);
}

/* ---- tests ---- */

static void lists_commands(void **state) {
    (void)state;
    static const struct { const char *text, *list; } rows[] = {
        { "", "" },
        { "# nothing", "" },
        { "ls -l 'a b'", "0: ls|-l|a b" },
        { "a; b && c | d &", "0: a; 0:b b; 0:b c; 0:b d" },
        { "A=b C=$x D=~ cmd e", "0: A=b C=?<> D=?<> cmd|e" },
        { "A+=b", "0: A+=b" },
        { "a=(b $c)", "0: a=?b <>" },
        { "x=*", "0: x=*" },
        { "a $x \"$y\" z$w ~/b *.c", "0: a|*<>|?<>|*z<>|?<>/b|**.c" },
        { "\"$@\" \"${a[@]}\" \"${b}\"", "0:! *<>|*<>|?<>" },
        { "$HOME/bin/ls", "0:! *<>/bin/ls" },
        { "\"$HOME\"/bin/ls x", "0: ?<>/bin/ls|x" },
        { "/bin/l? x", "0:! */bin/l?|x" },
        { "echo {a,b}{1..3}", "0: echo|*a<>|*b<>" },
        { "a > f >> g 2>&1 < h <> i >| j", "0: a 1>f 1>>g 2&1 0<h 0<>i 1>j" },
        { "a &> f; b >& g; c &>> h", "0: a 1>f 2&1; 0: b 1>g 2&1; 0: c 1>>h 2&1" },
        { "a 3< f 4>&- {fd}> g", "0: a 3<f 4&- -1>g" },
        { "a > \"$f\" > g* <&$x", "0: a 1>?<> 1>*g* 0&*<>" },
        { "a <<E\nb $c\nE", "0: a 0<<?b <>\n" },
        { "a <<'E' <<< \"x $y\"\nb $c\nE", "0: a 0<<b $c\n 0<<<?x <>" },
        { "{ a; b; } > f", "0: 1>f; 0: a; 0: b" },
        { "for i in 1; do a; done >> f", "0: 1>>f; 0: a" },
        { "> f", "0: 1>f" },
        { "a $(b `c`) \"$(d)\"", "0: a|*<>|?<>; 1: b|*<>; 2: c; 1: d" },
        { "a <(b) > >(c)", "0: a|?<> 1>?<>; 1: b; 1: c" },
        { "x=$(a) y=(`b`)", "0: x=?<> y=?<>; 1: a; 1: b" },
        { "[[ $(a) ]]; (( $(b) )); case $(c) in $(d)) e;; esac", "1: a; 1: b; 0: e; 1: c; 1: d" },
        { "if a; then b; elif c; then d; else e; fi", "0: a; 0: b; 0: c; 0: d; 0: e" },
        { "f() { a; }; f", "0: a; 0: f" },
        { "cat <<E\n$(a)\nE", "0: cat 0<<?<>\n; 1: a" },
        { "cat <<E $(\na\nE\n)\nx\nE\nb", "0: cat|*<> 0<<x\n; 1: a; 1: E; 0: b" },
        { "time -p\ta", "0: a" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) assert_list(rows[i].text, rows[i].list);
}

static void removes_wrappers(void **state) {
    (void)state;
    static const struct { const char *text, *list; } rows[] = {
        { "sudo -u root env A=b nice -n 5 ls -l", "0:w sudo|-u|root|env|A=b|nice|-n|5|ls|-l; 0:w env|A=b|nice|-n|5|ls|-l; 0:w nice|-n|5|ls|-l; 0: ls|-l" },
        { "A=b sudo ls > f", "0:w A=b sudo|ls 1>f; 0: ls" },
        { "timeout --kill-after 1 5s ls", "0:w timeout|--kill-after|1|5s|ls; 0: ls" },
        { "timeout 5", "0: timeout|5" },
        { "command -v ls", "0: command|-v|ls" },
        { "env -S 'ls -l' x", "0:t env|-S|ls -l|x; 1: ls|-l|x" },
        { "flock f -c 'a; b'", "0:t flock|f|-c|a; b; 1: a; 1: b" },
        { "xargs -n 1 rm", "0:w xargs|-n|1|rm; 0: rm|*<>" },
        { "xargs -I% mv % %.bak", "0:w xargs|-I%|mv|%|%.bak; 0: mv|?<>|?<>.bak" },
        { "find . -exec a {} \\; -exec b {} +", "0:w find|.|-exec|a|{}|;|-exec|b|{}|+; 0: a|?<>; 0: b|?<>" },
        { "parallel gzip {} ::: a b", "0:t parallel|gzip|{}|:::|a|b; 1: gzip|*<>" },
        { "ssh -p 22 host 'a | b'", "0:t ssh|-p|22|host|a | b; 1: a; 1: b" },
        { "docker compose exec -u x web ls", "0:w docker|compose|exec|-u|x|web|ls; 0: ls" },
        { "git -C dir push", "0: git|-C|dir|push" },
        { "git rebase -x 'make test' main", "0:t git|rebase|-x|make test|main; 1: make|test" },
        { "su -c 'a' x; runuser -u x -- b", "0:t su|-c|a|x; 1: a; 0:w runuser|-u|x|--|b; 0: b" },
        { "nice $x y", "0:w nice|*<>|y; 0:! *<>|y" },
        { "timeout $x y", "0:w timeout|*<>|y; 0:! y" },
        { "/lib64/ld-linux-x86-64.so.2 /bin/ls", "0:w /lib64/ld-linux-x86-64.so.2|/bin/ls; 0: /bin/ls" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) assert_list(rows[i].text, rows[i].list);
}

static void reads_inline_text(void **state) {
    (void)state;
    static const struct { const char *text, *list; } rows[] = {
        { "sh -c 'a; b' x", "0:t sh|-c|a; b|x; 1: a; 1: b" },
        { "bash -eo pipefail -c \"a $x\"", "0:u bash|-eo|pipefail|-c|?a <>; 1: a|*<>" },
        { "bash script.sh -c x", "0:f bash|script.sh|-c|x" },
        { "bash \"$x\"", "0:u bash|?<>" },
        { "bash \"$x/y.sh\"", "0:f bash|?<>/y.sh" },
        { "bash <<E\na\nE", "0:t bash 0<<a\n; 1: a" },
        { "bash <<E\na $x\nE", "0:u bash 0<<?a <>\n; 1: a|*<>" },
        { "bash -s x <<< a", "0:t bash|-s|x 0<<<a; 1: a" },
        { "{ sh; } <<< a", "0: 0<<<a; 0:t sh; 1: a" },
        { "a | sh", "0: a; 0:u sh" },
        { "sh < f", "0:u sh 0<f" },
        { "sh < /dev/null", "0: sh 0</dev/null" },
        { "sh", "0: sh" },
        { "sh <(a)", "0:u sh|?<>; 1: a" },
        { "sh --version | sh -c", "0: sh|--version; 0: sh|-c" },
        { "eval a 'b; c'", "0:t eval|a|b; c; 1: a|b; 1: c" },
        { "eval \"$x\"", "0:u eval|?<>; 1:! *<>" },
        { "trap 'a' EXIT; trap - INT", "0:t trap|a|EXIT; 1: a; 0: trap|-|INT" },
        { "alias x='a b'", "0:t alias|x=a b; 1: a|b" },
        { "source f; . \"$x\"; . /dev/stdin <<< a", "0:f source|f; 0:u .|?<>; 0:t .|/dev/stdin 0<<<a; 1: a" },
        { "sh -c 'sh -c \"a\"'", "0:t sh|-c|sh -c \"a\"; 1:t sh|-c|a; 2: a" },
        { "sh -c 'a'\"'\"", "0:t sh|-c|a'; 1: a; problem" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) assert_list(rows[i].text, rows[i].list);
}

static void knows_places(void **state) {
    (void)state;
    Arena arena = { 0 };
    Str text = STR("a | { b; c | d; } &\nf() { g; }; while true; do h; while x; do i; done; done");
    static const struct { const char *program; uint32_t stage, stages; bool background, endless; const char *function; } rows[] = {
        { "a", 0, 2, true, false, "" }, { "b", 1, 2, true, false, "" }, { "c", 0, 2, true, false, "" }, { "d", 1, 2, true, false, "" },
            { "g", 0, 1, false, false, "f" },
        { "true", 0, 1, false, true, "" }, { "h", 0, 1, false, true, "" }, { "x", 0, 1, false, true, "" }, { "i", 0, 1, false, true, "" },
    };
    ShellCommands list = shell_commands(text, &arena);
    assert_int_equal(list.n, sizeof rows / sizeof *rows);
    for (size_t i = 0; i < list.n; i++) {
        const ShellCommand *c = &list.at[i];
        assert_str(c->program, rows[i].program);
        assert_int_equal(c->stage, rows[i].stage);
        assert_int_equal(c->stages, rows[i].stages);
        assert_int_equal(c->background, rows[i].background);
        assert_int_equal(c->loop > 0, rows[i].endless);
        assert_str(c->function, rows[i].function);
    }
    assert_int_equal(list.at[0].pipeline, list.at[1].pipeline);
    assert_int_equal(list.at[2].pipeline, list.at[3].pipeline);
    assert_true(list.at[1].pipeline != list.at[2].pipeline);
    assert_true(list.exact);
    arena_clear(&arena);
}

static void gives_offsets(void **state) {
    (void)state;
    Arena arena = { 0 };
    static const struct { size_t index; const char *text; } rows[] = {
        { 0, "x=1 echo \"$(b c)\" > f" }, { 1, "b c" }, { 2, "sh -c 'd e'" }, { 3, "'d e'" }, { 4, "env ls -l" }, { 5, "ls -l" },
            { 6, "{ k; } > m" }, { 7, "k" },
    };
    Str text = STR("x=1 echo \"$(b c)\" > f; sh -c 'd e' | env ls -l; { k; } > m");
    ShellCommands list = shell_commands(text, &arena);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(rows[i].index < list.n);
        assert_str(str_sub(text, list.at[rows[i].index].from, list.at[rows[i].index].to), rows[i].text);
    }
    assert_str(str_sub(text, list.at[0].words[1].from, list.at[0].words[1].to), "\"$(b c)\"");
    assert_str(str_sub(text, list.at[2].words[2].from, list.at[2].words[2].to), "'d e'");
    arena_clear(&arena);
}

static void finds_operands(void **state) {
    (void)state;
    static const struct { const char *text; uint32_t operand; } rows[] = {
        { "git -C dir --git-dir=x push -f", 4 }, { "git push", 1 }, { "git --version", 2 }, { "rm -rf x", 2 },
            { "docker -l debug run x", 3 }, { "ls", 1 }, { "bash -x s.sh", 2 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena arena = { 0 };
        assert_int_equal(shell_commands(str_from(rows[i].text), &arena).at[0].operand, rows[i].operand);
        arena_clear(&arena);
    }
}

/* No input takes long or needs much memory or stack, and none is exact unless it was parsed completely. */
static void is_total(void **state) {
    (void)state;
    static const struct { const char *open, *middle, *close; size_t n; bool problem; } shapes[] = {
        { "( ", "ls", " )", 9999, true }, { "(", "ls", ")", 9999, false }, { "$(", "ls", ")", 9999, true },
            { "{ ", "ls", ";}", 9999, true }, { "${x:-", "y", "}", 9999, true }, { "\"$(", "ls", ")\"", 9999, true },
        { "if ", "ls", "; then :; fi", 9999, true }, { "f() ", "{ :; }", "", 9999, true }, { "sudo ", "ls", "", 40000, true },
            { "eval ", "ls", "", 40000, true },
        { "`", "ls", "`", 9999, false }, { "((", "1", "))", 9999, false }, { "$((", "1", "))", 9999, true },
            { "x {a,b}", "", "", 20000, false }, { "{a,b}", "", "", 20000, true },
        { "{", "a", ",b}", 9999, true }, { "{", "", "", 200000, false }, { "<(", "ls", ")", 9999, true },
            { "a<<A;", "\n", "A\n", 20000, false }, { "<<A ", "\n", "A\n", 20000, false },
        { "a <<A <b ", "\n", "A\n", 20000, false }, { "'", "", "", 99999, true }, { "|", "", "", 9999, true },
            { "[[ ", "x", "", 9999, true }, { "a[", "", "", 9999, true },
        { "find -exec ", "ls", " ;", 40000, true }, { "xargs -I% ", "%", "", 9999, true }, { "xargs ", "x", "", 20000, true },
            { "parallel ", "x", "", 9999, true },
        { "sh -c '", "", "'", 9999, false }, { "env -S 'env -S ", "x", "'", 999, false }, { "a=b ", "ls", "", 50000, false }, { ">a ", "", "", 50000, false },
        { "{ ", "sh;", " } <<< 'sh'", 1, false }, { "sh;", "", "", 50000, false }, { "a|", "b", "", 60000, false },
            { "a&", "b", "", 60000, false }, { "! ", "a", "", 60000, false },
        { "time ", "a", "", 40000, false }, { "coproc ", "a", "", 30000, false }, { "\\\n", "a", "", 100000, false },
            { "$", "a", "", 100000, false }, { "a() { ", "b", "; }", 9999, true },
        { "case x in x) ", "ls", ";; esac", 9999, true }, { "for x in a; do ", "ls", "; done", 9999, true },
            { "docker compose ", "x", "", 9999, false }, { "git bisect ", "x", "", 9999, false },
        { "{x,", "", "}", 9999, true }, { "[", "", "", 99999, false }, { "$'\\", "", "", 60000, true }, { "((a) ", "", "", 40000, true },
            { "$[", "1", "]", 9999, true },
    };
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        Arena arena = { 0 };
        Buf b = { 0 };
        for (size_t k = 0; k < shapes[i].n; k++) buf_add(&b, str_from(shapes[i].open));
        buf_add(&b, str_from(shapes[i].middle));
        for (size_t k = 0; k < shapes[i].n; k++) buf_add(&b, str_from(shapes[i].close));
        Str text = str_sub(buf_str(&b), 0, SHELL_TEXT_MAX);
        ShellCommands list = shell_commands(text, &arena);
        if (shapes[i].problem && !list.problem) print_error("no problem: %s\n", shapes[i].open);
        wrong += shapes[i].problem && !list.problem;
        assert_true(!list.problem || !list.exact);
        assert_true(arena.total < (size_t)256 << 20);
        buf_clear(&b);
        arena_clear(&arena);
    }
    assert_int_equal(wrong, 0);
}

/* A shell for each line of a here-document that all of them read: the work is limited. */
static void bounds_shared_input(void **state) {
    (void)state;
    Arena arena = { 0 };
    Buf b = { 0 };
    buf_add(&b, STR("{ "));
    for (int i = 0; i < 20000; i++) buf_add(&b, STR("sh;"));
    buf_add(&b, STR(" } <<E\n"));
    for (int i = 0; i < 20000; i++) buf_add(&b, STR("ls\n"));
    buf_add(&b, STR("E\n"));
    ShellCommands list = shell_commands(buf_str(&b), &arena);
    assert_non_null(list.problem);
    assert_true(arena.total < (size_t)2 << 30);
    buf_clear(&b);
    arena_clear(&arena);
}

static void handles_odd_bytes(void **state) {
    (void)state;
    Arena arena = { 0 };
    assert_true(shell_commands((Str){ NULL, 0 }, &arena).exact);
    assert_false(shell_commands(STR("l\0s"), &arena).exact);
    assert_false(shell_commands(STR("l\1s"), &arena).exact);
    assert_true(shell_commands(STR("ls a\xff\xfe"), &arena).exact);
    ShellCommands list = shell_commands(STR("ls a\0b"), &arena);
    assert_false(list.at[0].words[1].exact);
    char *big = malloc(SHELL_TEXT_MAX + 1);
    memset(big, 'a', SHELL_TEXT_MAX + 1);
    assert_null(shell_commands((Str){ big, SHELL_TEXT_MAX }, &arena).problem);
    assert_non_null(shell_commands((Str){ big, SHELL_TEXT_MAX + 1 }, &arena).problem);
    free(big);
    arena_clear(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_commands), cmocka_unit_test(removes_wrappers), cmocka_unit_test(reads_inline_text), cmocka_unit_test(knows_places),
        cmocka_unit_test(gives_offsets), cmocka_unit_test(finds_operands), cmocka_unit_test(is_total), cmocka_unit_test(bounds_shared_input),
        cmocka_unit_test(handles_odd_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
