// Who may talk to harness mcp serve --http: tokens, tokens of an authorization server, origins, hosts, rates.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createSign, generateKeyPairSync } from 'node:crypto';
import http from 'node:http';
import { undo } from './harness.mjs';
import { ask, call, open, serve, stateless, token } from './mcp_http.mjs';

const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } } };

test('the token is required everywhere', async t => {
  const s = await serve(t);
  for (const wrong of [undefined, '', 'Bearer', 'Bearer ', `Bearer ${token}x`, `Bearer ${token.slice(1)}`, `Basic ${token}`, token, 'Bearer ' + 'x'.repeat(5000)])
    for (const method of ['POST', 'GET', 'DELETE']) {
      const r = await ask(s, { method, headers: { Authorization: wrong }, body: method === 'POST' ? initialize : undefined });
      assert.equal(r.status, 401, `${method} ${wrong}`);
      assert.match(r.headers['www-authenticate'], /^Bearer /);
      assert.doesNotMatch(await r.text(), new RegExp(token));
    }
  assert.equal((await ask(s, { headers: { Authorization: `bearer ${token}` }, body: initialize })).status, 200);
  assert.equal((await ask(s, { method: 'GET', path: '/.well-known/oauth-protected-resource' })).status, 404);      // no authorization server
  const wrong = await Promise.all(Array.from({ length: 60 }, () => ask(s, { headers: { Authorization: 'Bearer guess' }, body: initialize })));
  assert.ok(wrong.some(r => r.status === 429 && Number(r.headers['retry-after']) > 0), 'guessing is slowed down');
  assert.equal((await ask(s, { body: initialize })).status, 200, 'and nobody else');
  assert.doesNotMatch(s.log, new RegExp(token));
});

test('one token, in one header', async t => {
  const s = await serve(t);
  for (const both of [[`Bearer ${token}`, 'Bearer other'], ['Bearer other', `Bearer ${token}`], [`Bearer ${token}`, `Bearer ${token}`]])
    assert.equal((await ask(s, { headers: { Authorization: both }, body: initialize })).status, 400);
});

test('the token is a secret of the tools too', async t => {
  const s = await serve(t), first = await ask(s, { body: initialize });
  const headers = { 'Mcp-Session-Id': first.headers['mcp-session-id'], 'MCP-Protocol-Version': '2025-11-25' };
  await ask(s, { headers, body: { jsonrpc: '2.0', method: 'notifications/initialized' } });
  const r = await ask(s, { headers, body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: `it is ${token}` } } } });
  const answer = await r.text();
  assert.match(answer, /it is /);
  assert.doesNotMatch(answer, new RegExp(token));
});

test('a port in use ends before a token is shown', async t => {
  const s = await serve(t);
  await assert.rejects(serve(t, { flags: ['--http', `127.0.0.1:${s.port}`], env: { HARNESS_MCP_TOKEN: '' }, fails: true }), e => /in use/.test(e.message) && !/token [0-9a-f]{48}/.test(e.message));
});

test('a token is generated and printed, or not required', async t => {
  const made = await serve(t, { env: { HARNESS_MCP_TOKEN: '' } });
  const [, secret] = /token ([0-9a-f]{48}) /.exec(made.log);
  assert.equal((await ask(made, { body: initialize })).status, 401);
  assert.equal((await ask(made, { headers: { Authorization: `Bearer ${secret}` }, body: initialize })).status, 200);
  const open = await serve(t, { flags: ['--no-auth'] });
  assert.equal((await ask(open, { headers: { Authorization: undefined }, body: initialize })).status, 200);
});

test('origins and hosts', async t => {
  const s = await serve(t, { flags: ['--origin', 'https://app.example', '--host', 'box.internal'] });
  const table = [
    [{ Origin: undefined }, 200], [{ Origin: 'http://localhost:3000' }, 200], [{ Origin: 'http://127.0.0.1' }, 200], [{ Origin: 'http://[::1]:9' }, 200],
    [{ Origin: 'https://app.example' }, 200], [{ Origin: 'http://app.example' }, 403], [{ Origin: 'https://app.example.evil' }, 403], [{ Origin: 'null' }, 403],
    [{ Origin: 'http://localhost.evil.example' }, 403], [{ Origin: 'http://localhost@evil.example' }, 403], [{ Origin: 'file://' }, 403], [{ Origin: 'http://evil.example:80' }, 403],
    [{ Host: `localhost:${s.port}` }, 200], [{ Host: '[::1]' }, 200], [{ Host: '127.0.0.1:1' }, 200], [{ Host: 'box.internal' }, 200], [{ Host: 'box.internal:99' }, 200],
    [{ Host: 'evil.example' }, 403], [{ Host: `evil.example:${s.port}` }, 403], [{ Host: 'localhost.evil.example' }, 403], [{ Host: '127.0.0.1.evil.example' }, 403],
    [{ Host: 'localhost:x' }, 403], [{ Host: '192.0.2.1' }, 403], [{ Host: '[::1' }, 403],
  ];
  for (const [headers, status] of table) {
    const r = await ask(s, { headers, body: initialize });
    assert.equal(r.status, status, JSON.stringify(headers));
    assert.equal(r.headers['access-control-allow-origin'], status === 200 ? headers.Origin : undefined);
    if (status === 403) assert.equal(r.headers['mcp-session-id'], undefined);
  }
  const before = await ask(s, { method: 'OPTIONS', headers: { Origin: 'https://app.example', Authorization: undefined, 'Access-Control-Request-Headers': 'authorization, mcp-method' } });
  assert.equal(before.status, 204);
  assert.equal(before.headers['access-control-allow-headers'], 'authorization, mcp-method');
  assert.equal((await ask(s, { method: 'OPTIONS', headers: { Origin: 'https://evil.example' } })).status, 403);
});

test('--rate limits the requests of one client', async t => {
  const s = await serve(t, { flags: ['--rate', '5'] });
  const all = [];
  for (let i = 0; i < 8; i++) all.push(await ask(s, { body: initialize }));
  assert.deepEqual(all.map(r => r.status), [200, 200, 200, 200, 200, 429, 429, 429]);
  assert.ok(Number(all[7].headers['retry-after']) >= 1);
});

// ---- an authorization server ----

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }), ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }), stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const b64 = x => Buffer.from(typeof x === 'string' ? x : JSON.stringify(x)).toString('base64url');

function jwt(claims, { alg = 'ES256', kid = 'e', key = alg === 'RS256' ? rsa.privateKey : ec.privateKey } = {}) {
  const text = `${b64({ alg, kid, typ: 'at+jwt' })}.${b64(claims)}`;
  if (alg === 'none') return `${text}.`;
  return `${text}.${createSign('SHA256').update(text).sign({ key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

async function issuer(t) {
  const keys = { keys: [{ ...rsa.publicKey.export({ format: 'jwk' }), kid: 'r', use: 'sig', alg: 'RS256' }, { ...ec.publicKey.export({ format: 'jwk' }), kid: 'e' }, { kty: 'oct', k: 'AAAA' }, 7] };
  const a = { asked: 0 };
  const server = http.createServer((req, res) => {
    a.asked++;
    const answers = { '/tenant/.well-known/openid-configuration': { issuer: a.url, jwks_uri: `${a.url}/keys` }, '/tenant/keys': keys };
    res.writeHead(answers[req.url] ? 200 : 404, { 'Content-Type': 'application/json' });
    res.end(JSON.stringify(answers[req.url] ?? {}));
  });
  await new Promise(r => server.listen(0, '127.0.0.1', r));
  undo(t, () => server.close());
  a.url = `http://127.0.0.1:${server.address().port}/tenant`;
  return a;
}

test('tokens of an authorization server: for this server, signed, in time, with the scope', async t => {
  const a = await issuer(t);
  const s = await serve(t, { flags: ['--auth-server', a.url, '--scope', 'mcp:use'], env: { HARNESS_MCP_TOKEN: '' } });
  assert.doesNotMatch(s.log, /token/);
  for (const path of ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp']) {
    const about = await ask(s, { method: 'GET', path, headers: { Authorization: undefined } });
    assert.deepEqual(await about.json(), { resource: s.url, authorization_servers: [a.url], bearer_methods_supported: ['header'], scopes_supported: ['mcp:use'] });
  }
  const now = Math.floor(Date.now() / 1000), good = { iss: a.url, aud: s.url, sub: 'ann', exp: now + 600, scope: 'other mcp:use' };
  const table = [
    [jwt(good), 200], [jwt({ ...good, aud: ['x', s.url] }, { alg: 'RS256', kid: 'r' }), 200], [jwt({ ...good, scope: undefined, scp: ['mcp:use'] }), 200],
    [jwt({ ...good, exp: now - 3600 }), 401], [jwt({ ...good, exp: undefined }), 401], [jwt({ ...good, exp: 'soon' }), 401], [jwt({ ...good, nbf: now + 3600 }), 401],
    [jwt({ ...good, aud: 'http://other.example/mcp' }), 401], [jwt({ ...good, aud: undefined }), 401], [jwt({ ...good, iss: 'http://evil.example' }), 401],
    [jwt(good, { key: stranger.privateKey }), 401], [jwt(good, { kid: 'unknown' }), 401], [jwt(good, { alg: 'none' }), 401], [jwt(good, { alg: 'RS256', kid: 'e' }), 401],
    [jwt(good).slice(0, -4) + 'AAAA', 401], [`${b64({ alg: 'HS256', kid: 'e' })}.${b64(good)}.AAAA`, 401], ['a.b.c', 401], ['nonsense', 401], ['..', 401],
    [jwt({ ...good, scope: 'other' }), 403], [jwt({ ...good, scope: 'mcp:used' }), 403], [jwt({ ...good, scope: undefined }), 403],
  ];
  for (const [i, [bearer, status]] of table.entries()) {
    const r = await ask(s, { headers: { Authorization: `Bearer ${bearer}` }, body: initialize });
    assert.equal(r.status, status, `row ${i}: ${await r.text()}`);
    if (status === 200) continue;
    assert.match(r.headers['www-authenticate'], new RegExp(`resource_metadata="http://127.0.0.1:${s.port}/.well-known/oauth-protected-resource/mcp"`));
    assert.match(r.headers['www-authenticate'], status === 403 ? /error="insufficient_scope".*|scope="mcp:use"/ : /error="invalid_token"/);
  }
  assert.equal((await ask(s, { headers: { Authorization: undefined }, body: initialize })).status, 401);
  assert.ok(a.asked < 20, `keys are kept: asked ${a.asked} times`);
  // A session belongs to the client that created it.
  const ann = { Authorization: `Bearer ${jwt(good)}` }, bob = { Authorization: `Bearer ${jwt({ ...good, sub: 'bob' })}` }, later = { Authorization: `Bearer ${jwt({ ...good, jti: '2' })}` };
  const id = (await ask(s, { headers: ann, body: initialize })).headers['mcp-session-id'];
  const use = who => ask(s, { headers: { ...who, 'Mcp-Session-Id': id }, body: call(1, 'echo', { text: 'x' }) });
  assert.deepEqual([(await use(ann)).status, (await use(bob)).status, (await use(later)).status], [200, 404, 200]);
  assert.equal((await stateless(s, 1, 'server/discover', {}, { headers: bob })).status, 200);
});

test('with an unreachable authorization server requests are refused with a clear error', async t => {
  const s = await serve(t, { flags: ['--auth-server', 'http://127.0.0.1:9/x'] });
  const now = Math.floor(Date.now() / 1000);
  const r = await ask(s, { headers: { Authorization: `Bearer ${jwt({ iss: 'http://127.0.0.1:9/x', aud: s.url, exp: now + 60 })}` }, body: initialize });
  assert.equal(r.status, 401);
  assert.match((await r.json()).error.message, /keys of the authorization server/);
  assert.equal((await open(s)).answer.result.protocolVersion, '2025-11-25');     // our own token still does
});

test('an authorization server that does not answer does not delay other clients', async t => {
  const asked = new Set();
  const server = http.createServer((req, res) => { asked.add(res); });
  await new Promise(r => server.listen(0, '127.0.0.1', r));
  const url = `http://127.0.0.1:${server.address().port}`, s = await serve(t, { flags: ['--auth-server', url] });
  const bearer = jwt({ iss: url, aud: s.url, exp: Math.floor(Date.now() / 1000) + 60 });
  const waiting = Array.from({ length: 20 }, () => ask(s, { headers: { Authorization: `Bearer ${bearer}` }, body: initialize }).then(r => r.status, () => 0));
  while (!asked.size) await new Promise(r => setTimeout(r, 5));
  assert.equal(await Promise.race(waiting), 401);                                // too many waiting requests are refused
  assert.equal((await open(s)).answer.result.protocolVersion, '2025-11-25');
  assert.equal(asked.size, 1, 'while the keys are still waited for');
  server.close();
  server.closeAllConnections();
  assert.deepEqual(new Set(await Promise.all(waiting)), new Set([401]));
});
