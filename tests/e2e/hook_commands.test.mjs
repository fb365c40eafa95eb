// Command hooks of a space that filter results: real scripts, through `harness call`, MCP and nested calls.
import assert from 'node:assert/strict';
import test from 'node:test';
import { caller, hook, tool } from './calls.mjs';

const SECRET = 'token-4711-secret';
const hooks = list => JSON.stringify({ hooks: list });
const post = (command, more = {}) => ({ id: 'filter', type: 'post_tool', command, ...more });

function space(t, hook, files = {}) {
  return caller(t, {
    'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n',
    '.harness/tools/x.md': tool(`return {"user": "ada", "token": "${SECRET}"}`),
    'agent/hooks/h.json': hooks([hook]),
    ...files,
  });
}

// jq may be missing: the scripts that read JSON are Python.
const filter = `import json, sys
q = json.load(sys.stdin)
assert sorted(q) == ["input", "is_error", "output", "result", "tool"], sorted(q)
out = q["output"]
out["token"] = "[hidden]"
json.dump({"modified_output": out}, sys.stdout, indent=2)
`;

test('a post_tool hook replaces the result', t => {
  const p = space(t, post('python3 scripts/filter.py'), { 'scripts/filter.py': filter });
  const r = p.call('x', {});
  assert.deepEqual([r.status, r.value], [0, { user: 'ada', token: '[hidden]' }]);
  assert.doesNotMatch(r.stdout + JSON.stringify(p.events()), new RegExp(SECRET));
  assert.deepEqual(p.events('hook.decided').map(e => [e.data.hook, e.data.decision]), [['filter', 'modify']]);
});

test('a nested call and an error are filtered as well', t => {
  const p = space(t, post('python3 scripts/filter.py', { tools: ['x', 'bad'] }), {
    'scripts/filter.py': 'import json, sys\nq = json.load(sys.stdin)\n' +
      `print(json.dumps({"modified_output": json.loads(json.dumps(q["output"]).replace("${SECRET}", "***"))}))\n`,
    'harness.md': '---\nmeta: { enabled: true }\n---\n',
    '.harness/tools/outer.md': tool('return meta.call_tool("x", {})'),
    '.harness/tools/bad.md': tool(`fail("login with ${SECRET} failed")`),
  });
  assert.equal(p.call('outer', {}, ['--yes']).value.token, '***');
  const bad = p.call('bad', {});
  assert.doesNotMatch(bad.stdout + bad.stderr + JSON.stringify(p.events()), new RegExp(SECRET));
  assert.deepEqual([bad.status, bad.value.error], [1, 'fail: login with *** failed']);
});

test('a guard that had passed runs again on the filtered result', t => {
  const p = space(t, post('echo \'{"modified_output": "forbidden"}\''), {
    '.harness/hooks/guard.md': hook('tool.post', 'return block("no") if payload["result"] == "forbidden" else allow()', 'priority: -5'),
  });
  assert.deepEqual(p.call('x', {}).value, { error: 'result withheld by hook guard: no' });
});

test('two filters compose, and the first runs again', t => {
  const script = word => `import json, sys\nq = json.load(sys.stdin)\nq["output"].pop("${word}", None)\nprint(json.dumps({"modified_output": q["output"]}))\n`;
  const p = space(t, post('true'), {
    'agent/hooks/h.json': hooks([post('python3 a.py', { id: 'first' }), post('python3 b.py', { id: 'second' })]), 'a.py': script('token'), 'b.py': script('user'),
  });
  assert.deepEqual(p.call('x', {}).value, {});
  assert.deepEqual(p.events('hook.decided').map(e => [e.data.hook, e.data.decision]), [['first', 'modify'], ['second', 'modify'], ['first', 'allow']]);
});

const hostile = [
  ['garbage', 'echo "$(head -c 300 /dev/urandom | base64)"'],
  ['bytes that are not text', 'head -c 3000 /dev/urandom'],
  ['not JSON', 'echo modified_output=1'],
  ['half an object', 'printf \'{"modified_output": {"user": \''],
  ['two objects', 'echo \'{"modified_output": 1}{"modified_output": 2}\''],
  ['a list', 'echo \'[{"modified_output": 1}]\''],
  ['a duplicate key', 'echo \'{"modified_output": 1, "modified_output": {}}\''],
  ['too much output', 'printf \'{"modified_output": "\'; head -c 3000000 /dev/zero | tr "\\0" x; echo \'"}\''],
  ['endless output', 'yes \'{"modified_output": 1}\''],
  ['a misspelled key', 'echo \'{"modifiedOutput": 1}\''],
  ['deep nesting', 'python3 -c \'print("{\\"modified_output\\":" + "[" * 100000 + "]" * 100000 + "}")\''],
  ['block and modified_output', 'echo \'{"block": true, "message": "no", "modified_output": {"token": "x"}}\''],
  ['modified_output and exit 1', 'echo \'{"modified_output": 1}\'; exit 1'],
  ['modified_output and a crash', 'echo \'{"modified_output": 1}\'; kill -SEGV $$'],
  ['modified_output and no end', 'echo \'{"modified_output": 1}\'; sleep 60'],
  ['a decision in other terms', 'echo \'{"decision": "deny"}\''],
  ['the same input', 'echo \'{"modified_input": {}}\''],
  ['modified_input', 'echo \'{"modified_input": {"a": 1}}\''],
];

test('a filter that misbehaves withholds the result', t => {
  for (const [what, command] of hostile) {
    const p = space(t, post(command));
    const r = p.call('x', {});
    assert.equal(r.status, 1, what);
    assert.match(r.value.error, /^result withheld by hook filter: /, what);
    assert.doesNotMatch(r.stdout + r.stderr + JSON.stringify(p.events()), new RegExp(SECRET), what);
  }
});

test('blocking: false lets the result pass when the filter fails, not when it blocks', t => {
  const passes = space(t, post('echo garbage', { blocking: false })).call('x', {});
  assert.equal(passes.value.token, SECRET);
  const blocks = space(t, post('echo \'{"block": true}\'', { blocking: false })).call('x', {});
  assert.match(blocks.value.error, /^result withheld by hook filter/);
});

test('a large result reaches the filter on standard input only', t => {
  const p = space(t, post('python3 scripts/size.py'), {
    '.harness/tools/x.md': tool('return "y" * 200000'),
    'scripts/size.py': 'import json, os, sys\nq = json.load(sys.stdin)\nprint(json.dumps({"modified_output": [len(q["output"]), "TOOL_INPUT" in os.environ]}))\n',
  });
  assert.deepEqual(p.call('x', {}).value, [200000, false]);
});
