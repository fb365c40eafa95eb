#include "net/proxy_head.h"
#include <strings.h>

enum { METHOD_MAX = 32, PORT_HTTP = 80, LENGTH_DIGITS_MAX = 18, CHUNK_DIGITS_MAX = 12 };

typedef struct { Str name, value; } Header;
typedef struct { Str method, url; bool old; Header header[PROXY_HEADERS_MAX]; size_t n; } Parts;

static bool bad(Error *err, const char *what) { return error_set(err, ERR_PROTOCOL, "%s", what); }

static bool is_token(Str s) {
    if (s.n == 0) return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] <= ' ' || s.at[i] >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", s.at[i])) return false;
    return true;
}

static bool same(Str a, const char *b) { return a.n == strlen(b) && strncasecmp(a.at, b, a.n) == 0; }

/* ---- parsing ---- */

static bool cut_line(Str *rest, Str *line, Error *err) {
    ptrdiff_t end = str_find(*rest, STR("\r\n"));      /* always found: the head ends in two of them */
    *line = str_sub(*rest, 0, (size_t)end);
    *rest = str_sub(*rest, (size_t)end + 2, rest->n);
    for (size_t i = 0; i < line->n; i++) {
        unsigned char c = (unsigned char)line->at[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) return bad(err, "a control character in the request head");
    }
    return true;
}

static bool cut_word(Str *rest, Str *word) {
    ptrdiff_t space = str_find_char(*rest, ' ');
    if (space <= 0) return false;
    *word = str_sub(*rest, 0, (size_t)space);
    *rest = str_sub(*rest, (size_t)space + 1, rest->n);
    return true;
}

static bool read_request_line(Str line, Parts *p, Error *err) {
    if (!cut_word(&line, &p->method) || !cut_word(&line, &p->url)) return bad(err, "malformed request line");
    p->old = str_eq(line, STR("HTTP/1.0"));
    if (!p->old && !str_eq(line, STR("HTTP/1.1"))) return bad(err, "only HTTP/1.0 and HTTP/1.1 are supported");
    if (!is_token(p->method) || p->method.n > METHOD_MAX) return bad(err, "malformed method");
    for (size_t i = 0; i < p->url.n; i++)
        if (p->url.at[i] <= ' ' || p->url.at[i] >= 0x7f) return bad(err, "malformed URL");
    return true;
}

static bool read_parts(Str head, Parts *p, Error *err) {
    Str line;
    if (!cut_line(&head, &line, err) || !read_request_line(line, p, err)) return false;
    for (;;) {
        if (!cut_line(&head, &line, err)) return false;
        if (line.n == 0) return true;
        ptrdiff_t colon = str_find_char(line, ':');
        if (colon < 0 || !is_token(str_sub(line, 0, (size_t)colon))) return bad(err, "malformed header line");
        if (p->n == PROXY_HEADERS_MAX) return error_set(err, ERR_LIMIT, "too many headers (limit %d)", PROXY_HEADERS_MAX);
        p->header[p->n++] = (Header){ str_sub(line, 0, (size_t)colon), str_trim(str_sub(line, (size_t)colon + 1, line.n)) };
    }
}

/* False when there is more than one; *out is unchanged when there is none. */
static bool only_header(const Parts *p, const char *name, bool *found, Str *out) {
    *found = false;
    for (size_t i = 0; i < p->n; i++) {
        if (!same(p->header[i].name, name)) continue;
        if (*found) return false;
        *found = true;
        *out = p->header[i].value;
    }
    return true;
}

/* ---- target ---- */

static bool read_url(const Parts *p, Target *target, Str *path, Error *err) {
    if (p->url.n > 8 && strncasecmp(p->url.at, "https://", 8) == 0) return bad(err, "https needs CONNECT");
    if (p->url.n <= 7 || strncasecmp(p->url.at, "http://", 7) != 0) return bad(err, "this is a proxy: the request needs an absolute http:// URL");
    Str rest = str_sub(p->url, 7, p->url.n);
    size_t end = 0;
    while (end < rest.n && !strchr("/?#", rest.at[end])) end++;
    Str authority = str_sub(rest, 0, end);
    *path = str_sub(rest, end, rest.n);
    if (str_find_char(authority, '@') >= 0) return bad(err, "user and password are not accepted in a URL");
    if (str_find_char(*path, '#') >= 0) return bad(err, "malformed URL");
    return target_parse(authority, PORT_HTTP, target, err);
}

static bool host_agrees(const Parts *p, const Target *target, Error *err) {
    bool found;
    Str value;
    Target host;
    if (!only_header(p, "host", &found, &value)) return bad(err, "more than one Host header");
    if (!found) return true;
    if (!target_parse(value, PORT_HTTP, &host, err)) return error_wrap(err, "Host header");
    return (host.port == target->port && strcmp(host.host, target->host) == 0) || bad(err, "the Host header names another host than the URL");
}

/* ---- body length ---- */

static bool read_length(Str text, uint64_t *out) {
    *out = 0;
    if (text.n == 0 || text.n > LENGTH_DIGITS_MAX) return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') return false;
        *out = *out * 10 + (uint64_t)(text.at[i] - '0');
    }
    return true;
}

static bool read_framing(const Parts *p, ProxyHead *h, Error *err) {
    bool has_length, has_coding;
    Str length, coding;
    if (!only_header(p, "content-length", &has_length, &length) || !only_header(p, "transfer-encoding", &has_coding, &coding))
        return bad(err, "the length of the body is stated twice");
    if (has_length && has_coding) return bad(err, "both Content-Length and Transfer-Encoding");
    if (has_length && !read_length(length, &h->length)) return bad(err, "malformed Content-Length");
    if (has_coding && (p->old || !same(coding, "chunked"))) return bad(err, "unknown Transfer-Encoding");
    h->chunked = has_coding;
    return true;
}

/* ---- forwarding ---- */

static bool listed(Str list, Str name) {               /* comma-separated */
    while (list.n) {
        ptrdiff_t comma = str_find_char(list, ',');
        Str item = str_trim(comma < 0 ? list : str_sub(list, 0, (size_t)comma));
        if (item.n == name.n && strncasecmp(item.at, name.at, name.n) == 0) return true;
        list = comma < 0 ? STR("") : str_sub(list, (size_t)comma + 1, list.n);
    }
    return false;
}

/* "close" too: RFC 9110 reserves the name, and the "Connection: close" that we send would name it. */
static bool stays_here(const Parts *p, Str name) {
    static const char *const hop[] = { "host", "connection", "close", "proxy-connection", "keep-alive", "te", "trailer", "upgrade",
                                       "proxy-authorization", "proxy-authenticate", "http2-settings" };
    if (same(name, "content-length") || same(name, "transfer-encoding")) return false;   /* a Connection header cannot remove these */
    for (size_t i = 0; i < sizeof hop / sizeof *hop; i++)
        if (same(name, hop[i])) return true;
    for (size_t i = 0; i < p->n; i++)
        if (same(p->header[i].name, "connection") && listed(p->header[i].value, name)) return true;
    return false;
}

static void write_forward(const Parts *p, Str path, ProxyHead *h) {
    Buf *out = &h->forward;
    buf_add(out, p->method);
    buf_add_char(out, ' ');
    if (path.n == 0 && str_eq(p->method, STR("OPTIONS"))) buf_add_char(out, '*');
    else if (path.n == 0 || path.at[0] != '/') buf_add_char(out, '/');
    buf_add(out, path);
    buf_add(out, p->old ? STR(" HTTP/1.0\r\nHost: ") : STR(" HTTP/1.1\r\nHost: "));
    target_authority(&h->target, PORT_HTTP, out);
    buf_add(out, STR("\r\n"));
    for (size_t i = 0; i < p->n; i++) {
        if (stays_here(p, p->header[i].name)) continue;
        buf_add(out, p->header[i].name);
        buf_add(out, STR(": "));
        buf_add(out, p->header[i].value);
        buf_add(out, STR("\r\n"));
    }
    buf_add(out, STR("Connection: close\r\n\r\n"));
}

static bool read_head(Str head, ProxyHead *h, Error *err) {
    Parts p;
    Str path;
    p.n = 0;
    if (!read_parts(head, &p, err)) return false;
    h->connect = str_eq(p.method, STR("CONNECT"));
    if (h->connect) return target_parse(p.url, 0, &h->target, err);
    if (!read_url(&p, &h->target, &path, err) || !host_agrees(&p, &h->target, err) || !read_framing(&p, h, err)) return false;
    write_forward(&p, path, h);
    return true;
}

Feed proxy_head_feed(ProxyHead *h, Str bytes, Error *err) {
    size_t from = h->scanned > 3 ? h->scanned - 3 : 0; /* the terminator may be split over two reads */
    buf_add(&h->bytes, bytes);
    ptrdiff_t end = str_find(str_sub(buf_str(&h->bytes), from, h->bytes.n), STR("\r\n\r\n"));
    h->scanned = h->bytes.n;
    if (end < 0 && h->bytes.n <= PROXY_HEAD_MAX) return FEED_MORE;
    size_t head_n = from + (size_t)end + 4;
    if (end < 0 || head_n > PROXY_HEAD_MAX) {
        error_set(err, ERR_LIMIT, "the request head is over %d bytes", PROXY_HEAD_MAX);
        return FEED_BAD;
    }
    if (!read_head(str_sub(buf_str(&h->bytes), 0, head_n), h, err)) {
        if (err && err->kind == ERR_VALIDATION) err->kind = ERR_PROTOCOL;
        return FEED_BAD;
    }
    h->rest = str_sub(buf_str(&h->bytes), head_n, h->bytes.n);
    return FEED_READY;
}

void proxy_head_clear(ProxyHead *h) {
    buf_clear(&h->bytes);
    buf_clear(&h->forward);
    *h = (ProxyHead){ 0 };
}

/* ---- the body ---- */

/* Chunked body: "HEX\r\n", that many bytes, "\r\n", …, "0\r\n\r\n". No extensions and no trailers: clients do not send
 * them, and two parsers might disagree on them. */
enum { STEP_SIZE, STEP_SIZE_LF, STEP_DATA, STEP_DATA_CR, STEP_DATA_LF, STEP_END_CR, STEP_END_LF, STEP_BAD };

void proxy_body_start(ProxyBody *b, const ProxyHead *h) {
    *b = (ProxyBody){ .chunked = h->chunked, .left = h->chunked ? 0 : h->length };
}

static int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

static int next_step(ProxyBody *b, char c) {
    int digit;
    switch (b->step) {
    case STEP_SIZE:
        digit = digit_value(c);
        if (digit < 0) return c == '\r' && b->digits ? STEP_SIZE_LF : STEP_BAD;
        b->left = b->left << 4 | (uint64_t)digit;
        return ++b->digits > CHUNK_DIGITS_MAX ? STEP_BAD : STEP_SIZE;
    case STEP_SIZE_LF:
        b->digits = 0;
        return c != '\n' ? STEP_BAD : b->left ? STEP_DATA : STEP_END_CR;
    case STEP_DATA_CR: return c == '\r' ? STEP_DATA_LF : STEP_BAD;
    case STEP_DATA_LF: return c == '\n' ? STEP_SIZE : STEP_BAD;
    case STEP_END_CR: return c == '\r' ? STEP_END_LF : STEP_BAD;
    default: return STEP_BAD;
    }
}

static size_t take_data(ProxyBody *b, size_t available) {
    size_t n = b->left < available ? (size_t)b->left : available;
    b->left -= n;
    return n;
}

Feed proxy_body_feed(ProxyBody *b, Str bytes, size_t *used) {
    if (!b->chunked) {
        *used = take_data(b, bytes.n);
        return b->left ? FEED_MORE : FEED_READY;
    }
    for (size_t at = 0; at < bytes.n;) {
        if (b->step == STEP_DATA) {
            at += take_data(b, bytes.n - at);
            if (b->left == 0) b->step = STEP_DATA_CR;
            continue;
        }
        if (b->step == STEP_END_LF && bytes.at[at] == '\n') {
            *used = at + 1;
            return FEED_READY;
        }
        b->step = next_step(b, bytes.at[at++]);
        if (b->step == STEP_BAD) return FEED_BAD;
    }
    *used = bytes.n;
    return FEED_MORE;
}
