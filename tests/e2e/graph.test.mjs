// harness inspect --graph and --dot: which guard covers which tool. The output is compared with the outcome of real calls.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { terminal } from './columns.mjs';
import { caller, hook, tool } from './calls.mjs';

const guards = {
  all: [],
  only_change: ['when: payload["name"] == "change"'],
  not_look: ['when: payload["name"] != "look"'],
  listed: ['when: payload["name"] in ["change", "erase"]'],
  got: ['when: payload.get("name") == "look"'],
  destructive: ['when: payload["safety"]["destructive"]'],
  by_args: ['when: \'"x" in payload["args"]\''],
  change_by_args: ['when: payload["name"] == "change" and "x" in payload["args"]'],
  hidden_key: ['when: payload.get("args", {}) == {}'],
  whole: ['when: len(payload) > 3'],
  shadowed: ['when: len([payload for payload in ["a"]]) == 1'],
  by_event: ['when: event == "tool.pre"'],
  fails: ['when: payload["name"] + 1 == 2'],
  folded: ['when: >\n  payload["name"] ==\n  "change"'],
};
const files = {
  'harness.md': '---\ntools_policy: { deny: [secret] }\nlimits: { confirm: [destructive], max_tool_calls: 7 }\n---\nBe brief.\n',
  '.harness/tools/look.md': tool('return 1', 'aliases: [peek]'),
  '.harness/tools/change.md': tool('fs.write("x.txt", "1")\nreturn 1', 'timeout_ms: 1234'),
  '.harness/tools/erase.md': tool('fs.remove("x.txt")\nreturn 1', 'safety: { destructive: true }'),
  '.harness/tools/secret.md': tool('return 1'),
  '.harness/agents/kid.md': '---\ndescription: Helps.\nblocked_tools: [erase]\nhooks:\n  - event: tool.pre\n    script: |\n      def handle(event, payload):\n          return allow()\n---\nKid.\n',
  '.harness/hooks/late.md': hook('tool.post', 'return allow()', 'when: payload["name"] == "look"'),
  '.harness/hooks/unused.md': hook('tool.pre', 'return allow()', 'when: payload["name"] == "secret"'),
};
for (const [name, head] of Object.entries(guards)) files[`.harness/hooks/${name}.md`] = hook('tool.pre', 'return allow()', [...head, 'on_error: allow'].join('\n'));

const graph = (p, ...args) => JSON.parse(p.run(['inspect', '--graph', '--json', ...args]).stdout);
const toolOf = (g, agent, name) => g.agents.find(a => a.name === agent).tools.find(t => t.name === name);
const ruleOf = (p, name) => (p.call(name, {}), p.events('tool.refused')[0].data.rule);
const hooksOf = (t, event = 'tool.pre') => t.guards.filter(x => x.kind === 'hook' && x.effect === event);

test('a hook that covers a tool is asked in its calls, and no other is', t => {
  const p = caller(t, files);
  const g = graph(p);
  for (const name of ['look', 'change', 'erase']) {
    const covering = hooksOf(toolOf(g, null, name));
    const always = covering.filter(h => h.when === null).map(h => h.name).sort();
    const some = covering.map(h => h.name);
    for (const args of [{}, { x: 1 }]) {
      // A parameter that is not declared is refused before the hooks, so x is passed by a tool that declares it.
      p.add({ [`.harness/tools/${name}.md`]: files[`.harness/tools/${name}.md`].replace('---\n', '---\nparameters: { x: { type: integer } }\n') });
      p.call(name, args, ['--yes']);
      const asked = p.events('hook.decided').filter(e => e.data.event === 'tool.pre').map(e => e.data.hook);
      for (const h of always) assert.ok(asked.includes(h), `${h} was not asked about ${name} ${JSON.stringify(args)}: ${asked}`);
      for (const h of asked) assert.ok(some.includes(h), `${h} was asked about ${name}, but does not cover it`);
    }
  }
});

test('a condition that depends on the arguments is shown, any other is decided', t => {
  const g = graph(caller(t, files));
  const of = name => Object.fromEntries(hooksOf(toolOf(g, null, name)).map(h => [h.name, h.when]));
  const look = of('look'), change = of('change'), erase = of('erase');
  assert.deepEqual(Object.keys(look).sort(), ['all', 'by_args', 'by_event', 'fails', 'got', 'hidden_key', 'shadowed', 'whole']);
  assert.deepEqual(Object.keys(change).sort(), ['all', 'by_args', 'by_event', 'change_by_args', 'fails', 'folded', 'hidden_key', 'listed', 'not_look', 'only_change', 'shadowed', 'whole']);
  assert.deepEqual(Object.keys(erase).sort(), ['all', 'by_args', 'by_event', 'destructive', 'fails', 'hidden_key', 'listed', 'not_look', 'shadowed', 'whole']);
  assert.equal(look.all, null);
  assert.equal(look.by_args, '"x" in payload["args"]');
  assert.equal(change.change_by_args, 'payload["name"] == "change" and "x" in payload["args"]');
  assert.equal(erase.destructive, null);
  assert.equal(erase.hidden_key, 'payload.get("args", {}) == {}');
  assert.deepEqual(g.idle_hooks, ['unused']);
  assert.equal(g.limits.max_tool_calls, 7);
});

test('policy, blocked tools and limits are those of a call', t => {
  const p = caller(t, files);
  const g = graph(p);
  const secret = toolOf(g, null, 'secret');
  assert.deepEqual(secret.guards, [{ kind: 'policy', name: 'tools_policy.deny: secret', effect: 'denies', when: null, file: null, line: null }]);
  assert.equal(secret.denied, true);
  assert.equal(ruleOf(p, 'secret'), 'tools_policy.deny: secret');
  const erase = toolOf(g, null, 'erase').guards[0];
  assert.deepEqual([erase.kind, erase.name, erase.effect], ['policy', 'limits.confirm: destructive', 'asks']);
  assert.equal(ruleOf(p, 'erase'), 'limits.confirm: destructive');
  assert.deepEqual(toolOf(g, 'kid', 'erase').guards.map(x => [x.kind, x.name, x.effect]), [['agent', 'blocked_tools', 'denies']]);
  assert.deepEqual(hooksOf(toolOf(g, 'kid', 'look')).filter(h => h.name === 'kid.hooks[0]').length, 1);
  assert.deepEqual(hooksOf(toolOf(g, null, 'look')).filter(h => h.name === 'kid.hooks[0]').length, 0);
  assert.deepEqual(hooksOf(toolOf(g, null, 'look'), 'tool.post').map(h => h.name), ['late']);
  assert.ok(toolOf(g, null, 'change').guards.some(x => x.kind === 'limit' && x.name === 'timeout 1234 ms'));
});

test('NAME limits the graph to a tool, an alias or an agent', t => {
  const p = caller(t, files);
  const names = g => g.agents.map(a => a.tools.map(x => x.name));
  assert.deepEqual(names(graph(p, 'peek')), [['look'], ['look']]);
  const kid = graph(p, 'kid');
  assert.deepEqual(kid.agents[0].tools, []);
  assert.ok(kid.agents[1].tools.length > 3);
  const wrong = p.run(['inspect', '--graph', 'missing']);
  assert.equal(wrong.status, 1);
  assert.match(wrong.stderr, /no tool or agent is named "missing"/);
  const none = p.run(['inspect']);
  assert.equal(none.status, 2);
  assert.match(none.stderr, /inspect needs the name of a tool, hook or agent, or --graph/);
});

test('the text names each guard once, in the order of the pipeline', t => {
  const { stdout, stderr, status } = caller(t, files).run(['inspect', '--graph', 'erase']);
  assert.equal(status, 0, stderr);
  const lines = stdout.split('\n');
  assert.equal(lines[0], 'agent (project)');
  assert.equal(lines[1], '  tool erase  starlark  .harness/tools/erase.md:1');
  assert.equal(lines[2], '    policy limits.confirm: destructive  asks');
  assert.ok(lines.includes('    hook by_args  tool.pre  .harness/hooks/by_args.md:1  if "x" in payload["args"]'), stdout);
  assert.ok(lines.includes('limits of all calls: max_turns 100, max_tool_calls 7, max_tool_calls_per_turn 32'), stdout);
});

test('on a terminal no line of the graph is wider than it', t => {
  const p = caller(t, files);
  for (const columns of [30, 60, 100]) {
    const lines = terminal(p, columns, ['inspect', '--graph']);
    assert.ok(lines.every(l => [...l].length <= columns), lines.join('\n'));
    assert.ok(lines.some(l => l.endsWith('…')));
  }
});

// Every statement of the output in the grammar that is used, with quoted strings that end where they should.
const quoted = String.raw`"(?:[^"\\\n]|\\.)*"`;
const statement = new RegExp(`^  (?:rankdir=LR|a\\d+ \\[shape=box, label=${quoted}\\]|t\\d+_\\d+ \\[shape=ellipse(?:, style=dashed)?, label=${quoted}\\]` +
  `|g\\d+ \\[shape=hexagon, label=${quoted}\\]|a\\d+ -> t\\d+_\\d+|t\\d+_\\d+ -> g\\d+(?: \\[label=${quoted}\\])?);$`);

test('--dot quotes every text', t => {
  const p = caller(t, {
    ...files,
    '.harness/hooks/hostile.md': hook('tool.pre', 'return allow()', `when: 'payload["args"] == "a\\\\n\\"]; evil -> g0 [label=\\"" or payload["args"] == "]]>\u202e<b>"'`),
    '.harness/hooks/lines.md': hook('tool.pre', 'return allow()', 'when: |\n  (payload["args"] ==\n   "\\\\N\\\\G\\\\")'),
  });
  const { stdout, status, stderr } = p.run(['inspect', '--dot']);
  assert.equal(status, 0, stderr);
  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines.shift(), 'digraph harness {');
  assert.equal(lines.pop(), '}');
  for (const line of lines) assert.match(line, statement);
  assert.ok(!stdout.includes('\u202e'));
  const labels = [...stdout.matchAll(/-> g\d+ \[label=("(?:[^"\\\n]|\\.)*")\]/g)].map(m => m[1]);
  assert.ok(labels.some(l => l.includes('evil -> g0')), 'the condition is a label');
  const nodes = new Set([...stdout.matchAll(/^  (\w+) \[/gm)].map(m => m[1]));
  for (const [, from, to] of stdout.matchAll(/^  (\w+) -> (\w+)/gm)) assert.ok(nodes.has(from) && nodes.has(to), `${from} -> ${to}`);
});

test('the graph starts nothing and needs no trust', t => {
  const p = caller(t, {
    'harness.md': '---\nmcp_servers:\n  small: { command: sh, args: [-c, "touch started"] }\n---\n',
    '.harness/tools/look.md': tool('return 1'),
    '.harness/hooks/noisy.md': hook('tool.pre', 'return allow()'),
  });
  const r = p.run(['inspect', '--graph'], { env: { HARNESS_TRUST: '' } });
  assert.equal(r.status, 0, r.stderr);
  assert.match(r.stderr, /server small was never asked for its tools/);
  assert.match(r.stdout, /hook noisy {2}tool\.pre/);
  assert.ok(!existsSync(join(p.dir, 'started')));
});

test('rules cover the tools that they can deny or ask about', t => {
  const p = caller(t, { 'harness.md': '---\nbuiltin_tools: [bash, read, write]\nrules:\n  - { name: no-force, shell: [git, push, "--force*"], decide: deny }\n'
    + '  - { name: no-env, file: ["**/.env*"], decide: deny }\n  - { name: ask-write, tool: write, decide: ask }\n  - { name: fine, shell: [ls], decide: allow }\n---\nHi.\n' });
  const rules = name => toolOf(graph(p), graph(p).agents[0].name, name).guards.filter(g => g.kind === 'rule').map(g => `${g.name} ${g.effect} ${g.line}`);
  assert.deepEqual(rules('bash'), ['no-force denies 4']);
  assert.deepEqual(rules('read'), ['no-env denies 5']);
  assert.deepEqual(rules('write'), ['no-env denies 5', 'ask-write asks 6']);
});
