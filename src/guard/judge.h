/* Computes the verdict on an envelope. */
#pragma once
#include "guard/layers.h"
#include "guard/protect.h"
#include "tool/runtime.h"

typedef struct GuardCase {
    const GuardEnvelope *envelope;
    Str root;
    const GuardLayer *layers;            /* the machine's and the user's */
    size_t n_layers;
    Runtime *runtime;                    /* of the project; NULL: none */
    Run *run;                            /* whose hooks are asked; it remembers what they store. NULL: a new run for each question, and the session's cache */
    Cancel *cancel;                      /* with `run`: ends a hook early */
    GuardProtect protect;
    Heap *heap;
    Arena *arena;
} GuardCase;

typedef struct GuardRuling {
    GuardVerdict verdict;
    Str rule;                            /* what decided: a rule's name, "tools_policy.deny: x", a hook's name, "protected" …; "": nothing did */
    Buf reason;
    Value changed;                       /* the vendor's input, or the result, after hooks; GONE: unchanged */
    Str tool, vendor_tool, subject;      /* of the call that decided: what it acts on */
    CallKind kind;
    Str file; uint32_t line;             /* where the rule or hook is written; empty, 0: unknown. Borrowed from the project or the layer */
    bool outside;                        /* the machine's or the user's policy took part: the project alone could decide otherwise */
} GuardRuling;

/* Never fails: what cannot be decided is refused. guard_ruling_clear afterwards. */
void guard_judge(const GuardCase *c, GuardRuling *out);
void guard_ruling_clear(GuardRuling *r);
/* The setting of the strictest layer that has one; the project can only tighten. */
GuardUnknown guard_judge_unknown(const GuardCase *c);

/* judge_hooks.c: asks the project's hooks. */
void guard_judge_call_hooks(const GuardCase *c, const GuardCall *call, GuardRuling *out);
void guard_judge_event_hooks(const GuardCase *c, GuardRuling *out);        /* prompts, results, stops */
void guard_ruling_set(GuardRuling *r, GuardVerdict v, Str rule, const char *fmt, ...) __attribute__((format(printf, 4, 5)));    /* only if it is stricter */
