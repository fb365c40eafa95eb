// Hostile clients against our server: whatever they send, or do not read, it answers the next client, its memory stays bounded, and it stops when it should.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { connect as dial } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { hook, tool } from './calls.mjs';
import { project, undo } from './harness.mjs';
import { http, peakMemory, slow, stdio } from './mcp_serve.mjs';
import { until } from './mcp_sdk.mjs';

const MiB = 1 << 20;
const memoryMax = (slow ? 1500 : 160) * MiB;     // sanitizers keep freed memory
const files = {
  'harness.md': '---\nlimits: { max_tool_calls: 1000000 }\n---\n',
  '.harness/tools/echo.md': tool('return args["text"]', 'parameters:\n  text: { type: string, required: true }\n'),
  '.harness/tools/wait.md': tool('sleep(args["seconds"])\nreturn "waited"', 'parameters:\n  seconds: { type: number, required: true }\n'),
};
const initialize = { jsonrpc: '2.0', id: 'first', method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'hostile', version: '1' } } };
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };

// A server on pipes: send(text or object), answer(id), all messages received, and its exit status.
async function piped(t, { shake = true, more = {}, flags = [] } = {}) {
  const dir = project(t, { ...files, ...more });
  for (const name of Object.keys(more)) if (name.startsWith('tools/bin/')) chmodSync(join(dir, name), 0o755);
  const { command, args, env } = stdio(t, dir, { flags });
  const child = spawn(command, args, { env, stdio: 'pipe' });
  const messages = [], faults = [];
  let rest = '', stderr = '';
  child.stdout.setEncoding('utf8').on('data', part => {
    const lines = (rest + part).split('\n');
    rest = lines.pop();
    for (const line of lines) try { messages.push(JSON.parse(line)); } catch { faults.push(line); }
  });
  child.stderr.setEncoding('utf8').on('data', part => { stderr = (stderr + part).slice(-4000); });
  child.stdin.on('error', () => {});
  const ended = new Promise(resolve => child.on('close', (status, signal) => resolve(signal ?? status)));
  undo(t, async () => {
    child.stdin.destroy();
    const timer = setTimeout(() => child.kill('SIGKILL'), slow ? 60000 : 15000);
    const how = await ended;
    clearTimeout(timer);
    assert.equal(how, 0, `the server ended with ${how}: ${stderr}`);
    assert.deepEqual(faults, [], 'every line of the server is JSON');
  });
  const send = what => child.stdin.write(typeof what === 'string' || Buffer.isBuffer(what) ? what : `${JSON.stringify(what)}\n`);
  const answer = async id => {
    await until(() => messages.some(m => m.id === id && m.method === undefined), slow ? 120000 : 20000);
    return messages.find(m => m.id === id && m.method === undefined);
  };
  let pings = 0;
  const alive = async () => {
    const id = `ping-${++pings}`;
    send({ jsonrpc: '2.0', id, method: 'ping' });
    return (await answer(id)).result ?? null;        // null: the server reports that it is overloaded
  };
  if (shake) {
    send(initialize);
    assert.equal((await answer('first')).result.protocolVersion, '2025-11-25');
    send(initialized);
  }
  return { child, messages, send, answer, alive, ended, memory: () => peakMemory(child.pid), stderr: () => stderr };
}

const call = (id, name, args) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });

// Invalid or nonsensical messages: [what, line, code of the error that answers it; null: nothing answers].
const nonsense = [
  ['no JSON', 'hello', -32700],
  ['half of a message', '{"jsonrpc":"2.0","id":1,"meth', -32700],
  ['bytes that are not UTF-8', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', 'latin1'), -32700],
  ['an overlong encoding', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xc0\xaf"}', 'latin1'), -32700],
  ['half a surrogate pair', '{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', undefined],
  ['a NUL byte', '{"jsonrpc":"2.0",\0"id":1}', -32700],
  ['a number', '42', -32600],
  ['null', 'null', -32600],
  ['an empty list', '[]', -32600],
  ['an empty object', '{}', -32600],
  ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
  ['a method that is a number', '{"jsonrpc":"2.0","id":1,"method":5}', -32600],
  ['params that are a list', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', undefined],
  ['params that are text', '{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', undefined],
  ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
  ['an id that is a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', undefined],
  ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', undefined],
  ['keys that stand twice', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}', undefined],
  ['deep nesting', `${'['.repeat(100000)}${']'.repeat(100000)}`, undefined],
  ['deep nesting in arguments', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":${'['.repeat(5000)}${']'.repeat(5000)}}}}`, undefined],
  ['a response to nothing', '{"jsonrpc":"2.0","id":99,"result":{}}', null],
  ['an error to nothing', '{"jsonrpc":"2.0","id":"99","error":{"code":-1,"message":"x"}}', null],
  ['a result and an error', '{"jsonrpc":"2.0","id":99,"result":{},"error":{"code":-1,"message":"x"}}', undefined],
  ['an unknown method', '{"jsonrpc":"2.0","id":"unknown","method":"no/such"}', -32601],
  ['an unknown notification', '{"jsonrpc":"2.0","method":"notifications/no/such"}', null],
  ['a request without its id', '{"jsonrpc":"2.0","method":"tools/list"}', null],
  ['cancelling nothing', '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}', null],
  ['cancelling with no id', '{"jsonrpc":"2.0","method":"notifications/cancelled"}', null],
  ['progress of nothing', '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}', null],
  ['a cursor that was not given', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"\\u0000☃"}}', -32602],
  ['a tool whose name is a list', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["echo"]}}', -32602],
  ['arguments that are a list', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":[1]}}', undefined],
  ['a second handshake', JSON.stringify({ ...initialize, id: 1 }), undefined],
  ['an address that climbs', '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///../../etc/passwd"}}', undefined],
  ['empty lines', '\n\n \n\t', undefined],
];

describe('stdio', { concurrency: 4 }, () => {
  test('nonsensical lines', async t => {
    const server = await piped(t);
    for (const [what, line, code] of nonsense)
      await t.test(what, async () => {
        const before = server.messages.length;
        server.send(Buffer.concat([Buffer.from(line), Buffer.from('\n')]));
        await server.alive();
        const came = server.messages.slice(before).filter(m => !String(m.id).startsWith('ping-'));
        if (code === null) assert.deepEqual(came, []);
        else if (code !== undefined) assert.equal(came[0]?.error?.code, code, JSON.stringify(came));
        assert.ok(came.length <= 1, JSON.stringify(came));
        assert.ok(!came[0]?.error || came[0].error.message.length < 1000, 'a short message');
        assert.ok(!JSON.stringify(came).includes('root:'), 'nothing of /etc/passwd');
      });
    assert.ok(server.memory() < memoryMax, `${server.memory()} bytes`);
  });

  test('no handshake at all', async t => {
    const server = await piped(t, { shake: false });
    server.send(call(1, 'echo', { text: 'x' }));
    assert.ok((await server.answer(1)).error);
    server.send(initialize);
    assert.ok((await server.answer('first')).result);
  });

  test('one id for many requests', async t => {
    const server = await piped(t);
    for (let i = 0; i < 50; i++) server.send(call('same', 'wait', { seconds: 0.2 }));
    await until(() => server.messages.length === 51);
    const answers = server.messages.filter(m => m.id === 'same' && m.result);
    assert.ok(answers.length >= 1, 'the first is answered');
    assert.ok(server.messages.every(m => m.result || /id/.test(m.error.message)), 'the others hear why not');
    await server.alive();
  });

  test('a gigabyte without a line break', async t => {
    const server = await piped(t);
    const piece = Buffer.alloc(MiB, 'a'), pieces = slow ? 128 : 1024;
    for (let i = 0; i < pieces; i++) if (!server.send(piece)) await new Promise(resolve => server.child.stdin.once('drain', resolve));
    server.send('\n');
    await server.alive();
    assert.ok(server.memory() < memoryMax, `${server.memory()} bytes`);
    assert.ok(server.messages.some(m => m.error && m.id == null), 'it said so');
  });

  test('a flood of requests, read as they are answered', async t => {
    const server = await piped(t);
    const n = slow ? 2000 : 20000;
    server.send(Array.from({ length: n }, (_, i) => JSON.stringify(call(i, 'echo', { text: 'x'.repeat(100) }))).join('\n') + '\n');
    await until(() => server.messages.length >= n + 1, slow ? 120000 : 20000);
    assert.equal(new Set(server.messages.filter(m => 'id' in m).map(m => m.id)).size, n + 1, 'each is answered once');
    await server.alive();
    assert.ok(server.memory() < memoryMax, `${server.memory()} bytes`);
  });

  test('arguments beside the arguments: what is checked is what runs', async t => {
    const server = await piped(t, { flags: ['--yes'], more: {
      'tools.json': JSON.stringify({ tools: [{ name: 'x', command: ['./tools/bin/x'], schema: { type: 'object', properties: { path: { enum: ['safe'] } } } }] }),
      'tools/bin/x': '#!/bin/sh\nprintf \'{"got":%s}\\n\' "$(cat)"\n',
      '.harness/tools/told.md': tool('return "ran"', 'parameters:\n  path: { type: string }\n'),
      '.harness/hooks/tell.md': hook('tool.pre', 'return block(payload["arguments"]) if payload["name"] == "told" else allow()'),
    } });
    const good = '{"path":"safe"}', bad = '{"path":"/etc/passwd"}', decoy = `"zzz":{"arguments":${bad}},`;
    const line = (id, name, front, params, behind) => `{"jsonrpc":"2.0",${front}"id":"${id}","method":"tools/call","params":{"name":"${name}"${params}}${behind}}\n`;
    const cases = [
      ['in front', decoy, `,"arguments":${good}`, '', good], ['behind', '', `,"arguments":${good}`, `,${decoy.slice(0, -1)}`, good], ['at the root', `"arguments":${bad},`, `,"arguments":${good}`, '', good],
      ['deeper', '', `,"arguments":${good},"_meta":{"arguments":${bad}}`, '', good], ['without any', decoy, '', '', '{}'], ['null', decoy, ',"arguments":null', '', '{}'],
      ['with space', '', ',"arguments": {  "path" : "safe"  } ', '', good],
    ];
    for (const [what, front, params, behind, wanted] of cases)
      await t.test(what, async () => {
        server.send(line(`x ${what}`, 'x', front, params, behind));
        const got = (await server.answer(`x ${what}`)).result;
        assert.deepEqual(JSON.parse(got.content[0].text), { got: JSON.parse(wanted) });
        server.send(line(`told ${what}`, 'told', front, params, behind));
        const said = JSON.parse((await server.answer(`told ${what}`)).result.content[0].text).error;
        assert.ok(said.includes(wanted) && !said.includes('passwd'), said);
      });
    server.send(line('open', 'x', '', `,"arguments":${bad}`, ''));
    assert.match(JSON.parse((await server.answer('open')).result.content[0].text).error, /must be "safe"/);
  });

  test('requests that are mostly white space', async t => {
    const server = await piped(t);
    const space = ' '.repeat(15 * MiB);
    for (let i = 0; i < 12; i++)
      if (!server.send(`{"jsonrpc":"2.0","id":${i},"method":"tools/call","params":{"name":"wait","arguments":{"seconds":0.3${space}}}}\n`)) await once(server.child.stdin, 'drain');
    for (let i = 0; i < 12; i++) assert.equal((await server.answer(i)).result.content[0].text, 'waited');
    assert.ok(server.memory() < memoryMax, `${server.memory()} bytes`);
  });

  test('a client that sends requests and does not read', async t => {
    const server = await piped(t);
    server.child.stdout.pause();
    const n = slow ? 500 : 5000;                   // answers of 10 kB each
    let sent = 0;
    for (; sent < n; sent++) if (!server.send(call(sent, 'echo', { text: 'x'.repeat(10000) }))) break;
    server.send(Array.from({ length: n - sent }, (_, i) => JSON.stringify(call(sent + 1 + i, 'echo', { text: 'x'.repeat(10000) }))).join('\n') + '\n');
    await new Promise(resolve => setTimeout(resolve, 1000));
    assert.ok(server.memory() < memoryMax, `${server.memory()} bytes`);
    server.child.stdout.resume();
    await server.alive();
  });

  test('the input ends during a call', async t => {
    const server = await piped(t);
    server.send(call(1, 'wait', { seconds: 0.2 }));
    server.child.stdin.end();
    assert.equal((await server.answer(1)).result?.content[0].text, 'waited');
    assert.equal(await server.ended, 0);
  });

  test('the input ends, and the call never would', async t => {
    const server = await piped(t);
    server.send(call(1, 'wait', { seconds: 3600 }));
    await server.alive();
    server.child.stdin.end();
    assert.equal(await server.ended, 0);
  });

  test('the reader is gone', async t => {
    const server = await piped(t);
    server.child.stdout.destroy();
    for (let i = 0; i < 2000; i++) if (!server.send(call(i, 'echo', { text: 'x'.repeat(10000) }))) await new Promise(resolve => setTimeout(resolve, 1));
    assert.ok(server.memory() < memoryMax, `${server.memory()} bytes`);
    server.child.stdin.end();
    assert.equal(await server.ended, 0);
  });
});

// ---- HTTP ----

// One raw request on a separate connection: { status, headers, body }. Null: the server closed without an answer.
function raw({ url }, head, body = '', { leave = false } = {}) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = dial(Number(port), hostname);
    let text = '';
    const done = () => {
      const at = text.indexOf('\r\n\r\n');
      if (at < 0) return resolve(null);
      resolve({ status: Number(text.slice(9, 12)), head: text.slice(0, at), body: text.slice(at + 4) });
    };
    socket.setEncoding('latin1').on('data', part => { text += part; }).on('close', done).on('error', () => done());
    socket.setTimeout(slow ? 60000 : 15000, () => { socket.destroy(); reject(new Error(`no end: ${text}`)); });
    socket.write(head);
    if (body.length) socket.write(body);
    if (leave) setTimeout(() => socket.destroy(), 50);
  });
}

const headers = ({ url }, more = {}, method = 'POST') => {
  const all = { Host: new URL(url).host, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', Connection: 'close', ...more };
  return `${method} /mcp HTTP/1.1\r\n${Object.entries(all).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
};
const post = (server, body, more) => raw(server, headers(server, { 'Content-Length': Buffer.byteLength(body), ...more }), body);
const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } } });
const stateless = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'server/discover' };
const alive = async server => assert.equal((await post(server, ping, stateless)).status, 200);

const requests = [
  ['no JSON', server => post(server, 'hello'), 400],
  ['bytes that are not UTF-8', server => post(server, Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff"}', 'latin1')), 400],
  ['deep nesting', server => post(server, '['.repeat(100000)), 400],
  ['an empty body', server => post(server, ''), 400],
  ['no body where one was promised', server => raw(server, headers(server, { 'Content-Length': 100 }), '{', { leave: true }), null],
  ['a length that is no number', server => raw(server, headers(server, { 'Content-Length': 'many' }), '{}'), [400, null]],
  ['two lengths', server => raw(server, headers(server).replace('\r\n\r\n', '\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n'), '{}'), [400, null]],
  ['a length and chunks', server => raw(server, headers(server, { 'Content-Length': 2, 'Transfer-Encoding': 'chunked' }), '0\r\n\r\n'), [400, null]],
  ['chunks that are none', server => raw(server, headers(server, { 'Transfer-Encoding': 'chunked' }), 'zz\r\n'), [400, null]],
  ['a body of 17 MiB', server => post(server, Buffer.alloc(17 * MiB, ' ')), [413, null]],
  ['a gigabyte announced', server => raw(server, headers(server, { 'Content-Length': 1 << 30 }), 'x'), [413, null]],
  ['another type of content', server => post(server, ping, { ...stateless, 'Content-Type': 'text/plain' }), [400, 415]],
  ['an answer it cannot read', server => post(server, ping, { ...stateless, Accept: 'image/png' }), [400, 406]],
  ['a method that is none', server => raw(server, headers(server, {}, 'BREW')), [400, 405, 501]],
  ['PUT', server => raw(server, headers(server, { 'Content-Length': 2 }, 'PUT'), '{}'), 405],
  ['another path', server => raw(server, headers(server, { 'Content-Length': 2 }).replace('/mcp', '/etc/passwd'), '{}'), 404],
  ['an unknown session', server => post(server, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', { 'Mcp-Session-Id': 'no-such' }), 404],
  ['a stream of no session', server => raw(server, headers(server, { Accept: 'text/event-stream', 'Mcp-Session-Id': 'no-such' }, 'GET')), [400, 404, 405]],
  ['ending no session', server => raw(server, headers(server, { 'Mcp-Session-Id': 'no-such' }, 'DELETE')), [400, 404]],
  ['another host', server => post(server, ping, { ...stateless, Host: 'evil.example' }), [400, 403, 421]],
  ['no host', server => post(server, ping, { ...stateless, Host: undefined }), [400, 403]],
  ['a page of another site', server => post(server, ping, { ...stateless, Origin: 'https://evil.example' }), 403],
  ['a page of nowhere', server => post(server, ping, { ...stateless, Origin: 'null' }), 403],
  ['a version that is none', server => post(server, ping, { ...stateless, 'MCP-Protocol-Version': '1900-01-01' }), 400],
  ['headers without end', server => raw(server, headers(server, Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`X-${i}`, 'x'.repeat(100)])))), [400, 413, 431, null]],
  ['bytes that are no HTTP', server => raw(server, Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc]), '\r\n\r\n'), [400, null]],
];

describe('http', { concurrency: 4 }, () => {
  test('nonsensical requests', async t => {
    const server = await http(t, project(t, files));
    for (const [what, ask, expected] of requests)
      await t.test(what, async () => {
        const answer = await ask(server);
        assert.ok([expected].flat().includes(answer?.status ?? null), `${answer?.head ?? 'no answer'}\n${answer?.body ?? ''}`);
        await alive(server);
      });
    assert.ok(peakMemory(server.child.pid) < memoryMax, `${peakMemory(server.child.pid)} bytes`);
  });

  test('a token, or nothing', async t => {
    const server = await http(t, project(t, files), { flags: [], env: { HARNESS_MCP_TOKEN: 'the-right-token' } });
    for (const [Authorization, status] of [[undefined, 401], ['Bearer wrong', 401], ['Bearer the-right-toke', 401], ['Bearer the-right-token ', 200],
      ['Basic dGhlLXJpZ2h0LXRva2Vu', 401], ['Bearer', 401], ['bearer the-right-token', 200], ['Bearer the-right-token', 200]])
      assert.equal((await post(server, ping, { ...stateless, Authorization })).status, status, Authorization);
    assert.ok(!server.stderr().includes('the-right-token'));
  });

  test('a gigabyte in chunks', async t => {
    const server = await http(t, project(t, files));
    const { hostname, port } = new URL(server.url);
    const socket = dial(Number(port), hostname);
    let gone = false, sent = 0;
    socket.on('error', () => { gone = true; }).on('close', () => { gone = true; }).resume();
    socket.write(headers(server, { 'Transfer-Encoding': 'chunked' }));
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MiB, ' '), Buffer.from('\r\n')]);
    for (; !gone && sent < 1024; sent++)
      if (!socket.write(chunk)) await once(socket, 'drain', { signal: AbortSignal.timeout(5000) }).catch(() => { gone = true; });
    socket.destroy();
    assert.ok(sent < 200, `it took ${sent} MiB`);
    await alive(server);
    assert.ok(peakMemory(server.child.pid) < memoryMax, `${peakMemory(server.child.pid)} bytes`);
  });

  test('many silent clients, and clients that do not read', async t => {
    const server = await http(t, project(t, files));
    const { hostname, port } = new URL(server.url);
    const sockets = Array.from({ length: 200 }, (_, i) => {
      const socket = dial(Number(port), hostname).on('error', () => {});
      if (i % 2) socket.write(headers(server, { 'Content-Length': 100 }).slice(0, 20 + i));     // a part of a request
      return socket;
    });
    server.closers.push(() => sockets.forEach(socket => socket.destroy()));
    await alive(server);
    const started = await post(server, JSON.stringify(initialize));
    const session = /mcp-session-id: (\S+)/i.exec(started.head)[1];
    const known = { 'Mcp-Session-Id': session, 'MCP-Protocol-Version': '2025-11-25' };
    await post(server, JSON.stringify(initialized), known);
    const lazy = Array.from({ length: 20 }, (_, i) => {
      const socket = dial(Number(port), hostname).on('error', () => {}).pause();
      const body = JSON.stringify(call(i, 'echo', { text: 'x'.repeat(4 * MiB) }));
      socket.write(headers(server, { ...known, 'Content-Length': body.length }) + body);
      return socket;
    });
    server.closers.push(() => lazy.forEach(socket => socket.destroy()));
    await alive(server);
    const answer = await post(server, JSON.stringify(call('more', 'echo', { text: 'still there' })), known);
    assert.match(answer.body, /still there/);
  });

  test('one id for many requests, and clients that hang up', async t => {
    const server = await http(t, project(t, files));
    const started = await post(server, JSON.stringify(initialize));
    const known = { 'Mcp-Session-Id': /mcp-session-id: (\S+)/i.exec(started.head)[1], 'MCP-Protocol-Version': '2025-11-25' };
    await post(server, JSON.stringify(initialized), known);
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(server, JSON.stringify(call('same', 'wait', { seconds: 0.05 })), known)));
    assert.ok(answers.every(answer => answer.status === 200 || answer.status === 400), answers.map(answer => answer.status).join());
    const { hostname, port } = new URL(server.url);
    for (let i = 0; i < 20; i++) {
      const body = JSON.stringify(call(i, 'wait', { seconds: 30 }));
      const socket = dial(Number(port), hostname, () => { socket.write(headers(server, { ...known, 'Content-Length': body.length }) + body); setTimeout(() => socket.destroy(), 20); });
      socket.on('error', () => {});
    }
    await new Promise(resolve => setTimeout(resolve, 200));
    assert.match((await post(server, JSON.stringify(call('more', 'echo', { text: 'here' })), known)).body, /here/);
  });
});
