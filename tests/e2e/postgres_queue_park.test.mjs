// Queued runs that need a user: the run is parked without a process until a question is answered, and then makes exactly that call.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { control, queued, sql, until } from './queue.mjs';
import { harness, scripted as plain } from './agents.mjs';
import { hook, tool } from './calls.mjs';

const shared = 'queue: { workspace: shared }';
const scripted = (script, head = '') => plain(script, `${shared}\n${head}`);
const danger = (head = '', body = 'fs.append("effects.log", args["what"] + "\\n")\nreturn "did " + args["what"]') =>
  tool(body, `confirm: true\n${head}${head ? '\n' : ''}parameters:\n  what: { type: string, required: true }`);
// One call of danger for each word of the prompt, in one reply; then what became of them.
const model = `
def reply(messages, tools):
    done = [m["content"] for m in messages if m["role"] == "tool"]
    if done:
        return {"text": "got " + "; ".join(done)}
    return {"tool_calls": [{"name": "danger", "arguments": {"what": w}} for w in messages[-1]["content"].split(" ")]}
`;
const files = { ...scripted(model), '.harness/tools/danger.md': danger() };

const open = async p => JSON.parse((await p.harness(['approvals', '--json'])).stdout);
const approve = (p, id, flags = []) => p.harness(['approvals', 'approve', id, '--yes', ...flags]);
const response = async (p, id) => (await p.show(id)).events.findLast(e => e.type === 'turn.ended').data.response;

// A run that is parked, and its only question.
async function parked(p, text = 'x', flags = []) {
  const id = await p.put(text);
  assert.deepEqual(await p.once(flags), { run: id, status: 'waiting' });
  const [q, ...more] = await open(p);
  assert.deepEqual([q.run, more], [id, []]);
  return { id, q };
}

test('a run that needs a user has no process; the answer makes the call, once', async t => {
  const p = queued(t, files);
  const { id, q } = await parked(p);
  assert.deepEqual([p.state(id), (await p.one(id)).status, q.waiting, q.expires], ['ready', 'waiting', true, null]);
  assert.match((await p.harness(['runs', '--status', 'waiting'])).stdout, /waiting {2,}x/);
  const workers = await p.harness(['workers']);
  assert.match(workers.stderr, /1 run waits for an answer: harness approvals/);
  assert.equal(workers.stdout, '');
  assert.doesNotMatch((await p.harness(['approvals'])).stdout, /interrupted/);
  assert.match((await p.harness(['runs', 'say', id, 'x'])).stderr, /it is waiting \(harness approvals shows/);
  assert.equal((await p.harness(['runs', 'resume', id])).status, 1);
  assert.equal(await p.once(), null);                       // no worker takes it
  assert.equal((await approve(p, q.id)).status, 0);
  assert.equal((await p.one(id)).status, 'queued');
  assert.deepEqual(await p.once(), { run: id, status: 'completed' });
  assert.deepEqual([p.effects(), await response(p, id)], [['x'], 'got did x']);
  const { events } = await p.show(id);
  assert.equal(events.filter(e => e.type === 'tool.executing').length, 1);
  assert.match(events.find(e => e.type === 'approval.answered').data.by, /command line, uid \d+/);
  assert.equal((await p.harness(['runs', 'verify', '--all'])).status, 0);
  assert.equal((await p.harness(['workers'])).stderr.includes('waits'), false);
  const late = await approve(p, q.id);
  assert.equal(late.status, 1);
  assert.match(late.stderr, /was answered already, by command line/);
});

test('a parked run takes no place: the worker goes on with others, and continues it after the answer', async t => {
  const p = queued(t, { ...files, 'model.star': `
def reply(messages, tools):
    if messages[-1]["role"] == "user" and messages[-1]["content"] == "plain":
        return {"text": "plain"}
${model.trimStart().split('\n').slice(1).join('\n')}` });
  const w = p.worker();
  const id = await p.put('x');
  await until('the question', async () => (await open(p)).length && p.status(id) === 'waiting', { also: () => w.out });
  const other = await p.put('plain');
  await until('the other run', () => p.state(other) === 'ended', { also: () => w.out });
  const waits = p.begin(['run', '-p', 'y', '--queue', '--wait']);
  await until('the message of --wait', () => /run \w+ waits for an answer: harness approvals/.test(waits.out), { also: () => waits.out + w.out });
  const both = await open(p);
  assert.equal(both.length, 2);
  for (const q of both) assert.equal((await approve(p, q.id)).status, 0);
  assert.deepEqual([await waits.ended, waits.result], [0, 'got did y\n'], waits.out);
  await until('the first run', () => p.state(id) === 'ended', { also: () => w.out });
  assert.deepEqual(p.effects().sort(), ['x', 'y']);
});

test('a denial reaches the model; other arguments are asked about again', async t => {
  const p = queued(t, files);
  const { id, q } = await parked(p);
  assert.equal((await p.harness(['approvals', 'deny', q.id, '--because', 'not today'])).status, 0);
  assert.deepEqual(await p.once(), { run: id, status: 'completed' });
  assert.match(await response(p, id), /the user declined danger: not today/);
  const next = await parked(p, 'a');
  assert.equal((await approve(p, next.q.id, ['--args', '{"what":"b"}'])).status, 0);
  assert.deepEqual(await p.once(), { run: next.id, status: 'waiting' });
  const [again] = await open(p);
  assert.deepEqual([again.args, again.id === next.q.id], [{ what: 'b' }, false]);
  assert.equal((await approve(p, again.id)).status, 0);
  assert.deepEqual(await p.once(), { run: next.id, status: 'completed' });
  assert.deepEqual([p.effects(), await response(p, next.id)], [['b'], 'got did b\n[the user changed the arguments of this call to {"what":"b"}]']);
});

test('an approval holds for the tool and the project as they were', async t => {
  const p = queued(t, files);
  const changes = {
    'the tool': () => writeFileSync(join(p.dir, '.harness/tools/danger.md'), danger('', 'fs.append("effects.log", "changed\\n")\nreturn "changed"')),
    'the project': () => writeFileSync(join(p.dir, 'harness.md'), `${files['harness.md']}\nBe careful.\n`),
  };
  for (const [what, change] of Object.entries(changes)) {
    const { id, q } = await parked(p);
    assert.equal((await approve(p, q.id)).status, 0);
    await p.settle();
    change();
    assert.deepEqual(await p.once(), { run: id, status: 'waiting' }, what);
    const [again] = await open(p);
    assert.notEqual(again.id, q.id);
    assert.deepEqual(p.effects(), []);
    assert.equal((await p.harness(['approvals', 'deny', again.id])).status, 0);
    assert.deepEqual(await p.once(), { run: id, status: 'completed' });
    assert.match(await response(p, id), /declined/);
  }
  // A question that is still open is replaced.
  const { id, q } = await parked(p);
  writeFileSync(join(p.dir, 'harness.md'), files['harness.md']);
  sql(`UPDATE harness.runs SET status = 'queued', wake_at = now() WHERE id = '${id}'`);          // as after an answer to another question
  assert.deepEqual(await p.once(), { run: id, status: 'waiting' });
  assert.deepEqual((await open(p)).map(x => x.id === q.id), [false]);
  assert.deepEqual(p.effects(), []);
});

test('runs cancel ends a parked run without a process, and an answer comes too late', async t => {
  const p = queued(t, files);
  const { id, q } = await parked(p);
  assert.equal((await p.harness(['runs', 'cancel', id])).status, 0);
  assert.deepEqual([p.state(id), (await p.one(id)).status, p.kinds(id).at(-1)], ['ended', 'cancelled', 'run.ended']);
  assert.deepEqual(await open(p), []);
  const late = await approve(p, q.id);
  assert.equal(late.status, 1);
  assert.match(late.stderr, /was withdrawn: the call that asked has ended/);
  assert.equal(await p.once(), null);
  assert.deepEqual(p.effects(), []);
});

test('approvals.hold: a question that is not answered in time is refused, and takes no answer', async t => {
  const p = queued(t, { ...scripted(model, 'approvals: { hold: 1s }'), '.harness/tools/danger.md': danger() });
  const { id, q } = await parked(p);
  assert.notEqual(q.expires, null);
  await until('the end of the time', () => sql(`SELECT to_timestamp(expires / 1e9) < now() FROM harness.approvals WHERE id = '${q.id}'`) === 't');
  const late = await approve(p, q.id);
  assert.equal(late.status, 1);
  assert.match(late.stderr, /has expired: the call will be refused/);
  assert.deepEqual(await until('the worker takes it', () => p.once()), { run: id, status: 'completed' });
  assert.match(await response(p, id), /no answer was given in time to the question about danger/);
  assert.deepEqual([p.effects(), await open(p)], [[], []]);
  const never = queued(t, { ...scripted(model, 'approvals: { hold: 0s }'), '.harness/tools/danger.md': danger() });
  const other = await never.put('x');
  assert.deepEqual(await never.once(), { run: other, status: 'completed' });
  assert.match(await response(never, other), /no answer was given in time/);
});

test('a question below a script, or about a secret, is held by the process', async t => {
  const nested = { ...scripted(model.replace('"danger"', '"outer"')), '.harness/tools/danger.md': danger(),
    '.harness/tools/outer.md': tool('return meta.call_tool("danger", {"what": args["what"]})', 'parameters:\n  what: { type: string, required: true }') };
  nested['harness.md'] = nested['harness.md'].replace('queue:', 'meta: { enabled: true }\nqueue:');
  const secret = { ...scripted(model, 'secrets: { key: { env: PARK_KEY } }'), '.harness/tools/danger.md': danger() };
  for (const [what, all, text] of [['nested', nested, 'x'], ['secret', secret, 'hunter2-hunter2']]) {
    const p = queued(t, all, { PARK_KEY: 'hunter2-hunter2' });
    const id = await p.put('x');
    sql(`UPDATE harness.runs SET job = convert_to('{"prompt":"${text}"}', 'UTF8') WHERE id = '${id}'`);
    const w = p.worker(['--once', '--json']);
    const [q] = await until('the question', async () => { const list = await open(p); return list.length && list; }, { also: () => w.out });
    assert.notEqual(q.expires, null, what);
    await until('a look of the process', () => sql('SELECT now() > to_timestamp(' + Date.parse(q.asked) / 1000 + ") + interval '1 second'") === 't');
    assert.deepEqual([p.state(id), w.over], ['taken', undefined], what);
    assert.equal((await approve(p, q.id)).status, 0);
    assert.equal(await w.ended, 0, w.out);
    assert.deepEqual([JSON.parse(w.result), p.effects()], [{ run: id, status: 'completed' }, [text]], what);
  }
});

test('two calls that ask: each answer continues the run, and each call is made once', async t => {
  const p = queued(t, { ...files, '.harness/tools/danger.md': danger('safety: { parallel_safe: true }') });
  const id = await p.put('a b');
  assert.deepEqual(await p.once(), { run: id, status: 'waiting' });
  const both = await open(p);
  assert.deepEqual(both.map(q => q.args.what).sort(), ['a', 'b']);
  const [a, b] = ['a', 'b'].map(what => both.find(q => q.args.what === what));
  assert.equal((await approve(p, b.id)).status, 0);
  assert.deepEqual(await p.once(), { run: id, status: 'waiting' });
  assert.deepEqual([p.effects(), (await open(p)).map(q => q.id)], [['b'], [a.id]]);
  assert.equal((await approve(p, a.id)).status, 0);
  assert.deepEqual(await p.once(), { run: id, status: 'completed' });
  assert.deepEqual([p.effects(), await response(p, id)], [['b', 'a'], 'got did a; did b']);
});

test('a parked run still knows which files it has read', async t => {
  const settings = harness({ provider: 'script', name: 'scripted', script: 'model.star' }, `${shared}\nbuiltin_tools: [read, write]\nlimits: { confirm: [mutating] }`);
  const p = queued(t, { 'harness.md': settings, 'note.txt': 'old\n', 'model.star': `
def reply(messages, tools):
    n = len([m for m in messages if m["role"] == "tool"])
    if n == 0:
        return {"tool_calls": [{"name": "read", "arguments": {"path": "note.txt"}}]}
    if n == 1:
        return {"tool_calls": [{"name": "write", "arguments": {"path": "note.txt", "content": "new\\n"}}]}
    return {"text": messages[-1]["content"]}
` });
  const { id, q } = await parked(p);
  assert.equal((await approve(p, q.id)).status, 0);
  assert.deepEqual(await p.once(), { run: id, status: 'completed' });
  assert.equal(p.text('note.txt'), 'new\n', await response(p, id));
});

test('a background task keeps the process until it has ended', async t => {
  const p = queued(t, { ...files, '.harness/tools/slow.md': tool('for i in range(600):\n    if fs.exists("go"):\n        break\n    sleep(0.05)\nreturn "slow"', 'async: true'),
    'model.star': `
def reply(messages, tools):
    n = len([m for m in messages if m["role"] == "tool"])
    if n == 0:
        return {"tool_calls": [{"name": "slow", "arguments": {}}]}
    if n == 1:
        return {"tool_calls": [{"name": "danger", "arguments": {"what": "x"}}]}
    return {"text": messages[-1]["content"]}
` });
  const id = await p.put('x');
  const w = p.worker(['--once', '--json']);
  const [q] = await until('the question', async () => { const list = await open(p); return list.length && list; }, { also: () => w.out });
  await until('a look of the process', () => sql('SELECT now() > to_timestamp(' + Date.parse(q.asked) / 1000 + ") + interval '1 second'") === 't');
  assert.deepEqual([p.state(id), w.over], ['taken', undefined]);
  writeFileSync(join(p.dir, 'go'), '');
  assert.equal(await w.ended, 0, w.out);
  assert.deepEqual([JSON.parse(w.result), p.status(id)], [{ run: id, status: 'waiting' }, 'waiting']);
});

// ---- faults ----

test('two answers at once, and two workers: one answer counts, and the call is made once', async t => {
  const p = queued(t, files);
  for (let i = 0; i < 3; i++) {
    const { id, q } = await parked(p, `n${i}`);
    const answers = await Promise.all([approve(p, q.id), p.harness(['approvals', 'deny', q.id]), approve(p, q.id)]);
    assert.deepEqual(answers.map(r => r.status).sort(), [0, 1, 1]);
    const workers = [p.worker(['--once', '--json']), p.worker(['--once', '--json'])];
    for (const w of workers) assert.equal(await w.ended, 0, w.out);
    assert.equal(p.state(id), 'ended');
    const yes = answers[1].status !== 0;
    assert.equal(p.effects().filter(x => x === `n${i}`).length, yes ? 1 : 0);
  }
});

test('killed between the answer and the call: another worker makes it, once', async t => {
  const p = queued(t, { ...files, '.harness/hooks/slow.md': hook('tool.pre', 'sleep(0.6)\nreturn allow()') });
  const { id, q } = await parked(p);
  assert.equal((await approve(p, q.id)).status, 0);
  const first = p.worker(['--once']);
  await until('the takeover', () => p.kinds(id).filter(x => x === 'run.resumed').length === 1, { also: () => first.out });
  first.child.kill('SIGKILL');
  await first.ended;
  assert.deepEqual(p.effects(), []);
  const second = p.worker();
  await until('the end of the run', () => p.state(id) === 'ended', { also: () => second.out });
  assert.deepEqual([p.effects(), await response(p, id)], [['x'], 'got did x']);
});

test('the process is killed while it holds a question: the next worker parks the run with the same one', async t => {
  const p = queued(t, files);
  const { id, q } = await parked(p);
  sql(`UPDATE harness.runs SET status = 'queued', wake_at = now() WHERE id = '${id}'`);          // as after an answer to another question
  const first = p.worker(['--once']);
  await until('the second question', () => p.kinds(id).filter(x => x === 'approval.asked').length === 2, { also: () => first.out });
  first.child.kill('SIGKILL');
  await first.ended;
  const second = p.worker();
  await until('the run is parked', () => p.status(id) === 'waiting', { also: () => second.out });
  assert.deepEqual((await open(p)).map(x => x.id), [q.id]);
  assert.equal((await approve(p, q.id)).status, 0);
  await until('the end of the run', () => p.state(id) === 'ended', { also: () => second.out });
  assert.deepEqual(p.effects(), ['x']);
});

test('the server restarts while a run is parked', async t => {
  const p = queued(t, files);
  const { id, q } = await parked(p);
  control('restart');
  assert.equal((await approve(p, q.id)).status, 0);
  assert.deepEqual(await p.once(), { run: id, status: 'completed' });
  assert.deepEqual(p.effects(), ['x']);
});
