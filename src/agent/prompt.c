/* The system prompt: the agent's own text, then those of the bundles active in this turn. */
#include <stdlib.h>
#include "agent/frame.h"

static bool put_named(Heap *h, Dict *root, const char *key, Str name, Str description, Error *err) {
    Dict *d = dict_new(h, 2, err);
    return d && dict_put_text(h, d, "name", name, err) && dict_put_text(h, d, "description", description, err)
        && dict_put_str(h, root, str_from(key), value_from_object(d), err);
}

static Str base_name(Str path) {
    for (size_t i = path.n; i-- > 0;)
        if (path.at[i] == '/') return str_sub(path, i + 1, path.n);
    return path;
}

static bool put_tools(Frame *f, Heap *h, Dict *root, Error *err) {
    List *tools, *names = list_new(h, 8, err);
    if (!names || !frame_tools(f, h, &tools, err)) return false;
    for (uint32_t i = 0; i < tools->n; i++)
        if (!list_push(h, names, tools->at[i], err)) return false;
    return dict_put_str(h, root, STR("tools"), value_from_object(names), err);
}

/* context.project|space|agent|user|tools, for the Handlebars prompt of a space's agent. */
static bool template_context(Frame *f, const AgentDef *a, Heap *h, Value *out, Error *err) {
    const Project *p = runtime_project(f->s->agents->rt);
    Dict *outer = dict_new(h, 1, err), *root = dict_new(h, 5, err);
    const char *user = getenv("USER");
    if (!outer || !root) return false;
    if (!put_named(h, root, "project", base_name(p->root), STR(""), err) || !put_named(h, root, "space", base_name(p->root), STR(""), err)
        || !put_named(h, root, "agent", a->title.n ? a->title : a->name, a->description, err)
        || !put_named(h, root, "user", str_from(user ? user : ""), STR(""), err) || !put_tools(f, h, root, err)) return false;
    *out = value_from_object(outer);
    return dict_put_str(h, outer, STR("context"), value_from_object(root), err);
}

static bool own_words(Frame *f, Buf *out, Error *err) {
    const Project *p = runtime_project(f->s->agents->rt);
    const AgentDef *a = f->def;
    if (!a && str_trim(p->settings.prompt).n == 0) a = project_space_agent(p);      /* harness.md has no body */
    if (!a) {
        buf_add(out, str_trim(p->settings.prompt));
        return true;
    }
    if (!a->prompt_template) {
        buf_add(out, a->prompt);
        return true;
    }
    Heap *h = heap_new((size_t)64 << 20);
    Value context;
    bool ok = template_context(f, a, h, &context, err) && template_render(a->prompt_template, context, out, err);
    heap_free(h);
    return ok || error_wrap(err, "prompt of agent \"" STR_FMT "\"", STR_ARG(a->name));
}

static const char plan_words[] = "Plan mode: tools that could change something are refused until the user ends it. Look at what is needed, then answer with a plan.";

bool frame_prompt(Frame *f, Buf *out, Error *err) {
    const Project *p = runtime_project(f->s->agents->rt);
    if (!own_words(f, out, err)) return false;
    if (run_planning(f->s->run)) buf_add_fmt(out, "%s%s", out->n ? "\n\n" : "", plan_words);
    if (!f->up && f->s->agents_md.n) {                       /* a sub-agent has its own instructions */
        if (out->n) buf_add(out, STR("\n\n"));
        buf_add(out, buf_str(&f->s->agents_md));
    }
    Call call = { 0 };
    frame_call(f, &call);
    for (size_t i = 0; i < p->n_bundles; i++) {
        bool active;
        Str body = str_trim(p->bundles[i]->body);
        if (body.n == 0) continue;
        if (!run_bundle_active(f->s->run, &call, p->bundles[i], &active, err)) return false;
        if (!active) continue;
        if (out->n) buf_add(out, STR("\n\n"));
        buf_add(out, body);
    }
    return true;
}
