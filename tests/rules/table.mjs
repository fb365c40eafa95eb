// The table of spellings: read from spellings.txt, printed into docs/reference/rules.md.
//   node tests/rules/table.mjs    updates the documentation
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const page = join(here, '../../docs/reference/rules.md');
const begin = '<!-- spellings: written by tests/rules/table.mjs from tests/rules/ -->', end = '<!-- end of spellings -->';

// [{ section, verdict, rule, command }]
export function readTable() {
  let section = '';
  const table = [];
  for (const line of readFileSync(join(here, 'spellings.txt'), 'utf8').split('\n')) {
    if (line.startsWith('## ')) section = line.slice(3);
    if (!line || line.startsWith('#')) continue;
    const [verdict, rule, ...rest] = line.split(' | ');
    if (!['deny', 'ask', 'none'].includes(verdict) || !rest.length) throw new Error(`spellings.txt: wrong line: ${line}`);
    table.push({ section, verdict, rule, command: rest.join(' | ') });
  }
  return table;
}

function code(text) { return `<code>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('|', '&#124;')}</code>`; }

function says({ verdict, rule }) {
  if (verdict === 'none') return rule === 'gap' ? '**passes: not detected**' : 'passes';
  return rule === '?' ? `${verdict}: a part is unknown` : `${verdict}: \`${rule}\``;
}

export function render(table = readTable()) {
  const rules = readFileSync(join(here, 'harness.md'), 'utf8').split('\n').filter(l => l.startsWith('  - {') || l === 'rules:');
  const count = verdict => table.filter(e => e.verdict === verdict && e.rule !== 'gap').length;
  const lines = [begin, '', `${table.length} spellings: ${count('deny')} are denied, ${count('ask')} ask, ${count('none')} are harmless and pass, ` +
    `${table.filter(e => e.rule === 'gap').length} pass although they do what the rules forbid. The rules:`, '', '```text', ...rules, '```'];
  for (const section of [...new Set(table.map(e => e.section))]) {
    lines.push('', `### ${section}`, '', '| command | decision |', '|---|---|');
    for (const e of table.filter(x => x.section === section)) lines.push(`| ${code(e.command)} | ${says(e)} |`);
  }
  return [...lines, '', end].join('\n');
}

// The current page, and the expected one.
export function pages() {
  const is = readFileSync(page, 'utf8'), from = is.indexOf(begin), to = is.indexOf(end);
  if (from < 0 || to < from) throw new Error('docs/reference/rules.md: the marks of the table are missing');
  return { is, should: is.slice(0, from) + render() + is.slice(to + end.length) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(page, pages().should);
