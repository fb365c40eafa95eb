// Agents against the mock server's fault injection: the right answer or a clear status, nothing runs twice, nothing hangs.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { effect, harness, mock, surfaces, talker } from './agents.mjs';

const rounds = 4;
const results = request => request.messages.filter(m => m.role === 'tool').length;
const answer = request => results(request) < rounds
  ? { toolCalls: [{ name: 'effect', arguments: JSON.stringify({ n: results(request) }), id: `call_${results(request)}` }] } : { content: 'all done' };
const statuses = ['completed', 'failed'];

function check(r, p, name) {
  assert.ok(r.reply && statuses.includes(r.reply.status), `${r.stdout}\n${r.stderr}`);
  const effects = p.effects();
  assert.deepEqual(effects, [...new Set(effects)], 'no call is executed twice');
  assert.deepEqual(effects, [...Array(effects.length).keys()].map(String), 'in order');
  if (r.reply.status === 'completed') assert.deepEqual([r.reply.response, effects.length], ['all done', rounds]);
  else assert.ok(new RegExp(`^(after 8 attempts: )?${name}( answered [45]\\d\\d)?: .{5}`).test(r.reply.reason) && r.status === 1, r.stdout);
}

const faults = {
  'rate limits': { rateLimitRate: 0.25 },
  'server errors': { dropRate: 0.4 },
  'malformed JSON': { malformedRate: 0.3 },
  'connections that break': { disconnectRate: 0.3 },
  'everything at once': { dropRate: 0.15, malformedRate: 0.15, rateLimitRate: 0.1, disconnectRate: 0.15, latencyMs: 10 },
};

for (const [name, model] of Object.entries(surfaces)) {
  const provider = name === 'responses' ? 'openai' : name;
  for (const [what, chaos] of Object.entries(faults)) {
    test(`${name}: ${what}`, async t => {
      const m = await mock(t, answer, { chaos });
      const fast = { ...model(m.url), retry: '{ max_attempts: 8, initial_backoff_ms: 2, max_backoff_ms: 4 }' };
      const all = [];
      for (let i = 0; i < 4; i++) all.push(talker(t, { 'harness.md': harness(fast), '.harness/tools/effect.md': effect() }));
      const done = await Promise.all(all.map(p => p.say('go', [], { timeout: 40000 })));
      done.forEach((r, i) => check(r, all[i], provider));
    });
  }

  test(`${name}: a stream that breaks off in the middle of the answer is not taken for an answer`, async t => {
    const m = await mock(t, () => ({ content: 'one two three four five six seven eight nine ten' }), {}, { chunkSize: 4, truncateAfterChunks: name === 'responses' ? 9 : 6, latency: 20 });   // four events come before the text
    const p = talker(t, { 'harness.md': harness(model(m.url)) });
    const r = await p.say('count');
    assert.deepEqual([r.status, r.reply.status, r.reply.response], [1, 'failed', '']);
    assert.ok(r.reply.reason.startsWith(`${provider}: 127.0.0.1:${new URL(m.url).port}: transfer closed with outstanding read data remaining`), r.reply.reason);
    assert.equal(m.getRequests().length, 1, 'a reply that has begun is not asked for again');
    assert.equal(p.events('completion.failed').length, 1);
    assert.equal((await p.runs())[0].status, 'failed');
  });

  test(`${name}: a call whose arguments break off is not made`, async t => {
    const m = await mock(t, () => ({ toolCalls: [{ name: 'effect', arguments: '{"n": 12345678901234567890}' }] }), {}, { chunkSize: 3, truncateAfterChunks: 6, latency: 20 });
    const p = talker(t, { 'harness.md': harness(model(m.url)), '.harness/tools/effect.md': effect() });
    const r = await p.say('go');
    assert.equal(r.reply.status, 'failed');
    assert.ok(r.reply.reason.startsWith(`${provider}: 127.0.0.1:${new URL(m.url).port}: transfer closed with outstanding read data remaining`), r.reply.reason);
    assert.deepEqual(p.effects(), []);
  });

  test(`${name}: a refused key is final`, async t => {
    const m = await mock(t, () => ({ error: { message: 'Incorrect key', type: 'authentication_error' }, status: 401 }));
    const p = talker(t, { 'harness.md': harness(model(m.url)) });
    const r = await p.say('hello');
    assert.equal(r.reply.status, 'failed');
    assert.equal(r.reply.reason, `${provider} answered 401: Incorrect key (is the API key right?)`);
    assert.equal(m.getRequests().length, 1);
  });

  test(`${name}: too slow is a clear failure`, async t => {
    const m = await mock(t, () => ({ content: 'late' }), { chaos: { latencyMs: 3000 } });
    const p = talker(t, { 'harness.md': harness({ ...model(m.url), timeout_ms: 150, retry: '{ max_attempts: 2, initial_backoff_ms: 1 }' }) });
    const r = await p.say('hello');
    assert.equal(r.reply.status, 'failed');
    assert.ok(r.reply.reason.startsWith(`after 2 attempts: ${provider}: timed out after 0.15 s`), r.reply.reason);
    assert.equal(p.events('completion.retried').length, 1);
  });
}

test('an unreachable server', async t => {
  const p = talker(t, { 'harness.md': harness(surfaces.openai('http://127.0.0.1:9')) });
  const r = await p.say('hello');
  assert.equal(r.reply.status, 'failed');
  assert.equal(r.reply.reason, 'after 5 attempts: openai: connect to 127.0.0.1:9: connection refused (is a server running at http://127.0.0.1:9/v1?)');
});
