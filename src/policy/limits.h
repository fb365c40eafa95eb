/* The limits of tools.md, "Settings and defaults", read once from a project. */
#pragma once
#include "artifact/project.h"
#include "sandbox/sandbox.h"

typedef struct Limits {
    int64_t max_turns, max_tool_calls, max_tool_calls_per_turn, max_concurrency, max_tasks;
    bool calls_limited;                                  /* max_tool_calls was given */
    int64_t max_tokens, wall_clock_ms;                   /* 0: none */
    double max_spend_usd;                                /* 0: none */
    int64_t model_result_bytes, artifact_bytes, script_heap_bytes, script_depth, tool_timeout_ms;   /* tool_timeout_ms 0: the kind's own */
    struct { bool invalid_arguments, unknown_tool, refused; int64_t max_per_turn; } repair;
    struct { int64_t max_depth, max_concurrent, timeout_ms; int64_t iterations[16]; size_t n_iterations; } delegation;
    struct { bool enabled; int64_t max_tools, max_hooks, max_agents, max_call_depth; } meta;
    struct { int64_t max_history, max_tokens; } context;
    struct {
        SandboxMode mode;
        SandboxMounts mounts;
        bool network, real_home, allow_self_edit;
        StrList read_roots, write_roots, env_allow;
        uint64_t memory_bytes, file_bytes;
        uint32_t cpu_seconds, open_files, processes;
    } sandbox;
    bool has_domains;                                    /* network.allowed_domains was given */
    StrList domains;
} Limits;

/* Settings were validated at load; missing ones get their defaults. Texts belong to the project, lists to *out. */
void limits_from(const Project *p, Limits *out);
void limits_clear(Limits *l);                            /* frees the lists */
