#!/usr/bin/env bash
# Builds Debian packages of the release build in build/deb: harness (program, man page, completions, documentation,
# examples), libharness0 (shared library) and libharness-dev (header, archive). Needs no root. LINTIAN= skips lintian.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
out=$PWD/build/deb
source=$PWD
version=$(sed -n 's/^#define HARNESS_VERSION_[A-Z]* //p' include/harness.h | head -3 | paste -sd.)
architecture=$(dpkg --print-architecture)
maintainer='The harness authors <harness@users.noreply.example>'
# Reproducible: the same commit gives the same packages, byte for byte.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
export SOURCE_DATE_EPOCH
date=$(date -u -R -d "@$SOURCE_DATE_EPOCH")
umask 022

rm -rf "$out"
mkdir -p "$out/all"
DESTDIR=$out/all cmake --install build/release --prefix /usr >/dev/null
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)

# ---- dependencies ----

mkdir -p "$out/shlibs/debian"
printf 'Source: harness\n\nPackage: harness\nArchitecture: any\n' >"$out/shlibs/debian/control"
# The packages of the libraries that FILE is linked with, as a Depends line.
linked_with() {
  (cd "$out/shlibs" && dpkg-shlibdeps --ignore-missing-info -O "$1" 2>/dev/null) | sed 's/^shlibs:Depends=//'
}
# Libraries that FILE loads on first use are not in its headers. Their names are strings in the program; a stub linked
# with them gives their packages. Without the optional ones, a few commands are unavailable.
optional='(libedit|libgit2|libmicrohttpd|libpq|libsystemd|libutf8proc)\.so'
loaded_by() {                                   # FILE PATTERN: those whose name matches
  local names stub=$out/shlibs/stub.so
  names=$(grep -aoE 'lib[a-z0-9_]+\.so\.[0-9.]*[0-9]' "$1" | sort -u |
    grep -vxF "$(objdump -p "$1" | sed -n 's/ *NEEDED *//p')" | grep -P "$2" | sed 's/^/-l:/')
  # shellcheck disable=SC2086
  cc -shared -o "$stub" -nostdlib -Wl,--no-as-needed $names
  linked_with "$stub"
  rm "$stub"
}

# ---- one package ----

folder() { mkdir -p "$out/$1/DEBIAN" "$out/$1/usr/share/doc/$1"; }
take() { mkdir -p "$out/$1/$(dirname "$3")" && mv "$out/all/usr/$2" "$out/$1/$3"; }

copyright() {
  printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: harness\n\n'
  printf 'Files: *\nCopyright: %s\nLicense: Expat\n' "$(sed -n 's/^Copyright (c) //p' LICENSE)"
  sed -n '/^Permission/,$p' LICENSE | sed 's/^$/./; s/^/ /'
}

# finish PACKAGE SECTION FIELDS SUMMARY; reads the description from standard input.
finish() {
  local dir=$out/$1 doc=$out/$1/usr/share/doc/$1
  copyright >"$doc/copyright"
  gzip -9n <CHANGELOG.md >"$doc/changelog.gz"
  printf 'harness (%s-1) unstable; urgency=medium\n\n  * Release %s.\n\n -- %s  %s\n' "$version" "$version" "$maintainer" "$date" |
    gzip -9n >"$doc/changelog.Debian.gz"
  {
    printf 'Package: %s\nSource: harness\nVersion: %s-1\nArchitecture: %s\nMaintainer: %s\n' "$1" "$version" "$architecture" "$maintainer"
    printf 'Installed-Size: %s\n%b' "$(du -k -s --apparent-size --exclude=DEBIAN "$dir" | cut -f1)" "$3"
    printf 'Section: %s\nPriority: optional\nDescription: %s\n' "$2" "$4"
    sed 's/^$/./; s/^/ /'
  } >"$dir/DEBIAN/control"
  (cd "$dir" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  chmod 644 "$dir"/DEBIAN/md5sums "$dir"/DEBIAN/control
  dpkg-deb --root-owner-group --build "$dir" "$out" >/dev/null
  rm -rf "$dir"
  printf '%s\n' "build/deb/${1}_${version}-1_${architecture}.deb"
}

# ---- the three packages ----

folder harness
take harness bin/harness usr/bin/harness
strip --strip-all --remove-section=.comment --remove-section=.note "$out/harness/usr/bin/harness"
take harness share/bash-completion/completions/harness usr/share/bash-completion/completions/harness
take harness share/zsh/site-functions/_harness usr/share/zsh/vendor-completions/_harness
take harness share/fish/vendor_completions.d/harness.fish usr/share/fish/vendor_completions.d/harness.fish
mkdir -p "$out/harness/usr/share/man/man1"
gzip -9n <"$out/all/usr/share/man/man1/harness.1" >"$out/harness/usr/share/man/man1/harness.1.gz"
doc=$out/harness/usr/share/doc/harness
# Tracked files only.
{ git ls-files README.md docs examples 2>/dev/null || find README.md docs examples -type f; } | grep -v '^docs/man/' |
  tar -C "$source" -cf - -T - | tar -C "$doc" -xf -
find "$doc" -type d -exec chmod 755 {} +
find "$doc" -type f -perm /111 -exec chmod 755 {} + -o -type f -exec chmod 644 {} +
needed=$(linked_with "$out/harness/usr/bin/harness")
loaded=$(loaded_by "$out/harness/usr/bin/harness" "^(?!$optional)")
wanted=$(loaded_by "$out/harness/usr/bin/harness" "^$optional")
depends=$(printf '%s, %s\n' "$needed" "$loaded" | sed 's/, */\n/g' | sort -u | paste -sd, | sed 's/,/, /g')
finish harness devel "Depends: $depends\nRecommends: $wanted\n" 'runtime for governed agents and their tools' <<'END'
harness turns a folder of files into a governed agent. A tool is a Markdown
file with a script, a command template or an entry of tools.json; a policy is
a hook file; a sub-agent is a file. Every call goes through one pipeline:
validation, policy, hooks, confirmation, a sandbox, bounded results, events.
END

folder libharness0
take libharness0 "lib/libharness.so.$version" "usr/lib/$multiarch/libharness.so.$version"
take libharness0 lib/libharness.so.0 "usr/lib/$multiarch/libharness.so.0"
strip --strip-unneeded --remove-section=.comment --remove-section=.note "$out/libharness0/usr/lib/$multiarch/libharness.so.$version"
printf 'libharness 0 libharness0 (>= %s)\n' "$version" >"$out/libharness0/DEBIAN/shlibs"
printf 'activate-noawait ldconfig\n' >"$out/libharness0/DEBIAN/triggers"
finish libharness0 libs "Depends: $depends\nRecommends: $wanted\n" 'runtime for governed agents: shared library' <<'END'
Opens the tools, policies and agents of a harness project to other programs,
in C or through a foreign function interface.
END

folder libharness-dev
take libharness-dev lib/libharness.a "usr/lib/$multiarch/libharness.a"
take libharness-dev lib/libharness.so "usr/lib/$multiarch/libharness.so"
strip --strip-debug --enable-deterministic-archives "$out/libharness-dev/usr/lib/$multiarch/libharness.a"
take libharness-dev include/harness.h usr/include/harness.h
finish libharness-dev libdevel "Depends: libharness0 (= $version-1), libyaml-dev, libgmp-dev, libpcre2-dev\n" \
  'runtime for governed agents: header and archive' <<'END'
The header harness.h and the static library, for programs that open harness
projects.
END

rm -rf "$out/all" "$out/shlibs"
if command -v "${LINTIAN-lintian}" >/dev/null; then
  # Not for the Debian archive: it closes no bug, and the man page of the program covers the library.
  lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$out"/*.deb
fi
