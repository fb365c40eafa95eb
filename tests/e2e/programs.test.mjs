// What a hook, git or a server runs from the workspace is protected, however the command line spells it; what cannot be known is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tool } from './calls.mjs';
import { person, users, ways } from './persons.mjs';

const sh = tool('r = exec.run("/bin/sh", ["-c", args["do"]])\nreturn [r["exit_code"], r["stdout"], r["stderr"]]', 'parameters:\n  do: { type: string }');
const rules = { 'harness.md': '---\nsandbox: {}\n---\nHi.\n', '.harness/tools/sh.md': sh };
const space = { ...rules, 'agent/config.md': '---\nid: a\nname: A\n---\nHi.\n' };
const hooks = list => JSON.stringify({ hooks: list.map((h, i) => ({ id: `h${i}`, type: 'pre_tool', tools: ['nothing'], ...h })) });

// G is the folder of the case. What the call tries to change: the program, and a name beside it.
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
];

// These cannot be known before they run.
const unknown = [
  ['d=g; $d/two.sh', '$d/two.sh'], ['d=g; python3 $d/two.py', '$d/two.py'], ['$(cat g/x)', '$(cat g/x)'], ['"$X"', '"$X"'], ['eval "$X"', '"$X"'], ['sh -c "$X"', '"$X"'], ['cd "$X" && ./two.sh', '"$X"'],
  ['cat g/x | sh', 'sh'], ['. "$X"', '"$X"'], ['jq -f "$F"', '"$F"'], ['awk -f $F', '$F'], ['node "$F"', '"$F"'], ['python3 -c "$CODE"', '"$CODE"'], ['cat $d/rules', '$d/rules'], ['xargs sh', 'sh'],
  ['find g -exec {} \\;', '{}'], ['for f in g/*; do $f; done', '$f'], ['g/*.sh', 'g/*.sh'], ['while read l; do $l; done < g/x', '$l'], ['PATH=.:$PATH two.sh', 'PATH=.:$PATH'], ['PATH=:/bin two.sh', 'PATH=:/bin'],
  ['python3 -m g.two', 'g.two'], ['python3 -Im g.two', 'g.two'], ['python3 -mg.two', '-mg.two'], ['env -C "$X" ./two.sh', '"$X"'], ['g/$X', 'g/$X'], ['sh "g/$X.sh"', '"g/$X.sh"'], ['LD_PRELOAD=$X true', 'LD_PRELOAD=$X'], ['LD_PRELOAD=$PWD/g/x.so true', 'LD_PRELOAD=$PWD/g/x.so'],
  ['python3 $X', '$X'], ['make -f $X', '$X'], ['${X:-g/two.sh}', '${X:-g/two.sh}'], ['cat "$(pwd)/g/x"', '"$(pwd)/g/x"'], ['bash <(cat g/x)', '<(cat g/x)'], ['env $X', '$X'], ["ls 'unclosed", null],
];

// Ordinary commands that say nothing about files of the workspace, or nothing that matters.
const fine = ["jq -e '.tool != \"bash\"'", 'grep -q foo', 'exit 2', 'test "$(jq -r .tool)" != bash', 'echo "$TOOL_INPUT" | jq -e .input', 'printf "%s %s\\n" "$TOOL_NAME" "$AGENT_ID" >> logs/audit.log',
  'tee -a logs/in.jsonl', "test ! -e FROZEN || { echo '{\"block\": true}'; }", 'case "$TOOL_NAME" in rm*|bash) exit 1;; esac', 'python3 g/check.py "$TOOL_NAME"', 'jq -e --arg t "$TOOL_NAME" \'.tool == $t\'',
  'x=$(jq -r .input.path); [ "${x#/}" = "$x" ]', 'sed "s/$TOOL_NAME/x/"', "awk -v t=\"$TOOL_NAME\" 'END { exit t == \"x\" }'", 'echo "see docs/why for $TOOL_NAME"; exit 1', 'grep -q "$TOOL_NAME" /etc/hostname',
  'curl -s "https://example.com/$TOOL_NAME"', 'set -eu; read -r line; [ -n "$line" ]', 'cat >/dev/null; exit 0', 'sh g/check.sh "$TOOL_NAME" "$(date)"', 'grep -qxF "$TOOL_NAME" g/allowed.txt',
  'true # $X/y', 'jq -r ".input | @json" > /tmp/$$.json', 'tr -d [:space:] | wc -c', 'python3 -c "import json, sys; json.load(sys.stdin)"'];

const folders = spelled.map((_, i) => `g${i}x`);
const inside = ['two.sh', 'rules.jq', 'list', 'mode', 'Makefile'];
const attack = `for d in ${folders.join(' ')}; do for f in ${inside.join(' ')}; do echo evil > $d/$f; done; echo evil > $d/json.py; echo evil > $d/later.sh; mv $d $d.gone; done; echo ok > free; echo ok > other/free; exit 0`;
const files = Object.fromEntries(folders.flatMap(d => inside.map(f => [`${d}/${f}`, 'good\n'])));
const opened = p => folders.flatMap((d, i) => [...inside.filter(f => !p.has(`${d}/${f}`) || p.text(`${d}/${f}`) !== 'good\n').map(f => `${spelled[i]}: ${f}`),
  ...['json.py', 'later.sh'].filter(f => p.has(`${d}/${f}`)).map(f => `${spelled[i]}: new ${f}`)]);

for (const user of ways) {
  const as = `as ${user.name}`;

  test(`hooks: every spelling of a program protects its folder, ${as}`, t => {
    const p = person(t, user, { ...space, ...files, 'other/free': '', 'agent/hooks/h.json': hooks(spelled.map((command, i) => ({ command: command.replaceAll('G', folders[i]) }))) });
    const r = p.call('sh', { do: attack });
    assert.deepEqual(opened(p), [], r.stderr);
    assert.equal(p.text('free'), 'ok\n', r.stderr);
    assert.equal(p.text('other/free'), '', '`cd other` names that folder');
  });
}
for (const user of users) {
  const as = `as ${user.name}`;
  test(`hooks: what cannot be known is refused, with the word and what to do, ${as}`, t => {
    for (const [command, word] of unknown) {
      const p = person(t, user, { ...space, 'g/two.sh': '', 'g/two.py': '', 'g/x': '', 'agent/hooks/h.json': hooks([{ command }]) });
      const r = p.harness(['validate']);
      assert.equal(r.status, 1, command);
      const said = r.stdout + r.stderr;
      assert.match(said, /agent\/hooks\/h\.json:1:\d+: hook "h0": command: /, command);
      assert.ok(!word || said.includes(`command: ${word}: `), `${command}: ${said}`);
      assert.match(said, /script in a folder of its own|name the program|name the file/, command);
      if (word === '$d/two.sh') assert.equal(p.call('sh', { do: 'true' }).status, 1, command);
    }
  });
  test(`hooks: ordinary commands load, ${as}`, t => {
    const p = person(t, user, { ...space, 'logs/audit.log': '', 'src/a.c': '', 'docs/x': '', 'g/check.py': '', 'g/check.sh': '', 'g/allowed.txt': '', 'agent/hooks/h.json': hooks(fine.map(command => ({ command }))) });
    const r = p.call('sh', { do: 'echo x > src/a.c; echo x > logs/audit.log; echo x > new; echo x > docs/x' });
    assert.equal(r.status, 0, r.stdout + r.stderr);
    assert.deepEqual(['src/a.c', 'logs/audit.log', 'new', 'docs/x'].map(p.text), ['x\n', 'x\n', 'x\n', 'x\n']);
  });
}
