#include "agent/context.h"
#include "value/dict.h"
#include "value/json.h"

enum { BYTES_PER_TOKEN = 4, MESSAGE_TOKENS = 4, SHORTEN_OVER = 512 };

/* ---- measuring ---- */

int64_t context_tokens(Str text) { return (int64_t)((text.n + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN); }

int64_t context_message_tokens(Value message) {
    int64_t n = MESSAGE_TOKENS + context_tokens(value_member_text(message, "content"));
    Value calls = value_member(message, "tool_calls");
    if (!value_is_list(calls)) return n;
    for (uint32_t i = 0; i < value_list(calls)->n; i++) {
        Value call = value_list(calls)->at[i];
        n += MESSAGE_TOKENS + context_tokens(value_member_text(call, "name")) + context_tokens(value_member_text(call, "arguments"));
    }
    return n;
}

/* What stands in the place of a large result. */
static void artifact_line(Buf *out, Str key) { buf_add_fmt(out, "[a large result, kept as artifact " STR_FMT ": artifact_read shows it]", STR_ARG(key)); }

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

void history_cut(History *h, size_t n) {
    if (n < h->n) h->n = n;
}

void history_clear(History *h) { VEC_CLEAR(h); }

/* ---- what stays ---- */

typedef struct Fit { const ContextMessage *at; uint32_t n; ContextLimits limits; int64_t fixed; ContextReport r; } Fit;      /* fixed: tokens beside the history's */

/* May what stays begin here? Whole exchanges leave, and in the one that goes on whole rounds. */
static bool may_begin(const Fit *f, uint32_t i) {
    return i == 1 || f->at[i].role == (i > f->r.asked ? ROLE_ASSISTANT : ROLE_USER);
}

/* From the newest message back, as long as it fits. The newest round stays in any case. */
static uint32_t begin(const Fit *f) {
    uint32_t from = f->n;
    bool found = false;
    int64_t live = f->n > 0, tokens = f->fixed + (live ? f->at[0].least : 0);
    if (f->r.asked > 0) live++, tokens += f->at[f->r.asked].least;
    for (uint32_t i = f->n; i-- > 1;) {
        if (i != f->r.asked) live++, tokens += f->at[i].least;
        bool over = (f->limits.max_history > 0 && live > f->limits.max_history) || (f->limits.max_tokens > 0 && tokens > f->limits.max_tokens);
        if (over && found) break;
        if (!may_begin(f, i)) continue;
        from = i;
        found = true;
    }
    return from;
}

bool context_left(const ContextReport *r, uint32_t i) { return i < r->from && i != 0 && i != r->asked; }

static bool shortened(Heap *heap, Value message, Value *out, Error *err) {
    Buf line = { 0 };
    Dict *copy;
    artifact_line(&line, value_member_text(message, "artifact"));
    bool ok = dict_copy(heap, value_dict(message), &copy, err) && dict_put_text(heap, copy, "content", buf_str(&line), err);
    buf_clear(&line);
    if (ok) *out = value_from_object(copy);
    return ok;
}

static bool keep(Heap *heap, Fit *f, const ContextMessage *m, List *out, Error *err) {
    Value message = m->value;
    if (m->least < m->tokens && f->limits.max_tokens > 0 && f->r.tokens + f->fixed > f->limits.max_tokens) {
        if (!shortened(heap, message, &message, err)) return false;
        f->r.tokens += m->least - m->tokens;
        f->r.shortened++;
    }
    f->r.kept++;
    return list_push(heap, out, message, err);
}

/* Each message that stays, oldest first: the first, the one that is being answered, and the newest. */
static bool next_kept(const Fit *f, uint32_t *i) {
    while (*i < f->n && context_left(&f->r, *i)) *i = *i < f->r.asked && f->r.asked < f->r.from ? f->r.asked : f->r.from;
    return *i < f->n;
}

bool context_fit(Heap *heap, Value system, const History *history, ContextLimits limits, int64_t reserved, List **out, ContextReport *report, Error *err) {
    Fit f = { .at = history->at, .n = (uint32_t)history->n, .limits = limits, .fixed = reserved };
    int64_t prompt = value_is_gone(system) ? 0 : context_message_tokens(system);
    f.fixed += prompt;
    f.r.asked = f.n ? f.at[f.n - 1].asked : 0;
    f.r.from = begin(&f);
    List *list = list_new(heap, 8, err);
    bool ok = list && (value_is_gone(system) || list_push(heap, list, system, err));
    for (uint32_t i = 0; next_kept(&f, &i); i++) f.r.tokens += f.at[i].tokens;
    for (uint32_t i = 0; ok && next_kept(&f, &i); i++) ok = keep(heap, &f, &f.at[i], list, err);
    f.r.dropped = f.n - f.r.kept;
    f.r.kept += !value_is_gone(system);
    f.r.tokens += prompt;
    if (report) *report = f.r;
    if (ok) *out = list;
    return ok;
}
