// Questions that any process of the project may answer, answers that are kept, and commands to runs (harness approvals, runs cancel, runs say).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { caller } from './calls.mjs';
import { bin } from './harness.mjs';

const danger = '---\nconfirm: true\nparameters:\n  what: {type: string}\nscript: |\n  def run(args):\n      fs.append("log.txt", args["what"] + "\\n")\n      return "did " + args["what"]\n---\nDangerous.\n';
const terminal = new URL('terminal.py', import.meta.url).pathname;

// Starts harness call at a terminal, in the background. `steps` as in terminal.py.
function ask(p, args, steps) {
  const child = spawn('python3', [terminal, bin, '-C', p.dir, 'call', 'danger', JSON.stringify(args)], { cwd: p.dir, env: { ...process.env, ...p.env } });
  const done = new Promise(resolve => {
    let out = '', err = '';
    child.stdout.on('data', d => out += d);
    child.stderr.on('data', d => err += d);
    child.on('close', () => resolve(out ? JSON.parse(out) : { output: err }));
  });
  child.stdin.end(JSON.stringify(steps));
  return { child, done };
}

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
      c.on('close', resolve);
    })));
    assert.equal(answers.filter(status => status === 0).length, 1, `${answers}`);
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
