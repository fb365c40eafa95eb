"""Times functions of a Starlark file with CPython: peer.py FILE FN..."""
import json as real_json
import sys
import time


class json:
    encode = staticmethod(lambda v: real_json.dumps(v, separators=(",", ":"), sort_keys=True))
    decode = staticmethod(real_json.loads)


names = {"json": json}
with open(sys.argv[1]) as f:
    exec(compile(f.read(), sys.argv[1], "exec"), names)
for name in sys.argv[2:]:
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        names[name]()
        best = min(best, time.perf_counter() - start)
    print("%s %.3f ms" % (name, best * 1e3))
