// Retries, background tasks, meta.*, repeated failures, protected files, what tools cannot reach.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { caller, hook, tool } from './calls.mjs';

const space = files => ({ 'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n', ...files });
const command = (text, head = '') => `---\nid: c\nname: C\ndescription: d\ncommand: ${JSON.stringify(text)}\n${head}---\n`;
const counting = 'n = int(fs.read("n")) if fs.exists("n") else 0\nfs.write("n", str(n + 1))\n';

test('retry: only retryable failures of tools that may be repeated', t => {
  const p = caller(t, {
    '.harness/tools/i.md': tool(`${counting}if n < 2:\n    return {"error": "busy", "status": 503}\nreturn n`, 'idempotency: idempotent\nretry: { max_attempts: 5, initial_backoff_ms: 1 }'),
    '.harness/tools/o.md': tool(`${counting}return {"error": "busy", "status": 503}`, 'retry: { max_attempts: 5, initial_backoff_ms: 1 }'),
    '.harness/tools/f.md': tool(`${counting}fail("for good")`, 'idempotency: idempotent\nretry: { max_attempts: 5, initial_backoff_ms: 1 }'),
  });
  assert.equal(p.call('i').value, 2);
  assert.deepEqual(p.events('tool.retried').map(e => e.data.attempt), [1, 2]);
  assert.equal(p.events('tool.started').length, 1);
  assert.equal(p.events('tool.executing').length, 3);
  assert.equal(new Set(p.events('tool.executing').map(e => e.data.idempotency_key)).size, 1);
  assert.equal(p.call('o').status, 1);
  assert.equal(p.events('tool.retried').length, 0);
  assert.equal(p.call('f').status, 1);
  assert.equal(p.events('tool.retried').length, 0);
});

test('retry: on_exit', t => {
  const p = caller(t, space({ 'agent/tools/c.md': command('echo x >> n; test $(wc -l < n) -ge 3 || exit 75', 'idempotency: idempotent\nretry: { max_attempts: 3, initial_backoff_ms: 1, on_exit: [75] }\n') }));
  assert.equal(p.call('c', {}, ['--yes']).status, 0);
  assert.equal(p.text('n'), 'x\nx\nx\n');
});

test('a hook during the call gets the duration of this attempt, without the wait before it', t => {
  const late = 'def handle(event, payload):\\n    return modify(dict(payload, result = payload["elapsed_ms"]))\\n'.replaceAll('"', '\\"');
  const p = caller(t, {
    'harness.md': '---\nmeta: { enabled: true }\n---\n',
    '.harness/tools/i.md': tool(`${counting}if n < 1:\n    return {"error": "busy", "status": 503}\nmeta.register_hook("late", "tool.post", "${late}")\nreturn n`,
      'idempotency: idempotent\nretry: { max_attempts: 2, initial_backoff_ms: 3000, jitter: false }'),
  });
  const took = p.call('i').value;
  assert.ok(took >= 0 && took < 3000, String(took));
});

test('a retry passes the guards again', t => {
  const p = caller(t, {
    '.harness/tools/i.md': tool('return {"error": "busy", "status": 503}', 'idempotency: idempotent\nretry: { max_attempts: 5, initial_backoff_ms: 1 }'),
    '.harness/hooks/h.md': hook('tool.pre', 'cache.set("n", cache.get("n", 0) + 1)\nif cache.get("n") == 2:\n    return block("enough")\nreturn allow()'),
  });
  const r = p.call('i');
  assert.equal(r.error.message, 'blocked by hook h: enough');
  assert.deepEqual(p.events().map(e => e.type).filter(x => /^tool/.test(x)), ['tool.started', 'tool.executing', 'tool.retried', 'tool.refused']);
});

test('background: waited for, or a task id at once', t => {
  const p = caller(t, { '.harness/tools/b.md': tool('sleep(0.2)\nreturn "late"', 'async: true'), '.harness/hooks/h.md': hook('tool.post', 'return modify(dict(payload, result = payload["result"] + "!"))') });
  assert.equal(p.call('b').value, 'late!');
  const r = p.call('b', {}, ['--no-wait']);
  assert.equal(r.status, 0);
  assert.match(r.value.task_id, /^task_/);
  assert.equal(r.value.status, 'running');
  assert.equal(r.task_id, r.value.task_id);
  assert.equal(p.events('task.started').length, 1);
});

const meta = (body, settings = '{ enabled: true }') => ({ 'harness.md': `---\nmeta: ${settings}\n---\n`, '.harness/tools/m.md': tool(body), '.harness/tools/add.md': tool('return args["a"] + 1', 'parameters:\n  a: { type: integer }') });
const make = 'meta.tool_register("made", "Made.", {"x": {"type": "string", "required": True}}, "def run(args):\\n    return args[\\"x\\"] * 2\\n")\n';

test('meta: list, call, register', t => {
  assert.deepEqual(caller(t, meta('return [t["name"] for t in meta.list_tools()]')).call('m').value.sort(), ['add', 'm']);
  assert.deepEqual(caller(t, meta('return [t["name"] for t in meta.list_tools("a*")]')).call('m').value, ['add']);
  assert.equal(caller(t, meta('return meta.call_tool("add", {"a": 4})')).call('m').value, 5);
  assert.match(caller(t, meta('return meta.call_tool("add", {"a": "4"})')).call('m').value.error, /expected integer/);
  const p = caller(t, meta(`${make}return meta.call_tool("made", {"x": "ab"})`));
  assert.equal(p.call('m').value, 'abab');
  assert.equal(p.events('meta.tool_register')[0].data.name, 'made');
  assert.match(caller(t, meta(`${make}return meta.call_tool("made", {})`)).call('m').value.error, /x/);
  assert.match(caller(t, meta(`${make}${make}return 1`)).call('m').error.message, /defined more than once/);
  assert.match(caller(t, meta('meta.tool_register("bad", "d", {}, "def run(:")')).call('m').error.message, /bad/);
  assert.match(caller(t, meta('meta.tool_register("read", "d", {}, "def run(args): return 1")')).call('m').error.message, /is built in/);
});

test('meta: disabled, limited in number and depth, checked by hooks, under policy', t => {
  assert.match(caller(t, meta('return meta.list_tools()', '{ enabled: false }')).call('m').error.message, /meta\.enabled/);
  assert.match(caller(t, meta(make, '{ enabled: true, max_tools: 0 }')).call('m').error.message, /meta\.max_tools of 0/);
  const loop = caller(t, meta('return meta.call_tool("m", {})')).call('m');
  assert.match(loop.value.error, /meta\.max_call_depth of 2/);
  const blocked = caller(t, { ...meta(make), '.harness/hooks/h.md': hook('meta.tool_register', 'return block(payload["kind"] + " " + payload["name"])') });
  assert.match(blocked.call('m').error.message, /tool made/);
  const denied = caller(t, meta(`${make}return meta.call_tool("made", {"x": "a"})`));
  denied.add({ 'harness.md': '---\nmeta: { enabled: true }\ntools_policy: { deny: [made] }\n---\n' });
  assert.match(denied.call('m').value.error, /made/);
});

test('the same failure three times in a row is not tried a fourth time', t => {
  const p = caller(t, meta('return [meta.call_tool("f", {"x": 1}).get("error") for i in range(5)] + [meta.call_tool("f", {"x": 2}).get("error")]'));
  p.add({ '.harness/tools/f.md': tool('fail("again")') });
  const errors = p.call('m').value;
  assert.deepEqual(errors.map(e => /three times in a row/.test(e)), [false, false, false, true, true, false]);
});

test('limits.repair', t => {
  const p = caller(t, { 'harness.md': '---\nlimits: { repair: { invalid_arguments: false, unknown_tool: false, refused: false } }\ntools_policy: { deny: [no] }\n---\n', '.harness/tools/no.md': tool('return 1'), '.harness/tools/a.md': tool('return 1', 'parameters:\n  a: { type: integer }') });
  assert.deepEqual([p.call('a', { a: 'x' }), p.call('zzz'), p.call('no')].map(r => r.error.class), ['fatal', 'fatal', 'fatal']);
  const named = setting => new RegExp(`\\(limits\\.repair\\.${setting} is false\\)$`);
  assert.match(p.call('a', { a: 'x' }).error.message, named('invalid_arguments'));
  assert.match(p.call('zzz').error.message, named('unknown_tool'));
  assert.match(p.call('no').error.message, named('refused'));
});

// ---- protected files ----

const watched = { '.harness/hooks/g.md': hook('tool.pre', 'return allow()'), '.harness/tools/keep.md': tool('return 1'), 'harness.md': '---\nsandbox: {}\n---\nHi.\n' };
const attacks = {
  edit: 'echo x >> {}', replace: 'echo x > {}.new; mv -f {}.new {}', remove: 'rm -f {}', rename: 'mv {} gone', link: 'ln -sf /dev/null {}',
};
for (const [how, text] of Object.entries(attacks))
  test(`protected files: ${how}`, t => {
    for (const path of ['harness.md', '.harness/hooks/g.md', '.harness/tools/keep.md', 'agent/tools/c.md', '.harness/tools/new.md', '.mcp.json', '.git/config', '.git/hooks/post-commit', 'tools.json']) {
      const p = caller(t, { ...watched, '.git/HEAD': 'x', '.git/config': 'x', ...space({ 'agent/tools/c.md': command(`${text.replaceAll('{}', path)} 2>/dev/null; echo end`) }) });
      const before = p.has(path) ? p.text(path) : null;
      const r = p.call('c', {}, ['--yes']);
      assert.equal(p.has(path) ? p.text(path) : null, before, `${how} ${path}`);
      if (r.is_error) assert.match(r.error.message, /sandbox\.tampered/);
    }
  });

test('protected files: no fs call may write them; programs and shadowing too', t => {
  for (const path of ['harness.md', '.harness/hooks/g.md', '.harness/tools/other.md', 'tools.json', '.mcp.json', 'agent/x.md', '.git/hooks/pre-push', '../outside']) {
    const p = caller(t, { ...watched, '.harness/tools/w.md': tool('fs.write(args["p"], "x")') });
    const before = p.has(path) ? p.text(path) : null;
    assert.equal(p.call('w', { p: path }, ['--yes']).status, 1, path);
    assert.equal(p.has(path) ? p.text(path) : null, before);
  }
  const p = caller(t, { ...watched, 'harness.md': '---\nsandbox: { allow_self_edit: true }\n---\n', '.harness/tools/w.md': tool('fs.write("notes.md", "x")\nfs.write(".harness/tools/other.md", "x")\nreturn 1') });
  assert.equal(p.call('w', {}, ['--yes']).value, 1);
});

// ---- what a tool can reach ----

const reach = {
  'Starlark fs': { '.harness/tools/c.md': tool('return fs.read(args["p"])') },
  'exec.run': { '.harness/tools/c.md': tool('r = exec.run("cat", [args["p"]])\nif r["exit_code"] != 0:\n    fail(r["stderr"])\nreturn r["stdout"]') },
  'a command tool': space({ 'agent/tools/c.md': command('cat -- {{p}}', 'parameters:\n  - { name: p, type: string }\n') }),
};
for (const [kind, files] of Object.entries(reach))
  test(`${kind} stays inside: files, state, environment`, t => {
    const p = caller(t, { ...files, 'inside.txt': 'in' });
    assert.equal(p.call('c', { p: 'inside.txt' }, ['--yes']).status, 0);
    for (const path of [p.env.HARNESS_STATE, join(p.state, 'events.jsonl'), '/root/.bashrc', '/var/log/dpkg.log', '../../../etc/../root/.profile'])
      assert.equal(p.call('c', { p: path }, ['--yes']).status, 1, path);
  });

test('the state must not be where tools can read it', t => {
  const p = caller(t, { '.harness/tools/c.md': tool('return 1') });
  const r = p.run(['call', 'c'], { env: { HARNESS_STATE: join(p.dir, 'state.db') } });
  assert.equal(r.status, 1);
  assert.match(r.stderr, /the state file .* is inside the workspace/);
});

test('a Starlark call maps none of the heavy libraries', t => {
  const p = caller(t, { '.harness/tools/c.md': tool('fs.write("a", "x")\nreturn fs.read("a")'), '.harness/hooks/h.md': hook('tool.pre', 'return allow()') });
  for (const command of [['call', 'c'], ['call', 'c', '--ephemeral'], ['validate']]) {
    const { status, stderr } = p.run(command, { env: { LD_DEBUG: 'files' } });
    assert.equal(status, 0, stderr);
    assert.match(stderr, /libyaml/);                    // proves that the check works: this call does load a library
    assert.doesNotMatch(stderr, /lib(curl|ssl|crypto|microhttpd|git2|edit|seccomp|systemd|pq)\b/, command.join(' '));
  }
});
