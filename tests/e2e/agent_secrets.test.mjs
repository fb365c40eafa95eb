// Keys never appear in events, logs, the store, recordings, error messages or the environment of children, however hard a
// server, a model and its tools try.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { bin, build, environment, root } from './harness.mjs';
import { crasher, harness, server, surfaces, talker } from './agents.mjs';
import { hook, tool } from './calls.mjs';

const key = 'sk-live-Zq8vN3xT7bLm2RwKp5Yc9Hd4', header = 'hdr-Jf6sWq1uXo0eVt3nBk8r', injected = 'inj-Gm4zPa7yCd2lEi9hTs5u';
const secrets = { key, header, injected };
const forms = value => [value, Buffer.from(value).toString('base64').replace(/=+$/, ''), Buffer.from(value).toString('hex')];

function everything(dir) {
  return readdirSync(dir, { recursive: true, withFileTypes: true }).filter(e => e.isFile()).map(e => join(e.parentPath, e.name))
    .map(path => [path, readFileSync(path).toString('latin1')]);
}

function clean(places, what) {
  for (const [name, value] of Object.entries(secrets))
    for (const form of forms(value))
      for (const [place, text] of places) assert.ok(!text.includes(form), `${what}: the ${name} is in ${place}: …${text.slice(Math.max(0, text.indexOf(form) - 80), text.indexOf(form) + 60)}…`);
}

const sse = parts => parts.map(p => `data: ${typeof p === 'string' ? p : JSON.stringify(p)}\n\n`).join('');
const call = (id, name, args) => ({ index: id, id: `c${id}`, function: { name, arguments: JSON.stringify(args) } });

const files = url => ({
  'harness.md': harness({ ...surfaces.openai(url), headers: '{ X-Team: "${TEAM_TOKEN}" }' }, 'secrets: { TOKEN: { env: INJECTED_TOKEN } }'),
  '.harness/tools/dump.md': tool('r = exec.run("sh", ["-c", "env; cat /proc/self/environ; cat /proc/$PPID/environ; cat /proc/1/environ; env > env.txt"])\nreturn r'),
  '.harness/tools/echo.md': tool('log.info("echo " + args["text"])\nfs.write("echo.txt", "x")\nreturn args["text"]', 'parameters:\n  text: { type: string, required: true }'),
  '.harness/tools/fail.md': tool('fail("no: " + args["text"])', 'parameters:\n  text: { type: string, required: true }'),
  '.harness/tools/tell.md': tool('return str(runtime)', 'injected: [secrets.TOKEN]'),
  '.harness/hooks/w.md': hook('tool.pre', 'log.warn(str(payload))\nreturn allow()'),
});

test('a server that echoes the keys, a model that repeats them, tools that print them', async t => {
  const s = await server(t, (request, response, body, n) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const auth = `${request.headers.authorization} ${request.headers['x-team']}`;
    assert.ok(auth.includes(key) && auth.includes(header));
    if (n === 0) response.end(sse([{ choices: [{ delta: { content: `I know ${auth}` } }] },
      { choices: [{ delta: { tool_calls: [call(0, 'dump', {}), call(1, 'echo', { text: auth }), call(2, 'fail', { text: auth }), call(3, auth, {}), call(4, 'tell', {})] } }] },
      { choices: [{ delta: {}, finish_reason: 'tool_calls' }] }, '[DONE]']));
    else response.end(sse([{ choices: [{ delta: { content: `again ${auth} ${Buffer.from(key).toString('base64')}` }, finish_reason: 'stop' }] }, '[DONE]']));
  });
  const p = talker(t, files(s.url), { env: { OPENAI_API_KEY: key, TEAM_TOKEN: header, INJECTED_TOKEN: injected } });
  const record = join(p.state, 'recording.jsonl');
  const r = await p.say('go', ['--record', record, '-v']);
  assert.equal(r.reply?.status, 'completed', r.stdout + r.stderr);
  assert.ok(statSync(record).size > 100);
  assert.equal(p.has('env.txt'), true, 'the command ran');
  clean([...everything(p.state), ...everything(p.dir), ['standard error', r.stderr], ['standard output', r.stdout]], 'echo');
  clean([['what the model was told', JSON.stringify(s.requests.map(x => x.body))]], 'model');
  const shown = await p.harness(['runs', 'show', r.reply.run]);
  clean([['runs show', shown.stdout + shown.stderr]], 'show');
});

test('error messages that quote the key', async t => {
  for (const [status, body] of [[401, { error: { message: `Incorrect API key provided: ${key}` } }], [400, `plain ${key} ${header}`], [500, { error: `oops ${key}` }], [302, 'x']]) {
    const s = await server(t, (request, response) => { response.writeHead(status, { location: `http://127.0.0.1:1/?k=${key}` }); response.end(typeof body === 'string' ? body : JSON.stringify(body)); });
    const p = talker(t, files(s.url), { env: { OPENAI_API_KEY: key, TEAM_TOKEN: header, INJECTED_TOKEN: injected } });
    const r = await p.say('go', ['-v']);
    assert.equal(r.reply?.status, 'failed');
    const plain = await p.harness(['run', '-p', 'go', '-v']);
    clean([...everything(p.state), ...everything(p.dir), ['standard error', r.stderr + plain.stderr], ['standard output', r.stdout + plain.stdout]], `${status}`);
  }
});

test('errors in the middle of a stream, and garbage, that quote the key', async t => {
  for (const text of [sse([{ choices: [{ delta: { content: 'a' } }] }, { error: { message: `bad ${key}` } }]), `data: {"garbage ${key}\n\n`, `<html>${header}</html>`]) {
    const s = await server(t, (request, response) => { response.writeHead(200, { 'content-type': 'text/event-stream' }); response.end(text); });
    const p = talker(t, files(s.url), { env: { OPENAI_API_KEY: key, TEAM_TOKEN: header, INJECTED_TOKEN: injected } });
    const r = await p.say('go', ['-v']);
    assert.equal(r.reply?.status, 'failed');
    clean([...everything(p.state), ['standard error', r.stderr], ['standard output', r.stdout]], 'stream');
  }
});

test('a missing key is named, not guessed', async t => {
  const p = talker(t, { 'harness.md': harness({ provider: 'openai', name: 'm', api_key_env: 'MY_SPECIAL_KEY' }) });
  const r = await p.harness(['run', '-p', 'go']);
  assert.equal(r.status, 1);
  assert.match(r.stderr, /MY_SPECIAL_KEY is not set/);
});

test('a resumed run does not repeat a call whose secret was not stored', { skip: build !== 'release' && `${build} build` }, async t => {
  const s = await server(t, (request, response, body) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const last = body.messages.at(-1);
    if (last.role === 'tool') response.end(sse([{ choices: [{ delta: { content: last.content }, finish_reason: 'stop' }] }, '[DONE]']));
    else response.end(sse([{ choices: [{ delta: { tool_calls: [call(0, 'echo', { text: request.headers.authorization })] }, finish_reason: 'tool_calls' }] }, '[DONE]']));
  });
  const p = talker(t, files(s.url), { env: { OPENAI_API_KEY: key, TEAM_TOKEN: header, INJECTED_TOKEN: injected } });
  await p.harness(['run', '-p', 'go', '--events', '/dev/null'], { env: { LD_PRELOAD: crasher(t), CRASH_EVENT: '5' } }).catch(e => e);
  const [{ id, status }] = await p.runs();
  assert.equal(status, 'interrupted');
  const r = await p.resume(id);
  assert.match(r.reply.response, /contained a secret, which is not stored/);
  assert.equal(p.has('echo.txt'), false);
});

// ---- while streaming, on a terminal ----

const env = { OPENAI_API_KEY: key, TEAM_TOKEN: header, INJECTED_TOKEN: injected };
const pieces = (text, size) => text.match(new RegExp(`[^]{1,${size}}`, 'g')).map(content => ({ choices: [{ delta: { content } }] }));
const end = reason => [{ choices: [{ delta: {}, finish_reason: reason }] }, '[DONE]'];

function terminal(p, steps, args) {
  return new Promise((resolve, reject) => {
    const child = execFile('python3', [join(root, 'tests/e2e/terminal.py'), bin, '-C', p.dir, ...args],
      { encoding: 'utf8', timeout: 120000, maxBuffer: 1 << 26, env: { ...environment, TERM: 'xterm', NO_COLOR: '1', ...p.env } }, (error, stdout) => {
        if (error) return reject(error);
        const r = JSON.parse(stdout);
        if (r.missing !== null) reject(new Error(`not shown: ${JSON.stringify(r.missing)} in ${JSON.stringify(r.output)}`));
        else resolve({ ...r, output: r.output.replaceAll('\r\n', '\n') });
      });
    child.stdin.end(JSON.stringify(steps));
  });
}

test('an answer that repeats the keys in pieces is shown without them, and whole', async t => {
  for (const size of [1, 5, 1000]) {
    const base64 = Buffer.from(header).toString('base64');
    const s = await server(t, (request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(sse([...pieces(`I know ${key}, ${key.slice(0, 12)}, ${header}${header} and ${base64} é🎉\nso ${key.slice(0, -1)}`, size), ...end('stop')]));
    });
    const p = talker(t, files(s.url), { env });
    const r = await terminal(p, [], ['run', '-p', 'go']);
    clean([['the terminal', r.output]], `pieces of ${size}`);
    assert.match(r.output, new RegExp(`I know \\[redacted\\], ${key.slice(0, 12)}, (\\[redacted\\]){2} and \\[redacted\\]\\S* é🎉\nso ${key.slice(0, -1)}\n`), `pieces of ${size}`);
  }
});

test('text that cannot become a key is shown at once; a broken stream loses nothing', async t => {
  const s = await server(t, (request, response, body, n) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(sse(pieces(`Hello there ${key.slice(0, 9)}`, 4)), () => { if (n === 1) response.socket.end(); });
  });
  const p = talker(t, files(s.url), { env });
  await terminal(p, [['', 'Hello there'], ['\x03', '']], ['run', '-p', 'go']);
  const broken = await terminal(p, [], ['run', '-p', 'go']);
  assert.match(broken.output, new RegExp(`Hello there ${key.slice(0, 9)}\n`));
  assert.equal(broken.status, 1);
});

test('lines of tools, questions and reasons on a terminal', async t => {
  const s = await server(t, (request, response, body, n) => {
    response.writeHead(n === 0 ? 500 : 200, { 'content-type': 'text/event-stream' });
    if (n === 0) response.end(`overloaded ${key}`);
    else if (n === 1) response.end(sse([...pieces('Now', 3), { choices: [{ delta: { tool_calls: [call(0, 'echo', { text: key }), call(1, 'asks', {}), call(2, 'card', { text: 'no 1234-5678 here' })] } }] }, ...end('tool_calls')]));
    else response.end(sse([{ choices: [{ delta: { tool_calls: [call(3, `tool_${header}`, {})] } }] }, ...end('tool_calls')]));
  });
  const p = talker(t, { ...files(s.url),
    'harness.md': harness({ ...surfaces.openai(s.url), headers: '{ X-Team: "${TEAM_TOKEN}" }' }, 'secrets: { TOKEN: { env: INJECTED_TOKEN } }\nlimits: { repair: { unknown_tool: false } }'),
    '.harness/tools/asks.md': tool('progress(1, 2, runtime["secrets"]["TOKEN"])\nreturn ask("Is it " + runtime["secrets"]["TOKEN"] + "?", {"type": "object", "properties": {"v": {"type": "string", "default": runtime["secrets"]["TOKEN"]}}})', 'injected: [secrets.TOKEN]'),
    '.harness/tools/card.md': tool('return "fine"', 'safety: { redact: ["[0-9]{4}-[0-9]{4}"] }\nparameters:\n  text: { type: string }') }, { env });
  const r = await terminal(p, [['', ']: '], ['\n', '[y/N]: '], ['y\n', '']], ['run', '-p', 'go']);
  clean([['the terminal', r.output], ...everything(p.state)], 'lines');
  assert.match(r.output, /● echo \[redacted\]/);
  assert.match(r.output, /● card no \[redacted\] here/);
  assert.match(r.output, /Is it \[redacted\]\?/);
  assert.match(r.output, /failed: tool_\[redacted\]: /);
});

test('a completion.post hook cannot reintroduce a key', async t => {
  const s = await server(t, (request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(sse([...pieces('plain', 3), ...end('stop')]));
  });
  const p = talker(t, { ...files(s.url), '.harness/hooks/post.md': hook('completion.post', `payload["text"] = "from the hook: ${key.slice(0, 10)}" + "${key.slice(10)}"\nreturn modify(payload)`) }, { env });
  const shown = await terminal(p, [], ['run', '-p', 'go']), said = await p.say('go');
  clean([['the terminal', shown.output], ['--json', said.stdout], ...everything(p.state)], 'hook');
  assert.equal(said.reply.response, 'from the hook: [redacted]');
});
