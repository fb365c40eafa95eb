/* What a client accepts of a server's skill, and what it rejects. The server answers skills/list with the row's list,
 * resources/read with its files. */
#include "unit.h"
#include "mcp/remote/skill.h"
#include "value/dict.h"
#include "value/json.h"

#define HASH "2fca14f30ae7acde4d7a72decda575c11ee75bcb8574b1bbc4c758892213cfd9"
#define NOTES_HASH "8bcc07e3af5963927125230b5cbe9472ed79adbcd37b09082eba58d8ae50ac7d"
#define OTHER_HASH "0000000000000000000000000000000000000000000000000000000000000000"
#define MD(size, hash) "{\"uri\":\"skill://a/SKILL.md\",\"size\":" size ",\"digest\":\"sha256:" hash "\"}"
#define NOTES(size, hash) "{\"uri\":\"skill://a/n.md\",\"size\":" size ",\"digest\":\"sha256:" hash "\"}"
#define ENTRY(front, files) "{\"skills\":[{\"uri\":\"skill://a/SKILL.md\",\"frontmatter\":" front ",\"resources\":" files "}]}"
#define FRONT "{\"name\":\"a\",\"description\":\"b\"}"

static const char manifest[] = "{\"contents\":[{\"uri\":\"skill://a/SKILL.md\",\"text\":\"---\\nname: a\\ndescription: b\\n---\\nBody.\\n\"}]}";
static const char notes[] = "{\"contents\":[{\"uri\":\"skill://a/n.md\",\"blob\":\"Tm90ZXMuCg==\"}]}";

typedef struct Row { const char *list, *uri, *bytes, *error; int reads; } Row;
static const Row rows[] = {
    { ENTRY(FRONT, "[" MD("37", HASH) "]"), "skill://a/SKILL.md", "---\nname: a\ndescription: b\n---\nBody.\n", NULL, 1 },
    { ENTRY(FRONT, "[" MD("37", HASH) "," NOTES("7", NOTES_HASH) "]"), "skill://a/n.md", "Notes.\n", NULL, 2 },
    { ENTRY(FRONT, "[" MD("37", OTHER_HASH) "," NOTES("7", NOTES_HASH) "]"), "skill://a/n.md", NULL, "SKILL.md: its digest", 1 },
    { ENTRY(FRONT, "[" MD("38", HASH) "," NOTES("7", NOTES_HASH) "]"), "skill://a/n.md", NULL, "SKILL.md: has 37 bytes", 1 },
    { ENTRY(FRONT, "[" MD("-1", HASH) "]"), "skill://a/SKILL.md", NULL, "has 37 bytes", 1 },
    { ENTRY(FRONT, "[" MD("\"37\"", HASH) "]"), "skill://a/SKILL.md", NULL, "has 37 bytes", 1 },
    { ENTRY(FRONT, "[" MD("37", HASH) "," NOTES("7", OTHER_HASH) "]"), "skill://a/n.md", NULL, "n.md: its digest", 2 },
    { ENTRY("{\"name\":\"a\",\"description\":\"c\"}", "[" MD("37", HASH) "]"), "skill://a/SKILL.md", NULL, "frontmatter", 1 },
    { ENTRY("null", "[" MD("37", HASH) "]"), "skill://a/SKILL.md", NULL, "frontmatter", 1 },
    { ENTRY(FRONT, "\"dynamic\""), "skill://a/n.md", "Notes.\n", NULL, 2 },
    { ENTRY("{\"name\":\"a\"}", "\"dynamic\""), "skill://a/n.md", NULL, "frontmatter", 1 },
    { ENTRY(FRONT, "[" MD("37", HASH) "]"), "skill://a/n.md", NULL, "lists no skill that contains", 0 },
    { ENTRY(FRONT, "\"dynamic\""), "skill://b/n.md", NULL, "lists no skill that contains", 0 },
    { ENTRY(FRONT, "\"dynamic\""), "file:///etc/passwd", NULL, "lists no skill that contains", 0 },
    { "{\"skills\":[1,null,{},{\"uri\":5}]}", "skill://a/n.md", NULL, "lists no skill that contains", 0 },
    { "{}", "skill://a/n.md", NULL, "lists no skill that contains", 0 },
    { "{\"skills\":[],\"nextCursor\":\"again\"}", "skill://a/n.md", NULL, "lists no skill that contains", 0 },      /* without end */
};

typedef struct Fake { const Row *row; int reads; } Fake;

static bool request(void *ctx, Str method, Value params, Heap *heap, Value *out, Error *err) {
    Fake *f = ctx;
    bool list = str_eq(method, STR("skills/list"));
    Value *uri = dict_find_str(value_dict(params), STR("uri"));
    if (!list) f->reads++;
    const char *answer = list ? f->row->list : str_ends(value_str(*uri), STR("SKILL.md")) ? manifest : notes;
    return json_read(heap, str_from(answer), &(JsonRead){ 0 }, out, err);
}

static void test_rows(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Fake fake = { &rows[i], 0 };
        Heap *h = heap_new(0);
        Buf out = { 0 };
        Error err = { 0 };
        bool ok = skill_read(&(SkillServer){ request, &fake }, str_from(rows[i].uri), h, &out, &err);
        print_message("row %zu: %s\n", i, ok ? "read" : err.msg);
        assert_int_equal(fake.reads, rows[i].reads);
        assert_int_equal(ok, rows[i].error == NULL);
        if (ok) assert_true(str_eq(buf_str(&out), str_from(rows[i].bytes)));
        else assert_non_null(strstr(err.msg, rows[i].error));
        buf_clear(&out);
        heap_free(h);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
