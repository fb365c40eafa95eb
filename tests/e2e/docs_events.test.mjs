// Compares the reference of hooks and events with those of a run that produces them all.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, project, run } from './harness.mjs';
import { text } from './pages.mjs';

const asked = ['tool.pre', 'tool.post', 'completion.pre', 'completion.post', 'delegation.pre', 'delegation.post_verify', 'delegation.post', 'agent.stop',
  'session.start', 'turn.start', 'turn.end', 'session.end', 'error', 'custom.greeted', 'meta.tool_register', 'meta.hook_register', 'meta.agent_register'];

// Logs the event, the keys of the payload, and their types; not for `log` itself, which would recurse.
const spy = event => `---\nevent: ${event}\nscript: |\n  def handle(event, payload):\n      log.info("SPY " + json.encode([event, [k for k in payload], payload.get("kind")]))\n      return allow()\n---\n`;
const tool = (body, head = '') => `---\n${head}script: |\n  def run(args):\n${body.split('\n').map(l => `      ${l}`).join('\n')}\n---\n`;

const files = {
  'harness.md': '---\nmodel: { provider: script, name: m, script: model.star }\nmeta: { enabled: true }\nlimits: { max_turns: 4, model_result_bytes: 200 }\n---\nYou are the parent.\n',
  'model.star': `
def call(name, arguments = {}):
    return {"name": name, "arguments": arguments}

def reply(messages, tools):
    if messages[0]["content"].startswith("You are the kid"):
        return {"text": "done"}
    n = len([m for m in messages if m["role"] == "tool"])
    if n == 0:
        return {"tool_calls": [call("work"), call("bad"), call("nope"), call("ask"), call("large"), call("again"), call("later"), call("program")]}
    if n == 8:
        return {"tool_calls": [call("delegate", {"agent": "kid", "task": "t"}), call("delegate", {"agent": "nobody", "task": "t"})]}
    return {"tool_calls": [call("work")]}
`,
  '.harness/agents/kid.md': '---\ndescription: A kid.\nverify: true\n---\nYou are the kid.\n',
  '.harness/tools/work.md': tool(`emit("greeted", {"who": "you"})
metrics.incr("works")
progress(1, 2, "half")
if not cache.has("made"):
    cache.set("made", True)
    meta.tool_register("made", "Made.", {}, "def run(args):\\n    return 1\\n")
    meta.hook_register("made", "tool.post", "def handle(event, payload):\\n    return allow()\\n")
    meta.agent_register(name = "made", system_prompt = "Made.")
return 1`),
  '.harness/tools/bad.md': tool('fail("no")'),
  '.harness/tools/ask.md': tool('return 1', 'confirm: true\n'),
  '.harness/tools/large.md': tool('return "x" * 1000'),
  '.harness/tools/again.md': tool('sleep(5)', 'timeout_ms: 30\nidempotency: idempotent\nretry: { max_attempts: 2, initial_backoff_ms: 1 }\n'),
  '.harness/tools/later.md': tool('return 1', 'async: true\n'),
  '.harness/tools/program.md': tool('return exec.run("true")'),
  '.harness/hooks/failing.md': '---\nevent: tool.pre\non_error: allow\nwhen: payload["name"] == "work"\nscript: |\n  def handle(event, payload):\n      return 1\n---\n',
  ...Object.fromEntries(asked.map(event => [`.harness/hooks/spy_${event.replace('.', '_')}.md`, spy(event)])),
};

// One run, which ends at a limit.
let told;
function events(t) {
  if (told) return told;
  const dir = project(t, files), log = join(dir, 'events.jsonl'), env = { HARNESS_STATE: join(folder(t), 'state.db') };
  const { stderr } = run(['-C', dir, 'run', '-p', 'hello', '--events', log, '--ephemeral'], { env });
  assert.ok(existsSync(log), stderr);
  told = readFileSync(log, 'utf8').trim().split('\n').map(line => JSON.parse(line));
  return told;
}

const cells = line => line.split(/(?<!\\)\|/).map(c => c.trim());
const quoted = cell => [...cell.matchAll(/`([^`]+)`/g)].map(m => m[1]);

test('payloads of hooks match the page', t => {
  const seen = new Map(), errors = new Set();
  for (const e of events(t).filter(e => e.type === 'log' && e.data.message.startsWith('SPY '))) {
    const [event, keys, kind] = JSON.parse(e.data.message.slice(4));
    seen.set(event, keys);
    if (event === 'error') errors.add(kind);
  }
  assert.deepEqual(asked.filter(event => !seen.has(event)), [], 'every event happened');
  assert.deepEqual([...errors].sort(), ['tool', 'turn']);
  const rows = text('docs/reference/hooks.md').split('## Payloads')[1].split('\n').filter(l => l.startsWith('| `')).map(cells);
  for (const [event, keys] of seen) {
    if (event.startsWith('custom.')) continue;
    const row = rows.find(r => quoted(r[1]).includes(event));
    assert.ok(row, `${event} is on the page`);
    const named = row[3].replace(/\([^)]*\)/g, '');
    assert.deepEqual(quoted(named), keys, event);
  }
});

test('data of events matches the page', t => {
  const table = new Map(text('docs/reference/events.md').split('\n').filter(l => l.startsWith('| `')).map(cells)
    .flatMap(r => quoted(r[1]).map(type => [type, quoted(r[2].split(': ')[0])])));
  const types = new Set();
  assert.deepEqual(events(t).map(e => e.seq), events(t).map((e, i) => i + 1));
  for (const e of events(t)) {
    const known = table.get(e.type.startsWith('custom.') ? 'custom.NAME' : e.type);
    assert.ok(known, `${e.type} is on the page`);
    assert.deepEqual(Object.keys(e.data).filter(key => !known.includes(key)), [], `${e.type} ${JSON.stringify(e.data)}`);
    types.add(e.type);
  }
  for (const type of ['tool.failed', 'tool.refused', 'tool.retried', 'tool.progress', 'approval.asked', 'approval.answered', 'delegation.completed', 'task.completed', 'limit.reached',
    'sandbox.applied', 'hook.decided', 'run.ended', 'meta.tool_register', 'custom.greeted'])
    assert.ok(types.has(type), `${type} happened: ${[...types]}`);
});
