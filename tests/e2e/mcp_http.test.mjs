// Streamable HTTP with raw requests: sessions, streams, stateless requests, refusals.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { add, run, undo } from './harness.mjs';
import { ask, call, events, messages, meta, modern, open, raw, serve, stateless, until } from './mcp_http.mjs';

test('a session: created, used, ended', async t => {
  const s = await serve(t);
  const { headers, answer, ready } = await open(s);
  assert.equal(answer.result.protocolVersion, '2025-11-25');
  assert.match(headers['Mcp-Session-Id'], /^[\x21-\x7e]{40,}$/);
  assert.equal(ready.status, 202);
  assert.equal(await ready.text(), '');
  const echoed = await ask(s, { headers, body: call(1, 'echo', { text: 'hi' }) });
  assert.match(echoed.headers['content-type'], /^application\/json/);
  assert.equal((await echoed.json()).result.content[0].text, 'hi');
  const other = await open(s);
  assert.notEqual(other.headers['Mcp-Session-Id'], headers['Mcp-Session-Id']);
  const refusals = [
    [{ headers: { ...headers, 'Mcp-Session-Id': 'unknown' }, body: call(2, 'echo') }, 404],
    [{ headers: { 'MCP-Protocol-Version': '2025-11-25' }, body: call(2, 'echo') }, 400],
    [{ headers: { ...headers, 'MCP-Protocol-Version': '1999-01-01' }, body: call(2, 'echo') }, 400],
    [{ headers: { ...headers, Accept: 'application/json' }, body: call(2, 'echo') }, 406],
    [{ headers: { ...headers, 'Content-Type': 'text/plain' }, body: call(2, 'echo') }, 415],
    [{ headers, method: 'PUT', body: call(2, 'echo') }, 405],
    [{ headers, path: '/other', body: call(2, 'echo') }, 404],
    [{ headers, body: '{"jsonrpc":"2.0",' }, 400],
    [{ headers, body: '[]' }, 400],
    [{ headers, body: Buffer.from([0x7b, 0xff, 0x7d]) }, 400],
    [{ headers, body: '['.repeat(100000) }, 400],
    [{ headers, body: '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}' }, 400],
    [{ method: 'GET', headers: { Accept: 'text/event-stream' } }, 400],
    [{ method: 'GET', headers: { ...headers, Accept: 'application/json' } }, 406],
    [{ method: 'GET', headers: { 'Mcp-Session-Id': 'unknown', Accept: 'text/event-stream' } }, 404],
    [{ method: 'GET', headers: { ...headers, 'Last-Event-ID': 'nonsense' } }, 400],
    [{ method: 'GET', headers: { ...headers, 'Last-Event-ID': '77-1' } }, 400],
    [{ method: 'GET', headers: { 'MCP-Protocol-Version': modern } }, 405],
    [{ method: 'DELETE' }, 400],
    [{ method: 'DELETE', headers: { 'Mcp-Session-Id': 'unknown' } }, 404],
  ];
  for (const [what, status] of refusals) {
    const r = await ask(s, what);
    assert.equal(r.status, status, JSON.stringify(what).slice(0, 200));
    assert.ok((await r.json()).error.message, 'says why');
  }
  const gone = await ask(s, { method: 'DELETE', headers });
  assert.equal(gone.status, 204);
  assert.equal((await ask(s, { headers, body: call(3, 'echo') })).status, 404);
  assert.equal((await ask(s, { headers: other.headers, body: call(3, 'echo') })).status, 200);
});

test('messages before the answer make it a stream, which can be resumed', async t => {
  const s = await serve(t);
  const { headers } = await open(s);
  const first = await ask(s, { headers, body: call(1, 'wait', { file: 'go' }, { progressToken: 'p' }) });
  assert.match(first.headers['content-type'], /^text\/event-stream/);        // it takes long
  const primed = await until(() => events(first.raw)[0]);
  assert.deepEqual([primed.data, primed.retry], ['', '500']);
  first.close();
  add(s.dir, { go: 'x' });
  const again = await ask(s, { method: 'GET', headers: { ...headers, 'Last-Event-ID': primed.id, Accept: 'text/event-stream' } });
  const got = messages(await again.text());                                  // the stream ends with the answer
  assert.equal(got.at(-1).id, 1);
  assert.equal(got.at(-1).result.content[0].text, 'found');
  const whole = await ask(s, { method: 'GET', headers: { ...headers, 'Last-Event-ID': primed.id, Accept: 'text/event-stream' } });
  assert.deepEqual(messages(await whole.text()), got);                       // as often as requested
  const rest = await ask(s, { method: 'GET', headers: { ...headers, 'Last-Event-ID': events(whole.raw).at(-1).id, Accept: 'text/event-stream' } });
  assert.deepEqual(messages(await rest.text()), []);
  const stranger = await open(s);
  const stolen = await ask(s, { method: 'GET', headers: { ...stranger.headers, 'Last-Event-ID': primed.id, Accept: 'text/event-stream' } });
  assert.equal(stolen.status, 400);                                          // not another client's stream
});

test('progress is sent only on the stream of its request', async t => {
  const s = await serve(t);
  const { headers } = await open(s);
  const [a, b] = await Promise.all([ask(s, { headers, body: call(1, 'work', { seconds: 0.1 }, { progressToken: 'a' }) }), ask(s, { headers, body: call(2, 'echo', { text: 'b' }) })]);
  const got = messages(await a.text());
  assert.deepEqual(got.map(m => m.method ?? m.id), ['notifications/progress', 1]);
  assert.equal(got[0].params.progressToken, 'a');
  assert.equal((await b.json()).id, 2);
});

test('the stream of a session: one at a time, closed with it', async t => {
  const s = await serve(t);
  const { headers } = await open(s);
  const get = more => ask(s, { method: 'GET', headers: { ...headers, Accept: 'text/event-stream', ...more } });
  const first = await get();
  assert.equal(first.status, 200);
  assert.equal((await get()).status, 409);
  const primed = await until(() => events(first.raw)[0]);
  const second = await get({ 'Last-Event-ID': primed.id });                  // takes over
  assert.equal(second.status, 200);
  await first.ended;
  await ask(s, { method: 'DELETE', headers });
  await second.ended;
});

test('--sse-poll closes silent responses and resumes them on request', async t => {
  const s = await serve(t, { flags: ['--sse-poll', '1'] });
  const { headers } = await open(s);
  const first = await ask(s, { headers, body: call(1, 'wait', { file: 'go' }) });
  const text = await first.text();
  assert.equal(messages(text).length, 0);
  assert.match(text, /retry: 500\n\n$/);
  add(s.dir, { go: 'x' });
  const again = await ask(s, { method: 'GET', headers: { ...headers, 'Last-Event-ID': events(text)[0].id, Accept: 'text/event-stream' } });
  assert.equal(messages(await again.text()).at(-1).result.content[0].text, 'found');
});

test('without sessions: headers and body must agree', async t => {
  const files = { 'tools.json': JSON.stringify({ tools: [{ name: 'where', description: 'd', command: ['./tools/bin/say'], schema: { type: 'object', properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' }, n: { type: 'integer', 'x-mcp-header': 'N' }, deep: { type: 'object', properties: { on: { type: 'boolean', 'x-mcp-header': 'On' } } } } } }] }),
  'tools/bin/say': '#!/bin/sh\ncat\n' };
  const s = await serve(t, { files });
  const found = await stateless(s, 1, 'server/discover');
  assert.ok((await found.json()).result.supportedVersions.includes(modern));
  assert.equal(found.headers['mcp-session-id'], undefined);
  const b64 = x => `=?base64?${Buffer.from(x).toString('base64')}?=`;
  const table = [
    ['tools/list', {}, {}, 200],
    ['tools/list', {}, { 'Mcp-Session-Id': 'ignored' }, 200],
    ['tools/list', {}, { 'Mcp-Method': 'tools/call' }, 400, -32020],
    ['tools/list', {}, { 'Mcp-Method': 'TOOLS/LIST' }, 400, -32020],
    ['tools/list', {}, { 'Mcp-Method': undefined }, 400, -32020],
    ['tools/list', {}, { 'MCP-Protocol-Version': undefined }, 400, -32020],
    ['tools/list', {}, { 'MCP-Protocol-Version': '2025-11-25' }, 400, -32020],
    ['tools/list', { _meta: undefined }, {}, 400, -32602],
    ['tools/list', { _meta: { ...meta, 'io.modelcontextprotocol/clientCapabilities': undefined } }, {}, 400, -32602],
    ['tools/list', { _meta: { ...meta, 'io.modelcontextprotocol/protocolVersion': 'v9' } }, { 'MCP-Protocol-Version': 'v9' }, 400, -32022],
    ['tools/list', { _meta: { ...meta, 'io.modelcontextprotocol/protocolVersion': 'v9' } }, {}, 400, -32020],
    ['no/such', {}, {}, 404, -32601],
    ['initialize', {}, {}, 404, -32601],
    ['tools/call', { name: 'echo', arguments: { text: 'x' } }, {}, 200],
    ['tools/call', { name: 'echo', arguments: { text: 'x' } }, { 'Mcp-Name': b64('echo') }, 200],
    ['tools/call', { name: 'echo', arguments: { text: 'x' } }, { 'Mcp-Name': 'other' }, 400, -32020],
    ['tools/call', { name: 'echo', arguments: { text: 'x' } }, { 'Mcp-Name': undefined }, 400, -32020],
    ['tools/call', { name: 'echo', arguments: { text: 'x' } }, { 'Mcp-Name': ['echo', 'echo'] }, 400, -32020],
    ['tools/call', { name: 'where', arguments: { region: 'eu' } }, { 'Mcp-Param-Region': 'eu' }, 200],
    ['tools/call', { name: 'where', arguments: { region: 'Hello, 世界' } }, { 'mcp-param-region': b64('Hello, 世界') }, 200],
    ['tools/call', { name: 'where', arguments: { region: 'eu' } }, { 'Mcp-Param-Region': 'us' }, 400, -32020],
    ['tools/call', { name: 'where', arguments: { region: 'eu' } }, {}, 400, -32020],
    ['tools/call', { name: 'where', arguments: { region: 'Hello' } }, { 'Mcp-Param-Region': '=?base64?SGVsbG8?=' }, 400, -32020],
    ['tools/call', { name: 'where', arguments: {} }, { 'Mcp-Param-Region': 'eu' }, 400, -32020],
    ['tools/call', { name: 'where', arguments: {} }, {}, 200],
    ['tools/call', { name: 'where', arguments: { n: 42 } }, { 'Mcp-Param-N': '42.0' }, 200],
    ['tools/call', { name: 'where', arguments: { n: 42 } }, { 'Mcp-Param-N': '43' }, 400, -32020],
    ['tools/call', { name: 'where', arguments: { deep: { on: true } } }, { 'Mcp-Param-On': 'true' }, 200],
    ['tools/call', { name: 'where', arguments: { deep: { on: true } } }, { 'Mcp-Param-On': 'TRUE' }, 400, -32020],
  ];
  for (const [i, [method, params, headers, status, code]] of table.entries()) {
    const r = await stateless(s, i + 10, method, params, { headers });
    const what = `${method} ${JSON.stringify(params)} ${JSON.stringify(headers)}`;
    const answer = await r.json();
    assert.equal(r.status, status, what + JSON.stringify(answer));
    assert.equal(answer.error?.code, code, what);
    assert.equal(answer.id, i + 10, what);
  }
  const note = await ask(s, { headers: { 'MCP-Protocol-Version': modern }, body: { jsonrpc: '2.0', method: 'notifications/x', params: { _meta: meta } } });
  assert.equal(note.status, 202);
  const response = await ask(s, { headers: { 'MCP-Protocol-Version': modern }, body: { jsonrpc: '2.0', id: 1, result: {} } });
  assert.equal(response.status, 400);
  for (const method of ['GET', 'DELETE']) assert.equal((await ask(s, { method, headers: { 'MCP-Protocol-Version': modern } })).status, 405);
});

test('without sessions: notifications on a subscribed stream', async t => {
  const s = await serve(t);
  const listen = await stateless(s, 1, 'subscriptions/listen', { notifications: { toolsListChanged: true } });
  assert.match(listen.headers['content-type'], /^text\/event-stream/);
  assert.equal(listen.headers['x-accel-buffering'], 'no');
  const first = await until(() => messages(listen.raw)[0]);
  assert.equal(first.method, 'notifications/subscriptions/acknowledged');
  assert.ok(events(listen.raw).every(e => e.id === undefined));              // nothing to resume in this era
  s.child.kill('SIGTERM');
  await listen.ended;
});

test('without sessions: the same id twice concurrently, and disconnecting cancels', async t => {
  const s = await serve(t);
  const both = await Promise.all([1, 2].map(() => stateless(s, 7, 'tools/call', { name: 'work', arguments: { seconds: 0.1 } })));
  for (const r of both) assert.equal((await r.json()).id, 7);
  const leaver = await stateless(s, 8, 'tools/call', { name: 'leave', arguments: { file: 'left' } });
  assert.match(leaver.headers['content-type'], /event-stream/);
  leaver.close();
  const { headers } = await open(s);
  const stayer = await ask(s, { headers, body: call(1, 'leave', { file: 'stayed' }) });
  stayer.close();                                                            // here only the connection is lost
  await until(() => { try { return readFileSync(s.dir + '/stayed'); } catch { return false; } });
  assert.throws(() => readFileSync(s.dir + '/left'));
});

test('too large, too many, incomplete or nonsensical requests', async t => {
  const s = await serve(t);
  const { headers } = await open(s);
  const big = await ask(s, { headers, body: JSON.stringify(call(1, 'echo', { text: 'x'.repeat(17 << 20) })) });
  assert.equal(big.status, 413);
  const huge = await ask(s, { headers, body: Buffer.alloc(40 << 20, 'x') }).catch(e => e);
  assert.ok(huge.status === 413 || ['ECONNRESET', 'EPIPE'].includes(huge.code), String(huge));
  assert.equal((await ask(s, { headers: { ...headers, 'X-Long': 'x'.repeat(40000) }, body: call(1, 'echo') }).catch(() => ({ status: 431 }))).status, 431);
  for (const text of ['\r\n\r\n', 'GET\r\n\r\n', '\x16\x03\x01\x02\x00\x01', 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\n',
    'GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n']) assert.doesNotMatch(await raw(s, text, true), /^HTTP\/1.1 200/);
  const pipelined = await raw(s, ['a', 'b', 'c'].map((x, i) => {
    const body = JSON.stringify(call(x, 'echo', { text: x }));
    return `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer a-token-of-the-tests\r\nMcp-Session-Id: ${headers['Mcp-Session-Id']}\r\nContent-Type: application/json\r\n`
      + `${i === 2 ? 'Connection: close\r\n' : ''}Content-Length: ${body.length}\r\n\r\n${body}`;
  }).join(''));
  const half = JSON.stringify(call('half', 'work', { seconds: 0.2 }));
  assert.match(await raw(s, `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer a-token-of-the-tests\r\nMcp-Session-Id: ${headers['Mcp-Session-Id']}\r\n`
    + `Content-Type: application/json\r\nContent-Length: ${half.length}\r\n\r\n${half}`, true), /worked/);       // the client shuts down its sending side and still reads
  assert.deepEqual([...pipelined.matchAll(/"id":"(.)"/g)].map(m => m[1]), ['a', 'b', 'c']);
  assert.equal((await ask(s, { headers, body: call(2, 'echo') })).status, 200);
});

test('1,000 clients at a time, each with an open stream', async t => {
  const s = await serve(t);
  const agent = new http.Agent({ maxSockets: 2000, keepAlive: true });
  undo(t, () => agent.destroy());
  const clients = await Promise.all(Array.from({ length: 500 }, () => open(s, '2025-11-25', { agent })));
  const streams = await Promise.all(clients.map(c => ask(s, { method: 'GET', headers: { ...c.headers, Accept: 'text/event-stream' }, agent })));
  assert.ok(streams.every(r => r.status === 200));
  const stateful = clients.map((c, i) => ask(s, { headers: c.headers, body: call(1, 'echo', { text: `s${i}` }), agent }).then(r => r.json()));
  const others = Array.from({ length: 500 }, (_, i) => stateless(s, i, 'tools/call', { name: 'echo', arguments: { text: `o${i}` } }, { agent }).then(r => r.json()));
  const answers = await Promise.all([...stateful, ...others]);
  assert.deepEqual(new Set(answers.map(a => a.result.content[0].text)).size, 1000);
  assert.ok(streams.every(r => !r.res.destroyed));
  const memory = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${s.child.pid}/status`, 'utf8'))[1]);
  if (!process.env.ASAN_OPTIONS && !process.env.TSAN_OPTIONS) assert.ok(memory < 400000, `${memory} kB`);
  for (const r of streams) r.close();
});

test('stopping ends open streams; a call that is nearly done still gets its response', async t => {
  const s = await serve(t);
  const { headers } = await open(s);
  const stream = await ask(s, { method: 'GET', headers: { ...headers, Accept: 'text/event-stream' } });
  const working = await ask(s, { headers, body: call(1, 'work', { seconds: 0.6 }, { progressToken: 1 }) });
  s.child.kill('SIGTERM');
  await Promise.all([stream.ended, working.ended]);
  assert.equal((await working.json()).result.content[0].text, 'worked');
  const [status] = await s.exit;
  assert.equal(status, 0, s.log);
});

test('a port in use, an invalid address', async t => {
  const s = await serve(t);
  const r = run(['-C', s.dir, 'mcp', 'serve', '--http', `127.0.0.1:${s.port}`]);
  assert.equal(r.status, 1);
  assert.match(r.stderr, new RegExp(`port ${s.port} of 127.0.0.1 is in use by another program: .*another port`));
  for (const [flags, text] of [[['--http', '0.0.0.0:0'], /--allow-remote/], [['--http', '0.0.0.0:0', '--allow-remote', '--no-auth'], /--no-auth works on 127/],
    [['--no-auth'], /needs --http/], [['--http', 'nonsense'], /not an address/], [['--http', '1', '--rate', '0'], /--rate/], [['--http', '1', '--auth-server', 'x'], /not a URL/]]) {
    const bad = run(['-C', s.dir, 'mcp', 'serve', ...flags]);
    assert.equal(bad.status, 2, flags.join(' '));
    assert.match(bad.stderr, text);
  }
});
