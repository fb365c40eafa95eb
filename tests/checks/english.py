#!/usr/bin/env python3
"""Checks the English of comments, messages and documentation: english.py ROOT

1. In the paths listed in CLEAN, no comment, message or page names an unknown actor ("whoever", "somebody",
   "nobody" …) or uses a phrase of QUIRKS. Name the thread, the caller, the client or the user instead.
2. A file that a comment of a C, Python, JavaScript or shell source names exists: "dict.c" anywhere, or
   "value/dict.h" below src/ or the root.
3. A function that a comment of a C source names as "name()", and any word with an underscore in it, exists: as an
   identifier in the code, as a function or key in a string, or in OUTSIDE.

4. A path that CONTRIBUTING.md names in backticks exists. Capitals in a path are placeholders.

Prints one line per problem, FILE:LINE: text, and exits 1 if there is one.
"""
import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import rooms  # noqa: E402

CLEAN = """src include bench scripts tools tests docs examples CONTRIBUTING.md README.md""".split()

ACTORS = re.compile(r"(?<!`)(?<!the user )\b(whoever|somebody|someone|nobody|anybody|everybody)\b(?!/)", re.I)
# Turns of phrase that need a second reading, each with what to write instead.
QUIRKS = [(re.compile(pattern, re.I), advice) for pattern, advice in (
    (r"\bwhat stands\b|\bstands (?:there|beside|behind)\b", 'write "is" or name the text'),
    (r"(?<!there )(?<!here )\bis no (?!longer\b|more\b)\w+", 'write "is not a"'),
    (r"\b(?:is|are) (?:under way|at work)\b", 'write "is running" or "in flight"'),
    (r"\banew\b", 'write "again"'),
    (r"\bcan(?:not)? be had\b", 'write "is (not) available"'),
    (r"\bgiven to nobody\b|\ba giant\b|\bin good order\b", "say what happens, in ordinary terms"),
    (r"\b(?:is|are) (?:passed over|told of)\b", 'write "is skipped" or "is reported"'))]
FILE_NAME = re.compile(r"(?<![\w/.<*~$-])((?:[\w.-]+/)*)([a-z0-9_]+\.(?:c|h|def|py|mjs|sh))\b(?![\w/*])")
TITLE = re.compile(r"""^\s*(?:test|describe)\((['"`])((?:\\.|(?!\1).)*)\1""", re.M)
FUNCTION = re.compile(r"(?<![\w.>$\\])([a-z_][a-z0-9_]*)\(\)")
WORD = re.compile(r"(?<![\w/.<-])([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?![\w.*/(-])")
PATH = re.compile(r"`([a-z][a-z0-9_./-]*/[a-z0-9_./-]*)`")
C_LIKE, OTHER = (".c", ".h", ".def"), (".py", ".mjs", ".sh", ".go", ".star", ".lua", ".md", ".txt")
OWN = ("tests/checks/english.py", "tests/checks/test_english.py")    # they quote what they forbid
DATA = ("tests/mcp-conformance/.harness/", "tests/unit/tool/guard_cases.def", "examples/ops-space/agent/")    # text of a scenario
SKIP = {"node_modules", "corpus", "fixtures", "__pycache__"}
# Functions of libraries and of the kernel that comments may name, and names that only occur in examples.
OUTSIDE = set("""abort close connect exec exit fork free getaddrinfo ioctl kill listen main malloc memfd_create mmap open
poll read realpath rename select send setsid sigaction socket strerror unlink unshare vfork wait waitpid write
filtered_result join_def json_decref""".split())


def sources(root, tops=("src", "include", "tests", "bench", "scripts", "docs", "tools", "examples")):
    """The files of the repository, without those that are generated or data."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "--", *tops, "*.md"],
                            capture_output=True, text=True, check=False)
    names = listed.stdout.splitlines() if listed.returncode == 0 else [
        p.relative_to(root).as_posix() for p in [*root.glob("*.md"), *(q for top in tops for q in (root / top).rglob("*"))]]
    for name in sorted(set(names)):
        path = root / name
        if path.suffix in C_LIKE + OTHER and not SKIP & set(path.parts[len(root.parts):]) and path.is_file():
            yield name, path


def hash_comments(name, text):
    """(offset, text) of each comment that starts with # or //, and of each docstring of Python."""
    for found in re.finditer(r'^[ \t]*"""(.*?)"""', text, re.S | re.M) if name.endswith(".py") else ():
        yield found.start(1), found[1]
    for found in re.finditer(r"(?:^|(?<=\s))(?:#(?!!)|//)[ \t]?([^\n]*)", text, re.M):
        before = text[text.rfind("\n", 0, found.start()) + 1:found.start()]
        if not any(before.count(quote) % 2 for quote in "\"'`"):    # inside a string?
            yield found.start(1), found[1]


def comments(name, text):
    """(offset, text) of each comment."""
    if name.endswith(C_LIKE):
        return [(m.start(), m[0]) for m in rooms.TOKEN.finditer(text) if m[0][0] == "/"]
    return list(hash_comments(name, text)) if not name.endswith((".md", ".txt")) else []


def prose(name, text):
    """(offset, text) of everything that a person reads: comments, strings of several words, titles of tests, or a whole page."""
    if name.endswith(C_LIKE):
        return [(m.start(), m[0]) for m in rooms.TOKEN.finditer(text) if m[0][0] == "/" or (m[0][0] == '"' and " " in m[0])]
    if name.endswith((".mjs", ".py")) and name.startswith(("tests/", "examples/")):     # their strings are data
        return comments(name, text) + [(m.start(2), m[2]) for m in TITLE.finditer(text)]
    return [(0, text)] if not name.endswith((".txt", ".star", ".lua", ".go")) else comments(name, text)


def is_clean(name):
    return any(name == path or name.startswith(path + "/") for path in CLEAN) and not name.startswith(DATA)


def identifiers(files):
    """Every identifier of the code, every word in its strings, and every word of scripts and reference pages."""
    known = set(OUTSIDE)
    for name, path in files:
        if name.endswith(C_LIKE):
            known |= set(re.findall(r"\w+", rooms.blank_comments(path.read_text(encoding="utf-8"))))
        elif not name.endswith(".md") or name.startswith("docs/reference/"):
            known |= set(re.findall(r"\w+", path.read_text(encoding="utf-8", errors="replace")))
    return known


def check(root):
    root = Path(root).resolve()
    files = [(name, path) for name, path in sources(root) if name not in OWN]
    known = identifiers(files)
    names = {path.name for path in root.rglob("*.*") if "node_modules" not in path.parts and ".git" not in path.parts}
    for name, path in files:
        text = path.read_text(encoding="utf-8", errors="replace")

        def at(offset):
            return f"{name}:{text.count(chr(10), 0, offset) + 1}"

        if is_clean(name):
            for start, part in prose(name, text):
                for found in ACTORS.finditer(part):
                    yield f'{at(start + found.start())}: "{found[0]}" is not an actor: name the thread, caller, client or user'
                for pattern, advice in QUIRKS:
                    for found in pattern.finditer(part):
                        yield f'{at(start + found.start())}: "{found[0]}": {advice}'
        for found in PATH.finditer(text) if name == "CONTRIBUTING.md" else ():
            if not (root / found[1]).exists():
                yield f"{at(found.start())}: {found[1]} does not exist"
        for start, part in comments(name, text):
            for found in FILE_NAME.finditer(part):
                folder, file = found[1], found[2]
                near = [root / folder, root / "src" / folder, path.parent / folder, root / "tests" / folder]
                if not (any((p / file).is_file() for p in near) if folder else file in names):
                    yield f"{at(start + found.start())}: a comment names {folder}{file}, which does not exist"
            if name.endswith(C_LIKE):
                for found in [*FUNCTION.finditer(part), *WORD.finditer(part)]:
                    if found[1] not in known:
                        yield f"{at(start + found.start())}: a comment names {found[0]}, which does not exist"


if __name__ == "__main__":
    problems = list(check(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(problems) if problems else "comments name actors, files and functions that exist")
    sys.exit(bool(problems))
