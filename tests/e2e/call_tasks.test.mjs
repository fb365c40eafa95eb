// harness call --no-wait: the task continues after the program has returned, and other processes query it.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { bin, environment, root, shell } from './harness.mjs';
import { caller, hook, tool } from './calls.mjs';

// Runs until the file `go` exists.
const patient = (end = 'return "late"', head = 'async: true') =>
  tool(`for i in range(6000):\n    if fs.exists("go"):\n        break\n    sleep(0.01)\n${end}`, `timeout_ms: 60000\n${head}`);
const files = { 'harness.md': '---\nlimits: {}\n---\n', '.harness/tools/b.md': patient() };
const ask = (p, what, id, more = {}) => p.run(['call', what, JSON.stringify({ task_id: id, ...more })]);
const value = r => JSON.parse(r.stdout);

// Starts the tool as a background task; returns the task's id and the process that runs it.
function begin(p, name = 'b', args = {}, flags = []) {
  const r = p.call(name, args, ['--no-wait', ...flags]);
  assert.equal(r.status, 0, r.stdout + r.stderr);
  assert.match(r.task_id, /^task_/);
  assert.deepEqual(r.value, { task_id: r.task_id, status: 'running' });
  const pid = p.events('run.started')[0].data.pid;
  process.kill(pid, 0);                                            // it is alive
  return { id: r.task_id, pid, run: p.events('run.started')[0].run };
}
const runs = p => JSON.parse(p.run(['runs', '--all', '--json']).stdout);
async function ended(pid) {
  for (let i = 0; i < 1000; i++) {
    try { process.kill(pid, 0); } catch { return; }
    await wait(10);
  }
  assert.fail(`process ${pid} is still there`);
}

test('an id at once; another process polls, waits and gets the result', async t => {
  const p = caller(t, { ...files, '.harness/hooks/h.md': hook('tool.post', 'return modify(dict(payload, result = payload["result"] + "!")) if payload["name"] == "b" else allow()') });
  const { id, pid, run } = begin(p);
  assert.deepEqual(value(ask(p, 'task_poll', id)), { task_id: id, status: 'running' });
  assert.deepEqual(value(ask(p, 'task_await', id, { timeout_ms: 30 })), { task_id: id, status: 'running' });
  assert.equal(runs(p).find(r => r.id === run).status, 'running');
  p.add({ go: '' });
  const done = { task_id: id, status: 'done', result: 'late!' };
  assert.deepEqual(value(ask(p, 'task_await', id)), done);
  await ended(pid);
  assert.deepEqual(value(ask(p, 'task_poll', id)), done);
  assert.equal(runs(p).find(r => r.id === run).status, 'completed');
});

function terminal(p, steps, args) {
  const out = spawnSync('python3', [join(root, 'tests/e2e/terminal.py'), bin, '-C', p.dir, 'call', ...args, '--no-wait'],
    { input: JSON.stringify(steps), encoding: 'utf8', timeout: 90000, env: { ...environment, TERM: 'xterm', ...p.env } });
  const r = JSON.parse(out.stdout);
  assert.equal(r.missing, null, r.output);
  return r;
}

test('it keeps no pipe or terminal open', async t => {
  const p = caller(t, files);
  const env = { ...p.env };
  const piped = shell(`id=$("$HARNESS" -C "${p.dir}" call b --no-wait 2>&1 | cat); echo "got $id"`, { env, timeout: 20000 });
  assert.match(piped.stdout, /^got \{"task_id":"task_/);
  const shown = terminal(p, [['', 'running']], ['b']);
  assert.equal(shown.status, 0);
  p.add({ go: '' });
  for (const text of [piped.stdout, shown.output])
    assert.equal(value(ask(p, 'task_await', /task_[0-9a-f]{8}_\d+/.exec(text)[0])).status, 'done');
});

test('on a terminal the call is confirmed before it is detached; the task itself cannot ask', async t => {
  const p = caller(t, { ...files, '.harness/tools/b.md': patient('return ask("Well?", {"type": "object", "properties": {}})["action"]', 'async: true\nconfirm: true') });
  assert.equal(terminal(p, [['', 'n no'], ['\x03', '']], ['b']).status, 130);
  assert.equal(terminal(p, [['', 'n no'], ['n\n', 'the user declined']], ['b']).status, 1);
  const shown = terminal(p, [['', 'n no'], ['y\n', 'running']], ['b']);
  assert.equal(shown.status, 0);
  p.add({ go: '' });
  const id = /task_[0-9a-f]{8}_\d+/.exec(shown.output)[0];
  assert.deepEqual(value(ask(p, 'task_await', id)), { task_id: id, status: 'done', result: 'cancel' });
});

test('the task of a dead process does not stay running for ever', async t => {
  const p = caller(t, { ...files, '.harness/tools/c.md': tool('exec.run("sh", ["-c", "echo $$ > pid; sleep 60; touch after"], timeout_ms = 60000)', 'async: true\ntimeout_ms: 60000') });
  const { id, pid, run } = begin(p, 'c', {}, ['--yes']);
  for (let i = 0; i < 1000 && !p.has('pid'); i++) await wait(10);
  process.kill(pid, 'SIGKILL');
  await ended(pid);
  const lost = { task_id: id, status: 'failed', result: { error: 'interrupted: outcome unknown' } };
  assert.deepEqual(value(ask(p, 'task_poll', id)), lost);
  assert.deepEqual(value(ask(p, 'task_await', id)), lost);
  assert.deepEqual(value(ask(p, 'task_cancel', id)), lost);
  assert.equal(runs(p).find(r => r.id === run).status, 'interrupted');
  assert.equal(p.has('after'), false);
});

test('another process cancels it', async t => {
  const p = caller(t, { ...files, '.harness/tools/b.md': patient('fs.write("after", "1")\nreturn 1') });
  const { id, pid } = begin(p);
  assert.equal(ask(p, 'task_cancel', id).status, 0);
  assert.equal(value(ask(p, 'task_await', id)).status, 'cancelled');
  await ended(pid);
  assert.equal(p.has('after'), false);
  assert.equal(value(ask(p, 'task_poll', id)).status, 'cancelled');
});

test('a signal to the working process cancels too', async t => {
  const p = caller(t, files);
  const { id, pid } = begin(p);
  process.kill(pid, 'SIGTERM');
  await ended(pid);
  assert.equal(value(ask(p, 'task_poll', id)).status, 'cancelled');
});

test('failures, refusals, and tools that are not background tools', async t => {
  const p = caller(t, { ...files, '.harness/tools/f.md': patient('fail("no luck")'), '.harness/tools/now.md': tool('return 5'), '.harness/tools/d.md': tool('return 1', 'async: true\nconfirm: true') });
  const { id } = begin(p, 'f');
  p.add({ go: '' });
  assert.deepEqual(value(ask(p, 'task_await', id)), { task_id: id, status: 'failed', result: { error: 'fail: no luck' } });
  assert.deepEqual([p.call('now', {}, ['--no-wait']).value, p.call('now', {}, ['--no-wait']).status], [5, 0]);
  const refused = p.call('d', {}, ['--no-wait']);
  assert.deepEqual([refused.status, refused.error.step], [1, 'confirm']);
  assert.equal(p.run(['call', 'missing', '--no-wait']).status, 1);
  assert.equal(p.run(['call', 'b', '{', '--no-wait']).status, 1);
  const kept = p.run(['call', 'b', '--no-wait', '--ephemeral']);
  assert.equal(kept.status, 2);
  assert.match(kept.stderr, /--no-wait .*--ephemeral/);
  const none = ask(p, 'task_poll', 'task_00000000_1');
  assert.equal(none.status, 1);
  assert.match(none.stdout, /no task has the id/);
});

test('only the user at the command line can query tasks of other runs', async t => {
  const p = caller(t, { ...files, 'harness.md': '---\nmeta: { enabled: true }\n---\n', '.harness/tools/peek.md': tool('return task.poll(args["id"])'),
    '.harness/tools/through.md': tool('return meta.call_tool("task_poll", {"task_id": args["id"]})') });
  const { id } = begin(p);
  assert.match(p.call('peek', { id }).error.message, /no task of this run/);
  assert.match(JSON.stringify(p.call('through', { id }).value), /no task of this run/);
  p.add({ go: '' });
  assert.equal(value(ask(p, 'task_await', id)).status, 'done');
});
