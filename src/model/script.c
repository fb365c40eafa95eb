/* A model that is a Starlark file: reply(messages, tools) → {"text": …}, {"tool_calls": [{"name", "arguments"}]} or {"parts": [PART]}, with "reasoning" and
 * "items" (a list of anything) as a real one has them; items come back in the message as long as nothing changes it. Works
 * offline and always answers the same, so it is what `harness init`, the demo and tests use. */
#include <stdio.h>
#include <stdlib.h>
#include "base/file.h"
#include "base/mem.h"
#include "model/provider.h"
#include "model/request.h"
#include "starlark/module.h"

enum { SCRIPT_MAX = 4 << 20, LOAD_STEPS = 5000000 };
#define SCRIPT_HEAP ((size_t)256 << 20)

typedef struct Scripted { Heap *heap; Universe *universe; Module *module; } Scripted;

/* Reads the script from a path below the project; a value with a line break is the script itself. */
static bool read_script(Model *m, const Project *p, Buf *text, char **file, Error *err) {
    if (str_find_char(m->def.script, '\n') >= 0) {
        buf_add(text, m->def.script);
        *file = arena_fmt(&m->arena, "script of model " STR_FMT, STR_ARG(m->def.name));
        return true;
    }
    bool absolute = m->def.script.n && m->def.script.at[0] == '/';
    char *path = absolute ? arena_fmt(&m->arena, STR_FMT, STR_ARG(m->def.script))
                          : arena_fmt(&m->arena, STR_FMT "/" STR_FMT, STR_ARG(p->root), STR_ARG(m->def.script));
    *file = arena_fmt(&m->arena, STR_FMT, STR_ARG(m->def.script));
    if (file_read(path, SCRIPT_MAX, text, err)) return true;
    error_wrap(err, "model " STR_FMT ": script", STR_ARG(m->def.name));
    return error_hint(err, "model.script in harness.md names it, relative to the project");
}

static bool load(Scripted *s, Str text, const char *file, Error *err) {
    Source source = { .file = str_from(file), .text = text };
    ModuleOptions options = { .universe = s->universe, .predeclared = s->universe->json_math };
    if (!module_compile(s->heap, &source, &options, &s->module, NULL, err)) return error_place(err, file, 0, 0);
    Vm *vm = vm_new(s->heap, &(VmConfig){ .max_steps = LOAD_STEPS });
    bool ok = module_load(vm, s->module, NULL, err);
    vm_free(vm);
    if (!ok) return error_place(err, file, 0, 0);
    heap_freeze_all(s->heap);
    module_seal(s->module);
    if (value_is_gone(module_global(s->module, STR("reply"))))
        return error_set(err, ERR_CONFIG, "%s: a model's script must define reply(messages, tools)", file);
    return true;
}

static bool open(Model *m, const Project *p, Error *err) {
    Scripted *s = mem_zero(1, sizeof *s);
    m->data = s;
    s->heap = heap_new(SCRIPT_HEAP);
    s->universe = universe_new();
    Buf text = { 0 };
    char *file;
    bool ok = read_script(m, p, &text, &file, err) && load(s, buf_str(&text), file, err);
    buf_clear(&text);
    return ok;
}

static void close(Model *m) {
    Scripted *s = m->data;
    if (!s) return;
    if (s->module) module_free(s->module);
    if (s->heap) heap_free(s->heap);
    if (s->universe) universe_free(s->universe);
    free(s);
}

/* ---- reply ---- */

static bool bad(const Model *m, Error *err, const char *what) {
    return error_set(err, ERR_PROVIDER, "model " STR_FMT ": reply() %s", STR_ARG(m->def.name), what);
}

static bool take_call(const Model *m, ProviderDraft *d, int64_t i, Value call, Error *err) {
    Value name = value_member(call, "name"), arguments = value_member(call, "arguments");
    if (!value_is_string(name)) return bad(m, err, "returned a tool call without a name");
    ProviderCall *c = provider_call(d, i, err);
    if (!c) return false;
    buf_add(&c->name, value_str(name));
    buf_add(&c->id, value_member_text(call, "id"));
    if (c->id.n == 0) buf_add_fmt(&c->id, "call_%lld", (long long)i + 1);
    c->object = value_is_gone(arguments);
    if (value_is_string(arguments)) buf_add(&c->arguments, value_str(arguments));
    else if (!value_is_gone(arguments)) return json_write(&c->arguments, arguments, NULL, err);
    return true;
}

static bool take_items(const Model *m, ProviderDraft *d, Value v, Error *err) {
    Value items = value_member(v, "items");
    provider_reasoning(d, value_member_text(v, "reasoning"));
    if (value_is_gone(items)) return true;
    if (!value_is_list(items)) return bad(m, err, "returned items that are not a list");
    return json_write(&d->reply->items, items, NULL, err);
}

static bool take_parts(const Model *m, ProviderDraft *d, const List *parts, Error *err) {
    for (uint32_t i = 0; i < parts->n; i++) {
        Value part = parts->at[i];
        if (parts_is(part, "text")) provider_text(d, value_member_text(part, "text"));
        else if (parts_is(part, "reasoning")) provider_reasoning(d, value_member_text(part, "text"));
        else if (!parts_is(part, "call")) return bad(m, err, "returned a part that is not text, reasoning or a call");
        else if (!take_call(m, d, (int64_t)d->n, part, err)) return false;
    }
    return true;
}

static bool take(const Model *m, ProviderDraft *d, Value v, Error *err) {
    if (value_is_string(v)) {
        provider_text(d, value_str(v));
        snprintf(d->reply->finish_reason, sizeof d->reply->finish_reason, "stop");
        return provider_finish(d, err);
    }
    if (!value_is_dict(v)) return bad(m, err, "must return a string or a dict");
    const List *calls = request_list(v, "tool_calls");
    Value text = value_member(v, "text"), error = value_member(v, "error");
    if (value_is_string(error)) return error_set(err, ERR_PROVIDER, "model " STR_FMT ": " STR_FMT, STR_ARG(m->def.name), STR_ARG(value_str(error)));
    const List *parts = request_list(v, "parts");
    if (!calls && !value_is_string(text) && !parts) return bad(m, err, "returned neither text, tool_calls nor parts");
    if (parts && (calls || value_is_string(text))) return bad(m, err, "returned parts together with text or tool_calls");
    if (!take_items(m, d, v, err) || (parts && !take_parts(m, d, parts, err))) return false;
    if (value_is_string(text)) provider_text(d, value_str(text));
    for (uint32_t i = 0; calls && i < calls->n; i++)
        if (!take_call(m, d, i, calls->at[i], err)) return false;
    Str reason = value_member_text(v, "finish_reason");
    if (reason.n == 0) reason = d->n ? STR("tool_calls") : STR("stop");
    snprintf(d->reply->finish_reason, sizeof d->reply->finish_reason, STR_FMT, STR_ARG(reason));
    Value usage = value_member(v, "usage");
    d->reply->usage.input = request_int(usage, "input");
    d->reply->usage.output = request_int(usage, "output");
    d->reply->usage.cached = request_int(usage, "cached");
    d->reply->usage.written = request_int(usage, "written");
    d->reply->usage.reasoning = request_int(usage, "reasoning");
    return provider_finish(d, err);
}

/* The items of an answer depend on the message itself, so they are found before parts are added. */
static bool add_items(const Model *m, Heap *heap, const ModelRequest *request, List *messages, Error *err) {
    ItemsMatch match;
    bool ok = true;
    items_match(request->items, m->origin, value_list(request->messages), &match);
    for (uint32_t i = 0; ok && i < messages->n; i++) {
        Value items;
        if (!match.of[i]) continue;
        ok = json_read(heap, match.of[i]->list, NULL, &items, err) && dict_put_str(heap, value_dict(messages->at[i]), STR("items"), items, err);
    }
    items_match_clear(&match);
    return ok;
}

/* The messages as scripts see them: with parts, and with the items of replies that have some. */
static bool copy_messages(const Model *m, Heap *heap, const ModelRequest *request, Value *out, Error *err) {
    Heap *scratch = heap_new(0);
    List *shown;
    bool ok = parts_show(scratch, value_list(request->messages), &shown, err) && value_copy_all_into(heap, value_from_object(shown), out, err);
    heap_free(scratch);
    return ok && (!request->items || request->items->n == 0 || add_items(m, heap, request, value_list(*out), err));
}

static bool call(Model *m, Worker *w, const ModelRequest *request, Value *out, Error *err) {
    Scripted *s = m->data;
    Value args[2], tools = value_is_list(request->tools) ? request->tools : VALUE_GONE;
    if (!copy_messages(m, w->heap, request, &args[0], err)) return false;
    if (value_is_gone(tools)) {
        List *none = list_new(w->heap, 0, err);
        if (!none) return false;
        args[1] = value_from_object(none);
    } else if (!value_copy_into(w->heap, tools, &args[1], err)) {
        return false;
    }
    size_t pin = heap_pin(w->heap, args, 2);
    bool ok = module_call(w->vm, s->module, STR("reply"), args, 2, out, err);
    heap_unpin(w->heap, pin);
    return ok;
}

static bool complete(Model *m, const ModelRequest *request, Cancel *cancel, ModelReply *out, bool *retry, int64_t *wait_ms, Error *err) {
    (void)retry;
    (void)wait_ms;
    ProviderDraft draft = { .reply = out, .request = request };
    Cancel *own = cancel_new(cancel, (m->def.timeout_ms ? m->def.timeout_ms : PROVIDER_TIMEOUT_MS) * 1000000);
    Worker *w = worker_take(m->env.workers, NULL, own);
    Value v = VALUE_NONE;
    bool ok = call(m, w, request, &v, err);
    if (!ok && err->kind == ERR_TIMEOUT && !cancel_expired(cancel))
        error_set(err, ERR_PROVIDER, "model " STR_FMT ": no reply within model.timeout_ms (%lld ms)", STR_ARG(m->def.name), (long long)m->def.timeout_ms);
    if (!ok && err->kind == ERR_SCRIPT) error_wrap(err, "model " STR_FMT, STR_ARG(m->def.name));
    ok = ok && take(m, &draft, v, err);
    worker_give(m->env.workers, w);
    cancel_free(own);
    provider_draft_clear(&draft);
    return ok;
}

const Provider provider_script = { "script", open, NULL, complete, close };
