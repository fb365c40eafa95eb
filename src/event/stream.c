#include "event/event.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"

static const Str names[] = {
#define EVENT(id, name, data) [EVENT_##id] = { name, sizeof(name) - 1 },
#include "event/types.def"
#undef EVENT
};

EventType event_type_find(Str name) {
    int i = 0;
    while (i < EVENT_COUNT && !str_eq(name, names[i])) i++;
    return (EventType)i;
}

/* One lock for numbering and for all sinks: so every sink sees the same order, and an event costs one lock. The two buffers are
 * kept from event to event, so that redaction does not allocate either. */
struct EventStream {
    pthread_mutex_t lock;
    Buf run;
    uint64_t last;
    VEC(EventSink) sinks;
    atomic_bool listened;
    void (*redact)(void *ctx, Buf *text);
    void *redact_ctx;
    Buf data, type;
};

EventStream *event_stream_new(Str run) {
    EventStream *s = mem_zero(1, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    buf_add(&s->run, run);
    return s;
}

void event_stream_free(EventStream *s) {
    if (!s) return;
    for (size_t i = 0; i < s->sinks.n; i++)
        if (s->sinks.at[i].free) s->sinks.at[i].free(s->sinks.at[i].self);
    VEC_CLEAR(&s->sinks);
    buf_clear(&s->data);
    buf_clear(&s->type);
    pthread_mutex_destroy(&s->lock);
    buf_clear(&s->run);
    free(s);
}

void event_stream_add(EventStream *s, EventSink sink) {
    pthread_mutex_lock(&s->lock);
    VEC_PUSH(&s->sinks, sink);
    atomic_store(&s->listened, true);
    pthread_mutex_unlock(&s->lock);
}

void event_stream_redact(EventStream *s, void (*redact)(void *ctx, Buf *text), void *ctx) {
    pthread_mutex_lock(&s->lock);
    s->redact = redact;
    s->redact_ctx = ctx;
    pthread_mutex_unlock(&s->lock);
}

void event_stream_continue(EventStream *s, uint64_t last) {
    pthread_mutex_lock(&s->lock);
    s->last = last;
    pthread_mutex_unlock(&s->lock);
}

bool event_stream_listened(const EventStream *s) { return atomic_load_explicit(&s->listened, memory_order_relaxed); }

static Str redacted(EventStream *s, Buf *kept, Str text) {
    buf_reset(kept);
    buf_add(kept, text);
    s->redact(s->redact_ctx, kept);
    return buf_str(kept);
}

static void hide_secrets(EventStream *s, Event *e, bool custom) {
    e->data = redacted(s, &s->data, e->data);
    if (e->data.n < 2 || e->data.at[0] != '{' || e->data.at[e->data.n - 1] != '}') e->data = STR("{\"redacted\":true}");
    if (custom) e->type = redacted(s, &s->type, e->type);
}

static bool write_all(EventStream *s, const Event *e, Error *err) {
    bool ok = true;
    for (size_t i = 0; i < s->sinks.n; i++)
        if (!s->sinks.at[i].write(s->sinks.at[i].self, e, ok ? err : NULL)) ok = false;
    return ok;
}

static bool emit(EventStream *s, EventPlace place, Str type, bool custom, Str data, Error *err) {
    Event e = { .agent = place.agent, .parent = place.parent, .depth = place.depth, .type = type, .data = data };
    if (e.data.n == 0) e.data = STR("{}");
    pthread_mutex_lock(&s->lock);
    bool ok = true;
    e.seq = ++s->last;
    if (s->sinks.n) {
        e.run = buf_str(&s->run);
        e.time_ns = clock_wall_ns();
        if (s->redact) hide_secrets(s, &e, custom);
        ok = write_all(s, &e, err);
    }
    pthread_mutex_unlock(&s->lock);
    return ok;
}

bool event_emit(EventStream *s, EventPlace place, EventType type, Str data, Error *err) {
    return emit(s, place, names[type], false, data, err);
}

bool event_emit_custom(EventStream *s, EventPlace place, Str type, Str data, Error *err) {
    return emit(s, place, type, true, data, err);
}
