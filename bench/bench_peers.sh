#!/usr/bin/env bash
# harness run -p beside the agents codex and claude-code (npm), each against the same mock on this machine: one turn without tools, and ten
# rounds with a shell command each. harness uses the same protocol as the peer: Responses beside codex, Messages beside claude-code.
# Best time of several runs, and the largest memory.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$PWD/${HARNESS_BIN:-build/bench/harness} dir=$PWD/build/bench/peers bin=$PWD/bench/peers/node_modules/.bin
python3 - "$program" "$dir" "$bin" "${BENCH_PEER_ROUNDS:-5}" <<'PYTHON'
import json, os, shutil, socket, subprocess, sys, threading, time

program, folder, peers, times = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
ROUNDS, ANSWER = 10, "All is well."

# ---- the mock ----

def sse(*events):
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)

def command(tools, n):
    """The call of a shell command, in the terms of the tools that are offered; None: no such tool."""
    names = [t.get("name") or t.get("function", {}).get("name") for t in tools]
    for name, arguments in (("bash", {"command": f"echo {n}"}), ("Bash", {"command": f"echo {n}"}), ("exec_command", {"cmd": f"echo {n}"}),
                            ("shell_command", {"command": f"echo {n}"}), ("shell", {"command": ["echo", str(n)]})):
        if name in names:
            return name, arguments
    return None

def work_wanted(text):
    return "work-ten-rounds" in text

def responses(request):
    items = request["input"] if isinstance(request["input"], list) else []
    made = sum(i.get("type") == "function_call_output" for i in items)
    call = command(request.get("tools", []), made) if work_wanted(json.dumps(items)) and made < ROUNDS else None
    if call:
        item = {"id": f"fc_{made}", "type": "function_call", "status": "completed", "call_id": f"call_{made}", "name": call[0], "arguments": json.dumps(call[1])}
        deltas = []
    else:
        item = {"id": f"msg_{made}", "type": "message", "status": "completed", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER, "annotations": []}]}
        deltas = [{"type": "response.output_text.delta", "item_id": item["id"], "output_index": 0, "content_index": 0, "delta": ANSWER}]
    whole = {"id": f"resp_{made}", "object": "response", "created_at": 0, "status": "completed", "model": request["model"], "output": [item],
             "usage": {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}}
    return sse({"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}, {"type": "response.output_item.added", "output_index": 0, "item": item},
               *deltas, {"type": "response.output_item.done", "output_index": 0, "item": item}, {"type": "response.completed", "response": whole})

def blocks(request):
    for message in request["messages"]:
        if isinstance(message["content"], list):
            yield from message["content"]
        else:
            yield {"type": "text", "text": message["content"]}

def messages(request):
    parts = list(blocks(request))
    made = sum(p["type"] == "tool_result" for p in parts)
    call = command(request.get("tools", []), made) if any(work_wanted(p.get("text", "")) for p in parts) and made < ROUNDS else None
    start = {"type": "tool_use", "id": f"toolu_{made}", "name": call[0], "input": {}} if call else {"type": "text", "text": ""}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])} if call else {"type": "text_delta", "text": ANSWER}
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"], "content": [], "stop_reason": None, "stop_sequence": None,
             "usage": {"input_tokens": 1, "output_tokens": 1}}
    if not request.get("stream"):
        return json.dumps({**whole, "content": [{"type": "text", "text": ANSWER}], "stop_reason": "end_turn"})
    return sse({"type": "message_start", "message": whole}, {"type": "content_block_start", "index": 0, "content_block": start},
               {"type": "content_block_delta", "index": 0, "delta": delta}, {"type": "content_block_stop", "index": 0},
               {"type": "message_delta", "delta": {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 1}}, {"type": "message_stop"})

rounds = []                              # one entry for each request that got a shell command

def answer(path, body):
    if path.split("?")[0].endswith("/responses"):
        text = responses(json.loads(body))
    elif path.split("?")[0].endswith("/messages"):
        text = messages(json.loads(body))
    else:
        return b"404 Not Found", b"application/json", b"{}"
    if "echo" in text:
        rounds.append(1)
    return b"200 OK", b"text/event-stream" if text.startswith("event:") else b"application/json", text.encode()

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
        lines = head.split(b"\r\n")
        length = next((int(l.split(b":")[1]) for l in lines if l.lower().startswith(b"content-length")), 0)
        while len(data) < length:
            data += connection.recv(1 << 20)
        body, data = data[:length], data[length:]
        status, kind, text = answer(lines[0].split(b" ")[1].decode(), body)
        connection.sendall(b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (status, kind, len(text)) + text)

server = socket.create_server(("127.0.0.1", 0))
def accept():
    while True:
        threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
url = f"http://127.0.0.1:{server.getsockname()[1]}"

# ---- the programs ----

shutil.rmtree(folder, ignore_errors=True)
environment = {"PATH": os.environ["PATH"], "HOME": folder + "/home", "LANG": "C.UTF-8", "HARNESS_STATE": folder + "/state.db", "HARNESS_TRUST": folder,
               "OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
               "DISABLE_AUTOUPDATER": "1", "CODEX_HOME": folder + "/home/codex"}
for name, model in (("responses", f"{{ provider: openai, wire: responses, name: gpt-5, base_url: {url}/v1 }}"), ("messages", f"{{ provider: anthropic, name: claude-sonnet-4-5, base_url: {url} }}")):
    os.makedirs(f"{folder}/{name}")
    with open(f"{folder}/{name}/harness.md", "w") as f:
        f.write(f"---\nmodel: {model}\nbuiltin_tools: [bash]\n---\nYou work on the files of this folder.\n")
os.makedirs(folder + "/home/codex")
os.makedirs(folder + "/work")

def harness(project):
    return lambda text: [program, "-C", f"{folder}/{project}", "run", "-p", text]

def codex(text):
    settings = ["model_provider=mock", "model_providers.mock.name=mock", f"model_providers.mock.base_url={url}/v1", "model_providers.mock.wire_api=responses",
                "model_providers.mock.env_key=OPENAI_API_KEY", "check_for_update_on_startup=false", "analytics.enabled=false"]
    return [f"{peers}/codex", "exec", "--skip-git-repo-check", "--sandbox", "workspace-write", "-m", "gpt-5", *(x for s in settings for x in ("-c", s)), text]

def claude(text):
    return [f"{peers}/claude", "-p", text, "--model", "claude-sonnet-4-5", "--allowedTools", "Bash"]

def once(arguments, expected):
    rounds.clear()
    start = time.perf_counter()
    process = subprocess.Popen(arguments, env=environment, cwd=folder + "/work", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    out = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    took = (time.perf_counter() - start) * 1e3
    process.returncode = status
    assert status == 0 and ANSWER in out and len(rounds) == expected, (arguments[0], status, out[-300:], len(rounds))
    return took, usage.ru_maxrss / 1024

def measure(make, text, expected):
    runs = [once(make(text), expected) for _ in range(times)]
    return min(r[0] for r in runs), max(r[1] for r in runs)

def compare(name, ours, peer, binary):
    for what, text, expected in (("one_turn", "talk", 0), ("ten_rounds", "work-ten-rounds", ROUNDS)):
        took, memory = measure(ours, text, expected)
        if not os.path.exists(f"{peers}/{binary}"):
            print(f"agent_{name}_{what} {took:.1f}ms missing -")
            print(f"agent_{name}_{what}_memory {memory:.1f}MB missing -")
            continue
        peer_took, peer_memory = measure(peer, text, expected)
        print(f"agent_{name}_{what} {took:.1f}ms {peer_took:.1f}ms {peer_took / took:.1f}x")
        print(f"agent_{name}_{what}_memory {memory:.1f}MB {peer_memory:.1f}MB {peer_memory / memory:.1f}x")

compare("codex", harness("responses"), codex, "codex")
compare("claude", harness("messages"), claude, "claude")
PYTHON
