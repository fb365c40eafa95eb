// The simulator of the console's page, with recorded calls and the real server: a draft, before and after, problems, cases saved as tests.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../e2e/harness.mjs';
import { accessible, console_, isWide, prompt, until } from './consoles.mjs';

const rows = page => page.locator('.rows [role=row]');
const noGrep = '  - { name: no-grep, tool: [grep], decide: deny, because: "use read" }\n';

// A page with the simulator, and the draft of harness.md.
async function simulator(t, options) {
  const { p, open } = await console_(t);
  await p.say(prompt);
  const page = await open('policy', options);
  await page.getByRole('tab', { name: 'Simulator' }).click();
  const draft = page.getByLabel('Draft of the file');
  await page.getByLabel('File', { exact: true }).selectOption('harness.md');
  await until(async () => /ask-network/.test(await draft.inputValue()));
  const go = async text => {
    await page.getByRole('button', { name: 'Simulate' }).click();
    await page.getByText(text).first().waitFor();
  };
  return { p, page, draft, go };
}

test('a draft of a rule: what changes, which rule decides, and a case saved as a test', async t => {
  const { p, page, draft, go } = await simulator(t), before = p.text('harness.md');
  await go('Nothing changes');                                       // without a draft: what was recorded is what holds now
  await draft.fill(before.replace('rules:\n', `rules:\n${noGrep}`));
  await page.getByText('Changed in this draft: harness.md').waitFor();
  await go('1 call of 7 would end differently');
  const grid = page.getByRole('grid', { name: 'Calls before and after' });
  await until(async () => await grid.getAttribute('aria-rowcount') === '2');
  await page.getByLabel('Only changes').uncheck();
  await until(async () => await grid.getAttribute('aria-rowcount') === '8');
  assert.match(await grid.innerText(), /guard_git · \.harness\/hooks\/guard_git\.md:1/);
  await page.getByLabel('Only changes').check();
  await until(async () => await rows(page).count() === 1);
  await rows(page).first().click();
  const detail = page.locator('.detail');
  await detail.getByText(/by no-grep harness\.md:\d+: tool "grep" is denied by rule "no-grep"/).waitFor();
  assert.match(await detail.innerText(), /Recorded\s+allow\s+Before\s+allow\s+After\s+deny/);
  await accessible(page, 'simulator');
  for (const width of [400, 1000, 1600]) {
    await page.setViewportSize({ width, height: 800 });
    assert.equal(await isWide(page), false, `the simulator at ${width}`);
  }
  await page.getByRole('button', { name: 'Save as test…' }).click();
  await page.getByText('blocked_by: "no-grep"').waitFor();
  await page.getByLabel('Name').fill('no_grep');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('dialog').getByText(/Saved .harness\/tests\/no_grep/).waitFor();
  assert.equal(p.text('harness.md'), before, 'the draft was written into the project');
  assert.equal((await p.harness(['test', 'no_grep'])).status, 1, 'the rule is only in the draft');
  p.add({ 'harness.md': before.replace('rules:\n', `rules:\n${noGrep}`) });
  const passed = await p.harness(['test', 'no_grep']);
  assert.equal(passed.status, 0, passed.stdout + passed.stderr);
});

test('a hook is removed, another one is new; a call that is allowed is saved as a test', async t => {
  const { p, page, go } = await simulator(t);
  await page.getByLabel('File', { exact: true }).selectOption('.harness/hooks/guard_git.md');
  await page.getByRole('button', { name: 'Remove it' }).click();
  await page.getByText('.harness/hooks/guard_git.md (removed)').waitFor();
  await page.getByRole('button', { name: 'New file…' }).click();
  await page.getByLabel('Path').fill('.harness/hooks/no_edit.md');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByLabel('Draft of the file').fill('---\nevent: tool.pre\nwhen: payload["name"] == "edit"\nscript: |\n  def handle(event, payload):\n      return block("look only")\n---\nNo edits.\n');
  await go('1 call of 7 would end differently');
  await rows(page).first().click();
  await page.locator('.detail').getByText(/by no_edit \.harness\/hooks\/no_edit\.md:1: blocked by hook no_edit: look only/).waitFor();
  await page.getByLabel('Only changes').uncheck();
  await rows(page).filter({ hasText: '3 tests passed' }).click();
  await page.getByRole('button', { name: 'Save as test…' }).click();
  await page.getByLabel('Name').fill('may_echo');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('dialog').getByText(/Saved .harness\/tests\/may_echo/).waitFor();
  assert.equal((await p.harness(['test', 'may_echo'])).status, 0);
  p.add({ 'harness.md': p.text('harness.md').replace('rules:\n', 'rules:\n  - { name: no-echo, shell: [echo], decide: deny }\n') });
  assert.equal((await p.harness(['test', 'may_echo'])).status, 1);
  assert.equal(p.has('.harness/hooks/guard_git.md'), true);
});

test('drafts that do not load, or ask for more than the project may, say why', async t => {
  const { page, draft, go } = await simulator(t), alert = page.getByRole('alert');
  await draft.fill('---\nrules: [{ x: 1 }]\n---\n');
  await go('The draft does not load');
  assert.match(await alert.innerText(), /rules\[0\][\s\S]*harness\.md:2/);
  await draft.fill('---\nbuiltin_tools: [bash]\nsandbox: { network: true }\n---\n');
  await go(/asks for more than this project is trusted with: sandbox\.network/);
  await page.getByRole('button', { name: 'Undo' }).click();
  await until(async () => /ask-network/.test(await draft.inputValue()));
  await go('Nothing changes');
});

test('calls of other agents: the name of the agent, before and after, what is left out, and a case saved as a test', async t => {
  const { p, page, draft, go } = await simulator(t);
  const ask = (n, args) => run(['guard', 'claude', '--project', p.dir], { env: p.env, input: JSON.stringify({ session_id: 's', transcript_path: '/t', cwd: p.dir, hook_event_name: 'PreToolUse', tool_use_id: `u${n}`, ...args }) });
  ask(1, { tool_name: 'Read', tool_input: { file_path: `${p.dir}/src/sum.c` } });
  ask(2, { tool_name: 'Bash', tool_input: { command: 'deploy --token s3cretvalue99' } });
  ask(3, { tool_name: 'Edit', tool_input: { file_path: 'x.txt', edits: Array.from({ length: 20 }, () => 'z'.repeat(4000)) } });
  await draft.fill(p.text('harness.md').replace('rules:\n', 'rules:\n  - { name: no-sum, vendor: [claude], file.read: ["src/sum.c"], decide: deny }\n'));
  await go('1 call of 9 would end differently');
  await page.getByText('1 call of other agents is left out: the arguments were not stored.').waitFor();
  await rows(page).filter({ hasText: 'claude' }).first().click();
  const detail = page.locator('.detail');
  await detail.getByText(/by no-sum harness\.md:\d+/).waitFor();
  assert.match(await detail.innerText(), /read\s+claude/);
  await accessible(page, 'simulator with other agents');
  await page.setViewportSize({ width: 400, height: 800 });
  assert.equal(await isWide(page), false, 'the simulator at 400');
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole('button', { name: 'Save as test…' }).click();
  await page.getByText(/guard: \{"vendor":"claude".*"file_path":"src\/sum\.c"[\s\S]*decision: "deny"\nrule: "no-sum"/).waitFor();
  await page.getByLabel('Name').fill('no_sum');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('dialog').getByText(/Saved .harness\/tests\/no_sum/).waitFor();
  assert.equal((await p.harness(['test', 'no_sum'])).status, 1, 'the rule is only in the draft');
  p.add({ 'harness.md': await draft.inputValue() });
  const passed = await p.harness(['test', 'no_sum']);
  assert.equal(passed.status, 0, passed.stdout + passed.stderr);
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByLabel('Only changes').uncheck();
  await rows(page).filter({ hasText: 'deploy --token [redacted]' }).click();
  await detail.getByText('redacted arguments').waitFor();
  assert.equal(await detail.getByRole('button', { name: 'Save as test…' }).isDisabled(), true);
});
