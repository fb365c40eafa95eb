// Known secrets are removed from what an MCP server declares about itself and its tools before that is pinned, shown, sent to a model or served to
// clients.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { harness, server as web, surfaces, talker } from './agents.mjs';
import { Peer } from './mcp_peer.mjs';

const canaries = { variable: 'var/Qm7 tX2+vB9zKp4', literal: 'lit-Hs5wNc8rJd3yLf6g', secret: 'sec-Zb1kVt7pRx4mWq9e' };
const forms = value => [value, Buffer.from(value).toString('base64').replace(/=+$/, ''), Buffer.from(value).toString('hex'), Buffer.from(value).toString('hex').toUpperCase(),
  encodeURIComponent(value), new URLSearchParams({ v: value }).toString().slice(2)];
const all = Object.values(canaries).flatMap(forms);

// A server that repeats everything it was started with in every field of its definitions, in several encodings.
const parrot = `
import json, os, sys
words = json.loads(os.environ['WORDS_FILE'] and open(os.environ['WORDS_FILE']).read())
text = 'knows ' + ' | '.join(words)
tools = [
  {'name': 'plain', 'title': text, 'description': text, 'annotations': {'title': text, 'readOnlyHint': True},
   'inputSchema': {'type': 'object', 'description': text, 'properties': {'a': {'type': 'string', 'description': text, 'default': text, 'enum': [text, 'x']}, words[0]: {'type': 'string'}}},
   'outputSchema': {'type': 'object', 'properties': {'b': {'type': 'string', 'description': text}}}},
  {'name': 'named-' + words[6], 'description': 'x', 'inputSchema': {'type': 'object'}},
]
for line in sys.stdin:
    m = json.loads(line)
    if 'id' not in m: continue
    if m['method'] == 'initialize' and os.environ.get('BROKEN'):
        print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'error': {'code': -32000, 'message': text}}), flush=True)
        continue
    if m['method'] == 'initialize':
        r = {'protocolVersion': m['params']['protocolVersion'], 'capabilities': {'tools': {}}, 'serverInfo': {'name': text, 'version': text}, 'instructions': text}
    elif m['method'] == 'tools/list': r = {'tools': tools}
    elif m['method'] == 'tools/call': r = {'content': [{'type': 'text', 'text': text}], 'structuredContent': {'b': text}}
    else: r = {}
    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)
`;

const everything = dir => (existsSync(dir) ? readdirSync(dir, { recursive: true, withFileTypes: true }) : []).filter(e => e.isFile() && !e.name.startsWith('snapshot-'))      // a snapshot is a copy of harness.md
  .map(e => [e.name, readFileSync(join(e.parentPath, e.name)).toString('latin1')]);
function clean(...places) {
  for (const [place, text] of places)
    for (const form of all)
      assert.ok(!text.includes(form), `${place} has ${form}: …${text.slice(Math.max(0, text.indexOf(form) - 60), text.indexOf(form) + 40)}…`);
}
const out = r => r.stdout + r.stderr;

const files = (model, more = '') => ({
  'harness.md': harness(model, `secrets: { TOKEN: { env: THE_SECRET } }\nmcp_servers:\n  parrot:\n    command: python3\n    args: [parrot.py]\n    env:\n      GIVEN: "\${THE_VARIABLE}"\n      API_TOKEN: ${canaries.literal}\n      WORDS_FILE: words.json\n${more}`),
  'parrot.py': parrot, 'words.json': JSON.stringify(all),
});
const env = { OPENAI_API_KEY: 'sk-unused-key', THE_VARIABLE: canaries.variable, THE_SECRET: canaries.secret };

test('definitions of a server are redacted wherever they appear', async t => {
  const sse = parts => parts.map(p => `data: ${typeof p === 'string' ? p : JSON.stringify(p)}\n\n`).join('');
  const s = await web(t, (request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(sse([{ choices: [{ delta: { content: 'done' }, finish_reason: 'stop' }] }, '[DONE]']));
  });
  const p = talker(t, files(surfaces.openai(s.url)), { env });
  for (const args of [['tools', '--live'], ['tools', '--live', '--json'], ['tools', '--json'], ['tools', '--format', 'mcp'], ['tools', '--format', 'openai'], ['tools', 'mcp:parrot:plain'],
    ['mcp', 'tools', 'parrot'], ['mcp', 'tools', 'parrot', '--json'], ['mcp', 'list', '--json'], ['mcp', 'request', 'parrot', 'tools/list'], ['inspect', '--json'], ['mcp', 'call', 'parrot', 'plain', '{}', '--json']]) {
    const r = await p.harness([...args, '-v']);
    clean([args.join(' '), out(r)]);
    if (args[0] === 'tools' && args.includes('--json')) assert.match(r.stdout, /knows \[redacted\]/, args.join(' '));
  }
  const said = await p.say('go', ['-v']);
  assert.equal(said.reply?.status, 'completed', out(said));
  assert.match(JSON.stringify(s.requests[0].body), /mcp__parrot__plain/);
  clean(['run', out(said)], ['the request to the model', JSON.stringify(s.requests.map(r => r.body))], ...everything(p.state));
  assert.ok(everything(p.state).some(([, text]) => text.includes('knows [redacted]')), 'the pins are in the state');

  const peer = new Peer(t, p.dir, { env });
  await peer.hello();
  const listed = await peer.request('tools/list', {});
  assert.ok(listed.result.tools.some(x => x.name === 'mcp__parrot__plain'), JSON.stringify(listed));
  const called = await peer.request('tools/call', { name: 'mcp__parrot__plain', arguments: {} });
  await peer.end();
  clean(['mcp serve', JSON.stringify([listed, called])], ['its log', peer.errors]);
});

test('a pin with a secret that became known later is shown without it, and a failing server does not quote one', async t => {
  const p = talker(t, files({ provider: 'script', script: 'm.star' }), { env });
  p.add({ 'm.star': 'def complete(request):\n    return "x"\n' });
  assert.equal((await p.harness(['tools', '--live'], { env: { ...env, THE_SECRET: 'another-value-0815' } })).status, 0);
  const late = await p.harness(['tools', '--json']);
  clean(['tools', out(late)]);
  assert.match(late.stdout, /knows \[redacted\]/);
  p.add(files({ provider: 'script', script: 'm.star' }, '      BROKEN: "1"\n'));
  for (const args of [['mcp', 'tools', 'parrot'], ['tools', '--live'], ['mcp', 'call', 'parrot', 'plain', '{}']]) {
    const r = await p.harness([...args, '-v']);
    assert.match(out(r), /knows \[redacted\]/, args.join(' ') + out(r));
    clean([args.join(' '), out(r)]);
  }
});

test('a server at a URL that repeats its headers, of the project and of the command line', async t => {
  const s = await web(t, (request, response, body) => {
    const m = body, got = `knows ${request.headers.authorization} ${forms(String(request.headers.authorization).split(' ').at(-1)).join(' ')}`;
    if (!m || !('id' in m)) { response.writeHead(m ? 202 : 405); return response.end(); }
    const results = { initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'h', version: '1' }, instructions: got },
      'tools/list': { tools: [{ name: 'plain', description: got, inputSchema: { type: 'object' } }] }, 'tools/call': { content: [{ type: 'text', text: got }] } };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: m.id, result: results[m.method] ?? {} }));
  });
  const p = talker(t, { 'harness.md': `---\nmcp_servers:\n  web:\n    url: ${s.url}/mcp\n    headers: { Authorization: "Bearer ${canaries.literal}" }\n---\n` }, { env: {} });
  const header = ['--header', `Authorization: Bearer ${canaries.literal}`];
  for (const args of [['tools', '--live', '--json'], ['mcp', 'tools', 'web', '--json'], ['mcp', 'list', '--json'], ['mcp', 'call', 'web', 'plain', '{}'], ['mcp', 'request', 'web', 'tools/list'],
    ['mcp', 'tools', `${s.url}/mcp`, '--json', ...header], ['mcp', 'tools', `${s.url}/mcp`, ...header], ['mcp', 'call', `${s.url}/mcp`, 'plain', '{}', ...header], ['mcp', 'request', `${s.url}/mcp`, 'tools/list', ...header]]) {
    const r = await p.harness(args);
    assert.equal(r.status, 0, out(r));
    assert.match(r.stdout, /knows Bearer \[redacted\]|knows \[redacted\]/, args.join(' '));
    clean([args.join(' '), out(r)]);
  }
  clean(...everything(p.state));
});
