#!/usr/bin/env python3
"""Tests layout.py: texts, and the problems it must report."""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import layout  # noqa: E402

SPACE = "white space: run tests/checks/layout.py . --fix"
CASES = [
    ("int a;\n", []),
    ("int a; \n", [(1, SPACE)]),
    ("int a;", [(1, SPACE)]),
    ("int a;\n\n\nint b;\n", [(1, SPACE)]),
    ("\tint a;\n", [(1, SPACE)]),
    ("int a;\r\n", [(1, SPACE)]),
    ("x" * 161 + "\n", [(1, "161 columns; break it at 160")]),
    ('f("' + "x" * 170 + '");\n', []),
]

ok = True
for text, expected in CASES:
    got = list(layout.check_text(Path("a.c"), text))
    if got != expected:
        ok = False
        print(f"{text!r}: got {got}, expected {expected}")
    if list(layout.check_text(Path("a.c"), layout.repaired(text)))[:1] == [(1, SPACE)]:
        ok = False
        print(f"{text!r}: --fix does not repair it")
print("layout.py reports what it should" if ok else "layout.py is wrong")
sys.exit(not ok)
