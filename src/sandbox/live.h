/* The programs of a sandbox that are alive, each with the top of its view of the file system: by that harness sees which protected paths
 * are still mounted read-only for it. Behind sandbox_kept() and sandbox_process_exposed(). */
#pragma once
#include "sandbox/call.h"

/* Before the request is sent. `told`: the supervisor will tell of the start. */
Live *live_add(Sandbox *s, bool told);
void live_started(Live *l, int view, bool exposed);        /* takes `view`; -1: it has no private mounts */
void live_ended(Live *l, bool exposed);    /* frees it; NULL is fine */
void live_stop(Sandbox *s);              /* the sandbox stops: programs that the caller has not ended yet know it no more */
bool live_stands(const Live *l, const char *path);
