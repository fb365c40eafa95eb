/* Events in memory, bounded. They are stored back to back in chunks; when the total would exceed the limit, the oldest
 * chunk is emptied and reused. So nothing is allocated once the limit is reached, and at most a sixteenth is dropped at
 * once. */
#include "sink_memory.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"

#ifdef HARNESS_HOSTILE
enum { CHUNK_MAX = 512 };
#else
enum { CHUNK_MAX = 1 << 16 };
#endif
enum { CHUNK_SHARE = 16, ALIGN = 16 };

typedef struct Chunk { struct Chunk *next; size_t used, cap, events; _Alignas(ALIGN) char at[]; } Chunk;

/* An event, followed by its texts in the order of `text`. */
typedef struct { uint64_t seq; int64_t time_ns; int depth; size_t size, n[5]; } Record;

struct EventMemory {
    pthread_mutex_t lock;
    Chunk *oldest, *newest;
    size_t max, chunk, total, count;     /* total: size of all chunks */
};

EventMemory *event_memory_new(size_t max_bytes) {
    EventMemory *m = mem_zero(1, sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    m->max = max_bytes;
    m->chunk = max_bytes / CHUNK_SHARE < CHUNK_MAX ? max_bytes / CHUNK_SHARE : CHUNK_MAX;
    return m;
}

void event_memory_free(EventMemory *m) {
    if (!m) return;
    for (Chunk *c = m->oldest, *next; c; c = next) next = c->next, free(c);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* Removes the oldest chunk and returns it for reuse if it is large enough. */
static Chunk *drop_oldest(EventMemory *m, size_t need) {
    Chunk *c = m->oldest;
    m->oldest = c->next;
    if (!m->oldest) m->newest = NULL;
    m->count -= c->events;
    m->total -= c->cap;
    if (c->cap >= need && c->cap <= 2 * (need > m->chunk ? need : m->chunk)) return c;
    free(c);
    return NULL;
}

static Chunk *add_chunk(EventMemory *m, size_t need) {
    size_t cap = need > m->chunk ? need : m->chunk;
    Chunk *c = NULL;
    while (!c && m->oldest && m->total + cap > m->max) c = drop_oldest(m, need);
    if (!c) {
        c = mem_alloc(sizeof *c + cap);
        c->cap = cap;
    }
    c->next = NULL;
    c->used = c->events = 0;
    m->total += c->cap;
    if (m->newest) m->newest->next = c;
    else m->oldest = c;
    return m->newest = c;
}

static size_t record_size(const Str text[5]) {
    size_t n = sizeof(Record);
    for (int i = 0; i < 5; i++) n += text[i].n;
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static void put(EventMemory *m, const Event *e, const Str text[5], size_t size) {
    Chunk *c = m->newest && m->newest->cap - m->newest->used >= size ? m->newest : add_chunk(m, size);
    Record *r = (Record *)(void *)(c->at + c->used);
    char *at = (char *)(r + 1);
    *r = (Record){ .seq = e->seq, .time_ns = e->time_ns, .depth = e->depth, .size = size };
    for (int i = 0; i < 5; i++) {
        r->n[i] = text[i].n;
        if (text[i].n) memcpy(at, text[i].at, text[i].n);
        at += text[i].n;
    }
    c->used += size;
    c->events++;
    m->count++;
}

static bool memory_write(void *self, const Event *e, Error *err) {
    (void)err;
    EventMemory *m = self;
    char dropped[40];
    Str text[5] = { e->run, e->agent, e->parent, e->type, e->data };
    size_t size = record_size(text);
    if (size > m->max) {
        text[4] = (Str){ dropped, (size_t)snprintf(dropped, sizeof dropped, "{\"dropped\":%zu}", e->data.n) };
        size = record_size(text);
    }
    pthread_mutex_lock(&m->lock);
    put(m, e, text, size);
    pthread_mutex_unlock(&m->lock);
    return true;
}

EventSink event_sink_memory(EventMemory *m) { return (EventSink){ memory_write, NULL, m }; }

size_t event_memory_count(EventMemory *m) {
    pthread_mutex_lock(&m->lock);
    size_t n = m->count;
    pthread_mutex_unlock(&m->lock);
    return n;
}

static Event event_of(const Record *r) {
    Event e = { .seq = r->seq, .time_ns = r->time_ns, .depth = r->depth };
    Str *text[5] = { &e.run, &e.agent, &e.parent, &e.type, &e.data };
    const char *at = (const char *)(r + 1);
    for (int i = 0; i < 5; i++) {
        *text[i] = (Str){ at, r->n[i] };
        at += r->n[i];
    }
    return e;
}

void event_memory_each(EventMemory *m, void (*each)(void *ctx, const Event *e), void *ctx) {
    pthread_mutex_lock(&m->lock);
    for (const Chunk *c = m->oldest; c; c = c->next)
        for (size_t at = 0; at < c->used;) {
            const Record *r = (const Record *)(const void *)(c->at + at);
            Event e = event_of(r);
            each(ctx, &e);
            at += r->size;
        }
    pthread_mutex_unlock(&m->lock);
}
