/* Skills of a server, as a client reads them (io.modelcontextprotocol/skills): only what its entry vouches for. */
#pragma once
#include "value/heap.h"

typedef struct SkillServer {
    bool (*request)(void *ctx, Str method, Value params, Heap *heap, Value *out, Error *err);
    void *ctx;
} SkillServer;

/* The bytes of one file of a skill. Its entry is looked for in skills/list; SKILL.md is read first and must have the entry's size, SHA-256 digest
 * and frontmatter; then the file itself, if it is another one, by its size and digest. The first that differs ends it (ERR_PROTOCOL): nothing more is
 * read, and nothing is given out. A server that lists no digests ("dynamic") is held to the frontmatter alone. */
bool skill_read(const SkillServer *server, Str uri, Heap *heap, Buf *out, Error *err);
