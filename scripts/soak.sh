#!/usr/bin/env bash
# A day's load in one process: SOAK_CALLS (200000) tool calls of every kind and SOAK_RUNS (2000) runs with sub-agents, on
# SOAK_THREADS (4) threads. Prints a table, and fails if memory, open files, threads or children grow. An argument selects
# a preset other than release; SOAK_MEMORY=0 does not check memory.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
scripts/build.sh "$preset" soak >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r tests/soak/project "$work/project"
"build/$preset/soak" "$work/project" "$work/state.db" "${SOAK_CALLS:-200000}" "${SOAK_RUNS:-2000}" "${SOAK_THREADS:-4}"
