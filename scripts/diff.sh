#!/usr/bin/env bash
# Compares random Starlark programs with the Go implementation: scripts/diff.sh FIRST COUNT
# runs COUNT seeds starting at FIRST; FIRST "fresh" chooses new random seeds.
# DIFF_PRESET selects our build (default: release).
set -euo pipefail
cd "$(dirname "$0")/.."
first=$1 count=$2 preset=${DIFF_PRESET:-release}
[[ $first == fresh ]] && first=$(($(date +%s) * 1000000))

scripts/build.sh "$preset" diff_run
mkdir -p build/peer
export GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$PWD/build/peer/cache GOFLAGS=
go build -o build/peer/starlark ./tests/peer
python3 tests/diff/compare.py "build/$preset/diff_run" build/peer/starlark "$first" "$count"
