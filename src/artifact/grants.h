/* What a project requests beyond the product's defaults, collected while its files are read. The user consents to it
 * before anything of the project runs (policy/trust.h). grants.def has a row for every key of every format. */
#pragma once
#include "base/arena.h"
#include "base/vec.h"
#include "value/value.h"

/* X(kind, heading in the output of `harness trust`) */
#define GRANT_KINDS(X) \
    X(PROGRAM, "Programs that it starts") \
    X(SANDBOX, "A weaker sandbox") \
    X(SECRET, "Your environment and keys") \
    X(FILES, "Files outside of the project") \
    X(NETWORK, "Network") \
    X(RULES, "Changing its own rules") \
    X(SOURCE, "Parts from elsewhere") \
    X(LIMIT, "Higher limits") \
    X(OWNER, "Files of another user")
typedef enum {
#define X(kind, heading) GRANT_KIND_##kind,
    GRANT_KINDS(X)
#undef X
    GRANT_KIND_COUNT
} GrantKind;

/* When a value exceeds the default. */
typedef enum {
    GRANT_RULE_NEVER,
    GRANT_RULE_ALWAYS,               /* if it is not empty */
    GRANT_RULE_IS_TRUE,
    GRANT_RULE_ABOVE,                /* if it is a number, or a list with one, above `limit` */
    GRANT_RULE_OTHER_THAN_STRICT,
    GRANT_RULE_IS_REAL,
    GRANT_RULE_IS_OFF,
    GRANT_RULE_OUTSIDE,              /* if it is a path, or a list with a path, outside of the project */
    GRANT_RULE_VARIABLES,            /* if it is a text, or a map with one, that contains ${NAME} */
} GrantRule;

/* One for each row of grants.def: GRANT_format_key. */
typedef enum {
    GRANT_NONE,
#define INERT(format, key) GRANT_##format##_##key,
#define TIGHTENS(format, key) GRANT_##format##_##key,
#define GRANTS(format, key, rule, limit, kind, words) GRANT_##format##_##key,
#include "artifact/grants.def"
#undef INERT
#undef TIGHTENS
#undef GRANTS
} GrantKey;

typedef struct Grant {
    GrantKind kind;
    Str file;                        /* relative to the root; may be empty */
    uint32_t line;
    Str path;                        /* path of the key: "mcp_servers.files.command" */
    Str value;                       /* compact JSON */
    const char *words;               /* what it allows */
    uint32_t order;                  /* order in which it was recorded */
} Grant;

typedef VEC(Grant) Grants;

bool grants_applies(GrantKey key, Value value);          /* true if `value` at that key exceeds the default */
/* Adds a grant if grants_applies. Copies texts to `arena`. */
void grants_note(Grants *g, Arena *arena, GrantKey key, Value value, Str file, uint32_t line, const char *path);
void grants_forget(Grants *g, Str file, const char *path);               /* the grants recorded for a key */
void grants_add(Grants *g, const Grant *grant);                          /* not tied to a single key; borrows texts */
void grants_sort(Grants *g);                                             /* by kind, file and line; removes duplicates */
const char *grants_heading(GrantKind kind);
/* True if these grants include secrets, outside files or programs without a sandbox. Then changed code needs new
 * consent. */
bool grants_are_sensitive(const Grant *list, size_t n);
/* SHA-256 over kind, file, path and value of each; ignores lines. */
enum { GRANTS_DIGEST_BYTES = 32 };
void grants_digest(const Grant *list, size_t n, uint8_t out[GRANTS_DIGEST_BYTES]);
