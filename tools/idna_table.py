#!/usr/bin/env python3
"""Writes src/schema/idna_table.h: the classes of code points of RFC 5892 (IDNA 2008).

Usage: tools/idna_table.py > src/schema/idna_table.h
The data is Python's own (unicodedata), so it is as new as the Python that runs this.
"""
import sys
import unicodedata as u

EXCEPT_VALID = {0xDF, 0x3C2, 0x6FD, 0x6FE, 0xF0B, 0x3007}
EXCEPT_NOT = {0x640, 0x7FA, 0x302E, 0x302F, *range(0x3031, 0x3036), 0x303B}
CONTEXT = {0xB7, 0x375, 0x5F3, 0x5F4, 0x30FB, *range(0x660, 0x66A), *range(0x6F0, 0x6FA), 0x200C, 0x200D}
IGNORABLE = [(0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x3164, 0x3164), (0xFE00, 0xFE0F),
             (0xFFA0, 0xFFA0), (0x20D0, 0x20FF), (0x1D100, 0x1D24F), (0xE0000, 0xE0FFF)]
OLD_JAMO = [(0x1100, 0x11FF), (0xA960, 0xA97C), (0xD7B0, 0xD7FB)]


def inside(c, ranges):
    return any(a <= c <= b for a, b in ranges)


def valid(c):
    char = chr(c)
    if c in EXCEPT_VALID:
        return True
    if c in EXCEPT_NOT or c in CONTEXT or u.category(char) == "Cn":
        return False
    if c < 0x80:
        return char in "-0123456789abcdefghijklmnopqrstuvwxyz"
    if inside(c, OLD_JAMO) or inside(c, IGNORABLE):
        return False
    if u.normalize("NFKC", u.normalize("NFKC", char).casefold()) != char:
        return False
    return u.category(char) in ("Ll", "Lu", "Lo", "Nd", "Lm", "Mn", "Mc")


def plain(c):
    """What the program can tell without a table: letters in lower case or without case, and digits."""
    return u.category(chr(c)) in ("Ll", "Lo", "Nd", "Lm")


def table(name, about, test):
    ranges, start = [], None
    for c in range(0x110000):
        hit = not 0xD800 <= c < 0xE000 and test(c)
        if hit and start is None:
            start = c
        elif not hit and start is not None:
            ranges.append((start, c - 1))
            start = None
    print(f"\n/* {about} */\nstatic const IdnaRange {name}[] = {{")
    cells = [f"{{0x{a:X},0x{b:X}}}," for a, b in ranges]
    for i in range(0, len(cells), 8):
        print("    " + " ".join(cells[i:i + 8]))
    print("};")


print(f"""/* Written by tools/idna_table.py from Unicode {u.unidata_version}. */
#pragma once
#include <stdint.h>

typedef struct {{ uint32_t from, to; }} IdnaRange;""")
table("idna_refused", "Letters and digits that RFC 5892 disallows in a label, except upper case.",
      lambda c: plain(c) and not valid(c))
table("idna_marks", "All marks.", lambda c: u.category(chr(c))[0] == "M")
table("idna_good_marks", "Marks allowed in a label.", lambda c: u.category(chr(c))[0] == "M" and valid(c))
table("idna_viramas", "Viramas (combining class 9).", lambda c: u.combining(chr(c)) == 9)
table("idna_right_to_left", "Right-to-left letters.",
      lambda c: u.bidirectional(chr(c)) in ("R", "AL") and u.category(chr(c)) != "Cn")
table("idna_arabic_numbers", "Digits of Arabic numbers (AN).", lambda c: u.bidirectional(chr(c)) == "AN")
sys.stdout.flush()
