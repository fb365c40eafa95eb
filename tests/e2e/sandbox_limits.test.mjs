// The memory limit of a call, for every way to start a program.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { caller, tool } from './calls.mjs';

const reached = /the memory limit of the call was reached \(sandbox\.memory_bytes\)/;
const settings = 'sandbox: { memory_bytes: 134217728 }';
const hold = 'import os, time\nkept = []\nfor i in range(8):\n  kept.append(os.memfd_create("x"))\n  for n in range(40): os.write(kept[-1], b"x" * (1 << 20))\ntime.sleep(20)\n';

test('memory limit: a command says what was reached', t => {
  const p = caller(t, { 'harness.md': `---\nbuiltin_tools: all\n${settings}\n---\n`, 'hold.py': hold });
  const r = p.call('bash', '{"command": "python3 hold.py"}', ['--yes']);
  assert.equal(r.status, 1);
  assert.match(r.value.error, reached);
  assert.equal(r.value.exit_code, 137);
});

test('memory limit: a program of tools.json', t => {
  const p = caller(t, { 'harness.md': `---\n${settings}\n---\n`, 'hold.py': hold,
    'tools.json': JSON.stringify({ tools: [{ name: 'x', command: ['./tools/bin/x'] }] }),
    'tools/bin/x': '#!/bin/sh\necho \'{"error": "not this"}\' >&2\nexec python3 hold.py\n' });
  chmodSync(join(p.dir, 'tools/bin/x'), 0o755);
  const r = p.call('x', '{}', ['--yes']);
  assert.equal(r.status, 1);
  assert.match(JSON.stringify(r.value), reached);
});

test('memory limit: exec.run of a script fails', t => {
  const p = caller(t, { 'harness.md': `---\n${settings}\n---\n`, 'hold.py': hold,
    '.harness/tools/x.md': tool('r = exec.run("python3", ["hold.py"])\nreturn {"went": "on"}') });
  const r = p.call('x', '{}', ['--yes']);
  assert.equal(r.status, 1);
  assert.match(r.stdout + r.stderr, reached);
});

test('memory limit: an MCP server is ended, and the reason is reported', t => {
  const p = caller(t, { 'harness.md': `---\n${settings}\nmcp_servers:\n  s: { command: python3, args: [hold.py] }\n---\n`, 'hold.py': hold });
  const r = p.run(['mcp', 'tools', 's']);
  assert.notEqual(r.status, 0);
  assert.match(r.stdout + r.stderr, reached);
});
