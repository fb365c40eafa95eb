// Work with git that calls may still do although files that git runs are protected: operations that stop and continue, modules, worktrees, remotes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tool } from './calls.mjs';
import { person, ways } from './persons.mjs';

const sh = tool('r = exec.run("/bin/sh", ["-c", args["do"]])\nreturn [r["exit_code"], r["stdout"], r["stderr"]]', 'parameters:\n  do: { type: string }');
const rules = { 'harness.md': '---\nsandbox: {}\n---\nHi.\n', '.harness/tools/sh.md': sh };
const me = 'export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_EDITOR=true';

const ready = `${me}; git init -q . && echo one > f && git add f && git commit -qm one && git branch base`;
const waits = `${ready} && echo two > f && git commit -qam two && echo x > g && git add g && git commit -qm three && git branch topic && git reset -q --hard base && echo other > f && git commit -qam other`;
// A git operation of the user that stopped at a conflict.
const stopped = command => `${waits} && git checkout -q topic && ! ${command} > out 2>&1`;
const submodule = `${ready} && git init -q lib && git -C lib commit -q --allow-empty -m one && mv lib .git/lib
  git -c protocol.file.allow=always submodule --quiet add ./.git/lib sub && git commit -qm sub`;

for (const user of ways.filter(way => !/forbidden|without/.test(way.name))) {
  const does = (p, text) => p.call('sh', { do: `${me}; ${text}` });
  for (const [begin, next] of [['git rebase main', 'git rebase --continue'], ['git rebase --apply main', 'git rebase --continue'],
    ['git checkout -q main && git cherry-pick -X patience topic~1 topic', 'git cherry-pick --continue']])
    test(`git: a call may stop at a conflict, and the next one goes on: ${begin}, as ${user.name}`, t => {
      const p = person(t, user, rules);
      assert.equal(p.sh(`${waits} && git checkout -q topic`).status, 0);
      assert.equal(does(p, `! { ${begin}; } 2> /dev/null`).status, 0);
      const r = does(p, `echo solved > f; git add f; ${next} > /dev/null 2>&1; git log --oneline | wc -l; git status --porcelain -uno; ls .git | grep -c -e rebase -e sequencer`);
      assert.equal(r.status, 0, r.stdout);
      assert.equal(r.result.value[1], '4\n0\n');
    });

  test(`git: a line to be run that a call's own rebase leaves does not stay, as ${user.name}`, t => {
    const p = person(t, user, rules);
    assert.equal(p.sh(`${waits} && git checkout -q topic`).status, 0);
    assert.match(does(p, '! git rebase -x true main 2> /dev/null').result.error.message, /sandbox\.tampered: \.git\/rebase-merge\/git-rebase-todo/);
    assert.equal(does(p, 'git rebase --abort').status, 0);
    assert.equal(does(p, 'git checkout -q main && git rebase -x true main').status, 0);
  });

  test(`git: a call goes on with a rebase of the person's, exec lines too, as ${user.name}`, t => {
    const p = person(t, user, rules);
    assert.equal(p.sh(stopped("git rebase -x 'echo ran >> out' main")).status, 0);
    const r = p.call('sh', { do: `${me}; echo solved > f; git add f; git rebase --continue` });
    assert.equal(r.status, 0, r.stdout);
    assert.ok(!p.has('.git/rebase-merge') && p.text('out').includes('ran\nran\n'), r.stdout);
  });

  test(`git: work goes on in a module, a worktree and beside a path remote, as ${user.name}`, t => {
    const p = person(t, user, rules);
    assert.equal(p.sh(`${submodule}; git worktree add -q wt; git init -q --bare remote && git remote add origin ./remote; git init -q beside`).status, 0);
    const r = p.call('sh', { do: `${me}; set -e; for d in . sub wt beside; do echo more > $d/more; git -C $d add more; git -C $d commit -qm more; git -C $d stash list; git -C $d tag t-$(echo $d | tr -d .); done
      git push -q origin main; git fetch -q origin; git gc -q; git repack -adq; git -C wt checkout -q --detach; git worktree list | wc -l` });
    assert.deepEqual([r.status, r.result.value[0], r.result.value[1]], [0, 0, '2\n'], r.stdout);
  });
}
