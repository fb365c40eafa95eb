/* A loader that only uses memory, for fuzzing one format at a time. */
#pragma once
#include <stdlib.h>
#include "artifact/load.h"

typedef struct Loading { Project project; ProjectInput in; Problems problems; Arena arena; Loader l; } Loading;

static inline void require(bool ok) { if (!ok) abort(); }

static inline void loading_start(Loading *x) {
    *x = (Loading){ 0 };
    x->project.heap = heap_new((size_t)64 << 20);
    x->project.root = STR("/");
    x->project.settings = (Settings){ .sandbox = VALUE_GONE, .secrets = VALUE_GONE };
    x->l = (Loader){ .in = &x->in, .project = &x->project };
    x->l.docs = (DocumentContext){ .root_fd = -1, .arena = &x->arena, .heap = x->project.heap, .problems = &x->problems };
}

/* Problems have a position, and definitions loaded without an error are complete. */
static inline void loading_check(const Loading *x) {
    for (size_t i = 0; i < x->problems.n; i++) {
        const Problem *p = &x->problems.at[i];
        require(p->message.n > 0 && p->file.n > 0 && p->line >= 1 && p->column >= 1);
    }
    if (x->problems.errors) return;
    for (size_t i = 0; i < x->l.tools.n; i++) {
        const ToolDef *t = &x->l.tools.at[i];
        require(t->name.n > 0 && t->name.n <= 64 && t->schema && value_is_dict(t->parameters) && t->description.n <= 2 << 20);
        require((t->kind == TOOL_ARGV) == (t->argv.n > 0) && (t->kind == TOOL_COMMAND) == (t->command != NULL));
        require(t->kind != TOOL_ARGV || str_starts(t->argv.at[0], STR("/")) || str_starts(t->argv.at[0], STR("./tools/bin/")));
        require(t->kind != TOOL_ARGV || str_starts(t->argv.at[0], STR("/")) || str_find(t->argv.at[0], STR("/../")) < 0);
    }
}

static inline void loading_end(Loading *x) {
    Loader *l = &x->l;
    for (size_t i = 0; i < l->templates.n; i++) template_free(l->templates.at[i]);
    for (size_t i = 0; i < l->schemas.n; i++) schema_free(l->schemas.at[i]);
    VEC_CLEAR(&l->tools);
    VEC_CLEAR(&l->hooks);
    VEC_CLEAR(&l->agents);
    VEC_CLEAR(&l->servers);
    VEC_CLEAR(&l->templates);
    VEC_CLEAR(&l->schemas);
    VEC_CLEAR(&l->looked_at);
    VEC_CLEAR(&l->references);
    VEC_CLEAR(&l->rules);
    VEC_CLEAR(&l->strays);
    problems_clear(&x->problems);
    heap_free(x->project.heap);
    arena_clear(&x->arena);
}
