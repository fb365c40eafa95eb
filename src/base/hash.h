/* Keyed hashing, so that nobody who does not know the key can choose colliding keys. */
#pragma once
#include <stdint.h>
#include "base/str.h"

uint64_t hash_sip24(Str s, const uint8_t key[16]);     /* SipHash-2-4: stable names, e.g. of state folders */

/* The process's own random key, drawn once. hash_bytes is SipHash-1-3; hash_word is
 * multiply-shift, which is universal for one word. Never zero, so a cache can use 0. */
uint32_t hash_bytes(Str s);
uint32_t hash_word(uint64_t w);
