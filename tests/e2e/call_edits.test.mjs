// Edits by the user to the project's own files during a conversation.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { effect, harness, mock, surfaces, talker } from './agents.mjs';
import { caller, tool } from './calls.mjs';
import { privateMounts } from './harness.mjs';

test('an edit by the user between calls is kept; a later call cannot undo it', async t => {
  const rounds = [['effect', { n: 1 }], ['effect', { n: 2 }], ['spoil', {}], ['effect', { n: 3 }]];
  let p;
  const file = '.harness/hooks/note.md', mine = '---\nevent: log\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nEdited by hand.\n';
  const m = await mock(t, request => {
    const n = request.messages.filter(x => x.role === 'tool').length;
    if (n === 1) writeFileSync(join(p.dir, file), mine);
    return n < rounds.length ? { toolCalls: [{ name: rounds[n][0], arguments: JSON.stringify(rounds[n][1]) }] } : { content: 'done' };
  });
  p = talker(t, {
    'harness.md': harness(surfaces.openai(m.url)), [file]: '---\nevent: log\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nAs it was.\n', '.harness/tools/effect.md': effect(),
    '.harness/tools/spoil.md': tool(`return exec.run("/bin/sh", ["-c", "echo x > ${file}"])`),
  });
  const r = await p.say('go');
  assert.equal(p.text(file), mine);
  // Where the files are mounted read-only the program fails and the run continues; elsewhere they are restored, and the run ends.
  const mounted = privateMounts();
  assert.equal(r.status, mounted ? 0 : 1, r.stderr);
  if (!mounted) assert.match(r.stderr, /sandbox\.tampered: .*note\.md was changed by the call and has been put back/);
  assert.deepEqual(p.effects(), mounted ? ['1', '2', '3'] : ['1', '2']);
  assert.deepEqual(p.events('tool.failed').map(e => e.data.name).filter(x => x !== 'spoil'), []);
  assert.match(r.stderr, /note\.md was changed; the loaded version stays in use/);
});

test('exec.run works with network.allowed_domains', t => {
  const p = caller(t, {
    'harness.md': '---\nnetwork: { allowed_domains: [example.com] }\n---\n',
    '.harness/tools/x.md': tool('return exec.run("/bin/sh", ["-c", "echo $https_proxy"])'),
  });
  assert.match(p.call('x', {}, ['--yes']).value.stdout, /^http:\/\/.*:\d+\n$/);
});

test('what a program was denied is an event', t => {
  const p = caller(t, {
    'harness.md': '---\nnetwork: { allowed_domains: [example.com] }\n---\n',
    '.harness/tools/x.md': tool('return exec.run("python3", ["-c", "import socket; socket.create_connection((\'192.0.2.1\', 8080))"])'),
  });
  assert.match(p.call('x', {}, ['--yes']).value.stderr, /PermissionError|Operation not permitted|Permission denied/);
  assert.deepEqual(p.events('sandbox.denied').map(e => e.data.what), ['connect to 192.0.2.1 port 8080']);
});

test('best effort reports what it lacks', t => {
  const p = caller(t, { 'harness.md': '---\nsandbox: { mode: best-effort }\n---\n', '.harness/tools/x.md': tool('return exec.run("true")') });
  const less = p.run(['call', 'x', '--yes'], { env: { HARNESS_TEST_LANDLOCK_ABI: '0' } });
  assert.match(less.stderr, /the kernel lacks Landlock.*not fully confined \(sandbox\.mode: best-effort\)/);
  assert.doesNotMatch(p.run(['call', 'x', '--yes']).stderr, /not fully confined/);
});

test('command hooks do, too', t => {
  const p = caller(t, {
    'harness.md': '---\nnetwork: { allowed_domains: [example.com] }\n---\n', '.harness/tools/x.md': tool('return 1'), 'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n',
    'agent/hooks/h.json': JSON.stringify({ hooks: [{ id: 'h', type: 'post_tool', command: 'exit 0' }] }),
  });
  assert.equal(p.call('x', {}).value, 1);
});
