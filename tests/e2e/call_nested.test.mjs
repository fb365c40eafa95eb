// Calls inside of calls: meta.call_tool, delegate() in scripts, background work. The same rules apply inside.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { scripted, effect, talker } from './agents.mjs';
import { tool } from './calls.mjs';

// A model script. `first` maps a word of an agent's prompt to the call that the agent makes first; after that it repeats the result.
const model = first => `
FIRST = ${first}
def reply(messages, tools):
    last = messages[-1]
    if last["role"] == "tool": return {"text": "heard " + last["content"]}
    for who in FIRST:
        if who in messages[0]["content"]: return {"tool_calls": [{"id": who + "1", "name": FIRST[who][0], "arguments": FIRST[who][1]}]}
    return {"text": "nothing"}
`;
const agent = (prompt, head = '') => `---\ndescription: d\n${head}---\n${prompt}\n`;

test('a sub-agent cannot escape its limits by delegating through another tool', async t => {
  const via = { '.harness/tools/outer.md': tool('return meta.call_tool("inner", {})'), '.harness/tools/inner.md': tool('return delegate(agent = "deep", task = "go")') };
  const p = talker(t, {
    ...scripted(model('{"Top": ["delegate", {"agent": "mid", "task": "go"}], "Middle": ["outer", {}], "Deep": ["effect", {"n": 1}]}'),
      'meta: { enabled: true }\ndelegation: { max_depth: 1 }\n', 'Top.'),
    '.harness/agents/mid.md': agent('Middle.', 'blocked_tools: [effect]\n'), '.harness/agents/deep.md': agent('Deep.'), '.harness/tools/effect.md': effect(), ...via,
  });
  const r = await p.say('go');
  assert.match(r.reply.response, /max_depth of 1 reached/);
  p.add({ 'harness.md': p.text('harness.md').replace('max_depth: 1', 'max_depth: 3') });
  const deeper = await p.say('go');
  assert.match(deeper.reply.response, /unknown tool \\*"effect/);
  assert.deepEqual(p.effects(), []);
  assert.deepEqual(p.events('delegation.started').map(e => e.data.depth), [1, 2]);
});

test('a script that changes things can wait for an agent that changes things', async t => {
  const p = talker(t, {
    ...scripted(model('{"Top": ["boss", {}], "Worker": ["effect", {"n": 1}]}'), '', 'Top.'),
    '.harness/agents/worker.md': agent('Worker.'), '.harness/tools/effect.md': effect(),
    '.harness/tools/boss.md': tool('return delegate(agent = "worker", task = "go")', 'timeout_ms: 10000'),
  });
  const r = await p.say('go');
  assert.match(r.reply.response, /"status\\*":\\*"completed/);
  assert.deepEqual(p.effects(), ['1']);
});

// Starts the tool work in the background, waits for it, and reports the result.
const patient = `
def reply(messages, tools):
    said = [m["content"] for m in messages if m["role"] == "tool"]
    if not said: return {"tool_calls": [{"id": "w", "name": "work", "arguments": {}}]}
    task = json.decode(said[-1])
    if task["status"] == "running": return {"tool_calls": [{"id": "a", "name": "task_await", "arguments": {"task_id": task["task_id"], "timeout_ms": 5000}}]}
    return {"text": said[-1]}
`;

test('calls inside a background task have their own idempotency keys', async t => {
  const p = talker(t, {
    ...scripted(patient, 'meta: { enabled: true }\n'),
    '.harness/tools/work.md': tool('for i in range(2):\n    meta.call_tool("note", {"n": i})\nreturn "done"', 'async: true'),
    '.harness/tools/note.md': tool('return args["n"]', 'parameters:\n  n: { type: integer }'),
  });
  const r = await p.say('go');
  assert.match(r.reply.response, /"result":"done"/);
  const keys = p.events('tool.executing').map(e => e.data.idempotency_key);
  assert.deepEqual([keys.length, new Set(keys).size], [4, 4]);
});

test('limits.deny treats delegate as spending money', async t => {
  const p = talker(t, {
    ...scripted(model('{"Top": ["delegate", {"agent": "worker", "task": "go"}]}'), 'limits: { deny: [spends_money] }\n', 'Top.'),
    '.harness/agents/worker.md': agent('Worker.'),
  });
  const r = await p.say('go');
  assert.match(r.reply.response, /denied by limits\.deny: spends_money/);
  assert.equal(p.events('delegation.started').length, 0);
});

test('an agent that may not spawn cannot, even if its model knows the name', async t => {
  const p = talker(t, {
    ...scripted(model('{"Top": ["delegate", {"agent": "quiet", "task": "go"}], "Quiet": ["NAME", {"agent": "quiet", "task": "x"}]}'),
      'meta: { enabled: true }\n', 'Top.'),
    'agent/config.md': '---\nid: quiet\nname: Quiet\ncanSpawn: false\ncanInvokeAgents: [quiet]\n---\nQuiet.\n',
    '.harness/tools/through.md': tool('return meta.call_tool("delegate_async", args)'),
  });
  const script = p.text('model.star');
  for (const name of ['delegate_async', 'through']) {
    p.add({ 'model.star': script.replace('NAME', name) });
    const r = await p.say('go');
    assert.match(r.reply.response, /unknown tool \\+"delegate_async/);
    assert.equal(p.events('task.started').length, 0);
  }
});

test('nor by starting a task that outlives it', async t => {
  const p = talker(t, {
    ...scripted(`
def reply(messages, tools):
    who = messages[0]["content"]
    said = [m["content"] for m in messages if m["role"] == "tool"]
    if "Middle" in who: return {"text": said[-1]} if said else {"tool_calls": [{"id": "m", "name": "later", "arguments": {}}]}
    if "Deep" in who: return {"text": "deep was here"}
    if not said: return {"tool_calls": [{"id": "t", "name": "delegate", "arguments": {"agent": "mid", "task": "go"}}]}
    if len(said) > 1: return {"text": said[-1]}
    id = json.decode(json.decode(said[0])["response"])["task_id"]
    return {"tool_calls": [{"id": "w", "name": "task_await", "arguments": {"task_id": id, "timeout_ms": 5000}}]}
`, 'delegation: { max_depth: 1 }\n', 'Top.'),
    '.harness/agents/mid.md': agent('Middle.'), '.harness/agents/deep.md': agent('Deep.'),
    '.harness/tools/later.md': tool('sleep(0.3)\nreturn delegate(agent = "deep", task = "go")', 'async: true'),
  });
  const r = await p.say('go');
  assert.match(r.reply.response, /max_depth of 1 reached/);
});

test('a wrapper is not retried after a nested call, however deep, that must not run twice', async t => {
  const once = 'idempotency: none\nsafety: { spends_money: true, parallel_safe: true }', promise = 'idempotency: idempotent\nretry: { max_attempts: 3, initial_backoff_ms: 1, max_backoff_ms: 1 }';
  const counted = (name, head) => tool(`fs.append("${name}.log", "x")\nreturn 1`, head);
  const wrapper = (name, inner) => tool(`fs.append("${name}.log", "x")\nmeta.call_tool("${inner}", {})\nreturn {"error": "busy", "status": 503}`, promise);
  const p = talker(t, {
    ...scripted(model('{}'), 'meta: { enabled: true, max_call_depth: 3 }\n'),
    '.harness/tools/pay.md': counted('pay', once), '.harness/tools/safe.md': counted('safe', 'idempotency: idempotent'),
    '.harness/tools/middle.md': tool('return meta.call_tool("pay", {})', 'idempotency: idempotent'), '.harness/tools/refused.md': counted('refused', `${once}\nparameters:\n  n: { type: integer, required: true }`),
    '.harness/tools/over_pay.md': wrapper('over_pay', 'pay'), '.harness/tools/over_middle.md': wrapper('over_middle', 'middle'), '.harness/tools/over_safe.md': wrapper('over_safe', 'safe'),
    '.harness/tools/over_refused.md': wrapper('over_refused', 'refused'),
  });
  const runs = { over_pay: 1, over_middle: 1, over_safe: 3, over_refused: 3 };
  for (const [name, times] of Object.entries(runs)) {
    const r = await p.harness(['call', name, '{}']);
    assert.equal(r.status, 1, r.stdout + r.stderr);
    assert.equal(p.text(`${name}.log`).length, times, name);
  }
  assert.deepEqual([p.text('pay.log'), p.text('safe.log'), p.has('refused.log')], ['xx', 'xxx', false]);
});

test('a background task that waits for others is reported as queued', async t => {
  const script = `
def reply(messages, tools):
    said = [m["content"] for m in messages if m["role"] == "tool"]
    if said: return {"text": " ".join(said)}
    return {"tool_calls": [{"id": str(n), "name": "slow", "arguments": {}} for n in range(3)]}
`;
  const p = talker(t, { ...scripted(script, 'limits: { max_tasks: 2 }\n'), '.harness/tools/slow.md': tool('for i in range(6000):\n    sleep(0.01)\nreturn 1', 'async: true\nsafety: { parallel_safe: false }') });
  const r = await p.say('go');
  assert.deepEqual([...r.reply.response.matchAll(/"status\\*":\\*"(\w+)/g)].map(m => m[1]).sort(), ['queued', 'running', 'running'], r.stdout + r.stderr);
});

test('model.timeout_ms applies to a model that is a script', async t => {
  const p = talker(t, { ...scripted('def reply(messages, tools):\n    n = 0\n    for i in range(1 << 40):\n        n += i\n    return {"text": "late"}\n') });
  p.add({ 'harness.md': p.text('harness.md').replace('  name: scripted', '  name: scripted\n  timeout_ms: 100') });
  const r = await p.say('go');
  assert.equal(r.reply.status, 'failed');
  assert.match(r.stdout + r.stderr, /model scripted: no reply within model\.timeout_ms \(100 ms\)/);
});

test('run --only without a name is wrong use, not all tools', async t => {
  const p = talker(t, { ...scripted(model('{}')), '.harness/tools/effect.md': effect() });
  for (const names of ['', ' ', ',', ' , ']) {
    const r = await p.harness(['run', '-p', 'go', '--only', names]);
    assert.equal(r.status, 2, r.stdout + r.stderr);
    assert.match(r.stderr, /--only: no tool is named/);
  }
});
