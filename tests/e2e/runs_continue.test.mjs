// Continuing earlier runs: harness run --continue, runs resume at a terminal, runs fork, a prompt as an argument.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { harness, scripted, talker } from './agents.mjs';
import { bin, environment, project } from './harness.mjs';

// Answers with the number of messages so far and the model's name in the system prompt; each reply costs one dollar.
const model = `
def reply(messages, tools):
    last = messages[-1]
    said = [m["content"] for m in messages if m["role"] == "user"]
    usage = {"input": 100, "output": 0}
    if last["role"] == "user" and last["content"].startswith("call "):
        return {"tool_calls": [{"name": last["content"][5:], "arguments": {}}], "usage": usage}
    if last["role"] == "tool":
        return {"text": "got " + last["content"][:40], "usage": usage}
    return {"text": messages[0]["content"].strip()[:7] + " heard " + ", ".join(said), "usage": usage}
`;
const files = {
  ...scripted(model),
  'harness.md': harness({ provider: 'script', name: 'first', script: 'model.star', price: '{ input: 10000, output: 0 }' },
    'models:\n  - { provider: script, name: second, script: model.star, price: { input: 10000, output: 0 } }'),
  '.harness/agents/other.md': '---\ndescription: Another agent.\n---\nOTHER agent.\n',
  '.harness/tools/big.md': '---\nparameters: {}\nscript: |\n  def run(args):\n      return "x" * 200000\n---\nBig.\n',
  '.harness/tools/ask.md': '---\nparameters: {}\nconfirm: true\nscript: |\n  def run(args):\n      fs.append("asked.txt", "1")\n      return "asked"\n---\nAsks.\n',
  '.harness/tools/wait.md': '---\nparameters: {}\nargv: [/bin/sleep, "60"]\n---\nWaits.\n',
};

function terminal(p, args, steps) {
  const r = spawnSync('python3', [new URL('terminal.py', import.meta.url).pathname, bin, '-C', p.dir, ...args],
    { encoding: 'utf8', env: { ...environment, TERM: 'xterm', NO_COLOR: '1', ...p.env }, input: JSON.stringify(steps), timeout: 120000 });
  assert.equal(r.status, 0, r.stderr);
  return JSON.parse(r.stdout);
}

test('--continue goes on with the last conversation of the project and agent', async t => {
  const p = talker(t, files);
  const none = await p.harness(['run', '--continue', '-p', 'x']);
  assert.equal(none.status, 1);
  assert.match(none.stderr, /there is no conversation to continue in this project/);
  const a = (await p.say('a')).reply, other = (await p.say('b', ['--agent', 'other'])).reply;
  assert.equal((await p.harness(['call', 'big', '{}'])).status, 0);              // not a conversation
  const more = (await p.say('c', ['--continue'])).reply;
  assert.equal(more.run, a.run);
  assert.equal(more.response, 'Be brie heard a, c');
  assert.deepEqual([more.turns, more.usage.usd], [2, 2]);                        // the cost is carried over
  const [first] = (await p.runs()).filter(r => r.id === a.run);
  assert.deepEqual([first.cost, first.turns], [2, 2]);
  const agent = (await p.say('d', ['--continue', '--agent', 'other'])).reply;
  assert.equal(agent.run, other.run);
  assert.equal(agent.response, 'OTHER a heard b, d');
  const resumed = (await p.resume(other.run, ['-p', 'e'])).reply;                // resume keeps the agent of the run
  assert.equal(resumed.response, 'OTHER a heard b, d, e');
  // Another project with the same state file has its own last run.
  const elsewhere = project(t, files);
  const r = await p.harness(['-C', elsewhere, 'run', '--continue', '-p', 'x'], { env: { HARNESS_TRUST: elsewhere } });
  assert.match(r.stderr, /no conversation to continue/);
});

test('a prompt as an argument: one job without a terminal, the first message at one', async t => {
  const p = talker(t, files);
  const job = await p.harness(['run', 'fix it']);
  assert.equal(job.status, 0, job.stderr);
  assert.equal(job.stdout, 'Be brie heard fix it\n');
  const both = await p.harness(['run', 'fix it', '-p', 'no']);
  assert.equal(both.status, 2);
  assert.match(both.stderr, /either as an argument or with -p/);
  assert.equal((await p.harness(['run', ' '])).status, 2);
  assert.equal((await p.harness(['run', 'fix', 'it'])).status, 2);
  const talk = terminal(p, ['run', 'fix it'], [['', 'heard fix it'], ['', '> '], ['and then\n', 'heard fix it, and then'], ['', '> '], ['\u0004', 'resume with: harness runs resume']]);
  assert.equal(talk.missing, null, talk.output);
  const left = terminal(p, ['run', 'only this'], [['', 'heard only this'], ['', '> '], ['\u0004', 'resume with: harness runs resume']]);
  assert.equal(left.missing, null, left.output);
  const runs = await p.runs();
  assert.deepEqual(runs.map(r => [r.title, r.turns]), [['only this', 1], ['fix it', 2], ['fix it', 1]]);
});

test('at a terminal the conversation so far is shown, and goes on', async t => {
  const p = talker(t, files);
  const { run } = (await p.say('call big')).reply;
  for (const args of [['runs', 'resume', run], ['run', '--continue'], ['runs', 'fork', run]]) {
    const r = terminal(p, args, [['', '> call big'], ['', '● big'], ['', 'got '], ['', 'so far: '], ['', ' call, $'], ['', '> '], ['next\n', 'heard call big'], ['', '> '], ['\u0004', 'resume with']]);
    assert.equal(r.missing, null, `${args}: ${r.output}`);
  }
  const quiet = await p.harness(['runs', 'resume', run, '-p', 'more']);          // for a program: only the answer
  assert.match(quiet.stdout, /^Be brie heard call big.*\n$/);
  assert.doesNotMatch(quiet.stderr, /● big/);
});

test('the cost of a run that is running or was killed is in the list', async t => {
  const p = talker(t, files);
  const child = spawn(bin, ['-C', p.dir, 'run', '-p', 'call wait'], { env: { ...environment, ...p.env }, stdio: 'ignore' });
  let run;
  for (let i = 0; i < 600 && !run?.tool_calls; i++) [run] = await p.runs(), await sleep(50);
  assert.deepEqual([run.status, run.cost, run.turns], ['running', 1, 1]);
  const dead = new Promise(done => child.on('exit', done));
  child.kill('SIGKILL');
  await dead;
  [run] = await p.runs();
  assert.deepEqual([run.status, run.cost], ['interrupted', 1]);
  const r = await p.resume(run.id);
  assert.match(r.reply.response, /^got .*interrupted/);
  assert.equal(r.reply.usage.usd, 2);
  assert.equal((await p.runs())[0].cost, 2);
});

test('an answer that is due comes before a new prompt', async t => {
  const p = talker(t, files);
  const child = spawn(bin, ['-C', p.dir, 'run', '-p', 'call wait'], { env: { ...environment, ...p.env }, stdio: 'ignore' });
  let run;
  for (let i = 0; i < 600 && !run?.tool_calls; i++) [run] = await p.runs(), await sleep(50);
  const dead = new Promise(done => child.on('exit', done));
  child.kill('SIGKILL');
  await dead;
  const r = await p.harness(['run', '--continue', '-p', 'more']);
  assert.equal(r.status, 0, r.stderr);
  assert.match(r.stdout, /^got .*interrupted.*\nBe brie heard call wait, more\n$/);
});

test('a fork begins with the turns of another run, and changes nothing of it', async t => {
  const p = talker(t, files);
  const { run } = (await p.say('one')).reply;
  await p.resume(run, ['-p', 'call big']);
  await p.resume(run, ['-p', 'three']);
  const before = await p.show(run);
  const fork = async (...args) => JSON.parse((await p.harness(['runs', 'fork', run, '--json', ...args])).stdout);
  const second = await fork('--at', '2', '-p', 'other');
  assert.notEqual(second.run, run);
  assert.match(second.response, /heard one, call big, other$/);
  assert.equal(second.usage.usd, 4);
  const first = await fork('--at', '1', '-p', 'again');
  assert.match(first.response, /heard one, again$/);
  assert.match((await fork('-p', 'last')).response, /heard one, call big, three, last$/);
  assert.deepEqual((await p.show(run)).events, before.events);
  // The origin is an event, and the chain of the new run is whole.
  const events = (await p.show(second.run)).events;
  const origin = events.find(e => e.type === 'run.forked');
  assert.deepEqual([origin.data.from, origin.data.turn], [run, 2]);
  assert.deepEqual(events.map(e => e.seq), events.map((_, i) => i + 1));
  assert.deepEqual(events.slice(0, origin.seq - 1).map(e => e.type), before.events.slice(0, origin.seq - 1).map(e => e.type));
  assert.equal((await p.harness(['runs', 'verify', '--all'])).status, 0);
  // The fork has its own copy of the artifact, so the earlier run may be removed.
  const key = e => e.find(x => x.type === 'tool.completed').data.artifacts[0];
  assert.notEqual(key(events), key(before.events));
  const text = (await p.harness(['runs', 'show', second.run])).stdout;
  assert.match(text, new RegExp(`! forked from run ${run}`));
  // Another model and another agent.
  const model = await fork('--at', '1', '-p', 'm', '--model', 'second');
  assert.ok((await p.show(model.run)).events.some(e => e.type === 'completion.started' && e.data.model === 'second'));
  assert.equal((await fork('--at', '1', '-p', 'x', '--agent', 'other')).response, 'OTHER a heard one, x');
  assert.deepEqual(Object.keys(await fork()), ['run']);
  const bad = await p.harness(['runs', 'fork', run, '--at', '9']);
  assert.equal(bad.status, 1);
  assert.match(bad.stderr, /has no turn 9 that ended/);
  const count = (await p.runs()).length;
  assert.equal((await p.harness(['runs', 'fork', run, '-p', 'x', '--model', 'nope'])).status, 1);
  assert.equal((await p.runs()).length, count);                                  // a fork that cannot start leaves no run
  for (const at of ['0', '-1', 'x']) assert.equal((await p.harness(['runs', 'fork', run, '--at', at])).status, 1, at);
});

test('a fork inherits no approval', async t => {
  const p = talker(t, files);
  const talk = terminal(p, ['run', 'call ask'], [['', 'n no'], ['t\n', 'got asked'], ['', '> '], ['call ask\n', 'got asked'], ['', '> '], ['\u0004', 'resume with']]);
  assert.equal(talk.missing, null, talk.output);                                 // t: this tool for the session, so it is asked once
  const [{ id }] = await p.runs();
  const forked = await p.harness(['runs', 'fork', id, '-p', 'call ask']);
  assert.match(forked.stdout, /got .*confirm/);
  assert.equal(p.text('asked.txt'), '11');
});
