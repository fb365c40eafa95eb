#!/usr/bin/env bash
# Shows what exists so far.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$PWD/build:$PATH

# Prints a command, runs it, and says how it ended if not with 0.
show() {
  printf '\n$ %s\n' "$*"
  "$@" 2>&1 || printf '(exit %d)\n' $?
}

echo 'harness: what exists so far'
show harness version
show harness doctor

printf '{\n  "name": "demo",\n  "digits": 123456789012345678901234567890\n}\n' >"$work/good.json"
printf '{\n  "name": "demo",\n  "items": [1, 2,]\n}\n' >"$work/bad.json"
cd "$work"
show cat good.json
show harness json check good.json
show cat bad.json
show harness json check bad.json
show harness json check --json bad.json
show harness jsno check good.json

printf 'def area(w, h):\n    return w * h // 2\n\nprint([area(n, 1 << 40) for n in range(1, 4)])\narea(1, None)\n' >demo.star
show cat demo.star
show harness starlark demo.star
show harness starlark -e 'json.encode({w: len(w) for w in "one three".split()})'

show harness init shop
cd shop
show harness validate
show harness inspect run_command
show harness tools --format anthropic
printf -- '---\nparamters: {}\ntimeout_ms: -5\nscript: |\n  def run(args):\n      return lenght(args)\n---\nHas three mistakes.\n' \
  >.harness/tools/broken.md
show cat .harness/tools/broken.md
show harness validate
