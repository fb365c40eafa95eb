// The pieces to copy in docs/howto/mcp.md: each has the format that its client reads, and starts a server of an example project or connects to one.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { tool } from './calls.mjs';
import { bin, environment, folder, project, root, undo } from './harness.mjs';
import { http } from './mcp_serve.mjs';

const page = readFileSync(join(root, 'docs/howto/mcp.md'), 'utf8');
const blocks = [...page.matchAll(/^```(json|toml) (file|client)=(\S+)\n(.*?)^```$/gms)].map(([, language, kind, name, body]) => ({ language, kind, name, body }));

function parsed({ language, body }) {
  if (language === 'json') return JSON.parse(body);
  const out = spawnSync('python3', ['-c', 'import json,sys,tomllib; print(json.dumps(tomllib.loads(sys.stdin.read())))'], { input: body, encoding: 'utf8' });
  assert.equal(out.status, 0, out.stderr);
  return JSON.parse(out.stdout);
}

// Where a client looks for servers, by its file or name.
const key = name => /codex/.test(name) ? 'mcp_servers' : /vscode/.test(name) ? 'servers' : 'mcpServers';
const entry = block => {
  const servers = parsed(block)[key(block.name)];
  assert.deepEqual(Object.keys(servers), ['project']);
  return servers.project;
};

const files = { 'harness.md': '---\nmcp_servers: {}\n---\n', '.harness/tools/hello.md': tool('return "Hello"') };

async function hello(t, transport) {
  const client = new Client({ name: 'copied', version: '1' });
  await client.connect(transport);
  undo(t, () => client.close());
  assert.deepEqual((await client.listTools()).tools.map(({ name }) => name), ['hello']);
  assert.equal((await client.callTool({ name: 'hello' })).content[0].text, 'Hello');
}

test('every client is there, for both ways', () => {
  assert.deepEqual(blocks.filter(({ kind }) => kind === 'file').map(({ name }) => name),
    ['.mcp.json', '.codex/config.toml', '.cursor/mcp.json', '.vscode/mcp.json', '.gemini/settings.json']);
  assert.deepEqual(blocks.filter(({ kind }) => kind === 'client').map(({ name }) => name), ['claude', 'codex', 'cursor', 'vscode', 'gemini']);
});

for (const block of blocks.filter(({ kind }) => kind === 'file'))
  test(`${block.name} starts a server`, async t => {
    const dir = project(t, { ...files, [block.name]: block.body }), path = folder(t);
    symlinkSync(bin, join(path, 'harness'));
    const { type, command, args, ...more } = entry(block);
    assert.deepEqual(more, {});
    if (block.name === '.vscode/mcp.json') assert.equal(type, 'stdio');
    const words = args.map(word => word.replace('${workspaceFolder}', dir).replace('/home/ada/project', dir));
    await hello(t, new StdioClientTransport({ command, args: words, cwd: dir, stderr: 'ignore',
      env: { ...environment, PATH: `${path}:${process.env.PATH}`, HARNESS_STATE: join(folder(t), 'harness.db') } }));
  });

for (const block of blocks.filter(({ kind }) => kind === 'client'))
  test(`${block.name} reaches a server`, async t => {
    const server = await http(t, project(t, files), { flags: [], env: { HARNESS_MCP_TOKEN: 'copied-token' } });
    const { type, url, httpUrl, headers, bearer_token_env_var: variable, ...more } = entry(block);
    assert.deepEqual(more, {});
    assert.equal(new URL(url ?? httpUrl).pathname, '/mcp');
    if (type) assert.equal(type, 'http');
    const sent = variable ? `Bearer \${${variable}}` : headers.Authorization;
    assert.match(sent, /^Bearer \$\{?(env:|input:)?(HARNESS_MCP_TOKEN|token)\}?$/);
    await hello(t, new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: { Authorization: 'Bearer copied-token' } } }));
  });
