// harness run as a conversation, in a real terminal: editing, history, streaming, the live line, approval, Ctrl-C, resizing,
// commands; and the same without a terminal.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { bin, folder, project, root, run, undo } from './harness.mjs';

const model = `
MD = "# Title\\n\\nSome **bold** and \`code\`.\\n\\n- item\\n\\n\`\`\`\\nx = 1\\n\`\`\`\\n"
def reply(messages, tools):
    last = messages[-1]
    words = last["content"].split(" ", 1)
    if last["role"] == "tool":
        return {"text": "result: " + last["content"]}
    if words[0] == "md":
        return MD
    if words[0] == "sleep":
        return {"text": "I will *sleep*", "tool_calls": [{"name": "nap", "arguments": {"seconds": words[1]}}]}
    if words[0] == "pair":
        return {"tool_calls": [{"name": "nap", "arguments": {"seconds": "50"}}, {"name": "nap", "arguments": {"seconds": "51"}}]}
    if words[0] == "check":
        asked = [c["id"] for m in messages for c in m.get("tool_calls", [])]
        return "%d calls, %d results, %d users" % (len(asked), len([m for m in messages if m["role"] == "tool"]), len([m for m in messages if m["role"] == "user"]))
    if words[0] == "ask":
        return {"tool_calls": [{"name": "danger", "arguments": {"what": "everything"}}]}
    if words[0] == "count":
        return "%d messages" % len([m for m in messages if m["role"] == "user"])
    if words[0] == "escape":
        return "a\\x1b[2Jb"
    return "you said <" + last["content"] + ">"
`;
const files = {
  'harness.md': '---\nmodel: {provider: script, name: scripted, script: model.star}\nmodels:\n- {provider: script, name: other, script: other.star}\n---\nTalk.\n',
  'model.star': model,
  'other.star': 'def reply(messages, tools):\n    return "the other one"\n',
  '.harness/tools/nap.md': '---\nsafety: {parallel_safe: true}\nparameters:\n  seconds: {type: string}\nscript: |\n  def run(args):\n      exec.run("sleep", [args["seconds"]], timeout_ms = 60000)\n      return "slept"\n---\nSleeps a while.\n',
  '.harness/tools/danger.md': '---\nconfirm: true\nparameters:\n  what: {type: string}\nscript: |\n  def run(args):\n      return "did " + args["what"]\n---\nDangerous.\n',
  '.harness/prompts/greet.md': '---\ndescription: says hello\narguments:\n- {name: who, required: true}\n- {name: how}\n---\nHello {{who}}, {{how}}!\n',
};

function terminal(dir, steps, { args = [], env = {}, state } = {}) {
  return new Promise((resolve, reject) => {
    const child = execFile('python3', [join(root, 'tests/e2e/terminal.py'), bin, '-C', dir, 'run', ...args],
      { encoding: 'utf8', maxBuffer: 1 << 26, timeout: 120000, env: { PATH: process.env.PATH, HOME: process.env.HOME, HARNESS_TRUST: dir, TERM: 'xterm',
        ASAN_OPTIONS: process.env.ASAN_OPTIONS ?? '', TSAN_OPTIONS: process.env.TSAN_OPTIONS ?? '', XDG_STATE_HOME: state, ...env } },
      (error, stdout) => {
        if (error) return reject(error);
        const r = JSON.parse(stdout);
        if (r.missing !== null) return reject(new Error(`not shown: ${JSON.stringify(r.missing)} in ${JSON.stringify(r.output)}`));
        if (r.status === -9) return reject(new Error(`did not end: ${JSON.stringify(r.output)}`));
        resolve({ ...r, state });
      });
    child.stdin.end(JSON.stringify(steps));
  });
}
const talk = (t, steps, options = {}) => terminal(options.dir ?? project(t, { ...files, ...options.files }), steps, { state: folder(t), ...options });
const leave = ['\x04', ''];
const bare = text => text.replaceAll(/\x1b\[[?0-9;]*[A-Za-z]/g, '');

test('a line is edited, sent and answered; history recalls it', async t => {
  const state = folder(t), dir = project(t, files);
  const first = await terminal(dir, [['', '> '], ['helo\x1b[Dl\n', 'you said <hello>'], ['', '> '], ['second\n', '<second>'], ['', '> '],
    ['\x1b[A\x1b[A!\n', 'you said <hello!>'], ['', '> '], ['é🎉\n', '<é🎉>'], ['', '> '], ['abc\x01X\x05Y\x17wor d\x08\n', '<wor>'], ['', '> '], leave], { state });
  assert.equal(first.status, 0);
  assert.match(bare(first.output), /scripted – \/help lists the commands/);
  assert.match(bare(first.output), /resume with: harness runs resume [0-9a-f-]{36}/);
  const again = await terminal(dir, [['', '> '], ['\x1b[A\x1b[A\n', 'you said <é🎉>'], ['', '> '], leave], { state });
  assert.equal(again.status, 0);
  const folderOf = join(state, 'harness', readdirSync(join(state, 'harness'))[0]);
  assert.equal(statSync(join(folderOf, 'harness.db-history')).mode & 0o777, 0o600);
});

test('several lines that are pasted, and lines that end in a backslash, are one message', async t => {
  await talk(t, [['', '> '], ['\x1b[200~one\rtwo\rthree\x1b[31m\r\x1b[201~ end', 'end'], ['\n', 'you said <one\r\ntwo\r\nthree[31m end>'], ['', '> '],
    ['first \\\nsecond', 'second'], ['\n', 'you said <first\r\nsecond>'], ['', '> '], ['\x1b[A', 'second'], ['\x15', ''], leave]);
});

test('Markdown is rendered on a terminal, and left alone with NO_COLOR', async t => {
  const r = await talk(t, [['', '> '], ['md\n', '  \x1b[0;36mx = 1'], ['', '> '], ['escape\n', 'a\\u{1b}[2Jb'], ['', '> '], leave]);
  assert.ok(r.output.includes('\x1b[0;1;4mTitle\x1b[0m\r\n\r\nSome \x1b[0;1mbold\x1b[0m and \x1b[0;36mcode\x1b[0m.\r\n\r\n• item\r\n\r\n  \x1b[0;36mx = 1\x1b[0m\r\n'), r.output);
  const plain = await talk(t, [['', '> '], ['md\n', '```\r\nx = 1\r\n```'], ['', '> '], leave], { env: { NO_COLOR: '1' } });
  assert.ok(plain.output.includes('# Title\r\n\r\nSome **bold** and `code`.\r\n'), plain.output);
  assert.ok(!plain.output.includes('\x1b[0;1'));
});

test('a live line shows what runs, and is erased; the tool line stays', async t => {
  const r = await talk(t, [['', '> '], ['sleep 1.2\n', 'nap 1.2 0.'], ['', 'nap 1.2 1.'], ['', '●'], ['', 'result: slept'], ['', '> '], leave]);
  assert.match(r.output, /I will \x1b\[0;3msleep\x1b\[0m\r\n/);
  assert.match(r.output, /\r\x1b\[K\x1b\[2m⠋ nap 1\.2 0\.\d s/);
  assert.match(r.output, /\r\x1b\[K\x1b\[32m●\x1b\[0m nap 1\.2 +\x1b\[2mallowed\x1b\[0m +1\.\d s\r\n/);
  const lastLive = r.output.lastIndexOf('⠋'), after = r.output.slice(r.output.lastIndexOf('nap 1.2 '));
  assert.ok(lastLive > 0 && !/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/.test(after));
});

test('approval is asked for in place', async t => {
  const r = await talk(t, [['', '> '], ['ask\n', '"what": "everything"'], ['', 'n no'], ['y\n', 'result: did everything'], ['', '> '],
    ['ask\n', 'n no'], ['n\n', '✗'], ['', '> '], ['ask\n', 'n no'], ['\x03', 'cancelled'], ['', '> '], ['still here\n', '<still here>'], ['', '> '], leave]);
  assert.equal(r.status, 0);
});

test('Ctrl-C stops the step and keeps the run; the next one leaves and says how to resume', async t => {
  const dir = project(t, files), state = folder(t);
  const r = await terminal(dir, [['', '> '], ['one\n', '<one>'], ['', '> '], ['sleep 50\n', 'nap 50 0.'], ['\x03', 'harness:'], ['', 'cancelled'], ['', '> '],
    ['count\n', '3 messages'], ['', '> '], ['half a line\x03', '> '], ['\x03', 'resume with: harness runs resume ']], { state });
  assert.equal(r.status, 130);
  const id = /runs resume ([0-9a-f-]{36})/.exec(bare(r.output))[1];
  const env = { XDG_STATE_HOME: state };
  assert.equal(run(['-C', dir, 'runs', 'resume', id, '-p', 'count'], { env }).stdout, '4 messages\n');
  const twice = await terminal(dir, [['', '> '], ['sleep 50\n', 'nap 50 0.'], ['\x03\x03', ''], ['', '> '], ['\x03', 'resume with']], { state }).catch(e => e);
  if (twice instanceof Error) assert.match(twice.message, /resume with: harness runs resume/);   // the second Ctrl-C came while the step was ending
  else assert.equal(twice.status, 130);
});

test('what was stopped and what was undone stay so after resuming', async t => {
  const dir = project(t, { ...files, '.harness/hooks/once.md': '---\nevent: agent.stop\nscript: |\n  def handle(event, payload):\n      return block("again") if payload["response"] == "you said <more>" else allow()\n---\n' });
  const state = folder(t), env = { XDG_STATE_HOME: state };
  const r = await terminal(dir, [['', '> '], ['pair\n', ' and 1 more'], ['\x03', 'cancelled'], ['', '> '], ['check\n', '2 calls, 2 results, 2 users'], ['', '> '],
    ['more\n', '<again>'], ['', '> '], ['/undo\n', 'was removed'], ['', '> '], ['check\n', '2 calls, 2 results, 3 users'], ['', '> '], leave], { state });
  const id = /runs resume ([0-9a-f-]{36})/.exec(bare(r.output))[1];
  assert.equal(run(['-C', dir, 'runs', 'resume', id, '-p', 'check'], { env }).stdout, '2 calls, 2 results, 4 users\n');
  const undone = await terminal(dir, [['', '> '], ['one\n', '<one>'], ['', '> '], ['pair\n', ' and 1 more'], ['\x03', 'cancelled'], ['', '> '], ['/undo\n', 'was removed'], ['', '> '], leave], { state });
  const second = /runs resume ([0-9a-f-]{36})/.exec(bare(undone.output))[1];
  assert.equal(run(['-C', dir, 'runs', 'resume', second, '-p', 'check'], { env }).stdout, '0 calls, 0 results, 2 users\n');
});

test('the terminal may change its size at any time', async t => {
  const long = 'x'.repeat(70);
  const r = await talk(t, [['', '> '], [[24, 30], ''], [long, 'xxx'], [[24, 100], ''], [0.2, ''], ['\n', `<${long}>`], ['', '> '], ['sleep 1.5\n', 'nap'],
    [[10, 12], ''], [0.4, ''], [[10, 1], ''], [0.3, ''], [[24, 80], ''], ['', 'result: slept'], ['', '> '], leave]);
  assert.equal(r.status, 0);
});

test('commands of the conversation', async t => {
  const dir = project(t, files), elsewhere = mkdtempSync(join(tmpdir(), 'harness-elsewhere-'));
  undo(t, () => rmSync(elsewhere, { recursive: true, force: true }));
  symlinkSync(elsewhere, join(dir, 'logs'));              // as a tool could have created it
  const r = await talk(t, [['', '> '], ['/help\n', '/greet'], ['', '> '], ['/tools\n', 'Sleeps a while.'], ['', '> '], ['one\n', '<one>'], ['', '> '], ['two\n', '<two>'], ['', '> '],
    ['/context\n', '4 messages'], ['', '> '], ['/undo\n', 'was removed'], ['', '> '], ['count\n', '2 messages'], ['', '> '], ['/save talk.md\n', 'saved 4 messages'], ['', '> '],
    ['/save talk.md\n', 'File exists'], ['', '> '], ['/save\n', 'needs the name'], ['', '> '], ['/save /root/elsewhere.md\n', 'save /root/elsewhere.md: '], ['', '> '],
    ['/save logs/talk.md\n', 'logs is a symbolic link in a place that tools can write'], ['', '> '],
    ['/model\n', 'model scripted'], ['', '> '], ['/model other\n', 'model other'], ['', '> '], ['x\n', 'the other one'], ['', '> '], ['/model scripted\n', 'model scripted'], ['', '> '],
    ['/model nonsense\n', 'is not a profile'], ['', '> '], ['/greet Bob very nicely\n', '<Hello Bob, very nicely!>'], ['', '> '], ['/greet\n', '/greet needs who'], ['', '> '],
    ['/contxt\n', 'did you mean /context?'], ['', '> '], [' /etc/hosts\n', '</etc/hosts>'], ['', '> '], ['/he\t\n', '/greet'], ['', '> '],
    ['/undo\n', 'was removed'], ['', '> '], ['/quit\n', 'resume with']], { dir });
  assert.equal(r.status, 0);
  assert.deepEqual(readdirSync(elsewhere), []);
  assert.match(readFileSync(join(dir, 'talk.md'), 'utf8'), /^## You\n\none\n\n## Agent\n\nyou said <one>\n\n## You\n\ncount\n/);
  const none = await talk(t, [['', '> '], ['/undo\n', 'nothing to undo'], ['', '> '], leave]);
  assert.ok(!none.output.includes('resume with'));
});

const busy = `
def reply(messages, tools):
    said = [m["content"] for m in messages if m["role"] == "user"][-1]
    made = len([m for m in messages if m["role"] == "tool"])
    if said == "wide" and messages[-1]["role"] != "tool":
        return {"tool_calls": [{"name": "ping", "arguments": {}}] * 4}
    if said != "wide" and made < int(said):
        return {"tool_calls": [{"name": "ping", "arguments": {}}]}
    return "made %d" % made
`;

test('a limit asks in a conversation whether to continue, and applies otherwise', async t => {
  const limited = limits => ({ 'harness.md': `---\nmodel: {provider: script, name: scripted, script: model.star}\n${limits}\n---\nTalk.\n`, 'model.star': busy,
    '.harness/tools/ping.md': '---\nscript: |\n  def run(args):\n      return "pong"\n---\nAnswers.\n' });
  const question = name => `${name} is reached. Continue,`;
  const asks = async (limits, name, words, made) => {
    const log = join(folder(t), 'events');
    await talk(t, [['', '> '], [`${words}\n`, question(name)], ['', '[y/N]: '], ['y\n', made], ['', '> '], leave], { files: limited(limits), args: ['--events', log] });
    const reached = readFileSync(log, 'utf8').trim().split('\n').map(line => JSON.parse(line)).filter(e => e.type === 'limit.reached').map(e => e.data);
    assert.deepEqual(reached.map(e => [`${e.limit} of ${e.value}`, e.go_on]), [[name, true]]);
    await talk(t, [['', '> '], [`${words}\n`, question(name)], ['', '[y/N]: '], ['n\n', 'limited: '], ['', '> '], leave], { files: limited(limits) });
    const job = run(['-C', project(t, limited(limits)), 'run', '-p', words, '--json', '--ephemeral']);
    assert.equal(JSON.parse(job.stdout).status, 'limited', job.stdout);
  };
  await asks('limits: {max_turns: 2}', 'limits.max_turns of 2', '3', 'made 3');
  await asks('delegation: {iterations_per_depth: [2]}', 'delegation.iterations_per_depth of 2', '3', 'made 3');
  await asks('limits: {max_tool_calls: 2}', 'limits.max_tool_calls of 2', '3', 'made 3');
  await asks('limits: {max_tool_calls_per_turn: 3}', 'limits.max_tool_calls_per_turn of 3', 'wide', 'made 4');
});

test('/model takes only a profile, or a name that implies its provider', async t => {
  const openai = { 'harness.md': '---\nmodel: {provider: openai, name: local-one, base_url: "http://127.0.0.1:9/v1"}\nmodels:\n- {provider: openai, name: second, base_url: "http://127.0.0.1:9/v1"}\n---\nTalk.\n' };
  await talk(t, [['', '> '], ['/model nosuch\n', 'model "nosuch" is not a profile of harness.md'], ['', '> '], ['/model secnd\n', 'did you mean "second"?'], ['', '> '],
    ['/model\n', 'model local-one'], ['', '> '], ['/model second\n', 'model second'], ['', '> '], ['/model gpt-5-mini\n', 'model gpt-5-mini'], ['', '> '], leave],
  { files: openai, env: { OPENAI_API_KEY: 'sk-test' } });
});

// Answers in the manner of Chat Completions, piece by piece.
function server(t, pieces, pause) {
  const seen = [];
  const s = createServer((request, response) => {
    let body = '';
    request.on('data', d => { body += d; });
    request.on('end', async () => {
      seen.push({ headers: request.headers, body: JSON.parse(body) });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const content of pieces) {
        response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
        await new Promise(resolve => setTimeout(resolve, pause));
        if (response.destroyed) return;
      }
      response.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
    });
  });
  undo(t, () => s.close());
  return new Promise(resolve => s.listen(0, '127.0.0.1', () => resolve({ url: `http://127.0.0.1:${s.address().port}/v1`, seen })));
}

test('an answer appears while it is made, and Ctrl-C stops it', async t => {
  const { url } = await server(t, ['Hel', 'lo *th', 'ere* ', ...Array(200).fill('and so on ')], 50);
  const env = { OAI_BASE_URL: url, OAI_API_KEY: 'k', OAI_MODEL: 'test' };
  const r = await talk(t, [['', '> '], ['hi\n', 'Hello \x1b[0;3mthere\x1b[0m and so on and so on'], ['\x03', 'cancelled'], ['', '> '], leave],
    { env, files: { 'harness.md': '---\n---\nx\n' } });
  assert.equal(r.status, 0);
});

test('OAI_* name the server, the key and the model; --tools adds a manifest', async t => {
  const { url, seen } = await server(t, ['fine'], 0);
  const dir = project(t, { 'sub/tools.json': '{"tools": [{"name": "extra", "description": "d", "schema": {"type": "object"}, "command": ["./tools/bin/x"]}]}' });
  mkdirSync(join(dir, 'sub/tools/bin'), { recursive: true });
  writeFileSync(join(dir, 'sub/tools/bin/x'), '#!/bin/sh\n');
  chmodSync(join(dir, 'sub/tools/bin/x'), 0o755);
  const job = (...args) => new Promise(resolve => execFile(bin, ['-C', dir, 'run', '--ephemeral', '-p', 'hi', ...args], { encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: folder(t), OAI_BASE_URL: url, OAI_API_KEY: 'secret-key', OAI_MODEL: 'my-model' } },
    (error, stdout, stderr) => resolve({ status: error?.code ?? 0, stdout, stderr })));
  assert.deepEqual(await job('--tools', 'sub/tools.json'), { status: 0, stdout: 'fine\n', stderr: '' });
  assert.equal(seen[0].headers.authorization, 'Bearer secret-key');
  assert.equal(seen[0].body.model, 'my-model');
  assert.deepEqual(seen[0].body.tools.map(x => x.function.name), ['extra']);
  assert.equal((await job()).status, 0);
  assert.deepEqual(seen[1].body.tools.map(x => x.function.name).sort(), ['bash', 'edit', 'glob', 'grep', 'listdir', 'read', 'write'], 'the default agent');
  assert.match((await job('--tools', 'missing.json')).stderr, /--tools: No such file/);
  assert.match((await job('--tools', '/etc/passwd')).stderr, /must be below the project's folder/);
});

test('without a terminal each line is a message, and standard output is clean', t => {
  const dir = project(t, files), env = { XDG_STATE_HOME: folder(t) };
  const r = run(['-C', dir, 'run'], { input: 'one\n\n/help\nmd\n', env });
  assert.deepEqual([r.status, r.stderr], [0, '']);
  assert.match(r.stdout, /^you said <one>\nyou said <\/help>\n# Title\n/);
  const json = run(['-C', dir, 'run', '--json'], { input: 'one\ntwo\n', env }).stdout.trim().split('\n').map(x => JSON.parse(x));
  assert.deepEqual(json.map(x => [x.status, x.response]), [['completed', 'you said <one>'], ['completed', 'you said <two>']]);
  assert.equal(json[0].run, json[1].run);
  const refused = run(['-C', dir, 'run', '-p', 'ask', '--ephemeral'], { env });
  assert.match(refused.stdout, /^result: /);
  assert.ok(!existsSync(join(dir, 'talk.md')));
});
