// Governance over MCP: a real client cannot bypass hooks, policy, confirmation, sandbox, redaction, hidden values and limits.
// Each is tested with an SDK client of the handshake era over stdio and with a stateless one over HTTP.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { hook, tool } from './calls.mjs';
import { project } from './harness.mjs';
import { connect, ways } from './mcp_sdk.mjs';

const text = result => result.content.map(block => block.text ?? '').join('');
const names = async client => (await client.listTools()).tools.map(({ name }) => name);

// An error result with this message.
function refused(result, pattern) {
  assert.equal(result.isError, true, JSON.stringify(result));
  assert.match(text(result), pattern);
}

const note = tool('fs.append("notes.txt", args["text"] + "\\n")\nreturn "noted " + args["text"]', 'parameters:\n  text: { type: string, required: true }\n');
const secret = 'sk-hidden-4711-value';

const cases = {
  'a hook blocks, with its reason': {
    files: { '.harness/tools/note.md': note,
      '.harness/hooks/guard.md': hook('tool.pre', 'if "rm" in payload["args"].get("text", ""):\n    return block("not that word")\nreturn allow()') },
    check: async ({ call }, dir) => {
      refused(await call('note', { text: 'rm it' }), /not that word/);
      assert.ok(!existsSync(join(dir, 'notes.txt')));
      assert.equal(text(await call('note', { text: 'keep it' })), 'noted keep it');
    },
  },
  'a hook changes the arguments': {
    files: { '.harness/tools/note.md': note,
      '.harness/hooks/lower.md': hook('tool.pre', 'payload = dict(payload)\npayload["args"] = {"text": payload["args"]["text"].lower()}\nreturn modify(payload)') },
    check: async ({ call }) => assert.equal(text(await call('note', { text: 'LOUD' })), 'noted loud'),
  },
  'a tool calls another with arguments of its own': {
    files: { 'harness.md': '---\nmeta: { enabled: true }\n---\n', '.harness/tools/note.md': note,
      '.harness/tools/inner.md': tool('return args', 'parameters:\n  n: { type: integer, required: true }\n'),
      '.harness/tools/outer.md': tool('return [meta.call_tool("inner", {"n": 2}), meta.call_tool("note", {"text": "of mine"}), args["n"]]', 'parameters:\n  n: { type: integer, required: true }\n') },
    check: async ({ call }, dir) => {
      assert.deepEqual(JSON.parse(text(await call('outer', { n: 1 }))), [{ n: 2 }, 'noted of mine', 1]);
      assert.equal(readFileSync(join(dir, 'notes.txt'), 'utf8'), 'of mine\n');
    },
  },
  'a hook withholds a result': {
    files: { '.harness/tools/note.md': note, '.harness/hooks/after.md': hook('tool.post', 'return block("for your eyes only")') },
    check: async ({ call, seen }) => {
      refused(await call('note', { text: 'x-ray' }), /withheld by hook after/);
      assert.ok(!seen.some(({ from, message }) => from === 'server' && JSON.stringify(message).includes('noted')));
    },
  },
  'policy hides a tool, and refuses who calls it all the same': {
    files: { 'harness.md': '---\ntools_policy: { deny: ["drop_*"] }\n---\n', '.harness/tools/note.md': note, '.harness/tools/drop_all.md': note },
    check: async ({ client, call }, dir) => {
      assert.deepEqual(await names(client), ['note']);
      const outcome = await call('drop_all', { text: 'x' }).catch(error => ({ isError: true, content: [{ text: error.message }] }));
      refused(outcome, /drop_\*|policy|drop_all/);
      assert.ok(!existsSync(join(dir, 'notes.txt')));
    },
  },
  'an allow list is all there is': {
    files: { 'harness.md': '---\ntools_policy: { allow: [note] }\nbuiltin_tools: [bash]\n---\n', '.harness/tools/note.md': note },
    check: async ({ client }) => assert.deepEqual(await names(client), ['note']),
  },
  'a denied kind of safety is refused': {
    files: { 'harness.md': '---\nlimits: { deny: [process] }\n---\n', '.harness/tools/ls.md': tool('return exec.run("ls", [])'), '.harness/tools/note.md': note },
    check: async ({ call }) => {
      const outcome = await call('ls').catch(error => ({ isError: true, content: [{ text: error.message }] }));
      refused(outcome, /process|ls/);
      assert.equal(text(await call('note', { text: 'a' })), 'noted a');
    },
  },
  'confirmation: accepted': {
    files: { '.harness/tools/note.md': note.replace('---\n', '---\nconfirm: true\n') },
    elicit: params => ({ action: 'accept', content: yes(params.requestedSchema) }),
    check: async ({ call, asked }, dir) => {
      assert.equal(text(await call('note', { text: 'sure' })), 'noted sure');
      assert.match(asked[0].message, /note/);
      assert.match(asked[0].message, /sure/);
      assert.equal(readFileSync(join(dir, 'notes.txt'), 'utf8'), 'sure\n');
    },
  },
  'confirmation: declined': {
    files: { '.harness/tools/note.md': note.replace('---\n', '---\nconfirm: true\n') },
    elicit: () => ({ action: 'decline' }),
    check: async ({ call }, dir) => {
      refused(await call('note', { text: 'no' }), /confirm|declin|approv/i);
      assert.ok(!existsSync(join(dir, 'notes.txt')));
    },
  },
  'confirmation: put away': {
    files: { '.harness/tools/note.md': note.replace('---\n', '---\nconfirm: true\n') },
    elicit: () => ({ action: 'cancel' }),
    check: async ({ call }, dir) => {
      refused(await call('note', { text: 'no' }), /confirm|cancel|approv/i);
      assert.ok(!existsSync(join(dir, 'notes.txt')));
    },
  },
  'confirmation: nobody can be asked': {
    files: { '.harness/tools/note.md': note.replace('---\n', '---\nconfirm: true\n') },
    check: async ({ call }, dir) => {
      const outcome = await call('note', { text: 'no' }).catch(error => ({ isError: true, content: [{ text: error.message }] }));
      refused(outcome, /confirm|elicitation|approv/i);
      assert.ok(!existsSync(join(dir, 'notes.txt')));
    },
  },
  'confirmation: given when the server was started': {
    files: { '.harness/tools/note.md': note.replace('---\n', '---\nconfirm: true\n') }, flags: ['--approve', 'note'],
    check: async ({ call }) => assert.equal(text(await call('note', { text: 'yes' })), 'noted yes'),
  },
  'the sandbox keeps programs and scripts in the workspace': {
    files: { '.harness/tools/outside.md': tool('return exec.run("sh", ["-c", "echo x > " + args["path"]])', 'parameters:\n  path: { type: string, required: true }\n'),
      '.harness/tools/peek.md': tool('return fs.read(args["path"])', 'parameters:\n  path: { type: string, required: true }\n') },
    check: async ({ call }, dir) => {
      const path = join(dir, '..', `harness-outside-${process.pid}`);
      assert.notEqual(JSON.parse(text(await call('outside', { path }))).exit_code, 0);
      assert.ok(!existsSync(path));
      assert.equal(JSON.parse(text(await call('outside', { path: 'inside' }))).exit_code, 0);
      refused(await call('peek', { path: '/etc/passwd' }), /passwd/);
      refused(await call('peek', { path: '../../../../etc/passwd' }), /passwd/);
    },
  },
  'a client cannot change what the project is made of': {
    files: { 'harness.md': '---\nbuiltin_tools: [write, bash]\n---\n', '.harness/hooks/guard.md': hook('tool.pre', 'return allow()') },
    flags: ['--yes'],
    check: async ({ call }, dir) => {
      const before = readFileSync(join(dir, '.harness/hooks/guard.md'), 'utf8');
      refused(await call('write', { path: '.harness/hooks/guard.md', content: 'x' }), /protected|guard\.md/);
      await call('bash', { command: 'echo x > .harness/hooks/guard.md' });
      assert.equal(readFileSync(join(dir, '.harness/hooks/guard.md'), 'utf8'), before);
    },
  },
  'secrets and redacted text reach no message': {
    files: { 'harness.md': '---\nsecrets: { API: { env: API_KEY } }\n---\n',
      '.harness/tools/leak.md': tool('log.info("key is " + runtime["secrets"]["API"])\nprogress(1, 2, "with " + runtime["secrets"]["API"])\nreturn {"key": runtime["secrets"]["API"], "card": "4111-1111", "ok": True}',
        'injected: [secrets.API]\nsafety: { redact: ["[0-9]{4}-[0-9]{4}"] }\n'),
      '.harness/tools/fails.md': tool('fail("no luck with " + runtime["secrets"]["API"])', 'injected: [secrets.API]\n') },
    env: { API_KEY: secret },
    check: async ({ call, client, seen }, dir, way) => {
      if (!way.stateless) await client.setLoggingLevel('debug');
      const result = await call('leak', {}, { onprogress: () => {} });
      assert.ok(!result.isError, text(result));
      assert.match(text(result), /"ok":true/);
      refused(await call('fails'), /no luck with/);
      const said = seen.filter(({ from }) => from === 'server').map(({ message }) => JSON.stringify(message)).join('\n');
      assert.ok(!said.includes(secret), said);
      assert.ok(!said.includes('4111-1111'), said);
    },
  },
  'injected values are in no schema, and nobody else may send them': {
    files: { '.harness/tools/who.md': tool('return {"run": runtime["run_id"], "depth": runtime["depth"]}', 'parameters:\n  text: { type: string }\ninjected: [run_id, depth]\n') },
    check: async ({ call, client }) => {
      const [{ inputSchema }] = (await client.listTools()).tools;
      assert.deepEqual(Object.keys(inputSchema.properties), ['text']);
      assert.equal(JSON.parse(text(await call('who'))).depth, 0);
      refused(await call('who', { run_id: 'mine' }), /run_id/);
    },
  },
  'limits end it': {
    files: { 'harness.md': '---\nlimits: { max_tool_calls: 3 }\n---\n', '.harness/tools/note.md': note },
    check: async ({ call }, dir) => {
      for (const n of [1, 2, 3]) assert.equal(text(await call('note', { text: `${n}` })), `noted ${n}`);
      refused(await call('note', { text: '4' }), /max_tool_calls/);
      assert.equal(readFileSync(join(dir, 'notes.txt'), 'utf8'), '1\n2\n3\n');
    },
  },
  'a call that takes too long is ended': {
    files: { '.harness/tools/slow.md': tool('sleep(30)\nreturn "late"', 'timeout_ms: 100\n') },
    check: async ({ call }) => refused(await call('slow'), /timed out|100 ms/),
  },
  'a long result is kept, and read as a resource of this session only': {
    files: { '.harness/tools/long.md': tool('return "\\n".join(["line %d" % n for n in range(20000)])') },
    check: async ({ call, client }) => {
      const result = await call('long');
      const all = JSON.stringify(result);
      assert.ok(all.length < 40000, `${all.length} bytes`);
      const link = result.content.find(({ type }) => type === 'resource_link');
      assert.ok(link, all.slice(0, 300));
      assert.match((await client.readResource({ uri: link.uri })).contents[0].text, /line 19999/);
    },
  },
};

// The content that answers yes to a form.
function yes(schema) {
  return Object.fromEntries(Object.entries(schema?.properties ?? {}).map(([name, field]) =>
    [name, field.type === 'boolean' ? true : field.enum?.[0] ?? field.oneOf?.[0]?.const ?? field.default ?? 'yes']));
}

for (const kind of ['SDK 1.x, stdio', 'SDK 2.x, stateless, http']) {
  describe(kind, { concurrency: 4 }, () => {
    for (const [name, { files, flags = [], env, elicit, check }] of Object.entries(cases)) {
      test(name, async t => {
        const dir = project(t, files), asked = [], way = ways[kind];
        const connection = await connect(t, dir, way, {
          env, flags: [...(way.http ? ['--no-auth'] : []), ...flags],
          answers: elicit ? { 'elicitation/create': params => (asked.push(params), elicit(params)) } : {},
        });
        await check({ ...connection, asked }, dir, way);
      });
    }
  });
}

test('the data of one HTTP client is hidden from another', async t => {
  const dir = project(t, { '.harness/tools/long.md': tool('return "\\n".join(["line %d" % n for n in range(20000)])') });
  const way = ways['SDK 1.x, http'];
  const first = await connect(t, dir, way), second = await connect(t, dir, way, { server: first.server });
  const { uri } = (await first.call('long')).content.find(({ type }) => type === 'resource_link');
  assert.match((await first.client.readResource({ uri })).contents[0].text, /line 19999/);
  await assert.rejects(second.client.readResource({ uri }), /not found|no .*resource|unknown/i);
});
