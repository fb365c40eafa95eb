// Messages as ordered parts: what hooks and scripts see and change, and what is sent after that, byte by byte.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { effect, scripted, talker } from './agents.mjs';
import { hook, tool } from './calls.mjs';
import { begin, call, chat, close, completed, killed, message, open, reasoning, responses, said, thought, use, words } from './model_streams.mjs';

// Reasoning, text, a call, text again, another call.
const mixed = [reasoning, message('First.', 'msg_1'), call('call_1', 1), message('Then.', 'msg_2'), call('call_2', 2)];
const done = responses(message('done'));
const user = { type: 'message', role: 'user', content: 'go' };
const says = content => ({ type: 'message', role: 'assistant', content });
const calls = (call_id, n) => ({ type: 'function_call', call_id, name: 'effect', arguments: `{"n":${n}}` });
const result = (call_id, n) => ({ type: 'function_call_output', call_id, output: `{"did":${n}}` });
const post = body => ({ '.harness/hooks/post.md': hook('completion.post', body) });
const pre = body => ({ '.harness/hooks/pre.md': hook('completion.pre', body) });
const first = 'if len(payload["parts"]) < 3:\n    return allow()\n';

async function changed(t, body, wire = 'responses', replies = [responses(...mixed), done], options = {}) {
  const p = await open(t, wire, replies, { files: post(first + body), ...options });
  completed(await p.say('go'), 'done');
  return p;
}

test('untouched, the items go back as they came; the events say in which order', async t => {
  const p = await changed(t, 'return allow()');
  assert.deepEqual(p.bodies()[1].input, [user, ...mixed, result('call_1', 1), result('call_2', 2)]);
  assert.deepEqual(p.events('completion.completed')[0].data.parts, [{ type: 'reasoning', bytes: 11 }, { type: 'text', bytes: 6 }, { type: 'call', id: 'call_1' },
    { type: 'text', bytes: 5 }, { type: 'call', id: 'call_2' }]);
  assert.deepEqual(p.events('completion.completed')[1].data.parts, [{ type: 'text', bytes: 4 }]);
});

test('a completion.post hook sees the parts in their order', async t => {
  const p = await changed(t, 'if [x["type"] for x in payload["parts"]] != ["reasoning", "text", "call", "text", "call"]:\n    return block("order")\n'
    + 'if payload["parts"][2] != {"type": "call", "id": "call_1", "name": "effect", "arguments": "{\\"n\\":1}"}:\n    return block("call")\nreturn allow()');
  assert.deepEqual(p.effects(), ['1', '2']);
});

const neutral = [user, says('First.'), calls('call_1', 1), says('Then.'), calls('call_2', 2), result('call_1', 1), result('call_2', 2)];
const removals = [
  ['reasoning', 'payload["parts"].pop(0)', neutral, ['1', '2']],
  ['the text of reasoning', 'payload["parts"][0]["text"] = "no"', neutral, ['1', '2']],
  ['a text', 'payload["parts"].pop(3)', neutral.filter(x => x.content !== 'Then.'), ['1', '2']],
  ['one text of two', 'payload["parts"][1]["text"] = "1st"', neutral.map(x => x.content === 'First.' ? says('1st') : x), ['1', '2']],
  ['a call', 'payload["parts"].pop(2)', neutral.filter(x => x.call_id !== 'call_1'), ['2']],
  ['a call, by tool_calls', 'payload["tool_calls"].pop(0)', neutral.filter(x => x.call_id !== 'call_1'), ['2']],
  ['all text, by text', 'payload["text"] = "Both."', [user, says('Both.'), calls('call_1', 1), calls('call_2', 2), result('call_1', 1), result('call_2', 2)], ['1', '2']],
];
for (const [what, body, sent, effects] of removals)
  test(`responses: after a hook has changed ${what}, the message is written from its parts`, async t => {
    const p = await changed(t, `${body}\nreturn modify(payload)`);
    assert.deepEqual(p.bodies()[1].input, sent);
    assert.deepEqual(p.effects(), effects);
  });

test('anthropic: changed parts keep their order, and thinking stays off until the next message of the user', async t => {
  const replies = [said(begin, thought(0, 'Hm.', 'sig'), words(1, 'First.'), use(2, 'call_1', 1), words(3, 'Then.'), use(4, 'call_2', 2), close('tool_use')),
    said(begin, words(0, 'done'), close('end_turn'))];
  const p = await changed(t, 'payload["parts"].pop(0)\nreturn modify(payload)', 'anthropic', replies);
  const [one, two] = p.bodies();
  assert.ok(one.thinking);
  assert.equal(two.thinking, undefined);
  assert.deepEqual(two.messages[1], { role: 'assistant', content: [{ type: 'text', text: 'First.' }, { type: 'tool_use', id: 'call_1', name: 'effect', input: { n: 1 } },
    { type: 'text', text: 'Then.' }, { type: 'tool_use', id: 'call_2', name: 'effect', input: { n: 2 } }] });
  const same = await changed(t, 'return allow()', 'anthropic', replies);
  assert.deepEqual(same.bodies()[1].messages[1].content.map(b => b.type), ['thinking', 'text', 'tool_use', 'text', 'tool_use']);
});

test('chat: a message is one text and its calls', async t => {
  const p = await changed(t, 'payload["parts"] = payload["parts"][1:]\nreturn modify(payload)', 'chat',
    [chat.call('call_1', 1, {}, { reasoning_content: 'Hm.', content: 'First.' }), chat.text('done')]);
  const { messages } = p.bodies()[1];
  assert.deepEqual(messages[2], { role: 'assistant', content: 'First.', tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'effect', arguments: '{"n":1}' } }] });
});

test('a completion.pre hook sees and changes parts; what is kept stays as it was', async t => {
  const p = await open(t, 'responses', [responses(...mixed), done], { files: pre(`kinds = [[x["type"] for x in m["parts"]] for m in payload["messages"]]
if kinds[:2] != [["text"], ["text"]]:
    return block("first: " + str(kinds))
if len(kinds) == 2:
    payload["messages"][1]["parts"][0]["text"] = "went"
    return modify(payload)
if kinds[2:] != [["reasoning", "text", "call", "text", "call"], ["result"], ["result"]]:
    return block("then: " + str(kinds))
payload["messages"][3]["parts"][0]["text"] = "withheld"
payload["messages"][2]["parts"].pop(3)
return modify(payload)`) });
  completed(await p.say('go'), 'done');
  assert.deepEqual(p.bodies()[0].input, [{ ...user, content: 'went' }]);
  assert.deepEqual(p.bodies()[1].input, [user, says('First.'), calls('call_1', 1), calls('call_2', 2), { ...result('call_1', 1), output: 'withheld' }, result('call_2', 2)]);
});

test('two hooks in a row: the second sees what the first has changed, in all forms', async t => {
  const files = { '.harness/hooks/a.md': hook('completion.post', 'if not payload["text"].startswith("First."):\n    return allow()\npayload["parts"].pop(1)\nreturn modify(payload)', 'priority: 1'),
    '.harness/hooks/b.md': hook('completion.post', 'if payload["text"] == "Then." and [x["type"] for x in payload["parts"]] == ["reasoning", "call", "text", "call"]:\n    payload["text"] = "Last."\n    return modify(payload)\nreturn allow()', 'priority: 2') };
  const p = await open(t, 'responses', [responses(...mixed), done], { files });
  completed(await p.say('go'), 'done');
  assert.deepEqual(p.bodies()[1].input, [user, says('Last.'), calls('call_1', 1), calls('call_2', 2), result('call_1', 1), result('call_2', 2)]);
});

test('a secret that lies across two parts is taken out of both', async t => {
  const p = await open(t, 'responses', [responses(reasoning, message('it is hunter2'), call('call_1', 1), message('hunter2, yes', 'msg_2')), done],
    { env: { MY_SECRET: 'hunter2hunter2' }, head: 'secrets: { PASS: { env: MY_SECRET } }' });
  completed(await p.say('go'), 'done');
  assert.doesNotMatch(JSON.stringify([p.bodies()[1].input, p.events()]), /hunter2/);
  assert.deepEqual(p.bodies()[1].input, [user, says('it is [redacted], yes'), calls('call_1', 1), result('call_1', 1)]);
});

test('a secret in the reasoning alone drops the items', async t => {
  const thoughts = { ...reasoning, summary: [{ type: 'summary_text', text: 'hunter2hunter2 it is' }] };
  const p = await open(t, 'responses', [responses(thoughts, message('Yes.'), call('call_1', 1)), done],
    { env: { MY_SECRET: 'hunter2hunter2' }, head: 'secrets: { PASS: { env: MY_SECRET } }' });
  completed(await p.say('go'), 'done');
  assert.deepEqual(p.bodies()[1].input, [user, says('Yes.'), calls('call_1', 1), result('call_1', 1)]);
  assert.doesNotMatch(JSON.stringify(p.events()), /hunter2/);
});

for (const [name, files] of [['with its items', {}], ['from its parts', post(`${first}payload["parts"].pop(0)\nreturn modify(payload)`)]])
  test(`a run that was killed sends the same bytes: a message of many parts, ${name}`, async t => {
    const p = await killed(t, 'responses', [responses(...mixed), done], { files });
    const { reply, stdout, stderr } = await p.resume(p.events()[0].run);
    assert.equal(reply?.response, 'done', stdout + stderr);
    const [, before, after] = p.bodies();
    assert.deepEqual(after, before);
    assert.equal(after.input.length, name === 'with its items' ? 8 : 7);
  });

const broken = [
  ['payload["parts"].append(7)', /part 6 is not a dict/], ['payload["parts"][0] = {"type": "thought", "text": "x"}', /part 1 has an unknown type/],
  ['payload["parts"] = {}', /parts.* must be a list/], ['payload["parts"][2]["arguments"] = "{\\"n\\":9}"', /may not add to, reorder or alter payload\["tool_calls"\]/],
  ['payload["parts"].append({"type": "call", "id": "x", "name": "effect", "arguments": "{}"})', /may not add to/],
  ['payload["parts"].append({"type": "image", "mime": "image/png", "data": "AAAA"})', /part 6 is an image or file/],
  ['payload["parts"][1]["text"] = "a"\npayload["text"] = "b"', /content and parts disagree/],
];
test('malformed parts of a hook block the turn, and nothing runs', async t => {
  for (const [body, why] of broken) {
    const p = await open(t, 'responses', [responses(...mixed), done], { files: post(`${first}${body}\nreturn modify(payload)`) });
    const r = await p.say('go');
    assert.equal(r.reply?.status, 'blocked', body);
    assert.match(r.reply.reason, why);
    assert.deepEqual([p.effects(), p.requests.length], [[], 1]);
  }
});

// ---- scripted and recorded models ----

test('a scripted model answers in parts and sees them; usage and stop reasons too; a recording plays them in order', async t => {
  const script = `
def reply(messages, tools):
    last = messages[-1]
    if last["role"] == "user":
        return {"parts": [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "A"}, {"type": "call", "name": "effect", "arguments": {"n": 1}},
                          {"type": "text", "text": "B"}], "items": [{"opaque": 1}], "usage": {"input": 9, "output": 5, "cached": 4, "written": 3, "reasoning": 2}}
    parts = [m["parts"] for m in messages]
    if "items" not in messages[2]:
        fail("no items")
    return {"text": json.encode(parts[1:]), "finish_reason": "stop"}
`;
  const p = talker(t, { ...scripted(script), '.harness/tools/effect.md': effect() });
  const tape = `${p.state}/tape.jsonl`;
  const r = await p.say('go', ['--record', tape]);
  assert.equal(r.status, 0, r.stderr);
  const seen = JSON.parse(r.reply.response);
  assert.deepEqual(seen, [[{ type: 'text', text: 'go' }], [{ type: 'reasoning', text: 'Hm.' }, { type: 'text', text: 'A' },
    { type: 'call', id: 'call_1', name: 'effect', arguments: '{"n":1}' }, { type: 'text', text: 'B' }], [{ type: 'result', id: 'call_1', text: '{"did":1}', is_error: false }]]);
  assert.deepEqual(r.reply.usage, { input: 9, output: 5, cached: 4, written: 3, reasoning: 2, usd: 0 });
  const events = p.events('completion.completed').map(e => e.data);
  const again = await p.say('go', ['--replay', tape]);
  assert.equal(again.status, 0, again.stderr);
  assert.equal(again.reply.response, r.reply.response);
  assert.deepEqual(again.reply.usage, r.reply.usage);
  const replayed = p.events('completion.completed').map(e => e.data);
  for (const key of ['text', 'reasoning', 'parts', 'usage', 'finish_reason', 'items_bytes']) assert.deepEqual(replayed.map(e => e[key]), events.map(e => e[key]), key);
});

test('a scripted model that returns wrong parts fails with a message', async t => {
  for (const [value, why] of [['{"parts": [{"type": "image"}]}', /a part that is not text, reasoning or a call/], ['{"parts": [], "text": "x"}', /parts together with text or tool_calls/],
    ['{"parts": [{"type": "call"}]}', /a tool call without a name/], ['{}', /neither text, tool_calls nor parts/]]) {
    const p = talker(t, scripted(`def reply(messages, tools):\n    return ${value}\n`));
    const r = await p.say('go');
    assert.equal(r.reply.status, 'failed');
    assert.match(r.reply.reason, why);
  }
});

test('complete: messages of a script may be parts', async t => {
  const script = 'def reply(messages, tools):\n    return json.encode([m["parts"] for m in messages])\n';
  const ask = tool('return complete(messages=[{"role": "user", "parts": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, {"role": "assistant", "content": "c"}])');
  const bad = tool('return complete(messages=[{"role": "user", "parts": [{"type": "call"}]}])');
  const p = talker(t, { ...scripted(script), '.harness/tools/ask.md': ask, '.harness/tools/bad.md': bad });
  const r = await p.harness(['call', 'ask', '{}']);
  assert.deepEqual(JSON.parse(JSON.parse(r.stdout)), [[{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }], [{ type: 'text', text: 'c' }]], r.stderr);
  assert.match((await p.harness(['call', 'bad', '{}'])).stderr, /complete: message 1: part 1 is a call/);
});
