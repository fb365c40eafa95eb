// harness call of command and argv tools; environment, injected values, secrets.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { caller, tool } from './calls.mjs';

const command = (text, head = '') => `---\nid: c\nname: C\ndescription: d\ncommand: ${JSON.stringify(text)}\n${head}---\n`;
const space = files => ({ 'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n', ...files });

test('command: a rendered template through a shell', t => {
  const p = caller(t, space({
    'agent/tools/c.md': command('printf "%s|" {{words}} "$PWD"; echo oops >&2; exit {{code}}', 'parameters:\n  - { name: words, type: array }\n  - { name: code, type: number, default: 0 }\n'),
  }));
  const r = p.call('c', { words: ['a b', '$(id)', ';x'] }, ['--yes']);
  assert.deepEqual(r.value, { stdout: `a b|$(id)|;x|${p.dir}|`, stderr: 'oops\n', exit_code: 0 });
  const bad = p.call('c', { words: ['x'], code: 3 }, ['--yes']);
  assert.deepEqual([bad.status, bad.value.exit_code, bad.value.error], [1, 3, 'exit status 3']);
  assert.equal(p.events('sandbox.applied').length, 1);
});

test('command: environment, expanded when called and kept secret', t => {
  const p = caller(t, space({ 'agent/tools/c.md': command('printf %s "$TOKEN" | rev; echo; echo "$TOKEN"; env', 'environment: { TOKEN: "x-${MY_TOKEN}", PLAIN: "$${A}" }\n') }));
  const r = p.call('c', {}, ['--yes'], { env: { MY_TOKEN: 'hunter2hunter2', OTHER: 'not-passed' } });
  assert.ok(!r.stdout.includes('hunter2hunter2'));
  assert.match(r.value.stdout, /^2retnuh2retnuh-x\nx-\[redacted\]\n/);
  assert.match(r.value.stdout, /^PLAIN=\$\{A\}$/m);
  assert.ok(!r.value.stdout.includes('not-passed'));
  assert.deepEqual(p.events('sandbox.applied')[0].data.envKeys, ['TOKEN', 'PLAIN']);
  const unset = p.call('c', {}, ['--yes']);
  assert.match(unset.error.message, /environment\.TOKEN: \$\{MY_TOKEN\} is not set/);
});

test('command: time', t => {
  const p = caller(t, space({ 'agent/tools/c.md': command('echo started; sleep 60', 'timeout: 0.3\n') }));
  const r = p.call('c', {}, ['--yes']);
  assert.deepEqual([r.status, r.value.timed_out], [1, true]);
  assert.ok(r.elapsed_ms < 10000);
});

const manifest = (entry, script) => ({
  'tools.json': JSON.stringify({ tools: [{ name: 'x', command: ['./tools/bin/x', 'one', 'two words'], ...entry }] }),
  'tools/bin/x': `#!/bin/sh\n${script}\n`,
});
function argv(t, entry, script, options) {
  const p = caller(t, manifest(entry, script), options);
  chmodSync(join(p.dir, 'tools/bin/x'), 0o755);
  return p;
}

test('argv: the caller’s own bytes on stdin, one JSON value on stdout', t => {
  const p = argv(t, {}, 'in=$(cat); printf \'{"got":%s,"n":%d,"two":"%s","cwd":"%s"}\\n\' "$in" $# "$2" "$PWD"');
  const r = p.call('x', '{ "a" : 1.50 }', ['--yes']);
  assert.deepEqual(r.value, { got: { a: 1.5 }, n: 2, two: 'two words', cwd: p.dir });
  const raw = argv(t, { schema: { type: 'object', properties: { d: { type: 'number', default: 7 } } } }, 'printf \'"\'; cat | base64 -w0; printf \'"\'');
  assert.equal(Buffer.from(raw.call('x', '{ "a" : 1.50 }', ['--yes']).value, 'base64').toString(), '{ "a" : 1.50 }');
});

test('argv: failures', t => {
  const cases = [
    ['echo \'{"error":"mine","code":5}\' >&2; exit 3', { error: 'mine', code: 5 }],
    ['echo plain text >&2; exit 1', { error: 'plain text' }],
    ['exit 4', { error: 'exit status 4' }],
    ['kill -9 $$', { error: 'ended by signal 9' }],
  ];
  for (const [script, value] of cases) {
    const r = argv(t, {}, script).call('x', {}, ['--yes']);
    assert.deepEqual([r.status, r.value], [1, value], script);
  }
  const refused = ['echo hello', 'printf \'{}\\n{}\\n\'', 'printf \'{} {}\'', 'printf \'1\\n2\\n\'', 'printf \'{\\n "a": 1\\n}\\ndone\\n\'', 'printf \'{"a":\\n\'',
    'printf \'\\n\\n\'', 'true', 'head -c 100000 /dev/zero | tr "\\0" a', 'printf \'"\'; head -c 2000000 /dev/zero | tr "\\0" a; printf \'"\''];
  for (const script of refused) {
    const r = argv(t, {}, script).call('x', {}, ['--yes']);
    assert.equal(r.status, 1, script);
    assert.match(r.value.error, /^stdout is not one JSON value/, script);
    assert.ok(r.value.error.length < 2300);
  }
});

test('argv: the JSON on stdout may take several lines', t => {
  const cases = [
    ['printf \'{\\n  "a": [\\n    1,\\n    2\\n  ]\\n}\\n\'', { a: [1, 2] }],
    ['printf \'\\n\\t {"a":\\r\\n1}\\r\\n\\n\'', { a: 1 }],
    ['printf \'[\\n]\'', []],
    ['printf \'\\n"x"\\n\'', 'x'],
    ['python3 -c \'import json; print(json.dumps({"k": {"deep": [None, True]}}, indent=4))\'', { k: { deep: [null, true] } }],
  ];
  for (const [script, value] of cases) {
    const r = argv(t, {}, script).call('x', {}, ['--yes']);
    assert.deepEqual([r.status, r.value], [0, value], script);
  }
});

test('argv: environment is PATH, HOME, TMPDIR and the passed names, nothing else', t => {
  const env = { TZ: 'Europe/Helsinki', SECRET_X: 'nope' };
  // If the program gets a variable other than a time zone, its folder is protected, and Python writes no bytecode there.
  for (const [envPassthrough, more] of [[['tz'], []], [['tz', 'UNSET_NAME'], ['PYTHONDONTWRITEBYTECODE']]]) {
    const p = argv(t, { envPassthrough }, 'printf \'"\'; env | cut -d= -f1 | sort | tr "\\n" " "; printf \'"\'', { env });
    const names = p.call('x', {}, ['--yes']).value.trim().split(' ').filter(n => !['_', 'SHLVL', 'PWD', 'OLDPWD'].includes(n));
    assert.deepEqual(names, ['HOME', 'PATH', ...more, 'TMPDIR', 'TZ']);
    assert.deepEqual(p.events('sandbox.applied')[0].data.envKeys, [...more, 'TZ']);
  }
});

test('argv: timeoutSec', t => {
  const p = argv(t, { timeoutSec: 1 }, 'sleep 30');
  const r = p.call('x', {}, ['--yes']);
  assert.deepEqual([r.status, r.value.timed_out], [1, true]);
});

test('injected values', t => {
  const p = caller(t, {
    'harness.md': '---\nsecrets: { KEY: { env: THE_KEY } }\n---\n',
    '.harness/tools/i.md': tool('log.info("key " + runtime["secrets"]["KEY"])\nr = dict(runtime)\nr["length"] = len(runtime["secrets"]["KEY"])\nreturn r',
      'injected: [run_id, thread_id, agent, depth, workspace, idempotency_key, secrets.KEY]'),
    'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n',
    'agent/tools/c.md': command('echo $HARNESS_ARG_RUN_ID $HARNESS_ARG_DEPTH ${#HARNESS_ARG_KEY}', 'injected: [run_id, depth, secrets.KEY]\n'),
  }, { env: { THE_KEY: 'sesame-open-sesame' } });
  const r = p.call('i', {}, ['--yes', '--session', 's1']);
  const run = p.events()[0].run;
  assert.equal(r.status, 0, r.stdout + r.stderr);
  assert.deepEqual({ ...r.value, idempotency_key: '' }, { run_id: run, thread_id: 's1', agent: '', depth: 0, workspace: p.dir, idempotency_key: '', secrets: { KEY: '[redacted]' }, length: 18 });
  assert.equal(r.value.idempotency_key, p.events('tool.executing')[0].data.idempotency_key);
  for (const text of [r.stdout, r.stderr, JSON.stringify(p.events())]) assert.ok(!text.includes('sesame'));
  assert.match(p.call('c', {}, ['--yes']).value.stdout, /^[0-9a-f-]{36} 0 18\n$/);
  const sent = p.call('i', { run_id: 'mine' }, ['--yes']);
  assert.equal(sent.error.step, 'validate');
  assert.match(sent.error.message, /\/run_id: is supplied by the runtime/);
  const schema = p.run(['tools', '--format', 'openai']).stdout;
  assert.ok(!schema.includes('run_id'));
  const unset = p.call('i', {}, ['--yes'], { env: { THE_KEY: undefined } });
  assert.match(unset.error.message, /secret "KEY": environment variable THE_KEY is not set/);
});

test('safety.redact takes matches out of everything', t => {
  const p = caller(t, { '.harness/tools/r.md': tool('return {"a": args["x"], "k": [args["x"]], args["x"]: 1}', 'safety: { redact: ["card-[0-9]+"] }') });
  const r = p.call('r', { x: 'pay card-1234 now' });
  assert.deepEqual(r.value, { a: 'pay [redacted] now', k: ['pay [redacted] now'], 'pay [redacted] now': 1 });
  assert.ok(!JSON.stringify(p.events()).includes('card-1234'));
});

test('model keys are never shown', t => {
  const p = caller(t, { '.harness/tools/e.md': tool('return args["x"]') }, { env: { OPENAI_API_KEY: 'sk-abcdefghijkl' } });
  assert.equal(p.call('e', { x: 'sk-abcdefghijkl' }).value, '[redacted]');
  assert.equal(p.call('e', { x: Buffer.from('sk-abcdefghijkl').toString('base64') }).value, '[redacted]');
});

test('typed content', t => {
  const p = caller(t, { '.harness/tools/c.md': tool('return [content.text("hi"), content.image("aGk=", "image/png")]'), '.harness/tools/d.md': tool('return {"type": "text", "text": "mine"}') });
  const r = p.call('c');
  assert.deepEqual(r.content.map(b => b.type), ['text', 'image']);
  assert.deepEqual(p.call('d').content, [{ type: 'text', text: '{"type":"text","text":"mine"}' }]);
});
