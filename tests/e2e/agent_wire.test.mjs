// Models against a server that makes every possible mistake, one at a time.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { effect, harness, server, surfaces, talker } from './agents.mjs';
import { tool } from './calls.mjs';

const sse = { 'content-type': 'text/event-stream' };
const chunk = (delta, more = {}) => ({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: null, ...more }] });
const line = value => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
const text = words => line(chunk({ content: words }));
const stop = (reason = 'stop') => line(chunk({}, { finish_reason: reason })) + line('[DONE]');
const piece = (index, more) => line(chunk({ tool_calls: [{ index, ...more }] }));

// Sends `parts` one by one, each in its own TCP segment if possible.
async function stream(response, parts, { pause = 3, end = true, headers = sse, status = 200 } = {}) {
  response.writeHead(status, headers);
  response.socket.setNoDelay(true);
  for (const part of parts) {
    response.write(part);
    await wait(pause);
  }
  if (end) response.end();
}

const cut = (whole, size) => {
  const bytes = Buffer.from(whole), out = [];
  for (let i = 0; i < bytes.length; i += size) out.push(bytes.subarray(i, i + size));
  return out;
};

// A project whose model is the server; the nth request is answered by the nth of `replies`, the last one repeats.
async function open(t, replies, { files = {}, model = {}, env, surface = 'openai' } = {}) {
  const s = await server(t, (request, response, body, n) => replies[Math.min(n, replies.length - 1)](response, body, request));
  const p = talker(t, { 'harness.md': harness({ ...surfaces[surface](s.url), ...model }), '.harness/tools/effect.md': effect(), ...files }, { env });
  return { ...p, url: s.url, requests: s.requests };
}
const whole = body => response => { response.writeHead(200, { 'content-type': 'application/json' }); response.end(JSON.stringify(body)); };
const said = (...parts) => response => stream(response, parts);

async function answers(t, replies, expected, options) {
  const p = await open(t, replies, options);
  const r = await p.say('go');
  assert.deepEqual([r.reply?.status, r.reply?.response], ['completed', expected], `${r.stdout}${r.stderr}`);
  return { ...p, r };
}

async function fails(t, replies, reason, options) {
  const p = await open(t, replies, options);
  const r = await p.say('go');
  assert.equal(r.reply?.status, 'failed', `${r.stdout}${r.stderr}`);
  assert.match(r.reply.reason, reason);
  assert.equal(r.status, 1);
  return { ...p, r };
}

// ---- the form of the stream ----

test('UTF-8 and lines split at every byte', async t => {
  await answers(t, [response => stream(response, cut(text('Grüße ') + text('世界 🎉') + stop(), 1), { pause: 0 })], 'Grüße 世界 🎉');
});

test('\\r\\n, \\r, comments, unknown fields, data in several lines', async t => {
  const odd = `: hello\r\n\r\nevent: message\r\nid: 7\r\nretry: 10\r\nwhat: ever\r\ndata: ${JSON.stringify(chunk({ content: 'a' }))}\r\n\r\n`
    + `:\n\ndata:${JSON.stringify(chunk({ content: 'b' }))}\n\n` + `data: {"choices":\ndata: [{"delta":{"content":"c"}}]}\n\n`
    + `data: ${JSON.stringify(chunk({ content: 'd' }))}\r\r`;
  await answers(t, [said(...cut(odd + stop(), 7))], 'abcd');
});

test('a byte order mark and blank lines before the first event', async t => {
  await answers(t, [said('\n\n', '\ufeff' + text('yes') + stop())], 'yes');
});

test('a huge delta', async t => {
  const big = 'x'.repeat(3 << 20);
  await answers(t, [said(text(big) + stop())], big);
});

test('a character split over two pieces, and half a character', async t => {
  const half = code => `data: {"choices":[{"delta":{"content":"${code}"}}]}\n\n`;
  await answers(t, [said(half('a\\ud83c'), half('\\udf89b'), half('\\udf89'), stop())], 'a🎉b\ufffd');
});

test('empty choices, usage-only chunks, null fields', async t => {
  const { r } = await answers(t, [said(line({ choices: [] }), line({ id: 'x', choices: null }), line(chunk({ role: 'assistant', content: null, tool_calls: null })), text('yes'),
    line(chunk({}, { finish_reason: 'stop' })), line({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } } }), line('[DONE]'))], 'yes');
  assert.deepEqual([r.reply.usage.input, r.reply.usage.output, r.reply.usage.cached], [5, 2, 4]);
});

test('numbers that are not counts', async t => {
  const { r } = await answers(t, [said(text('yes'), line(chunk({}, { finish_reason: 'stop' })),
    line({ choices: [], usage: { prompt_tokens: -5, completion_tokens: 1e300, prompt_tokens_details: 'none' } }), line('[DONE]'))], 'yes');
  assert.deepEqual([r.reply.usage.input, r.reply.usage.output], [0, 0]);
});

test('no [DONE], and [DONE] without a finish reason', async t => {
  await answers(t, [said(text('yes'), line(chunk({}, { finish_reason: 'stop' })))], 'yes');
  await answers(t, [said(text('yes'), line('[DONE]'), text('nothing after the end counts'))], 'yes');
});

test('unknown finish reasons end the answer', async t => {
  const p = await answers(t, [said(text('yes'), stop('because'))], 'yes');
  assert.equal(p.events('completion.completed')[0].data.finish_reason, 'because');
  await answers(t, [said(text('yes'), stop('b'.repeat(5000)))], 'yes');
});

test('a slow trickle', async t => {
  await answers(t, [response => stream(response, cut(text('slow') + stop(), 40), { pause: 40 })], 'slow');
});

test('compressed bodies', async t => {
  for (const [encoding, pack] of [['gzip', gzipSync], ['br', brotliCompressSync]]) {
    const p = await open(t, [response => { response.writeHead(200, { ...sse, 'content-encoding': encoding }); response.end(pack(text('packed') + stop())); }]);
    const r = await p.say('go');
    if (r.reply.status === 'completed') assert.equal(r.reply.response, 'packed');
    else assert.match(r.reply.reason, /compress|encoding|JSON/i);
  }
});

test('an answer that is not a stream', async t => {
  await answers(t, [whole({ choices: [{ message: { role: 'assistant', content: 'whole' }, finish_reason: 'stop' }], usage: { prompt_tokens: 1, completion_tokens: 1 } })], 'whole');
});

test('an empty body, a blank body, an unrelated object', async t => {
  await fails(t, [response => response.writeHead(200, sse).end()], /after 5 attempts: .*middle of the answer/);
  await fails(t, [response => response.writeHead(200, sse).end('\n\n  \n')], /middle of the answer/);
  await fails(t, [whole({ hello: 'world' })], /middle of the answer/);
  await fails(t, [response => response.writeHead(200, sse).end('<html>Busy</html>')], /JSON|middle/);
  await fails(t, [response => response.writeHead(200, sse).end('[1, 2')], /not a JSON object/);
});

// ---- tool calls ----

const done = (response, body) => stream(response, [text(body.messages.filter(m => m.role === 'tool').map(m => m.content).join('|')), stop()]);

test('arguments in pieces, calls interleaved', async t => {
  const p = await answers(t, [said(piece(0, { id: 'a', type: 'function', function: { name: 'effect', arguments: '' } }),
    piece(1, { id: 'b', type: 'function', function: { name: 'effect', arguments: '{"n"' } }), piece(0, { function: { arguments: '{"n":' } }),
    piece(1, { function: { arguments: ': 2}' } }), piece(0, { function: { arguments: ' 1}' } }), stop('tool_calls')), done], '{"did":1}|{"did":2}');
  assert.deepEqual(p.effects().sort(), ['1', '2']);
  assert.deepEqual(p.requests[1].body.messages.at(-3).tool_calls.map(c => [c.id, c.function.arguments]), [['a', '{"n": 1}'], ['b', '{"n": 2}']]);
});

test('duplicate, missing and reused ids: every result is matched to its call', async t => {
  const calls = reply => [0, 1, 2].map(i => piece(i, { id: i < 2 ? 'same' : undefined, function: { name: 'effect', arguments: `{"n":${3 * reply + i}}` } })).join('');
  const p = await answers(t, [said(calls(0), stop('tool_calls')), said(calls(1), stop('tool_calls')), done],
    [0, 1, 2, 3, 4, 5].map(n => `{"did":${n}}`).join('|'));
  const { messages } = p.requests[2].body;
  const made = messages.flatMap(m => m.tool_calls ?? []).map(c => c.id);
  assert.equal(new Set(made).size, 6);
  assert.deepEqual(messages.filter(m => m.role === 'tool').map(m => m.tool_call_id), made);
  assert.equal(p.effects().length, 6);
});

test('calls without an index, a name in every piece, arguments as an object', async t => {
  const bare = more => line(chunk({ tool_calls: [more] }));
  await answers(t, [said(bare({ id: 'a', function: { name: 'effect', arguments: '{"n"' } }), bare({ id: 'a', function: { name: 'effect', arguments: ':1}' } }),
    bare({ id: 'b', function: { name: 'effect', arguments: { n: 2 } } }), stop('tool_calls')), done], '{"did":1}|{"did":2}');
});

test('calls of a reply that says "stop" are made, and one that says "tool_calls" without calls is an answer', async t => {
  await answers(t, [said(piece(0, { id: 'a', function: { name: 'effect', arguments: '{"n":1}' } }), stop('stop')), done], '{"did":1}');
  await answers(t, [said(text('none'), stop('tool_calls'))], 'none');
});

test('arguments that are not JSON are returned to the model as an error', async t => {
  const p = await answers(t, [said(piece(0, { id: 'a', function: { name: 'effect', arguments: '{"n": 1' } }), stop('tool_calls')),
    (response, body) => stream(response, [text(/json/i.test(body.messages.at(-1).content) ? 'repaired' : 'what?'), stop()])], 'repaired');
  assert.deepEqual(p.effects(), []);
});

test('a reply that was cut by max_tokens does not run its cut call', async t => {
  const p = await open(t, [said(piece(0, { id: 'a', function: { name: 'effect', arguments: '{"n": 1' } }), stop('length')), done]);
  const r = await p.say('go');
  assert.deepEqual(p.effects(), []);
  assert.ok(['completed', 'limited'].includes(r.reply.status), r.stdout);
  const bare = await open(t, [said(piece(0, { id: 'a', function: { name: 'bare', arguments: '' } }), stop('length')), done],
    { files: { '.harness/tools/bare.md': tool('fs.append("effects.log", "bare")\nreturn 1') } });
  await bare.say('go');
  assert.deepEqual(bare.effects(), [], 'its arguments may have been still to come');
  const cut = await open(t, [said(text('half an ans'), stop('length'))]);
  const half = await cut.say('go');
  assert.deepEqual([half.reply.status, half.reply.response, half.status], ['limited', 'half an ans', 1]);
});

test('a call without a name, too many calls', async t => {
  await fails(t, [said(piece(0, { id: 'a', function: { arguments: '{}' } }), stop('tool_calls'))], /tool call without a name/);
  await fails(t, [said([...Array(1100).keys()].map(i => piece(i, { id: `c${i}`, function: { name: 'effect', arguments: '{}' } })).join(''), stop('tool_calls'))], /too many tool calls/);
});

test('an unknown tool is returned to the model', async t => {
  await answers(t, [said(piece(0, { id: 'a', function: { name: 'effects', arguments: '{"n":1}' } }), stop('tool_calls')),
    (response, body) => stream(response, [text(/unknown tool/.test(body.messages.at(-1).content) ? 'I see' : 'what?'), stop()])], 'I see');
});

// ---- errors ----

test('an error in the middle of a stream', async t => {
  const p = await fails(t, [said(text('half'), line({ error: { message: 'out of cheese', code: 500 } }))], /openai: out of cheese/);
  assert.equal(p.requests.length, 1, 'not asked again: words were out already');
  await answers(t, [said(line({ error: { message: 'busy', code: 503 } })), said(text('now'), stop())], 'now');
  const final = await fails(t, [said(line({ error: { message: 'no such thing' } }))], /no such thing/);
  assert.equal(final.requests.length, 1);
});

test('statuses: which are final and which are retried', async t => {
  const status = (code, headers = {}) => response => { response.writeHead(code, headers); response.end(JSON.stringify({ error: { message: `status ${code}` } })); };
  for (const code of [400, 401, 403, 404, 422]) {
    const p = await fails(t, [status(code)], new RegExp(`answered ${code}: status ${code}`));
    assert.equal(p.requests.length, 1, `${code}`);
  }
  for (const code of [408, 429, 500, 502, 503, 529]) {
    const p = await answers(t, [status(code), status(code), said(text('yes'), stop())], 'yes');
    assert.equal(p.requests.length, 3, `${code}`);
    assert.deepEqual(p.events('completion.retried').map(e => e.data.attempt), [1, 2]);
  }
});

test('Retry-After is honoured, in seconds and in milliseconds', async t => {
  const busy = headers => response => { response.writeHead(429, headers); response.end('{}'); };
  const p = await answers(t, [busy({ 'retry-after': '1' }), busy({ 'retry-after-ms': '30' }), busy({ 'retry-after': 'soon' }), said(text('yes'), stop())], 'yes');
  const waits = p.events('completion.retried').map(e => e.data.wait_ms);
  assert.deepEqual(waits.slice(0, 2), [1000, 30]);
  assert.ok(waits[2] <= 20);
});

test('a Retry-After of a year does not make a run wait a year', async t => {
  const p = await open(t, [response => { response.writeHead(429, { 'retry-after': '31536000' }); response.end('{}'); }], { model: { retry: '{ max_attempts: 2 }' } });
  const child = p.say('go', [], { timeout: 1500 }).catch(() => null);
  await child;
  const [retried] = p.events('completion.retried');
  assert.ok(retried.data.wait_ms <= 120000);
});

test('the content filter is final', async t => {
  const p = await fails(t, [said(text(''), stop('content_filter'))], /content filter/);
  assert.equal(p.requests.length, 1);
});

test('a redirect is not followed, and the key not sent', async t => {
  const other = await server(t, (request, response) => stream(response, [text('stolen'), stop()]));
  for (const code of [301, 302, 307, 308]) {
    const p = await fails(t, [response => response.writeHead(code, { location: `${other.url}/v1/chat/completions` }).end()], /answered 30\d/);
    assert.equal(p.requests.length, 1);
  }
  assert.equal(other.requests.length, 0);
});

test('a connection that ends before, between and after the headers', async t => {
  const p = await answers(t, [response => response.socket.destroy(), response => { response.writeHead(200, sse); response.flushHeaders(); setTimeout(() => response.socket.destroy(), 20); },
    said(text('third'), stop())], 'third');
  assert.equal(p.requests.length, 3);
});

test('a wrong Content-Length', async t => {
  await fails(t, [response => { response.writeHead(200, { ...sse, 'content-length': '100000' }); response.write(text('half')); setTimeout(() => response.socket.destroy(), 20); }], /openai|middle/);
});

test('a silent server ends with the timeout of the model', async t => {
  await fails(t, [response => { response.writeHead(200, sse); response.write(text('a')); }], /tim|took/i, { model: { timeout_ms: 300, retry: '{ max_attempts: 1 }' } });
});

// ---- Anthropic ----

const event = (type, more) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const begin = event('message_start', { message: { usage: { input_tokens: 3, cache_read_input_tokens: 2 } } });
const block = (index, words) => event('content_block_start', { index, content_block: { type: 'text', text: '' } })
  + event('content_block_delta', { index, delta: { type: 'text_delta', text: words } }) + event('content_block_stop', { index });
const close = (reason = 'end_turn') => event('message_delta', { delta: { stop_reason: reason }, usage: { output_tokens: 4 } }) + event('message_stop', {});
const anthropic = { surface: 'anthropic' };

test('anthropic: pings, thinking, unknown blocks, split anywhere', async t => {
  const all = begin + event('ping', {}) + event('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '' } })
    + event('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'hmm' } }) + event('new_thing', { what: 1 })
    + event('content_block_start', { index: 1, content_block: { type: 'later_kind' } }) + block(2, 'Grüße') + close();
  const { r } = await answers(t, [response => stream(response, cut(all, 11), { pause: 0 })], 'Grüße', anthropic);
  assert.deepEqual([r.reply.usage.input, r.reply.usage.cached, r.reply.usage.output], [5, 2, 4]);
});

test('anthropic: calls in pieces, interleaved, without input; results in one message', async t => {
  const use = (index, id, input = {}) => event('content_block_start', { index, content_block: { type: 'tool_use', id, name: 'effect', input } });
  const part = (index, json) => event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: json } });
  const p = await open(t, [said(begin, use(0, 'a'), use(1, 'b'), part(0, '{"n"'), part(1, ''), part(1, '{"n":2}'), part(0, ':1}'), use(2, 'b', { n: 3 }), close('tool_use')),
    said(begin, block(0, 'done'), close())], anthropic);
  assert.equal((await p.say('go')).reply.response, 'done');
  assert.deepEqual(p.effects().sort(), ['1', '2', '3']);
  const { messages } = p.requests[1].body;
  assert.deepEqual(messages.map(m => m.role), ['user', 'assistant', 'user']);
  assert.deepEqual(messages[2].content.map(c => c.tool_use_id), messages[1].content.map(c => c.id));
  assert.equal(new Set(messages[1].content.map(c => c.id)).size, 3);
});

test('anthropic: errors inside of a stream, cut streams, refusals, whole answers', async t => {
  await answers(t, [said(event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } })), said(begin, block(0, 'now'), close())], 'now', anthropic);
  const late = await fails(t, [said(begin, block(0, 'half'), event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }))], /Overloaded/, anthropic);
  assert.equal(late.requests.length, 1);
  await fails(t, [said(begin, block(0, 'half'))], /middle of the answer/, anthropic);
  await fails(t, [said(begin, close('refusal'))], /content filter/, anthropic);
  await answers(t, [whole({ type: 'message', content: [{ type: 'text', text: 'whole' }], stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 } })], 'whole', anthropic);
  const full = await open(t, [said(begin, block(0, 'half an'), close('max_tokens'))], anthropic);
  assert.equal((await full.say('go')).reply.status, 'limited');
});

test('anthropic: what the request looks like', async t => {
  const p = await answers(t, [said(begin, block(0, 'yes'), close())], 'yes', anthropic);
  const [{ headers, body, url }] = p.requests;
  assert.deepEqual([url, headers['x-api-key'], headers['anthropic-version'], headers.authorization], ['/v1/messages', 'sk-test-anthropic-000', '2023-06-01', undefined]);
  assert.deepEqual(body.messages, [{ role: 'user', content: [{ type: 'text', text: 'go', cache_control: { type: 'ephemeral' } }] }]);
  assert.deepEqual(body.system[0].text, 'Be brief.');
  assert.ok(body.max_tokens > 0 && body.stream === true);
});
