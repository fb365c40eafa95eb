// The source line of a problem and the caret below its column: in validate always, elsewhere on a terminal.
import { spawnSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { bin, environment, folder, project, root, run } from './harness.mjs';

// Columns that a text takes: East Asian wide characters two, combining ones none.
const columns = text => [...text].reduce((n, c) => n + (/\p{Mn}/u.test(c) ? 0 : /[\u1100-\u115f\u2e80-\u9fff\uac00-\ud7a3\uff01-\uff60\u{1f300}-\u{1faff}]/u.test(c) ? 2 : 1), 0);

// The line that is shown, and the column of the caret.
function excerpt(stderr) {
  const [, line, below] = stderr.match(/^ *\d+ \| (.*)\n +\| ( *)\^$/m) ?? [];
  assert.ok(line !== undefined, stderr);
  return { line, column: below.length };
}

const script = line => ({ '.harness/tools/t.md': `---\nscript: |\n  def run(args):\n      ${line}\n---\nDoes it.\n` });
const undefinedAt = (text, before) => {
  const { line, column } = excerpt(text);
  // The caret is below the first character of `nope`.
  assert.equal(columns(line.slice(0, line.indexOf('nope'))), column, `${before}\n${text}`);
  return line;
};

for (const [what, before] of Object.entries({
  'plain text': 'x = ', 'wide characters': 'x = "漢字かな" + ', 'an emoji': 'x = "😀" + ', 'combining characters': 'x = "e\u0301a\u0308" + ',
  'tabs': 'x = "a"\t+\t', 'full-width letters': 'x = "ＡＢＣ" + ', 'a no-break space in a text': 'x = "a\u00a0b" + ',
  'an escape character in a text': 'x = "a\u200bb" + ', 'accents': 'x = "àéîõü" + ',
}))
  test(`the caret is below the column: ${what}`, t => {
    const { status, stderr } = run(['-C', project(t, script(`${before}nope`)), 'validate']);
    assert.equal(status, 1);
    const line = undefinedAt(stderr, what);
    assert.doesNotMatch(line, /\t|\u200b/);
  });

test('a long line is cut around the column', t => {
  for (const [ahead, behind] of [[5000, 5000], [5000, 0], [0, 5000], [40, 40], [100000, 100000]])
    for (const wide of ['a', '漢']) {
      const text = n => `"${wide.repeat(n)}"`;
      const { stderr } = run(['-C', project(t, script(`x = ${text(ahead)} + nope + ${text(behind)}`)), 'validate']);
      const line = undefinedAt(stderr, `${ahead} ${behind} ${wide}`);
      assert.ok(columns(line) <= 112, line);
      assert.equal(line.startsWith('…'), ahead * columns(wide) > 60, line);
      assert.equal(line.endsWith('…'), behind * columns(wide) > 60, line);
    }
});

const cases = {
  'YAML': [{ 'harness.md': '---\nmodel:\n   name: x\n  provider: y\n---\n' }, 4, /provider: y/],
  'YAML with tabs': [{ 'harness.md': '---\nmodel:\n\tname: x\n---\n' }, 3, /name: x/],
  'YAML with wide characters': [{ 'harness.md': '---\nlimits: { 漢字: 1 }\n---\n' }, 2, /漢字/],
  'a key': [{ '.harness/hooks/g.md': '---\nevent: tool.pre\nscrpt: x\n---\n' }, 3, /scrpt/],
  'JSON': [{ 'tools.json': '{\n  "tools": [\n    {"name": "x",}\n  ]\n}\n' }, 3, /"name": "x",/],
  'CRLF': [{ '.harness/hooks/g.md': '---\r\nevent: tool.pre\r\nscrpt: x\r\n---\r\n' }, 3, /^scrpt: x$/],
  'a byte-order mark': [{ '.harness/hooks/g.md': '\ufeff---\nevent: tool.pre\nscrpt: x\n---\n' }, 3, /^scrpt: x$/],
  'a byte-order mark in YAML': [{ 'harness.yaml': '\ufefflimtis: {}\n' }, 1, /^limtis: \{\}$/],
  'a template': [{ 'agent/tools/t.md': '---\nid: t\nname: T\ndescription: T.\ncommand: "echo # {{x}}"\nparameters:\n  - { name: x, type: string, description: X. }\n---\n' }, 5, /echo # /],
  'a `when`': [{ '.harness/hooks/g.md': '---\nevent: tool.pre\nwhen: payload["name"] = 1\nscript: |\n  def handle(event, payload):\n      return allow()\n---\n' }, 3, /when: /],
};
for (const [what, [files, number, line]] of Object.entries(cases))
  test(`${what}: the line, the caret and the numbers of --json`, t => {
    const dir = project(t, files);
    const { stderr } = run(['-C', dir, 'validate']);
    const shown = excerpt(stderr);
    assert.match(shown.line, line);
    const problem = JSON.parse(run(['-C', dir, 'validate', '--json']).stdout).problems.find(p => p.severity === 'error' && p.line === number);
    assert.ok(problem, 'a problem of that line');
    const source = Object.values(files)[0].replace('\ufeff', '').split(/\r?\n/)[number - 1];
    const before = [...source].slice(0, problem.column - 1).join('').replaceAll('\t', '    ');
    assert.equal(columns(before), shown.column, stderr);
  });

test('the empty first line of a document, and a file as such, have no excerpt', t => {
  for (const files of [{ '.harness/hooks/g.md': '---\n---\n' }, { '.harness/hooks/g.yaml': 'secret stuff\n' }, { '.harness/hook/g.md': 'x' }]) {
    const { status, stderr } = run(['-C', project(t, files), 'validate']);
    assert.equal(status, 1);
    assert.doesNotMatch(stderr, /^ *\d* *\|/m);
  }
});

test('at most 50 problems have an excerpt', t => {
  const keys = Array.from({ length: 80 }, (_, i) => `k${i}: 1\n`).join('');
  const { stderr } = run(['-C', project(t, { 'harness.md': `---\n${keys}---\n` }), 'validate']);
  assert.equal(stderr.match(/^ *\d+ \| /gm).length, 50);
  assert.equal(stderr.match(/unknown key/g).length, 80);
});

test('a line that may hold a credential is not shown', t => {
  const secret = 'zw4-plain-secret';
  const lines = [`env: { A: ${secret} }`, `env:\n      A: ${secret}\n      A: 2`, `headers: { X: ${secret} }`, `args: [--pin, ${secret}]`, `oauth: { client_secret: ${secret}, x: 1 }`, `"api_key": ${secret}`];
  for (const line of lines) {
    const dir = project(t, { 'harness.md': `---\nmcp_servers:\n  s:\n    command: x\n    bogus: 1\n    ${line}\n---\n` });
    const broken = project(t, { 'harness.md': `---\nmcp_servers:\n  s:\n    command: x\n    ${line}: [\n---\n` });
    for (const d of [dir, broken]) {
      const { status, stderr } = run(['-C', d, 'validate']);
      assert.equal(status, 1);
      assert.doesNotMatch(stderr, new RegExp(secret), line);
    }
  }
  const url = run(['-C', project(t, script(`x = nope + "https://me:${secret}@example.com/"`)), 'validate']);
  assert.match(url.stderr, /\[redacted\]/);
  assert.doesNotMatch(url.stderr, new RegExp(secret));
});

test('a link that leads out of the project is not read', t => {
  const outside = join(folder(t), 'private.md');
  writeFileSync(outside, 'private text\n');
  const dir = project(t, { '.harness/hooks/.keep': '' });
  symlinkSync(outside, join(dir, '.harness/hooks/g.md'));
  const { status, stderr } = run(['-C', dir, 'validate']);
  assert.equal(status, 1);
  assert.doesNotMatch(stderr, /private text/);
});

function terminal(dir, width, args) {
  const out = spawnSync('python3', [join(root, 'tests/e2e/terminal.py'), 'sh', '-c', `stty cols ${width}; exec "$0" "$@"`, bin, '-C', dir, ...args],
    { input: '[]', encoding: 'utf8', env: { ...environment, TERM: 'xterm', LANG: 'C.UTF-8' }, timeout: 60000 });
  return JSON.parse(out.stdout).output.replaceAll(/\x1b\[[0-9;]*m/g, '').replaceAll('\r\n', '\n');
}

test('other commands show it on a terminal only, and it fits', t => {
  const dir = project(t, script(`x = "${'漢'.repeat(80)}" + nope + "${'b'.repeat(80)}"`));
  for (const args of [['tools'], ['call', 't'], ['inspect', 't']]) {
    const piped = run(['-C', dir, ...args]);
    assert.equal(piped.status, 1);
    assert.doesNotMatch(piped.stderr, /^ *\d* *\|/m);
    for (const width of [40, 80, 160]) {
      const text = terminal(dir, width, args);
      undefinedAt(text, args[0]);
      for (const line of text.split('\n').filter(l => /^ *\d* *\| /.test(l))) assert.ok(columns(line) <= width, line);
    }
  }
  assert.doesNotMatch(JSON.stringify(JSON.parse(run(['-C', dir, 'tools', '--json']).stdout)), / \| /);
});
