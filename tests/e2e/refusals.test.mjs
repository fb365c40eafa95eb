// Every position where a parameter of a command is rejected at load, and what would happen otherwise.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, folder, root } from './harness.mjs';

const tool = join(root, 'build', build, 'template_tool');
const rows = JSON.parse(readFileSync(join(root, 'tests/e2e/fixtures/refusals.json'), 'utf8'));
const params = [{ name: 'x', required: true }, { name: 'o' }, { name: 'xs', type: 'array', required: true }, { name: 'ob', type: 'object', required: true }];

test('each position is a load error with line, column and advice', () => {
  const input = rows.map(({ command }) => JSON.stringify({ command, params, args: [{ x: 'v', xs: [] }] }) + '\n').join('');
  const { stdout } = spawnSync(tool, { input, encoding: 'utf8' });
  const results = stdout.split('\n').slice(0, -1).map(line => JSON.parse(line));
  assert.equal(results.length, rows.length);
  for (const [i, { command, message }] of rows.entries()) {
    const { error, hint, kind, line, column } = results[i];
    assert.ok(error?.includes(message), `${command}: ${error}`);
    assert.equal(kind, 'config', command);
    assert.ok(hint.length > 0 && line >= 1 && column >= 1, command);
    assert.doesNotMatch(error + hint, /\n/);
    const at = command.split('\n')[line - 1].slice(column - 1);
    assert.match(at, /^(\{\{|["'$`(])/, `${command}: ${line}:${column}`);
  }
});

test('without the refusal it would go wrong', t => {
  let shown = 0;
  for (const { command, run, shell, proof } of rows) {
    if (!run) continue;
    const dir = folder(t);
    const { stdout, stderr } = spawnSync(shell, ['-c', run], { cwd: dir, encoding: 'utf8', input: '' });
    if (proof === 'pwned') assert.ok(existsSync(join(dir, 'pwned')), `${command}: ${run}: ${stderr}`);
    else assert.equal(stdout, proof, command);
    shown++;
  }
  assert.ok(shown >= 30, `${shown}`);
});

test('the documentation has every row', () => {
  const text = readFileSync(join(root, 'docs/internals/templates.md'), 'utf8');
  for (const { command, note } of rows) {
    assert.ok(text.includes(command.replaceAll('\n', '⏎').replaceAll('|', '\\|')), command);
    assert.ok(text.includes(note.replaceAll('|', '\\|')), note);
  }
});
