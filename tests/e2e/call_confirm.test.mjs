// Confirmation, sessions, Ctrl-C: user interaction of harness call.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { bin, root } from './harness.mjs';
import { caller, hook, tool } from './calls.mjs';

const danger = tool('fs.write("ran", str(args.get("v")))\nreturn "done"', 'confirm: true');

function terminal(p, steps, args, env = {}) {
  const out = spawnSync('python3', [join(root, 'tests/e2e/terminal.py'), bin, '-C', p.dir, ...args], {
    input: JSON.stringify(steps), encoding: 'utf8', timeout: 60000, env: { PATH: process.env.PATH, HOME: process.env.HOME, TERM: 'xterm', ...p.env, ...env },
  });
  return JSON.parse(out.stdout);
}

test('without a terminal: denied, unless --yes or --approve', t => {
  const p = caller(t, { '.harness/tools/d.md': danger });
  const r = p.call('d');
  assert.equal(r.status, 1);
  assert.equal(r.error.step, 'confirm');
  assert.match(r.error.message, /needs confirmation .* and no user is present to give it \(--yes, or --approve d\)/);
  assert.equal(p.has('ran'), false);
  assert.deepEqual(p.events().map(e => e.type).filter(x => /approval|refused|executing/.test(x)), ['approval.asked', 'approval.answered', 'tool.refused']);
  assert.deepEqual([p.events('approval.answered')[0].data.answer, p.events('approval.answered')[0].data.source], ['no', 'none']);
  assert.equal(p.call('d', {}, ['--approve', 'other']).status, 1);
  assert.equal(p.call('d', {}, ['--approve', 'd']).status, 0);
  assert.equal(p.events('approval.answered')[0].data.source, '--approve');
  assert.equal(p.call('d', {}, ['--yes']).status, 0);
});

test('limits.confirm acts on the effects of a tool', t => {
  const p = caller(t, { 'harness.md': '---\nlimits: { confirm: [mutating] }\n---\n', '.harness/tools/w.md': tool('fs.write("ran", "1")\nreturn 1'), '.harness/tools/r.md': tool('return 1') });
  assert.equal(p.call('r').status, 0);
  const r = p.call('w');
  assert.equal(r.error.rule, 'limits.confirm: mutating');
  assert.equal(p.call('w', {}, ['--yes']).status, 0);
});

test('at a terminal: yes and no; the question shows the final arguments, escaped', t => {
  const p = caller(t, { '.harness/tools/d.md': danger, '.harness/hooks/h.md': hook('tool.pre', 'return modify(dict(payload, args = {"v": "changed \\u202e\\u001b[2Jx"}))') });
  const yes = terminal(p, [['', 'n no'], ['y\n', '"done"']], ['call', 'd', '{"v":"first"}']);
  assert.equal(yes.missing, null, yes.output);
  assert.equal(yes.status, 0);
  assert.match(yes.output, /allow d\? \(marked confirm: true\)/);
  assert.match(yes.output, /changed \\u202e\\u001b|changed \\u\{202e\}/);
  assert.ok(!yes.output.includes('\u202e') && !yes.output.includes('\u001b[2J'));
  const no = terminal(p, [['', 'n no'], ['n\n', 'error']], ['call', 'd', '{}']);
  assert.equal(no.status, 1);
});

test('at a terminal: the end of a long command is shown, too', t => {
  const p = caller(t, {
    'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n',
    'agent/tools/c.md': '---\nid: c\nname: C\ndescription: d\nconfirm: true\ncommand: "echo {{x}}; echo the-end"\nparameters:\n  - { name: x, type: string }\n---\n',
  });
  const out = terminal(p, [['', 'n no'], ['n\n', 'error']], ['call', 'c', JSON.stringify({ x: 'line\n'.repeat(300) })]);
  assert.match(out.output, /echo the-end/);
  assert.match(out.output, /101 lines of it are not shown: v shows all of it, and is needed before a yes\./);
});

test('at a terminal: a yes counts only when all of the call was shown', t => {
  const p = caller(t, {
    'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n',
    'agent/tools/d.md': '---\nid: d\nname: D\ndescription: d\nconfirm: true\ncommand: "true {{x}}; echo did it"\nparameters:\n  - { name: x, type: string }\n---\n',
  });
  const lines = n => Array.from({ length: n }, (_, i) => `# ${i}`);
  const args = JSON.stringify({ x: [...lines(150), 'touch HIDDEN', ...lines(150)].join('\n') });
  for (const first of ['v', 'y']) {
    const out = terminal(p, [['', 'are not shown'], ['', 'n no'], [`${first}\n`, 'touch HIDDEN'], ['', 'n no'], ['y\n', 'did it']], ['call', 'd', args]);
    assert.equal(out.missing, null, out.output);
    assert.equal(out.status, 0);
  }
});

test('at a terminal: the schema of a script\'s question cannot emit control sequences', t => {
  const p = caller(t, { '.harness/tools/a.md': tool('return ask("Well?", {"properties": {"k\\u001b[1J": {"type": "s\\u001b[2J"}}})') });
  const out = terminal(p, [['', 'Well?'], ['', '): '], ['x\n', 'Send'], ['y\n', 'accept']], ['call', 'a', '{}']);
  assert.equal(out.missing, null, out.output);
  assert.ok(!out.output.includes('\u001b[2J') && !out.output.includes('\u001b[1J'));
});

test('at a terminal: a command is shown as it will run', t => {
  const p = caller(t, {
    'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n',
    'agent/tools/c.md': '---\nid: c\nname: C\ndescription: d\nconfirm: true\ncommand: "echo {{x}}"\nparameters:\n  - { name: x, type: string }\n---\n',
  });
  const out = terminal(p, [['', 'n no'], ['n\n', 'error']], ['call', 'c', '{"x":"a b"}']);
  assert.match(out.output, /^ +echo 'a b'\r?$/m);
});

test('--session keeps approvals and cache; another session has neither', t => {
  const p = caller(t, { '.harness/tools/d.md': danger, '.harness/tools/n.md': tool('cache.set("n", cache.get("n", 0) + 1)\nreturn cache.get("n")') });
  const always = terminal(p, [['', 'n no'], ['a\n', '"done"']], ['call', 'd', '{"v":1}', '--session', 's']);
  assert.equal(always.status, 0, always.output);
  assert.equal(p.call('d', { v: 1 }, ['--session', 's']).status, 0);
  assert.equal(p.events('approval.answered')[0].data.source, 'earlier answer');
  assert.equal(p.call('d', { v: 2 }, ['--session', 's']).status, 1);
  assert.equal(p.call('d', { v: 1 }, ['--session', 'other']).status, 1);
  assert.deepEqual([1, 2, 3].map(() => p.call('n', {}, ['--session', 's']).value), [1, 2, 3]);
  assert.equal(p.call('n', {}, ['--session', 'other']).value, 1);
  assert.equal(p.call('n').value, 1);
  const all = terminal(p, [['', 'n no'], ['t\n', '"done"']], ['call', 'd', '{"v":1}', '--session', 'x']);
  assert.equal(all.status, 0);
  assert.equal(p.call('d', { v: 5 }, ['--session', 'x']).status, 0);
});

test('a sensitive name needs confirmation in every writing fs call', t => {
  const p = caller(t, { '.harness/tools/w.md': tool('fs.write(args["p"], "x")\nreturn 1') });
  for (const name of ['.env', '.env.local', 'credentials.json', 'a.pem', 'B.KEY', 'id_rsa', 'sub/.env', 'secrets.json', '.npmrc', '.pypirc', '.netrc', '.git-credentials', '.pgpass', '.aws/credentials']) {
    const r = p.call('w', { p: name });
    assert.equal(r.status, 1, name);
    assert.match(r.error.message, /confirmation/, name);
    assert.equal(p.has(name), false);
  }
  assert.equal(p.call('w', { p: 'plain' }).status, 0);
  assert.equal(p.call('w', { p: '.env' }, ['--yes']).status, 0);
});

test('ask: without a user the answer is cancel', t => {
  const p = caller(t, { '.harness/tools/a.md': tool('return ask("Name?", {"type": "object", "properties": {"name": {"type": "string"}}})') });
  assert.deepEqual(p.call('a').value, { action: 'cancel' });
  const out = terminal(p, [['', 'name (string)'], ['Ann\n', 'Send this'], ['y\n', 'accept']], ['call', 'a']);
  assert.match(out.output, /\{"action":"accept","content":\{"name":"Ann"\}\}/);
});

test('several questions at once, without a client', t => {
  const asks = '{"who": {"message": "Who?"}, "said": {"prompt": "b", "max_tokens": 7}, "where": {"roots": True}}';
  const tools = { '.harness/tools/all.md': tool(`return ask_all(${asks})`), '.harness/tools/talk.md': tool('return complete(messages=[{"role": "user", "content": "a"}])') };
  const p = caller(t, tools), where = [{ uri: `file://${p.dir}`, name: p.dir.split('/').pop() }];
  assert.deepEqual(p.call('all').value, { who: { action: 'cancel' }, said: null, where });
  assert.match(p.call('talk').error.message, /complete: .*model/);
  // With a model of the project's own, messages as well as prompts reach it.
  const q = caller(t, { ...tools, 'harness.md': '---\nmodel: { provider: script, name: m, script: model.star }\n---\n',
    'model.star': 'def reply(messages, tools):\n    return {"text": "heard " + messages[-1]["content"]}\n' });
  assert.equal(q.call('talk').value, 'heard a');
  assert.equal(q.call('all').value.said, 'heard b');
});

const alive = mark => spawnSync('pgrep', ['-f', mark], { encoding: 'utf8' }).stdout.trim();
const wait = ms => new Promise(resolve => setTimeout(resolve, ms));
async function until(what, ms = 10000) {
  for (const end = Date.now() + ms; Date.now() < end; await wait(50)) if (what()) return true;
  return false;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'])
  test(`${signal} ends everything the call started`, async t => {
    const mark = `7${process.pid}${signal.length}.25`;
    const p = caller(t, {
      'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n',
      'agent/tools/c.md': `---\nid: c\nname: C\ndescription: d\ncommand: "touch started; (setsid sleep ${mark} &) ; sleep ${mark}"\n---\n`,
    });
    const child = spawn(bin, ['-C', p.dir, 'call', 'c', '--yes', '--json'], { env: { PATH: process.env.PATH, HOME: process.env.HOME, ...p.env } });
    let stdout = '';
    child.stdout.on('data', d => stdout += d);
    assert.ok(await until(() => p.has('started') && alive(`sleep ${mark}`)));
    child.kill(signal);
    const [status, died] = await once(child, 'exit');
    if (signal === 'SIGKILL') assert.equal(died, 'SIGKILL');
    else assert.equal(status, 130, stdout);
    assert.ok(await until(() => !alive(`sleep ${mark}`)), 'a child is still alive');
    if (signal !== 'SIGKILL') assert.match(JSON.parse(stdout).error.message, /cancelled/);
  });

test('kill -9 during writes leaves no half-written file', async t => {
  const p = caller(t, { '.harness/tools/w.md': tool('for i in range(100000):\n    fs.write("f", ("%d" % (i % 10)) * 100000)') });
  for (let round = 0; round < 3; round++) {
    const child = spawn(bin, ['-C', p.dir, 'call', 'w', '--yes'], { env: { PATH: process.env.PATH, HOME: process.env.HOME, ...p.env } });
    assert.ok(await until(() => p.has('f')));
    await wait(30);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const text = p.text('f');
    assert.equal(text.length, 100000);
    assert.equal(text, text[0].repeat(100000));
  }
});

test('a session belongs to one project, and does not include tools that a run registered', t => {
  const files = text => ({
    'harness.md': '---\nmeta: { enabled: true }\nlimits: { confirm: [process] }\n---\n',
    '.harness/tools/x.md': tool(`meta.tool_register("made", "d", {}, "def run(args):\\n  return exec.run(\\"/bin/echo\\", [\\"${text}\\"])")\nreturn meta.call_tool("made", {})`),
    '.harness/tools/own.md': tool(`return exec.run("/bin/echo", ["${text}"])`),
    '.harness/tools/put.md': tool('cache.set("k", 1)\nreturn 1'), '.harness/tools/get.md': tool('return cache.get("k", "nothing")'),
  });
  const p = caller(t, files('one')), other = caller(t, files('two'));
  for (const name of ['x', 'own']) {
    const out = terminal(p, [['', 'n no'], ['t\n', 'one']], ['call', name, '{}', '--session', 's']);
    assert.equal(out.missing, null, out.output);
  }
  const env = { HARNESS_STATE: p.env.HARNESS_STATE };
  assert.equal(p.call('own', {}, ['--session', 's']).value.stdout, 'one\n');
  p.add(files('changed'));                                                       // not confirmed
  assert.match(p.call('own', {}, ['--session', 's']).value.error, /needs confirmation/);
  assert.match(p.call('x', {}, ['--session', 's']).value.error, /needs confirmation/);
  assert.match(other.call('own', {}, ['--session', 's'], { env }).value.error, /needs confirmation/);
  p.call('put', {}, ['--session', 's']);
  assert.equal(p.call('get', {}, ['--session', 's']).value, 1);
  assert.equal(other.call('get', {}, ['--session', 's'], { env }).value, 'nothing');
});
