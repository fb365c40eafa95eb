#!/usr/bin/env python3
"""Prints a random sample of the repository's English, for review: comments, sentences of the documentation, messages.

usage: scripts/sample.py [--seed N] [--comments N] [--sentences N] [--messages N] [PATH...]

The same seed prints the same sample of the same tree. PATH limits the sample to files below it. Comments come from
sources, tests and scripts; sentences from Markdown pages (prose, list items and cells of tables, without code);
messages from string literals of src/ that contain at least two words, with … for inserted text.
"""
import argparse
import random
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "checks"))
import english  # noqa: E402
import rooms  # noqa: E402

PAGES = ("docs/", "examples/", "bench/")
DATA = ("src/template/programs.def", "src/schema/meta.c", "src/schema/idna_table.h", "src/shell/wrappers.def", "src/tool/builtin/grep_types.def",
        "src/tool/protect/protected.def", "src/starlark/vm/opcodes.def", "src/store/store_statements.def")    # strings that are not messages
WORD = re.compile(r"[A-Za-z]{2,}")
LITERALS = re.compile(r'"(?:\\.|[^"\\\n])*"(?:\s*(?:STR_FMT|PRI\w+)?\s*"(?:\\.|[^"\\\n])*")*')


def place(name, text, offset):
    return f"{name}:{text.count(chr(10), 0, offset) + 1}"


def plain(text):
    """A comment on one line, without its delimiters and leading stars."""
    text = re.sub(r"^/\*+|\*+/$", "", text.strip())
    return " ".join(re.sub(r"(?m)^\s*(?:\*|//|#)\s?", "", text).split())


def comments(name, text):
    """(place, comment); consecutive lines of // or # are one comment, section titles are left out."""
    found, last_end = [], None
    for start, part in english.comments(name, text):
        between = text[last_end:start] if last_end is not None else "x"
        if name.endswith(english.C_LIKE) and not part.startswith("//") or not re.fullmatch(r"\n[ \t]*(?:#|//)?[ \t]?", between):
            found.append([place(name, text, start), plain(part)])
        else:
            found[-1][1] += " " + plain(part)
        last_end = start + len(part)
    for at, comment in found:
        if len(WORD.findall(comment)) >= 2 and not re.match(r"-{3,} ", comment):
            yield at, comment


def blocks(text):
    """(line number, text) of each paragraph, list item, heading and table cell of a page, without code blocks."""
    code, block, start = False, [], 0
    for number, line in enumerate(text.split("\n") + [""], 1):
        fence = re.match(r"\s*(```|~~~)", line)
        table, item = line.lstrip().startswith("|"), re.match(r"\s*(?:[-*]|\d+\.|#+)\s+", line)
        if block and (fence or table or item or not line.strip()):
            yield start, " ".join(block)
            block = []
        if fence:
            code = not code
        elif code or re.match(r"[\s|:-]*$", line):
            continue
        elif table:
            for cell in line.strip().strip("|").split(" | "):
                yield number, cell.strip(" |")
        else:
            if not block:
                start = number
            block.append(re.sub(r"^\s*(?:[-*]|\d+\.|#+)\s+", "", line).strip())


def sentences(name, text):
    for number, block in blocks(text):
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`*\[\"])", block):
            if len(WORD.findall(re.sub(r"`[^`]*`|\]\([^)]*\)", "", sentence))) >= 3:
                yield f"{name}:{number}", sentence


def messages(name, text):
    code = rooms.blank_comments(text)
    for found in LITERALS.finditer(code):
        line = code[code.rfind("\n", 0, found.start()) + 1:found.start()]
        message = re.sub(r'"\s*(?:STR_FMT|PRI\w+)\s*"', "…", found[0])
        message = "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', message))
        if len(WORD.findall(re.sub(r"%[\w.*-]*|\\.", " ", message))) >= 2 and " " in message and "#include" not in line:
            yield place(name, code, found.start()), message


def gather(paths):
    """All candidates: {kind: [(place, text)]}."""
    all_of = {"comments": [], "sentences": [], "messages": []}
    for name, path in english.sources(ROOT):
        if paths and not any(name == p or name.startswith(p.rstrip("/") + "/") for p in paths):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if name.endswith(".md"):
            all_of["sentences"] += sentences(name, text) if name.startswith(PAGES) or "/" not in name else []
        elif not name.endswith((".txt", ".star")):
            all_of["comments"] += comments(name, text)
        if name.startswith("src/") and name.endswith(english.C_LIKE) and name not in DATA:
            all_of["messages"] += messages(name, text)
    return all_of


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    for kind in ("comments", "sentences", "messages"):
        parser.add_argument(f"--{kind}", type=int, default=20, metavar="N")
    parser.add_argument("paths", nargs="*", metavar="PATH")
    options = parser.parse_args()
    for kind, found in gather(options.paths).items():
        chosen = random.Random(f"{options.seed} {kind}").sample(found, min(getattr(options, kind), len(found)))
        print(f"== {len(chosen)} of {len(found)} {kind}")
        for at, text in sorted(chosen):
            print(f"{at}: {text}")
        print()


if __name__ == "__main__":
    main()
