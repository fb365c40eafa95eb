// Starts `harness mcp serve` for the tests of the server: over stdio or HTTP, with a separate state, and stops it.
import { spawn } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, environment, folder, root, undo } from './harness.mjs';

export const slow = ['asan', 'tsan', 'hostile'].includes(process.env.HARNESS_BUILD);   // builds that take many times as long

// A copy of the conformance fixture: its tools change files of the project.
export function fixture(t) {
  const dir = folder(t);
  cpSync(join(root, 'tests/mcp-conformance'), dir, { recursive: true, filter: path => !path.endsWith('.mjs') });
  return dir;
}

// What a client that starts the server itself needs: the program, its arguments and environment.
export function stdio(t, dir, { flags = [], env = {} } = {}) {
  return { command: bin, args: ['-C', dir, 'mcp', 'serve', ...flags], env: { ...environment, HARNESS_STATE: join(folder(t), 'harness.db'), ...env } };
}

// The server over HTTP on a free port: { url, child, stderr(), closers }. Ends with the test, after its `closers`, by SIGTERM: a server
// that must be killed fails it.
export async function http(t, dir, { flags = ['--no-auth'], env = {} } = {}) {
  const { command, args, env: all } = stdio(t, dir, { flags: ['--http', '127.0.0.1:0', ...flags], env });
  const child = spawn(command, args, { env: all, stdio: ['ignore', 'ignore', 'pipe'] });
  let text = '';
  const ended = new Promise(resolve => child.on('close', (status, signal) => resolve(signal ?? status)));
  const url = await new Promise((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', part => {
      text += part;
      const at = /http:\/\/[^\s"]+\/mcp/.exec(text);
      if (at) resolve(at[0]);
    });
    ended.then(how => reject(new Error(`mcp serve ended with ${how}: ${text}`)));
  });
  const closers = [];
  undo(t, async () => {
    for (const close of closers) await close();
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), slow ? 60000 : 15000);
    const how = await ended;
    clearTimeout(timer);
    if (how !== 0) throw new Error(`mcp serve ended with ${how} after SIGTERM: ${text}`);
  });
  return { url, child, ended, closers, stderr: () => text };
}

// Peak memory of a process, in bytes.
export function peakMemory(pid) {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;
}
