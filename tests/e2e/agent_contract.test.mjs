// Sub-agents: every sentence of the runtime contract.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { effect, harness, mock, scripted, surfaces, talker } from './agents.mjs';
import { hook, tool } from './calls.mjs';

// A model for several agents: each is identified by its prompt, and acts on its results as `plays` says.
// `plays`: { prompt: [reply, …] } as Starlark; the nth entry when there are n results since the last user message.
function play(plays) {
  const cases = Object.entries(plays).map(([prompt, replies]) => `    ${JSON.stringify(prompt)}: lambda seen, tools, messages: [${replies.join(', ')}],\n`).join('');
  return `
def call(name, **arguments):
    return {"tool_calls": [{"name": name, "arguments": arguments}]}

def both(*replies):
    return {"tool_calls": [c for r in replies for c in r["tool_calls"]]}

def task_of(result):
    return (result.split('"') + [""] * 4)[3]

def names(tools):
    return ",".join(sorted([t["name"] for t in tools]))

PLAYS = {
${cases}}

def reply(messages, tools):
    system = messages[0]["content"] if messages[0]["role"] == "system" else ""
    seen = []
    for m in messages:
        if m["role"] == "tool":
            seen.append(m["content"])
    steps = PLAYS[system](seen + ["", "", "", ""], tools, messages)
    return steps[len(seen)] if len(seen) < len(steps) else steps[-1]
`;
}
const delegate = (agent, task = 'do it') => `call("delegate", agent=${JSON.stringify(agent)}, task=${JSON.stringify(task)})`;
const agent = (prompt, head = '') => `---\ndescription: An agent\n${head}${head && !head.endsWith('\n') ? '\n' : ''}---\n${prompt}`;
const project = (plays, files = {}, head = '') => ({ ...scripted(play(plays), head, 'Top.'), '.harness/tools/effect.md': effect(), ...files });

async function answer(p, text = 'go') {
  const r = await p.say(text);
  assert.equal(r.reply?.status, 'completed', r.stdout + r.stderr);
  return r.reply.response;
}

test('the name is resolved; an unknown one is an error that lists the agents', async t => {
  const p = talker(t, project({ 'Top.': [delegate('nobody'), '{"text": seen[0]}'] }, { '.harness/agents/kid.md': agent('Kid.'), '.harness/agents/other.md': agent('Other.') }));
  assert.match(await answer(p), /unknown agent \\?"nobody\\?"; agents: kid, other/);
  assert.equal(p.events('delegation.failed').length, 1);
  assert.equal(p.events('delegation.started').length, 0);
});

test('the tool is called delegate, takes agent and task, and its description lists each agent with its own', async t => {
  let seen;
  const m = await mock(t, request => { seen = request.tools; return { content: 'x' }; });
  const p = talker(t, { 'harness.md': harness(surfaces.openai(m.url)), '.harness/agents/kid.md': '---\ndescription: Counts sheep\n---\nKid.', '.harness/agents/mute.md': '---\nmodel: gpt-5\n---\nMute.' });
  await p.say('go');
  const d = seen.find(x => x.function.name === 'delegate').function;
  assert.deepEqual(d.parameters.required, ['agent', 'task']);
  assert.match(d.description, /- kid: Counts sheep/);
  assert.match(d.description, /- mute\b/);
  const alone = talker(t, { 'harness.md': harness(surfaces.openai(m.url)), '.harness/tools/effect.md': effect() });
  await alone.say('go');
  assert.deepEqual(seen.map(x => x.function.name).filter(n => n.startsWith('delegate')), [], 'without agents there is nobody to delegate to');
});

test('a task is needed', async t => {
  const p = talker(t, project({ 'Top.': [delegate('kid', ''), '{"text": seen[0]}'] }, { '.harness/agents/kid.md': agent('Kid.') }));
  assert.match(await answer(p), /task/);
});

test('the child is one deeper than its parent, and no deeper than max_depth', async t => {
  const files = { '.harness/agents/kid.md': agent('Kid.') };
  const p = talker(t, project({ 'Top.': [delegate('kid'), '{"text": seen[0]}'], 'Kid.': [`(${delegate('kid')}) if "delegate" in names(tools) else {"text": "bottom"}`, '{"text": "above " + seen[0]}'] },
    files, 'delegation: { max_depth: 2 }'));
  assert.match(await answer(p), /above .*bottom/);
  assert.deepEqual(p.events('delegation.started').map(e => [e.depth, e.data.depth]), [[0, 1], [1, 2]]);
  const forced = talker(t, project({ 'Top.': [delegate('kid'), '{"text": seen[0]}'], 'Kid.': [delegate('kid'), '{"text": "kid: " + seen[0]}'] }, files, 'delegation: { max_depth: 1 }'));
  assert.match(await answer(forced), /kid: .*max_depth/);
  const none = talker(t, project({ 'Top.': ['{"text": names(tools)}'] }, files, 'delegation: { max_depth: 0 }'));
  assert.doesNotMatch(await answer(none), /delegate/);
});

test('the budget of iterations is [20, 10, 5, 3] by depth, and the last one repeats', async t => {
  const down = next => `call("effect", n=len([m for m in messages if m["role"] == "tool"]))`;
  const forever = (prompt, next) => [prompt, next ? [delegate(next), down()] : [down()]];
  const p = talker(t, project(Object.fromEntries([forever('Top.', 'a'), forever('A.', 'b'), forever('B.', 'c'), forever('C.', 'd'), forever('D.')]),
    { '.harness/agents/a.md': agent('A.'), '.harness/agents/b.md': agent('B.'), '.harness/agents/c.md': agent('C.'), '.harness/agents/d.md': agent('D.') },
    'delegation: { max_depth: 4 }\nlimits: { max_turns: 100 }'));
  const r = await p.say('go');
  assert.equal(r.reply.status, 'limited', r.stdout);
  const counts = [0, 0, 0, 0, 0];
  for (const e of p.events('completion.completed')) counts[e.depth]++;
  assert.deepEqual(counts, [20, 10, 5, 3, 3]);
  assert.deepEqual(p.events('limit.reached').map(e => [e.depth, e.data.value]), [[4, 3], [3, 3], [2, 5], [1, 10], [0, 20]]);
});

test('max_iterations lowers the budget and does not raise it', async t => {
  const loop = ['call("effect", n=1)'];
  const count = async head => {
    const p = talker(t, project({ 'Top.': [delegate('kid'), '{"text": seen[0]}'], 'Kid.': loop }, { '.harness/agents/kid.md': agent('Kid.', head) }));
    assert.match(await answer(p), /limited/);
    return p.events('completion.completed').filter(e => e.depth === 1).length;
  };
  assert.equal(await count('max_iterations: 2'), 2);
  assert.equal(await count('max_iterations: 50'), 10);
});

test('the model is the child\'s own, or the parent\'s', async t => {
  const seen = [];
  const m = await mock(t, request => {
    seen.push([request.messages[0].content, request.model]);
    if (request.messages[0].content !== 'Top.') return { content: 'ok' };
    const n = request.messages.filter(x => x.role === 'tool').length;
    return n < 3 ? { toolCalls: [{ name: 'delegate', arguments: JSON.stringify({ agent: ['own', 'same', 'far'][n], task: 'x' }) }] } : { content: 'end' };
  });
  const models = `models:\n  - { provider: openai, name: big, base_url: "${m.url}/v1" }\n  - { provider: anthropic, name: claude-x, base_url: "${m.url}" }\n`;
  const p = talker(t, { 'harness.md': `---\nmodel: big\n${models}---\nTop.`,
    '.harness/agents/own.md': agent('Own.', 'model: small'), '.harness/agents/same.md': agent('Same.'), '.harness/agents/far.md': agent('Far.', 'model: claude-x') });
  assert.equal(await answer(p), 'end');
  assert.deepEqual(seen.filter(x => x[0] !== 'Top.'), [['Own.', 'small'], ['Same.', 'big'], ['Far.', 'claude-x']]);
  assert.deepEqual(p.events('delegation.started').map(e => e.data.model), ['small', 'big', 'claude-x']);
});

const inline = (name, body = 'return "secret of the kid"') => `tools:\n  - name: ${name}\n    description: Only here\n    script: |\n      def run(args):\n          ${body}\n  - effect\n`;

test('inline tools are the child\'s alone: not the parent\'s, not a sibling\'s', async t => {
  const p = talker(t, project({
    'Top.': ['both(call("private"), ' + delegate('kid') + ', ' + delegate('sibling') + ')', '{"text": names(tools) + "|" + "|".join([s for s in seen if s])}'],
    'Kid.': ['call("private")', '{"text": names(tools) + " " + seen[0]}'], 'Sibling.': ['call("private")', '{"text": names(tools) + " " + seen[0]}'],
  }, { '.harness/agents/kid.md': agent('Kid.', inline('private')), '.harness/agents/sibling.md': agent('Sibling.') }));
  const [own, refused, kid, sibling] = (await answer(p)).split('|');
  assert.doesNotMatch(own, /private/);
  assert.match(refused, /unknown tool/);
  assert.match(kid, /private.* secret of the kid/);
  assert.match(kid, /delegate.*effect.*private/, 'the parent\'s tools are there too');
  assert.match(sibling, /unknown tool/);
  assert.doesNotMatch(sibling, /secret of the kid|private,/);
});

test('inline tools of a child are not passed to its children', async t => {
  const p = talker(t, project({ 'Top.': [delegate('kid'), '{"text": seen[0]}'], 'Kid.': [delegate('grandkid'), '{"text": seen[0]}'], 'Grandkid.': ['{"text": names(tools)}'] },
    { '.harness/agents/kid.md': agent('Kid.', inline('private')), '.harness/agents/grandkid.md': agent('Grandkid.') }));
  await answer(p);
  const said = p.events('turn.ended').find(e => e.depth === 2).data.response;
  assert.match(said, /effect/);
});

for (const blocked of ['effect', '"eff*"', '"[e]ffec?"']) test(`blocked_tools: [${blocked}] is removed for the child and all agents below`, async t => {
  const p = talker(t, project({ 'Top.': [delegate('kid'), '{"text": seen[0]}'], 'Kid.': [delegate('grandkid'), '{"text": names(tools) + seen[0]}'], 'Grandkid.': ['call("effect", n=1)', '{"text": names(tools) + seen[0]}'] },
    { '.harness/agents/kid.md': agent('Kid.', `blocked_tools: [${blocked}]`), '.harness/agents/grandkid.md': agent('Grandkid.', 'tools: [effect]') }));
  const all = await answer(p);
  assert.deepEqual(p.effects(), [], all);
  const [grandkid, kid] = p.events('turn.ended').map(e => e.data.response);
  assert.doesNotMatch(kid.split('{')[0], /effect/);
  assert.doesNotMatch(grandkid.split('{')[0], /effect/);
});

test('blocked_tools: ["*"] leaves a child without tools', async t => {
  const p = talker(t, project({ 'Top.': [delegate('kid'), '{"text": seen[0]}'], 'Kid.': ['both(call("effect", n=1), call("delegate", agent="kid", task="go"))', '{"text": "tools:" + names(tools) + "."}'] },
    { '.harness/agents/kid.md': agent('Kid.', 'blocked_tools: ["*"]') }));
  await answer(p);
  assert.deepEqual(p.effects(), []);
  assert.equal(p.events('turn.ended').find(e => e.depth === 1).data.response, 'tools:.');
  assert.equal(p.events('delegation.started').length, 1);
});

test('an agent made at run time cannot have blocked_tools that match nothing', async t => {
  for (const blocked of ['"effect"', '["effect|x"]', '[1]']) {
    const p = talker(t, project({ 'Top.': ['call("make")', '{"text": seen[0]}'] },
      { '.harness/tools/make.md': tool(`meta.agent_register(name = "kid", description = "d", blocked_tools = ${blocked})\nreturn "made"`) }, 'meta: {enabled: true}\n'));
    assert.match(await answer(p), /blocked_tools/);
    assert.deepEqual(p.events('meta.agent_register'), []);
  }
});

test('the parent\'s hooks apply to the child; the child\'s inline hooks only inside of it', async t => {
  const guard = 'hooks:\n  - name: own\n    event: tool.pre\n    script: |\n      def handle(event, payload):\n          return block("kid says no") if payload["args"].get("n") == 2 else allow()\n';
  const p = talker(t, project({
    'Top.': ['call("effect", n=2)', delegate('kid'), '{"text": "|".join([s for s in seen if s])}'],
    'Kid.': ['call("effect", n=1)', 'call("effect", n=2)', 'call("effect", n=3)', '{"text": "|".join([s for s in seen if s])}'],
  }, {
    '.harness/agents/kid.md': agent('Kid.', guard),
    '.harness/hooks/all.md': hook('tool.pre', 'return block("all say no") if payload["args"].get("n") == 1 else allow()'),
  }));
  const text = await answer(p);
  assert.deepEqual(p.effects(), ['2', '3']);
  assert.match(text, /all say no.*kid says no/);
});

test('a hook that an agent names runs for it', async t => {
  const p = talker(t, project({ 'Top.': [delegate('kid'), '{"text": seen[0]}'], 'Kid.': ['call("effect", n=1)', '{"text": seen[0]}'] }, {
    '.harness/agents/kid.md': agent('Kid.', 'hooks: [watch]'), '.harness/hooks/watch.md': hook('tool.pre', 'return allow()') }));
  await answer(p);
  assert.deepEqual(p.events('hook.decided').filter(e => e.depth === 1).map(e => e.data.hook), ['watch'], 'once, not twice');
});

test('the parent sees only the final result', async t => {
  const p = talker(t, project({
    'Top.': [delegate('kid'), '{"text": str([m["content"] for m in messages])}'],
    'Kid.': ['{"text": "thinking aloud", "tool_calls": [{"name": "effect", "arguments": {"n": 41}}]}', '{"text": "forty-two", "usage": {"input": 5, "output": 2}}'],
  }, { '.harness/agents/kid.md': agent('Kid.') }));
  const text = await answer(p);
  assert.doesNotMatch(text, /thinking aloud|did/);
  const result = p.events('tool.completed').find(e => e.data.name === 'delegate').data.value;
  assert.deepEqual(Object.keys(result), ['agent', 'status', 'response', 'tool_calls', 'usage', 'artifacts']);
  assert.deepEqual([result.agent, result.status, result.response, result.tool_calls, result.usage.input], ['kid', 'completed', 'forty-two', 1, 5]);
});

test('the body is the child\'s system prompt word for word; the child sees the task and nothing of the parent', async t => {
  const seen = [];
  const m = await mock(t, request => {
    seen.push(request.messages);
    return request.messages[0].content === 'Top.' && seen.length === 1 ? { content: 'I think', toolCalls: [{ name: 'delegate', arguments: '{"agent":"kid","task":"the task"}' }] } : { content: 'x' };
  });
  const body = '# Kid\n\n  Two  spaces.\n\n```python\ndef run(args): pass\n```\n';
  const p = talker(t, { 'harness.md': harness(surfaces.openai(m.url), '', 'Top.'), '.harness/agents/kid.md': agent(body) });
  await answer(p);
  assert.deepEqual(seen[1].map(x => [x.role, x.content]), [['system', body], ['user', 'the task']]);
});

test('delegation.pre and delegation.post run in the parent\'s chain, in order', async t => {
  const log = (event, more) => hook(event, `fs.append("effects.log", "${event} %s %s\\n" % (payload["agent"], payload.get("depth", "")))\n${more}`);
  const p = talker(t, project({ 'Top.': [delegate('kid', 'plain'), '{"text": seen[0]}'], 'Kid.': ['{"text": "heard " + messages[-1]["content"]}'] }, {
    '.harness/agents/kid.md': agent('Kid.'),
    '.harness/hooks/pre.md': hook('delegation.pre', 'p = dict(payload)\np["task"] = "changed"\nreturn modify(p)'),
    '.harness/hooks/post.md': hook('delegation.post', 'p = dict(payload)\np["response"] = payload["response"] + " and reviewed"\nreturn modify(p)'),
  }));
  assert.match(await answer(p), /heard changed and reviewed/);
  const decided = p.events('hook.decided').map(e => [e.data.hook, e.depth]);
  assert.deepEqual(decided, [['pre', 0], ['post', 0]]);
});

test('delegation.pre can refuse, delegation.post can withhold', async t => {
  const files = { '.harness/agents/kid.md': agent('Kid.') };
  const plays = { 'Top.': [delegate('kid'), '{"text": seen[0]}'], 'Kid.': ['call("effect", n=1)', '{"text": "the secret"}'] };
  const refused = talker(t, project(plays, { ...files, '.harness/hooks/pre.md': hook('delegation.pre', 'return block("not today")') }));
  assert.match(await answer(refused), /not today/);
  assert.deepEqual(refused.effects(), []);
  const withheld = talker(t, project(plays, { ...files, '.harness/hooks/post.md': hook('delegation.post', 'return block("no comment")') }));
  const text = await answer(withheld);
  assert.match(text, /no comment/);
  assert.doesNotMatch(text, /the secret/);
});

test('an unresolved reference is reported by validate', async t => {
  const p = talker(t, project({ 'Top.': ['{"text": "x"}'] }, { '.harness/agents/kid.md': agent('Kid.', 'tools: [nowhere]\nhooks: [neither]\nmodel: something-odd') }));
  const v = await p.harness(['validate']);
  assert.equal(v.status, 1);
  for (const name of ['nowhere', 'neither']) assert.match(v.stdout + v.stderr, new RegExp(name));
  const odd = talker(t, project({ 'Top.': ['{"text": "x"}'] }, { '.harness/agents/kid.md': agent('Kid.', 'model: something-odd'), '.harness/agents/other.md': agent('Other.', 'model: claude-x') }));
  const warned = await odd.harness(['validate']);
  assert.equal(warned.status, 0);
  assert.match(warned.stderr, /kid\.md.*agent "kid": model "something-odd" is not a profile/);
  assert.doesNotMatch(warned.stderr, /claude-x/);
});

test('agents inline in harness.md are the same as files', async t => {
  const p = talker(t, project({ 'Top.': [delegate('kid'), '{"text": seen[0]}'], 'Kid.': ['call("effect", n=3)', '{"text": seen[0]}'] }, {},
    'agents:\n  - name: kid\n    description: Inline\n    system_prompt: Kid.\n    tools: [effect]'));
  assert.match(await answer(p), /did.*3/);
});

// ---- verification ----

test('verify: a refused result is returned to the child with the reason, a few times', async t => {
  const plays = { 'Top.': [delegate('kid'), '{"text": seen[0]}'], 'Kid.': ['{"text": "try %d: %s" % (len([m for m in messages if m["role"] == "user"]), messages[-1]["content"])}'] };
  const verify = until => hook('delegation.post_verify', `return allow() if "try ${until}" in payload["response"] else block("once more")`);
  const files = head => ({ '.harness/agents/kid.md': agent('Kid.', head) });
  const good = talker(t, project(plays, { ...files('verify: true'), '.harness/hooks/v.md': verify(3) }));
  assert.match(await answer(good), /try 3: once more/);
  const bad = talker(t, project(plays, { ...files('verify: true'), '.harness/hooks/v.md': verify(9) }));
  assert.match(await answer(bad), /verification failed: once more/);
  assert.equal(bad.events('completion.completed').filter(e => e.depth === 1).length, 3);
  const unasked = talker(t, project(plays, { ...files(), '.harness/hooks/v.md': verify(9) }));
  assert.match(await answer(unasked), /try 1/);
});

// ---- background and concurrent ----

test('siblings run at the same time, up to max_concurrent', async t => {
  const napper = tool('sleep(0.3)\nreturn 1');
  const time = async (head, n) => {
    const p = talker(t, project({ 'Top.': [`both(${Array(4).fill(delegate('kid')).join(', ')})`, '{"text": "end"}'], 'Kid.': ['call("nap")', '{"text": "k"}'] },
      { '.harness/agents/kid.md': agent('Kid.'), '.harness/tools/nap.md': napper }, head));
    await answer(p);
    let open = 0, most = 0;
    for (const e of p.events()) {
      if (e.type === 'turn.started' && e.depth === 1) most = Math.max(most, ++open);
      if (e.type === 'turn.ended' && e.depth === 1) open--;
    }
    return most;
  };
  assert.equal(await time('delegation: { max_concurrent: 1 }'), 1);
  assert.equal(await time('delegation: { max_concurrent: 2 }'), 2);
  assert.ok(await time('') >= 3);
});

test('delegate_async: started, queried, awaited', async t => {
  const p = talker(t, project({
    'Top.': ['call("delegate_async", agent="kid", task="slowly")', 'call("delegate_await", task_id=task_of(seen[0]))', 'call("delegate_result", task_id=task_of(seen[0]))', '{"text": seen[1] + "|" + seen[2]}'],
    'Kid.': ['call("effect", n=8)', '{"text": "at last"}'],
  }, { '.harness/agents/kid.md': agent('Kid.') }));
  const text = await answer(p);
  assert.match(text, /at last.*\|.*at last/);
  assert.deepEqual(p.effects(), ['8']);
});

test('an async delegate that is never awaited does not keep the process alive', async t => {
  const p = talker(t, project({ 'Top.': ['call("delegate_async", agent="kid", task="x")', '{"text": "I go"}'], 'Kid.': ['call("nap")', '{"text": "k"}'] },
    { '.harness/agents/kid.md': agent('Kid.'), '.harness/tools/nap.md': tool('sleep(120)\nreturn 1') }));
  const before = Date.now();
  assert.equal(await answer(p), 'I go');
  assert.ok(Date.now() - before < 60000);
});

test('a child that takes too long is an ordinary error', async t => {
  const p = talker(t, project({ 'Top.': [delegate('kid'), '{"text": seen[0]}'], 'Kid.': ['call("nap")', '{"text": "k"}'] },
    { '.harness/agents/kid.md': agent('Kid.'), '.harness/tools/nap.md': tool('sleep(120)\nreturn 1') }, 'delegation: { timeout_ms: 200 }'));
  const before = Date.now();
  assert.match(await answer(p), /error/);
  assert.ok(Date.now() - before < 60000);
});

test('a child whose model fails is an ordinary error', async t => {
  const p = talker(t, project({ 'Top.': [delegate('kid'), '{"text": seen[0]}'], 'Kid.': ['{"error": "no credit"}'] }, { '.harness/agents/kid.md': agent('Kid.') }));
  assert.match(await answer(p), /failed.*no credit/);
});

// ---- agent.stop ----

test('agent.stop: blocked answers are returned with the reason, at most three times', async t => {
  const p = talker(t, project({ 'Top.': ['{"text": "answer %d" % len(messages)}'] }, { '.harness/hooks/s.md': hook('agent.stop', 'return block("not good enough")') }));
  const r = await p.say('go');
  assert.deepEqual([r.reply.status, r.reply.turns], ['blocked', 4]);
  assert.match(r.reply.reason, /not good enough/);
  const once = talker(t, project({ 'Top.': ['{"text": "answer %d" % len(messages)}'] }, { '.harness/hooks/s.md': hook('agent.stop', 'return allow() if payload["response"] == "answer 4" else block("again")') }));
  assert.equal(await answer(once), 'answer 4');
});

test('agent.stop: delegates, and a circle ends', async t => {
  const plays = { 'Top.': ['{"text": "done" if "asked agent" in messages[-1]["content"] else "draft"}'], 'Kid.': ['{"text": "kid was here"}'] };
  const p = talker(t, project(plays, { '.harness/agents/kid.md': agent('Kid.'),
    '.harness/hooks/s.md': hook('agent.stop', 'return delegate({"agent": "kid", "task": "look"}) if payload["response"] == "draft" else allow()') }));
  assert.equal(await answer(p), 'done');
  const circle = talker(t, project(plays, { '.harness/agents/kid.md': agent('Kid.'), '.harness/hooks/s.md': hook('agent.stop', 'return delegate({"agent": "kid", "task": "look"})') }, 'limits: { max_turns: 60 }\ndelegation: { iterations_per_depth: [60] }'));
  const r = await circle.say('go');
  assert.notEqual(r.reply.status, 'completed', r.stdout);
  assert.match(r.reply.reason, /too many delegations/);
  assert.equal(circle.events('delegation.started').length, 8, 'the agent\'s own answers are not handed to it');
});

test('delegation.post: delegates to another agent, and a circle ends', async t => {
  const plays = { 'Top.': [delegate('a'), '{"text": seen[0]}'], 'A.': ['{"text": "from a"}'], 'B.': ['{"text": "from b"}'] };
  const files = { '.harness/agents/a.md': agent('A.'), '.harness/agents/b.md': agent('B.') };
  const on = talker(t, project(plays, { ...files, '.harness/hooks/p.md': hook('delegation.post', 'return delegate({"agent": "b", "task": "more"}) if payload["agent"] == "a" else allow()') }));
  assert.match(await answer(on), /from b/);
  const circle = talker(t, project(plays, { ...files, '.harness/hooks/p.md': hook('delegation.post', 'return delegate({"agent": "b" if payload["agent"] == "a" else "a", "task": "more"})') }));
  assert.match(await answer(circle), /circle/);
});

// ---- registered at run time, and from a space ----

test('meta.agent_register: only if enabled, only within policy', async t => {
  const make = tool('meta.agent_register(name="made", description="Made", system_prompt="Made.", tools=["effect"])\nreturn "ok"');
  const plays = { 'Top.': ['call("make")', delegate('made'), '{"text": seen[0] + "|" + seen[1]}'], 'Made.': ['call("effect", n=6)', '{"text": "made it"}'] };
  const on = talker(t, project(plays, { '.harness/tools/make.md': make }, 'meta: { enabled: true }'));
  assert.match(await answer(on), /made it/);
  assert.deepEqual(on.effects(), ['6']);
  const off = talker(t, project(plays, { '.harness/tools/make.md': make, '.harness/agents/kid.md': agent('Kid.') }));
  const text = await answer(off);
  assert.match(text, /meta/);
  assert.deepEqual(off.effects(), []);
  const none = talker(t, project(plays, { '.harness/tools/make.md': make }, 'meta: { enabled: true, max_agents: 0 }'));
  const limited = await answer(none);
  assert.match(limited, /max_agents/);
});

test('scripts delegate with tools narrowed and hooks added', async t => {
  const ask = tool('r = delegate(agent="kid", task="x", tools=["look"])\nreturn r["response"]');
  const p = talker(t, project({ 'Top.': ['call("ask")', '{"text": seen[0]}'], 'Kid.': ['call("effect", n=1)', '{"text": names(tools) + " " + seen[0]}'] },
    { '.harness/tools/ask.md': ask, '.harness/tools/look.md': tool('return 1'), '.harness/agents/kid.md': agent('Kid.') }));
  const text = await answer(p);
  assert.match(text, /^look /);
  assert.deepEqual(p.effects(), []);
});

test('without harness.md the agent of a space is used: template, blocked tools, agents it may invoke', async t => {
  const seen = [];
  const m = await mock(t, request => {
    seen.push({ system: request.messages[0].content, tools: request.tools.map(x => x.function.name) });
    if (request.messages.some(x => x.role === 'tool')) return { content: request.messages.filter(x => x.role === 'tool').map(x => x.content).join('|') };
    if (!request.messages[0].content.startsWith('Architect')) return { content: 'helped' };
    return { toolCalls: [{ name: 'delegate', arguments: '{"agent":"helper","task":"t"}' }, { name: 'delegate', arguments: '{"agent":"stranger","task":"t"}' }] };
  });
  const p = talker(t, {
    'agent/config.md': '---\nid: architect\nname: Architect\nmodel: gpt-test\nprovider: openai\nblockedTools: [write]\ncanInvokeAgents: [helper]\ncanSpawn: false\n---\nArchitect of {{context.project.name}}, {{context.agent.name}}.',
    '.harness/agents/helper.md': agent('Helper.'), '.harness/agents/stranger.md': agent('Stranger.'),
  }, { env: { OAI_BASE_URL: `${m.url}/v1` } });
  const r = await p.say('go');
  assert.equal(r.reply?.status, 'completed', r.stdout + r.stderr);
  assert.match(r.reply.response, /helped.*\|.*may not invoke/);
  assert.match(seen[0].system, /^Architect of harness-test-\w+, Architect\.$/);
  assert.ok(seen[0].tools.includes('delegate') && !seen[0].tools.includes('write') && !seen[0].tools.includes('delegate_async'), `${seen[0].tools}`);
});
