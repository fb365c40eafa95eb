/* Questions and commands: the first answer counts, an answer serves one call, commands arrive in order. */
#include "place.h"
#include "store/store_dialog.h"
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

static void test_notes(void **state) {
    (void)state;
    StorePlace p;
    Buf text = { 0 };
    bool found;
    place_open(&p);
    Store *s = must_open(&p);
    assert_true(store_question_note_put(s, STR("r"), STR("q1"), STORE_QUESTION_SHOWN, STR("rm x"), &p.err));
    assert_true(store_question_note_get(s, STR("r"), STR("q1"), STORE_QUESTION_ABOUT, &text, &found, &p.err) && !found);
    assert_true(store_question_note_put(s, STR("r"), STR("q1"), STORE_QUESTION_ABOUT, STR("{}"), &p.err));
    assert_true(store_question_note_get(s, STR("r"), STR("q1-2"), STORE_QUESTION_SHOWN, &text, &found, &p.err) && found);     /* asked again after its answer was used */
    assert_string_equal(text.at, "rm x");
    assert_true(store_question_note_get(s, STR("r"), STR("q1-2"), STORE_QUESTION_ABOUT, &text, &found, &p.err) && found);
    assert_string_equal(text.at, "{}");
    assert_true(store_question_note_get(s, STR("other"), STR("q1"), STORE_QUESTION_SHOWN, &text, &found, &p.err) && !found);
    buf_clear(&text);
    store_close(s);
    place_close(&p);
}

typedef struct SeenDialog { int n; char id[20], body[40], state[20], answer[40], by[20]; } SeenDialog;

static void copy(char *to, size_t size, Str s) { snprintf(to, size, STR_FMT, STR_ARG(s)); }

static bool see_dialog(void *ctx, const StoreDialog *d) {
    SeenDialog *seen = ctx;
    seen->n++;
    copy(seen->id, sizeof seen->id, d->id);
    copy(seen->body, sizeof seen->body, d->body);
    copy(seen->state, sizeof seen->state, d->state);
    copy(seen->answer, sizeof seen->answer, d->answer);
    copy(seen->by, sizeof seen->by, d->by);
    return true;
}

/* A dialog cannot be taken for an approval, nor an approval for a dialog. */
static void test_dialogs(void **state) {
    (void)state;
    StorePlace p;
    Buf id = { 0 };
    bool yes, open;
    place_open(&p);
    Store *s = must_open(&p);
    assert_true(store_approval_ask(s, &question, &id, &p.err));
    StoreDialog d = { .id = STR("d1"), .run = STR("r"), .call = STR("c"), .tool = STR("show_dialog"), .body = STR("{\"title\":1}") };
    assert_true(store_dialog_ask(s, &d, &p.err));
    Seen questions = { 0 };
    SeenDialog dialogs = { 0 }, one = { 0 };
    assert_true(store_approval_each(s, see, &questions, &p.err));
    assert_int_equal(questions.n, 1);
    assert_true(store_dialog_each(s, see_dialog, &dialogs, &p.err));
    assert_int_equal(dialogs.n, 1);
    assert_string_equal(dialogs.id, "d1");
    assert_string_equal(dialogs.body, "{\"title\":1}");
    assert_int_equal(look(&p, s, "d1").n, 0);
    assert_false(store_approval_find(s, STR("d1"), &id, &p.err));
    assert_true(store_approval_answer(s, STR("d1"), STR("{\"answer\":\"yes\"}"), STR("a"), &yes, &p.err) && !yes);
    assert_true(store_dialog_get(s, STR("q1"), see_dialog, &one, &p.err));
    assert_int_equal(one.n, 0);
    assert_true(store_dialog_answer(s, STR("q1"), STR("{}"), STR("a"), &yes, &p.err) && !yes);
    assert_string_equal(look(&p, s, "q1").state, "open");
    assert_true(store_question_open(s, STR("d1"), &open, &p.err) && open);
    assert_true(store_dialog_answer(s, STR("d1"), STR("{\"button\":0}"), STR("a"), &yes, &p.err) && yes);
    assert_true(store_dialog_answer(s, STR("d1"), STR("{\"button\":1}"), STR("b"), &yes, &p.err) && !yes);
    assert_true(store_question_open(s, STR("d1"), &open, &p.err) && !open);
    assert_true(store_dialog_get(s, STR("d1"), see_dialog, &one, &p.err));
    assert_string_equal(one.answer, "{\"button\":0}");
    assert_string_equal(one.by, "a");
    assert_true(store_dialog_withdraw(s, STR("d1"), &p.err));                                /* too late */
    assert_true(store_dialog_get(s, STR("d1"), see_dialog, &one, &p.err));
    assert_string_equal(one.state, "answered");
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

/* A console that was killed counts for STORE_VIEWER_S seconds; the next one removes its row. */
static void test_viewers(void **state) {
    (void)state;
    StorePlace p;
    Buf text = { 0 };
    bool any = true, found;
    place_open(&p);
    Store *s = must_open(&p);
    assert_true(store_viewer_any(s, &any, &p.err) && !any);
    assert_true(store_viewer_put(s, STR("one"), &p.err) && store_viewer_put(s, STR("two"), &p.err));
    assert_true(store_viewer_remove(s, STR("one"), &p.err));
    assert_true(store_viewer_any(s, &any, &p.err) && any);
    assert_true(store_viewer_remove(s, STR("two"), &p.err));
    assert_true(store_viewer_any(s, &any, &p.err) && !any);
    static const char *const others[] = { "1000000000", "99999999999", "no time", "" };      /* long ago, a wrong clock, garbage */
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_true(store_note_put(s, STR("viewers"), STR("killed"), str_from(others[i]), &p.err));
        assert_true(store_viewer_any(s, &any, &p.err) && !any);
    }
    assert_true(store_viewer_put(s, STR("three"), &p.err));
    assert_true(store_note_get(s, STR("viewers"), STR("killed"), &text, &found, &p.err) && !found);
    buf_clear(&text);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life), cmocka_unit_test(test_notes), cmocka_unit_test(test_dialogs), cmocka_unit_test(test_viewers),
        cmocka_unit_test(test_find), cmocka_unit_test(test_one_wins), cmocka_unit_test(test_commands), cmocka_unit_test(test_expires),
    };
    const struct CMUnitTest both[] = {
        cmocka_unit_test(test_life), cmocka_unit_test(test_notes), cmocka_unit_test(test_dialogs), cmocka_unit_test(test_viewers),
        cmocka_unit_test(test_find), cmocka_unit_test(test_one_wins), cmocka_unit_test(test_commands), cmocka_unit_test(test_expires),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + run_on_postgres(both);
}
