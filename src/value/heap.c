#include "value/heap.h"

#include <stdlib.h>
#include "base/fault.h"
#include "base/mem.h"
#include "base/vec.h"

/* In a hostile build every object is a separate block, so that a sanitizer detects any use of a
 * dead or neighbouring one. The other builds test the chunks. */
#ifdef HARNESS_HOSTILE
enum { CHUNK_FIRST = 256, CHUNK_MAX = 1024, BUDGET_MIN = 0 };
#else
enum { CHUNK_FIRST = 16 << 10, CHUNK_MAX = 96 << 10, BUDGET_MIN = 2 << 20 };
#endif
enum { UNIT = HEAP_UNIT, LARGE_MIN = HEAP_LARGE_MIN, SPAN_MIN = 64 };   /* smaller gaps are not reused */
#define SIZE_LARGEST ((size_t)UINT32_MAX * UNIT)   /* the largest size that Object.units can hold */

/* A chunk's data is tiled with objects; unused space is an OBJECT_FREE, except for the room at `bump`. */
typedef struct Chunk { struct Chunk *next; size_t size; char data[]; } Chunk;
typedef struct Large { struct Large *next, *prev; size_t size; Object obj[]; } Large;
typedef struct Span { Object obj; struct Span *next; } Span;   /* an OBJECT_FREE of at least SPAN_MIN bytes */
typedef struct { HeapRoots *fn; void *ctx; } Root;
typedef struct { const Value *v; size_t n; } Pin;

struct Heap {
    HeapRoom room;               /* must be first: heap_alloc_quick uses only this part */
    Span *spans;                 /* more room, found by the last collection */
    Chunk *chunks;               /* newest first */
    Large *large;
    size_t used;                 /* bytes of chunks and large blocks */
    size_t limit;
    size_t given;                /* bytes allocated since the last collection … */
    size_t budget;               /* … and the maximum before the next one */
    size_t live, peak, collections, next_chunk;
    bool frozen;
    VEC(Root) roots;
    VEC(Pin) pins;
    VEC(Object *) gray;          /* the tracer's stack, kept between collections */
};

typedef enum { TRACE_MARK, TRACE_FREEZE } TraceMode;
struct Tracer { Heap *heap; TraceMode mode; size_t live; VEC(Object *) todo; };

Heap *heap_new(size_t limit) {
    Heap *h = mem_zero(1, sizeof *h);
    h->limit = limit ? limit : SIZE_MAX;
    h->budget = BUDGET_MIN;
    h->next_chunk = CHUNK_FIRST;
    if (h->budget > h->limit / 4) h->budget = h->limit / 4;
    return h;
}

static void free_chunks(Chunk *c) {
    while (c) { Chunk *next = c->next; free(c); c = next; }
}

static void free_large(Heap *h) {
    for (Large *l = h->large, *next; l; l = next) { next = l->next; free(l); }
    h->large = NULL;
}

void heap_free(Heap *h) {
    if (!h) return;
    free_chunks(h->chunks);
    free_large(h);
    VEC_CLEAR(&h->roots);
    VEC_CLEAR(&h->pins);
    VEC_CLEAR(&h->gray);
    free(h);
}

void heap_reset(Heap *h) {
    free_large(h);
    Chunk *keep = h->chunks;
    if (keep) {
        while (keep->next) {                            /* the oldest chunk is the smallest */
            Chunk *next = keep->next;
            free(keep);
            keep = next;
        }
        h->room.bump = keep->data;
        h->room.end = keep->data + keep->size;
    }
    h->chunks = keep;
    h->spans = NULL;
    h->used = keep ? keep->size : 0;
    h->peak = h->used;
    h->given = h->live = h->collections = 0;
    h->next_chunk = keep ? CHUNK_MAX : CHUNK_FIRST;
    h->roots.n = h->pins.n = 0;
    heap_set_limit(h, h->limit == SIZE_MAX ? 0 : h->limit);
}

void heap_set_limit(Heap *h, size_t limit) {
    h->limit = limit ? limit : SIZE_MAX;
    h->budget = h->live > BUDGET_MIN ? h->live : BUDGET_MIN;
    size_t room = h->limit > h->live ? h->limit - h->live : 0;
    if (h->budget <= room / 2) return;
    h->budget = room / 2;                               /* the other half is for what one step may allocate … */
    if (h->budget < h->limit / 64) h->budget = h->limit / 64;  /* … but a nearly full heap must not collect all the time */
}

size_t heap_limit(const Heap *h) { return h->limit == SIZE_MAX ? 0 : h->limit; }

HeapStats heap_stats(const Heap *h) {
    return (HeapStats){ .used = h->used, .peak = h->peak, .live = h->live, .collections = h->collections };
}

/* ---- allocation ---- */

bool heap_can_take(const Heap *h, size_t size, Error *err) {
    if (h->limit < h->used || h->limit - h->used < size || fault_hit())
        return error_set(err, ERR_LIMIT, "heap limit of %zu bytes reached", h->limit);
    return true;
}

static bool take(Heap *h, size_t size, Error *err) {
    if (!heap_can_take(h, size, err)) return false;
    h->used += size;
    if (h->used > h->peak) h->peak = h->used;
    return true;
}

static void mark_free(char *at, size_t size) {
    if (size) *(Object *)(void *)at = (Object){ .type = OBJECT_FREE, .units = (uint32_t)(size / UNIT) };
}

static void span_use(Heap *h, char *at, size_t size) {
    mark_free(h->room.bump, (size_t)(h->room.end - h->room.bump));
    h->room.bump = at;
    h->room.end = at + size;
    h->given += size;
}

/* Finds room for `size` bytes: the next span that is large enough, or a new chunk. */
static bool refill(Heap *h, size_t size, Error *err) {
    while (h->spans) {
        Span *s = h->spans;
        h->spans = s->next;
        size_t room = (size_t)s->obj.units * UNIT;
        if (room >= size) { span_use(h, (char *)s, room); return true; }
    }
    size_t want = h->next_chunk;
    if (h->limit - h->used < want) want = (h->limit - h->used) / UNIT * UNIT;   /* the last, smaller chunk */
    if (want < size) want = size;
    if (!take(h, want, err)) return false;
    Chunk *c = mem_alloc(sizeof *c + want);
    *c = (Chunk){ .next = h->chunks, .size = want };
    h->chunks = c;
    if (h->next_chunk < CHUNK_MAX) h->next_chunk *= 2;
    span_use(h, c->data, want);
    return true;
}

static Object *alloc_large(Heap *h, size_t size, Error *err) {
    if (!take(h, size, err)) return NULL;
    h->given += size;
    Large *l = mem_alloc(sizeof *l + size);
    l->size = size;
    l->prev = NULL;
    l->next = h->large;
    if (h->large) h->large->prev = l;
    h->large = l;
    return l->obj;
}

static Large *large_of(Object *o) { return (Large *)(void *)((char *)o - offsetof(Large, obj)); }

static void unlink_large(Heap *h, Large *l) {
    if (l->prev) l->prev->next = l->next;
    else h->large = l->next;
    if (l->next) l->next->prev = l->prev;
}

static void *too_large(Error *err) { return error_set(err, ERR_LIMIT, "object too large"), NULL; }

static size_t in_units(size_t size) { return (size + (UNIT - 1)) & ~(size_t)(UNIT - 1); }

void *heap_alloc_raw(Heap *h, ObjectType type, size_t size, Error *err) {
    Object *o;
    if (__builtin_expect(size >= LARGE_MIN, 0)) {
        if (size > SIZE_LARGEST) return too_large(err); /* check before rounding up, which could overflow */
        size = in_units(size);
        o = alloc_large(h, size, err);
        if (!o) return NULL;
        *o = (Object){ .type = (uint8_t)type, .flags = OBJECT_LARGE, .units = (uint32_t)(size / UNIT) };
        return o;
    }
    size = in_units(size);
    if (__builtin_expect((size_t)(h->room.end - h->room.bump) < size, 0) && !refill(h, size, err)) return NULL;
    o = (Object *)(void *)h->room.bump;
    h->room.bump += size;
    *o = (Object){ .type = (uint8_t)type, .units = (uint32_t)(size / UNIT) };
    return o;
}

void *heap_alloc(Heap *h, ObjectType type, size_t size, Error *err) {
    Object *o = heap_alloc_raw(h, type, size, err);
    if (o) memset(o + 1, 0, (size_t)o->units * UNIT - sizeof *o);
    return o;
}

void *heap_alloc_classed(Heap *h, ObjectType type, const ObjectClass *cls, size_t size, Error *err) {
    Classed *o = heap_alloc(h, type, size, err);
    if (o) o->cls = cls;
    return o;
}

/* ---- buffers ---- */

static Object *buffer_object(const void *buffer) { return (Object *)(uintptr_t)buffer - 1; }

size_t heap_buffer_size(const void *buffer) { return (size_t)buffer_object(buffer)->units * UNIT - sizeof(Object); }

void *heap_buffer(Heap *h, size_t size, Error *err) {
    if (size > SIZE_LARGEST - sizeof(Object)) return too_large(err);
    Object *o = heap_alloc_raw(h, OBJECT_BUFFER, sizeof *o + size, err);
    return o ? o + 1 : NULL;
}

static void *grow_large(Heap *h, Object *o, size_t whole, Error *err) {
    size_t had = large_of(o)->size;
    if (!take(h, whole - had, err)) return NULL;
    h->given += whole - had;
    Large *l = mem_resize(large_of(o), 1, sizeof(Large) + whole);
    l->size = whole;
    l->obj->units = (uint32_t)(whole / UNIT);
    if (l->prev) l->prev->next = l;
    else h->large = l;
    if (l->next) l->next->prev = l;
    return l->obj + 1;
}

void *heap_buffer_grow(Heap *h, void *buffer, size_t keep, size_t size, Error *err) {
    if (!buffer) return heap_buffer(h, size, err);
    if (size > SIZE_LARGEST - sizeof(Object)) return too_large(err);
    Object *o = buffer_object(buffer);
    size_t had = (size_t)o->units * UNIT, whole = in_units(sizeof *o + size);
    if (whole <= had) return buffer;
    if (o->flags & OBJECT_LARGE) return grow_large(h, o, whole, err);
    if ((char *)o + had == h->room.bump && whole < LARGE_MIN && (size_t)(h->room.end - (char *)o) >= whole) {
        h->room.bump = (char *)o + whole;               /* it was the last allocation: just move the pointer */
        o->units = (uint32_t)(whole / UNIT);
        return buffer;
    }
    void *fresh = heap_buffer(h, size, err);
    if (fresh) memcpy(fresh, buffer, keep);
    return fresh;
}

void heap_buffer_drop(Heap *h, void *buffer) {
    if (!buffer) return;
    Object *o = buffer_object(buffer);
    if (!(o->flags & OBJECT_LARGE)) {
        size_t had = (size_t)o->units * UNIT;
        if ((char *)o + had == h->room.bump) h->room.bump = (char *)o;
        return;
    }
    Large *l = large_of(o);
    unlink_large(h, l);
    h->used -= l->size;
    free(l);
}

/* ---- roots ---- */

void heap_add_roots(Heap *h, HeapRoots *fn, void *ctx) { VEC_PUSH(&h->roots, (Root){ fn, ctx }); }

void heap_remove_roots(Heap *h, HeapRoots *fn, void *ctx) {
    for (size_t i = h->roots.n; i-- > 0;)
        if (h->roots.at[i].fn == fn && h->roots.at[i].ctx == ctx) {
            h->roots.at[i] = VEC_LAST(&h->roots);
            h->roots.n--;
            return;
        }
}

size_t heap_pin(Heap *h, const Value *v, size_t n) {
    VEC_PUSH(&h->pins, (Pin){ v, n });
    return h->pins.n - 1;
}

void heap_unpin(Heap *h, size_t pin) { h->pins.n = pin; }

/* ---- tracing ---- */

static bool has_children(const Object *o) {
    switch (o->type) {
    case OBJECT_INT: case OBJECT_RANGE: case OBJECT_BUFFER: return false;
    case OBJECT_STRING: case OBJECT_BYTES: return o->aux != 0;
    default: return true;
    }
}

static void tracer_object(Tracer *t, Object *o) {
    uint8_t seen = t->mode == TRACE_MARK ? OBJECT_MARKED : OBJECT_FROZEN;
    if (o->flags & (seen | OBJECT_SHARED)) return;
    o->flags |= seen;
    t->live += (size_t)o->units * UNIT;
    if (has_children(o)) VEC_PUSH(&t->todo, o);
}

void tracer_value(Tracer *t, Value v) {
    if (value_is_object(v)) tracer_object(t, value_object(v));
}

void tracer_buffer(Tracer *t, void *buffer) {
    if (buffer && t->mode == TRACE_MARK) tracer_object(t, buffer_object(buffer));
}

static void tracer_drain(Tracer *t) {
    while (t->todo.n) object_trace(t, VEC_POP(&t->todo));
}

void value_freeze(Value v) {
    Tracer t = { .mode = TRACE_FREEZE };
    tracer_value(&t, v);
    tracer_drain(&t);
    VEC_CLEAR(&t.todo);
}

/* ---- collection ---- */

bool heap_wants_collection(const Heap *h) {
#ifdef HARNESS_HOSTILE
    return !h->frozen;
#else
    return h->given > h->budget + (size_t)(h->room.end - h->room.bump);   /* unused room of a span does not count */
#endif
}

static void mark(Heap *h, Tracer *t) {
    for (size_t i = 0; i < h->roots.n; i++) h->roots.at[i].fn(t, h->roots.at[i].ctx);
    for (size_t i = 0; i < h->pins.n; i++)
        for (size_t k = 0; k < h->pins.at[i].n; k++) tracer_value(t, h->pins.at[i].v[k]);
    tracer_drain(t);
}

static bool marked(const char *at) { return ((const Object *)(const void *)at)->flags & OBJECT_MARKED; }
static char *after(char *at) { return at + (size_t)((Object *)(void *)at)->units * UNIT; }

/* Joins adjacent dead objects into spans and lists those large enough to reuse. */
static void sweep_chunk(Chunk *c, Span ***tail) {
    char *at = c->data, *end = c->data + c->size;
    while (at < end) {
        if (marked(at)) {
            ((Object *)(void *)at)->flags &= (uint8_t)~OBJECT_MARKED;
            at = after(at);
            continue;
        }
        char *from = at;
        do at = after(at);
        while (at < end && !marked(at));
        mark_free(from, (size_t)(at - from));
        if (at - from < SPAN_MIN) continue;
        **tail = (Span *)(void *)from;
        *tail = &((Span *)(void *)from)->next;
    }
}

static bool chunk_empty(const Chunk *c) {
    const Object *o = (const Object *)(const void *)c->data;
    return o->type == OBJECT_FREE && (size_t)o->units * UNIT == c->size;
}

/* Returns empty chunks to the system once the heap holds more than twice the live data. */
static void sweep_chunks(Heap *h) {
    size_t keep = h->live * 2 + 4 * (size_t)CHUNK_MAX;
    Span **tail = &h->spans;
    for (Chunk **at = &h->chunks; *at;) {
        Chunk *c = *at;
        Span **before = tail;
        sweep_chunk(c, &tail);
        if (!c->next || h->used <= keep || !chunk_empty(c)) { at = &c->next; continue; }
        tail = before;
        *at = c->next;
        h->used -= c->size;
        free(c);
    }
    *tail = NULL;
}

static void sweep_large(Heap *h) {
    for (Large *l = h->large, *next; l; l = next) {
        next = l->next;
        if (l->obj->flags & OBJECT_MARKED) { l->obj->flags &= (uint8_t)~OBJECT_MARKED; continue; }
        unlink_large(h, l);
        h->used -= l->size;
        free(l);
    }
}

static void sweep(Heap *h) {
    mark_free(h->room.bump, (size_t)(h->room.end - h->room.bump));
    h->room.bump = h->room.end = NULL;
    sweep_large(h);
    sweep_chunks(h);
}

void heap_collect(Heap *h) {
    if (h->frozen) return;
    Tracer t = { .heap = h, .mode = TRACE_MARK };
    t.todo.at = h->gray.at;
    t.todo.cap = h->gray.cap;
    mark(h, &t);
    h->gray.at = t.todo.at;                             /* keep the stack for the next collection */
    h->gray.cap = t.todo.cap;
    h->live = t.live;
    sweep(h);
    h->given = 0;
    h->collections++;
    heap_set_limit(h, h->limit == SIZE_MAX ? 0 : h->limit);
}

void heap_freeze_all(Heap *h) {
    mark_free(h->room.bump, (size_t)(h->room.end - h->room.bump));
    h->room.bump = h->room.end = NULL;
    h->spans = NULL;
    h->frozen = true;
    h->limit = h->used;                                 /* no more allocations */
    for (Chunk *c = h->chunks; c; c = c->next)
        for (char *at = c->data; at < c->data + c->size; at = after(at))
            ((Object *)(void *)at)->flags |= OBJECT_FROZEN | OBJECT_SHARED;
    for (Large *l = h->large; l; l = l->next) l->obj->flags |= OBJECT_FROZEN | OBJECT_SHARED;
}
