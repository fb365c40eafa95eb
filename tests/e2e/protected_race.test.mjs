// Two processes in one project: whatever a call in the first one does to the rules, even briefly, the second one uses the user's.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { hook, tool } from './calls.mjs';
import { undo } from './harness.mjs';
import { person, users } from './persons.mjs';

const sh = tool('r = exec.run("/bin/sh", ["-c", args["do"]])\nreturn [r["exit_code"], r["stdout"], r["stderr"]]', 'parameters:\n  do: { type: string }');
const which = text => tool(`return "${text}"`);
const rules = { 'harness.md': '---\nsandbox: {}\n---\nHi.\n', '.harness/tools/sh.md': sh, '.harness/tools/which.md': which('the person'), '.harness/hooks/g.md': hook('log', 'return allow()'),
  '.harness/tests/t.md': '---\ncall: { tool: which }\nresult: the person\n---\n' };
const starts = Number(process.env.HARNESS_RACE_STARTS ?? 100);
const sleep = ms => new Promise(done => setTimeout(done, ms));

// Changes a tool back and forth and creates a manifest, each for one round of the loop. Mounts prevent the change of an existing file, but tools.json
// can always be created.
const flip = `
import os, time
good = open('.harness/tools/which.md').read()
evil = good.replace('the person', 'the attacker')
other = '{"tools": [{"name": "planted", "description": "x", "command": ["/bin/true"]}]}'
def put(path, text):
    try:
        with open('flip.tmp', 'w') as f: f.write(text)
        os.rename('flip.tmp', path)
    except OSError: pass
def drop(path):
    try: os.unlink(path)
    except OSError: pass
open('ready', 'w').close()
end = time.time() + 120
while time.time() < end and not os.path.exists('stop'):
    put('.harness/tools/which.md', evil)
    put('tools.json', other)
    time.sleep(0.003)
    put('.harness/tools/which.md', good)
    drop('tools.json')
    time.sleep(0.003)
`;

async function flipping(t, p) {
  p.add({ 'flip.py': flip });
  const child = spawn(p.bin, ['call', 'sh', JSON.stringify({ do: 'exec python3 flip.py' }), '--yes', '--timeout', '300'], { ...p.options, stdio: 'ignore' });
  const end = new Promise(done => child.on('exit', code => done(code)));
  undo(t, () => child.kill('SIGKILL'));
  for (let i = 0; !p.has('ready'); i++) { assert.ok(i < 1000, 'the call begins'); await sleep(20); }
  return async () => { p.sh('touch stop'); return end; };
}

for (const user of users)
  test(`a second process beside a call that flips the rules, as ${user.name}`, { timeout: 280000 }, async t => {
    const p = person(t, user, rules), stop = await flipping(t, p);
    for (let i = 0; i < starts; i++) {
      const r = i % 3 === 2 ? p.harness(['tools', '--json']) : p.call('which');
      assert.equal(r.status, 0, r.stdout + r.stderr);
      if (i % 3 === 2) assert.ok(!JSON.parse(r.stdout).some(x => x.name === 'planted'), `start ${i} loaded tools.json`);
      else assert.equal(r.result.value, 'the person', `start ${i} ran the attacker's tool`);
      // Tests run in a copy: it has the user's files, or none.
      if (i % 10 === 4) assert.doesNotMatch(p.harness(['test']).stdout, /the attacker|planted/);
      // A call that can write takes its own snapshot, and restores from that.
      if (i % 10 === 9) assert.ok(p.call('sh', { do: 'true' }).status !== undefined);
    }
    await stop();
    assert.equal(p.text('.harness/tools/which.md'), rules['.harness/tools/which.md']);
    assert.ok(!p.has('tools.json'));
    assert.equal(p.call('which').result.value, 'the person');
  });
