/* A project, a server and a client without a transport; collects the messages to the client. */
#pragma once
#include <pthread.h>
#include <time.h>
#include "mcp/host/host_private.h"
#include "tool/tree.h"

/* Collects responses in order; tests can wait for them. */
typedef struct Box {
    McpLink link;
    pthread_mutex_t lock;
    pthread_cond_t more;
    Buf text;                            /* one line each; "!" marks the last message of a link */
    size_t lines;
    bool freed;
} Box;

static inline bool box_send(McpLink *l, Str message, bool last) {
    Box *b = (Box *)l;
    pthread_mutex_lock(&b->lock);
    buf_add(&b->text, message);
    buf_add(&b->text, last ? STR("!\n") : STR("\n"));
    b->lines++;
    pthread_cond_broadcast(&b->more);
    pthread_mutex_unlock(&b->lock);
    return true;
}

static inline void box_free(McpLink *l) {
    Box *b = (Box *)l;
    pthread_mutex_lock(&b->lock);
    b->freed = true;
    pthread_cond_broadcast(&b->more);
    pthread_mutex_unlock(&b->lock);
}

static inline void box_init(Box *b) {
    *b = (Box){ .link = { .send = box_send, .free = box_free, .holders = 1 } };
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->more, NULL);
}

static inline void box_clear(Box *b) {
    buf_clear(&b->text);
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->more);
}

/* All messages once there are n lines; empties the box. The caller frees it. */
static inline char *box_take(Box *b, size_t n) {
    pthread_mutex_lock(&b->lock);
    while (b->lines < n) pthread_cond_wait(&b->more, &b->lock);
    assert_int_equal(b->lines, n);
    b->lines = 0;
    char *text = str_dup(buf_str(&b->text));
    buf_reset(&b->text);
    pthread_mutex_unlock(&b->lock);
    return text;
}

/* The same once a message contains `part`. */
static inline char *box_take_with(Box *b, const char *part) {
    pthread_mutex_lock(&b->lock);
    while (!b->text.n || !strstr(b->text.at, part)) pthread_cond_wait(&b->more, &b->lock);
    b->lines = 0;
    char *text = str_dup(buf_str(&b->text));
    buf_reset(&b->text);
    pthread_mutex_unlock(&b->lock);
    return text;
}

static inline void wait_until_freed(Box *b) {
    pthread_mutex_lock(&b->lock);
    while (!b->freed) pthread_cond_wait(&b->more, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

typedef struct World { Tree tree; McpHost *server; McpPeer *peer; Box box; } World;

static const char echo[] = "---\nparameters:\n  text: { type: string, required: true }\nscript: |\n  def run(args):\n      return args[\"text\"]\n---\nSays it again.\n";
static const char nap[] = "---\nscript: |\n  def run(args):\n      sleep(args.get(\"s\", 30))\n      return \"slept\"\n---\nSleeps.\n";
static const char loud[] = "---\nscript: |\n  def run(args):\n      log.debug(\"a\")\n      log.warn(\"b\")\n      return \"said\"\n---\nLogs.\n";

static const char job[] = "---\nasync: true\nscript: |\n  def run(args):\n      sleep(30)\n      return \"done\"\n---\nTakes long.\n";
static const char wish[] = "---\nasync: true\nscript: |\n  def run(args):\n      return ask(\"What?\")[\"action\"]\n---\nAsks.\n";

static const char heap[] = "---\nasync: true\noutput_schema: { type: object }\nscript: |\n  def run(args):\n      return {\"much\": \"x\" * 5000000}\n---\nGives much.\n";

static const char sure[] = "---\nconfirm: true\nscript: |\n  def run(args):\n      return \"one\"\n---\nIs asked about.\n";

static inline void open_world_with(World *w, const char *settings, size_t bytes_max) {
    Error err = { 0 };
    Problems problems = { 0 };
    w->tree = tree_new();
    tree_text(&w->tree, "harness.md", settings);
    tree_text(&w->tree, ".harness/tools/echo.md", echo);
    tree_text(&w->tree, ".harness/tools/nap.md", nap);
    tree_text(&w->tree, ".harness/tools/loud.md", loud);
    tree_text(&w->tree, ".harness/tools/job.md", job);
    tree_text(&w->tree, ".harness/tools/wish.md", wish);
    tree_text(&w->tree, ".harness/tools/heap.md", heap);
    tree_text(&w->tree, ".harness/tools/sure.md", sure);
    McpHostConfig config = { .runtime = { .dir = w->tree.path, .ephemeral = true }, .events = -1, .version = "1.2.3", .bytes_max = bytes_max };
    if (!mcp_host_new(&config, &w->server, &problems, &err)) fail_msg("%s %s", err.msg, problems.n ? str_dup(problems.at[0].message) : "");
    problems_clear(&problems);
    box_init(&w->box);
    w->peer = mcp_peer_new(w->server, &(McpPeerConfig){ .general = &w->box.link, .one_link = true }, &err);
    assert_non_null(w->peer);
}

static inline void open_world(World *w, const char *settings) { open_world_with(w, settings, 0); }

static inline void close_world(World *w) {
    mcp_host_close(w->server, 0);
    assert_int_equal(w->box.link.holders, 1);                /* no other reference */
    box_clear(&w->box);
    tree_free(&w->tree);
}

static inline void peer_take(McpPeer *p, Str text, McpLink *link) {
    Flight *f = peer_begin(p, text, MCP_NONE, link);
    if (f) peer_schedule(f);
}

static inline void send_text(World *w, const char *text) { peer_take(w->peer, str_from(text), &w->box.link); }

static inline void expect(World *w, const char *answer) {
    char *text = box_take(&w->box, 1);
    if (strcmp(text, answer) != 0) fail_msg("got      %sexpected %s", text, answer);
    free(text);
}

static inline void expect_part(World *w, const char *part) {
    char *text = box_take(&w->box, 1);
    if (!strstr(text, part)) fail_msg("got %snot %s", text, part);
    free(text);
}

#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

static inline void shake_hands_with(World *w, const char *version, const char *capabilities) {
    char text[400];
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":%s,"
                                "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}", version, capabilities);
    send_text(w, text);
    expect_part(w, "\"serverInfo\":{\"name\":\"harness\",\"version\":\"1.2.3\"}");
    send_text(w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

static inline void shake_hands(World *w, const char *version) { shake_hands_with(w, version, "{}"); }
