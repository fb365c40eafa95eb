// What a conversation looks like: the screen is read back from two terminals (pyte and tmux) at several sizes, and compared with what it should be.
// On every screen no row is broken by the terminal itself, so no word is broken.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { scripted } from './agents.mjs';
import { bin, environment, folder, project, root, undo } from './harness.mjs';

const model = `
WORDS = "The quick brown fox jumps over the lazy dog while internationalization committees deliberate about it.\\n\\n- an item of a list that goes on below its own text when it is long\\n\\n> a quotation that keeps its bar on every row when it is long enough\\n"
WIDE = "日本語の文章には空白がないので、どの文字の間でも改行できます。改行しても幅を超えません。 🎉 done 🎉\\n\\n| 名前 | meaning |\\n|---|---|\\n| 日本 | Japan 🎌 |\\n"
TABLE = "| Tool | What it does |\\n|:--|:--|\\n| \`read\` | reads a file of the workspace and returns numbered lines |\\n| grep | searches |\\n\\nAfter it.\\n"
MANY = "| One | Two | Three | Four | Five |\\n|---|---|--:|---|---|\\n| alphabetical | betamethasone | 3 | delta | epsilon |\\n| second | row | 33 | of | five |\\n"
def call(tool, **args):
    return {"name": tool, "arguments": args}
def reply(messages, tools):
    last = messages[-1]
    said = [m["content"] for m in messages if m["role"] == "user"][-1]
    results = len([m for m in messages[max([i for i, m in enumerate(messages) if m["role"] == "user"]):] if m["role"] == "tool"])
    if said == "words": return WORDS
    if said == "wide": return WIDE
    if said == "table": return TABLE
    if said == "many": return MANY
    if said == "parallel" and results == 0:
        return {"tool_calls": [call("danger", what = "everything"), call("hold", name = "a"), call("hold", name = "b")]}
    if said == "later" and results == 0: return {"text": "I wait", "tool_calls": [call("hold", name = "a")]}
    if said == "later" and results == 1: return {"tool_calls": [call("danger", what = "everything")]}
    if said == "hold" and results == 0: return {"text": "I wait", "tool_calls": [call("hold", name = "a")]}
    if said == "ask" and results == 0: return {"tool_calls": [call("danger", what = "everything that is in this folder and in all of the folders below it")]}
    if said == "edit" and results == 0: return {"tool_calls": [call("edit", path = "notes.txt", old_string = "two", new_string = "zwei")]}
    if said == "background" and results == 0: return {"tool_calls": [call("delegate_async", agent = "helper", task = "help")]}
    if said == "delegate" and results == 0: return {"tool_calls": [call("delegate", agent = "helper", task = "look at it")]}
    if said == "long" and results == 0: return {"tool_calls": [call("long")]}
    if results: return "That was %d." % results
    return "<" + said + ">"
`;
const files = {
  ...scripted(model, 'builtin_tools: [read, edit]\n'),
  'notes.txt': 'one\ntwo\nthree\n',
  '.harness/tools/hold.md': '---\nsafety: {parallel_safe: true}\nparameters:\n  name: {type: string}\nscript: |\n  def run(args):\n      exec.run("sh", ["-c", "until [ -e go ]; do sleep 0.02; done; touch $0", args["name"] + ".done"], timeout_ms = 60000)\n      return "held"\n---\nWaits for the file go.\n',
  '.harness/tools/danger.md': '---\nconfirm: true\nsafety: {parallel_safe: true}\nparameters:\n  what: {type: string}\nscript: |\n  def run(args):\n      return "did " + args["what"]\n---\nDangerous.\n',
  '.harness/tools/long.md': '---\nscript: |\n  def run(args):\n      return "\\n".join(["row %d of an output that is much too long for a screen of any size, 日本語, and which must be cut on a wide one as well as on a narrow one" % i for i in range(300)])\n---\nMuch.\n',
};

function show({ terminal = 'pyte', size = [80, 24], dir, state, steps, program, env = {}, args = [] }) {
  const work = { terminal, size, steps, program: program ?? [bin, '-C', dir, 'run', ...args] };
  return new Promise((resolve, reject) => {
    const child = execFile('/usr/bin/python3', [join(root, 'tests/e2e/screen.py')], { encoding: 'utf8', maxBuffer: 1 << 26, timeout: 120000,
      env: { ...environment, SCREEN_PATIENCE: process.env.SCREEN_PATIENCE ?? '30', TERM: 'xterm-256color', XDG_STATE_HOME: state, ...env } },
    (error, stdout, stderr) => {
      if (error) return reject(new Error(`${error.message}\n${stderr}`));
      const r = JSON.parse(stdout);
      if (r.missing) return reject(new Error(`did not come about: ${JSON.stringify(r.missing)} on\n${r.last.join('\n')}`));
      resolve(r);
    });
    child.stdin.end(JSON.stringify(work));
  });
}
const type = text => ({ type: text }), wait = text => ({ wait: text }), cursor = text => ({ cursor: text }), look = name => ({ look: name });
const say = text => [cursor('>'), type(`${text}\r`)];

// Rows from the last prompt with `said` to the end, or all rows if it has scrolled off. Without times.
function after(rows, said) {
  const from = rows.lastIndexOf(`> ${said}`);
  let to = rows.length;
  while (to > 0 && rows[to - 1] === '') to--;
  return rows.slice(from + 1, to).map(row => row.replace(/( ·)? +[\d.]+ m?s( \(waited .*\))?$/, ''));
}
const status = 'scripted · <1 % of context';
const terminals = [['pyte', [80, 24]], ['pyte', [120, 40]], ['pyte', [40, 20]], ['tmux', [80, 24]], ['tmux', [120, 40]], ['tmux', [40, 20]]];

// Each state: what is typed, and the rows that must follow the prompt, by the width of the terminal.
const states = [
  { name: 'an answer is broken at words', said: 'words', rows: {
    120: ['The quick brown fox jumps over the lazy dog while internationalization committees deliberate about it.', '',
      '• an item of a list that goes on below its own text when it is long', '', '│ a quotation that keeps its bar on every row when it is long enough', status, '>'],
    80: ['The quick brown fox jumps over the lazy dog while internationalization', 'committees deliberate about it.', '',
      '• an item of a list that goes on below its own text when it is long', '', '│ a quotation that keeps its bar on every row when it is long enough', status, '>'],
    40: ['The quick brown fox jumps over the lazy', 'dog while internationalization', 'committees deliberate about it.', '', '• an item of a list that goes on below', '  its own text when it is long', '',
      '│ a quotation that keeps its bar on', '│ every row when it is long enough', status, '>'] } },
  { name: 'wide characters count twice', said: 'wide', rows: {
    120: ['日本語の文章には空白がないので、どの文字の間でも改行できます。改行しても幅を超えません。 🎉 done 🎉', '', '名前 │ meaning', '─────┼─────────', '日本 │ Japan 🎌', status, '>'],
    80: ['日本語の文章には空白がないので、どの文字の間でも改行できます。改行しても幅を超え', 'ません。 🎉 done 🎉', '', '名前 │ meaning', '─────┼─────────', '日本 │ Japan 🎌', status, '>'],
    40: ['日本語の文章には空白がないので、どの文字', 'の間でも改行できます。改行しても幅を超え', 'ません。 🎉 done 🎉', '', '名前 │ meaning', '─────┼─────────', '日本 │ Japan 🎌', status, '>'] } },
  { name: 'a table is drawn and fits', said: 'table', rows: {
    120: ['Tool │ What it does', '─────┼─────────────────────────────────────────────────────────', 'read │ reads a file of the workspace and returns numbered lines', 'grep │ searches', '', 'After it.', status, '>'],
    80: ['Tool │ What it does', '─────┼─────────────────────────────────────────────────────────', 'read │ reads a file of the workspace and returns numbered lines', 'grep │ searches', '', 'After it.', status, '>'],
    40: ['Tool │ What it does', '─────┼──────────────────────────────────', 'read │ reads a file of the workspace and', '     │ returns numbered lines', 'grep │ searches', '', 'After it.', status, '>'] } },
  { name: 'a table that cannot fit becomes a list', said: 'many', rows: {
    120: ['One          │ Two           │ Three │ Four  │ Five', '─────────────┼───────────────┼───────┼───────┼────────', 'alphabetical │ betamethasone │     3 │ delta │ epsilon',
      'second       │ row           │    33 │ of    │ five', status, '>'],
    80: ['One          │ Two           │ Three │ Four  │ Five', '─────────────┼───────────────┼───────┼───────┼────────', 'alphabetical │ betamethasone │     3 │ delta │ epsilon',
      'second       │ row           │    33 │ of    │ five', status, '>'],
    40: ['One: alphabetical', '  Two: betamethasone', '  Three: 3', '  Four: delta', '  Five: epsilon', '', 'One: second', '  Two: row', '  Three: 33', '  Four: of', '  Five: five', status, '>'] } },
];

for (const [terminal, size] of terminals) {
  test(`screens of ${terminal}, ${size.join('x')}`, async t => {
    const dir = project(t, files), state = folder(t);
    const r = await show({ terminal, size, dir, state, steps: states.flatMap(s => [...say(s.said), wait(`> ${s.said}`), cursor('>'), look(s.said)]).concat([type('exit\r'), { end: true }]) });
    assert.equal(r.status, 0);
    for (const s of states) {
      await t.test(s.name, () => {
        assert.deepEqual(after(r.looks[s.said].rows, s.said), s.rows[size[0]]);
        assert.equal(r.looks[s.said].wrapped, 0);
      });
    }
  });
}

const each = (name, run) => {
  for (const [terminal, size] of terminals) test(`${name} (${terminal}, ${size.join('x')})`, t => run(t, { terminal, size, dir: project(t, files), state: folder(t) }, size[0] < 72));
};
const leave = [type('exit\r'), { end: true }];
// The rows of a question, as they must be: nothing else between them.
const question = (what, size) => [
  'allow danger? (marked confirm: true)', '  {', ...what.map(x => `    ${x}`), '  }',
  ...(size[0] >= 120 ? ['y once · a these arguments, this session · t this tool, this session · p these arguments, always in this project · n no']
    : size[0] >= 80 ? ['y once · a these arguments, this session · t this tool, this session', 'p these arguments, always in this project · n no']
      : ['y once · a these arguments, this session', 't this tool, this session', 'p these arguments, always in this', 'project', 'n no'])];
const call = (narrow, head, verdict, size) => narrow ? [`● ${head}`, `  ${verdict}`] : [`● ${head}`.padEnd(Math.floor(size[0] * 11 / 20)) + verdict];

each('output of other calls waits until a question is answered', async (t, at, narrow) => {
  const { dir, size } = at, go = join(dir, 'go');
  const r = await show({ ...at, steps: [...say('parallel'), wait('n no'), cursor('>'), { touch: go }, { exists: join(dir, 'a.done') }, { exists: join(dir, 'b.done') },
    type('q'), cursor('> q'), look('open'), type('\x7f'), cursor('>'), type('y\r'), wait('That was 3.'), wait(status), cursor('>'), look('done'), ...leave] });
  const asked = [...question(['"what": "everything"'], size)];
  assert.deepEqual(after(r.looks.open.rows, 'parallel'), [...asked, '> q']);
  const rows = after(r.looks.done.rows, 'parallel'), answer = rows.indexOf('> y');
  assert.deepEqual(rows.slice(0, answer), asked.slice(-answer));          // the rest has scrolled off a small screen
  const rest = rows.slice(answer + 1), danger = call(narrow, 'danger everything', 'asked you: yes', size);
  assert.deepEqual(rest.filter(row => row === danger[0] || row === '  held' || row === '  did everything').sort(), [danger[0], '  did everything', '  held', '  held'].sort());
  assert.deepEqual(rest.slice(-3), ['That was 3.', status, '>']);
  assert.equal(r.looks.done.wrapped, 0);
});

each('a question takes only keys typed after it was drawn; the others reach the next prompt', async (t, at) => {
  const go = join(at.dir, 'go');
  const r = await show({ ...at, steps: [...say('later'), wait('I wait'), type('y\r'), { touch: go }, wait('n no'), cursor('>'), look('open'), type('n\r'), wait('<y>'), cursor('>'), look('done'), ...leave] });
  assert.deepEqual(after(r.looks.open.rows, 'later').slice(-1), ['>']);
  assert.ok(r.looks.done.rows.includes('That was 2.'), r.looks.done.rows.join('\n'));
  assert.deepEqual(after(r.looks.done.rows, 'y'), ['<y>', status, '>']);
  assert.equal(r.looks.done.wrapped, 0);
});

each('a question is broken at words, also after a change of size; other text is asked about again', async (t, at) => {
  const r = await show({ ...at, steps: [...say('ask'), wait('n no'), cursor('>'), look('asked'), { resize: [60, at.size[1]] }, type('maybe'), wait('maybe'), type('\r'), wait('other text'), cursor('>'), type('no, '), { paste: 'not\nthat' },
    cursor('> no, not that'), look('pasted'), type('\x17\x17\x15'), cursor('>'), { paste: 'not\nthis' }, cursor('> not this'), type('\r'), wait('That was 1.'), cursor('>'), look('done'), ...leave] });
  const what = { 120: ['"what": "everything that is in this folder and in all of the folders below it"'], 80: ['"what": "everything that is in this folder and in all of the folders below', 'it"'],
    40: ['"what": "everything that is in this', 'folder and in all of the folders', 'below it"'] }[at.size[0]];
  assert.deepEqual(after(r.looks.asked.rows, 'ask'), [...question(what, at.size), '>']);
  assert.equal(r.looks.asked.wrapped, 0);
  const again = after(r.looks.pasted.rows, 'ask');
  assert.deepEqual(again.slice(again.lastIndexOf('> maybe') + 1), ['y once · a these arguments, this session', 't this tool, this session', 'p these arguments, always in this project · n no',
    'other text declines it, as the reason for the model', '> no, not that']);
  assert.ok(r.looks.done.rows.includes('That was 1.'));
});

each('a change is shown as a diff, and long output is folded and cut', async (t, at, narrow) => {
  const r = await show({ ...at, steps: [...say('edit'), wait('That was 1.'), cursor('>'), look('diff'), ...say('long'), wait('297 more lines'), wait('> long'), cursor('>'), look('long'), ...leave] });
  const diff = after(r.looks.diff.rows, 'edit');
  assert.deepEqual(diff.slice(narrow ? 2 : 1, narrow ? 6 : 5), ['  1  one', '  2 -two', '    +zwei', '  3  three']);
  const long = after(r.looks.long.rows, 'long');
  assert.deepEqual(long.slice(0, narrow ? 2 : 1), call(narrow, 'long', 'allowed', at.size));
  const body = long.slice(narrow ? 2 : 1);
  assert.deepEqual(body.slice(3), ['  … 297 more lines', 'That was 1.', 'scripted · 3 % of context', '>']);
  for (const [i, row] of body.slice(0, 3).entries()) assert.match(row, new RegExp(`^  row ${i} of an output that is .*…$`));
  assert.equal(r.looks.long.wrapped, 0);
});

each('the steps of a sub-agent stand below its call, and its answer is text', async (t, at, narrow) => {
  const dir = project(t, { ...files, '.harness/agents/helper.md': '---\ndescription: helps\nmodel: helper\ntools: [read]\n---\nHelp.\n',
    'harness.md': '---\nmodel: {provider: script, name: scripted, script: model.star}\nmodels:\n- {provider: script, name: helper, script: helper.star}\nbuiltin_tools: [read]\n---\nTalk.\n',
    'helper.star': 'def reply(messages, tools):\n    if messages[-1]["role"] == "tool":\n        return "It has three lines."\n    return {"tool_calls": [{"name": "read", "arguments": {"path": "notes.txt"}}]}\n' });
  const r = await show({ ...at, dir, steps: [...say('delegate'), wait('That was 1.'), cursor('>'), look('done'), ...leave] });
  const inner = narrow ? ['  ● read notes.txt', '    allowed'] : ['  ● read notes.txt'.padEnd(Math.floor(at.size[0] * 11 / 20)) + 'allowed'];
  const outer = call(narrow, 'delegate helper "look at it"', 'allowed', at.size);
  assert.deepEqual(after(r.looks.done.rows, 'delegate'), [outer[0].replace('●', '…').replace(/ +allowed$/, ''), ...inner,
    '         1  one', '         2  two', '         3  three', ...outer, '  It has three lines.', 'That was 1.', status, '>']);
  assert.equal(r.looks.done.wrapped, 0);
});

// What `harness runs` and a resumed conversation show of a run, on the screen.
each('a recorded run is broken at words: runs, show, --waterfall, resume', async (t, at, narrow) => {
  const { dir, size } = at;
  await show({ ...at, steps: [...say('words'), wait('every row'), cursor('>'), ...say('edit'), wait('That was 1.'), cursor('>'), ...leave] });
  const screen = async (...words) => (await show({ ...at, size: [size[0], 60], program: ['sh', '-c', '"$0" "$@"; echo; echo THE END; read x', bin, '-C', dir, ...words],
    steps: [wait('THE END'), look('it'), type('\r'), { end: true }] })).looks.it;
  const words = states.find(s => s.said === 'words').rows[size[0]].slice(0, -2);
  const listed = await screen('runs'), shown = await screen('runs', 'show', 'last'), bars = await screen('runs', 'show', 'last', '--waterfall');
  for (const l of [listed, shown, bars]) assert.equal(l.wrapped, 0, l.rows.join('\n'));
  assert.match(listed.rows[0], /^[0-9a-f]{8}  \d+ s +completed +words/);
  const head = row => row.replace(/ +scripted · <1 % of context$/, ''), rows = shown.rows.map(head);
  assert.deepEqual(rows.slice(0, words.length + 1), ['> words', ...words]);
  assert.deepEqual(rows.slice(words.length + 1).map(row => row.replace(/( ·)? +[\d.]+ m?s$/, '')).slice(0, narrow ? 7 : 6),
    ['> edit', ...call(narrow, 'edit notes.txt', 'allowed', size), '  1  one', '  2 -two', '    +zwei', '  3  three']);
  assert.match(bars.rows[0], narrow ? /^edit notes\.… +█+ +[\d.]+ m?s$/ : /^edit notes\.txt +█+ +[\d.]+ m?s$/);
  const resumed = await show({ ...at, size: [size[0], 60], program: [bin, '-C', dir, 'runs', 'resume', 'last'], steps: [wait('so far: '), cursor('>'), look('it'), ...leave] });
  assert.deepEqual(resumed.looks.it.rows.map(head).slice(0, words.length + 1), ['> words', ...words]);
  assert.equal(resumed.looks.it.wrapped, 0);
});

each('lines of one message are edited together and come back from history whole', async (t, at) => {
  const r = await show({ ...at, steps: [cursor('>'), type('one\x1b\rtwo\\\rthree'), cursor('three'), look('typed'), type('\r'), wait('<one'), cursor('>'), look('sent'), ...say('other'), wait('<other>'), cursor('>'),
    type('\x1b[A\x1b[A'), cursor('three'), look('recalled'), type('!\r'), wait('three!>'), cursor('>'), ...leave] });
  assert.deepEqual(after(r.looks.typed.rows, 'one'), ['two', 'three']);
  assert.deepEqual(after(r.looks.sent.rows, 'one'), ['two', 'three', '<one', 'two', 'three>', status, '>']);
  assert.deepEqual(after(r.looks.recalled.rows, 'one'), ['two', 'three']);
  const again = await show({ ...at, steps: [cursor('>'), type('\x1b[A\x1b[A'), cursor('three!'), look('later'), type('\x03'), cursor('>'), ...leave] });
  assert.deepEqual(after(again.looks.later.rows, 'one'), ['two', 'three!']);
  const kept = join(at.state, 'harness', readdirSync(join(at.state, 'harness'))[0], 'harness.db-history');
  assert.match(readFileSync(kept, 'utf8'), /^one\\012two\\012three!\\012$/m);
});

each('keys of words, and unknown keys', async (t, at) => {
  const moves = ['\x1b[1;5D', '\x1b[5D', '\x1bOd', '\x1bb', '\x1b[1;3D'];
  const back = ['\x1b[1;5C', '\x1b[5C', '\x1bOc', '\x1bf'];
  const r = await show({ ...at, steps: [cursor('>'), type('a b c d e f'), cursor('> a b c d e f'), type(`${moves.join('')}X`), cursor('> a Xb c d e f'), type(`${back.slice(0, 3).join('')}Y`), cursor('> a Xb c dY e f'),
    type('\x1b[H\x1b[3~Z\x1b[F\x1b[15;5~\x1b[I\x1b[<0;1;1M\x1b[200;3R!'), cursor('> Z Xb c dY e f!'), type('\r'), wait('<Z Xb c dY e f!>'), cursor('>'), look('done'), ...leave] });
  assert.deepEqual(after(r.looks.done.rows, 'Z Xb c dY e f!'), ['<Z Xb c dY e f!>', status, '>']);
});

each('a paste of 100 KB and of several lines is text, at any time', async (t, at) => {
  const go = join(at.dir, 'go'), big = Array.from({ length: 2200 }, (_, i) => `pasted line ${i} has words`).join('\n');
  const r = await show({ ...at, steps: [cursor('>'), { paste: 'first\nsecond\n' }, cursor('second'), look('pasted'), type('\r'), wait('second>'), cursor('>'), look('sent'),
    ...say('hold'), wait('I wait'), { paste: big }, { touch: go }, wait('pasted line 2199 has words'), type('\x03'), cursor('>'), type('after\r'), wait('<after>'), cursor('>'), look('after'), ...leave] });
  assert.deepEqual(after(r.looks.pasted.rows, 'first'), ['second']);
  assert.deepEqual(after(r.looks.sent.rows, 'first'), ['second', '<first', 'second>', status, '>']);
  assert.deepEqual(after(r.looks.after.rows, 'after'), ['<after>', status, '>']);
});

each('Ctrl-C stops the step; a typed line is dropped; only the second one at an empty prompt leaves', async (t, at) => {
  const r = await show({ ...at, steps: [...say('hold'), wait('I wait'), type('\x03'), wait('cancelled'), cursor('>'), type('a new prompt'), cursor('> a new prompt'), type('\x03'), cursor('>'), look('dropped'),
    type('still here\r'), wait('<still here>'), cursor('>'), type('\x03'), wait('>\n>'), type('\x03'), { end: true }, look('left')] });
  assert.equal(r.status, 130);
  assert.deepEqual(after(r.looks.dropped.rows, 'a new prompt'), ['>']);
  assert.ok(r.looks.left.rows.some(row => row.includes('resume with:')) || at.size[0] < 72, r.looks.left.rows.join('\n'));
});

each('Ctrl-Z and fg, at the prompt, at work and in a question', async (t, at) => {
  const go = join(at.dir, 'go'), shell = ['env', 'PS1=$ ', 'dash', '-i'], stopped = name => [wait('Stopped'), cursor('$'), { modes: name }];
  const r = await show({ ...at, program: shell, env: { HARNESS: bin, DIR: at.dir }, steps: [cursor('$'), type('$HARNESS -C $DIR run\r'), cursor('>'), type('half'), cursor('> half'), type('\x1a'), ...stopped('prompt'),
    type('clear; fg\r'), cursor('> half'), type(' whole\r'), wait('<half whole>'), cursor('>'), ...say('hold'), wait('I wait'), type('\x1a'), ...stopped('work'), type('clear; fg\r'), { gone: 'Stopped' }, { touch: go },
    wait('That was 1.'), cursor('>'), type('kept'), cursor('> kept'), type('\x15'), ...say('ask'), wait('n no'), cursor('>'), type('\x1a'), ...stopped('question'), type('clear; fg\r'), { gone: 'Stopped' }, type('n\r'), wait('That was 1.'),
    cursor('>'), look('end'), type('exit\r'), cursor('$'), { modes: 'end' }, type('exit\r'), { end: true }] });
  const plain = { echo: true, lines: true };          // dash leaves the modes alone: harness has restored them
  assert.deepEqual(r.modes, { prompt: plain, work: plain, question: plain, end: plain });
  assert.ok(r.looks.end.rows.includes('That was 1.'));
});

// Sends the first piece, and the others once the file `go` is there.
function server(t, go, pieces) {
  const s = createServer((request, response) => {
    request.resume().on('end', async () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const delta of pieces) {
        response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`);
        while (!existsSync(go) && !response.destroyed) await new Promise(resolve => setTimeout(resolve, 10));
      }
      response.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
    });
  });
  undo(t, () => { s.closeAllConnections(); s.close(); });
  return new Promise(resolve => s.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${s.address().port}/v1`)));
}
const remote = async (t, at, pieces) => {
  const go = join(at.dir, 'go'), url = await server(t, go, pieces), dir = project(t, { 'harness.md': '---\n---\nTalk.\n' });
  return { ...at, dir, go, env: { OAI_BASE_URL: url, OAI_API_KEY: 'k', OAI_MODEL: 'test' } };
};

each('keys typed while an answer streams are not shown in it, and are in the next prompt', async (t, at) => {
  const s = await remote(t, at, [{ content: 'The first half of the answer an' }, { content: 'd the second half of the answer.' }]);
  const r = await show({ ...s, steps: [...say('go'), wait('The first half of the answer'), look('streaming'), type('early keys'), { modes: 'work' }, { touch: s.go }, wait('% of context'), cursor('> early keys'), look('done'),
    type('\x03'), cursor('>'), ...leave] });
  const rows = { 120: ['The first half of the answer and the second half of the answer.'], 80: ['The first half of the answer and the second half of the answer.'],
    40: ['The first half of the answer and the', 'second half of the answer.'] }[at.size[0]];
  assert.deepEqual(after(r.looks.streaming.rows, 'go'), ['The first half of the answer']);      // the last word waits until it is whole
  assert.deepEqual(after(r.looks.done.rows, 'go'), [...rows, 'test · <1 % of context', '> early keys']);
  assert.deepEqual(r.modes.work, { echo: false, lines: false });
});

test('a long line fits the new width after a change of size at the prompt (tmux, which breaks rows again)', async t => {
  const line = 'one two three four five six seven eight nine ten eleven twelve';
  const r = await show({ terminal: 'tmux', dir: project(t, files), state: folder(t), steps: [...say('before'), wait('<before>'), cursor('>'), type(line), cursor(`> ${line}`), { resize: [40, 24] }, cursor('t nine ten eleven twelve'),
    type('!'), cursor('t nine ten eleven twelve!'), look('narrow'), { resize: [80, 24] }, cursor(`> ${line}!`), type('?'), cursor(`> ${line}!?`), look('wide'), type('\r'), wait(`<${line}!?>`), cursor('>'), look('done'), ...leave] });
  assert.deepEqual(after(r.looks.narrow.rows, 'before'), ['<before>', status, '> one two three four five six seven eigh', 't nine ten eleven twelve!']);
  assert.deepEqual(after(r.looks.wide.rows, 'before'), ['<before>', status, `> ${line}!?`]);
  assert.deepEqual(after(r.looks.done.rows, 'before'), ['<before>', status, `> ${line}!?`, `<${line}!?>`, status, '>']);
});

each('reasoning is broken at words and stands apart from the answer', async (t, at) => {
  const s = await remote(t, at, [{ reasoning_content: 'I think about the question in so many words that they do not fit into one row, ' }, { reasoning_content: 'and go on.' }, { content: 'The answer.' }]);
  const r = await show({ ...s, steps: [...say('go'), wait('I think'), { touch: s.go }, wait('% of context'), cursor('>'), look('done'), ...leave] });
  const rows = { 120: ['I think about the question in so many words that they do not fit into one row, and go on.'], 80: ['I think about the question in so many words that they do not fit into one row,', 'and go on.'],
    40: ['I think about the question in so many', 'words that they do not fit into one row,', 'and go on.'] }[at.size[0]];
  assert.deepEqual(after(r.looks.done.rows, 'go'), [...rows, '', 'The answer.', 'test · <1 % of context', '>']);
  assert.equal(r.looks.done.wrapped, 0);
});

each('an answer fits the new width after a change of size', async (t, at) => {
  const s = await remote(t, at, [{ content: 'Short.\n\n' }, { content: 'These words are broken for the new width of the terminal and not for the old one.' }]);
  const r = await show({ ...s, steps: [...say('go'), wait('Short.'), { resize: [50, at.size[1]] }, { touch: s.go }, wait('% of context'), cursor('>'), look('done'), ...leave] });
  assert.deepEqual(after(r.looks.done.rows, 'go'), ['Short.', '', 'These words are broken for the new width of the', 'terminal and not for the old one.', 'test · <1 % of context', '>']);
});

test('a question of a background agent interrupts the prompt, and the typed line comes back', async t => {
  const at = { dir: project(t, { ...files, '.harness/agents/helper.md': '---\ndescription: helps\nmodel: helper\ntools: [hold, danger]\n---\nHelp.\n',
    'harness.md': '---\nmodel: {provider: script, name: scripted, script: model.star}\nmodels:\n- {provider: script, name: helper, script: helper.star}\n---\nTalk.\n',
    'helper.star': 'def reply(messages, tools):\n    n = len([m for m in messages if m["role"] == "tool"])\n    if n < 2:\n        return {"tool_calls": [{"name": ["hold", "danger"][n], "arguments": [{"name": "a"}, {"what": "everything"}][n]}]}\n    return "helped"\n' }), state: folder(t) };
  const r = await show({ ...at, steps: [...say('background'), wait('That was 1.'), cursor('>'), type('half a\x1b\rline'), cursor('line'), { touch: join(at.dir, 'go') }, wait('n no'), cursor('>'), look('open'),
    type('y\r'), cursor('line'), look('back'), type('!\r'), wait('asked you: yes'), wait('is done'), cursor('>'), ...leave] });
  const open = after(r.looks.open.rows, 'half a');
  assert.deepEqual(open.slice(open.indexOf('allow danger? (marked confirm: true)')), [...question(['"what": "everything"'], [80]), '>']);
  assert.deepEqual(after(r.looks.back.rows, 'half a'), ['line']);
});

// Two terminals: the one that asks, and one that answers with harness approvals. Both type yes at the same moment.
for (const [terminal, size] of terminals.slice(0, 4)) {
  test(`two terminals answer one question at once: one wins, both see it (${terminal}, ${size.join('x')})`, async t => {
    const dir = project(t, files), state = folder(t), at = { terminal, size, dir, state }, env = { ...environment, XDG_STATE_HOME: state };
    const command = (...args) => new Promise(resolve => execFile(bin, ['-C', dir, ...args], { env }, (error, stdout) => resolve(stdout)));
    const there = async file => { while (!existsSync(join(dir, file))) await new Promise(resolve => setTimeout(resolve, 20)); };
    const touch = file => ({ touch: join(dir, file) }), exists = file => ({ exists: join(dir, file) });
    const first = show({ ...at, steps: [...say('ask'), wait('n no'), cursor('>'), touch('asked'), exists('now'), type('y\r'), wait('That was 1.'), cursor('>'), look('it'), ...leave] });
    await there('asked');
    const [question] = JSON.parse(await command('approvals', '--json'));
    const second = show({ ...at, program: ['sh', '-c', '"$0" "$@"; echo; echo THE END; read x', bin, '-C', dir, 'approvals', 'approve', question.id],
      steps: [wait('allow it? [y/N]:'), look('open'), touch('seen'), exists('now'), type('y\r'), wait('THE END'), look('it'), type('\r'), { end: true }] });
    await there('seen');
    writeFileSync(join(dir, 'now'), '');
    const [asks, answers] = await Promise.all([first, second]), text = r => r.looks.it.rows.join('\n');
    assert.match(answers.looks.open.rows[0], /^allow danger\? \(marked confirm: true\)$/);
    assert.equal(answers.looks.open.wrapped, 0);
    const here = /asked you: yes/.test(text(asks)), there_ = /^q[0-9a-f]+: answered$/m.test(text(answers));
    assert.notEqual(here, there_, `${text(asks)}\n----\n${text(answers)}`);
    if (here) assert.match(text(answers).replace(/\n +/g, ' '), /was answered already, by terminal, uid \d+/);
    else assert.match(text(asks), /approved by command line/);
    const { events } = JSON.parse(await command('runs', 'show', 'last', '--json'));
    assert.deepEqual(events.filter(e => e.type === 'approval.answered').map(e => [e.data.answer, e.data.by.replace(/\d+/, 'N')]),
      [['yes', here ? 'terminal, uid N' : 'command line, uid N']]);
    assert.equal(events.filter(e => e.type === 'tool.executing').length, 1);
  });
}

// When each signal arrives: at the prompt, at work, in a question.
const moments = { prompt: [cursor('>')], work: [...say('hold'), wait('I wait')], question: [...say('ask'), wait('n no'), cursor('>')] };
for (const [when, steps] of Object.entries(moments)) {
  for (const name of ['SIGTERM', 'SIGHUP', 'SIGQUIT']) {
    test(`${name} restores the modes of the terminal: ${when}`, async t => {
      const dir = project(t, files), program = ['env', 'PS1=$ ', 'dash', '-i'];
      const r = await show({ dir, state: folder(t), program, env: { HARNESS: bin, DIR: dir }, steps: [cursor('$'), type('$HARNESS -C $DIR run & echo $! > $DIR/pid; fg\r'), ...steps, { modes: 'before' }, { signal: name, pid: join(dir, 'pid') },
        cursor('$'), { modes: 'after' }, type('exit\r'), { end: true }] });
      assert.equal(r.modes.before.echo, false);
      assert.deepEqual(r.modes.after, { echo: true, lines: true });
    });
  }
  test(`a terminal that is closed ends the conversation: ${when}`, async t => {
    const dir = project(t, files), state = folder(t);
    const r = await show({ dir, state, steps: [...steps, { hangup: true }] });
    assert.notEqual(r.status, null);
    if (when !== 'question') return;                        // it was not answered: nothing says that the user declined
    const { events } = JSON.parse(execFileSync(bin, ['-C', dir, 'runs', 'show', 'last', '--json'], { env: { ...environment, XDG_STATE_HOME: state } }));
    assert.deepEqual(events.filter(e => e.type === 'approval.answered').map(e => e.data.answer), ['none']);
    assert.match(events.find(e => e.type === 'tool.refused').data.message, /^no answer was given to the question about danger/);
  });
}
