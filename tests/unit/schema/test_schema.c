#include "schema_unit.h"
#include <pthread.h>

typedef struct { const char *schema, *instance, *problems; } Row;

static void check_rows(const Row *rows, size_t n) {
    Heap *h = heap_new(0);
    for (size_t i = 0; i < n; i++) {
        Schema *s = unit_schema(h, rows[i].schema);
        char *got = unit_problems(s, unit_json(h, rows[i].instance));
        if (strcmp(got, rows[i].problems) != 0)
            fail_msg("%s\non %s\nexpected:\n%sgot:\n%s", rows[i].schema, rows[i].instance, rows[i].problems, got);
        free(got);
        schema_free(s);
    }
    heap_free(h);
}
#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof *(rows))

static void test_messages(void **state) {
    (void)state;
    static const Row rows[] = {
        { "{\"type\":\"string\"}", "\"x\"", "" },
        { "{\"type\":\"string\"}", "1", ": expected string, got number @/type\n" },
        { "{\"type\":\"integer\"}", "1.5", ": expected integer, got number @/type\n" },
        { "{\"type\":\"integer\"}", "1.0", "" },
        { "{\"type\":[\"string\",\"null\"]}", "true", ": expected string or null, got boolean @/type\n" },
        { "{\"enum\":[\"a\",1,null]}", "2", ": must be one of \"a\", 1, null @/enum\n" },
        { "{\"enum\":[\"a\",\"b\"]}", "\"c\"", ": must be one of \"a\", \"b\" @/enum\n" },
        { "{\"enum\":[]}", "1", ": must be one of nothing @/enum\n" },
        { "{\"const\":{\"a\":1}}", "{\"a\":true}", ": must be {\"a\":1} @/const\n" },
        { "{\"const\":{\"a\":1}}", "{\"a\":1.0}", "" },
        { "{\"minimum\":3,\"multipleOf\":2}", "1", ": must be at least 3 @/minimum\n: must be a multiple of 2 @/multipleOf\n" },
        { "{\"maximum\":3.5}", "4", ": must be at most 3.5 @/maximum\n" },
        { "{\"exclusiveMinimum\":3}", "3.0", ": must be more than 3 @/exclusiveMinimum\n" },
        { "{\"exclusiveMaximum\":3}", "3", ": must be less than 3 @/exclusiveMaximum\n" },
        { "{\"minLength\":2}", "\"é\"", ": must have at least 2 characters, has 1 @/minLength\n" },
        { "{\"maxLength\":1}", "\"😀\"", "" },
        { "{\"maxLength\":1}", "\"ab\"", ": must have at most 1 character, has 2 @/maxLength\n" },
        { "{\"pattern\":\"^a\"}", "\"b\"", ": does not match pattern \"^a\" @/pattern\n" },
        { "{\"format\":\"date\"}", "\"b\"", ": is not a valid date @/format\n" },
        { "{\"format\":\"color\"}", "\"b\"", "" },
        { "{\"minItems\":1}", "[]", ": must have at least 1 item, has 0 @/minItems\n" },
        { "{\"maxItems\":1}", "[1,2]", ": must have at most 1 item, has 2 @/maxItems\n" },
        { "{\"uniqueItems\":true}", "[1,2,1.0]", ": items 0 and 2 are equal @/uniqueItems\n" },
        { "{\"uniqueItems\":true}", "[1,true,{\"a\":[1]},{\"a\":[2]}]", "" },
        { "{\"contains\":{\"const\":1}}", "[2]", ": must contain at least 1 matching item, has 0 @/contains\n" },
        { "{\"contains\":{\"const\":1},\"minContains\":2}", "[1]", ": must contain at least 2 matching items, has 1 @/minContains\n" },
        { "{\"contains\":{\"const\":1},\"maxContains\":1}", "[1,1]", ": must contain at most 1 matching item, has 2 @/maxContains\n" },
        { "{\"items\":{\"type\":\"string\"}}", "[\"a\",1,null]",
          "/1: expected string, got number @/items/type\n/2: expected string, got null @/items/type\n" },
        { "{\"prefixItems\":[true,{\"type\":\"null\"}],\"items\":false}", "[1,2,3]",
          "/1: expected null, got number @/prefixItems/1/type\n: unexpected item 2 @/items\n" },
        { "{\"required\":[\"a\",\"b\",\"a\"]}", "{\"b\":1}", ": missing required property \"a\" @/required\n" },
        { "{\"properties\":{\"a/b\":{\"properties\":{\"~\":{\"type\":\"null\"}}}}}", "{\"a/b\":{\"~\":1}}",
          "/a~1b/~0: expected null, got number @/properties/a~1b/properties/~0/type\n" },
        { "{\"properties\":{\"a\":true},\"additionalProperties\":false}", "{\"a\":1,\"b\":2,\"c\":3}",
          ": unexpected property \"b\" @/additionalProperties\n: unexpected property \"c\" @/additionalProperties\n" },
        { "{\"minProperties\":1}", "{}", ": must have at least 1 property, has 0 @/minProperties\n" },
        { "{\"maxProperties\":0}", "{\"a\":1}", ": must have at most 0 properties, has 1 @/maxProperties\n" },
        { "{\"patternProperties\":{\"^a\":{\"type\":\"null\"}}}", "{\"ab\":1}", "/ab: expected null, got number @/patternProperties/^a/type\n" },
        { "{\"propertyNames\":{\"maxLength\":1}}", "{\"ab\":1}",
          ": property name \"ab\": must have at most 1 character, has 2 @/propertyNames/maxLength\n" },
        { "{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}", ": missing property \"b\", which \"a\" needs @/dependentRequired\n" },
        { "{\"dependentSchemas\":{\"a\":{\"required\":[\"c\"]}}}", "{\"a\":1}", ": missing required property \"c\" @/dependentSchemas/a/required\n" },
        { "{\"dependencies\":{\"a\":[\"b\"],\"c\":{\"required\":[\"d\"]}}}", "{\"a\":1,\"c\":1}",
          ": missing property \"b\", which \"a\" needs @/dependencies\n: missing required property \"d\" @/dependencies/c/required\n" },
        { "{\"not\":{\"type\":\"null\"}}", "null", ": must not match the schema of not @/not\n" },
        { "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "1",
          ": matches none of the schemas of anyOf: expected string, got number; or expected null, got number @/anyOf\n" },
        { "{\"anyOf\":[{\"type\":\"object\",\"required\":[\"a\"]},{\"type\":\"null\"}]}", "{}", ": missing required property \"a\" @/anyOf/0/required\n" },
        { "{\"oneOf\":[{\"type\":\"number\"},{\"minimum\":1}]}", "1", ": must match exactly one schema of oneOf, matches 0 and 1 @/oneOf\n" },
        { "{\"if\":{\"const\":1},\"then\":false,\"else\":{\"const\":2}}", "1", ": is not allowed @/then\n" },
        { "{\"if\":{\"const\":1},\"then\":false,\"else\":{\"const\":2}}", "3", ": must be 2 @/else/const\n" },
        { "{\"allOf\":[{\"minimum\":2},{\"minimum\":3}]}", "1", ": must be at least 2 @/allOf/0/minimum\n: must be at least 3 @/allOf/1/minimum\n" },
        { "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"null\"}}}", "1", ": expected null, got number @/$defs/a/type\n" },
        { "{\"$ref\":\"#/x/0\",\"x\":[{\"type\":\"null\"}]}", "1", ": expected null, got number @/x/0/type\n" },
        { "{\"allOf\":[{\"properties\":{\"a\":true}}],\"unevaluatedProperties\":false}", "{\"a\":1,\"b\":1}",
          ": unexpected property \"b\" @/unevaluatedProperties\n" },
        { "{\"anyOf\":[{\"prefixItems\":[true]}],\"unevaluatedItems\":{\"type\":\"null\"}}", "[1,2]",
          "/1: expected null, got number @/unevaluatedItems/type\n" },
        { "false", "1", ": is not allowed @\n" },
        { "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"minimum\":5}},\"required\":[\"c\"]}", "{\"a\":1,\"b\":1}",
          "/a: expected string, got number @/properties/a/type\n/b: must be at least 5 @/properties/b/minimum\n"
          ": missing required property \"c\" @/required\n" },
    };
    CHECK_ROWS(rows);
}

static void test_numbers(void **state) {
    (void)state;
    static const Row rows[] = {
        { "{\"multipleOf\":0.0001}", "0.0075", "" }, { "{\"multipleOf\":0.01}", "19.99", "" },
            { "{\"multipleOf\":0.01}", "19.999", ": must be a multiple of 0.01 @/multipleOf\n" },
        { "{\"multipleOf\":0.5}", "1e308", "" }, { "{\"multipleOf\":1e-8}", "12391239123", "" }, { "{\"multipleOf\":1e20}", "300000000000000000000", "" },
        { "{\"multipleOf\":1e20}", "300000000000000000001", ": must be a multiple of 100000000000000000000.0 @/multipleOf\n" },
        { "{\"multipleOf\":123456789012345678901234567890}", "246913578024691357802469135780", "" },
        { "{\"multipleOf\":1e300}", "1.0", ": must be a multiple of 1e+300 @/multipleOf\n" }, { "{\"multipleOf\":3}", "-9", "" },
            { "{\"multipleOf\":1e-300}", "0", "" },
        { "{\"maximum\":9007199254740993}", "9007199254740992.0", "" },
        { "{\"minimum\":9007199254740993}", "9007199254740992.0", ": must be at least 9007199254740993 @/minimum\n" },
        { "{\"type\":\"integer\"}", "1e300", "" }, { "{\"minLength\":1.0}", "\"\"", ": must have at least 1 character, has 0 @/minLength\n" },
        { "{\"maxLength\":1e300}", "\"abc\"", "" }, { "{\"const\":0.0}", "0", "" }, { "{\"const\":1}", "true", ": must be 1 @/const\n" },
    };
    CHECK_ROWS(rows);
}

static void test_bad_schemas(void **state) {
    (void)state;
    static const struct { const char *schema, *message; ErrorKind kind; } rows[] = {
        { "1", "a schema must be an object or a boolean, not int", ERR_VALIDATION },
        { "{\"properties\":{\"x\":{\"type\":\"strng\"}}}", "/properties/x/type: unknown type \"strng\"", ERR_VALIDATION },
        { "{\"type\":[]}", "/type: must not be empty", ERR_VALIDATION },
        { "{\"type\":1}", "/type: must be a string or an array of strings", ERR_VALIDATION },
        { "{\"items\":[true]}", "/items: a schema must be an object or a boolean, not list", ERR_VALIDATION },
        { "{\"allOf\":{}}", "/allOf: must be an array, not dict", ERR_VALIDATION },
        { "{\"allOf\":[1]}", "/allOf/0: a schema must be an object or a boolean, not int", ERR_VALIDATION },
        { "{\"minLength\":-1}", "/minLength: must be a whole number, 0 or more", ERR_VALIDATION },
        { "{\"minLength\":1.5}", "/minLength: must be a whole number, 0 or more", ERR_VALIDATION },
        { "{\"minimum\":\"1\"}", "/minimum: must be a number, not string", ERR_VALIDATION },
        { "{\"multipleOf\":0}", "/multipleOf: must be more than 0", ERR_VALIDATION },
        { "{\"required\":[1]}", "/required: item 0 must be a string, not int", ERR_VALIDATION },
        { "{\"pattern\":\"(\"}", "/pattern: \"(\": regular expression: at 2: a group is not closed", ERR_VALIDATION },
        { "{\"patternProperties\":{\"[\":true}}", "/patternProperties: \"[\": regular expression: at 1: the class is not closed", ERR_VALIDATION },
        { "{\"$ref\":\"#/nope\"}", "/$ref: \"#/nope\" does not exist", ERR_VALIDATION },
        { "{\"$ref\":\"#nope\"}", "/$ref: \"#nope\": there is no such anchor", ERR_VALIDATION },
        { "{\"$ref\":\"http://x/y.json\"}", "/$ref: cannot resolve \"http://x/y.json\"", ERR_VALIDATION },
        { "{\"$ref\":1}", "/$ref: must be a string, not int", ERR_VALIDATION },
        { "{\"$ref\":\"#/x\",\"x\":3}", "/x: a schema must be an object or a boolean, not int", ERR_VALIDATION },
        { "{\"$id\":\"http://x/#y\"}", "/$id: must not have a fragment", ERR_VALIDATION },
        { "{\"$id\":\"http://x/\",\"$defs\":{\"a\":{\"$id\":\"a\"},\"b\":{\"$id\":\"a\"}}}",
            "/$defs/b/$id: \"http://x/a\" is used more than once", ERR_VALIDATION },
        { "{\"$defs\":{\"a\":{\"$anchor\":\"a\"},\"b\":{\"$anchor\":\"a\"}}}", "/$defs/b/$anchor: \"a\" is used more than once", ERR_VALIDATION },
        { "{\"$anchor\":\"1\"}", "/$anchor: \"1\" is not a name", ERR_VALIDATION },
        { "{\"$schema\":\"http://h/unknown\"}", "/$schema: unknown meta-schema \"http://h/unknown\"", ERR_VALIDATION },
        { "{\"$schema\":\"x\"}", "/$schema: must be an absolute URI", ERR_VALIDATION },
    };
    Heap *h = heap_new(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Error err = { 0 };
        Schema *s = NULL;
        if (schema_compile(&(SchemaInput){ .root = unit_json(h, rows[i].schema) }, &s, &err)) fail_msg("%s: was not refused", rows[i].schema);
        assert_string_equal(err.msg, rows[i].message);
        assert_int_equal(err.kind, rows[i].kind);
        assert_false(schema_compile(&(SchemaInput){ .root = unit_json(h, rows[i].schema) }, &s, NULL));
    }
    Error err = { 0 };
    Schema *s;
    assert_false(schema_compile(&(SchemaInput){ .root = unit_json(h, "{\"type\":\"strng\"}") }, &s, &err));
    assert_string_equal(err.hint, "did you mean \"string\"?");
    heap_free(h);
}

/* Other documents, custom vocabularies. */
static bool resolve(void *ctx, Str uri, Value *out, Error *err) {
    static const char *const documents[][2] = {
        { "http://h/int.json", "{\"type\":\"integer\",\"$defs\":{\"s\":{\"$anchor\":\"text\",\"type\":\"string\"}}}" },
        { "http://h/rel.json", "{\"$ref\":\"int.json\"}" },
        { "http://h/bad.json", "{\"properties\":{\"a\":{\"type\":5}}}" },
        { "http://h/meta1.json", "{\"$vocabulary\":{\"http://h/odd\":true}}" },
        { "http://h/meta2.json", "{\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/applicator\":true}}" },
        { "http://h/old.json", "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"items\":[{\"type\":\"null\"}],\"additionalItems\":false}" },
    };
    *out = VALUE_GONE;
    if (str_eq(uri, STR("http://h/broken.json"))) return error_set(err, ERR_IO, "disk on fire");
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
        if (str_eq(uri, str_from(documents[i][0]))) *out = unit_json(ctx, documents[i][1]);
    return true;
}

static void test_documents(void **state) {
    (void)state;
    static const Row good[] = {
        { "{\"$ref\":\"int.json\"}", "\"x\"", ": expected integer, got string @http://h/int.json#/type\n" },
        { "{\"$ref\":\"rel.json\"}", "\"x\"", ": expected integer, got string @http://h/int.json#/type\n" },
        { "{\"$ref\":\"int.json#text\"}", "1", ": expected string, got number @http://h/int.json#/$defs/s/type\n" },
        { "{\"$ref\":\"int.json#/$defs/s\"}", "1", ": expected string, got number @http://h/int.json#/$defs/s/type\n" },
        { "{\"$schema\":\"http://h/meta2.json\",\"type\":\"null\",\"items\":false}", "[1]", ": unexpected item 0 @/items\n" },
        { "{\"$ref\":\"old.json\"}", "[1,2]", "/0: expected null, got number @http://h/old.json#/items/0/type\n: unexpected item 1 @http://h/old.json#/items\n" },
        { "{\"$ref\":\"https://json-schema.org/draft/2020-12/schema\"}", "{\"minLength\":-1}",
          "/minLength: must be at least 0 @https://json-schema.org/draft/2020-12/meta/validation#/$defs/nonNegativeInteger/minimum\n" },
    };
    static const Row bad[] = {
        { "{\"$ref\":\"bad.json\"}", "", "http://h/bad.json#/properties/a/type: must be a string or an array of strings" },
        { "{\"$ref\":\"broken.json\"}", "", "http://h/broken.json: disk on fire" },
        { "{\"$schema\":\"http://h/meta1.json\"}", "", "/$schema: \"http://h/meta1.json\" requires the unknown vocabulary \"http://h/odd\"" },
    };
    Heap *h = heap_new(0);
    for (size_t i = 0; i < sizeof good / sizeof *good + sizeof bad / sizeof *bad; i++) {
        bool fine = i < sizeof good / sizeof *good;
        const Row *row = fine ? &good[i] : &bad[i - sizeof good / sizeof *good];
        Error err = { 0 };
        Schema *s = NULL;
        SchemaInput in = { .root = unit_json(h, row->schema), .base_uri = STR("http://h/root.json"), .resolve = resolve, .resolve_ctx = h };
        if (schema_compile(&in, &s, &err) != fine) fail_msg("%s: %s", row->schema, err.msg);
        if (!fine) { assert_string_equal(err.msg, row->problems); continue; }
        char *got = unit_problems(s, unit_json(h, row->instance));
        assert_string_equal(got, row->problems);
        free(got);
        schema_free(s);
    }
    heap_free(h);
}

/* ---- limits ---- */

static void test_endless(void **state) {
    (void)state;
    static const char *const schemas[] = {
        "{\"$ref\":\"#\"}", "{\"allOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}", "{\"not\":{\"$ref\":\"#\"}}", "{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}",
        "{\"$dynamicAnchor\":\"a\",\"$dynamicRef\":\"#a\"}",
            "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"$ref\":\"#/$defs/a\"}}}",
        "{\"if\":{\"$ref\":\"#\"},\"then\":false}", "{\"not\":{\"not\":{\"$ref\":\"#\"}}}",
    };
    Heap *h = heap_new(0);
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        Schema *s = unit_schema(h, schemas[i]);
        char *got = unit_problems(s, unit_json(h, "1"));
        if (!strstr(got, ": nested too deep, or the schema refers to itself without end (limit 1500)")) fail_msg("%s: %s", schemas[i], got);
        free(got);
        schema_free(s);
    }
    heap_free(h);
}

/* Each definition refers to the next one twice: 2^40 steps. */
static void test_steps(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Buf text = { 0 };
    buf_add(&text, STR("{\"$ref\":\"#/$defs/d0\",\"$defs\":{"));
    for (int i = 0; i < 40; i++) buf_add_fmt(&text, "\"d%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]},", i, i + 1, i + 1);
    buf_add(&text, STR("\"d40\":false}}"));
    Schema *s;
    Error err = { 0 };
    SchemaInput in = { .root = unit_json(h, text.at), .max_steps = 100000 };
    assert_true(schema_compile(&in, &s, &err));
    char *got = unit_problems(s, unit_json(h, "1"));
    assert_string_equal(got, ": validation takes too many steps (limit 100000) @\n");
    free(got);
    schema_free(s);
    in.max_nodes = 50;
    assert_false(schema_compile(&in, &s, &err));
    assert_string_equal(err.msg, "the schema has too many subschemas (limit 50)");
    assert_int_equal(err.kind, ERR_LIMIT);
    buf_clear(&text);
    heap_free(h);
}

static void test_deep(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Buf text = { 0 };
    for (int i = 0; i < 500; i++) buf_add(&text, STR("["));
    for (int i = 0; i < 500; i++) buf_add(&text, STR("]"));
    Schema *s = unit_schema(h, "{\"items\":{\"$ref\":\"#\"},\"type\":\"array\"}");
    char *got = unit_problems(s, unit_json(h, text.at));
    assert_string_equal(got, "");
    free(got);
    schema_free(s);
    buf_reset(&text);
    for (int i = 0; i < 255; i++) buf_add(&text, STR("{\"not\":"));
    buf_add(&text, STR("{\"const\":1}"));
    for (int i = 0; i < 255; i++) buf_add(&text, STR("}"));
    s = unit_schema(h, text.at);
    assert_false(schema_validate(s, unit_json(h, "1"), NULL));
    schema_free(s);
    Value list = unit_json(h, "[]");                     /* a list that contains itself, and a schema that follows it */
    assert_true(list_push(h, value_list(list), list, NULL));
    s = unit_schema(h, "{\"items\":{\"$ref\":\"#\"}}");
    assert_false(schema_validate(s, list, NULL));
    schema_free(s);
    Value shared = unit_json(h, "[]");                   /* small in memory, 2^60 lists to walk */
    for (int i = 0; i < 60; i++) {
        Value next = unit_json(h, "[]");
        assert_true(list_push(h, value_list(next), shared, NULL) && list_push(h, value_list(next), shared, NULL));
        shared = next;
    }
    Value many = unit_json(h, "[]");
    for (int i = 0; i < 40; i++) assert_true(list_push(h, value_list(many), shared, NULL));
    static const char *const walks[] = { "{\"items\":{\"$ref\":\"#\"}}", "{\"items\":{\"$ref\":\"#\"},\"contains\":true,\"minContains\":0}",
        "{\"uniqueItems\":true}" };
    for (size_t i = 0; i < sizeof walks / sizeof *walks; i++) {
        Error why = { 0 };
        assert_true(schema_compile(&(SchemaInput){ .root = unit_json(h, walks[i]), .max_steps = 10000 }, &s, &why));
        got = unit_problems(s, many);
        assert_string_equal(got, ": validation takes too many steps (limit 10000) @\n");
        free(got);
        schema_free(s);
    }
    Value dict = unit_json(h, "{\"items\":true}"), schema = dict;
    assert_true(dict_put_str(h, value_dict(dict), STR("items"), dict, NULL));
    Error err = { 0 };
    assert_true(schema_compile(&(SchemaInput){ .root = schema }, &s, &err));
    assert_false(schema_validate(s, list, NULL));
    schema_free(s);
    buf_clear(&text);
    heap_free(h);
}

static void test_problem_limit(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Schema *s = unit_schema(h, "{\"items\":{\"type\":\"null\"}}");
    SchemaProblems p = { .limit = 2 };
    assert_false(schema_validate(s, unit_json(h, "[1,2,3]"), &p));
    assert_int_equal(p.n, 2);
    assert_true(p.more);
    schema_problems_clear(&p);
    Buf text = { 0 };
    buf_add_char(&text, '[');
    for (int i = 0; i < 1000; i++) buf_add_fmt(&text, "%s%d", i ? "," : "", i);
    buf_add_char(&text, ']');
    assert_false(schema_validate(s, unit_json(h, text.at), &p));
    assert_int_equal(p.n, 2);
    schema_problems_clear(&p);
    schema_free(s);
    s = unit_schema(h, "{\"uniqueItems\":true,\"unevaluatedItems\":{\"type\":\"integer\"},\"prefixItems\":[true]}");
    assert_true(schema_validate(s, unit_json(h, text.at), NULL));
    text.at[text.n - 1] = ',';
    buf_add(&text, STR("500]"));
    char *got = unit_problems(s, unit_json(h, text.at));
    assert_string_equal(got, ": items 500 and 1000 are equal @/uniqueItems\n");
    free(got);
    schema_free(s);
    buf_clear(&text);
    heap_free(h);
}

static void test_slow_pattern(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Schema *s = unit_schema(h, "{\"not\":{\"pattern\":\"^(a|a)*$\"}}");
    char *got = unit_problems(s, unit_json(h, "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\""));
    assert_string_equal(got, ": pattern \"^(a|a)*$\": regular expression: too many steps @\n");
    free(got);
    schema_free(s);
    heap_free(h);
}

/* Values without a JSON form. */
static void test_other_values(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Schema *s = unit_schema(h, "{\"type\":[\"object\",\"array\",\"string\",\"number\",\"boolean\",\"null\"]}");
    assert_false(schema_validate(s, value_from_object(set_new(h, 0, NULL)), NULL));
    assert_false(schema_validate(s, value_from_object(bytes_new(h, STR("x"), NULL)), NULL));
    assert_true(schema_validate(s, value_from_float(0.0 / 0.0), NULL));
    schema_free(s);
    s = unit_schema(h, "{\"items\":{\"type\":\"integer\"},\"type\":\"array\"}");
    assert_true(schema_validate(s, value_from_object(tuple_from(h, (Value[]){ value_from_small(1) }, 1, NULL)), NULL));
    assert_false(schema_validate(s, value_from_object(tuple_from(h, (Value[]){ VALUE_NONE }, 1, NULL)), NULL));
    schema_free(s);
    s = unit_schema(h, "{\"properties\":{\"a\":true}}");
    Dict *d = dict_new(h, 0, NULL);
    assert_true(dict_put(h, d, value_from_small(1), VALUE_NONE, NULL));
    char *got = unit_problems(s, value_from_object(d));
    assert_string_equal(got, ": has a property whose name is not a string @\n");
    free(got);
    schema_free(s);
    s = unit_schema(h, "{\"pattern\":\"a\"}");
    assert_false(schema_validate(s, value_from_object(string_new(h, STR("a\xff"), NULL)), NULL));
    schema_free(s);
    heap_free(h);
}

/* ---- threads ---- */

typedef struct { const Schema *s; Value good, bad; } Shared;

static void *validate_often(void *arg) {
    const Shared *shared = arg;
    for (int i = 0; i < 300; i++) {
        SchemaProblems p = { 0 };
        bool ok = schema_validate(shared->s, shared->good, NULL) && !schema_validate(shared->s, shared->bad, &p) && p.n == 3;
        schema_problems_clear(&p);
        if (!ok) return arg;
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    Heap *h = heap_new(0);
    Shared shared = { .s = unit_schema(h, "{\"properties\":{\"a\":{\"pattern\":\"^x\"},\"b\":{\"$dynamicRef\":\"#n\"}},\"required\":[\"a\"],"
                                          "\"$defs\":{\"n\":{\"$dynamicAnchor\":\"n\",\"type\":\"integer\"}},\"unevaluatedProperties\":false}"),
                      .good = unit_json(h, "{\"a\":\"xy\",\"b\":1}"), .bad = unit_json(h, "{\"a\":\"y\",\"b\":\"1\",\"c\":1}") };
    heap_freeze_all(h);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, validate_often, &shared), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        assert_null(failed);
    }
    schema_free((Schema *)(uintptr_t)shared.s);
    heap_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages), cmocka_unit_test(test_numbers), cmocka_unit_test(test_bad_schemas), cmocka_unit_test(test_documents),
        cmocka_unit_test(test_endless), cmocka_unit_test(test_steps), cmocka_unit_test(test_deep), cmocka_unit_test(test_problem_limit),
        cmocka_unit_test(test_slow_pattern), cmocka_unit_test(test_other_values), cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
