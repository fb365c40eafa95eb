// /undo: the last exchange, and the files that write and edit changed in it.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync, rmSync, chmodSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { bin, build, environment, run } from './harness.mjs';
import { crasher, scripted } from './agents.mjs';
import { talks, terminal } from './talks.mjs';

// "do [[NAME, {ARGS}], …]" makes these calls, one after the other.
const model = `
def reply(messages, tools):
    asked = [m for m in messages if m["role"] == "user"][-1]["content"]
    at = [i for i, m in enumerate(messages) if m["role"] == "user"][-1]
    made = len([m for m in messages[at:] if m["role"] == "tool"])
    if asked.startswith("do "):
        calls = json.decode(asked[3:])
        if made < len(calls):
            return {"tool_calls": [{"name": calls[made][0], "arguments": calls[made][1]}]}
        return "done %d: %s" % (made, messages[-1]["content"][:200])
    if asked == "count":
        return "%d users" % len([m for m in messages if m["role"] == "user"])
    return "<" + asked + ">"
`;
const head = 'builtin_tools: [read, write, edit, bash]\n';
const files = (more = '') => ({ ...scripted(model, head + more), 'a.txt': 'one\n', 'b.txt': 'two\n' });
const calls = (...list) => `do ${JSON.stringify(list)}\n`;
const edit = (path, from, to) => ['edit', { path, old_string: from, new_string: to }];
const write = (path, content) => ['write', { path, content }];
const text = (dir, name) => readFileSync(join(dir, name), 'utf8');
const question = 'only remove the exchange: ';

async function converse(talk, steps, more = {}) {
  const all = steps.flatMap(s => s.ask ? [['', '> '], ['/undo\n', question], [s.ask, s.shown]] : [['', '> '], s]);
  return terminal(talk.dir, [...all, ['', '> '], ['\x04', '']], { state: talk.state, args: ['run', '--events', talk.log], ...more });
}

test('answers: yes puts back, no only removes the exchange, Ctrl-C does nothing', async t => {
  const talk = talks(t, files());
  chmodSync(join(talk.dir, 'a.txt'), 0o640);
  const change = calls(edit('a.txt', 'one', 'ONE'), edit('a.txt', 'ONE', 'three'), write('sub/new.txt', 'fresh'), edit('b.txt', 'two', 'TWO'));
  const r = await converse(talk, [['hello\n', '<hello>'], [change, 'done 4'], { ask: '\x03', shown: 'nothing was undone' }, { ask: 'what?\n', shown: 'nothing was undone' }, { ask: '\n', shown: 'nothing was undone' }, ['count\n', '3 users'], ['/undo\n', 'was removed'],
    { ask: 'y\n', shown: 'the last exchange was removed; 2 files put back; 1 new file removed' }, ['count\n', '2 users']]);
  assert.match(r.text, /a\.txt +gets its old content back\n.*sub\/new\.txt +is removed: it was created\n.*b\.txt +gets its old content back\n/);
  assert.deepEqual([text(talk.dir, 'a.txt'), text(talk.dir, 'b.txt'), existsSync(join(talk.dir, 'sub/new.txt'))], ['one\n', 'two\n', false]);
  assert.equal(statSync(join(talk.dir, 'a.txt')).mode & 0o777, 0o640);
  assert.deepEqual(talk.data('turn.undone')[1].files, [{ path: 'a.txt', result: 'put back' }, { path: 'sub/new.txt', result: 'removed' }, { path: 'b.txt', result: 'put back' }]);
  await converse(talk, [[calls(edit('a.txt', 'one', 'kept')), 'done 1'], { ask: 'n\n', shown: 'was removed; 1 file left as it is' }, ['/undo\n', 'nothing to undo']]);
  assert.equal(text(talk.dir, 'a.txt'), 'kept\n');
});

test('a file that something else changed stays, also when that was between two edits', async t => {
  const talk = talks(t, files());
  const change = calls(edit('a.txt', 'one', 'ONE'), write('new.txt', 'fresh'), edit('b.txt', 'two', 'TWO'), ['bash', { command: 'echo other >> b.txt; echo more >> a.txt; echo more >> new.txt' }],
    edit('b.txt', 'TWO', '2'));
  const r = await converse(talk, [[change, 'done 5'], ['/undo\n', 'was removed; 3 files left as they are']], { args: ['run', '--yes', '--events', talk.log] });
  assert.match(r.text, /a\.txt +stays: another program has changed it since/);
  assert.match(r.text, /b\.txt +stays: another program has changed it in between/);
  assert.deepEqual([text(talk.dir, 'a.txt'), text(talk.dir, 'b.txt'), text(talk.dir, 'new.txt')], ['ONE\nmore\n', '2\nother\n', 'freshmore\n']);
});

test('files that were removed, or replaced by a link stay', async t => {
  const talk = talks(t, files());
  mkdirSync(join(talk.dir, 'keep'));
  const change = calls(edit('a.txt', 'one', 'ONE'), write('keep/x.txt', 'x'), edit('b.txt', 'two', 'TWO'));
  const first = await converse(talk, [[change, 'done 3']]);
  const id = /runs resume ([0-9a-f-]{36})/.exec(first.text)[1];
  rmSync(join(talk.dir, 'a.txt'));
  rmSync(join(talk.dir, 'b.txt'));
  symlinkSync('/etc/hostname', join(talk.dir, 'b.txt'));
  rmSync(join(talk.dir, 'keep'), { recursive: true });
  mkdirSync(join(talk.dir, 'other'));
  writeFileSync(join(talk.dir, 'other/x.txt'), 'x');
  symlinkSync('other', join(talk.dir, 'keep'));
  const r = await converse(talk, [['/undo\n', 'was removed; 3 files left as they are']], { args: ['runs', 'resume', id, '--events', talk.log] });
  assert.match(r.text, /a\.txt +stays: it was removed since/);
  assert.match(r.text, /b\.txt +stays: .*outside the workspace/);
  assert.match(r.text, /keep\/x\.txt +stays: the path leads to another file now/);
  assert.equal(text(talk.dir, 'other/x.txt'), 'x');
});

test('a file that became protected stays', async t => {
  const talk = talks(t, { ...files('sandbox: { allow_self_edit: true }\n'), '.harness/tools/look.md': '---\nscript: |\n  def run(args):\n      return "seen"\n---\nLooks.\n' });
  const first = await converse(talk, [[calls(edit('.harness/tools/look.md', 'seen', 'SEEN')), 'done 1']]);
  const id = /runs resume ([0-9a-f-]{36})/.exec(first.text)[1];
  writeFileSync(join(talk.dir, 'harness.md'), files()['harness.md']);
  const r = await converse(talk, [['/undo\n', 'was removed; 1 file left as it is']], { args: ['runs', 'resume', id, '--events', talk.log] });
  assert.match(r.text, /look\.md\n? +stays: .*(protected|may not)/s);
  assert.match(text(talk.dir, '.harness/tools/look.md'), /SEEN/);
});

test('sensitive names and known secrets are not kept in the store, and stay', async t => {
  const secret = 'topsecretvalue123';
  const talk = talks(t, { ...files('secrets: { KEY: { env: MY_KEY } }\n'), '.env': 'A=1\n', 'conf.txt': `key = ${secret}\n` });
  const change = calls(edit('.env', 'A=1', 'A=2'), edit('conf.txt', 'key', 'token'));
  const r = await converse(talk, [[change, 'done 2'], ['/undo\n', 'was removed; 2 files left as they are']],
    { args: ['run', '--yes', '--events', talk.log], env: { MY_KEY: secret } });
  assert.match(r.text, /\.env +stays: its old content was not kept/);
  assert.match(r.text, /conf\.txt +stays: its old content was not kept/);
  const db = run(['-C', talk.dir, 'runs', '--json'], { env: { XDG_STATE_HOME: talk.state } });
  assert.equal(db.status, 0);
  const all = spawnSync('sh', ['-c', `cat ${talk.state}/harness/*/harness.db*`], { encoding: 'latin1', maxBuffer: 1 << 28 }).stdout;
  assert.ok(!all.includes(secret), 'the secret is not in the store');
  assert.ok(!talk.data('tool.completed').some(e => e.change?.path === '.env' && (e.change.before || e.change.new_sha256)));
});

test('/undo after a kill and a resume; files of sub-agents and scripts count', async t => {
  const talk = talks(t, { ...files('meta: { enabled: true }\n'),
    '.harness/agents/helper.md': '---\ndescription: helps\n---\nHelp.\n',
    '.harness/tools/nest.md': '---\nscript: |\n  def run(args):\n      return meta.call_tool("write", {"path": "nested.txt", "content": "n"})\n---\nNested.\n' });
  const inner = `do ${JSON.stringify([edit('b.txt', 'two', 'TWO')])}`;
  const job = calls(edit('a.txt', 'one', 'ONE'), ['nest', {}], ['delegate', { agent: 'helper', task: inner }], ['bash', { command: 'sleep 60' }]).trim();
  const env = { ...environment, XDG_STATE_HOME: talk.state, HARNESS_TRUST: talk.dir };
  const child = spawn(bin, ['-C', talk.dir, 'run', '-p', job, '--yes', '--events', talk.log], { env, stdio: 'ignore' });
  for (let i = 0; i < 300; i++) {
    await new Promise(done => setTimeout(done, 100));
    if (existsSync(talk.log) && talk.events('tool.executing').some(e => e.data.name === 'bash')) break;
  }
  child.kill('SIGKILL');
  await new Promise(done => child.on('exit', done));
  assert.equal(text(talk.dir, 'b.txt'), 'TWO\n');
  const id = talk.events()[0].run;
  const resumed = run(['-C', talk.dir, 'runs', 'resume', id], { env });
  assert.match(resumed.stdout, /done 4: .*interrupted: outcome unknown/);
  const r = await converse(talk, [{ ask: 'y\n', shown: 'was removed; 2 files put back; 1 new file removed' }, ['count\n', '1 users']], { args: ['runs', 'resume', id, '--events', talk.log] });
  assert.equal(r.status, 0);
  assert.deepEqual([text(talk.dir, 'a.txt'), text(talk.dir, 'b.txt'), existsSync(join(talk.dir, 'nested.txt'))], ['one\n', 'two\n', false]);
});

// A sanitizer cannot be preloaded together with the shim.
const skip = ['release', 'debug'].includes(build) ? false : `${build} build`;

test('a crash at any event loses nothing that /undo needs', { skip }, async t => {
  const shim = crasher(t), job = calls(edit('a.txt', 'one', 'ONE'), write('new.txt', 'fresh')).trim();
  const whole = talks(t, files());
  run(['-C', whole.dir, 'run', '-p', job, '--yes', '--events', whole.log], { env: { XDG_STATE_HOME: whole.state } });
  const points = whole.events().length;
  assert.ok(points > 12, String(points));
  for (let n = 3; n <= points; n++) {
    const talk = talks(t, files()), env = { XDG_STATE_HOME: talk.state };
    spawnSync(bin, ['-C', talk.dir, 'run', '-p', job, '--yes', '--events', '/dev/null'], { env: { ...environment, ...env, LD_PRELOAD: shim, CRASH_EVENT: `${n}` } });
    const [{ id }] = JSON.parse(run(['-C', talk.dir, 'runs', '--json', '--all'], { env }).stdout);
    run(['-C', talk.dir, 'runs', 'resume', id, '--yes'], { env });
    if (text(talk.dir, 'a.txt') === 'one\n' && !existsSync(join(talk.dir, 'new.txt'))) {
      assert.ok(n < 6, `crash at event ${n}: the run was not continued`);        // the message itself was lost
      continue;
    }
    const r = await terminal(talk.dir, [['', '> '], ['/undo\n', question], ['y\n', 'was removed'], ['', '> '], ['\x04', '']], { state: talk.state, args: ['runs', 'resume', id] });
    assert.deepEqual([text(talk.dir, 'a.txt'), existsSync(join(talk.dir, 'new.txt'))], ['one\n', false], `crash at event ${n}:\n${r.text}`);
  }
});

test('without a store /undo works as well', async t => {
  const talk = talks(t, files());
  await converse(talk, [[calls(edit('a.txt', 'one', 'ONE')), 'done 1'], { ask: 'y\n', shown: '1 file put back' }], { args: ['run', '--ephemeral'] });
  assert.equal(text(talk.dir, 'a.txt'), 'one\n');
});

test('files that were put back before a crash are found as they were', async t => {
  const talk = talks(t, files());
  const first = await converse(talk, [[calls(edit('a.txt', 'one', 'ONE')), 'done 1']]);
  const id = /runs resume ([0-9a-f-]{36})/.exec(first.text)[1];
  writeFileSync(join(talk.dir, 'a.txt'), 'one\n');
  const r = await converse(talk, [['/undo\n', 'was removed; 1 file left as it is']], { args: ['runs', 'resume', id, '--events', talk.log] });
  assert.match(r.text, /a\.txt +stays: it already has its old content/);
});
