/* Sixteen threads that call tools, register tools and cancel tasks, in one runtime: for the thread sanitizer. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "sink_memory.h"
#include "tool/pipeline/call.h"
#include "tool/kind/kind.h"
#include "tool/task/task.h"

enum { THREADS = 16, ROUNDS = 60, MANY = 10000 };

static void write_file(const char *dir, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void make_folder(const char *dir, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

typedef struct World { char dir[64]; Runtime *rt; Run *run; EventMemory *memory; } World;

static void open_world(World *w) {
    strcpy(w->dir, "/tmp/harness-threads-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    make_folder(w->dir, ".harness");
    make_folder(w->dir, ".harness/tools");
    make_folder(w->dir, ".harness/hooks");
    write_file(w->dir, "harness.md", "---\nlimits: { max_tool_calls: 1000000, max_tool_calls_per_turn: 1000000, max_tasks: 8 }\n"
                                     "meta: { enabled: true, max_tools: 100000, max_hooks: 1000 }\n---\n");
    write_file(w->dir, ".harness/tools/add.md", "---\nparameters:\n  a: { type: integer, required: true }\nscript: |\n  def run(args):\n"
                                                "      cache.set(\"n\", cache.get(\"n\", 0) + 1)\n      metrics.incr(\"calls\")\n      return args[\"a\"] + 1\n---\nAdd.\n");
    write_file(w->dir, ".harness/tools/nap.md",
        "---\nasync: true\nscript: |\n  def run(args):\n      sleep(args.get(\"s\", 0))\n      return \"slept\"\n---\nNap.\n");
    write_file(w->dir, ".harness/tools/make.md",
               "---\nscript: |\n  def run(args):\n      meta.tool_register(args[\"name\"], \"d\", {}, \"def run(args):\\n    return 7\\n\")\n"
               "      return meta.call_tool(args[\"name\"], {})\n---\nMake.\n");
    write_file(w->dir, ".harness/hooks/a.md",
        "---\nevent: tool.pre\nwhen: payload[\"name\"] == \"add\"\nscript: |\n  def handle(event, payload):\n      return allow()\n---\n");
    Problems problems = { 0 };
    Error err = { 0 };
    bool ok = runtime_open(&(RuntimeConfig){ .dir = w->dir, .ephemeral = true, .yes = true, .trusted = true }, &w->rt, &problems, &err);
    if (!ok) fail_msg("%s %s", err.msg, problems.n ? str_dup(problems.at[0].message) : "");
    w->memory = event_memory_new(1 << 20);
    EventSink sink = event_sink_memory(w->memory);
    assert_true(run_start(w->rt, &(RunConfig){ .sinks = &sink, .n_sinks = 1 }, &w->run, &err));
    problems_clear(&problems);
}

static void end_run(World *w) {
    Error err = { 0 };
    assert_true(run_end(w->run, RUN_COMPLETED, &err));
    w->run = NULL;
}

static void close_world(World *w) {
    if (w->run) end_run(w);
    event_memory_free(w->memory);
    runtime_close(w->rt);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", w->dir);
    assert_int_equal(system(command), 0);
}

typedef struct Thread { World *world; int number; int failures; char why[256]; } Thread;

static void check(Thread *t, bool ok, const char *what, Str detail) {
    if (ok || t->failures++) return;
    snprintf(t->why, sizeof t->why, "%s: " STR_FMT, what, STR_ARG(detail));
}

static void call_add(Thread *t, int i) {
    char args[64];
    Result r = { 0 };
    Error err = { 0 };
    snprintf(args, sizeof args, "{\"a\":%d}", i);
    bool ok = tool_call(t->world->run, &(Call){ .name = STR("add"), .arguments = str_from(args) }, NULL, &r, &err);
    check(t, ok && !r.is_error && value_is_small(r.value) && value_small(r.value) == i + 1, "add", r.error);
    result_clear(&r);
}

static void call_make(Thread *t, int i) {
    char args[64];
    Result r = { 0 };
    Error err = { 0 };
    snprintf(args, sizeof args, "{\"name\":\"made_%d_%d\"}", t->number, i);
    bool ok = tool_call(t->world->run, &(Call){ .name = STR("make"), .arguments = str_from(args) }, NULL, &r, &err);
    check(t, ok && !r.is_error && value_is_small(r.value) && value_small(r.value) == 7, "make", r.error);
    result_clear(&r);
}

static void start_and_cancel(Thread *t) {
    Result r = { 0 };
    Error err = { 0 };
    bool ok = tool_call(t->world->run, &(Call){ .name = STR("nap"), .arguments = STR("{\"s\":30}") }, NULL, &r, &err);
    check(t, ok && r.task_id.n, "nap", r.error);
    if (ok && r.task_id.n) {
        Heap *h = heap_new(0);
        Value v;
        check(t, task_cancel(t->world->run, r.task_id, h, &v, &err)
            && task_await(t->world->run, r.task_id, 20000, NULL, h, &v, &err), "task", str_from(err.msg));
        Value *status = dict_find_str(value_dict(v), STR("status"));
        check(t, status && str_eq(value_str(*status), STR("cancelled")), "status", status ? value_str(*status) : STR(""));
        heap_free(h);
    }
    result_clear(&r);
}

static bool native(ToolCallFrame *f, Error *err) {
    (void)err;
    f->value = value_from_small(11);
    return true;
}

static void register_native(Thread *t, int i, char *name) {
    Error err = { 0 };
    snprintf(name, 32, "native_%d_%d", t->number, i);
    ToolEntry e = { .def = { .name = str_from(name), .kind = TOOL_NATIVE, .parameters = VALUE_GONE, .output_schema = VALUE_GONE, .safety = VALUE_GONE,
                             .retry = VALUE_GONE, .environment = VALUE_GONE, .timeout_ms = -1 },
                    .safety = { .read_only = true, .parallel_safe = true }, .execute = native };
    check(t, registry_add(runtime_registry(t->world->rt), &e, &err), "register", str_from(err.msg));
    Result r = { 0 };
    bool ok = tool_call(t->world->run, &(Call){ .name = str_from(name) }, NULL, &r, &err);
    check(t, ok && !r.is_error, "native", r.error);
    result_clear(&r);
}

static void call_a_turn(Thread *t) {
    enum { N = 6 };
    Call calls[N];
    Result r[N];
    Error err = { 0 };
    for (int i = 0; i < N; i++) calls[i] = (Call){ .name = i % 2 ? STR("add") : STR("nothing"), .arguments = STR("{\"a\":1}") };
    check(t, tool_call_all(t->world->run, calls, N, NULL, r, &err), "turn", str_from(err.msg));
    for (int i = 0; i < N; i++) {
        check(t, r[i].is_error == (i % 2 == 0), "turn result", r[i].error);
        result_clear(&r[i]);
    }
}

static char names[THREADS][ROUNDS][32];

static void *work(void *arg) {
    Thread *t = arg;
    for (int i = 0; i < ROUNDS; i++) {
        call_add(t, i);
        if (i % 4 == 0) call_make(t, i);
        if (i % 8 == 0) start_and_cancel(t);
        if (i % 4 == 1) register_native(t, i, names[t->number][i]);
        if (i % 6 == 0) call_a_turn(t);
    }
    return NULL;
}

static void test_sixteen_threads(void **state) {
    (void)state;
    World w;
    Thread threads[THREADS];
    pthread_t ids[THREADS];
    open_world(&w);
    for (int i = 0; i < THREADS; i++) {
        threads[i] = (Thread){ .world = &w, .number = i };
        assert_int_equal(pthread_create(&ids[i], NULL, work, &threads[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(ids[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (threads[i].failures) fail_msg("thread %d: %d failures, first: %s", i, threads[i].failures, threads[i].why);
    close_world(&w);
}

typedef struct Ends { int started, cancelled, completed; } Ends;

static void count_end(void *ctx, const Event *e) {
    Ends *n = ctx;
    n->started += str_eq(e->type, STR("task.started"));
    n->cancelled += str_eq(e->type, STR("task.cancelled"));
    n->completed += str_eq(e->type, STR("task.completed"));
}

/* Twenty tasks that would sleep for an hour, running and queued: the run ends without waiting for any of them. */
static void test_cancelling_the_run(void **state) {
    (void)state;
    World w;
    Result r = { 0 };
    Error err = { 0 };
    open_world(&w);
    for (int i = 0; i < 20; i++) {
        assert_true(tool_call(w.run, &(Call){ .name = STR("nap"), .arguments = STR("{\"s\":3600}") }, NULL, &r, &err));
        assert_true(r.task_id.n > 0);
        result_clear(&r);
    }
    cancel_fire(run_cancel(w.run));
    assert_true(tool_call(w.run, &(Call){ .name = STR("add"), .arguments = STR("{\"a\":1}") }, NULL, &r, &err));
    assert_true(r.is_error);
    assert_int_equal(r.cls, RESULT_FATAL);
    result_clear(&r);
    end_run(&w);
    Ends n = { 0 };
    event_memory_each(w.memory, count_end, &n);
    assert_int_equal(n.started, 20);
    assert_int_equal(n.cancelled, 20);
    assert_int_equal(n.completed, 0);
    close_world(&w);
}

static void test_ten_thousand_tasks(void **state) {
    (void)state;
    World w;
    Error err = { 0 };
    char (*ids)[40] = malloc(sizeof(char[40]) * MANY);
    open_world(&w);
    for (int i = 0; i < MANY; i++) {
        Result r = { 0 };
        assert_true(tool_call(w.run, &(Call){ .name = STR("nap") }, NULL, &r, &err));
        snprintf(ids[i], sizeof ids[i], STR_FMT, STR_ARG(r.task_id));
        result_clear(&r);
    }
    Heap *h = heap_new(0);
    for (int i = 0; i < MANY; i++) {
        Value v;
        assert_true(task_await(w.run, str_from(ids[i]), 60000, NULL, h, &v, &err));
        assert_true(str_eq(value_str(*dict_find_str(value_dict(v), STR("status"))), STR("done")));
    }
    heap_free(h);
    free(ids);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sixteen_threads),
        cmocka_unit_test(test_cancelling_the_run),
        cmocka_unit_test(test_ten_thousand_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
