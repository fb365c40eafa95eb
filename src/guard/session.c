#include "guard/session.h"
#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"
#include "guard/anchor.h"
#include "guard/kept.h"
#include "policy/credentials.h"

struct GuardSession {
    GuardCase c;
    Arena arena;
    GuardLayer layers[GUARD_LAYERS];
    GuardRoot root;
    Runtime *runtime;
    bool borrowed;                       /* the runtime belongs to the caller */
    Store *own;                          /* of decisions; opened when needed */
    Buf path;                            /* of that */
};

bool guard_session_layers(GuardLayer out[GUARD_LAYERS], const char *system, Error *err) {
    Buf folder = { 0 };
    bool ok = guard_layer_read(system ? system : GUARD_SYSTEM_FOLDER, system ? (uint32_t)geteuid() : 0, &out[0], err);
    if (ok && guard_layer_user_folder(&folder)) ok = guard_layer_read(folder.at, (uint32_t)geteuid(), &out[1], err);
    buf_clear(&folder);
    return ok;
}

static void first_problem(const Problems *problems, Error *err) {
    Buf text = { 0 };
    size_t i = 0;
    while (i < problems->n && problems->at[i].severity != PROBLEM_ERROR) i++;
    if (i < problems->n) problem_format(&problems->at[i], &text);
    error_set(err, ERR_CONFIG, "the project does not load: " STR_FMT, STR_ARG(text.n ? buf_str(&text) : STR("see harness validate")));
    buf_clear(&text);
}

/* An untrusted project is loaded too: its rules apply, but none of its code runs. */
static bool open_project(GuardSession *s, Error *err) {
    Problems problems = { 0 };
    Error why = { 0 };
    RuntimeConfig config = { .dir = s->root.path.at, .untrusted = true, .policy_only = true, .trust = getenv("HARNESS_TRUST") };
    bool ok = runtime_open(&config, &s->runtime, &problems, &why);
    if (!ok) {
        s->runtime = NULL;
        if (why.kind == ERR_NONE) first_problem(&problems, err);
        else *err = why;
    }
    problems_clear(&problems);
    return ok;
}

static bool no_policy(const GuardSession *s, Error *err) {
    error_set(err, ERR_CONFIG, "there is no policy for " STR_FMT, STR_ARG(s->root.path));
    return error_hint(err, "write a harness.md there (harness init), or rules for all projects in ~/.config/harness/guard.md");
}

static void protect_anchors(GuardSession *s) {
    for (int i = 0; i < GUARD_LAYERS; i++)
        if (guard_anchor_is_file(s->c.layers[i].anchor)) s->c.protect.anchors[i] = guard_path_resolve(s->c.layers[i].anchor, s->root.path, &s->arena);
}

static void prepare(GuardSession *s, const GuardEnvelope *e, Heap *heap) {
    s->c = (GuardCase){ .envelope = e, .root = s->root.path, .layers = s->layers, .n_layers = GUARD_LAYERS, .runtime = s->runtime, .heap = heap,
                          .arena = &s->arena };
    guard_protect_init(&s->c.protect, s->root.path, s->runtime ? runtime_project(s->runtime) : NULL, &s->arena);
    s->c.protect.anywhere = s->root.searched;
    protect_anchors(s);
}

bool guard_session_open(const GuardEnvelope *e, const char *project, const char *system, Heap *heap, GuardSession **out, Error *err) {
    GuardSession *s = mem_zero(1, sizeof *s);
    bool ok = guard_root_find(e, project, &s->arena, &s->root, err) && guard_session_layers(s->layers, system, err);
    if (ok && !s->root.project && !s->layers[0].present && !s->layers[1].present) ok = no_policy(s, err);
    if (ok && s->root.project) ok = open_project(s, err);
    if (!ok) return guard_session_close(s), false;
    prepare(s, e, heap);
    *out = s;
    return true;
}

GuardSession *guard_session_of(const GuardEnvelope *e, Runtime *rt, Heap *heap) {
    GuardSession *s = mem_zero(1, sizeof *s);
    s->runtime = rt;
    s->borrowed = true;
    s->root = (GuardRoot){ runtime_project(rt)->root, true, false };
    prepare(s, e, heap);
    return s;
}

void guard_session_add(GuardSession *s, const GuardLayer layers[GUARD_LAYERS], Run *run, Cancel *cancel) {
    s->c.layers = layers;
    s->c.run = run;
    s->c.cancel = cancel;
    protect_anchors(s);
}

void guard_session_close(GuardSession *s) {
    if (!s) return;
    store_close(s->own);
    buf_clear(&s->path);
    if (!s->borrowed) runtime_close(s->runtime);
    for (int i = 0; i < GUARD_LAYERS; i++) guard_layer_clear(&s->layers[i]);
    arena_clear(&s->arena);
    free(s);
}

void guard_session_judge(GuardSession *s, GuardRuling *out) { guard_judge(&s->c, out); }
Str guard_session_root(const GuardSession *s) { return s->root.path; }

bool guard_session_audits(const GuardSession *s) {
    for (int i = 0; i < GUARD_LAYERS; i++)
        if (s->layers[i].has_audit && s->layers[i].audit) return true;
    return s->runtime && !value_is_gone(value_member(runtime_project(s->runtime)->settings.guard, "audit"));      /* a project can turn it on, not off */
}

bool guard_session_store_path(Str root, Buf *out, Error *err) {
    const char *given = getenv("HARNESS_STATE");
    if (root.n || (given && given[0] && !store_is_url(given))) return store_default_path(root, out, err);
    buf_reset(out);
    if (!store_state_home(out, err)) return false;
    buf_add(out, STR("/harness/guard/harness.db"));
    return true;
}

Store *guard_session_store(GuardSession *s, Error *err) {
    if (!s->own && guard_session_store_path(s->root.project ? s->root.path : STR(""), &s->path, err) && !store_open(s->path.at, false, &s->own, err))
        s->own = NULL;
    return s->own;
}

bool guard_session_anchor(GuardSession *s, Error *err) { return !s->own || guard_anchor_write(s->layers, GUARD_LAYERS, s->own, s->path.at, err); }

bool guard_session_anchor_store(Store *store, const char *path, Error *err) {
    GuardSession s = { 0 };
    Error ignored = { 0 };
    (void)guard_session_layers(s.layers, NULL, &ignored);
    bool ok = guard_anchor_write(s.layers, GUARD_LAYERS, store, path, err);
    for (int i = 0; i < GUARD_LAYERS; i++) guard_layer_clear(&s.layers[i]);
    return ok;
}

void guard_session_redact(GuardSession *s, Str text, Buf *out) {
    buf_add(out, text);
    if (s->runtime) redact_text(runtime_redactor(s->runtime), out);
    credentials_mask(out);
}

void guard_session_keep(GuardSession *s, const GuardEnvelope *e, Buf *out) {
    if (s->runtime) guard_kept_write(e, runtime_redactor(s->runtime), out);
}
