#!/usr/bin/env bash
# One call of `harness guard`, the whole process from its start until its parent has its status: projects of 5, 50 and 500 files, compared with the
# target of 5 ms for 50. Best of many runs. The last line is a project whose hooks are asked, so that their jail is opened too. Uses posix_spawn:
# Python's subprocess.run would add up to 0.5 ms of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$PWD/${HARNESS_BIN:-build/bench/harness} dir=$PWD/build/bench/guard
python3 - "$program" "$dir" <<'EOS'
import json, os, shutil, sys, tempfile, time

program, top = sys.argv[1:]
env = dict(os.environ, HOME=f"{top}/home", XDG_STATE_HOME=f"{top}/state", HARNESS_TRUST=top)

def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)

def project(name, files, hooks):
    folder = f"{top}/{name}"
    rules = "".join(f'  - {{ name: rule-{i}, shell: [program-{i}, "--force*"], decide: deny }}\n' for i in range(20))
    write(f"{folder}/harness.md", f"---\nrules:\n{rules}---\n")
    for i in range(files - 1 - hooks):
        write(f"{folder}/.harness/tools/tool_{i}.md", f"""---
parameters:
  path: {{ type: string, required: true }}
script: |
  def run(args):
      return {{"lines": fs.read(args["path"]).split("\\n")[:{i + 1}]}}
---
Reads a file.
""")
    for i in range(hooks):
        write(f"{folder}/.harness/hooks/hook_{i}.md", f"""---
event: tool.pre
when: payload["kind"] == "shell"
script: |
  def handle(event, payload):
      return block("no") if "forbidden_{i}" in payload["args"]["command"] else allow()
---
""")
    return folder

def best(folder, rounds):
    least = float("inf")
    for i in range(rounds):
        envelope = json.dumps({"session_id": "s", "transcript_path": "/t", "cwd": folder, "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Bash",
                               "tool_input": {"command": "make test && git status"}, "tool_use_id": f"t{i}"}).encode()
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
            given.write(envelope)
            given.seek(0)
            argv = [program, "guard", "claude", "--project", folder]
            files = [(os.POSIX_SPAWN_DUP2, given.fileno(), 0), (os.POSIX_SPAWN_DUP2, said.fileno(), 1), (os.POSIX_SPAWN_DUP2, said.fileno(), 2)]
            start = time.perf_counter()
            _, status = os.waitpid(os.posix_spawn(program, argv, env, file_actions=files), 0)
            least = min(least, time.perf_counter() - start)
            said.seek(0)
            text = said.read()
            assert status == 0 and text == b"", (status, text)
    return least * 1e3

shutil.rmtree(top, ignore_errors=True)
os.makedirs(f"{top}/home")
for files in (5, 50, 500):
    took = best(project(f"rules_{files}", files, 0), 100)
    print(f"guard_call_{files}_files {took:.2f}ms 5.00ms {5 / took:.1f}x")
took = best(project("hooks", 50, 10), 100)
print(f"guard_call_50_files_10_hooks {took:.2f}ms 5.00ms {5 / took:.1f}x")
EOS
