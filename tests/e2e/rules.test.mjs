// `rules:` at every door: harness call, a model, sub-agents, scripts, MCP clients, tests; and the kinds of calls that hooks see.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { scripted, talker } from './agents.mjs';
import { caller, hook, tool } from './calls.mjs';
import { project, root, run } from './harness.mjs';
import { connect, ways } from './mcp_sdk.mjs';
import { pages } from '../rules/table.mjs';

const settings = (rules, more = '') => `---\nbuiltin_tools: all\n${more}rules:\n${rules.map(r => `  - ${r}\n`).join('')}---\n`;
const noPush = '{ name: no-push, shell: [git, push, "--force*"], decide: deny, because: "history is shared" }';
const noSecrets = '{ name: no-secrets, file: ["**/.env*", "**/*secret*"], decide: deny }';
const askMake = '{ name: ask-touch, shell: [touch], decide: ask, because: "it makes files" }';

test('the example of the design loads as it is, and is listed', t => {
  const p = caller(t, { 'harness.md': `---
builtin_tools: all
rules:
  - { name: no-force-push, shell: [git, push, "--force*"], decide: deny, because: "history is shared" }
  - { name: no-secrets,    file: ["**/.env*", "**/*secret*"], decide: deny }
  - { name: ask-deploy,    tool: "mcp:deploy:*", decide: ask }
  - { name: docs-only,     vendor: [cursor], file.write: ["docs/**"], decide: allow, otherwise: deny }
---
` });
  const r = p.run(['validate', '--strict']);
  assert.equal(r.status, 0, r.stderr);
  assert.equal(r.stderr, '');
  assert.match(r.stdout, /^rules \(4\)\n {2}no-force-push +deny +harness\.md:4 +shell: \[git, push, --force\*\]$/m);
  assert.match(r.stdout, /4 rules$/m);
  const json = JSON.parse(p.run(['validate', '--json']).stdout).rules;
  assert.deepEqual(json[3], { name: 'docs-only', decide: 'allow', otherwise: 'deny', because: null, vendors: ['cursor'], kinds: ['file.write', 'file.edit', 'file.delete'],
    tool: [], shell: [], paths: ['docs/**'], host: [], url: [], file: 'harness.md', line: 7 });
  assert.match(p.run(['hooks']).stdout, /rules, decided before the hooks of tool\.pre\n {2}no-force-push/);
  assert.match(p.run(['inspect', 'no-force-push']).stdout, /no-force-push +rule +harness\.md:4\n {2}decide +deny\n.*because +history is shared/s);
  assert.equal(JSON.parse(p.run(['inspect', 'ask-deploy', '--json']).stdout).type, 'rule');
  const unknown = p.run(['inspect', 'ask-deplo', '--type', 'rule']);
  assert.equal(unknown.status, 1);
  assert.match(unknown.stderr, /no rule is named "ask-deplo" \(did you mean "ask-deploy"\?\)/);
});

// Rules that stop the load, and the expected messages.
const wrong = {
  'an unknown key': ['{ name: a, shel: [git], decide: deny }', /harness\.md:4:\d+: rules\[0\]: unknown key "shel" \(did you mean "shell"\?\)/],
  'no name': ['{ tool: read, decide: deny }', /harness\.md:4:5: rules\[0\]\.name is required/],
  'a bad name': ['{ name: "a b", tool: read, decide: deny }', /rule "a b": name must match/],
  'no decision': ['{ name: a, tool: read }', /rules\[0\]\.decide is required/],
  'a wrong decision': ['{ name: a, tool: read, decide: denny }', /rules\[0\]\.decide: expected deny, ask or allow, got "denny" \(did you mean "deny"\?\)/],
  'an empty decision': ['{ name: a, tool: read, decide: }', /rules\[0\]\.decide: expected string, got null/],
  'a string for a list': ['{ name: a, shell: git, decide: deny }', /rules\[0\]\.shell: expected list, got string/],
  'a list in a list': ['{ name: a, shell: [[git]], decide: deny }', /rules\[0\]\.shell\[0\]: expected string, got list/],
  'an empty list': ['{ name: a, file: [], decide: deny }', /rules\[0\]\.file: an empty list matches nothing/],
  'shell and file': ['{ name: a, shell: [git], file: [x], decide: deny }', /rules\[0\]: the rule can match no call: shell and file are about different kinds/],
  'a kind that contradicts': ['{ name: a, shell: [git], kind: mcp, decide: deny }', /shell and kind are about different kinds/],
  'a tool that contradicts': ['{ name: a, tool: read, file.write: [x], decide: deny }', /file\.write and tool are about different kinds/],
  'an unknown kind': ['{ name: a, kind: shel, decide: deny }', /rules\[0\]\.kind: "shel" is not a kind of call \(did you mean "shell"\?\)/],
  'an unknown vendor': ['{ name: a, vendor: [cursr], decide: deny }', /rules\[0\]\.vendor\[0\]: "cursr" is not a vendor \(did you mean "cursor"\?\)/],
  'a tool that does not exist': ['{ name: a, tool: reed, decide: deny }', /harness\.md:4:16: rule "a": "reed" matches no tool \(did you mean "read"\?\)/],
  'a pattern of tools that matches none': ['{ name: a, tool: "deploy_*", decide: deny }', /rule "a": "deploy_\*" matches no tool/],
  'a program with blanks': ['{ name: a, shell: ["git push"], decide: deny }', /"git push" matches no program \(write one item for each word: \[git, push\]\)/],
  'a program with its path': ['{ name: a, shell: [/usr/bin/git], decide: deny }', /matches no program \(write the last part of its path alone\)/],
  'an option as the program': ['{ name: a, shell: ["--force"], decide: deny }', /is not a program/],
  'a path with dots': ['{ name: a, file: ["../x"], decide: deny }', /"\.\.\/x" matches no path/],
  'a broken pattern': ['{ name: a, file: ["a["], decide: deny }', /rules\[0\]\.file\[0\]: "a\[" is not a pattern/],
  'a negated pattern': ['{ name: a, file: ["!x"], decide: deny }', /"!x" matches no path/],
  'two keys of paths': ['{ name: a, file.read: [a], file.write: [b], decide: deny }', /a rule has one of file, file\.read/],
  'a URL as host': ['{ name: a, host: ["https://x"], decide: deny }', /"https:\/\/x" matches no host/],
  'nothing to match': ['{ name: a, decide: deny }', /rules\[0\]: the rule does not say what it matches/],
  'otherwise of a rule that denies': ['{ name: a, tool: read, decide: deny, otherwise: deny }', /rules\[0\]\.otherwise is only for rules that allow/],
  'otherwise: allow': ['{ name: a, tool: read, decide: allow, otherwise: allow }', /rules\[0\]\.otherwise: expected deny or ask, got "allow"/],
  'otherwise without a kind': ['{ name: a, tool: "*", decide: allow, otherwise: deny }', /rules\[0\]\.otherwise: it is not clear which kind/],
  'no map': ['nothing', /rules\[0\]: expected map, got string/],
  'the same name twice': ['{ name: a, tool: read, decide: deny }\n  - { name: a, tool: write, decide: deny }', /harness\.md:5:7: rule "a" is defined more than once \(also in harness\.md:4\)/],
};
for (const [what, [rule, message]] of Object.entries(wrong))
  test(`the load stops: ${what}`, t => {
    const p = caller(t, { 'harness.md': settings([rule]) });
    for (const args of [['validate'], ['call', 'listdir', '{"path":"."}'], ['call', 'listdir', '{"path":"."}', '--lenient']]) {
      const r = p.run(args);
      assert.equal(r.status, 1, args.join(' '));
      assert.match(r.stderr, message);
    }
  });

test('the load stops: no list, an empty key, rules elsewhere', t => {
  const says = (files, message) => {
    const r = caller(t, files).run(['validate']);
    assert.equal(r.status, 1);
    assert.match(r.stderr, message);
  };
  says({ 'harness.md': '---\nrules: { a: 1 }\n---\n' }, /rules: expected list, got map/);
  says({ 'harness.md': '---\nrules:\n---\n' }, /rules: needs a value/);
  says({ '.harness/tools/x.md': tool('return 1', 'rules: []') }, /unknown key "rules" \(rules belong in harness\.md, or in a bundle/);
  says({ '.harness/plugins/p.md': '---\nrules: [{ name: a, decide: deny }]\n---\n' }, /plugins\/p\.md:2:\d+: rules\[0\]: the rule does not say/);
  says({ 'harness.md': settings(['{ name: a, tool: read, decide: deny }']), '.harness/plugins/p.md': '---\nrules: [{ name: a, tool: read, decide: deny }]\n---\n' },
    /rule "a" is defined more than once/);
  says({ '.harness/tools/x.md': tool('return 1', 'kind: shel') }, /kind: "shel" is not a kind of call \(did you mean "shell"\?\)/);
  says({ '.harness/tools/x.md': tool('return 1', 'kind: mcp') }, /only tools of MCP servers are of kind mcp/);
  says({ '.harness/tools/x.md': tool('return 1', 'kind: shell') }, /tool "x": kind shell needs a required parameter "command" of type string/);
  says({ '.harness/tools/x.md': tool('return 1', 'kind: file.read\nparameters: { path: { type: string } }') }, /kind file\.read needs a required parameter "path"/);
  says({ '.harness/hooks/h.md': hook('tool.pre', 'return allow()', 'when: payload["kind"] == "shel"') }, /hook "h": when: "shel" is not a kind of call/);
});

test('a rule about a tool of another kind stops the load; one that no tool can meet gets a hint', t => {
  const runs = head => ({ '.harness/tools/run_it.md': tool('return 1', `${head}parameters: { command: { type: string, required: true } }`) });
  const about = rule => ({ 'harness.md': `---\nrules:\n  - ${rule}\n---\n` });
  const bound = '{ name: a, tool: run_it, shell: [git], decide: deny }';
  const r = caller(t, { ...about(bound), ...runs('') }).run(['validate']);
  assert.equal(r.status, 1);
  assert.match(r.stderr, /harness\.md:3:16: rule "a": "run_it" is not of the kind that the rule is about.*declare kind: in the tool's file/);
  const p = caller(t, { ...about(bound), ...runs('kind: shell\n') });
  assert.equal(p.run(['validate']).status, 0);
  assert.equal(p.call('run_it', { command: 'git log' }).error.rule, 'a');
  const hinted = caller(t, { ...about('{ name: a, shell: [git], decide: deny }'), ...runs('') }).run(['validate', '--strict']);
  assert.equal(hinted.status, 0);
  assert.match(hinted.stderr, /harness\.md:3:1: rule "a": no tool of this project is of the kind shell .*\[hint\]/);
  assert.equal(caller(t, { ...about('{ name: a, shell: [git], decide: deny }'), ...runs('kind: shell\n') }).run(['validate', '--strict']).stderr, '');
});

test('a refusal names the rule, its file and its reason', t => {
  const p = caller(t, { 'harness.md': settings([noPush, noSecrets]), '.env': 'KEY=1', 'docs/a.md': 'a' });
  const r = p.call('bash', { command: 'cd . && env git -C x push --force' }, ['--yes']);
  assert.equal(r.status, 1);
  assert.equal(r.value.error, 'tool "bash" is denied by rule "no-push" (harness.md:4): history is shared');
  assert.deepEqual([r.error.step, r.error.rule, r.error.class], ['policy', 'no-push', 'repairable']);
  assert.equal(p.events('tool.refused')[0].data.rule, 'no-push');
  assert.equal(p.events('tool.executing').length, 0);
  assert.match(p.call('bash', { command: 'git push $x' }).value.error, /rule "no-push" .* \(a word of git is unknown before it runs\)/);
  assert.match(p.call('read', { path: '.env' }).value.error, /denied by rule "no-secrets" \(harness\.md:5\)$/);
  assert.equal(p.call('read', { path: 'docs/a.md' }).status, 0);
  symlinkSync('../.env', join(p.dir, 'docs/link'));
  assert.match(p.call('read', { path: 'docs/link' }).value.error, /no-secrets/);
  assert.match(p.call('write', { path: 'docs/../.ENV', content: 'x' }).value.error, /no-secrets/);
});

test('a search leaves out what rules keep from the tool', t => {
  const p = caller(t, { 'harness.md': settings([noSecrets, '{ name: ask-notes, file.read: ["notes/**"], decide: ask }']),
    'a.txt': 'needle', 'my_secret.txt': 'needle', 'notes/n.txt': 'needle' });
  const found = (args = {}) => p.call('grep', { pattern: 'needle', ...args });
  assert.deepEqual(found().value.matches.map(m => m.path), ['a.txt']);
  assert.match(found({ path: 'my_secret.txt' }).value.error, /no-secrets/);
  assert.match(found({ path: 'notes' }).value.error, /ask-notes/);
});

test('ask: a question with the name of the rule; --yes and --approve answer it', t => {
  const p = caller(t, { 'harness.md': settings([askMake]) });
  const r = p.call('bash', { command: 'touch made' });
  assert.equal(r.status, 1);
  assert.match(r.value.error, /needs confirmation \(rule "ask-touch" of harness\.md: it makes files\) and no user is present/);
  assert.deepEqual([r.error.step, r.error.rule], ['confirm', 'ask-touch']);
  assert.equal(p.events('approval.asked')[0].data.rule, 'ask-touch');
  assert.match(p.events('approval.asked')[0].data.reason, /rule "ask-touch" of harness\.md: it makes files/);
  assert.equal(p.has('made'), false);
  assert.equal(p.call('bash', { command: 'touch made' }, ['--approve', 'bash']).status, 0);
  assert.equal(p.has('made'), true);
  const { verdict, rule } = p.events('tool.executing')[0].data;
  assert.deepEqual([verdict, rule], ['approved', 'ask-touch']);
  assert.equal(p.call('bash', { command: 'echo x' }).status, 0);
});

test('an allow answers an ask row and limits.confirm, and nothing else', t => {
  const allow = '{ name: ls-is-fine, shell: [ls], decide: allow }';
  const p = caller(t, { 'harness.md': settings([allow, '{ name: ask-all, tool: bash, decide: ask }'], 'limits: { confirm: [process] }\n') });
  assert.equal(p.call('bash', { command: 'ls' }).status, 0);
  assert.equal(p.events('tool.executing')[0].data.rule, 'ls-is-fine');
  assert.equal(p.call('bash', { command: 'ls; id' }).error.rule, 'ask-all');
  const q = caller(t, { 'harness.md': settings([allow], 'limits: { confirm: [process] }\n') });
  assert.equal(q.call('bash', { command: 'ls' }).status, 0);
  assert.equal(q.call('bash', { command: 'id' }).error.rule, 'limits.confirm: process');
  const denied = caller(t, { 'harness.md': settings([allow], 'limits: { deny: [process] }\n') });
  assert.equal(denied.call('bash', { command: 'ls' }).error.rule, 'limits.deny: process');
  const marked = caller(t, { 'harness.md': settings(['{ name: fine, tool: x, decide: allow }']), '.harness/tools/x.md': tool('return 1', 'confirm: true') });
  assert.equal(marked.call('x', {}).error.rule, 'confirm: true');
  const hooked = caller(t, { 'harness.md': settings([allow]), '.harness/hooks/h.md': hook('tool.pre', 'return block("no")') });
  assert.equal(hooked.call('bash', { command: 'ls' }).error.rule, 'h');
  const guarded = caller(t, { 'harness.md': settings(['{ name: fine, tool: bash, decide: allow }']) });
  assert.match(guarded.call('bash', { command: 'rm -rf /' }).value.error, /destructive command refused/);
});

test('otherwise: what no row of the set allows is refused', t => {
  const only = path => `{ name: only-${path}, file.write: ["${path}/**"], decide: allow, otherwise: deny }`;
  const p = caller(t, { 'harness.md': settings([only('docs'), only('tests')]), 'src/a': 'a' });
  assert.equal(p.call('write', { path: 'docs/a', content: 'x' }).status, 0);
  assert.equal(p.call('write', { path: 'tests/a', content: 'x' }).status, 0);
  const r = p.call('write', { path: 'src/b', content: 'x' });
  assert.match(r.value.error, /denied by rule "only-docs" \(harness\.md:4\): no rule allows it \(otherwise: deny\)/);
  assert.equal(p.has('src/b'), false);
  assert.equal(p.call('read', { path: 'src/a' }).status, 0);
});

test('rules hold again when a hook has changed the call', t => {
  const change = to => hook('tool.pre', `return modify(dict(payload, args = {"command": ${JSON.stringify(to)}}))`);
  const denied = caller(t, { 'harness.md': settings([noPush]), '.harness/hooks/h.md': change('git push --force') });
  const r = denied.call('bash', { command: 'echo fine' });
  assert.deepEqual([r.error.step, r.error.rule], ['policy', 'no-push']);
  const asked = caller(t, { 'harness.md': settings([askMake]), '.harness/hooks/h.md': change('touch made') });
  assert.equal(asked.call('bash', { command: 'echo fine' }).error.rule, 'ask-touch');
  assert.equal(asked.has('made'), false);
  const eased = caller(t, { 'harness.md': settings([askMake]), '.harness/hooks/h.md': change('echo fine') });
  assert.equal(eased.call('bash', { command: 'touch made' }).value.stdout, 'fine\n');
});

// A tool may declare the kind of its calls; then rules about commands, paths and addresses apply to it.
const declared = {
  '.harness/tools/run_it.md': tool('return exec.run("bash", ["-c", args["command"]])["stdout"]', 'kind: shell\nparameters: { command: { type: string, required: true } }'),
  '.harness/tools/put_it.md': tool('fs.write(args["path"], "x")\nreturn "put"', 'kind: file.write\nparameters: { path: { type: string, required: true } }'),
  '.harness/tools/get_it.md': tool('return "got " + args["url"]', 'kind: net.fetch\nparameters: { url: { type: string, required: true } }'),
  '.harness/tools/push_it.md': '---\nkind: shell\nparameters: { how: { type: string, enum: [--force, --dry-run], required: true } }\ncommand: echo git; git push {{how}}\n---\nPushes.\n',
  '.harness/tools/plain.md': tool('return args["command"]', 'parameters: { command: { type: string, required: true } }'),
};
test('declared kinds: Starlark and command tools', t => {
  const p = caller(t, { 'harness.md': settings([noPush, noSecrets, '{ name: no-bad, host: ["*.bad.org"], decide: deny }']), ...declared });
  assert.equal(p.call('run_it', { command: 'git push --force' }).error.rule, 'no-push');
  assert.equal(p.call('run_it', { command: 'echo ok' }).value, 'ok\n');
  assert.equal(p.call('put_it', { path: 'a/.env' }).error.rule, 'no-secrets');
  assert.equal(p.call('put_it', { path: 'b' }).value, 'put');
  assert.equal(p.call('get_it', { url: 'https://a.bad.org/x' }).error.rule, 'no-bad');
  assert.equal(p.call('get_it', { url: 'https://good.org/x' }).status, 0);
  assert.equal(p.call('push_it', { how: '--force' }).error.rule, 'no-push');
  assert.notEqual(p.call('push_it', { how: '--dry-run' }).error?.rule, 'no-push');
  assert.equal(p.call('plain', { command: 'git push --force' }).status, 0, 'a tool without a kind has no command');
});

test('hooks see the kind of a call', t => {
  const p = caller(t, { 'harness.md': settings([]).replace('rules:\n', ''), ...declared, 'a.txt': 'a',
    '.harness/hooks/pre.md': hook('tool.pre', 'log.info("pre " + payload["name"] + " " + repr(payload["kind"]))\nreturn allow()'),
    '.harness/hooks/post.md': hook('tool.post', 'log.info("post " + repr(payload["kind"]))\nreturn allow()'),
    '.harness/hooks/only.md': hook('tool.pre', 'return block("no commands")', 'when: payload["kind"] == "shell"') });
  const kinds = (name, args) => { p.call(name, args); return p.events('log').map(e => e.data.message).filter(Boolean); };
  const seen = name => args => kinds(name, args);
  assert.deepEqual(seen('read')({ path: 'a.txt' }), ['pre read "file.read"', 'post "file.read"']);
  assert.deepEqual(seen('grep')({ pattern: 'a' }), ['pre grep "search"', 'post "search"']);
  assert.deepEqual(seen('put_it')({ path: 'b' }), ['pre put_it "file.write"', 'post "file.write"']);
  assert.deepEqual(seen('plain')({ command: 'x' }), ['pre plain ""', 'post ""']);
  assert.equal(p.call('bash', { command: 'id' }).error.rule, 'only');
  assert.equal(p.call('run_it', { command: 'id' }).error.rule, 'only');
  assert.equal(p.call('push_it', { how: '--force' }).error.rule, 'only');
});

test('a guard may take a command apart', t => {
  const p = caller(t, { 'harness.md': '---\nbuiltin_tools: [bash]\n---\n', '.harness/hooks/h.md': hook('tool.pre',
    'for c in shell.parse(payload["args"]["command"]):\n    if not c["exact"] or c["program"] == "id":\n        return block("not that")\nreturn allow()') });
  assert.equal(p.call('bash', { command: 'echo $(env id)' }).error.rule, 'h');
  assert.equal(p.call('bash', { command: '$x' }).error.rule, 'h');
  assert.equal(p.call('bash', { command: 'echo "' }).error.rule, 'h');
  assert.equal(p.call('bash', { command: 'echo fine | cat' }).status, 0);
});

test('rules of a bundle hold, whatever its condition', t => {
  const p = caller(t, { 'harness.md': '---\nbuiltin_tools: [bash]\n---\n', '.harness/plugins/p.md': `---\ncondition: "False"\nrules:\n  - ${noPush}\n---\n` });
  assert.match(p.call('bash', { command: 'git push --force' }).value.error, /rule "no-push" \(\.harness\/plugins\/p\.md:4\)/);
});

// Calls the tool of the message; a sub-agent has the same model.
const model = `
def reply(messages, tools):
    last = messages[-1]
    if last["role"] == "tool":
        return last["content"]
    words = last["content"].split(" ", 1)
    return {"tool_calls": [{"name": words[0], "arguments": words[1]}]}
`;
const bash = command => `bash ${JSON.stringify({ command })}`;

test('doors: a model, a sub-agent, a script', async t => {
  const head = `builtin_tools: all\nmeta: { enabled: true }\nrules:\n  - ${noPush}\n`;
  const p = talker(t, { ...scripted(model, head), '.harness/agents/helper.md': '---\ndescription: helps\n---\nHelp.\n',
    '.harness/tools/outer.md': tool('return meta.call_tool("bash", {"command": "git push --force"})') });
  const refused = /denied by rule [\\"]+no-push[\\"]+ \(harness\.md/;
  const said = async text => { const r = await p.say(text); return r.reply?.response ?? r.stdout + r.stderr; };
  assert.match(await said(bash('git push --force')), refused);
  assert.match(await said(`delegate ${JSON.stringify({ agent: 'helper', task: bash('git push --force') })}`), refused);
  assert.match(await said('outer {}'), refused);
});

describe('doors: MCP clients', () => {
  for (const name of ['SDK 1.x, stdio', 'SDK 2.x, stateless, http'])
    test(name, async t => {
      const dir = project(t, { 'harness.md': settings([noPush, askMake]) });
      const { client } = await connect(t, dir, ways[name]);
      const call = (tool, args) => client.callTool({ name: tool, arguments: args });
      const result = await call('bash', { command: 'git push --force' });
      assert.equal(result.isError, true);
      assert.match(result.content[0].text, /denied by rule .*no-push.* \(harness\.md:4\)/);
      assert.equal((await call('bash', { command: 'touch made' })).isError, true);
    });
});

test('tools of a server: by name, by alias, by kind', async t => {
  const entry = 'mcp_servers:\n  small:\n    command: python3\n    args: [server.py, honest]\n    env: {LOG: calls.log}\n';
  const server = readFileSync(join(root, 'tests/e2e/fixtures/mcp/server.py'), 'utf8');
  const ruled = rule => caller(t, { 'harness.md': settings([rule], entry), 'server.py': server });
  const refused = (p, name, rule) => assert.equal(p.call(name, { text: 'hi' }, ['--yes']).error?.rule, rule);
  for (const what of ['tool: "mcp:small:*"', 'tool: mcp__small__echo', 'kind: mcp']) {
    const p = ruled(`{ name: r, ${what}, decide: deny }`);
    refused(p, 'mcp:small:echo', 'r');
    refused(p, 'mcp__small__echo', 'r');
    assert.ok(!p.has('calls.log') || !p.text('calls.log').includes('call'));
  }
  refused(ruled('{ name: r, tool: "mcp:other:*", decide: allow, otherwise: deny }'), 'mcp:small:echo', 'r');
  const asked = ruled('{ name: r, tool: "mcp:small:*", decide: ask }');
  assert.equal(asked.call('mcp:small:echo', { text: 'hi' }).error.rule, 'r');
  assert.equal(asked.call('mcp:small:echo', { text: 'hi' }, ['--yes']).value, 'echo: hi');
});

test('harness test names the rule', t => {
  const file = (command, by) => `call: { tool: bash, args: { command: ${JSON.stringify(command)} } }\nblocked_by: ${by}\n`;
  const dir = project(t, { 'harness.md': settings([noPush]), '.harness/tests/good.yaml': file('git push --force', 'no-push'),
    '.harness/tests/bad.yaml': file('git push --force', 'other') });
  const r = run(['-C', dir, 'test', '--json']);
  const { tests } = JSON.parse(r.stdout);
  assert.deepEqual(tests.map(x => [x.name, x.ok ?? x.passed]).sort(), [['bad', false], ['good', true]]);
  assert.match(r.stdout, /no-push/);
});

test('--trace shows the rule', t => {
  const p = caller(t, { 'harness.md': settings([askMake]) });
  const r = p.run(['call', 'bash', '{"command":"touch made"}', '--yes', '--trace']);
  assert.equal(r.status, 0);
  assert.match(r.stderr, /policy.*ask by rule "ask-touch" \(harness\.md:4\): it makes files/);
});

test('paths of a workspace elsewhere are compared with both folders', t => {
  const p = caller(t, { 'harness.md': settings(['{ name: a, file: ["private/**"], decide: deny }', '{ name: b, file: ["app/hidden/**"], decide: deny }'], 'workspace: app\n'),
    'app/private/x': 'x', 'app/hidden/x': 'x', 'app/open/x': 'x' });
  assert.equal(p.call('read', { path: 'private/x' }).error.rule, 'a');
  assert.equal(p.call('read', { path: 'hidden/x' }).error.rule, 'b');
  assert.equal(p.call('read', { path: 'open/x' }).status, 0);
  mkdirSync(join(p.dir, 'app/private/deep'));
  assert.equal(p.call('listdir', { path: 'private/deep' }).error.rule, 'a');
});

test('the table in docs/reference/rules.md is current', () => {
  const { is, should } = pages();
  assert.equal(is, should, 'run: node tests/rules/table.mjs');
});
