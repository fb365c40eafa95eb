// The table tests/sandbox/escapes.txt: nothing gets out, as root and as an ordinary user.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { pages, readTable } from '../sandbox/table.mjs';
import { World, applies, eachAlone, isRoot, mounts, users, ways } from './escapes.mjs';
import { alone as single } from './escapes_alone.mjs';
import { limits } from './escapes_limits.mjs';

const table = readTable(), alone = { ...single, ...limits };
const mine = (user, entries) => entries.filter(e => (e.as === 'both' || e.as === user.is) && (isRoot || !/\$(SETUID|CAPABLE)/.test(e.how))
  && applies(e, user));
const flags = { none: [], proxy: ['--allow-domain', 'allowed.example'], network: ['--network'] };

test('escapes: the table has 120 attempts and more, and docs/security.md shows it', () => {
  assert.ok(table.length >= 120);
  const { is, should } = pages();
  assert.ok(is === should, 'the table in docs/security.md is stale: run "make docs"');
});

for (const user of ways) {
  for (const group of Object.keys(flags)) {
    test(`escapes, as ${user.name}, ${group === 'none' ? 'without network' : `with ${flags[group][0]}`}`, async () => {
      const entries = mine(user, table.filter(e => e.group === group)), world = new World(user, entries.map(e => e.name));
      try {
        await world.open();
        const { escaped } = await world.run(entries, flags[group]);
        assert.deepEqual(escaped, {});
      } finally { await world.close(); }
    });
  }

  // Without private mounts these attempts reach the file, and it is restored when the call ends.
  test(`escapes, as ${user.name}: protected files are unchanged after every attempt`, async () => {
    const entries = table.filter(e => e.name.startsWith('shield-')), spoil = { name: 'spoil', code: 'echo spoilt > ../.mcp.json; rm -rf ../.claude; mv ../.github ../gone' };
    const world = new World(user, [...entries, spoil].map(e => e.name));
    try {
      await world.open();
      const { escaped } = await world.run([...entries, spoil], []);
      assert.deepEqual([escaped['protected files'], escaped['the runner']], [undefined, undefined]);
      assert.equal(Object.keys(escaped).some(name => name.startsWith('shield-')), !mounts(user));
    } finally { await world.close(); }
  });

  // Without private mounts only the attempts that they stop differ.
  // Those about memory are in sandbox_memory.test.mjs.
  test(`escapes, as ${user.name}, each in a separate sandbox`, { concurrency: 2 }, async t => {
    const whole = users.includes(user), all = table.filter(e => e.group === 'alone');
    assert.deepEqual(all.map(e => e.name).sort(), Object.keys(alone).sort());
    await eachAlone(t, user, mine(user, all.filter(e => !e.name.startsWith('memory-') && (whole || /mounts/.test(e.layer)))), alone);
  });

}

test('escapes: private mounts are available to all users here, and are not where they are off or forbidden', { skip: !ways.every(u => mounts(u) || !users.includes(u)) && 'no private mounts here' }, () => {
  assert.deepEqual(ways.map(u => mounts(u)), ways.map(u => users.includes(u)));
});

for (const user of users) {
  // An attempt that fails by itself proves nothing about the sandbox.
  test(`escapes, as ${user.name}: without a sandbox the attempts succeed`, async () => {
    const entries = mine(user, table).filter(e => e.code && (e.free === 'both' || e.free === user.is));
    const world = new World(user, entries.map(e => e.name));
    try {
      await world.open();
      let failed = entries.filter(e => e.name !== 'signal-by-descriptor'), printed = {};      // the effect of that one is seen at the victim
      for (let round = 0; round < 4 && failed.length; round++) {       // a race is not won every time
        const r = await world.run(failed, [], { control: true });
        failed = failed.filter(e => !r.escaped[e.name] && (round === 0 || e.name.startsWith('race-')));
        printed = r.printed;
      }
      assert.deepEqual(Object.fromEntries(failed.map(e => [e.name, printed[e.name]])), {});
      assert.ok(world.hits.length > 5 && world.signals > 0);         // pending signals of one kind are delivered as one
    } finally { await world.close(); }
  });
}

test('escapes, as root, and by setuid programs and file capabilities', { skip: isRoot ? false : 'the tests do not run as root' }, () => {});
