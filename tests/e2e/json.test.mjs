// harness json check: what is JSON, what is not, and the position of the error.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, folder, run, shell } from './harness.mjs';

const MB = 1 << 20;

const good = {
  'an object': '{"a": [1, -2.5e3, true, false, null, "x"]}',
  'a bare number': '12',
  'a bare string': '"x"',
  'white space around': ' \t\r\n[ ] \n',
  'CRLF line ends': '{\r\n  "a": 1,\r\n  "b": [2]\r\n}\r\n',
  'an integer of 100,000 digits': '9'.repeat(100000),
  'a surrogate pair': '"\\ud83d\\ude00"',
  'text beyond the basic plane': '"\u{1f600} é 漢"',
  'an escaped NUL': '"\\u0000"',
  'equal keys': '{"a": 1, "a": 2}',
  'a float that underflows': '1e-400',
  '512 levels': '['.repeat(512) + ']'.repeat(512),
  '200,000 items': `[${'0,'.repeat(199999)}0]`,
};

// name: [content, line, column]
const bad = {
  'an empty file': ['', 1, 1],
  'only white space': [' \n \n', 3, 1],
  'truncated in an object': ['{"a": [1,\n2', 2, 2],
  'truncated in a string': ['["abc', 1, 6],
  'truncated in a literal': ['tru', 1, 1],
  'truncated in an escape': ['"\\u12', 1, 2],
  'a byte-order mark': ['\ufeff{}', 1, 1],
  'a raw NUL': [Buffer.from('[1, \0]'), 1, 5],
  'a raw NUL in a string': [Buffer.from('"a\0b"'), 1, 3],
  'a raw tab in a string': ['"a\tb"', 1, 3],
  'invalid UTF-8': [Buffer.from([0x22, 0x61, 0xff, 0x22]), 1, 3],
  'an overlong form': [Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 1, 2],
  'a surrogate in UTF-8': [Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 1, 2],
  'columns count characters': [Buffer.concat([Buffer.from('"é漢'), Buffer.from([0xff, 0x22])]), 1, 4],
  'a lone high surrogate': ['"\\ud800"', 1, 2],
  'a lone low surrogate': ['"a\\udc00"', 1, 3],
  'a high surrogate and a letter': ['"\\ud800\\u0041"', 1, 2],
  '1e400': ['[1,\n 1e400]', 2, 2],
  'a leading zero': ['01', 1, 1],
  'a bare minus': ['-', 1, 2],
  'a plus sign': ['+1', 1, 1],
  'no digit after the point': ['1.', 1, 3],
  'no digit in the exponent': ['1e+', 1, 4],
  'NaN': ['NaN', 1, 1],
  'a trailing comma': ['[1,]', 1, 4],
  'a trailing comma in an object': ['{"a":1,}', 1, 8],
  'a missing comma': ['[1 2]', 1, 4],
  'a missing colon': ['{"a" 1}', 1, 6],
  'a key that is no string': ['{1: 2}', 1, 2],
  'single quotes': ["['a']", 1, 2],
  'a comment': ['[1] // one', 1, 5],
  'two documents': ['1\n2', 2, 1],
  'a bad escape': ['"\\x41"', 1, 2],
  'a closing bracket too many': ['[]]', 1, 3],
  'the wrong bracket': ['[1}', 1, 3],
  '513 levels': ['['.repeat(513) + ']'.repeat(513), 1, 513],
  '10 MB of opening brackets': ['['.repeat(10 * MB), 1, 513],
  '10 MB of nested objects': ['{"a":'.repeat(2 * MB), 1, 512 * 5 + 1],
};

test('valid JSON is silent and exits 0', t => {
  const file = join(folder(t), 'good.json');
  for (const [name, text] of Object.entries(good)) {
    writeFileSync(file, text);
    assert.deepEqual(run(['json', 'check', file]), { status: 0, stdout: '', stderr: '' }, name);
  }
  assert.equal(run(['json', 'check', '--json', file]).stdout, '{"ok":true}\n');
});

test('anything else is one line with line and column, and exit 1', t => {
  const dir = folder(t);
  const wrong = [];
  for (const [name, [text, line, column]] of Object.entries(bad)) {
    writeFileSync(join(dir, 'bad.json'), text);
    const { status, stdout, stderr } = run(['json', 'check', 'bad.json'], { cwd: dir });
    assert.equal(status, 1, name);
    assert.equal(stdout, '', name);
    assert.match(stderr, /^harness: bad\.json:\d+:\d+: json: line \d+: [^\n]+\n$/, name);
    if (!stderr.startsWith(`harness: bad.json:${line}:${column}: json: line ${line}: `))
      wrong.push(`${name}: expected ${line}:${column}: ${stderr.trim()}`);
    assert.ok(stderr.length < 300, name);
  }
  assert.deepEqual(wrong, []);
});

test('with --json the failure is an object', t => {
  const dir = folder(t);
  writeFileSync(join(dir, 'x.json'), '[1,\n]');
  const { status, stdout, stderr } = run(['json', 'check', '--json', 'x.json'], { cwd: dir });
  assert.equal(status, 1);
  assert.equal(stderr, '');
  const { error } = JSON.parse(stdout);
  assert.equal(error.kind, 'parse');
  assert.equal(error.file, 'x.json');
  assert.deepEqual([error.line, error.column], [2, 1]);
  assert.match(error.message, /^json: line 2: /);
});

test('- reads standard input', () => {
  assert.equal(run(['json', 'check', '-'], { input: '[1]' }).status, 0);
  const { status, stderr } = run(['json', 'check', '-'], { input: '[1' });
  assert.equal(status, 1);
  assert.match(stderr, /^harness: <stdin>:1:3: json: line 1: /);
});

test('a file that cannot be read is an error', t => {
  const dir = folder(t);
  assert.deepEqual(run(['json', 'check', 'none.json'], { cwd: dir }),
    { status: 1, stdout: '', stderr: 'harness: open none.json: No such file or directory\n' });
  assert.deepEqual(run(['json', 'check', dir]), { status: 1, stdout: '', stderr: `harness: read ${dir}: Is a directory\n` });
  const { error } = JSON.parse(run(['json', 'check', 'none.json', '--json'], { cwd: dir }).stdout);
  assert.equal(error.kind, 'io');
});

test('bad input stays within 64 MiB', { skip: build !== 'release' && `${build} build` }, t => {
  const dir = folder(t);
  for (const name of ['10 MB of opening brackets', '10 MB of nested objects']) {
    writeFileSync(join(dir, 'bad.json'), bad[name][0]);
    const { status, stderr } = shell('ulimit -v 65536; "$HARNESS" json check bad.json', { cwd: dir });
    assert.equal(status, 1, stderr);
    assert.match(stderr, /^harness: bad\.json:1:\d+: json: /);
  }
});
