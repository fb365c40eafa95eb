// read_roots and write_roots are what they were when harness started: a call cannot make one lead elsewhere for the next call.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scripted, talker } from './agents.mjs';
import { undo } from './harness.mjs';

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
