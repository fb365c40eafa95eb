// harness inspect: one tool, hook or agent in full.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { project, run } from './harness.mjs';

const files = {
  '.harness/tools/look.md': `---
title: Look
parameters:
  path: { type: string, required: true, description: Where. }
script: |
  def run(args):
      return args["path"]
aliases: [peek]
retry: { max_attempts: 2 }
idempotency: idempotent
timeout_ms: 1500
---
# Look

Looks once.
`,
  '.harness/hooks/guard.md': `---
event: tool.pre
priority: 3
when: payload["name"] == "look"
script: |
  def handle(event, payload):
      return allow()
---
Notes for people.
`,
  '.harness/agents/look.md': '---\ndescription: Looks for long.\ntools: [look]\nblocked_tools: [other]\n---\nYou look.\n',
};

test('a tool', t => {
  const dir = project(t, files);
  const { status, stdout, stderr } = run(['-C', dir, 'inspect', 'peek']);
  assert.equal(stderr, '');
  assert.equal(status, 0);
  assert.equal(stdout, `look  starlark  .harness/tools/look.md:1
  title        Look
  aliases      peek
  timeout      1500 ms
  safety       read-only
  retry        {"max_attempts":2}
  idempotency  idempotent
  parameters
    path  string  required  Where.
  description
    # Look

    Looks once.
  script
    def run(args):
        return args["path"]
`);
  const json = JSON.parse(run(['-C', dir, 'inspect', 'look', '--type', 'tool', '--json']).stdout);
  assert.deepEqual(Object.keys(json), ['type', 'name', 'title', 'aliases', 'kind', 'file', 'line', 'description', 'parameters', 'safety',
    'category', 'icon', 'timeout_ms', 'output_schema', 'retry', 'idempotency', 'injected', 'async', 'confirm', 'calls', 'agent', 'bundle', 'script',
    'command', 'argv', 'env_passthrough', 'environment', 'folder', 'server', 'server_tool']);
  assert.equal(json.type, 'tool');
  assert.equal(json.script, 'def run(args):\n    return args["path"]\n');
});

test('a hook', t => {
  const dir = project(t, files);
  assert.equal(run(['-C', dir, 'inspect', 'guard']).stdout, `guard  starlark  .harness/hooks/guard.md:1
  event     tool.pre
  priority  3
  when      payload["name"] == "look"
  on_error  block
  timeout   5000 ms
  script
    def handle(event, payload):
        return allow()
`);
  const json = JSON.parse(run(['-C', dir, 'inspect', 'guard', '--json']).stdout);
  assert.deepEqual(Object.keys(json), ['type', 'name', 'kind', 'event', 'priority', 'when', 'on_error', 'timeout_ms', 'file', 'line',
    'agent', 'script', 'command', 'folder', 'tools']);
});

test('an agent', t => {
  const dir = project(t, files);
  assert.equal(run(['-C', dir, 'inspect', 'look', '--type', 'agent']).stdout, `look  agent  .harness/agents/look.md:1
  description    Looks for long.
  model          (its parent's)
  tools          look
  blocked tools  other
  prompt
    You look.
`);
  const json = JSON.parse(run(['-C', dir, 'inspect', 'look', '--type=agent', '--json']).stdout);
  assert.deepEqual(Object.keys(json), ['type', 'name', 'description', 'model', 'tools', 'hooks', 'file', 'line', 'title', 'provider',
    'prompt', 'blocked_tools', 'mcp', 'verify', 'max_iterations']);
  assert.deepEqual([json.model, json.mcp, json.verify, json.max_iterations], [null, null, false, null]);
});

test('command and argv tools', t => {
  const dir = project(t, {
    'harness.md': '---\nbuiltin_tools: none\n---\n',
    'agent/tools/ship.md': `---
id: ship
name: Ship
description: Ships.
parameters: [{ name: to, type: string, description: Where., required: true, enum: [a, b] }]
command: |
  echo first
  sh ship.sh {{to}}
environment: { MODE: "\${MODE}" }
---
`,
    'tools.json': '{"tools":[{"name":"now","command":["/bin/date","-u"],"timeoutSec":2,"envPassthrough":["TZ"]}]}',
  });
  assert.equal(run(['-C', dir, 'inspect', 'ship']).stdout.replace(/:\d+\n/, ':N\n'), `ship  command  agent/tools/ship.md:N
  title        Ship
  timeout      60000 ms
  safety       mutating, writes files, starts programs
  environment  {"MODE":"\${MODE}"}
  parameters
    to  string  required  Where. (one of "a", "b")
  description
    Ships.
  command
    echo first
    sh ship.sh {{to}}
`);
  assert.equal(JSON.parse(run(['-C', dir, 'inspect', 'ship', '--json']).stdout).command, 'echo first\nsh ship.sh {{to}}\n');
  assert.match(run(['-C', dir, 'inspect', 'now']).stdout, /^now  argv  tools\.json:1\n {2}timeout    2000 ms\n {2}safety     mutating, writes files, starts programs\n {2}argv       \/bin\/date, -u\n {2}passed on  TZ\n/);
});

test('unknown and ambiguous names', t => {
  const dir = project(t, files);
  const says = (args, message) => assert.deepEqual(run(['-C', dir, 'inspect', ...args]), { status: 1, stdout: '', stderr: `harness: ${message}\n` });
  says(['look'], '"look" names a tool and an agent (add --type tool or --type agent)');
  says(['gaurd'], 'no tool, hook, agent or rule is named "gaurd" (did you mean "guard"?)');
  says(['zzzzzz'], 'no tool, hook, agent or rule is named "zzzzzz"');
  says(['guard', '--type', 'tool'], 'no tool is named "guard"');
  const { error } = JSON.parse(run(['-C', dir, 'inspect', 'gaurd', '--json']).stdout);
  assert.equal(error.hint, 'did you mean "guard"?');
});
