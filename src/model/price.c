/* Computes the cost of a reply. */
#include "model/provider.h"
#include "model/request.h"

typedef struct Price { const char *prefix; double input, cached, written, output; } Price;
static const Price prices[] = {
#define PRICE(prefix, input, cached, written, output) { prefix, input, cached, written, output },
#include "model/prices.def"
#undef PRICE
};

static double number(Value dict, const char *key, double otherwise) {
    Value v = value_member(dict, key);
    if (value_is_small(v)) return (double)value_small(v);
    return value_is_float(v) ? value_float(v) : otherwise;
}

static bool find(const ModelDef *def, Price *out) {
    if (value_is_dict(def->price)) {
        out->input = number(def->price, "input", 0);
        out->output = number(def->price, "output", 0);
        out->cached = number(def->price, "cached", out->input);
        out->written = number(def->price, "written", out->input);
        return true;
    }
    size_t best = 0;
    for (size_t i = 0; i < sizeof prices / sizeof *prices; i++) {
        Str prefix = str_from(prices[i].prefix);
        if (prefix.n <= best || !str_starts(def->name, prefix)) continue;
        best = prefix.n;
        *out = prices[i];
    }
    return best > 0;
}

void provider_price(const Model *m, ModelUsage *u) {
    Price p = { 0 };
    if (!find(&m->def, &p)) return;
    int64_t known = u->cached + u->written, fresh = u->input > known ? u->input - known : 0;
    u->usd = ((double)fresh * p.input + (double)u->cached * p.cached + (double)u->written * p.written + (double)u->output * p.output) / 1e6;
    u->priced = true;
}

void model_usage_write(const ModelUsage *u, Buf *out) {
    buf_add_fmt(out, "{\"input\":%lld,\"output\":%lld,\"cached\":%lld,\"written\":%lld,\"reasoning\":%lld,\"usd\":%.6f}", (long long)u->input,
                (long long)u->output, (long long)u->cached, (long long)u->written, (long long)u->reasoning, u->usd);
}

bool model_priced(const ModelDef *def) {
    Price p;
    return find(def, &p) || project_model_offline(def);
}
