// A PostgreSQL server for the tests of one file, and projects whose runs are queued in it.
import { after, before } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { bin, environment, folder, root, run, undo } from './harness.mjs';
import { talker } from './agents.mjs';

export const server = mkdtempSync(join(tmpdir(), 'harness-pg-'));
let url;

export function control(what) {
  const r = spawnSync(join(root, 'scripts/postgres.sh'), [what, server], { encoding: 'utf8' });
  assert.equal(r.status, 0, r.stdout + r.stderr);
  return r.stdout.trim();
}

before(() => {
  rmdirSync(server);
  url = control('start');
  const r = run(['-C', tmpdir(), 'store', 'migrate'], { env: { HARNESS_STATE: url } });
  assert.equal(r.status, 0, r.stderr);
});
after(() => control('stop'));

export const sql = text => {
  const r = spawnSync('psql', ['-qAtX', '-v', 'ON_ERROR_STOP=1', url, '-c', text], { encoding: 'utf8' });
  assert.equal(r.status, 0, r.stderr);
  return r.stdout.trim();
};

export async function until(what, done, { ms = 30000, also = () => '' } = {}) {
  for (const end = Date.now() + ms; Date.now() < end;) {
    const result = await done();
    if (result) return result;
    await wait(20);
  }
  return assert.fail(`${what}: not within ${ms} ms ${also()}`);
}

// A project in the database, with the commands that these tests use.
export function queued(t, files, env = {}) {
  const home = folder(t), project = home.slice(-6);
  const p = talker(t, files, { env: { HARNESS_STATE: `${url}#${project}`, XDG_STATE_HOME: home, HARNESS_LEASE: '2', ...env } });
  // A command whose processes end with the test. `out` is what it printed, `result` the part on standard output.
  p.begin = (args, more = {}) => {
    const child = spawn(bin, ['-C', p.dir, ...args], { env: { ...environment, ...p.env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
    const w = { child, out: '', result: '' };
    child.stdout.on('data', d => { w.out += d; w.result += d; });
    child.stderr.on('data', d => { w.out += d; });
    w.ended = new Promise(done => child.on('close', (code, signal) => { w.over = true; done(code ?? signal); }));
    undo(t, async () => { if (!w.over) child.kill('SIGKILL'); await w.ended; });
    return w;
  };
  p.worker = (flags = [], more = {}) => p.begin(['worker', ...flags], more);
  p.once = async (flags = []) => {
    const w = p.worker(['--once', '--json', ...flags]);
    assert.equal(await w.ended, 0, w.out);
    return w.result ? JSON.parse(w.result) : null;
  };
  p.put = async (text, flags = []) => {
    const r = await p.harness(['run', '-p', text, '--queue', '--json', ...flags]);
    assert.equal(r.status, 0, r.stdout + r.stderr);
    return JSON.parse(r.stdout).run;
  };
  p.one = async id => (await p.runs()).find(r => r.id === id);
  const value = (column, id) => sql(`SELECT ${column} FROM harness.runs WHERE project = '${project}' AND id = '${id}'`);
  p.state = id => value('state', id);
  p.status = id => value('status', id);
  p.kinds = id => sql(`SELECT string_agg(e.type, ' ' ORDER BY e.id) FROM harness.events e JOIN harness.runs r ON r.project = e.project AND r.n = e.id >> 32 WHERE r.id = '${id}'`).split(' ');
  p.project = project;
  return p;
}
