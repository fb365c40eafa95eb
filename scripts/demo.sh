#!/usr/bin/env bash
# Plays the governed agent of examples/governed-agent, offline: what it may do, and what it may not.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$PWD/build:$PATH
export XDG_STATE_HOME=$work/state NO_COLOR=1
cp -r examples/governed-agent "$work/shop"
cd "$work/shop"

part=0
part() { part=$((part + 1)); printf '\n%d. %s\n\n' "$part" "$1"; }
# Prints a command, runs it, and says how it ended if not with 0.
show() {
  printf '$ harness'
  for word in "$@"; do
    case $word in *[!A-Za-z0-9_./=-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
  done
  printf '\n'
  harness "$@" 2>&1 | cut -c1-160 || true
  local status=${PIPESTATUS[0]}
  [ "$status" = 0 ] || printf '(exit %d)\n' "$status"
}

echo 'A governed agent: the back office of a shop. Every tool, guard and sub-agent is a file.'
show validate

part 'An allowed call. Card numbers are masked by a hook before the model sees them.'
show run -p 'which orders are there?'
show call list_orders '{"status": "open"}'

part 'Refused by policy: the tool exists, but is not in the allow-list.'
show call drop_orders

part 'Refused by a hook: guard_amount.'
show run -p 'refund A-102 200'

part 'Stopped by the sandbox: the kernel says no, whatever the command is.'
show call run_command '{"command": "echo x > /etc/harness-was-here; cat /etc/shadow; ls /root"}'
show sandbox -- sh -c 'exec 3<>/dev/tcp/192.0.2.1/80 || touch ~/../outside'

part 'A sub-agent, with less than its parent.'
show run -p 'audit the orders'

part 'A large result is kept as an artifact; the model gets its head, its tail and a key.'
harness call run_command '{"command": "seq 1 9000"}' --raw | grep -o '… [0-9]* of .*artifact.*' || true

part 'Money needs a person: without one the answer is no, with --approve it is yes.'
show run -p 'refund A-101 5'
show run -p 'refund A-101 5' --approve refund_order

part 'A run that was killed goes on: what was done is not done again.'
events=$work/events
echo '$ harness run -p '"'run sleep 2; echo finished'"' & kill -9 while it sleeps'
harness run -p 'run sleep 2; echo finished' --events "$events" >/dev/null 2>&1 &
pid=$!
for _ in $(seq 100); do grep -q tool.executing "$events" 2>/dev/null && break; sleep 0.05; done
kill -9 $pid 2>/dev/null || true
wait $pid 2>/dev/null || true
run=$(sed -n 's/.*"run":"\([^"]*\)".*/\1/p' "$events" | head -1)
show runs
show runs resume "${run:0:13}"

cat <<'END'

With a real model: in harness.md of your project (harness init makes one) write
    model: {provider: anthropic, name: claude-sonnet-4-5}     # or provider: openai, also with base_url for local servers
and export ANTHROPIC_API_KEY (or OPENAI_API_KEY). Then: harness run
END
