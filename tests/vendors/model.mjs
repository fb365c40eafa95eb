// A scripted model server for the agents of other vendors, in the wire format that each of them uses. A user message with RUN[command] gets one call
// of the agent's shell tool with that command, WRITE[path] one of its tool for writing files; the next request gets the answer "done".
import { createServer } from 'node:http';

const shells = ['Bash', 'bash', 'exec_command', 'shell_command', 'shell', 'run_shell_command', 'Shell', 'run_in_terminal'];
const writers = ['Write', 'write', 'write_file', 'create', 'WriteFile', 'apply_patch'];

// The call that the prompt asks for, in the terms of the tools on offer.
const wanted = (text, tools) => {
  const run = /RUN\[([^\]]*)\]/.exec(text), write = /WRITE\[([^\]]*)\]/.exec(text);
  const name = run ? shells.find(n => tools.includes(n)) : write ? writers.find(n => tools.includes(n)) : null;
  if (!name) return null;
  if (run) return { name, args: name === 'shell' ? { command: ['bash', '-lc', run[1]] } : name === 'exec_command' ? { cmd: run[1] } : { command: run[1], description: 'test' } };
  const patch = `*** Begin Patch\n*** Add File: ${write[1]}\n+hello\n*** End Patch`;
  const byName = { apply_patch: { input: patch, patchText: patch }, create: { path: write[1], file_text: 'hello\n' }, write: { filePath: write[1], content: 'hello\n' } };
  return { name, args: byName[name] ?? { file_path: write[1], path: write[1], content: 'hello\n' } };
};

const sse = (res, events) => {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [type, data] of events) res.write(`${type ? `event: ${type}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  res.end();
};
const json = (res, value) => { res.writeHead(200, { 'content-type': 'application/json' }); res.end(JSON.stringify(value)); };

const anthropic = (body, res) => {
  const blocks = body.messages.flatMap(m => (typeof m.content === 'string' ? [{ type: 'text', text: m.content, role: m.role }] : m.content.map(c => ({ ...c, role: m.role }))));
  const done = blocks.some(b => b.type === 'tool_result'), text = blocks.filter(b => b.type === 'text' && b.role === 'user').map(b => b.text).join('\n');
  const call = done ? null : wanted(text, (body.tools ?? []).map(t => t.name));
  const content = call ? { type: 'tool_use', id: 'toolu_01', name: call.name, input: call.args } : { type: 'text', text: 'done' };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: body.model, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } };
  if (!body.stream) return json(res, { ...message, content: [content], stop_reason: call ? 'tool_use' : 'end_turn' });
  sse(res, [
    ['message_start', { type: 'message_start', message }],
    ['content_block_start', { type: 'content_block_start', index: 0, content_block: call ? { ...content, input: {} } : { type: 'text', text: '' } }],
    ['content_block_delta', { type: 'content_block_delta', index: 0, delta: call ? { type: 'input_json_delta', partial_json: JSON.stringify(call.args) } : { type: 'text_delta', text: 'done' } }],
    ['content_block_stop', { type: 'content_block_stop', index: 0 }],
    ['message_delta', { type: 'message_delta', delta: { stop_reason: call ? 'tool_use' : 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } }],
    ['message_stop', { type: 'message_stop' }],
  ]);
};

const responses = (body, res) => {
  const items = Array.isArray(body.input) ? body.input : [], done = items.some(i => /_call_output$/.test(i.type ?? ''));
  const text = items.filter(i => i.role === 'user').map(i => JSON.stringify(i.content)).join('\n');
  const call = done ? null : wanted(text, (body.tools ?? []).map(t => t.name));
  const item = call ? { id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'call_1', name: call.name, arguments: JSON.stringify(call.args) }
    : { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content: [{ type: 'output_text', text: 'done', annotations: [] }] };
  const whole = { id: 'resp_1', object: 'response', created_at: 0, status: 'completed', model: body.model, output: [item],
    usage: { input_tokens: 1, input_tokens_details: { cached_tokens: 0 }, output_tokens: 1, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 2 } };
  const events = [{ type: 'response.created', response: { ...whole, status: 'in_progress', output: [] } }, { type: 'response.output_item.added', output_index: 0, item },
    ...(call ? [] : [{ type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'done' }]),
    { type: 'response.output_item.done', output_index: 0, item }, { type: 'response.completed', response: whole }];
  sse(res, events.map(e => [e.type, e]));
};

const chat = (body, res) => {
  const done = body.messages.some(m => m.role === 'tool'), text = body.messages.filter(m => m.role === 'user').map(m => JSON.stringify(m.content)).join('\n');
  const call = done ? null : wanted(text, (body.tools ?? []).map(t => t.function?.name));
  const calls = call && [{ index: 0, id: 'call_1', type: 'function', function: { name: call.name, arguments: JSON.stringify(call.args) } }];
  const message = call ? { role: 'assistant', content: null, tool_calls: calls } : { role: 'assistant', content: 'done' }, finish_reason = call ? 'tool_calls' : 'stop';
  const head = { id: 'c1', created: 0, model: body.model }, usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  if (!body.stream) return json(res, { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage });
  const chunk = (delta, finish) => [null, { ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] }];
  sse(res, [chunk(message, null), chunk({}, finish_reason), [null, { ...head, object: 'chat.completion.chunk', choices: [], usage }], [null, '[DONE]']]);
};

const gemini = (body, res, streaming) => {
  const parts = body.contents.flatMap(c => c.parts.map(p => ({ ...p, role: c.role }))), done = parts.some(p => p.functionResponse);
  const text = parts.filter(p => p.text && p.role === 'user').map(p => p.text).join('\n');
  const call = done ? null : wanted(text, (body.tools ?? []).flatMap(t => (t.functionDeclarations ?? []).map(f => f.name)));
  const part = call ? { functionCall: { name: call.name, args: call.args } } : { text: 'done' };
  const whole = { candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 } };
  if (streaming) sse(res, [[null, whole]]);
  else json(res, whole);
};

export const startModel = async () => {
  const seen = [];
  const server = createServer((req, res) => {
    const chunks = [];
    req.on('data', c => chunks.push(c));
    req.on('end', () => {
      const url = req.url.split('?')[0], text = Buffer.concat(chunks).toString();
      seen.push({ method: req.method, url: req.url, text });
      if (req.method !== 'POST') return json(res, { object: 'list', data: [{ id: 'test-model', object: 'model' }], models: [] });
      let body;
      try { body = JSON.parse(text); } catch { res.writeHead(400); return res.end(); }
      if (url.endsWith('/count_tokens')) return json(res, { input_tokens: 1 });
      if (url.endsWith('/messages')) return anthropic(body, res);
      if (url.endsWith('/responses')) return responses(body, res);
      if (url.endsWith('/chat/completions')) return chat(body, res);
      if (/:(streamG|g)enerateContent$/.test(url)) return gemini(body, res, url.includes(':stream'));
      if (url.endsWith(':countTokens')) return json(res, { totalTokens: 1 });
      res.writeHead(404);
      res.end('{}');
    });
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${server.address().port}`, seen, stop: () => { server.closeAllConnections(); server.close(); } };
};
