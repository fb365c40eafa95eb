// Every command that loads a project reads the user's files, also after a killed call; and the user decides what happens to files that changed meanwhile.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scripted } from './agents.mjs';
import { hook, tool } from './calls.mjs';
import { root, undo } from './harness.mjs';
import { person, users } from './persons.mjs';

const sh = tool('r = exec.run("/bin/sh", ["-c", args["do"]])\nreturn [r["exit_code"], r["stdout"], r["stderr"]]', 'parameters:\n  do: { type: string }');
const rules = { 'harness.md': '---\nsandbox: {}\n---\nHi.\n', '.harness/tools/sh.md': sh, '.harness/tools/a.md': tool('return 1'), '.harness/hooks/g.md': hook('log', 'return allow()') };
const sleep = ms => new Promise(done => setTimeout(done, ms));
const folder = p => join(p.home, '.local/state/harness/rules');
const marks = p => (existsSync(folder(p)) ? readdirSync(folder(p)) : []).filter(n => n.startsWith('mark-'));
const planted = '{"tools": [{"name": "planted", "description": "x", "command": ["/bin/true"]}]}';

async function until(what, ms = 20000) {
  for (const end = Date.now() + ms; !what();) {
    if (Date.now() > end) throw new Error('it does not happen');
    await sleep(10);
  }
}

// A call that runs until it is killed. Whether the kernel lets it change existing rules or not, it can make tools.json.
async function working(t, p, does = 'true') {
  const child = spawn(p.bin, ['call', 'sh', JSON.stringify({ do: `${does}; echo x > ready; trap "" TERM INT; sleep 60 & wait` }), '--yes'], { ...p.options, stdio: 'ignore' });
  const end = new Promise(done => child.on('exit', (code, signal) => done({ code, signal })));
  undo(t, () => child.kill('SIGKILL'));
  await until(() => p.has('ready'));
  return { child, end };
}

// Leaves a mark whose lock is free.
async function killed(t, p, does) {
  const { child, end } = await working(t, p, does);
  child.kill('SIGKILL');
  await end;
  const free = () => spawnSync('python3', ['-c', 'import fcntl, struct, sys\nf = open(sys.argv[1], "r+b")\nfcntl.fcntl(f, 37, struct.pack("hhqqi4x", 1, 0, 0, 0, 0))', join(folder(p), marks(p)[0])]).status === 0;
  await until(free);
}

const plant = `printf '%s' '${planted}' > tools.json`;
const type = (p, args, steps) => {
  const r = spawnSync('python3', [join(root, 'tests/e2e/terminal.py'), p.bin, ...args], { ...p.options, input: JSON.stringify(steps) });
  return r.stdout ? JSON.parse(r.stdout) : assert.fail(r.stderr);
};

// A model that reports whether it is offered the tool of --tools.
const talking = scripted('def reply(messages, tools):\n    return ",".join([t["name"] for t in tools if t["name"] == "m"])\n', 'sandbox: {}\n');

for (const user of users) {
  const as = `as ${user.name}`;

  test(`commands that only read show the user's files, change nothing and report it, ${as}`, async t => {
    const p = person(t, user, rules);
    await killed(t, p, plant);
    for (const args of [['validate'], ['tools', '--json'], ['hooks'], ['agents'], ['inspect', 'a'], ['context'], ['doctor'], ['trust', '--json'], ['mcp', 'list']]) {
      const r = p.harness(args);
      assert.doesNotMatch(r.stdout, /planted/, args.join(' '));
      if (!['doctor', 'context'].includes(args[0])) assert.match(r.stderr, /after a call that did not end properly: tools\.json was made; the project is shown as it was before/, args.join(' '));
      assert.equal(p.text('tools.json'), planted, `${args.join(' ')} changed a file`);
      assert.equal(marks(p).length, 1);
    }
    const diff = p.harness(['trust', '--diff']);
    assert.equal(diff.status, 0, diff.stderr);
    assert.match(diff.stdout, /^Changed while a call could write them\..*\ntools\.json: a new file\n--- \/dev\/null\n\+\+\+ tools\.json\n@@ .*\n\+\{"tools"/);
    const r = p.harness(['pull']);
    assert.match(r.stderr, /tools\.json was made by the call and has been removed; what was there is kept for 30 days/);
    assert.ok(!p.has('tools.json'));
    assert.deepEqual(marks(p), []);
    assert.equal(p.harness(['validate']).stderr, '');
  });

  test(`a folder that was moved after a kill is found again, ${as}`, async t => {
    const p = person(t, user, rules);
    await killed(t, p, `${plant}; echo evil >> .harness/tools/a.md`);
    const to = join(p.dir, '../moved');
    renameSync(p.dir, to);
    mkdirSync(p.dir);
    const there = { cwd: to, env: { HARNESS_TRUST: to } };
    assert.match(p.harness(['validate'], there).stderr, /tools\.json was made; the project is shown as it was before/);
    const r = p.harness(['call', 'a'], there);
    assert.equal(r.stdout, '1\n', r.stderr);
    assert.match(r.stderr, /tools\.json was made by the call and has been removed/);
    assert.ok(!existsSync(join(to, 'tools.json')));
    assert.equal(readFileSync(join(to, '.harness/tools/a.md'), 'utf8'), rules['.harness/tools/a.md']);
    assert.deepEqual(readdirSync(p.dir), [], 'nothing is made at the old place');
    assert.deepEqual(marks(p), []);
  });

  test(`displaced files are listed, and removed after 30 days, ${as}`, t => {
    const p = person(t, user, rules);
    const listed = () => JSON.parse(p.harness(['trust', '--displaced', '--json']).stdout).filter(d => d.copy.startsWith(folder(p)));      // the folder in /tmp is shared by all users
    assert.deepEqual(listed(), []);
    assert.equal(p.call('sh', { do: plant }).status, 1);
    const list = listed();
    assert.equal(list.length, 1);
    assert.deepEqual([list[0].project, list[0].path, readFileSync(list[0].copy, 'utf8')], [p.dir, join(p.dir, 'tools.json'), planted]);
    assert.ok(Math.abs(Date.now() - Date.parse(list[0].when)) < 120000);
    const text = p.harness(['trust', '--displaced']).stdout;
    assert.match(text, new RegExp(`${p.dir}/tools\\.json\n  displaced \\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d, project ${p.dir}\n  copy      ${list[0].copy}\n`));
    assert.match(text, /\nTo restore one, review its copy, then copy it to its path/);
    const at = join(list[0].copy, '../..'), old = `${Math.floor(Date.now() / 1000) - 31 * 86400}-00000001`;
    p.sh(`mv ${join(list[0].copy, '..')} ${join(at, old)}`);
    assert.deepEqual(listed(), []);
    assert.deepEqual(readdirSync(at), []);
  });

  test(`on a terminal the user keeps or restores after a kill, ${as}`, async t => {
    for (const keep of [true, false]) {
      const p = person(t, user, rules);
      await killed(t, p, plant);
      const r = type(p, ['call', 'a'], [['', 'did not end properly'], ['', 'tools.json: a new file'], ['', '+{"tools"'], ['', '[r]estore what was there before, or [k]eep what is there now? '],
        ['what\r', '[k]eep'], [keep ? 'k\r' : '\u0004', '1']]);
      assert.equal(r.missing, null, r.output);
      assert.equal(r.status, 0, r.output);
      assert.equal(p.has('tools.json'), keep);
      assert.deepEqual(marks(p), []);
      assert.equal(/planted/.test(p.harness(['tools']).stdout), keep);
    }
  });

  test(`on a terminal the user keeps or restores what changed during their own call, ${as}`, async t => {
    for (const [answer, keep] of [['k\r', true], ['restore\r', false], ['\u0004', false]]) {
      const p = person(t, user, rules), wrong = 'sandbox.tampered: tools.json was made by the call and has been removed';
      const r = type(p, ['call', 'sh', JSON.stringify({ do: plant }), '--yes'], [['', 'changed while a call was running.'], ['', '+{"tools"'], ['', '[k]eep what is there now? '], [answer, keep ? '[0,' : wrong]]);
      assert.equal(r.missing, null, r.output);
      assert.equal(r.status, keep ? 0 : 1);
      assert.equal(p.has('tools.json'), keep);
      assert.deepEqual(marks(p), []);
    }
    // The first Ctrl-C ends the question, which is a no.
    const p = person(t, user, rules);
    const r = type(p, ['call', 'sh', JSON.stringify({ do: plant }), '--yes'], [['', '[k]eep what is there now? '], ['\u0003', '']]);
    assert.notEqual(r.status, 0, r.output);
    assert.ok(!p.has('tools.json'));
    assert.deepEqual(marks(p), []);
  });

  test(`on a terminal during a live call: what is kept applies to that call too, ${as}`, async t => {
    const p = person(t, user, rules), { child, end } = await working(t, p);
    p.add({ '.harness/tools/b.md': tool('return "b"') });
    const r = type(p, ['call', 'b'], [['', 'another harness was running a call'], ['', '.harness/tools/b.md: a new file'], ['', '[k]eep'], ['k\r', 'b']]);
    assert.equal(r.missing, null, r.output);
    assert.equal(p.harness(['call', 'b']).stdout, '"b"\n');
    p.sh(plant);
    assert.match(p.harness(['call', 'b']).stderr, /while another harness is running a call here: tools\.json was made by the call and has been removed/);
    child.kill('SIGTERM');
    await end;
    assert.ok(p.has('.harness/tools/b.md') && !p.has('tools.json'));
    assert.deepEqual(marks(p), []);
  });

  test(`files of -c and the usual names are protected from each other's calls, ${as}`, t => {
    const alt = '---\nsandbox: {}\nartifact_roots: [more]\n---\nAlternative.\n', b = tool('return "b"');
    const p = person(t, user, { ...rules, 'alt.md': alt, 'more/tools/b.md': b });
    assert.equal(p.call('b', {}, ['-c', 'alt.md']).result.value, 'b');
    p.call('sh', { do: 'echo x >> alt.md; rm more/tools/b.md; rm -rf more' });
    p.call('sh', { do: 'echo x >> harness.md; echo x > harness.yaml' }, ['-c', 'alt.md']);
    assert.deepEqual([p.text('alt.md'), p.text('more/tools/b.md'), p.text('harness.md'), p.has('harness.yaml')], [alt, b, rules['harness.md'], false]);
    assert.equal(p.call('b', {}, ['-c', 'alt.md']).result.value, 'b');
    p.harness(['sandbox', '--', 'sh', '-c', 'echo x >> alt.md; exit 0']);
    assert.equal(p.text('alt.md'), alt);
    for (const name of readdirSync(folder(p)).filter(n => n.startsWith('config-'))) utimesSync(join(folder(p), name), 1e9, 1e9);
    p.call('sh', { do: 'echo x >> alt.md' });
    assert.equal(p.text('alt.md'), `${alt}x\n`, 'a file that was not used for 30 days is free');
  });

  test(`a file of -c that was only looked at is protected from then on, ${as}`, t => {
    const alt = '---\nsandbox: {}\n---\nAlternative.\n';
    for (const look of [['validate'], ['tools'], ['inspect', 'sh'], ['trust', '--print']]) {
      const p = person(t, user, { ...rules, 'alt.md': alt });
      const r = p.harness(['-c', 'alt.md', ...look]);
      assert.ok(r.status === 0, `${look}: ${r.stderr}`);
      p.call('sh', { do: 'echo x >> alt.md' });
      assert.equal(p.text('alt.md'), alt, look[0]);
    }
  });

  test(`a file of -c in a folder below is protected from calls of the project above, ${as}`, t => {
    const alt = '---\nsandbox: {}\n---\nAlternative.\n', b = tool('return "b"');
    const p = person(t, user, { ...rules, 'conf/alt.md': alt, 'conf/.harness/tools/b.md': b });
    assert.equal(p.harness(['-c', 'conf/alt.md', 'validate']).status, 0);
    p.call('sh', { do: 'echo x >> conf/alt.md; echo x >> conf/.harness/tools/b.md; echo "{}" > conf/tools.json; echo x > conf/notes' });
    assert.deepEqual([p.text('conf/alt.md'), p.text('conf/.harness/tools/b.md'), p.has('conf/tools.json'), p.has('conf/notes')], [alt, b, false, true]);
  });

  test(`a file of --tools, and a link to it, are protected from then on, ${as}`, t => {
    const mine = JSON.stringify({ tools: [{ name: 'm', description: 'M.', command: ['/bin/echo', 'm'] }] });
    const p = person(t, user, { ...rules, ...talking, 'mine/t.json': mine });
    p.sh('ln -s mine/t.json link.json');
    for (const file of ['mine/t.json', 'link.json']) assert.equal(p.harness(['run', '-p', 'go', '--tools', file]).stdout, 'm\n');
    p.call('sh', { do: 'echo x >> mine/t.json' });
    assert.equal(p.text('mine/t.json'), mine);
    p.call('sh', { do: 'echo "{}" > other; rm link.json; ln -s other link.json' });
    assert.equal(p.text('link.json'), mine);
  });

  test(`-c with a file that a call at work could write waits for that call, ${as}`, async t => {
    const p = person(t, user, { ...rules, 'alt.md': '---\nsandbox: {}\n---\nAlternative.\n' }), { child, end } = await working(t, p);
    const r = p.harness(['-c', 'alt.md', 'call', 'a']);
    assert.equal(r.status, 1);
    assert.match(r.stderr, /-c alt\.md: another harness is running a call here that could write this file \(wait until the call has ended/);
    p.sh('echo \'{"tools":[]}\' > t.json');
    assert.match(p.harness(['run', '-p', 'go', '--tools', 't.json']).stderr, /--tools t\.json: another harness is running a call here that could write this file/);
    child.kill('SIGTERM');
    await end;
    assert.equal(p.harness(['-c', 'alt.md', 'call', 'a']).stdout, '1\n');
  });

  test(`a file that a link in the rules leads to is protected, ${as}`, t => {
    const p = person(t, user, { ...rules, 'lib/c.md': tool('return "c"') });
    symlinkSync('../../lib/c.md', join(p.dir, '.harness/tools/c.md'));
    p.call('sh', { do: 'sed -i s/\\"c\\"/\\"evil\\"/ lib/c.md; echo x > lib/other' });
    assert.equal(p.call('c').result.value, 'c');
    assert.ok(p.has('lib/other'));
  });
}
