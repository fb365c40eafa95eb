// Every message that our server sends is valid by the official JSON Schema of the version that was negotiated: a tour of all features in each
// version, over stdio and HTTP, through an SDK client that offers everything and one that offers nothing.
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fixture } from './mcp_serve.mjs';
import { faults } from './mcp_schema.mjs';
import { connect, until, ways } from './mcp_sdk.mjs';

const versions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];

const answers = {
  'elicitation/create': ({ message }) => ({ action: 'accept', content: /Step 1|name/.test(message) ? { name: 'Ada' } : { color: 'green', context: 'x', ok: true, confirm: true } }),
  'sampling/createMessage': () => ({ role: 'assistant', model: 'test', content: { type: 'text', text: 'Hello' }, stopReason: 'endTurn' }),
  'roots/list': () => ({ roots: [{ uri: 'file:///somewhere', name: 'Somewhere' }] }),
};

// Every request, including failing ones. The results do not matter here.
async function tour({ client, call, logged, notices }, version, dir) {
  const stateless = version === '2026-07-28';
  const asked = [
    client.listTools(), client.listResources(), client.listResourceTemplates(), client.listPrompts(),
    ...['test_simple_text', 'test_image_content', 'test_audio_content', 'test_embedded_resource', 'test_multiple_content_types', 'test_error_handling',
      'test_elicitation_sep1034_defaults', 'test_elicitation_sep1330_enums', 'test_input_required_result_elicitation', 'test_input_required_result_sampling',
      'test_input_required_result_list_roots', 'test_input_required_result_multiple_inputs', 'test_input_required_result_multi_round',
      'test_missing_capability', 'no_such_tool'].map(name => call(name)),
    call('greet', { name: 'Ada' }), call('greet', { name: 5 }), call('test_sampling', { prompt: 'Hello' }), call('slow_compute', { seconds: 0 }),
    call('test_tool_with_progress', {}, { onprogress: () => {} }),
    call('slow_compute', { seconds: 30 }, { signal: AbortSignal.timeout(200) }),
    logged('test_tool_with_logging', {}, 'debug'),
    ...['test://static-text', 'test://static-binary', 'test://template/7/data', 'test://nothing', 'skill://word-count/SKILL.md'].map(uri => client.readResource({ uri })),
    ...['test_simple_prompt', 'test_prompt_with_image', 'test_input_required_result_prompt', 'no_such_prompt'].map(name => client.getPrompt({ name })),
    client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'a', arg2: 'b' } }),
    client.getPrompt({ name: 'test_prompt_with_embedded_resource', arguments: { resourceUri: 'test://x' } }),
    client.complete({ ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' }, argument: { name: 'arg1', value: 'test' } }),
    client.complete({ ref: { type: 'ref/prompt', name: 'no_such_prompt' }, argument: { name: 'arg1', value: 'test' } }),
    stateless ? client.listen({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true, resourceSubscriptions: ['test://watched-resource'] })
      : client.subscribeResource({ uri: 'test://watched-resource' }),
  ];
  if (!stateless) asked.push(client.ping(), client.setLoggingLevel('debug'));
  await Promise.allSettled(asked);
  appendFileSync(join(dir, 'watched.txt'), 'More.\n');
  await call('test_trigger_tool_change');
  await call('test_trigger_prompt_change');
  await until(() => ['resources/updated', 'tools/list_changed', 'prompts/list_changed'].every(what => notices.some(({ method }) => method === `notifications/${what}`)));
}

for (const transport of ['stdio', 'http']) {
  describe(`over ${transport}`, { concurrency: 2 }, () => {
    for (const version of versions)
      for (const [offers, given] of [['everything', answers], ['nothing', {}]])
        test(`${version}, to a client that offers ${offers}`, async t => {
          const dir = fixture(t);
          const way = ways[version === '2026-07-28' ? `SDK 2.x, stateless, ${transport}` : `SDK 1.x, ${transport}`];
          const connection = await connect(t, dir, way, { answers: given, ...(way.stateless ? {} : { protocol: version }) });
          await tour(connection, version, dir);
          const said = connection.seen.filter(({ from }) => from === 'server');
          assert.equal(said.find(({ answers: method }) => method === 'initialize')?.message.result.protocolVersion ?? '2026-07-28', version);
          const wrong = said.map(({ message, answers: method }) => ({ message, method, faults: faults(version, message, method) })).filter(({ faults: found }) => found.length);
          assert.deepEqual(wrong, []);
          assert.ok(said.length > 40, `only ${said.length} messages`);
        });
  });
}
