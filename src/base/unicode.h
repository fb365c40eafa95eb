/* Properties and simple case mappings of code points (one to one: the upper case of 'ß' is 'ß'). Uses its own tables,
 * so that results do not depend on the locale or the C library. Any uint32_t is accepted. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

bool unicode_is_letter(uint32_t c);               /* categories Lu Ll Lt Lm Lo */
bool unicode_is_digit(uint32_t c);                /* Nd */
bool unicode_is_upper(uint32_t c);                /* Lu */
bool unicode_is_lower(uint32_t c);                /* Ll */
bool unicode_is_title(uint32_t c);                /* Lt */
bool unicode_is_space(uint32_t c);                /* property White_Space */
bool unicode_is_printable(uint32_t c);            /* letters, marks, numbers, punctuation, symbols, ' ' */
bool unicode_is_cased(uint32_t c);                /* has another form in another case */

uint32_t unicode_to_upper(uint32_t c);
uint32_t unicode_to_lower(uint32_t c);
uint32_t unicode_to_title(uint32_t c);
