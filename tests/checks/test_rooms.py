#!/usr/bin/env python3
"""Tests rooms.py itself: a small tree that breaks every rule, and the problems it must report."""
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import rooms  # noqa: E402

EXPECTED = """\
src/base/bad.h:2: base/ may not use "value/value.h": value/ is below it
src/base/bad.h:3: include the room header as "value/value.h"
src/base/bad.h:4: include "good.h" by room: "ROOM/FILE.h"
src/base/bad.h:5: include "../base/good.h" by room: "ROOM/FILE.h"
src/base/bad.h:8: stray: a public name here starts with bad_ or base_
src/base/bad.h:9: wild_counter: a public name here starts with bad_ or base_
src/base/bad.h:10: value_is_other: a public name here starts with bad_ or base_
src/base/bad.h:11: other_thing: a public name here starts with bad_ or base_
src/base/comment.c:1: a comment names gone.c, which does not exist
src/base/comment.c:2: a comment names value/gone.h, which does not exist
src/base/good.h:3: a comment names cli/main.h, which does not exist
src/base/good_private.h:2: part: a public name here starts with good_private_ or base_
src/cellar/wine.h:1: cellar/ is not a room
src/cli/attic/box.h:1: cli/attic/ is not an inner room
src/cli/terminal/screen.h:2: cli/terminal/ may not use "cli/command/run.h": command/ is below it
src/cli/terminal/screen.h:5: paint: a public name here starts with screen_ or cli_
src/lost.c:1: a source file lives in a room
src/value/value.c:2: "cellar/wine.h": cellar/ is not a room
src/value/value.c:3: value/ may not use the public header
src/value/value.c:4: value/ may not use "cli/main.h": cli/ is below it
""".splitlines()


def compare(title, got, expected):
    for line in sorted(set(expected) - set(got)):
        print(f"{title}: not reported: {line}")
    for line in sorted(set(got) - set(expected)):
        print(f"{title}: not expected: {line}")
    return sorted(got) == sorted(expected)


def long_file():
    with tempfile.TemporaryDirectory() as root:
        room = Path(root, "src", "base")
        room.mkdir(parents=True)
        (room / "fits.c").write_text("\n" * 1000)
        (room / "long.c").write_text("\n" * 1001)
        return list(rooms.check(root))


ok = compare("fixture", list(rooms.check(HERE / "fixtures" / "bad")), EXPECTED)
ok &= compare("length", long_file(), ["src/base/long.c:1001: 1001 lines; split it at 1000"])
print("rooms.py reports what it should" if ok else "rooms.py is wrong")
sys.exit(not ok)
