// Faults of a model's server, on every wire: none hangs, crashes or loses text, and each ends in one clear message.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { effect, harness, server, talker } from './agents.mjs';

const event = (type, more = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const data = value => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (delta, finish_reason = null) => data({ choices: [{ index: 0, delta, finish_reason }] });

// The same replies in the wire format of each provider. `call` takes arguments in pieces; `end` ends the stream properly.
const wires = {
  chat: {
    model: url => ({ provider: 'openai', name: 'gpt-test', wire: 'chat', base_url: `${url}/v1` }),
    begin: '', text: text => chunk({ content: text }), stop: chunk({}, 'stop') + 'data: [DONE]\n\n', calls: chunk({}, 'tool_calls') + 'data: [DONE]\n\n', length: chunk({}, 'length') + 'data: [DONE]\n\n',
    call: (index, id, ...pieces) => chunk({ tool_calls: [{ index, id, type: 'function', function: { name: 'effect', arguments: '' } }] })
      + pieces.map(p => chunk({ tool_calls: [{ index, function: { arguments: p } }] })).join(''),
    error: data({ error: { message: 'the server is on fire', type: 'server_error' } }), refusal: data({ error: { message: 'not for you', type: 'invalid_request_error' } }),
    filter: chunk({}, 'content_filter') + 'data: [DONE]\n\n',
    unknown: data({ object: 'new.thing', choices: [] }) + 'event: strange\ndata: {"x":1}\n\n',
    odd: [data({ choices: [null] }), data({ choices: [{ delta: 7 }] }), data({ choices: {} }), data({ choices: [{ index: 0, delta: { content: 5, tool_calls: {} }, finish_reason: 3 }] }), data({ usage: [] })],
    whole: text => ({ choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }] }),
    late: [chunk({}, 'stop') + 'data: [DONE]\n\n', chunk({ content: 'late' })],
  },
  responses: {
    model: url => ({ provider: 'openai', name: 'gpt-5-test', wire: 'responses', base_url: `${url}/v1` }),
    begin: event('response.created', { response: { status: 'in_progress' } }), text: text => event('response.output_text.delta', { output_index: 0, delta: text }),
    stop: event('response.completed', { response: { status: 'completed', output: [] } }), calls: event('response.completed', { response: { status: 'completed', output: [] } }),
    length: event('response.incomplete', { response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } } }),
    call: (index, id, ...pieces) => event('response.output_item.added', { output_index: index + 1, item: { type: 'function_call', call_id: id, name: 'effect', arguments: '' } })
      + pieces.map(delta => event('response.function_call_arguments.delta', { output_index: index + 1, delta })).join(''),
    error: event('response.failed', { response: { status: 'failed', error: { code: 'server_error', message: 'the server is on fire' } } }),
    refusal: event('error', { code: 'invalid_prompt', message: 'not for you' }),
    filter: event('response.incomplete', { response: { status: 'incomplete', incomplete_details: { reason: 'content_filter' } } }),
    unknown: event('response.new_thing', { x: 1 }) + event('response.output_item.added', { output_index: 9, item: { type: 'new_item' } }),
    odd: [event('response.output_text.delta', { output_index: 'x', delta: 5 }), event('response.output_item.done', { output_index: -1, item: 'x' }), event('response.output_item.added', { output_index: 1.5, item: [] }), event('response.reasoning_summary_text.delta', { delta: {} }), data({ type: 7 })],
    whole: text => ({ object: 'response', status: 'completed', output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }] }),
    late: [event('response.completed', { response: { status: 'completed', output: [] } }), event('response.output_text.delta', { output_index: 0, delta: 'late' })],
  },
  anthropic: {
    model: url => ({ provider: 'anthropic', name: 'claude-test', base_url: url }),
    begin: event('message_start', { message: { usage: { input_tokens: 5 } } }), text: text => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    stop: event('message_delta', { delta: { stop_reason: 'end_turn' } }) + event('message_stop'), calls: event('message_delta', { delta: { stop_reason: 'tool_use' } }) + event('message_stop'),
    length: event('message_delta', { delta: { stop_reason: 'max_tokens' } }) + event('message_stop'),
    call: (index, id, ...pieces) => event('content_block_start', { index: index + 1, content_block: { type: 'tool_use', id, name: 'effect', input: {} } })
      + pieces.map(partial_json => event('content_block_delta', { index: index + 1, delta: { type: 'input_json_delta', partial_json } })).join(''),
    error: event('error', { error: { type: 'overloaded_error', message: 'the server is on fire' } }), refusal: event('error', { error: { type: 'invalid_request_error', message: 'not for you' } }),
    filter: event('message_delta', { delta: { stop_reason: 'refusal' } }) + event('message_stop'),
    unknown: event('new_thing', { x: 1 }) + event('content_block_start', { index: 9, content_block: { type: 'new_block' } }) + event('content_block_delta', { index: 9, delta: { type: 'new_delta' } }),
    odd: [event('content_block_start', { index: 'x', content_block: null }), event('content_block_delta', { index: -7, delta: [] }), event('message_delta', { delta: 1, usage: 'x' }), event('message_start', { message: [] }), data({ type: 7 })],
    whole: text => ({ type: 'message', content: [{ type: 'text', text }], stop_reason: 'end_turn' }),
    late: [event('message_delta', { delta: { stop_reason: 'end_turn' } }) + event('message_stop'), event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'late' } })],
  },
};

const sse = { 'content-type': 'text/event-stream' };
const said = (...parts) => response => { response.writeHead(200, sse); response.end(parts.join('')); };
const status = (code, words, headers = {}) => response => { response.writeHead(code, { 'content-type': 'application/json', ...headers }); response.end(JSON.stringify({ error: { message: words } })); };
const cut = (...parts) => response => { response.writeHead(200, sse); response.write(parts.join('')); setTimeout(() => response.destroy(), 20); };
const bytes = (text, pause) => async response => { response.writeHead(200, sse); for (const b of text.match(/[^]{1,60}/g)) { response.write(b); await wait(pause); } response.end(); };

const raw = body => response => { response.writeHead(200, sse); response.end(body); };
const backwards = text => { const [start, ...pieces] = text.split(/(?<=\n\n)/); return pieces.join('') + start; };

// name, replies in turn (the last one repeats), the outcome: [status, response or part of the reason, number of requests, effects]
const rows = w => {
  const ok = said(w.begin, w.text('fine'), w.stop);
  return [
    ...[408, 409, 429, 500, 502, 503, 529].map(code => [`${code}, then an answer`, [status(code, 'later'), ok], ['completed', 'fine', 2]]),
    ...[429, 500, 529].map(code => [`${code} for ever`, [status(code, 'later')], ['failed', new RegExp(`answered ${code}: later`), 3]]),
    ...[[400, 'bad'], [401, 'who'], [403, 'no'], [404, 'where'], [413, 'much'], [422, 'odd']].map(([code, words]) => [`${code}`, [status(code, words)], ['failed', new RegExp(`answered ${code}: ${words}`), 1]]),
    ['429 with Retry-After', [status(429, 'later', { 'retry-after': '0' }), ok], ['completed', 'fine', 2]],
    ['a redirect', [response => { response.writeHead(302, { location: 'http://127.0.0.1:1/' }); response.end(); }], ['failed', /answered 302/, 1]],
    ['cut before the first text', [cut(w.begin), ok], ['completed', 'fine', 2]],
    ['cut in the middle of the text', [cut(w.begin, w.text('half'))], ['failed', /./, 1]],
    ['an end without an end', [said(w.begin, w.text('half'))], ['failed', /middle of the answer/, 1]],
    ['an empty body', [response => { response.writeHead(200, sse); response.end(); }, ok], ['completed', 'fine', 2]],
    ['cut in the middle of a call', [said(w.begin, w.call(0, 'a', '{"n":')), ok], ['failed', /middle of the answer/, 1, []]],
    ['a call that the length cut off', [said(w.begin, w.call(0, 'a', '{"n":'), w.length), ok], ['completed', 'fine', 2, []]],
    ['a call without arguments that the length cut off', [said(w.begin, w.call(0, 'a'), w.length), ok], ['completed', 'fine', 2, []]],
    ['text that the length cut off', [said(w.begin, w.text('half'), w.length)], ['limited', /max_tokens/, 1]],
    ['an error in the stream, before text', [said(w.begin, w.error), ok], ['completed', 'fine', 2]],
    ['an error in the stream, after text', [said(w.begin, w.text('half'), w.error)], ['failed', /on fire/, 1]],
    ['a refusal in the stream', [said(w.begin, w.refusal)], ['failed', /not for you/, 1]],
    ['a content filter', [said(w.begin, w.text('x'), w.filter)], ['failed', /content filter/, 1]],
    ['unknown types', [said(w.begin, w.unknown, w.text('fine'), w.unknown, w.stop)], ['completed', 'fine', 1]],
    ['text after the end', [said(w.begin, w.text('fine'), ...w.late)], ['completed', 'fine', 1]],
    ['no JSON', [said('data: {"half\n\n'), ok], ['completed', 'fine', 2]],
    ['no JSON after text', [said(w.begin, w.text('half'), 'data: nonsense\n\n')], ['failed', /not a JSON object/, 1]],
    ['HTML with 200', [response => { response.writeHead(200, { 'content-type': 'text/html' }); response.end('<html>hello</html>'); }], ['failed', /./, undefined]],
    ['slow bytes', [bytes(w.begin + w.text('fine') + w.stop, 4)], ['completed', 'fine', 1]],
    ['one document', [response => { response.writeHead(200, { 'content-type': 'application/json' }); response.end(JSON.stringify(w.whole('fine'))); }], ['completed', 'fine', 1]],
    ['calls without ids', [said(w.begin, w.call(0, '', '{"n":1}'), w.call(1, '', '{"n":2}'), w.calls), ok], ['completed', 'fine', 2, ['1', '2']]],
    ['two calls with one id', [said(w.begin, w.call(0, 'a', '{"n":1}'), w.call(1, 'a', '{"n":2}'), w.calls), ok], ['completed', 'fine', 2, ['1', '2']]],
    ['a call before its text', [said(w.begin, w.call(0, 'a', '{"n":1}'), w.text('and'), w.calls), ok], ['completed', 'fine', 2, ['1']]],
    ['empty arguments', [said(w.begin, w.call(0, 'a'), w.calls), ok], ['completed', 'fine', 2, []]],
    ['pieces of a call before its beginning', [said(w.begin, backwards(w.call(0, 'a', '{"n":1}')), w.calls), ok], ['completed', 'fine', 2, ['1']]],
    ['two calls at one place', [said(w.begin, w.call(0, 'a', '{"n":1}'), w.call(0, 'b', '{"n":2}'), w.calls), ok], ['completed', 'fine', 2, []]],
    ['a NUL in the text', [said(w.begin, w.text('a\u0000b'), w.stop)], ['completed', 'a\u0000b', 1]],
    ['half of a character at the end of the text', [said(w.begin, w.text('fin').replace('fin', 'fin\\ud83d'), w.text('e'), w.stop)], ['completed', /./, 1]],
    ['bytes that are not UTF-8', [raw(Buffer.concat([Buffer.from(w.begin), Buffer.from(w.text('fi#ne').replace('#', '\u0001'), 'latin1').map(b => b === 1 ? 255 : b), Buffer.from(w.stop)])), ok], [undefined, undefined, undefined]],
    ['more calls than anybody makes', [said(w.begin, ...Array.from({ length: 1100 }, (_, i) => w.call(i, `c${i}`)), w.calls)], ['failed', /too many tool calls/, 1, []]],
    ['values of wrong types', [said(w.begin, ...w.odd, w.text('fine'), w.stop)], ['completed', 'fine', 1]],
    ['JSON that is nested without end', [said(w.begin, `data: ${'['.repeat(100000)}\n\n`), ok], ['completed', 'fine', 2]],
    ['a line without end', [said(w.begin, `data: ${'x'.repeat(3 << 20)}`), ok], ['completed', 'fine', 2]],
    ['a name of a tool that is a megabyte', [said(w.begin, w.call(0, 'a', '{"n":1}').replaceAll('effect', 'e'.repeat(1 << 20)), w.calls)], ['failed', /name is longer than 512 bytes/, 1, []]],
    ['an id that is a megabyte', [said(w.begin, w.call(0, 'i'.repeat(1 << 20), '{"n":1}'), w.calls), ok], [undefined, undefined, undefined]],
    ['arguments that are not JSON', [said(w.begin, w.call(0, 'a', '{n:1}'), w.calls), ok], ['completed', 'fine', 2, []]],
  ];
};

for (const [wire, w] of Object.entries(wires)) {
  test(`${wire}: ${rows(w).length} faults`, async t => {
    let replies, n;
    const s = await server(t, (request, response) => replies[Math.min(n++, replies.length - 1)](response));
    const p = talker(t, { 'harness.md': harness({ ...w.model(s.url), timeout_ms: 20000, retry: '{ max_attempts: 3, initial_backoff_ms: 2, max_backoff_ms: 5 }' }),
      '.harness/tools/effect.md': effect() });
    for (const [name, given, [outcome, words, requests, effects]] of rows(w)) {
      [replies, n] = [given, 0];
      const before = p.effects().length;
      const r = await p.say('go');
      const where = `${wire}: ${name}: ${r.stdout}${r.stderr}`;
      if (outcome) assert.equal(r.reply?.status, outcome, where);
      else assert.ok(['completed', 'failed'].includes(r.reply?.status), where);
      if (words instanceof RegExp && outcome === 'completed') assert.match(r.reply.response, words, where);
      else if (words instanceof RegExp) assert.match(r.reply.reason, words, where);
      else if (words !== undefined) assert.equal(r.reply.response, words, where);
      if (requests !== undefined) assert.equal(n, requests, where);
      if (effects) assert.deepEqual(p.effects().slice(before), effects, where);
      if (outcome === 'failed') assert.equal(r.stderr.trim().split('\n').filter(l => l.includes(r.reply.reason.slice(0, 40))).length <= 1, true, where);
    }
  });
}

test('a stream that never ends, and an answer that is too large, end in one message', async t => {
  for (const [wire, w] of Object.entries(wires)) {
    let reply;
    const s = await server(t, (request, response) => reply(response));
    const p = talker(t, { 'harness.md': harness({ ...w.model(s.url), timeout_ms: 400, retry: '{ max_attempts: 1 }' }) });
    reply = response => { response.writeHead(200, sse); response.write(w.begin); const timer = setInterval(() => response.write(': ping\n\n'), 10); response.on('close', () => clearInterval(timer)); };
    const silent = await p.say('go');
    assert.deepEqual([silent.reply?.status, /timed out after 0\.4 s/.test(silent.reply?.reason)], ['failed', true], `${wire}: ${silent.stdout}`);
    p.add({ 'harness.md': p.text('harness.md').replace('timeout_ms: 400', 'timeout_ms: 60000') });
    const megabyte = 'x'.repeat(1 << 20);
    reply = async response => { response.writeHead(200, sse); response.write(w.begin); for (let i = 0; i < 70 && !response.destroyed; i++) { response.write(w.text(megabyte)); await wait(1); } response.end(w.stop); };
    const large = await p.say('go');
    assert.equal(large.reply?.status, 'failed', wire);
    assert.match(large.reply.reason, /^the (answer|response) is (larger than|over) 67108864 bytes/, wire);
  }
});

test('the table has 80 rows or more', () => assert.ok(Object.values(wires).reduce((n, w) => n + rows(w).length, 0) >= 80));
