// What a command prints at a terminal of a given width.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { bin, environment, root } from './harness.mjs';

// The lines of its output, without colours.
export function terminal(p, columns, args) {
  const out = spawnSync('python3', [join(root, 'tests/e2e/terminal.py'), 'sh', '-c', `stty cols ${columns}; exec "$0" "$@"`, bin, '-C', p.dir, ...args],
    { input: '[]', encoding: 'utf8', env: { ...environment, ...p.env, TERM: 'xterm', LANG: 'C.UTF-8' }, timeout: 60000 });
  assert.equal(out.status, 0, out.stderr);
  const r = JSON.parse(out.stdout);
  assert.equal(r.status, 0, r.output);
  return r.output.replaceAll(/\x1b\[[0-9;]*m/g, '').trimEnd().split('\r\n');
}
