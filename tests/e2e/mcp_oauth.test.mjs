// Tokens for MCP servers behind URLs: through the program, against one small server that is everything at once (MCP server, authorization
// server, identity of a client) and a browser that goes where it is sent.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, project, root, start } from './harness.mjs';

const BROWSER = `${process.execPath} ${join(root, 'tests/mcp-conformance/browser.mjs')}`;

// An MCP server of 2025-11-25 that wants the token "access-N" of the last grant; `seen` counts what was asked of it.
async function world(t, { onToken } = {}) {
  const seen = { tokens: [], visits: 0, registrations: 0, authorizations: [] };
  const server = createServer(async (request, response) => {
    const base = `http://127.0.0.1:${server.address().port}`;
    let body = '';
    for await (const piece of request) body += piece;
    const send = (status, value, headers = {}) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(value && JSON.stringify(value));
    const { pathname, searchParams } = new URL(request.url, base);
    if (pathname === '/.well-known/oauth-protected-resource/mcp') return send(200, { resource: `${base}/mcp`, authorization_servers: [base] });
    if (pathname === '/.well-known/oauth-authorization-server')
      return send(200, { issuer: base, authorization_endpoint: `${base}/authorize`, token_endpoint: `${base}/token`, registration_endpoint: `${base}/register`,
                         code_challenge_methods_supported: ['S256'], authorization_response_iss_parameter_supported: true });
    if (pathname === '/register') return seen.registrations++, send(201, { client_id: 'registered' });
    if (pathname === '/authorize') {
      seen.visits++;
      const to = new URL(searchParams.get('redirect_uri'));
      for (const [name, value] of Object.entries({ code: 'the-code', state: searchParams.get('state'), iss: base })) to.searchParams.set(name, value);
      return response.writeHead(302, { location: to.href }).end();
    }
    if (pathname === '/token') {
      seen.tokens.push(Object.fromEntries(new URLSearchParams(body)));
      const bad = onToken?.(seen);
      if (bad) return send(400, bad);
      return send(200, { access_token: `access-token-${seen.tokens.length}`, token_type: 'Bearer', expires_in: 3600, refresh_token: `refresh-token-${seen.tokens.length}` });
    }
    if (pathname !== '/mcp' || request.method !== 'POST') return send(404);
    seen.authorizations.push(request.headers.authorization);
    if (request.headers.authorization !== `Bearer access-token-${seen.tokens.length}`) return send(401, { error: 'invalid_token' }, { 'www-authenticate': 'Bearer scope="all"' });
    const { id, method, params } = JSON.parse(body);
    if (id === undefined) return send(202);
    const results = {
      initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'world', version: '1' } },
      'tools/list': { tools: [{ name: 'echo', description: 'Says it again.', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }] },
      'tools/call': { content: [{ type: 'text', text: `echo ${params?.arguments?.text}` }] },
    };
    return send(200, results[method] ? { jsonrpc: '2.0', id, result: results[method] } : { jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } });
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  t.after(() => { server.closeAllConnections(); server.close(); });
  return { seen, url: `http://127.0.0.1:${server.address().port}/mcp`, base: `http://127.0.0.1:${server.address().port}` };
}

test('a person authorizes once, later programs use the token', async t => {
  const { url, seen } = await world(t);
  const dir = folder(t);
  const env = { BROWSER, HARNESS_STATE: join(dir, 'state.db') };
  const first = await start(['-C', dir, 'mcp', 'call', url, 'echo', '{"text": "hi"}'], { env });
  assert.equal(first.status, 0, first.stderr);
  assert.match(first.stdout, /echo hi/);
  assert.match(first.stderr, /open this address in a browser/);
  const second = await start(['-C', dir, 'mcp', 'tools', url], { env });
  assert.equal(second.status, 0, second.stderr);
  assert.match(second.stdout, /echo/);
  assert.equal(second.stderr, '');
  assert.deepEqual([seen.visits, seen.registrations, seen.tokens.length], [1, 1, 1]);
  assert.equal(seen.tokens[0].resource, url);
  for (const name of readdirSync(dir)) assert.equal(statSync(join(dir, name)).mode & 0o077, 0, name);
  for (const { stdout, stderr } of [first, second]) assert.doesNotMatch(stdout + stderr, /access-token|refresh-token|the-code/);
});

test('a token that the server no longer takes is refreshed without the person', async t => {
  const { url, seen } = await world(t);
  const dir = folder(t);
  const env = { BROWSER, HARNESS_STATE: join(dir, 'state.db') };
  assert.equal((await start(['-C', dir, 'mcp', 'tools', url], { env })).status, 0);
  seen.tokens.push({});                                  // the server has moved on to "access-token-2"
  assert.equal((await start(['-C', dir, 'mcp', 'tools', url], { env })).status, 0);
  assert.equal(seen.visits, 1);
  assert.deepEqual([seen.tokens[2].grant_type, seen.tokens[2].refresh_token], ['refresh_token', 'refresh-token-1']);
});

test('--oauth takes JSON or a file; what is wrong with it is said', async t => {
  const { url, seen } = await world(t);
  const dir = folder(t);
  const env = { HARNESS_STATE: join(dir, 'state.db'), THE_SECRET: 'hidden-secret' };
  const settings = JSON.stringify({ grant: 'client_credentials', client_id: 'ci', client_secret: '${THE_SECRET}', token_auth: 'client_secret_post' });
  writeFileSync(join(dir, 'oauth.json'), settings);
  assert.equal((await start(['-C', dir, 'mcp', 'tools', url, '--oauth', settings], { env })).status, 0);
  assert.equal(seen.tokens[0].client_secret, 'hidden-secret');
  const fresh = { ...env, HARNESS_STATE: join(dir, 'other.db') };
  assert.equal((await start(['mcp', 'tools', url, '--oauth', join(dir, 'oauth.json')], { env: fresh, cwd: dir })).status, 0);
  assert.equal(seen.tokens[1].grant_type, 'client_credentials');
  const cases = [['{', /--oauth: json/], ['{"grant":"x"}', /--oauth: grant: expected/], ['{"clientid":"x"}', /--oauth: unknown key "clientid"/],
                 [join(dir, 'absent.json'), /--oauth: .*absent\.json/], ['{"client_id":"${NOT_SET_AT_ALL}"}', /NOT_SET_AT_ALL/]];
  for (const [given, expected] of cases) {
    const { status, stderr } = await start(['-C', dir, 'mcp', 'tools', url, '--oauth', given], { env });
    assert.notEqual(status, 0, given);
    assert.match(stderr, expected);
  }
  assert.equal(seen.visits, 0);
});

test('a server of the project: settings, and no secret in what is said', async t => {
  const echo = seen => ({ error: 'invalid_client', error_description: `wrong secret ${seen.tokens.at(-1).client_secret}` });
  const { url, seen } = await world(t, { onToken: echo });
  const dir = project(t, { 'harness.md': `---\nmcp_servers:\n  web:\n    url: ${url}\n    oauth: {grant: client_credentials, client_id: ci, client_secret: "\${THE_SECRET}", token_auth: client_secret_post}\n---\n` });
  const env = { HARNESS_STATE: join(folder(t), 'state.db'), THE_SECRET: 'hidden-secret' };
  const { status, stdout, stderr } = await start(['-C', dir, 'mcp', 'tools', 'web'], { env });
  assert.notEqual(status, 0);
  assert.match(stdout + stderr, /invalid_client/);
  assert.doesNotMatch(stdout + stderr, /hidden-secret/);
  assert.equal(seen.tokens.length, 1);
  const validated = await start(['-C', dir, 'validate'], { env });
  assert.equal(validated.status, 0, validated.stderr);
});
