// Older kernels, by HARNESS_TEST_LANDLOCK_ABI: what Landlock lacks is closed by another layer, or the call is refused.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readTable } from '../sandbox/table.mjs';
import { applies, World, isRoot, sandbox, users } from './escapes.mjs';

// Races and waits are the same at every level.
const slow = /^race-|^(setuid-su|filter-listener|signal-supervisor)$/;
const table = readTable().filter(e => !slow.test(e.name) && (isRoot || !/\$(SETUID|CAPABLE)/.test(e.how)));
const flags = { none: [], proxy: ['--allow-domain', 'allowed.example'], network: ['--network'] };

async function holds(user, group, abi, { entries = table, more = [] } = {}) {
  const chosen = entries.filter(e => e.group === group && (e.as === 'both' || e.as === user.is) && applies(e, user));
  const world = new World(user, chosen.map(e => e.name));
  try {
    await world.open();
    const { escaped } = await world.run(chosen, [...flags[group], ...more], { env: { HARNESS_TEST_LANDLOCK_ABI: String(abi) } });
    assert.deepEqual(escaped, {});
  } finally { await world.close(); }
}

for (const user of users) {
  test(`levels of Landlock, as ${user.name}`, { concurrency: 2 }, async t => {
    const all = [];
    for (const abi of [0, 1]) {
      all.push(t.test(`ABI ${abi} is refused`, async () => {
        const env = { HARNESS_TEST_LANDLOCK_ABI: String(abi) }, what = abi ? 'Landlock ABI 2 \\(Linux 5.19\\)' : 'Landlock';
        const strict = await sandbox(user, '/usr/share', [], ['echo', 'ran'], { env });
        assert.deepEqual([strict.status, strict.stdout], [1, '']);
        assert.match(strict.stderr, new RegExp(`the kernel lacks ${what}, which the sandbox needs .*best-effort`));
        const less = await sandbox(user, '/usr/share', ['--best-effort'], ['echo', 'ran'], { env });
        assert.deepEqual([less.status, less.stdout], [0, 'ran\n'], less.stderr);
        assert.match(less.stderr, new RegExp(`the kernel lacks ${what}, .*not fully confined`));
        const layers = await sandbox(user, '/usr/share', ['--best-effort', '--explain'], ['true'], { env });
        assert.equal(/layer: landlock/.test(layers.stderr), abi > 0);
      }));
      all.push(t.test(`ABI ${abi}, best effort: what does not need Landlock holds`, () =>
        holds(user, 'none', abi, { entries: table.filter(e => !/Landlock/.test(e.layer)), more: ['--best-effort'] })));
    }
    for (const abi of user.is === 'user' ? [2, 3, 4, 5, 6] : [2, 5]) all.push(t.test(`ABI ${abi} holds`, () => holds(user, 'none', abi)));
    for (const abi of [2, 3]) {
      all.push(t.test(`ABI ${abi} holds with a proxy`, () => holds(user, 'proxy', abi)));
      all.push(t.test(`ABI ${abi} holds with the network open`, () => holds(user, 'network', abi)));
    }
    all.push(t.test('the newest ABI needs no warning', async () => {
      const r = await sandbox(user, '/usr/share', ['--best-effort'], ['true']);
      assert.deepEqual([r.status, r.stderr], [0, '']);
    }));
    await Promise.all(all);
  });
}
