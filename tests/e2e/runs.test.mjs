// Stored runs: verify, prune, and a hundred of them in every view.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { scripted, talker } from './agents.mjs';
import { bin, build, environment } from './harness.mjs';

// A model that calls `note` once for each message, and then answers.
const model = `
def reply(messages, tools):
    if messages[-1]["role"] == "tool":
        return {"text": "done: " + messages[-1]["content"]}
    return {"tool_calls": [{"name": "note", "arguments": {"text": messages[-1]["content"]}}]}
`;
const note = '---\nparameters:\n  text: { type: string, required: true }\nscript: |\n  def run(args):\n      fs.append("notes.txt", args["text"] + "\\n")\n      return "noted"\n---\nTakes a note.\n';
const files = { ...scripted(model), '.harness/tools/note.md': note };

export function change(p, sql) {
  const r = spawnSync('python3', ['-c', 'import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nc.executescript(sys.argv[2])\nc.commit()', p.env.HARNESS_STATE, sql], { encoding: 'utf8' });
  assert.equal(r.status, 0, r.stderr);
}

const verify = async (p, ...args) => {
  const r = await p.harness(['runs', 'verify', '--json', ...args]);
  return { ...r, ...JSON.parse(r.stdout) };
};

test('verify finds an event that was changed, removed or inserted', async t => {
  const p = talker(t, files);
  const ids = [];
  for (let i = 0; i < 5; i++) ids.push((await p.say(`job ${i}`)).reply.run);
  assert.equal((await p.resume(ids[0], ['-p', 'one more'])).status, 0);            // another process continues the chain
  let all = await verify(p, '--all');
  assert.equal(all.status, 0, all.stdout);
  assert.deepEqual([all.ok, all.runs.length, all.strays, all.pruned], [true, 5, 0, []]);
  for (const r of all.runs) {
    assert.equal(r.state, 'whole');
    assert.match(r.hash, /^[0-9a-f]{64}$/);
  }
  assert.equal(new Set(all.runs.map(r => r.hash)).size, 5);
  const of = i => `(SELECT n FROM runs WHERE id = '${ids[i]}')`;
  const row = (i, seq) => `id = (${of(i)} << 32 | ${seq})`;
  change(p, `UPDATE events SET data = replace(data, 'job 1', 'job 7') WHERE ${row(1, 2)};
    DELETE FROM events WHERE ${row(2, 4)};
    INSERT INTO events SELECT id + 100, time_ns, agent, parent, depth, type, data, hash FROM events WHERE ${row(3, 4)};
    UPDATE events SET hash = NULL WHERE id >> 32 = ${of(4)}; UPDATE runs SET hash = NULL, last = 0 WHERE id = '${ids[4]}';`);
  all = await verify(p, '--all');
  assert.equal(all.status, 1);
  assert.equal(all.ok, false);
  const got = Object.fromEntries(all.runs.map(r => [r.id, r]));
  assert.equal(got[ids[0]].state, 'whole');
  assert.deepEqual(got[ids[1]].breaks, [{ what: 'changed', from: 2, to: 2 }]);
  assert.deepEqual(got[ids[2]].breaks, [{ what: 'removed', from: 4, to: 4 }]);
  assert.ok(got[ids[3]].breaks.some(b => b.what === 'inserted'), JSON.stringify(got[ids[3]]));
  assert.equal(got[ids[4]].state, 'not chained');
  const text = await p.harness(['runs', 'verify', ...ids]);
  assert.equal(text.status, 1);
  assert.match(text.stdout, new RegExp(`${ids[1].slice(-8)}  broken.*\\n +event 2 was changed`));
  assert.match(text.stdout, new RegExp(`${ids[2].slice(-8)}  broken.*\\n +event 4 was removed`));
  assert.match(text.stdout, /not chained/);
  assert.match(text.stderr, /3 runs of 5 do not match what was written/);
  assert.equal((await p.harness(['runs', 'verify', ids[0]])).status, 0);
  assert.equal((await p.harness(['runs', 'verify'])).status, 2);
  assert.equal((await p.harness(['runs', 'verify', '--all', 'last'])).status, 2);
  assert.equal((await p.harness(['runs', 'verify', 'nope'])).status, 1);
  change(p, `DELETE FROM runs WHERE id = '${ids[0]}'`);
  all = await verify(p, '--all');
  assert.ok(all.strays > 5);
});

test('prune removes ended runs, and leaves the hash of their last event', async t => {
  const p = talker(t, { ...files, '.harness/tools/slow.md': '---\nparameters: {}\nargv: [/bin/sleep, "60"]\n---\nSlow.\n',
    'model.star': 'def reply(messages, tools):\n    if messages[-1]["role"] == "user" and "slow" in messages[-1]["content"]:\n        return {"tool_calls": [{"name": "slow", "arguments": {}}]}\n    return {"text": "ok"}\n' });
  const old = (await p.say('old')).reply.run, young = (await p.say('young')).reply.run;
  const hash = (await verify(p, old)).runs[0].hash;
  change(p, `UPDATE runs SET ended_ns = ended_ns - 40 * 86400 * 1000000000, started_ns = started_ns - 40 * 86400 * 1000000000 WHERE id = '${old}'`);
  // One run that was killed, and one that is running.
  const begin = async text => {
    const child = spawn(bin, ['-C', p.dir, 'run', '-p', text], { cwd: p.dir, env: { ...environment, ...p.env }, stdio: 'ignore' });
    for (let i = 0; i < 600; i++) {
      const [run] = (await p.runs()).filter(r => r.title === text);
      if (run && (await p.show(run.id)).events.some(e => e.type === 'tool.executing')) return { child, id: run.id };
      await sleep(50);
    }
    assert.fail('it does not start');
  };
  const ended = child => new Promise(done => child.on('exit', done));
  const killed = await begin('slow 1'), live = await begin('slow 2');
  const dead = ended(killed.child);
  killed.child.kill('SIGKILL');
  await dead;
  const dry = JSON.parse((await p.harness(['runs', 'prune', '--older-than', '30d', '--dry-run', '--json'])).stdout);
  assert.deepEqual(dry, { dry_run: true, removed: [old], kept: [] });
  assert.equal((await p.runs()).length, 4);
  const r = await p.harness(['runs', 'prune', '--older-than', '30d']);
  assert.equal(r.status, 0, r.stderr);
  assert.match(r.stdout, /^removed 1 run\n$/);
  assert.deepEqual((await p.runs()).map(x => x.id).sort(), [young, killed.id, live.id].sort());
  assert.equal((await p.harness(['runs', 'show', old])).status, 1);
  assert.deepEqual((await verify(p, '--all')).pruned.map(x => [x.run, x.hash]), [[old, hash]]);
  const kept = JSON.parse((await p.harness(['runs', 'prune', '--older-than', '0s', '--json'])).stdout);
  assert.deepEqual(kept.removed, [young]);
  assert.deepEqual(kept.kept, [{ id: live.id, why: 'running' }, { id: killed.id, why: 'interrupted' }]);
  const said = await p.harness(['runs', 'prune', '--older-than', '0s']);
  assert.match(said.stdout, /is running/);
  assert.match(said.stdout, /was interrupted and can be resumed/);
  assert.match(said.stderr, /--interrupted/);
  const over = ended(live.child);
  live.child.kill('SIGINT');
  live.child.kill('SIGINT');
  await over;
  assert.equal((await p.harness(['runs', 'prune', '--older-than', '0s', '--interrupted'])).status, 0);
  assert.deepEqual(await p.runs(), []);
  for (const bad of [[], ['--older-than', '30'], ['--older-than', 'x']]) assert.equal((await p.harness(['runs', 'prune', ...bad])).status, 2, `${bad}`);
});

test('HARNESS_STATE_MAX removes the oldest ended runs when a run starts; without it nothing is removed', async t => {
  const p = talker(t, { ...scripted('def reply(messages, tools):\n    if messages[-1]["role"] == "tool":\n        return "done"\n    return {"tool_calls": [{"name": "big", "arguments": {}}]}\n'),
    '.harness/tools/big.md': '---\nscript: |\n  def run(args):\n      return "0123456789abcdef" * 32768\n---\nHalf a megabyte, which is stored as an artifact.\n' });
  const titles = async () => (await p.runs()).map(r => r.title);
  for (let i = 0; i < 6; i++) await p.say(`run ${i}`);
  assert.equal((await titles()).length, 6);
  const bad = await p.harness(['run', '-p', 'x'], { env: { HARNESS_STATE_MAX: 'much' } });
  assert.equal(bad.status, 1);
  assert.match(bad.stderr, /HARNESS_STATE_MAX: "much" is not a size like 500M or 2G/);
  assert.equal((await titles()).length, 6);
  const r = await p.harness(['run', '-p', 'last', '-v'], { env: { HARNESS_STATE_MAX: '2M' } });
  assert.equal(r.status, 0, r.stderr);
  assert.match(r.stderr, /HARNESS_STATE_MAX: removed the \d oldest runs/);
  const left = await titles();
  assert.deepEqual(left, ['last', 'run 5', 'run 4', 'run 3', 'run 2', 'run 1'].slice(0, left.length));
  assert.ok(left.length >= 3 && left.length <= 5, left.join());
  const all = await verify(p, '--all');
  assert.equal(all.ok, true);
  assert.equal(all.pruned.length, 7 - left.length);
  assert.equal((await p.resume('last', ['-p', 'more'])).reply.response, 'done');
});

// ---- a hundred runs ----

// What a run does depends on its prompt: "NUMBER KIND".
const many = `
def reply(messages, tools):
    said = [m["content"] for m in messages if m["role"] == "user"]
    done = [m for m in messages if m["role"] == "tool"]
    kind = said[-1].split(" ")[1] if " " in said[-1] else "plain"
    usage = {"input": 1, "output": 1}
    if messages[-1]["role"] == "tool" and kind != "forever":
        return {"text": "done", "usage": usage}
    if kind in ("note", "ask", "fail"):
        return {"text": "", "tool_calls": [{"name": kind, "arguments": {"text": "日本語 text\\n<b>\\u202e"}}], "usage": usage}
    if kind == "forever":
        return {"tool_calls": [{"name": "note", "arguments": {"text": "x"}}], "usage": usage}
    if kind == "delegate":
        return {"tool_calls": [{"name": "delegate", "arguments": {"agent": "inner", "task": "1 note"}}], "usage": usage}
    if kind == "broken":
        fail("the model is broken")
    return {"text": "heard " + said[-1], "usage": usage}
`;
const kinds = ['plain', 'note', 'ask', 'fail', 'delegate', 'forever', 'broken', '日本語の題名'];
const simple = (body, head = '') => `---\n${head}parameters:\n  text: { type: string }\nscript: |\n  def run(args):\n      ${body}\n---\nA tool.\n`;
const library = {
  ...scripted(many, 'limits: { max_turns: 4 }'),
  '.harness/tools/note.md': simple('return args["text"]'), '.harness/tools/ask.md': simple('return 1', 'confirm: true\n'), '.harness/tools/fail.md': simple('fail(args["text"])'),
  '.harness/agents/inner.md': '---\ndescription: Inner.\ntools: [note]\n---\nYou are inner.\n',
};

async function pool(items, work, width = 4) {
  const left = [...items.entries()], out = [];
  await Promise.all(Array.from({ length: width }, async () => {
    for (let next; (next = left.shift());) out[next[0]] = await work(next[1], next[0]);
  }));
  return out;
}

const n = ['release', 'debug'].includes(build) ? 96 : 32;              // fewer in builds that are many times slower

test('a hundred recorded runs: the list, its filters, every view of each, resume and --continue', async t => {
  const p = talker(t, library);
  const prompts = Array.from({ length: n }, (_, i) => `${i} ${kinds[i % kinds.length]}`);
  const said = await pool(prompts, text => p.harness(['run', '-p', text, '--json', ...(text.endsWith('plain') && Number(text.split(' ')[0]) % 16 === 0 ? ['--agent', 'inner'] : [])]));
  for (const [i, r] of said.entries()) assert.equal(r.status, ['forever', 'broken'].includes(kinds[i % kinds.length]) ? 1 : 0, `${prompts[i]}: ${r.stderr}`);
  for (let i = 0; i < 4; i++) assert.equal((await p.harness(['call', 'note', '{"text":"by hand"}'])).status, 0);
  const list = async (...args) => JSON.parse((await p.harness(['runs', '--json', ...args])).stdout);
  const runs = await list(), all = await list('--all');
  assert.deepEqual([runs.length, all.length], [n, n + 4]);
  assert.deepEqual(all.filter(r => !r.title).map(r => r.tool), ['note', 'note', 'note', 'note']);
  assert.ok(runs.every(r => r.tool === ''));
  for (const [i, run] of runs.slice(1).entries()) assert.ok(run.started <= runs[i].started, 'newest first');
  assert.deepEqual(runs.map(r => r.title).sort(), [...prompts].sort());
  // The filters.
  const count = async (...args) => (await list(...args)).length;
  assert.equal(await count('--limit', '7'), 7);
  assert.equal(await count('--status', 'limited'), n / 8);
  assert.equal(await count('--status', 'failed'), n / 8);
  assert.equal(await count('--status', 'completed'), 6 * n / 8);
  assert.equal(await count('--search', 'DELEGATE'), n / 8);
  assert.equal(await count('--search', '日本'), n / 8);
  assert.equal(await count('--search', 'inner'), n / 16);
  assert.equal(await count('--search', 'note', '--limit', '3'), 3);
  assert.equal(await count('--since', '1h'), n);
  assert.equal(await count('--since', '0s'), 0);
  // Every line fits 80 columns; a wide character takes two.
  const text = (await p.harness(['runs', '--all'])).stdout.trimEnd().split('\n');
  assert.equal(text.length, n + 4);
  const width = line => [...line].reduce((n, c) => n + (/[\u3000-\u9fff]/.test(c) ? 2 : 1), 0);
  for (const line of text) assert.ok(width(line) <= 80 && !/ $/.test(line), line);
  assert.equal(text.filter(line => /completed +call note +0 turns +1 call$/.test(line)).length, 4);
  // Every view of every run.
  await pool(all, async run => {
    const page = `${p.state}/${run.id}.html`, about = `${run.id} ${run.title}`;
    const views = await Promise.all([[], ['--waterfall'], ['--all'], ['--json'], ['--html', page]].map(more => p.harness(['runs', 'show', run.id, ...more])));
    for (const v of views) assert.equal(v.status, 0, `${about}: ${v.stderr}`);
    const [shown, bars, , json] = views.map(v => v.stdout);
    const { events, status } = JSON.parse(json);
    assert.equal(status, run.status);
    const calls = events.filter(e => e.type === 'tool.started').length;
    assert.equal(calls, run.tool_calls, about);
    assert.equal(bars.split('\n').filter(Boolean).length, calls, `${about}: one bar for each call`);
    assert.equal(shown.split('\n').filter(l => /^ *[●✗…] /.test(l) && !/^ *… \d/.test(l)).length, calls, `${about}:\n${shown}`);
    assert.doesNotMatch(shown, /\u202e/);
    for (const line of shown.split('\n').filter(l => /^ *[●✗>]/.test(l))) assert.ok(width(line) <= 80, line);
    const html = readFileSync(page, 'utf8');
    assert.equal(html.split('<details class="call ').length - 1, calls, about);
    assert.doesNotMatch(html, /<b>|<script|\u202e/);
  }, 2);
  assert.equal((await p.harness(['runs', 'verify', '--all'])).status, 0);
  // Continues one of them, and the last one of the project's own agent.
  const old = runs.find(r => r.title === '8 plain');
  const more = await p.resume(old.id, ['-p', 'more']);
  assert.deepEqual([more.reply.run, more.reply.response, more.reply.turns], [old.id, 'heard more', 2]);
  const last = (await p.say('again', ['--continue'])).reply;
  assert.equal(last.run, runs[0].id);
  assert.equal(await count(), n);
  const pruned = JSON.parse((await p.harness(['runs', 'prune', '--older-than', '0s', '--json'])).stdout);
  assert.equal(pruned.removed.length, n + 4);
  assert.deepEqual(await list('--all'), []);
});
