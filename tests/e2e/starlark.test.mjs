// The language, as the files under tests/starlark/ describe it. Comments give the expected behaviour of their line:
//
//   print("é"[0:2])        # expect: é             the next line that print writes
//   [1, 2][5]              # error: list index …   the run ends here, with exactly this message
//   x = y                  # static: undefined: y  refused before it runs; all such lines of a part at once
//
// Lines "---" divide a file into parts that run on their own. A part with several "# error:" lines runs once for each of
// them, without the others. "# flags: --allow-while" anywhere in a part gives it flags of `harness starlark`.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { availableParallelism } from 'node:os';
import { folder, root, run, start } from './harness.mjs';

const suite = join(root, 'tests/starlark');

const mark = /# (expect|error|static): ?(.*)$/;

// The parts of a file, padded with empty lines so that line numbers stay.
function parts(path) {
  const found = [];
  let above = 0;
  for (const text of readFileSync(path, 'utf8').split(/^---\n/m)) {
    found.push('\n'.repeat(above) + text);
    above += text.split('\n').length;
  }
  return found;
}

// The runs of one part: its text and the expected output.
function runs(text) {
  const lines = text.split('\n'), flags = text.match(/# flags: (.*)$/m)?.[1].split(' ') ?? [];
  const marks = lines.map((line, i) => ({ line: i + 1, kind: line.match(mark)?.[1], text: line.match(mark)?.[2] }));
  const of = kind => marks.filter(m => m.kind === kind);
  const errors = of('error'), expects = of('expect'), statics = of('static');
  if (statics.length || !errors.length) return [{ text, flags, expects, statics }];
  return errors.map(error => ({
    text: lines.map((line, i) => marks[i].kind === 'error' && i + 1 !== error.line ? '' : line).join('\n'),
    flags, error, statics, expects: expects.filter(e => e.line < error.line || errors.length === 1),
  }));
}

function printed(stderr) {
  const end = stderr.search(/^(Traceback \(most recent call last\):|Error( in [\w.]+)?: )/m);
  return (end < 0 ? stderr : stderr.slice(0, end)).split('\n').slice(0, -1);
}

// "FILE:LINE:COLUMN: TEXT", each followed by an excerpt.
function refusals(stderr, file) {
  const places = stderr.split('\n').filter(line => line.startsWith(`${file}:`));
  return places.map(line => line.slice(file.length + 1).replace(/^(\d+):\d+: /, '$1: '));
}

function check({ error, expects, statics }, file, { status, stderr }) {
  if (statics.length) {
    assert.deepEqual(refusals(stderr, file), statics.map(s => `${s.line}: ${s.text}`));
    return assert.equal(status, 1);
  }
  if (!error) {
    assert.deepEqual(stderr.split('\n').slice(0, -1), expects.map(e => e.text));
    return assert.equal(status, 0);
  }
  const last = stderr.trimEnd().split('\n').filter(line => line.startsWith(`  ${file}:`)).at(-1) ?? '';
  const message = stderr.match(/^Error(?: in [\w.]+)?: ([^]*)\n$/m)?.[1];
  assert.deepEqual({ line: Number(last.slice(file.length + 3).split(':')[0]), message }, { line: error.line, message: error.text }, stderr);
  assert.deepEqual(printed(stderr), expects.map(e => e.text));
  assert.equal(status, 1);
}

async function runFile(path, dir, problems) {
  for (const part of parts(join(suite, path)))
    for (const one of runs(part)) {
      const file = join(dir, `${path.replaceAll('/', '-')}-${one.error?.line ?? part.length}.star`);
      writeFileSync(file, one.text);
      try {
        check(one, file, await start(['starlark', ...one.flags, file], { timeout: 20000 }));
      } catch (failure) {
        problems.push(`${path}:${one.error?.line ?? ''} ${failure.message}`);
      }
    }
}

for (const section of readdirSync(suite).sort())
  test(`starlark: ${section}`, async t => {
    const dir = folder(t), problems = [];
    const paths = readdirSync(join(suite, section), { recursive: true }).filter(name => name.endsWith('.star'));
    assert.ok(paths.length > 0);
    const queue = paths.sort().map(name => `${section}/${name}`);
    const worker = async () => { for (let path; (path = queue.shift());) await runFile(path, dir, problems); };
    await Promise.all(Array.from({ length: 2 * availableParallelism() }, worker));
    if (problems.length) throw new Error(problems.join('\n\n'));
  });

test('starlark: a traceback names every call', t => {
  const file = join(folder(t), 'trace.star');
  writeFileSync(file, 'def inner(x):\n    return 1 // x\n\ndef outer(x):\n    return [inner(v) for v in x]\n\nsorted([[1], [0]], key = outer)\n');
  assert.equal(run(['starlark', file]).stderr, 'Traceback (most recent call last):\n'
    + `  ${file}:7:7: in <toplevel>\n  <builtin>: in sorted\n  ${file}:5:18: in outer\n  ${file}:2:14: in inner\n`
    + 'Error: floored division by zero\n');
});
