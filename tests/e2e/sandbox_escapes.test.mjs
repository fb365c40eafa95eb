// The table tests/sandbox/escapes.txt: nothing gets out, as root and as an ordinary user.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { pages, readTable } from '../sandbox/table.mjs';
import { World, isRoot, users } from './escapes.mjs';

const table = readTable();
const mine = (user, entries) => entries.filter(e => (e.as === 'both' || e.as === user.is) && (isRoot || !/\$(SETUID|CAPABLE)/.test(e.how)));
const flags = { none: [], proxy: ['--allow-domain', 'allowed.example'], network: ['--network'] };

test('escapes: the table has 120 attempts and more, and docs/security.md shows it', () => {
  assert.ok(table.length >= 120);
  const { is, should } = pages();
  assert.ok(is === should, 'the table in docs/security.md is stale: run "make docs"');
});

for (const user of users) {
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

  // An attempt that fails by itself proves nothing about the sandbox.
  test(`escapes, as ${user.name}: without a sandbox the attempts succeed`, async () => {
    const entries = mine(user, table).filter(e => e.code && (e.free === 'both' || e.free === user.is));
    const world = new World(user, entries.map(e => e.name));
    try {
      await world.open();
      const { escaped, printed } = await world.run(entries, [], { control: true });
      const failed = Object.fromEntries(entries.filter(e => !escaped[e.name] && e.name !== 'signal-by-descriptor').map(e => [e.name, printed[e.name]]));
      assert.deepEqual(failed, {});
      assert.ok(world.hits.length > 5 && world.signals > 5);
    } finally { await world.close(); }
  });
}

test('escapes, as root', { skip: isRoot ? false : 'the tests do not run as root' }, () => {});
