// What agents show the user: notifications, dialogs and file pickers, above every view. They are answers for the agent and never approvals.
// A new one does not take the focus, and its buttons wait a moment, so that a click meant for what was there before does not answer it.

import { h, show, button, labelled, say, unique } from './dom.js';
import { get, post } from './api.js';
import * as live from './live.js';
import { line, plain } from './format.js';

const place = document.getElementById('agents'), cards = new Map(), settling = 400;
let loading = false, again = false;

export function start() {
  live.on('hello', ({ dialogs }) => { if (dialogs > 0 || cards.size > 0) load(); });
  live.on('dialogs', load);
  live.on('run', run => { if (run.status !== 'running' && [...cards.values()].some(c => c.run === run.id)) load(); });
}

async function load() {
  if (loading) { again = true; return; }
  loading = true;
  try {
    draw(await get('dialogs'));
  } catch {
    // the stream reconnects and asks again
  } finally {
    loading = false;
    if (again) { again = false; load(); }
  }
}

function draw(open) {
  const ids = new Set(open.map(d => d.id));
  for (const [id, card] of cards) if (!ids.has(id)) card.gone();
  for (const d of open) if (!cards.has(d.id)) add(d);
  place.hidden = cards.size === 0;
}

function add(d) {
  const made = card(d);
  cards.set(d.id, made);
  place.append(made.element);
  const text = `${line(d.label, 80)}: ${line(d.title, 120)}`;
  say(d.problem ? `${text}. ${line(d.problem, 200)}` : text);
  if (document.hidden && 'Notification' in window && Notification.permission === 'granted') new Notification(text, { body: plain(d.text).slice(0, 300), tag: d.id });
}

function remove(id) {
  const made = cards.get(id), inside = made.element.contains(document.activeElement);
  cards.delete(id);
  made.element.remove();
  place.hidden = cards.size === 0;
  if (inside) (place.querySelector('button:not(:disabled)') ?? document.getElementById('main')).focus();       // what had the focus is gone
}

function card(d) {
  const head = h('h2', { id: unique('from') }, line(d.title, 120)), work = h('div.stack'), trouble = h('div', { role: 'status' });
  const element = h('article.card.from', { 'aria-labelledby': head.id },
    h('header.line', h('span.tag', line(d.label, 80)), h('a.push', { href: `#run/${encodeURIComponent(d.run)}` }, 'Show the run')),
    head, d.text ? h('p.said', plain(d.text)) : null, work, trouble);
  const made = { element, run: d.run, gone };
  let settled = false;
  show(work, { dialog: buttons, picker, notification }[d.kind]?.() ?? notification());
  const all = [...element.querySelectorAll('button, input, select')];
  all.forEach(b => { b.disabled = true; });
  setTimeout(() => all.forEach(b => { b.disabled = false; }), settling);

  function buttons() {
    return h('div.line', d.buttons.map((text, i) => button(plain(text), () => send({ button: i }))), button('Close', () => send({}), { kind: 'quiet' }));
  }

  function notification() {
    return h('div.line', button('Dismiss', () => send({})));
  }

  // Typing filters the list; without a selected row, the text itself is the path.
  function picker() {
    const typed = h('input.mono', { type: 'text', autocomplete: 'off', spellcheck: 'false' }), list = h('select.mono', { size: '6', multiple: d.multiple || null, 'aria-label': 'Files' });
    const fill = () => show(list, d.files.filter(f => f.toLowerCase().includes(typed.value.trim().toLowerCase())).map(f => h('option', { value: f }, plain(f))));
    typed.addEventListener('input', fill);
    fill();
    const pick = () => {
      const chosen = [...list.selectedOptions].map(o => o.value), path = typed.value.trim();
      const files = chosen.length > 0 ? chosen : list.options.length === 1 ? [list.options[0].value] : path ? [path] : [];
      if (files.length > 0) send({ files });
      else show(trouble, h('p.note.warn', 'Select a file of the list, or type a path in the workspace.'));
    };
    typed.addEventListener('keydown', e => { if (e.key === 'Enter') { e.preventDefault(); pick(); } });
    return [d.problem ? h('p.note.bad', { role: 'alert' }, plain(d.problem)) : null,
      labelled(d.multiple ? 'Files of the workspace' : 'A file of the workspace', typed, `Type a part of the name${d.globs.length > 0 ? `. It must fit ${line(d.globs.join(', '), 120)}` : ''}${d.more_files ? '. There are more than the list shows' : ''}.`),
      list, h('div.line', button(d.multiple ? 'Pick these' : 'Pick', pick, { kind: 'primary' }), button('Close', () => send({}), { kind: 'quiet' }))];
  }

  async function send(body) {
    all.forEach(b => { b.disabled = true; });
    settled = true;
    try {
      await post(`dialogs/${encodeURIComponent(d.id)}/answer`, body);
      remove(d.id);
    } catch (e) {
      if (e.status === 409 || e.status === 404) { over(e.message); return; }
      settled = false;
      all.forEach(b => { b.disabled = false; });
      show(trouble, h('p.note.bad', { role: 'alert' }, e.message));
    }
  }

  // Another answer was first. The card says so if the user was at it, else it goes away.
  function over(text) {
    settled = true;
    show(work, h('div.line', button('Dismiss', () => remove(d.id))));
    show(trouble, h('p.hint', plain(text)));
  }

  function gone() {
    if (settled) return;
    if (element.contains(document.activeElement)) {
      over('It was answered elsewhere, or the call that showed it has ended.');
      element.querySelector('.stack button').focus();
    } else remove(d.id);
  }
  return made;
}
