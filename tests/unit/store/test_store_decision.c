/* Decisions of harness guard in the store: numbered, unique, chained by hashes. */
#include "place.h"
#include "store/store_decision.h"

static StoreDecision decision(const char *call, const char *subject) {
    return (StoreDecision){ .vendor = STR("claude"), .session = STR("s"), .call = str_from(call), .event = STR("PreToolUse"),
        .tool = STR("bash"), .vendor_tool = STR("Bash"),
                            .subject = str_from(subject), .verdict = STR("deny"), .rule = STR("r"), .reason = STR("because"), .root = STR("/r") };
}

static void put(StorePlace *p, Store *s, const char *call, const char *subject, bool expect_fresh) {
    StoreDecision d = decision(call, subject);
    bool fresh = !expect_fresh;
    must(p, store_decision_put(s, &d, &fresh, &p->err));
    assert_int_equal(fresh, expect_fresh);
}

typedef struct Seen { int64_t n; char subject[200], input[8]; } Seen;
static bool see(void *ctx, const StoreDecision *d) {
    Seen *s = ctx;
    s->n++;
    assert_int_equal(d->n, s->n);
    snprintf(s->subject, sizeof s->subject, "%.*s", STR_ARG(d->subject));
    snprintf(s->input, sizeof s->input, "%.*s", STR_ARG(d->input));
    return true;
}

static void test_put(void **state) {
    (void)state;
    StorePlace place, *p = &place;
    place_open(p);
    Store *s = must_open(p);
    Seen seen = { 0 };
    StoreDecisionCheck check;
    must(p, store_decision_each(s, 0, see, &seen, &p->err));
    assert_int_equal(seen.n, 0);
    must(p, store_decision_verify(s, &check, NULL, NULL, &p->err));
    assert_true(check.decisions == 0 && check.faults == 0);
    put(p, s, "1", "ls", true);
    put(p, s, "1", "other", false);
    store_close(s);
    s = must_open(p);
    char large[5000];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = 0;
    put(p, s, "2", large, true);
    must(p, store_decision_each(s, 0, see, &seen, &p->err));
    assert_int_equal(seen.n, 2);
    assert_true(strncmp(seen.subject, "sha256:", 7) == 0 && strstr(seen.subject, "(4999 bytes)"));
    must(p, store_decision_verify(s, &check, NULL, NULL, &p->err));
    assert_true(check.decisions == 2 && check.faults == 0);
    store_close(s);
    place_close(p);
}

typedef struct Faults { int n; StoreDecisionFault last; int64_t from, to; } Faults;
static void note(void *ctx, StoreDecisionFault f, int64_t from, int64_t to) { Faults *x = ctx; *x = (Faults){ x->n + 1, f, from, to }; }

static void check_after(const char *change, StoreDecisionFault want, int64_t from) {
    StorePlace place, *p = &place;
    place_open(p);
    Store *s = must_open(p);
    Faults f = { 0 };
    StoreDecisionCheck check;
    for (int i = 0; i < 5; i++) {
        char call[8];
        snprintf(call, sizeof call, "%d", i);
        put(p, s, call, "x", true);
    }
    store_close(s);
    sql(p->path, change);
    s = must_open(p);
    must(p, store_decision_verify(s, &check, note, &f, &p->err));
    assert_int_equal(check.faults, 1);
    assert_int_equal(f.last, want);
    assert_int_equal(f.from, from);
    store_close(s);
    place_close(p);
}

/* The chain covers the call that was decided about. */
static void check_input(const char *change, int faults) {
    StorePlace place, *p = &place;
    place_open(p);
    Store *s = must_open(p);
    StoreDecisionCheck check;
    Seen seen = { 0 };
    for (int i = 0; i < 3; i++) {
        StoreDecision d = decision((const char *[]){ "1", "2", "3" }[i], "ls");
        if (i != 1) d.input = STR("{\"a\":1}");
        must(p, store_decision_put(s, &d, &(bool){ false }, &p->err));
    }
    must(p, store_decision_each(s, 0, see, &seen, &p->err));
    assert_string_equal(seen.input, "{\"a\":1}");
    store_close(s);
    if (change) sql(p->path, change);
    s = must_open(p);
    must(p, store_decision_verify(s, &check, NULL, NULL, &p->err));
    assert_int_equal(check.faults, faults);
    store_close(s);
    place_close(p);
}

static void test_input(void **state) {
    (void)state;
    check_input(NULL, 0);
    check_input("UPDATE decisions SET input = '{}' WHERE n = 3", 1);
    check_input("UPDATE decisions SET input = '' WHERE n = 1", 1);
    check_input("UPDATE decisions SET input = '{}' WHERE n = 2", 1);
}

/* A file of format 4: the chain holds, and goes on with rows that have an input. */
static void test_format_4(void **state) {
    (void)state;
    StorePlace place, *p = &place;
    place_open(p);
    Store *s = must_open(p);
    Seen seen = { 0 };
    StoreDecisionCheck check;
    put(p, s, "1", "ls", true);
    store_close(s);
    sql(p->path, "ALTER TABLE decisions DROP COLUMN input; PRAGMA user_version = 4");
    s = must_open(p);
    StoreDecision d = decision("2", "cat");
    d.input = STR("{}");
    must(p, store_decision_put(s, &d, &(bool){ false }, &p->err));
    must(p, store_decision_each(s, 0, see, &seen, &p->err));
    assert_true(seen.n == 2 && strcmp(seen.input, "{}") == 0);
    must(p, store_decision_verify(s, &check, NULL, NULL, &p->err));
    assert_true(check.decisions == 2 && check.faults == 0);
    store_close(s);
    assert_int_equal(number(p->path, "PRAGMA user_version"), SQLITE_FILE_FORMAT);
    sql(p->path, "DROP TABLE decisions; PRAGMA user_version = 4");
    s = must_open(p);
    store_close(s);
    assert_int_equal(number(p->path, "PRAGMA user_version"), SQLITE_FILE_FORMAT);
    place_close(p);
}

static void test_changed(void **state) { (void)state; check_after("UPDATE decisions SET reason = 'other' WHERE n = 3", STORE_DECISION_CHANGED, 3); }
static void test_removed(void **state) { (void)state; check_after("DELETE FROM decisions WHERE n BETWEEN 2 AND 3", STORE_DECISION_REMOVED, 2); }
static void test_end(void **state) { (void)state; check_after("DELETE FROM decisions WHERE n = 5", STORE_DECISION_HEAD, 4); }
static void test_all(void **state) { (void)state; check_after("DELETE FROM decisions", STORE_DECISION_HEAD, 0); }
static void test_head(void **state) { (void)state; check_after("DELETE FROM notes WHERE scope = 'decisions'", STORE_DECISION_HEAD, 5); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put), cmocka_unit_test(test_changed), cmocka_unit_test(test_removed), cmocka_unit_test(test_end),
        cmocka_unit_test(test_all), cmocka_unit_test(test_head), cmocka_unit_test(test_input), cmocka_unit_test(test_format_4),
    };
    const struct CMUnitTest both[] = {
        cmocka_unit_test(test_put), cmocka_unit_test(test_changed), cmocka_unit_test(test_removed), cmocka_unit_test(test_end),
        cmocka_unit_test(test_all), cmocka_unit_test(test_head), cmocka_unit_test(test_input),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + run_on_postgres(both);
}
