// What a hook, git or a server runs from the workspace is protected, however the command line spells it; what cannot be known is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tool } from './calls.mjs';
import { person, users, ways } from './persons.mjs';

const sh = tool('r = exec.run("/bin/sh", ["-c", args["do"]])\nreturn [r["exit_code"], r["stdout"], r["stderr"]]', 'parameters:\n  do: { type: string }');
const rules = { 'harness.md': '---\nsandbox: {}\n---\nHi.\n', '.harness/tools/sh.md': sh };
const space = { ...rules, 'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n' };
const hooks = list => JSON.stringify({ hooks: list.map((h, i) => ({ id: `h${i}`, type: 'pre_tool', tools: ['read'], ...h })) });

// G is the folder of the case. The call tries to change the program, and a name next to it.
const spelled = [
  'cd G && ./two.sh', '(cd G; sh two.sh)', 'bash -c "G/two.sh"', 'sh G/"two".sh', "sh 'G'/two.sh", 'G\\/two.sh', 'jq -e -f G/rules.jq', 'jq -L G -e "import \\"rules\\" as r; true"', 'make -s -C G',
  'make -sCG', 'make --directory=G all', 'cd G; make', 'cd G; python3 -m two', 'node G', 'node ./G', 'awk -fG/two.awk', 'gawk --file=G/two.awk', 'env -C G ./two.sh', 'env --chdir=G ./two.sh',
  'env A=b G/two.sh', 'xargs G/two.sh', 'xargs -a G/list echo', '. G/lib.sh', '. ./G/lib.sh && check', 'sh <<EOF\nG/two.sh\nEOF', 'sh < G/two.sh', 'test "$(cat G/mode)" = on', 'echo "`cat G/mode`"',
  'grep -qxF -f G/list', 'grep -qf G/list', 'd=G; cat "$d"', 'PATH=G:$PATH two.sh', 'PATH=$PATH:G two.sh', 'export PYTHONPATH=G; python3 -c "import two"', 'PYTHONPATH=G python3 -c 1',
  'BASH_ENV=G/env.sh bash -c true', 'node --require=./G/x.js -e 1', 'node -r ./G/x.js -e 1', 'node -e "require(\'./G/two\')"', 'python3 -c "exec(open(\'G/two.py\').read())"', 'perl -IG -e 1',
  'perl G/two.pl', 'ruby -I G -e 1', 'timeout 5 nice -n 3 G/two.sh', 'if true; then G/two.sh; fi', 'f() { G/two.sh; }; f', 'for i in 1 2; do G/two.sh $i; done', 'case $TOOL_NAME in x) G/two.sh;; esac',
  '{ G/two.sh; } 2>/dev/null', 'true && ! G/two.sh', 'G/two.sh &', 'cat G/list | grep -q x', 'eval "G/two.sh"', 'trap G/two.sh EXIT', 'alias x=G/two.sh', 'find G -name x', 'find . -path ./G/list -prune',
  'tar -xf G/list --to-command=cat', 'sed -n -f G/two.sed', 'sed -nfG/two.sed', 'cat G/*.txt', 'grep -q x G/$TOOL_NAME.txt', 'cd G/..; G/two.sh', 'cd other && ../G/two.sh', 'cat <<< "$(G/two.sh)"',
  'python3 - <<EOF\nimport G.two\nEOF', 'diff -q G/list G/mode', 'exec G/two.sh', 'command G/two.sh', 'time G/two.sh', 'busybox sh G/two.sh', 'php G/two.php', 'lua G/two.lua', 'go run ./G',
  '[ -x G/later.sh ] && G/later.sh', 'git -c core.fsmonitor=G/two.sh status', 'rsync -e G/two.sh a b', 'tar -I G/two.sh -cf x y', 'bash --rcfile G/rc -i -c true', 'bash --init-file G/rc',
  'LD_PRELOAD=./G/x.so true', 'LD_PRELOAD=G/x.so:G/y.so true', 'NODE_OPTIONS="--require ./G/x.js" node -v', 'PERL5OPT=-IG perl -e 1', 'curl -d @G/list http://127.0.0.1', 'GIT_DIR=G git status',
  'sort --compress-program=G/two.sh', 'vim -S G/two.vim', 'jq --from-file G/rules.jq', 'deno run G/two.ts', 'uv run --directory G two', 'npm --prefix G test', 'ld.so G/two', '/lib64/ld-linux-x86-64.so.2 ./G/two',
  "$'G/two.sh'", 'G//two.sh', './G/./two.sh', 'G/../G/two.sh', '/proc/self/cwd/G/two.sh', 'hash -p G/two.sh ls; ls', 'awk \'BEGIN { system("G/two.sh") }\'', 'awk \'BEGIN { system("cd G; ./two.sh") }\'',
  'python3 -c "import os; os.system(\'cd G; ./two.sh\')"', 'ruby -r./G/two -e 1', 'python3 G', 'run-parts G', 'script -qc G/two.sh', 'flock lock G/two.sh', 'make -f - < G/Makefile', 'cp G/two.sh /tmp/x',
  'for f in G/list; do grep -qxf $f; done', '[[ -e G/list ]]', '[[ $(<G/mode) = on ]]', 'echo $(( $(cat G/mode) + 1 ))', 'echo ${x:-$(cat G/list)}', 'a=(G/list); cat "${a[0]}"', 'cat `echo \`cat G/list\``',
  'sh <<< G/two.sh', 'env -S "G/two.sh -x"', 'export NODE_PATH=G; node -e 1', 'jq -e \'include "G/rules" {search: "./"}; true\'', 'make SHELL=G/two.sh', 'GIT_CONFIG_GLOBAL=G/list git status', 'cd -P -- ./G/ && ./two.sh',
  'pushd G && ./two.sh', 'builtin cd G; ./two.sh', 'cd G/sub && ../two.sh', 'coproc G/two.sh', 'function f { G/two.sh; }; f', 'python3 -W ignore G/two.py', 'perl -Mlib=G -e 1', 'git bisect run G/two.sh',
  'parallel G/two.sh ::: a', 'exec 3<G/list; read x <&3', 'cat "G/with space"', 'npx -p ./G two', 'uvicorn --app-dir G two:app', 'LESSOPEN="|G/two.sh %s" less x', 'EDITOR=G/two.sh git commit', 'until G/two.sh; do :; done',
  'mapfile -t x < G/list', 'docker run -v ./G:/g x', 'openssl dgst -verify G/list', 'dd if=G/list', 'echo "G/list is bad"; for f in G/list; do grep -qf $f; done', 'cat lnkG/list', 'python3 lnkG/two.py',
];

// These cannot be known before they run.
const unknown = [
  ['d=g; $d/two.sh', '$d/two.sh'], ['d=g; python3 $d/two.py', '$d/two.py'], ['$(cat g/x)', '$(cat g/x)'], ['"$X"', '"$X"'], ['eval "$X"', '"$X"'], ['sh -c "$X"', '"$X"'], ['cd "$X" && ./two.sh', '"$X"'],
  ['cat g/x | sh', 'sh'], ['. "$X"', '"$X"'], ['jq -f "$F"', '"$F"'], ['awk -f $F', '$F'], ['node "$F"', '"$F"'], ['python3 -c "$CODE"', '"$CODE"'], ['cat $d/rules', '$d/rules'], ['xargs sh', 'sh'],
  ['find g -exec {} \\;', '{}'], ['for f in g/*; do $f; done', '$f'], ['g/*.sh', 'g/*.sh'], ['while read l; do $l; done < g/x', '$l'], ['PATH=.:$PATH two.sh', 'PATH=.:$PATH'], ['PATH=:/bin two.sh', 'PATH=:/bin'],
  ['python3 -m g.two', 'g.two'], ['python3 -Im g.two', 'g.two'], ['python3 -mg.two', '-mg.two'], ['env -C "$X" ./two.sh', '"$X"'], ['g/$X', 'g/$X'], ['sh "g/$X.sh"', '"g/$X.sh"'], ['LD_PRELOAD=$X true', 'LD_PRELOAD=$X'], ['LD_PRELOAD=$PWD/g/x.so true', 'LD_PRELOAD=$PWD/g/x.so'],
  ['python3 $X', '$X'], ['make -f $X', '$X'], ['${X:-g/two.sh}', '${X:-g/two.sh}'], ['cat "$(pwd)/g/x"', '"$(pwd)/g/x"'], ['bash <(cat g/x)', '<(cat g/x)'], ['env $X', '$X'], ["ls 'unclosed", null], ['grep -qf *.rules', '*.rules'], ['cat ./*.rules', './*.rules'], [`cat ${'x/y '.repeat(5000)}`, null],
  ['set -- g/two.sh; "$@"', '"$@"'], ["sh -c '\"$0\"' g/two.sh", null], ["sh -c 'cd \"$1\" && ./two.sh' _ g", null], ['g/tw?.sh', 'g/tw?.sh'], ['export PATH=.:$PATH; two.sh', 'PATH=.:$PATH'], ['env PATH=$PATH: two.sh', 'PATH=$PATH:'],
  ['PYTHONPATH=. python3 g/two.py', 'PYTHONPATH=.'], ['find . -name two.sh | xargs sh', 'sh'], ['printf g/two.sh | sh', 'sh'], ['a=(g/two.sh); "${a[@]}"', '"${a[@]}"'], ['IFS=/; set -- g two.sh; "$*"', '"$*"'],
  ['D=g; make -C $D', '$D'], ['python3 "$(ls g/*.py)"', '"$(ls g/*.py)"'], ['uvicorn g.two:app', 'g.two:app'], ['exec "$@"', '"$@"'], ['~+/g/two.sh', '~+/g/two.sh'], ['"${X}"/two.sh', '"${X}"/two.sh'], ['ls; eval `cat g/x`', '`cat g/x`'],
  ['NODE_PATH=/proc/self/cwd/ node g/x', 'NODE_PATH=/proc/self/cwd/'],
];

// Ordinary commands that name no file of the workspace, or none that they run.
const fine = ["jq -e '.tool != \"bash\"'", 'grep -q foo', 'exit 2', 'test "$(jq -r .tool)" != bash', 'echo "$TOOL_INPUT" | jq -e .input', 'printf "%s %s\\n" "$TOOL_NAME" "$AGENT_ID" >> logs/audit.log',
  'tee -a logs/in.jsonl', "test ! -e FROZEN || { echo '{\"block\": true}'; }", 'case "$TOOL_NAME" in rm*|bash) exit 1;; esac', 'python3 g/check.py "$TOOL_NAME"', 'jq -e --arg t "$TOOL_NAME" \'.tool == $t\'',
  'x=$(jq -r .input.path); [ "${x#/}" = "$x" ]', 'sed "s/$TOOL_NAME/x/"', "awk -v t=\"$TOOL_NAME\" 'END { exit t == \"x\" }'", 'echo "see docs/why for $TOOL_NAME"; exit 1', 'grep -q "$TOOL_NAME" /etc/hostname',
  'curl -s "https://example.com/$TOOL_NAME"', 'set -eu; read -r line; [ -n "$line" ]', 'cat >/dev/null; exit 0', 'sh g/check.sh "$TOOL_NAME" "$(date)"', 'grep -qxF "$TOOL_NAME" g/allowed.txt',
  'true # $X/y', 'jq -r ".input | @json" > /tmp/$$.json', 'tr -d [:space:] | wc -c', 'ls -- \'*.c\'', 'rm -f *.tmp', 'python3 -c "import json, sys; json.load(sys.stdin)"'];

const folders = spelled.map((_, i) => `g${i}x`);
const inside = ['two.sh', 'list', 'mode'];
const attack = `for d in ${folders.join(' ')}; do for f in ${inside.join(' ')}; do echo evil > $d/$f; done; echo evil > $d/json.py; echo evil > $d/later.sh; mv $d $d.gone; done; echo ok > free; echo ok > other/free; exit 0`;
const files = { ...Object.fromEntries(folders.flatMap(d => inside.map(f => [`${d}/${f}`, 'good\n']))), ...Object.fromEntries(folders.map(d => [`${d}/with space`, 'x'])), ...Object.fromEntries(folders.map(d => [`${d}/sub/x`, 'x'])) };
const opened = p => folders.flatMap((d, i) => [...inside.filter(f => !p.has(`${d}/${f}`) || p.text(`${d}/${f}`) !== 'good\n').map(f => `${spelled[i]}: ${f}`),
  ...['json.py', 'later.sh'].filter(f => p.has(`${d}/${f}`)).map(f => `${spelled[i]}: new ${f}`)]);

for (const user of ways) {
  const as = `as ${user.name}`;

  test(`hooks: every spelling of a program protects its folder, ${as}`, t => {
    const p = person(t, user, { ...space, ...files, 'other/free': '', 'agent/hooks/h.json': hooks(spelled.map((command, i) => ({ command: command.replaceAll('G', folders[i]) }))) });
    p.sh(folders.map(d => `ln -s ${d} lnk${d}`).join('; '));
    const check = p.harness(['validate']);
    assert.deepEqual(check.stderr.split('\n').filter(line => / hook "/.test(line)), []);
    const r = p.call('sh', { do: attack });
    assert.deepEqual(opened(p), [], r.stderr);
    assert.ok(p.has('free'), r.stdout.slice(0, 2000) + r.stderr);
    assert.equal(p.text('other/free'), '', '`cd other` names that folder');
  });
}
for (const user of users) {
  const as = `as ${user.name}`;
  test(`hooks: what cannot be known is refused, with the word and what to do, ${as}`, t => {
    const p = person(t, user, { ...space, 'g/two.sh': '', 'g/two.py': '', 'g/x': '', 'agent/hooks/h.json': hooks(unknown.map(([command]) => ({ command }))) });
    const r = p.harness(['validate']), lines = r.stderr.split('\n');
    assert.equal(r.status, 1);
    const wrong = unknown.filter(([, word], i) => {
      const line = lines.find(l => l.includes(`hook "h${i}": command: `)) ?? '';
      return !/^harness: agent\/hooks\/h\.json:1:\d+: /.test(line) || !/ \(.*(folder of (?:its|their) own|name the program|name the file)/.test(line) || (word && !line.includes(`command: ${word}: `));
    });
    assert.deepEqual(wrong, [], r.stderr);
    assert.equal(p.call('sh', { do: 'true' }).status, 1);
  });
  test(`hooks: ordinary commands load, ${as}`, t => {
    const p = person(t, user, { ...space, 'logs/audit.log': '', 'src/a.c': '', 'docs/x': '', 'g/check.py': '', 'g/check.sh': '', 'g/allowed.txt': '', 'agent/hooks/h.json': hooks(fine.map(command => ({ command }))) });
    const r = p.call('sh', { do: 'echo x > src/a.c; echo x > logs/audit.log; echo x > new; echo x > docs/x' });
    assert.equal(r.status, 0, r.stdout + r.stderr);
    assert.deepEqual(['src/a.c', 'logs/audit.log', 'new', 'docs/x'].map(p.text), ['x\n', 'x\n', 'x\n', 'x\n']);
  });
}

// Names that do not exist yet. QQ is the name of the case; no call may create it, nor the name with an extension that the program tries.
const missing = ['PYTHONPATH=QQ python3 g/guard.py', 'PATH=QQ:$PATH; python3 g/guard.py', 'export PATH=QQ:$PATH; python3 g/guard.py', '[ -e QQ ] && exit 0; python3 g/guard.py', 'test ! -f QQ || exit 0',
  '[[ -e QQ ]] && exit 0', 'perl -IQQ -MJSON::PP -e 1', 'perl -I QQ -e 1', 'sh QQ', 'bash QQ', '. QQ', 'source QQ', 'cd QQ && ./two.sh', 'make -C QQ', 'make -CQQ', 'make -f QQ', 'python3 QQ', 'python3 -O QQ', 'python3 g/guard.py -o QQ', 'node QQ', 'awk -f QQ', 'awk -fQQ',
  'BASH_ENV=QQ bash -c true', 'LD_LIBRARY_PATH=QQ true', 'LD_LIBRARY_PATH=/lib:QQ true', 'PERL5LIB=QQ perl g/x.pl', 'NODE_PATH=QQ node g/x.js', 'ruby -IQQ g/x.rb', 'grep -qf QQ', 'grep -qfQQ', 'grep --file=QQ -q',
  'grep -q foo QQ', 'opa eval -d QQ.rego data.x', '[ "$(cat QQ)" = y ]', 'python3 g/guard.py --config=QQ', 'python3 g/guard.py --config QQ', 'python3 g/guard.py -c QQ', 'python3 g/guard.py QQ', 'jq -e -f QQ', 'jq -L QQ -e .x',
  'jq -e --slurpfile r QQ .x', 'jq -e . QQ', 'sed -n -f QQ', 'sed -n p QQ', 'cat < QQ', 'mycheck QQ', 'for f in a QQ; do grep -qf $f; done', 'a=(QQ); cat "${a[0]}"', 'x=QQ; cat "$x"', 'echo QQ | xargs cat', 'cat $(echo QQ)',
  'set -- QQ; cat "$1"', 'python3 -c "import os, sys; sys.exit(os.path.exists(\'QQ\'))"', 'node -e "process.exit(+require(\'fs\').existsSync(\'QQ\'))"', 'perl -e "exit 1 if -e \'QQ\'"', 'find . -newer QQ', 'test g/guard.py -nt QQ',
  'env -C QQ ./two.sh', 'java -cp QQ Main', 'java -cp /x.jar:QQ Main', 'git -C QQ status', 'diff g/guard.py QQ', 'ls QQ', 'sh -c "cat QQ"', 'if [ -s QQ ]; then exit 0; fi', 'python3 - <<EOF\nopen("QQ")\nEOF', 'read x < QQ',
  'ZDOTDIR=QQ zsh -c true', 'uv run --directory QQ x', 'npm --prefix QQ test', 'tsx QQ.ts', 'bun QQ'];
const endings = { 'node QQ': ['.js', '.json'], 'bun QQ': ['.ts'] };
// A call tries each name as a file and as a folder.
const makes = names => `for n in ${names.join(' ')}; do echo evil > $n; mkdir $n && echo evil > $n/json.py; done; echo ok > free; exit 0`;
const names = list => list.flatMap((row, i) => [`q${i}x`, `q${i}x.rego`, `q${i}x.ts`, ...(endings[row] ?? []).map(e => `q${i}x${e}`)]);
const made = (p, list) => list.flatMap((row, i) => {
  const name = /QQ\.\w+/.exec(JSON.stringify(row))?.[0] ?? 'QQ';
  return [name, ...(endings[row] ?? []).map(e => `QQ${e}`)].map(n => n.replace('QQ', `q${i}x`)).filter(p.has).map(n => `${JSON.stringify(row)}: ${n}`);
});

// Ordinary names that these commands do not protect: a call may create them.
const ordinary = ["jq -e '.tool != \"bash\"'", 'jq -e .tests', 'jq -r --arg tests "$TOOL_NAME" .x', 'grep -q tests', 'grep -qi lib', "awk '{ print }'", 'sed -n p', 'test "$(jq -r .tool)" != bash', '[ "$TOOL_NAME" = lib ]', 'exit 2',
  'echo tests; exit 1', 'printf lib', 'make tests', 'npm run build', 'npm test', 'cargo build', 'go build', 'git diff --quiet', 'read -r lib', 'export tests', 'find . -name build', 'mkdir -p build', 'tee build', 'cat > lib', 'sleep 1',
  'ruff check', 'timeout 5 jq -e .x', 'jq . > build', 'cp g/guard.py lib', 'sort -u -o lib', '[[ $TOOL_NAME = lib ]]', 'case $TOOL_NAME in lib) exit 1;; esac', 'python3 -c "import json, sys; sys.exit(json.load(sys.stdin)[\'tests\'] == \'lib\')"'];
const free = ['bash', 'tests', 'lib', 'build', 'foo', 'check', 'diff', '.tests', 'p', 'x'];

for (const user of ways) {
  const as = `as ${user.name}`;
  test(`hooks: no call makes what a command names and is not there, ${as}`, t => {
    const p = person(t, user, { ...space, 'g/guard.py': '', 'agent/hooks/h.json': hooks(missing.map((command, i) => ({ command: command.replaceAll('QQ', `q${i}x`) }))) });
    const check = p.harness(['validate']);
    assert.deepEqual(check.stderr.split('\n').filter(line => / hook "/.test(line)), []);
    const r = p.call('sh', { do: makes(names(missing)) });
    assert.deepEqual(made(p, missing), [], r.stderr);
    assert.ok(p.has('free'), r.stdout.slice(0, 2000) + r.stderr);
  });
}
for (const user of users) {
  test(`hooks: patterns, text, targets and sub-commands leave names free, as ${user.name}`, t => {
    const p = person(t, user, { ...space, 'g/guard.py': '', 'agent/hooks/h.json': hooks(ordinary.map(command => ({ command }))) });
    const r = p.call('sh', { do: `for n in ${free.join(' ')}; do mkdir $n || exit 1; done` });
    assert.equal(r.status, 0, r.stdout + r.stderr);
    assert.deepEqual(free.filter(n => !p.has(n)), [], r.stdout + r.stderr);
  });
  test(`hooks: a name that is there in one folder, and a link to nothing, as ${user.name}`, t => {
    const p = person(t, user, { ...space, 'own/conf': '', 'agent/hooks/h.json': hooks([{ command: '(cd own; ls); cat conf' }, { command: 'grep -qf link' }]) });
    assert.equal(p.sh('ln -s to/come link; mkdir to').status, 0);
    p.call('sh', { do: 'echo evil > conf; echo evil > to/come; echo evil > link; exit 0' });
    assert.ok(!p.has('conf') && !p.has('to/come'));
  });
  test(`hooks: a guard that imports from a folder to come is not fooled, as ${user.name}`, t => {
    const guard = 'import json, sys\nsys.exit(2 if json.load(sys.stdin)["tool"] == "sh" else 0)\n';
    const p = person(t, user, { ...space, 'g/guard.py': guard, '.harness/tools/free.md': sh, 'agent/hooks/h.json': hooks([{ command: 'PYTHONPATH=lib python3 g/guard.py', tools: ['sh', 'free'] }]) });
    p.call('free', { do: 'mkdir -p lib; echo "load = lambda f: {\'tool\': \'x\'}" > lib/json.py; exit 0' });
    assert.ok(!p.has('lib'));
    p.call('sh', { do: 'echo passed > passed' });
    assert.ok(!p.has('passed'));
  });
}

// Servers. `env`, `args`: G is the folder of the case.
const server = `
import json, os, sys
import extra
for line in sys.stdin:
    m = json.loads(line)
    if 'id' not in m: continue
    r = {}
    if m['method'] == 'initialize':
        r = {'protocolVersion': m['params']['protocolVersion'], 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'm', 'version': '1'}}
    elif m['method'] == 'tools/list':
        r = {'tools': [{'name': 'go', 'description': 'Goes.', 'inputSchema': {'type': 'object'}}]}
    elif m['method'] == 'tools/call':
        try:
            open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cache'), 'w').write('x')
            text = 'wrote'
        except OSError as e:
            text = e.strerror
        r = {'content': [{'type': 'text', 'text': text + ' ' + extra.name}]}
    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)
`;
const served = [
  { args: ['python3', 'G/two.py'] }, { args: ['sh', '-c', 'exec ./G/two.sh'] }, { args: ['sh', '-c', 'cd G && exec ./two.sh'] }, { args: ['./G/two.sh'] }, { args: ['G/two.sh', '--flag'] },
  { args: ['node', '--require=./G/x.js', 's.js'] }, { args: ['node', '-r', './G/x.js', '/s.js'] }, { args: ['node', '--import', './G/x.mjs', '/s.js'] }, { args: ['uv', 'run', '--directory', 'G', 'two'] },
  { args: ['uv', '--project=G', 'run', 'two'] }, { args: ['uvx', '--from', './G', 'two'] }, { args: ['npx', './G'] }, { args: ['npm', '--prefix', 'G', 'start'] }, { args: ['python3', '-m', 'two'], cwd: 'G' },
  { args: ['npm', 'start'], cwd: 'G' }, { args: ['node', '.'], cwd: 'G' }, { args: ['env', '-C', 'G', './two.sh'] }, { args: ['bash', '-lc', '. G/env.sh; exec two'] }, { args: ['make', '-C', 'G', 'serve'] }, { args: ['make', '-sC', 'G', 'serve'] }, { args: ['make', '-CG'] },
  { args: ['mcp', 'run', 'G/two.py'] }, { args: ['deno', 'run', 'G/two.ts'] }, { args: ['java', '-jar', 'G/two.jar'] }, { args: ['two'], env: { BASH_ENV: 'G/env.sh' } }, { args: ['two'], env: { ENV: './G/env.sh' } },
  { args: ['two'], env: { LD_PRELOAD: 'G/x.so' } }, { args: ['two'], env: { LD_LIBRARY_PATH: '/usr/lib:G' } }, { args: ['two'], env: { NODE_OPTIONS: '--max-old-space-size=64 --require ./G/x.js' } },
  { args: ['two'], env: { PYTHONPATH: 'G' } }, { args: ['two'], env: { PYTHONSTARTUP: 'G/x.py' } }, { args: ['two'], env: { PERL5LIB: 'G:/x' } }, { args: ['two'], env: { RUBYLIB: 'G' } },
  { args: ['two'], env: { PERL5OPT: '-IG -Mx' } }, { args: ['two'], env: { PATH: 'G:/usr/bin:/bin' } }, { args: ['two'], env: { NODE_PATH: './G' } }, { args: ['sh', '-c', 'PYTHONPATH=G exec two'] },
  { args: ['env', 'PYTHONPATH=G', 'two'] }, { args: ['sh', '-c', 'export NODE_PATH=G; two'] }, { args: ['timeout', '9', 'nice', 'python3', 'G/two.py'] }, { args: ['busybox', 'sh', 'G/two.sh'] },
  { args: ['python3', '-c', "import runpy; runpy.run_path('G/two.py')"] }, { args: ['two'], env: { LD_PRELOAD: '${DIR}/G/x.so' } },
  { args: ['uvicorn', '--app-dir', 'G', 's:app'] }, { args: ['uvicorn', '--app-dir=G', 'two:app'] }, { args: ['gunicorn', '--chdir', 'G', 's:app'] }, { args: ['gunicorn', '--chdir', 'G', 'two:app'] }, { args: ['flask', '--app', 'G/s', 'run'] },
  { args: ['flask', '--app', 's', 'run'], cwd: 'G' }, { args: ['celery', '--workdir', 'G', '-A', 's', 'worker'] }, { args: ['npx', '-y', 'file:G'] }, { args: ['conda', 'run', '-p', 'G', 'two'] }, { args: ['bun', 'G'] }, { args: ['node', '--run', 'start'], cwd: 'G' },
];
const servedMissing = [
  { args: ['python3', 'QQ'] }, { args: ['sh', 'QQ'] }, { args: ['node', 'QQ'] }, { args: ['make', '-C', 'QQ'] }, { args: ['uv', '--directory', 'QQ', 'run', 'x'] }, { args: ['npm', '--prefix', 'QQ', 'start'] },
  { args: ['sh', '-c', 'cd QQ && exec python3 s.py'] }, { args: ['java', '-cp', 'QQ', 'Main'] }, { args: ['bun', 'QQ.ts'] }, { args: ['bun', 'QQ'] }, { args: ['tsx', 'QQ.ts'] }, { args: ['runner', 'QQ.ts'] }, { args: ['uvx', '--from', 'QQ', 'x'] },
  ...['PYTHONPATH', 'PYTHONUSERBASE', 'GIT_EXEC_PATH', 'GCONV_PATH', 'ZDOTDIR', 'UV_PROJECT', 'BASH_ENV', 'LD_LIBRARY_PATH', 'PERL5LIB', 'NODE_PATH', 'RUBYLIB'].map(name => ({ args: ['two'], env: { [name]: 'QQ' } })),
  { args: ['two'], env: { PATH: '/usr/bin:QQ' } }, { args: ['env', 'PYTHONPATH=QQ', 'two'] }, { args: ['npx', '-y', 'file:QQ'] },
  { args: ['conda', 'run', '-p', 'QQ', 'python3', '-V'] }, { args: ['deno', 'run', 'QQ'] },
];
const entries = list => list.map(({ args: [command, ...args], cwd, env }, i) => {
  const g = s => s.replaceAll('G', `g${i}x`).replaceAll('QQ', `q${i}x`);
  return `  s${i}: ${JSON.stringify({ command: g(command), args: args.map(g), ...(cwd ? { cwd: g(cwd) } : {}), ...(env ? { env: Object.fromEntries(Object.entries(env).map(([k, v]) => [k, g(v)])) } : {}) })}\n`;
}).join('');
const settings = more => `---\nsandbox: {}\nmcp_servers:\n${more}---\nHi.\n`;

for (const user of ways) {
  const as = `as ${user.name}`;
  test(`servers: every spelling of a program protects its folder, ${as}`, t => {
    const dirs = served.map((_, i) => `g${i}x`), names = ['two.py', 'two.sh', 'list'];
    const p = person(t, user, { ...rules, 'harness.md': settings(entries(served)), ...Object.fromEntries(dirs.flatMap(d => names.map(f => [`${d}/${f}`, 'good\n']))) });
    const r = p.call('sh', { do: `for d in ${dirs.join(' ')}; do for f in ${names.join(' ')}; do echo evil > $d/$f; done; echo evil > $d/json.py; done; echo ok > free; exit 0` });
    const open = dirs.flatMap((d, i) => [...names.filter(f => p.text(`${d}/${f}`) !== 'good\n').map(f => `${JSON.stringify(served[i])}: ${f}`), ...(p.has(`${d}/json.py`) ? [`${JSON.stringify(served[i])}: new`] : [])]);
    assert.deepEqual(open, [], r.stderr);
    assert.equal(p.text('free'), 'ok\n', r.stderr);
  });

  test(`servers: no call makes code, a working folder or a loader's folder that is not there, ${as}`, t => {
    const p = person(t, user, { ...rules, 'harness.md': settings(entries(servedMissing)) });
    const r = p.call('sh', { do: makes(names(servedMissing)) });
    assert.deepEqual(made(p, servedMissing), [], r.stderr);
    assert.ok(p.has('free'), r.stdout.slice(0, 2000) + r.stderr);
  });

  test(`servers: files beside a program are used, and no call can add one, ${as}`, t => {
    const p = person(t, user, { ...rules, 'harness.md': settings('  m: { command: python3, args: [srv/a.py] }\n'), 'srv/a.py': server, 'srv/extra.py': "name = 'own'\n" });
    p.call('sh', { do: 'echo "name = 1" > srv/extra.py; echo evil > srv/json.py; mkdir srv/json; mv srv old; exit 0' });
    assert.deepEqual([p.has('srv/json.py'), p.has('srv/json'), p.text('srv/extra.py')], [false, false, "name = 'own'\n"]);      // without mounts a copy may stay at `old`
    const r = p.call('mcp:m:go');                        // the server cannot write its own folder either: the load or the call fails
    assert.match(JSON.stringify(r.result ?? r.stdout), /(Read-only file system|Permission denied) own|srv\/cache was made by the call and has been removed/, r.stderr);
    assert.ok(!p.has('srv/cache') && !p.has('srv/__pycache__'));
  });

  test(`servers: a program in the workspace itself takes no modules from there, ${as}`, t => {
    const p = person(t, user, { ...rules, 'harness.md': settings('  m: { command: python3, args: [a.py] }\n'), 'a.py': server.replace('import extra', 'class extra: name = "safe"').replace("'cache'", "'/dev/null'") });
    assert.equal(p.call('sh', { do: 'echo "raise SystemExit(1)" > json.py' }).status, 0);
    const r = p.call('mcp:m:go');
    assert.match(JSON.stringify(r.result), /safe/, r.stderr);
    assert.match(r.stderr, /a\.py: the folder of this program of server m contains the workspace/);
    p.call('sh', { do: 'echo evil > a.py' });
    assert.doesNotMatch(p.text('a.py'), /evil/);
  });

  const gits = ['cd G && ./two.sh', 'sh G/"two".sh', 'd=G; $d/two.sh', 'make -C G', 'python3 -m G.two', 'node G', 'awk -fG/two.awk', 'env -C G ./two.sh', 'PYTHONPATH=G x', '. G/two.sh', 'sh -c "cd G; ./two.sh"', 'G/two.sh'];
  test(`git: programs in every spelling, with the files beside them, ${as}`, t => {
    const dirs = gits.map((_, i) => `g${i}x`);
    const p = person(t, user, { ...rules, ...Object.fromEntries(dirs.map(d => [`${d}/two.sh`, 'good\n'])), 'src/a.c': '' });
    const later = ['sh QQ', 'python3 QQ', 'cd QQ && ./x', 'make -C QQ', 'PYTHONPATH=QQ x', 'node QQ'];
    const set = [...gits, ...later.map((v, i) => v.replaceAll('QQ', `q${i}x`))].map((v, i) => `git config 'filter.f${i}.clean' '${v.replaceAll('G', dirs[i] ?? 'G')}'`).join(' && ');
    assert.equal(p.sh(`git init -q . && ${set} && git config alias.x 'log -- src' && git config alias.y '!git -C src log'`).status, 0);
    const r = p.call('sh', { do: `for d in ${dirs.join(' ')}; do echo evil > $d/two.sh; echo evil > $d/json.py; done; echo ok > free; echo ok > src/a.c; exit 0` });
    assert.deepEqual(dirs.flatMap((d, i) => (p.text(`${d}/two.sh`) !== 'good\n' || p.has(`${d}/json.py`) ? [gits[i]] : [])), [], r.stderr);
    assert.deepEqual([p.text('free'), p.text('src/a.c')], ['ok\n', 'ok\n']);
    p.call('sh', { do: makes(names(later)) });
    assert.deepEqual(made(p, later), []);
  });
}

for (const user of users) {
  const as = `as ${user.name}`;
  test(`servers: what cannot be known, and write_roots in the program's folder, are refused, ${as}`, t => {
    for (const [entry, said] of [
      ['{ command: sh, args: [-c, "exec $X"] }', /harness\.md:4:\d+: server "m": command: .*which program this is, is known only when it runs/],
      ['{ command: sh, args: [-c, "d=srv; python3 $d/a.py"] }', /it chooses code, and is known only when it runs/],
      ['{ command: python3, args: [-m, srv.a] }', /'srv\.a': Python loads the modules of -m from the working folder, and tools can write there \(name the file/],
      ['{ command: uvicorn, args: ["x:app"] }', /'x:app': the program loads modules from the working folder, and tools can write there \(keep the package in a folder of its own/],
      ['{ command: uvicorn, args: ["srv.a:app"] }', /'srv\.a:app': the .*from the working folder/], ['{ command: gunicorn, args: [--pythonpath, srv, "s:app"] }', /'s:app': the program loads modules/],
      ['{ command: flask, args: [--app, x, run] }', /'x': the program loads modules/], ['{ command: celery, args: [-A, x, worker] }', /'x': the program loads modules/],
      ['{ command: python3, args: [srv/a.py], write_roots: [srv] }', /write_roots\[0\]: srv has the server's own program, which nothing may change while it is used \(let it write to another folder/],
      ['{ command: python3, args: [srv/a.py], write_roots: [srv/cache] }', /write_roots\[0\]: srv\/cache has/],
    ]) {
      const p = person(t, user, { ...rules, 'harness.md': settings(`  m: ${entry}\n`), 'srv/a.py': '', 'srv/cache/x': '' });
      const r = p.harness(['validate']);
      assert.equal(r.status, 1, entry);
      assert.match(r.stdout + r.stderr, said, entry);
    }
  });

  test(`servers: data that they work on is free, ${as}`, t => {
    const list = ['{ command: npx, args: [-y, "@x/server-filesystem", ./docs] }', '{ command: python3, args: [srv/a.py, --root, data, --out=docs] }', '{ command: two, args: [--directory, data], env: { DATA_DIR: data, LOG_LEVEL: level, RUST_LOG: level } }', '{ command: python3, args: [srv/a.py, out, --level=level] }',
      '{ command: python3, args: [-m, mcp_server_git, --repository, docs] }'];
    const p = person(t, user, { ...rules, 'harness.md': settings(list.map((e, i) => `  s${i}: ${e}\n`).join('')), 'srv/a.py': '', 'docs/x': '', 'data/x': '' });
    assert.equal(p.call('sh', { do: 'echo ok > docs/x; echo ok > data/x; echo ok > data/new' }).status, 0);
    assert.deepEqual(['docs/x', 'data/x', 'data/new'].map(p.text), ['ok\n', 'ok\n', 'ok\n']);
    assert.equal(p.call('sh', { do: 'echo ok > package.json; mkdir level out' }).status, 0);
    p.call('sh', { do: 'echo script-shell=./evil > .npmrc' });
    assert.ok(!p.has('.npmrc'));
    p.call('sh', { do: 'mkdir -p node_modules/.bin node_modules/@x/server-filesystem; echo evil > node_modules/.bin/server-filesystem; echo ok > node_modules/.bin/other' });
    assert.ok(!p.has('node_modules/.bin/server-filesystem') && !p.has('node_modules/@x/server-filesystem') && p.has('node_modules/.bin/other'));
  });

  test(`node --run: the script comes from a package.json that no call changes, as ${user.name}`, t => {
    const p = person(t, user, { ...rules, 'harness.md': settings('  m: { command: node, args: [--run, start] }\n') });
    p.call('sh', { do: 'echo evil > package.json; exit 0' });
    assert.ok(!p.has('package.json'));
  });

  test(`a folder of a program that is too large stops the call with a reason, ${as}`, t => {
    const p = person(t, user, { ...rules, 'harness.md': settings('  m: { command: python3, args: [srv/a.py] }\n'), 'srv/a.py': '' });
    assert.equal(p.sh('truncate -s 300M srv/model.bin').status, 0);
    const r = p.call('sh', { do: 'true' });
    assert.equal(r.status, 1);
    assert.match(r.stdout + r.stderr, /protected files exceed \d+ bytes, at .*srv\/model\.bin.*keep large files apart/s);
  });
}
