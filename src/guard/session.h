/* What is needed to judge one envelope: root, layers, project, store. The hook process, `guard replay` and `harness test` use it. */
#pragma once
#include "guard/judge.h"

typedef struct GuardSession GuardSession;

/* `project`: --project, or NULL. `system`: the folder of the machine's guard.md; NULL: GUARD_SYSTEM_FOLDER. False: the caller must
 * refuse, and *err says why. */
bool guard_session_open(const GuardEnvelope *e, const char *project, const char *system, Heap *heap, GuardSession **out, Error *err);
/* A session with the policy of an open project only. Borrows `rt`. */
GuardSession *guard_session_of(const GuardEnvelope *e, Runtime *rt, Heap *heap);
/* For such a session: other policies that apply, and the run whose hooks are asked instead of one that is started for each question. `cancel` ends a hook
 * early. Borrows all. */
void guard_session_add(GuardSession *s, const GuardLayer layers[GUARD_LAYERS], Run *run, Cancel *cancel);
/* The policies of the machine and of the user; `system` as above. guard_layer_clear each, also after a failure. */
bool guard_session_layers(GuardLayer out[GUARD_LAYERS], const char *system, Error *err);
void guard_session_close(GuardSession *s);                   /* NULL is fine */
void guard_session_judge(GuardSession *s, GuardRuling *out);
Str guard_session_root(const GuardSession *s);
bool guard_session_audits(const GuardSession *s);            /* guard.audit: required */
Store *guard_session_store(GuardSession *s, Error *err);     /* the project's, or without one the user's; NULL with *err */
/* Writes the end of the chain where audit.anchor says, after a decision was stored. */
bool guard_session_anchor(GuardSession *s, Error *err);
/* The same without a session, for the store at `path`; layers that cannot be read have no anchor. */
bool guard_session_anchor_store(Store *store, const char *path, Error *err);
/* Masks secrets of the project, and literal credentials. */
void guard_session_redact(GuardSession *s, Str text, Buf *out);
void guard_session_keep(GuardSession *s, const GuardEnvelope *e, Buf *out);    /* as guard/kept.h; nothing without a project */
/* The path of that store. `root`: of the project; "": none. */
bool guard_session_store_path(Str root, Buf *out, Error *err);
