#!/usr/bin/env bash
# harness run -p with a model on this machine: one turn without tools, and ten rounds with a sandboxed shell command each, compared with
# their targets in time and memory; and the size of the first request beyond the project's own text. Best of many runs.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$PWD/${HARNESS_BIN:-build/bench/harness} dir=$PWD/build/bench/agent
python3 - "$program" "$dir" <<'PYTHON'
import json, os, shutil, socket, sys, threading, time

program, folder = sys.argv[1:]
ROUNDS = 10
requests = []

def event(delta, reason=None):
    return "data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}) + "\n\n"

def reply(request):
    made = sum(m["role"] == "tool" for m in request["messages"])
    if request["messages"][-1]["content"] == "talk" or made >= ROUNDS:
        return event({"content": "All is well."}) + event({}, "stop") + "data: [DONE]\n\n"
    call = {"index": 0, "id": f"call_{made}", "type": "function", "function": {"name": "bash", "arguments": json.dumps({"command": f"echo {made}"})}}
    return event({"tool_calls": [call]}) + event({}, "tool_calls") + "data: [DONE]\n\n"

def serve(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = b""
    while True:
        while b"\r\n\r\n" not in data:
            piece = connection.recv(1 << 20)
            if not piece:
                return
            data += piece
        head, data = data.split(b"\r\n\r\n", 1)
        length = int(next(l.split(b":")[1] for l in head.split(b"\r\n") if l.lower().startswith(b"content-length")))
        while len(data) < length:
            data += connection.recv(1 << 20)
        body, data = data[:length], data[length:]
        requests.append(body)
        text = reply(json.loads(body)).encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(text) + text)

server = socket.create_server(("127.0.0.1", 0))
def accept():
    while True:
        threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()

shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder + "/project")
PROMPT = "You work on the files of this folder."
with open(folder + "/project/harness.md", "w") as f:
    f.write(f"---\nmodel: {{ provider: openai, name: local, base_url: http://127.0.0.1:{server.getsockname()[1]}/v1 }}\nbuiltin_tools: [bash]\n---\n{PROMPT}\n")
environment = {"PATH": os.environ["PATH"], "HOME": folder, "HARNESS_STATE": folder + "/state.db", "HARNESS_TRUST": folder}

def once(text, expected):
    read, write = os.pipe()
    start = time.perf_counter()
    pid = os.posix_spawn(program, [program, "-C", folder + "/project", "run", "-p", text], environment,
                         file_actions=[(os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_CLOSE, read)])
    os.close(write)
    _, status, usage = os.wait4(pid, 0)
    took = (time.perf_counter() - start) * 1e3
    answer = os.read(read, 1 << 16).decode()
    os.close(read)
    assert status == 0 and answer == "All is well.\n" and len(requests) == expected, (status, answer, len(requests))
    first = requests[0]
    requests.clear()
    return took, usage.ru_maxrss / 1024, first

def measure(name, text, expected, rounds, ms, mb):
    runs = [once(text, expected) for _ in range(rounds)]
    took, memory = min(r[0] for r in runs), max(r[1] for r in runs)
    print(f"{name} {took:.1f}ms {ms}ms {ms / took:.1f}x")
    print(f"{name}_memory {memory:.1f}MB {mb}MB {mb / memory:.1f}x")
    return runs[0][2]

first = measure("agent_one_turn", "talk", 1, 30, 30, 15)
measure("agent_ten_tool_rounds", "work", ROUNDS + 1, 15, 120, 20)
request = json.loads(first)
own = len("talk") + len(PROMPT) + sum(len(json.dumps(t["function"], separators=(",", ":"), ensure_ascii=False).encode()) for t in request["tools"])
print(f"agent_first_request_beyond {len(first) - own}B 1024B {1024 / (len(first) - own):.1f}x")
PYTHON
