// The simulator: recorded calls judged by the files as they are and by a draft. No tool is executed, nothing is stored.

import { h, show, button, dialog, empty, failure, labelled, say } from './dom.js';
import { get, post } from './api.js';
import { windowed } from './list.js';
import { args } from './text.js';
import { saveTest } from './savetest.js';
import { count, duration, line, plain, plural, summary, tone } from './format.js';

const drafts = new Map();                                            // path → text; null: the file is removed. Kept while the page is open
const originals = new Map(), masked = new Set();                      // masked: files whose credentials the server does not show

export function simulator() {
  const files = h('select', { 'aria-label': 'File', on: { change: open } }), text = h('textarea.mono.draft', { rows: '14', spellcheck: 'false', on: { input: write } });
  const state = h('span.hint', { role: 'status' }), changed = h('p.hint', { role: 'status' }), outcome = h('div.outcome');
  const number = h('select', [100, 1000].map(n => h('option', { value: String(n) }, `last ${count(n)} calls`)));
  number.value = '1000';
  let list = null;                                                   // of the result that is shown
  const go = button('Simulate', simulate, { kind: 'primary' });
  const element = h('div.viewbody.padded.simulate', h('div.stack.draftside',
    h('p.hint', 'Change a rule, harness.md or a hook here; the files stay as they are. Recorded calls, also those of agents under harness guard, are judged before and after.'),
    h('div.line', files, button('New file…', add), button('Remove it', remove, { kind: 'quiet' }), button('Undo', undo, { kind: 'quiet' })), labelled('Draft of the file', text), changed,
    h('div.line', labelled('Recorded calls', number), go, state)), outcome);
  show(outcome, empty('Before and after', 'Which recorded calls would a changed rule allow, ask about or deny? The result shows each call with the rule that decides.'));
  load();

  async function load() {
    try {
      const list = await get('files');
      show(files, list.map(f => h('option', { value: f.path }, line(f.path, 80))));
      for (const path of drafts.keys()) if (!list.some(f => f.path === path)) files.append(h('option', { value: path }, line(path, 80)));
      if (list.length > 0) open();
      else changed.textContent = 'This project has no policy files yet. Add one with "New file…".';
      told();
    } catch (e) {
      show(outcome, failure(e, load));
    }
  }

  async function open() {
    const path = files.value;
    if (!drafts.has(path) && !originals.has(path)) {
      text.disabled = true;
      try {
        const file = await get('file', { path });
        originals.set(path, file.text);
        if (file.redacted) masked.add(path);
      } catch (e) { changed.textContent = `${path} could not be read: ${e.message}`; }
      text.disabled = false;
    }
    if (files.value !== path) return;
    text.value = drafts.get(path) ?? originals.get(path) ?? '';
    text.disabled = drafts.get(path) === null || masked.has(path);
    if (masked.has(path)) changed.textContent = `${path} holds credentials, which are not shown. Change it in an editor.`;
  }

  function write() {
    if (text.value === originals.get(files.value)) drafts.delete(files.value);
    else drafts.set(files.value, text.value);
    told();
  }

  function told() {
    changed.textContent = drafts.size === 0 ? 'No changes: the result compares the recorded verdict with the files as they are.' : `Changed in this draft: ${[...drafts].map(([p, t]) => `${p}${t === null ? ' (removed)' : ''}`).join(', ')}`;
  }

  function add() {
    dialog('New file in the draft', close => {
      const path = h('input.mono', { type: 'text', spellcheck: 'false', placeholder: '.harness/hooks/no_push.md' });
      return h('div.stack', labelled('Path', path), h('div.line', button('Add', () => { close(); begin(path.value.trim()); }, { kind: 'primary' }), button('Close', close, { kind: 'quiet' })));
    });
  }

  function begin(path) {
    if (!path) return;
    if (![...files.options].some(o => o.value === path)) files.append(h('option', { value: path }, path));
    drafts.set(path, '');
    files.value = path;
    open();
    told();
  }

  function remove() { drafts.set(files.value, null); open(); told(); }
  function undo() { drafts.delete(files.value); open(); told(); }

  async function simulate() {
    go.disabled = true;
    state.textContent = 'Judging…';
    try {
      const result = await post('simulate', { files: Object.fromEntries(drafts), limit: Number(number.value) });
      state.textContent = `${plural(result.calls, 'call')}, ${count(result.changed)} changed, ${duration(result.elapsed_ms)}`;
      say(state.textContent);
      draw(result);
    } catch (e) {
      state.textContent = '';
      show(outcome, failure(e));
    }
    go.disabled = false;
  }

  function draw(result) {
    if (result.problems?.length > 0) { show(outcome, h('div.note.bad', { role: 'alert' }, h('p', h('strong', 'The draft does not load, so nothing was judged.')), h('ul.plain', result.problems.map(problem)))); return; }
    const left = result.without_args > 0 ? h('p.hint', `${plural(result.without_args, 'call')} of other agents ${result.without_args === 1 ? 'is' : 'are'} left out: the arguments were not stored.`) : null;
    if (result.calls === 0) { show(outcome, empty('No recorded calls', 'Runs of agents, harness call and agents under harness guard record calls. There are none yet.'), left); return; }
    const only = h('input', { type: 'checkbox', checked: result.changed > 0, on: { change: fill } }), detail = h('div.detail');
    list?.close();
    list = windowed({
      label: 'Calls before and after', cls: 'verdicts', height: () => 36, moved: pick, cells, classes: r => (r.changed ? 'changed' : ''),
      columns: [{ name: 'Call', cls: 'step' }, { name: 'Before', cls: 'before' }, { name: 'After', cls: 'after' }, { name: 'Deciding rule', cls: 'soft.rule' }],
    });
    show(outcome, h('div.line', h('h2', result.changed === 0 ? 'Nothing changes' : `${plural(result.changed, 'call')} of ${count(result.calls)} would end differently`), h('label.check.push', only, 'Only changes')), result.truncated ? h('p.hint', 'The arguments of older calls are too large to judge them, too.') : null, left, list.element, detail);
    fill();
    function fill() {
      const rows = only.checked ? result.rows.filter(r => r.changed) : result.rows;
      list.reset();
      list.set(rows);
      list.element.style.maxHeight = `${(rows.length + 1) * 36}px`;   // a short list takes no more than it needs
      show(detail, h('p.hint', 'Select a call to see its arguments and the reasons.'));
    }
    function pick(r) {
      show(detail, h('div.stack', h('div.line', h('h2.mono', line(r.tool, 100)), agent(r), r.redacted ? h('span.tag.warn', 'redacted arguments') : null,
        button('Save as test…', () => saveTest({ tool: r.tool, args: r.args, guard: r.test, outcome: r.after }), { disabled: r.redacted || r.test === null }), r.run ? h('a', { href: `#run/${encodeURIComponent(r.run)}` }, 'Show the run') : null),
      r.test === null && !r.redacted ? h('p.hint', 'Not for a test: a guard.md of yours or of the machine took part in the verdict, and tests read the project only.') : null,
      h('dl.args', [['Recorded', r.recorded], ['Before', r.before], ['After', r.after]].map(([name, v]) => v && [h('dt', name), h('dd', judged(v), v.rule ? [' by ', h('code', plain(v.rule)), place(v)] : null, v.reason ? `: ${plain(v.reason)}` : null)])),
      h('section.part', h('h3', 'Arguments'), args(r.args))));
    }
  }

  function cells(r) {
    return [h('span.what', h('span.who.mono', line(r.tool, 40)), r.vendor ? agent(r) : null, h('span.gist', summary(r.args)), r.redacted ? h('span.tag.warn', 'redacted') : null), judged(r.before), r.changed ? judged(r.after) : h('span.hint', 'same'), decider(r)];
  }
  return { element, key: e => (list?.element.isConnected ? list.key(e) : false), close: () => list?.close() };
}

// The rule that decides, with its place where that is known.
const where = v => (v.file ? `${plain(v.file)}${v.line ? `:${v.line}` : ''}` : '');
const place = v => (v.file ? h('small.mono', ` ${where(v)}`) : null);
function decider(r) {
  const v = r.after?.rule ? r.after : r.before;
  return v?.rule ? line([v.rule, where(v)].filter(Boolean).join(' · '), 80) : '';
}

// Whose call it is: the agent of another vendor, or a sub-agent.
const agent = r => (r.vendor || r.agent ? h('span.tag', plain(r.vendor || r.agent)) : null);

const judged = v => (v ? h(`span.badge.${tone(v.decision)}`, plain(v.decision)) : '');

export function problem(p) {
  return h('li', h('span', plain(p.message)), p.file ? h('small.mono', ` ${plain(p.file)}${p.line ? `:${p.line}` : ''}`) : null, p.hint ? h('div.hint', plain(p.hint)) : null);
}
