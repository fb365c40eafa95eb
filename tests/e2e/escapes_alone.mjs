// Attempts that need a separate sandbox, by name. Each throws if it escapes. `at`: { user, world, dir, out, mark }: `dir` is the
// attempt's workspace, `out` its canaries, `mark` an argument by which remaining processes can be found.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, openSync, closeSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { childrenNamed, execute, programs, sandbox, survivors, until } from './escapes.mjs';

const sh = (at, script, { flags = [], ...options } = {}) => sandbox(at.user, at.dir, flags, ['bash', '-c', script, 'bash', at.mark], options);
const python = (at, script, { flags = [], ...options } = {}) => sandbox(at.user, at.dir, flags, ['python3', '-c', script, at.mark], options);

function shows(at, r) {
  assert.ok(!(r.stdout + r.stderr).includes(at.world.secret), `a secret was read:\n${r.stdout}`);
  assert.ok(!r.stdout.includes('ESCAPED'), r.stdout);
  return r;
}
function ended(at, r, seconds = 25) {
  assert.deepEqual(survivors(at.mark), [], 'processes are left');
  assert.ok(!r.late && r.ms < seconds * 1000, `took ${r.ms} ms`);
  return shows(at, r);
}
const late = { flags: ['--timeout', '0.4'] };
function timedOut(at, r) { assert.equal(ended(at, r).status, 124, r.stderr); }

// Runs harness in a terminal; `script` is the Python program that it runs in the sandbox.
async function onTerminal(at, script) {
  const driver = `import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    uid = int(sys.argv[2])
    if uid: os.setgroups([]); os.setgid(uid); os.setuid(uid)
    os.execv(sys.argv[1], ["harness", "sandbox", "--", "python3", "-c", sys.argv[3]])
out = b""
while True:
    try: part = os.read(fd, 1000)
    except OSError: break
    if not part: break
    out += part
os.waitpid(pid, 0)
print(out.decode())`;
  const r = await execute('python3', ['-c', driver, programs().harness, String(at.user.uid ?? 0), script], { cwd: at.dir });
  assert.match(r.stdout, /tried/, r.stdout + r.stderr);
  return shows(at, r);
}
const calls = `import ctypes, os, sys
c = ctypes.CDLL(None, use_errno=True)
def ioctl(request, value=b"x\\0\\0\\0\\0\\0\\0\\0"):
    rc = c.syscall(ctypes.c_long(16), ctypes.c_long(0), ctypes.c_ulong(request), value)
    print("ESCAPED" if rc == 0 else "stopped %d" % ctypes.get_errno(), hex(request))
`;

// '' when it is gone: some only start others.
function nameOf(pid) {
  try { return readFileSync(`/proc/${pid}/comm`, 'utf8').trim(); } catch { return ''; }
}

// Starts a call that leaves processes in every way, kills `who` and checks that nothing is left.
async function kills(at, who) {
  const script = 'trap "" TERM HUP; sleep $1 & (setsid sleep $1 &); (setsid bash -c "(setsid sleep $1 &) ; exit" bash $1 &); sleep $1';
  const child = spawn(programs().harness, ['sandbox', '--', 'bash', '-c', script, 'bash', at.mark],
    { cwd: at.dir, uid: at.user.uid, gid: at.user.gid, env: { PATH: '/usr/bin:/bin' }, stdio: 'ignore' });
  at.clean = () => child.kill('SIGKILL');
  const gone = new Promise(resolve => child.once('exit', resolve));
  assert.ok(await until(() => survivors(at.mark).filter(pid => nameOf(pid) === 'sleep').length === 4), 'it did not start');
  const [launcher] = childrenNamed(child.pid, 'harness-launch'), [supervisor] = childrenNamed(launcher, 'harness-super');
  assert.ok(launcher && supervisor);
  process.kill({ harness: child.pid, launcher, supervisor }[who], 'SIGKILL');
  const left = () => [...survivors(at.mark), launcher, supervisor].filter(pid => {
    try { return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')); } catch { return false; }
  });
  await until(() => left().length === 0);
  assert.deepEqual(left(), [], 'processes are left');
  await gone;
}

const first = (at, script) => sh(at, script.replaceAll('$OUT', at.out));

export const alone = {
  'symlink-between': async at => {
    await first(at, 'ln -s $OUT folder; ln -s $OUT/file file; ln -s $OUT/new new');
    shows(at, await sh(at, 'cat folder/secret; echo x > file; echo x > folder/made; echo x > new; chmod 777 file'));
  },
  'symlink-between-flag': async at => {
    await first(at, 'mkdir deep; ln -s $OUT data; ln -s $OUT/dir deep/dir; ln -s .. deep/up');
    for (const [flag, path] of [['--read', 'data'], ['--write', 'data'], ['--read', './deep/../data'], ['--write', 'deep/dir'], ['--read', join(at.dir, 'data')],
      ['--write', 'deep/up/data'], ['--write', 'data/dir']]) {
      const r = shows(at, await sh(at, 'cat data/secret; echo x > data/file; echo x > data/dir/made', { flags: [flag, path] }));
      assert.equal(r.status, 1, `${flag} ${path}: ${r.stdout}`);
      assert.match(r.stderr, /a link leads from the workspace to/);
    }
    assert.equal((await sh(at, 'true', { flags: ['--read', 'deep', '--write', 'deep/up', '--read', at.out, '--read', '..'] })).status, 0);
  },
  'descriptor-inherited': async at => {
    const script = `exec 7<${at.out}/secret 8>>${at.out}/file 9<${at.out}; cd ${at.dir}; exec ${programs().harness} sandbox -- bash -c ` +
      `'cat <&7; cat /proc/self/fd/7; echo x >&8; cat /proc/self/fd/9/secret; ls /proc/self/fd | wc -l'`;
    const r = shows(at, await execute('bash', ['-c', script], { user: at.user }));
    assert.match(r.stdout, /^4\n/);                      // three streams and the folder that is being listed
  },
  'descriptor-stdin-folder': async at => {
    const fd = openSync(at.out, 'r');
    const script = 'import os\nfor f in (lambda: print(os.read(os.open("secret", 0, dir_fd=0), 99)), lambda: os.open("made", 65, dir_fd=0), lambda: (os.fchdir(0), print(open("secret").read()))):\n'
      + '  try: f()\n  except OSError as e: print(e)';
    shows(at, await python(at, script, { stdio: [fd, 'pipe', 'pipe'] }));
    closeSync(fd);
  },
  'descriptor-stdin-file': async at => {
    const fd = openSync(join(at.out, 'file'), 'r');
    shows(at, await sh(at, 'echo x > /proc/self/fd/0; echo x > /dev/stdin; chmod 777 /proc/self/fd/0; python3 -c "import os; os.fchmod(0, 0o777)"; '
      + 'python3 -c "import os; os.utime(0)"; python3 -c "import os; os.ftruncate(0, 0)"', { stdio: [fd, 'pipe', 'pipe'] }));
    closeSync(fd);
  },
  'environment-inherited': async at => {
    const r = shows(at, await sh(at, 'env; cat /proc/self/environ; cat /proc/$PPID/environ', { env: { AWS_SECRET: at.world.secret, LD_LIBRARY_PATH: at.out } }));
    assert.deepEqual(r.stdout.split('\0')[0].split('\n').filter(Boolean).map(l => l.split('=')[0]).filter(n => !['PATH', 'HOME', 'TMPDIR', 'LC_ALL', 'PWD', 'OLDPWD', 'SHLVL', '_'].includes(n)), []);
  },
  'terminal-type': at => onTerminal(at, `${calls}
for high in (0, 1 << 32, 0xffffffff << 32): ioctl(0x5412 + high)
print("tried")`),
  'terminal-discipline': at => onTerminal(at, `${calls}
ioctl(0x5423, b"\\x02\\0\\0\\0"); ioctl(0x541c, b"\\x03"); print("tried")`),
  'terminal-steal': at => onTerminal(at, `${calls}
ioctl(0x540e)
try: os.open("/dev/tty", os.O_RDWR); print("ESCAPED")
except OSError as e: print(e)
try: os.tcsetpgrp(0, os.getpgrp()); print("ESCAPED")
except OSError as e: print(e)
print("tried")`),
  'signal-all': async at => {
    ended(at, await sh(at, 'sleep $1 & trap "" TERM; kill -TERM -1; kill -9 -1'));
    assert.deepEqual(at.world.victimState(), at.world.before);
  },

  'survive-background': async at => ended(at, await sh(at, 'sleep $1 & disown; exit 0')),
  'survive-double-fork': async at => ended(at, await sh(at, '(setsid bash -c "(setsid nohup sleep $1 >/dev/null 2>&1 </dev/null &)" bash $1 &); sleep 0.2')),
  'survive-ignore': async at => timedOut(at, await sh(at, 'trap "" TERM INT HUP QUIT USR1 USR2 ALRM; sleep $1 & while :; do sleep $1; done', late)),
  'survive-stopped': async at => timedOut(at, await sh(at, 'sleep $1 & kill -STOP $!; kill -STOP $$', late)),
  'survive-fork': async at => timedOut(at, await python(at, 'import os, signal\nsignal.signal(15, signal.SIG_IGN)\nif os.fork() == 0:\n  while True:\n    if os.fork(): os._exit(0)\n    os.setsid()\nsignal.pause()', late)),
  'survive-threads': async at => timedOut(at, await python(at, 'import threading, ctypes, subprocess, sys\nthreading.Thread(target=lambda: subprocess.run(["sleep", sys.argv[1]])).start()\nctypes.CDLL(None).syscall(60, 0)', late)),
  'kill-harness': at => kills(at, 'harness'),
  'kill-launcher': at => kills(at, 'launcher'),
  'kill-supervisor': at => kills(at, 'supervisor'),

  'bomb-fork': async at => {
    const r = ended(at, await python(at, 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass', { flags: ['--timeout', '20'] }));
    assert.match(r.stderr, /too many processes/);
  },
  'bomb-threads': async at => {
    const script = 'import threading, time, sys\nthreading.stack_size(65536)\nn = 0\ntry:\n  while n < 20000: threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); n += 1\n'
      + 'except RuntimeError as e: print(e)\nif n >= 20000: print("ESCAPED", flush=True)\nimport os; os._exit(1)';
    ended(at, await python(at, script));
  },
  'bomb-memory': async at => {
    const r = ended(at, await python(at, 'import mmap\nkept = []\ntry:\n  while len(kept) < 200: kept.append(mmap.mmap(-1, 64 << 20))\n  print("ESCAPED")\nexcept (OSError, MemoryError): print("stopped")'));
    assert.match(r.stdout, /stopped/);
  },
  'bomb-file': async at => {
    ended(at, await sh(at, 'truncate -s 2G one; dd if=/dev/zero of=two bs=1 count=1 seek=2G status=none; python3 -c "import os; f = os.open(\'three\', 66); os.posix_fallocate(f, 0, 2 << 30)"'));
    for (const name of ['one', 'two', 'three'])
      if (existsSync(join(at.dir, name))) assert.ok(statSync(join(at.dir, name)).size <= 2 ** 30, name);
  },
  'bomb-descriptors': async at => {
    const r = ended(at, await python(at, 'import os\nn = 0\ntry:\n  while n < 5000: os.open("/dev/null", 0); n += 1\n  print("ESCAPED")\nexcept OSError: print("stopped")'));
    assert.match(r.stdout, /stopped/);
  },
  'bomb-output': async at => {
    const r = await execute('bash', ['-c', `${programs().harness} sandbox -- yes ${at.mark} | head -c 1000000 | wc -c`], { user: at.user, cwd: at.dir });
    await until(() => survivors(at.mark).length === 0, 5);
    assert.equal(ended(at, r).stdout, '1000000\n');
  },
  'bomb-folders': async at => {
    const r = ended(at, await sh(at, 'echo $TMPDIR; cd $TMPDIR; python3 -c "import os\nfor i in range(400): os.mkdir(\'d\'); os.chdir(\'d\')"; touch d/d/f; ln -s / d/d/l; chmod 0 d/d d'));
    assert.match(r.stdout, /^\//);
    assert.ok(await until(() => !existsSync(r.stdout.trim()), 5), 'its private folder is left');
  },
  'bomb-core': async at => {
    const r = ended(at, await sh(at, 'ulimit -c unlimited; grep "core file size" /proc/self/limits; sleep $1 & kill -SEGV $!; wait $!; ls'));
    assert.match(r.stdout, /^Max core file size +1 +1 /);
    assert.deepEqual(readdirSync(at.dir).filter(n => n.startsWith('core')), []);
  },
};
