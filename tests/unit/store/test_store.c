#include "place.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "artifact_list.h"
#include "base/clock.h"
#include "base/fault.h"

static void spoil(const char *path, long at, const char *bytes, size_t n) {
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && pwrite(fd, bytes, n, at) == (ssize_t)n);
    close(fd);
}

/* ---- stored data ---- */

static bool list_run(void *ctx, const StoreRun *r) {
    buf_add_fmt(ctx, STR_FMT ":" STR_FMT ":" STR_FMT ":" STR_FMT ":%lld:%lld:" STR_FMT ":%d ", STR_ARG(r->id), STR_ARG(r->status), STR_ARG(r->agent),
                STR_ARG(r->session), (long long)r->turns, (long long)r->tool_calls, STR_ARG(r->usage), r->ended_ns != 0);
    return true;
}

static bool list_title(void *ctx, const StoreRun *r) {
    buf_add_fmt(ctx, STR_FMT "/%.2f ", STR_ARG(r->title), r->cost);
    return true;
}

static void test_runs(void **state) {
    (void)state;
    StorePlace p;
    Buf text = { 0 };
    place_open(&p);
    Store *s = must_open(&p);
    must(&p, store_run_start(s, STR("run-a1"), STR("main"), STR("sess"), &p.err));
    usleep(1000);
    must(&p, store_run_start(s, STR("run-a2"), STR(""), (Str){ 0 }, &p.err));
    must(&p, store_run_title(s, STR("run-a1"), STR("Say hello"), &p.err));
    must(&p, store_run_title(s, STR("run-a1"), STR("Something else"), &p.err));
    must(&p, store_run_end(s, &(StoreRun){ .id = STR("run-a1"), .status = STR("done"), .turns = 2, .tool_calls = 3, .usage = STR("{}"), .cost = 0.5 }, &p.err));
    must(&p, store_run_each(s, list_title, &text, &p.err));
    assert_str(buf_str(&text), "/0.00 Say hello/0.50 ");
    buf_reset(&text);
    must(&p, store_run_each(s, list_run, &text, &p.err));
    assert_str(buf_str(&text), "run-a2:running:::0:0::0 run-a1:done:main:sess:2:3:{}:1 ");
    assert_false(store_run_start(s, STR("run-a1"), STR(""), STR(""), &p.err));
    assert_false(store_run_end(s, &(StoreRun){ .id = STR("missing") }, &p.err));
    assert_string_equal(p.err.msg, "no such run: missing");
    must(&p, store_run_find(s, STR("run-a2"), &text, &p.err));
    assert_str(buf_str(&text), "run-a2");
    assert_false(store_run_find(s, STR("run-"), &text, &p.err));
    assert_string_equal(p.err.msg, "more than one run has an id that starts or ends with run-");
    assert_false(store_run_find(s, STR("x"), &text, &p.err));
    assert_string_equal(p.err.msg, "no such run: x");
    assert_false(store_run_find(s, STR(""), &text, &p.err));
    must(&p, store_run_start(s, STR("run-a"), STR(""), STR(""), &p.err));
    must(&p, store_run_find(s, STR("run-a"), &text, &p.err));              /* an exact id is never ambiguous */
    assert_str(buf_str(&text), "run-a");
    buf_clear(&text);
    store_close(s);
    place_close(&p);
}

static bool list_event(void *ctx, const Event *e) {
    buf_add_fmt(ctx, "%llu:" STR_FMT ":" STR_FMT ":%d:" STR_FMT ":" STR_FMT " ", (unsigned long long)e->seq, STR_ARG(e->agent), STR_ARG(e->parent), e->depth,
                STR_ARG(e->type), STR_ARG(e->data));
    return e->seq < 3;
}

static void test_events(void **state) {
    (void)state;
    StorePlace p;
    Buf text = { 0 };
    place_open(&p);
    Store *s = must_open(&p);
    must(&p, store_run_start(s, STR("r1"), STR(""), STR(""), &p.err));
    EventStream *stream = event_stream_new(STR("r1")), *again = event_stream_new(STR("r1"));
    event_stream_add(stream, store_event_sink(s));
    event_stream_add(again, store_event_sink(s));
    EventPlace top = { 0 };
    must(&p, event_emit(stream, top, EVENT_TOOL_STARTED, STR("{\"id\":1}"), &p.err));
    must(&p, event_emit(stream, (EventPlace){ STR("a"), STR("c"), 2 }, EVENT_TOOL_EXECUTING, (Str){ 0 }, &p.err));
    must(&p, event_emit_custom(stream, top, STR("custom.x"), STR("{\"nul\":\"\\u0000\"}"), &p.err));
    must(&p, event_emit(stream, top, EVENT_LOG, (Str){ 0 }, &p.err));
    must(&p, store_event_each(s, STR("r1"), 2, list_event, &text, &p.err));
    assert_str(buf_str(&text), "2:a:c:2:tool.executing:{} 3:::0:custom.x:{\"nul\":\"\\u0000\"} ");
    must(&p, event_emit(again, top, EVENT_LOG, (Str){ 0 }, &p.err));       /* written events stay: a number is used
                                                                            * once */
    assert_false(store_flush(s, &p.err));
    assert_non_null(strstr(p.err.msg, "already has event 1 of run r1"));
    must(&p, store_flush(s, &p.err));                                        /* only that event is dropped */
    buf_reset(&text);
    must(&p, store_event_each(s, STR("r2"), 0, list_event, &text, &p.err));
    assert_int_equal(text.n, 0);
    buf_clear(&text);
    event_stream_free(stream);
    event_stream_free(again);
    store_close(s);
    place_close(&p);
}

static bool count_event(void *ctx, const Event *e) {
    assert_int_equal(e->seq, ++*(uint64_t *)ctx);
    return true;
}

static uint64_t events_of(StorePlace *p, Store *s, const char *run) {
    uint64_t n = 0;
    must(p, store_event_each(s, str_from(run), 0, count_event, &n, &p->err));
    return n;
}

static void *emit_many(void *stream) {
    Error err = { 0 };
    for (int i = 0; i < 500; i++) assert_true(event_emit(stream, (EventPlace){ STR("a"), STR("c"), 1 }, EVENT_LOG, STR("{\"x\":\"0123456789\"}"), &err));
    return NULL;
}

/* Queued events are written when they are read, after a flush, some milliseconds later, and when the store is
 * closed. */
static void test_events_later(void **state) {
    (void)state;
    StorePlace p;
    pthread_t threads[4];
    place_open(&p);
    Store *s = must_open(&p), *other = must_open(&p);
    must(&p, store_run_start(s, STR("r1"), STR(""), STR(""), &p.err));
    EventStream *stream = event_stream_new(STR("r1"));
    event_stream_add(stream, store_event_sink(s));
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, emit_many, stream), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    assert_int_equal(events_of(&p, s, "r1"), 2000);
    emit_many(stream);
    must(&p, store_flush(s, &p.err));
    assert_int_equal(events_of(&p, other, "r1"), 2500);
    emit_many(stream);
    for (int64_t end = clock_mono_ns() + 20000000000; events_of(&p, other, "r1") < 3000;) assert_true(clock_mono_ns() < end);
    emit_many(stream);
    event_stream_free(stream);
    store_close(s);
    assert_int_equal(events_of(&p, other, "r1"), 3500);
    store_close(other);
    place_close(&p);
}

static void test_artifacts(void **state) {
    (void)state;
    StorePlace p;
    Buf key = { 0 }, other = { 0 }, out = { 0 };
    uint64_t total = 0;
    place_open(&p);
    Store *s = must_open(&p);
    must(&p, store_artifact_put(s, STR("r1"), STR("t"), STR("text/plain"), (Str){ "0123456789\0ab", 13 }, &key, &p.err));
    must(&p, store_artifact_put(s, STR("r1"), STR("t2"), STR(""), (Str){ 0 }, &other, &p.err));
    assert_int_equal(key.n, 16);
    assert_true(str_starts(buf_str(&key), STR("art_")) && !str_eq(buf_str(&key), buf_str(&other)));
    must(&p, store_artifact_get(s, STR("r1"), buf_str(&key), 0, UINT64_MAX, &out, &total, &p.err));
    assert_int_equal(out.n, 13);
    assert_int_equal(total, 13);
    must(&p, store_artifact_get(s, STR("r1"), buf_str(&key), 3, 4, &out, &total, &p.err));
    assert_str(buf_str(&out), "3456");
    must(&p, store_artifact_get(s, STR("r1"), buf_str(&key), UINT64_MAX, 4, &out, NULL, &p.err));
    assert_str(buf_str(&out), "");
    must(&p, store_artifact_get(s, STR("r1"), buf_str(&other), 0, 10, &out, &total, &p.err));
    assert_int_equal(total, 0);
    assert_false(store_artifact_get(s, STR("r2"), buf_str(&key), 0, 10, &out, &total, &p.err));
    assert_int_equal(p.err.kind, ERR_VALIDATION);
    buf_reset(&out);
    must(&p, artifact_list(s, STR("r1"), &out, &p.err));
    assert_str(buf_str(&out), "t:text/plain:13 t2::0 ");
    buf_clear(&key), buf_clear(&other), buf_clear(&out);
    store_close(s);
    place_close(&p);
}

static bool list_hook(void *ctx, const StoreHook *h) {
    buf_add_fmt(ctx, STR_FMT ":%llu:%llu:%llu:%llu ", STR_ARG(h->hook), (unsigned long long)h->calls, (unsigned long long)h->blocks,
                (unsigned long long)h->errors, (unsigned long long)h->ns);
    return true;
}

static void test_small_things(void **state) {
    (void)state;
    StorePlace p;
    Buf a = { 0 }, b = { 0 };
    bool found;
    place_open(&p);
    Store *s = must_open(&p);
    assert_false(store_task_get(s, STR("r"), STR("t"), &a, &b, &p.err));
    assert_string_equal(p.err.msg, "no such task: t");
    must(&p, store_task_put(s, STR("r"), STR("t"), STR("slow"), STR("running"), STR(""), &p.err));
    must(&p, store_task_put(s, STR("r"), STR("t"), STR("slow"), STR("done"), STR("{\"value\":1}"), &p.err));
    must(&p, store_task_get(s, STR("r"), STR("t"), &a, &b, &p.err));
    assert_str(buf_str(&a), "done");
    assert_str(buf_str(&b), "{\"value\":1}");
    StoreHook counts[] = { { STR("guard"), 2, 1, 0, 500 }, { STR("audit"), 1, 0, 1, 7 }, { STR("guard"), 1, 0, 0, 100 } };
    must(&p, store_hook_add(s, counts, 3, &p.err));
    must(&p, store_hook_add(s, counts, 1, &p.err));
    must(&p, store_hook_add(s, NULL, 0, &p.err));
    buf_reset(&a);
    must(&p, store_hook_each(s, list_hook, &a, &p.err));
    assert_str(buf_str(&a), "audit:1:0:1:7 guard:5:2:0:1100 ");
    must(&p, store_note_get(s, STR("session:1"), STR("reads"), &a, &found, &p.err));
    assert_false(found);
    must(&p, store_note_put(s, STR("session:1"), STR("reads"), STR("[1]"), &p.err));
    must(&p, store_note_put(s, STR("session:1"), STR("reads"), (Str){ "[\xff\0]", 4 }, &p.err));
    store_close(s);
    s = must_open(&p);                                                       /* still there */
    must(&p, store_note_get(s, STR("session:1"), STR("reads"), &a, &found, &p.err));
    assert_true(found && a.n == 4 && memcmp(a.at, "[\xff\0]", 4) == 0);
    must(&p, store_note_delete(s, STR("session:1"), STR("reads"), &p.err));
    must(&p, store_note_delete(s, STR("session:1"), STR("reads"), &p.err));
    must(&p, store_note_get(s, STR("session:1"), STR("reads"), &a, &found, &p.err));
    assert_false(found);
    buf_clear(&a), buf_clear(&b);
    store_close(s);
    place_close(&p);
}

/* The same store without a file: two of them share nothing. */
static void test_memory(void **state) {
    (void)state;
    Store *s = NULL, *other = NULL;
    Error err = { 0 };
    Buf key = { 0 }, out = { 0 };
    uint64_t total = 0, last = 0;
    assert_true(store_open(":memory:", false, &s, &err) && store_open(":memory:", false, &other, &err));
    assert_true(store_run_start(s, STR("r"), STR(""), STR(""), &err) && store_run_lease(s, STR("r"), &err));
    EventStream *stream = event_stream_new(STR("r"));
    event_stream_add(stream, store_event_sink(s));
    for (int i = 0; i < 3; i++) assert_true(event_emit(stream, (EventPlace){ 0 }, EVENT_LOG, (Str){ 0 }, &err));
    assert_true(store_event_last(s, STR("r"), &last, &err) && last == 3);
    assert_true(store_event_last(other, STR("r"), &last, &err) && last == 0);
    assert_true(store_artifact_put(s, STR("r"), STR("t"), STR(""), STR("bytes"), &key, &err));
    assert_true(store_artifact_get(s, STR("r"), buf_str(&key), 1, 3, &out, &total, &err) && total == 5);
    assert_str(buf_str(&out), "yte");
    assert_false(store_artifact_get(other, STR("r"), buf_str(&key), 0, 9, &out, &total, &err));
    assert_true(store_run_end(s, &(StoreRun){ .id = STR("r"), .status = STR("done") }, &err));
    assert_int_equal(access(":memory:", F_OK), -1);
    assert_int_equal(access(":memory:-lease", F_OK), -1);
    event_stream_free(stream);
    store_close(s);
    store_close(other);
    buf_clear(&key), buf_clear(&out);
}

/* ---- location and permissions ---- */

static void test_path(void **state) {
    (void)state;
    StorePlace p;
    Buf out = { 0 };
    char old_home[256] = "", root[128];
    if (getenv("HOME")) snprintf(old_home, sizeof old_home, "%s", getenv("HOME"));
    place_open(&p);
    snprintf(root, sizeof root, "%s/my project", p.dir);
    assert_int_equal(mkdir(root, 0755), 0);
    unsetenv("HARNESS_STATE");
    setenv("XDG_STATE_HOME", "/var/state", 1);
    must(&p, store_default_path(str_from(root), &out, &p.err));
    assert_true(str_starts(buf_str(&out), STR("/var/state/harness/my project-")) && str_ends(buf_str(&out), STR("/harness.db")));
    assert_int_equal(out.n, strlen("/var/state/harness/my project-0123456789abcdef/harness.db"));
    must(&p, store_default_path(STR("/"), &out, &p.err));
    assert_str(buf_str(&out), "/var/state/harness/root-cd10604b09278987/harness.db");
    buf_reset(&out);
    store_project_id(STR("/x/a\x1b[31m\xc2\x9b\xe2\x80\xae\n\xff\xc3\xa9 b"), &out);       /* escape, C1, bidirectional, newline, invalid */
    assert_true(str_starts(buf_str(&out), STR("a_[31m____\xc3\xa9 b-")));
    setenv("XDG_STATE_HOME", "relative", 1);
    setenv("HOME", "/home/x", 1);
    must(&p, store_default_path(STR("/"), &out, &p.err));
    assert_true(str_starts(buf_str(&out), STR("/home/x/.local/state/harness/root-")));
    unsetenv("HOME");
    assert_false(store_default_path(STR("/"), &out, &p.err));
    assert_string_equal(p.err.msg, "no location for the state file: neither XDG_STATE_HOME nor HOME is set");
    setenv("HARNESS_STATE", "/x/y.db", 1);
    must(&p, store_default_path(STR("/proc/nonexistent"), &out, &p.err));
    assert_str(buf_str(&out), "/x/y.db");
    unsetenv("HARNESS_STATE");
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", old_home, 1);
    assert_false(store_default_path(STR("/proc/nonexistent"), &out, &p.err));
    buf_clear(&out);
    place_close(&p);
}

static void test_private(void **state) {
    (void)state;
    StorePlace p;
    struct stat st;
    char name[200];
    place_open(&p);
    mode_t old = umask(0);
    Store *s = must_open(&p);
    must(&p, store_run_start(s, STR("r"), STR(""), STR(""), &p.err));
    umask(old);
    static const char *const files[] = { "deep", "deep/er", "deep/er/harness.db", "deep/er/harness.db-wal", "deep/er/harness.db-shm",
        "deep/er/harness.db-lease" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(name, sizeof name, "%s/%s", p.dir, files[i]);
        if (stat(name, &st) < 0) fail_msg("%s: %s", name, strerror(errno));
        if (st.st_mode & 077) fail_msg("%s is open to others: %o", name, st.st_mode);
    }
    int kept = 0;                                                            /* no descriptor may reach a child */
    DIR *fds = opendir("/proc/self/fd");
    for (struct dirent *e; (e = readdir(fds));) {
        char target[256] = "";
        if (readlinkat(dirfd(fds), e->d_name, target, sizeof target - 1) < 0 || !strstr(target, p.dir)) continue;
        kept++;
        if (!(fcntl(atoi(e->d_name), F_GETFD) & FD_CLOEXEC)) fail_msg("%s would be inherited", target);
    }
    closedir(fds);
    assert_true(kept >= 3);
    store_close(s);
    chmod(p.path, 0644);
    store_close(must_open(&p));
    assert_true(stat(p.path, &st) == 0 && (st.st_mode & 077) == 0);
    place_close(&p);
}

/* ---- invalid files ---- */

/* FILE in the message stands for the file's path. */
static void expect_refused(StorePlace *p, const char *message) {
    Store *s = NULL;
    char expected[600];
    const char *file = strstr(message, "FILE");
    snprintf(expected, sizeof expected, "%.*s%s%s", (int)(file - message), message, p->path, file + 4);
    bool ok = store_open(p->path, false, &s, &p->err);
    if (ok) fail_msg("opened; expected: %s", expected);
    assert_null(s);
    assert_int_equal(p->err.kind, ERR_IO);
    if (strcmp(p->err.msg, expected) != 0) fail_msg("expected: %s\n     got: %s", expected, p->err.msg);
}

static void test_newer(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    store_close(must_open(&p));
    sql(p.path, "PRAGMA user_version = 99");
    expect_refused(&p, "open: state file FILE was written by a newer harness (format 99; this one supports 5)");
    assert_string_equal(p.err.hint, "update harness, or set HARNESS_STATE to another file");
    place_close(&p);
}

static void test_not_ours(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    snprintf(p.path, sizeof p.path, "%s/x.db", p.dir);
    sql(p.path, "CREATE TABLE bookmarks (url TEXT)");
    expect_refused(&p, "open: FILE is a database of another program");
    sql(p.path, "SELECT url FROM bookmarks");                                /* untouched */
    char header[20] = "";
    FILE *f = fopen(p.path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(header, sizeof header, 1, f), 1);
    fclose(f);
    assert_int_equal(header[18], 1);                                         /* 2 would mean write-ahead log */
    snprintf(p.path, sizeof p.path, "%s/folder", p.dir);
    assert_int_equal(mkdir(p.path, 0700), 0);
    expect_refused(&p, "state file FILE is not a regular file");
    place_close(&p);
}

static void test_damaged(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    snprintf(p.path, sizeof p.path, "%s/x.db", p.dir);
    spoil(p.path, 0, "this is not a database, but it is long enough to look at: ....................................................", 110);
    expect_refused(&p, "open: state file FILE is damaged (file is not a database)");
    assert_string_equal(p.err.hint, "move it away to start with a new one, or set HARNESS_STATE to another file");
    snprintf(p.path, sizeof p.path, "%s/y.db", p.dir);
    store_close(must_open(&p));
    sql(p.path, "PRAGMA wal_checkpoint(TRUNCATE)");                          /* the journal outlives a store */
    struct stat st;
    stat(p.path, &st);
    for (long at = 4096; at < st.st_size; at += 16) spoil(p.path, at, "garbage-garbage-", 16);
    Store *s = must_open(&p);                                                /* the first page is intact */
    assert_false(store_run_start(s, STR("r"), STR(""), STR(""), &p.err));
    assert_int_equal(p.err.kind, ERR_IO);
    assert_non_null(strstr(p.err.msg, "is damaged"));
    store_close(s);
    place_close(&p);
}

/* Each byte of the first page, in turn: opened or refused, never a crash. */
static void test_damaged_anywhere(void **state) {
    (void)state;
    StorePlace p;
    Buf text = { 0 };
    place_open(&p);
    snprintf(p.path, sizeof p.path, "%s/x.db", p.dir);
    store_close(must_open(&p));
    sql(p.path, "PRAGMA wal_checkpoint(TRUNCATE)");
    char page[4096], other[160];
    int fd = open(p.path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, page, sizeof page), sizeof page);
    close(fd);
    for (size_t i = 0; i < sizeof page; i += i < 128 ? 1 : 61) {
        char bad = (char)(page[i] ^ 0x5a);
        spoil(p.path, (long)i, &bad, 1);
        Store *s = NULL;
        Error err = { 0 };
        if (store_open(p.path, false, &s, &err)) {
            buf_reset(&text);
            store_run_each(s, list_run, &text, &err);
            store_close(s);
        } else {
            assert_true(err.msg[0]);
        }
        static const char *const more[] = { "-wal", "-shm", "-journal" };
        for (size_t k = 0; k < 3; k++) snprintf(other, sizeof other, "%s%s", p.path, more[k]), unlink(other);
        spoil(p.path, 0, page, sizeof page);
    }
    buf_clear(&text);
    place_close(&p);
}

static void test_no_place(void **state) {
    (void)state;
    StorePlace p;
    Store *s = NULL;
    place_open(&p);
    snprintf(p.path, sizeof p.path, "/proc/nowhere/harness.db");
    assert_false(store_open(p.path, false, &s, &p.err));
    assert_string_equal(p.err.msg, "make folder /proc/nowhere: No such file or directory");
    place_close(&p);
}

/* Describes how a child process ended. */
static int in_child(void (*body)(StorePlace *p), StorePlace *p) {
    pid_t pid = fork();
    if (pid == 0) {
        body(p);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void say_and_exit(const char *text) {
    fprintf(stderr, "child: %s\n", text);
    _exit(1);
}

#define CHILD(ok) do { if (!(ok)) say_and_exit(p->err.msg[0] ? p->err.msg : #ok); } while (0)

static void as_nobody(StorePlace *p) {
    Store *s = NULL;
    if (geteuid() == 0) CHILD(setgid(65534) == 0 && setuid(65534) == 0);
    CHILD(!store_open(p->path, false, &s, &p->err));
    char expected[400];
    snprintf(expected, sizeof expected, "cannot create state file %s: Permission denied", p->path);
    if (strcmp(p->err.msg, expected) != 0) say_and_exit(p->err.msg);
}

static void write_as_nobody(StorePlace *p) {
    Store *s = NULL;
    if (geteuid() == 0) CHILD(setgid(65534) == 0 && setuid(65534) == 0);
    CHILD(!store_open(p->path, false, &s, &p->err));
    CHILD(strstr(p->err.msg, "cannot be written") != NULL);
}

static void test_read_only(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    chmod(p.dir, 0555);
    snprintf(p.path, sizeof p.path, "%s/harness.db", p.dir);
    assert_int_equal(in_child(as_nobody, &p), 0);
    chmod(p.dir, 0755);
    store_close(must_open(&p));
    chmod(p.path, 0444);
    chmod(p.dir, 0555);
    assert_int_equal(in_child(write_as_nobody, &p), 0);
    chmod(p.dir, 0755);
    place_close(&p);
}

/* ---- a full disk ---- */

static void fill_up(StorePlace *p) {
    Store *s = NULL;
    Buf key = { 0 };
    static char big[200000];
    memset(big, 'x', sizeof big);
    CHILD(store_open(p->path, false, &s, &p->err));
    CHILD(store_run_start(s, STR("r"), STR(""), STR(""), &p->err));
    bool ok = true;
    int n = 0;
    while (ok && n < 1000) ok = store_artifact_put(s, STR("r"), STR("t"), STR(""), (Str){ big, sizeof big }, &key, &p->err), n += ok;
    CHILD(!ok);
    CHILD(p->err.kind == ERR_IO && strstr(p->err.msg, p->path));
    Buf out = { 0 };                                                         /* what was committed is still there, and can be read */
    uint64_t total = 0;
    CHILD(n == 0 || (store_artifact_get(s, STR("r"), buf_str(&key), 0, sizeof big, &out, &total, &p->err) && total == sizeof big));
    buf_clear(&out);
    buf_clear(&key);
    store_close(s);
}

static void fill_up_limited(StorePlace *p) {
    struct rlimit small = { 1 << 20, 1 << 20 };
    signal(SIGXFSZ, SIG_IGN);
    CHILD(setrlimit(RLIMIT_FSIZE, &small) == 0);
    fill_up(p);
}

static void fill_up_tmpfs(StorePlace *p) {
    char dir[80];
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) _exit(77);
    snprintf(dir, sizeof dir, "%s/small", p->dir);
    CHILD(mkdir(dir, 0700) == 0);
    if (mount("none", dir, "tmpfs", 0, "size=2m") < 0) _exit(77);
    snprintf(p->path, sizeof p->path, "%s/harness.db", dir);
    fill_up(p);
    CHILD(strstr(p->err.msg, "no space left for state file"));
}

static void test_full(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    assert_int_equal(in_child(fill_up_limited, &p), 0);
    store_close(must_open(&p));                                              /* and works afterwards */
    int status = in_child(fill_up_tmpfs, &p);
    if (status == 77) print_message("a small file system cannot be mounted here\n");
    else assert_int_equal(status, 0);
    place_close(&p);
}

/* ---- locked ---- */

static void test_locked(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *s = must_open(&p);
    const Sqlite *api = sqlite_load(NULL);
    sqlite3 *db;
    assert_int_equal(api->open_v2(p.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(api->exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    int64_t start = clock_mono_ns();
    assert_false(store_note_put(s, STR("a"), STR("b"), STR("c"), &p.err));
    assert_true(clock_mono_ns() - start > 4000000000);
    char expected[300];
    snprintf(expected, sizeof expected, "store note: state file %s is locked by another program", p.path);
    assert_string_equal(p.err.msg, expected);
    assert_int_equal(api->exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    must(&p, store_note_put(s, STR("a"), STR("b"), STR("c"), &p.err));
    api->close_v2(db);
    store_close(s);
    place_close(&p);
}

/* ---- leases ---- */

static void hold_run(StorePlace *p) {
    Store *s = NULL;
    CHILD(store_open(p->path, false, &s, &p->err) && store_run_start(s, STR("held"), STR(""), STR(""), &p->err));
    char name[200];
    snprintf(name, sizeof name, "%s/ready", p->dir);
    close(open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    pause();
}

static void test_lease(void **state) {
    (void)state;
    StorePlace p;
    Buf text = { 0 };
    char name[200], expected[100];
    place_open(&p);
    snprintf(name, sizeof name, "%s/ready", p.dir);
    pid_t pid = fork();
    if (pid == 0) hold_run(&p);
    while (access(name, F_OK) < 0) usleep(1000);
    Store *s = must_open(&p), *second = must_open(&p);
    assert_false(store_run_lease(s, STR("held"), &p.err));
    assert_int_equal(p.err.kind, ERR_POLICY);
    snprintf(expected, sizeof expected, "run held is in use by process %d", (int)pid);
    assert_string_equal(p.err.msg, expected);
    must(&p, store_run_each(s, list_run, &text, &p.err));
    assert_str(buf_str(&text), "held:running:::0:0::0 ");
    kill(pid, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);                      /* dead but not yet reaped: a zombie */
    buf_reset(&text);
    must(&p, store_run_each(s, list_run, &text, &p.err));
    assert_str(buf_str(&text), "held:interrupted:::0:0::0 ");
    must(&p, store_run_lease(s, STR("held"), &p.err));
    waitpid(pid, NULL, 0);
    must(&p, store_run_lease(s, STR("held"), &p.err));
    assert_false(store_run_lease(second, STR("held"), &p.err));              /* also within one process */
    must(&p, store_run_end(s, &(StoreRun){ .id = STR("held"), .status = STR("done") }, &p.err));
    must(&p, store_run_lease(second, STR("held"), &p.err));
    store_close(second);
    must(&p, store_run_lease(s, STR("held"), &p.err));                       /* closing releases it */
    assert_false(store_run_lease(s, STR("missing"), &p.err));
    assert_string_equal(p.err.msg, "no such run: missing");
    buf_clear(&text);
    store_close(s);
    /* A reused pid with another start time, or from before the last boot. */
    char change[200];
    snprintf(change, sizeof change, "UPDATE runs SET pid = %d, pid_start = 12345", (int)getppid());
    sql(p.path, change);
    s = must_open(&p);
    must(&p, store_run_lease(s, STR("held"), &p.err));
    store_close(s);
    sql(p.path, "UPDATE runs SET boot = 'another one'");
    s = must_open(&p);
    must(&p, store_run_lease(s, STR("held"), &p.err));
    store_close(s);
    place_close(&p);
}

/* ---- concurrency ---- */

enum { PROCESSES = 4, THREADS = 4, EACH = 60 };

static void *add_things(void *arg) {
    Store *s = arg;
    Error err = { 0 };
    Buf key = { 0 };
    bool ok = true;
    for (int i = 0; ok && i < EACH; i++)
        ok = store_hook_add(s, &(StoreHook){ STR("h"), 1, 0, 0, 1 }, 1, &err) &&
             store_artifact_put(s, STR("r"), STR("t"), STR(""), STR("bytes"), &key, &err);
    buf_clear(&key);
    if (!ok) fprintf(stderr, "%s\n", err.msg);
    return ok ? arg : NULL;
}

static bool add_in_threads(Store *s) {
    pthread_t t[THREADS];
    bool ok = true;
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, add_things, s);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(t[i], &result);
        ok = ok && result;
    }
    return ok;
}

static void test_processes(void **state) {
    (void)state;
    StorePlace p;
    Buf text = { 0 };
    pid_t pids[PROCESSES];
    place_open(&p);
    for (int i = 0; i < PROCESSES; i++)                                      /* all of them also create the file */
        if ((pids[i] = fork()) == 0) {
            Store *s = NULL;
            if (!store_open(p.path, false, &s, &p.err)) say_and_exit(p.err.msg);
            bool ok = add_in_threads(s);
            store_close(s);
            _exit(ok ? 0 : 1);
        }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        waitpid(pids[i], &status, 0);
        assert_int_equal(status, 0);
    }
    Store *s = must_open(&p);
    must(&p, store_hook_each(s, list_hook, &text, &p.err));
    char expected[80];
    snprintf(expected, sizeof expected, "h:%d:0:0:%d ", PROCESSES * THREADS * EACH, PROCESSES * THREADS * EACH);
    assert_str(buf_str(&text), expected);
    buf_clear(&text);
    store_close(s);
    place_close(&p);
}

static void test_threads(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *s = must_open(&p);
    assert_true(add_in_threads(s));
    store_close(s);
    place_close(&p);
}

/* Killed repeatedly in the middle of writing: flushed events are there, in order, without gaps. */
static void test_killed(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    store_close(must_open(&p));
    for (int round = 0; round < 8; round++) {
        char run[20];
        int fds[2];
        snprintf(run, sizeof run, "run%d", round);
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid_t pid = fork();
        if (pid == 0) {
            Store *s = NULL;
            if (!store_open(p.path, false, &s, &p.err) || !store_run_start(s, str_from(run), STR(""), STR(""), &p.err)) say_and_exit(p.err.msg);
            EventStream *stream = event_stream_new(str_from(run));
            event_stream_add(stream, store_event_sink(s));
            for (uint64_t seq = 1; event_emit(stream, (EventPlace){ 0 }, EVENT_LOG, STR("{\"x\":\"0123456789\"}"), &p.err) && store_flush(s, &p.err); seq++)
                if (write(fds[1], &seq, sizeof seq) < 0) break;
            _exit(1);
        }
        close(fds[1]);
        uint64_t told = 0, seq;
        int64_t end = clock_mono_ns() + (5 + round * 3) * 1000000;
        while (read(fds[0], &seq, sizeof seq) == sizeof seq) {
            told = seq;
            if (clock_mono_ns() > end) kill(pid, SIGKILL);
        }
        close(fds[0]);
        waitpid(pid, NULL, 0);
        Buf text = { 0 };
        Store *s = must_open(&p);
        must(&p, store_event_each(s, str_from(run), told, list_event, &text, &p.err));
        if (told && !text.n) fail_msg("event %llu was promised and is gone", (unsigned long long)told);
        buf_clear(&text);
        store_close(s);
    }
    place_close(&p);
}

static bool nested(void *ctx, const StoreRun *r) {
    Buf out = { 0 };
    bool found, ok = store_note_put(ctx, STR("seen"), r->id, STR("yes"), NULL) && store_note_get(ctx, STR("seen"), r->id, &out, &found, NULL) && found;
    buf_clear(&out);
    assert_true(ok);
    return true;
}

static void test_walk_may_write(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *s = must_open(&p);
    must(&p, store_run_start(s, STR("a"), STR(""), STR(""), &p.err));
    must(&p, store_run_start(s, STR("b"), STR(""), STR(""), &p.err));
    must(&p, store_run_each(s, nested, s, &p.err));
    store_close(s);
    place_close(&p);
}

#ifdef HARNESS_FAULTS
static int open_descriptors(void) {
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

static void test_faults(void **state) {
    (void)state;
    for (long nth = 1;; nth++) {
        StorePlace p;
        Store *s = NULL;
        int before = open_descriptors();
        place_open(&p);
        fault_arm(nth);
        bool ok = store_open(p.path, false, &s, &p.err) && store_run_start(s, STR("r"), STR(""), STR(""), &p.err) &&
                  store_run_lease(s, STR("r"), &p.err) && store_hook_add(s, &(StoreHook){ STR("h"), 1, 0, 0, 1 }, 1, &p.err) &&
                  store_note_put(s, STR("a"), STR("b"), STR("c"), &p.err) && store_run_end(s, &(StoreRun){ .id = STR("r") }, &p.err);
        bool hit = fault_disarm();
        if (!ok && !p.err.msg[0]) fail_msg("step %ld failed without a word", nth);
        if (s && !ok) must(&p, store_note_put(s, STR("a"), STR("b"), STR("c"), &p.err));   /* no transaction is left open */
        store_close(s);
        assert_int_equal(open_descriptors(), before);
        place_close(&p);
        if (!hit) {
            assert_true(ok);
            break;
        }
    }
}
#endif

/* Prints the cost of journalling one event. */
static void test_cost(void **state) {
    (void)state;
    enum { N = 2000 };
    StorePlace p;
    place_open(&p);
    Store *s = must_open(&p);
    must(&p, store_run_start(s, STR("r1"), STR(""), STR(""), &p.err));
    EventStream *stream = event_stream_new(STR("r1"));
    event_stream_add(stream, store_event_sink(s));
    int64_t start = clock_mono_ns();
    for (int i = 0; i < N; i++) must(&p, event_emit(stream, (EventPlace){ 0 }, EVENT_TOOL_COMPLETED, STR("{\"id\":\"call_1\",\"name\":\"read\"}"), &p.err));
    must(&p, store_flush(s, &p.err));
    print_message("one stored event: %lld us\n", (long long)(clock_mono_ns() - start) / N / 1000);
    event_stream_free(stream);
    store_close(s);
    place_close(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs), cmocka_unit_test(test_events), cmocka_unit_test(test_events_later),
        cmocka_unit_test(test_artifacts), cmocka_unit_test(test_small_things), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_path), cmocka_unit_test(test_private), cmocka_unit_test(test_newer), cmocka_unit_test(test_not_ours),
        cmocka_unit_test(test_damaged), cmocka_unit_test(test_damaged_anywhere), cmocka_unit_test(test_no_place), cmocka_unit_test(test_read_only),
        cmocka_unit_test(test_full), cmocka_unit_test(test_locked), cmocka_unit_test(test_lease), cmocka_unit_test(test_processes),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_killed), cmocka_unit_test(test_walk_may_write),
#ifdef HARNESS_FAULTS
        cmocka_unit_test(test_faults),
#endif
        cmocka_unit_test(test_cost),
    };
    const struct CMUnitTest both[] = {
        cmocka_unit_test(test_runs), cmocka_unit_test(test_events), cmocka_unit_test(test_events_later), cmocka_unit_test(test_artifacts),
        cmocka_unit_test(test_small_things), cmocka_unit_test(test_processes), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_killed), cmocka_unit_test(test_walk_may_write),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + run_on_postgres(both);
}
