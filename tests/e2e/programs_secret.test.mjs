// A tool that gets values of the user's environment: no other call can change its program, or put a module beside it, and so take the value.
import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tool } from './calls.mjs';
import { person, users, ways } from './persons.mjs';

const token = 's3cret-token-123', env = { MYTOK: token, LANG: 'C', TZ: 'UTC' };
const sh = tool('r = exec.run("/bin/sh", ["-c", args["do"]])\nreturn [r["exit_code"], r["stdout"], r["stderr"]]', 'parameters:\n  do: { type: string }');
const settings = more => `---\nsandbox: {}\nbuiltin_tools: [write]\nsecrets: { T: { env: MYTOK } }\n${more ?? ''}---\nHi.\n`;
const rules = { 'harness.md': settings(), '.harness/tools/sh.md': sh };
const command = (text, head = 'environment: { TOKEN: "${MYTOK}" }') => `---\n${head}\ncommand: ${JSON.stringify(text)}\n---\nDoes it.\n`;
const script = (body, head = '') => tool(body, `injected: [secrets.T]\n${head}`);
const run = (line, more = '') => script(`r = exec.run(${line}, env={"TOKEN": runtime["secrets"]["T"]}${more})\nreturn r["stdout"] + r["stderr"]`);
const call = (p, name, args = {}) => p.harness(['call', name, JSON.stringify(args), '--json', '--yes'], { env });
const good = 'import json, os\nprint(json.dumps({"deployed": len(os.environ["TOKEN"])}))\n';
const planted = 'import os\nopen("got", "w").write(os.environ["TOKEN"][::-1])\ndumps = str\n';

const deployers = {
  'a command': { '.harness/tools/deploy.md': command('python3 scripts/deploy.py') },
  'a command in a template': { '.harness/tools/deploy.md': `---\nenvironment: { TOKEN: "\${MYTOK}" }\nparameters:\n  x: { type: string }\ncommand: 'python3 {{#if x}}other/none.py{{else}}scripts/deploy.py{{/if}}'\n---\nDoes it.\n` },
  'a command with an injected secret': { '.harness/tools/deploy.md': command('TOKEN=$HARNESS_ARG_T python3 scripts/deploy.py', 'injected: [secrets.T]') },
  'exec.run': { '.harness/tools/deploy.md': run('"python3", ["scripts/deploy.py"]') },
  'exec.run with variables': { '.harness/tools/deploy.md': script('argv = ["scripts/deploy.py"]\np = "python3"\nr = exec.run(p, argv + ["x"], 9000, "", {"TOKEN": runtime["secrets"]["T"]})\nreturn r["stdout"]') },
  'exec.run in a shell': { '.harness/tools/deploy.md': run('"sh", ["-c", "cd scripts && exec python3 deploy.py"]') },
  'exec.run in a folder': { '.harness/tools/deploy.md': run('"python3", ["deploy.py"]', ', cwd="scripts"') },
  'a variable that scripts may read': { 'harness.md': settings().replace('sandbox: {}', 'sandbox: { env_allow: [MYTOK] }'),
    '.harness/tools/deploy.md': tool('r = exec.run("python3", ["scripts/deploy.py"], env={"TOKEN": env("MYTOK")})\nreturn r["stdout"]') },
};

for (const user of ways) {
  const as = `as ${user.name}`;

  for (const [name, files] of Object.entries(deployers))
    test(`${name}: no call takes the secret by a module beside the program, ${as}`, t => {
      const p = person(t, user, { ...rules, ...files, 'scripts/deploy.py': good, 'planted.txt': planted });
      const first = call(p, 'deploy');
      assert.match(first.stdout, /deployed/, first.stdout + first.stderr);
      for (const does of ['cp planted.txt scripts/json.py', 'cp planted.txt scripts/deploy.py', 'mkdir scripts/json; cp planted.txt scripts/json/__init__.py', 'mv scripts old; mkdir scripts; cp planted.txt scripts/deploy.py'])
        call(p, 'sh', { do: `${does}; exit 0` });
      call(p, 'write', { path: 'scripts/json.py', content: planted });
      assert.deepEqual(['scripts/json.py', 'scripts/json', 'scripts/__pycache__'].filter(p.has), []);
      assert.match(call(p, 'deploy').stdout, /deployed/);
      assert.ok(!p.has('got') && p.text('scripts/deploy.py') === good);
    });

  test(`an argv tool: no call takes the secret by a module beside the program, ${as}`, t => {
    const p = person(t, user, { ...rules, 'tools/bin/p': `#!/usr/bin/env python3\n${good.replace('TOKEN', 'MYTOK')}`, 'planted.txt': planted.replace('TOKEN', 'MYTOK'),
      'tools.json': JSON.stringify({ tools: [{ name: 'deploy', description: 'x', command: ['./tools/bin/p'], envPassthrough: ['MYTOK'] }] }) });
    chmodSync(join(p.dir, 'tools/bin/p'), 0o755);
    assert.match(call(p, 'deploy').stdout, /"deployed": ?16/);
    call(p, 'sh', { do: 'cp planted.txt tools/bin/json.py; echo > tools/bin/p; exit 0' });
    assert.deepEqual(['tools/bin/json.py', 'tools/bin/__pycache__'].filter(p.has), []);
    assert.match(call(p, 'deploy').stdout, /"deployed": ?16/);
    assert.ok(!p.has('got'));
  });

  // G is the folder of the case: nothing in it may change.
  const spelled = [
    { '.md': command('node G/a.js') }, { '.md': command('make -C G all') }, { '.md': command('cd G && make') }, { '.md': command('npm --prefix G run build') }, { '.md': command('sh -c "./G/two.sh"') },
    { '.md': command('G/two.sh | tee log') }, { '.md': command('two', 'environment: { TOKEN: "${MYTOK}", PYTHONPATH: G }') }, { '.md': command('timeout 9 env A=b bash G/two.sh') },
    { '.md': `---\nenvironment: { TOKEN: "\${MYTOK}" }\nparameters:\n  x: { type: string }\ncommand: python3 G/two.py --to {{x}}\n---\nDoes it.\n` },
    { '.md': `---\nenvironment: { TOKEN: "\${MYTOK}" }\nparameters:\n  x: { type: string }\ncommand: "python3 {{#if x}}G/two.py{{else if y}}H/two.py{{else}}other/x.py{{/if}}"\n---\nDoes it.\n`.replace('x: { type: string }', 'x: { type: string }\n  y: { type: string }') },
    { '.md': run('"node", ["G/a.js", args["x"]]') }, { '.md': run('"./G/two.sh"') }, { '.md': run('"make", ["-C", "G"]') }, { '.md': run('"sh", args=("-c", ". G/two.sh")') },
    { '.md': script('return [exec.run("python3", ["G/two.py"], env={"A": runtime["secrets"]["T"]}) for i in range(1)]') },
    { '.md': script('f = lambda x: exec.run("python3", ["G/two.py", x])["stdout"]\nreturn f(runtime["secrets"]["T"])') },
    { '.md': script('return exec.run("python3", ["G/two.py"], stdin=runtime["secrets"]["T"])["stdout"]') },
    { '.md': script('if args:\n    x = "G/one.py"\nelse:\n    x = "G/two.py"\nreturn exec.run("python3", [x], env=runtime["secrets"])["stdout"] if False else exec.run(x, env=runtime["secrets"])["stdout"]') },
  ];
  test(`every spelling of a program protects its folder, ${as}`, t => {
    const dirs = spelled.map((_, i) => `g${i}x`), names = ['two.py', 'two.sh', 'a.js'];
    const tools = Object.fromEntries(spelled.map((s, i) => [`.harness/tools/t${i}.md`, s['.md'].replaceAll(/\bG\b/g, dirs[i])]));
    const p = person(t, user, { ...rules, ...tools, 'H/two.py': 'good\n', ...Object.fromEntries(dirs.flatMap(d => names.map(f => [`${d}/${f}`, 'good\n']))) });
    const r = call(p, 'sh', { do: `for d in ${dirs.join(' ')} H; do for f in ${names.join(' ')}; do echo evil > $d/$f; done; echo evil > $d/json.py; done; echo ok > free; exit 0` });
    assert.equal(p.has('free'), true, r.stdout + r.stderr);
    const open = dirs.flatMap((d, i) => [...names.filter(f => p.text(`${d}/${f}`) !== 'good\n'), ...(p.has(`${d}/json.py`) ? ['new'] : [])].map(f => `${spelled[i]['.md']}: ${f}`));
    assert.deepEqual(open, []);
    assert.equal(p.text('H/two.py'), 'good\n');
  });

  test(`make and npm in the workspace: what they read first is protected, and harness warns, ${as}`, t => {
    const p = person(t, user, { ...rules, '.harness/tools/a.md': command('make all'), '.harness/tools/b.md': command('npm run build'), Makefile: 'all:\n', 'package.json': '{}' });
    const r = call(p, 'sh', { do: 'echo evil > Makefile; echo evil > package.json; echo evil > GNUmakefile; exit 0' });
    assert.deepEqual([p.text('Makefile'), p.text('package.json'), p.has('GNUmakefile')], ['all:\n', '{}', false]);
    assert.match(r.stderr, /tool a gets secrets and runs make in the workspace: other tools can change files that see them/);
    assert.match(r.stderr, /tool b gets secrets and runs npm in the workspace/);
  });
}

for (const user of users) {
  const as = `as ${user.name}`;

  test(`tools without secrets leave their folders free, ${as}`, t => {
    const free = { a: command('python3 scripts/a.py', 'environment: { MODE: production, TEXT: "$${X}", LANG: "${LANG}", ZONE: "${TZ}" }'), b: command('make -C build', 'timeout_ms: 1000'), c: tool('return exec.run("python3", ["scripts/c.py"])["stdout"]'),
      d: script('exec.run("python3", ["scripts/d.py"])\nexec.run("make", ["-C", "build"])\nreturn len(runtime["secrets"]["T"])') };
    const p = person(t, user, { ...rules, ...Object.fromEntries(Object.entries(free).map(([n, text]) => [`.harness/tools/${n}.md`, text])), 'scripts/a.py': '', 'scripts/c.py': '', 'scripts/lib.py': '', 'build/Makefile': 'all:\n' });
    const r = call(p, 'sh', { do: 'for f in scripts/c.py scripts/d.py scripts/lib.py scripts/json.py build/Makefile build/new; do echo ok > $f || exit 1; done' });
    assert.equal(r.status, 0, r.stdout + r.stderr);
    assert.deepEqual(['scripts/c.py', 'scripts/lib.py', 'scripts/json.py', 'build/Makefile', 'build/new'].map(p.text), Array(5).fill('ok\n'));
    assert.doesNotMatch(r.stderr, /secrets/);
  });

  test(`data that a tool with secrets works on is free, ${as}`, t => {
    const p = person(t, user, { ...rules, '.harness/tools/a.md': command('python3 scripts/a.py --dir data data/x docs > out/log'), '.harness/tools/b.md': command('curl -sH "Authorization: $TOKEN" -d @data/x https://x.example'),
      '.harness/tools/c.md': `---\nenvironment: { TOKEN: "\${MYTOK}" }\nparameters:\n  t: { type: string }\ncommand: grep -c x -- {{t}}\n---\nDoes it.\n`, 'scripts/a.py': '', 'data/y': '', 'docs/x': '' });
    const r = call(p, 'sh', { do: 'mkdir -p out; for f in data/y docs/x docs/new out/log top; do echo ok > $f || exit 1; done' });
    assert.equal(r.status, 0, r.stdout + r.stderr);
  });

  test(`what cannot be known stops the load, ${as}`, t => {
    for (const [text, said] of [
      [command('sh -c "$X"'), /tool "t": command gets secrets: .*the text that this runs is known only when it runs/],
      [command('d=scripts; python3 $d/a.py'), /tool "t": command gets secrets: .*it chooses code, and is known only when it runs/],
      [command('python3 -m scripts.a'), /tool "t": command gets secrets: .*Python loads the modules of -m from the working folder/],
      [run('"python3", ["-m", "scripts.a"]'), /tool "t": exec\.run gets secrets: .*Python loads the modules of -m from the working folder/],
    ]) {
      const p = person(t, user, { ...rules, '.harness/tools/t.md': text, 'scripts/a.py': '' });
      const r = p.harness(['validate'], { env });
      assert.equal(r.status, 1, text);
      assert.match(r.stdout + r.stderr, said, text);
      const free = person(t, user, { ...rules, '.harness/tools/t.md': text.replace(/environment: .*\n|injected: .*\n/, ''), 'scripts/a.py': '' });
      assert.equal(free.harness(['validate'], { env }).status, 0, text);
    }
  });

  test(`a program in the workspace itself takes no modules from there, ${as}`, t => {
    const p = person(t, user, { ...rules, '.harness/tools/deploy.md': command('python3 deploy.py'), '.harness/tools/two.md': run('"python3", ["two.py"]'), 'deploy.py': good, 'two.py': good });
    assert.equal(call(p, 'write', { path: 'json.py', content: planted }).status, 0);
    for (const name of ['deploy', 'two']) {
      const r = call(p, name);
      assert.match(r.stdout, /deployed/, r.stdout + r.stderr);
      assert.match(r.stderr, /deploy\.py: the folder of this program of tool deploy, which gets secrets, contains the workspace/);
    }
    assert.ok(!p.has('got'));
  });
}
