// read_roots and write_roots are fixed when harness starts: a call cannot redirect one for the next call.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scripted, talker } from './agents.mjs';
import { tool } from './calls.mjs';
import { undo } from './harness.mjs';
import { person, users, ways } from './persons.mjs';

// Two calls of one run: the first exchanges the root, the second tries to go through it.
const model = `
def reply(messages, tools):
    said = [m["content"] for m in messages if m["role"] == "tool"]
    commands = json.decode(messages[1]["content"])
    if len(said) == len(commands):
        return json.encode(said)
    return {"tool_calls": [{"name": "bash", "arguments": {"command": commands[len(said)]}}]}
`;

for (const mounts of ['auto', 'off'])
  for (const [kind, first] of [
    ['read_roots', 'mv data d2 && mkdir data && ln -s OUT data/x'], ['write_roots', 'mv data d2 && mkdir data && ln -s OUT data/x'],
    ['read_roots', 'rmdir data/x; ln -s OUT data/x'], ['write_roots', 'rmdir data/x; ln -s OUT data/x'],
  ])
    test(`${kind}, mounts ${mounts}: ${first}`, async t => {
      const out = mkdtempSync(join(tmpdir(), 'harness-out-'));
      undo(t, () => rmSync(out, { recursive: true, force: true }));
      chmodSync(out, 0o777);
      writeFileSync(join(out, 'secret'), 'canary-7231\n');
      const p = talker(t, scripted(model, `builtin_tools: [bash]\nsandbox: { ${kind}: [data/x], mounts: ${mounts} }\n`));
      mkdirSync(join(p.dir, 'data/x'), { recursive: true });
      const r = await p.say(JSON.stringify([first.replace('OUT', out), `cat ${out}/secret data/x/secret; echo mine > ${out}/planted; echo mine > data/x/planted`]));
      const said = JSON.stringify(r.reply ?? r);
      assert.doesNotMatch(said.replaceAll(out, ''), /canary-7231/, said);
      assert.ok(!existsSync(join(out, 'planted')), said);
      assert.equal(readFileSync(join(out, 'secret'), 'utf8'), 'canary-7231\n');
    });

// Two starts: a call of the first one exchanges what leads to the workspace or to a root of the second one, from a place that it may write.
const sh = tool('r = exec.run("/bin/sh", ["-c", args["do"]])\nreturn [r["exit_code"], r["stdout"], r["stderr"]]', 'parameters:\n  do: { type: string }');
const settings = {
  'the workspace, by a write root above it': ['workspace: ws\nsandbox: { write_roots: [.] }\n', 'cd ..; mv ws gone && ln -s OUT ws'],
  'the workspace, deeper in a write root': ['workspace: a/ws\nsandbox: { write_roots: [.] }\n', 'cd ../..; mv a gone; rm -rf a; mkdir a; ln -s OUT a/ws'],
  'a write root inside another one': ['workspace: ws\nsandbox: { write_roots: [shared, shared/a/x] }\n', 'cd ../shared; mv a gone; mkdir -p a; ln -s OUT a/x'],
  'a read root inside a write root': ['workspace: ws\nsandbox: { write_roots: [shared], read_roots: [shared/a/x] }\n', 'cd ../shared; mv a gone; mkdir -p a; ln -s OUT a/x'],
  'a root that leads through a folder of a write root and ..': ['workspace: ws\nsandbox: { write_roots: [shared], read_roots: [shared/a/../../more] }\n', 'cd ../shared; mv a gone; ln -s OUT/deep/er a'],
};
for (const user of ways)
  for (const [what, [head, trick]] of Object.entries(settings))
    test(`${what}, as ${user.name}`, t => {
      const p = person(t, user, { 'harness.md': `---\n${head}---\nHi.\n`, '.harness/tools/sh.md': sh, 'ws/f': '', 'a/ws/f': '', 'shared/a/x/f': '', 'more/f': '' });
      p.sh('mkdir -p ../out/deep/er ../out/more; echo canary-7231 | tee ../out/secret > ../out/more/secret');
      const out = join(p.dir, '../out');
      p.call('sh', { do: trick.replace('OUT', out) });
      const r = p.call('sh', { do: `cat ${out}/secret ${out}/more/secret; echo mine > ${out}/planted; touch planted` });
      assert.doesNotMatch((r.stdout + r.stderr).replaceAll(out, ''), /canary-7231/);
      assert.ok(!existsSync(join(out, 'planted')));
      if (p.sh('test -L ws -o -L a/ws -o -L shared/a/x -o -L shared/a').status === 0) assert.match(r.stdout + r.stderr, /the link \S+ lies inside \S+, where tools can write, and leads to/);
    });

for (const user of users) {
  test(`the root of a server, and harness sandbox, as ${user.name}`, t => {
    const p = person(t, user, { 'harness.md': '---\nworkspace: ws\nsandbox: { write_roots: [shared] }\nmcp_servers:\n  s: { command: sh, args: [-c, "touch ran"], read_roots: [shared/x] }\n---\nHi.\n',
      '.harness/tools/sh.md': sh, 'ws/f': '', 'shared/x/f': '' });
    p.sh('mkdir ../out');
    p.call('sh', { do: `rm -rf ../shared/x; ln -s ${join(p.dir, '../out')} ../shared/x` });
    for (const args of [['mcp', 'tools', 's'], ['-C', 'ws', 'sandbox', '--write', '../shared', '--read', '../shared/x', '--', 'touch', 'ran']]) {
      const r = p.harness(args);
      assert.match(r.stdout + r.stderr, /the link \S+ lies inside \S+, where tools can write, and leads to/);
    }
    assert.ok(!p.has('ws/ran'));
  });

  test(`a link of a person to the workspace and to a root, where no tool can write, as ${user.name}`, t => {
    const p = person(t, user, { 'harness.md': '---\nworkspace: link\nsandbox: { write_roots: [more] }\n---\nHi.\n', '.harness/tools/sh.md': sh });
    p.sh('mkdir ../real ../other; ln -s ../real link; ln -s ../other more');
    const r = p.call('sh', { do: 'touch made; touch ../other/made' });
    assert.equal(r.status, 0, r.stderr);
    assert.ok(existsSync(join(p.dir, '../real/made')) && existsSync(join(p.dir, '../other/made')));
  });
}
