// The queue in PostgreSQL: runs that move between workers, workers that die, stop and end, and calls that run once.
// HARNESS_QUEUE_RUNS and HARNESS_QUEUE_SEED: how many runs the last test has, and the seed of its faults.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { bin, environment, folder, root, run, undo } from './harness.mjs';
import { effect, harness, scripted as plain, talker } from './agents.mjs';
import { tool } from './calls.mjs';

const server = mkdtempSync(join(tmpdir(), 'harness-pg-'));
let url;

function control(what) {
  const r = spawnSync(join(root, 'scripts/postgres.sh'), [what, server], { encoding: 'utf8' });
  assert.equal(r.status, 0, r.stdout + r.stderr);
  return r.stdout.trim();
}

before(() => {
  rmdirSync(server);
  url = control('start');
  const r = run(['-C', tmpdir(), 'store', 'migrate'], { env: { HARNESS_STATE: url } });
  assert.equal(r.status, 0, r.stderr);
});
after(() => control('stop'));

const sql = text => {
  const r = spawnSync('psql', ['-qAtX', '-v', 'ON_ERROR_STOP=1', url, '-c', text], { encoding: 'utf8' });
  assert.equal(r.status, 0, r.stderr);
  return r.stdout.trim();
};

async function until(what, done, { ms = 30000, also = () => '' } = {}) {
  for (const end = Date.now() + ms; Date.now() < end;) {
    if (await done()) return;
    await wait(20);
  }
  assert.fail(`${what}: not within ${ms} ms ${also()}`);
}

const shared = 'queue: { workspace: shared }';
const scripted = script => plain(script, shared);

// A project whose runs are in the database, with the commands that these tests use.
function queued(t, files, env = {}) {
  const home = folder(t);
  const p = talker(t, files, { env: { HARNESS_STATE: `${url}#${home.slice(-6)}`, XDG_STATE_HOME: home, HARNESS_LEASE: '2', ...env } });
  const project = home.slice(-6);
  // A worker whose processes end with the test. `out` is what it printed.
  p.worker = (flags = [], more = {}) => {
    const child = spawn(bin, ['-C', p.dir, 'worker', ...flags], { env: { ...environment, ...p.env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
    const w = { child, out: '' };
    child.stdout.on('data', d => { w.out += d; });
    child.stderr.on('data', d => { w.out += d; });
    w.ended = new Promise(done => child.on('close', (code, signal) => { w.over = true; done(code ?? signal); }));
    undo(t, async () => { if (!w.over) child.kill('SIGKILL'); await w.ended; });
    return w;
  };
  p.put = async (text, flags = []) => {
    const r = await p.harness(['run', '-p', text, '--queue', '--json', ...flags]);
    assert.equal(r.status, 0, r.stdout + r.stderr);
    return JSON.parse(r.stdout).run;
  };
  p.one = async id => (await p.runs()).find(r => r.id === id);
  p.state = id => sql(`SELECT state FROM harness.runs WHERE project = '${project}' AND id = '${id}'`);
  p.events = id => sql(`SELECT string_agg(e.type, ' ' ORDER BY e.id) FROM harness.events e JOIN harness.runs r ON r.project = e.project AND r.n = e.id >> 32 WHERE r.id = '${id}'`).split(' ');
  p.project = project;
  return p;
}

// Asks for `n` effects, then answers with their number. cost: a dollar for each reply.
const rounds = n => `
def reply(messages, tools):
    done = [m for m in messages if m["role"] == "tool"]
    if len(done) < ${n}:
        return {"tool_calls": [{"name": "effect", "arguments": {"n": len(done)}}], "usage": {"input": 1000000, "output": 0}}
    unknown = len([m for m in done if "outcome unknown" in m["content"]])
    return {"text": "done %d, unknown %d" % (len(done), unknown), "usage": {"input": 1000000, "output": 0}}
`;
const slowly = s => tool(`fs.append("effects.log", str(args["n"]) + "\\n")\nsleep(${s})\nreturn {"did": args["n"]}`, 'parameters:\n  n: { type: integer, required: true }');

test('a queued run: put, taken, answered, in the order of priority', async t => {
  const p = queued(t, { ...scripted(rounds(2)), '.harness/tools/effect.md': effect() });
  const later = await p.put('later', ['--at', '1h']);
  const low = await p.put('low', ['--priority', '-5']);
  const high = await p.put('high', ['--priority', '7', '--max-turns', '9', '--only', 'effect']);
  assert.deepEqual((await p.runs()).map(r => [r.title, r.status]).sort(), [['high', 'queued'], ['later', 'queued'], ['low', 'queued']]);
  for (const [id, title] of [[high, 'high'], [low, 'low']]) {
    const w = p.worker(['--once', '--json']);
    assert.equal(await w.ended, 0, w.out);
    assert.deepEqual(JSON.parse(w.out), { run: id, status: 'completed' });
    const r = await p.one(id);
    assert.deepEqual([r.title, r.status, r.turns, r.tool_calls], [title, 'completed', 3, 2]);
  }
  assert.deepEqual(p.effects(), ['0', '1', '0', '1']);
  assert.deepEqual([p.events(high)[0], p.events(high).at(-1)], ['run.started', 'run.ended']);
  assert.match((await p.harness(['worker', '--once'])).stderr, /no run is ready/);
  assert.equal((await p.harness(['runs', 'verify', '--all'])).status, 0);
  assert.match((await p.harness(['runs', 'resume', later])).stderr, /is in the queue/);
  assert.match((await p.harness(['runs', 'say', later, 'x'])).stderr, /is not running: it is queued \(harness worker works on it\)/);
});

test('--wait prints the answer as run -p does', async t => {
  const p = queued(t, { ...scripted(rounds(1)), '.harness/tools/effect.md': effect() });
  const w = p.worker();
  const json = await p.harness(['run', '-p', 'go', '--queue', '--wait', '--json']);
  const { run: id, ...reply } = JSON.parse(json.stdout);
  assert.deepEqual([reply.status, reply.response, reply.turns, reply.tool_calls, reply.usage.input], ['completed', 'done 1, unknown 0', 2, 1, 2000000]);
  assert.equal((await p.one(id)).status, 'completed');
  const text = await p.harness(['run', '-p', 'go', '--queue', '--wait']);
  assert.deepEqual([text.status, text.stdout], [0, 'done 1, unknown 0\n']);
  const limited = await p.harness(['run', '-p', 'go', '--queue', '--wait', '--max-turns', '1']);
  assert.equal(limited.status, 1);
  assert.match(limited.stderr, /limited: .*max_turns/);
  w.child.kill('SIGTERM');
  assert.equal(await w.ended, 0, w.out);
});

test('a run moves: started on one worker, killed there, finished on another one', async t => {
  const settings = harness({ provider: 'script', name: 'scripted', script: 'model.star', price: '{ input: 1, output: 1 }' }, shared);
  const p = queued(t, { ...scripted(rounds(4)), 'harness.md': settings, '.harness/tools/effect.md': slowly(0.3) });
  const id = await p.put('go');
  const first = p.worker(['--once']);
  await until('two effects', () => p.effects().length >= 2);
  first.child.kill('SIGKILL');
  await first.ended;
  const second = p.worker();
  await until('the end of the run', async () => p.state(id) === 'ended');
  const r = await p.one(id);
  assert.deepEqual([r.status, r.turns, r.tool_calls], ['completed', 5, 4]);
  assert.deepEqual([r.usage.input, r.cost], [5000000, 5]);
  assert.deepEqual(p.effects(), ['0', '1', '2', '3']);        // each call once, the interrupted one too
  const shown = sql(`SELECT convert_from(e.data, 'UTF8') FROM harness.events e JOIN harness.runs r ON r.project = e.project AND r.n = e.id >> 32 WHERE r.id = '${id}' AND e.type = 'turn.ended'`);
  assert.equal(JSON.parse(shown).response, 'done 4, unknown 1');
  assert.equal(p.events(id).filter(type => type === 'run.resumed').length, 1);
  assert.equal((await p.harness(['runs', 'verify', '--all'])).status, 0);
  second.child.kill('SIGTERM');
  assert.equal(await second.ended, 0, second.out);
});

test('a worker that was stopped longer than its lease writes nothing when it goes on', async t => {
  const p = queued(t, { ...scripted(rounds(5)), '.harness/tools/effect.md': slowly(0.5) });
  const id = await p.put('go');
  const first = p.worker(['--once']);
  await until('an effect', () => p.effects().length > 0);
  first.child.kill('SIGSTOP');
  const second = p.worker();
  await until('the end of the run', async () => p.state(id) === 'ended');
  const count = () => sql(`SELECT count(*), max(id) FROM harness.events WHERE project = '${p.project}'`);
  const before = count(), row = sql(`SELECT status, epoch, last, hash FROM harness.runs WHERE id = '${id}'`);
  first.child.kill('SIGCONT');
  assert.equal(await first.ended, 1, first.out);
  assert.match(first.out, /given up: .*belongs to another process now|given up: .*lease/);
  assert.deepEqual([count(), sql(`SELECT status, epoch, last, hash FROM harness.runs WHERE id = '${id}'`)], [before, row]);
  assert.deepEqual(p.effects(), ['0', '1', '2', '3', '4']);
  assert.equal((await p.one(id)).status, 'completed');
  assert.equal((await p.harness(['runs', 'verify', '--all'])).status, 0);
  second.child.kill('SIGTERM');
  await second.ended;
});

test('SIGTERM: the step is finished, the run is handed back, and another worker goes on without an unknown outcome', async t => {
  const p = queued(t, { ...scripted(rounds(6)), '.harness/tools/effect.md': slowly(0.6) });
  const id = await p.put('go');
  const first = p.worker();
  await until('an effect', () => p.effects().length > 0);
  first.child.kill('SIGTERM');
  assert.equal(await first.ended, 0, first.out);
  assert.match(first.out, /handed back/);
  assert.deepEqual([p.state(id), (await p.one(id)).status], ['ready', 'queued']);
  const before = p.effects().length;
  assert.ok(before < 6, p.effects().join(' '));
  assert.deepEqual([p.events(id).at(-1), p.events(id).filter(type => type === 'tool.completed').length], ['tool.completed', before]);
  const second = p.worker(['--once', '--json']);
  assert.equal(await second.ended, 0, second.out);
  assert.deepEqual(p.effects(), [...Array(6).keys()].map(String));
  const r = await p.one(id);
  assert.deepEqual([r.status, r.turns, r.tool_calls], ['completed', 7, 6]);
  assert.equal(sql(`SELECT attempts FROM harness.runs WHERE id = '${id}'`), '0');
});

test('the worker is killed: its runs finish their step and are handed back', async t => {
  const p = queued(t, { ...scripted(rounds(8)), '.harness/tools/effect.md': slowly(0.5) });
  const id = await p.put('go');
  const first = p.worker();
  await until('an effect', () => p.effects().length > 0);
  first.child.kill('SIGKILL');
  await until('the run is ready again', () => p.state(id) === 'ready', { also: () => `${p.state(id)}: ${p.effects().length} effects, ${p.events(id).at(-1)}: ${first.out}` });
  const second = p.worker(['--once']);
  assert.equal(await second.ended, 0, second.out);
  assert.deepEqual(p.effects(), [...Array(8).keys()].map(String));
});

test('SIGHUP counts once: the kernel sends it for each thread of a worker that dies', async t => {
  const p = queued(t, { ...scripted(rounds(4)), '.harness/tools/effect.md': slowly(0.5) });
  const id = await p.put('go'), w = p.worker(['--once']);
  await until('an effect', () => p.effects().length > 0);
  w.child.kill('SIGHUP');
  await wait(50);
  w.child.kill('SIGHUP');
  assert.equal(await w.ended, 0, w.out);
  assert.deepEqual([p.state(id), p.effects().length, p.events(id).at(-1)], ['ready', 1, 'tool.completed']);
});

test('runs cancel: one that waits ends at once, one that runs is stopped by its worker', async t => {
  const p = queued(t, { ...scripted(rounds(50)), '.harness/tools/effect.md': slowly(0.2) });
  const waits = await p.put('waits');
  assert.equal((await p.harness(['runs', 'cancel', waits])).status, 0);
  assert.deepEqual([p.state(waits), (await p.one(waits)).status], ['ended', 'cancelled']);
  const id = await p.put('go');
  const w = p.worker(['--once']);
  await until('an effect', () => p.effects().length > 0);
  assert.equal((await p.harness(['runs', 'cancel', id])).status, 0);
  assert.equal(await w.ended, 0, w.out);
  assert.deepEqual([p.state(id), (await p.one(id)).status], ['ended', 'cancelled']);
  assert.equal((await p.harness(['runs', 'cancel', id])).status, 1);
  // The column alone, as the renewal of the lease reads it.
  const third = await p.put('go');
  const other = p.worker(['--once']);
  await until('an effect of the third', () => p.events(third).includes('tool.executing'));
  sql(`UPDATE harness.runs SET cancel = true WHERE id = '${third}'`);
  assert.equal(await other.ended, 0, other.out);
  assert.equal((await p.one(third)).status, 'cancelled');
});

test('workers lists who is alive, with what', async t => {
  const p = queued(t, { ...scripted(rounds(9)), '.harness/tools/effect.md': slowly(0.5) });
  assert.match((await p.harness(['workers'])).stderr, /no worker is alive/);
  const id = await p.put('go');
  const w = p.worker(['--concurrency', '2']);
  await until('an effect', () => p.effects().length > 0);
  const list = JSON.parse((await p.harness(['workers', '--json'])).stdout);
  assert.deepEqual(list.map(x => x.kind).sort(), ['run', 'worker']);
  assert.deepEqual(list.find(x => x.kind === 'run').runs, [id]);
  assert.equal(list.find(x => x.kind === 'worker').pid, w.child.pid);
  assert.ok((await p.harness(['workers'])).stdout.split('\n').some(line => line.includes('run') && line.endsWith(id.slice(-8))));
  w.child.kill('SIGTERM');
  await w.ended;
  assert.deepEqual(JSON.parse((await p.harness(['workers', '--json'])).stdout), []);
});

test('what cannot work is said in one message', async t => {
  const files = { ...scripted(rounds(1)), '.harness/tools/effect.md': effect() };
  const local = talker(t, files);
  for (const args of [['run', '-p', 'x', '--queue'], ['worker'], ['worker', '--once'], ['workers']]) {
    const r = await local.harness(args, { env: { HARNESS_STATE: join(local.state, 'x.db') } });
    assert.equal(r.status, 1, args.join(' '));
    assert.match(r.stderr, /the queue needs PostgreSQL, and the runs are kept in state file .*set HARNESS_STATE or store\.url/);
  }
  const p = queued(t, files);
  const wrong = async (args, expected) => {
    const r = await p.harness(args);
    assert.equal(r.status, 2, r.stderr);
    assert.match(r.stderr, expected);
  };
  await wrong(['run', '-p', 'x', '--queue', '--yes'], /--yes has no effect on a queued run/);
  await wrong(['run', '-p', 'x', '--wait'], /--wait needs --queue/);
  await wrong(['run', '--queue'], /--queue needs a prompt/);
  await wrong(['run', '-p', 'x', '--queue', '--priority', '2000'], /--priority: "2000" is not a number from -1000 to 1000/);
  await wrong(['run', '-p', 'x', '--queue', '--at', 'noon'], /--at: "noon" is neither a time/);
  await wrong(['worker', '--concurrency', '0'], /--concurrency: "0" is not a number from 1 to 256/);
  await wrong(['worker', '--once', '--concurrency', '2'], /--concurrency has no effect/);
  assert.equal((await p.harness(['run', '-p', 'x', '--queue', '--agent', 'missing'])).status, 1);
  assert.deepEqual(await p.runs(), []);
  await p.put('x', ['--at', '2001-02-03T04:05:06+01:00']);
  assert.equal(sql(`SELECT extract(epoch FROM wake_at)::bigint FROM harness.runs WHERE project = '${p.project}'`), '981169506');
});

test('queue.workspace: none: runs without files', async t => {
  const model = 'def reply(messages, tools):\n    done = [m for m in messages if m["role"] == "tool"]\n    return {"text": done[0]["content"]} if done else {"tool_calls": [{"name": "count", "arguments": {}}]}\n';
  const p = queued(t, { ...plain(model, 'queue: { workspace: none }'), '.harness/tools/count.md': tool('return 1 + 1') });
  const id = await p.put('go'), w = p.worker(['--once', '--json']);
  assert.equal(await w.ended, 0, w.out);
  assert.deepEqual(JSON.parse(w.out), { run: id, status: 'completed' });
  assert.equal((await p.one(id)).tool_calls, 1);
});

test('a job that this worker cannot start has failed, with the reason', async t => {
  const p = queued(t, { ...scripted(rounds(1)), '.harness/tools/effect.md': effect() });
  const id = await p.put('go', ['--model', 'no-such-profile-here']);
  const w = p.worker(['--once', '--json']);
  await w.ended;
  const r = await p.one(id);
  assert.equal(r.status, 'failed', w.out);
  assert.equal(p.state(id), 'ended');
});

test('a job with a restriction that cannot be read does not run', async t => {
  const p = queued(t, { ...scripted(rounds(1)), '.harness/tools/effect.md': effect() });
  for (const [job, why] of [['{"prompt":"go","only":"other"}', /only is not a list of names/], ['{"prompt":"go","only":[1]}', /only is not a list of names/], ['{"prompt":"go","max_turns":"2"}', /max_turns is not a number/], ['[]', /not an object/]]) {
    const id = await p.put('go');
    sql(`UPDATE harness.runs SET job = convert_to('${job}', 'UTF8') WHERE id = '${id}'`);
    const w = p.worker(['--once', '--json']);
    await w.ended;
    assert.equal((await p.one(id)).status, 'failed', w.out);
    assert.match((await p.harness(['runs', 'show', id, '--json'])).stdout, why);
  }
  assert.deepEqual(p.effects(), []);
});

test('a run whose workers die five times without an event has failed', async t => {
  const p = queued(t, { ...scripted(rounds(1)), '.harness/tools/effect.md': effect() });
  const id = await p.put('go');
  sql(`UPDATE harness.runs SET state = 'taken', owner = 'gone', attempts = 4 WHERE id = '${id}'`);
  const w = p.worker(['--once']);
  assert.equal(await w.ended, 0, w.out);
  assert.equal((await p.one(id)).status, 'failed');
  assert.match((await p.harness(['runs', 'show', id, '--json'])).stdout, /5 workers died or lost their lease/);
  assert.deepEqual(p.effects(), []);
});

// ---- the ledger ----

// mulberry32: the same faults for the same seed.
function random(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let x = Math.imul(a ^ (a >>> 15), a | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

const children = pid => {
  try { return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number); } catch { return []; }
};

test('a ledger that must not be written twice, while workers are killed, stopped and replaced, and the server restarts', { timeout: 36000000 }, async t => {
  const runs = Number(process.env.HARNESS_QUEUE_RUNS || 12), seed = Number(process.env.HARNESS_QUEUE_SEED || Date.now() % 1000000);
  const next = random(seed), many = Math.min(8, Math.max(3, Math.ceil(runs / 8)));
  console.log(`         ledger: ${runs} runs, ${many} workers, HARNESS_QUEUE_SEED=${seed}`);
  // One line for each call: the run, then the number of the call. append writes a line at once.
  const ledger = tool('fs.append("ledger.log", "%s %d\\n" % (args["run"], args["n"]))\nsleep(0.2)\nreturn "written"',
    'parameters:\n  run: { type: string, required: true }\n  n: { type: integer, required: true }');
  const model = `
def reply(messages, tools):
    run = messages[-1]["content"] if messages[-1]["role"] == "user" else [m for m in messages if m["role"] == "user"][0]["content"]
    done = [m for m in messages if m["role"] == "tool"]
    if len(done) < 8:
        return {"tool_calls": [{"name": "ledger", "arguments": {"run": run, "n": len(done)}}]}
    return {"text": " ".join(["?" if "outcome unknown" in m["content"] else "+" for m in done])}
`;
  const p = queued(t, { ...scripted(model), '.harness/tools/ledger.md': ledger });
  const ids = new Map();
  for (let i = 0; i < runs; i += 4) {
    const names = Array.from({ length: Math.min(4, runs - i) }, (_, k) => `r${i + k}`);
    (await Promise.all(names.map(name => p.put(name)))).forEach((id, k) => ids.set(names[k], id));
  }
  const workers = Array.from({ length: many }, () => p.worker(['--concurrency', '2']));
  const left = () => Number(sql(`SELECT count(*) FROM harness.runs WHERE project = '${p.project}' AND state <> 'ended'`));
  const faults = { kill: 0, stop: 0, term: 0, restart: 0 };
  const stopped = [];
  const deadline = Date.now() + 60000 + runs * 2000;
  for (let i = 0, restarts = 0; i % 5 !== 0 || left() > 0; i++) {
    assert.ok(Date.now() < deadline, `seed ${seed}: ${left()} runs are left\n${workers.map(w => w.out.slice(-800)).join('\n')}`);
    await wait(20 + next() * 80);
    const all = workers.flatMap(x => children(x.child.pid)), at = Math.floor(next() * many), w = workers[at];
    const run = all[Math.floor(next() * all.length)], what = next();
    if (what < 0.4 && run) { try { process.kill(run, 'SIGKILL'); faults.kill++; } catch { /* it has ended */ } }
    else if (what < 0.6 && run) {
      try { process.kill(run, 'SIGSTOP'); } catch { continue; }
      faults.stop++;
      stopped.push(wait(2500 + next() * 1000).then(() => { try { process.kill(run, 'SIGCONT'); } catch { /* it was killed */ } }));
    } else if (what >= 0.6 && what < 0.7) {
      faults.term++;
      w.child.kill('SIGTERM');
      workers[at] = p.worker(['--concurrency', '2']);
    } else if (what > 0.93 && restarts++ < 3) { control('restart'); faults.restart++; }
  }
  await Promise.all(stopped);
  for (const w of workers) w.child.kill('SIGTERM');
  for (const w of workers) await w.ended;
  const lines = p.text('ledger.log').split('\n').filter(Boolean);
  const count = new Map();
  for (const line of lines) count.set(line, (count.get(line) ?? 0) + 1);
  assert.deepEqual([...count].filter(([, n]) => n > 1), [], `seed ${seed}: written twice`);
  let unknown = 0;
  const status = new Map((await p.runs()).map(r => [r.id, r.status]));
  const ended = sql(`SELECT r.id, convert_from(e.data, 'UTF8') FROM harness.events e JOIN harness.runs r ON r.project = e.project AND r.n = e.id >> 32 WHERE r.project = '${p.project}' AND e.type = 'turn.ended'`);
  const answers = new Map(ended.split('\n').map(line => [line.slice(0, line.indexOf('|')), JSON.parse(line.slice(line.indexOf('|') + 1))]));
  for (const [name, id] of ids) {
    assert.equal(status.get(id), 'completed', `seed ${seed}: ${name}`);
    answers.get(id).response.split(' ').forEach((mark, n) => {
      if (mark === '+') assert.equal(count.get(`${name} ${n}`), 1, `seed ${seed}: ${name} ${n} has a result, but no line`);
      else unknown++;
    });
  }
  console.log(`         ledger: ${lines.length} lines, ${unknown} outcomes unknown, faults ${JSON.stringify(faults)}`);
  assert.equal((await p.harness(['runs', 'verify', '--all'])).status, 0, `seed ${seed}`);
});
