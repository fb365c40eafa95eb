/* Which part of a too long conversation is kept. */
#include "agent/context.h"
#include "unit.h"
#include "value/dict.h"

/* A conversation in letters: S system, U user, A a reply, C a reply with one call, P one with two, T a result, B a
 * large result stored as an artifact. A number after a letter is the length of its text in bytes. */
static Value put_text(Heap *h, Dict *d, const char *key, Str text) {
    dict_put_str(h, d, str_from(key), value_from_object(string_new(h, text, NULL)), NULL);
    return value_from_object(d);
}

static Value call(Heap *h) {
    Dict *d = dict_new(h, 3, NULL);
    put_text(h, d, "id", STR("c"));
    put_text(h, d, "name", STR("tool"));
    return put_text(h, d, "arguments", STR("{}"));
}

static Value message(Heap *h, char letter, size_t length) {
    static const char *const roles[] = { ['S'] = "system", ['U'] = "user", ['A'] = "assistant", ['C'] = "assistant", ['P'] = "assistant",
        ['T'] = "tool", ['B'] = "tool" };
    Dict *d = dict_new(h, 4, NULL);
    Buf text = { 0 };
    for (size_t i = 0; i < length; i++) buf_add_char(&text, 'x');
    put_text(h, d, "role", str_from(roles[(int)letter]));
    put_text(h, d, "content", buf_str(&text));
    if (letter == 'B') put_text(h, d, "artifact", STR("art_1"));
    if (letter == 'C' || letter == 'P') {
        List *calls = list_new(h, 2, NULL);
        for (int i = 0; i < (letter == 'P' ? 2 : 1); i++) list_push(h, calls, call(h), NULL);
        dict_put_str(h, d, STR("tool_calls"), value_from_object(calls), NULL);
    }
    buf_clear(&text);
    return value_from_object(d);
}

static List *conversation(Heap *h, const char *spec) {
    List *l = list_new(h, 8, NULL);
    for (const char *at = spec; *at;) {
        char letter = *at++;
        if (letter == ' ') continue;
        char *end;
        size_t n = strtoul(at, &end, 10);
        at = end;
        list_push(h, l, message(h, letter, n), NULL);
    }
    return l;
}

/* A system prompt at the front is not part of the history. */
static bool fit(Heap *h, const List *all, ContextLimits limits, int64_t reserved, List **kept, ContextReport *report) {
    History history = { 0 };
    bool system = all->n && str_eq(value_member_text(all->at[0], "role"), STR("system"));
    for (uint32_t i = system; i < all->n; i++) history_add(&history, all->at[i]);
    bool ok = context_fit(h, system ? all->at[0] : VALUE_GONE, &history, limits, reserved, kept, report, NULL);
    for (uint32_t i = 0, gone = 0; i <= history.n; i++) {
        if (i == history.n) assert_int_equal(gone, report->dropped);
        else gone += context_left(report, i);
    }
    history_clear(&history);
    return ok;
}

/* Replies that are sent as large items fill the budget, and leave it with their rounds. */
static void test_items_count(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    List *kept;
    ContextReport report;
    for (int heavy = 0; heavy < 2; heavy++) {
        History history = { 0 };
        history_add(&history, message(h, 'U', 40));
        for (int round = 0; round < 8; round++) {
            history_add(&history, message(h, 'C', 40));
            history_weigh(&history, heavy ? 4000 : 1);       /* fewer bytes than the neutral form: no effect */
            history_add(&history, message(h, 'T', 40));
        }
        assert_true(context_fit(h, VALUE_GONE, &history, (ContextLimits){ .max_tokens = 4000 }, 0, &kept, &report, NULL));
        assert_int_equal(kept->n, heavy ? 3 : 17);
        assert_true(report.tokens <= 4000);
        if (heavy) assert_true(report.tokens > 1000);
        else assert_true(report.tokens < 600);
        history_clear(&history);
    }
    heap_free(h);
}

/* Indexes of the kept messages; a shortened one has a ~. */
static void places(const List *all, const List *kept, Buf *out) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < all->n && k < kept->n; i++) {
        bool same = value_same(all->at[i], kept->at[k]);
        Value *a = dict_find_str(value_dict(kept->at[k]), STR("artifact")), *b = dict_find_str(value_dict(all->at[i]), STR("artifact"));
        bool shorter = !same && a && b;
        if (!same && !shorter) continue;
        buf_add_fmt(out, "%s%u%s", out->n ? " " : "", i, shorter ? "~" : "");
        k++;
    }
    assert_int_equal(k, kept->n);
}

static const struct { const char *name, *spec; int64_t history, tokens, reserved; const char *stays; } cases[] = {
    { "nothing is too much", "S U A U A", 0, 0, 0, "0 1 2 3 4" },
    { "all fits", "S40 U40 A40 U40", 50, 1000, 0, "0 1 2 3" },
    { "the oldest exchange leaves, the first words stay", "S U A U A U A U", 6, 0, 0, "0 1 7" },
    { "as many as it takes", "S U A U A U A U", 2, 0, 0, "0 1 7" },
    { "never the first words, the present ones, the system", "S4000 U4000 A U4000", 1, 10, 0, "0 1 3" },
    { "a budget that is far too small", "S400 U400", 1, 1, 100000, "0 1" },
    { "an exchange leaves with its calls and results", "S U C T A U C T A U C T A U", 12, 0, 0, "0 1 9 10 11 12 13" },
    { "tokens count", "S U40 A4000 U40 A40 U40", 0, 200, 0, "0 1 3 4 5" },
    { "what tools take counts", "S U40 A400 U40 A40 U40", 0, 1000, 880, "0 1 3 4 5" },
    { "large results shrink before anything leaves", "S U B8000 A U C B8000 A", 0, 300, 0, "0 1 2~ 3 4 5 6~ 7" },
    { "oldest first, until half of the limit is left", "S U C B8000 C B8000 C B8000 C B8000 C T40", 0, 8000, 0, "0 1 2 3~ 4 5~ 6 7~ 8 9 10 11" },
    { "small results do not shrink", "S U C B100 C T2000", 0, 100, 0, "0 1 4 5" },
    { "rounds of the present exchange leave whole", "S U C T C T C T C T", 8, 0, 0, "0 1 8 9" },
    { "the newest round stays, whatever it costs", "S U C T P T4000 T4000", 3, 100, 0, "0 1 4 5 6" },
    { "a parallel round leaves with all its results", "S U P T T C T", 4, 0, 0, "0 1 5 6" },
    { "what has left by its number does not make others shrink", "S U C B8000 C B8000 C B8000", 3, 2100, 0, "0 1 6 7" },
    { "what is answered stays before its newest rounds", "S U A U C T C T C T", 4, 0, 0, "0 1 3 8 9" },
    { "no system prompt", "U A U A U", 3, 0, 0, "0 4" },
    { "no message", "S", 1, 1, 0, "0" },
    { "empty", "", 1, 1, 0, "" },
};

static void test_fit(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Heap *h = heap_new(0);
        Buf got = { 0 };
        List *all = conversation(h, cases[i].spec), *kept;
        ContextReport report;
        assert_true(fit(h, all, (ContextLimits){ cases[i].history, cases[i].tokens }, cases[i].reserved, &kept, &report));
        places(all, kept, &got);
        if (!str_eq(buf_str(&got), str_from(cases[i].stays)))
            fail_msg("%s: \"%s\": stays \"" STR_FMT "\", expected \"%s\"", cases[i].name, cases[i].spec, STR_ARG(buf_str(&got)), cases[i].stays);
        assert_int_equal(report.kept, kept->n);
        assert_int_equal(report.kept + report.dropped, all->n);
        buf_clear(&got);
        heap_free(h);
    }
}

/* A growing conversation is cut rarely, to half of its limit, and between two cuts each request starts with the
 * previous one. */
static void test_cuts(void **state) {
    (void)state;
    static const ContextLimits limits[] = { { .max_history = 40 }, { .max_tokens = 4000 } };
    for (size_t l = 0; l < 2; l++) {
        Heap *h = heap_new(0);
        History history = { 0 };
        List *before = NULL;
        int cuts = 0;
        for (int round = 0; round < 200; round++) {
            if (round % 10 == 0) history_add(&history, message(h, 'U', 40));
            history_add(&history, message(h, 'C', 40));
            history_add(&history, message(h, round % 3 ? 'T' : 'B', round % 3 ? 200 : 800));
            List *now;
            ContextReport report;
            assert_true(context_fit(h, VALUE_GONE, &history, limits[l], 0, &now, &report, NULL));
            bool same = before && now->n > before->n;
            for (uint32_t i = 0; same && i < before->n; i++) same = value_same(before->at[i], now->at[i])
                || dict_find_str(value_dict(now->at[i]), STR("artifact"));
            cuts += before && !same;
            if (limits[l].max_history) assert_true(now->n <= 40);
            else assert_true(report.tokens <= 4000);
            before = now;
        }
        assert_true(cuts > 2 && cuts < 50);
        history_clear(&history);
        heap_free(h);
    }
}

/* Whatever the budget, a call is never sent without its results, nor a result without its call. */
static void test_pairs(void **state) {
    (void)state;
    static const char *const specs[] = { "S U C T U P T T A U C T C T P T T", "U P T T P T T P T T", "S U A A U C B9000 C B9000 C B9000 U C T" };
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (int64_t history = 0; history < 20; history++)
            for (int64_t tokens = 0; tokens < 400; tokens += 7) {
                Heap *h = heap_new(0);
                List *kept;
                ContextReport report;
                assert_true(fit(h, conversation(h, specs[s]), (ContextLimits){ history, tokens }, 0, &kept, &report));
                int64_t open = 0;
                for (uint32_t i = 0; i < kept->n; i++) {
                    Dict *d = value_dict(kept->at[i]);
                    bool is_result = str_eq(value_str(*dict_find_str(d, STR("role"))), STR("tool"));
                    if (!is_result) assert_int_equal(open, 0);
                    Value *calls = dict_find_str(d, STR("tool_calls"));
                    open += calls ? (int64_t)value_list(*calls)->n : is_result ? -1 : 0;
                    assert_true(open >= 0);
                }
                assert_int_equal(open, 0);
                heap_free(h);
            }
}

static void test_tokens(void **state) {
    (void)state;
    assert_int_equal(context_tokens(STR("")), 0);
    assert_int_equal(context_tokens(STR("abcd")), 1);
    assert_int_equal(context_tokens(STR("abcde")), 2);
    Heap *h = heap_new(0);
    assert_true(context_message_tokens(message(h, 'C', 8)) > context_message_tokens(message(h, 'A', 8)));
    assert_true(context_message_tokens(VALUE_NONE) >= 0);
    heap_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_fit), cmocka_unit_test(test_cuts), cmocka_unit_test(test_pairs), cmocka_unit_test(test_tokens),
                                        cmocka_unit_test(test_items_count) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
