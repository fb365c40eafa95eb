// What the console's page can start: resume, fork, calls of the playground, tests; and its views of costs and files.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { console_, go, prompt, shop, until } from './consoles.mjs';

test('resume and fork from the page leave the events that they must', async t => {
  const { p, open } = await console_(t);
  const { reply } = await p.say(prompt);
  const before = (await p.show(reply.run)).events.length;
  const page = await open(`run/${reply.run}`, { height: 2400 });          // high enough for every row
  await page.getByRole('treegrid').getByText('git push').first().waitFor();
  await page.getByRole('button', { name: 'Fork…' }).click();
  await page.getByLabel('Message').fill('say hello');
  await page.getByRole('button', { name: 'Fork', exact: true }).click();
  await page.getByRole('treegrid').getByText('Hello from the agent').waitFor();
  await page.getByRole('treegrid').getByText(/Forked from/).waitFor();
  const made = new URL(page.url()).hash.slice(5);
  assert.notEqual(made, reply.run);
  const { events } = await p.show(made);
  assert.equal(events.find(e => e.type === 'run.forked').data.from, reply.run);
  assert.equal((await p.show(reply.run)).events.length, before, 'the fork changed the run that it came from');
  await until(async () => (await p.runs()).find(r => r.id === made).status === 'completed');
  await page.getByRole('button', { name: 'Resume…' }).click();
  await page.getByLabel('Message').fill('hello once more');
  await page.getByRole('button', { name: 'Resume', exact: true }).click();
  await until(async () => (await p.show(made)).events.some(e => e.type === 'turn.started' && e.data.text === 'hello once more'));
  await page.getByRole('treegrid').getByText('hello once more').waitFor();
});

test('playground: form, JSON, result, history, a refused call, save as test', async t => {
  const { p, open } = await console_(t), page = await open('playground/deploy');
  await page.getByLabel('environment').selectOption('staging');
  await page.getByLabel('version').fill('2.0');
  await page.getByRole('button', { name: 'Add to notify' }).click();
  await page.getByLabel('notify 1', { exact: true }).fill('ops@example.com');
  await page.getByRole('button', { name: 'Add window' }).click();
  await page.getByLabel(/^hours/).fill('two');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await page.getByText('hours is not a number').waitFor();
  await page.getByLabel(/^hours/).fill('2');
  await page.getByRole('tab', { name: 'JSON' }).click();
  assert.deepEqual(JSON.parse(await page.getByLabel('Arguments as JSON').inputValue()), { environment: 'staging', version: '2.0', notify: ['ops@example.com'], window: { hours: 2 } });
  await page.getByLabel('Arguments as JSON').fill('{"environment":"production","version":"2.1"}');
  await page.getByRole('tab', { name: 'Form' }).click();
  assert.equal(await page.getByLabel('version').inputValue(), '2.1');
  await page.getByRole('button', { name: /^grep/ }).click();
  await page.getByLabel('pattern', { exact: true }).fill('assert_eq');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  const result = page.getByRole('region', { name: 'Result' });
  await result.getByText('src/test.c').first().waitFor();
  await page.getByText('Earlier calls').waitFor();
  await page.getByRole('button', { name: /Use these arguments.*assert_eq/ }).waitFor();
  await page.getByRole('button', { name: /^bash/ }).click();
  await page.getByLabel('command', { exact: true }).fill('git push --force');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await result.getByText('forced pushes rewrite shared history').first().waitFor();
  await page.getByRole('button', { name: 'Save this outcome as test…' }).click();
  await page.getByRole('dialog').getByText('blocked_by: "guard_git"').waitFor();
  await page.getByLabel('Name').fill('no_force');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('dialog').getByText(/Saved .harness\/tests\/no_force/).waitFor();
  const passed = await p.harness(['test', 'no_force']);
  assert.equal(passed.status, 0, passed.stdout + passed.stderr);
  p.add({ '.harness/hooks/guard_git.md': '---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nAllows.\n' });
  assert.equal((await p.harness(['test', 'no_force'])).status, 1, 'the test must fail without the guard');
});

test('a call of the playground that asks is answered under Approvals', async t => {
  const { p, open } = await console_(t), page = await open('playground/deploy'), other = await open('approvals');
  await page.getByLabel('environment').selectOption('staging');
  await page.getByLabel('version').fill('3.0');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await other.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('region', { name: 'Result' }).getByText('"deployed": "3.0"').waitFor();
  assert.equal(p.text('deployed.log'), 'staging 3.0\n');
});

test('a question shows the diff of the file as it is, not of the arguments alone', async t => {
  const { p, open } = await console_(t, { ...shop, 'harness.md': shop['harness.md'].replace('limits: { max_turns: 20 }', 'limits: { max_turns: 20, confirm: [mutating] }') });
  const page = await open('approvals'), calling = p.harness(['call', 'edit', '{"path":"src/sum.c","old_string":"a - b","new_string":"a + b"}', '--ask']);
  const changes = page.getByRole('region', { name: 'Changes of src/sum.c' });
  await changes.waitFor();
  assert.match(await changes.innerText(), / int sum\(int a, int b\) \{\s+-    return a - b;\s+\+    return a \+ b;\s+ \}/);
  await page.getByRole('button', { name: 'Approve' }).click();
  assert.equal((await calling).status, 0);
  assert.match(p.text('src/sum.c'), /a \+ b/);
});

test('policy: what covers which tool', async t => {
  const { open } = await console_(t), page = await open('policy');
  const row = name => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: new RegExp(`^${name}\\b`) }) });
  await row('bash').waitFor();
  assert.match(await row('bash').innerText(), /ask-network[\s\S]*guard_git/);
  assert.match(await row('grep').innerText(), /nothing covers it/);
  assert.match(await row('deploy').innerText(), /confirm: true/);
  await page.getByLabel('Only what nothing covers').check();
  assert.equal(await row('bash').count(), 0);
  await page.getByLabel('Agent', { exact: true }).selectOption({ label: 'auditor' });
});

test('cost, servers and project show what is there', async t => {
  const { p, open } = await console_(t);
  await p.say(prompt);
  const page = await open('cost');
  await page.getByRole('table', { name: 'By agent' }).waitFor();
  assert.equal(await page.getByRole('img').count(), 1);
  await go(page, 'servers');
  await page.getByText('harness mcp add').waitFor();
  await go(page, 'project');
  await page.getByText('None: every file loads.').waitFor();
  await page.getByText(/^Main agent: \d+ tools$/).click();
  assert.match(await page.getByRole('listitem').filter({ hasText: /^bash / }).innerText(), /ask-network ask.* · guard_git/);
  await page.getByRole('button', { name: '.harness/hooks/guard_git.md' }).click();
  await page.getByRole('region', { name: '.harness/hooks/guard_git.md' }).getByText('push --force').waitFor();
});

// The form of a schema that no tool of the project has, made by the page's own module.
test('forms: anyOf, oneOf, several types, $ref, allOf, and what refers to itself', async t => {
  const { open } = await console_(t), page = await open('servers');
  await page.getByText('harness mcp add').waitFor();                   // a view without fields of its own, which is complete
  await page.evaluate(async () => {
    const { form } = await import('/form.js');
    const schema = {
      type: 'object', required: ['target', 'who', 'level'],
      $defs: { port: { type: 'integer', title: 'port number' }, node: { type: 'object', properties: { name: { type: 'string' }, next: { $ref: '#/$defs/node' } } } },
      properties: {
        target: { anyOf: [{ title: 'by name', type: 'string' }, { title: 'by address', type: 'object', required: ['host', 'port'], properties: { host: { type: 'string' }, port: { $ref: '#/$defs/port' } } }] },
        who: { oneOf: [{ const: 'everyone' }, { type: 'array', items: { type: 'string' } }] },
        level: { type: ['integer', 'null'] },
        chain: { $ref: '#/$defs/node' },
        both: { allOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { properties: { b: { type: 'boolean' } } }] },
        lost: { $ref: '#/$defs/nothing' },
      },
    };
    window.made = form(schema);
    document.body.append(window.made.element);
  });
  const value = () => page.evaluate(() => window.made.get());
  await page.getByLabel('target: kind').selectOption('by address');
  await page.getByLabel('host').fill('db.example');
  await page.getByLabel('port number').fill('54x');
  await assert.rejects(value(), /port is not a number/);
  await page.getByLabel('port number').fill('5432');
  await page.getByLabel('who: kind').selectOption('array');
  await page.getByRole('button', { name: 'Add to who' }).click();
  await page.getByLabel('who 1', { exact: true }).fill('ops');
  await page.getByLabel('level: kind').selectOption('null');
  await page.getByRole('button', { name: 'Add chain' }).click();
  await page.getByLabel(/^name/).fill('first');
  await page.getByRole('button', { name: 'Add next' }).click();
  await page.getByLabel(/^name/).nth(1).fill('second');
  await page.getByRole('button', { name: 'Add both' }).click();
  await page.getByLabel(/^a\b/).fill('x');
  await page.getByLabel(/^b\b/).selectOption('true');
  await page.getByLabel(/^lost/).fill('[1]');
  const all = { target: { host: 'db.example', port: 5432 }, who: ['ops'], level: null, chain: { name: 'first', next: { name: 'second' } }, both: { a: 'x', b: true }, lost: [1] };
  assert.deepEqual(await value(), all);
  for (const given of [{ target: 'main', who: 'everyone', level: 3 }, all]) {
    await page.evaluate(v => window.made.set(v), given);
    assert.deepEqual(await value(), given, 'what is set comes back');
  }
});

test('a project that is not trusted: what it asks for, in words, and where it is written', async t => {
  const { open } = await console_(t, { ...shop, 'harness.md': shop['harness.md'].replace('limits:', 'mcp_servers:\n  files: { command: /usr/bin/false }\nlimits:') });
  const page = await open('project');
  await page.getByText('until you trust this project').waitFor();
  assert.match(await page.getByRole('main').innerText(), /starts a program \/usr\/bin\/false harness\.md:\d+/);
});
