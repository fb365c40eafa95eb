/* JSON Schema: the first document is the schema, the second the instance. Compiling and validating end, both ways of
 * validating agree, and the reasons are there when the answer is no. */
#include <stdlib.h>
#include "json_feed.h"
#include "schema/schema.h"
#include "value/json.h"

static Heap *heap;

static bool next(JsonFeed *f, Str bytes, bool end, Value *out) {
    Error err;
    return (end ? json_feed_end(f, heap, out, &err) : json_feed(f, heap, bytes, out, &err)) == FEED_READY;
}

static void validate(Value root, Value instance, bool assert_format) {
    Error err = { 0 };
    Schema *s;
    SchemaInput in = { .root = root, .base_uri = STR("http://x/y"), .assert_format = assert_format, .max_steps = 20000, .max_nodes = 2000 };
    if (!schema_compile(&in, &s, &err)) {
        if (!err.msg[0] || (err.kind != ERR_VALIDATION && err.kind != ERR_LIMIT)) abort();
        return;
    }
    SchemaProblems problems = { .limit = 20 };
    bool valid = schema_validate(s, instance, &problems);
    if (valid != schema_validate(s, instance, NULL) || valid != (problems.n == 0)) abort();
    schema_problems_clear(&problems);
    schema_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 20000) return 0;
    if (!heap) heap = heap_new(64 << 20);
    JsonFeed *f = json_feed_new(NULL);
    Value root, instance;
    if (next(f, (Str){ (const char *)data, size }, false, &root) && (next(f, STR(""), false, &instance) || next(f, STR(""), true, &instance))) {
        validate(root, instance, false);
        validate(root, instance, true);
    }
    json_feed_free(f);
    heap_reset(heap);
    return 0;
}
