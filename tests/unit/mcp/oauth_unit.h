/* A test environment for OAuth: one server that acts as an MCP server's metadata, its authorization server and its
 * identity provider, and a user with a browser. Its responses are a table of texts in which $ stands for its address;
 * requests are recorded. */
#pragma once
#include "mcp/oauth/oauth_private.h"
#include "net/net_unit.h"

enum { NOTES = 8 };

typedef struct World {
    Server server;
    char base[40], url[48];
    /* Responses; NULL: a valid one, "": 404. A text that starts with a number starts with its status. */
    const char *resource, *metadata, *registered, *token, *token_again, *callback;    /* callback: a query; & STATE and so on is added; */
    bool endless;                        /* metadata never ends */
    bool nobody;                         /* the user does not answer */
    /* Recorded requests. */
    pthread_mutex_t lock;
    int requests, registrations, tokens, visits;
    char *form[8], *proof[8], *basic[8];          /* of the token requests */
    Buf address, challenge;              /* the URL opened for the user */
    struct { char *key, *text; } notes[NOTES];
    Buf secrets;
    Client *client;
    OAuth *oauth;
    Heap *heap;
} World;

static void world_fill(const World *w, const char *text, Buf *out) {
    for (; *text; text++) {
        if (*text == '$') buf_add(out, str_from(w->base));
        else buf_add_char(out, *text);
    }
}

static void world_say(const World *w, int fd, const char *text) {
    int status = 200;
    if (*text >= '1' && *text <= '5') status = atoi(text), text += 3;
    else if (*text == 0) status = 404;
    Buf body = { 0 }, all = { 0 };
    world_fill(w, text, &body);
    buf_add_fmt(&all, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nConnection: close\r\n%s%sContent-Length: %zu\r\n\r\n", status,
                status == 302 ? "Location: http://127.0.0.1:1/\r\n" : "", strstr(text, "use_dpop_nonce") ? "DPoP-Nonce: n1\r\n" : "", body.n);
    buf_add(&all, buf_str(&body));
    send_all(fd, buf_str(&all));
    buf_clear(&body);
    buf_clear(&all);
}

static char *world_header(Str head, const char *name) {
    for (Str line; str_next_line(&head, &line);)
        if (line.n > strlen(name) && strncasecmp(line.at, name, strlen(name)) == 0 && line.at[strlen(name)] == ':')
            return str_dup(str_trim(str_sub(line, strlen(name) + 1, line.n)));
    return NULL;
}

static void world_token(World *w, int fd, Str head, Str body) {
    pthread_mutex_lock(&w->lock);
    int n = w->tokens++;
    if (n < 8) {
        w->form[n] = str_dup(body);
        w->proof[n] = world_header(head, "DPoP");
        w->basic[n] = world_header(head, "Authorization");
    }
    const char *text = n && w->token_again ? w->token_again : w->token;
    pthread_mutex_unlock(&w->lock);
    char good[200];
    snprintf(good, sizeof good, "{\"access_token\":\"access-%d\",\"token_type\":\"Bearer\",\"expires_in\":3600,\"refresh_token\":\"refresh-%d\"}", n + 1, n + 1);
    world_say(w, fd, text ? text : good);
}

static void world_serve(int fd, void *ctx) {
    World *w = ctx;
    Buf in = { 0 };
    size_t head_n;
    if (read_head(fd, &in, &head_n)) {
        char *length = world_header(str_sub(buf_str(&in), 0, head_n), "Content-Length");
        size_t want = head_n + (length ? strtoul(length, NULL, 10) : 0);
        free(length);
        while (in.n < want) {
            char *room = buf_room(&in, 4096);
            ssize_t n = recv(fd, room, 4096, 0);
            if (n <= 0) break;
            buf_commit(&in, (size_t)n);
        }
        Str head = str_sub(buf_str(&in), 0, head_n), body = str_sub(buf_str(&in), head_n, in.n);
        pthread_mutex_lock(&w->lock);
        w->requests++;
        pthread_mutex_unlock(&w->lock);
        if (str_starts(head, STR("GET /.well-known/oauth-protected-resource/mcp ")))
            world_say(w, fd, w->resource ? w->resource : "{\"resource\":\"$/mcp\",\"authorization_servers\":[\"$\"],\"scopes_supported\":[\"read\"]}");
        else if (str_starts(head, STR("GET /.well-known/oauth-authorization-server ")) && w->endless)
            for (send_all(fd, STR("HTTP/1.1 200 X\r\n\r\n{\"issuer\":\"")); send_all(fd,
                STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));) continue;
        else if (str_starts(head, STR("GET /.well-known/oauth-authorization-server ")))
            world_say(w, fd, w->metadata ? w->metadata
                      : "{\"issuer\":\"$\",\"authorization_endpoint\":\"$/authorize\",\"token_endpoint\":\"$/token\",\"registration_endpoint\":\"$/register\","
                        "\"code_challenge_methods_supported\":[\"S256\"]}");
        else if (str_starts(head, STR("POST /register "))) {
            pthread_mutex_lock(&w->lock);
            w->registrations++;
            pthread_mutex_unlock(&w->lock);
            world_say(w, fd, w->registered ? w->registered : "201{\"client_id\":\"client\"}");
        } else if (str_starts(head, STR("POST /token "))) {
            world_token(w, fd, head, body);
        } else if (str_starts(head, STR("POST /idp "))) {
            world_say(w, fd, "{\"access_token\":\"the-grant\",\"issued_token_type\":\"urn:ietf:params:oauth:token-type:id-jag\",\"token_type\":\"N_A\"}");
        } else {
            world_say(w, fd, "");
        }
    }
    buf_clear(&in);
}

typedef struct { World *world; char *url; } WorldVisit;

static void *world_visit(void *arg) {
    WorldVisit *v = arg;
    World *w = v->world;
    Arena arena = { 0 };
    Str query = str_from(strchr(v->url, '?') + 1), redirect = { 0 }, st = { 0 };
    oauth_form_get(query, "redirect_uri", &arena, &redirect);
    oauth_form_get(query, "state", &arena, &st);
    OAuthUrl to;
    if (oauth_url_parse(redirect, &to, NULL)) {
        Buf ask = { 0 }, answer = { 0 };
        buf_add(&ask, STR("GET /callback?"));
        world_fill(w, w->callback ? w->callback : "code=the-code", &ask);
        buf_add_fmt(&ask, "&state=" STR_FMT " HTTP/1.1\r\n\r\n", STR_ARG(st));
        int fd = connect_to(to.target.port);
        send_all(fd, buf_str(&ask));
        read_rest(fd, &answer);
        close(fd);
        buf_clear(&ask);
        buf_clear(&answer);
    }
    arena_clear(&arena);
    free(v->url);
    free(v);
    return NULL;
}

static bool world_open(void *ctx, Str url, Error *err) {
    (void)err;
    World *w = ctx;
    pthread_mutex_lock(&w->lock);
    w->visits++;
    buf_reset(&w->address);
    buf_add(&w->address, url);
    pthread_mutex_unlock(&w->lock);
    if (w->nobody) return true;
    WorldVisit *v = malloc(sizeof *v);
    *v = (WorldVisit){ w, str_dup(url) };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, world_visit, v), 0);
    pthread_detach(thread);
    return true;
}

static bool world_get(void *ctx, Str key, Buf *out, Error *err) {
    (void)err;
    World *w = ctx;
    for (size_t i = 0; i < NOTES; i++)
        if (w->notes[i].key && str_eq(str_from(w->notes[i].key), key)) buf_add(out, str_from(w->notes[i].text));
    return true;
}

static bool world_put(void *ctx, Str key, Str text, Error *err) {
    (void)err;
    World *w = ctx;
    size_t at = NOTES;
    for (size_t i = NOTES; i-- > 0;)
        if (!w->notes[i].key || str_eq(str_from(w->notes[i].key), key)) at = i;
    for (size_t i = 0; i < NOTES; i++)
        if (w->notes[i].key && str_eq(str_from(w->notes[i].key), key)) at = i;
    assert_true(at < NOTES);
    free(w->notes[at].key);
    free(w->notes[at].text);
    w->notes[at].key = text.n ? str_dup(key) : NULL;
    w->notes[at].text = text.n ? str_dup(text) : NULL;
    return true;
}

static void world_secret(void *ctx, Str value) {
    World *w = ctx;
    pthread_mutex_lock(&w->lock);
    buf_add(&w->secrets, value);
    buf_add_char(&w->secrets, '\n');
    pthread_mutex_unlock(&w->lock);
}

/* A new process: the notes stay, everything else is new. */
static void world_start(World *w, const char *settings) {
    Error err = { 0 };
    Value map = VALUE_GONE;
    if (!w->client) w->client = client_new();
    if (!w->heap) w->heap = heap_new(0);
    oauth_free(w->oauth);
    Buf text = { 0 };
    if (settings) {
        world_fill(w, settings, &text);
        assert_true(json_read(w->heap, buf_str(&text), NULL, &map, &err));
    }
    buf_clear(&text);
    w->oauth = oauth_new(&(OAuthConfig){ .server = str_from(w->url), .client = w->client, .shelf = { world_get, world_put, w },
        .settings = map, .open = world_open,
                                         .secret = world_secret, .ctx = w, .patience_ms = 5000 }, &err);
    if (!w->oauth) fail_msg("%s", err.msg);
}

static void world_init(World *w, const char *settings) {
    pthread_mutex_init(&w->lock, NULL);
    server_start(&w->server, world_serve, w);
    snprintf(w->base, sizeof w->base, "http://127.0.0.1:%d", w->server.port);
    snprintf(w->url, sizeof w->url, "%s/mcp", w->base);
    world_start(w, settings);
}

static void world_clear(World *w) {
    oauth_free(w->oauth);
    client_free(w->client);
    server_stop(&w->server);
    heap_free(w->heap);
    for (size_t i = 0; i < 8; i++) free(w->form[i]), free(w->proof[i]), free(w->basic[i]);
    for (size_t i = 0; i < NOTES; i++) free(w->notes[i].key), free(w->notes[i].text);
    buf_clear(&w->address);
    buf_clear(&w->challenge);
    buf_clear(&w->secrets);
    pthread_mutex_destroy(&w->lock);
}

/* The Authorization header that a request to `url` would have; "" for none. Freed by the caller. */
static char *world_header_for(World *w, OAuthTry *attempt, const char *url) {
    Arena arena = { 0 };
    ClientHeader headers[2];
    size_t n;
    Error err = { 0 };
    if (!oauth_headers(w->oauth, attempt, STR("POST"), str_from(url), NULL, &arena, headers, &n, &err)) fail_msg("%s", err.msg);
    char *out = str_dup(n ? headers[0].value : STR(""));
    arena_clear(&arena);
    return out;
}

#define assert_header(w, attempt, url, expected) do { char *h_ = world_header_for(w, attempt, url); assert_string_equal(h_, expected); free(h_); } while (0)
