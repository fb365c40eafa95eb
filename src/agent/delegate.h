/* Sub-agents: the delegate tools, and delegate() in scripts and hooks. */
#pragma once
#include "agent/frame.h"

bool delegate_register(Agents *a, Error *err);               /* the tools; once per runtime */
bool delegate_allowed(const Frame *f, Str agent, Error *err);/* true if it may delegate to that agent; empty: to any agent */
Frame *delegate_frame(Frame *parent, const AgentDef *def, Str id);     /* a sub-agent with the hooks of its definition; frame_release it */
void delegate_describe(const Frame *f, Buf *out);            /* the description of delegate for its model: the available
                                                              * agents */

/* Runs a request {agent, task, model?, tools?, hooks?, verify?, max_verify_retries?}. Every failure is a result dict
 * with `error`; false only when the journal cannot be written. `lane` is for the child's calls; `id` is the call's.
 * *out is in `heap`. */
bool delegate_run(Frame *parent, struct RunLane *lane, Value request, Str id, Cancel *cancel, Heap *heap, Value *out, Error *err);

bool delegate_restore_agent(Session *s, Value definition, Error *err);       /* registered by an earlier process of the
                                                                              * run */
extern const HostCalls delegate_host_calls;                  /* delegate, complete, register_agent */
