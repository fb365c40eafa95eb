/* Chains of SHA-256 hashes over rows. The hash of a row covers the hash of the row before it and the stored bytes of the row itself, so a row that
 * is changed, removed or inserted does not fit its neighbours. A program that can write the file can compute a new chain: a chain shows accidents and careless
 * changes, and with a copy of the last hash kept elsewhere it shows every change.
 *
 *     StoreChain c;
 *     store_chain_first(STR("run:ID"), hash);               the hash before the first row
 *     store_chain_begin(&c, hash);
 *     store_chain_int(&c, seq), store_chain_text(&c, data);  all columns in a fixed order
 *     store_chain_end(&c, hash);                             the hash of this row */
#pragma once
#include "base/sha256.h"

typedef struct StoreChain { Sha256 sha; } StoreChain;

/* `about` names the chain: rows moved from another chain do not fit. */
void store_chain_first(Str about, uint8_t out[SHA256_BYTES]);
void store_chain_begin(StoreChain *c, const uint8_t previous[SHA256_BYTES]);
/* Each value is added with its type and length, so that two different rows never give the same bytes. */
void store_chain_int(StoreChain *c, int64_t v);
void store_chain_text(StoreChain *c, Str v);
void store_chain_end(StoreChain *c, uint8_t out[SHA256_BYTES]);
