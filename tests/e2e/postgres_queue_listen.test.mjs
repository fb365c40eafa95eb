// Hints of the database: workers that look once an hour start a run at once. Behind a pooler there are no hints, and looking is enough.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createConnection, createServer } from 'node:net';
import { join } from 'node:path';
import { queued, server, sql, until } from './queue.mjs';
import { effect, scripted } from './agents.mjs';
import { tool } from './calls.mjs';
import { bin, environment, folder, undo } from './harness.mjs';

const files = {
  ...scripted(`
def reply(messages, tools):
    if messages[-1]["role"] == "tool":
        return {"text": messages[-1]["content"]}
    return {"tool_calls": [{"name": "effect", "arguments": {"n": 1}}]}
`, 'queue: { workspace: shared }'),
  '.harness/tools/effect.md': effect('confirm: true'),
};
const listeners = () => sql("SELECT coalesce(string_agg(pid::text, ' '), '') FROM pg_stat_activity WHERE query LIKE 'LISTEN harness_%'");

test('a queued run and an answer wake a worker that looks once an hour', async t => {
  const p = queued(t, files);
  const w = p.worker(['--poll', '1h']);
  await until('it listens', () => listeners() !== '', { also: () => w.out });
  const id = await p.put('go');
  await until('the question', () => p.status(id) === 'waiting', { also: () => w.out });
  const [q] = JSON.parse((await p.harness(['approvals', '--json'])).stdout);
  assert.equal((await p.harness(['approvals', 'approve', q.id, '--yes'])).status, 0);
  await until('the end of the run', () => p.state(id) === 'ended', { also: () => w.out });
  assert.deepEqual(p.effects(), ['1']);
  // The connection is lost: the worker opens another one.
  const before = listeners();
  sql(`SELECT pg_terminate_backend(${before})`);
  await until('it listens again', () => ![before, ''].includes(listeners()), { also: () => w.out });
  const next = await p.put('go');
  await until('the next question', () => p.status(next) === 'waiting', { also: () => w.out });
  w.child.kill('SIGTERM');
  assert.equal(await w.ended, 0, w.out);
});

// As a pooler does, it announces another process of the server than the one that answers.
function pooler(t) {
  const dir = folder(t), sockets = new Set();
  const proxy = createServer(client => {
    const to = createConnection(join(server, '.s.PGSQL.5432'));
    let head = Buffer.alloc(0);
    for (const s of [client, to]) { sockets.add(s); s.on('error', () => {}); s.on('close', () => { client.destroy(); to.destroy(); }); }
    client.pipe(to);
    to.on('data', data => {
      if (head === null) return client.write(data);
      head = Buffer.concat([head, data]);
      for (let at = 0; at + 5 <= head.length; at += 1 + head.readInt32BE(at + 1)) {
        if (head[at] !== 0x4b || at + 13 > head.length) continue;
        head.writeInt32BE(1, at + 5);
        client.write(head);
        head = null;
        break;
      }
    });
  });
  proxy.listen(join(dir, '.s.PGSQL.5432'));
  undo(t, () => { for (const s of sockets) s.destroy(); proxy.close(); });
  return dir;
}

test('behind a pooler a worker does not listen, and works', async t => {
  const p = queued(t, files, { HARNESS_LEASE: '30' });
  const through = { HARNESS_STATE: p.env.HARNESS_STATE.replace(server, pooler(t)) };
  assert.notEqual(through.HARNESS_STATE, p.env.HARNESS_STATE);
  const w = p.worker(['--approve', 'effect'], through);
  const id = await p.put('go');
  await until('the end of the run', async () => (await p.one(id)).status === 'completed', { also: () => w.out });          // sql() would stop the proxy meanwhile
  assert.deepEqual(p.effects(), ['1'], w.out);
  await until('no connection listens', () => listeners() === '');
});

test('--poll is a time', async t => {
  const p = queued(t, files);
  for (const [args, expected] of [[['--poll', 'often'], /--poll: "often" is not a time/], [['--poll', '0s'], /--poll: "0s" is not a time/], [['--once', '--poll', '1s'], /--poll has no effect/]]) {
    const r = await p.harness(['worker', ...args]);
    assert.equal(r.status, 2, r.stderr);
    assert.match(r.stderr, expected);
  }
});

test('at a terminal --wait shows each step when it has ended, then the answer', async t => {
  const p = queued(t, { ...files,
    '.harness/tools/look.md': tool('return "seen " + args["what"]', 'parameters:\n  what: { type: string, required: true }'),
    '.harness/agents/kid.md': '---\ndescription: looks\n---\nKid.\n',
    'model.star': `
def reply(messages, tools):
    n = len([m for m in messages if m["role"] == "tool"])
    if messages[0]["content"].startswith("Kid."):
        return {"text": "kid is done"} if n else {"tool_calls": [{"name": "look", "arguments": {"what": "inside"}}]}
    if n == 0:
        return {"text": "First I look.", "tool_calls": [{"name": "look", "arguments": {"what": "around"}}]}
    if n == 1:
        return {"tool_calls": [{"name": "delegate", "arguments": {"agent": "kid", "task": "look"}}]}
    if n == 2:
        return {"tool_calls": [{"name": "effect", "arguments": {"n": 1}}]}
    return {"text": "the end"}
` });
  const w = p.worker();
  const pty = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';
  const child = spawn('python3', ['-c', pty, bin, '-C', p.dir, 'run', '-p', 'go', '--queue', '--wait'], { env: { ...environment, TERM: 'xterm', ...p.env }, stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', d => { out += d; });
  const ended = new Promise(done => child.on('close', done));
  undo(t, async () => { child.kill('SIGKILL'); await ended; });
  await until('the message', () => out.includes('waits for an answer: harness approvals'), { also: () => out + w.out });
  for (const text of ['First I look.', 'seen around', 'delegate', 'seen inside']) assert.ok(out.includes(text), `${text} in ${out}`);
  assert.ok(!out.includes('the end'), out);
  const [q] = JSON.parse((await p.harness(['approvals', '--json'])).stdout);
  assert.equal((await p.harness(['approvals', 'approve', q.id, '--yes'])).status, 0);
  assert.equal(await ended, 0, out);
  for (const text of ['First I look.', 'seen around', 'seen inside', 'the end']) assert.equal(out.split(text).length, 2, `${text} once in ${out}`);
});
