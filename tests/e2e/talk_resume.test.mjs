// /resume and /reload: another run, or changed rules, in the same conversation.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { bin, environment, run } from './harness.mjs';
import { scripted, server } from './agents.mjs';
import { talks, terminal } from './talks.mjs';

const model = `
def reply(messages, tools):
    last = messages[-1]
    if last["role"] == "tool":
        return "result: " + last["content"]
    if last["content"].startswith("call "):
        return {"tool_calls": [{"name": last["content"][5:], "arguments": {}}]}
    if last["content"] == "count":
        return "%d users, %d tools" % (len([m for m in messages if m["role"] == "user"]), len(tools))
    return "<" + last["content"] + ">"
`;
const tool = code => `---\nscript: |\n  def run(args):\n      ${code}\n---\nA tool.\n`;
const steps = (talk, list, more = {}) => terminal(talk.dir, [...list, ['', '> '], ['\x04', '']], { state: talk.state, args: ['run', '--events', talk.log], ...more });
const ids = talk => JSON.parse(run(['-C', talk.dir, 'runs', '--json', '--all'], { env: { XDG_STATE_HOME: talk.state } }).stdout);

test('/resume lists earlier runs, continues one, and shows its conversation', async t => {
  const talk = talks(t, scripted(model));
  await talk.say([['first question\n', '<first question>'], ['more\n', '<more>']]);
  await talk.say([['second question\n', '<second question>']]);
  const r = await steps(talk, [['', '> '], ['here\n', '<here>'], ['', '> '], ['/resume\n', 'Enter for none: '], ['2\n', 'continuing run '], ['', '> '], ['count\n', '3 users'], ['', '> '],
    ['/resume\n', 'Enter for none: '], ['7\n', 'type a number from 1 to '], ['', '> '], ['/resume\n', 'Enter for none: '], ['\n', '> '], ['/resume\n', 'Enter for none: '], ['\x03', '> '],
    ['/resume nosuchrun\n', 'no such run'], ['', '> '], ['count\n', '4 users']]);
  assert.match(r.text, / 1 {2}\d+ s ago +second question\n/);
  assert.match(r.text, / 2 {2}\d+ s ago +first question\n/);
  assert.match(r.text, /> first question\n<first question>\n> more\n<more>\n/);
  const runs = ids(talk);
  assert.equal(runs.length, 3);
  assert.deepEqual(runs.map(x => [x.title, x.status]).sort(), [['first question', 'completed'], ['here', 'completed'], ['second question', 'completed']]);
  assert.match(r.text, new RegExp(`resume with: harness runs resume ${runs.find(x => x.title === 'first question').id}`));
});

test('/resume continues a run with its own agent, also after /reload', async t => {
  const words = model.replace('if last["content"] == "count"', 'if last["content"] == "who":\n        return "I am " + messages[0]["content"]\n    if last["content"] == "count"');
  const talk = talks(t, { ...scripted(words), '.harness/agents/helper.md': '---\ndescription: helps\n---\nThe helper.\n' });
  await talk.say([['who\n', 'I am The helper.']], { args: ['run', '--agent', 'helper'] });
  await talk.say([['who\n', 'I am Be brief.'], ['/resume last\n', 'this conversation']]);
  const helper = ids(talk).find(x => x.agent === 'helper').id;
  await talk.say([['who\n', 'I am Be brief.'], [`/resume ${helper}\n`, 'continuing run'], ['who\n', 'I am The helper.'], ['/reload\n', 'loaded again'], ['who\n', 'I am The helper.']]);
});

test('/resume RUN takes what `runs resume` takes', async t => {
  const talk = talks(t, scripted(model));
  await talk.say([['one\n', '<one>']]);
  const [{ id }] = ids(talk);
  await talk.say([['two\n', '<two>'], [`/resume ${id.slice(-8)}\n`, 'continuing run'], ['count\n', '2 users'], [`/resume ${id}\n`, 'that is this conversation']]);
});

test('/resume refuses a run that another process has, and finishes the answer that an interrupted one still owes', async t => {
  const talk = talks(t, { ...scripted(model, 'builtin_tools: [bash]\n'), '.harness/tools/nap.md': tool('exec.run("sleep", ["60"], timeout_ms = 60000)') });
  const env = { ...environment, XDG_STATE_HOME: talk.state, HARNESS_TRUST: talk.dir };
  const child = spawn(bin, ['-C', talk.dir, 'run', '-p', 'call nap', '--yes', '--events', talk.log], { env, stdio: 'ignore' });
  for (let i = 0; i < 300; i++) {
    await new Promise(done => setTimeout(done, 100));
    if (existsSync(talk.log) && talk.events('tool.executing').length > 0) break;
  }
  const [{ id }] = ids(talk);
  await steps(talk, [['', '> '], [`/resume ${id}\n`, 'is in use by process'], ['', '> '], ['still here\n', '<still here>']]);
  child.kill('SIGKILL');
  await new Promise(done => child.on('exit', done));
  await steps(talk, [['', '> '], [`/resume ${id}\n`, 'continuing run'], ['', 'result: {"error":"interrupted: outcome unknown"}'], ['', '> '], ['count\n', '2 users']]);
});

test('/reload loads changed files and keeps the conversation; an invalid project keeps the old one', async t => {
  const talk = talks(t, { ...scripted(model), '.harness/tools/one.md': tool('return "old"') });
  const file = join(talk.dir, '.harness/tools/one.md');
  const line = (typed, shown) => [['', '> '], [`${typed}\n`, shown]];
  const change = (name, text) => [['', '> '], [{ file: name, text }, ''], ['\n', '']];
  await steps(talk, [...line('call one', 'result: old'), ...change(file, tool('return "new"')), ...line('call one', 'result: old'), ...line('/reload', 'loaded again: 1 tool'), ...line('call one', 'result: new'),
    ...change(file, tool('return import')), ...line('/reload', '.harness/tools/one.md'), ['', 'the project stays as it was loaded before'], ...line('call one', 'result: new'), ...line('count', '5 users, 1 tools'),
    ...change(join(talk.dir, 'harness.md'), '---\nmodel: {provider: nosuch, name: x}\n---\n'), ...line('/reload', 'the project stays'), ...line('count', '6 users')]);
  assert.equal(new Set(talk.events().map(e => e.run)).size, 1, 'one run');
  const seqs = talk.events().map(e => e.seq);
  assert.deepEqual(seqs, seqs.map((_, i) => i + 1), 'the record has no gaps');
  assert.equal(talk.events('run.resumed').length, 1);
});

test('/reload and /resume need the record; a folder without a project has both', async t => {
  const talk = talks(t, scripted(model));
  await talk.say([['/reload\n', '/reload needs the record of runs'], ['/resume\n', '/resume needs the record of runs'], ['x\n', '<x>']], { args: ['run', '--ephemeral'] });
  const s = await server(t, (request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end('data: {"choices":[{"index":0,"delta":{"content":"fine"}}]}\n\ndata: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
  });
  const bare = talks(t, {}), env = { OAI_BASE_URL: `${s.url}/v1`, OAI_API_KEY: 'k', OAI_MODEL: 'test' };
  await bare.say([['hello there\n', 'fine']], { env });
  writeFileSync(join(bare.dir, 'a.txt'), 'attached\n');
  await steps(bare, [['', '> '], ['/resume\n', 'hello there'], ['', 'Enter for none: '], ['1\n', 'continuing run'], ['', '> '], ['@a.txt\n', '@a.txt: attached'], ['', 'fine'], ['', '> '], ['/reload\n', 'loaded again'], ['', '> '],
    ['/undo\n', 'was removed']], { env });
  assert.match(JSON.stringify(s.requests.at(-1).body), /attached by the user/);
});

// A server with two tools; the first one claims that it only reads.
const server_py = `
import json, sys
TOOLS = [{"name": "peek", "description": "p", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
         {"name": "poke", "description": "p", "inputSchema": {"type": "object"}}]
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    if m["method"] == "initialize": r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif m["method"] == "tools/list": r = {"tools": TOOLS}
    elif m["method"] == "tools/call": r = {"content": [{"type": "text", "text": "did " + m["params"]["name"]}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`;

test('/plan believes an MCP server only with trust: annotations; /reload starts servers again', async t => {
  const head = trust => `mcp_servers:\n  small:\n    command: python3\n    args: [srv/server.py]\n${trust}`;
  const trusted = scripted(model, head('    trust: annotations\n'))['harness.md'];
  const talk = talks(t, { ...scripted(model, head('')), 'srv/server.py': server_py });
  const line = (typed, shown) => [['', '> '], [`${typed}\n`, shown]];
  await steps(talk, [...line('call mcp__small__peek', 'result: did peek'), ...line('/plan', 'plan mode'), ...line('call mcp__small__peek', 'refused by plan'), ['', '> '],
    [{ file: join(talk.dir, 'harness.md'), text: trusted }, ''], ['\n', ''], ...line('/reload', '[k]eep what is there now? '), ['k\n', 'loaded again'], ...line('call mcp__small__peek', 'result: did peek'),
    ...line('call mcp__small__poke', 'refused by plan'), ...line('/go', 'off'), ...line('call mcp__small__poke', 'result: did poke')], { args: ['run', '--yes', '--events', talk.log] });
  assert.deepEqual(talk.data('tool.refused').map(e => [e.name, e.rule]), [['mcp:small:peek', 'plan'], ['mcp:small:poke', 'plan']]);
  assert.equal(readFileSync(join(talk.dir, 'harness.md'), 'utf8'), trusted);
});
