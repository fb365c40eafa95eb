#!/usr/bin/env python3
"""Checks the layout of C files: layout.py ROOT [--fix]

1. No tab, no carriage return, no blank at the end of a line, one newline at the end of the file, no two empty lines in a row.
2. No line of more than 160 columns. Exempt: tables (.def), preprocessor lines, and a line whose excess is string literals.

--fix repairs the first rule. Prints one line per problem, FILE:LINE: text, and exits 1 if there is one.

A formatter is not used: clang-format 14 breaks structs, enums and table rows that are written on one line.
"""
import re
import sys
from pathlib import Path

COLUMNS = 160
FOLDERS = ["src", "include", "tests/unit", "tests/helpers", "tests/fuzz", "tests/sandbox", "bench"]


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".def") and "node_modules" not in path.parts:
                yield path


def repaired(text):
    lines = [line.replace("\t", "    ").rstrip() for line in text.replace("\r", "").split("\n")]
    out = "\n".join(lines).rstrip("\n") + "\n"
    return re.sub(r"\n{3,}", "\n\n", out)


def is_exempt(path, line):
    """A literal is not broken: messages are found by searching for their text."""
    if path.suffix == ".def" or line.lstrip().startswith("#") or line.endswith("\\"):
        return True
    literals = re.findall(r'"(?:[^"\\]|\\.)*"', line)
    return bool(literals) and len(line) - sum(map(len, literals)) <= COLUMNS


def check_text(path, text):
    if text != repaired(text):
        yield 1, "white space: run tests/checks/layout.py . --fix"
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > COLUMNS and not is_exempt(path, line):
            yield number, f"{len(line)} columns; break it at {COLUMNS}"


def check(root, fix=False):
    root = Path(root)
    for path in sources(root):
        text = path.read_text(encoding="utf-8")
        if fix and text != repaired(text):
            text = repaired(text)
            path.write_text(text, encoding="utf-8")
        for number, problem in check_text(path, text):
            yield f"{path.relative_to(root).as_posix()}:{number}: {problem}"


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--fix"]
    problems = list(check(arguments[0] if arguments else ".", "--fix" in sys.argv))
    print("\n".join(problems) if problems else "the layout of the lines is right")
    sys.exit(bool(problems))
