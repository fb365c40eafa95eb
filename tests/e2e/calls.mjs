// Projects whose tools are called: harness call with a separate state, and its events.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { add, project, run, start, undo, storeIn } from './harness.mjs';

// A Starlark tool: `head` is more frontmatter, `body` what run(args) does, in lines.
export function tool(body, head = '') {
  const lines = body.split('\n').map(line => `      ${line}`).join('\n');
  return `---\n${head}${head && !head.endsWith('\n') ? '\n' : ''}script: |\n  def run(args):\n${lines}\n---\nDoes it.\n`;
}

// A hook: the same for handle(event, payload).
export function hook(event, body, head = '') {
  const lines = body.split('\n').map(line => `      ${line}`).join('\n');
  return `---\nevent: ${event}\n${head}${head && !head.endsWith('\n') ? '\n' : ''}script: |\n  def handle(event, payload):\n${lines}\n---\n`;
}

export function caller(t, files, { env = {} } = {}) {
  const dir = project(t, files);
  const state = mkdtempSync(join(tmpdir(), 'harness-state-'));
  undo(t, () => rmSync(state, { recursive: true, force: true }));
  const base = { ...storeIn(state), HARNESS_TRUST: dir, ...env };
  const log = join(state, 'events.jsonl');
  const words = (name, args, flags) =>
    ['-C', dir, 'call', name, ...(args === undefined ? [] : [typeof args === 'string' ? args : JSON.stringify(args)]), '--json', '--events', log, ...flags];
  const read = out => {
    let result;
    try { result = JSON.parse(out.stdout); } catch { throw new Error(`no JSON: ${out.stdout}\n${out.stderr}`); }
    return { ...out, ...result, call: result };
  };
  return {
    dir, state, env: base,
    add: more => add(dir, more),
    has: path => existsSync(join(dir, path)),
    text: path => readFileSync(join(dir, path), 'utf8'),
    run: (args, options = {}) => run(['-C', dir, ...args], { ...options, env: { ...base, ...options.env } }),
    // The result object of step 11, with status and stderr.
    call: (name, args, flags = [], options = {}) => {
      rmSync(log, { force: true });
      return read(run(words(name, args, flags), { ...options, env: { ...base, ...options.env } }));
    },
    start: async (name, args, flags = [], options = {}) => read(await start(words(name, args, flags), { ...options, env: { ...base, ...options.env } })),
    // Events of the last call: all of them, or those of one type.
    events: type => (existsSync(log) ? readFileSync(log, 'utf8') : '').split('\n').filter(Boolean).map(line => JSON.parse(line))
      .filter(e => !type || e.type === type),
  };
}
