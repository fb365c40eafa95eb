// What a run registered with meta.* is restored when the run continues in another process, under the current policy.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { bin, build, environment } from './harness.mjs';
import { crasher, scripted, talker } from './agents.mjs';
import { hook, tool } from './calls.mjs';

// Calls the tools named in the message, and answers with their results.
const model = `
def reply(messages, tools):
    if messages[0]["content"] == "Made.":
        return "the made agent"
    words = messages[1]["content"].split(" ")
    seen = [m["content"] for m in messages if m["role"] == "tool"]
    if len(seen) < len(words):
        args = {"agent": "helper", "task": "t"} if words[len(seen)] == "delegate" else {}
        return {"tool_calls": [{"name": words[len(seen)], "arguments": args}]}
    return json.encode({"seen": seen, "tools": [t["name"] for t in tools]})
`;
const makeTool = 'meta.tool_register("made", "Made.", {}, "def run(args):\\n    return \\"made \\" + str(cache.get(\\"n\\", 0))\\n")\n';
const makeHook = 'meta.hook_register("guard", "tool.pre", "def handle(event, payload):\\n    return block(\\"guarded\\") if payload[\\"name\\"] == \\"touch\\" else allow()\\n")\n';
const makeAgent = 'meta.agent_register(name = "helper", description = "Helps.", system_prompt = "Made.")\n';
const files = (making, head = '') => ({
  ...scripted(model, 'meta: { enabled: true }\n'), '.harness/tools/make.md': tool(`${making}return "ok"`, head),
  '.harness/tools/nap.md': tool('sleep(30)\nfs.write("rested", "1")\nreturn "rested"'), '.harness/tools/touch.md': tool('fs.write("touched", "1")\nreturn "touched"'),
  '.harness/agents/other.md': '---\ndescription: o\n---\nOther.',
});

// Sends the message, kills the process while `nap` sleeps, and returns the run's id.
async function killed(p, text) {
  rmSync(p.log, { force: true });
  const child = spawn(bin, ['-C', p.dir, 'run', '-p', text, '--events', p.log], { env: { ...environment, ...p.env }, stdio: 'ignore' });
  const ended = new Promise(done => child.on('close', (status, signal) => done(signal)));
  for (let i = 0; i < 3000 && !(existsSync(p.log) && /"tool.executing".*"name":"nap"/.test(readFileSync(p.log, 'utf8'))); i++) await wait(10);
  child.kill('SIGKILL');
  assert.equal(await ended, 'SIGKILL');
  await p.settle();
  const [{ id, status }] = await p.runs();
  assert.equal(status, 'interrupted');
  return id;
}
const answer = r => { assert.equal(r.reply?.status, 'completed', r.stdout + r.stderr); return JSON.parse(r.reply.response); };

test('tools, hooks and agents are restored after kill -9, also a second time', async t => {
  const p = talker(t, files(makeTool + makeHook + makeAgent));
  const id = await killed(p, 'make nap made touch delegate');
  const first = answer(await p.resume(id));
  assert.deepEqual(first.seen.slice(0, 3), ['ok', '{"error":"interrupted: outcome unknown"}', 'made 0']);
  assert.match(first.seen[3], /guarded/);
  assert.match(first.seen[4], /the made agent/);
  assert.ok(first.tools.includes('made'));
  assert.equal(p.has('touched'), false);
  const again = await p.resume(id, ['-p', 'more']);
  assert.ok(answer(again).tools.includes('made'));
  const events = (await p.show(id)).events.filter(e => e.type.startsWith('meta.'));
  assert.deepEqual(events.map(e => e.type), ['meta.tool_register', 'meta.hook_register', 'meta.agent_register'], 'written down once');
});

test('a call that registers and is repeated finds what it has registered', async t => {
  const p = talker(t, files(`${makeTool}${makeHook}${makeAgent}fs.write("slow", "1")\nif not fs.exists("again"):\n    sleep(30)\n`, 'idempotency: idempotent'));
  rmSync(p.log, { force: true });
  const child = spawn(bin, ['-C', p.dir, 'run', '-p', 'make made touch delegate', '--events', p.log], { env: { ...environment, ...p.env }, stdio: 'ignore' });
  const ended = new Promise(done => child.on('close', done));
  for (let i = 0; i < 3000 && !p.has('slow'); i++) await wait(10);
  child.kill('SIGKILL');
  await ended;
  p.add({ again: '' });
  const { seen } = answer(await p.resume((await p.runs())[0].id));
  assert.deepEqual(seen.slice(0, 2), ['ok', 'made 0']);
  assert.match(seen[2], /guarded/);
  assert.match(seen[3], /the made agent/);
});

test('killed at every event: recorded definitions are restored, and no call bypasses a registered guard', { skip: build !== 'release' && `${build} build` }, async t => {
  const shim = crasher(t);
  let done = false;
  for (let n = 1; !done; n++) {
    const p = talker(t, files(makeTool + makeHook + makeAgent, 'idempotency: idempotent'));
    const out = await p.harness(['run', '-p', 'make made touch delegate', '--events', '/dev/null'], { env: { LD_PRELOAD: shim, CRASH_EVENT: String(n) } }).catch(e => e);
    done = out.status === 0;
    const runs = await p.runs();
    if (done || runs.length === 0) continue;
    const before = (await p.show(runs[0].id)).events;
    if (!before.some(e => e.type === 'turn.started') || before.some(e => e.type === 'turn.ended')) continue;
    const { seen } = answer(await p.resume(runs[0].id));
    assert.equal(seen[0], 'ok', `event ${n}`);
    assert.match(seen[1], /^made 0$|outcome unknown/, `event ${n}`);
    assert.match(seen[2], /guarded/, `event ${n}`);
    assert.match(seen[3], /the made agent/, `event ${n}`);
    assert.equal(p.has('touched'), false, `event ${n}`);
  }
});

test('the current policy applies to restored definitions', async t => {
  const p = talker(t, files(makeTool));
  const id = await killed(p, 'make nap made');
  p.add({ 'harness.md': scripted(model, 'meta: { enabled: true }\ntools_policy: { deny: [made] }\n')['harness.md'] });
  const denied = answer(await p.resume(id));
  assert.match(denied.seen[2], /tools_policy|denied|deny/);
  assert.ok(!denied.tools.includes('made'));
});

test('what cannot be registered again is named', async t => {
  for (const [why, more, expected] of [
    ['switched off', { 'harness.md': scripted(model, '')['harness.md'] }, /meta\.enabled/],
    ['capped', { 'harness.md': scripted(model, 'meta: { enabled: true, max_tools: 0 }\n')['harness.md'] }, /meta\.max_tools of 0/],
    ['blocked', { '.harness/hooks/no.md': hook('meta.tool_register', 'return block("not any more")') }, /not any more/],
    ['taken', { '.harness/tools/made.md': tool('return "mine"') }, /defined more than once/],
  ]) {
    const p = talker(t, files(makeTool));
    const id = await killed(p, 'make nap made');
    p.add(more);
    const r = await p.resume(id);
    const { seen } = answer(r);
    assert.match(r.stderr, /warn: tool "made", which this run had registered, is no longer available: /, why);
    assert.match(r.stderr, expected, why);
    assert.match(seen[2], why === 'taken' ? /mine/ : /made/, why);
    assert.ok((await p.show(id)).events.some(e => e.type === 'log' && /"made"/.test(e.data.message)), why);
  }
});

test('a run does not continue without a guard that it had registered', async t => {
  const p = talker(t, files(makeHook));
  const id = await killed(p, 'make nap touch');
  const before = p.text('harness.md');
  p.add({ 'harness.md': scripted(model, '')['harness.md'] });
  const r = await p.resume(id);
  assert.equal(r.status, 1);
  assert.match(r.stdout + r.stderr, /hook \\?"guard\\?", which this run had registered, cannot be registered again: meta is disabled \(meta\.enabled\)/);
  assert.equal((await p.runs())[0].status, 'interrupted');
  assert.equal(p.has('touched'), false);
  p.add({ 'harness.md': before });
  assert.match(answer(await p.resume(id)).seen[2], /guarded/);
});

test('a definition that contained a secret is not stored, with a message', async t => {
  const secret = 'sk-Zq8vN3xT7bLm2RwKp5Yc9Hd4';
  const make = 'meta.tool_register("made", "Made.", {}, "def run(args):\\n    return len(\\"" + runtime["secrets"]["KEY"] + "\\")\\n")\n' +
    'meta.tool_register("other", "Writes [redacted].", {}, "def run(args):\\n    return \\"[redacted]\\"\\n")\n';
  const p = talker(t, { ...files(make, 'injected: [secrets.KEY]'), ...scripted(model, 'meta: { enabled: true }\nsecrets: { KEY: { env: KEY } }\n') }, { env: { KEY: secret } });
  const id = await killed(p, 'make nap made other');
  const r = await p.resume(id);
  const { seen } = answer(r);
  assert.match(r.stderr, /tool "made", which this run had registered, is no longer available: its definition contained a secret, which is not stored/);
  assert.ok(!(r.stderr + r.stdout).includes(secret));
  assert.equal(seen[3], '[redacted]');
});
