// harness mcp serve --http, and requests to it that no well-behaved client would make.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { bin, folder, project, undo } from './harness.mjs';

export const token = 'a-token-of-the-tests';
export const modern = '2026-07-28';
const tools = {
  'harness.md': '---\nbuiltin_tools: none\nlimits: { max_tool_calls: 100000 }\n---\n',
  '.harness/tools/echo.md': '---\nparameters: { text: { type: string } }\nscript: |\n  def run(args):\n      return args.get("text", "")\n---\nSays it again.\n',
  '.harness/tools/work.md': '---\nparameters: { seconds: { type: number } }\nscript: |\n  def run(args):\n      progress(1, 2, "half")\n      sleep(args.get("seconds", 0))\n'
    + '      return "worked"\n---\nWorks.\n',
  '.harness/tools/wait.md': '---\nparameters: { file: { type: string } }\nscript: |\n  def run(args):\n      for i in range(200):\n          if fs.exists(args["file"]):\n'
    + '              return "found"\n          sleep(0.05)\n      return "nothing"\n---\nWaits for a file.\n',
  '.harness/tools/leave.md': '---\nparameters: { file: { type: string } }\nscript: |\n  def run(args):\n      sleep(1)\n      fs.write(args["file"], "x")\n---\nWrites a file, late.\n',
};

// Starts a server for one test. It must exit with status 0 after SIGTERM, unless the test ends it itself.
export async function serve(t, { flags = [], env = {}, files = {}, fails = false } = {}) {
  const dir = project(t, { ...tools, ...files });
  const child = spawn(bin, ['-C', dir, 'mcp', 'serve', ...(flags.includes('--http') ? [] : ['--http', '127.0.0.1:0']), ...flags], {
    env: { PATH: process.env.PATH, HOME: folder(t), HARNESS_TRUST: dir, HARNESS_STATE: folder(t) + '/state.db', HARNESS_MCP_TOKEN: token, ...env }, stdio: ['ignore', 'ignore', 'pipe'],
  });
  const s = { dir, child, log: '', exit: once(child, 'exit'), session: undefined };
  child.stderr.setEncoding('utf8').on('data', d => { s.log += d; });
  undo(t, async () => {
    if (!child.killed) child.kill('SIGTERM');
    const [status, signal] = await s.exit;
    if (status !== 0 && !fails) throw new Error(`the server ended with ${status ?? signal}: ${s.log}`);
  });
  while (!/http:\/\/127\.0\.0\.1:\d+\/mcp/.test(s.log)) {
    if (child.exitCode !== null) throw new Error(s.log);
    await new Promise(r => setTimeout(r, 10));
  }
  s.port = Number(/:(\d+)\/mcp/.exec(s.log)[1]);
  s.url = `http://127.0.0.1:${s.port}/mcp`;
  return s;
}

// One request; resolves when the head of the response has arrived. `events` and `text` read the rest.
export function ask(s, { method = 'POST', path = '/mcp', headers = {}, body, agent, port = s.port } = {}) {
  const text = body === undefined ? undefined : typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const all = { Authorization: `Bearer ${token}`, Accept: 'application/json, text/event-stream', ...(text === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers };
    for (const k of Object.keys(all)) if (all[k] === undefined) delete all[k];
    const req = http.request({ host: '127.0.0.1', port, path, method, headers: all, agent: agent ?? new http.Agent() }, res => {
      res.setEncoding('utf8');
      const r = { status: res.statusCode, headers: res.headers, res, req, raw: '' };
      r.ended = new Promise(done => { res.on('close', done); });
      res.on('error', () => {});
      res.on('data', d => { r.raw += d; });
      r.text = async () => { await r.ended; return r.raw; };
      r.json = async () => {                               // the answer, as one document or as an event
        await r.ended;
        return /^text\/event-stream/.test(res.headers['content-type']) ? messages(r.raw).at(-1) : r.raw ? JSON.parse(r.raw) : undefined;
      };
      r.close = () => { req.destroy(); };
      resolve(r);
    });
    req.on('error', reject);
    req.end(text);
  });
}

// The events of a stream so far: [{id, data, retry}].
export function events(raw) {
  return raw.split('\n\n').slice(0, -1).map(block => {
    const e = {};
    for (const line of block.split('\n')) {
      const [, name, value] = /^([a-z]*): ?(.*)$/.exec(line) ?? [];
      if (name) e[name] = value;
    }
    return e;
  });
}

export const messages = raw => events(raw).filter(e => e.data).map(e => JSON.parse(e.data));

export async function until(what, limit = 10000) {
  for (const end = Date.now() + limit; Date.now() < end;) {
    const found = await what();
    if (found) return found;
    await new Promise(r => setTimeout(r, 10));
  }
  throw new Error('waited in vain');
}

// ---- handshake era ----

export async function open(s, version = '2025-11-25', more = {}) {
  const r = await ask(s, { body: { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: version, capabilities: {}, clientInfo: { name: 't', version: '1' } } }, ...more });
  const answer = await r.json();
  const headers = { 'Mcp-Session-Id': r.headers['mcp-session-id'], 'MCP-Protocol-Version': version };
  const ready = await ask(s, { headers, body: { jsonrpc: '2.0', method: 'notifications/initialized' } });
  return { headers, answer, ready };
}

export const call = (id, name, args = {}, meta) =>
  ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, ...(meta ? { _meta: meta } : {}) } });

// ---- stateless era ----

export const meta = { 'io.modelcontextprotocol/protocolVersion': modern, 'io.modelcontextprotocol/clientCapabilities': {}, 'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' } };

export function stateless(s, id, method, params = {}, { headers = {}, ...more } = {}) {
  const name = params.name ?? params.uri;
  return ask(s, { headers: { 'MCP-Protocol-Version': modern, 'Mcp-Method': method, ...(name ? { 'Mcp-Name': name } : {}), ...headers },
    body: { jsonrpc: '2.0', id, method, params: { _meta: meta, ...params } }, ...more });
}

// ---- below HTTP ----

export function raw(s, text, half = false) {
  return new Promise(resolve => {
    const socket = net.connect({ port: s.port, host: '127.0.0.1', allowHalfOpen: true }, () => (half ? socket.end(text) : socket.write(text)));
    let got = '';
    socket.setEncoding('utf8').on('data', d => { got += d; }).on('error', () => {}).on('end', () => socket.destroy()).on('close', () => resolve(got));
  });
}
