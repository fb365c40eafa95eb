/* What a reply cost. */
#include "model/provider.h"
#include "model/request.h"

typedef struct Price { const char *prefix; double input, cached, output; } Price;
static const Price prices[] = {
#define PRICE(prefix, input, cached, output) { prefix, input, cached, output },
#include "model/prices.def"
#undef PRICE
};

static double number(Value dict, const char *key, double otherwise) {
    Value v = value_member(dict, key);
    if (value_is_small(v)) return (double)value_small(v);
    return value_is_float(v) ? value_float(v) : otherwise;
}

static bool find(const Model *m, Price *out) {
    if (value_is_dict(m->def.price)) {
        out->input = number(m->def.price, "input", 0);
        out->output = number(m->def.price, "output", 0);
        out->cached = number(m->def.price, "cached", out->input);
        return true;
    }
    size_t best = 0;
    for (size_t i = 0; i < sizeof prices / sizeof *prices; i++) {
        Str prefix = str_from(prices[i].prefix);
        if (prefix.n <= best || !str_starts(m->def.name, prefix)) continue;
        best = prefix.n;
        *out = prices[i];
    }
    return best > 0;
}

void provider_price(const Model *m, ModelUsage *u) {
    Price p = { 0 };
    if (!find(m, &p)) return;
    int64_t fresh = u->input > u->cached ? u->input - u->cached : 0;
    u->usd = ((double)fresh * p.input + (double)u->cached * p.cached + (double)u->output * p.output) / 1e6;
    u->priced = true;
}
