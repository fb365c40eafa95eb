// Screenshots for docs/console.md: HARNESS_SHOTS=docs/images writes them, without it nothing is done.
import { join } from 'node:path';
import { test } from 'node:test';
import { atTerminal, console_, go, prompt, shop, until } from './consoles.mjs';

const folder = process.env.HARNESS_SHOTS;

for (const scheme of ['light', 'dark']) {
  test(`pictures of every view, ${scheme}`, { skip: folder ? false : 'HARNESS_SHOTS=FOLDER takes the pictures' }, async t => {
    const { p, open } = await console_(t, { ...shop, 'harness.md': shop['harness.md'].replace('grep]', 'grep, show_dialog]') });
    const { reply } = await p.say(prompt);
    await p.say('hello, who are you?');
    await p.harness(['call', 'grep', '{"pattern":"assert_eq"}']);
    const work = atTerminal(t, p, ['run', '-p', 'deploy version 1.4.2 to production'], [['', 'n no'], ['', 'Done']]);
    const page = await open('', { scheme, width: 1100, height: 700 });
    await page.evaluate(() => { document.getElementById('project').textContent = 'shop'; });
    const views = {
      runs: ['runs'],
      run: [`run/${reply.run}`, async () => { await page.getByRole('treegrid').getByText('git push').first().click(); }],
      approvals: ['approvals', () => page.getByRole('article').waitFor()],
      dialogs: ['runs', async () => {
        p.harness(['call', 'show_dialog', JSON.stringify({ title: 'Which branch?', message: 'main and release-1.4 both have the change.', buttons: ['main', 'release-1.4'] })]);
        await page.getByRole('article', { name: 'Which branch?' }).getByRole('button', { name: 'main', disabled: false }).waitFor();
      }],
      playground: ['playground/deploy', async () => { await page.getByRole('region', { name: 'From agents' }).getByRole('button', { name: 'main' }).click(); }],
      policy: ['policy'],
      simulator: ['policy/simulator', async () => {
        await page.setViewportSize({ width: 1300, height: 700 });    // wide enough for the draft beside its outcome
        const draft = page.getByLabel('Draft of the file');
        await page.getByLabel('File', { exact: true }).selectOption('harness.md');
        await until(async () => /ask-network/.test(await draft.inputValue()));
        await draft.fill((await draft.inputValue()).replace('rules:\n', 'rules:\n  - { name: no-search, tool: [grep], decide: deny, because: "read the file that the user names" }\n'));
        await page.getByRole('button', { name: 'Simulate' }).click();
        await page.getByText(/would end differently/).waitFor();
        await page.locator('.rows [role=row]').first().click();
      }],
      cost: ['cost', () => page.setViewportSize({ width: 1100, height: 700 })], servers: ['servers'], project: ['project'],
    };
    for (const [name, [hash, then]] of Object.entries(views)) {
      await go(page, hash);
      await until(async () => await page.locator('.waiting').count() === 0);
      await then?.();
      await page.evaluate(dir => { for (const e of document.querySelectorAll('.viewhead .mono, .facts code')) if (e.textContent === dir) e.textContent = '/srv/shop'; }, p.dir);
      await page.mouse.move(0, 0);
      await page.waitForTimeout(300);
      await page.screenshot({ path: join(folder, `console-${name}-${scheme}.png`), animations: 'disabled' });
    }
    await go(page, 'approvals');
    await page.getByRole('button', { name: 'Approve' }).click();
    await work.done;
  });
}
