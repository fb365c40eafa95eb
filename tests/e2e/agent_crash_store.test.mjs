// Crash proof: the process dies at the end of every commit of a run, and inside of it.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { baseline, skip, sweep } from './crashes.mjs';

test('killed at the end of every commit, and inside of it', { skip }, async () => {
  const { commits } = await baseline();
  const ends = commits.slice(1), points = [];
  for (const n of ends) points.push({ name: `commit-${n}`, env: { CRASH_STORE: `${n}` } });
  for (const n of ends.filter((_, i) => i % 5 === 0)) points.push({ name: `torn-${n - 1}`, env: { CRASH_STORE: `${n - 1}` } });
  assert.ok(await sweep(points) >= 40);
});
