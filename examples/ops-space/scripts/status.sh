#!/bin/sh
# Usage: status.sh SERVICE. A file in services/ stands in for a service.
[ -f "services/$1" ] || { echo "there is no service $1" >&2; exit 3; }
echo "$1 runs since $(cat "services/$1")"
