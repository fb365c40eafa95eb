#include "agent/context.h"
#include <stdlib.h>
#include "base/mem.h"
#include "value/dict.h"
#include "value/json.h"

enum { BYTES_PER_TOKEN = 4, MESSAGE_TOKENS = 4, SHORTEN_OVER = 512 };

typedef enum { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL } Role;

typedef struct Item { Value message; Role role; int64_t tokens; bool gone; } Item;
typedef struct Fit { Item *item; uint32_t n; int64_t tokens; uint32_t live; ContextLimits limits; int64_t reserved; } Fit;

static Role role_of(Value message) {
    Str role = value_member_text(message, "role");
    if (str_eq(role, STR("system"))) return ROLE_SYSTEM;
    if (str_eq(role, STR("assistant"))) return ROLE_ASSISTANT;
    return str_eq(role, STR("tool")) ? ROLE_TOOL : ROLE_USER;
}

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

static bool too_much(const Fit *f) {
    if (f->limits.max_tokens > 0 && f->tokens + f->reserved > f->limits.max_tokens) return true;
    return f->limits.max_history > 0 && (int64_t)f->live > f->limits.max_history;
}

/* ---- shortening ---- */

static bool shorten(Heap *heap, Fit *f, Item *item, Error *err) {
    Str key = value_member_text(item->message, "artifact");
    if (key.n == 0 || value_member_text(item->message, "content").n <= SHORTEN_OVER) return true;
    Dict *copy;
    String *line = string_fmt(heap, err, "[a large result, kept as artifact " STR_FMT ": artifact_read shows it]", STR_ARG(key));
    if (!line || !dict_copy(heap, value_dict(item->message), &copy, err)) return false;
    if (!dict_put_str(heap, copy, STR("content"), value_from_object(line), err)) return false;
    f->tokens -= item->tokens;
    item->message = value_from_object(copy);
    item->tokens = context_message_tokens(item->message);
    f->tokens += item->tokens;
    return true;
}

/* ---- dropping ---- */

static void drop(Fit *f, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        Item *item = &f->item[i];
        if (item->gone || item->role == ROLE_SYSTEM) continue;
        item->gone = true;
        f->tokens -= item->tokens;
        f->live--;
    }
}

static uint32_t next_role(const Fit *f, uint32_t from, Role role) {
    while (from < f->n && f->item[from].role != role) from++;
    return from;
}

/* Exchanges but the first user's words and the exchange that goes on. */
static void drop_exchanges(Fit *f) {
    uint32_t first = next_role(f, 0, ROLE_USER), last = f->n;
    while (last > 0 && f->item[last - 1].role != ROLE_USER) last--;
    if (last == 0 || first >= f->n) return;
    last--;                                             /* the message that is being answered */
    for (uint32_t at = first + 1; at < last && too_much(f);) {
        uint32_t end = next_role(f, at + (f->item[at].role == ROLE_USER), ROLE_USER);
        if (end > last) end = last;
        drop(f, at, end);
        at = end;
    }
}

/* Answers with their results inside the exchange that goes on; the newest round stays. */
static void drop_rounds(Fit *f) {
    uint32_t last_user = f->n, newest = f->n;
    while (last_user > 0 && f->item[last_user - 1].role != ROLE_USER) last_user--;
    while (newest > last_user && f->item[newest - 1].role != ROLE_ASSISTANT) newest--;
    if (newest > 0) newest--;
    for (uint32_t at = last_user; at < newest && too_much(f);) {
        uint32_t end = next_role(f, at + 1, ROLE_ASSISTANT);
        drop(f, at, end > newest ? newest : end);
        at = end;
    }
}

/* ---- all of it ---- */

static void measure(Fit *f, const List *messages) {
    for (uint32_t i = 0; i < messages->n; i++) {
        Item *item = &f->item[i];
        *item = (Item){ .message = messages->at[i], .role = role_of(messages->at[i]), .tokens = context_message_tokens(messages->at[i]) };
        f->tokens += item->tokens;
        f->live += item->role != ROLE_SYSTEM;
    }
}

static bool gather(Heap *heap, const Fit *f, List **out, Error *err) {
    List *list = list_new(heap, f->n, err);
    if (!list) return false;
    for (uint32_t i = 0; i < f->n; i++)
        if (!f->item[i].gone && !list_push(heap, list, f->item[i].message, err)) return false;
    *out = list;
    return true;
}

bool context_fit(Heap *heap, const List *messages, ContextLimits limits, int64_t reserved, List **out, ContextReport *report, Error *err) {
    Fit f = { .item = mem_zero(messages->n + 1, sizeof *f.item), .n = messages->n, .limits = limits, .reserved = reserved };
    ContextReport r = { 0 };
    bool ok = true;
    measure(&f, messages);
    for (uint32_t i = 0; ok && i < f.n && limits.max_tokens > 0 && f.tokens + reserved > limits.max_tokens; i++) {
        if (f.item[i].role != ROLE_TOOL) continue;
        Value before = f.item[i].message;
        ok = shorten(heap, &f, &f.item[i], err);
        r.shortened += !value_same(before, f.item[i].message);
    }
    if (ok && too_much(&f)) drop_exchanges(&f);
    if (ok && too_much(&f)) drop_rounds(&f);
    ok = ok && gather(heap, &f, out, err);
    for (uint32_t i = 0; i < f.n; i++) r.dropped += f.item[i].gone, r.kept += !f.item[i].gone;
    r.tokens = f.tokens;
    if (report) *report = r;
    free(f.item);
    return ok;
}
