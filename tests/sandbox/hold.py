# Holds memory in many small ways: hold.py KIND MIB. Prints HELD when it has all of it, and ESCAPED if it was not ended.
# The kinds "fair-…" hold less than they seem to, and print FINE.
import ctypes
import mmap
import os
import socket
import sys
import threading
import time

c = ctypes.CDLL(None, use_errno=True)
kind, total, piece = sys.argv[1], int(sys.argv[2]) << 20, 32 << 20
pieces = range(total // piece)
BLOCK = b"x" * (1 << 20)


def fill(fd, size):
    for _ in range(size >> 20):
        os.write(fd, BLOCK)
    return fd


def memory_file(): return fill(os.memfd_create("x"), piece)


def done():
    print("HELD", flush=True)
    time.sleep(25)
    print("ESCAPED", flush=True)


def in_children(work):
    kept = []
    for _ in pieces:
        ends = os.pipe()
        if os.fork() == 0:
            kept = work()
            os.write(ends[1], b"x")
            time.sleep(60)
            os._exit(0)
        kept.append(ends)
    for ends in kept:
        os.read(ends[0], 1)
    done()


def own():
    m = bytearray(os.urandom(1 << 20)) * (piece >> 20)
    return m


def shared():
    m = mmap.mmap(-1, piece)
    for _ in range(piece >> 20):
        m.write(BLOCK)
    return m


def files():
    kept = [memory_file() for _ in pieces]
    done()
    return kept


def passed():
    a, b = socket.socketpair()
    for _ in pieces:
        fd = memory_file()
        socket.send_fds(a, [b"x"], [fd])
        os.close(fd)
    done()


def sockets():
    kept = []
    for _ in range(piece // 400000):
        for s in (pair := socket.socketpair()):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
            s.setblocking(False)
            try:
                while True:
                    s.send(BLOCK[:65536])
            except BlockingIOError:
                pass
        kept += pair
    return kept


def segments():
    c.shmat.restype = ctypes.c_void_p
    for _ in pieces:
        at = c.shmat(made(c.shmget(0, piece, 0o1600)), None, 0)
        ctypes.memset(at, 1, piece)
        c.shmdt(ctypes.c_void_p(at))
    done()


def made(number):
    if number < 0:
        sys.exit("stopped, %s" % os.strerror(ctypes.get_errno()))
    return number


def messages():
    class Message(ctypes.Structure):
        _fields_ = [("kind", ctypes.c_long), ("text", ctypes.c_char * 8000)]
    message = Message(1, b"x" * 8000)
    for n in range(total // 16384):
        queue = c.msgget(0, 0o1600)
        if queue < 0 and n > 0:
            break                                        # the namespace has no more of them
        made(queue)
        for _ in range(2):
            c.msgsnd(queue, ctypes.byref(message), 8000, 0o4000)
    done()


def semaphores():
    for _ in range(total // (32000 * 64)):
        made(c.semget(0, 32000, 0o1600))
    done()


# The program's file cannot be read, so other processes of the same user cannot inspect the process.
def unreadable():
    if os.path.exists("copy"):
        return files()
    with open("/proc/self/exe", "rb") as here, open("copy", "wb") as copy:
        copy.write(here.read())
    os.chmod("copy", 0o111)
    os.execv("./copy", [sys.executable, *sys.argv])


# The first thread ends; the memory of the process is no longer shown under its pid.
def first_thread():
    threading.Thread(target=lambda: (files(), os._exit(0))).start()
    c.syscall(60, 0)


def fair_forks():
    m = bytearray(os.urandom(1 << 20)) * (total >> 20)
    for _ in range(20):
        if os.fork() == 0:
            time.sleep(2)
            os._exit(0)
    time.sleep(1.5)
    print("FINE", len(m), flush=True)


def fair_file():
    m = mmap.mmap(fill(os.memfd_create("x"), total), total)
    for _ in range(6):
        if os.fork() == 0:
            sum(m[i] for i in range(0, total, 4096))
            time.sleep(2)
            os._exit(0)
    time.sleep(1.5)
    print("FINE", flush=True)


{"own": lambda: in_children(own), "shared": lambda: in_children(shared), "sockets": lambda: in_children(sockets), "files": files,
 "passed": passed, "segments": segments, "messages": messages, "semaphores": semaphores, "unreadable": unreadable,
 "first-thread": first_thread, "fair-forks": fair_forks, "fair-file": fair_file}[kind]()
