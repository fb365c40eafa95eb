// The simulator of harness console, and the cases that are saved as tests from it.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { caller, hook, tool } from './calls.mjs';
import { ask, serve } from './consoles.mjs';
import { folder } from './harness.mjs';

const settings = rules => `---\nbuiltin_tools: [bash]\nrules: [${rules.join(', ')}]\n---\n`;
const files = {
  'harness.md': settings(['{ name: ask-curl, shell: [curl], decide: ask }']),
  '.harness/tools/say.md': tool('return args["text"]', 'parameters:\n  text: { type: string, required: true }'),
};
const draft = { 'harness.md': settings(['{ name: no-echo, shell: [echo], decide: deny }']) };

async function recorded(t, more = {}, options = {}) {
  const p = caller(t, { ...files, ...more }, options);
  p.call('bash', { command: 'echo hello' });
  p.call('bash', { command: 'curl example.com' });
  p.call('say', { text: 'hi' });
  return { p, s: await serve(t, p, options) };
}

test('the answer is that of harness simulate; the page is told that there is a simulator', async t => {
  const { p, s } = await recorded(t), plain = ({ elapsed_ms: ms, ...rest }) => { assert.ok(ms > 0); return rest; };
  assert.equal((await s.json('about')).simulator, true);
  const r = await s.post('simulate', { files: draft, limit: 100 });
  assert.equal(r.status, 200, r.text);
  assert.equal(r.headers['content-type'], 'application/json');
  assert.equal(r.headers['cache-control'], 'no-store');
  assert.deepEqual(plain(r.json), plain(JSON.parse(p.run(['simulate', '-'], { input: JSON.stringify({ files: draft, limit: 100 }) }).stdout)));
  assert.deepEqual(r.json.rows.map(x => [x.args.command ?? x.args.text, x.before.decision, x.after.decision, x.after.rule]),
    [['hi', 'allow', 'allow', null], ['curl example.com', 'ask', 'allow', null], ['echo hello', 'allow', 'deny', 'no-echo']]);
  assert.equal((await s.post('simulate')).json.changed, 0);
  assert.equal(p.text('harness.md'), files['harness.md'], 'the draft was written');
  assert.equal((await s.json('runs?all=1')).runs.length, 3, 'a simulation is a run');
});

test('who may simulate, and what is refused', async t => {
  const { s } = await recorded(t), post = (body, headers) => ask(s, { method: 'POST', path: '/api/simulate', body, headers });
  assert.equal((await post({}, { Authorization: undefined })).status, 401);
  assert.equal((await post({}, { Authorization: 'Bearer x' })).status, 401);
  assert.equal((await post({}, { Origin: 'http://evil.example' })).status, 403);
  assert.equal((await post({}, { Host: 'evil.example' })).status, 403);
  assert.equal((await post({}, { 'Sec-Fetch-Site': 'cross-site' })).status, 403);
  assert.equal((await post({}, { 'Content-Type': 'text/plain' })).status, 415);
  assert.equal((await s.get('simulate')).status, 405);
  for (const body of ['', 'null', '[]', '{"files":5}', '{"files":{"harness.md":{}}}', '{"files":{"/etc/passwd":""}}', '{"files":{".harness/../../x":""}}', '{"limit":0}', '{"limit":1001}', '{"limit":1.5}',
    '{"guard":true}', `{"files":${'{"a":'.repeat(300)}1${'}'.repeat(300)}}`, `${'['.repeat(100000)}`]) {
    const r = await post(body);
    assert.equal(r.status, 400, `${body.slice(0, 60)}: ${r.text}`);
    assert.ok(r.json.error.message.length > 5, r.text);
  }
  assert.equal((await post(JSON.stringify({ files: { 'harness.md': 'x'.repeat(8 << 20) } }))).status, 413);
  const broken = await post({ files: { 'harness.md': '---\nrules: 5\n---\n' } });
  assert.deepEqual([broken.status, broken.json.rows, broken.json.problems[0].file, broken.json.problems[0].line], [200, [], 'harness.md', 2]);
  const wider = await post({ files: { '.mcp.json': '{"mcpServers":{"x":{"command":"touch","args":["started"]}}}' } });
  assert.match(wider.json.problems[0].message, /the draft asks for more/);
});

test('a project that is not trusted is not judged', async t => {
  const home = folder(t), env = { HARNESS_TRUST: '', HOME: home, XDG_STATE_HOME: home, XDG_CONFIG_HOME: home };
  const { s } = await recorded(t, { 'harness.md': '---\nsandbox: { mode: off }\n---\n' }, { env });
  const r = await s.post('simulate', { files: {} });
  assert.deepEqual([r.status, r.json.error.kind], [403, 'policy'], r.text);
});

test('a hook of a draft that does not end: the simulation ends, and says where', async t => {
  const { p, s } = await recorded(t);
  for (let i = 0; i < 3; i++) p.call('say', { text: String(i) });
  const r = await s.post('simulate', { files: { '.harness/hooks/x.md': hook('tool.pre', 'for i in range(10000000000):\n    pass\nreturn allow()') } });
  assert.equal(r.status, 504, r.text);
  assert.match(r.json.error.message, /the simulation was ended after 20 s, at call \d of 6 \(\w+\)/);
  assert.equal((await s.post('simulate', { files: draft })).status, 200, 'the next one is not affected');
});

test('a case that is saved as a test passes with the draft and fails without it, or the other way round', async t => {
  const { p, s } = await recorded(t), { rows } = (await s.post('simulate', { files: draft })).json;
  const row = text => rows.find(r => (r.args.command ?? r.args.text) === text);
  const save = async (name, r, expect) => {
    const made = await s.post('tests', { name, call: { tool: r.tool, args: r.args }, expect });
    assert.deepEqual([made.status, made.json], [201, { file: `.harness/tests/${name}.yaml` }], made.text);
  };
  await save('denied', row('echo hello'), { blocked_by: row('echo hello').after.rule });
  await save('asked', row('curl example.com'), { blocked_by: 'confirm' });
  await save('allowed', row('echo hello'), {});
  await save('said', row('hi'), {});
  assert.equal((await s.post('tests', { name: 'x', call: { args: {} }, expect: {} })).status, 400, 'a call without a tool');
  const results = () => Object.fromEntries(JSON.parse(p.run(['test', '--json']).stdout).tests.map(x => [x.name, x.passed ?? x.ok]));
  assert.deepEqual(results(), { denied: false, asked: true, allowed: true, said: true });
  p.add(draft);
  assert.deepEqual(results(), { denied: true, asked: false, allowed: false, said: true });
  assert.deepEqual(readdirSync(`${p.dir}/.harness/tests`).sort(), ['allowed.yaml', 'asked.yaml', 'denied.yaml', 'said.yaml']);
});
