// A value never selects a program, an interpreter's code, or an option that runs one: tables of risky and of harmless command templates.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { build, folder, root } from './harness.mjs';

const tool = join(root, 'build', build, 'template_tool');
const table = name => readFileSync(join(root, 'tests/e2e/fixtures', name), 'utf8').split('\n').filter(line => line && !line.startsWith('# '));
const risky = table('risky_templates.txt'), harmless = table('harmless_templates.txt');

// One result for each row: { error, hint } when the template does not load, else { results: [{ text } or { refused }] }.
function compile(rows, x, more = {}) {
  const input = rows.map(command => JSON.stringify({ command, params: [{ name: 'x', required: true, ...more }], args: x.map(v => ({ x: v })) }) + '\n').join('');
  const { stdout, stderr } = spawnSync(tool, { input, encoding: 'utf8', maxBuffer: 1 << 28 });
  const lines = stdout.split('\n').slice(0, -1).map(line => JSON.parse(line));
  const results = rows.map(() => lines[0]?.error ? lines.shift() : { results: lines.splice(0, x.length) });
  assert.equal(lines.length, 0, stderr);
  return results;
}

test('no risky template loads', () => {
  assert.ok(new Set(risky).size > 600, `${risky.length}`);
  const results = compile(risky, ['v']);
  assert.deepEqual(risky.filter((_, i) => !results[i].error), []);
  for (const [i, { error, hint }] of results.entries()) assert.ok(error && hint, risky[i]);
});

// Hostile values: a command, an option, code in several languages, a file name that is a command, a git transport.
const values = [
  'touch pwned', 'pwned.sh', './pwned.sh', 'sh -c "touch pwned"', '; touch pwned', '$(touch pwned)', '`touch pwned`', '| touch pwned', 'touch pwned|', '|touch pwned', '!touch pwned',
  '-exec touch pwned ;', '-delete', '-c touch pwned', '--upload-pack=touch pwned;', '--exec=touch pwned', '--to-command=touch pwned', '--checkpoint-action=exec=touch pwned',
  '--use-compress-program=touch pwned', '--filter=touch pwned', '--compress-program=./pwned.sh', '-Itouch pwned', '--open-files-in-pager=touch pwned', '-Otouch pwned', '--output=pwned',
  '-oProxyCommand=touch pwned', 'ext::sh -c touch% pwned', '-f./pwned.sh', '--eval=touch pwned', '-e system("touch pwned")', 'BEGIN{system("touch pwned")}', '1e touch pwned',
  'import os; os.system("touch pwned")', 'system("touch pwned")', '.shell touch pwned', '\\! touch pwned', "'; touch pwned; '", '"; touch pwned; "', '\ntouch pwned\n', '-T\n--checkpoint-action=exec=touch pwned',
  'ssh://-oProxyCommand=touch pwned/x', '@pwned.sh', '+!touch pwned', 'PATH=.', 'LD_PRELOAD=./pwned.so', '--preload=./pwned.so', '-', '--', '-rf', 'a.txt', '',
];

function place(t) {
  const dir = folder(t);
  for (const sub of ['scripts', 'copy']) mkdirSync(join(dir, sub), { recursive: true });
  writeFileSync(join(dir, 'pwned.sh'), `#!/bin/sh\ntouch ${dir}/pwned\n`, { mode: 0o755 });
  for (const name of ['deploy.sh', 'test.sh', 'show.sh']) writeFileSync(join(dir, 'scripts', name), '#!/bin/sh\nprintf "<%s>" "$@"\n', { mode: 0o755 });
  writeFileSync(join(dir, 'scripts/show.py'), 'import sys\nprint(sys.argv)\n');
  writeFileSync(join(dir, 'scripts/show.js'), 'console.log(process.argv)\n');
  writeFileSync(join(dir, 'a.txt'), 'a b c\n');
  writeFileSync(join(dir, 'a.json'), '{}\n');
  writeFileSync(join(dir, 'a.c'), 'int a;\n');
  return dir;
}

const here = program => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
// Programs that would wait, need a server, a person or another user, or change this machine.
const skipped = /^(sudo|docker|kubectl|npm|pip|go|cargo|java|systemctl|journalctl|ping|less|man|vim|psql|rsync|ssh-keygen|wget|curl|xargs|ed) |^sleep/;

test('harmless templates load, and run no value', async t => {
  const loaded = compile(harmless, values), refused = harmless.filter((_, i) => loaded[i].error);
  assert.deepEqual(refused.map(c => `${c}: ${loaded[harmless.indexOf(c)].error}`), []);
  let ran = 0;
  const dir = place(t), git = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null', GIT_TERMINAL_PROMPT: '0', GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' };
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: dir, LANG: 'C.UTF-8', GIT_SSH_COMMAND: '/bin/false', ...git };
  spawnSync('sh', ['-c', 'git init -q . && git add a.txt && git commit -qm a'], { cwd: dir, env });
  for (const [i, command] of harmless.entries()) {
    if (skipped.test(command) || !here(command.split(' ')[0].replace(/^\[$/, 'test'))) continue;
    const lines = loaded[i].results.map(r => r.text).filter(text => text !== undefined);
    // One shell for all values of a template, each in an empty folder: the marker file must not appear.
    const script = lines.map(line => `( ${line}\n) </dev/null >/dev/null 2>&1\n[ -e ${dir}/pwned ] && { printf '%s' ${JSON.stringify(i)}; exit 9; }\ncd ${dir}`).join('\n');
    const { status, stdout } = await shell(script, { cwd: dir, env });
    assert.notEqual(status, 9, `${command} runs its value: ${stdout}`);
    assert.ok(!existsSync(join(dir, 'pwned')), command);
    ran += lines.length;
    if (!existsSync(join(dir, 'a.txt'))) writeFileSync(join(dir, 'a.txt'), 'a b c\n');
    if (!existsSync(join(dir, 'pwned.sh'))) writeFileSync(join(dir, 'pwned.sh'), `#!/bin/sh\ntouch ${dir}/pwned\n`, { mode: 0o755 });
  }
  assert.ok(ran > 1500, `${ran}`);
});

const shell = (script, options) => new Promise(resolve => {
  const child = spawn('timeout', ['-k', '1', '20', 'sh', '-c', script], { ...options, stdio: ['ignore', 'pipe', 'ignore'] });
  let stdout = '';
  child.stdout.on('data', d => { stdout += d; });
  child.on('close', status => resolve({ status, stdout }));
});

test('a value that starts with - needs -- before it, or an enum or pattern', () => {
  const rows = ['ls {{x}}', 'ls -l {{x}} a', 'git log {{x}}', 'git fetch {{x}}', 'tar -xf a.tar {{x}}', 'find {{x}}', 'find -- {{x}}', 'find . -- {{x}}', 'unknown {{x}}', 'echo a | sort {{x}}', "ls '{{x}}'", 'ls "{{x}}"'];
  for (const [i, r] of compile(rows, ['-x', '--exec=a']).entries())
    for (const one of r.results) assert.match(one.refused ?? `taken: ${one.text}`, /may not start with "-"/, rows[i]);
  const after = compile(['ls -- {{x}}', 'git log -- {{x}}', 'tar -cf a.tar -- {{x}}'], ['-x']);
  for (const r of after) assert.match(r.results[0].text, / -- -x$/);
  const chosen = compile(['ls {{x}}'], ['-l'], { constrained: true });
  assert.equal(chosen[0].results[0].text, 'ls -l');
});

test('a parameter with an enum may select a target, but not code', () => {
  const more = { constrained: true };
  const fine = ['npm run {{x}}', 'make {{x}}', 'cargo {{x}}', 'git {{x}}', 'docker run {{x}}', 'mvn {{x}}', 'tox -e {{x}}', 'kubectl {{x}} pods'];
  for (const [i, r] of compile(fine, ['test'], more).entries()) assert.ok(!r.error, `${fine[i]}: ${r.error}`);
  const never = ['sh -c {{x}}', '{{x}}', 'env {{x}}', 'python3 -c {{x}}', 'git -c {{x}} log', 'git fetch --upload-pack={{x}}', 'eval {{x}}', 'echo {{x}} | sh', 'git {{x}} --upload-pack={{x}}'];
  for (const [i, r] of compile(never, ['test'], more).entries()) assert.ok(r.error, never[i]);
});
