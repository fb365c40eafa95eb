// harness guard install, uninstall and doctor: no content of the user's files is lost, whatever they contain and wherever they are.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { folder, project, run } from './harness.mjs';
import { person, users } from './persons.mjs';

const vendors = { claude: '.claude/settings.json', codex: '.codex/hooks.json', cursor: '.cursor/hooks.json', copilot: '.github/hooks/harness.json', vscode: '.github/hooks/harness-vscode.json',
  gemini: '.gemini/settings.json', qwen: '.qwen/settings.json', opencode: '.opencode/plugins/harness-guard.js' };
const policy = { 'harness.md': '---\nrules:\n  - { name: no-x, shell: [x], decide: deny }\n---\n' };

function place(t, files = {}) {
  const dir = project(t, { ...policy, ...files }), home = folder(t);
  const guard = (...args) => run(['-C', dir, 'guard', ...args], { env: { HOME: home, XDG_CONFIG_HOME: '', XDG_STATE_HOME: join(home, 'state') } });
  return { dir, home, guard, text: file => readFileSync(join(dir, file), 'utf8') };
}

test('install, install again, uninstall: no file is left over', t => {
  for (const [vendor, file] of Object.entries(vendors)) {
    const p = place(t);
    assert.match(p.guard('install', vendor).stdout, /^installed the guard for /, vendor);
    const once = p.text(file);
    assert.match(p.guard('install', vendor).stdout, /^nothing to do for /, vendor);
    assert.equal(p.text(file), once);
    const shown = p.guard('install', vendor, '--print');
    assert.equal(shown.stdout, once);
    assert.match(p.guard('uninstall', vendor).stdout, /^removed the guard of /, vendor);
    assert.ok(!existsSync(join(p.dir, file)), vendor);
    assert.match(p.guard('uninstall', vendor).stdout, /^nothing to do for /, vendor);
  }
});

const odd = {
  comments: '{\n  // mine\n  "permissions": { "allow": ["Bash(ls)"] }, /* and\n more */\n  "hooks": {\n    "PreToolUse": [\n      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "./mine.sh" }] } // keep\n    ],\n  },\n}\n',
  'CRLF and tabs': '{\r\n\t"a": 1,\r\n\t"hooks": {}\r\n}\r\n', 'one line': '{"a":1,"hooks":{"PreToolUse":[]}}', 'no last newline': '{\n "a": [\n  1 ]\n}', empty: '', 'a byte order mark': '\ufeff{ "a": 1 }\n',
};
for (const [what, text] of Object.entries(odd))
  test(`a file with ${what} comes back byte for byte, and its mode stays`, t => {
    for (const vendor of ['claude', 'cursor', 'gemini', 'qwen', 'codex']) {
      const file = vendors[vendor], p = place(t, { [file]: text });
      chmodSync(join(p.dir, file), 0o640);
      for (let i = 0; i < 2; i++) {
        assert.equal(p.guard('install', vendor).status, 0, vendor);
        assert.match(p.text(file), /guard (claude|cursor|gemini|qwen|codex)/);
        for (const mine of ['mine', 'and\n more', 'keep', './mine.sh', '"a"']) if (text.includes(mine)) assert.ok(p.text(file).includes(mine), mine);
        assert.equal(statSync(join(p.dir, file)).mode & 0o777, 0o640);
        assert.equal(p.guard('uninstall', vendor).status, 0, vendor);
        assert.equal(p.text(file), text);
      }
      assert.deepEqual(readdirSync(dirname(join(p.dir, file))).filter(n => n.startsWith('settings.json') || n.startsWith('hooks.json')), [file.split('/').at(-1)]);
    }
  });

test('what the user changes after install stays when the guard is removed', t => {
  const p = place(t, { '.claude/settings.json': '{ "a": 1 }\n' });
  p.guard('install', 'claude');
  writeFileSync(join(p.dir, '.claude/settings.json'), p.text('.claude/settings.json').replace('"a": 1', '"a": 2 /* new */'));
  assert.equal(p.guard('uninstall', 'claude').status, 0);
  assert.match(p.text('.claude/settings.json'), /"a": 2 \/\* new \*\//);
  assert.doesNotMatch(p.text('.claude/settings.json'), /harness/);
  assert.equal(p.text('.claude/settings.json.before-harness'), '{ "a": 1 }\n', 'the first copy is not overwritten');
});

test('a file that cannot be understood is not changed', t => {
  for (const text of ['{ "hooks": [] }', '[1]', '{ "a": ', 'no json', '{ "hooks": { "PreToolUse": 5 } }']) {
    const p = place(t, { '.claude/settings.json': text }), r = p.guard('install', 'claude');
    assert.equal(r.status, 1, text);
    assert.match(r.stderr, /\.claude\/settings\.json: /);
    assert.equal(p.text('.claude/settings.json'), text);
    assert.ok(!existsSync(join(p.dir, '.claude/settings.json.before-harness')));
  }
  const plugin = place(t, { '.opencode/plugins/harness-guard.js': 'export const Mine = 1\n' });
  assert.match(plugin.guard('install', 'opencode').stderr, /it is another plugin/);
});

test('a link of the user is followed, and stays; one of a project must not leave it', t => {
  const p = place(t), dots = join(folder(t), 'dots.json');
  writeFileSync(dots, '{ "a": 1 }\n');
  mkdirSync(join(p.home, '.claude'));
  symlinkSync(dots, join(p.home, '.claude/settings.json'));
  assert.equal(p.guard('install', 'claude', '--user').status, 0);
  assert.ok(lstatSync(join(p.home, '.claude/settings.json')).isSymbolicLink());
  assert.match(readFileSync(dots, 'utf8'), /guard claude/);
  p.guard('uninstall', 'claude', '--user');
  assert.equal(readFileSync(dots, 'utf8'), '{ "a": 1 }\n');

  for (const make of [dir => { mkdirSync(join(dir, '.claude')); symlinkSync(dots, join(dir, '.claude/settings.json')); }, dir => symlinkSync(dirname(dots), join(dir, '.claude')),
    dir => { mkdirSync(join(dir, '.claude')); symlinkSync('/nowhere/x.json', join(dir, '.claude/settings.json')); }]) {
    const hostile = place(t);
    make(hostile.dir);
    const r = hostile.guard('install', 'claude');
    assert.equal(r.status, 1, r.stdout);
    assert.match(r.stderr, /leads out of the project|is a link that leads nowhere/);
    assert.equal(readFileSync(dots, 'utf8'), '{ "a": 1 }\n');
  }
});

test('rules that deny commands as an exec policy of Codex', t => {
  const p = place(t, { 'harness.md': '---\nrules:\n  - { name: a, shell: [git, push], decide: deny, because: "say \\"no\\"" }\n  - { name: b, shell: [rm, "-r*"], decide: deny }\n'
    + '  - { name: c, shell: [ls], decide: ask }\n  - { name: d, shell: [npm, publish, --tag], decide: deny }\n  - { name: e, vendor: [cursor], shell: [x], decide: deny }\n---\n' });
  assert.equal(p.guard('export', 'codex-rules').stdout, '# written by harness guard export codex-rules; put it into ~/.codex/rules/\n'
    + 'prefix_rule(pattern = ["git", "push"], decision = "forbidden", justification = "say \\"no\\"")\n# cannot be written as a prefix: b\n'
    + '# only where the options come in this place\nprefix_rule(pattern = ["npm", "publish", "--tag"], decision = "forbidden", justification = "d")\n');
});

test('wrong use', t => {
  const p = place(t);
  assert.match(p.guard('install', 'claud').stderr, /unknown agent "claud" \(did you mean "claude"\?\)/);
  assert.match(p.guard('install', 'harness').stderr, /unknown agent "harness"/);
  assert.match(p.guard('install', 'claude', '--user', '--managed').stderr, /give either --user or --managed/);
  assert.match(p.guard('install', 'kimi').stderr, /Kimi has no file for hooks in a project/);
});

for (const user of users.filter(u => u.name !== 'root'))
  test(`without rights nothing is changed, as ${user.name}`, t => {
    const p = person(t, user, { ...policy, '.claude/settings.json': '{ "a": 1 }\n' });
    chmodSync(join(p.dir, '.claude'), 0o555);
    const r = p.harness(['guard', 'install', 'claude']);
    assert.equal(r.status, 1, r.stdout);
    assert.match(r.stderr, /Permission denied/);
    assert.equal(p.text('.claude/settings.json'), '{ "a": 1 }\n');
    chmodSync(join(p.dir, '.claude'), 0o755);
    assert.match(p.harness(['guard', 'install', 'claude', '--managed']).stderr, /Permission denied/);
  });

test('doctor tries the installed command line, and says what is wrong', t => {
  const p = place(t), file = join(p.dir, '.claude/settings.json');
  const said = () => p.guard('doctor', 'claude');
  assert.match(said().stdout, /its calls are not checked: run harness guard install claude/);
  p.guard('install', 'claude');
  assert.match(said().stdout, /ok {4}it refuses a call that it must refuse\n/);
  assert.equal(said().status, 0, said().stdout);
  const good = readFileSync(file, 'utf8');
  for (const [broken, message] of [[good.replaceAll(/"[^"]* guard claude/g, '"/nowhere/harness guard claude'), /cannot be started/], [good.replace('{', '{ "disableAllHooks": true,'), /no hook runs/],
    [good.replace('"PreToolUse"', '"PreToolUsed"'), /an event has no entry/], ['{', /FAILS .*settings\.json:1:/]]) {
    writeFileSync(file, broken);
    assert.match(said().stdout, message);
    assert.equal(said().status, 1);
  }
  writeFileSync(file, good);
  writeFileSync(join(p.dir, 'harness.md'), '---\nrulez: 1\n---\n');
  assert.equal(said().status, 0, 'a project that does not load refuses everything');
});
