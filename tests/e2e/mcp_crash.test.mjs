// A server that is killed: what docs/reference/events.md says about the events of served runs. A client calls `look`, which changes nothing, and
// `change` in turn, each after the answer to the one before; the server dies at a chosen moment.
import { before, after, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { add, bin, build, environment, root, start } from './harness.mjs';
import { effect } from './agents.mjs';
import { tool } from './calls.mjs';

const skip = !['release', 'debug'].includes(build) && `${build} build`, ROUNDS = 4;
let folder, shim;

before(() => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), 'harness-mcp-crash-'));
  shim = join(folder, 'crash.so');
  const built = spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-o', shim, join(root, 'tests/e2e/fixtures/crash.c'), '-ldl'], { encoding: 'utf8' });
  assert.equal(built.status, 0, built.stderr);
});
after(() => folder && rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

let places = 0;
function place() {
  const at = join(folder, `${++places}`), dir = join(at, 'project');
  mkdirSync(at);
  add(dir, {
    'harness.md': '---\nbuiltin_tools: none\n---\n',
    '.harness/tools/change.md': effect(),
    '.harness/tools/look.md': tool('return args["n"]', 'safety: { read_only: true }\nparameters:\n  n: { type: integer, required: true }'),
  });
  return { at, dir, env: { ...environment, HARNESS_STATE: join(at, 'state.db') } };
}

const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };

// { call(name, n): the result, or null when the server is gone; kill(); ended }
async function stdio(p, env) {
  const child = spawn(bin, ['-C', p.dir, 'mcp', 'serve'], { env: { ...p.env, ...env }, stdio: ['pipe', 'pipe', 'ignore'] });
  const waiting = new Map(), ended = new Promise(done => child.on('close', (status, signal) => done(signal ?? status)));
  child.stdin.on('error', () => {});
  createInterface({ input: child.stdout }).on('line', line => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message.result ?? null);
  });
  ended.then(() => { for (const done of waiting.values()) done(null); });
  let id = 0;
  const ask = (method, params) => new Promise(done => {
    waiting.set(++id, done);
    if (child.exitCode !== null || child.signalCode !== null) done(null);
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  });
  await ask('initialize', initialize);
  child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  return { child, ended, call: (name, n) => ask('tools/call', { name, arguments: { n } }), stop: () => child.stdin.end() };
}

async function http(p, env) {
  const child = spawn(bin, ['-C', p.dir, 'mcp', 'serve', '--http', '127.0.0.1:0', '--no-auth'], { env: { ...p.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise(done => child.on('close', (status, signal) => done(signal ?? status)));
  const url = await new Promise(done => {
    let text = '';
    child.stderr.setEncoding('utf8').on('data', part => {
      text += part;
      const at = /http:\/\/[^\s"]+\/mcp/.exec(text);
      if (at) done(at[0]);
    });
    ended.then(() => done(null));
  });
  let id = 0, session;
  const ask = async (method, params) => {
    if (!url) return null;
    try {
      const answer = await fetch(url, {
        method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', ...(method.startsWith('notifications') ? {} : { id: ++id }), method, params }),
        headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25', ...(session ? { 'Mcp-Session-Id': session } : {}) },
      });
      session ??= answer.headers.get('mcp-session-id');
      const text = await answer.text();
      if (!text) return null;
      return JSON.parse([...text.matchAll(/^data: (.+)$/gm)].at(-1)?.[1] ?? text).result ?? null;         // a slow answer is a stream, which begins with an empty event
    } catch {
      return null;
    }
  };
  await ask('initialize', initialize);
  await ask('notifications/initialized');
  return { child, ended, call: (name, n) => ask('tools/call', { name, arguments: { n } }), stop: () => child.kill('SIGTERM') };
}

const lines = path => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []);

// What another process reads from the store: the events of the run that the client made.
async function stored(p) {
  const runs = JSON.parse((await start(['-C', p.dir, 'runs', '--all', '--json'], { env: p.env })).stdout), all = [];
  for (const run of runs) {
    const shown = await start(['-C', p.dir, 'runs', 'show', run.id, '--json'], { env: p.env });
    assert.equal(shown.status, 0, shown.stderr);
    const { events } = JSON.parse(shown.stdout);
    assert.deepEqual(events.map(e => e.seq), events.map((_, i) => i + 1), 'events are a beginning of the stream, without gaps');
    all.push(...events);
  }
  return all;
}

const has = (events, type, name, n) => {
  const begun = events.find(e => e.type === 'tool.started' && e.data.name === name && e.data.args.n === n);
  return Boolean(begun && events.find(e => e.type === type && e.data.id === begun.data.id));
};

function check(events, p, answered, where) {
  const made = lines(join(p.dir, 'effects.log')).map(Number);
  assert.deepEqual(made, made.map((_, i) => i + 1), where);
  for (const n of made) {
    assert.ok(has(events, 'tool.executing', 'change', n), `${where}: change ${n} was made and is not in the store`);
    // All events before a call that may change something were written with that call's events.
    for (let k = 1; k <= n; k++) assert.ok(has(events, 'tool.completed', 'look', k), `${where}: look ${k} came before change ${n} and is lost`);
    for (let k = 1; k < n; k++) assert.ok(has(events, 'tool.completed', 'change', k), `${where}: the end of change ${k} is lost`);
  }
  for (const n of answered) assert.ok(made.includes(n), `${where}: change ${n} was answered`);
}

async function crash(serve, env) {
  const p = place(), s = await serve(p, { LD_PRELOAD: shim, ...env }), answered = [];
  for (let n = 1; n <= ROUNDS; n++) {
    await s.call('look', n);
    if (await s.call('change', n)) answered.push(n);
  }
  s.stop();
  const how = await s.ended, where = JSON.stringify(env);
  if (how === 'SIGKILL') check(await stored(p), p, answered, where);
  else {
    assert.equal(how, 0, where);
    assert.equal(answered.length, ROUNDS, where);
  }
  rmSync(p.at, { recursive: true, force: true, maxRetries: 3 });
  return how === 'SIGKILL';
}

async function sweep(serve, when, step) {
  let killed = 0;
  for (let n = 1; n < 1000; n += step) {
    if (!await crash(serve, { [`CRASH_FLUSH_${when}`]: `${n}` })) break;
    killed++;
  }
  return killed;
}

for (const [name, serve] of [['stdio', stdio], ['http', http]])
  for (const when of ['BEFORE', 'INSIDE', 'AFTER'])
    test(`${name}: killed ${when.toLowerCase()} every flush, no call that may change something is lost`, { skip }, async () => {
      assert.ok(await sweep(serve, when, 1) >= ROUNDS);
    });

for (const [name, serve] of [['stdio', stdio], ['http', http]])
  test(`${name}: calls that change nothing are written without waiting for another call, and stay`, { skip }, async () => {
    const p = place(), s = await serve(p, {});
    for (let n = 1; n <= 20; n++) assert.ok(await s.call('look', n));
    let events = await stored(p);
    for (let tries = 0; tries < 200 && !has(events, 'tool.completed', 'look', 20); tries++) events = await stored(p);
    assert.ok(has(events, 'tool.completed', 'look', 20));
    s.child.kill('SIGKILL');
    await s.ended;
    assert.deepEqual(await stored(p), events);
    rmSync(p.at, { recursive: true, force: true, maxRetries: 3 });
  });

for (const [name, serve] of [['stdio', stdio], ['http', http]])
  test(`${name}: killed at any moment, only the newest calls that change nothing are missing`, { skip }, async () => {
    const p = place(), s = await serve(p, {});
    let n = 0;
    const timer = setTimeout(() => s.child.kill('SIGKILL'), 300);
    while (await s.call('look', n + 1)) n++;
    clearTimeout(timer);
    assert.equal(await s.ended, 'SIGKILL');
    const events = await stored(p), kept = events.filter(e => e.type === 'tool.completed').length;
    for (let k = 1; k <= kept; k++) assert.ok(has(events, 'tool.completed', 'look', k), `look ${k} of ${n} is missing, and later ones are not`);
    assert.ok(n === 0 || kept <= n + 1);
    rmSync(p.at, { recursive: true, force: true, maxRetries: 3 });
  });
