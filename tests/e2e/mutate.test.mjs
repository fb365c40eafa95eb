// Random damage to a project that uses every format: each run ends with 0 or 1 and sound JSON.
// SOAK=N tries N projects (default 60), SOAK_SEED=S starts at another place.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { project, run } from './harness.mjs';

const files = {
  'harness.md': `---
model: { provider: script, name: offline, script: model.star }
models: [{ provider: openai, name: big, base_url: "http://127.0.0.1:1/v1", api_key_env: KEY, headers: { X: "\${X}" } }]
tools: [{ name: inline_tool, description: Inline., parameters: { a: { type: string } } }]
hooks: [{ name: inline_hook, event: log, script: "def handle(event, payload): return allow()" }]
agents: [{ name: inline_agent, description: Inline., system_prompt: Hello., tools: [inline_tool] }]
tools_policy: { mode: denylist, deny: ["x*"] }
delegation: { max_depth: 2, iterations_per_depth: [3, 2] }
limits: { max_turns: 3, confirm: [destructive] }
sandbox: { mode: strict, read_roots: [], env_allow: [A] }
network: { allowed_domains: [example.org] }
secrets: { token: { env: TOKEN } }
artifact_roots: [more]
manifests: [other/tools.json]
mcp_servers: { files: { command: server, args: [-x], env: { A: b } } }
builtin_tools: [read, grep]
---
You are careful.
`,
  '.harness/tools/look.md': `---
parameters:
  path: { type: string, required: true, pattern: "^[a-z]+$" }
  many: { type: array, items: { type: integer }, default: [1, 2] }
script: |
  LIMIT = 3
  def run(args):
      return {"n": [x for x in args["many"] if x < LIMIT], "s": "%s" % args["path"]}
safety: { read_only: true, redact: ["k[0-9]+"] }
retry: { max_attempts: 2, on_exit: [1] }
output_schema: { $defs: { s: { type: string } }, properties: { s: { $ref: "#/$defs/s" } } }
aliases: [peek]
---
Looks.
`,
  '.harness/hooks/guard.md': '---\nevent: tool.pre\nwhen: payload["name"] == "look"\npriority: 3\nscript: |\n  def handle(event, payload):\n      return allow()\n---\n',
  '.harness/agents/scout.md': '---\ndescription: Scouts.\ntools: [look, { name: own, script: "def run(args): return 1" }]\nhooks: [guard, { event: log, script: "def handle(event, payload): return allow()" }]\nmcp: [files]\n---\nLook.\n',
  '.harness/plugins/plug.md': '---\nname: plug\ncondition: ctx["depth"] == 0\ntools: [{ name: plugged, description: P. }]\nhooks: [{ name: plug_hook, event: error, script: "def handle(event, payload): return allow()" }]\n---\nMore.\n',
  '.harness/overrides/over.md': '---\ntools: [{ name: plugged, description: Q. }]\n---\n',
  '.harness/prompts/ask.md': '---\ndescription: Asks.\narguments: [{ name: what, required: true, values: [a] }]\n---\nTell {{what}} {{#if what}}x{{/if}}.\n',
  '.harness/resources/doc.md': '---\nuri_template: "doc://{id}"\nmime_type: text/plain\nscript: |\n  def read(uri, params):\n      return uri\n---\n',
  '.harness/tests/one.md': '---\ncall: { tool: look, args: { path: x } }\nblocked_by: guard\n---\n',
  'more/tools/extra.md': '---\nasync: true\n---\nExtra.\n',
  'tools.json': '{"tools": [{"name": "prog", "description": "P", "schema": {"type": "object"}, "command": ["./tools/bin/prog", "-x"], "timeoutSec": 3, "envPassthrough": ["tz"]}]}',
  'other/tools.json': '{"tools": [{"name": "prog2", "command": ["/bin/true"]}]}',
  '.mcp.json': '{"mcpServers": {"web": {"url": "http://127.0.0.1:1/", "headers": {"A": "${B}"}}}}',
  'agent/config.md': '---\nid: main\nname: Main\nmodel: big\nmaxIterations: 4\nblockedTools: [bash]\ntools: [ship]\n---\nFor {{context.user}}.\n',
  'agent/tools/ship.md': `---
id: ship
name: Ship
description: Ships.
parameters:
  - { name: where, type: string, description: W, required: true, enum: [a, b] }
  - { name: files, type: array, description: F }
command: "sh ship.sh '{{where}}' {{#if files}}-- {{files}}{{/if}}"
environment: { A: "\${B}" }
timeout: 3
---
More.
`,
  'agent/hooks/h.json': '{"hooks": [{"id": "lint", "type": "pre_tool", "tools": ["s*"], "command": "true", "blocking": true}]}',
  'space.manifest.json': '{"tools": [{"id": "more-tool", "name": "More", "command": "ls -- {{x}}", "parameters": [{"name": "x", "type": "string", "required": true}]}]}',
};

function random(seed) {                                  // mulberry32
  return n => {
    seed = (seed + 0x6d2b79f5) | 0;
    let x = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) % n;
  };
}

const pieces = ['---\n', '{', '}', '[', ']', '"', "'", ': ', '\n', '  ', '- ', '&a ', '*a', '<<: ', '!!str ', '|', '>', '{{', '}}', '{{#if x}}', '${', '$(', '`',
  'null', 'true', '-1', '1e999', '99999999999999999999', '\u0000', '\ufeff', '\ud7ff', '\t', '\\', '%', '@', 'def ', 'return ', 'lambda: ', '((((((((((', 'x' .repeat(70),
  'name: look\n', 'tools: ', 'event: tool.pre\n', '{"$ref": "#"}', '.nan', '~'];

function damage(text, next) {
  for (let n = 1 + next(2); n > 0; n--) {
    const at = next(text.length + 1), to = Math.min(text.length, at + next(12)), lines = text.split('\n');
    switch (next(7)) {
      case 0: text = text.slice(0, at) + text.slice(to); break;
      case 1: case 2: text = text.slice(0, at) + pieces[next(pieces.length)] + text.slice(next(2) ? to : at); break;
      case 3: lines.splice(next(lines.length), 1); text = lines.join('\n'); break;
      case 4: lines.splice(next(lines.length), 0, lines[next(lines.length)]); text = lines.join('\n'); break;
      case 5: text = text.slice(0, at) + text.slice(to) + text.slice(at, to); break;
      case 6: text = text.slice(0, at) + String.fromCharCode(next(256)) + text.slice(at + 1); break;
    }
  }
  return text;
}

test('the project is sound before it is damaged', t => {
  const got = JSON.parse(run(['-C', project(t, files), 'validate', '--json']).stdout);
  assert.deepEqual(got.problems.filter(p => p.severity === 'error'), []);
  assert.equal(got.ok, true);
});

test('damaged projects', t => {
  const count = Number(process.env.SOAK ?? 60), first = Number(process.env.SOAK_SEED ?? 1);
  const dir = project(t, files), names = Object.keys(files);
  let valid = 0;
  for (let seed = first; seed < first + count; seed++) {
    const next = random(seed);
    const hurt = new Set(Array.from({ length: 1 + next(2) }, () => names[next(names.length)]));
    for (const name of hurt) writeFileSync(join(dir, name), damage(files[name], next), next(8) ? 'utf8' : 'latin1');
    const { status, stdout, stderr } = run(['-C', dir, 'validate', '--json', ...(next(2) ? ['--strict'] : [])], { timeout: 20000 });
    assert.ok(status === 0 || status === 1, `seed ${seed}: ${status} ${stderr}`);
    assert.equal(stderr, '', `seed ${seed}`);
    const got = JSON.parse(stdout);
    assert.equal(got.ok, status === 0, `seed ${seed}`);
    assert.equal(got.problems.some(p => p.severity === 'error'), status === 1, `seed ${seed}`);
    valid += status === 0;
    for (const name of hurt) writeFileSync(join(dir, name), files[name]);
  }
  t.diagnostic(`${valid} of ${count} damaged projects still load`);
});
