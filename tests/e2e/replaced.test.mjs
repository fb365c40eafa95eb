// A call that may write above the project's folder replaces that folder and is killed: the next start does not load the replacement.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hook, tool } from './calls.mjs';
import { command } from './escapes.mjs';
import { undo } from './harness.mjs';
import { mounts, person, ways } from './persons.mjs';

const sh = tool('r = exec.run("/bin/sh", ["-c", args["do"]])\nreturn [r["exit_code"], r["stdout"], r["stderr"]]', 'parameters:\n  do: { type: string }');
const sleep = ms => new Promise(done => setTimeout(done, ms));
const guard = hook('tool.pre', 'if "touch ran" in str(payload):\n  return block("the guard of the person")\nreturn allow()');

// What the call does in the folder above, "up", with the project "up/p"; whether that folder is the workspace or a write root.
const tricks = {
  'a link to another folder': ['mv p gone && ln -s q p', false],
  'a link to a folder deeper in': ['mv p gone && mkdir -p q/src && ln -s q/src p', true],
  'another folder': ['mv p gone && mv q p', false],
  'a link in place of the folder above': ['cd .. && mv up away && mkdir other && mv away/q other/p && ln -s other up', true],
};

for (const user of ways)
  for (const [what, [trick, workspace]] of Object.entries(tricks))
    test(`${what}, ${workspace ? 'a workspace' : 'a write root'} above, as ${user.name}`, async t => {
      const above = what.includes('above') ? '../..' : '..';
      const head = workspace ? `workspace: ${above}\nsandbox: {${user.mounts ? ' mounts: off ' : ''}}\n` : `sandbox: { write_roots: [${above}]${user.mounts ? ', mounts: off' : ''} }\n`;
      const p = person(t, user, { 'w/up/p/harness.md': `---\n${head}---\nHi.\n`, 'w/up/p/.harness/tools/sh.md': sh, 'w/up/p/.harness/hooks/g.md': guard,
        'w/up/q/harness.md': '---\nsandbox: {}\n---\nHi.\n', 'w/up/q/.harness/tools/sh.md': sh });
      const up = join(p.dir, 'w/up'), dir = join(up, 'p');
      const before = p.harness(['call', 'sh', '{"do":"touch ran"}', '--yes'], { cwd: dir });
      assert.match(before.stdout + before.stderr, /the guard of the person/);
      const child = spawn(...command(user, p.bin, ['call', 'sh', JSON.stringify({ do: `cd ${up}; ${trick} 2>&1; touch ${p.dir}/w/ready 2>/dev/null || touch ${up}/ready; sleep 30` }), '--yes']), { ...p.options, cwd: dir, stdio: 'ignore' });
      const end = new Promise(done => child.on('exit', done));
      undo(t, () => child.kill('SIGKILL'));
      const ready = () => existsSync(join(p.dir, 'w/ready')) || existsSync(join(up, 'ready'));
      for (const until = Date.now() + 20000; !ready() && Date.now() < until;) await sleep(10);
      for (const dead of [false, true]) {
        if (dead) child.kill('SIGKILL'), await end;
        const read = p.harness(['-C', dir, 'hooks'], { cwd: p.dir });
        assert.match(read.stdout + read.stderr, /\bg\b|is now a link that leads to/);
        const r = p.harness(['-C', dir, 'call', 'sh', '{"do":"touch ran"}', '--yes'], { cwd: p.dir });
        assert.match(r.stdout + r.stderr, /the guard of the person|is now a link that leads to/);
      }
      assert.ok(p.sh('find . -name ran | grep .').status !== 0);
      if (mounts(user) && !user.mounts) assert.ok(existsSync(join(dir, '.harness/hooks/g.md')));
    });
