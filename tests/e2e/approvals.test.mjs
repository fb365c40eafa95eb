// Questions that any process of the project may answer, answers that are kept, and commands to runs (harness approvals, runs cancel, runs say).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { scripted, talker } from './agents.mjs';
import { caller } from './calls.mjs';
import { bin, environment, project, run } from './harness.mjs';
import { Peer } from './mcp_peer.mjs';

const danger = '---\nconfirm: true\nparameters:\n  what: {type: string}\nscript: |\n  def run(args):\n      fs.append("log.txt", args["what"] + "\\n")\n      return "did " + args["what"]\n---\nDangerous.\n';
const terminal = new URL('terminal.py', import.meta.url).pathname;

// Starts harness at a terminal, in the background. `steps` as in terminal.py.
function atTerminal(p, args, steps) {
  const child = spawn('python3', [terminal, bin, '-C', p.dir, ...args], { cwd: p.dir, env: { ...environment, TERM: 'xterm', ...p.env } });
  const done = new Promise(resolve => {
    let out = '', err = '';
    child.stdout.on('data', d => out += d);
    child.stderr.on('data', d => err += d);
    child.on('close', () => resolve(out ? JSON.parse(out) : { output: err }));
  });
  child.stdin.end(JSON.stringify(steps));
  return { child, done };
}

const ask = (p, args, steps) => atTerminal(p, ['call', 'danger', JSON.stringify(args)], steps);
const waiting = p => JSON.parse(p.run(['approvals', '--json']).stdout);

async function until(what) {
  for (let i = 0; i < 600; i++) {
    const got = what();
    if (got) return got;
    await sleep(50);
  }
  assert.fail(`never: ${what}`);
}

const lines = p => { try { return readFileSync(`${p.dir}/log.txt`, 'utf8').split('\n').filter(Boolean); } catch { return []; } };

test('a question is listed, and an answer from elsewhere closes it', async t => {
  const p = caller(t, { '.harness/tools/danger.md': danger });
  const asked = ask(p, { what: 'one' }, [['', 'n no'], ['', 'did one']]);
  const [q] = await until(() => waiting(p).length && waiting(p));
  assert.equal(q.tool, 'danger');
  assert.deepEqual(q.args, { what: 'one' });
  assert.equal(q.why, 'confirm: true');
  assert.match(p.run(['approvals']).stdout, new RegExp(`^${q.id} +danger +confirm: true +one$`, 'm'));
  const refused = p.run(['approvals', 'approve', q.id]);
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /needs a terminal to ask you.*--yes/);
  assert.deepEqual(lines(p), []);
  const yes = p.run(['approvals', 'approve', q.id.slice(0, 6), '--yes']);
  assert.equal(yes.status, 0, yes.stderr);
  const r = await asked.done;
  assert.equal(r.status, 0, r.output);
  assert.deepEqual(lines(p), ['one']);
  assert.deepEqual(waiting(p), []);
  const late = p.run(['approvals', 'deny', q.id]);
  assert.equal(late.status, 1);
  assert.match(late.stderr, /was answered already, by command line, uid/);
});

test('the list shows the path of a file, not its content, in whatever order the model gives them', async t => {
  const p = caller(t, { 'harness.md': '---\nbuiltin_tools: all\nlimits: { confirm: [mutating] }\n---\n' });
  const asked = atTerminal(p, ['call', 'write', JSON.stringify({ content: 'README.md', path: 'src/danger.c' })], [['', 'n no'], ['', 'declined']]);
  const [q] = await until(() => waiting(p).length && waiting(p));
  assert.match(p.run(['approvals']).stdout, new RegExp(`^${q.id} +write +limits.confirm: mutating +src/danger\\.c$`, 'm'));
  assert.equal(p.run(['approvals', 'deny', q.id]).status, 0);
  await asked.done;
});

test('a denial with a reason reaches the caller', async t => {
  const p = caller(t, { '.harness/tools/danger.md': danger });
  const asked = ask(p, { what: 'two' }, [['', 'n no'], ['', 'not today']]);
  const [q] = await until(() => waiting(p).length && waiting(p));
  assert.equal(p.run(['approvals', 'deny', q.id, '--because', 'not today']).status, 0);
  const r = await asked.done;
  assert.equal(r.status, 1);
  assert.match(r.output, /the user declined danger: not today/);
  assert.deepEqual(lines(p), []);
});

test('other arguments are asked about again, and the caller is told', async t => {
  const p = caller(t, { '.harness/tools/danger.md': danger });
  const asked = ask(p, { what: 'three' }, [['', 'n no'], ['', '"what": "four"'], ['', 'n no'], ['y\n', 'did four']]);
  const [q] = await until(() => waiting(p).length && waiting(p));
  for (const bad of ['[1]', '{', '{"what": 1, "what": 2}']) assert.equal(p.run(['approvals', 'approve', q.id, '--yes', '--args', bad]).status, 1, bad);
  assert.equal(p.run(['approvals', 'approve', q.id, '--yes', '--args', '{"what":"four"}']).status, 0);
  const r = await asked.done;
  assert.equal(r.missing, null, r.output);
  assert.deepEqual(lines(p), ['four']);
});

test('approvals.hold: a question of --ask that is not answered in time is refused', async t => {
  const p = caller(t, { 'harness.md': '---\napprovals: { hold: 1s }\n---\n', '.harness/tools/danger.md': danger });
  const r = p.run(['call', 'danger', '{"what":"x"}', '--ask', '--json']);
  assert.equal(r.status, 1);
  assert.match(r.stdout + r.stderr, /no answer was given in time to the question about danger/);
  assert.deepEqual([waiting(p), lines(p)], [[], []]);
});

test('at a terminal: either case, other text is asked about again and then a reason', async t => {
  const p = caller(t, { '.harness/tools/danger.md': danger });
  assert.equal((await ask(p, { what: 'a' }, [['', 'n no'], ['Y\n', 'did a']]).done).status, 0);
  const no = await ask(p, { what: 'b' }, [['', 'n no'], ['maybe\n', 'as the reason for the model'], ['use the other file\n', 'the user declined danger: use the other file']]).done;
  assert.equal(no.missing, null, no.output);
  const empty = await ask(p, { what: 'c' }, [['', 'n no'], ['\n', 'as the reason for the model'], ['\n', 'as the reason for the model'], ['yes\n', 'did c']]).done;
  assert.equal(empty.missing, null, empty.output);
  assert.deepEqual(lines(p), ['a', 'c']);
});

test('an answer for always holds for the tool as it is, these arguments and this rule, until it is revoked', async t => {
  const p = caller(t, { '.harness/tools/danger.md': danger });
  assert.equal((await ask(p, { what: 'a' }, [['', 'always in this project'], ['p\n', 'did a']]).done).status, 0);
  assert.equal(p.call('danger', { what: 'a' }).status, 0);
  assert.equal(p.events('approval.answered')[0].data.source, 'kept approval');
  assert.equal(p.call('danger', { what: 'b' }).status, 1);
  const [kept] = JSON.parse(p.run(['approvals', 'kept', '--json']).stdout);
  assert.deepEqual([kept.tool, kept.args, kept.rule], ['danger', { what: 'a' }, 'confirm: true']);
  p.add({ '.harness/tools/danger.md': danger.replace('did ', 'DID ') });
  assert.equal(p.call('danger', { what: 'a' }).status, 1);                       // another tool by the same name
  p.add({ '.harness/tools/danger.md': danger });
  assert.equal(p.call('danger', { what: 'a' }).status, 0);
  assert.equal(p.run(['approvals', 'revoke', 'nope']).status, 1);
  assert.equal(p.run(['approvals', 'revoke', kept.id]).status, 0);
  assert.equal(p.call('danger', { what: 'a' }).status, 1);
});

test('what starts programs is never approved for always, and bash not for a session', async t => {
  const p = caller(t, { 'harness.md': '---\nbuiltin_tools: [bash]\nlimits: { confirm: [process] }\n---\n' });
  const child = spawn('python3', [terminal, bin, '-C', p.dir, 'call', 'bash', '{"command":"echo hi"}'], { cwd: p.dir, env: { ...process.env, ...p.env } });
  let out = '';
  child.stdout.on('data', d => out += d);
  child.stdin.end(JSON.stringify([['', 'n no'], ['n\n', 'declined']]));
  await new Promise(resolve => child.on('close', resolve));
  const { output } = JSON.parse(out);
  assert.match(output, /these arguments, this session/);
  assert.doesNotMatch(output, /always in this project|this tool, this session/);
});

test('two answers at once: one wins, the other is told', async t => {
  const p = caller(t, { '.harness/tools/danger.md': danger });
  for (let round = 0; round < 3; round++) {
    const asked = ask(p, { what: `r${round}` }, [['', 'n no'], ['', 'r']]);
    const [q] = await until(() => waiting(p).length && waiting(p));
    const answers = await Promise.all([0, 1, 2, 3].map(i => new Promise(resolve => {
      const c = spawn(bin, ['-C', p.dir, 'approvals', i % 2 ? 'deny' : 'approve', q.id, ...(i % 2 ? [] : ['--yes'])], { cwd: p.dir, env: { ...process.env, ...p.env } });
      let err = '';
      c.stderr.on('data', d => err += d);
      c.on('close', status => resolve({ status, err }));
    })));
    assert.equal(answers.filter(a => a.status === 0).length, 1, JSON.stringify(answers));
    for (const a of answers.filter(x => x.status !== 0)) assert.match(a.err, /was answered already, by command line, uid \d+/);
    await asked.done;
  }
});

test('killed while a question is open: it stays open, and a yes for it serves no other call', async t => {
  const p = caller(t, { '.harness/tools/danger.md': danger });
  const asked = ask(p, { what: 'x' }, [['', 'n no'], ['', 'never']]);
  const [q] = await until(() => waiting(p).length && waiting(p));
  const events = JSON.parse(p.run(['runs', 'show', q.run, '--json']).stdout).events;
  process.kill(events.find(e => e.type === 'run.started').data.pid, 'SIGKILL');
  await asked.done;
  assert.deepEqual(waiting(p).map(w => w.id), [q.id]);
  assert.match(p.run(['approvals']).stdout, /danger .*interrupted/);
  assert.equal(p.run(['approvals', 'approve', q.id, '--yes']).status, 0);
  assert.equal(p.call('danger', { what: 'x' }).status, 1);                       // another run, so another question
  assert.deepEqual(lines(p), []);
});

// ---- runs of an agent ----

// Calls `danger` once, or `nap` until the user says stop.
const agent = `
def reply(messages, tools):
    said = [m["content"] for m in messages if m["role"] == "user"]
    done = [m["content"] for m in messages if m["role"] == "tool"]
    if said[0] == "danger":
        return {"text": "got " + done[0]} if done else {"tool_calls": [{"name": "danger", "arguments": {"what": "x"}}]}
    if "stop" in said[-1] or len(done) > 100:
        return {"text": "heard %s" % said[1:]}
    return {"tool_calls": [{"name": "nap", "arguments": {}}]}
`;
const nap = '---\nparameters: {}\nscript: |\n  def run(args):\n      sleep(0.2)\n      return "rested"\n---\nRests.\n';
const files = { ...scripted(agent), '.harness/tools/danger.md': danger, '.harness/tools/nap.md': nap };

function begin(p, args) {
  const child = spawn(bin, ['-C', p.dir, ...args], { cwd: p.dir, env: { ...environment, ...p.env } });
  const done = new Promise(resolve => {
    let out = '', err = '';
    child.stdout.on('data', d => out += d);
    child.stderr.on('data', d => err += d);
    child.on('close', (status, signal) => resolve({ status, signal, out, err }));
  });
  return { child, done };
}

async function soon(what) {
  for (let i = 0; i < 600; i++) {
    const got = await what();
    if (got) return got;
    await sleep(50);
  }
  assert.fail(`never: ${what}`);
}

const busy = p => soon(async () => (await p.runs()).find(r => r.status === 'running' && r.tool_calls > 0));

test('runs say reaches the agent of a live run before its next reply', async t => {
  const p = talker(t, files);
  const { done } = begin(p, ['run', '-p', 'work', '--json']);
  const live = await busy(p);
  assert.equal((await p.harness(['runs', 'say', live.id, ' '])).status, 2);
  assert.equal((await p.harness(['runs', 'say', live.id, 'hurry'])).status, 0);
  assert.equal((await p.harness(['runs', 'say', live.id, 'and stop'])).status, 0);
  const r = await done;
  assert.equal(r.status, 0, r.err);
  assert.equal(JSON.parse(r.out).response, 'heard ["hurry", "and stop"]');
  const said = (await p.show(live.id)).events.filter(e => e.type === 'turn.message').map(e => [e.data.role, e.data.text, e.data.command]);
  assert.deepEqual(said, [['user', 'hurry', 1], ['user', 'and stop', 2]]);
  const late = await p.harness(['runs', 'say', live.id, 'too late']);
  assert.equal(late.status, 1);
  assert.match(late.stderr, /is not running: it is completed .*runs resume/);
});

test('runs cancel stops a live run, which can be resumed', async t => {
  const p = talker(t, files);
  const { done } = begin(p, ['run', '-p', 'work', '--json']);
  const live = await busy(p);
  assert.equal((await p.harness(['runs', 'cancel', live.id.slice(-8)])).status, 0);
  const r = await done;
  assert.equal(r.status, 130, r.err);
  assert.equal((await p.runs())[0].status, 'cancelled');
  const late = await p.harness(['runs', 'cancel', live.id]);
  assert.equal(late.status, 1);
  assert.match(late.stderr, /is not running: it is cancelled/);
  const again = begin(p, ['runs', 'resume', live.id, '--json']);                 // the old cancel does not stop it again
  await busy(p);
  assert.equal((await p.harness(['runs', 'say', live.id, 'stop'])).status, 0);
  const resumed = await again.done;
  assert.equal(resumed.status, 0, resumed.err);
  assert.equal(JSON.parse(resumed.out).response, 'heard ["stop"]');
});

test('killed while a question is open: after a resume it is open again with the same id, and a yes runs the tool once', async t => {
  const p = talker(t, files);
  const open = async () => JSON.parse((await p.harness(['approvals', '--json'])).stdout);
  const first = atTerminal(p, ['run', '-p', 'danger'], [['', 'n no'], ['', 'never']]);
  const [q] = await soon(async () => { const all = await open(); return all.length && all; });
  const { pid } = (await p.show(q.run)).events.find(e => e.type === 'run.started').data;
  process.kill(pid, 'SIGKILL');
  await first.done;
  assert.deepEqual((await open()).map(x => x.id), [q.id]);
  assert.deepEqual(lines(p), []);
  const second = atTerminal(p, ['runs', 'resume', q.run, '-p', 'danger'], [['', 'n no'], ['', 'got did x']]);
  await soon(async () => (await p.runs())[0].status === 'running');
  await soon(async () => (await p.show(q.run)).events.filter(e => e.type === 'approval.asked').length === 2);
  assert.deepEqual((await open()).map(x => x.id), [q.id]);
  assert.equal((await p.harness(['approvals', 'approve', q.id, '--yes'])).status, 0);
  const r = await second.done;
  assert.equal(r.missing, null, r.output);
  assert.deepEqual(lines(p), ['x']);
  assert.deepEqual(await open(), []);
  assert.equal((await p.show(q.run)).events.filter(e => e.type === 'tool.executing').length, 1);
});

test('an answer that was given while no process ran is used by the resume', async t => {
  const p = talker(t, files);
  const open = async () => JSON.parse((await p.harness(['approvals', '--json'])).stdout);
  const first = atTerminal(p, ['run', '-p', 'danger'], [['', 'n no'], ['', 'never']]);
  const [q] = await soon(async () => { const all = await open(); return all.length && all; });
  process.kill((await p.show(q.run)).events.find(e => e.type === 'run.started').data.pid, 'SIGKILL');
  await first.done;
  assert.equal((await p.harness(['approvals', 'approve', q.id, '--yes'])).status, 0);
  const second = await atTerminal(p, ['runs', 'resume', q.run, '-p', 'danger'], [['', 'got did x']]).done;
  assert.equal(second.missing, null, second.output);
  assert.deepEqual(lines(p), ['x']);
});

// ---- a client of harness mcp serve ----

test('an MCP client and the command line race for one question: the first answer counts', async t => {
  const dir = project(t, { '.harness/tools/danger.md': danger });
  const env = { HARNESS_STATE: `${dir}.state/state.db` };
  const command = args => run(['-C', dir, ...args], { env });
  const open = () => JSON.parse(command(['approvals', '--json']).stdout);
  const peer = new Peer(t, dir, { answer: () => undefined });
  await peer.hello({ elicitation: {} });
  const call = what => peer.request('tools/call', { name: 'danger', arguments: { what } });
  const yes = { action: 'accept', content: { answer: 'yes' } };
  // The command line answers first, and the client too late.
  const slow = call('a');
  const [q] = await until(() => peer.asked.length === 1 && open().length && open());
  assert.equal(command(['approvals', 'approve', q.id, '--yes']).status, 0);
  assert.equal((await slow).result.content[0].text, 'did a');
  peer.send({ id: peer.asked[0].id, result: yes });
  // The client answers first, and the command reports that.
  const quick = call('b');
  const [b] = await until(() => peer.asked.length === 2 && open().length && open());
  peer.send({ id: peer.asked[1].id, result: yes });
  assert.equal((await quick).result.content[0].text, 'did b');
  const late = command(['approvals', 'deny', b.id]);
  assert.equal(late.status, 1);
  assert.match(late.stderr, /was answered already, by elicitation, uid \d+/);
  // Both at once, with different answers.
  for (let i = 0; i < 5; i++) {
    const both = call(`c${i}`);
    const [c] = await until(() => peer.asked.length === 3 + i && open().length && open());
    const other = new Promise(resolve => spawn(bin, ['-C', dir, 'approvals', 'deny', c.id], { env: { ...environment, ...env } }).on('close', resolve));
    if (i % 2) await sleep(20 * i);
    peer.send({ id: peer.asked[2 + i].id, result: yes });
    const [done, status] = await Promise.all([both, other]);
    assert.equal(Boolean(done.result.isError), status === 0, `round ${i}: ${status} ${JSON.stringify(done)}`);
  }
  // The client, and a user who sees the question at a terminal.
  for (let i = 0; i < 4; i++) {
    const both = call(`d${i}`), ready = `${dir}.state/ready${i}`;
    const [c] = await until(() => peer.asked.length === 8 + i && open().length && open());
    const other = atTerminal({ dir, env }, ['approvals', 'approve', c.id], [['', 'allow danger? (marked confirm: true)'], ['', `"what": "d${i}"`], ['', 'allow it? [y/N]:'], [{ file: ready, text: '' }, ''], [0.1 * i, ''], ['y\n', '']]);
    await until(() => existsSync(ready));
    await sleep(i === 3 ? 1500 : 60 * i);
    peer.send({ id: peer.asked[7 + i].id, result: { action: 'accept', content: { answer: 'no' } } });
    const [done, { output }] = await Promise.all([both, other.done]);
    assert.equal(Boolean(done.result.isError), !output.includes(`${c.id}: answered`), `round ${i}: ${output} ${JSON.stringify(done)}`);
    if (done.result.isError) assert.match(output.replace(/\s+/g, ' '), /was answered already, by elicitation, uid \d+/);
  }
  const ran = lines({ dir });
  assert.equal(new Set(ran).size, ran.length, ran.join());                       // nothing ran twice
});
