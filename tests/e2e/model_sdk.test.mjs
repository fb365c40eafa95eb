// The official clients of OpenAI and Anthropic read the same streams as harness: text, calls, usage and stop reasons are equal.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import Anthropic from '@anthropic-ai/sdk';
import { effect, harness, quick, server, talker } from './agents.mjs';

const sse = { 'content-type': 'text/event-stream' };
const event = (type, more = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const data = value => `data: ${JSON.stringify(value)}\n\n`;

// ---- Chat Completions ----

const chunk = (delta, finish_reason = null, more = {}) => data({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }], ...more });
const usage = (prompt, completion, more = {}) => data({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, ...more } });
const DONE = 'data: [DONE]\n\n';
const head = chunk({ role: 'assistant', content: '' });
const named = (index, id, name = 'effect', args = '') => chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }] });
const more = (index, args) => chunk({ tool_calls: [{ index, function: { arguments: args } }] });
const chat = {
  'one piece': [head, chunk({ content: 'yes' }), chunk({}, 'stop'), DONE],
  'many pieces': [head, ...'a longer answer, word by word'.split(/(?= )/).map(content => chunk({ content })), chunk({}, 'stop'), DONE],
  'other scripts': [head, chunk({ content: 'Grüße ' }), chunk({ content: '世界 🎉' }), chunk({ content: '\u0000\u001f\u007f' }), chunk({}, 'stop'), DONE],
  'line breaks and quotes': [head, chunk({ content: 'a\n\tb "c" \\d\r\n' }), chunk({}, 'stop'), DONE],
  'nothing': [head, chunk({}, 'stop'), DONE],
  'the length': [head, chunk({ content: 'half an' }), chunk({}, 'length'), DONE],
  'usage at the end': [head, chunk({ content: 'yes' }), chunk({}, 'stop'), usage(12, 3), DONE],
  'usage with details': [head, chunk({ content: 'yes' }), chunk({}, 'stop'), usage(120, 30, { prompt_tokens_details: { cached_tokens: 100 }, completion_tokens_details: { reasoning_tokens: 20 } }), DONE],
  'a call': [head, named(0, 'a'), more(0, '{"n":'), more(0, '1}'), chunk({}, 'tool_calls'), DONE],
  'a call in one piece': [head, named(0, 'a', 'effect', '{"n":1}'), chunk({}, 'tool_calls'), DONE],
  'text and a call': [head, chunk({ content: 'I will.' }), named(0, 'a', 'effect', '{"n":1}'), chunk({}, 'tool_calls'), DONE],
  'two calls': [head, named(0, 'a'), more(0, '{"n":1}'), named(1, 'b'), more(1, '{"n":2}'), chunk({}, 'tool_calls'), usage(5, 6), DONE],
  'two calls, interleaved': [head, named(0, 'a'), named(1, 'b'), more(0, '{"n":'), more(1, '{"n"'), more(0, '1}'), more(1, ':2}'), chunk({}, 'tool_calls'), DONE],
  'two calls in one piece': [head, chunk({ tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'effect', arguments: '{"n":1}' } }, { index: 1, id: 'b', type: 'function', function: { name: 'effect', arguments: '{"n":2}' } }] }), chunk({}, 'tool_calls'), DONE],
  'arguments with every kind of value': [head, named(0, 'a'), more(0, '{"n":1,"s":"é\\u00e9\\ud83c\\udf89","l":[1,2.5,null,true],'), more(0, '"o":{"x":{}}}'), chunk({}, 'tool_calls'), DONE],
  'an id of odd characters': [head, named(0, 'call_ü/:1', 'effect', '{"n":1}'), chunk({}, 'tool_calls'), DONE],
  'comments and blank lines': [': ping\n\n', head, ':\n\n', chunk({ content: 'yes' }), '\n', chunk({}, 'stop'), DONE],
};

// ---- Responses ----

const message = (text, id = 'm1') => ({ id, type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] });
const call = (id, args, name = 'effect') => ({ id: `fc_${id}`, type: 'function_call', status: 'completed', call_id: id, name, arguments: args });
const thought = (summary, id = 'rs_1') => ({ id, type: 'reasoning', summary: summary.map(text => ({ type: 'summary_text', text })), encrypted_content: 'gAAA' });
const response = (output, more = {}) => ({ id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'completed', error: null, incomplete_details: null, output, parallel_tool_calls: true, tools: [], ...more });
const tokens = (input, output, cached = 0, reasoning = 0) => ({ input_tokens: input, output_tokens: output, total_tokens: input + output, input_tokens_details: { cached_tokens: cached }, output_tokens_details: { reasoning_tokens: reasoning } });
let number = 0;
const numbered = (type, more) => event(type, { sequence_number: number++, ...more });
function items(output, size = 5) {
  const parts = [numbered('response.created', { response: response([], { status: 'in_progress' }) }), numbered('response.in_progress', { response: response([], { status: 'in_progress' }) })];
  output.forEach((item, output_index) => {
    const where = { output_index, item_id: item.id }, pieces = text => text.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? [];
    if (item.type === 'message') {
      parts.push(numbered('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', content: [] } }));
      const { text } = item.content[0];
      parts.push(numbered('response.content_part.added', { ...where, content_index: 0, part: { type: 'output_text', text: '', annotations: [] } }));
      for (const delta of pieces(text)) parts.push(numbered('response.output_text.delta', { ...where, content_index: 0, delta, logprobs: [] }));
      parts.push(numbered('response.output_text.done', { ...where, content_index: 0, text, logprobs: [] }), numbered('response.content_part.done', { ...where, content_index: 0, part: item.content[0] }));
    } else if (item.type === 'function_call') {
      parts.push(numbered('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', arguments: '' } }));
      for (const delta of pieces(item.arguments)) parts.push(numbered('response.function_call_arguments.delta', { ...where, delta }));
      parts.push(numbered('response.function_call_arguments.done', { ...where, arguments: item.arguments, name: item.name }));
    } else {
      parts.push(numbered('response.output_item.added', { output_index, item: { ...item, summary: [] } }));
      item.summary.forEach(({ text }, summary_index) => {
        parts.push(numbered('response.reasoning_summary_part.added', { ...where, summary_index, part: { type: 'summary_text', text: '' } }));
        for (const delta of pieces(text)) parts.push(numbered('response.reasoning_summary_text.delta', { ...where, summary_index, delta }));
        parts.push(numbered('response.reasoning_summary_text.done', { ...where, summary_index, text }), numbered('response.reasoning_summary_part.done', { ...where, summary_index, part: { type: 'summary_text', text } }));
      });
    }
    parts.push(numbered('response.output_item.done', { output_index, item }));
  });
  return parts;
}
const whole = (output, more = {}, size) => [...items(output, size), numbered(`response.${more.status ?? 'completed'}`, { response: response(output, more) })];
const responses = {
  'text': whole([message('yes')]),
  'long text': whole([message('many words '.repeat(200))]),
  'other scripts': whole([message('Grüße 世界 🎉')], {}, 1),
  'line breaks and quotes': whole([message('a\n\tb "c" \\d')], {}, 2),
  'two messages': whole([message('one '), message('two', 'm2')]),
  'usage': whole([message('yes')], { usage: tokens(12, 3) }),
  'usage with details': whole([message('yes')], { usage: tokens(120, 30, 100, 20) }),
  'a call': whole([call('a', '{"n":1}')]),
  'a call with one byte at a time': whole([call('a', '{"n":1}')], {}, 1),
  'two calls': whole([call('a', '{"n":1}'), call('b', '{"n":2}')], { usage: tokens(1, 2) }),
  'reasoning, then text': whole([thought(['Let me see.']), message('yes')]),
  'reasoning, then a call': whole([thought(['One.', 'Two.']), call('a', '{"n":1}')], { usage: tokens(9, 8, 0, 7) }),
  'reasoning without a summary': whole([thought([]), message('yes')]),
  'text between calls': whole([call('a', '{"n":1}'), message('and'), call('b', '{"n":2}')]),
  'arguments with every kind of value': whole([call('a', '{"n":1,"s":"é\\u00e9","l":[1,2.5,null,true],"o":{"x":{}}}')]),
  'the length': whole([message('half an')], { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }),
  'unknown events': [...items([message('yes')]).flatMap(p => [p, numbered('response.future_thing.delta', { delta: 'x' })]).filter((p, i) => i % 2 === 0), numbered('response.completed', { response: response([message('yes')]) })],
};

// ---- Messages ----

const begin = (u = { input_tokens: 5, output_tokens: 1 }) => event('message_start', { message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, stop_sequence: null, usage: u } });
const end = (stop_reason, u = { output_tokens: 7 }, stop_sequence = null) => event('message_delta', { delta: { stop_reason, stop_sequence }, usage: u }) + event('message_stop');
const block = (index, content_block, deltas) => event('content_block_start', { index, content_block }) + deltas.map(delta => event('content_block_delta', { index, delta })).join('') + event('content_block_stop', { index });
const words = (index, ...texts) => block(index, { type: 'text', text: '' }, texts.map(text => ({ type: 'text_delta', text })));
const use = (index, id, ...pieces) => block(index, { type: 'tool_use', id, name: 'effect', input: {} }, pieces.map(partial_json => ({ type: 'input_json_delta', partial_json })));
const thinking = (index, text) => block(index, { type: 'thinking', thinking: '', signature: '' }, [{ type: 'thinking_delta', thinking: text }, { type: 'signature_delta', signature: 'c2ln' }]);
const messages = {
  'text': [begin(), words(0, 'yes'), end('end_turn')],
  'many pieces': [begin(), words(0, 'a ', 'longer ', 'answer'), end('end_turn')],
  'other scripts': [begin(), words(0, 'Grüße ', '世界 ', '🎉'), end('end_turn')],
  'pings': [begin(), event('ping'), words(0, 'yes'), event('ping'), end('end_turn')],
  'two blocks of text': [begin(), words(0, 'one '), words(1, 'two'), end('end_turn')],
  'a stop sequence': [begin(), words(0, 'yes'), end('stop_sequence', { output_tokens: 2 }, 'STOP')],
  'the length': [begin(), words(0, 'half an'), end('max_tokens')],
  'a call': [begin(), use(0, 'toolu_1', '{"n":', '1}'), end('tool_use')],
  'a call with an empty piece first': [begin(), use(0, 'toolu_1', '', '{"n": 1}'), end('tool_use')],
  'text and a call': [begin(), words(0, 'I will.'), use(1, 'toolu_1', '{"n":1}'), end('tool_use')],
  'two calls': [begin(), use(0, 'toolu_1', '{"n":1}'), use(1, 'toolu_2', '{"n":2}'), end('tool_use')],
  'thinking, then text': [begin(), thinking(0, 'Let me see.'), words(1, 'yes'), end('end_turn')],
  'thinking, then a call': [begin(), thinking(0, 'Let me see.'), use(1, 'toolu_1', '{"n":1}'), end('tool_use')],
  'thinking between calls': [begin(), thinking(0, 'One.'), use(1, 'toolu_1', '{"n":1}'), thinking(2, 'Two.'), use(3, 'toolu_2', '{"n":2}'), end('tool_use')],
  'redacted thinking': [begin(), block(0, { type: 'redacted_thinking', data: 'Emw=' }, []), words(1, 'yes'), end('end_turn')],
  'cached input': [begin({ input_tokens: 5, output_tokens: 1, cache_read_input_tokens: 80, cache_creation_input_tokens: 15 }), words(0, 'yes'), end('end_turn')],
};

// ---- the result of a stream: { text, calls, finish, input, output, cached, reasoning } ----

const parsed = text => JSON.parse(text || '{}');
const finishes = { end_turn: 'stop', stop_sequence: 'stop', tool_use: 'tool_calls', max_tokens: 'length' };

const wires = {
  chat: {
    rows: chat, model: url => ({ provider: 'openai', name: 'gpt-test', wire: 'chat', base_url: `${url}/v1`, retry: quick }),
    sdk: async url => {
      const client = new OpenAI({ apiKey: 'x', baseURL: `${url}/v1`, maxRetries: 0 });
      const { choices: [{ message: m, finish_reason }], usage: u } = await client.chat.completions.stream({ model: 'm', messages: [{ role: 'user', content: 'go' }], stream_options: { include_usage: true } }).finalChatCompletion();
      return { text: m.content ?? '', calls: (m.tool_calls ?? []).map(c => [c.id, c.function.name, parsed(c.function.arguments)]), finish: finish_reason,
        input: u?.prompt_tokens ?? 0, output: u?.completion_tokens ?? 0, cached: u?.prompt_tokens_details?.cached_tokens ?? 0, reasoning: u?.completion_tokens_details?.reasoning_tokens ?? 0, thought: '' };
    },
  },
  responses: {
    rows: responses, model: url => ({ provider: 'openai', name: 'gpt-5-test', wire: 'responses', base_url: `${url}/v1`, retry: quick }),
    sdk: async url => {
      const client = new OpenAI({ apiKey: 'x', baseURL: `${url}/v1`, maxRetries: 0 });
      const r = await client.responses.stream({ model: 'm', input: 'go' }).finalResponse();
      const calls = r.output.filter(i => i.type === 'function_call').map(c => [c.call_id, c.name, parsed(c.arguments)]);
      return { text: r.output_text, calls, finish: r.status === 'incomplete' ? 'length' : calls.length ? 'tool_calls' : 'stop',
        input: r.usage?.input_tokens ?? 0, output: r.usage?.output_tokens ?? 0, cached: r.usage?.input_tokens_details?.cached_tokens ?? 0, reasoning: r.usage?.output_tokens_details?.reasoning_tokens ?? 0,
        thought: r.output.filter(i => i.type === 'reasoning').flatMap(i => i.summary.map(s => s.text)).join('') };
    },
  },
  anthropic: {
    rows: messages, model: url => ({ provider: 'anthropic', name: 'claude-test', base_url: url, effort: 'low', retry: quick }),
    sdk: async url => {
      const client = new Anthropic({ apiKey: 'x', baseURL: url, maxRetries: 0 });
      const m = await client.messages.stream({ model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'go' }] }).finalMessage();
      const of = type => m.content.filter(b => b.type === type);
      const u = m.usage, cached = u.cache_read_input_tokens ?? 0;
      return { text: of('text').map(b => b.text).join(''), calls: of('tool_use').map(b => [b.id, b.name, b.input]), finish: finishes[m.stop_reason],
        input: u.input_tokens + cached + (u.cache_creation_input_tokens ?? 0), output: u.output_tokens, cached, reasoning: 0, thought: of('thinking').map(b => b.thinking).join('') };
    },
  },
};

const last = { chat: [head, chunk({ content: 'done' }), chunk({}, 'stop'), DONE], responses: whole([message('done')]), anthropic: [begin(), words(0, 'done'), end('end_turn')] };

async function ours(p) {
  await p.say('go');
  const [e] = p.events('completion.completed');
  assert.ok(e, JSON.stringify(p.events('completion.failed')));
  const { text, tool_calls, finish_reason, usage: u, reasoning } = e.data;
  return { text, calls: tool_calls.map(c => [c.id, c.name, parsed(c.arguments)]), finish: finish_reason, input: u.input, output: u.output, cached: u.cached, reasoning: u.reasoning, thought: reasoning ?? '' };
}

for (const [wire, { rows, model, sdk }] of Object.entries(wires)) {
  test(`${wire}: ${Object.keys(rows).length} streams are read like the official client does`, async t => {
    let parts, asked;
    const s = await server(t, (request, response) => {
      response.writeHead(200, sse);
      response.end((asked++ === 0 ? parts : last[wire]).join(''));
    });
    const p = talker(t, { 'harness.md': harness(model(s.url)), '.harness/tools/effect.md': effect() });
    for (const [name, stream] of Object.entries(rows)) {
      parts = stream;
      asked = 0;
      const theirs = await sdk(s.url);
      asked = 0;
      assert.deepEqual(await ours(p), theirs, `${wire}: ${name}`);
    }
  });
}
