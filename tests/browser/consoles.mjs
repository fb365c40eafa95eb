// harness console in Chromium: one browser for a test file, pages that record what they did, projects with something to look at.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before } from 'node:test';
import { chromium } from 'playwright-core';
import { scripted, talker } from '../e2e/agents.mjs';
import { serve } from '../e2e/consoles.mjs';
import { bin, environment, undo } from '../e2e/harness.mjs';

// The tests run as root too, where Chromium's own sandbox does not start.
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'];
let browser;
before(async () => { browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: flags }); });
after(() => browser?.close());

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// An agent that does everything that a timeline can show: search, edit, a blocked call, a sub-agent.
const model = `
def call(name, args, text = ""):
    return {"text": text, "tool_calls": [{"name": name, "arguments": args}]}

def reply(messages, tools):
    n = len([m for m in messages if m["role"] == "tool"])
    if "auditor" in str(messages[0]["content"]):
        if n == 0:
            return call("read", {"path": "src/sum.c"})
        return {"text": "The change is minimal and correct."}
    ask = str([m for m in messages if m["role"] == "user"][-1]["content"])
    if "deploy" in ask:
        if messages[-1]["role"] == "user":
            return call("deploy", {"environment": "production", "version": "1.4.2"}, "The tests pass. I will deploy.")
        return {"text": "Done: " + str(messages[-1]["content"])}
    if "wait" in ask:
        return call("bash", {"command": "sleep 30"}) if messages[-1]["role"] == "user" else {"text": "Waited."}
    if "hello" in ask:
        return {"text": "Hello from the agent."}
    steps = [
        call("grep", {"pattern": "assert_eq", "path": "src"}, "I will look for the assertion that fails."),
        call("bash", {"command": "sleep 0.2; cat src/test.c"}),
        call("edit", {"path": "src/sum.c", "old_string": "    return a - b;", "new_string": "    return a + b;"}, "It subtracts instead of adding."),
        call("bash", {"command": "git push --force origin main"}),
        call("delegate", {"agent": "auditor", "task": "Check the change in src/sum.c"}, "Pushing is blocked. An auditor checks the change."),
        call("bash", {"command": "sleep 0.1; echo '3 tests passed'"}),
    ]
    return steps[n] if n < len(steps) else {"text": "The failing test is fixed: src/sum.c adds now. I could not push: the guard blocks forced pushes."}
`;

export const shop = {
  ...scripted(model, `builtin_tools: [bash, read, write, edit, grep]
rules:
  - { name: ask-network, shell: [curl], decide: ask, because: "the network is asked for each time" }
limits: { max_turns: 20 }`, 'You fix failing tests in this folder.'),
  'src/sum.c': '#include "sum.h"\n\nint sum(int a, int b) {\n    return a - b;\n}\n',
  'src/test.c': 'assert_eq(sum(2, 2), 4);\n',
  '.harness/agents/auditor.md': '---\ndescription: Reads a change.\ntools: [read]\n---\nYou are the auditor.\n',
  '.harness/hooks/guard_git.md': '---\nevent: tool.pre\nwhen: payload["name"] == "bash"\nscript: |\n  def handle(event, payload):\n      if "push --force" in payload["args"]["command"]:\n          return block("forced pushes rewrite shared history")\n      return allow()\n---\nBlocks forced pushes.\n',
  '.harness/tools/deploy.md': `---
confirm: true
parameters:
  environment: { type: string, enum: [staging, production], required: true, description: Where to deploy. }
  version: { type: string, required: true }
  notify: { type: array, items: { type: string }, description: Addresses that are told. }
  window: { type: object, properties: { from: { type: string }, hours: { type: integer } }, description: When it may happen. }
script: |
  def run(args):
      fs.append("deployed.log", args["environment"] + " " + args["version"] + "\\n")
      return {"deployed": args["version"], "to": args["environment"]}
---
Deploy a version to an environment.
`,
};

export const prompt = 'The tests fail since this morning. Find out why and fix it.';

// A project with its console: `open(path, options)` is a page of it.
export async function console_(t, files = shop) {
  const p = talker(t, files), s = await serve(t, p);
  const origin = `http://127.0.0.1:${s.port}`;
  return { p, s, origin, open: (hash = '', options = {}) => open(t, s, origin, hash, options) };
}

// What a page may never do is recorded and checked when the test ends: other origins, errors, violations, dialogs.
async function open(t, s, origin, hash, { scheme = 'light', width = 1280, height = 800, allow = [] } = {}) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height }, acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const seen = { others: [], errors: [], dialogs: 0 };
  page.on('request', r => { if (!r.url().startsWith(`${origin}/`) && !r.url().startsWith('blob:')) seen.others.push(r.url()); });
  page.on('console', m => { if (['error', 'warning'].includes(m.type()) && !allow.some(x => m.text().includes(x))) seen.errors.push(m.text()); });
  page.on('pageerror', e => seen.errors.push(e.stack));
  page.on('dialog', d => { seen.dialogs++; return d.dismiss(); });
  page.on('popup', w => seen.errors.push(`popup ${w.url()}`));
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener('securitypolicyviolation', e => window.violations.push(`${e.violatedDirective} ${e.blockedURI}`));
  });
  undo(t, async () => {
    const violations = await page.evaluate(() => window.violations).catch(() => []);
    await context.close();
    assert.deepEqual({ ...seen, violations }, { others: [], errors: [], dialogs: 0, violations: [] });
  });
  await page.goto(s.url);
  await page.locator('h1').first().waitFor();
  if (hash) await go(page, hash);
  return page;
}

export async function go(page, hash) {
  await page.evaluate(h => { location.hash = h; }, hash);
  await page.locator('h1').first().waitFor();
}

// Nothing serious by axe-core.
export async function accessible(page, about) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => `${v.id}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')}`);
  });
  assert.deepEqual(found, [], about);
}

export const isWide = page => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);

const terminal = new URL('../e2e/terminal.py', import.meta.url).pathname;

// A run at a terminal, whose questions others may answer. `steps` as in terminal.py.
export function atTerminal(t, p, args, steps) {
  const child = spawn('python3', [terminal, bin, '-C', p.dir, ...args], { cwd: p.dir, env: { ...environment, TERM: 'xterm', ...p.env } });
  const done = new Promise(resolve => {
    let out = '', err = '';
    child.stdout.on('data', d => { out += d; });
    child.stderr.on('data', d => { err += d; });
    child.on('close', () => resolve(out ? JSON.parse(out) : { output: err }));
  });
  child.stdin.end(JSON.stringify(steps));
  undo(t, () => { if (child.exitCode === null) child.kill('SIGKILL'); });
  return { child, done };
}

export async function until(what) {
  for (let i = 0; i < 400; i++) {
    const got = await what();
    if (got) return got;
    await new Promise(r => setTimeout(r, 50));
  }
  return assert.fail(`never: ${what}`);
}
