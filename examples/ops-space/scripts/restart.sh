#!/bin/sh
# Usage: restart.sh SERVICE REASON
[ -f "services/$1" ] || { echo "there is no service $1" >&2; exit 3; }
date -u +%Y-%m-%dT%H:%M:%SZ > "services/$1"
printf '%s restarted: %s (on call: %s)\n' "$1" "$2" "$ON_CALL" | tee -a "logs/$1.log"
