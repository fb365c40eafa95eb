/* One artifact file, read and parsed: values with their positions, and the body.
 *
 * Files are opened below the project's root without following a link out of it. They must be
 * regular files of at most 1 MiB. */
#pragma once
#include "artifact/problem.h"
#include "artifact/grants.h"
#include "base/sha256.h"
#include "value/dict.h"
#include "value/frontmatter.h"

typedef struct View View;

enum { DOCUMENT_BYTES_MAX = 1 << 20 };

typedef struct Document {
    Str kind;                    /* "tool", "hook", … as in "parse KIND FILE: …" */
    Str file;                    /* relative to the root, as shown in messages */
    Str name;                    /* file name without suffix */
    Str text;                    /* the whole file */
    Value root;                  /* a dict (for JSON files: any value) */
    Str body;                    /* text after the frontmatter */
    uint32_t body_line;
    Places *places;              /* owned */
    char *owned;                 /* storage of `text` */
    uint32_t *lines;             /* owned: offset of each line in the text */
    uint32_t n_lines;
} Document;

/* A file that was loaded, with its digest at that time. */
typedef struct LoadedFile { Str path; uint8_t digest[SHA256_BYTES]; uint32_t owner; } LoadedFile;
typedef VEC(LoadedFile) LoadedFiles;

/* Where documents are stored and problems are reported. */
typedef struct DocumentContext {
    int root_fd;                 /* everything is read below this folder */
    const View *view;            /* replaces the content on disk for the files that it covers; NULL: none */
    const char *base;            /* with a view: the absolute path of root_fd */
    Arena *arena;
    Heap *heap;
    Dict *names;                 /* interned keys of all documents, in the heap */
    Problems *problems;
    Str shown;                   /* prefix for paths in messages, with its '/', for a folder outside the project; else empty */
    bool strict;                 /* unknown keys are errors */
    Grants *grants;              /* collects what exceeds the defaults; may be NULL */
    LoadedFiles *files;          /* collects every file read; may be NULL */
} DocumentContext;

/* Each reports its own failure ("parse tool x.md: missing frontmatter delimiter") and returns false; then there is
 * nothing to clear. `path` is relative to root_fd. `file` and `name` are in the arena, values in the heap;
 * document_clear frees the text and with it the body. */
bool document_read_markdown(DocumentContext *c, const char *kind, Str path, Document *out);
bool document_read_yaml(DocumentContext *c, const char *kind, Str path, Document *out);
bool document_read_json(DocumentContext *c, const char *kind, Str path, Document *out);
void document_clear(Document *d);

/* The same from memory. Copies `text`. */
typedef enum { DOCUMENT_MARKDOWN, DOCUMENT_YAML, DOCUMENT_JSON } DocumentFormat;
bool document_parse(DocumentContext *c, const char *kind, Str path, DocumentFormat format, Str text, Document *out);

/* Reads a regular file of at most `limit` bytes below root_fd; leaves *out unchanged on failure. ERR_IO, with a
 * message without the path: "permission denied", "it is a pipe", "it leads out of the project". */
bool document_read_bytes(const DocumentContext *c, Str path, size_t limit, Buf *out, Error *err);
/* Opens below root_fd, never outside of it and never waiting for a pipe's other end; -1 with errno. Opens the file on disk, even if the view
 * covers it. */
int document_open(const DocumentContext *c, Str path, int flags);
/* True if the path exists (follows a link that stays inside). */
bool document_exists(const DocumentContext *c, Str path);
bool document_is_folder(const DocumentContext *c, Str path);             /* else false with errno */

/* The entries of a folder, files and subfolders, sorted by byte order, without hidden ones and README*. A missing
 * folder has none; reports one that cannot be read, or has more than DOCUMENT_FILES_MAX entries. Names are in the
 * arena. *readmes: the files README*, unordered; NULL: the caller does not need them. */
enum { DOCUMENT_FILES_MAX = 100000 };
typedef struct DocumentEntry { Str name; bool folder; } DocumentEntry;
typedef struct StrList { Str *at; size_t n; } StrList;
bool document_entries(DocumentContext *c, Str folder, DocumentEntry **out, size_t *n, StrList *readmes);
/* Calls `visit` with every entry of a folder except . and .., unordered. An unreadable folder has none; reports other
 * failures. */
void document_each(DocumentContext *c, Str folder, void (*visit)(void *ctx, Str name, bool folder), void *ctx);

/* Reports at the key, or at the start of the document if it is absent. */
void document_error(const DocumentContext *c, const Document *d, Value container, Str key, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void document_report(const DocumentContext *c, const Document *d, Severity severity, Place place, Str hint, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
Place document_place(const Document *d, Value container, Str key);      /* position of the key; {1, 1} if unknown */
bool document_has_place(const Document *d, Value container, Str key);
Place document_item_place(const Document *d, Value list, size_t index);

/* Position of a script inside the file, for Source.first_line and indent: of a block scalar, the line after the key and
 * its indentation. */
void document_script_place(const Document *d, Value container, Str key, uint32_t *first_line, uint32_t *indent);
