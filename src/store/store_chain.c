#include "store/store_chain.h"

static void add_number(StoreChain *c, char type, uint64_t v) {
    char bytes[9] = { type };
    for (int i = 0; i < 8; i++) bytes[1 + i] = (char)(v >> (8 * i));
    sha256_add(&c->sha, (Str){ bytes, sizeof bytes });
}

void store_chain_first(Str about, uint8_t out[SHA256_BYTES]) {
    StoreChain c;
    sha256_init(&c.sha);
    sha256_add(&c.sha, STR("harness chain 1"));
    store_chain_text(&c, about);
    store_chain_end(&c, out);
}

void store_chain_begin(StoreChain *c, const uint8_t previous[SHA256_BYTES]) {
    sha256_init(&c->sha);
    sha256_add(&c->sha, (Str){ (const char *)previous, SHA256_BYTES });
}

void store_chain_int(StoreChain *c, int64_t v) { add_number(c, 'i', (uint64_t)v); }

void store_chain_text(StoreChain *c, Str v) {
    add_number(c, 's', v.n);
    sha256_add(&c->sha, v);
}

void store_chain_end(StoreChain *c, uint8_t out[SHA256_BYTES]) { sha256_end(&c->sha, out); }
