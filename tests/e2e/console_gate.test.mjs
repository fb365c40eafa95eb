// Who may use harness console, and what its responses say to a browser.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync, writeFileSync, chmodSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { ask, serve, stream } from './consoles.mjs';
import { caller } from './calls.mjs';
import { build, folder, root } from './harness.mjs';

const files = { 'harness.md': '---\nbuiltin_tools: none\n---\n' };
const policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";

function checkHeaders(r, csp = policy) {
  assert.equal(r.headers['content-security-policy'], csp);
  assert.equal(r.headers['cache-control'], 'no-store');
  assert.equal(r.headers['x-content-type-options'], 'nosniff');
  assert.equal(r.headers['referrer-policy'], 'no-referrer');
  assert.equal(r.headers['access-control-allow-origin'], undefined);
  assert.equal(r.headers['set-cookie'], undefined);
}

test('the page and the API have their headers, and only the API needs the token', async t => {
  const p = caller(t, files), s = await serve(t, p);
  assert.match(s.url, /^http:\/\/127\.0\.0\.1:\d+\/#token=[0-9a-f]{48}$/);
  const page = await ask(s, { headers: { Authorization: undefined } });
  assert.equal(page.status, 200);
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
  checkHeaders(page);
  for (const name of readdirSync(join(root, 'src/doors/console')).filter(n => /\.(html|css|js|svg)$/.test(n))) {
    const file = await ask(s, { path: `/${name}`, headers: { Authorization: undefined } });
    assert.equal(file.status, 200, name);
    assert.equal(file.text, readFileSync(join(root, 'src/doors/console', name), 'utf8'), name);
    checkHeaders(file);
  }
  const head = await ask(s, { method: 'HEAD', headers: { Authorization: undefined } });
  assert.deepEqual([head.status, head.text], [200, '']);
  const about = await s.get('about');
  assert.equal(about.status, 200);
  assert.equal(about.json.root, p.dir);
  assert.match(about.json.by, /^console, uid \d+$/);
  assert.equal(about.headers['content-type'], 'application/json');
  checkHeaders(about);
});

test('a missing or wrong token, other hosts, other origins and frames are refused', async t => {
  const p = caller(t, files), s = await serve(t, p);
  const port = s.port;
  for (const auth of [undefined, 'Bearer x', `Bearer ${s.token}x`, `Bearer ${s.token.slice(1)}`, `Basic ${s.token}`, s.token, 'Bearer ']) {
    const r = await s.get('runs', { Authorization: auth });
    assert.equal(r.status, 401, String(auth));
    assert.match(r.json.error.message, /the token is missing or wrong/);
    assert.match(r.headers['www-authenticate'], /^Bearer/);
    checkHeaders(r);
  }
  assert.equal((await s.get(`runs?token=${s.token}`, { Authorization: undefined })).status, 401);
  assert.equal((await s.get('runs', { Authorization: undefined, Cookie: `token=${s.token}` })).status, 401);
  for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example', '169.254.169.254', '0.0.0.0', '127.0.0.1:x']) {
    for (const path of ['/', '/api/runs']) {
      const r = await ask(s, { path, headers: { Host: host } });
      assert.equal(r.status, 403, `${host} ${path} ${r.status}`);
      checkHeaders(r);
    }
  }
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) assert.equal((await s.get('runs', { Host: host })).status, 200, host);
  for (const origin of ['https://evil.example', 'null', `http://127.0.0.1:${port + 1}`, `http://localhost:${port}`, 'file://', `http://127.0.0.1:${port}.evil.example`]) {
    const r = await s.get('runs', { Origin: origin });
    assert.equal(r.status, 403, origin);
    assert.match(r.json.error.message, /another origin/);
  }
  assert.equal((await s.get('runs', { Origin: `http://127.0.0.1:${port}` })).status, 200);
  for (const site of ['cross-site', 'same-site']) assert.equal((await s.get('runs', { 'Sec-Fetch-Site': site })).status, 403, site);
  for (const dest of ['iframe', 'frame', 'object', 'embed'])
    for (const path of ['/', '/api/runs']) assert.equal((await ask(s, { path, headers: { 'Sec-Fetch-Dest': dest } })).status, 403, dest);
  const options = await ask(s, { method: 'OPTIONS', path: '/api/runs', headers: { Origin: 'https://evil.example', Authorization: undefined } });
  assert.equal(options.status, 403);
});

test('wrong tokens are slowed down', async t => {
  const p = caller(t, files), s = await serve(t, p);
  const seen = [];
  for (let i = 0; i < 70; i++) seen.push((await s.get('runs', { Authorization: 'Bearer no' })).status);
  assert.equal(seen[0], 401);
  assert.ok(seen.includes(429), seen.join());
  assert.equal((await s.get('runs')).status, 200);       // the right one still works
});

test('bad requests: paths, methods, bodies, sizes', async t => {
  const p = caller(t, files), s = await serve(t, p);
  for (const path of ['/api', '/api/', '/api/nothing', '/api/runs/', '/api/runs/a/b/c/d/e', '/api/runs/../about', '/api/runs/%2e%2e/events', '/api/runs/..%2fabout', '/api//runs',
    '/etc/passwd', '/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/index.html/', '/app.js.map', '/api/runs/a%00b', '/api/runs/a%0ab/events', '/api/approvals/%3Cscript%3E',
    `/api/runs/${'a'.repeat(101)}`, `/api/runs/${'a'.repeat(5000)}`]) {
    const r = await ask(s, { path });
    assert.equal(r.status, 404, `${path} ${r.status}`);
    checkHeaders(r);
    assert.equal(r.headers['content-type'], 'application/json');
  }
  assert.ok([414, 431].includes((await ask(s, { path: `/api/runs/${'a'.repeat(60000)}` })).status));
  for (const [method, path, allow] of [['POST', '/api/runs', 'GET'], ['DELETE', '/api/runs', 'GET'], ['PUT', '/api/approvals/q1/approve', 'POST'], ['GET', '/api/approvals/q1/deny', 'POST'],
    ['POST', '/', 'GET, HEAD'], ['DELETE', '/index.html', 'GET, HEAD']]) {
    const r = await ask(s, { method, path, ...(method === 'GET' ? {} : { body: {} }) });
    assert.deepEqual([r.status, r.headers.allow], [405, allow], `${method} ${path}`);
  }
  for (const body of ['', '{', '[]', '1', 'null', '"x"', '{"a":1,"a":2}', '{"a":1}x', `${'['.repeat(5000)}`, '{"a":"\ud800"}', '{"reason":1}', '{"reason":"a\\u0000b"}', '{"what":1}']) {
    const r = await s.post('approvals/q1/deny', body);
    assert.equal(r.status, 400, `${body.slice(0, 20)} ${r.status} ${r.text}`);
    assert.ok(r.json.error.message.length > 0);
  }
  assert.equal((await s.post('approvals/q1/deny', '{}', { 'Content-Type': 'text/plain' })).status, 415);
  assert.equal((await s.post('approvals/q1/deny', '{}', { 'Content-Type': undefined })).status, 415);
  assert.equal((await s.post('approvals/q1/deny', '{}', { 'Content-Type': 'application/json; charset=utf-8' })).status, 404);
  const big = await s.post('approvals/q1/deny', JSON.stringify({ reason: 'x'.repeat(2 << 20) }));
  assert.equal(big.status, 413);
  checkHeaders(big);
  assert.equal((await s.post('approvals/q1/deny', { reason: 'x'.repeat(100000) })).status, 400);
  for (const query of ['limit=0', 'limit=201', 'limit=-1', 'limit=x', 'limit=', 'before=0', 'before=x', `before=${'9'.repeat(30)}`, 'since=1', 'since=d', 'since=999999999d'])
    assert.equal((await s.get(`runs?${query}`)).status, 400, query);
  const garbage = await new Promise(resolve => {
    const c = net.connect(s.port, '127.0.0.1', () => c.end('\x00\x01 garbage\r\n\r\n'));
    let text = '';
    c.on('data', d => { text += d; }).on('close', () => resolve(text)).on('error', () => resolve(text));
  });
  assert.doesNotMatch(garbage, /200 OK/);
  assert.equal((await s.get('about')).status, 200);
});

test('remote addresses need --allow-remote and a token file that only the user can read', t => {
  const p = caller(t, files), dir = folder(t), file = join(dir, 'token');
  const wrong = (...flags) => p.run(['console', ...flags]);
  assert.match(wrong('--http', '0.0.0.0:0').stderr, /other machines could reach it: add --allow-remote/);
  assert.match(wrong('--http', '0.0.0.0:0', '--allow-remote').stderr, /--allow-remote needs --token-file FILE/);
  writeFileSync(file, 'short\n', { mode: 0o600 });
  assert.match(wrong('--token-file', file).stderr, /a token has 16 to 512 letters/);
  writeFileSync(file, 'a-token-that-is-long-enough\n');
  chmodSync(file, 0o644);
  assert.match(wrong('--token-file', file).stderr, /other users can read it/);
  assert.match(wrong('--token-file', join(dir, 'none')).stderr, /--token-file .*No such file/);
  assert.match(wrong('--http', 'x y').stderr, /is not an address/);
});

test('a token file, further host names and origins', async t => {
  const p = caller(t, files), file = join(folder(t), 'token');
  writeFileSync(file, 'a-token-that-is-long-enough\n', { mode: 0o600 });
  const s = await serve(t, p, { flags: ['--token-file', file, '--host', 'console.example', '--origin', 'https://console.example'] });
  assert.equal(s.token, 'a-token-that-is-long-enough');
  assert.equal((await s.get('runs', { Host: 'console.example', Origin: 'https://console.example' })).status, 200);
  assert.equal((await s.get('runs', { Host: 'console.example', Origin: 'https://other.example' })).status, 403);
});

test('--open gives the browser a private file, not the token', async t => {
  const p = caller(t, files), dir = folder(t), seen = join(dir, 'seen');
  writeFileSync(join(dir, 'browser'), `#!/bin/sh\nprintf '%s' "$1" > ${seen}.tmp\nmv ${seen}.tmp ${seen}\n`, { mode: 0o755 });
  const s = await serve(t, p, { flags: ['--open'], env: { BROWSER: join(dir, 'browser'), XDG_RUNTIME_DIR: dir } });
  let url;
  for (let i = 0; i < 500 && !url; i++) try { url = readFileSync(seen, 'utf8'); } catch { await new Promise(r => setTimeout(r, 10)); }
  assert.match(url, new RegExp(`^file://${dir}/harness-console-\\w+\\.html$`));
  const path = url.slice(7);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.ok(readFileSync(path, 'utf8').includes(`url=${s.url}"`));
  s.child.kill('SIGTERM');
  await s.exit;
  assert.throws(() => statSync(path));
});

test('it sleeps when idle, and ends with open streams', async t => {
  const p = caller(t, files), s = await serve(t, p);
  await s.get('about');
  await new Promise(r => setTimeout(r, 1500));
  const cpu = () => readFileSync(`/proc/${s.child.pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13).reduce((a, b) => a + Number(b), 0);
  const switches = () => readdirSync(`/proc/${s.child.pid}/task`).reduce((sum, id) =>
    sum + Number(/voluntary_ctxt_switches:\s+(\d+)/.exec(readFileSync(`/proc/${s.child.pid}/task/${id}/status`, 'utf8'))[1]), 0);
  const before = [cpu(), switches()];
  await new Promise(r => setTimeout(r, 2000));
  const after = [cpu(), switches()];
  assert.ok(after[0] - before[0] <= 1, `${after[0] - before[0]} ticks in two idle seconds`);
  if (build === 'release' || build === 'debug') assert.ok(after[1] - before[1] <= 4, `${after[1] - before[1]} wake-ups in two idle seconds`);
  const st = stream(t, s);
  await st.until(e => e.event === 'hello');
  s.child.kill('SIGTERM');
  const [status] = await s.exit;
  assert.equal(status, 0);
});
