// timeout_ms is a hard limit: after it no statement of a script runs and nothing has an effect, and the result is a timeout. Every host
// function of host_names.def and every built-in tool has a row; one without a row fails.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { build, folder, root, undo } from './harness.mjs';
import { scripted, talker } from './agents.mjs';
import { caller, hook, tool } from './calls.mjs';

const source = path => readFileSync(join(root, path), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
const hostNames = [...source('src/artifact/host_names.def').matchAll(/^(MEMBER|FLAT|CALLABLE)\((\w+)(?:, (\w+))?/gm)]
  .map(([, kind, a, b]) => (kind === 'MEMBER' ? `${a}.${b}` : a));
const builtinNames = [...source('src/artifact/builtin_names.def').matchAll(/^(?:BUILTIN|BRIDGE|SERVICE)\((\w+)\)/gm)].map(m => m[1]);

const listedNames = [...source('src/artifact/builtin_names.def').matchAll(/^(?:BUILTIN|BRIDGE)\((\w+)\)/gm)].map(m => m[1]);

const made = (p, name) => p.has(name);
const event = (type, match) => p => p.events(type).some(e => JSON.stringify(e.data).includes(match));
const stored = key => p => p.looked[key] !== null;

// name: [the call, evidence of its effect]. URL and TASK are substituted.
const host = {
  'exec.run': ['exec.run("touch", ["made/exec"])', p => made(p, 'made/exec')],
  'fs.read': ['fs.read("a.txt")'], 'fs.exists': ['fs.exists("a.txt")'], 'fs.stat': ['fs.stat("a.txt")'], 'fs.list': ['fs.list(".")'],
  'fs.glob': ['fs.glob("*")'], 'fs.find': ['fs.find("a.txt", "a")'], 'fs.read_lines': ['fs.read_lines("a.txt")'], 'fs.line_count': ['fs.line_count("a.txt")'],
  'fs.diff': ['fs.diff("a.txt", "b.txt")'],
  'fs.write': ['fs.write("made/write", "x")', p => made(p, 'made/write')],
  'fs.append': ['fs.append("log.txt", "x")', p => p.text('log.txt') !== 'log\n'],
  'fs.mkdir': ['fs.mkdir("made/dir")', p => made(p, 'made/dir')],
  'fs.remove': ['fs.remove("gone.txt")', p => !made(p, 'gone.txt')],
  'fs.copy': ['fs.copy("a.txt", "made/copy")', p => made(p, 'made/copy')],
  'fs.move': ['fs.move("here.txt", "made/there")', p => made(p, 'made/there')],
  'fs.insert_at': ['fs.insert_at("l1.txt", 1, "x")', p => p.text('l1.txt') !== 'one\ntwo\n'],
  'fs.replace': ['fs.replace("l2.txt", "one", "x")', p => p.text('l2.txt') !== 'one\ntwo\n'],
  'fs.replace_all': ['fs.replace_all("l3.txt", "o", "x")', p => p.text('l3.txt') !== 'one\ntwo\n'],
  'fs.replace_lines': ['fs.replace_lines("l4.txt", 1, 1, "x")', p => p.text('l4.txt') !== 'one\ntwo\n'],
  'fs.delete_lines': ['fs.delete_lines("l5.txt", 1, 1)', p => p.text('l5.txt') !== 'one\ntwo\n'],
  'http.get': ['http.get("URL/get")', p => p.requests.includes('/get')],
  'http.post': ['http.post("URL/post", body = "x")', p => p.requests.includes('/post')],
  'http.request': ['http.request("PUT", "URL/request")', p => p.requests.includes('/request')],
  're.match': ['re.match("a", "a")'], 're.search': ['re.search("a", "a")'], 're.findall': ['re.findall("a", "a")'], 're.find_all': ['re.find_all("a", "a")'],
  're.replace': ['re.replace("a", "b", "a")'], 're.split': ['re.split("a", "bab")'],
  'string.truncate': ['string.truncate("abc", 2)'], 'string.upper': ['string.upper("a")'], 'string.lower': ['string.lower("A")'], 'string.trim': ['string.trim(" a ")'],
  'string.split': ['string.split("a b", " ")'], 'string.join': ['string.join(["a"], " ")'], 'string.pad_left': ['string.pad_left("a", 3)'], 'string.pad_right': ['string.pad_right("a", 3)'],
  'cache.get': ['cache.get("kept")'], 'cache.has': ['cache.has("kept")'],
  'cache.set': ['cache.set("late", 1)', stored('cache_late')],
  'cache.delete': ['cache.delete("kept")', p => p.looked.cache_kept === null],
  'cache.clear': ['cache.clear()', p => p.looked.cache_kept === null],
  'ctx.get': ['ctx.get("kept")'], 'ctx.has': ['ctx.has("kept")'], 'ctx.snapshot': ['ctx.snapshot()'],
  'ctx.set': ['ctx.set("late", 1)', stored('ctx_late')],
  'ctx.delete': ['ctx.delete("kept")', p => p.looked.ctx_kept === null],
  'ctx.clear': ['ctx.clear()', p => p.looked.ctx_kept === null],
  'metrics.get': ['metrics.get("kept")'], 'metrics.snapshot': ['metrics.snapshot()'],
  'metrics.set': ['metrics.set("set", 1)', p => 'set' in p.looked.metrics],
  'metrics.incr': ['metrics.incr("incr")', p => 'incr' in p.looked.metrics],
  'metrics.reset': ['metrics.reset()', p => !('kept' in p.looked.metrics)],
  'log.info': ['log.info("LATE-info")', event('log', 'LATE-info')], 'log.warn': ['log.warn("LATE-warn")', event('log', 'LATE-warn')],
  'log.error': ['log.error("LATE-error")', event('log', 'LATE-error')], 'log.debug': ['log.debug("LATE-debug")', event('log', 'LATE-debug')],
  log: ['log("LATE-log")', event('log', 'LATE-log')],
  'task.poll': ['task.poll("TASK")'], 'task.await': ['task.await("TASK", timeout_ms = 1)'],
  'task.cancel': ['task.cancel("TASK")', p => p.looked.task !== 'running'],
  'meta.tool_register': ['meta.tool_register("t1", "d", {}, "def run(args):\\n  return 1")', event('meta.tool_register', '"t1"')],
  'meta.register_tool': ['meta.register_tool("t2", "d", {}, "def run(args):\\n  return 1")', event('meta.tool_register', '"t2"')],
  'meta.hook_register': ['meta.hook_register("h1", "log", "def handle(event, payload):\\n  return allow()")', event('meta.hook_register', '"h1"')],
  'meta.register_hook': ['meta.register_hook("h2", "log", "def handle(event, payload):\\n  return allow()")', event('meta.hook_register', '"h2"')],
  'meta.agent_register': ['meta.agent_register(name = "a1", description = "d")', event('meta.agent_register', '"a1"')],
  'meta.register_agent': ['meta.register_agent(name = "a2", description = "d")', event('meta.agent_register', '"a2"')],
  'meta.list_tools': ['meta.list_tools()'],
  'meta.call_tool': ['meta.call_tool("touch", {"path": "made/called"})', p => made(p, 'made/called')],
  'content.text': ['content.text("a")'], 'content.image': ['content.image("aGk=", "image/png")'], 'content.audio': ['content.audio("aGk=", "audio/wav")'],
  'content.resource': ['content.resource("file:///a", "a")'], 'content.link': ['content.link("file:///a", "a")'],
  'time.now': ['time.now()'], 'time.unix': ['time.unix()'], 'uuid.v4': ['uuid.v4()'], 'uuid.v7': ['uuid.v7()'],
  'hash.md5': ['hash.md5("a")'], 'hash.sha1': ['hash.sha1("a")'], 'hash.sha256': ['hash.sha256("a")'], 'hash.sha512': ['hash.sha512("a")'], hash: ['hash("a")'], 'shell.parse': ['shell.parse("ls")'],
  'crypto.hmac_sha256': ['crypto.hmac_sha256("k", "a")'], 'crypto.hmac_sha512': ['crypto.hmac_sha512("k", "a")'],
  'base64.encode': ['base64.encode("a")'], 'base64.decode': ['base64.decode("aGk=")'], 'url.parse': ['url.parse("http://a/b")'], 'url.encode': ['url.encode("a b")'],
  'os.cwd': ['os.cwd()'], 'os.hostname': ['os.hostname()'], 'os.platform': ['os.platform()'], 'os.args': ['os.args()'],
  'template.render': ['template.render("{{a}}", {"a": 1})'],
  'validate.email': ['validate.email("a@b.c")'], 'validate.url': ['validate.url("http://a")'], 'validate.json': ['validate.json("{}")'],
  'set.new': ['set.new()'], 'set.contains': ['set.contains(set.new([1]), 1)'], 'set.size': ['set.size(set.new())'], 'set.values': ['set.values(set.new())'],
  'set.union': ['set.union([1], [2])'], 'set.intersect': ['set.intersect([1], [2])'], 'set.diff': ['set.diff([1], [2])'], set: ['set([1])'],
  delegate: ['delegate(agent = "kid", task = "t")', p => p.events('delegation.started').length > 0],
  emit: ['emit("late", {})', p => p.events('custom.late').length > 0],
  progress: ['progress(1, 2, "LATE-progress")', event('tool.progress', 'LATE-progress')],
  ask: ['ask("LATE?")'], ask_all: ['ask_all({"a": {"roots": True}})'], roots: ['roots()'],
  complete: ['complete("LATE-complete")', p => p.events('completion.started').length > 4],
  allow: ['allow()'], block: ['block("x")'], modify: ['modify({})'], env: ['env("HOME")'], sleep: ['sleep(0.01)'], random: ['random(1, 2)'], assert: ['assert(True, "x")'],
};

const call = (name, args) => `meta.call_tool("${name}", ${args})`;
const builtin = {
  bash: [call('bash', '{"command": "touch made/bash"}'), p => made(p, 'made/bash')],
  read: [call('read', '{"path": "a.txt"}')], glob: [call('glob', '{"pattern": "*"}')], grep: [call('grep', '{"pattern": "a"}')], listdir: [call('listdir', '{"path": "."}')],
  write: [call('write', '{"path": "made/by-write", "content": "x"}'), p => made(p, 'made/by-write')],
  edit: [call('edit', '{"path": "l6.txt", "old_string": "one", "new_string": "x"}'), p => p.text('l6.txt') !== 'one\ntwo\n'],
  task_poll: [call('task_poll', '{"task_id": "TASK"}')], task_await: [call('task_await', '{"task_id": "TASK", "timeout_ms": 1}')],
  task_cancel: [call('task_cancel', '{"task_id": "TASK"}'), p => p.looked.task !== 'running'],
  notify: [call('notify', '{"title": "x"}')], show_dialog: [call('show_dialog', '{"title": "x"}')], show_file_picker: [call('show_file_picker', '{}')],
  artifact_read: [call('artifact_read', '{"key": "x"}')],
  delegate: [call('delegate', '{"agent": "kid", "task": "t"}'), p => p.events('delegation.started').length > 0],
  delegate_async: [call('delegate_async', '{"agent": "kid", "task": "t"}'), p => p.events('delegation.started').length > 0],
  delegate_status: [call('delegate_status', '{"task_id": "TASK"}')], delegate_result: [call('delegate_result', '{"task_id": "TASK"}')],
  delegate_await: [call('delegate_await', '{"task_id": "TASK", "timeout_ms": 1}')],
};

test('every host function and every built-in tool has a row, and no row is left over', () => {
  assert.ok(hostNames.length > 100 && builtinNames.length > 10);
  assert.deepEqual(Object.keys(host).sort(), [...new Set(hostNames)].sort());
  assert.deepEqual(Object.keys(builtin).sort(), builtinNames.sort());
});

async function listen(t) {
  const requests = [];
  const server = createServer((request, response) => { requests.push(request.url); response.end('ok'); });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  undo(t, () => new Promise(done => server.close(done)));
  return { url: `http://127.0.0.1:${server.address().port}`, port: server.address().port, requests };
}

const two = 'one\ntwo\n';
const look = tool(`return {"cache_late": cache.get("late"), "cache_kept": cache.get("kept"), "ctx_late": ctx.get("late"), "ctx_kept": ctx.get("kept"), "metrics": metrics.snapshot(), "task": task.poll(args["task"])["status"]}`,
  'parameters:\n  task: { type: string, required: true }\n');
const keep = tool('cache.set("kept", 1)\nctx.set("kept", 1)\nmetrics.set("kept", 1)');

// The program that uses up the time is ended by the deadline, and exec.run returns normally.
const body = (name, burn, statement) => `fs.write("began/${name}", "x")\n${burn}x = ${statement}\nfs.write("after/${name}", "x")\nreturn "done"`;
const late = (name, statement) => tool(body(name, `exec.run("sleep", ["60"])\nfs.write("after/${name}", "x")\n`, statement),
  'timeout_ms: 2000\nsafety: { parallel_safe: true }\nparameters:\n  me: { type: string }\n');
const inTime = (name, statement) => tool(body(name, '', statement), 'timeout_ms: 60000\nparameters:\n  me: { type: string }\n');

// One run that makes all calls of the rows: the project, its answers and the remaining files.
async function runRows(t, rows, make) {
  const { url, port, requests } = await listen(t);
  const names = Object.keys(rows), ids = names.map((_, i) => `late_${i}`);
  const script = `
LATE = ${JSON.stringify(ids)}

def results(messages):
    return [m["content"] for m in messages if m["role"] == "tool"]

def reply(messages, tools):
    seen = results(messages)
    if messages[0]["content"] == "Kid.":
        return "kid"
    if len(seen) == 0:
        return {"tool_calls": [{"name": "bg", "arguments": {}}, {"name": "keep", "arguments": {}}]}
    task = json.decode(seen[0])["task_id"]
    if len(seen) == 2:
        return {"tool_calls": [{"name": n, "arguments": {"me": task}} for n in LATE]}
    if len(seen) == 2 + len(LATE):
        return {"tool_calls": [{"name": "look", "arguments": {"task": task}}]}
    return json.encode(seen)
`;
  const put = s => s.replaceAll('URL', url).replaceAll('"TASK"', 'args["me"]');
  const head = `builtin_tools: [${listedNames.join(', ')}]\ncontext: { max_history: 1000 }\nmeta: { enabled: true, max_call_depth: 2 }\nnetwork: { allowed_domains: ["127.0.0.1:${port}"] }\n`
    + `limits: { max_concurrency: 16, max_tool_calls_per_turn: 1000, max_tool_calls: 1000 }`;
  const p = talker(t, {
    ...scripted(script, head), '.harness/agents/kid.md': '---\ndescription: k\n---\nKid.',
    ...Object.fromEntries(names.map((n, i) => [`.harness/tools/late_${i}.md`, make(n, put(rows[n][0]))])),
    '.harness/tools/bg.md': tool('sleep(60)', 'async: true'), '.harness/tools/keep.md': keep, '.harness/tools/look.md': look,
    '.harness/tools/touch.md': tool('fs.write(args["path"], "x")', 'parameters:\n  path: { type: string, required: true }'),
    'a.txt': 'a\n', 'b.txt': 'b\n', 'log.txt': 'log\n', 'gone.txt': 'x', 'here.txt': 'x', ...Object.fromEntries([1, 2, 3, 4, 5, 6].map(i => [`l${i}.txt`, two])),
    'made/keep': '', 'after/keep': '', 'began/keep': '',
  });
  const r = await p.say('go');
  assert.equal(r.reply?.status, 'completed', r.stdout + r.stderr);
  const seen = JSON.parse(r.reply.response);
  p.requests = requests;
  p.looked = JSON.parse(seen.at(-1));
  return { p, names, answers: seen.slice(2, -1) };
}

async function afterDeadline(t, rows) {
  const { p, names, answers } = await runRows(t, rows, late);
  names.forEach((name, i) => {
    const result = JSON.parse(answers[i]);
    assert.ok(p.has(`began/${name}`), `${name}: the script began`);
    assert.deepEqual([result.timed_out, typeof result.error], [true, 'string'], `${name}: ${answers[i]}`);
    assert.ok(!p.has(`after/${name}`), `${name}: a statement ran after the deadline`);
    if (rows[name][1]) assert.ok(!rows[name][1](p), `${name} had an effect after the deadline`);
  });
}

// The rows prove nothing unless they work without a timeout. Rows that clear state come last, since others need it.
async function beforeDeadline(t, rows) {
  const { p, names, answers } = await runRows(t, rows, inTime);
  names.forEach((name, i) => {
    assert.equal(answers[i], 'done', name);
    assert.ok(p.has(`after/${name}`), name);
    if (rows[name][1] && !/^(cache|ctx|metrics)\.set$|^metrics\.incr$/.test(name)) assert.ok(rows[name][1](p), `${name} has an effect in time`);
  });
}

test('without a timeout every row works, and its effect is visible', async t => {
  await beforeDeadline(t, host);
  await beforeDeadline(t, builtin);
});

test('no host function runs after a call that used up the time', t => afterDeadline(t, host));
test('no built-in tool runs after a call that used up the time', t => afterDeadline(t, builtin));

// ---- other ways to use up the time ----

const burners = {
  'a nested call': 'meta.call_tool("nap", {})', 'a nested call with a longer time of its own': 'meta.call_tool("long", {})',
  'a program of a nested call': 'meta.call_tool("bash", {"command": "sleep 60; touch late.txt"})',
  'sleep': 'sleep(60)', 'computing': 'for i in range(1000000000):\n    pass', 'delegate': 'delegate(agent = "kid", task = "t")',
};
for (const [what, burn] of Object.entries(burners))
  test(`used up by ${what}: nothing runs after it`, t => {
    const script = 'def reply(messages, tools):\n    if messages[-1]["role"] == "tool":\n        return "late"\n    return {"tool_calls": [{"name": "nap", "arguments": {}}]}';
    const p = caller(t, {
      ...scripted(script, 'builtin_tools: all\nmeta: { enabled: true }'), '.harness/agents/kid.md': '---\ndescription: k\n---\nKid.',
      '.harness/tools/outer.md': tool(`${burn}\nfs.write("after.txt", "x")\nreturn "done"`, 'timeout_ms: 300'),
      '.harness/tools/nap.md': tool('exec.run("sleep", ["60"])\nfs.write("late.txt", "x")'),
      '.harness/tools/long.md': tool('exec.run("sleep", ["60"])\nfs.write("late.txt", "x")', 'timeout_ms: 60000'),
    });
    const r = p.call('outer', {});
    assert.equal(r.status, 1);
    assert.equal(r.value.timed_out, true, r.stdout);
    assert.match(r.value.error, /timed out/);
    assert.ok(!p.has('after.txt') && !p.has('late.txt'));
  });

const space = { 'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n' };
const ended = [
  ['bash', { command: 'sleep 1; touch late', timeout: 0.3 }, { 'harness.yaml': 'builtin_tools: all\n' }],
  ['c', {}, { ...space, 'agent/tools/c.md': '---\nid: c\nname: C\ndescription: d\ncommand: "sleep 1; touch late"\ntimeout: 0.3\n---\n' }],
  ['x', {}, { 'tools.json': JSON.stringify({ tools: [{ name: 'x', command: ['/bin/sh', '-c', 'sleep 2; touch late'], timeoutSec: 1 }] }) }],
];
for (const [name, args, files] of ended)
  test(`the program of ${name} does nothing after the timeout`, async t => {
    const p = caller(t, files);
    const r = p.call(name, args, ['--yes']);
    assert.equal(r.value.timed_out, true, r.stdout);
    await wait(1200);
    assert.ok(!p.has('late'));
  });

// ---- inside of a function ----

const skip = ['asan', 'tsan', 'msan', 'ubsan'].includes(build) && `${build} build`;
const slowly = {
  'fs.write': ['fs.write("a.txt", "new")', /^old$/, 'a.txt'], 'fs.write of a new file': ['fs.write("new.txt", "new")', null, 'new.txt'],
  'fs.append to a new file': ['fs.append("new.txt", "new")', null, 'new.txt'], 'fs.copy': ['fs.copy("a.txt", "new.txt")', null, 'new.txt'],
  'fs.copy of a folder': ['fs.copy("folder", "new")', null, 'new/f.txt'], 'fs.replace': ['fs.replace("a.txt", "old", "new")', /^old$/, 'a.txt'],
  'fs.replace_lines': ['fs.replace_lines("a.txt", 1, 1, "new")', /^old$/, 'a.txt'],
  write: ['meta.call_tool("write", {"path": "new.txt", "content": "new"})', null, 'new.txt'],
  edit: ['meta.call_tool("edit", {"path": "a.txt", "old_string": "old", "new_string": "new"})', /^old$/, 'a.txt'],
};

test('a file that is written too slowly does not replace the old one', { skip }, t => {
  const shim = join(folder(t), 'slow.so');
  const built = spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-o', shim, join(root, 'tests/e2e/fixtures/slow.c'), '-ldl'], { encoding: 'utf8' });
  assert.equal(built.status, 0, built.stderr);
  for (const [what, [statement, content, path]] of Object.entries(slowly)) {
    const attempt = (ms, timeout) => {
      const p = caller(t, {
        'harness.md': '---\nbuiltin_tools: all\nmeta: { enabled: true }\n---\n', 'a.txt': 'old', 'folder/f.txt': 'x',
        '.harness/tools/slow.md': tool(`x = ${statement}\nreturn "done"`, `timeout_ms: ${timeout}`),
      });
      return { p, r: p.call('slow', {}, [], { env: { LD_PRELOAD: shim, SLOW_UNDER: p.dir, SLOW_MS: String(ms) } }) };
    };
    const quick = attempt(0, 60000);
    assert.equal(quick.r.status, 0, `${what}: ${quick.r.stdout}`);
    assert.ok(quick.p.has(path) && !(content && content.test(quick.p.text(path))), `${what}: works in time`);
    const { p, r } = attempt(500, 200);
    assert.equal(r.value.timed_out, true, `${what}: ${r.stdout}`);
    if (content) assert.match(p.text(path), content, what);
    else assert.ok(!p.has(path), `${what}: ${path} is there`);
  }
});

// ---- hooks ----

test('a hook that timed out blocks and stops', async t => {
  const { url, port, requests } = await listen(t);
  const net = { 'harness.md': `---\nnetwork: { allowed_domains: ["127.0.0.1:${port}"] }\n---\n` };
  const after = `http.get("${url}/late")\nemit("late", {})\nreturn allow()`;
  for (const burn of ['sleep(60)', 'for i in range(1000000000):\n    pass']) {
    const p = caller(t, { ...net, '.harness/tools/t.md': tool('fs.write("ran", "x")'), '.harness/hooks/g.md': hook('tool.pre', `${burn}\n${after}`, 'timeout_ms: 150') });
    const r = await p.start('t', {});
    assert.equal(r.status, 1);
    assert.match(r.value.error, /hook g failed: .*timed out/s);
    assert.ok(!p.has('ran'));
    assert.deepEqual([requests, p.events('custom.late').length], [[], 0]);
  }
});
