/* A heap owns objects. It frees them all at once, or the dead ones at a collection.
 *
 * Memory consists of chunks, filled by bump allocation, and large blocks of one object each. A
 * collection marks from the roots, then sweeps the chunks: runs of dead objects become spans, and
 * later allocations bump through the spans. Objects never move; there are no size classes, no
 * per-object links and no finalizers.
 *
 * Collections happen only in heap_safepoint(), which only the virtual machine calls (at loop
 * back-edges and calls). So native code may hold plain Values between two calls into a script, and
 * pins those it still needs across one.
 *
 * One thread at a time may use a heap until heap_freeze_all(); after that, any number of threads
 * may read it without locks. */
#pragma once
#include "value/object.h"

typedef struct HeapStats { size_t used, peak, live, collections; } HeapStats;

Heap *heap_new(size_t limit);                             /* in bytes; 0: none */
void heap_free(Heap *h);                                  /* frees every object */
void heap_reset(Heap *h);                                 /* drops every object, pin and root; keeps one chunk for reuse */
HeapStats heap_stats(const Heap *h);
void heap_set_limit(Heap *h, size_t limit);
size_t heap_limit(const Heap *h);                         /* 0: none */

/* Allocates `size` zeroed bytes and fills in the header. Returns NULL with ERR_LIMIT "heap limit of
 * N bytes reached" if the limit would be exceeded. */
void *heap_alloc(Heap *h, ObjectType type, size_t size, Error *err);
void *heap_alloc_raw(Heap *h, ObjectType type, size_t size, Error *err); /* same, not zeroed: the caller must fill it immediately */
void *heap_alloc_classed(Heap *h, ObjectType type, const ObjectClass *cls, size_t size, Error *err);

/* Inline heap_alloc_raw for frequent small objects; calls it only when the current room is full. Objects of
 * HEAP_LARGE_MIN bytes or more do not go into chunks, because a request that fits few gaps would discard all smaller
 * gaps it passes. */
#ifdef HARNESS_HOSTILE
enum { HEAP_UNIT = 8, HEAP_LARGE_MIN = 1 };
#else
enum { HEAP_UNIT = 8, HEAP_LARGE_MIN = 2 << 10 };
#endif
typedef struct HeapRoom { char *bump, *end; } HeapRoom;   /* where the next object goes, and the end of that room */
static inline void *heap_alloc_quick(Heap *h, ObjectType type, size_t size, Error *err);

/* Raw memory owned by one object (a list's items, a dict's tables). New bytes are undefined. Growing may move the
 * buffer; the old address is then invalid. heap_buffer_size returns the usable size, which may exceed the requested
 * one. */
void *heap_buffer(Heap *h, size_t size, Error *err);
void *heap_buffer_grow(Heap *h, void *buffer, size_t keep, size_t size, Error *err);
size_t heap_buffer_size(const void *buffer);
void heap_buffer_drop(Heap *h, void *buffer);             /* optional: frees an unreferenced buffer early */

/* Fails as heap_alloc would for `size` bytes, but allocates nothing: call it before long operations. */
bool heap_can_take(const Heap *h, size_t size, Error *err);

/* Roots. Each collection calls every root function, which traces what its owner holds. */
typedef void HeapRoots(Tracer *t, void *ctx);
void heap_add_roots(Heap *h, HeapRoots *fn, void *ctx);
void heap_remove_roots(Heap *h, HeapRoots *fn, void *ctx);

/* Pins n values starting at v until heap_unpin; pins end in reverse order.
 *     size_t pin = heap_pin(h, args, n);  … call into a script …  heap_unpin(h, pin); */
size_t heap_pin(Heap *h, const Value *v, size_t n);
void heap_unpin(Heap *h, size_t pin);

/* Collects if enough was allocated since the last collection (always, in a hostile build). */
bool heap_wants_collection(const Heap *h);
static inline void heap_safepoint(Heap *h);
void heap_collect(Heap *h);                               /* unconditionally */

void heap_freeze_all(Heap *h);                            /* makes every object immutable and shareable; no allocation afterwards */

/* A Tracer walks the graph of objects: to mark it in a collection, or to freeze it. */
void tracer_value(Tracer *t, Value v);
void tracer_buffer(Tracer *t, void *buffer);              /* may be NULL */

static inline void *heap_alloc_quick(Heap *h, ObjectType type, size_t size, Error *err) {
    HeapRoom *r = (HeapRoom *)(void *)h;
    const size_t whole = (size + (HEAP_UNIT - 1)) & ~(size_t)(HEAP_UNIT - 1);
    if (__builtin_expect(size >= HEAP_LARGE_MIN || (size_t)(r->end - r->bump) < whole, 0)) return heap_alloc_raw(h, type, size, err);
    Object *o = (Object *)(void *)r->bump;
    r->bump += whole;
    *o = (Object){ .type = (uint8_t)type, .units = (uint32_t)(whole / HEAP_UNIT) };
    return o;
}

static inline void heap_safepoint(Heap *h) { if (__builtin_expect(heap_wants_collection(h), 0)) heap_collect(h); }
