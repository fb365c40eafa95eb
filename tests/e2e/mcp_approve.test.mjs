// An approval in one terminal applies to processes running in others. The server below takes the description of its tool from
// the file `says`; it has one more tool, touch, after which its list has changed.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { tool } from './calls.mjs';
import { add, folder, project, start } from './harness.mjs';
import { Peer } from './mcp_peer.mjs';
import { talker } from './agents.mjs';

const server = `import json, sys
def send(m):
    sys.stdout.write(json.dumps({'jsonrpc': '2.0', **m}) + '\\n')
    sys.stdout.flush()
for line in sys.stdin:
    m = json.loads(line)
    if 'id' not in m or 'method' not in m:
        continue
    says = open('says').read()
    schema = {'type': 'object', 'properties': {'to': {'type': 'string'}}, 'required': ['to'], 'additionalProperties': False} if 'to' in says else {'type': 'object', 'additionalProperties': False}
    if m['method'] == 'initialize':
        send({'id': m['id'], 'result': {'protocolVersion': m['params']['protocolVersion'], 'capabilities': {'tools': {'listChanged': True}}, 'serverInfo': {'name': 's', 'version': '1'}}})
    elif m['method'] == 'tools/list':
        send({'id': m['id'], 'result': {'tools': [{'name': 'work', 'description': says, 'inputSchema': schema}, {'name': 'touch', 'inputSchema': {'type': 'object'}}]}})
    elif m['method'] == 'tools/call':
        if m['params']['name'] == 'touch':
            send({'method': 'notifications/tools/list_changed'})
        send({'id': m['id'], 'result': {'content': [{'type': 'text', 'text': m['params']['name'] + ' as ' + says}]}})
    else:
        send({'id': m['id'], 'error': {'code': -32601, 'message': 'no'}})
`;
const entry = 'mcp_servers:\n  s: { command: python3, args: [server.py] }\n';
const yes = { action: 'accept', content: { answer: 'yes' } };
const text = ({ result, error }) => result?.content?.[0]?.text ?? error?.message;

// A running server of this project, and other processes with the same state.
async function serving(t, { head = '', answer } = {}) {
  const dir = project(t, { 'harness.md': `---\n${head}${entry}---\n`, 'server.py': server, says: 'first' });
  const peer = new Peer(t, dir, { answer });
  await peer.hello(answer ? { elicitation: {} } : {});
  return {
    accept: () => peer.send({ id: peer.asked.findLast(({ params }) => params.message.includes('mcp:s:work')).id, result: yes }),
    says: words => add(dir, { says: words }),
    call: async (name, args = {}) => text(await peer.request('tools/call', { name: `mcp:s:${name}`, arguments: args })),
    tool: async () => (await peer.request('tools/list')).result.tools.find(({ name }) => name.endsWith('work')),
    other: async (...args) => {
      const out = await start(['-C', dir, ...args], { env: { HARNESS_STATE: dir + '.state/state.db' } });
      assert.equal(out.status, 0, out.stderr);
      return out.stdout;
    },
  };
}

describe('a tool that is held', { concurrency: 4 }, () => {
  const held = /changed since it was approved/;

  test('can be called in a running server as soon as it is approved, with its new definition', async t => {
    const p = await serving(t);
    assert.equal(await p.call('work'), 'work as first');
    p.says('second, to somebody');
    await p.call('touch');
    assert.match(await p.call('work'), held);
    assert.match(await p.other('mcp', 'approve', 's', '--yes'), /\+ {2}"description": "second, to somebody"/);
    assert.match(await p.call('work'), /missing.*to|to.*required/i);
    assert.equal(await p.call('work', { to: 'Ann' }), 'work as second, to somebody');
  });

  test('is listed with its new definition once approved', async t => {
    const p = await serving(t);
    p.says('second, to somebody');
    await p.call('touch');
    assert.equal((await p.tool()).description, 'first');
    await p.other('mcp', 'approve', 's', '--yes');
    const { description, inputSchema } = await p.tool();
    assert.deepEqual([description, inputSchema.required], ['second, to somebody', ['to']]);
  });

  test('stays held when it has changed again, or another project approves', async t => {
    const p = await serving(t), q = await serving(t);
    for (const one of [p, q]) one.says('second'), await one.call('touch');
    await q.other('mcp', 'approve', 's', '--yes');
    assert.match(await p.call('work'), held);
    p.says('third');
    await p.other('mcp', 'approve', 's', '--yes');
    await p.call('touch');
    assert.match(await p.call('work'), held);
    assert.match(await p.other('mcp', 'approve', 's', '--yes'), /-  "description": "second"[^]*\+ {2}"description": "third"/);
    assert.equal(await p.call('work'), 'work as third');
  });

  test('stays approved whatever the running server stores later', async t => {
    const p = await serving(t);
    p.says('second');
    await p.call('touch');
    await p.other('mcp', 'approve', 's', '--yes');
    await p.call('touch');
    assert.equal(JSON.parse(await p.other('mcp', 'list', '--json'))[0].held, 0);
    assert.equal(await p.call('work'), 'work as second');
    assert.match(await p.other('mcp', 'approve', 's', '--yes'), /nothing to approve/);
  });

  test('refuses a call that was checked against the earlier definition', async t => {
    const asked = [];
    const answer = (method, { message }) => (message.includes('mcp:s:work') ? void asked.push(method) : yes);
    const p = await serving(t, { head: 'limits: { confirm: [mutating] }\n', answer });
    const early = p.call('work');
    while (!asked.length) await new Promise(done => setTimeout(done, 10));
    p.says('second');
    await p.call('touch');
    await p.other('mcp', 'approve', 's', '--yes');
    assert.equal((await p.tool()).description, 'second');
    p.accept();
    assert.match(await early, /work.{1,3} of server s was approved again in the meantime: call it again/);
    const late = p.call('work');
    while (asked.length < 2) await new Promise(done => setTimeout(done, 10));
    p.accept();
    assert.equal(await late, 'work as second');
  });

  test('is available to an agent in its next turn', async t => {
    const model = `def reply(messages, tools):
    results = [m["content"] for m in messages if m["role"] == "tool"]
    steps = ["mcp__s__touch", "wait_for_person", "mcp__s__work"]
    if len(results) < len(steps):
        return {"tool_calls": [{"id": "c%d" % len(results), "name": steps[len(results)], "arguments": {}}]}
    return {"text": json.encode({"results": results, "told": [t["description"] for t in tools if t["name"] == "mcp__s__work"]})}
`;
    const p = talker(t, { 'harness.md': `---\nmodel: { provider: script, name: m, script: model.star }\n${entry}---\n`, 'model.star': model, 'server.py': server, says: 'first',
      '.harness/tools/wait_for_person.md': tool('fs.write("waiting", "")\nfor _ in range(3000):\n    if fs.exists("go"):\n        break\n    sleep(0.01)\nreturn "ok"') });
    assert.equal((await p.harness(['mcp', 'tools', 's'])).status, 0);
    p.add({ says: 'second' });
    const said = p.say('go');
    while (!p.has('waiting')) await new Promise(done => setTimeout(done, 10));
    assert.equal((await p.harness(['mcp', 'approve', 's', '--yes'])).status, 0);
    p.add({ go: '' });
    const { results, told } = JSON.parse((await said).reply.response);
    assert.equal(results[2], 'work as second');
    assert.deepEqual(told, ['second']);
  });
});

test('a server whose project is trusted meanwhile is started by a running process', async t => {
  const mcp = args => ({ '.mcp.json': JSON.stringify({ mcpServers: { s: { command: 'python3', args } } }) });
  const dir = project(t, { 'server.py': server, says: 'first', ...mcp(['server.py']) }), home = folder(t);
  const env = { HARNESS_STATE: dir + '.state/state.db', HARNESS_TRUST: '', XDG_STATE_HOME: home };
  const other = async (...args) => (await start(['-C', dir, ...args], { env })).stdout;
  const agree = async () => other('trust', '--accept', (await other('trust', '--print')).trim());
  await agree();
  assert.match(await other('mcp', 'tools', 's'), /mcp:s:work/);
  add(dir, mcp(['server.py', 'more']));
  const peer = new Peer(t, dir, { env });
  await peer.hello();
  const call = async () => text(await peer.request('tools/call', { name: 'mcp:s:work', arguments: {} }));
  assert.match(await call(), /is not trusted|unknown tool/);
  await agree();
  for (let i = 0; i < 50 && !(await peer.request('tools/list')).result.tools.length; i++) await new Promise(done => setTimeout(done, 20));
  assert.equal(await call(), 'work as first');
});
