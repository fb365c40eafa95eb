// Compares the plain renderer with npm's handlebars, on a table and on random templates.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build, root } from './harness.mjs';

const require = createRequire(import.meta.url);
const Handlebars = require('handlebars');
const utils = require('handlebars/dist/cjs/handlebars/utils.js');
Handlebars.logger.log = () => {};

const tool = join(root, 'build', build, 'template_tool');

function ours(rows) {
  const { status, stdout, stderr } = spawnSync(tool, { input: rows.map(row => JSON.stringify(row) + '\n').join(''), encoding: 'utf8', maxBuffer: 1 << 28 });
  assert.equal(status, 0, stderr);
  const lines = stdout.split('\n').slice(0, -1).map(line => JSON.parse(line));
  assert.equal(lines.length, rows.length);
  return lines;
}

// With noEscape, handlebars adds neighbouring numbers up instead of writing them one after another; a row that has such
// neighbours ("adjacent") is rendered with an escape function that only makes text.
function theirs({ template, data, adjacent }) {
  const escape = utils.escapeExpression;
  if (adjacent) utils.escapeExpression = value => value == null ? '' : String(value);
  try {
    return { text: Handlebars.compile(template, { noEscape: !adjacent })(data) };
  } catch (error) {
    return { error: error.message.split('\n')[0] };
  } finally {
    utils.escapeExpression = escape;
  }
}

function compare(rows) {
  const wrong = [];
  const results = ours(rows);
  for (const [i, row] of rows.entries()) {
    const expected = theirs(row), got = results[i];
    if (expected.text !== got.text) wrong.push({ ...row, data: JSON.stringify(row.data), expected, got });
  }
  assert.deepEqual(wrong.slice(0, 5), [], `${wrong.length} of ${rows.length} differ`);
}

const table = JSON.parse(readFileSync(join(root, 'tests/e2e/fixtures/templates.json'), 'utf8'));

test('renders as handlebars does', () => {
  assert.ok(table.length > 400);
  compare(table.filter(row => !row.error));
});

test('refuses what handlebars refuses, with line and column', () => {
  const rows = table.filter(row => row.error);
  for (const [i, got] of ours(rows).entries()) {
    assert.ok(theirs(rows[i]).error, `handlebars takes ${rows[i].template}`);
    assert.ok(got.error && got.line >= 1 && got.column >= 1, `${rows[i].template}: ${JSON.stringify(got)}`);
    assert.doesNotMatch(got.error, /\n/);
  }
});

// mulberry32: the same templates on every run.
function random(seed) {
  return n => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

function generate(below) {
  const pick = list => list[below(list.length)];
  const tilde = () => below(8) ? '' : '~';
  const path = () => pick(['a', 'b', 's', 'l', 'o', 'o.k', 'this', '../a', '../../s', '@index', '@key', '@first', '@last', '@root.s', 'none', 'o.none.x', 'people', 'name', 'tags', './s', 'l.length', '@../index']);
  const text = () => pick(['x', ' ', '\n', '  ', '\n\n', ' y ', '\n  ', 'z\n', '\t', '\r\n', '', '\\', 'w \n', '\n q', '}']);
  const body = depth => Array.from({ length: 1 + below(4) }, () => node(depth)).join('');
  function node(depth) {
    const kind = below(depth > 3 ? 5 : 9);
    if (kind < 3) return text();
    if (kind === 3) return `{{${tilde()}${path()}${tilde()}}}`;
    if (kind === 4) return pick([`{{${tilde()}! c ${tilde()}}}`, `{{${tilde()}!-- c --${tilde()}}}`]);
    const name = pick(['if', 'unless', 'each', 'with', 'if', 'each']);
    let out = `{{${tilde()}#${name} ${path()}${tilde()}}}${body(depth + 1)}`;
    while (below(4) === 0) out += `{{${tilde()}else ${pick(['if', 'unless', 'each', 'with'])} ${path()}${tilde()}}}${body(depth + 1)}`;
    if (below(3) === 0) out += `{{${tilde()}else${tilde()}}}${body(depth + 1)}`;
    return `${out}{{${tilde()}/${name}${tilde()}}}`;
  }
  return body(0);
}

test('renders random templates as handlebars does', () => {
  const below = random(1);
  const data = { a: 1, b: false, s: 'text', l: ['p', 'q', ''], o: { k: 'v', m: 0 }, people: [{ name: 'Ann', tags: ['t'] }, { name: 'Bob', tags: [] }] };
  compare(Array.from({ length: 1000 }, () => ({ template: generate(below), data, adjacent: true })));
});
