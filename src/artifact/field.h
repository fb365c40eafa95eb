/* Table-driven reading of maps: every field of every format is one row.
 *
 *     static const Field hook_fields[] = {
 *         { KEY(hook, event),    .type = FIELD_STRING, .offset = offsetof(HookDef, event), .flags = FIELD_REQUIRED },
 *         { KEY(hook, priority), .type = FIELD_INT,    .offset = offsetof(HookDef, priority) },
 *         …
 *     };
 *
 * Reading reports "PATH: expected TYPE, got TYPE", "PATH is required", and unknown keys with the nearest
 * known key: as errors, unless the map is one that only describes (UnknownKeys). All problems of a map are
 * reported, not just the first. */
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
    FIELD_IGNORED = 2,           /* known, but read by someone else; no type check */
    FIELD_UNKNOWN = 4,           /* not known here, and `hint` says what is meant instead */
    FIELD_DESCRIPTIVE = 8,       /* restricts nothing: a key that resembles it may be passed over */
    FIELD_NOT_NULL = 16,         /* restricts: null is an error, not an absent value */
};

/* What an unknown key means. A restriction that is written down must hold or stop the load, so it is an error by default. */
typedef enum {
    UNKNOWN_KEYS_REFUSE,         /* an error */
    UNKNOWN_KEYS_GUARD,          /* a warning; an error when the key resembles a known one or is a restriction in other formats */
    UNKNOWN_KEYS_WARN,           /* a warning */
} UnknownKeys;

typedef struct StrList { Str *at; size_t n; } StrList;
typedef struct Field { const char *name; GrantKey grant; FieldType type; size_t offset; unsigned flags; const char *hint; } Field;
/* Name and row of grants.def of a field. Every Field begins with one. */
#define KEY(format, key) .name = #key, .grant = GRANT_##format##_##key

typedef struct FieldInput {
    DocumentContext *context;
    const Document *document;
    Value map;                   /* must be a dict for all but field_is_map */
    const char *path;            /* prefix of messages: "" at the top, "parameters.path" below */
    Place at;                    /* where the map stands: what is required and absent is reported there */
    UnknownKeys unknown;
} FieldInput;

/* Fields that are absent or null leave `out` as it was, so defaults are set before. False when something was reported as
 * an error. Text points into the document's values. */
bool field_read(const FieldInput *in, const Field *fields, size_t n, void *out);
bool field_read_one(const FieldInput *in, const Field *field, void *out);  /* without a look at other keys */
/* Notes what the value at a key grants; field_read does it for every field that it reads. */
void field_note(const FieldInput *in, const char *name, GrantKey key, Value v);
bool field_given(const FieldInput *in, const char *name);                /* is the key there, null or not? */
bool field_is_map(const FieldInput *in);                                 /* else reports "PATH: expected map, got TYPE" */
char *field_path(const FieldInput *in, const char *name);                /* "PATH.name", or "name" at the top; in the arena */
const char *field_type_name(Value v);                                    /* string, bool, int, number, list, map, null */
Str field_hint(Arena *arena, Str word, const Str *known, size_t n);      /* did you mean "X"? – or empty */
/* Are the two the same but for case, '_', '-' and at most two edits (one in words of three letters or less)? */
bool field_resembles(Str word, Str known);
/* What to do instead with a key that restricts something in other formats; NULL: it is none. */
const char *field_restriction(Str key);
