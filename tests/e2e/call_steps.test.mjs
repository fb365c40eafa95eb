// harness call: the eleven steps, one after another, and what a result looks like.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { caller, hook, tool } from './calls.mjs';

const up = tool('return {"out": args["text"].upper() * args["times"]}', `aliases: [shout]
parameters:
  text: { type: string, required: true }
  times: { type: integer, default: 2, minimum: 1 }`);

test('a value, in every form', t => {
  const p = caller(t, { '.harness/tools/up.md': up });
  const plain = p.run(['call', 'up', '{"text":"a"}']);
  assert.deepEqual([plain.status, plain.stdout, plain.stderr], [0, '{"out":"AA"}\n', '']);
  assert.equal(p.run(['call', 'up', '{"text":"a"}', '--raw']).stdout, '{"out":"AA"}\n');
  const { call, status } = p.call('up', { text: 'a' });
  assert.equal(status, 0);
  assert.deepEqual({ ...call, tool_call_id: '', elapsed_ms: 0, run: '' }, {
    tool_call_id: '', name: 'up', content: [{ type: 'text', text: '{"out":"AA"}' }], value: { out: 'AA' }, artifacts: [], is_error: false, elapsed_ms: 0, run: '',
  });
  assert.match(call.tool_call_id, /^call_/);
  assert.equal(call.run, p.events()[0].run);
  assert.equal(p.run(['call', 'up', '-'], { input: '{"text":"b"}' }).stdout, '{"out":"BB"}\n');
  assert.equal(p.run(['call', 'up', '--arg', 'text=5', '--arg', 'times=3']).stdout, '{"out":"555"}\n');
  assert.equal(p.run(['call', 'up', '{"text":"x"}', '--arg', 'times=1']).stdout, '{"out":"X"}\n');
  assert.deepEqual(p.events().map(e => e.type), ['run.started', 'tool.started', 'tool.executing', 'tool.completed', 'run.ended']);
  assert.deepEqual(p.events().map(e => e.seq), [1, 2, 3, 4, 5]);
});

test('a string is printed as JSON, and unchanged with --raw', t => {
  const p = caller(t, { '.harness/tools/say.md': tool('return "a\\nb"') });
  assert.equal(p.run(['call', 'say']).stdout, '"a\\nb"\n');
  assert.equal(p.run(['call', 'say', '--raw']).stdout, 'a\nb\n');
});

test('1 resolve: by name or alias; unknown names the nearest', t => {
  const p = caller(t, { '.harness/tools/up.md': up });
  assert.equal(p.call('shout', { text: 'a' }).name, 'up');
  const bad = p.call('uq', { text: 'a' });
  assert.equal(bad.status, 1);
  assert.deepEqual(bad.error, { class: 'repairable', step: 'resolve', rule: 'unknown_tool', message: 'unknown tool "uq" (did you mean "up"?)' });
  assert.deepEqual(bad.value, { error: bad.error.message });
  assert.deepEqual(p.events().map(e => e.type), ['run.started', 'tool.refused', 'run.ended']);
});

test('1 resolve: the hint about the list of tools depends on the error, not on the text of the message', t => {
  const hint = /list tools with: harness tools/;
  const p = caller(t, {
    '.harness/tools/up.md': up,
    '.harness/hooks/unknown_tool.md': hook('tool.pre', 'return block("no")'),
  });
  assert.match(p.run(['call', 'nothing_like_it']).stderr, hint);
  assert.match(p.run(['call', 'did you mean']).stderr, hint);
  assert.doesNotMatch(p.run(['call', 'uq']).stderr, hint);
  const refused = p.run(['call', 'up', '{"text":"a"}']);
  assert.match(refused.stdout, /blocked by hook unknown_tool/);
  assert.doesNotMatch(refused.stderr, hint);
});

test('1 resolve: a bundle whose condition is false', t => {
  const bundle = condition => `---\ncondition: ${condition}\ntools:\n  - name: hi\n    description: d\n    script: |\n      def run(args): return 1\n---\n`;
  assert.equal(caller(t, { '.harness/plugins/b.md': bundle('ctx["depth"] == 0') }).call('hi').value, 1);
  assert.deepEqual(caller(t, { '.harness/plugins/b.md': bundle('ctx["depth"] > 0') }).call('hi').error,
    { class: 'repairable', step: 'resolve', rule: 'condition', message: 'tool "hi" is unavailable: the condition of bundle "b" is false' });
  const failing = caller(t, { '.harness/plugins/b.md': bundle('ctx["nothing"]') }).call('hi');
  assert.equal(failing.error.class, 'fatal');
});

test('2 parse: strict JSON, no duplicates, never replaced by {}', t => {
  const p = caller(t, { '.harness/tools/up.md': up, '.harness/tools/any.md': tool('return args') });
  for (const [text, message] of [
    ['{"text": "a"', /^arguments: json: line 1: /],
    ['{"text": "a", "text": "b"}', /duplicate key/],
    ["{'text': 1}", /at "'text'/],
    ['[1]', /^arguments: expected object, got list$/],
    ['nope', /json/],
    ['{"a":01}', /json/],
  ]) {
    const r = p.call('any', text);
    assert.equal(r.status, 1, text);
    assert.equal(r.error.step, 'parse', text);
    assert.match(r.error.message, message);
    assert.equal(r.error.class, 'repairable');
  }
  assert.deepEqual(p.call('any').value, {});
  assert.deepEqual(p.run(['call', 'any', '{"big":123456789012345678901234567890,"f":1.0}']).stdout, '{"big":123456789012345678901234567890,"f":1.0}\n');
});

test('3 validate: defaults, all violations, no coercion', t => {
  const p = caller(t, { '.harness/tools/up.md': up });
  const r = p.call('up', { text: 5, times: '2' });
  assert.equal(r.error.step, 'validate');
  assert.match(r.error.message, /\/text: expected string, got number/);
  assert.match(r.error.message, /\/times: expected integer, got string/);
  assert.match(p.call('up', {}).error.message, /text/);
  assert.deepEqual(p.call('up', { text: 'a', more: 1 }).value, { out: 'AA' });
  const strict = caller(t, { 'tools.json': JSON.stringify({ tools: [{ name: 'x', schema: { type: 'object', additionalProperties: false }, command: ['/bin/true'] }] }) });
  assert.equal(strict.call('x', { y: 1 }).error.step, 'validate');
});

test('3 validate: nested defaults are copies', t => {
  const p = caller(t, {
    '.harness/tools/n.md': tool('args["o"]["l"].append(1)\nreturn args', `parameters:
  o:
    type: object
    default: { l: [] }
    properties:
      l: { type: array, default: [7] }`),
  });
  assert.deepEqual(p.call('n').value, { o: { l: [1] } });
  assert.deepEqual(p.call('n').value, { o: { l: [1] } });
  assert.deepEqual(p.call('n', { o: {} }).value, { o: { l: [7, 1] } });
});

test('4 limits', t => {
  const p = caller(t, { '.harness/tools/up.md': up, 'harness.md': '---\nlimits: { max_tool_calls: 0 }\n---\n' });
  const r = p.call('up', { text: 'a' });
  assert.deepEqual(r.error, { class: 'fatal', step: 'limits', rule: 'limits.max_tool_calls', message: 'limits.max_tool_calls of 0 is reached' });
  assert.deepEqual(p.events().map(e => e.type), ['run.started', 'limit.reached', 'tool.refused', 'run.ended']);
  p.add({ 'harness.md': '---\nlimits: { max_tool_calls_per_turn: 0 }\n---\n' });
  assert.equal(p.call('up', { text: 'a' }).error.rule, 'limits.max_tool_calls_per_turn');
  p.add({ 'harness.md': '---\nlimits: { wall_clock_ms: 200 }\n---\n', '.harness/tools/slow.md': tool('sleep(5)\nreturn 1') });
  const slow = p.call('slow');
  assert.equal(slow.status, 1);
  assert.match(slow.error.message, /timed out|wall_clock/);
});

test('5 policy: deny wins, aliases count, allow-lists', t => {
  const p = caller(t, { '.harness/tools/up.md': up, 'harness.md': '---\ntools_policy: { deny: ["sho*"] }\n---\n' });
  const r = p.call('up', { text: 'a' });
  assert.equal(r.error.step, 'policy');
  assert.match(r.error.rule, /^tools_policy\.deny: sho\*/);
  assert.deepEqual(p.events().map(e => e.type), ['run.started', 'tool.started', 'tool.refused', 'run.ended']);
  p.add({ 'harness.md': '---\ntools_policy: { allow: [other] }\n---\n' });
  assert.equal(p.call('up', { text: 'a' }).error.step, 'policy');
  p.add({ 'harness.md': '---\ntools_policy: { allow: ["u*"], deny: [up] }\n---\n' });
  assert.equal(p.call('up', { text: 'a' }).error.step, 'policy');
  p.add({ 'harness.md': '---\ntools_policy: { allow: ["u*"] }\n---\n' });
  assert.equal(p.call('up', { text: 'a' }).status, 0);
});

test('5 policy: limits.deny acts on the effects of a tool, and --yes does not override it', t => {
  const p = caller(t, { '.harness/tools/w.md': tool('fs.write("x", "1")\nreturn 1'), 'harness.md': '---\nlimits: { deny: [mutating] }\n---\n' });
  const r = p.call('w', {}, ['--yes']);
  assert.equal(r.error.step, 'policy');
  assert.match(r.error.rule, /^limits\.deny: mutating/);
  assert.equal(p.has('x'), false);
});

test('6 tool.pre: block and modify', t => {
  const p = caller(t, {
    '.harness/tools/up.md': up,
    '.harness/hooks/a.md': hook('tool.pre', 'if payload["args"]["text"] == "no":\n    return block("not that")\nreturn allow()'),
    '.harness/hooks/b.md': hook('tool.pre', 'p = dict(payload)\np["args"] = dict(payload["args"], times = 3)\nreturn modify(p)', 'priority: 1'),
  });
  assert.deepEqual(p.call('up', { text: 'a' }).value, { out: 'AAA' });
  assert.deepEqual(p.events('hook.decided').map(e => [e.data.hook, e.data.decision]), [['a', 'allow'], ['b', 'modify'], ['a', 'allow']]);
  assert.deepEqual(p.events('tool.executing')[0].data.args, { text: 'a', times: 3 });
  const r = p.call('up', { text: 'no' });
  assert.deepEqual(r.error, { class: 'repairable', step: 'tool.pre', rule: 'a', message: 'blocked by hook a: not that' });
  assert.equal(p.events('tool.executing').length, 0);
});

test('6 tool.pre: arguments changed by a hook must fit the schema', t => {
  const p = caller(t, {
    '.harness/tools/w.md': tool('fs.write("ran", "1")\nreturn 1', 'parameters:\n  n: { type: integer }'),
    '.harness/hooks/b.md': hook('tool.pre', 'return modify(dict(payload, args = {"n": "x"}))'),
  });
  const r = p.call('w', { n: 1 });
  assert.equal(r.error.step, 'tool.pre');
  assert.match(r.error.message, /\/n: expected integer, got string/);
  assert.equal(p.has('ran'), false);
});

test('8 execute: errors of a tool', t => {
  const p = caller(t, {
    '.harness/tools/f.md': tool('fail("boom", 3)'),
    '.harness/tools/e.md': tool('return {"error": "mine", "more": 1}'),
    '.harness/tools/empty.md': tool('return {"error": ""}'),
    '.harness/tools/fn.md': tool('return {"f": run}'),
    '.harness/tools/none.md': '---\nparameters: {}\n---\nNothing.\n',
    '.harness/tools/bug.md': tool('return args["missing"]'),
  });
  const failed = p.call('f');
  assert.equal(failed.status, 1);
  assert.equal(failed.error.step, 'execute');
  assert.match(failed.value.error, /boom 3/);
  assert.deepEqual(p.events().map(e => e.type), ['run.started', 'tool.started', 'tool.executing', 'tool.failed', 'run.ended']);
  assert.deepEqual(p.call('e').value, { error: 'mine', more: 1 });
  assert.equal(p.call('e').is_error, true);
  assert.equal(p.call('empty').is_error, false);
  assert.match(p.call('fn').error.message, /^run returned a value that has no JSON form: /);
  assert.equal(p.call('none').error.message, 'tool "none" has no implementation');
  assert.match(p.call('bug').error.message, /missing/);
});

test('8 execute: a timeout', t => {
  const p = caller(t, { '.harness/tools/s.md': tool('sleep(20)', 'timeout_ms: 100'), '.harness/tools/l.md': tool('for i in range(1000000000):\n    pass') });
  const r = p.call('s');
  assert.deepEqual([r.status, r.value.timed_out, r.error.class, r.error.timed_out], [1, true, 'retryable', true]);
  const l = p.call('l', {}, ['--timeout', '0.2']);
  assert.equal(l.value.timed_out, true);
  assert.ok(l.elapsed_ms < 5000);
});

test('8 execute: output_schema', t => {
  const p = caller(t, { '.harness/tools/o.md': tool('return args["v"]', 'output_schema: { type: object, required: [a] }') });
  assert.deepEqual(p.call('o', { v: { a: 1 } }).value, { a: 1 });
  const r = p.call('o', { v: { b: 1 } });
  assert.equal(r.error.rule, 'output_schema');
});

test('9 tool.post: rewrite, clear, withhold; errors are seen too', t => {
  const p = caller(t, {
    '.harness/tools/v.md': tool('if args["v"] == "fail":\n    fail("inner")\nreturn {"v": args["v"]}'),
    '.harness/hooks/p.md': hook('tool.post', `if payload["is_error"]:
    return modify(dict(payload, result = {"rescued": payload["args"]["v"]}, is_error = False))
if payload["result"]["v"] == "secret":
    return block("secret")
if payload["result"]["v"] == "crash":
    fail("no")
return modify(dict(payload, result = {"v": payload["result"]["v"] + "!"}))`),
  });
  assert.deepEqual(p.call('v', { v: 'a' }).value, { v: 'a!' });
  const rescued = p.call('v', { v: 'fail' });
  assert.deepEqual([rescued.status, rescued.value], [0, { rescued: 'fail' }]);
  const withheld = p.call('v', { v: 'secret' });
  assert.deepEqual(withheld.value, { error: 'result withheld by hook p: secret' });
  assert.deepEqual([withheld.error.step, withheld.error.rule], ['tool.post', 'p']);
  assert.match(p.call('v', { v: 'crash' }).value.error, /^result withheld by hook p: hook p failed: /);
});

test('9 tool.post sees the arguments as they were executed', t => {
  const p = caller(t, {
    '.harness/tools/m.md': tool('args["x"] = 99\nargs["l"].append(1)\nreturn 1'),
    '.harness/hooks/p.md': hook('tool.post', 'return modify(dict(payload, result = payload["args"]))'),
  });
  assert.deepEqual(p.call('m', { x: 1, l: [] }).value, { x: 1, l: [] });
});

test('10 bound: a large value becomes an artifact of its run', t => {
  const p = caller(t, { '.harness/tools/big.md': tool('return "é" * args["n"]'), '.harness/tools/small.md': tool('return "x" * 16384') });
  const r = p.call('big', { n: 20000 });
  assert.equal(r.value.length, 20000);
  assert.match(r.artifacts[0], /^art_/);
  const text = r.content[0].text;
  assert.ok(Buffer.byteLength(text) < 16384, `${Buffer.byteLength(text)}`);
  assert.match(text, new RegExp(`of 40000 bytes left out; the whole result is artifact ${r.artifacts[0]}`));
  assert.ok(!text.includes('\ufffd'));
  assert.deepEqual(p.events('tool.completed')[0].data.artifacts, r.artifacts);
  assert.deepEqual(p.call('small').artifacts, []);
});

test('--trace shows each step and each hook', t => {
  const p = caller(t, { '.harness/tools/up.md': up, '.harness/hooks/a.md': hook('tool.pre', 'return allow()') });
  const { stderr } = p.run(['call', 'up', '{"text":"a"}', '--trace']);
  for (const step of ['resolve', 'parse', 'validate', 'limits', 'policy', 'hook', 'tool.pre', 'execute', 'bound'])
    assert.match(stderr, new RegExp(`^ +[0-9.]+ ms  ${step.replace('.', '\\.')} `, 'm'), step);
  assert.match(stderr, /a tool\.pre: allow/);
});

test('wrong use', t => {
  const p = caller(t, { '.harness/tools/up.md': up });
  for (const args of [['call'], ['call', 'up', '{}', 'x'], ['call', 'up', '--timeout', 'x'], ['call', 'up', '--arg', 'x'], ['call', 'up', '--session', 'a b']])
    assert.equal(p.run(args).status, 2, args.join(' '));
  p.add({ '.harness/tools/bad.md': '---\nscript: x(\n---\n' });
  const r = p.run(['call', 'up', '{}']);
  assert.equal(r.status, 1);
  assert.match(r.stderr, /bad\.md/);
  assert.equal(p.run(['call', 'up', '{"text":"a"}', '--lenient']).stdout, '{"out":"AA"}\n');
});
