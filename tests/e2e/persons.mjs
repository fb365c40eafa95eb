// Projects that belong to a user (root or not) and are used only by that user.
import { spawnSync } from 'node:child_process';
import { chownSync, chmodSync, existsSync, lstatSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { command, programs } from './escapes.mjs';
import { add, undo } from './harness.mjs';

export { mounts, users, ways } from './escapes.mjs';

function give(path, user) {
  if (user.uid === undefined) return;
  chownSync(path, user.uid, user.gid);
  if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) give(join(path, name), user);
}

// The settings of a user that has private mounts turned off.
function settings(user, files) {
  const text = files['harness.md'];
  return user.mounts && text ? { ...files, 'harness.md': text.replace(/sandbox: \{ ?/, `sandbox: { mounts: ${user.mounts}, `).replace(', }', ' }') } : files;
}

export function person(t, user, given) {
  const files = settings(user, given);
  const base = mkdtempSync(join(tmpdir(), 'harness-person-'));
  undo(t, () => rmSync(base, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  chmodSync(base, 0o755);
  const dir = join(base, 'project'), home = join(base, 'home'), log = join(home, 'events.jsonl');
  add(dir, files);
  add(home, { '.gitconfig': '[user]\n\tname = P\n\temail = p@example.com\n[init]\n\tdefaultBranch = main\n' });
  give(base, user);
  const env = { PATH: process.env.PATH, HOME: home, HARNESS_TRUST: dir, LC_ALL: 'C.UTF-8', ...(process.env.ASAN_OPTIONS ? { ASAN_OPTIONS: process.env.ASAN_OPTIONS } : {}) };
  const options = { cwd: dir, env, uid: user.uid, gid: user.gid, encoding: 'utf8', timeout: 60000 };
  const p = {
    dir, home, log, env, options, bin: programs().harness,
    state: () => join(home, '.local/state/harness', readdirSync(join(home, '.local/state/harness'))[0]),
    has: path => existsSync(join(dir, path)),
    text: path => readFileSync(join(dir, path), 'utf8'),
    add: more => { add(dir, settings(user, more)); give(dir, user); },
    sh: script => spawnSync('bash', ['-c', script], options),
    harness: (args, more = {}) => spawnSync(...command(user, p.bin, args), { ...options, ...more, env: { ...env, ...more.env } }),
    call: (name, args = {}, flags = []) => {
      rmSync(log, { force: true });
      const r = p.harness(['call', name, JSON.stringify(args), '--json', '--yes', '--events', log, ...flags]);
      try { return { ...r, result: JSON.parse(r.stdout) }; } catch { return r; }
    },
    events: type => (existsSync(log) ? readFileSync(log, 'utf8') : '').split('\n').filter(Boolean).map(line => JSON.parse(line)).filter(e => e.type === type),
  };
  return p;
}
