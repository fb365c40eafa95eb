// Shared by the crash tests: a run with every kind of call and a sub-agent, killed at one exact point and resumed.
// It must have the same outcome, and no side effect may happen twice.
import { before, after } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { add, bin, build, root } from './harness.mjs';
import { effect, scripted } from './agents.mjs';
import { hook, tool } from './calls.mjs';

export const skip = build !== 'release' && `${build} build`;

// The model depends only on its number of results, so a resumed run requests the same calls.
const model = `
def call(name, arguments):
    return {"name": name, "arguments": arguments}

def results(messages):
    return [m["content"] for m in messages if m["role"] == "tool"]

STEPS = [
    [call("effect", {"n": 1})],
    [call("look", {}), call("put", {"n": 2}), call("effect", {"n": 3}), call("guarded", {"n": 4})],
    [call("delegate", {"agent": "worker", "task": "work"})],
    [call("shell", {"n": 9})],
    [call("put", {"n": 10}), call("effect", {"n": 11})],
]
WORK = [[call("effect", {"n": 5}), call("look", {})], [call("put", {"n": 6})], [call("shell", {"n": 7})]]

def reply(messages, tools):
    seen = results(messages)
    steps = WORK if messages[0]["content"] == "Worker." else STEPS
    made = 0
    for step in steps:
        if len(seen) < made + len(step):
            return {"text": "next", "tool_calls": step}
        made += len(step)
    return {"text": "; ".join(seen)}
`;

const files = {
  ...scripted(model),
  'seen.txt': 'something to see\n',
  '.harness/tools/effect.md': effect(),
  '.harness/tools/guarded.md': effect(),
  '.harness/tools/look.md': tool('return fs.read("seen.txt")', 'safety: { read_only: true }'),
  '.harness/tools/put.md': tool('fs.write("put-%d.txt" % args["n"], "put")\nreturn "put"', 'idempotency: idempotent\nparameters:\n  n: { type: integer, required: true }'),
  '.harness/tools/shell.md': tool('return exec.run("sh", ["-c", "echo %d >> effects.log; echo did %d" % (args["n"], args["n"])])["stdout"]', 'parameters:\n  n: { type: integer, required: true }'),
  '.harness/hooks/watch.md': hook('tool.pre', 'return allow()'),
  '.harness/agents/worker.md': '---\ndescription: Works\n---\nWorker.',
};
export const effects = [1, 3, 4, 5, 7, 9, 11];

let folder;
export let shim;
before(() => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), 'harness-crash-'));
  shim = join(folder, 'crash.so');
  const built = spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-o', shim, join(root, 'tests/e2e/fixtures/crash.c'), '-ldl'], { encoding: 'utf8' });
  assert.equal(built.status, 0, built.stderr);
  add(join(folder, 'project'), files);
});
after(() => folder && rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

const environment = { PATH: process.env.PATH, HOME: process.env.HOME };
const lines = path => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []);

export function place(name) {
  const at = join(folder, name), dir = join(at, 'project');
  mkdirSync(at);
  cpSync(join(folder, 'project'), dir, { recursive: true });
  const env = { ...environment, HARNESS_STATE: join(at, 'state.db') };
  const harness = (args, more = {}) => new Promise(done => {
    const child = spawn(bin, ['-C', dir, ...args], { env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '', stderr = '';
    child.stdout.on('data', piece => { stdout += piece; });
    child.stderr.on('data', piece => { stderr += piece; });
    child.on('close', (status, signal) => done({ status, signal, stdout, stderr }));
  });
  return {
    at, dir, harness, events: join(at, 'events.jsonl'),
    run: more => harness(['run', '-p', 'go', '--json', '--events', join(at, 'events.jsonl')], { LD_PRELOAD: shim, ...more }),
    effects: () => lines(join(dir, 'effects.log')).map(Number).sort((a, b) => a - b),
    drop: () => rmSync(at, { recursive: true, force: true, maxRetries: 3 }),
  };
}

// An undisturbed run, and its points at which to kill.
let undisturbed;
export async function baseline() {
  if (undisturbed) return undisturbed;
  const p = place('undisturbed'), tell = join(p.at, 'tell');
  const r = await p.run({ CRASH_TELL: tell });
  assert.equal(r.status, 0, r.stdout + r.stderr);
  assert.deepEqual(p.effects(), effects);
  undisturbed = { response: JSON.parse(r.stdout).response, events: lines(p.events).length, flushes: lines(tell).length };
  return undisturbed;
}

export const unknown = 'interrupted: outcome unknown';

// Calls that started and did not end, and must not be repeated.
function inFlight(events) {
  const ended = new Set(events.filter(e => ['tool.completed', 'tool.failed', 'tool.refused'].includes(e.type)).map(e => e.data.id));
  return events.filter(e => e.type === 'tool.executing' && ['effect', 'guarded', 'shell'].includes(e.data.name) && !ended.has(e.data.id)).length;
}

async function crash(name, env, trail) {
  const base = await baseline(), p = place(name);
  const first = await p.run(env);
  const where = `${name}: ${JSON.stringify(env)}\n`;
  if (first.signal !== 'SIGKILL') return p.drop(), null;       // one write fewer this time
  const runs = JSON.parse((await p.harness(['runs', '--json'])).stdout);
  if (runs.length === 0) {
    assert.deepEqual(p.effects(), [], where + 'nothing happens before the run is in the store');
    return p.drop(), 'nothing';
  }
  assert.equal(runs[0].status === 'interrupted' || runs[0].status === 'completed', true, where + JSON.stringify(runs));
  const had = JSON.parse((await p.harness(['runs', 'show', runs[0].id, '--json'])).stdout).events;
  const begun = had.some(e => e.type === 'turn.started'), ended = had.find(e => e.type === 'turn.ended' && e.depth === 0);
  const flying = inFlight(had);
  const again = await p.harness(['runs', 'resume', runs[0].id, '--json', ...(begun ? [] : ['-p', 'go'])]);
  assert.equal(again.status, 0, `${where}${again.stdout}${again.stderr}`);
  const response = ended ? ended.data.response : JSON.parse(again.stdout).response;
  const doubtful = response.split(unknown).length - 1;
  const made = p.effects();
  trail?.push(doubtful);
  assert.deepEqual(made, [...new Set(made)], `${where}never twice: ${made}`);
  if (doubtful === 0) {
    assert.equal(response, base.response, where);
    assert.deepEqual(made, effects, where);
  } else {
    assert.equal(doubtful, flying, `${where}only what was in flight is unknown: ${response}`);
    assert.ok(effects.filter(n => !made.includes(n)).length <= flying, `${where}${made}`);
  }
  const [end] = JSON.parse((await p.harness(['runs', '--json'])).stdout);
  assert.equal(end.status, 'completed', where);
  const chain = await p.harness(['runs', 'verify', '--all']);
  assert.equal(chain.status, 0, `${where}${chain.stdout}`);
  p.drop();
  return 'resumed';
}

export async function sweep(points, trail) {
  let next = 0, tried = 0;
  const worker = async () => {
    for (;;) {
      const point = points[next++];
      if (!point) return;
      if (await crash(point.name, point.env, trail)) tried++;
    }
  };
  await Promise.all([worker(), worker(), worker()]);
  return tried;
}
