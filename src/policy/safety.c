#include "policy/safety.h"
#include "value/list.h"

/* X(member, word): the flags, in display order. */
#define FLAGS(X) X(read_only) X(destructive) X(idempotent) X(networked) X(process) X(spends_money) X(requires_confirmation) \
    X(parallel_safe)

static const char *const files_names[] = { "none", "read", "write" };

/* ---- detection ---- */

enum {
    MUTATES = 1, DESTROYS = 2, NETWORKED = 4, PROCESS = 8, SPENDS = 16, FILES_READ = 32, FILES_WRITTEN = 64,
    REPEATABLE = 128,                    /* changes state, but twice has the same effect as once */
    MAY_MUTATE = 256,                    /* counts as a change unless the tool declares otherwise: a POST that only queries */
    EFFECTS = 9,
    EVERYTHING = MUTATES | DESTROYS | NETWORKED | PROCESS | SPENDS | FILES_READ | FILES_WRITTEN,
};

typedef struct { const char *module, *member; unsigned effects; } HostEffect;
static const HostEffect host_effects[] = {
#define REACH(module, member, effects) { module, member, effects },
#include "policy/safety_host.def"
#undef REACH
};

typedef struct { const char *tool; unsigned effects; } BuiltinEffect;
static const BuiltinEffect builtin_effects[] = {
#define SAFETY(tool, effects) { tool, effects },
#include "policy/safety_builtin.def"
#undef SAFETY
};

/* The effects found, and for each the first name that has it ("fs.write"), for messages. */
typedef struct { unsigned effects; struct { Str module, member; } why[EFFECTS]; } Found;

static void found_add(Found *f, unsigned effects, Str module, Str member) {
    for (unsigned i = 0; i < EFFECTS; i++)
        if (effects & ~f->effects & 1u << i) f->why[i].module = module, f->why[i].member = member;
    f->effects |= effects;
}

static bool is(const char *name, Str s) { return str_eq(str_from(name), s); }

/* Effects of one function. An empty member means the module as a value: the effects of all its rows. */
static unsigned host_effect(Str module, Str member) {
    unsigned own = EVERYTHING, rest = EVERYTHING, all = 0;
    bool known = false, exact = false;
    for (size_t i = 0; i < sizeof host_effects / sizeof *host_effects; i++) {
        const HostEffect *h = &host_effects[i];
        if (!is(h->module, module)) continue;
        known = true;
        all |= h->effects;
        if (is(h->member, STR("*"))) rest = h->effects;
        else if (is(h->member, member)) own = h->effects, exact = true;
    }
    if (exact) return own;
    return known && member.n == 0 ? all : rest;
}

static void reach(void *ctx, Str module, Str member) { found_add(ctx, host_effect(module, member), module, member); }

static unsigned builtin_effect(Str name) {
    for (size_t i = 0; i < sizeof builtin_effects / sizeof *builtin_effects; i++)
        if (is(builtin_effects[i].tool, name)) return builtin_effects[i].effects;
    return EVERYTHING;
}

/* True for a function of the embedding program, including one that implements a tool file without a script. Its code
 * cannot be analysed, and its author runs it. */
static bool is_native(const ToolDef *def) { return def->kind == TOOL_NATIVE || (def->kind == TOOL_STARLARK && !def->script); }

static unsigned kind_effects(const ToolDef *def) {
    switch (def->kind) {
    case TOOL_STARLARK: return def->script ? 0 : MUTATES;
    case TOOL_COMMAND: case TOOL_ARGV: return MUTATES | PROCESS | FILES_WRITTEN;
    case TOOL_BUILTIN: case TOOL_BRIDGE: return builtin_effect(def->name);
    case TOOL_MCP: return MUTATES | NETWORKED;
    case TOOL_NATIVE: return MUTATES;
    case TOOL_DELEGATE: return MUTATES | NETWORKED | SPENDS;
    }
    return EVERYTHING;
}

static bool promises_idempotence(const ToolDef *def, unsigned effects) {
    return effects & REPEATABLE || is("idempotent", def->idempotency) || is("key", def->idempotency);
}

static void detect(const ToolDef *def, Found *f, Safety *out) {
    found_add(f, kind_effects(def), (Str){ 0 }, (Str){ 0 });
    if (def->kind == TOOL_STARLARK && def->script) module_each_reached(def->script, reach, f);
    unsigned e = f->effects;
    bool mutates = e & (MUTATES | MAY_MUTATE);
    *out = (Safety){
        .read_only = !mutates, .destructive = e & DESTROYS, .idempotent = !mutates || promises_idempotence(def, e), .networked = e & NETWORKED,
        .process = e & PROCESS, .spends_money = e & SPENDS, .parallel_safe = !mutates,
        .files = e & FILES_WRITTEN ? SAFETY_FILES_WRITE : e & FILES_READ ? SAFETY_FILES_READ : SAFETY_FILES_NONE,
    };
}

/* ---- declaration ---- */

typedef enum { UNSAID, SAID_TRUE, SAID_FALSE } Said;
typedef struct {
    const ToolDef *def;
    const Found *found;
    bool believed, ok;
    Problems *problems;
    Said idempotent, parallel_safe;      /* as declared in the tool's safety map */
} Declaring;

/* Derives flags from others, including the rule of safety_repeatable. */
static void settle(const Declaring *d, Safety *s) {
    if (s->destructive || s->files == SAFETY_FILES_WRITE) s->read_only = false;         /* these two flags exclude each other */
    s->requires_confirmation |= d->def->confirm;
    if (d->parallel_safe == UNSAID) s->parallel_safe = s->read_only;
    bool promised = d->idempotent == SAID_TRUE || promises_idempotence(d->def, d->found->effects);
    bool once = !s->read_only || s->destructive || s->spends_money || is("none", d->def->idempotency) || d->idempotent == SAID_FALSE;
    s->idempotent = promised || !once;
}

void safety_detect(const ToolDef *def, Safety *out) {
    Found f = { 0 };
    detect(def, &f, out);
    settle(&(Declaring){ .def = def, .found = &f }, out);
}

static void found_name(const Found *f, unsigned effect, Buf *out) {
    for (unsigned i = 0; i < EFFECTS; i++) {
        Str module = f->why[i].module, member = f->why[i].member;
        if (!(effect & f->effects & 1u << i) || !module.n) continue;
        buf_add(out, module);
        if (member.n) buf_add_fmt(out, "." STR_FMT, STR_ARG(member));
        return;
    }
}

static Place place_of(const Declaring *d, size_t index) {
    return d->def->safety_places ? d->def->safety_places[index] : (Place){ d->def->origin.line, d->def->origin.column };
}

/* tool "x": safety.read_only: true, but the script can reach fs.write */
static void too_loose(Declaring *d, size_t index, Str key, const char *value, unsigned effect, Str hint) {
    Buf why = { 0 };
    d->ok = false;
    if (!d->problems) return;
    found_name(d->found, effect, &why);
    bool script = why.n > 0;
    if (!script) buf_add_fmt(&why, "a tool of kind %s can do more than that", tool_kind_name(d->def->kind));
    problems_add(d->problems, PROBLEM_ERROR, d->def->origin.file, place_of(d, index), hint, "tool \"" STR_FMT "\": safety." STR_FMT ": %s, but %s" STR_FMT,
                 STR_ARG(d->def->name), STR_ARG(key), value, script ? "the script can reach " : "", STR_ARG(buf_str(&why)));
    buf_clear(&why);
}

/* A flag that is dangerous when true. */
static void declare_danger(Declaring *d, size_t i, Str key, Value v, unsigned effect, bool *flag) {
    if (!value_is_bool(v)) return;
    if (value_bool(v) || d->believed) *flag = value_bool(v);
    else if (*flag) too_loose(d, i, key, "false", effect, (Str){ 0 });
}

/* A flag that is harmless when true. */
static void declare_harmless(Declaring *d, size_t i, Str key, Value v, unsigned effect, bool *flag, Str hint) {
    if (!value_is_bool(v)) return;
    if (!value_bool(v) || d->believed || !(d->found->effects & effect)) *flag = value_bool(v);
    else if (!*flag) too_loose(d, i, key, "true", effect, hint);
}

static Said said(Value v) { return !value_is_bool(v) ? UNSAID : value_bool(v) ? SAID_TRUE : SAID_FALSE; }

static void declare_idempotent(Declaring *d, size_t i, Str key, Value v, Safety *s) {
    declare_harmless(d, i, key, v, MUTATES, &s->idempotent, STR("when calling it twice is as good as once, say idempotency: idempotent"));
    d->idempotent = said(v);
    if (d->idempotent == SAID_TRUE && !s->idempotent) d->idempotent = UNSAID;           /* rejected: too loose */
    if (d->idempotent != SAID_FALSE || !is("idempotent", d->def->idempotency)) return;
    d->ok = false;
    if (d->problems)
        problems_add(d->problems, PROBLEM_ERROR, d->def->origin.file, place_of(d, i), STR("remove one of the two"),
                     "tool \"" STR_FMT "\": safety.idempotent: false contradicts idempotency: idempotent", STR_ARG(d->def->name));
}

static void declare_files(Declaring *d, size_t i, Str key, Value v, Safety *s) {
    for (unsigned f = SAFETY_FILES_NONE; value_is_string(v) && f <= SAFETY_FILES_WRITE; f++) {
        if (!is(files_names[f], value_str(v))) continue;
        if (f >= s->files || d->believed) s->files = (SafetyFiles)f;
        else too_loose(d, i, key, files_names[f], s->files == SAFETY_FILES_WRITE ? FILES_WRITTEN : FILES_READ, (Str){ 0 });
        return;
    }
}

static StrList strings(Value v, Arena *arena) {
    StrList list = { 0 };
    if (!value_is_list(v)) return list;
    list.at = ARENA_ARRAY(arena, Str, value_list(v)->n + 1);
    for (uint32_t i = 0; i < value_list(v)->n; i++)
        if (value_is_string(value_list(v)->at[i])) list.at[list.n++] = value_str(value_list(v)->at[i]);
    return list;
}

/* Finds the first reachable function whose effects a workspace folder cannot limit: calling agents, and registering
 * tools, hooks and agents that outlive the call. */
static void reach_unbounded(void *ctx, Str module, Str member) {
    Buf *name = ctx;
    bool found = is("delegate", module) || (is("meta", module) && (member.n == 0 || str_find(member, STR("register")) >= 0));
    if (!found || name->n) return;
    buf_add(name, module);
    if (member.n) buf_add_fmt(name, "." STR_FMT, STR_ARG(member));
}

static void declare_root(Declaring *d, size_t i, Value v, Safety *s) {
    const ToolDef *def = d->def;
    Buf why = { 0 };
    if (!value_is_string(v)) return;
    s->workspace_root = value_str(v);
    if (is_native(def)) buf_add(&why, STR("a native tool"));
    else if (def->kind != TOOL_STARLARK && def->kind != TOOL_COMMAND
        && def->kind != TOOL_ARGV) buf_add_fmt(&why, "a tool of kind %s", tool_kind_name(def->kind));
    else if (def->kind == TOOL_STARLARK) module_each_reached(def->script, reach_unbounded, &why);
    if (why.n || s->workspace_root.n == 0) d->ok = false;
    if (d->problems && s->workspace_root.n == 0)
        problems_add(d->problems, PROBLEM_ERROR, def->origin.file, place_of(d, i), (Str){ 0 }, "tool \"" STR_FMT "\": safety.workspace_root must name a folder",
                     STR_ARG(def->name));
    else if (d->problems && why.n)
        problems_add(d->problems, PROBLEM_ERROR, def->origin.file, place_of(d, i), (Str){ 0 },
                     "tool \"" STR_FMT "\": safety.workspace_root cannot be enforced for %s" STR_FMT, STR_ARG(def->name),
                     def->kind == TOOL_STARLARK && !is_native(def) ? "a script that can reach " : "", STR_ARG(buf_str(&why)));
    buf_clear(&why);
}

static void declare(Declaring *d, size_t i, Str key, Value v, Arena *arena, Safety *s) {
    if (is("read_only", key)) declare_harmless(d, i, key, v, MUTATES, &s->read_only, (Str){ 0 });
    else if (is("idempotent", key)) declare_idempotent(d, i, key, v, s);
    else if (is("destructive", key)) declare_danger(d, i, key, v, DESTROYS, &s->destructive);
    else if (is("networked", key)) declare_danger(d, i, key, v, NETWORKED, &s->networked);
    else if (is("process", key)) declare_danger(d, i, key, v, PROCESS, &s->process);
    else if (is("spends_money", key)) declare_danger(d, i, key, v, SPENDS, &s->spends_money);
    else if (is("filesystem", key)) declare_files(d, i, key, v, s);
    else if (is("requires_confirmation", key) && value_is_bool(v)) s->requires_confirmation = value_bool(v);
    else if (is("parallel_safe", key) && value_is_bool(v)) s->parallel_safe = value_bool(v), d->parallel_safe = said(v);
    else if (is("workspace_root", key)) declare_root(d, i, v, s);
    else if (is("redact", key)) s->redact = strings(v, arena);
}

static bool declared(const ToolDef *def, bool believed, Arena *arena, Safety *out, Problems *problems) {
    Found found = { 0 };
    Declaring d = { .def = def, .found = &found, .believed = believed, .ok = true, .problems = problems };
    detect(def, &found, out);
    Entry *e;
    size_t n = 0;
    for (uint32_t i = 0; value_is_dict(def->safety) && dict_next(value_dict(def->safety), &i, &e); n++)
        if (value_is_string(e->key)) declare(&d, n, value_str(e->key), e->value, arena, out);
    settle(&d, out);
    return d.ok;
}

bool safety_of(const ToolDef *def, Arena *arena, Safety *out, Problems *problems) {
    return declared(def, is_native(def), arena, out, problems);
}

void safety_trusted(const ToolDef *def, Arena *arena, Safety *out) { declared(def, true, arena, out, NULL); }

Place safety_place(const ToolDef *def, const char *key) {
    Declaring d = { .def = def };
    Entry *e;
    size_t n = 0;
    for (uint32_t i = 0; value_is_dict(def->safety) && dict_next(value_dict(def->safety), &i, &e); n++)
        if (value_is_string(e->key) && is(key, value_str(e->key))) return place_of(&d, n);
    return (Place){ def->origin.line, def->origin.column };
}

bool safety_check(const Project *p, Problems *problems) {
    Arena arena = { 0 };
    bool ok = true;
    for (size_t i = 0; i < p->n_tools; i++) {
        Safety s;
        ok = safety_of(&p->tools[i], &arena, &s, problems) && ok;
    }
    arena_clear(&arena);
    return ok;
}

/* ---- queries ---- */

bool safety_mutating(const Safety *s) { return !s->read_only; }

bool safety_only_reads(const ToolDef *def, const Safety *s) {
    Safety found;
    if (!s->read_only || def->kind == TOOL_MCP || is_native(def)) return s->read_only;
    safety_detect(def, &found);
    return found.read_only;
}
bool safety_repeatable(const Safety *s) { return s->idempotent; }

bool safety_has(const Safety *s, Str property) {
#define X(member) if (is(#member, property)) return s->member;
    FLAGS(X)
#undef X
    if (is("mutating", property)) return safety_mutating(s);
    return is("filesystem", property) && s->files != SAFETY_FILES_NONE;
}

static bool put_redact(Heap *h, Dict *d, StrList patterns, Error *err) {
    List *list = list_new(h, patterns.n, err);
    for (size_t i = 0; list && i < patterns.n; i++) {
        String *s = string_new(h, patterns.at[i], err);
        if (!s || !list_push(h, list, value_from_object(s), err)) return false;
    }
    return list && dict_put_str(h, d, STR("redact"), value_from_object(list), err);
}

Value safety_value(const Safety *s, Heap *heap, Error *err) {
    Dict *d = dict_new(heap, 12, err);
    if (!d) return VALUE_GONE;
#define X(member) if (!dict_put_str(heap, d, STR(#member), value_from_bool(s->member), err)) return VALUE_GONE;
    FLAGS(X)
#undef X
    if (!dict_put_text(heap, d, "filesystem", str_from(files_names[s->files]), err)) return VALUE_GONE;
    if (s->workspace_root.n && !dict_put_text(heap, d, "workspace_root", s->workspace_root, err)) return VALUE_GONE;
    if (s->redact.n && !put_redact(heap, d, s->redact, err)) return VALUE_GONE;
    return value_from_object(d);
}
