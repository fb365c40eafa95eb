// Projects with an agent: harness run -p with a separate state, its events, and servers that act as a model.
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LLMock } from '@copilotkit/aimock';
import { add, folder, project, root, start, storeIn, undo } from './harness.mjs';
import { tool } from './calls.mjs';

// Retries with short waits, so that many faults can be tested.
export const quick = '{ max_attempts: 5, initial_backoff_ms: 5, max_backoff_ms: 20 }';

// harness.md with a model. `head` is more frontmatter.
export function harness(model, head = '', prompt = 'Be brief.') {
  const fields = Object.entries(model).map(([k, v]) => `  ${k}: ${v}\n`).join('');
  return `---\nmodel:\n${fields}${head}${head && !head.endsWith('\n') ? '\n' : ''}---\n${prompt}\n`;
}

// The same for a model written in Starlark: `script` is the file with reply(messages, tools).
export function scripted(script, head = '', prompt = 'Be brief.') {
  return { 'harness.md': harness({ provider: 'script', name: 'scripted', script: 'model.star' }, head, prompt), 'model.star': script };
}

// Writes one line to effects.log each time it runs, for tests to count.
export const effect = (head = '') => tool('fs.append("effects.log", str(args["n"]) + "\\n")\nreturn {"did": args["n"]}',
  `${head}${head && !head.endsWith('\n') ? '\n' : ''}parameters:\n  n: { type: integer, required: true }`);

export function talker(t, files, { env = {} } = {}) {
  const dir = project(t, files);
  const state = mkdtempSync(join(tmpdir(), 'harness-state-'));
  undo(t, () => rmSync(state, { recursive: true, force: true }));
  const base = { ...storeIn(state), HARNESS_TRUST: dir, OPENAI_API_KEY: 'sk-test-openai-000', ANTHROPIC_API_KEY: 'sk-test-anthropic-000', ...env };
  const log = join(state, 'events.jsonl');
  const read = out => {
    let reply = null;
    try { reply = JSON.parse(out.stdout); } catch { /* it failed before there was a run */ }
    return { ...out, reply };
  };
  const lines = path => (existsSync(path) ? readFileSync(path, 'utf8') : '').split('\n').filter(Boolean);
  const harness = (args, options = {}) => start(['-C', dir, ...args], { ...options, env: { ...base, ...options.env } });
  return {
    dir, state, log, env: base, harness,
    add: more => add(dir, more),
    has: path => existsSync(join(dir, path)),
    text: path => readFileSync(join(dir, path), 'utf8'),
    // One job; `reply` is the output of --json.
    say: async (text, flags = [], options = {}) => {
      rmSync(log, { force: true });
      return read(await harness(['run', '-p', text, '--json', '--events', log, ...flags], options));
    },
    resume: async (run, flags = [], options = {}) => read(await harness(['runs', 'resume', run, '--json', ...flags], options)),
    runs: async () => JSON.parse((await harness(['runs', '--json'])).stdout),
    show: async run => JSON.parse((await harness(['runs', 'show', run, '--json'])).stdout),
    events: type => lines(log).map(line => JSON.parse(line)).filter(e => !type || e.type === type),
    effects: () => lines(join(dir, 'effects.log')),
    // After kill -9, harness attributes differences found at its next start to the killed call, so a test that edits the
    // project starts harness once before.
    settle: async () => {
      const rules = base.XDG_STATE_HOME ? join(state, 'harness/rules') : `${base.HARNESS_STATE}-rules`;
      const marked = () => existsSync(rules) && readdirSync(rules).some(name => name.startsWith('mark-'));
      for (let i = 0; i < 100 && marked(); i++) {
        const { status, stderr } = await harness(['sandbox', '--', 'true']);
        if (status !== 0) throw new Error(stderr);
      }
    },
  };
}

// The mock server, with one function that answers every request in OpenAI's terms.
export async function mock(t, answer, options = {}, fixture = {}) {
  const server = new LLMock({ port: 0, ...options });
  server.on({}, answer, fixture);
  await server.start();
  undo(t, () => server.stop());
  return server;
}

export const surfaces = {
  openai: url => ({ provider: 'openai', name: 'gpt-test', base_url: `${url}/v1`, retry: quick }),
  responses: url => ({ provider: 'openai', wire: 'responses', name: 'gpt-5-test', base_url: `${url}/v1`, retry: quick }),
  anthropic: url => ({ provider: 'anthropic', name: 'claude-test', base_url: url, retry: quick }),
};

// A server: `handle(request, response, body, n)` for the nth request, n from 0.
export async function server(t, handle) {
  const requests = [];
  const http = createServer((request, response) => {
    let text = '';
    request.on('data', piece => { text += piece; });
    request.on('end', () => {
      const body = text ? JSON.parse(text) : null;
      requests.push({ url: request.url, headers: request.headers, body, bytes: Buffer.byteLength(text) });
      Promise.resolve(handle(request, response, body, requests.length - 1)).catch(e => { response.destroy(e); });
    });
  });
  await new Promise(done => http.listen(0, '127.0.0.1', done));
  undo(t, () => { http.closeAllConnections(); return new Promise(done => http.close(done)); });
  return { url: `http://127.0.0.1:${http.address().port}`, requests };
}

// tests/e2e/fixtures/crash.c, preloaded: kills the program at one exact point.
export function crasher(t) {
  const shim = join(folder(t), 'crash.so');
  const built = spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-o', shim, join(root, 'tests/e2e/fixtures/crash.c'), '-ldl'], { encoding: 'utf8' });
  if (built.status !== 0) throw new Error(built.stderr);
  return shim;
}
