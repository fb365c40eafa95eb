/* Sessions of several owners: which one is evicted, and limits. */
#include "mcp/host/http_private.h"
#include "served.h"

typedef struct World { Tree tree; McpHost *server; McpHttpConfig config; Http http; } World;

static const uint8_t one[HTTP_OWNER] = { 1 }, other[HTTP_OWNER] = { 2 };

static void open_world(World *w) {
    *w = (World){ .tree = tree_new() };
    w->server = served_new(&w->tree);
    w->http.server = w->server;
    w->http.config = &w->config;
    pthread_mutex_init(&w->http.lock, NULL);
}

static void close_world(World *w) {
    http_sessions_end_all(&w->http);
    http_sessions_tidy(&w->http, 0);
    assert_int_equal(w->http.n, 0);
    assert_int_equal(w->http.n_closing, 0);
    pthread_mutex_destroy(&w->http.lock);
    mcp_host_close(w->server, 0);
    tree_free(&w->tree);
}

static HttpSession *named(World *w, const uint8_t *owner, const char *name) {
    Error err = { 0 };
    HttpSession *s = http_session_stateless(&w->http, owner, str_from(name), &err);
    if (!s) fail_msg("%s: %s", name, err.msg);
    return s;
}

static void nobody_drives_out_others(void **state) {
    (void)state;
    World w;
    char name[20];
    open_world(&w);
    HttpSession *quiet = named(&w, one, "quiet");            /* and so the oldest */
    for (int i = 0; i < HTTP_STATELESS_MAX + 20; i++) {
        snprintf(name, sizeof name, "%d", i);
        http_session_release(named(&w, other, name));
    }
    assert_int_equal(w.http.n_stateless, HTTP_STATELESS_MAX);
    HttpSession *again = named(&w, one, "quiet");
    assert_ptr_equal(again, quiet);
    http_session_release(again);
    http_session_release(quiet);

    /* An owner without a session gets one. */
    static const uint8_t third[HTTP_OWNER] = { 3 };
    http_session_release(named(&w, third, "new"));
    assert_int_equal(w.http.n_stateless, HTTP_STATELESS_MAX);
    close_world(&w);
}

static void those_that_end_are_bounded(void **state) {
    (void)state;
    World w;
    Error err = { 0 };
    open_world(&w);
    for (int i = 0; i < HTTP_CLOSING_MAX; i++) {
        HttpSession *s = http_session_new(&w.http, one, &err);
        assert_non_null(s);
        http_session_end(s);
        http_session_release(s);
    }
    assert_null(http_session_new(&w.http, one, &err));
    assert_non_null(strstr(err.msg, "are being closed"));
    http_sessions_tidy(&w.http, 0);
    HttpSession *s = http_session_new(&w.http, one, &err);
    assert_non_null(s);
    http_session_release(s);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(nobody_drives_out_others), cmocka_unit_test(those_that_end_are_bounded) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
