// Images and PDFs: from files, tools and MCP servers, on every wire; models that do not take them; hooks, resume, redaction, replay.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { effect, scripted, talker } from './agents.mjs';
import { hook, tool } from './calls.mjs';
import { root } from './harness.mjs';
import { begin, block, chunk, close, completed, killed, message, open, responses, said, words } from './model_streams.mjs';

const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
const pdf = Buffer.from('%PDF-1.4\n1 0 obj << >> endobj\n%%EOF\n');
const b64 = bytes => bytes.toString('base64');
const sha = bytes => createHash('sha256').update(bytes).digest('hex');
const url = (mime, bytes) => `data:${mime};base64,${b64(bytes)}`;
const shown = [{ type: 'image', mime: 'image/png', bytes: png.length, sha256: sha(png) }, { type: 'file', mime: 'application/pdf', name: 'a.pdf', bytes: pdf.length, sha256: sha(pdf) }];

function put(p, files = { 'a.png': png, 'a.pdf': pdf }) {
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(p.dir, name), bytes);
  return p;
}
const attach = p => ['--file', join(p.dir, 'a.png'), '--file', join(p.dir, 'a.pdf')];

// ---- what each wire says of them ----

const wires = {
  responses: {
    text: text => responses(message(text)), call: (name, args) => responses({ id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'call_1', name, arguments: JSON.stringify(args) }),
    user: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go' }, { type: 'input_image', detail: 'auto', image_url: url('image/png', png) },
      { type: 'input_file', filename: 'a.pdf', file_data: url('application/pdf', pdf) }] }],
    messages: body => body.input,
    result: (text, ...media) => ({ type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_text', text }, ...media] }),
    image: { type: 'input_image', detail: 'auto', image_url: url('image/png', png) }, file: { type: 'input_file', filename: 'a.pdf', file_data: url('application/pdf', pdf) },
    results: body => body.input.slice(2),
  },
  chat: {
    text: text => said(chunk({ content: text }), chunk({}, { finish_reason: 'stop' }), 'data: [DONE]\n\n'),
    call: (name, args) => said(chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(args) } }] }), chunk({}, { finish_reason: 'tool_calls' }), 'data: [DONE]\n\n'),
    user: [{ role: 'user', content: [{ type: 'text', text: 'go' }, { type: 'image_url', image_url: { url: url('image/png', png) } }, { type: 'file', file: { filename: 'a.pdf', file_data: url('application/pdf', pdf) } }] }],
    messages: body => body.messages.slice(1),
    image: { type: 'image_url', image_url: { url: url('image/png', png) } }, file: { type: 'file', file: { filename: 'a.pdf', file_data: url('application/pdf', pdf) } },
    results: body => body.messages.slice(3),
  },
  anthropic: {
    text: text => said(begin, words(0, text), close('end_turn')),
    call: (name, args) => said(begin, block(0, { type: 'tool_use', id: 'call_1', name, input: {} }, { type: 'input_json_delta', partial_json: JSON.stringify(args) }), close('tool_use')),
    user: [{ role: 'user', content: [{ type: 'text', text: 'go' }, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: b64(png) } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: b64(pdf) }, cache_control: { type: 'ephemeral' } }] }],
    messages: body => body.messages,
    image: { type: 'image', source: { type: 'base64', media_type: 'image/png', data: b64(png) } }, file: { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: b64(pdf) } },
    results: body => body.messages.slice(2),
  },
};
const options = wire => wire === 'anthropic' ? { model: { input: '[image, pdf]', effort: 'none' } } : { model: { input: '[image, pdf]' } };
const builtin = 'builtin_tools: [read]';
// What a wire sends of the results: the text and the media of each.
function sent(wire, body, text, ...media) {
  const w = wires[wire];
  if (wire === 'responses') return assert.deepEqual(w.results(body), [w.result(text, ...media)]);
  if (wire === 'chat')
    return assert.deepEqual(w.results(body), [{ role: 'tool', content: text, tool_call_id: 'call_1' }, { role: 'user', content: [{ type: 'text', text: '[from the result of call call_1]' }, ...media] }]);
  assert.deepEqual(w.results(body), [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text }, ...media], cache_control: { type: 'ephemeral' } }] }]);
}

for (const [wire, w] of Object.entries(wires)) {
  test(`${wire}: --file sends an image and a PDF, in order; the journal names them and does not repeat them`, async t => {
    const p = put(await open(t, wire, [w.text('seen')], options(wire)));
    completed(await p.say('go', attach(p)), 'seen');
    assert.deepEqual(w.messages(p.bodies()[0]), w.user);
    assert.deepEqual(p.events('turn.started')[0].data.media, shown);
    assert.doesNotMatch(JSON.stringify([p.events(), await p.show(p.events()[0].run)]), new RegExp(b64(png).slice(0, 40).replaceAll('+', '\\+')));
  });

  test(`${wire}: the tool read gives the model an image and a PDF`, async t => {
    for (const [name, bytes, mime, part, kind] of [['a.png', png, 'image/png', w.image, 'image'], ['a.pdf', pdf, 'application/pdf', w.file, 'resource']]) {
      const p = put(await open(t, wire, [w.call('read', { path: name }), w.text('seen')], { ...options(wire), head: builtin }));
      completed(await p.say('go'), 'seen');
      sent(wire, p.bodies()[1], `${name}: ${mime}, ${bytes.length} bytes\n[${kind}]`, part);
      assert.equal(p.events('tool.completed')[0].data.media[0].sha256, sha(bytes));
    }
  });

  test(`${wire}: a model that takes neither gets a line for each`, async t => {
    const p = put(await open(t, wire, [w.text('seen')], { model: { input: '[]' } }));
    completed(await p.say('go', attach(p)), 'seen');
    const text = JSON.stringify(w.messages(p.bodies()[0]));
    assert.ok(text.includes(`[image/png, ${png.length} bytes, not sent: this model takes no images]`), text);
    assert.ok(text.includes(`[application/pdf, ${pdf.length} bytes, not sent: this model takes no PDFs]`), text);
    assert.doesNotMatch(text, /base64/);
  });

  test(`${wire}: a run that was killed resumes and sends the same bytes, with its images`, async t => {
    const files = { '.harness/tools/snap.md': tool(`return [content.text("look"), content.image("${b64(png)}", "image/png")]`) };
    const p = await killed(t, wire, [w.call('snap', {}), w.text('done')], { ...options(wire), files, head: '' }, ['--file', `${join(root, 'tests/e2e/fixtures/one.png')}`]);
    const { reply, stdout, stderr } = await p.resume(p.events()[0].run);
    assert.equal(reply?.response, 'done', stdout + stderr);
    const [, before, after] = p.bodies();
    assert.deepEqual(after, before);
    assert.equal(JSON.stringify(after).split(b64(png)).length, 3, 'the file and the result');
  });
}

test('by default servers of one\'s own get no media on the chat wire; those of the vendors do', async t => {
  for (const [wire, count] of [['chat', 0], ['gemini', 1], ['responses', 2], ['anthropic', 2]]) {
    const w = wires[wire === 'gemini' ? 'chat' : wire];
    const p = put(await open(t, wire, [w.text('seen')]));
    completed(await p.say('go', attach(p)), 'seen');
    const text = JSON.stringify(p.bodies()[0]);
    assert.equal([png, pdf].filter(bytes => text.includes(b64(bytes))).length, count, wire);
  }
});

// ---- what is refused ----

test('--file: what models do not take is refused before anything starts', async t => {
  const p = put(await open(t, 'responses', [wires.responses.text('seen')]), { 'a.txt': Buffer.from('hello'), 'empty.png': Buffer.alloc(0), 'big.png': Buffer.concat([png, Buffer.alloc(4 << 20)]) });
  for (const [name, why, status] of [['a.txt', /a\.txt is not a PNG, JPEG, GIF or WebP image, nor a PDF/, 2], ['empty.png', /is not a PNG/, 2], ['none.png', /none\.png/, 2], ['big.png', /4194374 bytes; at most 3932160 are sent/, 1]]) {
    const r = await p.say('go', ['--file', join(p.dir, name)]);
    assert.equal(r.status, status, r.stderr);
    assert.match(r.stdout + r.stderr, why);
  }
  assert.equal(p.requests.length, 0);
});

test('results: what models do not take is a line that says why; the turn goes on', async t => {
  const rows = [
    [`content.image("${b64(Buffer.from('BM....'))}", "image/bmp")`, /\[image that models do not get: models take PNG, JPEG, GIF and WebP images and PDFs, not image\/bmp\]/],
    ['content.image("AAAA", "image/png")', /\[image that models do not get: the data is of another type, not image\/png\]/],
    [`content.image("${b64(png)}", "image/jpeg")`, /the data is image\/png, not image\/jpeg/],
    ['content.image(bytes([137, 80, 78, 71, 13, 10, 26, 10]) + bytes([0]) * 4000000, "image/png")', /it has 4000008 bytes; at most 3932160 are sent/],
    [`content.audio("AAAA", "audio/wav")`, /\[audio that models do not get: .*not audio\/wav\]/],
  ];
  for (const [value, why] of rows) {
    const p = await open(t, 'responses', [wires.responses.call('snap', {}), wires.responses.text('seen')], { files: { '.harness/tools/snap.md': tool(`return ${value}`) } });
    completed(await p.say('go'), 'seen');
    assert.match(p.bodies()[1].input.at(-1).output, why);
    assert.equal(p.events('tool.completed')[0].data.media, undefined);
  }
});

test('an image that holds a secret is not sent, and not kept', async t => {
  const secret = Buffer.concat([png, Buffer.from('hunter2hunter2hunter2')]);
  const p = await open(t, 'responses', [wires.responses.call('snap', {}), wires.responses.text('seen')],
    { files: { '.harness/tools/snap.md': tool(`return content.image("${b64(secret)}", "image/png")`) }, env: { MY_SECRET: 'hunter2hunter2hunter2' }, head: 'secrets: { PASS: { env: MY_SECRET } }' });
  completed(await p.say('go'), 'seen');
  const last = p.bodies()[1].input.at(-1).output;
  assert.match(last, /^\[image that models do not get: /);
  assert.equal(p.events('tool.completed')[0].data.media, undefined);
});

test('too much in one request: the oldest are left out', async t => {
  const big = n => Buffer.concat([pdf, Buffer.alloc(14 << 20, n)]);
  const p = put(await open(t, 'responses', [wires.responses.text('seen')], { head: 'context: { max_tokens: 9000000 }' }), { '1.pdf': big(1) });
  const script = tool(`return 1`);
  p.add({ '.harness/tools/x.md': script });
  completed(await p.say('one', ['--file', join(p.dir, '1.pdf')]), 'seen');
  const run = p.events()[0].run;
  put(p, { '1.pdf': big(2) });
  const { reply } = await p.resume(run, ['-p', 'two', '--file', join(p.dir, '1.pdf')]);
  assert.equal(reply?.response, 'seen');
  const [, second] = p.bodies();
  assert.match(second.input[0].content[1].text, /^\[application\/pdf, \d+ bytes, not sent: the request would be too large\]$/);
  assert.equal(second.input[2].content[1].type, 'input_file');
});

// ---- hooks ----

const files = body => ({ '.harness/hooks/pre.md': hook('completion.pre', body) });

test('a completion.pre hook sees images without their data, and may take them away', async t => {
  const p = put(await open(t, 'responses', [wires.responses.text('seen')], { files: files(`parts = payload["messages"][-1]["parts"]
if [p["type"] for p in parts] != ["text", "image", "file"] or parts[1] != ${JSON.stringify(shown[0])} or parts[2] != ${JSON.stringify(shown[1])}:
    return block(json.encode(parts))
payload["messages"][-1]["parts"].pop(1)
return modify(payload)`) }));
  completed(await p.say('go', attach(p)), 'seen');
  assert.deepEqual(p.bodies()[0].input, [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go' }, wires.responses.file] }]);
});

test('a completion.pre hook may add an image by its data, and move one by its hash', async t => {
  const p = put(await open(t, 'responses', [wires.responses.text('seen')], { files: files(`m = payload["messages"][-1]
image = m["parts"].pop(1)
m["parts"].insert(0, image)
m["parts"].append({"type": "image", "mime": "image/png", "data": "${b64(png)}"})
return modify(payload)`) }));
  completed(await p.say('go', attach(p)), 'seen');
  assert.deepEqual(p.bodies()[0].input[0].content.map(x => x.type), ['input_image', 'input_text', 'input_file', 'input_image']);
});

test('images that a hook makes up block the turn', async t => {
  for (const [part, why] of [[`{"type": "image", "mime": "image/png", "sha256": "${'0'.repeat(64)}"}`, /message \d: part 4: no message has an image or file with this sha256/],
    ['{"type": "image", "mime": "image/png", "data": "%%%"}', /part 4: not base64/], ['{"type": "image", "mime": "image/png", "data": "AAAA"}', /part 4: the data is of another type/],
    ['{"type": "image", "mime": "text/html", "data": "AAAA"}', /not text\/html/], ['{"type": "file", "data": "AAAA"}', /needs a mime type/]]) {
    const p = put(await open(t, 'responses', [wires.responses.text('seen')], { files: files(`payload["messages"][-1]["parts"].append(${part})\nreturn modify(payload)`) }));
    const r = await p.say('go', attach(p));
    assert.equal(r.reply?.status, 'blocked', r.stdout + r.stderr);
    assert.match(r.reply.reason, why);
    assert.equal(p.requests.length, 0);
  }
});

test('a tool.post hook that changes the result takes its images away', async t => {
  const p = await open(t, 'responses', [wires.responses.call('snap', {}), wires.responses.text('seen')], { files: {
    '.harness/tools/snap.md': tool(`return content.image("${b64(png)}", "image/png")`), '.harness/hooks/h.md': hook('tool.post', 'payload["result"] = "no picture"\nreturn modify(payload)') } });
  completed(await p.say('go'), 'seen');
  assert.equal(p.bodies()[1].input.at(-1).output, 'no picture');
});

// ---- recordings, context, MCP ----

test('a recording holds the hash of an image, and another image is another request', async t => {
  const p = put(talker(t, scripted('def reply(messages, tools):\n    return json.encode(messages[-1]["parts"][1:])\n')));
  const tape = `${p.state}/tape.jsonl`;
  const r = await p.say('go', [...attach(p), '--record', tape]);
  assert.equal(r.status, 0, r.stderr);
  assert.deepEqual(JSON.parse(r.reply.response), shown);
  assert.equal((await p.say('go', [...attach(p), '--replay', tape])).reply.response, r.reply.response);
  put(p, { 'a.png': Buffer.concat([png, Buffer.from('x')]) });
  const other = await p.say('go', [...attach(p), '--replay', tape]);
  assert.match(other.reply.reason, /differs from the recording/);
});

test('an image leaves the context with its round', async t => {
  const files = { '.harness/tools/snap.md': tool(`return content.image("${b64(png)}", "image/png")`), '.harness/tools/effect.md': effect() };
  const call = wires.responses.call;
  const p = await open(t, 'responses', [call('snap', {}), call('snap', {}), call('snap', {}), wires.responses.text('seen')], { files, head: 'context: { max_tokens: 4000 }' });
  completed(await p.say('go'), 'seen');
  const counts = p.bodies().map(b => JSON.stringify(b).split(b64(png)).length - 1);
  assert.deepEqual(counts, [0, 1, 2, 1]);
});

test('the image of an MCP server reaches the model', async t => {
  const peer = `import json, sys
content = [{"type": "text", "text": "look"}, {"type": "image", "data": "${b64(png)}", "mimeType": "image/png"},
           {"type": "resource", "resource": {"uri": "file:///x/a.pdf", "mimeType": "application/pdf", "blob": "${b64(pdf)}"}}]
answers = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}},
           "tools/list": {"tools": [{"name": "snap", "inputSchema": {"type": "object"}}]}, "tools/call": {"content": content}}
for line in sys.stdin:
    m = json.loads(line)
    if "id" in m:
        result = answers.get(m["method"])
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **({"result": result} if result else {"error": {"code": -32601, "message": "no"}})}), flush=True)
`;
  const p = await open(t, 'responses', [(response, body) => wires.responses.call(body.tools.find(x => /snap/.test(x.name)).name, {})(response), wires.responses.text('seen')],
    { files: { 'peer.py': peer }, head: 'mcp_servers: { s: { command: python3, args: [peer.py] } }' });
  completed(await p.say('go', ['--yes']), 'seen');
  assert.deepEqual(p.bodies()[1].input.at(-1).output.slice(1), [wires.responses.image, wires.responses.file]);
});
