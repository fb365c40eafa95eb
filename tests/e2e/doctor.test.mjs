import { test } from 'node:test';
import assert from 'node:assert/strict';
import { run } from './harness.mjs';

const required = ['landlock', 'seccomp', 'openat2'];

test('doctor --json is a list of {check, ok, detail}', () => {
  const { status, stdout, stderr } = run(['doctor', '--json']);
  assert.equal(stderr, '');
  const checks = JSON.parse(stdout);
  assert.deepEqual(checks.map(c => c.check), ['kernel', 'landlock', 'seccomp', 'openat2', 'pidfd', 'private mounts',
    'libcurl', 'OpenSSL', 'libmicrohttpd', 'libgit2', 'libseccomp', 'libedit', 'libutf8proc', 'libsystemd', 'libpq', 'model keys']);
  for (const check of checks) {
    assert.deepEqual(Object.keys(check), ['check', 'ok', 'detail']);
    assert.equal(typeof check.ok, 'boolean');
    assert.ok(check.detail.length > 0);
  }
  const missing = checks.filter(c => required.includes(c.check) && !c.ok);
  assert.equal(status, missing.length ? 1 : 0);
});

test('doctor finds the libraries that make deps installs', () => {
  const checks = JSON.parse(run(['doctor', '--json']).stdout);
  const detail = name => checks.find(c => c.check === name).detail;
  assert.match(detail('libcurl'), /^libcurl\.so\.4, libcurl\/\d+\.\d+/);
  assert.match(detail('OpenSSL'), /^libcrypto\.so\.3, OpenSSL 3\./);
  assert.match(detail('libmicrohttpd'), /^libmicrohttpd\.so\.12, \d+\.\d+/);
  assert.match(detail('libgit2'), /^libgit2\.so\.1\.5, 1\.5\./);
  assert.match(detail('libedit'), /^libedit\.so\.2$/);
});

test('doctor names model keys and never shows them', () => {
  const secret = 'sk-very-secret-0123456789';
  for (const args of [['doctor'], ['doctor', '--json']]) {
    const { stdout, stderr } = run(args, { env: { OPENAI_API_KEY: secret, ANTHROPIC_API_KEY: secret, OAI_API_KEY: '' } });
    assert.match(stdout, /OPENAI_API_KEY, ANTHROPIC_API_KEY/);
    assert.doesNotMatch(stdout, /OAI_API_KEY/);
    assert.ok(!(stdout + stderr).includes(secret));
  }
  const none = JSON.parse(run(['doctor', '--json']).stdout).find(c => c.check === 'model keys');
  assert.deepEqual(none, { check: 'model keys', ok: false, detail: 'none in the environment' });
});

test('doctor in text has one line per check', () => {
  const { stdout } = run(['doctor']);
  for (const line of stdout.trimEnd().split('\n')) assert.match(line, /^(ok|no|MISSING) +[\w ]+ {2}\S/);
});
