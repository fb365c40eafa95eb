// A conversation in a terminal: steps of [what is typed, what must be shown then].
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, folder, project, root } from './harness.mjs';

export const bare = text => text.replaceAll(/\x1b\[[?0-9;]*[A-Za-z]/g, '');
export const leave = ['\x04', ''];

export function terminal(dir, steps, { args = ['run'], env = {}, state } = {}) {
  return new Promise((resolve, reject) => {
    const child = execFile('python3', [join(root, 'tests/e2e/terminal.py'), bin, '-C', dir, ...args],
      { encoding: 'utf8', maxBuffer: 1 << 26, timeout: 120000, env: { PATH: process.env.PATH, HOME: process.env.HOME, HARNESS_TRUST: dir, TERM: 'xterm',
        ASAN_OPTIONS: process.env.ASAN_OPTIONS ?? '', TSAN_OPTIONS: process.env.TSAN_OPTIONS ?? '', XDG_STATE_HOME: state, ...env } },
      (error, stdout) => {
        if (error) return reject(error);
        const r = JSON.parse(stdout);
        if (r.missing !== null) return reject(new Error(`not shown: ${JSON.stringify(r.missing)} in ${bare(r.output)}`));
        if (r.status !== 0) return reject(new Error(`exit status ${r.status}: ${bare(r.output)}`));
        resolve({ ...r, text: bare(r.output).replaceAll('\r', '') });
      });
    child.stdin.end(JSON.stringify(steps));
  });
}

// `lines` are [typed, shown] pairs, each typed at a prompt; then Ctrl-D. `events` reads the events of the run.
export function talks(t, files, options = {}) {
  const dir = project(t, files), state = folder(t), log = join(folder(t), 'events');
  const say = (lines, more = {}) => terminal(dir, [...(more.size ? [[more.size, '']] : []), ...lines.flatMap(([typed, shown]) => [['', '> '], [typed, shown]]), ['', '> '], leave],
    { state, ...options, ...more, args: more.args ?? ['run', '--events', log] });
  const events = type => readFileSync(log, 'utf8').split('\n').filter(Boolean).map(line => JSON.parse(line)).filter(e => !type || e.type === type);
  return { dir, state, log, say, events, data: type => events(type).map(e => e.data) };
}
