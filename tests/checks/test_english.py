#!/usr/bin/env python3
"""Tests english.py itself: a small tree that breaks every rule, and the problems it must report."""
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import english  # noqa: E402

ACTOR = "is not an actor: name the thread, caller, client or user"
FILES = {
    "src/value/dict.c": """\
/* Whoever holds the lock; see dict.h, gone.c and value/gone.h. */
#include "value/dict.h"
/* dict_put() calls dict_gone() and write(); dict_lost is old, limit_key is a key. */
bool dict_put(void) { return fail("nobody holds \\"limit_key\\""); }   /* nobody's */
""",
    "src/value/dict.h": "bool dict_put(void);\n",
    "src/other/main.c": "/* A request is under way, which is no event; other/none.c is not there. */\n",
    "tests/e2e/x.test.mjs": "// See x.test.mjs.\ntest('nobody asks', t => run('somebody'));\n",
    "scripts/run.sh": "#!/bin/sh\n# Someone runs scripts/other.sh and scripts/run.sh.\necho gone.c\n",
    "scripts/tool.py": '"""Uses tool.py and lost.py."""\nTEXT = """\nnone.c\n"""\n',
    "docs/internals/glossary.md": "# Words\n\nnobody\n",
    "CONTRIBUTING.md": "See `src/value/dict.c`, `src/gone/`, `tests/unit/ROOM/test_FILE.c`.\n",
    "docs/concepts.md": "Runs as the user nobody, or `nobody`.\n",
    "CHANGELOG.md": "whoever, not checked\n",
}
EXPECTED = f"""\
CONTRIBUTING.md:1: src/gone/ does not exist
docs/internals/glossary.md:3: "nobody" {ACTOR}
scripts/run.sh:2: "Someone" {ACTOR}
scripts/run.sh:2: a comment names scripts/other.sh, which does not exist
scripts/tool.py:1: a comment names lost.py, which does not exist
src/other/main.c:1: "is no event": write "is not a"
src/other/main.c:1: "is under way": write "is running" or "in flight"
src/other/main.c:1: a comment names other/none.c, which does not exist
tests/e2e/x.test.mjs:2: "nobody" {ACTOR}
src/value/dict.c:1: "Whoever" {ACTOR}
src/value/dict.c:1: a comment names gone.c, which does not exist
src/value/dict.c:1: a comment names value/gone.h, which does not exist
src/value/dict.c:3: a comment names dict_gone(), which does not exist
src/value/dict.c:3: a comment names dict_lost, which does not exist
src/value/dict.c:4: "nobody" {ACTOR}
src/value/dict.c:4: "nobody" {ACTOR}
""".splitlines()

with tempfile.TemporaryDirectory() as top:
    for name, text in FILES.items():
        path = Path(top, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    got = sorted(set(english.check(top)))
expected = sorted(set(EXPECTED))
for line in sorted(set(expected) - set(got)):
    print(f"not reported: {line}")
for line in sorted(set(got) - set(expected)):
    print(f"not expected: {line}")
print("english.py reports what it should" if got == expected else "english.py is wrong")
sys.exit(got != expected)
