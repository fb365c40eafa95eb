#!/usr/bin/env bash
# A PostgreSQL server for tests, in a folder of its own, on a Unix socket in it. It never runs as root: root starts it as the user postgres.
#
#   scripts/postgres.sh start DIR     creates DIR and a cluster in it, starts the server, prints its URL
#   scripts/postgres.sh restart DIR   stops it as a crash would (-m immediate) and starts it again
#   scripts/postgres.sh stop DIR      ends it and removes DIR
#
# Every local user who can enter DIR may connect as any role; DIR has mode 0700.
set -euo pipefail

bin=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -1 || true)
[[ -n $bin ]] || {
  printf 'PostgreSQL is not installed: run make deps\n' >&2
  exit 1
}
(($# == 2)) || {
  printf 'usage: %s start|restart|stop DIR\n' "$0" >&2
  exit 2
}
dir=$2

# setpriv and not runuser: it opens no session.
as_owner() {
  if [[ $(id -u) == 0 ]]; then
    setpriv --reuid=postgres --regid=postgres --clear-groups env -i PATH="$PATH" LC_ALL=C.UTF-8 "$@"
  else
    env -i PATH="$PATH" LC_ALL=C.UTF-8 "$@"
  fi
}

# fsync protects against a crash of the machine, not of the server.
launch() {
  as_owner "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w -s -t 60 \
    -o "-c listen_addresses='' -c unix_socket_directories='$dir' -c fsync=off -c max_connections=200" start >/dev/null || {
    cat "$dir/log" >&2
    exit 1
  }
}

case $1 in
start)
  mkdir -m 0700 "$dir"
  dir=$(realpath "$dir")
  [[ $(id -u) != 0 ]] || chown postgres:postgres "$dir"
  cd "$dir"
  as_owner "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --no-sync >"$dir/initdb.log"
  launch
  printf 'postgresql://postgres@/postgres?host=%s\n' "$dir"
  ;;
restart)
  cd "$dir"
  as_owner "$bin/pg_ctl" -D "$dir/data" -m immediate -w -s stop
  launch
  ;;
stop)
  cd "$dir"
  as_owner "$bin/pg_ctl" -D "$dir/data" -m immediate -w -s stop || true
  cd /
  rm -rf "$dir"
  ;;
*)
  printf 'usage: %s start|restart|stop DIR\n' "$0" >&2
  exit 2
  ;;
esac
