// The official TypeScript SDKs as clients of `harness mcp serve`, behind one interface: release 1.x and 2.x, the handshake versions of the protocol
// and the stateless one, stdio and HTTP.
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types1 from '@modelcontextprotocol/sdk/types.js';
import { Client as Client2, LOG_LEVEL_META_KEY, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { undo } from './harness.mjs';
import { recorded } from './mcp_schema.mjs';
import { http, stdio } from './mcp_serve.mjs';

// Every way to connect: name → { sdk, stateless, http }.
export const ways = {};
for (const transport of ['stdio', 'http']) {
  ways[`SDK 1.x, ${transport}`] = { sdk: 1, http: transport === 'http' };
  ways[`SDK 2.x, handshake, ${transport}`] = { sdk: 2, http: transport === 'http' };
  ways[`SDK 2.x, stateless, ${transport}`] = { sdk: 2, http: transport === 'http', stateless: true };
}

// The schemas by which 1.x distinguishes methods.
const requests1 = { 'elicitation/create': types1.ElicitRequestSchema, 'sampling/createMessage': types1.CreateMessageRequestSchema, 'roots/list': types1.ListRootsRequestSchema };
const notices1 = {
  'notifications/message': types1.LoggingMessageNotificationSchema, 'notifications/resources/updated': types1.ResourceUpdatedNotificationSchema,
  'notifications/tools/list_changed': types1.ToolListChangedNotificationSchema, 'notifications/prompts/list_changed': types1.PromptListChangedNotificationSchema,
  'notifications/resources/list_changed': types1.ResourceListChangedNotificationSchema,
};

// Connects in one of these ways to the server of a project. `answers` has a function for each question of the server that the client
// is to answer, by method, given its params; the client offers these capabilities and no other. Gives
//     client    the SDK's own object
//     notices   notifications received: [{ method, params }]
//     seen      every message, as mcp_schema.mjs records them
//     until(f)  waits until f() is true
export async function connect(t, dir, way, { answers = {}, flags, env, name = 'test-client', protocol, server, headers } = {}) {
  const capabilities = {};
  if (answers['elicitation/create']) capabilities.elicitation = {};
  if (answers['sampling/createMessage']) capabilities.sampling = {};
  if (answers['roots/list']) capabilities.roots = { listChanged: true };
  const info = { name, version: '1.0.0' };
  const client = way.sdk === 1
    ? new Client1(info, { capabilities })
    : new Client2(info, { capabilities, ...(way.stateless ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {}) });
  for (const [method, answer] of Object.entries(answers))
    client.setRequestHandler(way.sdk === 1 ? requests1[method] : method, request => answer(request.params));
  const notices = [];
  for (const [method, schema] of Object.entries(notices1))
    client.setNotificationHandler(way.sdk === 1 ? schema : method, ({ params }) => { notices.push({ method, params }); });

  let transport;
  if (way.http) {
    server ??= await http(t, dir, { flags, env });
    transport = new (way.sdk === 1 ? Http1 : Http2)(new URL(server.url), { requestInit: { headers } });
  } else transport = new (way.sdk === 1 ? Stdio1 : Stdio2)({ ...stdio(t, dir, { flags, env }), stderr: 'ignore' });
  const seen = recorded(transport);
  if (protocol) {                        // ask for an older version than the SDK would
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      if (message.method === 'initialize') message.params.protocolVersion = protocol;
      return send(message, options);
    };
  }
  await client.connect(transport);
  const close = async () => {
    if (way.http && transport.sessionId) await transport.terminateSession();
    await client.close();
  };
  if (way.http) server.closers.push(close);
  else undo(t, close);
  return {
    client, notices, seen, server, transport,
    call: (tool, args = {}, options = {}) => way.sdk === 1
      ? client.callTool({ name: tool, arguments: args }, undefined, options)
      : client.callTool({ name: tool, arguments: args }, options),
    // In the stateless version a client asks for the log with each request.
    logged: (tool, args, level) => client.callTool({ name: tool, arguments: args, ...(way.stateless ? { _meta: { [LOG_LEVEL_META_KEY]: level } } : {}) }),
    until,
  };
}

export async function until(f, ms = 10000) {
  for (const end = Date.now() + ms; Date.now() < end; await new Promise(resolve => setTimeout(resolve, 20))) if (f()) return;
  throw new Error(`not in ${ms} ms: ${f}`);
}
