// How cost grows with the rounds of a run and the size of a project. Memory only: times depend on the machine.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { bin, build, environment } from './harness.mjs';
import { scripted, talker } from './agents.mjs';
import { tool } from './calls.mjs';

const sanitized = ['asan', 'tsan', 'hostile'].includes(build);             // their memory is not the program's
const rounds = sanitized ? [60, 160] : [200, 1200];

const limits = 'delegation: { iterations_per_depth: [100000] }\nlimits: { max_turns: 100000, max_tool_calls: 100000, max_tool_calls_per_turn: 100000 }\n';
const next = tool('return args["n"] + 1', 'parameters:\n  n: { type: integer, required: true }');

// Counts up to the number in the first message. Every reply checks the part of the conversation it received.
const counter = `
def check(messages):
    if messages[0]["role"] != "system": fail("no system prompt")
    if messages[1]["role"] != "user": fail("the first message is gone")
    if len(messages) > 51: fail("too many messages: " + str(len(messages)))
    open = []
    for m in messages:
        if m["role"] == "tool":
            if m["tool_call_id"] not in open: fail("a result without its call")
            open = [id for id in open if id != m["tool_call_id"]]
        elif open:
            fail("a call without its result")
        for c in m.get("tool_calls", []):
            open.append(c["id"])
    if open: fail("a call without its result")

def reply(messages, tools):
    check(messages)
    last = messages[-1]
    n = int(last["content"]) if last["role"] == "tool" else 0
    if n == int(messages[1]["content"]):
        return {"text": "done after " + str(n) + ", saw " + str(len(messages))}
    return {"tool_calls": [{"name": "next", "arguments": {"n": n}}]}
`;
const files = () => ({ ...scripted(counter, limits), '.harness/tools/next.md': next });

// In MB, of a process that is still there.
const peak = pid => Number(/VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

// A conversation with one message; its memory is read while it waits for the next.
async function talk(p, n) {
  const child = spawn(bin, ['-C', p.dir, 'run'], { env: { ...environment, ...p.env }, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  let text = '';
  child.stdin.write(`${n}\n`);
  for await (const piece of child.stdout) {
    text += piece;
    if (text.endsWith('\n')) break;
  }
  const memory = peak(child.pid);
  child.stdin.end();
  const [status] = await ended;
  assert.equal(status, 0, text);
  assert.match(text, new RegExp(`^done after ${n}, saw (2[5-9]|3\\d|4\\d|50)\n$`));        // cut to half of 50 messages when there are more
  return memory;
}

test('a long run needs little more memory than a short one', async t => {
  const p = talker(t, files());
  const few = await talk(p, rounds[0]), many = await talk(p, rounds[1]);
  t.diagnostic(`${rounds[0]} rounds: ${few.toFixed(1)} MB, ${rounds[1]} rounds: ${many.toFixed(1)} MB`);
  if (!sanitized) assert.ok(many - few < 6, `${few} MB, then ${many} MB`);
});

test('calls with the same id from a model get unique ids, also after a resume', async t => {
  const halfway = 'if args["n"] == 70 and not fs.exists("halfway"):\n    fs.write("halfway", "")\n    exec.run("sleep", ["60"])\nreturn args["n"] + 1';
  const p = talker(t, { ...files(), '.harness/tools/next.md': tool(halfway, 'idempotency: idempotent\nparameters:\n  n: { type: integer, required: true }') });
  const child = spawn(bin, ['-C', p.dir, 'run', '-p', '150'], { env: { ...environment, ...p.env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'exit');
  const wait = setInterval(() => { if (p.has('halfway')) child.kill('SIGKILL'); }, 1);
  await ended;
  clearInterval(wait);
  const [run] = await p.runs();
  assert.equal(run.status, 'interrupted');
  const r = await p.resume(run.id);
  assert.equal(r.status, 0, r.stderr);
  assert.match(r.reply.response, /^done after 150, saw (2[5-9]|3\d|4\d|50)$/);
  const ids = (await p.show(run.id)).events.filter(e => e.type === 'completion.completed').flatMap(e => e.data.tool_calls.map(c => c.id));
  assert.equal(ids.length, 150);
  assert.equal(new Set(ids).size, 150);
});

// Runs a program and prints the peak of its memory, in KB, below what it printed.
const measure = 'import resource, subprocess, sys\nsubprocess.run(sys.argv[1:])\nprint(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)';

test('each of many tools needs little memory', { skip: sanitized }, async t => {
  const made = n => Object.fromEntries(Array.from({ length: n }, (_, i) => [`.harness/tools/tool_${i}.md`,
    tool(`text = fs.read(args["path"])\nreturn {"lines": text.split("\\n")[:${i}]}`, 'parameters:\n  path: { type: string, required: true }\n  limit: { type: number, default: 10 }')]));
  const validate = async n => {
    const p = talker(t, made(n));
    const { stdout } = spawnSync('python3', ['-c', measure, bin, '-C', p.dir, 'validate'], { encoding: 'utf8', env: { ...environment, ...p.env }, maxBuffer: 1 << 26 });
    const [, kilobytes] = new RegExp(`\\nok: ${n} tools, 0 hooks, 0 agents\\n(\\d+)\\n$`).exec(stdout) ?? assert.fail(stdout.slice(-200));
    return Number(kilobytes) / 1024;
  };
  const few = await validate(2000), many = await validate(4000);
  const each = (many - few) * 1024 / 2000;
  t.diagnostic(`${each.toFixed(1)} KB for each tool`);
  assert.ok(each < 8, `${each} KB for each tool`);
});
