#include "sink_memory.h"
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fault.h"
#include "event/event.h"
#include "value/json.h"
#include "value/list.h"

static const EventPlace top = { { "", 0 }, { "", 0 }, 0 };

typedef struct { Buf text; uint64_t first, last; size_t n; } Seen;

static void see(void *ctx, const Event *e) {
    Seen *s = ctx;
    if (!s->n++) s->first = e->seq;
    s->last = e->seq;
    buf_add_fmt(&s->text, "%llu " STR_FMT " " STR_FMT "/" STR_FMT "/%d " STR_FMT " " STR_FMT "\n", (unsigned long long)e->seq,
                STR_ARG(e->run), STR_ARG(e->agent), STR_ARG(e->parent), e->depth, STR_ARG(e->type), STR_ARG(e->data));
}

static void test_order_and_place(void **state) {
    (void)state;
    EventStream *s = event_stream_new(STR("run_1"));
    EventMemory *m = event_memory_new(1 << 20);
    assert_false(event_stream_listened(s));
    assert_true(event_emit(s, top, EVENT_LOG, STR("{}"), NULL));          /* without sinks; numbered all the same */
    event_stream_add(s, event_sink_memory(m));
    assert_true(event_stream_listened(s));
    assert_true(event_emit(s, top, EVENT_TOOL_STARTED, STR("{\"id\":\"a\"}"), NULL));
    assert_true(event_emit(s, (EventPlace){ STR("helper"), STR("call_1"), 2 }, EVENT_TOOL_COMPLETED, (Str){ 0 }, NULL));
    assert_true(event_emit_custom(s, top, STR("custom.saved"), STR("{\"n\":1}"), NULL));
    event_stream_continue(s, 100);
    assert_true(event_emit(s, top, EVENT_RUN_ENDED, (Str){ 0 }, NULL));
    assert_int_equal(event_memory_count(m), 4);
    Seen seen = { 0 };
    event_memory_each(m, see, &seen);
    assert_str(buf_str(&seen.text), "2 run_1 //0 tool.started {\"id\":\"a\"}\n"
                                    "3 run_1 helper/call_1/2 tool.completed {}\n"
                                    "4 run_1 //0 custom.saved {\"n\":1}\n"
                                    "101 run_1 //0 run.ended {}\n");
    buf_clear(&seen.text);
    event_stream_free(s);
    event_memory_free(m);
}

static void test_data(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Buf b = { 0 };
    List *list = list_new(h, 2, NULL);
    assert_true(list_push(h, list, value_from_small(1), NULL));
    event_data_start(&b);
    event_data_str(&b, "s", STR("a\"\n\x01\xff"));
    event_data_int(&b, "i", -7);
    event_data_ms(&b, "ms", 1234567);
    event_data_ms(&b, "zero", -5);
    event_data_bool(&b, "b", true);
    event_data_value(&b, "v", value_from_object(list));
    event_data_value(&b, "nan", value_from_float(0.0 / 0.0));
    event_data_value(&b, "gone", VALUE_GONE);
    event_data_raw(&b, "raw", STR("[1,2]"));
    event_data_raw(&b, "none", STR(""));
    event_data_end(&b);
    assert_str(buf_str(&b), "{\"s\":\"a\\\"\\n\\u0001\xef\xbf\xbd\",\"i\":-7,\"ms\":1.234,\"zero\":0.000,\"b\":true,\"v\":[1],\"nan\":\"nan\","
                            "\"gone\":null,\"raw\":[1,2],\"none\":null}");
    buf_clear(&b);
    heap_free(h);
}

/* A list that contains itself, and one that expands to 2^60 parts, can still be written as data. */
static void test_data_without_end(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Buf b = { 0 };
    List *self = list_new(h, 1, NULL), *wide = list_new(h, 2, NULL);
    assert_true(list_push(h, self, value_from_object(self), NULL));
    for (int i = 0; i < 60; i++) {
        List *outer = list_new(h, 2, NULL);
        assert_true(list_push(h, outer, value_from_object(wide), NULL) && list_push(h, outer, value_from_float(1.0 / 0.0), NULL));
        assert_true(list_push(h, outer, value_from_object(wide), NULL));
        wide = outer;
    }
    event_data_start(&b);
    event_data_value(&b, "self", value_from_object(self));
    event_data_value(&b, "wide", value_from_object(wide));
    event_data_end(&b);
    assert_str(buf_str(&b), "{\"self\":\"[[...]]\",\"wide\":\"<list>\"}");
    buf_clear(&b);
    heap_free(h);
}

static void test_memory_bound(void **state) {
    (void)state;
    enum { MAX = 20000, N = 5000 };
    EventStream *s = event_stream_new(STR("r"));
    EventMemory *m = event_memory_new(MAX);
    event_stream_add(s, event_sink_memory(m));
    for (int i = 0; i < N; i++) assert_true(event_emit(s, top, EVENT_LOG, STR("{\"message\":\"0123456789\"}"), NULL));
    Seen seen = { 0 };
    event_memory_each(m, see, &seen);
    assert_int_equal(seen.n, event_memory_count(m));
    assert_int_equal(seen.last, N);
    assert_int_equal(seen.first, N - seen.n + 1);
    assert_true(seen.n > 80 && seen.n * 100 < MAX);
    Buf big = { 0 };
    buf_add_char(&big, '{');
    while (big.n < MAX) buf_add(&big, STR("          "));
    buf_add_char(&big, '}');
    assert_true(event_emit(s, top, EVENT_LOG, buf_str(&big), NULL));
    buf_reset(&seen.text);
    seen.n = 0;
    event_memory_each(m, see, &seen);
    assert_true(str_ends(buf_str(&seen.text), STR("5001 r //0 log {\"dropped\":20002}\n")));
    buf_clear(&big);
    buf_clear(&seen.text);
    event_stream_free(s);
    event_memory_free(m);
}

/* ---- lines ---- */

static char *temp_file(void) {
    char *path = strdup("/tmp/harness-event-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    return path;
}

static Str read_text(const char *path, char *out, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, out, size);
    close(fd);
    assert_true(n >= 0);
    return (Str){ out, (size_t)n };
}

static EventSink lines_to(const char *path) {
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    return event_sink_lines(fd, true);
}

static void test_lines(void **state) {
    (void)state;
    char *path = temp_file(), text[4096];
    EventStream *s = event_stream_new(STR("run\"1"));
    Error err = { 0 };
    event_stream_add(s, lines_to(path));
    assert_true(event_emit(s, (EventPlace){ STR("a"), STR("p"), 1 }, EVENT_TOOL_STARTED, STR("{\"id\":1}"), NULL));
    assert_true(event_emit(s, top, EVENT_LOG, (Str){ 0 }, NULL));
    Str rest = read_text(path, text, sizeof text), line;
    assert_true(str_next_line(&rest, &line));
    assert_true(str_starts(line, STR("{\"seq\":1,\"time\":\"20")));
    assert_true(str_ends(line, STR("Z\",\"run\":\"run\\\"1\",\"agent\":\"a\",\"depth\":1,\"parent\":\"p\",\"type\":\"tool.started\",\"data\":{\"id\":1}}")));
    assert_true(str_next_line(&rest, &line));
    Heap *h = heap_new(0);
    Value v;
    assert_true(json_read(h, line, &(JsonRead){ 0 }, &v, &err));
    heap_free(h);
    event_stream_free(s);
    unlink(path);
    free(path);
}

/* A disk with room for one and a half lines: the failure is reported, and later lines are complete. */
static void test_lines_full_disk(void **state) {
    (void)state;
    char *path = temp_file(), text[4096];
    struct rlimit old, small = { 200, 0 };
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    EventStream *s = event_stream_new(STR("r"));
    EventMemory *m = event_memory_new(1 << 16);
    Error err = { 0 };
    event_stream_add(s, lines_to(path));
    event_stream_add(s, event_sink_memory(m));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_true(event_emit(s, top, EVENT_LOG, (Str){ 0 }, &err));
    bool second = event_emit(s, top, EVENT_LOG, (Str){ 0 }, &err), third = event_emit(s, top, EVENT_LOG, (Str){ 0 }, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_false(second || third);
    assert_string_equal(err.msg, "write events: File too large");
    assert_int_equal(err.kind, ERR_IO);
    assert_true(event_emit(s, top, EVENT_LOG, STR("{\"last\":1}"), &err));
    Str rest = read_text(path, text, sizeof text), line, last = { 0 };
    size_t lines = 0;
    while (str_next_line(&rest, &line)) lines++, last = line;
    assert_int_equal(lines, 3);
    assert_true(str_starts(last, STR("{\"seq\":4,")) && str_ends(last, STR("{\"last\":1}}")));
    assert_int_equal(event_memory_count(m), 4);
    event_stream_free(s);
    event_memory_free(m);
    unlink(path);
    free(path);
}

/* A slow non-blocking pipe that is read in small pieces. */
static void *drain(void *arg) {
    int fd = *(int *)arg;
    char buf[777];
    size_t total = 0;
    for (ssize_t n; (n = read(fd, buf, sizeof buf)) > 0;) {
        total += (size_t)n;
        if (total % 5 == 0) usleep(100);
    }
    return (void *)total;
}

static void test_lines_slow_pipe(void **state) {
    (void)state;
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    fcntl(fds[1], F_SETFL, O_NONBLOCK);
    pthread_t t;
    pthread_create(&t, NULL, drain, &fds[0]);
    EventStream *s = event_stream_new(STR("r"));
    event_stream_add(s, event_sink_lines(fds[1], true));
    Buf big = { 0 };
    buf_add(&big, STR("{\"x\":\""));
    while (big.n < 300000) buf_add(&big, STR("0123456789"));
    buf_add(&big, STR("\"}"));
    for (int i = 0; i < 3; i++) assert_true(event_emit(s, top, EVENT_LOG, buf_str(&big), NULL));
    event_stream_free(s);
    void *total;
    pthread_join(t, &total);
    assert_true((size_t)total > 3 * big.n);
    buf_clear(&big);
    close(fds[0]);
}

/* ---- redaction ---- */

static void blank(void *ctx, Buf *text) {
    (*(int *)ctx)++;
    for (size_t i = 0; i + 6 <= text->n; i++)
        if (memcmp(text->at + i, "secret", 6) == 0) memcpy(text->at + i, "******", 6);
}

static void ruin(void *ctx, Buf *text) {
    (void)ctx;
    buf_reset(text);
    buf_add(text, STR("[withheld]"));
}

static void test_redaction(void **state) {
    (void)state;
    int calls = 0;
    EventStream *s = event_stream_new(STR("r"));
    EventMemory *m = event_memory_new(1 << 16);
    event_stream_add(s, event_sink_memory(m));
    event_stream_redact(s, blank, &calls);
    assert_true(event_emit(s, top, EVENT_LOG, STR("{\"a\":\"my secret\"}"), NULL));
    assert_true(event_emit_custom(s, top, STR("custom.secret"), (Str){ 0 }, NULL));
    event_stream_redact(s, ruin, NULL);
    assert_true(event_emit(s, top, EVENT_LOG, STR("{\"a\":1}"), NULL));
    Seen seen = { 0 };
    event_memory_each(m, see, &seen);
    assert_str(buf_str(&seen.text), "1 r //0 log {\"a\":\"my ******\"}\n2 r //0 custom.****** {}\n3 r //0 log {\"redacted\":true}\n");
    assert_int_equal(calls, 3);
    buf_clear(&seen.text);
    event_stream_free(s);
    event_memory_free(m);
}

/* ---- threads ---- */

enum { THREADS = 8, EACH = 2000 };

static void *hammer(void *arg) {
    for (int i = 0; i < EACH; i++) event_emit(arg, top, EVENT_LOG, STR("{\"x\":1}"), NULL);
    return NULL;
}

typedef struct { uint64_t next; bool ok; } Order;
static void in_order(void *ctx, const Event *e) {
    Order *o = ctx;
    if (e->seq != o->next++) o->ok = false;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t t[THREADS];
    EventStream *s = event_stream_new(STR("r"));
    EventMemory *m = event_memory_new((size_t)64 << 20);
    event_stream_add(s, event_sink_memory(m));
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, hammer, s);
    for (int i = 0; i < 100; i++) event_memory_count(m);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    Order o = { 1, true };
    event_memory_each(m, in_order, &o);
    assert_true(o.ok);
    assert_int_equal(o.next, THREADS * EACH + 1);
    event_stream_free(s);
    event_memory_free(m);
}

#ifdef HARNESS_FAULTS
static void test_faults(void **state) {
    (void)state;
    char *path = temp_file();
    for (long nth = 1;; nth++) {
        Error err = { 0 };
        EventStream *s = event_stream_new(STR("r"));
        event_stream_add(s, lines_to(path));
        fault_arm(nth);
        bool ok = event_emit(s, top, EVENT_LOG, (Str){ 0 }, &err), hit = fault_disarm();
        event_stream_free(s);
        assert_int_equal(ok, !hit);
        if (!hit) break;
        assert_true(err.msg[0]);
    }
    unlink(path);
    free(path);
}
#endif

/* Many events, of which the newest are kept. Prints the cost per event for information. */
static void test_many(void **state) {
    (void)state;
    enum { N = 200000 };
    EventStream *s = event_stream_new(STR("0197a3c2-0000-7000-8000-000000000000"));
    EventMemory *m = event_memory_new(1 << 20);
    event_stream_add(s, event_sink_memory(m));
    Buf b = { 0 };
    int64_t start = clock_mono_ns();
    for (int i = 0; i < N; i++) {
        buf_reset(&b);
        event_data_start(&b);
        event_data_str(&b, "id", STR("call_123456"));
        event_data_str(&b, "name", STR("read_file"));
        event_data_ms(&b, "elapsed_ms", i);
        event_data_end(&b);
        assert_true(event_emit(s, top, EVENT_TOOL_COMPLETED, buf_str(&b), NULL));
    }
    print_message("one event: %lld ns\n", (long long)((clock_mono_ns() - start) / N));
    Seen seen = { 0 };
    event_memory_each(m, see, &seen);
    assert_int_equal(seen.n, event_memory_count(m));
    assert_true(seen.n > 1000);
    assert_int_equal(seen.last, N);
    assert_int_equal(seen.first, N - seen.n + 1);                        /* the newest, without a gap */
    assert_true(str_ends(buf_str(&seen.text), STR("\n200000 0197a3c2-0000-7000-8000-000000000000 //0 tool.completed "
                                                  "{\"id\":\"call_123456\",\"name\":\"read_file\",\"elapsed_ms\":0.199}\n")));
    buf_clear(&seen.text);
    buf_clear(&b);
    event_stream_free(s);
    event_memory_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_place), cmocka_unit_test(test_data), cmocka_unit_test(test_data_without_end),
        cmocka_unit_test(test_memory_bound), cmocka_unit_test(test_lines), cmocka_unit_test(test_lines_full_disk),
        cmocka_unit_test(test_lines_slow_pipe), cmocka_unit_test(test_redaction), cmocka_unit_test(test_threads),
#ifdef HARNESS_FAULTS
        cmocka_unit_test(test_faults),
#endif
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
