// Crash test: the process dies before, inside and after every transaction of a run.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { baseline, skip, sweep } from './crashes.mjs';

test('killed before, inside and after every flush', { skip }, async () => {
  const { flushes } = await baseline(), points = [];
  assert.ok(flushes >= 30, `${flushes} flushes`);
  for (let n = 1; n <= flushes; n++)
    for (const when of ['BEFORE', 'INSIDE', 'AFTER']) points.push({ name: `flush-${when}-${n}`, env: { [`CRASH_FLUSH_${when}`]: `${n}` } });
  assert.ok(await sweep(points) >= 2 * flushes);
});
