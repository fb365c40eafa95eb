// harness simulate: calls of other agents, which harness guard decided about, judged again by its own judge.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { caller, hook } from './calls.mjs';
import { serve } from './consoles.mjs';
import { folder, root } from './harness.mjs';

const settings = rules => `---\nbuiltin_tools: [bash]\nrules:\n${rules.map(r => `  - ${r}\n`).join('')}---\n`;
const push = '{ name: no-force-push, shell: [git, push, "--force*"], decide: deny, because: "history is shared" }';
const curl = '{ name: ask-curl, shell: [curl], decide: ask }';

// A project with a home folder of its own. `ask` is one hook process of an agent, `simulate` judges what was recorded.
function guarded(t, files = {}, { env = {} } = {}) {
  const home = folder(t), p = caller(t, { 'harness.md': settings([push, curl]), ...files }, { env: { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), ...env } });
  let calls = 0;
  p.home = home;
  p.ask = (vendor, payload, more = {}) => p.run(['guard', vendor, '--project', p.dir], { input: JSON.stringify(payload), cwd: p.dir, ...more });
  p.claude = (tool, args, more = {}, options = {}) => p.ask('claude', { session_id: 's-1', transcript_path: '/t', cwd: p.dir, permission_mode: 'default', hook_event_name: 'PreToolUse', tool_name: tool, tool_input: args,
    tool_use_id: `toolu_${calls++}`, ...more }, options);
  p.simulate = (draft, more = {}) => {
    const r = p.run(['simulate', '-'], { input: JSON.stringify({ ...(draft ? { files: draft } : {}), ...more }) });
    assert.equal(r.status, 0, r.stderr + r.stdout);
    return JSON.parse(r.stdout);
  };
  p.policy = text => {
    mkdirSync(join(home, '.config/harness'), { recursive: true });
    writeFileSync(join(home, '.config/harness/guard.md'), text);
    chmodSync(join(home, '.config/harness/guard.md'), 0o600);
  };
  p.sql = text => {
    const r = spawnSync('python3', ['-c', 'import sqlite3,sys\nc=sqlite3.connect(sys.argv[1])\nc.executescript(sys.argv[2])\nc.commit()', join(p.state, 'harness.db'), text], { encoding: 'utf8' });
    assert.equal(r.status, 0, r.stderr);
  };
  return p;
}

const verdict = v => v && [v.decision, v.rule, v.file && `${v.file}:${v.line}`];
const shown = rows => rows.map(r => [r.vendor, r.tool, r.before.decision, ...verdict(r.after)]);
// What the store holds, as bytes.
const stored = p => readdirSync(p.state).map(f => readFileSync(join(p.state, f), 'latin1')).join('\n');

test('recorded envelopes of every agent get the verdict again that they got', t => {
  const p = guarded(t, { 'harness.md': settings([push, curl, '{ name: no-secrets, file: ["**/.env*"], decide: deny }', '{ name: no-deploy, tool: "mcp:deploy:*", decide: deny }']) });
  const all = join(root, 'tests/guard');
  let sent = 0;
  for (const vendor of readdirSync(all))
    for (const name of ['allow', 'deny', 'ask', 'unknown-tool', 'mcp', 'mcp-event', 'read-event', 'shell-event', 'write', 'read', 'protected', 'patch', 'patch-deny'].filter(n => existsSync(join(all, vendor, `${n}.json`)))) {
      const { payload } = JSON.parse(readFileSync(join(all, vendor, `${name}.json`), 'utf8').replaceAll('$ROOT', p.dir));
      p.ask(vendor, { ...payload, ...Object.fromEntries(['tool_use_id', 'tool_call_id', 'callID', 'toolCallId'].filter(k => k in payload).map(k => [k, `${vendor}-${name}`])) });
      sent++;
    }
  const r = p.simulate();
  assert.deepEqual([r.calls, r.guarded, r.without_args, r.changed], [sent, sent, 0, 0]);
  for (const row of r.rows) assert.deepEqual([row.after.decision, row.after.rule], [row.recorded.decision, row.recorded.rule], JSON.stringify(row));
  assert.equal(new Set(r.rows.map(x => x.vendor)).size, readdirSync(all).length);
  assert.ok(r.rows.every(x => x.test && !x.redacted && x.run === null), JSON.stringify(r.rows.find(x => !x.test)));
  const again = p.simulate({ 'harness.md': settings(['{ name: no-cursor, vendor: [cursor], tool: "*", decide: deny }']) });
  assert.ok(again.rows.every(x => x.vendor !== 'cursor' || (x.after.decision === 'deny' && ['no-cursor', 'protected'].includes(x.after.rule))), JSON.stringify(shown(again.rows)));
});

test('a draft: before and after, the rule or hook that decides; beside our own calls, newest first', t => {
  const p = guarded(t);
  p.claude('Bash', { command: 'git push --force' });
  p.claude('Bash', { command: 'ls src' });
  p.call('bash', { command: 'echo ours' });
  p.claude('Read', { file_path: join(p.dir, 'a.txt') });
  const draft = { 'harness.md': settings(['{ name: no-ls, shell: [ls], decide: deny }']),
    '.harness/hooks/reads.md': hook('tool.pre', 'return block("not this one")', 'when: payload["kind"] == "file.read" and payload["vendor"] == "claude" and payload["args"]["path"] == "a.txt"') };
  const r = p.simulate(draft);
  assert.deepEqual([r.calls, r.guarded, r.changed, r.problems], [4, 3, 3, []]);
  assert.deepEqual(shown(r.rows), [
    ['claude', 'read', 'allow', 'deny', 'reads', '.harness/hooks/reads.md:1'],
    [null, 'bash', 'allow', 'allow', null, null],
    ['claude', 'bash', 'allow', 'deny', 'no-ls', 'harness.md:4'],
    ['claude', 'bash', 'deny', 'allow', null, null],
  ]);
  const [read] = r.rows;
  assert.deepEqual([read.vendor_tool, read.session, read.args, read.recorded.decision], ['Read', 's-1', { file_path: join(p.dir, 'a.txt') }, 'allow']);
  assert.match(read.after.reason, /not this one/);
  assert.deepEqual(shown(p.simulate(draft, { limit: 2 }).rows).map(x => x[1]), ['read', 'bash']);
  assert.equal(p.simulate(draft, { limit: 2 }).guarded, 1);
});

test('the policies of the user hold, as for the guard itself; they cannot be a test of the project', t => {
  const p = guarded(t);
  p.policy('---\nrules:\n  - { name: no-rm, shell: [rm], decide: deny }\nguard: { unknown: allow }\n---\n');
  p.claude('Bash', { command: 'rm x' });
  p.claude('Brandnew', { a: 1 });
  p.claude('Bash', { command: 'ls' });
  const r = p.simulate({ 'harness.md': settings(['{ name: ok, shell: [rm], decide: allow }']) });
  assert.deepEqual(r.rows.map(x => [x.vendor_tool, x.after.decision, x.after.rule, x.test !== null]), [['Bash', 'allow', null, true], ['Brandnew', 'allow', null, false], ['Bash', 'deny', 'no-rm', false]]);
  assert.match(r.rows[2].after.file, /\.config\/harness\/guard\.md$/);
  p.policy('---\nrulse: []\n---\n');
  const broken = p.simulate();
  assert.ok(broken.rows.every(x => x.after.decision === 'deny' && /unknown key "rulse"/.test(x.after.reason)), 'a policy that cannot be read refuses everything');
});

test('what hooks remember counts within a session of the agent only', t => {
  const p = guarded(t);
  for (let i = 0; i < 3; i++) for (const session of ['a', 'b']) p.claude('Bash', { command: `ls ${i}` }, { session_id: session });
  const r = p.simulate({ '.harness/hooks/count.md': hook('tool.pre', 'n = cache.get("n") or 0\ncache.set("n", n + 1)\nreturn block("enough") if n >= 2 else allow()') });
  assert.deepEqual(r.rows.map(x => [x.session, x.after.decision]).reverse(), [['a', 'allow'], ['b', 'allow'], ['a', 'allow'], ['b', 'allow'], ['a', 'deny'], ['b', 'deny']]);
});

test('secrets of the arguments are not in the store, and a call with masked arguments says so', t => {
  const p = guarded(t, {}, { env: { GITHUB_TOKEN: 'ghp-Zq81secretvalue' } });
  const secret = ['ghp-Zq81secretvalue', 'Kp93bearer7712', 'hunter2pass', 'optionvalue4711', 'named-value-Xy', 'Z2hwLVpxODFzZWNyZXR2YWx1ZQ'];
  const calls = [['Bash', { command: `echo ${secret[0]}` }], ['Bash', { command: `curl -H "Authorization: Bearer ${secret[1]}" x` }], ['WebFetch', { url: `https://me:${secret[2]}@example.com/`, prompt: 'look' }],
    ['Bash', { command: `deploy --token ${secret[3]}` }], ['mcp__db__query', { password: secret[4], argv: ['--api-key', secret[4]] }], ['Bash', { command: `echo ${secret[5]}== | base64 -d` }],
    ['Write', { file_path: join(p.dir, 'b.txt'), content: `${'x'.repeat(5000)}${secret[0]}` }]];
  for (const [tool, args] of calls) p.claude(tool, args, { user_email: 'me@example.com', last_assistant_message: 'private words' });
  for (const s of [...secret, 'me@example.com', 'private words', 'x'.repeat(4097)]) assert.equal(stored(p).includes(s), false, `${s.slice(0, 40)} is in the store`);
  const r = p.simulate();
  assert.deepEqual([r.guarded, r.without_args], [calls.length, 0]);
  assert.ok(r.rows.every(x => x.redacted && x.test === null), JSON.stringify(r.rows.find(x => !x.redacted)));
  assert.match(r.rows[0].args.content, /^sha256:[0-9a-f]{64} \(5019 bytes\)$/);
  assert.equal(r.rows.find(x => /curl/.test(x.args.command)).args.command, 'curl -H "Authorization: Bearer [redacted]" x', 'the command can still be parsed');
  assert.equal(r.changed, 0);
});

test('calls whose arguments were not stored are counted, other events and other projects are not', t => {
  const p = guarded(t), other = guarded(t);
  for (const command of ['ls', 'git push --force', 'pwd', 'id']) p.claude('Bash', { command });
  p.ask('claude', { session_id: 's-1', transcript_path: '/t', cwd: p.dir, hook_event_name: 'UserPromptSubmit', prompt: 'hello' });
  p.claude('Edit', { file_path: 'a.txt', old_string: 'x', new_string: 'y', edits: Array.from({ length: 20 }, () => 'z'.repeat(4000)) });
  p.sql('UPDATE decisions SET input = \'\' WHERE n <= 2');
  other.claude('Bash', { command: 'ls' }, {}, { env: { HARNESS_STATE: join(p.state, 'harness.db') } });
  const r = p.simulate();
  assert.deepEqual([r.calls, r.guarded, r.without_args, r.rows.map(x => x.args.command)], [2, 2, 3, ['id', 'pwd']]);
});

test('nothing has an effect: nothing of a recorded call or of a hook is executed, nothing is stored', t => {
  const p = guarded(t, {
    'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n',
    'agent/hooks/h.json': JSON.stringify({ hooks: [{ id: 'program', type: 'pre_tool', tools: ['read'], command: 'touch started' }] }),
    '.harness/hooks/x.md': hook('tool.pre', 'http.post("http://127.0.0.1:9/x", body = "x")\nreturn allow()', 'when: payload["name"] == "write"'),
  });
  p.claude('Bash', { command: `touch ${join(p.dir, 'made')}` });
  p.claude('Write', { file_path: join(p.dir, 'written.txt'), content: 'x' });
  p.claude('WebFetch', { url: 'http://127.0.0.1:9/', prompt: 'x' });
  p.claude('Read', { file_path: 'a.txt' });
  assert.equal(p.has('started'), true, 'the hook runs for the guard');
  p.sql('PRAGMA wal_checkpoint(TRUNCATE)');
  const files = () => readdirSync(p.dir, { recursive: true }).filter(f => f !== 'started').sort(), log = () => p.run(['guard', 'log', '--json']).stdout;
  const before = [files(), log(), p.run(['runs', '--all', '--json']).stdout];
  spawnSync('rm', [join(p.dir, 'started')]);
  const r = p.simulate({ 'harness.md': settings([push]) });
  assert.deepEqual(r.problems, []);
  assert.deepEqual([files(), log(), p.run(['runs', '--all', '--json']).stdout], before);
  for (const file of ['made', 'written.txt', 'started']) assert.equal(p.has(file), false, file);
  assert.match(r.rows[2].after.reason, /hook x failed: .*http\.post: not available in a simulation/);
  assert.match(r.rows[0].after.reason, /hook program failed: no programs can be started in a simulation/);
  assert.equal(JSON.parse(p.run(['guard', 'log', '--verify', '--json']).stdout).faults.length, 0);
});

test('a draft that asks for more than the project may is refused, and judges nothing', t => {
  const p = guarded(t);
  p.claude('Bash', { command: 'ls' });
  const r = p.simulate({ 'harness.md': '---\nsandbox: { mode: off }\n---\n' });
  assert.deepEqual([r.calls, r.guarded, r.rows], [0, 0, []]);
  assert.match(r.problems[0].message, /asks for more than this project is trusted with/);
});

test('a row saved as a test passes with the files that gave its verdict, and fails with others', async t => {
  const p = guarded(t, { 'src/a.txt': 'a', '.env': 'X=1' }), s = await serve(t, p);
  p.claude('Bash', { command: 'git push --force' });
  p.claude('Read', { file_path: join(p.dir, '.env') });
  p.claude('Read', { file_path: join(p.dir, '.env') }, { cwd: join(p.dir, 'src') });
  p.claude('Bash', { command: 'curl example.com' });
  p.ask('copilot', { sessionId: 's', timestamp: 1763312400000, cwd: p.dir, toolName: 'bash', toolArgs: { command: 'ls' } });
  const draft = { 'harness.md': settings(['{ name: no-env, file: ["**/.env"], decide: deny }', curl]) };
  const { status, json } = await s.post('simulate', { files: draft });
  assert.equal(status, 200);
  assert.deepEqual(shown(json.rows), [['copilot', 'bash', 'allow', 'allow', null, null], ['claude', 'bash', 'ask', 'ask', 'ask-curl', 'harness.md:5'],
    ['claude', 'read', 'allow', 'deny', 'no-env', 'harness.md:4'], ['claude', 'read', 'allow', 'deny', 'no-env', 'harness.md:4'], ['claude', 'bash', 'deny', 'allow', null, null]]);
  assert.equal(JSON.stringify(json.rows.map(r => r.test)).includes(p.dir), false, 'a test runs in a copy');
  for (const [i, name] of ['listed', 'asked', 'below', 'denied', 'pushed'].entries()) {
    const { decision, rule } = json.rows[i].after, made = await s.post('tests', { name, guard: json.rows[i].test, expect: { decision, ...(rule ? { rule } : {}) } });
    assert.equal(made.status, 201, made.text);
  }
  const results = () => Object.fromEntries(JSON.parse(p.run(['test', '--json']).stdout).tests.map(x => [x.name, x.passed ?? x.ok]));
  assert.deepEqual(results(), { listed: true, asked: true, below: false, denied: false, pushed: false });
  p.add(draft);
  assert.deepEqual(results(), { listed: true, asked: true, below: true, denied: true, pushed: true });
});
