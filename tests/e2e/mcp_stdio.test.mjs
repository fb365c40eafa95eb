// `harness mcp serve` on standard input and output, with raw lines: with and without a handshake, differences between versions, and calls that do not block each other.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tool } from './calls.mjs';
import { bin, environment, folder, project, root, run, undo } from './harness.mjs';
import { Peer } from './mcp_peer.mjs';

const files = {
  'harness.md': '---\ntools_policy: { deny: [hidden] }\n---\n',
  '.harness/tools/echo.md': tool('return args["text"]', 'title: Echo\nparameters:\n  text: { type: string, required: true }\n'),
  '.harness/tools/nap.md': tool('sleep(args.get("s", 60))\nreturn "slept"'),
  '.harness/tools/steps.md': tool('for i in range(3):\n    progress(i + 1, 3)\n    log.info("step %d" % i)\nreturn "done"'),
  '.harness/tools/long.md': tool('return "line\\n" * 20000'),
  '.harness/tools/shape.md': tool('return {"n": 1}', 'output_schema:\n  type: object\n  properties: { n: { type: integer } }\n  required: [n]\n'),
  '.harness/tools/listed.md': tool('return [1, 2]', 'output_schema:\n  type: array\n'),
  '.harness/tools/wipe.md': tool('return fs.write("x.txt", "x")'),
  '.harness/tools/hidden.md': tool('return "never"'),
};
const call = (peer, name, args, more) => peer.request('tools/call', { name, arguments: args, ...more });

test('differences between versions', async t => {
  const dir = project(t, files);
  const expected = {   // of the tool: its members; of a call: structuredContent, and the link to what was too long
    '2024-11-05': [['description', 'inputSchema', 'name'], false, false],
    '2025-03-26': [['annotations', 'description', 'inputSchema', 'name'], false, false],
    '2025-06-18': [['annotations', 'description', 'inputSchema', 'name', 'title'], true, true],
    '2025-11-25': [['annotations', 'description', 'inputSchema', 'name', 'title'], true, true],
  };
  for (const [version, [members, structured, linked]] of Object.entries(expected)) {
    const peer = new Peer(t, dir);
    assert.equal((await peer.hello({}, version)).protocolVersion, version);
    const { tools } = (await peer.request('tools/list')).result;
    assert.deepEqual(tools.map(x => x.name), ['echo', 'listed', 'long', 'nap', 'shape', 'steps', 'wipe'], 'in order, and none that policy hides');
    assert.deepEqual(Object.keys(tools[0]).sort(), members, version);
    assert.equal('outputSchema' in tools[4], structured);
    assert.ok(!('outputSchema' in tools[1]), 'results are objects here');
    if (tools[0].annotations) {
      assert.deepEqual(tools[0].annotations, { title: 'Echo', readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false });
      assert.equal(tools[6].annotations.readOnlyHint, false);
    }
    const shaped = (await call(peer, 'shape')).result;
    assert.deepEqual(shaped, { content: [{ type: 'text', text: '{"n":1}' }], ...(structured && { structuredContent: { n: 1 } }), isError: false });
    const { content } = (await call(peer, 'long')).result;
    assert.ok(content[0].text.length < 20000);
    assert.equal(content.length, linked ? 2 : 1);
    if (linked) assert.match(content[1].uri, /^artifact:\/\/[0-9a-f-]+\/art_/);
    assert.equal((await call(peer, 'hidden')).result.isError, true);
    assert.deepEqual(await peer.end(), { code: 0, signal: null }, peer.errors);
  }
});

test('without a handshake', async t => {
  const peer = new Peer(t, project(t, files));
  const about = { resultType: 'complete', _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'harness', version: JSON.parse(run(['version', '--json']).stdout).version } } };
  const { supportedVersions, capabilities, ...rest } = (await peer.ask('server/discover')).result;
  assert.equal(supportedVersions[0], '2026-07-28');
  assert.ok(capabilities.tools && capabilities.logging);
  assert.deepEqual(rest, { ...about, ttlMs: 60000, cacheScope: 'private' });
  const { tools, ...page } = (await peer.ask('tools/list')).result;
  assert.equal(tools.find(x => x.name === 'listed').outputSchema.type, 'array');
  assert.deepEqual(page, { ...about, ttlMs: 60000, cacheScope: 'private' });
  assert.deepEqual((await peer.ask('tools/call', { name: 'listed' })).result, { content: [{ type: 'text', text: '[1,2]' }], structuredContent: [1, 2], isError: false, ...about });
  assert.equal((await peer.ask('initialize')).error.code, -32601);
  assert.equal((await peer.request('tools/list')).error.code, -32602);
  const { error } = await peer.request('tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2031-01-01', 'io.modelcontextprotocol/clientCapabilities': {} } });
  assert.deepEqual(error.data, { supported: supportedVersions, requested: '2031-01-01' });
  assert.equal(error.code, -32022);
  await peer.ask('tools/call', { name: 'steps' });
  assert.deepEqual(peer.seen, [], 'nothing is told to who has not asked');
  await peer.ask('tools/call', { name: 'steps' }, {}, { progressToken: 7, 'io.modelcontextprotocol/logLevel': 'info' });
  assert.deepEqual(peer.seen.map(m => m.params.progress ?? m.params.data), [1, 'step 0', 2, 'step 1', 3, 'step 2']);
  await peer.hello();
  assert.ok((await peer.request('tools/list')).result.tools, 'both on one connection');
  assert.deepEqual(await peer.end(), { code: 0, signal: null });
});

test('one call does not block others, and can be cancelled', async t => {
  const events = folder(t) + '/events.jsonl';
  const peer = new Peer(t, project(t, files), { args: ['--events', events] });
  await peer.hello();
  let slow = false;
  call(peer, 'nap').then(() => { slow = true; });
  const id = peer.id;
  assert.equal((await call(peer, 'nap', { s: 0.05 })).result.content[0].text, 'slept');
  assert.deepEqual((await peer.request('ping')).result, {});
  const naps = await Promise.all(Array.from({ length: 20 }, () => call(peer, 'nap', { s: 0.2 })));      // together, not one after another
  assert.equal(naps.length, 20);
  peer.notify('notifications/cancelled', { requestId: id, reason: 'enough' });
  for (let i = 0; !/"type":"tool.failed"[^\n]*"nap"/.test(readFileSync(events, 'utf8')); i++) {
    assert.ok(i < 500, 'the call was told to stop');
    await new Promise(resolve => setTimeout(resolve, 20));
  }
  const texts = await Promise.all(Array.from({ length: 500 }, (_, i) => call(peer, 'echo', { text: `n${i}` })));
  assert.deepEqual(texts.map(x => x.result.content[0].text), Array.from({ length: 500 }, (_, i) => `n${i}`));
  const held = call(peer, 'nap', { s: 0.3 });
  const behind = await Promise.all(Array.from({ length: 3000 }, () => call(peer, 'echo', { text: 'x' })));
  assert.deepEqual(behind.filter(x => x.error), [], 'many at once may have to wait; none is refused');
  assert.equal((await held).result.content[0].text, 'slept');
  assert.equal(slow, false, 'a cancelled request is not answered');
  assert.deepEqual(await peer.end(), { code: 0, signal: null });
});

test('the input ends', async t => {
  const dir = project(t, files);
  const hello = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } } };
  const nap = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'nap', arguments: { s: 0.1 } } };
  const input = `${JSON.stringify(hello)}\r\n\n${JSON.stringify(nap)}`;      // CRLF, a blank line, and no line break at the end
  const { status, stdout } = run(['-C', dir, 'mcp', 'serve'], { input });
  assert.equal(status, 0);
  assert.deepEqual(stdout.trim().split('\n').map(line => JSON.parse(line).id), [1, 2], 'what was asked is answered');
  assert.equal(run(['-C', dir, 'mcp', 'serve'], { input: '' }).status, 0);
});

test('a signal ends it in every state', async t => {
  for (const busy of ['nothing', 'a call', 'a reader that stands still']) {
    const dir = project(t, files);
    const child = spawn(bin, ['-C', dir, 'mcp', 'serve'], { env: { PATH: process.env.PATH, HARNESS_STATE: folder(t) + '/s.db', ASAN_OPTIONS: process.env.ASAN_OPTIONS ?? '' }, stdio: ['pipe', 'pipe', 'inherit'] });
    undo(t, () => child.kill('SIGKILL'));
    const ended = new Promise(resolve => child.on('exit', (code, signal) => resolve(signal ?? code)));
    child.stdin.on('error', () => {});                                        // the input that it has not read when it ends
    const say = (id, method, params) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    say(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } });
    await new Promise(resolve => child.stdout.once('data', resolve));
    if (busy === 'a call') say(2, 'tools/call', { name: 'nap' });
    if (busy === 'a reader that stands still') {
      child.stdout.pause();
      for (let i = 0; i < 200; i++) say(i + 2, 'tools/call', { name: 'long' });
    }
    await new Promise(resolve => setTimeout(resolve, 200));
    child.kill('SIGTERM');
    assert.equal(await ended, 0, busy);
  }
});

test('no library is loaded that stdio does not need', async t => {
  const peer = new Peer(t, project(t, files));
  await peer.hello();
  await call(peer, 'echo', { text: 'x' });
  const maps = readFileSync(`/proc/${peer.child.pid}/maps`, 'utf8');
  assert.doesNotMatch(maps, /libcurl|libssl|libcrypto|libmicrohttpd|libgit2|libsystemd|libpq/);
  await peer.end();
});

test('flags', t => {
  const dir = project(t, files);
  for (const [args, says] of [
    [['--no-auth'], /--no-auth needs --http/],
    [['--http', '0.0.0.0:80'], /add --allow-remote/],
    [['--http', '0.0.0.0:80', '--allow-remote', '--no-auth'], /--no-auth works on/],
    [['--http', '127.0.0.1:70000'], /is not an address/],
    [['--http', '::1:80'], /is not an address/],
    [['--http', ''], /is not an address/],
  ]) {
    const { status, stderr } = run(['-C', dir, 'mcp', 'serve', ...args]);
    assert.equal(status, 2, stderr);
    assert.match(stderr, says);
  }
  const broken = run(['-C', project(t, { 'harness.md': '---\nlimits: 5\n---\n' }), 'mcp', 'serve'], { input: '' });
  assert.equal(broken.status, 1);
  assert.equal(broken.stdout, '', 'nothing but messages on standard output');
});

test('at a terminal it says what it waits for, and Ctrl-C ends it', t => {
  const steps = [['', 'waiting for an MCP client on standard input'], ['\x03', '']];
  const out = spawnSync('python3', [join(root, 'tests/e2e/terminal.py'), bin, '-C', project(t, {}), 'mcp', 'serve'],
    { input: JSON.stringify(steps), encoding: 'utf8', env: { ...environment, TERM: 'xterm', HARNESS_STATE: join(folder(t), 'harness.db') } });
  const { missing, status } = JSON.parse(out.stdout);
  assert.deepEqual([missing, status], [null, 0]);
});
