/* Verifies signatures with public keys (OpenSSL's libcrypto, loaded on first use). Thread-safe. */
#pragma once
#include "base/error.h"
#include "base/str.h"

typedef enum { SIGNATURE_RS256, SIGNATURE_ES256 } SignatureKind;         /* RSA PKCS #1 v1.5 or ECDSA on P-256, both with SHA-256 */

/* Numbers as big-endian bytes. */
typedef struct SignatureKey {
    SignatureKind kind;
    Str n, e;                            /* RS256: modulus of 2048 to 16384 bits, exponent */
    Str x, y;                            /* ES256: a point, 32 bytes each */
} SignatureKey;

/* `signature` in JWS form: for ES256 64 bytes, r and s. ERR_VALIDATION if it is not this key's signature of these
 * bytes, or the key is invalid; ERR_IO without the library. */
bool signature_check(const SignatureKey *key, Str bytes, Str signature, Error *err);
