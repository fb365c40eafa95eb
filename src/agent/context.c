#include "agent/context.h"
#include "value/dict.h"
#include "value/json.h"

enum { BYTES_PER_TOKEN = 4, MESSAGE_TOKENS = 4, SHORTEN_OVER = 512 };

/* ---- token estimates ---- */

int64_t context_tokens(Str text) { return (int64_t)((text.n + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN); }

/* An image counts about as much as a page. A PDF has rarely less than 25 KB for each 1,000 tokens. */
static int64_t media_tokens(Value part) {
    enum { IMAGE_TOKENS = 1600, FILE_BYTES_PER_TOKEN = 25 };
    int64_t bytes = request_int(part, "bytes");
    if (parts_is(part, "image")) return IMAGE_TOKENS;
    return parts_is(part, "file") ? IMAGE_TOKENS + bytes / FILE_BYTES_PER_TOKEN : 0;
}

int64_t context_message_tokens(Value message) {
    int64_t n = MESSAGE_TOKENS + context_tokens(value_member_text(message, "content"));
    Value calls = value_member(message, "tool_calls"), parts = value_member(message, "parts");
    for (uint32_t i = 0; value_is_list(parts) && i < value_list(parts)->n; i++) n += media_tokens(value_list(parts)->at[i]);
    if (!value_is_list(calls)) return n;
    for (uint32_t i = 0; i < value_list(calls)->n; i++) {
        Value call = value_list(calls)->at[i];
        n += MESSAGE_TOKENS + context_tokens(value_member_text(call, "name")) + context_tokens(value_member_text(call, "arguments"));
    }
    return n;
}

/* The replacement for a large result. */
static void artifact_line(Buf *out, Str key) {
    buf_add_fmt(out, "[a large result, stored as artifact " STR_FMT ": use artifact_read to read it]", STR_ARG(key));
}

static int64_t least_tokens(Value message, int64_t tokens) {
    Str key = value_member_text(message, "artifact");
    if (key.n == 0 || value_member_text(message, "content").n <= SHORTEN_OVER) return tokens;
    Buf line = { 0 };
    artifact_line(&line, key);
    int64_t least = MESSAGE_TOKENS + context_tokens(buf_str(&line));
    buf_clear(&line);
    return least < tokens ? least : tokens;
}

void history_add(History *h, Value message) {
    ContextMessage m = { .value = message, .role = request_role(message), .tokens = context_message_tokens(message) };
    m.least = m.role == ROLE_TOOL ? least_tokens(message, m.tokens) : m.tokens;
    m.asked = m.role == ROLE_USER ? (uint32_t)h->n : h->n ? VEC_LAST(h).asked : 0;
    VEC_PUSH(h, m);
}

void history_weigh(History *h, size_t bytes) {
    ContextMessage *m = &VEC_LAST(h);
    int64_t tokens = MESSAGE_TOKENS + (int64_t)((bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN);
    if (tokens > m->tokens) m->tokens = m->least = tokens;
}

void history_cut(History *h, size_t n) {
    if (n >= h->n) return;
    h->n = n;
    if (h->from > n) h->from = 0;                            /* the kept part was removed: cut again */
    if (h->plain > n) h->plain = (uint32_t)n;
}

void history_clear(History *h) { VEC_CLEAR(h); }

/* ---- selection ---- */

/* fixed: tokens besides the history's */
typedef struct Fit { const ContextMessage *at; uint32_t n, plain; ContextLimits limits; int64_t fixed; ContextReport r; } Fit;

/* True if the kept part may start here. Whole exchanges are removed; in the current one, whole rounds. */
static bool may_begin(const Fit *f, uint32_t i) {
    return i == 1 || f->at[i].role == (i > f->r.asked ? ROLE_ASSISTANT : ROLE_USER);
}

static bool is_over(ContextLimits l, int64_t live, int64_t tokens) {
    return (l.max_history > 0 && live > l.max_history) || (l.max_tokens > 0 && tokens > l.max_tokens);
}

/* From the newest message back, as long as it fits with all results shortened. Always keeps the newest round. */
static uint32_t begin(const Fit *f, ContextLimits limits) {
    uint32_t from = f->n;
    bool found = false;
    int64_t live = f->n > 0, tokens = f->fixed + (live ? f->at[0].least : 0);
    if (f->r.asked > 0) live++, tokens += f->at[f->r.asked].least;
    for (uint32_t i = f->n; i-- > 1;) {
        if (i != f->r.asked) live++, tokens += f->at[i].least;
        if (is_over(limits, live, tokens) && found) break;
        if (!may_begin(f, i)) continue;
        from = i;
        found = true;
    }
    return from;
}

bool context_left(const ContextReport *r, uint32_t i) { return i < r->from && i != 0 && i != r->asked; }

static bool drop_parts(Heap *heap, Dict *d, Error *err) {
    Value gone;
    String *key = string_new(heap, STR("parts"), err);
    return key && dict_remove(d, value_from_object(key), &gone, err);
}

static bool shortened(Heap *heap, Value message, Value *out, Error *err) {
    Buf line = { 0 };
    Dict *copy;
    artifact_line(&line, value_member_text(message, "artifact"));
    bool ok = dict_copy(heap, value_dict(message), &copy, err) && dict_put_text(heap, copy, "content", buf_str(&line), err) && drop_parts(heap, copy, err);
    buf_clear(&line);
    if (ok) *out = value_from_object(copy);
    return ok;
}

/* Iterates over the kept messages, oldest first: the first, the one being answered, and the newest. */
static bool next_kept(const Fit *f, uint32_t *i) {
    while (*i < f->n && context_left(&f->r, *i)) *i = *i < f->r.asked && f->r.asked < f->r.from ? f->r.asked : f->r.from;
    return *i < f->n;
}

static int64_t cost(const Fit *f, uint32_t i) { return i < f->plain ? f->at[i].least : f->at[i].tokens; }

static void measure(const Fit *f, int64_t *live, int64_t *tokens) {
    *live = 0;
    *tokens = f->fixed;
    for (uint32_t i = 0; next_kept(f, &i); i++) {
        *tokens += cost(f, i);
        ++*live;
    }
}

/* Shortens results before `end`, oldest first, until the rest fits. */
static bool shorten(Fit *f, ContextLimits limits, uint32_t end) {
    int64_t live, tokens;
    measure(f, &live, &tokens);
    for (uint32_t i = 0; is_over(limits, live, tokens) && next_kept(f, &i) && i < end; i++) {
        if (i < f->plain) continue;
        tokens += f->at[i].least - f->at[i].tokens;
        f->plain = i + 1;
    }
    return !is_over(limits, live, tokens);
}

/* Half of the conversation's budget, in addition to the prompt and the tools. */
static ContextLimits half_of(const Fit *f) {
    int64_t spare = f->limits.max_tokens - f->fixed;
    return (ContextLimits){ .max_history = (f->limits.max_history + 1) / 2,
                            .max_tokens = f->limits.max_tokens > 0 ? f->fixed + (spare > 0 ? spare / 2 : 0) : 0 };
}

/* Start of the round whose results the model has not seen yet. */
static uint32_t newest_round(const Fit *f) {
    uint32_t i = f->n;
    while (i > 0 && f->at[i - 1].role == ROLE_TOOL) i--;
    return i;
}

static void cut(Fit *f) {
    int64_t live, tokens;
    measure(f, &live, &tokens);
    if (!is_over(f->limits, live, tokens)) return;
    ContextLimits half = half_of(f);
    bool too_many = f->limits.max_history > 0 && live > f->limits.max_history;
    uint32_t plain = f->plain;
    if (!too_many && shorten(f, half, newest_round(f))) return;
    uint32_t from = begin(f, half);
    if (from > f->r.from) f->r.from = from;
    f->plain = plain;
    if (!shorten(f, half, newest_round(f))) shorten(f, f->limits, f->n);
}

static bool keep(Heap *heap, Fit *f, uint32_t i, List *out, Error *err) {
    Value message = f->at[i].value;
    f->r.tokens += cost(f, i);
    f->r.kept++;
    if (i < f->plain && f->at[i].least < f->at[i].tokens) {
        if (!shortened(heap, message, &message, err)) return false;
        f->r.shortened++;
    }
    return list_push(heap, out, message, err);
}

bool context_fit(Heap *heap, Value system, History *history, ContextLimits limits, int64_t reserved, List **out, ContextReport *report, Error *err) {
    Fit f = { .at = history->at, .n = (uint32_t)history->n, .plain = history->plain, .limits = limits, .fixed = reserved };
    int64_t prompt = value_is_gone(system) ? 0 : context_message_tokens(system);
    f.fixed += prompt;
    f.r.asked = f.n ? f.at[f.n - 1].asked : 0;
    f.r.from = history->from ? history->from : 1;
    if (f.r.from > f.n) f.r.from = f.n;
    cut(&f);
    history->from = f.r.from;
    history->plain = f.plain;
    List *list = list_new(heap, 8, err);
    bool ok = list && (value_is_gone(system) || list_push(heap, list, system, err));
    for (uint32_t i = 0; ok && next_kept(&f, &i); i++) ok = keep(heap, &f, i, list, err);
    f.r.dropped = f.n - f.r.kept;
    f.r.kept += !value_is_gone(system);
    f.r.tokens += prompt;
    if (report) *report = f.r;
    if (ok) *out = list;
    return ok;
}
