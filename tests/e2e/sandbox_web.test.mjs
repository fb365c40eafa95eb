// The filtering proxy in a network of the test's own: redirects, names whose address changes, curl and git over HTTPS.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { readTable } from '../sandbox/table.mjs';
import { execute, isRoot, users } from './escapes.mjs';
import { privateMounts } from './harness.mjs';

const skip = !isRoot ? 'a network of its own needs root' : !privateMounts() && 'names of its own need private mounts, which are not possible here';

test('the sandbox and the web', { skip }, async t => {
  const r = await execute('unshare', ['--net', '--mount', '--propagation', 'private', process.execPath, fileURLToPath(new URL('escapes_web.mjs', import.meta.url))],
    { timeout: 120000, env: { HARNESS_BIN: process.env.HARNESS_BIN, PATH: process.env.PATH } });
  const results = r.stdout.split('\n').filter(line => line.startsWith('{')).map(line => JSON.parse(line));
  for (const { name, user, problem } of results) await t.test(`${name}, as ${user}`, () => assert.ok(!problem, problem));
  assert.equal(r.status, 0, r.stderr);
  for (const user of users)
    for (const { name } of readTable().filter(e => e.group === 'web')) assert.ok(results.some(x => x.name === name && x.user === user.name), name);
});
