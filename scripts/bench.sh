#!/usr/bin/env bash
# Builds and runs every bench_*.c and bench_*.sh in bench/, each of which prints lines "NAME ours peer ratio"; then prints them as one
# table and writes docs/performance.md. Arguments select programs to run: the table then has only these, and the page is not changed.
# If a program fails, the table says so and the others still run. BENCH_KEEP=1 also uses the results of earlier runs and takes the best
# of all for both sides, for a machine with other load.
set -euo pipefail
cd "$(dirname "$0")/.."
sources=(bench/bench_*.c bench/bench_*.sh)
scripts/build.sh bench >&2
results=build/bench/results
[[ ${BENCH_KEEP:-} ]] || rm -rf "$results"
mkdir -p "$results"
round=$(date +%s)
{ grep -ls ' failed - -$' "$results"/*.txt || true; } | xargs -r rm --

names=("$@") page=()
if ((${#names[@]} == 0)); then
  for source in "${sources[@]}"; do names+=("$(basename "${source%.*}")"); done
  page=(docs/performance.md)
fi
[[ ${BENCH_KEEP:-} ]] && page=(docs/performance.md)
for name in "${names[@]}"; do
  echo "… $name" >&2
  program=build/bench/$name
  [[ -f bench/$name.sh ]] && program=bench/$name.sh
  "$program" >"$results/$name.$round.txt" 2>"$results/$name.err" || echo "$name failed - -" >>"$results/$name.$round.txt"
done
bench/table.py "$results" "${page[@]}"
