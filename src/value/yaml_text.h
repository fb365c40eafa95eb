/* Prepares text for libyaml. Checks that it is valid UTF-8 without control characters. Replaces
 * U+0085, U+2028 and U+2029, which libyaml treats as line breaks (YAML 1.1) but YAML 1.2 as
 * ordinary characters, with private-use characters that the text does not contain;
 * yaml_text_restore() reverses that in each scalar. */
#pragma once
#include "value/places.h"

enum { YAML_SWAPS = 3 };
typedef struct YamlText {
    Str text;                       /* without a byte-order mark; the caller's bytes, or those of `copy` */
    Buf copy, scratch;
    uint32_t stand_in[YAML_SWAPS];  /* 0: nothing was replaced */
} YamlText;

/* `t` must be zeroed; call yaml_text_clear() even after a failure. Messages have no prefix; `*at` is the
 * position. */
bool yaml_text_prepare(YamlText *t, Str raw, Place *at, Error *err);
Str yaml_text_restore(YamlText *t, Str scalar);   /* the original text; valid until the next call */
void yaml_text_clear(YamlText *t);

/* Line and column, both from 1, of a byte offset. */
Place yaml_text_place(Str text, size_t offset);
