// harness sandbox --profile: an agent of another vendor with a home folder of its own and a hook that it cannot change. The agent here is a script;
// tests/vendors runs the real ones.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, environment, folder, build } from './harness.mjs';

const mounts = /layer: mounts +all/.test(spawnSync(bin, ['sandbox', '--explain', '--', 'true'], { encoding: 'utf8' }).stderr);

function stage(t, script) {
  const top = folder(t), dir = join(top, 'p'), home = join(top, 'home'), tools = join(top, 'tools');
  for (const d of [dir, home, tools]) mkdirSync(d);
  writeFileSync(join(dir, 'harness.md'), '---\nrules:\n  - { name: no-x, shell: [touch, x], decide: deny }\n---\n');
  writeFileSync(join(tools, 'claude'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(tools, 'claude'), 0o755);
  const env = { ...environment, PATH: `${tools}:${environment.PATH}`, HOME: home, XDG_DATA_HOME: '', XDG_STATE_HOME: join(top, 'state'), ANTHROPIC_API_KEY: 'key', OTHER_SECRET: 'no' };
  const own = join(home, '.local/share/harness/profiles/claude');
  return { top, dir, home, own, env, run: (...flags) => spawnSync(bin, ['sandbox', '--profile', 'claude', ...flags, '--', 'claude'], { cwd: dir, env, encoding: 'utf8', timeout: 60000 }) };
}

test('the agent has a home of its own, its key, and the hook; it changes neither the hook nor the policy', { skip: !mounts && 'private mounts are not available' }, t => {
  const s = stage(t, `echo "$HOME $ANTHROPIC_API_KEY [$OTHER_SECRET]"; cat "$HOME/.config/harness/guard.md"; touch "$HOME/kept" made ../outside; echo {} > "$HOME/.claude/settings.json"
rm -rf "$HOME/.config" "$HOME/.claude" harness.md; cat ${'$'}{0%/*}/../home/secret; exit 3`);
  writeFileSync(join(s.home, 'secret'), 'mine');
  mkdirSync(join(s.home, '.config/harness'), { recursive: true, mode: 0o700 });
  writeFileSync(join(s.home, '.config/harness/guard.md'), '---\nrules:\n  - { name: mine, shell: [rm], decide: deny }\n---\n', { mode: 0o600 });
  const r = s.run();
  assert.equal(r.status, 3, r.stderr);
  assert.ok(r.stdout.startsWith(`${s.own} key []\n`), r.stdout);
  assert.match(r.stdout, /name: mine/);
  assert.ok(!r.stdout.endsWith('mine'), 'the real home folder is not readable');
  assert.ok(existsSync(join(s.own, 'kept')) && existsSync(join(s.dir, 'made')) && !existsSync(join(s.top, 'outside')) && existsSync(join(s.dir, 'harness.md')));
  const hook = JSON.parse(readFileSync(join(s.own, '.claude/settings.json'), 'utf8')).hooks.PreToolUse[0].hooks[0];
  assert.match(hook.command, / guard claude$/);
  assert.equal(hook.onFailure, 'block');
  assert.match(readFileSync(join(s.own, '.config/harness/guard.md'), 'utf8'), /name: mine/);
});

// Inside, memory is limited, and a program with a sanitizer reserves more address space than that.
const noSanitizer = !['asan', 'tsan', 'hostile'].includes(build);
test('the installed hook judges calls from inside', { skip: !mounts ? 'private mounts are not available' : !noSanitizer && 'a sanitizer needs more address space than a sandbox has' }, t => {
  const envelope = command => JSON.stringify({ session_id: 's', transcript_path: '/t', permission_mode: 'default', hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command } });
  const s = stage(t, `hook=$(sed -n 's/.*"command": "\\([^"]*guard claude\\)".*/\\1/p' "$HOME/.claude/settings.json" | head -1)
echo '${envelope('touch x')}' | $hook; echo "status $?"; echo '${envelope('touch y')}' | $hook; echo "status $?"`);
  const r = s.run();
  assert.match(r.stdout, /"permissionDecision":"deny".*no-x.*\nstatus 2\nstatus 0\n/, r.stderr);
});

test('wrong use, and a link that an earlier run left', t => {
  const s = stage(t, 'true');
  const other = spawnSync(bin, ['sandbox', '--profile', 'cursor', '--', 'true'], { cwd: s.dir, env: s.env, encoding: 'utf8' });
  assert.match(other.stderr, /--profile: there is none for "cursor", only for claude/);
  assert.equal(spawnSync(bin, ['sandbox', '--profile', 'claude', '--', 'no-such-program'], { cwd: s.dir, env: s.env, encoding: 'utf8' }).status, 1);
  mkdirSync(s.own, { recursive: true });
  symlinkSync(s.home, join(s.own, '.claude'));
  const r = s.run();
  assert.equal(r.status, 1);
  assert.match(r.stderr, /is reached by a link/);
  assert.ok(!existsSync(join(s.home, 'settings.json')));
});
