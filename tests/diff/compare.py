"""Runs random programs (generate.py) with ours and with the Go peer and compares their output.

usage: compare.py OURS PEER FIRST COUNT [--keep DIR]

Both sides speak the protocol that run.c describes. Prints each difference (the first few in
full), then "N programs (M of them ended in an error), D differences"; exit status 1 if D > 0.
"""
import os
import re
import subprocess
import sys

import generate

BATCH = 250
SHOWN = 5

# Messages that differ between the peer, which is from 2021, and the current implementation (peer → current).
REWORDINGS = [(re.compile(a, re.M), b) for a, b in [
    (r"^Error: format spec features", "Error: format: format spec features"),
    (r"^(Error: json\.decode: at offset \d+),", r"\1:"),
    (r"^Error: float got (\d+) arguments, wants 1", r"Error: float: got \1 arguments, want at most 1"),
    (r"^(  <builtin>: in rsplit\nError: )split: ", r"\1rsplit: "),
    (r"^(Error: ord: got \w+, want string)$", r"\1 or bytes"),
    (r"^Error: hash: for parameter 1: got (\w+), want string$", r"Error: hash: got \1, want string or bytes"),
    (r"^Error: cannot clear hash table", "Error: clear: cannot clear hash table"),
    (r"^  \d+:\d+: in (\S+)\n(Error: function \1 (?:accepts|missing|got) )", r"\2"),  # there the callee has a frame already
    (r"^(Error: unknown binary op: (?:string \+ (?:int|float|bool|NoneType)|(?:int|float|bool|NoneType) \+ string))$", r"\1 (str(x) makes a string of a value)"),
    (r"^(Error: function \S+ called recursively)$", r"\1 (Starlark has no recursion; use a loop)"),
    (r"^Error: union: for parameter 1: got (\w+), want iterable", r"Error: union: argument #1 is not iterable: \1"),
]]

# Errors for which the peer reports another column: of a slice that of its last operand, of a method that of the dot.
COLUMN = re.compile(r"^  (\d+):\d+(: in .*\nError: (?:invalid slice|invalid (?:start|end) index|zero is not a valid|"
                    r"no such attribute|unhashable))", re.M)

# With two errors at once, or several incomparable items in a sort, either may be reported. Thresholds for suggestions differ.
EITHER = [(re.compile(a, re.M), b) for a, b in [
    (r"^(Error: )\S+ has no \.\w+ field or method", r"\1no such attribute"),
    (r" \(did you mean .*\?\)$", ""),
    (r"^Error: int: invalid literal with base (?:0|10): $", "Error: int: invalid literal"),
    (r"^Error: int: (?:for base, got|base must be) .*$", "Error: int: base"),
    (r"^Error: pop: (?:unhashable type: .*|missing key)$", "Error: pop"),
    (r"^Error: range: for parameter \d: .*$", "Error: range"),
    (r"^(  <builtin>: in (?:sorted|min|max)\nError: ).* not implemented$", r"\1not implemented"),
]]

# The peer stops here, ours may continue: compare only the output before. (In x.f(y), ours looks up f after evaluating y.)
LACKS = re.compile(r"(?:  .*\n)+Error: (?:unknown binary op: (?:dict \| dict|set - set)|set [<>]=? set not implemented|\S+ has no \.|"
                   r"'in <range>' requires integer|too many arguments for format string\n)")


def reword(text):
    for pattern, to in REWORDINGS: text = pattern.sub(to, text)
    return text


def settle(text):
    text = re.sub(r"(?s)^(Error: .*?)\x00.*", r"\1\n", text, flags=re.M)  # a message of ours ends there
    for pattern, to in EITHER: text = pattern.sub(to, text)
    return COLUMN.sub(r"  \1\2", text)


def same(ours, peer):
    if ours is None or peer is None: return False
    lacks = LACKS.search(peer)
    if lacks: return ours.startswith(peer[:lacks.start()])
    return settle(ours) == settle(peer)


def run(command, programs):
    """The output of each program; the last one is None if the process died in it."""
    data = b"".join(b"%d -\n%s" % (len(p), p) for p in programs)
    done = subprocess.run([command], input=data, stdout=subprocess.PIPE)
    parts = done.stdout.decode("utf-8", "backslashreplace").split("\x1e\n")
    return parts[:-1] + ([None] if len(parts) - 1 < len(programs) else [])


def show(seed, ours, peer):
    a, b = (ours or "(died)\n").split("\n"), (peer or "(died)\n").split("\n")
    print("== seed %d differs (python3 tests/diff/generate.py %d)" % (seed, seed))
    for i in range(max(len(a), len(b))):
        x, y = (a[i] if i < len(a) else None), (b[i] if i < len(b) else None)
        if x != y:
            print("  line %d\n    ours: %s\n    peer: %s" % (i + 1, str(x)[:400], str(y)[:400]))
            break


def compare(ours, peer, first, count):
    total = failed = different = 0
    while total < count:
        seeds = range(first + total, first + min(total + BATCH, count))
        programs = [generate.program(s).encode() for s in seeds]
        a, b = run(ours, programs), run(peer, programs)
        for i, seed in enumerate(seeds[:min(len(a), len(b))]):
            want = b[i] and reword(b[i])
            failed += "\nError: " in "\n" + (b[i] or "")
            if same(a[i], want): continue
            different += 1
            if different <= SHOWN: show(seed, a[i], want)
            elif os.environ.get("DIFF_ALL"): show(seed, a[i], want)
        total += len(seeds)
    return total, failed, different


def main():
    ours, peer, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    total, failed, different = compare(ours, peer, first, count)
    print("diff: %d programs (%d of them ended in an error), %d differences" % (total, failed, different))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
