// The official conformance suite, latest release and newest pre-release: every scenario for servers against `harness mcp serve` on the
// project tests/mcp-conformance, every scenario for clients through the commands of harness (tests/mcp-conformance/client.mjs), each in every
// version of the protocol that it applies to. A package runs many scenarios in one process; each becomes a test here, from its recorded results.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, test } from 'node:test';
import { bin, folder, root } from './harness.mjs';
import { fixture, http, slow } from './mcp_serve.mjs';

const packages = { latest: '@modelcontextprotocol/conformance', next: 'conformance-next' };

// A requirement set contains every scenario of that version, those added later and most extensions; scenarios in none of these sets are run separately.
const all = [
  { pack: 'latest', label: 'release', words: ['--suite', 'all'] },
  { pack: 'next', label: 'pre-release at 2025-03-26', words: ['--suite', 'all', '--spec-version', '2025-03-26'] },
  { pack: 'next', label: 'pre-release at 2025-06-18', words: ['--suite', 'all', '--spec-version', '2025-06-18'] },
  { pack: 'next', label: 'pre-release at 2025-11-25', words: ['--requirements', '2025-11-25'] },
  { pack: 'next', label: 'pre-release at 2026-07-28', words: ['--requirements', '2026-07-28'] },
];
const runs = slow ? all.slice(-1) : all;         // slow builds: only the run with the most scenarios

// Checks that no implementation can pass, with the reason. Other skipped checks count as failed.
const inherent = {
  'tasks-status-notifications': () => true,                                      // the suite always skips it
  'sep-2243-client-includes-standard-headers': ({ name }) => /initialize/.test(name),    // a stateless client sends no initialize and no initialized
  'sep-2575-client-declares-roots-capability': ({ status }) => status === 'SKIPPED',     // not declared: the command supports forms only
  'sep-2575-client-declares-sampling-capability': ({ status }) => status === 'SKIPPED',
  'client-sse-retry-timing': ({ details }) => details.tooEarly === false,        // a late response is caused by the load of this machine; the newer suite does not check it
};
// Scenarios in which the server is not trustworthy or has no tool to call: the client must end with an error.
const refused = /^request-metadata$|^auth\/(resource-mismatch|iss-(supported-missing|wrong-issuer|unexpected|normalized)|metadata-issuer-mismatch|scope-retry-limit)$|^sep-2640-client-verify-/;

function conformance(pack, words, env = {}) {
  const program = join(root, 'tests/e2e/node_modules', packages[pack], 'dist/index.js');
  return new Promise(resolve => execFile(process.execPath, [program, ...words], { maxBuffer: 1 << 28, env: { ...process.env, ...env } },
    (error, stdout, stderr) => resolve({ status: error?.code ?? 0, text: stdout + stderr })));
}

// The recorded results of a run: scenario → checks.
function results(dir, prefix) {
  return Object.fromEntries(globSync(join(dir, '**/checks.json')).map(file => {
    const name = relative(dir, dirname(file)).replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '').slice(prefix.length);
    return [name, JSON.parse(readFileSync(file, 'utf8'))];
  }));
}

function judge(checks) {
  const bad = checks.filter(check => !['SUCCESS', 'INFO'].includes(check.status) && !inherent[check.id]?.(check));
  assert.deepEqual(bad.map(({ id, status, errorMessage, details }) => ({ id, status, errorMessage, details })), []);
  assert.ok(checks.length > 0, 'nothing was checked');
}

const covered = { server: new Set(), client: new Set() };

// Runs one process of a package; `words` select the scenarios.
async function serverRun(t, pack, words) {
  const { url } = await http(t, fixture(t));
  const dir = folder(t);
  const { text } = await conformance(pack, ['server', '--url', url, '-o', dir, ...words]);
  const found = results(dir, 'server-');
  assert.ok(Object.keys(found).length > 0, text);
  for (const [scenario, checks] of Object.entries(found)) {
    if (pack === 'next') covered.server.add(scenario);
    await t.test(scenario, () => judge(checks));
  }
}

async function clientRun(t, pack, words) {
  const dir = folder(t), exits = folder(t);
  // The suite starts all scenarios at once, through a shell: locks let three run at a time.
  const command = `flock ${dir}/$(($$%3)).lane ${process.execPath} ${join(root, 'tests/mcp-conformance/client.mjs')}`;
  const { text } = await conformance(pack, ['client', '--command', command, '--timeout', '120000', '-o', dir, ...words], { HARNESS_BIN: bin, CONFORMANCE_EXITS: exits });
  const found = results(dir, '');
  assert.ok(Object.keys(found).length > 0, text);
  const ended = Object.fromEntries(readdirSync(exits).map(name => [name.slice(0, -5).replaceAll('__', '/'), JSON.parse(readFileSync(join(exits, name)))]));
  for (const [scenario, checks] of Object.entries(found)) {
    if (pack === 'next') covered.client.add(scenario);
    await t.test(scenario, () => {
      judge(checks);
      assert.equal(ended[scenario], refused.test(scenario) ? 1 : 0, 'exit status of the client');
    });
  }
}

const kinds = { server: serverRun, client: clientRun };
describe('conformance', { concurrency: 3 }, () => {
  for (const { pack, label, words } of runs)
    for (const [kind, run] of Object.entries(kinds)) test(`${kind}, ${label}`, t => run(t, pack, words));
});
for (const [kind, run] of Object.entries(kinds))
  test(`conformance of the ${kind}: the rest of the pre-release`, { skip: slow && 'a representative run is enough here' }, async t => {
    const { text } = await conformance('next', ['list', `--${kind}`]);
    const names = [...text.matchAll(/^ {2}- (\S+) \[.+\]$/gm)].map(match => match[1]);
    assert.ok(names.length > 40, text);
    for (const name of names.filter(name => !covered[kind].has(name))) await t.test(name, sub => run(sub, 'next', ['--scenario', name]));
  });
