/* The cost of a call: NAME ours target ratio, in microseconds; the peer is the target of the design. A ratio above 1 is
 * better than the target. piped: JSON text in, all steps, no hooks, events in memory, no store, JSON text out.
 * governed: the same with three tool.pre hooks that have a `when`, and a tool.post hook. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sink_memory.h"
#include "base/clock.h"
#include "report.h"
#include "tool/pipeline/call.h"

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0) exit(1);
}

static const char tool[] = "---\nparameters:\n  text: { type: string, required: true }\n  times: { type: integer, required: true }\n"
                           "script: |\n  def run(args):\n      return {\"out\": args[\"text\"].upper(), \"n\": args[\"times\"] + 1}\n---\nUpper.\n";

static void make_hook(const char *name, const char *event, const char *head) {
    char path[64], text[512];
    snprintf(path, sizeof path, ".harness/hooks/%s.md", name);
    snprintf(text, sizeof text, "---\nevent: %s\n%sscript: |\n  def handle(event, payload):\n      return allow()\n---\n", event, head);
    write_file(path, text);
}

static void make_project(bool hooks) {
    mkdir(".harness", 0700);
    mkdir(".harness/tools", 0700);
    mkdir(".harness/hooks", 0700);
    write_file(".harness/tools/up.md", tool);
    write_file("harness.md", "---\nlimits: { max_tool_calls: 1000000000 }\n---\n");
    if (!hooks) return;
    make_hook("a", "tool.pre", "when: payload[\"name\"] == \"up\"\n");
    make_hook("b", "tool.pre", "when: payload[\"args\"][\"times\"] > 0\n");
    make_hook("c", "tool.pre", "when: payload[\"depth\"] == 0\n");
    make_hook("d", "tool.post", "");
}

static double measure(const char *name, bool hooks, double target) {
    char dir[] = "/tmp/harness-bench-XXXXXX";
    if (!mkdtemp(dir) || chdir(dir) != 0) exit(1);
    make_project(hooks);
    Runtime *rt;
    Run *run;
    Problems problems = { 0 };
    Error err = { 0 };
    if (!runtime_open(&(RuntimeConfig){ .ephemeral = true, .trusted = true }, &rt, &problems, &err)) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    EventMemory *memory = event_memory_new(1 << 20);
    EventSink sink = event_sink_memory(memory);
    if (!run_start(rt, &(RunConfig){ .sinks = &sink, .n_sinks = 1 }, &run, &err)) exit(1);
    Buf out = { 0 };
    double best = 1e9;
    Call call = { .name = STR("up"), .arguments = STR("{\"text\":\"hello\",\"times\":3}") };
    for (int round = 0; round < 20; round++) {
        enum { N = 2000 };
        int64_t start = clock_mono_ns();
        for (int i = 0; i < N; i++) {
            Result r;
            run_turn_start(run, STR(""), &err);
            if (!tool_call(run, &call, NULL, &r, &err) || r.is_error) {
                fprintf(stderr, "%s\n", err.msg);
                exit(1);
            }
            buf_reset(&out);
            result_write_value(&out, &r);
            result_clear(&r);
        }
        double us = (double)(clock_mono_ns() - start) / N / 1000;
        if (us < best) best = us;
    }
    report_line(name, best, target, "us");
    buf_clear(&out);
    run_end(run, RUN_COMPLETED, &err);
    event_memory_free(memory);
    runtime_close(rt);
    problems_clear(&problems);
    if (chdir("/") == 0) {
        char command[64];
        snprintf(command, sizeof command, "rm -rf %s", dir);
        return system(command);
    }
    return best;
}

int main(void) {
    measure("piped_call", false, 5);
    measure("governed_call", true, 20);
    return 0;
}
