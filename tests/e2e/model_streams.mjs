// Streams of the wires as the vendors document them, and a project whose model is a server that sends them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { bin } from './harness.mjs';
import { effect, harness, quick, server, talker } from './agents.mjs';

export const sse = { 'content-type': 'text/event-stream' };
export const line = value => `data: ${JSON.stringify(value)}\n\n`;
export const event = (type, more = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
export const said = (...parts) => response => { response.writeHead(200, sse); response.end(parts.join('')); };

// ---- streams of the three wires: `think` and then a call of `effect`, or text ----

export const reasoning = { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Let me see.' }], encrypted_content: 'gAAAA+/=é"\\' };
export const message = (text, id = 'msg_1') => ({ id, type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] });
export const call = (id, n) => ({ id: `fc_${id}`, type: 'function_call', status: 'completed', call_id: id, name: 'effect', arguments: `{"n":${n}}` });
export function responses(...items) {
  const parts = [event('response.created', { response: { status: 'in_progress', output: [] } })];
  items.forEach((item, output_index) => {
    parts.push(event('response.output_item.added', { output_index, item: { ...item, content: [], summary: [], arguments: '' } }));
    if (item.type === 'message') parts.push(event('response.output_text.delta', { output_index, delta: item.content[0].text }));
    if (item.type === 'reasoning') parts.push(event('response.reasoning_summary_text.delta', { output_index, delta: item.summary[0].text }));
    if (item.type === 'function_call') for (const delta of item.arguments.match(/.{1,3}/g)) parts.push(event('response.function_call_arguments.delta', { output_index, delta }));
    parts.push(event('response.output_item.done', { output_index, item }));
  });
  parts.push(event('response.completed', { response: { status: 'completed', output: items, usage: { input_tokens: 50, output_tokens: 20, input_tokens_details: { cached_tokens: 40 }, output_tokens_details: { reasoning_tokens: 12 } } } }));
  return said(...parts);
}

export const chunk = (delta, more = {}) => line({ choices: [{ index: 0, delta, finish_reason: null, ...more }] });
export const chat = {
  text: text => said(chunk({ content: text }), chunk({}, { finish_reason: 'stop' }), 'data: [DONE]\n\n'),
  call: (id, n, extra, more = {}) => said(chunk(more), chunk({ tool_calls: [{ index: 0, id, type: 'function', function: { name: 'effect', arguments: '' }, ...extra }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: `{"n":${n}}` } }] }), chunk({}, { finish_reason: 'tool_calls' }), 'data: [DONE]\n\n'),
};

export const begin = event('message_start', { message: { usage: { input_tokens: 10, cache_read_input_tokens: 30, cache_creation_input_tokens: 5 } } });
export const close = reason => event('message_delta', { delta: { stop_reason: reason }, usage: { output_tokens: 9 } }) + event('message_stop');
export const block = (index, start, ...deltas) => event('content_block_start', { index, content_block: start })
  + deltas.map(delta => event('content_block_delta', { index, delta })).join('') + event('content_block_stop', { index });
export const thought = (index, text, signature) => block(index, { type: 'thinking', thinking: '', signature: '' },
  { type: 'thinking_delta', thinking: text }, { type: 'signature_delta', signature });
export const use = (index, id, n) => block(index, { type: 'tool_use', id, name: 'effect', input: {} }, { type: 'input_json_delta', partial_json: `{"n":` }, { type: 'input_json_delta', partial_json: `${n}}` });
export const words = (index, text) => block(index, { type: 'text', text: '' }, { type: 'text_delta', text });

export const models = {
  responses: url => ({ provider: 'openai', name: 'gpt-5-test', wire: 'responses', base_url: `${url}/v1`, retry: quick }),
  chat: url => ({ provider: 'openai', name: 'gpt-test', base_url: `${url}/v1`, retry: quick }),
  gemini: url => ({ provider: 'gemini', name: 'gemini-3-pro', base_url: `${url}/v1`, retry: quick }),
  anthropic: url => ({ provider: 'anthropic', name: 'claude-sonnet-4-5', base_url: url, effort: 'medium', retry: quick }),
};

export async function open(t, wire, replies, { files = {}, head = '', model = {}, env } = {}) {
  const s = await server(t, (request, response, body, n) => replies[Math.min(n, replies.length - 1)](response, body));
  const p = talker(t, { 'harness.md': harness({ ...models[wire](s.url), ...model }, head), '.harness/tools/effect.md': effect(), ...files }, { env });
  return { ...p, url: s.url, requests: s.requests, bodies: () => s.requests.map(r => r.body) };
}
// A conversation whose messages come from a pipe.
export const converse = (p, input) => new Promise((resolve, reject) => {
  const child = spawn(bin, ['-C', p.dir, 'run'], { env: { ...process.env, ...p.env }, stdio: ['pipe', 'pipe', 'pipe'] });
  let out = '';
  child.stdout.on('data', d => { out += d; });
  child.stderr.on('data', d => { out += d; });
  child.on('error', reject);
  child.on('close', () => resolve(out));
  child.stdin.end(input);
});
export const completed = (r, response) => assert.deepEqual([r.reply?.status, r.reply?.response], ['completed', response], `${r.stdout}${r.stderr}`);

// Runs until the second request arrives, and kills harness then.
export async function killed(t, wire = 'responses', replies = [responses(reasoning, call('call_1', 1)), responses(message('done'))], options = {}, flags = []) {
  let pid = 0;
  const p = await open(t, wire, [replies[0], () => process.kill(pid, 'SIGKILL'), ...replies.slice(1)], options);
  const child = spawn(bin, ['-C', p.dir, 'run', '-p', 'go', '--events', p.log, ...flags.map(f => f.replace('DIR', p.dir))], { env: { ...process.env, ...p.env }, stdio: 'ignore' });
  pid = child.pid;
  await new Promise(done => child.on('close', done));
  return p;
}
