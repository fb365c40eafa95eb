// Files that harness writes because the user named them (--events, --record, --junit, --html; /save: talk.test.mjs): an earlier tool call cannot redirect them.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scripted } from './agents.mjs';
import { tool } from './calls.mjs';
import { person, users, ways } from './persons.mjs';

const sh = tool('r = exec.run("/bin/sh", ["-c", args["do"]])\nreturn [r["exit_code"], r["stdout"], r["stderr"]]', 'parameters:\n  do: { type: string }');
const model = 'def reply(messages, tools):\n    return "done"\n';
const files = { ...scripted(model, 'sandbox: {}\n'), '.harness/tools/sh.md': sh, '.harness/tests/t.yaml': 'call: { tool: sh, args: { do: "true" } }\n' };
const doors = {
  '--events': (p, file) => p.harness(['call', 'sh', '{"do":"true"}', '--yes', '--events', file]),
  '--record': (p, file) => p.harness(['run', '-p', 'go', '--record', file]),
  '--junit': (p, file) => p.harness(['test', '--junit', file]),
  '--html': (p, file) => { p.harness(['run', '-p', 'go']); return p.harness(['runs', 'show', 'last', '--html', file]); },
};
const written = { '--events': /"type"/, '--record': /done|messages|hash/, '--junit': /<testsuites/, '--html': /<!doctype html>/ };

// What a tool call leaves in the workspace, and the path that the user names.
const plants = {
  'a link': ['ln -s HOME/mine out.txt', 'out.txt', /out\.txt is a symbolic link in a place that tools can write/],
  'a link to nowhere': ['ln -s HOME/new out.txt', 'out.txt', /out\.txt is a symbolic link in a place that tools can write/],
  'a folder that is a link': ['ln -s HOME logs', 'logs/new', /logs is a symbolic link in a place that tools can write/],
  'a folder that is a link, and ..': ['mkdir -p a && ln -s HOME/sub a/up', 'a/up/../new', /a\/up is a symbolic link in a place that tools can write/],
  'a FIFO': ['mkfifo out.txt', 'out.txt', /it is a FIFO/],
};

for (const user of ways)
  for (const [door, open] of Object.entries(doors))
    for (const [what, [plant, file, message]] of Object.entries(plants)) {
      test(`${door} and ${what}, as ${user.name}`, t => {
        const p = person(t, user, files);
        p.sh('mkdir -p ~/sub; echo mine > ~/mine');
        assert.equal(p.call('sh', { do: plant.replaceAll('HOME', p.home) }).result.value[0], 0);
        for (const name of [file, `${p.dir}/${file}`]) {                       // join() would take the .. away
          const r = open(p, name);
          assert.match(r.stderr, message, r.stdout);
          assert.notEqual(r.status, 0);
        }
        assert.equal(readFileSync(join(p.home, 'mine'), 'utf8'), 'mine\n');
        assert.ok(!existsSync(join(p.home, 'new')));
      });
    }

for (const user of users) {
  for (const [door, open] of Object.entries(doors)) {
    test(`${door} writes a file of the workspace, one outside, and one below a person's link, as ${user.name}`, t => {
      const p = person(t, user, files);
      p.sh('mkdir -p ~/logs; ln -s ~/logs ~/link; mkdir sub');
      const names = ['new.txt', 'sub/new.txt', './sub/../two.txt', join(p.dir, 'three.txt'), ...(door === '--record' ? [] : [join(p.home, 'four.txt'), join(p.home, 'link/five.txt')])];
      for (const name of names) {
        const r = open(p, name);
        assert.equal(r.status, 0, `${name}: ${r.stderr}`);
        assert.match(readFileSync(join(name.startsWith('/') ? '' : p.dir, name), 'utf8'), written[door]);
      }
    });

    test(`${door} does not write to a file with two names, nor through a link of a person, as ${user.name}`, t => {
      const p = person(t, user, files);
      p.sh('echo mine > ~/mine; ln ~/mine two.txt; ln -s ~/mine ~/link.txt');
      assert.match(open(p, 'two.txt').stderr, /it has another name elsewhere \(a hard link\)/);
      assert.match(open(p, join(p.home, 'link.txt')).stderr, /link\.txt is a symbolic link, and harness does not write through one \(name the file that it leads to\)/);
      assert.equal(readFileSync(join(p.home, 'mine'), 'utf8'), 'mine\n');
    });
  }

  test(`streams are named as before: /dev/stdout, /dev/fd/3, a process of the shell, a FIFO that is read, as ${user.name}`, t => {
    const p = person(t, user, files), call = `${p.bin} call sh '{"do":"true"}' --yes --events`;
    for (const script of [`${call} /dev/stdout | grep '"type"'`, `${call} /dev/fd/3 3>&1 >/dev/null | grep '"type"'`, `${call} /proc/self/fd/3 3>&1 >/dev/null | grep '"type"'`,
      `${call} >(cat >~/got); sleep 1; grep '"type"' ~/got`, `mkfifo ~/f; exec 4<>~/f; ${call} ~/f; head -n 1 <&4`]) {
      const r = p.sh(script);
      assert.match(r.stdout, /"type"/, `${script}: ${r.stderr}`);
    }
    assert.match(p.sh(`mkfifo ~/g; ${call} ~/g`).stderr, /it is a FIFO that no program reads \(start the program that reads it first\)/);
  });

  test(`a write root and the write root of a server count, as ${user.name}`, t => {
    const p = person(t, user, { ...files, 'harness.md': '---\nsandbox: { write_roots: [../home/w] }\nmcp_servers:\n  s: { command: "true", write_roots: [../home/s] }\n---\nHi.\n', '../home/w/x': '', '../home/s/x': '' });
    p.sh('echo mine > ~/mine; ln -s ~/mine ~/w/link; ln -s ~ ~/s/link');
    assert.match(doors['--events'](p, join(p.home, 'w/link')).stderr, /w\/link is a symbolic link in a place that tools can write/);
    assert.match(doors['--events'](p, join(p.home, 's/link/new')).stderr, /s\/link is a symbolic link in a place that tools can write/);
    assert.equal(readFileSync(join(p.home, 'mine'), 'utf8'), 'mine\n');
  });
}

for (const user of users)
  for (const [door, open] of Object.entries(doors))
    test(`${door} writes no file that the next start reads, as ${user.name}`, t => {
      const p = person(t, user, files), before = p.text('harness.md');
      for (const name of ['harness.md', '.harness/tools/new.md', 'tools.json', '.mcp.json', `${p.dir}/.git/config`]) {
        const r = open(p, name);
        assert.match(r.stderr, /it is a protected file of the project \(choose another file\)/, name);
        assert.notEqual(r.status, 0);
      }
      assert.equal(p.text('harness.md'), before);
      assert.ok(!p.has('tools.json') && !p.has('.harness/tools/new.md'));
    });

for (const user of users)
  test(`--record writes a recording beside the tests, and no test, as ${user.name}`, t => {
    const p = person(t, user, { ...files, '.harness/tests/.keep': '' });
    assert.match(doors['--record'](p, '.harness/tests/new.md').stderr, /it is a protected file of the project/);
    assert.doesNotMatch(doors['--record'](p, '.harness/tests/new.jsonl').stderr, /protected/);
    assert.ok(p.has('.harness/tests/new.jsonl') && !p.has('.harness/tests/new.md'));
  });
