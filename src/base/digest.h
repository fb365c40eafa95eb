/* Digests and HMAC from OpenSSL's libcrypto, loaded on first use, once per process; without it every function fails
 * with ERR_IO that names the library. Thread-safe; a Digest is used by one thread at a time. */
#pragma once
#include "base/error.h"
#include "base/str.h"

/* X(enumerator, OpenSSL's name, bytes) */
#define DIGEST_KINDS(X) X(DIGEST_MD5, "MD5", 16) X(DIGEST_SHA1, "SHA1", 20) X(DIGEST_SHA256, "SHA256", 32) X(DIGEST_SHA512, "SHA512", 64)
typedef enum {
#define X(kind, name, bytes) kind,
    DIGEST_KINDS(X)
#undef X
} DigestKind;

enum { DIGEST_BYTES_MAX = 64, DIGEST_SHA256_BYTES = 32 };

size_t digest_size(DigestKind kind);                              /* bytes of the result */
bool digest_of(DigestKind kind, Str bytes, uint8_t out[DIGEST_BYTES_MAX], Error *err);
bool digest_sha256(Str bytes, uint8_t out[DIGEST_SHA256_BYTES], Error *err);
bool digest_hmac(DigestKind kind, Str key, Str bytes, uint8_t out[DIGEST_BYTES_MAX], Error *err);
void digest_hex(const uint8_t *bytes, size_t n, Buf *out);        /* appends lower-case digits */

/* Incremental. digest_end returns the result and resets the Digest. */
typedef struct Digest Digest;
Digest *digest_new(DigestKind kind, Error *err);                  /* NULL on failure */
bool digest_add(Digest *d, Str bytes, Error *err);
bool digest_end(Digest *d, uint8_t out[DIGEST_BYTES_MAX], Error *err);
void digest_free(Digest *d);                                      /* NULL is fine */
