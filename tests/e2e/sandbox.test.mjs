// `harness sandbox`: ordinary work, exit statuses, streams, terminals and interrupts, as the user who runs the tests and,
// when that is root, as an ordinary one.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, readFileSync, writeFileSync, existsSync, readdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bin, build, folder, privateMounts } from './harness.mjs';

const nobody = 65534;
const users = process.getuid() === 0 ? [{ name: 'root' }, { name: 'an ordinary user', uid: nobody, gid: nobody }] : [{ name: 'this user' }];

// The program must be readable by the other user, wherever the checkout is.
const shared = mkdtempSync(join(tmpdir(), 'harness-bin-'));
chmodSync(shared, 0o755);
copyFileSync(bin, join(shared, 'harness'));
chmodSync(join(shared, 'harness'), 0o755);
process.on('exit', () => rmSync(shared, { recursive: true, force: true }));

function workspace(t, user, files = {}) {
  const dir = folder(t);
  chmodSync(dir, 0o755);
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(dir, name), text);
    if (user.uid) chownSync(join(dir, name), user.uid, user.gid);
  }
  if (user.uid) chownSync(dir, user.uid, user.gid);
  return dir;
}

const environment = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/nonexistent', ASAN_OPTIONS: process.env.ASAN_OPTIONS ?? '',
  TSAN_OPTIONS: process.env.TSAN_OPTIONS ?? '', UBSAN_OPTIONS: process.env.UBSAN_OPTIONS ?? '' };

function sandbox(user, cwd, args, options = {}) {
  const { env, ...rest } = options;
  return spawnSync(join(shared, 'harness'), ['sandbox', ...args], { cwd, encoding: 'utf8', timeout: 120000, maxBuffer: 1 << 28,
    uid: user.uid, gid: user.gid, env: { ...environment, ...env }, ...rest });
}

function works(user, cwd, script, options) {
  const r = sandbox(user, cwd, [...(options?.flags ?? []), '--', 'bash', '-euc', script], options);
  assert.equal(r.status, 0, `${script}\n${r.stdout}\n${r.stderr}`);
  return r.stdout;
}

for (const user of users) {
  const as = (name, body) => test(`sandbox, as ${user.name}: ${name}`, body);

  as('passwords and host keys stay unread, whoever runs it', t => {
    if (user.name === 'root' && !privateMounts()) return t.skip('no private mounts here');
    const dir = workspace(t, user);
    for (const secret of ['/etc/shadow', '/etc/gshadow']) {
      const r = sandbox(user, dir, ['--', 'cat', secret]);
      assert.equal(r.status, 1, secret);
      assert.equal(r.stdout, '', secret);
    }
    assert.match(works(user, dir, 'head -1 /etc/passwd; ls /etc/ssl/private 2>/dev/null || true'), /^root:[^\n]*\n$/);
  });

  as('a C build with make and gcc', t => {
    const dir = workspace(t, user, {
      'main.c': '#include <stdio.h>\nint add(int, int);\nint main(void) { printf("%d\\n", add(2, 3)); return 0; }\n',
      'add.c': 'int add(int a, int b) { return a + b; }\n',
      Makefile: 'main: main.o add.o\n\tgcc -o $@ $^\n%.o: %.c\n\tgcc -c -O2 -pipe $<\n',
    });
    assert.match(works(user, dir, 'make -j2 && ./main'), /5\n$/);
  });

  as('git status, diff and commit', t => {
    const dir = workspace(t, user, { 'a.txt': 'one\n' });
    const made = spawnSync('bash', ['-c', 'git init -q . && git config user.email a@b && git config user.name n'], { cwd: dir, uid: user.uid, gid: user.gid, env: environment, encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);           // the repository is the user's: its configuration is protected
    const out = works(user, dir, `git add . && git commit -qm first
      echo two >> a.txt; git status --porcelain; git diff | tail -1; git commit -qam second; git log --oneline | wc -l`);
    assert.equal(out, ' M a.txt\n+two\n2\n');
  });

  as('Node, Python and npm test', t => {
    const dir = workspace(t, user, {
      'a.mjs': 'import { readFileSync, writeFileSync } from "node:fs"; writeFileSync("n", "node"); console.log(readFileSync("n", "utf8"))\n',
      'a.py': 'import json, sqlite3, subprocess, threading\nc = sqlite3.connect("db"); c.execute("create table t (x)"); c.execute("insert into t values (7)"); c.commit()\n'
        + 'print(c.execute("select x from t").fetchone()[0])\nl = []\nts = [threading.Thread(target=l.append, args=(i,)) for i in range(20)]\n'
        + '[t.start() for t in ts]; [t.join() for t in ts]; print(len(l)); print(subprocess.check_output(["echo", "sub"]).decode(), end="")\n',
      'package.json': '{"name":"x","version":"1.0.0","scripts":{"test":"node t.js"}}',
      't.js': 'const { Worker, isMainThread } = require("worker_threads"); if (isMainThread) new Worker(__filename).on("exit", () => console.log("tested"));\n',
    });
    assert.equal(works(user, dir, 'node a.mjs && python3 a.py'), 'node\n7\n20\nsub\n');
    assert.match(works(user, dir, 'npm test --silent'), /tested\n$/);
    if (existsSync('/usr/bin/sqlite3')) assert.equal(works(user, dir, 'sqlite3 other.db "create table t(x); insert into t values(1); select count(*) from t"'), '1\n');
  });

  as('pipes, here documents, background jobs and 10 MB of output', t => {
    const dir = workspace(t, user);
    assert.equal(works(user, dir, 'cat <<< hi | tr a-z A-Z; diff <(echo a) <(echo a); sleep 0.05 & wait $!; echo $?'), 'HI\n0\n');
    assert.equal(works(user, dir, 'head -c 10000000 /dev/zero').length, 10000000);
    assert.equal(works(user, dir, 'set -m; (sleep 5; echo never) & kill %1; wait %1 2>/dev/null || echo $?'), '143\n');
  });

  as('exit statuses and messages', t => {
    const dir = workspace(t, user);
    const status = (...args) => sandbox(user, dir, args).status;
    assert.equal(status('--', 'sh', '-c', 'exit 7'), 7);
    assert.equal(status('--', 'sh', '-c', 'kill -9 $$'), 137);
    assert.equal(status('--', 'no-such-program'), 127);
    assert.equal(status(), 2);
    assert.equal(status('--timeout', 'soon', '--', 'true'), 2);
    assert.equal(status('--network', '--allow-domain', 'example.com', '--', 'true'), 2);
    assert.equal(status('--read', 'missing', '--', 'true'), 1);
    const late = sandbox(user, dir, ['--timeout', '0.3', '--', 'sleep', '60']);
    assert.equal(late.status, 124);
    assert.match(late.stderr, /^harness: timed out after 0.3 s$/m);
  });

  as('nothing outside can be read or written, but what flags open', t => {
    const dir = workspace(t, user), other = workspace(t, user, { secret: 'secret\n' });
    for (const script of [`cat ${other}/secret`, `echo x > ${other}/secret`, `rm ${other}/secret`, `chmod 777 ${other}/secret`, `touch -d 2001-01-01 ${other}/secret`,
      'ls /', 'ls /home', 'exec 3<>/dev/tcp/127.0.0.1/80']) {
      const r = sandbox(user, dir, ['--', 'bash', '-c', script]);
      assert.notEqual(r.status, 0, script);
      assert.doesNotMatch(r.stdout, /secret/);
    }
    assert.equal(readFileSync(join(other, 'secret'), 'utf8'), 'secret\n');
    assert.equal(works(user, dir, `cat ${other}/secret`, { flags: ['--read', other] }), 'secret\n');
    assert.equal(works(user, dir, `echo more >> ${other}/secret; cat ${other}/secret`, { flags: ['--write', other] }), 'secret\nmore\n');
  });

  as('--explain names the layers and what was denied', t => {
    const dir = workspace(t, user), other = workspace(t, user, { secret: 'secret\n' });
    const r = sandbox(user, dir, ['--explain', '--', 'cat', join(other, 'secret')]);
    assert.match(r.stderr, /layer: landlock +ABI \d/);
    assert.match(r.stderr, /layer: seccomp/);
    assert.ok(r.stderr.includes(`denied: read ${other}/secret (allow it with --read ${other})`), r.stderr);
    const write = sandbox(user, dir, ['--explain', '--', 'mkdir', join(other, 'new')]);
    assert.ok(write.stderr.includes(`denied: write ${other}/new (allow it with --write ${other})`), write.stderr);
    const net = sandbox(user, dir, ['--explain', '--', 'curl', '-sS', 'http://127.0.0.1/']);
    assert.match(net.stderr, /denied: use the network \(allow it with --allow-domain HOST, or --network\)/);
    const fine = sandbox(user, dir, ['--explain', '--', 'sh', '-c', 'echo x > f; cat f /etc/passwd > g; exit 3']);
    assert.doesNotMatch(fine.stderr, /denied/);
    const proxied = sandbox(user, dir, ['--explain', '--allow-domain', 'example.com', '--', 'curl', '-sS', 'http://other.example/']);
    assert.match(proxied.stdout + proxied.stderr, /denied: connect to other.example port 80 \(allow it with --allow-domain other.example\)|not in/);
    const direct = sandbox(user, dir, ['--explain', '--allow-domain', 'example.com', '--', 'bash', '-c', 'exec 3<>/dev/tcp/127.0.0.1/9']);
    assert.match(direct.stderr, /denied: connect to 127.0.0.1 port 9/);
  });

  as('standard input and descriptors', t => {
    const dir = workspace(t, user);
    assert.equal(sandbox(user, dir, ['--', 'cat'], { input: 'from outside' }).stdout, 'from outside');
    const r = spawnSync('bash', ['-c', `exec 7</etc/hostname; cd ${dir} && ${join(shared, 'harness')} sandbox -- sh -c 'ls /proc/self/fd | wc -l'`],
      { encoding: 'utf8', uid: user.uid, gid: user.gid, env: environment });
    assert.equal(r.stdout, '4\n', r.stderr);
  });

  as('Ctrl-C ends the tree', async t => {
    const dir = workspace(t, user), mark = `77${process.pid}${user.uid ?? 0}`;
    const child = spawn(join(shared, 'harness'), ['sandbox', '--', 'bash', '-c', `(setsid sleep ${mark} &); sleep ${mark}`],
      { cwd: dir, uid: user.uid, gid: user.gid, env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
    await until(() => survivors(mark) === 2);
    child.kill('SIGINT');
    const code = await new Promise(resolve => child.once('exit', resolve));
    assert.equal(code, 130);
    assert.equal(survivors(mark), 0);
  });

  as('kill -9 leaves nothing alive', async t => {
    const dir = workspace(t, user), mark = `78${process.pid}${user.uid ?? 0}`;
    const child = spawn(join(shared, 'harness'), ['sandbox', '--', 'bash', '-c', `(setsid sleep ${mark} &); sleep ${mark}`],
      { cwd: dir, uid: user.uid, gid: user.gid, env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
    await until(() => survivors(mark) === 2);
    child.kill('SIGKILL');
    await until(() => survivors(mark) === 0);
  });
}

async function until(condition) {
  for (let i = 0; i < 150 && !condition(); i++) await new Promise(resolve => setTimeout(resolve, 100));
  assert.ok(condition(), String(condition));
}

// Processes with this word on their command line, shells apart.
function survivors(mark) {
  return readdirSync('/proc').filter(name => /^\d+$/.test(name)).filter(pid => {
    try { return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(mark); } catch { return false; }
  }).length;
}

test('sandbox on a terminal: reads it, cannot type into it', { skip: build === 'tsan' }, t => {
  const dir = folder(t);
  writeFileSync(join(dir, 'type.py'), 'import fcntl, termios\ntry: fcntl.ioctl(0, termios.TIOCSTI, b"x"); print("typed")\nexcept OSError as e: print("refused", e.errno)\n');
  const script = `import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.chdir(${JSON.stringify(dir)})
    os.execv(${JSON.stringify(bin)}, ["harness", "sandbox", "--", "sh", "-c", "read x; echo got $x; test -t 0 && echo terminal; python3 type.py"])
time.sleep(0.5)
os.write(fd, b"line\\n")
out = b""
while True:
    try: part = os.read(fd, 1000)
    except OSError: break
    if not part: break
    out += part
print(out.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`;
  const r = spawnSync('python3', ['-c', script], { encoding: 'utf8', timeout: 60000 });
  assert.match(r.stdout, /got line\r\nterminal\r\nrefused 1/, r.stdout + r.stderr);
  assert.equal(r.status, 0);
});

test('private folders of /etc may come and go while commands start', { skip: process.getuid() !== 0 && 'the tests do not run as root' }, t => {
  const dir = workspace(t, users[0]), etc = folder(t);
  // In a mount namespace with a copy of /etc, so that other tests do not see it.
  const script = `set -e
cp -a /etc/. ${etc}
mount --bind ${etc} /etc
mkdir -m 755 /etc/harness-gone
(while :; do for i in 1 2 3 4 5 6 7 8; do mkdir -m 700 /etc/harness-gone/$i; done; rmdir /etc/harness-gone/*; done) &
trap "kill $!" EXIT
for i in $(seq 100); do ${bin} sandbox -- true; done`;
  const r = spawnSync('unshare', ['-m', 'bash', '-c', script], { cwd: dir, encoding: 'utf8' });
  assert.equal(r.status, 0, r.stderr);
});
