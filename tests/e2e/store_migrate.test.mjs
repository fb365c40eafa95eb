// A state file of format 2 is migrated by the first command that opens it. The process is killed after each write of that; the next one
// finishes the work, and nothing is lost.
import { before, after, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, copyFileSync, existsSync, ftruncateSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { add, bin, build, environment, root, run } from './harness.mjs';

const skip = !['release', 'debug'].includes(build) && `${build} build`, fixtures = join(root, 'tests/fixtures/store'), HALF = 2 << 20, PART = 512;
let folder, shim;

before(() => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), 'harness-migrate-'));
  shim = join(folder, 'crash.so');
  const built = spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-o', shim, join(root, 'tests/e2e/fixtures/crash.c'), '-ldl'], { encoding: 'utf8' });
  assert.equal(built.status, 0, built.stderr);
  add(join(folder, 'project'), { 'harness.md': '---\nbuiltin_tools: none\n---\n' });
});
after(() => folder && rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

let places = 0;
function place() {
  const at = join(folder, `${++places}`), state = join(at, 'state.db'), part = readFileSync(join(fixtures, 'format2.db-tail.part'));
  mkdirSync(at);
  copyFileSync(join(fixtures, 'format2.db'), state);
  const tail = openSync(`${state}-tail`, 'w', 0o600);
  writeSync(tail, part, 0, PART, 0);
  writeSync(tail, part, PART, PART, HALF);
  ftruncateSync(tail, 2 * HALF);
  closeSync(tail);
  const env = { ...environment, HARNESS_STATE: state };
  return { at, state, env, args: command => ['-C', join(folder, 'project'), ...command] };
}

function check(p) {
  const listed = run(p.args(['runs', '--all', '--json']), { env: p.env });
  assert.equal(listed.status, 0, listed.stderr);
  assert.deepEqual(JSON.parse(listed.stdout).map(r => [r.id, r.status, r.turns, r.tool_calls]), [['served', 'interrupted', 0, 21], ['own', 'completed', 1, 0]]);
  for (const [id, n] of [['served', 63], ['own', 5]]) {
    const shown = run(p.args(['runs', 'show', id, '--json']), { env: p.env });
    assert.deepEqual(JSON.parse(shown.stdout).events.map(e => e.seq), [...Array(n).keys()].map(i => i + 1));
  }
  assert.ok(existsSync(`${p.state}-format2`) && existsSync(`${p.state}-format2-tail`));
  assert.ok(!existsSync(`${p.state}-tail`));
}

test('a migration keeps everything, and a copy', { skip }, () => {
  const p = place();
  check(p);
  check(p);
  rmSync(p.at, { recursive: true });
});

test('killed after each write of a migration', { skip }, () => {
  let n = 0, killed = true;
  for (; killed && n < 2000; n++) {
    const p = place();
    const dead = spawnSync(bin, p.args(['runs']), { env: { ...p.env, LD_PRELOAD: shim, CRASH_WRITE: `${n + 1}` }, encoding: 'utf8' });
    killed = dead.signal === 'SIGKILL';
    if (!killed) assert.equal(dead.status, 0, dead.stderr);
    check(p);
    rmSync(p.at, { recursive: true });
  }
  assert.ok(n > 20, `${n} writes`);
});

// What an older harness would find after a downgrade.
test('the copy is a state file of the old format', { skip }, () => {
  const p = place();
  check(p);
  const copy = readFileSync(`${p.state}-format2`);
  assert.equal(copy.readUInt32BE(60), 2, 'user_version');
  assert.equal(copy.readUInt32BE(68), 0x68726e73, 'application_id');
  rmSync(p.at, { recursive: true });
});

test('a newer format is refused with one message', { skip }, () => {
  const p = place(), bytes = readFileSync(p.state);
  bytes.writeUInt32BE(99, 60);
  const file = openSync(p.state, 'r+');
  writeSync(file, bytes, 60, 4, 60);
  closeSync(file);
  const r = run(p.args(['runs']), { env: p.env });
  assert.notEqual(r.status, 0);
  assert.match(r.stderr, /was written by a newer harness \(format 99; this one supports 5\)/);
  assert.match(r.stderr, /update harness, or set HARNESS_STATE to another file/);
  assert.ok(existsSync(`${p.state}-tail`) && !existsSync(`${p.state}-format99`));
  rmSync(p.at, { recursive: true });
});
