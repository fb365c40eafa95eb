// Resources, prompts, completion, questions to the client, tasks, subscriptions and reloading, with and without sessions, message by message.
import assert from 'node:assert/strict';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tool } from './calls.mjs';
import { add, project } from './harness.mjs';
import { Peer } from './mcp_peer.mjs';

const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const forms = { elicitation: {} };
const name = '{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}';

const files = {
  'harness.md': '---\nresources: [notes.txt, picture.bin, .env, harness.md, gone.txt]\nlimits: { model_result_bytes: 1024 }\n---\n',
  'notes.txt': 'some notes\n',
  'picture.bin': Buffer.from([0, 1, 2, 255]),
  '.env': 'SECRET=1\n',
  'page.md': '# Page\n',
  '.harness/resources/greeting.md': '---\nuri: demo://greeting\ntitle: Greeting\ndescription: says hello\nmime_type: text/plain\ntext: hello\n---\n',
  '.harness/resources/page.md': '---\nuri: demo://page\nfile: page.md\n---\n',
  '.harness/resources/dot.md': '---\nuri: demo://dot\nmime_type: image/png\nblob: AAEC\n---\n',
  '.harness/resources/item.md': '---\nuri_template: demo://item/{id}/data\nmime_type: application/json\nvalues: { id: [alpha, beta, alphabet] }\nscript: |\n' +
    '  def read(uri, params):\n      if params["id"] == "bad":\n          fail("no such item")\n      return {"id": params["id"], "uri": uri}\n---\n',
  '.harness/prompts/review.md': '---\ntitle: Review\ndescription: reviews code\narguments:\n  - { name: language, description: which, required: true, values: [python, php, rust] }\n' +
    '  - { name: style }\n---\nReview this {{language}} code{{#if style}} in {{style}}{{/if}}.\n',
  '.harness/prompts/shown.md': '---\nmessages:\n  - { role: user, image: { data: AAEC, mime_type: image/png } }\n  - { role: user, audio: { file: picture.bin, mime_type: audio/wav } }\n' +
    '  - { role: assistant, resource: demo://greeting }\n  - { role: user, resource: { uri: "x://{{what}}", text: "about {{what}}", mime_type: text/plain } }\n' +
    '  - { role: user, text: "and {{what}}" }\narguments: [{ name: what, required: true }]\n---\n',
  '.harness/tools/hello.md': tool(`cache.set("runs", (cache.get("runs") or 0) + 1)\nr = ask("What is your name?", ${name}, key="user_name")\nif r["action"] != "accept":\n    return r["action"]\nreturn "Hello, " + r["content"]["name"] + " " + str(cache.get("runs"))`),
  '.harness/tools/twice.md': tool(`a = ask("First?", ${name})\nb = ask("Second?", ${name})\nreturn [a["content"]["name"], b["content"]["name"]]`),
  '.harness/tools/many.md': tool(`return ask_all({"who": {"message": "Who?", "schema": ${name}}, "said": {"prompt": "Say it", "max_tokens": 20}, "where": {"roots": True}})`),
  '.harness/tools/sample.md': tool('return complete("What is it?", max_tokens=10)'),
  '.harness/tools/where.md': tool('return roots()'),
  '.harness/tools/danger.md': tool('cache.set("ran", True)\nreturn "done"', 'confirm: true\n'),
  '.harness/tools/ran.md': tool('return cache.get("ran")'),
  '.harness/tools/step.md': tool('progress(1, 2, "half")\nlog.warn("careful")\nreturn 1'),
  '.harness/tools/long.md': tool('return "x" * 5000'),
  '.harness/tools/slow.md': tool('progress(1, message="under way")\nsleep(args["seconds"])\nreturn "slept"', 'async: true\nparameters:\n  seconds: { type: number, required: true }\n'),
  '.harness/tools/wrong.md': tool('fail("it went wrong")', 'async: required\n'),
  '.harness/tools/absent.md': '---\nasync: true\n---\nnothing behind it\n',
  '.harness/tools/both.md': tool(`r = ask_all({"one": {"message": "One?", "schema": ${name}}, "two": {"message": "Two?", "schema": ${name}}})\nreturn r["one"]["content"]["name"] + r["two"]["content"]["name"]`, 'async: true\n'),
  '.harness/tools/named.md': tool('return "task for " + args["name"]', 'async: required\nparameters:\n  name: { type: string }\n'),
  '.harness/hooks/named.md': '---\nevent: tool.pre\nwhen: payload["name"] == "named"\ntimeout_ms: 60000\nscript: |\n  def handle(event, payload):\n' +
    `      r = ask("Your name?", ${name})\n      payload["args"]["name"] = r["content"]["name"]\n      return modify(payload)\n---\n`,
};

const text = r => r.result.content[0].text;
const call = (p, tool, args = {}) => p.request('tools/call', { name: tool, arguments: args });

test('resources: listed, read, and nothing hidden from clients', async t => {
  const dir = project(t, files), p = new Peer(t, dir);
  const { capabilities } = await p.hello();
  assert.ok(capabilities.resources.subscribe && capabilities.prompts && capabilities.completions);
  const { resources } = (await p.request('resources/list', {})).result;
  assert.deepEqual(resources.map(r => r.uri), ['demo://dot', 'demo://greeting', 'demo://page', `file://${dir}/notes.txt`, `file://${dir}/picture.bin`]);
  assert.deepEqual(resources[1], { uri: 'demo://greeting', name: 'greeting', title: 'Greeting', description: 'says hello', mimeType: 'text/plain' });
  const templates = (await p.request('resources/templates/list', {})).result.resourceTemplates;
  assert.deepEqual(templates.map(r => r.uriTemplate), ['demo://item/{id}/data', 'artifact://{run}/{key}']);
  const read = async uri => (await p.request('resources/read', { uri })).result?.contents[0];
  assert.deepEqual(await read('demo://greeting'), { uri: 'demo://greeting', mimeType: 'text/plain', text: 'hello' });
  assert.deepEqual(await read('demo://page'), { uri: 'demo://page', mimeType: 'text/markdown', text: '# Page\n' });
  assert.deepEqual(await read('demo://dot'), { uri: 'demo://dot', mimeType: 'image/png', blob: 'AAEC' });
  assert.deepEqual(await read(`file://${dir}/notes.txt`), { uri: `file://${dir}/notes.txt`, mimeType: 'text/plain', text: 'some notes\n' });
  assert.equal((await read(`file://${dir}/picture.bin`)).blob, 'AAEC/w==');
  assert.deepEqual(JSON.parse((await read('demo://item/a%20b/data')).text), { id: 'a b', uri: 'demo://item/a%20b/data' });
  for (const uri of [`file://${dir}/.env`, `file://${dir}/harness.md`, `file://${dir}/gone.txt`, `file://${dir}/page.md`, 'file:///etc/passwd', 'demo://item//data', 'demo://none',
    'artifact://x/y', 'resource:item']) {
    const { error } = await p.request('resources/read', { uri });
    assert.deepEqual([error.code, error.data], [-32002, { uri }], uri);
    const later = await p.ask('resources/read', { uri });
    assert.deepEqual([later.error.code, later.error.data], [-32602, { uri }], uri);
  }
  assert.match((await p.request('resources/read', { uri: 'demo://item/bad/data' })).error.message, /no such item/);
  // The script behind a resource is not a tool.
  assert.equal((await call(p, 'resource:item', { uri: 'demo://item/1/data', params: {} })).error.code, -32602);
  assert.ok(!(await p.request('tools/list', {})).result.tools.some(x => x.name.includes('resource')));
  await p.end();
});

test('the rest of a cut result can be read by the client that got it', async t => {
  const dir = project(t, files), p = new Peer(t, dir), q = new Peer(t, dir);
  await p.hello();
  await q.hello();
  const link = (await call(p, 'long')).result.content.find(c => c.type === 'resource_link');
  assert.equal((await p.request('resources/read', { uri: link.uri })).result.contents[0].text.length, 5000);
  assert.equal((await q.request('resources/read', { uri: link.uri })).error.code, -32002);
});

test('prompts: listed, filled in, and completed by questions', async t => {
  const p = new Peer(t, project(t, files));
  await p.hello();
  const { prompts } = (await p.request('prompts/list', {})).result;
  assert.deepEqual(prompts[0], { name: 'review', title: 'Review', description: 'reviews code',
    arguments: [{ name: 'language', description: 'which', required: true }, { name: 'style', required: false }] });
  const get = params => p.request('prompts/get', params);
  const filled = (await get({ name: 'review', arguments: { language: 'rust', style: 'haste' } })).result;
  assert.deepEqual(filled, { description: 'reviews code', messages: [{ role: 'user', content: { type: 'text', text: 'Review this rust code in haste.' } }] });
  for (const [params, message] of [[{ name: 'review' }, /needs the argument "language"/], [{ name: 'none' }, /Unknown prompt/], [{}, /name/],
    [{ name: 'review', arguments: { language: 1 } }, /must be a string/], [{ name: 'review', arguments: { language: 'c', x: 'y' } }, /no argument "x"/]]) {
    const { error } = await get(params);
    assert.equal(error.code, -32602);
    assert.match(error.message, message);
  }
  const shown = (await get({ name: 'shown', arguments: { what: 'cats' } })).result.messages.map(m => m.content);
  assert.deepEqual(shown, [{ type: 'image', data: 'AAEC', mimeType: 'image/png' }, { type: 'audio', data: 'AAEC/w==', mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'demo://greeting', mimeType: 'text/plain', text: 'hello' } },
    { type: 'resource', resource: { uri: 'x://cats', mimeType: 'text/plain', text: 'about cats' } }, { type: 'text', text: 'and cats' }]);
  // A missing argument is requested from a client that can answer.
  const asked = (await p.ask('prompts/get', { name: 'review' }, forms)).result;
  assert.equal(asked.resultType, 'input_required');
  const [[key, request]] = Object.entries(asked.inputRequests);
  assert.deepEqual(request.params.requestedSchema.properties.language.enum, ['python', 'php', 'rust']);
  const again = (await p.ask('prompts/get', { name: 'review', requestState: asked.requestState, inputResponses: { [key]: { action: 'accept', content: { language: 'php' } } } }, forms)).result;
  assert.equal(again.messages[0].content.text, 'Review this php code.');
  const declined = (await p.ask('prompts/get', { name: 'review' }, forms)).result;
  const no = await p.ask('prompts/get', { name: 'review', requestState: declined.requestState, inputResponses: { [key]: { action: 'decline' } } }, forms);
  assert.equal(no.error.code, -32602);
  await p.end();
});

test('completion', async t => {
  const p = new Peer(t, project(t, files));
  await p.hello();
  const complete = async (ref, name, value) => (await p.request('completion/complete', { ref, argument: { name, value } }));
  const prompt = { type: 'ref/prompt', name: 'review' }, item = { type: 'ref/resource', uri: 'demo://item/{id}/data' };
  assert.deepEqual((await complete(prompt, 'language', 'P')).result.completion, { values: ['python', 'php'], total: 2, hasMore: false });
  assert.deepEqual((await complete(item, 'id', 'bet')).result.completion.values, ['beta', 'alphabet']);
  assert.deepEqual((await complete(prompt, 'style', '')).result.completion.values, []);
  for (const [ref, name] of [[{ type: 'ref/prompt', name: 'none' }, 'x'], [prompt, 'x'], [item, 'x'], [{ type: 'ref/other' }, 'x'], [{ type: 'ref/resource', uri: 'x:y' }, 'z']])
    assert.equal((await complete(ref, name, '')).error.code, -32602);
});

test('with sessions the client is asked while it waits', async t => {
  let next = { action: 'accept', content: { name: 'Ada' } };
  const p = new Peer(t, project(t, files), { answer: method => method === 'sampling/createMessage' ? { role: 'assistant', content: { type: 'text', text: 'a reply' }, model: 'm' }
    : method === 'roots/list' ? { roots: [{ uri: 'file:///there', name: 'There' }] } : next });
  await p.hello({ elicitation: {}, sampling: {}, roots: {} });
  assert.equal(text(await call(p, 'hello')), 'Hello, Ada 1');
  assert.deepEqual(p.asked[0].params, { message: 'What is your name?', requestedSchema: JSON.parse(name) });
  next = { action: 'decline' };
  assert.equal(text(await call(p, 'hello')), 'decline');
  next = { action: 'accept', content: { name: 7 } };
  const wrong = await call(p, 'hello');
  assert.ok(wrong.result.isError && /elicitation\/create/.test(text(wrong)), text(wrong));
  next = new Error('not now');
  assert.equal(text(await call(p, 'hello')), 'cancel');
  assert.equal(text(await call(p, 'sample')), 'a reply');
  assert.deepEqual(p.asked.at(-1).params, { messages: [{ role: 'user', content: { type: 'text', text: 'What is it?' } }], maxTokens: 10 });
  assert.deepEqual(JSON.parse(text(await call(p, 'where'))), [{ uri: 'file:///there', name: 'There' }]);
  next = { action: 'accept', content: { name: 'Eve' } };
  assert.deepEqual(JSON.parse(text(await call(p, 'many'))), { who: { action: 'accept', content: { name: 'Eve' } }, said: 'a reply', where: [{ uri: 'file:///there', name: 'There' }] });
  await p.request('tools/call', { name: 'step', arguments: {}, _meta: { progressToken: 'tok' } });
  assert.deepEqual(p.seen.find(m => m.method === 'notifications/progress').params, { progressToken: 'tok', progress: 1, total: 2, message: 'half' });
  assert.equal(p.seen.find(m => m.method === 'notifications/message').params.data, 'careful');
  await p.end();
});

test('a client that cannot be asked', async t => {
  const dir = project(t, files), p = new Peer(t, dir);
  await p.hello();
  assert.equal(text(await call(p, 'hello')), 'cancel');
  assert.deepEqual(JSON.parse(text(await call(p, 'where'))), [{ uri: `file://${dir}`, name: dir.split('/').pop() }]);
  const sample = await call(p, 'sample');
  assert.ok(sample.error || sample.result.isError);
  const refused = await call(p, 'danger');
  assert.ok(refused.result.isError && /no user is present/.test(text(refused)));
  assert.equal(text(await call(p, 'ran')), 'null');
  assert.deepEqual(p.asked, []);
  // A stateless client learns which capability it lacks.
  const { error } = await p.ask('tools/call', { name: 'sample', arguments: {} });
  assert.deepEqual([error.code, error.data], [-32021, { requiredCapabilities: { sampling: {} } }]);
  const many = (await p.ask('tools/call', { name: 'many', arguments: {} }, { roots: {} })).result;
  assert.deepEqual(Object.keys(many.inputRequests), ['where']);
});

test('confirmation by elicitation', async t => {
  let answer = 'no';
  const p = new Peer(t, project(t, files), { answer: () => ({ action: 'accept', content: { answer } }) });
  await p.hello(forms);
  const refused = await call(p, 'danger');
  assert.ok(refused.result.isError && /the user declined danger/.test(text(refused)));
  assert.equal(text(await call(p, 'ran')), 'null');
  assert.match(p.asked[0].params.message, /^allow danger\? \(/);
  answer = 'yes';
  assert.equal(text(await call(p, 'danger')), 'done');
  assert.equal(p.asked.length, 2);
  answer = 'tool';
  await call(p, 'danger');
  await call(p, 'danger');
  assert.equal(p.asked.length, 3);
  p.answer = () => ({ action: 'decline' });
  const q = new Peer(t, project(t, files), { answer: () => ({ action: 'decline' }) });
  await q.hello(forms);
  assert.ok((await call(q, 'danger')).result.isError);
  assert.equal(text(await call(q, 'ran')), 'null');
});

test('without sessions a request is parked, and resumes once', async t => {
  const p = new Peer(t, project(t, files));
  const hello = (more, capabilities = forms) => p.ask('tools/call', { name: 'hello', arguments: {}, ...more }, capabilities);
  const first = (await hello()).result;
  assert.equal(first.resultType, 'input_required');
  assert.deepEqual(first.inputRequests, { user_name: { method: 'elicitation/create', params: { message: 'What is your name?', requestedSchema: JSON.parse(name) } } });
  const inputResponses = { user_name: { action: 'accept', content: { name: 'Ada' } } };
  // Modified, of another request, or with a wrong answer: it stays parked.
  for (const bad of [first.requestState + 'x', first.requestState.slice(0, -2) + 'AA', 'x', '', 7]) {
    const { error } = await hello({ inputResponses, requestState: bad });
    assert.equal(error.code, -32602);
  }
  assert.equal((await p.ask('tools/call', { name: 'twice', arguments: {}, inputResponses, requestState: first.requestState }, forms)).error.code, -32602);
  assert.equal((await hello({ arguments: { x: 1 }, inputResponses, requestState: first.requestState })).error.code, -32602);
  assert.equal((await hello({ inputResponses: 5, requestState: first.requestState })).error.code, -32602);
  const again = (await hello({ inputResponses: { user_name: 12345, other: {} }, requestState: first.requestState })).result;
  assert.equal(again.resultType, 'input_required');
  assert.notEqual(again.requestState, first.requestState);
  assert.match((await hello({ inputResponses, requestState: first.requestState })).error.message, /already used/);
  const done = (await hello({ inputResponses, requestState: again.requestState })).result;
  assert.deepEqual([done.resultType, done.content[0].text], ['complete', 'Hello, Ada 1']);
  // It never ran twice, and a used state is invalid.
  assert.match((await hello({ inputResponses, requestState: again.requestState })).error.message, /already used/);
  // Answers may be sent with the first request, too; others are ignored.
  const at_once = (await hello({ inputResponses: { ...inputResponses, more: { action: 'accept' } } })).result;
  assert.equal(at_once.content[0].text, 'Hello, Ada 2');
  assert.equal((await hello({ inputResponses: { user_name: 12345 } })).result.resultType, 'input_required');
  // Two rounds.
  const twice = more => p.ask('tools/call', { name: 'twice', arguments: {}, ...more }, forms);
  let r = (await twice()).result;
  for (const said of ['one', 'two']) {
    const [key] = Object.keys(r.inputRequests);
    r = (await twice({ requestState: r.requestState, inputResponses: { [key]: { action: 'accept', content: { name: said } } } })).result;
  }
  assert.deepEqual(JSON.parse(r.content[0].text), ['one', 'two']);
  // A confirmation cannot be given before the question.
  const danger = more => p.ask('tools/call', { name: 'danger', arguments: {}, ...more }, forms);
  const yes = { 'input-1': { action: 'accept', content: { answer: 'yes' } } };
  const held = (await danger({ inputResponses: yes })).result;
  assert.equal(held.resultType, 'input_required');
  assert.equal((await danger({ inputResponses: yes, requestState: held.requestState })).result.content[0].text, 'done');
  assert.equal((await p.end()).code, 0);
});

test('parked requests are limited, and end with the client', async t => {
  const p = new Peer(t, project(t, files));
  const hello = () => p.ask('tools/call', { name: 'hello', arguments: {} }, forms);
  const all = await Promise.all(Array.from({ length: 70 }, hello));
  const parked = all.filter(r => r.result?.resultType === 'input_required');
  assert.equal(parked.length, 64);
  for (const r of all) if (!parked.includes(r)) assert.ok(r.error || r.result.isError);
  assert.equal((await p.ask('tools/call', { name: 'ran', arguments: {} })).result.isError, false);
  assert.equal((await p.end()).code, 0);
});

const settled = async (p, taskId, get = () => p.ask('tasks/get', { taskId }, { ...tasks, ...forms })) => {
  for (;;) {
    const { result } = await get();
    if (!['working', 'input_required'].includes(result.status)) return result;
    await new Promise(done => setTimeout(done, 20));
  }
};

test('tasks, without sessions', async t => {
  const p = new Peer(t, project(t, files)), all = { ...tasks, ...forms };
  const discovered = (await p.ask('server/discover')).result.capabilities;
  assert.deepEqual(discovered.extensions['io.modelcontextprotocol/tasks'], {});
  assert.equal(discovered.tasks, undefined);
  const start = (name, args = {}) => p.ask('tools/call', { name, arguments: args }, all);
  const made = (await start('slow', { seconds: 0.1 })).result;
  assert.deepEqual([made.resultType, made.status, made.task, made.ttl, made.requestState], ['task', 'working', undefined, undefined, undefined]);
  assert.match(made.createdAt, /^\d{4}-\d\d-\d\dT/);
  const done = await settled(p, made.taskId);
  assert.deepEqual([done.resultType, done.status, done.result.content[0].text, done.result.isError, done.statusMessage], ['complete', 'completed', 'slept', false, 'under way']);
  // A tool's error is a result, a server's is not.
  const wrong = await settled(p, (await start('wrong')).result.taskId);
  assert.deepEqual([wrong.status, wrong.result.isError], ['completed', true]);
  const absent = await settled(p, (await start('absent')).result.taskId);
  assert.deepEqual([absent.status, absent.error.code, absent.result], ['failed', -32603, undefined]);
  // Cancelled: an empty response, also when it has ended.
  const long = (await start('slow', { seconds: 60 })).result.taskId;
  for (let i = 0; i < 2; i++) {
    const { result } = await p.ask('tasks/cancel', { taskId: long }, all);
    assert.deepEqual(Object.keys(result).filter(k => k !== '_meta'), ['resultType']);
    assert.equal((await settled(p, long)).status, 'cancelled');
  }
  // A client without tasks waits, unless the tool requires tasks.
  const waited = (await p.ask('tools/call', { name: 'slow', arguments: { seconds: 0 } })).result;
  assert.deepEqual([waited.resultType, waited.content[0].text], ['complete', 'slept']);
  for (const [method, params] of [['tools/call', { name: 'wrong', arguments: {} }], ['tasks/get', { taskId: long }], ['tasks/update', { taskId: long, inputResponses: {} }],
    ['tasks/cancel', { taskId: long }]]) {
    const { error } = await p.ask(method, params);
    assert.deepEqual([error.code, error.data.requiredCapabilities], [-32021, tasks], method);
  }
  for (const method of ['tasks/get', 'tasks/cancel']) assert.equal((await p.ask(method, { taskId: 'none' }, all)).error.code, -32602);
  for (const method of ['tasks/result', 'tasks/list']) assert.equal((await p.ask(method, { taskId: long }, all)).error.code, -32601);
  // Questions of a task are in its state, each until it is answered.
  const { taskId } = (await start('both')).result;
  let state;
  do state = (await p.ask('tasks/get', { taskId }, all)).result; while (state.status !== 'input_required');
  assert.deepEqual(Object.keys(state.inputRequests), ['one', 'two']);
  const update = inputResponses => p.ask('tasks/update', { taskId, inputResponses }, all);
  assert.equal((await update({ unknown: { ignored: true } })).result.resultType, 'complete');
  assert.equal((await update({ one: { action: 'accept', content: {} } })).error.code, -32602);
  await update({ one: { action: 'accept', content: { name: 'A' } } });
  state = (await p.ask('tasks/get', { taskId }, all)).result;
  assert.deepEqual([state.status, Object.keys(state.inputRequests)], ['input_required', ['two']]);
  await update({ two: { action: 'accept', content: { name: 'B' } } });
  assert.equal((await settled(p, taskId)).result.content[0].text, 'AB');
  // Questions before the work starts belong to the call.
  const asked = (await start('named')).result;
  assert.deepEqual([asked.resultType, asked.taskId], ['input_required', undefined]);
  const [key] = Object.keys(asked.inputRequests);
  const named = (await p.ask('tools/call', { name: 'named', arguments: {}, requestState: asked.requestState,
    inputResponses: { [key]: { action: 'accept', content: { name: 'Alice' } } } }, all)).result;
  assert.equal(named.resultType, 'task');
  assert.equal((await settled(p, named.taskId)).result.content[0].text, 'task for Alice');
  assert.equal((await p.end()).code, 0);
});

test('tasks of 2025-11-25', async t => {
  const p = new Peer(t, project(t, files), { answer: () => ({ action: 'accept', content: { name: 'Q' } }) });
  const { capabilities } = await p.hello(forms);
  assert.deepEqual(capabilities.tasks, { list: {}, cancel: {}, requests: { tools: { call: {} } } });
  const listed = Object.fromEntries((await p.request('tools/list', {})).result.tools.map(x => [x.name, x.execution?.taskSupport]));
  assert.deepEqual([listed.slow, listed.wrong, listed.hello], ['optional', 'required', undefined]);
  const start = (name, args = {}) => p.request('tools/call', { name, arguments: args, task: { ttl: 60000 } });
  const { task } = (await start('slow', { seconds: 0.1 })).result;
  assert.deepEqual([task.status, task.ttl, task.ttlMs], ['working', 60000, undefined]);
  const { result } = await p.request('tasks/result', { taskId: task.taskId });
  assert.deepEqual([result.content[0].text, result._meta], ['slept', { 'io.modelcontextprotocol/related-task': { taskId: task.taskId } }]);
  assert.equal((await p.request('tasks/get', { taskId: task.taskId })).result.status, 'completed');
  assert.deepEqual((await p.request('tasks/list', {})).result.tasks.map(x => x.taskId), [task.taskId]);
  assert.equal((await p.request('tasks/cancel', { taskId: task.taskId })).error.code, -32602);
  const long = (await start('slow', { seconds: 60 })).result.task.taskId;
  assert.equal((await p.request('tasks/cancel', { taskId: long })).result.status, 'cancelled');
  await p.until(m => m.method === 'notifications/tasks/status' && m.params.taskId === task.taskId && m.params.status === 'completed');
  assert.equal((await start('hello')).error.code, -32601);
  assert.equal((await call(p, 'wrong')).error.code, -32601);
  const both = (await start('both')).result.task.taskId;
  const answers = await p.request('tasks/result', { taskId: both });
  assert.equal(answers.result?.content?.[0]?.text, 'QQ', JSON.stringify(answers));
  assert.deepEqual(p.asked[0].params._meta, { 'io.modelcontextprotocol/related-task': { taskId: both } });
  const old = new Peer(t, project(t, files));
  await old.hello({}, '2025-06-18');
  assert.equal((await old.request('tasks/get', { taskId: 'x' })).error.code, -32601);
  assert.equal(text(await call(old, 'slow', { seconds: 0 })), 'slept');
});

test('changed files: reloaded, subscribers notified, and never a broken version', async t => {
  const dir = project(t, files), p = new Peer(t, dir, { answer: () => ({ action: 'accept', content: { answer: 'tool' } }) });
  await p.hello(forms);
  await p.request('resources/subscribe', { uri: `file://${dir}/notes.txt` });
  assert.equal((await p.request('resources/subscribe', { uri: 'demo://none' })).error.code, -32002);
  const { id } = { id: 'listen-1' };
  p.request('subscriptions/listen', { notifications: { toolsListChanged: true, promptsListChanged: false, resourceSubscriptions: ['demo://page', 'demo://none'] },
    _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {} } }, id);
  const ack = await p.until(m => m.method === 'notifications/subscriptions/acknowledged');
  assert.deepEqual(ack.params, { _meta: { 'io.modelcontextprotocol/subscriptionId': id }, notifications: { toolsListChanged: true, resourceSubscriptions: ['demo://page'] } });
  const listed = m => m.params?._meta?.['io.modelcontextprotocol/subscriptionId'] === id;
  await call(p, 'danger');                               // approved permanently, and remembered in the cache
  const slow = p.request('tools/call', { name: 'slow', arguments: { seconds: 1.5 } });
  // A broken edit changes nothing …
  writeFileSync(join(dir, '.harness/tools/step.md'), '---\nscript: |\n  def run(args:\n---\n');
  for (let i = 0; !/previously loaded version stays in use/.test(p.errors); i++) {
    assert.ok(i < 3000, `no reload was tried: ${p.errors}`);
    await new Promise(done => setTimeout(done, 20));
  }
  assert.match(p.errors, /step\.md:3:15/);
  assert.equal(text(await call(p, 'step')), '1');
  // … a valid one does, for later requests.
  add(dir, { '.harness/tools/step.md': tool('return 2'), '.harness/tools/fresh.md': tool('return "fresh"') });
  await p.until(m => m.method === 'notifications/tools/list_changed' && !m.params._meta);
  await p.until(m => m.method === 'notifications/tools/list_changed' && listed(m));
  assert.ok(!p.seen.some(m => m.method === 'notifications/prompts/list_changed' && listed(m)));
  assert.ok((await p.request('tools/list', {})).result.tools.some(x => x.name === 'fresh'));
  assert.equal(text(await call(p, 'fresh')), 'fresh');
  assert.equal(text(await call(p, 'step')), '2');
  assert.equal(text(await call(p, 'ran')), 'true');
  const asked = p.asked.length;
  assert.equal(text(await call(p, 'danger')), 'done');
  assert.equal(p.asked.length, asked);
  assert.equal(text(await slow), 'slept');
  // Files that are read, not loaded.
  writeFileSync(join(dir, 'notes.txt'), 'new notes\n');
  const updated = await p.until(m => m.method === 'notifications/resources/updated');
  assert.deepEqual(updated.params, { uri: `file://${dir}/notes.txt` });
  writeFileSync(join(dir, 'page.md'), '# New\n');
  await p.until(m => m.method === 'notifications/resources/updated' && listed(m) && m.params.uri === 'demo://page');
  assert.equal((await p.request('resources/read', { uri: 'demo://page' })).result.contents[0].text, '# New\n');
  // A stream closed by the client gets nothing more; the others are notified of the end.
  p.notify('notifications/cancelled', { requestId: id });
  const last = p.ask('subscriptions/listen', { notifications: {} });
  await p.request('resources/unsubscribe', { uri: `file://${dir}/notes.txt` });
  assert.equal((await p.end()).code, 0);
  assert.deepEqual(Object.keys((await last).result), ['resultType', '_meta']);
});

// The next edit comes while the server is still busy with the one before.
test('an edit right after a reload is not lost', async t => {
  const dir = project(t, files), p = new Peer(t, dir), broken = /previously loaded version stays in use/g;
  await p.hello();
  for (let round = 1; round <= 25; round++) {
    writeFileSync(join(dir, '.harness/tools/step.md'), `---\nscript: |\n  def run(args: ${round}\n---\n`);
    for (let i = 0; (p.errors.match(broken) ?? []).length < round; i++) {
      assert.ok(i < 20000, `round ${round}: no reload was tried`);
      await new Promise(done => setTimeout(done, 1));
    }
    writeFileSync(join(dir, '.harness/tools/step.md'), tool(`return ${round}`));
    for (let i = 0; text(await call(p, 'step')) !== `${round}`; i++) {
      assert.ok(i < 500, `round ${round}: the edit was lost`);
      await new Promise(done => setTimeout(done, 20));
    }
  }
});

test('a call cannot trigger a reload of the project', async t => {
  const change = 'r = exec.run("/bin/sh", ["-c", "cp .harness/tools/ran.md .harness/tools/sneaky.md; sleep 0.4"])\nreturn r["exit_code"]';
  const dir = project(t, { ...files, '.harness/tools/change.md': tool(change) }), p = new Peer(t, dir);
  await p.hello();
  await call(p, 'change');                               // refused, or detected and restored
  await new Promise(done => setTimeout(done, 500));
  assert.ok(!(await p.request('tools/list', {})).result.tools.some(x => x.name === 'sneaky'));
});

test('skills are resources', async t => {
  const skill = (name, more = '') => `---\nname: ${name}\ndescription: Counts.\n${more}---\nHow to count.\n`;
  const dir = project(t, { 'secret.txt': 'x', '.harness/skills/count/SKILL.md': skill('count', 'metadata: { version: "1" }\n'), '.harness/skills/count/notes/a b.md': 'notes',
    '.harness/skills/count/.hidden': 'h', '.harness/skills/count/.env': 'SECRET=1', '.harness/skills/other/SKILL.md': skill('another'), '.harness/skills/empty/x.txt': '' });
  symlinkSync('../../../secret.txt', join(dir, '.harness/skills/count/link.txt'));
  const p = new Peer(t, dir);
  const ask = async (method, params) => { const r = await p.ask(method, params); return r.result ?? r.error; };
  const { skills } = await ask('skills/list');
  assert.deepEqual(skills.map(s => s.uri), ['skill://count/SKILL.md']);
  assert.deepEqual(skills[0].frontmatter, { name: 'count', description: 'Counts.', metadata: { version: '1' } });
  assert.deepEqual(skills[0].resources.map(r => [r.uri, r.size]), [['skill://count/SKILL.md', 82], ['skill://count/notes/a%20b.md', 5]]);
  assert.match(skills[0].resources[1].digest, /^sha256:[0-9a-f]{64}$/);
  assert.deepEqual((await ask('skills/get', { uri: 'skill://count/SKILL.md' })).skill, skills[0]);
  assert.match(p.errors, /other\/SKILL\.md: name must be that of its folder/);
  const listed = (await ask('resources/list')).resources;
  assert.deepEqual(listed, [{ uri: 'skill://count/SKILL.md', name: 'count', description: 'Counts.', mimeType: 'text/markdown' }]);
  assert.deepEqual((await ask('resources/read', { uri: 'skill://count/notes/a%20b.md' })).contents[0], { uri: 'skill://count/notes/a%20b.md', mimeType: 'text/markdown', text: 'notes' });
  assert.deepEqual((await ask('resources/directory/read', { uri: 'skill://count' })).resources, [{ uri: 'skill://count/SKILL.md', name: 'SKILL.md', mimeType: 'text/markdown' },
    { uri: 'skill://count/notes', name: 'notes', mimeType: 'inode/directory' }]);
  for (const path of ['count/link.txt', 'count/.env', 'count/.hidden', 'count/../count/SKILL.md', 'count/%2e%2e/%2e%2e/tools', 'count//SKILL.md', 'count/notes', 'count', 'other/SKILL.md',
    'empty/x.txt', '../count/SKILL.md', 'count/%00', 'count/%'])
    assert.equal((await ask('resources/read', { uri: `skill://${path}` })).code, -32602, path);
  for (const path of ['count/SKILL.md', 'none', 'other', 'count/..']) assert.equal((await ask('resources/directory/read', { uri: `skill://${path}` })).code, -32602, path);
  for (const path of ['none/SKILL.md', 'count', 'count/notes/a%20b.md']) assert.equal((await ask('skills/get', { uri: `skill://${path}` })).code, -32602, path);
});
