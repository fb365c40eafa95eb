// harness started in a folder below the project: the next start there looks for a project in every folder on the way up.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scripted } from './agents.mjs';
import { hook, tool } from './calls.mjs';
import { person, users, ways } from './persons.mjs';

const sh = tool('r = exec.run("/bin/sh", ["-c", args["do"]])\nreturn [r["exit_code"], r["stdout"], r["stderr"]]', 'parameters:\n  do: { type: string }');
const guard = hook('tool.pre', 'return block("guard") if "FORBIDDEN" in str(payload["args"]) else allow()');
const rules = { 'harness.md': '---\nsandbox: {}\nbuiltin_tools: [write]\n---\nHi.\n', '.harness/tools/sh.md': sh, '.harness/hooks/guard.md': guard, 'a/b/x': '', 'a/c/x': '' };
const names = ['harness.md', 'harness.yaml', 'harness.yml', '.harness/tools/x.md', 'tools.json', '.mcp.json', 'space.manifest.json', 'agent/tools/x.md', 'agent/config.md', 'agent/hooks/h.json'];
const each = ['a', 'a/b'].flatMap(folder => names.map(name => `${folder}/${name}`));
const make = list => list.map(path => `mkdir -p ${path.replace(/[^/]*$/, '')}; echo 'builtin_tools: all' > ${path}`).join('; ');
const below = (p, args, more = {}) => p.harness(args, { cwd: join(p.dir, 'a/b'), ...more });
const call = (p, args) => below(p, ['call', 'sh', JSON.stringify({ do: args }), '--json', '--yes']);

for (const user of ways) {
  const as = `as ${user.name}`;

  test(`no call makes a project, or the end of one, between the folder of the start and the root, ${as}`, t => {
    const p = person(t, user, rules);
    const r = call(p, `${make(each)}; mkdir -p a/.git a/b/.git; echo ok > a/b/free; mkdir a/b/agent; echo ok > a/b/agent/notes`);
    assert.match(r.stdout, /sandbox\.tampered/, r.stderr);
    assert.deepEqual([...each, 'a/.git', 'a/b/.git'].filter(p.has), []);
    assert.deepEqual([p.text('a/b/free'), p.text('a/b/agent/notes')], ['ok\n', 'ok\n']);
    assert.match(call(p, 'echo FORBIDDEN').stdout, /blocked by hook/);
    const w = below(p, ['call', 'write', JSON.stringify({ path: 'a/b/harness.yaml', content: 'x' }), '--json']);
    assert.match(w.stdout, /protected/);
  });

  test(`a folder on the way up that a call replaces is put back, ${as}`, t => {
    const p = person(t, user, rules);
    for (const does of ['mv a old; mkdir -p a/b; echo "builtin_tools: all" > a/b/harness.yaml', 'mkdir -p evil/b; echo "builtin_tools: all" > evil/b/harness.yaml; mv a old; ln -s evil a',
      'mkdir evil; echo "builtin_tools: all" > evil/harness.yaml; mv a/b a/old; ln -s ../evil a/b']) {
      call(p, `${does}; exit 0`);
      assert.ok(!p.has('a/b/harness.yaml'), does);
      p.sh('rm -rf evil old a; mkdir -p a/b');
    }
  });

  test(`other folders stay free, ${as}`, t => {
    const p = person(t, user, rules);
    const r = call(p, 'echo x > a/c/tools.json; mkdir -p other; echo x > other/tools.json; git init -q a/c');
    assert.equal(r.status, 0, r.stdout + r.stderr);
    assert.ok(p.has('a/c/tools.json') && p.has('other/tools.json') && p.has('a/c/.git'));
  });

  test(`harness sandbox below a project, ${as}`, t => {
    const p = person(t, user, rules);
    below(p, ['sandbox', ...(user.mounts ? ['--mounts', user.mounts] : []), '--', 'sh', '-c', 'echo x > harness.yaml; echo x > tools.json; echo ok > free']);
    assert.ok(!p.has('a/b/harness.yaml') && !p.has('a/b/tools.json') && p.has('a/b/free'));
  });
}

for (const user of users) {
  const as = `as ${user.name}`;

  test(`harness run below a project, ${as}`, t => {
    const script = 'def reply(messages, tools):\n    if len(messages) > 2: return "done"\n    return {"tool_calls": [{"name": "sh", "arguments": {"do": "echo x > a/b/harness.yaml; mkdir -p a/agent/tools; echo ok > free"}}]}\n';
    const p = person(t, user, { ...rules, ...scripted(script, 'sandbox: {}\n') });
    below(p, ['run', '-p', 'go', '--yes']);
    assert.ok(p.has('free') && !p.has('a/b/harness.yaml') && !p.has('a/agent/tools'));
  });

  test(`harness mcp serve below a project, ${as}`, t => {
    const p = person(t, user, rules);
    const send = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', ...(id ? { id } : {}), method, params }) + '\n';
    const input = send(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } }) + send(0, 'notifications/initialized', {})
      + send(2, 'tools/call', { name: 'sh', arguments: { do: 'echo x > a/b/harness.yaml; echo x > a/tools.json; echo ok > free' } });
    const r = below(p, ['mcp', 'serve'], { input });
    assert.ok(p.has('free'), r.stdout + r.stderr);
    assert.ok(!p.has('a/b/harness.yaml') && !p.has('a/tools.json'));
  });

  test(`files of a project that were there stay as they are, and allow_self_edit frees them, ${as}`, t => {
    const p = person(t, user, { ...rules, 'a/tools.json': '{"tools": []}', 'a/b/agent/notes': 'old' });
    call(p, 'echo x > a/tools.json; echo new > a/b/agent/notes');
    assert.deepEqual([p.text('a/tools.json'), p.text('a/b/agent/notes')], ['{"tools": []}', 'new\n']);
    const free = person(t, user, { ...rules, 'harness.md': '---\nsandbox: { allow_self_edit: true }\n---\n' });
    assert.equal(call(free, 'echo "builtin_tools: all" > a/b/harness.yaml').status, 0);
    assert.ok(existsSync(join(free.dir, 'a/b/harness.yaml')));
  });

  // A recording that the project or a test replays is as important as a script.
  test(`recordings and scripts of models are protected, there or not, ${as}`, t => {
    const models = 'sandbox: {}\nmodel: { provider: replay, name: s, replay: rec.jsonl }\nmodels:\n  - { name: t, replay: data/other.jsonl }\n  - { name: u, replay: data/later.jsonl }\n  - { name: v, script: later.star }\n';
    const p = person(t, user, { ...rules, 'harness.md': `---\n${models}---\nHi.\n`, 'rec.jsonl': 'harmless\n', 'data/other.jsonl': 'harmless\n', 'cases/one.jsonl': 'harmless\n', 'cases/two.star': 'harmless\n',
      'cases/three.jsonl': 'harmless\n', '.harness/tests/one.md': '---\nprompt: hi\nmodel: { replay: cases/one.jsonl }\n---\n', '.harness/tests/two.md': '---\nprompt: hi\nmodel: { script: cases/two.star }\n---\n',
      '.harness/tests/three.md': '---\nprompt: hi\nmodel: cases/three.jsonl\n---\n' });
    const made = ['rec.jsonl', 'data/other.jsonl', 'cases/one.jsonl', 'cases/two.star', 'cases/three.jsonl'];
    const r = p.call('sh', { do: `for f in ${made.join(' ')} data/later.jsonl later.star data/free.jsonl; do echo REWRITTEN > $f; done; exit 0` });
    assert.deepEqual(made.filter(path => p.text(path) !== 'harmless\n'), [], r.stdout + r.stderr);
    assert.deepEqual(['data/later.jsonl', 'later.star', 'data/free.jsonl'].map(p.has), [false, false, true]);
  });

  // The cost of each name must not depend on their number: it was quadratic once.
  test(`thousands of names in git's configuration are all protected, ${as}`, t => {
    const p = person(t, user, rules);
    assert.equal(p.sh(`git init -q . && for i in $(seq 6000); do printf '[alias]\\n\\ta%s = !./x%s\\n' $i $i; done >> .git/config`).status, 0);
    const r = p.call('sh', { do: 'for i in 1 31 32 33 3000 5999 6000; do echo x > x$i; done; echo ok > x6001; exit 0' });
    assert.deepEqual([1, 31, 32, 33, 3000, 5999, 6000, 6001].filter(i => p.has(`x${i}`)), [6001], r.stderr);
  });

  test(`thousands of files in a protected folder are all removed, and a limited number of copies is kept, ${as}`, t => {
    const p = person(t, user, { ...rules, '.claude/old.json': '{}', '.claude/plans/p.md': 'x' });
    const r = p.call('sh', { do: 'cd .claude; seq 20000 | xargs touch; mkdir -p sub && cd sub && seq 2000 | xargs touch; echo x > ../plans/new; exit 0' });
    assert.match(JSON.stringify(r.result), /sandbox\.tampered: \.claude\/1 was made by the call and has been removed/);
    assert.equal(p.sh('ls -A .claude .claude/plans').stdout, '.claude:\nold.json\nplans\n\n.claude/plans:\nnew\np.md\n');
    assert.equal(p.sh('ls ~/.local/state/harness/*/displaced ~/.local/state/harness/displaced 2>/dev/null | grep -cE "^[0-9]+-"').stdout.trim(), '500');
    p.call('sh', { do: 'echo x > .claude/one; exit 0' });
    assert.ok(!p.has('.claude/one'));
  });
}
