/* Private part of trust.h: the record of one consent on disk. */
#pragma once
#include "policy/trust.h"

enum { TRUST_HEX_SIZE = 64 + 1 };

typedef struct TrustAsked { Str file, path, value; } TrustAsked;
typedef struct TrustRecordFile { Str path, digest; } TrustRecordFile;

typedef struct TrustRecord {
    Arena arena;
    Str folder;                          /* its location */
    Str root, born, grants, code, given; /* digests in hex; `given` is an RFC 3339 time */
    int64_t device, inode;
    bool always;
    TrustAsked *asked;
    size_t n_asked;
    TrustRecordFile *files;
    size_t n_files;
} TrustRecord;

/* Reads the record of the project at `root`; *out is NULL if there is none. A damaged record is an error with
 * instructions. */
bool trust_record_read(Str root, TrustRecord **out, Error *err);
void trust_record_free(TrustRecord *r);                                  /* accepts NULL */
/* True if `root` is the same folder that the user consented to. */
bool trust_record_is_of(const TrustRecord *r, Str root);
bool trust_record_write(const TrustSubject *s, const char *grants, const char *code, bool always, Error *err);
/* Appends diffs between the copies in the record and the current files. */
void trust_record_diff(const TrustRecord *r, const TrustSubject *s, Buf *out);
