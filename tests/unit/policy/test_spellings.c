/* Spellings of forbidden commands against a rule set: tests/rules/harness.md and tests/rules/spellings.txt. With the
 * environment variable RULES_WRITE, prints the list with what the rules decide instead of checking it. */
#include "unit.h"
#include "artifact/project.h"
#include "base/file.h"
#include "policy/rules.h"

static Project *load(void) {
    Project *p = NULL;
    Problems problems = { 0 };
    bool ok = project_load(&(ProjectInput){ .dir = "tests/rules" }, &p, &problems);
    for (size_t i = 0; i < problems.n; i++) print_error(STR_FMT "\n", STR_ARG(problems.at[i].message));
    assert_true(ok);
    problems_clear(&problems);
    return p;
}

static RulesVerdict judge(const Project *p, Str command, Arena *arena) {
    RulesCall call = { .tool = STR("bash"), .kind = CALL_SHELL, .command = command, .root = p->root };
    return rules_judge(&p->rules, &call, arena);
}

/* \n in the list is a line break. */
static Str unescape(Str s, Arena *arena) {
    Buf out = { 0 };
    for (size_t i = 0; i < s.n; i++) {
        bool line = s.at[i] == '\\' && i + 1 < s.n && s.at[i + 1] == 'n';
        buf_add_char(&out, line ? '\n' : s.at[i]);
        i += line;
    }
    Str text = arena_str(arena, buf_str(&out));
    buf_clear(&out);
    return text;
}

static Str column(Str *rest) {
    ptrdiff_t bar = str_find(*rest, STR(" | "));
    Str out = bar < 0 ? STR("") : str_sub(*rest, 0, (size_t)bar);
    if (bar >= 0) *rest = str_sub(*rest, (size_t)bar + 3, rest->n);
    return out;
}

static void test_spellings(void **state) {
    (void)state;
    Project *p = load();
    Buf text = { 0 };
    Error err = { 0 };
    size_t n = 0, wrong = 0, denied = 0, asked = 0;
    bool write = getenv("RULES_WRITE");
    assert_true(file_read("tests/rules/spellings.txt", 1 << 20, &text, &err));
    Str rest = buf_str(&text), line;
    while (str_next_line(&rest, &line)) {
        if (write && (line.n == 0 || line.at[0] == '#')) printf(STR_FMT "\n", STR_ARG(line));
        if (line.n == 0 || line.at[0] == '#') continue;
        Arena arena = { 0 };
        Str verdict = column(&line), rule = column(&line);
        if (str_eq(rule, STR("gap"))) rule = STR("-");
        RulesVerdict v = judge(p, unescape(line, &arena), &arena);
        Str is = str_from(rule_verdict_name(v.verdict)), by = v.unknown ? STR("?") : v.rule ? v.rule->name : STR("-");
        n++;
        denied += v.verdict == RULE_DENY;
        asked += v.verdict == RULE_ASK;
        if (write) printf(STR_FMT " | " STR_FMT " | " STR_FMT "\n", STR_ARG(is), STR_ARG(by), STR_ARG(line));
        else if (!str_eq(is, verdict) || !str_eq(by, rule)) {
            print_error(STR_FMT ": " STR_FMT " by " STR_FMT ", expected " STR_FMT " by " STR_FMT "\n", STR_ARG(line), STR_ARG(is),
                STR_ARG(by), STR_ARG(verdict),
                        STR_ARG(rule));
            wrong++;
        }
        arena_clear(&arena);
    }
    buf_clear(&text);
    project_free(p);
    assert_int_equal(wrong, 0);
    assert_true(write || (n >= 300 && denied > 200 && asked > 15));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_spellings) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
