/* Resolves model names. */
#include <stdlib.h>
#include "model/model.h"

static ModelDef blank(ModelProvider provider, Str name) {
    return (ModelDef){ .provider = provider, .name = name, .temperature = VALUE_GONE, .top_p = VALUE_GONE, .retry = VALUE_GONE,
                       .headers = VALUE_GONE, .price = VALUE_GONE };
}

static const char *variable(const char *name) {
    const char *v = getenv(name);
    return v && *v ? v : NULL;
}

static void complete_profile(ModelDef *d) { d->provider = project_model_provider(d); }

static bool prefix_provider(Str name, ModelProvider *out) {
    if (str_starts(name, STR("claude-"))) return *out = PROVIDER_ANTHROPIC, true;
    if (str_starts(name, STR("gpt-")) || str_starts(name, STR("chatgpt-"))) return *out = PROVIDER_OPENAI, true;
    if (name.n > 1 && name.at[0] == 'o' && name.at[1] >= '1' && name.at[1] <= '9') return *out = PROVIDER_OPENAI, true;
    return false;
}

/* OAI_* are the variables of agentcli. */
static void compatible_environment(ModelDef *d) {
    if (d->provider != PROVIDER_OPENAI) return;
    if (d->base_url.n == 0 && variable("OAI_BASE_URL")) d->base_url = str_from(variable("OAI_BASE_URL"));
    if (d->api_key_env.n == 0 && variable("OAI_API_KEY")) d->api_key_env = STR("OAI_API_KEY");
}

static bool from_environment(ModelDef *out, Error *err) {
    const char *oai_model = variable("OAI_MODEL");
    if (variable("OPENAI_API_KEY") || variable("OAI_API_KEY") || variable("OAI_BASE_URL")) {
        *out = blank(PROVIDER_OPENAI, oai_model ? str_from(oai_model) : STR("gpt-5-mini"));
        compatible_environment(out);
        return true;
    }
    if (variable("ANTHROPIC_API_KEY")) return *out = blank(PROVIDER_ANTHROPIC, STR("claude-sonnet-4-5")), true;
    error_set(err, ERR_CONFIG, "no model: harness.md names none, and neither OPENAI_API_KEY nor ANTHROPIC_API_KEY is set");
    return error_hint(err, "set one of them, or `model: {provider: openai, base_url: …}` for a local server, or `provider: script` to work offline");
}

static void of_provider(ModelProvider provider, Str name, const ModelDef *parent, ModelDef *out) {
    if (parent && parent->provider == provider) {
        *out = *parent;
        out->name = name;
        out->price = VALUE_GONE;
        return;
    }
    *out = blank(provider, name);
    compatible_environment(out);
}

void model_of_provider(Str provider, Str name, const ModelDef *parent, ModelDef *out) {
    ModelProvider known = project_provider_find(provider);
    of_provider(known, name, known == PROVIDER_UNKNOWN ? NULL : parent, out);
    out->given = provider;
}

static bool by_name(const Project *p, Str name, const ModelDef *parent, ModelDef *out, Error *err) {
    for (size_t i = 0; i < p->settings.n_models; i++)
        if (str_eq(p->settings.models[i].name, name)) {
            *out = p->settings.models[i];
            complete_profile(out);
            compatible_environment(out);
            return true;
        }
    ModelProvider provider = PROVIDER_NONE;
    bool told = prefix_provider(name, &provider);
    bool same = parent && (!told || parent->provider == provider);
    if (same && parent->provider != PROVIDER_SCRIPT && parent->provider != PROVIDER_REPLAY) return of_provider(parent->provider, name, parent, out), true;
    if (!told) {
        error_set(err, ERR_CONFIG, "model \"" STR_FMT "\" is not a profile of harness.md, and its name does not identify a provider", STR_ARG(name));
        return error_hint(err, "add it to `models:` with its provider");
    }
    return of_provider(provider, name, NULL, out), true;
}

bool model_pick(const Project *p, Str name, const ModelDef *parent, Arena *arena, ModelDef *out, Error *err) {
    bool ok;
    if (name.n) {
        ok = by_name(p, name, parent, out, err);
    } else if (parent) {
        *out = *parent;
        ok = true;
    } else if (p->settings.model.n) {
        ok = by_name(p, p->settings.model, NULL, out, err);
    } else if (p->settings.n_models) {
        *out = p->settings.models[0];
        complete_profile(out);
        compatible_environment(out);
        ok = true;
    } else {
        ok = from_environment(out, err);
    }
    if (!ok) return false;
    out->name = arena_str(arena, out->name);
    out->base_url = arena_str(arena, out->base_url);
    return true;
}
