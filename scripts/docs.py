#!/usr/bin/env python3
"""Writes the parts of docs/ that come from tables in the sources: docs.py [--check]

A part is between <!-- NAME: written by scripts/docs.py --> and <!-- end of NAME -->:
  events    docs/reference/events.md, from src/event/types.def
  hooks     docs/reference/hooks.md, from src/artifact/hook_events.def
  picture   docs/internals/architecture.md, from the #include lines of src/
With --check it writes nothing, lists the parts that are not current, and exits with status 1.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/checks"))
from rooms import ROOMS, includes  # noqa: E402


def rows(path, macro):
    """The arguments of each MACRO(...) of a .def file, strings without their quotes."""
    text = (ROOT / path).read_text(encoding="utf-8")
    for line in re.findall(rf"^{macro}\((.*)\)$", text, re.M):
        yield [a or b for a, b in re.findall(r'"([^"]*)"|([^\s,"]+)', line)]


def events():
    yield "| type | data |\n|---|---|\n"
    for _, name, data in rows("src/event/types.def", "EVENT"):
        names, _, note = data.partition(": ")
        fields = ", ".join(f"`{n}`" for n in names.split(", "))
        yield f"| `{name}` | {fields}{': ' + note if note else ''} |\n"
    yield "| `custom.NAME` | `payload`: what the script gave to `emit(name, payload)`, or a program to `harness_call_emit` |\n"
    yield "| `meta.tool_register`, `meta.hook_register`, `meta.agent_register` | `kind`, `name`, `definition`: what a script added; `redacted` when a secret was in it |\n"


DECISIONS = {"A": "allow", "B": "block", "M": "modify", "D": "delegate"}
FAILURES = {"BLOCK": "blocks", "WITHHOLD": "the result is withheld", "ONCE": "blocks, once", "LOG": "is logged"}


def hooks():
    yield "| event | decisions | `modify` may change | a hook that fails |\n|---|---|---|---|\n"
    for _, name, letters, changes, failure in rows("src/artifact/hook_events.def", "HOOK_(?:EVENT|FAMILY)"):
        decisions = ", ".join(DECISIONS[c] for c in letters.split("|") if c in DECISIONS) or "none: notified only"
        changed = ", ".join(f"`{w[1:]}` (removal only)" if w[0] == "-" else f"`{w}`" for w in changes.split())
        yield f"| `{name}` | {decisions} | {changed} | {FAILURES[failure]} |\n"


def graph():
    """The rooms whose headers each room includes, in order."""
    uses = {}
    for room in ROOMS:
        files = sorted((ROOT / "src" / room).glob("*.[ch]"))
        if any(f.suffix == ".c" for f in files):
            targets = {t.partition("/")[0] for f in files for _, t, quoted in includes(f.read_text(encoding="utf-8")) if quoted}
            uses[room] = [r for r in ROOMS if r in targets - {room}]
    return uses


def reach(uses, room):
    found = set()
    for other in uses.get(room, []):
        found |= {other} | reach(uses, other)
    return found


def picture():
    uses = graph()
    yield "```mermaid\nflowchart BT\n"
    for room, others in uses.items():             # omit arrows that a longer path implies
        for other in others:
            if not any(other in reach(uses, middle) for middle in others):
                yield f"  {room} --> {other}\n"
    yield "```\n\nAll uses, including those omitted above: the room of a line includes headers of the rooms marked in it.\n\n```text\n"
    names = list(uses)
    width = max(map(len, names))
    for i in range(width):
        yield (" " * (width + 2) + " ".join((n.rjust(width))[i] for n in names)).rstrip() + "\n"
    for room in names:
        yield f"{room:{width}}  " + " ".join("#" if n in uses[room] else "=" if n == room else "." for n in names) + "\n"
    yield "```\n"


PARTS = {"events": ("docs/reference/events.md", events), "hooks": ("docs/reference/hooks.md", hooks),
         "picture": ("docs/internals/architecture.md", picture)}


def main(check):
    stale = []
    for name, (page, write) in PARTS.items():
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        marked = re.compile(rf"(<!-- {name}: written by scripts/docs\.py -->\n\n).*?(\n<!-- end of {name} -->)", re.S)
        if not marked.search(text):
            sys.exit(f"{page}: no part <!-- {name}: written by scripts/docs.py --> … <!-- end of {name} -->")
        now = marked.sub(lambda m: m[1] + "".join(write()) + m[2], text)
        if now != text and check:
            stale.append(f"{page}: {name} is not current: run make docs")
        elif now != text:
            path.write_text(now, encoding="utf-8")
    print("\n".join(stale) if stale else "the documentation is current")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
