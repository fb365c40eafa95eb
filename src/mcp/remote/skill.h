/* Reads skills of a server (io.modelcontextprotocol/skills) and verifies them against their entry. */
#pragma once
#include "value/heap.h"

typedef struct SkillServer {
    bool (*request)(void *ctx, Str method, Value params, Heap *heap, Value *out, Error *err);
    void *ctx;
} SkillServer;

/* The bytes of one file of a skill. Looks up its entry in skills/list. Reads SKILL.md first, which must have the
 * entry's size, SHA-256 digest and frontmatter; then the requested file, verified by size and digest. Stops at the
 * first mismatch (ERR_PROTOCOL) and returns nothing. For a server without digests ("dynamic") only the frontmatter is
 * verified. */
bool skill_read(const SkillServer *server, Str uri, Heap *heap, Buf *out, Error *err);
