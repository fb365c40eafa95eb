// Every message that our client sends is valid by the official JSON Schema of the version it speaks: to our own server behind a proxy that
// listens, over HTTP, and to a program whose input is kept, over stdio.
import assert from 'node:assert/strict';
import { createServer, request as ask } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { folder, project, root, start } from './harness.mjs';
import { fixture, http } from './mcp_serve.mjs';
import { faults } from './mcp_schema.mjs';

const versions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];

// Forwards everything to a server and records what the client sent: { url, said: [message], asked: id → method of the server's requests }.
async function listening(t, server) {
  const { hostname, port, host } = new URL(server.url), said = [], asked = new Map();
  const proxy = createServer((from, to) => {
    const on = ask({ hostname, port, path: from.url, method: from.method, headers: { ...from.headers, host } }, answer => {
      to.writeHead(answer.statusCode, answer.headers);
      answer.setEncoding('utf8').on('data', part => {
        to.write(part);
        for (const [, json] of part.matchAll(/^(?:data: )?(\{.*\})$/gm)) {
          const message = JSON.parse(json);
          if (message.method && message.id !== undefined) asked.set(message.id, message.method);
        }
      }).on('end', () => to.end()).on('error', () => to.destroy());
    }).on('error', () => to.destroy());
    let body = '';
    from.setEncoding('utf8').on('data', part => { body += part; on.write(part); }).on('end', () => { if (body) said.push(JSON.parse(body)); on.end(); });
    from.on('close', () => { if (!from.complete) on.destroy(); });
  });
  await new Promise(resolve => proxy.listen(0, '127.0.0.1', resolve));
  server.closers.push(() => { proxy.closeAllConnections(); proxy.close(); });
  return { url: `http://127.0.0.1:${proxy.address().port}/mcp`, said, asked };
}

function check(version, said, asked) {
  const wrong = said.map(message => ({ message, faults: faults(version, message, asked.get(message.id)) })).filter(({ faults: found }) => found.length);
  assert.deepEqual(wrong, []);
}

describe('over HTTP', { concurrency: 3 }, () => {
  for (const version of versions)
    test(version, async t => {
      const { url, said, asked } = await listening(t, await http(t, fixture(t)));
      const env = { HARNESS_STATE: join(folder(t), 'harness.db') }, dir = folder(t);
      const harness = async (...words) => {
        const out = await start(['-C', dir, 'mcp', ...words, '--protocol', version], { env });
        assert.equal(out.status, 0, `${words.join(' ')}: ${out.stderr}`);
        return out.stdout;
      };
      await harness('tools', url);
      await harness('call', url, 'greet', '{"name": "Ada"}');
      await harness('call', url, 'test_tool_with_progress', '{}');
      await harness('call', url, 'test_elicitation_sep1034_defaults', '{}', '--elicit', 'accept');
      await harness('call', url, 'test_elicitation_sep1034_defaults', '{}', '--elicit', 'decline');
      await harness('call', url, 'slow_compute', '{"seconds": 0}');
      await harness('request', url, 'resources/list');
      await harness('request', url, 'resources/read', '{"uri": "test://static-text"}');
      await harness('request', url, 'prompts/get', '{"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}}');
      await harness('request', url, 'completion/complete', '{"ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"}, "argument": {"name": "arg1", "value": "t"}}');
      check(version, said, asked);
      const methods = said.map(({ method }) => method);
      assert.ok(['tools/list', 'tools/call', 'resources/read', 'prompts/get', 'completion/complete'].every(method => methods.includes(method)), methods.join());
      assert.equal(methods.includes('initialize'), version !== '2026-07-28');
      if (version >= '2025-06-18') assert.ok(version === '2026-07-28' ? said.some(({ params }) => params?.inputResponses) : said.some(({ result }) => result?.action === 'accept'), 'it was asked');
    });
});

describe('over stdio', { concurrency: 3 }, () => {
  for (const how of ['honest', 'modern'])
    test(how, async t => {
      const fixtures = join(root, 'tests/e2e/fixtures/mcp');
      const program = how === 'honest' ? 'python3 server.py honest' : `${process.execPath} ${join(fixtures, 'modern.mjs')}`;
      const dir = project(t, { 'server.py': readFileSync(join(fixtures, 'server.py'), 'utf8'),
        'harness.md': `---\nmcp_servers:\n  small:\n    command: sh\n    args: [-c, "tee said.log | ${program}"]\n    read_roots: [${JSON.stringify(root)}]\n---\n` });
      const env = { HARNESS_STATE: join(folder(t), 'harness.db') };
      const out = await start(['-C', dir, 'mcp', 'tools', 'small', '--json'], { env });
      assert.equal(out.status, 0, out.stderr);
      const said = readFileSync(join(dir, 'said.log'), 'utf8').trim().split('\n').map(line => JSON.parse(line));
      // The client asks whether the server is stateless; if it is not, the handshake follows.
      const modern = said.filter(({ params }) => params?._meta?.['io.modelcontextprotocol/protocolVersion']), other = said.filter(message => !modern.includes(message));
      check('2026-07-28', modern, new Map());
      check('2025-11-25', other, new Map());
      assert.ok((how === 'modern' ? modern : other).some(({ method }) => method === 'tools/list'));
    });
});
