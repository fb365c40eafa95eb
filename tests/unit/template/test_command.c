/* Commands: how values are quoted, which calls and templates are rejected. tests/e2e/injection.test.mjs runs real
 * shells. */
#include <stdlib.h>
#include <time.h>
#include "template_unit.h"

static Template *compile(Heap *h, const char *text) {
    Template *t = NULL;
    TemplateCommand c = unit_command(h);
    Error err = { 0 };
    if (!template_compile_command(str_from(text), &c, &t, &err)) fail_msg("%s: %s", text, err.msg);
    return t;
}

static void check(const char *text, const char *args, const char *expected) {
    Heap *h = heap_new(0);
    Template *t = compile(h, text);
    Buf out = { 0 };
    Error err = { 0 };
    if (!template_render_command(t, unit_json(h, args), &out, &err)) fail_msg("%s: %s", text, err.msg);
    if (!str_eq(buf_str(&out), str_from(expected))) fail_msg("%s: [%s], not [%s]", text, buf_str(&out).at, expected);
    buf_clear(&out);
    template_free(t);
    heap_free(h);
}

static void test_quotes(void **state) {
    (void)state;
    check("bash scripts/test.sh {{x}} --timeout {{y}}", "{\"x\":\"unit\",\"y\":\"30\"}", "bash scripts/test.sh unit --timeout 30");
    check("c {{x}}", "{\"x\":\"A-Za_z0.9/:@%+,\"}", "c A-Za_z0.9/:@%+,");
    check("c {{x}} {{y}}", "{\"x\":\"\",\"y\":\"a b\"}", "c '' 'a b'");
    check("c {{x}}", "{\"x\":\"it's\"}", "c 'it'\\''s'");
    check("c '{{x}}' \"{{x}}\"", "{\"x\":\"it's\"}", "c 'it'\\''s' \"it's\"");
    check("c \"{{x}}\"", "{\"x\":\"$5\"}", "c \"\"'$5'\"\"");
    check("c \"{{x}}\"", "{\"x\":\"é\"}", "c \"\"'é'\"\"");
    check("c '{{x}}' \"{{x}}\"", "{\"x\":\"\"}", "c '' \"\"");
    check("c {{x}} {{y}}", "{\"x\":12,\"y\":-2.5}", "c 12 -2.5");
    check("c {{x}} {{y}}", "{\"x\":true,\"y\":false}", "c true false");
}

static void test_quotes_more(void **state) {
    (void)state;
    check("c {{d}} {{d}}", "{}", "c dflt dflt");
    check("c {{d}}", "{\"d\":null}", "c dflt");
    check("c {{xs}} z", "{\"xs\":[\"a\",\"b c\",3,true]}", "c a 'b c' 3 true z");
    check("c {{xs}} z", "{\"xs\":[]}", "c  z");
    check("c {{o}} z", "{}", "c  z");
    check("c \"{{o}}\" '{{o}}' z", "{}", "c   z");
    check("c \"{{o}}\" '{{o}}' z", "{\"o\":\"a\"}", "c \"a\" 'a' z");
    check("c \"{{o}}\"", "{\"o\":\"\"}", "c \"\"");
    check("c {{#if o}}--o={{o}} {{/if}}z", "{}", "c z");
    check("c {{#if o}}--o={{o}} {{/if}}z", "{\"o\":\"v w\"}", "c --o='v w' z");
    check("c {{#unless o}}none{{else}}{{o}}.txt{{/unless}}", "{\"o\":\"f\"}", "c f.txt");
    check("c{{#each xs}} -x {{this}}{{/each}}", "{\"xs\":[\"a\",\"b c\"]}", "c -x a -x 'b c'");
    check("c {{#with ob}}{{name}} {{../x}}{{/with}}", "{\"x\":\"X\",\"ob\":{\"name\":\"n m\"}}", "c 'n m' X");
    check("c {{ob.name}} z", "{\"ob\":{\"name\":\"n\"}}", "c n z");
    check("c {{ob.name}} z", "{}", "c  z");
    check("c {{@root.x}} {{xs.length}}", "{\"x\":\"X\",\"xs\":[1,2]}", "c X 2");
    check("c ~{{x}} [{{x}} {{x}}*", "{\"x\":\"a\"}", "c ~'a' ['a' a*");
    check("c -- {{x}}", "{\"x\":\"-rf\"}", "c -- -rf");
    check("c {{c}}", "{\"c\":\"-v\"}", "c -v");
    check("c a{{x}}", "{\"x\":\"-v\"}", "c a-v");
    check("c {{x}}{{y}}", "{\"x\":\"a\",\"y\":\"-v\"}", "c a-v");
    check("$SUDO c {{x}}; \"$CMD\" {{x}}", "{\"x\":\"a\"}", "$SUDO c a; \"$CMD\" a");
    check("{{! note }}c {{x}}", "{\"x\":\"a\"}", "c a");
}

static void check_refused(const char *text, const char *args, const char *message) {
    Heap *h = heap_new(0);
    Template *t = compile(h, text);
    Buf out = { 0 };
    buf_add(&out, STR("kept"));
    Error err = { 0 };
    if (template_render_command(t, unit_json(h, args), &out, &err)) fail_msg("%s %s: was not refused: %s", text, args, out.at);
    if (strcmp(err.msg, message) != 0) fail_msg("%s: [%s], not [%s]", text, err.msg, message);
    assert_int_equal(err.kind, ERR_VALIDATION);
    assert_string_equal(out.at, "kept");
    buf_clear(&out);
    template_free(t);
    heap_free(h);
}

static void test_calls(void **state) {
    (void)state;
    check_refused("c {{x}}", "{}", "parameter \"x\" is required");
    check_refused("c {{x}}", "{\"x\":null}", "parameter \"x\" is required");
    check_refused("c {{x}}", "{\"x\":\"a\\u0000b\"}", "parameter \"x\" contains NUL, which no argument can");
    check_refused("c {{x}}", "{\"x\":[1]}", "parameter \"x\" is an array where one string, number or boolean belongs");
    check_refused("c {{x}}", "{\"x\":{}}", "parameter \"x\" is an object where one string, number or boolean belongs");
    check_refused("c {{xs}}", "{\"xs\":[[1]]}", "parameter \"xs\" is an array where one string, number or boolean belongs");
    check_refused("c {{xs}}", "{\"xs\":[1,null]}", "parameter \"xs\" has null as item 1");
    check_refused("c {{#each xs}}{{this}} {{/each}}", "{\"xs\":[null]}", "parameter \"this\" has no value here");
    static const char *const dash[] = { "c {{x}}", "c '{{x}}'", "c \"{{x}}\"", "c \"\"{{x}}", "c a {{x}}", "c $v {{x}}", "c \"$v\"{{x}}",
        "c -- a; b {{x}}", "env -- c {{x}}",
                                        "c \\\n{{x}}", "c {{#if y}}-- {{/if}}{{x}}", "c {{#if y}}{{x}}{{/if}}" };
    for (size_t i = 0; i < sizeof dash / sizeof *dash; i++)
        check_refused(dash[i], "{\"x\":\"-rf\",\"y\":1}", "parameter \"x\" may not start with \"-\" here, where it could be an option");
    check_refused("c {{x}}{{y}}", "{\"x\":\"\",\"y\":\"-v\"}", "parameter \"y\" may not start with \"-\" here, where it could be an option");
    check_refused("c {{xs}}", "{\"xs\":[\"a\",\"-v\"]}", "parameter \"xs\" may not start with \"-\" here, where it could be an option");
    check_refused("timeout {{c}} ls", "{\"c\":\"-v\"}", "parameter \"c\" may not start with \"-\" here, where it could be an option");
    Heap *h = heap_new(0);
    Template *t = compile(h, "c {{x}}");
    Buf out = { 0 };
    Dict *d = made(dict_new(h, 1, &err));
    must(dict_put_str(h, d, STR("x"), value_from_object(made(string_new(h, STR("a\xff"), &err))), &err));
    refused(ERR_VALIDATION, "parameter \"x\" is not valid UTF-8", template_render_command(t, value_from_object(d), &out, &err));
    refused(ERR_VALIDATION, "expected an object of arguments, got NoneType", template_render_command(t, VALUE_NONE, &out, &err));
    template_free(t);
    heap_free(h);
}

/* tests/e2e/refusals.test.mjs tests the kinds of rejection one by one. These check the position (column 0: any), and combinations of
 * paths through blocks. */
static void check_load(const char *text, uint32_t line, uint32_t column, const char *words) {
    Heap *h = heap_new(0);
    Template *t = NULL;
    TemplateCommand c = unit_command(h);
    Error err = { 0 };
    if (template_compile_command(str_from(text), &c, &t, &err)) fail_msg("%s: was not refused", text);
    if (!strstr(err.msg, words)) fail_msg("%s: %s", text, err.msg);
    if (column && (err.line != line || err.column != column)) fail_msg("%s: at %u:%u, not %u:%u", text, err.line, err.column, line, column);
    heap_free(h);
}

static void test_loads(void **state) {
    (void)state;
    check_load("echo é # {{x}}", 1, 10, "in a comment");
    check_load("true\n  {{x}}", 2, 3, "choose the program");
    check_load("rm{{#if o}} -f{{/if}}{{x}}", 1, 22, "choose the program");
    check_load("{{#if o}}c {{/if}}{{x}}", 1, 19, "choose the program");
    check_load("sh {{#if o}}-c {{/if}}{{x}}", 1, 23, "");
    check_load("c {{#each xs}}{{this}} | {{/each}}{{x}}", 1, 15, "choose the program");
    check_load("c {{#each xs}}> {{/each}}{{x}}", 1, 26, "redirection");
    check_load("c {{#each xs}}{{this}} > {{/each}}", 1, 15, "redirection");
    check_load("c $a{{#if o}} {{/if}}{{x}}", 1, 22, "follows a variable");
    check_load("c {{o}}{{x}}", 1, 8, "part of a word");
    check_load("c {{o}}{{#if x}}.txt{{/if}}", 1, 3, "part of a word");
    check_load("c \"{{o}}\"a", 1, 4, "part of a word");
    check_load("c \"{{o}} \"", 1, 4, "part of a word");
    check_load("c {{ob.name}}.txt", 1, 3, "part of a word");
    check_load("c {{#if o}}{{else}}{{o}}/{{/if}}", 1, 20, "part of a word");
    check_load("c {{#each xs}}{{name}}/{{/each}}", 1, 15, "part of a word");
    check_load("c {{xs}}x", 1, 3, "is an array");
    check_load("c {{nmae}}", 1, 3, "is not a parameter");
    check_load("c {{#if nope}}a{{/if}}", 1, 3, "is not a parameter");
    check_load("c {{this}}", 1, 3, "name a parameter");
    check_load("{{#each this}}a{{/each}}", 1, 1, "name a parameter");
    check_load("c {{../x}}", 1, 3, "leads out");
    check_load("c {{@index}}", 1, 3, "unknown @ value");
    check_load("c 'a {{x}}", 1, 3, "never closed");
    check_load("c $(a", 1, 4, "never closed");
    check_load("c \"a $(b) ${c} {{x}}", 1, 3, "never closed");
    check_load("c {{x}}2>f", 1, 3, "redirection");
    check_load("c \\\n> {{x}}", 2, 3, "redirection");
    check_load("c <<E\n\\\nE\nE\n{{x}}", 5, 1, "");
    check_load("while true; do {{x}}; done", 1, 16, "choose the program");
    check_load("if a; then b; else {{x}}; fi", 1, 20, "choose the program");
    check_load("f() { {{x}}; }", 1, 7, "choose the program");
    check_load("for {{x}} in a; do b; done", 1, 5, "choose the program");
    check_load("! {{x}}", 1, 3, "choose the program");
    check_load("A=1 B=2 {{x}}", 1, 9, "choose the program");
    check_load("> f {{x}}", 1, 5, "choose the program");
    check_load("$SUDO {{x}}", 1, 7, "choose the program");
    check_load("$SUDO sh -c {{x}}", 1, 13, "would be code for sh");
    check_load("$SHELL -c {{x}}", 1, 11, "would be code");
    check_load("$A $B eval {{x}}", 1, 12, "would be code for eval");
    check_load("(a) {{x}}", 1, 5, "choose the program");
    check_load("a=1 b[{{x}}]=2", 1, 7, "choose the program");
    check_load("(( {{x}} ))", 1, 4, "");
    check_load("case a in b) {{x}};; esac", 1, 14, "choose the program");
    check_load("c \"`echo {{x}}`\"", 1, 10, "inside `");
    check_load("c $(case a in b) echo {{x}};; esac)", 1, 23, "inside $(");
    check_load("c ${a:-\"{{x}}\"}", 1, 9, "inside ${");
}

static void test_raw(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    TemplateCommand c = unit_command(h);
    c.unsafe_raw = true;
    Template *t = NULL;
    Buf out = { 0 };
    must(template_compile_command(STR("c {{{x}}} {{y}}"), &c, &t, &err));
    assert_true(template_has_raw(t));
    must(template_render_command(t, unit_json(h, "{\"x\":\"a; b\",\"y\":\"c d\"}"), &out, &err));
    assert_string_equal(out.at, "c a; b 'c d'");
    template_free(t);
    must(template_compile_command(STR("c {{x}}"), &c, &t, &err));
    assert_false(template_has_raw(t));
    refused(ERR_INTERNAL, "a command is rendered with its arguments quoted", template_render(t, VALUE_NONE, &out, &err));
    template_free(t);
    buf_clear(&out);
    heap_free(h);
}

/* Long and deeply nested commands compile or fail soon. */
static void test_large(void **state) {
    (void)state;
    static const struct { const char *unit, *end; size_t n; } cases[] = {
        { "c {{x}}\n", "", 1 << 17 }, { "c {{#if o}}a {{/if}}\n", "", 1 << 15 }, { "a", "", 1 << 20 }, { "$(", "", 1 << 19 },
            { "(", "", 1 << 20 }, { "'", "", 1 << 20 },
        { "{{#each xs}}a {{this}}", "{{/each}}", 100 }, { "{{#if o}}a{{else}}b", "{{/if}}", 100 }, { "{{#each xs}}a{{#if o}} {{/if}}", "{{/each}}", 60 },
        { "{{#if o}}v{{/if}}", "", 1 << 15 }, { "c <<E\n\nE\n", "", 1 << 16 }, { "\\\n", "", 1 << 19 }, { "case a in b) ", "", 1 << 16 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Heap *h = heap_new(0);
        TemplateCommand c = unit_command(h);
        Buf b = { 0 };
        size_t n = UNIT_HOSTILE && cases[i].n > 1000 ? cases[i].n / 8 : cases[i].n;
        buf_add(&b, STR("c "));
        for (size_t k = 0; k < n; k++) buf_add(&b, str_from(cases[i].unit));
        for (size_t k = 0; k < n && *cases[i].end; k++) buf_add(&b, str_from(cases[i].end));
        Template *t = NULL;
        (void)template_compile_command(buf_str(&b), &c, &t, NULL);
        template_free(t);
        buf_clear(&b);
        heap_free(h);
    }
}

/* Values that fixed code of the command would run, and uses of the same programs that are data. */
static void test_values_that_run(void **state) {
    (void)state;
    static const char *const run[] = {
        "m={{x}} sh -c 'echo start; $m'", "export m={{x}}; sh -c '$m'", "env m={{x}} sh -c '$m'", "m={{x}} sh -c 'eval \"$m\"'", "m={{x}}; eval \"$m\"",
        "sh -c '\"$1\"' sh {{x}}", "sh -c '$0' {{x}}", "sh -c 'eval \"$1\"' sh {{x}}", "bash -c 'exec \"$@\"' bash {{x}}", "sh -c 'sh -c \"$1\"' sh {{x}}",
    };
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) check_load(run[i], 1, 1, "may be run");
    check_load("echo {{x}} > f; sh f", 1, 1, "written to a file that a shell then runs");
    check_load("printf '%s' {{x}} > run.sh && bash ./run.sh; bash run.sh", 1, 1, "written to a file");
    static const char *const moved[] = { "cd {{x}} && make", "env -C {{x}} make all", "env --chdir={{x}} npm test",
        "cd {{x}} && ./build.sh", "pushd {{x}}; cargo build" };
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) check_load(moved[i], 1, 1, "chooses the folder whose files decide what is run");
    static const char *const coded[] = { "rg --pre={{x}} a .", "rg --hostname-bin={{x}} a", "install -s --strip-program={{x}} a b",
        "bat --pager={{x}} f", "mocha -r {{x}}",
        "pytest -p {{x}}", "protoc --plugin={{x}} a.proto", "pylint --load-plugins={{x}} a.py" };
    for (size_t i = 0; i < sizeof coded / sizeof *coded; i++) check_load(coded[i], 1, 0, "code");
    check_load("fd a -x {{x}}", 1, 9, "choose the program");
    check_load("find . --exec {{x}}", 1, 15, "choose the program");
    static const struct { const char *text, *value, *message; } leads[] = {
        { "find {{x}} -name '*.tmp' -delete", "!", "parameter \"x\" may not start with \"!\" here, where it could be more than data" },
        { "find {{x}} -type f", "(", "parameter \"x\" may not start with \"(\" here, where it could be more than data" },
        { "vim {{x}}", "+!touch x", "parameter \"x\" may not start with \"+\" here, where it could be more than data" },
        { "ex -- {{x}}", "+q", "parameter \"x\" may not start with \"+\" here, where it could be more than data" },
        { "view \"{{x}}\"", "+q", "parameter \"x\" may not start with \"+\" here, where it could be more than data" },
        { "gcc -c {{x}} a.c", "@opts", "parameter \"x\" may not start with \"@\" here, where it could be more than data" },
    };
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
        char args[64];
        snprintf(args, sizeof args, "{\"x\":\"%s\"}", leads[i].value);
        check_refused(leads[i].text, args, leads[i].message);
    }
    static const char *const data[][2] = {
        { "sh -c 'grep -- \"$1\" notes.txt' sh {{x}}", "sh -c 'grep -- \"$1\" notes.txt' sh a" }, { "m={{x}} sh -c 'echo \"$m\"'", "m=a sh -c 'echo \"$m\"'" },
        { "cd {{x}} && ls", "cd a && ls" }, { "cd build && make -s", "cd build && make -s" }, { "find {{x}} -type f", "find a -type f" },
            { "find ./{{x}} -type f", "find ./a -type f" },
        { "echo {{x}} > log; cat log", "echo a > log; cat log" }, { "rg -- {{x}} .", "rg -- a ." },
            { "env A={{x}} sort f", "env A=a sort f" }, { "\"$EDITOR\" {{x}}", "\"$EDITOR\" a" },
    };
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) check(data[i][0], "{\"x\":\"a\"}", data[i][1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quotes), cmocka_unit_test(test_quotes_more), cmocka_unit_test(test_calls), cmocka_unit_test(test_loads),
        cmocka_unit_test(test_values_that_run), cmocka_unit_test(test_raw), cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
