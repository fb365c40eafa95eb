// The next start uses the user's rules, however the last one ended: killed at any point, by any signal, on a full disk, with another process running.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hook, tool } from './calls.mjs';
import { undo } from './harness.mjs';
import { mounts, person, users, ways } from './persons.mjs';

const sh = tool('r = exec.run("/bin/sh", ["-c", args["do"]])\nreturn [r["exit_code"], r["stdout"], r["stderr"]]', 'parameters:\n  do: { type: string }');
const rules = { 'harness.md': '---\nsandbox: {}\n---\nHi.\n', '.harness/tools/sh.md': sh, '.harness/hooks/g.md': hook('log', 'return allow()') + 'Of the person.\n' };
// Where mounts prevent a change of the file, new files can still be created.
const spoil = 'echo evil >> .harness/hooks/g.md; echo "{}" > tools.json; mkdir -p .claude; echo "{}" > .claude/settings.json; echo ready > ready; ';

const look = p => [p.text('.harness/hooks/g.md'), p.has('tools.json'), p.has('.claude/settings.json'), p.text('harness.md')];
const good = [rules['.harness/hooks/g.md'], false, false, rules['harness.md']];
const folder = p => join(p.home, '.local/state/harness/rules');
const marks = p => (existsSync(folder(p)) ? readdirSync(folder(p)) : []).filter(n => n.startsWith('mark-'));
const killRounds = Number(process.env.HARNESS_KILL_ROUNDS ?? 3);
const sleep = ms => new Promise(done => setTimeout(done, ms));

async function until(what, ms = 20000) {
  for (const end = Date.now() + ms; !what();) {
    if (Date.now() > end) throw new Error('it does not happen');
    await sleep(10);
  }
}

// Starts a call that changes the rules and keeps running; returns when they are changed.
async function spoiling(t, p, args = ['call', 'sh', JSON.stringify({ do: `${spoil} trap "" TERM INT; sleep 30 & sleep 30; wait` }), '--yes']) {
  const child = spawn(p.bin, args, { ...p.options, stdio: 'ignore' });
  const end = new Promise(done => child.on('exit', (code, signal) => done({ code, signal })));
  undo(t, () => child.kill('SIGKILL'));
  await until(() => p.has('ready'));
  return { child, end };
}



for (const user of users) {
  const as = `as ${user.name}`;

  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGALRM'])
    test(`${signal} ends a call properly, ${as}`, async t => {
      const p = person(t, user, rules), { child, end } = await spoiling(t, p);
      child.kill(signal);
      assert.deepEqual(await end, { code: 130, signal: null });
      assert.deepEqual(look(p), good);
      assert.deepEqual(marks(p), []);
    });

  for (const first of [['call', 'sh', JSON.stringify({ do: `${spoil} trap "" TERM INT; while :; do sleep 1; done` }), '--yes'],
    ['sandbox', '--', 'sh', '-c', `${spoil} trap "" TERM INT; while :; do sleep 1; done`]])
    test(`a second Ctrl-C kills, compares, leaves: ${first[0]}, ${as}`, async t => {
      const p = person(t, user, rules), { child, end } = await spoiling(t, p, first);
      child.kill('SIGINT');
      await sleep(100);
      child.kill('SIGINT');
      assert.deepEqual(await end, { code: 130, signal: null });
      assert.deepEqual(look(p), good);
      // A supervisor that is still ending holds the mark; the next start finds nothing to restore, and removes it.
      const after = p.call('sh', { do: 'true' });
      assert.deepEqual([after.status, after.stderr], [0, '']);
      assert.deepEqual(look(p), good);
      assert.deepEqual(marks(p), []);
    });

  for (const signal of ['SIGKILL', 'SIGABRT', 'SIGSEGV'])
    test(`after ${signal} the next start restores, ${as}`, async t => {
      const p = person(t, user, rules), { child, end } = await spoiling(t, p);
      child.kill(signal);
      await end;
      assert.notDeepEqual(look(p), good);
      const r = p.call('sh', { do: 'cat .harness/hooks/g.md' });
      assert.equal(r.status, 0, r.stderr);
      assert.match(r.stderr, /after a call that did not end properly: .*tools\.json was made|while another harness is running a call here: .*tools\.json was made/);
      assert.match(r.result.value[1], /Of the person\.\n$/);
      assert.deepEqual(look(p), good);
      await until(() => { p.call('sh', { do: 'true' }); return marks(p).length === 0; });       // once the supervisor has gone, too
      assert.equal(p.call('sh', { do: 'true' }).stderr, '');
    });

  // Kills the call at its first event, its second one, and so on to its end; then kills the next start at intervals of a few milliseconds.
  test(`killed at every event and at any point of the next start, ${as}`, async t => {
    const p = person(t, user, rules);
    const lines = () => (existsSync(p.log) ? readFileSync(p.log, 'utf8').split('\n').length - 1 : 0);
    const start = (does, kill) => new Promise(done => {
      rmSync(p.log, { force: true });
      const child = spawn(p.bin, ['call', 'sh', JSON.stringify({ do: does }), '--yes', '--events', p.log], { ...p.options, stdio: 'ignore' });
      child.on('exit', code => done(code));
      kill(child);
    });
    const whenEvent = n => child => { const timer = setInterval(() => { if (lines() >= n) child.kill('SIGKILL'); if (child.exitCode !== null || child.signalCode !== null) clearInterval(timer); }, 1); };
    let ended = false, events = 0;
    for (; !ended; events++) {
      ended = await start(`${spoil} sleep 0.05`, whenEvent(events + 1)) !== null;
      for (let ms = 0; ms < 60; ms += 60 / killRounds) await start('true', child => setTimeout(() => child.kill('SIGKILL'), ms));
      const r = p.call('sh', { do: 'cat .harness/hooks/g.md; ls tools.json' });
      assert.equal(r.result?.value?.[1], rules['.harness/hooks/g.md'], `event ${events + 1}: ${r.stdout}${r.stderr}`);
      assert.deepEqual(look(p), good, `event ${events + 1}`);
    }
    assert.ok(events > 3, `${events} events`);
    await until(() => { p.call('sh', { do: 'true' }); return marks(p).length === 0; });
  });

  test(`an edit after a proper end counts as the user's, ${as}`, t => {
    const p = person(t, user, rules);
    p.call('sh', { do: 'true' });
    p.add({ '.harness/hooks/g.md': hook('log', 'return allow()') + 'Edited.\n' });
    const r = p.call('sh', { do: 'cat .harness/hooks/g.md' });
    assert.match(r.result.value[1], /Edited/);
    assert.equal(r.stderr, '');
  });

  test(`what is displaced is kept, ${as}`, t => {
    const p = person(t, user, rules);
    p.call('sh', { do: 'echo \'{"a":1}\' > tools.json; mkdir -p .github/hooks/x; echo two > .github/hooks/x/y.json' });
    const at = join(folder(p), 'displaced');
    const kept = Object.fromEntries(readdirSync(at).map(n => [readFileSync(join(at, n, 'path'), 'utf8').slice(p.dir.length), readFileSync(join(at, n, 'content'), 'utf8')]));
    assert.deepEqual(kept, { '/tools.json': '{"a":1}\n', '/.github/hooks/x/y.json': 'two\n' });
    assert.ok(!p.has('tools.json') && !p.has('.github/hooks/x'));
  });

  test(`during a live call another process uses the user's rules, ${as}`, async t => {
    const p = person(t, user, rules), { child, end } = await spoiling(t, p);
    const r = p.call('sh', { do: 'cat .harness/hooks/g.md; ls tools.json' });
    assert.equal(r.status, 0, r.stderr);
    assert.match(r.stderr, /while another harness is running a call here: .*tools\.json was made/);
    assert.equal(r.result.value[1], rules['.harness/hooks/g.md']);
    child.kill('SIGTERM');
    await end;
    assert.deepEqual(look(p), good);
  });

  test(`a program does not hold the mark, ${as}`, t => {
    const p = person(t, user, rules);
    assert.equal(p.call('sh', { do: 'ls /proc/self/fd | wc -l' }).result.value[1].trim(), '4');
  });

  test(`a mark that cannot be compared stops the start until the user resolves it, ${as}`, async t => {
    const p = person(t, user, rules), { child, end } = await spoiling(t, p);
    child.kill('SIGKILL');
    await end;
    await until(() => spawnSync('python3', ['-c', 'import fcntl, struct, sys\nf = open(sys.argv[1], "r+b")\nfcntl.fcntl(f, 37, struct.pack("hhqqi4x", 1, 0, 0, 0, 0))', join(folder(p), marks(p)[0])]).status === 0);
    for (const name of readdirSync(folder(p)).filter(n => n.startsWith('snapshot-'))) writeFileSync(join(folder(p), name), 'x');
    const r = p.harness(['call', 'sh', '{"do":"true"}', '--yes']);
    assert.equal(r.status, 1);
    assert.match(r.stderr, /changed by a call that did not end properly: the record of their earlier content is damaged/);
    assert.match(r.stderr, new RegExp(`remove .*${marks(p)[0]}`));
  });

  test(`harness sandbox protects the same files, ${as}`, t => {
    const p = person(t, user, rules);
    assert.equal(p.sh('git init -q .').status, 0);
    const config = p.text('.git/config');
    const r = p.harness(['sandbox', '--', 'sh', '-c', `${spoil} echo x >> .git/config; echo x > .git/commondir; rm -f harness.md; exit 0`]);
    assert.deepEqual(look(p), good);
    assert.equal(p.text('.git/config'), config);
    assert.ok(!p.has('.git/commondir'));
    assert.equal(r.status, 1);
    assert.match(r.stderr, /sandbox\.tampered: /);
    assert.equal(p.harness(['sandbox', '--', 'sh', '-c', 'echo fine > other']).status, 0);
    assert.deepEqual(marks(p), []);
    const empty = person(t, user, { 'x/y': '' });
    empty.harness(['sandbox', '--', 'sh', '-c', 'mkdir -p .claude .git; echo x > .claude/settings.json; echo x > harness.md; echo x > .git/config']);
    assert.ok(!empty.has('.claude/settings.json') && !empty.has('harness.md') && !empty.has('.git'));
  });

  test(`a server that does not start leaves nothing behind, ${as}`, t => {
    const p = person(t, user, { ...rules, 'harness.md': '---\nmcp_servers:\n  bad: { command: sh, args: [server.sh] }\n---\n', 'server.sh': 'echo "{}" > tools.json\nexit 1\n' });
    p.call('mcp:bad:x');
    assert.ok(!p.has('tools.json'));
    assert.deepEqual(marks(p), []);
  });
}

// A separate disk, small enough to fill.
function disk(t, at, size) {
  mkdirSync(at, { recursive: true });
  const r = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=777`, 'none', at], { encoding: 'utf8' });
  if (r.status !== 0) return false;
  undo(t, () => spawnSync('umount', ['-l', at]));
  return true;
}
const canMount = process.getuid() === 0 && spawnSync('unshare', ['-m', 'true']).status === 0;

for (const user of ways) {
  test(`a full disk: what cannot be restored is restored later, as ${user.name}`, { skip: !canMount && 'needs mounts' }, t => {
    const p = person(t, user, rules);
    assert.ok(disk(t, p.dir, '1m'));
    p.add(rules);
    const before = look(p);
    const first = p.call('sh', { do: 'rm -rf .harness/hooks; mv .harness moved; head -c 2000000 /dev/zero > fill; true' });
    // Where mounts prevent moving the folder, nothing is lost that would have to be restored.
    const spoilt = !p.has('.harness/hooks/g.md');
    assert.equal(spoilt, !(mounts(user)));
    if (spoilt) {
      assert.equal(first.status, 1);
      assert.match(first.result.error.message, /could NOT be put back/);
      assert.equal(marks(p).length, 1);
      const still = p.harness(['call', 'sh', '{"do":"true"}', '--yes']);
      assert.equal(still.status, 1);
      assert.match(still.stderr, /did not end properly: .*No space left on device/);
    }
    p.sh('rm -f fill');
    const r = p.call('sh', { do: 'cat .harness/hooks/g.md' });
    assert.equal(r.status, 0, r.stderr);
    assert.match(r.result.value[1], /Of the person/);
    assert.deepEqual(look(p), before);
    assert.deepEqual(marks(p), []);
  });

  test(`a full disk: without a record no call starts, as ${user.name}`, { skip: !canMount && 'needs mounts' }, t => {
    const p = person(t, user, rules), at = join(p.home, 'small');
    assert.ok(disk(t, at, '64k'));
    p.sh(`mkdir ${at}/harness.db-rules; head -c 1000000 /dev/zero > ${at}/fill`);
    const r = p.harness(['call', 'sh', JSON.stringify({ do: 'echo x > made' }), '--yes', '--ephemeral'], { env: { HARNESS_STATE: join(at, 'harness.db') } });
    assert.equal(r.status, 1, r.stdout + r.stderr + p.sh(`df ${at}; ls -laR ${at}`).stdout);
    assert.match(r.stdout + r.stderr, /No space left on device|cannot record running calls/);
    assert.ok(!p.has('made'));
  });
}
