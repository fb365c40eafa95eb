#!/usr/bin/env bash
# The queue in PostgreSQL: bare runs (a scripted model that answers at once) a second with 1, 2, 4 and 8 workers of one run at a time, the time from
# `run --queue` to the first event of the run when a worker is idle, the CPU time of the server and the bytes that one run takes. The server is one of
# this machine, started for it, without fsync: the disk is not what is measured here.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$PWD/${HARNESS_BIN:-build/bench/harness}
top=$(mktemp -d)
trap 'scripts/postgres.sh stop "$top/server" || true; rm -rf "$top"' EXIT
chmod 0711 "$top"
url=$(scripts/postgres.sh start "$top/server")
python3 - "$program" "$top" "$url" <<'PYTHON'
import os, statistics, subprocess, sys, time

program, top, url = sys.argv[1:]
env = {"PATH": os.environ["PATH"], "HOME": f"{top}/home", "XDG_STATE_HOME": f"{top}/state", "HARNESS_TRUST": top, "HARNESS_STATE": url + "#bench"}
project = f"{top}/project"
RUNS, WAITS = 200, 20

def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)

def harness(*words):
    return subprocess.run([program, "-C", project, *words], env=env, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout

def sql(text):
    return subprocess.run(["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", url, "-c", text], check=True, capture_output=True, text=True).stdout.strip()

def put(n):
    for _ in range(n):
        harness("run", "-p", "hello", "--queue")

def start_worker():
    return subprocess.Popen([program, "-C", project, "worker"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

def stop(workers):
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.wait()

def server_cpu():
    """Milliseconds of CPU time that all processes of the server have used, also those that have ended."""
    with open(f"{top}/server/data/postmaster.pid") as f:
        main = int(f.readline())
    total = 0
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if name == str(main):
            total += sum(map(int, fields[11:15]))                # with its children that have ended
        elif fields[1] == str(main):
            total += sum(map(int, fields[11:13]))
    return total * 1000 / os.sysconf("SC_CLK_TCK")

def work(n):
    """Runs a second, from the start of the workers to the end of the last run."""
    put(RUNS)
    start = time.perf_counter()
    workers = [start_worker() for _ in range(n)]
    while sql("SELECT count(*) FROM harness.runs WHERE state <> 'ended'") != "0":
        time.sleep(0.05)
    took = time.perf_counter() - start
    stop(workers)
    assert sql("SELECT count(*) FROM harness.runs WHERE status <> 'completed'") == "0"
    return RUNS / took

def delays():
    """Milliseconds from the row of the queue to the first event, by the clock of the database and that of the machine, which is the same here."""
    worker = start_worker()
    time.sleep(1)
    found = []
    for i in range(WAITS):
        start = time.time_ns()
        id = harness("run", "-p", "hello", "--queue").split()[-1]
        while not (first := sql(f"SELECT min(e.time_ns) FROM harness.events e JOIN harness.runs r ON r.project = e.project AND r.n = e.id >> 32 WHERE r.id = '{id}' AND e.type = 'run.started'")):
            time.sleep(0.01)
        found.append((int(first) - start) / 1e6)
    stop([worker])
    return statistics.median(found)

write(f"{project}/harness.md", "---\nmodel: { provider: script, name: fixed, script: model.star }\nqueue: { workspace: shared }\n---\nAnswer.\n")
write(f"{project}/model.star", 'def reply(messages, tools):\n    return {"text": "hello"}\n')
harness("store", "migrate")
before = server_cpu()
for workers in (1, 2, 4, 8):
    print(f"queue_runs_{workers}_workers {work(workers):.0f}/s - -", flush=True)
print(f"queue_server_cpu_per_run {(server_cpu() - before) / (4 * RUNS):.2f}ms - -")
size = int(sql("SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'harness' AND c.relkind = 'r'"))
print(f"queue_bytes_per_run {size / (4 * RUNS):.0f}B - -")
print(f"queue_to_start {delays():.1f}ms - -")
PYTHON
