// Private mounts, as root and as an ordinary user: where they are available, how that is reported, and what happens without them.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tool } from './calls.mjs';
import { command, isRoot, programs } from './escapes.mjs';
import { mounts, person, users, ways } from './persons.mjs';
import { undo } from './harness.mjs';

const here = users.every(user => mounts(user));
const skip = !here && 'no private mounts here';
const sh = tool('r = exec.run("/bin/sh", ["-c", args["do"]])\nreturn [r["exit_code"], r["stdout"], r["stderr"]]', 'parameters:\n  do: { type: string }');
const rules = { 'harness.md': '---\nsandbox: {}\n---\nHi.\n', '.harness/tools/sh.md': sh };
const why = user => (user.mounts ? /sandbox\.mounts is off/ : user.is === 'root' ? /cannot keep the right to files of other users .*CAP_DAC_OVERRIDE without CAP_SYS_ADMIN/
  : /cannot make a user namespace \(No space left on device\): sysctl user\.max_user_namespaces/);

for (const user of ways) {
  const as = `as ${user.name}`, mounted = mounts(user);

  test(`doctor reports private mounts, ${as}`, { skip }, t => {
    if (user.mounts) return;                              // does not need a project
    const found = JSON.parse(person(t, user, rules).harness(['doctor', '--json']).stdout).find(c => c.check === 'private mounts');
    assert.equal(found.ok, mounted);
    if (mounted) assert.equal(found.detail, `${user.is === 'root' ? 'as root' : 'through a user namespace'}, with own processes and /proc`);
    else assert.match(found.detail, why(user));
    if (!mounted) assert.match(found.detail, /Protected files are compared and restored, and home: real is refused$/);
  });

  test(`sandbox.mounts: required, ${as}`, { skip }, t => {
    const p = person(t, { ...user, mounts: undefined }, { ...rules, 'harness.md': '---\nsandbox: { mounts: required }\n---\nHi.\n' });
    const r = p.call('sh', { do: 'echo x >> harness.md || echo closed' }), flag = p.harness(['sandbox', '--mounts', 'required', '--', 'true']);
    if (mounted || user.mounts) {
      assert.equal(r.result.value[1], 'closed\n', r.stderr);
      assert.equal(flag.status, 0, flag.stderr);
    } else {
      assert.equal(r.status, 1);
      for (const text of [r.result.error.message, flag.stderr]) {
        assert.match(text, /sandbox\.mounts is required, and there are no private mounts: /);
        assert.match(text, why(user));
      }
    }
  });

  test(`home: real, with the state in it, ${as}`, { skip }, t => {
    const p = person(t, user, { ...rules, 'harness.md': '---\nsandbox: { home: real }\n---\nHi.\n' });
    const r = p.call('sh', { do: 'cd ~ && touch made && ls -A .local/state/harness .config/harness; touch .config/harness/x; mv .local other; mv .config other; true' });
    if (!mounted) {
      assert.equal(r.status, 1);
      assert.match(r.stdout + r.stderr, /sandbox\.home: real would open .* and there are no private mounts to cover it: /);
      assert.match(r.stdout + r.stderr, why(user));
      return;
    }
    assert.equal(r.status, 0, r.stderr);
    assert.equal(r.result.value[1], '.config/harness:\n\n.local/state/harness:\n');
    assert.equal(r.result.value[2].match(/Read-only file system|Device or resource busy/g).length, 3, r.result.value[2]);
    assert.ok(existsSync(join(p.home, 'made')) && !existsSync(join(p.home, 'other')));
    assert.ok(existsSync(join(p.home, '.local/state/harness')));
  });
}

for (const user of ways) {
  test(`visible effects of private mounts, as ${user.name}`, { skip }, t => {
    const p = person(t, user, { ...rules, '.claude/settings.json': '{}' }), mounted = mounts(user);
    const look = 'import os, errno\nopen("f", "w")\ntry:\n  os.rename("f", ".claude/CLAUDE.md")\n  print("renamed")\nexcept OSError as e: print(errno.errorcode[e.errno])\n'
      + 'print(os.stat("/etc/passwd").st_uid, os.stat(".").st_uid == os.getuid())';
    const r = p.call('sh', { do: `python3 -c '${look}'; touch g && mv g .claude/plans && ls .claude/plans` });
    assert.equal(r.result.value[1], `${mounted ? 'EXDEV' : 'renamed'}\n${user.is === 'user' && (mounted || user.forbid) ? 65534 : 0} True\n.claude/plans\n`, r.result.value[2]);
  });
}

for (const user of users) {
  const as = `as ${user.name}`;

  test(`home: real with a home of "/", ${as}`, { skip }, t => {
    const p = person(t, user, { ...rules, 'harness.md': '---\nsandbox: { home: real }\n---\nHi.\n' });
    const env = { HOME: '/', XDG_STATE_HOME: join(p.home, 'state'), XDG_CONFIG_HOME: join(p.home, 'config') };
    const r = p.harness(['call', 'sh', JSON.stringify({ do: `touch ${p.home}/made; ls -A ${p.home}/state/harness; touch ${p.home}/config/harness/x` }), '--json', '--yes'], { env });
    assert.equal(r.status, 0, r.stderr);
    const [, out, err] = JSON.parse(r.stdout).value;
    assert.ok(existsSync(join(p.home, 'made')), err);
    assert.equal(out, '');
    assert.match(err, /config\/harness\/x.*Read-only file system/);
  });

  // A long-running program is restarted when a protected file has lost its mount.
  test(`a server is restarted when a protected file was replaced, ${as}`, { skip }, async t => {
    const server = `
import json, os, sys
for line in sys.stdin:
    m = json.loads(line)
    if 'id' not in m: continue
    if m['method'] == 'initialize':
        r = {'protocolVersion': m['params']['protocolVersion'], 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'm', 'version': '1'}}
    elif m['method'] == 'tools/list':
        r = {'tools': [{'name': 'who', 'description': 'Tells.', 'inputSchema': {'type': 'object'}}]}
    elif m['method'] == 'tools/call':
        try:
            open('harness.md', 'r+b')
            closed = False
        except OSError:
            closed = True
        r = {'content': [{'type': 'text', 'text': open('/proc/sys/kernel/random/uuid').read() if not hasattr(sys, 'who') else sys.who}]}
        sys.who = r['content'][0]['text']
        r['content'][0]['text'] += ' closed' if closed else ' open'
    else:
        r = {}
    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)
`;
    const p = person(t, user, { ...rules, 'harness.md': '---\nsandbox: {}\nmeta: { enabled: true }\nmcp_servers:\n  m: { command: python3, args: [server.py] }\n---\nHi.\n', 'server.py': server,
      '.harness/tools/ask.md': tool('out = []\nfor i in range(4):\n    out.append(str(meta.call_tool("mcp:m:who", {})))\n    exec.run("/bin/sh", ["-c", "touch step%d; while [ ! -e go%d ]; do sleep 0.02; done" % (i, i)])\nreturn out') });
    assert.equal(p.harness(['mcp', 'tools', 'm']).status, 0);                // its tools are now known
    const [program, args] = command(user, p.bin, ['call', 'ask', '{}', '--json', '--yes']);
    const child = spawn(program, args, { ...p.options, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '', err = '';
    child.stdout.on('data', d => { out += d; });
    child.stderr.on('data', d => { err += d; });
    const ended = new Promise(resolve => child.on('close', resolve));
    undo(t, () => child.kill('SIGKILL'));
    const reached = async i => { while (!p.has(`step${i}`) && child.exitCode === null) await new Promise(resolve => setTimeout(resolve, 20)); };
    for (let i = 0; i < 4; i++) {
      await reached(i);
      if (i === 1) {                                      // saved by rename, with the same content
        const fresh = join(p.home, 'fresh');
        writeFileSync(fresh, p.text('harness.md'));
        if (user.uid) chownSync(fresh, user.uid, user.gid);
        renameSync(fresh, join(p.dir, 'harness.md'));
      }
      writeFileSync(join(p.dir, `go${i}`), '');
    }
    assert.equal(await ended, 0, err + out);
    const seen = JSON.parse(out).value.map(text => /([0-9a-f-]{36})[^a-z]*(open|closed)/.exec(text));
    assert.ok(seen.every(Boolean), out);
    assert.deepEqual(seen.map(s => s[2]), ['closed', 'closed', 'closed', 'closed']);
    assert.equal(seen[0][1], seen[1][1]);
    assert.notEqual(seen[1][1], seen[2][1], 'the server was not started again');
    assert.equal(seen[2][1], seen[3][1]);
  });

  const root = { skip: skip || (!isRoot && 'needs root') };
  const setpriv = user.uid === undefined ? '' : `setpriv --reuid ${user.uid} --regid ${user.gid} --clear-groups `;
  // Runs as root in a mount namespace of the test, then as the user.
  const within = (p, before, script) => spawnSync('unshare', ['--mount', '--propagation', 'private', 'bash', '-euc',
    `cd ${p.dir}; ${before}; exec ${setpriv}${p.bin} sandbox --mounts required -- bash -c "$0"`, script], { env: p.env, encoding: 'utf8', timeout: 60000 });

  test(`a workspace on another file system keeps the flags of its mounts, and what is mounted in a protected folder is closed, ${as}`, root, t => {
    const p = person(t, user, rules), owner = user.uid ?? 0;
    const made = `mount -t tmpfs -o nosuid,nodev,noexec,noatime,mode=777 none ${p.dir}; cd ${p.dir}; mkdir -p .github/hooks/deep; echo '{}' > .mcp.json; printf '#!/bin/sh\\n' > run; chmod 755 run;
      mount -t tmpfs -o nosuid,mode=777 none .github/hooks/deep; echo x > .github/hooks/deep/f; chown -R ${owner}:${owner} .`;
    const r = within(p, made, `grep -E ' ${p.dir}( |/)' /proc/self/mountinfo | cut -d' ' -f5,6; touch new && echo wrote; ./run || echo no exec; echo x > .mcp.json || echo closed; echo x > .github/hooks/deep/f || echo closed; mv .github g || echo stays`);
    assert.equal(r.status, 0, r.stderr);
    const flags = Object.fromEntries(r.stdout.split('\n').filter(line => line.startsWith('/')).map(line => line.split(' ')));
    for (const [path, mode] of [['', 'rw'], ['/.github', 'rw'], ['/.mcp.json', 'ro'], ['/.github/hooks', 'ro']])
      for (const flag of [mode, 'nosuid', 'nodev', 'noexec', 'noatime']) assert.ok(flags[p.dir + path].split(',').includes(flag), `${path}: ${flag} in ${flags[p.dir + path]}`);
    for (const flag of ['ro', 'nosuid']) assert.ok(flags[`${p.dir}/.github/hooks/deep`].split(',').includes(flag), flags[`${p.dir}/.github/hooks/deep`]);
    assert.equal(r.stdout.split('\n').filter(line => !line.startsWith('/')).join(' ').trim(), 'wrote no exec closed closed stays', r.stderr);
  });

  test(`a workspace on an overlay, ${as}`, root, t => {
    const p = person(t, user, rules), owner = user.uid ?? 0;
    const made = `mount -t tmpfs none ${p.home}; mkdir -p ${p.home}/{lower,upper,work}; echo '{}' > ${p.home}/lower/.mcp.json; mount -t overlay -o lowerdir=${p.home}/lower,upperdir=${p.home}/upper,workdir=${p.home}/work none ${p.dir};
      cd ${p.dir}; chown -R ${owner}:${owner} . ${p.home}; mkdir ${p.home}/.local; chown ${owner} ${p.home}/.local`;
    const r = within(p, made, 'echo x > .mcp.json || echo closed; rm -f .mcp.json || echo stays; echo x > new && echo wrote');
    if (/unknown filesystem type 'overlay'/.test(r.stderr)) return t.skip('no overlay here');
    assert.deepEqual([r.status, r.stdout], [0, 'closed\nstays\nwrote\n'], r.stderr);
  });

  test(`a /proc that is partly covered, as in a container, ${as}`, root, t => {
    const p = person(t, user, { ...rules, '.mcp.json': '{}' });
    const r = within(p, 'mount -t tmpfs none /proc/tty', 'echo x > .mcp.json || echo closed; [ -e /proc/1/comm ] && cat /proc/1/comm; (sleep 100 &) ; true');
    assert.equal(r.status, 0, r.stderr);
    const own = user.is === 'root';                       // the kernel still lets root mount another /proc
    assert.match(r.stdout, own ? /^closed\nharness-super\n$/ : /^closed\n(?!harness-super)/);
    if (own) return;
    const doctor = spawnSync('unshare', ['--mount', '--propagation', 'private', 'bash', '-euc', `mount -t tmpfs none /proc/tty; exec ${setpriv}${p.bin} doctor`], { env: p.env, encoding: 'utf8' });
    assert.match(doctor.stdout, /ok +private mounts +through a user namespace, without a \/proc of their own: cannot mount \/proc \(Operation not permitted\)/);
  });

  // As Ubuntu does it: a user namespace may be made, and mounts in it are refused.
  test(`a user namespace without the right to mount is detected, ${as}`, { skip }, t => {
    const p = person(t, user, rules), refuse = (...args) => spawnSync(programs().attempts, ['no-mount', p.bin, ...args], p.options);
    const doctor = refuse('doctor'), call = refuse('sandbox', '--', 'echo', 'ran'), required = refuse('sandbox', '--mounts', 'required', '--', 'echo', 'ran');
    assert.match(doctor.stdout, user.is === 'root' ? /no +private mounts +cannot separate the mounts \(Operation not permitted\): a container's filter or a security module forbids it/
      : /no +private mounts +cannot separate the mounts \(Operation not permitted\): a security module forbids it \(on Ubuntu: AppArmor, sysctl kernel\.apparmor_restrict_unprivileged_userns\)/);
    assert.deepEqual([call.status, call.stdout], [0, 'ran\n'], call.stderr);
    assert.deepEqual([required.status, required.stdout], [1, ''], required.stderr);
    assert.match(required.stderr, /cannot separate the mounts/);
  });
}

test('sandbox.mounts is checked when it is read', t => {
  const p = person(t, users[0], { 'harness.md': '---\nsandbox: { mounts: requierd, mount: auto }\n---\n' });
  const r = p.harness(['validate']);
  assert.match(r.stderr + r.stdout, /harness\.md:2:12: sandbox\.mounts: expected required, auto or off, got "requierd" \(did you mean "required"\?\)/);
  assert.match(r.stderr + r.stdout, /unknown key "mount" \(did you mean "mounts"\?\)/);
  const flag = p.harness(['sandbox', '--mounts', 'on', '--', 'true']);
  assert.notEqual(flag.status, 0);
  assert.match(flag.stderr, /--mounts: expected required, auto or off, got "on"/);
});
