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

fuzz_one() {
  local name=$1 seeds=tests/fuzz/corpus/$1 found=build/fuzz/corpus/$1 log=build/fuzz/$1.log
  mkdir -p "$found" build/fuzz/findings
  [[ -d $seeds ]] || { echo "fuzz $name: no corpus at $seeds" >&2; return 1; }
  local options=("${limit[@]}" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1
                 -artifact_prefix="build/fuzz/findings/$name-")
  [[ -f tests/fuzz/$name.dict ]] && options+=(-dict="tests/fuzz/$name.dict")
  if ! "build/fuzz/fuzz_$name" "${options[@]}" "$found" "$seeds" >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "fuzz $name: finding, see build/fuzz/findings" >&2
    return 1
  fi
  echo "fuzz $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs, no finding"
}

# One target per processor at a time.
running=0 failed=0
for name in "${names[@]}"; do
  if ((running == ${JOBS:-$(nproc)})); then
    wait -n || failed=1
    running=$((running - 1))
  fi
  fuzz_one "$name" &
  running=$((running + 1))
done
for ((; running > 0; running--)); do wait -n || failed=1; done
exit "$failed"
