// A call that creates a name at which the next load would stop (Harness.md, .harnes/): the file is removed and a copy is kept, as for any protected
// name.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tool } from './calls.mjs';
import { command } from './escapes.mjs';
import { undo } from './harness.mjs';
import { person, users, ways } from './persons.mjs';

const sh = tool('r = exec.run("/bin/sh", ["-c", args["do"]])\nreturn [r["exit_code"], r["stdout"], r["stderr"]]', 'parameters:\n  do: { type: string }');
const write = tool('fs.write(args["path"], "x")\nreturn "ok"', 'parameters:\n  path: { type: string }');
const rules = { 'harness.md': '---\nsandbox: {}\n---\nHi.\n', '.harness/tools/sh.md': sh, '.harness/tools/put.md': write };
const files = ['Harness.md', 'HARNESS.MD', 'harness.json', 'harness.toml', '.harness.md', '.MCP.json', 'Tools.json', 'harness.markdown', 'Space.manifest.json'];
const folders = ['.harnes', '.Harness', '.harnesss', '.harnessX'];
const sleep = ms => new Promise(done => setTimeout(done, ms));

for (const user of ways) {
  const as = `as ${user.name}`;

  test(`names that are nearly those of the project, ${as}`, t => {
    const p = person(t, user, rules);
    const r = p.call('sh', { do: `for f in ${files.join(' ')}; do echo mine > $f; done; mkdir ${folders.join(' ')}; touch .harnes/f` });
    assert.notEqual(r.status, 0);
    for (const name of [...files, ...folders]) assert.ok(!p.has(name), name);
    assert.match(r.stdout + r.stderr, /\.harnes was made by the call and has been removed/);
    const next = p.harness(['validate']);
    assert.equal(next.status, 0, next.stderr);
    const at = join(p.home, '.local/state/harness/rules/displaced');
    const kept = readdirSync(at).map(n => readFileSync(join(at, n, 'path'), 'utf8').slice(p.dir.length + 1).trim());
    for (const name of files) assert.ok(kept.includes(name), `${name}: ${kept}`);
  });

  test(`links, FIFOs, an entry that is called like the rule, other names, ${as}`, t => {
    const p = person(t, user, rules);
    p.call('sh', { do: 'mkdir d; ln -s d .harnes; ln -s nowhere Harness.yaml; mkfifo Harness.yml; touch "*~"; touch harness.mdown .harnes2; mkdir .harness2x notes; touch notes/Harness.md' });
    for (const name of ['.harnes', 'Harness.yaml', 'Harness.yml', '*~']) assert.ok(p.sh(`test -e '${name}' -o -L '${name}'`).status !== 0, name);
    for (const name of ['d', 'harness.mdown', '.harnes2', '.harness2x', 'notes/Harness.md']) assert.ok(p.has(name), name);
    const next = p.harness(['validate']);
    assert.equal(next.status, 0, next.stderr);
  });

  test(`kill -9, and another process beside the call, ${as}`, async t => {
    const p = person(t, user, rules);
    const child = spawn(...command(user, p.bin, ['call', 'sh', JSON.stringify({ do: 'mkdir .harnes; echo x > Harness.md; touch ready; sleep 30' }), '--yes']), { ...p.options, stdio: 'ignore' });
    const end = new Promise(done => child.on('exit', done));
    undo(t, () => child.kill('SIGKILL'));
    for (const until = Date.now() + 20000; !p.has('ready') && Date.now() < until;) await sleep(10);
    const reading = p.harness(['validate']);
    assert.equal(reading.status, 0, reading.stderr);
    assert.ok(p.has('Harness.md'));
    child.kill('SIGKILL');
    await end;
    const r = p.call('sh', { do: 'true' });
    assert.equal(r.status, 0, r.stderr);
    assert.match(r.stderr, /Harness\.md was made by the call and has been removed/);
    assert.ok(!p.has('Harness.md') && !p.has('.harnes'));
  });
}

for (const user of users) {
  test(`functions of scripts refuse the names at once, as ${user.name}`, t => {
    const p = person(t, user, rules);
    for (const path of ['Harness.md', '.harnes/x', 'harness.toml']) assert.match(p.call('put', { path }).stdout, /protected/, path);
    assert.equal(p.call('put', { path: 'notes.md' }).status, 0);
  });

  test(`what was there before the call stays, as ${user.name}`, t => {
    const p = person(t, user, { ...rules, 'harness.md': '---\nsandbox: {}\nmodel: { provider: script, name: s, script: harness.txt }\n---\nHi.\n', 'harness.txt': 'def reply(messages, tools):\n    return "ok"\n' });
    const r = p.call('sh', { do: 'echo y > other' });
    assert.equal(r.status, 0, r.stdout + r.stderr);
    assert.ok(p.has('harness.txt') && existsSync(join(p.dir, 'other')));
  });

  test(`a folder that cannot be listed, as ${user.name}`, { skip: user.uid === undefined && 'root can list all' }, t => {
    const p = person(t, user, rules);
    p.sh('chmod 311 .');
    assert.equal(p.call('sh', { do: 'touch x' }).status, 0);
  });
}
