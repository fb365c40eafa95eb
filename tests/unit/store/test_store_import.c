/* State files of formats 1 and 2. tests/fixtures/store/format2.db was written by the last harness with that format: an
 * ordinary run that ended, and a served one of 60 events in three pages. format2.db-tail.part has the first 512 bytes
 * of each half of its -tail: three more events in the second one, followed by a record that was incomplete when the
 * process was killed. */
#include "place.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "artifact_list.h"
#include "base/fault.h"
#include "store/sqlite_private.h"

#define FIXTURES "tests/fixtures/store/"
enum { PART = 512, OLD_HALF = 2 << 20, SERVED = 60, TAIL = 3 };

typedef struct OldPlace { StorePlace at; char copy[144], tail[144], copy_tail[160]; } OldPlace;

static size_t read_whole(const char *path, char *out, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail_msg("%s: %s", path, strerror(errno));
    ssize_t n = read(fd, out, size);
    close(fd);
    assert_true(n > 0 && (size_t)n < size);
    return (size_t)n;
}

static void write_at(const char *path, long at, const char *bytes, size_t n) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && pwrite(fd, bytes, n, at) == (ssize_t)n && close(fd) == 0);
}

static void old_open(OldPlace *p, bool tail) {
    static char bytes[1 << 20];
    *p = (OldPlace){ .at.dir = "/tmp/harness-import-XXXXXX" };
    assert_non_null(mkdtemp(p->at.dir));
    snprintf(p->at.path, sizeof p->at.path, "%s/h.db", p->at.dir);
    snprintf(p->copy, sizeof p->copy, "%s-format2", p->at.path);
    snprintf(p->tail, sizeof p->tail, "%s-tail", p->at.path);
    snprintf(p->copy_tail, sizeof p->copy_tail, "%s-tail", p->copy);
    write_at(p->at.path, 0, bytes, read_whole(FIXTURES "format2.db", bytes, sizeof bytes));
    if (!tail) return;
    assert_int_equal(read_whole(FIXTURES "format2.db-tail.part", bytes, sizeof bytes), 2 * PART);
    write_at(p->tail, 0, bytes, PART);
    write_at(p->tail, OLD_HALF, bytes + PART, PART);
    assert_int_equal(truncate(p->tail, 2 * OLD_HALF), 0);
}

static bool there(const char *path) { return access(path, F_OK) == 0; }

/* ---- import ---- */

static bool check_served(void *ctx, const Event *e) {
    static const char *const types[] = { "tool.completed", "tool.started", "tool.executing" };
    uint64_t n = ++*(uint64_t *)ctx;
    char data[80];
    assert_int_equal(e->seq, n);
    assert_int_equal(e->time_ns, 1700000000000000000 + (int64_t)n * 1000);
    assert_str(e->agent, "main");
    assert_str(e->type, types[n % 3]);
    snprintf(data, sizeof data, n > SERVED ? "{\"id\":\"call_%llu\"}"
        : "{\"id\":\"call_%llu\",\"name\":\"up\",\"args\":{\"text\":\"hello\"}}", (unsigned long long)(n + 2) / 3);
    assert_str(e->data, data);
    return true;
}

static bool list_own(void *ctx, const Event *e) {
    buf_add_fmt(ctx, "%llu:" STR_FMT ":%d:" STR_FMT " ", (unsigned long long)e->seq, STR_ARG(e->parent), e->depth, STR_ARG(e->type));
    return true;
}

static bool list_run(void *ctx, const StoreRun *r) {
    buf_add_fmt(ctx, STR_FMT "|" STR_FMT "|" STR_FMT "|%lld|%lld|%.2f ", STR_ARG(r->id), STR_ARG(r->status), STR_ARG(r->title), (long long)r->turns,
                (long long)r->tool_calls, r->cost);
    return true;
}

static bool note_hook(void *ctx, const StoreHook *h) {
    buf_add_fmt(ctx, STR_FMT ":%llu:%llu", STR_ARG(h->hook), (unsigned long long)h->calls, (unsigned long long)h->blocks);
    return true;
}

/* Everything that the fixture has, and the store can be written. */
static void check_all(OldPlace *p, Store *s, uint64_t served) {
    Buf text = { 0 }, more = { 0 };
    uint64_t n = 0;
    bool found;
    char runs[120];
    assert_true(store_event_each(s, STR("served"), 0, check_served, &n, &p->at.err));
    assert_int_equal(n, served);
    assert_true(store_event_each(s, STR("own"), 0, list_own, &text, &p->at.err));
    assert_str(buf_str(&text), "1::0:run.started 2::0:turn.started 3::0:completion.completed 4:d1:1:completion.completed 5::0:run.ended ");
    buf_reset(&text);
    snprintf(runs, sizeof runs, "served|interrupted||0|%d|0.00 own|completed|Say hello to all|1|0|0.25 ", (int)(served + 2) / 3);
    assert_true(store_run_each(s, list_run, &text, &p->at.err));
    assert_str(buf_str(&text), runs);
    buf_reset(&text);
    assert_true(artifact_list(s, STR("own"), &text, &p->at.err));
    assert_str(buf_str(&text), "read:text/plain:16 ");
    assert_true(store_task_get(s, STR("own"), STR("t1"), &text, &more, &p->at.err));
    assert_str(buf_str(&more), "{\"value\":1}");
    buf_reset(&text);
    assert_true(store_hook_each(s, note_hook, &text, &p->at.err));
    assert_str(buf_str(&text), "watch:3:1");
    assert_true(store_note_get(s, STR("mcp"), STR("pin"), &text, &found, &p->at.err) && found);
    assert_str(buf_str(&text), "pinned");
    buf_clear(&text), buf_clear(&more);
}

/* The copy is a complete state file of the old format. */
static void check_copy(OldPlace *p, bool tail) {
    struct stat st;
    assert_true(stat(p->copy, &st) == 0 && (st.st_mode & 0777) == 0600);
    assert_int_equal(number(p->copy, "PRAGMA user_version"), 2);
    assert_int_equal(number(p->copy, "SELECT sum(last - first + 1) FROM pages"), SERVED);
    assert_int_equal(number(p->copy, "SELECT count(*) FROM events"), 5);
    assert_int_equal(there(p->copy_tail), tail);
    if (tail) assert_true(stat(p->copy_tail, &st) == 0 && st.st_size == 2 * OLD_HALF);
}

static void test_import(void **state) {
    (void)state;
    for (int tail = 0; tail < 2; tail++) {
        OldPlace p;
        old_open(&p, tail);
        Store *s = must_open(&p.at);
        check_all(&p, s, SERVED + (tail ? TAIL : 0));
        check_copy(&p, tail);
        assert_false(there(p.tail));
        Store *fresh = NULL;
        char path[160];
        snprintf(path, sizeof path, "%s/fresh.db", p.at.dir);
        assert_true(store_open(path, false, &fresh, &p.at.err));
        store_close(fresh);
        store_close(s);
        assert_int_equal(number(p.at.path, "PRAGMA user_version"), SQLITE_FILE_FORMAT);
        /* An imported file has the same tables and columns as a new one. */
        static const char columns[] = "SELECT count(*) FROM sqlite_schema m, pragma_table_info(m.name) WHERE m.type = 'table'";
        static const char objects[] = "SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'";
        assert_int_equal(number(p.at.path, columns), number(path, columns));
        assert_int_equal(number(p.at.path, objects), number(path, objects));
        s = must_open(&p.at);                                                   /* opening it again changes nothing */
        check_all(&p, s, SERVED + (tail ? TAIL : 0));
        store_close(s);
        place_close(&p.at);
    }
}

static void test_format_1(void **state) {
    (void)state;
    OldPlace p;
    Buf text = { 0 };
    char copy[144];
    old_open(&p, false);
    sql(p.at.path, "DROP TABLE pages; PRAGMA user_version = 1");
    Store *s = must_open(&p.at);
    assert_true(store_event_each(s, STR("own"), 3, list_own, &text, &p.at.err));
    assert_str(buf_str(&text), "3::0:completion.completed 4:d1:1:completion.completed 5::0:run.ended ");
    snprintf(copy, sizeof copy, "%s-format1", p.at.path);
    assert_int_equal(number(copy, "PRAGMA user_version"), 1);
    buf_clear(&text);
    store_close(s);
    place_close(&p.at);
}

/* A format 2 process that was running while another one migrated leaves its -tail; the next process that opens the file
 * imports it. */
static void test_tail_later(void **state) {
    (void)state;
    OldPlace p, from;
    old_open(&p, false);
    old_open(&from, true);
    store_close(must_open(&p.at));
    assert_int_equal(rename(from.tail, p.tail), 0);
    Store *s = must_open(&p.at);
    uint64_t n = 0;
    assert_true(store_event_each(s, STR("served"), 0, check_served, &n, &p.at.err));
    assert_int_equal(n, SERVED + TAIL);
    assert_false(there(p.tail));
    store_close(s);
    place_close(&p.at);
    place_close(&from.at);
}

/* Events that are both in a page and in the -tail, because the process was killed in between, are imported once. */
static void test_tail_twice(void **state) {
    (void)state;
    OldPlace p;
    old_open(&p, true);
    char part[PART];
    int fd = open(p.tail, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && pread(fd, part, PART, OLD_HALF) == PART && close(fd) == 0);
    write_at(p.tail, 0, part, PART);                                         /* both halves have the same three */
    Store *s = must_open(&p.at);
    check_all(&p, s, SERVED + TAIL);
    store_close(s);
    place_close(&p.at);
}

/* ---- damage ---- */

static void test_damaged_tail(void **state) {
    (void)state;
    static const struct { uint64_t used; unsigned char fill; } cases[] = { { 64, 0xff }, { 4000, 0 }, { UINT64_MAX, 0 }, { 3, 0x41 }, { 100000, 1 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OldPlace p;
        char junk[2048];
        old_open(&p, true);
        memset(junk, cases[i].fill, sizeof junk);
        memcpy(junk, &cases[i].used, sizeof cases[i].used);
        write_at(p.tail, 0, junk, sizeof junk);
        Store *s = must_open(&p.at);
        check_all(&p, s, SERVED + TAIL);                                     /* the other half is still read */
        store_close(s);
        place_close(&p.at);
    }
    OldPlace p;
    old_open(&p, false);
    write_at(p.tail, 0, "short", 5);
    Store *s = must_open(&p.at);
    check_all(&p, s, SERVED);
    store_close(s);
    place_close(&p.at);
}

typedef struct { uint64_t n; Buf message; } Served;

static bool note_damage(void *ctx, const Event *e) {
    Served *s = ctx;
    s->n++;
    if (str_eq(e->type, STR("log"))) buf_add(&s->message, e->data);
    return true;
}

/* The pages before and after a damaged one are imported, the run names the missing events, and the copy has the
 * page. */
static void test_damaged_page(void **state) {
    (void)state;
    static const char *const cases[] = { "x'ff'", "x'0102030405'", "cast(substr(events, 1, length(events) - 1) AS BLOB)" };
    static const char *const from[] = { "events 21 to 40", "events 21 to 40", "events 40 to 40" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OldPlace p;
        Served seen = { 0 };
        char text[160];
        old_open(&p, false);
        snprintf(text, sizeof text, "UPDATE pages SET events = %s WHERE first = 21", cases[i]);
        sql(p.at.path, text);
        Store *s = must_open(&p.at);
        assert_true(store_event_each(s, STR("served"), 0, note_damage, &seen, &p.at.err));
        assert_int_equal(seen.n, i == 2 ? 60 : 41);
        if (!strstr(seen.message.at, from[i])) fail_msg("%s", seen.message.at);
        assert_int_equal(number(p.copy, "SELECT count(*) FROM pages"), 3);
        buf_clear(&seen.message);
        store_close(s);
        place_close(&p.at);
    }
}

/* Any byte of the file is changed: it is opened or refused with a message, and refused files are unchanged. */
static void test_damaged_anywhere(void **state) {
    (void)state;
    for (long at = 100; at < 49152; at += 1117) {
        OldPlace p;
        Store *s = NULL;
        old_open(&p, false);
        write_at(p.at.path, at, "\x5a\xa5\x5a", 3);
        if (store_open(p.at.path, false, &s, &p.at.err)) store_close(s);
        else assert_true(p.at.err.msg[0]);
        place_close(&p.at);
    }
}

/* ---- failures ---- */

static void test_read_only(void **state) {
    (void)state;
    OldPlace p;
    int status;
    old_open(&p, true);
    chmod(p.at.path, 0444);
    chmod(p.at.dir, 0555);
    pid_t pid = fork();
    if (pid == 0) {
        Store *s = NULL;
        if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0)) _exit(2);
        bool refused = !store_open(p.at.path, false, &s, &p.at.err) && strstr(p.at.err.msg, p.at.path) && p.at.err.hint[0];
        _exit(refused ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    chmod(p.at.dir, 0755);
    chmod(p.at.path, 0644);
    assert_false(there(p.copy));
    assert_int_equal(number(p.at.path, "PRAGMA user_version"), 2);
    Store *s = must_open(&p.at);
    check_all(&p, s, SERVED + TAIL);
    store_close(s);
    place_close(&p.at);
}

/* No file may grow beyond `limit`: the copy fails, or the migration after it. Then nothing has changed. */
static void test_full(void **state) {
    (void)state;
    static const rlim_t limits[] = { 4096, 30000, 50000, 60000, 70000, 80000, 100000 };
    int refused = 0;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        OldPlace p;
        int status;
        old_open(&p, true);
        pid_t pid = fork();
        if (pid == 0) {
            Store *s = NULL;
            struct rlimit small = { limits[i], limits[i] };
            signal(SIGXFSZ, SIG_IGN);
            if (setrlimit(RLIMIT_FSIZE, &small) < 0) _exit(2);
            if (store_open(p.at.path, false, &s, &p.at.err)) _exit(77);
            if (!strstr(p.at.err.msg, p.at.path) || !p.at.err.msg[0]) _exit(3);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) != 77) {
            assert_int_equal(WEXITSTATUS(status), 0);
            refused++;
            assert_int_equal(number(p.at.path, "PRAGMA user_version"), 2);
            assert_true(there(p.tail));
        }
        Store *s = must_open(&p.at);
        check_all(&p, s, SERVED + TAIL);
        check_copy(&p, true);
        store_close(s);
        place_close(&p.at);
    }
    assert_true(refused >= 2);
}

static void test_two_at_once(void **state) {
    (void)state;
    enum { PROCESSES = 4 };
    OldPlace p;
    pid_t pids[PROCESSES];
    old_open(&p, true);
    for (int i = 0; i < PROCESSES; i++)
        if ((pids[i] = fork()) == 0) {
            Store *s = NULL;
            uint64_t last = 0;
            if (!store_open(p.at.path, false, &s, &p.at.err)) {
                fprintf(stderr, "%s\n", p.at.err.msg);
                _exit(1);
            }
            if (!store_event_last(s, STR("served"), &last, &p.at.err) || last != SERVED + TAIL) _exit(2);
            store_close(s);
            _exit(0);
        }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    Store *s = must_open(&p.at);
    check_all(&p, s, SERVED + TAIL);
    check_copy(&p, true);
    store_close(s);
    place_close(&p.at);
}

/* A format 2 server that is running holds the lease of its -tail. */
static void test_in_use(void **state) {
    (void)state;
    OldPlace p;
    Store *s = NULL;
    char lease[144], expected[240];
    old_open(&p, true);
    snprintf(lease, sizeof lease, "%s-lease", p.at.path);
    SqliteStore holder = { .lease_fd = open(lease, O_RDWR | O_CREAT | O_CLOEXEC, 0600) };
    assert_true(sqlite_lease_sure(&holder, STR("tail")));
    assert_false(store_open(p.at.path, false, &s, &p.at.err));
    snprintf(expected, sizeof expected, "migrate: state file %s has an older format, and an older harness is still using it", p.at.path);
    assert_string_equal(p.at.err.msg, expected);
    assert_false(there(p.copy));
    close(holder.lease_fd);
    s = must_open(&p.at);
    check_all(&p, s, SERVED + TAIL);
    store_close(s);
    place_close(&p.at);
}

#ifdef HARNESS_FAULTS
/* Every step fails once: a message, nothing changed, and the next attempt works. */
static void test_faults(void **state) {
    (void)state;
    for (long nth = 1;; nth++) {
        OldPlace p;
        Store *s = NULL;
        old_open(&p, true);
        fault_arm(nth);
        bool ok = store_open(p.at.path, false, &s, &p.at.err), hit = fault_disarm();
        if (ok) store_close(s);
        else assert_true(p.at.err.msg[0] && there(p.tail));
        s = must_open(&p.at);
        check_all(&p, s, SERVED + TAIL);
        check_copy(&p, true);
        store_close(s);
        place_close(&p.at);
        if (!hit) {
            assert_true(ok);
            break;
        }
    }
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import), cmocka_unit_test(test_format_1), cmocka_unit_test(test_tail_later), cmocka_unit_test(test_tail_twice),
        cmocka_unit_test(test_damaged_tail), cmocka_unit_test(test_damaged_page), cmocka_unit_test(test_damaged_anywhere),
        cmocka_unit_test(test_read_only), cmocka_unit_test(test_full), cmocka_unit_test(test_two_at_once), cmocka_unit_test(test_in_use),
#ifdef HARNESS_FAULTS
        cmocka_unit_test(test_faults),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
