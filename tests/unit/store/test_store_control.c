/* Questions and commands: the first answer counts, an answer serves one call, commands arrive in order. */
#include "place.h"
#include <pthread.h>
#include "base/clock.h"

static const StoreApproval question = { .id = STR("q1"), .run = STR("r"), .call = STR("c"), .tool = STR("deploy"), .args = STR("{}"), .args_hash = STR("h"),
                                        .why = STR("confirm: true"), .rule = STR("confirm: true") };

typedef struct Seen { char state[16], answer[64], by[32]; int n; } Seen;

static bool see(void *ctx, const StoreApproval *a) {
    Seen *s = ctx;
    snprintf(s->state, sizeof s->state, STR_FMT, STR_ARG(a->state));
    snprintf(s->answer, sizeof s->answer, STR_FMT, STR_ARG(a->answer));
    snprintf(s->by, sizeof s->by, STR_FMT, STR_ARG(a->by));
    s->n++;
    return true;
}

static Seen look(StorePlace *p, Store *s, const char *id) {
    Seen seen = { 0 };
    assert_true(store_approval_get(s, str_from(id), see, &seen, &p->err));
    return seen;
}

static void test_life(void **state) {
    (void)state;
    StorePlace p;
    Buf id = { 0 };
    bool yes;
    place_open(&p);
    Store *s = must_open(&p);
    assert_true(store_approval_ask(s, &question, &id, &p.err));
    assert_string_equal(id.at, "q1");
    assert_true(store_approval_use(s, STR("q1"), &yes, &p.err) && !yes);                     /* not answered yet */
    assert_true(store_approval_answer(s, STR("q1"), STR("{\"answer\":\"yes\"}"), STR("a"), &yes, &p.err) && yes);
    assert_true(store_approval_answer(s, STR("q1"), STR("{\"answer\":\"no\"}"), STR("b"), &yes, &p.err) && !yes);
    assert_string_equal(look(&p, s, "q1").by, "a");
    assert_true(store_approval_withdraw(s, STR("q1"), &p.err));                              /* too late: it stays answered */
    assert_string_equal(look(&p, s, "q1").state, "answered");
    assert_true(store_approval_ask(s, &question, &id, &p.err));                              /* again, after a crash: the answer is there */
    assert_string_equal(id.at, "q1");
    assert_string_equal(look(&p, s, "q1").answer, "{\"answer\":\"yes\"}");
    assert_true(store_approval_use(s, STR("q1"), &yes, &p.err) && yes);
    assert_true(store_approval_use(s, STR("q1"), &yes, &p.err) && !yes);
    assert_true(store_approval_ask(s, &question, &id, &p.err));                              /* used: this is another question */
    assert_string_equal(id.at, "q1-2");
    assert_string_equal(look(&p, s, "q1-2").state, "open");
    assert_true(store_approval_withdraw(s, STR("q1-2"), &p.err));
    assert_true(store_approval_answer(s, STR("q1-2"), STR("{}"), STR("c"), &yes, &p.err) && !yes);
    Seen open = { 0 };
    assert_true(store_approval_each(s, see, &open, &p.err));
    assert_int_equal(open.n, 0);
    assert_int_equal(look(&p, s, "nothing").n, 0);
    buf_clear(&id);
    store_close(s);
    place_close(&p);
}

/* An expired question takes no answer. Asked again it keeps its time, and another question of the same call replaces it. */
static void test_expires(void **state) {
    (void)state;
    StorePlace p;
    Buf id = { 0 };
    bool yes;
    StoreApproval soon = question, never = question, other = question;
    place_open(&p);
    Store *s = must_open(&p);
    soon.expires_ns = clock_wall_ns() - 1;
    assert_true(store_approval_ask(s, &soon, &id, &p.err));
    assert_true(store_approval_answer(s, STR("q1"), STR("{}"), STR("a"), &yes, &p.err) && !yes);
    soon.expires_ns = clock_wall_ns() + INT64_C(3600000000000);
    assert_true(store_approval_ask(s, &soon, &id, &p.err));
    assert_true(store_approval_answer(s, STR("q1"), STR("{}"), STR("a"), &yes, &p.err) && !yes);
    assert_string_equal(look(&p, s, "q1").state, "open");
    assert_true(store_approval_withdraw(s, STR("q1"), &p.err));                              /* after that, its time starts again */
    assert_true(store_approval_ask(s, &soon, &id, &p.err));
    assert_true(store_approval_ask(s, &never, &id, &p.err));
    other.id = STR("q2");
    other.args = STR("{\"a\":1}");
    assert_true(store_approval_ask(s, &other, &id, &p.err));
    assert_string_equal(look(&p, s, "q1").state, "withdrawn");
    assert_true(store_approval_answer(s, STR("q2"), STR("{}"), STR("a"), &yes, &p.err) && yes);
    assert_true(store_approval_ask(s, &never, &id, &p.err));                                 /* an answered one stays */
    assert_string_equal(look(&p, s, "q2").state, "answered");
    assert_string_equal(look(&p, s, "q1").state, "open");
    buf_clear(&id);
    store_close(s);
    place_close(&p);
}

static void test_find(void **state) {
    (void)state;
    StorePlace p;
    Buf id = { 0 };
    StoreApproval q = question;
    place_open(&p);
    Store *s = must_open(&p);
    for (int i = 0; i < 2; i++) {
        q.id = i ? STR("qaz") : STR("qab");
        assert_true(store_approval_ask(s, &q, &id, &p.err));
    }
    assert_true(store_approval_find(s, STR("qab"), &id, &p.err));
    assert_string_equal(id.at, "qab");
    assert_true(store_approval_find(s, STR("qaz"), &id, &p.err));
    assert_false(store_approval_find(s, STR("qa"), &id, &p.err));
    assert_string_equal(p.err.msg, "more than one question begins with qa");
    assert_false(store_approval_find(s, STR("x"), &id, &p.err));
    assert_string_equal(p.err.msg, "there is no question x");
    buf_clear(&id);
    store_close(s);
    place_close(&p);
}

/* Many processes and threads answer one question: one of them is first. */
typedef struct Racer { const char *path; bool first; } Racer;

static void *race(void *arg) {
    Racer *r = arg;
    Store *s = NULL;
    Error err = { 0 };
    if (store_open(r->path, false, &s, &err)) (void)store_approval_answer(s, STR("q1"), STR("{}"), STR("x"), &r->first, &err);
    store_close(s);
    return NULL;
}

static void test_one_wins(void **state) {
    (void)state;
    enum { RACERS = 8 };
    StorePlace p;
    Buf id = { 0 };
    pthread_t threads[RACERS];
    Racer racers[RACERS];
    int won = 0;
    place_open(&p);
    Store *s = must_open(&p);
    assert_true(store_approval_ask(s, &question, &id, &p.err));
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (Racer){ p.path, false };
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < RACERS; i++) pthread_join(threads[i], NULL), won += racers[i].first;
    assert_int_equal(won, 1);
    buf_clear(&id);
    store_close(s);
    place_close(&p);
}

typedef struct Heard { char all[64]; int64_t last; } Heard;

static bool hear(void *ctx, const StoreCommand *c) {
    Heard *h = ctx;
    size_t n = strlen(h->all);
    snprintf(h->all + n, sizeof h->all - n, STR_FMT ":" STR_FMT " ", STR_ARG(c->kind), STR_ARG(c->body));
    h->last = c->n;
    return true;
}

static void test_commands(void **state) {
    (void)state;
    StorePlace p;
    Heard h = { 0 };
    int64_t before = 0, after = 0;
    place_open(&p);
    Store *s = must_open(&p), *other = must_open(&p);
    assert_true(store_version(s, &before, &p.err));
    assert_true(store_command_put(other, STR("r"), STR("message"), STR("one"), STR("me"), &p.err));
    assert_true(store_version(s, &after, &p.err));
    assert_true(before != after);
    assert_true(store_command_put(other, STR("r"), STR("message"), STR("two"), STR("me"), &p.err));
    assert_true(store_command_put(other, STR("elsewhere"), STR("cancel"), STR(""), STR("me"), &p.err));
    assert_true(store_command_put(other, STR("r"), STR("cancel"), STR(""), STR("me"), &p.err));
    assert_true(store_command_each(s, STR("r"), 0, hear, &h, &p.err));
    assert_string_equal(h.all, "message:one message:two cancel: ");
    assert_int_equal(h.last, 3);
    h = (Heard){ 0 };
    assert_true(store_command_each(s, STR("r"), 1, hear, &h, &p.err));
    assert_string_equal(h.all, "message:two cancel: ");
    assert_false(store_command_put(other, STR("r"), STR("dance"), STR(""), STR("me"), &p.err));
    store_close(s);
    store_close(other);
    place_close(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_life), cmocka_unit_test(test_find), cmocka_unit_test(test_one_wins),
        cmocka_unit_test(test_commands), cmocka_unit_test(test_expires) };
    const struct CMUnitTest both[] = {
        cmocka_unit_test(test_life), cmocka_unit_test(test_find), cmocka_unit_test(test_one_wins), cmocka_unit_test(test_commands),
        cmocka_unit_test(test_expires),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + run_on_postgres(both);
}
