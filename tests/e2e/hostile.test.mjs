// Malicious projects: each gives an error or a valid listing, never a hang or a crash.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { add, bin, build, folder, project, run, shell } from './harness.mjs';

const tool = '---\n---\nA tool.\n';

// Exits normally with a sensible message, and is not killed by a signal (run() throws then).
function ends(dir, status) {
  const got = run(['-C', dir, 'validate'], { timeout: 30000 });
  assert.ok(got.status === 0 || got.status === 1, `${got.status} ${got.stderr}`);
  if (status !== undefined) assert.equal(got.status, status, got.stderr.slice(0, 2000));
  for (const line of got.stderr.split('\n').filter(Boolean)) assert.match(line, /^harness: |^ *\d+ \| |^ +\| *\^$/);
  for (const line of got.stderr.split('\n')) assert.ok(line.startsWith('harness: ') || [...line].length <= 120, 'a long line is cut');
  const json = run(['-C', dir, 'validate', '--json'], { timeout: 30000 });
  assert.equal(json.status, got.status);
  assert.equal(JSON.parse(json.stdout).ok, got.status === 0);
  return got;
}

test('symbolic links in circles', t => {
  const dir = project(t, { '.harness/tools/good.md': tool });
  symlinkSync('loop.md', join(dir, '.harness/tools/loop.md'));
  symlinkSync('b.md', join(dir, '.harness/tools/a.md'));
  symlinkSync('a.md', join(dir, '.harness/tools/b.md'));
  symlinkSync('..', join(dir, '.harness/hooks'));
  ends(dir);
  const all = folder(t);
  symlinkSync('.harness', join(all, '.harness'));
  ends(all);
  const main = folder(t);
  symlinkSync('harness.md', join(main, 'harness.md'));
  ends(main, 1);
});

test('links out of the project are not followed', t => {
  const outside = project(t, { 'secret.md': '---\n---\nTOP SECRET\n', 'tools/stolen.md': '---\n---\nTOP SECRET\n' });
  const dir = project(t, { 'harness.md': '---\n---\n' });
  mkdirSync(join(dir, '.harness/tools'), { recursive: true });
  symlinkSync(join(outside, 'secret.md'), join(dir, '.harness/tools/absolute.md'));
  symlinkSync('../../../' + outside.split('/').at(-1) + '/secret.md', join(dir, '.harness/tools/relative.md'));
  symlinkSync(join(outside, 'tools'), join(dir, '.harness/plugins'));
  const { stdout, stderr } = ends(dir);
  assert.doesNotMatch(stdout + stderr, /TOP SECRET/);
  assert.doesNotMatch(run(['-C', dir, 'tools']).stdout, /SECRET|absolute|relative|stolen/);
  const folderLink = project(t, {});
  symlinkSync(outside, join(folderLink, '.harness'));
  assert.doesNotMatch(ends(folderLink).stdout, /SECRET|stolen/);
});

test('pipes, sockets and devices instead of files', t => {
  for (const name of ['.harness/tools/pipe.md', '.harness/hooks/pipe.md', '.harness/agents/pipe.md', '.harness/plugins/pipe.md',
    'harness.md', 'harness.yaml', 'tools.json', '.mcp.json', 'space.manifest.json', 'agent/config.md', 'agent/tools/pipe.md',
    'agent/hooks/pipe.json', '.harness/prompts/pipe.md', '.harness/resources/pipe.md', '.harness/tests/pipe.md']) {
    const dir = project(t, { [name]: '' });
    rmSync(join(dir, name));
    execFileSync('mkfifo', [join(dir, name)]);
    ends(dir);
  }
  const dir = folder(t);
  symlinkSync('/dev/zero', join(dir, 'harness.md'));
  ends(dir, 1);
  const tools = folder(t);
  execFileSync('mkfifo', [join(tools, '.harness')]);
  ends(tools);
});

test('folders instead of files, files instead of folders', t => {
  const dir = project(t, { '.harness/tools/good.md': tool, '.harness/hooks': 'not a folder', '.harness/agents/x.md/deep.md': 'x' });
  mkdirSync(join(dir, '.harness/tools/x.md'));
  ends(dir);
  for (const name of ['harness.md', 'tools.json', '.mcp.json', 'space.manifest.json']) {
    const other = folder(t);
    mkdirSync(join(other, name));
    ends(other);
  }
  assert.notEqual(ends(project(t, { '.harness': 'a file' })).status, undefined);
});

test('files that cannot be read', { skip: process.getuid() === 0 && !canDrop() }, t => {
  const dir = project(t, { '.harness/tools/closed.md': tool, '.harness/tools/open.md': tool, '.harness/agents/a.md': tool });
  chmodSync(join(dir, '.harness/tools/closed.md'), 0);
  chmodSync(join(dir, '.harness/agents'), 0);
  chmodSync(dir, 0o755);
  const { status, stderr } = shell(`${drop()}timeout 20 "$HARNESS" -C '${dir}' validate`);
  chmodSync(join(dir, '.harness/agents'), 0o755);
  assert.equal(status, 1);
  assert.match(stderr, /^harness: \.harness\/tools\/closed\.md:.*permission denied/im);
  assert.match(stderr, /^harness: \.harness\/agents.*permission denied/im);
});

test('10,000 tools', t => {
  const dir = folder(t);
  mkdirSync(join(dir, '.harness/tools'), { recursive: true });
  const n = build === 'release' ? 10000 : 2000;
  for (let i = 0; i < n; i++) writeFileSync(join(dir, `.harness/tools/tool_${i}.md`), tool);
  const start = Date.now();
  const { status, stdout, stderr } = run(['-C', dir, 'validate']);
  t.diagnostic(`${n} tools: ${Date.now() - start} ms`);
  assert.equal(status, 0, stderr.slice(0, 1000));
  assert.match(stdout, new RegExp(`ok: ${n} tools`));
});

test('10,000 broken tools: bounded output', t => {
  const dir = folder(t);
  mkdirSync(join(dir, '.harness/tools'), { recursive: true });
  for (let i = 0; i < 3500; i++) writeFileSync(join(dir, `.harness/tools/t_${i}.md`), '---\ntimeout_ms: -1\nasync: 3\nscript: 4\naliases: 5\n---\n');
  const { status, stderr } = run(['-C', dir, 'validate']);
  assert.equal(status, 1);
  assert.match(stderr, /harness: \d+ more problems are not shown\nharness: not valid: 14000 errors\n$/);
  assert.ok(stderr.split('\n').length <= 10004 + 2 * 50, 'the first 50 with their lines');
});

test('long lines, large files, many keys, deep nesting', t => {
  const long = 'x'.repeat((1 << 20) - 100);
  ends(project(t, { '.harness/tools/line.md': `---\ntitle: ${long}\n---\n` }));
  ends(project(t, { '.harness/tools/body.md': `---\n---\n${long}` }));
  ends(project(t, { '.harness/tools/key.md': `---\n${long}: 1\n---\n` }));
  ends(project(t, { '.harness/tools/script.md': `---\nscript: |\n  x = "${long}"\n---\n` }));
  ends(project(t, { '.harness/tools/big.md': `---\n---\n${long}${long}` }), 1);
  ends(project(t, { '.harness/tools/keys.md': `---\n${Array.from({ length: 20000 }, (_, i) => `k${i}: 1\n`).join('')}---\n` }));
  ends(project(t, { '.harness/tools/deep.md': `---\nparameters: ${'['.repeat(50000)}\n---\n` }), 1);
  ends(project(t, { 'tools.json': '['.repeat(100000) }), 1);
  ends(project(t, { 'tools.json': `{"tools":[{"name":"a","command":["/bin/true"],"schema":${'{"items":'.repeat(400)}{}${'}'.repeat(400)}}]}` }));
  ends(project(t, { '.harness/tools/bombs.md': `---\na: &a [1,1,1,1,1,1,1,1,1]\n${'bcdefghi'.split('').map((c, i) => `${c}: &${c} [${Array(9).fill('*' + 'abcdefgh'[i]).join(',')}]\n`).join('')}---\n` }), 1);
  ends(project(t, { '.harness/tools/nest.md': `---\nscript: |\n  def run(args):\n      return ${'('.repeat(30000)}1\n---\n` }), 1);
  ends(project(t, { '.harness/tools/loop.md': '---\nscript: |\n  X = [i for i in range(1000000000000)]\n  def run(args):\n      return 1\n---\n' }), 1);
});

test('bytes that are not text', t => {
  const bytes = Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 131 + 7) & 255));
  for (const name of ['.harness/tools/x.md', '.harness/hooks/x.md', '.harness/agents/x.md', '.harness/plugins/x.md', 'harness.md',
    'harness.yaml', 'tools.json', '.mcp.json', 'space.manifest.json', 'agent/config.md', 'agent/tools/x.md', 'agent/hooks/x.json']) {
    ends(project(t, { [name]: bytes }), 1);
    ends(project(t, { [name]: '' }));
    ends(project(t, { [name]: Buffer.concat([Buffer.from('---\n'), bytes, Buffer.from('\n---\n')]) }), 1);
  }
  const dir = folder(t);
  mkdirSync(join(dir, '.harness/tools'), { recursive: true });
  writeFileSync(Buffer.concat([Buffer.from(join(dir, '.harness/tools/')), Buffer.from([0xff, 0x1b, 0x5b, 0x32, 0x4a]), Buffer.from('.md')]), tool);
  const { stderr } = ends(dir, 1);
  assert.doesNotMatch(stderr, /\x1b/);
});

test('references in circles', t => {
  ends(project(t, {
    'harness.md': '---\nartifact_roots: [., .harness, ./.harness/.]\nspaces: [., ./.]\nmanifests: [tools.json, ./tools.json]\n---\n',
    'tools.json': '{"tools":[{"name":"a","command":["/bin/true"]}]}',
    '.harness/agents/a.md': '---\ndescription: a\ntools: [a]\n---\n',
    '.harness/tools/s.md': '---\noutput_schema: { $ref: "#" }\n---\n',
  }));
});

test('files that come and go while it looks', async t => {
  const dir = folder(t);
  mkdirSync(join(dir, '.harness/tools'), { recursive: true });
  for (let i = 0; i < 300; i++) writeFileSync(join(dir, `.harness/tools/t${i}.md`), tool);
  for (let round = 0; round < 10; round++) {
    const child = spawn(bin, ['-C', dir, 'validate', '--json'], { stdio: ['ignore', 'pipe', 'ignore'] });
    let text = '';
    child.stdout.on('data', chunk => { text += chunk; });
    const ended = new Promise(resolve => child.on('close', (code, signal) => resolve({ code, signal })));
    for (let i = 0; i < 300; i += 3) {
      const path = join(dir, `.harness/tools/t${i}.md`);
      rmSync(path, { force: true });
      if (i % 2) mkdirSync(path, { recursive: true }); else symlinkSync(`t${i}.md`, path);
    }
    renameSync(join(dir, '.harness/tools'), join(dir, '.harness/gone'));
    const { code, signal } = await ended;
    assert.equal(signal, null);
    assert.ok(code === 0 || code === 1);
    JSON.parse(text);
    rmSync(join(dir, '.harness/gone'), { recursive: true });
    mkdirSync(join(dir, '.harness/tools'));
    for (let i = 0; i < 300; i++) writeFileSync(join(dir, `.harness/tools/t${i}.md`), tool);
  }
});

test('a pipe as the output that is not read', t => {
  const dir = project(t, { '.harness/tools/a.md': tool });
  const { stdout } = shell(`exec 3>&1; { sleep 0.2; "$HARNESS" -C '${dir}' validate; echo "status $?" >&3; } | true`);
  assert.match(stdout, /^status 1\n$/);
  add(dir, { '.harness/tools/a.md': '---\ntimeout_ms: -1\n---\n' });
  assert.equal(shell(`"$HARNESS" -C '${dir}' validate 2>/dev/full`).status, 1);
});

function drop() { return process.getuid() === 0 ? 'setpriv --reuid=65534 --regid=65534 --clear-groups ' : ''; }
function canDrop() { return shell(`${drop()}test -x "$HARNESS"`).status === 0; }
