// Runs in PostgreSQL: a server that the test starts, the tests of other files on it, and what can go wrong with a database.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { bin, environment, folder, root, run } from './harness.mjs';
import { effect, scripted, talker } from './agents.mjs';
import { tool } from './calls.mjs';

const server = mkdtempSync(join(tmpdir(), 'harness-pg-'));
const script = join(root, 'scripts/postgres.sh');
let url;

function control(what) {
  const r = spawnSync(script, [what, server], { encoding: 'utf8' });
  assert.equal(r.status, 0, r.stdout + r.stderr);
  return r.stdout.trim();
}

const sql = text => {
  const r = spawnSync('psql', ['-qAtX', '-v', 'ON_ERROR_STOP=1', url, '-c', text], { encoding: 'utf8' });
  assert.equal(r.status, 0, r.stderr);
  return r.stdout.trim();
};

// The runs of a project of its own in the database.
function kept(t, files, { env = {}, at = url } = {}) {
  const home = folder(t);
  return talker(t, files, { env: { HARNESS_STATE: `${at}#${home.slice(-6)}`, XDG_STATE_HOME: home, ...env } });
}

before(() => {
  rmdirSync(server);
  url = control('start');
  const r = run(['-C', tmpdir(), 'store', 'migrate', '--json'], { env: { HARNESS_STATE: url } });
  assert.equal(r.status, 0, r.stderr);
  assert.deepEqual(JSON.parse(r.stdout), { store: url.replace(/\?host=(.*)/, '').replace('@/', `@${server}/`), from: 0, to: 3 });
});
after(() => control('stop'));

// The tests of these files that do not look into a state file.
const shared = {
  'approvals.test.mjs': 'a question is listed|a denial|other arguments|an answer for always|two answers|killed while|runs say|runs cancel|an answer that was given',
  'console.test.mjs': 'an approval|the stream',
  'console_work.test.mjs': 'costs by day',
  'console_dialogs.test.mjs': 'a dialog|a file picker',
  'agent_resume.test.mjs': 'a live run|two resumes|Ctrl-C|a finished run|limits apply|an interrupted call|a delegate in the background',
};
for (const [file, names] of Object.entries(shared))
  test(`${file} on PostgreSQL`, async () => {
    const args = ['--test', '--test-timeout=240000', `--test-name-pattern=${names}`, join(root, 'tests/e2e', file)];
    const env = { ...process.env, HARNESS_TEST_STORE: url };
    delete env.NODE_TEST_CONTEXT;
    const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    child.stdout.on('data', d => { out += d; });
    child.stderr.on('data', d => { out += d; });
    const status = await new Promise(done => child.on('close', done));
    assert.equal(status, 0, out);
    assert.match(out, /pass [1-9]/);
  });

const rounds = `
def reply(messages, tools):
    n = len([m for m in messages if m["role"] == "tool"])
    if n < 3:
        return {"tool_calls": [{"name": "effect", "arguments": {"n": n}}]}
    return {"text": "done after %d" % n}
`;

test('a run: its events, its chain, and nothing of it in a file', async t => {
  const p = kept(t, { ...scripted(rounds), '.harness/tools/effect.md': effect() });
  const r = await p.say('go');
  assert.equal(r.reply?.response, 'done after 3', r.stdout + r.stderr);
  assert.deepEqual(p.effects(), ['0', '1', '2']);
  const [{ id, status, turns, tool_calls }] = await p.runs();
  assert.deepEqual([status, turns, tool_calls], ['completed', 4, 3]);
  const verified = await p.harness(['runs', 'verify', '--all']);
  assert.equal(verified.status, 0, verified.stdout);
  const check = await p.harness(['store', 'check', '--json']);
  assert.equal(JSON.parse(check.stdout).ok, true);
  const project = p.env.HARNESS_STATE.split('#')[1];
  assert.equal(sql(`SELECT count(*) > 10 FROM harness.events WHERE project = '${project}'`), 't');
  assert.equal(existsSync(join(p.env.XDG_STATE_HOME, 'harness', 'harness.db')), false);
  sql(`UPDATE harness.events SET data = '{}' WHERE project = '${project}' AND type = 'tool.completed'`);
  assert.equal((await p.harness(['runs', 'verify', id])).status, 1);
});

test('a large result is kept in chunks, and read in parts', async t => {
  const big = tool('return "x" * 700000', '');
  const model = `
def reply(messages, tools):
    if messages[-1]["role"] == "tool":
        return {"text": "ok"}
    return {"tool_calls": [{"name": "big", "arguments": {}}]}
`;
  const p = kept(t, { ...scripted(model), '.harness/tools/big.md': big });
  const r = await p.say('go');
  assert.equal(r.reply?.response, 'ok', r.stdout + r.stderr);
  const project = p.env.HARNESS_STATE.split('#')[1];
  assert.equal(sql(`SELECT count(*), max(length(bytes)) FROM harness.artifact_chunks WHERE project = '${project}'`), '3|262144');
});

test('the server is restarted in the middle of a run: the run goes on, and each call runs once', async t => {
  const slow = `
def reply(messages, tools):
    n = len([m for m in messages if m["role"] == "tool"])
    if n < 12:
        return {"tool_calls": [{"name": "effect", "arguments": {"n": n}}]}
    return {"text": "done after %d" % n}
`;
  const slowly = tool('sleep(0.1)\nfs.append("effects.log", str(args["n"]) + "\\n")\nreturn {"did": args["n"]}', 'parameters:\n  n: { type: integer, required: true }');
  const p = kept(t, { ...scripted(slow), '.harness/tools/effect.md': slowly });
  const going = p.say('go');
  for (let i = 0; i < 500 && p.effects().length < 3; i++) await wait(10);
  control('restart');
  const r = await going;
  assert.equal(r.reply?.response, 'done after 12', r.stdout + r.stderr);
  assert.deepEqual(p.effects(), [...Array(12).keys()].map(String));
  assert.equal((await p.harness(['runs', 'verify', '--all'])).status, 0);
});

test('a process that was stopped longer than its lease writes nothing after another one took the run', async t => {
  const nap = tool('sleep(args["s"])\nfs.append("effects.log", "nap\\n")\nreturn "rested"', 'parameters:\n  s: { type: number, required: true }');
  const napping = `
def reply(messages, tools):
    if messages[-1]["role"] == "tool":
        return {"text": messages[-1]["content"]}
    return {"tool_calls": [{"name": "nap", "arguments": {"s": 2}}]}
`;
  const p = kept(t, { ...scripted(napping), '.harness/tools/nap.md': nap }, { env: { HARNESS_LEASE: '2' } });
  const child = spawn(bin, ['-C', p.dir, 'run', '-p', 'go', '--json', '--events', p.log], { env: { ...environment, ...p.env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise(done => child.on('close', done));
  for (let i = 0; i < 500 && !(existsSync(p.log) && readFileSync(p.log, 'utf8').includes('"tool.executing"')); i++) await wait(10);
  const [{ id }] = await p.runs();
  child.kill('SIGSTOP');
  // The same machine sees that the process lives; another one sees the lease only.
  sql(`UPDATE harness.workers SET boot = 'another machine' WHERE project = '${p.env.HARNESS_STATE.split('#')[1]}'`);
  assert.match((await p.resume(id)).stdout, /is in use/);
  await wait(2500);
  const r = await p.resume(id);
  assert.match(r.reply?.response, /outcome unknown/, r.stdout + r.stderr);
  const shown = (await p.harness(['runs', 'show', id, '--json'])).stdout;
  child.kill('SIGCONT');
  await ended;
  assert.equal((await p.harness(['runs', 'show', id, '--json'])).stdout, shown);
  assert.equal((await p.runs())[0].status, 'completed');
  assert.equal((await p.harness(['runs', 'verify', '--all'])).status, 0);
});

test('each tenant sees its own runs only, whatever its statements say', async t => {
  for (const role of ['alice', 'bob']) sql(`CREATE ROLE ${role} LOGIN; GRANT USAGE ON SCHEMA harness TO ${role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA harness TO ${role}`);
  const files = { ...scripted(rounds), '.harness/tools/effect.md': effect() };
  const as = role => url.replace('postgres@', `${role}@`);
  const p = talker(t, files, { env: { HARNESS_STATE: `${as('alice')}#both`, XDG_STATE_HOME: folder(t) } });
  assert.equal((await p.say('go')).reply?.response, 'done after 3');
  assert.equal((await p.runs()).length, 1);
  const q = talker(t, files, { env: { HARNESS_STATE: `${as('bob')}#both`, XDG_STATE_HOME: folder(t) } });
  assert.equal((await q.runs()).length, 0);
  const peek = text => spawnSync('psql', ['-qAtX', as('bob'), '-c', text], { encoding: 'utf8' });
  assert.equal(peek('SELECT count(*) FROM harness.events').stdout.trim(), '0');
  assert.match(peek("INSERT INTO harness.notes VALUES ('alice', 'both', 'x', 'y', 'z')").stderr, /row-level security/);
});

test('what is wrong with a database is said in one message, without the password', async t => {
  const p = kept(t, { ...scripted(rounds), '.harness/tools/effect.md': effect() });
  const say = async (state, expected) => {
    const r = await p.harness(['run', '-p', 'go'], { env: { HARNESS_STATE: state } });
    assert.equal(r.status, 1, r.stdout);
    assert.match(r.stderr, expected);
    assert.doesNotMatch(r.stdout + r.stderr, /hunter2/);
    assert.deepEqual(p.effects(), []);
  };
  await say('postgresql://me:hunter2@127.0.0.1:9/x', /database postgresql:\/\/me@127\.0\.0\.1:9\/x: .*Connection refused.*check that the server runs/);
  sql('CREATE DATABASE empty');
  await say(url.replace('/postgres?', '/empty?'), /has no tables of harness \(run: harness store migrate\)/);
  sql('CREATE ROLE nothing LOGIN');
  await say(url.replace('postgres@', 'nothing@'), /permission denied for schema harness.*give the role USAGE/);
  sql('CREATE ROLE lazy LOGIN SUPERUSER; ALTER ROLE lazy SET synchronous_commit = off');
  await say(url.replace('postgres@', 'lazy@'), /synchronous_commit is off/);
  await say('postgresql://me:hunter2@[bad/x', /the URL of the store is not valid/);
  for (const lease of ['0', '30s', '3601']) {
    const r = await p.harness(['run', '-p', 'go'], { env: { HARNESS_LEASE: lease } });
    assert.equal(r.status, 1, r.stdout);
    assert.match(r.stderr, new RegExp(`HARNESS_LEASE: "${lease}" is not a number of seconds from 1 to 3600`));
  }
  sql('UPDATE harness.about SET format = 7, compatible_from = 6');
  await say(url, /tables of a newer harness \(format 7; this one supports 3\).*update harness/);
  sql('UPDATE harness.about SET format = 0, compatible_from = 0');
  await say(url, /no tables of harness|older harness/);
  sql('UPDATE harness.about SET format = 3, compatible_from = 3');
  assert.equal((await p.say('go')).reply?.response, 'done after 3');
});

test('a password of the database does not reach the model or the events', async t => {
  const tell = tool('return "the password is hunter2-of-url and hunter2-of-variable"', '');
  const model = `
def reply(messages, tools):
    if messages[-1]["role"] == "tool":
        return {"text": messages[-1]["content"]}
    return {"tool_calls": [{"name": "tell", "arguments": {}}]}
`;
  const p = kept(t, { ...scripted(model), '.harness/tools/tell.md': tell },
    { at: `${url}&password=hunter2%2Dof%2Durl`, env: { PGPASSWORD: 'hunter2-of-variable' } });
  const r = await p.say('go');
  assert.match(r.reply?.response ?? r.stdout + r.stderr, /the password is \[redacted\] and \[redacted\]/);
  assert.doesNotMatch(readFileSync(p.log, 'utf8'), /hunter2/);
});

test('store.url is a grant, and a password in it is refused', async t => {
  const home = folder(t);
  const write = async head => talker(t, scripted(rounds, `store: { ${head} }`), { env: { HARNESS_STATE: '', HARNESS_TRUST: '', XDG_STATE_HOME: home } });
  const secret = await write('url: "postgresql://me:hunter2@db/x"');
  const r = await secret.harness(['validate']);
  assert.equal(r.status, 1);
  assert.match(r.stdout + r.stderr, /store\.url: a password must not be in a file/);
  assert.equal((await (await write('url: "postgresql://me@db/x?password=hunter2"')).harness(['validate'])).status, 1);
  assert.equal((await (await write('url: "mysql://me@db/x"')).harness(['validate'])).status, 1);
  const p = await write(`url: "${url}", project: named`);
  assert.equal((await p.harness(['validate'])).status, 0);
  const refused = await p.harness(['runs']);
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /not trusted/);
  assert.match((await p.harness(['run', '-p', 'go'])).stderr, /store\.url|trust/);
  const trusted = await p.harness(['runs', '--json'], { env: { HARNESS_TRUST: p.dir } });
  assert.deepEqual(JSON.parse(trusted.stdout), []);
});

test('store copy moves a state file: the same runs, events and hashes', async t => {
  const files = { ...scripted(rounds), '.harness/tools/effect.md': effect() };
  const p = talker(t, files);
  const file = join(p.state, 'copied.db'), project = `copy${process.pid}`;
  assert.equal((await p.say('go', [], { env: { HARNESS_STATE: file } })).reply?.response, 'done after 3');
  const to = { env: { HARNESS_STATE: `${url}#${project}`, XDG_STATE_HOME: p.state } }, from = { env: { HARNESS_STATE: file } };
  const copied = await p.harness(['store', 'copy', file, `${url}#${project}`, '--json']);
  assert.equal(copied.status, 0, copied.stderr);
  assert.equal(JSON.parse(copied.stdout).runs, 1);
  const hashes = async where => JSON.parse((await p.harness(['runs', 'verify', '--all', '--json'], where)).stdout).runs;
  assert.deepEqual(await hashes(to), await hashes(from));
  const again = await p.harness(['store', 'copy', file, `${url}#${project}`]);
  assert.equal(again.status, 1);
  assert.match(again.stderr, /already has 1 runs of project/);
});

test('the simulator judges runs of the database and calls of other agents, whose decisions are in the state file', async t => {
  const p = kept(t, { 'harness.md': '---\nbuiltin_tools: [bash]\n---\n' });
  assert.equal((await p.harness(['call', 'bash', '{"command":"echo ours"}'])).status, 0);
  const payload = { session_id: 's', transcript_path: '/t', cwd: p.dir, hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command: 'echo theirs' }, tool_use_id: 'u' };
  assert.equal(run(['guard', 'claude', '--project', p.dir], { env: p.env, input: JSON.stringify(payload) }).status, 0);
  const r = run(['-C', p.dir, 'simulate', '-'], { env: p.env, input: JSON.stringify({ files: { 'harness.md': '---\nbuiltin_tools: [bash]\nrules: [{ name: no-echo, shell: [echo], decide: deny }]\n---\n' } }) });
  assert.equal(r.status, 0, r.stderr);
  assert.deepEqual(JSON.parse(r.stdout).rows.map(x => [x.vendor, x.args.command, x.before.decision, x.after.rule]), [['claude', 'echo theirs', 'allow', 'no-echo'], [null, 'echo ours', 'allow', 'no-echo']]);
});
