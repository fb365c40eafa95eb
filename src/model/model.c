/* Opens a model connection and retries transient failures. */
#include "model/model.h"
#include <stdlib.h>
#include "base/mem.h"
#include "base/random.h"
#include "model/openai.h"
#include "model/provider.h"
#include "model/request.h"

static const Provider *const providers[] = {
    [PROVIDER_OPENAI] = &provider_openai, [PROVIDER_GEMINI] = &provider_openai, [PROVIDER_OLLAMA] = &provider_openai,
    [PROVIDER_COPILOT] = &provider_openai, [PROVIDER_ANTHROPIC] = &provider_anthropic, [PROVIDER_SCRIPT] = &provider_script,
    [PROVIDER_REPLAY] = &provider_replay, [PROVIDER_UNKNOWN] = NULL,
};

ModelRoute model_route(const ModelDef *def) {
    const Provider *provider = providers[def->provider];
    ModelRoute out = { .wire = provider ? provider->name : "", .path = "" };
    if (provider && provider->route) provider->route(def, &out);
    return out;
}

static int64_t setting(Value retry, const char *key, int64_t otherwise) {
    Value v = value_member(retry, key);
    return value_is_small(v) ? value_small(v) : otherwise;
}

static void read_retry(Model *m) {
    Value multiplier = value_member(m->def.retry, "multiplier"), jitter = value_member(m->def.retry, "jitter");
    m->attempts = setting(m->def.retry, "max_attempts", 5);
    m->first_ms = setting(m->def.retry, "initial_backoff_ms", 500);
    m->max_ms = setting(m->def.retry, "max_backoff_ms", 20000);
    m->multiplier = value_is_float(multiplier) ? value_float(multiplier) : value_is_small(multiplier) ? (double)value_small(multiplier) : 2;
    m->jitter = !value_is_bool(jitter) || value_bool(jitter);
}

/* 'd' a digit, anything else itself. */
static bool ends_like(Str s, const char *shape) {
    size_t n = strlen(shape);
    if (s.n <= n) return false;
    for (size_t i = 0; i < n; i++) {
        char c = s.at[s.n - n + i];
        if (shape[i] == 'd' ? c < '0' || c > '9' : c != shape[i]) return false;
    }
    return true;
}

/* The name without a date or "-latest" at the end: versions of one model accept each other's items. */
static Str model_family(Str name) {
    static const char *const shapes[] = { "-latest", "-dddddddd", "-dddd-dd-dd" };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (ends_like(name, shapes[i])) return str_sub(name, 0, name.n - strlen(shapes[i]));
    return name;
}

/* The media that a model accepts: according to its profile, else to what is known about the provider and name. Nothing is known about custom
 * servers. */
static unsigned media_taken(const ModelDef *def) {
    static const char *const plain[] = { "gpt-3", "gpt-4-0", "o1-mini", "o3-mini", "claude-2", "claude-instant" };
    unsigned takes = 0;
    for (size_t i = 0; i < def->input.n; i++) takes |= str_eq(def->input.at[i], STR("pdf")) ? MEDIA_PDF
        : str_eq(def->input.at[i], STR("image")) ? MEDIA_IMAGE : 0;
    if (def->has_input) return takes;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (str_starts(def->name, str_from(plain[i]))) return 0;
    switch (def->provider) {
    case PROVIDER_ANTHROPIC: case PROVIDER_SCRIPT: case PROVIDER_REPLAY: return MEDIA_IMAGE | MEDIA_PDF;
    case PROVIDER_OPENAI: return def->base_url.n == 0 || str_eq(str_from(model_route(def).wire), STR("responses")) ? MEDIA_IMAGE | MEDIA_PDF : 0;
    case PROVIDER_GEMINI: return MEDIA_IMAGE;
    default: return 0;
    }
}

Str model_effort(const Model *m, const ModelRequest *r) { return r->effort.n ? r->effort : m->def.effort; }

Str model_origin(const Model *m) { return m->origin; }

bool model_open(const Project *p, const ModelDef *def, const ModelEnv *env, Model **out, Error *err) {
    const Provider *provider = providers[def->provider];
    if (!provider) return error_set(err, ERR_CONFIG, "unknown model provider \"" STR_FMT "\"", STR_ARG(def->given));
    Model *m = mem_zero(1, sizeof *m);
    *m = (Model){ .provider = provider, .def = *def, .env = *env };
    Str *text[] = { &m->def.given, &m->def.name, &m->def.base_url, &m->def.api_key_env, &m->def.script, &m->def.replay, &m->def.wire,
                    &m->def.effort };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) *text[i] = arena_str(&m->arena, *text[i]);
    read_retry(m);
    m->takes = media_taken(&m->def);
    if (!provider->open(m, p, err)) {
        model_free(m);
        return false;
    }
    Str family = model_family(m->def.name);
    m->origin = str_from(arena_fmt(&m->arena, "%s " STR_FMT " " STR_FMT, provider->name, STR_ARG(m->url), STR_ARG(family)));
    *out = m;
    return true;
}

void model_free(Model *m) {
    if (!m) return;
    if (m->provider->close) m->provider->close(m);
    arena_clear(&m->arena);
    free(m);
}

void model_reply_clear(ModelReply *r) {
    if (r->heap) heap_free(r->heap);
    buf_clear(&r->text);
    buf_clear(&r->reasoning);
    buf_clear(&r->items);
    VEC_CLEAR(&r->order);
    *r = (ModelReply){ 0 };
}

/* Honours the delay requested by the server, up to a maximum. */
static int64_t wait_before(const Model *m, int attempt, int64_t asked_ms) {
    enum { ASKED_MAX_MS = 120000 };
    if (asked_ms >= 0) return asked_ms < ASKED_MAX_MS ? asked_ms : ASKED_MAX_MS;
    double ms = (double)m->first_ms;
    for (int i = 1; i < attempt && ms < (double)m->max_ms; i++) ms *= m->multiplier;
    if (ms > (double)m->max_ms) ms = (double)m->max_ms;
    int64_t whole = (int64_t)ms;
    return m->jitter && whole > 1 ? whole / 2 + (int64_t)random_below((uint64_t)whole / 2 + 1) : whole;
}

/* Replaces invalid counts, which must not lower the totals that limits are compared with. */
static void tidy(ModelUsage *u) {
    int64_t *counts[] = { &u->input, &u->output, &u->cached, &u->written, &u->reasoning };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (*counts[i] < 0) *counts[i] = 0;
}

bool model_complete(Model *m, const ModelRequest *request, Cancel *cancel, ModelReply *out, Error *err) {
    for (int attempt = 1;; attempt++) {
        bool retry = false;
        int64_t asked = -1;
        *out = (ModelReply){ .attempts = attempt };
        if (m->provider->complete(m, request, cancel, out, &retry, &asked, err)) {
            tidy(&out->usage);
            provider_price(m, &out->usage);
            return true;
        }
        bool unavailable = retry || out->unavailable;
        model_reply_clear(out);
        out->unavailable = unavailable;
        if (!retry || attempt >= m->attempts || cancel_expired(cancel)) {
            if (attempt > 1) error_wrap(err, "after %d attempts", attempt);
            return false;
        }
        int64_t wait = wait_before(m, attempt, asked);
        if (request->on_retry) request->on_retry(request->ctx, attempt, wait, err);
        if (!cancel_sleep(cancel, wait * 1000000, err)) return false;
    }
}

const char *model_wire(const Model *m) {
    return model_route(&m->def).wire;
}

bool model_write_tools(const char *format, const List *tools, Buf *out, Error *err) {
    return strcmp(format, "anthropic") == 0 ? provider_anthropic_tools(tools, out, err) : provider_openai_tools(tools, out, err);
}
