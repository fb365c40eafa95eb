#include "base/hash.h"
#include <pthread.h>
#include <stdatomic.h>
#include "base/random.h"

typedef struct { uint64_t a, b, c, d; } Sip;

static inline uint64_t rotate(uint64_t x, unsigned by) {
    return x << by | x >> (64 - by);
}

static inline void sip_round(Sip *s) {
    s->a += s->b; s->b = rotate(s->b, 13) ^ s->a; s->a = rotate(s->a, 32);
    s->c += s->d; s->d = rotate(s->d, 16) ^ s->c;
    s->a += s->d; s->d = rotate(s->d, 21) ^ s->a;
    s->c += s->b; s->b = rotate(s->b, 17) ^ s->c; s->c = rotate(s->c, 32);
}

static inline uint64_t load_le(const char *p) {
    uint64_t w;
    memcpy(&w, p, sizeof w);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

/* SipHash with `rounds` per word and `final` at the end; constants after inlining. */
static inline uint64_t sip(Str s, uint64_t k0, uint64_t k1, int rounds, int final) {
    Sip v = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573 };
    size_t whole = s.n & ~(size_t)7;
    for (size_t i = 0; i < whole; i += 8) {
        uint64_t w = load_le(s.at + i);
        v.d ^= w;
        for (int r = 0; r < rounds; r++) sip_round(&v);
        v.a ^= w;
    }
    uint64_t last = (uint64_t)s.n << 56;               /* the tail and the length */
    for (size_t i = whole; i < s.n; i++)
        last |= (uint64_t)(unsigned char)s.at[i] << 8 * (i - whole);
    v.d ^= last;
    for (int r = 0; r < rounds; r++) sip_round(&v);
    v.a ^= last;
    v.c ^= 0xFF;
    for (int r = 0; r < final; r++) sip_round(&v);
    return v.a ^ v.b ^ v.c ^ v.d;
}

uint64_t hash_sip24(Str s, const uint8_t key[16]) {
    return sip(s, load_le((const char *)key), load_le((const char *)key + 8), 2, 4);
}

/* The process key: generated on first use, then constant. A global, because all tables must agree on it and frozen
 * heaps keep hashes computed with it. */
static struct { uint64_t sip[2], multiply[2], add[2]; } process_key;
static atomic_bool process_key_ready;
static pthread_once_t process_key_once = PTHREAD_ONCE_INIT;

static void draw_process_key(void) {
    random_fill(&process_key, sizeof process_key);
    atomic_store_explicit(&process_key_ready, true, memory_order_release);
}

static inline void need_process_key(void) {
    if (!atomic_load_explicit(&process_key_ready, memory_order_acquire))
        pthread_once(&process_key_once, draw_process_key);
}

static inline uint32_t not_zero(uint32_t h) {
    return h + (h == 0);
}

uint32_t hash_bytes(Str s) {
    need_process_key();
    uint64_t h = sip(s, process_key.sip[0], process_key.sip[1], 1, 3);
    return not_zero((uint32_t)(h ^ h >> 32));
}

/* The upper half of a * w + b in 128 bits with random a and b is strongly universal: the hashes of any two words are
 * independent. Arithmetic progressions would stay progressions, which sometimes cluster in a table; a fixed 64-bit mix
 * prevents that and keeps the guarantee. */
uint32_t hash_word(uint64_t w) {
    need_process_key();
    unsigned __int128 low = (unsigned __int128)process_key.multiply[0] * w + process_key.add[0];
    uint64_t high = (uint64_t)(low >> 64) + process_key.multiply[1] * w + process_key.add[1];
    high = (high ^ high >> 29) * 0x9E3779B97F4A7C15;
    return not_zero((uint32_t)(high >> 32));
}
