#include "base/sha256.h"

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t x, int n) { return x >> n | x << (32 - n); }

static uint32_t read_word(const uint8_t *p) { return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]; }

static void write_word(uint8_t *p, uint32_t v) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* One round. The caller renames the eight variables from round to round, so that none has to be moved. */
#define ROUND(a, b, c, d, e, f, g, h, i) do { \
        uint32_t t = (h) + (turn((e), 6) ^ turn((e), 11) ^ turn((e), 25)) + ((g) ^ ((e) & ((f) ^ (g)))) + k[i] + w[i]; \
        (d) += t; \
        (h) = t + (turn((a), 2) ^ turn((a), 13) ^ turn((a), 22)) + (((a) & (b)) | ((c) & ((a) | (b)))); \
    } while (0)

static void compress(uint32_t state[8], const uint8_t *block) {
    uint32_t w[64];
    for (int i = 0; i < 16; i++) w[i] = read_word(block + 4 * (size_t)i);
    for (int i = 16; i < 64; i++) {
        uint32_t x = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t y = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + x + w[i - 7] + y;
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i += 8) {
        ROUND(a, b, c, d, e, f, g, h, i);
        ROUND(h, a, b, c, d, e, f, g, i + 1);
        ROUND(g, h, a, b, c, d, e, f, i + 2);
        ROUND(f, g, h, a, b, c, d, e, i + 3);
        ROUND(e, f, g, h, a, b, c, d, i + 4);
        ROUND(d, e, f, g, h, a, b, c, i + 5);
        ROUND(c, d, e, f, g, h, a, b, i + 6);
        ROUND(b, c, d, e, f, g, h, a, i + 7);
    }
    const uint32_t v[8] = { a, b, c, d, e, f, g, h };
    for (int i = 0; i < 8; i++) state[i] += v[i];
}
#undef ROUND

void sha256_init(Sha256 *s) {
    *s = (Sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_add(Sha256 *s, Str bytes) {
    const uint8_t *at = (const uint8_t *)bytes.at;
    size_t left = bytes.n, used = (size_t)(s->total % SHA256_BLOCK);
    s->total += bytes.n;
    while (left) {
        size_t n = SHA256_BLOCK - used < left ? SHA256_BLOCK - used : left;
        memcpy(s->block + used, at, n);
        at += n;
        left -= n;
        used += n;
        if (used < SHA256_BLOCK) return;
        compress(s->state, s->block);
        used = 0;
    }
}

void sha256_end(Sha256 *s, uint8_t out[SHA256_BYTES]) {
    static const char padding[SHA256_BLOCK] = { (char)0x80 };
    uint8_t length[8];
    uint64_t bits = s->total * 8;
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
    size_t used = (size_t)(s->total % SHA256_BLOCK);
    sha256_add(s, (Str){ padding, used < 56 ? 56 - used : 120 - used });
    sha256_add(s, (Str){ (const char *)length, sizeof length });
    for (int i = 0; i < 8; i++) write_word(out + 4 * (size_t)i, s->state[i]);
}

void sha256_of(Str bytes, uint8_t out[SHA256_BYTES]) {
    Sha256 s;
    sha256_init(&s);
    sha256_add(&s, bytes);
    sha256_end(&s, out);
}
