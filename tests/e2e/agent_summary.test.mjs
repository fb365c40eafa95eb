// context.summarize: removed messages are replaced by a summary after the first message.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { caller } from './calls.mjs';

const model = `def reply(messages, tools):
    if messages[0]["content"].startswith("Summarise"):
        return {"text": "they counted: " + str(messages[0]["content"].count("number"))}
    return {"text": " | ".join([m["content"] for m in messages if m["role"] == "user"])}
`;
const settings = context => `---\nmodel: {provider: script, name: offline, script: model.star}\ncontext: ${context}\n---\n`;
const said = Array.from({ length: 6 }, (_, i) => `number ${i + 1}`).join('\n') + '\n';

function last(t, context, more = {}) {
  const c = caller(t, { 'harness.md': settings(context), 'model.star': model, ...more });
  const r = c.run(['run', '--ephemeral'], { input: said });
  assert.equal(r.status, 0, r.stderr);
  return { text: r.stdout.trimEnd().split('\n').at(-1), stderr: r.stderr };
}

test('without it, messages that do not fit are dropped', t => {
  const { text } = last(t, '{max_history: 4}');
  assert.match(text, /^number 1 \| /);
  assert.doesNotMatch(text, /number 3|summary/);
});

test('with it, the model gets a summary after the first message', t => {
  const { text } = last(t, '{max_history: 4, summarize: true}');
  assert.match(text, /^number 1 \| \[summary of \d+ earlier messages\] they counted: \d+ \| .*number 6$/);
});

test('another model may write it; a failure only costs the summary, not the conversation', t => {
  const broken = { 'broken.star': 'def reply(messages, tools):\n    fail("no words")\n' };
  const models = '\nmodels: [{provider: script, name: small, script: broken.star}]';
  const c = caller(t, { 'harness.md': settings('{max_history: 4, summarize: small}').replace('\ncontext', `${models}\ncontext`), 'model.star': model, ...broken });
  const r = c.run(['run', '--ephemeral'], { input: said });
  assert.equal(r.status, 0, r.stderr);
  assert.match(r.stdout, /number 6\n$/);
  assert.match(r.stderr, /context\.summarize: .*no words/);
});
