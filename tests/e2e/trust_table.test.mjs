// Every granting row of grants.def: an agreement to one value does not cover another.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { tool } from './calls.mjs';
import { add, folder, root, start } from './harness.mjs';

const one = { '.harness/tools/one.md': tool('return 1') };
const settings = text => ({ 'harness.md': `---\n${text}\n---\n`, ...one });
const set = (section, key) => (...values) => values.map(value => settings(`${section}: { ${key}: ${value} }`));
const limits = key => set('limits', key), sandbox = key => set('sandbox', key), meta = key => set('meta', key), delegation = key => set('delegation', key);
const model = rest => settings(`model: { name: m, ${rest} }`);
const server = (rest, what = 'url: "http://127.0.0.1:9/"') => settings(`mcp_servers: { s: { ${what}, ${rest} } }`);
const program = rest => server(rest, 'command: "true"');
const oauth = rest => server(`oauth: { ${rest} }`);
const credentials = 'grant: client_credentials, client_id: x, client_secret: y';
const jwt = 'grant: jwt_bearer, client_id: x, client_secret: y', key = 'grant: client_credentials, client_id: x, token_auth: private_key_jwt';
const idp = 'grant: enterprise, client_id: x, idp_issuer: "https://idp.example", idp_client_id: y, idp_id_token: z';
const source = rest => settings(`artifact_sources: [{ ${rest} }]`);
// OUTSIDE, FIRST, SECOND and SUM are filled in when the repositories exist.
const git = (repository, commit, sum = '') => source(`type: git, url: "file://OUTSIDE/${repository}", ref: "${commit}"${sum}`);

// The two versions of a project for each row. A string says why the row cannot grant.
const rows = {
  'config.artifact_roots': [settings('artifact_roots: [../a]'), settings('artifact_roots: [../b]')],
  'config.manifests': 'is refused outside of the project',
  'config.spaces': 'is refused outside of the project',
  'config.workspace': [settings('workspace: /usr/share/doc'), settings('workspace: /usr/share')],
  'model.price': ['0.5', '0.4'].map(input => settings(`model: { provider: openai, name: gpt-5, price: { input: ${input}, output: 10 } }`)),
  'model.base_url': [model('base_url: "http://127.0.0.1:9/v1"'), model('base_url: "http://127.0.0.1:9/v2"')],
  'model.api_key_env': [model('api_key_env: KEY_A'), model('api_key_env: KEY_B')],
  'model.headers': [model('headers: { X: "${A_TOKEN}" }'), model('headers: { X: "${B_TOKEN}" }')],
  'model.script': [model('script: ../a.star'), model('script: ../b.star')],
  'model.replay': [model('provider: replay, replay: ../a.jsonl'), model('provider: replay, replay: ../b.jsonl')],
  'limits.max_turns': limits('max_turns')(101, 102),
  'limits.max_tool_calls': limits('max_tool_calls')(1001, 1002),
  'limits.max_tool_calls_per_turn': limits('max_tool_calls_per_turn')(33, 34),
  'limits.max_concurrency': limits('max_concurrency')(5, 6),
  'limits.max_tasks': limits('max_tasks')(65, 66),
  'limits.model_result_bytes': limits('model_result_bytes')(16385, 16386),
  'limits.artifact_bytes': limits('artifact_bytes')(104857601, 104857602),
  'limits.script_heap_bytes': limits('script_heap_bytes')(67108865, 67108866),
  'limits.script_depth': limits('script_depth')(201, 202),
  'delegation.max_depth': delegation('max_depth')(4, 5),
  'delegation.max_concurrent': delegation('max_concurrent')(5, 6),
  'delegation.iterations_per_depth': delegation('iterations_per_depth')('[21]', '[22]'),
  'meta.enabled': [settings('limits: { max_turns: 200 }'), settings('limits: { max_turns: 200 }\nmeta: { enabled: true }')],
  'meta.max_tools': meta('max_tools')(21, 22),
  'meta.max_hooks': meta('max_hooks')(21, 22),
  'meta.max_agents': meta('max_agents')(6, 7),
  'meta.max_call_depth': meta('max_call_depth')(3, 4),
  'network.allowed_domains': set('network', 'allowed_domains')('[a.example]', '[b.example]'),
  'sandbox.mode': sandbox('mode')('best-effort', 'off'),
  'sandbox.mounts': [settings('limits: { max_turns: 200 }'), settings('limits: { max_turns: 200 }\nsandbox: { mounts: off }')],
  'sandbox.network': [settings('limits: { max_turns: 200 }'), settings('limits: { max_turns: 200 }\nsandbox: { network: true }')],
  'sandbox.home': [settings('limits: { max_turns: 200 }'), settings('limits: { max_turns: 200 }\nsandbox: { home: real }')],
  'sandbox.read_roots': sandbox('read_roots')('[/usr/share/doc]', '[/usr/share]'),
  'sandbox.write_roots': sandbox('write_roots')('[/var/tmp]', '[/var/cache]'),
  'sandbox.env_allow': sandbox('env_allow')('[A_TOKEN]', '[B_TOKEN]'),
  'sandbox.allow_self_edit': [settings('limits: { max_turns: 200 }'), settings('limits: { max_turns: 200 }\nsandbox: { allow_self_edit: true }')],
  'sandbox.memory_bytes': sandbox('memory_bytes')(4294967297, 4294967298),
  'sandbox.cpu_seconds': sandbox('cpu_seconds')(601, 602),
  'sandbox.file_bytes': sandbox('file_bytes')(1073741825, 1073741826),
  'sandbox.open_files': sandbox('open_files')(1025, 1026),
  'sandbox.processes': sandbox('processes')(257, 258),
  'store.url': set('store', 'url')('"postgresql://a.example/x"', '"postgresql://b.example/x"'),
  'secret.env': [settings('secrets: { t: { env: A_TOKEN } }'), settings('secrets: { t: { env: B_TOKEN } }')],
  'server.command': [settings('mcp_servers: { s: { command: "true" } }'), settings('mcp_servers: { s: { command: "false" } }')],
  'server.args': [program('args: [a]'), program('args: [b]')],
  'server.env': [program('env: { A: "1" }'), program('env: { A: "2" }')],
  'server.cwd': [program('cwd: a'), program('cwd: b')],
  'server.url': [settings('mcp_servers: { s: { url: "http://127.0.0.1:9/a" } }'), settings('mcp_servers: { s: { url: "http://127.0.0.1:9/b" } }')],
  'server.headers': [server('headers: { X: a }'), server('headers: { X: b }')],
  'server.read_roots': [program('read_roots: [/usr/share/doc]'), program('read_roots: [/usr/share]')],
  'server.write_roots': [program('write_roots: [/var/tmp]'), program('write_roots: [/var/cache]')],
  'server.network': [program('args: [a]'), program('args: [a], network: true')],
  'server.allow': [program('allow: [elicitation]'), program('allow: [sampling]')],
  'server.trust': [program('args: [a]'), program('args: [a], trust: annotations')],
  'oauth.grant': 'is one of four words',
  'oauth.token_auth': 'is one of four words',
  'oauth.key_algorithm': 'is one of four words',
  'oauth.client_id': [oauth(credentials.replace('x', '"${A_TOKEN}"')), oauth(credentials.replace('x', '"${B_TOKEN}"'))],
  'oauth.client_secret': [oauth(credentials.replace('y', '"${A_TOKEN}"')), oauth(credentials.replace('y', '"${B_TOKEN}"'))],
  'oauth.scope': [oauth(`${credentials}, scope: "\${A_TOKEN}"`), oauth(`${credentials}, scope: "\${B_TOKEN}"`)],
  'oauth.private_key': [oauth(`${key}, private_key: "\${A_TOKEN}"`), oauth(`${key}, private_key: "\${B_TOKEN}"`)],
  'oauth.private_key_file': [oauth(`${key}, private_key_file: /etc/a`), oauth(`${key}, private_key_file: /etc/b`)],
  'oauth.key_id': [oauth(`${key}, private_key: x, key_id: "\${A_TOKEN}"`), oauth(`${key}, private_key: x, key_id: "\${B_TOKEN}"`)],
  'oauth.assertion': [oauth(`${jwt}, assertion: "\${A_TOKEN}"`), oauth(`${jwt}, assertion: "\${B_TOKEN}"`)],
  'oauth.assertion_file': [oauth(`${jwt}, assertion_file: /etc/a`), oauth(`${jwt}, assertion_file: /etc/b`)],
  'oauth.issuer': [oauth(`${credentials}, issuer: "https://a.example"`), oauth(`${credentials}, issuer: "https://b.example"`)],
  'oauth.client_metadata_url': [oauth('client_metadata_url: "https://a.example/c"'), oauth('client_metadata_url: "https://b.example/c"')],
  'oauth.idp_issuer': [oauth(idp), oauth(idp.replace('idp.example', 'other.example'))],
  'oauth.idp_client_id': [oauth(idp.replace(': y', ': "${A_TOKEN}"')), oauth(idp.replace(': y', ': "${B_TOKEN}"'))],
  'oauth.idp_client_secret': [oauth(`${idp}, idp_client_secret: "\${A_TOKEN}"`), oauth(`${idp}, idp_client_secret: "\${B_TOKEN}"`)],
  'oauth.idp_id_token': [oauth(idp.replace(': z', ': "${A_TOKEN}"')), oauth(idp.replace(': z', ': "${B_TOKEN}"'))],
  'oauth.idp_id_token_file': [oauth(idp.replace('idp_id_token: z', 'idp_id_token_file: /etc/a')), oauth(idp.replace('idp_id_token: z', 'idp_id_token_file: /etc/b'))],
  'oauth.idp_token_endpoint': [oauth(`${idp}, idp_token_endpoint: "https://a.example/t"`), oauth(`${idp}, idp_token_endpoint: "https://b.example/t"`)],
  'manifest.envPassthrough': ['A_TOKEN', 'B_TOKEN'].map(name => ({ ...one, 'tools.json': JSON.stringify({ tools: [{ name: 'x', command: ['/bin/true'], envPassthrough: [name] }] }) })),
  'space_tool.environment': ['A_TOKEN', 'B_TOKEN'].map(name => ({ ...one, 'agent/tools/d.md': `---\nid: d\nname: D\ndescription: d\ncommand: "true"\nenvironment: { A: "\${${name}}" }\n---\n` })),
  'tool.environment': ['A_TOKEN', 'B_TOKEN'].map(name => ({ ...one, '.harness/tools/d.md': `---\ncommand: "true"\nenvironment: { A: "\${${name}}" }\n---\nD.\n` })),
  'space_hook.command': ['true', 'false'].map(command => ({ ...one, 'agent/hooks/h.json': JSON.stringify({ hooks: [{ id: 'h', type: 'post_tool', command }] }) })),
  'source.url': [git('repo', 'FIRST'), git('copy', 'FIRST')],
  'source.ref': [git('repo', 'FIRST'), git('repo', 'SECOND')],
  'source.path': [source('type: local, path: ./one'), source('type: local, path: ./two')],
  'source.checksum': [git('repo', 'FIRST'), git('repo', 'FIRST', ', checksum: "sha256:SUM"')],
};

// Grants that depend on more than one row.
const more = {
  'the provider at the same base_url': [model('provider: openai, base_url: "http://127.0.0.1:9/v1"'), model('provider: anthropic, base_url: "http://127.0.0.1:9/v1"')],
  'the provider at the same base_url, from the name': [settings('model: { name: m-1, base_url: "http://127.0.0.1:9/v1" }'), settings('model: { name: claude-1, base_url: "http://127.0.0.1:9/v1" }')],
  'the provider that gets a variable': [model('provider: openai, api_key_env: KEY_A'), model('provider: anthropic, api_key_env: KEY_A')],
  'the provider that gets a header': [model('provider: openai, headers: { X: "${A_TOKEN}" }'), model('provider: anthropic, headers: { X: "${A_TOKEN}" }')],
  'one of several models': ['openai', 'anthropic'].map(provider => settings(`models: [{ name: a, provider: openai }, { name: b, provider: ${provider}, base_url: "http://127.0.0.1:9/v1" }]`)),
};

const text = { 'tools/hello.md': tool('return 1') };
function repositories(outside) {
  const sh = script => execFileSync('sh', ['-ec', script], { cwd: outside, encoding: 'utf8', env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' } }).trim();
  add(join(outside, 'repo'), text);
  const commit = 'git -C repo -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git -C repo rev-parse HEAD';
  const first = sh(`git init -q repo && git -C repo add -A && ${commit}`), second = sh(commit);
  sh('cp -r repo copy');
  const [[path, content]] = Object.entries(text);
  return { FIRST: first, SECOND: second, OUTSIDE: outside, SUM: createHash('sha256').update(`${path}\0${Buffer.byteLength(content)}\0${content}`).digest('hex') };
}

function stranger(t) {
  const outside = folder(t), dir = join(outside, 'project'), home = folder(t);
  const env = { HARNESS_TRUST: '', XDG_STATE_HOME: home, KEY_A: 'x' };
  const p = { dir, outside, run: (args, more = {}) => start(['-C', dir, ...args], { env: { ...env, ...more } }) };
  p.state = async () => {
    const r = await p.run(['trust', '--json']);
    assert.ok(r.stdout, r.stderr);
    return JSON.parse(r.stdout);
  };
  p.trust = async () => {
    const { stdout, stderr } = await p.run(['trust', '--print']);
    assert.match(stdout, /^sha256:/, stderr);
    const r = await p.run(['trust', '--accept', stdout.trim()]);
    assert.equal(r.status, 0, r.stderr);
    assert.equal((await p.state()).state, 'trusted');
  };
  return p;
}

test('every row that grants is in the table', () => {
  const text = readFileSync(join(root, 'src/artifact/grants.def'), 'utf8');
  const names = [...text.matchAll(/^\s*GRANTS\((\w+), (\w+),/gm)].map(([, format, key]) => `${format}.${key}`).filter(name => name !== 'format.key');
  assert.deepEqual(Object.keys(rows).sort(), names.sort());
});

// The usual settings of a provider and a model need no consent; any deviation does.
const home = { openai: ['https://api.openai.com/v1', 'OPENAI_API_KEY'], anthropic: ['https://api.anthropic.com', 'ANTHROPIC_API_KEY'],
  gemini: ['https://generativelanguage.googleapis.com/v1beta/openai', 'GEMINI_API_KEY'] };
const asks = {
  ...Object.fromEntries(Object.entries(home).flatMap(([provider, [url, key]]) => [
    [`${provider} with its usual key`, [`provider: ${provider}, api_key_env: ${key}`, []]],
    [`${provider} at its own address`, [`provider: ${provider}, base_url: "${url}/", api_key_env: ${key}`, []]],
    [`${provider} with another key`, [`provider: ${provider}, api_key_env: AWS_SECRET_ACCESS_KEY`, ['model.api_key_env']]],
    [`${provider} at its own address with another key`, [`provider: ${provider}, base_url: "${url}", api_key_env: AWS_SECRET_ACCESS_KEY`, ['model.api_key_env', 'model.base_url']]],
    [`${provider}: its usual key to another address`, [`provider: ${provider}, base_url: "https://collect.example/v1", api_key_env: ${key}`, ['model.api_key_env', 'model.base_url']]],
    [`${provider}: its usual key to another address, unnamed`, [`provider: ${provider}, base_url: "https://collect.example/v1"`, ['model.base_url']]],
    [`${provider}: an address that only begins alike`, [`provider: ${provider}, base_url: "${url}.collect.example"`, ['model.base_url']]],
    [`${provider}: a user before the host`, [`provider: ${provider}, base_url: "${url.replace('https://', 'https://x@')}"`, ['model.base_url']]],
  ])),
  'the key of another provider': ['provider: anthropic, api_key_env: OPENAI_API_KEY', ['model.api_key_env']],
  'the address of another provider': ['provider: anthropic, base_url: "https://api.openai.com/v1"', ['model.base_url']],
  'no provider, and its usual key': ['api_key_env: OPENAI_API_KEY', []],
  'the usual key and a header with a variable': ['provider: openai, api_key_env: OPENAI_API_KEY, headers: { X: "${A_TOKEN}" }', ['model.headers']],
  'a lower price for input': ['provider: openai, name: gpt-5, price: { input: 1, output: 10 }', ['model.price']],
  'a lower price for output': ['provider: openai, name: gpt-5-mini-2026, price: { input: 9, output: 1.9 }', ['model.price']],
  'a lower price for what is cached': ['provider: anthropic, name: claude-sonnet-4-5, price: { input: 3, output: 15, cached: 0.2, written: 3.75 }', ['model.price']],
  'a lower price for what is written': ['provider: anthropic, name: claude-sonnet-4-5, price: { input: 3, output: 15 }', ['model.price']],
  'a price that leaves input out': ['provider: openai, name: gpt-5, price: { output: 10 }', ['model.price']],
  'the price of the list': ['provider: openai, name: gpt-5, price: { input: 1.25, output: 10, cached: 0.125 }', []],
  'a higher price': ['provider: openai, name: gpt-5, price: { input: 2, output: 20 }', []],
  'the price of a model that is not listed': ['provider: openai, name: local-1, price: { input: 0, output: 0 }', []],
  'the price of a script': ['provider: script, name: gpt-5, script: m.star, price: { input: 0, output: 0 }', []],
};
describe('the usual is not asked about', { concurrency: 4 }, () => {
  for (const [name, [fields, paths]] of Object.entries(asks))
    for (const list of [false, true])
      test(`${name}${list ? ', in models' : ''}`, async t => {
        const p = stranger(t), profile = /name:/.test(fields) ? fields : `name: m, ${fields}`;
        add(p.dir, settings(list ? `models: [{ name: first, provider: openai }, { ${profile} }]` : `model: { ${profile} }`));
        const { state, grants } = await p.state();
        const own = grants.map(g => g.key).filter(key => !key.startsWith('model ')).sort();
        assert.deepEqual(own, paths.map(path => list ? path.replace('model', 'models[1]') : path), JSON.stringify(grants));
        assert.equal(grants.length > 0, paths.length > 0, JSON.stringify(grants));
        assert.equal(state, paths.length ? 'not trusted' : 'not needed');
      });
});

describe('another value is asked about', { concurrency: 4 }, () => {
  for (const [name, versions] of Object.entries({ ...rows, ...more })) {
    if (typeof versions === 'string') continue;
    test(name, async t => {
      const p = stranger(t), filled = name.startsWith('source.') ? repositories(p.outside) : {};
      const fill = files => Object.fromEntries(Object.entries(files).map(([path, body]) => [path, Object.entries(filled).reduce((b, [word, value]) => b.replaceAll(word, value), body)]));
      const [before, after] = versions.map(fill);
      add(p.outside, { 'a.star': '', 'b.star': '', 'a.jsonl': '', 'b.jsonl': '', 'a.json': '{"tools":[]}', 'b.json': '{"tools":[]}' });
      for (const folder of ['a', 'b', 'sa/agent', 'sb/agent']) mkdirSync(join(p.outside, folder), { recursive: true });
      add(p.dir, { 'one/tools/x.md': tool('return 1'), 'two/tools/x.md': tool('return 1'), 'a/x': '', 'b/x': '' });
      for (const files of name.startsWith('source.') ? [after, before] : [before]) {
        add(p.dir, files);
        if (filled.FIRST) assert.equal((await p.run(['pull'], { HARNESS_TRUST: p.dir })).status, 0);
      }
      await p.trust();
      add(p.dir, after);
      const now = await p.state();
      assert.notEqual(now.state, 'trusted', JSON.stringify(now));
      const { status, stderr } = await p.run(['call', 'one']);
      assert.equal(status, 1);
      assert.match(stderr, /is not trusted: it asks for more than you agreed to/);
      add(p.dir, before);
      assert.equal((await p.state()).state, 'trusted', 'what was agreed to holds again');
    });
  }

  test('the target of a root', async t => {
    for (const given of ['sandbox: { read_roots: [inner] }', 'sandbox: { write_roots: [inner] }', 'mcp_servers: { s: { command: "true", read_roots: [inner] } }',
      'mcp_servers: { s: { command: "true", write_roots: [inner] } }', 'mcp_servers: { s: { url: "http://127.0.0.1:9/", oauth: { grant: jwt_bearer, client_id: x, client_secret: y, assertion_file: inner } } }']) {
      const p = stranger(t);
      add(p.dir, { ...settings(`workspace: w\n${given}`), 'w/x': '' });           // a link inside the workspace is refused
      symlinkSync('/usr/share/doc', join(p.dir, 'inner'));
      await p.trust();
      rmSync(join(p.dir, 'inner'));
      symlinkSync('/usr', join(p.dir, 'inner'));
      assert.match((await p.run(['call', 'one'])).stderr, /is not trusted: it asks for more than you agreed to/, given);
    }
  });
});
