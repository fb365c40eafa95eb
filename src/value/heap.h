/* A heap owns objects and gives them back all at once, or piece by piece at a collection.
 *
 * Memory is chunks, in which objects are laid one after another by moving a pointer, and
 * large blocks, one object each. A collection marks from the roots, then walks the chunks:
 * runs of dead objects become spans, and later allocations move their pointer through the
 * spans. Nothing moves, there are no size classes, no per-object links, no finalisers.
 *
 * Collections happen only in heap_safepoint(), which only the virtual machine calls (at
 * loop back-edges and calls). So native code may hold plain Values between two calls into
 * a script, and pins those it still needs across one.
 *
 * A heap is used by one thread at a time until heap_freeze_all(); then by any number,
 * read-only, without locks. */
#pragma once
#include "value/object.h"

typedef struct HeapStats { size_t used, peak, live, collections; } HeapStats;

Heap *heap_new(size_t limit);                             /* in bytes; 0: none */
void heap_free(Heap *h);                                  /* frees every object */
void heap_reset(Heap *h);                                 /* drops every object, pin and root; keeps one chunk for reuse */
HeapStats heap_stats(const Heap *h);
void heap_set_limit(Heap *h, size_t limit);
size_t heap_limit(const Heap *h);                         /* 0: none */

/* Zeroed memory of `size` bytes, header filled in. NULL with ERR_LIMIT
 * "heap limit of N bytes reached" when the limit would be passed. */
void *heap_alloc(Heap *h, ObjectType type, size_t size, Error *err);
void *heap_alloc_raw(Heap *h, ObjectType type, size_t size, Error *err); /* the same, not zeroed: the caller fills it at once */
void *heap_alloc_classed(Heap *h, ObjectType type, const ObjectClass *cls, size_t size, Error *err);

/* The same as heap_alloc_raw, without a call where there is room: for what every call makes many of. Objects of HEAP_LARGE_MIN and more do not
 * go into chunks: a request that fits few holes gives up all those it passes. */
#ifdef HARNESS_HOSTILE
enum { HEAP_UNIT = 8, HEAP_LARGE_MIN = 1 };
#else
enum { HEAP_UNIT = 8, HEAP_LARGE_MIN = 2 << 10 };
#endif
typedef struct HeapRoom { char *bump, *end; } HeapRoom;   /* where the next object goes, and where that room ends */
static inline void *heap_alloc_quick(Heap *h, ObjectType type, size_t size, Error *err);

/* Raw memory owned by one object (a list's items, a dict's tables). Contents of new bytes are undefined. Growing may move it; the old place is
 * dead then. heap_buffer_size tells the usable size, which may exceed what was asked for. */
void *heap_buffer(Heap *h, size_t size, Error *err);
void *heap_buffer_grow(Heap *h, void *buffer, size_t keep, size_t size, Error *err);
size_t heap_buffer_size(const void *buffer);
void heap_buffer_drop(Heap *h, void *buffer);             /* early end of a buffer nobody refers to; optional */

/* Fails as heap_alloc would for `size` bytes, but allocates nothing: ask before long work. */
bool heap_can_take(const Heap *h, size_t size, Error *err);

/* Roots. A root function is called in each collection to trace what its owner holds. */
typedef void HeapRoots(Tracer *t, void *ctx);
void heap_add_roots(Heap *h, HeapRoots *fn, void *ctx);
void heap_remove_roots(Heap *h, HeapRoots *fn, void *ctx);

/* Pins n values starting at v for as long as the pin stands; pins end in reverse order.
 *     size_t pin = heap_pin(h, args, n);  … call into a script …  heap_unpin(h, pin);     */
size_t heap_pin(Heap *h, const Value *v, size_t n);
void heap_unpin(Heap *h, size_t pin);

/* Collects if enough was allocated since last time (always, in a hostile build). */
bool heap_wants_collection(const Heap *h);
static inline void heap_safepoint(Heap *h);
void heap_collect(Heap *h);                               /* now */

void heap_freeze_all(Heap *h);                            /* every object becomes immutable and shareable; the heap takes no more */

/* A Tracer walks the graph of objects: to mark it in a collection, or to freeze it. */
void tracer_value(Tracer *t, Value v);
void tracer_buffer(Tracer *t, void *buffer);              /* NULL is fine */

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
