/* Tools that reach the user: a notification, a dialog, a file picker. The executors are in tool/builtin/bridge.c.
 *
 * A call is shown in the first place that can show it (place.c): an open page of the console, the terminal of the run, the client of an MCP session (a
 * form), the desktop. A run at a terminal shows what the page shows there, too, and the first answer counts. If no place can, the call fails with the
 * reason of each. The user's answer is data for the tool and never an approval. */
#pragma once
#include "tool/kind/kind.h"

typedef enum { BRIDGE_NOTIFY, BRIDGE_DIALOG, BRIDGE_PICK } BridgeKind;

enum { BRIDGE_WAIT_MS = 600000 };       /* a dialog in a page or on the desktop closes after this time, because the user may be away */
enum { BRIDGE_BUTTONS_MAX = 5, BRIDGE_FILES_MAX = 100, BRIDGE_OFFERED_MAX = 200 };

/* All texts are redacted, escaped and NUL-terminated. */
typedef struct BridgeAsk {
    BridgeKind kind;
    Str label;                           /* who asks: "agent reviewer" */
    Str title, text;                     /* text may have several lines, or be empty */
    const Str *buttons; size_t n_buttons;        /* a dialog's */
    bool multiple;                       /* the rest is for the picker */
    const Str *globs; size_t n_globs;    /* patterns of file names; none: all */
    Str folder;                          /* the workspace */
    const Str *files; size_t n_files;    /* files of the workspace that may be offered, newest first */
    bool more_files;                     /* true if more files match than are listed */
    /* Checks whether a file may be picked, for places that can ask again; `outside` as in BridgePlace. */
    bool (*check)(void *ctx, Str path, bool outside, Error *err);
    void *ctx;
} BridgeAsk;

typedef struct BridgeAnswer {
    bool closed;                         /* the user closed it, or did not answer in time */
    size_t button;                       /* its index */
    Str files[BRIDGE_FILES_MAX];         /* paths as the place gave them, not checked; in `arena` */
    size_t n_files;
    const struct BridgePlace *place;     /* where the user answered; NULL: where it was shown */
    Arena arena;
} BridgeAnswer;

/* A way to ask the user. `outside`: a picked file may be outside the roots. */
typedef struct BridgePlace {
    const char *name;
    bool outside;
    /* False if it cannot show this; *why says why not. */
    bool (*can)(const ToolCallFrame *f, const BridgeAsk *ask, Error *why);
    bool (*show)(ToolCallFrame *f, const BridgeAsk *ask, BridgeAnswer *out, Cancel *cancel, Error *err);
} BridgePlace;
extern const BridgePlace bridge_page_place, bridge_terminal_place, bridge_form_place, bridge_desktop_place;        /* page.c, place.c, form.c, desktop.c */

/* Asks in the first place that can show it; waiting does not count towards the tool's timeout. ERR_POLICY if no place can. */
bool bridge_show(ToolCallFrame *f, const BridgePlace *place, const BridgeAsk *ask, BridgeAnswer *out, Error *err);
const BridgePlace *bridge_place(const ToolCallFrame *f, const BridgeAsk *ask, Error *err);       /* NULL: none */
void bridge_answer_clear(BridgeAnswer *a);

/* At most BRIDGE_RATE of these calls in BRIDGE_RATE_MS per run, so that a model cannot bury the user in dialogs. */
enum { BRIDGE_RATE = 10, BRIDGE_RATE_MS = 60000 };
typedef struct BridgeRate { int64_t at_ns[BRIDGE_RATE]; size_t n; } BridgeRate;      /* times of the last calls; `n` counts all */
bool bridge_rate(BridgeRate *r, int64_t now_ns, Error *err);         /* counts a call; ERR_LIMIT if there were too many */

/* A picked file: its name in the result and, if it is outside the roots, the path to grant. */
typedef struct BridgeFile { Str name; bool outside; JailPick pick; } BridgeFile;
/* Checks that the file is a regular one that matches a pattern and is inside the roots, or, with `outside`, elsewhere but neither
 * protected nor sensitive. Grants nothing.
 * In `arena`. */
bool bridge_file_check(const ToolCallFrame *f, Str path, bool outside, const Str *globs, size_t n_globs, Arena *arena, BridgeFile *out, Error *err);
/* Lets the run read a file outside the roots; writes the event sandbox.granted first. */
bool bridge_file_grant(ToolCallFrame *f, const BridgeFile *file, const char *place, Error *err);
bool bridge_globs(Str filter, Arena *arena, Str **out, size_t *n, Error *err);       /* splits "*.csv, *.tsv" and checks each pattern */
