/* Command hooks of spaces: /bin/sh -c in the space's root, in the sandbox.
 *
 * The input is JSON on stdin, {"tool", "input"}, for tool.post also "output" (and the same as "result") and "is_error".
 * The answer is the exit code and the JSON object on stdout: "block" with "message", "modified_input" before a call,
 * "modified_output" after it. The caller checks the protected files after a hook's program has run
 * (HookOutcome.commands). */
#include <ctype.h>
#include "base/vec.h"
#include "hook/ask.h"
#include "value/json.h"

enum { INPUT_ENV_MAX = 64 << 10 };

typedef struct Asked { Buf input, folder; VEC(char *) env; SandboxResult result; } Asked;

static void asked_clear(Asked *q) {
    for (size_t i = 0; i < q->env.n; i++) free(q->env.at[i]);
    VEC_CLEAR(&q->env);
    buf_clear(&q->input);
    buf_clear(&q->folder);
    sandbox_result_clear(&q->result);
}

static bool add_member(Buf *b, const char *name, Value payload, Str key, Error *err) {
    Value *v = dict_find_str(value_dict(payload), key);
    buf_add_fmt(b, "%c\"%s\":", b->n ? ',' : '{', name);
    return json_write(b, v ? *v : VALUE_NONE, &(JsonWrite){ 0 }, err);
}

static bool write_input(HookRun *r, Buf *b, Error *err) {
    Value p = r->held[HOOK_PAYLOAD];
    if (!add_member(b, "tool", p, STR("name"), err) || !add_member(b, "input", p, STR("args"), err)) return false;
    if (r->d->event == HOOK_TOOL_POST && (!add_member(b, "output", p, STR("result"), err) || !add_member(b, "result", p, STR("result"), err) ||
                                          !add_member(b, "is_error", p, STR("is_error"), err)))
        return false;
    buf_add_char(b, '}');
    return true;
}

static void add_env(Asked *q, const char *name, Str value) {
    Buf b = { 0 };
    buf_add_fmt(&b, "%s=", name);
    buf_add(&b, value);
    VEC_PUSH(&q->env, buf_take(&b));
}

/* Omits input that is too large, because truncated JSON would be misleading. */
static void fill_env(HookRun *r, const HookDef *def, Asked *q) {
    const HookDispatch *d = r->d;
    Value p = r->held[HOOK_PAYLOAD];
    Str id = d->call_id.n ? d->call_id : hook_payload_text(p, d->event == HOOK_TOOL_POST ? STR("call_id") : STR("id"));
    Str agent = hook_payload_text(p, STR("agent"));
    if (q->input.n <= INPUT_ENV_MAX) add_env(q, "TOOL_INPUT", buf_str(&q->input));
    add_env(q, "TOOL_NAME", hook_payload_text(p, STR("name")));
    add_env(q, "TOOL_ID", id);
    add_env(q, "AGENT_ID", !agent.n && d->n_agents ? d->agents[d->n_agents - 1] : agent);
    add_env(q, "SESSION_ID", d->session);
    add_env(q, "PYTHONDONTWRITEBYTECODE", STR("1"));      /* the program's folder is protected */
    if (def->safe_path) add_env(q, "PYTHONSAFEPATH", STR("1"));
    VEC_PUSH(&q->env, NULL);
}

static void fill_folder(const HookRun *r, const HookDef *def, Buf *b) {
    if (!str_starts(def->folder, STR("/"))) {
        buf_add(b, r->host.root.n ? r->host.root : r->project ? r->project->root : STR("."));
        if (def->folder.n) buf_add_char(b, '/');
    }
    buf_add(b, def->folder);
}

static bool start(HookRun *r, const HookDef *def, Asked *q, Cancel *token, Error *err) {
    if (!r->host.sandbox || !r->host.rules) return error_set(err, ERR_SANDBOX, "no programs can be started %s", r->host.judging ? "in a simulation" : "here");
    if (!write_input(r, &q->input, err)) return false;
    fill_env(r, def, q);
    fill_folder(r, def, &q->folder);
    char *text = str_dup(def->command);
    const char *argv[] = { "/bin/sh", "-c", text, NULL };
    SandboxCommand c = { .argv = argv, .env = (const char *const *)q->env.at, .cwd = q->folder.at, .input = buf_str(&q->input),
                         .timeout_ms = def->timeout_ms };
    r->out->commands++;
    bool ok = host_run_program(&r->host, &c, token, &q->result, err);
    free(text);
    return ok;
}

/* ---- output ---- */

static Str first_line(Str s) {
    Str line = { 0 };
    s = str_trim(s);
    return s.n && str_next_line(&s, &line) ? str_trim(line) : (Str){ 0 };
}

/* Reports an exit other than 0 or 1. */
static bool broken(const HookDef *def, const SandboxResult *res, Error *err) {
    Str why = first_line(buf_str(&res->err));
    if (res->timed_out) return error_set(err, ERR_TIMEOUT, "timed out after %lld ms", (long long)def->timeout_ms);
    if (sandbox_result_limit(res)) return error_set(err, ERR_LIMIT, "%s", sandbox_result_limit(res));
    if (res->signal) return error_set(err, ERR_SANDBOX, "killed by signal %d", res->signal);
    return error_set(err, ERR_SANDBOX, "exit code %d%s" STR_FMT, res->exit_code, why.n ? ": " : "", STR_ARG(why));
}

static bool read_output(HookRun *r, const SandboxResult *res, Value *out, Error *err) {
    Str text = str_trim(buf_str(&res->out));
    *out = VALUE_GONE;
    if (res->out_truncated) return error_set(err, ERR_LIMIT, "stdout: too much output");   /* the missing part may block */
    if (!text.n) return true;
    if (!json_read(r->worker->heap, text, &(JsonRead){ .reject_duplicates = true }, out, err)) return error_wrap(err, "stdout");
    if (!value_is_dict(*out)) return error_set(err, ERR_PROTOCOL, "stdout: expected a JSON object, got %s", value_type_name(*out));
    return true;
}

static void say_block(HookAnswer *out, Value said, const SandboxResult *res) {
    Str message = value_is_gone(said) ? STR("") : hook_payload_text(said, STR("message"));
    out->says = HOOK_BLOCK;
    if (!message.n) message = str_trim(buf_str(&res->err));
    if (!message.n && value_is_gone(said)) message = str_trim(buf_str(&res->out));
    hook_reason_set(out->reason, STR_FMT, STR_ARG(message));
}

static const char *json_type(Value v) { return value_is_none(v) ? "null" : value_type_name(v); }

/* The new input: `modified_input`, or `input` if it differs from the one given. GONE if neither. */
static bool new_input(HookRun *r, const Dict *said, Value *out, Error *err) {
    Value *modified = dict_find_str(said, STR("modified_input")), *input = dict_find_str(said, STR("input"));
    Value *args = dict_find_str(value_dict(r->held[HOOK_PAYLOAD]), STR("args"));
    bool same = true;
    *out = VALUE_GONE;
    if (input && args && !value_equal(*input, *args, &same, err)) return false;
    if (same) input = NULL;
    if (modified && input && !value_equal(*modified, *input, &same, err)) return false;
    if (modified && input && !same) return error_set(err, ERR_PROTOCOL, "stdout: modified_input and input disagree");
    if (modified || input) *out = modified ? *modified : *input;
    if (!value_is_gone(*out) && !value_is_dict(*out)) return error_set(err, ERR_PROTOCOL, "stdout: the input must be an object, not %s", json_type(*out));
    return true;
}

/* A copy of `key` in the answer is a change if it differs from the one given. */
static bool differs(const Dict *said, Str key, Value old, Value **now, Error *err) {
    bool same = true;
    *now = dict_find_str(said, key);
    if (*now && !value_equal(**now, old, &same, err)) return false;
    if (same) *now = NULL;
    return true;
}

/* The new output: `modified_output`, or `output` or `result` if changed. GONE if none of them. null is a valid
 * output. */
static bool new_output(const Dict *said, Value old, Value *out, Error *err) {
    Value *modified = dict_find_str(said, STR("modified_output")), *found[3] = { modified };
    *out = VALUE_GONE;
    if (!differs(said, STR("output"), old, &found[1], err) || !differs(said, STR("result"), old, &found[2], err)) return false;
    for (size_t i = 0; i < 3; i++) {
        bool same = true;
        if (!found[i]) continue;
        if (!value_is_gone(*out) && !value_equal(*out, *found[i], &same, err)) return false;
        if (!same) return error_set(err, ERR_PROTOCOL, "stdout: modified_output, output and result disagree");
        *out = *found[i];
    }
    return true;
}

/* ---- keys ---- */

static bool contains(Str text, const char *word) {
    return memmem(text.at, text.n, word, strlen(word)) != NULL;
}

/* Keeps letters and digits only, in lower case, so that permission_decision and permissionDecision are equal. */
static void add_plain(Buf *out, Str s) {
    for (size_t i = 0; i < s.n; i++)
        if (isalnum((unsigned char)s.at[i])) buf_add_char(out, (char)tolower((unsigned char)s.at[i]));
}

static bool is_word_of(Str s, const char *const *words, size_t n) {
    Buf plain = { 0 };
    bool found = false;
    add_plain(&plain, s);
    for (size_t i = 0; i < n && !found; i++) found = str_eq(buf_str(&plain), str_from(words[i]));
    buf_clear(&plain);
    return found;
}

#define IS_WORD_OF(s, words) is_word_of(s, words, sizeof(words) / sizeof *(words))

/* True if this member is a decision in the format of another program: {"decision": "deny"}, {"continue": false}.
 * Accepts only values that clearly mean "continue". */
static bool decides_otherwise(Str key, Value v) {
    static const char *const yes[] = { "allow", "allowed", "approve", "approved", "accept", "accepted", "permit", "permitted", "continue", "proceed" };
    static const char *const no[] = { "deny", "denied", "reject", "rejected", "refuse", "refused", "forbid", "forbidden", "disallow", "disallowed",
                                      "stop", "abort", "veto" };
    static const char *const word[] = { "action", "decision", "permission", "permissiondecision", "verdict" };
    static const char *const bad[] = { "block", "blocked", "deny", "denied", "reject", "rejected", "refuse", "refused", "forbid", "forbidden",
                                       "disallow", "disallowed" };
    static const char *const nested[] = { "hookspecificoutput" };
    if (IS_WORD_OF(key, yes)) return !value_same(v, VALUE_TRUE);
    if (IS_WORD_OF(key, no)) return !value_same(v, VALUE_FALSE);
    if (IS_WORD_OF(key, word)) return !value_is_string(v) || !IS_WORD_OF(value_str(v), yes);
    return IS_WORD_OF(key, nested) || (value_is_string(v) && IS_WORD_OF(value_str(v), bad));
}

/* True if an unknown key looks like a misspelled decision (modifiedOutput, blocked, filtered_result). A program may
 * print other keys, but ignoring a decision would let a call through that it meant to stop. */
static bool looks_like_decision(Str key, Str *meant) {
    static const Str decisions[] = { STR("block"), STR("modified_input"), STR("modified_output"), STR("input"), STR("output") };
    static const char *const parts[] = { "block", "modif", "output", "result" };
    Buf plain = { 0 };
    bool found = false;
    add_plain(&plain, key);
    *meant = str_nearest(key, decisions, sizeof decisions / sizeof *decisions);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !found; i++) found = contains(buf_str(&plain), parts[i]);
    buf_clear(&plain);
    if (!meant->n && found) *meant = contains(key, "lock") ? decisions[0] : decisions[2];
    return meant->n > 0;
}

static bool check_keys(const HookRun *r, const Dict *said, Error *err) {
    static const Str known[] = { STR("block"), STR("message"), STR("modified_input"), STR("modified_output"), STR("tool"), STR("input"),
                                 STR("output"), STR("result"), STR("is_error") };
    Entry *e;
    Str meant;
    if (r->d->event != HOOK_TOOL_POST && dict_find_str(said, STR("modified_output")))
        return error_set(err, ERR_PROTOCOL, "stdout: modified_output needs a post_tool hook: there is no output before the call");
    if (r->d->event == HOOK_TOOL_POST && dict_find_str(said, STR("modified_input")))
        return error_set(err, ERR_PROTOCOL, "stdout: modified_input needs a pre_tool hook: the call has been made");
    for (uint32_t i = 0; dict_next(said, &i, &e);) {
        Str key = value_str(e->key);
        bool is_known = false;
        for (size_t j = 0; j < sizeof known / sizeof *known && !is_known; j++) is_known = str_eq(key, known[j]);
        if (!is_known && decides_otherwise(key, e->value))
            return error_set(err, ERR_PROTOCOL, "stdout: \"" STR_FMT "\" is not understood here: write {\"block\": true, \"message\": \"…\"} to block, or {} to continue",
                             STR_ARG(key));
        if (!is_known && looks_like_decision(key, &meant))
            return error_set(err, ERR_PROTOCOL, "stdout: unknown key \"" STR_FMT "\": did you mean \"" STR_FMT "\"?", STR_ARG(key), STR_ARG(meant));
    }
    return true;
}

/* ---- answer ---- */

/* Applies the answer to a copy of the payload; the caller then enforces the rules of the event. */
static bool apply(HookRun *r, const Dict *said, Dict *payload, bool *changed, Error *err) {
    Heap *heap = r->worker->heap;
    Value input, output = VALUE_GONE, *result = dict_find_str(payload, STR("result")), *is_error = NULL;
    bool post = r->d->event == HOOK_TOOL_POST;
    if (!new_input(r, said, &input, err) || (post && !new_output(said, result ? *result : VALUE_NONE, &output, err))) return false;
    if (post) is_error = dict_find_str(said, STR("is_error"));
    *changed = !value_is_gone(input) || !value_is_gone(output) || is_error;
    return (value_is_gone(input) || dict_put_str(heap, payload, STR("args"), input, err)) &&
           (value_is_gone(output) || dict_put_str(heap, payload, STR("result"), output, err)) &&
           (!is_error || dict_put_str(heap, payload, STR("is_error"), *is_error, err));
}

static bool read_said(HookRun *r, Value said, const SandboxResult *res, HookAnswer *out, Error *err) {
    Value *block = dict_find_str(value_dict(said), STR("block"));
    Dict *payload;
    bool changed;
    if (block && !value_is_bool(*block))
        return error_set(err, ERR_PROTOCOL, "stdout: block must be true or false, not %s", json_type(*block));
    if (block && value_same(*block, VALUE_TRUE)) return say_block(out, said, res), true;
    if (!check_keys(r, value_dict(said), err) || !dict_copy(r->worker->heap, value_dict(r->held[HOOK_PAYLOAD]), &payload, err) ||
        !apply(r, value_dict(said), payload, &changed, err))
        return false;
    out->says = changed ? HOOK_MODIFY : HOOK_ALLOW;
    out->value = value_from_object(payload);
    return true;
}

static bool read_result(HookRun *r, const HookDef *def, const SandboxResult *res, HookAnswer *out, Error *err) {
    Value said = VALUE_GONE;
    Error unread;
    if (res->timed_out || res->signal || sandbox_result_limit(res) || res->exit_code < 0 || res->exit_code > 1) return broken(def, res, err);
    if (res->exit_code == 1) {
        if (!read_output(r, res, &said, &unread)) said = VALUE_GONE;       /* it blocks in any case, without a message */
        return say_block(out, said, res), true;
    }
    if (!read_output(r, res, &said, err)) return false;
    if (value_is_gone(said)) return out->says = HOOK_ALLOW, true;
    return read_said(r, said, res, out, err);
}

bool hook_ask_command(HookRun *r, const HookDef *def, Cancel *token, HookAnswer *out, Error *err) {
    Asked q = { 0 };
    bool ok = start(r, def, &q, token, err) && read_result(r, def, &q.result, out, err);
    asked_clear(&q);
    return ok;
}
