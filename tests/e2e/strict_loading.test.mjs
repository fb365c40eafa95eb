// A restriction is applied or stops the load. Each mistake in the table is refused by `validate` and by `call`, with
// file, line and the nearest right spelling; nothing runs. Keys that only describe still load, with a warning.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { project, run, start, undo } from './harness.mjs';
import { caller, hook, tool } from './calls.mjs';

const touch = tool('fs.write("ran", "yes")\nreturn "ran"');
const base = { '.harness/tools/touch.md': touch };

function state(t) {
  const dir = mkdtempSync(join(tmpdir(), 'harness-state-'));
  undo(t, () => rmSync(dir, { recursive: true, force: true }));
  return { env: { HARNESS_STATE: join(dir, 'harness.db') } };
}

const script = 'script: |\n  def handle(event, payload):\n      return block("no")\n';
const settings = text => ({ 'harness.md': `---\n${text}\n---\n` });
const guard = text => ({ '.harness/hooks/g.md': `---\n${text}---\n` });
const agent = text => ({ '.harness/agents/scout.md': `---\ndescription: Looks.\n${text}\n---\nLook.\n` });
const config = text => ({ 'agent/config.md': `---\nid: ops\n${text}\n---\nYou look.\n` });
const hooks = entry => ({ 'agent/hooks/h.json': `{"hooks": [\n  ${JSON.stringify(entry)}\n]}\n` });
const own = head => ({ '.harness/tools/own.md': tool('return 1', head) });
const whole = `event: tool.pre\n${script}`;

// [what, files, where, message]; where: FILE or FILE:LINE
const slips = [
  // keys of a hook
  ['a hook: scrpt', guard(`event: tool.pre\n${script.replace('script', 'scrpt')}`), '.harness/hooks/g.md:3', 'unknown key "scrpt" (did you mean "script"?)'],
  ['a hook: Script', guard(`event: tool.pre\n${script.replace('script', 'Script')}`), '.harness/hooks/g.md:3', '(did you mean "script"?)'],
  ['a hook: SCRIPT', guard(`event: tool.pre\n${script.replace('script', 'SCRIPT')}`), '.harness/hooks/g.md:3', '(did you mean "script"?)'],
  ['a hook whose script is not indented', guard('event: tool.pre\nscript: |\ndef handle(event, payload):\n  return block("no")\n'), '.harness/hooks/g.md:4', '(indent the lines of a script below "script: |")'],
  ['a hook without a script', guard('event: tool.pre\n'), '.harness/hooks/g.md:1', 'hook "g": script is required'],
  ['a hook with an empty script', guard('event: tool.pre\nscript: ""\n'), '.harness/hooks/g.md:3', 'hook "g": script is required'],
  ['a hook with a blank script', guard('event: tool.pre\nscript: "  "\n'), '.harness/hooks/g.md:3', 'hook "g": script is required'],
  ['a hook whose script is null', guard('event: tool.pre\nscript:\n'), '.harness/hooks/g.md:3', 'hook "g": script is required'],
  ['a hook whose script is a list', guard('event: tool.pre\nscript: [x]\n'), '.harness/hooks/g.md:3', 'script: expected string, got list'],
  ['a hook: evnt', guard(`evnt: tool.pre\n${script}`), '.harness/hooks/g.md:2', '(did you mean "event"?)'],
  ['a hook: an event that does not exist', guard(`event: tool.before\n${script}`), '.harness/hooks/g.md:2', 'event "tool.before" is invalid'],
  ['a hook: wen', guard(`${whole}wen: "True"\n`), '.harness/hooks/g.md:6', '(did you mean "when"?)'],
  ['a hook: when is null', guard(`${whole}when:\n`), '.harness/hooks/g.md:6', 'when: expected string, got null'],
  ['a hook: onerror', guard(`${whole}onerror: block\n`), '.harness/hooks/g.md:6', '(did you mean "on_error"?)'],
  ['a hook: on_error: Block', guard(`${whole}on_error: Block\n`), '.harness/hooks/g.md:6', '(did you mean "block"?)'],
  ['a hook: timeout', guard(`${whole}timeout: 5\n`), '.harness/hooks/g.md:6', '(did you mean "timeout_ms"?)'],
  ['a hook: enabled', guard(`${whole}enabled: true\n`), '.harness/hooks/g.md:6', 'unknown key "enabled"'],
  ['a hook: a description in the frontmatter', guard(`${whole}description: Stops it.\n`), '.harness/hooks/g.md:6', 'the text below the frontmatter'],
  ['a hook without frontmatter', { '.harness/hooks/g.md': script }, '.harness/hooks/g.md:1', 'missing frontmatter delimiter'],
  // files and folders
  ['the folder hook', { '.harness/hook/g.md': hook('tool.pre', 'return block("no")') }, '.harness/hook', '(did you mean "hooks"?)'],
  ['the folder Hooks', { '.harness/Hooks/g.md': hook('tool.pre', 'return block("no")') }, '.harness/Hooks', '(did you mean "hooks"?)'],
  ['the folder HOOKS', { '.harness/HOOKS/g.md': hook('tool.pre', 'return block("no")') }, '.harness/HOOKS', '(did you mean "hooks"?)'],
  ['the folder guards', { '.harness/guards/g.md': hook('tool.pre', 'return block("no")') }, '.harness/guards', '.harness/data/'],
  ['the folder plugin', { '.harness/plugin/p.md': '---\nhooks: []\n---\n' }, '.harness/plugin', '(did you mean "plugins"?)'],
  ['the folder override', { '.harness/override/p.md': '---\nhooks: []\n---\n' }, '.harness/override', '(did you mean "overrides"?)'],
  ['a subfolder of hooks', { '.harness/hooks/sub/g.md': hook('tool.pre', 'return block("no")') }, '.harness/hooks/sub', 'subfolders are not read'],
  ['a hook as g.yaml', { '.harness/hooks/g.yaml': whole }, '.harness/hooks/g.yaml:1', '(did you mean "g.md"?)'],
  ['a hook as g.MD', { '.harness/hooks/g.MD': `---\n${whole}---\n` }, '.harness/hooks/g.MD:1', '(did you mean "g.md"?)'],
  ['a hook as g.md.txt', { '.harness/hooks/g.md.txt': `---\n${whole}---\n` }, '.harness/hooks/g.md.txt:1', 'nothing reads this file'],
  ['a hook as g', { '.harness/hooks/g': `---\n${whole}---\n` }, '.harness/hooks/g:1', '(did you mean "g.md"?)'],
  ['a hook in .harness itself', { '.harness/g.md': `---\n${whole}---\n` }, '.harness/g.md:1', 'nothing reads this file'],
  ['.harness/harness.yaml', { '.harness/harness.yaml': 'limits: {deny: [mutating]}\n' }, '.harness/harness.yaml:1', '(did you mean "harness.md"?)'],
  ['.harness/Harness.md', { '.harness/Harness.md': '---\nlimits: {deny: [mutating]}\n---\n' }, '.harness/Harness.md:1', '(did you mean "harness.md"?)'],
  ['harness.md and harness.yaml', { ...settings('limits: {deny: [mutating]}'), 'harness.yaml': '{}\n' }, 'harness.yaml:1', 'both harness.md and harness.yaml exist'],
  ['a folder of another root', { ...settings('artifact_roots: [more]'), 'more/hook/g.md': `---\n${whole}---\n` }, 'more/hook', '(did you mean "hooks"?)'],
  // the top of harness.md
  ['limtis', settings('limtis: {deny: [mutating]}'), 'harness.md:2', '(did you mean "limits"?)'],
  ['Limits', settings('Limits: {deny: [mutating]}'), 'harness.md:2', '(did you mean "limits"?)'],
  ['LIMITS', settings('LIMITS: {deny: [mutating]}'), 'harness.md:2', '(did you mean "limits"?)'],
  ['tool_policy', settings('tool_policy: {deny: [touch]}'), 'harness.md:2', '(did you mean "tools_policy"?)'],
  ['toolsPolicy', settings('toolsPolicy: {deny: [touch]}'), 'harness.md:2', '(did you mean "tools_policy"?)'],
  ['hook instead of hooks', settings('hook: []'), 'harness.md:2', '(did you mean "hooks"?)'],
  ['a section that is not indented', settings('limits:\ndeny: [mutating]'), 'harness.md:3', 'unknown key "deny"'],
  ['queue.workspace: snapshot', settings('queue: {workspace: snapshot}'), 'harness.md:2', 'queue.workspace: this version has only host, shared and none'],
  ['queue.workspace: none with a tool that writes files', settings('queue: {workspace: none}'), '.harness/tools/touch.md:1', 'tool "touch" writes files, and queue.workspace: none gives queued runs no files'],
  ['queue.workspace: share', settings('queue: {workspace: share}'), 'harness.md:2', 'queue.workspace: expected'],
  ['queue: workspaces', settings('queue: {workspaces: shared}'), 'harness.md:2', '(did you mean "workspace"?)'],
  ['approvals.hold: soon', settings('approvals: {hold: soon}'), 'harness.md:2', 'approvals.hold: expected a time such as 90s, 15m, 12h or 7d'],
  ['approvals.hold: 15', settings('approvals: {hold: 15}'), 'harness.md:2', 'approvals.hold: expected string, got int'],
  ['approvals: holds', settings('approvals: {holds: 15m}'), 'harness.md:2', '(did you mean "hold"?)'],
  ...['otel', 'audit', 'prices'].map(key =>
    [`${key}, which this version does not have`, settings(`${key}: {}`), 'harness.md:2', `unknown key "${key}"`]),
  ['limtis in harness.yaml', { 'harness.yaml': 'limtis: {deny: [mutating]}\n' }, 'harness.yaml:1', '(did you mean "limits"?)'],
  ['limtis in .harness/harness.md', { '.harness/harness.md': '---\nlimtis: {deny: [mutating]}\n---\n' }, '.harness/harness.md:2', '(did you mean "limits"?)'],
  // sections
  ['limits: dny', settings('limits: {dny: [mutating]}'), 'harness.md:2', 'limits: unknown key "dny" (did you mean "deny"?)'],
  ['limits: deny a string', settings('limits: {deny: mutating}'), 'harness.md:2', 'limits.deny: expected list, got string'],
  ['limits: deny: 5', settings('limits: {deny: 5}'), 'harness.md:2', 'limits.deny: expected list, got int'],
  ['limits: deny without a value', settings('limits:\n  deny:'), 'harness.md:3', 'limits.deny: expected list, got null'],
  ['limits: a property that does not exist', settings('limits: {deny: [mutatin]}'), 'harness.md:2', '(did you mean "mutating"?)'],
  ['limits: max_turns a string', settings('limits: {max_turns: "5"}'), 'harness.md:2', 'limits.max_turns: expected int, got string'],
  ['limits.repair: refusd', settings('limits: {repair: {refusd: false}}'), 'harness.md:2', '(did you mean "refused"?)'],
  ['tools_policy: dny', settings('tools_policy: {dny: [touch]}'), 'harness.md:2', '(did you mean "deny"?)'],
  ['tools_policy: deny a string', settings('tools_policy: {deny: touch}'), 'harness.md:2', 'tools_policy.deny: expected list, got string'],
  ['tools_policy: allow without a value', settings('tools_policy:\n  allow:'), 'harness.md:3', 'tools_policy.allow: expected list, got null'],
  ['tools_policy: a list', settings('tools_policy: [touch]'), 'harness.md:2', 'tools_policy: expected map, got list'],
  ['tools_policy: mode', settings('tools_policy: {mode: allow_list}'), 'harness.md:2', '(did you mean "allowlist"?)'],
  ['network: alowed_domains', settings('network: {alowed_domains: []}'), 'harness.md:2', '(did you mean "allowed_domains"?)'],
  ['network: allowed_domains a string', settings('network: {allowed_domains: a.example}'), 'harness.md:2', 'expected list, got string'],
  ['sandbox: read_root', settings('sandbox: {read_root: []}'), 'harness.md:2', '(did you mean "read_roots"?)'],
  ['sandbox: a word that mounts does not know', settings('sandbox: {mounts: requird}'), 'harness.md:2', 'did you mean "required"'],
  ['sandbox: network: "no"', settings('sandbox: {network: "no"}'), 'harness.md:2', 'sandbox.network: expected bool, got string'],
  ['sandbox: mode', settings('sandbox: {mode: strickt}'), 'harness.md:2', '(did you mean "strict"?)'],
  ['delegation: max_dept', settings('delegation: {max_dept: 1}'), 'harness.md:2', '(did you mean "max_depth"?)'],
  ['meta: enable', settings('meta: {enable: false}'), 'harness.md:2', '(did you mean "enabled"?)'],
  ['trusted_sources a string', settings('trusted_sources: github.com/acme'), 'harness.md:2', 'trusted_sources: expected list, got string'],
  ['trusted_sources without a value', settings('trusted_sources:'), 'harness.md:2', 'trusted_sources: expected list, got null'],
  ['trusted_source', settings('trusted_source: []'), 'harness.md:2', '(did you mean "trusted_sources"?)'],
  ['artifact_sources: checksm', settings('artifact_sources:\n  - { type: local, path: more, checksm: x }'), 'harness.md:3', '(did you mean "checksum"?)'],
  ['secrets: an unknown key', settings('secrets: {A: {env: A, ev: B}}'), 'harness.md:2', '(did you mean "env"?)'],
  ['mcp_servers: tools: dny', settings('mcp_servers: {s: {command: x, tools: {dny: [a]}}}'), 'harness.md:2', '(did you mean "deny"?)'],
  ['mcp_servers: read_root', settings('mcp_servers: {s: {command: x, read_root: []}}'), 'harness.md:2', '(did you mean "read_roots"?)'],
  ['mcp_servers: disabled', settings('mcp_servers: {s: {command: x, disabled: true}}'), 'harness.md:2', 'unknown key "disabled"'],
  ['.mcp.json: disabled', { '.mcp.json': '{"mcpServers": {"s": {"command": "x",\n  "disabled": true}}}\n' }, '.mcp.json:2', 'unknown key "disabled"'],
  // safety and confirmation of a tool
  ['safety: destructiv', own('safety: {destructiv: true}'), '.harness/tools/own.md:2', '(did you mean "destructive"?)'],
  ['safety: destructive: "yes"', own('safety: {destructive: "yes"}'), '.harness/tools/own.md:2', 'safety.destructive: expected bool, got string'],
  ['safety: requires_confirmation without a value', own('safety:\n  requires_confirmation:'), '.harness/tools/own.md:3', 'expected bool, got null'],
  ['safety: redact a string', own('safety: {redact: "[0-9]+"}'), '.harness/tools/own.md:2', 'safety.redact: expected list, got string'],
  ['saftey', own('saftey: {destructive: true}'), '.harness/tools/own.md:2', '(did you mean "safety"?)'],
  ['Safety', own('Safety: {destructive: true}'), '.harness/tools/own.md:2', '(did you mean "safety"?)'],
  ['confrim', own('confrim: true'), '.harness/tools/own.md:2', '(did you mean "confirm"?)'],
  ['Confirm', own('Confirm: true'), '.harness/tools/own.md:2', '(did you mean "confirm"?)'],
  ['confirm: "yes"', own('confirm: "yes"'), '.harness/tools/own.md:2', 'confirm: expected bool, got string'],
  ['confirm without a value', own('confirm:'), '.harness/tools/own.md:2', 'confirm: expected bool, got null'],
  ['destructive beside safety', own('destructive: true'), '.harness/tools/own.md:2', '(it belongs below "safety")'],
  ['sandbox in a tool', own('sandbox: {network: false}'), '.harness/tools/own.md:2', '(it belongs in harness.md)'],
  ['a tool that is disabled', own('disabled: true'), '.harness/tools/own.md:2', 'unknown key "disabled"'],
  ['timeout in a tool', own('timeout: 5'), '.harness/tools/own.md:2', '(did you mean "timeout_ms"?)'],
  ['retry: max_atempts', own('retry: {max_atempts: 1}'), '.harness/tools/own.md:2', '(did you mean "max_attempts"?)'],
  ['tools.json: timeout', { 'tools.json': '{"tools": [{"name": "p", "command": ["/bin/true"],\n  "timeout": 5}]}\n' }, 'tools.json:2', '"timeoutSec" in tools.json'],
  ['tools.json: envPasthrough', { 'tools.json': '{"tools": [{"name": "p", "command": ["/bin/true"],\n  "envPasthrough": []}]}\n' }, 'tools.json:2', '(did you mean "envPassthrough"?)'],
  ['a space tool: confirmed', { 'agent/tools/p.md': '---\nid: p\nname: P\ndescription: P.\ncommand: "true"\nconfirmed: true\n---\n' }, 'agent/tools/p.md:6', '(did you mean "confirm"?)'],
  // agents
  ['an agent: blocked_tool', agent('blocked_tool: [touch]'), '.harness/agents/scout.md:3', '(did you mean "blocked_tools"?)'],
  ['an agent: blockedTool', agent('blockedTool: [touch]'), '.harness/agents/scout.md:3', '(did you mean "blocked_tools"?)'],
  ['an agent: blocked_tools a string', agent('blocked_tools: touch'), '.harness/agents/scout.md:3', 'blocked_tools: expected list, got string'],
  ['an agent: blocked_tools without a value', agent('blocked_tools:'), '.harness/agents/scout.md:3', 'blocked_tools: expected list, got null'],
  ['an agent: allowed_tools', agent('allowed_tools: []'), '.harness/agents/scout.md:3', 'unknown key "allowed_tools"'],
  ['an agent: tool', agent('tool: []'), '.harness/agents/scout.md:3', '(did you mean "tools"?)'],
  ['an agent: tools a string', agent('tools: touch'), '.harness/agents/scout.md:3', 'tools: expected list, got string'],
  ['an agent: maxIterations', agent('maxIterations: 2'), '.harness/agents/scout.md:3', '(did you mean "max_iterations"?)'],
  ['an agent: an inline hook with scrpt', agent('hooks:\n  - event: tool.pre\n    scrpt: x'), '.harness/agents/scout.md:5', '(did you mean "script"?)'],
  ['an agent: an inline hook without a script', agent('hooks:\n  - event: tool.pre'), '.harness/agents/scout.md:4', 'script is required'],
  ['an agent: an inline tool with confrim', agent('tools:\n  - name: own\n    confrim: true'), '.harness/agents/scout.md:5', '(did you mean "confirm"?)'],
  // inline and in bundles
  ['an inline hook with scrpt', settings('hooks:\n  - name: g\n    event: tool.pre\n    scrpt: x'), 'harness.md:5', '(did you mean "script"?)'],
  ['an inline hook without a script', settings('hooks:\n  - name: g\n    event: tool.pre'), 'harness.md:3', 'hook "g": script is required'],
  ['an inline agent with blocked_tool', settings('agents:\n  - name: scout\n    blocked_tool: [touch]'), 'harness.md:4', '(did you mean "blocked_tools"?)'],
  ['a bundle: hoks', { '.harness/plugins/p.md': '---\nhoks: []\n---\n' }, '.harness/plugins/p.md:2', '(did you mean "hooks"?)'],
  ['a bundle: a hook with scrpt', { '.harness/plugins/p.md': '---\nhooks:\n  - name: g\n    event: tool.pre\n    scrpt: x\n---\n' }, '.harness/plugins/p.md:5', '(did you mean "script"?)'],
  ['an override without a script', { ...guard(whole), '.harness/overrides/o.md': '---\nhooks:\n  - name: g\n    event: tool.pre\n---\n' }, '.harness/overrides/o.md:3', 'hook "g": script is required'],
  // spaces
  ['a space: blockedTool', config('blockedTool: [touch]'), 'agent/config.md:3', '(did you mean "blockedTools"?)'],
  ['a space: blocked_tools', config('blocked_tools: [touch]'), 'agent/config.md:3', '(did you mean "blockedTools"?)'],
  ['a space: blockedTools a string', config('blockedTools: touch'), 'agent/config.md:3', 'blockedTools: expected list, got string'],
  ['a space: blockedTools without a value', config('blockedTools:'), 'agent/config.md:3', 'blockedTools: expected list, got null'],
  ['a space: canInvokeAgent', config('canInvokeAgent: []'), 'agent/config.md:3', '(did you mean "canInvokeAgents"?)'],
  ['a space: an unknown key', config('color: red'), 'agent/config.md:3', 'unknown key "color"'],
  ['a space: agent/Config.md', { 'agent/Config.md': '---\nid: ops\nblockedTools: [touch]\n---\n' }, 'agent/Config.md:1', '(did you mean "config.md"?)'],
  ['a space: agent/config.yaml', { 'agent/config.yaml': 'id: ops\nblockedTools: [touch]\n' }, 'agent/config.yaml:1', '(did you mean "config.md"?)'],
  ['a space: agent/hook', { 'agent/hook/h.json': '{"hooks": []}' }, 'agent/hook', '(did you mean "hooks"?)'],
  ['a space: agent/hooks.json', { 'agent/hooks.json': '{"hooks": []}' }, 'agent/hooks.json:1', '(did you mean "hooks"?)'],
  ['a space: a hook as h.JSON', { 'agent/hooks/h.JSON': '{"hooks": []}' }, 'agent/hooks/h.JSON:1', '(did you mean "h.json"?)'],
  ['a space: a hook as h.md', { 'agent/hooks/h.md': `---\n${whole}---\n` }, 'agent/hooks/h.md:1', '(did you mean "h.json"?)'],
  ['a space hook: comand', hooks({ id: 'h', type: 'pre_tool', comand: 'exit 1' }), 'agent/hooks/h.json:2', '(did you mean "command"?)'],
  ['a space hook without a command', hooks({ id: 'h', type: 'pre_tool' }), 'agent/hooks/h.json:2', 'hooks[0].command is required'],
  ['a space hook: tool', hooks({ id: 'h', type: 'pre_tool', command: 'exit 1', tool: ['touch'] }), 'agent/hooks/h.json:2', '(did you mean "tools"?)'],
  ['a space hook: tools a string', hooks({ id: 'h', type: 'pre_tool', command: 'exit 1', tools: 'touch' }), 'agent/hooks/h.json:2', 'hooks[0].tools: expected list, got string'],
  ['a space hook: pretool', hooks({ id: 'h', type: 'pretool', command: 'exit 1' }), 'agent/hooks/h.json:2', '(did you mean "pre_tool"?)'],
  ['a space hook: blocking: "yes"', hooks({ id: 'h', type: 'pre_tool', command: 'exit 1', blocking: 'yes' }), 'agent/hooks/h.json:2', 'expected bool, got string'],
  // restrictions that another format has
  ...['confirm', 'safety', 'idempotency', 'mutating', 'max_calls', 'rate_limit', 'maxSpendUsd', 'wall_clock_ms', 'max_depth', 'hooks', 'forbidden_tools', 'denylist'].map(key =>
    [`tools.json: ${key}`, { 'tools.json': `{"tools": [{"name": "p", "command": ["/bin/true"],\n  "${key}": 1}]}\n` }, 'tools.json:2', `unknown key "${key}" (`]),
  ...['safety', 'confirm', 'forbidden_tools', 'denylist', 'deny', 'hooks'].map(key =>
    [`.mcp.json: ${key}`, { '.mcp.json': `{"mcpServers": {"s": {"command": "x",\n  "${key}": []}}}\n` }, '.mcp.json:2', `unknown key "${key}" (`]),
  ['.mcp.json: permissions at the root', { '.mcp.json': '{"mcpServers": {},\n  "permissions": {}}\n' }, '.mcp.json:2', 'unknown key "permissions"'],
  ...['safety', 'confirm', 'forbidden_tools', 'denylist', 'deny', 'max_calls'].map(key =>
    [`an agent: ${key}`, agent(`${key}: []`), '.harness/agents/scout.md:3', `unknown key "${key}" (`]),
  ['a tool: hooks', own('hooks: []'), '.harness/tools/own.md:2', '(hooks belong in .harness/hooks/)'],
  ['a tool: rate_limit', own('rate_limit: 5'), '.harness/tools/own.md:2', '(it belongs in harness.md)'],
  ...['blockedTools', 'hooks', 'Tools', 'tool', 'permissions', 'sandbox'].map(key =>
    [`space.manifest.json: ${key}`, { 'space.manifest.json': `{"name": "s",\n  "${key}": []}\n` }, 'space.manifest.json:2', `unknown key "${key}" (`]),
  ['tools_policy: allow beside mode: denylist', settings('tools_policy: {mode: denylist, allow: [touch]}'), 'harness.md:2', 'tools_policy.allow has no effect with mode: denylist'],
  // hooks and restrictions where nothing reads them
  ...[['agents', 'agent'], ['prompts', 'prompt'], ['resources', 'resource'], ['tests', 'test'], ['tools', 'tool']].map(([folder, kind]) =>
    [`a hook in ${folder}/`, { [`.harness/${folder}/g.md`]: `---\n${whole}---\n` }, `.harness/${folder}/g.md:2`, `"event" has no effect in a ${kind} (hooks belong in .harness/hooks/)`]),
  ['a hook in tests/ as g.yaml', { '.harness/tests/g.yaml': whole }, '.harness/tests/g.yaml:1', '"event" has no effect in a test'],
  ['a hook in skills/', { '.harness/skills/g.md': `---\n${whole}---\n` }, '.harness/skills/g.md:2', 'this looks like a hook, but nothing reads it (hooks belong in .harness/hooks/)'],
  ['a hook in the folder of a skill', { '.harness/skills/s/SKILL.md': '---\nname: s\ndescription: S.\n---\n', '.harness/skills/s/g.md': `---\n${whole}---\n` }, '.harness/skills/s/g.md:2', 'this looks like a hook'],
  ...['README', 'README.md', 'README-guard.md'].map(name =>
    [`a hook as ${name}`, { [`.harness/hooks/${name}`]: `---\n${whole}---\n` }, `.harness/hooks/${name}:2`, 'this looks like a hook, but nothing reads it (give it another name than README)']),
  ['a hook as README.md in tools/', { '.harness/tools/README.md': `---\n"event": tool.pre\n${script}---\n` }, '.harness/tools/README.md:2', 'this looks like a hook'],
  ...['deny: [touch]', 'limits: {}', 'safety: {}', 'blocked_tools: [x]', 'hooks: []'].flatMap(line => [['prompts', 'prompt'], ['resources', 'resource'], ['tests', 'test']].map(([folder, kind]) =>
    [`${line} in ${folder}/`, { [`.harness/${folder}/p.md`]: `---\ndescription: P.\n${line}\n---\nText.\n` }, `.harness/${folder}/p.md:3`, `"${line.split(':')[0]}" has no effect in a ${kind} (`])),
  // sections without content
  ...['context', 'limits', 'sandbox', 'delegation', 'meta', 'network', 'tools_policy', 'secrets', 'store'].map(key => [`${key} without content`, settings(`${key}:`), 'harness.md:2', `${key}: expected map, got null`]),
  ...['artifact_roots', 'trusted_sources'].map(key => [`${key} without content`, settings(`${key}:`), 'harness.md:2', `${key}: expected list, got null`]),
  ['workspace without a value', settings('workspace:'), 'harness.md:2', 'workspace: expected string, got null'],
  ...['model', 'models', 'builtin_tools', 'tools', 'hooks', 'agents', 'artifact_sources', 'mcp_servers'].map(key => [`${key} without content`, settings(`${key}:`), 'harness.md:2', `${key}: needs a value`]),
  // keywords inside parameters
  ...[['items: { type: string, maxLenght: 5 }', 'p.items: unknown keyword "maxLenght" (did you mean "maxLength"?)'], ['items: { type: string, patern: "^a$" }', '(did you mean "pattern"?)'],
    ['items: { anyOf: [{ type: string }, { type: integer, maximun: 5 }] }', 'p.items.anyOf[1]: unknown keyword "maximun" (did you mean "maximum"?)'],
    ['items: { type: object, properties: { a: { type: string, enums: [x] } } }', 'p.items.properties.a: unknown keyword "enums" (did you mean "enum"?)'],
    ['items: { type: object, additionalProperty: false }', '(did you mean "additionalProperties"?)'], ['items: { type: object, additionalProperties: { minLenght: 1 } }', '(did you mean "minLength"?)'],
    ['items: { type: string, confirm: true }', 'unknown keyword "confirm"']].map(([text, said]) =>
    [`a parameter with ${text}`, own(`parameters:\n  p: { type: array, ${text} }`), '.harness/tools/own.md:3', said]),
  ['a parameter with properties', own('parameters:\n  p: { type: object, properties: { a: { type: string, maxLenght: 5 } } }'), '.harness/tools/own.md:3', 'p.properties.a: unknown keyword "maxLenght"'],
  // events that never come
  ['a hook: meta.register_tool', guard(`event: meta.register_tool\n${script}`), '.harness/hooks/g.md:2', '(did you mean "meta.tool_register"?)'],
  ['a hook: meta.agent', guard(`event: meta.agent\n${script}`), '.harness/hooks/g.md:2', '(did you mean "meta.agent_register"?)'],
  ['a hook: meta.hook_registr', guard(`event: meta.hook_registr\n${script}`), '.harness/hooks/g.md:2', '(did you mean "meta.hook_register"?)'],
  ['a hook: meta.xyz', guard(`event: meta.xyz\n${script}`), '.harness/hooks/g.md:2', 'one of meta.tool_register, meta.hook_register, meta.agent_register'],
  // patterns that match nothing
  ...['', ' touch', 'touch ', 'touch|own', '{touch,own}', 'touch,own', '^touch$', '(touch)', 'tou[ch', '!touch', 'touch;own'].flatMap(p => {
    const said = p ? `"${p}" matches no tool` : 'is empty and matches no tool', list = JSON.stringify([p]);
    return [
      [`tools_policy.deny: '${p}'`, settings(`tools_policy:\n  deny: ${list}`), 'harness.md:3', `tools_policy.deny[0]: ${p ? said : '"" ' + said}`],
      [`tools_policy.allow: '${p}'`, settings(`tools_policy:\n  allow: ["*", ${list.slice(1)}`), 'harness.md:3', said],
      [`blocked_tools: '${p}'`, agent(`blocked_tools: ${list}`), '.harness/agents/scout.md:3', said],
      [`blockedTools: '${p}'`, config(`blockedTools: ${list}`), 'agent/config.md:3', said],
      [`the tools of a command hook: '${p}'`, hooks({ id: 'h', type: 'pre_tool', command: 'exit 1', tools: [p] }), 'agent/hooks/h.json:2', said],
      [`tools.deny of a server: '${p}'`, settings(`mcp_servers: {s: {command: x, tools: {deny: ${list}}}}`), 'harness.md:2', said],
    ];
  }),
  ...['mcp:s:find', 'mcp__s__find', 'mcp:*'].flatMap(p => ['allow', 'deny'].map(key =>
    [`tools.${key} of a server: ${p}`, settings(`mcp_servers:\n  s:\n    command: x\n    tools:\n      ${key}: ["${p}"]`), 'harness.md:6', "(write the server's own name of the tool)"])),
  // the root of the project
  ...[['Harness.md', 'harness.md'], ['HARNESS.MD', 'harness.md'], ['harness.YAML', 'harness.yaml'], ['harness.markdown', 'harness.md'], ['harness.mdx', 'harness.md'],
    ['harness.txt', 'harness.md'], ['harness.json', 'harness.yaml'], ['harness.toml', 'harness.yaml'], ['.harness.md', 'harness.md'], ['.harness.yaml', 'harness.yaml'],
    ['.harness.yml', 'harness.yml'], ['Tools.json', 'tools.json'], ['.MCP.json', '.mcp.json'], ['Space.Manifest.json', 'space.manifest.json']].map(([name, right]) =>
    [name, { [name]: 'x' }, `${name}:1`, `(did you mean "${right}"?)`]),
  ...['.harnes', '.Harness', '.harnesss'].map(name => [`the folder ${name}`, { [`${name}/hooks/g.md`]: `---\n${whole}---\n` }, name, '(did you mean ".harness"?)']),
  // what looks like a definition among the programs of a space
  ...['h.jsonc', 'h.json5', 'h.yaml', 'h.TOML', 'h.txt', 'hook'].map(name => [`a space: a hook as ${name}`, { [`agent/hooks/${name}`]: '{"hooks": []}' }, `agent/hooks/${name}:1`, 'nothing reads this file']),
  ['a space: a subfolder with hooks', { 'agent/hooks/more/h.json': '{"hooks": []}' }, 'agent/hooks/more', 'subfolders are not read'],
  ['a space: hook at the root', { 'agent/hooks/h.json': '{"hook": []}\n' }, 'agent/hooks/h.json:1', '(did you mean "hooks"?)'],
  // names of tools that can only mean another one
  ['tools_policy.deny: toch', settings('tools_policy: {deny: [toch]}'), 'harness.md:2', 'tools_policy.deny[0]: there is no tool "toch" (did you mean "touch"?)'],
  ['an agent: blocked_tools: toch', agent('blocked_tools: [toch]'), '.harness/agents/scout.md:3', '(did you mean "touch"?)'],
  ['a space: blockedTools: bsh', config('blockedTools: [bsh]'), 'agent/config.md:3', '(did you mean "bash"?)'],
  ['a space hook: tools: touhc', hooks({ id: 'h', type: 'pre_tool', command: 'exit 1', tools: ['touhc'] }), 'agent/hooks/h.json:2', '(did you mean "touch"?)'],
  ...['mcp:fils:*', 'mcp:fils:find', 'mcp:Files:*'].map(p => [`tools_policy.deny: ${p}`, settings(`mcp_servers: {files: {command: x}}\ntools_policy: {deny: ["${p}"]}`), 'harness.md:3', '(did you mean "files"?)']),
  // rules
  ...[['decid: deny', 'rules[0]: unknown key "decid" (did you mean "decide"?)'], ['decide: Deny', '(did you mean "deny"?)'], ['decide: block', 'expected deny, ask or allow, got "block"'],
    ['decide: deny, becuase: x', '(did you mean "because"?)'], ['decide: deny, vendor: [harnes]', '(did you mean "harness"?)'], ['decide: deny, otherwise: ask', 'otherwise is only for rules that allow']].map(([text, said]) =>
    [`a rule: ${text}`, settings(`rules:\n  - { name: a, tool: touch, ${text} }`), 'harness.md:3', said]),
  ...[['tool: toch', '(did you mean "touch"?)'], ['tools: [touch]', '(did you mean "tool"?)'], ['tool: []', 'an empty list matches nothing'], ['shell: "git push"', 'expected list, got string'],
    ['shell: ["git push"]', '[git, push]'], ['shell: [/usr/bin/git]', 'the last part of its path'], ['file.wirte: [x]', '(did you mean "file.write"?)'], ['kind: Shell', '(did you mean "shell"?)'],
    ['file: ["./secret"]', '"./secret" matches no path: write it without ./'], ['file: ["a/./b"]', 'write it without ./'], ['file: ["a//b"]', 'write one / instead of two'], ['file: ["secret "]', 'begins or ends with a blank'],
    ['file: ["~root/x"]', 'only ~/ is the home folder'], ['host: ["https://a.example"]', 'write a host alone']].map(([text, said]) =>
    [`a rule: ${text}`, settings(`rules:\n  - { name: a, ${text}, decide: deny }`), 'harness.md:3', said]),
  ['a rule in a bundle: decid', { '.harness/plugins/p.md': '---\nrules:\n  - { name: a, tool: touch, decid: deny }\n---\n' }, '.harness/plugins/p.md:3', '(did you mean "decide"?)'],
  ...[['unkown: deny', '(did you mean "unknown"?)'], ['unknown: Deny', '(did you mean "deny"?)'], ['audit: require', '(did you mean "required"?)']].map(([text, said]) =>
    [`guard: ${text}`, settings(`guard: { ${text} }`), 'harness.md:2', said]),
  ['a rule about another agent: tool: Bash', settings('rules:\n  - { name: a, vendor: [claude], tool: Bash, decide: deny }'), 'harness.md:3', '"Bash" matches no tool (did you mean "bash"?)'],
  ['guard.md beside harness.md', { 'guard.md': '---\nrules:\n  - { name: a, tool: touch, decide: deny }\n---\n' }, 'guard.md:2', 'nothing reads the policy in this file (rules of a project belong in harness.md'],
  // lists of a sub-agent, and its servers
  ...['tools', 'hooks', 'mcp'].map(key => [`an agent: ${key} without a value`, agent(`${key}:`), '.harness/agents/scout.md:3', `${key}: expected list, got null`]),
  ...['mcp_servers', 'mcpServers'].map(key => [`an agent: ${key}`, agent(`${key}: []`), '.harness/agents/scout.md:3', `unknown key "${key}" (did you mean "mcp"?)`]),
  ['an agent: max_iterations: 0', agent('max_iterations: 0'), '.harness/agents/scout.md:3', 'max_iterations must be >= 1'],
  ['safety: redact without a pattern', own('safety: { redact: [""] }'), '.harness/tools/own.md:2', 'safety.redact[0]: an empty pattern redacts nothing'],
  // keywords of whole schemas
  ...[['requird: [a]', '"requird" (did you mean "required"?)'], ['additionalPropertes: false', '(did you mean "additionalProperties"?)'], ['properties: { a: { type: string, maxlength: 3 } }', 'properties.a: unknown keyword "maxlength" (did you mean "maxLength"?)']].map(([text, said]) =>
    [`output_schema: ${text}`, own(`output_schema: { type: object, ${text} }`), '.harness/tools/own.md:2', said]),
  ['an agent: output_schema: requird', agent('output_schema: { type: object, requird: [a] }'), '.harness/agents/scout.md:3', '(did you mean "required"?)'],
  ...[['{"type": "object", "requird": ["a"]}', '(did you mean "required"?)'], ['{"additionalPropertes": false}', '(did you mean "additionalProperties"?)'], ['{"properties": {"a": {"tpye": "string"}}}', '(did you mean "type"?)'],
    ['{"properties": {"a": {"items": {"max_length": 3}}}}', '(did you mean "maxLength"?)']].map(([schema, said]) =>
    [`tools.json: a schema with ${schema}`, { 'tools.json': `{"tools": [{"name": "p", "command": ["/bin/true"],\n  "schema": ${schema}}]}\n` }, 'tools.json:2', said]),
  ...['parameters', 'inputSchema', 'input_schema'].map(key =>
    [`tools.json: ${key}`, { 'tools.json': `{"tools": [{"name": "p", "command": ["/bin/true"],\n  "${key}": {}}]}\n` }, 'tools.json:2', `unknown key "${key}" (the parameters of a tool are "schema" in tools.json)`]),
];

test('without a slip the tool runs', t => {
  const p = caller(t, base);
  assert.equal(p.call('touch').is_error, false);
  assert.ok(p.has('ran'));
});

test(`${slips.length} slips stop the load`, { concurrency: 2 }, async t => {
  assert.ok(slips.length >= 60);
  const { env } = state(t);
  for (const [what, files, where, said] of slips)
    await t.test(what, async s => {
      const dir = project(s, { ...base, ...files });
      const [checked, called] = await Promise.all([start(['-C', dir, 'validate'], { env }), start(['-C', dir, 'call', 'touch'], { env })]);
      for (const { status, stderr } of [checked, called]) {
        assert.equal(status, 1, stderr);
        const line = stderr.split('\n').find(l => l.startsWith(`harness: ${where}:`) && l.includes(said));
        assert.ok(line && !line.endsWith('[warning]'), `${where}: ${said}\n--- got\n${stderr}`);
      }
      assert.ok(!existsSync(join(dir, 'ran')), 'the tool has run');
    });
});

test('the slips that stop the load do so for --lenient too', async t => {
  const model = { provider: 'script', script: 'm.star' };
  const files = {
    ...base, 'm.star': 'def reply(messages, tools):\n    return {"text": "hello"}\n',
    'harness.yaml': JSON.stringify({ model }),
  };
  const guards = [
    guard('event: tool.pre\n'), { '.harness/hooks/g.yaml': whole }, config('blockedTool: [touch]'), hooks({ id: 'h', type: 'pre_tool' }),
    agent('hooks:\n  - event: tool.pre'), { '.harness/plugins/p.md': '---\nhoks: []\n---\n' },
    ...['agents', 'prompts', 'tests', 'tools', 'skills'].map(folder => ({ [`.harness/${folder}/g.md`]: `---\n${whole}---\n` })),
    { '.harness/hooks/README.md': `---\n${whole}---\n` }, { '.harness/prompts/p.md': '---\ndescription: P.\ndeny: [touch]\n---\nText.\n' },
    { '.harness/overrides/o.md': '---\ntools:\n  - name: touch\n    confrim: true\n---\n' },
    { 'agent/tools/face.md': '---\nid: face\nname: F\ndescription: F.\nmcp: true\nserver: s\nconfrim: true\n---\n' },
  ];
  const { env } = state(t);
  const loads = project(t, { ...files, ...own('timeout_ms: soon') });
  const lenient = run(['-C', loads, 'run', '-p', 'hi', '--lenient', '--ephemeral'], { env });
  assert.equal(lenient.status, 0, lenient.stderr);
  for (const more of guards) {
    const dir = project(t, { ...files, ...more });
    const { status, stdout, stderr } = run(['-C', dir, 'run', '-p', 'hi', '--lenient', '--ephemeral'], { env });
    assert.equal(status, 1, `${JSON.stringify(more)}\n${stdout}${stderr}`);
  }
});

// [file, frontmatter key and value]: unknown keys that only describe something
const resource = key => ['.harness/resources/r.md', `---\nuri: x://y\ntext: hello\n${key}: 1\n---\n`, key];
const prompt = key => ['.harness/prompts/p.md', `---\ndescription: Says it.\n${key}: 1\n---\nHello.\n`, key];
const described = key => ['.harness/tools/own.md', tool('return 1', `${key}: 1`), key];
const staffed = key => ['.harness/agents/scout.md', `---\ndescription: Looks.\n${key}: 1\n---\nLook.\n`, key];
const harmless = [
  ...['author', 'version', 'tags', 'icon', 'license', 'homepage'].map(described),
  ...['color', 'owner', 'since', 'descripton', 'modle', 'notes'].map(staffed),
  ...['author', 'tags', 'lang', 'titel', 'argumnts'].map(prompt),
  ...['size', 'author', 'mimetype', 'charset', 'etag'].map(resource),
];

test(`${harmless.length} keys that only describe load with a warning`, async t => {
  assert.ok(harmless.length >= 20);
  const { env } = state(t);
  for (const [file, text, key] of harmless)
    await t.test(`${file}: ${key}`, async s => {
      const dir = project(s, { ...base, [file]: text });
      const line = text.slice(0, text.indexOf(`\n${key}:`)).split('\n').length + 1;
      const said = new RegExp(`^harness: ${file.replaceAll('.', '\\.')}:${line}:1: unknown key "${key}".* \\[warning\\]$`, 'm');
      const checked = run(['-C', dir, 'validate']);
      assert.equal(checked.status, 0, checked.stderr);
      assert.match(checked.stderr, said);
      assert.equal(run(['-C', dir, 'call', 'touch'], { env }).status, 0);
      const strict = run(['-C', dir, 'validate', '--strict']);
      assert.equal(strict.status, 1);
      assert.match(strict.stderr, new RegExp(`:${line}:1: unknown key "${key}"[^\\[]*$`, 'm'));
    });
});

test('a hook as README.md of a root outside of the project', t => {
  const dir = project(t, { ...base, 'p/harness.md': '---\nartifact_roots: [../out]\n---\n', 'out/README.md': `---\n${whole}---\n` });
  const { status, stderr } = run(['-C', join(dir, 'p'), 'validate']);
  assert.equal(status, 1, stderr);
  assert.match(stderr, /^harness: \.\.\/out\/README\.md:2:1: this looks like a hook, but nothing reads it/m);
});

test('what may lie in .harness beside the artifacts', t => {
  const dir = project(t, {
    ...base, '.harness/README.md': 'x', '.harness/hooks/README': 'x', '.harness/hooks/README.md': 'x', '.harness/.gitignore': 'x', '.harness/hooks/.keep': '',
    '.harness/data/anything.yaml': 'x', '.harness/data/deep/er.md': 'x', '.harness/skills/count/SKILL.md': '---\nname: count\ndescription: c\n---\n',
    '.harness/model.star': 'x', '.harness/tests/talk.jsonl': '', '.harness/notes.txt': 'x', 'harness.md': '---\nresources: [.harness/notes.txt]\n---\n',
  });
  const { status, stdout, stderr } = run(['-C', dir, 'validate', '--strict']);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  assert.match(stdout, /^ok: 1 tool, 0 hooks, 0 agents$/m);
});

test('what may lie beside the files of a project', t => {
  const dir = project(t, {
    ...base, 'harness/src.c': 'x', 'harness.c': 'x', 'HARNESS': 'x', '.harnessrc': 'x', 'Makefile': 'x', 'tools/tools.json': 'x', 'docs/Harness.md': 'x', 'harness.txt': 'x',
    'my.JSON': 'x', 'harness.md': '---\nresources: [harness.txt]\n---\n', 'space.manifest.json': '{"name": "s", "version": "1", "tools": []}',
    'agent/hooks/guard.sh': '#!/bin/sh\nexit 0\n', 'agent/hooks/check': 'x', 'agent/hooks/lib/more.py': 'x', 'agent/tools/run.py': 'x',
    'agent/hooks/h.json': JSON.stringify({ hooks: [{ id: 'h', type: 'pre_tool', tools: ['touch'], command: 'sh agent/hooks/guard.sh' }] }),
  });
  const { status, stdout, stderr } = run(['-C', dir, 'validate', '--strict']);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  assert.match(stdout, /^ok: 1 tool, 7 built-in tools, 1 hook, 0 agents$/m);
});

test('a key of space.manifest.json that only describes is a warning', t => {
  const dir = project(t, { ...base, 'space.manifest.json': '{"color": "red",\n  "tools": []}\n' });
  const { status, stderr } = run(['-C', dir, 'validate']);
  assert.equal(status, 0, stderr);
  assert.match(stderr, /^harness: space\.manifest\.json:1:\d+: unknown key "color" \[warning\]$/m);
});

test('a tool without an implementation loads, warns, and fails when it is called', t => {
  const p = caller(t, { '.harness/tools/later.md': '---\nparameters: {}\n---\nComes later.\n' });
  const { status, stderr } = p.run(['validate']);
  assert.equal(status, 0);
  assert.match(stderr, /^harness: \.harness\/tools\/later\.md:1:1: tool "later" has no script: calls fail until a program registers it \[warning\]$/m);
  const { is_error, error } = p.call('later');
  assert.equal(is_error, true);
  assert.match(error.message, /tool "later" has no implementation/);
});

test('names of tools that nothing resembles are warnings, and so are those in `when`', t => {
  const when = text => hook('tool.pre', 'return allow()', `when: ${JSON.stringify(text)}`);
  const dir = project(t, {
    ...base,
    'harness.md': '---\nbuiltin_tools: all\ntools_policy: {deny: [screenshot, "tu*", bash, "mcp:none:x"]}\n---\n',
    '.harness/hooks/a.md': when('payload["name"] == "tuoch"'),
    '.harness/hooks/b.md': when('payload["depth"] > 0 and not payload.get("name") in ["touch", "gone", "write"]'),
    '.harness/hooks/c.md': when('"touch" == payload["name"] or payload["agent"] == "nobody"'),
    '.harness/agents/scout.md': '---\ndescription: Looks.\nblocked_tools: [touch, screenshot]\n---\n',
    'agent/config.md': '---\nid: ops\nblockedTools: [screenshot]\n---\n',
    'agent/hooks/h.json': JSON.stringify({ hooks: [{ id: 'h', type: 'pre_tool', tools: ['screenshot', 'to*'], command: 'true' }] }),
  });
  const { status, stderr } = run(['-C', dir, 'validate']);
  assert.equal(status, 0, stderr);
  const said = stderr.split('\n').filter(l => l.includes('there is no tool')).map(l => l.replace('harness: ', '').replace(' [warning]', ''));
  assert.deepEqual(said, [
    '.harness/agents/scout.md:3:24: blocked_tools[1]: there is no tool "screenshot"',
    '.harness/hooks/a.md:3:27: hook "a": when: there is no tool "tuoch" (did you mean "touch"?)',
    '.harness/hooks/b.md:3:70: hook "b": when: there is no tool "gone"',
    'agent/config.md:3:16: blockedTools[0]: there is no tool "screenshot"',
    'agent/hooks/h.json:1:48: hooks[0].tools[0]: there is no tool "screenshot"',
    'harness.md:3:23: tools_policy.deny[0]: there is no tool "screenshot"',
    'harness.md:3:48: tools_policy.deny[3]: there is no tool "mcp:none:x"',
  ]);
});

test('a name that resembles a tool is a warning when scripts may register tools', t => {
  const dir = project(t, { ...base, 'harness.md': '---\nmeta: {enabled: true}\ntools_policy: {deny: [toch]}\n---\n' });
  const { status, stderr } = run(['-C', dir, 'validate']);
  assert.equal(status, 0, stderr);
  assert.match(stderr, /there is no tool "toch" \(did you mean "touch"\?\) \[warning\]/);
});

test('keywords of other dialects of JSON Schema, and a guard.md that is only text, load', t => {
  const schema = { id: 'x', type: 'object', 'x-order': 1, note: 'n', nullable: true,
    properties: { a: { type: 'string', example: 'e', nullable: true, label: 'A', widget: 'w' }, tpye: { type: 'string' } } };
  const dir = project(t, { ...base, 'tools.json': JSON.stringify({ tools: [{ name: 'p', command: ['/bin/true'], schema }] }), 'guard.md': '# Rules\n\nrules: be kind\n' });
  const { status, stderr } = run(['-C', dir, 'validate', '--strict']);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
});
