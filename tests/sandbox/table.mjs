// The table of escape attempts: read from escapes.txt, printed into docs/security.md.
//   node tests/sandbox/table.mjs    updates the documentation
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const page = join(here, '../../docs/security.md');
const begin = '<!-- escapes: written by tests/sandbox/table.mjs from tests/sandbox/escapes.txt -->', end = '<!-- end of escapes -->';

const groups = ['none', 'proxy', 'network', 'alone', 'web'], whom = ['both', 'root', 'user'];

// [{ section, name, group, as, layer, free, how, code }]: `code` is the list entry for the runner, null for js.
export function readTable() {
  let section = '';
  const table = [];
  for (const line of readFileSync(join(here, 'escapes.txt'), 'utf8').split('\n')) {
    if (line.startsWith('## ')) section = line.slice(3);
    if (!line || line.startsWith('#')) continue;
    const [name, group, as, layer, free, ...rest] = line.split(' | '), how = rest.join(' | ');
    const c = /^c(?:\(([a-z0-9-]+)\))?: (.*)/.exec(how), js = /^js: (.*)/.exec(how);
    if (!how || !groups.includes(group) || !whom.includes(as) || ![...whom, '-'].includes(free) || !js !== !['alone', 'web'].includes(group))
      throw new Error(`escapes.txt: wrong line: ${line}`);
    if (table.some(e => e.name === name)) throw new Error(`escapes.txt: ${name} is there twice`);
    table.push({ section, name, group, as, layer, free, how: c?.[2] ?? js?.[1] ?? how, plain: Boolean(c || js),
      code: js ? null : c ? `@${c[1] ?? name}` : how });
  }
  return table;
}

function cell(text) { return text.replaceAll('|', '\\|'); }

export function render(table = readTable()) {
  const sections = [...new Set(table.map(e => e.section))];
  const lines = [begin, '', `${table.length} attempts, each as root and as an ordinary user unless it says otherwise.`];
  for (const section of sections) {
    lines.push('', `### ${section}`, '', '| attempt | how | stopped by |', '|---|---|---|');
    for (const e of table.filter(x => x.section === section)) {
      const only = e.as === 'both' ? '' : e.as === 'root' ? ' (root)' : ' (ordinary user)';
      lines.push(`| ${e.name}${only} | ${e.plain ? cell(e.how) : `\`${cell(e.how)}\``} | ${e.layer} |`);
    }
  }
  return [...lines, '', end].join('\n');
}

// The current page, and the expected one.
export function pages() {
  const is = readFileSync(page, 'utf8'), from = is.indexOf(begin), to = is.indexOf(end);
  if (from < 0 || to < from) throw new Error('docs/security.md: the marks of the table are missing');
  return { is, should: is.slice(0, from) + render() + is.slice(to + end.length) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(page, pages().should);
