#!/usr/bin/env python3
"""table.py RESULTS [PAGE]: prints the measurements of the bench programs (RESULTS/*.txt, lines "NAME ours peer ratio") as one table; writes PAGE."""
import math, os, pathlib, platform, re, subprocess, sys

# Subject, prefix of the name, what is measured, peer ("target": no peer, but the target of the design). {} is the rest of the name.
ROWS = [
    ("Start", "start_version_vs_true", "`harness version`, start to end", "`/bin/true`"),
    ("Start", "validate_1000_tools_100_hooks", "`harness validate` of 1,000 tools and 100 hooks", "target"),
    ("Start", "validate_10000_tools_memory", "`harness validate` of 10,000 tools: peak memory", "target"),
    ("Start", "validate_10000_tools", "`harness validate` of 10,000 tools", "target"),
    ("Start", "console_start", "`harness console`, until it prints its address", "target"),
    ("Start", "guard_call_50_files_10_hooks", "`harness guard`, one call, a project of 50 files whose 10 hooks are asked", "target"),
    ("Start", "guard_call_", "`harness guard`, one call, whole process: {}", "target"),
    ("Starlark", "starlark_mean_vs_", "the programs below, geometric mean", "peer"),
    ("Starlark", "starlark_worst_vs_", "the least favourable of them", "peer"),
    ("Starlark", "starlark_bare_call", "JSON text → `run(args)` → JSON text", "target"),
    ("Starlark", "starlark_calls_on_2_threads", "the same on two threads", "one thread"),
    ("Starlark", "starlark_", "`{}`", "peer"),
    ("JSON", "json_parse_vs_", "read 10 MB", "peer"),
    ("JSON", "json_write_vs_", "write 10 MB", "peer"),
    ("Schema", "schema_first_result_vs_", "compile, and check one value", "peer"),
    ("Schema", "schema_compile_vs_", "compile, all warm", "peer"),
    ("Schema", "schema_validate_vs_", "check 1,000 values, all warm", "peer"),
    ("Template", "template_compile_vs_", "compile a prompt with 30 tools, render it once", "peer"),
    ("Template", "template_render_vs_", "render it, all warm", "peer"),
    ("Sandbox", "sandbox_true_vs_", "start `true`", "peer"),
    ("Sandbox", "sandbox_true_overhead", "what the sandbox adds to it", "target"),
    ("Sandbox", "sandbox_starts", "starts one after another", "target"),
    ("Proxy", "proxy_throughput", "256 MB through a tunnel", "no proxy"),
    ("Proxy", "proxy_connections", "200 short tunnels", "no proxy"),
    ("Pipeline", "piped_call", "a call, all steps, JSON in and out", "target"),
    ("Pipeline", "governed_call", "the same with four hooks", "target"),
    ("Pipeline", "hook_dispatch_3_", "three hooks, {}", "target"),
    ("Pipeline", "hook_dispatch_3", "three hooks with `when`", "target"),
    ("Search", "grep_executables_vs_", "grep, 60,000 files and 1 GB of executables", "peer"),
    ("Search", "grep_executables_memory_vs_", "the same: peak memory", "peer"),
    ("Search", "grep_", "grep, 60,000 files: {}", "peer"),
    ("Search", "glob_", "glob, 60,000 files: {}", "peer"),
    ("Agent", "agent_one_turn_memory", "one turn: peak memory", "target"),
    ("Agent", "agent_one_turn", "`harness run -p`, one turn", "target"),
    ("Agent", "agent_ten_tool_rounds_memory", "ten rounds: peak memory", "target"),
    ("Agent", "agent_ten_tool_rounds", "ten rounds of a sandboxed command each", "target"),
    ("Agent", "agent_first_request_beyond", "first request beyond the project's own words", "target"),
    ("Agent", "agent_codex_one_turn_memory", "beside codex, one turn: peak memory", "codex"),
    ("Agent", "agent_codex_one_turn", "beside codex, one turn", "codex"),
    ("Agent", "agent_codex_ten_rounds_memory", "beside codex, ten rounds of a command each: peak memory", "codex"),
    ("Agent", "agent_codex_ten_rounds", "beside codex, ten rounds of a command each", "codex"),
    ("Agent", "agent_claude_one_turn_memory", "beside claude-code, one turn: peak memory", "claude-code"),
    ("Agent", "agent_claude_one_turn", "beside claude-code, one turn", "claude-code"),
    ("Agent", "agent_claude_ten_rounds_memory", "beside claude-code, ten rounds of a command each: peak memory", "claude-code"),
    ("Agent", "agent_claude_ten_rounds", "beside claude-code, ten rounds of a command each", "claude-code"),
    ("Agent", "rounds_800_memory", "800 rounds of a tiny tool: peak memory", "–"),
    ("Agent", "rounds_800", "800 rounds of a tiny tool", "–"),
    ("Agent", "rounds_6400_memory", "6,400 rounds: peak memory", "target, at most three times that of 800"),
    ("Agent", "rounds_6400", "6,400 rounds", "target, ten times that of 800"),
    ("Agent", "resume_6400_rounds", "resume after 6,400 rounds", "target"),
    ("Agent", "sessions_500_memory", "500 conversations at once: peak memory", "target"),
    ("Queue", "queue_bytes_per_run", "a run in PostgreSQL, with its events and indexes", "–"),
    ("Queue", "queue_server_cpu_per_run", "a run in PostgreSQL: CPU time of the server", "–"),
    ("Queue", "queue_to_start", "from `run --queue` to the first event, with an idle worker", "–"),
    ("Queue", "queue_runs_", "runs of the queue that do nothing: {}", "–"),
    ("MCP", "mcp_first_response", "start to first response", "SDK"),
    ("MCP", "mcp_stdio_sequential", "stdio, one call after another", "SDK"),
    ("MCP", "mcp_stdio_pipelined", "stdio, 32 to 64 calls in flight", "SDK"),
    ("MCP", "mcp_http_sequential", "HTTP, one call after another", "SDK"),
    ("MCP", "mcp_http_32_clients", "HTTP, 32 clients", "SDK"),
    ("MCP", "mcp_http_1000_clients", "HTTP, 1,000 clients", "SDK"),
    ("MCP", "mcp_stdio_memory", "stdio: peak memory", "SDK"),
    ("MCP", "mcp_http_memory", "HTTP, 32 clients: peak memory", "SDK"),
]
PEERS = {"go": "starlark-go", "python": "CPython", "lua": "Lua 5.4", "rg": "ripgrep", "fdfind": "fd", "handlebars": "Handlebars (Node)",
         "ajv": "ajv (Node)", "SDK": "TypeScript SDK (Node)", "posix_spawn": "`posix_spawn`, no sandbox", "bwrap": "bubblewrap"}
SUBJECTS = list(dict.fromkeys(row[0] for row in ROWS))

def amount(text):
    """1234.5678us → 1.23 ms; three significant digits, in a suitable unit."""
    match = re.fullmatch(r"([0-9.]+)(us|ms|MB|B|/s)", text)
    if not match:
        return {"-": "–"}.get(text, text)
    n, unit = float(match[1]), match[2]
    if unit in ("us", "ms"):
        us = n * (1000 if unit == "ms" else 1)
        n, unit = (us, "µs") if us < 1000 else (us / 1000, "ms")
    shown = f"{n:,.0f}" if n >= 100 else f"{n:.1f}" if n >= 10 else f"{n:.2f}"
    return shown + ("/s" if unit == "/s" else " " + unit)

def number(text):
    match = re.match(r"[0-9.]+", text)
    return float(match[0]) if match else None

def best(a, b):
    """The better of two amounts; one of the runs may have failed, or lacked a peer."""
    if number(a) is None or number(b) is None:
        return b if number(a) is None else a
    return (max if a.endswith("/s") else min)(a, b, key=number)

def merged(lines):
    """One (name, ours, peer, ratio) for each name, from all runs."""
    kept = {}
    for name, ours, peer, _ in lines:
        before = kept.get(name, (ours, peer))
        kept[name] = best(before[0], ours), best(before[1], peer)
    ratios = {name: (number(o) / number(p) if o.endswith("/s") else number(p) / number(o)) for name, (o, p) in kept.items() if number(o) and number(p)}
    for name in kept:
        if match := re.fullmatch("starlark_(mean|worst)_vs_(.*)", name):
            some = [r for n, r in ratios.items() if n.startswith("starlark_") and n.endswith("_vs_" + match[2])]
            if some:
                kept[name] = "-", "-"
                ratios[name] = min(some) if match[1] == "worst" else math.prod(some) ** (1 / len(some))
    return [(name, ours, peer, ratios.get(name)) for name, (ours, peer) in kept.items()]

def row_of(name, ours, peer, ratio):
    if ours == "failed":
        return len(ROWS), ["", f"`{name}` did not run", "–", "–", "–"]
    for i, (subject, start, what, beside) in enumerate(ROWS):
        if name != start and not (name.startswith(start) and start.endswith("_")):
            continue
        middle, _, named = name[len(start):].partition("_vs_") if "_vs_" not in start else ("", "", name[len(start):])
        beside = PEERS.get(named or beside, named or beside) if beside in ("peer", "SDK") else beside
        missing = peer == "missing"
        other = f"{beside}: not on this machine" if missing else f"{beside}: {amount(peer)}" if peer != "-" else beside
        return i, [subject, what.replace("{}", middle.replace("_", " ") if "`" not in what else middle), amount(ours), other,
                   "–" if ratio is None else f"{ratio:.0f}×" if ratio >= 100 else f"{ratio:.1f}×" if ratio >= 10 else f"{ratio:.2f}×"]
    raise SystemExit(f"bench/table.py has no row for {name}")

def read(folder):
    lines = [line.split() for path in sorted(pathlib.Path(folder).glob("*.txt")) for line in path.read_text().splitlines()]
    rows = [row_of(*line) for line in merged(lines)]
    return [cells for _, cells in sorted(rows, key=lambda row: row[0])]

def show(rows):
    head = ["subject", "what", "harness", "beside", "ratio"]
    widths = [max(len(row[i].replace("`", "")) for row in rows + [head]) for i in range(5)]
    before = None
    for row in [head] + rows:
        cells = [cell.replace("`", "") for cell in row]
        if cells[0] == before:
            cells[0] = ""
        else:
            before = cells[0]
        print("  ".join(c.rjust(w) if i in (2, 4) else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths))).rstrip())

def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]) / 2**20
    system = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)["PRETTY_NAME"].strip('"')
    kernel = ".".join(re.findall(r"\d+", platform.release())[:2])
    compiler = subprocess.run(["cc", "-dumpfullversion", "-dumpversion"], capture_output=True, text=True).stdout.split()
    return (f"{os.cpu_count()} processors ({model[1] if model else platform.machine()}), {memory:.0f} GiB of memory, {system}, Linux {kernel}, "
            f"cc {compiler[0] if compiler else 'unknown'}")

def page(rows):
    text = ["# Performance", "", "Speed and memory of harness, compared with programs that do the same and with the targets of its design. `make bench` measures it and writes this page.", "",
            "## How it is measured", "",
            "- A release build. The best of several rounds counts, on both sides, because other work on the machine can only make a round slower. For calls over MCP it is the median, with the two servers measured alternately: the best round would depend on how the kernel happened to place two processes.",
            "- A ratio above 1 means that harness is that many times faster, or smaller. A *target* is the requirement of the design.",
            "- Where a peer does strictly less (`/bin/true`, `posix_spawn` without a sandbox, a connection without the proxy) a ratio below 1 is expected.",
            "- The MCP server takes every call through the whole pipeline and writes three events about it; its peer, on the official TypeScript SDK, checks the arguments and runs the function.",
            "- A comment at the top of each program in `bench/` describes what it does.", "",
            f"These numbers are from: {machine()}. The load of that machine during the measurement: {os.getloadavg()[2]:.1f} on average over 15 minutes"
            + (": it was shared, so times that need several processors at once (MCP, agents) are worse than on a quiet one." if os.getloadavg()[2] > os.cpu_count() else "."), "",
            "## Numbers", ""]
    for subject in SUBJECTS + [""]:
        some = [row for row in rows if row[0] == subject]
        if some:
            text += [f"### {subject or 'Not measured'}", "", "| what | harness | beside | ratio |", "|---|--:|---|--:|"] + ["| " + " | ".join(row[1:]) + " |" for row in some] + [""]
    text += ["## Measuring it again", "", "```sh norun", "make bench", "```", "",
             "installs the peers (Debian packages), builds, measures for some minutes, prints one table and writes this page. A peer that is missing is named in the table, and the rest is still measured.",
             "`scripts/bench.sh bench_json bench_mcp` measures these two and does not change the page. On a machine that others use, `BENCH_KEEP=1 scripts/bench.sh` measures again and keeps the best of both.", ""]
    return "\n".join(text)

found = read(sys.argv[1])
show(found)
if len(sys.argv) > 2:
    pathlib.Path(sys.argv[2]).write_text(page(found))
