#include "starlark/letters.h"
#include <stddef.h>

static const struct { uint32_t first, last; } ranges[] = {
#define LETTERS(first, last) { first, last },
#include "starlark/letters.def"
};

bool letters_has(uint32_t c) {
    if (c < 0x80) return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    size_t lo = 0, hi = sizeof ranges / sizeof *ranges;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (c < ranges[mid].first) hi = mid;
        else if (c > ranges[mid].last) lo = mid + 1;
        else return true;
    }
    return false;
}
