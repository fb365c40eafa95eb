#include "net/exchange.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
#include "base/mem.h"

enum { CONNECT_MS = 30000, CONNECT_FIRST_MS = 3000, POLL_MS = 1000, KEPT_CONNECTIONS = 4 };

/* ---- lanes ---- */

Lane *lane_new(const CurlLibrary *lib, Error *err) {
    Lane *l = mem_zero(1, sizeof *l);
    l->lib = lib;
    l->multi = lib->curl_multi_init();
    l->easy = lib->curl_easy_init();
    if (l->multi && l->easy) {
        lib->curl_multi_setopt(l->multi, CURLMOPT_MAXCONNECTS, (long)KEPT_CONNECTIONS);
        return l;
    }
    error_set(err, ERR_IO, "cannot start libcurl: no memory or descriptor left");
    lane_free(l);
    return NULL;
}

void lane_free(Lane *l) {
    if (!l) return;
    if (l->easy) l->lib->curl_easy_cleanup(l->easy);
    if (l->multi) l->lib->curl_multi_cleanup(l->multi);
    free(l);
}

/* ---- request headers ---- */

static bool is_token(Str s) {
    if (s.n == 0) return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] <= ' ' || s.at[i] >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", s.at[i])) return false;
    return true;
}

static bool name_is(Str name, const char *other) {
    return name.n == strlen(other) && strncasecmp(name.at, other, name.n) == 0;
}

/* Headers that determine the destination or the length of the request. */
static bool is_ours(Str name) {
    static const char *const ours[] = { "host", "content-length", "transfer-encoding", "connection", "proxy-connection", "keep-alive",
                                        "te", "trailer", "upgrade", "expect", "proxy-authorization", "http2-settings" };
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (name_is(name, ours[i])) return true;
    return false;
}

static bool is_credential(Str name) {
    static const char *const parts[] = { "auth", "cookie", "token", "secret", "api-key", "apikey", "api_key", "password" };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (size_t at = 0, n = strlen(parts[i]); at + n <= name.n; at++)
            if (strncasecmp(name.at + at, parts[i], n) == 0) return true;
    return false;
}

static bool header_ok(const ClientHeader *h, Error *err) {
    char shown[TARGET_QUOTE_SIZE];
    target_quote(h->name, shown);
    if (!is_token(h->name)) return error_set(err, ERR_VALIDATION, "\"%s\" is not a header name", shown);
    if (is_ours(h->name)) return error_set(err, ERR_VALIDATION, "header %s cannot be set", shown);
    for (size_t i = 0; i < h->value.n; i++) {
        unsigned char c = (unsigned char)h->value.at[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return error_set(err, ERR_VALIDATION, "header %s has a line break or control character in its value", shown);
    }
    return true;
}

bool exchange_headers_ok(const ClientRequest *r, Error *err) {
    size_t bytes = 0;
    for (size_t i = 0; i < r->n_headers; i++) {
        if (!header_ok(&r->headers[i], err)) return false;
        bytes += r->headers[i].name.n + r->headers[i].value.n + 4;
        if (bytes > CLIENT_HEAD_MAX) return error_set(err, ERR_LIMIT, "request headers are over %d bytes", CLIENT_HEAD_MAX);
    }
    return true;
}

static bool leaves_out(const Exchange *x, Str name) {
    if (x->bare && is_credential(name)) return true;
    return x->request->has_body && !x->has_body && name.n > 8 && strncasecmp(name.at, "content-", 8) == 0;
}

static struct curl_slist *add_line(const CurlLibrary *lib, struct curl_slist *list, const char *line) {
    struct curl_slist *longer = lib->curl_slist_append(list, line);
    if (!longer) abort();                              /* memory exhaustion aborts */
    return longer;
}

static struct curl_slist *make_headers(const Exchange *x, const CurlLibrary *lib) {
    struct curl_slist *list = NULL;
    Buf line = { 0 };
    bool typed = false;
    for (size_t i = 0; i < x->request->n_headers; i++) {
        Str name = x->request->headers[i].name, value = str_trim(x->request->headers[i].value);
        if (leaves_out(x, name)) continue;
        typed |= name_is(name, "content-type");
        buf_reset(&line);
        buf_add(&line, name);
        buf_add(&line, value.n ? STR(": ") : STR(";"));                /* libcurl's syntax for an empty value */
        buf_add(&line, value);
        list = add_line(lib, list, line.at);
    }
    buf_clear(&line);
    if (!typed) list = add_line(lib, list, "Content-Type:");   /* send no default Content-Type */
    return add_line(lib, list, "Expect:");
}

/* ---- libcurl callbacks ---- */

static size_t refuse(Exchange *x, ErrorKind kind, const char *what, size_t limit) {
    x->failed = true;
    error_set(&x->why, kind, "%s over %zu bytes", what, limit);
    return 0;
}

static size_t on_head(char *at, size_t size, size_t n, void *ctx) {
    Exchange *x = ctx;
    Str line = { at, size * n };
    x->head_bytes += line.n;
    if (x->head_bytes > CLIENT_HEAD_MAX) return refuse(x, ERR_LIMIT, "response headers are", CLIENT_HEAD_MAX);
    if (str_starts(line, STR("HTTP/"))) {              /* a new header block, for example after 100 Continue */
        ptrdiff_t space = str_find_char(line, ' ');
        x->status = 0;
        for (size_t i = space < 0 ? line.n : (size_t)space + 1; i < line.n && line.at[i] >= '0' && line.at[i] <= '9' && x->status < 100; i++)
            x->status = x->status * 10 + (line.at[i] - '0');
        buf_reset(&x->head);
        x->head_lines = 0;
        x->head_done = false;
    } else if (str_trim(line).n == 0) {
        x->head_done = true;
        if (x->request->on_head) x->request->on_head(x->request->ctx, x->status);
    } else if (!x->head_done) {                        /* later ones are trailers */
        if (++x->head_lines > EXCHANGE_HEADERS_MAX) {
            x->failed = true;
            return error_set(&x->why, ERR_LIMIT, "too many response headers (limit %d)", EXCHANGE_HEADERS_MAX), 0;
        }
        buf_add(&x->head, line);
    }
    return line.n;
}

static size_t on_body(char *at, size_t size, size_t n, void *ctx) {
    Exchange *x = ctx;
    const ClientRequest *r = x->request;
    Str piece = { at, size * n };
    bool gathered = !r->on_data || x->status < 200 || x->status > 299;
    size_t limit = r->max_body ? r->max_body : CLIENT_BODY_MAX;
    if (r->on_data && gathered && limit > CLIENT_BODY_MAX) limit = CLIENT_BODY_MAX;      /* max_body applies to streamed bodies */
    if (piece.n > limit - x->body_bytes) return refuse(x, ERR_LIMIT, "the response is", limit);
    if (!cancel_check(x->cancel, &x->why)) return x->failed = true, 0;      /* a few compressed bytes may expand to very
                                                                             * many */
    x->body_bytes += piece.n;
    if (gathered) {
        buf_add(&x->body, piece);
    } else if (!r->on_data(r->ctx, piece, &x->why)) {
        x->failed = true;
        return 0;
    }
    return piece.n;
}

/* Second line of defence: refuses any address other than the checked one, whatever libcurl resolved. */
static curl_socket_t on_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *to) {
    Exchange *x = ctx;
    Address a;
    if (purpose != CURLSOCKTYPE_IPCXN || !address_from_socket(&to->addr, &a) || !address_equal(&a, &x->pinned)) {
        x->failed = true;
        error_set(&x->why, ERR_POLICY, "host \"%s\": an address that was not checked", x->target.host);
        return CURL_SOCKET_BAD;
    }
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* ---- options ---- */

static void set_trust(const CurlLibrary *lib, CURL *easy) {
    const char *file = secure_getenv("SSL_CERT_FILE"), *folder = secure_getenv("SSL_CERT_DIR");
    if (file && *file) lib->curl_easy_setopt(easy, CURLOPT_CAINFO, file);
    if (folder && *folder) lib->curl_easy_setopt(easy, CURLOPT_CAPATH, folder);
    lib->curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    lib->curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    lib->curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
}

static void set_method(const Exchange *x, const CurlLibrary *lib, CURL *easy) {
    bool sends = str_eq(x->method, STR("POST")) || str_eq(x->method, STR("PUT")) || str_eq(x->method, STR("PATCH"));
    if (x->has_body || sends) {
        lib->curl_easy_setopt(easy, CURLOPT_POST, 1L);
        lib->curl_easy_setopt(easy, CURLOPT_POSTFIELDS, x->has_body && x->request->body.n ? x->request->body.at : "");
        lib->curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(x->has_body ? x->request->body.n : 0));
    } else if (str_eq(x->method, STR("HEAD"))) {
        lib->curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    }
    lib->curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, x->method.at);
}

static void set_options(Exchange *x, Lane *lane, struct curl_slist *headers, struct curl_slist *connect_to, long connect_ms) {
    const CurlLibrary *lib = lane->lib;
    CURL *easy = lane->easy;
    lib->curl_easy_reset(easy);
    lib->curl_easy_setopt(easy, CURLOPT_CURLU, x->url);
    lib->curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    lib->curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    lib->curl_easy_setopt(easy, CURLOPT_PROXY, "");
    lib->curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    lib->curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    lib->curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    lib->curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    lib->curl_easy_setopt(easy, CURLOPT_USERAGENT, "harness");
    lib->curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    lib->curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, (long)x->request->once);   /* libcurl resends when a reused
                                                                                   * connection dies */
    lib->curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
    /* libcurl looks up reusable connections by this, so a reused one is never to another address. */
    lib->curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to);
    lib->curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
    lib->curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, x);
    lib->curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    lib->curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head);
    lib->curl_easy_setopt(easy, CURLOPT_HEADERDATA, x);
    lib->curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    lib->curl_easy_setopt(easy, CURLOPT_WRITEDATA, x);
    set_trust(lib, easy);
    set_method(x, lib, easy);
}

/* ---- running ---- */

/* OpenSSL may write to a closed connection. Blocks SIGPIPE in this thread meanwhile, whatever its disposition. */
typedef struct { sigset_t before; bool was_pending; } Quiet;

static void quiet_start(Quiet *q) {
    sigset_t pipe, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    q->was_pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &q->before);
}

static void quiet_end(const Quiet *q) {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    if (!q->was_pending)
        while (sigtimedwait(&pipe, NULL, &(struct timespec){ 0 }) < 0 && errno == EINTR) {}
    pthread_sigmask(SIG_SETMASK, &q->before, NULL);
}

static bool wait_more(Lane *lane, Cancel *cancel, Error *err) {
    if (!cancel_check(cancel, err)) return false;
    int fd = cancel_fd(cancel), ms = cancel_poll_ms(cancel);
    struct curl_waitfd extra = { .fd = fd, .events = CURL_WAIT_POLLIN };
    CURLMcode code = lane->lib->curl_multi_poll(lane->multi, &extra, fd >= 0, ms < 0 || ms > POLL_MS ? POLL_MS : ms, NULL);
    return code == CURLM_OK || error_set(err, ERR_IO, "cannot wait for the network");
}

/* False: cancelled, or libcurl failed. */
static bool transfer(Lane *lane, Cancel *cancel, CURLcode *result, Error *err) {
    const CurlLibrary *lib = lane->lib;
    int running = 1, left;
    bool ok = lib->curl_multi_add_handle(lane->multi, lane->easy) == CURLM_OK || error_set(err, ERR_IO, "cannot start a request");
    if (!ok) return false;
    while (ok) {
        ok = lib->curl_multi_perform(lane->multi, &running) == CURLM_OK || error_set(err, ERR_IO, "cannot continue a request");
        if (!ok || running == 0) break;
        ok = wait_more(lane, cancel, err);
    }
    const CURLMsg *message = ok ? lib->curl_multi_info_read(lane->multi, &left) : NULL;
    if (message) *result = message->data.result;
    else if (ok) ok = error_set(err, ERR_INTERNAL, "libcurl lost a request");
    lib->curl_multi_remove_handle(lane->multi, lane->easy);
    return ok;
}

/* Removes line breaks: parts of the text may come from the server. */
static void clean(char *text) {
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = ' ';
}

static bool explain(const Exchange *x, const Lane *lane, CURLcode result, char *text, Error *err) {
    Buf where = { 0 };
    long number = 0;
    target_authority(&x->target, 0, &where);
    lane->lib->curl_easy_getinfo(lane->easy, CURLINFO_OS_ERRNO, &number);
    clean(text);
    const char *what = *text ? text : lane->lib->curl_easy_strerror(result);
    if (result == CURLE_COULDNT_CONNECT && number) {
        char reason[100];
        const char *said = strerror_r((int)number, reason, sizeof reason);
        error_set(err, ERR_IO, "connect to %s: %c%s", where.at, said[0] >= 'A' && said[0] <= 'Z' ? said[0] | 32 : said[0], said + 1);
    } else if (result == CURLE_OPERATION_TIMEDOUT) {                   /* only connecting has its own timeout */
        error_set(err, ERR_TIMEOUT, "connect to %s: no answer", where.at);
    } else if (result == CURLE_PEER_FAILED_VERIFICATION) {
        error_set(err, ERR_IO, "%s: the server's certificate is not valid: %s", where.at, what);
    } else {
        error_set(err, ERR_IO, "%s: %s", where.at, what);
    }
    buf_clear(&where);
    return false;
}

static bool run_at(Exchange *x, Lane *lane, const Address *a, bool last, struct curl_slist *headers, Cancel *cancel, bool *again, Error *err) {
    const CurlLibrary *lib = lane->lib;
    char text[ADDRESS_TEXT_SIZE], line[ADDRESS_TEXT_SIZE + 16], problem[CURL_ERROR_SIZE] = "";
    CURLcode result = CURLE_OK;
    curl_off_t took = 0;
    long size = 0;
    *again = false;
    x->pinned = *a;
    address_format(a, text);
    snprintf(line, sizeof line, a->v6 ? "::[%s]:%u" : "::%s:%u", text, x->target.port);
    struct curl_slist *connect_to = add_line(lib, NULL, line);
    set_options(x, lane, headers, connect_to, last ? CONNECT_MS : CONNECT_FIRST_MS);
    lib->curl_easy_setopt(lane->easy, CURLOPT_ERRORBUFFER, problem);
    bool ok = transfer(lane, cancel, &result, err);
    lib->curl_easy_getinfo(lane->easy, CURLINFO_REQUEST_SIZE, &size);
    lib->curl_easy_getinfo(lane->easy, CURLINFO_CONNECT_TIME_T, &took);
    x->sent |= size > 0 || x->head_bytes > 0;
    if (ok && x->failed) {
        if (err) *err = x->why;
        ok = false;
    } else if (ok && result != CURLE_OK) {
        ok = explain(x, lane, result, problem, err);
        *again = !x->sent && (result == CURLE_COULDNT_CONNECT || (result == CURLE_OPERATION_TIMEDOUT && took == 0));
    }
    lib->curl_easy_reset(lane->easy);                  /* drop pointers into this call */
    lib->curl_slist_free_all(connect_to);
    return ok;
}

bool exchange_run(Exchange *x, Lane *lane, const Addresses *addresses, Cancel *cancel, Error *err) {
    struct curl_slist *headers = make_headers(x, lane->lib);
    bool ok = false, again = true;
    Quiet quiet;
    x->cancel = cancel;
    quiet_start(&quiet);
    for (size_t i = 0; !ok && again && i < addresses->n; i++)
        ok = run_at(x, lane, &addresses->at[i], i + 1 == addresses->n, headers, cancel, &again, err);
    quiet_end(&quiet);
    lane->last = x->target;
    lane->lib->curl_slist_free_all(headers);
    return ok;
}

/* ---- response headers ---- */

void exchange_clear(Exchange *x) {
    buf_clear(&x->head);
    buf_clear(&x->body);
}

bool exchange_next_header(Str *rest, Str *name, Str *value) {
    for (Str line; str_next_line(rest, &line);) {
        ptrdiff_t colon = str_find_char(line, ':');
        if (colon < 0 || !is_token(str_sub(line, 0, (size_t)colon))) continue;
        *name = str_sub(line, 0, (size_t)colon);
        *value = str_trim(str_sub(line, (size_t)colon + 1, line.n));
        return true;
    }
    return false;
}

Str exchange_header(const Exchange *x, const char *lower_name) {
    Str rest = buf_str(&x->head), name, value;
    while (exchange_next_header(&rest, &name, &value))
        if (name_is(name, lower_name)) return value;
    return STR("");
}
