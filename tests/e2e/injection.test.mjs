// A template passes any string byte for byte as exactly one argument, to dash and to bash, or a
// rule refuses the call. Tested by running the commands.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, folder, root } from './harness.mjs';

const tool = join(root, 'build', build, 'template_tool');
const show = join(root, 'build', build, 'show_args');
const shells = ['dash', 'bash'];

const required = (...names) => names.map(name => ({ name, required: true }));
const params = [...required('x', 'y'), { name: 'o' }, { name: 'xs', type: 'array', required: true },
  { name: 'ob', type: 'object', required: true }, { name: 'c', required: true, constrained: true }];

// ---- values ----

const sh = [
  '', ' ', '  ', '\t', '\n', '\r', '\r\n', '\n\n', ' a', 'a ', 'a b', 'a\tb', 'a\nb', 'a\rb', 'a\r\nb', '\v', '\f', '\x01', '\x07', '\x1b[31m', '\x7f',
  "'", "''", "'''", "''''", "a'b", "'a", "a'", "'; id; '", "'\\''", "\\'", "'\\", "'$(id)'", '"', '""', '"""', 'a"b', '"; id; "', '\\"', '"\\', '"$(id)"', "'\"'\"'",
  '\\', '\\\\', '\\\\\\', 'a\\', '\\a', '\\n', '\\\n', 'a\\\nb', '\\$', '\\`', '$', '$$', '$a', '$HOME', '${HOME}', '$(id)', '$(', '${', '$((', '$((1+1))', '$[1+1]', "$'\\n'", "$'", '$"a"', '$1', '$@', '$*', '$#', '$?', '$-', '$!', '$_',
  '`', '``', '`id`', '\\`id\\`', '`\n', ';', ';;', ';id', '; id', 'a;b', '&', '&&', '& id', '&& id', '&>f', '|', '||', '| id', '|| id', '|&', '>', '>f', '> f', '>>f', '2>f', '2>&1', '>&2', '<', '<f', '<<EOF', '<<<a', '<(id)', '>(id)', '<>f', '>|f',
  '(', ')', '()', '(id)', '((1))', '{', '}', '{}', '{a,b}', '{1..3}', '{a,b', 'a,b}', '{ id; }', '[', ']', '[a]', '[[ a ]]', '[a-z]', '[!a]', '*', '**', '?', '???', '*.c', '/*', '/etc/*', '.*', '~', '~/', '~root', '~+', '~-', 'a:~', 'a=~', '=~',
  '!', '!!', '!id', '!$', 'a!b', '#', '#a', 'a#b', ' #a', '\n#', '=', 'a=b', 'A=b', 'PATH=/', 'a+=b', 'a[0]=1', 'a[$(id)]', 'x[$(id>&2)]', '^', '^a^b', '%', '%1', '%s', '%n', '%%', '@', '@(a|b)', '+(a)', '!(a)', '+', '+x', ',', '.', '..', './x', '/', '//', ':', '-',
  'if', 'then', 'fi', 'do', 'done', 'case', 'esac', 'in', 'for', 'while', 'function', 'time', 'eval id', 'exec id', 'alias', 'true', 'false', 'null', 'EOF', '0', '1', '2', '00', '1e9', '0x10', '-0',
  'é', 'ü', '漢字', '😀', '\u00a0', '\u2003', '\u3000', '\u2028', '\ufeff', '\u0085', '\ufffd', '\u{10ffff}', 'e\u0301', '‘a’', '“a”', '；id', '＄(id)', '｀id｀', '\u4f60$(id)', '\u4f60`id`', '\u4f60"; id; "', "\u4f60'; id; '", '\u4f60\\', '\u4f60\\"', '\u4f60\\\\$(id)', 'é$(id)', 'é"', "é'", '\u202eabc', '\u200b',
  'a'.repeat(5000), "'".repeat(500), '"'.repeat(500), '\\'.repeat(501), '$('.repeat(200), '`'.repeat(99), '\n'.repeat(100),
  'x; touch pwned', 'x\ntouch pwned', 'x\r\ntouch pwned\r\n', '$(touch pwned)', '`touch pwned`', "';touch pwned;'", '";touch pwned;"', '"$(touch pwned)"', "'$(touch pwned)'", '\\";touch pwned;\\"', "\\';touch pwned;\\'", '||touch pwned', '|touch pwned', '&touch pwned&', '>pwned', '<(touch pwned)', '${x:=$(touch pwned)}', '${IFS}touch${IFS}pwned', '{touch,pwned}', '\n)\ntouch pwned', '}\ntouch pwned', 'EOF\ntouch pwned', 'a)touch pwned;;', '"\ntouch pwned\n"', "'\ntouch pwned\n'", "'\"$(touch pwned)\"'", '"\'$(touch pwned)\'"', "'\\'';touch pwned;'\\''", '$\'\\x27;touch pwned\'', '\\\ntouch pwned', '#\ntouch pwned',
];
const dashes = ['-', '--', '-n', '-e', '-rf', '--help', '--opt=a', '-c id', '-$(id)', "-'", '-\n', '--\nid', '-é', '- ', '-oProxyCommand=id', '--eval=id', '-1', '--checkpoint-action=exec=sh'];
const hostile = [...sh, ...dashes];

function generator(seed) {
  return n => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

const specials = [...'\'"\\$`\n\r\t ;&|<>(){}[]*?~!#=-+,.:@%^/_', '\\\n', "'\\''", '$(', '${', '`', "$'"];
function randomString(below) {
  let out = '';
  for (let n = below(14); n > 0; n--) {
    const kind = below(10);
    if (kind < 6) out += specials[below(specials.length)];
    else if (kind < 8) out += String.fromCharCode(1 + below(127));
    else {
      const point = [0x80, 0x800, 0x10000, 0x110000].map((end, i, all) => [i ? all[i - 1] : 1, end])[1 + below(3)];
      const c = point[0] + below(point[1] - point[0]);
      out += c >= 0xd800 && c < 0xe000 ? '\u4f60' : String.fromCodePoint(c);
    }
  }
  return out;
}

// ---- running ----

// Renders a command for each element of args: its text, or null if refused.
function render(dir, command, args, more = {}) {
  const file = join(dir, 'rendered');
  const input = JSON.stringify({ command, params, args, ...more }) + '\n';
  const { status, stdout, stderr } = spawnSync(tool, ['-b', file], { input, encoding: 'utf8', maxBuffer: 1 << 30 });
  assert.equal(status, 0, stderr);
  const said = stdout.split('\n').slice(0, -1).map(line => JSON.parse(line));
  assert.ok(!said[0]?.error, `${command}: ${said[0]?.error}`);
  const texts = readFileSync(file).toString('latin1').split('\0').slice(0, -1);   // latin1: preserves bytes
  assert.equal(texts.length, args.length);
  return { texts: texts.map(text => text === '' ? null : text), refusals: said.map(line => line.refused) };
}

// Runs all commands in one shell. `show` prints its number of arguments and each of them, followed by a NUL.
async function run(dir, shell, commands, prologue, env = {}) {
  const empty = join(dir, `empty-${shell}`), script = join(dir, `script-${shell}`), output = join(dir, `output-${shell}`);
  mkdirSync(empty, { recursive: true });
  writeFileSync(script, Buffer.from(prologue + commands.join('\n') + '\n', 'latin1'));
  const out = openSync(output, 'w');
  const child = spawn(shell, [script], {
    cwd: empty, stdio: ['ignore', out, 'pipe'], env: { PATH: process.env.PATH, HOME: '/home/of/nobody', LC_ALL: 'C.UTF-8', ...env }, timeout: 120000,
  });
  let complaint = '';
  child.stderr.on('data', data => { complaint += data; });
  const [status, signal] = await once(child, 'close');
  closeSync(out);
  assert.deepEqual({ complaint, status, signal }, { complaint: '', status: 0, signal: null }, shell);
  assert.deepEqual(readdirSync(empty), [], 'no value made a file');
  return readFileSync(output);
}

const both = job => Promise.all(shells.map(job));

const inShell = `show() { printf '%s\\0' "$#" "$@"; }\n`;

// The expected output of `show`, for all argument lists.
function check(output, lists, label) {
  const expected = Buffer.from(lists.map(list => [list.length, ...list].map(item => `${item}\0`).join('')).join(''));
  if (output.equals(expected)) return;
  const got = output.toString().split('\0');
  let at = 0;
  for (const list of lists) {
    const want = [String(list.length), ...list], have = got.slice(at, at + want.length);
    assert.deepEqual(have, want, label);
    at += want.length;
  }
  assert.fail(`${label}: more output than expected`);
}

// ---- positions ----

// All positions of a value, in one command: [text in the template, argument that must arrive]
const places = [
  ['{{x}}', x => x], ["'{{x}}'", x => x], ['"{{x}}"', x => x],
  ['a{{x}}', x => `a${x}`], ['{{x}}b', x => `${x}b`], ['a{{x}}b', x => `a${x}b`],
  ["'a {{x}} b'", x => `a ${x} b`], ['"a {{x}} b"', x => `a ${x} b`], ['--opt={{x}}', x => `--opt=${x}`], ['--opt="{{x}}"', x => `--opt=${x}`],
  [`'p'{{x}}"q"`, x => `p${x}q`], ['{{x}}{{x}}', x => x + x], ['"{{x}}"\'{{x}}\'{{x}}', x => x + x + x],
  ['{{#if t}}{{x}}{{else}}"{{x}}"{{/if}}', x => x], ['{{#unless t}}no{{else}}\'{{x}}\'{{/unless}}', x => x],
  ['p{{#if t}}/{{x}}{{/if}}/q', x => `p/${x}/q`], ['{{#with ob}}{{../x}}{{/with}}', x => x], ['{{#with ob}}"{{v}}"{{/with}}', x => x],
  ['{{#each xs}}-i{{this}} {{/each}}', x => `-i${x}`], ['{{xs}}', x => x], ['[{{x}}-', x => `[${x}-`], ['~{{x}}', x => `~${x}`], ['{}{{x}}', x => `{}${x}`],
];
const withT = { params: [...params, { name: 't', required: true }] };
const argsOf = x => ({ x, y: 'y', xs: [x], ob: { v: x }, t: true, c: x });

async function checkAll(t, values, command, expected, prologue = inShell, more = {}) {
  const dir = folder(t);
  const { texts, refusals } = render(dir, command, values.map(argsOf), { ...withT, ...more });
  assert.deepEqual(refusals, []);
  const lists = values.map(expected);
  await both(async shell => check(await run(dir, shell, texts, prologue), lists, `${shell}: ${command}`));
}

test('the list of hostile values is long', () => {
  assert.ok(new Set(hostile).size >= 200, `${new Set(hostile).size}`);
});

test('hostile values, in every position, after --', async t => {
  await checkAll(t, hostile, `show -- ${places.map(p => p[0]).join(' ')}`, x => ['--', ...places.map(p => p[1](x))]);
});

test('100,000 random strings, in every position, after --', { timeout: 280000 }, async t => {
  const below = generator(7), n = build === 'release' ? 100000 : 5000;
  const values = Array.from({ length: n }, () => randomString(below));
  const step = 20000;
  for (let i = 0; i < n; i += step)
    await checkAll(t, values.slice(i, i + step), `show -- ${places.map(p => p[0]).join(' ')}`, x => ['--', ...places.map(p => p[1](x))]);
});

test('each position alone: passes, or is refused because it starts a word with -', async t => {
  const dir = folder(t);
  for (const [place, expected] of places) {
    const { texts, refusals } = render(dir, `show ${place}`, hostile.map(argsOf), withT);
    const passed = hostile.filter((x, i) => texts[i] !== null);
    const refused = hostile.filter((x, i) => texts[i] === null);
    assert.equal(refusals.length, refused.length);
    for (const x of refused) assert.ok(expected(x).startsWith('-') && x.startsWith('-'), `${place}: ${JSON.stringify(x)} was refused`);
    for (const message of refusals) assert.match(message, /may not start with "-" here/);
    for (const x of passed) assert.ok(!expected(x).startsWith('-') || expected(x).startsWith('--opt=') || expected(x).startsWith('-i'), `${place}: ${JSON.stringify(x)} passed`);
    await both(async shell =>
      check(await run(dir, shell, texts.filter(text => text !== null), inShell), passed.map(x => [expected(x)]), `${shell}: ${place}`));
  }
});

// [template, prologue, expected]: positions that are not arguments of `show`.
const elsewhere = [
  ['V={{x}}; show "$V"', '', x => [x]],
  ['V="a{{x}}"\'b\'; show "$V"', '', x => [`a${x}b`]],
  ['V={{x}} sh -c \'printf "%s\\0" 1 "$V"\'', '', x => [x]],
  ['export V={{x}}; show "$V"', '', x => [x]],
  ['for v in {{x}} "{{x}}" a{{x}}; do show "$v"; done', '', x => [[x], [x], [`a${x}`]], 'many'],
  ['case {{x}} in zzz) show no ;; *) show {{x}} ;; esac', '', x => [x]],
  ['f() { show -- "$1" {{x}}; }; f b', '', x => ['--', 'b', x]],
  ['(show -- {{x}}) && show -- {{x}} || show no', '', x => [['--', x], ['--', x]], 'many'],
  ['if [ a = "b{{x}}" ]; then show no; else show -- {{x}}; fi', '', x => ['--', x]],
  ['cat <<EOF >/dev/null && show -- {{x}}\ntext $(true) `true`\nEOF\nshow -- {{x}}', '', x => [['--', x], ['--', x]], 'many'],
  ['show -- $(true) "$(true)"{{x}} # a note\nshow -- {{x}}', '', x => [['--', x], ['--', x]], 'many'],
  ['show -- \\\n  {{x}} \\\n  {{x}}', '', x => ['--', x, x]],
  ['sh -c \'printf "%s\\0" "$#" "$@"\' sh -- {{x}}', '', x => ['--', x]],
  ['env -u NONE V={{x}} sh -c \'printf "%s\\0" 1 "$V"\'', '', x => [x]],
  ['printf \'%s\\0\' 1 {{x}}', '', x => [x]],
];

test('hostile values in assignments, loops, case, functions, pipes', async t => {
  const dir = folder(t);
  for (const [command, prologue, expected, many] of elsewhere) {
    const forks = /sh -c|cat|\$\(|\(show/.test(command);     // these commands start a process for each value, so use fewer values
    const values = sh.filter((x, i) => x.length < 1000 && !x.startsWith('-') && (!forks || i % 6 === 0 || x.includes('pwned')));
    const { texts, refusals } = render(dir, command, values.map(argsOf), withT);
    assert.deepEqual(refusals, [], command);
    const lists = values.flatMap(x => many ? expected(x) : [expected(x)]);
    await both(async shell => check(await run(dir, shell, texts, inShell + prologue), lists, `${shell}: ${command}`));
  }
});

test('a real program gets the same bytes, in two locales', async t => {
  const dir = folder(t);
  const values = hostile.filter((x, i) => i % 2 === 0 || x.includes('pwned'));
  const { texts } = render(dir, `${show} -- {{x}} "{{x}}" '{{x}}' a{{x}}b`, values.map(argsOf), withT);
  const expected = Buffer.from(values.map(x => ['--', x, x, x, `a${x}b`].map(item => `${item}\0`).join('') + '\0').join(''));
  for (const LC_ALL of ['C', 'C.UTF-8'])
    await both(async shell => assert.ok((await run(dir, shell, texts, '', { LC_ALL })).equals(expected), `${shell} in ${LC_ALL}`));
});

test('arrays become one word per item', async t => {
  const dir = folder(t);
  const lists = [[], ['a'], ['a', 'b c', ''], sh.slice(0, 60), [1, 2.5, true, 'x']];
  const { texts } = render(dir, 'show -- {{xs}} end', lists.map(xs => ({ ...argsOf('x'), xs })));
  await both(async shell => check(await run(dir, shell, texts, inShell), lists.map(xs => ['--', ...xs.map(String), 'end']), shell));
});

test('values that cannot be arguments are refused', t => {
  const cases = [
    [{ x: 'a\0b' }, /^parameter "x" contains NUL/], [{ x: ['a'] }, /^parameter "x" is an array where one/], [{ x: { a: 1 } }, /^parameter "x" is an object where one/],
    [{}, /^parameter "x" is required$/], [{ x: null }, /^parameter "x" is required$/],
  ];
  const dir = folder(t);
  const { refusals } = render(dir, 'show {{x}}', cases.map(c => c[0]));
  for (const [i, [args, message]] of cases.entries()) assert.match(refusals[i], message, JSON.stringify(args));
});
