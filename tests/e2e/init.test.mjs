// harness init and scaffold: what they write, and what they do not change.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder, run, shell } from './harness.mjs';

const files = ['harness.md', '.harness/model.star', '.harness/tools/read_file.md', '.harness/tools/write_file.md',
  '.harness/tools/list_files.md', '.harness/tools/run_command.md', '.harness/hooks/guard_commands.md', '.harness/hooks/guard_paths.md',
  '.harness/agents/reviewer.md', '.harness/tests/guard_commands.md'];

const tree = dir => readdirSync(dir, { recursive: true, withFileTypes: true }).filter(e => !e.isDirectory())
  .map(e => join(e.parentPath, e.name).slice(dir.length + 1)).sort();

test('init here: ten files that validate without a warning', t => {
  const dir = folder(t);
  const { status, stdout, stderr } = run(['-C', dir, 'init']);
  assert.equal(status, 0);
  assert.equal(stdout, files.map(f => `created  ${f}\n`).join(''));
  assert.equal(stderr, 'harness: next: harness run\n');
  assert.deepEqual(tree(dir), files.toSorted());
  const valid = run(['-C', dir, 'validate', '--strict']);
  assert.equal(valid.stderr, '');
  assert.equal(valid.status, 0);
  assert.match(valid.stdout, /ok: 4 tools, 2 hooks, 1 agent\n$/);
  const json = JSON.parse(run(['-C', dir, 'validate', '--strict', '--json']).stdout);
  assert.deepEqual(json.problems, []);
  assert.deepEqual(json.tools.map(x => x.name).sort(), ['list_files', 'read_file', 'run_command', 'write_file']);
  const model = run(['starlark', '--check', join(dir, '.harness/model.star')]);
  assert.equal(model.status, 0, model.stderr);
});

test('the offline model answers', t => {
  const dir = folder(t);
  run(['-C', dir, 'init', '-q']);
  const script = readFileSync(join(dir, '.harness/model.star'), 'utf8') + `
def answers():
    ask = lambda text: reply([{"role": "user", "content": text}], [])
    tool = [{"role": "user", "content": "x"}, {"role": "tool", "content": "42", "tool_call_id": "1"}]
    return json.encode([ask("list the files"), ask("run date -u"), ask("review harness.md"), ask(""), reply(tool, [])])

print(answers())
`;
  writeFileSync(join(dir, 'try.star'), script);
  const { status, stderr } = run(['-C', dir, 'starlark', 'try.star']);
  assert.equal(status, 0, stderr);
  const [list, command, review, empty, after] = JSON.parse(stderr);
  assert.deepEqual(list, { tool_calls: [{ name: 'list_files', arguments: { path: '.' } }] });
  assert.deepEqual(command, { tool_calls: [{ name: 'run_command', arguments: { command: 'date -u' } }] });
  assert.equal(review.tool_calls[0].name, 'delegate');
  assert.match(empty.text, /offline model/);
  assert.equal(after.text, 'The tool returned 42.');
});

test('scaffold and init NAME create a folder', t => {
  const dir = folder(t);
  const made = run(['-C', dir, 'scaffold', 'demo']);
  assert.equal(made.status, 0, made.stderr);
  assert.match(made.stdout, /^created  demo\/harness\.md\n/);
  assert.equal(made.stderr, 'harness: next: cd demo && harness run\n');
  assert.equal(run(['-C', join(dir, 'demo'), 'validate', '--strict']).status, 0);
  const again = run(['-C', dir, 'scaffold', 'demo']);
  assert.deepEqual(again, { status: 1, stdout: '', stderr: 'harness: create demo: File exists (harness init demo adds what is missing there)\n' });
  assert.equal(run(['-C', dir, 'init', 'other']).status, 0);
  assert.deepEqual(tree(join(dir, 'other')), files.toSorted());
  assert.deepEqual(run(['-C', dir, 'scaffold']), { status: 2, stdout: '', stderr: 'harness: scaffold: missing NAME (see harness scaffold --help)\n' });
  assert.deepEqual(run(['-C', dir, 'scaffold', 'no/such/place']),
    { status: 1, stdout: '', stderr: 'harness: create no/such/place: No such file or directory\n' });
});

test('nothing is ever overwritten', t => {
  const dir = folder(t);
  mkdirSync(join(dir, '.harness/tools'), { recursive: true });
  writeFileSync(join(dir, '.harness/tools/read_file.md'), 'mine');
  writeFileSync(join(dir, 'harness.md'), 'mine too');
  symlinkSync('/nowhere', join(dir, '.harness/model.star'));
  const first = run(['-C', dir, 'init', '--json']);
  assert.equal(first.status, 0);
  const got = JSON.parse(first.stdout);
  assert.deepEqual(Object.keys(got), ['root', 'created', 'existing']);
  assert.deepEqual(got.existing, ['harness.md', '.harness/model.star', '.harness/tools/read_file.md']);
  assert.equal(got.created.length, files.length - 3);
  assert.equal(readFileSync(join(dir, '.harness/tools/read_file.md'), 'utf8'), 'mine');
  assert.equal(readFileSync(join(dir, 'harness.md'), 'utf8'), 'mine too');
  assert.ok(!existsSync('/nowhere'));
  const second = run(['-C', dir, 'init']);
  assert.equal(second.status, 1);
  assert.equal(second.stdout, files.map(f => `exists  ${f}\n`).join(''));
  assert.equal(second.stderr, 'harness: nothing was written: all 10 files already exist\n');
  assert.equal(JSON.parse(run(['-C', dir, 'init', '--json']).stdout).error.message, 'nothing was written: all 10 files already exist');
});

test('with another project file harness.md is not written', t => {
  const dir = folder(t);
  writeFileSync(join(dir, 'harness.yaml'), 'system_prompt: Hello.\n');
  const { status, stdout } = run(['-C', dir, 'init']);
  assert.equal(status, 0);
  assert.match(stdout, /^exists   harness\.yaml\n/);
  assert.ok(!existsSync(join(dir, 'harness.md')));
  assert.equal(run(['-C', dir, 'validate', '--strict']).status, 0);
});

test('folders that cannot be used', t => {
  const dir = folder(t);
  writeFileSync(join(dir, '.harness'), 'a file');
  const file = run(['-C', dir, 'init']);
  assert.deepEqual(file, { status: 1, stdout: '', stderr: 'harness: .harness exists, but is not a folder\n' });
  assert.deepEqual(readdirSync(dir), ['.harness']);      // everything is checked before the first write
  const linked = folder(t), outside = folder(t);
  symlinkSync(outside, join(linked, '.harness'));
  assert.equal(run(['-C', linked, 'init']).status, 1);
  assert.deepEqual(readdirSync(outside), []);
  symlinkSync(outside, join(linked, 'new'));
  for (const name of ['new', 'new/']) assert.match(run(['-C', linked, 'init', name]).stderr, /^harness: new\/? is a symbolic link \(name the folder that it leads to\)/);
  assert.deepEqual(readdirSync(outside), []);
  assert.match(run(['init', '/proc/nothing']).stderr, /^harness: create \/proc\/nothing: /);
});

test('a folder that is read-only', { skip: process.getuid() === 0 && !canDrop() }, t => {
  const dir = folder(t);
  chmodSync(dir, 0o555);
  const { status, stderr } = unprivileged(dir, '"$HARNESS" init');
  assert.equal(status, 1);
  assert.equal(stderr, 'harness: create harness.md: Permission denied (make the folder writable, or choose another one with -C DIR)\n');
  const named = unprivileged(dir, '"$HARNESS" scaffold x');
  assert.equal(named.stderr, 'harness: create x: Permission denied (make the folder writable, or choose another one with -C DIR)\n');
  chmodSync(dir, 0o755);
  assert.equal(statSync(dir).isDirectory(), true);
});

function canDrop() { return shell('setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$HARNESS"').status === 0; }
function unprivileged(dir, script) {
  const drop = process.getuid() === 0 ? 'setpriv --reuid=65534 --regid=65534 --clear-groups ' : '';
  return shell(`cd '${dir}' && ${drop}${script}`);
}

test('the list is printed before the message', t => {
  const dir = folder(t);
  assert.match(shell(`"$HARNESS" -C ${dir} init 2>&1`).stdout, /^created  harness\.md\n[^]*harness: next: harness run\n$/);
  assert.match(shell(`"$HARNESS" -C ${dir} init 2>&1`).stdout, /^exists  harness\.md\n[^]*harness: nothing was written/);
});
