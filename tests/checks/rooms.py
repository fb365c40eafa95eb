#!/usr/bin/env python3
"""Checks the layout of the sources: rooms.py ROOT

1. A file includes headers only of its own room and of rooms above it (the lists below), always
   as "ROOM/FILE.h" or "ROOM/INNER/FILE.h".
2. A public name starts with the name of its header, of its room, or of a type of that room:
   everything public in value/dict.h starts with dict_. Types are CamelCase and exempt. A room
   with a kind of value of its own may add value_KIND and value_is_KIND.
3. No source file has more than 1000 lines.
4. A file of ours that a comment names exists: "dict.c", or "value/dict.h" with its room. Capitals in a
   name are placeholders (builtin_X.c); names in < > and below folders that are not rooms are not ours.

Prints one line per problem, FILE:LINE: text, and exits 1 if there is one.
"""
import re
import sys
from pathlib import Path

ROOMS = """base shell value starlark schema template sandbox net desktop event store artifact policy script hook tool
model agent mcp guard doors cli""".split()
DOOR = re.compile(r"harness(_\w+)?\.[ch]")    # implements include/harness.h: may include all rooms
MAX_LINES = 1000
# Inner rooms, in their order: a file in one includes headers of its own and of those before it. Files that lie directly
# in the room may use all of them, and be used by them.
INNER = {
    "starlark": "syntax vm library compile".split(),
    "tool": "pipeline protect kind task bridge builtin".split(),
    "mcp": "wire oauth remote host".split(),
    "cli": "terminal command".split(),
}
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
FILE_NAME = re.compile(r"(?<![\w/.<*-])((?:[\w-]+/)*)([a-z0-9_]+\.(?:c|h|def))\b")

# Further prefixes: of an inner room, and for closely related types of a header.
ALSO = {"value/dict.h": ["set"], "value/string.h": ["bytes"], "starlark/vm/universe.h": ["lib"], "mcp/host": ["serve", "peer"]}


def rank(room):
    return ROOMS.index(room)


def check_include(room, target, quoted):
    """The problem with including `target` from `room` (None: harness*.c), or None."""
    first, slash, _ = target.partition("/")
    if not quoted:
        return f'include the room header as "{target}"' if slash and first in ROOMS else None
    if target == "harness.h":
        return None if room in (None, "cli") else f"{room}/ may not use the public header"
    if room is None and DOOR.fullmatch(target):
        return None
    if not slash or first in (".", ".."):
        return f'include "{target}" by room: "ROOM/FILE.h"'
    if first not in ROOMS:
        return f'"{target}": {first}/ is not a room'
    if room and rank(first) > rank(room):
        return f'{room}/ may not use "{target}": {first}/ is below it'
    return None


def check_inner(room, inner, target):
    """The problem with including `target` from the inner room `inner` of `room`, or None."""
    parts = target.split("/")
    order = INNER.get(room, [])
    if len(parts) != 3 or parts[0] != room or inner not in order or parts[1] not in order:
        return None
    if order.index(parts[1]) > order.index(inner):
        return f'{room}/{inner}/ may not use "{target}": {parts[1]}/ is below it'
    return None


def includes(text):
    """(line number, target, quoted) of each #include outside of comments."""
    for number, line in enumerate(blank_comments(text).split("\n"), 1):
        found = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line)
        if found:
            yield number, found[1] or found[2], bool(found[1])


def blank_comments(text):
    """The text with comments replaced by spaces; keeps strings and line breaks."""
    return TOKEN.sub(lambda m: m[0] if m[0][0] in "\"'" else re.sub(r"[^\n]", " ", m[0]), text)


def named_files(text):
    """(line number, folder with its slash or "", name) of each file that a comment names."""
    for comment in (m for m in TOKEN.finditer(text) if m[0][0] == "/"):
        for found in FILE_NAME.finditer(comment[0]):
            yield text.count("\n", 0, comment.start() + found.start()) + 1, found[1], found[2]


def check_named(root, known, text):
    for line, folder, name in named_files(text):
        first = folder.partition("/")[0]
        if folder and first != "src" and first not in ROOMS:
            continue
        there = (root / folder / name).is_file() or (root / "src" / folder / name).is_file() if folder else name in known
        if not there:
            yield line, f"a comment names {folder}{name}, which does not exist"


def outer_code(text):
    """The header without comments, directives and everything inside braces."""
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]),
                  blank_comments(text), flags=re.M)
    out, depth = [], 0
    for char in text:
        depth -= char == "}"
        if depth == 0 or char == "\n":
            out.append(";" if char == "}" else char)
        depth += char == "{"
    return "".join(out)


def public_names(text):
    """(line number, name) of each function and variable that a header declares."""
    code = outer_code(text)
    start = 0
    for end in (m.start() for m in re.finditer(r"[;{]", code + ";")):
        statement = re.sub(r"__attribute__\s*\(\(.*\)\)", "", code[start:end], flags=re.S)
        offset = start + len(statement) - len(statement.lstrip())
        start = end + 1
        words = statement.split()
        if not words or words[0] in ("typedef", "enum", "struct", "union", "_Static_assert") and "(" not in statement:
            continue
        if words[0] in ("typedef", "_Static_assert"):
            continue
        function = re.search(r"(\w+)\s*\(", statement)
        variable = re.search(r"(\w+)\s*(?:\[[^\]]*\])*\s*$", statement)
        name = function or (variable if "extern" in words else None)
        if name:
            yield code.count("\n", 0, offset) + 1, name[1]


def type_prefixes(headers):
    """dict for Dict, json_keys for JsonKeys: what the types of a room allow as prefixes."""
    for text in headers:
        for name in re.findall(r"(?:\bstruct|\benum|\bunion|\btypedef[^;{]*?|\})\s*\**([A-Z]\w*)\s*[;{]", blank_comments(text)):
            yield re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def check_names(root, room, headers):
    types = set(type_prefixes(headers.values()))
    for path, text in headers.items():
        relative = path.relative_to(root / "src").as_posix()
        inner = path.parent.relative_to(root / "src").as_posix()
        allowed = {path.stem, path.stem.removesuffix("_private"), path.parent.name if "/" in inner else room or "harness", room or "harness"} | types
        allowed |= set(ALSO.get(relative, []) + ALSO.get(inner, []))
        accessors = {f"value_{kind}" for kind in types} | {f"value_is_{kind}" for kind in types}
        for line, name in public_names(text):
            if name not in allowed | accessors and not any(name.startswith(prefix + "_") for prefix in allowed):
                yield f"src/{relative}:{line}: {name}: a public name here starts with {path.stem}_ or {room}_"


def check(root):
    root = Path(root)
    known = {path.name for top in ("src", "include", "tests", "bench") for path in (root / top).rglob("*.*")}
    by_room = {}
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".c", ".h", ".def"):
            continue
        parts = path.relative_to(root / "src").parts
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        if len(parts) == 1 and not DOOR.fullmatch(parts[0]):
            yield f"{name}:1: a source file lives in a room"
            continue
        room = parts[0] if len(parts) > 1 else None
        if room and room not in ROOMS:
            yield f"{name}:1: {room}/ is not a room"
            continue
        if len(parts) > 2 and (len(parts) > 3 or parts[1] not in INNER.get(room, [])):
            yield f"{name}:1: {room}/{parts[1]}/ is not an inner room"
        if text.count("\n") > MAX_LINES:
            yield f"{name}:{MAX_LINES + 1}: {text.count(chr(10))} lines; split it at {MAX_LINES}"
        for line, target, quoted in includes(text):
            problem = check_include(room, target, quoted) or check_inner(room, parts[1] if len(parts) > 2 else None, target)
            if problem:
                yield f"{name}:{line}: {problem}"
        for line, problem in check_named(root, known, text):
            yield f"{name}:{line}: {problem}"
        if path.suffix == ".h":
            by_room.setdefault(room, {})[path] = text
    for room, headers in by_room.items():
        yield from check_names(root, room, headers)


if __name__ == "__main__":
    problems = list(check(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(problems) if problems else "the layout of the sources is right")
    sys.exit(bool(problems))
