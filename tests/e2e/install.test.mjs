// What `make install` and `make deb` install where, and that it works.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, folder, root, shell } from './harness.mjs';

const skip = build !== 'release' && `${build} build`;
const names = dir => readdirSync(dir, { recursive: true });

function install(t) {
  const dir = folder(t);
  const { status, stderr } = spawnSync('cmake', ['--install', 'build/release', '--prefix', '/opt/h'],
    { cwd: root, env: { ...process.env, DESTDIR: dir }, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return join(dir, 'opt/h');
}

test('install puts the program, libraries, header and man page below PREFIX', { skip }, t => {
  const at = install(t);
  assert.equal(spawnSync(join(at, 'bin/harness'), ['version']).status, 0);
  assert.ok(existsSync(join(at, 'include/harness.h')));
  assert.ok(existsSync(join(at, 'share/man/man1/harness.1')));
  for (const file of ['libharness.a', 'libharness.so', 'libharness.so.0'])
    assert.ok(names(join(at, 'lib')).some(name => name.endsWith(file)), file);
});

test('install puts the completions where each shell finds them', { skip }, t => {
  const at = install(t), env = { PATH: `${at}/bin:${process.env.PATH}` };
  const bash = shell(`source ${at}/share/bash-completion/completions/harness
    COMP_WORDS=(harness ver); COMP_CWORD=1; _harness; echo "\${COMPREPLY[*]}"`, { env });
  assert.equal(bash.stdout, 'version\n');
  const fish = shell(`fish -N -c 'source ${at}/share/fish/vendor_completions.d/harness.fish; complete -C "harness ver"'`, { env: { ...env, HOME: at } });
  assert.match(fish.stdout, /^version\b/m, fish.stderr);
  // zsh loads the file on the first Tab, which must already complete.
  writeFileSync(join(at, '.zshrc'), `PS1='> '; fpath=(${at}/share/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -D\n`);
  const steps = JSON.stringify([['', '> '], ['harness versio\t', 'version'], ['\n', '> '], ['exit\n', '']]);
  const zsh = shell(`python3 ${root}/tests/e2e/terminal.py zsh -d -i`, { input: steps, env: { ...env, HOME: at, ZDOTDIR: at, TERM: 'dumb' } });
  const { output, missing } = JSON.parse(zsh.stdout);
  assert.equal(missing, null, output);
  assert.match(output, /harness +\d+\.\d+\.\d+/);
});

test('the packages are complete, and the program runs from them', { skip }, t => {
  const made = shell(`${root}/scripts/deb.sh`, { env: { LINTIAN: '' }, timeout: 280000 });      // lintian is slow, and not everywhere
  assert.equal(made.status, 0, made.stderr);
  assert.equal(made.stderr, '');
  const packages = made.stdout.trim().split('\n');
  const version = readFileSync(join(root, 'include/harness.h'), 'utf8').matchAll(/define HARNESS_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)/g);
  const number = [...version].map(m => m[1]).join('.');
  assert.deepEqual(packages.map(p => p.replace(/_[a-z0-9]+\.deb$/, '')),
    ['harness', 'libharness0', 'libharness-dev'].map(p => `build/deb/${p}_${number}-1`));

  const dir = folder(t);
  for (const file of packages) {
    const field = name => shell(`dpkg-deb -f ${file} ${name}`, { cwd: root }).stdout.trim();
    assert.equal(field('Version'), `${number}-1`);
    for (const name of ['Description', 'Maintainer', 'Installed-Size', 'Section', 'Architecture']) assert.notEqual(field(name), '', name);
    for (const one of `${field('Depends')}, ${field('Recommends')}`.split(/, */).filter(Boolean)) {
      const found = one.startsWith('libharness0 ') || shell(`dpkg-query -W -f '\${db:Status-Status}' ${one.split(' ')[0]}`).stdout.includes('installed');
      assert.ok(found, `${file}: ${one}`);
    }
    const at = join(dir, field('Package'));
    const unpacked = shell(`dpkg-deb -R ${file} ${at} && cd ${at} && md5sum --quiet -c DEBIAN/md5sums`, { cwd: root });
    assert.equal(unpacked.status, 0, unpacked.stdout + unpacked.stderr);
    assert.ok(existsSync(join(at, 'usr/share/doc', field('Package'), 'copyright')));
    assert.ok(existsSync(join(at, 'usr/share/doc', field('Package'), 'changelog.Debian.gz')));
    assert.ok(!names(at).some(name => /node_modules|\.o$|~$/.test(name)));
  }
  const program = join(dir, 'harness/usr/bin/harness');
  assert.equal(spawnSync(program, ['version'], { encoding: 'utf8' }).stdout.split('\n')[0].split(' ')[1], number);
  const demo = spawnSync(program, ['-C', join(dir, 'harness/usr/share/doc/harness/examples/governed-agent'), 'test'], { encoding: 'utf8' });
  assert.equal(demo.status, 0, demo.stdout + demo.stderr);
  const man = shell(`gzip -dc ${dir}/harness/usr/share/man/man1/harness.1.gz | head -1`);
  assert.match(man.stdout, /^\.TH HARNESS 1/);
  for (const file of ['bash-completion/completions/harness', 'zsh/vendor-completions/_harness', 'fish/vendor_completions.d/harness.fish'])
    assert.ok(existsSync(join(dir, 'harness/usr/share', file)), file);
  assert.ok(names(join(dir, 'libharness0')).some(name => name.endsWith('libharness.so.0')));
  assert.ok(existsSync(join(dir, 'libharness-dev/usr/include/harness.h')));
});

// The package depends on the libraries loaded on first use: all those that doctor checks.
test('the package depends on what is loaded on first use', { skip }, () => {
  const file = readdirSync(join(root, 'build/deb')).find(f => f.startsWith('harness_'));
  const wanted = shell(`dpkg-deb -f build/deb/${file} Depends Recommends`, { cwd: root }).stdout;
  for (const name of ['libcurl4', 'libssl3', 'libsqlite3-0', 'libseccomp2', 'libmicrohttpd12', 'libgit2', 'libedit2', 'libutf8proc2', 'libsystemd0', 'libpq5', 'libyaml-0-2', 'libpcre2-8-0', 'libgmp10'])
    assert.ok(wanted.includes(name), `${name} in ${wanted}`);
});
