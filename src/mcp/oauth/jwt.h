/* Signed JSON web tokens: ES256 and RS256 on OpenSSL's libcrypto, loaded on first use. Thread-safe. */
#pragma once
#include "base/error.h"
#include "base/str.h"

typedef struct JwtKey JwtKey;

/* A private key in PEM format (PKCS #8, SEC 1, PKCS #1) without a pass phrase: RSA of at least 2048 bits, or EC P-256.
 * ERR_CONFIG. */
JwtKey *jwt_key_read(Str pem, Error *err);
JwtKey *jwt_key_new(Error *err);                           /* a new EC P-256 key */
void jwt_key_free(JwtKey *k);                              /* NULL is fine */
const char *jwt_key_algorithm(const JwtKey *k);            /* "ES256" or "RS256" */
bool jwt_key_write(const JwtKey *k, Buf *out, Error *err); /* PEM, appended */
/* Appends the public key as a JWK, members in the order that RFC 7638 hashes. EC keys only. */
bool jwt_key_public(const JwtKey *k, Buf *out, Error *err);
/* Appends header.claims.signature; header and claims are JSON text. */
bool jwt_key_sign(const JwtKey *k, Str header, Str claims, Buf *out, Error *err);
