// Limits of a run, each with its counter; recordings and replay.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { effect, harness, mock, scripted, surfaces, talker } from './agents.mjs';
import { hook, tool } from './calls.mjs';

const forever = 'def reply(messages, tools):\n    return {"text": "more", "tool_calls": [{"name": "effect", "arguments": {"n": len(messages)}}], "usage": {"input": 100, "output": 20}}\n';

async function limited(t, head, reason, files = {}, script = forever, flags = []) {
  const p = talker(t, { ...scripted(script, head), '.harness/tools/effect.md': effect(), ...files });
  const before = Date.now(), r = await p.say('go', flags);
  assert.equal(r.reply?.status, 'limited', r.stdout + r.stderr);
  assert.equal(r.status, 1);
  assert.match(r.reply.reason, reason);
  assert.equal((await p.runs())[0].status, 'limited');
  return { ...p, r, took: Date.now() - before };
}

test('max_turns', async t => {
  const p = await limited(t, 'limits: { max_turns: 3 }', /max_turns \(3\)/);
  assert.deepEqual([p.effects().length, p.r.reply.turns], [3, 3]);
  assert.deepEqual(p.events('limit.reached').map(e => e.data), [{ limit: 'limits.max_turns', value: 3 }]);
  assert.equal((await limited(t, '', /max_turns \(2\)/, {}, forever, ['--max-turns', '2'])).effects().length, 2);
});

test('tool calls of the run', async t => {
  assert.equal((await limited(t, 'limits: { max_tool_calls: 4 }', /max_tool_calls of 4/)).effects().length, 4);
});

test('tokens and money', async t => {
  assert.equal((await limited(t, 'limits: { max_tokens: 300 }', /max_tokens of 300/)).effects().length, 2);
  const costly = { 'harness.md': harness({ provider: 'script', name: 'x', script: 'model.star', price: '{ input: 10000, output: 0 }' }, 'limits: { max_spend_usd: 2.5 }') };
  const p = await limited(t, '', /max_spend_usd/, costly);
  assert.equal(p.effects().length, 2);
  assert.equal(p.r.reply.usage.usd, 3);
});

test('the wall clock', async t => {
  const slow = { '.harness/tools/effect.md': tool('sleep(120)\nreturn 1', 'parameters:\n  n: { type: integer }') };
  const p = await limited(t, 'limits: { wall_clock_ms: 400 }', /wall_clock_ms \(400\)/, slow);
  assert.ok(p.took < 60000);
});

test('a hook that removes tools, changes the conversation, or stops it', async t => {
  const script = 'def reply(messages, tools):\n    return messages[-1]["content"] + " " + ",".join([t["name"] for t in tools])\n';
  const pre = body => ({ '.harness/hooks/c.md': hook('completion.pre', body) });
  const say = async files => (await talker(t, { ...scripted(script), '.harness/tools/effect.md': effect(), ...files }).say('hi')).reply;
  assert.equal((await say({})).response, 'hi effect');
  assert.equal((await say(pre('p = dict(payload)\np["tools"] = []\nreturn modify(p)'))).response, 'hi ');
  const blocked = await say(pre('return block("closed")'));
  assert.deepEqual([blocked.status, blocked.reason], ['blocked', 'closed']);
  const post = { '.harness/hooks/c.md': hook('completion.post', 'p = dict(payload)\np["text"] = "changed"\nreturn modify(p)') };
  assert.equal((await say(post)).response, 'changed');
  const start = { '.harness/hooks/c.md': hook('turn.start', 'p = dict(payload)\np["text"] = "hello there"\nreturn modify(p)') };
  assert.equal((await say(start)).response, 'hello there effect');
});

test('a tool that a hook removed cannot be called either', async t => {
  const script = 'def reply(messages, tools):\n    if messages[-1]["role"] == "tool":\n        return messages[-1]["content"]\n    return {"tool_calls": [{"name": "effect", "arguments": {"n": 1}}]}\n';
  const p = talker(t, { ...scripted(script), '.harness/tools/effect.md': effect(), '.harness/hooks/c.md': hook('completion.pre', 'p = dict(payload)\np["tools"] = []\nreturn modify(p)') });
  await p.say('go');
  assert.deepEqual(p.effects(), []);
});

test('a hook may remove any number of tools', async t => {
  const last = 'effect69', script = `def reply(messages, tools):\n    if messages[-1]["role"] == "tool":\n        return messages[-1]["content"]\n    return {"tool_calls": [{"name": "${last}", "arguments": {"n": 1}}]}\n`;
  const many = Object.fromEntries(Array.from({ length: 70 }, (_, i) => [`.harness/tools/effect${i}.md`, effect()]));
  const p = talker(t, { ...scripted(script), ...many, '.harness/hooks/c.md': hook('completion.pre', 'p = dict(payload)\np["tools"] = []\nreturn modify(p)') });
  assert.match((await p.say('go')).reply.response, /effect69/);
  assert.deepEqual(p.effects(), []);
});

// ---- recordings ----

const answer = request => request.messages.some(m => m.role === 'tool') ? { content: `heard ${request.messages.at(-1).content}` }
  : { content: 'let me see', toolCalls: [{ name: 'effect', arguments: '{"n":5}' }] };

test('a recording replays without a server and a key; another request is an error that shows the difference', async t => {
  const m = await mock(t, answer), tape = 'tape.jsonl';
  const p = talker(t, { 'harness.md': harness(surfaces.openai(m.url)), '.harness/tools/effect.md': effect() });
  const first = await p.say('go', ['--record', join(p.dir, tape)]);
  assert.equal(first.reply?.status, 'completed', first.stdout + first.stderr);
  assert.equal(statSync(join(p.dir, tape)).mode & 0o777, 0o600);
  assert.equal(readFileSync(join(p.dir, tape), 'utf8').trim().split('\n').length, 2);
  const asked = m.getRequests().length;
  const again = await p.say('go', ['--replay', join(p.dir, tape)], { env: { OPENAI_API_KEY: '' } });
  assert.equal(again.reply?.response, first.reply.response, again.stdout + again.stderr);
  assert.equal(m.getRequests().length, asked);
  const other = await p.say('stop', ['--replay', join(p.dir, tape)]);
  assert.equal(other.reply.status, 'failed');
  assert.match(other.reply.reason, /differs from the recording .*"go".*"stop"/);
  p.add({ 'harness.md': harness({ provider: 'replay', name: 'tape', replay: tape }) });
  assert.equal((await p.say('go')).reply.response, first.reply.response);
});

test('a recording of a prompt that contains the key replays', async t => {
  const key = 'sk-live-Zq8vN3xT7bLm2RwKp5Yc9Hd4', m = await mock(t, () => ({ content: 'ok' }));
  const p = talker(t, { 'harness.md': harness({ ...surfaces.openai(m.url), api_key_env: 'MY_KEY' }) }, { env: { MY_KEY: key } });
  const tape = join(p.state, 'tape.jsonl');
  assert.equal((await p.say(`is ${key} good?`, ['--record', tape])).reply.response, 'ok');
  assert.ok(!readFileSync(tape, 'utf8').includes(key));
  p.add({ 'harness.md': harness({ provider: 'replay', name: 'tape', replay: tape }) });
  assert.equal((await p.say('is [redacted] good?')).reply.response, 'ok');
});

test('a recording that is damaged is an error with its line', async t => {
  const p = talker(t, { 'harness.md': harness({ provider: 'replay', name: 'tape', replay: 'tape.jsonl' }) });
  for (const [text, message] of [['{"request":{},"reply":{}}\nnonsense\n', /tape\.jsonl:2/], ['{"request":1}\n', /needs a request and a reply/], [null, /tape\.jsonl/]]) {
    if (text) writeFileSync(join(p.dir, 'tape.jsonl'), text);
    else writeFileSync(join(p.dir, 'harness.md'), harness({ provider: 'replay', name: 'tape', replay: 'nowhere/tape.jsonl' }));
    const r = await p.harness(['run', '-p', 'x']);
    assert.equal(r.status, 1);
    assert.match(r.stderr, message);
  }
});

test('without a model, the error lists the options', async t => {
  const p = talker(t, { 'harness.md': '---\nlimits: { max_turns: 3 }\n---\nx\n' }, { env: { OPENAI_API_KEY: '', ANTHROPIC_API_KEY: '' } });
  const r = await p.harness(['run', '-p', 'x']);
  assert.equal(r.status, 1);
  for (const way of ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'script']) assert.match(r.stderr, new RegExp(way));
  const odd = talker(t, scripted('def reply(messages, tools):\n    return "x"'));
  assert.match((await odd.harness(['run', '-p', 'x', '--model', 'nonsense'])).stderr, /nonsense/);
  const offline = talker(t, { 'harness.md': harness(surfaces.openai('http://127.0.0.1:1')) }, { env: { HARNESS_OFFLINE: '1' } });
  assert.match((await offline.harness(['run', '-p', 'x'])).stderr, /HARNESS_OFFLINE/);
});
