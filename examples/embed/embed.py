#!/usr/bin/env python3
"""Uses harness from Python, without a binding: embed.py [PROJECT]. HARNESS_LIB names libharness.so. See README.md."""
import ctypes
import json
import os
import sys
import threading
from ctypes import CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

lib = ctypes.CDLL(os.environ.get("HARNESS_LIB", "libharness.so.0"))


class Error(Structure):
    _fields_ = [("kind", c_char * 16), ("message", c_char * 1024), ("file", c_char * 256), ("line", c_uint32), ("column", c_uint32),
                ("hint", c_char * 160)]


class Event(Structure):
    _fields_ = [("seq", c_uint64), ("time_ns", c_int64), ("run", c_char_p), ("agent", c_char_p), ("parent", c_char_p), ("type", c_char_p),
                ("depth", c_int), ("data", c_char_p)]


OnEvent = CFUNCTYPE(None, c_void_p, POINTER(Event))
OnConfirm = CFUNCTYPE(c_int, c_void_p, c_char_p, c_char_p, c_char_p)
Tool = CFUNCTYPE(None, c_void_p, c_void_p)


class Config(Structure):
    _fields_ = [("size", c_size_t), ("dir", c_char_p), ("config", c_char_p), ("state", c_char_p), ("lenient", c_bool), ("on_event", OnEvent),
                ("on_confirm", OnConfirm), ("user", c_void_p), ("trust", c_char_p)]


class ToolSpec(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("description", c_char_p), ("parameters", c_char_p), ("output_schema", c_char_p),
                ("safety", c_char_p), ("injected", c_char_p), ("timeout_ms", c_int64), ("run", Tool), ("user", c_void_p)]


def declare(name, result, *arguments):
    function = getattr(lib, name)
    function.restype, function.argtypes = result, arguments
    return function


version = declare("harness_version", c_char_p)
open_project = declare("harness_open", c_bool, POINTER(Config), POINTER(c_void_p), POINTER(Error))
close = declare("harness_close", None, c_void_p)
tools = declare("harness_tools", c_void_p, c_void_p)
free = declare("harness_free", None, c_void_p)
register = declare("harness_register", c_bool, c_void_p, POINTER(ToolSpec), POINTER(Error))
call = declare("harness_call", c_void_p, c_void_p, c_char_p, c_char_p, c_void_p)
arguments = declare("harness_call_arguments", c_char_p, c_void_p)
answer = declare("harness_call_return", c_bool, c_void_p, c_char_p)
fail = declare("harness_call_fail", None, c_void_p, c_char_p)
progress = declare("harness_call_progress", None, c_void_p, c_double, c_double, c_char_p)
result_ok = declare("harness_result_ok", c_bool, c_void_p)
result_value = declare("harness_result_value", c_char_p, c_void_p)
result_error = declare("harness_result_error", c_char_p, c_void_p)
result_free = declare("harness_result_free", None, c_void_p)
cancel_new = declare("harness_cancel_new", c_void_p, c_int64)
cancel_free = declare("harness_cancel_free", None, c_void_p)
cancelled = declare("harness_call_cancelled", c_bool, c_void_p)


def run(h, name, args, cancel=None):
    """The value of a call, or an exception."""
    result = call(h, name.encode(), json.dumps(args).encode(), cancel)
    try:
        if not result_ok(result):
            raise RuntimeError(result_error(result).decode())
        return json.loads(result_value(result))
    finally:
        result_free(result)


def tool(function):
    """A callback that passes the arguments to a Python function and returns its value."""
    def run_it(_user, c):
        try:
            answer(c, json.dumps(function(c, **json.loads(arguments(c)))).encode())
        except Exception as problem:
            fail(c, str(problem).encode())
    return Tool(run_it)


def shout(c, text):
    progress(c, 1, 1, b"shouting")
    return text.upper()


def linger(c):
    while not cancelled(c):
        threading.Event().wait(0.01)
    raise RuntimeError("stopped")


def main():
    seen = []
    config = Config(size=ctypes.sizeof(Config), dir=(sys.argv[1] if len(sys.argv) > 1 else "project").encode(), state=b"", trust=os.environ.get("HARNESS_TRUST", "").encode() or None,
                    on_event=OnEvent(lambda _user, e: seen.append(e.contents.type.decode())),
                    on_confirm=OnConfirm(lambda _user, _tool, _why, _shown: 0))
    h, error = c_void_p(), Error()
    if not open_project(config, h, error):
        sys.exit(error.message.decode())
    keep = [tool(shout), tool(linger)]      # ctypes does not keep callbacks alive
    text = json.dumps({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}).encode()
    for spec in (ToolSpec(size=ctypes.sizeof(ToolSpec), name=b"shout", description=b"Shouts.", parameters=text, run=keep[0]),
                 ToolSpec(size=ctypes.sizeof(ToolSpec), name=b"linger", description=b"Lingers.", run=keep[1])):
        if not register(h, spec, error):
            sys.exit(error.message.decode())
    listed = tools(h)
    names = [t["name"] for t in json.loads(ctypes.string_at(listed))]
    free(listed)
    print("tools:", " ".join(names))
    print("greet:", run(h, "greet", {"name": "you"}))
    print("shout:", run(h, "shout", {"text": "héllo"}))
    for name, args in (("shout", {"text": 5}), ("write", {"path": ".env", "content": "x"}), ("no_such_tool", {})):
        try:
            run(h, name, args)
        except RuntimeError as problem:
            print(f"{name}: error: {problem}")
    token = cancel_new(200)
    try:
        run(h, "linger", {}, token)
    except RuntimeError as problem:
        print("linger: error:", problem)
    cancel_free(token)
    threads = [threading.Thread(target=run, args=(h, "shout", {"text": str(i)})) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print("shouted", seen.count("tool.completed") - 2, "times more, from 16 threads")
    close(h)


main()
