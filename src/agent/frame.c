#include "agent/frame.h"
#include <stdlib.h>
#include "agent/journal.h"
#include "base/mem.h"
#include "model/request.h"
#include "value/json.h"

#define FRAME_HEAP ((size_t)1 << 30)

static Str *names_below(Frame *f, const Str *above, size_t n, const Str *own, size_t n_own, size_t *out) {
    Str *list = ARENA_ARRAY(&f->arena, Str, n + n_own + 1);
    for (size_t i = 0; i < n; i++) list[i] = above[i];
    for (size_t i = 0; i < n_own; i++) list[n + i] = own[i];
    *out = n + n_own;
    return list;
}

/* Restrictions apply to all agents below. */
static void narrow_servers(Frame *f, const Str *names, size_t n) {
    Str *list = ARENA_ARRAY(&f->arena, Str, n + 1);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!f->servers || str_among(names[i], f->servers, f->n_servers)) list[kept++] = arena_str(&f->arena, names[i]);
    f->servers = list;
    f->n_servers = kept;
}

Frame *frame_new(Session *s, Frame *up, const AgentDef *def, Str id) {
    Frame *f = mem_zero(1, sizeof *f);
    atomic_init(&f->refs, 1);
    f->s = s;
    f->up = up;
    if (up) atomic_fetch_add(&up->refs, 1);
    f->def = def;
    f->id = arena_str(&f->arena, id);
    f->name = def ? arena_str(&f->arena, def->name) : STR("");
    f->depth = up ? up->depth + 1 : 0;
    f->heap = heap_new(FRAME_HEAP);
    f->agents = names_below(f, up ? up->agents : NULL, up ? up->n_agents : 0, &f->name, def ? 1 : 0, &f->n_agents);
    f->blocked = names_below(f, up ? up->blocked : NULL, up ? up->n_blocked : 0, def ? def->blocked_tools.at : NULL,
                             def ? def->blocked_tools.n : 0, &f->n_blocked);
    f->hooks = up ? up->hooks : NULL;
    f->n_hooks = up ? up->n_hooks : 0;
    f->lane = up ? up->lane : NULL;
    f->tools = up ? up->tools : NULL;
    f->n_tools = up ? up->n_tools : 0;
    f->servers = up ? up->servers : NULL;
    f->n_servers = up ? up->n_servers : 0;
    if (def && def->has_mcp) narrow_servers(f, def->mcp.at, def->mcp.n);
    sem_init(&f->children, 0, (unsigned)runtime_limits(s->agents->rt)->delegation.max_concurrent);
    pthread_mutex_lock(&s->lock);
    VEC_PUSH(&s->frames, f);
    pthread_mutex_unlock(&s->lock);
    return f;
}

Frame *frame_find(Session *s, Str id) {
    Frame *found = NULL;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->frames.n && !found; i++)
        if (str_eq(s->frames.at[i]->id, id)) found = s->frames.at[i];
    if (found) atomic_fetch_add(&found->refs, 1);
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* Drops a reference; the last one removes the frame from the list, under the lock used to find it. */
static bool is_last(Frame *f) {
    Session *s = f->s;
    pthread_mutex_lock(&s->lock);
    bool last = atomic_fetch_sub(&f->refs, 1) == 1;
    for (size_t i = 0; last && i < s->frames.n; i++)
        if (s->frames.at[i] == f) s->frames.at[i] = s->frames.at[--s->frames.n];
    pthread_mutex_unlock(&s->lock);
    return last;
}

void frame_release(Frame *f) {
    if (!f || !is_last(f)) return;
    frame_release(f->up);
    sem_destroy(&f->children);
    free(f->artifacts.at);
    free(f->starts.at);
    free(f->vetoes.at);
    history_clear(&f->history);
    VEC_CLEAR(&f->items);
    buf_clear(&f->summary);
    buf_clear(&f->extra);
    heap_free(f->heap);
    arena_clear(&f->arena);
    free(f);
}

static EventPlace place_of(const Frame *f) { return (EventPlace){ .agent = f->name, .parent = f->id, .depth = f->depth }; }

bool frame_event(Frame *f, EventType type, const Buf *data, Error *err) {
    return event_emit(run_events(f->s->run), place_of(f), type, data ? buf_str(data) : STR(""), err);
}

void frame_call(const Frame *f, Call *out) {
    out->agent = f->name;
    out->parent = out->owner = f->id;
    out->depth = f->depth;
    out->agents = f->agents;
    out->n_agents = f->n_agents;
    out->tools = f->tools;
    out->n_tools = f->n_tools;
    out->servers = f->servers;
    out->n_servers = f->n_servers;
    out->hooks = f->hooks;
    out->n_hooks = f->n_hooks;
    out->lane = f->lane;
    out->person = f->s->person;
}

/* For an ended frame, or one of another session: recreates its chain of agents, with no more rights than the call
 * has. */
Frame *frame_stand_in(Session *s, const Call *call, Error *err) {
    Frame *f = s->top;
    atomic_fetch_add(&f->refs, 1);
    for (size_t i = call->n_agents && str_eq(call->agents[0], f->name) ? 1 : 0; i < call->n_agents; i++) {
        const AgentDef *def = frame_find_agent(s, call->agents[i]);
        Frame *below = def ? frame_new(s, f, def, i + 1 < call->n_agents ? frame_fresh_id(s, STR("stand_in"), false) : call->owner) : NULL;
        if (below) below->model = f->model, below->model_def = f->model_def;
        else error_set(err, ERR_CANCELLED, "agent \"" STR_FMT "\" no longer exists", STR_ARG(call->agents[i]));
        frame_release(f);
        if (!below) return NULL;
        f = below;
    }
    if (f == s->top) return f;
    f->depth = call->depth;
    if (call->servers) narrow_servers(f, call->servers, call->n_servers);
    f->blocked = names_below(f, NULL, 0, call->removed, call->n_removed, &f->n_blocked);
    f->hooks = names_below(f, NULL, 0, call->hooks, call->n_hooks, &f->n_hooks);
    f->tools = call->tools ? names_below(f, NULL, 0, call->tools, call->n_tools, &f->n_tools) : NULL;
    for (size_t i = 0; i < f->n_blocked; i++) f->blocked[i] = arena_str(&f->arena, f->blocked[i]);
    for (size_t i = 0; i < f->n_hooks; i++) f->hooks[i] = arena_str(&f->arena, f->hooks[i]);
    for (size_t i = 0; f->tools && i < f->n_tools; i++) f->tools[i] = arena_str(&f->arena, f->tools[i]);
    return f;
}

/* ---- messages ---- */

static bool put_text(Frame *f, Dict *d, const char *key, Str text, Error *err) {
    String *s = string_new(f->heap, text, err);
    return s && dict_put_str(f->heap, d, str_from(key), value_from_object(s), err);
}

static Dict *message(Frame *f, Role role, Str text, Error *err) {
    Dict *d = dict_new(f->heap, 4, err);
    return d && put_text(f, d, "role", str_from(request_role_name(role)), err) && put_text(f, d, "content", text, err) ? d : NULL;
}

static bool push(Frame *f, Dict *message) {
    if (message) history_add(&f->history, value_from_object(message));
    return message != NULL;
}

bool frame_push(Frame *f, Role role, Str text, Error *err) {
    return push(f, message(f, role, text, err));
}

/* Redacts the copy of a call that stays in the conversation; the call itself runs with the original text. */
static bool hide_secrets(Frame *f, Dict *call, const char *key, Error *err) {
    Redactor *r = runtime_redactor(f->s->agents->rt);
    Str said = value_member_text(value_from_object(call), key);
    if (redact_empty(r) || !redact_would(r, said)) return true;
    Buf text = { 0 };
    buf_add(&text, said);
    redact_json(r, &text);
    bool ok = put_text(f, call, key, buf_str(&text), err);
    buf_clear(&text);
    return ok;
}

static bool copy_calls(Frame *f, Value calls, Value *out, Error *err) {
    if (!value_copy_all_into(f->heap, calls, out, err)) return false;
    for (uint32_t i = 0; i < value_list(*out)->n; i++) {
        Value call = value_list(*out)->at[i];
        if (!value_is_dict(call)) continue;
        if (!hide_secrets(f, value_dict(call), "name", err) || !hide_secrets(f, value_dict(call), "arguments", err)) return false;
    }
    return true;
}

/* Its calls are those of the message, without secrets. */
static bool copy_parts(Frame *f, Dict *d, Value parts, Value calls, Error *err) {
    Value copy;
    uint32_t next = 0;
    if (!value_is_list(parts)) return true;
    if (!value_copy_all_into(f->heap, parts, &copy, err)) return false;
    for (uint32_t i = 0; i < value_list(copy)->n; i++) {
        Value part = value_list(copy)->at[i];
        if (!parts_is(part, "call") || !value_is_list(calls) || next >= value_list(calls)->n) continue;
        Value call = value_list(calls)->at[next++];
        if (!put_text(f, value_dict(part), "name", value_member_text(call, "name"), err)
            || !put_text(f, value_dict(part), "arguments", value_member_text(call, "arguments"), err)) return false;
    }
    return dict_put_str(f->heap, d, STR("parts"), copy, err);
}

/* Items count against the context budget, because they are sent instead of the message. They were kept just before it was added. */
static void weigh_items(Frame *f, Value message) {
    char hash[ITEMS_HASH + 1];
    if (f->items.n == 0) return;
    items_hash(value_member_text(message, "content"), value_member(message, "tool_calls"), value_member(message, "parts"), hash);
    const Items *last = &VEC_LAST(&f->items);
    if (strcmp(last->hash, hash) == 0) history_weigh(&f->history, last->list.n);
}

bool frame_push_answer(Frame *f, Str text, Value calls, Value parts, Error *err) {
    Dict *d = message(f, ROLE_ASSISTANT, text, err);
    Value copy = VALUE_GONE;
    if (!d) return false;
    if (value_is_list(calls) && value_list(calls)->n
        && (!copy_calls(f, calls, &copy, err) || !dict_put_str(f->heap, d, STR("tool_calls"), copy, err))) return false;
    if (!copy_parts(f, d, parts, copy, err) || !push(f, d)) return false;
    weigh_items(f, value_from_object(d));
    return true;
}

/* The message without media, then these parts. */
static bool add_media(Frame *f, Dict *d, const List *media, Error *err) {
    List *parts;
    if (!media || media->n == 0) return true;
    if (!parts_of(f->heap, value_from_object(d), &parts, err)) return false;
    for (uint32_t i = 0; i < media->n; i++) {
        Value copy;
        if (!value_copy_all_into(f->heap, media->at[i], &copy, err) || !list_push(f->heap, parts, copy, err)) return false;
    }
    return dict_put_str(f->heap, d, STR("parts"), value_from_object(parts), err);
}

bool frame_push_user(Frame *f, Str text, Str extra, const List *media, Error *err) {
    Buf whole = { 0 };
    if (extra.n) buf_add_fmt(&whole, STR_FMT "\n\n" STR_FMT, STR_ARG(text), STR_ARG(extra)), text = buf_str(&whole);
    Dict *d = message(f, ROLE_USER, text, err);
    buf_clear(&whole);
    return d && add_media(f, d, media, err) && push(f, d);
}

void frame_keep_items(Frame *f, const Items *row) {
    Items kept = *row;
    kept.origin = arena_str(&f->arena, row->origin);
    kept.list = arena_str(&f->arena, row->list);
    kept.ids = ARENA_ARRAY(&f->arena, Str, row->n_ids + 1);
    for (size_t i = 0; i < row->n_ids; i++) kept.ids[i] = arena_str(&f->arena, row->ids[i]);
    VEC_PUSH(&f->items, kept);
}

bool frame_push_result(Frame *f, Str id, Str text, bool is_error, Str artifact, const List *media, Error *err) {
    Dict *d = message(f, ROLE_TOOL, text, err);
    if (!d || !put_text(f, d, "tool_call_id", id, err)) return false;
    if (is_error && !dict_put_str(f->heap, d, STR("is_error"), VALUE_TRUE, err)) return false;
    if (artifact.n && !put_text(f, d, "artifact", artifact, err)) return false;
    return add_media(f, d, media, err) && push(f, d);
}

bool frame_forget(Frame *f, Str summary, Error *err) {
    Buf text = { 0 };
    history_cut(&f->history, 0);
    f->history.from = f->history.plain = 0;
    f->starts.n = 0;
    f->summary_of = 0;
    buf_reset(&f->summary);
    if (summary.n) buf_add_fmt(&text, "[summary of the conversation so far] " STR_FMT, STR_ARG(summary));
    bool ok = text.n == 0 || frame_push(f, ROLE_USER, buf_str(&text), err);
    buf_clear(&text);
    return ok;
}

/* ---- names ---- */

const AgentDef *frame_find_agent(Session *s, Str name) {
    const AgentDef *found = project_agent(runtime_project(s->agents->rt), name);
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; !found && i < s->made.n; i++)
        if (str_eq(s->made.at[i]->name, name)) found = s->made.at[i];
    pthread_mutex_unlock(&s->lock);
    return found;
}

static bool id_used(const Session *s, Str id, bool again) { return table_has(&s->ids, id) || (!again && journal_has(s, id)); }

/* A model may reuse call ids in every reply: remembers the last number, so that earlier ones are not tried again. */
static int *last_number(Session *s, Str wanted) {
    int *last = table_get(&s->numbers, wanted);
    if (last) return last;
    last = ARENA_NEW(&s->arena, int);
    *last = 1;
    table_put(&s->numbers, arena_str(&s->arena, wanted), last);
    return last;
}

Str frame_fresh_id(Session *s, Str wanted, bool again) {
    pthread_mutex_lock(&s->lock);
    Buf id = { 0 };
    buf_add(&id, wanted);
    for (int *last = NULL; id_used(s, buf_str(&id), again);) {
        if (!last) last = last_number(s, wanted);
        buf_reset(&id);
        buf_add_fmt(&id, STR_FMT "_%d", STR_ARG(wanted), ++*last);
    }
    Str kept = arena_str(&s->arena, buf_str(&id));
    table_put(&s->ids, kept, s);
    pthread_mutex_unlock(&s->lock);
    buf_clear(&id);
    return kept;
}

Str frame_hook_id(Frame *f, Str wanted, Str agent) {
    Str id = journal_open_delegation(f, wanted, agent);
    bool free = false;
    pthread_mutex_lock(&f->s->lock);
    if (id.n && (free = !table_has(&f->s->ids, id))) table_put(&f->s->ids, id, f->s);
    pthread_mutex_unlock(&f->s->lock);
    return free ? id : frame_fresh_id(f->s, wanted, false);
}
