// harness validate: all problems at once, the listing, JSON, strictness, size.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { add, folder, project, run } from './harness.mjs';

const tool = (name, more = '') => `---
parameters:
  path: { type: string, required: true }
${more}script: |
  def run(args):
      return {"tool": "${name}", "path": args["path"]}
---
Says where ${name} looked.
`;

const hook = (event, more = '') => `---
event: ${event}
${more}script: |
  def handle(event, payload):
      return allow()
---
`;

const sound = {
  'harness.md': '---\nmodel: gpt-4o\n---\nYou are careful.\n',
  '.harness/tools/find_file.md': tool('find_file'),
  '.harness/tools/read_file.md': tool('read_file', 'timeout_ms: 2000\ntitle: Read\naliases: [cat]\n'),
  '.harness/hooks/late.md': hook('tool.pre', 'priority: 20\nwhen: payload["name"] == "read_file"\n'),
  '.harness/hooks/early.md': hook('tool.pre', 'priority: -5\ntimeout_ms: 100\n'),
  '.harness/hooks/watch.md': hook('tool.post', 'on_error: allow\n'),
  '.harness/agents/scout.md': `---
description: Looks around.
model: gpt-4o-mini
tools:
  - read_file
  - name: peek
    description: Looks once.
    script: |
      def run(args):
          return 1
hooks: [early]
---
You look around.
`,
};

const remark = { severity: 'hint', file: '.harness/hooks/watch.md', line: 3, column: 1,
  message: 'hook "watch": on_error: allow lets everything pass when the hook fails', hint: null };

test('a valid project: the listing on stdout, a warning about what is risky', t => {
  const dir = project(t, sound);
  const { status, stdout, stderr } = run(['-C', dir, 'validate']);
  assert.equal(stderr, `harness: ${remark.file}:3:1: ${remark.message} [hint]\n`);
  assert.equal(status, 0);
  assert.equal(stdout, `tools (2)
  find_file  starlark  .harness/tools/find_file.md:1  Says where find_file looked.
  read_file  starlark  .harness/tools/read_file.md:1  Says where read_file looked.
hooks (3)
  watch  tool.post  priority 0   on_error: allow  .harness/hooks/watch.md:1
  early  tool.pre   priority -5                   .harness/hooks/early.md:1
  late   tool.pre   priority 20                   .harness/hooks/late.md:1   when payload["name"] == "read_file"
agents (1)
  scout  gpt-4o-mini  .harness/agents/scout.md:1  Looks around.
ok: 2 tools, 3 hooks, 1 agent
`);
});

test('the JSON shape', t => {
  const dir = project(t, sound);
  const { status, stdout, stderr } = run(['-C', dir, 'validate', '--json']);
  assert.equal(status, 0);
  assert.equal(stderr, '');
  const got = JSON.parse(stdout);
  assert.deepEqual(Object.keys(got), ['ok', 'problems', 'tools', 'hooks', 'agents', 'rules']);
  assert.equal(got.ok, true);
  assert.deepEqual(got.problems, [remark]);
  assert.deepEqual(got.tools.map(x => x.name), ['find_file', 'read_file']);
  for (const command of ['tools', 'hooks', 'agents'])
    assert.deepEqual(JSON.parse(run(['-C', dir, command, '--json']).stdout), got[command]);
});

test('an empty folder is a project with defaults', t => {
  const { status, stdout, stderr } = run(['-C', folder(t), 'validate']);
  assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: 'ok: 0 tools, 0 hooks, 0 agents\n',
    stderr: 'harness: this folder has no project (create one with: harness init) [hint]\n' });
});

const broken = {
  'harness.md': '---\nmodle: gpt-4o\n---\n',
  '.harness/prompts/odd.md': '---\ndescripton: x\n---\nHello.\n',
  '.harness/tools/bad_type.md': '---\nparameters:\n  path:\n    type: strng\nscript: |\n  def run(args):\n      return 1\n---\n',
  '.harness/tools/negative.md': '---\ntimeout_ms: -1\nscript: |\n  def run(args):\n      return 1\n---\n',
  '.harness/tools/open.md': '---\ntimeout_ms: 1\n',
  '.harness/tools/twice.md': '---\nasync: true\nasync: false\n---\n',
  '.harness/tools/no_run.md': '---\nscript: |\n  def walk(args):\n      return 1\n---\n',
  '.harness/tools/syntax.md': '---\nscript: |\n  def run(args):\n      return (1\n---\n',
  '.harness/tools/unknown_name.md': '---\nscript: |\n  def run(args):\n      return nothing\n---\n',
  '.harness/hooks/no_event.md': '---\npriority: 1\n---\n',
  '.harness/hooks/odd_event.md': '---\nevent: tool.before\n---\n',
  '.harness/agents/lost.md': '---\ndescription: x\ntools: [nowhere]\nhooks: [nobody]\n---\n',
  'tools.json': JSON.stringify({ tools: [{ description: 'x', command: ['/bin/true'] }, { name: 'a', command: [] }] }),
};

// The exact problems of each file.
const blames = [
  ['error', '.harness/agents/lost.md', 'agent "lost": tool "nowhere" is not defined'],
  ['error', '.harness/agents/lost.md', 'agent "lost": hook "nobody" is not defined'],
  ['error', 'harness.md', 'unknown key "modle"'],
  ['error', '.harness/hooks/no_event.md', 'hook "no_event": event field is required in frontmatter'],
  ['error', '.harness/hooks/no_event.md', 'hook "no_event": script is required'],
  ['error', '.harness/hooks/odd_event.md', 'hooks[0].event "tool.before" is invalid'],
  ['error', '.harness/tools/negative.md', 'tool "negative" timeout_ms must be >= 0'],
  ['error', '.harness/tools/open.md', 'parse tool open.md: missing frontmatter delimiter'],
  ['error', '.harness/tools/no_run.md', 'tool "no_run": script must define run(args)'],
  ['error', 'tools.json', 'tool[0]: name is required'],
  ['error', 'tools.json', 'tool[1] "a": command must have at least program name'],
];

test('all problems of a broken project in one run', t => {
  const dir = project(t, broken);
  const { status, stdout, stderr } = run(['-C', dir, 'validate']);
  assert.equal(status, 1);
  assert.equal(stdout, '');
  const excerpt = /^ *\d+ \| |^ +\| *\^$/;
  assert.ok(stderr.split('\n').some(l => excerpt.test(l)));
  const lines = stderr.trimEnd().split('\n').filter(l => !excerpt.test(l));
  for (const line of lines.slice(0, -1))
    assert.match(line, /^harness: (harness\.md|tools\.json|\.harness\/[a-z_/]+\.md):\d+:\d+: .+$/);
  assert.match(lines.at(-1), /^harness: not valid: \d+ errors, 1 warning$/);
  for (const file of Object.keys(broken)) assert.ok(lines.some(l => l.startsWith(`harness: ${file}:`)), file);
  for (const [, file, message] of blames)
    assert.ok(lines.some(l => l.startsWith(`harness: ${file}:`) && l.includes(`: ${message}`)), `${file}: ${message}`);
  const places = lines.filter(l => /^harness: \S+:\d+:\d+: /.test(l)).map(l => l.match(/^harness: (\S+):(\d+):(\d+):/).slice(1));
  const sorted = places.toSorted((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1] || a[2] - b[2]));
  assert.deepEqual(places, sorted, 'sorted by place');
  assert.ok(lines.includes('harness: .harness/tools/bad_type.md:4:5: parameters.path.type: unknown type "strng" (did you mean "string"?)'), stderr);
});

test('the same as JSON', t => {
  const dir = project(t, broken);
  const { status, stdout, stderr } = run(['-C', dir, 'validate', '--json']);
  assert.equal(status, 1);
  assert.equal(stderr, '');
  const got = JSON.parse(stdout);
  assert.deepEqual(Object.keys(got), ['ok', 'problems', 'tools', 'hooks', 'agents', 'rules']);
  assert.equal(got.ok, false);
  assert.deepEqual([got.tools, got.hooks, got.agents], [[], [], []]);
  for (const p of got.problems) {
    assert.deepEqual(Object.keys(p), ['severity', 'file', 'line', 'column', 'message', 'hint']);
    assert.ok(['error', 'warning', 'hint'].includes(p.severity));
    assert.ok(p.line >= 1 && p.column >= 1, JSON.stringify(p));
  }
  for (const [severity, file, message] of blames)
    assert.ok(got.problems.some(p => p.severity === severity && p.file === file && p.message === message), message);
  const unknown = got.problems.filter(p => p.severity === 'warning');
  assert.equal(unknown.length, 1);
  assert.equal(unknown[0].file, '.harness/prompts/odd.md');
  assert.equal(unknown[0].line, 2);
  assert.equal(unknown[0].hint, 'did you mean "description"?');
});

test('unknown keys: a warning with a suggestion, an error under --strict', t => {
  const dir = project(t, { '.harness/prompts/a.md': '---\ndescripton: A prompt\n---\nA.\n' });
  const lax = run(['-C', dir, 'validate']);
  assert.equal(lax.status, 0);
  assert.match(lax.stderr, /^harness: \.harness\/prompts\/a\.md:2:1: unknown key "descripton" \(did you mean "description"\?\) \[warning\]\n$/);
  assert.match(lax.stdout, /ok: 0 tools, 0 hooks, 0 agents, 1 warning\n$/);
  const strict = run(['-C', dir, 'validate', '--strict']);
  assert.equal(strict.status, 1);
  assert.match(strict.stderr, /^harness: \.harness\/prompts\/a\.md:2:1: .*\(did you mean "description"\?\)\n    2 \| descripton: A prompt\n      \| \^\nharness: not valid: 1 error\n$/);
});

test('a project that is not valid fails every command that needs one', t => {
  const dir = project(t, { '.harness/tools/a.md': '---\ntimeout_ms: -1\n---\n', '.harness/hooks/b.md': '---\n---\n' });
  for (const args of [['tools'], ['tools', '--format', 'mcp'], ['hooks'], ['agents'], ['inspect', 'a']]) {
    const { status, stdout, stderr } = run(['-C', dir, ...args]);
    assert.equal(status, 1, args.join(' '));
    assert.equal(stdout, '');
    assert.match(stderr, /^harness: \.harness\/hooks\/b\.md:\d+:\d+: hook "b": event field is required in frontmatter/m);
    assert.match(stderr, /^harness: \.harness\/tools\/a\.md:2:\d+: tool "a" timeout_ms must be >= 0$/m);
    const json = run(['-C', dir, ...args, '--json']);
    assert.equal(json.status, 1);
    const { error } = JSON.parse(json.stdout);
    assert.deepEqual(Object.keys(error), ['kind', 'message', 'file', 'line', 'column', 'hint']);
    assert.equal(error.kind, 'config');
    assert.equal(error.file, '.harness/hooks/b.md');
    assert.equal(error.hint, '3 errors in total: see harness validate');
  }
});

test('-c names the project file, and its folder is the root', t => {
  const dir = project(t, { 'sub/other.md': '---\n---\nHello.\n', 'sub/.harness/tools/a.md': '---\n---\nA.\n' });
  const { status, stdout } = run(['-C', dir, '-c', 'sub/other.md', 'validate']);
  assert.equal(status, 0);
  assert.match(stdout, /^tools \(1\)\n {2}a /);
  const env = run(['-C', dir, 'validate'], { env: { HARNESS_CONFIG: 'sub/other.md' } });
  assert.equal(env.stdout, stdout);
  const missing = run(['-C', dir, '-c', 'nothing.md', 'validate']);
  assert.equal(missing.status, 1);
  assert.match(missing.stderr, /nothing\.md/);
});

test('colour on demand only, and never through a name', t => {
  const dir = project(t, { '.harness/tools/a.md': '---\nx: 1\n---\nA \x1b[31mred\x1b[0m thing.\n' });
  const plain = run(['-C', dir, 'validate']);
  assert.doesNotMatch(plain.stdout + plain.stderr, /\x1b/);
  assert.match(plain.stdout, /A \\x1b\[31mred/);
  const color = run(['-C', dir, 'validate', '--color', 'always']);
  assert.match(color.stdout, /\x1b\[1ma\x1b\[0m/);
  assert.match(color.stderr, /^\x1b\[1;33mharness:\x1b\[0m /);
});

test('no heavy library is loaded', t => {
  const dir = project(t, sound);
  for (const args of [['validate'], ['tools', '--format', 'openai'], ['inspect', 'read_file']]) {
    const { status, stderr } = run(['-C', dir, ...args], { env: { LD_DEBUG: 'files' } });
    assert.equal(status, 0);
    assert.match(stderr, /libyaml/);                    // proves that the check works: this command does load a library
    assert.doesNotMatch(stderr, /lib(curl|ssl|crypto|microhttpd|git2|edit|systemd|pq)\b/);
  }
});

test('1,000 tools and 100 hooks', t => {
  const files = {};
  for (let i = 0; i < 1000; i++) files[`.harness/tools/tool_${i}.md`] = tool(`tool_${i}`, 'timeout_ms: 1000\n');
  for (let i = 0; i < 100; i++) files[`.harness/hooks/hook_${i}.md`] = hook('tool.pre', `priority: ${i % 7}\nwhen: payload["name"] == "tool_${i}"\n`);
  const dir = project(t, files);
  const { status, stdout, stderr } = run(['-C', dir, 'validate']);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /ok: 1000 tools, 100 hooks, 0 agents\n$/);
});

test('replaced guards are listed', t => {
  const dir = project(t, sound);
  add(dir, { '.harness/overrides/mine.md': '---\nhooks:\n  - name: early\n    event: tool.pre\n    script: |\n      def handle(event, payload):\n          return allow()\n---\n' });
  const { status, stderr } = run(['-C', dir, 'validate']);
  assert.equal(status, 0, stderr);
  assert.match(stderr, /^harness: \.harness\/overrides\/mine\.md:\d+:\d+: .*"early".* \[(warning|hint)\]$/m);
});

test('queue.workspace: none names each tool that uses files or programs', t => {
  const pure = '---\nscript: |\n  def run(args):\n      return 1\n---\nCounts.\n';
  const script = body => `---\nscript: |\n  def run(args):\n      ${body}\n---\nDoes it.\n`;
  const head = more => `---\nqueue: { workspace: none }\n${more}---\n`;
  const fine = project(t, { 'harness.md': head('mcp_servers: { far: { url: "https://mcp.example.com/mcp" } }\nbuiltin_tools: [notify]\n'), '.harness/tools/pure.md': pure });
  assert.equal(run(['-C', fine, 'validate']).status, 0, run(['-C', fine, 'validate']).stderr);
  const cases = [
    [{ '.harness/tools/look.md': script('return fs.read("a")') }, '.harness/tools/look.md:1', 'tool "look" reads files'],
    [{ '.harness/tools/go.md': script('return exec.run("true")') }, '.harness/tools/go.md:1', 'tool "go" starts programs'],
    [{ 'tools.json': '{"tools": [{"name": "p", "command": ["/bin/true"], "schema": {"type": "object"}}]}\n' }, 'tools.json:1', 'tool "p" starts programs'],
    [{ 'harness.md': head('builtin_tools: [grep]\n') }, 'harness.md', 'built-in tool "grep" reads files'],
    [{ 'harness.md': head('builtin_tools: [bash]\n') }, 'harness.md', 'built-in tool "bash" starts programs'],
    [{ 'harness.md': head('builtin_tools: [show_file_picker]\n') }, 'harness.md', 'built-in tool "show_file_picker" reads files'],
    [{ 'harness.md': head('mcp_servers: { near: { command: server } }\n') }, 'harness.md:3', 'server "near" is a program'],
    [{ 'harness.md': head('meta: { enabled: true }\n') }, 'harness.md', 'meta.enabled: scripts could register tools that use files'],
    [{ '.harness/agents/a.md': '---\ndescription: A.\ntools:\n  - name: peek\n    description: P.\n    script: |\n      def run(args):\n          return fs.exists("a")\n---\nA.\n' }, '.harness/agents/a.md:4', 'tool "peek" reads files'],
  ];
  for (const [files, where, said] of cases) {
    const { status, stderr } = run(['-C', project(t, { 'harness.md': head(''), '.harness/tools/pure.md': pure, ...files }), 'validate']);
    assert.equal(status, 1, said);
    assert.ok(stderr.split('\n').some(l => l.startsWith(`harness: ${where}`) && l.includes(`${said}`)), `${where}: ${said}\n--- got\n${stderr}`);
    assert.doesNotMatch(stderr, /"pure"/);
  }
});
