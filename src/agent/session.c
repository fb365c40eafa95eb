#include "agent/session.h"
#include <stdio.h>
#include <stdlib.h>
#include "agent/agents_md.h"
#include "agent/context.h"
#include "agent/delegate.h"
#include "agent/journal.h"
#include "base/mem.h"
#include "model/request.h"

/* ---- shared by all sessions ---- */

static void add_secret(void *ctx, Str value) { redact_add_value(ctx, value); }
static void hide_secrets(void *ctx, Buf *text) { redact_text(ctx, text); }

bool agent_set_new(Runtime *rt, const AgentsConfig *config, Agents **out, Error *err) {
    Agents *a = mem_zero(1, sizeof *a);
    a->rt = rt;
    a->config = *config;
    pthread_mutex_init(&a->lock, NULL);
    a->heap = heap_new(0);
    const char *offline = getenv("HARNESS_OFFLINE");
    a->env = (ModelEnv){ .client = runtime_client(rt), .workers = runtime_workers(rt), .log = runtime_log(rt), .secret = add_secret,
                         .redact = hide_secrets, .secret_ctx = runtime_redactor(rt), .offline = offline && *offline && strcmp(offline, "0") != 0 };
    if (!delegate_register(a, err)) {
        agent_set_free(a);
        return false;
    }
    runtime_extend(rt, &delegate_host_calls, a);
    *out = a;
    return true;
}

void agent_set_free(Agents *a) {
    if (!a) return;
    for (size_t i = 0; i < a->models.n; i++) model_free(a->models.at[i].model);
    VEC_CLEAR(&a->models);
    VEC_CLEAR(&a->texts);
    for (size_t i = 0; i < a->schemas.n; i++) schema_free(a->schemas.at[i]);
    VEC_CLEAR(&a->schemas);
    if (a->heap) heap_free(a->heap);
    pthread_mutex_destroy(&a->lock);
    arena_clear(&a->arena);
    free(a);
}

/* ---- opening ---- */

/* Without harness.md, the agent of a space is the top-level agent. */
static const AgentDef *first_agent(const Project *p, Str name) {
    if (name.n) return project_agent(p, name);
    return p->settings.file.n ? NULL : project_space_agent(p);
}

static bool open_top(Session *s, Error *err) {
    Agents *a = s->agents;
    const Project *p = runtime_project(a->rt);
    const AgentDef *def = first_agent(p, s->config.agent);
    if (!def && s->config.agent.n) {
        error_set(err, ERR_CONFIG, "agent \"" STR_FMT "\" is not defined", STR_ARG(s->config.agent));
        return error_hint(err, "list agents with: harness agents");
    }
    Frame *f = s->top = frame_new(s, NULL, def, STR(""));
    Str name = a->config.model.n ? a->config.model : def ? def->model : STR("");
    Str provider = def && a->config.model.n == 0 ? def->provider : STR("");
    if (s->config.look) return agent_model_def(a, name, provider, &f->model_def, err) || a->config.model.n == 0;
    return agent_model_of(a, name, provider, NULL, &f->model, &f->model_def, err);
}

static void free_session(Session *s) {
    frame_release(s->top);
    journal_free(s->journal);
    for (size_t i = 0; i < s->made.n; i++) free(s->made.at[i]);
    VEC_CLEAR(&s->made);
    VEC_CLEAR(&s->frames);
    table_clear(&s->ids);
    table_clear(&s->numbers);
    pthread_mutex_destroy(&s->lock);
    arena_clear(&s->arena);
    buf_clear(&s->agents_md);
    free(s);
}

static Session *new_session(Agents *a, const SessionConfig *config) {
    Session *s = mem_zero(1, sizeof *s);
    s->agents = a;
    s->config = *config;
    s->config.agent = arena_str(&s->arena, config->agent);
    pthread_mutex_init(&s->lock, NULL);
    agents_md_read(runtime_project(a->rt), &s->agents_md);
    return s;
}

bool session_open(Agents *a, const SessionConfig *config, const RunConfig *run_config, bool resume, Session **out, Error *err) {
    Session *s = new_session(a, config);
    RunConfig rc = *run_config;
    rc.user = s;
    rc.agent = s->config.agent;
    rc.resume = resume;
    /* The model first: a run that cannot start leaves no trace in the store. */
    if (!open_top(s, err) || !run_start(a->rt, &rc, &s->run, err)) {
        free_session(s);
        return false;
    }
    bool ok = true;
    if (resume) {
        s->started = true;
        ok = journal_read(s, err) && journal_restore(s, err) && journal_rebuild(s->top, &s->unfinished, &s->pending, err);
    }
    if (!ok) {
        s->started = false;                                  /* a later attempt may start it */
        s->status = RUN_INTERRUPTED;
        session_close(s, NULL);
        return false;
    }
    *out = s;
    return true;
}

bool session_attach(Agents *a, const SessionConfig *config, Run *run, Session **out, Error *err) {
    Session *s = new_session(a, config);
    s->run = run;
    if (!open_top(s, err)) {
        free_session(s);
        return false;
    }
    *out = s;
    return true;
}

void session_detach(Session *s) { free_session(s); }

/* ---- messages ---- */

/* The reason from a hook or model is displayed, so it is redacted. */
static void note_status(Session *s, SessionReply *r) {
    s->status = r->status ? r->status : RUN_FAILED;
    redact_chars(runtime_redactor(s->agents->rt), r->reason, sizeof r->reason);
}

bool session_attach_media(Session *s, Str bytes, Str name, Error *err) {
    Frame *f = s->top;
    const char *mime = parts_media_type(bytes);
    Value part;
    if (!mime) return error_set(err, ERR_VALIDATION, STR_FMT ": models take PNG, JPEG, GIF and WebP images and PDFs", STR_ARG(name));
    if (!parts_media(f->heap, bytes, str_from(mime), name, &part, err)) return error_wrap(err, STR_FMT, STR_ARG(name));
    if (!f->attached && !(f->attached = list_new(f->heap, 1, err))) return false;
    return list_push(f->heap, f->attached, part, err);
}

bool session_say(Session *s, Str text, Cancel *cancel, SessionReply *out, Error *err) {
    s->unfinished = false;
    bool ok = frame_answer(s->top, text, cancel, out, err);
    if (ok) note_status(s, out);
    return ok;
}

bool session_unfinished(const Session *s) { return s->unfinished; }

bool session_go_on(Session *s, Cancel *cancel, SessionReply *out, Error *err) {
    bool unfinished = s->unfinished;
    s->unfinished = false;
    bool ok = frame_go_on(s->top, unfinished, s->pending, cancel, out, err);
    s->pending = VALUE_GONE;
    if (ok) note_status(s, out);
    return ok;
}

bool session_close(Session *s, Error *err) {
    if (!s) return true;
    bool ok = true;
    Frame *f = s->top;
    if (s->started && frame_hooked(f, HOOK_SESSION_END)) {
        Heap *h = heap_new((size_t)16 << 20);
        Dict *d = dict_new(h, 2, NULL);
        String *run = string_new(h, run_id(s->run), NULL);
        HookOutcome o;
        dict_put_str(h, d, STR("run"), value_from_object(run), NULL);
        frame_ask(f, HOOK_SESSION_END, h, value_from_object(d), NULL, &o);
        heap_free(h);
    }
    Buf usage = { 0 };
    model_usage_write(&s->usage, &usage);
    run_note_usage(s->run, buf_str(&usage));
    buf_clear(&usage);
    ok = run_end(s->run, s->status ? s->status : RUN_COMPLETED, err);
    free_session(s);
    return ok;
}

bool session_pause(Session *s, Error *err) {
    s->started = false;
    return session_close(s, err);
}

bool session_hand_back(Session *s, Error *err) {
    bool ok = run_hand_back(s->run, err);
    free_session(s);
    return ok;
}

bool session_park(Session *s, Error *err) {
    bool ok = run_park(s->run, err);
    free_session(s);
    return ok;
}

void session_note_status(Session *s, RunStatus status) { s->status = status; }

/* ---- inspection ---- */

Run *session_run(Session *s) { return s->run; }
size_t session_message_count(const Session *s) { return s->top->history.n; }
Value session_message(const Session *s, size_t i) { return s->top->history.at[i].value; }
Str session_model_name(const Session *s) { return s->top->model_def.name; }

ModelUsage session_usage(Session *s) {
    pthread_mutex_lock(&s->lock);
    ModelUsage u = s->usage;
    pthread_mutex_unlock(&s->lock);
    return u;
}

void session_reply_clear(SessionReply *r) {
    buf_clear(&r->text);
    *r = (SessionReply){ 0 };
}

bool session_tools(Session *s, Heap *heap, List **out, Error *err) { return frame_tools(s->top, heap, out, err); }

const char *session_part_name(SessionPartKind k) {
    static const char *const names[] = { [PART_SYSTEM] = "system", [PART_TOOL] = "tool", [PART_MESSAGE] = "message" };
    return names[k];
}

bool session_parts(Session *s, void (*each)(void *ctx, const SessionPart *part), void *ctx, Error *err) {
    Heap *h = heap_new((size_t)256 << 20);
    Buf text = { 0 };
    List *tools;
    bool ok = frame_prompt(s->top, &text, err) && frame_tools(s->top, h, &tools, err);
    if (ok) each(ctx, &(SessionPart){ .what = PART_SYSTEM, .name = s->top->name, .tokens = context_tokens(buf_str(&text)), .text = buf_str(&text) });
    for (uint32_t i = 0; ok && i < tools->n; i++) {
        buf_reset(&text);
        ok = json_write(&text, tools->at[i], NULL, err);
        if (ok) each(ctx, &(SessionPart){ .what = PART_TOOL, .name = value_member_text(tools->at[i], "name"),
                                          .tokens = context_tokens(buf_str(&text)), .text = buf_str(&text) });
    }
    for (size_t i = 0; ok && i < s->top->history.n; i++) {
        const ContextMessage *m = &s->top->history.at[i];
        each(ctx, &(SessionPart){ .what = PART_MESSAGE, .name = value_member_text(m->value, "role"), .tokens = m->tokens,
                                  .text = value_member_text(m->value, "content") });
    }
    buf_clear(&text);
    heap_free(h);
    return ok;
}
