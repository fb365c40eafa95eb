// harness test: every kind of expectation passes and fails when it should; copies, recordings, JUnit.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { add, folder, project, run, shell, start } from './harness.mjs';

// A model that does what it is told: "call TOOL JSON", "fail", anything else is the answer. Sub-agents have it too.
const model = `
def reply(messages, tools):
    last = messages[-1]
    words = last["content"].split(" ", 2)
    if last["role"] == "tool":
        return {"text": "result: " + last["content"], "usage": {"input": 30, "output": 12}}
    if words[0] == "call":
        return {"tool_calls": [{"name": words[1], "arguments": words[2]}]}
    if words[0] == "fail":
        return {"error": "the model is broken"}
    return {"text": "you said " + last["content"], "usage": {"input": 10, "output": 5}}
`;
const files = {
  'harness.md': '---\nmodel: {provider: script, name: scripted, script: model.star}\n---\nA project.\n',
  'model.star': model,
  'note.txt': 'the note\n',
  '.harness/tools/echo.md': '---\naliases: [say]\nparameters:\n  text: {type: string, required: true}\n  deep: {type: object}\nscript: |\n  def run(args):\n      return {"text": args["text"], "list": [1, 2], "n": 3}\n---\nEchoes.\n',
  '.harness/tools/look.md': '---\nparameters:\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      return fs.read(args["path"])\n---\nReads.\n',
  '.harness/tools/put.md': '---\nparameters:\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      fs.write(args["path"], "new")\n      return "done"\n---\nWrites.\n',
  '.harness/tools/hidden.md': '---\nscript: |\n  def run(args):\n      return 1\n---\nNever.\n',
  '.harness/hooks/guard.md': '---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return block("no bad words") if "bad" in str(payload["args"]) else allow()\n---\n',
  '.harness/hooks/door.md': '---\nevent: turn.start\nscript: |\n  def handle(event, payload):\n      return block("not that") if "forbidden" in payload["text"] else allow()\n---\n',
  '.harness/agents/helper.md': '---\ndescription: helps\nmodel: claude-sonnet-4-5\n---\nYou help.\n',
};
const make = (t, tests, more = {}) => {
  const all = Object.fromEntries(Object.entries(tests).map(([name, text]) => [`.harness/tests/${name}.yaml`, text]));
  return project(t, { ...files, ...all, ...more });
};
const results = (dir, args = [], options = {}) => {
  const r = run(['-C', dir, 'test', '--json', ...args], options);
  const out = JSON.parse(r.stdout);
  return { ...r, out, of: Object.fromEntries((out.tests ?? []).map(x => [x.name, x])) };
};

const echo = `turns: ['call echo {"text": "hello", "deep": {"a": [1, {"b": 2}], "c": 3}}']\n`;
const kinds = {                                       // kind: [turns, expectation that is met, one that is not, the reported `got`]
  tool_called: [echo, 'echo', 'look', /^echo$/],
  tool_called_by_alias: [echo, 'tool_called: say', 'tool_called: [echo, look]', /^echo$/],
  tool_not_called: [echo, '[look, put]', '[look, echo]', /^echo$/],
  args: [echo, '{text: hello, deep: {a: [1, {b: 2}]}}', '{deep: {a: [1]}}', /^echo \{"text":"hello"/],
  hook_blocked: [`turns: ['call echo {"text": "bad"}']\n`, 'guard', 'door', /^a block by guard$/],
  hook_blocked_none: [echo, 'hook_blocked: false', 'hook_blocked: true', /^no hook blocked$/],
  hook_blocked_turn: [`turns: [forbidden fruit]\n`, 'hook_blocked: door', 'hook_blocked: guard', /^a block by door$/],
  response_contains: [echo, '[result, hello]', 'goodbye', /^"result: /],
  response_not_contains: [echo, 'goodbye', '[zebra, hello]', /^"result: /],
  max_tool_calls: [echo, '1', '0', /^1$/],
  max_tokens: [echo, '42', '41', /^42$/],
  events: [echo, '[turn.started, {tool.completed: {name: echo}}, {type: turn.ended, status: completed}]',
    '[{tool.completed: {name: echo}}, turn.started]', /completion\.completed, turn\.ended/],
};
for (const [kind, [turns, holds, broken, got]] of Object.entries(kinds)) {
  test(`${kind} holds, and fails when it should`, t => {
    const key = Object.keys(kinds).filter(k => kind.startsWith(k)).sort((a, b) => a.length - b.length)[0];
    const line = value => `expect: {${value.startsWith(key) ? value : `${key}: ${value}`}}\n`;
    const dir = make(t, { good: turns + line(holds), wrong: turns + line(broken) });
    const r = results(dir);
    assert.deepEqual(r.of.good.failures, []);
    assert.equal(r.of.wrong.ok, false);
    assert.equal(r.of.wrong.failures.length, 1, r.stdout);
    assert.equal(r.of.wrong.failures[0].check, `expect.${key}`);
    assert.match(r.of.wrong.failures[0].got, got);
    assert.notEqual(r.of.wrong.failures[0].expected, '');
    assert.equal(r.status, 1);
    assert.deepEqual([r.out.passed, r.out.failed], [1, 1]);
  });
}

test('no_errors holds, and fails for a refused call, a failing tool and a failing model', t => {
  const dir = make(t, {
    good: echo + 'expect: {no_errors: true}\n',
    refused: `turns: ['call echo {"text": "bad"}']\nexpect: {no_errors: true}\n`,
    unknown: `turns: ['call nothing {}']\nexpect: {no_errors: true}\n`,
    tool: `turns: ['call look {"path": "missing"}']\nexpect: {no_errors: true}\n`,
    model: 'turns: [fail]\nexpect: {no_errors: true}\n',
    allowed: 'turns: [fail]\nexpect: {no_errors: false}\n',
    silent: 'turns: [fail]\nexpect: {tool_not_called: echo}\n',          // a run that failed proves nothing
  });
  const r = results(dir);
  assert.deepEqual(r.out.tests.filter(x => x.ok).map(x => x.name).sort(), ['allowed', 'good']);
  assert.match(r.of.refused.failures[0].got, /^tool\.refused echo: .*no bad words/);
  assert.match(r.of.unknown.failures[0].got, /^tool\.refused nothing: /);
  assert.match(r.of.tool.failures[0].got, /^tool\.failed look: .*missing/);
  assert.match(r.of.model.failures.map(f => f.got).join('\n'), /the model is broken/);
  assert.match(r.of.silent.failures[0].got, /^failed: .*the model is broken/);
});

test('a call without a model: result, error, blocked_by', t => {
  const call = (tool, args) => `call: {tool: ${tool}, args: ${args}}\n`;
  const good = {
    result: call('echo', '{text: hi}') + 'result: {text: hi, n: 3}\n',
    text: call('look', '{path: note.txt}') + 'result: "the note\\n"\n',
    error: call('look', '{path: missing}') + 'error: missing\n',
    any_error: call('look', '{path: missing}') + 'error: true\n',
    blocked: call('echo', '{text: bad}') + 'blocked_by: guard\n',
    step: call('echo', '{}') + 'blocked_by: validate\n',
    alone: call('echo', '{text: hi}'),
    events: call('echo', '{text: hi}') + 'expect: {tool_called: echo, events: [tool.executing, tool.completed]}\n',
  };
  const wrong = {
    w_result: call('echo', '{text: hi}') + 'result: {text: ho}\n',
    w_list: call('echo', '{text: hi}') + 'result: {list: [1]}\n',
    w_error: call('look', '{path: missing}') + 'error: permission\n',
    w_no_error: call('echo', '{text: hi}') + 'error: true\n',
    w_blocked: call('echo', '{text: hi}') + 'blocked_by: guard\n',
    w_by: call('echo', '{text: bad}') + 'blocked_by: door\n',
    w_alone: call('look', '{path: missing}'),
    w_tool: call('nothing', '{}'),
  };
  const r = results(make(t, { ...good, ...wrong }));
  for (const x of r.out.tests) {
    assert.equal(x.ok, x.name in good, JSON.stringify(x));
    if (!x.ok) assert.notEqual(x.failures[0].got, '');
  }
  assert.match(r.of.w_by.failures[0].got, /tool\.pre, guard.*no bad words/);
});

test('mistakes in a test file are reported, with the nearest key', t => {
  const dir = make(t, {
    key: echo + 'expect: {tool_caled: echo}\n',
    top: 'call: {tool: echo, args: {text: x}}\nblockd_by: guard\n',
    inner: 'call: {tool: echo, arg: {text: x}}\n',
    turn: 'turns: [{usr: hi}]\nexpect: {no_errors: true}\n',
    type: echo + 'expect: {tool_called: 3}\n',
    nothing: 'description: nothing\n',
    both: echo + 'call: {tool: echo}\n',
    vague: 'turns: [hi]\n',
    network: 'model: claude-sonnet-4-5\nturns: [hi]\nexpect: {no_errors: true}\n',
    script: 'script: |\n  def answer(): pass\nturns: [hi]\nexpect: {no_errors: true}\n',
  });
  const r = results(dir);
  assert.equal(r.out.passed, 0);
  const said = Object.fromEntries(r.out.tests.map(x => [x.name, x.failures[0].got]));
  assert.match(said.key, /key\.yaml:2:10: expect: unknown key "tool_caled" \(did you mean "tool_called"\?\)/);
  assert.match(said.top, /unknown key "blockd_by" \(did you mean "blocked_by"\?\)/);
  assert.match(said.inner, /call: unknown key "arg" \(did you mean "args"\?\)/);
  assert.match(said.turn, /turns\[0\]: unknown key "usr" \(did you mean "user"\?\)/);
  assert.match(said.type, /expect\.tool_called: expected a string or a list of strings, got int/);
  assert.match(said.nothing, /needs `turns`, `call` or `guard`/);
  assert.match(said.both, /not both/);
  assert.match(said.vague, /needs `expect`/);
  assert.match(said.network, /not a script, a recording/);
  assert.match(said.script, /must define reply/);
});

test('models: inline, a file next to the test, a recording; sub-agents get it too', t => {
  const dir = make(t, {
    inline: 'script: |\n  def reply(messages, tools):\n      return "inline"\nturns: [hi]\nexpect: {response_contains: inline}\n',
    one_line: 'script: "def reply(messages, tools): return \'short\'"\nturns: [hi]\nexpect: {response_contains: short}\n',
    beside: 'model: other.star\nturns: [hi]\nexpect: {response_contains: beside}\n',
    profile: 'model: scripted\nturns: [hi]\nexpect: {response_contains: you said hi}\n',
    recorded: `model: talk.jsonl\nturns: ['call echo {"text": "taped"}']\nexpect: {tool_called: echo, response_contains: taped}\n`,
    differs: 'model: talk.jsonl\nturns: [something else]\nexpect: {response_contains: taped}\n',
    agent: `turns: ['call delegate {"agent": "helper", "task": "call echo {\\"text\\": \\"deep\\"}"}']\nexpect: {tool_called: [delegate, echo], response_contains: deep, no_errors: true}\n`,
    each: 'turns:\n- user: one\n  expect: {response_contains: one}\n- user: two\n  expect: {response_not_contains: one, max_tokens: 15}\n',
  }, { '.harness/tests/other.star': 'def reply(messages, tools):\n    return "beside"\n' });
  run(['-C', dir, 'run', '--ephemeral', '--record', join(dir, 'talk.jsonl'), '-p', 'call echo {"text": "taped"}']);
  const r = results(dir);
  assert.deepEqual(r.out.tests.filter(x => !x.ok).map(x => x.name), ['differs'], r.stdout);
});

test('delegate can be called like any tool, in a test and by harness call', t => {
  const dir = make(t, { x: `call: {tool: delegate, args: {agent: helper, task: hello}}\nresult: {agent: helper, status: completed, response: you said hello}\n` });
  assert.equal(results(dir).out.passed, 1);
  add(dir, { '.harness/agents/helper.md': '---\ndescription: helps\n---\nYou help.\n' });
  const r = run(['-C', dir, 'call', '--ephemeral', 'delegate', '{"agent": "helper", "task": "hello"}']);
  assert.equal(JSON.parse(r.stdout).response, 'you said hello', r.stderr);
});

test('each test has a copy of the workspace; the project and its store are unchanged', t => {
  const state = folder(t);
  const dir = make(t, {
    one: 'call: {tool: put, args: {path: note.txt}}\nresult: done\n',
    two: 'call: {tool: look, args: {path: note.txt}}\nresult: "the note\\n"\n',
    git: 'call: {tool: look, args: {path: .git/config}}\nerror: true\n',
    link: 'call: {tool: look, args: {path: link.txt}}\nresult: "the note\\n"\n',
    out: 'call: {tool: look, args: {path: away.txt}}\nerror: true\n',
  });
  mkdirSync(join(dir, '.git'));
  writeFileSync(join(dir, '.git/config'), 'secret');
  symlinkSync('note.txt', join(dir, 'link.txt'));
  symlinkSync('/etc/passwd', join(dir, 'away.txt'));
  const tmp = folder(t);
  const r = results(dir, [], { env: { XDG_STATE_HOME: state, TMPDIR: tmp } });
  assert.equal(r.out.failed, 0, r.stdout);
  assert.equal(readFileSync(join(dir, 'note.txt'), 'utf8'), 'the note\n');
  assert.deepEqual(readdirSync(join(state, 'harness')), ['rules']);      // no store; and no process is left
  assert.deepEqual(readdirSync(join(state, 'harness/rules')).filter(n => n.includes('mark-')), []);
  assert.deepEqual(readdirSync(tmp), []);
  const inside = join(dir, 'tmp');                    // copies made inside the workspace are not copied
  mkdirSync(inside);
  assert.equal(results(dir, ['one'], { env: { TMPDIR: inside } }).out.passed, 1);
  assert.deepEqual(readdirSync(inside), []);
});

test('a workspace around or below the project; one that is elsewhere is refused', t => {
  const top = folder(t);
  const test = { '.harness/tests/x.yaml': 'call: {tool: look, args: {path: note.txt}}\nresult: around\n' };
  const settings = where => ({ 'harness.md': `---\nworkspace: ${where}\nmodel: {provider: script, name: s, script: model.star}\n---\n` });
  add(top, { 'note.txt': 'around', 'elsewhere/note.txt': 'elsewhere' });
  add(join(top, 'agent'), { ...files, ...settings('..'), ...test });
  assert.equal(results(join(top, 'agent')).out.passed, 1);
  add(join(top, 'agent'), { ...settings('data'), 'data/note.txt': 'around' });
  assert.equal(results(join(top, 'agent')).out.passed, 1);
  add(join(top, 'agent'), settings('../elsewhere'));
  assert.match(results(join(top, 'agent')).out.error.message, /below the project's folder or around it/);
  add(join(top, 'agent'), settings(join(top, 'elsewhere')));
  assert.match(results(join(top, 'agent')).out.error.message, /is an absolute path/);
});

test('folders next to the project that it only reads are found from the copy', t => {
  const top = folder(t);
  add(top, { 'shared/tools/hello.md': '---\nscript: |\n  def run(args):\n      return "hello"\n---\nHello.\n', 'data/x.txt': 'data' });
  add(join(top, 'p'), { ...files, 'harness.md': '---\nartifact_roots: [../shared]\nsandbox: {read_roots: [../data]}\n---\n',
    '.harness/tests/a.yaml': 'call: {tool: hello, args: {}}\nresult: hello\n',
    '.harness/tests/b.yaml': `call: {tool: look, args: {path: ${join(top, 'data/x.txt')}}}\nresult: data\n` });
  const tmp = folder(t), r = results(join(top, 'p'), [], { env: { TMPDIR: tmp } });
  assert.equal(r.out.passed, 2, r.stdout + r.stderr);
  assert.deepEqual(readdirSync(tmp), []);
  assert.deepEqual(readdirSync(join(top, 'data')), ['x.txt']);
});

test('tests by name and by file; the last line; a project without tests', t => {
  const dir = make(t, { a: 'call: {tool: echo, args: {text: x}}\n', b: 'call: {tool: look, args: {path: missing}}\n' });
  const one = run(['-C', dir, 'test', 'a', '.harness/tests/a.yaml', join(dir, '.harness/tests/a.yaml')]);
  assert.equal(one.status, 0, one.stderr);
  assert.match(one.stdout, /^✓ a {2}\d+ ms\n1 passed, 0 failed\n$/);
  const all = run(['-C', dir, 'test']);
  assert.equal(all.status, 1);
  assert.match(all.stdout, /✗ b .*\n {2}\.harness\/tests\/b\.yaml\n {2}call\n {4}expected {2}no error\n {4}got {7}an error .*missing.*\n1 passed, 1 failed\n$/);
  const none = run(['-C', dir, 'test', 'aa']);
  assert.equal(none.status, 1);
  assert.match(none.stderr, /aa is not a test of this project \(did you mean "a"\?\)/);
  const empty = run(['-C', project(t, { 'harness.md': '---\n---\nx\n' }), 'test']);
  assert.equal(empty.stdout, '0 passed, 0 failed\n');
  assert.equal(empty.status, 0);
});

test('JUnit XML, with any text', t => {
  const dir = make(t, { good: echo + 'expect: {tool_called: echo}\n',
    odd: `turns: ["a <b> & \\"c\\" ]]> \\u0001 \\u007f é\\n"]\nexpect: {response_contains: "<&'\\">\\u0002"}\n` });
  const file = join(dir, 'results.xml');
  assert.equal(run(['-C', dir, 'test', '--junit', 'results.xml']).status, 1);
  const r = shell(`python3 - <<'END'
import json, xml.etree.ElementTree as e
root = e.parse('${file}').getroot()
suite = root.find('testsuite')
print(json.dumps([root.tag, root.attrib['tests'], suite.attrib['failures'], [[c.attrib['name'], len(c)] for c in suite], suite[1][0].text]))
END`);
  const [tag, tests, failures, cases, text] = JSON.parse(r.stdout);
  assert.deepEqual([tag, tests, failures, cases], ['testsuites', '2', '1', [['good', 0], ['odd', 1]]]);
  assert.match(text, /expect\.response_contains\n {2}expected: an answer with "<&'\\">/);
  assert.match(run(['-C', dir, 'test', '--junit', '/nowhere/x.xml']).stderr, /--junit \/nowhere\/x\.xml: /);
});

test('--events, --yes, -c, and a project that does not load', t => {
  const dir = make(t, { ask: 'call: {tool: ask, args: {}}\nresult: 1\n' },
    { '.harness/tools/ask.md': '---\nconfirm: true\nscript: |\n  def run(args):\n      return 1\n---\nAsks.\n' });
  assert.match(results(dir).of.ask.failures[0].got, /confirm/);
  const events = join(folder(t), 'events.jsonl');
  assert.equal(results(dir, ['--yes', '--events', events]).out.passed, 1);
  assert.match(readFileSync(events, 'utf8'), /"type":"tool\.completed"/);
  assert.equal(results(dir, ['--approve', 'ask', '-c', join(dir, 'harness.md')]).out.passed, 1);
  add(dir, { '.harness/tools/broken.md': 'no frontmatter' });
  const r = run(['-C', dir, 'test']);
  assert.equal(r.status, 1);
  assert.match(r.stderr, /broken\.md: missing frontmatter delimiter/);
});

test('Ctrl-C ends the tests and leaves nothing behind', async t => {
  const tmp = folder(t);
  const dir = make(t, { slow: 'call: {tool: slow, args: {}}\n' },
    { '.harness/tools/slow.md': '---\nscript: |\n  def run(args):\n      exec.run("sleep", ["100"], timeout_ms = 100000)\n---\nSlow.\n' });
  const r = await start(['-C', dir, 'test'], { env: { TMPDIR: tmp }, timeout: 1500, killSignal: 'SIGINT' });
  assert.equal(r.status, 130);
  assert.deepEqual(readdirSync(tmp), []);
  assert.equal(existsSync(dir), true);
});

test('the project of harness init passes its tests', t => {
  const dir = folder(t);
  run(['-C', dir, 'init', 'demo']);
  const r = run(['-C', join(dir, 'demo'), 'test']);
  assert.equal(r.status, 0, r.stdout + r.stderr);
  assert.match(r.stdout, /\n\d+ passed, 0 failed\n$/);
});
