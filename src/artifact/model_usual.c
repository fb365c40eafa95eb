/* Defaults of a model: the address and key of its provider, and its price. */
#include "artifact/project.h"
#include "value/dict.h"
#include "value/int.h"

/* ---- providers ---- */

typedef struct Usual { const char *url, *key; } Usual;
static const Usual usual[PROVIDER_UNKNOWN + 1] = {
#define PROVIDER(id, name, address, variable) [PROVIDER_##id] = { address, variable },
#include "artifact/providers.def"
#undef PROVIDER
};

const char *project_provider_url(ModelProvider p) { return usual[p].url ? usual[p].url : ""; }
const char *project_provider_key(ModelProvider p) { return usual[p].key ? usual[p].key : ""; }

static bool same_address(Str given, Str own) {
    while (given.n && given.at[given.n - 1] == '/') given.n--;
    return str_eq(given, own);
}

bool project_model_usual(const ModelDef *m) {
    ModelProvider p = project_model_provider(m);
    Str url = str_from(project_provider_url(p));
    if (url.n == 0) return false;
    return (m->base_url.n == 0 || same_address(m->base_url, url)) && (m->api_key_env.n == 0 || str_eq(m->api_key_env, str_from(project_provider_key(p))));
}

/* ---- prices ---- */

typedef struct Listed { const char *prefix; ModelPrice price; } Listed;
static const Listed prices[] = {
#define PRICE(prefix, input, cached, written, output) { prefix, { input, cached, written, output } },
#include "artifact/prices.def"
#undef PRICE
};

bool project_listed_price(Str model, ModelPrice *out) {
    size_t best = 0;
    for (size_t i = 0; i < sizeof prices / sizeof *prices; i++) {
        Str prefix = str_from(prices[i].prefix);
        if (prefix.n <= best || !str_starts(model, prefix)) continue;
        best = prefix.n;
        *out = prices[i].price;
    }
    return best > 0;
}

static double number(Value dict, const char *key, double otherwise) {
    Value v = value_member(dict, key);
    if (value_is_int(v)) return int_to_double(v);
    return value_is_float(v) ? value_float(v) : otherwise;
}

bool project_model_price(const ModelDef *m, ModelPrice *out) {
    if (!value_is_dict(m->price)) return project_listed_price(m->name, out);
    out->input = number(m->price, "input", 0);
    out->output = number(m->price, "output", 0);
    out->cached = number(m->price, "cached", out->input);
    out->written = number(m->price, "written", out->input);
    return true;
}

bool project_model_cheaper(const ModelDef *m) {
    ModelPrice own, listed;
    if (!value_is_dict(m->price) || project_model_offline(m) || !project_listed_price(m->name, &listed) || !project_model_price(m, &own)) return false;
    return own.input < listed.input || own.output < listed.output || own.cached < listed.cached || own.written < listed.written;
}
