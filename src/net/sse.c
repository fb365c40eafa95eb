#include "net/sse.h"
#include <stdlib.h>
#include "base/mem.h"
#include "base/utf8.h"

enum { RETRY_DIGITS_MAX = 9 };

/* `in` from `at` on is fed but unread. `data` and `type` accumulate the current event; `line` holds a line split
 * between two feeds. A CR ends a line at once; a LF directly after it is skipped (`after_cr`). */
struct SseReader {
    Buf in, line, data, type, id, sent_data, sent_type, sent_id;
    size_t at, max;
    bool started, after_cr, has_data, bad;
    int64_t retry;
};

SseReader *sse_new(size_t max_event) {
    SseReader *r = mem_zero(1, sizeof *r);
    r->max = max_event ? max_event : SSE_EVENT_MAX;
    r->retry = -1;
    return r;
}

void sse_free(SseReader *r) {
    if (!r) return;
    Buf *all[] = { &r->in, &r->line, &r->data, &r->type, &r->id, &r->sent_data, &r->sent_type, &r->sent_id };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) buf_clear(all[i]);
    free(r);
}

int64_t sse_retry_ms(const SseReader *r) { return r->retry; }
Str sse_last_id(const SseReader *r) { return buf_str(&r->id); }

/* ---- one line ---- */

static void add_text(Buf *out, Str s) {
    while (s.n) {
        size_t good = utf8_valid_prefix(s), length;
        buf_add(out, str_sub(s, 0, good));
        s = str_sub(s, good, s.n);
        if (s.n == 0) return;
        utf8_decode(s, &length);
        buf_add_utf8(out, 0xFFFD);
        s = str_sub(s, length, s.n);
    }
}

static void set_text(Buf *out, Str s) {
    buf_reset(out);
    add_text(out, s);
}

static void set_retry(SseReader *r, Str digits) {
    int64_t ms = 0;
    if (digits.n == 0 || digits.n > RETRY_DIGITS_MAX) return;
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.at[i] < '0' || digits.at[i] > '9') return;
        ms = ms * 10 + (digits.at[i] - '0');
    }
    r->retry = ms;
}

static void read_field(SseReader *r, Str line) {
    ptrdiff_t colon = str_find_char(line, ':');
    Str name = colon < 0 ? line : str_sub(line, 0, (size_t)colon), value = colon < 0 ? STR("") : str_sub(line, (size_t)colon + 1, line.n);
    if (value.n && value.at[0] == ' ') value = str_sub(value, 1, value.n);
    if (str_eq(name, STR("data"))) {
        if (r->has_data) buf_add_char(&r->data, '\n');
        add_text(&r->data, value);
        r->has_data = true;
    } else if (str_eq(name, STR("event"))) {
        set_text(&r->type, value);
    } else if (str_eq(name, STR("id"))) {
        if (!value.n || !memchr(value.at, 0, value.n)) set_text(&r->id, value);
    } else if (str_eq(name, STR("retry"))) {
        set_retry(r, value);
    }
}

static void move(Buf *to, Buf *from) {
    Buf old = *to;
    *to = *from;
    *from = old;
    buf_reset(from);
}

/* A blank line. An event without data is discarded with its type. */
static bool dispatch(SseReader *r, SseEvent *out) {
    bool ready = r->has_data;
    if (ready) {
        move(&r->sent_data, &r->data);
        move(&r->sent_type, &r->type);
        set_text(&r->sent_id, buf_str(&r->id));
        *out = (SseEvent){ r->sent_type.n ? buf_str(&r->sent_type) : STR("message"), buf_str(&r->sent_data), buf_str(&r->sent_id) };
    }
    buf_reset(&r->type);
    r->has_data = false;
    return ready;
}

/* True if the line ended an event. */
static bool read_line(SseReader *r, Str line, SseEvent *out) {
    if (!r->started) {
        r->started = true;
        if (str_starts(line, STR("\xEF\xBB\xBF"))) line = str_sub(line, 3, line.n);
    }
    if (line.n == 0) return dispatch(r, out);
    read_field(r, line);                               /* a comment is a field without a name */
    return false;
}

/* ---- the stream ---- */

static size_t line_end(Str s) {
    size_t n = 0;
    while (n < s.n && s.at[n] != '\n' && s.at[n] != '\r') n++;
    return n;
}

static bool too_long(const SseReader *r, size_t more) {
    return more > r->max || r->line.n > r->max - more || r->data.n > r->max - more - r->line.n;
}

static Feed stop(SseReader *r, Error *err) {
    r->bad = true;
    error_set(err, ERR_LIMIT, "an event of the stream is over %zu bytes", r->max);
    return FEED_BAD;
}

/* Reads one line from `rest`; false when none is complete. */
static bool next_line(SseReader *r, Str *rest, Str *line) {
    if (r->after_cr && rest->n) {
        if (rest->at[0] == '\n') *rest = str_sub(*rest, 1, rest->n);
        r->after_cr = false;
    }
    size_t end = line_end(*rest);
    *line = str_sub(*rest, 0, end);
    if (end == rest->n) return false;
    r->after_cr = rest->at[end] == '\r';
    *rest = str_sub(*rest, end + 1, rest->n);
    return true;
}

static void keep(SseReader *r, Str rest, bool ours) {
    if (ours) r->at = r->in.n - rest.n;
    else buf_add(&r->in, rest);
    if (r->at < r->in.n) return;
    r->at = 0;
    buf_reset(&r->in);
}

Feed sse_feed(SseReader *r, Str bytes, SseEvent *out, Error *err) {
    if (r->bad) return stop(r, err);
    bool ours = r->at < r->in.n;                       /* older bytes first */
    if (ours) buf_add(&r->in, bytes);
    Str rest = ours ? str_sub(buf_str(&r->in), r->at, r->in.n) : bytes, line;
    for (;;) {
        bool whole = next_line(r, &rest, &line);
        if (too_long(r, line.n)) return stop(r, err);
        if (!whole || r->line.n) buf_add(&r->line, line);
        if (!whole) break;
        bool ready = read_line(r, r->line.n ? buf_str(&r->line) : line, out);
        buf_reset(&r->line);
        if (!ready) continue;
        keep(r, rest, ours);
        return FEED_READY;
    }
    r->at = 0;
    buf_reset(&r->in);
    return FEED_MORE;
}
