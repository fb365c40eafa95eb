// The tools notify, show_dialog and show_file_picker: on a terminal, over MCP with and without elicitation, and where no user can be reached. The desktop
// is tested in bridge_desktop.test.mjs.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { bin, folder, project, root, run } from './harness.mjs';
import { caller, hook, tool } from './calls.mjs';
import { connect, ways } from './mcp_sdk.mjs';

const NAMES = '[read, write, grep, notify, show_dialog, show_file_picker]';
const LISTED = { 'harness.md': `---\nbuiltin_tools: ${NAMES}\nmeta: { enabled: true }\n---\n` };
const ASKS = 'empty closes)> ';

function terminal(p, steps, args, env = {}) {
  const out = spawnSync('python3', [join(root, 'tests/e2e/terminal.py'), bin, '-C', p.dir, ...args], {
    input: JSON.stringify(steps), encoding: 'utf8', timeout: 90000,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TERM: 'xterm', ASAN_OPTIONS: process.env.ASAN_OPTIONS ?? '', ...p.env, ...env },
  });
  const r = JSON.parse(out.stdout);
  assert.equal(r.missing, null, r.output);
  return r;
}
const at = (p, name, args, steps, flags = [], env) => terminal(p, steps, ['call', name, JSON.stringify(args), ...flags], env);
const last = r => JSON.parse(r.output.replace(/\u001b\[[?0-9;]*[a-z]/gi, '').trim().split('\r\n').findLast(line => /^[[{]/.test(line)));

// ---- which projects have them ----

test('a project has the bridge tools only if it names them', t => {
  const names = files => JSON.parse(run(['-C', project(t, files), 'tools', '--json']).stdout).map(x => x.name).filter(n => /notify|show_/.test(n));
  assert.deepEqual(names({ 'harness.md': '---\nbuiltin_tools: all\n---\n' }), []);
  assert.deepEqual(names({ 'harness.md': '---\nbuiltin_tools: [read, show_dialog]\n---\n' }), ['show_dialog']);
  assert.deepEqual(names(LISTED), ['notify', 'show_dialog', 'show_file_picker']);
  const kinds = JSON.parse(run(['-C', project(t, LISTED), 'tools', '--json']).stdout).filter(x => /notify|show_/.test(x.name)).map(x => x.kind);
  assert.deepEqual(kinds, ['bridge', 'bridge', 'bridge']);
});

test('a tool of the project may be called notify, unless builtin_tools lists that name', t => {
  const own = { '.harness/tools/notify.md': tool('return "mine"') };
  assert.equal(caller(t, own).call('notify').value, 'mine');
  assert.equal(caller(t, { ...own, 'harness.md': '---\nbuiltin_tools: all\n---\n' }).call('notify').value, 'mine');
  const both = run(['-C', project(t, { ...own, ...LISTED }), 'validate']);
  assert.equal(both.status, 1);
  assert.match(both.stderr + both.stdout, /\.harness\/tools\/notify\.md.*"notify" is defined more than once.*built-in/s);
  const typo = run(['-C', project(t, { 'harness.md': '---\nbuiltin_tools: [show_dialogue]\n---\n' }), 'validate']);
  assert.match(typo.stderr + typo.stdout, /show_dialog\b/);
});

// ---- without a user ----

test('without a terminal, a client and a desktop, the call fails and says so', t => {
  const p = caller(t, LISTED);
  for (const [name, args] of [['notify', { title: 'x' }], ['show_dialog', { title: 'x' }], ['show_file_picker', {}]]) {
    for (const flags of [[], ['--yes'], ['--approve', name]]) {
      const r = p.call(name, args, flags);
      assert.equal(r.status, 1, name);
      assert.equal(r.error.message, 'no user can be reached: no page of the console is open; no terminal; no client; no desktop (no session bus)');
    }
  }
  const job = run(['-C', project(t, { 'harness.md': `---\nmodel: {provider: script, name: s, script: m.star}\nbuiltin_tools: ${NAMES}\n---\n`,
    'm.star': 'def reply(messages, tools):\n    if messages[-1]["role"] == "tool":\n        return messages[-1]["content"]\n    return {"tool_calls": [{"name": "show_dialog", "arguments": {"title": "x"}}]}\n' }),
    'run', '-p', 'go'], { input: '' });
  assert.match(job.stdout, /no user can be reached/);
});

test('arguments are bounded', t => {
  const p = caller(t, LISTED);
  for (const [name, args] of [['notify', {}], ['notify', { title: 'x'.repeat(101) }], ['notify', { title: 'x', body: 'y'.repeat(1001) }], ['notify', { title: '' }],
    ['show_dialog', { title: 'x', message: 'y'.repeat(2001) }], ['show_dialog', { title: 'x', buttons: [] }], ['show_dialog', { title: 'x', buttons: ['a', 'a'] }],
    ['show_dialog', { title: 'x', buttons: ['1', '2', '3', '4', '5', '6'] }], ['show_dialog', { title: 'x', buttons: ['b'.repeat(41)] }],
    ['show_file_picker', { multiple: 'yes' }], ['show_file_picker', { filter: 'z'.repeat(201) }], ['show_file_picker', { folder: '/' }]])
    assert.equal(p.call(name, args).error.step, 'validate', JSON.stringify([name, args]));
  assert.match(p.call('show_file_picker', { filter: '../*.txt' }).error.message, /filter: "..\/\*.txt" is not a pattern of file names/);
  assert.match(p.call('show_dialog', { title: 'x', buttons: ['a', ' a'] }).error.message, /buttons\[1\]: "a" occurs twice/);
});

test('policy, limits and hooks apply to them', t => {
  const denied = caller(t, { 'harness.md': `---\nbuiltin_tools: ${NAMES}\ntools_policy: { deny: ["show_*"] }\nlimits: { deny: [mutating] }\n---\n` });
  assert.match(denied.call('show_dialog', { title: 'x' }).error.rule, /deny/);
  assert.equal(denied.call('notify', { title: 'x' }).error.rule, 'limits.deny: mutating');
  const hooked = caller(t, { ...LISTED, '.harness/hooks/h.md': hook('tool.pre', 'return block("no windows") if payload["name"] == "show_dialog" else allow()') });
  assert.match(hooked.call('show_dialog', { title: 'x' }).error.message, /no windows/);
});

// ---- the terminal ----

test('terminal: a notification', t => {
  const p = caller(t, LISTED);
  const r = at(p, 'notify', { title: 'Build is done', body: 'all\ngreen' }, [['', 'notification from harness: Build is done'], ['', '  all'], ['', '  green']]);
  assert.deepEqual(last(r), { shown: true, place: 'terminal' });
});

test('terminal: a dialog is answered by number, by label, or closed', t => {
  const p = caller(t, LISTED), args = { title: 'Save?', message: 'The file\nhas changed.', buttons: ['Save', 'Discard', 'Diff'] };
  const asked = [['', 'dialog from harness: Save?'], ['', '  The file'], ['', '  1 Save'], ['', '  3 Diff'], ['', ASKS]];
  assert.deepEqual(last(at(p, 'show_dialog', args, [...asked, ['2\n', '']])), { button: 'Discard', closed: false, place: 'terminal' });
  assert.equal(last(at(p, 'show_dialog', args, [...asked, ['sa\n', '']])).button, 'Save');
  assert.equal(last(at(p, 'show_dialog', args, [...asked, ['4\n', ASKS], ['di\n', ASKS], ['yes\n', ASKS], ['Diff\n', '']])).button, 'Diff');      // asked again
  assert.deepEqual(last(at(p, 'show_dialog', args, [...asked, ['\n', '']])), { button: null, closed: true, place: 'terminal' });
  const eof = at(p, 'show_dialog', args, [...asked, ['\x04', '']]);
  assert.deepEqual([last(eof).closed, eof.status], [true, 0]);
  assert.equal(last(at(p, 'show_dialog', { title: 'Hi' }, [['', '  1 OK'], ['', ASKS], ['1\n', '']])).button, 'OK');
});

test('terminal: texts cannot send control characters or look like a question of harness', t => {
  const p = caller(t, LISTED);
  const r = at(p, 'show_dialog', { title: 'a\x1b[2Jb\nallow bash?', message: 'line\nallow rm? (confirm)\n\u202evil\r> ', buttons: ['\x07no', 'ok'] }, [['', ASKS], ['2\n', '']]);
  assert.doesNotMatch(r.output, /\x1b\[2J|\x07|\u202e/);
  assert.doesNotMatch(r.output, /(^|\n)allow/);
  assert.match(r.output, /dialog from harness: a\\/);
  assert.equal(last(r).button, 'ok');
});

test('terminal: Ctrl-C stops a waiting dialog; the wall clock too', t => {
  const p = caller(t, LISTED);
  const r = at(p, 'show_dialog', { title: 'x' }, [['', ASKS], ['\x03', '']]);
  assert.equal(r.status, 130);
  assert.match(r.output, /cancelled/);
  const timed = caller(t, { 'harness.md': `---\nbuiltin_tools: ${NAMES}\nlimits: { wall_clock_ms: 1500 }\n---\n` });
  const late = at(timed, 'show_file_picker', { title: 'x' }, [['', ASKS]]);
  assert.match(late.output, /timed out/);
  assert.equal(late.status, 1);
});

test('terminal: a dialog approves nothing', t => {
  const p = caller(t, { ...LISTED, '.harness/tools/danger.md': tool('return "did it"', 'confirm: true'),
    '.harness/tools/both.md': tool('first = meta.call_tool("show_dialog", {"title": "allow danger?", "buttons": ["yes"]})\nreturn [first["button"], meta.call_tool("danger", {})]') });
  const r = at(p, 'both', {}, [['', ASKS], ['yes\n', 'allow danger? (marked confirm: true)'], ['', 'n no'], ['n\n', '']]);
  assert.match(r.output, /declined danger/);
  assert.doesNotMatch(r.output, /did it/);
});

test('a run shows at most 10 of them in a minute', t => {
  const p = caller(t, { ...LISTED, '.harness/tools/many.md': tool('for i in range(12):\n    r = meta.call_tool("notify", {"title": "n%d" % i})\n    if "error" in r:\n        return [i, r["error"]]\nreturn "all"') });
  const r = at(p, 'many', {}, [['', 'n9']]);
  const [count, why] = last(r);
  assert.equal(count, 10);
  assert.match(why, /at most 10 notifications, dialogs and pickers in 60 s/);
  assert.doesNotMatch(r.output, /: n10/);
});

// ---- the file picker on the terminal ----

const TREE = { ...LISTED, 'docs/plan.md': 'p', 'docs/notes.md': 'n', 'data/a.csv': 'a', 'data/b.csv': 'b', 'data/with, comma.csv': 'c' };

test('terminal: a file is picked by number, by path or by a part of it', t => {
  const p = caller(t, TREE);
  const pick = (args, steps) => last(at(p, 'show_file_picker', args, [['', 'file picker from harness: '], ['', ASKS.slice(6)], ...steps]));
  assert.deepEqual(pick({ title: 'Which?' }, [['docs/plan.md\n', '']]), ['docs/plan.md']);
  assert.deepEqual(pick({}, [['pla\n', 'picked docs/plan.md']]), ['docs/plan.md']);                          // completed: only one contains it
  assert.deepEqual(pick({}, [['docs/n\t\n', 'picked docs/notes.md']]), ['docs/notes.md']);
  assert.deepEqual(pick({ filter: '*.md' }, [['docs/\n', '  1 docs/'], ['', '  2 docs/'], ['', ASKS], ['docs/p\n', '']]), ['docs/plan.md']);
  assert.deepEqual(pick({}, [['nowhere\n', 'no such file'], ['', ASKS], ['\n', '']]), []);                   // closed
  assert.deepEqual(pick({ filter: '*.md' }, [['data/a.csv\n', 'does not fit the filter'], ['', ASKS], ['\x04', '']]), []);
  assert.deepEqual(pick({}, [['docs\n', ASKS], ['\n', '']]), []);                                            // a folder is not a file
  assert.deepEqual(pick({}, [[`${p.dir}/docs/plan.md\n`, '']]), ['docs/plan.md']);
});

test('terminal: the list has numbers, the filter holds, several files can be picked', t => {
  const p = caller(t, TREE), ends = 'empty ends)> ';
  const r = at(p, 'show_file_picker', { multiple: true, filter: '*.csv' }, [['', '  1 data/'], ['', '  3 data/'], ['', ends], ['1,3\n', ends], ['\n', '']]);
  assert.doesNotMatch(r.output, /plan\.md/);
  const files = last(r);
  assert.equal(files.length, 2);
  assert.ok(files.every(f => /^data\/.*\.csv$/.test(f)), files);
  const more = last(at(p, 'show_file_picker', { multiple: true }, [['', ends], ['data/a.csv\n', ends], ['data/a.csv\n', ends], ['data/with, comma.csv\n', ends], ['9999\n', ends], ['\n', '']]));
  assert.deepEqual(more, ['data/a.csv', 'data/with, comma.csv']);
  const one = at(p, 'show_file_picker', { filter: '*.csv' }, [['', '  3 data/'], ['', ASKS], ['1 2\n', 'only one file'], ['', ASKS], ['2\n', '']]);
  assert.equal(last(one).length, 1);
});

test('Construct: show_file_picker with title and multiple gives the files as a list, in a space too', t => {
  const p = caller(t, { ...LISTED, 'agent/config.md': '---\nid: helper\nname: Helper\n---\nHelps.\n', 'a.txt': 'a', 'b.txt': 'bb',
    '.harness/tools/sizes.md': tool('files = meta.call_tool("show_file_picker", {"title": "Select files", "multiple": True})\nreturn [len(fs.read(f)) for f in files]') });
  const ends = 'empty ends)> ';
  assert.deepEqual(last(at(p, 'sizes', {}, [['', 'file picker from harness: Select files'], ['', ends], ['a.txt\n', ends], ['b.txt\n', ends], ['\n', '']])), [1, 2]);
});

// A folder outside the workspace with files of every kind.
function outside(t) {
  const dir = folder(t);
  writeFileSync(join(dir, 'report.txt'), 'quarterly');
  writeFileSync(join(dir, 'other.txt'), 'other');
  writeFileSync(join(dir, 'id_rsa'), 'key');
  writeFileSync(join(dir, '.env'), 'key');
  mkdirSync(join(dir, 'credentials'));
  writeFileSync(join(dir, 'credentials', 'x.txt'), 'key');
  symlinkSync('id_rsa', join(dir, 'harmless.txt'));
  symlinkSync('report.txt', join(dir, 'link.txt'));
  assert.equal(spawnSync('mkfifo', [join(dir, 'pipe')]).status, 0);
  return dir;
}

test('terminal: a file outside the workspace is granted for reading, to this run only, with an event', t => {
  const far = outside(t), p = caller(t, { ...LISTED, 'x.txt': 'x', '.harness/tools/work.md': tool(`
path = meta.call_tool("show_file_picker", {"title": "Report"})[0]
def outcome(name, args):
    r = meta.call_tool(name, args)
    return r["error"] if type(r) == "dict" and "error" in r else "ok"
return {"path": path, "text": meta.call_tool("read", {"path": path}), "script": fs.read(path), "write": outcome("write", {"path": path, "content": "x"}),
    "grep": outcome("grep", {"pattern": "q", "path": path}), "other": outcome("read", {"path": args["other"]}), "program": exec.run("cat", [path])["exit_code"]}`.trim()) });
  const log = join(p.state, 'events.jsonl');
  const r = at(p, 'work', { other: join(far, 'other.txt') }, [['', ASKS], [`${far}/link.txt\n`, 'picked']], ['--events', log]);
  const v = last(r);
  assert.equal(v.path, join(far, 'report.txt'));
  assert.match(v.text, /quarterly/);
  assert.equal(v.script, 'quarterly');
  assert.match(v.write, /may only be read|outside/);
  assert.match(v.grep, /can only be read/);
  assert.match(v.other, /outside the workspace/);
  assert.notEqual(v.program, 0);                         // programs see the roots only
  const granted = p.events('sandbox.granted');
  assert.deepEqual(granted.map(e => [e.data.path, e.data.source, e.data.name]), [[join(far, 'report.txt'), 'terminal', 'show_file_picker']]);
  assert.match(p.call('read', { path: join(far, 'report.txt') }).error.message, /outside the workspace/);     // another run
});

test('terminal: other folders can be listed; sensitive, protected and irregular files cannot be picked', t => {
  const far = outside(t), p = caller(t, LISTED);
  const refused = (path, why) => at(p, 'show_file_picker', {}, [['', ASKS], [`${path}\n`, why], ['', ASKS], ['\n', '']], [], { HOME: far });
  for (const path of [join(far, 'id_rsa'), join(far, 'harmless.txt'), '~/.env', join(far, 'credentials/x.txt')]) refused(path, 'has a sensitive name');
  refused(join(far, 'pipe'), 'not a regular file');
  refused(join(far, 'missing'), 'no such file');
  refused(p.env.HARNESS_STATE, 'belongs to harness');
  refused('/proc/self/status', 'process file system');
  const listed = at(p, 'show_file_picker', {}, [['', ASKS], ['~/\n', '/credentials/'], ['', '/other.txt'], ['', ASKS], ['~/rep\n', 'picked']], [], { HOME: far });
  assert.deepEqual(last(listed), [join(far, 'report.txt')]);
  assert.doesNotMatch(listed.output, /\.env|pipe/);
  assert.equal(at(p, 'show_file_picker', {}, [['', ASKS], ['~/\n', ASKS], ['\n', '']], [], { HOME: far }).status, 0);
});

test('a protected file outside the workspace cannot be picked', t => {
  const p = caller(t, { 'harness.md': `---\nworkspace: work\nbuiltin_tools: ${NAMES}\n---\n`, 'work/a.txt': 'a', 'free.txt': 'free' });
  const r = at(p, 'show_file_picker', {}, [['', ASKS], [`${p.dir}/harness.md\n`, 'is protected'], ['', ASKS], [`${p.dir}/free.txt\n`, 'picked']]);
  assert.deepEqual(last(r), [join(p.dir, 'free.txt')]);
});

test('a tool that is confined to a folder cannot let the user pick outside it', t => {
  const far = outside(t), p = caller(t, { ...LISTED, 'sub/a.txt': 'a', 'b.txt': 'b',
    '.harness/tools/work.md': tool('return meta.call_tool("show_file_picker", {})', 'safety: { workspace_root: sub }') });
  for (const path of [join(far, 'report.txt'), join(p.dir, 'b.txt')])
    at(p, 'work', {}, [['', ASKS], [`${path}\n`, 'outside the workspace'], ['', ASKS], ['\n', '']]);
});

test('conversation: a dialog and a picker with the label of the agent; a resumed run has no grant', t => {
  const far = outside(t), state = folder(t);
  const p = { dir: project(t, { 'harness.md': `---\nmodel: {provider: script, name: s, script: m.star}\nbuiltin_tools: ${NAMES}\n---\n`, 'm.star': `
def reply(messages, tools):
    last = messages[-1]
    if last["role"] == "tool":
        return "result <" + last["content"] + ">"
    words = last["content"].split(" ", 1)
    if words[0] == "open":
        return {"tool_calls": [{"name": "read", "arguments": {"path": "${far}/report.txt"}}]}
    return {"tool_calls": [{"name": words[0], "arguments": {"title": words[1]}}]}
` }) };
  p.env = { HARNESS_TRUST: p.dir, XDG_STATE_HOME: state };
  const r = terminal(p, [['', '> '], ['show_dialog Sure\n', 'dialog from harness agent: Sure'], ['', ASKS], ['1\n', 'result'], ['', '> '], ['show_file_picker Report\n', ASKS], [`${far}/rep\n`, 'picked'],
    ['', 'result'], ['', '> '], ['open it\n', 'quarterly'], ['', '> '], ['\x04', '']], ['run']);
  assert.equal(r.status, 0, r.output);
  const id = JSON.parse(run(['-C', p.dir, 'runs', '--json'], { env: p.env }).stdout)[0].id;
  const again = terminal(p, [['', '> '], ['open it\n', 'outside the workspace'], ['', '> '], ['\x04', '']], ['runs', 'resume', id]);
  assert.doesNotMatch(again.output.slice(again.output.lastIndexOf('open it')), /quarterly/);
});

test('a dialog names the agent that asks, also a sub-agent', t => {
  const p = caller(t, { 'harness.md': `---\nmodel: {provider: script, name: s, script: m.star}\nbuiltin_tools: ${NAMES}\n---\nMain.\n`,
    '.harness/agents/reviewer.md': '---\ndescription: reviews\ntools: [show_dialog]\n---\nReview.\n', 'm.star': `
def reply(messages, tools):
    if messages[-1]["role"] == "tool":
        return "done"
    if "Review" in messages[0]["content"]:
        return {"tool_calls": [{"name": "show_dialog", "arguments": {"title": "Merge it?"}}]}
    return {"tool_calls": [{"name": "delegate", "arguments": {"agent": "reviewer", "task": "look"}}]}
` });
  const r = terminal(p, [['', 'dialog from agent reviewer: Merge it?'], ['', ASKS], ['1\n', 'done']], ['run', '-p', 'go']);
  assert.equal(r.status, 0, r.output);
});

// ---- MCP ----

const text = r => r.content.map(c => c.text).join('');

for (const [name, way] of Object.entries(ways)) {
  test(`MCP with elicitation, ${name}: dialogs, pickers and notifications are forms`, async t => {
    const dir = project(t, TREE), asked = [];
    let answer;
    const { client } = await connect(t, dir, way, { answers: { 'elicitation/create': params => (asked.push(params), answer(params)) } });
    const call = (name, args) => client.callTool({ name, arguments: args });
    answer = () => ({ action: 'accept', content: { button: 'Discard' } });
    const dialog = await call('show_dialog', { title: 'Save?', message: 'It\x1b has changed.', buttons: ['Save', 'Discard'] });
    assert.deepEqual(dialog.structuredContent, { button: 'Discard', closed: false, place: 'client' });
    assert.equal(asked[0].message.split('\n')[0], 'harness: Save?');
    assert.doesNotMatch(asked[0].message, /\x1b/);
    assert.deepEqual(asked[0].requestedSchema.properties.button.enum, ['Save', 'Discard']);
    for (const action of ['decline', 'cancel']) {
      answer = () => ({ action });
      const closed = await call('show_dialog', { title: 'Save?', buttons: ['Save'] });
      assert.deepEqual([closed.isError ?? false, closed.structuredContent.closed, closed.structuredContent.button], [false, true, null]);
      assert.deepEqual(JSON.parse(text(await call('show_file_picker', {}))), []);
    }
    answer = () => ({ action: 'accept', content: { file: 'docs/plan.md' } });
    assert.deepEqual(JSON.parse(text(await call('show_file_picker', { filter: '*.md' }))), ['docs/plan.md']);
    assert.deepEqual(asked.at(-1).requestedSchema.properties.file.enum.toSorted(), ['docs/notes.md', 'docs/plan.md', 'harness.md']);
    answer = () => ({ action: 'accept', content: { files: 'data/a.csv, data/b.csv\ndata/with, comma.csv' } });
    assert.deepEqual(JSON.parse(text(await call('show_file_picker', { multiple: true }))), ['data/a.csv', 'data/b.csv', 'data/with, comma.csv']);
    answer = () => ({ action: 'accept', content: {} });
    assert.deepEqual((await call('notify', { title: 'Done', body: 'b' })).structuredContent, { shown: true, place: 'client' });
    assert.equal(asked.at(-1).message, 'harness: Done\nb');
  });

  test(`MCP with elicitation, ${name}: picks stay inside the roots`, async t => {
    const far = outside(t), dir = project(t, TREE);
    let answer;
    const { client } = await connect(t, dir, way, { answers: { 'elicitation/create': () => answer() } });
    const call = (name, args) => client.callTool({ name, arguments: args });
    for (const path of [join(far, 'report.txt'), `../${far.split('/').at(-1)}/report.txt`, '/etc/passwd', 'docs', 'missing']) {
      answer = () => ({ action: 'accept', content: { files: path } });
      const r = await call('show_file_picker', { multiple: true });
      assert.ok(r.isError, path);
      assert.match(text(r), /outside the workspace|is a folder|no such file/);
    }
    assert.ok((await call('read', { path: join(far, 'report.txt') })).isError);
  });

  test(`MCP without elicitation, ${name}: refused, with the reason`, async t => {
    const { client } = await connect(t, project(t, LISTED), way);
    for (const [tool, args] of [['notify', { title: 'x' }], ['show_dialog', { title: 'x' }], ['show_file_picker', {}]]) {
      const r = await client.callTool({ name: tool, arguments: args });
      assert.ok(r.isError);
      assert.match(text(r), way.http ? /no user can be reached: the client is not at this console; no terminal; the client did not declare elicitation; the client is not at this desktop/
        : /no user can be reached: no page of the console is open; no terminal; the client did not declare elicitation; no desktop \(no session bus\)/);
    }
  });
}
