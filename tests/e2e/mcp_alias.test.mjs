// Aliases of MCP tools (mcp__SERVER__TOOL) that two servers could have: no tool replaces another.
import assert from 'node:assert/strict';
import test from 'node:test';
import { caller, tool } from './calls.mjs';
import { Peer } from './mcp_peer.mjs';

// Offers the tools named in its arguments; each answers with its name.
const server = `import json, sys, time
me, names = sys.argv[1], sys.argv[2:]
if "slow" in names:
    time.sleep(0.3); names.remove("slow")
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    p = m.get("params") or {}
    if m["method"] == "initialize":
        r = {"protocolVersion": p["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": me, "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": n, "description": me + " has " + n, "inputSchema": {"type": "object"}} for n in names]}
    elif m["method"] == "tools/call":
        r = {"content": [{"type": "text", "text": me + ":" + p["name"]}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": "no"}}), flush=True); continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`;

function served(t, servers, { head = '', files = {} } = {}) {
  const entries = Object.entries(servers).map(([name, tools]) => `  ${name}: {command: python3, args: ${JSON.stringify(['server.py', name, ...tools])}}\n`).join('');
  return caller(t, { 'harness.md': `---\n${head}mcp_servers:\n${entries}---\n`, 'server.py': server, ...files });
}
const listed = p => JSON.parse(p.run(['tools', '--json', '--live']).stdout);
const said = (p, name) => { const r = p.call(name, {}); return r.is_error ? r.call.error.message : r.value; };

test('two tools with the same alias are both available, whichever server answers first; the alias is an error that names both', t => {
  for (const slow of ['a', 'a__b', '']) {
    const p = served(t, { a: ['b__c', ...(slow === 'a' ? ['slow'] : [])], a__b: ['c', ...(slow === 'a__b' ? ['slow'] : [])] });
    assert.deepEqual(listed(p).map(x => x.name).sort(), ['mcp:a:b__c', 'mcp:a__b:c'], `slow: ${slow}`);
    assert.equal(said(p, 'mcp:a:b__c'), 'a:b__c');
    assert.equal(said(p, 'mcp:a__b:c'), 'a__b:c');
    const r = p.call('mcp__a__b__c', {});
    assert.deepEqual([r.status, r.call.error.step, r.call.error.rule], [1, 'resolve', 'ambiguous_tool']);
    assert.match(r.call.error.message, /^tool "mcp__a__b__c" is ambiguous: .*("mcp:a:b__c" or "mcp:a__b:c"|"mcp:a__b:c" or "mcp:a:b__c")/);
  }
});

test('a model gets a separate alias for each', t => {
  const p = served(t, { a: ['b__c', 'plain'], a__b: ['c'], other: ['b__c'] });
  const aliases = Object.fromEntries(listed(p).map(x => [x.name, x.aliases]));
  assert.match(aliases['mcp:a:b__c'][0], /^mcp__a__b__c_[0-9a-f]{16}$/);
  assert.match(aliases['mcp:a__b:c'][0], /^mcp__a__b__c_[0-9a-f]{16}$/);
  assert.notEqual(aliases['mcp:a:b__c'][0], aliases['mcp:a__b:c'][0]);
  assert.deepEqual([aliases['mcp:a:plain'], aliases['mcp:other:b__c']], [['mcp__a__plain'], ['mcp__other__b__c']]);
  for (const [name, [alias]] of Object.entries(aliases)) assert.equal(said(p, alias), name.slice(4));
});

test('the alias of a server that is down is not reused', t => {
  const p = caller(t, { 'server.py': server,
    'harness.md': '---\nmcp_servers:\n  a: {command: python3, args: [server.py, a, b__c]}\n  a__b: {command: /bin/false}\n---\n' });
  assert.match(said(p, 'mcp__a__b__c'), /^tool "mcp__a__b__c" is ambiguous: .*"mcp:a:b__c"/);
  assert.equal(said(p, 'mcp:a:b__c'), 'a:b__c');
});

test('a name that imitates another tool’s alias replaces nothing', t => {
  const [honest] = listed(served(t, { a__b: ['c'], a: [] })).filter(x => x.name === 'mcp:a__b:c');
  const imitation = honest.aliases[0].slice('mcp__a__'.length);
  const p = served(t, { a: [imitation], a__b: ['c'] });
  assert.equal(said(p, honest.aliases[0]), 'a__b:c');
  assert.equal(said(p, `mcp:a:${imitation}`), `a:${imitation}`);
});

test('an underscore at the end of a server’s name, and long names', t => {
  const p = served(t, { x: ['_y'], x_: ['y'] });
  assert.deepEqual([said(p, 'mcp:x:_y'), said(p, 'mcp:x_:y')], ['x:_y', 'x_:y']);
  assert.match(said(p, 'mcp__x___y'), /is ambiguous/);
  const long = 's'.repeat(58), q = served(t, { [`${long}1`]: ['find'], [`${long}2`]: ['find'] });
  const [one, two] = listed(q);
  assert.ok(one.aliases[0] !== two.aliases[0] && one.aliases[0].length <= 64 && two.aliases[0].length <= 64);
  assert.deepEqual([said(q, one.aliases[0]), said(q, two.aliases[0])], [one.name.slice(4), two.name.slice(4)]);
});

test('a rule that denies the alias denies both; one that allows it allows neither', t => {
  const denied = served(t, { a: ['b__c', 'd'], a__b: ['c'] }, { head: 'tools_policy: {deny: [mcp__a__b__c]}\n' });
  for (const name of ['mcp:a:b__c', 'mcp:a__b:c']) assert.match(said(denied, name), /denied by tools_policy\.deny/, name);
  assert.equal(said(denied, 'mcp:a:d'), 'a:d');
  const allowed = served(t, { a: ['b__c'], a__b: ['c'] }, { head: 'tools_policy: {allow: [mcp__a__b__c]}\n' });
  for (const name of ['mcp:a:b__c', 'mcp:a__b:c']) assert.match(said(allowed, name), /not in tools_policy\.allow/, name);
});

test('a tool of the project with a server’s alias is an error when it is loaded', t => {
  const files = { '.harness/tools/mcp__a__find.md': tool('return 1'), '.harness/tools/other.md': tool('return 1', 'aliases: [mcp__a__see]') };
  const r = served(t, { a: ['find', 'see'] }, { files }).run(['validate']);
  assert.equal(r.status, 1);
  assert.match(r.stderr, /mcp__a__find\.md:1:1: tool "mcp__a__find" has the name of a tool of MCP server "a"/);
  assert.match(r.stderr, /other\.md:1:1: tool "mcp__a__see" has the name of a tool of MCP server "a"/);
  assert.equal(served(t, { b: ['find'] }, { files }).run(['validate']).status, 0);
});

test('a script cannot register a tool with a server’s alias', t => {
  const make = tool('meta.tool_register(name="mcp__a__find", description="x", parameters={}, script="def run(args):\\n    return \\"mine\\"\\n")\nreturn meta.call_tool("mcp__a__find", {})');
  const p = served(t, { a: ['find'] }, { head: 'meta: {enabled: true}\n', files: { '.harness/tools/make.md': make } });
  const r = p.call('make', {}, ['--yes']);
  assert.match(r.call.error.message, /tool "mcp__a__find" has the name of a tool of MCP server "a"/);
});

test('clients of mcp serve see both tools under separate names', async t => {
  const p = served(t, { a: ['b__c'], a__b: ['c'] });
  const client = new Peer(t, p.dir, { args: ['--yes'] });
  await client.hello();
  const { result } = await client.request('tools/list', {});
  const names = result.tools.map(x => x.name);
  assert.equal(new Set(names).size, 2);
  const answers = [];
  for (const name of names) answers.push((await client.request('tools/call', { name, arguments: {} })).result.content[0].text);
  assert.deepEqual(answers.sort(), ['a:b__c', 'a__b:c']);
});

test('a tool whose name has invalid characters is skipped, with the rule', t => {
  const odd = ['a*', 'a?', '[a]', '{a,b}', 'a|b', 'a;b', '$(a)', 'a,b', 'a@b', 'a~b', '!a', 'a=b', '%41'], fine = ['a.b', 'a/b', 'a:b', 'a-b', 'A_9'];
  const p = served(t, { s: [...odd, ...fine] });
  const r = p.run(['tools', '--live', '--json']);
  assert.deepEqual(JSON.parse(r.stdout).map(x => x.name).sort(), fine.map(name => `mcp:s:${name}`).sort());
  for (const name of odd) assert.ok(r.stderr.includes(`tool "${name}" is skipped: a tool's name is 1 to 128 of A-Z a-z 0-9 _ - . / :`), name + r.stderr);
});
