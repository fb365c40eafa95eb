// @path and !command in a conversation: through the same pipeline as the calls of the agent.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { folder, run } from './harness.mjs';
import { scripted } from './agents.mjs';
import { talks, terminal } from './talks.mjs';

// Shows the last message of the user, with its media.
const model = `
def reply(messages, tools):
    last = [m for m in messages if m["role"] == "user"][-1]
    text = last["content"]
    media = [p.get("mime", "") for p in last.get("parts", []) if p["type"] in ("image", "file")]
    if text == "tools":
        return "tools: " + " ".join([x["name"] for x in tools])
    if text.startswith("again"):
        return "before: " + [m for m in messages if m["role"] == "user"][-2]["content"].replace("\\n", "|")
    return "got %s %s end" % (text.replace("\\n", "|").replace("\\t", ">"), media)
`;
const hook = (event, code) => `---\nevent: ${event}\nscript: |\n  def handle(event, payload):\n      ${code}\n---\n`;

test('@path attaches a file as read gives it; other words stay text', async t => {
  const talk = talks(t, { ...scripted(model), 'a.txt': 'one\ntwo\n', 'my file.txt': 'spaced\n', 'sub/b.txt': 'b\n' });
  const r = await talk.say([['see @a.txt.\n', 'got see @a.txt.||[file a.txt, attached by the user]|     1>one|     2>two| [] end'],
    ['@"my file.txt" @a.txt @a.txt\n', '[file my file.txt, attached by the user]|     1>spaced'],
    ['@my\\ file.txt\n', '1>spaced'], ['(@sub/b.txt)\n', '1>b|'], ['mail me@a.txt now\n', 'got mail me@a.txt now [] end'],
    ['@nosuch.txt\n', '@nosuch.txt: no such file in the workspace; sent as text'], ['@sub\n', '@sub: a folder; sent as text'], ['@\n', 'got @ [] end'], ['@"open\n', 'got @"open [] end']], { size: [24, 300] });
  assert.match(r.text, /harness: @a\.txt: attached/);
  assert.equal(r.text.match(/@a\.txt: attached/g).length, 2, 'once in each message');
  const started = talk.data('turn.started')[0];
  assert.deepEqual([started.text, started.attached], ['see @a.txt.', '[file a.txt, attached by the user]\n     1\tone\n     2\ttwo\n']);
  assert.equal(talk.data('tool.started')[0].name, 'read');
  const id = /runs resume ([0-9a-f-]{36})/.exec(r.text)[1];
  assert.equal(JSON.parse(run(['-C', talk.dir, 'runs', '--json'], { env: { XDG_STATE_HOME: talk.state } }).stdout)[0].title, 'see @a.txt.');
  assert.match(run(['-C', talk.dir, 'runs', 'resume', id, '-p', 'again'], { env: { XDG_STATE_HOME: talk.state } }).stdout, /^before: @"open/);
});

test('what is attached survives a resume, and a turn.start hook sees it', async t => {
  const talk = talks(t, { ...scripted(model), 'a.txt': 'one\n' });
  const r = await talk.say([['@a.txt\n', '1>one']]);
  const id = /runs resume ([0-9a-f-]{36})/.exec(r.text)[1];
  assert.match(run(['-C', talk.dir, 'runs', 'resume', id, '-p', 'again'], { env: { XDG_STATE_HOME: talk.state } }).stdout, /^before: @a\.txt\|\|\[file a\.txt, attached by the user\]\|/);
  const blocked = talks(t, { ...scripted(model), 'a.txt': 'forbidden\n', '.harness/hooks/g.md': hook('turn.start', 'return block("no such word") if "forbidden" in payload["text"] else allow()') });
  await blocked.say([['@a.txt\n', 'blocked: turn.start: no such word'], ['plain\n', 'got plain [] end']]);
});

test('@path obeys roots, policy and hooks', async t => {
  const outside = folder(t);
  writeFileSync(join(outside, 'x.txt'), 'outside\n');
  const talk = talks(t, { ...scripted(model), '.env': 'A=1\n', '.harness/hooks/g.md': hook('tool.pre', 'return block("not this one") if payload["args"].get("path") == ".env" else allow()') });
  symlinkSync(join(outside, 'x.txt'), join(talk.dir, 'link.txt'));
  const r = await talk.say([['@/etc/shadow\n', '@/etc/shadow: not attached: /etc/shadow: outside the workspace'], ['@../x\n', '@../x: not attached: ../x: outside'],
    ['@link.txt\n', '@link.txt: not attached: link.txt: '], ['@.env\n', '@.env: not attached: blocked by hook g: not this one']]);
  assert.ok(!r.text.includes('A=1') && !r.text.includes('root:') && !/\boutside\n/.test(r.text));
  const denied = talks(t, { ...scripted(model, 'tools_policy: { deny: [read] }\n'), 'a.txt': 'one\n' });
  await denied.say([['@a.txt\n', '@a.txt: not attached: tool "read" is denied'], ['x\n', 'got x [] end']]);
});

test('read for the user is not a tool of the agent', async t => {
  const talk = talks(t, { ...scripted(model.replace('last = ', 'if messages[-1]["role"] == "tool":\n        return messages[-1]["content"]\n    if messages[-1]["content"] == "try":\n        return {"tool_calls": [{"name": "read", "arguments": {"path": "a.txt"}}]}\n    last = ')), 'a.txt': 'one\n' });
  const r = await talk.say([['tools\n', 'tools: '], ['try\n', 'unknown tool "read"'], ['/tools\n', 'none'], ['@a.txt\n', '1>one']]);
  assert.match(r.text, /tools: *\n/);
});

test('images and PDFs are sent as media', async t => {
  const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
  const talk = talks(t, { ...scripted(model) });
  writeFileSync(join(talk.dir, 'dot.png'), png);
  writeFileSync(join(talk.dir, 'doc.pdf'), '%PDF-1.4\n%%EOF\n');
  writeFileSync(join(talk.dir, 'blob.bin'), Buffer.from([0, 1, 2, 3, 0, 255]));
  await talk.say([['look @dot.png @doc.pdf\n', '["image/png", "application/pdf"] end'], ['@blob.bin\n', '@blob.bin: not attached: blob.bin: ']]);
  assert.deepEqual(talk.data('turn.started')[0].media.map(m => m.mime), ['image/png', 'application/pdf']);
});

test('Tab completes @path', async t => {
  const talk = talks(t, { ...scripted(model), 'source/alpha.txt': 'a\n', 'source/alpine.txt': 'b\n', 'with space.txt': 'c\n', '.hidden': 'd\n' });
  mkdirSync(join(talk.dir, 'other'));
  await talk.say([['@so\talpha\t\n', '1>a'], ['@source/alp\t\thi\t\x15@"with\t\n', '1>c'], ['@with\t\n', '1>c'], ['@.hid\t\n', '1>d'], ['/mod\t scri\t\n', 'model scripted']]);
});

test('only what the user types names files and commands', async t => {
  const talk = talks(t, { ...scripted(model, 'builtin_tools: [bash]\n'), 'a.txt': 'one\n', '.harness/prompts/sneak.md': '---\ndescription: d\n---\nsee @a.txt\n' });
  await talk.say([['/sneak\n', 'got see @a.txt [] end']]);
  const piped = run(['-C', talk.dir, 'run'], { input: '@a.txt\n!ls\n/plan\n', env: { XDG_STATE_HOME: talk.state } });
  assert.deepEqual([piped.stdout, piped.stderr], ['got @a.txt [] end\ngot !ls [] end\ngot /plan [] end\n', '']);
});

const shell = 'builtin_tools: [bash]\nlimits: { confirm: [process] }\n';

test('!command runs bash through the pipeline, is shown, and goes to the agent with the next message', async t => {
  const talk = talks(t, { ...scripted(model, 'builtin_tools: [bash]\n'), '.harness/hooks/g.md': hook('tool.pre', 'return block("not that") if "secret" in payload["args"].get("command", "") else allow()') });
  const r = await talk.say([['!echo out; echo err >&2; exit 3\n', 'exit status 3'], ['what?\n', 'got what?||[the user ran a command]|$ echo out; echo err >&2; exit 3|{"'], ['next\n', 'got next [] end'],
    ['!cat secret\n', 'blocked by hook g: not that'], ['!rm -rf /\n', 'destructive command refused'], ['!printf "\\033[2Jx"\n', '\\u{1b}[2Jx'], ['last\n', '[the user ran a command]|$ printf']], { size: [24, 300] });
  assert.match(r.text, /\nout\nerr\nexit status 3\n/);
  assert.deepEqual(talk.data('tool.refused').map(e => [e.name, e.rule]), [['bash', 'g'], ['bash', talk.data('tool.refused')[1].rule]]);
  assert.ok(!talk.data('turn.started').some(e => e.attached?.includes('secret') || e.attached?.includes('rm -rf')), 'what was refused is not sent');
});

test('!command is confirmed where the rules ask, and needs bash', async t => {
  const talk = talks(t, scripted(model, shell));
  const steps = [['!echo hi\n', 'n no'], ['y\n', '\r\nhi\r\n']];
  await terminal(talk.dir, [[[24, 300], ''], ['', '> '], ...steps, ['', '> '], ['!echo ho\n', 'n no'], ['n\n', 'declined bash'], ['', '> '], ['ask\n', '$ echo hi'], ['', '> '], ['\x04', '']], { state: talk.state });
  const none = talks(t, scripted(model));
  await none.say([['!ls\n', '!command needs the built-in tool bash']]);
});
