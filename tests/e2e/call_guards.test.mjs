// Hooks around harness call: a guard that fails in any way blocks; no later hook bypasses an earlier one.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { caller, hook, tool } from './calls.mjs';

const touch = tool('fs.write("ran", args.get("v", "1"))\nreturn "done"', 'parameters:\n  v: { type: string }');
const space = (hooks, files = {}) => ({
  '.harness/tools/touch.md': touch,
  'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n',
  'agent/hooks/h.json': JSON.stringify({ hooks }),
  ...files,
});
const command = (text, more = {}) => space([{ id: 'h', type: 'pre_tool', command: text, ...more }]);

// Each row: what is wrong, the files, what the reason says.
const failing = {
  'script raises': [{ '.harness/hooks/g.md': hook('tool.pre', 'fail("boom")') }, /hook g failed: .*boom/s],
  'infinite loop': [{ '.harness/hooks/g.md': hook('tool.pre', 'for i in range(1000000000):\n    pass', 'timeout_ms: 100') }, /hook g failed: .*timed out/s],
  'heap bomb': [{ '.harness/hooks/g.md': hook('tool.pre', 'x = "aaaaaaaaaaaaaaaa"\nfor i in range(40):\n    x = x + x\nreturn allow()') }, /hook g failed: /],
  'wrong return type': [{ '.harness/hooks/g.md': hook('tool.pre', 'return 5') }, /hook g failed: /],
  'no return': [{ '.harness/hooks/g.md': hook('tool.pre', 'pass') }, /hook g failed: /],
  'when raises': [{ '.harness/hooks/g.md': hook('tool.pre', 'return allow()', 'when: payload["nothing"]') }, /hook g failed: .*nothing/s],
  'modified arguments break the schema': [{ '.harness/hooks/g.md': hook('tool.pre', 'return modify(dict(payload, args = {"v": 1}))') }, /\/v: expected string/],
  'modifies more than it may': [{ '.harness/hooks/g.md': hook('tool.pre', 'return modify(dict(payload, name = "other"))') }, /hook g failed: /],
  'delegates where it may not': [{ '.harness/hooks/g.md': hook('tool.pre', 'return delegate({"agent": "x", "task": "y"})') }, /hook g failed: /],
  'command hook missing': [command('./no-such-program'), /hook h failed: /],
  'command hook not executable': [space([{ id: 'h', type: 'pre_tool', command: './guard.sh' }], { 'guard.sh': '#!/bin/sh\nexit 0\n' }), /hook h failed: /],
  'command hook killed': [command('kill -9 $$'), /hook h failed: /],
  'command hook slow': [command('sleep 30'), /hook h failed: .*timed out/s],
  'command hook printing garbage': [command('echo "{not json"'), /hook h failed: /],
  'command hook blocks': [command('echo no >&2; exit 1'), /blocked by hook h/],
};

for (const [what, [files, reason]] of Object.entries(failing))
  test(`fail closed: ${what}`, t => {
    const p = caller(t, { '.harness/tools/touch.md': touch, ...files });
    const r = p.call('touch', {}, ['--yes']);
    assert.equal(r.status, 1);
    assert.match(r.value.error, reason);
    assert.equal(r.error.step, 'tool.pre');
    assert.equal(p.has('ran'), false);
    assert.equal(p.events('tool.executing').length, 0);
    assert.match(p.events('tool.refused')[0].data.message, reason);
    assert.ok(p.events('hook.decided').length > 0);
  });

test('a wrong entry point does not load', t => {
  const p = caller(t, { '.harness/tools/touch.md': touch, '.harness/hooks/g.md': '---\nevent: tool.pre\nscript: |\n  def handel(event, payload): return allow()\n---\n' });
  const r = p.run(['call', 'touch', '{}', '--yes']);
  assert.equal(r.status, 1);
  assert.match(r.stderr, /hook "g": script must define handle\(event, payload\)/);
  assert.equal(p.run(['call', 'touch', '{}', '--yes', '--lenient']).status, 1);
  assert.equal(p.has('ran'), false);
});

test('on_error: allow', t => {
  const p = caller(t, { '.harness/tools/touch.md': touch, '.harness/hooks/g.md': hook('tool.pre', 'fail("boom")', 'on_error: allow') });
  assert.equal(p.call('touch', {}, ['--yes']).status, 0);
});

const guard = hook('tool.pre', 'if "bad" in payload["args"].get("v", ""):\n    return block("never bad")\nreturn allow()');
const sneaky = 'return modify(dict(payload, args = {"v": "bad"}))';
const sneaks = {
  'a later hook': { '.harness/hooks/z.md': hook('tool.pre', sneaky, 'priority: 9') },
  'a plugin': { '.harness/plugins/p.md': `---\nhooks:\n  - name: z\n    event: tool.pre\n    priority: 9\n    script: |\n      def handle(event, payload):\n          ${sneaky}\n---\n` },
  'a command hook': space([{ id: 'z', type: 'pre_tool', command: 'echo \'{"modified_input": {"v": "bad"}}\'' }], { '.harness/hooks/guard.md': guard.replace('event:', 'priority: -1\nevent:') }),
};

for (const [who, files] of Object.entries(sneaks))
  test(`composition: ${who} cannot bypass an earlier guard`, t => {
    const p = caller(t, { '.harness/tools/touch.md': touch, '.harness/hooks/guard.md': guard, ...files });
    const r = p.call('touch', { v: 'good' }, ['--yes']);
    assert.equal(r.error.rule, 'guard');
    assert.match(r.error.message, /never bad/);
    assert.equal(p.has('ran'), false);
  });

test('composition: a hook registered at run time cannot either', t => {
  const p = caller(t, {
    'harness.md': '---\nmeta: { enabled: true }\n---\n',
    '.harness/tools/touch.md': touch,
    '.harness/tools/go.md': tool(`code = "def handle(event, payload):\\n    if payload[\\"name\\"] != \\"touch\\": return allow()\\n    return modify(dict(payload, args = {\\"v\\": \\"bad\\"}))\\n"
meta.hook_register("z", "tool.pre", code, priority = 90)
return meta.call_tool("touch", {"v": "good"})`),
    '.harness/hooks/guard.md': guard,
  });
  const r = p.call('go', {}, ['--yes']);
  assert.match(r.value.error, /never bad/);
  assert.equal(p.has('ran'), false);
});

test('command hooks: input, environment, modified input, what is not matched', t => {
  const p = caller(t, space([
    { id: 'h', type: 'pre_tool', tools: ['tou*'], command: 'cat >/dev/null; printf \'{"modified_input": {"v": "%s %s"}}\' "$TOOL_NAME" "$SESSION_ID"' },
    { id: 'o', type: 'pre_tool', tools: ['other'], command: 'exit 1' },
  ]));
  const r = p.call('touch', {}, ['--yes']);
  assert.equal(r.status, 0, r.stderr);
  assert.equal(p.text('ran'), `touch ${p.events()[0].run}`);
});

test('hooks --stats counts over runs', t => {
  const p = caller(t, {
    '.harness/tools/touch.md': touch,
    '.harness/hooks/a.md': hook('tool.pre', 'return allow()'),
    '.harness/hooks/b.md': hook('tool.pre', 'if payload["args"].get("v") == "x":\n    return block("x")\nreturn allow()'),
  });
  assert.deepEqual(p.run(['hooks', '--stats', '--json']).stdout, '[]\n');
  p.call('touch', { v: 'x' }, ['--yes']);
  p.call('touch', { v: 'y' }, ['--yes']);
  const stats = JSON.parse(p.run(['hooks', '--stats', '--json']).stdout);
  assert.deepEqual(stats.map(({ name, calls, blocks, errors }) => [name, calls, blocks, errors]), [['a', 2, 0, 0], ['b', 2, 1, 0]]);
  assert.match(p.run(['hooks', '--stats']).stdout, /^b +2 +1 +0 +[0-9.]+ µs$/m);
});

test('an endless condition does not block a call forever', t => {
  const p = caller(t, {
    '.harness/plugins/p.md': '---\ncondition: "len([1 for a in range(1000000000) for b in range(1000000000) if a < 0]) == 0"\ntools:\n  - name: x\n    description: d\n    script: |\n      def run(args):\n          return 1\n---\n',
  });
  const r = p.call('x');
  assert.match(r.value.error, /condition: .*timed out/);
  assert.equal(r.error.step, 'resolve');
});
