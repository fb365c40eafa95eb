// The slash commands of a conversation: /compact, /clear, /cost, /context, /model, /tools, /hooks, /plan.
import assert from 'node:assert/strict';
import test from 'node:test';
import { run } from './harness.mjs';
import { scripted } from './agents.mjs';
import { talks } from './talks.mjs';

// A model that repeats the message; "call NAME JSON" makes a call.
const model = `
def reply(messages, tools):
    last = messages[-1]
    text = last["content"]
    if last["role"] == "tool":
        return "result: " + text
    if text.startswith("Summarise"):
        return "SUMMARY of %d letters" % len(text) if "fail" not in text else ""
    if text.startswith("call "):
        parts = text.split(" ", 2)
        return {"tool_calls": [{"name": parts[1], "arguments": json.decode(parts[2])}]}
    if text == "count":
        return "%d messages: %s" % (len(messages), messages[0]["content"][:9])
    if text == "first":
        return [m for m in messages if m["role"] == "user"][0]["content"]
    if text == "tools":
        return " ".join([x["name"] for x in tools])
    return "<" + text + ">"
`;
const star = (code, head = '') => `---\n${head}script: |\n  def run(args):\n      ${code}\n---\nA tool.\n`;

test('every command is listed, and an unknown or mistyped one says what is expected', async t => {
  const { say } = talks(t, scripted(model));
  const r = await say([['/help\n', '/resume [RUN]'], ['/clera\n', 'did you mean /clear?'], ['/undo 3\n', '/undo takes no argument'], ['/clear now\n', '/clear takes no argument'],
    ['/model a b\n', '/model takes one argument: /model [NAME]'], ['/zzzzzz\n', 'list commands with /help'], ['!\n', '! needs a command']]);
  for (const name of ['clear', 'compact', 'undo', 'plan', 'go', 'model', 'context', 'cost', 'tools', 'hooks', 'reload', 'resume', 'save', 'quit'])
    assert.match(r.text, new RegExp(`^  /${name}\\b.* \\w`, 'm'), name);
});

test('before the first exchange every command answers', async t => {
  const { say } = talks(t, scripted(model));
  await say([['/undo\n', 'nothing to undo'], ['/clear\n', 'nothing to clear'], ['/compact\n', 'nothing to compact'], ['/cost\n', '0  tokens in'], ['/context\n', '0 messages'],
    ['/tools\n', 'none'], ['/hooks\n', 'none'], ['/go\n', 'plan mode is not on'], ['/resume\n', 'no earlier run in this folder'], ['/reload\n', 'loaded again: 0 tools'], ['hello\n', '<hello>']]);
});

test('a terminal of 40 columns has no longer lines', async t => {
  const { say } = talks(t, { ...scripted(model, 'builtin_tools: [read, bash]\n'), '.harness/hooks/a_guard_with_a_rather_long_name.md': '---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return allow()\n---\n' });
  const r = await say([['/help\n', 'Ctrl-C'], ['/tools\n', 'bash'], ['/hooks\n', 'tool.pre'], ['/context\n', 'tokens'], ['/cost\n', 'tool calls'], ['one\n', '<one>'], ['/clear\n', 'removed']], { size: [24, 40] });
  const long = r.text.split('\n').filter(line => [...line].length > 40 && /^ {2}/.test(line));
  assert.deepEqual(long, []);
});

test('/compact replaces the messages by a summary, also after a resume', async t => {
  const { say, data, dir, state } = talks(t, scripted(model));
  const r = await say([[`${'long '.repeat(100)}\n`, '<long'], ['/compact\n', '2 messages became a summary: '], ['first\n', '[summary of the conversation so far] SUMMARY of'], ['/undo\n', 'was removed'], ['/undo\n', 'nothing to undo']]);
  const [e] = data('conversation.compacted');
  assert.match(r.text, new RegExp(`${e.before} → ${e.after} tokens`));
  assert.ok(e.before > 200 && e.after < 40 && e.messages === 2 && /^SUMMARY of \d+ letters$/.test(e.summary), JSON.stringify(e));
  const id = /runs resume ([0-9a-f-]{36})/.exec(r.text)[1];
  assert.match(run(['-C', dir, 'runs', 'resume', id, '-p', 'first'], { env: { XDG_STATE_HOME: state } }).stdout, /^\[summary of the conversation so far\] SUMMARY/);
});

test('/compact that fails changes nothing', async t => {
  const { say, data } = talks(t, scripted(model));
  await say([['fail\n', '<fail>'], ['/compact\n', 'the model\'s summary is empty'], ['count\n', '4 messages']]);
  assert.deepEqual(data('conversation.compacted'), []);
});

test('/clear starts a new conversation; the record keeps the old one', async t => {
  const { say, data, dir, state } = talks(t, scripted(model));
  const r = await say([['one\n', '<one>'], ['two\n', '<two>'], ['/clear\n', '4 messages removed'], ['count\n', '2 messages: Be brief.'], ['/undo\n', 'was removed'], ['/undo\n', 'nothing to undo'], ['three\n', '<three>']]);
  assert.deepEqual(data('conversation.cleared'), [{ messages: 4 }]);
  const id = /runs resume ([0-9a-f-]{36})/.exec(r.text)[1], env = { XDG_STATE_HOME: state };
  assert.equal(run(['-C', dir, 'runs', 'resume', id, '-p', 'count'], { env }).stdout, '4 messages: Be brief.\n');
  assert.match(run(['-C', dir, 'runs', 'show', id, '--json'], { env }).stdout, /<two>/);
});

const guarded = {
  '.harness/tools/put.md': star('fs.write("made.txt", "x")\n      return "put"'),
  '.harness/tools/look.md': star('return fs.read("harness.md")[:3]'),
  '.harness/tools/post.md': star('return http.post("http://127.0.0.1:1/", json = {})', 'safety: { read_only: true }\n'),
  '.harness/tools/nest.md': star('return meta.call_tool("put", {})'),
  '.harness/tools/sh.md': '---\ncommand: echo hi\n---\nA command.\n',
  '.harness/agents/helper.md': '---\ndescription: helps\n---\nHelp.\n',
};

test('/plan refuses every call that may change something, at every door, until /go', async t => {
  const head = 'builtin_tools: [read, bash, write]\nmeta: { enabled: true }\n';
  const { say, data, dir, state } = talks(t, { ...scripted(model, head), ...guarded });
  const refused = name => `plan mode: tool "${name}" may change something`;
  const r = await say([['/plan\n', 'only tools that change nothing run until /go'], ['/plan\n', 'on already'], ['tools\n', 'read'],
    ['call put {}\n', refused('put')], ['call look {}\n', 'result: ---'], ['call post {}\n', refused('post')], ['call nest {}\n', refused('nest')], ['call sh {}\n', refused('sh')],
    ['call write {"path": "a", "content": "b"}\n', refused('write')], ['call bash {"command": "true"}\n', refused('bash')],
    ['call delegate {"agent": "helper", "task": "call put {}"}\n', 'plan mode'], ['!touch made\n', 'plan mode: tool "bash" may change something'], ['/tools\n', 'plan mode: only tools']]);
  assert.match(r.text, /^plan> /m);
  const offered = /tools\n+(.*\bread\b.*)\n/.exec(r.text)[1].split(' ');
  assert.deepEqual(offered.filter(x => ['put', 'post', 'nest', 'sh', 'write', 'bash'].includes(x)), []);
  assert.ok(offered.includes('look') && offered.includes('delegate'), offered.join(' '));
  assert.deepEqual(data('tool.refused').filter(e => e.rule !== 'plan'), []);
  assert.ok(data('tool.refused').filter(e => e.name === 'put').length === 2, 'the model\'s own call, and the sub-agent\'s');
  const id = /runs resume ([0-9a-f-]{36})/.exec(r.text)[1], env = { XDG_STATE_HOME: state };
  assert.match(run(['-C', dir, 'runs', 'resume', id, '-p', 'call put {}', '--yes'], { env }).stdout, /plan mode: tool/, 'a resumed run is still in plan mode');
  const more = await say([['/go\n', 'plan mode is off'], ['call put {}\n', 'result: put']], { args: ['runs', 'resume', id] });
  assert.match(more.text, /^plan> /m);
  assert.deepEqual(data('conversation.plan'), [{ on: true }]);
});

test('/plan TEXT and /go TEXT also send the text', async t => {
  const { say } = talks(t, scripted(model));
  await say([['/plan look first\n', '<look first>'], ['/go do it with @model.star\n', '@model.star: attached']]);
});

test('/model checks the name and the key, keeps the model in use on failure, and holds after a resume', async t => {
  const files = scripted(model, 'models:\n- {provider: openai, name: keyless, base_url: "http://127.0.0.1:9/v1", api_key_env: NO_SUCH_KEY}\n- {provider: script, name: other, script: other.star}\n');
  const { say, data, dir, state } = talks(t, { ...files, 'other.star': 'def reply(messages, tools):\n    return "the other one"\n' });
  const r = await say([['/model\n', 'script, in use'], ['/model keyless\n', 'NO_SUCH_KEY'], ['one\n', '<one>'], ['/model keyles\n', 'did you mean "keyless"?'], ['/model other\n', 'model other'], ['x\n', 'the other one']]);
  assert.deepEqual(data('conversation.model'), [{ model: 'other', from: 'scripted' }]);
  const id = /runs resume ([0-9a-f-]{36})/.exec(r.text)[1], env = { XDG_STATE_HOME: state };
  assert.equal(run(['-C', dir, 'runs', 'resume', id, '-p', 'again'], { env }).stdout, 'the other one\n');
  assert.equal(run(['-C', dir, 'runs', 'resume', id, '--model', 'scripted', '-p', 'again'], { env }).stdout, '<again>\n');
});

test('a folder without a project: the default agent has the commands too', async t => {
  const { say } = talks(t, {});
  const r = await say([['/tools\n', 'listdir'], ['/hooks\n', 'none'], ['/model\n', 'model gpt-test'], ['/reload\n', 'loaded again'], ['/plan\n', 'plan mode'], ['/go\n', 'off'], ['/resume\n', 'no earlier run']],
    { env: { OPENAI_API_KEY: 'sk-test', OAI_MODEL: 'gpt-test' } });
  assert.match(r.text, /no project here/);
});
