// harness simulate: recorded calls, judged by the project as it is and by a draft of its files, without any effect.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { scripted, talker } from './agents.mjs';
import { caller, hook, tool } from './calls.mjs';
import { folder, root, undo } from './harness.mjs';

const settings = rules => `---\nbuiltin_tools: [bash, read, write, edit]\nrules:\n${rules.map(r => `  - ${r}\n`).join('')}---\n`;
const curl = '{ name: ask-curl, shell: [curl], decide: ask, because: "the network is asked for" }';
const guard = hook('tool.pre', 'if "push --force" in payload["args"]["command"]:\n    return block("rewrites history")\nreturn allow()', 'when: payload["name"] == "bash"');
const files = {
  'harness.md': settings([curl]), '.harness/hooks/guard_git.md': guard, '.harness/tools/deploy.md': tool('return args["to"]', 'confirm: true\nparameters:\n  to: { type: string, required: true }'),
};

// A project with recorded calls: one is allowed, two ask, one is blocked, two write a file.
function recorded(t, more = {}, options = {}) {
  const p = caller(t, { ...files, ...more }, options);
  p.call('bash', { command: 'echo hello' });
  p.call('bash', { command: 'curl example.com' });
  p.call('bash', { command: 'git push --force' });
  p.call('deploy', { to: 'staging' });
  p.call('write', { path: 'notes.txt', content: 'one\n' });
  return { ...p, simulate: (draft, { limit, env } = {}) => {
    const request = JSON.stringify({ ...(draft === undefined ? {} : { files: draft }), ...(limit ? { limit } : {}) });
    const r = p.run(['simulate', '-', '--json'], { input: request, env });
    return { ...r, json: r.stdout ? JSON.parse(r.stdout) : null };
  } };
}

const verdict = v => v && [v.decision, v.rule, v.file && `${v.file}${v.line ? `:${v.line}` : ''}`];
const row = (r, fits) => r.json.rows.find(x => fits(x.args));
const command = text => args => args.command === text;

// Everything below a folder: content, mode and times.
function tree(dir, at = '') {
  return readdirSync(join(dir, at), { withFileTypes: true }).flatMap(e => {
    const path = join(at, e.name), st = statSync(join(dir, path));
    return e.isDirectory() ? tree(dir, path) : [`${path} ${st.mode} ${st.mtimeMs} ${readFileSync(join(dir, path), 'latin1')}`];
  }).sort();
}

test('a draft: the verdict on each call before and after, and what decides', t => {
  const p = recorded(t);
  const r = p.simulate({
    'harness.md': settings(['{ name: no-echo, shell: [echo], decide: deny, because: quiet }', '{ name: ask-notes, file.write: ["notes*"], decide: ask }']), '.harness/hooks/guard_git.md': null,
    '.harness/hooks/no_staging.md': hook('tool.pre', 'return block("not staging")', 'when: payload["name"] == "deploy" and payload["args"]["to"] == "staging"'),
  });
  assert.equal(r.status, 0, r.stderr);
  assert.deepEqual([r.json.calls, r.json.problems, r.json.truncated], [5, [], false]);
  const judged = Object.fromEntries(r.json.rows.map(x => [x.args.command ?? x.tool, [verdict(x.before), verdict(x.after), x.changed]]));
  assert.deepEqual(judged, {
    'echo hello': [['allow', null, null], ['deny', 'no-echo', 'harness.md:4'], true],
    'curl example.com': [['ask', 'ask-curl', 'harness.md:4'], ['allow', null, null], true],
    // without the hook, the guard of bash itself refuses it
    'git push --force': [['deny', 'guard_git', '.harness/hooks/guard_git.md:1'], ['deny', 'policy', null], false],
    deploy: [['ask', 'confirm: true', '.harness/tools/deploy.md:1'], ['deny', 'no_staging', '.harness/hooks/no_staging.md:1'], true],
    write: [['allow', null, null], ['ask', 'ask-notes', 'harness.md:5'], true],
  });
  assert.equal(r.json.changed, 4);
  assert.match(row(r, command('echo hello')).after.reason, /quiet/);
  assert.match(row(r, command('git push --force')).before.reason, /rewrites history/);
  assert.deepEqual(r.json.rows.map(x => x.recorded.decision), ['allow', 'ask', 'deny', 'ask', 'allow'], 'newest first');
  assert.equal(p.simulate({ 'harness.md': settings([curl]) }, { limit: 2 }).json.calls, 2);
});

test('without a draft, what was recorded is compared with the files as they are', t => {
  const p = recorded(t);
  assert.equal(p.simulate().json.changed, 0);
  p.add({ 'harness.md': settings(['{ name: no-echo, shell: [echo], decide: deny }']) });
  const r = p.simulate();
  assert.deepEqual(r.json.rows.filter(x => x.changed).map(x => [x.args.command, verdict(x.before), verdict(x.after)]), [
    ['curl example.com', ['ask', 'ask-curl', null], ['allow', null, null]],
    ['echo hello', ['allow', null, null], ['deny', 'no-echo', 'harness.md:4']],
  ]);
  const none = caller(t, files);
  assert.equal(JSON.parse(none.run(['simulate']).stdout).calls, 0);
});

test('an edit that was made is judged by the rules, not by the file as it is now', t => {
  const p = recorded(t, { 'a.txt': 'old\n' });
  p.call('edit', { path: 'a.txt', old_string: 'old', new_string: 'new' });
  const edit = p.simulate({ 'harness.md': settings(['{ name: ask-files, file.write: ["*.txt"], decide: ask }']) }).json.rows[0];
  assert.deepEqual([verdict(edit.before), verdict(edit.after)], [['allow', null, null], ['ask', 'ask-files', 'harness.md:4']]);
});

test('calls of sub-agents are judged as theirs', async t => {
  const model = `
def reply(messages, tools):
    n = len([m for m in messages if m["role"] == "tool"])
    if "auditor" in str(messages[0]["content"]):
        return {"tool_calls": [{"name": "read", "arguments": {"path": "a.txt"}}]} if n == 0 else {"text": "fine"}
    return {"tool_calls": [{"name": "delegate", "arguments": {"agent": "auditor", "task": "look"}}]} if n == 0 else {"text": "done"}
`;
  const auditor = blocked => `---\ndescription: Reads.\nblocked_tools: [${blocked}]\n---\nYou are the auditor.\n`;
  const p = talker(t, { ...scripted(model, 'builtin_tools: [read, grep]'), 'a.txt': 'x', '.harness/agents/auditor.md': auditor('grep') });
  assert.equal((await p.say('go')).status, 0);
  const simulate = async draft => {
    p.add({ 'draft.json': JSON.stringify({ files: draft }) });
    return JSON.parse((await p.harness(['simulate', join(p.dir, 'draft.json')])).stdout).rows.map(x => [x.tool, x.agent, x.before.decision, x.after.decision, x.after.rule]);
  };
  assert.deepEqual(await simulate({ '.harness/agents/auditor.md': auditor('read') }), [['read', 'auditor', 'allow', 'deny', 'unknown_tool'], ['delegate', null, 'allow', 'allow', null]]);
  assert.deepEqual(await simulate({ '.harness/agents/auditor.md': null, '.harness/agents/other.md': auditor('grep') }),
    [['read', 'auditor', 'allow', 'deny', 'unknown_agent'], ['delegate', null, 'allow', 'allow', null]]);
});

test('nothing has an effect: no file, no event, no approval, no request, no program', async t => {
  const asked = [];
  const server = createServer((q, a) => { asked.push(q.url); a.end('{}'); });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  undo(t, () => server.close());
  const p = recorded(t, {
    'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n',
    'agent/hooks/h.json': JSON.stringify({ hooks: [{ id: 'program', type: 'pre_tool', tools: ['deploy'], command: 'exit 0' }] }),
    '.harness/hooks/reaches.md': hook('tool.pre', `http.post("http://127.0.0.1:${server.address().port}/x", body = "x")\nreturn allow()`, 'when: payload["args"].get("command") == "echo hello"'),
    '.harness/hooks/reads.md': hook('tool.pre', 'return block(env("HOME"))', 'when: payload["args"].get("command") == "curl example.com"'),
    '.harness/hooks/tells.md': hook('tool.pre', 'log.info("seen")\nemit("seen", {})\ncache.set("n", 1)\nreturn allow()', 'when: payload["name"] == "write"'),
  });
  const runs = () => p.run(['runs', '--all', '--json']).stdout, before = [tree(p.dir), runs(), p.run(['approvals', '--json']).stdout, p.run(['hooks', '--stats', '--json']).stdout];
  asked.length = 0;
  const r = p.simulate({ '.harness/tools/more.md': tool('return 1') });
  assert.equal(r.status, 0, r.stderr + r.stdout);
  assert.deepEqual([tree(p.dir), runs(), p.run(['approvals', '--json']).stdout, p.run(['hooks', '--stats', '--json']).stdout], before);
  assert.deepEqual(asked, []);
  assert.match(row(r, command('echo hello')).after.reason, /hook reaches failed: .*http\.post: not available in a simulation/);
  assert.match(row(r, command('curl example.com')).after.reason, /hook reads failed: .*env: not available in a simulation/);
  assert.match(row(r, args => args.to).after.reason, /hook program failed: no programs can be started in a simulation/);
  assert.equal(row(r, args => args.path).after.decision, 'allow');
  assert.equal(r.json.changed, 0, 'both sides are judged alike');
});

test('tools of MCP servers are judged as last listed, and no server is started', async t => {
  const server = readFileSync(join(root, 'tests/e2e/fixtures/mcp/server.py'), 'utf8');
  const servers = 'mcp_servers:\n  small:\n    command: python3\n    args: [server.py, honest]\n    env: {LOG: calls.log}\n';
  const p = caller(t, { 'harness.md': `---\n${servers}---\n`, 'server.py': server });
  assert.equal((await p.start('mcp:small:echo', { text: 'hi' })).value, 'echo: hi');
  const log = p.text('calls.log'), simulate = draft => JSON.parse(p.run(['simulate', '-'], { input: JSON.stringify({ files: { 'harness.md': draft } }) }).stdout);
  const r = simulate(`---\n${servers}rules:\n  - { name: no-echo, tool: ["mcp:small:*"], decide: deny }\n---\n`);
  assert.deepEqual(r.rows.map(x => [x.tool, verdict(x.before), verdict(x.after)]), [['mcp:small:echo', ['allow', null, null], ['deny', 'no-echo', 'harness.md:8']]], JSON.stringify(r));
  assert.equal(p.text('calls.log'), log, 'the server was started');
  assert.match(simulate(`---\n${servers.replace('honest', 'other')}---\n`).problems[0].message, /asks for more than this project is trusted with/);
});

test('what hooks remember counts within a run only', async t => {
  const count = 'n = cache.get("n") or 0\ncache.set("n", n + 1)\nreturn block("enough") if n >= 2 else allow()';
  const p = talker(t, { ...scripted('def reply(messages, tools):\n    n = len([m for m in messages if m["role"] == "tool"])\n    return {"tool_calls": [{"name": "note", "arguments": {"n": n}}]} if n < 3 else {"text": "ok"}\n'),
    '.harness/tools/note.md': tool('return args["n"]', 'parameters:\n  n: { type: integer, required: true }') });
  await p.say('one');
  await p.say('two');
  p.add({ 'draft.json': JSON.stringify({ files: { '.harness/hooks/count.md': hook('tool.pre', count) } }) });
  const r = JSON.parse((await p.harness(['simulate', join(p.dir, 'draft.json')])).stdout);
  assert.deepEqual(r.rows.map(x => [x.args.n, x.after.decision]), [[2, 'deny'], [1, 'allow'], [0, 'allow'], [2, 'deny'], [1, 'allow'], [0, 'allow']]);
});

test('a project that is not trusted is not judged', t => {
  const p = recorded(t, { 'harness.md': `---\nbuiltin_tools: [bash, write]\nsandbox: { mode: off }\n---\n` }), home = folder(t);
  const r = p.simulate({}, { env: { HARNESS_TRUST: '', HOME: home, XDG_STATE_HOME: home, XDG_CONFIG_HOME: home } });
  assert.deepEqual([r.status, r.json.error.kind], [1, 'policy']);
  assert.match(r.json.error.message, /is not trusted/);
});

test('a draft has what the project is trusted with, and nothing more', t => {
  const p = recorded(t, { 'harness.md': `---\nbuiltin_tools: [bash, write]\nsandbox: { mode: off }\n---\n` });
  const same = p.simulate({ 'harness.md': '---\nbuiltin_tools: [bash, write]\nlimits: { max_turns: 3 }\nsandbox: { mode: off }\n---\n' });
  assert.deepEqual([same.json.problems, same.json.calls], [[], 5], 'what is trusted already may be in the draft, on another line');
  const wider = {
    'sandbox.network': { 'harness.md': '---\nsandbox: { network: true }\n---\n' },
    'sandbox.read_roots': { 'harness.md': '---\nsandbox: { read_roots: ["/etc"] }\n---\n' },
    'sandbox.env_allow': { 'harness.md': '---\nsandbox: { env_allow: [HOME] }\n---\n' },
    secrets: { 'harness.md': '---\nsecrets: { key: { env: HOME } }\n---\n' },
    'mcpServers.x.command': { '.mcp.json': '{"mcpServers":{"x":{"command":"touch","args":["started"]}}}' },
    'hook h': { '.harness/hooks/h.md': hook('tool.pre', 'http.get("http://example.com")\nreturn allow()') },
  };
  for (const [what, draft] of Object.entries(wider)) {
    const r = p.simulate(draft);
    assert.deepEqual([r.status, r.json.calls, r.json.rows, r.json.problems.length], [0, 0, [], 1], `${what}: ${r.stdout}`);
    assert.match(r.json.problems[0].message, /^the draft asks for more than this project is trusted with: /, what);
    assert.ok(r.json.problems[0].message.includes(what), r.json.problems[0].message);
    assert.equal(r.json.problems[0].file, Object.keys(draft)[0]);
  }
  const elsewhere = p.simulate({ 'harness.md': '---\nbuiltin_tools: [bash]\nworkspace: .harness\n---\n' });
  assert.match(elsewhere.json.problems[0].message, /workspace: a simulation cannot use another one/);
});

test('a draft that does not load has its problems, and nothing is judged', t => {
  const p = recorded(t);
  for (const [draft, problem] of [
    [{ 'harness.md': '---\nrules: 5\n---\n' }, { message: 'rules: expected list, got int', file: 'harness.md', line: 2, hint: null }],
    [{ '.harness/hooks/x.md': '---\nevent: tool.pre\nscript: |\n  def handle(event, payload:\n---\n' }, { file: '.harness/hooks/x.md' }],
    [{ '.harness/hooks/x.md': '---\nevent: tool.pre\nscript: |\n  def wait():\n      for i in range(10000000000):\n          pass\n  wait()\n  def handle(event, payload):\n      return allow()\n---\n' }, { file: '.harness/hooks/x.md' }],
    [{ '.harness/hooks': 'x' }, { message: 'a draft cannot replace .harness/hooks: it is not a file, or a link leads to it' }],
    [{ '.harness/hooks/guard_git.md/x.md': 'x' }, { file: null, line: null }],
  ]) {
    const r = p.simulate(draft);
    assert.deepEqual([r.status, r.json.calls, r.json.rows], [0, 0, []], r.stdout);
    for (const [key, value] of Object.entries(problem)) assert.equal(r.json.problems[0][key], value, r.stdout);
  }
  p.add({ 'harness.md': '---\nrules: 5\n---\n' });
  assert.match(p.simulate({}).json.error.message, /the project does not load: rules: expected list/);
});

test('a hook of the draft that does not end is stopped, and its calls are denied', t => {
  const p = recorded(t), r = p.simulate({ '.harness/hooks/guard_git.md': null, '.harness/hooks/x.md': hook('tool.pre', 'for i in range(10000000000):\n    pass\nreturn allow()', 'timeout_ms: 300') });
  assert.deepEqual(r.json.rows.map(x => [x.after.decision, x.after.rule]), Array(5).fill(['deny', 'x']), r.stdout);
  assert.match(r.json.rows[0].after.reason, /hook x failed: .*timed out/);
});

test('requests that are wrong', t => {
  const p = caller(t, files), request = text => p.run(['simulate', '-', '--json'], { input: text });
  for (const [text, message] of [
    ['', /the request/], ['[]', /not a JSON object/], ['{"files":[]}', /"files" is not an object/], ['{"files":{"harness.md":5}}', /neither a string nor null/], ['{"limit":0}', /from 1 to 1000/],
    ['{"limit":1001}', /from 1 to 1000/], ['{"limit":"9"}', /from 1 to 1000/], ['{"more":1}', /unknown member "more"/], ['{"limit":1,"limit":2}', /the request/],
    [`{"files":${'['.repeat(200)}${']'.repeat(200)}}`, /the request/], [`{"files":{${Array.from({ length: 101 }, (_, i) => `".harness/hooks/${i}.md":""`)}}}`, /too many files in a draft/],
    ...['/etc/passwd', '../x', '.harness/../x', '.harness/', '.harness//x', '.harness/./x', '.harness/x/', 'src/x.c', '', 'model.star', `.harness/${'x'.repeat(1000)}`].map(path =>
      [JSON.stringify({ files: { [path]: '' } }), /cannot be drafted/]),
  ]) {
    const r = request(text), error = JSON.parse(r.stdout).error;
    assert.equal(r.status, 1, text.slice(0, 80));
    assert.match(error.message, message, text.slice(0, 80));
  }
  assert.match(p.run(['simulate', 'missing.json']).stderr, /missing\.json/);
});
