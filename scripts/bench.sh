#!/usr/bin/env bash
# Builds and runs every program in bench/. Each prints lines "NAME ours peer ratio".
# Arguments name the programs to run; without any, all of them.
set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s nullglob
sources=(bench/bench_*.c)
((${#sources[@]})) || { echo 'no bench programs'; exit 0; }
scripts/build.sh bench

names=("$@")
if ((${#names[@]} == 0)); then
  for source in "${sources[@]}"; do names+=("$(basename "$source" .c)"); done
fi
for name in "${names[@]}"; do
  echo "== $name"
  "build/bench/$name"
done
