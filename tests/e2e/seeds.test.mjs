// The examples of the formats that harness takes over, each as a project that loads and behaves as its page says: AI Harness (tool and
// sub-agent files), Construct (spaces), TinyAgents (what a tool declares), agentcli (tools.json).
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { caller, hook, tool } from './calls.mjs';
import { talker } from './agents.mjs';

const problems = p => p.run(['validate']).stderr.split('\n').filter(Boolean);
const loads = (p, warnings = []) => {
  const { status, stderr } = p.run(['validate']);
  assert.equal(status, 0, stderr);
  const said = problems(p).filter(l => !l.endsWith('[hint]'));
  assert.equal(said.length, warnings.length, stderr);
  warnings.forEach((w, i) => assert.match(said[i], w));
};

// ---- AI Harness: the tool artifact

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
Run a shell command. Fenced code in here is text:

\`\`\`
def run(args): fail("never")
\`\`\`
`;

test('AI Harness: run_command', t => {
  const p = caller(t, { '.harness/tools/run_command.md': runCommand });
  loads(p);
  assert.equal(p.call('run_command', { command: 'echo hi' }).value.stdout, 'hi\n');
  const [spec] = JSON.parse(p.run(['tools', '--format', 'openai', '--json']).stdout);
  assert.equal(spec.function.name, 'run_command');
  assert.deepEqual(spec.function.parameters, { type: 'object', properties: { command: { type: 'string' }, timeout_ms: { type: 'number' } }, required: ['command'] });
  assert.match(p.call('run_command', {}).error.message, /missing required property "command"/);
  assert.match(p.call('run_command', { command: 'x', timeout_ms: '5' }).error.message, /\/timeout_ms: expected number, got string/, 'no coercion');
});

test('AI Harness: parameters in order, types as they arrive, extra keys, return values', t => {
  const show = '{k: type(args[k]) for k in args}';
  const p = caller(t, {
    '.harness/tools/read_text.md': tool('return {"got": args, "keys": list(args)}', `parameters:
  path:
    type: string
    description: Workspace-relative path to read.
    required: true
  encoding:
    type: string
    required: false
  max_bytes:
    type: number
    required: false`),
    '.harness/tools/types.md': tool(`return ${show}`, 'parameters:\n  s: {type: string}\n  n: {type: number}\n  b: {type: boolean}\n  o: {type: object}\n  a: {type: array}'),
    '.harness/tools/explicit.md': tool('if not args.get("command"):\n    return {"error": "command is required"}\nreturn {"ok": True}'),
    '.harness/tools/raised.md': tool('fail("no luck")'),
    '.harness/tools/plain.md': tool('return [1, "two", 3.5]'),
  });
  loads(p);
  const spec = JSON.parse(p.run(['tools', '--format', 'openai', '--json']).stdout).find(x => x.function.name === 'read_text');
  assert.deepEqual(Object.keys(spec.function.parameters.properties), ['path', 'encoding', 'max_bytes']);
  assert.deepEqual(p.call('read_text', { path: 'a', more: 1 }).value, { got: { path: 'a', more: 1 }, keys: ['path', 'more'] });
  assert.deepEqual(p.call('types', { s: 'x', n: 1.5, b: true, o: {}, a: [] }).value, { s: 'string', n: 'float', b: 'bool', o: 'dict', a: 'list' });
  assert.equal(p.call('types', { n: 2 }).value.n, 'int');
  assert.deepEqual([p.call('explicit').is_error, p.call('explicit').error.message], [true, 'command is required']);
  assert.match(p.call('raised').error.message, /no luck/);
  assert.deepEqual(p.call('plain').value, [1, 'two', 3.5]);
});

test('AI Harness: the texts of the validation surface', t => {
  const p = caller(t, {
    '.harness/tools/run_command.md': '---\nparameters:\n  command: {\n  bad: ]\n---\n', '.harness/tools/open.md': 'no frontmatter\n',
    '.harness/tools/negative.md': '---\ntimeout_ms: -1\n---\n', '.harness/tools/list.md': '---\nparameters: []\n---\n', '.harness/tools/twice.md': tool('return 1'),
    'harness.md': '---\ntools:\n  - { name: "" }\n  - { name: twice }\n---\n',
  });
  const said = problems(p).join('\n');
  for (const text of ['parse tool run_command.md: yaml: line 4: ', 'parse tool open.md: missing frontmatter delimiter', 'tool "negative" timeout_ms must be >= 0',
    'parse tool list.md: parameters: expected map, got list', 'tools[0].name cannot be empty', 'tool "twice" is defined more than once'])
    assert.ok(said.includes(text), `${text}\n${said}`);
});

test('AI Harness: a tool without a script is registered; timeout_ms; async; the six steps', t => {
  const p = caller(t, {
    '.harness/tools/declared.md': '---\nparameters: {}\n---\nGo supplies it.\n',
    '.harness/tools/slow.md': tool('for i in range(1000000000):\n    pass\nreturn 1', 'timeout_ms: 300'),
    '.harness/tools/later.md': tool('return "done"', 'async: true'),
    '.harness/tools/steps.md': tool('return {"x": args["x"] + 1}', 'parameters:\n  x: {type: number, required: true}'),
    '.harness/hooks/a_pre.md': hook('tool.pre', 'if payload["args"]["x"] > 9:\n    return {"action": "block", "reason": "too much"}\nreturn {"action": "modify", "payload": dict(payload, args={"x": payload["args"]["x"] * 10})}', 'when: payload["name"] == "steps"'),
    '.harness/hooks/b_post.md': hook('tool.post', 'return {"action": "modify", "payload": dict(payload, result={"seen": payload["result"]["x"]})}', 'when: payload["name"] == "steps"'),
  });
  loads(p, [/declared\.md:1:1: tool "declared" has no script/]);
  assert.match(p.call('declared').error.message, /tool "declared" has no implementation/);
  const slow = p.call('slow');
  assert.equal(slow.value.timed_out, true, JSON.stringify(slow.call));
  const later = p.call('later');
  assert.ok(later.value === 'done' || later.value.task_id, JSON.stringify(later.value));
  assert.deepEqual(p.call('steps', { x: 1 }).value, { seen: 11 }, 'modified before and after');
  assert.match(p.call('steps', { x: 10 }).error.message, /too much/);
  assert.match(p.call('steps', {}).error.message, /missing required property/, 'validation comes before hooks');
});

// ---- AI Harness: the sub-agent artifact

const researcher = `---
model: scripted
description: Researches topics via HTTP and summarizes findings concisely
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

You are a research agent.
`;
const model = `
def reply(messages, tools):
    said = [m["content"] for m in messages if m["role"] == "tool"]
    if messages[0]["content"].startswith("# Researcher"):
        if not said:
            return {"tool_calls": [{"name": "search_text", "arguments": {"q": "x"}}]}
        return {"text": json.encode({"system": messages[0]["content"], "tools": sorted([t["name"] for t in tools]), "said": said})}
    if not said:
        return {"tool_calls": [{"name": "delegate", "arguments": {"agent": "researcher", "task": "find"}}]}
    return {"text": said[0]}
`;

test('AI Harness: the researcher', async t => {
  const p = talker(t, {
    'harness.md': '---\nmodel: { provider: script, name: scripted, script: model.star }\n---\nParent.\n', 'model.star': model,
    '.harness/agents/researcher.md': researcher, '.harness/tools/search_text.md': tool('return "found " + args["q"]', 'parameters:\n  q: {type: string, required: true}'),
    '.harness/tools/parents.md': tool('return 1'),
    '.harness/hooks/researcher_guard.md': hook('tool.pre', 'return modify(dict(payload, args={"q": payload["agent"]}))', 'when: payload["name"] == "search_text"'),
  });
  const [a] = JSON.parse((await p.harness(['agents', '--json'])).stdout);
  assert.deepEqual([a.name, a.model, a.tools, a.hooks], ['researcher', 'scripted', ['fetch_url', 'search_text'], ['researcher_guard']]);
  const { reply, stderr } = await p.say('go');
  const answer = /\{.*\}/s.exec(reply?.response ?? assert.fail(stderr))[0];
  assert.match(answer, /# Researcher/);
  assert.match(answer, /fetch_url/);
  assert.match(answer, /parents/, 'the parent’s catalog is inherited');
  assert.match(answer, /found researcher/, 'the hook ran in the child');
  assert.doesNotMatch((await p.harness(['tools'])).stdout, /fetch_url/, 'inline tools are private');
  p.add({ '.harness/agents/lost.md': '---\ndescription: x\ntools: [nowhere]\n---\n' });
  assert.match((await p.harness(['validate'])).stderr, /agent "lost": tool "nowhere" is not defined/);
});

// ---- Construct

const deploy = `---
id: deploy
name: "Deploy to Staging"
description: "Deploys the current branch to the staging environment"
category: "deployment"
parameters:
  - name: branch
    type: string
    description: "Git branch to deploy"
    required: true
  - name: wait
    type: boolean
    description: "Wait for deployment to complete"
    required: false
    default: true
command: "bash scripts/deploy.sh {{branch}}"
timeout: 300
confirm: true
icon: "rocket"
---
# Deploy Tool

Always confirm before deploying to production.
`;
const migrate = `---
id: migrate-db
name: "Run Database Migration"
description: "Executes pending database migrations"
category: "database"
parameters:
  - name: direction
    type: "string"
    enum: ["up", "down"]
    description: "Migration direction"
    required: true
  - name: steps
    type: "number"
    description: "Number of migrations to apply"
    required: false
    default: 1
command: "sh scripts/migrate.sh --direction {{direction}} --steps {{steps}}"
timeout: 120
confirm: true
environment:
  DATABASE_URL: "\${DB_URL}"
  MIGRATION_DIR: "db/migrations"
---
# Database Migration
`;
const issue = `---
id: github-issue
name: "Create GitHub Issue"
description: "Creates a new issue in the GitHub repository"
mcp: true
server: "github-mcp-server"
timeout: 30
parameters:
  - name: title
    type: string
    description: "Issue title"
    required: true
  - name: body
    type: string
    description: "Issue description"
    required: false
---
`;
const suite = `---
id: run-suite
name: Test
description: Runs a suite.
parameters:
  - { name: suite, type: string, required: true }
  - { name: timeout, type: string, required: true }
command: "bash scripts/test.sh {{suite}} --timeout {{timeout}}"
---
`;

test('Construct: custom tools, their templates, confirmation and environment', t => {
  const p = caller(t, {
    'agent/tools/deploy.md': deploy, 'agent/tools/migrate-db.md': migrate, 'agent/tools/run-suite.md': suite,
    'scripts/deploy.sh': 'printf "<%s>" "$@"\n', 'scripts/migrate.sh': 'printf "<%s>" "$@"; printf " %s %s" "$DATABASE_URL" "$MIGRATION_DIR"\n',
    'scripts/test.sh': 'printf "%s " "$@"\n',
  });
  loads(p);
  const [d] = JSON.parse(p.run(['tools', '--json']).stdout);
  assert.deepEqual([d.name, d.title, d.category, d.icon, d.timeout_ms], ['deploy', 'Deploy to Staging', 'deployment', 'rocket', 300000]);
  assert.equal(p.call('deploy', { branch: 'main' }).error.step, 'confirm');
  assert.equal(p.call('deploy', { branch: 'main; rm -r x' }, ['--approve', 'deploy']).value.stdout, '<main; rm -r x>');
  const up = p.call('migrate-db', { direction: 'up' }, ['--yes'], { env: { DB_URL: 'db://a/b' } });
  assert.match(up.value.stdout, /^<--direction><up><--steps><1> .* db\/migrations$/);
  assert.match(p.call('migrate-db', { direction: 'sideways' }, ['--yes']).error.message, /must be one of "up", "down"/);
  assert.match(p.call('migrate-db', { direction: 'up' }, ['--yes']).error.message, /DB_URL/, 'an unset variable is an error of the call');
  assert.equal(p.call('run-suite', { suite: 'unit', timeout: '30' }, ['--yes']).value.stdout, 'unit --timeout 30 ');
});

test('Construct: the manifest, a file of the same id, an MCP tool, the built-in tools', t => {
  const manifest = { tools: [{ id: 'deploy', name: 'Deploy to Staging', description: 'Deploy current branch to staging', icon: 'rocket', command: 'scripts/deploy.sh' }] };
  const p = caller(t, { 'space.manifest.json': JSON.stringify(manifest), 'scripts/deploy.sh': '#!/bin/sh\necho deployed\n' });
  chmodSync(join(p.dir, 'scripts/deploy.sh'), 0o755);
  loads(p);
  assert.match(p.run(['validate']).stdout, /^ok: 1 tool, 7 built-in tools, 0 hooks, 0 agents$/m);
  assert.equal(p.call('deploy', {}, ['--yes']).value.stdout, 'deployed\n');
  const names = JSON.parse(p.run(['tools', '--json']).stdout).map(x => x.name);
  assert.deepEqual(names, ['deploy', 'bash', 'read', 'write', 'edit', 'glob', 'grep', 'listdir']);
  p.add({ 'agent/tools/deploy.md': deploy, 'agent/tools/github-issue.md': issue });
  loads(p, [/github-issue\.md:2:1: tool "github-issue": mcp server "github-mcp-server" is not configured/, /the file in agent\/tools wins over this entry/]);
  assert.equal(p.call('deploy', { branch: 'x' }).error.step, 'confirm', 'the file wins');
  assert.equal(p.call('github-issue', { title: 'x' }).is_error, true);
});

test('Construct: blockedTools and the safe defaults of bash', t => {
  const p = caller(t, { 'agent/config.md': '---\nid: architect\nname: Architect\nblockedTools: [write]\n---\nYou are {{context.agent.name}}.\n', 'a/b.txt': 'x' });
  loads(p);
  assert.equal(p.call('write', { path: 'n', content: 'x' }).error.step, 'policy');
  assert.equal(p.call('bash', { command: 'rm -rf a' }, ['--yes']).is_error, true);
  assert.equal(p.call('bash', { command: 'git push --force' }, ['--yes']).is_error, true);
  assert.ok(p.has('a/b.txt'));
  assert.match(p.call('read', { path: join(p.dir, 'a/b.txt') }).value, /x/, 'absolute paths inside the workspace');
});

// ---- TinyAgents

test('TinyAgents: tool declarations, model input, and calls that fail closed', t => {
  const p = caller(t, {
    'harness.md': '---\nlimits: {confirm: [spends_money]}\n---\n',
    '.harness/tools/pay.md': tool('return {"receipt": runtime["idempotency_key"] != "", "run": type(runtime["run_id"])}', `parameters:
  order: { type: string, required: true }
output_schema: { type: object, required: [receipt] }
injected: [run_id, idempotency_key]
safety: { spends_money: true, redact: ["[0-9]{16}"] }
timeout_ms: 1000
retry: { max_attempts: 2 }
idempotency: key`),
  });
  loads(p);
  const [spec] = JSON.parse(p.run(['tools', '--format', 'openai', '--json']).stdout);
  assert.deepEqual(Object.keys(spec.function.parameters.properties), ['order'], 'injected values are in no schema');
  assert.equal(p.call('pay', { order: 'a' }).error.rule, 'limits.confirm: spends_money');
  const { value, content, artifacts, is_error, elapsed_ms, tool_call_id } = p.call('pay', { order: 'a' }, ['--yes']).call;
  assert.deepEqual([value, is_error, artifacts], [{ receipt: true, run: 'string' }, false, []]);
  assert.ok(tool_call_id && content.length === 1 && elapsed_ms >= 0);
  assert.match(p.call('pay', { order: 'a', run_id: 'x' }, ['--yes']).error.message, /run_id/, 'a hidden value cannot be sent');
  assert.match(p.call('pay', '{"order": ', ['--yes']).error.message, /json|JSON/, 'malformed arguments are not replaced');
  assert.equal(p.call('nothing', {}).error.step, 'resolve');
});

test('TinyAgents: names that are refused', t => {
  const p = caller(t, { 'harness.md': `---\ntools:\n  - { name: "" }\n  - { name: "a b" }\n  - { name: ${'x'.repeat(65)} }\n  - { name: "a.b" }\n---\n` });
  const said = problems(p).join('\n');
  assert.match(said, /tools\[0\]\.name cannot be empty/);
  assert.equal(said.match(/name must match \[A-Za-z0-9_-\]\{1,64\}/g).length, 3, said);
});

// ---- agentcli

const getTime = {
  name: 'get_time', description: 'Get current time for an IANA timezone',
  schema: {
    type: 'object',
    properties: {
      timezone: { type: 'string', description: 'IANA timezone, e.g. Europe/Helsinki' },
      tz: { type: 'string', description: 'Alias for timezone (deprecated)' },
    },
    required: ['timezone'], additionalProperties: false,
  },
  command: ['./tools/bin/get_time'], timeoutSec: 5, envPassthrough: ['TZ', 'OAI_HTTP_TIMEOUT'],
};
const manifest = (...tools) => ({ 'tools.json': JSON.stringify({ tools }, null, 2) });
const program = '#!/bin/sh\nread -r line\nprintf \'{"got":%s,"env":"%s"}\\n\' "$line" "$(env | cut -d= -f1 | sort | paste -sd,)"\n';

test('agentcli: the minimal example', t => {
  const p = caller(t, { ...manifest(getTime), 'tools/bin/get_time': program });
  loads(p, [/tools\.json:\d+:7: tool "get_time": program \.\/tools\/bin\/get_time is not executable/]);
  chmodSync(join(p.dir, 'tools/bin/get_time'), 0o755);
  loads(p);
  const [spec] = JSON.parse(p.run(['tools', '--format', 'openai', '--json']).stdout);
  assert.deepEqual(spec, { type: 'function', function: { name: getTime.name, description: getTime.description, parameters: getTime.schema } });
  const env = { TZ: 'UTC', OAI_HTTP_TIMEOUT: '5', OAI_API_KEY: 'sk-secret-000', OTHER: 'x' };
  const { value } = p.call('get_time', '{"timezone":  "Europe/Helsinki"}', ['--yes'], { env });
  assert.deepEqual(value.got, { timezone: 'Europe/Helsinki' });
  const names = value.env.split(',').filter(n => !['PWD', 'SHLVL', '_', 'OLDPWD'].includes(n));           // the shell's own
  assert.deepEqual(names, ['HOME', 'OAI_HTTP_TIMEOUT', 'PATH', 'PYTHONDONTWRITEBYTECODE', 'TMPDIR', 'TZ']);       // PYTHONDONTWRITEBYTECODE: its program is protected
  assert.deepEqual(p.events('sandbox.applied')[0].data.envKeys.filter(k => ['TZ', 'OAI_HTTP_TIMEOUT'].includes(k)), ['TZ', 'OAI_HTTP_TIMEOUT']);
  assert.match(p.call('get_time', { timezone: 'x', more: 1 }, ['--yes']).error.message, /more/);
});

test('agentcli: common mistakes, word for word', t => {
  const run = { command: ['./tools/bin/x'] };
  const p = caller(t, manifest({ ...run }, { name: 'a', ...run }, { name: 'a', ...run }, { name: 'b', command: [] }, { name: 'c', command: ['bin/c'] },
    { name: 'd', command: ['./tools/bin/../hack'] }, { name: 'e', ...run, envPassthrough: ['OAI-API-KEY', '1BAD'] }, { name: 'f', ...run, timeoutSec: -1 }));
  const said = problems(p).join('\n');
  for (const text of ['tool[0]: name is required', 'tool[2] "a": duplicate name', 'tool[3] "b": command must have at least program name',
    'tool[4] "c": relative command[0] must start with ./tools/bin/', 'tool[5] "d": command[0] escapes ./tools/bin after normalization (got "./tools/bin/../hack" -> "./tools/hack")',
    'tool[6] "e": envPassthrough[0]: invalid name "OAI-API-KEY" (must match [A-Z_][A-Z0-9_]*)', 'tool[6] "e": envPassthrough[1]: invalid name "1BAD" (must match [A-Z_][A-Z0-9_]*)',
    'tool[7] "f": timeoutSec must be >= 1'])
    assert.ok(said.includes(text), `${text}\n${said}`);
});

test('agentcli: a manifest that passes a key loads; the key is withheld', t => {
  const entry = { name: 'draw', command: ['./tools/bin/draw'], timeoutSec: 0, envPassthrough: ['OAI_API_KEY', 'oai_base_url', 'OAI_BASE_URL'] };
  const p = caller(t, { ...manifest(entry), 'tools/bin/draw': '#!/bin/sh\nprintf \'{"key":"%s","url":"%s"}\\n\' "$OAI_API_KEY" "$OAI_BASE_URL"\n' });
  chmodSync(join(p.dir, 'tools/bin/draw'), 0o755);
  loads(p, [/tools\.json:\d+:7: tool\[0\] "draw": envPassthrough\[0\]: OAI_API_KEY is a key or token and is withheld from the tool/]);
  const env = { OAI_API_KEY: 'sk-secret-000', OAI_BASE_URL: 'http://u' };
  assert.deepEqual(p.call('draw', {}, ['--yes'], { env }).value, { key: '', url: 'http://u' });
  p.add({ 'harness.md': '---\nsandbox: { env_allow: [OAI_API_KEY] }\n---\n' });
  loads(p);
  assert.equal(JSON.parse(p.run(['tools', '--json']).stdout)[0].timeout_ms, 30000, 'timeoutSec: 0 is the default');
  const own = p.call('draw', {}, ['--yes'], { env });
  assert.ok(own.value.key, 'named in env_allow, the key is passed on');
});

test('agentcli: results and failures; a program that is missing', t => {
  const bin = text => `#!/bin/sh\n${text}\n`;
  const p = caller(t, {
    ...manifest(...['fine', 'json_error', 'text_error', 'gone'].map(name => ({ name, command: [`./tools/bin/${name}`] }))),
    'tools/bin/fine': bin('echo \'{"a":1}\''), 'tools/bin/json_error': bin('echo \'{"error":"bad zone"}\' >&2; exit 1'),
    'tools/bin/text_error': bin('echo oops >&2; exit 2'),
  });
  for (const name of ['fine', 'json_error', 'text_error']) chmodSync(join(p.dir, 'tools/bin', name), 0o755);
  loads(p, [/tool "gone": program \.\/tools\/bin\/gone was not found \(calls fail until it exists\) \[warning\]$/]);
  assert.deepEqual(p.call('fine', {}, ['--yes']).value, { a: 1 });
  assert.equal(p.call('json_error', {}, ['--yes']).error.message, 'bad zone');
  assert.match(p.call('text_error', {}, ['--yes']).error.message, /oops/);
  assert.match(p.call('gone', {}, ['--yes']).error.message, /tools\/bin\/gone: No such file or directory/);
});
