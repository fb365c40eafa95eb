"""Runs a program in a terminal and reads the screen: screen.py

Standard input is {"terminal": "pyte" or "tmux", "size": [columns, rows], "program": [...], "steps": [...]}. Steps:

  {"type": text}         keys, as bytes
  {"paste": text}        as a terminal pastes: between the escape sequences of bracketed paste if the program enabled it
  {"wait": text}         until the screen shows it (spaces at the end of rows do not count)
  {"cursor": text}       until the row of the cursor is exactly this
  {"gone": text}         until the screen does not show it
  {"resize": [c, r]}
  {"look": name}         keeps the screen
  {"touch": path}, {"exists": path}      creates a file; waits for one
  {"modes": name}        keeps {"echo", "lines"}: whether the terminal echoes, and gives whole lines
  {"signal": name, "pid": path}          to the process whose id the file contains
  {"hangup": true}       closes the terminal
  {"end": true}          until the program has ended

Prints {"looks": {name: {"rows": [...], "cursor": [column, row], "wrapped": rows that the terminal broke itself}}, "modes": {...}, "status": exit status or
null, "missing": the step that was not reached or null}. A wide character counts as one in "rows".
"""
import fcntl
import json
import os
import pty
import select
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

import pyte

PATIENCE = float(os.environ.get("SCREEN_PATIENCE", 30))


class Recorder(pyte.Screen):
    """Notes the rows that the terminal itself has broken: a program that respects the width breaks none."""
    def __init__(self, columns, lines):
        self.wrapped = 0
        super().__init__(columns, lines)

    def draw(self, data):
        for c in data:
            if self.cursor.x >= self.columns and pyte.screens.wcwidth(c) > 0: self.wrapped += 1
            super().draw(c)


class Pyte:
    def __init__(self, program, columns, rows):
        self.screen = Recorder(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execvp(program[0], program)
        self.ended = False

    def read(self, timeout):
        if self.ended or not select.select([self.fd], [], [], timeout)[0]: return
        try: more = os.read(self.fd, 65536)
        except OSError: more = b""
        if not more: self.ended = True
        self.raw = (self.raw + more)[-100000:]
        self.stream.feed(more.replace(b"\033[?2004h", b"").replace(b"\033[?2004l", b""))

    def type(self, data):
        while data:
            while select.select([self.fd], [], [], 0)[0] and not self.ended: self.read(0)
            if select.select([], [self.fd], [], 0.05)[1]: data = data[os.write(self.fd, data[:512]):]

    def paste(self, text):
        on = self.raw.rfind(b"\033[?2004h") > self.raw.rfind(b"\033[?2004l")
        data = text.replace("\n", "\r").encode()
        self.type(b"\033[200~" + data + b"\033[201~" if on else data)

    def resize(self, columns, rows):
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def rows(self): return [row.rstrip() for row in self.screen.display]
    def cursor(self): return [self.screen.cursor.x, self.screen.cursor.y]
    def wrapped(self): return self.screen.wrapped
    def modes_fd(self): return self.fd

    def hangup(self):
        os.close(self.fd)
        self.ended = True
        end = time.monotonic() + PATIENCE
        while self.status is None and time.monotonic() < end:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done: self.status = os.waitstatus_to_exitcode(status)
            else: time.sleep(0.02)

    def close(self):
        if self.status is not None: return
        if not self.ended: os.kill(self.pid, signal.SIGKILL)
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Tmux:
    def __init__(self, program, columns, rows):
        self.folder = tempfile.mkdtemp(prefix="harness-screen-")
        self.result = os.path.join(self.folder, "status")
        self.socket = os.path.join(self.folder, "tmux")
        command = " ".join(map(shlex.quote, program))
        self.call("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "-e", "HARNESS_SCREEN=tmux",
                  f"{command}; echo $? > {self.result}; exec sleep 60")
        self.ended, self.status = False, None
        self.pane = self.call("display-message", "-p", "#{pane_tty}").strip()

    def call(self, *args, data=None):
        return subprocess.run(["tmux", "-S", self.socket, *args], check=True, capture_output=True, input=data).stdout.decode()

    def read(self, timeout):
        time.sleep(min(timeout, 0.02))
        self.ended = os.path.exists(self.result)

    def type(self, data):
        for i in range(0, len(data), 400): self.call("send-keys", "-H", *(f"{b:02x}" for b in data[i:i + 400]))

    def paste(self, text):
        self.call("load-buffer", "-", data=text.encode())
        self.call("paste-buffer", "-p")

    def resize(self, columns, rows):
        self.call("resize-window", "-x", str(columns), "-y", str(rows))
        fd, end = self.modes_fd(), time.monotonic() + PATIENCE
        while struct.unpack("HHHH", fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8)))[:2] != (rows, columns) and time.monotonic() < end:
            time.sleep(0.02)                     # tmux resizes the program's terminal after it has redrawn
        os.close(fd)

    def rows(self): return [row.rstrip() for row in self.call("capture-pane", "-p").split("\n")[:-1]]
    def cursor(self): return [int(n) for n in self.call("display-message", "-p", "#{cursor_x} #{cursor_y}").split()]
    def wrapped(self): return len(self.call("capture-pane", "-p").split("\n")) - len(self.call("capture-pane", "-p", "-J").split("\n"))
    def modes_fd(self): return os.open(self.pane, os.O_RDWR | os.O_NOCTTY)
    def hangup(self): self.call("kill-server")

    def close(self):
        if os.path.exists(self.result): self.status = int(open(self.result).read())
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)
        subprocess.run(["rm", "-rf", self.folder])


def modes_of(terminal):
    flags = termios.tcgetattr(terminal.modes_fd())[3]
    return {"echo": bool(flags & termios.ECHO), "lines": bool(flags & termios.ICANON)}


def holds(terminal, step):
    if "wait" in step: return step["wait"] in "\n".join(terminal.rows())
    if "gone" in step: return step["gone"] not in "\n".join(terminal.rows())
    if "cursor" in step: return terminal.rows()[terminal.cursor()[1]] == step["cursor"]
    if "exists" in step: return os.path.exists(step["exists"])
    if "end" in step: return terminal.ended
    return True


def act(terminal, step, out):
    if "type" in step: terminal.type(step["type"].encode())
    elif "paste" in step: terminal.paste(step["paste"])
    elif "resize" in step: terminal.resize(*step["resize"])
    elif "look" in step: out["looks"][step["look"]] = {"rows": terminal.rows(), "cursor": terminal.cursor(), "wrapped": terminal.wrapped()}
    elif "touch" in step: open(step["touch"], "w").close()
    elif "modes" in step: out["modes"][step["modes"]] = modes_of(terminal)
    elif "signal" in step: os.kill(int(open(step["pid"]).read()), getattr(signal, step["signal"]))
    elif "hangup" in step: terminal.hangup()


def main():
    work = json.load(sys.stdin)
    terminal = {"pyte": Pyte, "tmux": Tmux}[work["terminal"]](work["program"], *work["size"])
    out = {"looks": {}, "modes": {}, "missing": None}
    try:
        for step in work["steps"]:
            end = time.monotonic() + PATIENCE
            terminal.read(0)
            while not holds(terminal, step):
                if time.monotonic() > end or (terminal.ended and "end" not in step and not holds(terminal, step)): break
                terminal.read(0.05)
            if not holds(terminal, step):
                out["missing"] = step
                break
            act(terminal, step, out)
        out["last"] = terminal.rows() if "hangup" not in str(work["steps"]) else []
    finally:
        terminal.close()
    out["status"] = terminal.status
    json.dump(out, sys.stdout)


main()
