// Which calls may be made again: after kill -9 and resume, and by retry. Every combination of declarations, for a script that only
// reads and for one that can change something.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { bin, environment, root, run } from './harness.mjs';
import { scripted, talker } from './agents.mjs';
import { caller, tool } from './calls.mjs';

const flags = { read_only: [undefined, true, false], destructive: [undefined, true], spends_money: [undefined, true], idempotent: [undefined, true, false] };
const idempotency = [undefined, 'none', 'idempotent', 'key'];

// { read_only, destructive, spends_money, idempotent, idempotency }, each value or undefined.
function* combinations() {
  let all = [{}];
  for (const [flag, values] of Object.entries({ ...flags, idempotency })) all = all.flatMap(d => values.map(v => ({ ...d, [flag]: v })));
  yield* all;
}

const promised = d => d.idempotent === true || d.idempotency === 'idempotent' || d.idempotency === 'key';
const isError = (d, changes) => (d.idempotent === false && d.idempotency === 'idempotent')
  || (changes && (d.read_only === true || (d.idempotent === true && d.idempotency !== 'idempotent' && d.idempotency !== 'key')));
const mayRepeat = (d, changes) => promised(d)
  || !(changes || d.read_only === false || d.destructive || d.spends_money || d.idempotency === 'none' || d.idempotent === false);

// A name has at most 64 characters: "changes-read_f-dest_t-idemncy_key".
const short = { true: 't', false: 'f' };
const name = (d, changes) => [changes ? 'changes' : 'reads', ...Object.entries(d).filter(([, v]) => v !== undefined).map(([k, v]) => `${k.slice(0, 4)}${k.endsWith('ncy') ? 'ncy' : ''}_${short[v] ?? v}`)].join('-');
// parallel_safe lets all calls of one reply be in flight at the same moment; it says nothing about repeating.
const head = d => {
  const safety = Object.keys(flags).filter(k => d[k] !== undefined).map(k => `${k}: ${d[k]}`);
  return `${d.idempotency ? `idempotency: ${d.idempotency}\n` : ''}safety: { ${[...safety, 'parallel_safe: true'].join(', ')} }\n`;
};
const valid = [...combinations()].flatMap(d => [false, true].map(changes => ({ d, changes, name: name(d, changes) }))).filter(c => !isError(c.d, c.changes));

const waits = 'if fs.exists("second"):\n    return "again"\nsleep(100)\nreturn "first"';
const script = changes => (changes ? `fs.append("effects/" + args["me"], "x")\n${waits}` : waits);
const parameter = 'parameters:\n  me: { type: string, required: true }\n';

const model = names => `
NAMES = ${JSON.stringify(names)}

def reply(messages, tools):
    seen = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
    if not seen:
        return {"tool_calls": [{"name": n, "arguments": {"me": n}} for n in NAMES]}
    ids = [c["id"] for m in messages if m["role"] == "assistant" for c in m["tool_calls"]]
    return json.encode({n: seen[id] for n, id in zip(NAMES, ids)})
`;

const executing = log => (existsSync(log) ? readFileSync(log, 'utf8') : '').split('"tool.executing"').length - 1;

async function killAndResume(t, cases) {
  const p = talker(t, {
    ...scripted(model(cases.map(c => c.name)), `limits: { max_concurrency: ${cases.length}, max_tool_calls_per_turn: ${cases.length} }`), 'effects/keep': '',
    ...Object.fromEntries(cases.map(c => [`.harness/tools/${c.name}.md`, tool(script(c.changes), head(c.d) + parameter)])),
  });
  const child = spawn(bin, ['-C', p.dir, 'run', '-p', 'go', '--events', p.log], { env: { ...environment, ...p.env }, stdio: 'ignore' });
  const ended = new Promise(done => child.on('close', done));
  const effects = () => cases.filter(c => c.changes && p.has(`effects/${c.name}`)).length;
  const all = cases.filter(c => c.changes).length;
  for (let i = 0; i < 3000 && child.exitCode === null && (executing(p.log) < cases.length || effects() < all); i++) await wait(10);
  assert.equal(executing(p.log), cases.length, 'every call is in flight');
  child.kill('SIGKILL');
  await ended;
  p.add({ second: '' });
  const [{ id }] = await p.runs();
  const r = await p.resume(id);
  assert.equal(r.reply?.status, 'completed', r.stdout + r.stderr);
  const answers = JSON.parse(r.reply.response), { events } = await p.show(id);
  for (const c of cases) {
    const again = mayRepeat(c.d, c.changes), made = events.filter(e => e.type === 'tool.executing' && e.data.name === c.name).length;
    assert.equal(made, again ? 2 : 1, `${c.name} ran ${made} times`);
    assert.match(answers[c.name], again ? /^again$/ : /interrupted: outcome unknown/, c.name);
    if (c.changes) assert.equal(p.text(`effects/${c.name}`), again ? 'xx' : 'x', c.name);
  }
}

test('the combinations are all there, and both answers occur', () => {
  assert.equal([...combinations()].length, 144);
  const answers = valid.map(c => mayRepeat(c.d, c.changes));
  assert.ok(answers.filter(Boolean).length > 50 && answers.filter(a => !a).length > 50, `${answers.length}`);
});

const part = 48;
for (let at = 0; at < valid.length; at += part)
  test(`kill -9 during every combination, then resume: ${at} to ${Math.min(at + part, valid.length)} of ${valid.length}`, t => killAndResume(t, valid.slice(at, at + part)));

// Tools that are running when the process is killed, and changes of their files before the run is resumed.
const late = 'safety: { parallel_safe: true }\n', once = 'idempotency: none\nsafety: { spends_money: true, parallel_safe: true }\n', promise = `idempotency: idempotent\n${late}`;
const calls = (name, rest = waits) => tool(`meta.call_tool("${name}", {})\n${rest}`, promise);
const counted = (name, head) => tool(`fs.append("effects/${name}", "x")\nreturn 1`, head);
const waiting = (name, head) => tool(`fs.append("effects/${name}", "x")\n${waits}`, head);
const inner = {
  pay: counted('pay', once), safe: counted('safe', promise), middle: calls('pay', 'return 1'), mild: counted('mild', once), wild: counted('wild', promise), gone: counted('gone', promise),
};
const outer = {
  over_safe: [calls('safe'), true], over_pay: [calls('pay'), false], over_middle: [calls('middle'), false], over_mild: [calls('mild'), false],
  over_wild: [calls('wild'), false], over_gone: [calls('gone'), false],
  stays: [waiting('stays', promise), true], tamed: [waiting('tamed', once), false], untamed: [waiting('untamed', promise), false],
};
const edited = { mild: counted('mild', promise), wild: counted('wild', once), tamed: waiting('tamed', promise), untamed: waiting('untamed', once) };
const files = tools => Object.fromEntries(Object.entries(tools).map(([name, text]) => [`.harness/tools/${name}.md`, text]));

test('a call is repeated only if the calls inside it may be, by the definitions at the time and now', async t => {
  const names = Object.keys(outer), effects = { pay: 'xx', safe: 'x', mild: 'x', wild: 'x', gone: 'x', stays: 'x', tamed: 'x', untamed: 'x' };
  const p = talker(t, {
    ...scripted(model(names).replace('{"me": n}', '{}'), `meta: { enabled: true }\nlimits: { max_concurrency: 20, max_tool_calls_per_turn: 20 }`), 'effects/keep': '',
    ...files(inner), ...files(Object.fromEntries(names.map(name => [name, outer[name][0]]))),
  });
  const child = spawn(bin, ['-C', p.dir, 'run', '-p', 'go', '--events', p.log], { env: { ...environment, ...p.env }, stdio: 'ignore' });
  const ended = new Promise(done => child.on('close', done));
  const seen = () => Object.fromEntries(Object.keys(effects).map(name => [name, p.has(`effects/${name}`) ? p.text(`effects/${name}`) : '']));
  const done = () => (existsSync(p.log) ? readFileSync(p.log, 'utf8') : '').split('"tool.completed"').length - 1;
  for (let i = 0; i < 3000 && child.exitCode === null && (done() < 7 || Object.values(seen()).includes('')); i++) await wait(10);
  assert.deepEqual([seen(), done()], [effects, 7], 'every inner call has ended, every outer one is under way');
  for (const e of p.events('tool.executing')) assert.equal(e.data.repeatable, !['pay', 'mild', 'tamed'].includes(e.data.name), e.data.name);
  child.kill('SIGKILL');
  await ended;
  await p.settle();
  p.add({ second: '', ...files(edited) });
  rmSync(join(p.dir, '.harness/tools/gone.md'));
  const [{ id }] = await p.runs();
  const r = await p.resume(id);
  assert.equal(r.reply?.status, 'completed', r.stdout + r.stderr);
  const answers = JSON.parse(r.reply.response);
  for (const name of names) assert.match(answers[name], outer[name][1] ? /^again$/ : /interrupted: outcome unknown/, name);
  assert.deepEqual(seen(), { ...effects, safe: 'xx', stays: 'xx' });
});

test('retry asks the same rule', async t => {
  const names = valid.map(c => c.name);
  const failing = c => tool('return {"error": "busy", "status": 503}', `${head(c.d)}${parameter}retry: { max_attempts: 3, initial_backoff_ms: 1 }\n`)
    .replace('return {', c.changes ? 'fs.exists("x") or fs.write("x", "x")\n      return {' : 'return {');
  const p = talker(t, {
    ...scripted(model(names), `limits: { max_tool_calls: 10000, max_tool_calls_per_turn: 10000 }`),
    ...Object.fromEntries(valid.map(c => [`.harness/tools/${c.name}.md`, failing(c)])),
  });
  const r = await p.say('go');
  assert.equal(r.reply?.status, 'completed', r.stdout + r.stderr);
  for (const c of valid)
    assert.equal(p.events('tool.executing').filter(e => e.data.name === c.name).length, mayRepeat(c.d, c.changes) ? 3 : 1, c.name);
});

test('a declaration that contradicts the script or itself does not load', t => {
  const wrong = [...combinations()].flatMap(d => [false, true].map(changes => ({ d, changes, name: name(d, changes) }))).filter(c => isError(c.d, c.changes));
  assert.equal(wrong.length + valid.length, 288);
  const p = caller(t, Object.fromEntries(wrong.map(c => [`.harness/tools/${c.name}.md`, tool(script(c.changes), head(c.d) + parameter)])));
  const { status, stdout } = run(['-C', p.dir, 'validate', '--json']);
  assert.equal(status, 1);
  const problems = JSON.parse(stdout).problems.filter(e => e.severity === 'error').map(e => e.file);
  for (const c of wrong) assert.ok(problems.some(file => file.endsWith(`/${c.name}.md`)), c.name);
});

test('docs/reference/artifacts.md has the same table', () => {
  const page = readFileSync(join(root, 'docs/reference/artifacts.md'), 'utf8');
  const rows = page.split('| declared | the script only reads |')[1].split('\n\n')[0].split('\n').slice(2).map(line => line.split('|').slice(1, 4).map(s => s.trim()));
  assert.ok(rows.length > 10);
  for (const [declared, reads, changes] of rows) {
    const d = Object.fromEntries([...declared.matchAll(/`(\w+): (\w+)`/g)].map(([, k, v]) => [k, v === 'true' || (v === 'false' ? false : v)]));
    const say = c => (isError(d, c) ? 'error' : mayRepeat(d, c) ? 'yes' : 'no');
    assert.deepEqual([reads, changes], [say(false), say(true)], declared);
  }
});
