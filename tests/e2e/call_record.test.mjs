// What is recorded about a call: complete, readable, and without secrets.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { caller, hook, tool } from './calls.mjs';

test('a result too large to keep does not break the events', t => {
  const p = caller(t, {
    'harness.md': '---\nlimits: { model_result_bytes: 1024, artifact_bytes: 2048 }\n---\n',
    '.harness/tools/x.md': tool('return {"x": "y" * 5000}'),
  });
  assert.equal(p.call('x').status, 0);
  assert.match(p.events('tool.completed')[0].data.value, /exceeds limits.artifact_bytes/);
  assert.equal(p.events().at(-1).type, 'run.ended');
});

test('a call that fails before it is executed also has an end event', t => {
  const p = caller(t, {
    'harness.md': '---\nsecrets: { KEY: { env: NOT_SET_ANYWHERE } }\n---\n',
    '.harness/tools/x.md': tool('return 1', 'injected: [secrets.KEY]'),
  });
  assert.equal(p.call('x').value.error, 'secret "KEY": environment variable NOT_SET_ANYWHERE is not set');
  assert.deepEqual(p.events().map(e => e.type), ['run.started', 'tool.started', 'tool.failed', 'run.ended']);
});

test('the event that ends a call has the time of each step; those of a refused call end with the one that refused', t => {
  const busy = 'n = 0\nfor i in range(20000):\n    n += i\n';
  const p = caller(t, { '.harness/tools/x.md': tool(`${busy}return 1`), '.harness/tools/f.md': tool(`${busy}fail("no")`),
    '.harness/tools/y.md': tool('return 1'), '.harness/hooks/h.md': hook('tool.pre', `${busy}return block("no") if payload["name"] == "y" else allow()`) });
  const order = ['resolve', 'parse', 'validate', 'limits', 'policy', 'tool.pre', 'confirm', 'execute', 'tool.post', 'bound'];
  const end = (name, type) => { p.call(name); return p.events(type).at(-1).data; };
  for (const [name, type, last] of [['x', 'tool.completed', 'bound'], ['f', 'tool.failed', 'bound'], ['y', 'tool.refused', 'tool.pre']]) {
    const { steps, elapsed_ms } = end(name, type), names = Object.keys(steps);
    assert.deepEqual(names, order.filter(s => names.includes(s)), name);
    assert.ok(steps['tool.pre'] > 0, JSON.stringify(steps));
    assert.equal(steps.execute > 0, type !== 'tool.refused', name);
    assert.ok(order.indexOf(names.at(-1)) <= order.indexOf(last), names.join());
    if (elapsed_ms !== undefined) assert.ok(Object.values(steps).reduce((sum, n) => sum + n, 0) <= elapsed_ms + 0.01, JSON.stringify({ steps, elapsed_ms }));
  }
});

test('safety.redact reaches progress', t => {
  const p = caller(t, { '.harness/tools/x.md': tool('progress(1, 2, "key tok-abcdef")\nreturn 1', 'safety: { redact: ["tok-[a-z]+"] }') });
  p.call('x');
  assert.equal(p.events('tool.progress')[0].data.message, 'key [redacted]');
});

test('a session stores no secret', t => {
  const p = caller(t, {
    'harness.md': '---\nsecrets: { KEY: { env: MY_KEY } }\n---\n',
    '.harness/tools/put.md': tool('cache.set("k", "it is " + runtime["secrets"]["KEY"])\ncache.set("n", 5)\nreturn 1', 'injected: [secrets.KEY]'),
    '.harness/tools/get.md': tool('return [cache.get("k"), cache.get("n")]'),
  }, { env: { MY_KEY: 'sup3r-s3cret-value' } });
  assert.equal(p.call('put', {}, ['--session', 's']).status, 0);
  for (const { name, parentPath } of readdirSync(p.state, { recursive: true, withFileTypes: true }).filter(e => e.isFile()))
    assert.equal(readFileSync(join(parentPath, name)).includes('sup3r-s3cret-value'), false, name);
  assert.deepEqual(p.call('get', {}, ['--session', 's']).value, ['it is [redacted]', 5]);
});
