/* The user's consent to what a project requests.
 *
 * A project without grants needs none. Otherwise the consent is stored in a folder below the user's state,
 * $XDG_STATE_HOME/harness/trust/PROJECT-ID/: `record.json` with the identity of the project's folder (real path,
 * device, inode, birth time), the grants, and the digest of every file; and copies of those files, so that a later
 * change can be shown as a diff. No tool can access it, and no project can choose another location for it. */
#pragma once
#include <limits.h>
#include "artifact/project.h"

typedef struct TrustSubject {
    Str root;                            /* real path of the project's folder */
    const Grant *grants;
    size_t n_grants;
    const LoadedFile *files;             /* loaded files, and the project's programs that they name; sorted by path */
    size_t n_files;
} TrustSubject;

typedef enum {
    TRUST_NOT_NEEDED,                    /* the project has no grants */
    TRUST_GIVEN,
    TRUST_MISSING,                       /* no consent, or for another folder */
    TRUST_GRANTS_CHANGED,
    TRUST_CODE_CHANGED,                  /* the same, and the grants include secrets, files outside the project, or running without a sandbox */
} TrustState;

/* `given` is HARNESS_TRUST or the setting of an embedding program: a digest as written by trust_digest, or an absolute
 * folder whose projects are trusted, but not projects inside of those. NULL or "": only the record counts. Any other text fails with ERR_CONFIG. */
bool trust_state(const TrustSubject *s, const char *given, TrustState *out, Error *err);
/* True if the folder `given` holds the subject, but also a project above it, `out`: calls of that project could have written this one, so the
 * folder does not cover it. */
bool trust_is_nested(const TrustSubject *s, const char *given, char out[static PATH_MAX]);
/* True if every grant of the subject is trusted, whatever else the project requests. For a project that is not loaded
 * completely yet. */
bool trust_covers(const TrustSubject *s, const char *given, bool *out, Error *err);
/* Stores the consent. `always`: also for later changes of the code. Fails if a file has changed since it was loaded. */
bool trust_give(const TrustSubject *s, bool always, Error *err);
bool trust_forget(Str root, bool *found, Error *err);

enum { TRUST_DIGEST_SIZE = 7 + 64 + 1 };
void trust_digest(const TrustSubject *s, char out[TRUST_DIGEST_SIZE]);   /* "sha256:…" over grants and code */

/* Appends the grants under their headings, for display. `only_new` omits those in the record. The project's text is
 * unescaped: the caller must escape it for a terminal. */
void trust_show(const TrustSubject *s, bool only_new, Buf *out);
/* Appends diffs of the code since the consent; "" if nothing changed or no copies were kept. */
void trust_show_changes(const TrustSubject *s, Buf *out);

typedef struct TrustEntry { Str root, given; bool always; size_t grants; } TrustEntry;
/* Lists every consent of this user, in no particular order. */
bool trust_list(void (*each)(void *ctx, const TrustEntry *e), void *ctx, Error *err);

/* The folder of all records, which tools must not access. */
bool trust_folder(Buf *out, Error *err);
