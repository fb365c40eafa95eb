/* Shared by the tests of src/value/: helpers that create and check values. */
#pragma once
#include "unit.h"
#include "base/error.h"
#include "base/fault.h"
#include "value/dict.h"
#include "value/int.h"
#include "value/list.h"
#include "value/range.h"
#include "value/string.h"

#ifdef HARNESS_HOSTILE
enum { UNIT_HOSTILE = 1 };
#else
enum { UNIT_HOSTILE = 0 };
#endif

static inline void unit_failed(const char *what, const Error *err, const char *file, int line) {
    print_error("%s: %s: %s\n", what, error_kind_name(err->kind), err->msg);
    _fail(file, line);
}

static inline void unit_start_error(Error *err) {          /* clearing the whole struct would dominate long loops */
    err->kind = ERR_NONE;
    err->msg[0] = 0;
}

/* must(list_push(h, l, v, &err)): `err` is local to the macro, whatever else has that name. made() returns the
 * result. */
#pragma GCC diagnostic ignored "-Wshadow"
#define made(expr) ({ Error err; unit_start_error(&err); __auto_type made_ = (expr); \
                      (void)(made_ ? 0 : (unit_failed(#expr, &err, __FILE__, __LINE__), 0)); made_; })
#define must(expr) ((void)made(expr))

/* refused(kind, "message", list_push(h, l, v, &err)): must fail with exactly this message. */
#define refused(expected_kind, words, expr) do { Error err; unit_start_error(&err); \
    if (expr) { print_error("%s: was not refused\n", #expr); _fail(__FILE__, __LINE__); } \
    assert_string_equal(err.msg, words); assert_int_equal(err.kind, expected_kind); } while (0)

static inline Value unit_int(Heap *h, int64_t i) { Value v; must(int_make(h, i, &v, &err)); return v; }
static inline Value unit_text(Heap *h, const char *s) { return value_from_object(made(string_new(h, str_from(s), &err))); }
static inline Value unit_small(int64_t i) { return value_from_small(i); }
static inline Value unit_parse(Heap *h, const char *digits, int base) {
    Value v;
    must(int_parse(h, str_from(digits), base, &v, &err));
    return v;
}
static inline Value unit_list(Heap *h, const Value *v, size_t n) { return value_from_object(made(list_from(h, v, n, &err))); }
static inline Value unit_tuple(Heap *h, const Value *v, size_t n) { return value_from_object(made(tuple_from(h, v, n, &err))); }
#define LIST(h, ...) unit_list(h, (Value[]){ __VA_ARGS__ }, sizeof((Value[]){ __VA_ARGS__ }) / sizeof(Value))
#define TUPLE(h, ...) unit_tuple(h, (Value[]){ __VA_ARGS__ }, sizeof((Value[]){ __VA_ARGS__ }) / sizeof(Value))

static inline bool unit_equal(Value a, Value b) { bool out = false; must(value_equal(a, b, &out, &err)); return out; }
static inline uint32_t unit_hash(Value v) { uint32_t out = 0; must(value_hash(v, &out, &err)); return out; }

/* A reproducible random sequence. */
typedef struct { uint64_t s; } Rng;
static inline uint64_t rng_next(Rng *r) {
    uint64_t z = (r->s += 0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}
static inline size_t rng_below(Rng *r, size_t n) { return (size_t)(rng_next(r) % n); }

/* An object of a class that holds one value. */
typedef struct { Classed head; Value held; } Box;
static inline void box_trace(Tracer *t, Classed *o) { tracer_value(t, ((Box *)o)->held); }
static inline bool box_copy(Copier *c, const Classed *from, Classed *to, Error *err) {
    (void)from;
    return copier_value(c, ((Box *)to)->held, &((Box *)to)->held, err);
}
static const ObjectClass box_class = { .name = "box", .trace = box_trace, .copy = box_copy, .hashable = true };
static inline Value unit_box(Heap *h, Value held) {
    Box *b = made((Box *)heap_alloc_classed(h, OBJECT_CLASSED, &box_class, sizeof *b, &err));
    b->held = held;
    return value_from_object(b);
}
