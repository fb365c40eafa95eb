#!/usr/bin/env bash
# Start and exit of the program compared with /bin/true, loading a large project compared with its target of
# 150 ms, and the time until the console prints its address, compared with 20 ms. Best of many runs.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$PWD/${HARNESS_BIN:-build/bench/harness} dir=build/bench/project
python3 - "$program" "$dir" <<'EOF'
import os, subprocess, sys, time

program, folder = sys.argv[1:]

def best(argv, rounds):
    least = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        least = min(least, time.perf_counter() - start)
    return least * 1e3

def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)

for i in range(1000):
    write(f"{folder}/.harness/tools/tool_{i}.md", f"""---
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
for i in range(100):
    write(f"{folder}/.harness/hooks/hook_{i}.md", f"""---
event: tool.pre
when: payload["name"] == "tool_{i}"
script: |
  def handle(event, payload):
      if payload["args"].get("path", "").startswith("/"):
          return block("absolute paths are not allowed")
      return allow()
---
""")

floor = best(["/bin/true"], 200)
start = best([program, "version"], 200)
print(f"start_version_vs_true {start:.2f}ms {floor:.2f}ms {floor / start:.1f}x")
load = best([program, "-C", folder, "validate"], 10)
print(f"validate_1000_tools_100_hooks {load:.0f}ms 150ms {150 / load:.1f}x")

def console():
    begin = time.perf_counter()
    child = subprocess.Popen([program, "-C", f"{folder}-small", "console", "--http", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    child.stdout.readline()
    took = time.perf_counter() - begin
    child.terminate()
    child.wait()
    return took * 1e3

write(f"{folder}-small/harness.md", "---\nbuiltin_tools: none\n---\nBe brief.\n")
page = min(console() for _ in range(30))
print(f"console_start {page:.1f}ms 20ms {20 / page:.1f}x")
EOF
