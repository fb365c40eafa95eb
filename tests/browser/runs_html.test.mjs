// harness runs show --html in Chromium: a run full of hostile text. Nothing in the page runs, nothing is requested, nothing is reported.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { scripted, talker } from '../e2e/agents.mjs';
import { run as start } from '../e2e/harness.mjs';

// The tests run as root too, where Chromium's own sandbox does not start.
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--disable-dev-shm-usage'];
let browser, web, url;
const visits = [];

before(async () => {
  web = createServer((request, response) => { visits.push(request.url); response.end('window.pwned = "loaded"'); });
  await new Promise(done => web.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${web.address().port}`;
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: flags });
});

after(async () => {
  await browser?.close();
  web.closeAllConnections();
  await new Promise(done => web.close(done));
});

// Each text is put into every field of a run that another program can set.
const attacks = () => [
  '<script>window.pwned = "script"</script>',
  `<script src="${url}/a.js"></script>`,
  `"><img src="${url}/b.png" onerror="window.pwned = 'img'">`,
  `'><svg onload='window.pwned = "svg"'>`,
  '</pre></div></details></body><script>window.pwned = "after"</script>',
  '</style><script>window.pwned = "style"</script>', '</title><script>window.pwned = "title"</script>',
  `<iframe srcdoc="<script>parent.pwned = 'frame'</script>"></iframe><iframe src="${url}/c"></iframe>`,
  `<link rel="stylesheet" href="${url}/d.css"><style>@import url(${url}/e.css); body { background: url(${url}/f.png) }</style>`,
  `<meta http-equiv="refresh" content="0; url=${url}/g"><base href="${url}/">`,
  `<a href="javascript:window.pwned = 'link'">x</a><form action="${url}/h"><button>x</button></form>`,
  `<object data="${url}/i"></object><embed src="${url}/j"><video src="${url}/k" autoplay></video>`,
  '<!-- ', '--> ]]> <![CDATA[ <plaintext>', '<details open ontoggle="window.pwned = 1"><summary>x</summary></details>', '&lt;script&gt; &#60;script&#62; &amp;',
  '\u202egnp.exe\u202c \u2066isolate\u2069 \u200b\ufeff\u00ad\u061c \u0000\u0001\u001b[31m\u007f\u0080\u009b \u{e0041} \u2028 \u2029',
];

const model = `
def reply(messages, tools):
    calls = len([m for m in messages if m["role"] == "tool"])
    bad = messages[1]["content"]
    if "inner" in str(messages[0]["content"]):
        if calls == 0:
            return {"text": bad, "tool_calls": [{"name": "echo", "arguments": {"text": bad}}]}
        return {"text": bad}
    steps = [
        {"name": "echo", "arguments": {"text": bad}},
        {"name": "echo", "arguments": {"text": bad + "\\n" + bad, "fail": True}},
        {"name": "guarded", "arguments": {"text": bad}},
        {"name": "write", "arguments": {"path": "out.txt", "content": bad + "\\nsecond\\n"}},
        {"name": "edit", "arguments": {"path": "out.txt", "old_string": "second", "new_string": bad}},
        {"name": "confirmed", "arguments": {"text": bad}},
        {"name": bad, "arguments": {"text": bad}},
        {"name": "delegate", "arguments": {"agent": "inner", "task": bad}},
    ]
    if calls < len(steps):
        return {"text": bad if calls == 1 else "", "tool_calls": [steps[calls]]}
    return {"text": bad}
`;
const tool = (body, head = '') => `---\nparameters:\n  text: { type: string }\n  fail: { type: boolean }\n${head}script: |\n  def run(args):\n      ${body}\n---\nA tool.\n`;
const files = {
  ...scripted(model, 'builtin_tools: [write, edit]'),
  '.harness/tools/echo.md': tool('fail(args["text"]) if args.get("fail") else None\n      return args["text"]'),
  '.harness/tools/guarded.md': tool('return 1'),
  '.harness/tools/confirmed.md': tool('return 1', 'confirm: true\n'),
  '.harness/hooks/guard.md': '---\nevent: tool.pre\nwhen: payload["name"] == "guarded"\nscript: |\n  def handle(event, payload):\n      return block(payload["args"]["text"])\n---\nDenies.\n',
  '.harness/agents/inner.md': '---\ndescription: An inner agent.\ntools: [echo]\n---\nYou are the inner agent.\n',
};

// Opens a page and reports what it did.
async function open(path, { scheme = 'light' } = {}) {
  const context = await browser.newContext({ colorScheme: scheme });
  const page = await context.newPage();
  const seen = { requests: [], console: [], errors: [], dialogs: 0 };
  page.on('request', r => seen.requests.push(r.url()));
  page.on('console', m => seen.console.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', e => seen.errors.push(String(e)));
  page.on('dialog', d => { seen.dialogs++; return d.dismiss(); });
  page.on('popup', p => seen.errors.push(`popup ${p.url()}`));
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener('securitypolicyviolation', e => window.violations.push(`${e.violatedDirective} ${e.blockedURI}`));
  });
  await page.goto(pathToFileURL(path).href, { waitUntil: 'load' });
  await page.locator('details.call > summary').first().click();
  await page.evaluate(() => { for (const d of document.querySelectorAll('details')) d.open = true; });
  await page.waitForTimeout(200);                                    // gives anything that would run or load time to do so
  seen.state = await page.evaluate(() => ({
    pwned: window.pwned, violations: window.violations, scripts: document.scripts.length, title: document.title, url: location.href,
    tags: [...new Set([...document.querySelectorAll('*')].map(e => e.localName))],
    handlers: [...document.querySelectorAll('*')].flatMap(e => [...e.attributes].map(a => a.name)).filter(n => n.startsWith('on') || n === 'style' || n === 'href' || n === 'src'),
    text: document.body.innerText, whole: document.body.textContent, background: getComputedStyle(document.body).backgroundColor,
    calls: document.querySelectorAll('details.call').length, nested: document.querySelectorAll('.inside details.call').length,
    wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
  }));
  await context.close();
  return seen;
}

const allowed = ['html', 'head', 'meta', 'title', 'style', 'body', 'h1', 'ul', 'li', 'div', 'small', 'details', 'summary', 'span', 'svg', 'rect', 'dl', 'dt', 'dd', 'pre', 'code'];

test('a run full of hostile text is only shown', async t => {
  const p = talker(t, files);
  for (const [i, bad] of [...attacks(), attacks().join(' ')].entries()) {
    const said = start(['-C', p.dir, 'run', '-p', '-', '--json'], { input: bad, env: p.env });
    const { run } = JSON.parse(said.stdout);
    const path = join(p.state, `${i}.html`);
    const shown = await p.harness(['runs', 'show', run, '--html', path]);
    assert.equal(shown.status, 0, shown.stderr);
    const { state, ...seen } = await open(path);
    const about = `attack ${i}: ${bad}`;
    assert.deepEqual(seen.requests, [pathToFileURL(path).href], about);
    assert.deepEqual([seen.console, seen.errors, seen.dialogs], [[], [], 0], about);
    assert.equal(state.pwned, undefined, about);
    assert.deepEqual(state.violations, [], about);
    assert.equal(state.scripts, 0, about);
    assert.deepEqual(state.tags.filter(tag => !allowed.includes(tag)), [], about);
    assert.deepEqual(state.handlers, [], about);
    assert.doesNotMatch(state.whole, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/, about);
    assert.equal(state.wide, false, `${about}: the page is wider than the window`);
    const whole = i < attacks().length;                                // all of them together are too long for the name of a tool, which ends the run
    assert.ok(state.calls >= (whole ? 9 : 6) && state.nested >= (whole ? 1 : 0), `${about}: ${state.calls} calls, ${state.nested} nested`);
    const visible = bad.replace(/[^\x20-\x7e]/g, '').slice(0, 30);
    if (/^[<"'&]/.test(bad)) assert.ok(state.whole.includes(visible), `${about}: the text is missing`);
  }
  assert.deepEqual(visits, []);
});

test('dark and light', async t => {
  const p = talker(t, files);
  assert.equal((await p.say('hello')).status, 0);
  const path = join(p.state, 'page.html');
  assert.equal((await p.harness(['runs', 'show', 'last', '--html', path])).status, 0);
  const light = await open(path, { scheme: 'light' }), dark = await open(path, { scheme: 'dark' });
  assert.notEqual(light.state.background, dark.state.background);
  assert.match(light.state.text, /asked because\s+confirm: true/);
  assert.match(light.state.text, /blocked by/);
});

// The same page with a script inserted by the test: the page's policy blocks it, and without the policy the test detects it.
test('the policy of the page holds, and the test sees what it stops', async t => {
  const p = talker(t, files);
  assert.equal((await p.say('hello')).status, 0);
  const path = join(p.state, 'page.html');
  assert.equal((await p.harness(['runs', 'show', 'last', '--html', path])).status, 0);
  const page = readFileSync(path, 'utf8');
  const attacked = page.replace('</body>', `<script>window.pwned = 1</script><img src="${url}/seen.png" onerror="window.pwned = 2"></body>`);
  assert.notEqual(attacked, page);
  writeFileSync(path, attacked);
  const stopped = await open(path);
  assert.equal(stopped.state.pwned, undefined);
  assert.ok(stopped.state.violations.length >= 2, stopped.state.violations.join());
  assert.deepEqual(visits.filter(v => v === '/seen.png'), []);
  writeFileSync(path, attacked.replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, ''));
  const open_ = await open(path);
  assert.ok(open_.state.pwned);
  assert.ok(open_.requests.some(r => r.endsWith('/seen.png')));
});
