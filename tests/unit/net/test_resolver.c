#include "net_unit.h"
#include "base/clock.h"
#include "net/resolver.h"

static Target target(const char *host) {
    Target t;
    assert_true(target_set(str_from(host), 80, &t, NULL));
    return t;
}

static void asks_the_system(void **state) {
    (void)state;
    Resolver *r = resolver_new();
    Addresses found = { 0 };
    Error err = { 0 };
    Target t = target("localhost");
    if (!resolver_find(r, &t, NULL, &found, &err)) fail_msg("%s", err.msg);
    assert_true(found.n > 0);
    for (size_t i = 0; i < found.n; i++) assert_true(address_is_loopback(&found.at[i]));
    Cancel *soon = cancel_new(NULL, 3000000000);
    t = target("name.invalid");
    assert_false(resolver_find(r, &t, soon, &found, &err));
    assert_true(err.kind == ERR_TIMEOUT || strncmp(err.msg, "resolve name.invalid: ", 22) == 0);
    cancel_free(soon);
    resolver_free(r);
    resolver_free(NULL);
}

static void addresses_are_their_own_answer(void **state) {
    (void)state;
    Resolver *r = resolver_new();
    Addresses found = { 0 };
    Target t = target("0x7f.1");
    assert_true(resolver_find(r, &t, NULL, &found, NULL));
    assert_int_equal(found.n, 1);
    assert_true(address_is_loopback(&found.at[0]));
    Lookup *l = lookup_start(r, &t, NULL);
    assert_int_equal(poll(&(struct pollfd){ .fd = lookup_fd(l), .events = POLLIN }, 1, 0), 1);
    assert_true(lookup_end(l, &found, NULL));
    resolver_free(r);
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static bool wait_at_gate(void *ctx, const char *host, Addresses *out, Error *err) {
    (void)ctx, (void)err;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    if (strcmp(host, "nowhere.example") == 0) return true;             /* an answer without an address */
    return address_parse(STR("8.8.8.8"), &out->at[out->n++]);
}

static void lookups_are_bounded_and_can_be_left(void **state) {
    (void)state;
    Resolver *r = resolver_new();
    Target t = target("a.example");
    Lookup *lookups[RESOLVER_LOOKUPS_MAX];
    Error err = { 0 };
    Addresses found = { 0 };
    resolver_set_answer(r, wait_at_gate, NULL);
    pthread_mutex_lock(&gate);
    for (size_t i = 0; i < RESOLVER_LOOKUPS_MAX; i++) assert_non_null(lookups[i] = lookup_start(r, &t, &err));
    assert_null(lookup_start(r, &t, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    for (size_t i = 1; i < RESOLVER_LOOKUPS_MAX; i++) lookup_drop(lookups[i]);
    pthread_mutex_unlock(&gate);
    assert_true(lookup_end(lookups[0], &found, &err));
    assert_int_equal(found.n, 1);
    for (int i = 0; i < 500; i++) {                                    /* their slots are free again soon */
        Lookup *l = lookup_start(r, &t, &err);
        if (l) {
            lookup_drop(l);
            break;
        }
        usleep(10000);
        assert_true(i < 499);
    }
    t = target("nowhere.example");
    bool ok = true;
    for (int i = 0; i < 500 && (ok = resolver_find(r, &t, NULL, &found, &err), !ok && err.kind == ERR_LIMIT); i++) usleep(10000);
    assert_false(ok);
    assert_string_equal(err.msg, "resolve nowhere.example: no address");
    resolver_free(r);                                                  /* while some may still be running */
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(asks_the_system), cmocka_unit_test(addresses_are_their_own_answer),
                                        cmocka_unit_test(lookups_are_bounded_and_can_be_left) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
