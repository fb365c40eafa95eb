#!/usr/bin/env python3
"""Writes src/base/unicode_table.h from the Unicode data that comes with Python:

    python3 tools/unicode_table.py > src/base/unicode_table.h

Run it by hand when a newer Unicode is wanted; the result is kept in the repository, so that
a build needs no Python and gives the same tables everywhere."""
import unicodedata

LAST = 0x10FFFF
HIDDEN, SHOWN, LETTER, LOWER, UPPER, TITLE, DIGIT, EVEN_UPPER, ODD_UPPER = range(9)


def kind(c):
    category = unicodedata.category(chr(c))
    if category in ("Ll", "Lu", "Lt", "Nd"):
        return {"Ll": LOWER, "Lu": UPPER, "Lt": TITLE, "Nd": DIGIT}[category]
    if category[0] == "L":
        return LETTER
    return SHOWN if category[0] in "MNPS" or c == 0x20 else HIDDEN


def runs():
    """(first, kind) for each run of alike code points; Aa Aa Aa … counts as one run."""
    kinds = [kind(c) for c in range(LAST + 1)]
    c = 0
    while c <= LAST:
        end = c
        while end <= LAST and kinds[end] == kinds[c]:
            end += 1
        pair = c
        if end == c + 1 and {kinds[c], kinds[min(end, LAST)]} == {UPPER, LOWER}:
            while pair <= LAST and kinds[pair] == kinds[c + (pair - c) % 2]:
                pair += 1
        if pair - c >= 4:
            yield c, EVEN_UPPER if (kinds[c] == UPPER) == (c % 2 == 0) else ODD_UPPER
            c = pair
        else:
            yield c, kinds[c]
            c = end


def simple(c, full, title):
    """The one-to-one mapping: Python has only the full ones, which agree where both exist."""
    if len(full) == 1:
        return ord(full)
    return ord(title) if len(title) == 1 else c


def mapping(to):
    """Runs (first, count, stride, delta) of code points that change."""
    out = []
    for c in range(0x80, LAST + 1):
        delta = to(c) - c
        if not delta:
            continue
        if out:
            first, count, stride, d = out[-1]
            step = c - (first + (count - 1) * stride)
            if d == delta and (step == stride or (count == 1 and step == 2)):
                out[-1] = (first, count + 1, step, d)
                continue
        out.append((c, 1, 1, delta))
    return out


def to_upper(c):
    return simple(c, chr(c).upper(), chr(c).title())


def to_lower(c):
    return ord("i") if c == 0x130 else simple(c, chr(c).lower(), chr(c).lower())


def rows(items, per_line):
    for i in range(0, len(items), per_line):
        print("    " + " ".join(x + "," for x in items[i:i + per_line]))


def main():
    print(f"""/* Made by tools/unicode_table.py from Unicode {unicodedata.unidata_version}: do not edit. */
#pragma once
#include <stdint.h>

enum {{ HIDDEN, SHOWN, LETTER, LOWER, UPPER, TITLE, DIGIT, EVEN_UPPER, ODD_UPPER }};

/* First code point of each run of code points with the same properties, shifted left by 4, and these properties. */
static const uint32_t unicode_runs[] = {{""")
    rows([f"0x{c << 4 | k:x}" for c, k in runs()], 16)
    print("};\n\n/* Code points first, first + stride, … that change by delta. */")
    print("typedef struct { uint32_t first; uint16_t count, stride; int32_t delta; } CaseRun;")
    for name, to in (("upper", to_upper), ("lower", to_lower)):
        print(f"static const CaseRun unicode_{name}[] = {{")
        rows(["{ 0x%x, %d, %d, %d }" % run for run in mapping(to)], 6)
        print("};")


main()
