/* Sub-agents: the tool delegate and its kin, delegate() in scripts and hooks. */
#pragma once
#include "agent/frame.h"

bool delegate_register(Agents *a, Error *err);               /* the tools; once per runtime */
bool delegate_allowed(const Frame *f, Str agent, Error *err);/* may it hand work to that agent? Empty: to any at all */
void delegate_describe(const Frame *f, Buf *out);            /* what its model reads about delegate: the agents there are */

/* A request {agent, task, model?, tools?, hooks?, verify?, max_verify_retries?}. Every failure is a result dict with `error`;
 * false only when the journal cannot be written. `lane` is that of the child's calls; `id` is that of the call. *out is in `heap`. */
bool delegate_run(Frame *parent, struct RunLane *lane, Value request, Str id, Cancel *cancel, Heap *heap, Value *out, Error *err);

bool delegate_restore_agent(Session *s, Value definition, Error *err);       /* one that an earlier process of the run registered */
extern const HostCalls delegate_host_calls;                  /* delegate, complete, register_agent */
