/* DPoP proofs (RFC 9449): a signature with every request proves possession of the token's key. */
#include "mcp/oauth/oauth_private.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/random.h"

static bool add_hash(Str text, Buf *out, Error *err) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    if (!digest_sha256(text, digest, err)) return false;
    base64_encode_url((Str){ (const char *)digest, sizeof digest }, out);
    return true;
}

static bool write_claims(Str method, Str url, Str token, Str nonce, Buf *out, Error *err) {
    char id[16];
    random_fill(id, sizeof id);
    ptrdiff_t end = str_find_char(url, '?');
    buf_add(out, STR("{\"jti\":\""));
    base64_encode_url((Str){ id, sizeof id }, out);
    buf_add(out, STR("\",\"htm\":"));
    json_write_string(out, method, false);
    buf_add(out, STR(",\"htu\":"));
    json_write_string(out, end < 0 ? url : str_sub(url, 0, (size_t)end), false);
    buf_add_fmt(out, ",\"iat\":%lld", (long long)(clock_wall_ns() / 1000000000));
    if (nonce.n) {
        buf_add(out, STR(",\"nonce\":"));
        json_write_string(out, nonce, false);
    }
    if (token.n) {
        buf_add(out, STR(",\"ath\":\""));
        if (!add_hash(token, out, err)) return false;
        buf_add_char(out, '"');
    }
    buf_add_char(out, '}');
    return true;
}

bool oauth_dpop_proof(const JwtKey *key, Str method, Str url, Str token, Str nonce, Buf *out, Error *err) {
    Buf header = { 0 }, claims = { 0 };
    buf_add_fmt(&header, "{\"typ\":\"dpop+jwt\",\"alg\":\"%s\",\"jwk\":", jwt_key_algorithm(key));
    bool ok = jwt_key_public(key, &header, err) && write_claims(method, url, token, nonce, &claims, err);
    buf_add_char(&header, '}');
    ok = ok && jwt_key_sign(key, buf_str(&header), buf_str(&claims), out, err);
    buf_clear(&header);
    buf_clear(&claims);
    return ok;
}

bool oauth_dpop_thumbprint(const JwtKey *key, Buf *out, Error *err) {
    Buf jwk = { 0 };
    bool ok = jwt_key_public(key, &jwk, err) && add_hash(buf_str(&jwk), out, err);
    buf_clear(&jwk);
    return ok;
}
