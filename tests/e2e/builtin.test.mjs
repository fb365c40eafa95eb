// The built-in tools, each called through the whole pipeline with `harness call`.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { add, folder, project, run, shell } from './harness.mjs';

const settings = '---\nbuiltin_tools: all\n---\n';

// The value a call prints, and its exit status.
function call(dir, tool, args, flags = ['--ephemeral']) {
  const { status, stdout, stderr } = run(['call', tool, JSON.stringify(args), ...flags], { cwd: dir });
  assert.notEqual(stdout, '', stderr);
  return { status, value: JSON.parse(stdout) };
}

function good(dir, tool, args, flags) {
  const { status, value } = call(dir, tool, args, flags);
  assert.equal(status, 0, JSON.stringify(value));
  return value;
}

function bad(dir, tool, args, message, flags) {
  const { status, value } = call(dir, tool, args, flags);
  assert.equal(status, 1, JSON.stringify(value));
  assert.match(value.error, message);
  return value;
}

// Makes calls that share their reads: these need a session, and so a store, which is outside the project.
function session(t) {
  const state = join(folder(t), 'state.db');
  return (dir, tool, args, flags = []) => {
    const r = run(['call', tool, JSON.stringify(args), '--session', 's', ...flags], { cwd: dir, env: { HARNESS_STATE: state } });
    return { status: r.status, value: JSON.parse(r.stdout || JSON.stringify({ error: r.stderr })) };
  };
}

const small = (t, files = {}) => project(t, { 'harness.md': settings, 'a.txt': 'one\ntwo\nthree\n', ...files });

/* ---- read ---- */

test('read numbers lines from 1', t => {
  const dir = small(t, { 'empty': '', 'open': 'no end', 'crlf': 'a\r\nb\r\n' });
  const rows = [
    [{ path: 'a.txt' }, '     1\tone\n     2\ttwo\n     3\tthree\n'],
    [{ path: './a.txt', offset: 1 }, '     2\ttwo\n     3\tthree\n'],
    [{ path: 'a.txt', limit: 1 }, '     1\tone\n… 2 more lines: continue with offset 1\n'],
    [{ path: 'a.txt', offset: 1, limit: 1 }, '     2\ttwo\n… 1 more line: continue with offset 2\n'],
    [{ path: 'a.txt', limit: 1e15 }, '     1\tone\n     2\ttwo\n     3\tthree\n'],
    [{ path: join(dir, 'a.txt'), limit: 3 }, '     1\tone\n     2\ttwo\n     3\tthree\n'],
    [{ path: 'empty' }, ''],
    [{ path: 'open' }, '     1\tno end\n'],
    [{ path: 'crlf' }, '     1\ta\r\n     2\tb\r\n'],
  ];
  for (const [args, expected] of rows) assert.equal(good(dir, 'read', args), expected, JSON.stringify(args));
  bad(dir, 'read', { path: 'a.txt', offset: 3 }, /offset 3 is beyond the end: the file has 3 lines/);
  bad(dir, 'read', { path: 'empty', offset: 1 }, /the file has 0 lines/);
});

test('read stops at the limit', t => {
  const line = i => `line ${i} ${'é'.repeat(i % 50)}`;
  const lines = Array.from({ length: 60000 }, (_, i) => line(i));
  const dir = small(t, { 'big': lines.join('\n') + '\n', 'wide': 'x'.repeat(3 << 20) + '\nend' });
  const size = statSync(join(dir, 'big')).size;
  const numbered = (from, to) => lines.slice(from, to).map((l, i) => `${String(from + i + 1).padStart(6)}\t${l}\n`).join('');
  const start = n => Buffer.byteLength(lines.slice(0, n).join('\n') + '\n');
  // The rest is counted in bytes if it is more than 1 MiB, else in lines.
  assert.equal(good(dir, 'read', { path: 'big', limit: 10 }), `${numbered(0, 10)}… ${size - start(10)} more bytes: continue with offset 10\n`);
  assert.equal(good(dir, 'read', { path: 'big', offset: 59000, limit: 20 }), `${numbered(59000, 59020)}… 980 more lines: continue with offset 59020\n`);
  assert.equal(good(dir, 'read', { path: 'big', offset: 59998 }), numbered(59998, 60000));
  bad(dir, 'read', { path: 'big', offset: 60000 }, /offset 60000 is beyond the end: the file has 60000 lines/);
  assert.equal(good(dir, 'read', { path: 'wide', offset: 1 }), '     2\tend\n');
});

test('read refuses what it cannot show', t => {
  const dir = small(t, { 'sub/x': '' });
  writeFileSync(join(dir, 'nul'), Buffer.from([65, 0, 66]));
  writeFileSync(join(dir, 'noise'), Buffer.from(Array.from({ length: 3000 }, (_, i) => 128 + (i * 37) % 128)));
  shell(`mkfifo ${dir}/fifo; truncate -s 50M ${dir}/fits; truncate -s 52428801 ${dir}/large`);
  bad(dir, 'read', { path: 'nul' }, /^nul: binary file of 3 bytes/);
  bad(dir, 'read', { path: 'noise' }, /binary file/);
  bad(dir, 'read', { path: 'fifo' }, /fifo/);
  bad(dir, 'read', { path: 'sub' }, /sub/);
  bad(dir, 'read', { path: 'large' }, /larger than 52428800 bytes/);
  bad(dir, 'read', { path: 'fits' }, /binary file of 52428800 bytes/);
  bad(dir, 'read', { path: 'none' }, /^none: no such file/);
  bad(dir, 'read', { path: 'a.txt', limit: 0 }, /limit/);
  bad(dir, 'read', { path: 'a.txt', offset: -1 }, /offset/);
  bad(dir, 'read', { path: '' }, /path/);
  bad(dir, 'read', { path: 'a.txt', lines: 5 }, /lines/);
});

test('read keeps text that is not quite UTF-8', t => {
  const dir = small(t);
  writeFileSync(join(dir, 'latin'), Buffer.from('caf\xe9 au lait\n', 'latin1'));
  assert.equal(good(dir, 'read', { path: 'latin' }), '     1\tcaf� au lait\n');
});

test('read gives images and PDFs as typed content', t => {
  const dir = small(t);
  const rows = [
    ['p', 'image/png', Buffer.from('\x89PNG\r\n\x1a\n\0\0', 'latin1')], ['j', 'image/jpeg', Buffer.from('\xff\xd8\xff\xe0\0', 'latin1')],
    ['g', 'image/gif', Buffer.from('GIF89a\0')], ['w', 'image/webp', Buffer.from('RIFF\0\0\0\0WEBPVP8 ')], ['d é', 'application/pdf', Buffer.from('%PDF-1.7\n\0')],
  ];
  for (const [path, mime, bytes] of rows) {
    writeFileSync(join(dir, path), bytes);
    const r = JSON.parse(run(['call', 'read', JSON.stringify({ path }), '--json', '--ephemeral'], { cwd: dir }).stdout);
    assert.deepEqual(r.value, { path, mime, size: bytes.length });
    const block = r.content[1];
    if (mime === 'application/pdf') {
      assert.equal(block.type, 'resource');
      assert.equal(block.resource.blob, bytes.toString('base64'));
      assert.match(block.resource.uri, /^file:\/\/\/.*\/d%20%C3%A9$/);
    } else assert.deepEqual(block, { type: 'image', data: bytes.toString('base64'), mimeType: mime });
    assert.equal(r.content[0].type, 'text');
  }
});

/* ---- write ---- */

test('write creates files and folders', t => {
  const dir = small(t);
  assert.deepEqual(good(dir, 'write', { path: 'n/m/x.txt', content: 'hällo\n' }), { path: 'n/m/x.txt', created: true, bytes: 7 });
  assert.equal(readFileSync(join(dir, 'n/m/x.txt'), 'utf8'), 'hällo\n');
  assert.deepEqual(readdirSync(join(dir, 'n/m')), ['x.txt']);
  good(dir, 'write', { path: 'empty', content: '' });
  assert.equal(statSync(join(dir, 'empty')).size, 0);
});

test('write replaces only what was read and is unchanged', t => {
  const dir = small(t);
  const in_session = session(t);
  bad(dir, 'write', { path: 'a.txt', content: 'x' }, /has not been read in this session/);
  chmodSync(join(dir, 'a.txt'), 0o640);
  assert.equal(in_session(dir, 'read', { path: 'a.txt' }).status, 0);
  assert.deepEqual(in_session(dir, 'write', { path: 'a.txt', content: 'mine\n' }).value, { path: 'a.txt', created: false, bytes: 5 });
  assert.equal(statSync(join(dir, 'a.txt')).mode & 0o777, 0o640);
  assert.equal(in_session(dir, 'write', { path: './a.txt', content: 'again\n' }).status, 0, 'what it wrote itself is known');
  writeFileSync(join(dir, 'a.txt'), 'other\n');
  assert.match(in_session(dir, 'write', { path: 'a.txt', content: 'x' }).value.error, /has changed since it was read: read it again/);
  assert.equal(readFileSync(join(dir, 'a.txt'), 'utf8'), 'other\n');
  assert.equal(in_session(dir, 'read', { path: 'a.txt' }).status, 0);
  assert.equal(in_session(dir, 'edit', { path: 'a.txt', old_string: 'other', new_string: 'edited' }).status, 0);
  assert.equal(in_session(dir, 'write', { path: 'a.txt', content: 'x' }).status, 0, 'an edit of a known file leaves it known');
  writeFileSync(join(dir, 'b.txt'), 'unknown text\n');
  assert.equal(in_session(dir, 'edit', { path: 'b.txt', old_string: 'text', new_string: 'word' }).status, 0);
  assert.match(in_session(dir, 'write', { path: 'b.txt', content: 'x' }).value.error, /not been read/, 'an edit of an unknown one does not');
});

test('write goes through a link to the file itself', t => {
  const dir = small(t);
  symlinkSync('a.txt', join(dir, 'link'));
  const in_session = session(t);
  in_session(dir, 'read', { path: 'link' });
  assert.equal(in_session(dir, 'write', { path: 'a.txt', content: 'new\n' }).status, 0);
  assert.equal(readFileSync(join(dir, 'link'), 'utf8'), 'new\n');
});

test('write refuses what is too large', t => {
  const dir = small(t);
  const args = join(dir, 'args.json');
  writeFileSync(args, JSON.stringify({ path: 'big', content: 'x'.repeat(52428801) }));
  const r = shell(`"$HARNESS" call write --ephemeral - < ${args}`, { cwd: dir });
  assert.equal(r.status, 1);
  assert.match(r.stdout + r.stderr, /larger than 52428800 bytes/);
  assert.ok(!existsSync(join(dir, 'big')));
});

/* ---- edit ---- */

test('edit replaces exactly', t => {
  const dir = small(t, { 'e.txt': 'a b\na  b\n\ta b\n', 'one.txt': 'x = 1\n' });
  chmodSync(join(dir, 'one.txt'), 0o755);
  assert.deepEqual(good(dir, 'edit', { path: 'one.txt', old_string: 'x = 1', new_string: 'y = $&2' }), { path: 'one.txt', replacements: 1 });
  assert.equal(readFileSync(join(dir, 'one.txt'), 'utf8'), 'y = $&2\n');
  assert.equal(statSync(join(dir, 'one.txt')).mode & 0o777, 0o755);
  bad(dir, 'edit', { path: 'e.txt', old_string: 'a b', new_string: 'c' }, /ambiguous.* 2 times.*lines 1 and 3/);
  bad(dir, 'edit', { path: 'e.txt', old_string: 'a   b', new_string: 'c' }, /not found/);
  bad(dir, 'edit', { path: 'e.txt', old_string: 'a b', new_string: 'a b' }, /same/);
  bad(dir, 'edit', { path: 'e.txt', old_string: '', new_string: 'a b' }, /old_string/);
  bad(dir, 'edit', { path: 'none', old_string: 'x', new_string: 'y' }, /^none: no such file/);
  assert.deepEqual(good(dir, 'edit', { path: 'e.txt', old_string: 'a b', new_string: '', replace_all: true }), { path: 'e.txt', replacements: 2 });
  assert.equal(readFileSync(join(dir, 'e.txt'), 'utf8'), '\na  b\n\t\n');
});

/* ---- sensitive names ---- */

test('write and edit ask about sensitive names, on the resolved path', t => {
  const dir = small(t, { 'server.KEY': 'k', 'keys/id_rsa/config': 'c' });
  symlinkSync('server.KEY', join(dir, 'plain'));
  for (const path of ['.env', '.ENV.local', 'credentials.json', 'sub/x.pem', 'id_ed25519', 'keys/id_new/readme', 'secrets.json', 'sub/.npmrc', '.pypirc', '.netrc'])
    bad(dir, 'write', { path, content: 'x' }, /needs confirmation \(sensitive name: /);
  for (const path of ['server.KEY', 'plain', 'keys/id_rsa/config'])
    bad(dir, 'edit', { path, old_string: path.endsWith('config') ? 'c' : 'k', new_string: 'x' }, /needs confirmation \(sensitive name: /);
  assert.equal(readFileSync(join(dir, 'server.KEY'), 'utf8'), 'k');
  assert.ok(!existsSync(join(dir, '.env')));
  good(dir, 'write', { path: '.env', content: 'x' }, ['--ephemeral', '--approve', 'write']);
  good(dir, 'edit', { path: 'plain', old_string: 'k', new_string: 'x' }, ['--ephemeral', '--yes']);
  assert.equal(readFileSync(join(dir, 'server.KEY'), 'utf8'), 'x');
  good(dir, 'write', { path: 'environment', content: 'x' });
});

// What the prompt shows when the user declines.
function shown(dir, tool, args) {
  const terminal = new URL('terminal.py', import.meta.url).pathname;
  const r = shell(`python3 ${terminal} "$HARNESS" call --ephemeral ${tool} '${JSON.stringify(args)}'`, { cwd: dir, input: JSON.stringify([['', '? '], ['n\n', 'the user declined']]) });
  return JSON.parse(r.stdout).output;
}

test('the user sees the command or the diff', t => {
  const dir = project(t, { 'harness.md': '---\nbuiltin_tools: all\nlimits:\n  confirm: [destructive]\n---\n', 'a.txt': 'one\ntwo\n' });
  const edit = shown(dir, 'edit', { path: 'a.txt', old_string: 'two', new_string: 'II' });
  assert.match(edit, /-two/);
  assert.match(edit, /\+II/);
  const write = shown(dir, 'write', { path: 'n.txt', content: 'new' });
  assert.match(write, /\+\+\+ n\.txt/);
  assert.match(write, /\+new/);
  assert.match(shown(dir, 'bash', { command: 'echo $((1+1))', cwd: '.' }), /cd \.\s+echo \$\(\(1\+1\)\)/);
  assert.equal(readFileSync(join(dir, 'a.txt'), 'utf8'), 'one\ntwo\n');
});

/* ---- glob ---- */

test('glob finds files, newest first', t => {
  const dir = small(t, { 'src/x.c': '', 'src/deep/y.c': '', 'src/z.h': '', '.hidden/h.c': '', 'out/gen.c': '', '.gitignore': 'out/\n', '.git/config': '' });
  utimesSync(join(dir, 'src/x.c'), 1000, 1000);
  utimesSync(join(dir, 'src/deep/y.c'), 2000, 2000);
  const rows = [
    [{ pattern: '**/*.c' }, ['src/deep/y.c', 'src/x.c']],
    [{ pattern: '*.c', path: 'src' }, ['src/x.c']],
    [{ pattern: '*.{c,h}', path: 'src' }, ['src/z.h', 'src/x.c']],
    [{ pattern: 'src/[x-y].?' }, ['src/x.c']],
    [{ pattern: '**/h.c' }, []],
    [{ pattern: '**/h.c', hidden: true }, ['.hidden/h.c']],
    [{ pattern: 'nothing*' }, []],
  ];
  for (const [args, files] of rows) assert.deepEqual(good(dir, 'glob', args), { files, truncated: false }, JSON.stringify(args));
  bad(dir, 'glob', { pattern: '[a' }, /glob/);
  bad(dir, 'glob', { pattern: '*', path: 'none' }, /none: no such/);
  bad(dir, 'glob', { pattern: '*', path: 'a.txt' }, /a\.txt/);
});

test('glob keeps the 10,000 newest', t => {
  const dir = small(t);
  shell(`mkdir ${dir}/many && cd ${dir}/many && seq 10050 | xargs touch -d @1000 && touch -d @2000 5`);
  const r = JSON.parse(run(['call', 'glob', '{"pattern":"many/*"}', '--ephemeral'], { cwd: dir }).stdout);
  assert.equal(r.files.length, 10000);
  assert.equal(r.files[0], 'many/5');
  assert.equal(r.truncated, true);
  const l = JSON.parse(run(['call', 'listdir', '{"path":"many"}', '--ephemeral'], { cwd: dir }).stdout);
  assert.equal(l.entries.length, 10000);
  assert.equal(l.truncated, true);
});

/* ---- grep ---- */

test('grep finds lines with their context', t => {
  const dir = small(t, { 'b.py': 'def one():\n    return "One"\n', 'skip.log': 'one\n', '.gitignore': '*.log\n', '.secret': 'one\n' });
  writeFileSync(join(dir, 'bin'), Buffer.from('one\0one\n'));
  const m = (path, line, text, before = [], after = []) => ({ path, line, text, before, after });
  const rows = [
    [{ pattern: 'one' }, [m('a.txt', 1, 'one'), m('b.py', 1, 'def one():')]],
    [{ pattern: '(?i)ONE', path: 'b.py' }, [m('b.py', 1, 'def one():'), m('b.py', 2, '    return "One"')]],
    [{ pattern: 'one', type: 'py' }, [m('b.py', 1, 'def one():')]],
    [{ pattern: 'two', context: 1 }, [m('a.txt', 2, 'two', ['one'], ['three'])]],
    [{ pattern: 'two', '-C': 1 }, [m('a.txt', 2, 'two', ['one'], ['three'])]],
    [{ pattern: '^t', path: '.' }, [m('a.txt', 2, 'two'), m('a.txt', 3, 'three')]],
    [{ pattern: 'nowhere' }, []],
  ];
  for (const [args, matches] of rows) assert.deepEqual(good(dir, 'grep', args), { matches, truncated: false }, JSON.stringify(args));
  bad(dir, 'grep', { pattern: '(' }, /parenthes/);
  bad(dir, 'grep', { pattern: 'x', type: 'no such' }, /type/);
  bad(dir, 'grep', { pattern: 'x', path: 'none' }, /none: no such/);
  bad(dir, 'grep', { pattern: 'x', context: 1, '-C': 2 }, /differ/);
  bad(dir, 'grep', { pattern: 'x', context: -1 }, /context/);
});

test('grep stops at 1,000 matches', t => {
  const dir = small(t, { 'many': 'line\n'.repeat(1500) });
  const r = good(dir, 'grep', { pattern: 'line' });
  assert.equal(r.matches.length, 1000);
  assert.equal(r.truncated, true);
});

/* ---- listdir ---- */

test('listdir returns type, size and time', t => {
  const dir = small(t, { 'sub/x': 'four', 'sub/in/y': '' });
  symlinkSync('/etc', join(dir, 'sub/out'));
  utimesSync(join(dir, 'sub/x'), 0, 0);
  const plain = good(dir, 'listdir', { path: 'sub' });
  assert.deepEqual(plain.entries.map(e => [e.path, e.type]), [['sub/in', 'directory'], ['sub/out', 'symlink'], ['sub/x', 'file']]);
  assert.deepEqual(plain.entries[2], { path: 'sub/x', type: 'file', size: 4, modified: '1970-01-01T00:00:00Z' });
  assert.equal(plain.truncated, false);
  const all = good(dir, 'listdir', { path: '.', recursive: true });
  assert.deepEqual(all.entries.map(e => e.path), ['a.txt', 'harness.md', 'sub', 'sub/in', 'sub/in/y', 'sub/out', 'sub/x']);
  bad(dir, 'listdir', { path: 'a.txt' }, /a\.txt/);
  bad(dir, 'listdir', { path: 'none' }, /no such/);
});

/* ---- bash ---- */

test('bash returns output and exit code', t => {
  const dir = small(t, { 'sub/x': '' });
  assert.deepEqual(good(dir, 'bash', { command: 'echo out; echo err >&2' }), { stdout: 'out\n', stderr: 'err\n', exit_code: 0 });
  assert.equal(good(dir, 'bash', { command: 'pwd', cwd: 'sub' }).stdout, join(dir, 'sub') + '\n');
  assert.equal(good(dir, 'bash', { command: 'x=(1 2); echo ${x[1]}' }).stdout, '2\n', 'bash, not sh');
  const failed = bad(dir, 'bash', { command: 'echo before; exit 3' }, /exit status 3/);
  assert.deepEqual(failed, { stdout: 'before\n', stderr: '', exit_code: 3, error: 'exit status 3' });
  const late = bad(dir, 'bash', { command: 'echo start; sleep 20', timeout: 0.5 }, /timed out/);
  assert.equal(late.timed_out, true);
  for (const timeout of [0, 0.05, 601, '5']) bad(dir, 'bash', { command: 'true', timeout }, /timeout/);
  bad(dir, 'bash', { command: '' }, /command/);
  bad(dir, 'bash', { command: 'echo a\0b' }, /NUL/);
  writeFileSync(join(dir, 'args'), JSON.stringify({ command: ': ' + 'x'.repeat(140000) }));
  assert.match(shell('"$HARNESS" call --ephemeral --yes bash - < args', { cwd: dir }).stdout, /longer than 131071 bytes/);
  bad(dir, 'bash', { command: 'true', cwd: 'a.txt' }, /a\.txt/);
  bad(dir, 'bash', { command: 'true', cwd: 'none' }, /none/);
});

test('bash refuses destructive commands and asks about unknown ones', t => {
  const dir = small(t);
  for (const command of ['rm -rf .', 'rm -r -f sub', 'env X=1 nice rm -fr /', "sh -c 'rm -rf x'", 'git push --force', 'mkfs.ext4 /dev/sda', ':(){ :|:& };:', 'shutdown now',
    'find . -exec rm -rf {} +'])
    bad(dir, 'bash', { command }, /destructive command refused: /, ['--ephemeral', '--yes']);
  for (const command of ['$x -rf a', 'eval "$y"']) bad(dir, 'bash', { command }, /needs confirmation/);
  good(dir, 'bash', { command: 'x=echo; $x agreed' }, ['--ephemeral', '--yes']);
});

/* ---- the boundary ---- */

test('no built-in tool leaves the workspace', t => {
  const outside = folder(t);
  add(outside, { 'secret.txt': 'secret\n', 'sub/s': 'secret\n' });
  const dir = small(t, { 'in/x': '' });
  symlinkSync(outside, join(dir, 'way'));
  symlinkSync(join(outside, 'secret.txt'), join(dir, 'file'));
  symlinkSync('/proc/self', join(dir, 'proc'));
  const files = ['../x', '..', join(outside, 'secret.txt'), 'way/secret.txt', 'file', 'in/../../x', '/proc/self/environ', 'proc/environ', '/etc/shadow', '/dev/null', '/',
    '/proc/self/cwd/a.txt', 'way/../a.txt'];
  for (const path of files) {
    const out = /outside|leads out|not available|protected|a folder|no such|regular/;
    for (const tool of ['read', 'listdir', 'glob', 'grep', 'write', 'edit']) {
      const args = { read: {}, listdir: {}, glob: { pattern: '*' }, grep: { pattern: 'secret' }, write: { content: 'x' }, edit: { old_string: 'secret', new_string: 'x' } }[tool];
      const { status, value } = call(dir, tool, { path, ...args }, ['--ephemeral', '--yes']);
      assert.equal(status, 1, `${tool} ${path}: ${JSON.stringify(value)}`);
      assert.match(value.error, out, `${tool} ${path}`);
    }
    assert.equal(call(dir, 'bash', { command: 'true', cwd: path }).status, 1, `bash in ${path}`);
  }
  assert.equal(readFileSync(join(outside, 'secret.txt'), 'utf8'), 'secret\n');
  for (const pattern of ['../**', 'way/*', '/etc/*', '**'])
    assert.doesNotMatch(JSON.stringify(call(dir, 'glob', { pattern }).value), /secret|passwd/, pattern);
  assert.doesNotMatch(JSON.stringify(good(dir, 'listdir', { path: '.', recursive: true })), /secret/);
  assert.deepEqual(good(dir, 'grep', { pattern: 'secret' }).matches, []);
  assert.equal(call(dir, 'bash', { command: `cat ${outside}/secret.txt` }).status, 1);
  assert.equal(call(dir, 'bash', { command: `echo x > ${outside}/new` }).status, 1);
  assert.ok(!existsSync(join(outside, 'new')));
});

test('protected files cannot be written', t => {
  const dir = small(t, { '.git/config': 'c', '.harness/tools/x.md': '---\nname: x\ndescription: d\ncommand: "true"\n---\n' });
  linkSync(join(dir, 'harness.md'), join(dir, 'hard.md'));
  symlinkSync('harness.md', join(dir, 'soft.md'));
  const in_session = session(t);
  for (const path of ['harness.md', 'soft.md', '.git/config', '.git/hooks/pre-commit', '.mcp.json', '.harness/tools/x.md', '.harness/tools/new.md', '.harness/hooks/h.md']) {
    in_session(dir, 'read', { path });
    const w = in_session(dir, 'write', { path, content: 'x' }, ['--yes']);
    assert.match(w.value.error, /protected/, `write ${path}`);
    const e = in_session(dir, 'edit', { path, old_string: '-', new_string: 'x', replace_all: true }, ['--yes']);
    assert.match(e.value.error, /protected|no such/, `edit ${path}`);
  }
  const hard = in_session(dir, 'edit', { path: 'hard.md', old_string: 'all', new_string: 'none' }, ['--yes']);
  assert.equal(readFileSync(join(dir, 'harness.md'), 'utf8'), settings, JSON.stringify(hard.value));
  call(dir, 'bash', { command: 'echo x >> harness.md' });
  assert.equal(readFileSync(join(dir, 'harness.md'), 'utf8'), settings);
});

test('other roots: read roots are read, write roots written, with absolute names', t => {
  const library = folder(t), scratch = folder(t);
  add(library, { 'l/x.txt': 'needle\n' });
  const dir = project(t, { 'harness.md': `---\nbuiltin_tools: all\nsandbox:\n  read_roots: [${library}]\n  write_roots: [${scratch}]\n---\n` });
  const file = join(library, 'l/x.txt');
  assert.equal(good(dir, 'read', { path: file }), '     1\tneedle\n');
  assert.deepEqual(good(dir, 'glob', { pattern: '**', path: library }).files, [file]);
  assert.equal(good(dir, 'grep', { pattern: 'needle', path: join(library, 'l') }).matches[0].path, file);
  assert.equal(good(dir, 'listdir', { path: library, recursive: true }).entries[1].path, file);
  bad(dir, 'edit', { path: file, old_string: 'needle', new_string: 'x' }, /read-only|outside|not writable|may only be read/);
  assert.equal(good(dir, 'write', { path: join(scratch, 'y'), content: 'x' }).path, join(scratch, 'y'));
  bad(dir, 'bash', { command: 'true', cwd: scratch }, /outside the workspace/);
});

test('the state is where no tool can read it', t => {
  const dir = small(t);
  const home = folder(t), state = join(home, 'state.db');
  const in_env = (tool, args) => run(['call', tool, JSON.stringify(args)], { cwd: dir, env: { HARNESS_STATE: state } });
  assert.equal(in_env('read', { path: 'a.txt' }).status, 0);
  assert.ok(existsSync(state));
  for (const tool of ['read', 'listdir']) assert.equal(in_env(tool, { path: tool === 'read' ? state : home }).status, 1);
  assert.equal(in_env('bash', { command: `cat ${state}` }).status, 1);
  mkdirSync(join(dir, 'inside'));
  const r = run(['call', 'read', '{"path":"a.txt"}'], { cwd: dir, env: { HARNESS_STATE: join(dir, 'inside/state.db') } });
  assert.equal(r.status, 1);
  assert.match(r.stderr, /is inside the workspace/);
});

/* ---- what is declared ---- */

test('only the named built-in tools are available', t => {
  const dir = project(t, { 'harness.md': '---\nbuiltin_tools: [read]\n---\n', 'a': 'x' });
  good(dir, 'read', { path: 'a' });
  bad(dir, 'bash', { command: 'true' }, /unknown tool/);
});

test('limits.deny and limits.confirm use their effects', t => {
  const deny = what => project(t, { 'harness.md': `---\nbuiltin_tools: all\nlimits:\n  deny: [${what}]\n---\n`, 'a': 'x' });
  bad(deny('process'), 'bash', { command: 'true' }, /process/);
  bad(deny('destructive'), 'write', { path: 'n', content: '' }, /destructive/);
  for (const tool of ['glob', 'grep']) good(deny('mutating'), tool, { pattern: 'x' });
  const dir = project(t, { 'harness.md': '---\nbuiltin_tools: all\nlimits:\n  confirm: [destructive]\n---\n', 'a': 'x' });
  bad(dir, 'edit', { path: 'a', old_string: 'x', new_string: 'y' }, /needs confirmation/);
  bad(dir, 'edit', { path: 'a', old_string: 'q', new_string: 'y' }, /not found/);
  good(dir, 'edit', { path: 'a', old_string: 'x', new_string: 'y' }, ['--ephemeral', '--yes']);
});

test('listings show them with their effects', t => {
  const dir = project(t, { 'harness.md': '---\nbuiltin_tools: [grep, bash]\n---\n' });
  const tools = JSON.parse(run(['tools', '--json'], { cwd: dir }).stdout);
  const list = Array.isArray(tools) ? tools : tools.tools;
  assert.deepEqual(list.map(x => [x.name, x.kind, x.file, x.safety.read_only, x.safety.process]), [['bash', 'builtin', null, false, true], ['grep', 'builtin', null, true, false]]);
  assert.equal(run(['inspect', 'grep'], { cwd: dir }).status, 0);
  assert.equal(run(['inspect', 'read'], { cwd: dir }).status, 1);
  const openai = JSON.parse(run(['tools', '--format', 'openai', '--json'], { cwd: dir }).stdout);
  assert.deepEqual(openai.map(x => x.function.name), ['bash', 'grep']);
  for (const x of openai)
    for (const p of Object.values(x.function.parameters.properties)) assert.ok(p.description, `${x.function.name}: every parameter is described`);
});
