/* Computes the cost of a reply. */
#include "model/provider.h"

void provider_price(const Model *m, ModelUsage *u) {
    ModelPrice p;
    if (!project_model_price(&m->def, &p)) return;
    int64_t known = u->cached + u->written, fresh = u->input > known ? u->input - known : 0;
    u->usd = ((double)fresh * p.input + (double)u->cached * p.cached + (double)u->written * p.written + (double)u->output * p.output) / 1e6;
    u->priced = true;
}

void model_usage_write(const ModelUsage *u, Buf *out) {
    buf_add_fmt(out, "{\"input\":%lld,\"output\":%lld,\"cached\":%lld,\"written\":%lld,\"reasoning\":%lld,\"usd\":%.6f}", (long long)u->input,
                (long long)u->output, (long long)u->cached, (long long)u->written, (long long)u->reasoning, u->usd);
}

bool model_priced(const ModelDef *def) {
    ModelPrice p;
    return project_model_price(def, &p) || project_model_offline(def);
}
