// harness schema validate and schema test; the official suite, as Debian packages it.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder, run } from './harness.mjs';

const suite = '/usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance';
const draft = join(suite, 'tests/draft2020-12');
const files = dir => readdirSync(dir).filter(name => name.endsWith('.json')).map(name => join(dir, name));
const last = text => text.trimEnd().split('\n').at(-1);

function write(dir, content) {
  for (const [name, value] of Object.entries(content))
    writeFileSync(join(dir, name), typeof value === 'string' ? value : JSON.stringify(value));
}

test('the official suite passes, required and optional', () => {
  assert.ok(existsSync(draft), 'libtest-json-schema-acceptance-perl is installed');
  for (const [least, flags, dir] of [[1100, [], draft], [140, ['--assert-format'], join(draft, 'optional')],
    [400, ['--assert-format'], join(draft, 'optional/format')]]) {
    const { status, stdout, stderr } = run(['schema', 'test', '--remotes', join(suite, 'remotes'), ...flags, ...files(dir)]);
    assert.equal(status, 0, stdout + stderr);
    const [, passed] = /^(\d+) passed, 0 failed$/.exec(last(stdout));
    assert.ok(Number(passed) > least, `${dir}: ${passed}`);
  }
});

test('validate prints a pointer and a message for each problem', t => {
  const dir = folder(t);
  write(dir, {
    's.json': { type: 'object', properties: { name: { type: 'string' }, 'a/b': { items: { maximum: 3 } } }, required: ['id'] },
    'good.json': { id: 1, name: 'x' },
    'bad.json': { name: 5, 'a/b': [1, 9] },
  });
  assert.deepEqual(run(['schema', 'validate', 's.json', 'good.json'], { cwd: dir }), { status: 0, stdout: '', stderr: '' });
  assert.deepEqual(run(['schema', 'validate', 's.json', 'bad.json'], { cwd: dir }), {
    status: 1, stderr: '',
    stdout: '/name: expected string, got number\n/a~1b/1: must be at most 3\n: missing required property "id"\n',
  });
  assert.equal(run(['schema', 'validate', 's.json', '-'], { cwd: dir, input: '{"id":1,"a/b":[1,2,3,4],"x\\ny":1}' }).stdout,
    '/a~1b/3: must be at most 3\n');
  write(dir, { 'names.json': { additionalProperties: { type: 'null' }, propertyNames: { maxLength: 2 } } });
  assert.equal(run(['schema', 'validate', 'names.json', '-'], { cwd: dir, input: '{"a\\nb":1}' }).stdout,
    '/a\\u000ab: expected null, got number\n: property name "a\\u000ab": must have at most 2 characters, has 3\n');
  const { status, stdout } = run(['schema', 'validate', '--json', 's.json', '-'], { cwd: dir, input: '[]' });
  assert.equal(status, 1);
  assert.deepEqual(JSON.parse(stdout),
    { valid: false, problems: [{ path: '', message: 'expected object, got array', schema: '/type' }] });
  assert.equal(run(['schema', 'validate', '--json', 's.json', 'good.json'], { cwd: dir }).stdout, '{"valid":true,"problems":[]}\n');
});

test('a bad schema is exit 2, a bad instance exit 1', t => {
  const dir = folder(t);
  write(dir, { 's.json': { properties: { x: { type: 'strng' } } }, 'cut.json': '{', 'ok.json': 'true', 'i.json': '1' });
  assert.deepEqual(run(['schema', 'validate', 's.json', 'i.json'], { cwd: dir }),
    { status: 2, stdout: '', stderr: 'harness: s.json: /properties/x/type: unknown type "strng" (did you mean "string"?)\n' });
  assert.equal(run(['schema', 'validate', 'cut.json', 'i.json'], { cwd: dir }).status, 2);
  assert.equal(run(['schema', 'validate', 'none.json', 'i.json'], { cwd: dir }).status, 2);
  const { status, stderr } = run(['schema', 'validate', 'ok.json', 'cut.json'], { cwd: dir });
  assert.equal(status, 1);
  assert.match(stderr, /^harness: cut\.json:1:2: json: line 1: /);
  assert.equal(run(['schema', 'validate', 'ok.json', 'i.json'], { cwd: dir }).status, 0);
  assert.equal(run(['schema', 'validate', 'ok.json']).status, 2);
});

test('references resolve only to files next to the schema', t => {
  const dir = folder(t);
  mkdirSync(join(dir, 'in'));
  write(dir, { 'outside.json': true, 'i.json': '1' });
  write(join(dir, 'in'), {
    'beside.json': { $ref: 'other.json#/$defs/text' }, 'other.json': { $defs: { text: { type: 'string' } } },
    'out.json': { $ref: '../outside.json' }, 'net.json': { $ref: 'http://localhost:1/x.json' }, 'broken.json': { $ref: 'bad.json' },
    'bad.json': '{',
  });
  const result = name => run(['schema', 'validate', join('in', name), 'i.json'], { cwd: dir });
  assert.deepEqual(result('beside.json'), { status: 1, stdout: ': expected string, got number\n', stderr: '' });
  for (const name of ['out.json', 'net.json']) {
    const { status, stderr } = result(name);
    assert.equal(status, 2);
    assert.match(stderr, /cannot resolve/);
  }
  assert.match(result('broken.json').stderr, /bad\.json: json: line 1: /);
});

test('schema test lists what fails', t => {
  const dir = folder(t);
  write(dir, {
    't.json': [
      { description: 'ints', schema: { type: 'integer' }, tests: [
        { description: 'one', data: 1, valid: true }, { description: 'wrong on purpose', data: 'x', valid: true }] },
      { description: 'bad schema', schema: { type: 'no' }, tests: [{ description: 'any', data: 1, valid: true }] },
      { description: 'formats', schema: { format: 'date' }, tests: [{ description: 'no date', data: 'x', valid: true }] },
    ],
    'object.json': {},
  });
  const plain = run(['schema', 'test', 't.json'], { cwd: dir });
  assert.equal(plain.status, 1);
  assert.equal(plain.stdout, 't.json: ints: wrong on purpose\nt.json: bad schema: any\n2 passed, 2 failed\n');
  assert.equal(last(run(['schema', 'test', '--assert-format', 't.json'], { cwd: dir }).stdout), '1 passed, 3 failed');
  assert.deepEqual(JSON.parse(run(['schema', 'test', '--json', 't.json'], { cwd: dir }).stdout),
    { passed: 2, failed: 2, failures: ['t.json: ints: wrong on purpose', 't.json: bad schema: any'] });
  assert.equal(run(['schema', 'test', 'object.json'], { cwd: dir }).status, 1);
  assert.equal(run(['schema', 'test', 'none.json'], { cwd: dir }).status, 1);
  assert.equal(run(['schema', 'test']).status, 2);
});

test('patterns with exponential backtracking end', t => {
  const dir = folder(t);
  write(dir, { 's.json': { pattern: '^(a|a)*$' }, 'i.json': JSON.stringify('a'.repeat(100) + '!') });
  const { status, stdout } = run(['schema', 'validate', 's.json', 'i.json'], { cwd: dir });
  assert.equal(status, 1);
  assert.match(stdout, /: pattern .*: regular expression: too many steps\n$/);
});
