// Runs that are interrupted, and stores that fail: leases, full disks, damaged databases, hooks that delegate.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { bin, build, undo } from './harness.mjs';
import { crasher, effect, scripted, talker } from './agents.mjs';
import { hook, tool } from './calls.mjs';

const rounds = `
def reply(messages, tools):
    n = len([m for m in messages if m["role"] == "tool"])
    if n < 3:
        return {"tool_calls": [{"name": "effect", "arguments": {"n": n}}]}
    return {"text": "done after %d" % n}
`;
const nap = tool('sleep(args["s"])\nfs.append("effects.log", "nap\\n")\nreturn "rested"', 'parameters:\n  s: { type: number, required: true }');
const napping = `
def reply(messages, tools):
    if messages[-1]["role"] == "tool":
        return {"text": messages[-1]["content"]}
    return {"tool_calls": [{"name": "nap", "arguments": {"s": 30}}]}
`;

// Starts a job and waits for an event of it.
async function begin(p, args, type, env = {}) {
  const child = spawn(bin, ['-C', p.dir, ...args, '--events', p.log], { env: { PATH: process.env.PATH, HOME: process.env.HOME, ...p.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise(done => child.on('close', (status, signal) => done({ status, signal })));
  for (let i = 0; i < 500 && !(existsSync(p.log) && readFileSync(p.log, 'utf8').includes(`"${type}"`)); i++) await wait(10);
  if (process.env.HARNESS_TEST_STORE) await wait(300);      // the line is written before the event is committed, which takes longer in a database
  return { child, ended };
}

test('a live run is not resumed; a dead one is, by one process at a time', async t => {
  const p = talker(t, { ...scripted(napping), '.harness/tools/nap.md': nap });
  const { child, ended } = await begin(p, ['run', '-p', 'go'], 'tool.executing');
  const [{ id, status }] = await p.runs();
  assert.equal(status, 'running');
  const live = await p.resume(id);
  assert.equal(live.status, 1);
  assert.match(JSON.parse(live.stdout).error.message, new RegExp(`^run ${id} is in use by process ${child.pid}( on |$)`));
  child.kill('SIGKILL');
  await ended;
  const [cut] = await p.runs();
  assert.deepEqual([cut.status, cut.turns, cut.tool_calls], ['interrupted', 1, 1]);
  const r = await p.resume(id);
  assert.match(r.reply.response, /interrupted: outcome unknown/);
  assert.deepEqual(p.effects(), []);
  const [done] = await p.runs();
  assert.deepEqual([done.status, done.tool_calls], ['completed', 1]);        // a call with an unknown outcome counts: it was made
});

test('two resumes at once: the second is refused', async t => {
  const slow = napping.replace('"s": 30', '"s": 0.7');
  const p = talker(t, { ...scripted(slow), '.harness/tools/nap.md': nap.replace('---\n', '---\nidempotency: idempotent\n') });
  const { child, ended } = await begin(p, ['run', '-p', 'go'], 'tool.executing');
  child.kill('SIGKILL');
  await ended;
  const [{ id }] = await p.runs();
  const both = await Promise.all([p.resume(id), p.resume(id), p.resume(id)]);
  assert.deepEqual(both.map(r => r.status).sort(), [0, 1, 1], JSON.stringify(both));
  assert.equal(both.find(r => r.status === 0).reply.response, 'rested');
  assert.deepEqual(p.effects(), ['nap']);
});

test('Ctrl-C leaves a run that can be resumed', async t => {
  const p = talker(t, { ...scripted(napping), '.harness/tools/nap.md': nap });
  const { child, ended } = await begin(p, ['run', '-p', 'go', '--json'], 'tool.executing');
  child.kill('SIGINT');
  assert.equal((await ended).status, 130);
  const [{ id, status }] = await p.runs();
  assert.equal(status, 'cancelled');
  const r = await p.resume(id);
  assert.equal(r.status, 0, r.stderr);
  assert.equal(r.reply.status, 'completed');
});

test('a finished run has nothing left, and continues with -p', async t => {
  const p = talker(t, scripted('def reply(messages, tools):\n    return "%d: %s" % (len(messages), messages[-1]["content"])'));
  const first = await p.say('one');
  assert.equal(first.reply.response, '2: one');
  const none = await p.harness(['runs', 'resume', first.reply.run], { input: '' });
  assert.equal(none.status, 0);
  assert.match(none.stderr, /nothing is left to do/);
  const more = await p.resume(first.reply.run, ['-p', 'two']);
  assert.equal(more.reply.response, '4: two');
  assert.equal((await p.resume('00000000', [])).reply.error.message, 'no such run: 00000000');
});

test('limits apply to the run, not to one process of it', async t => {
  const forever = 'def reply(messages, tools):\n    return {"tool_calls": [{"name": "effect", "arguments": {"n": len(messages)}}], "usage": {"input": 10, "output": 5}}';
  const p = talker(t, { ...scripted(forever, 'limits: { max_tool_calls: 4, max_turns: 50 }'), '.harness/tools/effect.md': effect() });
  const r = await p.say('go');
  assert.deepEqual([r.reply.status, p.effects().length], ['limited', 4]);
  assert.equal(r.reply.reason, 'effect: limits.max_tool_calls of 4 is reached');
  const again = await p.resume(r.reply.run, ['-p', 'more']);
  assert.deepEqual([again.reply.status, p.effects().length], ['limited', 4]);
  assert.ok(again.reply.usage.input > r.reply.usage.input, 'usage goes on from where it was');
});

test('an interrupted call of a removed tool is unknown, not repeated', async t => {
  const p = talker(t, { ...scripted(napping), '.harness/tools/nap.md': nap.replace('---\n', '---\nidempotency: idempotent\n'), '.harness/tools/effect.md': effect() });
  const { child, ended } = await begin(p, ['run', '-p', 'go'], 'tool.executing');
  child.kill('SIGKILL');
  await ended;
  await p.settle();
  rmSync(join(p.dir, '.harness/tools/nap.md'));
  const r = await p.resume((await p.runs())[0].id);
  assert.match(r.reply.response, /interrupted: outcome unknown/);
});

test('a delegate in the background does not outlive the process; querying it after a resume is an ordinary error', async t => {
  const model = `
def reply(messages, tools):
    seen = [m["content"] for m in messages if m["role"] == "tool"]
    if messages[0]["content"] == "Kid.":
        return "kid" if seen else {"tool_calls": [{"name": "nap", "arguments": {"s": 30}}]}
    if len(seen) == 0:
        return {"tool_calls": [{"name": "delegate_async", "arguments": {"agent": "kid", "task": "t"}}]}
    if len(seen) == 1:
        return {"tool_calls": [{"name": "delegate_await", "arguments": {"task_id": seen[0].split('"')[3]}}]}
    return seen[1]
`;
  const p = talker(t, { ...scripted(model), '.harness/tools/nap.md': nap, '.harness/agents/kid.md': '---\ndescription: k\n---\nKid.' });
  const { child, ended } = await begin(p, ['run', '-p', 'go'], 'delegate_await');
  await wait(200);
  child.kill('SIGKILL');
  await ended;
  const r = await p.resume((await p.runs())[0].id);
  assert.equal(r.reply?.status, 'completed', r.stdout + r.stderr);
  assert.match(r.reply.response, /^\{"error":"no task of this run has the id \\"task_[0-9a-f]{8}_\d+\\""\}$/);
  assert.deepEqual(p.effects(), []);
});

// ---- hooks that delegate ----

test('killed at every event while hooks delegate: nothing twice', { skip: build !== 'release' && `${build} build` }, async t => {
  // agent.stop delegates to a checker once; delegation.post passes its result to a second one.
  const model = `
def reply(messages, tools):
    who = messages[0]["content"]
    seen = [m["content"] for m in messages if m["role"] == "tool"]
    if who in ("Check.", "Second.") and not seen:
        return {"tool_calls": [{"name": "effect", "arguments": {"n": 1 if who == "Check." else 2}}]}
    if who == "Be brief.":
        return {"text": "final" if "asked agent" in messages[-1]["content"] else "draft"}
    return {"text": who + " " + seen[0]}
`;
  const p = talker(t, {
    ...scripted(model), '.harness/tools/effect.md': effect(),
    '.harness/agents/check.md': '---\ndescription: c\n---\nCheck.', '.harness/agents/second.md': '---\ndescription: s\n---\nSecond.',
    '.harness/hooks/stop.md': hook('agent.stop', 'if payload["response"] == "draft":\n    return delegate({"agent": "check", "task": "check it"})\nreturn allow()'),
    '.harness/hooks/post.md': hook('delegation.post', 'if payload["agent"] == "check":\n    return delegate({"agent": "second", "task": "look again"})\nreturn allow()'),
  });
  const whole = await p.say('go');
  assert.equal(whole.reply?.response, 'final', whole.stdout + whole.stderr);
  assert.deepEqual(p.effects(), ['1', '2']);
  const events = p.events().length;
  const shim = crasher(t);
  assert.ok(events > 20);
  for (let n = 4; n < events; n++) {
    rmSync(join(p.dir, 'effects.log'), { force: true });
    await p.harness(['run', '-p', 'go', '--json', '--events', '/dev/null'], { env: { LD_PRELOAD: shim, CRASH_EVENT: `${n}` } }).catch(e => e);
    const [{ id, status }] = await p.runs();
    assert.equal(status, 'interrupted', `event ${n}`);
    const r = await p.resume(id), made = p.effects();
    assert.equal(r.status, 0, `event ${n}: ${r.stderr}`);
    assert.deepEqual(made, [...new Set(made)], `event ${n}: never twice`);
    if (r.reply) assert.equal(r.reply.response, 'final', `event ${n}`);
  }
});

// ---- stores that fail ----

test('a damaged database is a clear error, and nothing is lost by it', async t => {
  const p = talker(t, { ...scripted(rounds), '.harness/tools/effect.md': effect() });
  assert.equal((await p.say('go')).reply.status, 'completed');
  const fold = 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("pragma wal_checkpoint(truncate)").fetchall()';
  assert.equal(spawnSync('python3', ['-c', fold, p.env.HARNESS_STATE]).status, 0);      // checkpoint: writes everything into the database file itself
  const whole = readFileSync(p.env.HARNESS_STATE);
  const damages = {
    'not a database': Buffer.from('this is not a database, whatever it is'.repeat(100)),
    'cut short': whole.subarray(0, Math.floor(whole.length / 2)),
    'holes': Buffer.from(whole).fill(0xff, 4096, whole.length - 4096),
    'a wrong header': Buffer.from(whole).fill(0, 16, 100),
  };
  const messages = {
    'not a database': ['open', 'file is not a database'], 'cut short': ['open', 'database disk image is malformed'],
    'holes': ['start run', 'database disk image is malformed'], 'a wrong header': ['open', 'file is not a database'],
  };
  for (const [what, bytes] of Object.entries(damages)) {
    for (const suffix of ['-wal', '-shm']) rmSync(p.env.HARNESS_STATE + suffix, { force: true });
    writeFileSync(p.env.HARNESS_STATE, bytes);
    rmSync(join(p.dir, 'effects.log'), { force: true });
    const r = await p.say('go');
    assert.equal(r.status, 1, what);
    assert.equal(r.reply.error.message, `${messages[what][0]}: state file ${p.env.HARNESS_STATE} is damaged (${messages[what][1]})`, what);
    assert.ok(p.effects().length <= 1, `${what}: a run whose journal fails goes no further`);
    assert.equal(existsSync(p.env.HARNESS_STATE), true, what);
    const in_memory = await p.say('go', ['--ephemeral']);
    assert.equal(in_memory.reply?.status, 'completed', `${what}: ${in_memory.stderr}`);
  }
});

test('state files are private', async t => {
  const p = talker(t, scripted('def reply(messages, tools):\n    return "hi"'));
  await p.say('go');
  assert.equal(statSync(p.env.HARNESS_STATE).mode & 0o777, 0o600);
});

test('a full disk: a clear error, and no call that could not be recorded', { skip: process.getuid() !== 0 && 'needs root' }, async t => {
  const disk = mkdtempSync(join(tmpdir(), 'harness-disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=400k', 'tmpfs', disk]);
  undo(t, () => { spawnSync('umount', ['-l', disk]); rmSync(disk, { recursive: true, force: true }); });
  if (mounted.status !== 0) return t.skip('mount is not allowed here');
  const many = rounds.replace('n < 3', 'n < 20').replace('{"n": n}', '{"n": n, "fill": "x" * 20000}');
  const p = talker(t, { ...scripted(many, 'limits: { max_turns: 50, max_tool_calls_per_turn: 50 }\ndelegation: { iterations_per_depth: [50] }'),
    '.harness/tools/effect.md': effect().replace('required: true }', 'required: true }\n  fill: { type: string }') }, { env: { HARNESS_STATE: join(disk, 'harness.db') } });
  const r = await p.say('go');
  assert.equal(r.status, 1, r.stdout);
  assert.match(r.reply.error.message, /^[a-z ]+: no space left for state file .*\/harness\.db$/);
  const executing = p.events('tool.executing').length, made = p.effects().length;
  assert.ok(made > 0 && made < 20 && made <= executing, `${made} of ${executing}`);
  assert.deepEqual(p.effects(), [...Array(made).keys()].map(String));
  // There is space again: the run continues without repeating what was done.
  assert.equal(spawnSync('mount', ['-o', 'remount,size=16m', disk]).status, 0);
  const [{ id }] = await p.runs();
  const again = await p.resume(id);
  assert.equal(again.reply?.status, 'completed', again.stdout + again.stderr);
  const all = p.effects();
  assert.deepEqual(all, [...new Set(all)]);
  assert.ok(all.length >= 19);
});
