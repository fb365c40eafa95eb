// Crash test: the process dies, as by kill -9, before every event of a run.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { baseline, effects, place, shim, skip, sweep, unknown } from './crashes.mjs';

test('killed before every event', { skip }, async () => {
  const { events } = await baseline(), trail = [];
  assert.ok(events >= 40, `${events} events`);
  const points = [...Array(events).keys()].map(n => ({ name: `event-${n + 1}`, env: { CRASH_EVENT: `${n + 1}` } }));
  assert.equal(await sweep(points, trail), events);
  assert.ok(trail.some(n => n > 0) && trail.some(n => n === 0));
});

test('killed again while it is resumed, and again', { skip }, async () => {
  const { events, response } = await baseline();
  for (const seed of [1, 2]) {
    const p = place(`twice-${seed}`);
    await p.run({ CRASH_EVENT: `${10 + seed}` });
    const [{ id }] = JSON.parse((await p.harness(['runs', '--json'])).stdout);
    let out, tries = 0;
    do {
      out = await p.harness(['runs', 'resume', id, '--json', '--events', p.events], { LD_PRELOAD: shim, CRASH_EVENT: `${5 + seed + 2 * tries}` });
    } while (out.signal === 'SIGKILL' && ++tries < events);
    assert.equal(out.status, 0, out.stderr);
    const made = p.effects();
    assert.deepEqual(made, [...new Set(made)]);
    const text = out.stdout ? JSON.parse(out.stdout).response : response;
    const doubtful = text.split(unknown).length - 1;
    assert.ok(effects.length - made.length <= doubtful, `${made}: ${text}`);
    p.drop();
  }
});
