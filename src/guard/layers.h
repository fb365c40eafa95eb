/* The policies that apply to a call. Any deny wins, then ask. Only the machine's and the user's policies may give an explicit allow or loosen a setting. */
#pragma once
#include "artifact/rule.h"
#include "guard/guard.h"

typedef enum GuardUnknown { GUARD_UNKNOWN_DENY, GUARD_UNKNOWN_ASK, GUARD_UNKNOWN_ALLOW } GuardUnknown;

/* A guard.md. */
typedef struct GuardLayer {
    bool present;
    RuleRows rules;
    bool has_unknown, has_audit;
    GuardUnknown unknown;
    bool audit;                          /* required */
    Str anchor;                          /* audit.anchor: "syslog", or an absolute path; "": none */
    Arena arena;
    Heap *heap;
} GuardLayer;

enum { GUARD_LAYERS = 2 };                /* the machine's, the user's */
#define GUARD_SYSTEM_FOLDER "/etc/harness"
/* Reads FOLDER/guard.md. Not there: !present. One that cannot be read, is invalid, or that others than `owner` and root may write is an
 * error, and so is a file with nearly that name. */
bool guard_layer_read(const char *folder, uint32_t owner, GuardLayer *out, Error *err);
void guard_layer_clear(GuardLayer *l);
/* $XDG_CONFIG_HOME/harness or ~/.config/harness; false: neither is set. */
bool guard_layer_user_folder(Buf *out);

/* The root of the project that governs an envelope, and whether there is a project in it. `given`: --project, or NULL. Absolute, without
 * links. `searched`: it was searched for upwards, so that a project nearer to where the agent works would govern instead. */
typedef struct GuardRoot { Str path; bool project, searched; } GuardRoot;
bool guard_root_find(const GuardEnvelope *e, const char *given, Arena *arena, GuardRoot *out, Error *err);
