// The console with a store of 100,000 runs and a run of 10,000 events: the page keeps few rows and stays quick.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { console_, until } from './consoles.mjs';

const most = 300;
const rows = page => page.locator('[role=row]').count();
const sql = (p, text) => {
  const { status, stderr } = spawnSync('sqlite3', [p.env.HARNESS_STATE], { input: text, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
};

test('100,000 runs: at most 300 rows in the page, to the end of the list by keys and by scrolling', async t => {
  const { p, open } = await console_(t);
  await p.say('hello');
  sql(p, `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100000)
    INSERT INTO runs SELECT n + i, printf('01900000-0000-7000-8000-%012d', i), 'completed', 'agent' || i % 7, '', '', 'run number ' || i, started_ns - 1000000000000 + i, ended_ns, 2, i % 30, usage, 0.01, 0, 0, '', 0, NULL
    FROM runs, c WHERE n = (SELECT min(n) FROM runs);`);
  const page = await open();
  const grid = page.getByRole('grid', { name: /Runs/ });
  await grid.getByText('run number 100000').waitFor();
  assert.ok(await rows(page) <= most);
  assert.equal(await grid.getAttribute('aria-rowcount'), '-1', 'the number of rows is not known yet');
  await page.getByRole('heading', { name: 'Runs' }).click();
  await page.keyboard.press('j');
  for (let i = 0; i < 25; i++) {
    await page.keyboard.press('End');
    await page.waitForTimeout(60);
    assert.ok(await rows(page) <= most);
  }
  const index = await page.evaluate(() => Number(document.activeElement.getAttribute('aria-rowindex')));
  assert.ok(index > 500, `row ${index} has the focus`);
  await page.getByRole('searchbox').fill('8000-000000000077');            // among the oldest
  await grid.getByText('run number 77', { exact: true }).waitFor({ timeout: 60_000 });
  assert.ok(await rows(page) <= most);
});

test('a run of 10,000 events: few rows, the last event is reached, a call shows its details', async t => {
  const { p, open } = await console_(t);
  const { reply } = await p.say('hello');
  // The calls come before the end of the run: its last event gets the number 10,000.
  sql(p, `CREATE TEMP TABLE r AS SELECT n, started_ns AS s FROM runs WHERE id = '${reply.run}';
    UPDATE events SET id = (SELECT n << 32 | 10000 FROM r), time_ns = (SELECT s + 10000000000 FROM r) WHERE id = (SELECT max(id) FROM events WHERE id >> 32 = (SELECT n FROM r));
    WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 9999)
    INSERT INTO events SELECT n << 32 | (SELECT max(id & 4294967295) + 1 FROM events WHERE id >> 32 = n AND id & 4294967295 < 10000) + i, s + i * 1000000, '', '', 0,
      CASE i % 3 WHEN 0 THEN 'tool.started' WHEN 1 THEN 'tool.executing' ELSE 'tool.completed' END,
      json_object('id', 'many_' || (i / 3), 'name', 'bash', 'args', json_object('command', 'echo ' || (i / 3)), 'verdict', 'allowed', 'value', json_object('stdout', 'out ' || (i / 3), 'stderr', '', 'exit_code', 0), 'elapsed_ms', 0.5), NULL
    FROM r, c WHERE i < 10000 - 1 - (SELECT max(id & 4294967295) FROM events, r WHERE id >> 32 = n AND id & 4294967295 < 10000);
    UPDATE runs SET last = 10000 WHERE n = (SELECT n FROM r);`);
  const page = await open(`run/${reply.run}`);
  const steps = page.getByRole('treegrid', { name: 'Steps of the run' });
  await until(async () => Number(await steps.getAttribute('aria-rowcount')) > 3300);
  assert.ok(await rows(page) <= most);
  await page.keyboard.press('j');
  await page.keyboard.press('End');
  await steps.getByText('Run completed').waitFor();
  await page.keyboard.press('k');
  await page.getByRole('region', { name: 'Details' }).getByText(/^echo 3\d\d\d$/).waitFor();
  assert.ok(await rows(page) <= most);
  await page.getByRole('tab', { name: 'Events' }).click();
  const events = page.getByRole('grid', { name: 'Events' });
  await until(async () => await events.getAttribute('aria-rowcount') === '10001');
  await page.keyboard.press('j');
  await page.keyboard.press('End');
  await events.getByText('10,000').waitFor();
  assert.ok(await rows(page) <= most);
  await page.getByRole('tab', { name: 'Conversation' }).click();
  await page.getByText(/1 to 150 of/).waitFor();
  assert.ok(await page.locator('.said').count() <= most);
  // The simulator judges the newest 1,000 of its calls.
  await page.evaluate(() => { location.hash = 'policy/simulator'; });
  const draft = page.getByLabel('Draft of the file');
  await page.getByLabel('File', { exact: true }).selectOption('harness.md');
  await until(async () => /ask-network/.test(await draft.inputValue()));
  await draft.fill((await draft.inputValue()).replace('rules:\n', 'rules:\n  - { name: no-echo, shell: [echo], decide: deny }\n'));
  await page.getByRole('button', { name: 'Simulate' }).click();
  await page.getByText('1,000 calls of 1,000 would end differently').waitFor();
  const verdicts = page.getByRole('grid', { name: 'Calls before and after' });
  await until(async () => await verdicts.getAttribute('aria-rowcount') === '1001');
  assert.ok(await rows(page) <= most);
  await page.locator('.rows [role=row]').first().click();
  await page.keyboard.press('End');
  await until(async () => await page.evaluate(() => document.activeElement.getAttribute('aria-rowindex')) === '1001');
  assert.ok(await rows(page) <= most);
});
