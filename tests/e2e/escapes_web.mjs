// A separate network with a name service, web servers and a secret on loopback; in it, the attempts of the group "web" and ordinary
// use of the proxy. Started as root by sandbox_web.test.mjs through unshare; prints one line of JSON for each result.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import dgram from 'node:dgram';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join, normalize } from 'node:path';
import { sandbox, users } from './escapes.mjs';

const secret = 'SECRET-web', here = '5.5.5.5', there = '6.6.6.6';
const base = mkdtempSync(join(tmpdir(), 'harness-web-'));
process.on('exit', () => rmSync(base, { recursive: true, force: true }));
chmodSync(base, 0o755);
const run = (command, ...args) => execFileSync(command, args, { cwd: base, stdio: ['ignore', 'ignore', 'pipe'] });

function prepare() {
  run('ip', 'link', 'set', 'lo', 'up');
  for (const address of [here, there]) run('ip', 'addr', 'add', `${address}/32`, 'dev', 'lo');
  for (const [name, text] of [['resolv.conf', 'nameserver 127.0.0.1\noptions attempts:1 timeout:2\n'], ['nsswitch.conf', 'hosts: dns\npasswd: files\ngroup: files\n'],
    ['hosts', '127.0.0.1 localhost\n']]) {
    writeFileSync(join(base, name), text);
    run('mount', '--bind', join(base, name), realpathSync(`/etc/${name}`));
  }
  run('openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=test');
  run('openssl', 'req', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'key.pem', '-out', 'request.pem', '-subj', '/CN=allowed.example');
  writeFileSync(join(base, 'names'), 'subjectAltName=DNS:allowed.example\n');
  run('openssl', 'x509', '-req', '-in', 'request.pem', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-out', 'cert.pem', '-days', '2', '-extfile', 'names');
  const git = (...args) => run('git', '-c', 'user.name=n', '-c', 'user.email=a@b', ...args);
  git('init', '-q', 'work');
  writeFileSync(join(base, 'work/file'), 'cloned\n');
  git('-C', 'work', 'add', '.');
  git('-C', 'work', 'commit', '-qm', 'first');
  git('clone', '-q', '--bare', 'work', 'repo.git');
  git('-C', 'repo.git', 'update-server-info');
}

/* ---- servers ---- */

let asked = 0;
const names = { 'allowed.example': () => [here], 'other.example': () => [there], 'private.example': () => ['127.0.0.1'],
  'changes.example': () => [asked++ % 2 ? '127.0.0.1' : here], 'both.example': () => [here, '127.0.0.1'], 'mapped.example': () => [] };
const mapped = Buffer.from([...Array(10).fill(0), 255, 255, 127, 0, 0, 1]);

// Answers a DNS query from the table; other names do not exist.
function answer(question) {
  let at = 12;
  const labels = [];
  while (question[at]) {
    labels.push(question.subarray(at + 1, at + 1 + question[at]).toString());
    at += question[at] + 1;
  }
  const type = question.readUInt16BE(at + 1), name = labels.join('.').toLowerCase(), known = names[name];
  const data = !known ? [] : type === 1 ? known().map(a => Buffer.from(a.split('.').map(Number))) : type === 28 && name === 'mapped.example' ? [mapped] : [];
  const head = Buffer.alloc(12);
  question.copy(head, 0, 0, 2);
  head.writeUInt16BE(known ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 6);
  const records = data.map(d => Buffer.concat([Buffer.from([0xc0, 12, 0, d.length === 4 ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, d.length]), d]));
  return Buffer.concat([head, question.subarray(12, at + 5), ...records]);
}

// A host with several names, as is common: the Host header selects one.
function allowedSite(request, response) {
  const to = { '/to-private': 'http://127.0.0.1/', '/to-localhost': 'http://localhost/', '/to-decimal': 'http://2130706433/', '/to-other': 'http://other.example/' }[request.url];
  if (to) return response.writeHead(302, { Location: to }).end();
  if (!/^(allowed|changes|both)\.example$/.test(request.headers.host)) return response.end(`${secret} for ${request.headers.host}\n`);
  const file = join(base, normalize(request.url.split('?')[0]));
  if (!request.url.startsWith('/repo.git/')) return response.end('fine\n');
  try { if (statSync(file).isFile()) return response.end(readFileSync(file)); } catch { /* not there */ }
  return response.writeHead(404).end();
}

let hits = 0;
function hidden(request, response) { hits++; response.end(`${secret}\n`); }

async function serve() {
  const up = (server, ...where) => new Promise(resolve => server.listen(...where, resolve));
  const dns = dgram.createSocket('udp4');
  dns.on('message', (question, from) => dns.send(answer(question), from.port, from.address));
  await new Promise(resolve => dns.bind(53, '127.0.0.1', resolve));
  await up(http.createServer(allowedSite), 80, here);
  await up(https.createServer({ key: readFileSync(join(base, 'key.pem')), cert: readFileSync(join(base, 'cert.pem')) }, allowedSite), 443, here);
  await up(http.createServer(hidden), 80, there);
  await up(http.createServer(hidden), 80, '127.0.0.1');
}

/* ---- attempts ---- */

const flags = Object.keys(names).filter(n => n !== 'other.example').flatMap(n => ['--allow-domain', n]);
async function inside(at, script) {
  const before = hits, r = await sandbox(at.user, at.dir, flags, ['bash', '-c', script]);
  assert.ok(!r.stdout.includes(secret), r.stdout);
  assert.equal(hits, before, 'a hidden server was reached');
  return r;
}

const tasks = {
  'redirect-private': async at => {
    const r = await inside(at, 'for to in private localhost decimal; do curl -sL http://allowed.example/to-$to; done');
    assert.equal(r.stdout.split('harness: ').length, 4, r.stdout);
  },
  'redirect-other': async at => assert.match((await inside(at, 'curl -sL http://allowed.example/to-other')).stdout, /harness: .*other\.example/),
  'dns-private': async at => assert.match((await inside(at, 'curl -s http://private.example/')).stdout, /harness: .*loopback/),
  'dns-changes': async at => {
    const r = await inside(at, 'for i in {1..12}; do curl -s http://changes.example/; curl -s http://both.example/; done');
    assert.match(r.stdout, /fine/);
  },
  'dns-mapped': async at => assert.match((await inside(at, 'curl -s http://mapped.example/')).stdout, /harness: /),
  'host-smuggled': async at => {
    const open = 'exec 3<>/dev/tcp/127.0.0.1/${http_proxy##*:}; ';
    await inside(at, `${open} printf 'GET http://allowed.example/ HTTP/1.1\\r\\nHost: other.example\\r\\n\\r\\n' >&3; timeout 2 cat <&3`);
    await inside(at, `${open} printf 'GET http://allowed.example/ HTTP/1.1\\r\\nHost: allowed.example\\r\\n\\r\\nGET http://other.example/ HTTP/1.1\\r\\nHost: other.example\\r\\n\\r\\n' >&3; timeout 2 cat <&3`);
    await inside(at, `${open} printf 'POST http://allowed.example/ HTTP/1.1\\r\\nHost: allowed.example\\r\\nContent-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET / HTTP/1.1\\r\\nHost: other.example\\r\\n\\r\\n' >&3; timeout 2 cat <&3`);
    await inside(at, `${open} printf 'GET http://allowed.example/ HTTP/1.1\\r\\nHost: allowed.example\\r\\nHost: other.example\\r\\n\\r\\n' >&3; timeout 2 cat <&3`);
  },
  'works: curl over HTTP': async at => assert.equal((await inside(at, 'curl -sS http://allowed.example/')).stdout, 'fine\n'),
  'works: curl over HTTPS': async at => {
    const r = await inside(at, 'curl -sS --cacert ca.pem https://allowed.example/');
    assert.equal(r.stdout, 'fine\n', r.stderr);
  },
  'works: git clone over HTTPS': async at => {
    const r = await inside(at, 'git -c http.sslCAInfo=$PWD/ca.pem clone -q https://allowed.example/repo.git && cat repo/file');
    assert.equal(r.stdout, 'cloned\n', r.stderr);
  },
};

prepare();
await serve();
for (const user of users)
  for (const [name, task] of Object.entries(tasks)) {
    const dir = join(base, `workspace-${user.is}-${name.replaceAll(/\W/g, '')}`);
    mkdirSync(dir);
    writeFileSync(join(dir, 'ca.pem'), readFileSync(join(base, 'ca.pem')));
    if (user.uid) chownSync(dir, user.uid, user.gid);
    const result = { name, user: user.name, problem: null };
    try { await task({ user, dir }); } catch (e) { result.problem = e.stack; }
    console.log(JSON.stringify(result));
  }
process.exit(0);
