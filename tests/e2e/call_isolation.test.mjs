// The layers that must probe the kernel before harness restricts itself also apply in calls, not only in `harness sandbox`.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { caller, tool } from './calls.mjs';
import { privateMounts } from './harness.mjs';

test('a call has the same private mounts and processes as harness sandbox', { skip: !privateMounts() && 'no private mounts here' }, t => {
  const c = caller(t, { '.harness/tools/shell.md': tool('return exec.run("sh", ["-c", args["command"]])', 'parameters: {command: {type: string}}') });
  const { value } = c.call('shell', { command: 'cat /etc/shadow; ls -d /proc/[0-9]* | wc -l' });
  assert.match(value.stderr, /Permission denied/);
  assert.match(c.events('sandbox.applied')[0].data.layers, /landlock/);
  assert.ok(Number(value.stdout) < 10, `processes of others are in sight: ${value.stdout}`);
});
