// What harness console starts in other processes, and what it adds up.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { scripted, talker } from './agents.mjs';
import { caller, hook, tool } from './calls.mjs';
import { serve, stream } from './consoles.mjs';
import { bin, environment, folder, run } from './harness.mjs';

const echo = tool('return {"said": args["text"]}', 'parameters:\n  text: { type: string, required: true }');
const danger = tool('fs.append("log.txt", args["what"] + "\\n")\nreturn "did " + args["what"]', 'confirm: true\nparameters:\n  what: { type: string, required: true }');

const model = `def reply(messages, tools):
    users = [m["content"] for m in messages if m["role"] == "user"]
    return "answer %d to %s" % (len(users), users[-1])
`;

async function until(what) {
  for (let i = 0; i < 800; i++) {
    const got = await what();
    if (got) return got;
    await sleep(25);
  }
  assert.fail(`never: ${what}`);
}

test('what other commands print', async t => {
  const p = caller(t, {
    'harness.md': '---\nmodel: { provider: script, name: offline, script: model.star }\nrules:\n  - { name: no-secrets, decide: deny, file: ["secret*"] }\n---\n', '.harness/tools/echo.md': echo, 'model.star': model,
    '.harness/hooks/look.md': hook('tool.pre', 'return allow()'),
  });
  const s = await serve(t, p);
  const print = (...args) => JSON.parse(p.run([...args, '--json']).stdout);
  assert.deepEqual(await s.json('tools'), print('tools'));
  assert.deepEqual(await s.json('policy'), print('inspect', '--graph'));
  assert.deepEqual(await s.json('project'), print('validate'));
  assert.deepEqual(await s.json('models'), print('models'));
  assert.deepEqual(await s.json('trust'), print('trust'));
  assert.deepEqual(await s.json('servers'), { servers: print('mcp', 'list'), guarded: [] });
  assert.deepEqual(await s.json('decisions'), { decisions: [], next: null });
  // files are read when they are asked for
  p.add({ '.harness/tools/second.md': echo });
  assert.deepEqual((await s.json('tools')).map(x => x.name).sort(), ['echo', 'second']);
  p.add({ '.harness/tools/broken.md': '---\nparameters: 5\n---\n' });
  const broken = await s.json('project');
  assert.equal(broken.ok, false);
  assert.ok(broken.problems.length > 0);
  const r = await s.get('tools');
  assert.ok(r.status === 500 && r.json.error.message.length > 0, r.text);
});

test('a project that does not load can be looked at', async t => {
  const p = caller(t, { 'harness.md': '---\nrules: 5\n---\n' }), s = await serve(t, p);
  assert.match(s.log, /rules/);
  assert.equal((await s.json('project')).ok, false);
  assert.deepEqual((await s.json('runs')).runs, []);
  assert.equal((await s.post('call', { tool: 'x' })).status, 500);
});

test('calls: their result, their trace, and what is refused', async t => {
  const p = caller(t, { '.harness/tools/echo.md': echo, '.harness/tools/slow.md': tool('sleep(30)'), '.harness/tools/fails.md': tool('fail("no luck")') });
  const s = await serve(t, p);
  const r = await s.post('call', { tool: 'echo', args: { text: '<b>hi</b>' } });
  assert.equal(r.status, 200, r.text);
  assert.deepEqual([r.json.exit, r.json.result.value, r.json.result.is_error], [0, { said: '<b>hi</b>' }, false]);
  const { spans } = await s.json(`runs/${r.json.run}/spans`);
  assert.deepEqual(spans.map(x => [x.name, x.status]), [['echo', 'completed']]);
  const bad = await s.post('call', { tool: 'echo', args: {} });
  assert.deepEqual([bad.status, bad.json.exit, bad.json.result.error.step], [200, 1, 'validate']);
  const failed = await s.post('call', { tool: 'fails' });
  assert.match(failed.json.result.error.message, /no luck/);
  assert.equal((await s.post('call', { tool: 'nothing' })).json.result.error.rule, 'unknown_tool');
  for (const body of [{}, { tool: '' }, { tool: 5 }, { tool: '--help' }, { tool: '-x' }, { tool: 'echo', args: [] }, { tool: 'echo', args: 'x' }, { tool: 'echo', timeout: 0 },
    { tool: 'echo', timeout: 601 }, { tool: 'x'.repeat(300) }, { tool: 'a\nb' }, { tool: 'echo', more: 1 }])
    assert.equal((await s.post('call', body)).status, 400, JSON.stringify(body));
  assert.ok([400, 500].includes((await s.post('call', { tool: 'echo', session: 'a b' })).status));
  const late = await s.post('call', { tool: 'slow', timeout: 1 });
  assert.equal(late.status, 504);
  assert.match(late.json.error.message, /timed out/);
  assert.deepEqual((await s.json('calls?limit=1000')).calls.filter(c => c.outcome === 'completed').map(c => c.tool), ['echo']);
});

test('a call whose client leaves is ended', async t => {
  const p = caller(t, { '.harness/tools/slow.md': tool('fs.write("began", "x")\nsleep(3)\nfs.write("late", "x")') });
  const s = await serve(t, p), gone = new AbortController();
  const answer = fetch(`http://127.0.0.1:${s.port}/api/call`, { method: 'POST', body: '{"tool":"slow"}', signal: gone.signal,
    headers: { Authorization: `Bearer ${s.token}`, 'Content-Type': 'application/json' } });
  answer.catch(() => {});
  await until(() => p.has('began'));
  gone.abort();
  await sleep(4000);
  assert.equal(p.has('late'), false);
});

test('a call that needs a confirmation waits for an answer of the page', async t => {
  const p = caller(t, { '.harness/tools/danger.md': danger }), s = await serve(t, p), live = stream(t, s);
  await live.until(e => e.event === 'hello');
  const calling = s.post('call', { tool: 'danger', args: { what: 'one' } });
  await live.until(e => e.event === 'approvals' && e.data.open === 1);
  const [q] = await s.json('approvals');
  assert.deepEqual([q.waiting, q.args], [true, { what: 'one' }]);
  assert.equal((await s.post(`approvals/${q.id}/approve`)).status, 200);
  const r = await calling;
  assert.deepEqual([r.json.exit, r.json.result.value], [0, 'did one']);
  assert.equal(readFileSync(`${p.dir}/log.txt`, 'utf8'), 'one\n');
  // changed arguments are asked about again
  const second = s.post('call', { tool: 'danger', args: { what: 'two' } });
  const q2 = await until(async () => (await s.json('approvals'))[0]);
  await s.post(`approvals/${q2.id}/approve`, { args: { what: 'three' } });
  const q3 = await until(async () => (await s.json('approvals')).find(q => q.id !== q2.id));
  assert.deepEqual(q3.args, { what: 'three' });
  await s.post(`approvals/${q3.id}/deny`, { reason: 'enough' });
  assert.match((await second).json.result.error.message, /the user declined danger: enough/);
  // the command line answers a question of the page
  const third = s.post('call', { tool: 'danger', args: { what: 'four' } });
  const q4 = await until(async () => (await s.json('approvals'))[0]);
  assert.equal(p.run(['approvals', 'approve', q4.id, '--yes']).status, 0);
  assert.equal((await third).json.result.value, 'did four');
  const late = await s.post(`approvals/${q4.id}/approve`);
  assert.match(late.json.by, /^command line, uid/);
});

test('a question says what a terminal shows of the call: a diff of the file, a rendered command', async t => {
  const p = caller(t, {
    'harness.md': '---\nbuiltin_tools: [edit]\nlimits: { confirm: [mutating] }\n---\n', 'a.txt': 'one\ntwo\n', '.harness/tools/danger.md': danger,
    'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n', 'agent/tools/list.md': '---\nid: list\nname: List\ndescription: d\nconfirm: true\ncommand: "ls -- {{dir}}"\nparameters:\n  - { name: dir, type: string }\n---\n',
  });
  const s = await serve(t, p);
  for (const [tool_, args, shown] of [['edit', { path: 'a.txt', old_string: 'two', new_string: 'three' }, /^--- a\.txt\n\+\+\+ a\.txt\n@@ .*\n one\n-two\n\+three\n$/], ['list', { dir: 'a b' }, /^ls -- 'a b'$/],
    ['danger', { what: 'one' }, /what.*one/s]]) {
    const calling = s.post('call', { tool: tool_, args });
    const q = await until(async () => (await s.json('approvals'))[0]);
    assert.match(q.shown, shown);
    assert.equal((await s.json(`approvals/${q.id}`)).shown, q.shown);
    await s.post(`approvals/${q.id}/deny`);
    await calling;
  }
});

test('a question says which agent asks, and what the sandbox will permit', async t => {
  const other = folder(t), p = caller(t, {
    'harness.md': `---\nbuiltin_tools: [bash, edit, read]\nlimits: { confirm: [mutating, networked, filesystem] }\nnetwork: { allowed_domains: [example.org] }\nsandbox: { read_roots: [${other}] }\n---\n`,
    'a.txt': 'one\n', 'sub/b.txt': 'x', '.harness/tools/danger.md': danger,
    '.harness/tools/inner.md': tool('return fs.read("b.txt")', 'confirm: true\nsafety: { workspace_root: sub }'),
    '.harness/tools/reach.md': tool('return http.get("https://example.org/")', 'confirm: true'),
    '.harness/tools/plain.md': tool('return 1', 'confirm: true'),
  }), s = await serve(t, p), dir = realpathSync(p.dir);
  const asked = async (tool_, args) => {
    const calling = s.post('call', { tool: tool_, args });
    const q = await until(async () => (await s.json('approvals'))[0]);
    const printed = JSON.parse(p.run(['approvals', '--json']).stdout)[0];
    assert.deepEqual([printed.agent, printed.permits], [q.agent, q.permits], 'the command line prints the same');
    await s.post(`approvals/${q.id}/deny`);
    await calling;
    assert.deepEqual((await s.json(`approvals/${q.id}`)).permits, q.permits);
    assert.equal(q.agent, '');
    return q.permits;
  };
  const inside = { runs: 'sandbox', write: [], read: [], network: 'none', hosts: [], programs: false, destructive: false };
  assert.deepEqual(await asked('plain', {}), { ...inside, files: 'none' });
  assert.deepEqual(await asked('edit', { path: 'a.txt', old_string: 'one', new_string: 'two' }), { ...inside, files: 'write', write: [dir], read: [other], destructive: true });
  assert.deepEqual(await asked('read', { path: 'a.txt' }), { ...inside, files: 'read', read: [dir, other] });
  assert.deepEqual(await asked('inner', {}), { ...inside, files: 'read', read: [`${dir}/sub`] });
  assert.deepEqual(await asked('reach', {}), { ...inside, files: 'none', network: 'listed', hosts: ['example.org'] });
  assert.deepEqual(await asked('bash', { command: 'true' }), { ...inside, files: 'write', write: [dir], read: [other], network: 'listed', hosts: ['example.org'], programs: true, sandbox: 'strict', destructive: true });
});

test('the question of a sub-agent names it', async t => {
  const p = talker(t, {
    ...scripted(`def reply(messages, tools):
    if messages[-1]["role"] == "tool":
        return "over"
    if "auditor" in str(messages[0]["content"]):
        return {"tool_calls": [{"name": "danger", "arguments": {"what": "x"}}]}
    return {"tool_calls": [{"name": "delegate", "arguments": {"agent": "auditor", "task": "look"}}]}
`), '.harness/agents/auditor.md': '---\ndescription: Looks.\ntools: [danger]\n---\nYou are the auditor.\n', '.harness/tools/danger.md': danger,
  }), s = await serve(t, p);
  const child = spawn(bin, ['-C', p.dir, 'run', '--ask', '-p', 'go'], { env: { ...environment, ...p.env }, stdio: 'ignore' }), over = once(child, 'exit');
  const q = await until(async () => (await s.json('approvals'))[0]);
  assert.deepEqual([q.tool, q.agent, q.permits.files], ['danger', 'auditor', 'write']);
  await s.post(`approvals/${q.id}/deny`);
  assert.deepEqual(await over, [0, null]);
});

test('--ask without a store is refused', t => {
  const p = caller(t, { '.harness/tools/echo.md': echo });
  assert.match(p.run(['call', 'echo', '{"text":"x"}', '--ask', '--ephemeral']).stderr, /--ask cannot be used with --ephemeral/);
});

test('nothing is started in a project that is not trusted', async t => {
  const p = caller(t, { 'harness.md': '---\nsandbox: { mode: off }\n---\n', '.harness/tools/sh.md': '---\ncommand: "touch here"\n---\nx\n' }, { env: { HARNESS_TRUST: '' } });
  const home = folder(t), s = await serve(t, p, { env: { HOME: home, XDG_STATE_HOME: home, XDG_CONFIG_HOME: home } });
  assert.equal((await s.json('trust')).state, 'not trusted');
  const r = await s.post('call', { tool: 'sh' });
  assert.equal(r.status, 403, r.text);
  assert.equal(r.json.error.kind, 'policy');
  assert.equal(p.has('here'), false);
});

test('resume and fork: new runs of other processes, with the events they must leave', async t => {
  const p = talker(t, scripted(model)), first = await p.say('one');
  assert.equal(first.status, 0, first.stderr);
  const s = await serve(t, p), live = stream(t, s), [run] = (await s.json('runs')).runs;
  await live.until(e => e.event === 'hello');
  const r = await s.post(`runs/${run.id}/resume`, { text: 'two' });
  assert.equal(r.status, 202, r.text);
  assert.deepEqual([r.json.job.kind, r.json.job.run, r.json.job.state], ['resume', run.id, 'running']);
  await live.until(e => e.event === 'job' && e.data.id === r.json.job.id && e.data.state === 'ended');
  const job = await s.json(`jobs/${r.json.job.id}`);
  assert.deepEqual([job.exit, job.state], [0, 'ended'], job.errors);
  assert.match(job.output, /answer 2 to two/);
  const types = (await s.json(`runs/${run.id}/events`)).events.map(e => e.type);
  assert.ok(types.includes('run.resumed'));
  assert.equal(types.filter(x => x === 'turn.started').length, 2);
  // a fork leaves the earlier run as it is
  const fork = await s.post(`runs/${run.id}/fork`, { turn: 1 });
  assert.deepEqual([fork.status, fork.json.job], [201, null], fork.text);
  const forked = await s.json(`runs/${fork.json.run}`), events = (await s.json(`runs/${fork.json.run}/events`)).events;
  assert.equal(forked.parent, run.id);
  assert.deepEqual(events.find(e => e.type === 'run.forked').data.from, run.id);
  assert.equal(events.filter(e => e.type === 'turn.started').length, 1);
  assert.deepEqual((await s.json(`runs/${run.id}/events`)).events.map(e => e.type), types);
  const go = await s.post(`runs/${run.id}/fork`, { turn: 1, text: 'another way' });
  assert.equal(go.json.job.run, go.json.run);
  await until(async () => (await s.json(`jobs/${go.json.job.id}`)).state === 'ended');
  assert.match((await s.json(`jobs/${go.json.job.id}`)).output, /answer 2 to another way/);
  assert.equal((await s.json('jobs')).length, 2);
  for (const [path, body] of [[`runs/${run.id}/fork`, { turn: 99 }], [`runs/${run.id}/fork`, { turn: 0 }], [`runs/${run.id}/fork`, { policy: 'x' }], [`runs/${run.id}/resume`, { turn: 1 }],
    [`runs/${run.id}/resume`, { text: '-x' }], [`runs/${run.id}/resume`, { model: '--yes' }], [`runs/${run.id}/fork`, { agent: '-x' }]])
    assert.equal((await s.post(path, body)).status, 400, JSON.stringify(body));
  for (const path of ['runs/nothing/resume', 'runs/nothing/fork', 'jobs/j99/stop']) assert.equal((await s.post(path)).status, 404, path);
  assert.equal((await s.get('jobs/x')).status, 404);
});

test('a job can be stopped, and ends with the console', async t => {
  const p = talker(t, { ...scripted('def reply(messages, tools):\n    return {"tool_calls": [{"id": "c%d" % len(messages), "name": "wait", "arguments": {}}]}\n'),
    '.harness/tools/wait.md': tool('sleep(0.2)\nreturn "waited"') });
  const said = p.say('begin', ['--max-turns', '1']);
  await said;
  const s = await serve(t, p), [run] = (await s.json('runs')).runs;
  const r = await s.post(`runs/${run.id}/resume`, { text: 'go on' });
  await until(async () => (await s.json(`runs/${run.id}`)).status === 'running');
  assert.equal((await s.post(`runs/${run.id}/resume`)).status, 409);
  assert.equal((await s.post(`jobs/${r.json.job.id}/stop`)).status, 202);
  await until(async () => (await s.json(`jobs/${r.json.job.id}`)).state === 'ended');
  assert.notEqual((await s.json(`runs/${run.id}`)).status, 'running');
  await s.post(`runs/${run.id}/resume`, { text: 'once more' });
  await until(async () => (await s.json(`runs/${run.id}`)).status === 'running');
  s.child.kill('SIGTERM');
  await s.exit;
  assert.equal((await p.runs())[0].status, 'interrupted');
});

test('costs by day, agent and model; decisions about other agents', async t => {
  const p = talker(t, { 'harness.md': '---\nmodel: { provider: script, name: scripted, script: model.star }\nrules:\n  - { name: no-rm, decide: deny, shell: [rm] }\n---\n', 'model.star': model });
  await p.say('one');
  await p.say('two');
  const envelope = command => JSON.stringify({ session_id: 's1', cwd: p.dir, hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command }, tool_use_id: `t-${command}` });
  for (const command of ['ls', 'rm -rf x']) run(['guard', 'claude', '--project', p.dir], { env: p.env, input: envelope(command), cwd: p.dir });
  const s = await serve(t, p);
  for (const by of ['day', 'agent', 'model']) {
    const c = await s.json(`cost?by=${by}`);
    assert.deepEqual([c.by, c.rows.length, c.truncated], [by, 1, false], JSON.stringify(c));
    assert.equal(c.rows[0].turns, 2);
    assert.deepEqual({ ...c.rows[0], key: undefined }, { ...c.total, key: undefined });
  }
  assert.equal((await s.json('cost?by=day')).rows[0].key, new Date().toISOString().slice(0, 10));
  assert.equal((await s.json('cost?by=model')).rows[0].key, 'scripted');
  for (const query of ['by=x', 'days=0', 'days=x']) assert.equal((await s.get(`cost?${query}`)).status, 400, query);
  const { decisions } = await s.json('decisions');
  assert.deepEqual(decisions.map(d => [d.vendor, d.tool, d.subject, d.verdict, d.rule]), [['claude', 'bash', 'rm -rf x', 'deny', 'no-rm'], ['claude', 'bash', 'ls', 'allow', '']]);
  const one = await s.json('decisions?limit=1'), two = await s.json(`decisions?limit=1&before=${one.next}`);
  assert.deepEqual([one.decisions[0].n, two.decisions[0].n, two.next], [decisions[0].n, decisions[1].n, null]);
  const [guarded] = (await s.json('servers')).guarded;
  assert.deepEqual([guarded.vendor, guarded.sessions, guarded.decisions, guarded.denied], ['claude', 1, 2, 1]);
});

test('files of the project, and a call saved as a test', async t => {
  const p = caller(t, { 'harness.md': '---\nbuiltin_tools: none\n---\nBe brief.\n', 'secret.txt': 'x', '.harness/tools/echo.md': echo, '.harness/data/bytes.bin': 'x',
    '.harness/hooks/g.md': hook('tool.pre', 'return block("no") if payload["args"]["text"] == "bad" else allow()') });
  writeFileSync(`${p.dir}/.harness/data/bytes.bin`, Buffer.from([0xff, 0xfe]));
  symlinkSync('/etc/passwd', `${p.dir}/.harness/data/link.md`);
  symlinkSync('/etc', `${p.dir}/.harness/data/folder`);
  const s = await serve(t, p);
  assert.deepEqual((await s.json('files')).map(f => f.path).sort(), ['.harness/data/bytes.bin', '.harness/hooks/g.md', '.harness/tools/echo.md', 'harness.md']);
  assert.deepEqual(await s.json('file?path=harness.md'), { path: 'harness.md', text: p.text('harness.md'), redacted: false });
  assert.equal((await s.json('file?path=.harness/tools/echo.md')).text, echo);
  for (const path of ['secret.txt', '', '/etc/passwd', '../x', '.harness/../secret.txt', '.harness/./tools/echo.md', '.harness//tools/echo.md', '.harness/data/link.md', '.harness/data/folder/passwd', '.harness',
    '.harness/', '.harness/tools', 'harness.md/x', '.harness/%00', 'x'.repeat(3000)]) {
    const r = await s.get(`file?path=${encodeURIComponent(path)}`);
    assert.equal(r.status, 404, `${path} ${r.text}`);
  }
  assert.equal((await s.get('file?path=.harness/data/bytes.bin')).status, 400);
  const saved = await s.post('tests', { name: 'says_hi', call: { tool: 'echo', args: { text: 'hi' } }, expect: { result: { said: 'hi' } } });
  assert.deepEqual([saved.status, saved.json], [201, { file: '.harness/tests/says_hi.yaml' }], saved.text);
  assert.equal((await s.post('tests', { name: 'refused', call: { tool: 'echo', args: { text: 'bad' } }, expect: { blocked_by: 'g' } })).status, 201);
  const tested = p.run(['test']);
  assert.match(tested.stdout, /2 passed, 0 failed/, tested.stdout + tested.stderr);
  p.add({ '.harness/hooks/g.md': hook('tool.pre', 'return allow()') });
  assert.match(p.run(['test', 'refused']).stdout, /0 passed, 1 failed/);
  const again = await s.post('tests', { name: 'says_hi', call: { tool: 'echo' }, expect: { result: 1 } });
  assert.equal(again.status, 409);
  assert.match(p.text('.harness/tests/says_hi.yaml'), /"hi"/);
  for (const body of [{}, { name: '../x', call: {}, expect: { a: 1 } }, { name: 'x/y', call: {}, expect: { a: 1 } }, { name: 'x', expect: { a: 1 } }, { name: 'x', call: {}, guard: {}, expect: { a: 1 } },
    { name: 'x', call: {}, expect: {} }, { name: 'x', call: {} }, { name: 'x', call: {}, expect: { call: 1 } }, { name: '-x', call: {}, expect: { a: 1 } }, { name: 'x\0y', call: {}, expect: { a: 1 } }, { name: 'x'.repeat(65), call: {}, expect: { a: 1 } }])
    assert.equal((await s.post('tests', body)).status, 400, JSON.stringify(body));
  rmSync(`${p.dir}/.harness/tests`, { recursive: true });
  symlinkSync('/tmp', `${p.dir}/.harness/tests`);
  assert.equal((await s.post('tests', { name: 'out', call: { tool: 'echo' }, expect: { result: 1 } })).status, 500);
});

test('100,000 runs: every request reads and sends a bounded number of rows', async t => {
  const p = talker(t, scripted(model));
  await p.say('the real one');
  execFileSync('python3', ['-c', `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.executemany("INSERT INTO runs (id, status, agent, parent, session, title, started_ns, ended_ns, turns, tool_calls, usage, cost, pid, pid_start, boot) VALUES (?, 'completed', ?, '', '', ?, ?, ?, 1, 2, '{\\"input\\":10,\\"output\\":5}', 0.001, 0, 0, '')",
  ((f"run-{i:06}", "a%d" % (i % 7), "needle" if i == 5 else f"prompt {i}", 1700000000000000000 + i * 10**9, 1700000000000000000 + i * 10**9) for i in range(100000)))
db.commit()`, p.env.HARNESS_STATE]);
  const s = await serve(t, p);
  const small = async path => {
    const r = await s.get(path);
    assert.equal(r.status, 200, path);
    assert.ok(r.text.length < 200000, `${path}: ${r.text.length} bytes`);
    return r.json;
  };
  await s.get('about');
  const seen = new Set();
  let page = await small('runs?limit=200');
  for (let i = 0; i < 5; i++) {
    assert.equal(page.runs.length, 200);
    page.runs.forEach(r => seen.add(r.id));
    page = await small(`runs?limit=200&before=${page.next}`);
  }
  assert.equal(seen.size, 1000);
  let found = [], scans = 0;
  for (let q = 'runs?search=needle'; q; scans++) {
    const r = await small(q);
    assert.ok(r.scanned <= 20000);
    found.push(...r.runs);
    q = r.next ? `runs?search=needle&before=${r.next}` : null;
  }
  assert.deepEqual([found.map(r => r.id), scans], [['run-000005'], 6]);
  await small('calls?limit=50');
  await small('cost?by=day&days=3660');
  await small('cost?by=agent&days=3660');
  await small('cost?by=model&days=3660');
  await small('runs/run-099999');
  const live = stream(t, s);
  await live.until(e => e.event === 'hello');
  await p.say('a new one');
  const e = await live.until(e => e.event === 'run' && e.data.status === 'completed');
  assert.equal(e.data.title, 'a new one');
  assert.ok(live.all.length < 50, `${live.all.length} messages`);
});
