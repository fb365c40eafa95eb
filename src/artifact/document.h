/* One artifact file, read and parsed: values with places, and the body.
 *
 * Files are opened below the project's root without following a link out of it, must be
 * regular, and at most 1 MiB. */
#pragma once
#include "artifact/problem.h"
#include "value/dict.h"
#include "value/frontmatter.h"

enum { DOCUMENT_BYTES_MAX = 1 << 20 };

typedef struct Document {
    Str kind;                    /* "tool", "hook", … as in "parse KIND FILE: …" */
    Str file;                    /* relative to the root: as messages show it */
    Str name;                    /* the file's stem */
    Str text;                    /* the whole file */
    Value root;                  /* a dict (for JSON files: whatever it is) */
    Str body;                    /* behind the frontmatter */
    uint32_t body_line;
    Places *places;
} Document;

/* Where documents live and what they report to. */
typedef struct DocumentContext { int root_fd; Arena *arena; Heap *heap; Problems *problems; } DocumentContext;

/* Each reports its own failure ("parse tool x.md: missing frontmatter delimiter") and returns false.
 * `path` is relative to root_fd. */
bool document_read_markdown(DocumentContext *c, const char *kind, Str path, Document *out);
bool document_read_yaml(DocumentContext *c, const char *kind, Str path, Document *out);
bool document_read_json(DocumentContext *c, const char *kind, Str path, Document *out);
void document_clear(Document *d);

/* Regular files of a folder whose names end in `suffix`, sorted by byte order, hidden ones and subfolders left out.
 * A folder that is not there gives none. Names are in the arena. */
bool document_list(DocumentContext *c, Str folder, const char *suffix, Str **out, size_t *n);

/* Reports at the key, value or item. `path` is what the message starts with: "parameters.path.type". */
void document_error(const DocumentContext *c, const Document *d, Value container, Str key, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
Place document_place(const Document *d, Value container, Str key);      /* of the key; {1, 1} when unknown */

/* Position of a script inside the file: for a block scalar the line after the key and its indentation; used as Source.first_line
 * and indent. */
void document_script_place(const Document *d, Value container, Str key, uint32_t *first_line, uint32_t *indent);
