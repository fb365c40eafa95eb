// The examples that help shows: each is typed into a shell, in a project with the things they name.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { add, folder, run, shell, undo } from './harness.mjs';

const help = command => run([...command, '--help']).stdout;
const examplesOf = text => (text.match(/\nExample: (.*)/)?.[1] ?? text.split('\nExample:\n')[1]).trimEnd().split('\n').map(line => line.trim());
const commands = [...run(['help', '--markdown']).stdout.matchAll(/^## harness (.+)$/gm)].map(m => m[1].split(' '));

const files = {
  'draft.json': '{"files": {"harness.md": "---\\nmodel: {provider: script, name: x, script: x.star}\\n---\\n"}}',
  'README.md': 'A project.\n', 'Makefile': 'test:\n\t@echo tested\n', 'package.json': '{}\n', 'docs/reference/cli.md': '',
  'tools.json': '{"tools": [{"name": "changed", "command": ["/bin/echo", "[]"]}]}\n',
  'tool.schema.json': '{"type": "object"}\n', 'arguments.json': '{}\n',
  'remotes/x.json': '{}',
  'tests/draft2020-12/object.json': '[{"description": "d", "schema": {}, "tests": [{"description": "t", "data": 1, "valid": true}]}]\n',
  'sieve.star': 'def run():\n    return [n for n in range(2, 100) if all([n % k for k in range(2, n)])]\n', 'hello.star': 'print("hello")\n',
};

// These commands ask a server or the user's shell, or run until they are stopped, so the test only parses them.
const elsewhere = /^harness (console|workers?\b|mcp (tools|call|request|skill|serve|approve|add)|runs (resume|show|say|cancel|fork)|approvals (approve|deny|revoke)|trust forget|guard (claude|replay|doctor|export|install|uninstall)|sandbox --allow-domain)|\bjq\b|\bharness store (copy|migrate)\b/;

test('each example of each command works', t => {
  const dir = folder(t);
  assert.equal(run(['-C', dir, 'init']).status, 0);
  add(dir, files);
  const env = { HOME: `${dir}-home`, XDG_STATE_HOME: `${dir}-state`, HARNESS_OFFLINE: '1' };
  undo(t, () => shell(`rm -rf ${dir}-state ${dir}-home`));
  let tried = 0;
  for (const command of [[], ...commands])
    for (const example of examplesOf(help(command))) {
      const late = example.startsWith('harness init') || example.startsWith('harness scaffold');
      const cwd = late ? folder(t) : dir;
      const ran = shell(`set -e; mkdir -p ~/.config/fish/completions; harness() { timeout ${elsewhere.test(example) ? 1 : 20} "$HARNESS" "$@" </dev/null; }\n${example}`, { cwd, env });
      if (elsewhere.test(example)) assert.notEqual(ran.status, 2, `${example}\n${ran.stderr}`);
      else assert.equal(ran.status, 0, `${example}\n${ran.stdout}${ran.stderr}`);
      tried++;
    }
  assert.ok(tried > commands.length);
});
