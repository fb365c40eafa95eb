#!/usr/bin/env python3
"""What runs between fork and exec may not allocate, lock or call into a library: child.py SANITIZER OBJECT...

Among the objects, reads the symbols that sandbox/child.c leaves to others. Only the door to the kernel, and what
compilers put in by themselves, may be there. Not so what TSan ("thread") puts in or in place of others: it allocates as it counts.
"""
import subprocess
import sys

# The global offset table is a place, not a function: position-independent code names it.
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
    print(f"src/sandbox/child.c: {name}: nothing but system calls may run between fork and exec")
if not problems:
    print("between fork and exec there are system calls alone")
sys.exit(bool(problems))
