// safety.workspace_root: files, programs and nested calls of a tool stay below that folder, whatever path leads out of it.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder, run } from './harness.mjs';
import { caller, tool } from './calls.mjs';
import { scripted } from './agents.mjs';

const safety = (root, more = '') => `safety: { workspace_root: ${root}${more} }\n`;
const files = { 'src/in.txt': 'inside\n', 'src/deep/x.txt': 'deep\n', 'other/secret.txt': 'outside\n', 'top.txt': 'top\n' };
const text = 'parameters:\n  path: { type: string, required: true }\n';

function setup(t, more, options) {
  const p = caller(t, { ...files, ...more }, options);
  symlinkSync('../other', join(p.dir, 'src/link'));
  symlinkSync(join(p.dir, 'other/secret.txt'), join(p.dir, 'src/file'));
  return p;
}
const escapes = p => ['../other/secret.txt', '../top.txt', 'deep/../../other/secret.txt', join(p.dir, 'other/secret.txt'), join(p.dir, 'top.txt'), 'link/secret.txt', 'file', '/etc/passwd'];

test('fs: relative paths start in the folder, and none leads out of it', t => {
  const p = setup(t, {
    '.harness/tools/get.md': tool('return fs.read(args["path"])', safety('src') + text),
    '.harness/tools/put.md': tool('fs.write(args["path"], "evil")\nreturn "done"', safety('src') + text),
    '.harness/tools/add.md': tool('fs.append(args["path"], "evil")\nreturn "done"', safety('src') + text),
    '.harness/tools/copy.md': tool('fs.copy("in.txt", args["path"])\nreturn "done"', safety('src') + text),
    '.harness/tools/move.md': tool('fs.move("in.txt", args["path"])\nreturn "done"', safety('src') + text),
    '.harness/tools/drop.md': tool('fs.remove(args["path"])\nreturn "done"', safety('src') + text),
    '.harness/tools/make.md': tool('fs.mkdir(args["path"] + "-made")\nreturn "done"', safety('src') + text),
    '.harness/tools/list.md': tool('return [fs.glob("**"), [e["name"] for e in fs.list()], os.cwd(), runtime["workspace"]]', `${safety('src')}injected: [workspace]\n`),
  });
  assert.equal(p.call('get', { path: 'in.txt' }).value, 'inside\n');
  assert.equal(p.call('get', { path: join(p.dir, 'src/in.txt') }).value, 'inside\n');
  assert.equal(p.call('put', { path: 'new.txt' }).value, 'done');
  assert.equal(p.text('src/new.txt'), 'evil');
  const { value } = p.call('list', {});
  assert.ok(value[0].includes('in.txt') && !value[0].some(name => /secret|top/.test(name)), JSON.stringify(value));
  assert.deepEqual(value.slice(2), [join(p.dir, 'src'), join(p.dir, 'src')]);
  for (const path of escapes(p))
    for (const name of ['get', 'put', 'add', 'copy', 'move', 'make'].concat(/link\/|^file$/.test(path) ? [] : ['drop'])) {
      if (path === 'file' && ['move', 'make'].includes(name)) continue;                 // acts on the link itself
      const r = p.call(name, { path });
      assert.equal(r.status, 1, `${name} ${path}: ${r.stdout}`);
      assert.match(r.value.error, /outside the workspace|may only be read/, `${name} ${path}`);
    }
  assert.deepEqual([p.text('other/secret.txt'), p.text('top.txt'), p.text('src/in.txt')], ['outside\n', 'top\n', 'inside\n']);
});

test('exec: the folder is the current folder and the only one that the sandbox opens', t => {
  const exec = (head = '') => tool('return exec.run("sh", ["-c", args["path"]], cwd = args.get("cwd"))', `${head}${text}  cwd: { type: string }\n`);
  const p = setup(t, { '.harness/tools/sh.md': exec(safety('src')), '.harness/tools/free.md': exec() });
  const sh = (command, more = {}) => p.call('sh', { path: command, ...more }, ['--yes']);
  assert.equal(sh('pwd').value.stdout, `${join(p.dir, 'src')}\n`);
  assert.equal(sh('pwd', { cwd: 'deep' }).value.stdout, `${join(p.dir, 'src/deep')}\n`);
  assert.equal(sh('cat in.txt; echo made > made.txt; cat made.txt').value.stdout, 'inside\nmade\n');
  for (const path of escapes(p).filter(path => path !== '/etc/passwd')) {
    const r = sh(`cat '${path}' 2>/dev/null; echo evil > '${path}'; echo $?`);
    assert.match(r.value.stdout, /^[1-9]\d*\n$/, `${path}: ${r.stdout}`);
  }
  for (const command of ['mv in.txt ../moved.txt', 'ln ../top.txt here', 'rm ../top.txt', 'ls ..', 'mkdir ../dir', 'cat ../harness.md', 'cp -r ../other .'])
    assert.notEqual(sh(command).value.exit_code, 0, command);
  for (const cwd of ['..', '../other', 'link', p.dir, join(p.dir, 'other'), '/tmp']) {
    const r = sh('pwd', { cwd });
    assert.match(r.value.error ?? '', /outside the workspace/, `${cwd}: ${r.stdout}`);
  }
  assert.deepEqual([p.text('other/secret.txt'), p.text('top.txt')], ['outside\n', 'top\n']);
  assert.equal(p.call('free', { path: 'cat other/secret.txt' }, ['--yes']).value.stdout, 'outside\n', 'other tools have the whole workspace');
});

test('sandbox.read_roots, write_roots and home: real are not open to a confined tool', t => {
  const extra = folder(t), home = folder(t);
  writeFileSync(join(extra, 'e.txt'), 'extra\n');
  writeFileSync(join(home, 'h.txt'), 'home\n');
  const head = `---\nsandbox: { read_roots: ["${extra}"], write_roots: ["${extra}"], home: real }\n---\n`;
  const body = 'return exec.run("sh", ["-c", args["path"]])["stdout"]';
  const p = setup(t, { 'harness.md': head, '.harness/tools/sh.md': tool(body, safety('src') + text), '.harness/tools/free.md': tool(body, text),
    '.harness/tools/get.md': tool('return fs.read(args["path"])', safety('src') + text) }, { env: { HOME: home } });
  const probe = `cat ${extra}/e.txt ${home}/h.txt 2>/dev/null; echo x > ${extra}/new 2>/dev/null; echo x > ${home}/new 2>/dev/null; true`;
  assert.equal(p.call('sh', { path: probe }, ['--yes']).value, '');
  assert.throws(() => readFileSync(join(extra, 'new')));
  assert.throws(() => readFileSync(join(home, 'new')));
  assert.match(p.call('get', { path: join(extra, 'e.txt') }).value.error, /outside the workspace/);
  assert.equal(p.call('free', { path: probe }, ['--yes']).value, 'extra\nhome\n');
});

test('command and argv tools', t => {
  const p = setup(t, {
    'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n',
    'agent/tools/c.md': `---\nid: c\nname: C\ndescription: d\ncommand: "pwd; cat in.txt; cat ../top.txt; echo x > ../out.txt; echo y > ok.txt"\n${safety('src')}---\n`,
    'harness.yaml': 'meta: { enabled: true }\n', 'tools.json': JSON.stringify({ tools: [{ name: 'x', command: ['./tools/bin/x'] }] }),
    'tools/bin/x': '#!/bin/sh\ncat ../top.txt >&2; echo z > ../out2.txt; echo z > ok2.txt; printf \'"%s"\\n\' "$PWD"\n',
    '.harness/tools/outer.md': tool('return meta.call_tool("x", {})', safety('src')),
  });
  chmodSync(join(p.dir, 'tools/bin/x'), 0o755);
  const c = p.call('c', {}, ['--yes']);
  assert.match(c.value?.stdout ?? '', new RegExp(`^${join(p.dir, 'src')}\ninside\n$`), c.stdout);
  assert.deepEqual([p.has('out.txt'), p.has('src/ok.txt')], [false, true]);
  const x = p.call('outer', {}, ['--yes']);
  assert.equal(x.value, join(p.dir, 'src'), x.stdout);
  assert.deepEqual([p.has('out2.txt'), p.has('src/ok2.txt')], [false, true]);
});

test('nested calls keep the narrower of the two', t => {
  const p = setup(t, {
    'harness.md': '---\nmeta: { enabled: true }\nbuiltin_tools: all\n---\n',
    '.harness/tools/outer.md': tool('return meta.call_tool(args["tool"], args["args"])', `${safety('src')}parameters:\n  tool: { type: string, required: true }\n  args: { type: object, required: true }\n`),
    '.harness/tools/free.md': tool('return meta.call_tool(args["tool"], args["args"])', 'parameters:\n  tool: { type: string, required: true }\n  args: { type: object, required: true }\n'),
    '.harness/tools/any.md': tool('return fs.read(args["path"])', text), '.harness/tools/deep.md': tool('return [os.cwd(), fs.read(args["path"])]', safety('src/deep') + text),
    '.harness/tools/aside.md': tool('return fs.read(args["path"])', safety('other') + text), '.harness/tools/wide.md': tool('return fs.read(args["path"])', safety('.') + text),
  });
  const nested = (name, args, by = 'outer') => p.call(by, { tool: name, args }, ['--yes']).value;
  assert.equal(nested('any', { path: 'in.txt' }), 'inside\n');
  assert.match(nested('any', { path: '../top.txt' }).error, /outside the workspace/);
  assert.equal(p.call('any', { path: 'top.txt' }).value, 'top\n');
  assert.deepEqual(nested('deep', { path: 'x.txt' }), [join(p.dir, 'src/deep'), 'deep\n']);
  assert.match(nested('deep', { path: '../in.txt' }).error, /outside the workspace/);
  assert.equal(nested('wide', { path: 'in.txt' }), 'inside\n');
  assert.match(nested('wide', { path: '../top.txt' }).error, /outside the workspace/);
  assert.match(nested('aside', { path: 'secret.txt' }).error, /tool "aside" works in .*other, outside .*src, the workspace_root of its caller/);
  assert.equal(nested('aside', { path: 'secret.txt' }, 'free'), 'outside\n');
  // two levels down: the tool `free` has no root, but was called by a tool that has one
  const two = p.call('outer', { tool: 'free', args: { tool: 'read', args: { path: '../top.txt' } } }, ['--yes']);
  assert.match(JSON.stringify(two.value), /outside the workspace|max_call_depth/);
  // built-in tools
  assert.match(nested('read', { path: 'in.txt' }), /inside/);
  for (const [name, args] of [['read', { path: '../top.txt' }], ['write', { path: '../new.txt', content: 'x' }], ['edit', { path: '../top.txt', old_string: 'top', new_string: 'x' }],
    ['listdir', { path: '..' }], ['grep', { pattern: 'top', path: '..' }], ['glob', { pattern: '*', path: '..' }], ['bash', { command: 'true', cwd: '..' }]])
    assert.match(nested(name, args).error ?? '', /outside the workspace/, name);
  assert.deepEqual(nested('glob', { pattern: '**/*.txt' }).files.sort(), ['deep/x.txt', 'in.txt']);
  assert.deepEqual(nested('grep', { pattern: 'inside|top|outside' }).matches.map(m => m.path), ['in.txt']);
  assert.deepEqual(nested('bash', { command: 'pwd; cat ../top.txt; true' }).stdout, `${join(p.dir, 'src')}\n`);
  assert.deepEqual([p.has('new.txt'), p.text('top.txt')], [false, 'top\n']);
});

test('what cannot be confined is refused: agents and anything that outlives the call', t => {
  const p = setup(t, {
    ...scripted('def reply(messages, tools):\n    return "x"', 'meta: { enabled: true }'), '.harness/agents/kid.md': '---\ndescription: k\n---\nKid.',
    '.harness/tools/outer.md': tool('return meta.call_tool(args["tool"], {})', `${safety('src')}parameters:\n  tool: { type: string, required: true }\n`),
    '.harness/tools/asks.md': tool('return delegate(agent = "kid", task = "t")'),
    '.harness/tools/makes.md': tool('return meta.tool_register("new", "d", {}, "def run(args):\\n  return fs.read(\'top.txt\')")'),
  });
  assert.match(p.call('outer', { tool: 'asks' }, ['--yes']).value.error, /an agent cannot be confined to .*src/);
  assert.match(p.call('outer', { tool: 'makes' }, ['--yes']).value.error, /cannot register anything/);
  assert.equal(p.call('asks', {}, ['--yes']).value.response, 'x');
});

test('a folder that is not one of the workspace stops the load', t => {
  const outside = folder(t);
  const cases = {
    missing: /no folder "missing" in the workspace/, '..': /is outside the workspace/, 'src/../..': /is outside the workspace/, [outside]: /is outside the workspace/,
    out: /a link leads from the workspace/, 'src/in.txt': /is not a folder/, '"~"': /no folder/,
  };
  for (const [root, message] of Object.entries(cases)) {
    const p = setup(t, { '.harness/tools/t.md': tool('return 1', safety(root)) });
    symlinkSync(outside, join(p.dir, 'out'));
    const checked = run(['-C', p.dir, 'validate']);
    assert.equal(checked.status, 1, root);
    assert.match(checked.stdout + checked.stderr, new RegExp(`\\.harness/tools/t\\.md:2:11: tool "t": safety\\.workspace_root: .*${message.source}`), root);
    const called = run(['-C', p.dir, 'call', 't'], { env: p.env });
    assert.notEqual(called.status, 0);
    assert.match(called.stdout + called.stderr, message, root);
  }
  const fine = setup(t, { '.harness/tools/t.md': tool('return os.cwd()', safety('alias')) });
  symlinkSync('src', join(fine.dir, 'alias'));
  assert.equal(fine.call('t', {}).value, join(fine.dir, 'src'), 'a link that stays inside is fine');
});

test('a restriction that cannot be applied stops the load', t => {
  const off = { 'harness.md': '---\nsandbox: { mode: off }\n---\n' };
  const cases = [
    [{ ...off, '.harness/tools/t.md': tool('return exec.run("true")', safety('src')) }, /cannot be enforced with sandbox\.mode: off/],
    [{ '.harness/tools/t.md': tool('return delegate(agent = "a", task = "t")', safety('src')) }, /cannot be enforced for a script that can reach delegate/],
    [{ '.harness/tools/t.md': tool('return meta.agent_register(name = "a")', safety('src')) }, /cannot be enforced for a script that can reach meta\.agent_register/],
    [{ 'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n', 'agent/tools/m.md': `---\nid: m\nname: M\ndescription: d\nmcp: true\nserver: s\n${safety('src')}---\n` },
      /workspace_root cannot be enforced for a tool of kind mcp/],
    [{ '.harness/tools/t.md': `---\n${safety('src')}---\nD.\n` }, /cannot be enforced for a native tool/],
  ];
  for (const [more, message] of cases) {
    const p = setup(t, more);
    const { status, stdout, stderr } = run(['-C', p.dir, 'validate']);
    assert.equal(status, 1, stdout + stderr);
    assert.match(stdout + stderr, message);
  }
  const reads = setup(t, { ...off, '.harness/tools/t.md': tool('return fs.read("in.txt")', safety('src')) });
  assert.equal(reads.call('t', {}).value, 'inside\n', 'fs does not need the sandbox');
});

test('a folder replaced by a link during a run gives no access', t => {
  const p = setup(t, {
    'harness.md': '---\nmeta: { enabled: true }\n---\n',
    '.harness/tools/swap.md': tool('exec.run("sh", ["-c", "mv src was; ln -s other src"])\nreturn [meta.call_tool("sh", {}), meta.call_tool("look", {})]'),
    '.harness/tools/sh.md': tool('return exec.run("sh", ["-c", "cat secret.txt; echo x > evil.txt"])', safety('src')),
    '.harness/tools/look.md': tool('return fs.exists("secret.txt")', safety('src')),
  });
  const { value } = p.call('swap', {}, ['--yes']);
  assert.ok(!JSON.stringify(value).includes('outside\\n'), JSON.stringify(value));
  assert.equal(value[1], false, 'the folder is the one that was opened');
  assert.ok(!p.has('other/evil.txt'));
});
