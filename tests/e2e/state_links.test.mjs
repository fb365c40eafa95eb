// Harness's own folders, reached through links: no call can exchange what leads to the records of trust, of running calls, to the state or the configuration.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tool } from './calls.mjs';
import { mounts, person, users } from './persons.mjs';

const sh = tool('r = exec.run("/bin/sh", ["-c", args["do"]])\nreturn [r["exit_code"], r["stdout"], r["stderr"]]', 'parameters:\n  do: { type: string }');
const project = (head = 'sandbox: {}\n') => ({ 'harness.md': `---\n${head}---\nHi.\n`, '.harness/tools/sh.md': sh });
const home = 'sandbox: { home: real }\n', root = 'sandbox: { write_roots: [../home/w] }\n';
const refused = /is reached through \S+, which lies inside \S+, where tools could exchange it/;

// What the user has created, the settings, the environment.
const bad = {
  'home: real, ~/.local/state is a link out of the home': ['mkdir -p ../state ~/.local; ln -s $PWD/../state ~/.local/state', home],
  'home: real, ~/.local/state is a link inside the home': ['mkdir -p ~/dot/state ~/.local; ln -s ../dot/state ~/.local/state', home],
  'home: real, ~/.local is a link': ['mkdir -p ../local; ln -s $PWD/../local ~/.local', home],
  'home: real, ~/.config is a link': ['mkdir -p ../config; ln -s $PWD/../config ~/.config', home],
  'home: real, ~/.config/harness is a link': ['mkdir -p ../config ~/.config; ln -s $PWD/../config ~/.config/harness', home],
  'home: real, ~/.local/state is a link to nowhere': ['mkdir -p ~/.local; ln -s $PWD/../nowhere ~/.local/state', home],
  'home: real, the state leads through a folder of the home and ..': ['mkdir -p ~/a ../state', home, p => ({ XDG_STATE_HOME: `${p.home}/a/../../state` })],
  'a write root, XDG_STATE_HOME': ['mkdir -p ../state ~/w; ln -s $PWD/../state ~/w/link', root, p => ({ XDG_STATE_HOME: `${p.home}/w/link` })],
  'a write root, XDG_STATE_HOME by two links': ['mkdir -p ../state ~/w; ln -s $PWD/../state ~/w/link; ln -s w/link ~/first', root, p => ({ XDG_STATE_HOME: `${p.home}/first` })],
  'a write root, XDG_CONFIG_HOME': ['mkdir -p ../state ~/w; ln -s $PWD/../state ~/w/link', root, p => ({ XDG_CONFIG_HOME: `${p.home}/w/link` })],
  'a write root, HARNESS_STATE': ['mkdir -p ../state ~/w; ln -s $PWD/../state ~/w/link', root, p => ({ HARNESS_STATE: `${p.home}/w/link/harness.db` })],
  'a write root, HARNESS_STATE, which is a link itself': ['mkdir -p ../state ~/w; touch ../state/harness.db; ln -s $PWD/../state/harness.db ~/w/harness.db', root, p => ({ HARNESS_STATE: `${p.home}/w/harness.db` })],
  'the workspace, HARNESS_STATE': ['mkdir -p ../state; ln -s ../state link', undefined, p => ({ HARNESS_STATE: `${p.dir}/link/harness.db` })],
  'the workspace, HARNESS_STATE, --ephemeral': ['mkdir -p ../state; ln -s ../state link', undefined, p => ({ HARNESS_STATE: `${p.dir}/link/harness.db` }), ['--ephemeral']],
  'the workspace is the home': ['mkdir -p ../state ../config ~/.local; ln -s $PWD/../state ~/.local/state; ln -s $PWD/../config ~/.config', 'workspace: ../home\nsandbox: {}\n'],
};

for (const user of users) {
  for (const [what, [made, head, env = () => ({}), flags = []]] of Object.entries(bad))
    test(`${what}, as ${user.name}`, { skip: head === home && !mounts(user) && 'no private mounts here' }, t => {
      const p = person(t, user, project(head));
      assert.equal(p.sh(made).status, 0);
      const r = p.harness(['call', 'sh', '{"do":"touch ran"}', '--yes', ...flags], { env: env(p) });
      assert.match(r.stderr, refused);
      assert.notEqual(r.status, 0);
      assert.ok(!p.has('ran'));
    });

  test(`a server's write root, as ${user.name}`, t => {
    const p = person(t, user, project('sandbox: {}\nmcp_servers:\n  s: { command: sh, args: [-c, "touch ran"], write_roots: [../home/w] }\n'));
    p.sh('mkdir -p ../state ~/w; ln -s $PWD/../state ~/w/link');
    const r = p.harness(['mcp', 'tools', 's'], { env: { XDG_STATE_HOME: `${p.home}/w/link` } });
    assert.match(r.stdout + r.stderr, refused);
    assert.ok(!p.has('ran'));
  });

  test(`harness sandbox, as ${user.name}`, t => {
    const p = person(t, user, project());
    p.sh('mkdir -p ../state ~/w; ln -s $PWD/../state ~/w/link');
    const r = p.harness(['sandbox', '--write', join(p.home, 'w'), '--', 'touch', 'ran'], { env: { XDG_STATE_HOME: `${p.home}/w/link` } });
    assert.match(r.stderr, refused);
    assert.ok(!p.has('ran'));
  });

  test(`--ephemeral, with the record of running calls inside the workspace, as ${user.name}`, t => {
    const p = person(t, user, project());
    const r = p.harness(['call', 'sh', '{"do":"touch ran"}', '--yes', '--ephemeral'], { env: { HARNESS_STATE: join(p.dir, 'harness.db') } });
    assert.match(r.stderr, /the state file \S+ is inside the workspace/);
    assert.ok(!p.has('ran'));
  });

  test(`links that no call can exchange are followed, as ${user.name}`, t => {
    const p = person(t, user, project(root));
    p.sh('mkdir -p ../state ../config ~/.local ~/w; ln -s $PWD/../state ~/.local/state; ln -s $PWD/../config ~/.config; ln -s home ../link');
    const r = p.harness(['call', 'sh', '{"do":"touch ran"}', '--yes'], { env: { HOME: join(p.home, '../link') } });
    assert.equal(r.status, 0, r.stderr);
    assert.ok(p.has('ran') && existsSync(join(p.home, '../state/harness')));
  });

  test(`home: real without links works, as ${user.name}`, { skip: !mounts(user) && 'no private mounts here' }, t => {
    const p = person(t, user, project(home));
    const r = p.call('sh', { do: 'echo x > ~/made; ls ~/.local/state/harness' });
    assert.equal(r.status, 0, r.stderr);
    assert.equal(readFileSync(join(p.home, 'made'), 'utf8'), 'x\n');
  });
}
