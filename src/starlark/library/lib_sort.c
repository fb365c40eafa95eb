/* sorted, min, max.
 *
 * One pass over the keys chooses the cheapest algorithm that orders them correctly:
 *
 *   numbers without key function   radix sort of plain words; the values are rebuilt from them
 *   numbers                        merge sort; a 64-bit rank that orders as the numbers do
 *   strings                        merge sort; the rank is the first eight bytes, the rest breaks ties
 *   anything else                  merge sort with value_compare
 *
 * The merge sort is stable and detects runs that are already in order. It merges runs by the "power" of
 * the border between them (Munro and Wild), which keeps the merges balanced. It sorts pairs of rank and
 * index, so that items move once, at the end. A descending sort reverses the items, sorts them
 * ascending and reverses the result, which is stable too. */
#include <stdlib.h>
#include "base/mem.h"
#include "starlark/vm/iter.h"
#include "starlark/vm/lib.h"
#include "starlark/vm/vm.h"
#include "value/int.h"

typedef struct { uint64_t rank; uint32_t index; } Item;
typedef enum { BY_RANK, BY_STRING, BY_VALUE } Order;

typedef struct Sort {
    Vm *vm;
    const Value *key;            /* by index */
    Item *at, *spare;            /* n and n / 2 + 1 of them */
    size_t n;
    ptrdiff_t budget;            /* work until the next check of the limits */
    Error *err;
    bool failed;                 /* some pair could not be compared: the last error is reported, as in starlark-go */
    bool stopped;                /* deadline passed or cancelled */
} Sort;

enum { BUDGET = 50000, RUN_MIN = 24, RADIX_MIN = 64 };

/* ---- comparing ---- */

static void spend(Sort *s, size_t units) {
    s->budget -= (ptrdiff_t)units;
    if (s->budget > 0) return;
    s->budget = BUDGET;
    if (!s->stopped && !vm_work(s->vm, BUDGET, s->err)) s->failed = s->stopped = true;
}

static size_t cost_of(Value v) {
    if (value_is_string(v)) return value_string(v)->n / 64;
    if (value_is_list(v)) return value_list(v)->n;
    return value_is_tuple(v) ? value_tuple(v)->n : 0;
}

/* Values that cannot be compared count as equal. After the deadline all values do, so that the sort ends soon. */
static __attribute__((noinline)) bool less_value(Sort *s, Value a, Value b) {
    int order = 0;
    spend(s, 4 + cost_of(a));
    if (s->stopped) return false;
    if (!vm_compare(s->vm, a, b, "<", &order, s->err)) s->failed = true;
    return order < 0;
}

static __attribute__((noinline)) bool less_string(Sort *s, Value a, Value b) {
    Str x = value_str(a), y = value_str(b);
    spend(s, 2 + (x.n < y.n ? x.n : y.n) / 64);
    return !s->failed && str_cmp(x, y) < 0;
}

#define INLINE static inline __attribute__((always_inline))

INLINE bool less(Sort *s, Order order, Item a, Item b) {
    if (order == BY_VALUE) return less_value(s, s->key[a.index], s->key[b.index]);
    if (order == BY_RANK || a.rank != b.rank) return a.rank < b.rank;
    return less_string(s, s->key[a.index], s->key[b.index]);
}

/* ---- merging ---- */

/* Insertion point of x in a sorted array of n: after all items that are not greater. */
INLINE size_t place_behind(Sort *s, Order order, const Item *a, size_t n, Item x) {
    size_t low = 0;
    while (low < n) {
        size_t mid = low + (n - low) / 2;
        if (less(s, order, x, a[mid])) n = mid;
        else low = mid + 1;
    }
    return low;
}

/* Insertion point before all items that are not less. */
INLINE size_t place_before(Sort *s, Order order, const Item *a, size_t n, Item x) {
    size_t low = 0;
    while (low < n) {
        size_t mid = low + (n - low) / 2;
        if (less(s, order, a[mid], x)) low = mid + 1;
        else n = mid;
    }
    return low;
}

/* The left part is the shorter one: copy it aside and merge from the front. */
INLINE void merge_up(Sort *s, Order order, Item *a, size_t left, size_t right) {
    memcpy(s->spare, a, left * sizeof *a);
    const Item *x = s->spare, *x_end = x + left, *y = a + left, *y_end = y + right;
    while (x < x_end && y < y_end) {
        bool take = less(s, order, *y, *x);             /* if equal, the left item first */
        *a++ = take ? *y : *x;
        y += take;
        x += !take;
    }
    memcpy(a, x, (size_t)(x_end - x) * sizeof *a);
}

static void merge_down_rest(Item *to, const Item *spare, size_t n) { memcpy(to, spare, n * sizeof *to); }

/* The right part is the shorter one: merge from the back. */
INLINE void merge_down(Sort *s, Order order, Item *a, size_t left, size_t right) {
    memcpy(s->spare, a + left, right * sizeof *a);
    Item *to = a + left + right;
    while (left && right) {
        bool take = less(s, order, s->spare[right - 1], a[left - 1]);   /* if equal, the right item last */
        *--to = take ? a[left - 1] : s->spare[right - 1];
        left -= take;
        right -= !take;
    }
    merge_down_rest(to - right, s->spare, right);
}

INLINE void merge(Sort *s, Order order, Item *a, size_t left, size_t right) {
    size_t skip = place_behind(s, order, a, left, a[left]);          /* already in place */
    a += skip;
    left -= skip;
    if (left == 0) return;
    right = place_before(s, order, a + left, right, a[left - 1]);
    if (left <= right) merge_up(s, order, a, left, right);
    else merge_down(s, order, a, left, right);
    spend(s, left + right);
}

/* ---- runs ---- */

INLINE void insert_into_run(Sort *s, Order order, Item *a, size_t sorted, size_t n) {
    for (size_t i = sorted; i < n; i++) {
        Item x = a[i];
        size_t at = place_behind(s, order, a, i, x);
        memmove(a + at + 1, a + at, (i - at) * sizeof *a);
        a[at] = x;
    }
}

static void turn(Item *a, size_t n) {
    for (size_t i = 0, j = n; i + 1 < j; i++) {
        j--;
        Item t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
}

/* Returns the length of a sorted run at the start of a: found, reversed, or built by insertion. */
INLINE size_t make_run(Sort *s, Order order, Item *a, size_t n) {
    if (n < 2) return n;
    size_t run = 2;
    if (less(s, order, a[1], a[0])) {                    /* strictly descending: reversing it stays stable */
        while (run < n && less(s, order, a[run], a[run - 1])) run++;
        turn(a, run);
    } else
        while (run < n && !less(s, order, a[run], a[run - 1])) run++;
    size_t want = n < RUN_MIN ? n : RUN_MIN;
    if (run < want) {
        insert_into_run(s, order, a, run, want);
        run = want;
    }
    spend(s, run);
    return run;
}

/* The level of the border between two adjacent runs in a nearly balanced tree over all n. */
static unsigned border_power(size_t start, size_t left, size_t right, size_t n) {
    uint64_t a = ((uint64_t)start * 2 + left) << 30, b = ((uint64_t)start * 2 + left * 2 + right) << 30;
    a /= n;
    b /= n;                                              /* both are twice the midpoints, scaled to 31 bits */
    return a == b ? 32 : (unsigned)__builtin_clz((uint32_t)(a ^ b));
}

typedef struct { size_t start, n; unsigned power; } Run;

INLINE void sort_items(Sort *s, Order order) {
    Run stack[40];                                      /* powers increase along the stack, which bounds its depth */
    size_t depth = 0;
    Run now = { 0, make_run(s, order, s->at, s->n), 0 };
    while (now.start + now.n < s->n && !s->stopped) {
        size_t start = now.start + now.n;
        Run next = { start, make_run(s, order, s->at + start, s->n - start), 0 };
        unsigned power = border_power(now.start, now.n, next.n, s->n);
        while (depth && stack[depth - 1].power >= power) {
            Run left = stack[--depth];
            merge(s, order, s->at + left.start, left.n, now.n);
            now = (Run){ left.start, left.n + now.n, 0 };
        }
        now.power = power;
        stack[depth++] = now;
        now = next;
    }
    while (depth && !s->stopped) {
        Run left = stack[--depth];
        merge(s, order, s->at + left.start, left.n, now.n);
        now = (Run){ left.start, left.n + now.n, 0 };
    }
}

static void sort_by_rank(Sort *s) { sort_items(s, BY_RANK); }
static void sort_by_string(Sort *s) { sort_items(s, BY_STRING); }
static void sort_by_value(Sort *s) { sort_items(s, BY_VALUE); }

/* ---- ranks ---- */

static uint64_t rank_int(Value v) { return (uint64_t)value_small(v) ^ (uint64_t)1 << 63; }

/* Orders as the doubles do: NaN above everything, -0.0 equal to 0.0. */
static uint64_t rank_double(double d) {
    uint64_t bits;
    d += 0.0;                                            /* -0.0 becomes 0.0 */
    memcpy(&bits, &d, 8);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double unrank_double(uint64_t rank) {
    uint64_t bits = rank >> 63 ? rank & ~((uint64_t)1 << 63) : ~rank;
    double d;
    memcpy(&d, &bits, 8);
    return d;
}

static uint64_t rank_string(Value v) {
    Str s = value_str(v);
    unsigned char first[8] = { 0 };
    memcpy(first, s.at, s.n < 8 ? s.n : 8);
    uint64_t rank;
    memcpy(&rank, first, 8);
    return __builtin_bswap64(rank);
}

/* Properties that all keys share. */
typedef struct { bool ints, floats, numbers, strings; } Kind;

static Kind kind_of(const Value *key, size_t n) {
    Kind k = { true, true, true, true };
    for (size_t i = 0; i < n; i++) {
        bool is_int = value_is_small(key[i]), is_float = value_is_float(key[i]);
        k.ints &= is_int;
        k.floats &= is_float && key[i].bits != value_from_float(-0.0).bits;
        k.numbers &= is_int || is_float;
        k.strings &= value_is_string(key[i]);
        if (!k.numbers && !k.strings) break;
    }
    return k;
}

/* ---- radix sort of words ---- */

static void insertion_sort(uint64_t *a, size_t n) {
    for (size_t i = 1; i < n; i++) {
        uint64_t x = a[i];
        size_t j = i;
        for (; j && x < a[j - 1]; j--) a[j] = a[j - 1];
        a[j] = x;
    }
}

static bool in_order(const uint64_t *a, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (a[i] < a[i - 1]) return false;
    return true;
}

enum { STRETCH = 1 << 16 };      /* words between two checks of the limits */

static bool radix_count(Vm *vm, const uint64_t *a, size_t n, unsigned shift, size_t count[256], Error *err) {
    for (size_t i = 0; i < n;) {
        for (size_t end = n - i < STRETCH ? n : i + STRETCH; i < end; i++) count[a[i] >> shift & 255]++;
        if (!vm_work(vm, STRETCH / 8, err)) return false;
    }
    return true;
}

static bool radix_pass(Vm *vm, const uint64_t *from, uint64_t *to, size_t n, unsigned shift, const size_t *count, Error *err) {
    size_t at[256], sum = 0;
    for (int d = 0; d < 256; d++) { at[d] = sum; sum += count[d]; }
    for (size_t i = 0; i < n;) {
        for (size_t end = n - i < STRETCH ? n : i + STRETCH; i < end; i++) to[at[from[i] >> shift & 255]++] = from[i];
        if (!vm_work(vm, STRETCH / 4, err)) return false;
    }
    return true;
}

/* Sorts byte by byte from the lowest; skips bytes that are equal in all words. */
static bool radix_sort(Vm *vm, uint64_t *a, uint64_t *spare, size_t n, Error *err) {
    uint64_t *from = a, *to = spare;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t count[256] = { 0 };
        if (!radix_count(vm, from, n, shift, count, err)) return false;
        if (count[from[0] >> shift & 255] == n) continue;
        if (!radix_pass(vm, from, to, n, shift, count, err)) return false;
        uint64_t *t = from;
        from = to;
        to = t;
    }
    if (from != a) memcpy(a, from, n * sizeof *a);
    return true;
}

static bool sort_words(Vm *vm, uint64_t *a, uint64_t *spare, size_t n, Error *err) {
    if (in_order(a, n)) return true;
    if (n < RADIX_MIN) return insertion_sort(a, n), true;
    return radix_sort(vm, a, spare, n, err);
}

/* ---- sorted ---- */

static void turn_values(Value *v, size_t n) {
    for (size_t i = 0, j = n; i + 1 < j; i++) {
        j--;
        Value t = v[i];
        v[i] = v[j];
        v[j] = t;
    }
}

/* Memory outside the heap, but within the heap's limit. */
static void *scratch(Vm *vm, size_t size, Error *err) {
    return heap_can_take(vm_heap(vm), size, err) ? mem_alloc(size) : NULL;
}

static bool sort_numbers(Vm *vm, List *l, bool ints, Error *err) {
    size_t n = l->n;
    uint64_t *word = scratch(vm, 2 * n * sizeof *word, err);
    if (!word) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        word[i] = ints ? rank_int(l->at[i]) : rank_double(value_float(l->at[i]));
        if (i % STRETCH == STRETCH - 1) ok = vm_work(vm, STRETCH / 4, err);
    }
    ok = ok && sort_words(vm, word, word + n, n, err);
    for (size_t i = 0; ok && i < n; i++)
        l->at[i] = ints ? value_from_small((int64_t)(word[i] ^ (uint64_t)1 << 63)) : value_from_float(unrank_double(word[i]));
    free(word);
    return ok;
}

static uint64_t rank_of(Value v, const Kind *k) {
    if (k->ints) return rank_int(v);
    if (k->numbers) return rank_double(value_is_small(v) ? (double)value_small(v) : value_float(v));
    return k->strings ? rank_string(v) : 0;
}

static void sort_indices(Sort *s, const Kind *k) {
    for (size_t i = 0; i < s->n; i++) s->at[i] = (Item){ rank_of(s->key[i], k), (uint32_t)i };
    if (k->numbers) sort_by_rank(s);
    else if (k->strings) sort_by_string(s);
    else sort_by_value(s);
}

/* Reorders the items through the spare array, which is no longer needed. */
static void place_items(Sort *s, List *l) {
    Value *to = (Value *)(void *)s->spare;              /* half as many entries of twice the size: one Value each */
    for (size_t i = 0; i < s->n; i++) to[i] = l->at[s->at[i].index];
    memcpy(l->at, to, s->n * sizeof *to);
}

/* The first pair found to be incomparable depends on the sorting algorithm. To make the message independent of
 * it, report the last two incomparable neighbours of the input; if there are none, the pair that was met. */
static void blame_neighbours(Sort *s, bool reversed) {
    if (s->err && s->err->kind != ERR_SCRIPT) return;    /* a limit, not a comparison */
    s->failed = false;
    for (size_t i = 1; i < s->n && !s->failed; i++) {
        size_t at = reversed ? i : s->n - i;
        less_value(s, s->key[at], s->key[at - 1]);
    }
    s->failed = true;
}

static bool sort_keyed(Vm *vm, List *l, const Value *key, const Kind *k, bool reversed, Error *err) {
    size_t n = l->n, half = n / 2 + 1;
    Item *room = scratch(vm, (n + half) * sizeof *room, err);
    if (!room) return false;
    Sort s = { .vm = vm, .key = key, .at = room, .spare = room + n, .n = n, .budget = BUDGET, .err = err };
    sort_indices(&s, k);
    if (!s.failed) place_items(&s, l);
    else blame_neighbours(&s, reversed);
    free(room);
    return !s.failed;
}

static bool sort_list(Vm *vm, List *l, List *keys, bool reverse, Error *err) {
    if (l->n < 2) return true;
    if (!vm_work(vm, l->n / 4 + 1, err)) return false;
    if (reverse) turn_values(l->at, l->n);
    if (reverse && keys) turn_values(keys->at, keys->n);
    const Value *key = keys ? keys->at : l->at;
    Kind k = kind_of(key, l->n);
    bool ok = !keys && (k.ints || k.floats) ? sort_numbers(vm, l, k.ints, err) : sort_keyed(vm, l, key, &k, reverse, err);
    if (ok && reverse) turn_values(l->at, l->n);
    return ok;
}

/* Computes key(item) once for each item. The calls may collect, so both lists are pinned, and must
 * not change the list being sorted. */
static bool compute_keys(Vm *vm, const NativeArgs *a, const List *l, List *keys, Error *err) {
    Iter walk;
    bool ok = true, guard = value_object(a->at[0])->type != OBJECT_CLASSED;   /* the items of a host type were copied */
    if (guard && !iter_begin(vm, &walk, a->at[0], err)) return false;
    Value held[] = { value_from_object(l), value_from_object(keys) };
    size_t pin = heap_pin(vm_heap(vm), held, 2);
    while (ok && keys->n < l->n) {
        Value k;
        ok = vm_call(vm, a->at[1], &l->at[keys->n], 1, &k, err);
        if (ok) keys->at[keys->n++] = k;
    }
    heap_unpin(vm_heap(vm), pin);
    if (guard) iter_end(&walk);
    return ok;
}

bool lib_sort_sorted(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    List *l, *keys = NULL;
    if (!iter_to_list(vm, a->at[0], &l, err)) return error_wrap(err, "sorted");
    if (native_given(a, 1)) {
        keys = list_new(vm_heap(vm), l->n, err);
        if (!keys || !compute_keys(vm, a, l, keys, err)) return false;
    }
    if (!sort_list(vm, l, keys, native_given(a, 2) && value_bool(a->at[2]), err)) return false;
    return *out = value_from_object(l), true;
}

/* ---- min, max ---- */

/* best[0] is the best item so far, best[1] its key; best[2] keeps the iterator's items alive. */
typedef struct { Vm *vm; Value fn; const char *name, *op; Value best[3]; } Extreme;

static bool key_of(Extreme *x, Value item, Value *key, Error *err) {
    if (value_is_gone(x->fn)) return *key = item, true;
    return vm_call(x->vm, x->fn, &item, 1, key, err);
}

static bool better(const Extreme *x, Value key, bool *out, Error *err) {
    if (value_both_small(key, x->best[1])) {
        int64_t a = value_small(key), b = value_small(x->best[1]);
        return *out = x->op[0] == '<' ? a < b : a > b, true;
    }
    int order;
    if (!value_compare(key, x->best[1], x->op, &order, err)) return error_wrap(err, "%s", x->name);
    return *out = x->op[0] == '<' ? order < 0 : order > 0, true;
}

static bool scan(Extreme *x, Iter *it, Error *err) {
    Value item, key;
    for (uint32_t i = 0; iter_next(it, &item); i++) {
        bool take;
        if (!key_of(x, item, &key, err) || !better(x, key, &take, err) || !lib_tick(x->vm, i, err)) return false;
        if (take) {
            x->best[0] = item;
            x->best[1] = key;
        }
    }
    return true;
}

static bool extreme_of(Extreme *x, Value from, Value *out, Error *err) {
    Iter it;
    if (!iter_is_iterable(from)) return error_set(err, ERR_SCRIPT, "%s: %s value is not iterable", x->name, value_type_name(from));
    if (!iter_begin(x->vm, &it, from, err)) return error_wrap(err, "%s", x->name);
    x->best[2] = it.holder;
    size_t pin = heap_pin(vm_heap(x->vm), x->best, 3);
    bool ok;
    if (!iter_next(&it, &x->best[0])) ok = it.failed || error_set(err, ERR_SCRIPT, "%s: argument is an empty sequence", x->name);
    else ok = key_of(x, x->best[0], &x->best[1], err) && scan(x, &it, err);
    heap_unpin(vm_heap(x->vm), pin);
    return iter_end(&it) && ok && (*out = x->best[0], true);
}

static bool extreme(Vm *vm, const NativeArgs *a, const char *op, Value *out, Error *err) {
    static const NativeParam params[] = { { "key", NATIVE_CALLABLE } };
    NativeDef keywords = { .name = a->def->name, .params = params, .n_params = 1 };
    Extreme x = { .vm = vm, .name = a->def->name, .op = op, .best = { VALUE_NONE, VALUE_NONE, VALUE_NONE } };
    if (a->n == 0) return error_set(err, ERR_SCRIPT, "%s requires at least one positional argument", x.name);
    if (!native_bind_args(&keywords, NULL, 0, a->named, a->n_named, &x.fn, err)) return false;
    if (a->n == 1) return extreme_of(&x, a->at[0], out, err);
    Tuple *t = tuple_from(vm_heap(vm), a->at, a->n, err);
    if (!t) return false;
    Value all = value_from_object(t);
    size_t pin = heap_pin(vm_heap(vm), &all, 1);
    bool ok = extreme_of(&x, all, out, err);
    heap_unpin(vm_heap(vm), pin);
    return ok;
}

bool lib_sort_max(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return extreme(vm, a, ">", out, err); }
bool lib_sort_min(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return extreme(vm, a, "<", out, err); }
