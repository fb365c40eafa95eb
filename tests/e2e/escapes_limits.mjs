// Attempts about the limits of a call and about harness's own files, each in a separate sandbox, by name: see escapes_alone.mjs.
import assert from 'node:assert/strict';
import { chmodSync, chownSync, copyFileSync, existsSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execute, mounts, programs, sandbox, survivors } from './escapes.mjs';
import { root } from './harness.mjs';

const hold = readFileSync(join(root, 'tests/sandbox/hold.py'), 'utf8');
// In MiB. Use visible only in the machine's shared memory is hard to detect while concurrent tests free some: it is the largest here.
const limit = 256, more = 640, most = 1920;
const reached = /the memory limit of the call was reached \(sandbox\.memory_bytes\)/;

function put(at, path, text, mode = 0o644) {
  writeFileSync(path, text);
  chmodSync(path, mode);
  if (at.user.uid) chownSync(path, at.user.uid, at.user.gid);
}
function folder(at, path, mode = 0o755) {
  mkdirSync(path, { recursive: true });
  chmodSync(path, mode);
  if (at.user.uid) chownSync(path, at.user.uid, at.user.gid);
  return path;
}

// A project in the attempt's folder, called with its own home and state.
function call(at, settings, command, { env = {}, timeout = 60000 } = {}) {
  const home = folder(at, join(at.dir, '..', `${at.mark}-home`));
  const all = at.user.mounts ? settings.replace('sandbox: {', `sandbox: { mounts: ${at.user.mounts},`) : settings;
  put(at, join(at.dir, 'harness.md'), `---\nbuiltin_tools: all\n${all}\n---\n`);
  return execute(programs().harness, ['call', 'bash', JSON.stringify({ command, timeout: 40 })],
    { user: at.user, cwd: at.dir, timeout, env: { HOME: home, ...env } });
}

async function holds(at, kind, { mib = more } = {}) {
  put(at, join(at.dir, 'hold.py'), hold);
  const r = await call(at, `sandbox: { memory_bytes: ${limit << 20} }`, `exec python3 hold.py ${kind} ${mib} ${at.mark}`);
  assert.ok(!r.stdout.includes('ESCAPED'), r.stdout);
  return r;
}
const memory = (kind, mib) => async at => {
  const r = await holds(at, kind, { mib });
  assert.match(r.stdout, reached, r.stdout + r.stderr);
  assert.equal(r.status, 1);
  assert.deepEqual(survivors(at.mark), []);
};
const fair = (kind, mib) => async at => {
  const r = await holds(at, kind, { mib });
  assert.match(r.stdout, /FINE/, r.stdout + r.stderr);
};

// The same by the C program: hold.c.
async function stays(at, kind, mib, most = limit) {
  copyFileSync(programs().attempts, join(at.dir, 'attempts'));
  chmodSync(join(at.dir, 'attempts'), 0o755);
  const r = await call(at, `sandbox: { memory_bytes: ${most << 20} }`, `exec ./attempts hold ${kind} ${mib} ${at.mark}`);
  assert.ok(!r.stdout.includes('ESCAPED'), r.stdout);
  assert.equal(r.status, 1);
  assert.deepEqual(survivors(at.mark), []);
  return r;
}
const held = (kind, mib = 400, most = limit) => async at => {
  const r = await stays(at, kind, mib, most);
  assert.match(r.stdout, reached, r.stdout + r.stderr);
};

// Ordinary programs still work, including those that try a refused call and have a fallback.
const ordinary = `set -e
git init -q g; cd g; git config user.email a@b.c; git config user.name n; echo x > f; git add f; git commit -qm m; git gc -q; cd ..
printf '#include <stdio.h>\nint main(void) { puts("compiled"); }\n' > p.c; cc -o p p.c; ./p
python3 programs.py
cp -r g h; cat p.c | tee q.c | wc -l`;
const programsInPython = `import mmap, multiprocessing, os, shutil, socket, sqlite3, subprocess, tempfile
def work(n): return n * n
open("big", "wb").write(b"x" * (5 << 20))
shutil.copyfile("big", "copy"); assert os.path.getsize("copy") == 5 << 20
a, b = socket.socketpair(); pid = os.fork()
if pid == 0:
    with open("big", "rb") as f: a.sendfile(f)
    os._exit(0)
a.close(); n = 0
while part := b.recv(1 << 16): n += len(part)
assert n == 5 << 20
assert subprocess.run(["sort", "-n"], input="2\\n1\\n", capture_output=True, text=True, close_fds=True).stdout == "1\\n2\\n"
ends = multiprocessing.Pipe(); p = multiprocessing.Process(target=lambda c: c.send(work(7)), args=(ends[1],)); p.start(); assert ends[0].recv() == 49; p.join()
m = mmap.mmap(-1, 64 << 20); m.write(b"x" * (64 << 20)); assert os.fork() or os._exit(0) is None
db = sqlite3.connect("db"); db.execute("pragma journal_mode = wal"); db.execute("create table t (x)"); db.executemany("insert into t values (?)", [(i,) for i in range(10000)]); db.commit()
assert db.execute("select sum(x) from t").fetchone()[0] == 49995000
print("FINE")
`;

// System V objects: with mounts they are the call's own and count; without, they cannot be made.
const objects = kind => async at => {
  const r = await holds(at, kind);
  assert.match(r.stdout, mounts(at.user) ? reached : /stopped/, r.stdout + r.stderr);
};

// ---- the state ----

// The home of a call, with a state and a configuration that hold secrets.
function house(at) {
  const home = folder(at, join(at.dir, '..', `${at.mark}-home`));
  for (const part of ['.local', '.local/state', '.local/state/harness', '.local/state/harness/other', '.config', '.config/harness']) folder(at, join(home, part), 0o700);
  put(at, join(home, '.local/state/harness/other/harness.db'), `${at.world.secret}-state\n`, 0o600);
  put(at, join(home, '.config/harness/trust'), `${at.world.secret}-trust\n`, 0o600);
  put(at, join(home, 'plain'), 'plain\n');
  return home;
}
function unseen(at, r) {
  assert.ok(!(r.stdout + r.stderr).includes(at.world.secret), r.stdout + r.stderr);
  assert.ok(!r.stdout.includes('ESCAPED'), r.stdout);
  return r;
}
// With mounts the home is open and harness's folders are covered; without, the setting is refused.
async function realHome(at, command) {
  const home = house(at), r = unseen(at, await call(at, 'sandbox: { home: real }', `cd ~; cat plain; ${command}`));
  const covered = mounts(at.user);
  if (covered) assert.match(r.stdout, /"stdout":"plain/, r.stdout + r.stderr);
  else assert.match(r.stderr, /sandbox\.home: real would open .*\.local\/state\/harness, which is inside .*-home/, r.stdout + r.stderr);
  assert.equal(readFileSync(join(home, '.config/harness/trust'), 'utf8'), `${at.world.secret}-trust\n`);
  assert.equal(readFileSync(join(home, '.local/state/harness/other/harness.db'), 'utf8'), `${at.world.secret}-state\n`);
  return { home, covered, r };
}
const refused = (setting, path, why) => async at => {
  const home = house(at), r = unseen(at, await call(at, setting.replaceAll('HOME', home), `cat ${path.replaceAll('HOME', home)}`));
  assert.match(r.stderr, why);
  for (const part of [join(home, '.local/state/harness'), home]) assert.ok(r.stderr.includes(part), r.stderr);
};

// A server's entry is read by Python: it answers nothing, which is enough to see whether it was started.
async function server(at, roots) {
  const home = house(at), mark = join(at.dir, 'started');
  put(at, join(at.dir, 'harness.md'), `---\nmcp_servers:\n  s: { command: python3, args: [server.py], ${roots.replaceAll('HOME', home)} }\n---\n`);
  put(at, join(at.dir, 'server.py'), `open(${JSON.stringify(mark)}, "w")\nprint(open(${JSON.stringify(join(home, '.local/state/harness/other/harness.db'))}).read())\n`);
  const r = unseen(at, await execute(programs().harness, ['mcp', 'tools', 's'], { user: at.user, cwd: at.dir, timeout: 30000, env: { HOME: home } }));
  assert.ok(!existsSync(mark), 'the server was started');
  assert.match(r.stdout + r.stderr, /server s: .*\.local\/state\/harness.* is inside .*-home/);
}

// ---- /etc and /opt, as root ----

async function system(at, top, make, script) {
  const dir = mkdtempSync(join(top, 'harness-escape-'));
  at.clean = () => rmSync(dir, { recursive: true, force: true });
  chmodSync(dir, 0o755);
  writeFileSync(join(dir, 'open'), 'everybody\n');
  chmodSync(join(dir, 'open'), 0o644);
  make(dir);
  const r = unseen(at, await sandbox(at.user, at.dir, [], ['bash', '-c', `cat ${dir}/open; ${script.replaceAll('DIR', dir)}`]));
  assert.match(r.stdout, /^everybody\n/, r.stderr);      // world-readable files stay readable
}
const secret = (at, path, mode) => { writeFileSync(path, `${at.world.secret}-system\n`); chmodSync(path, mode); };

export const limits = {
  'memory-forks': memory('own'), 'memory-files': memory('files'), 'memory-shared': memory('shared'), 'memory-passed': memory('passed', most),
  'memory-sockets': memory('sockets'), 'memory-unreadable': memory('unreadable', most), 'memory-first-thread': memory('first-thread'),
  'memory-segments': objects('segments'), 'memory-messages': objects('messages'), 'memory-semaphores': objects('semaphores'),
  'memory-mapped': held('mapped', most), 'memory-unmapped': held('unmapped', most), 'memory-program': held('program'), 'memory-orphans': held('stream'),
  'memory-empty': held('empty'), 'memory-inflight': held('passed'), 'memory-tables': held('tables'), 'memory-mappings': held('mappings'),
  'memory-descriptors': held('descriptors'), 'memory-watches': held('watches', 200, 96),
  'memory-thread': async at => { assert.match((await stays(at, 'table', more)).stdout, /close_range: stopped/); },
  'memory-fair-programs': async at => {
    put(at, join(at.dir, 'programs.py'), programsInPython);
    put(at, join(at.dir, 'all.sh'), ordinary);
    const r = await call(at, 'sandbox: { memory_bytes: 1073741824 }', 'sh all.sh');
    assert.match(r.stdout, /compiled\\nFINE\\n\s*2/, r.stdout + r.stderr);
  },
  'memory-fair-forks': fair('fair-forks', 120), 'memory-fair-file': fair('fair-file', 120),

  'state-real-home': async at => {
    await realHome(at, 'cat .local/state/harness/other/harness.db .config/harness/trust; ls .local/state/harness .config/harness | grep -E "trust|other" && echo ESCAPED; '
      + 'echo x > .config/harness/trust; cat /proc/self/root$PWD/.config/harness/trust; ln .config/harness/trust link; cat link');
  },
  'state-real-home-rename': async at => {
    const { home, covered } = await realHome(at, 'mv .config gone && echo ESCAPED; mv .local gone && echo ESCAPED; mv .local/state gone && echo ESCAPED; '
      + 'rmdir .config/harness && echo ESCAPED; mv .config/harness gone && echo ESCAPED; ls; touch made');
    for (const part of ['.config/harness/trust', '.local/state/harness/other/harness.db']) assert.ok(existsSync(join(home, part)), part);
    if (covered) assert.ok(existsSync(join(home, 'made')), 'the home can be written');
  },
  'state-real-home-plant': async at => {
    const home = house(at);
    rmSync(join(home, '.config'), { recursive: true });
    unseen(at, await call(at, 'sandbox: { home: real }', 'cd ~; mkdir -p .config/harness; echo planted > .config/harness/trust; mv .config other; mkdir -p .config/harness; echo planted > .config/harness/trust'));
    assert.ok(!existsSync(join(home, '.config/harness/trust')), 'it made a configuration of its own');
  },
  'state-read-root': refused('sandbox: { read_roots: ["HOME"] }', 'HOME/.local/state/harness/other/harness.db', /is inside the read root/),
  'state-write-root': refused('sandbox: { write_roots: ["HOME/.local"] }', 'HOME/.local/state/harness/other/harness.db', /is inside the write root/),
  'state-below-root': async at => {
    const home = house(at);
    const r = unseen(at, await call(at, `sandbox: { read_roots: ["${home}/.local/state/harness/other"] }`, `cat ${home}/.local/state/harness/other/harness.db`));
    assert.match(r.stderr, /the read root .*other is inside .*\.local\/state\/harness, where harness keeps its own files/);
  },
  'state-root-link': async at => {
    const home = house(at);
    symlinkSync(join(home, '.config'), join(at.world.outside, at.mark));
    const r = unseen(at, await call(at, `sandbox: { read_roots: ["${join(at.world.outside, at.mark)}"] }`, `cat ${home}/.config/harness/trust`));
    assert.match(r.stderr, /\.config\/harness is inside the read root/);
  },
  'state-flag': async at => {
    const home = house(at);
    for (const flag of ['--read', '--write']) {
      const r = unseen(at, await sandbox(at.user, at.dir, [flag, home], ['cat', `${home}/.config/harness/trust`], { env: { HOME: home } }));
      assert.equal(r.status, 1);
      assert.match(r.stderr, /is inside the (read|write) root/);
    }
  },
  'state-server-read': at => server(at, 'read_roots: ["HOME"]'),
  'state-server-write': at => server(at, 'write_roots: ["HOME/.local/state"]'),
  'state-mount': async at => {
    // The same file system is also mounted below a folder that calls may access.
    const home = house(at), other = folder(at, join(at.world.outside, at.mark));
    const inner = `mount --bind ${home} ${other} && exec ${programs().harness} sandbox --read ${at.world.outside} -- cat ${other}/.config/harness/trust`;
    const r = unseen(at, await execute('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', inner], { cwd: at.dir, env: { HOME: home } }));
    assert.match(r.stderr, /\.config\/harness is inside the read root|\.local\/state\/harness is inside the read root/);
  },
  'state-mount-home': async at => {
    // The same, with the real home: both names are covered.
    const home = house(at), other = folder(at, join(home, 'other-name'));
    put(at, join(at.dir, 'harness.md'), '---\nbuiltin_tools: all\nsandbox: { home: real }\n---\n');
    const inner = `mount --bind ${home} ${other} && exec ${programs().harness} call bash '{"command": "cat ${other}/plain ${other}/.config/harness/trust ${other}/.local/state/harness/other/harness.db"}'`;
    const r = unseen(at, await execute('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', inner], { cwd: at.dir, env: { HOME: home } }));
    assert.match(r.stdout, /"stdout":"plain/, r.stdout + r.stderr);
  },

  'etc-private': at => system(at, '/etc', dir => { secret(at, join(dir, 'a'), 0o600); secret(at, join(dir, 'b'), 0o640); secret(at, join(dir, 'c'), 0o400); },
    'cat DIR/a DIR/b DIR/c; cp DIR/a .; cat a; dd if=DIR/b; python3 -c "print(open(\'DIR/c\').read())"'),
  'etc-private-folder': at => system(at, '/etc', dir => { mkdirSync(join(dir, 'd'), { mode: 0o700 }); chmodSync(join(dir, 'd'), 0o700); secret(at, join(dir, 'd/a'), 0o644); },
    'cat DIR/d/a; ls DIR/d | grep -q a && echo ESCAPED; cd DIR/d && cat a'),
  'etc-private-deep': at => system(at, '/etc', dir => { mkdirSync(join(dir, 'd/e/f'), { recursive: true }); for (const d of ['d', 'd/e', 'd/e/f']) chmodSync(join(dir, d), 0o755);
    secret(at, join(dir, 'd/e/f/a'), 0o600); }, 'cat DIR/d/e/f/a; cd DIR/d/e && cat f/a; cat /proc/self/root/DIR/d/e/f/a'),
  'etc-private-link': at => system(at, '/etc', dir => { secret(at, join(dir, 'a'), 0o600); symlinkSync('a', join(dir, 'l')); linkSync(join(dir, 'a'), join(dir, 'h')); },
    'cat DIR/l DIR/h; ln -s DIR/a mine; cat mine'),
  'opt-private': at => { mkdirSync('/opt', { recursive: true }); return system(at, '/opt', dir => secret(at, join(dir, 'a'), 0o600), 'cat DIR/a'); },
};
