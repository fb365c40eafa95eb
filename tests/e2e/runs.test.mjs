// Stored runs: verify, prune.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { scripted, talker } from './agents.mjs';
import { bin, environment } from './harness.mjs';

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
  assert.match(text.stderr, /3 runs of 5 are not what was written/);
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
  // One that is killed, and one at work.
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
