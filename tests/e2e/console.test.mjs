// The API of harness console, with real runs, questions and processes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { scripted, talker } from './agents.mjs';
import { caller, tool } from './calls.mjs';
import { ask, serve, stream } from './consoles.mjs';
import { bin, environment } from './harness.mjs';

const danger = '---\nconfirm: true\nparameters:\n  what: {type: string}\nscript: |\n  def run(args):\n      fs.append("log.txt", args["what"] + "\\n")\n      return "did " + args["what"]\n---\nDangerous.\n';
const terminal = new URL('terminal.py', import.meta.url).pathname;

// Starts harness at a terminal, in the background. `steps` as in terminal.py.
function atTerminal(p, args, steps) {
  const child = spawn('python3', [terminal, bin, '-C', p.dir, ...args], { cwd: p.dir, env: { ...environment, TERM: 'xterm', ...p.env } });
  const done = new Promise(resolve => {
    let out = '', err = '';
    child.stdout.on('data', d => out += d);
    child.stderr.on('data', d => err += d);
    child.on('close', () => resolve(out ? JSON.parse(out) : { output: err }));
  });
  child.stdin.end(JSON.stringify(steps));
  return done;
}

const lines = p => { try { return readFileSync(`${p.dir}/log.txt`, 'utf8').split('\n').filter(Boolean); } catch { return []; } };

async function until(what) {
  for (let i = 0; i < 600; i++) {
    const got = await what();
    if (got) return got;
    await sleep(25);
  }
  assert.fail(`never: ${what}`);
}

// A model that calls the tool `note` as often as the prompt says, then answers.
const model = `def reply(messages, tools):
    last = messages[-1]
    if last["role"] == "user" and "twice" in last["content"]:
        return {"tool_calls": [{"id": "t%s" % x, "name": "note", "arguments": {"what": x}} for x in ["first", "second"]]}
    if last["role"] == "user" and "call" in last["content"]:
        return {"tool_calls": [{"id": "c1", "name": "note", "arguments": {"what": last["content"]}}]}
    return "done: " + str(last["content"])[:40]
`;
const note = tool('return {"noted": args["what"]}', 'parameters:\n  what: { type: string, required: true }');

test('runs, events, spans and recorded calls are those of the command line', async t => {
  const p = talker(t, { ...scripted(model), '.harness/tools/note.md': note });
  const first = await p.say('please call one'), second = await p.say('hello <script>alert(1)</script> \u202e');
  assert.equal(first.status, 0, first.stderr);
  await p.harness(['call', 'note', '{"what":"alone"}']);
  const s = await serve(t, p);
  const page = await s.json('runs');
  assert.deepEqual(page.runs, await p.runs());
  assert.equal(page.next, null);
  assert.equal(page.runs[0].title.trim(), 'hello <script>alert(1)</script>');
  assert.equal((await s.json('runs?all=1')).runs.length, 3);
  assert.deepEqual((await s.json('runs?search=CALL')).runs.map(r => r.title), ['please call one']);
  assert.deepEqual((await s.json('runs?status=failed')).runs, []);
  assert.equal((await s.json('runs?status=completed&since=1d&agent=')).runs.length, 2);
  // pages by key
  const one = await s.json('runs?all=1&limit=1'), two = await s.json(`runs?all=1&limit=2&before=${one.next}`);
  assert.deepEqual([...one.runs, ...two.runs].map(r => r.id), (await s.json('runs?all=1')).runs.map(r => r.id));
  const id = page.runs[1].id, shown = await p.show(id);
  const run = await s.json(`runs/${id}`);
  assert.equal(run.status, 'completed');
  assert.deepEqual(run.questions, []);
  assert.equal(run.last, shown.events.length);
  const events = await s.json(`runs/${id}/events`);
  assert.deepEqual(events.events, shown.events);
  assert.deepEqual([events.next, events.last], [null, shown.events.length]);
  // pages of events
  const read = [];
  for (let after = 0; after !== null;) {
    const part = await s.json(`runs/${id}/events?after=${after}&limit=3`);
    assert.ok(part.events.length <= 3);
    read.push(...part.events);
    after = part.next;
  }
  assert.deepEqual(read, shown.events);
  const types = await s.json(`runs/${id}/events?types=turn.,completion.completed`);
  assert.deepEqual([...new Set(types.events.map(e => e.type))].sort(), ['completion.completed', 'turn.ended', 'turn.started']);
  const { spans, truncated } = await s.json(`runs/${id}/spans`);
  assert.equal(truncated, false);
  assert.deepEqual(spans.map(x => [x.kind, x.status]), [['turn', 'completed'], ['completion', 'completed'], ['tool', 'completed'], ['completion', 'completed']]);
  const call = spans.find(x => x.kind === 'tool');
  assert.deepEqual([call.name, call.verdict], ['note', 'allowed']);
  assert.ok(call.end_ms >= call.start_ms && call.start_ms >= 0);
  assert.equal(shown.events[call.seq - 1].type, 'tool.started');
  assert.equal(shown.events[call.end_seq - 1].type, 'tool.completed');
  const calls = await s.json('calls');
  assert.deepEqual(calls.calls.map(c => [c.tool, c.args.what, c.outcome]), [['note', 'alone', 'completed'], ['note', 'please call one', 'completed']]);
  assert.equal((await s.json(`calls?run=${id}`)).calls.length, 1);
  assert.equal((await s.json('calls?tool=other')).calls.length, 0);
  await p.say('do it twice');
  calls.calls.unshift(...(await s.json('calls')).calls.slice(0, 2));
  // one call a page, also within a run
  const pages = [];
  for (let before = ''; before !== null; pages.length < 9 || assert.fail('no end')) {
    const page = await s.json(`calls?limit=1${before}`);
    assert.ok(page.calls.length <= 1);
    pages.push(...page.calls);
    before = page.next === null ? null : `&before=${page.next}`;
  }
  assert.deepEqual(pages, calls.calls);
  const [{ id: twice }] = (await s.json('runs?search=twice')).runs, both = await s.json(`calls?run=${twice}`), half = await s.json(`calls?run=${twice}&limit=1`);
  assert.deepEqual(both.calls.map(x => x.args.what).sort(), ['first', 'second']);    // calls of one reply may start in either order
  assert.deepEqual([half.calls, (await s.json(`calls?run=${twice}&limit=1&before=${half.next}`)).calls], [[both.calls[0]], [both.calls[1]]]);
  for (const before of ['', 'x', '0', '1.', '.1', '1.2.3', '1.x', '9'.repeat(40)]) assert.equal((await s.get(`calls?before=${before}`)).status, 400, before);
  assert.equal((await s.get('runs/nothing')).status, 404);
  assert.equal((await s.get('runs/nothing/events')).status, 404);
  assert.equal((await s.get('runs/nothing/spans')).status, 404);
  assert.equal((await s.get('calls?run=nothing')).status, 404);
  void second;
});

test('artifacts are attachments, of their own run only', async t => {
  const html = '<html><script>alert(1)</script>';
  const p = caller(t, { 'harness.md': '---\nlimits: { model_result_bytes: 2000 }\n---\n', '.harness/tools/big.md': tool(`return "${html}" + "x" * 40000`) });
  const r = p.call('big', {});
  assert.equal(r.status, 0, r.stderr);
  const s = await serve(t, p), [run] = (await s.json('runs?all=1')).runs;
  const [a] = await s.json(`runs/${run.id}/artifacts`);
  assert.equal(a.tool, 'big');
  const got = await s.get(`runs/${run.id}/artifacts/${a.key}`);
  assert.equal(got.status, 200);
  assert.equal(got.headers['content-type'], 'application/octet-stream');
  assert.equal(got.headers['content-disposition'], `attachment; filename="${a.key}"`);
  assert.equal(got.headers['content-security-policy'], 'sandbox');
  assert.equal(got.headers['x-content-type-options'], 'nosniff');
  assert.equal(Number(got.headers['x-total']), a.bytes);
  assert.ok(got.text.includes(html));
  assert.equal((await s.get(`runs/${run.id}/artifacts/${a.key}?offset=1&limit=4`)).text, got.text.slice(1, 5));
  assert.equal((await s.get(`runs/other/artifacts/${a.key}`)).status, 404);
  assert.equal((await s.get(`runs/${run.id}/artifacts/art_000000000000`)).status, 404);
  assert.equal((await s.get(`runs/${run.id}/artifacts/${a.key}?limit=99999999`)).status, 400);
});

test('an approval: from the POST to the effect of the tool', async t => {
  const p = caller(t, { '.harness/tools/danger.md': danger }), s = await serve(t, p), live = stream(t, s);
  await live.until(e => e.event === 'hello' && e.data.open === 0);
  const done = atTerminal(p, ['call', 'danger', '{"what":"one"}'], [['', 'n no'], ['', 'did one']]);
  await live.until(e => e.event === 'approvals' && e.data.open === 1);
  const [q] = await s.json('approvals');
  assert.deepEqual([q.tool, q.args, q.why, q.state, q.waiting, q.redacted, q.answer], ['danger', { what: 'one' }, 'confirm: true', 'open', true, false, null]);
  assert.deepEqual(await s.json(`approvals?run=${q.run}`), [q]);
  assert.deepEqual(await s.json('approvals?run=other'), []);
  assert.deepEqual((await s.json(`runs/${q.run}`)).questions, [q]);
  assert.deepEqual(lines(p), []);
  const yes = await s.post(`approvals/${q.id}/approve`);
  assert.deepEqual([yes.status, yes.json.state, yes.json.answer], [200, 'answered', { answer: 'yes' }]);
  const r = await done;
  assert.equal(r.status, 0, r.output);
  assert.deepEqual(lines(p), ['one']);
  await live.until(e => e.event === 'approvals' && e.data.open === 0);
  const used = await s.json(`approvals/${q.id}`);
  assert.deepEqual([used.state, used.by], ['used', yes.json.by]);
  const { events } = await s.json(`runs/${q.run}/events?types=approval.answered`);
  assert.deepEqual([events[0].data.answer, events[0].data.source, events[0].data.by], ['yes', 'store', yes.json.by]);
  const late = await s.post(`approvals/${q.id}/deny`, { reason: 'too late' });
  assert.deepEqual([late.status, late.json.state, late.json.by], [409, 'used', yes.json.by]);
  assert.match(late.json.error.message, /was answered already, by console, uid/);
  for (const path of ['approvals/q0/approve', 'approvals/q0/deny']) assert.equal((await s.post(path)).status, 404);
  assert.equal((await s.get('approvals/q0')).status, 404);
});

test('a denial with its reason, and other arguments', async t => {
  const p = caller(t, { '.harness/tools/danger.md': danger }), s = await serve(t, p);
  const denied = atTerminal(p, ['call', 'danger', '{"what":"two"}'], [['', 'n no'], ['', 'not on a Friday']]);
  const [q] = await until(async () => { const all = await s.json('approvals'); return all.length && all; });
  assert.equal((await s.post(`approvals/${q.id}/deny`, { reason: ' not on a Friday ' })).status, 200);
  assert.equal((await denied).status, 1);
  const changed = atTerminal(p, ['call', 'danger', '{"what":"three"}'], [['', 'n no'], ['', '"what": "four"'], ['', 'n no'], ['y\n', 'did four']]);
  const [q2] = await until(async () => { const all = await s.json('approvals'); return all.length && all; });
  for (const args of ['x', [1], 5]) assert.equal((await s.post(`approvals/${q2.id}/approve`, { args })).status, 400);
  assert.equal((await s.post(`approvals/${q2.id}/approve`, { args: { what: 'four' } })).status, 200);
  assert.equal((await changed).status, 0);
  assert.deepEqual(lines(p), ['four']);
});

test('two answers at once: one counts, the other is told who was first', async t => {
  const p = caller(t, { '.harness/tools/danger.md': danger }), a = await serve(t, p), b = await serve(t, p);
  for (let i = 0; i < 3; i++) {
    const done = atTerminal(p, ['call', 'danger', `{"what":"n${i}"}`], [['', 'n no'], ['', i % 2 ? '.' : '.']]);
    const [q] = await until(async () => { const all = await a.json('approvals'); return all.length && all; });
    const answers = await Promise.all([a.post(`approvals/${q.id}/approve`), b.post(`approvals/${q.id}/deny`, { reason: 'no' }), a.post(`approvals/${q.id}/approve`), b.post(`approvals/${q.id}/deny`)]);
    assert.equal(answers.filter(r => r.status === 200).length, 1);
    for (const late of answers.filter(r => r.status !== 200)) {
      assert.equal(late.status, 409);
      assert.match(late.json.by, /^console, uid \d+$/);
    }
    await done;
    assert.equal(lines(p).includes(`n${i}`), answers[0].status === 200 || answers[2].status === 200);
  }
});

test('cancel and say reach a run of another process', async t => {
  const slow = `def reply(messages, tools):
    last = messages[-1]
    if "stop" in str(last["content"]):
        return "heard: " + last["content"]
    return {"tool_calls": [{"id": "c%d" % len(messages), "name": "wait", "arguments": {}}]}
`;
  const p = talker(t, { ...scripted(slow), '.harness/tools/wait.md': tool('sleep(0.2)\nreturn "waited"') });
  const s = await serve(t, p);
  const said = p.say('begin');
  const [run] = await until(async () => { const all = (await s.json('runs?status=running')).runs; return all.length && all; });
  assert.equal((await s.post(`runs/${run.id}/say`, { text: ' ' })).status, 400);
  assert.deepEqual((await s.post(`runs/${run.id}/say`, { text: 'please stop' })).json, { ok: true });
  const answer = await said;
  assert.match(answer.stdout, /heard: please stop/);
  assert.equal((await s.post(`runs/${run.id}/say`, { text: 'more' })).status, 409);
  assert.equal((await s.post(`runs/${run.id}/cancel`)).status, 409);
  assert.equal((await s.post('runs/nothing/cancel')).status, 404);
  const other = p.say('begin');
  const [run2] = await until(async () => { const all = (await s.json('runs?status=running')).runs; return all.length && all; });
  assert.equal((await s.post(`runs/${run2.id}/cancel`)).status, 202);
  assert.notEqual((await other).status, 0);
  assert.equal((await s.json(`runs/${run2.id}`)).status, 'cancelled');
});

test('the stream: new runs, changes, events of a run, and resuming by the last id', async t => {
  const p = talker(t, { ...scripted(model), '.harness/tools/note.md': note });
  const s = await serve(t, p), live = stream(t, s);
  const hello = await live.until(e => e.event === 'hello');
  assert.equal(live.headers['content-type'], 'text/event-stream');
  assert.equal(live.headers['x-content-type-options'], 'nosniff');
  await p.say('call it');
  const ended = await live.until(e => e.event === 'run' && e.data.status === 'completed');
  const [row] = (await s.json('runs')).runs;
  assert.deepEqual(ended.data, row);
  live.close();
  await p.say('another one');
  const again = stream(t, s, '', { 'Last-Event-ID': ended.id });
  const missed = await again.until(e => e.event === 'run' && e.data.title === 'another one');
  assert.equal(missed.data.status, 'completed');
  again.close();
  const all = (await s.json(`runs/${row.id}/events`)).events;
  const [n, , ms] = hello.id.split('.');
  const events = stream(t, s, `?run=${row.id}&last=${n}.2.${ms}`);
  await events.until(e => e.event === 'event' && e.data.type === 'run.ended');
  assert.deepEqual(events.all.filter(e => e.event === 'event').map(e => e.data), all.slice(2));
  assert.equal(events.all.filter(e => e.event === 'event').at(-1).id.split('.')[1], String(all.length));
  const fresh = stream(t, s, `?run=${row.id}`);
  await fresh.until(e => e.event === 'hello');
  await sleep(400);
  assert.deepEqual(fresh.all.filter(e => e.event === 'event'), []);         // without an id it begins now
  for (const query of ['?run=nothing']) {
    const bad = stream(t, s, query);
    await until(() => bad.status);
    assert.equal(bad.status, 404);
  }
  for (const last of ['x', '1', '1.2', '1.2.3.4', '1.2.x', '-1.2.3', '9'.repeat(100)])
    assert.equal((await ask(s, { path: '/api/stream', headers: { 'Last-Event-ID': last } })).status, 400, last);
  const many = Array.from({ length: 34 }, () => stream(t, s));
  await until(() => many.every(x => x.status));
  assert.ok(many.some(x => x.status === 503));
  many.forEach(x => x.close());
  await until(async () => { const x = stream(t, s); await until(() => x.status); x.close(); return x.status === 200; });
});

test('hostile content comes back as JSON only', async t => {
  const nasty = '<img src=x onerror=alert(1)>\u202e\u0000</script>\u2028' + 'A'.repeat(60000);
  const p = caller(t, { '.harness/tools/echo.md': tool('return args', 'parameters:\n  text: { type: string }') });
  const r = p.call('echo', { text: nasty });
  assert.equal(r.status, 0, r.stderr);
  const s = await serve(t, p), [run] = (await s.json('runs?all=1')).runs;
  for (const path of [`runs/${run.id}`, `runs/${run.id}/events`, `runs/${run.id}/spans`, 'calls', `runs?search=${encodeURIComponent('<script>')}`, `calls?run=${encodeURIComponent('<script>')}`]) {
    const got = await s.get(path);
    assert.equal(got.headers['content-type'], 'application/json', path);
    assert.equal(got.headers['x-content-type-options'], 'nosniff', path);
  }
  assert.equal((await s.json('calls')).calls[0].args.text, nasty);
});
