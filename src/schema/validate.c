#include "schema/run.h"

#include <math.h>
#include <stdlib.h>
#include "base/mem.h"
#include "schema/format.h"
#include "value/int.h"
#include "value/list.h"

/* Stops at the first failure unless the caller wants all reasons. */
#define MUST(r, test) do { if (__builtin_expect(!(test), 0)) { ok = false; if (!(r)->out) return false; } } while (0)

static bool apply(Run *r, const Node *n, Value v, unsigned type, const Path *path, Marks *marks);
static bool check_rules(Run *r, const Node *n, Value v, unsigned type, const Path *path, Marks *marks);

/* Keeps the stack frames of recursive callers small. */
#define NOINLINE __attribute__((noinline))

static inline bool is_whole(double d) {
    if (fabs(d) < 0x1p52) return (double)(int64_t)d == d;
    return isfinite(d);                                  /* too large to have a fraction */
}

static inline unsigned type_of(Value v) {
    if (value_is_small(v)) return TYPE_INTEGER;
    if (value_is_object(v))
        switch (value_object(v)->type) {
        case OBJECT_STRING: return TYPE_STRING;
        case OBJECT_DICT: return TYPE_OBJECT;
        case OBJECT_LIST: case OBJECT_TUPLE: return TYPE_ARRAY;
        case OBJECT_INT: return TYPE_INTEGER;
        default: return TYPE_OTHER;
        }
    if (value_is_float(v)) return is_whole(value_float(v)) ? TYPE_INTEGER : TYPE_FRACTION;
    if (value_is_bool(v)) return TYPE_BOOLEAN;
    return value_is_none(v) ? TYPE_NULL : TYPE_OTHER;
}

/* Most values need no more than this: the type fits and there is no other rule. */
static inline bool fits(const Node *n, unsigned type) { return (n->types & type) && !(n->needs & type); }

/* Rules of a scalar apply no other schema, so they need no bounds. */
static inline bool check(Run *r, const Node *n, Value v, const Path *path, Marks *marks) {
    unsigned type = type_of(v);
    if (n->alias) n = n->alias;
    if (fits(n, type)) return true;
    if (!n->in_place && !(type & (TYPE_ARRAY | TYPE_OBJECT)) && !r->broken) return check_rules(r, n, v, type, path, marks);
    return apply(r, n, v, type, path, marks);
}

static bool quietly(Run *r, const Node *n, Value v, const Path *path, Marks *marks) {
    SchemaProblems *out = r->out;
    r->out = NULL;
    bool ok = check(r, n, v, path, marks);
    r->out = out;
    return ok;
}

/* ---- marks ---- */

enum { MARK_WORDS = 4 };

static uint32_t count_of(Value v) {
    if (value_is_dict(v)) return value_dict(v)->used;
    if (value_is_list(v)) return value_list(v)->n;
    return value_is_tuple(v) ? value_tuple(v)->n : 0;
}

static void marks_open(Marks *m, uint64_t room[MARK_WORDS], Value v) {
    *m = (Marks){ .n = count_of(v) };
    size_t words = (m->n + 63) / 64;
    m->bits = words <= MARK_WORDS ? memset(room, 0, MARK_WORDS * sizeof *room) : mem_zero(words, sizeof *m->bits);
}

static void marks_close(Marks *m, const uint64_t room[MARK_WORDS], Marks *into) {
    if (into) {
        into->all |= m->all;
        for (uint32_t i = 0; i < (m->n + 63) / 64; i++) into->bits[i] |= m->bits[i];
    }
    if (m->bits != room) free(m->bits);
}

/* Applies a branch of anyOf, oneOf or if; keeps its marks only if it matches. */
static bool try_branch(Run *r, const Node *n, Value v, const Path *path, Marks *marks) {
    if (!marks) return quietly(r, n, v, path, NULL);
    uint64_t room[MARK_WORDS];
    Marks own;
    marks_open(&own, room, v);
    bool ok = quietly(r, n, v, path, &own);
    marks_close(&own, room, ok ? marks : NULL);
    return ok;
}

/* ---- values of each type ---- */

static inline int compare(Value a, Value b) {
    if (value_both_small(a, b)) return (value_small(a) > value_small(b)) - (value_small(a) < value_small(b));
    if (value_is_float(a) && value_is_small(b)) {        /* a small int has an exact double */
        double x = value_float(a), y = (double)value_small(b);
        return (x > y) - (x < y) + (x != x);
    }
    int order = 0;
    value_compare(a, b, "<", &order, NULL);              /* cannot fail for two numbers */
    return order;
}

static inline bool check_number(Run *r, const Node *n, Value v, const Path *path) {
    const NumberRules *k = n->numbers;
    bool ok = true;
    if (!value_is_gone(k->minimum)) MUST(r, compare(v, k->minimum) >= 0 || run_bad_value(r, n, "minimum", path, "must be at least", k->minimum));
    if (!value_is_gone(k->maximum)) MUST(r, compare(v, k->maximum) <= 0 || run_bad_value(r, n, "maximum", path, "must be at most", k->maximum));
    if (!value_is_gone(k->above)) MUST(r, compare(v, k->above) > 0 || run_bad_value(r, n, "exclusiveMinimum", path, "must be more than", k->above));
    if (!value_is_gone(k->below)) MUST(r, compare(v, k->below) < 0 || run_bad_value(r, n, "exclusiveMaximum", path, "must be less than", k->below));
    if (!value_is_gone(k->multiple_of))
        MUST(r, run_is_multiple(v, k->multiple_of) || run_bad_value(r, n, "multipleOf", path, "must be a multiple of", k->multiple_of));
    return ok;
}

/* Matches again to get the reason. Invalid UTF-8 matches nothing; a pattern that exceeds its limit ends the
 * validation. */
static bool NOINLINE cannot_match(Run *r, const SchemaPattern *p, Str text) {
    bool found;
    Error err = { 0 };
    if (!regex_test(p->regex, text, &found, &err) && err.kind != ERR_VALIDATION)
        run_break(r, "pattern \"" STR_FMT "\": %s", STR_ARG(str_sub(p->text, 0, 60)), err.msg);
    return false;
}

static bool matches(Run *r, const SchemaPattern *p, Str text) {
    bool found;
    if (regex_test(p->regex, text, &found, NULL)) return found;
    return cannot_match(r, p, text);
}

static size_t code_points(Str s) {
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) n += ((unsigned char)s.at[i] & 0xC0) != 0x80;
    return n;
}

static bool check_length(Run *r, const Node *n, Str s, const Path *path) {
    const StringRules *k = n->strings;
    if (s.n <= k->max_length && s.n >= k->min_length && s.n / 4 >= k->min_length) return true;   /* certain without counting */
    size_t length = code_points(s);
    if (length < k->min_length)
        return run_bad(r, n, "minLength", path, "must have at least %zu character%s, has %zu", k->min_length,
                       k->min_length == 1 ? "" : "s", length);
    if (length > k->max_length)
        return run_bad(r, n, "maxLength", path, "must have at most %zu character%s, has %zu", k->max_length,
                       k->max_length == 1 ? "" : "s", length);
    return true;
}

static inline bool check_string(Run *r, const Node *n, Str s, const Path *path) {
    const StringRules *k = n->strings;
    bool ok = true;
    MUST(r, check_length(r, n, s, path));
    if (k->pattern) MUST(r, matches(r, k->pattern, s) || run_bad(r, n, "pattern", path, "does not match pattern \"" STR_FMT "\"", STR_ARG(k->pattern->text)));
    if (k->format) MUST(r, k->format->ok(s) || run_bad(r, n, "format", path, "is not a valid %s", k->format->name));
    return ok;
}

/* ---- arrays ---- */

static bool NOINLINE check_contains(Run *r, const Node *n, const Value *at, uint32_t count, const Path *path, Marks *marks) {
    const ArrayRules *k = n->arrays;
    size_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        Path here = { .up = path, .index = i, .listed = true };
        if (!quietly(r, k->contains, at[i], &here, NULL)) continue;
        found++;
        marks_set(marks, i);
        if (!marks && found >= k->min_contains && k->max_contains == SIZE_MAX) break;
    }
    if (found < k->min_contains)
        return run_bad(r, n, k->min_contains == 1 ? "contains" : "minContains", path,
                       "must contain at least %zu matching item%s, has %zu", k->min_contains, k->min_contains == 1 ? "" : "s", found);
    return found <= k->max_contains ||
           run_bad(r, n, "maxContains", path, "must contain at most %zu matching item%s, has %zu", k->max_contains,
                   k->max_contains == 1 ? "" : "s", found);
}

static bool check_item(Run *r, const Node *n, const Node *rule, const char *keyword, Value v, const Path *path, uint32_t i) {
    if (!r->out) return check(r, rule, v, NULL, NULL);
    Path here = { .up = path, .index = i, .listed = true };
    if (rule->never) return run_bad(r, n, keyword, path, "unexpected item %u", i);
    return check(r, rule, v, &here, NULL);
}

static bool check_unique(Run *r, const Node *n, const Value *at, uint32_t count, const Path *path) {
    uint32_t a, b;
    return run_unique_items(r, at, count, &a, &b) || run_bad(r, n, "uniqueItems", path, "items %u and %u are equal", a, b);
}

static const Value *items_of(Value v, uint32_t *n) {
    if (value_is_list(v)) return *n = value_list(v)->n, value_list(v)->at;
    return *n = value_tuple(v)->n, value_tuple(v)->at;
}

static bool NOINLINE check_array(Run *r, const Node *n, Value v, const Path *path, Marks *marks) {
    const ArrayRules *k = n->arrays;
    uint32_t count, i = 0;
    const Value *at = items_of(v, &count);
    bool ok = true;
    if (count < k->min_items) MUST(r, run_bad(r, n, "minItems", path, "must have at least %zu item%s, has %u", k->min_items,
        k->min_items == 1 ? "" : "s", count));
    if (count > k->max_items) MUST(r, run_bad(r, n, "maxItems", path, "must have at most %zu item%s, has %u", k->max_items,
        k->max_items == 1 ? "" : "s", count));
    for (; i < count && i < k->prefix.n; i++) {
        MUST(r, check_item(r, n, k->prefix.at[i], "prefixItems", at[i], path, i));
        marks_set(marks, i);
    }
    if (k->items) {
        for (; i < count; i++) if (!fits(k->items, type_of(at[i]))) MUST(r, check_item(r, n, k->items, "items", at[i], path, i));
        if (marks) marks->all = true;
    }
    if (k->contains) MUST(r, check_contains(r, n, at, count, path, marks));
    if (k->unique && count > 1) MUST(r, check_unique(r, n, at, count, path));
    return ok;
}

/* ---- objects ---- */

static bool NOINLINE check_property(Run *r, const Node *n, const Node *rule, const char *keyword, Str name, Value v, const Path *path) {
    if (!r->out) return check(r, rule, v, NULL, NULL);
    Path here = { .up = path, .name = name };
    if (rule->never) return run_bad(r, n, keyword, path, "unexpected property \"" STR_FMT "\"", STR_ARG(name));
    return check(r, rule, v, &here, NULL);
}

static bool check_name(Run *r, const Node *n, Value name, const Path *path) {
    const Node *rule = n->objects->property_names;
    if (!r->out || quietly(r, rule, name, path, NULL)) return r->out || check(r, rule, name, path, NULL);
    SchemaProblems inner = { .limit = 4 }, *out = r->out;
    Buf before = { 0 };
    r->out = &inner;
    check(r, rule, name, NULL, NULL);
    r->out = out;
    buf_add_fmt(&before, "property name \"" STR_FMT "\": ", STR_ARG(value_str(name)));
    run_adopt(r, &inner, path, before.at);
    buf_clear(&before);
    schema_problems_clear(&inner);
    return false;
}

/* Checks all rules for one property except the rule for its name. */
static bool NOINLINE check_other_rules(Run *r, const Node *n, const Entry *e, bool *known, const Path *path) {
    const ObjectRules *k = n->objects;
    Str name = value_str(e->key);
    bool ok = true;
    for (uint32_t i = 0; i < k->n_patterns; i++) {
        if (!matches(r, k->patterns[i].pattern, name)) continue;
        *known = true;
        MUST(r, check_property(r, n, k->patterns[i].node, "patternProperties", name, e->value, path));
    }
    if (!*known && k->additional) {
        *known = true;
        MUST(r, check_property(r, n, k->additional, "additionalProperties", name, e->value, path));
    }
    if (k->property_names) MUST(r, check_name(r, n, e->key, path));
    return ok;
}

static bool NOINLINE report_missing(Run *r, const Node *n, const Dict *d, const Path *path) {
    const ObjectRules *k = n->objects;
    for (uint32_t i = 0; r->out && i < k->n_rules; i++)
        if (k->rule[i].required && !dict_find_str(d, k->rule[i].name))
            run_bad(r, n, "required", path, "missing required property \"" STR_FMT "\"", STR_ARG(k->rule[i].name));
    return false;
}

static bool NOINLINE check_dependent(Run *r, const Node *n, const DependentRule *rule, Value v, const Path *path, Marks *marks) {
    const Dict *d = value_dict(v);
    bool ok = true;
    if (!dict_find_str(d, rule->name)) return true;
    if (rule->node) return check(r, rule->node, v, path, marks);
    for (uint32_t i = 0; i < rule->n; i++)
        MUST(r, dict_find_str(d, rule->needs[i]) ||
                run_bad(r, n, rule->old ? "dependencies" : "dependentRequired", path,
                        "missing property \"" STR_FMT "\", which \"" STR_FMT "\" needs", STR_ARG(rule->needs[i]), STR_ARG(rule->name)));
    return ok;
}

static bool NOINLINE check_size(Run *r, const Node *n, size_t size, const Path *path) {
    const ObjectRules *k = n->objects;
    if (size < k->min_properties)
        return run_bad(r, n, "minProperties", path, "must have at least %zu propert%s, has %zu", k->min_properties,
                       k->min_properties == 1 ? "y" : "ies", size);
    return size <= k->max_properties ||
           run_bad(r, n, "maxProperties", path, "must have at most %zu propert%s, has %zu", k->max_properties,
                   k->max_properties == 1 ? "y" : "ies", size);
}

/* The rule for a name, or -1. Callers usually write properties in the order of the schema: `next` is tried first. */
static inline ptrdiff_t find_rule(const ObjectRules *k, Str name, uint32_t next) {
    return next < k->n_rules && names_same(k->rule[next].name, name) ? (ptrdiff_t)next : names_find(&k->names, name);
}

static bool NOINLINE check_object(Run *r, const Node *n, Value v, const Path *path, Marks *marks) {
    const ObjectRules *k = n->objects;
    const Dict *d = value_dict(v);
    const bool for_all = k->n_patterns || k->property_names;
    uint32_t required = 0, next = 0;
    bool ok = true;
    if (d->n < k->min_properties || d->n > k->max_properties) MUST(r, check_size(r, n, d->n, path));
    for (uint32_t i = 0; i < d->used; i++) {
        const Entry *e = &d->entry[i];
        if (!value_is_string(e->key)) {
            if (!value_is_gone(e->key)) MUST(r, run_bad(r, n, NULL, path, "has a property whose name is not a string"));
            continue;
        }
        Str name = value_str(e->key);
        ptrdiff_t at = find_rule(k, name, next);
        bool known = false;
        if (at >= 0) {
            const PropertyRule *rule = &k->rule[at];
            next = (uint32_t)at + 1;
            required += rule->required;
            known = rule->listed;
            if (known && !fits(rule->node, type_of(e->value))) MUST(r, check_property(r, n, rule->node, "properties", name, e->value, path));
        }
        if (for_all || (k->additional && !known)) MUST(r, check_other_rules(r, n, e, &known, path));
        if (known) marks_set(marks, i);
    }
    if (required < k->n_required) MUST(r, report_missing(r, n, d, path));
    for (uint32_t i = 0; i < k->n_dependents; i++) MUST(r, check_dependent(r, n, &k->dependents[i], v, path, marks));
    return ok;
}

/* ---- in-place applicators ---- */

static inline bool equals(Run *r, Value a, Value b) {
    bool same = false;
    if (value_same(a, b)) return true;
    if (value_is_string(a)) return value_is_string(b) && names_same(value_str(a), value_str(b));
    if (!value_equal(a, b, &same, NULL)) run_break(r, "values are nested too deep or too large to compare");
    return same;
}

static bool check_values(Run *r, const Node *n, Value v, const Path *path) {
    const ValueRules *k = n->values;
    bool ok = true;
    if (k->options) {
        bool found = false;
        if (value_is_string(v)) found = names_find(&k->strings, value_str(v)) >= 0;
        else if (!k->only_strings)
            for (uint32_t i = 0; i < k->n && !found; i++) found = equals(r, v, k->options[i]);
        MUST(r, found || run_bad_enum(r, n, path));
    }
    if (!value_is_gone(k->constant)) MUST(r, equals(r, v, k->constant) || run_bad_value(r, n, "const", path, "must be", k->constant));
    return ok;
}

/* The outermost resource in the dynamic scope that has the anchor. */
static const Node *dynamic_target(const Run *r, const InPlaceRules *k) {
    const Node *target = k->dynamic_ref;
    if (!k->dynamic_anchor.n) return target;
    for (const Scope *s = r->scope; s; s = s->outer) {
        const Node *found = table_get(&s->resource->dynamic_anchors, k->dynamic_anchor);
        if (found) target = found;
    }
    return target;
}

enum { REASONS_MAX = 3 };

/* Reports why no branch matches. If only one branch permits the type, reports the problems of that branch. */
static bool explain_branches(Run *r, const Node *n, const char *keyword, const NodeList *list, Value v, const Path *path) {
    if (!r->out || r->broken) return false;
    const Node *fits = NULL;
    uint32_t n_fits = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        const Node *branch = list->at[i], *target = branch->in_place && branch->in_place->ref ? branch->in_place->ref : branch;
        if (branch->types & target->types & type_of(v) && !branch->never) fits = branch, n_fits++;
    }
    if (n_fits == 1) return check(r, fits, v, path, NULL), false;
    Buf reasons = { .limit = 400 };
    for (uint32_t i = 0; i < list->n && i < REASONS_MAX; i++) {
        SchemaProblems inner = { .limit = 1 }, *out = r->out;
        r->out = &inner;
        check(r, list->at[i], v, NULL, NULL);
        r->out = out;
        if (inner.n) {
            SchemaProblem *p = &inner.at[0];
            buf_add_fmt(&reasons, "%s" STR_FMT "%s" STR_FMT, reasons.n ? "; or " : ": ", STR_ARG(p->path), p->path.n ? ": " : "", STR_ARG(p->message));
        }
        schema_problems_clear(&inner);
    }
    if (list->n > REASONS_MAX) buf_add(&reasons, STR("; or …"));
    run_bad(r, n, keyword, path, "matches none of the schemas of %s" STR_FMT, keyword, STR_ARG(buf_str(&reasons)));
    buf_clear(&reasons);
    return false;
}

static bool check_any_of(Run *r, const Node *n, Value v, const Path *path, Marks *marks) {
    const NodeList *list = &n->in_place->any_of;
    bool found = false;
    for (uint32_t i = 0; i < list->n && (marks || !found); i++) found |= try_branch(r, list->at[i], v, path, marks);
    return found || explain_branches(r, n, "anyOf", list, v, path);
}

static bool check_one_of(Run *r, const Node *n, Value v, const Path *path, Marks *marks) {
    const NodeList *list = &n->in_place->one_of;
    uint32_t first = UINT32_MAX;
    for (uint32_t i = 0; i < list->n; i++) {
        if (!try_branch(r, list->at[i], v, path, marks)) continue;
        if (first != UINT32_MAX)
            return run_bad(r, n, "oneOf", path, "must match exactly one schema of oneOf, matches %u and %u", first, i);
        first = i;
    }
    return first != UINT32_MAX || explain_branches(r, n, "oneOf", list, v, path);
}

static bool NOINLINE check_in_place(Run *r, const Node *n, Value v, const Path *path, Marks *marks) {
    const InPlaceRules *k = n->in_place;
    bool ok = true;
    if (k->ref) MUST(r, check(r, k->ref, v, path, marks));
    if (k->dynamic_ref) MUST(r, check(r, dynamic_target(r, k), v, path, marks));
    for (uint32_t i = 0; i < k->all_of.n; i++) MUST(r, check(r, k->all_of.at[i], v, path, marks));
    if (k->any_of.n) MUST(r, check_any_of(r, n, v, path, marks));
    if (k->one_of.n) MUST(r, check_one_of(r, n, v, path, marks));
    if (k->not_) MUST(r, !quietly(r, k->not_, v, path, NULL) || run_bad(r, n, "not", path, "must not match the schema of not"));
    if (k->if_) {
        const Node *next = try_branch(r, k->if_, v, path, marks) ? k->then_ : k->else_;
        if (next) MUST(r, check(r, next, v, path, marks));
    }
    return ok;
}

/* ---- unevaluated ---- */

static bool check_rest(Run *r, const Node *n, Value v, unsigned type, const Path *path, const Marks *seen) {
    bool ok = true;
    if (type == TYPE_OBJECT && n->unevaluated_properties) {
        const Dict *d = value_dict(v);
        for (uint32_t i = 0; i < d->used; i++)
            if (value_is_string(d->entry[i].key) && !marks_has(seen, i))
                MUST(r, check_property(r, n, n->unevaluated_properties, "unevaluatedProperties", value_str(d->entry[i].key),
                                       d->entry[i].value, path));
    } else if (type == TYPE_ARRAY && n->unevaluated_items) {
        uint32_t count;
        const Value *at = items_of(v, &count);
        for (uint32_t i = 0; i < count; i++)
            if (!marks_has(seen, i)) MUST(r, check_item(r, n, n->unevaluated_items, "unevaluatedItems", at[i], path, i));
    }
    return ok;
}

/* Checks every rule of a node except unevaluated*. */
static bool check_rules(Run *r, const Node *n, Value v, unsigned type, const Path *path, Marks *marks) {
    bool ok = true;
    if (!(n->types & type) || n->never) return run_bad_type(r, n, path, type);
    if (n->values) MUST(r, check_values(r, n, v, path));
    switch (type) {
    case TYPE_INTEGER: case TYPE_FRACTION:
        if (n->numbers) MUST(r, check_number(r, n, v, path));
        break;
    case TYPE_STRING:
        if (n->strings) MUST(r, check_string(r, n, value_str(v), path));
        break;
    case TYPE_ARRAY:
        if (n->arrays) MUST(r, check_array(r, n, v, path, marks));
        break;
    case TYPE_OBJECT:
        if (n->objects) MUST(r, check_object(r, n, v, path, marks));
        break;
    default: break;
    }
    if (n->in_place) MUST(r, check_in_place(r, n, v, path, marks));
    return ok;
}

static bool check_tracked(Run *r, const Node *n, Value v, unsigned type, const Path *path, Marks *marks) {
    uint64_t room[MARK_WORDS];
    Marks own;
    marks_open(&own, room, v);
    bool ok = check_rules(r, n, v, type, path, &own);
    if ((ok || r->out) && !check_rest(r, n, v, type, path, &own)) ok = false;
    if (type == TYPE_OBJECT ? n->unevaluated_properties != NULL : n->unevaluated_items != NULL) own.all = true;
    marks_close(&own, room, marks);
    return ok;
}

static bool apply(Run *r, const Node *n, Value v, unsigned type, const Path *path, Marks *marks) {
    if (r->broken) return false;
    if (++r->steps > r->s->max_steps) return run_break(r, "validation takes too many steps (limit %zu)", r->s->max_steps);
    if (r->depth >= SCHEMA_NESTING_MAX)
        return run_break(r, "nested too deep, or the schema refers to itself without end (limit %d)", SCHEMA_NESTING_MAX);
    const Scope *outer = r->scope;
    Scope own = { outer, n->resource };
    if (r->s->dynamic && (!outer || outer->resource != n->resource)) r->scope = &own;
    r->depth++;
    bool tracks = n->tracks && (type & (TYPE_ARRAY | TYPE_OBJECT)) && (n->types & type);
    bool ok = tracks ? check_tracked(r, n, v, type, path, marks) : check_rules(r, n, v, type, path, marks);
    r->depth--;
    r->scope = outer;
    return ok && !r->broken;
}

/* ---- in and out ---- */

bool schema_validate(const Schema *s, Value instance, SchemaProblems *out) {
    MEM_UNSET char why[RUN_WHY_SIZE];
    Run r = { .s = s, .out = out, .why = why };
    size_t before = out ? out->n : 0;
    if (check(&r, s->root, instance, NULL, NULL)) return true;
    if (!out) return false;
    if (r.broken || out->n == before) run_bad(&r, s->root, NULL, NULL, "%s", r.broken ? r.why : "is not valid");
    return false;
}
