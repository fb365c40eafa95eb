// Every common error, tested as docs/troubleshooting.md shows it: the page has the command and its
// output, this table the setup that causes it.
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { add, bin, folder, root, run, shell, undo } from './harness.mjs';

const page = readFileSync(join(root, 'docs/troubleshooting.md'), 'utf8');

// "### TITLE", then a block: "$ COMMAND" and all that it prints.
const shown = Object.fromEntries(page.split(/^### /m).slice(1).map(section => {
  const block = section.match(/\n```sh norun\n([^]*?)```\n/)[1];
  const [command, ...output] = block.split('\n');
  return [section.split('\n')[0], { command: command.slice(2), output: output.join('\n') }];
}));

const edit = (file, from, to) => ({ dir }) => {
  const text = readFileSync(join(dir, file), 'utf8'), changed = text.replace(from, to);
  assert.notEqual(changed, text, file);
  writeFileSync(join(dir, file), changed);
};
const write = files => ({ dir }) => add(dir, files);
const settings = text => write({ 'harness.md': `---\n${text}\n---\n` });
const tool = (script, more = '') => write({ '.harness/tools/greet.md': `---\n${more}script: |\n${script.replace(/^/gm, '  ')}\n---\nGreets.\n` });
const program = (text, mode) => ({ dir }) => {
  add(dir, { 'tools.json': '{"tools": [{"name": "get_time", "command": ["./tools/bin/get_time"]}]}' });
  if (text === undefined) return;
  add(dir, { 'tools/bin/get_time': text });
  chmodSync(join(dir, 'tools/bin/get_time'), mode);
};
const empty = ({ dir }) => { rmSync(dir, { recursive: true }); mkdirSync(dir); };
// Root may write anywhere, so these run as the user nobody.
const locked = ({ dir }) => mkdirSync(join(dir, '../locked'), { mode: 0o555 });

// What is wrong; a status other than 1; the environment; `user`: as an ordinary user; `prefix`: before the command;
// `mounts`: with mounts of its own; `port`: while something listens on the port that the page calls 8080.
const table = {
  'No project in this folder': { make: empty, status: 0 },
  'A missing folder': {},
  'A misspelt command': { status: 2 },
  'A misspelt flag': { status: 2 },
  'A missing operand': { status: 2 },
  'A folder that cannot be written': { make: ({ dir }) => { empty({ dir }); chmodSync(dir, 0o555); }, user: true },
  'Two project files': { make: write({ 'harness.yaml': '' }) },
  'No model': { make: settings('limits: {max_turns: 5}') },
  'No key for the model': { make: settings('model: {provider: anthropic, name: claude-sonnet-4-5}') },
  'A misspelt provider': { make: settings('model:\n  provider: antropic\n  name: x') },
  'An unknown model': {},
  'The script of the offline model is missing': { make: edit('harness.md', 'model.star', 'modle.star') },
  'A model server that does not answer': {
    make: settings('model: {provider: openai, name: x, base_url: "http://127.0.0.1:9/v1", retry: {max_attempts: 1}}'), env: { OPENAI_API_KEY: 'k' } },
  'An agent that is not defined': {},
  'A misspelt field': { make: settings('model: gpt-4o\nlimtis: {max_turns: 5}') },
  'A misspelt type': { make: edit('.harness/tools/read_file.md', 'type: string', 'type: strng') },
  'No line of dashes': { make: edit('.harness/tools/read_file.md', '---\n', '') },
  'YAML with a wrong indentation': { make: settings('model:\n  provider: script\n   name: x') },
  'YAML with a tab': { make: settings('model:\n\tprovider: script') },
  'YAML with a bracket that is not closed': { make: settings('artifact_roots: [one, two') },
  'JSON with a comma too many': { make: write({ 'tools.json': '{"tools": [{"name": "x", "command": [],]}' }) },
  'A tool whose name has a space': { make: ({ dir }) => cpSync(join(dir, '.harness/tools/read_file.md'), join(dir, '.harness/tools/read file.md')) },
  'A sub-agent that refers to a missing tool': { make: edit('.harness/agents/reviewer.md', 'read_file', 'raed_file') },
  'A missing test': {},
  'A script with a wrong indentation': { make: tool('def run(args):\n    name = args["name"]\n      return name') },
  'A missing colon': { make: tool('def run(args)\n    return 1') },
  'A name that does not exist': { make: tool('def run(args):\n    return fs.raed("x")') },
  'A script without run': { make: tool('def main(args):\n    return 1') },
  'A script that fails': { make: tool('def run(args):\n    return args["name"] + 5') },
  'A script that takes too long': { make: tool('def run(args):\n    for i in range(1 << 40):\n        pass', 'timeout_ms: 100\n') },
  'A misspelt tool': {},
  'Arguments that are not JSON': {},
  'A missing argument': {},
  'An argument of the wrong type': {},
  'A tool that the policy hides': { make: edit('harness.md', 'limits:', 'tools_policy: {allow: [list_files]}\nlimits:') },
  'A call that a guard blocks': {},
  'A call that needs confirmation': { make: edit('.harness/tools/write_file.md', 'script:', 'confirm: true\nscript:') },
  'A dialog without a user': { make: settings('builtin_tools: [show_dialog]') },
  'An unknown run': {},
  'A missing program of tools.json': { make: program() },
  'A program that is not executable': { make: program('#!/bin/sh\n', 0o644) },
  'A program whose interpreter is missing': { make: program('#!/usr/bin/no-such-python\n', 0o755) },
  'A program that does not print JSON': { make: program('#!/bin/sh\necho noon\n', 0o755) },
  'A script starts a missing program': { make: tool('def run(args):\n    return exec.run("nothing", [])') },
  'The kernel has no Landlock': { env: { HARNESS_TEST_LANDLOCK_ABI: '0' } },
  'There are no private mounts': { prefix: 'harness() { setpriv --bounding-set=-sys_admin "$HARNESS" "$@" 2>&1; };' },
  'A file outside of the workspace': {},
  'A host that is not allowed': {
    make: at => { tool('def run(args):\n    return http.get("https://example.com/")')(at); edit('harness.md', 'limits:', 'network: {allowed_domains: [example.org]}\nlimits:')(at); } },
  'A program that may not use the network': {},
  'A port that is in use': { port: true },
  'An address that others can reach': { status: 2 },
  'A server that is not configured': {},
  'A server whose program is missing': { make: edit('harness.md', 'limits:', 'mcp_servers: {files: {command: no-such-server}}\nlimits:') },
  'A project that is not trusted': { env: { HARNESS_TRUST: '' }, make: write({ '.mcp.json': '{"mcpServers": {"files": {"command": "python3", "args": ["server.py"]}}}' }) },
  'No place for the state': { prefix: 'unset HOME XDG_STATE_HOME;' },
  'A state folder that cannot be written': { make: locked, user: true, prefix: 'export XDG_STATE_HOME=${PWD%/*}/locked;' },
  'A disk that is full': { mounts: true,
    prefix: 'mkdir -p $XDG_STATE_HOME; mount -t tmpfs -o size=64k none $XDG_STATE_HOME; head -c 64k /dev/zero >$XDG_STATE_HOME/all;' },
  'A state file that is damaged': { make: write({ '../state.db': 'This is not a database, however long it may be.\n'.repeat(40) }) },
  'A state file inside the workspace': {},
  'A file for the events that cannot be opened': {},
};

// Root can act as the user nobody if that user can read the program.
const isRoot = process.getuid() === 0;
const drop = 'setpriv --reuid=65534 --regid=65534 --clear-groups ';
const canMount = shell('unshare -m mount -t tmpfs none /mnt').status === 0;
const canDrop = !isRoot || shell(`${drop}test -x "$HARNESS"`).status === 0;

// A new project, made once.
const made = mkdtempSync(join(tmpdir(), 'harness-newcomer-'));
after(() => rmSync(made, { recursive: true }));
run(['-C', made, 'init']);

function listen(t) {
  const server = createServer();
  undo(t, () => server.close());
  return new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));
}

test('the page and the table name the same errors', () => assert.deepEqual(Object.keys(table), Object.keys(shown)));

for (const [title, { make, status = 1, env = {}, user, mounts, port, prefix = '' }] of Object.entries(table)) {
  const skip = (user && !canDrop && 'the program cannot be run as nobody') || (mounts && !canMount && 'this user may not mount');
  test(title, { skip }, async t => {
    const home = folder(t), dir = join(home, 'project');
    chmodSync(home, 0o755);
    cpSync(made, dir, { recursive: true });
    make?.({ dir });
    const taken = port ? await listen(t) : 8080;
    const [command, output] = [shown[title].command, shown[title].output].map(text => text.replaceAll('8080', taken));
    const as = user && isRoot ? drop : '';
    const ran = shell(`${mounts ? 'exec unshare -m bash -s <<\'END\'\n' : ''}cd ${dir}
      harness() { ${as}"$HARNESS" "$@" 2>&1; }\n${prefix}\n${command}\n${mounts ? 'END\n' : ''}`, { env: { XDG_STATE_HOME: join(home, 'state'), ...env, HARNESS: bin } });
    const pattern = output.split('…').map(part => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('[^\\n]*');
    assert.match(ran.stdout + ran.stderr, new RegExp(`^${pattern}$`));
    assert.equal(ran.status, status);
  });
}

test('a missing model script is reported by validate', t => {
  const dir = join(folder(t), 'p');
  run(['init', dir]);
  edit('harness.md', 'model.star', 'modle.star')({ dir });
  const { status, stderr } = run(['-C', dir, 'validate']);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: 'harness: harness.md: model.script: .harness/modle.star: No such file or directory [warning]\n' });
});
