// agent/config.md of a space: its blockedTools apply to every caller, with and without a harness.md; its prompt is used when
// harness.md has no body; paths of the prompt that do not exist are named by validate.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { project, run } from './harness.mjs';
import { caller, tool } from './calls.mjs';
import { talker } from './agents.mjs';
import { Peer } from './mcp_peer.mjs';

const touch = { '.harness/tools/touch.md': tool('fs.write("ran", "yes")\nreturn "ran"') };
const config = body => ({ 'agent/config.md': `---\nid: ops\nname: Operations\nblockedTools: [touch, bash]\n---\n${body}` });
const rule = 'blockedTools of agent/config.md: touch';

// A model that calls touch directly, and through a sub-agent, and then answers with the results.
const model = `
def reply(messages, tools):
    said = [m for m in messages if m["role"] == "tool"]
    names = sorted([t["name"] for t in tools])
    task = [m for m in messages if m["role"] == "user"][0]["content"]
    if task == "go" and len(said) == 1:
        return {"tool_calls": [{"name": "delegate", "arguments": {"agent": "kid", "task": "inner"}}]}
    if len(said) == 0:
        return {"tool_calls": [{"name": "touch", "arguments": {}}]}
    return {"text": json.encode({"system": messages[0]["content"], "tools": names, "said": [m["content"] for m in said]})}
`;
const settings = body => ({ 'harness.md': `---\nmodel: { provider: script, script: model.star }\n---\n${body}`, 'model.star': model });
const kid = { '.harness/agents/kid.md': '---\ndescription: A child.\n---\nYou help.\n' };

for (const [name, more] of [['without harness.md', {}], ['with harness.md', settings('Be brief.\n')]]) {
  test(`blockedTools: call, tools and MCP clients, ${name}`, async t => {
    const p = caller(t, { ...touch, ...config('You look.\n'), ...more });
    const { error } = p.call('touch');
    assert.deepEqual([error.step, error.rule], ['policy', rule]);
    assert.match(error.message, /tool "touch" is denied by blockedTools of agent\/config\.md: touch/);
    assert.equal(p.call('bash', { command: 'echo x' }).error.step, 'policy');
    assert.equal(p.has('ran'), false);
    const names = JSON.parse(p.run(['tools', '--json']).stdout).map(x => x.name);
    assert.deepEqual(names, ['read', 'write', 'edit', 'glob', 'grep', 'listdir']);
    assert.match(p.run(['tools', '-v']).stdout, /hidden\n {2}touch {2}blockedTools of agent\/config\.md: touch\n/);
    const peer = new Peer(t, p.dir);
    await peer.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } });
    peer.notify('notifications/initialized', {});
    const listed = (await peer.request('tools/list', {})).result.tools.map(x => x.name);
    assert.ok(listed.includes('read') && !listed.includes('touch') && !listed.includes('bash'), listed.join());
    const called = await peer.request('tools/call', { name: 'touch', arguments: {} });
    assert.match(JSON.stringify(called), /denied by blockedTools|[Uu]nknown tool/);
    assert.equal(p.has('ran'), false);
  });
}

test('blockedTools: a model and its sub-agents', async t => {
  const p = talker(t, { ...touch, ...config('You look.\n'), ...settings('Be brief.\n'), ...kid });
  const { reply, stderr } = await p.say('go');
  const top = JSON.parse(reply?.response ?? assert.fail(stderr));
  assert.ok(!top.tools.includes('touch') && top.tools.includes('read'), top.tools.join());
  assert.match(top.said[0], /blockedTools of agent\/config\.md: touch/);
  assert.match(top.said[1], /blockedTools of agent\/config\.md: touch/, 'the child is refused too');
  assert.equal(p.has('ran'), false);
});

test('the prompt: harness.md with a body, and without one', async t => {
  const body = 'You are {{context.agent.name}} of {{context.space.name}}.\n';
  for (const [own, system, said] of [
    ['Be brief.\n', /^Be brief\.$/, 'agent "ops": a run does not use its prompt, because harness.md has a body'],
    ['', /^You are Operations of harness-test-\w+\.\n?$/, 'agent "ops": a run uses its prompt, because harness.md has no body'],
    ['\n  \n', /^You are Operations of harness-test-\w+\.\n?$/, 'agent "ops": a run uses its prompt, because harness.md has no body'],
  ]) {
    const p = talker(t, { ...touch, ...config(body), ...settings(own) });
    const { reply, stderr } = await p.say('just talk');
    assert.match(JSON.parse(reply?.response ?? assert.fail(stderr)).system, system);
    const checked = run(['-C', p.dir, 'validate']);
    assert.equal(checked.status, 0);
    assert.ok(checked.stderr.includes(`harness: agent/config.md:1:1: ${said} [hint]\n`), checked.stderr);
  }
});

test('paths of the prompt that the context does not have', t => {
  const lines = [
    'You are {{agent.name}}, {{context.agent.nme}}.', '{{context.project.name}} {{context.user.name}} {{context}} {{context.tools.length}}',
    '{{#each context.tools}}{{name}}: {{description}} {{this.parameters.type}} {{@index}} {{../context.agent.name}} {{titel}}{{/each}}',
    '{{#with context.agent}}{{name}} {{id}}{{/with}}{{#if context.spaec}}x{{else}}{{@root.context.space.name}}{{@root.name}}{{/if}}',
    '{{#each context.nothing}}{{inner}}{{/each}}',
  ];
  const dir = project(t, config(`${lines.join('\n')}\n`));
  const { status, stderr } = run(['-C', dir, 'validate']);
  assert.equal(status, 0, stderr);
  const known = 'known are context.project, space, agent and user, each with name and description, and the list context.tools';
  const said = stderr.split('\n').filter(l => l.includes('unknown path')).map(l => l.replace('harness: agent/config.md:', ''));
  assert.deepEqual(said, [
    '6:9: template: unknown path "agent.name" (did you mean "context.agent.name"?) [warning]',
    `6:25: template: unknown path "context.agent.nme" (${known}) [warning]`,
    `8:${lines[2].indexOf('{{titel') + 1}: template: unknown path "titel" (${known}) [warning]`,
    `9:${lines[3].indexOf('{{id') + 1}: template: unknown path "id" (${known}) [warning]`,
    `9:${lines[3].indexOf('{{#if') + 1}: template: unknown path "context.spaec" (${known}) [warning]`,
    `9:${lines[3].indexOf('{{@root.name') + 1}: template: unknown path "@root.name" (${known}) [warning]`,
    `10:1: template: unknown path "context.nothing" (${known}) [warning]`,
  ]);
});
