#!/usr/bin/env python3
"""Code between fork and exec must not allocate, lock or call a library: child.py SANITIZER OBJECT...

Reads the undefined symbols of sandbox/child.c among the objects. Only system calls and symbols that the compiler inserts
are allowed. Functions that TSan ("thread") inserts or replaces are not, because they allocate.
"""
import subprocess
import sys

# The global offset table is data, not a function: position-independent code refers to it.
ALLOWED = {"syscall", "__errno_location", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_"}
if sys.argv[1] != "thread":
    ALLOWED |= {"memcpy", "memset"}
INSTRUMENTED = ("__asan_", "__ubsan_", "__sanitizer_", "__sancov_")


def foreign(path):
    lines = subprocess.run(["nm", "-u", path], capture_output=True, text=True, check=True).stdout.splitlines()
    names = [line.split()[-1].split("@")[0] for line in lines if line.strip()]
    return [name for name in names if name not in ALLOWED and not name.startswith(INSTRUMENTED)]


objects = [path for path in sys.argv[1:] if path.endswith("sandbox/child.c.o")]
if len(objects) != 1:
    sys.exit("child.py: sandbox/child.c.o is not among the objects")
problems = foreign(objects[0])
for name in problems:
    print(f"src/sandbox/child.c: {name}: only system calls may run between fork and exec")
if not problems:
    print("only system calls run between fork and exec")
sys.exit(bool(problems))
