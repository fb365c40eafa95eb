// What a provider sends besides text and calls (reasoning, signatures) is returned to it unchanged, and sent to no other.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { effect, harness, scripted, server, talker } from './agents.mjs';
import { hook } from './calls.mjs';
import { bin } from './harness.mjs';
import { begin, block, call, chat, close, completed, converse, event, killed, message, models, open, reasoning, responses, said, thought, use, words } from './model_streams.mjs';

// ---- Responses ----

test('responses: the request is stateless and asks for encrypted reasoning', async t => {
  const p = await open(t, 'responses', [responses(message('yes'))], { model: { effort: 'low', max_tokens: 700 } });
  completed(await p.say('go'), 'yes');
  const [{ url, body, headers }] = p.requests;
  assert.equal(url, '/v1/responses');
  assert.equal(headers.authorization, 'Bearer sk-test-openai-000');
  const { tools, input, instructions, prompt_cache_key, ...rest } = body;
  assert.deepEqual(rest, { model: 'gpt-5-test', parallel_tool_calls: true, include: ['reasoning.encrypted_content'], reasoning: { summary: 'auto', effort: 'low' },
    max_output_tokens: 700, store: false, stream: true });
  assert.deepEqual(input, [{ type: 'message', role: 'user', content: 'go' }]);
  assert.equal(instructions, 'Be brief.');
  assert.equal(prompt_cache_key, p.events()[0].run);
  assert.deepEqual(tools.map(({ parameters, description, ...more }) => [parameters.type, typeof description, more]), [['object', 'string', { type: 'function', name: 'effect', strict: false }]]);
  assert.equal(p.events('completion.started')[0].data.wire, 'responses');
});

test('responses: reasoning is returned verbatim, before its call; usage is counted separately', async t => {
  const p = await open(t, 'responses', [responses(reasoning, call('call_1', 1)), responses(message('done'))]);
  const r = await p.say('go');
  completed(r, 'done');
  assert.deepEqual(p.effects(), ['1']);
  assert.deepEqual(p.bodies()[1].input, [{ type: 'message', role: 'user', content: 'go' }, reasoning, call('call_1', 1),
    { type: 'function_call_output', call_id: 'call_1', output: '{"did":1}' }]);
  const [first] = p.events('completion.completed').map(e => e.data);
  assert.equal(first.reasoning, 'Let me see.');
  assert.deepEqual([first.usage.input, first.usage.cached, first.usage.output, first.usage.reasoning], [50, 40, 20, 12]);
  assert.doesNotMatch(JSON.stringify(p.events()), /gAAAA|rs_1/);
  assert.match(first.items, /^[0-9a-f]{64}$/);
});

test('responses: models that do not reason are not asked to', async t => {
  const p = await open(t, 'responses', [responses(message('yes'))], { model: { name: 'gpt-4.1' } });
  completed(await p.say('go'), 'yes');
  assert.equal(p.bodies()[0].include, undefined);
  assert.equal(p.bodies()[0].reasoning, undefined);
});

test('responses: a reused id is renamed here and keeps its name at the provider', async t => {
  const again = { ...reasoning, id: 'rs_2' };
  const p = await open(t, 'responses', [responses(reasoning, call('same', 1)), responses(again, call('same', 2)), responses(message('done'))]);
  completed(await p.say('go'), 'done');
  assert.deepEqual(p.effects(), ['1', '2']);
  assert.deepEqual(p.bodies()[2].input.map(i => [i.type, i.call_id ?? i.id]), [['message', undefined], ['reasoning', 'rs_1'], ['function_call', 'same'],
    ['function_call_output', 'same'], ['reasoning', 'rs_2'], ['function_call', 'same'], ['function_call_output', 'same']]);
});

test('responses: calls with one id get two, and the items, which have one, stay here', async t => {
  for (const ids of [['same', 'same'], ['', 'b'], ['i'.repeat(600), 'b']]) {
    const p = await open(t, 'responses', [responses(reasoning, call(ids[0], 1), call(ids[1], 2)), responses(message('done'))]);
    completed(await p.say('go'), 'done');
    assert.deepEqual(p.effects(), ['1', '2']);
    const { input } = p.bodies()[1], made = input.filter(i => i.type === 'function_call').map(i => i.call_id);
    assert.equal(new Set(made).size, 2);
    assert.deepEqual(input.filter(i => i.type === 'function_call_output').map(i => i.call_id), made);
    assert.deepEqual(input.map(i => i.type), ['message', 'function_call', 'function_call', 'function_call_output', 'function_call_output']);
  }
});

test('responses: items only at the end, no deltas, refusals, unknown events', async t => {
  const end = output => event('response.completed', { response: { status: 'completed', output } });
  completed(await (await open(t, 'responses', [said(end([message('at once')]))])).say('go'), 'at once');
  completed(await (await open(t, 'responses', [said(event('response.output_item.done', { output_index: 0, item: message('an item') }), end([message('an item')]))])).say('go'), 'an item');
  completed(await (await open(t, 'responses', [said(event('response.new_thing', { x: 1 }), event('response.refusal.delta', { output_index: 0, delta: 'I will not.' }), end([]))])).say('go'), 'I will not.');
  const whole = response => { response.writeHead(200, { 'content-type': 'application/json' }); response.end(JSON.stringify({ object: 'response', status: 'completed', output: [reasoning, message('whole')] })); };
  completed(await (await open(t, 'responses', [whole])).say('go'), 'whole');
});

test('responses: failures and cut answers', async t => {
  const failed = (code, words) => said(event('response.failed', { response: { status: 'failed', error: { code, message: words } } }));
  const p = await open(t, 'responses', [failed('server_error', 'try again'), responses(message('now'))]);
  completed(await p.say('go'), 'now');
  const bad = await open(t, 'responses', [failed('invalid_prompt', 'not like this')]);
  const r = await bad.say('go');
  assert.equal(r.reply.status, 'failed');
  assert.match(r.reply.reason, /not like this/);
  const cut = await open(t, 'responses', [said(event('response.output_text.delta', { output_index: 0, delta: 'half' }),
    event('response.incomplete', { response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } } }))]);
  assert.equal((await cut.say('go')).reply.status, 'limited');
  const gone = await open(t, 'responses', [said(event('response.output_text.delta', { output_index: 0, delta: 'half' }))]);
  assert.match((await gone.say('go')).reply.reason, /middle of the answer/);
});

test('responses: a call whose arguments were cut off never runs', async t => {
  const half = said(event('response.output_item.added', { output_index: 0, item: { type: 'function_call', call_id: 'c', name: 'effect', arguments: '' } }),
    event('response.function_call_arguments.delta', { output_index: 0, delta: '{"n":1' }),
    event('response.incomplete', { response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [] } }));
  const p = await open(t, 'responses', [half, responses(message('done'))]);
  await p.say('go');
  assert.deepEqual(p.effects(), []);
});

// ---- what drops the items of a message ----

test('a completion.post hook that changes the text drops the items', async t => {
  const files = { '.harness/hooks/shout.md': hook('completion.post', 'payload["text"] = payload["text"].upper()\nreturn modify(payload)') };
  const p = await open(t, 'responses', [responses(reasoning, message('thinking aloud'), call('call_1', 1)), responses(message('done'))], { files });
  completed(await p.say('go'), 'DONE');
  assert.deepEqual(p.bodies()[1].input.slice(1), [{ type: 'message', role: 'assistant', content: 'THINKING ALOUD' },
    { type: 'function_call', call_id: 'call_1', name: 'effect', arguments: '{"n":1}' }, { type: 'function_call_output', call_id: 'call_1', output: '{"did":1}' }]);
});

test('a secret in the text drops the items, and items with a secret are not stored', async t => {
  const env = { MY_SECRET: 'hunter2hunter2' };
  const p = await open(t, 'responses', [responses(reasoning, message('it is hunter2hunter2'), call('call_1', 1)), responses(message('done'))],
    { env, head: 'secrets: { PASS: { env: MY_SECRET } }' });
  completed(await p.say('go'), 'done');
  const sent = JSON.stringify(p.bodies()[1].input);
  assert.doesNotMatch(sent, /hunter2|gAAAA/);
});

async function resumed(p) {
  const { reply, stdout, stderr } = await p.resume(p.events()[0].run);
  assert.equal(reply?.response, 'done', stdout + stderr);
  assert.deepEqual(p.effects(), ['1']);
  return p.bodies();
}

test('a run that was killed between two replies sends the same bytes', async t => {
  const [, before, after] = await resumed(await killed(t));
  assert.deepEqual(after, before);
  assert.deepEqual(after.input[1], reasoning);
});

test('another model does not get them; another version of the same model does', async t => {
  for (const [name, kept] of [['gpt-5-other', false], ['gpt-5-test-2026-01-31', true]]) {
    const p = await killed(t);
    await p.settle();
    p.add({ 'harness.md': p.text('harness.md').replace('gpt-5-test', name) });
    const [, , { model, input }] = await resumed(p);
    assert.equal(model, name);
    assert.deepEqual(input.map(i => i.type), kept ? ['message', 'reasoning', 'function_call', 'function_call_output'] : ['message', 'function_call', 'function_call_output'], name);
  }
});

// ---- Chat Completions ----

const signature = { extra_content: { google: { thought_signature: 'c2lnbg==' } } };

test('chat: unknown members of a call and reasoning_content go back', async t => {
  const p = await open(t, 'chat', [chat.call('call_1', 1, signature, { reasoning_content: 'Let me see.' }), chat.text('done')]);
  completed(await p.say('go'), 'done');
  assert.deepEqual(p.bodies()[1].messages[2], { role: 'assistant', content: null, reasoning_content: 'Let me see.',
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'effect', arguments: '{"n":1}' }, ...signature }] });
  assert.equal(p.events('completion.completed')[0].data.reasoning, 'Let me see.');
});

test('chat: nothing is added for servers that send nothing of their own', async t => {
  const p = await open(t, 'chat', [chat.call('call_1', 1), chat.text('done')]);
  completed(await p.say('go'), 'done');
  assert.deepEqual(p.bodies()[1].messages[2], { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'effect', arguments: '{"n":1}' } }] });
  assert.equal(p.bodies()[0].reasoning_effort, undefined);
  assert.equal(p.events('completion.completed')[0].data.items, undefined);
});

test('chat: effort, and the 400 that names both ways out', async t => {
  const refuse = response => { response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use /v1/responses instead." } })); };
  const p = await open(t, 'chat', [refuse], { model: { effort: 'high' } });
  const r = await p.say('go');
  assert.equal(p.bodies()[0].reasoning_effort, 'high');
  assert.match(r.reply.reason, /wire: responses/);
  assert.match(r.reply.reason, /effort: none/);
  assert.equal(p.requests.length, 1);
});

test('gemini: a call that another model made gets the documented stand-in', async t => {
  const changed = { '.harness/hooks/shout.md': hook('completion.post', 'payload["text"] = "changed"\nreturn modify(payload)') };
  const p = await open(t, 'gemini', [chat.call('call_1', 1, signature), chat.text('done')], { files: changed });
  completed(await p.say('go'), 'changed');
  assert.deepEqual(p.bodies()[1].messages[2].tool_calls[0].extra_content, { google: { thought_signature: 'skip_thought_signature_validator' } });
  const kept = await open(t, 'gemini', [chat.call('call_1', 1, signature), chat.text('done')]);
  completed(await kept.say('go'), 'done');
  assert.deepEqual(kept.bodies()[1].messages[2].tool_calls[0].extra_content, signature.extra_content);
});

// ---- Anthropic ----

test('anthropic: thinking comes back first, with its signature, in order', async t => {
  const redacted = block(1, { type: 'redacted_thinking', data: 'EmwKAh==' });
  const p = await open(t, 'anthropic', [said(begin, thought(0, 'Let me see.', 'sig=='), redacted, words(2, 'I will.'), use(3, 'toolu_1', 1), close('tool_use')), said(begin, words(0, 'done'), close('end_turn'))]);
  completed(await p.say('go'), 'done');
  const [first, second] = p.bodies();
  assert.deepEqual(first.thinking, { type: 'enabled', budget_tokens: 8192 });
  assert.ok(first.max_tokens > 8192);
  assert.deepEqual(second.messages[1], { role: 'assistant', content: [{ type: 'thinking', thinking: 'Let me see.', signature: 'sig==' }, { type: 'redacted_thinking', data: 'EmwKAh==' },
    { type: 'text', text: 'I will.' }, { type: 'tool_use', id: 'toolu_1', name: 'effect', input: { n: 1 } }] });
  const { usage, reasoning: shown } = p.events('completion.completed')[0].data;
  assert.deepEqual([usage.input, usage.cached, usage.written, usage.output, shown], [45, 30, 5, 9, 'Let me see.']);
});

test('anthropic: at most four cache marks: the last tool, the prompt, the last two messages of the user', async t => {
  const p = await open(t, 'anthropic', [said(begin, use(0, 'a', 1), close('tool_use')), said(begin, use(0, 'b', 2), close('tool_use')), said(begin, words(0, 'done'), close('end_turn'))], { model: { effort: 'none' } });
  completed(await p.say('go'), 'done');
  const marks = body => [body.tools, body.system, ...body.messages.map(m => m.content)].map(list => list.map(b => !!b.cache_control));
  assert.deepEqual(marks(p.bodies()[2]), [[true], [true], [false], [false], [true], [false], [true]]);
  assert.deepEqual(marks(p.bodies()[0]), [[true], [true], [true]]);
  assert.equal(p.bodies()[0].thinking, undefined);
});

test('anthropic: later models get an effort, earlier ones a budget; a sampling setting does not go with thinking', async t => {
  for (const [name, model, expected] of [
    ['claude-opus-4-6', { effort: 'high' }, { type: 'adaptive', display: 'summarized' }], ['claude-sonnet-5', { effort: 'minimal' }, { type: 'adaptive', display: 'summarized' }],
    ['claude-opus-4-20250514', { effort: 'low' }, { type: 'enabled', budget_tokens: 2048 }], ['claude-3-7-sonnet-latest', { effort: 'low' }, { type: 'enabled', budget_tokens: 2048 }],
    ['claude-haiku-4-5', { effort: 'none' }, undefined], ['claude-opus-5', { thinking_budget: 4000 }, { type: 'enabled', budget_tokens: 4000 }],
  ]) {
    const p = await open(t, 'anthropic', [said(begin, words(0, 'yes'), close('end_turn'))], { model: { name, temperature: 0.3, effort: '""', ...model } });
    const r = await p.say('go');
    completed(r, 'yes');
    const [body] = p.bodies();
    assert.deepEqual(body.thinking, expected, name);
    assert.equal(body.temperature, expected ? undefined : 0.3, name);
    if (expected?.type === 'adaptive') assert.deepEqual(body.output_config, { effort: model.effort === 'minimal' ? 'low' : model.effort });
  }
});

test('anthropic: a round without thinking stays without it until the next message of the user', async t => {
  const files = { '.harness/hooks/shout.md': hook('completion.post', 'payload["text"] = payload["text"].upper()\nreturn modify(payload)') };
  const p = await open(t, 'anthropic', [said(begin, thought(0, 'Hm.', 's1'), words(1, 'a'), use(2, 'toolu_1', 1), close('tool_use')), said(begin, words(0, 'b'), close('end_turn'))], { files });
  assert.match(await converse(p, 'first\nsecond\n'), /B/);
  assert.deepEqual(p.bodies().map(b => b.thinking?.type), ['enabled', undefined, 'enabled']);
  assert.doesNotMatch(JSON.stringify(p.bodies()[1].messages), /thinking/);
});

// ---- scripts ----

test('a scripted model can send reasoning and items, and sees them again', async t => {
  const p = talker(t, { ...scripted(`def reply(messages, tools):
    if messages[-1]["role"] == "tool":
        return json.encode([m.get("items") for m in messages])
    return {"reasoning": "Hm.", "items": [{"opaque": "x"}, 7], "tool_calls": [{"name": "effect", "arguments": {"n": 1}}]}
`), '.harness/tools/effect.md': effect() });
  const r = await p.say('go');
  completed(r, '[null,null,[{"opaque":"x"},7],null]');
  assert.equal(p.events('completion.completed')[0].data.reasoning, 'Hm.');
});

test('hooks do not see items', async t => {
  const files = { '.harness/hooks/look.md': hook('completion.pre', 'if "gAAAA" in json.encode(payload):\n    return block("seen")\nreturn allow()') };
  const p = await open(t, 'responses', [responses(reasoning, call('call_1', 1)), responses(message('done'))], { files });
  completed(await p.say('go'), 'done');
});

test('two requests of a conversation share their bytes up to the new messages', async t => {
  const p = await open(t, 'responses', [responses(reasoning, call('a', 1)), responses(call('b', 2)), responses(message('done'))]);
  completed(await p.say('go'), 'done');
  const prefix = i => { const text = JSON.stringify(p.bodies()[i]); return text.slice(0, text.indexOf('],"include"')); };
  for (const i of [1, 2]) assert.ok(prefix(i).startsWith(prefix(i - 1)), `${prefix(i - 1)}\n${prefix(i)}`);
});

test('two requests share their bytes on the other wires too; Anthropic only moves its cache marks', async t => {
  const bare = body => JSON.stringify(body, (key, value) => key === 'cache_control' ? undefined : value);
  for (const [wire, replies, end] of [
    ['chat', [chat.call('a', 1), chat.call('b', 2), chat.text('done')], ']'],
    ['anthropic', [said(begin, thought(0, 'Hm.', 's1'), use(1, 'a', 1), close('tool_use')), said(begin, thought(0, 'So.', 's2'), use(1, 'b', 2), close('tool_use')), said(begin, words(0, 'done'), close('end_turn'))], ']'],
  ]) {
    const p = await open(t, wire, replies);
    completed(await p.say('go'), 'done');
    const bodies = p.bodies();
    assert.equal(bodies.length, 3);
    for (const i of [1, 2]) {
      const [before, after] = [bodies[i - 1], bodies[i]].map(b => ({ tools: bare(b.tools), system: bare(b.system ?? ''), messages: bare(b.messages), rest: Object.keys(b).join() }));
      assert.deepEqual([after.tools, after.system, after.rest], [before.tools, before.system, before.rest], wire);
      assert.ok(after.messages.startsWith(before.messages.slice(0, before.messages.lastIndexOf(end))), `${wire}\n${before.messages}\n${after.messages}`);
    }
  }
});

test('items count against the context budget and leave it with their rounds, also after a resume', async t => {
  const large = n => ({ ...reasoning, id: `rs_${n}`, encrypted_content: `gAAAA${n}${'x'.repeat(20000)}` });              // about 5,000 tokens each
  const rounds = Array.from({ length: 6 }, (_, n) => responses(large(n), call(`c${n}`, n)));
  const check = (p, requests) => {
    for (const { input } of p.bodies().slice(-requests)) {
      assert.ok(JSON.stringify(input).length < 4 * 16000, `${JSON.stringify(input).length} bytes`);
      assert.deepEqual(input[0], { type: 'message', role: 'user', content: 'go' });
      const calls = input.filter(i => i.type === 'function_call').map(i => i.call_id);
      assert.deepEqual(input.filter(i => i.type === 'reasoning').map(i => i.id), calls.map(id => `rs_${id.slice(1)}`));
      assert.deepEqual(input.filter(i => i.type === 'function_call_output').map(i => i.call_id), calls);
    }
  };
  const p = await open(t, 'responses', [...rounds, responses(message('done'))], { head: 'context: { max_tokens: 16000 }' });
  completed(await p.say('go'), 'done');
  check(p, 7);
  assert.deepEqual(p.effects(), ['0', '1', '2', '3', '4', '5']);
  assert.ok(p.bodies().some(b => b.input.filter(i => i.type === 'reasoning').length === 2), 'what fits is kept');
  let pid = 0;
  const q = await open(t, 'responses', [...rounds.slice(0, 5), () => process.kill(pid, 'SIGKILL'), rounds[5], responses(message('done'))], { head: 'context: { max_tokens: 16000 }' });
  const child = spawn(bin, ['-C', q.dir, 'run', '-p', 'go'], { env: { ...process.env, ...q.env }, stdio: 'ignore' });
  pid = child.pid;
  await new Promise(ended => child.on('close', ended));
  completed(await q.resume((await q.runs())[0].id), 'done');
  check(q, q.bodies().length);
  assert.deepEqual(q.bodies()[6], q.bodies()[5], 'the request after the resume is the one that was interrupted');
});

// ---- fallback ----

test('fallback: an overloaded or unavailable model is replaced by the next one, and events record it', async t => {
  const busy = code => response => { response.writeHead(code, { 'content-type': 'application/json' }); response.end('{"error":{"message":"no"}}'); };
  for (const [code, asked] of [[529, 5], [503, 5], [404, 1]]) {
    const other = await server(t, (request, response) => chat.text('from the other')(response));
    const p = await open(t, 'responses', [busy(code)], { head: `models:\n  - { name: spare, provider: openai, base_url: "${other.url}/v1" }\n`, model: { fallback: '[spare]' } });
    completed(await p.say('go'), 'from the other');
    assert.equal(p.requests.length, asked);
    const [{ data }] = p.events('completion.fallback');
    assert.deepEqual([data.model, data.to], ['gpt-5-test', 'spare']);
    assert.match(data.error, new RegExp(`answered ${code}`));
  }
});

test('fallback: not for a request that is wrong, nor after text; an unknown profile stops the load', async t => {
  const refuse = response => { response.writeHead(400, { 'content-type': 'application/json' }); response.end('{"error":{"message":"bad"}}'); };
  const half = said(event('response.output_text.delta', { output_index: 0, delta: 'half' }));
  for (const reply of [refuse, half]) {
    const other = await server(t, (request, response) => chat.text('from the other')(response));
    const p = await open(t, 'responses', [reply], { head: `models:\n  - { name: spare, provider: openai, base_url: "${other.url}/v1" }\n`, model: { fallback: '[spare]' } });
    assert.equal((await p.say('go')).reply.status, 'failed');
    assert.equal(other.requests.length, 0);
  }
  const wrong = await open(t, 'responses', [refuse], { head: 'models:\n  - { name: spare, provider: ollama }\n', model: { fallback: '[spar]' } });
  const { status, stderr } = await wrong.harness(['validate']);
  assert.equal(status, 1);
  assert.match(stderr, /fallback: no profile "spar" \(did you mean "spare"\?\)/);
});

// ---- output_schema ----

const judge = { '.harness/agents/judge.md': '---\ndescription: Judges.\noutput_schema:\n  type: object\n  required: [ok]\n  properties: { ok: { type: boolean } }\n  additionalProperties: false\n---\nJudge.\n' };

test('output_schema: it is sent to the provider, and the answer is checked', async t => {
  const schema = { type: 'object', required: ['ok'], properties: { ok: { type: 'boolean' } }, additionalProperties: false };
  const p = await open(t, 'responses', [responses(message('{"ok": true}'))], { files: judge });
  completed(await p.say('go', ['--agent', 'judge']), '{"ok": true}');
  assert.deepEqual(p.bodies()[0].text, { format: { type: 'json_schema', name: 'answer', schema, strict: false } });
  const c = await open(t, 'chat', [chat.text('```json\n{"ok": false}\n```')], { files: judge });
  completed(await c.say('go', ['--agent', 'judge']), '{"ok": false}');
  assert.deepEqual(c.bodies()[0].response_format, { type: 'json_schema', json_schema: { name: 'answer', schema } });
});

test('output_schema: an answer that does not fit is repaired once', async t => {
  const p = await open(t, 'chat', [chat.text('Yes!'), chat.text('{"ok": true}')], { files: judge });
  completed(await p.say('go', ['--agent', 'judge']), '{"ok": true}');
  assert.match(p.bodies()[1].messages.at(-1).content, /must be JSON/);
  const bad = await open(t, 'chat', [chat.text('{"ok": 1}')], { files: judge });
  const r = await bad.say('go', ['--agent', 'judge']);
  assert.equal(r.reply.status, 'failed');
  assert.match(r.reply.reason, /does not fit output_schema: \/ok: expected boolean/);
  assert.equal(bad.requests.length, 2);
});

test('output_schema: anthropic gets the schemas that its structured outputs can express, of the models that have them', async t => {
  const reply = said(begin, words(0, '{"ok": true}'), close('end_turn'));
  const schema = { type: 'object', required: ['ok'], properties: { ok: { type: 'boolean' } }, additionalProperties: false };
  const agent = text => ({ '.harness/agents/judge.md': `---\ndescription: Judges.\noutput_schema: ${text}\n---\nJudge.\n` });
  const format = { type: 'json_schema', schema };
  for (const [name, effort, expected] of [['claude-sonnet-4-5', 'none', { format }], ['claude-opus-4-6', 'high', { effort: 'high', format }], ['claude-opus-4-1', 'none', undefined], ['claude-test', 'none', undefined]]) {
    const p = await open(t, 'anthropic', [reply], { files: judge, model: { name, effort } });
    completed(await p.say('go', ['--agent', 'judge']), '{"ok": true}');
    assert.deepEqual(p.bodies()[0].output_config, expected, name);
  }
  for (const [text, sent] of [
    ['{ type: object, additionalProperties: false, properties: { ok: { anyOf: [{ type: boolean }, { type: "null" }] }, l: { type: array, items: { type: string, format: date }, minItems: 1 } } }', true],
    ['{ type: object, properties: { ok: { type: boolean } } }', false], ['{ type: object, additionalProperties: true }', false],
    ['{ type: object, additionalProperties: false, properties: { ok: { type: boolean }, n: { type: integer, minimum: 1 } } }', false],
    ['{ type: object, additionalProperties: false, properties: { ok: {}, s: { type: string, minLength: 1 } } }', false],
    ['{ type: object, additionalProperties: false, properties: { ok: {}, l: { type: array, items: { type: object } } } }', false],
    ['{ type: object, additionalProperties: false, properties: { ok: {}, l: { type: array, minItems: 2 } } }', false],
    ['{ type: object, additionalProperties: false, properties: { ok: {}, l: { $ref: "#" } } }', false],
  ]) {
    const p = await open(t, 'anthropic', [reply], { files: agent(text), model: { effort: 'none' } });
    completed(await p.say('go', ['--agent', 'judge']), '{"ok": true}');
    assert.equal(p.bodies()[0].output_config !== undefined, sent, text);
  }
});

// ---- usage ----

test('usage: written and reasoning tokens and the cost, in run --json, runs --json and runs show --json', async t => {
  const usage = { input_tokens: 10, cache_read_input_tokens: 1000, cache_creation_input_tokens: 200 };
  const reply = (index, ...blocks) => said(event('message_start', { message: { usage } }), ...blocks,
    event('message_delta', { delta: { stop_reason: index ? 'end_turn' : 'tool_use' }, usage: { output_tokens: 100, output_tokens_details: { thinking_tokens: 60 } } }), event('message_stop'));
  const p = await open(t, 'anthropic', [reply(0, thought(0, 'Hm.', 'sig'), use(1, 'call_1', 1)), reply(1, words(0, 'done'))]);
  const r = await p.say('go');
  completed(r, 'done');
  const one = (10 * 3 + 1000 * 0.3 + 200 * 3.75 + 100 * 15) / 1e6;
  const expected = { input: 2420, output: 200, cached: 2000, written: 400, reasoning: 120, usd: 2 * one };
  const near = (got, want) => {
    assert.deepEqual({ ...got, usd: 0 }, { ...want, usd: 0 });
    assert.ok(Math.abs(got.usd - want.usd) < 2e-6, `${got.usd} ${want.usd}`);
  };
  near(r.reply.usage, expected);
  near((await p.runs())[0].usage, expected);
  const shown = await p.show(r.reply.run);
  near(shown.usage, expected);
  near(shown.events.find(e => e.type === 'completion.completed').data.usage, { input: 1210, output: 100, cached: 1000, written: 200, reasoning: 60, usd: one });
  near(shown.events.find(e => e.type === 'run.ended').data.usage, expected);
});

// ---- the size of the first request ----

test('the first request has less than 1 KB beyond the text of the user, the prompt and the tools', async t => {
  const replies = { responses: responses(message('yes')), chat: chat.text('yes'), gemini: chat.text('yes'), anthropic: said(begin, words(0, 'yes'), close('end_turn')) };
  const size = value => Buffer.byteLength(typeof value === 'string' ? JSON.stringify(value).slice(1, -1) : JSON.stringify(value));
  for (const [wire, reply] of Object.entries(replies))
    for (const tools of ['[]', '[read, write, edit, bash, glob, grep]']) {
      const p = await open(t, wire, [reply], { head: `builtin_tools: ${tools}` });
      completed(await p.say('go'), 'yes');
      const [{ body, bytes }] = p.requests;
      // For one tool, the names of its members are compared, too; for many, only the size of the list.
      const texts = x => size(x.name) + size(x.description) + size(x.parameters ?? x.input_schema);
      const own = body.tools.reduce((n, x) => n + (tools === '[]' ? texts(x.function ?? x) : size(x)), 0);
      const beyond = bytes - own - size('go') - size('Be brief.');
      assert.ok(body.tools.length >= (tools === '[]' ? 1 : 7), `${body.tools.length} tools`);
      assert.ok(beyond > 0 && beyond < 1024, `${wire}: ${beyond} bytes`);
    }
});
