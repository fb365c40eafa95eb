// Tokens for MCP servers at URLs: the program against one small server that has all roles (MCP server, authorization
// server, identity of a client) and a browser that follows redirects.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, project, root, start, undo } from './harness.mjs';
import { Peer } from './mcp_peer.mjs';

const BROWSER = `${process.execPath} ${join(root, 'tests/mcp-conformance/browser.mjs')}`;

// An MCP server of 2025-11-25 that requires the token "access-N" of the last grant; `seen` counts the requests.
// `onRevoke(seen, base)`: the status of the response to a revocation; `more(base)`: additional metadata of the authorization server.
async function world(t, { onToken, onRevoke, more = () => ({}) } = {}) {
  const seen = { tokens: [], visits: 0, registrations: 0, authorizations: [], revoked: [] };
  const server = createServer(async (request, response) => {
    const base = `http://127.0.0.1:${server.address().port}`;
    let body = '';
    for await (const piece of request) body += piece;
    const send = (status, value, headers = {}) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(value && JSON.stringify(value));
    const { pathname, searchParams } = new URL(request.url, base);
    if (pathname === '/.well-known/oauth-protected-resource/mcp') return send(200, { resource: `${base}/mcp`, authorization_servers: [base] });
    if (pathname === '/.well-known/oauth-authorization-server')
      return send(200, { issuer: base, authorization_endpoint: `${base}/authorize`, token_endpoint: `${base}/token`, registration_endpoint: `${base}/register`,
                         code_challenge_methods_supported: ['S256'], authorization_response_iss_parameter_supported: true, revocation_endpoint: onRevoke && `${base}/revoke`, ...more(base) });
    if (pathname === '/register') return seen.registrations++, send(201, { client_id: 'registered' });
    if (pathname === '/authorize') {
      seen.visits++;
      const to = new URL(searchParams.get('redirect_uri'));
      for (const [name, value] of Object.entries({ code: 'the-code', state: searchParams.get('state'), iss: base })) to.searchParams.set(name, value);
      return response.writeHead(302, { location: to.href }).end();
    }
    if (pathname === '/revoke') {
      seen.revoked.push({ ...Object.fromEntries(new URLSearchParams(body)), authorization: request.headers.authorization });
      const status = onRevoke(seen);
      return status === 200 ? send(200) : send(status, { error: 'unsupported_token_type', error_description: `not ${seen.revoked.at(-1).token}` });
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
  undo(t, () => { server.closeAllConnections(); server.close(); });
  return { server, seen, url: `http://127.0.0.1:${server.address().port}/mcp`, base: `http://127.0.0.1:${server.address().port}` };
}

test('the user authorizes once, later processes use the token', async t => {
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

test('a user who takes longer than the server may is asked once', async t => {
  const { url, seen } = await world(t);
  const slow = join(folder(t), 'slow.sh');
  writeFileSync(slow, `#!/bin/sh\nsleep 7\nexec ${BROWSER} "$1"\n`, { mode: 0o755 });
  const r = await start(['-C', folder(t), 'mcp', 'tools', url], { env: { BROWSER: slow, HARNESS_STATE: join(folder(t), 'state.db') } });
  assert.equal(r.status, 0, r.stderr);
  assert.equal(r.stderr.match(/open this address/g).length, 1);
  assert.deepEqual([seen.visits, seen.registrations, seen.tokens.length], [1, 1, 1]);
});

test('a token that the server no longer accepts is refreshed without the user', async t => {
  const { url, seen } = await world(t);
  const dir = folder(t);
  const env = { BROWSER, HARNESS_STATE: join(dir, 'state.db') };
  assert.equal((await start(['-C', dir, 'mcp', 'tools', url], { env })).status, 0);
  seen.tokens.push({});                                  // the server now requires "access-token-2"
  assert.equal((await start(['-C', dir, 'mcp', 'tools', url], { env })).status, 0);
  assert.equal(seen.visits, 1);
  assert.deepEqual([seen.tokens[2].grant_type, seen.tokens[2].refresh_token], ['refresh_token', 'refresh-token-1']);
});

test('--oauth takes JSON or a file; mistakes in it are reported', async t => {
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

test('a server of the project: settings, and no secret in messages', async t => {
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

// ---- signing out ----

// Programs of one folder with one state, and the token of this world in it.
async function signedIn(t, options, oauth = '', more = {}) {
  const w = await world(t, options);
  const dir = project(t, { 'harness.md': `---\nmcp_servers:\n  web:\n    url: ${w.url}\n${oauth}---\n` });
  const env = { BROWSER, HARNESS_STATE: join(folder(t), 'state.db'), ...more };
  const harness = async (...args) => start(['-C', dir, ...args], { env });
  const first = await harness('mcp', 'tools', oauth ? 'web' : w.url);          // without a terminal, harness opens a browser only for a URL on the
                                                                               // command line
  assert.equal(first.status, 0, first.stderr);
  return { ...w, dir, env, harness };
}

test('mcp logout revokes the token and deletes it: the user authorizes again', async t => {
  const { harness, url, seen } = await signedIn(t, { onRevoke: () => 200 });
  const out = await harness('mcp', 'logout', 'web');
  assert.deepEqual([out.status, out.stdout, out.stderr], [0, 'web: signed out; its token was revoked\n', '']);
  assert.deepEqual(seen.revoked.map(r => [r.token, r.token_type_hint, r.client_id]),
    [['refresh-token-1', 'refresh_token', 'registered'], ['access-token-1', 'access_token', 'registered']]);
  const again = await harness('mcp', 'logout', 'web');
  assert.deepEqual([again.status, again.stdout], [0, 'web: no token is stored\n']);
  assert.equal((await harness('mcp', 'tools', url)).status, 0);
  assert.deepEqual([seen.visits, seen.registrations, seen.revoked.length], [2, 2, 2]);
  const byUrl = await harness('mcp', 'logout', url, '--json');      // the same one
  assert.deepEqual(JSON.parse(byUrl.stdout), { server: url, forgotten: true, revoked: true });
  assert.deepEqual(JSON.parse((await harness('mcp', 'logout', url, '--json')).stdout), { server: url, forgotten: false, revoked: false });
});

test('mcp logout authenticates the client as configured', async t => {
  for (const auth of ['client_secret_post', 'client_secret_basic']) {
    const { harness, seen } = await signedIn(t, { onRevoke: () => 200 }, `    oauth: { grant: client_credentials, client_id: ci, client_secret: "\${THE_SECRET}", token_auth: ${auth} }\n`,
      { THE_SECRET: 'hidden-secret' });
    const { status, stdout, stderr } = await harness('mcp', 'logout', 'web');
    assert.equal(status, 0, stderr);
    assert.match(stdout, /was revoked/);
    assert.equal(seen.revoked.length, 2);
    for (const form of seen.revoked) {
      if (auth === 'client_secret_post') assert.deepEqual([form.client_id, form.client_secret], ['ci', 'hidden-secret']);
      else assert.equal(form.authorization, `Basic ${Buffer.from('ci:hidden-secret').toString('base64')}`);
    }
    assert.doesNotMatch(stdout + stderr, /hidden-secret|-token-1/);
  }
});

const notRevoked = /^web: signed out; its token was deleted here, but not revoked: /;
const cases = {
  'does not answer': [{ onRevoke: () => 200 }, w => w.server.closeAllConnections() ?? new Promise(done => w.server.close(done)), /metadata of the authorization server/],
  'fails': [{ onRevoke: () => 503 }, null, /\/revoke did not revoke the refresh token \(503, unsupported_token_type\)/],
  'takes refresh tokens only': [{ onRevoke: seen => (seen.revoked.length > 1 ? 400 : 200) }, null, /\/revoke did not revoke the access token \(400, unsupported_token_type\)/],
  'cannot revoke': [{}, null, /the authorization server http:\S+ has no revocation_endpoint/],
  'wants the token on a strange way': [{ onRevoke: () => 200, more: () => ({ revocation_endpoint: 'http://auth.example/revoke' }) }, null, /revocation_endpoint/],
  'calls itself another': [{ onRevoke: () => 200, more: base => (cases.now ? { issuer: `${base}/other` } : {}) }, () => { cases.now = true; }, /belongs to/],
};
for (const [what, [options, then, said]] of Object.entries(cases))
  test(`mcp logout deletes the token also when the authorization server ${what}, and says so`, async t => {
    const w = await signedIn(t, options);
    await then?.(w);
    const { status, stdout, stderr } = await w.harness('mcp', 'logout', 'web');
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, notRevoked);
    assert.match(stdout, said);
    assert.doesNotMatch(stdout, /-token-1/);
    assert.equal((await w.harness('mcp', 'logout', 'web')).stdout, 'web: no token is stored\n');
  });

test('mcp logout deletes a token whose settings can no longer be read', async t => {
  const w = await signedIn(t, { onRevoke: () => 200 });
  writeFileSync(join(w.dir, 'harness.md'), `---\nmcp_servers:\n  web:\n    url: ${w.url}\n    oauth: { client_id: other, client_secret: "\${NOT_SET_AT_ALL}" }\n---\n`);
  assert.match((await w.harness('mcp', 'logout', 'web')).stdout, /was revoked/);
  assert.equal(w.seen.revoked[0].client_id, 'registered');
});

test('mcp logout without a token is reported', async t => {
  const dir = project(t, { 'harness.md': '---\nmcp_servers:\n  files: { command: cat }\n---\n' });
  const env = { HARNESS_STATE: join(folder(t), 'state.db') };
  const said = async (...args) => { const { status, stderr } = await start(['-C', dir, 'mcp', 'logout', ...args], { env }); return [status, stderr]; };
  assert.deepEqual(await said('files'), [1, 'harness: server files is a program, not a URL: it has no token\n']);
  assert.match((await said('fiels'))[1], /no MCP server is named "fiels" \(see harness mcp list\)/);
  assert.equal((await said())[0], 2);
  const url = await start(['-C', dir, 'mcp', 'logout', 'http://127.0.0.1:9/mcp'], { env: { HARNESS_STATE: join(dir, 'none.db') } });
  assert.deepEqual([url.status, url.stdout], [0, 'http://127.0.0.1:9/mcp: no token is stored\n']);
  assert.ok(!readdirSync(dir).includes('none.db'));
});

test('a running process does not refresh a deleted token', async t => {
  const w = await signedIn(t, {});
  const peer = new Peer(t, w.dir, { env: { HARNESS_STATE: w.env.HARNESS_STATE } });
  await peer.hello();
  const call = async () => (await peer.request('tools/call', { name: 'mcp:web:echo', arguments: { text: 'hi' } })).result.content[0].text;
  assert.equal(await call(), 'echo hi');
  assert.match((await w.harness('mcp', 'logout', 'web')).stdout, notRevoked);
  w.seen.tokens.push({});                                // the server no longer accepts the old one
  assert.match(await call(), /authorize/);
  assert.equal(w.seen.tokens.length, 2);                 // none was asked for
  assert.equal((await w.harness('mcp', 'logout', 'web')).stdout, 'web: no token is stored\n');
});
