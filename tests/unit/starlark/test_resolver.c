#include "starlark/front.h"

static bool is_predeclared(void *ctx, Str name) {
    (void)ctx;
    return str_eq(name, STR("M")) || str_eq(name, STR("fs"));
}

static bool is_universal(void *ctx, Str name) {
    (void)ctx;
    return str_eq(name, STR("U")) || str_eq(name, STR("len")) || str_eq(name, STR("print"));
}

static const Str known[] = { { "len", 3 }, { "print", 5 }, { "fs", 2 } };
static const ResolverOptions strict = { .is_predeclared = is_predeclared, .is_universal = is_universal,
                                        .suggest = known, .n_suggest = 3 };

typedef struct { const char *source, *want; } Case;

static void check(const Case *cases, size_t n, const ResolverOptions *options) {
    for (size_t i = 0; i < n; i++) {
        Front f = front_open(str_from(cases[i].source));
        front_resolve(&f, options);
        front_expect(&f, cases[i].want);
    }
}
#define CHECK(cases, options) check(cases, sizeof(cases) / sizeof *(cases), options)

static void scopes(void **state) {
    (void)state;
    static const Case cases[] = {
        { "x = 1\ny = x + len(M)", "(= x@global0 1) (= y@global1 (+ x@global0 (call len@universal M@predeclared)))" },
        { "y = x\nx = 1", "(= y@global0 x@global1) (= x@global1 1)" },
        { "a = len\nlen = 1", "(= a@global0 len@global1) (= len@global1 1)" },
        { "def f(a, b=U):\n  c = a\n  return c + b + g\ng = 1",
          "(def f@global0 (a@local0 b@local1=U@universal) locals=a,b,c (= c@local2 a@local0)"
          " (return (+ (+ c@local2 b@local1) g@global1))) (= g@global1 1)" },
        { "def f(): return g()\ndef g(): return 1", "(def f@global0 () (return (call g@global1))) (def g@global1 () (return 1))" },
        { "def f():\n  print(x)\n  x = 1", "(def f@global0 () locals=x (call print@universal x@local0) (= x@local0 1))" },
        { "x = 1\ndef f():\n  x += 1", "(= x@global0 1) (def f@global1 () locals=x (+= x@local0 1))" },
        { "def f(a, *args, k, j=1, **kw): pass",
          "(def f@global0 (a@local0 *args@local3 k@local1 j@local2=1 **kw@local4) locals=a,k,j,args,kw (pass))" },
        { "def f():\n  if U:\n    for i in M:\n      x = i\n  return x",
          "(def f@global0 () locals=i,x (if U@universal ((for i@local0 M@predeclared (= x@local1 i@local0)))) (return x@local1))" },
        { "[a, (b, c.d)] = M; c = 1", "(= (list a@global0 (tuple b@global1 (dot c@global2 d))) M@predeclared) (= c@global2 1)" },
    };
    CHECK(cases, &strict);
}

static void closures(void **state) {
    (void)state;
    static const Case cases[] = {
        { "def f(a):\n  return lambda: a",
          "(def f@global0 (a@cell0) locals=a! (return (lambda () frees=a@cell0 a@free0)))" },
        { "def f(a):\n  b = a\n  def g(): return a + b\n  return g",
          "(def f@global0 (a@cell0) locals=a!,b!,g (= b@cell1 a@cell0)"
          " (def g@local2 () frees=a@cell0,b@cell1 (return (+ a@free0 b@free1))) (return g@local2))" },
        /* Captured through a function that does not use it itself. */
        { "def f(a):\n  return lambda: lambda: a",
          "(def f@global0 (a@cell0) locals=a! (return (lambda () frees=a@cell0 (lambda () frees=a@free0 a@free0))))" },
        { "def f(a):\n  return lambda a: a",
          "(def f@global0 (a@local0) locals=a (return (lambda (a@local0) locals=a a@local0)))" },
        { "def f(a):\n  return lambda b=a: b",
          "(def f@global0 (a@local0) locals=a (return (lambda (b@local0=a@local0) locals=b b@local0)))" },
        /* The inner function comes before the variable is bound. */
        { "def f():\n  g = lambda: x\n  x = 1",
          "(def f@global0 () locals=g,x! (= g@local0 (lambda () frees=x@cell1 x@free0)) (= x@cell1 1))" },
        { "def f():\n  def g(): return g\n  return g",
          "(def f@global0 () locals=g! (def g@cell0 () frees=g@cell0 (return g@free0)) (return g@cell0))" },
        { "def f(a):\n  def g():\n    return [a for b in M]\n",
          "(def f@global0 (a@cell0) locals=a!,g (def g@local1 () locals=b frees=a@cell0"
          " (return (listcomp a@free0 (for b@local0 M@predeclared)))))" },
    };
    CHECK(cases, &strict);
}

static void comprehensions(void **state) {
    (void)state;
    static const Case cases[] = {
        { "x = [x for x in x]", "(= x@global0 (listcomp x@local0 (for x@local0 x@global0)))" },
        { "def f(x):\n  return [x for x in x]",
          "(def f@global0 (x@local0) locals=x,x (return (listcomp x@local1 (for x@local1 x@local0))))" },
        /* Consecutive ones share a slot, nested ones do not. */
        { "def f(v):\n  [a for a in v]; [b for b in v]",
          "(def f@global0 (v@local0) locals=v,a (listcomp a@local1 (for a@local1 v@local0)) (listcomp b@local1 (for b@local1 v@local0)))" },
        { "def f(v):\n  return [[a + b for b in v] for a in v]",
          "(def f@global0 (v@local0) locals=v,a,b (return (listcomp (listcomp (+ a@local1 b@local2) (for b@local2 v@local0))"
          " (for a@local1 v@local0))))" },
        { "x = [a for a in [b for b in M]]", "(= x@global0 (listcomp a@local0 (for a@local0 (listcomp b@local0 (for b@local0 M@predeclared)))))" },
        { "x = [(a, b) for a in M for b in a if b]",
          "(= x@global0 (listcomp (tuple a@local0 b@local1) (for a@local0 M@predeclared) (for b@local1 a@local0) (if b@local1)))" },
        { "x = {k: v for k, v in M}", "(= x@global0 (dictcomp k@local0 v@local1 (for (tuple k@local0 v@local1) M@predeclared)))" },
        /* A cell does not share its slot. */
        { "def f(v):\n  [a for a in v]; [lambda: b for b in v]",
          "(def f@global0 (v@local0) locals=v,a,b! (listcomp a@local1 (for a@local1 v@local0))"
          " (listcomp (lambda () frees=b@cell2 b@free0) (for b@cell2 v@local0)))" },
        /* Nor does a variable that is read before it is bound. */
        { "def f(v):\n  [a for a in v]; [1 for b in v for c in d for d in v]",
          "(def f@global0 (v@local0) locals=v,a,c,d (listcomp a@local1 (for a@local1 v@local0))"
          " (listcomp 1 (for b@local1 v@local0) (for c@local2 d@local3) (for d@local3 v@local0)))" },
        { "x = [a for a in M for a in a]", "(= x@global0 (listcomp a@local0 (for a@local0 M@predeclared) (for a@local0 a@local0)))" },
    };
    CHECK(cases, &strict);
}

static void errors(void **state) {
    (void)state;
    static const Case cases[] = {
        { "x = y", "1:5: undefined: y" },
        { "hello = 1\nx = hollo", "2:5: undefined: hollo (did you mean hello?)" },
        { "def f(abc):\n  return abd", "2:10: undefined: abd (did you mean abc?)" },
        { "pritn(1)", "1:1: undefined: pritn (did you mean print?)" },
        { "x = [a for a in M]\ny = a", "2:5: undefined: a" },
        { "x = 1\nx = 2", "2:1: cannot reassign global x declared at f.star:1:1" },
        { "def f(): pass\ndef f(): pass", "2:5: cannot reassign global f declared at f.star:1:5" },
        { "x = 1\nx += 2", "2:1: cannot reassign global x declared at f.star:1:1" },
        { "a, a = M", "1:4: cannot reassign global a declared at f.star:1:1" },
        { "M = 1\nM = 2", "2:1: cannot reassign global M declared at f.star:1:1" },
        { "return 1", "1:1: return statement not within a function" },
        { "break", "1:1: break not in a loop" },
        { "def f():\n  for x in M:\n    def g():\n      continue", "4:7: continue not in a loop" },
        { "if M: pass", "1:1: if statement not within a function" },
        { "for x in M: pass", "1:1: for loop not within a function" },
        { "while M: pass", "1:1: Starlark has no while; use for i in range(N) and break\n1:1: while loop not within a function" },
        { "def f():\n  while M: pass", "2:3: Starlark has no while; use for i in range(N) and break" },
        { "load('m', 'x')\ny = x", "1:1: Starlark scripts have no load; define the function in this script, or call another tool with meta.call_tool" },
        { "1 = 0", "1:1: can't assign to literal" },
        { "(1+2) = 0", "1:1: can't assign to binaryexpr" },
        { "M() = 0", "1:1: can't assign to callexpr" },
        { "M[1:2] = 0", "1:1: can't assign to sliceexpr" },
        { "-M = 0", "1:1: can't assign to unaryexpr" },
        { "{} = 0", "1:1: can't assign to dictexpr" },
        { "(M if U else M) = 0", "1:1: can't assign to condexpr" },
        { "(lambda: 1) = 0", "1:1: can't assign to lambdaexpr" },
        { "[M for x in M] = 0", "1:1: can't assign to comprehension" },
        { "[c, d] += 0", "1:1: can't use list expression in augmented assignment" },
        { "(e, f) += 0", "1:1: can't use tuple expression in augmented assignment" },
        { "M += 1; x = [1 for 2 in M]", "1:20: can't assign to literal" },
        { "M(x=1, 2)", "1:8: positional argument may not follow named" },
        { "M(*M, 1)", "1:7: positional argument may not follow *args" },
        { "M(**M, 1)", "1:8: positional argument may not follow **kwargs" },
        { "M(*M, a=1)", "1:7: keyword argument may not follow *args" },
        { "M(**M, a=1)", "1:8: keyword argument may not follow **kwargs" },
        { "M(**M, *M)", "1:8: *args may not follow **kwargs" },
        { "M(*M, *M)", "1:7: multiple *args not allowed" },
        { "M(**M, **M)", "1:8: multiple **kwargs not allowed" },
        { "M(a=1, b=M(a=1), a=2)", "1:18: keyword argument \"a\" is repeated" },
        { "def f(x=1, y): pass", "1:12: required parameter may not follow optional" },
        { "def f(**k, x): pass", "1:12: required parameter may not follow **k" },
        { "def f(**k, x=1): pass", "1:13: optional parameter may not follow **k" },
        { "def f(**k, *a): pass", "1:12: * parameter may not follow **k" },
        { "def f(**k, **l): pass", "1:12: multiple ** parameters not allowed" },
        { "def f(*a, *b): pass", "1:11: multiple * parameters not allowed" },
        { "def f(*): pass", "1:7: bare * must be followed by keyword-only parameters" },
        { "def f(*, **k): pass", "1:7: bare * must be followed by keyword-only parameters" },
        { "def f(a, b, a): pass", "1:13: duplicate parameter: a" },
        { "def f(a, a=1): pass", "1:11: duplicate parameter: a" },
        { "def f(a, *a): pass", "1:11: duplicate parameter: a" },
        { "f = lambda x, **x: 1", "1:17: duplicate parameter: x" },
        /* In source order, whatever the order in which they are found. */
        { "def f():\n  return b\nx = 1\nx = a", "2:10: undefined: b\n4:1: cannot reassign global x declared at f.star:3:1\n4:5: undefined: a" },
    };
    CHECK(cases, &strict);
}

static void relaxed_rules(void **state) {
    (void)state;
    ResolverOptions options = strict;
    options.allow_toplevel = options.allow_while = options.allow_load = true;
    static const Case cases[] = {
        { "x = 1\nx = 2", "(= x@global0 1) (= x@global0 2)" },
        { "for i in M: x = i", "(for i@global0 M@predeclared (= x@global1 i@global0))" },
        { "while M: break", "(while M@predeclared (break))" },
        { "if M: x = 1\ny = x", "(if M@predeclared ((= x@global0 1))) (= y@global1 x@global0)" },
        /* The top level executes from top to bottom; functions see the whole module. */
        { "a = len\nlen = 1\nb = len", "(= a@global0 len@universal) (= len@global1 1) (= b@global2 len@global1)" },
        { "a = x\nx = 1", "1:5: undefined: x" },
        { "def f(): return x\nx = 1", "(def f@global0 () (return x@global1)) (= x@global1 1)" },
        { "return 1", "1:1: return statement not within a function" },
        { "if M: load('m', 'x')", "1:7: load statement within a conditional" },
        { "for i in M: load('m', 'x')", "1:13: load statement within a loop" },
        { "def f(): load('m', 'x')", "1:10: load statement within a function" },
        { "load('m', '_x', y='')", "1:12: load: names with leading underscores are not exported: _x\n1:20: load: empty identifier" },
        { "load('m', 'x', y='z')\ndef f(): return x", "(load \"m\" x@cell0=\"x\" y@local1=\"z\") (def f@global0 () frees=x@cell0 (return x@free0))" },
    };
    CHECK(cases, &options);
    options.allow_toplevel = false;
    static const Case loads[] = {
        { "load('m', 'x')\nx = 1", "2:1: cannot reassign local x declared at f.star:1:12" },
        { "load('m', 'x')\nload('m', 'x')", "2:12: cannot reassign top-level x" },
        { "y = x\nload('m', 'x')", "(= y@global0 x@local0) (load \"m\" x@local0=\"x\")" },
    };
    CHECK(loads, &options);
}

/* At a prompt each chunk sees the globals of earlier chunks and may rebind them. */
static void chunks_at_a_prompt(void **state) {
    (void)state;
    static const Case cases[] = {
        { "y = x", "(= y@global2 x@global0)" },
        { "x = x", "(= x@global0 x@global0)" },
        { "len = 1", "(= len@global1 1)" },
        { "x = 1; x = 2", "1:8: cannot reassign global x declared at f.star:1:1" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Front f = front_open(str_from(cases[i].source));
        String *names[] = { string_intern(f.heap, f.names, STR("x"), NULL), string_intern(f.heap, f.names, STR("len"), NULL) };
        ResolverOptions options = strict;
        options.known = names;
        options.n_known = 2;
        front_resolve(&f, &options);
        front_expect(&f, cases[i].want);
    }
}

static void limits_arguments(void **state) {
    (void)state;
    for (int n = 255; n <= 256; n++) {
        Buf positional = { 0 }, named = { 0 };
        buf_add(&positional, STR("M("));
        buf_add(&named, STR("M("));
        for (int i = 0; i < n; i++) buf_add(&positional, STR("1,")), buf_add_fmt(&named, "k%d=1,", i);
        buf_add(&positional, STR(")"));
        buf_add(&named, STR(")"));
        Front f = front_open(buf_str(&positional));
        front_resolve(&f, &strict);
        if (n > 255) front_expect(&f, "1:1: 256 positional arguments in call, limit is 255");
        else front_close(&f);
        f = front_open(buf_str(&named));
        front_resolve(&f, &strict);
        if (n > 255) front_expect(&f, "1:1: 256 keyword arguments in call, limit is 255");
        else front_close(&f);
        buf_clear(&positional);
        buf_clear(&named);
    }
}

/* The list is bounded and keeps the first errors; the rest is counted. */
static void keeps_the_first_errors(void **state) {
    (void)state;
    Buf b = { 0 };
    buf_add(&b, STR("def f():\n  x = [alpha + bravo for a in charlie]\n"));
    for (int i = 0; i < 1000; i++) buf_add_fmt(&b, "  y%d = undefined%d\n", i, i);
    Front f = front_open(buf_str(&b));
    ParserInput in = front_input(&f);
    AstModule *m;
    ResolverErrors all;
    Error err = { 0 };
    assert_true(parser_module(&in, &m, NULL));
    assert_false(resolver_module(m, &strict, &f.arena, &all, &err));
    assert_int_equal(all.total, 1003);
    assert_int_equal(all.n, RESOLVER_ERRORS_MAX);
    assert_string_equal(all.at[0].msg, "undefined: alpha");
    assert_string_equal(all.at[2].msg, "undefined: charlie");
    for (size_t i = 1; i < all.n; i++) assert_true(all.at[i - 1].line <= all.at[i].line);
    assert_int_equal(all.at[RESOLVER_ERRORS_MAX - 1].line, 19);
    assert_string_equal(err.file, "f.star");
    front_close(&f);
    buf_clear(&b);
}

static void fills_in_functions(void **state) {
    (void)state;
    Front f = front_open(STR("def f(a, b=1, *args, c, d=2, **kw):\n  e = 1\n"));
    ParserInput in = front_input(&f);
    AstModule *m;
    assert_true(parser_module(&in, &m, NULL));
    assert_true(resolver_module(m, &strict, &f.arena, NULL, NULL));
    const AstFunction *fn = m->toplevel->body.at[0]->def.fn;
    assert_int_equal(fn->n_declared, 6);
    assert_int_equal(fn->n_params, 6);
    assert_int_equal(fn->n_kwonly, 2);
    assert_int_equal(fn->n_locals, 7);
    assert_true(fn->has_varargs && fn->has_kwargs);
    assert_int_equal(m->n_globals, 1);
    assert_str(string_str(m->globals[0]), "f");
    front_close(&f);
}

/* Resolves long chains and deep nesting. */
static void takes_large_programs(void **state) {
    (void)state;
    Buf b = { 0 };
    buf_add(&b, STR("x = M"));
    for (int i = 0; i < 100000; i++) buf_add(&b, STR(" + M"));
    buf_add(&b, STR("\ny = "));
    for (int i = 0; i < 60; i++) buf_add(&b, STR("M(M or M and not M == M | M ^ M & M << M + M * -"));
    buf_add(&b, STR("M"));
    for (int i = 0; i < 60; i++) buf_add(&b, STR(")"));
    buf_add(&b, STR("\n"));
    for (int i = 0; i < 100; i++) {
        for (int j = 0; j < i; j++) buf_add_char(&b, ' ');
        buf_add_fmt(&b, "def f%d(p%d):\n", i, i);
    }
    for (int j = 0; j < 100; j++) buf_add_char(&b, ' ');
    buf_add(&b, STR("return p0 + p50 + p99\n"));
    Front f = front_open(buf_str(&b));
    front_resolve(&f, &strict);
    assert_true(str_find(buf_str(&f.out), STR("(return (+ (+ p0@free0 p50@free1) p99@local0))")) > 0);
    front_close(&f);
    buf_clear(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scopes), cmocka_unit_test(closures), cmocka_unit_test(comprehensions), cmocka_unit_test(errors),
        cmocka_unit_test(relaxed_rules), cmocka_unit_test(chunks_at_a_prompt), cmocka_unit_test(limits_arguments),
        cmocka_unit_test(keeps_the_first_errors), cmocka_unit_test(fills_in_functions), cmocka_unit_test(takes_large_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
