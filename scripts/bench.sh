#!/usr/bin/env bash
# Builds and runs every bench_*.c and bench_*.sh in bench/. Each prints lines "NAME ours peer ratio".
# Arguments name the programs to run; without any, all of them.
set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s nullglob
sources=(bench/bench_*.c bench/bench_*.sh)
((${#sources[@]})) || { echo 'no bench programs'; exit 0; }
scripts/build.sh bench

names=("$@")
if ((${#names[@]} == 0)); then
  for source in "${sources[@]}"; do names+=("$(basename "${source%.*}")"); done
fi
for name in "${names[@]}"; do
  echo "== $name"
  if [[ -f bench/$name.sh ]]; then "bench/$name.sh"; else "build/bench/$name"; fi
done
