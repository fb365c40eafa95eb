/* The text as libyaml should see it. Checked: valid UTF-8, no control characters. And
 * U+0085, U+2028 and U+2029, which libyaml breaks lines at (YAML 1.1) while YAML 1.2 takes
 * them for ordinary characters, are swapped for private-use characters that the text does
 * not use; yaml_text_restore() swaps them back in each scalar. */
#pragma once
#include "value/places.h"

enum { YAML_SWAPS = 3 };
typedef struct YamlText {
    Str text;                       /* without a byte-order mark; the caller's bytes, or those of `copy` */
    Buf copy, scratch;
    uint32_t stand_in[YAML_SWAPS];  /* 0: nothing was swapped */
} YamlText;

/* `t` must be zeroed; yaml_text_clear() it also after a failure. Messages have no prefix; `*at` is where. */
bool yaml_text_prepare(YamlText *t, Str raw, Place *at, Error *err);
Str yaml_text_restore(YamlText *t, Str scalar);   /* as it stood in the file; good until the next call */
void yaml_text_clear(YamlText *t);

/* Line and column, both from 1, of a byte offset. */
Place yaml_text_place(Str text, size_t offset);
