#!/usr/bin/env bash
# Builds one CMake preset in build/PRESET: scripts/build.sh PRESET [TARGET...]. With HARNESS_WERROR warnings are errors.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1 dir=build/$1
shift

# Ninja reconfigures when a CMake file changes, but not when the presets do.
if [[ ! -f $dir/build.ninja || CMakePresets.json -nt $dir/build.ninja ]]; then
  mkdir -p "$dir"
  if ! cmake --preset "$preset" ${HARNESS_WERROR:+-DHARNESS_WERROR=ON} >"$dir/configure.log" 2>&1; then
    cat "$dir/configure.log" >&2
    exit 1
  fi
fi
ninja -C "$dir" ${JOBS:+-j "$JOBS"} "$@"
