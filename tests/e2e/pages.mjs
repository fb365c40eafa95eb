// Parses the documentation like a reader with a terminal: the files of a page, its commands and their output.
//
//   ```md file=PATH     the block is a file of the page's folder; PATH is named in the text above the block
//   ```sh               lines `$ COMMAND` and what each prints; `(exit N)` as its last line when it fails.
//                       A line `…` stands for any lines, `…` inside a line for any text of it
//   ```terminal         a conversation: `$ COMMAND`, then `> LINE` (or `>>> LINE`) typed at its prompt and what is answered
//   ```sh norun         commands that install or build, and are not run
//   ```json client=NAME  a setting of an MCP client, tried by mcp_howto.test.mjs
//   ```text             anything else: pictures, shapes, syntax
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { bin, build, root, undo } from './harness.mjs';

// README.md and every page below docs/, as paths from the root of the repository.
export function pages() {
  const below = readdirSync(join(root, 'docs'), { recursive: true }).filter(f => f.endsWith('.md')).map(f => join('docs', f));
  return ['README.md', 'CONTRIBUTING.md', ...below].sort();
}

export const text = page => readFileSync(join(root, page), 'utf8');

// The fenced blocks: { line, language, words, body, above }; `above` is the paragraph before the block.
export function blocks(markdown) {
  const lines = markdown.split('\n'), found = [];
  for (let i = 0; i < lines.length; i++) {
    const open = /^(`{3,})(\S*) ?(.*)$/.exec(lines[i]);
    if (!open) continue;
    const end = lines.indexOf(open[1], i + 1);
    if (end < 0) throw new Error(`line ${i + 1}: block without an end`);
    let from = i;
    while (from > 0 && lines[from - 1] === '') from--;
    const stop = from;
    while (from > 0 && lines[from - 1] !== '') from--;
    found.push({ line: i + 1, language: open[2], words: open[3].split(' ').filter(Boolean), body: lines.slice(i + 1, end).join('\n') + '\n',
      above: lines.slice(from, stop).join('\n') });
    i = end;
  }
  return found;
}

export const fileOf = block => block.words.find(w => w.startsWith('file='))?.slice(5);
export const clientOf = block => block.words.find(w => w.startsWith('client='))?.slice(7);

// The commands of a session: { command, expected: [lines], exit }. A command continues in lines that start with `> `.
export function session(body) {
  const steps = [];
  for (const line of body.replace(/\n$/, '').split('\n')) {
    const exit = /^\(exit (\d+)\)$/.exec(line);
    if (line.startsWith('$ ')) steps.push({ command: line.slice(2), expected: [], exit: 0 });
    else if (!steps.length) throw new Error(`a session begins with "$ COMMAND", not ${JSON.stringify(line)}`);
    else if (line.startsWith('> ') && !steps.at(-1).expected.length) steps.at(-1).command += '\n' + line.slice(2);
    else if (exit) steps.at(-1).exit = Number(exit[1]);
    else steps.at(-1).expected.push(line);
  }
  return steps;
}

// The same of a conversation: { command, lines: [{ prompt, typed, answer: [lines] }] }.
export function conversation(body) {
  const [first, ...rest] = body.trimEnd().split('\n');
  const lines = [];
  for (const line of rest) {
    const typed = /^(>>>|\.\.\.|>)(?: (.*))?$/.exec(line);
    if (typed) lines.push({ prompt: typed[1] + ' ', typed: typed[2] ?? '', answer: [] });
    else lines.at(-1).answer.push(line);
  }
  return { command: first.replace(/^\$ /, ''), lines };
}

// Blanks before a … may be fewer: numbers are aligned to the right.
const part = line => line.split(/ *…/).map(s => s.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*');

// True if the output matches. Ignores white space at the ends of lines.
export function fits(expected, output) {
  const pattern = expected.map(line => line.trim() === '…' ? '(?:.*\n)*?' : part(line.trimEnd()) + '[ \t]*\n').join('');
  return new RegExp(`^${pattern}$`).test(output && !output.endsWith('\n') ? output + '\n' : output);
}

// A folder for one page with its own home and state; `harness` and the library are found as if they were installed.
export function desk(t) {
  const at = mkdtempSync(join(tmpdir(), 'harness-docs-'));
  undo(t, () => rmSync(at, { recursive: true, force: true }));
  for (const name of ['bin', 'home', 'work']) mkdirSync(join(at, name));
  symlinkSync(bin, join(at, 'bin/harness'));
  writeFileSync(join(at, 'pwd'), join(at, 'work'));
  writeFileSync(join(at, 'exports'), '');
  const library = join(root, 'build', build);
  const env = { HARNESS_TRUST: at, PATH: `${at}/bin:/usr/local/bin:/usr/bin:/bin`, HOME: `${at}/home`, XDG_STATE_HOME: `${at}/home/.local/state`, LANG: 'C.UTF-8', NO_COLOR: '1',
    CPATH: join(root, 'include'), LIBRARY_PATH: library, LD_LIBRARY_PATH: library, ...sanitizers() };
  return {
    write(path, body) {
      mkdirSync(dirname(join(at, 'work', path)), { recursive: true });
      writeFileSync(join(at, 'work', path), body);
      if (body.startsWith('#!')) chmodSync(join(at, 'work', path), 0o755);
    },
    // The next command inherits the folder and the exported variables.
    run: command => new Promise(resolve =>
      execFile('bash', ['-c', `cd "$(cat ${at}/pwd)"; . ${at}/exports; trap 'pwd >${at}/pwd; export -p >${at}/exports' EXIT; exec 2>&1\n${command}`],
        { env, encoding: 'utf8', timeout: 30000, maxBuffer: 1 << 24 },
        (error, stdout) => resolve({ exit: error ? error.code ?? -1 : 0, output: stdout }))),
    // Types the lines of a conversation into a terminal; returns the answers that did not appear.
    converse: ({ command, lines }) => new Promise((resolve, reject) => {
      const steps = lines.flatMap(({ prompt, typed, answer }) => [['', prompt], [`${typed}\n`, answer[0] ?? '']]);
      const child = execFile('python3', [join(root, 'tests/e2e/terminal.py'), 'bash', '-c', `cd "$(cat ${at}/pwd)"; exec ${command}`],
        { env: { ...env, TERM: 'xterm' }, encoding: 'utf8', timeout: 60000 }, (error, stdout) => {
          if (error) return reject(error);
          const shown = JSON.parse(stdout).output.replaceAll(/\x1b\[[?0-9;]*[A-Za-z]|\r/g, '');
          let from = 0;
          for (const line of lines.flatMap(l => l.answer)) {
            const next = shown.indexOf(line, from);
            if (next < 0) return resolve(`not shown: ${line}\n--- it shows\n${shown}`);
            from = next + line.length;
          }
          resolve();
        });
      child.stdin.end(JSON.stringify([...steps, ['', lines[0].prompt], ['\x04', '']]));
    }),
  };
}

const sanitizers = () => Object.fromEntries(Object.entries(process.env).filter(([k]) => /^[A-Z]+SAN_OPTIONS$/.test(k)));

// The anchors of a page, as GitHub makes them.
export function anchors(markdown) {
  const plain = markdown.replace(/^(`{3,}).*\n[\s\S]*?^\1$/gm, '');
  const seen = new Map();
  return [...plain.matchAll(/^#{1,6} (.+)$/gm)].map(([, title]) => {
    const base = title.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').trim().replace(/ /g, '-');
    const n = seen.get(base) ?? 0;
    seen.set(base, n + 1);
    return n ? `${base}-${n}` : base;
  });
}

// The links of a page: { target, line }, without those to other sites and in code.
export function links(markdown) {
  const plain = markdown.replace(/^(`{3,}).*\n[\s\S]*?^\1$/gm, block => block.replace(/[^\n]/g, ' ')).replace(/`[^`\n]*`/g, code => ' '.repeat(code.length));
  return [...plain.matchAll(/\]\(([^)\s]+)\)/g)].filter(([, target]) => !/^[a-z]+:/.test(target))
    .map(m => ({ target: m[1], line: plain.slice(0, m.index).split('\n').length }));
}

// The problem of a link, or undefined.
export function broken(page, target) {
  const [path, anchor] = target.split('#');
  const file = path ? join(root, dirname(page), path) : join(root, page);
  let info;
  try { info = statSync(file); } catch { return `${relative(root, file)} is not there`; }
  if (anchor && (info.isDirectory() || !anchors(readFileSync(file, 'utf8')).includes(anchor))) return `${relative(root, file)} has no heading #${anchor}`;
}
