/* Which characters may stand in a name. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

bool letters_has(uint32_t codepoint);                /* a letter of any script (not digits, not "_") */
