/* One dispatch of tool.pre to three hooks with `when`, as in a governed call; the same with conditions that are false;
 * and with one hook that changes the arguments, so that earlier hooks are asked again. Prints microseconds per dispatch
 * beside the share of a governed call's 20 us that hooks may use. */
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "hook/chain.h"
#include "report.h"
#include "value/json.h"

static const char payload[] =
    "{\"id\": \"call_1\", \"name\": \"write_note\", \"arguments\": \"{\\\"path\\\": \\\"notes/today.md\\\", \\\"text\\\": \\\"hello\\\"}\","
    " \"args\": {\"path\": \"notes/today.md\", \"text\": \"hello\"}, \"agent\": \"main\", \"depth\": 0,"
    " \"safety\": {\"read_only\": false, \"destructive\": false, \"networked\": false, \"filesystem\": \"write\"}}";
static const char guard[] =
    "DENIED = (\".env\", \".pem\")\n"
    "def handle(event, payload):\n"
    "    path = payload[\"args\"].get(\"path\", \"\")\n"
    "    if path.endswith(DENIED):\n"
    "        return {\"action\": \"block\", \"reason\": path + \" is private\"}\n"
    "    return {\"action\": \"allow\"}\n";
static const char change[] =
    "def handle(event, payload):\n"
    "    payload[\"args\"][\"text\"] = payload[\"args\"][\"text\"].strip() + \"!\"\n"
    "    return {\"action\": \"modify\", \"payload\": payload}\n";

enum { DISPATCHES = 200000, HOOKS = 3 };

static void stop(const Error *err) {
    fprintf(stderr, "bench_hook: %s\n", err->msg);
    exit(1);
}

static Module *compile(Universe *u, const char *text, bool expression) {
    static const Str params[] = { { "payload", 7 }, { "event", 5 } };
    Error err = { 0 };
    Heap *heap = heap_new(0);
    Vm *vm = vm_new(heap, &(VmConfig){ 0 });
    Source source = { .file = STR("hook.md"), .text = str_from(text) };
    ModuleOptions o = { .universe = u, .expression = expression, .params = expression ? params : NULL, .n_params = expression ? 2 : 0 };
    Module *m;
    if (!module_compile(heap, &source, &o, &m, NULL, &err) || !module_load(vm, m, NULL, &err)) stop(&err);
    vm_free(vm);
    heap_freeze_all(heap);
    module_seal(m);
    return m;
}

static double measure(Universe *u, const char *when, const char *last) {
    static const char *const names[HOOKS] = { "a", "b", "c" };
    Error err = { 0 };
    HookDef defs[HOOKS];
    Workers *workers = worker_pool_new(0, 0);
    HookStats *stats = hook_stats_new();
    Hooks *hooks = hook_list_new(NULL, workers, stats);
    Heap *heap = heap_new(0);
    for (int i = 0; i < HOOKS; i++) {
        defs[i] = (HookDef){ .name = str_from(names[i]), .event = STR("tool.pre"), .priority = i, .timeout_ms = 5000 };
        defs[i].when = compile(u, when, true);
        defs[i].script = compile(u, i + 1 < HOOKS ? guard : last, false);
        if (!hook_list_add(hooks, &defs[i], &err)) stop(&err);
    }
    double best = 1e9;
    for (int round = 0; round < 3; round++) {
        int64_t took = 0;
        for (int i = 0; i < DISPATCHES; i++) {
            HookDispatch d = { .event = HOOK_TOOL_PRE, .heap = heap };
            HookOutcome out;
            heap_reset(heap);
            if (!json_read(heap, str_from(payload), &(JsonRead){ 0 }, &d.payload, &err)) stop(&err);
            int64_t start = clock_mono_ns();
            hook_dispatch(hooks, &d, &out);
            took += clock_mono_ns() - start;
            if (out.decision != HOOK_ALLOW) stop(&(Error){ .msg = "blocked" });
        }
        double us = (double)took / DISPATCHES / 1e3;
        if (us < best) best = us;
    }
    heap_free(heap);
    hook_list_free(hooks);
    hook_stats_free(stats);
    worker_pool_free(workers);
    return best;
}

static void report(const char *name, double us) { report_line(name, us, 6, "us"); }

int main(void) {
    Universe *u = universe_new();
    const char *yes = "payload[\"name\"].startswith(\"write_\") and event == \"tool.pre\"";
    report("hook_dispatch_3", measure(u, yes, guard));
    report("hook_dispatch_3_filtered", measure(u, "payload[\"name\"] == \"bash\"", guard));
    report("hook_dispatch_3_changed", measure(u, yes, change));
}
