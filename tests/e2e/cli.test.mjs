// The conventions that all commands share: help, flags, exit codes, --json failures, output.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder, root, run, shell } from './harness.mjs';

// The list of commands, from the program's own reference.
function commands() {
  return [...run(['help', '--markdown']).stdout.matchAll(/^## harness (.+)$/gm)].map(m => m[1]);
}

function failure(stdout) {
  const { error, ...rest } = JSON.parse(stdout);
  assert.deepEqual(rest, {});
  assert.deepEqual(Object.keys(error), ['kind', 'message', 'file', 'line', 'column', 'hint']);
  return error;
}

test('help names every command and the global flags, on one screen, with an example', () => {
  const { status, stdout, stderr } = run(['--help']);
  const lines = stdout.trimEnd().split('\n');
  assert.ok(lines.length <= 24, `${lines.length} lines`);
  for (const line of lines) assert.ok(line.length <= 80, line);
  assert.match(stdout, /^Example: harness /m);
  for (const command of commands()) assert.match(stdout, new RegExp(`^  .*\\b(${command}|${command.split(' ')[0]})(,|  |$)`, 'm'), command);
  assert.equal(status, 0);
  assert.equal(stderr, '');
  for (const command of ['agents', 'completion', 'doctor', 'help', 'hooks', 'init', 'inspect', 'json check', 'scaffold', 'starlark', 'tools',
    'validate', 'version'])
    assert.ok(commands().includes(command), command);
  for (const flag of ['-C', '-c, --config', '--json', '-v, --verbose', '-q, --quiet', '--log-level', '--log-format', '--color'])
    assert.ok(stdout.includes(flag), flag);
  assert.equal(run(['help']).stdout, stdout);
  assert.equal(run(['-h']).stdout, stdout);
});

test('every command has help with an example that fits a terminal', () => {
  for (const command of commands()) {
    const { status, stdout, stderr } = run([...command.split(' '), '--help']);
    assert.equal(status, 0, command);
    assert.equal(stderr, '', command);
    assert.ok(stdout.startsWith(`Usage: harness ${command}`), stdout);
    assert.match(stdout, /\nExample:\n {2}\S/);
    const lines = stdout.trimEnd().split('\n');
    assert.ok(lines.length <= 24, `${command}: ${lines.length} lines`);
    for (const line of lines) assert.ok(line.length <= 80, `${command}: ${line}`);
    assert.equal(run(['help', ...command.split(' ')]).stdout, stdout);
    assert.equal(run(['--help', ...command.split(' ')]).stdout, stdout);
  }
});

test('a group alone shows its commands', () => {
  const asked = run(['json', '--help']), bare = run(['json']);
  assert.equal(asked.status, 0);
  assert.match(asked.stdout, /json check/);
  assert.equal(bare.status, 2);
  assert.equal(bare.stdout, '');
  assert.equal(bare.stderr, asked.stdout);
});

test('without a command: usage on stderr, exit 2', () => {
  const { status, stdout, stderr } = run([]);
  assert.equal(status, 2);
  assert.equal(stdout, '');
  assert.equal(stderr, run(['--help']).stdout);
});

const wrong = [
  [['versoin'], 'unknown command "versoin" (did you mean "version"?)'],
  [['xyzzy'], 'unknown command "xyzzy"'],
  [[''], 'unknown command ""'],
  [['json', 'chekc', 'x'], 'json: unknown subcommand "chekc" (did you mean "check"?)'],
  [['version', '--jsno'], 'version: unknown flag "--jsno" (did you mean "--json"?)'],
  [['--quite', 'version'], 'unknown flag "--quite" (did you mean "--quiet"?)'],
  [['json', 'check', '--zzz=1', 'x'], 'json check: unknown flag "--zzz" (see harness json check --help)'],
  [['version', '-x'], 'version: unknown flag "-x" (see harness version --help)'],
  [['version', '-vx'], 'version: unknown flag "-vx" (see harness version --help)'],
  [['version', '--json=yes'], '--json takes no value'],
  [['version', '--log-level'], '--log-level needs a value: LEVEL'],
  [['-C'], '-C needs a value: DIR'],
  [['version', '--log-level', 'loud'], '--log-level: "loud" is not one of debug|info|warn|error'],
  [['version', '--log-format=xml'], '--log-format: "xml" is not one of text|json'],
  [['version', '--color', 'sometimes'], '--color: "sometimes" is not one of auto|always|never'],
  [['version', 'extra'], 'version: unexpected "extra" (see harness version --help)'],
  [['version', '--', '--json'], 'version: unexpected "--json" (see harness version --help)'],
  [['json', 'check'], 'json check: missing FILE (see harness json check --help)'],
  [['completion', 'ksh'], 'completion: "ksh" is not one of bash|zsh|fish (did you mean "zsh"?)'],
  [['help', 'nothing'], 'help: unknown command "nothing" (see harness --help)'],
  [['a\x1b[2J\nb\u009b'], 'unknown command "a\\x1b[2J\\x0ab\\x9b"'],
];

test('wrong use: exit 2, one line that helps', () => {
  for (const [args, message] of wrong) {
    const { status, stdout, stderr } = run(args);
    assert.deepEqual({ status, stdout, stderr }, { status: 2, stdout: '', stderr: `harness: ${message}\n` });
  }
});

test('wrong use with --json is an error object on stdout', () => {
  for (const args of [['versoin', '--json'], ['--json', 'versoin']]) {
    const { status, stdout, stderr } = run(args);
    assert.equal(status, 2);
    assert.equal(stderr, '');
    assert.deepEqual(failure(stdout), {
      kind: 'validation', message: 'unknown command "versoin"', file: null, line: null, column: null,
      hint: 'did you mean "version"?',
    });
  }
  assert.equal(failure(run(['--json']).stdout).message, 'missing command');
  assert.equal(failure(run(['json', '--json']).stdout).message, 'json: missing command');
});

test('global flags may come before or after the command', t => {
  const dir = folder(t);
  writeFileSync(join(dir, 'x.json'), '{}');
  for (const args of [['-C', dir, 'json', 'check', 'x.json'], ['json', '-C', dir, 'check', 'x.json'],
    ['json', 'check', 'x.json', '-C', dir], ['json', 'check', `-C${dir}`, 'x.json'],
    ['json', 'check', `--chdir=${dir}`, '--', 'x.json'], ['-v', '-q', '-c', 'f', 'json', 'check', '--chdir', dir, 'x.json']])
    assert.deepEqual(run(args), { status: 0, stdout: '', stderr: '' }, args.join(' '));
});

test('-C with a missing folder fails', () => {
  const { status, stdout, stderr } = run(['-C', '/nowhere/at/all', 'version']);
  assert.deepEqual({ status, stdout, stderr },
    { status: 1, stdout: '', stderr: 'harness: -C /nowhere/at/all: No such file or directory\n' });
});

test('the corresponding environment variables are read and checked', () => {
  assert.equal(run(['version'], { env: { HARNESS_LOG_LEVEL: 'debug', HARNESS_LOG_FORMAT: 'json' } }).status, 0);
  assert.equal(run(['version'], { env: { HARNESS_LOG_LEVEL: '' } }).status, 0);
  for (const [name, choices] of [['HARNESS_LOG_LEVEL', 'debug|info|warn|error'], ['HARNESS_LOG_FORMAT', 'text|json']]) {
    const { status, stderr } = run(['version'], { env: { [name]: 'zzz' } });
    assert.equal(status, 2);
    assert.equal(stderr, `harness: ${name}: "zzz" is not one of ${choices}\n`);
  }
});

test('colours only where they are wanted', () => {
  assert.doesNotMatch(run(['doctor']).stdout, /\x1b/);
  assert.match(run(['doctor', '--color', 'always']).stdout, /\x1b\[/);
  assert.match(run(['nope', '--color', 'always']).stderr, /^harness: /);   // not read yet when the command is unknown
  assert.match(run(['json', 'check', '/nope', '--color=always']).stderr, /^\x1b\[1;31mharness:\x1b\[0m /);
});

test('a write error on stdout is exit 1 with a message', () => {
  for (const command of ['version', 'version --json', 'doctor', '--help', 'completion bash', 'json check --json /dev/null']) {
    const full = shell(`"$HARNESS" ${command} >/dev/full`);
    assert.deepEqual(full, { status: 1, stdout: '', stderr: 'harness: write standard output: No space left on device\n' });
    const closed = shell(`"$HARNESS" ${command} >&-`);
    assert.deepEqual(closed, { status: 1, stdout: '', stderr: 'harness: write standard output: Bad file descriptor\n' });
  }
  const pipe = shell('exec 3>&1; { sleep 0.2; "$HARNESS" version; echo "status $?" >&3; } | true');
  assert.equal(pipe.stdout, 'status 1\n');
  assert.equal(pipe.stderr, 'harness: write standard output: Broken pipe\n');
});

test('closed stdin and stderr are harmless', () => {
  assert.equal(shell('"$HARNESS" version <&- 2>&-').status, 0);
  assert.equal(shell('"$HARNESS" nope <&- 2>&- >&-').status, 2);
  assert.equal(shell('"$HARNESS" json check - <&-').status, 1);
  assert.equal(shell('"$HARNESS" nope 2>/dev/full').status, 2);
});

test('Ctrl-C ends with 130', () => {
  const script = 'set -m; sleep 5 | "$HARNESS" json check - & sleep 0.5; kill -INT -- -$!; wait $!; echo $?';
  assert.equal(shell(script).stdout, '130\n');
});

test('the man page names every command and global flag', () => {
  const page = readFileSync(join(root, 'docs/man/harness.1'), 'utf8').replaceAll('\\-', '-');
  for (const command of commands()) assert.ok(page.includes(`.B harness ${command}`), command);
  for (const [flag] of run(['--help']).stdout.matchAll(/--[a-z-]{3,}/g)) assert.ok(page.includes(flag), flag);
  const { status, stderr } = shell('command -v man >/dev/null || exit 0; man --warnings -l docs/man/harness.1 >/dev/null', { cwd: root });
  assert.equal(status, 0);
  assert.equal(stderr, '');
});

test('the reference page matches the table', () => {
  const { status, stdout } = run(['help', '--markdown']);
  assert.equal(status, 0);
  assert.equal(stdout, readFileSync(join(root, 'docs/reference/cli.md'), 'utf8'), 'run make docs');
  for (const command of commands()) assert.ok(stdout.includes(`\n## harness ${command}\n`), command);
});

test('the reference page of scripts matches the tables', () => {
  const { status, stdout } = run(['help', '--starlark-markdown']);
  assert.equal(status, 0);
  assert.equal(stdout, readFileSync(join(root, 'docs/reference/starlark.md'), 'utf8'), 'run make docs');
});

test('completion scripts come from the table and parse', t => {
  const dir = folder(t);
  for (const name of ['bash', 'zsh', 'fish']) {
    const { status, stdout } = run(['completion', name]);
    assert.equal(status, 0);
    for (const word of commands().flatMap(c => c.split(' '))) assert.match(stdout, new RegExp(`\\b${word}\\b`));
    assert.match(stdout, /log-level/);
    writeFileSync(join(dir, name), stdout);
    const check = shell(`${name} -n ${join(dir, name)}`);
    assert.equal(check.status, 0, check.stderr);
  }
});

test('bash completes commands, subcommands, flags, values and files', t => {
  const dir = folder(t);
  writeFileSync(join(dir, 'data.json'), '{}');
  const complete = (...words) => {
    const quoted = words.map(w => `'${w}'`).join(' ');
    const script = `source <("$HARNESS" completion bash)
      COMP_WORDS=(harness ${quoted}); COMP_CWORD=${words.length}; _harness; echo "\${COMPREPLY[*]}"`;
    return shell(script, { cwd: dir }).stdout.trim();
  };
  assert.equal(complete('ver'), 'version');
  assert.equal(complete('json', ''), 'check');
  assert.equal(complete('-C', '/', 'js'), 'json');
  assert.equal(complete('version', '--js'), '--json');
  assert.equal(complete('--log-level', 'd'), 'debug');
  assert.equal(complete('completion', 'f'), 'fish');
  assert.equal(complete('json', 'check', ''), 'data.json');
});
