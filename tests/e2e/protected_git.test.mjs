// What a call could leave in a repository for the user's next git command to run. Each attack is also made without a sandbox, where it
// must succeed, so every row names the command of the user that runs it. As root and as an ordinary user, with and without private mounts.
import assert from 'node:assert/strict';
import { chownSync } from 'node:fs';
import { test } from 'node:test';
import { tool } from './calls.mjs';
import { person, users, ways } from './persons.mjs';

const sh = tool('r = exec.run("/bin/sh", ["-c", args["do"]])\nreturn [r["exit_code"], r["stdout"], r["stderr"]]', 'parameters:\n  do: { type: string }');
const rules = { 'harness.md': '---\nsandbox: {}\n---\nHi.\n', '.harness/tools/sh.md': sh };
const me = 'export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_EDITOR=true';

const ready = `${me}; git init -q . && echo one > f && git add f && git commit -qm one && git branch base`;
const waits = `${ready} && echo two > f && git commit -qam two && echo x > g && git add g && git commit -qm three && git branch topic && git reset -q --hard base && echo other > f && git commit -qam other`;
// A git operation of the user that stopped at a conflict.
const stopped = command => `${waits} && git checkout -q topic && ! ${command} > out 2>&1`;
const goOn = command => `${me}; echo solved > f; git add f; ${command}`;
const program = (mark, path) => `mkdir -p "$(dirname ${path})" && printf '#!/bin/sh\\ntouch ${mark}\\n' > ${path} && chmod +x ${path}`;
const config = (mark, path) => `printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = "touch ${mark}; false"\\n' > ${path}`;
const bare = (mark, path) => `git init -q --bare ${path} && ${program(mark, `${path}/hooks/post-receive`)}`;
const submodule = `${ready} && git init -q lib && git -C lib commit -q --allow-empty -m one && mv lib .git/lib
  git -c protocol.file.allow=always submodule --quiet add ./.git/lib sub && git commit -qm sub`;

const attacks = {
  'an exec line for a rebase that waits': { ready: stopped('git rebase main'), attack: m => `echo ' x touch ${m}' >> .git/rebase-merge/git-rebase-todo`, runs: goOn('git rebase --continue') },
  'a rebase that nobody began': { ready, attack: m => `mkdir .git/rebase-merge && cd .git/rebase-merge && echo refs/heads/main > head-name && git rev-parse HEAD | tee onto > orig-head && : > interactive
    echo 'exec touch ${m}' > git-rebase-todo`, runs: 'git rebase --skip' },
  'a rebase folder that is a link': { ready, attack: m => `mkdir x && cd x && echo refs/heads/main > head-name && git rev-parse HEAD | tee onto > orig-head && : > interactive
    echo 'exec touch ${m}' > git-rebase-todo && cd .. && ln -s ../x .git/rebase-merge`, runs: 'git rebase --continue' },
  'the merge strategy of a rebase': { ready: stopped('git rebase -s ort main'), attack: m => `echo x/evil > .git/rebase-merge/strategy; ${program(m, 'git-merge-x/evil')}`, runs: goOn('git rebase --continue') },
  'the merge strategy of a cherry-pick': { ready: `${waits} && ! git cherry-pick topic~1 topic > out 2>&1`, attack: m => `printf '[options]\\n\\tstrategy = x/evil\\n' > .git/sequencer/opts; ${program(m, 'git-merge-x/evil')}`,
    runs: goOn('git cherry-pick --continue') },
  'a file that git apply writes': { ready: stopped('git rebase --apply main'), attack: m => `printf " '--build-fake-ancestor=${m}'" > .git/rebase-apply/apply-opt`, runs: goOn('git rebase --continue') },
  'a legacy remote': { ready, attack: m => `${bare(m, 'evil')} && mkdir -p .git/remotes && printf 'URL: ./evil\\nPush: refs/heads/main:refs/heads/main\\n' > .git/remotes/origin`, runs: 'git push' },
  'a legacy branch': { ready, attack: m => `${bare(m, 'evil')} && mkdir -p .git/branches && echo './evil#main' > .git/branches/origin`, runs: 'git push origin main' },
  'a hook of a remote that is a path': { ready: `${ready}; git init -q --bare remote && git remote add origin ./remote`, attack: m => program(m, 'remote/hooks/post-receive'), runs: 'git push origin main' },
  'a hook of a remote with a file URL, deep': { ready: `${ready}; mkdir -p a/b && git init -q --bare a/b/r.git && git remote add origin "file://$PWD/a/b/r.git"`, attack: m => program(m, 'a/b/r.git/hooks/update'),
    runs: 'git push origin main' },
  'a remote that is not there yet': { ready: `${ready}; git remote add origin a/b/later`, attack: m => `mkdir -p a/b && ${bare(m, 'a/b/later')}`, runs: 'git push origin main' },
  'a folder that is taken for the remote origin': { ready, attack: m => bare(m, 'origin'), runs: 'git push -u origin main' },
  'a hook of the remote of a branch': { ready: `${ready}; mkdir -p a/b && git init -q --bare a/b/r && git config branch.main.remote ./a/b/r && git config push.default current`, attack: m => program(m, 'a/b/r/hooks/update'), runs: 'git push' },
  'hooks below the git folder': { ready: `${ready}; git config core.hooksPath .githooks; git config receive.denyCurrentBranch ignore; git clone -q . ../other`, attack: m => program(m, '.git/.githooks/post-receive'),
    runs: 'cd ../other && git commit -q --allow-empty -m two && git push' },
  'the file .git of a module': { ready: submodule, attack: m => `cp -r .git/modules/sub other && ${config(m, 'other/config')} && echo 'gitdir: ../other' > sub/.git`, runs: 'git status' },
  'a repository in the place of a module': { ready: `${submodule} && git submodule --quiet deinit -f sub && rm -rf .git/modules/sub`,
    attack: m => `${me}; git init -q sub && git -C sub commit -q --allow-empty -m one; ${config(m, 'sub/.git/config')}`, runs: 'git status' },
  'the file .git of a worktree': { ready: `${ready}; git worktree add -q wt`, attack: m => `cp -r .git other && ${config(m, 'other/config')} && echo 'gitdir: ../other' > wt/.git`, runs: 'git -C wt status' },
  'the hooks of a worktree': { ready: `${ready}; git config core.hooksPath .githooks; git worktree add -q wt`, attack: m => program(m, 'wt/.githooks/post-index-change'), runs: 'cd wt && touch -d @1000000000 f && git status' },
  'a repository beside others': { ready: `${ready}; git init -q one`, attack: m => config(m, 'one/.git/config'), runs: 'git -C one status' },
  'a bare repository beside others': { ready: `${ready}; git init -q --bare one.git`, attack: m => program(m, 'one.git/hooks/post-receive'), runs: 'git push ./one.git main' },
};

// Where the kernel refuses mounts it is as with mounts off.
for (const user of ways.filter(way => !/forbidden|without/.test(way.name))) {
  for (const [name, row] of Object.entries(attacks))
    test(`git: ${name}, as ${user.name}`, t => {
      const p = person(t, user, rules), mark = `${p.home}/PWNED`;
      const prepared = p.sh(row.ready);
      assert.equal(prepared.status, 0, prepared.stderr);
      const r = p.call('sh', { do: row.attack(mark) });
      assert.match(r.result?.error?.message ?? r.result?.value?.[2] ?? '', /sandbox\.tampered|Read-only file system|Permission denied/, r.stdout);
      p.sh(row.runs);
      assert.ok(!p.has('../home/PWNED'), `the person's git ran it`);
    });

  test(`git: what leads to other objects, gitweb's settings and the place of a worktree, as ${user.name}`, t => {
    const p = person(t, user, rules);
    assert.equal(p.sh(`${ready}; git worktree add -q wt`).status, 0);
    const paths = ['objects/info/alternates', 'objects/info/http-alternates', 'gitweb/gitweb_config.perl', 'gitweb/httpd.conf', 'worktrees/wt/gitweb/x', 'remotes/x', 'branches/x'];
    const place = p.text('.git/worktrees/wt/gitdir');
    const r = p.call('sh', { do: `cd .git; for f in ${paths.join(' ')} worktrees/wt/gitdir; do mkdir -p $(dirname $f); echo /tmp > $f; done` });
    assert.match(r.result.error.message, /sandbox\.tampered/);
    assert.deepEqual(paths.filter(path => p.has(`.git/${path}`)), []);
    assert.equal(p.text('.git/worktrees/wt/gitdir'), place);
  });
}

for (const user of users.slice(-1))
  for (const [name, row] of Object.entries(attacks))
    test(`git, without a sandbox: ${name} works, as ${user.name}`, t => {
      const p = person(t, user, rules), mark = `${p.home}/PWNED`;
      const r = p.sh(`${row.ready}; (${row.attack(mark)}); ${row.runs}`);
      assert.ok(p.has('../home/PWNED'), `${name} runs nothing by itself: ${r.stderr}`);
    });

// Each file names the next one eight times: read as git would, that is 8^9 files.
const bomb = folder => `mkdir -p ${folder}/objects ${folder}/refs; cd ${folder}; echo 'ref: refs/heads/m' > HEAD
  printf '[core]\\n repositoryformatversion = 0\\n[include]\\n path = c1\\n' > config
  for i in 1 2 3 4 5 6 7 8 9; do { echo '[include]'; for k in 1 2 3 4 5 6 7 8; do echo " path = c$((i+1))"; done; } > c$i; done; touch c10`;

for (const user of users) {
  test(`git: includes that multiply do not hold up the next start, as ${user.name}`, t => {
    const p = person(t, user, rules);
    assert.equal(p.call('sh', { do: bomb('evil/.git') }).status, 0);
    for (const args of [['call', 'sh', '{"do":"true"}', '--yes'], ['trust'], ['tools']]) assert.equal(p.harness(args, { timeout: 30000 }).status, 0, args[0]);
    const own = person(t, user, rules);
    own.sh(bomb('.git'));
    assert.equal(own.harness(['trust'], { timeout: 30000 }).status, 0);
  });
}

for (const user of ways.filter(way => way.uid !== undefined && /mounts off/.test(way.name)))
  test(`a protected file of a group that the user is not in is restored, as ${user.name}`, t => {
    const p = person(t, user, rules);
    assert.equal(p.sh('git init -q .').status, 0);
    chownSync(`${p.dir}/.git/config`, user.uid, 0);
    const before = p.text('.git/config');
    for (let i = 0; i < 2; i++) {
      const r = p.call('sh', { do: "printf '[core]\\n\\tfsmonitor = touch pwned\\n' >> .git/config" });
      assert.match(r.result.error.message, /sandbox\.tampered/);
      assert.doesNotMatch(r.result.error.message, /NOT/);
      assert.equal(p.text('.git/config'), before);
    }
    assert.equal(p.call('sh', { do: 'true' }).status, 0);
  });
