/* Compiles scripts, templates and schemas of definitions where they are read, so that their errors
 * appear with the others, at their position in the artifact's file. */
#include "artifact/loader.h"
#include "starlark/vm/function.h"

/* Limits of the top level of one script. It only defines functions and tables; more work would make loading hang. */
#ifdef HARNESS_HOSTILE
enum { LOAD_STEPS = 5000 };      /* collects at each step */
#else
enum { LOAD_STEPS = 5000000 };
#endif
#define LOAD_HEAP ((size_t)32 << 20)
#define LOAD_HEAP_ALL ((size_t)512 << 20)

static Str text_of(const LoaderPlace *at, const char *key) {
    Value *v = value_is_dict(at->map) ? dict_find_str(value_dict(at->map), str_from(key)) : NULL;
    return v && value_is_string(*v) ? value_str(*v) : (Str){ 0 };
}

static Source source_of(const LoaderPlace *at, const char *key) {
    Source s = { .file = at->origin.file, .text = text_of(at, key) };
    document_script_place(at->document, at->map, str_from(key), &s.first_line, &s.indent);
    return s;
}

static void report(Loader *l, const LoaderPlace *at, const char *key, const char *what, const Error *err) {
    Place place = { err->line, err->column ? err->column : 1 };
    if (!place.line) place = document_place(at->document, at->map, str_from(key));
    problems_add(l->docs.problems, PROBLEM_ERROR, at->origin.file, place, str_from(err->hint), "%s: %s: %s", what, key, err->msg);
}

static void report_all(Loader *l, const LoaderPlace *at, const char *key, const char *what, const Error *first) {
    const ResolverErrors *all = l->script_errors;
    if (all->n == 0) report(l, at, key, what, first);
    for (size_t i = 0; i < all->n; i++) report(l, at, key, what, &all->at[i]);
    if (all->total > all->n)
        loader_error(l, at, key, "%s: %s: … and %zu more errors", what, key, all->total - all->n);
}

static bool run_top_level(Loader *l, Module *m, Error *err) {
    Heap *heap = l->project->script_heap;
    size_t limit = heap_stats(heap).used + LOAD_HEAP;
    heap_set_limit(heap, limit < LOAD_HEAP_ALL ? limit : LOAD_HEAP_ALL);
    vm_reset(l->vm, &(VmConfig){ .max_steps = LOAD_STEPS });
    return module_load(l->vm, m, NULL, err);
}

static Module *compile(Loader *l, const LoaderPlace *at, const char *key, const char *what, ModuleOptions options) {
    Error err = { 0 };
    Module *m;
    Source source = source_of(at, key);
    options.universe = l->project->universe;
    options.arena = l->docs.arena;
    options.interned = l->interned;
    l->script_errors->n = l->script_errors->total = 0;
    if (!module_compile(l->project->script_heap, &source, &options, &m, l->script_errors, &err)) {
        report_all(l, at, key, what, &err);
        return NULL;
    }
    VEC_PUSH(&l->modules, m);
    if (run_top_level(l, m, &err)) return m;
    report(l, at, key, what, &err);
    return NULL;
}

Module *loader_script(Loader *l, const LoaderPlace *at, const char *key, const char *what, Dict *predeclared) {
    if (text_of(at, key).n == 0) return NULL;
    return compile(l, at, key, what, (ModuleOptions){ .predeclared = predeclared, .check_members = true });
}

Module *loader_expression(Loader *l, const LoaderPlace *at, const char *key, const char *what, const Str *params, size_t n) {
    if (str_trim(text_of(at, key)).n == 0) return NULL;
    return compile(l, at, key, what, (ModuleOptions){ .expression = true, .params = params, .n_params = n });
}

/* True if it can be called with exactly n positional arguments. */
static bool takes(Value fn, uint32_t n) {
    if (!value_is_function(fn)) return vm_is_callable(fn);
    Function *f = value_function(fn);
    const Code *c = f->code;
    uint32_t plain_defaults = c->n_defaults > c->n_kwonly ? (uint32_t)c->n_defaults - c->n_kwonly : 0;
    if (c->n_plain - plain_defaults > n) return false;
    if (c->n_plain < n && !c->has_varargs) return false;
    if (c->n_kwonly > c->n_defaults) return false;
    for (uint32_t i = plain_defaults; i < c->n_defaults; i++)
        if (value_is_gone(function_defaults(f)[i])) return false;
    return true;
}

bool loader_function(Loader *l, const LoaderPlace *at, const char *key, const Module *m, const char *what, const char *signature,
                     uint32_t n_args) {
    Str name = str_sub(str_from(signature), 0, strcspn(signature, "("));
    if (takes(module_global(m, name), n_args)) return true;
    loader_error(l, at, key, "%s: script must define %s", what, signature);
    return false;
}

/* ---- templates ---- */

static Template *keep_template(Loader *l, Template *t) {
    VEC_PUSH(&l->templates, t);
    return t;
}

static void report_template(Loader *l, const LoaderPlace *at, const char *key, Source source, Error *err) {
    FieldInput in = loader_input(l, at);
    SourcePlace place = source_place(&source, (Pos){ err->line ? err->line : 1, err->column ? err->column : 1 });
    problems_add(l->docs.problems, PROBLEM_ERROR, at->origin.file, (Place){ place.line, place.column }, str_from(err->hint), "%s: %s",
                 key ? field_path(&in, key) : "template", err->msg);
}

Template *loader_template(Loader *l, const LoaderPlace *at, const char *key, Str text) {
    Error err = { 0 };
    Template *t;
    if (template_compile(text, NULL, &t, &err)) return keep_template(l, t);
    Source source = { .file = at->origin.file, .text = text, .first_line = at->document->body_line };
    report_template(l, at, key, key ? source_of(at, key) : source, &err);
    return NULL;
}

Template *loader_command(Loader *l, const LoaderPlace *at, const char *key, const TemplateCommand *options) {
    Error err = { 0 };
    Template *t;
    if (template_compile_command(text_of(at, key), options, &t, &err)) return keep_template(l, t);
    report_template(l, at, key, source_of(at, key), &err);
    return NULL;
}

/* ---- schemas ---- */

/* The position of a JSON pointer's target, as far as it can be followed below `v`, which is at `at`. */
static Place pointer_place(const Document *d, Value v, Str pointer, Place at) {
    while (pointer.n && pointer.at[0] == '/') {
        Str rest = str_sub(pointer, 1, pointer.n);
        ptrdiff_t slash = str_find_char(rest, '/');
        Str key = str_sub(rest, 0, slash < 0 ? rest.n : (size_t)slash);
        Value *next = value_is_dict(v) ? dict_find_str(value_dict(v), key) : NULL;
        if (!next) break;
        Place place = document_place(d, v, key);
        if (document_has_place(d, v, key)) at = place;
        v = *next;
        pointer = str_sub(rest, key.n, rest.n);
    }
    return at;
}

void loader_schema_error(Loader *l, const LoaderPlace *at, const char *path, Value schema, Place place, const Error *err) {
    Str message = str_from(err->msg);
    ptrdiff_t colon = message.n && message.at[0] == '/' ? str_find(message, STR(": ")) : -1;
    Str pointer = str_sub(message, 0, colon < 0 ? 0 : (size_t)colon);
    char *dotted = arena_fmt(l->docs.arena, STR_FMT, STR_ARG(pointer));
    for (char *c = dotted; *c; c++)
        if (*c == '/') *c = '.';
    problems_add(l->docs.problems, PROBLEM_ERROR, at->origin.file, pointer_place(at->document, schema, pointer, place), str_from(err->hint),
                 "%s%s%s" STR_FMT, path, dotted, colon < 0 ? ": " : "", STR_ARG(str_sub(message, pointer.n, message.n)));
}

Schema *loader_schema(Loader *l, const LoaderPlace *at, const char *key, Value schema) {
    Error err = { 0 };
    Schema *s;
    if (!schema_compile(&(SchemaInput){ .root = schema, .arena = l->docs.arena }, &s, &err)) {
        FieldInput in = loader_input(l, at);
        loader_schema_error(l, at, field_path(&in, key), schema, document_place(at->document, at->map, str_from(key)), &err);
        return NULL;
    }
    VEC_PUSH(&l->schemas, s);
    return s;
}
