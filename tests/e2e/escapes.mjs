// The environment for escape attempts: a workspace, canaries outside, a victim process, servers that answer with a secret.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import dgram from 'node:dgram';
import { chmodSync, chownSync, copyFileSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, symlinkSync,
  writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bin, build, root } from './harness.mjs';

// A separate user: without a sandbox an attempt to signal all processes of a user succeeds, and other test files run concurrently.
const nobody = 61000 + process.pid % 4000;
export const isRoot = process.getuid() === 0;
export const users = isRoot ? [{ name: 'root', is: 'root' }, { name: 'an ordinary user', is: 'user', uid: nobody, gid: nobody }]
  : [{ name: 'this user', is: 'user' }];
// Each user as the machine is, with sandbox.mounts: off, and where the kernel refuses private mounts: an ordinary user in a user
// namespace that allows no further ones, root without CAP_SYS_ADMIN.
const everyWay = users.flatMap(user => [user, { ...user, name: `${user.name}, mounts off`, mounts: 'off' },
  { ...user, name: `${user.name}, namespaces forbidden`, forbid: true }]);
// The sanitizers look for memory errors, which the ways share: their builds try two of the six. HARNESS_ALL=1 tries all.
const sanitized = ['asan', 'tsan', 'hostile'].includes(build) && !process.env.HARNESS_ALL;
export const ways = everyWay.filter(way => !sanitized || !way.forbid && (way.is === 'user') === (way.mounts === 'off'));

// True if this user gets private mounts here.
const answers = new Map();
export function mounts(user = {}) {
  if (user.mounts === 'off') return false;
  const key = `${user.uid} ${user.forbid}`, [program, args] = command(user, programs().harness, ['doctor', '--json']);
  if (!answers.has(key)) answers.set(key, JSON.parse(spawnSync(program, args, { uid: user.uid, gid: user.gid, env: environment, encoding: 'utf8' }).stdout)
    .find(c => c.check === 'private mounts').ok);
  return answers.get(key);
}
// Attempts that only private mounts stop succeed without them.
export const applies = (entry, user) => entry.layer !== 'private mounts' || mounts(user);

// A command as this user starts it.
export function command(user, program, args) {
  return user?.forbid ? [programs().attempts, ['forbid', program, ...args]] : [program, args];
}

const kept = ['ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS'];
const environment = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/nonexistent', HARNESS_TRUST: tmpdir(), LC_ALL: 'C.UTF-8',
  ...Object.fromEntries(kept.filter(k => k in process.env).map(k => [k, process.env[k]])) };

// Both programs must be readable by the other user, wherever the checkout is.
let tools;
export function programs() {
  if (tools) return tools;
  const dir = mkdtempSync(join(tmpdir(), 'harness-escape-bin-'));
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
  chmodSync(dir, 0o755);
  tools = { harness: join(dir, 'harness'), attempts: join(dir, 'attempts') };
  copyFileSync(bin, tools.harness);
  chmodSync(tools.harness, 0o755);
  const sources = readdirSync(join(root, 'tests/sandbox')).filter(f => f.endsWith('.c')).map(f => join(root, 'tests/sandbox', f));
  const r = spawnSync('cc', ['-std=gnu17', '-Wall', '-Wextra', '-Werror', '-O1', '-pthread', '-o', tools.attempts, ...sources, '-lrt'], { encoding: 'utf8' });
  if (r.status !== 0) throw new Error(`the attempts do not compile:\n${r.stderr}`);
  return tools;
}

// Runs to the end; kills it if it takes too long.
export function execute(name, given, { user = {}, timeout = 60000, input, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const from = Date.now(), [program, args] = command(user, name, given);
    const trust = options.cwd ? { HARNESS_TRUST: options.cwd } : {};            // a folder above does not cover a project inside of another one
    const child = spawn(program, args, { uid: user.uid, gid: user.gid, ...options, env: { ...environment, ...trust, ...options.env } });
    let stdout = '', stderr = '', late = false;
    const timer = setTimeout(() => { late = true; child.kill('SIGKILL'); }, timeout);
    child.stdout?.on('data', d => { stdout += d; });
    child.stderr?.on('data', d => { stderr += d; });
    child.stdin?.on('error', () => {});
    if (input !== undefined) child.stdin.write(input);
    child.stdin?.end();
    child.on('error', reject);
    child.on('close', (status, signal) => {
      clearTimeout(timer);
      resolve({ status, signal, stdout, stderr, late, ms: Date.now() - from });
    });
  });
}

const mountFlags = user => (user.mounts ? ['--mounts', user.mounts] : []);
export function sandbox(user, cwd, flags, line, options = {}) {
  return execute(programs().harness, ['sandbox', ...mountFlags(user), ...flags, '--', ...line], { user, cwd, ...options });
}

function own(user, path) { if (user.uid) chownSync(path, user.uid, user.gid); }
function put(user, path, text, mode = 0o644) {
  writeFileSync(path, text);
  chmodSync(path, mode);
  own(user, path);
}
function make(user, path) {
  mkdirSync(path);
  chmodSync(path, 0o755);
  own(user, path);
}

// Everything about a folder that an attempt could change.
export function snapshot(dir) {
  const lines = [];
  const walk = (path, name) => {
    const st = lstatSync(path, { bigint: true });
    const content = st.isFile() ? readFileSync(path, 'latin1') : st.isSymbolicLink() ? readlinkSync(path) : '';
    lines.push([name, st.mode.toString(8), st.uid, st.gid, st.isDirectory() ? '' : st.nlink, st.mtimeNs, content].join(' '));
    if (st.isDirectory()) for (const entry of readdirSync(path).sort()) walk(join(path, entry), `${name}/${entry}`);
  };
  walk(dir, '.');
  return lines.join('\n');
}

export class World {
  constructor(user, names) {
    this.user = user;
    this.secret = `SECRET-${randomBytes(6).toString('hex')}`;
    this.base = mkdtempSync(join(tmpdir(), 'harness-escape-'));
    chmodSync(this.base, 0o755);
    this.workspace = join(this.base, 'workspace');
    this.outside = join(this.base, 'outside');
    make(user, this.workspace);
    make(user, this.outside);
    put(user, join(this.outside, 'secret'), `${this.secret}-victim\n`, 0o600);
    for (const name of names) this.addCanaries(name);
    const fifos = names.map(name => join(this.outside, name, 'fifo'));
    if (names.length) spawnSync('mkfifo', fifos);
    for (const path of fifos) own(user, path);
    copyFileSync(programs().attempts, join(this.workspace, 'attempts'));
    chmodSync(join(this.workspace, 'attempts'), 0o755);
    if (isRoot) this.addPrivileged();
    for (const folder of ['.claude', '.github', '.github/hooks']) make(user, join(this.workspace, folder));
    for (const file of ['.mcp.json', '.claude/settings.json', '.github/hooks/hook.json']) put(user, join(this.workspace, file), '{}\n');
    this.hits = [];
    this.servers = [];
  }

  // Files that the attempt must not reach, and those in its own folder.
  addCanaries(name) {
    const { user } = this, out = join(this.outside, name), inside = join(this.workspace, name);
    make(user, out);
    make(user, inside);
    put(user, join(out, 'secret'), `${this.secret}-${name}\n`, 0o600);
    put(user, join(out, 'file'), 'original\n');
    put(user, join(out, 'tool'), '#!/bin/sh\ncat "$(dirname "$0")/secret"\n', 0o755);
    make(user, join(out, 'dir'));
    symlinkSync('file', join(out, 'link'));
    symlinkSync(join(out, 'secret'), join(inside, 'before'));
    symlinkSync(out, join(inside, 'before-folder'));
    if (isRoot && name === 'device-before') spawnSync('mknod', ['-m', '666', join(inside, 'zero'), 'c', '1', '5']);
  }

  // Programs with privileges by their file, and something only those can read.
  addPrivileged() {
    put({}, join(this.outside, 'root-secret'), `${this.secret}-root\n`, 0o600);
    for (const name of ['setuid', 'capable']) copyFileSync(programs().attempts, join(this.workspace, name));
    chmodSync(join(this.workspace, 'setuid'), 0o4755);
    chmodSync(join(this.workspace, 'capable'), 0o755);
    const script = 'import os, struct, sys; os.setxattr(sys.argv[1], "security.capability", struct.pack("<5I", 0x02000001, 6, 0, 0, 0))';
    const r = spawnSync('python3', ['-c', script, join(this.workspace, 'capable')], { encoding: 'utf8' });
    if (r.status !== 0) throw new Error(`file capabilities: ${r.stderr}`);
  }

  // Files that no call may change.
  protectedState() {
    return ['.mcp.json', '.claude', '.github'].map(name => snapshot(join(this.workspace, name)).replace(/ \d{16,} /g, ' ')).join('\n');
  }

  async open() {
    await this.startVictim();
    const hit = (what, socket) => { this.hits.push(what); socket?.on('error', () => {}); socket?.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${this.secret}-${what}\n`); };
    const listen = (what, ...where) => new Promise((resolve, reject) => {
      const server = net.createServer(socket => hit(what, socket));
      this.servers.push(server);
      server.on('error', reject);
      server.listen(...where, () => resolve(server));
    });
    this.socket = join(this.outside, 'socket');
    this.abstract = `harness-escape-${process.pid}-${this.user.is}-${randomBytes(3).toString('hex')}`;
    this.tcp = (await listen('tcp', 0, '127.0.0.1')).address().port;
    this.tcp6 = (await listen('tcp6', 0, '::1').catch(() => null))?.address().port ?? 1;
    await listen('unix', this.socket);
    chmodSync(this.socket, 0o777);
    await listen('abstract', `\0${this.abstract}`);
    const udp = dgram.createSocket('udp4');
    this.servers.push(udp);
    udp.on('message', (text, from) => { this.hits.push('udp'); udp.send(`${this.secret}-udp\n`, from.port, from.address); });
    await new Promise(resolve => udp.bind(0, '127.0.0.1', resolve));
    this.udp = udp.address().port;
  }

  async startVictim() {
    const { uid, gid } = this.user;
    this.signals = 0;
    // A separate group: root may signal a whole group, and the test runner's contains the victims of other files.
    this.victim = spawn(programs().attempts, ['victim', this.outside],
      { uid, gid, detached: true, env: { VICTIM_SECRET: `${this.secret}-environment` }, stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise((resolve, reject) => {
      this.victim.stdout.on('data', text => {
        if (String(text).includes('ready')) resolve();
        this.signals += String(text).split('signalled').length - 1;
      });
      this.victim.on('exit', () => reject(new Error('the victim did not start')));
    });
    this.before = this.victimState();
  }

  // What others can change about a process.
  victimState() {
    const file = name => { try { return readFileSync(`/proc/${this.victim.pid}/${name}`, 'utf8'); } catch { return 'gone'; } };
    const stat = file('stat').split(') ')[1]?.split(' ') ?? [];
    return { state: stat[0] === 'R' ? 'S' : stat[0], priority: stat[15], nice: stat[16], policy: stat[38], limits: file('limits'),
      cpus: /Cpus_allowed:.*/.exec(file('status'))?.[0], oom: file('oom_score_adj') };
  }

  variables(control) {
    return { OUTSIDE: this.outside, VICTIM: this.victim.pid, TCP: this.tcp, TCP6: this.tcp6, UDP: this.udp, SOCKET: this.socket, ABSTRACT: this.abstract,
      SETUID: join(this.workspace, 'setuid'), CAPABLE: join(this.workspace, 'capable'), ROOT_SECRET: join(this.outside, 'root-secret'),
      ...(control ? { SUPERVISOR: this.victim.pid } : {}) };
  }

  // Runs these entries of the table in one sandbox, or without one. Returns { name: how it escaped } for those that did, and what they printed.
  async run(entries, flags, { control = false, env } = {}) {
    const list = join(this.workspace, 'list'), variables = { ...this.variables(control), ...(flags.includes('--network') ? { NETWORK: 1 } : {}) };
    put(this.user, list, [...Object.entries(variables).map(([k, v]) => `${k}=${v}`), ...entries.map(e => `${e.name}\t${e.code}`), ''].join('\n'));
    const before = Object.fromEntries(entries.map(e => [e.name, snapshot(join(this.outside, e.name))]));
    const hits = this.hits.length, signals = this.signals, rules = this.protectedState();
    const options = { user: this.user, cwd: this.workspace, timeout: 120000, env: { ...env, TEST_SECRET: `${this.secret}-inherited` } };
    const r = control ? await execute('./attempts', ['list'], options)
      : await execute(programs().harness, ['sandbox', ...mountFlags(this.user), ...flags, '--', './attempts', 'list'], options);
    const printed = Object.fromEntries(r.stdout.split('@@ ').slice(1).map(part => [part.split(' ')[0], part]));
    const escaped = {};
    for (const { name } of entries) {
      const text = printed[name] ?? '', status = Number(/^\S+ (\d+)/.exec(text)?.[1] ?? -1);
      if (status < 0 || [97, 98, 99, 124].includes(status)) escaped[name] = `did not end as it should: ${text || r.stderr}`;
      if (text.includes(this.secret) || text.includes('ESCAPED')) escaped[name] = text;
      if (snapshot(join(this.outside, name)) !== before[name]) escaped[name] = `changed outside:\n${before[name]}\n${snapshot(join(this.outside, name))}`;
    }
    const victim = this.victimState();
    if (!printed.end) escaped['the runner'] = `did not come to its end (${r.status} ${r.signal}):\n${r.stdout.slice(-2000)}\n${r.stderr}`;
    if (!control && this.protectedState() !== rules) escaped['protected files'] = `${rules}\nbecame\n${this.protectedState()}`;
    if (this.signals !== signals) escaped['the victim'] = 'was signalled';
    if (JSON.stringify(victim) !== JSON.stringify(this.before)) escaped['the victim'] = `${JSON.stringify(this.before)} became ${JSON.stringify(victim)}`;
    if (this.hits.length !== hits) escaped['the servers'] = `were reached: ${this.hits.slice(hits)}`;
    return { escaped, printed, stderr: r.stderr, ms: r.ms };
  }

  async close() {
    for (const server of this.servers) server.close();
    if (this.victim && this.victim.exitCode === null && this.victim.signalCode === null) {
      const gone = new Promise(resolve => this.victim.once('exit', resolve));
      for (const signal of ['SIGTERM', 'SIGCONT']) this.victim.kill(signal);
      await Promise.race([gone, new Promise(resolve => setTimeout(resolve, 2000).unref())]);
      this.victim.kill('SIGKILL');
    }
    rmSync(this.base, { recursive: true, force: true });
  }
}

// Processes with this word as an argument.
export function survivors(mark) {
  return readdirSync('/proc').filter(name => /^\d+$/.test(name)).filter(pid => {
    try { return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(mark); } catch { return false; }
  }).map(Number);
}

export async function until(condition, seconds = 15) {
  for (let i = 0; i < seconds * 20 && !condition(); i++) await new Promise(resolve => setTimeout(resolve, 50));
  return condition();
}

// Children of a process with this name.
export function childrenNamed(parent, name) {
  return readdirSync('/proc').filter(pid => /^\d+$/.test(pid)).filter(pid => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      return stat.includes(`(${name})`) && Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent;
    } catch { return false; }
  }).map(Number);
}

// Runs attempts by name, each in a sandbox of its own; nothing outside may change.
export async function eachAlone(t, user, entries, attempts) {
  const world = new World(user, entries.map(e => e.name));
  await world.open();
  await Promise.all(entries.map(({ name }, i) => t.test(`${name}, as ${user.name}`, async () => {
    const out = join(world.outside, name), before = snapshot(out);
    const at = { user, world, dir: join(world.workspace, name), out, mark: `9${i}${process.pid}${user.uid ?? 0}` };
    try { await attempts[name](at); } finally { at.clean?.(); }
    assert.equal(snapshot(out), before);
  })));
  const { before } = world, after = world.victimState();
  await world.close();
  assert.deepEqual(after, before);
  assert.deepEqual(world.hits, []);
}
