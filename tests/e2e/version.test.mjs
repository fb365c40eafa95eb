// harness version: what it prints, what it loads, and how the program is built.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, build, root, run } from './harness.mjs';

const released = build === 'release' ? false : `${build} build`;

test('version in text and JSON', () => {
  const header = readFileSync(join(root, 'include/harness.h'), 'utf8');
  const version = ['MAJOR', 'MINOR', 'PATCH'].map(part => header.match(`VERSION_${part} (\\d+)`)[1]).join('.');
  const json = run(['version', '--json']);
  assert.equal(json.status, 0);
  assert.equal(json.stderr, '');
  const got = JSON.parse(json.stdout);
  assert.deepEqual(Object.keys(got), ['version', 'commit', 'libraries']);
  assert.equal(got.version, version);
  assert.match(got.commit, /^([0-9a-f]{12}|unknown)$/);
  assert.deepEqual(Object.keys(got.libraries), ['libyaml', 'GMP', 'PCRE2']);
  for (const number of Object.values(got.libraries)) assert.match(number, /^\d+\.\d+(\.\d+)?$/);

  const text = run(['version']);
  assert.equal(text.stdout, `harness ${version} (commit ${got.commit})\n`
    + `libyaml ${got.libraries.libyaml}\nGMP ${got.libraries.GMP}\nPCRE2 ${got.libraries.PCRE2}\n`);
});

test('version loads none of the heavy libraries', () => {
  const { status, stderr } = run(['version'], { env: { LD_DEBUG: 'files' } });
  assert.equal(status, 0);
  assert.match(stderr, /libyaml/);                      // proves that the check works: this command does load a library
  assert.doesNotMatch(stderr, /lib(curl|ssl|crypto|microhttpd|git2|edit|systemd|pq)\b/);
});

test('the release program is hardened', { skip: released }, () => {
  const readelf = (...args) => execFileSync('readelf', ['-W', ...args, bin], { encoding: 'utf8' });
  assert.match(readelf('-h'), /Type: +DYN/, 'position-independent');
  const segments = readelf('-l'), dynamic = readelf('-d');
  assert.match(segments, /GNU_RELRO/);
  assert.match(dynamic, /BIND_NOW|FLAGS_1.*NOW/);
  assert.match(dynamic, /FLAGS_1.*PIE/);
  assert.match(segments, /GNU_STACK.* RW +0x/, 'the stack is not executable');
  assert.doesNotMatch(segments, / RWE /, 'nothing is both writable and executable');
  const symbols = readelf('--dyn-syms');
  assert.match(symbols, /__stack_chk_fail/);
  assert.match(symbols, /__\w+_chk@/, 'fortified calls');
  assert.match(readelf('-n'), /x86 feature: .*SHSTK/);
  const code = execFileSync('objdump', ['-d', '--no-show-raw-insn', bin], { encoding: 'utf8', maxBuffer: 1 << 28 });
  assert.match(code, /<main>:\n[^\n]*endbr64/, 'indirect branches land on marks');
  assert.doesNotMatch(dynamic, /RPATH|RUNPATH/);
});
