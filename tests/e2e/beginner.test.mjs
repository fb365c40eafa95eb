// What a beginner does in the first days: mistakes and the message each gets, servers of others, new files, a folder without a project.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { add, project, start } from './harness.mjs';
import { mistakes } from './mistakes.mjs';

const own = (t, files = {}) => {
  const dir = project(t, { 'state/.keep': '' }), home = `${dir}/p`;
  add(home, { '.git/HEAD': 'ref: refs/heads/main\n', ...files });
  return { dir: home, run: (args, env = {}) => start(['-C', home, ...args], { env: { XDG_STATE_HOME: `${dir}/state`, HARNESS_TRUST: dir, ...env } }) };
};

describe('mistakes', { concurrency: 2 }, () => {
  test('there are at least 60', () => assert.ok(Object.keys(mistakes).length >= 60));
  for (const [title, { script, files, run = ['validate'], says, status = 1 }] of Object.entries(mistakes))
    test(title, async t => {
      const tool = script && { '.harness/tools/t.md': `---\nscript: |\n  def run(args):\n${script.replace(/^/gm, '      ')}\n---\nDoes it.\n` };
      const r = await own(t, files ?? tool).run(run);
      const lines = (r.stderr + r.stdout).split('\n');
      if (process.env.SHOW) return console.log(`${title}: ${r.status}\n  ${lines.join('\n  ')}`);
      assert.ok(lines.some(line => typeof says === 'string' ? line === says : says.test(line)), `${says}\n--- got\n${lines.join('\n')}`);
      assert.equal(r.status, status);
    });
});
