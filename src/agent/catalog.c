/* The tool list sent to a model, in an order that is stable from turn to turn. */
#include <stdlib.h>
#include "agent/delegate.h"
#include "tool/task/task.h"

/* Providers accept [A-Za-z0-9_-] only: a tool with another name is listed under its first alias. */
static Str provider_name(const ToolDef *def) {
    for (size_t i = 0; i < def->name.n; i++)
        if (strchr(":./", def->name.at[i])) return def->aliases.n ? def->aliases.at[0] : def->name;
    return def->name;
}

/* True if this agent and all agents above it may spawn: only then may it start background work. */
bool frame_spawns(const Frame *f) {
    for (const Frame *at = f; at; at = at->up)
        if (at->def && at->def->from_space && !at->def->can_spawn) return false;
    return true;
}

bool frame_has_use(const Frame *f, const ToolEntry *e) {
    if (!e->delegates) return true;
    bool start = e->delegates == DELEGATES_IN_BACKGROUND, async = start || e->delegates == DELEGATES_ASKS;
    if (start && !frame_spawns(f)) return false;
    if (async && f->def && f->def->from_space && !f->def->can_spawn) return false;
    if (async && !start && !task_any(f->s->run)) return false;       /* nothing to query yet */
    return delegate_allowed(f, STR(""), NULL);
}

static bool offered(const Frame *f, const ToolEntry *e) {
    return !policy_tool_blocked(f->blocked, f->n_blocked, &e->def) && frame_has_use(f, e);
}

static bool add(const Frame *f, Heap *h, const ToolEntry *e, List *list, Error *err) {
    const ToolDef *def = &e->def;
    Dict *d = dict_new(h, 3, err);
    Buf words = { 0 };
    if (e->delegates == DELEGATES_AND_WAITS) delegate_describe(f, &words);
    else buf_add(&words, def->description);
    bool ok = d && dict_put_text(h, d, "name", provider_name(def), err) && dict_put_text(h, d, "description", buf_str(&words), err)
           && dict_put_str(h, d, STR("parameters"), def->parameters, err) && list_push(h, list, value_from_object(d), err);
    buf_clear(&words);
    return ok;
}

bool frame_tools(Frame *f, Heap *heap, List **out, Error *err) {
    Call call = { 0 };
    const ToolEntry **entries;
    frame_call(f, &call);
    List *list = list_new(heap, 16, err);
    size_t n = tool_visible(f->s->run, &call, &entries);
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < n; i++)
        if (offered(f, entries[i])) ok = add(f, heap, entries[i], list, err);
    free(entries);
    if (ok) *out = list;
    return ok;
}
