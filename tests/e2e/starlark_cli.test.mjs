// harness starlark: files, expressions, checks, measuring, failures and their exit codes.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder, run, shell } from './harness.mjs';

// Runs `text` as the file t.star of a new folder.
function file(t, text, ...flags) {
  const cwd = folder(t);
  writeFileSync(join(cwd, 't.star'), text);
  return run(['starlark', ...flags, 't.star'], { cwd });
}

const evaluate = (code, ...flags) => run(['starlark', ...flags, '-e', code]);

test('a file runs; print writes to standard error', t => {
  assert.deepEqual(file(t, 'print("é", 1)\nx = [2]\nprint(x)\n'), { status: 0, stdout: '', stderr: 'é 1\n[2]\n' });
  assert.deepEqual(shell('echo "print(5)" | "$HARNESS" starlark -'), { status: 0, stdout: '', stderr: '5\n' });
  assert.deepEqual(file(t, ''), { status: 0, stdout: '', stderr: '' });
});

test('-e prints what an expression gives', () => {
  const cases = {
    '1 + 1': '2\n', '"é\\n"': '"é\\n"\n', '[1, {"a": (2,)}]': '[1, {"a": (2,)}]\n', 'None': '', '1, 2': '(1, 2)\n', '{}': '{}\n',
    'json.encode({"a": 1.5})': '"{\\"a\\":1.5}"\n', 'math.floor(2.5)': '2\n', '1 << 70': '1180591620717411303424\n',
  };
  for (const [code, stdout] of Object.entries(cases)) assert.deepEqual(evaluate(code), { status: 0, stdout, stderr: '' }, code);
});

test('-e takes statements too', () => {
  assert.deepEqual(evaluate('x = 3\nprint(x * 2)'), { status: 0, stdout: '', stderr: '6\n' });
  assert.deepEqual(evaluate('def f():\n  return 1\nprint(f())'), { status: 0, stdout: '', stderr: '1\n' });
  assert.deepEqual(evaluate(''), { status: 0, stdout: '', stderr: '' });
});

test('a failure prints the traceback, then the error, and exits 1', t => {
  const text = 'def f(x):\n    return 1 // x\n\ndef g():\n    print("on")\n    return f(0)\n\ng()\n';
  assert.deepEqual(file(t, text), {
    status: 1, stdout: '',
    stderr: 'on\nTraceback (most recent call last):\n  t.star:8:2: in <toplevel>\n  t.star:6:13: in g\n  t.star:2:14: in f\n' +
      'Error: floored division by zero\n',
  });
  const { status, stderr } = evaluate('1 // 0');
  assert.equal(status, 1);
  assert.equal(stderr, 'Traceback (most recent call last):\n  <expr>:1:3: in <toplevel>\nError: floored division by zero\n');
});

test('places of failures are those of the operator', () => {
  const cases = { 'a, b = 1': 6, 'x = [1]\nfor a, b in x: pass': 1, 'print(1 not in 5)': 13, 'print([][0])': 9, 'print({}.pop(1))': 13, 'print(1 + None)': 9 };
  for (const [code, column] of Object.entries(cases)) {
    const place = evaluate(code, '--allow-toplevel').stderr.match(/<expr>:\d+:(\d+): in <toplevel>/);
    assert.equal(place?.[1], String(column), code);
  }
});

test('fail() is an error like any other', () => {
  const { status, stdout, stderr } = evaluate('fail("no", 1)');
  assert.equal(status, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /^Traceback [^]*\nError: fail: no 1\n$/);
});

test('text that does not parse or resolve is shown with its place; nothing runs', t => {
  assert.deepEqual(file(t, 'print(1)\nx = (1 +\n'), {
    status: 1, stdout: '', stderr: 't.star:3:1: got end of file, want primary expression\n\n^\n',
  });
  assert.deepEqual(file(t, 'print(1)\nx = lenn([])\n'), {
    status: 1, stdout: '', stderr: 't.star:2:5: undefined: lenn (did you mean len?)\nx = lenn([])\n    ^\n',
  });
});

test('--check runs nothing and lists every error', t => {
  assert.deepEqual(file(t, 'print(1)\n', '--check'), { status: 0, stdout: '', stderr: '' });
  const { status, stdout, stderr } = file(t, 'x = y\nz = w\ndef f(a, a): pass\n', '--check');
  assert.equal(status, 1);
  assert.equal(stdout, '');
  assert.deepEqual(stderr.match(/^t\.star.*$/gm), [
    't.star:1:5: undefined: y', 't.star:2:5: undefined: w', 't.star:3:10: duplicate parameter: a',
  ]);
});

test('--check of an expression', () => {
  assert.equal(evaluate('1 // 0', '--check').status, 0);
  assert.equal(evaluate('1 +', '--check').status, 1);
});

const dialect = {
  '--allow-recursion': ['def f(n): return 1 if n < 1 else n * f(n - 1)\nprint(f(5))', '120\n', /called recursively/],
  '--allow-while': ['def f():\n  x = 3\n  while x > 0: x -= 1\n  return x\nprint(f())', '0\n', /Starlark has no while/],
  '--allow-toplevel': ['x = 1\nfor i in range(3): x += i\nif x: print(x)', '4\n', /top level|not within a function|reassign/],
};
for (const [flag, [code, printed, refusal]] of Object.entries(dialect)) {
  test(`${flag} switches on what is off`, () => {
    const off = evaluate(code);
    assert.equal(off.status, 1);
    assert.match(off.stderr, refusal);
    const { status, stderr } = evaluate(code, flag, '--allow-toplevel');
    assert.deepEqual({ status, stderr }, { status: 0, stderr: printed });
  });
}

test('deep recursion is an error', () => {
  const { status, stderr } = evaluate('def f(n): return f(n + 1)\nf(0)', '--allow-recursion');
  assert.equal(status, 1);
  assert.match(stderr, /\nError: Starlark stack overflow: call depth limit of \d+ reached\n$/);
});

test('--bench prints the best time of each function', t => {
  const cwd = folder(t);
  writeFileSync(join(cwd, 'b.star'), 'def one():\n    return 1\n\ndef loop():\n    for i in range(1000): pass\n\ndef bad(): fail("no")\nx = 5\n');
  const good = run(['starlark', '--bench', 'b.star', 'one', 'loop'], { cwd });
  assert.equal(good.status, 0);
  assert.match(good.stdout, /^one \d+\.\d{3} ms\nloop \d+\.\d{3} ms\n$/);
  assert.equal(good.stderr, '');
  const cases = { bad: /Error: fail: no/, x: /Error: invalid call of non-function \(int\)/, y: /Error: no function named y/ };
  for (const [name, message] of Object.entries(cases)) {
    const { status, stderr } = run(['starlark', '--bench', 'b.star', name], { cwd });
    assert.equal(status, 1);
    assert.match(stderr, message);
  }
});

test('wrong use exits 2', () => {
  const cases = [['a.star', 'b.star'], ['-e', '1', 'a.star'], ['--bench', 'a.star'], ['--bench', '-e', '1'], ['--nope'], ['-e']];
  for (const args of cases) {
    const { status, stdout, stderr } = run(['starlark', ...args]);
    assert.equal(status, 2, args.join(' '));
    assert.equal(stdout, '');
    assert.match(stderr, /^harness: .+\n/);
  }
});

test('a file that cannot be read', t => {
  const cwd = folder(t);
  assert.deepEqual(run(['starlark', 'missing.star'], { cwd }), {
    status: 1, stdout: '', stderr: 'harness: open missing.star: No such file or directory\n',
  });
  assert.equal(run(['starlark', '.'], { cwd }).status, 1);
});

test('a file that is not UTF-8', t => {
  const { status, stderr } = file(t, Buffer.from([0x78, 0x20, 0x3d, 0x20, 0x22, 0xff, 0x22, 0x0a]));
  assert.equal(status, 1);
  assert.match(stderr, /^t\.star:1:6: invalid UTF-8 in source\n/);
});

test('--json reports a failure as JSON', t => {
  const failed = file(t, 'x = 1\ny = 1 // 0\n', '--json');
  assert.equal(failed.status, 1);
  assert.deepEqual(JSON.parse(failed.stdout).error,
    { kind: 'script', message: 'floored division by zero', file: 't.star', line: 2, column: 7, hint: null });
  const refused = file(t, 'x = y\n', '--json', '--check');
  assert.equal(refused.status, 1);
  assert.deepEqual(JSON.parse(refused.stdout).error,
    { kind: 'parse', message: 'undefined: y', file: 't.star', line: 1, column: 5, hint: null });
});

test('standard output that is full or closed is an error', () => {
  for (const to of ['>/dev/full', '>&-']) {
    const { status, stderr } = shell(`"$HARNESS" starlark -e 1 ${to}`);
    assert.equal(status, 1, to);
    assert.match(stderr, /^harness: write standard output: /);
  }
});

test('without a terminal the prompt is a script of statements', () => {
  const feed = input => run(['starlark'], { input });
  assert.deepEqual(feed('x = 1\nx + 1\ndef f(a):\n    return a * 2\n\nf(21)\nx = 5\n[f(i)\n for i in range(3)]\nNone\n"é"\n'),
    { status: 0, stdout: '2\n42\n[0, 2, 4]\n"é"\n', stderr: '' });
  assert.deepEqual(feed('print(1)'), { status: 0, stdout: '', stderr: '1\n' });
  assert.deepEqual(feed('def f():\n  return 7\nprint(f())'), { status: 0, stdout: '', stderr: '7\n' });
  assert.deepEqual(feed('if 1:\n  print(2)'), { status: 0, stdout: '', stderr: '2\n' });
  assert.deepEqual(feed(''), { status: 0, stdout: '', stderr: '' });
  assert.deepEqual(feed('1\nfail("no")\n2\n'),
    { status: 1, stdout: '1\n', stderr: 'Traceback (most recent call last):\n  <stdin>:2:5: in <toplevel>\nError: fail: no\n' });
});

// ---- in a terminal ----

const terminal = new URL('terminal.py', import.meta.url).pathname;

function session(t, steps, env = {}) {
  const state = folder(t);
  const input = JSON.stringify([['', '>>> '], ...steps, ['\x04', '']]);
  const { stdout } = shell(`python3 "$TERMINAL" "$HARNESS" starlark`,
    { input, env: { TERMINAL: terminal, TERM: 'xterm', XDG_STATE_HOME: state, ...env } });
  const result = JSON.parse(stdout);
  assert.equal(result.missing, null, result.output);
  assert.equal(result.status, 0);
  return { state, output: result.output };
}

test('the prompt shows values, remembers names and goes on after an error', t => {
  session(t, [
    ['x = 20\n', '>>> '], ['x + 1\n', '21\r\n>>> '], ['None\n', '\n>>> '], ['x // 0\n', 'Error: floored division by zero\r\n>>> '],
    ['y\n', 'undefined: y'], ['', '>>> '], ['x = "é"\n', '>>> '], ['x\n', '"é"\r\n>>> '], ['print(x)\n', 'é\r\n>>> '],
  ]);
});

test('the prompt reads statements of several lines', t => {
  session(t, [
    ['def f(a):\n', '... '], ['    return a * 2\n', '... '], ['\n', '>>> '], ['f(21)\n', '42\r\n>>> '],
    ['[1,\n', '... '], ['2]\n', '[1, 2]\r\n>>> '], ['for i in [7, 8]: print(i)\n', '... '], ['\n', '7\r\n8\r\n>>> '],
  ]);
});

test('the prompt edits lines and recalls them', t => {
  const { state } = session(t, [
    ['12x\x7f3\n', '123\r\n>>> '], ['456\x01\x0b789\n', '789\r\n>>> '], ['\x1b[A\x1b[A\n', '123\r\n>>> '],
  ]);
  assert.match(readFileSync(join(state, 'harness/starlark_history'), 'utf8'), /789/);
});

test('history outlives the session, for its owner only', t => {
  const { state } = session(t, [['40 + 2\n', '42\r\n>>> ']]);
  assert.equal(shell('stat -c %a "$F"', { env: { F: join(state, 'harness/starlark_history') } }).stdout, '600\n');
  session(t, [['\x1b[A\n', '42\r\n>>> ']], { XDG_STATE_HOME: state });
});

test('history that cannot be written is ignored', t => {
  session(t, [['1 + 1\n', '2\r\n>>> ']], { XDG_STATE_HOME: '/dev/null/nowhere' });
});

test('Tab completes names, members and methods', t => {
  session(t, [
    ['counter = [1]\n', '>>> '], ['coun\t\n', '[1]\r\n>>> '], ['counter.appe\t(5)\n', '>>> '], ['counter\n', '[1, 5]\r\n>>> '],
    ['math.flo\t(2.5)\n', '2\r\n>>> '], ['sor\t([2, 1])\n', '[1, 2]\r\n>>> '], ['json.e\t\t', 'encode  encode_indent'],
    ['\x15nothing.here\t\n', 'undefined: nothing'], ['', '>>> '],
  ]);
});

test('Ctrl-C drops the line, or stops what runs', t => {
  session(t, [
    ['abandoned\x03', '>>> '], ['def f():\n', '... '], ['\x03', '>>> '], ['7 * 6\n', '42\r\n>>> '],
    ['for i in range(1 << 60): pass\n', '... '], ['\n', '\r\n'], ['\x03', 'Error: cancelled\r\n>>> '], ['"alive"\n', '"alive"\r\n>>> '],
    ['len("x" * (1 << 20))\n', '1048576\r\n>>> '],
  ]);
});
