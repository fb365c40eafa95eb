#include "guard/advice.h"
#include "value/dict.h"
#include "value/json.h"

static const GuardAdvice rows[VENDOR_COUNT] = {
#define GUARD_ADVICE(vendor, program, next, payload, holes) [VENDOR_##vendor] = { program, next, payload, holes },
#include "guard/advice.def"
#undef GUARD_ADVICE
};

const GuardAdvice *guard_advice(Vendor v) { return v < VENDOR_COUNT && rows[v].program ? &rows[v] : NULL; }

void guard_advice_payload(Vendor v, Str cwd, Buf *out) {
    Str rest = str_from(rows[v].payload);
    for (ptrdiff_t at; (at = str_find(rest, STR("$CWD"))) >= 0; rest = str_sub(rest, (size_t)at + 4, rest.n)) {
        buf_add(out, str_sub(rest, 0, (size_t)at));
        json_write_string(out, cwd, false);
    }
    buf_add(out, rest);
}

static Str said(Value v, const char *group, const char *key) { return value_member_text(*group ? value_member(v, group) : v, key); }

/* The field in which each agent reads the decision. Agents of Claude's kind also read exit status 2, with a reason on standard error. */
bool guard_advice_denies(Vendor v, Str out, Str err, int status) {
    Heap *heap = heap_new(1 << 20);
    Error ignored = { 0 };
    Value answer;
    Str decision;
    if (!json_read(heap, out, NULL, &answer, &ignored)) answer = VALUE_NONE;
    switch (v) {
    case VENDOR_CURSOR: decision = said(answer, "", "permission"); break;
    case VENDOR_COPILOT: decision = said(answer, "", "permissionDecision"); break;
    case VENDOR_GEMINI: case VENDOR_OPENCODE: decision = said(answer, "", "decision"); break;
    default: decision = said(answer, "hookSpecificOutput", "permissionDecision"); break;
    }
    bool denied = str_eq(decision, STR("deny"));
    heap_free(heap);
    if (v == VENDOR_CURSOR || v == VENDOR_COPILOT || v == VENDOR_OPENCODE) return denied;
    return denied && (v == VENDOR_GEMINI || (status == 2 && str_trim(err).n > 0));
}
