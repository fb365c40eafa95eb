/* Replies from a recording. Compares requests in their comparable form (tape.h); a request that is not in the recording
 * is an error that shows the first difference from the next one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "model/provider.h"
#include "model/request.h"
#include "model/tape.h"

enum { TAPE_MAX = 256 << 20 };

typedef struct Take { Str request; Value reply; bool used; } Take;
typedef struct Replay { Heap *heap; Take *takes; size_t n; pthread_mutex_t lock; Arena arena; } Replay;

static bool read_take(Replay *r, Str line, Take *out, Error *err) {
    Value root;
    if (!json_read(r->heap, line, NULL, &root, err)) return false;
    Value request = value_member(root, "request");
    out->reply = value_member(root, "reply");
    if (!value_is_dict(request) || !value_is_dict(out->reply)) return error_set(err, ERR_PARSE, "each line of a recording needs a request and a reply");
    Buf text = { 0 };
    bool ok = json_write(&text, request, NULL, err);
    out->request = arena_str(&r->arena, buf_str(&text));
    buf_clear(&text);
    return ok;
}

static bool read_tape(Replay *r, Str text, Error *err) {
    Str line;
    size_t count = 0;
    for (size_t i = 0; i < text.n; i++) count += text.at[i] == '\n';
    r->takes = mem_zero(count + 1, sizeof *r->takes);
    for (uint32_t at = 1; str_next_line(&text, &line); at++) {
        if (str_trim(line).n == 0) continue;
        if (!read_take(r, line, &r->takes[r->n], err)) return error_place(err, NULL, at, 0);
        r->n++;
    }
    return true;
}

static bool open(Model *m, const Project *p, Error *err) {
    Replay *r = mem_zero(1, sizeof *r);
    m->data = r;
    pthread_mutex_init(&r->lock, NULL);
    r->heap = heap_new(0);
    if (m->def.replay.n == 0) return error_set(err, ERR_CONFIG, "model.replay is required: the file that `harness run --record` wrote");
    bool absolute = m->def.replay.at[0] == '/';
    char *path = absolute ? arena_fmt(&m->arena, STR_FMT, STR_ARG(m->def.replay))
                          : arena_fmt(&m->arena, STR_FMT "/" STR_FMT, STR_ARG(p->root), STR_ARG(m->def.replay));
    Buf text = { 0 };
    bool ok = file_read(path, TAPE_MAX, &text, err) && (read_tape(r, buf_str(&text), err) || error_place(err, path, 0, 0));
    buf_clear(&text);
    if (ok) heap_freeze_all(r->heap);
    return ok;
}

static void close(Model *m) {
    Replay *r = m->data;
    if (!r) return;
    heap_free(r->heap);
    free(r->takes);
    arena_clear(&r->arena);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static Take *take_next(Replay *r, Str request, Take **expected) {
    Take *found = NULL;
    *expected = NULL;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n && !found; i++) {
        if (r->takes[i].used) continue;
        if (!*expected) *expected = &r->takes[i];
        if (str_eq(r->takes[i].request, request)) found = &r->takes[i];
    }
    if (found) found->used = true;
    pthread_mutex_unlock(&r->lock);
    return found;
}

static bool differs(Str got, const Take *expected, Error *err) {
    if (!expected) return error_set(err, ERR_PROVIDER, "replay: the recording has no further reply");
    size_t i = 0;
    while (i < got.n && i < expected->request.n && got.at[i] == expected->request.at[i]) i++;
    size_t from = i > 60 ? i - 60 : 0;
    error_set(err, ERR_PROVIDER, "replay: the request differs from the recording at byte %zu: recorded …" STR_FMT "… but got …" STR_FMT "…", i,
              STR_ARG(str_sub(expected->request, from, i + 100)), STR_ARG(str_sub(got, from, i + 100)));
    return error_hint(err, "record it again with --record");
}

static bool answer_call(ProviderDraft *d, Value call, Error *err) {
    ProviderCall *c = provider_call(d, (int64_t)d->n, err);
    if (!c) return false;
    buf_add(&c->id, value_member_text(call, "id"));
    buf_add(&c->name, value_member_text(call, "name"));
    buf_add(&c->arguments, value_member_text(call, "arguments"));
    return true;
}

/* In the recorded order. */
static bool answer(const Take *t, ProviderDraft *d, Error *err) {
    Value items = value_member(t->reply, "items"), usage = value_member(t->reply, "usage");
    Heap *heap = heap_new(0);
    List *parts;
    bool ok = parts_read_order(heap, value_member(t->reply, "parts"), value_member_text(t->reply, "reasoning"), value_member_text(t->reply, "text"),
                               value_member(t->reply, "tool_calls"), &parts, err)
           && (!value_is_list(items) || json_write(&d->reply->items, items, NULL, err));
    for (uint32_t i = 0; ok && i < parts->n; i++) {
        if (parts_is(parts->at[i], "reasoning")) provider_reasoning(d, value_member_text(parts->at[i], "text"));
        else if (parts_is(parts->at[i], "text")) provider_text(d, value_member_text(parts->at[i], "text"));
        else ok = answer_call(d, parts->at[i], err);
    }
    heap_free(heap);
    d->reply->usage = (ModelUsage){ .input = request_int(usage, "input"), .output = request_int(usage, "output"), .cached = request_int(usage, "cached"),
                                      .written = request_int(usage, "written"), .reasoning = request_int(usage, "reasoning") };
    snprintf(d->reply->finish_reason, sizeof d->reply->finish_reason, STR_FMT, STR_ARG(value_member_text(t->reply, "finish_reason")));
    return ok && provider_finish(d, err);
}

static bool complete(Model *m, const ModelRequest *request, Cancel *cancel, ModelReply *out, bool *retry, int64_t *wait_ms, Error *err) {
    (void)retry;
    (void)wait_ms;
    Replay *r = m->data;
    Buf text = { 0 };
    Take *expected = NULL;
    ProviderDraft draft = { .reply = out, .request = request };
    bool ok = cancel_check(cancel, err);
    tape_request(request, &text);
    Take *found = ok ? take_next(r, buf_str(&text), &expected) : NULL;
    ok = ok && (found ? answer(found, &draft, err) : differs(buf_str(&text), expected, err));
    provider_draft_clear(&draft);
    buf_clear(&text);
    return ok;
}

const Provider provider_replay = { "replay", open, NULL, complete, close };
