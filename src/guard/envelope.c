/* Reads the envelope that an agent sends to its hooks. Ignores unknown fields; requires those that the verdict depends on. */
#include "guard/guard.h"
#include "value/json.h"
#include "value/list.h"

/* ---- tables ---- */

const GuardVendor *guard_vendor(Vendor v) {
    static const GuardVendor rows[VENDOR_COUNT] = {
#define GUARD_VENDOR(id, project, user, managed, format, key, unit, closed, variable, install) \
    [VENDOR_##id] = { project, user, managed, GUARD_FORMAT_##format, key, unit, closed, variable, install },
#include "guard/vendors.def"
#undef GUARD_VENDOR
    };
    return v > VENDOR_HARNESS && v < VENDOR_COUNT ? &rows[v] : NULL;
}

typedef struct EventRow { Vendor vendor; const char *name; GuardEvent event; } EventRow;
static const EventRow event_rows[] = {
#define GUARD_EVENT(vendor, name, event) { VENDOR_##vendor, name, GUARD_EVENT_##event },
#include "guard/events.def"
#undef GUARD_EVENT
};
enum { EVENT_ROWS = sizeof event_rows / sizeof *event_rows };

GuardEvent guard_event_find(Vendor v, Str name) {
    for (size_t i = 0; i < EVENT_ROWS; i++)
        if (event_rows[i].vendor == v && str_eq(name, str_from(event_rows[i].name))) return event_rows[i].event;
    return GUARD_EVENT_UNKNOWN;
}

bool guard_event_calls(GuardEvent e) {
    return e == GUARD_EVENT_UNKNOWN || e == GUARD_EVENT_CALL || e == GUARD_EVENT_PERMISSION || e >= GUARD_EVENT_SHELL;
}

/* ---- whose is it? ---- */

static bool has(Value v, const char *key) {
    Value m = value_member(v, key);
    return !value_is_gone(m) && !value_is_none(m);
}

/* Unsupported agents, recognised by a field that only they send. */
static const char *foreign(Value v) {
    if (has(v, "toolCall") || has(v, "conversationId")) return "Antigravity";
    if (has(v, "clineVersion") || has(v, "preToolUse")) return "Cline";
    if (has(v, "workspaceRoot") && has(v, "hookEventName")) return "Grok Build";
    if (has(v, "matcher_context") || has(v, "working_dir")) return "Goose";
    return NULL;
}

static bool is_gemini(Str event) {
    return guard_event_find(VENDOR_GEMINI, event) != GUARD_EVENT_UNKNOWN && guard_event_find(VENDOR_CLAUDE, event) == GUARD_EVENT_UNKNOWN;
}

/* For an envelope in Claude's format: VENDOR_BITs of the agents that could have sent it. */
static uint32_t claude_form(Value v) {
    bool turn = has(v, "turn_id"), model = has(v, "model"), transcript = has(v, "transcript_path"), mode = has(v, "permission_mode");
    if (turn && model) return VENDOR_BIT(VENDOR_CODEX);
    if (has(v, "timestamp")) {
        uint32_t bits = VENDOR_BIT(VENDOR_QWEN) | VENDOR_BIT(VENDOR_GEMINI);
        if (!mode) bits |= VENDOR_BIT(VENDOR_VSCODE);
        if (!mode && !transcript && !has(v, "tool_use_id")) bits |= VENDOR_BIT(VENDOR_COPILOT);
        return bits;
    }
    if (has(v, "client_type") || has(v, "session_title")) return VENDOR_BIT(VENDOR_KIMI);
    uint32_t bits = VENDOR_BIT(VENDOR_CLAUDE);
    if (turn || model) bits |= VENDOR_BIT(VENDOR_CODEX);
    if (!transcript && !mode) bits |= VENDOR_BIT(VENDOR_KIMI);
    return bits;
}

static uint32_t possible(Value v, Str event) {
    if (has(v, "cursor_version")) return VENDOR_BIT(VENDOR_CURSOR);
    if (has(v, "sessionId")) return VENDOR_BIT(VENDOR_COPILOT);
    if (str_starts(event, STR("tool.execute.")) || has(v, "callID")) return VENDOR_BIT(VENDOR_OPENCODE);
    if (is_gemini(event)) return VENDOR_BIT(VENDOR_GEMINI);
    return claude_form(v);
}

/* The most likely vendor. Tool names differ most between vendors, so a name in a vendor's table decides. */
static Vendor likely(Value v, uint32_t bits) {
    bool mode = has(v, "permission_mode");
    if ((bits & VENDOR_BIT(VENDOR_KIMI)) && (has(v, "tool_call_id") || !has(v, "transcript_path")) && !mode) return VENDOR_KIMI;
    if (bits & VENDOR_BIT(VENDOR_CLAUDE)) return VENDOR_CLAUDE;
    if (bits & VENDOR_BIT(VENDOR_COPILOT)) return VENDOR_COPILOT;
    if (bits & VENDOR_BIT(VENDOR_VSCODE)) return VENDOR_VSCODE;
    for (int i = VENDOR_HARNESS + 1; i < VENDOR_COUNT; i++)
        if (bits == VENDOR_BIT(i)) return (Vendor)i;
    return VENDOR_QWEN;
}

static bool detect(Value v, Vendor said, Str event, GuardEnvelope *out, Error *err) {
    const char *other = foreign(v);
    uint32_t bits = possible(v, event);
    if (other) {
        out->mismatch = true;
        return error_set(err, ERR_PROTOCOL, "this is a hook of %s, which harness guard does not support", other);
    }
    out->mismatch = said != VENDOR_HARNESS && !(bits & VENDOR_BIT(said));
    out->vendor = said != VENDOR_HARNESS && !out->mismatch ? said : likely(v, bits);
    out->camel = has(v, "sessionId");
    return true;
}

/* ---- fields ---- */

static Str text(Value v, const char *a, const char *b) {
    Str s = value_member_text(v, a);
    return s.n || !b ? s : value_member_text(v, b);
}

static Value member(Value v, const char *a, const char *b) {
    Value m = value_member(v, a);
    if (value_is_none(m)) m = VALUE_GONE;
    if (!value_is_gone(m) || !b) return m;
    m = value_member(v, b);
    return value_is_none(m) ? VALUE_GONE : m;
}

/* Copilot does not name its events. */
static Str copilot_event(Value v) {
    if (has(v, "toolName")) return has(v, "toolResult") ? STR("postToolUse") : STR("preToolUse");
    if (has(v, "prompt")) return STR("userPromptSubmitted");
    return has(v, "stopReason") || has(v, "transcriptPath") ? STR("agentStop") : STR("");
}

/* An object, or the text of one: older versions of Copilot, and Cursor's beforeMCPExecution. */
static bool object_of(Value v, Heap *heap, Value *out, Error *err) {
    *out = v;
    if (!value_is_string(v)) return true;
    if (value_str(v).n == 0) return *out = VALUE_GONE, true;
    return json_read(heap, value_str(v), &(JsonRead){ 0 }, out, err);
}

/* Cursor's events for one kind of call have the arguments as top-level fields. */
static void take_top(GuardEnvelope *e, Value v) {
    static const char *const names[] = { [GUARD_EVENT_SHELL] = "Shell", [GUARD_EVENT_READ] = "Read", [GUARD_EVENT_AGENT] = "Task" };
    if (e->event != GUARD_EVENT_SHELL && e->event != GUARD_EVENT_READ && e->event != GUARD_EVENT_AGENT) return;
    e->tool = str_from(names[e->event]);
    e->input = v;
}

static bool is_one_of(Str s, const char *const *names) {
    for (; *names; names++)
        if (str_eq(s, str_from(*names))) return true;
    return false;
}

/* Only modes in which the agent is known to ask its user. */
static bool is_attended(const GuardEnvelope *e) {
    static const char *const known[] = { "default", "acceptEdits", "plan", "auto_edit", "", NULL };
    return is_one_of(e->mode, known);
}

static Value first_value(Value v, const char *const *keys) {
    for (; *keys; keys++)
        if (has(v, *keys)) return value_member(v, *keys);
    return VALUE_GONE;
}

static bool truth(Value v, const char *key) {
    Value m = value_member(v, key);
    return value_is_bool(m) && value_bool(m);
}

static bool loops(Value v) {
    Value m = value_member(v, "loop_count");
    return !value_is_gone(m) && value_is_small(m) && value_small(m) > 0;
}

static bool take_input(GuardEnvelope *e, Value v, Heap *heap, Error *err) {
    static const char *const inputs[] = { "tool_input", "toolArgs", "args", NULL };
    if (!object_of(first_value(v, inputs), heap, &e->input, err)) return error_wrap(err, "the arguments of the call");
    take_top(e, v);
    if (!guard_event_calls(e->event)) return true;
    if (!e->tool.n) return error_set(err, ERR_PROTOCOL, "the envelope names no tool");
    if (!value_is_gone(e->input) && !value_is_dict(e->input)) return error_set(err, ERR_PROTOCOL, "the arguments of the call are not an object");
    return true;
}

static void take_fields(GuardEnvelope *e, Value v) {
    static const char *const results[] = { "tool_response", "toolResult", "tool_output", NULL };
    e->session = text(v, "session_id", "sessionId");
    if (!e->session.n) e->session = text(v, "conversation_id", "sessionID");
    e->call_id = text(v, "tool_use_id", "tool_call_id");
    if (!e->call_id.n) e->call_id = text(v, "callID", "toolCallId");
    e->cwd = text(v, "cwd", NULL);
    e->mode = text(v, "permission_mode", NULL);
    e->tool = text(v, "tool_name", "toolName");
    if (!e->tool.n) e->tool = text(v, "tool", NULL);
    e->server = text(v, "mcp_server_name", "mcp_server");
    if (!e->server.n) e->server = text(member(v, "mcp_context", NULL), "server_name", "serverName");
    if (!e->server.n) e->server = text(member(v, "mcp_server", NULL), "name", NULL);
    e->prompt = e->event == GUARD_EVENT_STOP ? text(v, "last_assistant_message", "prompt_response") : text(v, "prompt", NULL);
    e->result = first_value(v, results);
    e->roots = member(v, "workspace_roots", NULL);
    e->stop_active = truth(v, "stop_hook_active") || loops(v);
    e->attended = is_attended(e);
}

bool guard_envelope_read(Str input, Vendor said, Str event, Heap *heap, GuardEnvelope *out, Error *err) {
    Value v = VALUE_GONE;
    *out = (GuardEnvelope){ .vendor = said, .event_name = event, .input = VALUE_GONE, .result = VALUE_GONE, .roots = VALUE_GONE, .whole = VALUE_GONE };
    if (said != VENDOR_HARNESS && event.n) out->event = guard_event_find(said, event);
    if (str_trim(input).n == 0) return error_set(err, ERR_PROTOCOL, "standard input is empty: the agent sent no envelope");
    if (input.n > GUARD_INPUT_MAX) return error_set(err, ERR_LIMIT, "the envelope is longer than %d bytes", GUARD_INPUT_MAX);
    if (!json_read(heap, input, &(JsonRead){ 0 }, &v, err)) {
        if (err) err->line = err->column = 0;            /* the message includes the line already */
        return error_wrap(err, "the envelope");
    }
    if (!value_is_dict(v)) return error_set(err, ERR_PROTOCOL, "the envelope is not an object");
    out->whole = v;
    Str name = text(v, "hook_event_name", "hookEventName");
    if (!detect(v, said, name.n ? name : event, out, err)) return false;
    if (!name.n && out->camel) name = event.n ? event : copilot_event(v);
    out->event_name = name.n ? name : event;
    out->event = guard_event_find(out->vendor, out->event_name);
    take_fields(out, v);
    if (out->event == GUARD_EVENT_UNKNOWN)
        return error_set(err, ERR_PROTOCOL, "%s: unknown event \"" STR_FMT "\"", vendor_title(out->vendor), STR_ARG(str_sub(out->event_name, 0, 80)));
    return take_input(out, v, heap, err);
}
