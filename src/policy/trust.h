/* A person's agreement to what a project asks for.
 *
 * A project without grants needs none. For another one the agreement is kept in a folder of its own below the user's state,
 * $XDG_STATE_HOME/harness/trust/PROJECT-ID/: `record.json` with the identity of the project's folder (real path, device, inode, birth
 * time), the grants, and the digest of every file; and copies of those files, so that a later change can be shown as a difference. No
 * tool can reach it, and no project can name another place for it. */
#pragma once
#include "artifact/project.h"

typedef struct TrustSubject {
    Str root;                            /* real path of the project's folder */
    const Grant *grants;
    size_t n_grants;
    const LoadedFile *files;             /* what was loaded, and the programs of the project that it names; sorted by path */
    size_t n_files;
} TrustSubject;

typedef enum {
    TRUST_NOT_NEEDED,                    /* there are no grants */
    TRUST_GIVEN,
    TRUST_MISSING,                       /* never given, or for another folder */
    TRUST_GRANTS_CHANGED,
    TRUST_CODE_CHANGED,                  /* and the grants give secrets, files outside or no sandbox */
} TrustState;

/* `given` is HARNESS_TRUST or what an embedding program says: a digest as trust_digest writes it, or an absolute folder whose projects
 * are trusted; NULL or "": only the record counts. Anything else in `given` is ERR_CONFIG. */
bool trust_state(const TrustSubject *s, const char *given, TrustState *out, Error *err);
/* Is every grant of the subject trusted, whatever else the project asks for? For a project that cannot be loaded whole yet. */
bool trust_covers(const TrustSubject *s, const char *given, bool *out, Error *err);
/* Keeps the agreement. `always`: also for code that changes later. Fails when a file has changed since it was loaded. */
bool trust_give(const TrustSubject *s, bool always, Error *err);
bool trust_forget(Str root, bool *found, Error *err);

enum { TRUST_DIGEST_SIZE = 7 + 64 + 1 };
void trust_digest(const TrustSubject *s, char out[TRUST_DIGEST_SIZE]);   /* "sha256:…" over grants and code */

/* For a person: the grants under their headings. With `only_new` those that the record has are left out. Appends. Text of the project is
 * as it is written there: the caller escapes it for a terminal. */
void trust_show(const TrustSubject *s, bool only_new, Buf *out);
/* What changed in the code since the agreement, as differences; "" when nothing did or nothing was kept. */
void trust_show_changes(const TrustSubject *s, Buf *out);

typedef struct TrustEntry { Str root, given; bool always; size_t grants; } TrustEntry;
/* Every agreement of this user, in no particular order. */
bool trust_list(void (*each)(void *ctx, const TrustEntry *e), void *ctx, Error *err);

/* The folder of all agreements: nothing that a tool may reach. */
bool trust_folder(Buf *out, Error *err);
