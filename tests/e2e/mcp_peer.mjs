// A raw client of `harness mcp serve`: writes lines, reads lines, answers requests of the server.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { bin, undo } from './harness.mjs';

const meta = 'io.modelcontextprotocol/';
const kept = Object.fromEntries(['PATH', 'HOME', 'ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS'].filter(k => k in process.env).map(k => [k, process.env[k]]));

// `answer(method, params)`: what to answer requests of the server with; an Error is a refusal.
export class Peer {
  constructor(t, dir, { args = [], env = {}, answer = () => new Error('nobody is there') } = {}) {
    this.child = spawn(bin, ['-C', dir, 'mcp', 'serve', ...args], { env: { ...kept, HARNESS_TRUST: tmpdir(), HARNESS_STATE: dir + '.state/state.db', ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
    Object.assign(this, { answer, waiting: new Map(), seen: [], asked: [], watchers: [], id: 0, errors: '' });
    this.child.stderr.on('data', d => { this.errors += d; });
    let text = '';
    this.child.stdout.on('data', d => {
      text += d;
      for (let at; (at = text.indexOf('\n')) >= 0; text = text.slice(at + 1)) this.take(JSON.parse(text.slice(0, at)));
    });
    this.ended = new Promise(resolve => this.child.on('close', (code, signal) => resolve({ code, signal })));
    this.ended.then(() => { for (const done of this.waiting.values()) done({ error: { code: 0, message: 'the server has ended: ' + this.errors } }); });
    undo(t, async () => {
      this.child.kill('SIGKILL');
      for (const stream of this.child.stdio) stream.destroy();
      await this.ended;
      rmSync(dir + '.state', { recursive: true, force: true });
    });
  }

  send(message) { this.child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n'); }

  take(m) {
    if (m.method && 'id' in m) {
      this.asked.push(m);
      const a = this.answer(m.method, m.params);
      if (a === undefined) return;
      if (a instanceof Error) this.send({ id: m.id, error: { code: -1, message: a.message } });
      else this.send({ id: m.id, result: a });
    } else if (m.method) {
      this.seen.push(m);
      for (const w of [...this.watchers]) w();
    } else {
      this.waiting.get(m.id)?.(m);
      this.waiting.delete(m.id);
    }
  }

  request(method, params, id = ++this.id) {
    return new Promise(resolve => { this.waiting.set(id, resolve); this.send({ id, method, params }); });
  }

  notify(method, params) { this.send({ method, params }); }

  // The first notification that matches: one already received, or a later one.
  async until(fits) {
    for (;;) {
      const found = this.seen.find(fits);
      if (found) return found;
      await new Promise(resolve => { const w = () => { this.watchers.splice(this.watchers.indexOf(w), 1); resolve(); }; this.watchers.push(w); });
    }
  }

  async hello(capabilities = {}, version = '2025-11-25') {
    const { result } = await this.request('initialize', { protocolVersion: version, capabilities, clientInfo: { name: 'test', version: '1' } });
    this.notify('notifications/initialized');
    return result;
  }

  // The same without a session: each request carries everything.
  ask(method, params = {}, capabilities = {}, more = {}) {
    return this.request(method, { ...params, _meta: { [meta + 'protocolVersion']: '2026-07-28', [meta + 'clientInfo']: { name: 'test', version: '1' },
      [meta + 'clientCapabilities']: capabilities, ...more } });
  }

  async end() {
    this.child.stdin.end();
    return this.ended;
  }
}
