// A restriction that an author wrote is enforced at a call, or stops the load with a message that names the file. Each row writes the restriction a
// little differently: other case, other file name, other folder, other characters, other line ends.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { project, start, undo } from './harness.mjs';
import { tool } from './calls.mjs';

const touch = tool('fs.write("ran", "yes")\nreturn "ran"');
const base = { '.harness/tools/touch.md': touch };

const NBSP = '\u00a0', ZERO = '\u200b', BOM = '\ufeff', COLON = '\uff1a', CYRILLIC_E = '\u0435', CYRILLIC_S = '\u0455', WIDE_C = '\uff43', SOFT = '\u00ad';
const script = 'script: |\n  def handle(event, payload):\n      return block("no")\n';
const head = `event: tool.pre\n${script}`;
const whole = `---\n${head}---\n`;
const hooked = text => ({ '.harness/hooks/g.md': text });
const guard = text => hooked(`---\n${text}---\n`);
const crlf = text => text.replaceAll('\n', '\r\n');
const settings = text => ({ 'harness.md': `---\n${text}\n---\nBe brief.\n` });
const own = line => ({ '.harness/tools/touch.md': tool('fs.write("ran", "yes")\nreturn "ran"', line) });
const config = text => ({ 'agent/config.md': `---\nid: ops\n${text}\n---\nYou look.\n` });
const json = entry => ({ 'agent/hooks/h.json': JSON.stringify({ hooks: [entry] }) });
const command = { id: 'h', type: 'pre_tool', command: 'exit 1' };
const deny = 'tools_policy: { deny: [touch] }';

// [what, files, how]; how: "holds" (it loads, and the call is refused) or "stops" (nothing loads)
const rows = [
  // ---- keys of a hook
  ...['Event', 'EVENT', 'eVent', '"Event"', `event${NBSP}`, `${NBSP}event`, `event${ZERO}`, `ev${SOFT}ent`, `${CYRILLIC_E}vent`, '"event "', '" event"', 'events', 'event_', 'on'].map(key =>
    [`a hook: ${JSON.stringify(key)}`, guard(head.replace('event:', `${key}:`)), 'stops']),
  ...['Script', 'SCRIPT', `script${NBSP}`, `script${ZERO}`, `${CYRILLIC_S}cript`, '"script "', 'scripts', 'code', 'run'].map(key =>
    [`a hook: ${JSON.stringify(key)}`, guard(head.replace('script:', `${key}:`)), 'stops']),
  ['a hook: "event" in double quotes', guard(head.replace('event:', '"event":')), 'holds'],
  ['a hook: \'event\' in single quotes', guard(head.replace('event:', "'event':")), 'holds'],
  ['a hook: a space before the colon', guard(head.replace('event:', 'event :')), 'holds'],
  ['a hook: no space after the colon', guard(head.replace('event: ', 'event:')), 'stops'],
  ['a hook: a no-break space after the colon', guard(head.replace('event: ', `event:${NBSP}`)), 'stops'],
  ['a hook: a full-width colon', guard(head.replace('event:', `event${COLON}`)), 'stops'],
  ['a hook: a full-width colon after script', guard(head.replace('script:', `script${COLON}`)), 'stops'],
  ['a hook: "=" instead of a colon', guard(head.replace('event:', 'event =')), 'stops'],
  ['a hook: a tab after the colon', guard(head.replace('event: ', 'event:\t')), 'holds'],
  ['a hook: a comment', guard(head.replace('tool.pre', 'tool.pre # first')), 'holds'],
  ['a hook: an indented map', guard(head.replace(/^/gm, '  ').replace(/ {2}$/, '')), 'holds'],
  ['a hook: the keys as a list', guard(head.replace('event:', '- event:').replace(/^script/m, '- script')), 'stops'],
  ['a hook below another key', guard(`hook:\n${head.replace(/^/gm, '  ').trimEnd()}\n`), 'stops'],
  ['a hook: event twice', guard(`event: tool.post\n${head}`), 'stops'],
  // ---- values of a hook
  ...['Tool.Pre', 'TOOL.PRE', 'tool.Pre', '"tool.pre "', `tool.pre${NBSP}`, `tool.pre${ZERO}`, 'tool_pre', 'tool-pre', 'pre_tool', 'PreToolUse', '[tool.pre]', '"tool.pre,tool.post"'].map(value =>
    [`a hook: event: ${JSON.stringify(value)}`, guard(head.replace('tool.pre', value)), 'stops']),
  ...['"tool.pre"', "'tool.pre'"].map(value => [`a hook: event: ${value}`, guard(head.replace('tool.pre', value)), 'holds']),
  ...['Block', 'BLOCK', 'deny', '"block "'].map(value => [`a hook: on_error: ${value}`, guard(`${head}on_error: ${value}\n`), 'stops']),
  ...['When', 'WHEN', 'if', 'match', 'matcher', 'Tools', 'decide', 'Decide'].map(key => [`a hook: ${key}`, guard(`${head}${key}: touch\n`), 'stops']),
  ['a hook: decide: Deny without a script', guard('event: tool.pre\ndecide: Deny\n'), 'stops'],
  ['a hook: Handle instead of handle', guard(head.replace('handle', 'Handle')), 'stops'],
  ['a hook: return Block("no")', guard(head.replace('block(', 'Block(')), 'stops'],
  ['a hook: the decision as a text', guard(head.replace('block("no")', '"block"')), 'holds'],
  ['a hook: {"decision": "Deny"}', guard(head.replace('block("no")', '{"decision": "Deny"}')), 'holds'],
  ['a hook: no return', guard(head.replace('return block', 'block')), 'holds'],
  // ---- frontmatter
  ['a byte-order mark', hooked(BOM + whole), 'holds'],
  ['two byte-order marks', hooked(BOM + BOM + whole), 'stops'],
  ['CRLF', hooked(crlf(whole)), 'holds'],
  ['a byte-order mark and CRLF', hooked(BOM + crlf(whole)), 'holds'],
  ['CR alone', hooked(whole.replaceAll('\n', '\r')), 'stops'],
  ['UTF-16', hooked(Buffer.from(BOM + whole, 'utf16le')), 'stops'],
  ['an empty line first', hooked(`\n${whole}`), 'stops'],
  ['a space before the first dashes', hooked(` ${whole}`), 'stops'],
  ['spaces after the dashes', hooked(whole.replaceAll('---\n', '---  \n')), 'holds'],
  ['a no-break space after the dashes', hooked(whole.replaceAll('---\n', `---${NBSP}\n`)), 'stops'],
  ['closed with four dashes', hooked(whole.replace(/---\n$/, '----\n')), 'stops'],
  ['closed with two dashes', hooked(whole.replace(/---\n$/, '--\n')), 'stops'],
  ['closed with dots', hooked(whole.replace(/---\n$/, '...\n')), 'stops'],
  ['closed with em dashes', hooked(whole.replace(/---\n$/, '\u2014\n')), 'stops'],
  ['closed with +++', hooked(whole.replaceAll('---', '+++')), 'stops'],
  ['closed with an indented line', hooked(whole.replace(/---\n$/, '  ---\n')), 'stops'],
  ['not closed', hooked(`---\n${head}`), 'stops'],
  ['closed without a line end', hooked(whole.trimEnd()), 'holds'],
  ['closed before the script', hooked(`---\nevent: tool.pre\n---\n${script}---\n`), 'stops'],
  ['closed twice', hooked(`---\n---\n${head}---\n`), 'stops'],
  ['in a fence', hooked(`\`\`\`yaml\n${head}\`\`\`\n`), 'stops'],
  ['no frontmatter', hooked(head), 'stops'],
  ['an HTML comment around it', hooked(`<!--\n${whole}-->\n`), 'stops'],
  ['two documents', hooked(`---\nevent: tool.post\n${script}---\n${head}---\n`), 'stops'],
  // ---- names of files
  ...['g.yaml', 'g.yml', 'g.json', 'g.txt', 'g.markdown', 'g.mdx', 'g.MD', 'g.Md', 'g.mkd', 'g.md.txt', 'g.md ', `g.md${NBSP}`, 'g.star', 'g.toml', 'g', 'hook.py'].map(name =>
    [`hooks/${JSON.stringify(name)}`, { [`.harness/hooks/${name}`]: whole }, 'stops']),
  ...['Readme.md', 'readme.md'].map(name => [`hooks/${name}`, { [`.harness/hooks/${name}`]: whole }, 'holds']),
  ...['README.md', 'README.yaml', 'README'].map(name => [`hooks/${name}`, { [`.harness/hooks/${name}`]: whole }, 'stops']),
  ...['README.md', 'README.yaml'].map(name => [`hooks/${name} with Event`, { [`.harness/hooks/${name}`]: whole.replace('event', 'Event') }, 'stops']),
  ['hooks/README.yaml without dashes', { '.harness/hooks/README.yaml': head }, 'stops'],
  // ---- names of folders
  ...['Hooks', 'HOOKS', 'hook', 'hooks ', `hooks${NBSP}`, 'guards', 'Guards', 'policies', 'rules', 'hooks.d'].map(name =>
    [`the folder ${JSON.stringify(name)}`, { [`.harness/${name}/g.md`]: whole }, 'stops']),
  ...['.Harness', '.HARNESS', '.harnes', '.harness '].map(name => [`the folder ${JSON.stringify(name)}`, { [`${name}/hooks/g.md`]: whole }, 'stops']),
  // ---- a hook among other files
  ...['agents', 'tests', 'tools', 'prompts', 'resources', 'plugins', 'builtins', 'overrides', 'skills'].flatMap(folder => ['event', 'Event', 'EVENT', '"event"', `event${NBSP}`, `event${ZERO}`].map(key =>
    [`${folder}/g.md with ${JSON.stringify(key)}`, { [`.harness/${folder}/g.md`]: whole.replace('event:', `${key}:`) }, 'stops'])),
  ...['agents', 'tests', 'skills'].flatMap(folder => ['g.yaml', 'g.yml', 'g.YAML', 'g.json', 'g.txt', 'g.markdown', 'g.MD', 'g'].map(name =>
    [`${folder}/${name}`, { [`.harness/${folder}/${name}`]: name.endsWith('json') ? JSON.stringify({ event: 'tool.pre', script: 'x' }) : whole }, 'stops'])),
  ...['tests', 'skills'].flatMap(folder => ['g.yaml', 'g.yml'].flatMap(name => ['event', 'Event', "'event'", `event${ZERO}`].map(key =>
    [`${folder}/${name} without dashes, with ${JSON.stringify(key)}`, { [`.harness/${folder}/${name}`]: head.replace('event:', `${key}:`) }, 'stops']))),
  ...['g.md', 'g.yaml', 'hooks/g.md', 'a/b/g.md', 'scripts/g.yml'].map(name => [`skills/s/${name}`, { '.harness/skills/s/SKILL.md': '---\nname: s\ndescription: S.\n---\n', [`.harness/skills/s/${name}`]: whole }, 'stops']),
  ...Object.entries({
    'g.toml': 'event = "tool.pre"\nscript = "x"\n', 'g.txt': head, 'guard': head, 'list.yml': `- event: tool.pre\n  script: x\n`, 'hooks.yml': 'hooks:\n- event: tool.pre\n  script: x\n',
    'rules.yml': 'rules:\n- { name: a, shell: [touch], decide: deny }\n', 'policy.yaml': 'tools_policy:\n  deny: [touch]\n', 'harness.md': '---\ntools_policy: { deny: [touch] }\n---\n',
    'list.json': '[{"event": "tool.pre", "script": "x"}]', 'space.json': '{"hooks": [{"id": "a", "type": "pre_tool", "tools": ["*"], "command": "false", "blocking": true}]}',
    'one.yaml': 'type: pre_tool\ntools: [touch]\ncommand: "false"\n', 'blank.md': `\n\n${whole}`, 'indented.md': ` ${whole}`,
  }).map(([name, text]) => [`skills/s/${name} that reads like a guard`, { '.harness/skills/s/SKILL.md': '---\nname: s\ndescription: S.\n---\n', [`.harness/skills/s/${name}`]: text }, 'stops']),
  ...['README.md', 'README/g.md', 'READMEhooks/g.md', 'hooks/README/g.md', 'skills/README/g.md', 'tools/README.d/g.md'].map(name => [`.harness/${name}`, { [`.harness/${name}`]: whole }, 'stops']),
  ['skills/s/SKILL.md with Event', { '.harness/skills/s/SKILL.md': `---\nname: s\ndescription: S.\n${head.replace('event', 'Event')}---\n` }, 'stops'],
  ...['tests', 'skills', 'agents'].map(folder => [`${folder}/ with a byte-order mark and CRLF`, { [`.harness/${folder}/g.md`]: BOM + crlf(whole) }, 'stops']),
  ...['tests', 'skills'].flatMap(folder => ['hooks', 'Hooks', 'tools_policy', 'limits', 'Limits', 'blockedTools', 'deny', 'safety'].map(key =>
    [`${folder}/g.yaml with ${key}`, { [`.harness/${folder}/g.yaml`]: `${key}: [touch]\n` }, 'stops'])),
  ['only a script in tests/', { '.harness/tests/g.md': `---\n${script}---\n` }, 'stops'],
  ['only a script in agents/', { '.harness/agents/g.md': `---\n${script}---\n` }, 'stops'],
  // ---- harness.md
  ...['Tools_policy', 'TOOLS_POLICY', 'toolsPolicy', 'tools-policy', 'tools policy', '"tools_policy "', `tools_policy${NBSP}`, `tools_policy${ZERO}`, 'tool_policy', 'policy', 'Policy'].map(key =>
    [`harness.md: ${JSON.stringify(key)}`, settings(deny.replace('tools_policy', key)), 'stops']),
  ['harness.md: "tools_policy" in quotes', settings(deny.replace('tools_policy', '"tools_policy"')), 'holds'],
  ['harness.md: a space before the colon', settings(deny.replace(':', ' :')), 'holds'],
  ['harness.md: a full-width colon', settings(deny.replace(':', COLON)), 'stops'],
  ['harness.md: no space after the colon', settings('tools_policy:{ deny: [touch] }'), 'stops'],
  ...['Deny', 'DENY', '"deny "', `deny${NBSP}`, `d${CYRILLIC_E}ny`, 'denied', 'block', 'blocked', 'disallow'].map(key =>
    [`tools_policy: ${JSON.stringify(key)}`, settings(deny.replace('deny', key)), 'stops']),
  ...['Touch', 'TOUCH', 'TOU*', '"touch "', `touch${NBSP}`, `touch${ZERO}`, 'touch()', 'touch.md', 'tools/touch'].map(name =>
    [`tools_policy.deny: [${JSON.stringify(name)}]`, settings(deny.replace('[touch]', `[${name.includes(' ') ? name : JSON.stringify(name)}]`.replaceAll('""', '"'))), 'stops']),
  ...['Allowlist', 'ALLOWLIST', 'AllowList', '"allowlist "', 'allow', 'strict'].map(mode => [`tools_policy.mode: ${mode}`, settings(`tools_policy: { mode: ${mode}, allow: [] }`), 'stops']),
  ['tools_policy.Allow', settings('tools_policy: { Allow: [other] }'), 'stops'],
  ...['Mutating', 'MUTATING', '"mutating "', `mutating${NBSP}`, 'mutation', 'write'].map(name => [`limits.deny: [${name}]`, settings(`limits: { deny: [${name}] }`), 'stops']),
  ...['Deny', 'denies', 'Confirm', 'confirms', 'Max_tool_calls', 'maxToolCalls', 'max-tool-calls', 'MAX_TOOL_CALLS'].map(key => [`limits.${key}`, settings(`limits: { ${key}: ${/max/i.test(key) ? 0 : '[mutating]'} }`), 'stops']),
  ['limits.max_tool_calls: "5"', settings('limits: { max_tool_calls: "5" }'), 'stops'],
  ['limits.deny holds', settings('limits: { deny: [mutating] }'), 'holds'],
  ...['Sandbox', 'sandBox', 'Network', 'NETWORK', 'Delegation', 'Meta', 'Trusted_sources', 'Hooks', 'Limits'].map(key => [`harness.md: ${key}`, settings(`${key}: {}`), 'stops']),
  ...['Strict', 'STRICT', '"strict "', 'on', 'true'].map(mode => [`sandbox.mode: ${mode}`, settings(`sandbox: { mode: ${mode} }`), 'stops']),
  ...['Mode', 'Network', 'readRoots', 'Read_roots', 'write-roots'].map(key => [`sandbox.${key}`, settings(`sandbox: { ${key}: [] }`), 'stops']),
  ...['Allowed_domains', 'allowedDomains', 'allowed', 'domains'].map(key => [`network.${key}`, settings(`network: { ${key}: [] }`), 'stops']),
  ['harness.md: a byte-order mark and CRLF', { 'harness.md': BOM + crlf(settings(deny)['harness.md']) }, 'holds'],
  ['harness.md: a byte-order mark and CRLF in harness.yaml', { 'harness.yaml': BOM + crlf(`${deny}\n`) }, 'holds'],
  ['harness.yaml: dashes first', { 'harness.yaml': `---\n${deny}\n` }, 'holds'],
  ['harness.yaml: two documents', { 'harness.yaml': `system_prompt: Hi.\n---\n${deny}\n` }, 'stops'],
  ['harness.yaml: dashes around it', { 'harness.yaml': `---\n${deny}\n---\nHi.\n` }, 'stops'],
  ['harness.md: no dashes', { 'harness.md': `${deny}\n` }, 'stops'],
  ['harness.md: an empty line first', { 'harness.md': `\n---\n${deny}\n---\n` }, 'stops'],
  ['harness.md: closed with dots', { 'harness.md': `---\n${deny}\n...\nHi.\n` }, 'stops'],
  ['harness.md: not closed', { 'harness.md': `---\n${deny}\n` }, 'stops'],
  ['harness.md: empty frontmatter, then the rule', { 'harness.md': `---\n---\n${deny}\n` }, 'stops'],
  ['harness.md: the rule below the frontmatter', { 'harness.md': `---\nmodel: x\n---\n${deny}\n---\nBe brief.\n` }, 'stops'],
  ['harness.md: the rule below the frontmatter, after an empty line', { 'harness.md': `---\nmodel: x\n---\n\n${deny.replace('tools', 'Tools')}\n---\nBe brief.\n` }, 'stops'],
  ['harness.md: a second block further down', { 'harness.md': `---\nmodel: x\n---\nBe brief.\n\n---\n${deny}\n---\n` }, 'stops'],
  ['harness.md: CRLF and a second block', { 'harness.md': crlf(`---\nmodel: x\n---\n${deny}\n---\nBe brief.\n`) }, 'stops'],
  ...['Harness.md', 'HARNESS.md', 'harness.MD', 'harness.Yaml', 'harness.yml', 'harness.json', 'harness.toml', 'harness.txt', 'harness.markdown', '.harness.md', '.harness/harness.yaml', '.harness/Harness.md', '.harness/settings.json', '.harness/config.yaml', '.harness/policy.yaml', '.harness/rules.yaml'].map(name =>
    [`the settings as ${name}`, { [name]: name.endsWith('.yml') ? `${deny}\n` : settings(deny)['harness.md'] }, name === 'harness.yml' ? 'holds' : 'stops']),
  // ---- tools
  ...['Confirm', 'CONFIRM', '"confirm "', `confirm${NBSP}`, `${NBSP}confirm`, `confirm${ZERO}`, `${WIDE_C}onfirm`, `conf${SOFT}irm`, 'confirmation', 'requires_confirmation', 'ask', 'approve', 'approval'].map(key =>
    [`a tool: ${JSON.stringify(key)}`, own(`${key}: true`), 'stops']),
  ['a tool: a full-width colon', own(`confirm${COLON} true`), 'stops'],
  ['a tool: confirm', own('confirm: true'), 'holds'],
  ['a tool: confirm: True', own('confirm: True'), 'holds'],
  ['a tool: confirm : true', own('confirm : true'), 'holds'],
  ['a tool: "confirm"', own('"confirm": true'), 'holds'],
  ...['yes', 'Yes', 'on', '"true"', 'always', '1', '[true]', 'TRUE!'].map(value => [`a tool: confirm: ${value}`, own(`confirm: ${value}`), 'stops']),
  ...['Safety', 'SAFETY', `safety${ZERO}`, `s${CYRILLIC_E}fety`, '"safety "', 'saftey', 'Permissions'].map(key => [`a tool: ${JSON.stringify(key)}`, own(`${key}: { requires_confirmation: true }`), 'stops']),
  ...['Requires_confirmation', 'requiresConfirmation', 'requires-confirmation', 'confirm', `requires_confirmation${ZERO}`, 'REQUIRES_CONFIRMATION'].map(key => [`safety: ${JSON.stringify(key)}`, own(`safety: { ${key}: true }`), 'stops']),
  ['safety.requires_confirmation: "True"', own('safety: { requires_confirmation: "True" }'), 'stops'],
  ['safety.requires_confirmation holds', own('safety: { requires_confirmation: true }'), 'holds'],
  ...['Filesystem', 'Workspace_root', 'workspaceRoot', 'Redact'].map(key => [`safety.${key}`, own(`safety: { ${key}: "x" }`), 'stops']),
  ...['Write', 'READ', 'readonly', '"none "'].map(value => [`safety.filesystem: ${value}`, own(`safety: { filesystem: ${value} }`), 'stops']),
  ['a tool: confirm below the frontmatter', { '.harness/tools/touch.md': touch.replace('Does it.', 'confirm: true\n---\nDoes it.') }, 'stops'],
  ['a tool: safety below the frontmatter', { '.harness/tools/touch.md': `${touch.replace('Does it.\n', '')}\nSafety: { requires_confirmation: true }\n---\nDoes it.\n` }, 'stops'],
  ...['Timeout_ms', 'timeoutMs', 'TIMEOUT_MS', `timeout_ms${ZERO}`].map(key => [`a tool: ${JSON.stringify(key)}`, own(`${key}: 1`), 'stops']),
  // ---- spaces
  ...['BlockedTools', 'BLOCKEDTOOLS', 'blockedtools', 'blocked-tools', 'blocked tools', '"blockedTools "', `blockedTools${NBSP}`, `blockedTools${ZERO}`, 'blockTools', 'deniedTools', 'disallowedTools'].map(key =>
    [`agent/config.md: ${JSON.stringify(key)}`, config(`${key}: [touch]`), 'stops']),
  ['agent/config.md: blockedTools', config('blockedTools: [touch]'), 'holds'],
  ['agent/config.md: a byte-order mark and CRLF', { 'agent/config.md': BOM + crlf(config('blockedTools: [touch]')['agent/config.md']) }, 'holds'],
  ...['Touch', 'TOUCH', '"touch "', `touch${ZERO}`].map(name => [`blockedTools: [${JSON.stringify(name)}]`, config(`blockedTools: [${name}]`), 'stops']),
  ['agent/config.md: blockedTools below the frontmatter', { 'agent/config.md': '---\nid: ops\n---\nblockedTools: [touch]\n---\nYou look.\n' }, 'stops'],
  ...['agent/Config.md', 'agent/CONFIG.MD', 'agent/config.MD', 'agent/config.markdown', 'agent/config.yaml', 'agent/config.json', 'agent/configs.md', 'Agent/config.md', 'AGENT/config.md'].map(name =>
    [name, { [name]: config('blockedTools: [touch]')['agent/config.md'] }, 'stops']),
  ...['Hooks', 'HOOKS', 'hook', 'Hook'].map(key => [`agent/hooks/h.json: ${key}`, { 'agent/hooks/h.json': JSON.stringify({ [key]: [command] }) }, 'stops']),
  ...['Id', 'Type', 'Command', 'Blocking', 'Tools', 'TYPE', 'command ', `command${NBSP}`, `command${ZERO}`].map(key => {
    const entry = { ...command };
    delete entry[key.toLowerCase().trim().replace(ZERO, '')];
    return [`a space hook: ${JSON.stringify(key)}`, json({ ...entry, [key]: 'pre_tool' }), 'stops'];
  }),
  ...['Pre_Tool', 'PRE_TOOL', 'pre-tool', 'preTool', 'PreToolUse', 'pre_tool ', 'tool.pre'].map(type => [`a space hook: type: ${JSON.stringify(type)}`, json({ ...command, type }), 'stops']),
  ['a space hook: blocking: "true"', json({ ...command, blocking: 'true' }), 'stops'],
  ['a space hook: blocking: 1', json({ ...command, blocking: 1 }), 'stops'],
  ['a space hook: tools: ["Touch"]', json({ ...command, tools: ['Touch'] }), 'stops'],
  ['a space hook: holds', json({ ...command, blocking: true, tools: ['touch'] }), 'holds'],
  ['a space hook: one hook instead of a list', { 'agent/hooks/h.json': JSON.stringify({ hooks: command }) }, 'stops'],
  ['a space hook: a list at the root', { 'agent/hooks/h.json': JSON.stringify([command]) }, 'stops'],
  ['a space hook: an entry at the root', { 'agent/hooks/h.json': JSON.stringify(command) }, 'stops'],
  ['a space hook: a byte-order mark', { 'agent/hooks/h.json': BOM + JSON.stringify({ hooks: [command] }) }, 'stops'],
  ['a space hook: a trailing comma', { 'agent/hooks/h.json': `{"hooks": [${JSON.stringify(command)},]}` }, 'stops'],
  ['a space hook: a comment', { 'agent/hooks/h.json': `// first\n${JSON.stringify({ hooks: [command] })}` }, 'stops'],
  ['a space hook: two documents', { 'agent/hooks/h.json': `{"hooks": []}\n${JSON.stringify({ hooks: [command] })}` }, 'stops'],
  ['a space hook: hooks twice', { 'agent/hooks/h.json': `{"hooks": [${JSON.stringify(command)}], "hooks": []}` }, 'stops'],
  ['a space hook: CRLF', { 'agent/hooks/h.json': crlf(JSON.stringify({ hooks: [{ ...command, blocking: true }] }, null, 1)) }, 'holds'],
  ...['agent/Hooks/h.json', 'agent/HOOKS/h.json', 'agent/hook/h.json', 'Agent/hooks/h.json', 'agent/hooks/h.JSON', 'agent/hooks/h.jsonc', 'agent/hooks/h.yaml', 'agent/hooks/sub/h.json', 'agent/hooks.json', 'agent/Hooks.json', 'agent/hooks/h'].map(name =>
    [name, { [name]: JSON.stringify({ hooks: [command] }) }, 'stops']),
  ...['Confirm', 'confirms', `confirm${ZERO}`].map(key => [`a space tool: ${JSON.stringify(key)}`, { 'agent/tools/p.md': `---\nid: p\nname: P\ndescription: P.\ncommand: "true"\n${key}: true\n---\n` }, 'stops']),
  ...['BlockedTools', 'blockedtools', 'Hooks', `hooks${ZERO}`].map(key => [`space.manifest.json: ${JSON.stringify(key)}`, { 'space.manifest.json': JSON.stringify({ name: 's', tools: [], [key]: ['touch'] }) }, 'stops']),
  // ---- manifests and servers
  ...['TimeoutSec', 'timeoutsec', 'timeout_sec', `timeoutSec${ZERO}`, 'Confirm', 'Safety', 'EnvPassthrough'].map(key => [`tools.json: ${JSON.stringify(key)}`, { 'tools.json': JSON.stringify({ tools: [{ name: 'p', command: ['/bin/true'], [key]: 1 }] }) }, 'stops']),
  ...['Disabled', 'DENY', 'Tools', 'deny_tools', `disabled${ZERO}`, 'Allow'].map(key => [`.mcp.json: ${JSON.stringify(key)}`, { '.mcp.json': JSON.stringify({ mcpServers: { s: { command: 'x', [key]: true } } }) }, 'stops']),
  ...['mcpservers', 'MCPServers', 'mcp_servers', 'McpServers'].map(key => [`.mcp.json: ${key}`, { '.mcp.json': JSON.stringify({ [key]: { s: { command: 'x', tools: { deny: ['y'] } } } }) }, 'stops']),
  ...['.MCP.json', '.mcp.JSON'].map(name => [name, { [name]: JSON.stringify({ mcpServers: { s: { command: 'x', disabled: true } } }) }, 'stops']),
  // ---- bundles and inline definitions
  ...['Hooks', 'HOOKS', 'hook', `hooks${ZERO}`, '"hooks "'].map(key => [`a plugin: ${JSON.stringify(key)}`, { '.harness/plugins/p.md': `---\n${key}:\n  - name: g\n${head.replace(/^/gm, '    ').trimEnd()}\n---\n` }, 'stops']),
  ['a plugin: hooks', { '.harness/plugins/p.md': `---\nhooks:\n  - name: g\n${head.replace(/^/gm, '    ').trimEnd()}\n---\n` }, 'holds'],
  ['a plugin: Event', { '.harness/plugins/p.md': `---\nhooks:\n  - name: g\n${head.replace('event', 'Event').replace(/^/gm, '    ').trimEnd()}\n---\n` }, 'stops'],
  ['harness.md: hooks with Event', settings(`hooks:\n  - name: g\n${head.replace('event', 'Event').replace(/^/gm, '    ').trimEnd()}`), 'stops'],
  ['harness.md: hooks as a map', settings(`hooks:\n  g:\n${head.replace(/^/gm, '    ').trimEnd()}`), 'stops'],
  ['harness.md: hooks', settings(`hooks:\n  - name: g\n${head.replace(/^/gm, '    ').trimEnd()}`), 'holds'],
  ...['Blocked_tools', 'blockedTools', 'BLOCKED_TOOLS', '"blocked_tools "', `blocked_tools${ZERO}`, `bl${'\u043e'}cked_tools`, 'Tools', 'Hooks', 'Mcp'].map(key =>
    [`a sub-agent: ${JSON.stringify(key)}`, { '.harness/agents/scout.md': `---\ndescription: Looks.\n${key}: [touch]\n---\nLook.\n` }, 'stops']),
  ['a sub-agent: blocked_tools below the frontmatter', { '.harness/agents/scout.md': '---\ndescription: Looks.\n---\nblocked_tools: [touch]\n---\nLook.\n' }, 'stops'],
  ['a sub-agent: blocked_tools: [Touch]', { '.harness/agents/scout.md': '---\ndescription: Looks.\nblocked_tools: [Touch]\n---\nLook.\n' }, 'stops'],
];

test('without a restriction the tool runs', async t => {
  const dir = project(t, base);
  assert.equal((await start(['-C', dir, 'call', 'touch'])).status, 0);
  assert.ok(existsSync(join(dir, 'ran')));
});

test(`${rows.length} restrictions hold or stop the load`, { concurrency: 2 }, async t => {
  assert.ok(rows.length >= 80);
  const state = mkdtempSync(join(tmpdir(), 'harness-state-'));
  undo(t, () => rmSync(state, { recursive: true, force: true }));
  const env = { HARNESS_STATE: join(state, 'harness.db') };
  for (const [what, files, how] of rows)
    await t.test(what, async s => {
      const dir = project(s, { ...base, ...files });
      const [checked, called] = await Promise.all([start(['-C', dir, 'validate'], { env }), start(['-C', dir, 'call', 'touch'], { env })]);
      assert.ok(!existsSync(join(dir, 'ran')), `the tool has run\n${checked.stderr}`);
      assert.equal(called.status, 1, called.stderr);
      assert.equal(checked.status, how === 'holds' ? 0 : 1, checked.stderr);
      if (how === 'holds') return;
      // The message names the file of the row, or a folder that leads to it, and is not a warning.
      const errors = checked.stderr.split('\n').filter(l => l.startsWith('harness: ') && !l.endsWith(' [warning]') && !l.startsWith('harness: not valid'));
      const parts = Object.keys(files).flatMap(f => [f, ...f.split('/').slice(0, -1).map((_, i, a) => a.slice(0, i + 1).join('/'))]);
      assert.ok(errors.some(l => parts.some(f => l.startsWith(`harness: ${f}`))), checked.stderr);
      assert.doesNotMatch(called.stdout, /ran/);
    });
});

test('texts that only look alike still load', async t => {
  const dir = project(t, {
    ...base,
    'harness.md': '---\ntools_policy: { deny: [other_*] }\n---\nRules:\n- Never delete a file without asking.\n- Answer in one line.\n\n---\n\nSafety: ask first.\n\n---\n\nLimits:\n\n* none that you know of\n',
    '.harness/tools/own.md': `${tool('return 1')}\nAn example of its frontmatter:\n\n\`\`\`md\n---\nconfirm: true\n---\n\`\`\`\n\nTimeout: 30 seconds\n`,
    '.harness/agents/scout.md': '---\ndescription: Looks.\n---\nNetwork: none\n---\nHooks:\n- tell the user what you saw\n',
    '.harness/skills/s/SKILL.md': '---\nname: s\ndescription: S.\nallowed-tools: [touch]\n---\nlimits: {}\n',
    '.harness/skills/s/assets/push.json': '{"event": "push", "ref": "main"}',
    '.harness/skills/s/assets/pod.yaml': 'limits: { cpu: 1 }\n---\nevent: OOMKilled\n',
    '.harness/skills/s/assets/level.yml': 'level: error\nkind: log\nagent: scout\n',
    '.harness/skills/s/broken.yaml': 'event: [\n',
    '.harness/skills/s/steps.txt': 'First: look.\nThen:\n- event: push\n- rules: none\n', '.harness/skills/s/LICENSE': 'Use it.\nrules: as you like\n', '.harness/skills/s/lint.yaml': 'rules:\n  - id: no-tabs\n',
    '.harness/skills/s/ci.toml': 'event = "push"\n[tool.x]\nname = "a"\n', '.harness/skills/s/web.json': '{"hooks": [{"url": "https://a.example/"}], "rules": {"semi": "error"}}',
    '.harness/skills/s/run': '#!/bin/sh\nexec true\n', '.harness/README.md': 'This project.\n\n---\nevent: none\n---\n',
    '.harness/skills/README.md': 'Skills of this project.\n',
    '.harness/tests/t.md': '---\ncall: { tool: own }\nresult: 1\n---\nevent: none\n',
    'Agent/readme.txt': 'An agent of another kind.\n',
  });
  const { status, stderr } = await start(['-C', dir, 'validate']);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
});
