// The console with hostile text in every field that another program can fill: it is shown, and nothing of it runs, loads or navigates.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { scripted } from '../e2e/agents.mjs';
import { run as start } from '../e2e/harness.mjs';
import { atTerminal, console_, go, until } from './consoles.mjs';

let web, url;
const visits = [];
before(async () => {
  web = createServer((request, response) => { visits.push(request.url); response.end('window.pwned = "loaded"'); });
  await new Promise(done => web.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${web.address().port}`;
});
after(async () => {
  web.closeAllConnections();
  await new Promise(done => web.close(done));
});

const attack = () => [
  '<script>window.pwned = "script"</script>', `<script src="${url}/a.js"></script>`, `"><img src="${url}/b.png" onerror="window.pwned = 'img'">`, `'><svg onload='window.pwned = "svg"'>`,
  '</pre></div></details></dialog></body><script>window.pwned = "after"</script>', '</textarea><script>window.pwned = "area"</script>', '</title></style><script>window.pwned = "style"</script>',
  `<iframe srcdoc="<script>parent.pwned = 'frame'</script>"></iframe>`, `<link rel="stylesheet" href="${url}/d.css"><style>@import url(${url}/e.css)</style>`,
  `<meta http-equiv="refresh" content="0; url=${url}/g"><base href="${url}/">`, `<a href="javascript:window.pwned = 'link'">x</a>`, '\u202egnp.exe\u202c \u2066x\u2069 \u200b\ufeff\u0000\u001b[31m \u{e0041} \u2028',
].join(' ');

const model = `
def reply(messages, tools):
    calls = len([m for m in messages if m["role"] == "tool"])
    bad = messages[1]["content"]
    if "inner" in str(messages[0]["content"]):
        return {"text": bad} if calls > 0 else {"text": bad, "tool_calls": [{"name": "echo", "arguments": {"text": bad}}]}
    steps = [
        {"name": "echo", "arguments": {"text": bad, bad[:60]: bad}},
        {"name": "echo", "arguments": {"text": bad, "fail": True}},
        {"name": "guarded", "arguments": {"text": bad}},
        {"name": "write", "arguments": {"path": "out.txt", "content": bad + "\\nsecond\\n"}},
        {"name": "edit", "arguments": {"path": "out.txt", "old_string": "second", "new_string": bad}},
        {"name": bad[:60], "arguments": {"text": bad}},
        {"name": "delegate", "arguments": {"agent": "inner", "task": bad}},
        {"name": "confirmed", "arguments": {"text": bad}},
    ]
    return {"text": bad, "tool_calls": [steps[calls]]} if calls < len(steps) else {"text": bad}
`;
const quoted = text => JSON.stringify(text).replaceAll('<', '\\u003c');
const tool = (body, head = '') => `---\nparameters:\n  text: { type: string, description: ${quoted(attack())} }\n  fail: { type: boolean, description: ${quoted(attack())} }\n  kind: { type: string, enum: [${quoted(attack())}, b] }\n${head}script: |\n  def run(args):\n      ${body}\n---\n${attack().replace(/[\u0000-\u001f]/g, '')}\n`;
const files = () => ({
  ...scripted(model, 'builtin_tools: [write, edit]'),
  '.harness/tools/echo.md': tool('fail(args["text"]) if args.get("fail") else None\n      return args["text"]'),
  '.harness/tools/guarded.md': tool('return 1'),
  '.harness/tools/confirmed.md': tool('return 1', 'confirm: true\n'),
  '.harness/hooks/guard.md': '---\nevent: tool.pre\nwhen: payload["name"] == "guarded"\nscript: |\n  def handle(event, payload):\n      return block(payload["args"]["text"])\n---\nDenies.\n',
  '.harness/agents/inner.md': `---\ndescription: ${quoted(attack())}\ntools: [echo]\n---\nYou are the inner agent.\n`,
});

// Elements that the page itself uses. Text from outside may add none.
const allowed = ['html', 'head', 'meta', 'title', 'link', 'script', 'body', 'a', 'header', 'p', 'img', 'span', 'nav', 'hr', 'main', 'div', 'noscript', 'h1', 'h2', 'h3', 'input', 'select', 'option', 'label', 'button',
  'time', 'section', 'article', 'pre', 'code', 'dl', 'dt', 'dd', 'ul', 'li', 'details', 'summary', 'figure', 'figcaption', 'textarea', 'fieldset', 'legend', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'caption', 'small',
  'b', 'br', 'strong', 'kbd', 'svg', 'line', 'rect', 'text', 'dialog'];

async function innocent(page, about) {
  await page.waitForTimeout(100);                                    // time for anything that would run or load
  const state = await page.evaluate(() => ({
    pwned: window.pwned, scripts: document.scripts.length, origin: location.origin, whole: document.body.textContent,
    tags: [...new Set([...document.querySelectorAll('*')].map(e => e.localName))],
    links: [...document.querySelectorAll('[href]')].map(e => e.getAttribute('href')).filter(href => !/^(#|(icon\.svg|\w+\.css)$)/.test(href)),
    handlers: [...document.querySelectorAll('*')].flatMap(e => [...e.attributes].map(a => a.name)).filter(n => n.startsWith('on') || ['srcdoc', 'formaction', 'ping'].includes(n)),
  }));
  assert.equal(state.pwned, undefined, about);
  assert.equal(state.scripts, 1, about);
  assert.deepEqual(state.tags.filter(x => !allowed.includes(x)), [], about);
  assert.deepEqual([state.links, state.handlers], [[], []], about);
  assert.doesNotMatch(state.whole, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/, about);
}

test('hostile text in every field of every view is only shown', async t => {
  const { p, open } = await console_(t, files());
  const bad = attack().replaceAll('\u0000', '');
  const asked = atTerminal(t, p, ['run', '-p', bad], [['', 'n no'], ['', 'x']]);
  const run = await until(async () => (await p.runs().catch(() => []))[0]);
  const page = await open('runs', { height: 2000 });
  await page.locator('.rows [role=row]').first().waitFor();
  await innocent(page, 'runs');
  await go(page, `run/${run.id}`);
  const steps = page.getByRole('treegrid');
  await until(async () => /asks a person/.test(await steps.innerText()));
  await innocent(page, 'run');
  const count = Number(await steps.getAttribute('aria-rowcount'));
  await page.keyboard.press('j');
  for (let i = 0; i < count; i++) {
    for (const raw of await page.locator('details.raw:not([open]) summary').all()) await raw.click();
    await innocent(page, `run, row ${i}`);
    await page.keyboard.press('j');
  }
  for (const name of ['Conversation', 'Events', 'Artifacts']) {
    await page.getByRole('tab', { name }).click();
    await innocent(page, name);
  }
  await page.getByRole('button', { name: 'Fork…' }).click();
  await innocent(page, 'fork');
  await page.keyboard.press('Escape');
  const long = start(['-C', p.dir, 'call', 'echo', '-', '--json'], { input: JSON.stringify({ text: bad + 'x'.repeat(1_000_000) }), env: p.env });
  assert.equal(long.status, 0, long.stderr);
  await go(page, `run/${JSON.parse((await p.harness(['runs', '--all', '--json', '--limit', '1'])).stdout)[0].id}`);
  await page.getByRole('treegrid').getByText('echo').click();
  await page.getByRole('button', { name: /Show all of/ }).first().click();
  await innocent(page, 'a megabyte');
  await go(page, 'policy/simulator');
  await page.getByRole('button', { name: 'New file…' }).click();
  await page.getByLabel('Path').fill('.harness/hooks/bad.md');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByLabel('Draft of the file').fill(`---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return block(json.decode(${JSON.stringify(JSON.stringify(bad))}))\n---\n`);
  await page.getByRole('button', { name: 'Simulate' }).click();
  await page.getByText(/would end differently/).waitFor();
  for (const row of await page.locator('.rows [role=row]').all()) {
    await row.click();
    await innocent(page, 'simulated call');
  }
  await page.getByRole('button', { name: 'Save as test…' }).click();
  await innocent(page, 'saved case');
  await page.keyboard.press('Escape');
  await page.getByLabel('Draft of the file').fill(`---\n${JSON.stringify(bad)}: 1\n---\n`);
  await page.getByRole('button', { name: 'Simulate' }).click();
  await page.getByText('The draft does not load').waitFor();
  await innocent(page, 'problems of a draft');
  for (const view of ['playground/echo', 'policy', 'cost', 'servers', 'project', 'approvals']) {
    await go(page, view);
    await until(async () => await page.locator('.waiting').count() === 0);
    await innocent(page, view);
  }
  const card = page.getByRole('article');
  await card.getByRole('button', { name: 'Change arguments…' }).click();
  await innocent(page, 'changed arguments');
  await card.getByRole('button', { name: 'Back' }).click();
  await card.getByRole('button', { name: 'Deny…' }).click();
  await card.getByRole('button', { name: 'Deny', exact: true }).click();
  await card.getByText(/Denied/).waitFor();
  await asked.done;
  await innocent(page, 'denied');
  assert.deepEqual(visits, []);
});

// The same attack as HTML: without the policy of the server it would run, so the test can see what it looks for.
test('the policy stops what the page itself would never write', async t => {
  const { open, origin } = await console_(t);
  const page = await open('', { allow: ['Content Security Policy', 'violates', '404'] });
  const found = await page.evaluate(async () => {
    const box = document.createElement('div');
    box.innerHTML = '<img src="/nothing.png" onerror="window.pwned = 1"><style>body { opacity: 0.5 }</style>';
    document.body.append(box);
    const script = document.createElement('script');
    script.textContent = 'window.pwned = 2';
    document.body.append(script);
    await new Promise(r => setTimeout(r, 300));
    const all = window.violations;
    window.violations = [];
    return { pwned: window.pwned, all };
  });
  assert.equal(found.pwned, undefined);
  assert.ok(found.all.length >= 2, found.all.join());
  const framed = await page.context().browser().newPage();
  await framed.setContent(`<iframe src="${origin}/"></iframe>`);
  await framed.waitForTimeout(300);
  assert.equal(await framed.frames()[1].locator('.side').count().catch(() => 0), 0);
  await framed.close();
});
