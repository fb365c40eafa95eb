"""Runs a program in a terminal of its own: terminal.py PROGRAM ARGUMENT...

Standard input is a JSON list of steps [send, expect]: after `send` was typed, the output must show `expect` (both may
be empty) before the next step. A `send` of [rows, columns] changes the size of the terminal instead; a number waits as many
seconds; {"file": PATH, "text": TEXT} writes a file. Prints {"output": all that was shown, "status": exit status, "missing": the
expectation that did not come, or null}.
"""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

PATIENCE = 30


def main():
    steps = json.load(sys.stdin)
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(sys.argv[1], sys.argv[1:])
    shown, seen, missing = b"", 0, None

    def read(timeout):
        nonlocal shown
        if not select.select([fd], [], [], timeout)[0]: return True
        try: more = os.read(fd, 65536)
        except OSError: return False             # the other side is gone
        shown += more
        return bool(more)

    for send, expect in steps:
        if isinstance(send, list): fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", *send, 0, 0))
        elif isinstance(send, (int, float)): time.sleep(send)
        elif isinstance(send, dict): open(send["file"], "w").write(send["text"])
        else: os.write(fd, send.encode())
        end = time.monotonic() + PATIENCE
        while shown.find(expect.encode(), seen) < 0:
            if time.monotonic() > end or not read(0.1):
                missing = expect
                break
        if missing is not None: break
        seen = shown.find(expect.encode(), seen) + len(expect.encode())
    end = time.monotonic() + (PATIENCE if missing is None else 0)
    while time.monotonic() < end and read(0.1): pass
    if time.monotonic() >= end: os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    json.dump({"output": shown.decode("utf-8", "replace"), "status": status, "missing": missing}, sys.stdout)


main()
