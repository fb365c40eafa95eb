#!/usr/bin/env bash
# Builds a preset and runs its unit tests, then the end-to-end tests against its program.
# The last line is "N passed, M failed"; the exit status is 0 only when M is 0.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/node_tests.sh
preset=${1:-release}
export HARNESS_BUILD=$preset
export HARNESS_BIN=$PWD/build/$preset/harness
[[ $preset == release ]] && HARNESS_BIN=$PWD/build/harness
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:allocator_may_return_null=0
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1

scripts/build.sh "$preset"
logs=$PWD/build/$preset/logs
mkdir -p "$logs"

echo "== unit tests ($preset)"
status=0
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$((${JOBS:-$(nproc)} + 1))" \
  >"$logs/unit.txt" 2>&1 || status=$?
# Passing tests print one line; a failing one is followed by its output.
sed -E '/^(Internal ctest|Test project| +Start |Label|Total Test)/d; /^ *$/d' "$logs/unit.txt"
read -r unit_failed unit_total < <(
  sed -nE 's/.*tests passed, ([0-9]+) tests failed out of ([0-9]+).*/\1 \2/p' "$logs/unit.txt" | grep . || echo 1 1)
((status == 0 || unit_failed > 0)) || unit_failed=1

echo "== end-to-end tests ($preset)"
# Each build runs the tests it is useful for: release all; asan all but the longest of those that mostly test the kernel, a terminal or another
# program; tsan those in which threads meet; hostile (a collection at every safepoint) those that run scripts. HARNESS_ALL=1 runs all tests in all builds.
only=. but='^$'
case $preset${HARNESS_ALL:+-all} in
  asan) but='bridge_desktop|mcp_conformance|postgres_queue|protected_|sandbox_(escapes|levels|limits|memory)|screens' ;;
  tsan) only='agent_(calls|limits|faults|secrets)|approvals|call_(nested|runtime|tasks)|console\.|embed|mcp_(client|features|hostile|http|stdio)\.|talk\.|test\.' ;;
  hostile) only='agent_(calls|meta)|builtin|call_(guards|kinds|nested|record|steps)|hostile|injection|json|mutate|starlark|template\.|test\.' ;;
esac
mapfile -t tests < <(printf '%s\n' tests/e2e/*.test.mjs | grep -E "/($only)" | grep -vE "/($but)")
# Tests mostly wait, so run a few files at a time.
node_tests "$logs/e2e" 3 "${tests[@]}"

echo
node_tests_unsteady
((failed += unit_failed)) || true
((status == 0 || failed > 0)) || failed=1
echo "$((unit_total - unit_failed + passed)) passed, $failed failed"
((failed == 0))
