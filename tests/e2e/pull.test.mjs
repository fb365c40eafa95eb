// harness pull: pinned sources from real git repositories.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, run } from './harness.mjs';

const tool = '---\nscript: |\n  def run(args):\n      return 1\n---\nSays hello.\n';

function git(cwd, ...args) {
  const env = {
    PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null',
    GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@example.com', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@example.com',
  };
  return execFileSync('git', args, { cwd, env, encoding: 'utf8' }).trim();
}

// A repository with one tool at tag v1, and a project beside it.
function setup(t) {
  const dir = folder(t);
  const repo = join(dir, 'repo');
  mkdirSync(join(repo, 'tools'), { recursive: true });
  mkdirSync(join(dir, 'project'));
  writeFileSync(join(repo, 'tools/hello.md'), tool);
  git(repo, 'init', '-q', '-b', 'main', '.');
  git(repo, 'add', '-A');
  git(repo, 'commit', '-qm', 'one');
  git(repo, 'tag', 'v1');
  const env = { XDG_STATE_HOME: join(dir, 'state') };
  const pull = (settings, args = [], more = {}) => {
    writeFileSync(join(dir, 'project/harness.md'), `---\n${settings}---\n`);
    return run(['pull', ...args], { cwd: join(dir, 'project'), env: { ...env, ...more } });
  };
  return { dir, repo, url: `file://${repo}`, commit: git(repo, 'rev-parse', 'HEAD'), pull, sources: join(dir, 'state/harness/sources') };
}

// As specified: path NUL size NUL content, in byte order of paths.
function checksum(files) {
  const hash = createHash('sha256');
  for (const path of Object.keys(files).sort()) hash.update(`${path}\0${Buffer.byteLength(files[path])}\0${files[path]}`);
  return `sha256:${hash.digest('hex')}`;
}

const source = (type, fields) => `artifact_sources:\n  - type: ${type}\n${Object.entries(fields).map(([k, v]) => `    ${k}: "${v}"\n`).join('')}`;

test('a commit is fetched once and then current, also offline', t => {
  const { url, commit, pull, sources } = setup(t);
  const settings = source('git', { url, ref: commit });
  assert.deepEqual(pull(settings, [], { HARNESS_OFFLINE: '1' }), {
    status: 1, stdout: '', stderr: `harness: harness.md:3:5: artifact_sources[0]: ${url} is not in the cache, and HARNESS_OFFLINE is set\n`,
  });
  assert.ok(!existsSync(sources));
  assert.deepEqual(pull(settings), { status: 0, stdout: `fetched  ${url} ${commit} (1 file)\n`, stderr: '' });
  assert.equal(statSync(sources).mode & 0o777, 0o700);
  assert.deepEqual(pull(settings, [], { HARNESS_OFFLINE: '1' }), { status: 0, stdout: `current  ${url} ${commit} (1 file)\n`, stderr: '' });
  assert.deepEqual(JSON.parse(pull(settings, ['--json']).stdout), [{ type: 'git', url, path: '', ref: commit, commit, status: 'current', files: 1 }]);
});

test('a tag needs a checksum, and the checksum must be right', t => {
  const { url, commit, pull, sources } = setup(t);
  assert.deepEqual(pull(source('git', { url, ref: 'v1' })), {
    status: 1, stdout: '',
    stderr: 'harness: harness.md:5:5: artifact_sources[0].ref "v1" is not pinned: it must be a 40-hex commit, or a tag together with checksum\n',
  });
  const right = checksum({ 'tools/hello.md': tool });
  const wrong = `sha256:${'0'.repeat(64)}`;
  assert.deepEqual(pull(source('git', { url, ref: 'v1', checksum: wrong })), {
    status: 1, stdout: '', stderr: `harness: harness.md:3:5: artifact_sources[0]: checksum is ${right}, not ${wrong}\n`,
  });
  assert.deepEqual(readdirSync(sources).filter(name => !/^(git-|lock$)/.test(name)), []);
  const { status, stdout } = pull(source('git', { url, ref: 'v1', checksum: right }), ['--json']);
  assert.equal(status, 0);
  assert.equal(JSON.parse(stdout)[0].commit, commit);
});

test('local sources are checked where they are', t => {
  const { repo, pull } = setup(t);
  assert.deepEqual(pull(source('local', { path: '../repo' })), { status: 0, stdout: 'local    ../repo\n', stderr: '' });
  assert.equal(pull(source('local', { path: repo, checksum: checksum({ 'tools/hello.md': tool }) })).status, 0);
  const { status, stderr } = pull(source('local', { path: '../none' }));
  assert.equal(status, 1);
  assert.equal(stderr, 'harness: harness.md:3:5: artifact_sources[0]: open ../none: No such file or directory\n');
});

test('only trusted sources, by whole path segments', t => {
  const { dir, url, commit, pull } = setup(t);
  const settings = source('git', { url, ref: commit });
  const { status, stderr } = pull(`${settings}trusted_sources: ["file://${dir}/rep"]\n`);
  assert.equal(status, 1);
  assert.equal(stderr, `harness: harness.md:4:5: artifact_sources[0]: "${url}" is not in trusted_sources\n`);
  assert.equal(pull(`${settings}trusted_sources: ["file://${dir}"]\n`).status, 0);
});

test('every problem is reported, and valid sources are pulled', t => {
  const { url, commit, pull } = setup(t);
  const two = `${source('git', { url: `${url}-gone`, ref: commit })}  - {type: git, url: "${url}", ref: ${commit}}\n`;
  const { status, stdout, stderr } = pull(two);
  assert.equal(status, 1);
  assert.match(stdout, /^fetched {2}file:/);
  assert.match(stderr, /^harness: harness\.md:3:5: artifact_sources\[0\]: git[^\n]*\n$/);
  const { error } = JSON.parse(pull(two, ['--json']).stdout);
  assert.deepEqual([error.kind, error.file, error.line, error.column], ['config', 'harness.md', 3, 5]);
});

test('nothing to pull is fine', t => {
  const { pull } = setup(t);
  assert.deepEqual(pull(''), { status: 0, stdout: '', stderr: '' });
  assert.deepEqual(pull('', ['--json']), { status: 0, stdout: '[]\n', stderr: '' });
});
