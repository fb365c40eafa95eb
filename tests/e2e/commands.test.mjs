// Random commands from pieces of shell. Those that load must not depend on the value: the output
// with a hostile value equals the output with a harmless one, with one value replaced by the other.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, folder, root } from './harness.mjs';

const tool = join(root, 'build', build, 'template_tool');
const harmless = 'Zq9 Z';
const hostile = ["';touch pwned;'", '";touch pwned;"', '$(touch pwned)', '`touch pwned`', '\ntouch pwned\n', ';touch pwned #', '\\', '2', 'a,b', '\nE\ntouch pwned\n'];
const pieces = [
  ...Array(14).fill('{{x}}'), '{{o}}', '{{xs}}', '{{#if t}}', '{{/if}}', '{{else}}', '{{#each xs}}', '{{/each}}', '{{this}}', ' ', ' ', ' ', ' ', '\n', '\t',
  'show ', 'show ', '; show ', ' && show ', ' | cat', 'a', 'V=', '2', '-', '--', "'", "'", '"', '"', '"$V"', '$V', '${V}', '$', '\\\\', '\\\n', '\\ ', '\\"', '`', '`true`', '$(true)', '$(',
  '$((1))', '${V:-', '}', '{', '(', ')', '((', '[', '[[ ', ' ]]', '{a,', '*', '?', '~', '#', ' # c', '>', '<', ' 2>&1', '>/dev/null', '<<E\n', '\nE\n', "<<'E'\n", '<<<', ';', '&&', '|',
  ';;', 'case {{x}} in ', '*) ', 'esac', 'if true; then ', 'fi', 'for v in ', '; do ', 'done', 'f() { ', '; }', '=', ',', '/', 'env ', 'sh -c ', 'export ', '[ ', ' ]', "$'", '<\\\n<E\n', 'x=(', "'\\''",
];

function generator(seed) {
  return n => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

function templates(count) {
  const below = generator(11), found = new Set();
  while (found.size < count) {
    const text = 'show ' + Array.from({ length: 2 + below(9) }, () => pieces[below(pieces.length)]).join('');
    if (/\{\{(x|xs|this)\}\}/.test(text) && !/\$(\\\n)?\$/.test(text)) found.add(text);      // $$ differs from run to run
  }
  return [...found];
}

// For each template that loads: the commands for the harmless and for the hostile values; null: refused.
function render(all) {
  const params = [{ name: 'x', required: true }, { name: 'o' }, { name: 'xs', type: 'array', required: true }, { name: 't', required: true }];
  const args = [harmless, ...hostile].map(v => ({ x: v, o: v, xs: [v, v], t: true }));
  const loaded = [];
  const input = all.map(command => JSON.stringify({ command, params, args }) + '\n').join('');
  const lines = spawnSync(tool, { input, encoding: 'utf8', maxBuffer: 1 << 28 }).stdout.split('\n');
  for (const template of all) {
    const first = JSON.parse(lines[0]);
    const results = lines.splice(0, first.error ? 1 : args.length).map(line => JSON.parse(line));
    if (!first.error) loaded.push({ template, texts: results.map(result => result.text ?? null) });
  }
  return loaded;
}

const driver = `for file in "$0"/*.sh; do
  mkdir "$file.dir"; cd "$file.dir"
  $1 "$file" </dev/null >"$file.out" 2>/dev/null; echo $((! $?)) >"$file.status"
done`;

test('random commands that load do not depend on the value', t => {
  const loaded = render(templates(build === 'release' ? 250 : 120)).filter(({ texts }) => texts[0] !== null);
  assert.ok(loaded.length > 5, `${loaded.length}`);
  for (const shell of ['dash', 'bash']) {
    const dir = folder(t), name = (i, k) => join(dir, `${i}-${k}.sh`);
    for (const [i, { texts }] of loaded.entries())
      for (const [k, text] of texts.entries())
        if (text !== null) writeFileSync(name(i, k), `show() { printf '%s\\0' "$#" "$@"; }\n${text}`);
    spawnSync('dash', ['-c', driver, dir, shell], { timeout: 200000 });
    for (const [i, { template, texts }] of loaded.entries()) {
      const expected = readFileSync(`${name(i, 0)}.out`, 'utf8'), status = readFileSync(`${name(i, 0)}.status`, 'utf8');
      for (const [k, value] of hostile.entries()) {
        if (texts[k + 1] === null) continue;
        const file = name(i, k + 1), what = `${shell}: ${JSON.stringify(template)} with ${JSON.stringify(value)}`;
        assert.equal(readFileSync(`${file}.out`, 'utf8'), expected.replaceAll(harmless, () => value), what);
        assert.equal(readFileSync(`${file}.status`, 'utf8'), status, what);
        assert.ok(!readdirSync(`${file}.dir`).some(made => made.includes('pwned')), what);
      }
    }
  }
});
