#include "agent/journal.h"
#include <stdlib.h>
#include "agent/delegate.h"
#include "base/mem.h"
#include "base/table.h"
#include "model/request.h"
#include "value/json.h"

typedef struct JournalEntry { EventType type; DefinitionKind defines; /* DEFINITION_COUNT: nothing */ Str parent; Value data; } JournalEntry;

struct Journal {
    Heap *heap;
    Arena arena;
    VEC(JournalEntry) entries;
    Table calls;                         /* id → JournalCall; includes delegations by hooks */
    uint64_t last;
};

/* ---- reading ---- */

static JournalCall *known(Journal *j, Str id) {
    JournalCall *c = table_get(&j->calls, id);
    if (!c) {
        c = ARENA_ARRAY(&j->arena, JournalCall, 1);
        *c = (JournalCall){ 0 };
        table_put(&j->calls, arena_str(&j->arena, id), c);
    }
    return c;
}

/* The result as the model saw it: a string unchanged, else compact JSON; for a refusal its message. */
static Str result_text(Journal *j, Value data) {
    Value value = value_member(data, "value"), text = value_member(data, "text");
    if (value_is_string(text)) return value_str(text);
    if (value_is_string(value)) return value_str(value);
    Buf out = { 0 };
    if (value_is_gone(value)) {
        Str message = value_member_text(data, value_member_text(data, "error").n ? "error" : "message");
        buf_add_char(&out, '{');
        request_string(&out, "error", message);
        buf_add_char(&out, '}');
    } else {
        json_write(&out, value, NULL, NULL);
    }
    Str kept = arena_str(&j->arena, buf_str(&out));
    buf_clear(&out);
    return kept;
}

static void note_end(Journal *j, Value data, bool is_error) {
    JournalCall *c = known(j, value_member_text(data, "id"));
    Value artifacts = value_member(data, "artifacts");
    c->state = JOURNAL_DONE;
    c->is_error = is_error;
    c->text = result_text(j, data);
    c->media = value_member(data, "media");
    c->changed = c->changed || value_is_dict(value_member(data, "change"));
    if (value_is_list(artifacts) && value_list(artifacts)->n && value_is_string(value_list(artifacts)->at[0]))
        c->artifact = value_str(value_list(artifacts)->at[0]);
}

/* True if tool.executing marked the call as not repeatable. Journals of older versions lack the mark. */
static bool says_once(Value data) {
    Value repeatable = value_member(data, "repeatable");
    return !value_is_gone(repeatable) && !value_same(repeatable, VALUE_TRUE);
}

static void note_call(Journal *j, EventType type, Value data) {
    if (type == EVENT_TOOL_EXECUTING) {
        JournalCall *c = known(j, value_member_text(data, "id"));
        if (c->state != JOURNAL_DONE) c->state = JOURNAL_IN_FLIGHT;
        c->key = value_member_text(data, "idempotency_key");
        c->once = c->once || says_once(data);
    } else if (type == EVENT_TOOL_COMPLETED) {
        note_end(j, data, false);
    } else if (type == EVENT_TOOL_FAILED || type == EVENT_TOOL_REFUSED) {
        note_end(j, data, true);
    } else if (type == EVENT_DELEGATION_STARTED) {
        known(j, value_member_text(data, "id"));
    } else if (type == EVENT_COMPLETION_COMPLETED) {
        const List *calls = request_list(data, "tool_calls");
        for (uint32_t i = 0; calls && i < calls->n; i++) known(j, value_member_text(calls->at[i], "id"));
    }
}

static double number(Value v) { return value_is_float(v) ? value_float(v) : value_is_small(v) ? (double)value_small(v) : 0; }

static void add_usage(ModelUsage *sum, Value data) {
    Value usage = value_member(data, "usage");
    sum->input += request_int(usage, "input");
    sum->output += request_int(usage, "output");
    sum->cached += request_int(usage, "cached");
    sum->written += request_int(usage, "written");
    sum->reasoning += request_int(usage, "reasoning");
    sum->usd += number(value_member(usage, "usd"));
}

/* Usage of the run so far, including sub-agents: limits apply to the run, not to one process of it. */
static void add_up(Session *s, const Journal *j) {
    int64_t calls = 0;
    for (size_t i = 0; i < j->entries.n; i++) {
        const JournalEntry *e = &j->entries.at[i];
        if (e->type == EVENT_COMPLETION_COMPLETED) {
            add_usage(&s->usage, e->data);
            s->turns += e->parent.n == 0;
        }
    }
    for (size_t i = 0; i < j->calls.n; i++) calls += ((const JournalCall *)j->calls.entry[i].value)->state == JOURNAL_DONE;
    run_add_calls(s->run, calls);
    run_add_replies(s->run, s->turns);
    run_add_usage(s->run, s->usage.input + s->usage.output, s->usage.usd);
}

typedef struct Reading { Journal *j; Error *err; bool ok; } Reading;

static DefinitionKind defined_by(Str type) {
    int k = 0;
    while (k < DEFINITION_COUNT && !str_eq(type, str_from(project_definition((DefinitionKind)k)->event))) k++;
    return (DefinitionKind)k;
}

static bool on_event(void *ctx, const Event *e) {
    Reading *r = ctx;
    Journal *j = r->j;
    JournalEntry entry = { .type = event_type_find(e->type), .defines = defined_by(e->type), .parent = arena_str(&j->arena, e->parent) };
    if (!(r->ok = json_read(j->heap, e->data, NULL, &entry.data, r->err))) return false;
    VEC_PUSH(&j->entries, entry);
    note_call(j, entry.type, entry.data);
    j->last = e->seq;
    return true;
}

bool journal_read(Session *s, Error *err) {
    Store *store = runtime_store(s->agents->rt, err);
    if (!store) return error_set(err, ERR_CONFIG, "resuming needs a store");
    Journal *j = mem_zero(1, sizeof *j);
    s->journal = j;
    j->heap = heap_new(0);
    Reading r = { .j = j, .err = err, .ok = true };
    if (!store_event_each(store, run_id(s->run), 0, on_event, &r, err)) return false;
    if (!r.ok) return error_wrap(err, "read the journal");
    add_up(s, j);
    return true;
}

void journal_free(Journal *j) {
    if (!j) return;
    heap_free(j->heap);
    arena_clear(&j->arena);
    VEC_CLEAR(&j->entries);
    table_clear(&j->calls);
    free(j);
}

JournalCall journal_call(const Session *s, Str id) {
    const JournalCall *c = s->journal ? table_get(&s->journal->calls, id) : NULL;
    return c ? *c : (JournalCall){ 0 };
}

/* A nested call starts after the outer one, so the search continues after the outer one's event; that also bounds the
 * recursion. */
static bool nested_may(const Frame *f, Str id, size_t from, bool (*may)(const Frame *f, Str name)) {
    const Journal *j = f->s->journal;
    for (size_t i = from; j && i < j->entries.n; i++) {
        const JournalEntry *e = &j->entries.at[i];
        if (!str_eq(e->parent, id) || e->type != EVENT_TOOL_EXECUTING) continue;
        Str nested = value_member_text(e->data, "id");
        if (says_once(e->data) || !may(f, value_member_text(e->data, "name")) || !nested_may(f, nested, i + 1, may)) return false;
    }
    return true;
}

bool journal_nested_may_repeat(const Frame *f, Str id, bool (*may)(const Frame *f, Str name)) { return nested_may(f, id, 0, may); }

bool journal_has(const Session *s, Str id) { return s->journal && table_has(&s->journal->calls, id); }

/* Events that belong to a frame's delegation or the hook that requested it. */
static bool beside(EventType type) {
    switch (type) {
    case EVENT_DELEGATION_STARTED: case EVENT_DELEGATION_COMPLETED: case EVENT_DELEGATION_FAILED: case EVENT_HOOK_DECIDED: case EVENT_LOG:
    case EVENT_RUN_STARTED: case EVENT_RUN_RESUMED: case EVENT_RUN_WORKSPACE: case EVENT_RUN_ENDED: return true;
    default: return false;
    }
}

Str journal_open_delegation(const Frame *f, Str prefix, Str agent) {
    const Journal *j = f->s->journal;
    for (size_t i = j ? j->entries.n : 0; i-- > 0;) {
        const JournalEntry *e = &j->entries.at[i];
        if (!str_eq(e->parent, f->id)) continue;
        if (!beside(e->type)) break;
        Str id = value_member_text(e->data, "id");
        if (e->type == EVENT_DELEGATION_STARTED && str_starts(id, prefix) && str_eq(value_member_text(e->data, "agent"), agent)) return id;
    }
    return STR("");
}

/* ---- definitions registered at run time ---- */

static bool tell_lost(Session *s, DefinitionKind kind, Str name, const Error *why, Error *err) {
    Buf data = { 0 }, text = { 0 };
    buf_add_fmt(&text, "%s \"" STR_FMT "\", which this run had registered, is no longer available: %s", project_definition(kind)->kind,
        STR_ARG(name), why->msg);
    redact_text(runtime_redactor(s->agents->rt), &text);
    LOG_WRITE(runtime_log(s->agents->rt), LOG_WARN, STR_FMT, STR_ARG(buf_str(&text)));
    event_data_start(&data);
    event_data_str(&data, "level", STR("warn"));
    event_data_str(&data, "message", buf_str(&text));
    event_data_str(&data, "source", STR(""));
    event_data_end(&data);
    bool ok = frame_event(s->top, EVENT_LOG, &data, err);
    buf_clear(&data);
    buf_clear(&text);
    return ok;
}

static bool restore(Session *s, DefinitionKind kind, Value data, Error *err) {
    Value definition = value_member(data, "definition"), redacted = value_member(data, "redacted");
    if (value_is_bool(redacted) && value_bool(redacted)) return error_set(err, ERR_POLICY, "its definition contained a secret, which is not stored");
    return kind == DEFINITION_AGENT ? delegate_restore_agent(s, definition, err) : run_meta_restore(s->run, kind, definition, err);
}

bool journal_restore(Session *s, Error *err) {
    for (size_t i = 0; i < s->journal->entries.n; i++) {
        const JournalEntry *e = &s->journal->entries.at[i];
        Str name = value_member_text(e->data, "name");
        Error why = { 0 };
        if (e->defines == DEFINITION_COUNT || restore(s, e->defines, e->data, &why)) continue;
        if (e->defines == DEFINITION_HOOK) return error_set(err, why.kind,
            "hook \"" STR_FMT "\", which this run had registered, cannot be registered again: %s", STR_ARG(name), why.msg);
        if (!tell_lost(s, e->defines, name, &why, err)) return false;
    }
    return true;
}

/* ---- rebuilding ---- */

/* The images and PDFs of a message. Adds a line to `text` for those that were not stored. */
static bool find_media(Frame *f, Value named, Buf *text, List **out, Error *err) {
    uint32_t lost = 0;
    if (!run_media_get(f->s->run, named, f->heap, out, &lost, err)) return false;
    if (lost) buf_add_fmt(text, "%s[%u image%s or file%s of this message %s not kept]", text->n ? "\n" : "", lost, lost == 1 ? "" : "s",
        lost == 1 ? "" : "s", lost == 1 ? "was" : "were");
    return true;
}

bool journal_push_result(Frame *f, Str id, const JournalCall *c, Error *err) {
    List *media = NULL;
    Buf text = { 0 };
    buf_add(&text, c->text);
    bool ok = find_media(f, c->media, &text, &media, err) && frame_push_result(f, id, buf_str(&text), c->is_error, c->artifact, media, err);
    buf_clear(&text);
    return ok;
}

/* True if all calls of a reply have ended; then their results follow it. */
static bool push_known_results(Frame *f, const List *calls, bool *complete, Error *err) {
    *complete = true;
    for (uint32_t i = 0; i < calls->n; i++) {
        if (journal_call(f->s, value_member_text(calls->at[i], "id")).state != JOURNAL_DONE) *complete = false;
    }
    for (uint32_t i = 0; *complete && i < calls->n; i++) {
        Str id = value_member_text(calls->at[i], "id");
        JournalCall c = journal_call(f->s, id);
        if (!journal_push_result(f, id, &c, err)) return false;
    }
    return true;
}

/* Missing or damaged items are not an error: the reply is then sent in its neutral form. */
static bool rebuild_items(Frame *f, Str hash, Error *err) {
    Store *store = runtime_store(f->s->agents->rt, err);
    Buf scope = { 0 }, text = { 0 };
    Arena arena = { 0 };
    Items row;
    bool found = false;
    buf_add_fmt(&scope, "items:" STR_FMT, STR_ARG(run_id(f->s->run)));
    bool ok = store && store_note_get(store, buf_str(&scope), hash, &text, &found, err);
    if (ok && found && items_read(buf_str(&text), &arena, &row, NULL)) frame_keep_items(f, &row);
    arena_clear(&arena);
    buf_clear(&scope);
    buf_clear(&text);
    return ok;
}

/* Journals of older versions do not record parts; their items are stored under the hash of text and calls. */
static bool push_answer(Frame *f, Value data, Value calls, Error *err) {
    Value order = value_member(data, "parts");
    List *parts = NULL;
    Str text = value_member_text(data, "text");
    if (value_is_list(order) && !parts_read_order(f->heap, order, value_member_text(data, "reasoning"), text, calls, &parts, err)) return false;
    return frame_push_answer(f, text, calls, parts && !parts_are_plain(parts) ? value_from_object(parts) : VALUE_GONE, err);
}

static bool rebuild_answer(Frame *f, Value data, Value *pending, Error *err) {
    Value side = value_member(data, "side"), calls = value_member(data, "tool_calls");
    bool is_side = value_is_bool(side) && value_bool(side), complete = true;
    add_usage(&f->usage, data);
    if (is_side) return true;
    f->iterations++;
    Str items = value_member_text(data, "items");
    if (items.n && !rebuild_items(f, items, err)) return false;
    if (!push_answer(f, data, calls, err)) return false;
    if (!value_is_list(calls) || value_list(calls)->n == 0) return true;
    if (!push_known_results(f, value_list(calls), &complete, err)) return false;
    if (complete) f->tool_calls += value_list(calls)->n;     /* otherwise they are counted when they are made */
    else *pending = calls;
    return true;
}

/* Adds the results that abandoned calls got when the conversation continued. */
static bool give_up(Frame *f, Value *pending, Error *err) {
    const List *calls = value_is_list(*pending) ? value_list(*pending) : NULL;
    *pending = VALUE_GONE;
    for (uint32_t i = 0; calls && i < calls->n; i++) {
        Str id = value_member_text(calls->at[i], "id");
        JournalCall c = journal_call(f->s, id);
        bool done = c.state == JOURNAL_DONE;
        if (!(done ? journal_push_result(f, id, &c, err)
            : frame_push_result(f, id, STR("{\"error\":\"cancelled\"}"), true, c.artifact, NULL, err))) return false;
    }
    return true;
}

static bool rebuild_turn(Frame *f, Value data, Value *pending, Error *err) {
    if (!give_up(f, pending, err)) return false;
    f->turn = request_int(data, "turn");
    f->iterations = f->tool_calls = 0;
    f->usage = (ModelUsage){ 0 };
    VEC_PUSH(&f->starts, ((FrameStart){ (uint32_t)f->history.n, run_change_count(f->s->run) }));
    List *media = NULL;
    Buf text = { 0 };
    buf_add(&text, value_member_text(data, "text"));
    bool ok = find_media(f, value_member(data, "media"), &text, &media, err)
        && frame_push_user(f, buf_str(&text), value_member_text(data, "attached"), media, err);
    buf_clear(&text);
    return ok;
}

static bool rebuild_undo(Frame *f, Value data, Value *pending, Error *err) {
    int64_t n = request_int(data, "messages");
    if (!give_up(f, pending, err)) return false;
    history_cut(&f->history, n < 0 ? f->history.n : (size_t)n < f->history.n ? f->history.n - (size_t)n : 0);
    while (f->starts.n && VEC_LAST(&f->starts).message >= f->history.n) {
        if (f->depth == 0) run_change_cut(f->s->run, VEC_LAST(&f->starts).change);
        f->starts.n--;
    }
    return true;
}

/* Repeats /clear, and /compact with its summary. Unfinished calls are removed with all other messages. */
static bool rebuild_forgotten(Frame *f, Str summary, Value *pending, Error *err) {
    *pending = VALUE_GONE;
    return frame_forget(f, summary, err);
}

/* Repeats /model. Reports a model that can no longer be opened; --model takes precedence. */
static void rebuild_model(Frame *f, Str name) {
    Error why = { 0 };
    Agents *a = f->s->agents;
    Model *model;
    ModelDef def;
    if (f->depth > 0 || a->config.model.n) return;
    if (agent_model_of(a, name, STR(""), &f->model_def, &model, &def, &why)) f->model = model, f->model_def = def;
    else LOG_WRITE(runtime_log(a->rt), LOG_WARN, "the conversation used model " STR_FMT ", which cannot be opened: %s", STR_ARG(name), why.msg);
}

/* Files that an earlier process changed, by any agent of the run. A call without a `change` at its end may have been interrupted while it wrote. */
static bool rebuild_change(Frame *f, const JournalEntry *e, Error *err) {
    if (f->depth > 0) return true;
    Value change = value_member(e->data, "change");
    bool end = e->type == EVENT_TOOL_COMPLETED || e->type == EVENT_TOOL_FAILED;
    if (end && value_is_dict(change)) return run_change_restore(f->s->run, change), true;
    if (e->type != EVENT_TOOL_EXECUTING || journal_call(f->s, value_member_text(e->data, "id")).changed) return true;
    return run_change_intended(f->s->run, value_member_text(e->data, "id"), err);
}

static bool is_true(Value data, const char *key) { return value_same(value_member(data, key), VALUE_TRUE); }

/* Cuts the conversation as before, so that a resumed run sends the same request. */
static void rebuild_cut(Frame *f, Value data) {
    int64_t left = request_int(data, "left"), shortened = request_int(data, "shortened");
    if (left > 0 && (size_t)left <= f->history.n) f->history.from = (uint32_t)left;
    if (shortened > 0 && (size_t)shortened <= f->history.n) f->history.plain = (uint32_t)shortened;
}

bool journal_rebuild(Frame *f, bool *unfinished, Value *calls, Error *err) {
    const Journal *j = f->s->journal;
    *unfinished = false;
    *calls = VALUE_GONE;
    for (size_t i = 0; j && i < j->entries.n; i++) {
        const JournalEntry *e = &j->entries.at[i];
        if (!rebuild_change(f, e, err)) return false;
        if (!str_eq(e->parent, f->id)) continue;
        bool ok = true;
        if (e->type == EVENT_TURN_STARTED) {
            *unfinished = true;
            ok = rebuild_turn(f, e->data, calls, err);
        } else if (e->type == EVENT_TURN_MESSAGE) {
            run_note_message(f->s->run, request_int(e->data, "command"));
            ok = frame_push(f, request_role(e->data), value_member_text(e->data, "text"), err);
        } else if (e->type == EVENT_COMPLETION_STARTED) {
            rebuild_cut(f, e->data);
        } else if (e->type == EVENT_COMPLETION_COMPLETED) {
            ok = rebuild_answer(f, e->data, calls, err);
        } else if (e->type == EVENT_TURN_ENDED) {
            *unfinished = false;
        } else if (e->type == EVENT_TURN_UNDONE) {
            *unfinished = false;
            ok = rebuild_undo(f, e->data, calls, err);
        } else if (e->type == EVENT_CONVERSATION_CLEARED || e->type == EVENT_CONVERSATION_COMPACTED) {
            *unfinished = false;
            ok = rebuild_forgotten(f, value_member_text(e->data, "summary"), calls, err);
        } else if (e->type == EVENT_CONVERSATION_MODEL) {
            rebuild_model(f, value_member_text(e->data, "model"));
        } else if (e->type == EVENT_CONVERSATION_PLAN) {
            run_set_plan(f->s->run, is_true(e->data, "on"));
        }
        if (!ok) return false;
    }
    return true;
}
