#!/usr/bin/env bash
# How cost grows: a run of 6,400 rounds compared with one of 800 (goal: ten times the time and three times the memory for eight times the work),
# resuming the long one after it was killed near its end, and `harness validate` of 10,000 tools. The model is a script and results are tiny,
# so this measures only the runtime. Best of some runs.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$PWD/${HARNESS_BIN:-build/bench/harness} dir=$PWD/build/bench/growth
python3 - "$program" "$dir" <<'PYTHON'
import os, re, shutil, subprocess, sys, time

program, folder = sys.argv[1:]
shutil.rmtree(folder, ignore_errors=True)
environment = {"PATH": os.environ["PATH"], "HOME": folder, "HARNESS_STATE": folder + "/state.db", "HARNESS_TRUST": folder}

def write(path, text):
    os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
    with open(f"{folder}/{path}", "w") as f:
        f.write(text)

SETTINGS = """---
model: { provider: script, name: counter, script: model.star }
delegation: { iterations_per_depth: [100000] }
limits: { max_turns: 100000, max_tool_calls: 100000, max_tool_calls_per_turn: 100000 }
---
Count.
"""
MODEL = """
def reply(messages, tools):
    last = messages[-1]
    n = int(last["content"]) if last["role"] == "tool" else 0
    if n == int(messages[1]["content"]):
        return {"text": "done"}
    return {"tool_calls": [{"name": "next", "arguments": {"n": n}}]}
"""
TOOL = "---\nidempotency: idempotent\nparameters:\n  n: { type: integer, required: true }\nscript: |\n  def run(args):\n%s      return args[\"n\"] + 1\n---\nThe next number.\n"
WAIT = "      if args[\"n\"] == 6300 and not fs.exists(\"waits\"):\n          fs.write(\"waits\", \"\")\n          exec.run(\"sleep\", [\"60\"])\n"
for name, more in ("rounds", ""), ("killed", WAIT):
    write(name + "/harness.md", SETTINGS)
    write(name + "/model.star", MODEL)
    write(name + "/.harness/tools/next.md", TOOL % more)
for i in range(10000):
    write(f"tools/.harness/tools/tool_{i}.md", f"""---
parameters:
  path: {{ type: string, required: true, description: Where. }}
  limit: {{ type: number, default: 10 }}
script: |
  def clean(path):
      return path.strip()
  def run(args):
      text = fs.read(clean(args["path"]))
      lines = [line for line in text.split("\\n") if line]
      return {{"lines": lines[:args.get("limit", {i})], "total": len(lines)}}
timeout_ms: 1000
---
Reads a file and returns its first lines.
""")

def harness(*words, **more):
    return subprocess.Popen([program, *words], env=environment, text=True, stdout=subprocess.PIPE, **more)

def forget():
    for end in ("", "-wal", "-shm", "-lease"):
        if os.path.exists(folder + "/state.db" + end):
            os.remove(folder + "/state.db" + end)

def peak(pid):
    """In MB, of a running process: the value of wait4 would include the memory of this one."""
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmHWM:\s*(\d+)", f.read())[1]) / 1024

def talk(rounds):
    forget()
    start = time.perf_counter()
    process = harness("-C", folder + "/rounds", "run", stdin=subprocess.PIPE)
    process.stdin.write(f"{rounds}\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    took = (time.perf_counter() - start) * 1e3
    memory = peak(process.pid)
    process.stdin.close()
    assert answer == "done\n" and process.wait() == 0, answer
    return took, memory

def resume(rounds):
    """Killed in round 6,300, so that reading dominates the remaining work."""
    forget()
    waits = folder + "/killed/waits"
    if os.path.exists(waits):
        os.remove(waits)
    process = harness("-C", folder + "/killed", "run", "-p", str(rounds))
    while process.poll() is None and not os.path.exists(waits):
        time.sleep(0.005)
    process.kill()
    process.wait()
    listed = harness("-C", folder + "/killed", "runs", "--json").communicate()[0]
    start = time.perf_counter()
    answer = harness("-C", folder + "/killed", "runs", "resume", re.search(r'"id":"([^"]+)"', listed)[1]).communicate()[0]
    assert answer == "done\n", answer
    return (time.perf_counter() - start) * 1e3

def validate():
    start = time.perf_counter()
    process = harness("-C", folder + "/tools", "validate")
    process.stdout.readline()
    memory = peak(process.pid)                         # it has finished, and is blocked on writing a list larger than the buffer of the pipe
    answer = process.stdout.read()
    assert process.wait() == 0 and answer.endswith("ok: 10000 tools, 0 hooks, 0 agents\n"), answer[-200:]
    return (time.perf_counter() - start) * 1e3, memory

def row(name, ours, peer, unit):
    print(f"{name} {ours:.1f}{unit} {peer:.1f}{unit} {peer / ours:.2f}x", flush=True)

few, many = [talk(800) for _ in range(5)], [talk(6400) for _ in range(3)]
ms, mb = min(t for t, _ in few), max(m for _, m in few)
row("rounds_6400", min(t for t, _ in many), 10 * ms, "ms")
row("rounds_6400_memory", max(m for _, m in many), min(3 * mb, 40), "MB")
print(f"rounds_800 {ms:.1f}ms - -\nrounds_800_memory {mb:.1f}MB - -")
row("resume_6400_rounds", min(resume(6400) for _ in range(3)), 2000, "ms")
loads = [validate() for _ in range(10)]
row("validate_10000_tools", min(t for t, _ in loads), 500, "ms")
row("validate_10000_tools_memory", max(m for _, m in loads), 60, "MB")
forget()
PYTHON
