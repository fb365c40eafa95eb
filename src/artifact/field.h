/* Table-driven reading of maps: every field of every format is one row.
 *
 *     static const Field hook_fields[] = {
 *         { KEY(hook, event),    .type = FIELD_STRING, .offset = offsetof(HookDef, event), .flags = FIELD_REQUIRED },
 *         { KEY(hook, priority), .type = FIELD_INT,    .offset = offsetof(HookDef, priority) },
 *         …
 *     };
 *
 * Reports "PATH: expected TYPE, got TYPE", "PATH is required", and unknown keys with the nearest known key. Unknown
 * keys are errors unless the map is only descriptive (UnknownKeys). Reports all problems of a map, not just the
 * first. */
#pragma once
#include "artifact/document.h"

typedef enum {
    FIELD_STRING,                /* Str */
    FIELD_BOOL,                  /* bool */
    FIELD_INT,                   /* int64_t */
    FIELD_NUMBER,                /* double */
    FIELD_STRINGS,               /* StrList: a list of strings */
    FIELD_MAP,                   /* Value: a dict */
    FIELD_LIST,                  /* Value: a list */
    FIELD_ANY,                   /* Value */
} FieldType;

enum {
    FIELD_REQUIRED = 1,
    FIELD_IGNORED = 2,           /* known, but read elsewhere; no type check */
    FIELD_UNKNOWN = 4,           /* not known here; `hint` says what to write instead */
    FIELD_DESCRIPTIVE = 8,       /* restricts nothing: a similar unknown key may be ignored */
    FIELD_NOT_NULL = 16,         /* restricts: null is an error instead of an absent value */
    FIELD_REFUSED = 32,          /* with FIELD_UNKNOWN: an error also where other unknown keys are warnings */
};

/* How to treat an unknown key. A restriction that the author wrote must apply or stop the load, so the default is an
 * error. */
typedef enum {
    UNKNOWN_KEYS_REFUSE,         /* an error */
    UNKNOWN_KEYS_GUARD,          /* a warning; an error if the key resembles a known one or is a restriction in other formats */
    UNKNOWN_KEYS_WARN,           /* a warning */
} UnknownKeys;

typedef struct Field { const char *name; GrantKey grant; FieldType type; size_t offset; unsigned flags; const char *hint; } Field;
/* Name of a field and its row of grants.def. Every Field begins with one. */
#define KEY(format, key) .name = #key, .grant = GRANT_##format##_##key

typedef struct FieldInput {
    DocumentContext *context;
    const Document *document;
    Value map;                   /* must be a dict for all but field_is_map */
    const char *path;            /* prefix of messages: "" at the top, "parameters.path" below */
    Place at;                    /* position of the map; missing required keys are reported there */
    UnknownKeys unknown;
} FieldInput;

/* Leaves `out` unchanged for absent or null fields, so the caller sets defaults first. False if it reported an error.
 * Text points into the document's values. */
bool field_read(const FieldInput *in, const Field *fields, size_t n, void *out);
bool field_read_one(const FieldInput *in, const Field *field, void *out);  /* ignores all other keys */
/* Records what the value at a key grants; field_read does it for every field that it reads. */
void field_note(const FieldInput *in, const char *name, GrantKey key, Value v);
bool field_given(const FieldInput *in, const char *name);                /* true if the key is present, even if null */
bool field_is_map(const FieldInput *in);                                 /* otherwise reports "PATH: expected map, got TYPE" */
char *field_path(const FieldInput *in, const char *name);                /* "PATH.name", or "name" at the top; in the arena */
const char *field_type_name(Value v);                                    /* string, bool, int, number, list, map, null */
Str field_hint(Arena *arena, Str word, const Str *known, size_t n);      /* did you mean "X"? – or empty */
/* True if the two are equal except for case, '_', '-' and at most two edits (one in words of three letters or
 * fewer). */
bool field_resembles(Str word, Str known);
/* True if the two are equal except for case, '_', '-', blanks and invisible characters. */
bool field_same(Str word, Str known);
/* Hint for a key that is a restriction in other formats; NULL: it is not one. */
const char *field_restriction(Str key);
