#!/usr/bin/env bash
# The interpreter compared with the Go implementation, CPython and Lua, on the same programs.
# The last lines are geometric means; "starlark_worst_vs_go" is the lowest ratio.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${HARNESS_BIN:-build/bench/harness} file=bench/starlark/workloads.star out=build/bench/starlark
mkdir -p "$out"
mapfile -t functions < <(sed -nE 's/^def ([a-z_]+)\(\):$/\1/p' "$file")

# Debian's golang-starlark-dev installs sources for GOPATH mode.
run_go() {
  GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$PWD/$out/cache go build -o "$out/peer" bench/starlark/peer.go && "$out/peer" "$file" "${functions[@]}"
}
run_python() { /usr/bin/python3 bench/starlark/peer.py "$file" "${functions[@]}"; }
run_lua() { lua5.4 bench/starlark/peer.lua "${functions[@]}"; }

"$program" starlark --bench "$file" "${functions[@]}" >"$out/ours.txt"
for peer in go python lua; do
  "run_$peer" >"$out/$peer.txt" 2>"$out/$peer.err" || { printf 'starlark_mean_vs_%s - missing -\n' "$peer"; continue; }
  awk -v peer="$peer" '
    NR == FNR { ours[$1] = $2; next }
    { ratio = $2 / ours[$1]; sum += log(ratio); n++; if (n == 1 || ratio < least) least = ratio
      printf "starlark_%s_vs_%s %.2fms %.2fms %.2fx\n", $1, peer, ours[$1], $2, ratio }
    END { printf "starlark_mean_vs_%s - - %.2fx\nstarlark_worst_vs_%s - - %.2fx\n", peer, exp(sum / n), peer, least }
  ' "$out/ours.txt" "$out/$peer.txt"
done
