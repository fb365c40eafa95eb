// What the official conformance suite starts as the client under test: `node client.mjs URL`. It runs the commands of harness that a
// user would run for each scenario, and exits with the status of the last command that failed. HARNESS_BIN names the program.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const home = mkdtempSync(join(tmpdir(), 'harness-conformance-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));
const browser = join(import.meta.dirname, 'browser.mjs');
const env = { ...process.env, HOME: home, HARNESS_STATE: join(home, 'harness.db'), BROWSER: `${process.execPath} ${browser}` };

let status = 0;
function harness(...args) {
  const out = spawnSync(process.env.HARNESS_BIN, ['-C', home, ...args], { encoding: 'utf8', env, timeout: 25000 });
  process.stdout.write(out.stdout ?? '');
  process.stderr.write(out.stderr ?? '');
  if (out.status) status = out.status;
  if (out.error) throw out.error;
  return out.stdout;
}
const tools = () => JSON.parse(harness('mcp', 'tools', url, '--json', ...oauth()) || '{}').tools ?? [];
const call = (name, args = {}) => harness('mcp', 'call', url, name, JSON.stringify(args), '--elicit', 'accept', ...oauth());

const request = (method, params = {}) => JSON.parse(harness('mcp', 'request', url, method, JSON.stringify(params)));

// The client's settings from the scenario, as keys of `oauth:`. client_metadata_url is the document that the suite expects clients to name if they
// support it.
function oauth() {
  if (!scenario.startsWith('auth/')) return [];
  const { private_key_pem: private_key, signing_algorithm: key_algorithm, valid_jwt: assertion, client_id, client_secret, issuer,
          idp_client_id, idp_id_token, idp_issuer, idp_token_endpoint } = context;
  const grant = idp_id_token ? 'enterprise' : assertion ? 'jwt_bearer' : scenario.includes('client-credentials') ? 'client_credentials' : undefined;
  const settings = { grant, client_id, client_secret, issuer, private_key, key_algorithm, assertion, idp_client_id, idp_id_token, idp_issuer, idp_token_endpoint };
  if (scenario === 'auth/basic-cimd') settings.client_metadata_url = 'https://conformance-test.local/client-metadata.json';
  writeFileSync(join(home, 'oauth.json'), JSON.stringify(settings), { mode: 0o600 });
  return ['--oauth', join(home, 'oauth.json')];
}
const callAll = () => tools().forEach(tool => call(tool.name, example(tool.inputSchema)));

// Arguments that a schema accepts: something for each property that it requires.
function example({ properties = {}, required = [] }) {
  const values = { string: 'x', integer: 1, number: 1, boolean: true, object: {}, array: [], null: null };
  return Object.fromEntries(required.map(name => [name, values[properties[name]?.type] ?? 'x']));
}

const scenarios = {
  'http-custom-headers': () => context.toolCalls.forEach(({ name, arguments: args }) => call(name, args)),
  'http-standard-headers': () => {
    callAll();
    for (const { uri } of request('resources/list').resources) request('resources/read', { uri });
    for (const { name } of request('prompts/list').prompts) request('prompts/get', { name });
  },
  'request-metadata': () => call('any'),
  'json-schema-ref-no-deref': () => tools(),
  'json-schema-2020-12-preservation': () =>
    call('json_schema_echo', { schema: tools().find(tool => tool.name === 'json_schema_2020_12_tool').inputSchema }),
  'sep-2640-client-no-prefetch': () => request('skills/list'),
};
// SKILL.md does not match the server's list: the file next to it must not even be requested.
for (const what of ['digest', 'size', 'frontmatter'])
  scenarios[`sep-2640-client-verify-${what}`] = () => harness('mcp', 'skill', url, 'skill://pdf-processing/references/FORMS.md');

(scenarios[scenario] ?? callAll)();
if (process.env.CONFORMANCE_EXITS)       // how it ended, for the test: the suite itself does not keep that
  writeFileSync(join(process.env.CONFORMANCE_EXITS, `${scenario.replaceAll('/', '__')}.json`), JSON.stringify(status));
process.exitCode = status;
