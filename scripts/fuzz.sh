#!/usr/bin/env bash
# Runs each libFuzzer target, starting from its committed corpus, for FUZZ_SECONDS seconds
# (or FUZZ_RUNS runs). New inputs go to build/fuzz/corpus; a finding makes it fail and is saved.
# Arguments select targets; the default is all.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-10}
limit=(-max_total_time="$seconds")
[[ -n ${FUZZ_RUNS:-} ]] && limit=(-runs="$FUZZ_RUNS")
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1

shopt -s nullglob
sources=(tests/fuzz/*.c)
((${#sources[@]})) || { echo 'no fuzz targets'; exit 0; }
scripts/build.sh fuzz

names=("$@")
if ((${#names[@]} == 0)); then
  for source in "${sources[@]}"; do names+=("$(basename "$source" .c)"); done
fi
for name in "${names[@]}"; do
  seeds=tests/fuzz/corpus/$name found=build/fuzz/corpus/$name log=build/fuzz/$name.log
  mkdir -p "$found" build/fuzz/findings
  [[ -d $seeds ]] || { echo "fuzz $name: no corpus at $seeds" >&2; exit 1; }
  options=("${limit[@]}" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1
           -artifact_prefix="build/fuzz/findings/$name-")
  [[ -f tests/fuzz/$name.dict ]] && options+=(-dict="tests/fuzz/$name.dict")
  if ! "build/fuzz/fuzz_$name" "${options[@]}" "$found" "$seeds" >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "fuzz $name: finding, see build/fuzz/findings" >&2
    exit 1
  fi
  echo "fuzz $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs, no finding"
done
