// Blocks of text from outside: bounded at first, with everything on demand; diffs; arguments laid out; copying.

import { h, put, button, say } from './dom.js';
import { plain, lines, bytes, count } from './format.js';

const first = 20_000;                                                // characters that are shown at once

// Text with its lines. A long one ends in a button that shows the rest.
export function block(value, label = 'Text') {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2) ?? '';
  const pre = h('pre.block', { tabindex: '0', role: 'region', 'aria-label': label }, plain(text.slice(0, first)));
  if (text.length <= first) return pre;
  const rest = button(`Show all of ${bytes(text.length)}`, () => { pre.textContent = plain(text); rest.remove(); }, { kind: 'link' });
  return h('div.stack', pre, rest);
}

// A unified diff. Signs stay in the text, so that colour is not the only difference.
export function diff(text, path) {
  const rows = String(text ?? '').split('\n'), limit = 1000;
  if (rows.at(-1) === '') rows.pop();
  const draw = list => list.map(row => h(`span.${kind(row)}`, plain(row) || ' '));
  const box = h('pre.diff', { tabindex: '0', role: 'region', 'aria-label': `Changes${path ? ` of ${plain(path)}` : ''}` }, draw(rows.slice(0, limit)));
  if (rows.length <= limit) return h('figure.change', path && h('figcaption.mono', plain(path)), box);
  const rest = button(`Show all ${count(rows.length)} lines`, () => { put(box, draw(rows.slice(limit, 20_000))); rest.remove(); }, { kind: 'link' });
  return h('figure.change', path && h('figcaption.mono', plain(path)), box, rest);
}

function kind(row) {
  if (/^(\+\+\+|---|diff |index )/.test(row)) return 'file';
  return { '+': 'added', '-': 'removed', '@': 'place' }[row[0]] ?? 'same';
}

// What a call would change, from its arguments alone: old and new text of an edit, the whole of a new file.
export function changeOf(args) {
  if (args === null || typeof args !== 'object') return null;
  const path = args.path ?? args.file_path, before = args.old_string ?? args.old_text, after = args.new_string ?? args.new_text ?? args.content;
  if (typeof path !== 'string' || typeof after !== 'string') return null;
  const mark = (text, sign) => (typeof text === 'string' && text !== '' ? text.replace(/\n$/, '').split('\n').map(row => sign + row) : []);
  return { path, diff: [...mark(before, '-'), ...mark(after, '+')].join('\n') };
}

// Arguments one by one: text as lines, other values as JSON.
export function args(value, { without = [] } = {}) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return block(value ?? null, 'Arguments');
  const entries = Object.entries(value).filter(([k]) => !without.includes(k));
  if (entries.length === 0) return h('p.hint', without.length > 0 ? 'No other arguments' : 'No arguments');
  return h('dl.args', entries.map(([k, v]) => [h('dt.mono', plain(k)), h('dd', short(v) ? h('code', typeof v === 'string' ? lines(v) : plain(JSON.stringify(v))) : block(v, k))]));
}

const short = v => (typeof v === 'string' ? v.length < 120 && !v.includes('\n') : JSON.stringify(v).length < 120);

export function copy(label, text) {
  const place = button(label, async () => {
    try {
      await navigator.clipboard.writeText(text());
      place.textContent = 'Copied';
      say('Copied');
    } catch {
      place.textContent = 'The browser refused to copy';
    }
    setTimeout(() => { place.textContent = label; }, 2000);
  });
  return place;
}
