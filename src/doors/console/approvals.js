// Approvals: what waits for a person. A question that another person answered stays where it is and says so, until the view is left.

import { h, show, button, empty, failure, labelled, say, waiting } from './dom.js';
import { get, post } from './api.js';
import * as live from './live.js';
import { args, block, changeOf, diff } from './text.js';
import { form } from './form.js';
import { age, at, line, plain, plural } from './format.js';

const most = 100;

export function view(main) {
  const cards = new Map(), list = h('div.stack.measure'), place = h('div.viewbody', waiting(3)), notify = h('span');
  let tools = null, closed = false, loading = false, again = false;
  show(main, h('div.viewhead', h('div.line', h('h1', 'Approvals'), h('span.push', notify))), place);
  offer();

  // Asks for permission only when the user clicks.
  function offer() {
    if (!('Notification' in window) || Notification.permission !== 'default') return;
    show(notify, button('Notify me in this browser', async () => { await Notification.requestPermission(); show(notify); }));
  }

  async function load() {
    if (loading) { again = true; return; }
    loading = true;
    try {
      const [open] = await Promise.all([get('approvals'), tools ? null : get('tools').then(t => { tools = new Map(t.map(x => [x.name, x])); }, () => { tools = new Map(); })]);
      if (closed) return;
      draw(open.filter(q => q.state === 'open' || q.state === undefined));
    } catch (e) {
      if (!closed && cards.size === 0) show(place, failure(e, load));
    } finally {
      loading = false;
      if (again && !closed) { again = false; load(); }
    }
  }

  function draw(open) {
    const ids = new Set(open.map(q => q.id));
    for (const [id, card] of cards) if (!ids.has(id) && !card.settled) settle(id, card);
    for (const question of open.slice(0, most)) {
      if (cards.has(question.id)) continue;
      const made = card(question, tools?.get(question.tool));
      cards.set(question.id, made);
      list.append(made.element);
    }
    if (cards.size === 0) show(place, empty('Nothing waits for an answer', 'When a rule says ask, or a tool is marked confirm: true, its calls wait here, for all runs of this project. The number of open questions is in the title of the tab.'));
    else if (!list.isConnected) show(place, list);
    if (open.length > most) say(`${plural(open.length - most, 'question')} more after these`);
  }

  // It was answered elsewhere, or withdrawn.
  async function settle(id, made) {
    const now = await get(`approvals/${encodeURIComponent(id)}`).catch(() => null);
    if (!made.settled) made.end(now);
  }

  const off = [live.on('approvals', load), live.on('hello', load), live.on('reset', load)];
  load();
  return { close: () => { closed = true; off.forEach(f => f()); } };
}

function card(question, tool) {
  const { id } = question, outcome = h('div', { role: 'status', tabindex: '-1' }), change = shownChange(question) ?? changeOf(question.args);
  const taken = change ? ['path', 'file_path', 'old_string', 'old_text', 'new_string', 'new_text', 'content'].filter(k => question.args && k in question.args) : [];
  const buttons = h('div.line'), more = h('div.stack');
  const made = { settled: false, end };
  const name = h('h2', { id: `q-${cssSafe(id)}` }, h('span.mono', line(question.tool, 120)));
  made.element = h('article.card', { 'aria-labelledby': name.id },
    h('header.line', name, question.agent ? h('span.tag', line(question.agent, 60)) : null, question.waiting === false ? h('span.tag.warn', 'its process has ended') : null,
      h('a.push', { href: `#run/${encodeURIComponent(question.run)}` }, 'Show the run'), h('time.hint', { datetime: question.asked, title: at(question.asked) }, `${age(question.asked)} ago`.replace('now ago', 'just now'))),
    h('section.part', h('h3', 'Why it asks'), h('p', question.why === 'confirm: true' ? 'The tool is marked confirm: true.' : plain(question.why || question.rule || 'A rule asks.'), question.rule && question.why && question.rule !== question.why ? [' ', h('span.tag', line(question.rule, 80))] : null)),
    h('section.part', h('h3', 'What it will do'), change ? diff(change.diff, change.path) : tool?.kind === 'command' && question.shown ? block(question.shown, 'Command') : null, change && taken.length === Object.keys(question.args).length ? null : args(question.args, { without: taken }),
      question.redacted ? h('p.hint', 'Secrets in the arguments are shown as [redacted], so the arguments cannot be changed here.') : null),
    h('section.part', h('h3', 'What the sandbox permits'), permits(question)),
    question.waiting === false ? h('p.hint', 'The answer counts when the run is resumed.') : null,
    buttons, more, outcome);
  start();

  function start() {
    show(more);
    show(buttons, button('Approve', () => send('approve', {}), { kind: 'primary' }), button('Deny…', deny), question.redacted ? null : button('Change arguments…', edit));
  }

  function deny() {
    const reason = h('textarea', { rows: '2' });
    show(buttons);
    show(more, labelled('Reason (the agent is told)', reason), h('div.line', button('Deny', () => send('deny', reason.value.trim() ? { reason: reason.value.trim() } : {}), { kind: 'danger' }), button('Back', start, { kind: 'quiet' })));
    reason.focus();
  }

  function edit() {
    const fields = form(tool?.parameters ?? { type: 'object' }), trouble = h('div');
    fields.set(question.args);
    show(buttons);
    show(more, h('p.hint', 'Changed arguments go through every rule and hook again, and you are asked about the final form. The event keeps both forms, and the agent is told.'), h('div.group', fields.element), trouble,
      h('div.line', button('Use these arguments', () => {
        let value;
        try { value = fields.get(); } catch (e) { show(trouble, h('p.note.bad', { role: 'alert' }, e.message)); return; }
        send('approve', { args: value });
      }, { kind: 'primary' }), button('Back', start, { kind: 'quiet' })));
    more.querySelector('input, textarea, select')?.focus();
  }

  async function send(what, body) {
    const all = [...made.element.querySelectorAll('button')];
    all.forEach(b => { b.disabled = true; });
    try {
      end(await post(`approvals/${encodeURIComponent(id)}/${what}`, body));
    } catch (e) {
      if (e.status === 409) end({ state: e.body?.state ?? 'answered', by: e.body?.by, first: true, message: e.message });
      else if (e.status === 404) end(null);
      else { all.forEach(b => { b.disabled = false; }); show(outcome, failure(e)); }
    }
  }

  function end(now) {
    made.settled = true;
    made.element.classList.add('settled');
    if (made.element.contains(document.activeElement)) outcome.focus();     // the button that had the focus goes away
    show(buttons);
    show(more);
    const answer = now?.answer?.answer ?? now?.answer, reason = now?.answer?.reason;
    const text = !now ? 'This question is gone.' : now.first ? `Another answer came first: ${now.message}` : now.state === 'withdrawn' ? 'The question was withdrawn: the run ended or it expired.'
      : now.answer?.args ? `Changed${now.by ? ` by ${now.by}` : ''}. The call goes through the rules again; what asks about its final form appears below.`
      : `${answer === 'no' ? 'Denied' : 'Approved'}${now.by ? ` by ${now.by}` : ''}${reason ? `: ${reason}` : ''}.`;
    show(outcome, h(`p.badge.${answer === 'no' || now?.first || !now ? 'warn' : 'live'}`, plain(text)));
    say(text);
  }
  return made;
}

// The diff against the file as it was when the call asked, as a terminal shows it.
function shownChange({ shown, args: given }) {
  return typeof shown === 'string' && /^--- .*\n\+\+\+ /.test(shown) && typeof given?.path === 'string' ? { path: given.path, diff: shown } : null;
}

const cssSafe = text => String(text).replace(/[^\w-]/g, '_');

// In words, from what the process that asks will run the call with.
function permits({ permits: p }) {
  if (!p) return h('p.hint', 'Unknown: an older harness asked.');
  const elsewhere = { program: 'The code of the program that embeds harness runs it, outside of the sandbox.', agent: 'Another agent works on it. Each of its calls goes through the rules.', user: 'It only shows you something.' }[p.runs];
  if (p.runs === 'server') return h('p', 'The MCP server ', h('b', line(p.server, 80)), ' runs it, with what ', h('code', 'mcp_servers'), ' grants that server.');
  if (p.runs !== 'sandbox') return h('p', elsewhere ?? 'Unknown.');
  const code = paths => paths.flatMap((path, i) => [i > 0 ? ', ' : null, h('code', plain(path))]);
  const network = { none: 'none', listed: ['only ', code(p.hosts)], public: 'any public host', any: 'any host' }[p.network] ?? plain(p.network);
  return h('ul.facts',
    h('li', h('b', 'Files '), p.files === 'any' ? 'all that you may read and write: the sandbox is off' : p.files === 'none' ? 'none'
      : [p.write.length > 0 ? ['may read and write ', code(p.write)] : null, p.write.length > 0 && p.read.length > 0 ? '; ' : null, p.read.length > 0 ? ['may read ', code(p.read)] : null]),
    h('li', h('b', 'Network '), p.network === 'listed' && p.hosts.length === 0 ? 'none' : network),
    h('li', h('b', 'Programs '), !p.programs ? 'none' : p.sandbox === 'off' ? 'may start programs, which nothing confines' : ['may start programs, confined to the same', p.sandbox === 'best-effort' ? ' as far as this kernel can' : null]),
    p.destructive ? h('li.alarm', 'Marked destructive') : null);
}
