#!/usr/bin/env bash
# The queue under faults: SOAK_PG_RUNS (10000) queued runs on 8 workers, which are killed, stopped longer than their lease and replaced, while the
# server restarts. Fails if a call ran twice, or if its result has no effect. Prints the seed; SOAK_PG_SEED repeats its faults. An argument selects a
# preset other than release.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
scripts/build.sh "$preset" harness >/dev/null
node=$(echo "$PWD"/tests/e2e/node_modules/node-linux-*/bin/node)
HARNESS_BUILD=$preset HARNESS_BIN=$PWD/build/$preset/harness HARNESS_QUEUE_RUNS=${SOAK_PG_RUNS:-10000} HARNESS_QUEUE_SEED=${SOAK_PG_SEED:-} \
  "$node" --test --test-reporter=./tests/e2e/reporter.mjs --test-name-pattern=ledger tests/e2e/postgres_queue.test.mjs
