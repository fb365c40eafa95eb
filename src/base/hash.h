/* Keyed hashing, so that an attacker without the key cannot construct collisions. */
#pragma once
#include <stdint.h>
#include "base/str.h"

uint64_t hash_sip24(Str s, const uint8_t key[16]);     /* SipHash-2-4: for stable names, e.g. of state folders */

/* With the process's random key. hash_bytes is SipHash-1-3; hash_word is multiply-shift, universal for one word. Never
 * 0, so a cache can use 0 for "not computed". */
uint32_t hash_bytes(Str s);
uint32_t hash_word(uint64_t w);
