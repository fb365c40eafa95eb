/* Equality and ordering of values, as Starlark defines them. */
#include "value/dict.h"
#include "value/int.h"
#include "value/list.h"
#include "value/range.h"

/* State of one comparison: work left until the next report to the meter, work allowed after that, the meter, and the
 * error. */
typedef struct { size_t left, later; const ValueMeter *meter; Error *err; } Look;
enum { STRETCH = 1 << 14 };
#define LOOK(m, e) (&(Look){ .left = STRETCH, .later = VALUE_WORK_MAX - STRETCH, .meter = (m), .err = (e) })

static bool equal(Value a, Value b, int depth, bool *out, Look *look);

static bool next_stretch(Look *look, size_t weight) {
    size_t more = weight < STRETCH ? STRETCH : weight;
    if (more > look->later) return error_set(look->err, ERR_LIMIT, "values too large to compare");
    look->later -= more;
    look->left += more;
    return !look->meter || look->meter->work(look->meter->ctx, more, look->err);
}

static bool spend(Look *look, Value v) {
    size_t weight = value_weight(v);
    if (look->left < weight && !next_stretch(look, weight)) return false;
    look->left -= weight;
    return true;
}

static bool too_deep(const Look *look) {
    return error_set(look->err, ERR_SCRIPT, "comparison exceeded maximum recursion depth");
}

/* NaN equals itself and is above everything else, so floats are totally ordered. */
static int compare_floats(double a, double b) {
    if (a < b) return -1;
    if (a > b) return 1;
    return (a != a) - (b != b);
}

static bool is_number(Value v) { return value_is_float(v) || value_is_int(v); }

static int compare_numbers(Value a, Value b) {
    if (value_is_float(a))
        return value_is_float(b) ? compare_floats(value_float(a), value_float(b)) : -int_compare_double(b, value_float(a));
    return value_is_float(b) ? int_compare_double(a, value_float(b)) : int_compare(a, b);
}

static bool equal_items(const Value *a, const Value *b, size_t n, int depth, bool *out, Look *look) {
    if (depth >= VALUE_DEPTH_MAX) return too_deep(look);
    *out = true;
    for (size_t i = 0; i < n && *out; i++)
        if (!equal(a[i], b[i], depth + 1, out, look)) return false;
    return true;
}

/* A key lookup hashes the whole key. It is already in a dict, so it is not nested too deeply. */
static bool spend_key(Look *look, Value key) {
    if (!spend(look, key)) return false;
    if (!value_is_tuple(key)) return true;
    const Tuple *t = value_tuple(key);
    for (uint32_t i = 0; i < t->n; i++)
        if (!spend_key(look, t->at[i])) return false;
    return true;
}

static bool equal_dicts(const Dict *a, const Dict *b, int depth, bool *out, Look *look) {
    if (depth >= VALUE_DEPTH_MAX) return too_deep(look);
    *out = a->n == b->n;
    Entry *e;
    for (uint32_t i = 0; *out && dict_next(a, &i, &e);) {
        Value *other;
        if (!spend_key(look, e->key) || !dict_get(b, e->key, &other, look->err)) return false;
        if (!other) return *out = false, true;
        if (!equal(e->value, *other, depth + 1, out, look)) return false;
    }
    return true;
}

static bool equal_objects(Object *a, Object *b, int depth, bool *out, Look *look) {
    if (a->type != b->type) return *out = false, true;
    switch ((ObjectType)a->type) {
    case OBJECT_STRING: case OBJECT_BYTES:
        return *out = string_same((String *)a, (String *)b), true;
    case OBJECT_LIST: {
        List *x = (List *)a, *y = (List *)b;
        if (x->n != y->n) return *out = false, true;
        return equal_items(x->at, y->at, x->n, depth, out, look);
    }
    case OBJECT_TUPLE: {
        Tuple *x = (Tuple *)a, *y = (Tuple *)b;
        if (x->n != y->n) return *out = false, true;
        return equal_items(x->at, y->at, x->n, depth, out, look);
    }
    case OBJECT_DICT: case OBJECT_SET:
        return equal_dicts((Dict *)a, (Dict *)b, depth, out, look);
    case OBJECT_RANGE:
        return *out = range_equal((Range *)a, (Range *)b), true;
    default: {
        const Classed *x = (Classed *)a, *y = (Classed *)b;
        *out = a->type >= OBJECT_CLASSED && x->cls == y->cls && x->cls->equal && x->cls->equal(x, y);
        return true;
    }
    }
}

static bool equal(Value a, Value b, int depth, bool *out, Look *look) {
    if (!spend(look, a)) return false;
    if (value_same_leaf(a, b)) return *out = true, true;
    if (is_number(a) && is_number(b)) return *out = compare_numbers(a, b) == 0, true;
    if (!value_is_object(a) || !value_is_object(b)) return *out = false, true;
    return equal_objects(value_object(a), value_object(b), depth, out, look);
}

bool value_equal(Value a, Value b, bool *out, Error *err) {
    return equal(a, b, 0, out, LOOK(NULL, err));
}

bool value_equal_metered(Value a, Value b, const ValueMeter *m, bool *out, Error *err) {
    return equal(a, b, 0, out, LOOK(m, err));
}

/* ---- ordering ---- */

static bool compare(Value a, Value b, const char *op, int depth, int *out, Look *look);

static bool compare_items(const Value *a, size_t an, const Value *b, size_t bn, const char *op, int depth, int *out,
                          Look *look) {
    if (depth >= VALUE_DEPTH_MAX) return too_deep(look);
    for (size_t i = 0; i < an && i < bn; i++) {          /* the first different pair decides */
        bool same;
        if (!equal(a[i], b[i], depth + 1, &same, look)) return false;
        if (!same) return compare(a[i], b[i], op, depth + 1, out, look);
    }
    return *out = (an > bn) - (an < bn), true;
}

static bool compare(Value a, Value b, const char *op, int depth, int *out, Look *look) {
    if (is_number(a) && is_number(b)) return *out = compare_numbers(a, b), true;
    if (value_is_bool(a) && value_is_bool(b)) return *out = value_bool(a) - value_bool(b), true;
    if (value_is_object(a) && value_is_object(b) && value_object(a)->type == value_object(b)->type)
        switch (value_object(a)->type) {
        case OBJECT_STRING: case OBJECT_BYTES:
            return *out = str_cmp(value_str(a), value_str(b)), true;
        case OBJECT_LIST: {
            List *x = value_list(a), *y = value_list(b);
            return compare_items(x->at, x->n, y->at, y->n, op, depth, out, look);
        }
        case OBJECT_TUPLE: {
            Tuple *x = value_tuple(a), *y = value_tuple(b);
            return compare_items(x->at, x->n, y->at, y->n, op, depth, out, look);
        }
        default: break;
        }
    return error_set(look->err, ERR_SCRIPT, "%s %s %s not implemented", value_type_name(a), op, value_type_name(b));
}

bool value_compare(Value a, Value b, const char *op, int *out, Error *err) {
    return compare(a, b, op, 0, out, LOOK(NULL, err));
}

bool value_compare_metered(Value a, Value b, const char *op, const ValueMeter *m, int *out, Error *err) {
    return compare(a, b, op, 0, out, LOOK(m, err));
}
