#!/usr/bin/env bash
# The slow checks: tests under the sanitizers and in the hostile build, both compilers with
# warnings as errors, static analysis, pages in a real browser, the real agents of other vendors, random programs compared
# with the Go implementation, short fuzzing. Arguments select steps: scripts/check.sh asan tidy
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
mkdir -p build/logs

rooms() { python3 tests/checks/rooms.py . && python3 tests/checks/test_rooms.py; }
layout() { python3 tests/checks/layout.py . && python3 tests/checks/test_layout.py; }
english() { python3 tests/checks/english.py . && python3 tests/checks/test_english.py; }
# Nothing to do if the release was just built with warnings as errors.
gcc() { grep -q '^HARNESS_WERROR:BOOL=ON' build/release/CMakeCache.txt 2>/dev/null || scripts/build.sh gcc; }
clang() { scripts/build.sh clang; }
asan() { scripts/test.sh asan; }
tsan() { scripts/test.sh tsan; }
hostile() { scripts/test.sh hostile; }
browser() { scripts/browser.sh; }
vendors() { scripts/vendors.sh; }
diff() { DIFF_PRESET=asan scripts/diff.sh 1 500; }
fuzz() { FUZZ_SECONDS=${FUZZ_SECONDS:-6} scripts/fuzz.sh; }

# Excludes error.c, which defines the functions that analyzer.h redefines. Limits the analyzer to a sixth of its default nodes per
# function: it finds problems early, and would otherwise be the longest step.
tidy() {
  scripts/build.sh clang
  local nodes=(--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=40000)
  {
    find src -name '*.c' ! -path src/base/error.c -print0 |
      xargs -0 -P "$jobs" -n 3 clang-tidy --quiet -p build/clang "${nodes[@]}" --extra-arg=-include --extra-arg="$PWD/tests/checks/analyzer.h" &&
      clang-tidy --quiet -p build/clang "${nodes[@]}" src/base/error.c
  } 2>build/logs/tidy.err || { cat build/logs/tidy.err; return 1; }
}

cppcheck() {
  command cppcheck -j "$jobs" --quiet --std=c11 --error-exitcode=1 --inline-suppr \
    --enable=warning,performance,portability --suppressions-list=.cppcheck \
    -D_GNU_SOURCE -D__x86_64__ -Isrc -Iinclude src
}

# Runs shellcheck only if it is installed.
scripts_lint() {
  bash -n scripts/*.sh .ci/run
  if command -v shellcheck >/dev/null; then shellcheck scripts/*.sh .ci/run; fi
}

if [[ ${1:-} == --step ]]; then        # a separate process, so that `set -e` works inside a step
  "$2"
  exit
fi

steps=("$@")
((${#steps[@]})) || steps=(rooms layout english scripts_lint gcc clang tidy cppcheck browser vendors asan tsan hostile diff fuzz)
failed=()
for step in "${steps[@]}"; do
  echo "== check: $step"
  start=$SECONDS
  "$0" --step "$step" >"build/logs/$step.txt" 2>&1 && outcome=ok || outcome=FAILED
  if [[ $outcome == ok ]]; then
    grep -E '^([0-9]+ passed|fuzz |diff: )' "build/logs/$step.txt" | sed 's/^/   /' || true
  else
    cat "build/logs/$step.txt"
    failed+=("$step")
  fi
  echo "   $outcome ($((SECONDS - start)) s)"
done
if ((${#failed[@]})); then
  echo "check: FAILED: ${failed[*]}"
  exit 1
fi
echo "check: all ${#steps[@]} steps ok"
