/* JSON Schema: the first line is the schema, the rest the instance. Compiling and validating end, stopping at the
 * first violation gives the same answer, and the reasons are there when the answer is no. */
#include <stdlib.h>
#include "schema/schema.h"
#include "value/json.h"

static Heap *heap;

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
    Str rest = { (const char *)data, size }, line;
    Value root, instance;
    Error err;
    if (str_next_line(&rest, &line) && json_read(heap, line, NULL, &root, &err) && json_read(heap, rest, NULL, &instance, &err)) {
        validate(root, instance, false);
        validate(root, instance, true);
    }
    heap_reset(heap);
    return 0;
}
