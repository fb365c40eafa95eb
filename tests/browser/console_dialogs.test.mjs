// Bridge tools in the page: notifications, dialogs and file pickers of agents, from the call to its result.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scripted } from '../e2e/agents.mjs';
import { accessible, console_, isWide, until } from './consoles.mjs';

// One call per prompt: "TOOL JSON".
const model = `def reply(messages, tools):
    if messages[-1]["role"] == "tool":
        return {"text": "got " + str(messages[-1]["content"])}
    words = str(messages[-1]["content"])
    cut = words.index(" ")
    return {"tool_calls": [{"name": words[:cut], "arguments": json.decode(words[cut + 1:])}]}
`;
const files = { ...scripted(model, 'builtin_tools: [read, notify, show_dialog, show_file_picker]\nmeta: { enabled: true }'), 'data/one.csv': '1\n', 'data/two.csv': '2\n', 'notes.txt': 'x\n' };
const ask = (p, tool, args) => p.say(`${tool} ${JSON.stringify(args)}`);
const from = page => page.getByRole('region', { name: 'From agents' });

// The page is known to runs as soon as its stream is open.
async function opened(t, options) {
  const { p, s, open } = await console_(t, files), page = await open('playground', options);
  await until(async () => (await p.harness(['call', 'notify', '{"title":"probe"}'])).status === 0);
  const dismiss = from(page).getByRole('button', { name: 'Dismiss' });
  await dismiss.click();
  await until(async () => await page.getByRole('article').count() === 0);
  return { p, s, page };
}

test('a dialog of a run: it does not take the focus, and the click is the answer; the next one by keyboard', async t => {
  const { p, page } = await opened(t), search = page.getByRole('searchbox');
  await search.focus();
  const work = ask(p, 'show_dialog', { title: 'Deploy now?', message: 'Two\nlines <img src=x onerror=alert(1)> \u202e', buttons: ['Yes, do', 'Later'] });
  const card = from(page).getByRole('article', { name: 'Deploy now?' });
  await card.waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.type), 'search', 'the focus moved');
  assert.match(await card.innerText(), /harness agent[\s\S]*Two\nlines <img src=x onerror=alert\(1\)>/);
  assert.doesNotMatch(await card.innerText(), /\u202e/);
  assert.equal(await card.locator('img').count(), 0);
  await accessible(page, 'dialog');
  await card.getByRole('button', { name: 'Later' }).click();
  assert.match((await work).reply.response, /"button":\s*"Later"[\s\S]*"place":\s*"page"/);
  await until(async () => await from(page).count() === 0);             // hidden without a card
  const second = ask(p, 'show_dialog', { title: 'Again?' });
  await card.waitFor({ state: 'detached' });
  const ok = from(page).getByRole('button', { name: 'OK' });
  await ok.waitFor();
  await until(() => ok.isEnabled());
  await ok.focus();
  await page.keyboard.press('Enter');
  assert.match((await second).reply.response, /"button":\s*"OK"/);
});

test('a file picker: typing filters, a refused file says why, the pick is the result', async t => {
  const { p, page } = await opened(t, { width: 400, height: 700 });
  const work = ask(p, 'show_file_picker', { title: 'Which table?', filter: '*.csv' });
  const card = from(page).getByRole('article', { name: 'Which table?' }), typed = card.getByLabel('A file of the workspace');
  await typed.fill('/etc/passwd');
  await card.getByRole('button', { name: 'Pick' }).click();
  await card.getByText(/outside the workspace/).waitFor();
  assert.equal(await isWide(page), false);
  await accessible(page, 'picker');
  await typed.fill('two');
  await until(async () => await card.locator('option').count() === 1);
  await typed.press('Enter');
  assert.match((await work).reply.response, /data\/two\.csv/);
});

test('two tabs: an answer in one closes the card in the other; a notification stays until it is dismissed', async t => {
  const { p, s, page } = await opened(t);
  const other = await page.context().newPage();
  await other.goto(s.url);
  const work = ask(p, 'show_dialog', { title: 'Which?', buttons: ['a', 'b'] });
  await Promise.all([page, other].map(x => from(x).getByRole('article', { name: 'Which?' }).waitFor()));
  await from(other).getByRole('button', { name: 'b' }).click();
  assert.match((await work).reply.response, /"button":\s*"b"/);
  await until(async () => await page.getByRole('article').count() === 0);
  await ask(p, 'notify', { title: 'Build is done', body: 'all green' });
  await from(page).getByText('all green').waitFor();
  assert.equal(await page.getByRole('article', { name: 'Build is done' }).count(), 1);
  await from(page).getByRole('button', { name: 'Dismiss' }).click();
  await until(async () => await other.getByRole('article').count() === 0);
});
