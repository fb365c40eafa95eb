/* Behind trust.h: the record of one agreement on disk. */
#pragma once
#include "policy/trust.h"

enum { TRUST_HEX_SIZE = 64 + 1 };

typedef struct TrustAsked { Str file, path, value; } TrustAsked;
typedef struct TrustRecordFile { Str path, digest; } TrustRecordFile;

typedef struct TrustRecord {
    Arena arena;
    Str folder;                          /* where it is kept */
    Str root, born, grants, code, given; /* digests in hex; `given` as RFC 3339 */
    int64_t device, inode;
    bool always;
    TrustAsked *asked;
    size_t n_asked;
    TrustRecordFile *files;
    size_t n_files;
} TrustRecord;

/* The record of the project at `root`; *out is NULL when there is none. A damaged one is an error that says how to go on. */
bool trust_record_read(Str root, TrustRecord **out, Error *err);
void trust_record_free(TrustRecord *r);                                  /* NULL is fine */
/* Is `root` the very folder that the person agreed to? */
bool trust_record_is_of(const TrustRecord *r, Str root);
bool trust_record_write(const TrustSubject *s, const char *grants, const char *code, bool always, Error *err);
/* Differences between the copies of the record and the files as they are now. */
void trust_record_diff(const TrustRecord *r, const TrustSubject *s, Buf *out);
