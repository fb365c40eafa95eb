/* Calls of one reply have the effect of running them in order, and adjacent calls that change nothing overlap. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "tool/pipeline/call.h"
#include "tool/kind/kind.h"

enum { REPLIES = 1000, CALLS_MAX = 8, FILES = 2, MEET_SECONDS = 60, CONCURRENCY = 4 };

/* ---- the tools ---- */

/* Running calls. `met` of a batch is set once two of its calls ran at the same time. */
typedef struct World {
    char dir[64];
    Runtime *rt;
    Run *run;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int inside, peak;
    bool met[CALLS_MAX];
    bool lonely, crowded;                /* two adjacent calls never overlapped; a mutating call was not alone */
} World;

static void read_file(const World *w, const char *name, Buf *out) {
    char path[256], bytes[512];
    snprintf(path, sizeof path, "%s/%s", w->dir, name);
    FILE *f = fopen(path, "r");
    if (!f) return;
    size_t n = fread(bytes, 1, sizeof bytes, f);
    buf_add(out, (Str){ bytes, n });
    fclose(f);
}

static void write_file(const World *w, const char *name, Str text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", w->dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fwrite(text.at, 1, text.n, f);
    fclose(f);
}

static void enter(World *w) {
    pthread_mutex_lock(&w->lock);
    w->inside++;
    if (w->inside > w->peak) w->peak = w->inside;
    pthread_mutex_unlock(&w->lock);
}

static void leave(World *w) {
    pthread_mutex_lock(&w->lock);
    w->inside--;
    pthread_mutex_unlock(&w->lock);
}

/* Waits until a second call of the same batch is running. */
static void meet(World *w, int64_t batch) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += MEET_SECONDS;
    pthread_mutex_lock(&w->lock);
    if (w->inside >= 2) {
        w->met[batch] = true;
        pthread_cond_broadcast(&w->changed);
    }
    while (!w->met[batch] && pthread_cond_timedwait(&w->changed, &w->lock, &until) == 0) {}
    if (!w->met[batch]) w->lonely = true;
    pthread_mutex_unlock(&w->lock);
}

static bool answer(ToolCallFrame *f, Str text, Error *err) {
    String *s = string_new(f->heap, text, err);
    if (s) f->value = value_from_object(s);
    return s != NULL;
}

static const char *file_of(const ToolCallFrame *f, char out[8]) {
    snprintf(out, 8, "f%d", (int)value_small(value_member(f->args, "file")));
    return out;
}

/* Read-only: the text of a file. Waits for an adjacent call if there is one. */
static bool look(ToolCallFrame *f, Error *err) {
    World *w = f->entry->data;
    char name[8];
    Buf text = { 0 };
    Value batch = value_member(f->args, "batch");
    enter(w);
    if (value_is_small(batch)) meet(w, value_small(batch));
    read_file(w, file_of(f, name), &text);
    leave(w);
    bool ok = answer(f, buf_str(&text), err);
    buf_clear(&text);
    return ok;
}

/* parallel_safe: writes its own file. */
static bool mark(ToolCallFrame *f, Error *err) {
    World *w = f->entry->data;
    char name[16];
    snprintf(name, sizeof name, "m%d", (int)value_small(value_member(f->args, "own")));
    write_file(w, name, value_member_text(f->args, "text"));
    return look(f, err);
}

/* Reads, yields to others, and writes: an overlap would lose a change. */
static bool change(ToolCallFrame *f, Error *err) {
    World *w = f->entry->data;
    char name[8];
    Buf text = { 0 };
    enter(w);
    read_file(w, file_of(f, name), &text);
    sched_yield();
    buf_add(&text, value_member_text(f->args, "text"));
    write_file(w, name, buf_str(&text));
    pthread_mutex_lock(&w->lock);
    w->crowded = w->crowded || w->inside != 1;
    pthread_mutex_unlock(&w->lock);
    leave(w);
    bool ok = answer(f, buf_str(&text), err);
    buf_clear(&text);
    return ok;
}

static void add_tool(World *w, const char *name, ToolExecute *execute, Safety safety) {
    Error err = { 0 };
    ToolEntry e = { .def = { .name = str_from(name), .kind = TOOL_NATIVE, .parameters = VALUE_GONE, .output_schema = VALUE_GONE, .safety = VALUE_GONE,
                             .retry = VALUE_GONE, .environment = VALUE_GONE, .timeout_ms = -1 },
                    .safety = safety, .execute = execute, .data = w };
    assert_true(registry_add(runtime_registry(w->rt), &e, &err));
}

static void open_world(World *w) {
    Problems problems = { 0 };
    Error err = { 0 };
    *w = (World){ .dir = "/tmp/harness-order-XXXXXX" };
    assert_non_null(mkdtemp(w->dir));
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    write_file(w, "harness.md", STR("---\nbuiltin_tools: none\nlimits: { max_tool_calls: 1000000 }\n---\n"));
    assert_true(runtime_open(&(RuntimeConfig){ .dir = w->dir, .ephemeral = true, .trusted = true }, &w->rt, &problems, &err));
    problems_clear(&problems);
    add_tool(w, "look", look, (Safety){ .read_only = true });
    add_tool(w, "mark", mark, (Safety){ .parallel_safe = true });
    add_tool(w, "change", change, (Safety){ 0 });
    assert_true(run_start(w->rt, &(RunConfig){ 0 }, &w->run, &err));
}

static void close_world(World *w) {
    char command[128];
    Error err = { 0 };
    assert_true(run_end(w->run, RUN_COMPLETED, &err));
    runtime_close(w->rt);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
    snprintf(command, sizeof command, "rm -rf %s", w->dir);
    assert_int_equal(system(command), 0);
}

/* ---- replies ---- */

typedef enum { LOOK, MARK, CHANGE, UNKNOWN, KINDS } Kind;

/* One reply, and the result of running its calls sequentially. */
typedef struct Reply {
    size_t n;
    Kind kind[CALLS_MAX];
    Call calls[CALLS_MAX];
    char args[CALLS_MAX][96];
    char want[CALLS_MAX][64];
    char files[FILES][64];
} Reply;

static unsigned next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*seed >> 33);
}

static bool beside(Kind k) { return k == LOOK || k == MARK; }

static bool has_neighbour(const Reply *r, size_t i) {
    return beside(r->kind[i]) && ((i > 0 && beside(r->kind[i - 1])) || (i + 1 < r->n && beside(r->kind[i + 1])));
}

static void make_reply(Reply *r, uint64_t *seed) {
    static const char *const names[KINDS] = { "look", "mark", "change", "nosuch" };
    int batch = 0;
    *r = (Reply){ .n = 2 + next_random(seed) % (CALLS_MAX - 1) };
    for (size_t i = 0; i < r->n; i++) r->kind[i] = next_random(seed) % 20 == 0 ? UNKNOWN : (Kind)(next_random(seed) % UNKNOWN);
    for (size_t i = 0; i < r->n; i++) {
        int file = (int)(next_random(seed) % FILES), n = 0;
        if (i > 0 && !(beside(r->kind[i]) && beside(r->kind[i - 1]))) batch++;
        n += snprintf(r->args[i], sizeof r->args[i], "{\"file\":%d,\"own\":%zu,\"text\":\"%c\"", file, i, (char)('a' + i));
        if (has_neighbour(r, i)) n += snprintf(r->args[i] + n, sizeof r->args[i] - (size_t)n, ",\"batch\":%d", batch);
        snprintf(r->args[i] + n, sizeof r->args[i] - (size_t)n, "}");
        if (r->kind[i] == CHANGE) strncat(r->files[file], (char[]){ (char)('a' + i), 0 }, 2);
        if (r->kind[i] != UNKNOWN) strcpy(r->want[i], r->files[file]);
        r->calls[i] = (Call){ .name = str_from(names[r->kind[i]]), .arguments = str_from(r->args[i]), .before = i };
    }
}

static void expect_file(const World *w, const char *name, const char *want, int number) {
    Buf text = { 0 };
    read_file(w, name, &text);
    if (!str_eq(buf_str(&text), str_from(want))) fail_msg("reply %d: %s is \"" STR_FMT "\", not \"%s\"", number, name, STR_ARG(buf_str(&text)), want);
    buf_clear(&text);
}

static void run_reply(World *w, const Reply *r, int number) {
    Result results[CALLS_MAX];
    Error err = { 0 };
    memset(w->met, 0, sizeof w->met);
    for (int i = 0; i < FILES; i++) write_file(w, i ? "f1" : "f0", STR(""));
    assert_true(tool_call_all(w->run, r->calls, r->n, NULL, results, &err));
    for (size_t i = 0; i < r->n; i++) {
        if (results[i].is_error != (r->kind[i] == UNKNOWN)) fail_msg("reply %d, call %zu: " STR_FMT, number, i, STR_ARG(results[i].error));
        if (!results[i].is_error && !str_eq(results[i].text, str_from(r->want[i])))
            fail_msg("reply %d, call %zu saw \"" STR_FMT "\", not \"%s\"", number, i, STR_ARG(results[i].text), r->want[i]);
        if (r->kind[i] == MARK) expect_file(w, (char[]){ 'm', (char)('0' + i), 0 }, (char[]){ (char)('a' + i), 0 }, number);
        result_clear(&results[i]);
    }
    for (int i = 0; i < FILES; i++) expect_file(w, i ? "f1" : "f0", r->files[i], number);
}

static void test_random_replies(void **state) {
    (void)state;
    World w;
    uint64_t seed = 20240607;
    open_world(&w);
    for (int i = 0; i < REPLIES; i++) {
        Reply r;
        make_reply(&r, &seed);
        run_reply(&w, &r, i);
    }
    assert_false(w.lonely);
    assert_false(w.crowded);
    assert_in_range(w.peak, 2, CONCURRENCY);
    close_world(&w);
}

/* A call that is cancelled while it waits its turn does not run. */
static bool stop_reply(ToolCallFrame *f, Error *err) {
    cancel_fire(f->cancel);
    return answer(f, STR("stopped"), err);
}

static void test_cancelled(void **state) {
    (void)state;
    World w;
    Result results[3];
    Error err = { 0 };
    open_world(&w);
    add_tool(&w, "stop", stop_reply, (Safety){ 0 });
    write_file(&w, "f0", STR(""));
    Cancel *cancel = cancel_new(run_cancel(w.run), 0);
    Call calls[] = { { .name = STR("change"), .arguments = STR("{\"file\":0,\"text\":\"a\"}") }, { .name = STR("stop"), .before = 1 },
                     { .name = STR("change"), .arguments = STR("{\"file\":0,\"text\":\"b\"}"), .before = 2 } };
    assert_true(tool_call_all(w.run, calls, 3, cancel, results, &err));
    assert_false(results[0].is_error);
    assert_true(results[2].is_error && str_eq(results[2].error, STR("cancelled")));
    expect_file(&w, "f0", "a", 0);
    for (int i = 0; i < 3; i++) result_clear(&results[i]);
    cancel_free(cancel);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_replies), cmocka_unit_test(test_cancelled) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
