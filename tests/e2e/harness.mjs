// Starts the program under test. HARNESS_BIN names it; HARNESS_BUILD says how it was built.
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const bin = process.env.HARNESS_BIN ?? join(root, 'build/harness');
export const build = process.env.HARNESS_BUILD ?? 'release';

// A clean environment, so that the settings and keys of the developer do not matter.
const kept = ['PATH', 'HOME', 'ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS'];
// Projects of the tests are trusted by their folder, as on a machine that runs what it checks out itself.
export const environment = { ...Object.fromEntries(kept.filter(k => k in process.env).map(k => [k, process.env[k]])), HARNESS_TRUST: tmpdir() };

// Where a test keeps its runs: a file in `folder`, or a project of its own in the database of postgres.test.mjs.
export function storeIn(folder) {
  const url = process.env.HARNESS_TEST_STORE;
  return url ? { HARNESS_STATE: `${url}#${basename(folder)}`, XDG_STATE_HOME: folder } : { HARNESS_STATE: join(folder, 'harness.db') };
}

export function run(args, { env = {}, ...options } = {}) {
  return finish(spawnSync(bin, args, { ...defaults, env: { ...environment, ...env }, ...options }), args);
}

// The same without waiting, for many short runs at a time.
export function start(args, { env = {}, ...options } = {}) {
  return new Promise((resolve, reject) => {
    execFile(bin, args, { ...defaults, env: { ...environment, ...env }, ...options }, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') reject(error);
      else resolve({ status: error?.code ?? 0, stdout, stderr });
    });
  });
}

// The same through a shell, for redirections: "$HARNESS" is the program.
export function shell(script, { env = {}, ...options } = {}) {
  const all = { ...environment, HARNESS: bin, ...env };
  return finish(spawnSync('bash', ['-c', script], { ...defaults, env: all, ...options }), script);
}

const defaults = { encoding: 'utf8', timeout: 60000, maxBuffer: 1 << 28 };

function finish({ status, signal, stdout, stderr, error }, what) {
  if (error) throw error;
  if (signal) throw new Error(`${JSON.stringify(what)} died of ${signal}: ${stderr}`);
  return { status, stdout, stderr };
}

// Cleanups of a test, run in reverse order: a server ends before its folder is removed, or it
// would restore files in it.
const undoing = new WeakMap();
export function undo(t, how) {
  if (!undoing.has(t)) {
    undoing.set(t, []);
    t.after(async () => {
      const faults = [];
      for (const step of undoing.get(t).reverse()) try { await step(); } catch (e) { faults.push(e); }
      if (faults.length > 0) throw faults[0];
    });
  }
  undoing.get(t).push(how);
}

// A folder that is removed after the test.
export function folder(t) {
  const dir = mkdtempSync(join(tmpdir(), 'harness-test-'));
  undo(t, () => rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));      // a background call may still write
  return dir;
}

// A folder with these files: { 'harness.md': '…', '.harness/tools/x.md': '…' }.
export function project(t, files) {
  const dir = folder(t);
  add(dir, files);
  return dir;
}

export function add(dir, files) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
}

// True if private mounts are available to this user. Root in a plain chroot or a container often has none: attempts
// that only they stop then succeed, as docs/security.md says, and those tests are skipped with a message.
let mounts;
export function privateMounts() {
  mounts ??= JSON.parse(run(['doctor', '--json']).stdout).find(c => c.check === 'private mounts').ok;
  return mounts;
}
