/* SHA-256 (FIPS 180-4). Own implementation, so that hashing a project's files at start-up does not load OpenSSL; other
 * code uses digest.h. */
#pragma once
#include "base/str.h"

enum { SHA256_BYTES = 32, SHA256_BLOCK = 64 };

typedef struct Sha256 {
    uint32_t state[8];
    uint64_t total;              /* bytes added so far */
    uint8_t block[SHA256_BLOCK]; /* the last total % 64 bytes */
} Sha256;

void sha256_init(Sha256 *s);
void sha256_add(Sha256 *s, Str bytes);
void sha256_end(Sha256 *s, uint8_t out[SHA256_BYTES]);
void sha256_of(Str bytes, uint8_t out[SHA256_BYTES]);
