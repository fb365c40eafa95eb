// Agents against a mock of the OpenAI and Anthropic servers: turns, streaming, tools, sub-agents, long conversations.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { effect, harness, mock, surfaces, talker } from './agents.mjs';
import { tool } from './calls.mjs';

const last = request => request.messages.at(-1);
const results = request => request.messages.filter(m => m.role === 'tool').length;
const call = (name, args, id) => ({ name, arguments: JSON.stringify(args), ...(id && { id }) });

for (const [name, model] of Object.entries(surfaces)) {
  test(`${name}: one turn`, async t => {
    const m = await mock(t, () => ({ content: 'Grüße, 世界.', usage: { prompt_tokens: 11, completion_tokens: 7, input_tokens: 11, output_tokens: 7 } }));
    const p = talker(t, { 'harness.md': harness(model(m.url), '', 'You are one.') });
    const r = await p.say('hello');
    assert.equal(r.status, 0, r.stderr);
    assert.deepEqual([r.reply.status, r.reply.response, r.reply.turns, r.reply.tool_calls], ['completed', 'Grüße, 世界.', 1, 0]);
    assert.deepEqual([r.reply.usage.input, r.reply.usage.output], [11, 7]);
    const [request] = m.getRequests();
    assert.deepEqual(request.body.messages.map(x => x.role), ['system', 'user']);
    assert.deepEqual(p.events().map(e => e.type),
      ['run.started', 'turn.started', 'completion.started', 'completion.completed', 'turn.ended', 'run.ended']);
    // Without --json only the answer is on standard output.
    const plain = await p.harness(['run', '-p', 'hello']);
    assert.deepEqual([plain.status, plain.stdout, plain.stderr], [0, 'Grüße, 世界.\n', '']);
  });

  test(`${name}: an answer in many small pieces`, async t => {
    const text = 'αβγ 🎉 '.repeat(200);
    const m = await mock(t, () => ({ content: text }), {}, { chunkSize: 1 });
    const p = talker(t, { 'harness.md': harness(model(m.url)) });
    assert.equal((await p.say('talk')).reply.response, text);
  });

  test(`${name}: ten tool rounds`, async t => {
    const m = await mock(t, request => results(request) < 10
      ? { content: `round ${results(request)}`, toolCalls: [call('effect', { n: results(request) })] } : { content: `last: ${JSON.stringify(last(request).content)}` });
    const p = talker(t, { 'harness.md': harness(model(m.url)), '.harness/tools/effect.md': effect() });
    const r = await p.say('go');
    assert.equal(r.status, 0, r.stderr);
    assert.deepEqual([r.reply.turns, r.reply.tool_calls], [11, 10]);
    assert.match(r.reply.response, /did.*9/);
    assert.deepEqual(p.effects(), [...Array(10).keys()].map(String));
  });

  test(`${name}: parallel calls, results in call order`, async t => {
    const m = await mock(t, request => results(request)
      ? { content: request.messages.filter(x => x.role === 'tool').map(x => x.content).join('|') }
      : { toolCalls: [call('slow', { n: 3 }, 'a'), call('slow', { n: 1 }, 'b'), call('slow', { n: 2 }, 'c')] });
    const slow = tool('sleep(0.05 * args["n"])\nreturn args["n"]', 'parameters:\n  n: { type: integer, required: true }');
    const p = talker(t, { 'harness.md': harness(model(m.url)), '.harness/tools/slow.md': slow });
    const r = await p.say('go');
    assert.equal(r.reply?.response, '3|1|2', r.stderr);
  });

  test(`${name}: sub-agents two levels deep`, async t => {
    const m = await mock(t, request => {
      const who = request.messages[0].content;
      if (results(request)) return { content: `${who} heard ${last(request).content}` };
      if (who === 'Top.') return { toolCalls: [call('delegate', { agent: 'middle', task: 'do it' })] };
      if (who === 'Middle.') return { toolCalls: [call('delegate', { agent: 'bottom', task: 'do it really' })] };
      return { toolCalls: [call('effect', { n: 7 })] };
    });
    const p = talker(t, {
      'harness.md': harness(model(m.url), '', 'Top.'), '.harness/tools/effect.md': effect(),
      '.harness/agents/middle.md': '---\ndescription: In between\n---\nMiddle.', '.harness/agents/bottom.md': '---\ndescription: Does it\n---\nBottom.',
    });
    const r = await p.say('go');
    assert.equal(r.status, 0, r.stderr);
    assert.match(r.reply.response, /^Top\. heard .*Middle\. heard .*Bottom\. heard .*did.*7/);
    assert.deepEqual(p.effects(), ['7']);
    assert.equal(m.getRequests().length, 6);
    const deep = p.events('completion.completed').map(e => [e.agent, e.depth]);
    assert.deepEqual(deep, [['', 0], ['middle', 1], ['bottom', 2], ['bottom', 2], ['middle', 1], ['', 0]]);
  });

  test(`${name}: a conversation over the context budget keeps its beginning and whole exchanges`, async t => {
    const seen = [];
    const m = await mock(t, request => {
      seen.push(request.messages.map(x => [x.role, x.tool_calls?.length ?? 0]));
      return seen.length <= 30 ? { toolCalls: [call('long', { n: seen.length })] } : { content: 'done' };
    });
    const long = tool('return "x" * 3000', 'parameters:\n  n: { type: integer, required: true }');
    const p = talker(t, { 'harness.md': harness(model(m.url), 'context: { max_tokens: 6000 }\nlimits: { max_turns: 40, max_tool_calls_per_turn: 40 }\ndelegation: { iterations_per_depth: [40] }'), '.harness/tools/long.md': long });
    const r = await p.say('begin');
    assert.equal(r.reply?.response, 'done', r.stderr);
    for (const messages of seen) {
      assert.deepEqual(messages.slice(0, 2).map(x => x[0]), ['system', 'user']);
      const calls = messages.reduce((n, x) => n + x[1], 0);
      assert.equal(messages.filter(x => x[0] === 'tool').length, calls, 'every call has its result');
    }
    assert.ok(seen.at(-1).length < 20, `${seen.at(-1).length} messages`);
  });
}

test('the order of tools and the system prompt stay the same from turn to turn', async t => {
  const seen = [];
  const m = await mock(t, request => {
    seen.push(JSON.stringify([request.tools, request.messages[0]]));
    return results(request) < 3 ? { toolCalls: [call('effect', { n: 1 })] } : { content: 'done' };
  });
  const p = talker(t, { 'harness.md': harness(surfaces.openai(m.url)), '.harness/tools/effect.md': effect() });
  assert.equal((await p.say('go')).reply.status, 'completed');
  assert.equal(new Set(seen).size, 1);
});
