// queue.workspace: host. A folder for each queued run: what it has, who may work in it, what happens to it, and what happens when its host is gone.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, realpathSync, rmSync, rmdirSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { bin, environment, folder, root, run, undo } from './harness.mjs';
import { scripted, talker } from './agents.mjs';
import { tool } from './calls.mjs';

const server = mkdtempSync(join(tmpdir(), 'harness-pg-'));
let url;

function control(what) {
  const r = spawnSync(join(root, 'scripts/postgres.sh'), [what, server], { encoding: 'utf8' });
  assert.equal(r.status, 0, r.stdout + r.stderr);
  return r.stdout.trim();
}

before(() => {
  rmdirSync(server);
  url = control('start');
  const r = run(['-C', tmpdir(), 'store', 'migrate'], { env: { HARNESS_STATE: url } });
  assert.equal(r.status, 0, r.stderr);
});
after(() => control('stop'));

const sql = text => {
  const r = spawnSync('psql', ['-qAtX', '-v', 'ON_ERROR_STOP=1', url, '-c', text], { encoding: 'utf8' });
  assert.equal(r.status, 0, r.stderr);
  return r.stdout.trim();
};

async function until(what, done, ms = 30000) {
  for (const end = Date.now() + ms; Date.now() < end;) {
    if (await done()) return;
    await wait(20);
  }
  assert.fail(`${what}: not within ${ms} ms`);
}

// A project in the database. A host is a state folder: what a worker gets as XDG_STATE_HOME.
function queued(t, files) {
  const home = folder(t), project = home.slice(-6);
  const p = talker(t, files, { env: { HARNESS_STATE: `${url}#${project}`, XDG_STATE_HOME: home, HARNESS_LEASE: '2' } });
  p.host = home;
  p.project = project;
  p.worker = (flags = [], host = home, more = {}) => {
    const child = spawn(bin, ['-C', p.dir, 'worker', ...flags], { env: { ...environment, ...p.env, XDG_STATE_HOME: host, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
    const w = { child, out: '', err: '' };
    child.stdout.on('data', d => { w.out += d; });
    child.stderr.on('data', d => { w.err += d; });
    w.ended = new Promise(done => child.on('close', (code, signal) => { w.over = true; done(code ?? signal); }));
    undo(t, async () => { if (!w.over) child.kill('SIGKILL'); await w.ended; });
    return w;
  };
  // One run, with a worker of its own. The line that the worker prints.
  p.once = async (host = home, more = {}) => {
    const w = p.worker(['--once', '--json'], host, more);
    const code = await w.ended;
    return { code, err: w.err, ...(w.out ? JSON.parse(w.out) : {}) };
  };
  p.put = async (text, flags = []) => {
    const r = await p.harness(['run', '-p', text, '--queue', '--json', ...flags]);
    assert.equal(r.status, 0, r.stdout + r.stderr);
    return JSON.parse(r.stdout).run;
  };
  p.one = async id => (await p.runs()).find(r => r.id === id);
  p.reason = async id => (await p.show(id)).events.filter(e => e.type === 'run.ended').map(e => e.data.reason).join();
  p.files = async id => (await p.show(id)).events.filter(e => e.type === 'run.workspace').map(e => e.data);
  p.folders = (host = home) => readdirSync(join(host, 'harness-runs')).filter(name => /^[0-9a-f]{8}-/.test(name));
  return p;
}

// The prompt is a list of calls, as JSON; the answer has their results, one a line.
const model = `
def reply(messages, tools):
    calls = json.decode([m for m in messages if m["role"] == "user"][0]["content"])
    done = [m for m in messages if m["role"] == "tool"]
    if len(done) < len(calls):
        return {"tool_calls": [calls[len(done)]]}
    return {"text": "\\n".join([m["content"] for m in done])}
`;
const append = tool('fs.append(args["path"], args["text"])\nreturn fs.read(args["path"])', 'parameters:\n  path: { type: string, required: true }\n  text: { type: string, required: true }');
const slow = tool('fs.append("slow.log", str(args["n"]) + "\\n")\nsleep(0.3)\nreturn args["n"]', 'parameters:\n  n: { type: integer, required: true }');
const call = (name, args = {}) => ({ name, arguments: args });
const base = (head = '') => ({ ...scripted(model, head), '.harness/tools/append.md': append, '.harness/tools/slow.md': slow, 'notes.txt': 'one\n', 'sub/deep.txt': 'deep\n' });
const answer = async (p, id) => (await p.show(id)).events.filter(e => e.type === 'turn.ended').map(e => e.data.response).join();

test('two runs have a folder each; the project stays as it is; the folder of a run that changed nothing is removed', async t => {
  const p = queued(t, base());
  const one = await p.put(JSON.stringify([call('append', { path: 'notes.txt', text: 'first\n' })]));
  const two = await p.put(JSON.stringify([call('append', { path: 'notes.txt', text: 'second\n' })]));
  const none = await p.put('[]');
  const results = [await p.once(), await p.once(), await p.once()];
  assert.deepEqual(results.map(r => [r.code, r.status, r.run]), [one, two, none].map(id => [0, 'completed', id]), JSON.stringify(results));
  assert.equal(p.text('notes.txt'), 'one\n');
  assert.equal(await answer(p, one), 'one\nfirst\n');
  assert.equal(readFileSync(join(results[1].workspace, 'notes.txt'), 'utf8'), 'one\nsecond\n');
  assert.equal(readFileSync(join(results[1].workspace, 'sub/deep.txt'), 'utf8'), 'deep\n');
  assert.equal(results[2].workspace, undefined);
  assert.deepEqual(p.folders().sort(), [one, two].sort());
  assert.equal(statSync(join(p.host, 'harness-runs')).mode & 0o777, 0o700);
  assert.equal(statSync(join(p.host, 'harness-runs', one)).mode & 0o777, 0o700);
  assert.deepEqual((await p.files(one)).map(f => [f.state, f.path]), ['made', 'kept'].map(state => [state, results[0].workspace]));
  assert.deepEqual((await p.files(none)).map(f => f.state), ['made', 'removed']);
  assert.equal((await p.harness(['runs', 'verify', '--all'])).status, 0);
});

const git = (dir, ...args) => {
  const r = spawnSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-C', dir, ...args], { encoding: 'utf8' });
  assert.equal(r.status, 0, r.stderr);
  return r.stdout.trim();
};
const shell = command => call('bash', { command });
const tree = dir => spawnSync('sh', ['-c', 'find . -type f -exec sha256sum {} + | sort', 'sh'], { cwd: dir, encoding: 'utf8' }).stdout;

test('git in the folder of a run works on a repository of its own; protected files hold there as in the project', async t => {
  const p = queued(t, { ...base('builtin_tools: [bash, write]'), '.gitignore': '*.log\n' });
  git(p.dir, 'init', '-q', '-b', 'main');
  git(p.dir, 'add', '-A');
  git(p.dir, 'commit', '-qm', 'one');
  const before = tree(p.dir);
  const attempts = [
    shell('echo two >> notes.txt && git -c user.name=r -c user.email=r@example.com commit -qam two && git log --oneline | wc -l'),
    shell('echo "#!/bin/sh" > .git/hooks/pre-commit; ls .git/hooks/pre-commit'),
    shell('git config core.pager "touch /tmp/x"; git config core.pager'),
    shell('echo x >> harness.md; tail -n1 harness.md'),
    shell('echo x > .harness/tools/new.md; ls .harness/tools'),
    shell(`echo x >> ${p.dir}/notes.txt`), shell(`cat ${p.dir}/notes.txt`), shell(`echo x > ${p.host}/harness-runs/id`), shell(`ls ${p.host}/harness-runs`),
    shell('echo x > ../made; cat ../made'),
    call('write', { path: 'harness.md', content: 'x' }), call('write', { path: '.git/config', content: 'x' }), call('write', { path: `${p.dir}/notes.txt`, content: 'x' }),
    shell('pwd'),
  ];
  const id = await p.put(JSON.stringify(attempts));
  const r = await p.once(p.host, {});
  assert.equal(r.status, 'completed', r.err);
  assert.equal(tree(p.dir), before);
  const work = r.workspace;
  assert.equal(git(work, 'log', '--format=%s'), 'two\none');
  assert.equal(git(p.dir, 'log', '--format=%s'), 'one');
  assert.equal(readFileSync(join(work, 'harness.md'), 'utf8'), p.text('harness.md'));
  assert.deepEqual(readdirSync(join(work, '.harness/tools')).sort(), ['append.md', 'slow.md']);
  assert.ok(!existsSync(join(work, '.git/hooks/pre-commit')));
  assert.equal(readFileSync(join(work, '.git/config'), 'utf8'), p.text('.git/config'));
  assert.match(readFileSync(join(p.host, 'harness-runs/id'), 'utf8'), /^[0-9a-f]{16}$/);
  const results = (await p.show(id)).events.filter(e => ['tool.completed', 'tool.failed', 'tool.refused'].includes(e.type));
  assert.equal(results.length, attempts.length);
  assert.ok(results.slice(10, 13).every(e => e.type !== 'tool.completed'), JSON.stringify(results.slice(10, 13)));
  assert.match(JSON.stringify(results[5].data) + JSON.stringify(results[6].data), /[Pp]ermission denied|No such file/);
  assert.doesNotMatch(JSON.stringify(results[6].data), /one/);
  assert.ok(JSON.stringify(results[13].data).includes(realpathSync(work)), JSON.stringify(results[13].data));
});

test('a project in a linked worktree: the file .git is not copied', async t => {
  const main = folder(t), p = queued(t, { 'x.txt': 'x' });
  git(main, 'init', '-q', '-b', 'main');
  git(main, 'commit', '-qm', 'one', '--allow-empty');
  rmSync(p.dir, { recursive: true });
  git(main, 'worktree', 'add', '-q', p.dir, '-b', 'side');
  p.add(base());
  assert.ok(lstatSync(join(p.dir, '.git')).isFile());
  await p.put(JSON.stringify([call('append', { path: 'a', text: 'a' })]));
  const r = await p.once();
  assert.equal(r.status, 'completed', r.err);
  assert.ok(!existsSync(join(r.workspace, '.git')));
  assert.ok(existsSync(join(r.workspace, 'notes.txt')));
});

test('names with spaces and newlines, links that lead out, pipes, modes', async t => {
  const far = folder(t), p = queued(t, { ...base('builtin_tools: [bash, read]'), 'a b/c\nd.txt': 'odd\n' });
  writeFileSync(join(far, 'secret'), 'secret\n');
  symlinkSync(join(far, 'secret'), join(p.dir, 'absolute'));
  symlinkSync('../made', join(p.dir, 'relative'));
  symlinkSync('notes.txt', join(p.dir, 'inside'));
  assert.equal(spawnSync('mkfifo', [join(p.dir, 'pipe')]).status, 0);
  writeFileSync(join(p.dir, 'go.sh'), '#!/bin/sh\necho ran\n');
  chmodSync(join(p.dir, 'go.sh'), 0o755);
  const id = await p.put(JSON.stringify([shell('cat absolute; cat relative; cat inside; ./go.sh; cat "a b"/*; echo more >> inside'), call('read', { path: 'absolute' }), call('read', { path: 'relative' })]));
  const r = await p.once();
  assert.equal(r.status, 'completed', r.err);
  const results = (await p.show(id)).events.filter(e => ['tool.completed', 'tool.failed', 'tool.refused'].includes(e.type)).map(e => JSON.stringify(e));
  assert.ok(results.every(x => !x.includes('secret\\n') && !/1 [0-9a-f]{16}/.test(x)), results.join('\n'));
  assert.match(results[0], /one\\\\?n.*ran.*odd/);
  assert.deepEqual([readlinkSync(join(r.workspace, 'absolute')), readlinkSync(join(r.workspace, 'relative'))], [join(far, 'secret'), '../made']);
  assert.equal(readFileSync(join(r.workspace, 'notes.txt'), 'utf8'), 'one\nmore\n');
  assert.equal(p.text('notes.txt'), 'one\n');
  assert.ok(!existsSync(join(r.workspace, 'pipe')));
  assert.equal(statSync(join(r.workspace, 'go.sh')).mode & 0o777, 0o755);
});

test('programs of tools run in the copy, and rules for a path of the project hold there', async t => {
  const p = queued(t, { ...base(), 'tools.json': '{"tools": [{"name": "mark", "command": ["./tools/bin/mark"], "schema": {"type": "object"}}]}\n', 'secrets/key.txt': 'key\n', 'tools/bin/mark': '#!/bin/sh\ntouch marked\necho "\\"$PWD\\""\n' });
  chmodSync(join(p.dir, 'tools/bin/mark'), 0o755);
  const md = p.text('harness.md').replace('---\n', `---\nbuiltin_tools: [read]\nrules:\n  - { name: no-secrets, file: ["${p.dir}/secrets/**"], decide: deny }\n`);
  writeFileSync(join(p.dir, 'harness.md'), md);
  const valid = await p.harness(['validate']);
  assert.equal(valid.status, 0, valid.stderr);
  const id = await p.put(JSON.stringify([call('mark'), call('read', { path: 'secrets/key.txt' }), call('read', { path: 'notes.txt' })]));
  const r = await p.once();
  assert.equal(r.status, 'completed', r.err);
  const results = (await p.show(id)).events.filter(e => ['tool.completed', 'tool.failed', 'tool.refused'].includes(e.type));
  assert.deepEqual(results.map(e => e.type), ['tool.completed', 'tool.refused', 'tool.completed'], JSON.stringify(results));
  assert.equal(results[1].data.rule, 'no-secrets', JSON.stringify(results[1]));
  assert.ok(existsSync(join(r.workspace, 'marked')) && !p.has('marked'));
});

test('killed while the folder is made: the next worker of the host makes it again', async t => {
  const p = queued(t, base()), many = 1500;
  mkdirSync(join(p.dir, 'many'));
  for (let i = 0; i < many; i++) writeFileSync(join(p.dir, 'many', `f${i}`), `${i}\n`);
  const id = await p.put(JSON.stringify([call('append', { path: 'a', text: 'a' })]));
  const first = p.worker(['--once'], p.host, { HARNESS_LEASE: '1' }), work = join(p.host, 'harness-runs', id, 'work'), made = join(p.host, 'harness-runs', id, 'made');
  await until('the copy begins', () => existsSync(join(work, 'many')));
  first.child.kill('SIGKILL');
  await first.ended;
  const incomplete = !existsSync(made);
  if (incomplete) writeFileSync(join(work, 'left.txt'), 'left');
  const other = await p.once(folder(t));                       // another host
  assert.equal(other.run, undefined, other.err);
  let r = {};
  await until('the lease ends', async () => (r = await p.once()).run);
  assert.deepEqual([r.run, r.status], [id, 'completed'], r.err);
  assert.equal(readdirSync(join(r.workspace, 'many')).length, many);
  if (incomplete) assert.ok(!existsSync(join(r.workspace, 'left.txt')));
  assert.deepEqual(p.folders(), [id]);
});

test('two workers of one host: no run sees the files of another one', async t => {
  const p = queued(t, base()), ids = [];
  for (let i = 0; i < 6; i++) ids.push(await p.put(JSON.stringify([call('append', { path: 'mine', text: `${i}` }), call('slow', { n: i }), call('append', { path: 'mine', text: '.' })])));
  const workers = [p.worker(['--concurrency', '2']), p.worker(['--concurrency', '2'])];
  await until('the ends of the runs', async () => (await p.runs()).every(r => r.status === 'completed'), 60000);
  for (const w of workers) w.child.kill('SIGTERM');
  for (const w of workers) await w.ended;
  for (const [i, id] of ids.entries()) {
    const [made, kept] = await p.files(id);
    assert.deepEqual([made.state, kept.state, kept.path], ['made', 'kept', made.path]);
    assert.equal(readFileSync(join(kept.path, 'mine'), 'utf8'), `${i}.`);
    assert.equal(readFileSync(join(kept.path, 'slow.log'), 'utf8'), `${i}\n`);
  }
  assert.ok(!p.has('mine'));
});

test('a run goes on in its folder; on another host only after --adopt, with new files, and an event that says so', async t => {
  const p = queued(t, base()), far = folder(t);
  const calls = [0, 1, 2, 3].map(n => call('slow', { n })), id = await p.put(JSON.stringify(calls));
  const log = join(p.host, 'harness-runs', id, 'work/slow.log');
  const lines = path => (existsSync(path) ? readFileSync(path, 'utf8') : '').split('\n').filter(Boolean);
  const stop = async () => {
    const before = lines(log).length, w = p.worker(['--once', '--json']);
    await until('a call', () => lines(log).length > before);
    w.child.kill('SIGTERM');
    assert.equal(await w.ended, 0, w.err);
  };
  await stop();
  await stop();
  assert.deepEqual(lines(log), ['0', '1']);
  // Its host has no worker.
  assert.deepEqual((await p.once(far)).run, undefined);
  assert.equal((await p.one(id)).status, 'stranded');
  for (const command of ['runs', 'workers']) {
    const { stderr } = await p.harness([command]);
    assert.match(stderr, new RegExp(`run ${id.slice(-8)} is stranded: its files are on .+, which has no worker.*harness runs resume ${id.slice(-8)} --adopt`));
  }
  assert.match((await p.harness(['runs', 'say', id, 'x'])).stderr, /its host has no worker/);
  assert.match((await p.harness(['runs', 'resume', id])).stderr, /is in the queue/);
  const wake = when => sql(`UPDATE harness.runs SET wake_at = now() + interval '${when}' WHERE id = '${id}'`);
  wake('1 hour');                                              // a worker of its host lives, and does not take it yet
  const here = p.worker();
  await until('a worker here', async () => (await p.one(id)).status === 'queued');
  assert.match((await p.harness(['runs', 'resume', id, '--adopt'])).stderr, /is not stranded: its host, .*, has a worker/);
  here.child.kill('SIGTERM');
  await here.ended;
  wake('0 s');
  assert.equal((await p.one(id)).status, 'stranded');
  assert.match((await p.harness(['runs', 'resume', id, '--adopt', '-p', 'x'])).stderr, /-p has no effect with --adopt/);
  const adopted = await p.harness(['runs', 'resume', id.slice(-8), '--adopt', '--json']);
  assert.deepEqual([adopted.status, JSON.parse(adopted.stdout)], [0, { run: id, status: 'queued' }]);
  assert.match((await p.harness(['runs', 'resume', id, '--adopt'])).stderr, /is not bound to a host/);
  const r = await p.once(far);
  assert.deepEqual([r.run, r.status], [id, 'completed'], r.err);
  assert.ok(r.workspace.startsWith(realpathSync(far)));
  assert.deepEqual(lines(join(r.workspace, 'slow.log')), ['2', '3']);
  assert.deepEqual(lines(log), ['0', '1']);                       // where they were
  const files = await p.files(id);
  assert.deepEqual(files.map(f => f.state), ['made', 'adopted', 'kept']);
  assert.equal(files[1].from, files[0].host);
  assert.notEqual(files[1].host_id, files[0].host_id);
  assert.equal((await p.harness(['runs', 'verify', '--all'])).status, 0);
});

test('what cannot be copied: too large, unreadable, no folder for it; and files that are gone', async t => {
  const p = queued(t, base());
  // larger than the limit: the run fails
  writeFileSync(join(p.dir, 'huge'), '');
  truncateSync(join(p.dir, 'huge'), 3 * 2 ** 30);
  const large = await p.put('[]');
  assert.equal((await p.once()).status, 'failed');
  assert.match(await p.reason(large), /the workspace is too large to copy/);
  rmSync(join(p.dir, 'huge'));
  assert.deepEqual(p.folders(), []);
  // a problem of the host: the run waits for this host or another one
  const id = await p.put(JSON.stringify([call('append', { path: 'a', text: 'a' })])), closed = folder(t), file = join(p.dir, 'sub/deep.txt');
  writeFileSync(join(closed, 'harness-runs'), 'a file');
  const none = await p.once(closed);
  assert.deepEqual([none.code, none.run], [1, undefined]);
  assert.match(none.error.message, /the folder for queued runs, .*harness-runs: Not a directory/);
  if (process.getuid() !== 0) {
    chmodSync(file, 0);
    const unread = await p.once();
    assert.deepEqual([unread.code, unread.status], [1, 'handed back']);
    assert.match(unread.err, /copy the workspace for this run: copy deep\.txt: Permission denied/);
    chmodSync(file, 0o644);
    assert.deepEqual([(await p.one(id)).status, p.folders()], ['queued', []]);
  }
  const far = folder(t), r = await p.once(far);
  assert.deepEqual([r.run, r.status], [id, 'completed'], r.err);
  // a run that cannot be started leaves no folder
  await p.put('[]', ['--model', 'no-such-profile-here']);
  assert.deepEqual([(await p.once()).status, p.folders()], ['failed', []]);
  // the folder is removed while the run waits
  const lost = await p.put(JSON.stringify([call('slow', { n: 0 }), call('slow', { n: 1 }), call('slow', { n: 2 })])), w = p.worker(['--once']);
  await until('a call', () => existsSync(join(p.host, 'harness-runs', lost, 'work/slow.log')));
  w.child.kill('SIGTERM');
  await w.ended;
  rmSync(join(p.host, 'harness-runs', lost), { recursive: true });
  assert.equal((await p.once()).status, 'failed');
  assert.match(await p.reason(lost), /the files of this run are gone: .*work/);
});

test('what counts as a change: content with the old time, a mode; not a file that is gone again', async t => {
  const p = queued(t, base('builtin_tools: [bash]'));
  for (const [command, kept] of [['touch x && rm x && mkdir y && rmdir y', false], ['cp -p notes.txt k && echo eno > notes.txt && touch -r k notes.txt && rm k', true], ['chmod 600 notes.txt', true], ['ln -s notes.txt l', true], ['mkdir empty', true]]) {
    await p.put(JSON.stringify([shell(command)]));
    const r = await p.once();
    assert.deepEqual([r.status, r.workspace !== undefined], ['completed', kept], `${command}: ${r.err}`);
    if (kept) assert.ok(existsSync(r.workspace));
  }
  assert.equal(p.folders().length, 4);
});

test('command tools and hooks of a space, and servers of the project, run in the copy', async t => {
  const server = readFileSync(join(root, 'tests/e2e/fixtures/mcp/server.py'), 'utf8');
  const p = queued(t, {
    ...base('mcp_servers:\n  small:\n    command: python3\n    args: [server.py, honest]\n    env: {LOG: calls.log}'), 'server.py': server,
    'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n', 'agent/tools/c.md': '---\nid: c\nname: C\ndescription: d\ncommand: "echo tool >> seen.txt; pwd"\n---\n',
    'agent/hooks/h.json': JSON.stringify({ hooks: [{ id: 'h', type: 'post_tool', tools: ['c'], command: 'sh scripts/hook.sh' }] }), 'scripts/hook.sh': 'echo "{\\"modified_output\\": \\"$PWD\\"}"\n',
  });
  const id = await p.put(JSON.stringify([call('c'), call('mcp__small__echo', { text: 'hi' })]));
  const r = await p.once();
  assert.equal(r.status, 'completed', r.err);
  assert.match(await answer(p, id), new RegExp(`^"?${realpathSync(r.workspace)}"?\n.*echo: hi`));
  assert.equal(readFileSync(join(r.workspace, 'seen.txt'), 'utf8'), 'tool\n');
  assert.ok(existsSync(join(r.workspace, 'calls.log')) && !p.has('calls.log') && !p.has('seen.txt'));
});

test('a folder is removed while another run and a call in the project are running: neither misses it or brings it back', async t => {
  const p = queued(t, base('builtin_tools: [bash]'));
  const long = await p.put(JSON.stringify([0, 1, 2, 3, 4, 5].map(n => call('slow', { n })))), log = join(p.host, 'harness-runs', long, 'work/slow.log');
  const short = [], w = p.worker(['--concurrency', '2']);
  for (let i = 0; i < 3; i++) short.push(await p.put(JSON.stringify([shell('touch x && sleep 0.3 && rm x')])));
  await until('a call', () => existsSync(log));
  const beside = p.harness(['call', 'slow', '{"n": 9}', '--json']);
  await until('the ends of the runs', async () => (await p.runs()).filter(r => r.status === 'completed').length >= 4, 60000);
  assert.equal((await beside).status, 0, (await beside).stdout);
  w.child.kill('SIGTERM');
  await w.ended;
  for (const id of [long, ...short]) {
    const types = (await p.show(id)).events.map(e => e.type);
    assert.ok(!types.includes('sandbox.tampered') && !types.includes('tool.failed'), `${types}`);
  }
  assert.deepEqual(p.folders(), [long]);
});

test('a run that waits for an answer keeps its folder, and continues in it', async t => {
  const p = queued(t, { ...base(), '.harness/tools/asked.md': append.replace('parameters:', 'confirm: true\nparameters:') });
  const id = await p.put(JSON.stringify([call('append', { path: 'notes.txt', text: 'before\n' }), call('asked', { path: 'notes.txt', text: 'after\n' })]));
  const first = await p.once(), other = folder(t);
  assert.equal(first.status, 'waiting', first.err);
  assert.deepEqual([(await p.one(id)).status, p.folders()], ['waiting', [id]]);
  const [q] = JSON.parse((await p.harness(['approvals', '--json'])).stdout);
  assert.equal((await p.harness(['approvals', 'approve', q.id, '--yes'])).status, 0);
  assert.equal((await p.once(other)).run, undefined, 'a worker of another host took it');
  const last = await p.once();
  assert.deepEqual([last.run, last.status], [id, 'completed'], last.err);
  assert.equal(readFileSync(join(last.workspace, 'notes.txt'), 'utf8'), 'one\nbefore\nafter\n');
  assert.equal(p.text('notes.txt'), 'one\n');
});
