#!/usr/bin/env bash
# Opens the console and other pages that harness writes in Chromium. A test fails if a page loads anything from elsewhere or reports an error.
# HARNESS_BIN names another program than the release build.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/node_tests.sh
scripts/deps.sh browser
if [[ -z ${HARNESS_BIN:-} ]]; then
  scripts/build.sh release harness
  export HARNESS_BIN=$PWD/build/harness
fi
mkdir -p build/logs
node_tests build/logs/browser-tests 1 tests/browser/*.test.mjs
node_tests_unsteady
((failed == 0))
