// A short soak: the tool works, and its measurements do not grow. `make soak` takes a minute and sees smaller leaks.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { build, root, shell } from './harness.mjs';

const release = build === 'release';

test('calls and runs do not leak', () => {
  const env = { SOAK_CALLS: release ? '6000' : '600', SOAK_RUNS: release ? '150' : '20', SOAK_MEMORY: release ? '1' : '0' };
  const { status, stdout, stderr } = shell(`${root}/scripts/soak.sh ${build}`, { env });
  assert.equal(status, 0, stdout + stderr);
  const lines = stdout.trim().split('\n');
  assert.match(lines[0], /^calls +runs +seconds +used KiB +resident KiB +files +threads +children +store KiB$/);
  assert.equal(lines.length, 12);
  assert.deepEqual(lines[10].trim().split(/ +/).slice(0, 2), [env.SOAK_CALLS, env.SOAK_RUNS]);
  assert.equal(lines[11], 'nothing grew');
});

test('wrong use is told', () => {
  assert.match(shell(`${root}/scripts/soak.sh ${build}`, { env: { SOAK_RUNS: '3' } }).stderr, /^soak: at least 10 runs/);
});
