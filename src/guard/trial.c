#include "guard/trial.h"
#include "agent/trial_seen.h"
#include "guard/recorded.h"

bool guard_trial_is(const TestDef *def) { return value_is_dict(def->root) && !value_is_gone(value_member(def->root, "guard")); }

static bool check(const TestDef *def, Value *guard, Str *decision, Error *err) {
    static const char *const known[] = { "description", "guard", "decision", "rule", NULL }, *const guard_known[] = { "vendor", "payload", "event", NULL };
    static const Str decisions[] = { STR("allow"), STR("ask"), STR("deny") };
    *guard = value_member(def->root, "guard");
    *decision = value_member_text(def->root, "decision");
    if (!trial_unknown_key(def->root, "test", known, err)) return false;
    if (!value_is_dict(*guard)) return error_set(err, ERR_VALIDATION, "guard: expected map");
    if (!trial_unknown_key(*guard, "guard", guard_known, err)) return false;
    if (str_among(*decision, decisions, 3)) return true;
    Str near = str_nearest(*decision, decisions, 3);
    error_set(err, ERR_VALIDATION, decision->n ? "decision: \"" STR_FMT "\" is not allow, ask or deny"
        : "a test with `guard` needs `decision`%.*s: allow, ask or deny",
              STR_ARG(*decision));
    return near.n ? error_hint(err, "did you mean \"" STR_FMT "\"?", STR_ARG(near)) : false;
}

bool guard_trial_run(Runtime *rt, const TestDef *def, Trial *out, Error *err) {
    GuardRecorded g;
    Value guard;
    Str decision, rule = value_member_text(def->root, "rule");
    if (!check(def, &guard, &decision, err) || !guard_recorded_judge(guard, rt, NULL, &g, err)) return false;
    Buf got = { 0 };
    buf_add(&got, buf_str(&g.decision));
    if (g.reason.n) buf_add_fmt(&got, ": %s", g.reason.at);
    if (!str_eq(decision, buf_str(&g.decision))) trial_fail(out, "decision", decision, buf_str(&got));
    if (rule.n && !str_eq(rule, buf_str(&g.rule))) trial_fail(out, "rule", rule, buf_str(&g.rule));
    buf_clear(&got);
    guard_recorded_clear(&g);
    return true;
}
