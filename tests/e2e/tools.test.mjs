// harness tools, hooks, agents: what is registered, and the schemas that models get.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { add, project, run } from './harness.mjs';

const json = (dir, ...args) => {
  const { status, stdout, stderr } = run(['-C', dir, ...args]);
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
};

// Safety of tools that start programs.
const starts = {
  read_only: false, destructive: false, idempotent: false, networked: false, process: true, spends_money: false, requires_confirmation: false,
  parallel_safe: false, filesystem: 'write',
};

// ---- tool files (Starlark)

const runCommand = `---
parameters:
  command: { type: string, required: true }
  timeout_ms: { type: number, required: false }
script: |
  def run(args):
      return exec.run("bash", ["-lc", args["command"]], 15000)
timeout_ms: 30000
---
# run_command

Runs one line in a shell. A model reads this text, all of it, when it chooses.

    not code: def run(x)
`;

const readText = `---
parameters:
  path:
    type: string
    description: A path inside the workspace.
    required: true
  encoding:
    type: string
    description: How to decode; UTF-8 when absent.
    required: false
  max_bytes:
    type: number
    required: false
script: |
  def run(args):
      if not args.get("path"):
          return {"error": "path is required"}
      return fs.read(args["path"])
---
`;

test('a tool file: order, required list and description come from the file', t => {
  const dir = project(t, { '.harness/tools/run_command.md': runCommand, '.harness/tools/read_text.md': readText });
  const [read, command] = json(dir, 'tools', '--json');
  assert.deepEqual(command, {
    name: 'run_command', title: null, aliases: [], kind: 'starlark', file: '.harness/tools/run_command.md', line: 1,
    description: '# run_command\n\nRuns one line in a shell. A model reads this text, all of it, when it chooses.\n\n    not code: def run(x)',
    parameters: {
      type: 'object', properties: { command: { type: 'string' }, timeout_ms: { type: 'number' } }, required: ['command'],
    },
    safety: starts, category: null, icon: null, timeout_ms: 30000,
  });
  assert.deepEqual(Object.keys(command), ['name', 'title', 'aliases', 'kind', 'file', 'line', 'description', 'parameters',
    'safety', 'category', 'icon', 'timeout_ms']);
  assert.equal(read.description, 'read_text');           // an empty body: the name
  assert.equal(read.timeout_ms, 0);
  assert.equal(JSON.stringify(read.parameters), JSON.stringify({
    type: 'object',
    properties: {
      path: { type: 'string', description: 'A path inside the workspace.' },
      encoding: { type: 'string', description: 'How to decode; UTF-8 when absent.' },
      max_bytes: { type: 'number' },
    },
    required: ['path'],
  }));
});

test('every type of parameter, and the keys beyond', t => {
  const dir = project(t, { '.harness/tools/all_types.md': `---
parameters:
  s: { type: string, enum: [a, b], default: a }
  n: { type: number, minimum: 0, maximum: 1.5 }
  i: { type: int }
  j: { type: integer }
  b: { type: bool, default: true }
  c: { type: boolean }
  o: { type: object, properties: { k: { type: string } } }
  a: { items: { type: string }, type: array, required: true, description: Some. }
  p: { type: string, pattern: "^x" }
---
All types.
` });
  const [tool] = json(dir, 'tools', '--json');
  assert.equal(JSON.stringify(tool.parameters), JSON.stringify({
    type: 'object',
    properties: {
      s: { type: 'string', enum: ['a', 'b'], default: 'a' },
      n: { type: 'number', minimum: 0, maximum: 1.5 },
      i: { type: 'integer' },
      j: { type: 'integer' },
      b: { type: 'boolean', default: true },
      c: { type: 'boolean' },
      o: { type: 'object', properties: { k: { type: 'string' } } },
      a: { type: 'array', description: 'Some.', items: { type: 'string' } },
      p: { type: 'string', pattern: '^x' },
    },
    required: ['a'],
  }));
});

// ---- sub-agents

test('a sub-agent with references and an inline tool', t => {
  const dir = project(t, {
    '.harness/tools/search_text.md': '---\nparameters:\n  text: { type: string, required: true }\n---\nFinds text.\n',
    '.harness/hooks/researcher_guard.md': '---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nWatches.\n',
    '.harness/agents/researcher.md': `---
model: gpt-4o-mini
description: Reads pages and sums them up
tools:
  - name: fetch_url
    parameters:
      url: { type: string, required: true }
    script: |
      def run(args):
          return http.get(args["url"], {}, 30)
  - search_text
hooks:
  - researcher_guard
---
# Researcher

You read and sum up.
`,
  });
  assert.deepEqual(json(dir, 'agents', '--json'), [{
    name: 'researcher', description: 'Reads pages and sums them up', model: 'gpt-4o-mini', tools: ['fetch_url', 'search_text'],
    hooks: ['researcher_guard'], file: '.harness/agents/researcher.md', line: 1,
  }]);
  assert.deepEqual(json(dir, 'tools', '--json').map(x => x.name), ['search_text'], 'an inline tool is private');
  assert.deepEqual(json(dir, 'tools', '--format', 'openai').map(x => x.function.name), ['search_text', 'delegate', 'delegate_async']);
  const agent = json(dir, 'inspect', 'researcher', '--json');
  assert.equal(agent.prompt, '# Researcher\n\nYou read and sum up.\n');
  assert.equal(json(dir, 'inspect', 'fetch_url', '--json').agent, 'researcher');
  assert.equal(run(['-C', dir, 'agents']).stdout,
    'researcher  gpt-4o-mini  .harness/agents/researcher.md:1  Reads pages and sums them up\n');
});

// ---- spaces

const deploy = `---
id: deploy
name: "Deploy to Staging"
description: "Puts a branch on the staging machines"
category: "deployment"
parameters:
  - name: branch
    type: string
    description: "Which branch"
    required: true
  - name: wait
    type: boolean
    description: "Stay until it is done"
    required: false
    default: true
command: "bash scripts/deploy.sh {{branch}}"
timeout: 300
confirm: true
icon: "rocket"
---
# Deploy Tool

Asks before it touches production.
`;

const migrate = `---
id: migrate-db
name: "Run Database Migration"
description: "Applies what is pending"
category: "database"
parameters:
  - name: direction
    type: "string"
    enum: ["up", "down"]
    description: "Which way"
    required: true
  - name: steps
    type: "number"
    description: "How many"
    required: false
    default: 1
command: "go run scripts/migrate.go --direction {{direction}} --steps {{steps}}"
timeout: 120
confirm: true
environment:
  DATABASE_URL: "\${DB_URL}"
  MIGRATION_DIR: "db/migrations"
---
# Database Migration

Goes forward, or back.
`;

test('command tools of a space', t => {
  const dir = project(t, { 'agent/tools/deploy.md': deploy, 'agent/tools/migrate-db.md': migrate, 'harness.md': '---\nbuiltin_tools: none\n---\n' });
  const tools = json(dir, 'tools', '--json');
  assert.deepEqual(tools.map(x => x.name), ['deploy', 'migrate-db']);
  assert.deepEqual(tools[0], {
    name: 'deploy', title: 'Deploy to Staging', aliases: [], kind: 'command', file: 'agent/tools/deploy.md', line: tools[0].line,
    description: 'Puts a branch on the staging machines\n\n# Deploy Tool\n\nAsks before it touches production.',
    parameters: {
      type: 'object',
      properties: {
        branch: { type: 'string', description: 'Which branch' },
        wait: { type: 'boolean', description: 'Stay until it is done', default: true },
      },
      required: ['branch'],
    },
    safety: { ...starts, requires_confirmation: true }, category: 'deployment', icon: 'rocket', timeout_ms: 300000,
  });
  assert.equal(JSON.stringify(tools[1].parameters), JSON.stringify({
    type: 'object',
    properties: {
      direction: { type: 'string', description: 'Which way', enum: ['up', 'down'] },
      steps: { type: 'number', description: 'How many', default: 1 },
    },
    required: ['direction'],
  }));
  assert.equal(tools[1].timeout_ms, 120000);
  assert.equal(json(dir, 'inspect', 'migrate-db', '--json').confirm, true);
  assert.deepEqual(json(dir, 'inspect', 'migrate-db', '--json').environment, { DATABASE_URL: '${DB_URL}', MIGRATION_DIR: 'db/migrations' });
});

test('tools of a space manifest, and a face for an MCP tool', t => {
  const dir = project(t, {
    'harness.md': '---\nbuiltin_tools: none\n---\n',
    'space.manifest.json': JSON.stringify({ tools: [{ id: 'ship', name: 'Ship it', description: 'Ships', icon: 'rocket', command: 'scripts/ship.sh' }] }),
    'agent/tools/github-issue.md': `---
id: github-issue
name: "Create GitHub Issue"
description: "Opens an issue"
mcp: true
server: "github-mcp-server"
timeout: 30
parameters:
  - name: title
    type: string
    description: "Headline"
    required: true
  - name: body
    type: string
    description: "Text"
    required: false
---
`,
  });
  const { status, stderr } = run(['-C', dir, 'validate']);
  assert.equal(status, 0, stderr);
  assert.match(stderr, /github-mcp-server.* \[warning\]\n/);
  const tools = Object.fromEntries(json(dir, 'tools', '--json').map(x => [x.name, x]));
  assert.deepEqual(Object.keys(tools).sort(), ['github-issue', 'ship']);
  assert.equal(tools.ship.kind, 'command');
  assert.equal(tools.ship.timeout_ms, 60000);
  assert.equal(tools['github-issue'].kind, 'mcp');
  assert.deepEqual(tools['github-issue'].parameters.required, ['title']);
});

// ---- tools.json

const getTime = {
  name: 'get_time',
  description: 'The time in a zone',
  schema: {
    type: 'object',
    properties: {
      timezone: { type: 'string', description: 'a name such as Europe/Helsinki' },
      tz: { type: 'string', description: 'the old name of timezone' },
    },
    required: ['timezone'],
    additionalProperties: false,
  },
  command: ['./tools/bin/get_time'],
  timeoutSec: 5,
  envPassthrough: ['TZ', 'oai_http_timeout', 'TZ'],
};

test('an argv tool of tools.json passes its schema through', t => {
  const dir = project(t, { 'tools.json': JSON.stringify({ tools: [getTime, { name: 'bare', command: ['/bin/true'] }] }), 'tools/bin/get_time': '#!/bin/sh\n' });
  chmodSync(join(dir, 'tools/bin/get_time'), 0o755);
  const [time, bare] = json(dir, 'tools', '--format', 'openai');
  assert.equal(JSON.stringify(time),
    JSON.stringify({ type: 'function', function: { name: 'get_time', description: 'The time in a zone', parameters: getTime.schema } }));
  assert.deepEqual(bare.function.parameters, { type: 'object', properties: {} });
  const tools = json(dir, 'tools', '--json');
  assert.deepEqual(tools.map(x => [x.kind, x.timeout_ms]), [['argv', 5000], ['argv', 30000]]);
  assert.deepEqual(json(dir, 'inspect', 'get_time', '--json').env_passthrough, ['TZ', 'OAI_HTTP_TIMEOUT']);
});

// ---- formats and listings

const two = {
  '.harness/tools/look.md': `---
title: Look
parameters:
  path: { type: string, required: true, description: "Where. More words." }
  deep: { type: boolean }
safety: { read_only: true, idempotent: true }
output_schema: { type: object }
aliases: [peek]
timeout_ms: 1500
---
Looks.

And more.
`,
  '.harness/tools/wait_here.md': '---\n---\nWaits.\n',
};

test('--format: the exact objects', t => {
  const dir = project(t, two);
  const schema = {
    type: 'object', properties: { path: { type: 'string', description: 'Where. More words.' }, deep: { type: 'boolean' } }, required: ['path'],
  };
  const none = { type: 'object', properties: {}, required: [] };
  const expected = {
    openai: [
      { type: 'function', function: { name: 'look', description: 'Looks.\n\nAnd more.', parameters: schema } },
      { type: 'function', function: { name: 'wait_here', description: 'Waits.', parameters: none } },
    ],
    anthropic: [
      { name: 'look', description: 'Looks.\n\nAnd more.', input_schema: schema },
      { name: 'wait_here', description: 'Waits.', input_schema: none },
    ],
    mcp: {
      tools: [
        {
          name: 'look', title: 'Look', description: 'Looks.\n\nAnd more.', inputSchema: schema, outputSchema: { type: 'object' },
          annotations: { title: 'Look', readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
        },
        { name: 'wait_here', description: 'Waits.', inputSchema: none,
          annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false } },
      ],
    },
  };
  for (const [format, want] of Object.entries(expected)) {
    const pretty = run(['-C', dir, 'tools', '--format', format]);
    assert.equal(pretty.status, 0, pretty.stderr);
    assert.equal(pretty.stdout, JSON.stringify(want, null, 2).replaceAll('[]', '[]') + '\n');
    assert.equal(run(['-C', dir, 'tools', '--format', format, '--json']).stdout, JSON.stringify(want) + '\n');
  }
  const wrong = run(['-C', dir, 'tools', '--format', 'xml']);
  assert.deepEqual(wrong, { status: 2, stdout: '', stderr: 'harness: --format: "xml" is not one of openai|anthropic|mcp\n' });
});

test('the listings', t => {
  const dir = project(t, two);
  assert.deepEqual(run(['-C', dir, 'tools']), {
    status: 0, stderr: '',
    stdout: 'look       starlark  .harness/tools/look.md:1       Looks.\nwait_here  starlark  .harness/tools/wait_here.md:1  Waits.\n',
  });
  assert.equal(run(['-C', dir, 'tools', '-v']).stdout, `look  starlark  .harness/tools/look.md:1
  title        Look
  description  Looks.
  aliases      peek
  timeout      1500 ms
  safety       read-only
  parameters
    path  string   required  Where. More words.
    deep  boolean  optional

wait_here  starlark  .harness/tools/wait_here.md:1
  description  Waits.
  safety       mutating
`);
  assert.deepEqual(run(['-C', dir, 'hooks']), { status: 0, stdout: '', stderr: '' });
  assert.deepEqual(run(['-C', dir, 'hooks', '--json']), { status: 0, stdout: '[]\n', stderr: '' });
  assert.deepEqual(run(['-C', dir, 'agents', '--json']), { status: 0, stdout: '[]\n', stderr: '' });
});

test('hooks are listed in execution order', t => {
  const hook = more => `---\nevent: tool.pre\n${more}script: |\n  def handle(event, payload):\n      return allow()\n---\n`;
  const dir = project(t, {
    '.harness/hooks/b.md': hook('priority: 5\n'), '.harness/hooks/a.md': hook('priority: 5\n'),
    '.harness/hooks/z.md': hook('priority: -1\nwhen: payload["depth"] > 0\non_error: allow\ntimeout_ms: 50\n'),
    'agent/hooks/space.json': JSON.stringify({ hooks: [{ id: 'lint', type: 'post_tool', tools: ['write*'], command: 'true' }] }),
  });
  const hooks = json(dir, 'hooks', '--json');
  assert.deepEqual(hooks.map(h => h.name), ['lint', 'z', 'a', 'b']);
  assert.deepEqual(hooks[1], {
    name: 'z', kind: 'starlark', event: 'tool.pre', priority: -1, when: 'payload["depth"] > 0', on_error: 'allow', timeout_ms: 50,
    file: '.harness/hooks/z.md', line: 1,
  });
  assert.deepEqual(Object.keys(hooks[0]), ['name', 'kind', 'event', 'priority', 'when', 'on_error', 'timeout_ms', 'file', 'line']);
  assert.deepEqual([hooks[0].kind, hooks[0].event, hooks[0].on_error, hooks[0].timeout_ms], ['command', 'tool.post', 'block', 5000]);
  assert.deepEqual([hooks[2].when, hooks[2].on_error, hooks[2].timeout_ms], [null, 'block', 5000]);
  add(dir, { '.harness/hooks/c.md': hook('') });
  assert.match(run(['-C', dir, 'hooks']).stdout, /^c +tool\.pre +priority 0 +\.harness\/hooks\/c\.md:1$/m);
});

test('columns are aligned when a cell has wide characters', t => {
  const agent = (model, text) => `---\ndescription: ${text}\nmodel: ${model}\n---\n${text}\n`;
  const dir = project(t, { 'harness.md': '---\n---\n', '.harness/agents/a.md': agent('日本語モデル', 'First.'), '.harness/agents/b.md': agent('plain', 'Second.') });
  const { stdout } = run(['-C', dir, 'agents']);
  const width = text => [...text].reduce((n, c) => n + (/[\u3000-\u9fff]/.test(c) ? 2 : 1), 0);
  const starts = stdout.trimEnd().split('\n').map(line => width(line.slice(0, line.indexOf('.harness'))));
  assert.equal(starts.length, 2);
  assert.equal(starts[0], starts[1], stdout);
});
