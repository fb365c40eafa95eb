#!/usr/bin/env bash
# Plays the governed agent of examples/governed-agent, offline: what it may do, and what it may not. HARNESS overrides
# the program, build/harness.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
harness=${HARNESS:-$PWD/build/harness}
[[ -x $harness ]] || { echo "demo: $harness does not exist: run make first" >&2; exit 1; }
export XDG_STATE_HOME=$work/state NO_COLOR=1
unset HARNESS_STATE HARNESS_CONFIG HARNESS_LOG_LEVEL HARNESS_LOG_FORMAT
cp -r examples/governed-agent "$work/shop"
cd "$work/shop"

width=100 bold='' dim='' plain=''
if [[ -t 1 ]]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; fi

part=0
part() { part=$((part + 1)); printf '\n%s%d. %s%s\n' "$bold" "$part" "$1" "$plain"; }
say() { printf '   %s%s%s\n' "$dim" "$1" "$plain"; }
# Wraps long lines with an indent, for narrow terminals and logs.
wrap() { fold -s -w $((width - 3)) | sed 's/^/   /; s/ *$//'; }
# Prints a command, runs it, and prints its exit status if not 0.
show() {
  local word line='$ harness' status
  for word in "$@"; do
    case $word in *[!A-Za-z0-9_./=-]*) line+=" '$word'" ;; *) line+=" $word" ;; esac
  done
  printf '%s\n' "$line"
  "$harness" "$@" </dev/null >"$work/out" 2>&1 && status=0 || status=$?
  wrap <"$work/out"
  [[ $status == 0 ]] || say "(exit $status)"
}

printf '%sA governed agent: the back office of a shop. Every tool, guard and sub-agent is a file.%s\n' "$bold" "$plain"
printf '$ harness validate\n'
"$harness" validate >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
sed 's/  *\.harness.*//' "$work/out" | wrap

part 'An allowed call. Card numbers are masked by a guard before the model sees them.'
show run -p 'which orders are there?'
show call list_orders '{"status": "open"}'

part 'A call refused by policy: the tool exists, but is not in the allow-list.'
show call drop_orders

part 'A call refused by a hook: guard_amount. The timeline of the run names it.'
show run -p 'refund A-102 200'
show runs show last

part 'A call stopped by the sandbox: whatever the command is, the kernel says no.'
show call run_command '{"command": "echo x > /etc/harness-was-here"}'
show call run_command '{"command": "ls /home"}'
show sandbox -- bash -c 'echo hello >/dev/tcp/192.0.2.1/80'

part 'A sub-agent: it has less than its parent, and the parent sees only its answer.'
show run -p 'audit the orders'
show runs show last

part 'A large result is kept as an artifact: the model gets its head, its tail and a key.'
printf '$ harness call run_command %s --raw\n' "'{\"command\": \"seq 1 9000\"}'"
"$harness" call run_command '{"command": "seq 1 9000"}' --raw </dev/null >"$work/out" 2>&1 || true
{ head -c 60 "$work/out"; echo ' …'; grep -o '… [0-9]* of .*artifact.*)' "$work/out" || true; printf '… '; tail -c 60 "$work/out"; } | wrap

part 'An approval: money needs a person. Without one the answer is no, with one it is yes.'
show run -p 'refund A-101 5'
show run -p 'refund A-101 5' --approve refund_order
show runs show last

part 'A resumed run: killed in the middle, it goes on, and what was done is not done again.'
rm -f data/refunds.log
printf "\$ harness run -p 'refund A-101 7 with a receipt' --approve refund_order\n"
"$harness" run -p 'refund A-101 7 with a receipt' --approve refund_order --events "$work/events" </dev/null >"$work/out" 2>&1 &
pid=$!
for _ in $(seq 200); do grep -q '"tool.executing".*run_command' "$work/events" 2>/dev/null && break; sleep 0.05; done
{ kill -9 $pid; wait $pid || true; } 2>/dev/null      # keeps the shell from reporting the killed process
say '(kill -9, after the refund and while the receipt is being printed)'
run=$(sed -n 's/.*"run":"\([^"]*\)".*/\1/p' "$work/events" | head -1)
printf '$ harness runs\n'
"$harness" runs 2>&1 | head -2 | wrap
show runs resume "$run"
printf '$ cat data/refunds.log\n'
wrap <data/refunds.log
say 'One refund: it came from the journal. Only the receipt was asked for again.'

cat <<END

${bold}With a real model${plain}: make a project (harness init NAME), and in its harness.md replace model: by
    model: {provider: anthropic, name: claude-sonnet-4-5}   # or openai; base_url for other servers
then export ANTHROPIC_API_KEY (or OPENAI_API_KEY) and talk to it: harness run
END
