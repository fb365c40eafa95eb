// Tests the documentation: every command and file in it works, every link is valid, and every feature is described.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { build, root, run, shell } from './harness.mjs';
import { blocks, broken, clientOf, conversation, desk, fileOf, fits, links, pages, session, text } from './pages.mjs';

const generated = ['docs/reference/cli.md', 'docs/reference/starlark.md'];
const source = path => readFileSync(join(root, path), 'utf8');
const sanitized = build === 'asan' || build === 'tsan' || build === 'hostile';

// Requirements of a block that this machine or build does not meet.
function lacking(block) {
  if (block.words.includes('compile') && (sanitized || !existsSync(join(root, 'build', build, 'libharness.so')))) return 'libharness.so is part of the release build';
}

describe('every page works as shown', { concurrency: 4 }, () => {
  for (const page of pages()) {
    const shown = blocks(text(page)).filter(b => fileOf(b) || b.language === 'sh' || b.language === 'terminal');
    if (shown.length === 0) continue;
    test(page, async t => {
      const at = desk(t);
      for (const block of shown) {
        const where = `${page}:${block.line}`;
        if (fileOf(block)) {
          assert.ok(block.above.includes('`' + fileOf(block) + '`'), `${where}: the text above names \`${fileOf(block)}\``);
          at.write(fileOf(block), block.body);
          continue;
        }
        const why = lacking(block);
        if (why) t.diagnostic(`${where}: left out: ${why}`);
        if (why || block.words.includes('norun')) continue;
        if (block.language === 'terminal') {
          assert.equal(await at.converse(conversation(block.body)), undefined, where);
          continue;
        }
        for (const step of session(block.body)) {
          const { exit, output } = await at.run(step.command);
          assert.ok(fits(step.expected, output), `${where}: $ ${step.command}\n--- the page says\n${step.expected.join('\n')}\n--- it prints\n${output}`);
          assert.equal(exit, step.exit, `${where}: $ ${step.command}\nends with ${exit}, the page says ${step.exit}\n${output}`);
        }
      }
    });
  }
});

test('a wrong page is detected', () => {
  for (const [expected, output, good] of [
    [['a', 'b'], 'a\nb\n', true], [['a', 'b'], 'a\nc\n', false], [['a'], 'a\nb\n', false], [['a', 'b'], 'a\n', false], [[], 'a\n', false], [[], '', true],
    [['a…c'], 'abc\n', true], [['a…c'], 'abcd\n', false], [['a…c'], 'a\nc\n', false], [['a', '…'], 'a\nb\nc\n', true], [['…', 'c'], 'a\nb\n', false], [['a.c'], 'abc\n', false],
  ]) assert.equal(fits(expected, output), good, JSON.stringify([expected, output]));
  assert.deepEqual(session('$ a\nb\n(exit 3)\n$ c\n> d\n'), [{ command: 'a', expected: ['b'], exit: 3 }, { command: 'c\nd', expected: [], exit: 0 }]);
  assert.throws(() => session('a\n'));
  assert.match(broken('README.md', 'docs/nothing.md'), /not there/);
  assert.match(broken('README.md', 'docs/README.md#nothing'), /no heading/);
  assert.match(broken('docs/README.md', '#nothing'), /no heading/);
  assert.equal(broken('docs/README.md', '../README.md#source-layout'), undefined);
  assert.deepEqual(links('[a](b.md#c) `[x](y)` [z](https://example.com)\n```\n[q](r)\n```\n').map(l => l.target), ['b.md#c']);
});

test('all blocks are of a tested kind', () => {
  for (const page of pages().filter(p => !generated.includes(p))) {
    const markdown = text(page);
    for (const block of blocks(markdown)) {
      const where = `${page}:${block.line}`;
      if (fileOf(block) || clientOf(block)) continue;
      assert.ok(['sh', 'terminal', 'text', 'mermaid'].includes(block.language), `${where}: a block is a file (file=PATH), a session (sh, terminal) or text, not ${block.language || 'nothing'}`);
      if (block.language === 'text') assert.doesNotMatch(block.body, /^\$ /m, `${where}: commands stand in sh blocks`);
      if (block.words.includes('norun') && page !== 'docs/troubleshooting.md')       // newcomer.test.mjs tests that page
        for (const line of block.body.trim().split('\n'))
          assert.match(line, /^(make|git clone|cd|sudo|source|export|man|harness run|harness mcp)\b/, `${where}: ${line} can be run`);
    }
    const plain = markdown.replace(/^(`{3,}).*\n[\s\S]*?^\1$/gm, block => block.replace(/[^\n]/g, ''));
    const indented = /\n\n {4,}\S.*/.exec(plain);
    assert.equal(indented, null, `${page}: fence this block, so that it is tried: ${indented}`);
  }
});

test('no file has merge markers', () => {
  const { stdout } = shell("git grep -lE '^(<{7}|>{7}) ' || true", { cwd: root });
  assert.equal(stdout, '');
});

test('no link is dead', () => {
  const dead = [...pages(), 'CHANGELOG.md', ...examples()].flatMap(page =>
    links(text(page)).map(l => [l, broken(page, l.target)]).filter(([, why]) => why).map(([l, why]) => `${page}:${l.line}: ${l.target}: ${why}`));
  assert.deepEqual(dead, []);
});

const examples = () => readdirSync(join(root, 'examples'), { recursive: true }).filter(f => f.endsWith('README.md')).map(f => join('examples', f));

test('the man page names existing files, and every command', () => {
  const man = source('docs/man/harness.1').replace(/\\-/g, '-').replace(/\\f[BIRP]/g, '');
  for (const command of commands()) assert.match(man, new RegExp(`\\b${command}\\b`), command);
  for (const [path] of man.matchAll(/\bdocs\/[\w/.-]+\.md\b/g)) assert.ok(existsSync(join(root, path)), path);
});

test('functions are in the files that the tour names', () => {
  const tour = ['README.md', ...pages().filter(p => p.startsWith('docs/internals/'))].map(text).join('\n');
  const named = [...tour.matchAll(/`([a-z]\w+_\w+)`\s+\(`(src\/[\w/.]+)`/g)].map(([, name, file]) => [name, file]);
  assert.ok(named.length > 5, `${named.length} names`);
  assert.deepEqual(named.filter(([name, file]) => !new RegExp(`\\b${name}\\(`).test(source(file))), []);
  for (const [file] of tour.matchAll(/\bsrc\/[\w/]+\.(?:[ch]|def)\b/g)) assert.ok(existsSync(join(root, file)), file);
  const rooms = readdirSync(join(root, 'src'), { withFileTypes: true }).filter(e => e.isDirectory()).map(e => e.name);
  assert.deepEqual(rooms.filter(room => !tour.includes(`| \`${room}/\` |`)), []);
});

test('every page is in the index', () => {
  const index = text('docs/README.md');
  for (const page of pages().filter(p => p.startsWith('docs/') && p !== 'docs/README.md'))
    assert.ok(index.includes(`](${page.slice(5)})`), `${page} is not in docs/README.md`);
});

// ---- completeness ----

const commands = () => [...run(['help', '--markdown']).stdout.matchAll(/^## harness (.+)$/gm)].map(m => m[1]);
const written = () => pages().filter(p => !generated.includes(p) && p.startsWith('docs/')).map(text).join('\n');
const missing = (names, prose) => names.filter(name => !prose.includes('`' + name + '`') && !new RegExp('`[^`\n]*(?<![\\w.])' + name.replace(/\W/g, '\\$&') + '(?!\\w)[^`\n]*`').test(prose));

test('generated pages are current', () => {
  assert.equal(text('docs/reference/cli.md'), run(['help', '--markdown']).stdout);
  assert.equal(text('docs/reference/starlark.md'), run(['help', '--starlark-markdown']).stdout);
  const checked = shell('python3 scripts/docs.py --check', { cwd: root });
  assert.equal(checked.status, 0, checked.stdout + checked.stderr);
});

test('every command is described beyond its reference', () => {
  const prose = written();
  assert.deepEqual(commands().filter(c => !prose.includes(`harness ${c}`) && !new RegExp(`harness (-\\S+ \\S+ )?${c}\\b`).test(prose)), []);
});

test('every example of a command uses flags that the command has', () => {
  const page = text('docs/reference/cli.md'), everywhere = page.split('\n## ')[1];
  for (const part of page.split('\n## harness ').slice(1)) {
    const name = part.slice(0, part.indexOf('\n'));
    const shown = part.slice(part.indexOf('Example:')).split('\n').filter(l => l.startsWith('    '));
    assert.ok(shown.length, `${name} has an example`);
    for (const line of shown)
      for (const [flag] of line.replace(/ (--|&&|\|) .*/, '').matchAll(/(?<= )--?[a-z][a-z-]*/g))
        assert.ok(part.includes('`' + flag) || everywhere.includes('`' + flag), `${name}: ${flag} in ${line.trim()}`);
  }
});

test('every field of every file is described', () => {
  const page = text('docs/reference/artifacts.md');
  const tables = readdirSync(join(root, 'src/artifact')).filter(f => f.endsWith('.c')).map(f => source(`src/artifact/${f}`)).join('\n');
  const names = [...tables.matchAll(/KEY\(\w+, (\w+)\)|\b(?:FLAG|SECTION)\((\w+)[,)]|^ {4}SETTING\(\w+, (\w+), /gm)].map(m => m[1] ?? m[2] ?? m[3]);
  assert.ok(names.length > 150, `${names.length} names`);
  assert.deepEqual(missing([...new Set(names)], page), []);
});

test('every host function and every built-in tool is described', () => {
  const page = text('docs/reference/starlark.md');
  const calls = [...source('src/artifact/host_names.def').matchAll(/^(?:MEMBER\((\w+), (\w+)|FLAT\((\w+))/gm)].map(m => m[3] ?? `${m[1]}.${m[2]}`);
  assert.ok(calls.length > 100);
  assert.deepEqual(calls.filter(c => !page.includes('`' + c + '(')), []);
  const tools = [...source('src/artifact/builtin_names.def').matchAll(/^\w+\("?(\w+)"?/gm)].map(m => m[1]);
  assert.ok(tools.includes('bash') && tools.includes('read'));
  assert.deepEqual(missing(tools.filter(n => n === n.toLowerCase()), text('docs/reference/tools.md')), []);
});

test('every command of a conversation is described', () => {
  const names = [...source('src/cli/terminal/talk_commands.c').matchAll(/^ {4}\{ "(\w+)", "/gm)].map(m => '/' + m[1]);
  assert.ok(names.length >= 7);
  const prose = pages().map(text).join('\n');
  assert.deepEqual(names.filter(n => !new RegExp('`' + n + '\\b|^> ' + n + '\\b', 'm').test(prose)), []);
});

test('every function of the C interface is described', () => {
  const names = [...new Set(source('include/harness.h').match(/\bharness_\w+(?=\()/g))];
  assert.ok(names.length > 20);
  assert.deepEqual(missing(names, text('docs/reference/c-api.md')), []);
});

test('every variable of the environment that harness reads is described', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true }).filter(f => /\.[ch]$/.test(f)).map(f => source(join('src', f))).join('\n');
  const names = [...new Set([...files.matchAll(/\b(?:getenv|env|variable)\("([A-Z]+_[A-Z_]+)"/g)].map(m => m[1]))];
  assert.ok(names.includes('HARNESS_STATE'), names.join());
  assert.deepEqual(missing(names, pages().map(text).join('\n')), []);
});
