#include "starlark/front.h"

typedef struct { const char *source, *want; } Case;

static void check(const Case *cases, size_t n, bool expression) {
    for (size_t i = 0; i < n; i++) {
        Front f = front_open(str_from(cases[i].source));
        front_parse(&f, expression);
        front_expect(&f, cases[i].want);
    }
}
#define CHECK(cases, expression) check(cases, sizeof(cases) / sizeof *(cases), expression)

static void expressions(void **state) {
    (void)state;
    static const Case cases[] = {
        { "x", "x" },
        { "1 + 2 * 3", "(+ 1 (* 2 3))" },
        { "1 - 2 - 3", "(- (- 1 2) 3)" },
        { "(1 - (2 - 3))", "(- 1 (- 2 3))" },
        { "a or b and not c == d", "(or a (and b (not (== c d))))" },
        { "not a and b", "(and (not a) b)" },
        { "not not a", "(not (not a))" },
        { "a not in b or c in d", "(or (not-in a b) (in c d))" },
        { "a | b ^ c & d << e + f * -g", "(| a (^ b (& c (<< d (+ e (* f (- g)))))))" },
        { "a * b + c << d & e ^ f | g", "(| (^ (& (<< (+ (* a b) c) d) e) f) g)" },
        { "a == b and c < d or e", "(or (and (== a b) (< c d)) e)" },
        { "a % b // c / d", "(/ (// (% a b) c) d)" },
        { "-x.y", "(- (dot x y))" },
        { "- - +~x", "(- (- (+ (~ x))))" },
        { "-1", "(- 1)" },
        { "(a == b) == c", "(== (== a b) c)" },
        { "a if b else c if d else e", "(if b a (if d c e))" },
        { "a.b.c(d)[e].f", "(dot (index (call (dot (dot a b) c) d) e) f)" },
        { "f(a, b=1, *c, **d)", "(call f a b=1 *c **d)" },
        { "f()", "(call f)" },
        { "f(a,)", "(call f a)" },
        { "f(x for_)", "1:5: got identifier, want ','" },
        { "x[1:2:3]", "(slice x 1 2 3)" },
        { "x[:]", "(slice x _ _ _)" },
        { "x[::]", "(slice x _ _ _)" },
        { "x[::2]", "(slice x _ _ 2)" },
        { "x[1:]", "(slice x 1 _ _)" },
        { "x[:1]", "(slice x _ 1 _)" },
        { "x[1, 2]", "(index x (tuple 1 2))" },
        { "x[1, 2:]", "(slice x (tuple 1 2) _ _)" },
        { "()", "(tuple)" },
        { "(1)", "1" },
        { "(1,)", "(tuple 1)" },
        { "1, 2", "(tuple 1 2)" },
        { "[]", "(list)" },
        { "[1, 2,]", "(list 1 2)" },
        { "{}", "(dict)" },
        { "{1: 2, 'a': b,}", "(dict 1 2 \"a\" b)" },
        { "[x for x in y]", "(listcomp x (for x y))" },
        { "[x for x, (y, z) in a for b in c if d if e]", "(listcomp x (for (tuple x (tuple y z)) a) (for b c) (if d) (if e))" },
        { "[x for x, in y]", "1:11: got in, want primary expression" },
        { "{k: v for k, v in d}", "(dictcomp k v (for (tuple k v) d))" },
        { "[a for b in c if lambda: d]", "(listcomp a (for b c) (if (lambda () d)))" },
        { "[a for b in c if lambda: lambda: d]", "(listcomp a (for b c) (if (lambda () (lambda () d))))" },
        { "lambda: 0", "(lambda () 0)" },
        { "lambda x, y=1, *a, z, **k: x if y else z", "(lambda (x y=1 *a z **k) (if y x z))" },
        { "lambda *, x: x", "(lambda (* x) x)" },
        { "1.5e3, 0x10, b'\\xff', r'\\d'", "(tuple 1500.0 16 b\"\\xff\" \"\\\\d\")" },
        { "x\n", "x" },
        { "", "1:1: got end of file, want primary expression" },
        { "x y", "1:3: got identifier after expression, want EOF" },
        { "x = 1", "1:3: got '=' after expression, want EOF" },
    };
    CHECK(cases, true);
}

static void statements(void **state) {
    (void)state;
    static const Case cases[] = {
        { "", "" },
        { "\n\n# nothing\n", "" },
        { "pass", "(pass)" },
        { "x = 1; y = 2;\nz", "(= x 1) (= y 2) z" },
        { "a, b = b, a", "(= (tuple a b) (tuple b a))" },
        { "(a, [b, c.d], e[0]) = x", "(= (tuple a (list b (dot c d)) (index e 0)) x)" },
        { "x += 1; x -= 1; x *= 1; x /= 1; x //= 1; x %= 1", "(+= x 1) (-= x 1) (*= x 1) (/= x 1) (//= x 1) (%= x 1)" },
        { "x &= 1; x |= 1; x ^= 1; x <<= 1; x >>= 1", "(&= x 1) (|= x 1) (^= x 1) (<<= x 1) (>>= x 1)" },
        { "def f(a, b=1, *args, c, **kw):\n  return a", "(def f (a b=1 *args c **kw) (return a))" },
        { "def f(): pass", "(def f () (pass))" },
        { "def f(a,): return; pass", "(def f (a) (return) (pass))" },
        { "def f(*, a): return 1, 2", "(def f (* a) (return (tuple 1 2)))" },
        { "if a: b\nelif c: d\nelif e:\n  f\nelse: g\nh", "(if a (b) c (d) e (f) _ (g)) h" },
        { "for x in y:\n  break\n  continue\n", "(for x y (break) (continue))" },
        { "for a, b.c, d[0] in 1, 2: pass", "(for (tuple a (dot b c) (index d 0)) (tuple 1 2) (pass))" },
        { "while x: pass", "(while x (pass))" },
        { "load('m', 'a', b='c',)", "(load \"m\" a=\"a\" b=\"c\")" },
        { "def f():\n  def g():\n    x\n  y\nz", "(def f () (def g () x) y) z" },
    };
    CHECK(cases, false);
}

static void errors(void **state) {
    (void)state;
    static const Case cases[] = {
        { "x = 1 +\n2", "1:8: got newline, want primary expression" },
        { "_ = *x", "1:5: Starlark has no * in lists and assignments; use a + b, items[0] and items[1:]" },
        { "def f(a, *-b, c): pass", "1:11: got '-', want ','" },
        { "def pass(): pass", "1:5: not an identifier" },
        { "def f : pass", "1:7: got ':', want '('" },
        { "def f(**): pass", "1:9: not an identifier" },
        { "f(a=1, *, b=2)", "1:9: got ',', want primary expression" },
        { "_ = {x for y in z}", "1:8: Starlark has no {a, b} for sets; use set([a, b]), or a list" },
        { "_ = {1: 2, x: y for y in z}", "1:17: got for, want '}'" },
        { "def f():\n  pass\n pass", "3:2: unindent does not match any outer indentation level" },
        { "def f():\npass", "2:1: got pass, want indent" },
        { "def f():", "1:9: got end of file, want primary expression" },
        { "x = 1\n  y = 2", "2:3: got indent, want primary expression" },
        { "if x: if y: pass", "1:7: got if, want primary expression" },
        { "if x:\n  pass\n  else: pass", "3:3: else belongs to an if in the same column; Starlark has no else after a loop" },
        { "for x in y:\n  pass\nelse:\n  pass", "3:1: else belongs to an if in the same column; Starlark has no else after a loop" },
        { "[x for x in lambda: True]", "1:13: put the lambda in parentheses: (lambda x: …)" },
        { "[x for x in 1, 2, 3]", "1:14: got ',', want ']', for, or if" },
        { "{x: y for x in z else}", "1:18: got else, want '}', for, or if" },
        { "[a for b in c if lambda: d if e else f]", "1:33: got else, want ']', for, or if" },
        { "0 == 1 == 2", "1:8: == does not associate with == (use parens)" },
        { "0 <= i < n", "1:8: <= does not associate with < (use parens)" },
        { "a in b not in c", "1:12: in does not associate with not in (use parens)" },
        { "a + b < c + d > e", "1:15: < does not associate with > (use parens)" },
        { "a + b not c", "1:11: got identifier, want in" },
        { "1 + not x", "1:5: got not, want primary expression" },
        { "f(1+2 = 3)", "1:7: keyword argument must have form name=expr" },
        { "f((x) = 3)", "1:7: keyword argument must have form name=expr" },
        { "print(1, 2", "1:11: got end of file, want ')'" },
        { "print(1,", "1:9: got end of file, want primary expression" },
        { "x = lambda a,: a", "1:14: not an identifier" },
        { "def f(a", "1:8: got end of file, want ')'" },
        { "[1, 2", "1:6: got end of file, want ']'" },
        { "_ = a if b", "1:7: conditional expression without else clause" },
        { "print 1", "1:7: print is a function here; write print(x)" },
        { "x[1, 2,:]", "1:8: got ':', want primary expression" },
        { "a, b, = 1, 2", "1:5: unparenthesized tuple with trailing comma" },
        { "a = 1, 2,", "1:9: unparenthesized tuple with trailing comma" },
        { "a = max(1))", "1:11: unexpected ')'" },
        { "a = (1]", "1:7: got ']', want ')'" },
        { "x.1", "1:2: got float literal, want newline" },
        { "x.(y)", "1:3: not an identifier" },
        { "import x", "1:1: Starlark has no import; fs, exec, http, json and re are already there" },
        { "x = yield", "1:5: Starlark has no yield; append to a list and return it" },
        { "a = b = c", "1:7: Starlark has no a = b = c; assign to one name at a time" },
        { "'a' 'b'", "1:5: strings side by side are not joined; use \"a\" + \"b\"" },
        { "x = 'a' b'c'", "1:9: got bytes literal, want newline" },
        { "load()", "1:6: first operand of load statement must be a string literal" },
        { "load('a')", "1:5: load statement must import at least 1 symbol" },
        { "load('a', 1)", "1:11: load operand must be \"name\" or localname=\"name\" (got int literal)" },
        { "load('a', x)", "1:12: load operand must be \"x\" or x=\"originalname\" (want '=' after x)" },
        { "load('a', x=y)", "1:13: original name of loaded symbol must be quoted: x=\"originalname\"" },
        { "load = 1", "1:6: got '=', want '('" },
    };
    CHECK(cases, false);
}

/* Appends n copies of s. */
static Str repeat(Buf *b, const char *s, int n) {
    for (int i = 0; i < n; i++) buf_add(b, str_from(s));
    return buf_str(b);
}

static void check_depth(const char *open, const char *middle, const char *close, int n, bool ok) {
    Buf b = { 0 };
    buf_add(&b, STR("x = "));
    repeat(&b, open, n);
    repeat(&b, middle, 1);
    Front f = front_open(repeat(&b, close, n));
    front_parse(&f, false);
    bool failed = str_find(buf_str(&f.out), STR("nested too deeply")) >= 0;
    if (failed == ok) fail_msg("%s × %d: %.100s", open, n, buf_str(&f.out).at);
    front_close(&f);
    buf_clear(&b);
}

static void limits_nesting(void **state) {
    (void)state;
    static const struct { const char *open, *middle, *close; } cases[] = {
        { "(", "1", ")" }, { "[", "1", "]" }, { "{1:", "1", "}" }, { "f(", "1", ")" }, { "f(a=", "1", ")" }, { "x[", "1", "]" },
        { "-", "1", "" }, { "not ", "1", "" }, { "lambda: ", "1", "" }, { "1 if 1 else ", "1", "" },
        { "[x for x in ", "1", "]" }, { "[x for x in y if ", "1", "]" }, { "1+(", "1", ")" }, { "lambda x=", "1", ":1" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_depth(cases[i].open, cases[i].middle, cases[i].close, PARSER_DEPTH_MAX - 1, true);
        check_depth(cases[i].open, cases[i].middle, cases[i].close, PARSER_DEPTH_MAX + 1, false);
        check_depth(cases[i].open, cases[i].middle, cases[i].close, 100000, false);
    }
}

static void limits_blocks(void **state) {
    (void)state;
    for (int n = 190; n <= 210; n += 20) {
        Buf b = { 0 };
        for (int i = 0; i <= n; i++) {
            repeat(&b, " ", i);
            buf_add(&b, i < n ? STR("if x:\n") : STR("pass\n"));
        }
        Front f = front_open(buf_str(&b));
        front_parse(&f, false);
        assert_int_equal(str_find(buf_str(&f.out), STR("nested too deeply")) < 0, n < PARSER_DEPTH_MAX);
        front_close(&f);
        buf_clear(&b);
    }
}

/* Long programs parse at any length as long as they are not deep. */
static void takes_long_chains(void **state) {
    (void)state;
    static const struct { const char *start, *link; } cases[] = {
        { "x = a", ".b" }, { "x = 1", " + 1" }, { "x = a", "[0]" }, { "x = f", "()" }, { "x = a", " or b" }, { "x = a", "[1:2]" },
        { "x = [", "1," }, { "x = {", "1:2," }, { "f(", "a," }, { "def f():\n if a:\n  b\n", " elif a:\n  b\n" }, { "", "x;" },
        { "x = [a ", "for b in c " }, { "x = 1", " * 2 + 3" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buf b = { 0 };
        buf_add(&b, str_from(cases[i].start));
        repeat(&b, cases[i].link, 50000);
        char open = cases[i].start[0] ? cases[i].start[strlen(cases[i].start) - 1] : 0;
        if (strchr(cases[i].start, '[')) buf_add_char(&b, ']');
        else if (open == '{') buf_add_char(&b, '}');
        else if (open == '(') buf_add_char(&b, ')');
        Front f = front_open(buf_str(&b));
        front_parse(&f, false);
        if (buf_str(&f.out).n < 50000) fail_msg("%s%s…: %.100s", cases[i].start, cases[i].link, buf_str(&f.out).at);
        front_close(&f);
        buf_clear(&b);
    }
}

static void keeps_positions(void **state) {
    (void)state;
    Front f = front_open(STR("z = (a.b(c)[d] + e) if g else -h"));
    ParserInput in = front_input(&f);
    AstModule *m;
    assert_true(parser_module(&in, &m, NULL));
    Stmt *s = m->toplevel->body.at[0];
    assert_int_equal(s->pos.col, 3);
    Expr *cond = s->assign.value, *sum = cond->cond.yes, *index = sum->binary.x, *call = index->index.x, *dot = call->call.fn;
    assert_int_equal(cond->pos.col, 21);
    assert_int_equal(cond->start.col, 5);
    assert_int_equal(sum->pos.col, 16);
    assert_true(sum->parens && !index->parens);
    assert_int_equal(sum->start.col, 5);
    assert_int_equal(index->pos.col, 12);
    assert_int_equal(index->start.col, 6);
    assert_int_equal(call->pos.col, 9);
    assert_int_equal(dot->pos.col, 7);
    assert_int_equal(dot->dot.name_pos.col, 8);
    assert_int_equal(cond->cond.no->pos.col, 31);
    front_close(&f);
}

static void finds_docstrings(void **state) {
    (void)state;
    Front f = front_open(STR("'''top'''\ndef f():\n  'doc'\n  pass\ndef g():\n  b'no'\n"));
    ParserInput in = front_input(&f);
    AstModule *m;
    assert_true(parser_module(&in, &m, NULL));
    assert_str(string_str(m->toplevel->doc), "top");
    assert_str(string_str(m->toplevel->body.at[1]->def.fn->doc), "doc");
    assert_null(m->toplevel->body.at[2]->def.fn->doc);
    front_close(&f);
}

static void knows_when_a_prompt_needs_more(void **state) {
    (void)state;
    static const struct { const char *text; bool more; } cases[] = {
        { "", false }, { "x = 1\n", false }, { "f(", true }, { "f(\n\n", true }, { "f(1,\n2)", false }, { "[1,\n", true },
        { "'''a\n", true }, { "'''a\n\n", true }, { "'a", false }, { "x = 1 + \\\n", true }, { "x = 1 + \\", true }, { "x = 1 +\n", false },
        { "def f():", true }, { "def f():\n", true }, { "def f():\n  pass\n", true }, { "def f():\n  pass\n\n", false },
        { "def f():\n\n", false }, { "if x: pass\n", true }, { "if x: pass\n\n", false }, { "for x in y:\n  f(x)", true },
        { "x = )", false }, { "1 2\n", false }, { "def f(x\n", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (parser_wants_more(str_from(cases[i].text)) != cases[i].more) fail_msg("%s", cases[i].text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions), cmocka_unit_test(statements), cmocka_unit_test(errors),
        cmocka_unit_test(limits_nesting), cmocka_unit_test(limits_blocks), cmocka_unit_test(takes_long_chains),
        cmocka_unit_test(keeps_positions), cmocka_unit_test(finds_docstrings),
        cmocka_unit_test(knows_when_a_prompt_needs_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
