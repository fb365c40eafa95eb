// The official TypeScript SDK clients, 1.x and 2.x, against our server: every feature, in both eras of the protocol and over both transports.
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tool } from './calls.mjs';
import { add, folder } from './harness.mjs';
import { fixture } from './mcp_serve.mjs';
import { connect, until, ways } from './mcp_sdk.mjs';

const text = result => result.content.map(block => block.text).join('');

// What each connection does, one after another: name → (connection, how it is connected, its project).
const features = {
  'lists tools, in one order': async ({ client }) => {
    const { tools } = await client.listTools(), again = await client.listTools();
    assert.deepEqual(again.tools, tools);
    const names = tools.map(tool => tool.name);
    assert.ok(['greet', 'measure', 'json_schema_2020_12_tool'].every(name => names.includes(name)), names.join());
    const { annotations, title, outputSchema, inputSchema } = tools.find(tool => tool.name === 'measure');
    assert.equal(title, 'Measures');
    assert.deepEqual(annotations, { ...annotations, readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false });
    assert.deepEqual(outputSchema.required, ['length']);
    assert.deepEqual(inputSchema.required, ['text']);
    assert.equal(tools.find(tool => tool.name === 'json_schema_2020_12_tool').inputSchema.$defs.address.$anchor, 'addressDef');
  },
  'calls tools': async ({ call }) => {
    assert.equal(text(await call('greet', { name: 'Ada' })), 'Hello, Ada!');
    assert.deepEqual((await call('measure', { text: 'four' })).structuredContent, { length: 4 });
    assert.deepEqual((await call('test_multiple_content_types')).content.map(block => block.type), ['text', 'image', 'resource']);
    const failed = await call('test_error_handling');
    assert.equal(failed.isError, true);
    assert.match(text(failed), /intentionally returns an error/);
    const wrong = await call('greet', { name: 5 });
    assert.equal(wrong.isError, true);
    assert.match(text(wrong), /name.*string/);
  },
  'refuses an unknown tool': async ({ call }) => {
    await assert.rejects(call('no_such_tool'), error => error.code === -32602 && /no_such_tool/.test(error.message));
  },
  'tells of progress': async ({ call }) => {
    const steps = [];
    await call('test_tool_with_progress', {}, { onprogress: step => steps.push(step) });
    assert.deepEqual(steps.map(({ progress, total }) => [progress, total]), [[0, 100], [50, 100], [100, 100]]);
  },
  'cancels a call': async ({ call }, way, { dir, events }) => {
    const stop = new AbortController();
    const waiting = call('wait_long', {}, { signal: stop.signal });
    waiting.catch(() => {});
    await until(() => existsSync(join(dir, 'started')));
    stop.abort('enough');
    await assert.rejects(waiting);
    await until(() => /"type":"tool\.failed"[^\n]*wait_long|wait_long[^\n]*"type":"tool\.failed"/.test(readFileSync(events, 'utf8')));
    assert.ok(!existsSync(join(dir, 'finished')));
  },
  'asks the person': async ({ call }, way, { said }) => {
    said.elicit = () => ({ action: 'accept', content: { username: 'ada', email: 'ada@example.org' } });
    assert.match(text(await call('test_elicitation', { message: 'Who are you?' })), /"action":"accept".*"username":"ada"/s);
    assert.equal(said.asked.at(-1).message, 'Who are you?');
    said.elicit = () => ({ action: 'decline' });
    assert.match(text(await call('test_elicitation', { message: 'Who are you?' })), /"action":"decline"/);
  },
  'asks one thing after another': async ({ call }, way, { said }) => {
    said.elicit = ({ message }) => ({ action: 'accept', content: /Step 1/.test(message) ? { name: 'Ada' } : { color: 'green' } });
    assert.equal(text(await call('test_input_required_result_multi_round')), 'Ada likes green.');
  },
  'asks the model and for the roots': async ({ call }) => {
    assert.equal(text(await call('test_sampling', { prompt: 'Say something' })), 'LLM response: You said: Say something');
    assert.equal(text(await call('test_input_required_result_list_roots')), 'Roots: file:///somewhere');
  },
  'reads resources': async ({ client }) => {
    const { resources } = await client.listResources();
    assert.ok(resources.some(({ uri, mimeType }) => uri === 'test://static-binary' && mimeType === 'image/png'));
    assert.equal((await client.readResource({ uri: 'test://static-text' })).contents[0].text, 'This is the content of the static text resource.');
    assert.match((await client.readResource({ uri: 'test://static-binary' })).contents[0].blob, /^iVBOR/);
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.ok(resourceTemplates.some(({ uriTemplate }) => uriTemplate === 'test://template/{id}/data'));
    assert.equal(JSON.parse((await client.readResource({ uri: 'test://template/7/data' })).contents[0].text).id, '7');
    await assert.rejects(client.readResource({ uri: 'test://nothing' }), error => [-32002, -32602].includes(error.code) && /nothing/.test(JSON.stringify(error.data) + error.message));
  },
  'gets prompts and completes their arguments': async ({ client }, way, { said }) => {
    const { prompts } = await client.listPrompts();
    const names = prompts.map(prompt => prompt.name);
    assert.ok(names.includes('test_prompt_with_arguments'), names.join());
    const got = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'a', arg2: 'b' } });
    assert.equal(got.messages[0].content.text.trim(), "Prompt with arguments: arg1='a', arg2='b'");
    const embedded = await client.getPrompt({ name: 'test_prompt_with_embedded_resource', arguments: { resourceUri: 'test://x' } });
    assert.deepEqual(embedded.messages.map(({ content }) => content.resource?.uri ?? content.type), ['test://x', 'text']);
    const completed = await client.complete({ ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' }, argument: { name: 'arg1', value: 'test' } });
    assert.deepEqual(completed.completion.values, ['testing', 'tested']);
    said.elicit = () => ({ action: 'accept', content: { context: 'the garden' } });
    assert.match((await client.getPrompt({ name: 'test_input_required_result_prompt' })).messages[0].content.text, /the garden/);
  },
  'logs what the client asked for': async ({ client, logged, notices }, way) => {
    const lines = () => notices.filter(({ method, params }) => method === 'notifications/message' && /Tool (execution|processing)/.test(JSON.stringify(params.data)));
    if (!way.stateless) await client.setLoggingLevel('error');
    await logged('test_tool_with_logging', {}, 'error');
    assert.equal(lines().length, 0);
    if (!way.stateless) await client.setLoggingLevel('info');
    await logged('test_tool_with_logging', {}, 'info');
    await until(() => lines().length === 3);
    assert.deepEqual(lines().map(({ params }) => params.level), ['info', 'info', 'info']);
  },
  'tells of what changes': async ({ client, call, notices }, way, { dir }) => {
    const has = method => notices.some(notice => notice.method === method);
    let listening;
    if (way.stateless) listening = await client.listen({ toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['test://watched-resource'] });
    else await client.subscribeResource({ uri: 'test://watched-resource' });
    appendFileSync(join(dir, 'watched.txt'), 'More.\n');
    await until(() => notices.some(({ method, params }) => method === 'notifications/resources/updated' && params.uri === 'test://watched-resource'));
    assert.match((await client.readResource({ uri: 'test://watched-resource' }, { cacheMode: 'refresh' })).contents[0].text, /More/);
    if (!way.stateless) await client.unsubscribeResource({ uri: 'test://watched-resource' });

    add(dir, { '.harness/tools/added.md': tool('return "new"') });
    await until(() => has('notifications/tools/list_changed'));
    assert.ok((await client.listTools(undefined, { cacheMode: 'refresh' })).tools.some(({ name }) => name === 'added'));
    assert.equal(text(await call('added')), 'new');
    await call('test_trigger_prompt_change');
    await until(() => has('notifications/prompts/list_changed'));

    // After an invalid edit the previous version stays in use.
    writeFileSync(join(dir, '.harness/tools/added.md'), '---\nscript: |\n  def run(args)\n---\n');
    await new Promise(resolve => setTimeout(resolve, 300));
    assert.equal(text(await call('added')), 'new');
    await listening?.close();
  },
};

for (const [name, way] of Object.entries(ways)) {
  test(name, async t => {
    const dir = fixture(t), events = join(folder(t), 'events.jsonl');
    add(dir, {
      '.harness/tools/measure.md': tool('return {"length": len(args["text"])}',
        'title: Measures\nparameters:\n  text: { type: string, required: true }\noutput_schema:\n  type: object\n  properties: { length: { type: integer } }\n  required: [length]\n'),
      '.harness/tools/wait_long.md': tool('fs.write("started", "")\nsleep(60)\nfs.write("finished", "")'),
    });
    const said = { asked: [], elicit: null };
    const connection = await connect(t, dir, way, {
      flags: [...(way.http ? ['--no-auth'] : []), '--events', events],
      answers: {
        'elicitation/create': params => (said.asked.push(params), said.elicit(params)),
        'sampling/createMessage': ({ messages }) => ({ role: 'assistant', model: 'test', content: { type: 'text', text: `You said: ${messages[0].content.text}` }, stopReason: 'endTurn' }),
        'roots/list': () => ({ roots: [{ uri: 'file:///somewhere', name: 'Somewhere' }] }),
      },
    });
    for (const [what, feature] of Object.entries(features)) await t.test(what, () => feature(connection, way, { dir, events, said }));
  });
}
