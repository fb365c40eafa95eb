/* Reads and writes a 10 MB document of mixed content, compared with jansson and json-c. Those two
 * define some of the same names, so each is loaded into a separate scope. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "report.h"
#include "value/json.h"

enum { DOCUMENT_BYTES = 10 << 20, ROUNDS = 9 };

/* ---- the document: the same bytes every time ---- */

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void add_string(Buf *b, uint64_t *rng, size_t words) {
    static const char *const word[] = { "alpha", "the", "runtime", "of", "a", "naïve", "tool", "日本語", "policy", "x",
                                        "agent", "\\n", "\\\"quoted\\\"", "ends", "C:\\\\path", "привет", "12345", "in",
                                        "sandbox", "\\u00e9", "😀", "model", "context", "window" };
    buf_add_char(b, '"');
    for (size_t i = 0; i < words; i++) {
        if (i) buf_add_char(b, ' ');
        size_t pick = next_random(rng) % (sizeof word / sizeof *word);
        if (pick < 24 && next_random(rng) % 3) pick = pick % 5;      /* mostly plain */
        buf_add(b, str_from(word[pick]));
    }
    buf_add_char(b, '"');
}

static void add_item(Buf *b, uint64_t *rng) {
    buf_add_fmt(b, "{\"id\":%llu,\"name\":", (unsigned long long)next_random(rng));
    add_string(b, rng, 2);
    buf_add_fmt(b, ",\"price\":%.2f,\"ratio\":%.17g,\"active\":%s,\"parent\":null,", (double)(next_random(rng) % 100000) / 100,
                (double)next_random(rng) / 7.0 + 0.1, next_random(rng) & 1 ? "true" : "false");
    buf_add(b, STR("\"description\":"));
    add_string(b, rng, 5 + next_random(rng) % 40);
    buf_add(b, STR(",\"tags\":["));
    for (size_t i = 0, n = next_random(rng) % 6; i < n; i++) {
        if (i) buf_add_char(b, ',');
        add_string(b, rng, 1);
    }
    buf_add(b, STR("],\"points\":["));
    for (size_t i = 0, n = next_random(rng) % 10; i < n; i++)
        buf_add_fmt(b, "%s[%d,%d,%.3f]", i ? "," : "", (int)(next_random(rng) % 2000) - 1000, (int)(next_random(rng) % 100),
                    (double)(next_random(rng) % 1000000) / 1000);
    buf_add_fmt(b, "],\"meta\":{\"created\":\"2026-01-%02dT10:00:00Z\",\"size\":%llu,\"owner\":{\"user\":\"u%d\",\"roles\":[\"admin\","
                   "\"dev\"],\"limits\":{}}}}", (int)(next_random(rng) % 28) + 1,
                (unsigned long long)next_random(rng) * 1000003u, (int)(next_random(rng) % 1000));
}

static Buf make_document(void) {
    Buf b = { 0 };
    uint64_t rng = 42;
    buf_add(&b, STR("{\"version\":1,\"items\":["));
    for (bool first = true; b.n < DOCUMENT_BYTES; first = false) {
        if (!first) buf_add_char(&b, ',');
        add_item(&b, &rng);
    }
    buf_add(&b, STR("]}"));
    return b;
}

/* ---- peers ---- */

enum { JANSSON_COMPACT = 0x20, JSONC_PLAIN = 0, JSONC_NO_SLASH_ESCAPE = 1 << 4 };

static struct {
    void *(*loadb)(const char *text, size_t n, size_t flags, void *error);
    char *(*dumps)(const void *root, size_t flags);
    void (*delete)(void *root);                        /* called by json_decref at the end */
} jansson;

static struct {
    void *(*parse)(const char *text);
    const char *(*print)(void *root, int flags);
    int (*put)(void *root);
} jsonc;

static void die(const char *what) {
    fprintf(stderr, "bench_json: %s\n", what);
    exit(1);
}

/* NULL if it is not installed. */
static void *load(const char *library) { return dlopen(library, RTLD_NOW | RTLD_LOCAL); }

static void *find(void *library, const char *name) {
    void *symbol = dlsym(library, name);
    if (!symbol) die(dlerror());
    return symbol;
}

static void load_peers(void) {
    void *library = load("libjansson.so.4");
    if (library) {
        *(void **)&jansson.loadb = find(library, "json_loadb");
        *(void **)&jansson.dumps = find(library, "json_dumps");
        *(void **)&jansson.delete = find(library, "json_delete");
    }
    library = load("libjson-c.so.5");
    if (library) {
        *(void **)&jsonc.parse = find(library, "json_tokener_parse");
        *(void **)&jsonc.print = find(library, "json_object_to_json_string_ext");
        *(void **)&jsonc.put = find(library, "json_object_put");
    }
}

/* ---- measurement ---- */

typedef double Measure(Str text);                      /* seconds of one run; 0: the peer is missing */

/* CPU time, so that other load does not affect the comparison. */
static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static double since(int64_t start) { return (double)(now_ns() - start) / 1e9; }

static double read_ours(Str text) {
    int64_t start = now_ns();
    Heap *h = heap_new(0);
    Value v;
    Error err;
    if (!json_read(h, text, NULL, &v, &err)) die(err.msg);
    heap_free(h);
    return since(start);
}

static double read_jansson(Str text) {
    if (!jansson.loadb) return 0;
    int64_t start = now_ns();
    void *root = jansson.loadb(text.at, text.n, 0, NULL);
    if (!root) die("jansson cannot read the document");
    jansson.delete(root);
    return since(start);
}

static double read_jsonc(Str text) {
    if (!jsonc.parse) return 0;
    int64_t start = now_ns();
    void *root = jsonc.parse(text.at);
    if (!root) die("json-c cannot read the document");
    jsonc.put(root);
    return since(start);
}

static double write_ours(Str text) {
    Heap *h = heap_new(0);
    Value v;
    Error err;
    if (!json_read(h, text, NULL, &v, &err)) die(err.msg);
    int64_t start = now_ns();
    Buf out = { 0 };
    if (!json_write(&out, v, NULL, &err)) die(err.msg);
    buf_clear(&out);
    double seconds = since(start);
    heap_free(h);
    return seconds;
}

static double write_jansson(Str text) {
    if (!jansson.loadb) return 0;
    void *root = jansson.loadb(text.at, text.n, 0, NULL);
    int64_t start = now_ns();
    char *out = jansson.dumps(root, JANSSON_COMPACT);
    free(out);
    double seconds = since(start);
    jansson.delete(root);
    return seconds;
}

static double write_jsonc(Str text) {
    if (!jsonc.parse) return 0;
    void *root = jsonc.parse(text.at);
    int64_t start = now_ns();
    if (!jsonc.print(root, JSONC_PLAIN | JSONC_NO_SLASH_ESCAPE)) die("json-c cannot write");
    double seconds = since(start);
    jsonc.put(root);
    return seconds;
}

enum { SUBJECTS = 3 };                                 /* ours, jansson, json-c */

/* The best of all rounds for each. The subjects alternate, so that a load spike affects all of them. */
static void best(Measure *const measure[SUBJECTS], Str text, double least[SUBJECTS]) {
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < SUBJECTS; i++) {
            double seconds = measure[i](text);
            if (round == 0 || seconds < least[i]) least[i] = seconds;
        }
}

static void report(const char *name, double ours, double peer) {
    report_line(name, ours * 1e3, peer * 1e3, "ms");
}

int main(void) {
    load_peers();
    Buf document = make_document();
    Str text = buf_str(&document);
    double read[SUBJECTS], write[SUBJECTS];
    best((Measure *const[]){ read_ours, read_jansson, read_jsonc }, text, read);
    best((Measure *const[]){ write_ours, write_jansson, write_jsonc }, text, write);
    report("json_parse_vs_jansson", read[0], read[1]);
    report("json_parse_vs_json-c", read[0], read[2]);
    report("json_write_vs_jansson", write[0], write[1]);
    report("json_write_vs_json-c", write[0], write[2]);
    buf_clear(&document);
    return 0;
}
