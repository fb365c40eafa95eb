/* The stream of a session: its messages, and the replay to a client that lost its connection. */
#include "../net/net_socket.h"
#include "mcp/host/host_private.h"
#include "served.h"

typedef struct World { Tree tree; McpHost *server; Cancel *stop; McpHttpConfig config; pthread_t thread; atomic_int port; bool ok; char session[64]; } World;

static void bound(void *ctx, uint16_t port) { atomic_store(&((World *)ctx)->port, port); }

static void *serve(void *arg) {
    World *w = arg;
    Error err = { 0 };
    w->ok = mcp_serve_http(w->server, &w->config, w->stop, &err);
    return NULL;
}

static void open_world(World *w) {
    *w = (World){ .tree = tree_new(), .stop = cancel_new(NULL, 0) };
    w->server = served_new(&w->tree);
    w->config = (McpHttpConfig){ .address = "127.0.0.1", .bound = bound, .ctx = w };
    assert_int_equal(pthread_create(&w->thread, NULL, serve, w), 0);
    while (!atomic_load(&w->port)) usleep(1000);
}

static void close_world(World *w) {
    cancel_fire(w->stop);
    pthread_join(w->thread, NULL);
    assert_true(w->ok);
    mcp_host_close(w->server, 0);
    cancel_free(w->stop);
    tree_free(&w->tree);
}

/* Reads until `text` appears. */
static void expect(int fd, Buf *in, const char *text) {
    while (str_find(buf_str(in), str_from(text)) < 0) {
        char *room = buf_room(in, 4096);
        ssize_t n = recv(fd, room, 4096, 0);
        if (n <= 0) fail_msg("no \"%s\" in:\n%s", text, in->at ? in->at : "");
        buf_commit(in, (size_t)n);
    }
}

static int post(World *w, const char *body, const char *until, Buf *in) {
    Buf text = { 0 };
    int fd = connect_to((uint16_t)w->port);
    buf_add_fmt(&text, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n%s%s%sContent-Length: %zu\r\n\r\n%s",
                w->session[0] ? "Mcp-Session-Id: " : "", w->session, w->session[0] ? "\r\n" : "", strlen(body), body);
    assert_true(send_all(fd, buf_str(&text)));
    buf_clear(&text);
    expect(fd, in, until);
    return fd;
}

static void initialize(World *w, const char *version) {
    Buf in = { 0 }, body = { 0 };
    buf_add_fmt(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}", version);
    close(post(w, body.at, "serverInfo", &in));
    const char *at = strstr(in.at, "Mcp-Session-Id: ");
    assert_non_null(at);
    snprintf(w->session, sizeof w->session, "%.*s", (int)strcspn(at + 16, "\r"), at + 16);
    in.n = 0;
    close(post(w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", "202", &in));
    buf_clear(&in);
    buf_clear(&body);
}

static int get(World *w, const char *last, Buf *in) {
    Buf text = { 0 };
    int fd = connect_to((uint16_t)w->port);
    buf_add_fmt(&text, "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n%s%s\r\n\r\n",
        w->session, last ? "Last-Event-ID: " : "X: y", last ? last : "");
    assert_true(send_all(fd, buf_str(&text)));
    buf_clear(&text);
    expect(fd, in, "\r\n\r\n");
    return fd;
}

static void broadcast_until(World *w, int fd, Buf *in, const char *method, const char *text) {
    for (int i = 0; i < 1000 && str_find(buf_str(in), str_from(text)) < 0; i++) {
        serve_broadcast(w->server, str_from(method), STR(""));
        struct pollfd p = { .fd = fd, .events = POLLIN };
        if (poll(&p, 1, 20) > 0) expect(fd, in, text);
    }
    expect(fd, in, text);
}

static void news_reach_the_stream(void **state) {
    (void)state;
    World w;
    Buf in = { 0 };
    open_world(&w);
    initialize(&w, "2025-11-25");
    int fd = get(&w, NULL, &in);
    expect(fd, &in, "id: 0-0\nretry: 500\ndata: \n\n");
    serve_broadcast(w.server, STR("notifications/tools/list_changed"), STR(""));
    expect(fd, &in, "id: 0-1\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"");
    close(fd);

    /* Messages sent while no client is connected are delivered on request, once, without earlier ones. */
    usleep(100000);
    serve_broadcast(w.server, STR("notifications/prompts/list_changed"), STR(""));
    serve_broadcast(w.server, STR("notifications/resources/list_changed"), STR(""));
    in.n = 0;
    fd = get(&w, "0-1", &in);
    expect(fd, &in, "id: 0-1\nretry");                       /* the id to resume from, should it lose this connection
                                                              * too */
    expect(fd, &in, "resources/list_changed");
    assert_true(str_find(buf_str(&in), STR("prompts/list_changed")) > 0);
    assert_true(str_find(buf_str(&in), STR("tools/list_changed")) < 0);
    close(fd);
    usleep(100000);
    in.n = 0;
    fd = get(&w, "0-2", &in);
    expect(fd, &in, "resources/list_changed");
    assert_true(str_find(buf_str(&in), STR("prompts/list_changed")) < 0);
    close(fd);
    buf_clear(&in);
    close_world(&w);
}

/* Clients of older versions treat an event without data as a broken message. */
static void older_clients_get_no_empty_events(void **state) {
    (void)state;
    World w;
    Buf in = { 0 };
    open_world(&w);
    initialize(&w, "2025-06-18");
    int fd = get(&w, NULL, &in);
    broadcast_until(&w, fd, &in, "notifications/tools/list_changed", "tools/list_changed");
    assert_true(str_find(buf_str(&in), STR("data: \n")) < 0);
    assert_true(str_find(buf_str(&in), STR("retry")) < 0);
    close(fd);
    buf_clear(&in);
    close_world(&w);
}

/* A client that never reads neither grows the server's memory nor blocks it. */
static void silent_readers_cost_little(void **state) {
    (void)state;
    World w;
    Buf in = { 0 };
    open_world(&w);
    initialize(&w, "2025-11-25");
    int fd = get(&w, NULL, &in);
    for (int i = 0; i < 50000; i++) serve_broadcast(w.server, STR("notifications/tools/list_changed"), STR(""));
    int other = post(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}", "\"result\"", &in);
    close(other);
    close(fd);
    buf_clear(&in);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(news_reach_the_stream), cmocka_unit_test(older_clients_get_no_empty_events), cmocka_unit_test(silent_readers_cost_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
