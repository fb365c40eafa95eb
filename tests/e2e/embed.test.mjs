// The C interface from outside: the examples, and what the libraries export.
import assert from 'node:assert/strict';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { build, folder, root, shell } from './harness.mjs';

const out = join(root, 'build', build);
const release = build === 'release' ? {} : { skip: 'libharness.so is part of the release build' };

// A copy of the example, so that its output is removed afterwards.
function example(t) {
  const dir = folder(t);
  cpSync(join(root, 'examples/embed'), dir, { recursive: true });
  return dir;
}

const expected = `  event tool.started
  event tool.executing
  event tool.completed
greet: "hello, you"
  event tool.started
  event tool.executing
  event custom.added
  event tool.completed
add: {"sum":5}
  event tool.refused
add: error: invalid arguments: /a: expected integer, got string; missing required property "b" (step validate)
  event tool.started
  may write run? sensitive name: .env.example
--- /dev/null
+++ .env.example
@@ -0,0 +1 @@
+KEY=
  event tool.executing
  event tool.completed
write: {"path":".env.example","created":true,"bytes":5}
  event tool.started
  event tool.executing
  event tool.failed
wait_long: error: cancelled (step execute)
our function ran 1 time
`;

test('embed.c runs with the shared library', release, t => {
  const dir = example(t);
  const compiled = shell(`cc -Wall -Wextra -Werror -std=c11 -D_GNU_SOURCE -I${root}/include embed.c -o embed -L${out} -lharness -lpthread -Wl,-rpath,${out}`, { cwd: dir });
  assert.equal(compiled.status, 0, compiled.stderr);
  const r = shell('./embed project', { cwd: dir });
  assert.equal(r.status, 0, r.stderr);
  assert.equal(r.stdout, expected);
  assert.equal(readFileSync(join(dir, 'project/.env.example'), 'utf8'), 'KEY=\n');
});

test('make builds what examples/embed/README.md uses', () => {
  const { stdout } = shell('make -n all', { cwd: root });
  assert.match(stdout, /build\.sh release .*\blibharness_shared\b/);
});

test('the commands of examples/embed/README.md work', release, t => {
  const lines = readFileSync(join(root, 'examples/embed/README.md'), 'utf8').split('\n').filter(l => l.startsWith('    ')).map(l => l.trim());
  assert.equal(lines.length, 2);
  const dir = example(t);
  for (const line of lines) {
    const r = shell(line.replaceAll('../..', root).replace('$PWD/', ''), { cwd: dir });
    assert.equal(r.status, 0, r.stderr);
    assert.match(r.stdout, /^greet: "?hello, you"?$/m);
  }
});

test('embed.c runs with the archive', release, t => {
  const dir = example(t);
  const compiled = shell(`cc -fno-lto -I${root}/include embed.c -o embed ${out}/libharness.a -lyaml -lgmp -lpcre2-8 -lpthread -lm -ldl`, { cwd: dir });
  assert.equal(compiled.status, 0, compiled.stderr);
  assert.equal(shell('./embed project', { cwd: dir }).stdout, expected);
});

test('the compile line in the README works', release, t => {
  const line = readFileSync(join(root, 'examples/embed/README.md'), 'utf8').match(/^ {4}(cc .*) -o embed (.*) && /m);
  const dir = folder(t);
  const r = shell(`${line[1]} -o ${dir}/embed ${line[2]}`, { cwd: join(root, 'examples/embed') });
  assert.equal(r.status, 0, r.stderr);
});

test('embed.py runs', release, t => {
  const dir = example(t);
  const r = shell('python3 embed.py project', { cwd: dir, env: { HARNESS_LIB: join(out, 'libharness.so') } });
  assert.equal(r.status, 0, r.stderr);
  const lines = r.stdout.split('\n');
  assert.match(lines[0], /^tools: .*greet.*shout/);
  assert.deepEqual(lines.slice(1, 4), ['greet: hello, you', 'shout: HÉLLO', 'shout: error: invalid arguments: /text: expected string, got number']);
  assert.match(lines[4], /^write: error: .*the user declined write \(sensitive name: \.env\)/);
  assert.match(lines[5], /^no_such_tool: error: unknown tool/);
  assert.equal(lines[6], 'linger: error: timed out after 0.2 s');
  assert.equal(lines[7], 'shouted 16 times more, from 16 threads');
  assert.ok(!existsSync(join(dir, 'project/.env')));
});

test('the shared library exports only the public header', release, () => {
  const shown = shell(`nm -D --defined-only ${out}/libharness.so | awk '{print $3}' | sed 's/@.*//' | sort`).stdout.trim().split('\n').filter(n => n !== 'HARNESS_0');
  const declared = [...readFileSync(join(root, 'include/harness.h'), 'utf8').matchAll(/^HARNESS_API .*?\b(harness_\w+)\(/gm)].map(m => m[1]).sort();
  assert.deepEqual(shown, declared);
});

test('the header is C and C++', release, t => {
  const dir = folder(t);
  for (const how of ['cc -std=c99 -pedantic -x c', 'g++ -std=c++11 -x c++']) {
    if (shell(`command -v ${how.split(' ')[0]}`).status) continue;
    const r = shell(`printf '#include <harness.h>\\nint main(void) { return !harness_version(); }\\n' | ${how} -Wall -Wextra -Werror -I${root}/include -c - -o ${dir}/x.o`);
    assert.equal(r.status, 0, r.stderr);
  }
});
