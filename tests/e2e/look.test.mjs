// What a model would receive, shown without one: tools --format and context; and the output of inspect and the log.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { root } from './harness.mjs';
import { harness, server, surfaces, talker } from './agents.mjs';
import { terminal } from './columns.mjs';
import { caller, hook, tool } from './calls.mjs';

const files = {
  'server.py': readFileSync(join(root, 'tests/e2e/fixtures/mcp/server.py'), 'utf8'),
  '.harness/agents/kid.md': '---\ndescription: Counts sheep\n---\nKid.',
  '.harness/tools/later.md': tool('return 1', 'async: true'),
  '.harness/tools/hidden.md': tool('return 1'),
};
const head = 'mcp_servers:\n  small: { command: python3, args: [server.py, honest], env: { LOG: calls.log } }\ntools_policy: { deny: [hidden] }';

for (const format of ['openai', 'anthropic'])
  test(`tools --format ${format} is what a model is sent`, async t => {
    const seen = [];
    const s = await server(t, (request, response, body) => {
      seen.push(body.tools);
      response.writeHead(500).end('{}');
    });
    const model = { ...surfaces[format](s.url), retry: '{ max_attempts: 1 }' };
    const p = talker(t, { ...files, 'harness.md': harness(model, head) });
    await p.say('go');
    const shown = await p.harness(['tools', '--format', format, '--json', '--live'], { env: { OPENAI_API_KEY: '', ANTHROPIC_API_KEY: '' } });
    assert.equal(shown.status, 0, shown.stderr);
    delete seen[0].at(-1).cache_control;                     // a mark of the request, not of the tool
    assert.equal(JSON.stringify(JSON.parse(shown.stdout)), JSON.stringify(seen[0]));
    const names = seen[0].map(x => x.name ?? x.function.name);
    for (const name of ['mcp__small__echo', 'delegate', 'delegate_async', 'later']) assert.ok(names.includes(name), `${name} in ${names}`);
    assert.ok(!names.includes('hidden'));
  });

test('context needs neither a key nor a model', async t => {
  const none = { OPENAI_API_KEY: '', ANTHROPIC_API_KEY: '' };
  const p = talker(t, { 'harness.md': '---\nmodel: { provider: anthropic, name: claude-x }\n---\nBe brief.\n', '.harness/tools/later.md': files['.harness/tools/later.md'] });
  const r = await p.harness(['context'], { env: none });
  assert.equal(r.status, 0, r.stderr);
  assert.match(r.stdout, /^ +\d+  system prompt\n +\d+  tool later\n.*      0  messages \(0\)\n +\d+  total, estimated \(model claude-x\)\n$/s);
  const bare = talker(t, { '.harness/tools/later.md': files['.harness/tools/later.md'] });
  const without = await bare.harness(['context'], { env: none });
  assert.equal(without.status, 0, without.stderr);
  assert.match(without.stdout, /\(model not chosen\)\n$/);
  const wrong = await bare.harness(['context', '--model', 'nobody-knows-it'], { env: none });
  assert.equal(wrong.status, 1);
  assert.match(wrong.stderr, /nobody-knows-it/);
});

test('context draws a bar per part that fits the terminal, and none into a pipe', async t => {
  const long = 'a_tool_with_a_name_that_is_much_longer_than_a_narrow_terminal';
  const p = talker(t, { 'harness.md': '---\n---\nBe brief.\n', [`.harness/tools/${long}.md`]: tool('return 1'),
    '.harness/tools/big.md': tool('return 1').replace('Does it.', 'x'.repeat(4000)), '.harness/tools/small.md': tool('return 1') });
  for (const columns of [24, 40, 80, 200]) {
    const lines = terminal(p, columns, ['context']).filter(l => !l.startsWith('harness:'));
    const rows = lines.slice(0, -1);                         // the last line is the total
    for (const l of rows) assert.ok([...l].length <= columns, `${columns}: ${l}`);
    if (columns === 24) continue;                            // names are cut too short to tell them apart
    const bar = name => (rows.find(l => l.includes(name)).match(/█/g) ?? []).length;
    assert.ok(bar('big') > bar('small') && bar('small') >= 1, lines.join('\n'));
    assert.equal(bar('messages'), 0);
    assert.equal(Math.max(...rows.map(l => [...l].length)), columns, 'the longest bar reaches the edge');
    assert.equal(rows.some(l => l.includes(long)), columns === 200);
    assert.equal(rows.some(l => l.includes('…')), columns !== 200);
  }
  const piped = await p.harness(['context']);
  assert.doesNotMatch(piped.stdout, /█|\x1b|…/);
  assert.match(piped.stdout, new RegExp(`^ +\\d+  tool ${long}$`, 'm'));
});

test('context adds up the tools of a server, and starts none', async t => {
  const p = talker(t, { ...files, 'harness.md': `---\n${head}\n---\nBe brief.\n` });
  const before = await p.harness(['context'], { env: { HARNESS_TRUST: '' } });
  assert.equal(before.status, 0, before.stderr);
  assert.doesNotMatch(before.stdout, /server small/);
  assert.ok(!existsSync(join(p.dir, 'calls.log')));
  const live = await p.harness(['context', '--live']);
  const row = live.stdout.match(/^ +(\d+)  server small \((\d+) tools?\)$/m);
  assert.ok(row, live.stdout);
  assert.doesNotMatch(live.stdout, /tool mcp__small/);
  const parts = JSON.parse((await p.harness(['context', '--live', '--json'])).stdout);
  const own = parts.filter(x => x.server === 'small');
  assert.equal(own.length, Number(row[2]));
  assert.equal(own.reduce((sum, x) => sum + x.tokens, 0), Number(row[1]));
  assert.ok(own.every(x => x.part === 'tool' && x.name.startsWith('mcp__small__')));
  assert.deepEqual(Object.keys(parts.find(x => x.name === 'later')), ['part', 'name', 'tokens', 'text']);
});

test('a line that a hook logs names the hook', async t => {
  const p = caller(t, { '.harness/tools/work.md': tool('log.info("from the tool")\nreturn 1'), '.harness/hooks/guard.md': hook('tool.pre', 'log.info("from the hook")\nreturn allow()') });
  const r = p.call('work', {}, ['-v']);
  assert.equal(r.status, 0);
  assert.deepEqual(p.events('log').map(e => [e.data.source, e.data.message]), [['guard', 'from the hook'], ['work', 'from the tool']]);
});

test('inspect shows the allowed values and the default of a parameter', t => {
  const p = caller(t, { '.harness/tools/work.md': tool('return 1', 'parameters:\n  speed: { type: string, enum: [fast, slow], default: fast, description: How fast. }\n  n: { type: integer, default: 3 }\n  plain: { type: string }') });
  const { stdout } = p.run(['inspect', 'work']);
  assert.match(stdout, /^ {4}speed +string +optional +How fast\. \(one of "fast", "slow"; default "fast"\)$/m);
  assert.match(stdout, /^ {4}n +integer +optional +\(default 3\)$/m);
  assert.match(stdout, /^ {4}plain +string +optional *$/m);
});
