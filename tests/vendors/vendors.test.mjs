// harness guard in front of the real programs: a refused call does not happen, an allowed one does, and if the guard fails, no call runs, for
// vendors that support this. For the others the test asserts the gap, which `guard doctor` reports. FULL=1 runs every case.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { agents, broken, harness, stage } from './agents.mjs';
import { startModel } from './model.mjs';

const policy = 'rules:\n  - { name: no-forbidden, shell: [touch, forbidden], decide: deny, because: "not this one" }\n  - { name: ask-asked, shell: [touch, asked], decide: ask }\n';
const full = process.env.FULL === '1';
const has = (s, name) => existsSync(join(s.dir, name));

// Two agents at a time, each with a model of its own.
describe('agents', { concurrency: 2 }, () => { for (const [name, a] of Object.entries(agents)) cases(name, a); });

function cases(name, a) {
  describe(name, () => {
    let model;
    before(async () => { model = await startModel(); });
    after(() => model.stop());

    test('an allowed call happens, and is in the log', async t => {
      const s = stage(t, name, model, { policy }), r = await s.run('RUN[touch allowed]');
      assert.ok(has(s, 'allowed'), r.out);
      assert.ok(s.log().some(d => d.verdict === 'allow' && d.vendor === name && /touch allowed/.test(JSON.stringify(d))), JSON.stringify(s.log()));
    });

    test('a refused call does not happen, and the model is told why', async t => {
      const s = stage(t, name, model, { policy });
      model.seen.length = 0;
      const r = await s.run('RUN[touch forbidden]');
      assert.ok(!has(s, 'forbidden'), r.out);
      assert.ok(s.log().some(d => d.verdict === 'deny' && d.rule === 'no-forbidden'), JSON.stringify(s.log()));
      assert.ok(model.seen.some(q => q.text.includes('not this one')), r.out);
    });

    test(`a guard that is killed ${a.closes.killed ? 'lets nothing through' : 'is a hole of this vendor'}`, async t => {
      const s = stage(t, name, model, { policy, edit: text => text.replaceAll(harness, broken(t, 'killed')) }), r = await s.run('RUN[touch allowed]');
      assert.equal(has(s, 'allowed'), !a.closes.killed, r.out);
    });

    if (a.hook && (full || name === 'claude'))
      test('harness sandbox --profile: the guard decides, and a script that is allowed reaches neither the hook nor files outside', async t => {
        const s = stage(t, name, model, { policy, profile: true, files: { 'x.sh': `touch ran; echo {} > ~/${a.hook}; rm -f ~/${a.hook}; rm -rf ~/.config/harness; touch ../outside; exit 0\n` } });
        const start = prompt => s.start([harness, 'sandbox', '--profile', name, '--allow-domain', `127.0.0.1:${new URL(model.url).port}`, '--', ...s.argv(prompt)]);
        const hook = join(s.home, a.hook);
        const allowed = await start('RUN[touch allowed]');
        assert.ok(has(s, 'allowed'), allowed.out);
        model.seen.length = 0;
        const refused = await start('RUN[touch forbidden]');
        assert.ok(!has(s, 'forbidden') && model.seen.some(q => q.text.includes('not this one')), refused.out);
        const before = readFileSync(hook, 'utf8'), script = await start('RUN[sh x.sh]');
        assert.ok(has(s, 'ran') && !has(s, '../outside'), script.out);
        assert.equal(readFileSync(hook, 'utf8'), before);
        assert.ok(existsSync(join(s.home, '.config/harness/guard.md')), script.out);
      });

    if (!full) return;

    test(`a guard that hangs ${a.closes.hangs ? 'lets nothing through' : 'is a hole of this vendor'}`, async t => {
      const short = text => text.replaceAll(harness, broken(t, 'hangs')).replace(/("timeout": |"timeoutSec": |timeout = |timeout: )(\d+)/g, (_, key, n) => key + Number(n) / 10);
      const s = stage(t, name, model, { policy, edit: short }), r = await s.run('RUN[touch allowed]');
      assert.equal(has(s, 'allowed'), !a.closes.hangs, r.out);
    });

    test('a project that does not load refuses', async t => {
      const s = stage(t, name, model, { policy: 'rulez: []\n' }), r = await s.run('RUN[touch allowed]');
      assert.ok(!has(s, 'allowed'), r.out);
    });

    test('a rule with ask refuses where no person is', async t => {
      const s = stage(t, name, model, { policy }), r = await s.run('RUN[touch asked]');
      assert.ok(!has(s, 'asked'), r.out);
    });

    test(`a call that a hook of the project changed ${a.changes === true ? 'happens as changed' : 'is refused where no person is'}`, async t => {
      const hook = '---\nevent: tool.pre\nwhen: payload["kind"] == "shell"\nscript: |\n  def handle(event, payload):\n      payload["args"]["command"] = "touch after"\n      return modify(payload)\n---\n';
      const s = stage(t, name, model, { policy, files: { '.harness/hooks/change.md': hook } }), r = await s.run('RUN[touch before]');
      assert.ok(!has(s, 'before'), r.out);
      assert.equal(has(s, 'after'), a.changes === true, r.out);
    });

    test('the agent does not write its own hook', async t => {
      const s = stage(t, name, model, { policy }), r = await s.run(`RUN[rm -f ${s.file}]`);
      assert.ok(existsSync(s.file), r.out);
    });
  });
}

test('doctor names the holes that these tests assert', () => {
  const said = JSON.parse(spawnSync(harness, ['--json', 'guard', 'doctor', 'claude'], { encoding: 'utf8' }).stdout);
  assert.ok(said[0].checks.some(c => c.state === 'hole'));
  for (const [name, a] of Object.entries(agents)) {
    const holes = JSON.parse(spawnSync(harness, ['--json', 'guard', 'doctor', name], { encoding: 'utf8' }).stdout)[0].checks.filter(c => c.state === 'hole').map(c => c.text).join('\n');
    if (!a.closes.killed || !a.closes.hangs) assert.match(holes, /lets the call through/, name);
  }
});
