// The calls of a reply: their order, their limits, what happens when they are refused, and background tasks at the end of a run.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { effect, harness, mock, scripted, surfaces, talker } from './agents.mjs';
import { caller, hook, tool } from './calls.mjs';

const many = 'limits: { max_turns: 1000, max_tool_calls: 5000 }\ndelegation: { iterations_per_depth: [1000] }\ncontext: { max_history: 4 }';

// A model that makes the calls of `replies`, list by list, and then answers with all results.
const plays = replies => `
REPLIES = json.decode(${JSON.stringify(JSON.stringify(replies))})
def reply(messages, tools):
    n = len([m for m in messages if m["role"] == "assistant"])
    if n < len(REPLIES):
        return {"tool_calls": [{"name": c[0], "arguments": c[1]} for c in REPLIES[n]]}
    return {"text": json.encode([m["content"] for m in messages if m["role"] == "tool"])}
`;
const results = r => JSON.parse(r.reply.response);

// ---- order ----

test('write, bash and edit of one file in one reply work in this order, every time', async t => {
  const calls = [['write', { path: 'a.txt', content: 'one' }], ['bash', { command: 'cat a.txt' }], ['edit', { path: 'a.txt', old_string: 'one', new_string: 'two' }], ['bash', { command: 'cat a.txt' }]];
  const p = talker(t, scripted(plays([calls]), 'builtin_tools: all'));
  for (let i = 0; i < 20; i++) {
    rmSync(join(p.dir, 'a.txt'), { force: true });
    const r = await p.say('go');
    assert.equal(r.reply?.status, 'completed', r.stdout + r.stderr);
    assert.deepEqual([results(r)[1], results(r)[3]].map(text => JSON.parse(text).stdout), ['one', 'two'], r.stdout);
    assert.equal(p.text('a.txt'), 'two');
    assert.deepEqual(p.events('tool.executing').map(e => e.data.name), calls.map(c => c[0]));
  }
});

// change: adds a letter to a file. mark: adds it to a separate file. look: reads.
const letters = {
  '.harness/tools/change.md': tool('fs.append(args["file"], args["letter"])\nreturn fs.read(args["file"])', 'parameters:\n  file: { type: string, required: true }\n  letter: { type: string, required: true }'),
  '.harness/tools/mark.md': tool('fs.append(args["own"], args["letter"])\nreturn fs.read(args["file"]) if fs.exists(args["file"]) else ""', 'safety: { parallel_safe: true }\nparameters:\n  file: { type: string, required: true }\n  own: { type: string, required: true }\n  letter: { type: string, required: true }'),
  '.harness/tools/look.md': tool('return fs.read(args["file"]) if fs.exists(args["file"]) else ""', 'parameters:\n  file: { type: string, required: true }'),
};

test('random replies have the effect of running their calls sequentially', async t => {
  // The model generates 1,000 replies of 2 to 8 calls, a hundred in each run; the test generates the same ones and executes them in memory.
  const rounds = 1000, each = 100;
  const draw = `
def draw(seed):
    return (seed * 1103515245 + 12345) % 2147483648
def make(k):
    seed = draw(k * 7919 + 1)
    calls = []
    count = 2 + (seed // 65536) % 7
    for i in range(count):
        seed = draw(seed)
        kind = (seed // 65536) % 3
        seed = draw(seed)
        args = {"file": "f%d.txt" % ((seed // 65536) % 2)}
        if kind != 2:
            args["letter"] = "abcdefgh"[i]
        if kind == 1:
            args["own"] = "own%d.txt" % i
        calls.append({"name": ["change", "mark", "look"][kind], "arguments": args})
    return calls
def reply(messages, tools):
    for m in reversed(messages):
        if m["role"] == "assistant" and m.get("tool_calls"):
            k = int(m["content"]) + 1
            return {"text": str(k), "tool_calls": make(k)} if k % ${each} else "done"
    return {"text": messages[-1]["content"], "tool_calls": make(int(messages[-1]["content"]))}
`;
  const p = talker(t, { ...scripted(draw, many), ...letters });
  const next = seed => Number((BigInt(seed) * 1103515245n + 12345n) % 2147483648n), high = seed => Math.floor(seed / 65536);
  const carryOut = (k, files, want) => {
    let seed = next(k * 7919 + 1);
    const count = 2 + high(seed) % 7;
    for (let i = 0; i < count; i++) {
      const kind = high(seed = next(seed)) % 3, file = `f${high(seed = next(seed)) % 2}.txt`;
      if (kind === 0) files[file] = (files[file] ?? '') + 'abcdefgh'[i];
      if (kind === 1) files[`own${i}.txt`] = (files[`own${i}.txt`] ?? '') + 'abcdefgh'[i];
      want.push([['change', 'mark', 'look'][kind], files[file] ?? '']);
    }
  };
  for (let first = 0; first < rounds; first += each) {
    const files = {}, want = [];
    for (const name of readdirSync(p.dir).filter(name => name.endsWith('.txt'))) rmSync(join(p.dir, name));
    const r = await p.say(`${first}`, ['--ephemeral'], { timeout: 120000 });
    assert.equal(r.reply?.response, 'done', r.stdout + r.stderr);
    for (let k = first; k < first + each; k++) carryOut(k, files, want);
    for (const [name, text] of Object.entries(files)) assert.equal(p.text(name), text, name);
    // Each call saw the content of the file at its turn.
    const order = new Map(p.events('completion.completed').flatMap(e => e.data.tool_calls).map((c, i) => [c.id, i]));
    const seen = p.events('tool.completed').sort((a, b) => order.get(a.data.id) - order.get(b.data.id));
    assert.deepEqual(seen.map(e => [e.data.name, e.data.value]), want);
  }
});

test('adjacent calls that change nothing overlap; a mutating script whose calls nest does not wait for itself', async t => {
  // Each of the two waits for the other's mark: they end only if both run at the same time.
  const meet = tool('cache.set(args["me"], True)\nfor i in range(3000):\n    if cache.get(args["other"], False):\n        return "met"\n    sleep(0.01)\nfail("alone")', 'safety: { parallel_safe: true }\nparameters:\n  me: { type: string, required: true }\n  other: { type: string, required: true }');
  const nest = tool('fs.write("n.txt", "1")\nreturn meta.call_tool("change", {"file": "n.txt", "letter": "2"})');
  const p = talker(t, { ...scripted(plays([[['meet', { me: 'a', other: 'b' }], ['meet', { me: 'b', other: 'a' }], ['nest', {}]]]), 'meta: { enabled: true }'), ...letters, '.harness/tools/meet.md': meet, '.harness/tools/nest.md': nest });
  assert.deepEqual(results(await p.say('go')), ['met', 'met', '12']);
});

test('a tool that a call of the same reply registers can be called by the next one', async t => {
  const make = tool('meta.tool_register("made", "d", {}, "def run(args):\\n    return 7\\n")\nreturn "ok"');
  const p = talker(t, { ...scripted(plays([[['make', {}], ['made', {}]]]), 'meta: { enabled: true }'), '.harness/tools/make.md': make });
  for (let i = 0; i < 5; i++) assert.deepEqual(results(await p.say('go')), ['ok', '7']);
});

// ---- limits ----

test('max_tool_calls_per_turn counts the calls of one reply', async t => {
  const one = n => [['effect', { n }]];
  const p = talker(t, { ...scripted(plays(Array.from({ length: 19 }, (_, n) => one(n))), 'limits: { max_tool_calls_per_turn: 2 }'), '.harness/tools/effect.md': effect() });
  const r = await p.say('go');
  assert.deepEqual([r.reply.status, p.effects().length], ['completed', 19], r.stdout);
  const wide = talker(t, { ...scripted(plays([Array.from({ length: 34 }, (_, n) => ['effect', { n }])])), '.harness/tools/effect.md': effect() });
  const w = await wide.say('go');
  assert.deepEqual([w.reply.status, w.reply.reason, wide.effects().length], ['limited', 'effect: limits.max_tool_calls_per_turn of 32 is reached', 32]);
  assert.deepEqual(wide.events('limit.reached').map(e => e.data), Array(2).fill({ limit: 'limits.max_tool_calls_per_turn', value: 32 }));
});

test('a delegation that is too deep, and a task where none is allowed, name the limit in an event', async t => {
  const nap = tool('return 1', 'async: true');
  const p = talker(t, { ...scripted(plays([[['nap', {}]]]), 'limits: { max_tasks: 0 }'), '.harness/tools/nap.md': nap });
  const r = await p.say('go');
  assert.deepEqual([r.reply.status, r.reply.reason], ['limited', 'nap: limits.max_tasks of 0 is reached']);
  assert.deepEqual(p.events('limit.reached').map(e => e.data), [{ limit: 'limits.max_tasks', value: 0 }]);
  const deep = talker(t, { ...scripted(plays([[['delegate', { agent: 'kid', task: 't' }]]]), 'delegation: { max_depth: 0 }'), '.harness/agents/kid.md': '---\ndescription: k\n---\nKid.' });
  assert.match(results(await deep.say('go'))[0], /delegation\.max_depth of 0 reached/);
  assert.deepEqual(deep.events('limit.reached').map(e => e.data), [{ limit: 'delegation.max_depth', value: 0 }]);
});

test('run --json and runs --json count alike', async t => {
  const kid = { '.harness/agents/kid.md': '---\ndescription: k\n---\nKid.' };
  const model = `
def reply(messages, tools):
    seen = [m for m in messages if m["role"] == "tool"]
    if messages[0]["content"] == "Kid.":
        return "kid" if seen else {"tool_calls": [{"name": "effect", "arguments": {"n": 1}}]}
    return [{"tool_calls": [{"name": "effect", "arguments": {"n": 2}}]}, {"tool_calls": [{"name": "delegate", "arguments": {"agent": "kid", "task": "t"}}]}, "done"][len(seen) % 3]
`;
  const p = talker(t, { ...scripted(model), '.harness/tools/effect.md': effect(), ...kid });
  const r = await p.say('go');
  const counts = o => [o.turns, o.tool_calls, o.usage];
  assert.deepEqual([r.reply.turns, r.reply.tool_calls], [3, 3]);
  assert.deepEqual(counts(r.reply), counts((await p.runs())[0]));
  const [ended] = p.events('run.ended');
  assert.deepEqual([ended.data.turns, ended.data.tool_calls], [3, 3]);
  const more = await p.resume(r.reply.run, ['-p', 'more']);
  assert.deepEqual(counts(more.reply), counts((await p.runs())[0]));
  assert.equal(more.reply.turns, 4);
});

// ---- refusals ----

test('three mistakes are returned to the model, the fourth ends the turn and names the limit', async t => {
  const bad = [[['effect', { n: 'x' }]], [['effct', {}]], [['effect', '{"n":']], [['effect', { n: [] }]], [['effect', { n: 1 }]]];
  const p = talker(t, { ...scripted(plays(bad)), '.harness/tools/effect.md': effect() });
  const r = await p.say('go');
  assert.deepEqual([r.status, r.reply.status, p.effects()], [1, 'limited', []]);
  assert.equal(r.reply.reason, 'effect: invalid arguments: /n: expected integer, got array (limits.repair.max_per_turn of 3 is reached)');
  assert.deepEqual(p.events('limit.reached').map(e => e.data), [{ limit: 'limits.repair.max_per_turn', value: 3 }]);
  const three = talker(t, { ...scripted(plays([...bad.slice(0, 3), bad[4]])), '.harness/tools/effect.md': effect() });
  assert.deepEqual([(await three.say('go')).reply.status, three.effects()], ['completed', ['1']]);
  const none = talker(t, { ...scripted(plays([bad[1]]), 'limits: { repair: { unknown_tool: false } }'), '.harness/tools/effect.md': effect() });
  const n = await none.say('go');
  assert.deepEqual([n.reply.status, n.reply.reason], ['failed', 'effct: unknown tool "effct" (did you mean "effect"?) (limits.repair.unknown_tool is false)']);
});

test('any number of vetoes is returned to the model, but not the same call three times in a row', async t => {
  const files = { '.harness/tools/effect.md': effect(), '.harness/hooks/odd.md': hook('tool.pre', 'return block("not " + str(payload["args"]["n"])) if payload["args"]["n"] >= 10 else allow()') };
  const calls = (...list) => list.map(n => [['effect', { n }]]);
  const say = async replies => {
    const p = talker(t, { ...scripted(plays(replies)), ...files });
    return { r: await p.say('go'), p };
  };
  const varied = await say(calls(10, 11, 12, 13, 14, 15, 16, 1));
  assert.deepEqual([varied.r.reply.status, varied.p.effects()], ['completed', ['1']]);
  assert.deepEqual(varied.p.events('limit.reached'), []);
  const twice = await say(calls(10, 10, 1, 10, 10, 11, 10, 10));
  assert.equal(twice.r.reply.status, 'completed', twice.r.stdout);
  const same = await say([...calls(10), [['effect', '{ "n" : 10 }'], ['effect', { n: 10 }], ['effect', { n: 2 }]], ...calls(3)]);
  assert.deepEqual([same.r.status, same.r.reply.status, same.r.reply.reason],
    [1, 'limited', 'effect: blocked by hook odd: not 10 (the same call was refused 3 times in a row)']);
  assert.deepEqual(same.p.events('limit.reached').map(e => e.data), [{ limit: 'same_call_refused', value: 3 }]);
  assert.deepEqual(same.p.effects(), ['2'], 'the reply is carried out to its end');
});

test('mistakes of a sub-agent count separately', async t => {
  const model = `
def reply(messages, tools):
    n = len([m for m in messages if m["role"] == "tool"])
    if messages[0]["content"] == "Kid.":
        return {"tool_calls": [{"name": "nosuch", "arguments": {}}]}
    if n == 0:
        return {"tool_calls": [{"name": "delegate", "arguments": {"agent": "kid", "task": "t"}}]}
    return {"tool_calls": [{"name": "nosuch", "arguments": {}}]} if n < 4 else messages[2 + 1]["content"]
`;
  const p = talker(t, { ...scripted(model), '.harness/agents/kid.md': '---\ndescription: k\n---\nKid.' });
  const r = await p.say('go');
  assert.equal(r.reply.status, 'completed', r.stdout);
  assert.match(r.reply.response, /limits\.repair\.max_per_turn of 3 is reached/);
});

test('a delegation that a hook blocks names the hook', async t => {
  const kid = { '.harness/agents/kid.md': '---\ndescription: k\n---\nKid.' };
  const say = async body => {
    const p = talker(t, { ...scripted(plays([[['delegate', { agent: 'kid', task: 't' }]]])), ...kid, '.harness/hooks/stopper.md': hook('delegation.pre', body) });
    return JSON.parse(results(await p.say('go'))[0]).error;
  };
  assert.equal(await say('return block("not today")'), 'blocked by hook stopper: not today');
  assert.match(await say('fail("broken")'), /^hook stopper failed: .*broken/);
});

// ---- arguments ----

const optional = tool('return {"got": args}', 'parameters:\n  n: { type: integer }');
const bare = tool('return "ran"');

test('empty arguments text is {} for a tool without parameters, and otherwise an error that keeps the id', async t => {
  const m = await mock(t, request => request.messages.some(x => x.role === 'tool') ? { content: 'done' }
    : { toolCalls: [{ id: 'first', name: 'optional', arguments: '' }, { id: 'second', name: 'bare', arguments: '' }] });
  const p = talker(t, { 'harness.md': harness(surfaces.openai(m.url)), '.harness/tools/optional.md': optional, '.harness/tools/bare.md': bare });
  const r = await p.say('go');
  assert.equal(r.reply?.status, 'completed', r.stdout + r.stderr);
  assert.deepEqual(p.events('tool.refused').map(e => [e.data.id, e.data.step, e.data.message]),
    [['first', 'parse', 'arguments: expected a JSON object, got empty text (send {} for none)']]);
  assert.deepEqual(p.events('tool.completed').map(e => [e.data.id, e.data.value]), [['second', 'ran']]);
  const sent = m.getRequests().at(-1).body.messages.find(x => x.tool_calls).tool_calls.map(c => c.function.arguments);
  assert.deepEqual(sent, ['{}', '{}'], 'servers get JSON back');
});

test('harness call: no arguments are {}, empty text is not', t => {
  const p = caller(t, { '.harness/tools/optional.md': optional, '.harness/tools/bare.md': bare });
  assert.deepEqual(p.call('optional').value, { got: {} });
  assert.deepEqual(p.call('optional', undefined, ['--arg', 'n=1']).value, { got: { n: 1 } });
  assert.equal(p.call('optional', '').error.message, 'arguments: expected a JSON object, got empty text (send {} for none)');
  assert.equal(p.call('optional', '-', [], { input: '' }).error.step, 'parse');
  assert.deepEqual([p.call('bare').value, p.call('bare', '').value], ['ran', 'ran']);
});

// ---- background tasks ----

const slow = tool('sleep(args["s"])\nreturn "slept"', 'async: true\nparameters:\n  s: { type: number, required: true }');

test('run -p names the background tasks it cancelled, and no hook that withheld nothing', async t => {
  const watch = { '.harness/hooks/watch.md': hook('tool.post', 'return allow()') };
  for (const more of [{}, watch]) {
    const p = talker(t, { ...scripted(plays([[['slow', { s: 600 }], ['slow', { s: 0 }]], [['look', {}]]])), '.harness/tools/slow.md': slow, '.harness/tools/look.md': tool('sleep(0.3)\nreturn 1'), ...more });
    const r = await p.say('go');
    assert.equal(r.status, 0, r.stderr);
    const [first] = p.events('task.cancelled').map(e => e.data.task_id), [second] = p.events('task.completed').map(e => e.data.task_id);
    assert.deepEqual(p.events('task.started').map(e => e.data.task_id).sort(), [first, second].sort());
    const lines = r.stderr.split('\n').filter(line => line.includes('background task'));
    assert.equal(lines.length, 1, r.stderr);
    assert.ok(lines[0].endsWith(`background task ${first} (slow) had not finished when the run ended, and was cancelled: the agent keeps its result by waiting for it with task_await`), r.stderr);
    const [failed] = p.events('tool.failed').map(e => e.data.error);
    assert.equal(failed, more === watch ? 'result withheld, because the tool.post hooks could not see it: cancelled' : 'sleep: cancelled');
  }
});
