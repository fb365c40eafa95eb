// harness console for one test, and requests to it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { bin, environment, undo } from './harness.mjs';

// Starts a console for the project of `p` (talker or caller). It must end with exit status 0 after SIGTERM.
export async function serve(t, p, { flags = [], env = {} } = {}) {
  const child = spawn(bin, ['-C', p.dir, 'console', ...(flags.includes('--http') ? [] : ['--http', '127.0.0.1:0']), ...flags], {
    env: { ...environment, ...p.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'],
  });
  const s = { child, out: '', log: '', exit: once(child, 'exit') };
  child.stdout.setEncoding('utf8').on('data', d => { s.out += d; });
  child.stderr.setEncoding('utf8').on('data', d => { s.log += d; });
  undo(t, async () => {
    if (child.exitCode === null) child.kill('SIGTERM');
    const [status, signal] = await s.exit;
    if (status !== 0) throw new Error(`the console ended with ${status ?? signal}: ${s.log}`);
  });
  while (!s.out.includes('\n')) {
    if (child.exitCode !== null) throw new Error(s.log);
    await new Promise(r => setTimeout(r, 5));
  }
  s.url = s.out.trim();
  s.token = /#token=([\w.-]+)$/.exec(s.url)[1];
  s.port = Number(/:(\d+)\/#/.exec(s.url)[1]);
  s.get = (path, headers) => ask(s, { path: `/api/${path}`, headers });
  s.post = (path, body = {}, headers) => ask(s, { method: 'POST', path: `/api/${path}`, body, headers });
  // The body of a request that must succeed.
  s.json = async path => {
    const r = await s.get(path);
    if (r.status !== 200) throw new Error(`${path}: ${r.status} ${r.text}`);
    return r.json;
  };
  return s;
}

// One request, complete: {status, headers, text, json}. A header that is undefined is not sent.
export function ask(s, { method = 'GET', path = '/', headers = {}, body, bytes = false } = {}) {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  const all = { Authorization: `Bearer ${s.token}`, ...(text === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }), ...headers };
  for (const k of Object.keys(all)) if (all[k] === undefined) delete all[k];
  return new Promise((resolve, reject) => {
    const req = http.request({ host: '127.0.0.1', port: s.port, path, method, headers: all, agent: new http.Agent() }, res => {
      const parts = [];
      res.on('data', d => parts.push(d));
      res.on('end', () => {
        const raw = Buffer.concat(parts), r = { status: res.statusCode, headers: res.headers, text: bytes ? raw : raw.toString('utf8') };
        if (/^application\/json/.test(res.headers['content-type'] ?? '') && raw.length) r.json = JSON.parse(r.text);
        resolve(r);
      });
      res.on('error', reject);
    });
    req.on('error', reject);
    req.end(text);
  });
}

// A stream of server-sent events: `all` so far; `until` waits for one that fits.
export function stream(t, s, query = '', headers = {}) {
  const st = { all: [], raw: '', status: undefined };
  const req = http.request({ host: '127.0.0.1', port: s.port, path: `/api/stream${query}`, headers: { Authorization: `Bearer ${s.token}`, ...headers }, agent: new http.Agent() }, res => {
    st.status = res.statusCode;
    st.headers = res.headers;
    res.setEncoding('utf8').on('data', d => {
      st.raw += d;
      for (let end; (end = st.raw.indexOf('\n\n')) >= 0; st.raw = st.raw.slice(end + 2)) {
        const e = { data: '' };
        for (const line of st.raw.slice(0, end).split('\n')) {
          const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
          if (name === 'data') e.data += value;
          else if (name) e[name] = value;
        }
        if (e.event) st.all.push({ ...e, data: JSON.parse(e.data) });
      }
    });
    res.on('error', () => {});
  });
  req.on('error', () => {});
  req.end();
  st.close = () => req.destroy();
  undo(t, st.close);
  st.until = async fits => {
    for (const end = Date.now() + 20000; Date.now() < end;) {
      const found = st.all.find(fits);
      if (found) return found;
      await new Promise(r => setTimeout(r, 10));
    }
    throw new Error(`no such event among ${JSON.stringify(st.all).slice(0, 2000)}`);
  };
  return st;
}
