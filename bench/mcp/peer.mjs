// The server that bench_mcp measures against: the same tool on the official TypeScript SDK, over stdio or, with the argument http, over HTTP
// with a session per client and plain JSON responses (its faster mode).
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(resolve('tests/e2e/package.json'));
const load = name => import(pathToFileURL(require.resolve(name)));
const { McpServer } = await load('@modelcontextprotocol/sdk/server/mcp.js');
const { z } = await load('zod');

function made() {
  const server = new McpServer({ name: 'peer', version: '1.0.0' });
  server.registerTool('up', { description: 'Upper.', inputSchema: { text: z.string(), times: z.number().int() } }, ({ text, times }) =>
    ({ content: [{ type: 'text', text: JSON.stringify({ out: text.toUpperCase(), n: times + 1 }) }] }));
  return server;
}

if (process.argv[2] !== 'http') {
  const { StdioServerTransport } = await load('@modelcontextprotocol/sdk/server/stdio.js');
  await made().connect(new StdioServerTransport());
} else {
  const { StreamableHTTPServerTransport } = await load('@modelcontextprotocol/sdk/server/streamableHttp.js');
  const sessions = new Map();
  const listener = createServer(async (request, response) => {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, enableJsonResponse: true, onsessioninitialized: id => { sessions.set(id, transport); } });
      await made().connect(transport);
    }
    await transport.handleRequest(request, response);
  });
  listener.keepAliveTimeout = 60000;      // its default of 5 s closes connections of a round that takes longer
  listener.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => console.error(`http://127.0.0.1:${listener.address().port}/mcp`));
}
