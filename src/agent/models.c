/* The models of a runtime: opened on first use, once each, shared by all sessions. */
#include <fcntl.h>
#include <stdlib.h>
#include "agent/frame.h"
#include "base/mem.h"
#include "sandbox/named.h"
#include "tool/protect/confine.h"
#include "tool/protect/protected.h"

static void redact(void *ctx, Buf *text) { redact_text(ctx, text); }

static bool replayed(Agents *a, ModelDef *def) {
    if (!a->config.replay) return false;
    def->provider = PROVIDER_REPLAY;
    def->replay = str_from(a->config.replay);
    return true;
}

/* A limit in dollars requires a known price. */
static bool check_price(Agents *a, const ModelDef *def, Error *err) {
    if (runtime_limits(a->rt)->max_spend_usd <= 0 || model_priced(def)) return true;
    error_set(err, ERR_CONFIG, "limits.max_spend_usd is set, but the price of model " STR_FMT " is unknown", STR_ARG(def->name));
    return error_hint(err, "give its profile `price: {input: …, output: …}`, in US dollars for a million tokens; 0 for a local model");
}

static bool open_model(Agents *a, const ModelDef *def, Model **out, Error *err) {
    if (!check_price(a, def, err) || !runtime_may_act(a->rt, err) || !model_open(runtime_project(a->rt), def, &a->env, out, err)) return false;
    if (!a->config.record) return true;
    Arena arena = { 0 };
    const Project *p = runtime_project(a->rt);
    int fd = protected_allows(p, a->config.record, err) ? named_open(a->config.record, O_APPEND, 0600, confine_reach(p, &arena), err) : -1;
    Model *inner = *out;
    arena_clear(&arena);
    if (fd < 0) {
        model_free(inner);
        return error_wrap(err, "open the recording %s", a->config.record);
    }
    *out = model_record(inner, fd, redact, runtime_redactor(a->rt));
    return true;
}

/* One recording serves every model of a run, so all share one key. */
static Str key_of(const Agents *a, const ModelDef *def, Arena *arena) {
    if (a->config.replay) return STR("replay");
    return str_from(arena_fmt(arena, "%s " STR_FMT " " STR_FMT " " STR_FMT " %s " STR_FMT " " STR_FMT, project_provider_name(def->provider),
                              STR_ARG(def->given), STR_ARG(def->name), STR_ARG(def->base_url), model_route(def).wire, STR_ARG(def->effort),
                              STR_ARG(str_sub(def->script, 0, 200))));
}

/* A space's agent names its provider next to the model. */
static bool named_provider(const Project *p, Str name, Str provider, const ModelDef *parent, ModelDef *out) {
    if (provider.n == 0 || name.n == 0) return false;
    for (size_t i = 0; i < p->settings.n_models; i++)
        if (str_eq(p->settings.models[i].name, name)) return false;
    return model_of_provider(provider, name, parent, out), true;
}

static bool choose(const Agents *a, Str name, Str provider, const ModelDef *parent, Arena *arena, ModelDef *def, Error *err) {
    const Project *p = runtime_project(a->rt);
    if (a->config.every) return *def = *a->config.every, true;
    if (named_provider(p, name, provider, parent, def) || model_pick(p, name, parent, arena, def, err)) return true;
    if (!a->config.replay) return false;
    *def = (ModelDef){ .name = STR("replay") };
    return true;
}

/* Interns a string: every session and delegation asks for its model. */
static Str kept(Agents *a, Str text) {
    for (size_t i = 0; i < a->texts.n; i++)
        if (str_eq(a->texts.at[i], text)) return a->texts.at[i];
    VEC_PUSH(&a->texts, arena_str(&a->arena, text));
    return a->texts.at[a->texts.n - 1];
}

/* The caller holds the lock. */
static bool define(Agents *a, Str name, Str provider, const ModelDef *parent, Arena *scratch, ModelDef *def, Error *err) {
    if (!choose(a, name, provider, parent, scratch, def, err)) return false;
    replayed(a, def);
    def->name = kept(a, def->name);
    def->base_url = kept(a, def->base_url);
    return true;
}

bool agent_model_def(Agents *a, Str name, Str provider, ModelDef *def, Error *err) {
    Arena scratch = { 0 };
    pthread_mutex_lock(&a->lock);
    bool ok = define(a, name, provider, NULL, &scratch, def, err);
    pthread_mutex_unlock(&a->lock);
    arena_clear(&scratch);
    return ok;
}

bool agent_model_of(Agents *a, Str name, Str provider, const ModelDef *parent, Model **out, ModelDef *def, Error *err) {
    Arena scratch = { 0 };
    pthread_mutex_lock(&a->lock);
    bool ok = define(a, name, provider, parent, &scratch, def, err);
    Model *found = NULL;
    if (ok) {
        Str key = kept(a, key_of(a, def, &scratch));
        for (size_t i = 0; i < a->models.n && !found; i++)
            if (str_eq(a->models.at[i].name, key)) found = a->models.at[i].model;
        if (!found && (ok = open_model(a, def, &found, err)))
            VEC_PUSH(&a->models, ((AgentsModel){ .name = key, .model = found, .def = *def }));
    }
    pthread_mutex_unlock(&a->lock);
    arena_clear(&scratch);
    if (ok) *out = found;
    return ok;
}

bool agent_set_try(Agents *a, Str name, Cancel *cancel, Error *err) {
    enum { LEAST_TOKENS = 16 };                              /* minimum of the Responses API */
    Heap *heap = heap_new((size_t)1 << 20);
    Model *model = NULL;
    ModelDef def;
    ModelReply reply = { 0 };
    List *messages = list_new(heap, 1, err);
    Dict *message = dict_new(heap, 2, err);
    bool ok = messages && message && dict_put_text(heap, message, "role", STR("user"), err)
           && dict_put_text(heap, message, "content", STR("Say ok."), err) && list_push(heap, messages, value_from_object(message), err)
           && agent_model_of(a, name, STR(""), NULL, &model, &def, err);
    ModelRequest request = { .messages = messages ? value_from_object(messages) : VALUE_NONE, .tools = VALUE_NONE, .max_tokens = LEAST_TOKENS };
    ok = ok && model_complete(model, &request, cancel, &reply, err);
    model_reply_clear(&reply);
    heap_free(heap);
    return ok;
}

bool agent_model_known(const Agents *a, Str name, Error *err) {
    const Project *p = runtime_project(a->rt);
    Arena scratch = { 0 };
    ModelDef def;
    Str near = { 0 };
    if (a->config.every || a->config.replay) return true;
    bool ok = model_pick(p, name, NULL, &scratch, &def, err);
    arena_clear(&scratch);
    if (ok) return true;
    Str *names = mem_zero(p->settings.n_models + 1, sizeof *names);
    for (size_t i = 0; i < p->settings.n_models; i++) names[i] = p->settings.models[i].name;
    near = str_nearest(name, names, p->settings.n_models);
    if (near.n) error_hint(err, "did you mean \"" STR_FMT "\"?", STR_ARG(near));
    free(names);
    return false;
}
