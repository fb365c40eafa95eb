// Servers at a URL, with and without sessions, as small programs in this process: what is sent to them, and how broken responses are handled.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, test } from 'node:test';
import { folder, start, undo } from './harness.mjs';

const OBJECT = { type: 'object', properties: {} };

// `answer(message, request, response)` handles one POST; GET and DELETE are messages without a body. Records everything.
async function serve(t, answer) {
  const seen = [];
  const http = createServer((request, response) => {
    let body = '';
    request.on('data', piece => { body += piece; });
    request.on('end', () => {
      const message = body ? JSON.parse(body) : {};
      seen.push({ verb: request.method, headers: request.headers, ...message });
      answer(message, request, response);
    });
  });
  await new Promise(done => http.listen(0, '127.0.0.1', done));
  undo(t, () => { http.closeAllConnections(); http.close(); });
  const state = folder(t);
  const url = `http://127.0.0.1:${http.address().port}/mcp`;
  return { url, seen, methods: () => seen.map(m => m.method ?? m.verb),
    run: words => start(words, { cwd: state, env: { HARNESS_STATE: `${state}-h.db` } }) };
}

const json = (response, message, result, head = {}) => {
  response.writeHead(200, { 'content-type': 'application/json', ...head });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
};
const fail = (response, message, status, code, text = 'no', data) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id ?? null, error: { code, message: text, data } }));
};
const hello = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } };
const tools = [{ name: 'work', description: 'Works.', inputSchema: OBJECT }];

// A server of the handshake era with a session; `work` is what tools/call does.
function older(work) {
  return (m, request, response) => {
    if (request.method !== 'POST') return response.writeHead(request.method === 'GET' ? 405 : 200).end();
    if (m.method === 'server/discover') return fail(response, m, 400, -32600, 'no session');
    if (m.method === 'initialize') return json(response, m, hello, { 'mcp-session-id': 'one' });
    if (m.id === undefined) return response.writeHead(202).end();
    if (m.method === 'tools/list') return json(response, m, { tools });
    return work(m, request, response);
  };
}

const text = s => ({ content: [{ type: 'text', text: s }] });
const events = (response, list) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const e of list) response.write(e);
};
const event = (message, id) => `${id ? `id: ${id}\n` : ''}data: ${JSON.stringify(message)}\n\n`;

describe('the handshake era', { concurrency: 4 }, () => {
  test('session, version header, responses as JSON, and the session is ended', async t => {
    const s = await serve(t, older((m, q, r) => json(r, m, text('done'))));
    const out = await s.run(['mcp', 'call', s.url, 'work', '{}']);
    assert.deepEqual([out.status, out.stdout], [0, 'done\n'], out.stderr);
    assert.deepEqual(s.methods(), ['server/discover', 'initialize', 'notifications/initialized', 'tools/list', 'tools/call', 'DELETE']);
    const call = s.seen[4].headers;
    assert.equal(call['mcp-session-id'], 'one');
    assert.equal(call['mcp-protocol-version'], '2025-06-18');
    assert.equal(call['mcp-method'], undefined);
    assert.equal(s.seen[1].headers['mcp-session-id'], undefined);
    assert.equal(s.seen[5].headers['mcp-session-id'], 'one');
  });

  test('events: notifications before the answer, and a stream that stays open', async t => {
    const s = await serve(t, older((m, q, r) => events(r, [': hello\n\n', event({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } }),
      event({ jsonrpc: '2.0', id: m.id, result: text('from the stream') })])));
    assert.equal((await s.run(['mcp', 'call', s.url, 'work'])).stdout, 'from the stream\n');
  });

  test('a broken stream is resumed after the last event', async t => {
    let cut;
    const s = await serve(t, (m, q, r) => {
      if (q.method === 'GET') return events(r, [event({ jsonrpc: '2.0', id: cut, result: text('after the break') }, 'e2')]);
      return older((m2, q2, r2) => { cut = m2.id; events(r2, ['id: e1\nretry: 10\ndata: \n\n', 'data: {"half']); r2.end(); })(m, q, r);
    });
    assert.equal((await s.run(['mcp', 'call', s.url, 'work'])).stdout, 'after the break\n');
    assert.equal(s.seen.find(m => m.verb === 'GET').headers['last-event-id'], 'e1');
  });

  test('an expired session is replaced, and the request is sent again', async t => {
    let lost = 1;
    const s = await serve(t, older((m, q, r) => (lost-- > 0 ? r.writeHead(404).end() : json(r, m, text('second try')))));
    assert.equal((await s.run(['mcp', 'call', s.url, 'work'])).stdout, 'second try\n');
    assert.equal(s.methods().filter(m => m === 'initialize').length, 2);
  });

  test('questions on the answer’s stream', async t => {
    let asked, answered;
    const s = await serve(t, (m, q, r) => {
      if (q.method === 'POST' && m.id === 'q1' && !m.method) {
        answered = m.result;
        r.writeHead(202).end();
        asked.write(event({ jsonrpc: '2.0', id: asked.id, result: text('thanks') }));
        return asked.end();
      }
      return older((m2, q2, r2) => {
        asked = r2;
        asked.id = m2.id;
        events(r2, [event({ jsonrpc: '2.0', id: 'q1', method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: { type: 'object', properties: { n: { type: 'integer', default: 4 } } } } })]);
      })(m, q, r);
    });
    assert.equal((await s.run(['mcp', 'call', s.url, 'work', '{}', '--elicit', 'accept'])).stdout, 'thanks\n');
    assert.deepEqual(answered, { action: 'accept', content: { n: 4 } });
    assert.deepEqual(s.seen.find(m => m.method === 'initialize').params.capabilities.elicitation, { form: {} });
  });

  for (const [what, work, says] of [
    ['an error', (m, q, r) => fail(r, m, 200, -32602, 'bad'), /bad \(-32602\)/],
    ['status 500', (m, q, r) => r.writeHead(500).end('oops'), /status 500: oops/],
    ['a result for another id', (m, q, r) => json(r, { id: 4711 }, text('x')), /without a result/],
    ['nothing', (m, q, r) => r.writeHead(200).end(), /without a result/],
    ['no JSON', (m, q, r) => r.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc": "2.0", "id": 1, '), /without a result/],
    ['a connection that ends', (m, q, r) => r.destroy(), /./],
    ['20 MB', (m, q, r) => json(r, m, text('x'.repeat(20 << 20))), /over 16777216 bytes/],
  ])
    test(`an answer that is ${what}`, async t => {
      const s = await serve(t, older(work));
      const out = await s.run(['mcp', 'call', s.url, 'work']);
      assert.equal(out.status, 1);
      assert.match(out.stderr, says);
      assert.equal(s.methods().filter(m => m === 'tools/call').length, 1, 'not sent twice');
    });

  test('--protocol requests one version and accepts no other', async t => {
    const s = await serve(t, older((m, q, r) => json(r, m, text('x'))));
    const out = await s.run(['mcp', 'tools', s.url, '--protocol', '2025-03-26']);
    assert.match(out.stderr, /protocol version "2025-06-18", which is not the one asked for/);
    assert.equal(s.seen[0].params.protocolVersion, '2025-03-26');
    assert.match((await s.run(['mcp', 'tools', s.url, '--protocol', '1999'])).stderr, /unsupported protocol version "1999"/);
  });
});

describe('the stateless era', { concurrency: 4 }, () => {
  const modern = (list, work, more = {}) => (m, q, r) => {
    const all = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
    if (m.method === 'server/discover') return json(r, m, { ...all, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } });
    if (m.method === 'tools/list') return json(r, m, { ...all, tools: list, ...more });
    return work(m, q, r);
  };

  test('every request identifies its client, in the body and in the headers', async t => {
    const s = await serve(t, modern(tools, (m, q, r) => json(r, m, { resultType: 'complete', ...text('done') })));
    const out = await s.run(['mcp', 'call', s.url, 'work', '{}', '--header', 'X-Team: core']);
    assert.equal(out.stdout, 'done\n', out.stderr);
    assert.deepEqual(s.methods(), ['server/discover', 'tools/list', 'tools/call']);
    for (const m of s.seen) {
      assert.equal(m.headers['mcp-protocol-version'], '2026-07-28');
      assert.equal(m.headers['mcp-method'], m.method);
      assert.equal(m.headers['x-team'], 'core');
      assert.equal(m.params._meta['io.modelcontextprotocol/protocolVersion'], '2026-07-28');
      assert.equal(m.params._meta['io.modelcontextprotocol/clientInfo'].name, 'harness');
    }
    assert.equal(s.seen[2].headers['mcp-name'], 'work');
  });

  test('a task is followed to its end, its questions answered', async t => {
    const states = [{ status: 'working', pollIntervalMs: 50 }, { status: 'input_required', pollIntervalMs: 50, inputRequests: { a: { method: 'elicitation/create', params: { message: '?', requestedSchema: OBJECT } } } },
      { status: 'completed', result: text('at last') }];
    const s = await serve(t, modern(tools, (m, q, r) => {
      if (m.method === 'tools/call') return json(r, m, { resultType: 'task', taskId: 't1', status: 'working', pollIntervalMs: 50 });
      if (m.method === 'tasks/get') return json(r, m, { resultType: 'complete', taskId: 't1', ...states.shift() });
      return json(r, m, { resultType: 'complete' });
    }));
    const out = await s.run(['mcp', 'call', s.url, 'work', '{}', '--elicit', 'accept']);
    assert.equal(out.stdout, 'at last\n', out.stderr);
    assert.deepEqual(s.methods().slice(3), ['tasks/get', 'tasks/get', 'tasks/update', 'tasks/get']);
    assert.equal(s.seen[3].headers['mcp-name'], 't1');
    assert.deepEqual(s.seen[5].params.inputResponses, { a: { action: 'accept', content: {} } });
  });

  test('a server that always asks for more input is given up', async t => {
    const s = await serve(t, modern(tools, (m, q, r) => json(r, m, { resultType: 'input_required', requestState: 'x' })));
    assert.match((await s.run(['mcp', 'call', s.url, 'work'])).stderr, /more than 16 rounds of input/);
    assert.match((await serve(t, modern(tools, (m, q, r) => json(r, m, { resultType: 'input_required', inputRequests: { a: { method: 'roots/list' } } })))
      .then(o => o.run(['mcp', 'call', o.url, 'work']))).stderr, /asks for roots\/list, which its entry does not allow/);
  });

  test('a version that the server does not support', async t => {
    const s = await serve(t, (m, q, r) => fail(r, m, 400, -32022, 'unsupported', { supported: ['2031-01-01'] }));
    assert.match((await s.run(['mcp', 'tools', s.url])).stderr, /supports no protocol version that harness supports/);
    assert.deepEqual(s.methods(), ['server/discover']);
  });

  test('wrong headers: the list is requested again, then the call', async t => {
    let wrong = 1;
    const s = await serve(t, modern(tools, (m, q, r) => (wrong-- > 0 ? fail(r, m, 400, -32020) : json(r, m, text('now')))));
    assert.equal((await s.run(['mcp', 'call', s.url, 'work'])).stdout, 'now\n');
    assert.deepEqual(s.methods().slice(1), ['tools/list', 'tools/call', 'tools/list', 'tools/call']);
  });
});
