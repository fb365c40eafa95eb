// harness console in Chromium: every view with real runs, approvals from the click to the effect, keyboard, names and roles.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, atTerminal, console_, go, isWide, prompt, until } from './consoles.mjs';

const deploying = (t, p) => atTerminal(t, p, ['run', '-p', 'deploy it'], [['', 'n no'], ['', 'Done']]);
const deployed = p => (p.has('deployed.log') ? p.text('deployed.log') : '');

test('the token leaves the address bar and stays in this tab', async t => {
  const { open, origin } = await console_(t), page = await open();
  assert.equal(new URL(page.url()).hash, '#runs');
  assert.match(await page.evaluate(() => sessionStorage['harness.token']), /^\w+$/);
  assert.equal(await page.evaluate(() => document.cookie), '');
  const other = await page.context().browser().newPage();
  await other.goto(`${origin}/`);
  await other.getByText('This tab has no token').waitFor();
  await other.close();
});

test('runs: empty, live, "N new", search, filter, keys', async t => {
  const { p, open } = await console_(t), page = await open();
  await page.getByText('No runs yet').waitFor();
  await p.say(prompt);
  const rows = page.locator('.rows [role=row]');
  await rows.first().waitFor();                                      // an empty list takes the first run at once
  await page.getByRole('searchbox').focus();
  await p.say('hello');
  await p.say('hello again');
  await page.getByRole('button', { name: '2 new' }).waitFor();
  assert.equal(await rows.count(), 1);
  assert.equal(await page.evaluate(() => document.activeElement.type), 'search', 'the focus moved');
  await page.getByRole('button', { name: '2 new' }).click();
  await until(async () => await rows.count() === 3);
  const grid = page.getByRole('grid', { name: /Runs/ });
  assert.equal(await grid.getAttribute('aria-rowcount'), '4');
  assert.deepEqual(await rows.evaluateAll(all => all.map(r => r.getAttribute('aria-rowindex'))), ['2', '3', '4']);
  await page.getByRole('searchbox').fill('tests fail');
  await until(async () => await rows.count() === 1);
  await page.getByRole('searchbox').fill('no such run');
  await page.getByText('No run matches').waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();
  await until(async () => await rows.count() === 3);
  await page.getByLabel('State').selectOption('failed');
  await page.getByText('No run matches').waitFor();
  await page.getByLabel('State').selectOption('completed');
  await until(async () => await rows.count() === 3);
  await page.getByRole('heading', { name: 'Runs' }).click();
  for (const key of ['j', 'j', 'j', 'k']) await page.keyboard.press(key);
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-rowindex')), '3');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'hello' }).waitFor();
});

test('a run: timeline, waterfall, sub-agent, details, diff, conversation, events', async t => {
  const { p, open } = await console_(t);
  const { reply } = await p.say(prompt);
  const page = await open(`run/${reply.run}`);
  const steps = page.getByRole('treegrid', { name: 'Steps of the run' });
  await steps.getByText('git push --force').waitFor();
  const inner = steps.getByRole('row').filter({ hasText: 'src/sum.c' }).filter({ hasText: 'read' });
  assert.equal(await inner.getAttribute('aria-level'), '2');
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  await steps.getByRole('row').filter({ hasText: 'git push' }).click();
  const detail = page.getByRole('region', { name: 'Details' });
  await detail.getByText('forced pushes rewrite shared history').first().waitFor();
  assert.match(await detail.innerText(), /blocked · guard_git/);
  await page.keyboard.press('k');
  await page.keyboard.press('k');
  assert.match(await detail.innerText(), /edit[\s\S]*Change[\s\S]*-    return a - b;[\s\S]*\+    return a \+ b;/);
  assert.match(await detail.innerText(), /Time of every step/);
  await detail.getByText(/Raw events/).click();
  await detail.getByText('"type": "tool.executing"').first().waitFor();
  assert.equal(await steps.locator('.track .span').count() > 8, true);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await detail.getByRole('button', { name: 'Copy as harness call' }).click();
  await detail.getByRole('button', { name: 'Copied' }).waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^harness call edit '\{"path":"src\/sum.c"/);
  await page.getByRole('tab', { name: 'Conversation' }).click();
  await page.getByRole('tabpanel').getByText('The failing test is fixed').waitFor();
  await page.getByRole('tab', { name: 'Events' }).click();
  await page.getByRole('grid', { name: 'Events' }).getByText('run.started').waitFor();
  await page.getByRole('tab', { name: 'Artifacts' }).click();
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).first().click()]);
  assert.ok(await file.path());
});

test('a running run is followed, spoken to and cancelled', async t => {
  const { p, open } = await console_(t);
  const work = atTerminal(t, p, ['run', '-p', 'wait for it'], [['', 'never shown']]);
  const [run] = await until(async () => { const all = await p.runs(); return all.length > 0 && all; });
  const page = await open(`run/${run.id}`);
  await page.getByRole('treegrid').getByText('sleep 30').waitFor();
  await page.getByRole('button', { name: 'Say something…' }).click();
  await page.getByLabel('Message').fill('hurry up');
  await page.getByRole('button', { name: 'Send' }).click();
  await until(async () => await page.locator('dialog').count() === 0);
  await page.getByRole('button', { name: 'Cancel…' }).click();
  await page.getByRole('button', { name: 'Cancel the run' }).click();
  await page.getByRole('treegrid').getByText(/Run cancelled/).waitFor();
  await page.getByRole('button', { name: 'Resume…' }).waitFor();
  await work.done;
  assert.equal((await p.runs())[0].status, 'cancelled');
});

test('an approval from the click to the effect; the count is in the title', async t => {
  const { p, open } = await console_(t), page = await open('approvals');
  await page.getByText('Nothing waits for an answer').waitFor();
  const work = deploying(t, p);
  const card = page.getByRole('article', { name: 'deploy' });
  await card.waitFor();
  await until(async () => (await page.title()).startsWith('(1) '));
  assert.match(await card.innerText(), /confirm: true[\s\S]*production[\s\S]*1\.4\.2[\s\S]*What the sandbox permits\s+Files may read and write \/[\s\S]*Network none\s+Programs none/);
  assert.equal(deployed(p), '');
  await card.getByRole('button', { name: 'Approve' }).click();
  await card.getByText(/Approved/).waitFor();
  await work.done;
  assert.equal(deployed(p), 'production 1.4.2\n');
  await until(async () => !(await page.title()).startsWith('('));
});

test('deny with a reason, and changed arguments', async t => {
  const { p, open } = await console_(t), page = await open('approvals');
  const first = deploying(t, p), card = page.getByRole('article', { name: 'deploy' });
  await card.getByRole('button', { name: 'Deny…' }).click();
  await card.getByLabel(/Reason/).fill('not on a Friday');
  await card.getByRole('button', { name: 'Deny', exact: true }).click();
  await card.getByText(/Denied/).waitFor();
  assert.match((await first.done).output, /not on a Friday/);
  assert.equal(deployed(p), '');
  await go(page, 'runs');
  await go(page, 'approvals');
  const second = deploying(t, p);
  await card.getByRole('button', { name: 'Change arguments…' }).click();
  await card.getByLabel('environment').selectOption('staging');
  await card.getByLabel('version').fill('1.4.3');
  await card.getByRole('button', { name: 'Use these arguments' }).click();
  await card.first().getByText(/Changed by console/).waitFor();
  const final = card.filter({ hasText: '1.4.3' }).filter({ has: page.getByRole('button', { name: 'Approve' }) });
  assert.match(await final.innerText(), /staging/);                  // the final form is asked about again
  assert.equal(deployed(p), '');
  await final.getByRole('button', { name: 'Approve' }).click();
  await second.done;
  assert.equal(deployed(p), 'staging 1.4.3\n');
});

test('two tabs answer at once: one counts, the other one is told', async t => {
  const { p, open } = await console_(t), pages = [await open('approvals', { allow: ['409'] }), await open('approvals', { allow: ['409'] })];
  const work = deploying(t, p), cards = pages.map(page => page.getByRole('article', { name: 'deploy' })), sent = [], statuses = [];
  await Promise.all(cards.map(card => card.getByRole('button', { name: 'Approve' }).waitFor()));
  let both;
  const gate = new Promise(open_ => { both = open_; });                // holds the first answer until the other one is on its way
  for (const page of pages) {
    page.on('response', r => { if (/\/api\/approvals\/.+\/(approve|deny)$/.test(r.url())) statuses.push([new URL(r.url()).pathname.split('/').pop(), r.status()]); });
    await page.route(/\/api\/approvals\/.+\/(approve|deny)$/, async route => {
      sent.push(route.request().url());
      if (sent.length === 2) both();
      await gate;
      await route.continue();
    });
  }
  await cards[0].getByRole('button', { name: 'Approve' }).click();
  await cards[1].getByRole('button', { name: 'Deny…' }).click();
  await cards[1].getByRole('button', { name: 'Deny', exact: true }).click();
  await until(() => statuses.length === 2);
  await work.done;
  const [winner] = statuses.find(([, status]) => status === 200), texts = cards.map(card => card.locator('.badge'));
  assert.deepEqual(statuses.map(([, status]) => status).sort(), [200, 409], 'exactly one answer counts');
  assert.equal(deployed(p), winner === 'approve' ? 'production 1.4.2\n' : '', 'the effect is that of the answer that counts');
  const [first, late] = winner === 'approve' ? texts : [texts[1], texts[0]];
  await first.getByText(winner === 'approve' ? /^Approved by console, uid \d+\.$/ : /^Denied by console, uid \d+\.$/).waitFor();
  await late.getByText(/^Another answer came first: .+ was answered already, by console, uid \d+$/).waitFor();
});

// The browser's own notifications cannot be read by a test: these record what they are given.
const recorder = permission => {
  window.told = [];
  window.asked = 0;
  window.Notification = class {
    constructor(title, { tag }) { window.told.push([title, tag]); }
    static permission = permission;
    static async requestPermission() { window.asked++; this.permission = 'granted'; return 'granted'; }
  };
};

const hide = (page, hidden) => page.evaluate(h => {
  Object.defineProperty(document, 'hidden', { value: h, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}, hidden);

test('a hidden tab that may notify tells of new questions; permission is asked for by a click only', async t => {
  const { p, open } = await console_(t), page = await open('approvals');
  await page.addInitScript(recorder, 'default');
  await page.reload();
  const offer = page.getByRole('button', { name: 'Notify me in this browser' });
  await offer.waitFor();
  assert.equal(await page.evaluate(() => window.asked), 0);
  await offer.click();
  await until(async () => await offer.count() === 0);
  assert.equal(await page.evaluate(() => window.asked), 1);
  await page.getByText('live', { exact: true }).waitFor();
  const first = deploying(t, p), card = page.getByRole('article', { name: 'deploy' });
  await card.getByRole('button', { name: 'Approve' }).click();
  await first.done;
  assert.deepEqual(await page.evaluate(() => window.told), [], 'a tab that is seen needs no notification');
  await hide(page, true);
  await page.getByText('live', { exact: true }).waitFor();
  const second = deploying(t, p);
  await until(async () => (await page.evaluate(() => window.told)).length > 0);
  assert.deepEqual(await page.evaluate(() => window.told), [['1 question from an agent', 'harness-approvals']]);
  await hide(page, false);
  await card.getByRole('button', { name: 'Approve' }).click();
  await second.done;
});

test('a terminal answers first: the page says so and keeps its place', async t => {
  const { p, open } = await console_(t), page = await open('approvals');
  const work = deploying(t, p), card = page.getByRole('article', { name: 'deploy' });
  await card.getByRole('button', { name: 'Approve' }).waitFor();
  const [q] = JSON.parse((await p.harness(['approvals', '--json'])).stdout);
  assert.equal((await p.harness(['approvals', 'deny', q.id, '--because', 'no'])).status, 0);
  await card.getByText(/Denied by command line/).waitFor();
  assert.equal(await card.getByRole('button', { name: 'Approve' }).count(), 0);
  await work.done;
});

test('a hidden tab closes its stream and catches up', async t => {
  const { p, open } = await console_(t), page = await open();
  await page.getByText('live', { exact: true }).waitFor();
  await page.getByText('No runs yet').waitFor();
  const ended = page.waitForEvent('requestfailed', r => r.url().includes('/api/stream'));
  await hide(page, true);
  await ended;
  await page.getByText('paused', { exact: true }).waitFor();
  await p.say('hello');
  assert.equal(await page.locator('.rows [role=row]').count(), 0);
  await hide(page, false);
  await page.locator('.rows [role=row]').first().waitFor();
});

const views = ['runs', 'run', 'approvals', 'playground/deploy', 'policy', 'policy/simulator', 'cost', 'servers', 'project'];

for (const scheme of ['light', 'dark']) {
  test(`every view, ${scheme}: axe-core finds nothing serious; nothing is wider than the window`, async t => {
    const { p, open } = await console_(t);
    const { reply } = await p.say(prompt);
    const work = deploying(t, p);
    const page = await open('', { scheme });
    for (const view of views) {
      await go(page, view === 'run' ? `run/${reply.run}` : view);
      await until(async () => await page.locator('.waiting').count() === 0);
      assert.equal(await page.locator('.note.bad').count(), 0, `${view}: ${await page.locator('main').innerText()}`);
      if (view === 'run') await page.getByRole('treegrid').getByText('src/sum.c').first().click();
      await accessible(page, view);
      for (const width of [400, 1000, 1600]) {
        await page.setViewportSize({ width, height: 800 });
        assert.equal(await isWide(page), false, `${view} at ${width}`);
        if (width === 400) await accessible(page, `${view} at 400`);
      }
      await page.setViewportSize({ width: 1280, height: 800 });
    }
    await go(page, 'approvals');
    await page.getByRole('button', { name: 'Approve' }).click();
    await work.done;
  });
}
