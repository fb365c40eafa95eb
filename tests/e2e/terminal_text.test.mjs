// Text from outside on a terminal: no output contains a character that a terminal interprets or hides. Surfaces × characters, on a real pty;
// and the same commands into a pipe, where JSON stays valid and bytes stay as they are.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import test from 'node:test';
import { caller, tool } from './calls.mjs';
import { bin, environment, root } from './harness.mjs';

const range = (a, b) => Array.from({ length: b - a + 1 }, (_, i) => a + i);
const C0 = range(1, 0x1f).filter(c => c !== 9 && c !== 10);
const C1 = [0x7f, ...range(0x80, 0x9f)];
const bidi = [0x61c, 0x200e, 0x200f, ...range(0x202a, 0x202e), ...range(0x2066, 0x2069)];
const hidden = [0xad, 0x34f, 0x180e, 0x200b, 0x200c, 0x200d, 0x2060, 0x2061, 0x2062, 0x2063, 0x2064, 0x206a, 0x206f, 0xfeff, 0x115f, 0x3164, 0xffa0, 0xfff9, 0xfffb,
  0xfe00, 0x1d173, 0xe0001, 0xe0041, 0xe007f, 0xe0100, 0x2028, 0x2029];
const all = [...C0, ...C1, ...bidi, ...hidden];
// Each character between letters, then whole sequences that a terminal obeys.
const SEQUENCES = '\x1b[8mA\x1b]0;pwned\x07B\x1b[2JC\x9b31mD\x1bPq\x1b\\';
const P = `Start ${all.map(c => `x${String.fromCodePoint(c)}y`).join('')} ${SEQUENCES} End`;
// The characters that YAML, JSON and Markdown files may hold as they are.
const PLAIN = all.filter(c => c > 0x9f && c !== 0x2028 && c !== 0x2029 && c !== 0xfeff).map(c => `x${String.fromCodePoint(c)}y`).join('');

// A string literal of Starlark, YAML's double quotes alike.
const star = JSON.stringify(P).replace(/[\u007f-\u{10ffff}]/gu, c => `\\U${c.codePointAt(0).toString(16).padStart(8, '0')}`);
const yaml = star;

function shown(p, args, steps = [], { TERM = 'xterm' } = {}) {
  const out = spawnSync('python3', [join(root, 'tests/e2e/terminal.py'), bin, '-C', p.dir, ...args],
    { input: JSON.stringify(steps), encoding: 'utf8', env: { ...environment, ...p.env, TERM, LANG: 'C.UTF-8' }, timeout: 60000 });
  assert.equal(out.status, 0, out.stderr);
  const r = JSON.parse(out.stdout);
  assert.equal(r.missing, null, `${args.join(' ')}: not shown: ${r.missing}\n${JSON.stringify(r.output)}`);
  return r.output;
}

// The output without line ends and without the escape sequences that harness itself writes.
const own = /\x1b\[(?:\?2004[hl]|[0-9;]*[mKGCDJAB])/g;
function leaks(output) {
  const rest = output.replaceAll('\r\n', '\n').replaceAll(/\r+(?=\n)/g, '').replaceAll(/\r\x1b\[K/g, '').replaceAll(own, '');
  const bad = [...new Set([...rest])].filter(c => all.includes(c.codePointAt(0)) || c === '\ufffd').map(c => `U+${c.codePointAt(0).toString(16)}`);
  for (const s of ['\x1b[8m', '\x1b]0', '\x1b[2J', '\x9b']) if (output.includes(s)) bad.push(JSON.stringify(s));
  return bad;
}

const server = `import json, sys
P = json.loads(${JSON.stringify(JSON.stringify(JSON.stringify(P)))})
sys.stderr.write(P + "\\n"); sys.stderr.flush()
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    p = m.get("params") or {}
    if m["method"] == "initialize":
        r = {"protocolVersion": p["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": P, "version": P}, "instructions": P}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "t", "title": P, "description": P, "inputSchema": {"type": "object", "properties": {P: {"type": "string", "description": P}}}}]}
    elif m["method"] == "tools/call" and p["arguments"].get("fail"):
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -1, "message": P}}), flush=True); continue
    elif m["method"] == "tools/call":
        r = {"content": [{"type": "text", "text": P}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": P}}), flush=True); continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`;

const model = `P = ${star}
def reply(messages, tools):
    if "call" in messages[-1]["content"] and messages[-1]["role"] == "user":
        return {"text": P, "tool_calls": [{"name": "fails", "arguments": {"a": P}}]}
    return {"text": "Answer " + P + "\\n\\n# " + P + "\\n- \`" + P + "\` **" + P + "**\\n"}
`;

function place(t) {
  const p = caller(t, {
    'harness.md': `---\nmodel: {provider: script, name: offline, script: model.star}\nmcp_servers:\n  s: {command: python3, args: [server.py]}\n---\nPrompt ${PLAIN}\n`,
    'model.star': model, 'server.py': server,
    '.harness/tools/say.md': `---\ntitle: ${yaml}\nparameters:\n  a: {type: string, description: ${yaml}}\nscript: |\n  def run(args):\n      print(${star})\n      log.warn(${star})\n      progress(1, 2, ${star})\n      return ${star}\n---\nSays ${PLAIN}\n`,
    '.harness/tools/fails.md': `---\nparameters:\n  a: {type: string}\nscript: |\n  def run(args):\n      fail(${star})\n---\nFails ${PLAIN}\n`,
    '.harness/tools/breaks.md': `---\nscript: |\n  def run(args):\n      return {}[${star}]\n---\nBreaks.\n`,
    '.harness/tools/asks.md': tool('return args["a"]', 'confirm: true\nparameters:\n  a: {type: string}'),
    '.harness/hooks/h.md': `---\nevent: tool.pre\nwhen: ${JSON.stringify('payload["name"] == "none' + PLAIN + '"')}\nscript: |\n  def handle(event, payload):\n      return block(${star})\n---\n`,
    '.harness/agents/a.md': `---\ndescription: ${yaml}\n---\nAgent ${PLAIN}\n`,
    '.harness/prompts/ask.md': `---\ndescription: ${yaml}\n---\nAsk.\n`,
    '.harness/tests/t.md': `---\ncall: {tool: say}\nresult: {a: ${yaml}}\n---\n`,
    'instance.json': JSON.stringify({ [P]: 1 }), 'schema.json': JSON.stringify({ additionalProperties: false, properties: { [P + '1']: { type: 'string' } } }),
    'bad.json': `{"a": ${P}}`, 'script.star': `print(${star})\nfail(${star})\n`,
  });
  p.call('say', {});
  p.call('fails', {});
  return p;
}

const surfaces = p => {
  const run = JSON.parse(p.run(['runs', '--all', '--json']).stdout)[0].id;
  return [
    ['tools'], ['tools', '-v'], ['tools', '--json'], ['tools', '--format', 'openai'], ['tools', '--format', 'mcp'], ['hooks'], ['hooks', '--json'], ['agents'], ['agents', '--json'],
    ['inspect', 'say'], ['inspect', 'say', '--json'], ['inspect', 'h'], ['inspect', 'a'], ['inspect', 'mcp:s:t'], ['validate'], ['validate', '--json'], ['context'], ['context', '-v'],
    ['context', '--json'], ['runs'], ['runs', '--json'], ['runs', 'show', run], ['runs', 'show', run, '--json'], ['mcp', 'list'], ['mcp', 'list', '--json'], ['mcp', 'tools', 's'],
    ['mcp', 'tools', 's', '--json'], ['mcp', 'call', 's', 't', '{}'], ['mcp', 'call', 's', 't', '{"fail": 1}'], ['mcp', 'request', 's', 'tools/list'], ['mcp', 'request', 's', 'no/such'],
    ['call', 'say'], ['call', 'say', '--raw'], ['call', 'say', '--json'], ['call', 'say', '--trace'], ['call', 'fails'], ['call', 'fails', '--raw'], ['call', 'fails', '--json'], ['call', 'breaks'],
    ['call', 'breaks', '--trace'], ['call', 'say', '--log-format', 'json'], ['call', 'mcp:s:t', '--raw'], ['call', `no${PLAIN}`], ['call', 'say', `{"a": "${PLAIN}`], ['inspect', `no${PLAIN}`],
    ['json', 'check', 'bad.json'], ['json', 'check', 'bad.json', '--json'], ['schema', 'validate', 'schema.json', 'instance.json'], ['schema', 'validate', 'schema.json', 'instance.json', '--json'],
    ['starlark', 'script.star'], ['starlark', '-e', star], ['test'], ['test', '--json'], ['run', '-p', 'hello'], ['run', '-p', 'call it'], ['run', '-p', 'hello', '--json'],
  ];
};

test('no output contains what a terminal interprets or hides', t => {
  const p = place(t), seen = [];
  for (const args of surfaces(p))
    for (const TERM of ['call', 'run'].includes(args[0]) ? ['xterm', 'dumb'] : ['xterm']) {
      const output = shown(p, args, [], { TERM }), bad = leaks(output);
      if (bad.length) seen.push(`${args.join(' ').slice(0, 60)} (${TERM}): ${bad.join(' ')}`);
    }
  assert.deepEqual(seen, []);
});

test('JSON on a terminal is valid, and equal to that in a pipe', t => {
  const p = place(t);
  for (const args of [['tools', '--json'], ['agents', '--json'], ['inspect', 'say', '--json'], ['call', 'fails', '-q']]) {
    const text = shown(p, args, [], { TERM: 'dumb' }).replaceAll('\r\n', '\n'), piped = p.run(args).stdout;
    const line = text.split('\n').filter(l => l === l.trim() && /^[[{"]/.test(l)).at(-1);
    assert.deepEqual(JSON.parse(line), JSON.parse(piped), args.join(' '));
    assert.notEqual(line, piped.trimEnd(), 'the pipe has the characters themselves');
  }
});

test('in a pipe bytes are unchanged', t => {
  const p = place(t);
  assert.equal(p.run(['call', 'say', '--raw']).stdout, P + '\n');
  assert.equal(JSON.parse(p.run(['call', 'say']).stdout), P);
  assert.ok(p.run(['run', '-p', 'hello']).stdout.includes(P));
});

test('questions to the user are escaped', t => {
  const p = place(t);
  const output = shown(p, ['call', 'asks', JSON.stringify({ a: P })], [['', 'n no'], ['n\n', '']]);
  assert.deepEqual(leaks(output), []);
  assert.match(output, /allow asks\?/);
});

test('a conversation shows neither answers, tool lines nor commands with them', t => {
  const p = place(t);
  for (const TERM of ['xterm', 'dumb']) {
    const output = shown(p, ['run'], [['', '> '], ['hello\n', 'End'], ['', '> '], ['call it\n', 'fails'], ['', '> '], ['/tools\n', 'say'], ['', '> '], ['/help\n', '/ask'], ['', '> '], ['/context\n', 'in total'],
      ['', '> '], ['\x04', '']], { TERM });
    assert.deepEqual(leaks(output), [], TERM);
  }
});
