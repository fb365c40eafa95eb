// The examples: each is a valid project whose tests pass, and its README shows commands that work.
import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, folder, root, shell } from './harness.mjs';

const examples = readdirSync(join(root, 'examples'), { withFileTypes: true }).filter(e => e.isDirectory()).map(e => e.name);
const project = name => name === 'embed' ? 'embed/project' : name;
const readme = name => readFileSync(join(root, 'examples', name, 'README.md'), 'utf8');

// A copy, so that the output of an example is removed afterwards.
function copy(t, name) {
  const dir = folder(t);
  cpSync(join(root, 'examples', project(name)), join(dir, 'work'), { recursive: true });
  return { cwd: join(dir, 'work'), env: { XDG_STATE_HOME: join(dir, 'state'), HOME: dir, PATH: `${dir}:${process.env.PATH}` } };
}

// Every harness command of a README. An ellipsis marks what the reader fills in; a run without -p is a conversation.
const commands = name => [...readme(name).matchAll(/^ {4}(harness .*?)(?: +#.*)?$/gm)].map(m => m[1])
  .filter(c => !c.includes('…') && !/^harness (-c \S+ )?run$/.test(c));

test('the list of examples is complete', () => {
  const list = readFileSync(join(root, 'examples/README.md'), 'utf8');
  assert.deepEqual([...list.matchAll(/\(([a-z-]+)\/README\.md\)/g)].map(m => m[1]).sort(), examples.toSorted());
});

for (const name of examples) {
  test(`${name} is valid, and its tests pass`, t => {
    const at = copy(t, name);
    const valid = shell('"$HARNESS" validate --strict', at);
    assert.equal(valid.status, 0, valid.stderr);
    assert.equal(valid.stderr, '');
    const tested = shell('"$HARNESS" test', at);
    assert.equal(tested.status, 0, tested.stdout + tested.stderr);
    const files = readdirSync(join(at.cwd, '.harness/tests')).length;
    assert.match(tested.stdout, new RegExp(`\\n${files} passed, 0 failed\\n$`));
  });

  test(`${name}: the commands of its README work`, { skip: name === 'embed' && 'embed.test.mjs compiles and runs them' }, t => {
    const at = copy(t, name);
    assert.ok(commands(name).length >= 3);
    for (const command of commands(name)) {
      const ran = shell(`harness() { "$HARNESS" "$@" </dev/null; }\n${command}`, at);
      const refused = /needs confirmation/.test(ran.stdout + ran.stderr);
      assert.equal(ran.status, refused ? 1 : 0, `${command}\n${ran.stdout}${ran.stderr}`);
    }
  });

  test(`${name}: the files its README names exist`, () => {
    for (const [, list] of readme(name).matchAll(/^\| (`.*?) \|/gm))
      for (const [, path] of list.matchAll(/`([^`*]+)`/g)) {
        const beside = list.match(/`(\S+\/)[^`/]+`/)?.[1] ?? '';
        assert.ok([path, beside + path].some(p => existsSync(join(root, 'examples', name, p))), `${name}: ${path}`);
      }
  });
}

test('the governed agent has what its README counts', () => {
  const at = { cwd: join(root, 'examples/governed-agent') };
  const { tools, hooks, agents } = JSON.parse(shell('"$HARNESS" validate --json', at).stdout);
  assert.deepEqual(tools.map(x => x.name).sort(), ['drop_orders', 'list_orders', 'refund_order', 'run_command']);
  assert.equal(hooks.length, 7);
  assert.equal(agents.length, 2);
  assert.equal(readdirSync(join(at.cwd, '.harness/tests')).length, 12);
  const offered = JSON.parse(shell('"$HARNESS" tools --format openai', at).stdout).map(x => x.function.name);
  assert.ok(!offered.includes('drop_orders') && offered.includes('list_orders'), `${offered}`);
});

// What each part of the demo must have shown.
const parts = [
  ['An allowed call', /There are 3 orders: A-100.*"card":"\*{4}/s],
  ['refused by policy', /not in tools_policy\.allow/],
  ['refused by a hook', /blocked by hook guard_amount/],
  ['stopped by the sandbox', /cannot create \/etc\/harness-was-here.*socket: Permission denied/s],
  ['A sub-agent', /The auditor says: There are 3 orders/],
  ['A large result', /the whole result is artifact art_\w+/],
  ['An approval', /needs confirmation.*Grace got 5\.0 back/s],
  ['A resumed run', /interrupted.*runs resume.*It prints: A-101 7\.0.*refunds\.log\n\s+A-101 7\.0\n\s+One refund/s],
];

function checkDemo(output) {
  const sections = output.replaceAll('\r', '').split(/^(?=\d+\. )/m).slice(1);
  assert.equal(sections.length, parts.length, output);
  for (const [i, [title, shown]] of parts.entries()) {
    assert.ok(sections[i].split('\n')[0].includes(title), sections[i]);
    assert.match(sections[i], shown);
  }
  const end = output.replaceAll('\r', '').trimEnd().split('\n').slice(-3);
  assert.match(end[0], /^With a real model/);
  assert.match(end[2], /harness run$/);
}

test('the demo shows each of its parts, in a log', t => {
  const { status, stdout, stderr } = shell(`${root}/scripts/demo.sh`, { cwd: folder(t) });
  assert.equal(status, 0, stderr);
  assert.equal(stderr, '');
  assert.doesNotMatch(stdout, /\x1b/);
  checkDemo(stdout);
  for (const line of stdout.split('\n')) assert.ok(line.length <= 120, line);
});

test('the demo shows the same in a terminal', () => {
  const ran = shell(`python3 ${root}/tests/e2e/terminal.py ${root}/scripts/demo.sh`, { input: '[["", "With a real model"]]', env: { HARNESS: bin } });
  const { output, status, missing } = JSON.parse(ran.stdout);
  assert.deepEqual({ status, missing }, { status: 0, missing: null }, output);
  assert.match(output, /\x1b\[1m1\. /);
  checkDemo(output.replace(/\x1b\[[0-9;]*m/g, ''));
});
