// Safety metadata: detected, declared, refused when declared too loosely; tools that a policy hides.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { project, root, run } from './harness.mjs';
import { Peer } from './mcp_peer.mjs';

const tool = (script, head = '') => `---\nscript: |\n  def run(args):\n      ${script}\n${head}---\nA tool.\n`;
const tools = (dir, ...args) => JSON.parse(run(['-C', dir, 'tools', '--json', ...args]).stdout);

test('a declaration looser than the script is an error at its position', t => {
  const dir = project(t, {
    '.harness/tools/save.md': tool('return fs.write("a", "b")', 'safety:\n  destructive: true\n  read_only: true\n'),
    '.harness/tools/ask.md': tool('return http.get("https://a.test")', 'safety: { networked: false }\n'),
    '.harness/tools/fine.md': tool('return fs.read("a")', 'safety: { read_only: true, filesystem: write }\n'),
  });
  const problems = 'harness: .harness/tools/ask.md:5:11: tool "ask": safety.networked: false, but the script can reach http.get\n' +
    'harness: .harness/tools/save.md:7:3: tool "save": safety.read_only: true, but the script can reach fs.write\n';
  const { status, stderr } = run(['-C', dir, 'validate']);
  assert.equal(status, 1);
  assert.equal(stderr.replace(/^ +\d* \|.*\n/gm, ''), problems + 'harness: not valid: 2 errors\n');       // without the source lines
  const json = JSON.parse(run(['-C', dir, 'validate', '--json']).stdout);
  assert.equal(json.ok, false);
  assert.deepEqual(json.problems.map(p => [p.file, p.line, p.column]), [['.harness/tools/ask.md', 5, 11], ['.harness/tools/save.md', 7, 3]]);
  assert.deepEqual(run(['-C', dir, 'tools']), { status: 1, stdout: '', stderr: problems });
  const call = run(['-C', dir, 'call', 'fine', '{}', '--ephemeral']);
  assert.notEqual(call.status, 0);
  assert.ok(call.stderr.startsWith(problems), call.stderr);
});

test('commands and programs: declarations against their kind', t => {
  const dir = project(t, {
    'harness.md': '---\nbuiltin_tools: none\n---\n',
    'agent/tools/look.md': '---\nid: look\nname: Look\ndescription: Looks.\ncommand: ls\nsafety: { read_only: true }\n---\n',
  });
  const { status, stderr } = run(['-C', dir, 'validate']);
  assert.equal(status, 1, stderr);
  assert.match(stderr, /^harness: agent\/tools\/look\.md:6:11: tool "look": safety\.read_only: true, but a tool of kind command can do more than that\n/);
});

test('tools -v and --json show the effective values', t => {
  const dir = project(t, {
    '.harness/tools/a_read.md': tool('return fs.read("a")'),
    '.harness/tools/b_write.md': tool('fs.remove("a")', 'idempotency: idempotent\nsafety: { parallel_safe: true, requires_confirmation: true, redact: ["k[0-9]+"] }\n'),
    'src/x': '',
    '.harness/tools/c_spend.md': tool('return complete("hello")', 'safety: { workspace_root: src }\n'),
  });
  assert.equal(run(['-C', dir, 'tools', '-v']).stdout, `a_read  starlark  .harness/tools/a_read.md:1
  description  A tool.
  safety       read-only, reads files

b_write  starlark  .harness/tools/b_write.md:1
  description  A tool.
  safety       mutating, destructive, writes files, idempotent, parallel-safe, needs confirmation
  redacts      k[0-9]+
  idempotency  idempotent

c_spend  starlark  .harness/tools/c_spend.md:1
  description  A tool.
  safety       read-only, networked, spends money, not repeatable
  below        src
`);
  const [a, b, c] = tools(dir).map(x => x.safety);
  assert.deepEqual(a, {
    read_only: true, destructive: false, idempotent: true, networked: false, process: false, spends_money: false,
    requires_confirmation: false, parallel_safe: true, filesystem: 'read',
  });
  assert.deepEqual([b.destructive, b.redact, b.filesystem], [true, ['k[0-9]+'], 'write']);
  assert.deepEqual([c.workspace_root, c.spends_money, c.networked], ['src', true, true]);
});

test('tools that tools_policy hides', t => {
  const dir = project(t, {
    'harness.md': '---\ntools_policy: { allow: ["read_*", "sh_*"], deny: ["sh_*", cut] }\n---\n',
    '.harness/tools/read_a.md': tool('return 1'),
    '.harness/tools/read_b.md': tool('return 1', 'aliases: [cut]\n'),
    '.harness/tools/sh_run.md': tool('return 1'),
    '.harness/tools/write_a.md': tool('return 1'),
  });
  assert.equal(run(['-C', dir, 'tools']).stdout, 'read_a  starlark  .harness/tools/read_a.md:1  A tool.\n');
  assert.deepEqual(tools(dir).map(x => x.name), ['read_a']);
  assert.deepEqual(tools(dir, '--format', 'openai').map(x => x.function.name), ['read_a']);
  assert.equal(run(['-C', dir, 'tools', '-v']).stdout, `read_a  starlark  .harness/tools/read_a.md:1
  description  A tool.
  safety       read-only

hidden
  read_b  tools_policy.deny: cut
  sh_run  tools_policy.deny: sh_*
  write_a  tools_policy.allow
`);
  assert.equal(JSON.parse(run(['-C', dir, 'validate', '--json']).stdout).tools.length, 4);
});

test('a tool that needs confirmation says so, and does not pass for read-only with MCP clients', async t => {
  const dir = project(t, {
    '.harness/tools/a.md': tool('return 1', 'confirm: true\n'), '.harness/tools/b.md': tool('return 1', 'safety: { requires_confirmation: true }\n'),
    '.harness/tools/c.md': tool('return 1'),
  });
  assert.deepEqual(tools(dir).map(x => [x.name, x.safety.requires_confirmation, x.safety.read_only]), [['a', true, true], ['b', true, true], ['c', false, true]]);
  const hints = list => list.map(x => [x.name, x.annotations.readOnlyHint]), expected = [['a', false], ['b', false], ['c', true]];
  assert.deepEqual(hints(tools(dir, '--format', 'mcp').tools), expected);
  const peer = new Peer(t, dir);
  await peer.hello();
  assert.deepEqual(hints((await peer.request('tools/list')).result.tools), expected);
});

test('limits.confirm counts for readOnlyHint', async t => {
  const dir = project(t, {
    'harness.md': '---\nlimits: { confirm: [filesystem] }\n---\n', '.harness/tools/a.md': tool('return fs.read("x")'), '.harness/tools/b.md': tool('return 1'),
  });
  const hints = list => list.map(x => [x.name, x.annotations.readOnlyHint]), expected = [['a', false], ['b', true]];
  assert.deepEqual(tools(dir).map(x => [x.name, x.safety.read_only]), [['a', true], ['b', true]]);
  assert.deepEqual(hints(tools(dir, '--format', 'mcp').tools), expected);
  const peer = new Peer(t, dir);
  await peer.hello();
  assert.deepEqual(hints((await peer.request('tools/list')).result.tools), expected);
});

test('the reference pages list every sensitive name', () => {
  const read = path => readFileSync(join(root, path), 'utf8');
  const names = [...read('src/policy/sensitive.def').matchAll(/^SENSITIVE\("(.*)"\)/gm)].map(m => m[1]);
  assert.ok(names.length >= 10);
  for (const page of ['docs/reference/tools.md', 'docs/reference/starlark.md'])
    for (const name of names) assert.ok(read(page).includes(`\`${name}\``), `${page}: ${name}`);
});
